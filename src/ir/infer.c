/* infer.c - the language's typing rules (docs/semantics.md section 2).
 *
 * Operands of an operator unify to one type: the wider of a kind, a strictly wider signed type for an
 * unsigned one, the float for an integer.  An index that meets data is an i32 first (i64 beside i64).
 * A literal takes the other side's type, which must hold it; beside f16 and bf16 it stays f32, since an
 * expression of these holds an f32.  What the rules convert becomes a cast in the expression, so text
 * shows it.  A violation is a poison node that carries its whole message. */
#include "ir.h"

#include <math.h>
#include <string.h>

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

const char *ir_func_name(const struct Func *f) {
    return *(const char *const *)(const void *)f;
}

static const char *type_name(mlc_type t) {
    return mlc_type_name(t);
}

/* ---- poison ---- */

/* aux is the code, negative where the message begins with a place in the user's source. */
static const Node *poison_node(Interner *I, const mlc_error_info *info, bool placed) {
    uint64_t bits = (uint64_t)(uintptr_t)ir_text(I, info->message);
    return ir_node(I, OP_POISON, MLC_VOID, bits, placed ? -info->code : info->code, 0, NULL);
}

const Node *ir_poison(Interner *I, ErrCode code, const Place *place, ...) {
    Fault own = { 0 };
    va_list ap;
    va_start(ap, place);
    fault_vnote(&own, code, place, ap);
    va_end(ap);
    if (!I->fault->info.code) I->fault->info = own.info;
    return poison_node(I, &own.info, place && place->loc.file);
}

/* A fault with a poison's message. */
static Fault fault_of(const Node *poison, const Place *place) {
    Fault f = { 0 };
    fault_note(&f, ERR_AT, place, poison->u.text);
    f.info.code = poison->aux < 0 ? -poison->aux : poison->aux;
    return f;
}

const Node *ir_poison_at(Interner *I, const Node *poison, const Place *place) {
    bool placed = poison->aux < 0;
    Fault own = fault_of(poison, placed ? NULL : place);
    mlc_error_info *first = &I->fault->info;
    bool same = first->code == own.info.code && !strcmp(first->message, poison->u.text);
    if (!first->code || same) *first = own.info;
    return placed ? poison : poison_node(I, &own.info, place && place->loc.file);
}

_Noreturn void ir_raise_poison(Fault *f, const Node *poison) {
    if (!f->info.code) f->info = fault_of(poison, NULL).info;
    fault_jump(f);
}

/* What cannot be an operand at all: a poison, an undefined Func, a whole tuple. */
static const Node *unusable(Interner *I, const Place *place, const Node *e) {
    if (e->op == OP_POISON) return e;
    if (type_of(e) != MLC_VOID) return NULL;
    if (e->op == OP_ACCESS && e->aux < 0)
        return ir_poison(I, ERR_TUPLE_WHOLE, place, ir_func_name(e->u.func));
    if (e->op == OP_ACCESS) return ir_poison(I, ERR_FUNC_UNDEFINED_READ, place, ir_func_name(e->u.func));
    return ir_poison(I, ERR_EMPTY_EXPR, place);
}

/* ---- the common type ---- */

static mlc_type wider(mlc_type a, mlc_type b) {
    return ty_bits(a) >= ty_bits(b) ? a : b;
}

mlc_type ir_common_type(mlc_type a, mlc_type b) {
    if (a == b) return a;
    if (a == MLC_INDEX) return ir_common_type(b == MLC_I64 ? MLC_I64 : MLC_I32, b);
    if (b == MLC_INDEX) return ir_common_type(b, a);
    if (ty_is_float(a) && ty_is_float(b)) return ty_bits(a) == ty_bits(b) ? MLC_VOID : wider(a, b);
    if (ty_is_float(a)) return ty_is_int(b) ? a : MLC_VOID;
    if (ty_is_float(b)) return ty_is_int(a) ? b : MLC_VOID;
    if (!ty_is_int(a) || !ty_is_int(b)) return MLC_VOID;
    if (ty_is_signed(a) == ty_is_signed(b)) return wider(a, b);
    mlc_type s = ty_is_signed(a) ? a : b, u = ty_is_signed(a) ? b : a;
    return ty_bits(s) > ty_bits(u) ? s : MLC_VOID;
}

