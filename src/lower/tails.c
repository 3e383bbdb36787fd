/* tails.c - which tail a split gets, and what the sizes of a call must be for it.
 *
 * Only here are extents known: a factor that divides needs no tail, and the automatic one is decided. */
#include "lower/nest.h"

#include <string.h>

static bool is_multiple(const Build *b, const StageNest *st, const Facts *f, const Node *e, int64_t of) {
    int64_t v;
    if (ir_is_int(e, &v)) return v % of == 0;
    Congruence c = sim_congruence(b->ir, f, e);
    return (c.modulus % of == 0 && c.remainder % of == 0) || low_special_multiple(st, e, of);
}

static void note_effect(void *user, const Node *e) {
    if (e->op == OP_UNDEF || e->op == OP_PRINT || e->op == OP_REQUIRE) *(bool *)user = true;
}

enum { MOST_PIECES = 64 };

/* The loops made of the loop `from` after split s: how many. */
static int made_of(const StageSched *sched, int s, const char *from, const char *at[MOST_PIECES]) {
    int count = 1;
    at[0] = from;
    for (int i = s + 1; i < sched->split.n; i++) {
        const Split *p = &sched->split.at[i];
        for (int j = 0; j < count; j++) {
            bool parts = p->kind == SPLIT_SPLIT && !strcmp(at[j], p->old);
            bool joins = p->kind == SPLIT_FUSE && (!strcmp(at[j], p->outer) || !strcmp(at[j], p->inner));
            bool renames = p->kind == SPLIT_RENAME && !strcmp(at[j], p->old);
            if (parts && count < MOST_PIECES) at[count++] = p->inner;
            if (parts || renames) at[j] = p->outer;
            if (joins) at[j] = p->old;
            if (parts || joins || renames) break;
        }
    }
    return count;
}

enum { ANY_LOOP = -1, SPREAD_LOOP = -2 };

static bool is_of(const Dim *d, int kind) {
    return kind == ANY_LOOP || (kind == SPREAD_LOOP ? sch_spreads(d->kind) : (int)d->kind == kind);
}

/* The innermost of the loops made of `from` from number `first` on, which is counted outwards; of a kind alone, of
 * those whose iterations run in threads, or any.  NULL: none. */
static const Dim *loop_of(const StageSched *sched, int s, const char *from, int first, int kind) {
    const char *at[MOST_PIECES];
    int count = made_of(sched, s, from, at);
    for (int i = first; i < sched->dim.n; i++)
        for (int j = 0; j < count; j++)
            if (is_of(&sched->dim.at[i], kind) && !strcmp(sched->dim.at[i].name, at[j])) return &sched->dim.at[i];
    return NULL;
}

/* The parallel loop whose iterations run points of a shifted tile and of the one before it at once, or NULL: it is
 * made of the outer loop, or of the inner one and stands around the outer one. */
static const Dim *race_of(const StageSched *sched, int i) {
    const Split *s = &sched->split.at[i];
    const Dim *outer = loop_of(sched, i, s->outer, 0, SPREAD_LOOP), *tile = loop_of(sched, i, s->outer, 0, ANY_LOOP);
    if (outer || !tile) return outer;
    return loop_of(sched, i, s->inner, (int)(tile - sched->dim.at) + 1, SPREAD_LOOP);
}

/* Iterations of the outer loop share the overlap that a shifted tail computes twice.  What blends stores what it
 * read before, which must be what is there still: then iterations of the inner loop count too, and lanes of both
 * tiles. */
