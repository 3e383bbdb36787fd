/* folding.c - circular buffers: of a Func stored outside of a loop, only the window that one iteration
 * touches has to be in memory.
 *
 * Let [a(v), b(v)] be the points of a dimension that iteration v touches, over all loops inside.  Where
 * neither end ever falls, two points that share a place in a circle of at least max(b - a + 1) places are
 * never in one window, so nothing that is still needed is overwritten.  A loop outside of v starts the
 * window anew; that is right only where nothing slides along such a loop. */
#include "lower/nest.h"

enum { LARGEST = 1 << 20 };

static bool slides_outside(const FuncNest *fn, const Scope *at) {
    for (int d = 0; d < fn->func->rank; d++)
        if (fn->slid[d] && fn->slid[d]->depth < at->depth) return true;
    return false;
}

/* Vector loops run over the dimension of stride 1 as a rule: a circle would break their rows. */
static bool in_vectors(Build *b, const FuncNest *fn) {
    const UseList *uses = pm_get(&b->uses, fn->func);
    for (int i = 0; i < fn->stage.n; i++)
        for (const Scope *s = fn->stage.at[i]->leaf; s != fn->compute; s = s->up)
            if (s->kind == LOOP_VECTOR) return true;
    for (int i = 0; uses && i < uses->n; i++)
        for (const Scope *s = uses->at[i]->leaf; s != fn->compute; s = s->up)
            if (s->kind == LOOP_VECTOR) return true;
    return false;
}

static bool rises(Build *b, const Facts *f, const Node *e, const Sym *v) {
    int way = sim_monotonic(b->ir, f, e, v);
    return way == 0 || way == 1;
}

static const Node *earlier(Build *b, const Node *e, const Sym *v, int64_t by) {
    PtrMap map;
    pm_init(&map, b->arena);
    pm_put(&map, v, (void *)(uintptr_t)ir_sub(b->ir, ir_var(b->ir, v), ir_idx(b->ir, by)));
    return by ? ir_substitute(b->ir, e, &map) : e;
}

/* The largest length that the windows of so many iterations in a row of loop `at` have together, 0 where it is
 * not known. */
static int64_t window(Build *b, const FuncNest *fn, const Scope *at, int d, int64_t iterations) {
    const Facts *inner = low_facts(b, at, fn->compute), *all = low_facts(b, NULL, fn->compute);
    Interval w = { sim_bounds(b->ir, inner, fn->full[d].lo, NULL).lo, sim_bounds(b->ir, inner, fn->full[d].hi, NULL).hi };
    int64_t lo, hi;
    if (!w.lo || !w.hi || !rises(b, all, w.lo, at->var) || !rises(b, all, w.hi, at->var)) return 0;
    w.lo = earlier(b, w.lo, at->var, iterations - 1);
    return sim_const_bounds(b->ir, all, low_length(b, all, w), &lo, &hi) && hi > 0 && hi <= LARGEST ? hi : 0;
}

static int64_t power_of_two(int64_t need) {
    int64_t size = 1;
    while (size < need) size *= 2;
    return size;
}

enum { MOST_TURNS = 16 };

/* A task runs ahead along one loop: the circle holds two windows, and as many more as its size has room for. */
static int64_t fold_turns(Build *b, FuncNest *fn, int d) {
    const Scope *at = low_turns(fn);
    if (!at || fn->slid[d] != at || slides_outside(fn, at)) return 0;
    int64_t need = window(b, fn, at, d, 2), size = power_of_two(need), more;
    if (!need) return 0;
    for (fn->depth = 2; fn->depth < MOST_TURNS; fn->depth++)
        if (!(more = window(b, fn, at, d, fn->depth + 1)) || more > size) break;
    return size;
}

int64_t low_fold(Build *b, FuncNest *fn, int d) {
    if (fn->store == fn->compute || fn->computed[d].hi != fn->box[d].hi) return 0;
    if (d == fn->sched->storage.order[0] && in_vectors(b, fn)) return 0;
    if (fn->sched->async) return fold_turns(b, fn, d);
    for (const Scope *s = fn->compute; s != fn->store; s = s->up) {
        if (!s->var) continue;
        if (!ir_uses(b->arena, fn->full[d].lo, s->var) && !ir_uses(b->arena, fn->full[d].hi, s->var)) continue;
        int64_t need = slides_outside(fn, s) ? 0 : window(b, fn, s, d, 1);
        if (need) return power_of_two(need);
    }
    return 0;
}
