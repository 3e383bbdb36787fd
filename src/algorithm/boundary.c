/* boundary.c - boundary conditions: a Func that reads another one inside its bounds only.
 *
 * Outside, each dimension's index is brought inside; constant_edge also selects a value.  The branch
 * that the steady state takes is marked likely(), so that lowering can split a loop into edges that
 * test and a middle that does not. */
#include "algorithm.h"

typedef struct {
    mlc_ctx *ctx;
    Interner *I;
    Func *f;
    Place place;
    int rank;
    const Node *var[MAX_RANK];
    const Node *lo[MAX_RANK], *extent[MAX_RANK]; /* NULL: the dimension is left alone */
    const Node *bad;
} Edge;

static const Node *two(Edge *d, Op op, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_typed(d->I, op, &d->place, 2, kids, 0);
}

static const Node *three(Edge *d, Op op, const Node *a, const Node *b, const Node *c) {
    const Node *kids[3] = { a, b, c };
    return ir_typed(d->I, op, &d->place, 3, kids, 0);
}

static const Node *likely(Edge *d, const Node *e) {
    return ir_typed(d->I, OP_LIKELY, &d->place, 1, &e, 0);
}

static const Node *end_of(Edge *d, int i) {
    return two(d, OP_ADD, d->lo[i], d->extent[i]);
}

static const Node *inside(Edge *d, int i) {
    return two(d, OP_LAND, two(d, OP_LE, d->lo[i], d->var[i]), two(d, OP_LT, d->var[i], end_of(d, i)));
}

static const Node *clamped(Edge *d, int i) {
    return three(d, OP_CLAMP, likely(d, d->var[i]), d->lo[i], two(d, OP_SUB, end_of(d, i), ir_idx(d->I, 1)));
}

/* The index that stands for var[i] outside of the bounds, in tiles of the image. */
static const Node *tiled(Edge *d, mlc_edge kind, int i) {
    const Node *n = d->extent[i], *one = ir_idx(d->I, 1), *two_ = ir_idx(d->I, 2);
    const Node *at = two(d, OP_SUB, d->var[i], d->lo[i]);
    if (kind == MLC_REPEAT_IMAGE) {
        at = two(d, OP_MOD, at, n);
    } else if (kind == MLC_MIRROR_IMAGE) { /* period 2 n: 0 .. n-1, n-1 .. 0 */
        at = two(d, OP_MOD, at, two(d, OP_MUL, n, two_));
        const Node *back = two(d, OP_SUB, two(d, OP_SUB, two(d, OP_MUL, n, two_), one), at);
        at = two(d, OP_MIN, at, back);
    } else { /* period 2 (n - 1): 0 .. n-1, n-2 .. 1 */
        const Node *period = two(d, OP_MUL, two(d, OP_SUB, n, one), two_);
        at = two(d, OP_MOD, at, period);
        at = two(d, OP_MIN, at, two(d, OP_SUB, period, at));
    }
    return two(d, OP_ADD, at, d->lo[i]);
}

static const Node *coordinate(Edge *d, mlc_edge kind, int i) {
    if (!d->lo[i]) return d->var[i];
    const Node *near = clamped(d, i);
    if (kind == MLC_CONSTANT_EDGE || kind == MLC_REPEAT_EDGE) return near;
    /* inside already; the clamp says so to those who see intervals only */
    const Node *last = two(d, OP_SUB, end_of(d, i), ir_idx(d->I, 1));
    const Node *far = three(d, OP_CLAMP, tiled(d, kind, i), d->lo[i], last);
    return three(d, OP_SELECT, inside(d, i), near, far);
}

/* ---- bounds and Vars ---- */

static const Node *bound(Edge *d, mlc_expr e) {
    bool literal;
    const Node *r = alg_node(d->ctx, e, &literal);
    r = ir_coerce(d->I, r, literal, MLC_INDEX, &d->place);
    if (r->op == OP_POISON && !d->bad) d->bad = r;
    return r;
}

static bool is_given(const mlc_range *r) {
    return r->min.node || r->min.type != MLC_VOID || r->extent.node || r->extent.type != MLC_VOID;
}

