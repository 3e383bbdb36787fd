/* test_loops.c - statements, compiled: every kind, inside and outside of vector loops. */
#include <mlc/runtime.h>

#include "codegen/backend.h"
#include "jit/jit.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *loops_suite(void);

enum { N = 67, ROOM = 4 * N + 64 };

/* A program of int arrays: `in` and `out` and more, all of i32 but where said. */
typedef struct {
    Fault fault;
    Arena arena;
    Interner ir;
    Program p;
    Storage *in, *out;
    int32_t in_data[ROOM], out_data[ROOM];
    const char *source;
    int lanes;
    int notes;
} Rig;

static Storage *external(Rig *r, const char *name, bool is_input, mlc_type t) {
    Func *f = ARENA_NEW(&r->arena, Func);
    Storage *s = ARENA_NEW(&r->arena, Storage);
    *f = (Func){ .name = name, .rank = 1, .n = 1, .type = { t } };
    *s = (Storage){ .func = f, .name = name, .is_input = is_input, .is_output = !is_input, .slot = r->p.external.n,
                    .rank = 1, .n = 1, .type = { t } };
    VEC_PUSH(&r->arena, &r->p.external, s);
    return s;
}

static void rig_open(Rig *r) {
    memset(r, 0, sizeof *r);
    arena_init(&r->arena, NULL, &r->fault);
    ir_interner_init(&r->ir, &r->arena, NULL);
    r->p = (Program){ .name = "rig", .arena = &r->arena, .ir = &r->ir, .flat = true };
    r->in = external(r, "in", true, MLC_I32);
    r->out = external(r, "out", false, MLC_I32);
    for (int i = 0; i < ROOM; i++) r->in_data[i] = (i * 7919) % 251 - 100, r->out_data[i] = -7;
}

static const Node *load(Rig *r, Storage *s, const Node *index) {
    return ir_node(&r->ir, OP_LOAD, s->type[0], (uint64_t)(uintptr_t)s, 0, 1, &index);
}

static Stmt *store(Rig *r, Storage *s, const Node *index, const Node *value) {
    Stmt *st = st_store(&r->arena, s->func, 1, &index, 1, &value);
    st->u.store.storage = s;
    return st;
}

static const Sym *loop_var(Rig *r, const char *name) {
    Sym *s = ARENA_NEW(&r->arena, Sym);
    *s = (Sym){ .name = name, .kind = SYM_LOOP, .type = MLC_INDEX };
    return s;
}

static const Sym *let_var(Rig *r, const char *name, mlc_type t) {
    Sym *s = ARENA_NEW(&r->arena, Sym);
    *s = (Sym){ .name = name, .kind = SYM_LET, .type = t };
    return s;
}

static Storage *internal(Rig *r, const char *name, mlc_type t, int64_t n, MemoryKind kind) {
    Func *f = ARENA_NEW(&r->arena, Func);
    Storage *s = ARENA_NEW(&r->arena, Storage);
    *f = (Func){ .name = name, .rank = 1, .n = 1, .type = { t } };
    *s = (Storage){ .func = f, .name = name, .rank = 1, .n = 1, .type = { t }, .memory = kind, .const_elems = n };
    s->stride[0] = ir_idx(&r->ir, 1);
    s->extent[0] = ir_idx(&r->ir, n);
    return s;
}

static Stmt *block(Rig *r, Stmt *a, Stmt *b) {
    Stmt *both[2] = { a, b };
    return st_block(&r->arena, 2, both);
}

/* ---- the process around a call ---- */

typedef struct {
    int live, allocs, fail_at, prints;
    long long printed;
} Host;

static int par_for(void *user, int (*body)(void *, int64_t), void *closure, int64_t n) {
    (void)user;
    for (int64_t i = n; i-- > 0;) { /* any order */
        int rc = body(closure, i);
        if (rc) return rc;
    }
    return 0;
}

