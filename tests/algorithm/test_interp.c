/* test_interp.c - the oracle against results worked out by hand; Funcs are built from their structs, so
 * that nothing but the interpreter is under test. */
#include "algorithm/algorithm.h"
#include <mlc/runtime.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Suite *interp_suite(void);

/* ---- building by hand ---- */

static mlc_ctx C;
static Interner *I;
static const Node *x, *y; /* the Vars */
static char logged[256];

static void setup(void) {
    memset(&C, 0, sizeof C);
    arena_init(&C.arena, NULL, &C.fault);
    ir_interner_init(&C.ir, &C.arena, NULL);
    pm_init(&C.param_value, &C.arena);
    I = &C.ir;
    logged[0] = 0;
    Sym *sym = ARENA_ARRAY(&C.arena, Sym, 2);
    sym[0] = (Sym){ .name = "x", .kind = SYM_VAR, .type = MLC_INDEX };
    sym[1] = (Sym){ .name = "y", .kind = SYM_VAR, .type = MLC_INDEX };
    x = ir_var(I, &sym[0]);
    y = ir_var(I, &sym[1]);
}

static void teardown(void) {
    arena_free(&C.arena);
}

static Func *func(const char *name, int rank, mlc_type type) {
    Func *f = ARENA_NEW(&C.arena, Func);
    *f = (Func){ .name = name, .ctx = &C, .rank = rank, .n = 1, .type = { type }, .id = C.funcs.n };
    VEC_PUSH(&C.arena, &C.funcs, f);
    return f;
}

static Def *add_def(Func *f, RDom *dom, const Node *c0, const Node *c1, const Node *value) {
    Def *d = ARENA_NEW(&C.arena, Def);
    *d = (Def){ .rank = f->rank, .n = f->n, .rdom = dom, .coord = { c0, c1 }, .lhs = { c0, c1 },
                .value = { value }, .rhs = { value }, .loc = { "t.c", 7 } };
    VEC_PUSH(&C.arena, &f->def, d);
    return d;
}

static Func *pure(const char *name, int rank, mlc_type type, const Node *value) {
    Func *f = func(name, rank, type);
    add_def(f, NULL, rank > 0 ? x : NULL, rank > 1 ? y : NULL, value);
    if (rank > 0) f->arg[0] = x->u.sym;
    if (rank > 1) f->arg[1] = y->u.sym;
    return f;
}

static Func *input(const char *name, int rank, struct mlc_buffer *b) {
    Func *f = func(name, rank, b->type);
    f->is_input = true;
    f->bound = b;
    return f;
}

static RDom *rdom(int n, int64_t extent0, int64_t extent1) {
    RDom *r = ARENA_NEW(&C.arena, RDom);
    Sym *v = ARENA_ARRAY(&C.arena, Sym, n);
    r->name = "k";
    r->n = n;
    for (int i = 0; i < n; i++) {
        v[i] = (Sym){ .name = i ? "k.y" : "k.x", .kind = SYM_RVAR, .type = MLC_INDEX, .dim = i, .rdom = r };
        r->var[i] = &v[i];
        r->min[i] = ir_idx(I, 0);
        r->extent[i] = ir_idx(I, i ? extent1 : extent0);
    }
    return r;
}

static void where(RDom *r, const Node *p) {
    VEC_PUSH(&C.arena, &r->where, p);
    VEC_PUSH(&C.arena, &r->where_canon, p);
}

static const Node *at1(Func *f, const Node *a) {
    return ir_access(I, f, f->type[0], 0, 1, &a);
}

static const Node *at2(Func *f, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_access(I, f, f->type[0], 0, 2, kids);
}

static const Node *idx(int64_t v) {
    return ir_idx(I, v);
}

static const Node *clamped(const Node *e, int64_t lo, int64_t hi) {
    return ir_min(I, ir_max(I, e, idx(lo)), idx(hi));
}

