/* test_partition.c - partitioned loops compute what the whole loops did, for every size, and what is
 * only needed at the borders is gone from the steady state. */
#include "lower/loop_interp.h"
#include "lower/passes.h"

#include <check.h>
#include <string.h>

Suite *partition_suite(void);

enum { MAX_W = 23, MAX_H = 7 };

static Fault fault;
static Arena arena;
static Interner interner, *I = &interner;
static Program program;
static Func *in, *out;
static const Node *W, *H; /* extents of out; `in` has the same */

static Func *external(const char *name, bool is_input) {
    Func *f = ARENA_NEW(&arena, Func);
    *f = (Func){ .name = name, .rank = 2, .n = 1, .type = { MLC_I32 }, .is_input = is_input };
    Storage *s = ARENA_NEW(&arena, Storage);
    *s = (Storage){ .func = f, .name = name, .rank = 2, .n = 1, .type = { MLC_I32 }, .is_input = is_input,
                    .is_output = !is_input, .slot = program.external.n };
    for (int d = 0; d < 2; d++) s->min[d] = ir_idx(I, 0), s->extent[d] = ir_idx(I, 1);
    Def *def = ARENA_NEW(&arena, Def);
    *def = (Def){ .rank = 2, .n = 1, .value = { ir_int(I, MLC_I32, 0) } };
    VEC_PUSH(&arena, &f->def, def);
    VEC_PUSH(&arena, &program.external, s);
    return f;
}

static const Node *extent(Func *f, int d) {
    Sym *s = ARENA_NEW(&arena, Sym);
    *s = (Sym){ .name = d ? "out.h" : "out.w", .kind = SYM_EXTENT, .type = MLC_INDEX, .dim = d, .func = f };
    return ir_var(I, s);
}

static void setup(void) {
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    ir_interner_init(I, &arena, NULL);
    program = (Program){ .name = "test", .arena = &arena, .ir = I };
    in = external("in", true);
    out = external("out", false);
    W = extent(out, 0);
    H = extent(out, 1);
}

static void teardown(void) {
    arena_free(&arena);
}

/* ---- building ---- */

static const Node *idx(int64_t v) { return ir_idx(I, v); }
static const Node *num(int64_t v) { return ir_int(I, MLC_I32, v); }
static const Node *likely(const Node *e) { return ir_make1(I, OP_LIKELY, e); }
static const Node *le(const Node *a, const Node *b) { return ir_make2(I, OP_LE, a, b); }
static const Node *lt(const Node *a, const Node *b) { return ir_make2(I, OP_LT, a, b); }
static const Node *also(const Node *a, const Node *b) { return ir_make2(I, OP_LAND, a, b); }

static const Node *clamp(const Node *x, const Node *n) { /* min(max(likely(x), 0), n - 1) */
    return ir_min(I, ir_max(I, likely(x), idx(0)), ir_sub(I, n, idx(1)));
}

static const Node *plain(const Node *x, const Node *n) {
    return ir_min(I, ir_max(I, x, idx(0)), ir_sub(I, n, idx(1)));
}

static const Node *read(const Node *x, const Node *y) {
    const Node *c[2] = { x, y };
    return ir_access(I, in, MLC_I32, 0, 2, c);
}

static Stmt *set(const Node *x, const Node *y, const Node *v) {
    const Node *c[2] = { x, y };
    return st_store(&arena, out, 2, c, 1, &v);
}

static const Sym *variable(const char *name) {
    Sym *s = ARENA_NEW(&arena, Sym);
    *s = (Sym){ .name = name, .kind = SYM_LOOP, .type = MLC_INDEX };
    return s;
}

static Stmt *guard(const Node *cond, Stmt *s) {
    Stmt *g = st_if(&arena, cond, s, NULL);
    g->u.cond.likely = true;
    return g;
}

typedef struct {
    const Sym *v[4];
    const Node *x, *y; /* the point */
    LoopKind outer;
} Nest;

/* ---- the programs ---- */

/* Nine points around (x, y), edges repeated. */
static const Node *stencil(const Nest *n) {
    const Node *sum = num(0);
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -2; dx <= 1; dx++) {
            const Node *v = read(clamp(ir_add(I, n->x, idx(dx)), W), clamp(ir_add(I, n->y, idx(dy)), H));
            sum = ir_add(I, ir_mul(I, sum, num(3)), v);
        }
    return sum;
}

