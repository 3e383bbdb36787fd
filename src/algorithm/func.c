/* func.c - the public functions that make Funcs, inputs, params and RDoms, access and define them. */
#include "algorithm.h"

#include <string.h>

/* Every function here: no context, nothing done; else its barrier is set around the work. */
#define ENTER(ctx, b) ((ctx) && FAULT_TRY(&(ctx)->fault, b))
#define LEAVE(ctx, b) FAULT_END(&(ctx)->fault, b)

/* ---- Vars, Funcs, inputs ---- */

/* '$' is for generated names, which only text may repeat. */
static const Node *reserved(mlc_ctx *ctx, const char *object, const char *name, mlc_loc loc) {
    Place place = { .loc = loc, .object = object };
    return name && strchr(name, '$') ? ir_poison(&ctx->ir, ERR_NAME_RESERVED, &place, name) : NULL;
}

mlc_var mlc_var_new(mlc_ctx *ctx, const char *name) {
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_var){ ctx, NULL };
    mlc_var v = { ctx, reserved(ctx, "Var", name, (mlc_loc){ 0 }) ? NULL : alg_var(ctx, name) };
    LEAVE(ctx, b);
    return v;
}

mlc_func mlc_func_at(mlc_ctx *ctx, const char *name, mlc_loc loc) {
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_func){ NULL };
    const Node *bad = reserved(ctx, "func", name, loc);
    mlc_func f = { alg_add_func(ctx, bad ? alg_generated_name(ctx, "wrong") : name, loc) };
    if (bad) f.f->poison = bad;
    LEAVE(ctx, b);
    return f;
}

mlc_func mlc_input_at(mlc_ctx *ctx, const char *name, mlc_type type, int rank, mlc_loc loc) {
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_func){ NULL };
    const Node *bad = reserved(ctx, "input", name, loc);
    mlc_func f = { alg_add_input(ctx, bad ? alg_generated_name(ctx, "wrong") : name, type, rank, loc) };
    if (bad) f.f->poison = bad;
    LEAVE(ctx, b);
    return f;
}

/* The immediate as a constant of type t; a poison where t does not hold it. */
static const Node *constant(mlc_ctx *ctx, mlc_expr v, mlc_type t, const Place *place) {
    bool literal;
    const Node *e = alg_node(ctx, v, &literal);
    e = ir_coerce(&ctx->ir, e, literal, t, place);
    if (e->op == OP_CAST && e->kid[0]->op == OP_CONST) e = ir_cast(&ctx->ir, t, e->kid[0]);
    return e;
}

static bool constant_pair(mlc_ctx *ctx, mlc_expr lo, mlc_expr hi, mlc_type t, const Place *place, const char *name, const Node **e) {
    e[0] = constant(ctx, lo, t, place);
    e[1] = constant(ctx, hi, t, place);
    bool consts = e[0]->op == OP_CONST && e[1]->op == OP_CONST;
    if (!consts && (e[0]->op == OP_POISON || e[1]->op == OP_POISON)) return false;
    bool ok = consts && (!ty_is_float(t) ? t == MLC_U64 ? e[0]->u.bits <= e[1]->u.bits && e[1]->u.i >= 0
                                                        : e[0]->u.i <= e[1]->u.i
                                         : e[0]->u.f <= e[1]->u.f);
    if (!ok) ir_poison(&ctx->ir, ERR_RANGE_VALUE, place, name);
    return ok;
}

void mlc_input_range_set(mlc_func in, mlc_expr lo, mlc_expr hi, mlc_loc loc) {
    mlc_ctx *ctx = in.f ? in.f->ctx : NULL;
    Barrier b;
    if (!ENTER(ctx, b)) return;
    Func *f = in.f;
    Place place = { .loc = loc, .object = "range" };
    const Node *e[2];
    if (!f->is_input) {
        ir_poison(&ctx->ir, ERR_DIM_INPUT, &place, f->name);
    } else if (constant_pair(ctx, lo, hi, f->type[0], &place, f->name, e)) {
        bool flt = ty_is_float(f->type[0]);
        f->has_range = true;
        f->lo = flt ? e[0]->u.f : (double)e[0]->u.i;
        f->hi = flt ? e[1]->u.f : (double)e[1]->u.i;
    }
    LEAVE(ctx, b);
}

