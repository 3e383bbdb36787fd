/* Derived operators against plain C in wider arithmetic: all pairs of 8-bit values, hostile ones of the
 * others. */
#include "eval.h"

#include <math.h>

Suite *derived_suite(void);

__extension__ typedef __int128 Wide;

/* ---- integers ---- */

typedef struct {
    mlc_type t;
    Wide lo, hi;
    int bits;
} Kind;

static Kind kind_of(mlc_type t) {
    return (Kind){ t, (Wide)ty_min(t), (Wide)ty_max(t), ty_bits(t) };
}

static Wide wide_of(mlc_type t, Value v) {
    return t == MLC_U64 ? (Wide)(uint64_t)v.i : (Wide)v.i;
}

static Wide clip(const Kind *k, Wide v) {
    return v < k->lo ? k->lo : v > k->hi ? k->hi : v;
}

static Wide floor_half(Wide v) {
    return v >> 1;
}

/* v / 2^n, halves up, n > 0; v * 2^-n otherwise. */
static Wide round_shift(Wide v, Wide n) {
    if (n <= 0) return n < -64 ? 0 : v * ((Wide)1 << (int)-n);
    return n > 120 ? 0 : (v + ((Wide)1 << ((int)n - 1))) >> (int)n;
}

static Wide binary(Op op, const Kind *k, Wide a, Wide b) {
    switch (op) {
    case OP_DIV_TO_ZERO: return b == 0 ? 0 : a / b;
    case OP_MOD_TO_ZERO: return b == 0 ? 0 : a % b;
    case OP_ABSD: return a < b ? b - a : a - b;
    case OP_WIDENING_ADD: return a + b;
    case OP_WIDENING_SUB: return a - b;
    case OP_WIDENING_MUL: return a * b;
    case OP_SATURATING_ADD: return clip(k, a + b);
    case OP_SATURATING_SUB: return clip(k, a - b);
    case OP_HALVING_ADD: return floor_half(a + b);
    case OP_HALVING_SUB: return floor_half(a - b);
    case OP_ROUNDING_HALVING_ADD: return floor_half(a + b + 1);
    case OP_ROUNDING_SHR: return round_shift(a, b);
    case OP_ROUNDING_SHL: return round_shift(a, -b);
    default: ck_abort_msg("no reference for %s", ir_ops[op].name);
    }
}

static const Op binaries[] = {
    OP_DIV_TO_ZERO, OP_MOD_TO_ZERO, OP_ABSD, OP_WIDENING_ADD, OP_WIDENING_SUB, OP_WIDENING_MUL, OP_SATURATING_ADD,
    OP_SATURATING_SUB, OP_HALVING_ADD, OP_HALVING_SUB, OP_ROUNDING_HALVING_ADD, OP_ROUNDING_SHR, OP_ROUNDING_SHL,
};
enum { BINARIES = sizeof binaries / sizeof *binaries };

enum { HOSTILE = 20 };
/* Values that break arithmetic of type t. */
static void hostile_values(mlc_type t, Value v[HOSTILE]) {
    static const int64_t raw[HOSTILE - 6] = {
        0, 1, 2, 3, 7, 8, -1, -2, 63, 0x5555555555555555, -0x5555555555555556, 0x0123456789abcdef, -0x7edcba9876543210, 100,
    };
    for (int i = 0; i < HOSTILE - 6; i++) v[i] = val_wrap(t, raw[i]);
    for (int i = 0; i < 3; i++) {
        v[HOSTILE - 6 + i] = val_wrap(t, ty_min(t) + i);
        v[HOSTILE - 3 + i] = val_wrap(t, (int64_t)(ty_max(t) - (uint64_t)i));
    }
}

static void check_pair(Op op, const Kind *k, mlc_type t2, Program *p, Value a, Value b) {
    Value in[3] = { a, b, of_i(0) }, got = eval(p, in);
    Wide x = wide_of(k->t, a), y = wide_of(t2, b);
    int64_t want = val_wrap(p->type, (int64_t)binary(op, k, x, y)).i;
    if (got.i != want) /* ck_assert for each pair costs more than the arithmetic */
        ck_abort_msg("%s of %s %lld and %s %lld: %lld, not %lld", ir_ops[op].name, mlc_type_name(k->t), (long long)a.i,
                     mlc_type_name(t2), (long long)b.i, (long long)got.i, (long long)want);
}

