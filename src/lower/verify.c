/* verify.c - what must hold between passes: every variable is bound where it is used, every access finds
 * memory, indices are of index type.  A violation is a fault of lowering, never of the user. */
#include "lower/loops.h"

typedef struct {
    Program *p;
    const char *pass;
    Arena scratch;
    PtrMap bound;   /* Sym -> number of enclosing statements that bind it */
    PtrMap stored;  /* Func -> number of enclosing allocations, and external buffers */
    PtrMap memory;  /* Storage, the same */
    PtrMap rank;    /* Func -> dimensions of its memory: a ring buffer has one more */
    PtrMap forked;  /* Channel, the same: forks */
    const Kernel *kernel; /* the one around, or NULL */
} Verify;

static _Noreturn void broken(Verify *v, const char *what, const char *name) {
    Fault *f = v->p->arena->fault;
    const char *text = arena_printf(v->p->arena, "after %s: %s %s", v->pass, what, name);
    arena_free(&v->scratch);
    fault_raise(f, ERR_INTERNAL, NULL, __FILE__, __LINE__, text);
}

static void add(PtrMap *m, const void *key, intptr_t by) {
    pm_put(m, key, (void *)((intptr_t)pm_get(m, key) + by));
}

static void visit_node(void *user, const Node *e) {
    Verify *v = user;
    if (e->op == OP_VAR) {
        SymKind k = e->u.sym->kind;
        if (k == SYM_VAR || k == SYM_RVAR) broken(v, "variable of the algorithm left:", e->u.sym->name);
        if ((k == SYM_LOOP || k == SYM_LET) && !pm_get(&v->bound, e->u.sym))
            broken(v, "unbound variable", e->u.sym->name);
    } else if (e->op == OP_ACCESS) {
        if (v->p->flat) broken(v, "access left after flatten:", e->u.func->name);
        if (!pm_get(&v->stored, e->u.func)) broken(v, "access without memory:", e->u.func->name);
        if (e->n != (intptr_t)pm_get(&v->rank, e->u.func)) broken(v, "access of another rank:", e->u.func->name);
    } else if (e->op == OP_LOAD) {
        if (!pm_get(&v->memory, e->u.storage)) broken(v, "load without memory:", e->u.storage->name);
    } else if (e->op == OP_POISON || ir_ops[e->op].cls == CLASS_DERIVED || ir_ops[e->op].cls == CLASS_CANON) {
        broken(v, "operator that is not canonical:", ir_ops[e->op].name);
    }
}

static void check_expr(Verify *v, const Node *e) {
    if (!e) broken(v, "missing expression", "");
    if (!ir_is_const(e)) ir_visit(&v->scratch, e, visit_node, v);
}

static void check_index(Verify *v, const Node *e) {
    check_expr(v, e);
    if (e->type != MLC_INDEX) broken(v, "index of another type:", mlc_type_name((mlc_type)e->type));
}

static void check_stmt(Verify *v, const Stmt *s);

static void check_bound(Verify *v, const Sym *var, const Stmt *body) {
    if (!body) broken(v, "empty scope of", var->name);
    add(&v->bound, var, 1);
    check_stmt(v, body);
    add(&v->bound, var, -1);
}

static void check_store(Verify *v, const Stmt *s) {
    const Func *f = s->u.store.func;
    if (!pm_get(&v->stored, f)) broken(v, "store without memory:", f->name);
    if (v->p->flat && !s->u.store.storage) broken(v, "store not flattened:", f->name);
    for (int d = 0; d < s->u.store.rank; d++) check_index(v, s->u.store.coord[d]);
    for (int i = 0; i < s->u.store.n && s->u.store.old[i]; i++) add(&v->bound, s->u.store.old[i], 1);
    for (int i = 0; i < s->u.store.n; i++) {
        check_expr(v, s->u.store.value[i]);
        if (s->u.store.value[i]->type != f->type[i]) broken(v, "store of another type:", f->name);
    }
    for (int i = 0; i < s->u.store.n && s->u.store.old[i]; i++) add(&v->bound, s->u.store.old[i], -1);
}

/* Has an array of constant size room for all points, padding included? */
static bool has_room(const Storage *t) {
    int64_t n = 1, extent;
    for (int d = 0; d < t->rank; d++) {
        if (!ir_is_int(t->extent[d], &extent)) return false;
        n *= st_align_up(extent, t->align[d]);
    }
    return n <= t->const_elems;
}

