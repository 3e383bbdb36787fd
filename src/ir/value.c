/* value.c - the scalar meaning of every PRIM operator (docs/semantics.md sections 2 to 4).
 *
 * Constant folding and both interpreters stand on this file, and compiled code is checked against it,
 * so it is written to be read beside the contract, not to be fast.  A float of any type travels as a
 * double that holds it exactly; arithmetic on f32 is done in float, never in double, because rounding
 * a double's result again is not always the right f32.  It must be compiled without contraction. */
#include "half.h"
#include "ir.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static Value of_int(int64_t i) {
    return (Value){ .i = i };
}

static Value of_flt(double f) {
    return (Value){ .f = f };
}

static bool is_signed(mlc_type t) {
    return ty_is_signed(t) || t == MLC_INDEX;
}

Value val_wrap(mlc_type t, int64_t v) {
    if (t == MLC_BOOL) return of_int(v != 0);
    int drop = 64 - ty_bits(t);
    uint64_t top = (uint64_t)v << drop;
    return of_int(is_signed(t) ? (int64_t)top >> drop : (int64_t)(top >> drop));
}

static Value wrap_u(mlc_type t, uint64_t v) {
    return val_wrap(t, (int64_t)v);
}

Value val_round(mlc_type t, double v) {
    switch (t) {
    case MLC_F16: return of_flt(half_from_f16(half_to_f16(v)));
    case MLC_BF16: return of_flt(half_from_bf16(half_to_bf16(v)));
    case MLC_F32: return of_flt((double)(float)v);
    default: return of_flt(v);
    }
}

/* ---- conversions ---- */

static Value float_to_int(mlc_type to, double v) {
    if (to == MLC_BOOL) return of_int(v != 0); /* NaN != 0 */
    if (isnan(v)) return of_int(0);
    v = trunc(v);
    /* The type's greatest value + 1 is a power of two, so exact; its greatest value may not be. */
    double end = ldexp(1.0, ty_bits(to) - is_signed(to));
    if (v >= end) return wrap_u(to, ty_max(to));
    if (is_signed(to) ? v < -end : v <= 0) return of_int(ty_min(to));
    return is_signed(to) ? of_int((int64_t)v) : of_int((int64_t)(uint64_t)v);
}

static Value int_to_float(mlc_type to, mlc_type from, int64_t v) {
    bool u = from == MLC_U64;
    if (to == MLC_F32) return of_flt((double)(u ? (float)(uint64_t)v : (float)v));
    if (to == MLC_F64) return of_flt(u ? (double)(uint64_t)v : (double)v);
    /* Halves: through a double that keeps 53 bits and ors the rest into the last ("round to odd"),
     * after which rounding to fewer bits is as if done once. */
    bool negative = !u && v < 0;
    uint64_t m = negative ? 0 - (uint64_t)v : (uint64_t)v;
    int drop = 0;
    while (m >> drop >> 53) drop++;
    uint64_t lost = m & (((uint64_t)1 << drop) - 1);
    double d = ldexp((double)(m >> drop | (lost != 0)), drop);
    return val_round(to, negative ? -d : d);
}

Value val_cast(mlc_type to, mlc_type from, Value v) {
    if (ty_is_float(from)) return ty_is_float(to) ? val_round(to, v.f) : float_to_int(to, v.f);
    return ty_is_float(to) ? int_to_float(to, from, v.i) : val_wrap(to, v.i);
}

Value val_reinterpret(mlc_type to, mlc_type from, Value v) {
    unsigned char bytes[8] = { 0 };
    val_store(from, bytes, v);
    return val_load(to, bytes);
}

/* ---- memory ---- */

Value val_load(mlc_type t, const void *p) {
    union {
        int8_t i8; int16_t i16; int32_t i32; int64_t i64;
        uint8_t u8; uint16_t u16; uint32_t u32;
        float f32; double f64;
    } m = { .i64 = 0 };
    memcpy(&m, p, mlc_type_size(t));
    switch (t) {
    case MLC_BOOL: return of_int(m.u8 != 0);
    case MLC_I8: return of_int(m.i8);
    case MLC_I16: return of_int(m.i16);
    case MLC_I32: return of_int(m.i32);
    case MLC_U8: return of_int(m.u8);
    case MLC_U16: return of_int(m.u16);
    case MLC_U32: return of_int(m.u32);
    case MLC_F16: return of_flt(half_from_f16(m.u16));
    case MLC_BF16: return of_flt(half_from_bf16(m.u16));
    case MLC_F32: return of_flt((double)m.f32);
    case MLC_F64: return of_flt(m.f64);
    default: return of_int(m.i64);
    }
}

