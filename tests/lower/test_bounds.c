/* test_bounds.c - which boxes producers get: root, inlined, with updates, through data-dependent indices;
 * and the message where an index has no bounds. */
#include "kit.h"

Suite *bounds_suite(void);

static const int64_t sizes[][2] = { { 1, 1 }, { 7, 3 }, { 8, 8 }, { 17, 13 } };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void check_sizes(Func *f) {
    for (int i = 0; i < N_SIZES; i++) check_same(f, sizes[i][0], sizes[i][1], -3, 5);
}

/* in(x - 1) + in(x) + in(x + 1) horizontally, then the same vertically. */
static Func *blur(Func **bx) {
    Func *in = input("in", MLC_I32, 2, 19 + 2, 15 + 2, -4, 4);
    const Node *h = ir_add(I, ir_add(I, at2(in, plus(x, -1), y), at2(in, x, y)), at2(in, plus(x, 1), y));
    *bx = pure("bx", 2, h);
    const Node *v = ir_add(I, ir_add(I, at2(*bx, x, plus(y, -1)), at2(*bx, x, y)), at2(*bx, x, plus(y, 1)));
    return pure("by", 2, v);
}

START_TEST(stencil) {
    Func *bx, *by = blur(&bx);
    if (_i & 1) line(bx, 0, ROOT());
    if (_i & 2) line(by, 0, TILE("x", "y", "xo", "yo", "xi", "yi", 8, 4, MLC_TAIL_GUARD));
    if (_i == 3) line(bx, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO));
    check_sizes(by);
}
END_TEST

START_TEST(too_small_an_input) {
    Func *bx, *by = blur(&bx);
    const char *m = lower_and_run(by, box(MLC_I32, 2, 20, 3, -3, 5), NULL, 0);
    ck_assert_str_eq(m, "input in is needed in dimension 0 from -4 to 17, but its buffer holds -4 to 16; "
                        "bind a larger buffer, or give the input a boundary");
}
END_TEST

/* A histogram: the update writes 0 to 255 whatever is asked for. */
START_TEST(scattered_update) {
    Func *in = input("in", MLC_U8, 2, 11, 7, 0, 0);
    RDom *r = rdom("r", 2, 11, 7);
    Func *h = pure("h", 1, i32(0));
    const Node *at = ir_cast(I, MLC_INDEX, at2(in, ir_var(I, r->var[0]), ir_var(I, r->var[1])));
    Def *d = add_def(h, r, at, NULL, ir_add(I, at1(h, at), i32(1)));
    d->op = DEF_ADD;
    d->rhs[0] = i32(1);
    Func *out = pure("out", 1, ir_add(I, at1(h, plus(x, 3)), i32(7)));
    if (_i) line(h, 0, ROOT());
    if (_i == 2) line(h, 1, REORDER2("r.y", "r.x"));
    check_same(out, 17, 1, 0, 0);
    check_same(out, 5, 1, 250 - 5, 0);
}
END_TEST

/* Matrix product: the update reads itself at its own place, and runs over the whole box. */
START_TEST(reduction) {
    Func *a = input("a", MLC_F32, 2, 9, 17, 0, 0), *b = input("b", MLC_F32, 2, 17, 9, 0, 0);
    RDom *k = rdom("k", 1, 9, 0);
    const Node *kv = ir_var(I, k->var[0]);
    Func *c = pure("c", 2, ir_flt(I, MLC_F32, -0.0));
    add_def(c, k, x, y, ir_make3(I, OP_FMA, at2(a, kv, y), at2(b, x, kv), at2(c, x, y)));
    Func *out = pure("out", 2, ir_mul(I, at2(c, x, y), ir_flt(I, MLC_F32, 2)));
    Func *last = _i & 1 ? out : c;
    if (_i == 1) line(c, 0, ROOT());
    if (_i >= 2) {
        if (_i & 1) line(c, 0, ROOT());
        line(c, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
        line(c, 1, TILE("x", "y", "xo", "yo", "xi", "yi", 8, 4, MLC_TAIL_AUTO));
        line(c, 1, D(.kind = MLC_REORDER, .n = 5, .v = { var("xi"), var("yi"), var("k"), var("xo"), var("yo") }));
        line(c, 1, MARK(MLC_VECTORIZE, "xi", 4, MLC_TAIL_AUTO));
        line(c, 1, MARK(MLC_UNROLL, "yi", 0, MLC_TAIL_AUTO));
    }
    if (_i == 5) line(out, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO)); /* c in every lane */
    check_same(last, 17, 9, 0, 0);
    check_same(last, 7, 3, 2, 1);
}
END_TEST

