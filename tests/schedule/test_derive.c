/* test_derive.c - in, clone_in, eager_inline: what algorithm a plan makes, its values against the one before, which Funcs are
 * computed where, each refusal with its whole message, and the C forms. */
#include "../lower/text_kit.h"

Suite *derive_suite(void);

#define PROGRAM \
    "mlc 1 input in: i32[2]; rdom k(0, 3);" \
    "f(x, y) = in(x, y) * 3; f(x, y) += in(x + k, y);" \
    "g(x, y) = f(x, y) + in(x, y + 1);" \
    "h(x, y) = f(x + 1, y - 1) - g(x, y);" \
    "out(x, y) = g(x, y) + h(x, y) * f(x, y); output out;"

/* What plan p computes, as text. */
static const char *algorithm(void) {
    static char text[4096];
    mlc_error_info e;
    FILE *to = tmpfile();
    bool good = mlc_explain(T.plan, 1, &T.out, "algorithm", NULL, to, &e);
    ck_assert_msg(good, "%s", e.message);
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = 0;
    fclose(to);
    return text;
}

static const char *derived(const char *plan) {
    char all[2048];
    snprintf(all, sizeof all, PROGRAM " plan p { %s }", plan);
    text_open(all);
    return algorithm();
}

START_TEST(algorithms) {
    static const struct {
        const char *plan, *definitions;
    } row[] = {
        { "f: compute_root();", "f(x, y) = in(x, y) * 3;\nf(x, y) += in(x + k, y);\ng(x, y) = f(x, y) + in(x, y + 1);\n"
                                "h(x, y) = f(x + 1, y - 1) - g(x, y);\nout(x, y) = g(x, y) + h(x, y) * f(x, y);\n" },
        { "f: in(g, w);", "f(x, y) = in(x, y) * 3;\nf(x, y) += in(x + k, y);\nw(x, y) = f(x, y);\ng(x, y) = w(x, y) + in(x, y + 1);\n"
                          "h(x, y) = f(x + 1, y - 1) - g(x, y);\nout(x, y) = g(x, y) + h(x, y) * f(x, y);\n" },
        { "f: in(h, out, w);", "f(x, y) = in(x, y) * 3;\nf(x, y) += in(x + k, y);\ng(x, y) = f(x, y) + in(x, y + 1);\nw(x, y) = f(x, y);\n"
                               "h(x, y) = w(x + 1, y - 1) - g(x, y);\nout(x, y) = g(x, y) + h(x, y) * w(x, y);\n" },
        /* all, but for the other wrapper */
        { "f: in(g, w), in(v);", "f(x, y) = in(x, y) * 3;\nf(x, y) += in(x + k, y);\nw(x, y) = f(x, y);\n"
                                 "g(x, y) = w(x, y) + in(x, y + 1);\nv(x, y) = f(x, y);\n"
                                 "h(x, y) = v(x + 1, y - 1) - g(x, y);\nout(x, y) = g(x, y) + h(x, y) * v(x, y);\n" },
        /* an input; a wrapper of a wrapper */
        { "in: in(f, s); s: in(f, t);", "s(_0, _1) = in(_0, _1);\nt(_0, _1) = s(_0, _1);\nf(x, y) = t(x, y) * 3;\nf(x, y) += t(x + k, y);\n"
                                        "g(x, y) = f(x, y) + in(x, y + 1);\n"
                                        "h(x, y) = f(x + 1, y - 1) - g(x, y);\nout(x, y) = g(x, y) + h(x, y) * f(x, y);\n" },
        /* a copy of all definitions, which reads itself; later lines see it */
        { "f: clone_in(g, c); in: in(c, s);", "s(_0, _1) = in(_0, _1);\nc(x, y) = s(x, y) * 3;\nc(x, y) += s(x + k, y);\n"
                                              "g(x, y) = c(x, y) + in(x, y + 1);\nf(x, y) = in(x, y) * 3;\nf(x, y) += in(x + k, y);\n"
                                              "h(x, y) = f(x + 1, y - 1) - g(x, y);\nout(x, y) = g(x, y) + h(x, y) * f(x, y);\n" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char want[2048], definitions[4096] = "";
        for (const char *p = derived(row[i].plan); *p;) { /* rdom k stands before the first definition that uses it */
            const char *end = strchr(p, '\n') + 1;
            if (strncmp(p, "rdom ", 5)) strncat(definitions, p, (size_t)(end - p));
            p = end;
        }
        snprintf(want, sizeof want, "mlc 1\ninput in: i32[2];\n%soutput out;\n", row[i].definitions);
        ck_assert_str_eq(definitions, want);
    }
    text_close();
}
END_TEST

static const char *const plans[] = {
    "f: in(g, w), compute_root(); w: compute_at(g, y), vectorize(x, 4); g: compute_at(out, y), vectorize(x, 8);",
    "f: in(w), compute_root(); w: compute_at(out, y), store_root(); out: parallel(x, 4);",
    "in: in(f, s), in(all); s: compute_root(), vectorize(_0, 8), parallel(_1); all: compute_at(g, x); g: compute_root(); f: compute_root();",
    "in: in(f, s); f: compute_at(out, y); s: compute_at(out, y), store_root(), unroll(_0, 2);",
    "f: clone_in(g, c), compute_root(); c: compute_at(g, x); g: compute_root(); f.u0: vectorize(x, 4); c.u0: unroll(k);",
    "f: clone_in(h, c), in(g, w); c: compute_root(); c.u0: reorder(x, k, y), vectorize(x, 8); w: compute_at(out, x); f: compute_root();",
    ("out: split(y, yo, yi, 3, .tail = guard), unroll(yi); g: in(h, w), compute_root(); h: clone_in(out, c); "
     "c: compute_at(out, yo); w: compute_at(c, x); f: compute_root();"),
};
enum { N_PLANS = sizeof plans / sizeof *plans };

START_TEST(values) {
    char all[2048];
    snprintf(all, sizeof all, PROGRAM " plan p { %s }", plans[_i]);
    text_open(all);
    text_check_sizes();
    /* as C, too, from the text that the program prints */
    mlc_ctx *again = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(again, mlc_program_print(T.ctx, 1, &T.out, 1, &T.plan), NULL);
    ck_assert_msg(p, "%s", mlc_error(again));
    const int64_t size[2] = { 13, 7 }, min[2] = { -2, 3 };
    mlc_buffer *want = text_buffer(MLC_I32, 2, size, min, 0), *have = text_buffer(MLC_I32, 2, size, min, 0);
    mlc_buffer *in = text_buffer(MLC_I32, 2, size, min, AROUND);
    text_fill(in);
    mlc_func out = mlc_program_output(p, 0);
    ck_assert(mlc_bind(mlc_find_func(again, "in"), in));
    ck_assert_msg(mlc_interpret(out, want), "%s", mlc_error(again));
    ck_assert_msg(mlc_realize_all(mlc_program_find_plan(p, "p"), 1, &out, &have, 1, NULL), "%s", mlc_error(again));
    ck_assert(!memcmp(want->data, have->data, 13 * 7 * 4));
    mlc_buffer_free(want);
    mlc_buffer_free(have);
    mlc_buffer_free(in);
    mlc_ctx_free(again);
    text_close();
}
END_TEST

/* A body that is put in keeps what an access would do to it: products do not fuse with what is around, halves round. */
static const struct {
    const char *program, *line, *definition;
} eager[] = {
    { "f(x, y) = a(x, y) * b(x, y); out(x, y) = f(x + 1, y) + a(x, y);", "out: eager_inline(f);", "out(x, y) = rounded(a(x + 1, y) * b(x + 1, y)) + a(x, y)" },
    { "f(x, y) = -(a(x, y) * b(x, y)); out(x, y) = a(x, y) - f(x, y);", "out: eager_inline(f);", "out(x, y) = a(x, y) - rounded(-(a(x, y) * b(x, y)))" },
    { "f(x, y) = a(x, y) * b(x, y) + 1; out(x, y) = f(x, y) * 2 + b(x, y);", "out: eager_inline(f);", "out(x, y) = (a(x, y) * b(x, y) + 1.0) * 2.0 + b(x, y)" },
    { "f(x, y) = a(x, y) * b(x, y); rdom k(0, 3); out(x, y) += f(x + k, y);", "out.u0: eager_inline(f);", "out(x, y) += rounded(a(x + k, y) * b(x + k, y))" },
    { "f(x, y) = i32(x) * 3; out(x, y) = f(x, y) * 2 + f(y, x);", "out: eager_inline(f);", "out(x, y) = i32(x) * 3 * 2 + i32(y) * 3" },
    { "h(x, y) = f16(a(x, y)); f(x, y) = h(x, y) * h(y, x); out(x, y) = f(x, y) + h(x, y);", "out: eager_inline(f);",
      "out(x, y) = f16(h(x, y) * h(y, x)) + h(x, y)" },
    { "f(x, y) = a(x, y) * b(x, y); g(x, y) = f(x, y) - f(x, y + 1); out(x, y) = g(x, y) + f(x, y);", "out: eager_inline(f, g);",
      "out(x, y) = rounded(a(x, y) * b(x, y)) - rounded(a(x, y + 1) * b(x, y + 1)) + rounded(a(x, y) * b(x, y))" },
    { "f(x, y) = {a(x, y), i32(x)}; rdom k(0, 4) where f(k, 0)[1] < 3; out(x, y) += f(x, k)[0];", "out.u0: eager_inline(f);", "out(x, y) += a(x, k)" },
    { "f(x, y) = a(x, y) * b(x, y); out(x, y) = f(x, y) + 1;", "f: clone_in(out, c), compute_inline(); out: eager_inline(c), vectorize(x, 8);",
      "out(x, y) = rounded(a(x, y) * b(x, y)) + 1.0" },
};
enum { N_EAGER = sizeof eager / sizeof *eager };

START_TEST(put_in) {
    char all[1024], want[256];
    snprintf(all, sizeof all, "mlc 1 input a: f32[2]; input b: f32[2]; %s output out; plan p { %s }", eager[_i].program, eager[_i].line);
    text_open(all);
    snprintf(want, sizeof want, "\n%s;\n", eager[_i].definition);
    const char *text = algorithm();
    ck_assert_msg(strstr(text, want) != NULL, "%s", text);
    text_check_sizes();
    text_close();
}
END_TEST

START_TEST(eager_errors) {
    static const struct {
        const char *plan, *message;
    } row[] = {
        { "out: eager_inline(in);", "t.mlc:1: schedule out: eager_inline(in): in is an input and cannot be put in; name a pure Func" },
        { "out: eager_inline(f);", "t.mlc:1: schedule out: eager_inline(f): f has updates and cannot be put in; name a pure Func" },
        { "out: eager_inline(g); g: compute_root();", "t.mlc:1: schedule out: eager_inline(g): g has a schedule of its own, compute_root(); drop one of the lines" },
        { "f: eager_inline(g);", "t.mlc:1: schedule f: eager_inline(g): this stage of f does not read g; name a Func that it reads" },
        { "f.u0: eager_inline(g);", "t.mlc:1: schedule f.u0: eager_inline(g): this stage of f does not read g; name a Func that it reads" },
        { "f.u1: eager_inline(g);", "t.mlc:1: schedule f.u1: eager_inline(g): f has no update 1: it has u0 alone; name another stage" },
        { "in: eager_inline(g);", "t.mlc:1: schedule in: eager_inline(g): in is an input and is not computed; schedule a Func that reads it" },
        { "out: eager_inline(g, other);", "t.mlc:1: schedule out: eager_inline(g, other): this stage of out does not read other; name a Func that it reads" },
        { "f: in(g, w); out: eager_inline(v); f: in(h, v);", "t.mlc:1: schedule out: eager_inline(v): v is needed and has no definition; define it" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char all[2048];
        snprintf(all, sizeof all, PROGRAM " other(x) = x; plan q { f: in(v); } plan p { %s }", row[i].plan);
        text_open(all);
        ck_assert_str_eq(text_lower(NULL, NULL, 0), row[i].message);
    }
    text_open("mlc 1 input in: i32[1]; r(x) = random_u32(u32(1)); g(x) = in(x) + i32(r(x)); output g; plan p { g: eager_inline(r); }");
    ck_assert_str_eq(text_lower(NULL, NULL, 0), "t.mlc:1: schedule g: eager_inline(r): r calls random, which depends on whose point it is "
                                                "and cannot be put in; name a pure Func");
    mlc_func g = mlc_find_func(T.ctx, "g");
    MLC_VARS(T.ctx, x);
    mlc_plan *plan = mlc_plan_new(T.ctx);
    ck_assert(mlc_plan_add(plan, g, mlc_eager_inline(mlc_find_func(T.ctx, "r"), g), mlc_serial(x)));
    ck_assert_str_eq(mlc_plan_print(plan), "g: eager_inline(r, g), serial(x);\n");
    ck_assert(!mlc_plan_add(plan, g, mlc_eager_inline(g, g, g, g, g, g, g, g, g)));
    ck_assert_ptr_nonnull(strstr(mlc_error(T.ctx), ": 9 Funcs are named; name 1 to 8"));
    text_close();
}
END_TEST

/* Who is computed, how often, in what memory. */
START_TEST(structure) {
    text_open(PROGRAM " plan p { f: in(g, w), compute_root(); w: compute_at(out, y); g: compute_root(); }");
    ck_assert_str_eq(text_lower(NULL, NULL, 0), "t.mlc:1: schedule w: compute_at(out, y): w is read by g, which is not inside this "
                                                "loop; legal places are: compute_at(g, x), compute_at(g, y), compute_root()");
    text_open(PROGRAM " plan p { f: in(g, w), compute_root(); w: compute_at(g, y); g: compute_root(); h: compute_root(); }");
    text_check(16, 8, 0, 0);
    ck_assert_int_eq(text_stores("w", 0), 16 * 8);
    ck_assert_int_eq(text_stores("f", 0), 17 * 9);
    ck_assert_int_eq(text_stores("f", 1), 17 * 9 * 3);
    ck_assert_int_eq(text_count("alloc w"), 1);
    /* a wrapper without a place is inlined: nothing changes */
    text_open(PROGRAM " plan p { f: in(g, w), compute_root(); }");
    text_check(16, 8, 0, 0);
    ck_assert_int_eq(text_stores("w", 0), 0);
    /* an input staged row by row, and a clone that computes only what its consumer needs */
    text_open(PROGRAM " plan p { f: clone_in(h, c), compute_root(); in: in(f, s); s: compute_root(); c: compute_at(h, y); h: compute_root(); }");
    ck_assert_str_eq(text_lower(NULL, NULL, 0), "");
    text_check(16, 8, 0, 0);
    ck_assert_int_eq(text_stores("c", 0), 16 * 8);
    ck_assert_int_eq(text_stores("f", 0), 16 * 8);
    text_close();
}
END_TEST

/* An index made of an input's data: the wrapper's values lie in the range that the input declares. */
START_TEST(ranges) {
    text_open("mlc 1 input at: u8[2] range 0..9; input in: i32[1]; out(x, y) = in(i32(at(x, y))); output out;"
              "plan p { at: in(out, s); s: compute_at(out, y), vectorize(_0, 8); }");
    ck_assert_str_eq(text_lower(NULL, NULL, 0), "");
    text_close();
}
END_TEST

START_TEST(errors) {
    static const struct {
        const char *plan, *message;
    } row[] = {
        { "f: in(g, g);", "t.mlc:1: schedule f: in(g, g): the name 'g' is taken by a Func that has a definition; choose another for what this line makes" },
        { "f: in(g, in);", "t.mlc:1: schedule f: in(g, in): the name 'in' is taken by an input; choose another for what this line makes" },
        { "f: in(g, w), in(h, w);", "t.mlc:1: schedule f: in(h, w): the name 'w' is taken by another line of the plan; choose another for what this line makes" },
        { "g: clone_in(h, w); f: clone_in(h, w);", "t.mlc:1: schedule f: clone_in(h, w): the name 'w' is taken by another line of the plan; choose another for what this line makes" },
        { "f: in(f, w);", "t.mlc:1: schedule f: in(f, w): f cannot read a wrapper of itself; name one of its consumers" },
        { "f: clone_in(f, w);", "t.mlc:1: schedule f: clone_in(f, w): f cannot read a wrapper of itself; name one of its consumers" },
        { "in: in(h, w);", "t.mlc:1: schedule in: in(h, w): h does not read in; name one of those that do: f, g" },
        { "f: in(g, w), in(g, v);", "t.mlc:1: schedule f: in(g, v): g reads f through w already; wrap w, or drop one of the lines" },
        { "f: in(g, g, w);", "t.mlc:1: schedule f: in(g, g, w): g reads f through w already; wrap w, or drop one of the lines" },
        { "f: in(w), clone_in(g, v);", "t.mlc:1: schedule f: clone_in(g, v): g reads f through w already; wrap w, or drop one of the lines" },
        { "f: in(in, w);", "t.mlc:1: schedule f: in(in, w): in does not read f; name one of those that do: g, h, out" },
        { "out: in(w);", "t.mlc:1: schedule out: in(w): nothing in the program reads out; drop the directive" },
        { "f: in(w), in(v);", "t.mlc:1: schedule f: in(v): nothing in the program reads f; drop the directive" },
        { "out: in(f, w);", "t.mlc:1: schedule out: in(f, w): f does not read out; name one of those that do: none" },
        { "in: clone_in(f, w);", "t.mlc:1: schedule in: clone_in(f, w): in is an input and has no definition to copy; use in" },
        { "f: clone_in(w);", "t.mlc:1: schedule f: clone_in(w): a clone for all consumers would leave f without any; name some of them" },
        { "f: in(other, w);", "t.mlc:1: schedule f: in(other, w): other is not part of the program that computes f; name one of its consumers" },
        { "f: in(g, w); w: split(z, zo, zi, 2), compute_root();", "t.mlc:1: schedule w: split(z, zo, zi, 2): there is no loop 'z' in w; its loops are, innermost first: x, y" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char all[2048];
        snprintf(all, sizeof all, PROGRAM " other(x) = x; plan p { %s }", row[i].plan);
        text_open(all);
        ck_assert_str_eq(text_lower(NULL, NULL, 0), row[i].message);
    }
    text_open("mlc 1 input in: i32[1]; o(x) = undef_i32; o(0) = in(0); g(x) = o(x); output g; plan p { o: clone_in(g, w); }");
    ck_assert_str_eq(text_lower(NULL, NULL, 0), "t.mlc:1: schedule o: clone_in(g, w): o is undef at first and keeps what its buffer "
                                                "holds, which a copy has not; use in");
    text_close();
}
END_TEST

START_TEST(text_errors) {
    static const struct {
        const char *plan, *message;
    } row[] = {
        { "f: in()", "plan:1:7: expected a name for the new Func, found ')'; see docs/language.md" },
        { "f: in(k)", "plan:1:7: func: 'k' is already the name of an RDom; use another name" },
        { "f: in(gg, w)", "plan:1:7: there is no Func 'gg' (did you mean 'g'?); define it before the plan" },
        { "f: in(a, w, .tail = guard)", "plan:1:7: there is no Func 'a'; define it before the plan" },
        { "w: compute_root()", "plan:1:1: there is no Func 'w'; define it before the plan" },
        { "f: in(g, g, g, g, g, g, g, g, g, w)", "plan:1:31: expected at most 8 Funcs, found 'g'; see docs/language.md" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        text_open(PROGRAM);
        ck_assert(!mlc_plan_parse(T.plan, row[i].plan, NULL));
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(mlc_error(T.ctx), "\n"), mlc_error(T.ctx));
        ck_assert_str_eq(line, row[i].message);
        ck_assert_int_eq(mlc_plan_size(T.plan), 0);
    }
    text_close();
}
END_TEST

/* The macros say what the text says; one name may serve two plans; a plan keeps the algorithm as it was. */
START_TEST(from_c) {
    text_open(PROGRAM);
    mlc_func f = mlc_find_func(T.ctx, "f"), g = mlc_find_func(T.ctx, "g"), h = mlc_find_func(T.ctx, "h");
    mlc_func w = mlc_func_new(T.ctx, "w"), v = mlc_func_new(T.ctx, "v");
    MLC_VARS(T.ctx, x, y);
    ck_assert(mlc_plan_add(T.plan, f, mlc_in(g, h, w), mlc_in(v), mlc_compute_root()));
    ck_assert(mlc_plan_add(T.plan, w, mlc_compute_at(T.out, y), mlc_vectorize(x, 8)));
    ck_assert_str_eq(mlc_plan_print(T.plan), "f: in(g, h, w), in(v), compute_root();\nw: compute_at(out, y), vectorize(x, 8);\n");
    mlc_plan *other = mlc_plan_new(T.ctx);
    ck_assert(mlc_plan_add(other, f, mlc_clone_in(g, w)) && mlc_plan_add(other, w, mlc_compute_root()));
    mlc_plan *same = mlc_plan_new(T.ctx);
    ck_assert(mlc_plan_parse(same, mlc_plan_print(other), NULL));
    ck_assert_str_eq(mlc_plan_print(same), "f: clone_in(g, w);\nw: compute_root();\n");
    text_check(9, 5, 0, 0);
    T.plan = same;
    text_check(9, 5, 0, 0);
    ck_assert_int_eq(text_stores("w", 1), 9 * 5 * 3);
    ck_assert(w.f->def.n == 0 && g.f->def.n == 1);
    char text[256];
    StrBuf b;
    sb_init(&b, &T.ctx->arena);
    alg_print_def(&b, g.f, 0);
    snprintf(text, sizeof text, "%s", b.at);
    ck_assert_str_eq(text, "g(x, y) = f(x, y) + in(x, y + 1)");
    /* values that no text can give */
    mlc_ctx *far = mlc_ctx_new();
    ck_assert(!mlc_plan_add(T.plan, f, mlc_in(mlc_func_new(far, "w"))));
    ck_assert_msg(strstr(mlc_error(T.ctx), "schedule f: in(w): ") != NULL, "%s", mlc_error(T.ctx));
    mlc_error_clear(T.ctx);
    ck_assert(!mlc_plan_add(T.plan, f, mlc_in(((mlc_func){ NULL }), w)));
    ck_assert_ptr_nonnull(strstr(mlc_error(T.ctx), "the Func or the stage has no value; make it with mlc_func_new or mlc_update"));
    mlc_error_clear(T.ctx);
    ck_assert(!mlc_plan_add(T.plan, f, mlc_in(g, g, g, g, g, g, g, g, g, w)));
    ck_assert_ptr_nonnull(strstr(mlc_error(T.ctx), ": 9 consumers are named; name at most 8, and last the Func to be made"));
    mlc_error_clear(T.ctx);
    mlc_ctx_free(far);
    text_close();
}
END_TEST

Suite *derive_suite(void) {
    Suite *s = suite_create("derive");
    TCase *t = tcase_create("plans that derive");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, algorithms);
    tcase_add_loop_test(t, values, 0, N_PLANS);
    tcase_add_loop_test(t, put_in, 0, N_EAGER);
    tcase_add_test(t, eager_errors);
    tcase_add_test(t, structure);
    tcase_add_test(t, ranges);
    tcase_add_test(t, errors);
    tcase_add_test(t, text_errors);
    tcase_add_test(t, from_c);
    suite_add_tcase(s, t);
    return s;
}
