/* specialize.c - a stage with several schedules, of which each call runs one.
 *
 *     out: parallel(y), specialize(n % 8 == 0) { vectorize(x, 8) }, specialize(n > 100) { tile(...) }, unroll(x, 2)
 *
 *     if (n % 8 == 0)     the schedule so far, vectorized
 *     else if (n > 100)   the schedule so far, tiled
 *     else                the schedule so far, unrolled
 *
 * A condition is the same for a whole call, so it is asked outside of all loops of the stage, and each
 * schedule knows when it runs: its own condition, and none of those before it. */
#include "schedule/resolve.h"
#include "simplify/simplify.h"

#include <string.h>

/* ---- conditions ---- */

typedef struct {
    Resolve *r;
    const PlanLine *line;
} Condition;

/* Is the size of f known at each call of this program? */
static bool is_bound(const Resolve *r, const Func *f) {
    for (int i = 0; i < r->s->order.n; i++)
        if (r->s->order.at[i] == f && f->is_input) return true;
    for (int i = 0; i < r->s->n_outputs; i++)
        if (r->s->output[i] == f) return true;
    return false;
}

/* What about e changes within a call, for the message; NULL: nothing. */
static const char *what_changes(const Resolve *r, const Node *e) {
    switch (e->op) {
    case OP_VAR: {
        SymKind k = e->u.sym->kind;
        return k == SYM_VAR || k == SYM_RVAR ? arena_printf(r->arena, "the variable %s", e->u.sym->name) : NULL;
    }
    case OP_ACCESS: return arena_printf(r->arena, "values of %s", e->u.func->name);
    case OP_RANDOM: return "random numbers";
    case OP_EXTERN: return arena_printf(r->arena, "the C function %s", e->u.ext->name);
    case OP_PRINT: case OP_REQUIRE: return arena_printf(r->arena, "%s", ir_ops[e->op].text);
    case OP_UNDEF: return "undef";
    default: return NULL;
    }
}

static void check_node(void *user, const Node *e) {
    const Condition *c = user;
    Place place = sch_place(c->r->arena, c->line);
    const char *changes = what_changes(c->r, e);
    if (changes) fault_raise(c->r->fault, ERR_SPECIALIZE_FREE, &place, changes);
    bool size = e->op == OP_VAR && e->u.sym->func;
    if (size && !is_bound(c->r, e->u.sym->func))
        fault_raise(c->r->fault, ERR_SPECIALIZE_SIZE, &place, e->u.sym->name, e->u.sym->func->name);
}

static const Node *condition(Resolve *r, const StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    const Node *e = line->d.cond.node;
    if (!e) fault_raise(r->fault, ERR_EMPTY_EXPR, &place);
    if (e->op == OP_POISON) ir_raise_poison(r->fault, ir_poison_at(r->ir, e, &place));
    if (e->type != MLC_BOOL) fault_raise(r->fault, ERR_SPECIALIZE_BOOL, &place, mlc_type_name((mlc_type)e->type));
    ir_visit(r->arena, e, check_node, &(Condition){ r, line });
    e = alg_canonical(r->ir, e, MLC_BOOL);
    Facts rest = { .truth = st->when };
    bool never = ir_is(st->when, 0) || sim_prove(r->ir, &rest, ir_make1(r->ir, OP_LNOT, e));
    if (never) fault_raise(r->fault, ERR_SPECIALIZE_NEVER, &place, ir_show(r->ir, line->d.cond.node));
    return e;
}

/* ---- schedules ---- */

static const Node *both(Resolve *r, const Node *a, const Node *b) {
    return sim_simplify(r->ir, NULL, ir_make2(r->ir, OP_LAND, a, b));
}

static StageSched *copy(Resolve *r, const StageSched *st) {
    StageSched *c = arena_copy(r->arena, st, sizeof *st);
    memset(&c->split, 0, sizeof c->split);
    memset(&c->dim, 0, sizeof c->dim);
    memset(&c->prefetch, 0, sizeof c->prefetch);
    memset(&c->special, 0, sizeof c->special);
    for (int i = 0; i < st->split.n; i++) VEC_PUSH(r->arena, &c->split, st->split.at[i]);
    for (int i = 0; i < st->dim.n; i++) VEC_PUSH(r->arena, &c->dim, st->dim.at[i]);
    for (int i = 0; i < st->prefetch.n; i++) VEC_PUSH(r->arena, &c->prefetch, st->prefetch.at[i]);
    return c;
}

static void specialize(Resolve *r, StageSched *st, const PlanLine *line) {
    Special s = { condition(r, st, line), copy(r, st), line };
    s.sched->when = both(r, st->when, s.cond);
    st->when = both(r, st->when, ir_make1(r->ir, OP_LNOT, s.cond));
    for (int i = 0; i < line->d.n_body; i++) {
        PlanLine *inner = ARENA_NEW(r->arena, PlanLine);
        *inner = (PlanLine){ .func = line->func, .stage = line->stage, .d = line->d.body[i] };
        if (sch_stage_directive(r, s.sched, inner)) continue;
        Place place = sch_place(r->arena, inner);
        fault_raise(r->fault, ERR_SPECIALIZE_INSIDE, &place, sch_directives[inner->d.kind].name);
    }
    VEC_PUSH(r->arena, &st->special, s);
}

static void fail(Resolve *r, StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    if (!line->d.text || !*line->d.text) fault_raise(r->fault, ERR_SPECIALIZE_MESSAGE, &place);
    st->fail = line;
}

bool sch_stage_directive(Resolve *r, StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    if (alg_is_whole(st->func)) sch_check_whole(r, st, line);
    if (st->fail) fault_raise(r->fault, ERR_SPECIALIZE_AFTER, &place, sch_stage_name(r->arena, st->func, st->index));
    if (line->d.kind == MLC_SPECIALIZE) specialize(r, st, line);
    else if (line->d.kind == MLC_SPECIALIZE_FAIL) fail(r, st, line);
    else return sch_loop_directive(r, st, line);
    st->touched = true;
    return true;
}

bool sch_has_loop(const StageSched *st, const char *name) {
    const Dim *d = sch_find_loop(st, name);
    if (d && !d->is_whole) return true;
    for (int i = 0; i < st->special.n; i++)
        if (sch_has_loop(st->special.at[i].sched, name)) return true;
    return false;
}
