/* rfactor.c - a fold cut into pieces: rfactor(parts, ri, u) on `f(x) += e` over a domain.
 *
 *     parts(x, u) = 0                     the neutral element
 *     parts(x, u) += e                    over the loops that are reduced; u in place of ri
 *     f(x) += parts(x, ri)                over the loops that are kept, here ri
 *
 * The loops at hand may be pieces of RVars: splits and fuses are undone, so that e is written over loops, and
 * the guard of a partial tile becomes a condition of the domain.  Loops keep their names as RVars of the new
 * domains; the printer, whose RVars are named after their domain, has symbols of its own (RDom.written).
 * What is made is an algorithm like any other: printed by `mlc explain`, run by the interpreter, scheduled by
 * later lines of the plan.  The method is that of Suriana, Adams and Kamil, Parallel Associative Reductions in
 * Halide (CGO 2017). */
#include "schedule/factor.h"

#include <string.h>

static Piece *find(Factor *x, const char *name) {
    for (int i = 0; i < x->piece.n; i++)
        if (!strcmp(x->piece.at[i].name, name)) return &x->piece.at[i];
    return NULL;
}

static void set(Factor *x, const char *name, const Node *extent) {
    Piece *p = find(x, name);
    if (p) p->extent = extent;
    else VEC_PUSH(x->r->arena, &x->piece, ((Piece){ .name = name, .extent = extent }));
}

static void forget(Factor *x, const char *name) {
    Piece *p = find(x, name);
    *p = x->piece.at[--x->piece.n];
}

static const Node *at_least_0(Factor *x, const Node *e) {
    return ir_max(x->I, e, ir_idx(x->I, 0));
}

/* ---- the loops at hand ---- */

static void undo_fuse(Factor *x, int i) {
    const Split *s = &x->st->split.at[i];
    Piece *in = find(x, s->inner), *out = find(x, s->outer);
    if (!in != !out) fault_raise(x->r->fault, ERR_RFACTOR_FUSED, &x->place, s->old);
    if (!in) return;
    x->ours[i] = true;
    x->before[i][0] = at_least_0(x, in->extent);
    x->before[i][1] = at_least_0(x, out->extent);
    forget(x, s->inner);
    forget(x, s->outer);
    set(x, s->old, ir_mul(x->I, x->before[i][1], x->before[i][0]));
}

static void undo_split(Factor *x, int i) {
    const Split *s = &x->st->split.at[i];
    Piece *old = find(x, s->old);
    if (!old) return;
    x->ours[i] = true;
    const Node *extent = x->before[i][0] = old->extent;
    forget(x, s->old);
    const Node *up = ir_add(x->I, extent, ir_idx(x->I, s->factor - 1));
    set(x, s->outer, ir_make2(x->I, OP_DIV, up, ir_idx(x->I, s->factor)));
    set(x, s->inner, ir_idx(x->I, s->factor));
}

static void undo_rename(Factor *x, int i) {
    const Split *s = &x->st->split.at[i];
    const Piece *old = find(x, s->old);
    if (!old) return;
    x->ours[i] = true;
    x->before[i][0] = old->extent;
    forget(x, s->old);
    set(x, s->outer, x->before[i][0]);
}

/* A split or a fuse had this name for a loop, which is no more. */
static bool had(const StageSched *st, const bool *except, const char *name) {
    bool found = false;
    for (int i = 0; i < st->split.n; i++) {
        const Split *s = &st->split.at[i];
        if (!except || !except[i]) found |= !strcmp(s->old, name) || !strcmp(s->outer, name) || !strcmp(s->inner, name);
    }
    return found;
}

/* The loop's name, unless it was that of a loop over Vars before: in a definition names mean one thing. */
static const char *rvar_name(Factor *x, const char *loop) {
    const Func *f = x->st->func;
    const char *name = loop;
    for (;;) {
        bool taken = had(x->st, x->ours, name) || (name != loop && find(x, name));
        for (int d = 0; d < f->rank; d++) taken |= !strcmp(f->arg[d]->name, name);
        if (!taken) return name;
        name = arena_printf(x->r->arena, "%s$", name);
    }
}

