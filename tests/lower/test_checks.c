/* test_checks.c - what a lowered program asks of its buffers, and what it says where they fall short. */
#include "kit.h"
#include "lower/passes.h"

Suite *checks_suite(void);

static Func *in, *out;

static void copy(void) {
    in = input("in", MLC_I32, 2, 11, 7, 0, 0);
    out = pure("out", 2, at2(in, x, y));
}

START_TEST(input_boxes) {
    static const struct { int64_t w, h, min0, min1; const char *want; } row[] = {
        { 11, 7, 0, 0, "" },
        { 3, 2, 8, 5, "" },
        { 0, 9, 50, 50, "" },
        { 12, 7, 0, 0, "input in is needed in dimension 0 from 0 to 11, but its buffer holds 0 to 10; bind a larger buffer, or give the input a boundary" },
        { 5, 7, -1, 0, "input in is needed in dimension 0 from -1 to 3, but its buffer holds 0 to 10; bind a larger buffer, or give the input a boundary" },
        { 5, 7, 0, 1, "input in is needed in dimension 1 from 1 to 7, but its buffer holds 0 to 6; bind a larger buffer, or give the input a boundary" },
    };
    copy();
    const char *m = lower_and_run(out, box(MLC_I32, 2, row[_i].w, row[_i].h, row[_i].min0, row[_i].min1), NULL, 0);
    ck_assert_str_eq(m, row[_i].want);
}
END_TEST

START_TEST(fixed_shapes) {
    static const char *const want[] = {
        "the buffer of in has in dimension 1 the stride 11, but the program fixes it to 12; bind one that does",
        "the buffer of in starts in dimension 0 at 0, but the program fixes the min to 2; bind one that does",
        "the buffer of out has in dimension 1 the extent 7, but the program fixes it to 9; bind one that does",
        "the buffer of in has in dimension 1 the stride 11, but the program needs a multiple of 4; bind one that has",
        "",
    };
    copy();
    if (_i == 0) in->dim[1].has_stride = true, in->dim[1].stride = 12;
    if (_i == 1) in->dim[0].has_min = true, in->dim[0].min = 2;
    if (_i == 2) out->dim[1].has_extent = true, out->dim[1].extent = 9;
    if (_i == 3) in->dim[1].align = 4;
    if (_i == 4) in->dim[1].align = 11, in->dim[0].has_extent = true, in->dim[0].extent = 11;
    ck_assert_str_eq(lower_and_run(out, box(MLC_I32, 2, 11, 7, 0, 0), NULL, 0), want[_i]);
}
END_TEST

/* An update of an output writes where the caller's buffer has no place. */
START_TEST(output_box) {
    in = input("in", MLC_U8, 1, 20, 1, 0, 0);
    RDom *r = rdom("r", 1, 20, 0);
    out = pure("out", 1, i32(0));
    const Node *at = ir_cast(I, MLC_INDEX, at1(in, ir_var(I, r->var[0])));
    add_def(out, r, at, NULL, ir_add(I, at1(out, at), i32(1)));
    check_same(out, 256, 1, 0, 0);
    const char *m = lower_and_run(out, box(MLC_I32, 1, 255, 1, 0, 0), NULL, 0);
    ck_assert_str_eq(m, "output out is written or read in dimension 0 from 0 to 255, but its buffer holds 0 to 254; "
                        "bind a larger buffer");
}
END_TEST

START_TEST(bound_too_small) {
    in = input("in", MLC_I32, 1, 40, 1, 0, 0);
    Func *f = pure("f", 1, at1(in, x));
    out = pure("out", 1, ir_add(I, at1(f, x), at1(f, plus(x, 1))));
    line(f, 0, ROOT());
    line(f, 0, BOUND("x", 0, 16));
    check_same(out, 15, 1, 0, 0);
    const char *m = lower_and_run(out, box(MLC_I32, 1, 16, 1, 0, 0), NULL, 0);
    ck_assert_str_eq(m, "f is needed in dimension 0 from 0 to 16, but its bound holds 0 to 15; widen the bound");
}
END_TEST

