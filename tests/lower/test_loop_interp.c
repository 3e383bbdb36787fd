/* test_loop_interp.c - the loop interpreter on statements built by hand: what it computes, and that it
 * catches what lowering may get wrong. */
#include "lower/loop_interp.h"

#include <check.h>
#include <string.h>

Suite *loop_interp_suite(void);

/* ---- building by hand ---- */

static Fault fault;
static Arena arena;
static Interner interner, *I = &interner;
static Program program;
static LoopStats stats;
static const mlc_scalar *params;

static void setup(void) {
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    ir_interner_init(I, &arena, NULL);
    program = (Program){ .name = "test", .arena = &arena, .ir = I };
    stats = (LoopStats){ .live = 0 };
    params = NULL;
}

static void teardown(void) {
    arena_free(&arena);
}

static const Node *idx(int64_t v) {
    return ir_idx(I, v);
}

static Func *func(const char *name, int rank) {
    Func *f = ARENA_NEW(&arena, Func);
    *f = (Func){ .name = name, .rank = rank, .n = 1, .type = { MLC_I32 } };
    Def *d = ARENA_NEW(&arena, Def);
    *d = (Def){ .rank = rank, .n = 1, .value = { ir_int(I, MLC_I32, 0) } };
    VEC_PUSH(&arena, &f->def, d);
    return f;
}

static Storage *storage(Func *f, int64_t extent, int64_t fold) {
    Storage *s = ARENA_NEW(&arena, Storage);
    *s = (Storage){ .func = f, .name = f->name, .rank = f->rank, .n = f->n, .type = { MLC_I32 } };
    if (f->rank) s->min[0] = idx(0), s->extent[0] = idx(extent), s->fold[0] = fold;
    return s;
}

static Func *external(const char *name, int rank, bool is_input) {
    Func *f = func(name, rank);
    Storage *s = storage(f, 0, 0);
    f->is_input = s->is_input = is_input;
    s->is_output = !is_input;
    s->slot = program.external.n;
    VEC_PUSH(&arena, &program.external, s);
    return f;
}

static const Sym *loop(const char *name) {
    Sym *s = ARENA_NEW(&arena, Sym);
    *s = (Sym){ .name = name, .kind = SYM_LOOP, .type = MLC_INDEX };
    return s;
}

static const Node *at(Func *f, const Node *i) {
    return ir_access(I, f, MLC_I32, 0, 1, &i);
}

static Stmt *make(StmtKind kind) {
    Stmt *s = ARENA_NEW(&arena, Stmt);
    s->kind = kind;
    return s;
}

static Stmt *set(Func *f, const Node *i, const Node *value) {
    Stmt *s = make(ST_STORE);
    s->u.store.func = f;
    s->u.store.rank = 1;
    s->u.store.n = 1;
    s->u.store.coord[0] = i;
    s->u.store.value[0] = value;
    return s;
}

static Stmt *loop_over(const Sym *v, LoopKind kind, const Node *n, Stmt *body) {
    Stmt *s = make(ST_FOR);
    s->u.loop.var = v;
    s->u.loop.kind = kind;
    s->u.loop.min = idx(0);
    s->u.loop.extent = n;
    s->u.loop.body = body;
    return s;
}

static Stmt *two(Stmt *a, Stmt *b) {
    Stmt *s = make(ST_BLOCK);
    s->u.block.n = 2;
    s->u.block.at = ARENA_ARRAY(&arena, Stmt *, 2);
    s->u.block.at[0] = a;
    s->u.block.at[1] = b;
    return s;
}

static Stmt *alloc(Storage *t, Stmt *body) {
    Stmt *s = make(ST_ALLOC);
    s->u.alloc.storage = t;
    s->u.alloc.body = body;
    return s;
}

static Stmt *produce(Func *f, int stage, Stmt *body) {
    Stmt *s = make(ST_PRODUCE);
    s->u.produce.func = f;
    s->u.produce.stage = stage;
    s->u.produce.body = body;
    return s;
}

static const Node *num(const Node *index) {
    return ir_cast(I, MLC_I32, index);
}

static struct mlc_buffer wrap(int32_t *data, int64_t n) {
    return (struct mlc_buffer){ .data = data, .type = MLC_I32, .rank = 1, .dim = { { 0, n, 1 } } };
}

/* Runs over one output (and one input before it, if in is not NULL); "" or the message. */
static const char *run(Stmt *body, struct mlc_buffer *in, struct mlc_buffer *out, uint64_t seed) {
    struct mlc_buffer *all[2] = { in ? in : out, out };
    Barrier b;
    program.body = body;
    memset(&fault.info, 0, sizeof fault.info);
    if (FAULT_TRY(&fault, b)) {
        low_interpret_counted(&arena, &program, all, params, seed, &stats);
        FAULT_END(&fault, b);
    }
    return fault.info.message;
}