/* A type that both sides of an impossible pair could be cast to, for the message. */
static mlc_type advice(mlc_type a, mlc_type b) {
    if (a == MLC_BOOL) return b == MLC_INDEX ? MLC_I32 : b;
    if (b == MLC_BOOL) return a == MLC_INDEX ? MLC_I32 : a;
    if (ty_is_half(a) || ty_is_half(b)) return MLC_F32;
    int bits = ty_bits(wider(a, b));
    if (a == MLC_INDEX || b == MLC_INDEX) bits = 32;
    return ty_int(true, bits < 64 ? 2 * bits : 64);
}

/* ---- conversions that the rules make ---- */

static const Node *cast_node(Interner *I, mlc_type t, const Node *e) {
    return type_of(e) == t ? e : ir_node(I, OP_CAST, t, 0, 0, 1, &e);
}

/* An index becomes i32 before it is anything else but i64. */
static const Node *widen(Interner *I, mlc_type t, const Node *e) {
    if (type_of(e) == MLC_INDEX && t != MLC_INDEX) e = cast_node(I, t == MLC_I64 ? t : MLC_I32, e);
    return cast_node(I, t, e);
}

/* Does type t hold the integer literal exactly? */
static bool holds(mlc_type t, const Node *e) {
    int64_t v = e->u.i;
    bool huge = type_of(e) == MLC_U64 && v < 0; /* above INT64_MAX */
    if (t == MLC_BOOL) return v == 0 || v == 1;
    if (t == MLC_U64) return huge || v >= 0;
    if (!ty_is_float(t)) return !huge && v >= ty_min(t) && (v < 0 || (uint64_t)v <= ty_max(t));
    int digits = t == MLC_F16 ? 11 : t == MLC_BF16 ? 8 : t == MLC_F32 ? 24 : 53;
    uint64_t m = !huge && v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    while (m && !(m & 1)) m >>= 1;
    if (m >> digits) return false;
    return t != MLC_F16 || isfinite(val_cast(t, type_of(e), ir_value(e)).f);
}

static const char *literal_text(Interner *I, const Node *e) {
    mlc_type t = type_of(e);
    if (ty_is_float(t)) return arena_printf(I->arena, "%.9g", e->u.f);
    if (t == MLC_U64) return arena_printf(I->arena, "%llu", (unsigned long long)e->u.bits);
    return arena_printf(I->arena, "%lld", (long long)e->u.i);
}

/* The literal as a constant of type t; `wide`: halves stay f32. */
static const Node *literal_as(Interner *I, mlc_type t, const Node *e, bool wide, const Place *place) {
    mlc_type own = type_of(e);
    if (wide && ty_is_half(t)) t = MLC_F32;
    if (own == t) return e;
    if (!ty_is_float(own)) {
        if (!holds(t, e))
            return ir_poison(I, ERR_LITERAL_INEXACT, place, literal_text(I, e), type_name(t), type_name(t), literal_text(I, e));
    } else if (!ty_is_float(t)) {
        return ir_poison(I, ERR_LITERAL_FLOAT, place, literal_text(I, e), type_name(t), type_name(t), literal_text(I, e));
    }
    const Node *r = ir_const(I, t, val_cast(t, own, ir_value(e)));
    if (ty_is_float(own) && isinf(r->u.f) && isfinite(e->u.f))
        return ir_poison(I, ERR_LITERAL_OVERFLOW, place, literal_text(I, e), type_name(t));
    return r;
}

/* ---- unification ---- */

typedef struct {
    Interner *I;
    Op op;
    const Place *place;
    int n;
    const Node **kid; /* ours to rewrite */
    uint32_t literal;
    const Node *bad;  /* the poison, once something is wrong */
} Typing;

static bool is_literal(const Typing *t, int i) {
    return i < 32 && (t->literal >> i & 1) && t->kid[i]->op == OP_CONST;
}

static const char *op_text(Op op) {
    return ir_ops[op].text;
}

/* The type of literals among themselves: a float if there is one, else the wider integer that holds all. */
static mlc_type literals_type(Typing *t, int from, int to) {
    mlc_type r = type_of(t->kid[from]);
    for (int i = from + 1; i < to; i++) {
        mlc_type next = type_of(t->kid[i]), both = ir_common_type(r, next);
        if (both != MLC_VOID) r = both;
        else if (r != MLC_BOOL && next != MLC_BOOL) r = ty_is_signed(r) ? next : r; /* i32 beside u32 */
    }
    return r;
}

