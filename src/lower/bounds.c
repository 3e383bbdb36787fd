/* bounds.c - bounds inference: which box of a Func its readers need.
 *
 * At a scope, the variables bound outside are symbols and those bound inside range over their loops.  A
 * reader's coordinate, bounded over the latter, gives an interval; the box is the union over all
 * readers.  A dimension that was split has its point bound by name, with the whole range it can take: once
 * all of its loops are inside, that range is used as it is, so tails never widen a box. */
#include "lower/nest.h"

#include <string.h>

static bool is_inside(const Scope *outer, const Scope *s) {
    return !outer || s->depth > outer->depth;
}

/* The range of a named point, seen from `outer`. */
static Interval let_range(Build *b, const Facts *f, const Scope *outer, const NestLet *let) {
    bool all = !let->outermost || is_inside(outer, let->outermost);
    if (all && b->loose && let->loose.lo) return let->loose;
    if (all && let->whole.lo) return let->whole;
    if (let->coarse) return let->whole;
    Interval i = sim_bounds(b->ir, f, let->value, NULL);
    if (!i.lo) i.lo = let->whole.lo;
    if (!i.hi) i.hi = let->whole.hi;
    if (let->clips_start && !b->loose && i.lo && i.lo != let->whole.lo)
        i.lo = sim_simplify(b->ir, b->base, ir_max(b->ir, ir_make1(b->ir, OP_LIKELY, i.lo), let->whole.lo));
    if (let->clips && !b->loose && i.hi && i.hi != let->whole.hi)
        i.hi = sim_simplify(b->ir, b->base, ir_min(b->ir, ir_make1(b->ir, OP_LIKELY, i.hi), let->whole.hi));
    return i;
}

const Facts *low_facts(Build *b, const Scope *outer, const Scope *inner) {
    const Scope **path = ARENA_ARRAY(b->arena, const Scope *, inner->depth + 1);
    int n = 0;
    for (const Scope *s = inner; s && s != outer; s = s->up) path[n++] = s;
    const Facts *f = b->base;
    while (n--) {
        const Scope *s = path[n];
        if (s->var) {
            const Node *extent = b->loose && s->most ? s->most : s->extent;
            const Node *last = ir_sub(b->ir, ir_add(b->ir, s->min, extent), ir_idx(b->ir, 1));
            f = sim_with_range(b->arena, f, s->var, (Interval){ s->min, last });
        }
        for (int i = 0; i < s->let.n; i++) f = sim_with_range(b->arena, f, s->let.at[i].sym, let_range(b, f, outer, &s->let.at[i]));
        for (int i = 0; s->up && i < s->box.n; i++) {
            const BoxLet *box = &s->box.at[i];
            const Node *value = b->unslid && box->full ? box->full : box->value;
            f = sim_with_range(b->arena, f, box->sym, (Interval){ value, value });
        }
    }
    return f;
}

/* ---- unions ---- */

static const Node *pick(Build *b, Sim *s, const Node *a, const Node *c, bool least) {
    if (!a || !c) return NULL;
    if (a == c) return a;
    int64_t d;
    const Node *difference = sim_run(s, ir_sub(b->ir, a, c));
    if (ir_is_int(difference, &d)) return (d < 0) == least ? a : c;
    return sim_run(s, least ? ir_min(b->ir, a, c) : ir_max(b->ir, a, c));
}

static Interval unite(Build *b, Sim *s, Interval a, Interval c) {
    return (Interval){ pick(b, s, a.lo, c.lo, true), pick(b, s, a.hi, c.hi, false) };
}

Interval low_union(Build *b, const Facts *f, Interval a, Interval c) {
    Sim *s = sim_begin(b->ir, f);
    Interval i = unite(b, s, a, c);
    sim_end(s);
    return i;
}

const Node *low_length(Build *b, const Facts *f, Interval i) {
    return sim_simplify(b->ir, f, ir_add(b->ir, ir_sub(b->ir, i.hi, i.lo), ir_idx(b->ir, 1)));
}

/* ---- where ---- */

static Interval narrowed(Build *b, const Facts *f, int n, const Node *const *where, const Sym *v, Interval range) {
    Interner *I = b->ir;
    for (int i = 0; i < n; i++) {
        bool ok = false;
        if (!ir_uses(b->arena, where[i], v)) continue;
        Interval in = sim_solve_outer(I, f, where[i], v, &ok);
        if (ok && in.lo) range.lo = range.lo ? sim_simplify(I, b->base, ir_max(I, range.lo, in.lo)) : in.lo;
        if (ok && in.hi) range.hi = range.hi ? sim_simplify(I, b->base, ir_min(I, range.hi, in.hi)) : in.hi;
    }
    return range;
}

