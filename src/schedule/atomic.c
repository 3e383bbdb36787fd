/* atomic.c - atomic(): loops whose iterations meet may run at once where the update is a fold.
 *
 * Under a parallel loop threads join their values at the places that they share; lowering makes the stores atomic.
 * A vector loop becomes lanes that meet nowhere, `f.u0: atomic(), vectorize(k, 4)` on f(x) += e over k:
 *
 *     f$lanes0(x, u) = 0
 *     f$lanes0(x, u) += e                       the parts, as rfactor makes them; u, a vector, in place of the lanes
 *     f$lanes0(x, h) += f$lanes0(x, h + 2)      joined by halving: h over 0, 1
 *     f$lanes0(x, 0) += f$lanes0(x, 1)
 *     f(x) += f$lanes0(x, 0)
 *
 * The parts fold over the loops of the domain around the vector loop too, up to the first that is parallel, moves along
 * the Func or is none of the domain; they are computed in that loop.  This needs the loops as all lines of the plan left them. */
#include "schedule/factor.h"

#include <string.h>

/* ---- the directive and its rules ---- */

void sch_atomic(Resolve *r, StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    Fold fold;
    if (st->index == 0) fault_raise(r->fault, ERR_ATOMIC_STAGE, &place, sch_stage_name(r->arena, st->func, st->index));
    sch_need_fold(r, line, st, &fold);
    st->atomic = line;
}

/* What the instructions of a GPU can join. */
static void check_gpu(Resolve *r, const StageSched *st, const Fold *fold, const Dim *d, const Place *place) {
    const Func *f = st->func;
    if (fold->kind == FOLD_POINT)
        fault_raise(r->fault, ERR_GPU_ATOMIC_TUPLE, place, d->name, f->name);
    for (int k = 0; k < f->n; k++)
        if (mlc_type_size(f->type[k]) == 1) fault_raise(r->fault, ERR_GPU_ATOMIC_SIZE, place, d->name, f->name, 8, f->name);
}

void sch_check_race(Resolve *r, const StageSched *st, const Dim *d, LoopKind kind, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    const char *stage = sch_stage_name(r->arena, st->func, st->index);
    if (!st->atomic) fault_raise(r->fault, ERR_RACE, &place, d->name, stage);
    Fold fold = sch_fold(r->ir, st->func, st->index, st->def);
    if (fold.kind == FOLD_ARG) fault_raise(r->fault, ERR_ATOMIC_ORDER, &place, stage, d->name);
    if (sch_is_gpu(kind)) check_gpu(r, st, &fold, d, &place);
    r->s->bounded |= sch_spreads(kind) && !fold.exact;
}

/* ---- lanes ---- */

static Leaf *leaf_of(Factor *x, const char *name) {
    for (int i = 0; i < x->leaf.n; i++)
        if (!strcmp(x->leaf.at[i].name, name)) return &x->leaf.at[i];
    return NULL;
}

/* A Var for a loop that is kept, by a name that no dimension of the Func has. */
/* Names of a Func's arguments and of domains are not to be had for a Var beside them. */
static bool is_taken(const Factor *x, const char *name) {
    const Func *f = x->st->func;
    for (int d = 0; d < f->rank; d++)
        if (!strcmp(f->arg[d]->name, name)) return true;
    const Schedule *s = x->r->s;
    for (int i = 0; i < s->order.n; i++)
        for (int k = 0; k < s->order.at[i]->def.n; k++) {
            const RDom *dom = s->order.at[i]->def.at[k]->rdom;
            if (dom && !strcmp(dom->name, name)) return true;
        }
    return false;
}

static const Sym *new_var(Factor *x, const char *loop) {
    Sym *s = ARENA_NEW(x->r->arena, Sym);
    char *name = arena_str(x->r->arena, loop);
    for (char *c = name; *c; c++)
        if (*c == '.') *c = '$';
    while (is_taken(x, name)) name = arena_printf(x->r->arena, "%s$", name);
    *s = (Sym){ .name = name, .kind = SYM_VAR, .type = MLC_INDEX };
    return s;
}

/* The dimension whose place on the left is that of the loop alone, which it has nowhere else there; -1: none. */
static int own_place(const Factor *x, const Leaf *l) {
    const Def *def = x->st->def;
    int place = -1, n = 0;
    for (int k = 0; l->whole && k < def->rdom->n; k++) {
        const Sym *var = alg_written_var(def->rdom, k);
        for (int d = 0; def->rdom->var[k] == l->whole && d < def->rank; d++) {
            n += ir_uses(x->r->arena, def->lhs[d], var);
            if (def->lhs[d]->op == OP_VAR && def->lhs[d]->u.sym == var) place = d;
        }
    }
    return n == 1 ? place : -1;
}

static bool folds(Factor *x, const Dim *d) {
    const Leaf *l = leaf_of(x, d->name);
    return l && !sch_spreads(d->kind) && own_place(x, l) < 0;
}