void sch_find_leaves(Factor *x) {
    const StageSched *st = x->st;
    const RDom *dom = st->def->rdom;
    for (int i = 0; dom && i < dom->n; i++) set(x, dom->var[i]->name, dom->extent[i]);
    x->ours = ARENA_ARRAY(x->r->arena, bool, st->split.n + 1);
    x->before = arena_alloc(x->r->arena, sizeof *x->before * (size_t)(st->split.n + 1));
    for (int i = 0; i < st->split.n; i++)
        if (st->split.at[i].kind == SPLIT_FUSE) undo_fuse(x, i);
        else if (st->split.at[i].kind == SPLIT_RENAME) undo_rename(x, i);
        else undo_split(x, i);
    for (int i = 0; i < st->dim.n; i++) {
        const Piece *p = find(x, st->dim.at[i].name);
        if (!p) continue;
        sch_need_serial(x->r, &st->dim.at[i], x->line);
        Leaf l = { .name = p->name, .rvar = rvar_name(x, p->name), .min = ir_idx(x->I, 0), .extent = p->extent, .kept = REDUCED };
        for (int k = 0; k < dom->n; k++) {
            if (dom->var[k]->name != l.name) continue;
            bool whole = true;
            for (int s = 0; s < st->split.n; s++) whole &= !x->ours[s] || strcmp(st->split.at[s].old, l.name);
            if (whole) l.whole = dom->var[k], l.min = dom->min[k];
        }
        VEC_PUSH(x->r->arena, &x->leaf, l);
    }
}

/* ---- what the line asks for ---- */

static void keep(Factor *x, const char *loop, const Sym *var) {
    Fault *f = x->r->fault;
    const char *stage = sch_stage_name(x->r->arena, x->st->func, x->st->index);
    Leaf *leaf = NULL;
    for (int i = 0; i < x->leaf.n; i++)
        if (!strcmp(x->leaf.at[i].name, loop)) leaf = &x->leaf.at[i];
    const Dim *d = sch_find_loop(x->st, loop);
    if (!d) fault_raise(f, ERR_NO_LOOP, &x->place, loop, stage, sch_loop_names(x->r->arena, x->st));
    if (!leaf) fault_raise(f, ERR_RFACTOR_NO_RVAR, &x->place, loop, stage);
    if (leaf->kept >= 0) fault_raise(f, ERR_LOOP_TWICE, &x->place, loop);
    if (d->is_pure) fault_raise(f, ERR_RFACTOR_PURE, &x->place, loop);
    bool taken = var->kind != SYM_VAR;
    for (int i = 0; i < x->st->func->rank; i++) taken |= x->st->func->arg[i] == var;
    for (int i = 0; i < x->n_kept; i++) taken |= x->var[i] == var;
    if (taken) fault_raise(f, ERR_RFACTOR_VAR, &x->place, var->name, x->name);
    x->var[x->n_kept] = var;
    leaf->kept = x->n_kept++;
}

/* The loops of one stage have distinct names. */
static void check_names(Factor *x) {
    const Func *f = x->st->func;
    for (int i = 0; i < x->leaf.n; i++) {
        const Leaf *l = &x->leaf.at[i];
        bool taken = false;
        for (int d = 0; d < f->rank; d++) taken |= !strcmp(f->arg[d]->name, l->name);
        for (int k = 0; l->kept < 0 && k < x->n_kept; k++) taken |= !strcmp(x->var[k]->name, l->name);
        if (taken) fault_raise(x->r->fault, ERR_LOOP_NAME_USED, &x->place, l->name, x->name);
    }
}

/* The first of equals wins: what is kept must lie outside, so that pieces are runs of the domain's order. */
static void check_order(Factor *x) {
    const Leaf *kept = NULL;
    for (int i = 0; i < x->leaf.n; i++) {
        if (x->leaf.at[i].kept >= 0) kept = &x->leaf.at[i];
        else if (kept) fault_raise(x->r->fault, ERR_FOLD_ORDER, &x->place, kept->name, x->leaf.at[i].name);
    }
}

