/* alloc_bounds.c - the memory of an internal Func: the union of its boxes over the loops between the place
 * where it is stored and the place where it is computed.
 *
 * A size that is a small constant (at least: bounded by one) goes to the stack, with that constant as
 * extents, so that strides are constants too. */
#include "lower/nest.h"

#include <string.h>

enum { STACK_BYTES = 16 * 1024 };

static const char *identifier(Build *b, const char *name) {
    char *id = arena_str(b->arena, name);
    for (char *c = id; *c; c++)
        if (*c == '.' || *c == '$') *c = '_';
    const char *full = id;
    for (int i = 1; sm_get(&b->names, full); i++) full = arena_printf(b->arena, "%s_%d", id, i);
    sm_put(&b->names, full, (void *)(uintptr_t)1);
    return full;
}

/* The box at the store scope. */
static Interval lifetime(Build *b, const FuncNest *fn, int d) {
    Interval i = fn->computed[d];
    if (fn->store == fn->compute) return i;
    const Facts *f = low_facts(b, fn->store, fn->compute);
    if (fn->slid[d]) i.lo = fn->wide[d].lo; /* the first iteration starts there */
    Interval all = { sim_bounds(b->ir, f, i.lo, NULL).lo, sim_bounds(b->ir, f, i.hi, NULL).hi };
    if (!all.lo || !all.hi) {
        Place place = sch_place(b->arena, fn->sched->store.line);
        fault_raise(b->fault, ERR_STORE_UNBOUNDED, &place, fn->func->name, d);
    }
    return all;
}

void low_allocate(Build *b, FuncNest *fn) {
    Func *f = fn->func;
    Storage *t = ARENA_NEW(b->arena, Storage);
    const Facts *facts = low_facts(b, NULL, fn->store);
    *t = (Storage){ .func = f, .name = identifier(b, f->name), .rank = f->rank, .n = f->n };
    t->line = fn->sched->store.line ? fn->sched->store.line : fn->sched->compute.line;
    memcpy(t->type, f->type, sizeof t->type);
    memcpy(t->order, fn->sched->storage.order, sizeof t->order);
    memcpy(t->align, fn->sched->storage.align, sizeof t->align);
    int64_t elems = 1, most[MAX_RANK], bytes = 1;
    bool small = true;
    for (int i = 0; i < f->n; i++) bytes = (int64_t)mlc_type_size(f->type[i]) > bytes ? (int64_t)mlc_type_size(f->type[i]) : bytes;
    for (int d = 0; d < f->rank; d++) {
        Interval i = lifetime(b, fn, d);
        int64_t lo;
        t->min[d] = sim_simplify(b->ir, facts, i.lo);
        t->extent[d] = low_length(b, facts, i);
        t->fold[d] = low_fold(b, fn, d);
        if (t->fold[d]) {
            t->min[d] = ir_idx(b->ir, 0);
            t->extent[d] = ir_idx(b->ir, t->fold[d]);
        }
        bool tile = fn->store == fn->compute && fn->most[d] > 0 && fn->computed[d].hi == fn->box[d].hi;
        if (tile) most[d] = fn->most[d];
        else small = small && sim_const_bounds(b->ir, facts, t->extent[d], &lo, &most[d]);
        small = small && most[d] <= STACK_BYTES;
        elems *= small && most[d] > 0 ? st_align_up(most[d], t->align[d]) : 1;
        small = small && elems * bytes <= STACK_BYTES;
    }
    if (small) {
        for (int d = 0; d < f->rank; d++) t->extent[d] = ir_idx(b->ir, most[d] > 0 ? most[d] : 1);
        t->const_elems = elems;
        t->memory = STORE_STACK;
    }
    fn->storage = t;
    if (fn->sched->async) low_async_ahead(b, fn);
}