START_TEST(all_pairs_of_8_bits) {
    World w;
    world_open(&w);
    for (int i = 0; i < BINARIES; i++)
        for (int s = 0; s < 2; s++) {
            mlc_type t = s ? MLC_I8 : MLC_U8, types[2] = { t, t };
            Kind k = kind_of(t);
            Program *p = derived(&w, binaries[i], 2, types);
            for (int a = 0; a < 256; a++)
                for (int b = 0; b < 256; b++) check_pair(binaries[i], &k, t, p, val_wrap(t, a), val_wrap(t, b));
        }
    world_close(&w);
}
END_TEST

static bool is_shift(Op op) {
    return op == OP_ROUNDING_SHR || op == OP_ROUNDING_SHL;
}

static bool widens(Op op) {
    return op == OP_WIDENING_ADD || op == OP_WIDENING_SUB || op == OP_WIDENING_MUL;
}

START_TEST(hostile_pairs) {
    World w;
    world_open(&w);
    for (int i = 0; i < BINARIES; i++)
        for (mlc_type t = MLC_I8; t <= MLC_U64; t = (mlc_type)(t + 1))
            for (mlc_type t2 = MLC_I8; t2 <= MLC_U64; t2 = (mlc_type)(t2 + 1)) {
                Op op = binaries[i];
                if ((t2 != t && !is_shift(op)) || (widens(op) && ty_bits(t) == 64)) continue;
                Kind k = kind_of(t);
                Value a[HOSTILE], b[HOSTILE];
                hostile_values(t, a);
                hostile_values(t2, b);
                Program *p = derived(&w, op, 2, (mlc_type[]){ t, t2 });
                for (int x = 0; x < HOSTILE; x++)
                    for (int y = 0; y < HOSTILE; y++) check_pair(op, &k, t2, p, a[x], b[y]);
            }
    for (int i = 0; i < BINARIES; i++) {
        if (widens(binaries[i]) || binaries[i] == OP_ABSD) continue; /* of indices: on i32 */
        mlc_type t = MLC_INDEX;
        Kind k = kind_of(t);
        Value a[HOSTILE];
        hostile_values(t, a);
        Program *p = derived(&w, binaries[i], 2, (mlc_type[]){ t, t });
        ck_assert_int_eq(p->type, t);
        for (int x = 0; x < HOSTILE * HOSTILE; x++) check_pair(binaries[i], &k, t, p, a[x / HOSTILE], a[x % HOSTILE]);
    }
    world_close(&w);
}
END_TEST

/* The product shifted in twice the width by any count, then saturated; for 64 bits the reference has
 * 128 bits, of which a shift to the left loses as the operator's does. */
static Wide mul_shr(const Kind *k, bool rounds, Wide a, Wide b, Wide c) {
    __extension__ typedef unsigned __int128 UWide;
    Wide p = (Wide)((UWide)a * (UWide)b), bias = 0;
    int width = 2 * k->bits;
    bool is_signed = k->lo < 0;
    int last = c - 1 < 127 ? (int)c - 1 : 127; /* the last bit shifted out, a copy of the sign beyond the product */
    if (rounds && c > width) bias = is_signed && p < 0;
    else if (rounds && c > 0) bias = is_signed ? p >> last & 1 : (Wide)((UWide)p >> last & 1);
    Wide r;
    if (c >= width) r = is_signed && p < 0 ? -1 : 0;
    else if (c >= 0) r = is_signed ? p >> (int)c : (Wide)((UWide)p >> (int)c);
    else r = c <= -width ? 0 : (Wide)((UWide)p << (int)-c);
    r = (Wide)((UWide)r + (UWide)bias);
    if (width < 128) { /* wrapped to twice the width */
        UWide m = (UWide)r << (128 - width);
        r = is_signed ? (Wide)m >> (128 - width) : (Wide)(m >> (128 - width));
    } else if (!is_signed) {
        return (UWide)r > (UWide)k->hi ? k->hi : r;
    }
    return clip(k, r);
}