static struct mlc_buffer wrap(void *data, mlc_type t, int rank, int64_t w, int64_t h) {
    return (struct mlc_buffer){ .data = data, .type = t, .rank = rank, .dim = { { 0, w, 1 }, { 0, h, w } } };
}

/* Interprets; "" or the message. */
static const char *run_all(int n, Func *const *f, struct mlc_buffer *const *b) {
    static char message[1024];
    Fault fault = { 0 };
    Barrier barrier;
    Arena a;
    arena_init(&a, NULL, &fault);
    if (FAULT_TRY(&fault, barrier)) {
        alg_interpret(&a, f, b, n);
        FAULT_END(&fault, barrier);
    }
    arena_free(&a);
    strcpy(message, fault.info.message);
    return message;
}

static const char *run(Func *f, struct mlc_buffer *b) {
    return run_all(1, &f, &b);
}

/* ---- pure Funcs ---- */

START_TEST(stencil_chain) {
    int32_t in[5 * 7], out[3 * 5];
    for (int i = 0; i < 35; i++) in[i] = i * i;
    struct mlc_buffer bi = wrap(in, MLC_I32, 2, 5, 7), bo = wrap(out, MLC_I32, 2, 3, 5);
    Func *src = input("in", 2, &bi);
    const Node *row = ir_add(I, ir_add(I, at2(src, x, y), at2(src, ir_add(I, x, idx(1)), y)), at2(src, ir_add(I, x, idx(2)), y));
    Func *bx = pure("bx", 2, MLC_I32, row);
    Func *by = pure("by", 2, MLC_I32, ir_sub(I, at2(bx, x, ir_add(I, y, idx(2))), at2(bx, x, y)));
    ck_assert_str_eq(run(by, &bo), "");
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 3; i++) {
            int want = 0;
            for (int k = 0; k < 3; k++) want += in[(j + 2) * 5 + i + k] - in[j * 5 + i + k];
            ck_assert_int_eq(out[j * 3 + i], want);
        }
}
END_TEST

/* a long chain costs no C stack */
START_TEST(chain_of_2000) {
    Func *f = pure("f0", 1, MLC_I32, ir_cast(I, MLC_I32, x));
    for (int k = 1; k < 2000; k++)
        f = pure("fk", 1, MLC_I32, ir_add(I, at1(f, ir_add(I, x, idx(1))), ir_int(I, MLC_I32, 1)));
    int32_t out[3];
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 3, 1);
    b.dim[0].min = -1;
    ck_assert_str_eq(run(f, &b), "");
    for (int i = 0; i < 3; i++) ck_assert_int_eq(out[i], i - 1 + 2 * 1999);
}
END_TEST

/* strides: reversed, interleaved, and a rank-0 output */
START_TEST(strides_and_rank_0) {
    float in[6] = { 1, 2, 3, 4, 5, 6 }, out[6] = { 0 }, one = 0;
    struct mlc_buffer bi = wrap(in + 5, MLC_F32, 1, 6, 1), bo = wrap(out, MLC_F32, 1, 3, 1), b1 = wrap(&one, MLC_F32, 0, 0, 0);
    bi.dim[0].stride = -1;
    bo.dim[0].stride = 2;
    Func *src = input("in", 1, &bi), *f = pure("f", 1, MLC_F32, at1(src, x));
    ck_assert_str_eq(run(f, &bo), "");
    const float want[6] = { 6, 0, 5, 0, 4, 0 };
    ck_assert_mem_eq(out, want, sizeof want);
    ck_assert_str_eq(run(pure("g", 0, MLC_F32, at1(src, idx(4))), &b1), "");
    ck_assert(one == 2);
}
END_TEST