static mlc_type typed_kids_type(Typing *t, int from, int to) {
    mlc_type r = MLC_VOID;
    for (int i = from; i < to && !t->bad; i++) {
        if (is_literal(t, i)) continue;
        mlc_type next = type_of(t->kid[i]), both = r == MLC_VOID ? next : ir_common_type(r, next);
        if (both == MLC_VOID) {
            const char *to_type = type_name(advice(r, next));
            t->bad = ir_poison(t->I, ERR_TYPE_MIX, t->place, op_text(t->op), type_name(r), type_name(next), to_type);
        }
        r = both;
    }
    return r;
}

/* Brings kids [from, to) to one type and returns it. */
static mlc_type unify(Typing *t, int from, int to) {
    mlc_type r = typed_kids_type(t, from, to);
    if (t->bad) return MLC_VOID;
    if (r == MLC_VOID) {
        r = literals_type(t, from, to);
    } else if (!ty_is_float(r) && r != MLC_BOOL) { /* a float literal beside an integer: f32 */
        for (int i = from; i < to; i++)
            if (is_literal(t, i) && ty_is_float(type_of(t->kid[i]))) r = MLC_F32;
    }
    for (int i = from; i < to && !t->bad; i++) {
        const Node *e = is_literal(t, i) ? literal_as(t->I, r, t->kid[i], true, t->place) : widen(t->I, r, t->kid[i]);
        if (e->op == OP_POISON) t->bad = e;
        t->kid[i] = e;
    }
    return r;
}

static bool want(Typing *t, mlc_type have, bool ok, const char *kinds, const char *cast) {
    if (!t->bad && !ok) t->bad = ir_poison(t->I, ERR_TYPE_WANT, t->place, op_text(t->op), kinds, type_name(have), cast);
    return !t->bad;
}

static bool is_whole(mlc_type t) {
    return ty_is_int(t) || t == MLC_INDEX;
}

static bool want_whole(Typing *t, mlc_type have) {
    return want(t, have, is_whole(have), "integers", "i32");
}

static bool want_float(Typing *t, mlc_type have) {
    return want(t, have, ty_is_float(have), "floats", "f32");
}

/* Kid i as a bool: a literal 0 or 1 is one. */
static void want_bool(Typing *t, int i) {
    if (t->bad) return;
    if (is_literal(t, i) && type_of(t->kid[i]) != MLC_BOOL && !ty_is_float(type_of(t->kid[i])) && holds(MLC_BOOL, t->kid[i]))
        t->kid[i] = ir_bool(t->I, t->kid[i]->u.i != 0);
    want(t, type_of(t->kid[i]), type_of(t->kid[i]) == MLC_BOOL, "a bool", "bool");
}

/* Kid i, which need not unify with others, as data. */
static mlc_type as_data(Typing *t, int i) {
    if (type_of(t->kid[i]) == MLC_INDEX) t->kid[i] = widen(t->I, MLC_I32, t->kid[i]);
    return type_of(t->kid[i]);
}

/* A shift: the count keeps its own integer type; an index beside data becomes i32. */
static mlc_type shift_type(Typing *t) {
    bool left = is_literal(t, 0), right = is_literal(t, 1);
    mlc_type a = type_of(t->kid[0]), b = type_of(t->kid[1]);
    if (!want_whole(t, a) || !want_whole(t, b)) return MLC_VOID;
    if (left && !right) t->kid[0] = literal_as(t->I, b, t->kid[0], false, t->place);
    else if (right && !left && a == MLC_INDEX) t->kid[1] = literal_as(t->I, a, t->kid[1], false, t->place);
    else if (!left && !right && a != b) as_data(t, 0), as_data(t, 1);
    for (int i = 0; i < 2; i++)
        if (t->kid[i]->op == OP_POISON) t->bad = t->kid[i];
    return type_of(t->kid[0]);
}

static mlc_type lerp_type(Typing *t) {
    mlc_type r = unify(t, 0, 2), w = type_of(t->kid[2]);
    if (t->bad || !want(t, r, r != MLC_BOOL && r != MLC_INDEX, "numbers", "f32")) return r;
    if (ty_is_float(r)) return unify(t, 0, 3);
    bool fits = ty_is_float(w) || (ty_is_unsigned(w) && ty_bits(w) + ty_bits(r) <= 64);
    if (is_literal(t, 2)) {
        mlc_type to = ty_is_float(w) ? MLC_F32 : ty_int(false, ty_bits(r));
        t->kid[2] = literal_as(t->I, to, t->kid[2], false, t->place);
        if (t->kid[2]->op == OP_POISON) t->bad = t->kid[2];
        fits = true;
    }
    if (!t->bad && (!fits || (ty_bits(r) == 64 && !ty_is_float(type_of(t->kid[2])))))
        t->bad = ir_poison(t->I, ERR_LERP_WEIGHT, t->place, type_name(r), type_name(w));
    return r;
}