/* ---- params ---- */

mlc_param mlc_param_at(mlc_ctx *ctx, const char *name, mlc_type type, mlc_loc loc) {
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_param){ ctx, NULL };
    mlc_param p = { ctx, reserved(ctx, "param", name, loc) ? NULL : alg_add_param(ctx, name, type, loc) };
    LEAVE(ctx, b);
    return p;
}

void mlc_param_range_set(mlc_param p, mlc_expr lo, mlc_expr hi, mlc_loc loc) {
    Barrier b;
    if (!p.sym || !ENTER(p.ctx, b)) return;
    Sym *s = p.ctx->params.at[p.sym->slot];
    Place place = { .loc = loc, .object = "range" };
    const Node *e[2];
    if (constant_pair(p.ctx, lo, hi, s->type, &place, s->name, e)) {
        s->has_range = true;
        if (ty_is_float(s->type)) {
            s->lo = e[0]->u.f;
            s->hi = e[1]->u.f;
        } else {
            s->ilo = e[0]->u.i;
            s->ihi = e[1]->u.i;
        }
    }
    LEAVE(p.ctx, b);
}

static bool set_param(mlc_param p, mlc_expr v) {
    Place place = { .object = arena_printf(&p.ctx->arena, "set %s", p.sym->name) };
    const Node *e = constant(p.ctx, v, p.sym->type, &place);
    if (e->op == OP_POISON) return false;
    if (e->op != OP_CONST) {
        ir_poison(&p.ctx->ir, ERR_PARAM_VALUE, &place, p.sym->name, mlc_type_name(p.sym->type));
        return false;
    }
    Value *slot = pm_get(&p.ctx->param_value, p.sym);
    if (!slot) {
        slot = ARENA_NEW(&p.ctx->arena, Value);
        pm_put(&p.ctx->param_value, p.sym, slot);
    }
    *slot = ir_value(e);
    return true;
}

bool mlc_param_set_value(mlc_param p, mlc_expr v) {
    Barrier b;
    if (!p.sym || !ENTER(p.ctx, b)) return false;
    bool ok = set_param(p, v);
    LEAVE(p.ctx, b);
    return ok;
}

bool mlc_param_set_i(mlc_param p, int64_t v) {
    return mlc_param_set_value(p, mlc_from_llong(v));
}

bool mlc_param_set_f(mlc_param p, double v) {
    return mlc_param_set_value(p, mlc_from_double(v));
}

/* ---- dimensions ---- */

mlc_dim_spec mlc_dim_named(mlc_dim_spec spec, const char *fields) {
    static const char *const name[] = { "min", "extent", "stride", "align" };
    for (const char *p = fields ? strchr(fields, '.') : NULL; p; p = strchr(p, '.')) {
        p++;
        while (*p == ' ') p++;
        for (int i = 0; i < 4; i++) {
            size_t n = strlen(name[i]);
            bool whole = !strncmp(p, name[i], n) && (p[n] == ' ' || p[n] == '=');
            if (whole) spec.has |= 1 << i;
        }
    }
    return spec;
}

static void set_dim(Func *f, int dim, const mlc_dim_spec *spec, const Place *place) {
    Interner *I = &f->ctx->ir;
    bool known = f->is_input || f->def.n;
    if (dim < 0 || dim >= (known ? f->rank : MAX_RANK)) {
        ir_poison(I, ERR_DIM_RANGE, place, f->name, dim);
        return;
    }
    if ((spec->has & MLC_HAS_EXTENT) && spec->extent < 0) {
        ir_poison(I, ERR_DIM_VALUE, place, "extent", (long long)spec->extent, "0 or more");
        return;
    }
    if ((spec->has & MLC_HAS_ALIGN) && spec->align < 1) {
        ir_poison(I, ERR_DIM_VALUE, place, "align", (long long)spec->align, "1 or more");
        return;
    }
    if (spec->has & MLC_HAS_MIN) f->dim[dim].has_min = true, f->dim[dim].min = spec->min;
    if (spec->has & MLC_HAS_EXTENT) f->dim[dim].has_extent = true, f->dim[dim].extent = spec->extent;
    if (spec->has & MLC_HAS_STRIDE) f->dim[dim].has_stride = true, f->dim[dim].stride = spec->stride;
    if (spec->has & MLC_HAS_ALIGN) f->dim[dim].align = spec->align;
    if (known) ((Sym *)(uintptr_t)f->stride[dim])->align = f->dim[dim].align;
}

