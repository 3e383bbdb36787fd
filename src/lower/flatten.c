/* flatten.c - coordinates become one index into memory: the last pass.
 *
 *     f(x, y)   ->   load f[(x - f.min0) * stride0 + (y - f.min1) * stride1]
 *
 * Internal memory is dense, in the order of its dimensions and with the padding that the plan asks for; a folded
 * dimension wraps around its circular buffer.  A min or stride that takes operations gets a name around the allocation, so that it is
 * computed once and indices stay sums of loop variables. */
#include "lower/passes.h"

#include <string.h>

/* Memory in scope; `min` is what each min is made of, where the Storage itself holds a name for it. */
typedef struct {
    Storage *storage;
    const Node *min[MAX_RANK];
} Scoped;

typedef struct {
    Program *p;
    PtrMap memory; /* Func -> Scoped */
    PtrMap fixed;  /* Sym -> Node: strides that a condition around fixes */
    const Facts *facts; /* of loops around */
} Flatten;

static void count_node(void *user, const Node *e) {
    (void)e;
    ++*(int *)user;
}

static int size_of(Interner *I, const Node *e) {
    int n = 0;
    ir_visit(I->arena, e, count_node, &n);
    return n;
}

/* The distance from the start: what the min is made of cancels against the coordinate as a rule, and where
 * it does not, its name is shorter. */
static const Node *offset(Interner *I, const Scoped *m, int d, const Node *coord) {
    const Storage *t = m->storage;
    if (t->fold[d] > 0) return ir_make2(I, OP_MOD, coord, ir_idx(I, t->fold[d]));
    const Node *named = sim_simplify(I, NULL, ir_sub(I, coord, t->min[d]));
    if (m->min[d] == t->min[d]) return named;
    const Node *raw = sim_simplify(I, NULL, ir_sub(I, coord, m->min[d]));
    return size_of(I, raw) <= size_of(I, named) ? raw : named;
}

/* The offset of a chunk that changes places with others of its row (swizzle.c): the row's number says with which. */
static const Node *swizzled(const Flatten *f, Interner *I, const Storage *t, const Node *x, const Node *y) {
    const Node *chunk = ir_idx(I, t->swizzle.chunk), *row = ir_make2(I, OP_DIV, y, ir_idx(I, t->swizzle.rows));
    const Node *at = sim_simplify(I, f->facts, ir_make2(I, OP_DIV, x, chunk)), *rest = sim_simplify(I, f->facts, ir_make2(I, OP_MOD, x, chunk));
    const Node *with = sim_simplify(I, f->facts, ir_make2(I, OP_MOD, row, ir_idx(I, t->swizzle.ways)));
    return ir_add(I, ir_mul(I, ir_make2(I, OP_XOR, at, with), chunk), rest);
}

/* Dimensions of constant stride make one sum; the others stay products of an offset and a stride, which
 * is invariant in the inner loops. */
static const Node *one_index(const Flatten *f, Interner *I, const Scoped *m, const Node *const *coord) {
    const Storage *t = m->storage;
    const Node *sum = ir_idx(I, 0), *rest = NULL;
    for (int d = 0; d < t->rank; d++) {
        const Node *c = offset(I, m, d, coord[d]), *stride = t->stride[d];
        if (t->swizzle.ways && d == t->swizzle.of) c = swizzled(f, I, t, c, offset(I, m, t->swizzle.by, coord[t->swizzle.by]));
        const Node *fixed = stride->op == OP_VAR ? pm_get(&f->fixed, stride->u.sym) : NULL;
        if (fixed) stride = fixed;
        if (ir_is_const(stride)) {
            sum = ir_add(I, sum, ir_mul(I, c, stride));
            continue;
        }
        const Node *product = ir_mul(I, c, stride);
        rest = rest ? ir_add(I, rest, product) : product;
    }
    sum = sim_simplify(I, NULL, sum);
    return rest ? ir_add(I, sum, rest) : sum;
}

static const Node *flatten_node(void *user, Interner *I, const Node *e) {
    Flatten *f = user;
    if (e->op != OP_ACCESS) return e;
    const Scoped *s = pm_get(&f->memory, e->u.func);
    CHECK(I->fault, s && e->n == s->storage->rank);
    const Node *index = one_index(f, I, s, e->kid);
    return ir_node(I, OP_LOAD, (mlc_type)e->type, (uint64_t)(uintptr_t)s->storage, e->aux, 1, &index);
}

static const Node *expr(StmtMap *m, const Node *e) {
    return ir_rewrite(m->ir, e, flatten_node, m->user);
}

