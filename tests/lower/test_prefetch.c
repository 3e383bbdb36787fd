/* test_prefetch.c - regions fetched ahead: how many lines of the cache, where, and which plans are refused. */
#include "kit.h"

Suite *prefetch_suite(void);

static Func *in, *p, *out;

static void program(void) {
    in = input("in", MLC_I32, 2, 19, 15, -4, 4);
    p = pure("p", 2, ir_add(I, at2(in, x, y), i32(1)));
    out = pure("out", 2, ir_add(I, at2(p, plus(x, -1), y), at2(p, plus(x, 1), plus(y, 1))));
}

static mlc_directive ahead(Func *f, const char *at, const char *from, int64_t offset, mlc_fetch bounds) {
    return D(.kind = MLC_PREFETCH, .n = 2, .at = { f }, .at_stage = -1, .v = { var(at), var(from) }, .k = { offset }, .bounds = bounds);
}

static const int64_t sizes[][2] = { { 0, 0 }, { 1, 1 }, { 7, 3 }, { 16, 1 }, { 17, 13 } };

/* At 17 x 13; a row of in takes 19 i32 of 64 bytes a line. */
static void check_counts(int64_t prefetches, int64_t outside) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_same(out, sizes[i][0], sizes[i][1], -3, 5);
    ck_assert_int_eq(stats.prefetches, prefetches);
    ck_assert_int_eq(stats.outside, outside);
}

/* Each iteration of y reads two rows of 19 points, two lines each; in has rows 4 to 18, and y ends at 17: of
 * the two rows that are 2 ahead, row 19 is not there at the last but one, rows 19 and 20 not at the last: clamped, both
 * become row 18. */
START_TEST(rows_of_an_input) {
    program();
    line(out, 0, ahead(in, "y", "y", 2, (mlc_fetch)_i));
    line(out, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO));
    static const int64_t counts[][2] = { { 11 * 4 + 2 + 2, 0 }, { 11 * 4, 0 }, { 13 * 4, 6 } };
    check_counts(counts[_i][0], counts[_i][1]);
    ck_assert_str_eq(lower_and_run(out, NULL, "simplify", 0), "");
    const char *y_loop = strstr(loops, "for out.y"), *x_loop = strstr(loops, "for out.x"), *fetch = strstr(loops, "prefetch in");
    ck_assert_msg(y_loop && x_loop && fetch && y_loop < fetch && fetch < x_loop, "%s", loops);
    ck_assert_msg(strstr(loops, "prefetch(in, y, y, 2"), "%s", loops);
}
END_TEST

/* In the loop over tiles, for the next row of tiles: the box of one tile. */
START_TEST(tiles) {
    program();
    line(out, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 8, 4, MLC_TAIL_GUARD));
    line(out, 0, ahead(in, "xo", "yo", 1, MLC_FETCH_NON_FAULTING));
    line(out, 0, ahead(in, "xo", "xo", 1, MLC_FETCH_CLAMP));
    line(out, 0, MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_same(out, sizes[i][0], sizes[i][1], -3, 5);
    ck_assert_int_ge(stats.prefetches, 3 * 4 * 5);
    ck_assert_str_eq(lower_and_run(out, NULL, "simplify", 0), "");
    const char *xo = strstr(loops, "for out.xo"), *fetch = strstr(loops, "prefetch in"), *yi = strstr(loops, "for out.yi");
    ck_assert_msg(xo && fetch && yi && xo < fetch && fetch < yi, "%s", loops);
}
END_TEST

START_TEST(memory_of_funcs) {
    program();
    if (_i == 0) line(p, 0, ROOT());
    if (_i > 0) line(p, 0, AT(out, "y"));
    if (_i > 0) line(p, 0, STORE_AT_ROOT());
    line(out, 0, ahead(p, "y", "y", 1, MLC_FETCH_CLAMP));
    if (_i == 2) line(out, 0, D(.kind = MLC_SPECIALIZE, .cond = { .ctx = &K, .node = ir_make2(I, OP_LT, idx(7), ir_var(I, out->extent[0])) }));
    check_counts(_i == 0 ? 12 * 4 + 2 : 13 * 4, 0);
}
END_TEST