static void check(Factor *x) {
    const mlc_directive *d = &x->line->d;
    Fault *f = x->r->fault;
    const char *stage = sch_stage_name(x->r->arena, x->st->func, x->st->index);
    if (x->st->index == 0) fault_raise(f, ERR_RFACTOR_STAGE, &x->place, stage);
    sch_find_leaves(x);
    for (int i = 0; i + 1 < d->n; i += 2) keep(x, ((const Sym *)d->v[i].sym)->name, d->v[i + 1].sym);
    sch_need_fold(x->r, x->line, x->st, &x->fold);
    x->r->s->rewrites |= !x->fold.exact;
    if (x->n_kept == x->leaf.n) fault_raise(f, ERR_RFACTOR_ALL, &x->place, stage);
    check_names(x);
    if (x->fold.kind == FOLD_ARG) check_order(x);
}

/* ---- the new domains ---- */

static RDom *empty_domain(Factor *x, const char *name) {
    RDom *dom = ARENA_NEW(x->r->arena, RDom);
    dom->name = name;
    dom->loc = x->line->d.loc;
    return dom;
}

/* A loop called `name`, one of n. */
static void add_rvar(Factor *x, RDom *dom, int n, const char *name, const Node *min, const Node *extent) {
    static const char *const field[MAX_RANK] = { "x", "y", "z", "w", "d4", "d5", "d6", "d7" };
    Arena *a = x->r->arena;
    int k = dom->n++;
    Sym *var = ARENA_NEW(a, Sym), *written = ARENA_NEW(a, Sym);
    *var = *written = (Sym){ .kind = SYM_RVAR, .type = MLC_INDEX, .dim = k, .rdom = dom, .loc = dom->loc };
    var->name = name;
    written->name = n == 1 ? dom->name : arena_printf(a, "%s.%s", dom->name, field[k]);
    dom->var[k] = var;
    dom->written[k] = written;
    dom->min[k] = min;
    dom->extent[k] = extent;
}

static bool is_in(const Factor *x, const Leaf *l, bool kept) {
    return kept ? l->kept != REDUCED && (x->lanes < 0 || l->kept != x->lanes) : l->kept == REDUCED;
}

RDom *sch_factor_domain(Factor *x, bool kept) {
    int n = 0;
    RDom *dom = empty_domain(x, arena_printf(x->r->arena, "%s$%c", x->name, kept ? 'm' : 'r'));
    for (int i = 0; i < x->leaf.n; i++) n += is_in(x, &x->leaf.at[i], kept);
    if (n > MAX_RANK) fault_raise(x->r->fault, ERR_RANK_RANGE, &x->place, dom->name, n);
    for (int i = 0; i < x->leaf.n; i++) {
        const Leaf *l = &x->leaf.at[i];
        if (is_in(x, l, kept)) add_rvar(x, dom, n, l->rvar, l->min, l->extent);
    }
    if (!n && !kept) add_rvar(x, dom, 1, dom->name, ir_idx(x->I, 0), ir_idx(x->I, 1)); /* it may need conditions */
    return n || !kept ? dom : NULL;
}

RDom *sch_line_domain(Factor *x, const char *name, const Node *min, const Node *extent) {
    RDom *dom = empty_domain(x, name);
    add_rvar(x, dom, 1, name, min, extent);
    return dom;
}

/* A definition over the domain, from its written forms: canonical ones name the RVars by their loops. */
Def *sch_factor_def(Factor *x, Func *f, DefOp op, RDom *dom, int rank, const Node *const *lhs, const Node *const *rhs) {
    Def *def = alg_build(x->I, f, op, rank, lhs, x->st->func->n, rhs, NULL, x->line->d.loc);
    if (!def) ir_raise_poison(x->r->fault, f->poison);
    if (!dom) return def;
    PtrMap map;
    pm_init(&map, x->r->arena);
    for (int i = 0; i < dom->n; i++) pm_put(&map, dom->written[i], (void *)(uintptr_t)ir_var(x->I, dom->var[i]));
    for (int d = 0; d < def->rank; d++) def->coord[d] = ir_substitute(x->I, def->coord[d], &map);
    for (int k = 0; k < def->n; k++) def->value[k] = ir_substitute(x->I, def->value[k], &map);
    for (int i = 0; i < dom->where.n; i++) {
        const Node *cond = alg_canonical(x->I, dom->where.at[i], MLC_BOOL);
        VEC_PUSH(x->r->arena, &dom->where_canon, ir_substitute(x->I, cond, &map));
    }
    def->rdom = dom;
    return def;
}