static void take_bounds(Edge *d, const mlc_edge_args *args) {
    const mlc_range *const given[MAX_RANK] = { &args->d0, &args->d1, &args->d2, &args->d3,
                                               &args->d4, &args->d5, &args->d6, &args->d7 };
    int n = 0;
    for (int i = 0; i < MAX_RANK; i++) {
        if (!is_given(given[i])) continue;
        n++;
        if (i >= d->rank) {
            d->bad = ir_poison(d->I, ERR_DIM_RANGE, &d->place, d->f->name, i);
            return;
        }
        d->lo[i] = bound(d, given[i]->min);
        d->extent[i] = bound(d, given[i]->extent);
    }
    if (!n && !d->f->is_input) d->bad = ir_poison(d->I, ERR_EDGE_BOUNDS, &d->place, d->f->name);
    for (int i = 0; i < d->rank && !n && !d->bad; i++) {
        d->lo[i] = ir_var(d->I, d->f->min[i]);
        d->extent[i] = ir_var(d->I, d->f->extent[i]);
    }
}

static void take_vars(Edge *d) {
    for (int i = 0; i < d->rank; i++) {
        const Sym *s = d->f->is_input ? alg_var(d->ctx, arena_printf(d->I->arena, "_%d", i)) : d->f->arg[i];
        if (!s) BUG(d->I->fault, "a Var _0 cannot be made");
        d->var[i] = ir_var(d->I, s);
    }
}

/* ---- the Func ---- */

static const Node *element(Edge *d, mlc_edge kind, int i, mlc_expr value, const Node *const *coord) {
    const Node *e = ir_access(d->I, d->f, d->f->type[i], i, d->rank, coord), *all = NULL;
    if (kind != MLC_CONSTANT_EDGE) return e;
    bool literal;
    const Node *v = alg_node(d->ctx, value, &literal);
    v = ir_coerce(d->I, v, literal, d->f->type[i], &d->place);
    for (int k = 0; k < d->rank; k++)
        if (d->lo[k]) all = all ? two(d, OP_LAND, all, inside(d, k)) : inside(d, k);
    return all ? three(d, OP_SELECT, all, likely(d, e), v) : e;
}

static const char *edge_name(Edge *d, const char *name) {
    if (name) return name;
    name = arena_printf(d->I->arena, "%s$edge", d->f->name);
    return alg_find_func(d->ctx, name) ? alg_generated_name(d->ctx, name) : name;
}

static Func *make_edge(mlc_ctx *ctx, mlc_edge kind, mlc_expr value, const mlc_edge_args *args) {
    Func *f = args->f.f;
    Edge d = { .ctx = ctx, .I = &ctx->ir, .f = f, .place = { .loc = args->loc, .object = "boundary" }, .rank = f->rank };
    Func *g = alg_add_func(ctx, edge_name(&d, args->name), args->loc);
    if (f->poison) d.bad = f->poison;
    else if ((unsigned)kind > MLC_MIRROR_INTERIOR) d.bad = ir_poison(d.I, ERR_OP_RANGE, &d.place, (int)kind);
    else if (!f->is_input && !f->def.n) d.bad = ir_poison(d.I, ERR_FUNC_UNDEFINED_READ, &d.place, f->name);
    else take_bounds(&d, args);
    if (d.bad) {
        g->poison = d.bad;
        return g;
    }
    take_vars(&d);
    const Node *coord[MAX_RANK], *rhs[MAX_TUPLE];
    for (int i = 0; i < d.rank; i++) coord[i] = coordinate(&d, kind, i);
    for (int i = 0; i < f->n; i++) rhs[i] = element(&d, kind, i, value, coord);
    alg_define(g, DEF_SET, d.rank, d.var, f->n, rhs, 0, args->loc);
    return g;
}

mlc_func mlc_boundary(mlc_edge kind, mlc_expr value, const mlc_edge_args *args) {
    mlc_ctx *ctx = args->f.f ? args->f.f->ctx : NULL;
    Barrier b;
    if (!ctx || !FAULT_TRY(&ctx->fault, b)) return (mlc_func){ NULL };
    mlc_func g = { make_edge(ctx, kind, value, args) };
    FAULT_END(&ctx->fault, b);
    return g;
}
