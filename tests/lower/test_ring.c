/* test_ring.c - ring buffers: which part an iteration uses, how much memory that takes, what is computed. */
#include "kit.h"

Suite *ring_suite(void);

static Func *bx, *by;

#define ASYNC() D(.kind = MLC_ASYNC)
#define RING(n) D(.kind = MLC_RING_BUFFER, .k = { n })

static void blur(void) {
    Func *in = input("in", MLC_I32, 2, 40, 50, -12, -3);
    const Node *h = ir_add(I, ir_add(I, at2(in, plus(x, -1), y), at2(in, x, y)), at2(in, plus(x, 1), y));
    bx = pure("bx", 2, h);
    const Node *v = ir_add(I, ir_add(I, at2(bx, x, plus(y, -1)), at2(bx, x, y)), at2(bx, x, plus(y, 1)));
    by = pure("by", 2, v);
}

static void check_sizes(Func *out) {
    static const int64_t size[][2] = { { 0, 5 }, { 5, 0 }, { 1, 1 }, { 1, 13 }, { 11, 2 }, { 17, 23 } };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) check_same(out, size[i][0], size[i][1], -3, 5);
    for (uint64_t seed = 10; seed < 20; seed++) {
        struct mlc_buffer *b = box(MLC_I32, 2, 17, 23, -3, 5), *want = box(MLC_I32, 2, 17, 23, -3, 5);
        ck_assert_str_eq(lower_and_run(out, b, NULL, seed), "");
        alg_interpret(&K.arena, &out, &want, 1);
        ck_assert_mem_eq(b->data, want->data, 17 * 23 * 4);
    }
}

static void has(const char *text) {
    ck_assert_msg(strstr(loops, text) != NULL, "no \"%s\" in\n%s", text, loops);
}

/* Whole windows, each in a part of its own: no row is kept for the next one. */
START_TEST(rows) {
    blur();
    line(bx, 0, AT(by, "y"));
    line(bx, 0, STORE_AT_ROOT());
    line(bx, 0, RING(1 + _i));
    if (_i == 3) line(bx, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    check_sizes(by);
    ck_assert_int_eq(low_stores(&stats, bx, 0), 17 * 3 * 23);
    ck_assert_int_eq(stats.peak, 17 * 3 * (1 + _i) * 4);
    lower_and_run(by, NULL, "simplify", 0);
    if (_i == 1) has("let bx.part = (by.y - by.min1) % 2\n");
}
END_TEST

/* Tasks count turns, also where a guard leaves iterations out and where the loop starts anew. */
START_TEST(tasks) {
    blur();
    line(by, 0, SPLIT("y", "yo", "yi", 5, MLC_TAIL_GUARD));
    if (_i == 2) line(by, 0, MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO));
    line(bx, 0, AT(by, "yi"));
    line(bx, 0, _i ? STORE(by, "yo") : STORE_AT_ROOT());
    line(bx, 0, RING(2 + _i));
    line(bx, 0, ASYNC());
    check_sizes(by);
    ck_assert_int_eq(stats.peak, 17 * 3 * (2 + _i) * 4);
    lower_and_run(by, NULL, "simplify", 0);
    has(_i == 1 ? "give bx in bx.part ahead by less than index(3)\n" : "give bx in bx.part ahead by less than index(");
    has("take bx in bx.part\n");
}
END_TEST

/* Loops along which nothing slides: the box of a tile is small and constant, so all parts are on the stack. */
START_TEST(tiles) {
    blur();
    line(by, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 4, 3, MLC_TAIL_GUARD));
    line(bx, 0, AT(by, "xo"));
    line(bx, 0, _i & 1 ? STORE_AT_ROOT() : STORE(by, "yo"));
    line(bx, 0, RING(2));
    if (_i & 2) line(bx, 0, ASYNC());
    check_sizes(by);
    ck_assert_int_eq(stats.peak, 4 * 5 * 2 * 4);
    has(" stack");
}
END_TEST

START_TEST(updates_and_chains) {
    Func *in = input("in", MLC_I32, 2, 60, 80, -20, -30);
    Func *f = pure("f", 2, at2(in, x, y)), *g, *h;
    add_def(f, NULL, x, y, ir_mul(I, at2(f, x, y), i32(3)));
    g = pure("g", 2, ir_sub(I, at2(f, x, y), at2(f, plus(x, 2), plus(y, 1))));
    h = pure("h", 2, ir_add(I, at2(g, x, plus(y, 1)), at2(f, x, y)));
    Func *all[] = { f, g };
    for (int i = 0; i < 2; i++) {
        line(all[i], 0, AT(h, "y"));
        line(all[i], 0, STORE_AT_ROOT());
        if (_i & 1 << i) line(all[i], 0, RING(2 + i));
        if (_i & 4) line(all[i], 0, ASYNC());
    }
    check_sizes(h);
}
END_TEST

static void expect_error(const char *message) {
    ck_assert_str_eq(lower_and_run(by, NULL, NULL, 0), message);
}

START_TEST(errors) {
    blur();
    line(bx, 0, AT(by, "y"));
    line(bx, 0, RING(2));
    expect_error("t.c:21: schedule bx: ring_buffer(2): bx is not stored outside of the loop that it is computed in, so each iteration "
                 "has memory of its own; add store_at or store_root");
    line(bx, 0, STORE(by, "y"));
    expect_error("t.c:21: schedule bx: ring_buffer(2): bx is not stored outside of the loop that it is computed in, so each iteration "
                 "has memory of its own; add store_at or store_root");
    plan.line.n = 0;
    line(bx, 0, RING(0));
    expect_error("t.c:20: schedule bx: ring_buffer(0): 0 is no number of parts; write 1 to 1048576");
    plan.line.n = 0;
    line(by, 0, RING(2));
    expect_error("t.c:20: schedule by: ring_buffer(2): by is an output, whose memory is the caller's; give it a buffer of that layout, "
                 "or drop the directive");
    plan.line.n = 0;
    bx->rank = 8;
    line(bx, 0, RING(2));
    expect_error("t.c:20: schedule bx: ring_buffer(2): bx has 8 dimensions already, and a ring adds one; drop the ring_buffer");
}
END_TEST

Suite *ring_suite(void) {
    Suite *s = suite_create("ring buffers");
    TCase *t = tcase_create("ring buffers");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, rows, 0, 4);
    tcase_add_loop_test(t, tasks, 0, 3);
    tcase_add_loop_test(t, tiles, 0, 4);
    tcase_add_loop_test(t, updates_and_chains, 0, 8);
    tcase_add_test(t, errors);
    suite_add_tcase(s, t);
    return s;
}