void val_store(mlc_type t, void *p, Value v) {
    uint16_t h;
    float f;
    switch (t) {
    case MLC_F16: h = half_to_f16(v.f); memcpy(p, &h, sizeof h); break;
    case MLC_BF16: h = half_to_bf16(v.f); memcpy(p, &h, sizeof h); break;
    case MLC_F32: f = (float)v.f; memcpy(p, &f, sizeof f); break;
    case MLC_F64: memcpy(p, &v.f, sizeof v.f); break;
    default:
        for (size_t k = 0; k < mlc_type_size(t); k++)
            ((unsigned char *)p)[k] = (unsigned char)((uint64_t)v.i >> 8 * k & 0xff);
    }
}

bool val_equal(mlc_type t, Value a, Value b) {
    if (ty_is_float(t) && isnan(a.f) && isnan(b.f)) return true;
    return !memcmp(&a, &b, sizeof a);
}

/* ---- integers, index and bool ---- */

static int64_t euclid_div(mlc_type t, int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (!is_signed(t)) return (int64_t)((uint64_t)a / (uint64_t)b);
    if (b == -1) return (int64_t)(0 - (uint64_t)a); /* MIN / -1 wraps to MIN */
    return a / b - (a % b < 0 ? (b > 0 ? 1 : -1) : 0);
}

static int64_t euclid_mod(mlc_type t, int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (!is_signed(t)) return (int64_t)((uint64_t)a % (uint64_t)b);
    if (b == -1) return 0;
    int64_t r = a % b;
    return r >= 0 ? r : b > 0 ? r + b : r - b;
}

/* a << b, or a >> b where the count's sign or `right` says so (both: left again). */
static Value shift(mlc_type t, mlc_type t2, int64_t a, int64_t b, bool right) {
    bool negative = t2 != MLC_U64 && b < 0;
    uint64_t by = negative ? 0 - (uint64_t)b : (uint64_t)b;
    bool outside = by >= (uint64_t)ty_bits(t);
    if (right == negative) return wrap_u(t, outside ? 0 : (uint64_t)a << by);
    if (is_signed(t)) return of_int(a >> (outside ? 63 : by));
    return of_int(outside ? 0 : (int64_t)((uint64_t)a >> by));
}

static int64_t count_bits(Op op, mlc_type t, int64_t a) {
    int bits = ty_bits(t);
    uint64_t u = (uint64_t)a & UINT64_MAX >> (64 - bits);
    if (op == OP_POPCOUNT) return __builtin_popcountll(u);
    if (!u) return bits;
    return op == OP_CTZ ? __builtin_ctzll(u) : __builtin_clzll(u) - (64 - bits);
}