/* ---- what it computes ---- */

START_TEST(every_loop_kind_covers_its_range) {
    int32_t out[13] = { 0 };
    struct mlc_buffer b = wrap(out, 13);
    Func *f = external("f", 1, false);
    const Sym *v = loop("f.x");
    const Node *x = ir_var(I, v);
    Stmt *s = loop_over(v, (LoopKind)(_i % 4), idx(13), set(f, x, num(ir_mul(I, x, x))));
    for (uint64_t seed = 0; seed < 5; seed++) {
        memset(out, 0, sizeof out);
        ck_assert_str_eq(run(s, NULL, &b, seed), "");
        for (int i = 0; i < 13; i++) ck_assert_int_eq(out[i], i * i);
    }
    ck_assert_int_eq(low_stores(&stats, f, 0), 65);
    ck_assert_str_eq(run(loop_over(v, (LoopKind)(_i % 4), idx(-3), set(f, x, num(x))), NULL, &b, 0),
                     "f was given no value at (0, 0 ..); define every point that is used");
}
END_TEST

/* the order of a parallel loop is the seed's: a dependence between iterations shows */
START_TEST(parallel_order_varies) {
    int32_t out[1], different = 0;
    struct mlc_buffer b = wrap(out, 1);
    Func *f = external("f", 1, false);
    const Sym *v = loop("f.x");
    Stmt *s = loop_over(v, LOOP_PARALLEL, idx(11), set(f, idx(0), num(ir_var(I, v))));
    for (uint64_t seed = 0; seed < 20; seed++) {
        ck_assert_str_eq(run(s, NULL, &b, seed), "");
        different += out[0] != 10;
    }
    ck_assert_int_gt(different, 5);
}
END_TEST

