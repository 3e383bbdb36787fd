/* test_folding.c - circular buffers: their sizes, and where memory must not be folded. */
#include "kit.h"

Suite *folding_suite(void);

static Func *f, *g;

/* g(x, y) = f(x, y + lo) + f(x, y + hi) */
static void window(int64_t lo, int64_t hi) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    g = pure("g", 2, ir_add(I, at2(f, x, plus(y, lo)), at2(f, x, plus(y, hi))));
}

/* Rows of 7 in memory for windows of 1, 2, 3, 5, 8, 9 rows. */
START_TEST(sizes) {
    static const struct { int64_t lo, hi, rows; } row[] = {
        { 0, 0, 1 }, { 0, 1, 2 }, { -1, 1, 4 }, { -4, 0, 8 }, { 0, 7, 8 }, { -4, 4, 16 },
    };
    window(row[_i].lo, row[_i].hi);
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    check_same(g, 7, 19, 0, -2);
    ck_assert_int_eq(stats.peak, 7 * row[_i].rows * 4);
}
END_TEST

/* Sliding along y too, x may not be folded: the next row needs all of it. */
START_TEST(slides_outside) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    g = pure("g", 2, ir_add(I, at2(f, plus(x, -1), plus(y, -1)), at2(f, plus(x, 1), plus(y, 1))));
    line(f, 0, AT(g, "x"));
    line(f, 0, STORE_AT_ROOT());
    check_same(g, 7, 9, 0, 0);
    ck_assert_int_eq(low_stores(&stats, f, 0), 9 * 11);
    ck_assert_int_eq(stats.peak, 9 * 4 * 4);
}
END_TEST

/* Inside of a row: x slides and is folded, unless a vector runs over it. */
START_TEST(along_a_row) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    g = pure("g", 2, ir_add(I, at2(f, plus(x, -1), y), at2(f, plus(x, 1), y)));
    line(g, 0, SPLIT("x", "xo", "xi", 4, MLC_TAIL_GUARD));
    line(f, 0, AT(g, _i ? "xo" : "xi"));
    line(f, 0, STORE(g, "y"));
    if (_i) line(g, 0, MARK(MLC_VECTORIZE, "xi", 0, MLC_TAIL_AUTO));
    check_same(g, 17, 5, 0, 0);
    check_same(g, 3, 2, 0, 0);
}
END_TEST

/* Rows of an outer loop are not adjacent: tiles start the window anew. */
START_TEST(tiles) {
    window(-1, 1);
    line(g, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 4, 4, _i ? MLC_TAIL_SHIFT : MLC_TAIL_GUARD));
    line(f, 0, AT(g, "yi"));
    line(f, 0, STORE(g, _i & 2 ? "yo" : "xo"));
    check_same(g, 17, 13, 0, -2);
    check_same(g, 5, 7, 3, 1);
}
END_TEST

/* Data-dependent rows do not rise: the whole is kept. */
START_TEST(no_order) {
    Func *in = input("in", MLC_U8, 2, 40, 80, -10, -40), *in2 = input("in2", MLC_I32, 2, 40, 300, -10, -4);
    f = pure("f", 2, ir_add(I, at2(in2, x, y), i32(1)));
    g = pure("g", 2, at2(f, x, ir_cast(I, MLC_INDEX, at2(in, x, y))));
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    check_same(g, 7, 5, 0, 0);
    ck_assert_int_eq(stats.peak, 7 * 256 * 4);
}
END_TEST

Suite *folding_suite(void) {
    Suite *s = suite_create("storage folding");
    TCase *t = tcase_create("circles");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, sizes, 0, 6);
    tcase_add_test(t, slides_outside);
    tcase_add_loop_test(t, along_a_row, 0, 2);
    tcase_add_loop_test(t, tiles, 0, 4);
    tcase_add_test(t, no_order);
    suite_add_tcase(s, t);
    return s;
}