static mlc_type ipow_type(Typing *t) {
    int64_t n;
    mlc_type a = type_of(t->kid[0]);
    if (!want(t, a, a != MLC_BOOL, "a number", "f32")) return a;
    if (!ir_is_int(t->kid[1], &n) || n < 0 || n > INT32_MAX) t->bad = ir_poison(t->I, ERR_IPOW_POWER, t->place);
    else t->kid[1] = ir_int(t->I, MLC_I32, n);
    return a;
}

static mlc_type mul_shr_type(Typing *t) {
    mlc_type r = unify(t, 0, 2);
    if (t->bad || !want_whole(t, r) || !want_whole(t, type_of(t->kid[2]))) return r;
    as_data(t, 2);
    return r;
}

/* Operators that build their own types. */
static mlc_type own_type(Typing *t) {
    mlc_type r;
    switch (t->op) {
    case OP_MUX:
        want_whole(t, type_of(t->kid[0]));
        return t->bad ? MLC_VOID : unify(t, 1, t->n);
    case OP_LERP: return lerp_type(t);
    case OP_ABSD:
        r = unify(t, 0, 2);
        if (t->bad || !want(t, r, r != MLC_BOOL, "numbers", "i32")) return r;
        if (r == MLC_INDEX) as_data(t, 0), r = as_data(t, 1);
        return ty_is_int(r) ? ty_int(false, ty_bits(r)) : r;
    case OP_IPOW: return ipow_type(t);
    case OP_MUL_SHR: case OP_ROUNDING_MUL_SHR: return mul_shr_type(t);
    default: BUG(t->I->fault, "an operator that ir_typed does not build");
    }
}

static mlc_type wide_type(Typing *t) {
    mlc_type r = unify(t, 0, t->n);
    if (t->bad || !want(t, r, ty_is_int(r) && ty_bits(r) < 64, "integers of at most 32 bits", "i32")) return r;
    return ty_int(ty_is_signed(r) || t->op == OP_WIDENING_SUB, 2 * ty_bits(r));
}

static mlc_type result_type(Typing *t) {
    mlc_type r;
    switch (ir_ops[t->op].rule) {
    case RULE_NUM:
        r = unify(t, 0, t->n);
        want(t, r, r != MLC_BOOL, "numbers", "i32");
        return r;
    case RULE_ANY: return unify(t, 0, t->n);
    case RULE_INT:
        r = unify(t, 0, t->n);
        if (!t->bad) want_whole(t, r);
        return r;
    case RULE_BITS:
        r = unify(t, 0, t->n);
        want(t, r, r == MLC_BOOL || is_whole(r), "integers or bools", "i32");
        return r;
    case RULE_FLT:
        r = unify(t, 0, t->n);
        if (!t->bad) want_float(t, r);
        return r;
    case RULE_ISF:
        want_float(t, type_of(t->kid[0]));
        return MLC_BOOL;
    case RULE_SHIFT: return shift_type(t);
    case RULE_CMP:
        unify(t, 0, t->n);
        return MLC_BOOL;
    case RULE_LOGIC:
        for (int i = 0; i < t->n; i++) want_bool(t, i);
        return MLC_BOOL;
    case RULE_SEL:
        want_bool(t, 0);
        return t->bad ? MLC_VOID : unify(t, 1, 3);
    case RULE_SAME: return type_of(t->kid[0]);
    case RULE_WIDE: return wide_type(t);
    case RULE_WIDER:
        r = type_of(t->kid[0]);
        want(t, r, ty_is_int(r) && ty_bits(r) == 2 * ty_bits(type_of(t->kid[1])), "a left side twice as wide", "i32");
        return r;
    case RULE_UNS:
        r = as_data(t, 0);
        return ty_is_int(r) ? ty_int(false, ty_bits(r)) : r;
    case RULE_OWN: return own_type(t);
    case RULE_CAST: break;
    }
    BUG(t->I->fault, "a cast is made by ir_typed_cast");
}