START_TEST(vectors_and_unrolling) {
    copy();
    line(out, 0, MARK(_i ? MLC_UNROLL : MLC_VECTORIZE, "x", 0, MLC_TAIL_AUTO));
    const char *m = lower_and_run(out, NULL, NULL, 0);
    ck_assert_ptr_nonnull(strstr(m, _i ? "the unrolled loop 'x' of out has no constant extent; split it"
                                       : "the vector loop 'x' of out has no constant extent above 1; split it"));
    line(out, 0, BOUND("x", 0, _i == 2 ? 5000 : 11));
    m = lower_and_run(out, NULL, NULL, 0);
    if (_i == 2) ck_assert_ptr_nonnull(strstr(m, "the unrolled loop 'x' of out has 5000 iterations; split it"));
    else check_same(out, 11, 7, 0, 0);
}
END_TEST

/* What mlc_required answers: the boxes of the inputs over the output's shape. */
START_TEST(required) {
    in = input("in", MLC_I32, 2, 11, 7, 0, 0);
    out = pure("out", 2, ir_add(I, at2(in, plus(x, -2), y), at2(in, plus(x, 1), clamped(y, 0, 6))));
    Barrier barrier;
    if (FAULT_TRY(&K.fault, barrier)) {
        LowerOptions o = { .name = "test", .stop_after = "build" };
        Program *p = low_lower(&K.arena, I, sch_resolve(I, &plan, &out, 1), &o);
        ck_assert_int_eq(p->n_required, 1);
        ck_assert_ptr_eq(p->required[0].input, in);
        const Node *min = ir_var(I, out->min[0]), *extent = ir_var(I, out->extent[0]);
        ck_assert(sim_prove(I, NULL, ir_make2(I, OP_EQ, p->required[0].dim[0].lo, plus(min, -2))));
        ck_assert(sim_prove(I, NULL, ir_make2(I, OP_EQ, p->required[0].dim[0].hi, ir_add(I, min, extent))));
        FAULT_END(&K.fault, barrier);
    }
    ck_assert_str_eq(K.fault.info.message, "");
}
END_TEST