static void *host_alloc(void *user, size_t n) {
    Host *h = user;
    if (++h->allocs == h->fail_at || n > 1u << 30) return NULL;
    h->live++;
    return aligned_alloc(64, (n + 63) / 64 * 64 + 64);
}

static void host_release(void *user, void *p) {
    Host *h = user;
    h->live--;
    free(p);
}

static void host_print(void *user, const char *label, int n, const mlc_type *type, const mlc_scalar *value) {
    Host *h = user;
    h->prints += n;
    (void)label;
    if (type[0] == MLC_I32) h->printed += value[0].i;
}

static void count_note(void *user, const char *text) {
    Rig *r = user;
    (void)text;
    r->notes++;
}

/* Compiles and calls; what the call said, and the host after it. */
static int run(Rig *r, Stmt *body, CpuIsa isa, const char *cc, Host *h, int64_t error[6]) {
    Barrier b;
    volatile int rc = -99;
    r->p.body = body;
    memset(r->out_data, 0xf9, sizeof r->out_data);
    if (FAULT_TRY(&r->fault, b)) {
        JitOptions j = { .cc = cc, .isa = isa, .opt = 1, .flags = getenv("MLC_CFLAGS") };
        CgOptions o = { .isa = isa, .is_gcc = jit_compiler(&r->arena, &j)->is_gcc, .symbol = "rig", .note = count_note, .note_user = r };
        StrBuf source;
        sb_init(&source, &r->arena);
        cg_cpu(&source, &r->p, &o);
        r->source = source.at;
        if (getenv("OPS_DUMP")) jit_write_file(getenv("OPS_DUMP"), source.at, source.n);
        JitTimes times = { 0 };
        void *handle = jit_load(&r->arena, &j, source.at, false, &times);
        int (*fn)(mlc_call *);
        *(void **)&fn = jit_symbol(handle, "rig");
        mlc_hooks hooks = { .user = h, .par_for = par_for, .alloc = host_alloc, .release = host_release, .print = host_print };
        void *data[] = { r->in_data + 16, r->out_data + 16 };
        int64_t shape[48] = { 0, N, 1 };
        mlc_scalar param[1] = { { .i = 5 } };
        mlc_call call = { .data = data, .shape = shape, .param = param, .hooks = &hooks };
        rc = fn(&call);
        memcpy(error, call.error, sizeof call.error);
        jit_unload(handle);
        FAULT_END(&r->fault, b);
    } else ck_abort_msg("%s", r->fault.info.message);
    return rc;
}

/* in and out as the test's formula sees them */
#define IN(i) (r->in_data[16 + (i)])
#define OUT(i) (r->out_data[16 + (i)])
enum { UNTOUCHED = (int)0xf9f9f9f9u };

/* Runs a body under each instruction set and compiler; `check` looks at `out`. */
static void everywhere(Rig *r, Stmt *body, void (*check)(Rig *r)) {
    for (CpuIsa isa = ISA_PLAIN; isa <= jit_host_isa(); isa++) {
        Host h = { 0 };
        int64_t error[6];
        const char *cc = isa % 2 ? "gcc" : "clang";
        const char *flags = getenv("MLC_CFLAGS");
        if (getenv("MLC_CC")) cc = NULL;
        else if (flags && strstr(flags, "-fsanitize")) cc = "gcc"; /* clang's runtime is not in this process */
        ck_assert_int_eq(run(r, body, isa, cc, &h, error), 0);
        ck_assert_int_eq(h.live, 0);
        check(r);
    }
}

static void rig_free(Rig *r) {
    arena_free(&r->arena);
    free(r);
}

#define I(k) ir_idx(&r->ir, k)
#define ADD(a, b) ir_add(&r->ir, a, b)
#define MUL(a, b) ir_mul(&r->ir, a, b)
#define V(s) ir_var(&r->ir, s)
#define K(k) ir_int(&r->ir, MLC_I32, k)

