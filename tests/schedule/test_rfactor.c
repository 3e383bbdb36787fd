/* test_rfactor.c - the algorithms that rfactor derives, as text; what they compute is in tests/behaviours/rfactor. */
#include <check.h>
#include <mlc.h>
#include <mlc/text.h>

#include <stdio.h>
#include <string.h>

Suite *rfactor_suite(void);

static const struct {
    const char *algorithm, *plan, *derived;
} rows[] = {
    { "input in: i32[1]; rdom r(3, 32); f(x) = x; f(x) += in(x + r); output f;", "f.u0: split(r, ro, ri, 8), rfactor(parts, ri, u)",
      "mlc 1\ninput in: i32[1];\nparts(x, u) = 0;\nrdom parts$r(0, 4);\n"
      "parts(x, u) += in(x + (parts$r * 8 + u + 3));\nf(x) = i32(x);\nrdom parts$m(0, 8);\nf(x) += parts(x, parts$m);\noutput f;\n" },
    { "input in: f32[1]; rdom r(0, in.extent.0); f() += in(r) * in(r); output f;", "f.u0: split(r, ro, ri, 8), rfactor(parts, ro, u, .reassociate)",
      "// class rewrite: the plan derives an algorithm of other roundings\nmlc 1\ninput in: f32[1];\nparts(u) = f32(-0.0);\nrdom parts$r(0, 8) where u * 8 + parts$r < in.extent.0;\n"
      "parts(u) += in(u * 8 + parts$r) * in(u * 8 + parts$r);\nrdom parts$m(0, (in.extent.0 + 7) / 8);\nf() += parts(parts$m);\noutput f;\n" },
    { "input in: u8[2]; rdom r(0, 9; 1, 5) where r.x != r.y; h(i) = u8(0); h(index(in(r.x, r.y))) = h(index(in(r.x, r.y))) | u8(r.x); output h;",
      "h.u0: rfactor(rows, r.y, row)",
      "mlc 1\ninput in: u8[2];\nrows(i, row) = u8(0);\nrdom rows$r(0, 9) where rows$r != row;\n"
      "rows(index(in(rows$r, row)), row) = rows(index(in(rows$r, row)), row) | u8(rows$r);\nh(i) = u8(0);\nrdom rows$m(1, 5);\n"
      "h(i) = h(i) | rows(i, rows$m);\noutput h;\n" },
    { "input in: i32[1]; rdom r(2, 30); f() = argmin(r, in(r))[0]; output f;", "argmin$1.u0: split(r, ro, ri, 5), rfactor(parts, ri, u)",
      "mlc 1\ninput in: i32[1];\nparts(u) = {2, 2147483647};\nrdom parts$r(0, 6);\n"
      "parts(u) = {select(in(parts$r * 5 + u + 2) < parts(u)[1], i32(parts$r * 5 + u + 2), parts(u)[0]), "
      "select(in(parts$r * 5 + u + 2) < parts(u)[1], in(parts$r * 5 + u + 2), parts(u)[1])};\n"
      "argmin$1() = {2, 2147483647};\nrdom parts$m(0, 5);\n"
      "argmin$1() = {select(parts(parts$m)[1] < argmin$1()[1] || !(argmin$1()[1] < parts(parts$m)[1]) && parts(parts$m)[0] < argmin$1()[0], "
      "parts(parts$m)[0], argmin$1()[0]), "
      "select(parts(parts$m)[1] < argmin$1()[1] || !(argmin$1()[1] < parts(parts$m)[1]) && parts(parts$m)[0] < argmin$1()[0], "
      "parts(parts$m)[1], argmin$1()[1])};\nf() = argmin$1()[0];\noutput f;\n" },
    /* atomic: lanes are parts that are joined by halving */
    { "input in: f32[1]; rdom r(3, 83); f(x) += in(x + r) * in(r); output f;", "f.u0: atomic(.reassociate), vectorize(r, 6)",
      "// class rewrite: the plan derives an algorithm of other roundings\nmlc 1\ninput in: f32[1];\n"
      "f$lanes0(x, r$v) = f32(-0.0);\nrdom f$lanes0$r(0, 14) where f$lanes0$r * 6 + r$v < 83;\n"
      "f$lanes0(x, r$v) += in(x + (f$lanes0$r * 6 + r$v + 3)) * in(f$lanes0$r * 6 + r$v + 3);\n"
      "rdom f$lanes0$3(0, 3);\nf$lanes0(x, f$lanes0$3) += f$lanes0(x, f$lanes0$3 + 3);\n"
      "f$lanes0(x, 0) += f$lanes0(x, 2);\nf$lanes0(x, 0) += f$lanes0(x, 1);\nf(x) += f$lanes0(x, 0);\noutput f;\n" },
    { "f(x) = x; g(x) = f(x); output g;", "f: compute_root()", "mlc 1\nf(x) = i32(x);\ng(x) = f(x);\noutput g;\n" },
};

