/* shared.c - loops that stages share: compute_with.
 *
 *     f: box [0, 9]                 for y in [0, 12)
 *     g: box [2, 11],                 if y <= 9:  f's part, with its own y
 *        compute_with(f, y)           if 2 <= y:  g's part
 *
 * The scope of a shared loop belongs to the leader.  Its iterations are the union of what each stage needs, so those
 * of a stage are some of them, or, with an alignment, so many further on.  Each stage has a name for its own count in
 * its part, a scope below the loops that it shares, and guards that the part runs only where its loops would:
 * partitioning makes them free but at the ends.  Seen from the shared loop, what a part reads is clipped to its
 * range, so that nothing is asked for in iterations that leave the part out. */
#include "lower/nest.h"

#include <string.h>

static int with_leader(const StageNest *st) {
    return st->leader ? st->sched->with.depth : 0;
}

int low_shares(const StageNest *st) {
    int n = with_leader(st);
    for (int i = 0; i < st->follower.n; i++)
        if (with_leader(st->follower.at[i]) > n) n = with_leader(st->follower.at[i]);
    return n;
}

/* The index of its j-th loop, outermost first. */
static int loop_at(const StageNest *st, int j) {
    return st->sched->dim.n - 1 - j;
}

static mlc_loop_align align_of(const StageNest *st, int j) {
    const With *w = &st->sched->with;
    mlc_loop_align align = MLC_LOOP_ALIGN_AUTO;
    for (int i = 0; i < w->line.n; i++) {
        const Sym *v = (const Sym *)w->line.at[i]->d.v[0].sym;
        if (!strcmp(v->name, st->sched->dim.at[loop_at(st, j)].name)) align = w->line.at[i]->d.align;
    }
    return align;
}

/* By how much the stage is at a later iteration of loop j than its leader. */
static const Node *later(Build *b, const Facts *f, const StageNest *st, int j) {
    const OwnLoop *own = &st->own[loop_at(st, j)], *lead = &st->leader->own[loop_at(st->leader, j)];
    const Node *start = ir_sub(b->ir, own->min, lead->min), *more = ir_sub(b->ir, own->asked, lead->asked);
    switch (align_of(st, j)) {
    case MLC_LOOP_ALIGN_START: return sim_simplify(b->ir, f, start);
    case MLC_LOOP_ALIGN_END: return sim_simplify(b->ir, f, ir_add(b->ir, start, more));
    default: return ir_idx(b->ir, 0);
    }
}

static Interval iterations(Build *b, const Facts *f, const Node *min, const Node *extent) {
    return (Interval){ min, sim_simplify(b->ir, f, ir_sub(b->ir, ir_add(b->ir, min, extent), ir_idx(b->ir, 1))) };
}

/* Iterations of loop j that the stage or a follower needs, as the stage counts. */
static Interval needed(Build *b, const Facts *f, const StageNest *st, int j) {
    const OwnLoop *own = &st->own[loop_at(st, j)];
    Interval all = iterations(b, f, own->min, own->extent);
    for (int i = 0; i < st->follower.n; i++) {
        const StageNest *g = st->follower.at[i];
        if (with_leader(g) <= j) continue;
        const Node *shift = later(b, f, g, j);
        Interval one = needed(b, f, g, j);
        one.lo = sim_simplify(b->ir, f, ir_sub(b->ir, one.lo, shift));
        one.hi = sim_simplify(b->ir, f, ir_sub(b->ir, one.hi, shift));
        all = low_union(b, f, all, one);
    }
    return all;
}

/* The loop j of the stage and of its followers. */
static Scope *shared_loop(Build *b, const Facts *f, StageNest *st, Scope *up, int j) {
    Scope *s = low_new_scope(b, st, up);
    const OwnLoop *own = &st->own[loop_at(st, j)];
    Interval all = needed(b, f, st, j), alone = iterations(b, f, own->min, own->extent);
    up->inner = s;
    s->dim = &st->sched->dim.at[loop_at(st, j)];
    s->kind = s->dim->kind;
    s->min = all.lo;
    s->extent = low_length(b, f, all);
    if (all.lo == alone.lo && all.hi == alone.hi) s->most = own->most;
    if (low_is_once(s->kind, s->extent)) return s;
    const char *stage = sch_stage_name(b->arena, st->fn->func, st->index);
    s->var = low_sym(b, st->fn->func, SYM_LOOP, arena_printf(b->arena, "%s.%s", stage, s->dim->name));
    if (s->kind != LOOP_VECTOR) return s;
    s->in_vector = true;
    pm_put(&b->varying, s->var, (void *)(uintptr_t)1);
    return s;
}

Scope *low_shared_scopes(Build *b, StageNest *st) {
    const Facts *f = low_facts(b, NULL, st->fn->compute);
    int theirs = with_leader(st), all = low_shares(st), j = 0;
    Scope *at = st->fn->compute;
    st->loop = ARENA_ARRAY(b->arena, Scope *, st->sched->dim.n + 1);
    for (; j < theirs; j++) {
        int i = loop_at(st, j), k = loop_at(st->leader, j);
        at = st->loop[i] = st->leader->loop[k];
        st->own[i].shift = ir_add(b->ir, st->leader->own[k].shift, later(b, f, st, j));
    }
    if (theirs) VEC_PUSH(b->arena, &at->with, st);
    at = st->top = st->part = low_new_scope(b, st, at);
    for (; j < all; j++) {
        at = st->loop[loop_at(st, j)] = shared_loop(b, f, st, at, j);
        st->own[loop_at(st, j)].shift = ir_idx(b->ir, 0);
    }
    if (at != st->top) st->part = at->inner = low_new_scope(b, st, at);
    return st->part;
}

static void run_where(Build *b, Scope *part, Op op, const Node *lo, const Node *hi) {
    Guard g = { .cond = ir_make2(b->ir, op, lo, hi), .likely = true };
    VEC_PUSH(b->arena, &part->guard, g);
}

const Node *low_share(Build *b, StageNest *st, int i, const char *name) {
    const OwnLoop *own = &st->own[i];
    const Scope *s = st->loop[i];
    const Facts *f = low_facts(b, NULL, st->fn->compute);
    Interval mine = iterations(b, f, own->min, own->asked), all = iterations(b, f, s->min, s->extent);
    const Node *v = ir_add(b->ir, s->var ? ir_var(b->ir, s->var) : s->min, own->shift);
    const Node *first = ir_add(b->ir, all.lo, own->shift), *last = ir_add(b->ir, all.hi, own->shift);
    bool from_start = sim_prove(b->ir, f, ir_make2(b->ir, OP_LE, mine.lo, first));
    bool to_end = sim_prove(b->ir, f, ir_make2(b->ir, OP_LE, last, mine.hi));
    if (from_start && to_end && v->op == OP_VAR) return v;
    if (!ir_is(own->extent, 1)) {
        NestLet *let = low_bind(b, st, st->part, name, v, mine, s, !to_end);
        let->clips_start = !from_start;
        v = ir_var(b->ir, let->sym);
    }
    if (!from_start) run_where(b, st->part, OP_LE, mine.lo, v);
    if (!to_end) run_where(b, st->part, OP_LT, v, ir_add(b->ir, mine.hi, ir_idx(b->ir, 1)));
    return v;
}