/* for xo in [0, n / lanes): vector x from xo * lanes: body */
static Stmt *vectorised(Rig *r, const Sym *x, int n, int lanes, Stmt *body) {
    const Sym *xo = loop_var(r, "xo");
    Stmt *v = st_for(&r->arena, x, LOOP_VECTOR, MUL(V(xo), I(lanes)), I(lanes), body);
    return st_for(&r->arena, xo, LOOP_SERIAL, I(0), I(n / lanes), v);
}

/* ---- tests ---- */

/* Loads of every stride, gathers through data, stores of stride 2 and -1. */
static int64_t stride_now;
static void check_strides(Rig *r) {
    for (int x = 0; x < 30; x++) {
        int at = (int)(stride_now * x) + (stride_now < 0 ? 60 : 1);
        ck_assert_int_eq(OUT(2 * x), IN(at) + x);
        ck_assert_int_eq(OUT(2 * x + 1), UNTOUCHED);
    }
}

START_TEST(strided_access) {
    static const int64_t stride[] = { 1, 2, 3, 4, 5, -1, -2, 0 };
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    stride_now = stride[_i];
    const Sym *x = loop_var(r, "x");
    const Node *at = ADD(MUL(V(x), I(stride_now)), I(stride_now < 0 ? 60 : 1));
    const Node *value = ADD(load(r, r->in, at), ir_cast(&r->ir, MLC_I32, V(x)));
    everywhere(r, vectorised(r, x, 30, 15, store(r, r->out, MUL(V(x), I(2)), value)), check_strides);
    rig_free(r);
}
END_TEST

static void check_gather(Rig *r) {
    for (int x = 0; x < 60; x++) ck_assert_int_eq(OUT(59 - x), IN((IN(x) & 31) + x) * 3);
}

START_TEST(gather_and_reversed_store) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    const Sym *x = loop_var(r, "x");
    const Node *low = ir_make2(&r->ir, OP_AND, load(r, r->in, V(x)), K(31));
    const Node *at = ADD(ir_cast(&r->ir, MLC_INDEX, low), V(x));
    Stmt *s = store(r, r->out, ir_sub(&r->ir, I(59), V(x)), MUL(load(r, r->in, at), K(3)));
    everywhere(r, vectorised(r, x, 60, 20, s), check_gather);
    rig_free(r);
}
END_TEST

static void check_guard(Rig *r) {
    for (int x = 0; x < N; x++) ck_assert_int_eq(OUT(x), IN(x) - 1);
    ck_assert_int_eq(OUT(N), UNTOUCHED);
    ck_assert_int_eq(OUT(-1), UNTOUCHED);
}

/* A guarded tail: neither loads nor stores beyond it. */
START_TEST(guarded_tail) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    const Sym *x = loop_var(r, "x");
    Stmt *s = store(r, r->out, V(x), ir_sub(&r->ir, load(r, r->in, V(x)), K(1)));
    const Node *cond = ir_make2(&r->ir, _i ? OP_LE : OP_LT, V(x), I(_i ? N - 1 : N));
    everywhere(r, vectorised(r, x, 80, 16, st_if(&r->arena, cond, s, NULL)), check_guard);
    rig_free(r);
}
END_TEST

static void check_branches(Rig *r) {
    for (int x = 0; x < 60; x++) {
        int v = IN(x), want = v > 0 ? (v % 2 ? v * 2 : UNTOUCHED) : -v + 1;
        ck_assert_int_eq(OUT(x), want);
    }
}

/* if (in > 0) { if (in & 1) out = 2 in } else out = 1 - in */
START_TEST(varying_branches) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    const Sym *x = loop_var(r, "x");
    const Node *v = load(r, r->in, V(x)), *odd = ir_make2(&r->ir, OP_EQ, ir_make2(&r->ir, OP_AND, v, K(1)), K(1));
    Stmt *inner = st_if(&r->arena, odd, store(r, r->out, V(x), MUL(v, K(2))), NULL);
    Stmt *s = st_if(&r->arena, ir_make2(&r->ir, OP_LT, K(0), v), inner, store(r, r->out, V(x), ir_sub(&r->ir, K(1), v)));
    everywhere(r, vectorised(r, x, 60, 12, s), check_branches);
    rig_free(r);
}
END_TEST

