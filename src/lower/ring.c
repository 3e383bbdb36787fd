/* ring.c - ring buffers: memory for several computations of a Func, used in turn.
 *
 * Each iteration of the innermost loop between memory and computation fills one part, whole: accesses count from the
 * start of the iteration's box and name the part in one more dimension.
 *
 *     for y: f over [y, y + 2]        for y: let f.part = (y - first) % 2
 *       f(x, y') ...                           f(x - x0, y' - y, f.part) ...
 *
 * The task of an asynchronous Func and its readers count turns instead (fork.c), so that parts follow each other
 * whatever iterations a guard leaves out. */
#include "lower/nest.h"

void low_ring_place(Build *b, const FuncNest *fn) {
    if (!fn->sched->ring) return;
    Place place = sch_place(b->arena, fn->sched->ring_line);
    if (low_whole_reads(b, fn)) fault_raise(b->fault, ERR_STAGE_RING, &place, fn->func->name);
    if (fn->store != fn->compute) return;
    fault_raise(b->fault, ERR_RING_STORE, &place, fn->func->name);
}

/* The longest box, from 0: of constant length where that is known. */
Interval low_ring_box(Build *b, const FuncNest *fn, int d) {
    if (fn->most[d] > 0 && !low_is_padded(fn, d)) return (Interval){ ir_idx(b->ir, 0), ir_idx(b->ir, fn->most[d] - 1) };
    const Facts *all = low_facts(b, NULL, fn->compute), *inner = low_facts(b, fn->store, fn->compute);
    const Node *most = sim_bounds(b->ir, inner, low_length(b, all, fn->computed[d]), NULL).hi;
    if (!most) {
        Place place = sch_place(b->arena, fn->sched->ring_line);
        fault_raise(b->fault, ERR_STORE_UNBOUNDED, &place, fn->func->name, d);
    }
    return (Interval){ ir_idx(b->ir, 0), ir_sub(b->ir, most, ir_idx(b->ir, 1)) };
}

Stmt *low_ring(Build *b, const FuncNest *fn, Stmt *s) {
    Interner *I = b->ir;
    const Scope *at = low_turns(fn);
    const Node *parts = ir_idx(I, fn->sched->ring), *value = ir_idx(I, 0), *base[MAX_RANK];
    const Sym *part = low_sym(b, fn->func, SYM_LET, arena_printf(b->arena, "%s.part", fn->func->name));
    if (at) value = ir_make2(I, OP_MOD, ir_sub(I, ir_var(I, at->var), at->min), parts);
    if (fn->storage->channel) {
        fn->storage->channel->part = part;
        fn->storage->channel->parts = fn->sched->ring;
    }
    for (int d = 0; d < fn->func->rank; d++) base[d] = fn->computed[d].lo;
    return st_let(b->arena, part, value, low_relative(b, fn->func, base, ir_var(I, part), s));
}