static void check_alloc(Verify *v, const Stmt *s) {
    Storage *t = s->u.alloc.storage;
    if (t->memory == STORE_SHARED && !v->kernel && v->p->flat) broken(v, "shared memory outside of kernels:", t->func->name);
    if ((t->memory == STORE_STACK || t->memory == STORE_SHARED) && !has_room(t)) broken(v, "no room in the array of", t->func->name);
    for (int d = 0; d < t->rank; d++) {
        check_index(v, t->min[d]);
        check_index(v, t->extent[d]);
    }
    const Memo *m = t->memo;
    for (int i = 0; m && i < m->n_words; i++) check_index(v, m->word[i]);
    for (int i = 0; m && i < m->n_in; i++)
        for (int d = 0; d < m->in[i].func->rank; d++) check_index(v, m->in[i].min[d]), check_index(v, m->in[i].extent[d]);
    if (m && m->evict) check_index(v, m->evict);
    if (m) add(&v->bound, m->found, 1), add(&v->bound, m->entry, 1);
    void *outer = pm_get(&v->rank, t->func);
    add(&v->stored, t->func, 1);
    add(&v->memory, t, 1);
    pm_put(&v->rank, t->func, (void *)(intptr_t)t->rank);
    check_stmt(v, s->u.alloc.body);
    pm_put(&v->rank, t->func, outer);
    add(&v->stored, t->func, -1);
    add(&v->memory, t, -1);
    if (m) add(&v->bound, m->found, -1), add(&v->bound, m->entry, -1);
}

/* Before the pass that splits tasks off, turns stand in line. */
static void check_turn(Verify *v, const Stmt *s) {
    if (s->u.turn.ahead) check_index(v, s->u.turn.ahead);
    if (s->u.turn.channel->readers && !pm_get(&v->forked, s->u.turn.channel))
        broken(v, "a turn outside of its fork:", s->u.turn.channel->func->name);
    const Sym *part = pm_get(&v->forked, s->u.turn.channel) ? s->u.turn.channel->part : NULL;
    if (part) add(&v->bound, part, 1);
    if (s->u.turn.body) check_stmt(v, s->u.turn.body);
    if (part) add(&v->bound, part, -1);
}

static void check_fork(Verify *v, const Stmt *s) {
    add(&v->forked, s->u.fork.channel, 1);
    if (s->u.fork.task) check_stmt(v, s->u.fork.task);
    if (s->u.fork.rest) check_stmt(v, s->u.fork.rest);
    add(&v->forked, s->u.fork.channel, -1);
}

static void check_call(Verify *v, const Stmt *s) {
    Whole w = alg_whole(s->u.call.func);
    for (int i = 0; i < s->u.call.n; i++) check_expr(v, s->u.call.e[i]);
    for (int i = 0; i <= w.n_in; i++) {
        const Func *f = i < w.n_in ? w.in[i] : s->u.call.func;
        bool there = v->p->flat ? s->u.call.storage && pm_get(&v->memory, s->u.call.storage[i]) : pm_get(&v->stored, f) != NULL;
        if (!there) broken(v, "call without memory:", f->name);
    }
}

static void check_kernel(Verify *v, const Stmt *s) {
    const Kernel *k = s->u.kernel.kernel;
    if (v->kernel) broken(v, "a kernel in a kernel:", k->name);
    for (int d = 0; d < GPU_DIMS; d++) {
        check_index(v, k->grid[d]);
        if (k->threads[d] < 1) broken(v, "a kernel without threads:", k->name);
        add(&v->bound, k->block[d], 1), add(&v->bound, k->thread[d], 1);
    }
    v->kernel = k;
    check_stmt(v, s->u.kernel.body);
    v->kernel = NULL;
    for (int d = 0; d < GPU_DIMS; d++) add(&v->bound, k->block[d], -1), add(&v->bound, k->thread[d], -1);
}

static void check_move(Verify *v, const Stmt *s) {
    const Storage *t = s->u.move.storage;
    if (v->kernel) broken(v, "a move in a kernel:", t->name);
    if (!t->on_device) broken(v, "a move of what is on the host alone:", t->name);
    if (!pm_get(&v->stored, t->func)) broken(v, "a move without memory:", t->name);
}

