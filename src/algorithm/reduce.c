/* reduce.c - inline reductions: a hidden Func with one update, read where it stands.
 *
 * sum(k, e) becomes sum$1(x, y) += e over the free Vars x, y of e, and stands for sum$1(x, y).  RVars of
 * an outer domain in e are free too: the hidden Func has a Var k$x in their place. */
#include "algorithm.h"

#include <string.h>

typedef struct {
    mlc_ctx *ctx;
    Interner *I;
    RDom *r;
    Place place;
    int n, over;                 /* free variables; too many */
    const Node *inner[MAX_RANK]; /* the hidden Func's Vars */
    const Node *outer[MAX_RANK]; /* what stands for them outside */
    PtrMap renamed;              /* outer RVar -> inner Var */
    PtrMap seen;
    const Node *bad;
} Reduction;

static const Node *inner_var(Reduction *d, const Sym *s) {
    if (s->kind == SYM_VAR) return ir_var(d->I, s);
    char *name = arena_printf(d->I->arena, s->rdom->n == 1 ? "%s.x" : "%s", s->name);
    *strchr(name, '.') = '$';
    const Sym *v = alg_var(d->ctx, name);
    return v ? ir_var(d->I, v) : ir_poison(d->I, ERR_NAME_BAD, &d->place, name);
}

static void look(void *user, const Node *e) {
    Reduction *d = user;
    const Sym *s = e->op == OP_VAR ? e->u.sym : NULL;
    bool is_free = s && (s->kind == SYM_VAR || (s->kind == SYM_RVAR && s->rdom != d->r));
    if (!is_free || pm_has(&d->seen, s)) return;
    pm_put(&d->seen, s, d);
    if (d->n == MAX_RANK) {
        d->over++;
        return;
    }
    d->outer[d->n] = e;
    const Node *v = inner_var(d, s);
    if (v->op == OP_POISON) d->bad = v;
    d->inner[d->n++] = v;
    if (s->kind == SYM_RVAR) pm_put(&d->renamed, s, (void *)(uintptr_t)v);
}

/* ---- argmin, argmax ---- */

typedef struct {
    Interner *I;
    const Place *place;
} Maker;

static const Node *typed2(const Maker *m, Op op, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_typed(m->I, op, m->place, 2, kids, 0);
}

/* e's sign bit, -0's too. */
static const Node *sign_bit(const Maker *m, const Node *e) {
    mlc_type bits = ty_int(true, ty_bits((mlc_type)e->type));
    const Node *whole = ir_typed_cast(m->I, OP_REINTERPRET, bits, m->place, e, false);
    return typed2(m, OP_LT, whole, ir_int(m->I, bits, 0));
}

static const Node *logic_not(const Maker *m, const Node *e) {
    return ir_typed(m->I, OP_LNOT, m->place, 1, &e, 0);
}

const Node *alg_wins(Interner *I, const Place *place, bool greatest, const Node *e, const Node *old) {
    const Maker m = { I, place };
    const Node *better = typed2(&m, greatest ? OP_GT : OP_LT, e, old);
    if (!ty_is_float((mlc_type)e->type)) return better;
    const Node *low = greatest ? old : e, *high = greatest ? e : old;
    const Node *zeros = typed2(&m, OP_LAND, sign_bit(&m, low), logic_not(&m, sign_bit(&m, high)));
    better = typed2(&m, OP_LOR, better, typed2(&m, OP_LAND, typed2(&m, OP_EQ, e, old), zeros));
    better = typed2(&m, OP_LOR, better, ir_typed(I, OP_IS_NAN, place, 1, &e, 0));
    return typed2(&m, OP_LAND, better, logic_not(&m, ir_typed(I, OP_IS_NAN, place, 1, &old, 0)));
}

