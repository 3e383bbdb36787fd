/* test_special_nests.c - specializations as loops: which nest a call runs, what each reads and where its
 * producers stand. */
#include "kit.h"

Suite *special_nests_suite(void);

static Func *in, *p, *out;

static const Node *more(const Node *e, int64_t than) {
    return ir_make2(I, OP_LT, idx(than), e);
}

static const Node *is(const Node *e, int64_t v) {
    return ir_make2(I, OP_EQ, e, idx(v));
}

static const Node *width(void) {
    return ir_var(I, out->extent[0]);
}

static mlc_directive special(const Node *cond, int n, const mlc_directive *body) {
    return D(.kind = MLC_SPECIALIZE, .cond = { .ctx = &K, .node = cond }, .n_body = n, .body = body);
}
#define SPECIAL(cond, ...) \
    special(cond, (int)(sizeof((mlc_directive[]){ __VA_ARGS__ }) / sizeof(mlc_directive)), (mlc_directive[]){ __VA_ARGS__ })

static void program(void) {
    in = input("in", MLC_I32, 2, 24, 20, -4, 3);
    p = pure("p", 2, ir_add(I, at2(in, x, y), i32(1)));
    out = pure("out", 2, ir_add(I, at2(p, plus(x, -1), y), at2(p, plus(x, 1), plus(y, 1))));
}

static const int64_t sizes[][2] = { { 0, 0 }, { 1, 1 }, { 0, 3 }, { 7, 3 }, { 8, 8 }, { 9, 2 }, { 16, 1 }, { 17, 13 } };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void check_sizes(void) {
    for (int i = 0; i < N_SIZES; i++) check_same(out, sizes[i][0], sizes[i][1], -3, 5);
}

static int count(const char *what) {
    int n = 0;
    for (const char *at = loops; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

static void text_after(const char *stop) {
    ck_assert_str_eq(lower_and_run(out, NULL, stop, 0), "");
}

/* Each schedule is a copy of what came before it; the first that holds wins. */
START_TEST(first_match) {
    program();
    line(out, 0, SPLIT("y", "yo", "yi", 2, MLC_TAIL_GUARD));
    line(out, 0, SPECIAL(more(width(), 11), MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)));
    line(out, 0, SPECIAL(more(width(), 7), MARK(MLC_UNROLL, "x", 2, MLC_TAIL_AUTO), MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO)));
    line(out, 0, MARK(MLC_VECTORIZE, "yi", 0, MLC_TAIL_AUTO));
    check_sizes();
    text_after("simplify");
    const char *a = strstr(loops, "if 12 <= out.extent0"), *b = strstr(loops, "if 8 <= out.extent0");
    ck_assert_msg(a && b && a < b, "%s", loops);
    ck_assert_int_eq(count(" vector "), 2);
    ck_assert_int_eq(count(" unroll "), 1);
    ck_assert_int_eq(count(" parallel "), 1);
    const char *eight = strstr(loops, "vectorize(x, 8)\n"), *unrolled = strstr(loops, "unroll(x, 2)\n"), *last = strstr(loops, "vectorize(yi)\n");
    ck_assert_msg(a < eight && eight < b && b < unrolled && unrolled < last, "%s", loops);
}
END_TEST

START_TEST(nested) {
    program();
    mlc_directive inner[] = { SPECIAL(is(ir_var(I, out->extent[1]), 13), MARK(MLC_PARALLEL, "y", 0, MLC_TAIL_AUTO)),
                              MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO) };
    line(out, 0, special(more(width(), 7), 2, inner));
    check_sizes();
    text_after("simplify");
    ck_assert_msg(strstr(loops, "for out.y$2 in [out.min1 +: index(13)) parallel"), "%s", loops);
    ck_assert_int_eq(count(" vector "), 1);
}
END_TEST

/* What a condition fixes is a constant in its branch: a whole row as one vector, no tail, no select. */
START_TEST(fixed_sizes) {
    program();
    line(out, 0, SPECIAL(is(width(), 8), MARK(MLC_VECTORIZE, "x", 0, MLC_TAIL_AUTO)));
    check_sizes();
    text_after("simplify");
    ck_assert_msg(strstr(loops, "index(8)) vector"), "%s", loops);
}
END_TEST

START_TEST(known_multiples) {
    program();
    line(out, 0, SPECIAL(is(ir_make2(I, OP_MOD, width(), idx(16)), 0), MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_SHIFT)));
    line(out, 0, SPECIAL(more(width(), 7), MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)));
    check_sizes();
    text_after("simplify");
    ck_assert_int_eq(count("TAIL_SHORT"), 0);
    ck_assert_int_eq(count("min("), 1); /* the start of the second one's shifted tile */
    ck_assert_int_eq(count("if likely"), 1);
}
END_TEST

/* Flatten is the first to know of strides, and the branch knows them too. */
START_TEST(fixed_strides) {
    program();
    line(out, 0, SPECIAL(ir_make2(I, OP_LAND, is(ir_var(I, in->stride[0]), 1), is(ir_var(I, out->stride[0]), 1)),
                         MARK(MLC_UNROLL, "x", 2, MLC_TAIL_AUTO)));
    check_sizes();
    text_after(NULL);
    char *other = strstr(loops, "\n  else");
    if (!other) other = strstr(loops, "else\n");
    ck_assert_msg(other && strstr(other, "* in.stride0") && strstr(other, "* out.stride0"), "%s", loops);
    *other = 0;
    ck_assert_msg(!strstr(loops, "* in.stride0") && !strstr(loops, "* out.stride0"), "%s", loops);
}
END_TEST

