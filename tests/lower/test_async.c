/* test_async.c - tasks and their turns: which loops they get, what they wait for, and that no order of turns
 * changes a value. */
#include "kit.h"

Suite *async_suite(void);

static Func *bx, *by;

#define ASYNC() D(.kind = MLC_ASYNC)

static void blur(void) {
    Func *in = input("in", MLC_I32, 2, 30, 40, -10, 0);
    const Node *h = ir_add(I, ir_add(I, at2(in, plus(x, -1), y), at2(in, x, y)), at2(in, plus(x, 1), y));
    bx = pure("bx", 2, h);
    const Node *v = ir_add(I, ir_add(I, at2(bx, x, plus(y, -1)), at2(bx, x, y)), at2(bx, x, plus(y, 1)));
    by = pure("by", 2, v);
}

/* check_same under a dozen orders of turns, at sizes that make tasks short and long. */
static void check_sizes(Func *out) {
    static const int64_t size[][2] = { { 17, 23 }, { 0, 5 }, { 5, 0 }, { 1, 1 }, { 1, 13 }, { 11, 2 } };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) check_same(out, size[i][0], size[i][1], -3, 5);
    for (uint64_t seed = 10; seed < 22; seed++) {
        struct mlc_buffer *b = box(MLC_I32, 2, 17, 23, -3, 5), *want = box(MLC_I32, 2, 17, 23, -3, 5);
        ck_assert_str_eq(lower_and_run(out, b, NULL, seed), "");
        alg_interpret(&K.arena, &out, &want, 1);
        ck_assert_mem_eq(b->data, want->data, 17 * 23 * 4);
    }
}

static void expect_error(Func *out, const char *message) {
    ck_assert_str_eq(lower_and_run(out, NULL, NULL, 0), message);
}

static void has(const char *text) {
    ck_assert_msg(strstr(loops, text) != NULL, "no \"%s\" in\n%s", text, loops);
}

START_TEST(whole) {
    blur();
    line(bx, 0, ROOT());
    line(bx, 0, ASYNC());
    check_sizes(by);
    lower_and_run(by, NULL, "simplify", 0);
    has("  fork bx  // t.c:21 async()\n    give bx\n      produce bx\n");
    has("  and\n    take bx\n      produce by\n");
}
END_TEST

/* Each point once, in a circle of two windows: three rows and one more. */
START_TEST(rows_run_ahead) {
    blur();
    line(bx, 0, AT(by, "y"));
    line(bx, 0, STORE_AT_ROOT());
    line(bx, 0, ASYNC());
    check_sizes(by);
    ck_assert_int_eq(low_stores(&stats, bx, 0), 17 * (23 + 2));
    ck_assert_int_eq(stats.peak, 17 * 4 * 4);
    lower_and_run(by, NULL, "simplify", 0);
    has("[index(0) +: index(4) fold 4]");
    has("    for by.y in [by.min1 +: by.extent1)\n      give bx ahead by less than index(2)\n        produce bx\n");
    has("  and\n    produce by\n      for by.y in [by.min1 +: by.extent1)\n        take bx\n");
}
END_TEST

/* Steps of three rows need no more than one window at a time: eight rows are room for three turns of six. */
START_TEST(what_room_there_is_is_used) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    Func *f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    Func *g = pure("g", 2, ir_add(I, at2(f, x, y), at2(f, x, plus(y, 4))));
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    line(f, 0, ASYNC());
    check_same(g, 5, 19, -2, -3);
    has("ahead by less than index(4)");
    has("fold 8");
}
END_TEST

/* Strips start the window anew: the task waits for its readers there. */
START_TEST(strips) {
    blur();
    line(by, 0, SPLIT("y", "yo", "yi", 4, MLC_TAIL_GUARD));
    line(bx, 0, AT(by, "yi"));
    if (_i == 0) line(bx, 0, STORE_AT_ROOT());
    else line(bx, 0, STORE(by, "yo"));
    if (_i == 2) line(by, 0, MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO));
    line(bx, 0, ASYNC());
    check_sizes(by);
    lower_and_run(by, NULL, "simplify", 0);
    if (_i == 0) has("give bx ahead by less than select(likely(1 <= by.yi), index(2), index(1))");
    else has("give bx ahead by less than index(2)");
}
END_TEST

/* Each of a chain in a task of its own; what two read is taken twice. */
START_TEST(chain) {
    Func *in = input("in", MLC_I32, 2, 60, 80, -20, -30), *f[5] = { in };
    for (int i = 1; i < 5; i++) {
        const Node *v = ir_add(I, at2(f[i - 1], x, plus(y, -1)), at2(f[i - 1], plus(x, 1), plus(y, 1)));
        if (i == 4 && _i & 1) v = ir_sub(I, v, at2(f[2], x, y));
        if (i == 4 && _i & 2) v = ir_sub(I, v, at2(f[1], x, plus(y, 2)));
        f[i] = pure(arena_printf(&K.arena, "f%d", i), 2, v);
    }
    for (int i = 1; i < 4; i++) {
        line(f[i], 0, AT(f[4], "y"));
        line(f[i], 0, STORE_AT_ROOT());
        line(f[i], 0, ASYNC());
    }
    check_sizes(f[4]);
    if (_i & 1) has("take f2 as reader 1");
}
END_TEST

