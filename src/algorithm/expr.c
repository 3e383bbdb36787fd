/* expr.c - the operators of the public interface: mlc_expr values to typed nodes.
 *
 * The context comes from the operands.  Where all are immediates there is none: the expression is
 * built in a small arena of its own, made canonical, and its constant becomes an immediate again, so
 * every operator means the same with and without a context. */
#include "algorithm.h"

#include <string.h>

/* What an operator function was asked for. */
typedef struct {
    Op op;
    mlc_type to;      /* casts */
    int n;
    const mlc_expr *v;
    const char *text; /* require, print */
} Request;

static mlc_expr nothing(mlc_ctx *ctx) {
    return (mlc_expr){ .ctx = ctx };
}

/* No value, and no context to note why in: the code travels until one is met. */
static mlc_expr failed_alone(int code) {
    return (mlc_expr){ .imm = { .i = code } };
}

/* ---- operands ---- */

mlc_expr mlc_from_bool(bool v) {
    return (mlc_expr){ .imm = { .i = v }, .type = MLC_BOOL };
}

mlc_expr mlc_from_int(int v) {
    return (mlc_expr){ .imm = { .i = v }, .type = MLC_I32 };
}

mlc_expr mlc_from_uint(unsigned v) {
    return (mlc_expr){ .imm = { .i = v }, .type = MLC_U32 };
}

mlc_expr mlc_from_llong(long long v) {
    return (mlc_expr){ .imm = { .i = v }, .type = MLC_I64 };
}

mlc_expr mlc_from_ullong(unsigned long long v) {
    return (mlc_expr){ .imm = { .i = (int64_t)v }, .type = MLC_U64 };
}

mlc_expr mlc_from_long(long v) {
    return (mlc_expr){ .imm = { .i = v }, .type = sizeof v == 8 ? MLC_I64 : MLC_I32 };
}

mlc_expr mlc_from_ulong(unsigned long v) {
    return (mlc_expr){ .imm = { .i = (int64_t)v }, .type = sizeof v == 8 ? MLC_U64 : MLC_U32 };
}

mlc_expr mlc_from_float(float v) {
    return (mlc_expr){ .imm = { .f = (double)v }, .type = MLC_F32 };
}

mlc_expr mlc_from_double(double v) {
    return (mlc_expr){ .imm = { .f = v }, .type = MLC_F64 };
}

mlc_expr mlc_from_ldouble(long double v) {
    return mlc_from_double((double)v);
}

static mlc_expr from_sym(mlc_ctx *ctx, const Sym *sym) {
    Barrier b;
    if (!ctx || !sym || !FAULT_TRY(&ctx->fault, b)) return nothing(ctx);
    mlc_expr e = alg_expr(ctx, ir_var(&ctx->ir, sym));
    FAULT_END(&ctx->fault, b);
    return e;
}

mlc_expr mlc_from_var(mlc_var v) {
    return from_sym(v.ctx, v.sym);
}

mlc_expr mlc_from_param(mlc_param p) {
    return from_sym(p.ctx, p.sym);
}

mlc_expr mlc_from_expr(mlc_expr e) {
    return e;
}

static const Node *immediate(Interner *I, mlc_expr e, bool *literal) {
    bool fits = e.type > MLC_VOID && e.type < MLC_TYPE_COUNT;
    if (!fits && e.imm.i) return ir_poison(I, ERR_LITERALS_ALONE, NULL, err_name((ErrCode)e.imm.i));
    if (!fits) return ir_poison(I, ERR_EMPTY_EXPR, NULL);
    *literal = !e.typed;
    return ir_const(I, e.type, ty_is_float(e.type) ? (Value){ .f = e.imm.f } : (Value){ .i = e.imm.i });
}

const Node *alg_node(mlc_ctx *ctx, mlc_expr e, bool *literal) {
    *literal = false;
    if (e.ctx && e.ctx != ctx) return ir_poison(&ctx->ir, ERR_CONTEXTS_MIX, NULL);
    return e.node ? e.node : immediate(&ctx->ir, e, literal);
}

mlc_type mlc_expr_type(mlc_expr e) {
    return e.node ? (mlc_type)e.node->type : e.type;
}

/* ---- building ---- */

static bool is_poison(const Node *e) {
    return e->op == OP_POISON;
}