/* The leaves, with the loops of the domain unmarked for the time being; from loop `at` on outwards all are kept. */
static void choose_kept(Factor *x, int lanes, int *at) {
    StageSched *st = x->st;
    Dim *dims = arena_copy(x->r->arena, st->dim.at, sizeof *dims * (size_t)st->dim.n);
    for (int i = 0; i < st->dim.n; i++) st->dim.at[i].kind = LOOP_SERIAL;
    sch_find_leaves(x);
    memcpy(st->dim.at, dims, sizeof *dims * (size_t)st->dim.n);
    for (int i = 0; i < lanes; i++)
        if (!folds(x, &dims[i])) fault_raise(x->r->fault, ERR_ATOMIC_INSIDE, &x->place, dims[i].name);
    *at = lanes + 1;
    while (*at < st->dim.n && folds(x, &dims[*at])) ++*at;
    for (int i = lanes; i < st->dim.n; i++) {
        Leaf *l = leaf_of(x, dims[i].name);
        if (!l || (i > lanes && i < *at)) continue;
        l->place = own_place(x, l);
        l->kept = IN_PLACE;
        if (l->place >= 0) continue;
        x->var[x->n_kept] = new_var(x, l->name);
        l->kept = x->n_kept++;
        if (i == lanes) x->lanes = l->kept;
    }
}

/* n lanes from `first` on: lane i takes lane i + m where that is less than n, with m the half of n rounded up. */
static void halve(Factor *x, const Node *first, int64_t n) {
    Interner *I = x->I;
    Func *p = x->parts;
    while (n > 1) {
        int64_t m = (n + 1) / 2;
        const char *name = arena_printf(x->r->arena, "%s$%lld", x->name, (long long)m);
        RDom *dom = n - m > 1 ? sch_line_domain(x, name, first, ir_idx(I, n - m)) : NULL;
        const Node *lhs[MAX_RANK], *other[MAX_RANK], *old[MAX_TUPLE], *part[MAX_TUPLE], *rhs[MAX_TUPLE];
        for (int d = 0; d < p->rank; d++) lhs[d] = other[d] = ir_var(I, p->arg[d]);
        int u = x->st->def->rank + x->lanes;
        lhs[u] = dom ? ir_var(I, dom->written[0]) : first;
        other[u] = ir_add(I, lhs[u], ir_idx(I, m));
        for (int k = 0; k < p->n; k++) {
            old[k] = ir_access(I, p, p->type[k], k, p->rank, lhs);
            part[k] = ir_access(I, p, p->type[k], k, p->rank, other);
        }
        sch_join(I, &x->fold, p->n, old, part, rhs);
        Def *def = sch_factor_def(x, p, x->fold.combine, dom, p->rank, lhs, rhs);
        VEC_PUSH(x->r->arena, &p->def, def);
        n = m;
    }
}

/* ---- the schedule of the parts ---- */

/* The loop `name` becomes the one at place `at`, marked as `from` is. */
static void place_loop(StageSched *st, const char *name, int at, const Dim *from) {
    Dim *d = sch_find_loop(st, name);
    if (!d) return;
    Dim now = *d;
    int i = (int)(d - st->dim.at);
    memmove(&st->dim.at[i], &st->dim.at[i + 1], sizeof now * (size_t)(st->dim.n - 1 - i));
    memmove(&st->dim.at[at + 1], &st->dim.at[at], sizeof now * (size_t)(st->dim.n - 1 - at));
    now.kind = from->kind;
    now.line = from->line;
    now.partition = from->partition;
    now.partitioned = from->partitioned;
    st->dim.at[at] = now;
}

/* What the parts call the loop that is dims[i]. */
static const char *in_parts(Factor *x, const Dim *dims, int lanes, int i) {
    return i == lanes ? x->var[x->lanes]->name : leaf_of(x, dims[i].name)->rvar;
}

/* Is the loop one of the parts now, and by what name? */
static bool follow_loop(Factor *x, const char **loop, const Dim *dims, int lanes, int at) {
    int i = 0;
    while (i < at && strcmp(*loop, dims[i].name)) i++;
    if (i < at) *loop = in_parts(x, dims, lanes, i);
    return i < at;
}

static void move_prefetches(Factor *x, StageSched *to, const Dim *dims, int lanes, int at) {
    StageSched *st = x->st;
    int n = st->prefetch.n;
    st->prefetch.n = 0;
    for (int i = 0; i < n; i++) {
        Prefetch p = st->prefetch.at[i];
        if (follow_loop(x, &p.at, dims, lanes, at)) {
            follow_loop(x, &p.from, dims, lanes, at);
            VEC_PUSH(x->r->arena, &to->prefetch, p);
        } else st->prefetch.at[st->prefetch.n++] = p;
    }
}

static FuncSched *schedule_parts(Factor *x, const Dim *dims, int lanes, int at) {
    FuncSched *fs = sch_new_sched(x->r, x->parts);
    const char *u = x->var[x->lanes]->name;
    for (int i = 0; i < fs->stage.n; i++) {
        StageSched *st = &fs->stage.at[i];
        const RDom *dom = st->def->rdom;
        st->touched = true;
        if (i == 1) {
            for (int k = 0; k < at; k++) place_loop(st, in_parts(x, dims, lanes, k), k, &dims[k]);
            move_prefetches(x, st, dims, lanes, at);
        } else if (i == 0) place_loop(st, u, 0, &dims[lanes]);
        else if (dom) place_loop(st, dom->var[0]->name, 0, &dims[lanes]);
    }
    fs->compute = (Level){ .kind = AT_LOOP, .func = x->st->func, .stage = x->st->index, .line = x->line };
    if (at < x->n_dims) fs->compute.loop = dims[at].name;
    return fs;
}

