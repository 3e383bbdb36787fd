/* tails.c - what each tail does with the points that do not fill a tile, and where it is legal.
 *
 * A loop of n iterations split by 8 has (n + 7) / 8 tiles; the last one is whole only where 8 divides n.
 *
 *     guard, predicate      its other points do not run
 *     round                 they run: loads and stores reach past the end
 *     predicate_loads       they only store, so the memory of the Func grows, but nothing that it reads
 *     predicate_stores      they only load, so what is read grows, but not the Func's memory
 *     shift                 the tile moves inwards and runs points again
 *     shift_blend, round_blend    as shift and round, but what would be stored again or past the end is what was there
 *
 * A reduction variable may run a point neither twice nor past its end.  A point of an update applies once, so it
 * may move inwards only where it blends.  (Races need extents to be known of, so lowering looks for them.) */
#include "schedule/resolve.h"

#include <string.h>

const TailTraits sch_tail_traits[MLC_TAIL_COUNT + 1] = {
    [MLC_TAIL_ROUND] = { .loads_past = true, .stores_past = true },
    [MLC_TAIL_PREDICATE_LOADS] = { .stores_past = true, .innermost = true },
    [MLC_TAIL_PREDICATE_STORES] = { .loads_past = true, .innermost = true },
    [MLC_TAIL_SHIFT] = { .again = true },
    [MLC_TAIL_SHIFT_BLEND] = { .again = true, .blends = true },
    [MLC_TAIL_ROUND_BLEND] = { .loads_past = true, .stores_past = true, .blends = true },
};

/* The names that the loop `name` was made of, the RVars of the stage among them? */
bool sch_stems_from_rvar(const StageSched *st, const char *name) {
    const RDom *dom = st->def->rdom;
    const char *at[64] = { name };
    int n = 1;
    for (int i = st->split.n - 1; i >= 0; i--) {
        const Split *s = &st->split.at[i];
        for (int j = 0; j < n; j++) {
            bool outer = !strcmp(at[j], s->outer), inner = s->kind == SPLIT_SPLIT && !strcmp(at[j], s->inner);
            if (s->kind != SPLIT_FUSE && (outer || inner)) at[j] = s->old;
            if (s->kind == SPLIT_FUSE && !strcmp(at[j], s->old)) {
                at[j] = s->outer;
                if (n < 64) at[n++] = s->inner;
                break;
            }
        }
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; dom && i < dom->n; i++)
            if (!strcmp(dom->var[i]->name, at[j])) return true;
    return false;
}

/* The split that made the loop, and whether as its inner one; NULL: a dimension of the definition, or a join. */
static const Split *made_by(const StageSched *st, const char *name, bool *inner) {
    for (int i = st->split.n - 1; i >= 0; i--) {
        const Split *s = &st->split.at[i];
        *inner = s->kind == SPLIT_SPLIT && !strcmp(name, s->inner);
        if (s->kind == SPLIT_SPLIT && (*inner || !strcmp(name, s->outer))) return s;
        if (s->kind == SPLIT_RENAME && !strcmp(name, s->outer)) name = s->old;
        if (s->kind == SPLIT_FUSE && !strcmp(name, s->old)) return NULL;
    }
    return NULL;
}

static _Noreturn void not_innermost(Resolve *r, const PlanLine *line, mlc_tail tail, const char *old) {
    Place place = sch_place(r->arena, line);
    fault_raise(r->fault, ERR_TAIL_INNERMOST, &place, sch_tails[tail], old);
}

void sch_check_taken_apart(Resolve *r, const StageSched *st, const PlanLine *line, const char *loop) {
    bool inner;
    const Split *s = made_by(st, loop, &inner);
    if (s && inner && sch_tail_traits[s->tail].innermost) not_innermost(r, line, s->tail, s->old);
}

static void find_access(void *user, const Node *e) {
    *(bool *)user |= e->op == OP_ACCESS;
}

/* Does where it stores depend on what it loads? */
static bool scatters(Arena *scratch, const Def *def) {
    bool found = false;
    for (int d = 0; d < def->rank; d++) ir_visit(scratch, def->coord[d], find_access, &found);
    return found;
}

void sch_check_tail(Resolve *r, const StageSched *st, const PlanLine *line, const char *old, bool rvar) {
    mlc_tail tail = line->d.tail;
    Place place = sch_place(r->arena, line);
    if (tail >= MLC_TAIL_COUNT) fault_raise(r->fault, ERR_BAD_TAIL, &place, (int)tail);
    const TailTraits *t = &sch_tail_traits[tail];
    if (rvar && (t->again || t->loads_past || t->stores_past))
        fault_raise(r->fault, ERR_TAIL_RVAR, &place, old, t->again ? "again" : "past its end");
    if (t->blends && !rvar && st->index == 0)
        fault_raise(r->fault, ERR_TAIL_BLEND_PURE, &place, sch_tails[tail], st->func->name);
    if (t->again && !t->blends && st->index > 0)
        fault_raise(r->fault, ERR_TAIL_UPDATE, &place, sch_stage_name(r->arena, st->func, st->index));
    bool inner;
    const Split *s = t->innermost ? made_by(st, old, &inner) : NULL;
    if (s && !inner) not_innermost(r, line, tail, old);
    if (tail == MLC_TAIL_PREDICATE_LOADS && scatters(r->arena, st->def))
        fault_raise(r->fault, ERR_TAIL_PLACE, &place, sch_tails[tail]);
}
