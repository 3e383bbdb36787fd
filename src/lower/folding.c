/* folding.c - circular buffers: of a Func stored outside of a loop, only the window that one iteration
 * touches has to be in memory.
 *
 * Let [a(v), b(v)] be the points of a dimension that iteration v touches, over all loops inside.  Where
 * neither end ever falls, two points that share a place in a circle of at least max(b - a + 1) places are
 * never in one window, so nothing that is still needed is overwritten.  Where nothing slides along v the ends
 * may fall too, since each iteration computes its window anew; only who asks for it (.way = both) gets that.
 * A loop outside of v starts the window anew; that is right only where nothing slides along such a loop.
 *
 * The circle has the next power of two places, or as many as fold_storage says. */
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
    for (int i = 0; i < fn->run.n; i++)
        for (const Scope *s = fn->run.at[i]->leaf; s != fn->compute; s = s->up)
            if (s->kind == LOOP_VECTOR) return true;
    for (int i = 0; uses && i < uses->n; i++) {
        if (!low_encloses(fn->compute, uses->at[i]->leaf)) continue;
        for (const Scope *s = uses->at[i]->leaf; s != fn->compute; s = s->up)
            if (s->kind == LOOP_VECTOR) return true;
    }
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

/* The length that the windows of so many iterations in a row of loop `at` have together, NULL where that is no
 * window: *why says what is in the way. */
static const Node *window(Build *b, const FuncNest *fn, const Scope *at, int d, int64_t iterations, const char **why) {
    const Facts *inner = low_facts(b, at, fn->compute), *all = low_facts(b, NULL, fn->compute);
    Interval w = { sim_bounds(b->ir, inner, fn->full[d].lo, NULL).lo, sim_bounds(b->ir, inner, fn->full[d].hi, NULL).hi };
    bool anew = fn->sched->storage.dim[d].way == MLC_WAY_BOTH && fn->slid[d] != at;
    *why = NULL;
    if (slides_outside(fn, at)) *why = "what slides along a loop outside needs it whole";
    else if (!w.lo || !w.hi) *why = "its window has no bounds";
    else if (!anew && (!rises(b, all, w.lo, at->var) || !rises(b, all, w.hi, at->var)))
        *why = arena_printf(b->arena, "its window does not rise along %s", at->var->name);
    if (*why) return NULL;
    w.lo = earlier(b, w.lo, at->var, iterations - 1);
    return low_length(b, all, w);
}

/* Does a tail read points outside of the box, to store them as they were?  In a circle their places hold others. */
static bool blends(const FuncNest *fn) {
    for (int i = 0; i < fn->run.n; i++) {
        const StageSched *s = fn->run.at[i]->sched;
        for (int k = 0; k < s->split.n; k++)
            if (s->split.at[k].kind == SPLIT_SPLIT && sch_tail_traits[s->split.at[k].tail].blends) return true;
    }
    return false;
}

/* What keeps a dimension from being folded along any loop. */
static const char *obstacle(Build *b, const FuncNest *fn, int d) {
    bool asked = fn->sched->storage.dim[d].fold > 0;
    if (fn->store == fn->compute) return "it is stored where it is computed";
    if (fn->sched->ring) return "each iteration has a part of a ring buffer";
    if (low_whole_reads(b, fn)) return "an extern stage reads it";
    if (low_is_padded(fn, d)) return "a tail rounds its loop up";
    if (blends(fn)) return "a tail blends with what is there";
    if (fn->sched->bound[d].extent) return "its bound is computed whole";
    if (fn->sched->align[d].modulus) return "it is aligned";
    if (!asked && d == fn->sched->storage.order[0] && in_vectors(b, fn)) return "vectors run along it";
    return NULL;
}