/* ---- the pieces' definition ---- */

static void unsplit(Factor *x, int i, RDom *dom) {
    const Split *s = &x->st->split.at[i];
    const Node *factor = ir_idx(x->I, s->factor), *extent = x->before[i][0];
    const Node *rel = ir_add(x->I, ir_mul(x->I, find(x, s->outer)->rel, factor), find(x, s->inner)->rel);
    int64_t n;
    bool divides = ir_is_int(extent, &n) && n % s->factor == 0;
    if (!divides) VEC_PUSH(x->r->arena, &dom->where, ir_make2(x->I, OP_LT, rel, extent));
    set(x, s->old, extent);
    find(x, s->old)->rel = rel;
}

/* Where a guard holds, or sizes are not known, the quotient is kept in its range: no box could tell that it is. */
static void unfuse(Factor *x, int i, bool guarded) {
    const Split *s = &x->st->split.at[i];
    const Node *rel = find(x, s->old)->rel, *size = x->before[i][0], *outer = x->before[i][1];
    const Node *at = ir_make2(x->I, OP_DIV, rel, size);
    int64_t n;
    if (guarded || !ir_is_int(size, &n) || !ir_is_int(outer, &n)) at = at_least_0(x, ir_min(x->I, at, ir_sub(x->I, outer, ir_idx(x->I, 1))));
    set(x, s->inner, size);
    set(x, s->outer, outer);
    find(x, s->inner)->rel = ir_make2(x->I, OP_MOD, rel, size);
    find(x, s->outer)->rel = at;
}

static void name_back(Factor *x, int i) {
    const Split *s = &x->st->split.at[i];
    const Node *rel = find(x, s->outer)->rel;
    set(x, s->old, x->before[i][0]);
    find(x, s->old)->rel = rel;
}

/* What stands for each RVar (as written) in the pieces' definition; guards go to the domain. */
static void substitutes(Factor *x, RDom *reduced, PtrMap *map) {
    const RDom *dom = x->st->def->rdom;
    int next = 0;
    for (int i = 0; i < x->leaf.n; i++) {
        const Leaf *l = &x->leaf.at[i];
        const Sym *in_place = l->kept == IN_PLACE ? x->st->func->arg[l->place] : NULL;
        const Node *v = ir_var(x->I, in_place ? in_place : l->kept >= 0 ? x->var[l->kept] : reduced->written[next++]);
        find(x, l->name)->rel = l->whole ? ir_sub(x->I, v, l->min) : v;
    }
    for (int i = x->st->split.n - 1; i >= 0; i--) {
        if (!x->ours[i]) continue;
        if (x->st->split.at[i].kind == SPLIT_FUSE) unfuse(x, i, reduced->where.n > 0);
        else if (x->st->split.at[i].kind == SPLIT_RENAME) name_back(x, i);
        else unsplit(x, i, reduced);
    }
    for (int k = 0; k < dom->n; k++) {
        const Node *point = ir_add(x->I, dom->min[k], find(x, dom->var[k]->name)->rel);
        pm_put(map, alg_written_var(dom, k), (void *)(uintptr_t)point);
    }
    reduced->cuts = dom->where.n == 0 || dom->cuts;
    for (int i = 0; i < dom->where.n; i++) VEC_PUSH(x->r->arena, &reduced->where, alg_replace(x->I, dom->where.at[i], map));
}

/* The old value, read of the pieces. */
static const Node *of_parts(void *user, Interner *I, const Node *e) {
    const Factor *x = user;
    const Node *coord[MAX_RANK];
    if (e->u.func != x->st->func) return e;
    for (int d = 0; d < e->n + x->n_kept; d++) coord[d] = d < e->n ? e->kid[d] : ir_var(I, x->var[d - e->n]);
    return ir_access(I, x->parts, (mlc_type)e->type, e->aux, e->n + x->n_kept, coord);
}