/* Minus one outside, by a likely condition ... */
static const Node *exterior(const Nest *n) {
    const Node *x = ir_sub(I, n->x, idx(3)), *inside = also(le(idx(0), x), lt(x, ir_sub(I, W, idx(1))));
    return ir_make3(I, OP_SELECT, likely(inside), read(plain(x, W), n->y), num(-1));
}

/* ... and by a likely value under the opposite condition. */
static const Node *exterior_value(const Nest *n) {
    const Node *x = ir_add(I, n->x, idx(2));
    const Node *outside = ir_make2(I, OP_LOR, lt(x, idx(4)), le(W, x));
    return ir_make3(I, OP_SELECT, outside, num(-1), likely(read(plain(x, W), n->y)));
}

/* Edges repeated in blocks of two, read through a division. */
static const Node *halved(const Nest *n) {
    const Node *half = ir_make2(I, OP_DIV, n->x, idx(2));
    return read(ir_min(I, ir_max(I, likely(ir_sub(I, half, idx(1))), idx(0)), ir_sub(I, W, idx(1))), n->y);
}

/* Wrapped around: the likely side needs no remainder. */
static const Node *wrapped(const Nest *n) {
    const Node *x = ir_add(I, n->x, idx(2)), *inside = lt(x, W);
    return read(ir_make3(I, OP_SELECT, likely(inside), x, ir_make2(I, OP_MOD, x, W)), n->y);
}

static const Node *(*const values[])(const Nest *) = { stencil, exterior, exterior_value, halved, wrapped };
enum { VALUES = (int)(sizeof values / sizeof *values), NESTS = 5 };

static Stmt *loop(const Sym *v, LoopKind kind, const Node *n, Stmt *body) {
    return st_for(&arena, v, kind, idx(0), n, body);
}

/* Five ways to run over all points: whole; x split by a vector with a guard; the same with parallel rows;
 * rows split too, both guards in one condition; x outside of y. */
static Stmt *program_of(int nest, int value) {
    static const char *const name[] = { "x", "xi", "y", "yi" };
    Nest n = { .outer = nest == 2 ? LOOP_PARALLEL : LOOP_SERIAL };
    for (int i = 0; i < 4; i++) n.v[i] = variable(name[i]);
    const Node *x = ir_var(I, n.v[0]), *xi = ir_var(I, n.v[1]), *y = ir_var(I, n.v[2]), *yi = ir_var(I, n.v[3]);
    bool split = nest >= 1 && nest <= 3;
    n.x = split ? ir_add(I, ir_mul(I, x, idx(4)), xi) : x;
    n.y = nest == 3 ? ir_add(I, ir_mul(I, y, idx(2)), yi) : y;
    Stmt *s = set(n.x, n.y, values[value](&n));
    const Node *fits = lt(n.x, W);
    if (nest == 3) fits = also(fits, lt(n.y, H));
    if (split) s = loop(n.v[1], LOOP_VECTOR, idx(4), guard(fits, s));
    const Node *tiles = split ? ir_make2(I, OP_DIV, ir_add(I, W, idx(3)), idx(4)) : W;
    if (nest == 3) s = loop(n.v[3], LOOP_SERIAL, idx(2), s);
    if (nest == 4) return loop(n.v[0], LOOP_SERIAL, tiles, loop(n.v[2], LOOP_SERIAL, H, s));
    const Node *rows = nest == 3 ? ir_make2(I, OP_DIV, ir_add(I, H, idx(1)), idx(2)) : H;
    return loop(n.v[2], n.outer, rows, loop(n.v[0], LOOP_SERIAL, tiles, s));
}

/* ---- running ---- */

static const char *run(Stmt *body, int w, int h, int32_t *to) {
    static int32_t from[MAX_W * MAX_H];
    for (int i = 0; i < MAX_W * MAX_H; i++) from[i] = i * i % 89 - 40;
    memset(to, 0, sizeof from);
    struct mlc_buffer a = { .data = from, .type = MLC_I32, .rank = 2, .dim = { { 0, w, 1 }, { 0, h, MAX_W } } };
    struct mlc_buffer b = { .data = to, .type = MLC_I32, .rank = 2, .dim = { { 0, w, 1 }, { 0, h, MAX_W } } };
    struct mlc_buffer *all[2] = { &a, &b };
    Barrier barrier;
    program.body = body;
    memset(&fault.info, 0, sizeof fault.info);
    if (FAULT_TRY(&fault, barrier)) {
        low_interpret(&arena, &program, all, NULL, 5);
        FAULT_END(&fault, barrier);
    }
    return fault.info.message;
}

static Stmt *simplified(Stmt *s) {
    return low_simplify(&arena, I, s, false);
}

