/* nest.c - the loops of one stage over its box: splits become outer and inner loops, tails become guards,
 * shifted starts or a longer coverage.
 *
 * Every loop name of a stage has a relative index that runs from 0: the original dimensions start at the
 * box's min.  The splits are read backwards to express the relative index of what was split through its
 * pieces, and forwards to find the pieces' extents:
 *
 *     split(x, xo, xi, 8)      x = x.min + xo * 8 + xi        extent(xo) = (extent(x) + 7) / 8
 *     guard                    if (xo * 8 + xi < extent(x))
 *     shift                    x = x.min + min(xo * 8, extent(x) - 8) + xi
 *     round                    the box covers extent(xo) * 8 points
 *     fuse(a, b, ab)           a = ab % extent(a), b = ab / extent(a) */
#include "lower/nest.h"

#include <string.h>

typedef struct {
    const char *name;
    const Node *extent;  /* asked for */
    const Node *covered; /* run over: larger below a rounded tail */
    const Node *rel;     /* index from 0 */
    const Scope *outermost;
    Scope *avail;        /* innermost loop that rel is made of */
    int64_t most;        /* a constant that bounds extent, or 0 */
    bool clips, is_point;
} Piece;

typedef struct {
    Build *b;
    StageNest *st;
    const Facts *facts;  /* outside of the stage */
    mlc_tail *tail;      /* of each split; MLC_TAIL_COUNT: needs none */
    const Node *(*before)[2]; /* of each split: the extents it met (join: inner, outer); names are reused */
    VEC(Piece) piece;    /* current meaning of each name */
} Nesting;

static Interner *I(const Nesting *n) {
    return n->b->ir;
}

static const Node *simple(const Nesting *n, const Node *e) {
    return sim_simplify(I(n), n->facts, e);
}

static Piece *find(Nesting *n, const char *name) {
    for (int i = 0; i < n->piece.n; i++)
        if (!strcmp(n->piece.at[i].name, name)) return &n->piece.at[i];
    Piece p = { .name = name };
    VEC_PUSH(n->b->arena, &n->piece, p);
    return &n->piece.at[n->piece.n - 1];
}

static const Node *ceil_div(const Nesting *n, const Node *e, int64_t by) {
    return simple(n, ir_make2(I(n), OP_DIV, ir_add(I(n), e, ir_idx(I(n), by - 1)), ir_idx(I(n), by)));
}

static bool is_multiple(const Nesting *n, const Node *e, int64_t of) {
    int64_t v;
    if (ir_is_int(e, &v)) return v % of == 0;
    Congruence c = sim_congruence(I(n), n->facts, e);
    return c.modulus % of == 0 && c.remainder % of == 0;
}

const Sym *low_sym(Build *b, const Func *f, SymKind kind, const char *name) {
    const char *full = name;
    for (int i = 1; sm_get(&b->names, full); i++) full = arena_printf(b->arena, "%s$%d", name, i);
    sm_put(&b->names, full, (void *)(uintptr_t)1);
    Sym *s = ARENA_NEW(b->arena, Sym);
    s->name = arena_str(b->arena, full);
    s->kind = kind;
    s->type = MLC_INDEX;
    s->func = (Func *)(uintptr_t)f;
    return s;
}

static const char *loop_name(const Nesting *n, const char *name) {
    const StageNest *st = n->st;
    return arena_printf(n->b->arena, "%s.%s", sch_stage_name(n->b->arena, st->fn->func, st->index), name);
}

/* ---- tails ---- */

static void note_effect(void *user, const Node *e) {
    if (e->op == OP_UNDEF || e->op == OP_PRINT || e->op == OP_REQUIRE) *(bool *)user = true;
}

/* The parallel loop among those made of the outer loop of split `s`, or NULL: its iterations share the
 * overlap that a shifted tail computes twice. */