static Stmt *flatten_store(StmtMap *m, Stmt *s) {
    Flatten *f = m->user;
    const Scoped *where = pm_get(&f->memory, s->u.store.func);
    CHECK(m->ir->fault, where && s->u.store.rank == where->storage->rank);
    Storage *t = where->storage;
    const Node *coord[MAX_RANK];
    for (int d = 0; d < t->rank; d++) coord[d] = expr(m, s->u.store.coord[d]);
    Stmt *now = arena_copy(m->arena, s, sizeof *s);
    memset(now->u.store.coord, 0, sizeof now->u.store.coord);
    now->u.store.coord[0] = one_index(f, m->ir, where, coord);
    now->u.store.rank = 1;
    now->u.store.storage = t;
    for (int i = 0; i < s->u.store.n; i++) now->u.store.value[i] = expr(m, s->u.store.value[i]);
    return now;
}

/* The element at the mins of each buffer. */
static Stmt *flatten_call(StmtMap *m, Stmt *s) {
    Flatten *f = m->user;
    Whole w = alg_whole(s->u.call.func);
    int n = s->u.call.n - 1;
    Stmt *now = arena_copy(m->arena, s, sizeof *s);
    const Node **e = now->u.call.e = ARENA_ARRAY(m->arena, const Node *, n + w.n_in + 1), *const *at = e;
    now->u.call.storage = ARENA_ARRAY(m->arena, Storage *, w.n_in + 1);
    now->u.call.n = n + w.n_in + 1;
    for (int i = 0; i < n; i++) e[i] = expr(m, s->u.call.e[i]);
    for (int i = 0; i <= w.n_in; i++) {
        const Func *g = i < w.n_in ? w.in[i] : s->u.call.func;
        const Scoped *where = pm_get(&f->memory, g);
        const Node *min[MAX_RANK];
        CHECK(m->ir->fault, where != NULL);
        for (int d = 0; d < g->rank; d++, at += 2) {
            CHECK(m->ir->fault, !where->storage->fold[d]);
            min[d] = at[0];
        }
        now->u.call.storage[i] = where->storage;
        e[n + i] = one_index(f, m->ir, where, min);
    }
    return now;
}

typedef struct {
    const Sym *sym;
    const Node *value;
} NamedNode;

/* The node itself where it is a constant or a variable, else a name for it. */
static const Node *name_it(StmtMap *m, const Storage *t, const char *what, int d, const Node *e, NamedNode *named, int *n) {
    if (ir_is_const(e) || e->op == OP_VAR) return e;
    Sym *s = ARENA_NEW(m->arena, Sym);
    s->name = arena_printf(m->arena, "%s.%s%d", t->name, what, d);
    s->kind = SYM_LET;
    s->type = MLC_INDEX;
    s->func = t->func;
    named[*n] = (NamedNode){ s, e };
    ++*n;
    return ir_var(m->ir, s);
}

/* Where the regions of inputs begin. */
static Memo *flatten_memo(StmtMap *m, const Memo *memo) {
    Flatten *f = m->user;
    Memo *now = arena_copy(m->arena, memo, sizeof *memo);
    now->in = arena_copy(m->arena, memo->in, sizeof *now->in * (size_t)(memo->n_in + 1));
    for (int i = 0; i < now->n_in; i++) {
        const Scoped *where = pm_get(&f->memory, now->in[i].func);
        now->in[i].storage = where->storage;
        now->in[i].at = one_index(f, m->ir, where, now->in[i].min);
    }
    return now;
}

static Stmt *flatten_alloc(StmtMap *m, Stmt *s) {
    Flatten *f = m->user;
    Storage *t = arena_copy(m->arena, s->u.alloc.storage, sizeof *t);
    void *outer = pm_get(&f->memory, t->func);
    Scoped *scoped = ARENA_NEW(m->arena, Scoped);
    scoped->storage = t;
    NamedNode named[3 * MAX_RANK];
    int n = 0;
    const Node *stride = ir_idx(m->ir, 1);
    for (int i = 0; i < t->rank; i++) {
        int d = t->order[i];
        scoped->min[d] = t->min[d];
        t->min[d] = name_it(m, t, "min", d, t->min[d], named, &n);
        t->extent[d] = name_it(m, t, "extent", d, t->extent[d], named, &n);
        t->stride[d] = i ? name_it(m, t, "stride", d, stride, named, &n) : stride;
        stride = sim_simplify(m->ir, NULL, ir_mul(m->ir, t->stride[d], st_padded(m->ir, t, d)));
    }
    if (t->memo) t->memo = flatten_memo(m, t->memo);
    pm_put(&f->memory, t->func, scoped);
    Stmt *body = st_map(m, s->u.alloc.body);
    pm_put(&f->memory, t->func, outer);
    if (!body) return NULL;
    Stmt *now = st_alloc(m->arena, t, body);
    now->line = s->line;
    while (n--) now = st_let(m->arena, named[n].sym, named[n].value, now);
    return now;
}