const Node *ir_typed(Interner *I, Op op, const Place *place, int n, const Node *const *kids, uint32_t literal) {
    int arity = ir_ops[op].arity;
    for (int i = 0; i < n; i++) {
        const Node *bad = unusable(I, place, kids[i]);
        if (bad) return bad;
    }
    if ((arity >= 0 && n != arity) || n < (op == OP_MUX ? 2 : 1))
        return ir_poison(I, ERR_ARITY, place, op_text(op), arity < 0 ? 2 : arity, n);
    const Node *small[8], **own = n <= 8 ? small : ARENA_ARRAY(I->arena, const Node *, n);
    memcpy(own, kids, sizeof *own * (size_t)n);
    Typing t = { I, op, place, n, own, literal, NULL };
    mlc_type type = result_type(&t);
    return t.bad ? t.bad : ir_node(I, op, type, 0, 0, n, own);
}

mlc_type ir_typed_unify(Interner *I, Op op, const Place *place, int n, const Node **kids, uint32_t literal) {
    Typing t = { I, op, place, n, kids, literal, NULL };
    for (int i = 0; i < n && !t.bad; i++) t.bad = unusable(I, place, kids[i]);
    mlc_type r = t.bad ? MLC_VOID : unify(&t, 0, n);
    if (t.bad) kids[0] = t.bad;
    return t.bad ? MLC_VOID : r;
}

/* ---- casts ---- */

static const Node *reinterpreted(Interner *I, mlc_type to, const Place *place, const Node *a) {
    if (type_of(a) == MLC_INDEX) a = widen(I, ty_bits(to) == 64 ? MLC_I64 : MLC_I32, a);
    if (type_of(a) == MLC_BOOL || !ty_is_data(to) || to == MLC_BOOL || ty_bits(to) != ty_bits(type_of(a)))
        return ir_poison(I, ERR_REINTERPRET, place, type_name(to), type_name(type_of(a)));
    return type_of(a) == to ? a : ir_node(I, OP_REINTERPRET, to, 0, 0, 1, &a);
}

const Node *ir_typed_cast(Interner *I, Op op, mlc_type to, const Place *place, const Node *a, bool literal) {
    const Node *bad = unusable(I, place, a);
    if (bad) return bad;
    if (to <= MLC_VOID || to >= MLC_TYPE_COUNT) return ir_poison(I, ERR_CAST_TYPE, place);
    if (op == OP_REINTERPRET) return reinterpreted(I, to, place, a);
    if (op == OP_SATURATE) {
        if (to == MLC_INDEX || to == MLC_BOOL) return ir_poison(I, ERR_SATURATE_TYPE, place, type_name(to), type_name(to));
        a = widen(I, type_of(a) == MLC_INDEX ? (ty_bits(to) == 64 ? MLC_I64 : MLC_I32) : type_of(a), a);
        return type_of(a) == to ? a : ir_node(I, op, to, 0, 0, 1, &a);
    }
    if (literal && a->op == OP_CONST) return ir_const(I, to, val_cast(to, type_of(a), ir_value(a)));
    if (type_of(a) == MLC_INDEX && ty_is_float(to)) a = widen(I, MLC_I32, a);
    /* A cast of a half to its own type rounds what the expression holds. */
    bool rounds = ty_is_half(to) && a->op != OP_ACCESS && a->op != OP_CAST && a->op != OP_CONST && a->op != OP_VAR;
    return type_of(a) == to && !rounds ? a : ir_node(I, OP_CAST, to, 0, 0, 1, &a);
}

/* ---- right-hand sides, coordinates, arguments ---- */

static const Node *as_index(Interner *I, const Node *e, bool literal, const Place *place) {
    mlc_type t = type_of(e);
    if (t == MLC_INDEX) return e;
    if (!ty_is_int(t)) return ir_poison(I, ERR_COORD_TYPE, place, type_name(t));
    return literal ? literal_as(I, MLC_INDEX, e, false, place) : cast_node(I, MLC_INDEX, e);
}

const Node *ir_coerce(Interner *I, const Node *e, bool literal, mlc_type to, const Place *place) {
    const Node *bad = unusable(I, place, e);
    if (bad) return bad;
    mlc_type t = type_of(e);
    literal = literal && e->op == OP_CONST;
    if (to == MLC_INDEX) return as_index(I, e, literal, place);
    if (t == to) return e;
    if (literal && (t == MLC_BOOL) == (to == MLC_BOOL)) return literal_as(I, to, e, false, place);
    if (literal && to == MLC_BOOL && !ty_is_float(t) && holds(to, e)) return ir_bool(I, e->u.i != 0);
    if (ir_common_type(to, t) != to) return ir_poison(I, ERR_NARROW, place, type_name(t), type_name(to), type_name(to));
    return widen(I, to, e);
}