static void check_self(Rig *r) {
    for (int x = 0; x < 60; x++) ck_assert_int_eq(OUT(x), IN(x) > 0 ? -1 : IN(x) * 2);
}

/* The condition is evaluated once, though the branch changes what it read. */
START_TEST(condition_before_branch) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    const Sym *x = loop_var(r, "x");
    Stmt *first = store(r, r->out, V(x), load(r, r->in, V(x)));
    const Node *cond = ir_make2(&r->ir, OP_LT, K(0), load(r, r->out, V(x)));
    Stmt *s = st_if(&r->arena, cond, store(r, r->out, V(x), K(-1)),
                    store(r, r->out, V(x), MUL(load(r, r->out, V(x)), K(2))));
    everywhere(r, vectorised(r, x, 60, 20, block(r, first, s)), check_self);
    rig_free(r);
}
END_TEST

static void check_lets(Rig *r) {
    for (int x = 0; x < 60; x++) {
        int t = IN(x + 2) * 3, y = x / 2;
        ck_assert_int_eq(OUT(x), t * t + IN(2 * x + 1 - x) + IN(y) + 5);
    }
}

/* Lets: of data, of an index that grows, of one that does not, of a param. */
START_TEST(lets_in_vectors) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    Sym *p = ARENA_NEW(&r->arena, Sym);
    *p = (Sym){ .name = "p", .kind = SYM_PARAM, .type = MLC_I32, .slot = 0 };
    VEC_PUSH(&r->arena, &r->p.param, p);
    const Sym *x = loop_var(r, "x"), *t = let_var(r, "t", MLC_I32), *u = let_var(r, "u", MLC_INDEX), *y = let_var(r, "y", MLC_INDEX);
    const Node *sum = ADD(MUL(V(t), V(t)), load(r, r->in, ir_sub(&r->ir, V(u), V(x))));
    Stmt *s = store(r, r->out, V(x), ADD(ADD(sum, load(r, r->in, V(y))), V(p)));
    s = st_let(&r->arena, y, ir_make2(&r->ir, OP_DIV, V(x), I(2)), s);
    s = st_let(&r->arena, u, ADD(MUL(V(x), I(2)), I(1)), s);
    s = st_let(&r->arena, t, MUL(load(r, r->in, ADD(V(x), I(2))), K(3)), s);
    everywhere(r, vectorised(r, x, 60, 20, s), check_lets);
    rig_free(r);
}
END_TEST

static void check_reduction(Rig *r) {
    for (int x = 0; x < 40; x++) {
        int sum = 0;
        for (int k = 0; k < 9; k++) sum += IN(x + k) * IN(k);
        ck_assert_int_eq(OUT(x), sum);
    }
}

