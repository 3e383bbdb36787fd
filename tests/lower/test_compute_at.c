/* test_compute_at.c - producers inside consumers' loops: boxes, sizes of memory, evaluation counts, and the
 * message for a place that does not enclose every reader. */
#include "kit.h"

Suite *compute_at_suite(void);

static const int64_t sizes[][2] = { { 1, 1 }, { 7, 3 }, { 8, 8 }, { 17, 13 } };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static Func *bx, *by;

static void blur(void) {
    Func *in = input("in", MLC_I32, 2, 19 + 2, 15 + 2, -4, 4);
    const Node *h = ir_add(I, ir_add(I, at2(in, plus(x, -1), y), at2(in, x, y)), at2(in, plus(x, 1), y));
    bx = pure("bx", 2, h);
    const Node *v = ir_add(I, ir_add(I, at2(bx, x, plus(y, -1)), at2(bx, x, y)), at2(bx, x, plus(y, 1)));
    by = pure("by", 2, v);
}

static void check_sizes(Func *f) {
    for (int i = 0; i < N_SIZES; i++) check_same(f, sizes[i][0], sizes[i][1], -3, 5);
}

START_TEST(untiled) {
    blur();
    line(bx, 0, AT(by, _i ? "x" : "y"));
    check_sizes(by);
    ck_assert_int_eq(low_stores(&stats, bx, 0), 17 * 13 * 3);
}
END_TEST

START_TEST(tiled) {
    static const mlc_tail tails[] = { MLC_TAIL_AUTO, MLC_TAIL_GUARD };
    blur();
    line(by, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 8, 4, tails[_i & 1]));
    line(bx, 0, AT(by, _i / 2 % 3 == 0 ? "xo" : _i / 2 % 3 == 1 ? "yo" : "yi"));
    if (_i >= 6) line(by, 0, MARK(MLC_VECTORIZE, "xi", 8, MLC_TAIL_AUTO));
    if (_i >= 6) line(bx, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    if (_i >= 6) line(by, 0, MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO));
    check_sizes(by);
}
END_TEST

/* A tile's memory is a constant, though the last tiles are cut. */
START_TEST(tile_is_on_the_stack) {
    blur();
    line(by, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 8, 4, MLC_TAIL_GUARD));
    line(bx, 0, AT(by, "xo"));
    check_same(by, 17, 13, -3, 5);
    ck_assert_msg(strstr(loops, "x[by.min0 + by.xo * 8 +: ") || strstr(loops, " stack"), "%s", loops);
    ck_assert_int_eq(stats.peak, 8 * 6 * 4);
    ck_assert_int_eq(low_stores(&stats, bx, 0), 17 * (13 + 4 * 2));
}
END_TEST

START_TEST(shifted_tiles) {
    blur();
    line(by, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 7, 3, MLC_TAIL_SHIFT));
    line(bx, 0, AT(by, "xo"));
    check_same(by, 17, 13, -3, 5);
    ck_assert_int_eq(stats.peak, 7 * 5 * 4);
    check_same(by, 7, 3, -3, 5);
}
END_TEST

/* Three deep: each in a loop of the one before it. */
START_TEST(nested) {
    Func *in = input("in", MLC_I32, 2, 30, 30, -10, -10);
    Func *a = pure("a", 2, ir_add(I, at2(in, x, y), i32(1)));
    Func *b = pure("b", 2, ir_add(I, at2(a, plus(x, -1), y), at2(a, plus(x, 1), y)));
    Func *c = pure("c", 2, ir_add(I, at2(b, x, plus(y, -1)), at2(b, x, plus(y, 1))));
    line(c, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 4, 4, MLC_TAIL_GUARD));
    line(b, 0, AT(c, "xo"));
    line(a, 0, _i == 0 ? AT(b, "y") : _i == 1 ? AT(c, "yo") : _i == 2 ? AT(c, "xo") : ROOT());
    check_same(c, 13, 7, 0, 0);
    check_same(c, 3, 11, 2, -1);
}
END_TEST

START_TEST(update_in_a_loop) {
    Func *in = input("in", MLC_I32, 2, 9, 17, 0, 0);
    RDom *k = rdom("k", 1, 5, 0);
    Func *s = pure("s", 2, i32(3));
    add_def(s, k, x, y, ir_add(I, at2(s, x, y), at2(in, clamped(ir_add(I, x, ir_var(I, k->var[0])), 0, 8), y)));
    Func *out = pure("out", 2, ir_mul(I, at2(s, x, y), at2(s, plus(x, 1), y)));
    line(out, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    line(s, 0, AT(out, "y"));
    line(s, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    line(s, 1, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    check_same(out, 17, 9, 0, 0);
    check_same(out, 3, 2, 0, 0);
}
END_TEST

START_TEST(not_enclosing) {
    blur();
    Func *out = pure("out", 2, ir_add(I, at2(bx, x, y), at2(by, x, y)));
    line(by, 0, ROOT());
    line(bx, 0, AT(by, "y"));
    const char *m = lower_and_run(out, NULL, NULL, 0);
    ck_assert_ptr_nonnull(strstr(m, "bx is read by out, which is not inside this loop; legal places are: compute_root()"));
    plan.line.n = 0;
    line(bx, 0, AT(by, "y"));
    line(by, 0, AT(out, "x"));
    m = lower_and_run(out, NULL, NULL, 0);
    ck_assert_ptr_nonnull(strstr(m, "legal places are: compute_at(out, x), compute_at(out, y), compute_root()"));
}
END_TEST

START_TEST(differs_between_lanes) {
    Func *in = input("in", MLC_I32, 1, 64, 1, 0, 0);
    RDom *k = rdom("k", 1, 3, 0);
    Func *s = pure("s", 1, i32(0));
    add_def(s, k, x, NULL, ir_add(I, at1(s, x), at1(in, ir_add(I, x, ir_var(I, k->var[0])))));
    Func *out = pure("out", 1, ir_add(I, at1(s, idx(0)), at1(s, x)));
    line(out, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO));
    line(s, 0, AT(out, "x$v"));
    const char *m = lower_and_run(out, NULL, NULL, 0);
    ck_assert_ptr_nonnull(strstr(m, "the box of s has a size that differs between the lanes of the vector loop 'x$v'"));
}
END_TEST

Suite *compute_at_suite(void) {
    Suite *s = suite_create("compute_at");
    TCase *t = tcase_create("places");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, untiled, 0, 2);
    tcase_add_loop_test(t, tiled, 0, 12);
    tcase_add_test(t, tile_is_on_the_stack);
    tcase_add_test(t, shifted_tiles);
    tcase_add_loop_test(t, nested, 0, 4);
    tcase_add_test(t, update_in_a_loop);
    tcase_add_test(t, not_enclosing);
    tcase_add_test(t, differs_between_lanes);
    suite_add_tcase(s, t);
    return s;
}