START_TEST(tuples) {
    in = input("in", MLC_U8, 2, 70, 9, 0, 0);
    Func *t = func("t", 2, MLC_U8);
    t->n = 2;
    t->type[1] = MLC_F64;
    Def *d = add_def(t, NULL, x, y, at2(in, x, y));
    d->value[1] = d->rhs[1] = ir_cast(I, MLC_F64, at2(in, x, y));
    const Node *c[2] = { x, y };
    out = pure("out", 2, ir_add(I, ir_access(I, t, MLC_F64, 1, 2, c), ir_cast(I, MLC_F64, at2(t, x, y))));
    line(t, 0, ROOT());
    line(out, 0, ahead(t, "y", "y", 1, MLC_FETCH_GUARD));
    check_same(out, 70, 9, 0, 0);
    ck_assert_int_eq(stats.prefetches, 8 * (2 + 9)); /* 70 u8 and 70 f64 */
}
END_TEST

/* A loop of one iteration has nothing ahead. */
START_TEST(single_iterations) {
    program();
    line(out, 0, BOUND("y", 5, 1));
    line(out, 0, ahead(in, "y", "y", 1, MLC_FETCH_CLAMP));
    check_same(out, 17, 1, -3, 5);
    ck_assert_int_eq(stats.prefetches, 0);
}
END_TEST

static const char *refused(int i) {
    switch (i) {
    case 0:
        line(out, 0, ahead(in, "y", "x", 1, MLC_FETCH_CLAMP));
        return "t.c:20: schedule out: prefetch(in, y, x, 1): the loop 'x' is not around the loop 'y'; fetch ahead by iterations of "
               "'y' itself or of a loop around it";
    case 1:
        line(out, 0, ahead(in, "y", "z", 1, MLC_FETCH_CLAMP));
        return "t.c:20: schedule out: prefetch(in, y, z, 1): there is no loop 'z' in out; its loops are, innermost first: x, y";
    case 2:
        line(out, 0, ahead(in, "y", "y", 1, MLC_FETCH_CLAMP));
        line(out, 0, SPLIT("y", "yo", "yi", 4, MLC_TAIL_AUTO));
        return "t.c:20: schedule out: prefetch(in, y, y, 1): there is no loop 'y' in out; its loops are, innermost first: x, yi, yo";
    case 3:
        line(out, 0, ahead(p, "y", "y", 1, MLC_FETCH_CLAMP));
        return "t.c:20: schedule out: prefetch(p, y, y, 1): out does not read p from memory; fetch an input, or a Func that is "
               "stored outside of the loop 'y'";
    case 4:
        line(p, 0, ROOT());
        line(out, 0, ahead(in, "y", "y", 1, MLC_FETCH_CLAMP));
        return "t.c:21: schedule out: prefetch(in, y, y, 1): out does not read in from memory; fetch an input, or a Func that is "
               "stored outside of the loop 'y'";
    case 5:
        line(p, 0, AT(out, "y"));
        line(out, 0, ahead(p, "x", "y", 1, MLC_FETCH_CLAMP));
        return "t.c:21: schedule out: prefetch(p, x, y, 1): p is stored inside of the loop 'y', so nothing of it is there ahead; "
               "store it outside of that loop";
    case 6:
        line(out, 0, SPLIT("x", "xo", "xi", 4, MLC_TAIL_AUTO));
        line(out, 0, MARK(MLC_VECTORIZE, "xi", 0, MLC_TAIL_AUTO));
        line(out, 0, ahead(in, "xi", "y", 1, MLC_FETCH_CLAMP));
        return "t.c:22: schedule out: prefetch(in, xi, y, 1): the loop 'xi' is a vector or inside of one, and a prefetch is no "
               "lane's work; fetch in a loop around it";
    case 7:
        line(out, 0, ahead(in, "y", "y", 0, MLC_FETCH_CLAMP));
        return "t.c:20: schedule out: prefetch(in, y, y, 0): the size 0 is out of range; give 1 or more";
    default:
        line(p, 0, ahead(in, "y", "y", 1, MLC_FETCH_CLAMP));
        return "t.c:20: schedule p: prefetch(in, y, y, 1): p is inlined and has no loops; give it a compute_root or compute_at";
    }
}

START_TEST(errors) {
    program();
    const char *want = refused(_i);
    ck_assert_str_eq(lower_and_run(out, NULL, NULL, 0), want);
}
END_TEST

Suite *prefetch_suite(void) {
    Suite *s = suite_create("prefetch");
    TCase *t = tcase_create("prefetch");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, rows_of_an_input, 0, 3);
    tcase_add_test(t, tiles);
    tcase_add_loop_test(t, memory_of_funcs, 0, 3);
    tcase_add_test(t, tuples);
    tcase_add_test(t, single_iterations);
    tcase_add_loop_test(t, errors, 0, 9);
    suite_add_tcase(s, t);
    return s;
}
