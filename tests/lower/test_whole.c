/* test_whole.c - extern stages through every pass, run by the loop interpreter: places, boxes, memory. */
#include "kit.h"
#include "stages.h"

#include "ir/whole.h"

Suite *whole_suite(void);

static const int64_t sizes[][2] = { { 0, 3 }, { 1, 1 }, { 7, 3 }, { 8, 8 }, { 17, 13 } };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static const Extern *blur, *ramp, *blocks;

static void setup(void) {
    kit_setup();
    sm_init(&K.names, &K.arena);
    reset_stages();
    blur = alg_add_extern(&K, &(Extern){ .name = "blur", .fn = (void (*)(void))stage_blur, .is_stage = true });
    ramp = alg_add_extern(&K, &(Extern){ .name = "ramp", .fn = (void (*)(void))stage_ramp, .is_stage = true });
    blocks = alg_add_extern(&K, &(Extern){ .name = "blocks", .fn = (void (*)(void))stage_blocks, .is_stage = true });
}

/* An extern stage of two dimensions, of one Func (or none) and a scalar (or none). */
static Func *stage(const char *name, const Extern *fn, Func *in, const Node *scalar) {
    Func *f = func(name, 2, MLC_I32);
    mlc_type type = MLC_I32;
    WholeArg arg[2];
    int n = 0;
    if (in) arg[n++] = (WholeArg){ .func = in };
    if (scalar) arg[n++] = (WholeArg){ .value = scalar };
    ck_assert(alg_define_whole(f, fn, 2, 1, &type, n, arg, (mlc_loc){ "t.c", 7 }));
    return f;
}

static void check_sizes(Func *f) {
    for (int i = 0; i < N_SIZES; i++) check_same(f, sizes[i][0], sizes[i][1], -3, 5);
}

static void tile(Func *f) {
    line(f, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 8, 4, MLC_TAIL_GUARD));
}

static Func *source(void) {
    return input("in", MLC_I32, 2, 60, 60, -30, -30);
}

/* A producer: the consumer asks for boxes of it. */
START_TEST(producer) {
    Func *f = stage("f", ramp, NULL, i32(11)), *g = pure("g", 2, ir_add(I, at2(f, plus(x, -1), y), at2(f, x, plus(y, 2))));
    if (_i) tile(g);
    if (_i) line(f, 0, AT(g, _i == 1 ? "yo" : "xo"));
    check_sizes(g);
    ck_assert_int_eq(low_stores(&stats, f, 0), _i == 0 ? 18 * 15 : _i == 1 ? 18 * (13 + 4 * 2) : (17 + 3) * (13 + 4 * 2));
    ck_assert_int_eq(stats.peak, _i == 0 ? 18 * 15 * 4 : _i == 1 ? 18 * 6 * 4 : 9 * 6 * 4);
}
END_TEST

/* A consumer, which is the output: producers are computed over the box that it asks for. */
START_TEST(consumer) {
    Func *g = pure("g", 2, ir_add(I, at2(source(), x, y), i32(1))), *f = stage("f", blur, g, i32(2));
    if (_i) line(g, 0, ROOT());
    check_sizes(f);
    ck_assert_int_eq(low_stores(&stats, g, 0), 19 * 13);
    ck_assert_int_eq(low_stores(&stats, f, 0), 17 * 13);
}
END_TEST

/* Inputs and outputs of extern stages directly at each other. */
START_TEST(chain) {
    Func *a = stage("a", ramp, NULL, i32(3)), *b = stage("b", blur, a, i32(2)), *c = stage("c", blur, b, i32(-1));
    check_sizes(c);
    ck_assert_int_eq(low_stores(&stats, a, 0), 21 * 13);
    ck_assert_int_eq(low_stores(&stats, b, 0), 19 * 13);
}
END_TEST

/* Of an empty box nothing is asked; what its inputs are then adds nothing to a box that it is united with. */
START_TEST(empty_box) {
    Func *f = stage("f", blur, source(), i32(2));
    Whole w = alg_whole(f);
    const int64_t box[] = { 5, 7, 3, 2 };
    const mlc_scalar two = { .i = 2 };
    for (int d = 0; d < 2; d++) {
        ck_assert_int_eq(whole_query(w.ext->fn, w.desc, whole_end(0, d, false), box, &two, 0), WHOLE_FAREST);
        ck_assert_int_eq(whole_query(w.ext->fn, w.desc, whole_end(0, d, true), box, &two, 0), -WHOLE_FAREST);
        ck_assert_int_eq(whole_query(w.ext->fn, w.desc, whole_end(1, d, false), box, &two, 0), box[2 * d]);
        ck_assert_int_eq(whole_query(w.ext->fn, w.desc, whole_end(1, d, true), box, &two, 0), box[2 * d + 1]);
    }
}
END_TEST

