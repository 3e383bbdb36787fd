/* stmt.c - building and rebuilding statements.
 *
 * Rebuilding shares what did not change: a pass that leaves a subtree alone returns the same pointer, so
 * comparing pointers tells whether a pass did anything. */
#include "lower/loops.h"

#include <string.h>

static Stmt *make(Arena *a, StmtKind kind) {
    Stmt *s = ARENA_NEW(a, Stmt);
    s->kind = kind;
    return s;
}

static int flat_count(int n, Stmt *const *at) {
    int count = 0;
    for (int i = 0; i < n; i++)
        if (at[i]) count += at[i]->kind == ST_BLOCK ? at[i]->u.block.n : 1;
    return count;
}

Stmt *st_block(Arena *a, int n, Stmt *const *at) {
    int count = flat_count(n, at), k = 0;
    if (count == 0) return NULL;
    Stmt **flat = ARENA_ARRAY(a, Stmt *, count);
    for (int i = 0; i < n; i++) {
        if (!at[i]) continue;
        if (at[i]->kind != ST_BLOCK) flat[k++] = at[i];
        for (int j = 0; at[i]->kind == ST_BLOCK && j < at[i]->u.block.n; j++) flat[k++] = at[i]->u.block.at[j];
    }
    if (count == 1) return flat[0];
    Stmt *s = make(a, ST_BLOCK);
    s->u.block.n = count;
    s->u.block.at = flat;
    return s;
}

Stmt *st_for(Arena *a, const Sym *var, LoopKind kind, const Node *min, const Node *extent, Stmt *body) {
    Stmt *s = make(a, ST_FOR);
    s->u.loop.var = var;
    s->u.loop.kind = kind;
    s->u.loop.min = min;
    s->u.loop.extent = extent;
    s->u.loop.body = body;
    return s;
}

Stmt *st_let(Arena *a, const Sym *var, const Node *value, Stmt *body) {
    Stmt *s = make(a, ST_LET);
    s->u.let.var = var;
    s->u.let.value = value;
    s->u.let.body = body;
    return s;
}

Stmt *st_if(Arena *a, const Node *cond, Stmt *yes, Stmt *no) {
    Stmt *s = make(a, ST_IF);
    s->u.cond.cond = cond;
    s->u.cond.yes = yes;
    s->u.cond.no = no;
    return s;
}

Stmt *st_store(Arena *a, Func *f, int rank, const Node *const *coord, int n, const Node *const *value) {
    Stmt *s = make(a, ST_STORE);
    s->u.store.func = f;
    s->u.store.rank = rank;
    s->u.store.n = n;
    for (int d = 0; d < rank; d++) s->u.store.coord[d] = coord[d];
    for (int i = 0; i < n; i++) s->u.store.value[i] = value[i];
    return s;
}

Stmt *st_alloc(Arena *a, Storage *storage, Stmt *body) {
    Stmt *s = make(a, ST_ALLOC);
    s->u.alloc.storage = storage;
    s->u.alloc.body = body;
    s->line = storage->line;
    return s;
}

Stmt *st_produce(Arena *a, Func *f, int stage, bool is_consume, Stmt *body) {
    Stmt *s = make(a, ST_PRODUCE);
    s->u.produce.func = f;
    s->u.produce.stage = stage;
    s->u.produce.is_consume = is_consume;
    s->u.produce.body = body;
    return s;
}

Stmt *st_prefetch(Arena *a, const Node *read) {
    Stmt *s = make(a, ST_PREFETCH);
    s->u.prefetch.read = read;
    return s;
}

Stmt *st_count(Arena *a, int at, CountKind what, const Node *amount) {
    Stmt *s = make(a, ST_COUNT);
    s->u.count.at = at;
    s->u.count.what = what;
    s->u.count.amount = amount;
    return s;
}

Stmt *st_kernel(Arena *a, Kernel *k, Stmt *body) {
    Stmt *s = make(a, ST_KERNEL);
    s->u.kernel.kernel = k;
    s->u.kernel.body = body;
    s->line = k->line;
    return s;
}