/* What the Func alone is made of goes with it into its task, in the same loops. */
START_TEST(producers_go_along) {
    blur();
    Func *c = pure("c", 2, ir_sub(I, at2(by, x, y), at2(by, x, plus(y, 1))));
    line(bx, 0, AT(c, "y"));
    if (_i & 1) line(bx, 0, STORE_AT_ROOT());
    line(by, 0, AT(c, "y"));
    line(by, 0, STORE_AT_ROOT());
    line(by, 0, ASYNC());
    if (_i == 3) line(bx, 0, ASYNC());
    check_sizes(c);
    lower_and_run(c, NULL, "simplify", 0);
    const char *and = strstr(loops, "  and\n"), *produce = strstr(loops, "produce bx");
    ck_assert(and && produce && (_i == 3 || produce < and));
}
END_TEST

/* The others of a scope run beside the task, and only what reads it waits. */
START_TEST(independent) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    Func *f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    Func *g = pure("g", 2, ir_mul(I, at2(in, x, y), i32(3)));
    Func *h = pure("h", 2, ir_add(I, at2(f, x, y), at2(g, plus(x, 1), y)));
    line(f, 0, ROOT());
    line(f, 0, ASYNC());
    line(g, 0, ROOT());
    if (_i) line(g, 0, ASYNC());
    check_sizes(h);
    lower_and_run(h, NULL, "simplify", 0);
    has("  and\n");
    ck_assert(strstr(loops, "give f") && strstr(loops, "take f"));
    const char *first = strstr(loops, "produce g"), *waits = strstr(loops, "take f");
    ck_assert(_i || (first && waits && strstr(loops, "give f") < first));
}
END_TEST

/* Updates are part of the turn. */
START_TEST(updates) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    Func *f = pure("f", 2, i32(7)), *g;
    RDom *r = rdom("r", 1, 5, 0);
    add_def(f, r, x, y, ir_add(I, at2(f, x, y), at2(in, ir_add(I, x, ir_var(I, r->var[0])), y)));
    g = pure("g", 2, ir_add(I, at2(f, x, y), at2(f, x, plus(y, 1))));
    line(f, 0, AT(g, "y"));
    if (_i) line(f, 0, STORE_AT_ROOT());
    line(f, 0, ASYNC());
    check_sizes(g);
}
END_TEST

START_TEST(errors) {
    blur();
    line(by, 0, ASYNC());
    expect_error(by, "t.c:20: schedule by: async(): by is an output and has no consumer to wait for it; make one of its producers async");
    plan.line.n = 0;
    line(bx, 0, ASYNC());
    expect_error(by, "t.c:20: schedule bx: async(): bx has no place of its own to be computed; add compute_root or compute_at");
    plan.line.n = 0;
    line(by, 0, SPLIT("x", "xo", "xi", 4, MLC_TAIL_GUARD));
    line(by, 0, MARK(MLC_VECTORIZE, "xi", 0, MLC_TAIL_AUTO));
    line(bx, 0, AT(by, "xi"));
    line(bx, 0, ASYNC());
    expect_error(by, "t.c:23: schedule bx: async(): bx is stored inside of the vector loop 'xi', whose lanes run no tasks; store it outside of that loop");
    plan.line.n = 0;
    line(by, 0, REORDER2("y", "x"));
    line(bx, 0, AT(by, "x"));
    line(bx, 0, STORE_AT_ROOT());
    line(bx, 0, BOUND("x", -8, 40));
    line(bx, 0, ASYNC());
    expect_error(by, "t.c:24: schedule bx: async(): iterations of the loop 'x' touch points of bx that earlier ones touched, so nothing "
                     "can run ahead; add ring_buffer, or store it where it is computed");
}
END_TEST

START_TEST(shared_producer) {
    blur();
    Func *c = pure("c", 2, ir_sub(I, at2(by, x, y), at2(bx, x, plus(y, 1))));
    line(bx, 0, AT(c, "y"));
    line(by, 0, AT(c, "y"));
    line(by, 0, STORE_AT_ROOT());
    line(by, 0, ASYNC());
    expect_error(c, "t.c:23: schedule by: async(): bx is computed in the loops that the task of by shares with its consumers, and both "
                    "read it; compute it outside of them, or store it outside and make it async too");
    line(bx, 0, STORE_AT_ROOT());
    line(bx, 0, ASYNC());
    check_sizes(c);
}
END_TEST

Suite *async_suite(void) {
    Suite *s = suite_create("async");
    TCase *t = tcase_create("async");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_test(t, whole);
    tcase_add_test(t, rows_run_ahead);
    tcase_add_test(t, what_room_there_is_is_used);
    tcase_add_loop_test(t, strips, 0, 3);
    tcase_add_loop_test(t, chain, 0, 4);
    tcase_add_loop_test(t, producers_go_along, 0, 4);
    tcase_add_loop_test(t, independent, 0, 2);
    tcase_add_loop_test(t, updates, 0, 2);
    tcase_add_test(t, errors);
    tcase_add_test(t, shared_producer);
    suite_add_tcase(s, t);
    return s;
}