/* Each tile asks, and what it asks for lies in what the whole was asked for. */
START_TEST(tiles) {
    Func *g = pure("g", 2, ir_add(I, at2(source(), x, y), i32(1))), *f = stage("f", blur, g, i32(2));
    Func *h = pure("h", 2, ir_add(I, at2(f, x, y), at2(f, plus(x, 1), y)));
    tile(h);
    line(f, 0, AT(h, "xo"));
    line(g, 0, _i == 0 ? ROOT() : _i == 1 ? AT(h, "yo") : AT(h, "xo"));
    check_sizes(h);
    ck_assert_int_eq(low_stores(&stats, f, 0), (17 + 3) * 13);
    ck_assert_int_eq(low_stores(&stats, g, 0), _i < 2 ? 20 * 13 : (17 + 3 * 3) * 13);
    reset_stages();
    struct mlc_buffer *b = box(MLC_I32, 2, 17, 13, -3, 5);
    ck_assert_str_eq(lower_and_run(h, b, NULL, 1), "");
    ck_assert_int_eq(runs, 3 * 4);
    for (int i = 0; i < n_answers; i++)
        for (int k = 0; k < n_answers; k++)
            if (answers[i].lo >= answers[k].lo && answers[i].hi <= answers[k].hi)
                ck_assert(answers[i].need_lo >= answers[k].need_lo && answers[i].need_hi <= answers[k].need_hi);
}
END_TEST

/* An ordinary Func between two extern stages, all in tiles. */
START_TEST(between) {
    Func *a = pure("a", 2, ir_cast(I, MLC_I32, ir_add(I, x, ir_mul(I, y, idx(3)))));
    Func *f = stage("f", blur, a, i32(2)), *m = pure("m", 2, ir_add(I, at2(f, x, plus(y, -1)), at2(f, x, plus(y, 1))));
    Func *k = stage("k", blur, m, i32(1)), *h = pure("h", 2, ir_add(I, at2(k, x, y), at2(m, x, y)));
    tile(h);
    line(k, 0, AT(h, "xo"));
    line(m, 0, _i ? AT(h, "yo") : AT(h, "xo"));
    line(f, 0, _i == 2 ? ROOT() : AT(h, "yo"));
    line(a, 0, ROOT());
    check_sizes(h);
}
END_TEST

/* It writes whole blocks of 8, more than is read; tiles of 8 cross them. */
START_TEST(enlarged) {
    Func *g = pure("g", 2, ir_add(I, at2(source(), x, y), i32(1))), *f = stage("f", blocks, g, NULL);
    Func *h = pure("h", 2, ir_add(I, at2(f, plus(x, 1), y), i32(0)));
    tile(h);
    if (_i) line(f, 0, AT(h, "xo"));
    if (_i) line(g, 0, AT(h, _i == 1 ? "xo" : "yo"));
    check_sizes(h);
    ck_assert_int_eq(low_stores(&stats, f, 0), _i ? 13 * (16 + 16 + 8) : 24 * 13); /* -2 .. 14: blocks at -8, 0, 8 */
}
END_TEST

/* An update, and a gather that is settled in a second round of the oracle, under an extern stage. */
START_TEST(updates_below) {
    Func *g = pure("g", 2, i32(5));
    add_def(g, NULL, x, y, ir_add(I, at2(g, x, y), at2(source(), x, y)));
    Func *f = stage("f", blur, g, i32(2));
    Func *h = pure("h", 2, ir_add(I, at2(f, clamped(ir_cast(I, MLC_INDEX, at2(f, x, y)), 0, 9), y), i32(1)));
    if (_i) line(h, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    if (_i) line(f, 0, AT(h, "y"));
    check_sizes(h);
}
END_TEST

START_TEST(bound_box) {
    Func *f = stage("f", ramp, NULL, i32(11)), *g = pure("g", 2, at2(f, x, y));
    line(f, 0, ROOT());
    line(f, 0, BOUND("_0", -8, 32));
    check_same(g, 17, 13, -3, 5);
    ck_assert_int_eq(low_stores(&stats, f, 0), 32 * 13);
}
END_TEST

Suite *whole_suite(void) {
    Suite *s = suite_create("whole");
    TCase *t = tcase_create("whole");
    tcase_add_checked_fixture(t, setup, kit_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, producer, 0, 3);
    tcase_add_loop_test(t, consumer, 0, 2);
    tcase_add_test(t, chain);
    tcase_add_test(t, empty_box);
    tcase_add_loop_test(t, tiles, 0, 3);
    tcase_add_loop_test(t, between, 0, 3);
    tcase_add_loop_test(t, enlarged, 0, 3);
    tcase_add_loop_test(t, updates_below, 0, 2);
    tcase_add_test(t, bound_box);
    suite_add_tcase(s, t);
    return s;
}
