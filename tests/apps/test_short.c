/* mlc/short.h: names that no app uses compile and link too. */
#include <mlc/short.h>

#include <check.h>

Suite *short_suite(void);

START_TEST(rare_names_are_there) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    Func f = mlc_func_new(ctx, "f");
    float out[5];
    def(at(f, x), smoothstep(0.f, 4.f, f32(x)));
    schedule(f, unscheduled());
    ck_assert_str_eq(mlc_error(ctx), "");
    ck_assert_msg(mlc_interpret(f, mlc_wrap(out, 5)), "%s", mlc_error(ctx));
    ck_assert(out[0] == 0 && out[2] == 0.5f && out[4] == 1);
    mlc_ctx_free(ctx);
}
END_TEST

Suite *short_suite(void) {
    Suite *s = suite_create("short");
    TCase *t = tcase_create("short");
    tcase_add_test(t, rare_names_are_there);
    suite_add_tcase(s, t);
    return s;
}