START_TEST(empty_boxes_compute_nothing) {
    int32_t out[4] = { 9, 9, 9, 9 };
    struct mlc_buffer bi = wrap(out, MLC_I32, 1, 0, 1), bo = wrap(out, MLC_I32, 1, 0, 1);
    Func *src = input("in", 1, &bi), *f = pure("f", 1, MLC_I32, at1(src, ir_add(I, x, idx(99))));
    add_def(f, rdom(1, 3, 0), x, NULL, ir_add(I, at1(f, x), at1(src, x)));
    ck_assert_str_eq(run(f, &bo), "");
    ck_assert_int_eq(out[0], 9);
    /* an empty reduction leaves its start */
    Func *g = pure("g", 1, MLC_I32, ir_int(I, MLC_I32, 5));
    add_def(g, rdom(1, 0, 0), x, NULL, ir_add(I, at1(g, x), at1(src, x)));
    bo.dim[0].extent = 2;
    ck_assert_str_eq(run(g, &bo), "");
    ck_assert(out[0] == 5 && out[1] == 5 && out[2] == 9);
}
END_TEST

/* ---- updates ---- */

START_TEST(reduction_order_is_lexicographic) {
    /* f = f * 10 + k.x + 2 k.y: the digits tell the order */
    RDom *r = rdom(2, 2, 3);
    const Node *kx = ir_var(I, r->var[0]), *ky = ir_var(I, r->var[1]);
    Func *f = pure("f", 0, MLC_I32, ir_int(I, MLC_I32, 9));
    const Node *old = ir_access(I, f, MLC_I32, 0, 0, NULL);
    const Node *digit = ir_cast(I, MLC_I32, ir_add(I, kx, ir_mul(I, ky, idx(2))));
    add_def(f, r, NULL, NULL, ir_add(I, ir_mul(I, old, ir_int(I, MLC_I32, 10)), digit));
    int32_t out;
    struct mlc_buffer b = wrap(&out, MLC_I32, 0, 0, 0);
    ck_assert_str_eq(run(f, &b), "");
    ck_assert_int_eq(out, 9012345);
}
END_TEST