static void explain(mlc_plan *plan, mlc_program *p, char *text, size_t size) {
    mlc_error_info e = { 0 };
    mlc_func out = mlc_program_output(p, 0);
    FILE *to = fmemopen(text, size, "w");
    bool ok = mlc_explain(plan, 1, &out, "algorithm", NULL, to, &e);
    fclose(to);
    ck_assert_msg(ok, "%s", e.message);
}

static mlc_program *read_program(mlc_ctx *ctx, const char *text) {
    mlc_program *p = mlc_program_parse(ctx, text, "t.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    return p;
}

START_TEST(derived_text) {
    char text[4096], again[4096], whole[1024];
    mlc_ctx *ctx = mlc_ctx_new(), *other = mlc_ctx_new();
    snprintf(whole, sizeof whole, "mlc 1\n%s\n", rows[_i].algorithm);
    mlc_program *p = read_program(ctx, whole);
    const char *before = mlc_program_print(ctx, 1, &(mlc_func){ mlc_program_output(p, 0).f }, 0, NULL);
    mlc_plan *plan = mlc_plan_new(ctx), *none = mlc_plan_new(other);
    ck_assert_msg(mlc_plan_parse(plan, rows[_i].plan, NULL), "%s", mlc_error(ctx));
    explain(plan, p, text, sizeof text);
    ck_assert_str_eq(text, rows[_i].derived);
    explain(none, read_program(other, text), again, sizeof again); /* it reads back */
    ck_assert_str_eq(again, strstr(text, "mlc 1"));
    /* what the user wrote is as it was */
    ck_assert_str_eq(mlc_program_print(ctx, 1, &(mlc_func){ mlc_program_output(p, 0).f }, 0, NULL), before);
    mlc_ctx_free(ctx);
    mlc_ctx_free(other);
}
END_TEST

/* The target interpret runs what the plan derives: the same bits as the compiled code. */
START_TEST(interpreted) {
    float src[83], derived, compiled, plain;
    for (int i = 0; i < 83; i++) src[i] = (float)(i % 7 ? i * i + 1 : -i) * 0.37f;
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = read_program(ctx, "mlc 1\ninput in: f32[1]; rdom r(0, 83); f() += in(r) * in(r); output f;\n"
                                       "plan p { f.u0: split(r, ro, ri, 8), rfactor(parts, ri, u, .reassociate); }");
    mlc_func f = mlc_program_output(p, 0);
    mlc_buffer in = { .type = MLC_F32, .rank = 1, .data = src, .dim = { { 0, 83, 1 } } };
    const struct {
        mlc_plan *plan;
        float *result;
        const char *target;
    } runs[] = { { mlc_program_plan(p, 0), &derived, "interpret" }, { mlc_program_plan(p, 0), &compiled, "host" }, { mlc_plan_new(ctx), &plain, "host" } };
    mlc_bind(mlc_find_func(ctx, "in"), &in);
    for (int i = 0; i < 3; i++) {
        mlc_buffer out = { .type = MLC_F32, .rank = 0, .data = runs[i].result }, *b = &out;
        ck_assert_msg(mlc_realize_all(runs[i].plan, 1, &f, &b, 1, &(mlc_options){ .target = runs[i].target }), "%s", mlc_error(ctx));
    }
    ck_assert(!memcmp(&derived, &compiled, sizeof derived));
    ck_assert(memcmp(&derived, &plain, sizeof derived));
    mlc_ctx_free(ctx);
}
END_TEST

Suite *rfactor_suite(void) {
    Suite *s = suite_create("rfactor");
    TCase *t = tcase_create("derived");
    tcase_add_loop_test(t, derived_text, 0, sizeof rows / sizeof *rows);
    tcase_add_test(t, interpreted);
    suite_add_tcase(s, t);
    return s;
}