/* The circle that the plan asks for: it must hold the window, which is checked at run time if need be. */
static int64_t asked_size(Build *b, FuncNest *fn, int d, const Node *length) {
    const Facts *all = low_facts(b, NULL, fn->compute);
    int64_t size = fn->sched->storage.dim[d].fold, lo, hi;
    const PlanLine *line = fn->sched->storage.dim[d].fold_line;
    bool known = sim_const_bounds(b->ir, all, length, &lo, &hi);
    if (known && hi <= size) return size;
    if (known && lo > size) {
        Place place = sch_place(b->arena, line);
        fault_raise(b->fault, ERR_FOLD_SHORT, &place, fn->func->name, (long long)lo, fn->func->arg[d]->name, (long long)size);
    }
    const Node *arg[2] = { length, ir_idx(b->ir, size) };
    Stmt *check = low_check(b, ir_make2(b->ir, OP_LE, arg[0], arg[1]), ERR_FOLD_BOX, fn->func->name, low_number(b, d), 2, arg);
    check->line = line;
    VEC_PUSH(b->arena, &fn->check, check);
    return size;
}

/* A constant that bounds it, 0: there is none. */
static int64_t most_of(Build *b, const FuncNest *fn, const Node *length) {
    int64_t lo, hi;
    bool known = length && sim_const_bounds(b->ir, low_facts(b, NULL, fn->compute), length, &lo, &hi);
    return known && hi > 0 && hi <= LARGEST ? hi : 0;
}

/* The next power of two, or what bound_storage leaves; 0 where the window's length has no such bound. */
static int64_t own_size(Build *b, const FuncNest *fn, int d, const Node *length, const char **why) {
    int64_t need = most_of(b, fn, length), size = 1, cap = fn->sched->storage.dim[d].most;
    if (!need) {
        *why = "its window has no constant length";
        return 0;
    }
    while (size < need) size *= 2;
    if (cap && cap < size) size = cap >= need ? cap : 0;
    if (!size) *why = "bound_storage is less than its window";
    return size;
}

static int64_t size_of(Build *b, FuncNest *fn, int d, const Node *length, const char **why) {
    return fn->sched->storage.dim[d].fold ? asked_size(b, fn, d, length) : own_size(b, fn, d, length, why);
}

enum { MOST_TURNS = 16 };

/* A task runs ahead along one loop: the circle holds two windows, and as many more as its size has room for. */
static int64_t fold_turns(Build *b, FuncNest *fn, int d, const char **why) {
    const Scope *at = low_turns(fn);
    const char *ignored;
    *why = "its task runs ahead along no window of it";
    if (!at || fn->slid[d] != at) return 0;
    const Node *two = window(b, fn, at, d, 2, why);
    int64_t size = two ? size_of(b, fn, d, two, why) : 0, more;
    if (!size) return 0;
    for (fn->depth = 2; fn->depth < MOST_TURNS; fn->depth++)
        if (!(more = most_of(b, fn, window(b, fn, at, d, fn->depth + 1, &ignored))) || more > size) break;
    return size;
}

static int64_t fold_along_a_loop(Build *b, FuncNest *fn, int d, const char **why) {
    int64_t size = 0;
    *why = "its window moves along no loop";
    for (const Scope *s = fn->compute; s != fn->store && !size; s = s->up) {
        if (!s->var) continue;
        if (!ir_uses(b->arena, fn->full[d].lo, s->var) && !ir_uses(b->arena, fn->full[d].hi, s->var)) continue;
        const Node *length = window(b, fn, s, d, 1, why);
        if (length) size = size_of(b, fn, d, length, why);
    }
    return size;
}

int64_t low_fold(Build *b, FuncNest *fn, int d, const char **why) {
    const PlanLine *asked = fn->sched->storage.dim[d].fold_line;
    int64_t size = 0;
    *why = obstacle(b, fn, d);
    if (!*why) size = fn->sched->async ? fold_turns(b, fn, d, why) : fold_along_a_loop(b, fn, d, why);
    if (asked && !size) {
        Place place = sch_place(b->arena, asked);
        fault_raise(b->fault, ERR_FOLD, &place, fn->func->arg[d]->name, fn->func->name, *why);
    }
    return size;
}