/* The same chain of facts, each variable's range cut to where the first n of the stage's predicates may hold: what
 * is asked behind them reads at no other point.  Solving leaves the variables outside of the solved one. */
static const Facts *with_where(Build *b, const StageNest *st, int n, const Facts *full) {
    if (!n) return full;
    VEC(const Facts *) chain = { 0 };
    for (const Facts *f = full; f != b->base; f = f->up) VEC_PUSH(b->arena, &chain, f);
    const Facts *now = b->base;
    while (chain.n) {
        const Facts *old = chain.at[--chain.n];
        Facts *f = arena_copy(b->arena, old, sizeof *old);
        f->up = now;
        if (f->var) f->range = narrowed(b, full, n, st->where, f->var, f->range);
        now = f;
    }
    return now;
}

/* ---- what readers need ---- */

static _Noreturn void unbounded(Build *b, ErrCode code, const StageNest *st, const Func *read, int d,
                                const Node *coord, const Node *why) {
    const Func *f = st->fn->func;
    Place place = { .loc = st->sched->def->loc, .object = arena_printf(b->arena, "define %s", f->name) };
    const char *stage = sch_stage_name(b->arena, f, st->index);
    const char *text = ir_show(b->ir, coord), *cause = !why ? text : why->op == OP_VAR ? why->u.sym->name : ir_show(b->ir, why);
    cause = strcmp(text, cause) ? arena_printf(b->arena, ", because of %s", cause) : "";
    if (code == ERR_UNBOUNDED_WRITE) fault_raise(b->fault, code, &place, stage, d, text, cause);
    fault_raise(b->fault, code, &place, stage, read->name, d, text, cause);
}

/* Data of 32 or 64 bits says nothing by its type: as an index it has no bounds until something narrows it.
 * Such a conversion becomes a variable without a range. */
typedef struct {
    Build *b;
    const Facts *f;
} Data;

static const Node *hide_data(void *user, Interner *ir, const Node *e) {
    Data *data = user;
    if (e->op != OP_CAST || e->type != MLC_INDEX || !ty_is_int((mlc_type)e->kid[0]->type)) return e;
    mlc_type t = (mlc_type)e->kid[0]->type;
    int64_t lo, hi;
    if (ty_bits(t) < 32) return e;
    bool known = sim_const_bounds(ir, data->f, e, &lo, &hi);
    if (known && lo > ty_min(t) && (t == MLC_U64 ? hi < INT64_MAX : hi < (int64_t)ty_max(t))) return e;
    if (known && ty_is_unsigned(t) && hi < (int64_t)(ty_max(t) & INT64_MAX)) return e;
    Sym *s = ARENA_NEW(data->b->arena, Sym);
    *s = (Sym){ .name = ir_show(ir, e), .kind = SYM_LET, .type = MLC_INDEX };
    data->f = sim_with_range(data->b->arena, data->f, s, (Interval){ NULL, NULL });
    return ir_var(ir, s);
}

static Interval bounds_of(Build *b, const Facts *f, const Node *coord, const Node **why) {
    Data data = { b, f };
    coord = ir_rewrite(b->ir, coord, hide_data, &data);
    return sim_bounds(b->ir, data.f, coord, why);
}

/* Does e mention a variable that ranges in the chain, and that the predicate mentions too? */
static bool shares_ranged(Build *b, const Facts *f, const Node *e, const Node *predicate) {
    for (; f && f != b->base; f = f->up)
        if (f->var && ir_uses(b->arena, e, f->var) && ir_uses(b->arena, predicate, f->var)) return true;
    return false;
}

/* What a predicate p <= q says of the coordinate as a whole: where q - p less (or plus) it is free of the
 * predicate's variables, as for x - k where k <= x, or x + 8 * k + j where 8 * k + j < n, whose variables taken
 * one by one would forget each other. */
