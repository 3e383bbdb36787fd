/* test_build.c - loop nests of one Func: every directive on its loops, every tail, at awkward sizes. */
#include "kit.h"

Suite *build_suite(void);

static const int64_t sizes[][2] = { { 1, 1 }, { 7, 3 }, { 8, 8 }, { 9, 5 }, { 16, 2 }, { 17, 13 }, { 31, 11 } };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static Func *gradient(void) {
    const Node *v = ir_add(I, ir_cast(I, MLC_I32, x), ir_mul(I, ir_cast(I, MLC_I32, y), i32(100)));
    return pure("g", 2, v);
}

static void check_sizes(Func *f) {
    for (int i = 0; i < N_SIZES; i++) check_same(f, sizes[i][0], sizes[i][1], -3, 5);
}

START_TEST(one_directive) {
    Func *g = gradient();
    switch (_i) {
    case 0: break;
    case 1: line(g, 0, SPLIT("x", "xo", "xi", 8, MLC_TAIL_AUTO)); break;
    case 2: line(g, 0, SPLIT("x", "xo", "xi", 8, MLC_TAIL_GUARD)); break;
    case 3: line(g, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 8, 4, MLC_TAIL_AUTO)); break;
    case 4: line(g, 0, REORDER2("y", "x")); break;
    case 5: line(g, 0, FUSE("x", "y", "xy")); break;
    case 6: line(g, 0, FUSE("y", "x", "xy")); break;
    case 7: line(g, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)); break;
    case 8: line(g, 0, MARK(MLC_PARALLEL, "y", 0, MLC_TAIL_AUTO)); break;
    case 9: line(g, 0, MARK(MLC_PARALLEL, "y", 4, MLC_TAIL_AUTO)); break;
    case 10: line(g, 0, MARK(MLC_UNROLL, "x", 4, MLC_TAIL_AUTO)); break;
    case 11: line(g, 0, MARK(MLC_VECTORIZE, "y", 4, MLC_TAIL_AUTO)); break;
    }
    check_sizes(g);
}
END_TEST

START_TEST(chains) {
    Func *g = gradient();
    switch (_i) {
    case 0: /* vector and parallel over a tile */
        line(g, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 16, 4, MLC_TAIL_AUTO));
        line(g, 0, MARK(MLC_VECTORIZE, "xi", 8, MLC_TAIL_AUTO));
        line(g, 0, MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO));
        break;
    case 1: /* a factor that does not divide the factor around it */
        line(g, 0, SPLIT("x", "xo", "xi", 7, MLC_TAIL_GUARD));
        line(g, 0, SPLIT("xi", "xio", "xii", 3, MLC_TAIL_AUTO));
        line(g, 0, SPLIT("xo", "xoo", "xoi", 2, MLC_TAIL_GUARD));
        break;
    case 2: /* split the fused loop, and names used again */
        line(g, 0, FUSE("x", "y", "x"));
        line(g, 0, SPLIT("x", "x", "y", 5, MLC_TAIL_GUARD));
        line(g, 0, MARK(MLC_PARALLEL, "x", 0, MLC_TAIL_AUTO));
        break;
    case 3:
        line(g, 0, SPLIT("x", "x", "xi", 4, MLC_TAIL_GUARD));
        line(g, 0, SPLIT("x", "x", "xj", 2, MLC_TAIL_GUARD));
        line(g, 0, MARK(MLC_UNROLL, "xj", 0, MLC_TAIL_AUTO));
        line(g, 0, MARK(MLC_VECTORIZE, "xi", 0, MLC_TAIL_AUTO));
        break;
    }
    check_sizes(g);
}
END_TEST

START_TEST(shifted) {
    Func *g = gradient();
    line(g, 0, SPLIT("x", "xo", "xi", 7, MLC_TAIL_SHIFT));
    for (int i = 1; i < N_SIZES; i++) check_same(g, sizes[i][0], sizes[i][1], -3, 5);
    const char *m = lower_and_run(g, box(MLC_I32, 2, 6, 2, 0, 0), NULL, 0);
    ck_assert_str_eq(m, "the loop of g over x has extent 6, shorter than the factor 7 of its shifted tail; "
                        "use the guard tail");
}
END_TEST

START_TEST(rounded) {
    Func *g = gradient();
    line(g, 0, SPLIT("x", "xo", "xi", 4, MLC_TAIL_ROUND));
    check_same(g, 8, 3, 0, 0);
    check_same(g, 12, 3, -1, 7);
    const char *m = lower_and_run(g, box(MLC_I32, 2, 6, 2, 0, 0), NULL, 0);
    ck_assert_str_eq(m, "g has in dimension x the extent 6, no multiple of the factor 4 to which its tail rounds; "
                        "use the guard tail");
}
END_TEST

/* An internal Func grows; so does what is rounded through a split that needs no tail of its own. */
START_TEST(rounded_inside) {
    Func *g = gradient(), *out = pure("out", 2, ir_add(I, at2(g, x, y), at2(g, plus(x, 1), y)));
    line(g, 0, ROOT());
    line(g, 0, SPLIT("x", "xo", "xi", _i ? 1 : 2, MLC_TAIL_ROUND));
    line(g, 0, SPLIT("xo", "xoo", "xoi", 4, MLC_TAIL_ROUND));
    check_sizes(out);
    ck_assert_int_eq(low_stores(&stats, g, 0), 32 * 11);
}
END_TEST

START_TEST(nothing_to_do) {
    Func *g = gradient();
    line(g, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO));
    check_same(g, 0, 5, 0, 0);
    check_same(g, 5, 0, 0, 0);
    ck_assert_int_eq(low_stores(&stats, g, 0), 0);
}
END_TEST

Suite *build_suite(void) {
    Suite *s = suite_create("build");
    TCase *t = tcase_create("nests");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, one_directive, 0, 12);
    tcase_add_loop_test(t, chains, 0, 4);
    tcase_add_test(t, shifted);
    tcase_add_test(t, rounded);
    tcase_add_loop_test(t, rounded_inside, 0, 2);
    tcase_add_test(t, nothing_to_do);
    suite_add_tcase(s, t);
    return s;
}