void sch_make_parts(Factor *x) {
    const Def *def = x->st->def;
    const Func *f = x->st->func;
    int rank = def->rank + x->n_kept;
    if (rank > MAX_RANK) fault_raise(x->r->fault, ERR_RANK_RANGE, &x->place, x->parts->name, rank);
    const Node *lhs[MAX_RANK], *rhs[MAX_TUPLE];
    for (int d = 0; d < rank; d++) lhs[d] = ir_var(x->I, d < def->rank ? f->arg[d] : x->var[d - def->rank]);
    Def *now = sch_factor_def(x, x->parts, DEF_SET, NULL, rank, lhs, x->fold.start);
    VEC_PUSH(x->r->arena, &x->parts->def, now);
    RDom *reduced = sch_factor_domain(x, false);
    PtrMap map;
    pm_init(&map, x->r->arena);
    substitutes(x, reduced, &map);
    for (int d = 0; d < def->rank; d++) lhs[d] = alg_replace(x->I, def->lhs[d], &map);
    for (int k = 0; k < def->n; k++)
        rhs[k] = alg_replace_accesses(x->I, alg_replace(x->I, def->rhs[k], &map), of_parts, x);
    now = sch_factor_def(x, x->parts, def->op, reduced, rank, lhs, rhs);
    VEC_PUSH(x->r->arena, &x->parts->def, now);
}

/* ---- joining the pieces ---- */

/* The loops that are kept whole, as the domain of the join knows them. */
static void find_kept(Factor *x, const RDom *kept, PtrMap *map) {
    const RDom *dom = x->st->def->rdom;
    pm_init(map, x->r->arena);
    for (int i = 0, j = 0; i < x->leaf.n; i++) {
        const Leaf *l = &x->leaf.at[i];
        if (!is_in(x, l, true)) continue;
        for (int k = 0; l->whole && x->lanes >= 0 && k < dom->n; k++)
            if (dom->var[k] == l->whole) pm_put(map, alg_written_var(dom, k), (void *)(uintptr_t)ir_var(x->I, kept->written[j]));
        j++;
    }
}

typedef struct {
    const PtrMap *kept;
    bool moves;
} Moves;

static void look_moves(void *user, const Node *e) {
    Moves *m = user;
    m->moves |= e->op == OP_VAR && e->u.sym->kind == SYM_RVAR && !pm_has(m->kept, e->u.sym);
}

/* The update's own place: a coordinate that varies over what is reduced becomes the Var of its dimension. */
static void join_place(Factor *x, const RDom *kept, const Node **lhs) {
    const Def *def = x->st->def;
    PtrMap map;
    find_kept(x, kept, &map);
    for (int d = 0; d < def->rank; d++) {
        Moves m = { &map, false };
        ir_visit(x->r->arena, def->lhs[d], look_moves, &m);
        x->moved[d] = m.moves;
        lhs[d] = m.moves ? ir_var(x->I, x->st->func->arg[d]) : alg_replace(x->I, def->lhs[d], &map);
    }
    for (int i = 0, k = 0; i < x->leaf.n; i++) {
        const Leaf *l = &x->leaf.at[i];
        const Node *v = is_in(x, l, true) ? ir_var(x->I, kept->written[k++]) : l->min; /* of lanes: the first */
        if (l->kept >= 0) lhs[def->rank + l->kept] = v;
    }
}

/* The Func that the line makes: the lines behind it speak of it, and none before may. */
static Func *new_func(Factor *x) {
    Func *named = x->line->d.made.f;
    struct mlc_plan *lines = x->r->lines;
    if (named->is_input || named->def.n) fault_raise(x->r->fault, ERR_RFACTOR_FUNC, &x->place, named->name);
    for (const PlanLine *l = lines->line.at; l < x->line; l++)
        if (l->func == named || l->d.at.f == named || l->d.made.f == named) {
            Place place = sch_place(x->r->arena, l);
            fault_raise(x->r->fault, ERR_RFACTOR_LATE, &place, named->name);
        }
    Func *f = ARENA_NEW(x->r->arena, Func);
    *f = (Func){ .name = named->name, .ctx = named->ctx, .loc = x->line->d.loc, .id = named->id };
    for (int i = 0; i < lines->line.n; i++) {
        PlanLine *l = &lines->line.at[i];
        if (l->func == named) l->func = f;
        if (l->d.at.f == named) l->d.at.f = f;
        if (l->d.made.f == named) l->d.made.f = f;
    }
    return f;
}

