/* copies.c - copies to shared memory that a GPU makes on its own (copy_by(cp_async)).
 *
 *     as(u, y) = a(u, y) by cp_async       a thread asks for 4, 8 or 16 bytes: a point, or the lanes of a vector loop
 *     wait for copies                      it waits for those that it has asked for, and then at a barrier for the others
 *
 * What is asked for lands at any time up to the wait; until then neither the old values nor the new ones are there.  While the
 * nest is built, it is seen to that the Func is a copy to memory of a block.  Where nothing is left
 * but indices (the last pass) lanes must be neighbours on both sides and begin at multiples of their bytes: proven, under what
 * calls are then checked for: that mins and strides of the caller's buffers are multiples, and their memory aligned. */
#include "lower/nest.h"
#include "lower/passes.h"

/* ---- is it one? ---- */

void low_check_copy(Build *b, const FuncNest *fn) {
    const StorageSched *plan = &fn->sched->storage;
    const Func *f = fn->func;
    if (!plan->copy_line) return;
    Place place = sch_place(b->arena, plan->copy_line);
    const Node *value = fn->stage.n == 1 && f->n == 1 ? fn->stage.at[0]->value[0] : NULL;
    if (!value || value->op != OP_ACCESS) fault_raise(b->fault, ERR_COPY_NOT, &place, f->name);
    if (plan->copy == MLC_COPY_LDST) return;
    bool shared = low_gpu_level(fn->hoist) == GPU_OF_BLOCK && low_memory_kind(b, fn) == STORE_SHARED;
    if (!shared) fault_raise(b->fault, ERR_COPY_SHARED, &place, f->name, low_place_name(b, fn->hoist));
}

const PlanLine *low_copied_async(const FuncNest *fn) {
    return fn->sched->storage.copy == MLC_COPY_CP_ASYNC ? fn->sched->storage.copy_line : NULL;
}

/* ---- do its lanes fit? ---- */

typedef struct {
    Program *p;
    PtrMap value;      /* names of indices -> what they stand for */
    const Stmt *lanes; /* the vector loop around, NULL: none */
    bool apart;        /* ... and a condition inside of it */
    PtrMap multiple;   /* Sym -> the multiple that it must be of; 0: it must be 1, */
    VEC(const Sym *) sym; /* each of them once */
} Copies;

static Place place_of(const Copies *c, const Stmt *s) {
    return sch_place(c->p->arena, s->u.store.async);
}

typedef struct {
    VEC(const Sym *) sym;
    Arena *arena;
} Sizes;

/* Mins and strides of buffers. */
static void find_size(void *user, const Node *e) {
    Sizes *s = user;
    bool size = e->op == OP_VAR && (e->u.sym->kind == SYM_MIN || e->u.sym->kind == SYM_STRIDE);
    for (int i = 0; i < s->sym.n && size; i++) size = s->sym.at[i] != e->u.sym;
    if (size) VEC_PUSH(s->arena, &s->sym, e->u.sym);
}

/* Is e a multiple of n where those sizes are? */
static bool is_multiple(Copies *c, const Node *e, int64_t n, const Sizes *sizes) {
    Interner *I = c->p->ir;
    PtrMap times;
    pm_init(&times, c->p->arena);
    for (int i = 0; i < sizes->sym.n; i++)
        if (sizes->sym.at[i]) pm_put(&times, sizes->sym.at[i], (void *)(uintptr_t)ir_mul(I, ir_var(I, sizes->sym.at[i]), ir_idx(I, n)));
    const Node *now = sim_simplify(I, NULL, ir_substitute(I, e, &times));
    int64_t k;
    if (ir_is_int(now, &k)) return k % n == 0;
    Congruence g = sim_congruence(I, NULL, now);
    return g.modulus % n == 0 && g.remainder % n == 0;
}

static void need(Copies *c, const Sym *s, int64_t multiple) {
    bool have = pm_has(&c->multiple, s);
    if (!have) VEC_PUSH(c->p->arena, &c->sym, s);
    if (!have || multiple > (intptr_t)pm_get(&c->multiple, s)) pm_put(&c->multiple, s, (void *)(intptr_t)multiple); /* powers of two */
}

/* The first lane of an index at a multiple of n, under as few multiples of sizes as that takes. */
static bool begins_at(Copies *c, const Node *first, int64_t n) {
    Sizes sizes = { .arena = c->p->arena };
    ir_visit(c->p->arena, first, find_size, &sizes);
    if (!is_multiple(c, first, n, &sizes)) return false;
    for (int i = 0; i < sizes.sym.n; i++) {
        const Sym *one = sizes.sym.at[i];
        sizes.sym.at[i] = NULL;
        if (!is_multiple(c, first, n, &sizes)) sizes.sym.at[i] = one;
    }
    for (int i = 0; i < sizes.sym.n; i++) {
        const Sym *s = sizes.sym.at[i];
        if (!s) continue;
        need(c, s, n);
    }
    return true;
}

/* Buffers whose rows are no arrays have code of their own, which copies rows that are nevertheless. */
static const Node *with_dense_rows(Copies *c, const Storage *t, const Node *index) {
    PtrMap one;
    const Node *stride = t->rank ? t->stride[0] : NULL;
    bool open = (t->is_input || t->is_output) && stride && stride->op == OP_VAR && ir_uses(c->p->arena, index, stride->u.sym);
    if (!open) return index;
    need(c, stride->u.sym, 0);
    pm_init(&one, c->p->arena);
    pm_put(&one, stride->u.sym, (void *)(uintptr_t)ir_idx(c->p->ir, 1));
    return sim_simplify(c->p->ir, NULL, ir_substitute(c->p->ir, index, &one));
}

