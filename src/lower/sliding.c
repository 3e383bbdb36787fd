/* sliding.c - the sliding window: a Func stored outside of a serial loop in which it is computed keeps what
 * earlier iterations computed, and computes only what is new.
 *
 *     for y: bx over [y - 1, y + 1]       becomes       for y: bx over [y == first ? y - 1 : y + 1, y + 1]
 *
 * A dimension slides along loop v when
 *   - it is the only dimension of the box that depends on v, and both of its ends never fall as v grows,
 *   - every update of the Func runs over the dimension by its own Var, so that its points are independent,
 *   - no split of it rounds up, and no bound or alignment widens it: from a later start that ends elsewhere, past
 *     what producers were asked for,
 *   - no stage but the last stores past the box where loops lie between v and the computation: there it may undo
 *     points that another iteration of these has computed and that are not computed again,
 *   - the loops inside of v that lie between memory and computation have bounds free of v, and conditions
 *     that, once they fail for v, fail for every later one: what is needed now was computed then.
 * Then every point needed at v whose coordinate is at most the last one needed at v - 1 is there already. */
#include "lower/nest.h"

#include <string.h>

/* Two sets of names bound between the store scope and the compute scope, with what to put in their place:
 * in `all` every one, which leaves loop variables to solve for; in `slid` only the starts of boxes that
 * slide themselves, which become what they would be without.  Points of split dimensions keep their names
 * there, and with the names their ranges. */
typedef struct {
    PtrMap all, slid;
} Expansion;

static void put(PtrMap *map, Interner *I, const Sym *sym, const Node *value) {
    pm_put(map, sym, (void *)(uintptr_t)ir_substitute(I, value, map));
}

static void expansion(Build *b, const FuncNest *fn, Expansion *x) {
    const Scope **path = ARENA_ARRAY(b->arena, const Scope *, fn->compute->depth + 1);
    int n = 0;
    pm_init(&x->all, b->arena);
    pm_init(&x->slid, b->arena);
    for (const Scope *s = fn->compute; s != fn->store; s = s->up) path[n++] = s;
    while (n--) {
        const Scope *s = path[n];
        for (int i = 0; i < s->let.n; i++) put(&x->all, b->ir, s->let.at[i].sym, s->let.at[i].value);
        for (int i = 0; i < s->box.n; i++) {
            const BoxLet *box = &s->box.at[i];
            put(&x->all, b->ir, box->sym, box->full ? box->full : box->value);
            if (box->full) put(&x->slid, b->ir, box->sym, box->full);
        }
    }
}

/* fn->wide and, over loop variables alone, fn->full: the box without any sliding. */
static void find_full(Build *b, FuncNest *fn, const Facts *f, const Expansion *x) {
    Interval box[MAX_RANK];
    for (int d = 0; d < fn->func->rank; d++) box[d] = fn->box[d];
    b->unslid = true;
    low_required(b, fn->func, fn->compute, fn->box);
    low_cover_updates(b, fn, f);
    b->unslid = false;
    for (int d = 0; d < fn->func->rank; d++) {
        fn->wide[d].lo = ir_substitute(b->ir, fn->box[d].lo, &x->slid);
        fn->wide[d].hi = ir_substitute(b->ir, fn->box[d].hi, &x->slid);
        fn->full[d].lo = sim_simplify(b->ir, f, ir_substitute(b->ir, fn->wide[d].lo, &x->all));
        fn->full[d].hi = sim_simplify(b->ir, f, ir_substitute(b->ir, fn->wide[d].hi, &x->all));
        fn->box[d] = box[d];
    }
}

bool low_pure_in(const FuncNest *fn, int d) {
    for (int i = 1; i < fn->stage.n; i++) {
        const Node *c = fn->stage.at[i]->sched->def->coord[d];
        if (c->op != OP_VAR || c->u.sym->kind != SYM_VAR) return false;
    }
    return true;
}

enum { MOST_NAMES = 64 };

/* Does a split of the loop `name`, or of one that was made of it, round up? */
static bool rounds(const StageSched *s, const char *name) {
    const char *from[MOST_NAMES] = { name };
    int n = 1;
    for (int i = 0; i < s->split.n; i++) {
        const Split *p = &s->split.at[i];
        bool fuse = p->kind == SPLIT_FUSE, past = sch_tail_traits[p->tail].loads_past || sch_tail_traits[p->tail].stores_past;
        for (int k = 0; k < n; k++) {
            bool below = fuse ? !strcmp(p->outer, from[k]) || !strcmp(p->inner, from[k]) : !strcmp(p->old, from[k]);
            if (!below) continue;
            if ((p->kind == SPLIT_SPLIT && past) || n + 2 > MOST_NAMES) return true;
            from[n++] = fuse ? p->old : p->outer;
            if (p->kind == SPLIT_SPLIT) from[n++] = p->inner;
            break;
        }
    }
    return false;
}