void mlc_dim_set(mlc_func f, int dim, mlc_dim_spec spec, mlc_loc loc) {
    mlc_ctx *ctx = f.f ? f.f->ctx : NULL;
    Barrier b;
    if (!ENTER(ctx, b)) return;
    Place place = { .loc = loc, .object = "dim" };
    set_dim(f.f, dim, &spec, &place);
    LEAVE(ctx, b);
}

static mlc_expr size_of(mlc_func f, int dim, SymKind what) {
    mlc_ctx *ctx = f.f ? f.f->ctx : NULL;
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_expr){ .ctx = ctx };
    Place place = { .object = "dim" };
    const Node *e = f.f->poison;
    if (!e && (dim < 0 || dim >= f.f->rank)) e = ir_poison(&ctx->ir, ERR_DIM_RANGE, &place, f.f->name, dim);
    else if (!e) e = ir_var(&ctx->ir, (what == SYM_MIN ? f.f->min : what == SYM_EXTENT ? f.f->extent : f.f->stride)[dim]);
    LEAVE(ctx, b);
    return alg_expr(ctx, e);
}

mlc_expr mlc_dim_min(mlc_func f, int dim) {
    return size_of(f, dim, SYM_MIN);
}

mlc_expr mlc_dim_extent(mlc_func f, int dim) {
    return size_of(f, dim, SYM_EXTENT);
}

mlc_expr mlc_dim_stride(mlc_func f, int dim) {
    return size_of(f, dim, SYM_STRIDE);
}

/* ---- reduction domains ---- */

mlc_range mlc_range_of(mlc_expr min, mlc_expr extent) {
    return (mlc_range){ min, extent };
}

static RDom *make_rdom(mlc_ctx *ctx, const char *name, int n, const mlc_range *ranges, mlc_loc loc) {
    const Node *min[MAX_RANK], *extent[MAX_RANK];
    if (!ranges) n = 0;
    for (int i = 0; i < n && n <= MAX_RANK; i++) {
        bool literal;
        const Node *e = alg_node(ctx, ranges[i].min, &literal);
        min[i] = literal ? ir_coerce(&ctx->ir, e, true, MLC_INDEX, NULL) : e;
        e = alg_node(ctx, ranges[i].extent, &literal);
        extent[i] = literal ? ir_coerce(&ctx->ir, e, true, MLC_INDEX, NULL) : e;
    }
    return alg_add_rdom(ctx, name, n, min, extent, loc);
}

mlc_rdom mlc_rdom_at(mlc_ctx *ctx, const char *name, int n, const mlc_range *ranges, mlc_loc loc) {
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_rdom){ 0 };
    RDom *r = reserved(ctx, "rdom", name, loc) ? NULL : make_rdom(ctx, name, n, ranges, loc);
    LEAVE(ctx, b);
    mlc_var v[4] = { { ctx, NULL }, { ctx, NULL }, { ctx, NULL }, { ctx, NULL } };
    for (int i = 0; r && i < 4 && i < r->n; i++) v[i].sym = r->var[i];
    return (mlc_rdom){ r, v[0], v[1], v[2], v[3] };
}

mlc_var mlc_rvar(mlc_rdom r, int i) {
    mlc_ctx *ctx = r.x.ctx;
    mlc_var v = { ctx, NULL };
    Barrier b;
    if (!r.r || !ENTER(ctx, b)) return v;
    if (i >= 0 && i < r.r->n) v.sym = r.r->var[i];
    else ir_poison(&ctx->ir, ERR_RVAR_RANGE, NULL, r.r->name, r.r->n, i);
    LEAVE(ctx, b);
    return v;
}

void mlc_where_at(mlc_rdom r, mlc_expr cond, mlc_loc loc) {
    mlc_ctx *ctx = r.x.ctx;
    Barrier b;
    if (!r.r || !ENTER(ctx, b)) return;
    bool literal;
    const Node *e = alg_node(ctx, cond, &literal);
    alg_add_where(ctx, r.r, e, loc);
    LEAVE(ctx, b);
}