/* Specializations by strides: this is the first pass that meets them. */
static Stmt *flatten_if(StmtMap *m, Stmt *s) {
    Flatten *f = m->user;
    PtrMap here, outer = f->fixed;
    const Node *cond = expr(m, s->u.cond.cond);
    pm_init(&here, m->arena);
    st_fixed(m->ir, cond, &here);
    if (here.n) { /* the inner condition wins: were they to differ, nothing would run */
        for (uint32_t i = 0; i < outer.cap; i++)
            if (outer.key[i] && !pm_has(&here, outer.key[i])) pm_put(&here, outer.key[i], outer.val[i]);
        f->fixed = here;
    }
    Stmt *yes = st_map(m, s->u.cond.yes);
    f->fixed = outer;
    Stmt *now = arena_copy(m->arena, s, sizeof *s);
    now->u.cond.cond = cond;
    now->u.cond.yes = yes;
    now->u.cond.no = st_map(m, s->u.cond.no);
    return now;
}

static Stmt *flatten_move(StmtMap *m, Stmt *s) {
    Flatten *f = m->user;
    const Scoped *where = pm_get(&f->memory, s->u.move.storage->func);
    CHECK(m->ir->fault, where && where->storage->on_device);
    return st_move(m->arena, where->storage, s->u.move.device, s->u.move.writes, s->u.move.all);
}

/* Those that are left have numbers in a row. */
static Stmt *flatten_kernel(StmtMap *m, Stmt *s) {
    Flatten *f = m->user;
    Stmt *now = st_map_kids(m, s);
    Kernel *k = now ? arena_copy(m->arena, now->u.kernel.kernel, sizeof *k) : NULL;
    if (!k) return NULL;
    k->number = f->p->kernel.n;
    VEC_PUSH(m->arena, &f->p->kernel, k);
    return st_kernel(m->arena, k, now->u.kernel.body);
}

static Stmt *stmt(StmtMap *m, Stmt *s) {
    if (s->kind == ST_IF) return flatten_if(m, s);
    if (s->kind == ST_STORE) return flatten_store(m, s);
    if (s->kind == ST_ALLOC) return flatten_alloc(m, s);
    if (s->kind == ST_CALL) return flatten_call(m, s);
    if (s->kind == ST_MOVE) return flatten_move(m, s);
    if (s->kind == ST_KERNEL) return flatten_kernel(m, s);
    if (s->kind == ST_FOR) {
        Flatten *f = m->user;
        const Facts *outer = f->facts;
        f->facts = sim_with_loop(m->ir, m->arena, outer, s->u.loop.var, s->u.loop.min, s->u.loop.extent);
        s = st_map_kids(m, s);
        f->facts = outer;
        return s;
    }
    return st_map_kids(m, s);
}

/* The caller's memory under this variant's assumption. */
static StorageList external(const Program *p) {
    StorageList list = { 0 };
    for (int i = 0; i < p->external.n; i++) {
        Storage *t = arena_copy(p->arena, p->external.at[i], sizeof *t);
        if (p->dense && t->rank && !ir_is_const(t->stride[0])) t->stride[0] = ir_idx(p->ir, 1);
        VEC_PUSH(p->arena, &list, t);
    }
    return list;
}

void low_flatten(Program *p, const LowerOptions *o) {
    (void)o;
    Flatten f = { .p = p };
    pm_init(&f.memory, p->arena);
    pm_init(&f.fixed, p->arena);
    p->external = external(p);
    memset(&p->kernel, 0, sizeof p->kernel);
    for (int i = 0; i < p->external.n; i++) {
        Scoped *s = ARENA_NEW(p->arena, Scoped);
        s->storage = p->external.at[i];
        memcpy(s->min, s->storage->min, sizeof s->min);
        pm_put(&f.memory, s->storage->func, s);
    }
    StmtMap m = { .arena = p->arena, .ir = p->ir, .expr = expr, .stmt = stmt, .user = &f };
    p->body = st_map(&m, p->body);
    low_check_registers(p);
    low_check_copies(p);
}