static Stmt *passed(Stmt *s) {
    Stmt *volatile now = NULL;
    Barrier b;
    if (FAULT_TRY(&fault, b)) {
        now = simplified(low_partition(&arena, I, NULL, simplified(s)));
        FAULT_END(&fault, b);
    }
    ck_assert_str_eq(fault.info.message, "");
    return now;
}

START_TEST(equal_for_every_size) {
    int32_t want[MAX_W * MAX_H], have[MAX_W * MAX_H];
    Stmt *s = program_of(_i / VALUES, _i % VALUES), *cut = passed(s);
    for (int w = 0; w <= MAX_W; w += w < 13 ? 1 : 5)
        for (int h = 0; h <= MAX_H; h += h < 3 ? 1 : 4) {
            ck_assert_str_eq(run(s, w, h, want), "");
            ck_assert_str_eq(run(cut, w, h, have), "");
            ck_assert_msg(!memcmp(want, have, sizeof want), "nest %d, value %d differ at %d x %d", _i / VALUES,
                          _i % VALUES, w, h);
        }
}
END_TEST

/* ---- structure ---- */

typedef struct {
    int stores;  /* copies of the store */
    int clean;   /* of these, without a condition left in or around them; a prologue may be too */
    int likely;
} Shape;

static void look(void *user, const Node *e) {
    int *found = user;
    if (e->op == OP_LIKELY) found[1]++;
    found[0] += e->op == OP_MIN || e->op == OP_MAX || e->op == OP_SELECT || e->op == OP_MOD;
}

static void walk(const Stmt *s, bool guarded, Shape *shape) {
    if (!s) return;
    int found[2] = { 0, 0 };
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) walk(s->u.block.at[i], guarded, shape);
        break;
    case ST_FOR: walk(s->u.loop.body, guarded, shape); break;
    case ST_LET: walk(s->u.let.body, guarded, shape); break;
    case ST_IF: /* the choice between bodies of a parallel loop has two sides */
        walk(s->u.cond.yes, guarded || !s->u.cond.no, shape);
        walk(s->u.cond.no, true, shape);
        break;
    case ST_STORE:
        ir_visit(&arena, s->u.store.value[0], look, found);
        shape->stores++;
        shape->clean += !found[0] && !guarded;
        shape->likely += found[1];
        break;
    default: break;
    }
}

START_TEST(steady_state_is_clean) {
    Shape shape = { 0, 0, 0 };
    walk(passed(program_of(_i / VALUES, _i % VALUES)), false, &shape);
    ck_assert_int_eq(shape.likely, 0);
    ck_assert_msg(shape.clean >= 1, "nest %d, value %d: %d of %d copies are clean", _i / VALUES, _i % VALUES,
                  shape.clean, shape.stores);
    ck_assert_int_le(shape.stores, 7);
}
END_TEST

/* Nothing is copied where nothing is likely, or where no interval solves it. */
START_TEST(left_alone) {
    const Sym *v = variable("x"), *w = variable("y");
    const Node *x = ir_var(I, v), *y = ir_var(I, w);
    const Node *odd = ir_make2(I, OP_EQ, ir_make2(I, OP_MOD, x, idx(2)), idx(1));
    const Node *value[] = { read(plain(x, W), y), ir_make3(I, OP_SELECT, likely(odd), read(x, y), num(0)) };
    for (int i = 0; i < 2; i++) {
        Shape shape = { 0, 0, 0 };
        Stmt *s = loop(w, LOOP_SERIAL, H, loop(v, LOOP_SERIAL, W, set(x, y, value[i])));
        walk(passed(s), false, &shape);
        ck_assert_int_eq(shape.stores, 1);
    }
}
END_TEST

/* A condition that a long loop or much code hangs on is asked once for all of it: it stays.  One around a short
 * loop goes. */
static const struct { int64_t length; LoopKind kind; bool in_bounds; int clean; } whole_loops[] = {
    { 0, LOOP_SERIAL, false, 0 }, { 0, LOOP_SERIAL, true, 1 },   { 4, LOOP_SERIAL, false, 1 },
    { 40, LOOP_SERIAL, false, 0 }, { 4, LOOP_UNROLL, false, 1 }, { 20, LOOP_UNROLL, false, 0 },
};

