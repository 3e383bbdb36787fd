/* names.c - making Vars, Funcs, inputs, params and RDoms, and the namespace that they share.
 *
 * A wrong name is noted in the context, and the object still comes back: without the name, and
 * poisoned where it is a Func, so that later statements about it work and fail what reaches it. */
#include "algorithm.h"

#include <ctype.h>
#include <string.h>

static bool is_operator(const char *s) {
    if (ty_from_name(s) != MLC_VOID) return true;
    for (int op = 0; op < OP_COUNT; op++)
        if (ir_ops[op].cls != CLASS_LEAF && !strcmp(ir_ops[op].text, s)) return true;
    return false;
}

/* NULL, or the poison that says what is wrong with the name. */
static const Node *check_name(mlc_ctx *ctx, const char *s, const Place *place) {
    if (!s || !*s || isdigit((unsigned char)*s)) return ir_poison(&ctx->ir, ERR_NAME_BAD, place, s ? s : "");
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '$') return ir_poison(&ctx->ir, ERR_NAME_BAD, place, s);
    return is_operator(s) ? ir_poison(&ctx->ir, ERR_NAME_OPERATOR, place, s) : NULL;
}

const char *alg_kind_text(const Named *n) {
    switch (n->kind) {
    case NAME_FUNC: return n->u.func->is_input ? "an input" : "a Func";
    case NAME_PARAM: return "a param";
    case NAME_RDOM: return "an RDom";
    case NAME_EXTERN: return "a C function";
    }
    return "something else";
}

/* Params and RDoms are written like Vars, so these three may not meet either. */
static const Node *check_free(mlc_ctx *ctx, NameKind kind, const char *s, const Place *place) {
    const Node *bad = check_name(ctx, s, place);
    if (bad) return bad;
    const Named *old = sm_get(&ctx->names, s);
    if (old) return ir_poison(&ctx->ir, ERR_NAME_TAKEN, place, s, alg_kind_text(old));
    bool like_var = kind == NAME_PARAM || kind == NAME_RDOM;
    return like_var && sm_get(&ctx->vars, s) ? ir_poison(&ctx->ir, ERR_NAME_TAKEN, place, s, "a Var") : NULL;
}

bool alg_name_is_free(mlc_ctx *ctx, const char *name, const Place *place) {
    return !check_free(ctx, NAME_EXTERN, name, place);
}

static Named *declare(mlc_ctx *ctx, NameKind kind, const char *name) {
    Named *n = ARENA_NEW(&ctx->arena, Named);
    n->kind = kind;
    sm_put(&ctx->names, name, n);
    return n;
}

const char *alg_generated_name(mlc_ctx *ctx, const char *base) {
    for (int i = 1;; i++) {
        const char *s = arena_printf(&ctx->arena, "%s$%d", base, i);
        if (!sm_get(&ctx->names, s)) return s;
    }
}

Func *alg_find_func(mlc_ctx *ctx, const char *name) {
    const Named *n = name ? sm_get(&ctx->names, name) : NULL;
    return n && n->kind == NAME_FUNC ? n->u.func : NULL;
}

const Sym *alg_var(mlc_ctx *ctx, const char *name) {
    Sym *s = name ? sm_get(&ctx->vars, name) : NULL;
    if (s) return s;
    Place place = { .object = "Var" };
    if (check_name(ctx, name, &place)) return NULL;
    const Named *n = sm_get(&ctx->names, name);
    if (n && (n->kind == NAME_PARAM || n->kind == NAME_RDOM)) {
        ir_poison(&ctx->ir, ERR_NAME_TAKEN, &place, name, alg_kind_text(n));
        return NULL;
    }
    s = ARENA_NEW(&ctx->arena, Sym);
    *s = (Sym){ .name = ir_text(&ctx->ir, name), .kind = SYM_VAR, .type = MLC_INDEX };
    sm_put(&ctx->vars, s->name, s);
    return s;
}

/* ---- Funcs and inputs ---- */

static Sym *buffer_sym(Arena *a, Func *f, SymKind kind, int dim, const char *field) {
    Sym *s = ARENA_NEW(a, Sym);
    *s = (Sym){ .kind = kind, .type = MLC_INDEX, .dim = dim, .func = f, .loc = f->loc };
    s->name = arena_printf(a, "%s.%s.%d", f->name, field, dim);
    return s;
}

void alg_set_rank(Arena *a, Func *f, int rank) {
    f->rank = rank;
    for (int d = 0; d < rank; d++) {
        f->min[d] = buffer_sym(a, f, SYM_MIN, d, "min");
        f->extent[d] = buffer_sym(a, f, SYM_EXTENT, d, "extent");
        Sym *stride = buffer_sym(a, f, SYM_STRIDE, d, "stride");
        stride->align = f->dim[d].align;
        f->stride[d] = stride;
    }
}

static Func *new_func(mlc_ctx *ctx, const char *object, const char *name, mlc_loc loc) {
    Place place = { .loc = loc, .object = object };
    Func *f = ARENA_NEW(&ctx->arena, Func);
    f->ctx = ctx;
    f->loc = loc;
    f->id = ctx->funcs.n;
    f->name = ir_text(&ctx->ir, name ? name : "");
    f->poison = check_free(ctx, NAME_FUNC, name, &place);
    if (!f->poison) declare(ctx, NAME_FUNC, f->name)->u.func = f;
    VEC_PUSH(&ctx->arena, &ctx->funcs, f);
    return f;
}