static void define_join(Factor *x) {
    StageSched *st = x->st;
    const Def *def = st->def;
    Func *f = st->func;
    RDom *kept = sch_factor_domain(x, true);
    const Node *lhs[MAX_RANK], *old[MAX_TUPLE], *part[MAX_TUPLE], *rhs[MAX_TUPLE];
    join_place(x, kept, lhs);
    for (int k = 0; k < f->n; k++) {
        old[k] = ir_access(x->I, f, f->type[k], k, def->rank, lhs);
        part[k] = ir_access(x->I, x->parts, f->type[k], k, def->rank + x->n_kept, lhs);
    }
    sch_join(x->I, &x->fold, f->n, old, part, rhs);
    f->def.at[st->index] = sch_factor_def(x, f, x->fold.combine, kept, def->rank, lhs, rhs);
}

/* A loop for each coordinate that became a Var. */
static void add_moved(Factor *x) {
    StageSched *st = x->st;
    for (int d = 0; d < st->func->rank; d++) {
        if (!x->moved[d]) continue;
        Dim dim = { .name = st->func->arg[d]->name, .is_pure = true, .line = x->line };
        VEC_PUSH(x->r->arena, &st->dim, dim);
    }
}

/* No other loop has its name, nor had it. */
static void check_moved(Factor *x) {
    const StageSched *st = x->st;
    for (int d = 0; d < st->func->rank; d++) {
        const char *name = st->func->arg[d]->name;
        int loops = 0;
        for (int i = 0; i < st->dim.n; i++) loops += !strcmp(st->dim.at[i].name, name);
        if (x->moved[d] && (loops > 1 || had(st, NULL, name)))
            fault_raise(x->r->fault, ERR_LOOP_NAME_USED, &x->place, name, sch_stage_name(x->r->arena, st->func, st->index));
    }
}

/* The loop of an RVar by another name is called what it was. */
static void call_back(Factor *x, const Leaf *l) {
    Split s = { .kind = SPLIT_RENAME, .old = l->rvar, .outer = l->name, .inner = "", .line = x->line };
    if (strcmp(l->rvar, l->name)) VEC_PUSH(x->r->arena, &x->st->split, s);
}

/* The stage's loops: those over Vars as they are, those kept, and those of coordinates. */
static void join_loops(Factor *x) {
    StageSched *st = x->st, old = *st;
    st->def = st->func->def.at[st->index];
    st->split.n = 0;
    memset(&st->dim, 0, sizeof st->dim);
    for (int i = 0; i < old.split.n; i++)
        if (!x->ours[i]) st->split.at[st->split.n++] = old.split.at[i];
    if (x->lanes >= 0) add_moved(x);
    for (int i = 0, l = 0; i < old.dim.n; i++) {
        Dim d = old.dim.at[i];
        bool of_domain = l < x->leaf.n && !strcmp(d.name, x->leaf.at[l].name);
        if (of_domain && !is_in(x, &x->leaf.at[l++], true)) continue;
        if (of_domain && x->lanes < 0) d = (Dim){ .name = d.name, .is_rvar = true, .line = x->line };
        if (of_domain) call_back(x, &x->leaf.at[l - 1]);
        VEC_PUSH(x->r->arena, &st->dim, d);
    }
    if (x->lanes < 0) add_moved(x);
    check_moved(x);
    st->touched = true;
}

void sch_join_parts(Factor *x) {
    define_join(x);
    join_loops(x);
}

void sch_rfactor(Resolve *r, StageSched *st, const PlanLine *line) {
    Factor x = { .r = r, .I = r->ir, .st = st, .line = line, .place = sch_place(r->arena, line), .lanes = -1 };
    x.name = line->d.made.f->name;
    check(&x);
    x.parts = new_func(&x);
    sch_make_parts(&x);
    sch_join_parts(&x);
    pm_put(&r->s->sched, x.parts, sch_new_sched(r, x.parts));
}