static void check_race(Build *b, const StageSched *sched, int i, const Dim *race) {
    const Split *s = &sched->split.at[i];
    const TailTraits *t = &sch_tail_traits[s->tail];
    Place place = sch_place(b->arena, s->line);
    if (t->blends && !race) race = loop_of(sched, i, s->inner, 0, SPREAD_LOOP);
    if (t->blends && t->again && !race && loop_of(sched, i, s->inner, 0, LOOP_VECTOR))
        race = loop_of(sched, i, s->outer, 0, LOOP_VECTOR);
    if (race && t->blends)
        fault_raise(b->fault, ERR_TAIL_BLEND_RACE, &place, s->old, sch_kinds[race->kind], race->name);
    if (race && t->again) fault_raise(b->fault, ERR_TAIL_RACE, &place, s->old, sch_kinds[race->kind], race->name);
}

static void check_short(Build *b, StageNest *st, const Split *s, const Node *extent, const Facts *f) {
    Interner *ir = b->ir;
    const Node *factor = ir_idx(ir, s->factor), *zero = ir_idx(ir, 0);
    const Node *fits = ir_make2(ir, OP_LE, factor, extent);
    const Node *cond = sim_simplify(ir, f, ir_make2(ir, OP_LOR, fits, ir_make2(ir, OP_LE, extent, zero)));
    if (ir_is(cond, 1)) return;
    const Node *arg[2] = { extent, factor };
    Stmt *check = low_check(b, cond, ERR_TAIL_SHORT, st->fn->func->name, s->old, 2, arg);
    check->line = s->line;
    VEC_PUSH(b->arena, &st->check, check);
}

mlc_tail low_choose_tail(Build *b, StageNest *st, int i, const Node *extent, const Facts *f) {
    const StageSched *sched = st->sched;
    const Split *s = &sched->split.at[i];
    const TailTraits *t = &sch_tail_traits[s->tail];
    if (is_multiple(b, st, f, extent, s->factor)) return MLC_TAIL_COUNT;
    const Dim *race = race_of(sched, i);
    check_race(b, sched, i, race);
    if (t->again) check_short(b, st, s, extent, f);
    bool effect = false;
    for (int e = 0; e < st->fn->func->n; e++) ir_visit(b->arena, st->value[e], note_effect, &effect);
    /* require and print are for needed points, so padding of intermediates is skipped. */
    bool padded = s->tail == MLC_TAIL_ROUND || s->tail == MLC_TAIL_ROUND_BLEND;
    if (padded && effect && !pm_has(&b->external, st->fn->func)) return MLC_TAIL_GUARD;
    if (s->tail != MLC_TAIL_AUTO) return s->tail;
    bool fits = sim_prove(b->ir, f, ir_make2(b->ir, OP_LE, ir_idx(b->ir, s->factor), extent));
    return fits && !s->exact && !race && !effect ? MLC_TAIL_SHIFT : MLC_TAIL_GUARD;
}

/* ---- what reaches past the end ---- */

void low_check_nested(Build *b, const StageSched *sched, const mlc_tail *tail, const Split *s, const Node *covered) {
    int64_t n;
    if (ir_is_int(covered, &n) && n <= s->factor) return;
    const PlanLine *line = s->line;
    for (int i = 0; i < sched->split.n; i++) { /* the later split of the piece is to blame */
        const TailTraits *t = &sch_tail_traits[tail[i]];
        if ((t->loads_past || t->stores_past) && !strcmp(sched->split.at[i].old, s->inner)) line = sched->split.at[i].line;
    }
    Place place = sch_place(b->arena, line);
    fault_raise(b->fault, ERR_TAIL_NESTED, &place, s->inner, (long long)s->factor);
}

void low_check_rounded(Build *b, const StageNest *st, const char *dimension, const Split *s, const Node *stored, const Node *extent) {
    const Node *arg[2] = { extent, ir_idx(b->ir, s->factor) };
    const Node *other = ir_make1(b->ir, OP_LNOT, st->sched->when), *fits = ir_make2(b->ir, OP_EQ, stored, extent);
    Stmt *check = low_check(b, ir_make2(b->ir, OP_LOR, other, fits), ERR_TAIL_MULTIPLE, st->fn->func->name, dimension, 2, arg);
    check->line = s->line;
    VEC_PUSH(b->arena, &b->check, check);
}