static const Dim *racing(const Nesting *n, int s) {
    const StageSched *sched = n->st->sched;
    const char *at[64] = { sched->split.at[s].outer };
    int count = 1;
    for (int i = s + 1; i < sched->split.n; i++) {
        const Split *p = &sched->split.at[i];
        for (int j = 0; j < count; j++) {
            bool parts = p->kind == SPLIT_SPLIT && !strcmp(at[j], p->old);
            bool joins = p->kind == SPLIT_FUSE && (!strcmp(at[j], p->outer) || !strcmp(at[j], p->inner));
            if (parts && count < 64) at[count++] = p->inner;
            if (parts) at[j] = p->outer;
            if (joins) at[j] = p->old;
            if (parts || joins) break;
        }
    }
    for (int i = 0; i < sched->dim.n; i++)
        for (int j = 0; j < count; j++)
            if (sched->dim.at[i].kind == LOOP_PARALLEL && !strcmp(sched->dim.at[i].name, at[j])) return &sched->dim.at[i];
    return NULL;
}

static void check_short(Nesting *n, const Split *s, const Node *extent) {
    Interner *ir = I(n);
    const Node *factor = ir_idx(ir, s->factor), *zero = ir_idx(ir, 0);
    const Node *fits = ir_make2(ir, OP_LE, factor, extent);
    const Node *cond = simple(n, ir_make2(ir, OP_LOR, fits, ir_make2(ir, OP_LE, extent, zero)));
    if (ir_is(cond, 1)) return;
    const Node *arg[2] = { extent, factor };
    Stmt *check = low_check(n->b, cond, ERR_TAIL_SHORT, n->st->fn->func->name, s->old, 2, arg);
    check->line = s->line;
    VEC_PUSH(n->b->arena, &n->st->check, check);
}

/* TAIL_AUTO decides here, where extents are known; and the tail vanishes where the factor divides. */
static mlc_tail choose_tail(Nesting *n, int i, const Node *extent) {
    const Split *s = &n->st->sched->split.at[i];
    if (is_multiple(n, extent, s->factor)) return MLC_TAIL_COUNT;
    const Dim *race = racing(n, i);
    if (s->tail == MLC_TAIL_SHIFT) {
        Place place = sch_place(n->b->arena, s->line);
        if (race) fault_raise(n->b->fault, ERR_TAIL_RACE, &place, s->old, race->name);
        check_short(n, s, extent);
    }
    bool effect = false;
    for (int e = 0; e < n->st->fn->func->n; e++) ir_visit(n->b->arena, n->st->value[e], note_effect, &effect);
    /* require and print are for needed points, so padding of intermediates is skipped. */
    if (s->tail == MLC_TAIL_ROUND && effect && !pm_has(&n->b->external, n->st->fn->func)) return MLC_TAIL_GUARD;
    if (s->tail != MLC_TAIL_AUTO) return s->tail;
    bool fits = sim_prove(I(n), n->facts, ir_make2(I(n), OP_LE, ir_idx(I(n), s->factor), extent));
    return fits && !s->exact && !race && !effect ? MLC_TAIL_SHIFT : MLC_TAIL_GUARD;
}

/* ---- extents, forwards ---- */

static void first_pieces(Nesting *n) {
    const StageNest *st = n->st;
    const Def *def = st->sched->def;
    for (int d = 0; d < def->rank; d++) {
        const Node *c = def->coord[d];
        if (c->op != OP_VAR || c->u.sym->kind != SYM_VAR) continue;
        Piece *p = find(n, c->u.sym->name);
        p->extent = low_length(n->b, n->facts, st->fn->box[d]);
        p->most = st->fn->most[d];
    }
    for (int i = 0; def->rdom && i < def->rdom->n; i++)
        find(n, def->rdom->var[i]->name)->extent = simple(n, def->rdom->extent[i]);
}

static const Node *not_negative(const Nesting *n, const Node *e) {
    return simple(n, ir_max(I(n), e, ir_idx(I(n), 0)));
}