Stmt *st_barrier(Arena *a) {
    return make(a, ST_BARRIER);
}

Stmt *st_check(Arena *a, const Node *cond, ErrCode code, const char *t0, const char *t1, int n, const Node *const *arg) {
    Stmt *s = make(a, ST_CHECK);
    s->u.check.cond = cond;
    s->u.check.code = code;
    s->u.check.text[0] = t0;
    s->u.check.text[1] = t1;
    s->u.check.n = n;
    for (int i = 0; i < n; i++) s->u.check.arg[i] = arg[i];
    return s;
}

Stmt *st_copies(Arena *a, int pending) {
    Stmt *s = make(a, ST_COPIES);
    s->u.copies.pending = pending;
    return s;
}

Stmt *st_mma(Arena *a, const TensorRow *row, const Node **x, const Node **y, const Node **c, const Sym **d, Stmt *body) {
    Stmt *s = make(a, ST_MMA);
    s->u.mma.row = row;
    s->u.mma.a = x;
    s->u.mma.b = y;
    s->u.mma.c = c;
    s->u.mma.d = d;
    s->u.mma.body = body;
    return s;
}

Stmt *st_move(Arena *a, Storage *t, bool device, bool writes, bool all) {
    Stmt *s = make(a, ST_MOVE);
    s->u.move.storage = t;
    s->u.move.device = device;
    s->u.move.writes = writes;
    s->u.move.all = all;
    return s;
}

/* ---- memory ---- */

/* What no memory holds is left as it is. */
int64_t st_align_up(int64_t n, int64_t align) {
    return align > 1 && n <= INT64_MAX - align ? (n + align - 1) / align * align : n;
}

int64_t st_shared_bytes(const Storage *t, int n) {
    int64_t bytes = 0;
    for (int e = 0; e < n; e++) bytes += st_align_up(t->const_elems * (int64_t)mlc_type_size(t->type[e]), SHARED_ALIGN);
    return bytes;
}

const Node *st_room(Interner *I, const Storage *t, int d) {
    return t->fold[d] > 0 ? ir_idx(I, t->fold[d]) : t->extent[d];
}

const Node *st_padded(Interner *I, const Storage *t, int d) {
    const Node *n = st_room(I, t, d), *by = ir_idx(I, t->align[d]);
    if (t->align[d] <= 1) return n;
    return ir_mul(I, ir_make2(I, OP_DIV, ir_add(I, n, ir_idx(I, t->align[d] - 1)), by), by);
}

Stmt *st_turn(Arena *a, Channel *c, int reader, const Node *ahead, Stmt *body) {
    Stmt *s = make(a, ST_TURN);
    s->u.turn.channel = c;
    s->u.turn.reader = reader;
    s->u.turn.ahead = ahead;
    s->u.turn.body = body;
    return s;
}

Stmt *st_fork(Arena *a, Channel *c, Stmt *task, Stmt *rest) {
    Stmt *s = make(a, ST_FORK);
    s->u.fork.channel = c;
    s->u.fork.task = task;
    s->u.fork.rest = rest;
    s->line = c->line;
    return s;
}

/* ---- rebuilding ---- */

static const Node *map_expr(StmtMap *m, const Node *e) {
    if (e && m->visit && !ir_is_const(e)) ir_visit(m->arena, e, m->visit, m->user);
    return e && m->expr ? m->expr(m, e) : e;
}

Stmt *st_map(StmtMap *m, Stmt *s) {
    if (!s) return NULL;
    return m->stmt ? m->stmt(m, s) : st_map_kids(m, s);
}

Stmt *st_stay(StmtMap *m, Stmt *s) {
    (void)m;
    return s;
}