/* One side of the copies of `lanes` elements. */
static void check_side(Copies *c, const Stmt *s, const Storage *t, const Node *index, int64_t lanes) {
    Interner *I = c->p->ir;
    const Sym *lane = c->lanes->u.loop.var;
    const Node *rest, *first;
    int64_t step;
    PtrMap start;
    Place place = place_of(c, s);
    index = with_dense_rows(c, t, ir_substitute(I, index, &c->value));
    if (!sim_linear(I, index, lane, &step, &rest) || step != 1) fault_raise(c->p->arena->fault, ERR_COPY_ROWS, &place, s->u.store.func->name, t->func->name);
    pm_init(&start, c->p->arena);
    pm_put(&start, lane, (void *)(uintptr_t)ir_substitute(I, c->lanes->u.loop.min, &c->value));
    first = sim_simplify(I, NULL, ir_substitute(I, index, &start));
    if (begins_at(c, first, lanes)) return;
    fault_raise(c->p->arena->fault, ERR_COPY_START, &place, s->u.store.func->name, ir_show(I, first), t->func->name, (long long)lanes);
}

static void check_copy(Copies *c, const Stmt *s) {
    const Node *from = s->u.store.value[0];
    const Storage *source = from->u.storage;
    int64_t lanes = 1;
    Place place = place_of(c, s);
    bool global = source->is_input || source->is_output || source->memory == STORE_HEAP;
    if (!global) fault_raise(c->p->arena->fault, ERR_COPY_SOURCE, &place, s->u.store.func->name, source->func->name);
    if (c->lanes && !ir_is_int(c->lanes->u.loop.extent, &lanes)) lanes = 0;
    int64_t bytes = lanes * (int64_t)mlc_type_size(s->u.store.storage->type[0]);
    if (bytes != 4 && bytes != 8 && bytes != 16)
        fault_raise(c->p->arena->fault, ERR_COPY_BYTES, &place, (long long)bytes, s->u.store.func->name);
    if (lanes == 1) return;
    if (c->apart) fault_raise(c->p->arena->fault, ERR_COPY_APART, &place, s->u.store.func->name);
    check_side(c, s, s->u.store.storage, s->u.store.coord[0], lanes);
    check_side(c, s, source, from->kid[0], lanes);
    for (int i = 0; i < c->p->external.n; i++) { /* those of this pass, which may change yet */
        Storage *t = c->p->external.at[i];
        if (t == source && bytes > t->copy_bytes) t->copy_bytes = bytes;
    }
}

static Stmt *look(StmtMap *m, Stmt *s) {
    Copies *c = m->user, outer = *c;
    if (s->kind == ST_STORE && s->u.store.async) check_copy(c, s);
    if (s->kind == ST_LET && s->u.let.var->type == MLC_INDEX)
        pm_put(&c->value, s->u.let.var, (void *)(uintptr_t)ir_substitute(m->ir, s->u.let.value, &c->value));
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_VECTOR) c->lanes = s, c->apart = false;
    if (s->kind == ST_IF) c->apart = c->lanes != NULL;
    if (s->kind == ST_FOR && s->u.loop.kind != LOOP_VECTOR && c->lanes) c->apart = true;
    st_map_kids(m, s);
    c->lanes = outer.lanes;
    c->apart = outer.apart;
    return s;
}

/* ---- what is asked of a call ---- */

static const char *size_name(const Sym *s, Arena *a) {
    return arena_printf(a, "the %s of dimension %d of %s", s->kind == SYM_MIN ? "min" : "stride", s->dim, s->func->name);
}

static Stmt *checks(const Copies *c, Stmt *body) {
    Arena *a = c->p->arena;
    Interner *I = c->p->ir;
    Stmt **at = ARENA_ARRAY(a, Stmt *, c->sym.n + 1);
    for (int i = 0; i < c->sym.n; i++) {
        const Sym *sym = c->sym.at[i];
        int64_t n = (intptr_t)pm_get(&c->multiple, sym);
        const Node *arg[2] = { ir_var(I, sym), ir_idx(I, n) }, *rest = n ? ir_make2(I, OP_MOD, arg[0], arg[1]) : ir_sub(I, arg[0], ir_idx(I, 1));
        at[i] = st_check(a, ir_make2(I, OP_EQ, rest, ir_idx(I, 0)), n ? ERR_COPY_ALIGN : ERR_COPY_DENSE, size_name(sym, a), NULL, n ? 2 : 1, arg);
    }
    at[c->sym.n] = body;
    return st_block(a, c->sym.n + 1, at);
}

void low_check_copies(Program *p) {
    Copies c = { .p = p };
    pm_init(&c.value, p->arena);
    pm_init(&c.multiple, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = look, .user = &c };
    st_map(&m, p->body);
    if (!c.sym.n) return;
    Stmt *s = p->body;
    bool inside = s->kind == ST_IF && !s->u.cond.no; /* a call that has nothing to do asks for nothing */
    if (inside) {
        p->body = arena_copy(p->arena, s, sizeof *s);
        p->body->u.cond.yes = checks(&c, s->u.cond.yes);
    } else p->body = checks(&c, s);
}
