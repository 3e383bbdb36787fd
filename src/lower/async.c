/* async.c - how far the task of an asynchronous Func may run ahead of those that read it.
 *
 * A turn is one run of the place where the Func is computed: the task makes it, then the readers use it.  The
 * task's n-th turn may begin while readers are still at earlier ones as long as it stores to no element that they
 * read.  Along the innermost loop between memory and computation that is what a sliding window gives: each turn
 * stores only points beyond all earlier ones.  A folded dimension holds the windows of so many turns (folding.c),
 * so readers may be behind by less than that many; without a fold by any number.  Where that loop starts anew, in
 * the next iteration of a loop outside, the window starts anew too, and the task waits until all has been read:
 *
 *     for yo: for yi: give f ahead by less than select(0 < yi, 2, 1)
 *
 * The parts of a ring buffer (ring.c) are chosen by counting turns, so it holds the last so many whatever the loops
 * do.  Whatever a turn waits for would have been done before it if everything ran in line, in one fixed order.  So
 * no turns wait for each other in a circle. */
#include "lower/nest.h"

enum { ANY = 1 << 30 };

const Scope *low_turns(const FuncNest *fn) {
    for (const Scope *s = fn->compute; s != fn->store; s = s->up)
        if (s->var) return s;
    return NULL;
}

void low_async_place(Build *b, const FuncNest *fn) {
    if (!fn->sched->async) return;
    for (const Scope *s = fn->store; s; s = s->up) {
        if (!s->var || s->kind != LOOP_VECTOR) continue;
        Place place = sch_place(b->arena, fn->sched->async);
        fault_raise(b->fault, ERR_ASYNC_IN_VECTOR, &place, fn->func->name, s->dim->name);
    }
}

static bool slides_along(const FuncNest *fn, const Scope *at) {
    for (int d = 0; d < fn->func->rank; d++)
        if (fn->slid[d] == at) return true;
    return false;
}

static bool starts_anew(const FuncNest *fn, const Scope *at) {
    for (const Scope *s = at->up; s != fn->store; s = s->up)
        if (s->var) return true;
    return false;
}

void low_async_ahead(Build *b, FuncNest *fn) {
    const Scope *at = low_turns(fn);
    Interner *I = b->ir;
    fn->storage->channel = ARENA_NEW(b->arena, Channel);
    *fn->storage->channel = (Channel){ .func = fn->func, .line = fn->sched->async, .of_block = fn->storage->memory == STORE_SHARED };
    if (!at) return;
    if (fn->sched->ring) {
        fn->ahead = ir_idx(I, fn->sched->ring);
        return;
    }
    if (!slides_along(fn, at)) {
        Place place = sch_place(b->arena, fn->sched->async);
        fault_raise(b->fault, ERR_ASYNC_LOCKSTEP, &place, at->dim->name, fn->func->name);
    }
    if (fn->depth) fn->ahead = ir_idx(I, fn->depth);
    if (!starts_anew(fn, at)) return;
    const Node *later = ir_make1(I, OP_LIKELY, ir_make2(I, OP_LT, at->min, ir_var(I, at->var)));
    fn->ahead = ir_make3(I, OP_SELECT, later, fn->ahead ? fn->ahead : ir_idx(I, ANY), ir_idx(I, 1));
}