/* acc on the stack, a serial loop inside and between vector loops. */
START_TEST(accumulators) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    Storage *acc = internal(r, "acc", MLC_I32, 20, STORE_STACK);
    const Sym *x = loop_var(r, "x"), *x2 = loop_var(r, "x"), *x3 = loop_var(r, "x"), *k = loop_var(r, "k"), *xo = loop_var(r, "xo");
    const Node *base = MUL(V(xo), I(20));
    const Node *product = MUL(load(r, r->in, ADD(ADD(base, V(x2)), V(k))), load(r, r->in, V(k)));
    Stmt *update = store(r, acc, V(x2), ADD(load(r, acc, V(x2)), product));
    Stmt *inside = st_for(&r->arena, k, LOOP_SERIAL, I(0), I(9), update);
    Stmt *zero = st_for(&r->arena, x, LOOP_VECTOR, I(0), I(20), store(r, acc, V(x), K(0)));
    Stmt *sum = st_for(&r->arena, x2, LOOP_VECTOR, I(0), I(20), inside);
    if (_i) sum = st_for(&r->arena, k, LOOP_SERIAL, I(0), I(9), st_for(&r->arena, x2, LOOP_VECTOR, I(0), I(20), update));
    Stmt *out = st_for(&r->arena, x3, LOOP_VECTOR, I(0), I(20), store(r, r->out, ADD(base, V(x3)), load(r, acc, V(x3))));
    Stmt *body = st_alloc(&r->arena, acc, block(r, zero, block(r, sum, out)));
    everywhere(r, st_for(&r->arena, xo, LOOP_SERIAL, I(0), I(2), body), check_reduction);
    ck_assert_ptr_null(strstr(r->source, "acc[")); /* it lives in variables */
    rig_free(r);
}
END_TEST

static void check_heap(Rig *r) {
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 11; x++) ck_assert_int_eq(OUT(y * 11 + x), IN(x + y) + IN(x + y + 1) + y);
}

/* parallel y: heap and stack memory inside, captured variables, an array from outside. */
static Stmt *parallel_body(Rig *r) {
    Storage *row = internal(r, "row", MLC_I32, 12, STORE_HEAP), *tab = internal(r, "tab", MLC_I32, 8, STORE_STACK);
    row->const_elems = 0;
    const Sym *x = loop_var(r, "x"), *x2 = loop_var(r, "x"), *y = loop_var(r, "y"), *z = loop_var(r, "z"), *off = let_var(r, "off", MLC_INDEX);
    Stmt *fill = st_for(&r->arena, x, LOOP_SERIAL, I(0), I(12), store(r, row, V(x), load(r, r->in, ADD(V(x), V(y)))));
    const Node *sum = ADD(ADD(load(r, row, V(x2)), load(r, row, ADD(V(x2), I(1)))), load(r, tab, V(y)));
    Stmt *use = st_for(&r->arena, x2, LOOP_SERIAL, I(0), I(11), store(r, r->out, ADD(V(off), V(x2)), sum));
    Stmt *body = st_let(&r->arena, off, MUL(V(y), I(11)), st_alloc(&r->arena, row, block(r, fill, use)));
    Stmt *par = st_for(&r->arena, y, LOOP_PARALLEL, I(0), I(5), body);
    Stmt *table = st_for(&r->arena, z, LOOP_SERIAL, I(0), I(8), store(r, tab, V(z), ir_cast(&r->ir, MLC_I32, V(z))));
    return st_alloc(&r->arena, tab, block(r, table, par));
}

START_TEST(parallel_and_heap) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    everywhere(r, parallel_body(r), check_heap);
    rig_free(r);
}
END_TEST

/* Whichever allocation fails, the others are released and the call says so. */
START_TEST(allocation_failure) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    Stmt *s = parallel_body(r);
    for (int at = 1; at <= 5; at++) {
        Host h = { .fail_at = at };
        int64_t error[6];
        ck_assert_int_eq(run(r, s, ISA_SSE4, NULL, &h, error), ERR_OUT_OF_MEMORY);
        ck_assert_int_eq(h.live, 0);
        ck_assert_int_eq(error[0], ERR_OUT_OF_MEMORY);
        ck_assert_int_eq(error[2], 48);
    }
    rig_free(r);
}
END_TEST

static void check_names(Rig *r) {
    for (int x = 0; x < 30; x++) ck_assert_int_eq(OUT(x), (IN(x) < 9 ? IN(x) : 9) * 2);
}