/* a leaf runs for all lanes before the next: lane i sees in g what lane i + 1 stored */
START_TEST(lanes_run_leaf_by_leaf) {
    int32_t out[4];
    struct mlc_buffer b = wrap(out, 4);
    Func *f = external("f", 1, false), *g = func("g", 1);
    const Sym *v = loop("f.x");
    const Node *x = ir_var(I, v), *other = ir_make2(I, OP_MOD, ir_add(I, x, idx(1)), idx(4));
    Stmt *body = two(set(g, x, num(ir_mul(I, x, idx(10)))), set(f, x, at(g, other)));
    ck_assert_str_eq(run(alloc(storage(g, 4, 0), loop_over(v, LOOP_VECTOR, idx(4), body)), NULL, &b, 1), "");
    const int32_t want[4] = { 10, 20, 30, 0 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

/* all lanes compute before any stores: a shift by one moves old values */
START_TEST(lanes_read_before_they_store) {
    int32_t in[5] = { 1, 2, 3, 4, 5 }, out[5];
    struct mlc_buffer bi = wrap(in, 5), bo = wrap(out, 5);
    Func *src = external("in", 1, true), *f = external("f", 1, false);
    const Sym *v = loop("f.x"), *w = loop("f.w");
    const Node *x = ir_var(I, v), *z = ir_var(I, w);
    Stmt *copy = loop_over(w, LOOP_SERIAL, idx(5), set(f, z, at(src, z)));
    Stmt *shift = loop_over(v, LOOP_VECTOR, idx(4), set(f, ir_add(I, x, idx(1)), at(f, x)));
    ck_assert_str_eq(run(two(copy, shift), &bi, &bo, 1), "");
    const int32_t want[5] = { 1, 1, 2, 3, 4 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

/* ifs and serial loops inside of vector loops go their own way in each lane */
START_TEST(lanes_diverge) {
    int32_t out[5];
    struct mlc_buffer b = wrap(out, 5);
    Func *f = external("f", 1, false);
    const Sym *v = loop("f.x"), *w = loop("f.k");
    const Node *x = ir_var(I, v), *k = ir_var(I, w);
    Stmt *start = set(f, x, ir_int(I, MLC_I32, 0));
    Stmt *sum = loop_over(w, LOOP_SERIAL, x, set(f, x, ir_add(I, at(f, x), num(k)))); /* extent x: 0, 1, 3, 6 */
    Stmt *branch = make(ST_IF);
    branch->u.cond.cond = ir_make2(I, OP_LT, x, idx(2));
    branch->u.cond.yes = set(f, x, ir_int(I, MLC_I32, -7));
    branch->u.cond.no = sum;
    ck_assert_str_eq(run(loop_over(v, LOOP_VECTOR, idx(5), two(start, branch)), NULL, &b, 1), "");
    const int32_t want[5] = { -7, -7, 1, 3, 6 };
    ck_assert_mem_eq(out, want, sizeof want);
}
END_TEST

/* an allocation inside of a vector loop is each lane's own, and memory is counted */
START_TEST(allocations_are_counted) {
    int32_t out[3];
    struct mlc_buffer b = wrap(out, 3);
    Func *f = external("f", 1, false), *g = func("g", 1);
    Storage *t = storage(g, 2, 0);
    const Sym *v = loop("f.x");
    const Node *x = ir_var(I, v);
    Stmt *body = two(produce(g, 1, set(g, idx(1), num(x))), set(f, x, at(g, idx(1))));
    ck_assert_str_eq(run(loop_over(v, LOOP_VECTOR, idx(3), alloc(t, body)), NULL, &b, 1), "");
    ck_assert(out[0] == 0 && out[1] == 1 && out[2] == 2);
    ck_assert(stats.live == 0 && stats.peak == 24 && stats.alloc.n == 1);
    ck_assert(stats.alloc.at[0].times == 3 && stats.alloc.at[0].peak == 8);
    ck_assert(low_stores(&stats, g, 1) == 3 && low_stores(&stats, g, 0) == 0 && low_stores(&stats, f, 0) == 3);
    stats = (LoopStats){ .live = 0 };
    ck_assert_str_eq(run(loop_over(v, LOOP_SERIAL, idx(3), alloc(t, body)), NULL, &b, 1), "");
    ck_assert(stats.peak == 8);
}
END_TEST

/* after flatten: loads and stores of one element index, min taken off */
START_TEST(flat_programs) {
    int32_t in[3] = { 5, 6, 7 }, out[3];
    struct mlc_buffer bi = wrap(in + 2, 3), bo = wrap(out, 3);
    bi.dim[0].stride = -1;
    bo.dim[0].min = 40;
    external("in", 1, true);
    Func *f = external("f", 1, false);
    Storage *si = program.external.at[0], *so = program.external.at[1];
    program.flat = true;
    const Sym *v = loop("f.x");
    const Node *x = ir_var(I, v), *down = ir_sub(I, idx(0), x);
    Stmt *s = set(f, x, ir_node(I, OP_LOAD, MLC_I32, (uint64_t)(uintptr_t)si, 0, 1, &down));
    s->u.store.storage = so;
    ck_assert_str_eq(run(loop_over(v, LOOP_SERIAL, idx(3), s), &bi, &bo, 1), "");
    const int32_t want[3] = { 7, 6, 5 };
    ck_assert_mem_eq(out, want, sizeof want);
    s->u.store.coord[0] = ir_min(I, x, idx(2));
    ck_assert_str_eq(run(loop_over(v, LOOP_SERIAL, idx(4), s), &bi, &bo, 1),
                     "in is accessed at element -3, but holds -2 to 0; run it before flatten to see the indices");
}
END_TEST

START_TEST(params_come_by_slot) {
    int32_t out[3];
    struct mlc_buffer b = wrap(out, 3);
    Func *f = external("f", 1, false);
    Sym p = { .name = "p", .kind = SYM_PARAM, .type = MLC_F32, .slot = 1 };
    const mlc_scalar given[2] = { { .i = 7 }, { .f = -2.5 } };
    const Sym *v = loop("f.x");
    const Node *x = ir_var(I, v), *value = ir_mul(I, ir_var(I, &p), ir_cast(I, MLC_F32, x));
    VEC_PUSH(&arena, &program.param, &p);
    params = given;
    ck_assert_str_eq(run(loop_over(v, LOOP_SERIAL, idx(3), set(f, x, ir_cast(I, MLC_I32, value))), NULL, &b, 1), "");
    ck_assert(out[0] == 0 && out[1] == -2 && out[2] == -5);
}
END_TEST

/* ---- what it catches ---- */

START_TEST(bounds_are_checked) {
    int32_t out[4];
    struct mlc_buffer b = wrap(out, 4);
    Func *f = external("f", 1, false);
    const Sym *v = loop("f.x");
    const Node *x = ir_var(I, v);
    ck_assert_str_eq(run(loop_over(v, LOOP_SERIAL, idx(5), set(f, x, num(x))), NULL, &b, 1),
                     "f is accessed at 4 in dimension 0, which holds 0 to 3; clamp the index or bind a larger buffer, or give the input a boundary");
}
END_TEST

/* garbage may be computed, but may not reach a result or decide a loop */
START_TEST(garbage_is_tracked) {
    int32_t out[3];
    struct mlc_buffer b = wrap(out, 3);
    Func *f = external("f", 1, false), *g = func("g", 1);
    Storage *t = storage(g, 3, 0);
    const Sym *v = loop("f.x"), *w = loop("g.x");
    const Node *x = ir_var(I, v), *z = ir_var(I, w), *two_points = idx(2);
    Stmt *fill = loop_over(w, LOOP_SERIAL, two_points, set(g, z, num(z)));
    Stmt *ok = set(f, x, at(g, ir_min(I, x, idx(1)))), *bad = set(f, x, at(g, x));
    const Node *chosen = ir_make3(I, OP_SELECT, ir_make2(I, OP_LT, x, idx(2)), at(g, x), ir_int(I, MLC_I32, 4));
    ck_assert_str_eq(run(alloc(t, two(fill, loop_over(v, LOOP_SERIAL, idx(3), ok))), NULL, &b, 1), "");
    ck_assert_str_eq(run(alloc(t, two(fill, loop_over(v, LOOP_SERIAL, idx(3), set(f, x, chosen)))), NULL, &b, 1), "");
    ck_assert_str_eq(run(alloc(t, two(fill, loop_over(v, LOOP_SERIAL, idx(3), bad))), NULL, &b, 1),
                     "f was given no value at (2, 0 ..); define every point that is used");
    const Node *unknown = ir_cast(I, MLC_INDEX, at(g, idx(2)));
    ck_assert_str_eq(run(alloc(t, loop_over(v, LOOP_SERIAL, unknown, set(f, x, num(x)))), NULL, &b, 1),
                     "the extent of a loop depends on memory that was never stored; define every point that is used");
}
END_TEST

/* a circular buffer that is too small hands out another point */
START_TEST(folding_is_checked) {
    int32_t out[7];
    struct mlc_buffer b = wrap(out, 7);
    Func *f = external("f", 1, false), *g = func("g", 1);
    const Sym *v = loop("f.x");
    const Node *x = ir_var(I, v), *last = ir_max(I, ir_sub(I, x, idx(2)), idx(0));
    Stmt *body = two(set(g, x, num(x)), set(f, x, ir_add(I, at(g, x), at(g, last))));
    ck_assert_str_eq(run(alloc(storage(g, 7, 3), loop_over(v, LOOP_SERIAL, idx(7), body)), NULL, &b, 1), "");
    for (int i = 0; i < 7; i++) ck_assert_int_eq(out[i], i + (i > 2 ? i - 2 : 0));
    ck_assert_int_eq(stats.peak, 12);
    ck_assert_str_eq(run(alloc(storage(g, 7, 2), loop_over(v, LOOP_SERIAL, idx(7), body)), NULL, &b, 1),
                     "g is read at 0 in dimension 0, but its 2 slots hold 2 there by now; fold by more");
}
END_TEST

START_TEST(checks_end_the_run) {
    int32_t out[1];
    struct mlc_buffer b = wrap(out, 1);
    Func *f = external("f", 1, false);
    Sym width = { .name = "f.extent.0", .kind = SYM_EXTENT, .type = MLC_INDEX, .func = f };
    Stmt *s = make(ST_CHECK);
    s->u.check.cond = ir_make2(I, OP_LT, idx(8), ir_var(I, &width));
    s->u.check.code = ERR_LOOPS_BOUNDS;
    s->u.check.text[0] = "f";
    s->u.check.n = 4;
    for (int i = 0; i < 4; i++) s->u.check.arg[i] = ir_add(I, ir_var(I, &width), idx(i));
    ck_assert_str_eq(run(s, NULL, &b, 1),
                     "f is accessed at 1 in dimension 2, which holds 3 to 4; clamp the index or bind a larger buffer, or give the input a boundary");
    ck_assert_int_eq(fault.info.code, ERR_LOOPS_BOUNDS);
}
END_TEST

Suite *loop_interp_suite(void) {
    Suite *s = suite_create("loop interpreter");
    TCase *t = tcase_create("loop interpreter");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, every_loop_kind_covers_its_range, 0, 4);
    tcase_add_test(t, parallel_order_varies);
    tcase_add_test(t, lanes_run_leaf_by_leaf);
    tcase_add_test(t, lanes_read_before_they_store);
    tcase_add_test(t, lanes_diverge);
    tcase_add_test(t, allocations_are_counted);
    tcase_add_test(t, flat_programs);
    tcase_add_test(t, params_come_by_slot);
    tcase_add_test(t, bounds_are_checked);
    tcase_add_test(t, garbage_is_tracked);
    tcase_add_test(t, folding_is_checked);
    tcase_add_test(t, checks_end_the_run);
    suite_add_tcase(s, t);
    return s;
}