/* .check runs change nothing of a right program, and find data outside of its declared range. */
START_TEST(every_access) {
    in = input("in", MLC_I32, 1, 20, 1, 0, 0);
    Func *f = pure("f", 1, ir_cast(I, MLC_I32, x)), *f2 = pure("f2", 1, at1(f, plus(x, 1)));
    out = pure("out", 1, at1(f2, ir_cast(I, MLC_INDEX, at1(in, x))));
    in->has_range = true;
    in->lo = -5;
    in->hi = 8;
    for (int i = 0; i < 20; i++) ((int32_t *)in->bound->data)[i] = i % 14 - 5;
    line(f, 0, ROOT());
    line(f2, 0, ROOT());
    line(out, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    with_checks = true;
    check_same(out, 19, 1, 0, 0);
    ((int32_t *)in->bound->data)[17] = 9;
    ck_assert_str_eq(lower_and_run(out, box(MLC_I32, 1, 19, 1, 0, 0), NULL, 0),
                     "input in breaks its declared range -5 to 8 at (17, 0 ..); correct the data or the range");
}
END_TEST

/* Lowering leaves no access outside of its memory, so one is made by hand. */
START_TEST(planted_access) {
    in = input("in", MLC_I32, 1, 20, 1, 0, 0);
    out = pure("out", 1, at1(in, x));
    struct mlc_buffer *slot[2] = { in->bound, box(MLC_I32, 1, 5, 1, 0, 0) };
    Barrier barrier;
    if (FAULT_TRY(&K.fault, barrier)) {
        LowerOptions o = { .name = "test", .stop_after = "build", .check = true };
        Program *p = low_lower(&K.arena, I, sch_resolve(I, &plan, &out, 1), &o);
        const Node *to = idx(3), *value = at1(in, idx(21));
        p->body = st_store(&K.arena, out, 1, &to, 1, &value);
        low_access_checks(p, &o);
        low_interpret(&K.arena, p, slot, NULL, 0);
        FAULT_END(&K.fault, barrier);
    }
    ck_assert_str_eq(K.fault.info.message, "in is accessed in dimension 0 at 21, but holds 0 to 19; clamp the index, or "
                                           "correct the data that makes it");
}
END_TEST

/* Values, tuples, several outputs and undef. */
START_TEST(tuples_and_undef) {
    in = input("in", MLC_I32, 1, 20, 1, 0, 0);
    Func *t = func("t", 1, MLC_I32);
    t->n = 2;
    t->type[1] = MLC_I32;
    Def *d = add_def(t, NULL, x, NULL, at1(in, x));
    d->value[1] = ir_cast(I, MLC_I32, x);
    RDom *r = rdom("r", 1, 3, 0);
    const Node *kids[1] = { x }, *t0 = ir_access(I, t, MLC_I32, 0, 1, kids), *t1 = ir_access(I, t, MLC_I32, 1, 1, kids);
    d = add_def(t, r, x, NULL, ir_add(I, t1, ir_cast(I, MLC_I32, ir_var(I, r->var[0])))); /* swaps as it goes */
    d->value[1] = t0;
    const Node *next[1] = { plus(x, 1) };
    out = pure("out", 1, ir_sub(I, ir_access(I, t, MLC_I32, 0, 1, kids), ir_access(I, t, MLC_I32, 1, 1, next)));
    if (_i & 1) line(t, 0, ROOT());
    if (_i & 2) line(out, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    if (_i & 1) line(t, 1, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    check_same(out, 17, 1, 0, 0);
    const Node *undef = ir_node(I, OP_UNDEF, MLC_I32, 0, 0, 0, NULL);
    out = pure("u", 1, undef);
    add_def(out, NULL, x, NULL, at1(in, x));
    line(out, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_AUTO));
    check_same(out, 17, 1, 0, 0);
    ck_assert_int_eq(low_stores(&stats, out, 0), 0);
}
END_TEST

/* Two outputs, one read by the other: the caller's buffer must hold what is read. */
START_TEST(two_outputs) {
    static const int64_t width[] = { 6, 5, 0 };
    in = input("in", MLC_I32, 1, 20, 1, 0, 0);
    Func *first = pure("first", 1, ir_add(I, at1(in, x), i32(1)));
    out = pure("out", 1, ir_mul(I, at1(first, plus(x, 1)), i32(2)));
    Func *both[2] = { out, first };
    struct mlc_buffer *slot[3] = { in->bound, box(MLC_I32, 1, width[_i] ? 5 : 0, 1, 0, 0), box(MLC_I32, 1, width[_i], 1, 0, 0) };
    Barrier barrier;
    if (FAULT_TRY(&K.fault, barrier)) {
        LowerOptions o = { .name = "test", .verify = true };
        Program *p = low_lower(&K.arena, I, sch_resolve(I, &plan, both, 2), &o);
        low_interpret(&K.arena, p, slot, NULL, 0);
        FAULT_END(&K.fault, barrier);
    }
    ck_assert_str_eq(K.fault.info.message, _i == 1 ? "output first is written or read in dimension 0 from 0 to 5, but its buffer "
                                                     "holds 0 to 4; bind a larger buffer" : "");
    for (int i = 0; i < 5 && _i == 0; i++)
        ck_assert_int_eq(((int32_t *)slot[1]->data)[i], 2 * (int32_t)(((uint32_t *)in->bound->data)[i + 1] + 1));
}
END_TEST

Suite *checks_suite(void) {
    Suite *s = suite_create("checks");
    TCase *t = tcase_create("entry");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, input_boxes, 0, 6);
    tcase_add_loop_test(t, fixed_shapes, 0, 5);
    tcase_add_test(t, output_box);
    tcase_add_test(t, bound_too_small);
    tcase_add_loop_test(t, vectors_and_unrolling, 0, 3);
    tcase_add_test(t, required);
    tcase_add_loop_test(t, two_outputs, 0, 3);
    tcase_add_test(t, every_access);
    tcase_add_test(t, planted_access);
    tcase_add_loop_test(t, tuples_and_undef, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
