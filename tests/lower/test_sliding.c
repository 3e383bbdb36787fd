/* test_sliding.c - what a sliding window computes: each point once where it may slide, as without it where
 * it may not; the same values always. */
#include "kit.h"

Suite *sliding_suite(void);

static Func *bx, *by;

static void blur(void) {
    Func *in = input("in", MLC_I32, 2, 19 + 2, 15 + 2, -4, 4);
    const Node *h = ir_add(I, ir_add(I, at2(in, plus(x, -1), y), at2(in, x, y)), at2(in, plus(x, 1), y));
    bx = pure("bx", 2, h);
    const Node *v = ir_add(I, ir_add(I, at2(bx, x, plus(y, -1)), at2(bx, x, y)), at2(bx, x, plus(y, 1)));
    by = pure("by", 2, v);
}

START_TEST(rows) {
    blur();
    line(bx, 0, AT(by, "y"));
    line(bx, 0, STORE_AT_ROOT());
    if (_i) line(bx, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    if (_i) line(by, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    check_same(by, 17, 13, -3, 5);
    ck_assert_int_eq(low_stores(&stats, bx, 0), 17 * (13 + 2));
    check_same(by, 7, 1, -3, 5);
    check_same(by, 1, 3, -3, 5);
}
END_TEST

/* Along both loops: each point of bx is computed once. */
START_TEST(each_point_once) {
    blur();
    line(bx, 0, AT(by, "x"));
    line(bx, 0, STORE_AT_ROOT());
    check_same(by, 17, 13, -3, 5);
    ck_assert_int_eq(low_stores(&stats, bx, 0), 17 * (13 + 2));
}
END_TEST

START_TEST(strips) {
    blur();
    line(by, 0, SPLIT("y", "yo", "yi", 4, _i & 1 ? MLC_TAIL_SHIFT : MLC_TAIL_GUARD));
    if (_i & 2) line(by, 0, MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO));
    line(bx, 0, AT(by, "yi"));
    line(bx, 0, STORE(by, "yo"));
    if (_i == 3) return; /* shifted tiles of a parallel loop are an error of their own */
    check_same(by, 17, 13, -3, 5);
    int n = 4, last = _i & 1 ? 4 : 1;
    ck_assert_int_eq(low_stores(&stats, bx, 0), 17 * ((n - 1) * 6 + last + 2));
}
END_TEST

/* A chain in which each slides along the same loop. */
START_TEST(chain) {
    Func *in = input("in", MLC_I32, 2, 30, 60, -10, -20), *f = in, *all[6];
    for (int i = 0; i < 6; i++) {
        f = pure(arena_printf(&K.arena, "f%d", i), 2, ir_add(I, at2(f, x, plus(y, -1)), at2(f, plus(x, 1), plus(y, 1))));
        all[i] = f;
    }
    for (int i = 0; i < 5; i++) {
        line(all[i], 0, AT(f, "y"));
        line(all[i], 0, STORE_AT_ROOT());
    }
    check_same(f, 7, 13, 0, 0);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(low_stores(&stats, all[i], 0), (7 + 5 - i) * (13 + 2 * (5 - i)));
}
END_TEST

/* Every second row, every second row twice, and rows backwards. */
START_TEST(other_steps) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    Func *f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    const Node *row = _i == 0 ? ir_mul(I, y, idx(2)) : _i == 1 ? ir_mul(I, y, idx(4))
                    : _i == 2 ? ir_make2(I, OP_DIV, y, idx(2)) : ir_sub(I, idx(9), y);
    Func *g = pure("g", 2, ir_add(I, at2(f, x, row), at2(f, x, plus(row, 2))));
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    check_same(g, 5, 9, -2, -3);
}
END_TEST

/* An update in a row of its own keeps the window; one across rows does not. */
START_TEST(updates) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    Func *f = pure("f", 2, at2(in, x, y));
    RDom *r = rdom("r", 1, 3, 0);
    const Node *rv = ir_var(I, r->var[0]);
    if (_i == 0) add_def(f, r, x, y, ir_add(I, at2(f, x, y), at2(in, ir_add(I, x, rv), y)));
    if (_i == 1) add_def(f, r, rv, y, ir_add(I, at2(f, rv, y), i32(7)));
    if (_i == 2) add_def(f, r, x, rv, ir_add(I, at2(f, x, rv), i32(7)));
    Func *g = pure("g", 2, ir_add(I, at2(f, x, plus(y, -1)), at2(f, x, plus(y, 1))));
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    check_same(g, 5, 9, 0, 0);
    if (_i == 0) ck_assert_int_eq(low_stores(&stats, f, 0), 5 * 11);
}
END_TEST

START_TEST(shared_memory_races) {
    blur();
    line(by, 0, MARK(MLC_PARALLEL, "y", 0, MLC_TAIL_AUTO));
    line(bx, 0, AT(by, "y"));
    line(bx, 0, STORE_AT_ROOT());
    const char *m = lower_and_run(by, NULL, NULL, 0);
    ck_assert_ptr_nonnull(strstr(m, "iterations of the loop 'y' run at once and would share the memory of bx"));
    plan.line.n = 0;
    line(bx, 0, AT(by, "y"));
    line(bx, 0, STORE(by, "x"));
    m = lower_and_run(by, NULL, NULL, 0);
    ck_assert_ptr_nonnull(strstr(m, "the place where bx is stored is not outside the place where it is computed"));
}
END_TEST

Suite *sliding_suite(void) {
    Suite *s = suite_create("sliding window");
    TCase *t = tcase_create("windows");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, rows, 0, 2);
    tcase_add_test(t, each_point_once);
    tcase_add_loop_test(t, strips, 0, 4);
    tcase_add_test(t, chain);
    tcase_add_loop_test(t, other_steps, 0, 4);
    tcase_add_loop_test(t, updates, 0, 3);
    tcase_add_test(t, shared_memory_races);
    suite_add_tcase(s, t);
    return s;
}
