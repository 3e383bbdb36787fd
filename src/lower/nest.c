/* nest.c - the loops of one stage over its box: splits become outer and inner loops, tails become guards,
 * shifted starts or a longer coverage.
 *
 * Every loop name of a stage has a relative index that runs from 0: the original dimensions start at the
 * box's min.  The splits are read backwards to express the relative index of what was split through its
 * pieces, and forwards to find the pieces' extents:
 *
 *     split(x, xo, xi, 8)      x = x.min + xo * 8 + xi        extent(xo) = (extent(x) + 7) / 8
 *     guard, predicate         if (xo * 8 + xi < extent(x)), with a branch or by a mask
 *     shift                    x = x.min + min(xo * 8, extent(x) - 8) + xi
 *     round                    the box covers extent(xo) * 8 points
 *     shift_blend, round_blend    the same, and where that is an earlier point, or past the end, f = f
 *     fuse(a, b, ab)           a = ab % extent(a), b = ab / extent(a)
 *     rename(x, t)             x = t
 *
 * A tail may let loads run over more points than stores, or the other way round, so each name has an extent for
 * either: what producers and inputs must hold, and what the memory of the Func must. */
#include "lower/nest.h"

#include <string.h>

typedef struct {
    const char *name;
    const Node *extent;  /* asked for */
    const Node *covered; /* loads run over: larger below a rounded tail */
    const Node *stored;  /* stores run over */
    const Split *past;   /* whose tail makes one of them larger, NULL: none */
    const Node *rel;     /* index from 0 */
    const Scope *outermost;
    Scope *avail;        /* innermost loop that rel is made of */
    int64_t most;        /* a constant that bounds extent, or 0 */
    bool clips, is_point;
} Piece;

typedef struct Nesting {
    Build *b;
    StageNest *st;
    const Facts *facts;  /* outside of the stage */
    const Facts *known;  /* the same and the condition under which it runs: for decisions, never for boxes */
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
    for (int i = 0; i < st->sched->dim.n; i++) { /* loops that are no pieces of any */
        const char *name = st->sched->dim.at[i].name;
        if (!strcmp(name, SINGLE_BLOCK) || !strcmp(name, SINGLE_THREAD)) find(n, name)->extent = ir_idx(I(n), 1);
    }
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
        n->tail[i] = MLC_TAIL_COUNT;
        if (s->kind == SPLIT_RENAME) {
            const Node *extent = find(n, s->old)->extent;
            int64_t most = find(n, s->old)->most;
            Piece *now = find(n, s->outer);
            now->extent = n->before[i][0] = extent;
            now->most = most;
            continue;
        }
        if (s->kind == SPLIT_FUSE) { /* an empty piece makes the whole empty, also where both are negative */
            n->before[i][0] = find(n, s->inner)->extent;
            n->before[i][1] = find(n, s->outer)->extent;
            const Node *columns = not_negative(n, n->before[i][0]), *rows = not_negative(n, n->before[i][1]);
            int64_t most;
            if (__builtin_mul_overflow(find(n, s->inner)->most, find(n, s->outer)->most, &most)) most = 0; /* unknown */
            Piece *fused = find(n, s->old);
            fused->extent = simple(n, ir_mul(I(n), rows, columns));
            fused->most = most;
            continue;
        }
        int64_t most = find(n, s->old)->most;
        const Node *extent = find(n, s->old)->extent, *outer = ceil_div(n, extent, s->factor);
        n->before[i][0] = extent;
        n->tail[i] = low_choose_tail(n->b, n->st, i, extent, n->known);
        find(n, s->outer)->extent = outer;
        find(n, s->outer)->most = most > 0 ? (most - 1) / s->factor + 1 : 0;
        find(n, s->inner)->extent = ir_idx(I(n), s->factor);
        find(n, s->inner)->most = s->factor;
    }
}

/* ---- scopes ---- */

Scope *low_new_scope(Build *b, StageNest *st, Scope *up) {
    Scope *s = ARENA_NEW(b->arena, Scope);
    s->up = up;
    s->stage = st;
    s->depth = up->depth + 1;
    s->in_vector = up->in_vector;
    return s;
}

