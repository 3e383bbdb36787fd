/* predicates.c - where the conditions of a reduction domain are asked: as far outside as they can be told.
 *
 *     for r.y                              for r.y
 *       produce g                            if flag(r.y)
 *       for r.x                  ->            produce g
 *         if flag(r.y)                         for r.x
 *           f(r.x) += g(r.x)                     f(r.x) += g(r.x)
 *
 * Nothing inside is needed where a condition does not hold, so that what is computed there is left out with it.  A
 * condition stays inside of the loops that it names and behind what it reads; and inside of a loop along which a window
 * slides, whose next iteration relies on this one.  Where it reads data it is asked only at points that have a point of
 * the stage behind them, and where the plain conditions hold. */
#include "lower/nest.h"

typedef struct {
    const StageNest *st;
    const Scope *at;
    bool found;
} Reads;

static void look(void *user, const Node *e) {
    Reads *r = user;
    if (e->op != OP_ACCESS) return;
    r->found |= e->u.func == r->st->fn->func;
    for (int i = 0; i < r->at->item.n; i++) r->found |= e->u.func == r->at->item.at[i]->func;
}

/* May cond be asked before what is computed in s, and leave it out? */
static bool comes_first(Build *b, const StageNest *st, const Scope *s, const Node *cond) {
    Reads r = { .st = st, .at = s };
    for (int i = 0; i < s->item.n; i++) {
        const FuncNest *fn = s->item.at[i];
        if (fn->compute == s && (fn->store != s || fn->sched->async)) return false;
    }
    ir_visit(b->arena, cond, look, &r);
    return !r.found;
}

static bool names(Build *b, const Scope *s, const Node *cond) {
    if (s->var && ir_uses(b->arena, cond, s->var)) return true;
    for (int i = 0; i < s->let.n; i++)
        if (ir_uses(b->arena, cond, s->let.at[i].sym)) return true;
    return false;
}

/* The outermost scope for cond, not outside of `last`; NULL: at the store, behind all that is computed there. */
static const Scope *place(Build *b, const StageNest *st, const Node *cond, bool of_data, const Scope *last) {
    const Scope *found = NULL;
    for (const Scope *s = st->leaf; comes_first(b, st, s, cond); s = s->up) {
        int64_t n;
        found = s;
        if (s == last || s == st->part || names(b, s, cond)) break;
        if (of_data && s->var && !(ir_is_int(s->extent, &n) && n > 0)) break;
    }
    return found;
}

static void place_all(Build *b, StageNest *st) {
    const Scope *inmost = st->part;
    st->asked_at = ARENA_ARRAY(b->arena, const Scope *, st->n_where);
    for (int i = 0; i < st->n_where; i++) {
        bool of_data = i >= st->n_plain;
        st->asked_at[i] =
            of_data && !inmost ? NULL : place(b, st, st->where[i], of_data, of_data ? inmost : st->part);
        if (!of_data && inmost && (!st->asked_at[i] || st->asked_at[i]->depth > inmost->depth))
            inmost = st->asked_at[i];
    }
}

Stmt *low_where(Build *b, StageNest *st, const Scope *at, Stmt *s) {
    if (st->n_where && !st->asked_at) place_all(b, st);
    for (int of_data = 1; of_data >= 0; of_data--) {
        const Node *cond = ir_bool(b->ir, true);
        for (int i = of_data ? st->n_plain : 0; i < (of_data ? st->n_where : st->n_plain); i++)
            if (st->asked_at[i] == at) cond = ir_make2(b->ir, OP_LAND, cond, st->where[i]);
        if (ir_is(cond, 1)) continue;
        s = st_if(b->arena, cond, s, NULL);
        s->u.cond.likely = !of_data && st->sched->def->rdom->cuts;
    }
    return s;
}