START_TEST(conditions_of_whole_loops_cut_nothing) {
    const Sym *v = variable("x"), *w = variable("y"), *u = variable("z");
    const Node *x = ir_var(I, v), *y = ir_var(I, w);
    Shape shape = { 0, 0, 0 };
    int32_t want[MAX_W * MAX_H], have[MAX_W * MAX_H];
    Stmt *s = loop(v, whole_loops[_i].kind, whole_loops[_i].length ? idx(whole_loops[_i].length) : W, set(x, y, num(3)));
    const Node *inside = lt(ir_add(I, y, idx(1)), H);
    if (whole_loops[_i].in_bounds) s = loop(u, LOOP_SERIAL, ir_make3(I, OP_SELECT, likely(inside), idx(2), idx(1)), s);
    else s = guard(inside, s);
    s = loop(w, LOOP_SERIAL, H, s);
    Stmt *cut = passed(s);
    walk(cut, false, &shape);
    ck_assert_int_eq(shape.stores, 1);
    ck_assert_int_eq(shape.clean, whole_loops[_i].clean);
    if (!whole_loops[_i].in_bounds) return; /* the others leave rows without a value */
    ck_assert_str_eq(run(s, MAX_W, MAX_H, want), "");
    ck_assert_str_eq(run(cut, MAX_W, MAX_H, have), "");
    ck_assert_mem_eq(want, have, sizeof want);
}
END_TEST

/* Inside a vector loop the ends would differ from lane to lane. */
START_TEST(loops_inside_vectors_stay_whole) {
    int32_t want[MAX_W * MAX_H], have[MAX_W * MAX_H];
    const Sym *v = variable("x"), *w = variable("y");
    const Node *x = ir_var(I, v), *y = ir_var(I, w);
    Stmt *s = loop(w, LOOP_VECTOR, idx(4), loop(v, LOOP_SERIAL, W, set(x, y, read(clamp(ir_sub(I, x, y), W), y))));
    Shape shape = { 0, 0, 0 };
    Stmt *cut = passed(s);
    walk(cut, false, &shape);
    ck_assert_int_eq(shape.stores, 1);
    ck_assert_str_eq(run(s, 11, 4, want), "");
    ck_assert_str_eq(run(cut, 11, 4, have), "");
    ck_assert_mem_eq(want, have, sizeof want);
}
END_TEST

/* Dead loops and ifs go, one iteration becomes a let, checks are relied on. */
START_TEST(statements_simplify) {
    const Sym *v = variable("x"), *w = variable("y");
    const Node *x = ir_var(I, v), *y = ir_var(I, w);
    ck_assert_ptr_null(simplified(loop(v, LOOP_SERIAL, idx(0), set(x, x, num(1)))));
    ck_assert_ptr_null(simplified(st_if(&arena, lt(W, W), set(idx(0), idx(0), num(1)), NULL)));
    Stmt *one = simplified(loop(v, LOOP_VECTOR, idx(1), set(x, idx(0), ir_cast(I, MLC_I32, x))));
    ck_assert_int_eq(one->kind, ST_STORE);
    ck_assert(ir_is(one->u.store.coord[0], 0));
    Stmt *guarded = guard(lt(y, idx(9)), set(x, y, num(2)));
    Stmt *s = simplified(loop(v, LOOP_SERIAL, W, loop(w, LOOP_SERIAL, idx(9), guarded)));
    ck_assert_int_eq(s->u.loop.body->u.loop.body->kind, ST_STORE);
    Stmt *check = ARENA_NEW(&arena, Stmt);
    *check = (Stmt){ .kind = ST_CHECK };
    check->u.check.cond = le(idx(8), W);
    check->u.check.code = ERR_INTERNAL;
    Stmt *two[2] = { check, st_if(&arena, lt(W, idx(5)), set(idx(0), idx(0), num(1)), set(idx(1), idx(0), num(2))) };
    s = simplified(st_block(&arena, 2, two));
    ck_assert_int_eq(s->u.block.at[1]->kind, ST_STORE);
    ck_assert(ir_is(s->u.block.at[1]->u.store.coord[0], 1));
}
END_TEST

Suite *partition_suite(void) {
    Suite *s = suite_create("partition");
    TCase *c = tcase_create("loops");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, equal_for_every_size, 0, NESTS * VALUES);
    tcase_add_loop_test(c, steady_state_is_clean, 0, NESTS * VALUES);
    tcase_add_test(c, left_alone);
    tcase_add_loop_test(c, conditions_of_whole_loops_cut_nothing, 0, sizeof whole_loops / sizeof *whole_loops);
    tcase_add_test(c, loops_inside_vectors_stay_whole);
    tcase_add_test(c, statements_simplify);
    suite_add_tcase(s, c);
    return s;
}