static bool int_less(mlc_type t, int64_t a, int64_t b) {
    return t == MLC_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static Value int_op(Op op, mlc_type t, mlc_type t2, const Value *v) {
    int64_t a = v[0].i, b = ir_ops[op].arity > 1 ? v[1].i : 0;
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case OP_ADD: return wrap_u(t, x + y);
    case OP_SUB: return wrap_u(t, x - y);
    case OP_MUL: return wrap_u(t, x * y);
    case OP_DIV: return val_wrap(t, euclid_div(t, a, b));
    case OP_MOD: return val_wrap(t, euclid_mod(t, a, b));
    case OP_NEG: return wrap_u(t, 0 - x);
    case OP_ABS: return wrap_u(t, is_signed(t) && a < 0 ? 0 - x : x);
    case OP_MIN: return of_int(int_less(t, b, a) ? b : a);
    case OP_MAX: return of_int(int_less(t, a, b) ? b : a);
    case OP_AND: return of_int(a & b);
    case OP_OR: return of_int(a | b);
    case OP_XOR: return of_int(a ^ b);
    case OP_NOT: return t == MLC_BOOL ? of_int(!a) : wrap_u(t, ~x);
    case OP_SHL: return shift(t, t2, a, b, false);
    case OP_SHR: return shift(t, t2, a, b, true);
    case OP_POPCOUNT: case OP_CLZ: case OP_CTZ: return wrap_u(t, (uint64_t)count_bits(op, t, a));
    case OP_EQ: return of_int(a == b);
    case OP_NE: return of_int(a != b);
    case OP_LT: return of_int(int_less(t, a, b));
    case OP_LE: return of_int(!int_less(t, b, a));
    case OP_GT: return of_int(int_less(t, b, a));
    case OP_GE: return of_int(!int_less(t, a, b));
    case OP_LAND: return of_int(a && b);
    case OP_LOR: return of_int(a || b);
    case OP_LNOT: return of_int(!a);
    default: return v[0];
    }
}

/* ---- floats ---- */

/* minimum and maximum of IEEE 754-2019: a NaN wins, -0 is less than +0. */
static double extreme(double a, double b, bool max) {
    if (isnan(a)) return a;
    if (isnan(b)) return b;
    if (a == b) return !signbit(a) == max ? a : b; /* differ at most in the zero's sign */
    return (a < b) == max ? b : a;
}

static Value f32_op(Op op, float a, float b, float c) {
    float r = 0;
    switch (op) {
    case OP_ADD: r = a + b; break;
    case OP_SUB: r = a - b; break;
    case OP_MUL: r = a * b; break;
    case OP_DIV: r = a / b; break;
    case OP_FMA: r = fmaf(a, b, c); break;
    case OP_SQRT: r = sqrtf(a); break;
    default: r = fmaf(-floorf(a / b), b, a); break; /* MOD */
    }
    return of_flt((double)r);
}

static Value f64_op(Op op, double a, double b, double c) {
    switch (op) {
    case OP_ADD: return of_flt(a + b);
    case OP_SUB: return of_flt(a - b);
    case OP_MUL: return of_flt(a * b);
    case OP_DIV: return of_flt(a / b);
    case OP_FMA: return of_flt(fma(a, b, c));
    case OP_SQRT: return of_flt(sqrt(a));
    default: return of_flt(fma(-floor(a / b), b, a)); /* MOD */
    }
}

static Value flt_op(Op op, mlc_type t, const Value *v) {
    int n = ir_ops[op].arity;
    double a = v[0].f, b = n > 1 ? v[1].f : 0, c = n > 2 ? v[2].f : 0;
    switch (op) {
    case OP_NEG: return of_flt(-a);
    case OP_ABS: return of_flt(fabs(a));
    case OP_MIN: return of_flt(extreme(a, b, false));
    case OP_MAX: return of_flt(extreme(a, b, true));
    case OP_FLOOR: return of_flt(floor(a));
    case OP_CEIL: return of_flt(ceil(a));
    case OP_TRUNC: return of_flt(trunc(a));
    case OP_ROUND: return of_flt(nearbyint(a)); /* the control word says: ties to even */
    case OP_EQ: return of_int(a == b);
    case OP_NE: return of_int(a != b);
    case OP_LT: return of_int(a < b);
    case OP_LE: return of_int(a <= b);
    case OP_GT: return of_int(a > b);
    case OP_GE: return of_int(a >= b);
    case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_FMA: case OP_SQRT:
        if (t == MLC_F64) return f64_op(op, a, b, c);
        return val_round(t, f32_op(op, (float)a, (float)b, (float)c).f);
    default: return v[0];
    }
}

Value val_op(Op op, mlc_type t, mlc_type t2, const Value *a) {
    switch (op) {
    case OP_SELECT: return a[0].i ? a[1] : a[2];
    case OP_REQUIRE: return a[1];
    case OP_PRINT: case OP_LIKELY: case OP_LIKELY_INNER: case OP_ROUNDED: return a[0];
    default: return ty_is_float(t) ? flt_op(op, t, a) : int_op(op, t, t2, a);
    }
}
