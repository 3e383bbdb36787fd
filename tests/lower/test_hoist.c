/* test_hoist.c - memory taken outside of the loops that it is stored in: how often, how much, and that nothing else
 * changes: the same points are computed, and the same values come out. */
#include "text_kit.h"

Suite *hoist_suite(void);

/* f is read by g around each point; `plan` says the rest. */
static void open_blur(const char *plan) {
    char text[2048];
    snprintf(text, sizeof text,
             "mlc 1\ninput in: i32[2];\nf(x, y) = in(x, y) * 3 - in(x + 1, y);\n"
             "g(x, y) = f(x - 1, y) + f(x + 1, y) - f(x, y + 2) * 5;\noutput g;\nplan p { %s }\n", plan);
    text_open(text);
}

/* With the directive and without it: the values, and how many points of f are stored. */
static void check_hoisted(const char *g, const char *f, const char *hoist) {
    static char plan[1024];
    int64_t stores[2];
    for (int with = 0; with < 2; with++) {
        snprintf(plan, sizeof plan, "%s f: %s%s%s;", g, f, with ? ", " : "", with ? hoist : "");
        open_blur(plan);
        text_check_sizes();
        text_check(17, 13, 5, -7);
        stores[with] = text_stores("f", 0);
    }
    ck_assert_int_eq(stores[0], stores[1]);
}

/* How often f gets memory over 17 x 13 points, and the most bytes at once. */
static void check_memory(const char *plan, int64_t times, int64_t bytes) {
    const int64_t size[2] = { 17, 13 }, min[2] = { 5, -7 };
    open_blur(plan);
    mlc_buffer *b = text_buffer(MLC_I32, 2, size, min, 0);
    text_bind(size, min);
    ck_assert_str_eq(text_lower(b, NULL, 1), "");
    ck_assert_int_eq(T.allocs, times);
    ck_assert_int_eq(T.peak, bytes);
    mlc_buffer_free(b);
    text_unbind();
}

START_TEST(rows) {
    check_hoisted("", "compute_at(g, y)", "hoist_storage_root()");
    check_memory("f: compute_at(g, y);", 13, 19 * 3 * 4);
    check_memory("f: compute_at(g, y), hoist_storage_root();", 1, 19 * 3 * 4);
}
END_TEST

START_TEST(strips) {
    const char *g = "g: split(y, yo, yi, 5, .tail = guard);";
    check_hoisted(g, "compute_at(g, yi)", "hoist_storage(g, yo)");
    check_hoisted(g, "store_at(g, yo), compute_at(g, yi)", "hoist_storage_root()");
    check_hoisted(g, "store_at(g, yo), compute_at(g, yi), vectorize(x, 4)", "hoist_storage_root()");
    check_hoisted(g, "store_at(g, yo), compute_at(g, yi), fold_storage(y, 3)", "hoist_storage_root()");
    check_hoisted(g, "compute_at(g, x), store_at(g, yi)", "hoist_storage(g, yo)");
    check_memory("g: split(y, yo, yi, 5, .tail = guard); f: store_at(g, yo), compute_at(g, yi);", 3, 19 * 4 * 4);
    check_memory("g: split(y, yo, yi, 5, .tail = guard); f: store_at(g, yo), compute_at(g, yi), hoist_storage_root();", 1, 19 * 4 * 4);
}
END_TEST

START_TEST(tiles) {
    static const char *const tail[] = { "guard", "auto", "predicate" };
    char g[256];
    snprintf(g, sizeof g, "g: tile(x, y, xo, yo, xi, yi, 4, 3, .tail = %s), vectorize(xi)%s;", tail[_i % 3], _i > 2 ? ", parallel(yo)" : "");
    check_hoisted(g, "compute_at(g, xo), vectorize(x, 4)", "hoist_storage(g, yo)");
    if (_i <= 2) check_hoisted(g, "compute_at(g, yi), reorder_storage(y, x), align_storage(y, 8)", "hoist_storage_root()");
}
END_TEST

/* Inside of a vector loop: a place for each lane, and, where its loops are written out, no loop over lanes. */
START_TEST(lanes) {
    const char *g = "g: split(x, xo, xi, 4, .tail = guard), vectorize(xi);";
    check_hoisted(g, "compute_at(g, xi)", "hoist_storage(g, xo)");
    check_hoisted(g, "compute_at(g, xi), unroll(x), unroll(y)", "hoist_storage(g, y)");
    check_hoisted(g, "compute_at(g, xi)", "hoist_storage_root()");
    check_memory("g: split(x, xo, xi, 4, .tail = guard), vectorize(xi); f: compute_at(g, xi), hoist_storage_root();", 1, 4 * 9 * 4);
}
END_TEST

START_TEST(updates_and_prefetches) {
    text_open("mlc 1\ninput in: i32[2];\nf(x, y) = in(x, y);\nf(x, y) += f(x, y) * 3;\nrdom k(0, 3);\n"
              "s(x, y) = 0;\ns(x, y) += f(x + k, y - k);\ng(x, y) = s(x, y) - s(x + 2, y);\noutput g;\n"
              "plan p { s: compute_at(g, y), hoist_storage_root(); f: compute_at(s.u0, x), hoist_storage(g, y); }\n");
    text_check_sizes();
    open_blur("g: split(y, yo, yi, 4, .tail = guard), prefetch(f, yi, yi, 1); f: compute_at(g, yo), hoist_storage_root();");
    text_check_sizes();
    open_blur("g: split(y, yo, yi, 4, .tail = guard), prefetch(f, yi, yi, 1, .bounds = guard); f: compute_at(g, yo), hoist_storage_root();");
    text_check_sizes();
}
END_TEST

Suite *hoist_suite(void) {
    Suite *s = suite_create("hoisted storage");
    TCase *t = tcase_create("hoisted storage");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, NULL, text_close);
    tcase_add_test(t, rows);
    tcase_add_test(t, strips);
    tcase_add_loop_test(t, tiles, 0, 6);
    tcase_add_test(t, lanes);
    tcase_add_test(t, updates_and_prefetches);
    suite_add_tcase(s, t);
    return s;
}