/* ---- accesses ---- */

const Node *alg_access(Func *f, int n, const Node *const *coord, uint32_t literal, const Place *place) {
    Interner *I = &f->ctx->ir;
    const Node *at[MAX_RANK];
    bool known = f->is_input || f->def.n;
    if (f->poison) return f->poison;
    if (n < 0 || n > MAX_RANK) return ir_poison(I, ERR_RANK_RANGE, place, f->name, n);
    if (known && n != f->rank) return ir_poison(I, ERR_RANK_ACCESS, place, f->name, f->rank, n);
    for (int i = 0; i < n; i++) {
        at[i] = ir_coerce(I, coord[i], literal >> i & 1, MLC_INDEX, place);
        if (at[i]->op == OP_POISON) return at[i];
    }
    bool one = known && f->n == 1;
    return ir_access(I, f, one ? f->type[0] : MLC_VOID, known && !one ? -1 : 0, n, at);
}

mlc_expr mlc_access(mlc_func f, int n, const mlc_expr *coord) {
    mlc_ctx *ctx = f.f ? f.f->ctx : NULL;
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_expr){ .ctx = ctx };
    const Node *at[MAX_RANK];
    uint32_t literal = 0;
    const int given = n > 0 && !coord ? -1 : n; /* -1 is refused */
    for (int i = 0; i < given && given <= MAX_RANK; i++) {
        bool is_literal;
        at[i] = alg_node(ctx, coord[i], &is_literal);
        literal |= (uint32_t)is_literal << i;
    }
    const Node *e = alg_access(f.f, given, at, literal, NULL);
    LEAVE(ctx, b);
    return alg_expr(ctx, e);
}

const Node *alg_elem(Interner *I, const Node *access, int i, const Place *place) {
    if (access->op == OP_POISON) return access;
    if (access->op != OP_ACCESS) return ir_poison(I, ERR_LEFT_SIDE, place);
    Func *f = access->u.func;
    if (!f->n) return ir_poison(I, ERR_FUNC_UNDEFINED_READ, place, f->name);
    if (i < 0 || i >= f->n) return ir_poison(I, ERR_TUPLE_RANGE, place, f->name, f->n, i);
    return ir_access(I, f, f->type[i], i, access->n, access->kid);
}

mlc_expr mlc_elem(mlc_expr access, int i) {
    Barrier b;
    if (!access.node || !ENTER(access.ctx, b)) return (mlc_expr){ .ctx = access.ctx };
    const Node *e = alg_elem(&access.ctx->ir, access.node, i, NULL);
    LEAVE(access.ctx, b);
    return alg_expr(access.ctx, e);
}

mlc_func mlc_func_of(mlc_expr access) {
    return (mlc_func){ access.node && access.node->op == OP_ACCESS ? access.node->u.func : NULL };
}

/* ---- definitions ---- */

static int define(mlc_ctx *ctx, const Node *left, mlc_def_op op, int n, const mlc_expr *value, mlc_loc loc) {
    Place place = { .loc = loc, .object = "define" };
    const Node *rhs[MAX_TUPLE];
    uint32_t literal = 0;
    if (left->op == OP_POISON) ir_poison_at(&ctx->ir, left, &place);
    else if (left->op != OP_ACCESS) ir_poison(&ctx->ir, ERR_LEFT_SIDE, &place);
    if (left->op != OP_ACCESS) return -1;
    if (!value) n = 0;
    for (int i = 0; i < n && n <= MAX_TUPLE; i++) {
        bool is_literal;
        rhs[i] = alg_node(ctx, value[i], &is_literal);
        literal |= (uint32_t)is_literal << i;
    }
    return alg_define(left->u.func, (DefOp)op, left->n, left->kid, n, rhs, literal, loc);
}

mlc_stage mlc_define(mlc_expr left, mlc_def_op op, int n, const mlc_expr *value, mlc_loc loc) {
    Barrier b;
    if (!left.node || !ENTER(left.ctx, b)) return (mlc_stage){ NULL, 0 };
    int stage = define(left.ctx, left.node, op, n, value, loc);
    LEAVE(left.ctx, b);
    return stage < 0 ? (mlc_stage){ NULL, 0 } : (mlc_stage){ left.node->u.func, stage };
}