static void find_extents(Nesting *n) {
    const StageSched *sched = n->st->sched;
    n->tail = ARENA_ARRAY(n->b->arena, mlc_tail, sched->split.n + 1);
    n->before = arena_alloc(n->b->arena, sizeof *n->before * (size_t)(sched->split.n + 1));
    for (int i = 0; i < sched->split.n; i++) {
        const Split *s = &sched->split.at[i];
        if (s->kind == SPLIT_FUSE) { /* an empty piece makes the whole empty, also where both are negative */
            n->before[i][0] = not_negative(n, find(n, s->inner)->extent);
            n->before[i][1] = not_negative(n, find(n, s->outer)->extent);
            int64_t most;
            if (__builtin_mul_overflow(find(n, s->inner)->most, find(n, s->outer)->most, &most)) most = 0; /* unknown */
            Piece *fused = find(n, s->old);
            fused->extent = simple(n, ir_mul(I(n), n->before[i][1], n->before[i][0]));
            fused->most = most;
            continue;
        }
        int64_t most = find(n, s->old)->most;
        const Node *extent = find(n, s->old)->extent, *outer = ceil_div(n, extent, s->factor);
        n->before[i][0] = extent;
        n->tail[i] = choose_tail(n, i, extent);
        find(n, s->outer)->extent = outer;
        find(n, s->outer)->most = most > 0 ? (most - 1) / s->factor + 1 : 0;
        find(n, s->inner)->extent = ir_idx(I(n), s->factor);
        find(n, s->inner)->most = s->factor;
    }
}

/* ---- scopes ---- */

static Scope *new_scope(Nesting *n, Scope *up) {
    Scope *s = ARENA_NEW(n->b->arena, Scope);
    s->up = up;
    s->stage = n->st;
    s->depth = up->depth + 1;
    s->in_vector = up->in_vector;
    return s;
}

/* Is the name an original dimension that no split took apart? */
static bool is_untouched(const Nesting *n, const char *name) {
    const StageSched *sched = n->st->sched;
    for (int i = 0; i < sched->split.n; i++) {
        const Split *s = &sched->split.at[i];
        if (!strcmp(s->old, name) || !strcmp(s->outer, name) || !strcmp(s->inner, name)) return false;
    }
    return true;
}

/* Does the guard of the split that made this outer loop fail past the loop's end? */
static bool is_guarded(const Nesting *n, const char *name) {
    const StageSched *sched = n->st->sched;
    for (int i = sched->split.n - 1; i >= 0; i--) {
        const Split *s = &sched->split.at[i];
        if (!strcmp(s->old, name) && s->kind == SPLIT_FUSE) return false;
        if (s->kind == SPLIT_SPLIT && !strcmp(s->outer, name)) return n->tail[i] == MLC_TAIL_GUARD;
    }
    return false;
}

/* The min of an original dimension's range. */
static const Node *start_of(const Nesting *n, const char *name) {
    const StageNest *st = n->st;
    const Def *def = st->sched->def;
    for (int d = 0; d < def->rank; d++) {
        const Node *c = def->coord[d];
        if (c->op == OP_VAR && c->u.sym->kind == SYM_VAR && !strcmp(c->u.sym->name, name)) return st->fn->box[d].lo;
    }
    for (int i = 0; def->rdom && i < def->rdom->n; i++)
        if (!strcmp(def->rdom->var[i]->name, name)) return def->rdom->min[i];
    return ir_idx(n->b->ir, 0);
}

/* A constant that bounds the extent of an original dimension, or NULL. */
static const Node *most_of(const Nesting *n, const char *name) {
    const StageNest *st = n->st;
    const Def *def = st->sched->def;
    for (int d = 0; d < def->rank; d++) {
        const Node *c = def->coord[d];
        bool here = c->op == OP_VAR && c->u.sym->kind == SYM_VAR && !strcmp(c->u.sym->name, name);
        if (here && st->fn->most[d] > 0) return ir_idx(n->b->ir, st->fn->most[d]);
    }
    return NULL;
}

