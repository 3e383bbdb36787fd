/* test_specialize.c - specializations as text and as values, and every plan of them that is wrong. */
#include "base/base.h"

#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *specialize_suite(void);

static const char algorithm[] = "mlc 1\ninput in: i32[1];\ninput other: i32[1];\nparam n: index;\nparam on: bool;\n"
                                "rdom k(0, 3);\ng(x) = in(x) + 1;\nf(x) = g(x) + g(x + 1);\nf(x) += in(x + k);\noutput f;\n";

static mlc_program *program(mlc_ctx *ctx, const char *plan) {
    char text[2000];
    snprintf(text, sizeof text, "%splan p { %s; }\n", algorithm, plan);
    mlc_program *p = mlc_program_parse(ctx, text, "p.mlc");
    ck_assert_msg(p != NULL, "%s: %s", plan, mlc_error(ctx));
    return p;
}

START_TEST(text) {
    static const char *const row[] = {
        "f: specialize(n > 3) { }",
        "f: specialize(n > 3 && in.stride.0 == 1) { vectorize(x, 8, .tail = guard) }, parallel(x)",
        "f: specialize(on) { specialize(f.extent.0 > 7) { vectorize(x, 8) }, unroll(x, 2) }, specialize(!on) { parallel(x) }",
        "f.u0: specialize(n % 8 == 0 || n < in.min.0 + 5) { reorder(x, k) }, specialize_fail(\"odd \\\"n\\\"\")",
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        mlc_ctx *ctx = mlc_ctx_new();
        mlc_program *p = program(ctx, row[i]);
        char want[500];
        snprintf(want, sizeof want, "%s;\n", row[i]);
        ck_assert_str_eq(mlc_plan_print(mlc_program_plan(p, 0)), want);
        mlc_plan *again = mlc_plan_new(ctx);
        ck_assert_msg(mlc_plan_parse(again, want, NULL), "%s", mlc_error(ctx));
        ck_assert_str_eq(mlc_plan_print(again), want);
        mlc_ctx_free(ctx);
    }
}
END_TEST

/* A program that only conditions make need an input, and an RDom that only a specialization names. */
START_TEST(whole_programs) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = program(ctx, "f: specialize(other.extent.0 > 3) { vectorize(x, 8) }");
    mlc_func f = mlc_program_output(p, 0);
    mlc_plan *plan = mlc_program_plan(p, 0);
    const char *print = mlc_program_print(ctx, 1, &f, 1, &plan);
    ck_assert_msg(print && strstr(print, "input other: i32[1];"), "%s", print);
    mlc_ctx *second = mlc_ctx_new();
    ck_assert_msg(mlc_program_parse(second, print, NULL) != NULL, "%s", mlc_error(second));
    mlc_ctx_free(second);
    mlc_ctx_free(ctx);
}
END_TEST

/* Sizes mean those of what a plan derives. */
START_TEST(derived) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = program(ctx, "in: in(f, w); w: compute_at(f, x); f: specialize(f.extent.0 % 3 == 0 && in.extent.0 > 3) { unroll(x, 3) }");
    mlc_func f = mlc_program_output(p, 0);
    mlc_error_info e;
    FILE *nowhere = fopen("/dev/null", "w");
    ck_assert_msg(mlc_explain(mlc_program_plan(p, 0), 1, &f, "loops", NULL, nowhere, &e), "%s", e.message);
    fclose(nowhere);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(values) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_param n = mlc_param_new(ctx, "n", MLC_I32);
    mlc_func in = mlc_input_new(ctx, "in", MLC_F32, 1), f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(f, x), mlc_at(in, x));
    {
        mlc_directive gone = mlc_specialize(mlc_eq(mlc_dim_stride(in, 0), 1), mlc_specialize(mlc_gt(n, 7)), mlc_vectorize(x, 8));
        mlc_schedule(f, mlc_serial(x), gone, mlc_specialize(mlc_le(mlc_dim_extent(f, 0), 3), mlc_parallel(x)));
        memset(&gone, 0, sizeof gone);
    }
    char message[] = "n \"odd\"";
    mlc_schedule(f, mlc_specialize_fail(message));
    memset(message, 'x', sizeof message - 1);
    ck_assert_str_eq(mlc_error(ctx), "");
    ck_assert_str_eq(mlc_plan_print(mlc_plan_default(ctx)),
                     "f: serial(x), specialize(in.stride.0 == 1) { specialize(n > 7) { }, vectorize(x, 8) }, "
                     "specialize(f.extent.0 <= 3) { parallel(x) }, specialize_fail(\"n \\\"odd\\\"\");\n");
    mlc_ctx_free(ctx);
}
END_TEST