static int define_arg(Reduction *d, Func *f, bool greatest, const Node *e) {
    Interner *I = d->I;
    int n = d->r->n;
    const Node *start[MAX_RANK + 1], *rhs[MAX_RANK + 1];
    const Node *same[2] = { e, e }, *number = ir_typed(I, OP_MIN, &d->place, 2, same, 0);
    if (number->op == OP_POISON || n >= MAX_TUPLE) {
        d->bad = n >= MAX_TUPLE ? ir_poison(I, ERR_TUPLE_WIDTH, &d->place, f->name, MAX_TUPLE, n + 1) : number;
        return -1;
    }
    mlc_type t = (mlc_type)e->type;
    e = ir_typed_cast(I, OP_CAST, t == MLC_INDEX ? MLC_I32 : t, &d->place, e, false); /* a half rounds once */
    for (int i = 0; i < n; i++) start[i] = ir_coerce(I, d->r->min[i], true, MLC_I32, &d->place);
    start[n] = alg_start_of(I, greatest ? DEF_MAX : DEF_MIN, (mlc_type)e->type);
    if (alg_define(f, DEF_SET, d->n, d->inner, n + 1, start, 0, d->place.loc) < 0) return -1;
    const Node *old = ir_access(I, f, f->type[n], n, d->n, d->inner), *win = alg_wins(I, &d->place, greatest, e, old);
    for (int i = 0; i <= n; i++) {
        const Node *now = i < n ? ir_coerce(I, ir_var(I, d->r->var[i]), false, MLC_I32, &d->place) : e;
        const Node *kids[3] = { win, now, ir_access(I, f, f->type[i], i, d->n, d->inner) };
        rhs[i] = ir_typed(I, OP_SELECT, &d->place, 3, kids, 0);
    }
    return alg_define(f, DEF_SET, d->n, d->inner, n + 1, rhs, 0, d->place.loc);
}

/* ---- the entry ---- */

static const struct {
    const char *name;
    DefOp op;
} kinds[] = {
    [MLC_SUM] = { "sum", DEF_ADD },         [MLC_PRODUCT] = { "product", DEF_MUL },
    [MLC_MINIMUM] = { "minimum", DEF_MIN }, [MLC_MAXIMUM] = { "maximum", DEF_MAX },
    [MLC_ARGMIN] = { "argmin", DEF_SET },   [MLC_ARGMAX] = { "argmax", DEF_SET },
};

const Node *alg_reduce(mlc_ctx *ctx, mlc_reduction kind, RDom *r, const Node *e, mlc_loc loc) {
    Reduction d = { .ctx = ctx, .I = &ctx->ir, .r = r };
    if ((unsigned)kind > MLC_ARGMAX) return ir_poison(d.I, ERR_OP_RANGE, NULL, (int)kind);
    d.place = (Place){ .loc = loc, .object = kinds[kind].name };
    if (e->op == OP_POISON) return ir_poison_at(d.I, e, &d.place);
    pm_init(&d.renamed, d.I->arena);
    pm_init(&d.seen, d.I->arena);
    ir_visit(d.I->arena, e, look, &d);
    for (int i = 0; i < r->where.n; i++) ir_visit(d.I->arena, r->where.at[i], look, &d);
    if (d.over) return ir_poison(d.I, ERR_RANK_RANGE, &d.place, kinds[kind].name, d.n + d.over);
    if (d.bad) return d.bad;
    e = alg_replace(d.I, e, &d.renamed);
    Func *f = alg_add_func(ctx, alg_generated_name(ctx, kinds[kind].name), loc);
    int stage = kind >= MLC_ARGMIN ? define_arg(&d, f, kind == MLC_ARGMAX, e)
                                   : alg_define(f, kinds[kind].op, d.n, d.inner, 1, &e, 0, loc);
    if (stage < 0) return f->poison ? f->poison : d.bad;
    return alg_access(f, d.n, d.outer, 0, &d.place);
}

mlc_expr mlc_reduce(mlc_reduction kind, mlc_rdom r, mlc_expr e, mlc_loc loc) {
    mlc_ctx *ctx = r.x.ctx;
    Barrier b;
    if (!ctx || !r.r || !FAULT_TRY(&ctx->fault, b)) return (mlc_expr){ .ctx = ctx };
    bool literal;
    const Node *node = alg_node(ctx, e, &literal);
    const Node *result = alg_reduce(ctx, kind, r.r, node, loc);
    FAULT_END(&ctx->fault, b);
    return alg_expr(ctx, result);
}