/* select(c0, v0, c1, v1, ..., otherwise): all values unify, then nest from the right. */
static const Node *select_chain(Interner *I, int n, const Node *const *kids, uint32_t literal) {
    if (n < 3 || n % 2 == 0) return ir_poison(I, ERR_ARITY, NULL, "select", 3, n);
    int n_values = n / 2 + 1;
    const Node **value = ARENA_ARRAY(I->arena, const Node *, n_values);
    uint32_t bits = 0;
    for (int i = 0; i < n_values; i++) {
        int at = i < n / 2 ? 2 * i + 1 : n - 1;
        value[i] = kids[at];
        bits |= (literal >> at & 1) << i;
    }
    mlc_type t = ir_typed_unify(I, OP_SELECT, NULL, n_values, value, bits);
    if (t == MLC_VOID) return value[0];
    const Node *r = value[n_values - 1];
    for (int i = n_values - 2; i >= 0; i--) {
        const Node *cond = ir_coerce(I, kids[2 * i], literal >> 2 * i & 1, MLC_BOOL, NULL);
        if (is_poison(cond)) return cond;
        const Node *three[3] = { cond, value[i], r };
        r = ir_node(I, OP_SELECT, t, 0, 0, 3, three);
    }
    return r;
}

static const Node *with_text(Interner *I, const Request *q, const Node **kids, uint32_t literal) {
    for (int i = 0; i < q->n; i++) {
        mlc_type t = q->op == OP_REQUIRE && i == 0 ? MLC_BOOL : (mlc_type)kids[i]->type;
        kids[i] = ir_coerce(I, kids[i], literal >> i & 1, t, NULL);
        if (is_poison(kids[i])) return kids[i];
    }
    uint64_t text = (uint64_t)(uintptr_t)ir_text(I, q->text ? q->text : "");
    mlc_type t = (mlc_type)kids[q->op == OP_REQUIRE]->type;
    return ir_node(I, q->op, t, text, 0, q->n, kids);
}

static const Node *build(Interner *I, const Request *q, const Node **kids, uint32_t literal) {
    switch (q->op) {
    case OP_CAST: case OP_REINTERPRET: case OP_SATURATE:
        return ir_typed_cast(I, q->op, q->to, NULL, kids[0], literal & 1);
    case OP_REQUIRE: case OP_PRINT: return with_text(I, q, kids, literal);
    case OP_SELECT: return select_chain(I, q->n, kids, literal);
    default: return ir_typed(I, q->op, NULL, q->n, kids, literal);
    }
}

enum { MAX_OPERANDS = 32 };

/* All operands are immediates: the result as an immediate.  I is a small one of its own. */
static mlc_expr fold(Interner *I, const Request *q) {
    Barrier b;
    if (!FAULT_TRY(I->fault, b)) return failed_alone(I->fault->info.code);
    ir_interner_init(I, I->arena, NULL);
    const Node *kids[MAX_OPERANDS];
    uint32_t literal = 0;
    mlc_expr r = { 0 };
    for (int i = 0; i < q->n; i++) {
        bool is_literal = false;
        kids[i] = immediate(I, q->v[i], &is_literal);
        literal |= (uint32_t)is_literal << i;
        r.typed |= !is_literal;
    }
    const Node *e = build(I, q, kids, literal);
    mlc_type type = (mlc_type)e->type;
    if (!is_poison(e)) e = alg_canonical(I, e, type);
    if (e->op == OP_CONST) {
        Value v = ir_value(e);
        memcpy(&r.imm, &v, sizeof v);
        r.type = type;
        r.typed |= q->op == OP_CAST || q->op == OP_REINTERPRET || q->op == OP_SATURATE;
    } else {
        r = failed_alone(is_poison(e) ? e->aux : ERR_LITERALS_ALONE);
    }
    FAULT_END(I->fault, b);
    return r;
}

static mlc_expr fold_alone(const Request *q) {
    Fault fault = { 0 };
    Arena arena;
    arena_init(&arena, NULL, &fault);
    Interner I = { .arena = &arena, .fault = &fault };
    mlc_expr r = fold(&I, q);
    arena_free(&arena);
    return r;
}

static mlc_expr make_in(mlc_ctx *ctx, const Request *q) {
    Barrier b;
    if (!FAULT_TRY(&ctx->fault, b)) return nothing(ctx);
    const Node *kids[MAX_OPERANDS];
    uint32_t literal = 0;
    for (int i = 0; i < q->n; i++) {
        bool is_literal;
        kids[i] = alg_node(ctx, q->v[i], &is_literal);
        literal |= (uint32_t)is_literal << i;
    }
    mlc_expr r = alg_expr(ctx, build(&ctx->ir, q, kids, literal));
    FAULT_END(&ctx->fault, b);
    return r;
}

static mlc_ctx *ctx_of(int n, const mlc_expr *v) {
    for (int i = 0; i < n; i++)
        if (v[i].ctx) return v[i].ctx;
    return NULL;
}

static mlc_expr fail(mlc_ctx *ctx, ErrCode code, const char *text, int a, int b) {
    Barrier bar;
    if (!ctx) return failed_alone((int)code);
    if (!FAULT_TRY(&ctx->fault, bar)) return nothing(ctx);
    const Node *e = text ? ir_poison(&ctx->ir, code, NULL, text, a, b) : ir_poison(&ctx->ir, code, NULL, a);
    mlc_expr r = alg_expr(ctx, e);
    FAULT_END(&ctx->fault, bar);
    return r;
}