/* A producer inside of loops of the copies: one in each, evaluated as often as each needs. */
START_TEST(producers) {
    program();
    line(p, 0, AT(out, "y"));
    if (_i == 1) line(p, 0, STORE_AT_ROOT());
    line(out, 0, SPECIAL(more(width(), 7), MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)));
    check_sizes();
    check_same(out, 17, 13, -3, 5);
    ck_assert_int_eq(low_stores(&stats, p, 0), _i ? 19 * 14 : 19 * 13 * 2);
    check_same(out, 7, 3, -3, 5);
    ck_assert_int_eq(low_stores(&stats, p, 0), _i ? 9 * 4 : 9 * 3 * 2);
    ck_assert_int_eq(count("alloc "), 2);
}
END_TEST

/* The consumer of the consumer is specialized: three deep. */
START_TEST(deep_producers) {
    program();
    Func *q = pure("q", 2, ir_add(I, at2(in, x, y), at2(in, plus(x, 1), y)));
    p->def.at[0]->value[0] = p->def.at[0]->rhs[0] = ir_add(I, at2(q, x, y), i32(1));
    line(out, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 4, 4, MLC_TAIL_GUARD));
    line(out, 0, SPECIAL(more(width(), 8), MARK(MLC_PARALLEL, "yo", 0, MLC_TAIL_AUTO)));
    line(p, 0, AT(out, "xo"));
    line(p, 0, SPECIAL(more(width(), 14), MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO)));
    line(q, 0, AT(p, "y"));
    check_sizes();
    text_after("simplify");
    ck_assert_int_eq(count("alloc p"), 2);
    ck_assert_int_eq(count("alloc q"), 3); /* of four, one would need a width above 14 and below 9 */
}
END_TEST

/* Only what a call's nest reads has to be there. */
START_TEST(reads_are_trimmed) {
    in = input("in", MLC_I32, 2, 24, 20, -4, 3);
    out = func("out", 2, MLC_I32);
    const Node *wide = more(ir_var(I, out->extent[0]), 9);
    Func *far = input("far", MLC_I32, 2, 1, 1, 500, 500);
    add_def(out, NULL, x, y, ir_make3(I, OP_SELECT, wide, at2(in, x, y), at2(far, plus(x, 503 - 10), plus(y, 495))));
    line(out, 0, SPECIAL(wide, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)));
    struct mlc_buffer *b = box(MLC_I32, 2, 10, 4, -3, 5);
    ck_assert_str_eq(lower_and_run(out, b, NULL, 0), "");
    b = box(MLC_I32, 2, 9, 4, -3, 5);
    ck_assert_str_eq(lower_and_run(out, b, NULL, 0),
                     "input far is needed in dimension 0 from 490 to 498, but its buffer holds 500 to 500; bind a larger buffer, or give the input a boundary");
}
END_TEST

START_TEST(updates) {
    program();
    RDom *k = rdom("k", 2, 3, 2);
    const Node *kx = ir_var(I, k->var[0]), *ky = ir_var(I, k->var[1]);
    add_def(out, k, x, y, ir_add(I, at2(out, x, y), at2(p, ir_add(I, x, kx), ir_add(I, y, ky))));
    line(out, 0, SPECIAL(more(width(), 7), MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)));
    line(out, 1, D(.kind = MLC_REORDER, .n = 3, .v = { var("x"), var("k.x"), var("k.y") }));
    line(out, 1, SPECIAL(more(width(), 3), MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO)));
    line(out, 1, SPECIAL(is(width(), 1), MARK(MLC_PARALLEL, "y", 0, MLC_TAIL_AUTO)));
    line(p, 0, ROOT());
    for (int i = 0; i < N_SIZES; i++) check_same(out, sizes[i][0], sizes[i][1], -3, 5);
}
END_TEST

START_TEST(fail) {
    program();
    line(out, 0, SPECIAL(more(width(), 7), MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)));
    line(out, 0, D(.kind = MLC_SPECIALIZE_FAIL, .text = "rows hold 8 points"));
    check_same(out, 17, 13, -3, 5);
    text_after("simplify");
    ck_assert_msg(!strstr(loops, "else\n"), "%s", loops); /* there is no other nest */
    ck_assert_str_eq(lower_and_run(out, box(MLC_I32, 2, 7, 3, -3, 5), NULL, 0),
                     "the call fits no specialization of out: rows hold 8 points");
    ck_assert_str_eq(lower_and_run(out, box(MLC_I32, 2, 7, 0, -3, 5), NULL, 0), ""); /* nothing to compute */
}
END_TEST

START_TEST(store_around) {
    program();
    Func *top = out;
    out = pure("top", 2, ir_add(I, at2(top, x, y), at2(top, x, plus(y, 1))));
    line(top, 0, AT(out, "y"));
    line(top, 0, SPECIAL(more(ir_var(I, out->extent[0]), 7), MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO)));
    line(p, 0, AT(top, "y"));
    line(p, 0, _i ? STORE(out, "y") : STORE_AT_ROOT());
    const char *want = _i ? "" : "t.c:23: schedule p: store_root(): p is stored around a loop, in which each specialization of "
                                 "out computes it; store it inside of that loop";
    ck_assert_str_eq(lower_and_run(out, NULL, NULL, 0), want);
    if (_i) check_sizes();
}
END_TEST

Suite *special_nests_suite(void) {
    Suite *s = suite_create("special_nests");
    TCase *t = tcase_create("specialize");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_test(t, first_match);
    tcase_add_test(t, nested);
    tcase_add_test(t, fixed_sizes);
    tcase_add_test(t, known_multiples);
    tcase_add_test(t, fixed_strides);
    tcase_add_loop_test(t, producers, 0, 2);
    tcase_add_test(t, deep_producers);
    tcase_add_test(t, reads_are_trimmed);
    tcase_add_test(t, updates);
    tcase_add_test(t, fail);
    tcase_add_loop_test(t, store_around, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
