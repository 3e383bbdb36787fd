/* make.c - builders of canonical nodes: constants fold, and identities that hold in every algebra.
 *
 * What may stand here must be true of wrapping integers, of indices and, where it is applied to
 * floats, of -0, infinities, NaN and denormals (docs/semantics.md section 7).  Anything that needs
 * to know ranges or an algebra is the simplifier's.  Constants go to the right of operators that commute,
 * so that later rules meet one shape. */
#include "ir.h"

#include <math.h>
#include <string.h>

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

static bool is_flt(const Node *e) {
    return ty_is_float(type_of(e));
}

static bool compares(Op op) {
    return ir_ops[op].rule == RULE_CMP;
}

static bool commutes(Op op) {
    switch (op) {
    case OP_ADD: case OP_MUL: case OP_MIN: case OP_MAX: case OP_AND: case OP_OR: case OP_XOR:
    case OP_EQ: case OP_NE: case OP_LAND: case OP_LOR:
        return true;
    default:
        return false;
    }
}

/* A constant, with one bit pattern for every NaN. */
static const Node *constant(Interner *I, mlc_type t, Value v) {
    if (ty_is_float(t) && isnan(v.f)) v.f = (double)NAN;
    return ir_const(I, t, v);
}

static const Node *zero(Interner *I, mlc_type t) {
    return ir_int(I, t, 0);
}

/* All bits set: the neutral element of &. */
static bool is_ones(const Node *e) {
    return ir_is(e, type_of(e) == MLC_BOOL ? 1 : val_wrap(type_of(e), -1).i);
}

/* The float constant v, with v's sign of zero. */
static bool is_float(const Node *e, double v) {
    return e->op == OP_CONST && is_flt(e) && e->u.f == v && !signbit(e->u.f) == !signbit(v);
}

static const Node *poison_among(int n, const Node *const *kids) {
    for (int i = 0; i < n; i++)
        if (kids[i]->op == OP_POISON) return kids[i];
    return NULL;
}

static void note_effect(void *user, const Node *e) {
    *(bool *)user |= e->op == OP_PRINT || e->op == OP_REQUIRE;
}

bool ir_has_effect(Interner *I, const Node *e) {
    bool found = false, possible = false;
    for (const Interner *p = I; p; p = p->parent) possible |= p->effects;
    if (possible) ir_visit(I->arena, e, note_effect, &found);
    return found;
}

/* Does dropping e lose nothing? */
static bool may_drop(Interner *I, const Node *e) {
    return !ir_has_effect(I, e);
}

/* The folded node, or NULL.  Halves never fold: on them an as-written operator computes in f32. */
static const Node *fold(Interner *I, Op op, mlc_type result, int n, const Node *const *kids) {
    if (op == OP_REQUIRE || op == OP_PRINT || ir_ops[op].cls == CLASS_DERIVED) return NULL;
    Value v[3];
    for (int i = 0; i < n; i++) {
        if (kids[i]->op != OP_CONST || ty_is_half(type_of(kids[i]))) return NULL;
        v[i] = ir_value(kids[i]);
    }
    return constant(I, result, val_op(op, type_of(kids[0]), n > 1 ? type_of(kids[1]) : MLC_VOID, v));
}

static const Node *raw(Interner *I, Op op, mlc_type t, int n, const Node *const *kids) {
    return ir_node(I, op, t, 0, 0, n, kids);
}

/* ---- one operand ---- */

const Node *ir_make1(Interner *I, Op op, const Node *a) {
    if (a->op == OP_POISON) return a;
    const Node *c = fold(I, op, type_of(a), 1, &a);
    if (c) return c;
    bool same = a->op == op;
    if (same && (op == OP_NEG || op == OP_NOT || op == OP_LNOT)) return a->kid[0];
    if (same && (op == OP_ABS || op == OP_FLOOR || op == OP_CEIL || op == OP_TRUNC || op == OP_ROUND ||
                 op == OP_LIKELY || op == OP_LIKELY_INNER))
        return a;
    if (op == OP_NOT && type_of(a) == MLC_BOOL) return ir_make1(I, OP_LNOT, a);
    if (op == OP_ABS && ty_is_unsigned(type_of(a))) return a;
    if (op == OP_ABS && is_flt(a) && a->op == OP_NEG) return ir_make1(I, op, a->kid[0]);
    if (op == OP_LNOT && (a->op == OP_EQ || a->op == OP_NE)) /* IEEE: exact opposites, NaN too */
        return raw(I, a->op == OP_EQ ? OP_NE : OP_EQ, MLC_BOOL, 2, a->kid);
    return raw(I, op, type_of(a), 1, &a);
}