mlc_stage mlc_pure(mlc_func f) {
    return (mlc_stage){ f.f, 0 };
}

mlc_stage mlc_update(mlc_func f, int i) {
    return (mlc_stage){ f.f, i + 1 };
}

/* ---- C functions ---- */

/* Reads one word of a signature; false at its end. */
static bool next_word(const char **p, char word[16]) {
    while (**p == ' ') ++*p;
    size_t n = strcspn(*p, " ");
    if (!n || n >= 16) return false;
    memcpy(word, *p, n);
    word[n] = 0;
    *p += n;
    return true;
}

static bool parse_signature(const char *s, Extern *x) {
    char word[16];
    bool arrow = false;
    for (x->n = 0; next_word(&s, word);) {
        mlc_type t = ty_from_name(word);
        if (!strcmp(word, "->")) {
            arrow = true;
            break;
        }
        if (!ty_is_data(t) || x->n == 8) return false;
        x->arg[x->n++] = t;
    }
    if (!arrow || !next_word(&s, word)) return false;
    x->result = ty_from_name(word);
    return ty_is_data(x->result) && !next_word(&s, word) && !*s;
}

const Extern *alg_add_extern(mlc_ctx *ctx, const Extern *x) {
    Named *n = ARENA_NEW(&ctx->arena, Named);
    Extern *kept = arena_copy(&ctx->arena, x, sizeof *x);
    kept->name = ir_text(&ctx->ir, x->name);
    *n = (Named){ .kind = NAME_EXTERN, .u.ext = kept };
    sm_put(&ctx->names, kept->name, n);
    VEC_PUSH(&ctx->arena, &ctx->externs, kept);
    return kept;
}

static const Extern *make_extern(mlc_ctx *ctx, const char *name, void (*fn)(void), const char *signature) {
    Place place = { .object = "extern" };
    Extern x = { .fn = fn };
    if (!alg_name_is_free(ctx, name, &place)) return NULL;
    if (!signature || !parse_signature(signature, &x)) {
        ir_poison(&ctx->ir, ERR_EXTERN_SIGNATURE, &place, signature ? signature : "");
        return NULL;
    }
    if (!fn) {
        ir_poison(&ctx->ir, ERR_EXTERN_NULL, &place, name);
        return NULL;
    }
    x.name = name;
    return alg_add_extern(ctx, &x);
}

mlc_extern mlc_extern_new(mlc_ctx *ctx, const char *name, void (*fn)(void), const char *signature) {
    Barrier b;
    if (!ENTER(ctx, b)) return (mlc_extern){ ctx, NULL };
    bool bad = reserved(ctx, "extern", name, (mlc_loc){ 0 }) != NULL;
    mlc_extern x = { ctx, bad ? NULL : make_extern(ctx, name, fn, signature) };
    LEAVE(ctx, b);
    return x;
}

const Node *alg_call(Interner *I, const Extern *x, int n, const Node *const *arg, uint32_t literal, const Place *place) {
    const Node *kids[8];
    if (x->is_stage) return ir_poison(I, ERR_EXTERN_STAGE, place, x->name);
    if (n != x->n) return ir_poison(I, ERR_EXTERN_ARGS, place, x->name, x->n, n);
    for (int i = 0; i < n; i++) {
        kids[i] = ir_coerce(I, arg[i], literal >> i & 1, x->arg[i], place);
        if (kids[i]->op == OP_POISON) return kids[i];
    }
    return ir_node(I, OP_EXTERN, x->result, (uint64_t)(uintptr_t)x, 0, n, kids);
}

mlc_expr mlc_call_n(mlc_extern fn, int n, const mlc_expr *arg) {
    Barrier b;
    if (!fn.ext || !ENTER(fn.ctx, b)) return (mlc_expr){ .ctx = fn.ctx };
    const Node *kids[8];
    uint32_t literal = 0;
    const int given = arg ? n : 0;
    for (int i = 0; i < given && given <= 8; i++) {
        bool is_literal;
        kids[i] = alg_node(fn.ctx, arg[i], &is_literal);
        literal |= (uint32_t)is_literal << i;
    }
    const Node *e = alg_call(&fn.ctx->ir, fn.ext, given, kids, literal, NULL);
    LEAVE(fn.ctx, b);
    return alg_expr(fn.ctx, e);
}