Func *alg_add_func(mlc_ctx *ctx, const char *name, mlc_loc loc) {
    return new_func(ctx, "func", name, loc);
}

Func *alg_add_input(mlc_ctx *ctx, const char *name, mlc_type type, int rank, mlc_loc loc) {
    Place place = { .loc = loc, .object = "input" };
    Func *f = new_func(ctx, "input", name, loc);
    f->is_input = true;
    f->n = 1;
    f->type[0] = ty_is_data(type) ? type : MLC_F32;
    if (!ty_is_data(type)) f->poison = ir_poison(&ctx->ir, ERR_TYPE_ARG, &place, f->name, "one of MLC_BOOL to MLC_F64");
    bool fits = rank >= 0 && rank <= MAX_RANK;
    if (!fits) f->poison = ir_poison(&ctx->ir, ERR_RANK_RANGE, &place, f->name, rank);
    alg_set_rank(&ctx->arena, f, fits ? rank : 0);
    return f;
}

/* ---- params and RDoms ---- */

Sym *alg_add_param(mlc_ctx *ctx, const char *name, mlc_type type, mlc_loc loc) {
    Place place = { .loc = loc, .object = "param" };
    if (check_free(ctx, NAME_PARAM, name, &place)) return NULL;
    if (!ty_is_data(type) && type != MLC_INDEX) {
        ir_poison(&ctx->ir, ERR_TYPE_ARG, &place, name, "one of MLC_BOOL to MLC_INDEX");
        return NULL;
    }
    Sym *s = ARENA_NEW(&ctx->arena, Sym);
    *s = (Sym){ .name = ir_text(&ctx->ir, name), .kind = SYM_PARAM, .type = type, .loc = loc, .slot = ctx->params.n };
    declare(ctx, NAME_PARAM, s->name)->u.param = s;
    VEC_PUSH(&ctx->arena, &ctx->params, s);
    return s;
}

/* Bounds are made of indices only: literals, index params and sizes of buffers. */
static bool is_bound(const Node *e) {
    if (e->type != MLC_INDEX) return false;
    if (e->op == OP_CONST) return true;
    bool changes = e->op == OP_VAR && (e->u.sym->kind == SYM_VAR || e->u.sym->kind == SYM_RVAR);
    bool of_output = e->op == OP_VAR && e->u.sym->func && !e->u.sym->func->is_input;
    if (e->op == OP_VAR) return !changes && !of_output;
    if (ir_ops[e->op].cls == CLASS_LEAF || e->op == OP_CAST) return false;
    for (int i = 0; i < e->n; i++)
        if (!is_bound(e->kid[i])) return false;
    return true;
}

static const Sym *rvar(mlc_ctx *ctx, RDom *r, int d) {
    static const char *const field[MAX_RANK] = { "x", "y", "z", "w", "d4", "d5", "d6", "d7" };
    Sym *s = ARENA_NEW(&ctx->arena, Sym);
    *s = (Sym){ .kind = SYM_RVAR, .type = MLC_INDEX, .dim = d, .rdom = r, .loc = r->loc };
    s->name = r->n == 1 ? r->name : arena_printf(&ctx->arena, "%s.%s", r->name, field[d]);
    return s;
}

RDom *alg_add_rdom(mlc_ctx *ctx, const char *name, int n, const Node *const *min, const Node *const *extent, mlc_loc loc) {
    Place place = { .loc = loc, .object = "rdom" };
    Interner *I = &ctx->ir;
    if (check_free(ctx, NAME_RDOM, name, &place)) return NULL;
    if (n < 1 || n > MAX_RANK) {
        ir_poison(I, ERR_RANK_RANGE, &place, name, n);
        return NULL;
    }
    RDom *r = ARENA_NEW(&ctx->arena, RDom);
    *r = (RDom){ .name = ir_text(I, name), .n = n, .loc = loc };
    for (int d = 0; d < n; d++) {
        const Node *bad = min[d]->op == OP_POISON ? min[d] : extent[d]->op == OP_POISON ? extent[d] : NULL;
        if (bad) ir_poison_at(I, bad, &place);
        else if (!is_bound(min[d]) || !is_bound(extent[d])) bad = ir_poison(I, ERR_RDOM_BOUND, &place, d, name);
        if (bad) return NULL;
        r->min[d] = alg_canonical(I, min[d], MLC_INDEX);
        r->extent[d] = alg_canonical(I, extent[d], MLC_INDEX);
        r->var[d] = rvar(ctx, r, d);
    }
    declare(ctx, NAME_RDOM, r->name)->u.rdom = r;
    VEC_PUSH(&ctx->arena, &ctx->rdoms, r);
    return r;
}

void alg_add_where(mlc_ctx *ctx, RDom *r, const Node *cond, mlc_loc loc) {
    Place place = { .loc = loc, .object = arena_printf(&ctx->arena, "where %s", r->name) };
    Interner *I = &ctx->ir;
    if (cond->op == OP_POISON) ir_poison_at(I, cond, &place);
    else if (r->frozen) cond = ir_poison(I, ERR_RDOM_FROZEN, &place, r->name);
    else if (cond->type != MLC_BOOL) cond = ir_poison(I, ERR_WHERE_TYPE, &place, r->name, mlc_type_name((mlc_type)cond->type));
    VEC_PUSH(&ctx->arena, &r->where, cond);
    VEC_PUSH(&ctx->arena, &r->where_canon, alg_canonical(I, cond, MLC_BOOL));
}
