/* test_large.c - buffers beyond 2 GiB: places in them are counted in 64 bits, on every target. */
#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <sys/mman.h>

Suite *large_suite(void);

enum { ROWS = 3, POINTS = 21 };
#define ROW INT64_C(3000000000)
#define FIRST (ROW - POINTS - 1)

static const char *const targets[] = { "interpret", "plain", "avx2" };

/* Pages that nobody touches take no memory. */
static uint8_t *pages(void) {
    void *p = mmap(NULL, (size_t)(ROWS * ROW), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_msg(p != MAP_FAILED, "no room for 9 GB of addresses");
    return p;
}

START_TEST(buffers_may_be_larger_than_two_gigs) {
    uint8_t *from = pages(), *to = pages();
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_error_info e = { 0 };
    mlc_program *p = mlc_program_parse(
        ctx,
        "mlc 1\ninput in: u8[2];\ng(x, y) = in(x, y) + in(x + 1, y);\nf(x, y) = g(x, y) * u8(3);\n"
        "output f;\nplan p { g: compute_at(f, y); f: vectorize(x, 8), parallel(y); }",
        "large");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    mlc_func f = mlc_program_output(p, 0);
    for (int y = 0; y < ROWS; y++)
        for (int64_t x = FIRST; x < ROW; x++) from[y * ROW + x] = (uint8_t)(x * 7 + y);
    mlc_buffer a = { .data = from, .type = MLC_U8, .rank = 2, .dim = { { 0, ROW, 1 }, { 0, ROWS, ROW } } };
    mlc_buffer b = {
        .data = to + FIRST, .type = MLC_U8, .rank = 2, .dim = { { FIRST, POINTS, 1 }, { 0, ROWS, ROW } }
    };
    mlc_options o = { .target = targets[_i] };
    mlc_module *m = mlc_compile(mlc_program_plan(p, 0), 1, &f, &o, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    ck_assert_msg(!mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 0, NULL, &e), "%s", e.message);
    for (int y = 0; y < ROWS; y++)
        for (int64_t x = FIRST; x < FIRST + POINTS; x++)
            ck_assert_uint_eq(to[y * ROW + x], (uint8_t)(3 * ((x * 7 + y) + ((x + 1) * 7 + y))));
    mlc_module_free(m);
    mlc_ctx_free(ctx);
    munmap(from, (size_t)(ROWS * ROW));
    munmap(to, (size_t)(ROWS * ROW));
}
END_TEST

Suite *large_suite(void) {
    Suite *s = suite_create("large");
    TCase *t = tcase_create("large");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, buffers_may_be_larger_than_two_gigs, 0, (int)(sizeof targets / sizeof *targets));
    suite_add_tcase(s, t);
    return s;
}