START_TEST(products_shifted) {
    static const int64_t counts[] = { 0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 66, 127, -1, -2, -64, -65, -128 };
    World w;
    world_open(&w);
    for (int rounds = 0; rounds < 2; rounds++)
        for (mlc_type t = MLC_I8; t <= MLC_U64; t = (mlc_type)(t + 1))
            for (mlc_type tc = MLC_I8; tc <= MLC_U64; tc = (mlc_type)(tc + 1)) {
                Op op = rounds ? OP_ROUNDING_MUL_SHR : OP_MUL_SHR;
                Kind k = kind_of(t);
                Value v[HOSTILE];
                hostile_values(t, v);
                Program *p = derived(&w, op, 3, (mlc_type[]){ t, t, tc });
                ck_assert_int_eq(p->type, t);
                for (int x = 0; x < HOSTILE; x += 1 + (tc != MLC_I32))
                    for (int y = 0; y < HOSTILE; y++)
                        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                            Value in[3] = { v[x], v[y], val_wrap(tc, counts[c]) };
                            Wide n = wide_of(tc, in[2]);
                            Wide want = mul_shr(&k, rounds, wide_of(t, v[x]), wide_of(t, v[y]), n > 200 ? 200 : n);
                            Value got = eval(p, in);
                            if (got.i != (int64_t)want)
                                ck_abort_msg("%s %s %lld %lld by %s %lld: %lld, not %lld", ir_ops[op].name, mlc_type_name(t),
                                             (long long)v[x].i, (long long)v[y].i, mlc_type_name(tc), (long long)in[2].i,
                                             (long long)got.i, (long long)want);
                        }
            }
    Program *p = derived(&w, OP_MUL_SHR, 3, (mlc_type[]){ MLC_INDEX, MLC_INDEX, MLC_U8 });
    ck_assert_int_eq(p->type, MLC_INDEX);
    ck_assert_int_eq(eval(p, (Value[]){ of_i(INT64_MAX), of_i(-6), of_i(2) }).i, INT64_MIN);
    ck_assert_int_eq(eval(p, (Value[]){ of_i(INT64_MAX), of_i(-6), of_i(3) }).i, -6917529027641081856);
    world_close(&w);
}
END_TEST

START_TEST(sign_and_clamp) {
    World w;
    world_open(&w);
    for (mlc_type t = MLC_I8; t <= MLC_U64; t = (mlc_type)(t + 1)) {
        Value v[HOSTILE];
        hostile_values(t, v);
        Program *sign = derived(&w, OP_SIGN, 1, &t), *clamp = derived(&w, OP_CLAMP, 3, (mlc_type[]){ t, t, t });
        for (int i = 0; i < HOSTILE; i++) {
            Wide a = wide_of(t, v[i]);
            ck_assert_int_eq(eval(sign, &v[i]).i, a > 0 ? 1 : a < 0 ? -1 : 0);
            Value in[3] = { v[i], v[(i + 3) % HOSTILE], v[(i + 7) % HOSTILE] };
            Wide lo = wide_of(t, in[1]), hi = wide_of(t, in[2]), m = a > lo ? a : lo;
            ck_assert_int_eq(eval(clamp, in).i, (int64_t)(m < hi ? m : hi));
        }
    }
    world_close(&w);
}
END_TEST

/* ---- lerp ---- */

static void check_lerp(mlc_type t, mlc_type tw, Program *p, Value a, Value b, Value c) {
    Wide m = (Wide)ty_max(tw), x = wide_of(t, a), y = wide_of(t, b), k = wide_of(tw, c);
    Wide sum = 2 * (x * (m - k) + y * k) + m, want = sum / (2 * m);
    if (sum < 0 && sum % (2 * m)) want--; /* floor */
    Value in[3] = { a, b, c };
    int64_t got = eval(p, in).i;
    if (got != (int64_t)want)
        ck_abort_msg("lerp %s %lld %lld by %s %lld: %lld, not %lld", mlc_type_name(t), (long long)a.i, (long long)b.i,
                     mlc_type_name(tw), (long long)c.i, (long long)got, (long long)want);
}

