/* prefetch.c - regions fetched into the caches ahead of their use.
 *
 *     out: prefetch(in, y, y, 2)
 *
 *     for y: prefetch in(x0 .., y + 2), a line of the cache each; then what the iteration does
 *
 * The region is what bounds inference says that the stage reads in one iteration of the loop `at`, with the
 * loop `from` moved on by the offset.  Nothing depends on it: a point out of memory is clamped into it, or
 * guarded, or fetched as it is, since no prefetch faults. */
#include "lower/nest.h"

enum { LINE_BYTES = 64 };

/* The memory of f that the stage reads, and the box that it holds. */
static const Storage *memory_of(Build *b, const StageNest *st, const Func *f, const Scope **where, Interval *have) {
    const FuncNest *fn = low_nest_read(b, st, f);
    const Storage *t = pm_has(&b->external, f) ? pm_get(&b->external, f) : fn ? fn->storage : NULL;
    *where = fn && !t->is_output ? fn->store : b->root;
    for (int d = 0; t && d < f->rank; d++) {
        const Node *first = fn && fn->base[d] ? fn->base[d] : t->min[d];
        have[d] = (Interval){ first, ir_sub(b->ir, ir_add(b->ir, first, t->extent[d]), ir_idx(b->ir, 1)) };
    }
    return t;
}

static void check(Build *b, const StageNest *st, const Prefetch *p, const Scope *at, const Scope *from, const Storage *memory,
                  const Scope *where) {
    Place place = sch_place(b->arena, p->line);
    const char *name = sch_stage_name(b->arena, st->fn->func, st->index);
    bool reads = false;
    for (int i = 0; i < st->read.n; i++) reads |= st->read.at[i].func == p->func;
    if (!reads || !memory || p->func == st->fn->func) fault_raise(b->fault, ERR_PREFETCH_READ, &place, name, p->func->name, p->from);
    const FuncSched *fs = pm_get(&b->sched->sched, p->func);
    bool own_part = fs && fs->ring; /* each iteration has a part of a ring buffer */
    if (own_part || where->depth >= from->depth) fault_raise(b->fault, ERR_PREFETCH_STORED, &place, p->func->name, p->from);
    if (at->in_vector) fault_raise(b->fault, ERR_PREFETCH_VECTOR, &place, p->at);
}

/* e over loop variables alone, `from` moved on. */
static const Node *ahead(Build *b, const Prefetch *p, const Scope *at, const Scope *from, const Node *e) {
    PtrMap named, moved;
    pm_init(&named, b->arena);
    const Scope **path = ARENA_ARRAY(b->arena, const Scope *, at->depth + 1);
    int n = 0;
    for (const Scope *s = at; s != from->up; s = s->up) path[n++] = s;
    while (n--)
        for (int i = 0; i < path[n]->let.n; i++) {
            const NestLet *let = &path[n]->let.at[i];
            pm_put(&named, let->sym, (void *)(uintptr_t)ir_substitute(b->ir, let->value, &named));
        }
    pm_init(&moved, b->arena);
    pm_put(&moved, from->var, (void *)(uintptr_t)ir_add(b->ir, ir_var(b->ir, from->var), ir_idx(b->ir, p->offset)));
    return ir_substitute(b->ir, ir_substitute(b->ir, e, &named), &moved);
}

static const Node *clamped(Build *b, const Node *e, const Interval *to) {
    return ir_min(b->ir, ir_max(b->ir, e, to->lo), to->hi);
}

/* The region of dimension d as it is fetched; what a guard asks is added to *guard. */
static Interval region(Build *b, const Prefetch *p, const Storage *t, int d, Interval need, Interval have, const Node **guard) {
    if (t->fold[d] > 0 || p->bounds == MLC_FETCH_NON_FAULTING) return need;
    if (p->bounds == MLC_FETCH_CLAMP) return (Interval){ clamped(b, need.lo, &have), clamped(b, need.hi, &have) };
    const Node *inside = ir_make2(b->ir, OP_LAND, ir_make2(b->ir, OP_LE, have.lo, need.lo), ir_make2(b->ir, OP_LE, need.hi, have.hi));
    *guard = ir_make2(b->ir, OP_LAND, *guard, inside);
    return need;
}

/* Loops over the region, along dimension 0 from line to line; `coord` is filled from the last dimension on. */
static Stmt *fetch(Build *b, const Prefetch *p, const Storage *t, int elem, int d, const Interval *box, const Node **coord) {
    Interner *I = b->ir;
    if (d < 0) {
        Stmt *s = st_prefetch(b->arena, ir_access(I, p->func, t->type[elem], elem, p->func->rank, coord));
        s->line = p->line;
        return s;
    }
    int64_t step = d ? 1 : LINE_BYTES / (int64_t)mlc_type_size(t->type[elem]);
    const Sym *v = low_sym(b, p->func, SYM_LOOP, arena_printf(b->arena, "%s.ahead%d", p->func->name, d));
    const Node *i = ir_var(I, v), *length = low_length(b, NULL, box[d]);
    const Node *count = ir_make2(I, OP_DIV, ir_add(I, length, ir_idx(I, step - 1)), ir_idx(I, step));
    coord[d] = ir_add(I, box[d].lo, ir_mul(I, i, ir_idx(I, step)));
    return st_for(b->arena, v, LOOP_SERIAL, ir_idx(I, 0), sim_simplify(I, NULL, count), fetch(b, p, t, elem, d - 1, box, coord));
}

static void prefetch(Build *b, StageNest *st, const Prefetch *p) {
    Scope *at = low_find_loop(st, p->at);
    const Scope *from = low_find_loop(st, p->from), *where;
    Interval box[MAX_RANK] = { { NULL, NULL } }, have[MAX_RANK];
    const Storage *t = memory_of(b, st, p->func, &where, have);
    check(b, st, p, at, from, t, where);
    if (!from->var) return; /* a loop of one iteration: none is ahead */
    const Node *guard = ir_bool(b->ir, true), *coord[MAX_RANK];
    low_required_by(b, p->func, st, at, box);
    for (int d = 0; d < p->func->rank; d++) {
        if (!box[d].lo) return; /* nothing is read */
        Interval need = { ahead(b, p, at, from, box[d].lo), ahead(b, p, at, from, box[d].hi) };
        box[d] = region(b, p, t, d, need, have[d], &guard);
    }
    for (int e = 0; e < t->n; e++) {
        Stmt *s = fetch(b, p, t, e, p->func->rank - 1, box, coord);
        if (!ir_is(guard, 1)) s = st_if(b->arena, guard, s, NULL);
        VEC_PUSH(b->arena, &at->prefetch, s);
    }
}

void low_prefetch(Build *b, StageNest *st) {
    for (int i = 0; i < st->sched->prefetch.n; i++) prefetch(b, st, &st->sched->prefetch.at[i]);
}