/* ---- two operands ---- */

/* x + m as an addition or a subtraction of a constant, if m's magnitude is a value of the type. */
static const Node *add_const(Interner *I, const Node *x, int64_t m) {
    mlc_type t = type_of(x);
    if (m == 0) return x;
    if (m == INT64_MIN) return NULL;
    Op op = m < 0 ? OP_SUB : OP_ADD;
    int64_t size = m < 0 ? -m : m;
    if ((uint64_t)size > ty_max(t)) return NULL;
    const Node *kids[2] = { x, ir_int(I, t, size) };
    return raw(I, op, t, 2, kids);
}

/* (x + c) + d, (x - c) + d ... as one addition, where the sum of the constants does not wrap. */
static const Node *merge_constants(Interner *I, Op op, const Node *a, int64_t d) {
    bool huge = type_of(a) == MLC_U64; /* bits of such a constant may not be its value */
    int64_t c, sum;
    if (op == OP_SUB && __builtin_sub_overflow(0, d, &d)) return NULL;
    if ((a->op != OP_ADD && a->op != OP_SUB) || !ir_is_int(a->kid[1], &c)) {
        return (d < 0) == (op == OP_ADD) && !huge ? add_const(I, a, d) : NULL; /* x + -3: x - 3 */
    }
    if (huge && (c < 0 || (op == OP_SUB ? d > 0 : d < 0))) return NULL;
    if (a->op == OP_SUB && __builtin_sub_overflow(0, c, &c)) return NULL;
    return __builtin_add_overflow(c, d, &sum) ? NULL : add_const(I, a->kid[0], sum);
}

/* (x * c) * d as x * (c * d), where the constants' product is a value of the type. */
static const Node *merge_factors(Interner *I, const Node *a, int64_t d) {
    mlc_type t = type_of(a);
    int64_t c, p;
    if (a->op != OP_MUL || !ir_is_int(a->kid[1], &c) || t == MLC_U64) return NULL;
    if (__builtin_mul_overflow(c, d, &p) || val_wrap(t, p).i != p) return NULL;
    return ir_make2(I, OP_MUL, a->kid[0], ir_int(I, t, p));
}

/* Right operand a constant, integers, index and bool. */
static const Node *with_int(Interner *I, Op op, const Node *a, const Node *b) {
    mlc_type t = type_of(a);
    int64_t d = b->u.i;
    bool none = d == 0, ones = is_ones(b);
    switch (op) {
    case OP_ADD: case OP_SUB: return none ? a : merge_constants(I, op, a, d);
    case OP_MUL: return none ? b : d == 1 ? a : merge_factors(I, a, d);
    case OP_DIV: return none ? b : d == 1 ? a : NULL;
    case OP_MOD: return none ? b : d == 1 ? zero(I, t) : NULL;
    case OP_AND: case OP_LAND: return none ? b : ones ? a : NULL;
    case OP_OR: case OP_LOR: return none ? a : ones ? b : NULL;
    case OP_XOR: return none ? a : ones ? ir_make1(I, t == MLC_BOOL ? OP_LNOT : OP_NOT, a) : NULL;
    case OP_SHL: case OP_SHR: return none ? a : NULL;
    case OP_EQ: return t != MLC_BOOL ? NULL : d ? a : ir_make1(I, OP_LNOT, a);
    case OP_NE: return t != MLC_BOOL ? NULL : d ? ir_make1(I, OP_LNOT, a) : a;
    case OP_MIN: return (uint64_t)d == ty_max(t) ? a : d == ty_min(t) ? b : NULL;
    case OP_MAX: return (uint64_t)d == ty_max(t) ? b : d == ty_min(t) ? a : NULL;
    case OP_LT: return d == ty_min(t) ? ir_bool(I, false) : NULL; /* nothing is below the least */
    case OP_LE: return (uint64_t)d == ty_max(t) ? ir_bool(I, true) : NULL;
    default: return NULL;
    }
}