START_TEST(lerp_of_integers_is_exact) {
    World w;
    world_open(&w);
    for (int s = 0; s < 2; s++) {
        mlc_type t = s ? MLC_I8 : MLC_U8;
        Program *p = derived(&w, OP_LERP, 3, (mlc_type[]){ t, t, MLC_U8 });
        for (int a = 0; a < 256; a += 5)
            for (int b = 0; b < 256; b += 3)
                for (int c = 0; c < 256; c++) check_lerp(t, MLC_U8, p, val_wrap(t, a), val_wrap(t, b), of_i(c));
    }
    for (mlc_type t = MLC_I8; t <= MLC_U64; t = (mlc_type)(t + 1))
        for (mlc_type tw = MLC_U8; tw <= MLC_U32; tw = (mlc_type)(tw + 1)) {
            if (ty_bits(t) + ty_bits(tw) > 64) continue;
            Value v[HOSTILE], k[HOSTILE];
            hostile_values(t, v);
            hostile_values(tw, k);
            Program *p = derived(&w, OP_LERP, 3, (mlc_type[]){ t, t, tw });
            for (int i = 0; i < HOSTILE * HOSTILE * HOSTILE; i++)
                check_lerp(t, tw, p, v[i % HOSTILE], v[i / HOSTILE % HOSTILE], k[i / HOSTILE / HOSTILE]);
        }
    world_close(&w);
}
END_TEST

START_TEST(lerp_of_floats_meets_its_ends) {
    World w;
    world_open(&w);
    static const mlc_type types[] = { MLC_F16, MLC_F32, MLC_F64 };
    for (int i = 0; i < 3; i++) {
        mlc_type t = types[i];
        Program *p = derived(&w, OP_LERP, 3, (mlc_type[]){ t, t, t });
        Value at0[3] = { of_f(0.1f), of_f(1e7), of_f(0) }, at1[3] = { of_f(0.1f), of_f(1e7), of_f(1) };
        Value mid[3] = { of_f(2), of_f(4), of_f(0.25) };
        ck_assert(eval(p, at0).f == (double)0.1f && eval(p, at1).f == 1e7 && eval(p, mid).f == 2.5);
    }
    Program *mixed = derived(&w, OP_LERP, 3, (mlc_type[]){ MLC_U8, MLC_U8, MLC_F32 });
    ck_assert_int_eq(eval(mixed, (Value[]){ of_i(10), of_i(21), of_f(0.5) }).i, 16); /* 15.5: ties to even */
    ck_assert_int_eq(eval(mixed, (Value[]){ of_i(0), of_i(255), of_f(2) }).i, 255);
    Program *wide = derived(&w, OP_LERP, 3, (mlc_type[]){ MLC_I64, MLC_I64, MLC_F64 });
    ck_assert_int_eq(eval(wide, (Value[]){ of_i(-8), of_i(8), of_f(0.25) }).i, -4);
    world_close(&w);
}
END_TEST

/* ---- saturating casts ---- */

START_TEST(saturating_casts_of_integers) {
    World w;
    world_open(&w);
    for (mlc_type from = MLC_I8; from <= MLC_U64; from = (mlc_type)(from + 1))
        for (mlc_type to = MLC_I8; to <= MLC_U64; to = (mlc_type)(to + 1)) {
            if (from == to) continue;
            Kind k = kind_of(to);
            Value v[HOSTILE];
            hostile_values(from, v);
            const Node *a = operand(&w, from, 0);
            const Node *e = ir_typed_cast(&w.I, OP_SATURATE, to, NULL, a, false);
            Program *p = program_of(&w, ir_derive(&w.I, e, from, &a));
            for (int i = 0; i < HOSTILE; i++)
                ck_assert_int_eq(eval(p, &v[i]).i, (int64_t)clip(&k, wide_of(from, v[i])));
        }
    world_close(&w);
}
END_TEST

