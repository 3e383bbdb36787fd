/* again.c - why points of a Func are computed more than once, for readers of loops and profiles.
 *
 * A Func that is computed inside of a loop is computed anew by each iteration.  Of the box that one iteration needs,
 *   - no end moves with the loop: all iterations compute the same points,
 *   - both ends move by `step` an iteration, less than the box is long: neighbours compute the rest twice,
 * unless it slides along that loop, which keeps the points of earlier iterations.  An inlined Func is computed
 * wherever it is read.  Only what is known is said: a step or a length that is no constant gives no sentence. */
#include "lower/nest.h"

/* Names bound in scope s itself, put in the place where they are used. */
static void names_of(Build *b, const Scope *s, PtrMap *map) {
    pm_init(map, b->arena);
    for (int i = 0; i < s->let.n; i++) {
        const Node *value = ir_substitute(b->ir, s->let.at[i].value, map);
        pm_put(map, s->let.at[i].sym, (void *)(uintptr_t)value);
    }
    for (int i = 0; i < s->box.n; i++) {
        const Node *value = ir_substitute(b->ir, s->box.at[i].full ? s->box.at[i].full : s->box.at[i].value, map);
        pm_put(map, s->box.at[i].sym, (void *)(uintptr_t)value);
    }
}

static bool add_reads(Build *b, const Func *f, const StageNest *st, const Scope *at, Interval *box) {
    if (alg_is_whole(st->fn->func)) return false;
    const Facts *facts = low_point_facts(b, st, at);
    for (int r = 0; r < st->read.n; r++) {
        const Read *read = &st->read.at[r];
        for (int i = 0; read->func == f && i < read->access.n; i++)
            for (int d = 0; d < f->rank; d++) {
                Interval one = sim_bounds(b->ir, facts, read->access.at[i]->kid[d], NULL);
                if (!one.lo || !one.hi) return false;
                box[d] = box[d].lo ? low_union(b, b->base, box[d], one) : one;
            }
    }
    return true;
}

bool low_window(Build *b, const FuncNest *fn, const Scope *inside, const Scope *at, Interval *box) {
    const UseList *uses = pm_get(&b->uses, fn->func);
    PtrMap names;
    bool known = uses != NULL && !alg_is_whole(fn->func);
    for (int d = 0; d < fn->func->rank; d++) {
        known &= low_pure_in(fn, d) && !low_is_shaped(fn, d);
        box[d] = (Interval){ NULL, NULL };
    }
    b->loose = at != NULL;
    b->unslid = true;
    for (int i = 0; known && i < uses->n; i++)
        if (!inside || low_encloses(inside, uses->at[i]->leaf)) known = add_reads(b, fn->func, uses->at[i], at, box);
    b->loose = b->unslid = false;
    names_of(b, at ? at : b->root, &names);
    for (int d = 0; known && d < fn->func->rank; d++) {
        known = box[d].lo != NULL;
        if (!known) break;
        box[d].lo = sim_simplify(b->ir, b->base, ir_substitute(b->ir, box[d].lo, &names));
        box[d].hi = sim_simplify(b->ir, b->base, ir_substitute(b->ir, box[d].hi, &names));
    }
    return known;
}

/* How far e moves from one iteration to the next. */
static const Node *step_of(Build *b, const Scope *at, const Node *e) {
    PtrMap map;
    pm_init(&map, b->arena);
    pm_put(&map, at->var, (void *)(uintptr_t)ir_add(b->ir, ir_var(b->ir, at->var), ir_idx(b->ir, 1)));
    return sim_simplify(b->ir, b->base, ir_sub(b->ir, ir_substitute(b->ir, e, &map), e));
}

static bool slides_along(const FuncNest *fn, const Scope *at) {
    for (int d = 0; d < fn->func->rank; d++)
        if (fn->slid[d] == at) return true;
    return false;
}

/* What iterations of one loop around compute more than once, added to `text`. */
static void explain_loop(Build *b, const FuncNest *fn, const Scope *at, StrBuf *text) {
    Interval box[MAX_RANK];
    const Func *f = fn->func;
    int moves = -1, moving = 0;
    int64_t step, last, length;
    if (slides_along(fn, at) || !low_window(b, fn, fn->compute, at, box)) return;
    for (int d = 0; d < f->rank; d++)
        if (ir_uses(b->arena, box[d].lo, at->var) || ir_uses(b->arena, box[d].hi, at->var)) moves = d, moving++;
    const char *gap = text->n ? "; " : "", *loop = low_place_name(b, at);
    if (!moving) {
        sb_printf(text, "%severy iteration of %s computes the same", gap, loop);
        return;
    }
    bool known = moving == 1 && ir_is_int(step_of(b, at, box[moves].lo), &step) && ir_is_int(step_of(b, at, box[moves].hi), &last);
    known = known && step == last && ir_is_int(low_length(b, b->base, box[moves]), &length);
    int64_t new = known && step < 0 ? -step : known ? step : 0;
    if (known && new < length)
        sb_printf(text, "%san iteration of %s computes %lld of %s, %lld of them new", gap, loop, (long long)length,
                  f->arg[moves]->name, (long long)new);
}

const char *low_again(Build *b, const FuncNest *fn) {
    StrBuf text;
    sb_init(&text, b->arena);
    for (const Scope *s = fn->compute; s; s = s->up)
        if (s->var) explain_loop(b, fn, s, &text);
    return text.n ? text.at : NULL;
}

/* ---- inlined Funcs ---- */

typedef struct {
    Build *b;
    PtrMap times; /* Func -> accesses */
    FuncList found;
} Inlined;

static void visit_access(void *user, const Node *e) {
    Inlined *in = user;
    if (e->op != OP_ACCESS) return;
    const FuncSched *fs = pm_get(&in->b->sched->sched, e->u.func);
    if (!fs || fs->compute.kind != AT_INLINE) return;
    intptr_t n = (intptr_t)pm_get(&in->times, e->u.func);
    if (!n) VEC_PUSH(in->b->arena, &in->found, e->u.func);
    pm_put(&in->times, e->u.func, (void *)(n + 1));
}

const char *low_inlined_again(Build *b, const StageNest *st) {
    const Def *def = st->sched->def;
    Inlined in = { .b = b };
    StrBuf text;
    pm_init(&in.times, b->arena);
    sb_init(&text, b->arena);
    for (int i = 0; i < def->n; i++) ir_visit(b->arena, def->value[i], visit_access, &in);
    for (int i = 0; i < in.found.n; i++) {
        long long n = (long long)(intptr_t)pm_get(&in.times, in.found.at[i]);
        if (n > 1) sb_printf(&text, "%s%s is inlined, computed at %lld points for each", text.n ? "; " : "", in.found.at[i]->name, n);
    }
    return text.n ? text.at : NULL;
}