static Stmt *map_block(StmtMap *m, Stmt *s) {
    int n = s->u.block.n;
    Stmt **now = NULL;
    for (int i = 0; i < n; i++) {
        Stmt *old = s->u.block.at[i], *kid = st_map(m, old);
        if (kid != old && !now) {
            now = ARENA_ARRAY(m->arena, Stmt *, n);
            memcpy(now, s->u.block.at, sizeof *now * (size_t)n);
        }
        if (now) now[i] = kid;
    }
    return now ? st_block(m->arena, n, now) : s;
}

static Stmt *map_store(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    for (int d = 0; d < s->u.store.rank; d++) now.u.store.coord[d] = map_expr(m, s->u.store.coord[d]);
    for (int i = 0; i < s->u.store.n; i++) now.u.store.value[i] = map_expr(m, s->u.store.value[i]);
    return memcmp(&now, s, sizeof now) ? arena_copy(m->arena, &now, sizeof now) : s;
}

/* The box of an allocation is made of expressions too.  A changed one is a copy: until flatten, accesses
 * name the Func and find the allocation that encloses them, so two copies of a loop may own one each. */
static Memo *map_memo(StmtMap *m, Memo *memo) {
    Memo now = *memo;
    now.evict = map_expr(m, memo->evict);
    now.word = arena_copy(m->arena, memo->word, sizeof *now.word * (size_t)(now.n_words + 1));
    now.in = arena_copy(m->arena, memo->in, sizeof *now.in * (size_t)(now.n_in + 1));
    bool same = now.evict == memo->evict;
    for (int i = 0; i < now.n_words; i++) now.word[i] = map_expr(m, memo->word[i]);
    for (int i = 0; i < now.n_words; i++) same &= now.word[i] == memo->word[i];
    for (int i = 0; i < now.n_in; i++)
        for (int d = 0; d < now.in[i].func->rank; d++) {
            now.in[i].min[d] = map_expr(m, memo->in[i].min[d]);
            now.in[i].extent[d] = map_expr(m, memo->in[i].extent[d]);
            same &= now.in[i].min[d] == memo->in[i].min[d] && now.in[i].extent[d] == memo->in[i].extent[d];
        }
    return same ? memo : arena_copy(m->arena, &now, sizeof now);
}

static Storage *map_storage(StmtMap *m, Storage *storage) {
    Storage now = *storage;
    if (storage->memo) now.memo = map_memo(m, storage->memo);
    for (int d = 0; d < storage->rank; d++) {
        now.min[d] = map_expr(m, storage->min[d]);
        now.extent[d] = map_expr(m, storage->extent[d]);
        now.stride[d] = map_expr(m, storage->stride[d]);
    }
    return memcmp(&now, storage, sizeof now) ? arena_copy(m->arena, &now, sizeof now) : storage;
}

static Stmt *map_check(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    now.u.check.cond = map_expr(m, s->u.check.cond);
    for (int i = 0; i < s->u.check.n; i++) now.u.check.arg[i] = map_expr(m, s->u.check.arg[i]);
    return memcmp(&now, s, sizeof now) ? arena_copy(m->arena, &now, sizeof now) : s;
}

/* One child of a copy; a parent whose only body vanished vanishes too. */
#define REBUILD(body_field, body_now)                               \
    do {                                                            \
        if (!(body_now)) return NULL;                               \
        if (!changed && (body_now) == s->u.body_field) return s;    \
        Stmt *copy_ = arena_copy(m->arena, &now, sizeof now);       \
        copy_->u.body_field = (body_now);                           \
        return copy_;                                               \
    } while (0)

static Stmt *map_for(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    now.u.loop.min = map_expr(m, s->u.loop.min);
    now.u.loop.extent = map_expr(m, s->u.loop.extent);
    bool changed = now.u.loop.min != s->u.loop.min || now.u.loop.extent != s->u.loop.extent;
    Stmt *body = st_map(m, s->u.loop.body);
    REBUILD(loop.body, body);
}

static Stmt *map_let(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    now.u.let.value = map_expr(m, s->u.let.value);
    bool changed = now.u.let.value != s->u.let.value;
    Stmt *body = st_map(m, s->u.let.body);
    REBUILD(let.body, body);
}

