/* test_change_type.c - change_type: the algorithm that a plan makes, its class, and its values against the one before. */
#include "../lower/text_kit.h"

Suite *change_type_suite(void);

#define PROGRAM \
    "mlc 1 input in: u8[2]; input h: f16[2]; rdom k(0, 5);" \
    "f(x, y) = i32(in(x, y)) - 300; g(x, y) = h(x, y) * h(x + 1, y) - h(x, y + 1);" \
    "s(x, y) = 5; s(x, y) += f(x + k, y) * 3; s(x, y) = min(s(x, y), f(x, y + k)); s(x, y) -= 2 over k;" \
    "m(x, y) max= in(x + k, y);" \
    "out(x, y) = i16(s(x, y) + f(x, y) * 2 + i32(m(x, y))) + i16(f32(g(x, y)) * 0.01f); output out;"

static const char *text_of(const char *program, const char *plan) {
    static char text[4096], all[4096];
    mlc_error_info e;
    FILE *to = tmpfile();
    snprintf(all, sizeof all, "%s plan p { %s }", program, plan);
    text_open(all);
    bool good = mlc_explain(T.plan, 1, &T.out, "algorithm", NULL, to, &e);
    ck_assert_msg(good, "%s", e.message);
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = 0;
    fclose(to);
    return text;
}

START_TEST(algorithms) {
    static const struct {
        const char *program, *plan, *text;
    } row[] = {
        { "mlc 1 input in: u8[1]; rdom k(0, 5); f(x) = 0; f(x) += i32(in(x + k)); g(x) = f(x) * 2 + f(x + 1); output g;", "f: change_type(u16);",
          "mlc 1\ninput in: u8[1];\nf(x) = u16(i32(0));\nrdom k(0, 5);\nf(x) += u16(i32(in(x + k)));\n"
          "g(x) = i32(f(x)) * 2 + i32(f(x + 1));\noutput g;\n" },
        { "mlc 1 input in: f32[1]; f(x) = in(x) * in(x); g(x) = f(x) + 1; output g;", "f: change_type(f64);",
          "mlc 1\ninput in: f32[1];\nf(x) = f64(in(x) * in(x));\ng(x) = f32(f(x)) + 1.0;\noutput g;\n" },
        { "mlc 1 input in: f32[1]; f(x) = in(x) * in(x); g(x) = f(x) + 1; output g;", "f: change_type(f16, .lossy);",
          "// class rewrite: the plan derives an algorithm of other roundings\n"
          "mlc 1\ninput in: f32[1];\nf(x) = f16(in(x) * in(x));\ng(x) = f32(f(x)) + 1.0;\noutput g;\n" },
        /* accepted, and not needed: exact */
        { "mlc 1 input in: u8[1]; f(x) = in(x); g(x) = f(x) + 1; output g;", "f: change_type(f16, .lossy);",
          "mlc 1\ninput in: u8[1];\nf(x) = f16(in(x));\ng(x) = u8(f(x)) + 1;\noutput g;\n" },
        /* an implicit start is the old type's, and said */
        { "mlc 1 input in: u8[1]; rdom k(0, 5); f(x) max= in(x + k); g(x) = f(x); output g;", "f: change_type(i32);",
          "mlc 1\ninput in: u8[1];\nf(x) = i32(u8(0));\nrdom k(0, 5);\nf(x) max= i32(in(x + k));\ng(x) = u8(f(x));\noutput g;\n" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ck_assert_str_eq(text_of(row[i].program, row[i].plan), row[i].text);
        text_close();
    }
}
END_TEST

/* Exact in any types that are not refused, wherever the Funcs are. */
static const char *const plans[] = {
    "f: compute_root(), change_type(i16), vectorize(x, 8); g: compute_root(), change_type(f32);",
    "s: compute_root(), change_type(i16); s.u0: vectorize(x, 16), reorder(k, x); m: compute_root(), change_type(u32);",
    "f: change_type(i64); g: compute_at(out, y), change_type(f64); s: compute_at(out, x), change_type(f32); m: compute_root(), change_type(f16);",
    "s: compute_root(), change_type(i64), in(out, w); w: change_type(i16, .lossy), compute_at(out, y), vectorize(x, 8); m: compute_at(out, y), change_type(bf16);",
    "f: clone_in(s, c), change_type(f16); c: compute_root(), change_type(i16); in: in(f, v); v: change_type(u16), compute_root();",
    "m: change_type(i8, .lossy), change_type(u8, .lossy), change_type(u16); s: change_type(i16), change_type(f32);",
};

START_TEST(values) {
    char all[4096];
    snprintf(all, sizeof all, "%s plan p { %s }", PROGRAM, plans[_i]);
    text_open(all);
    if (_i < 5) text_check_sizes();
    text_close();
}
END_TEST

/* What is known of values: each row is the narrowest type that holds them, and the one below is refused. */
START_TEST(reach) {
    static const struct {
        const char *update, *good, *bad;
    } row[] = {
        { "f(x) += i32(in(x + k))", "u16", "u8" },                 /* 0 to 1275 */
        { "f(x) -= i32(in(x + k))", "i16", "u16" },                /* -1275 to 0 */
        { "f(x) = f(x) + i32(in(x + k)) * 25", "i16", "i8" },      /* 31875 */
        { "f(x) = f(x) + i32(in(x + k)) * 26", "u16", "i16" },     /* 33150 */
        { "f(x) = i32(in(x + k)) - f(x) + f(x)", "i32", "i64" },   /* no fold */
        { "f(x) min= i32(in(x + k)) - 129", "i16", "i8" },         /* -129 */
        { "f(x) min= i32(in(x + k)) - 128", "i8", "u8" },          /* -128 to 0 */
        { "f(x) max= i32(in(x + k))", "bf16", "i8" },              /* 255 */
        { "f(x) max= i32(in(x + k)) + 1", "bf16", "u8" },          /* 256 */
        { "f(x) max= i32(in(x + k)) + 2", "f16", "bf16" },         /* 257 */
        { "f(x) = i32(in(x + k))", "u8", "i8" },
        { "f(x) *= 2", "i32", "i16" },                             /* products are not followed */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        for (int bad = 0; bad < 2; bad++) {
            char all[1024];
            mlc_error_info e;
            const char *type = bad ? row[i].bad : row[i].good;
            snprintf(all, sizeof all, "mlc 1 input in: u8[1]; rdom k(0, 5); f(x) = 0; %s%s; g(x) = f(x); output g; plan p { f: compute_root(), change_type(%s); }",
                     row[i].update, strchr(row[i].update, 'k') ? "" : " over k", type);
            text_open(all);
            FILE *to = fopen("/dev/null", "w");
            bool good = mlc_explain(T.plan, 1, &T.out, "algorithm", NULL, to, &e);
            fclose(to);
            if (!strcmp(type, "i32")) ck_assert_msg(strstr(e.message, "f is i32 already; drop the line") != NULL, "%s", e.message);
            else ck_assert_msg(good == !bad || (bad && !strcmp(type, "i64") && good), "%s as %s: %s", row[i].update, type, good ? "good" : e.message);
            text_close();
        }
    }
}
END_TEST

Suite *change_type_suite(void) {
    Suite *s = suite_create("change_type");
    TCase *t = tcase_create("change_type");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, algorithms);
    tcase_add_loop_test(t, values, 0, (int)(sizeof plans / sizeof *plans));
    tcase_add_test(t, reach);
    suite_add_tcase(s, t);
    return s;
}