/* Of a dimension that low_pure_in. */
static bool is_rounded(const FuncNest *fn, int d) {
    for (int i = 0; i < fn->run.n; i++) {
        const StageSched *s = fn->run.at[i]->sched;
        if (rounds(s, s->def->coord[d]->u.sym->name)) return true;
    }
    return false;
}

/* Does a stage that others follow store past the box, by a split of a pure dimension that rounds up? */
static bool leaves_unfinished(const FuncNest *fn) {
    for (int i = 0; i + 1 < fn->stage.n; i++) {
        const StageSched *s = fn->stage.at[i]->sched;
        for (int d = 0; d < fn->func->rank; d++) {
            const Node *c = s->def->coord[d];
            if (c->op == OP_VAR && c->u.sym->kind == SYM_VAR && rounds(s, c->u.sym->name)) return true;
        }
    }
    return false;
}

static bool has_loop_inside(const FuncNest *fn, const Scope *at) {
    for (const Scope *s = fn->compute; s != at; s = s->up)
        if (s->var) return true;
    return false;
}

/* `a < c` keeps failing as v grows. */
static bool fails_for_good(Build *b, const Facts *f, const Node *cond, const Sym *v) {
    if (!ir_uses(b->arena, cond, v)) return true;
    if (cond->op != OP_LT || ir_uses(b->arena, cond->kid[1], v)) return false;
    int way = sim_monotonic(b->ir, f, cond->kid[0], v);
    return way == 0 || way == 1;
}

/* What lies inside of loop `at` and outside of the computation runs for v - 1 where it runs for v. */
static bool repeats(Build *b, const FuncNest *fn, const Facts *f, const Scope *at, const PtrMap *map) {
    for (const Scope *s = fn->compute; s != at->up; s = s->up) {
        for (int i = 0; i < s->guard.n; i++)
            if (!fails_for_good(b, f, ir_substitute(b->ir, s->guard.at[i].cond, map), at->var)) return false;
        if (s == at || !s->var) continue;
        const Node *min = ir_substitute(b->ir, s->min, map), *extent = ir_substitute(b->ir, s->extent, map);
        if (ir_uses(b->arena, min, at->var) || ir_uses(b->arena, extent, at->var)) return false;
    }
    return true;
}

/* The only dimension whose box depends on v, or -1. */
static int moving_dimension(Build *b, const FuncNest *fn, const Sym *v) {
    int found = -1;
    for (int d = 0; d < fn->func->rank; d++) {
        if (!ir_uses(b->arena, fn->full[d].lo, v) && !ir_uses(b->arena, fn->full[d].hi, v)) continue;
        if (found >= 0) return -1;
        found = d;
    }
    return found;
}

static bool rises(Build *b, const Facts *f, const Node *e, const Sym *v) {
    int way = sim_monotonic(b->ir, f, e, v);
    return way == 0 || way == 1;
}

/* The last point needed at v - 1. */
static const Node *before(Build *b, const Node *hi, const Sym *v) {
    PtrMap map;
    pm_init(&map, b->arena);
    pm_put(&map, v, (void *)(uintptr_t)ir_sub(b->ir, ir_var(b->ir, v), ir_idx(b->ir, 1)));
    return ir_substitute(b->ir, hi, &map);
}

static void slide(Build *b, FuncNest *fn, const Facts *f, const Scope *at, int d) {
    Interner *I = b->ir;
    const Node *lo = fn->full[d].lo, *v = ir_var(I, at->var);
    const Node *next = sim_simplify(I, f, ir_add(I, before(b, fn->full[d].hi, at->var), ir_idx(I, 1)));
    if (!sim_prove(I, f, ir_make2(I, OP_LE, lo, next))) next = ir_max(I, next, lo);
    const Node *later = ir_make1(I, OP_LIKELY, ir_make2(I, OP_LT, at->min, v));
    fn->slid[d] = at;
    fn->box[d].lo = ir_make3(I, OP_SELECT, later, next, fn->wide[d].lo);
}

bool low_slide(Build *b, FuncNest *fn) {
    const Facts *f = low_facts(b, NULL, fn->compute);
    Expansion x;
    bool any = false, unfinished = leaves_unfinished(fn);
    expansion(b, fn, &x);
    find_full(b, fn, f, &x);
    for (const Scope *s = fn->compute; s != fn->store; s = s->up) {
        if (!s->var) continue;
        int d = moving_dimension(b, fn, s->var);
        if (d < 0 || fn->slid[d] || low_is_shaped(fn, d) || !low_pure_in(fn, d) || is_rounded(fn, d)) continue;
        if (!rises(b, f, fn->full[d].lo, s->var) || !rises(b, f, fn->full[d].hi, s->var)) continue;
        if (!repeats(b, fn, f, s, &x.all)) continue;
        if (unfinished && has_loop_inside(fn, s)) continue;
        if (!any)
            for (int k = 0; k < fn->func->rank; k++) fn->box[k] = fn->wide[k];
        slide(b, fn, f, s, d);
        any = true;
    }
    return any;
}