/* Names of the language that mean something in C, or to the generator. */
START_TEST(names) {
    static const char *const all[] = { "c", "i", "n", "failed", "one", "status", "closure", "hooks", "call", "int", "x$1", "_x",
                                       "min_i32", "f32x16", "i32x4u", "t1", "t2", "rig", "i64", "u8", "out", "x.y", "all_i32x4",
                                       "rig_text", "fail", "INLINE", "restrict", "x_body", "x_end", "struct" };
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    const char *name = all[_i];
    int where = _i % 3;
    if (where == 0) r->in->name = name;
    Storage *m = internal(r, where == 1 ? name : "m", MLC_I32, 16, STORE_HEAP);
    m->const_elems = 0;
    const Sym *y = loop_var(r, where == 2 ? name : "x"), *x = loop_var(r, "x"), *x2 = loop_var(r, "x"), *t = let_var(r, name, MLC_I32);
    const Node *least = ir_min(&r->ir, load(r, r->in, ADD(V(x), MUL(V(y), I(10)))), K(9));
    Stmt *fill = st_for(&r->arena, x, LOOP_VECTOR, I(0), I(10), store(r, m, V(x), least));
    Stmt *use = store(r, r->out, ADD(V(x2), MUL(V(y), I(10))), MUL(V(t), K(2)));
    use = st_for(&r->arena, x2, LOOP_VECTOR, I(0), I(10), st_let(&r->arena, t, load(r, m, V(x2)), use));
    Host h = { 0 };
    int64_t error[6];
    Stmt *body = st_for(&r->arena, y, LOOP_PARALLEL, I(0), I(3), st_alloc(&r->arena, m, block(r, fill, use)));
    ck_assert_int_eq(run(r, body, ISA_SSE4, NULL, &h, error), 0);
    check_names(r);
    rig_free(r);
}
END_TEST

static const Node *with_text(Rig *r, Op op, const char *text, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_node(&r->ir, op, MLC_I32, (uint64_t)(uintptr_t)ir_text(&r->ir, text), 0, b ? 2 : 1, kids);
}

/* require inside a heap allocation inside a vector loop: lanes before the first bad one are done. */
START_TEST(require_and_print) {
    Rig *r = calloc(1, sizeof *r);
    Host h = { 0 };
    int64_t error[6];
    rig_open(r);
    Storage *m = internal(r, "m", MLC_I32, 4, STORE_HEAP);
    const Sym *x = loop_var(r, "x");
    const Node *v = load(r, r->in, V(x)), *ok = ir_make2(&r->ir, OP_LT, V(x), I(_i ? 100 : 13));
    const Node *e = with_text(r, OP_PRINT, "v", v, NULL);
    const Node *kids[2] = { ok, e };
    e = ir_node(&r->ir, OP_REQUIRE, MLC_I32, (uint64_t)(uintptr_t)ir_text(&r->ir, "small \"x\"?"), 0, 2, kids);
    Stmt *s = st_alloc(&r->arena, m, st_for(&r->arena, x, LOOP_VECTOR, I(0), I(16), store(r, r->out, V(x), e)));
    int rc = run(r, s, ISA_SSE4, NULL, &h, error);
    ck_assert_int_eq(rc, _i ? 0 : ERR_REQUIRE_FAILED);
    ck_assert_int_eq(h.live, 0);
    int printed = 0;
    for (int i = 0; i < 13; i++) {
        printed += IN(i);
        ck_assert_int_eq(OUT(i), IN(i));
    }
    if (!_i) ck_assert_int_eq(error[1], 0);
    if (!_i) ck_assert_int_eq(OUT(13), UNTOUCHED);
    if (!_i) ck_assert_int_eq(h.printed, printed + IN(13));
    ck_assert_ptr_nonnull(strstr(r->source, "small \\042x\\042\\077"));
    rig_free(r);
}
END_TEST