/* The chain of loops, outermost first.  An untouched dimension's loop runs over its points themselves, but
 * for one inside a vector loop, whose bounds must not differ between lanes: it runs from 0. */
static void make_scopes(Nesting *n) {
    StageNest *st = n->st;
    const StageSched *sched = st->sched;
    Scope *at = new_scope(n, st->fn->compute);
    st->top = at;
    for (int i = sched->dim.n - 1; i >= 0; i--) {
        const Dim *d = &sched->dim.at[i];
        Scope *s = new_scope(n, at);
        at->inner = s;
        at = s;
        Piece *p = find(n, d->name);
        s->dim = d;
        s->kind = d->kind;
        s->extent = p->extent;
        /* A vector or unrolled loop of bounded length has the bound as its length, and a guard: its own,
         * unless a split's guard stops it anyway. */
        bool fixed = (d->kind == LOOP_VECTOR || d->kind == LOOP_UNROLL) && !ir_is_const(s->extent) && p->most > 0;
        bool absolute = is_untouched(n, d->name) && !s->in_vector && !fixed;
        s->min = absolute ? start_of(n, d->name) : ir_idx(I(n), 0);
        if (is_untouched(n, d->name)) s->most = most_of(n, d->name);
        p->outermost = p->avail = s;
        p->covered = p->extent;
        bool once = ir_is(s->extent, 1);
        if (!once) s->var = low_sym(n->b, st->fn->func, SYM_LOOP, loop_name(n, d->name));
        if (d->kind == LOOP_VECTOR && !once) {
            s->in_vector = true;
            pm_put(&n->b->varying, s->var, (void *)(uintptr_t)1);
        }
        p->rel = once ? ir_idx(I(n), 0) : ir_var(I(n), s->var);
        p->is_point = !once && absolute; /* the loop's variable is the point itself */
        if (!fixed) continue;
        if (!is_guarded(n, d->name)) VEC_PUSH(n->b->arena, &s->guard, ir_make2(I(n), OP_LT, p->rel, s->extent));
        s->extent = ir_idx(I(n), p->most);
        p->clips = true;
    }
    st->leaf = at;
}

static void varies_node(void *user, const Node *e) {
    Build *b = ((void **)user)[0];
    if (e->op == OP_VAR && pm_get(&b->varying, e->u.sym)) ((void **)user)[1] = b;
}

/* ---- values, backwards ---- */

static const Scope *outer_of(const Scope *a, const Scope *c) {
    return a->depth < c->depth ? a : c;
}

static Scope *inner_of(Scope *a, Scope *c) {
    return a->depth > c->depth ? a : c;
}

static NestLet *bind(Nesting *n, Scope *at, const char *name, const Node *value, Interval whole,
                     const Scope *outermost, bool clips) {
    const Sym *sym = low_sym(n->b, n->st->fn->func, SYM_LET, name);
    void *user[2] = { n->b, NULL };
    ir_visit(n->b->arena, value, varies_node, user);
    if (user[1]) pm_put(&n->b->varying, sym, (void *)(uintptr_t)1);
    NestLet let = { .sym = sym, .value = value, .whole = whole, .outermost = outermost, .clips = clips };
    VEC_PUSH(n->b->arena, &at->let, let);
    return &at->let.at[at->let.n - 1];
}

static void check_nested_round(Nesting *n, const Split *s, const Piece *inner) {
    int64_t covered;
    if (ir_is_int(inner->covered, &covered) && covered <= s->factor) return;
    const StageSched *sched = n->st->sched;
    const PlanLine *line = s->line;
    for (int i = 0; i < sched->split.n; i++) /* the later split of the piece is to blame */
        if (n->tail[i] == MLC_TAIL_ROUND && !strcmp(sched->split.at[i].old, s->inner)) line = sched->split.at[i].line;
    Place place = sch_place(n->b->arena, line);
    fault_raise(n->b->fault, ERR_TAIL_NESTED, &place, s->inner, (long long)s->factor);
}