static Stmt *map_if(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    now.u.cond.cond = map_expr(m, s->u.cond.cond);
    now.u.cond.yes = st_map(m, s->u.cond.yes);
    now.u.cond.no = st_map(m, s->u.cond.no);
    if (!now.u.cond.yes && !now.u.cond.no) return NULL;
    if (!now.u.cond.yes) { /* only the else is left */
        now.u.cond.cond = ir_make1(m->ir, OP_LNOT, now.u.cond.cond);
        now.u.cond.yes = now.u.cond.no;
        now.u.cond.no = NULL;
        now.u.cond.likely = false;
    }
    bool same = now.u.cond.cond == s->u.cond.cond && now.u.cond.yes == s->u.cond.yes && now.u.cond.no == s->u.cond.no;
    return same ? s : arena_copy(m->arena, &now, sizeof now);
}

static Stmt *map_alloc(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    now.u.alloc.storage = map_storage(m, s->u.alloc.storage);
    bool changed = now.u.alloc.storage != s->u.alloc.storage;
    Stmt *body = st_map(m, s->u.alloc.body);
    REBUILD(alloc.body, body);
}

static Stmt *map_produce(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    bool changed = false;
    Stmt *body = st_map(m, s->u.produce.body);
    REBUILD(produce.body, body);
}

static Stmt *map_eval(StmtMap *m, Stmt *s) {
    const Node *value = map_expr(m, s->u.eval.value);
    if (value == s->u.eval.value) return s;
    Stmt *copy = arena_copy(m->arena, s, sizeof *s);
    copy->u.eval.value = value;
    return copy;
}

/* Turns are counted on both sides: one stays where its body vanished. */
static Stmt *map_turn(StmtMap *m, Stmt *s) {
    const Node *ahead = map_expr(m, s->u.turn.ahead);
    Stmt *body = st_map(m, s->u.turn.body);
    if (ahead == s->u.turn.ahead && body == s->u.turn.body) return s;
    return st_turn(m->arena, s->u.turn.channel, s->u.turn.reader, ahead, body);
}

/* Loops without iterations vanish on both sides. */
static Stmt *map_fork(StmtMap *m, Stmt *s) {
    Stmt *task = st_map(m, s->u.fork.task), *rest = st_map(m, s->u.fork.rest);
    if (!task && !rest) return NULL;
    return task == s->u.fork.task && rest == s->u.fork.rest ? s : st_fork(m->arena, s->u.fork.channel, task, rest);
}

static Stmt *map_call(StmtMap *m, Stmt *s) {
    const Node **now = ARENA_ARRAY(m->arena, const Node *, s->u.call.n + 1);
    bool changed = false;
    for (int i = 0; i < s->u.call.n; i++) {
        now[i] = map_expr(m, s->u.call.e[i]);
        changed |= now[i] != s->u.call.e[i];
    }
    if (!changed) return s;
    Stmt *copy = arena_copy(m->arena, s, sizeof *s);
    copy->u.call.e = now;
    return copy;
}

/* What became no read any more needs no fetching. */
static Stmt *map_prefetch(StmtMap *m, Stmt *s) {
    const Node *read = map_expr(m, s->u.prefetch.read);
    if (read == s->u.prefetch.read) return s;
    if (read->op != OP_ACCESS && read->op != OP_LOAD) return NULL;
    Stmt *now = arena_copy(m->arena, s, sizeof *s);
    now->u.prefetch.read = read;
    return now;
}

static Stmt *map_count(StmtMap *m, Stmt *s) {
    const Node *amount = map_expr(m, s->u.count.amount);
    return amount == s->u.count.amount ? s : st_count(m->arena, s->u.count.at, s->u.count.what, amount);
}