static mlc_expr make(const Request *q) {
    mlc_ctx *ctx = ctx_of(q->n, q->v);
    if (q->n < 1 || q->n > MAX_OPERANDS) return fail(ctx, ERR_ARITY, ir_ops[q->op].text, 1, q->n);
    return ctx ? make_in(ctx, q) : fold_alone(q);
}

/* ---- the public operators ---- */

static bool groups_left(Op op) {
    return op == OP_ADD || op == OP_MUL || op == OP_MIN || op == OP_MAX || op == OP_AND || op == OP_OR ||
           op == OP_XOR || op == OP_LAND || op == OP_LOR;
}

static bool has_own_function(Op op) {
    return ir_ops[op].cls == CLASS_LEAF || ir_ops[op].rule == RULE_CAST || op == OP_REQUIRE || op == OP_PRINT || op == OP_RANDOM;
}

mlc_expr mlc_nary(mlc_op op, int n, const mlc_expr *v) {
    if (!v) n = 0;
    if ((unsigned)op >= OP_COUNT || has_own_function((Op)op)) return fail(ctx_of(n, v), ERR_OP_RANGE, NULL, (int)op, 0);
    if (!groups_left((Op)op) || n < 1) return make(&(Request){ .op = (Op)op, .n = n, .v = v });
    mlc_expr r = v[0];
    for (int i = 1; i < n; i++) r = make(&(Request){ .op = (Op)op, .n = 2, .v = (mlc_expr[]){ r, v[i] } });
    return r;
}

mlc_expr mlc_unary(mlc_op op, mlc_expr a) {
    return mlc_nary(op, 1, &a);
}

mlc_expr mlc_binary(mlc_op op, mlc_expr a, mlc_expr b) {
    return mlc_nary(op, 2, (mlc_expr[]){ a, b });
}

mlc_expr mlc_ternary(mlc_op op, mlc_expr a, mlc_expr b, mlc_expr c) {
    return mlc_nary(op, 3, (mlc_expr[]){ a, b, c });
}

mlc_expr mlc_cast(mlc_type type, mlc_expr e) {
    return make(&(Request){ .op = OP_CAST, .to = type, .n = 1, .v = &e });
}

mlc_expr mlc_reinterpret(mlc_type type, mlc_expr e) {
    return make(&(Request){ .op = OP_REINTERPRET, .to = type, .n = 1, .v = &e });
}

mlc_expr mlc_saturate(mlc_type type, mlc_expr e) {
    return make(&(Request){ .op = OP_SATURATE, .to = type, .n = 1, .v = &e });
}

mlc_expr mlc_require_that(mlc_expr cond, mlc_expr value, const char *message) {
    return make(&(Request){ .op = OP_REQUIRE, .n = 2, .v = (mlc_expr[]){ cond, value }, .text = message });
}

mlc_expr mlc_print_values(const char *label, int n, const mlc_expr *v) {
    return make(&(Request){ .op = OP_PRINT, .n = v ? n : 0, .v = v, .text = label });
}

mlc_expr mlc_random_place(mlc_ctx *ctx, mlc_type type, mlc_expr seed, int place) {
    Barrier b;
    if (!ctx || !FAULT_TRY(&ctx->fault, b)) return nothing(ctx);
    bool literal;
    const Node *e = alg_node(ctx, seed, &literal);
    if (!is_poison(e)) e = ir_coerce(&ctx->ir, e, false, (mlc_type)e->type, NULL); /* a value at all? */
    if (!is_poison(e) && e->type == MLC_INDEX) e = ir_typed_cast(&ctx->ir, OP_CAST, MLC_I32, NULL, e, false);
    bool fits = type == MLC_F32 || type == MLC_U32 || type == MLC_I32;
    if (!is_poison(e) && (!fits || !ty_is_int((mlc_type)e->type)))
        e = ir_poison(&ctx->ir, ERR_RANDOM_TYPE, NULL, mlc_type_name(type));
    if (!is_poison(e)) e = ir_node(&ctx->ir, OP_RANDOM, type, 0, place, 1, &e);
    FAULT_END(&ctx->fault, b);
    return alg_expr(ctx, e);
}

mlc_expr mlc_random(mlc_ctx *ctx, mlc_type type, mlc_expr seed) {
    return mlc_random_place(ctx, type, seed, ctx ? ctx->next_random++ : 0);
}

mlc_expr mlc_undef(mlc_ctx *ctx, mlc_type type) {
    Barrier b;
    if (!ctx || !FAULT_TRY(&ctx->fault, b)) return nothing(ctx);
    const Node *e = ty_is_data(type) ? ir_node(&ctx->ir, OP_UNDEF, type, 0, 0, 0, NULL)
                                     : ir_poison(&ctx->ir, ERR_TYPE_ARG, NULL, "undef", "one of MLC_BOOL to MLC_F64");
    FAULT_END(&ctx->fault, b);
    return alg_expr(ctx, e);
}