START_TEST(checks) {
    Rig *r = calloc(1, sizeof *r);
    Host h = { 0 };
    int64_t error[6];
    rig_open(r);
    Stmt *c = ARENA_NEW(&r->arena, Stmt), *one = store(r, r->out, I(0), K(1));
    c->kind = ST_CHECK;
    c->u.check.cond = ir_make2(&r->ir, OP_LT, load(r, r->in, I(0)), K(-1000));
    c->u.check.code = ERR_BUFFER_MIN;
    c->u.check.text[0] = "in";
    c->u.check.n = 2;
    c->u.check.arg[0] = I(41);
    c->u.check.arg[1] = I(INT64_MIN);
    ck_assert_int_eq(run(r, block(r, c, one), ISA_PLAIN, NULL, &h, error), ERR_BUFFER_MIN);
    ck_assert_int_eq(error[0], ERR_BUFFER_MIN);
    ck_assert_int_eq(error[1], 0);
    ck_assert_int_eq(error[2], 41);
    ck_assert_int_eq(error[3], INT64_MIN);
    ck_assert_int_eq(OUT(0), UNTOUCHED);
    rig_free(r);
}
END_TEST

static void check_nested(Rig *r) {
    for (int x = 0; x < 32; x++) {
        int sum = 0;
        for (int k = 0; k < x; k++) sum += IN(k);
        ck_assert_int_eq(OUT(x), sum);
    }
}

/* A loop whose length differs between lanes has no vector form; a note says so. */
START_TEST(scalarised) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    const Sym *x = loop_var(r, "x"), *k = loop_var(r, "k");
    Stmt *zero = store(r, r->out, V(x), K(0));
    Stmt *sum = st_for(&r->arena, k, LOOP_SERIAL, I(0), V(x), store(r, r->out, V(x), ADD(load(r, r->out, V(x)), load(r, r->in, V(k)))));
    everywhere(r, vectorised(r, x, 32, 8, block(r, zero, sum)), check_nested);
    ck_assert_int_gt(r->notes, 0);
    ck_assert_ptr_nonnull(strstr(r->source, "scalarised x: a loop inside has bounds that differ between lanes"));
    rig_free(r);
}
END_TEST

static void check_deep(Rig *r) {
    for (int x = 0; x < 16; x++) {
        uint32_t v = (uint32_t)IN(x);
        for (int i = 0; i < 3000; i++) v = v * 3 + (uint32_t)IN(x);
        ck_assert_int_eq(OUT(x), (int)v);
    }
}

/* A graph of depth 3000, each level used twice: linear text, no C stack. */
START_TEST(deep_expression) {
    Rig *r = calloc(1, sizeof *r);
    rig_open(r);
    const Sym *x = loop_var(r, "x");
    const Node *in = load(r, r->in, V(x)), *v = in;
    for (int i = 0; i < 3000; i++) v = ADD(ADD(v, ADD(v, v)), in);
    Stmt *s = st_for(&r->arena, x, _i ? LOOP_VECTOR : LOOP_SERIAL, I(0), I(16), store(r, r->out, V(x), v));
    r->p.body = s;
    Host h = { 0 };
    int64_t error[6];
    ck_assert_int_eq(run(r, s, jit_host_isa(), NULL, &h, error), 0);
    check_deep(r);
    ck_assert_uint_lt(strlen(r->source), 1000000);
    rig_free(r);
}
END_TEST

Suite *loops_suite(void) {
    Suite *s = suite_create("codegen: statements");
    TCase *t = tcase_create("loops");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, strided_access, 0, 8);
    tcase_add_test(t, gather_and_reversed_store);
    tcase_add_loop_test(t, guarded_tail, 0, 2);
    tcase_add_test(t, varying_branches);
    tcase_add_test(t, condition_before_branch);
    tcase_add_test(t, lets_in_vectors);
    tcase_add_loop_test(t, accumulators, 0, 2);
    tcase_add_test(t, parallel_and_heap);
    tcase_add_loop_test(t, names, 0, 30);
    tcase_add_test(t, allocation_failure);
    tcase_add_loop_test(t, require_and_print, 0, 2);
    tcase_add_test(t, checks);
    tcase_add_test(t, scalarised);
    tcase_add_loop_test(t, deep_expression, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