static const struct {
    const char *plan, *message;
} wrong[] = {
    { "f: specialize(n + 1) { }",
      "p.mlc:11: schedule f: specialize(n + 1) { }: the condition is index, not bool; compare it with something" },
    { "f: specialize(x > 3) { }", "p.mlc:11: schedule f: specialize(x > 3) { }: the condition uses the variable x, which may change "
                                  "within a call; use params, sizes of buffers and constants" },
    { "f.u0: specialize(k > 3) { }", "p.mlc:11: schedule f.u0: specialize(k > 3) { }: the condition uses the variable k, which may "
                                     "change within a call; use params, sizes of buffers and constants" },
    { "f: specialize(in(0) > 3) { }", "p.mlc:11: schedule f: specialize(in(0) > 3) { }: the condition uses values of in, which may "
                                      "change within a call; use params, sizes of buffers and constants" },
    { "f: specialize(random_f32(1, 0) > 0.5) { }",
      "p.mlc:11: schedule f: specialize(random_f32(1, 0) > 0.5) { }: the condition uses random numbers, which may change within a "
      "call; use params, sizes of buffers and constants" },
    { "f: specialize(other.extent.0 > 3) { }",
      "p.mlc:11: schedule f: specialize(other.extent.0 > 3) { }: the condition uses other.extent.0, but other is no input or output "
      "of this program; use the size of one that is" },
    { "f: specialize(g.extent.0 > 3) { }",
      "p.mlc:11: schedule f: specialize(g.extent.0 > 3) { }: the condition uses g.extent.0, but g is no input or output of this "
      "program; use the size of one that is" },
    { "f: specialize(n > 3) { parallel(x) }, specialize(n > 5) { vectorize(x, 8) }",
      "p.mlc:11: schedule f: specialize(n > 5) { vectorize(x, 8) }: n > 5 never holds where no earlier condition does; drop this "
      "specialization or put it first" },
    { "f: specialize(n > 3) { specialize(n < 3) { } }",
      "p.mlc:11: schedule f: specialize(n < 3) { }: n < 3 never holds where no earlier condition does; drop this specialization or "
      "put it first" },
    { "f: specialize(n > 3) { }, specialize_fail(\"n is small\"), specialize(on) { }",
      "p.mlc:11: schedule f: specialize(on) { }: no call of f gets past specialize_fail; put this before it" },
    { "f.u0: specialize(n > 3) { }, specialize_fail(\"n is small\"), vectorize(x, 8)",
      "p.mlc:11: schedule f.u0: vectorize(x, 8): no call of f.u0 gets past specialize_fail; put this before it" },
    { "f: specialize_fail(\"\")",
      "p.mlc:11: schedule f: specialize_fail(\"\"): the message is empty; say what a call has to satisfy" },
    { "g: compute_root(), specialize(on) { store_root() }",
      "p.mlc:11: schedule g: store_root(): store_root is not about the loops of one stage; put it outside of the specialization" },
    { "g: specialize(on) { }",
      "p.mlc:11: schedule g: specialize(on) { }: g is inlined and has no loops; give it a compute_root or compute_at" },
    { "f: specialize(on) { vectorize(y, 8) }",
      "p.mlc:11: schedule f: vectorize(y, 8): there is no loop 'y' in f; its loops are, innermost first: x" },
    { "f: specialize(on) { split(x, xo, xi, 8) }; g: compute_at(f, xo)",
      "p.mlc:11: schedule g: compute_at(f, xo): g is read by f, which is not inside this loop; legal places are: compute_root()" },
};

START_TEST(errors) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = program(ctx, wrong[_i].plan);
    mlc_error_info e;
    FILE *nowhere = fopen("/dev/null", "w");
    mlc_func out = mlc_program_output(p, 0);
    ck_assert(!mlc_explain(mlc_program_plan(p, 0), 1, &out, "loops", NULL, nowhere, &e));
    ck_assert_str_eq(e.message, wrong[_i].message);
    fclose(nowhere);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(text_errors) {
    static const struct {
        const char *plan, *message;
    } row[] = {
        { "f: specialize(n > 3)", "plan:1:21: expected '{', found the end of the text; see docs/language.md" },
        { "f: specialize(n > ) { }", "plan:1:19: expected an expression, found ')'; see docs/language.md" },
        { "f: specialize(m > 3) { }", "plan:1:15: there is no 'm' here; define it before its use" },
        { "f: specialize(on) { parallel(x); }", "plan:1:32: expected '}', found ';'; see docs/language.md" },
        { "f: specialize_fail(n)", "plan:1:20: expected a message in quotes, found 'n'; see docs/language.md" },
    };
    mlc_ctx *ctx = mlc_ctx_new();
    program(ctx, "f: parallel(x)");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char message[500];
        mlc_error_clear(ctx);
        ck_assert(!mlc_plan_parse(mlc_plan_new(ctx), row[i].plan, NULL));
        snprintf(message, sizeof message, "%s", mlc_error(ctx));
        message[strcspn(message, "\n")] = 0;
        ck_assert_str_eq(message, row[i].message);
    }
    char deep[4000] = "f: ";
    for (int i = 0; i < 100; i++) strcat(deep, "specialize(on) { ");
    mlc_error_clear(ctx);
    ck_assert(!mlc_plan_parse(mlc_plan_new(ctx), deep, NULL));
    ck_assert_msg(strstr(mlc_error(ctx), "the text nests more than 32 levels deep"), "%s", mlc_error(ctx));
    mlc_ctx_free(ctx);
}
END_TEST

/* Sizes of outputs are for conditions alone: a definition cannot know them. */
START_TEST(sizes_in_definitions) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program_parse(ctx, "mlc 1\nf(x) = x;\ng(x) = f(x) + i32(f.extent.0);\noutput g;\n", "p.mlc");
    ck_assert_msg(strstr(mlc_error(ctx), "define g: f is no input, so its size is not known here; take the size of an input"), "%s",
                  mlc_error(ctx));
    mlc_error_clear(ctx);
    mlc_program_parse(ctx, "mlc 1\nh(x) = x;\nrdom r(0, h.extent.0);\n", "p.mlc");
    ck_assert_str_ne(mlc_error(ctx), "");
    mlc_ctx_free(ctx);
}
END_TEST

Suite *specialize_suite(void) {
    Suite *s = suite_create("specialize");
    TCase *t = tcase_create("plans");
    tcase_add_test(t, text);
    tcase_add_test(t, whole_programs);
    tcase_add_test(t, derived);
    tcase_add_test(t, values);
    tcase_add_loop_test(t, errors, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, text_errors);
    tcase_add_test(t, sizes_in_definitions);
    suite_add_tcase(s, t);
    return s;
}