/* Left operand a constant of an operator that does not commute. */
static const Node *int_with(Interner *I, Op op, const Node *a) {
    mlc_type t = type_of(a);
    switch (op) {
    case OP_DIV: case OP_MOD: case OP_SHL: case OP_SHR: return ir_is(a, 0) ? a : NULL; /* 0 / 0 is 0 */
    case OP_LE: return a->u.i == ty_min(t) ? ir_bool(I, true) : NULL;
    case OP_LT: return (uint64_t)a->u.i == ty_max(t) ? ir_bool(I, false) : NULL;
    default: return NULL;
    }
}

static const Node *with_float(Op op, const Node *a, const Node *b) {
    if (ty_is_half(type_of(a))) return NULL; /* as written: not an identity before the rounding */
    switch (op) {
    case OP_ADD: return is_float(b, -0.0) ? a : NULL; /* +0 would turn -0 into +0 */
    case OP_SUB: return is_float(b, 0.0) ? a : NULL;
    case OP_MUL: case OP_DIV: return is_float(b, 1.0) ? a : NULL;
    default: return NULL;
    }
}

/* Both operands the same node. */
static const Node *with_itself(Interner *I, Op op, const Node *a) {
    switch (op) {
    case OP_MIN: case OP_MAX: case OP_AND: case OP_OR: case OP_LAND: case OP_LOR: return a;
    case OP_LT: case OP_GT: return ir_bool(I, false); /* NaN too */
    default: break;
    }
    if (is_flt(a)) return NULL;
    switch (op) {
    case OP_SUB: case OP_XOR: case OP_MOD: return zero(I, type_of(a)); /* 0 % 0 is 0 */
    case OP_EQ: case OP_LE: case OP_GE: return ir_bool(I, true);
    case OP_NE: return ir_bool(I, false);
    default: return NULL;
    }
}

const Node *ir_make2(Interner *I, Op op, const Node *a, const Node *b) {
    if (op == OP_GT || op == OP_GE) return ir_make2(I, op == OP_GT ? OP_LT : OP_LE, b, a);
    const Node *kids[2] = { a, b }, *done = poison_among(2, kids);
    if (done) return done;
    bool shifts = op == OP_SHL || op == OP_SHR;
    CHECK(I->fault, shifts || a->type == b->type);
    mlc_type t = compares(op) ? MLC_BOOL : type_of(a);
    if ((done = fold(I, op, t, 2, kids))) return done;
    if (commutes(op) && ir_is_const(a)) {
        kids[0] = b;
        kids[1] = a;
        a = kids[0];
        b = kids[1];
    }
    if (a == b && (done = with_itself(I, op, a)) && (!ir_is_const(done) || may_drop(I, a))) return done;
    if (ir_is_const(b)) done = is_flt(b) ? with_float(op, a, b) : with_int(I, op, a, b);
    else if (ir_is_const(a) && !is_flt(a)) done = int_with(I, op, a);
    if (done && ir_is_const(done) && !(may_drop(I, a) && may_drop(I, b))) done = NULL;
    return done ? done : raw(I, op, t, 2, kids);
}

/* ---- three operands ---- */