/* What the plan places at a loop that the parts have now. */
static void follow(Factor *x, Level *level, const Dim *dims, int lanes, int at) {
    const FuncSched *own = pm_get(&x->r->s->sched, x->st->func);
    if (level->kind != AT_LOOP || level->func != x->st->func || !level->loop) return;
    if (level->stage >= 0 && level->stage != x->st->index) return;
    for (int i = 0; level->stage < 0 && i < own->stage.n; i++)
        if (i != x->st->index && sch_has_loop(&own->stage.at[i], level->loop)) return;
    if (!follow_loop(x, &level->loop, dims, lanes, at)) return;
    level->func = x->parts;
    level->stage = 1;
}

static void derive(Resolve *r, StageSched *st, int lanes) {
    const PlanLine *line = st->dim.at[lanes].line;
    Factor x = { .r = r, .I = r->ir, .st = st, .line = line, .place = sch_place(r->arena, line), .lanes = -1 };
    const char *stage = sch_stage_name(r->arena, st->func, st->index);
    const Dim *dims = arena_copy(r->arena, st->dim.at, sizeof *dims * (size_t)st->dim.n);
    const char *loop = dims[lanes].name;
    int at;
    int64_t n;
    if (st->special.n || !ir_is(st->when, 1)) fault_raise(r->fault, ERR_ATOMIC_SPECIAL, &x.place, loop, stage);
    x.n_dims = st->dim.n;
    x.name = arena_printf(r->arena, "%s$lanes%d", st->func->name, st->index - 1);
    x.fold = sch_fold(r->ir, st->func, st->index, st->def);
    choose_kept(&x, lanes, &at);
    const Leaf leaf = *leaf_of(&x, loop);
    if (!ir_is_int(leaf.extent, &n) || n < 2) fault_raise(r->fault, ERR_VECTOR_EXTENT, &x.place, loop, stage);
    x.parts = ARENA_NEW(r->arena, Func);
    *x.parts = (Func){ .name = x.name, .ctx = st->func->ctx, .loc = line->d.loc, .id = st->func->id };
    sch_make_parts(&x);
    halve(&x, leaf.min, n);
    sch_join_parts(&x);
    FuncSched *fs = schedule_parts(&x, dims, lanes, at);
    for (uint32_t i = 0; i < r->s->sched.cap; i++) {
        FuncSched *other = r->s->sched.key[i] ? r->s->sched.val[i] : NULL;
        if (!other) continue;
        follow(&x, &other->compute, dims, lanes, at);
        follow(&x, &other->store, dims, lanes, at);
        follow(&x, &other->hoist, dims, lanes, at);
    }
    pm_put(&r->s->sched, x.parts, fs);
    r->s->rewrites |= !x.fold.exact;
}

/* ---- threads ---- */

/* Of equal values the first point wins, although it may come last. */
static void break_ties(Resolve *r, StageSched *st) {
    Func *f = st->func;
    const Def *def = st->def;
    Fold fold = sch_fold(r->ir, f, st->index, def);
    if (fold.kind != FOLD_POINT) return;
    const Node *old[MAX_TUPLE], *part[MAX_TUPLE], *rhs[MAX_TUPLE];
    for (int k = 0; k < f->n; k++) {
        old[k] = ir_access(r->ir, f, f->type[k], k, def->rank, def->lhs);
        part[k] = def->rhs[k]->kid[1];
    }
    sch_join(r->ir, &fold, f->n, old, part, rhs);
    Def *now = alg_build(r->ir, f, DEF_SET, def->rank, def->lhs, f->n, rhs, NULL, def->loc);
    if (!now) ir_raise_poison(r->fault, f->poison);
    st->def = f->def.at[st->index] = now;
}

/* The loop of this kind whose iterations meet, -1: none. */
static int meeting(const StageSched *st, LoopKind kind) {
    for (int i = 0; i < st->dim.n; i++)
        if (st->dim.at[i].kind == kind && !st->dim.at[i].is_pure) return i;
    return -1;
}

static void derive_stage(Resolve *r, StageSched *st) {
    for (int i = 0; i < st->special.n; i++) derive_stage(r, st->special.at[i].sched);
    int lanes = meeting(st, LOOP_VECTOR);
    if (lanes >= 0) derive(r, st, lanes);
    if (meeting(st, LOOP_PARALLEL) >= 0) break_ties(r, st);
}

void sch_derive_lanes(Resolve *r) {
    const FuncList order = r->s->order; /* what is made stands not in it */
    for (int i = 0; i < order.n; i++) {
        FuncSched *fs = pm_get(&r->s->sched, order.at[i]);
        for (int k = 0; fs && k < fs->stage.n; k++) derive_stage(r, &fs->stage.at[k]);
    }
}