/* Pieces of a join: its relative index divided.  Each gets a name, so that it is computed once. */
static void value_of_fuse(Nesting *n, const Split *s) {
    Piece fused = *find(n, s->old);
    Piece *inner = find(n, s->inner), *outer = find(n, s->outer);
    const Node *size = inner->extent;
    inner->rel = simple(n, ir_make2(I(n), OP_MOD, fused.rel, size));
    inner->covered = size;
    *find(n, s->inner) = *inner;
    outer = find(n, s->outer);
    outer->rel = ir_make2(I(n), OP_DIV, fused.rel, size);
    outer->covered = outer->extent;
    if (fused.covered != fused.extent)
        outer->covered = ir_make2(I(n), OP_DIV, ir_sub(I(n), ir_add(I(n), fused.covered, size), ir_idx(I(n), 1)), size);
    const Node *last = ir_sub(I(n), size, ir_idx(I(n), 1)), *zero = ir_idx(I(n), 0);
    const Node *outer_last = ir_sub(I(n), outer->covered, ir_idx(I(n), 1));
    Scope *at = fused.avail;
    const Scope *top = fused.outermost;
    NestLet *let = bind(n, at, loop_name(n, s->inner), inner->rel, (Interval){ zero, last }, top, false);
    const Sym *a = let->sym;
    let->coarse = !ir_is_const(size);
    let = bind(n, at, loop_name(n, s->outer), outer->rel, (Interval){ zero, outer_last }, top, false);
    const Sym *c = let->sym;
    let->coarse = !ir_is_const(size);
    inner = find(n, s->inner);
    inner->rel = ir_var(I(n), a);
    inner->outermost = fused.outermost;
    inner->avail = at;
    inner->clips = false;
    outer = find(n, s->outer);
    outer->rel = ir_var(I(n), c);
    outer->outermost = fused.outermost;
    outer->avail = at;
    outer->clips = fused.clips;
}

static void value_of_split(Nesting *n, const Split *s, mlc_tail tail, const Node *extent) {
    Piece outer = *find(n, s->outer), inner = *find(n, s->inner);
    check_nested_round(n, s, &inner);
    const Node *factor = ir_idx(I(n), s->factor), *start = ir_mul(I(n), outer.rel, factor);
    Piece p = { .name = s->old, .extent = extent, .covered = extent };
    p.outermost = outer_of(outer.outermost, inner.outermost);
    p.avail = inner_of(outer.avail, inner.avail);
    p.clips = outer.clips;
    if (tail == MLC_TAIL_SHIFT) {
        const Node *last = ir_sub(I(n), extent, factor);
        start = ir_min(I(n), ir_make1(I(n), OP_LIKELY, start), last);
        const Node *zero = ir_idx(I(n), 0);
        const Sym *base = bind(n, outer.avail, arena_printf(n->b->arena, "%s.start", loop_name(n, s->old)), start,
                               (Interval){ zero, last }, outer.outermost, false)->sym;
        start = ir_var(I(n), base);
    }
    p.rel = ir_add(I(n), start, inner.rel);
    if (tail == MLC_TAIL_GUARD) {
        VEC_PUSH(n->b->arena, &p.avail->guard, ir_make2(I(n), OP_LT, p.rel, extent));
        p.clips = true;
    }
    bool open = tail == MLC_TAIL_ROUND || (tail == MLC_TAIL_COUNT && outer.covered != outer.extent);
    if (open) p.covered = simple(n, ir_mul(I(n), outer.covered, factor)); /* nothing stops what is rounded up */
    *find(n, s->old) = p;
}

static void find_values(Nesting *n) {
    const StageSched *sched = n->st->sched;
    for (int i = sched->split.n - 1; i >= 0; i--) {
        const Split *s = &sched->split.at[i];
        if (s->kind == SPLIT_FUSE) {
            find(n, s->inner)->extent = n->before[i][0];
            find(n, s->outer)->extent = n->before[i][1];
            value_of_fuse(n, s);
        } else {
            value_of_split(n, s, n->tail[i], n->before[i][0]);
        }
    }
}

