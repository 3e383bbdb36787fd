/* runs.c - which stages have no point to compute in a call?
 *
 * A call may give one output points and another none, an RDom's extent may be 0 and a condition of it false.  What only such
 * stages read is not needed: entry asks no input for it, and a Func at root that nothing else reads is not
 * computed.
 *
 *     f(x) += in(x + k + 1000)        nothing of `in` is needed where f or the domain of k is empty
 *
 * A condition is false only where the stage certainly has no point.  A lone output has points wherever the
 * body runs (build.c), so most programs have no condition at all.  A stage with specializations runs one of
 * its nests: of the others the condition is false. */
#include "lower/nest.h"

static bool may_be_empty(const Build *b, const StageNest *st) {
    if (b->sched->n_outputs > 1) return true;
    const RDom *dom = st->sched->def->rdom;
    for (int i = 0; dom && i < dom->n; i++)
        if (!ir_is_const(dom->extent[i])) return true;
    return false;
}

/* Has a loop of the stage an iteration, in the longest of its runs?  Its extent is known at `up`. */
static const Node *iterates(Build *b, const StageNest *st, const Node *extent, const Scope *up) {
    int64_t n;
    if (ir_is_int(extent, &n) || !may_be_empty(b, st)) return ir_bool(b->ir, true);
    Interval i = sim_bounds(b->ir, low_facts(b, b->root, up), extent, NULL);
    return i.hi ? ir_make2(b->ir, OP_LT, ir_idx(b->ir, 0), i.hi) : ir_bool(b->ir, true);
}

static void look(void *user, const Node *e) {
    bool *varies = user;
    if (e->op == OP_VAR) *varies |= e->u.sym->kind != SYM_PARAM && e->u.sym->kind != SYM_MIN && e->u.sym->kind != SYM_EXTENT;
    *varies |= e->op == OP_ACCESS;
}

/* What predicates over params and sizes alone say: they hold for the whole domain or for no point of it. */
static const Node *holds(Build *b, const StageNest *st) {
    const Node *all = ir_bool(b->ir, true);
    for (int i = 0; i < st->n_plain; i++) {
        bool varies = false;
        ir_visit(b->arena, st->where[i], look, &varies);
        if (!varies) all = ir_make2(b->ir, OP_LAND, all, st->where[i]);
    }
    return all;
}

static const Node *wanted(Build *b, const FuncNest *fn) {
    return fn->compute == b->root ? fn->wanted : ir_bool(b->ir, true);
}

void low_runs(Build *b, StageNest *st) {
    const Node *all = holds(b, st);
    for (int i = 0; i < st->sched->dim.n; i++) /* those that it shares may have more */
        all = ir_make2(b->ir, OP_LAND, all, iterates(b, st, st->own[i].extent, st->fn->compute));
    for (const Scope *s = st->fn->compute; s->up; s = s->up) {
        if (s->var) all = ir_make2(b->ir, OP_LAND, all, iterates(b, s->stage, s->extent, s->up));
        if (s != s->stage->part) continue;
        all = ir_make2(b->ir, OP_LAND, all, ir_make2(b->ir, OP_LAND, s->stage->sched->when, wanted(b, s->stage->fn)));
    }
    all = ir_make2(b->ir, OP_LAND, all, wanted(b, st->fn));
    st->stage_runs = sim_simplify(b->ir, b->base, all);
    st->runs = sim_simplify(b->ir, b->base, ir_make2(b->ir, OP_LAND, all, st->sched->when));
}

const Node *low_group_runs(Build *b, const UseList *uses, int i, int *next) {
    const StageNest *st = uses->at[i];
    const Node *any = ir_bool(b->ir, false);
    int schedules = 0, n = 0;
    for (int k = 0; k < st->fn->run.n; k++) schedules += st->fn->run.at[k]->index == st->index;
    for (; i + n < uses->n && uses->at[i + n]->fn == st->fn && uses->at[i + n]->index == st->index; n++)
        any = ir_make2(b->ir, OP_LOR, any, uses->at[i + n]->runs);
    *next = i + n;
    return n == schedules ? st->stage_runs : any; /* all of them: one runs */
}

/* Elsewhere than at root a Func is computed whenever the loops around it are. */
const Node *low_wanted(Build *b, const FuncNest *fn, const UseList *uses) {
    if (fn->storage || fn->compute != b->root) return ir_bool(b->ir, true);
    const Node *any = ir_bool(b->ir, false);
    for (int i = 0; i < uses->n;) any = ir_make2(b->ir, OP_LOR, any, low_group_runs(b, uses, i, &i));
    return sim_simplify(b->ir, b->base, any);
}