START_TEST(saturating_casts_with_floats) {
    static const struct {
        mlc_type from, to;
        double in, want;
    } rows[] = {
        { MLC_F32, MLC_U8, 300.5, 255 }, { MLC_F32, MLC_U8, -1, 0 }, { MLC_F32, MLC_I16, (double)NAN, 0 },
        { MLC_F64, MLC_I32, 1e30, 2147483647 }, { MLC_F32, MLC_I8, -(double)INFINITY, -128 },
        { MLC_F32, MLC_F16, 1e9, 65504 }, { MLC_F32, MLC_F16, -(double)INFINITY, -65504 }, { MLC_F32, MLC_F16, 1.5, 1.5 },
        { MLC_F64, MLC_F32, -1e300, -0x1.fffffep127 }, { MLC_F64, MLC_F32, 0.5, 0.5 }, { MLC_F64, MLC_BF16, 1e300, 0x1.fep127 },
        { MLC_U32, MLC_F16, 4294967295.0, 65504 }, { MLC_I32, MLC_F16, -2147483648.0, -65504 }, { MLC_I16, MLC_F16, -5, -5 },
        { MLC_U16, MLC_F16, 65535, 65504 }, { MLC_I64, MLC_F32, 3, 3 }, { MLC_BF16, MLC_F16, 1e20f, 65504 },
    };
    World w;
    world_open(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_type from = rows[i].from, to = rows[i].to, held = ty_is_half(from) ? MLC_F32 : from;
        const Node *a = operand(&w, from, 0), *b = operand(&w, held, 0);
        const Node *e = ir_typed_cast(&w.I, OP_SATURATE, to, NULL, a, false);
        Program *p = program_of(&w, ir_derive(&w.I, e, from, &b));
        Value in = ty_is_float(from) ? of_f(rows[i].in) : of_i((int64_t)rows[i].in), got = eval(p, &in);
        double have = ty_is_float(to) ? got.f : (double)got.i;
        ck_assert_msg(have == rows[i].want, "row %zu: %g, not %g", i, have, rows[i].want);
    }
    world_close(&w);
}
END_TEST

/* ---- built by code ---- */

START_TEST(mux_takes_the_last_outside) {
    World w;
    world_open(&w);
    const Node *kids[4] = { operand(&w, MLC_I32, 0), ir_int(&w.I, MLC_U8, 10), ir_int(&w.I, MLC_U8, 20), ir_int(&w.I, MLC_U8, 30) };
    const Node *e = ir_typed(&w.I, OP_MUX, NULL, 4, kids, 0);
    Program *p = program_of(&w, ir_derive(&w.I, e, MLC_I32, kids));
    static const int64_t at[] = { 0, 1, 2, 3, -1, INT32_MIN, INT32_MAX }, want[] = { 10, 20, 30, 30, 30, 30, 30 };
    for (int i = 0; i < 7; i++) ck_assert_int_eq(eval(p, (Value[]){ of_i(at[i]) }).i, want[i]);
    ck_assert_ptr_eq(ir_derive(&w.I, ir_typed(&w.I, OP_MUX, NULL, 2, kids, 0), MLC_I32, kids), kids[1]);
    world_close(&w);
}
END_TEST

START_TEST(ipow_squares) {
    World w;
    world_open(&w);
    for (int n = 0; n <= 9; n++) {
        const Node *kids[2] = { operand(&w, MLC_I32, 0), ir_int(&w.I, MLC_I32, n) };
        Program *p = program_of(&w, ir_derive(&w.I, ir_typed(&w.I, OP_IPOW, NULL, 2, kids, 0), MLC_I32, kids));
        for (int64_t x = -50; x < 1000; x += 7) {
            int64_t want = 1;
            for (int i = 0; i < n; i++) want = val_wrap(MLC_I32, want * x).i;
            Value in = of_i(x);
            ck_assert_int_eq(eval(p, &in).i, want);
        }
    }
    /* The order of a float's products: ((x * x^2) * x^4). */
    const Node *kids[2] = { operand(&w, MLC_F32, 0), ir_int(&w.I, MLC_I32, 7) };
    Program *p = program_of(&w, ir_derive(&w.I, ir_typed(&w.I, OP_IPOW, NULL, 2, kids, 0), MLC_F32, kids));
    for (float x = 1.1f; x < 3; x += 0.01f) {
        float x2 = x * x, x4 = x2 * x2, r = x * x2;
        r = r * x4;
        Value in = of_f((double)x);
        ck_assert(eval(p, &in).f == (double)r);
    }
    world_close(&w);
}
END_TEST