START_TEST(inlined_in_a_vector) {
    Func *in = input("in", MLC_I32, 1, 40, 1, 0, 0);
    RDom *k = rdom("k", 1, 5, 0);
    Func *s = pure("s", 1, i32(0));
    add_def(s, k, x, NULL, ir_add(I, at1(s, x), at1(in, ir_add(I, x, ir_var(I, k->var[0])))));
    Func *out = pure("out", 1, ir_add(I, at1(s, x), at1(s, plus(x, _i))));
    line(out, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO));
    check_same(out, 17, 1, 0, 0);
    check_same(out, 3, 1, 1, 0);
}
END_TEST

/* By default at the consumer's innermost loop, but not in a vector loop whose lanes need boxes of other sizes. */
START_TEST(default_outside_of_lanes) {
    Func *in = input("in", MLC_I32, 1, 40, 1, 0, 0);
    RDom *k = rdom("k", 1, 5, 0);
    Func *s = pure("s", 1, i32(0));
    add_def(s, k, x, NULL, ir_add(I, at1(s, x), at1(in, ir_add(I, x, ir_var(I, k->var[0])))));
    Func *out = pure("out", 1, ir_add(I, at1(s, x), at1(s, idx(_i ? 2 : 0))));
    line(out, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO));
    check_same(out, 17, 1, 0, 0);
    check_same(out, 3, 1, 1, 0);
}
END_TEST

START_TEST(clamped_index) {
    Func *in = input("in", MLC_I32, 2, 5, 5, 0, 0);
    Func *edge = pure("edge", 2, at2(in, clamped(x, 0, 4), clamped(y, 0, 4)));
    Func *out = pure("out", 2, ir_add(I, at2(edge, plus(x, -2), y), at2(edge, x, plus(y, 2))));
    if (_i) line(edge, 0, ROOT());
    check_sizes(out);
}
END_TEST

/* No point that `where` excludes is read: a triangle, a diagonal band, a part chosen by the Var. */
START_TEST(where_narrows) {
    Func *in = input("in", MLC_I32, 2, 10, 10, 0, 0);
    RDom *r = rdom("r", 2, 20, 20);
    const Node *rx = ir_var(I, r->var[0]), *ry = ir_var(I, r->var[1]);
    const Node *p = _i == 0 ? ir_make2(I, OP_LT, ir_add(I, rx, ry), idx(10))
                  : _i == 1 ? ir_make2(I, OP_LAND, ir_make2(I, OP_LE, rx, ry), ir_make2(I, OP_LT, ry, idx(10)))
                            : ir_make2(I, OP_LAND, ir_make2(I, OP_LT, rx, x), ir_make2(I, OP_LT, ry, idx(9)));
    VEC_PUSH(&K.arena, &r->where, p);
    VEC_PUSH(&K.arena, &r->where_canon, p);
    Func *s = pure("s", 1, i32(0));
    add_def(s, r, x, NULL, ir_add(I, ir_mul(I, at1(s, x), i32(3)), at2(in, rx, ry)));
    check_same(s, 11, 1, 0, 0);
    line(s, 1, SPLIT("r.x", "ro", "ri", 4, MLC_TAIL_GUARD));
    check_same(s, 7, 1, 0, 0);
}
END_TEST