static void check_operand(Verify *v, const TensorRow *row, TensorOperand operand, const Node *const *e) {
    mlc_type type = operand == TENSOR_C ? row->c : row->ab;
    for (int i = 0; i < tensor_elements(row, operand); i++) {
        check_expr(v, e[i]);
        if ((mlc_type)e[i]->type != type) broken(v, "an operand of another type of", row->name);
    }
}

static void check_mma(Verify *v, const Stmt *s) {
    const TensorRow *row = s->u.mma.row;
    if (!s->u.mma.body) broken(v, "empty scope of", row->name);
    check_operand(v, row, TENSOR_A, s->u.mma.a);
    check_operand(v, row, TENSOR_B, s->u.mma.b);
    check_operand(v, row, TENSOR_C, s->u.mma.c);
    for (int i = 0; i < tensor_elements(row, TENSOR_C); i++) add(&v->bound, s->u.mma.d[i], 1);
    check_stmt(v, s->u.mma.body);
    for (int i = 0; i < tensor_elements(row, TENSOR_C); i++) add(&v->bound, s->u.mma.d[i], -1);
}

static void check_stmt(Verify *v, const Stmt *s) {
    if (!s) broken(v, "missing statement", "");
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) check_stmt(v, s->u.block.at[i]);
        break;
    case ST_FOR:
        check_index(v, s->u.loop.min);
        check_index(v, s->u.loop.extent);
        check_bound(v, s->u.loop.var, s->u.loop.body);
        break;
    case ST_LET:
        check_expr(v, s->u.let.value);
        if (s->u.let.value->type != s->u.let.var->type) broken(v, "let of another type:", s->u.let.var->name);
        check_bound(v, s->u.let.var, s->u.let.body);
        break;
    case ST_IF:
        check_expr(v, s->u.cond.cond);
        if (s->u.cond.cond->type != MLC_BOOL) broken(v, "condition that is no bool", "");
        check_stmt(v, s->u.cond.yes);
        if (s->u.cond.no) check_stmt(v, s->u.cond.no);
        break;
    case ST_STORE: check_store(v, s); break;
    case ST_ALLOC: check_alloc(v, s); break;
    case ST_PRODUCE:
        if (s->u.produce.keep && !pm_get(&v->bound, s->u.produce.keep)) broken(v, "values kept outside of their memory:", s->u.produce.func->name);
        check_stmt(v, s->u.produce.body);
        break;
    case ST_CHECK:
        check_expr(v, s->u.check.cond);
        for (int i = 0; i < s->u.check.n; i++) check_index(v, s->u.check.arg[i]);
        break;
    case ST_TURN: check_turn(v, s); break;
    case ST_FORK: check_fork(v, s); break;
    case ST_EVAL: check_expr(v, s->u.eval.value); break;
    case ST_CALL: check_call(v, s); break;
    case ST_PREFETCH: check_expr(v, s->u.prefetch.read); break;
    case ST_COUNT: check_index(v, s->u.count.amount); break;
    case ST_KERNEL: check_kernel(v, s); break;
    case ST_COPIES:
        if (!v->kernel && v->p->flat) broken(v, "a wait for copies outside of kernels", "");
        break;
    case ST_BARRIER:
        if (!v->kernel && v->p->flat) broken(v, "a barrier outside of kernels", "");
        break;
    case ST_MOVE: check_move(v, s); break;
    case ST_MMA: check_mma(v, s); break;
    }
}

void st_verify(Program *p, const char *after_pass) {
    Verify v = { .p = p, .pass = after_pass };
    arena_init(&v.scratch, &p->arena->hook, p->arena->fault);
    pm_init(&v.bound, &v.scratch);
    pm_init(&v.stored, &v.scratch);
    pm_init(&v.memory, &v.scratch);
    pm_init(&v.rank, &v.scratch);
    pm_init(&v.forked, &v.scratch);
    for (int i = 0; i < p->external.n; i++) {
        add(&v.stored, p->external.at[i]->func, 1);
        pm_put(&v.rank, p->external.at[i]->func, (void *)(intptr_t)p->external.at[i]->rank);
        add(&v.memory, p->external.at[i], 1);
    }
    if (p->body) check_stmt(&v, p->body);
    arena_free(&v.scratch);
}