static Interval related(Build *b, const Facts *f, const StageNest *st, int n, const Node *coord, Interval i) {
    for (int k = 0; k < n; k++) {
        const Node *c = st->where[k];
        if ((c->op != OP_LE && c->op != OP_LT) || c->kid[0]->type != MLC_INDEX) continue;
        const Node *room = ir_sub(b->ir, c->kid[1], c->kid[0]); /* not negative */
        if (c->op == OP_LT) room = ir_sub(b->ir, room, ir_idx(b->ir, 1));
        const Node *above = sim_simplify(b->ir, b->base, ir_sub(b->ir, coord, room));
        const Node *below = sim_simplify(b->ir, b->base, ir_add(b->ir, coord, room));
        const Node *lo = shares_ranged(b, f, above, c) ? NULL : sim_bounds(b->ir, f, above, NULL).lo;
        const Node *hi = shares_ranged(b, f, below, c) ? NULL : sim_bounds(b->ir, f, below, NULL).hi;
        if (lo) i.lo = i.lo ? sim_simplify(b->ir, b->base, ir_max(b->ir, i.lo, lo)) : lo;
        if (hi) i.hi = i.hi ? sim_simplify(b->ir, b->base, ir_min(b->ir, i.hi, hi)) : hi;
    }
    return i;
}

/* Ranges cut by predicates hang on each other, and a clamp that says nothing new there is lost before the last of them
 * is left behind.  So an end that is known to be nearer without predicates stands. */
static Interval nearer(Build *b, Interval i, Interval without) {
    const Node *lo = i.lo && without.lo ? sim_simplify(b->ir, b->base, ir_max(b->ir, i.lo, without.lo)) : NULL;
    const Node *hi = i.hi && without.hi ? sim_simplify(b->ir, b->base, ir_min(b->ir, i.hi, without.hi)) : NULL;
    if (!i.lo || lo == without.lo) i.lo = without.lo;
    if (!i.hi || hi == without.hi) i.hi = without.hi;
    return i;
}

/* The variables of a stage: wherever they are, where its predicates hold, and where the plain ones do. */
typedef struct {
    const Facts *any, *all, *plain;
    PtrMap asked; /* coordinates of what the others read */
} Points;

static void note_coords(void *user, const Node *e) {
    for (int d = 0; e->op == OP_ACCESS && d < e->n; d++) pm_put(user, e->kid[d], (void *)(uintptr_t)e);
}

static Points points_of(Build *b, const StageNest *st, const Facts *f) {
    Points p;
    pm_init(&p.asked, b->arena);
    p.any = p.all = p.plain = low_data_facts(b, with_where(b, st, st->n_where, f), st);
    if (st->n_where) p.any = low_data_facts(b, f, st);
    if (st->n_plain == st->n_where) return p;
    p.plain = low_data_facts(b, with_where(b, st, st->n_plain, f), st);
    for (int i = st->n_plain; i < st->n_where; i++) ir_visit(b->arena, st->where[i], note_coords, &p.asked);
    return p;
}

/* A coordinate, unless it was met in that dimension.  The scope `all` is one for all of them: of the ends of a union
 * each pair is compared, and those that were there before are known. */
static void add_coord(Build *b, const Points *p, Sim *all, const StageNest *st, const Node *access, int d, PtrMap *seen,
                      Interval *box) {
    const Node *coord = access->kid[d], *why = NULL;
    if (pm_has(seen, coord)) return;
    pm_put(seen, coord, (void *)(uintptr_t)coord);
    bool asked = pm_has(&p->asked, coord);
    const Facts *f = asked ? p->plain : p->all;
    Interval i = related(b, f, st, asked ? st->n_plain : st->n_where, coord, bounds_of(b, f, coord, &why));
    if (p->any != f) i = nearer(b, i, bounds_of(b, p->any, coord, NULL));
    if (!i.lo || !i.hi) unbounded(b, ERR_UNBOUNDED, st, access->u.func, d, coord, why);
    *box = box->lo ? unite(b, all, *box, i) : i;
}

/* The variables of a stage's points between `at` and its leaf, where its predicates hold. */
const Facts *low_point_facts(Build *b, const StageNest *st, const Scope *at) {
    return low_data_facts(b, with_where(b, st, st->n_where, low_facts(b, at, st->leaf)), st);
}

static const Read *find_read(const StageNest *st, const Func *f) {
    for (int i = 0; i < st->read.n; i++)
        if (st->read.at[i].func == f) return &st->read.at[i];
    return NULL;
}

/* A stage over a domain that is empty by its constants reads nothing. */
static bool reads_nothing(const StageNest *st) {
    const Def *def = st->sched->def;
    int64_t n;
    for (int i = 0; def->rdom && i < def->rdom->n; i++)
        if (ir_is_int(def->rdom->extent[i], &n) && n <= 0) return true;
    return false;
}