START_TEST(scan_sees_its_earlier_points) {
    /* fib(x) = 1; fib(k + 2) = fib(k) + fib(k + 1), asked for outside of what the update writes too */
    RDom *r = rdom(1, 10, 0);
    const Node *k = ir_var(I, r->var[0]);
    Func *f = pure("fib", 1, MLC_I64, ir_int(I, MLC_I64, 1));
    add_def(f, r, ir_add(I, k, idx(2)), NULL, ir_add(I, at1(f, k), at1(f, ir_add(I, k, idx(1)))));
    int64_t out[4];
    struct mlc_buffer b = wrap(out, MLC_I64, 1, 4, 1);
    b.dim[0].min = 9; /* 9 10 11 are written, 12 is not, 0..8 are needed though nobody asked */
    ck_assert_str_eq(run(f, &b), "output fib is written or read in dimension 0 from 0 to 12, but its buffer holds 9 to 12; "
                                 "bind a larger buffer");
    ck_assert_str_eq(run(pure("part", 1, MLC_I64, at1(f, x)), &b), "");
    const int64_t want[4] = { 55, 89, 144, 1 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

START_TEST(histogram_and_its_cumulation) {
    uint8_t in[13] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9 };
    struct mlc_buffer bi = wrap(in, MLC_U8, 1, 13, 1);
    Func *src = input("in", 1, &bi);
    RDom *r = rdom(1, 13, 0), *c = rdom(1, 9, 0);
    const Node *k = ir_var(I, r->var[0]), *j = ir_add(I, ir_var(I, c->var[0]), idx(1));
    Func *h = pure("h", 1, MLC_I32, ir_int(I, MLC_I32, 0));
    const Node *bin = ir_cast(I, MLC_INDEX, at1(src, k));
    add_def(h, r, bin, NULL, ir_add(I, at1(h, bin), ir_int(I, MLC_I32, 1)));
    Func *cum = pure("cum", 1, MLC_I32, at1(h, x));
    add_def(cum, c, j, NULL, ir_add(I, at1(cum, j), at1(cum, ir_sub(I, j, idx(1)))));
    int32_t out[10];
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 10, 1);
    ck_assert_str_eq(run(cum, &b), "");
    const int32_t want[10] = { 0, 2, 3, 5, 6, 9, 10, 10, 11, 13 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

START_TEST(where_excludes_reads) {
    /* sum over k <= x of in(x - k): no read below 0 happens */
    int32_t in[5] = { 1, 10, 100, 1000, 10000 }, out[5];
    struct mlc_buffer bi = wrap(in, MLC_I32, 1, 5, 1), bo = wrap(out, MLC_I32, 1, 5, 1);
    Func *src = input("in", 1, &bi), *via = pure("via", 1, MLC_I32, at1(src, x));
    RDom *r = rdom(1, 5, 0);
    const Node *k = ir_var(I, r->var[0]);
    where(r, ir_make2(I, OP_LE, k, x));
    Func *f = pure("f", 1, MLC_I32, ir_int(I, MLC_I32, 0));
    add_def(f, r, x, NULL, ir_add(I, at1(f, x), at1(via, ir_sub(I, x, k))));
    ck_assert_str_eq(run(f, &bo), "");
    const int32_t want[5] = { 1, 11, 111, 1111, 11111 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

/* computed exactly where it is read: the gap between the reads is not */
START_TEST(gaps_are_not_computed) {
    int32_t in[2] = { 7, 8 }, out[1];
    struct mlc_buffer bi = wrap(in, MLC_I32, 1, 2, 1), bo = wrap(out, MLC_I32, 1, 1, 1);
    Func *src = input("in", 1, &bi);
    Func *g = pure("g", 1, MLC_I32, at1(src, ir_make2(I, OP_MOD, x, idx(5))));
    Func *f = pure("f", 1, MLC_I32, ir_add(I, at1(g, x), at1(g, ir_add(I, x, idx(6)))));
    ck_assert_str_eq(run(f, &bo), "");
    ck_assert_int_eq(out[0], 15);
}
END_TEST

START_TEST(tuple_elements_are_stored_together) {
    /* (a, b) = (b, a) three times */
    Func *f = func("f", 1, MLC_I32);
    f->n = 2;
    f->type[1] = MLC_I32;
    Def *p = add_def(f, NULL, x, NULL, ir_int(I, MLC_I32, 1));
    p->value[1] = ir_cast(I, MLC_I32, x);
    const Node *a = ir_access(I, f, MLC_I32, 0, 1, &x), *b = ir_access(I, f, MLC_I32, 1, 1, &x);
    RDom *r = rdom(1, 3, 0);
    Def *u = add_def(f, r, x, NULL, b);
    u->value[1] = a;
    int32_t o0[3], o1[3];
    struct mlc_buffer b0 = wrap(o0, MLC_I32, 1, 3, 1), b1 = wrap(o1, MLC_I32, 1, 3, 1);
    struct mlc_buffer *out[2] = { &b0, &b1 };
    ck_assert_str_eq(run_all(2, &f, out), "");
    for (int i = 0; i < 3; i++) ck_assert(o0[i] == i && o1[i] == 1);
}
END_TEST

/* ---- gathers: indices that are values of Funcs ---- */

START_TEST(gathers_nest) {
    int32_t out[7];
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 7, 1);
    const Node *three = idx(3), *seven = idx(7);
    const Node *value = ir_cast(I, MLC_I32, ir_make2(I, OP_MOD, ir_mul(I, x, three), seven));
    Func *p = pure("p", 1, MLC_I32, value), *q = pure("q", 1, MLC_I32, at1(p, x));
    const Node *inner = ir_cast(I, MLC_INDEX, at1(p, ir_cast(I, MLC_INDEX, at1(q, x))));
    Func *f = pure("f", 1, MLC_I32, at1(p, inner));
    ck_assert_str_eq(run(f, &b), "");
    for (int i = 0; i < 7; i++) ck_assert_int_eq(out[i], i * 27 % 7);
}
END_TEST

/* an update whose place depends on its own earlier values: a list that is walked */
START_TEST(walk_through_own_values) {
    RDom *r = rdom(1, 20, 0);
    const Node *k = ir_var(I, r->var[0]);
    /* f(x) = x + 3; f(k + 1) = f(clamp(f(k) * 7 % 11)) + k */
    Func *f = pure("f", 1, MLC_I32, ir_cast(I, MLC_I32, ir_add(I, x, idx(3))));
    const Node *jump = ir_make2(I, OP_MOD, ir_mul(I, ir_cast(I, MLC_INDEX, at1(f, k)), idx(7)), idx(11));
    add_def(f, r, ir_add(I, k, idx(1)), NULL, ir_add(I, at1(f, clamped(jump, 0, 10)), ir_cast(I, MLC_I32, k)));
    int32_t out[21], want[21];
    for (int i = 0; i < 21; i++) want[i] = i + 3;
    for (int i = 0; i < 20; i++) want[i + 1] = want[want[i] * 7 % 11] + i;
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 21, 1);
    ck_assert_str_eq(run(f, &b), "");
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

/* minima move down, step by step, where the Func's own values say so */
START_TEST(conditions_on_own_values) {
    int32_t in[7] = { 5, 2, 6, 0, 3, 1, 4 }, out[7];
    struct mlc_buffer bi = wrap(in, MLC_I32, 1, 7, 1), bo = wrap(out, MLC_I32, 1, 7, 1);
    Func *src = input("in", 1, &bi), *f = func("f", 1, MLC_I32);
    f->arg[0] = x->u.sym;
    add_def(f, NULL, x, NULL, at1(src, x));
    RDom *r = rdom(2, 6, 7);
    const Node *k = ir_var(I, r->var[0]), *next = ir_add(I, k, idx(1));
    where(r, ir_make2(I, OP_LT, at1(f, next), at1(f, k)));
    add_def(f, r, k, NULL, at1(f, next));
    ck_assert_str_eq(run(f, &bo), "");
    int32_t want[7];
    memcpy(want, in, sizeof in);
    for (int j = 0; j < 7; j++)
        for (int i = 0; i < 6; i++)
            if (want[i + 1] < want[i]) want[i] = want[i + 1];
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

/* ---- params, sizes, effects, extern ---- */

static double scale3(float a, int8_t b, bool c) {
    return c ? (double)a * b : -1;
}

START_TEST(params_sizes_and_extern) {
    float in[4] = { 1, 2, 3, 4 };
    double out[4];
    struct mlc_buffer bi = wrap(in, MLC_F32, 1, 4, 1), bo = wrap(out, MLC_F64, 1, 4, 1);
    Func *src = input("in", 1, &bi);
    Sym p = { .name = "p", .kind = SYM_PARAM, .type = MLC_I8 };
    Sym w = { .name = "in.extent.0", .kind = SYM_EXTENT, .type = MLC_INDEX, .func = src };
    Extern ext = { .name = "scale3", .fn = (void (*)(void))scale3, .result = MLC_F64, .n = 3, .arg = { MLC_F32, MLC_I8, MLC_BOOL } };
    const Node *mirrored = ir_sub(I, ir_sub(I, ir_var(I, &w), idx(1)), x);
    const Node *kids[3] = { at1(src, mirrored), ir_var(I, &p), ir_make2(I, OP_LT, x, idx(3)) };
    Func *f = pure("f", 1, MLC_F64, ir_node(I, OP_EXTERN, MLC_F64, (uint64_t)(uintptr_t)&ext, 0, 3, kids));
    ck_assert_str_eq(run(f, &bo), "interpret: param p has no value; set one with mlc_param_set");
    pm_put(&C.param_value, &p, &(Value){ .i = -2 });
    ck_assert_str_eq(run(f, &bo), "");
    const double want[4] = { -8, -6, -4, -1 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

static void keep_line(void *user, const char *line) {
    (void)user;
    snprintf(logged, sizeof logged, "%s", line);
}

START_TEST(print_and_require) {
    int32_t out[3];
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 3, 1);
    C.log = keep_line;
    const Node *v = ir_cast(I, MLC_I32, x), *kids[2] = { v, ir_flt(I, MLC_F32, 0.5) };
    Func *f = pure("f", 1, MLC_I32, ir_node(I, OP_PRINT, MLC_I32, (uint64_t)(uintptr_t)ir_text(I, "at"), 0, 2, kids));
    ck_assert_str_eq(run(f, &b), "");
    ck_assert_str_eq(logged, "at 2 0.5");
    ck_assert_int_eq(out[2], 2);
    const Node *need[2] = { ir_make2(I, OP_LT, x, idx(2)), v };
    Func *g = pure("g", 1, MLC_I32, ir_node(I, OP_REQUIRE, MLC_I32, (uint64_t)(uintptr_t)ir_text(I, "x is small"), 0, 2, need));
    ck_assert_str_eq(run(g, &b), "t.c:7: interpret g: require failed: x is small");
    b.dim[0].extent = 2;
    ck_assert_str_eq(run(g, &b), "");
}
END_TEST

/* ---- undef, garbage, errors ---- */

START_TEST(undef_keeps_the_buffer) {
    int32_t out[4] = { 10, 20, 30, 40 };
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 4, 1);
    Func *f = pure("f", 1, MLC_I32, ir_node(I, OP_UNDEF, MLC_I32, 0, 0, 0, NULL));
    RDom *r = rdom(1, 2, 0);
    const Node *k = ir_var(I, r->var[0]);
    add_def(f, r, k, NULL, ir_add(I, at1(f, ir_add(I, k, idx(2))), ir_int(I, MLC_I32, 1)));
    ck_assert_str_eq(run(f, &b), "");
    const int32_t want[4] = { 31, 41, 30, 40 };
    ck_assert_mem_eq(out, want, sizeof want);
    b.dim[0].extent = 3; /* now f(3) is outside of what the buffer holds */
    ck_assert_str_eq(run(f, &b), "interpret f: f has no defined value at (1, 0 ..): it depends on undef; "
                                 "define every point that is used");
}
END_TEST

START_TEST(places_must_be_defined) {
    int32_t out[3] = { 1, 2, 0 };
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 3, 1);
    Func *f = pure("f", 1, MLC_I32, ir_node(I, OP_UNDEF, MLC_I32, 0, 0, 0, NULL));
    RDom *r = rdom(1, 4, 0);
    const Node *k = ir_var(I, r->var[0]), *place = clamped(ir_cast(I, MLC_INDEX, at1(f, k)), 0, 2);
    add_def(f, r, place, NULL, ir_cast(I, MLC_I32, k));
    ck_assert_str_eq(run(f, &b), "t.c:7: interpret f: the place of an update depends on undef; define every point "
                                 "that an index reads");
    r->extent[0] = idx(3); /* f(1) = 0, f(0) = 1, f(0) = 2 */
    ck_assert_str_eq(run(f, &b), "");
    const int32_t want[3] = { 2, 0, 0 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

START_TEST(reads_outside_of_inputs_are_errors) {
    int32_t in[6] = { 0 }, out[6];
    struct mlc_buffer bi = wrap(in, MLC_I32, 2, 3, 2), bo = wrap(out, MLC_I32, 2, 3, 2);
    bi.dim[1].min = 5;
    Func *src = input("in", 2, &bi), *f = pure("f", 2, MLC_I32, at2(src, x, ir_add(I, y, idx(6))));
    ck_assert_str_eq(run(f, &bo), "t.c:7: interpret f: reads in at 7 in dimension 1, which holds 5 to 6; clamp the "
                                  "index or bind a larger buffer, or give the input a boundary");
    src->bound = NULL;
    ck_assert_str_eq(run(f, &bo), "interpret in: input in has no buffer; bind one with mlc_bind");
}
END_TEST

/* select and && evaluate every operand, also the one that is not chosen */
START_TEST(select_reads_every_operand) {
    int32_t in[3] = { 1, 2, 3 }, out[3];
    struct mlc_buffer bi = wrap(in, MLC_I32, 1, 3, 1), bo = wrap(out, MLC_I32, 1, 3, 1);
    Func *src = input("in", 1, &bi), *via = pure("via", 1, MLC_I32, at1(src, x));
    for (int k = 0; k < 2; k++) {
        const Node *value = at1(k ? via : src, ir_sub(I, x, idx(1))), *inside = ir_make2(I, OP_LT, idx(0), x);
        Func *f = pure("f", 1, MLC_I32, ir_make3(I, OP_SELECT, inside, value, ir_int(I, MLC_I32, 0)));
        ck_assert_ptr_nonnull(strstr(run(f, &bo), "reads in at -1 in dimension 0, which holds 0 to 2"));
    }
}
END_TEST

START_TEST(endless_boxes_are_errors) {
    int32_t out[1];
    struct mlc_buffer b = wrap(out, MLC_I32, 1, 1, 1);
    Func *g = pure("g", 1, MLC_I32, ir_int(I, MLC_I32, 0));
    Func *f = pure("f", 1, MLC_I32, ir_add(I, at1(g, x), at1(g, ir_add(I, x, idx((int64_t)1 << 40)))));
    ck_assert_str_eq(run(f, &b), "interpret g: the box of g grows past what an interpreter can hold: dimension 0 has "
                                 "1099511627777 points; clamp its indices");
}
END_TEST

/* two outputs, one of which reads the other where its buffer has to reach */
START_TEST(outputs_read_each_other) {
    int32_t of[9], og[5];
    struct mlc_buffer bf = wrap(of, MLC_I32, 1, 9, 1), bg = wrap(og, MLC_I32, 1, 5, 1);
    bf.dim[0].min = -7;
    Func *f = pure("f", 1, MLC_I32, ir_cast(I, MLC_I32, ir_mul(I, x, x)));
    Func *g = pure("g", 1, MLC_I32, at1(f, ir_sub(I, x, idx(7))));
    Func *both[2] = { f, g };
    struct mlc_buffer *out[2] = { &bf, &bg };
    ck_assert_str_eq(run_all(2, both, out), "");
    ck_assert(of[8] == 1 && og[0] == 49 && og[4] == 9);
    bf.dim[0].min = -6;
    ck_assert_str_eq(run_all(2, both, out), "output f is written or read in dimension 0 from -7 to 2, but its buffer holds -6 to 2; "
                                            "bind a larger buffer");
}
END_TEST

Suite *interp_suite(void) {
    Suite *s = suite_create("interp");
    TCase *t = tcase_create("interp");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, stencil_chain);
    tcase_add_test(t, chain_of_2000);
    tcase_add_test(t, strides_and_rank_0);
    tcase_add_test(t, empty_boxes_compute_nothing);
    tcase_add_test(t, reduction_order_is_lexicographic);
    tcase_add_test(t, scan_sees_its_earlier_points);
    tcase_add_test(t, histogram_and_its_cumulation);
    tcase_add_test(t, where_excludes_reads);
    tcase_add_test(t, gaps_are_not_computed);
    tcase_add_test(t, tuple_elements_are_stored_together);
    tcase_add_test(t, gathers_nest);
    tcase_add_test(t, walk_through_own_values);
    tcase_add_test(t, conditions_on_own_values);
    tcase_add_test(t, params_sizes_and_extern);
    tcase_add_test(t, print_and_require);
    tcase_add_test(t, undef_keeps_the_buffer);
    tcase_add_test(t, places_must_be_defined);
    tcase_add_test(t, reads_outside_of_inputs_are_errors);
    tcase_add_test(t, select_reads_every_operand);
    tcase_add_test(t, endless_boxes_are_errors);
    tcase_add_test(t, outputs_read_each_other);
    suite_add_tcase(s, t);
    return s;
}