/* The original dimension whose loop this is, as it was or by another name; NULL: splits and joins made it. */
static const char *origin(const StageSched *sched, const char *name) {
    for (int i = sched->split.n - 1; i >= 0; i--) {
        const Split *s = &sched->split.at[i];
        if (s->kind == SPLIT_RENAME && !strcmp(s->outer, name)) name = s->old;
        else if (s->kind == SPLIT_FUSE && !strcmp(s->old, name)) return NULL;
        else if (s->kind == SPLIT_SPLIT && (!strcmp(s->outer, name) || !strcmp(s->inner, name))) return NULL;
    }
    return name;
}

/* Does the guard of the split that made this outer loop fail past the loop's end? */
static bool is_guarded(const Nesting *n, const char *name) {
    const StageSched *sched = n->st->sched;
    for (int i = sched->split.n - 1; i >= 0; i--) {
        const Split *s = &sched->split.at[i];
        if (!strcmp(s->old, name) && s->kind == SPLIT_FUSE) return false;
        if (s->kind == SPLIT_RENAME && !strcmp(s->outer, name)) name = s->old;
        if (s->kind == SPLIT_SPLIT && !strcmp(s->outer, name))
            return n->tail[i] == MLC_TAIL_GUARD || n->tail[i] == MLC_TAIL_PREDICATE;
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

static void add_guard(Nesting *n, Scope *at, const Node *cond, bool likely, MaskKind mask) {
    Guard g = { cond, likely, mask };
    VEC_PUSH(n->b->arena, &at->guard, g);
}

/* An untouched dimension's loop runs over its points themselves, but for one inside a vector loop, whose bounds must
 * not differ between lanes: it runs from 0.  A vector, unrolled or tensorized loop of bounded length has the bound as its length. */
static void find_own_loops(Nesting *n) {
    StageNest *st = n->st;
    const StageSched *sched = st->sched;
    bool in_vector = st->fn->compute->in_vector;
    st->own = ARENA_ARRAY(n->b->arena, OwnLoop, sched->dim.n + 1);
    for (int i = sched->dim.n - 1; i >= 0; i--) {
        const Dim *d = &sched->dim.at[i];
        const Piece *p = find(n, d->name);
        const char *whole = origin(sched, d->name);
        bool fixed = (d->kind == LOOP_VECTOR || d->kind == LOOP_UNROLL || d->kind == LOOP_TENSOR) && !ir_is_const(p->extent) && p->most > 0;
        OwnLoop *own = &st->own[i];
        own->asked = p->extent;
        own->extent = fixed ? ir_idx(I(n), p->most) : p->extent;
        own->absolute = whole && !in_vector && !fixed;
        own->min = own->absolute ? start_of(n, whole) : ir_idx(I(n), 0);
        own->most = whole ? most_of(n, whole) : p->most > 0 ? ir_idx(I(n), p->most) : NULL;
        in_vector |= d->kind == LOOP_VECTOR && !ir_is(own->extent, 1);
    }
}

static Scope *make_loop(Nesting *n, Scope *up, int i) {
    StageNest *st = n->st;
    Scope *s = low_new_scope(n->b, st, up);
    const OwnLoop *own = &st->own[i];
    up->inner = s;
    s->dim = &st->sched->dim.at[i];
    s->kind = s->dim->kind;
    s->min = own->min;
    s->extent = own->extent;
    s->most = own->most;
    if (low_is_once(s->kind, s->extent)) return s;
    s->var = low_sym(n->b, st->fn->func, SYM_LOOP, loop_name(n, s->dim->name));
    if (s->kind != LOOP_VECTOR) return s;
    s->in_vector = true;
    pm_put(&n->b->varying, s->var, (void *)(uintptr_t)1);
    return s;
}

/* The chain of loops, outermost first. */
static void make_scopes(Nesting *n) {
    StageNest *st = n->st;
    const StageSched *sched = st->sched;
    Scope *at = low_shared_scopes(n->b, st);
    for (int i = sched->dim.n - 1; i >= 0; i--) {
        const OwnLoop *own = &st->own[i];
        const char *name = sched->dim.at[i].name;
        bool shared = st->loop[i] != NULL, once = low_is_once(sched->dim.at[i].kind, own->extent);
        if (!shared) st->loop[i] = at = make_loop(n, at, i);
        const Node *v = shared ? low_share(n->b, st, i, loop_name(n, name)) : once ? NULL : ir_var(I(n), at->var);
        Piece *p = find(n, name);
        p->outermost = st->loop[i];
        p->avail = at;
        p->covered = p->stored = p->extent;
        p->rel = once ? ir_idx(I(n), 0) : v;
        p->is_point = !once && own->absolute; /* the loop's variable is the point itself */
        if (own->asked == own->extent) continue;
        /* Its own guard, unless a split's guard stops it anyway. */
        if (!shared && !is_guarded(n, name)) add_guard(n, at, ir_make2(I(n), OP_LT, p->rel, own->asked), true, MASK_NONE);
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

NestLet *low_bind(Build *b, const StageNest *st, Scope *at, const char *name, const Node *value, Interval whole,
                  const Scope *outermost, bool clips) {
    const Sym *sym = low_sym(b, st->fn->func, SYM_LET, name);
    void *user[2] = { b, NULL };
    ir_visit(b->arena, value, varies_node, user);
    if (user[1]) pm_put(&b->varying, sym, (void *)(uintptr_t)1);
    NestLet let = { .sym = sym, .value = value, .whole = whole, .outermost = outermost, .clips = clips };
    VEC_PUSH(b->arena, &at->let, let);
    return &at->let.at[at->let.n - 1];
}

static NestLet *bind(Nesting *n, Scope *at, const char *name, const Node *value, Interval whole, const Scope *outermost, bool clips) {
    return low_bind(n->b, n->st, at, name, value, whole, outermost, clips);
}

/* How many whole rows of `size` the points of a join reach into. */
static const Node *rows_of(const Nesting *n, const Node *points, const Piece *fused, const Node *rows, const Node *size) {
    if (points == fused->extent) return rows;
    return ir_make2(I(n), OP_DIV, ir_sub(I(n), ir_add(I(n), points, size), ir_idx(I(n), 1)), size);
}

/* Pieces of a join: its relative index divided.  Each gets a name, so that it is computed once.  They range as they did
 * before, and no further where that is empty: an end of a box that is known as one expression stays that one. */
static void value_of_fuse(Nesting *n, const Split *s, const Node *const *extent) {
    Piece fused = *find(n, s->old); /* whose name one of its pieces may have */
    const Node *size = not_negative(n, extent[0]), *one = ir_idx(I(n), 1), *zero = ir_idx(I(n), 0);
    Scope *at = fused.avail;
    Piece inner = { .name = s->inner, .extent = extent[0], .covered = extent[0], .stored = extent[0], .outermost = fused.outermost,
                    .avail = at };
    Piece outer = { .name = s->outer, .extent = extent[1], .outermost = fused.outermost, .avail = at, .clips = fused.clips,
                    .past = fused.past };
    outer.covered = rows_of(n, fused.covered, &fused, extent[1], size);
    outer.stored = rows_of(n, fused.stored, &fused, extent[1], size);
    Interval columns = { zero, ir_sub(I(n), extent[0], one) }, rows = { zero, ir_sub(I(n), outer.covered, one) };
    const Node *rest = simple(n, ir_make2(I(n), OP_MOD, fused.rel, size)), *quotient = ir_make2(I(n), OP_DIV, fused.rel, size);
    NestLet *let = bind(n, at, loop_name(n, s->inner), rest, columns, fused.outermost, false);
    let->coarse = !ir_is_const(size);
    inner.rel = ir_var(I(n), let->sym);
    let = bind(n, at, loop_name(n, s->outer), quotient, rows, fused.outermost, false);
    let->coarse = !ir_is_const(size);
    outer.rel = ir_var(I(n), let->sym);
    *find(n, s->inner) = inner;
    *find(n, s->outer) = outer;
}

/* The loop over a vector's lanes is the inner one, and each of its iterations has a lane that runs: then what all
 * lanes share may be loaded without asking. */
static bool has_lane(const Piece *outer, const Piece *inner) {
    const Scope *lanes = inner->outermost;
    bool is_var = inner->rel->op == OP_VAR && inner->rel->u.sym == lanes->var; /* as in a loop that it shares */
    bool vector = lanes->kind == LOOP_VECTOR && (lanes == inner->avail || is_var);
    return vector && outer->covered == outer->extent && !outer->clips;
}

static void find_undef(void *user, const Node *e) {
    *(bool *)user |= e->op == OP_UNDEF;
}

/* Its own memory is among what it loads: an update's, and that of undef, which keeps what is there. */
static bool reads_itself(const Build *b, const StageNest *st) {
    bool found = false;
    for (int i = 0; i < st->read.n; i++) found |= st->read.at[i].func == st->fn->func;
    for (int i = 0; i < st->fn->func->n; i++) ir_visit(b->arena, st->value[i], find_undef, &found);
    return found;
}

/* What the tail does to points of the last tile that are not wanted, or not again. */
static void restrict_tile(Nesting *n, const Split *s, mlc_tail tail, Piece *p, const Node *tile) {
    StageNest *st = n->st;
    Piece outer = *find(n, s->outer), inner = *find(n, s->inner);
    const Node *inside = ir_make2(I(n), OP_LT, p->rel, p->extent);
    bool lane = has_lane(&outer, &inner);
    switch (tail) {
    case MLC_TAIL_GUARD: add_guard(n, p->avail, inside, true, MASK_NONE); break;
    case MLC_TAIL_PREDICATE: add_guard(n, p->avail, inside, false, lane ? MASK_ALL : MASK_NONE); break;
    case MLC_TAIL_PREDICATE_LOADS: add_guard(n, p->avail, inside, true, lane ? MASK_LOADS : MASK_NONE); break;
    case MLC_TAIL_PREDICATE_STORES: add_guard(n, p->avail, inside, true, MASK_STORES); break;
    case MLC_TAIL_SHIFT_BLEND:
        VEC_PUSH(n->b->arena, &st->blend, ir_make2(I(n), OP_LE, tile, p->rel));
        /* Tiles past the last one would lie on it, and in lanes beside it put back what was there before. */
        if (outer.covered != outer.extent || outer.stored != outer.extent)
            add_guard(n, outer.avail, ir_make2(I(n), OP_LT, outer.rel, outer.extent), true, MASK_NONE);
        break;
    case MLC_TAIL_ROUND_BLEND: VEC_PUSH(n->b->arena, &st->blend, inside); break;
    default: return;
    }
    p->clips |= tail == MLC_TAIL_GUARD || tail == MLC_TAIL_PREDICATE || tail == MLC_TAIL_PREDICATE_LOADS;
}

static void value_of_split(Nesting *n, const Split *s, mlc_tail tail, const Node *extent) {
    Piece outer = *find(n, s->outer), inner = *find(n, s->inner);
    const TailTraits *t = &sch_tail_traits[tail];
    low_check_nested(n->b, n->st->sched, n->tail, s, inner.covered);
    low_check_nested(n->b, n->st->sched, n->tail, s, inner.stored);
    const Node *factor = ir_idx(I(n), s->factor), *tile = ir_mul(I(n), outer.rel, factor), *start = tile;
    Piece p = { .name = s->old, .extent = extent, .covered = extent, .stored = extent, .past = outer.past };
    p.outermost = outer_of(outer.outermost, inner.outermost);
    p.avail = inner_of(outer.avail, inner.avail);
    p.clips = outer.clips;
    if (t->again) {
        const Node *last = ir_sub(I(n), extent, factor);
        start = ir_min(I(n), ir_make1(I(n), OP_LIKELY, start), last);
        const Node *zero = ir_idx(I(n), 0);
        const Sym *base = bind(n, outer.avail, arena_printf(n->b->arena, "%s.start", loop_name(n, s->old)), start,
                               (Interval){ zero, last }, outer.outermost, false)->sym;
        start = ir_var(I(n), base);
    }
    p.rel = ir_add(I(n), start, inner.rel);
    restrict_tile(n, s, tail, &p, tile);
    /* Nothing stops what is rounded up, here or where the outer loop was made. */
    bool none = tail == MLC_TAIL_COUNT;
    if (t->loads_past || (none && outer.covered != outer.extent)) p.covered = simple(n, ir_mul(I(n), outer.covered, factor));
    if (t->stores_past || (none && outer.stored != outer.extent)) p.stored = simple(n, ir_mul(I(n), outer.stored, factor));
    if (t->loads_past && reads_itself(n->b, n->st)) p.stored = p.covered;
    if (t->loads_past || t->stores_past) p.past = s;
    *find(n, s->old) = p;
}

static void find_values(Nesting *n) {
    const StageSched *sched = n->st->sched;
    for (int i = sched->split.n - 1; i >= 0; i--) {
        const Split *s = &sched->split.at[i];
        if (s->kind == SPLIT_RENAME) {
            Piece p = *find(n, s->outer);
            p.name = s->old;
            p.extent = n->before[i][0];
            *find(n, s->old) = p;
        } else if (s->kind == SPLIT_FUSE) {
            value_of_fuse(n, s, n->before[i]);
        } else {
            value_of_split(n, s, n->tail[i], n->before[i][0]);
        }
    }
}

/* ---- the point of each original dimension ---- */

static Interval points_from(const Nesting *n, const Node *start, const Node *extent) {
    return (Interval){ start, simple(n, ir_sub(I(n), ir_add(I(n), start, extent), ir_idx(I(n), 1))) };
}

static const Node *point(Nesting *n, const char *name, Interval *stored) {
    Piece p = *find(n, name);
    const Node *start = start_of(n, name), *one = ir_idx(I(n), 1);
    *stored = points_from(n, start, p.stored);
    if (p.is_point) return p.rel;
    const Node *value = ir_add(I(n), start, p.rel);
    if (ir_is_const(value)) return value;
    NestLet *let = bind(n, p.avail, loop_name(n, name), value, points_from(n, start, p.covered), p.outermost, p.clips);
    const Node *most = p.covered == p.extent ? most_of(n, name) : NULL;
    if (most) let->loose = (Interval){ start, ir_sub(I(n), ir_add(I(n), start, most), one) };
    return ir_var(I(n), let->sym);
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
        const Piece *piece = find(n, c->u.sym->name);
        if (st->fn->storage && piece->stored != piece->extent)
            low_check_rounded(n->b, st, c->u.sym->name, piece->past, piece->stored, piece->extent);
    }
    for (int i = 0; def->rdom && i < def->rdom->n; i++) {
        Interval ignored;
        const Node *p = point(n, def->rdom->var[i]->name, &ignored);
        pm_put(&map, def->rdom->var[i], (void *)(uintptr_t)p);
    }
    low_cover_padding(n->b, st, n->facts);
    substitute_points(n, &map);
}

void low_measure_stage(Build *b, StageNest *st) {
    if (alg_is_whole(st->fn->func)) return;
    Nesting *n = st->nesting = ARENA_NEW(b->arena, Nesting);
    *n = (Nesting){ .b = b, .st = st, .facts = low_facts(b, NULL, st->fn->compute) };
    n->known = low_special_facts(b, st, n->facts);
    first_pieces(n);
    find_extents(n);
    find_own_loops(n);
}

void low_build_stage(Build *b, StageNest *st) {
    if (alg_is_whole(st->fn->func)) {
        low_whole_nest(b, st);
        return;
    }
    make_scopes(st->nesting);
    find_values(st->nesting);
    find_points(st->nesting);
}