/* ---- the point of each original dimension ---- */

static const Node *point(Nesting *n, const char *name, Interval *covered) {
    Piece p = *find(n, name);
    const Node *start = start_of(n, name), *one = ir_idx(I(n), 1);
    const Node *last = ir_sub(I(n), ir_add(I(n), start, p.covered), one);
    covered->lo = start;
    covered->hi = simple(n, last);
    if (p.is_point) return p.rel;
    const Node *value = ir_add(I(n), start, p.rel);
    if (ir_is_const(value)) return value;
    NestLet *let = bind(n, p.avail, loop_name(n, name), value, *covered, p.outermost, p.clips);
    const Node *most = p.covered == p.extent ? most_of(n, name) : NULL;
    if (most) let->loose = (Interval){ start, ir_sub(I(n), ir_add(I(n), start, most), one) };
    return ir_var(I(n), let->sym);
}

static void check_rounded(Nesting *n, const char *name) {
    const StageNest *st = n->st;
    const Piece *p = find(n, name);
    if (p->covered == p->extent) return;
    int64_t factor = 1;
    const PlanLine *line = NULL;
    for (int i = 0; i < st->sched->split.n; i++)
        if (n->tail[i] == MLC_TAIL_ROUND) {
            factor = st->sched->split.at[i].factor;
            line = st->sched->split.at[i].line;
        }
    const Node *cond = ir_make2(I(n), OP_EQ, p->covered, p->extent);
    const Node *arg[2] = { p->extent, ir_idx(I(n), factor) };
    Stmt *check = low_check(n->b, cond, ERR_TAIL_MULTIPLE, st->fn->func->name, name, 2, arg);
    check->line = line;
    VEC_PUSH(n->b->arena, &n->b->check, check);
}

static void substitute_points(Nesting *n, PtrMap *map) {
    StageNest *st = n->st;
    const Def *def = st->sched->def;
    for (int d = 0; d < def->rank; d++) st->coord[d] = ir_substitute(I(n), st->coord[d], map);
    for (int i = 0; i < def->n; i++) st->value[i] = ir_substitute(I(n), st->value[i], map);
    for (int i = 0; i < st->n_where; i++) st->where[i] = ir_substitute(I(n), st->where[i], map);
    for (int r = 0; r < st->read.n; r++)
        for (int i = 0; i < st->read.at[r].access.n; i++)
            st->read.at[r].access.at[i] = ir_substitute(I(n), st->read.at[r].access.at[i], map);
}

static void find_points(Nesting *n) {
    StageNest *st = n->st;
    const Def *def = st->sched->def;
    PtrMap map;
    pm_init(&map, n->b->arena);
    for (int d = 0; d < def->rank; d++) {
        const Node *c = def->coord[d];
        st->covered[d] = st->fn->box[d];
        if (c->op != OP_VAR || c->u.sym->kind != SYM_VAR) continue;
        const Node *p = point(n, c->u.sym->name, &st->covered[d]);
        pm_put(&map, c->u.sym, (void *)(uintptr_t)p);
        if (st->fn->storage) check_rounded(n, c->u.sym->name);
    }
    for (int i = 0; def->rdom && i < def->rdom->n; i++) {
        Interval ignored;
        const Node *p = point(n, def->rdom->var[i]->name, &ignored);
        pm_put(&map, def->rdom->var[i], (void *)(uintptr_t)p);
    }
    substitute_points(n, &map);
}

void low_build_stage(Build *b, StageNest *st) {
    if (alg_is_whole(st->fn->func)) {
        low_whole_nest(b, st);
        return;
    }
    Nesting n = { .b = b, .st = st, .facts = low_facts(b, NULL, st->fn->compute) };
    first_pieces(&n);
    find_extents(&n);
    make_scopes(&n);
    find_values(&n);
    find_points(&n);
}
