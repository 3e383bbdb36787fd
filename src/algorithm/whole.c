/* whole.c - extern stages: Funcs whose values a C function computes, a box at a time.
 *
 * Such a Func has one definition of which each element is an OP_STAGE node: the C function over an access
 * of each Func argument and over the scalars.  So whatever looks for what a definition reads finds it there; only what
 * runs definitions has to know more. */
#include "algorithm.h"

#include "ir/whole.h"

#include <stdio.h>
#include <string.h>

bool alg_is_whole(const Func *f) {
    return f->def.n > 0 && f->def.at[0]->value[0]->op == OP_STAGE;
}

Whole alg_whole(const Func *f) {
    const Node *e = f->def.at[0]->value[0];
    Whole w = { .ext = e->u.ext, .rank = f->rank };
    for (int i = 0; i < e->n; i++) {
        if (e->kid[i]->op == OP_ACCESS) w.in[w.n_in++] = e->kid[i]->u.func;
        else w.scalar[w.n_scalars++] = e->kid[i];
    }
    int *at = w.desc + 2;
    for (int i = 0; i <= w.n_in; i++) {
        const Func *g = i < w.n_in ? w.in[i] : f;
        w.desc[i < w.n_in ? 0 : 1] += g->n;
        if (i < w.n_in) w.first[i + 1] = w.first[i] + g->n;
        for (int k = 0; k < g->n; k++) *at++ = (int)g->type[k], *at++ = g->rank;
    }
    return w;
}

/* ---- definition ---- */

typedef struct {
    Func *f;
    Interner *I;
    Place place;
    const Node *bad;
} Definer;

static void look(void *user, const Node *e) {
    bool *open = user;
    SymKind k = e->op == OP_VAR ? e->u.sym->kind : SYM_PARAM;
    *open |= (k != SYM_PARAM && k != SYM_MIN && k != SYM_EXTENT) || e->op == OP_ACCESS || e->op == OP_EXTERN ||
             e->op == OP_UNDEF || e->op == OP_RANDOM || e->op == OP_PRINT || e->op == OP_REQUIRE;
}

/* Scalars say how much is computed: they are known before anything is. */
static const Node *check_scalar(Definer *d, int i, const Node *e) {
    bool open = false;
    if (e->op == OP_POISON) return ir_poison_at(d->I, e, &d->place);
    ir_visit(d->I->arena, e, look, &open);
    return open ? ir_poison(d->I, ERR_STAGE_ARG, &d->place, i, d->f->name) : NULL;
}

static const Node *check_func(Definer *d, const Func *g) {
    if (g->poison) return g->poison;
    if (!g->is_input && !g->def.n) return ir_poison(d->I, ERR_FUNC_UNDEFINED_READ, &d->place, g->name);
    if (g == d->f || (d->f->is_read && alg_reaches(d->I->arena, (Func *)(uintptr_t)g, d->f)))
        return ir_poison(d->I, ERR_FUNC_CYCLE, &d->place, d->f->name, g->name, d->f->name);
    return NULL;
}

static const Node *access_of(Definer *d, Func *g) {
    const Node *zero[MAX_RANK];
    for (int i = 0; i < g->rank; i++) zero[i] = ir_idx(d->I, 0);
    g->is_read = true;
    return ir_access(d->I, g, g->type[0], 0, g->rank, zero);
}

static const Node *check_shape(Definer *d, const Extern *fn, int rank, int n, int n_args) {
    Func *f = d->f;
    if (f->poison) return f->poison;
    if (!fn->is_stage) return ir_poison(d->I, ERR_STAGE_FN, &d->place, fn->name);
    if (f->is_input || f->def.n) return ir_poison(d->I, ERR_STAGE_DEFINED, &d->place, f->name);
    if (n < 1 || n > MAX_TUPLE) return ir_poison(d->I, ERR_TUPLE_WIDTH, &d->place, f->name, 1, n);
    if (rank < 0 || rank > MAX_RANK) return ir_poison(d->I, ERR_RANK_RANGE, &d->place, f->name, rank);
    if (n_args < 0 || n_args > 8) return ir_poison(d->I, ERR_STAGE_ARGS, &d->place, f->name, n_args);
    return NULL;
}

static const Node *check_args(Definer *d, int n, const WholeArg *arg) {
    const Node *bad = NULL;
    for (int i = 0; i < n && !bad; i++) bad = arg[i].func ? check_func(d, arg[i].func) : check_scalar(d, i, arg[i].value);
    return bad;
}

bool alg_define_whole(Func *f, const Extern *fn, int rank, int n, const mlc_type *type, int n_args, const WholeArg *arg,
                      mlc_loc loc) {
    Interner *I = &f->ctx->ir;
    Definer d = { .f = f, .I = I, .place = { .loc = loc, .object = arena_printf(I->arena, "define %s", f->name) } };
    const Node *bad = check_shape(&d, fn, rank, n, n_args), *written[8], *kid[8];
    if (!bad) bad = check_args(&d, n_args, arg);
    if (bad) {
        if (!f->poison) f->poison = bad;
        return false;
    }
    Def *def = ARENA_NEW(I->arena, Def);
    *def = (Def){ .rank = rank, .n = n, .loc = loc };
    for (int i = 0; i < n_args; i++) {
        written[i] = arg[i].func ? access_of(&d, arg[i].func) : arg[i].value;
        kid[i] = arg[i].func ? written[i] : alg_canonical(I, written[i], (mlc_type)written[i]->type);
    }
    alg_set_rank(I->arena, f, rank);
    f->n = n;
    for (int i = 0; i < rank; i++) {
        f->arg[i] = alg_var(f->ctx, arena_printf(I->arena, "_%d", i));
        if (!f->arg[i]) fault_jump(I->fault); /* _0 is the name of something else: noted */
        def->lhs[i] = def->coord[i] = ir_var(I, f->arg[i]);
    }
    for (int i = 0; i < n; i++) {
        f->type[i] = type[i];
        def->rhs[i] = ir_node(I, OP_STAGE, type[i], (uint64_t)(uintptr_t)fn, i, n_args, written);
        def->value[i] = ir_node(I, OP_STAGE, type[i], (uint64_t)(uintptr_t)fn, i, n_args, kid);
    }
    VEC_PUSH(I->arena, &f->def, def);
    return true;
}