START_TEST(unbounded) {
    Func *in = input("in", MLC_I32, 1, 5, 1, 0, 0), *t = pure("t", 1, ir_cast(I, MLC_I32, x));
    Func *out = pure("out", 1, at1(t, ir_cast(I, MLC_INDEX, at1(in, x))));
    line(t, 0, ROOT());
    const char *m = lower_and_run(out, NULL, NULL, 0);
    ck_assert_str_eq(m, "t.c:7: define out: out reads t at an index without bounds in dimension 0: index(in(out.x)); "
                        "wrap the index in clamp, or declare a range");
}
END_TEST

START_TEST(unbounded_write) {
    Func *in = input("in", MLC_I32, 1, 5, 1, 0, 0);
    RDom *r = rdom("r", 1, 5, 0);
    Func *out = pure("out", 1, i32(0));
    const Node *at = ir_cast(I, MLC_INDEX, at1(in, ir_var(I, r->var[0])));
    add_def(out, r, at, NULL, i32(1));
    ck_assert_str_eq(lower_and_run(out, NULL, NULL, 0),
                     "t.c:7: define out: out.u0 writes at an index without bounds in dimension 0: index(in(r)); "
                     "wrap the index in clamp, or declare a range");
}
END_TEST

START_TEST(bound_holds) {
    Func *bx, *by = blur(&bx);
    line(by, 0, BOUND("x", -3, 16));
    line(bx, 0, ROOT());
    line(bx, 0, BOUND("x", -3, 16));
    check_same(by, 16, 5, -3, 5);
    const char *m = lower_and_run(by, box(MLC_I32, 2, 15, 3, -3, 5), NULL, 0);
    ck_assert_str_eq(m, "the buffer of by has in dimension 0 the extent 15, but the program fixes it to 16; "
                        "bind one that does");
}
END_TEST

/* A chain of 500 stencils lowers in time linear in its length: 250 take at least a third. */
START_TEST(long_chain) {
    Func *f = input("in", MLC_I32, 1, 2000, 1, -600, 0);
    for (int i = 0; i < 500; i++) {
        f = pure(arena_printf(&K.arena, "f%d", i), 1, ir_add(I, at1(f, plus(x, -1)), at1(f, plus(x, 1))));
        if (i < 499) line(f, 0, ROOT());
    }
    struct mlc_buffer *b = box(MLC_I32, 1, 7, 1, 0, 0);
    const char *m = lower_and_run(f, b, NULL, 0);
    ck_assert_str_eq(m, "");
}
END_TEST

START_TEST(long_inlined_chain) {
    Func *f = input("in", MLC_I32, 1, 2000, 1, -600, 0);
    for (int i = 0; i < 2000; i++)
        f = pure(arena_printf(&K.arena, "f%d", i), 1, ir_add(I, ir_mul(I, at1(f, x), i32(3)), i32(i)));
    check_same(f, 7, 1, 0, 0);
}
END_TEST

Suite *bounds_suite(void) {
    Suite *s = suite_create("bounds inference");
    TCase *t = tcase_create("boxes");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, stencil, 0, 4);
    tcase_add_test(t, too_small_an_input);
    tcase_add_loop_test(t, scattered_update, 0, 3);
    tcase_add_loop_test(t, reduction, 0, 6);
    tcase_add_loop_test(t, inlined_in_a_vector, 0, 2);
    tcase_add_loop_test(t, default_outside_of_lanes, 0, 2);
    tcase_add_loop_test(t, clamped_index, 0, 2);
    tcase_add_loop_test(t, where_narrows, 0, 3);
    tcase_add_test(t, unbounded);
    tcase_add_test(t, unbounded_write);
    tcase_add_test(t, bound_holds);
    tcase_add_test(t, long_chain);
    tcase_add_test(t, long_inlined_chain);
    suite_add_tcase(s, t);
    return s;
}
