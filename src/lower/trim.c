/* trim.c - loops run where their body does something.
 *
 *     for r.x in [0, 8): if (r.x <= r.y) f() += e        for r.x in [0, r.y + 1): f() += e
 *
 * A condition that is all of a loop's body bounds its iterations: where it is linear in the variable it becomes the
 * loop's ends, else what is known of it.  Lanes all run the same iterations, so that a loop of lanes, and what is in
 * one, stays; and the steady state of a tail is partition's to find.  Params without a range may lie anywhere: an end
 * that names one might overflow. */
#include "lower/passes.h"

typedef struct {
    Arena *arena;
    Interner *ir;
    const Facts *facts; /* of the place the walk has reached */
    int lanes;          /* vector loops around */
} Trim;

static void look(void *user, const Node *e) {
    bool *open = user;
    *open |= e->op == OP_VAR && e->u.sym->kind == SYM_PARAM && !e->u.sym->has_range;
    *open |= e->op == OP_LIKELY || e->op == OP_LIKELY_INNER || e->op == OP_ACCESS;
}

/* What is left to ask of cond inside of the loop, once it runs over `range` alone. */
static const Node *left_of(Trim *t, const Sym *var, const Node *cond, Interval *range) {
    bool open = false, ok, sure;
    if (cond->op == OP_LAND) {
        const Node *a = left_of(t, var, cond->kid[0], range), *b = left_of(t, var, cond->kid[1], range);
        return a == cond->kid[0] && b == cond->kid[1] ? cond : ir_make2(t->ir, OP_LAND, a, b);
    }
    ir_visit(t->arena, cond, look, &open);
    if (open || !ir_uses(t->arena, cond, var)) return cond;
    Interval may = sim_solve_outer(t->ir, t->facts, cond, var, &ok);
    Interval does = sim_solve_inner(t->ir, t->facts, cond, var, &sure);
    if (!ok) return cond;
    if (may.lo) range->lo = range->lo ? ir_max(t->ir, range->lo, may.lo) : may.lo;
    if (may.hi) range->hi = range->hi ? ir_min(t->ir, range->hi, may.hi) : may.hi;
    return sure && may.lo == does.lo && may.hi == does.hi ? ir_bool(t->ir, true) : cond;
}

static const Facts *loop_fact(Trim *t, const Stmt *s) {
    return sim_with_loop(t->ir, t->arena, t->facts, s->u.loop.var, s->u.loop.min, s->u.loop.extent);
}

static Stmt *trimmed(Trim *t, Stmt *s) {
    const Stmt *in = s->u.loop.body;
    if (in->kind != ST_IF || in->u.cond.no || in->u.cond.likely || in->u.cond.mask != MASK_NONE) return s;
    const Facts *outer = t->facts, *own = loop_fact(t, s);
    Interval range = { NULL, NULL };
    t->facts = own;
    const Node *left = left_of(t, s->u.loop.var, in->u.cond.cond, &range);
    t->facts = outer;
    if (!range.lo && !range.hi) return s;
    const Node *min = s->u.loop.min, *last = own->range.hi;
    if (range.lo) min = sim_simplify(t->ir, t->facts, ir_max(t->ir, min, range.lo));
    if (range.hi) last = ir_min(t->ir, last, range.hi);
    Stmt *now = arena_copy(t->arena, s, sizeof *s);
    now->u.loop.min = min;
    now->u.loop.extent =
        sim_simplify(t->ir, t->facts, ir_add(t->ir, ir_sub(t->ir, last, min), ir_idx(t->ir, 1)));
    if (left == in->u.cond.cond) return now;
    now->u.loop.body = ir_is(left, 1) ? in->u.cond.yes : st_if(t->arena, left, in->u.cond.yes, NULL);
    if (!ir_is(left, 1)) now->u.loop.body->line = in->line;
    return now;
}

static Stmt *visit(StmtMap *m, Stmt *s) {
    Trim *t = m->user;
    const Facts *outer = t->facts;
    if (s->kind != ST_FOR) return st_map_kids(m, s);
    bool lanes = s->u.loop.kind == LOOP_VECTOR;
    if (!t->lanes && (s->u.loop.kind == LOOP_SERIAL || s->u.loop.kind == LOOP_PARALLEL)) s = trimmed(t, s);
    t->facts = loop_fact(t, s);
    t->lanes += lanes;
    Stmt *now = st_map_kids(m, s);
    t->lanes -= lanes;
    t->facts = outer;
    return now;
}

Stmt *low_trim(Arena *a, Interner *I, Stmt *s) {
    Trim t = { .arena = a, .ir = I };
    StmtMap m = { .arena = a, .ir = I, .stmt = visit, .user = &t };
    return st_map(&m, s);
}