void alg_print_whole(StrBuf *out, const Func *f) {
    const Node *e = f->def.at[0]->rhs[0];
    sb_printf(out, "extern stage %s: %s", f->name, f->n > 1 ? "{" : "");
    for (int i = 0; i < f->n; i++) sb_printf(out, "%s%s", i ? ", " : "", mlc_type_name(f->type[i]));
    sb_printf(out, "%s[%d] = %s(", f->n > 1 ? "}" : "", f->rank, e->u.ext->name);
    for (int i = 0; i < e->n; i++) {
        sb_puts(out, i ? ", " : "");
        if (e->kid[i]->op == OP_ACCESS) sb_puts(out, e->kid[i]->u.func->name);
        else ir_print(out, e->kid[i]);
    }
    sb_puts(out, ")");
}

/* ---- the public functions ---- */

mlc_extern mlc_extern_stage_new(mlc_ctx *ctx, const char *name, mlc_stage_fn fn) {
    Barrier b;
    mlc_extern x = { ctx, NULL };
    if (!ctx || !FAULT_TRY(&ctx->fault, b)) return x;
    Place place = { .object = "extern" };
    if (name && strchr(name, '$')) ir_poison(&ctx->ir, ERR_NAME_RESERVED, &place, name);
    else if (!fn) ir_poison(&ctx->ir, ERR_EXTERN_NULL, &place, name ? name : "");
    else if (alg_name_is_free(ctx, name, &place)) x.ext = alg_add_extern(ctx, &(Extern){ .name = name, .fn = (void (*)(void))fn, .is_stage = true });
    FAULT_END(&ctx->fault, b);
    return x;
}

mlc_stage_arg mlc_arg_func(mlc_func f) {
    return (mlc_stage_arg){ .func = f };
}

mlc_stage_arg mlc_arg_expr(mlc_expr e) {
    return (mlc_stage_arg){ .value = e };
}

mlc_stage_arg mlc_arg_param(mlc_param p) {
    return mlc_arg_expr(mlc_from_param(p));
}

mlc_stage_arg mlc_arg_int(int v) {
    return mlc_arg_expr(mlc_from_int(v));
}

mlc_stage_arg mlc_arg_long(long v) {
    return mlc_arg_expr(mlc_from_long(v));
}

mlc_stage_arg mlc_arg_float(float v) {
    return mlc_arg_expr(mlc_from_float(v));
}

mlc_stage_arg mlc_arg_double(double v) {
    return mlc_arg_expr(mlc_from_double(v));
}

typedef struct {
    int n, rank;
    mlc_type type[MAX_TUPLE];
} Signature;

/* "u8[2]" or "{u8, f32}[2]" */
static bool read_types(const char *s, Signature *t) {
    char word[8];
    int used = 0, many = 0;
    bool tuple = sscanf(s, " {%n", &many) == 0 && many > 0;
    s += many;
    for (t->n = 0; t->n < MAX_TUPLE; s += used) {
        used = 0;
        if (sscanf(s, " %7[a-z0-9]%n", word, &used) != 1 || !used) return false;
        t->type[t->n] = ty_from_name(word);
        if (!ty_is_data(t->type[t->n++])) return false;
        s += used;
        used = 0;
        if (!tuple || sscanf(s, " ,%n", &used) != 0 || !used) break;
    }
    used = 0;
    if (tuple && (sscanf(s, " }%n", &used) != 0 || !used)) return false;
    s += used;
    used = 0;
    return sscanf(s, " [%d ]%n", &t->rank, &used) == 1 && used && !s[used];
}

static bool define(Func *f, const Extern *fn, const char *types, int n_args, const mlc_stage_arg *arg, mlc_loc loc) {
    mlc_ctx *ctx = f->ctx;
    Place place = { .loc = loc, .object = arena_printf(&ctx->arena, "define %s", f->name) };
    WholeArg a[8] = { { NULL, NULL } };
    Signature t;
    const Node *bad = NULL;
    if (!fn) bad = ctx->ir.fault->info.code ? NULL : ir_poison(&ctx->ir, ERR_STAGE_FN, &place, "NULL");
    else if (!types || !read_types(types, &t)) bad = ir_poison(&ctx->ir, ERR_STAGE_TYPES, &place, types ? types : "");
    if (!fn || bad) {
        if (!f->poison) f->poison = bad;
        return false;
    }
    for (int i = 0; arg && i < n_args && n_args <= 8; i++) {
        bool literal;
        a[i].func = arg[i].func.f;
        if (!a[i].func) a[i].value = alg_node(ctx, arg[i].value, &literal);
    }
    return alg_define_whole(f, fn, t.rank, t.n, t.type, arg ? n_args : 0, a, loc);
}

bool mlc_define_extern_at(mlc_func f, mlc_extern fn, const char *types, int n, const mlc_stage_arg *arg, mlc_loc loc) {
    Barrier b;
    volatile bool good = false;
    if (!f.f || !FAULT_TRY(&f.f->ctx->fault, b)) return false;
    good = define(f.f, fn.ext, types, n, arg, loc);
    FAULT_END(&f.f->ctx->fault, b);
    return good;
}