void low_required_by(Build *b, Func *f, const StageNest *st, const Scope *at, Interval *box) {
    if (f->is_input && reads_nothing(st)) return;
    if (alg_is_whole(st->fn->func)) {
        low_whole_needs(b, f, st, at, box);
        return;
    }
    const Points points = points_of(b, st, low_facts(b, at, st->leaf));
    const Read *read = find_read(st, f);
    PtrMap seen[MAX_RANK];
    for (int d = 0; d < f->rank; d++) pm_init(&seen[d], b->arena);
    Sim *all = sim_begin(b->ir, b->base);
    for (int i = 0; read && i < read->access.n; i++)
        for (int d = 0; d < f->rank; d++) add_coord(b, &points, all, st, read->access.at[i], d, &seen[d], &box[d]);
    sim_end(all);
}

void low_required(Build *b, Func *f, const Scope *at, Interval *box) {
    UseList *uses = pm_get(&b->uses, f);
    for (int d = 0; d < f->rank; d++) box[d] = (Interval){ NULL, NULL };
    for (int u = 0; uses && u < uses->n; u++) /* other specializations have a place of their own */
        if (low_encloses(at, uses->at[u]->leaf)) low_required_by(b, f, uses->at[u], at, box);
}

/* ---- updates ---- */

static bool is_var(const Node *e, const Sym *s) {
    return e->op == OP_VAR && e->u.sym == s;
}

/* The variables of an update before it has loops: Vars over the box, RVars over their domain. */
static Points update_points(Build *b, const StageNest *st, const Interval *box) {
    const Facts *f = b->base;
    const Def *def = st->sched->def;
    for (int d = 0; d < def->rank; d++) {
        const Node *c = def->coord[d];
        if (c->op == OP_VAR && c->u.sym->kind == SYM_VAR) f = sim_with_range(b->arena, f, c->u.sym, box[d]);
    }
    for (int i = 0; def->rdom && i < def->rdom->n; i++) {
        const Node *min = def->rdom->min[i], *last;
        last = ir_sub(b->ir, ir_add(b->ir, min, def->rdom->extent[i]), ir_idx(b->ir, 1));
        f = sim_with_range(b->arena, f, def->rdom->var[i], (Interval){ min, last });
    }
    return points_of(b, st, f);
}

static bool widen(Build *b, const StageNest *st, Interval *box, const Facts *outer, const Facts *f, int d,
                  const Node *coord, ErrCode code) {
    const Node *pure = st->fn->sched->stage.at[0].def->coord[d], *why = NULL;
    if (is_var(coord, pure->u.sym)) return false;
    if (coord == st->sched->def->coord[d] && coord->op == OP_VAR && coord->u.sym->kind == SYM_VAR) return false;
    Interval i = bounds_of(b, f, coord, &why);
    if (!i.lo || !i.hi) unbounded(b, code, st, st->fn->func, d, coord, why);
    Interval now = box[d].lo ? low_union(b, outer, box[d], i) : i;
    bool changed = now.lo != box[d].lo || now.hi != box[d].hi;
    box[d] = now;
    return changed;
}

/* The box widened by what the update writes and reads of its Func at these points. */
static bool cover_update(Build *b, const StageNest *st, const Points *p, Interval *box, const Facts *outer) {
    const Func *f = st->fn->func;
    const Read *self = find_read(st, f);
    bool changed = false;
    for (int d = 0; d < f->rank; d++) changed |= widen(b, st, box, outer, p->all, d, st->coord[d], ERR_UNBOUNDED_WRITE);
    for (int i = 0; self && i < self->access.n; i++)
        for (int d = 0; d < f->rank; d++) {
            const Node *coord = self->access.at[i]->kid[d];
            changed |= widen(b, st, box, outer, pm_has(&p->asked, coord) ? p->plain : p->all, d, coord, ERR_UNBOUNDED);
        }
    return changed;
}

/* A self-read may stand on a place that an earlier widening moved, so this runs until nothing moves. */
void low_cover_updates(Build *b, FuncNest *fn, const Facts *outer) {
    bool changed = fn->stage.n > 1;
    for (int round = 0; changed && round <= fn->func->rank + 1; round++) {
        changed = false;
        for (int s = 1; s < fn->stage.n; s++) {
            const Points p = update_points(b, fn->stage.at[s], fn->box);
            changed |= cover_update(b, fn->stage.at[s], &p, fn->box, outer);
        }
    }
}

void low_cover_padding(Build *b, StageNest *st, const Facts *outer) {
    bool past = false;
    for (int d = 0; d < st->fn->func->rank; d++) past |= st->covered[d].hi != st->fn->box[d].hi;
    if (!past || !st->index) return;
    const Points p = update_points(b, st, st->covered);
    cover_update(b, st, &p, st->covered, outer);
}