static const Node *random_node(World *w, mlc_type t, uint64_t seed, uint32_t id, int n, const uint64_t *point) {
    const Node *kids[10] = { ir_int(&w->I, MLC_U64, (int64_t)seed), ir_int(&w->I, MLC_U32, (int64_t)id) };
    for (int i = 0; i < n; i++) kids[2 + i] = ir_idx(&w->I, (int64_t)point[i]);
    return ir_derive(&w->I, ir_node(&w->I, OP_RANDOM, t, 0, (int32_t)id, 2 + n, kids), t, kids);
}

START_TEST(random_is_philox) { /* known answers of the Random123 distribution */
    World w;
    world_open(&w);
    uint64_t zero[2] = { 0, 0 }, ones[2] = { UINT64_MAX, UINT64_MAX };
    uint64_t pi[2] = { 0x85a308d3243f6a88, 0x0370734413198a2e };
    ck_assert_uint_eq(random_node(&w, MLC_U32, 0, 0, 2, zero)->u.bits, 0x6627e8d5);
    ck_assert_uint_eq(random_node(&w, MLC_U32, 0xffffffff, 0xffffffff, 2, ones)->u.bits, 0x408f276d);
    ck_assert_uint_eq(random_node(&w, MLC_U32, 0xa4093822, 0x299f31d0, 2, pi)->u.bits, 0xd16cfe09);
    ck_assert_uint_eq(random_node(&w, MLC_U32, UINT64_C(1) << 32 | 0xa4093822, 0x299f31d1, 2, pi)->u.bits, 0xd16cfe09);
    ck_assert_int_eq(random_node(&w, MLC_I32, 0xa4093822, 0x299f31d0, 2, pi)->u.i, (int32_t)0xd16cfe09u);
    const Node *f = random_node(&w, MLC_F32, 0xa4093822, 0x299f31d0, 2, pi);
    ck_assert(f->u.f == 0xd16cfep-24);
    /* A point of no dimension, and every rank, give distinct values. */
    uint64_t point[8] = { 3, 5, 7, 11, 13, 17, 19, 23 }, seen[9];
    for (int n = 0; n <= 8; n++) {
        seen[n] = random_node(&w, MLC_U32, 1, 2, n, point)->u.bits;
        for (int i = 0; i < n; i++) ck_assert_uint_ne(seen[i], seen[n]);
    }
    world_close(&w);
}
END_TEST

/* ---- small float operators ---- */