/* A kernel whose grid changes is a copy, as a Storage is: Program.kernel lists those that flatten leaves. */
static Stmt *map_kernel(StmtMap *m, Stmt *s) {
    Stmt now = *s;
    Kernel k = *s->u.kernel.kernel;
    bool changed = false;
    for (int d = 0; d < GPU_DIMS; d++) {
        k.grid[d] = map_expr(m, k.grid[d]);
        changed |= k.grid[d] != s->u.kernel.kernel->grid[d];
    }
    if (changed) now.u.kernel.kernel = arena_copy(m->arena, &k, sizeof k);
    Stmt *body = st_map(m, s->u.kernel.body);
    REBUILD(kernel.body, body);
}

static const Node **map_list(StmtMap *m, int n, const Node **e, bool *changed) {
    const Node **now = ARENA_ARRAY(m->arena, const Node *, n);
    bool same = true;
    for (int i = 0; i < n; i++) {
        now[i] = map_expr(m, e[i]);
        same &= now[i] == e[i];
    }
    *changed |= !same;
    return same ? e : now;
}

static Stmt *map_mma(StmtMap *m, Stmt *s) {
    const TensorRow *row = s->u.mma.row;
    Stmt now = *s;
    bool changed = false;
    now.u.mma.a = map_list(m, tensor_elements(row, TENSOR_A), s->u.mma.a, &changed);
    now.u.mma.b = map_list(m, tensor_elements(row, TENSOR_B), s->u.mma.b, &changed);
    now.u.mma.c = map_list(m, tensor_elements(row, TENSOR_C), s->u.mma.c, &changed);
    Stmt *body = st_map(m, s->u.mma.body);
    REBUILD(mma.body, body);
}

Stmt *st_map_kids(StmtMap *m, Stmt *s) {
    switch (s->kind) {
    case ST_BLOCK: return map_block(m, s);
    case ST_FOR: return map_for(m, s);
    case ST_LET: return map_let(m, s);
    case ST_IF: return map_if(m, s);
    case ST_STORE: return map_store(m, s);
    case ST_ALLOC: return map_alloc(m, s);
    case ST_PRODUCE: return map_produce(m, s);
    case ST_CHECK: return map_check(m, s);
    case ST_EVAL: return map_eval(m, s);
    case ST_TURN: return map_turn(m, s);
    case ST_FORK: return map_fork(m, s);
    case ST_CALL: return map_call(m, s);
    case ST_PREFETCH: return map_prefetch(m, s);
    case ST_COUNT: return map_count(m, s);
    case ST_KERNEL: return map_kernel(m, s);
    case ST_MMA: return map_mma(m, s);
    case ST_BARRIER: case ST_COPIES: case ST_MOVE: return s;
    }
    return s;
}

/* ---- substitution ---- */

static const Node *substitute_expr(StmtMap *m, const Node *e) {
    return ir_substitute(m->ir, e, m->user);
}

Stmt *st_substitute(Arena *a, Interner *I, Stmt *s, const Sym *var, const Node *value) {
    PtrMap map;
    pm_init(&map, a);
    pm_put(&map, var, (void *)(uintptr_t)value);
    StmtMap m = { .arena = a, .ir = I, .expr = substitute_expr, .user = &map };
    return st_map(&m, s);
}

/* ---- conditions ---- */

static void fix(PtrMap *value, const Node *var, const Node *v) {
    if (var->op == OP_VAR) pm_put(value, var->u.sym, (void *)(uintptr_t)v);
}

/* p == 3, flag, !flag, and conjunctions of these.  0 == p holds for -0 too, so floats are left alone. */
void st_fixed(Interner *I, const Node *cond, PtrMap *value) {
    while (cond->op == OP_LAND) {
        st_fixed(I, cond->kid[1], value);
        cond = cond->kid[0];
    }
    if (cond->op == OP_EQ && !ty_is_float((mlc_type)cond->kid[0]->type))
        for (int k = 0; k < 2; k++)
            if (ir_is_const(cond->kid[1 - k])) fix(value, cond->kid[k], cond->kid[1 - k]);
    if (cond->op == OP_VAR) fix(value, cond, ir_bool(I, true));
    if (cond->op == OP_LNOT) fix(value, cond->kid[0], ir_bool(I, false));
}