const Node *ir_make3(Interner *I, Op op, const Node *a, const Node *b, const Node *c) {
    const Node *kids[3] = { a, b, c }, *done = poison_among(3, kids);
    if (done) return done;
    if (op != OP_SELECT) {
        CHECK(I->fault, a->type == b->type && a->type == c->type);
        done = fold(I, op, type_of(a), 3, kids);
        return done ? done : raw(I, op, type_of(a), 3, kids);
    }
    CHECK(I->fault, type_of(a) == MLC_BOOL && b->type == c->type);
    if (ir_is_const(a)) return a->u.i ? b : c;
    if (b == c && may_drop(I, a)) return b;
    if (a->op == OP_LNOT) return ir_make3(I, op, a->kid[0], c, b);
    if (type_of(b) == MLC_BOOL && ir_is(b, 1) && ir_is(c, 0)) return a;
    if (type_of(b) == MLC_BOOL && ir_is(b, 0) && ir_is(c, 1)) return ir_make1(I, OP_LNOT, a);
    return raw(I, op, type_of(b), 3, kids);
}

/* ---- casts ---- */

static int significant_bits(mlc_type t) {
    return t == MLC_F16 ? 11 : t == MLC_BF16 ? 8 : t == MLC_F32 ? 24 : 53;
}

/* Is every value of `from` a value of `to`? */
static bool is_exact(mlc_type from, mlc_type to) {
    if (from == to || from == MLC_BOOL) return true;
    if (to == MLC_BOOL) return false;
    if (ty_is_float(from))
        return ty_is_float(to) && (to == MLC_F64 || (to == MLC_F32 && ty_is_half(from)));
    bool s = !ty_is_unsigned(from), to_signed = !ty_is_unsigned(to);
    int bits = ty_bits(from) - s;
    if (ty_is_float(to)) return bits <= significant_bits(to);
    return s ? to_signed && bits <= ty_bits(to) - 1 : bits <= ty_bits(to) - to_signed;
}

static bool is_whole(mlc_type t) {
    return ty_is_int(t) || t == MLC_INDEX;
}

/* Does casting from -> mid -> to equal from -> to? */
static bool skips(mlc_type from, mlc_type mid, mlc_type to) {
    if (from == MLC_INDEX && to == MLC_I32) return false; /* alone it must fit; through i64 it wraps */
    if (is_exact(from, mid)) /* int -> float -> int saturates where int -> int would wrap */
        return !(ty_is_float(mid) && !ty_is_float(from) && is_whole(to)) || is_exact(from, to);
    return is_whole(from) && is_whole(mid) && is_whole(to) && ty_bits(to) <= ty_bits(mid);
}

const Node *ir_cast(Interner *I, mlc_type t, const Node *a) {
    if (a->op == OP_POISON || type_of(a) == t) return a;
    if (a->op == OP_CONST) return constant(I, t, val_cast(t, type_of(a), ir_value(a)));
    if (a->op == OP_CAST && skips(type_of(a->kid[0]), type_of(a), t)) return ir_cast(I, t, a->kid[0]);
    return raw(I, OP_CAST, t, 1, &a);
}

static const Node *reinterpret(Interner *I, mlc_type t, const Node *a) {
    if (a->op == OP_POISON || type_of(a) == t) return a;
    if (a->op == OP_CONST) return constant(I, t, val_reinterpret(t, type_of(a), ir_value(a)));
    return raw(I, OP_REINTERPRET, t, 1, &a);
}

const Node *ir_with_kids(Interner *I, const Node *e, const Node *const *kids) {
    Op op = (Op)e->op;
    if (e->n == 0 || !memcmp(e->kid, kids, sizeof *kids * e->n)) return e;
    if (op == OP_CAST) return ir_cast(I, type_of(e), kids[0]);
    if (op == OP_REINTERPRET) return reinterpret(I, type_of(e), kids[0]);
    const Node *bad = poison_among(e->n, kids);
    if (bad) return bad;
    if (ir_ops[op].cls == CLASS_PRIM && ir_ops[op].rule != RULE_OWN) {
        if (e->n == 1) return ir_make1(I, op, kids[0]);
        if (e->n == 2) return ir_make2(I, op, kids[0], kids[1]);
        if (e->n == 3) return ir_make3(I, op, kids[0], kids[1], kids[2]);
    }
    return ir_node(I, op, type_of(e), e->u.bits, e->aux, e->n, kids);
}
