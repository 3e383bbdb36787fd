/* test_unscheduled.c - the warning of updates that a schedule leaves out. */
#include <check.h>
#include <mlc.h>

#include <string.h>

static char logged[300];

static void log_line(void *user, const char *line) {
    (void)user;
    snprintf(logged, sizeof logged, "%s", line);
}

static const struct {
    const char *plan, *warning, *error;
} rows[] = {
    { "", "", "" },
    { "c: vectorize(x, 8)", "text:3: warning: c has a schedule but its update c.u0 has none and runs as written; schedule it too, or say unscheduled()", "" },
    { "c: vectorize(x, 8); c.u0: split(x, xo, xi, 4)", "", "" },
    { "c: vectorize(x, 8); c.u0: unscheduled()", "", "" },
};

START_TEST(update_left_out) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_error_info e = { 0 };
    logged[0] = 0;
    mlc_ctx_log(ctx, log_line, NULL);
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\nrdom r(0, 5);\nc(x) = 0; c(x) += i32(r);\noutput c;\n", "text");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    mlc_plan *plan = mlc_plan_new(ctx);
    ck_assert_msg(mlc_plan_parse(plan, rows[_i].plan, "plan"), "%s", mlc_error(ctx));
    mlc_func c = mlc_program_output(p, 0);
    mlc_module *m = mlc_compile(plan, mlc_outs(c), &(mlc_options){ .target = "interpret" }, &e);
    ck_assert_str_eq(e.message, rows[_i].error);
    ck_assert_str_eq(logged, rows[_i].warning);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

Suite *unscheduled_suite(void);
Suite *unscheduled_suite(void) {
    Suite *s = suite_create("unscheduled");
    TCase *t = tcase_create("updates");
    tcase_add_loop_test(t, update_left_out, 0, sizeof rows / sizeof *rows);
    suite_add_tcase(s, t);
    return s;
}