START_TEST(small_float_operators) {
    const double inf = (double)INFINITY, nan = (double)NAN;
    const struct {
        Op op;
        double a, b, want;
    } rows[] = {
        { OP_SIGN, 3, 0, 1 }, { OP_SIGN, -0.5, 0, -1 }, { OP_SIGN, -0.0, 0, -0.0 }, { OP_SIGN, nan, 0, nan }, { OP_SIGN, -inf, 0, -1 },
        { OP_MIN_NUM, nan, 2, 2 }, { OP_MIN_NUM, 2, nan, 2 }, { OP_MIN_NUM, nan, nan, nan }, { OP_MIN_NUM, -0.0, 0, -0.0 },
        { OP_MIN_NUM, 0, -0.0, -0.0 }, { OP_MAX_NUM, -0.0, 0, 0 }, { OP_MAX_NUM, nan, -inf, -inf }, { OP_MAX_NUM, 1, 2, 2 },
        { OP_COPYSIGN, 3, -0.0, -3 }, { OP_COPYSIGN, -3, 1, 3 }, { OP_COPYSIGN, -0.0, inf, 0 }, { OP_COPYSIGN, inf, -1, -inf },
        { OP_FRACT, 1.25, 0, 0.25 }, { OP_FRACT, -1.25, 0, -0.25 }, { OP_FRACT, -1e-9f, 0, -1e-9f }, { OP_FRACT, inf, 0, nan },
        { OP_ROUND_AWAY, 0.5, 0, 1 }, { OP_ROUND_AWAY, -0.5, 0, -1 }, { OP_ROUND_AWAY, 2.5, 0, 3 }, { OP_ROUND_AWAY, -0.25, 0, -0.0 },
        { OP_ROUND_AWAY, 8388609, 0, 8388609 }, { OP_ROUND_AWAY, 4194304.5, 0, 4194305 }, { OP_ROUND_AWAY, inf, 0, inf },
        { OP_ROUND_AWAY, nan, 0, nan }, { OP_MOD, -7, 3, 2 }, { OP_MOD, 7.5, 2, 1.5 }, { OP_MOD, 1, 0, nan }, { OP_ABSD, 1, 3.5, 2.5 },
        { OP_IS_NAN, nan, 0, 1 }, { OP_IS_NAN, inf, 0, 0 }, { OP_IS_INF, -inf, 0, 1 }, { OP_IS_INF, 1, 0, 0 }, { OP_IS_INF, nan, 0, 0 },
        { OP_IS_FINITE, -0.0, 0, 1 }, { OP_IS_FINITE, nan, 0, 0 }, { OP_IS_FINITE, -inf, 0, 0 },
    };
    static const mlc_type types[] = { MLC_F16, MLC_BF16, MLC_F32, MLC_F64 };
    World w;
    world_open(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 4; k++) {
            mlc_type t = types[k];
            Program *p = derived(&w, rows[i].op, ir_ops[rows[i].op].arity, (mlc_type[]){ t, t });
            Value in[2] = { of_f(rows[i].a), of_f(rows[i].b) }, got = eval(p, in);
            Value want = p->type == MLC_BOOL ? of_i(rows[i].want != 0) : of_f(rows[i].want);
            ck_assert_msg(val_equal(p->type, got, want), "%s %s row %zu: %g", ir_ops[rows[i].op].name, mlc_type_name(t), i, got.f);
        }
    /* The value below 0.5 does not round to 1. */
    mlc_type f32 = MLC_F32, f64 = MLC_F64;
    Value below32 = of_f(0x1.fffffep-2), below64 = of_f(0x1.fffffffffffffp-2);
    ck_assert(eval(derived(&w, OP_ROUND_AWAY, 1, &f32), &below32).f == 0);
    ck_assert(eval(derived(&w, OP_ROUND_AWAY, 1, &f64), &below64).f == 0);
    world_close(&w);
}
END_TEST

/* Rows are kept with the Interner and found from one above it. */
START_TEST(bodies_are_shared) {
    World w;
    world_open(&w);
    mlc_type t = MLC_F32;
    derived(&w, OP_EXP, 1, &t);
    uint32_t parsed = w.I.bodies.n;
    derived(&w, OP_EXP, 1, &t);
    ck_assert_uint_eq(w.I.bodies.n, parsed);
    Interner above;
    ir_interner_init(&above, &w.arena, &w.I);
    const Node *a = operand(&w, t, 0);
    ir_derive(&above, ir_typed(&above, OP_EXP, NULL, 1, &a, 0), t, &a);
    ck_assert_uint_eq(above.bodies.n, 0);
    world_close(&w);
}
END_TEST

Suite *derived_suite(void) {
    Suite *s = suite_create("derived");
    TCase *c = tcase_create("derived");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, all_pairs_of_8_bits);
    tcase_add_test(c, hostile_pairs);
    tcase_add_test(c, products_shifted);
    tcase_add_test(c, sign_and_clamp);
    tcase_add_test(c, lerp_of_integers_is_exact);
    tcase_add_test(c, lerp_of_floats_meets_its_ends);
    tcase_add_test(c, saturating_casts_of_integers);
    tcase_add_test(c, saturating_casts_with_floats);
    tcase_add_test(c, mux_takes_the_last_outside);
    tcase_add_test(c, ipow_squares);
    tcase_add_test(c, random_is_philox);
    tcase_add_test(c, small_float_operators);
    tcase_add_test(c, bodies_are_shared);
    suite_add_tcase(s, c);
    return s;
}
