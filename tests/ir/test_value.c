/* test_value.c - the meaning of primitive operators, row by row, on the values where it is easy to be wrong. */
#include "ir/half.h"
#include "ir/ir.h"

#include <check.h>
#include <math.h>
#include <string.h>

Suite *value_suite(void);

/* ---- integers: rows are (op, type, a, b, result); the shift count has the type of the second column ---- */

static const struct {
    Op op;
    mlc_type t, t2;
    int64_t a, b, want;
} int_rows[] = {
    { OP_ADD, MLC_U8, 0, 200, 100, 44 },
    { OP_ADD, MLC_I8, 0, 127, 1, -128 },
    { OP_ADD, MLC_I64, 0, INT64_MAX, 1, INT64_MIN },
    { OP_SUB, MLC_U8, 0, 0, 1, 255 },
    { OP_SUB, MLC_U64, 0, 0, 1, -1 },
    { OP_MUL, MLC_I32, 0, 65536, 65536, 0 },
    { OP_MUL, MLC_I32, 0, INT32_MIN, -1, INT32_MIN },
    { OP_MUL, MLC_U16, 0, 65535, 65535, 1 },
    { OP_NEG, MLC_I8, 0, -128, 0, -128 },
    { OP_NEG, MLC_U8, 0, 1, 0, 255 },
    { OP_ABS, MLC_I16, 0, -32768, 0, -32768 },
    { OP_ABS, MLC_I64, 0, -5, 0, 5 },
    { OP_ABS, MLC_U8, 0, 200, 0, 200 },
    /* Euclid: 0 <= a % b < |b|, a = (a / b) * b + a % b */
    { OP_DIV, MLC_I32, 0, -7, 2, -4 },
    { OP_MOD, MLC_I32, 0, -7, 2, 1 },
    { OP_DIV, MLC_I32, 0, -7, -2, 4 },
    { OP_MOD, MLC_I32, 0, -7, -2, 1 },
    { OP_DIV, MLC_I32, 0, 7, -2, -3 },
    { OP_MOD, MLC_I32, 0, 7, -2, 1 },
    { OP_DIV, MLC_INDEX, 0, -1, 8, -1 },
    { OP_MOD, MLC_INDEX, 0, -1, 8, 7 },
    { OP_DIV, MLC_I32, 0, 5, 0, 0 },
    { OP_MOD, MLC_I32, 0, 5, 0, 0 },
    { OP_DIV, MLC_U64, 0, -1, 0, 0 },
    { OP_DIV, MLC_U64, 0, -1, 2, INT64_MAX },
    { OP_MOD, MLC_U64, 0, -1, 10, 5 },
    { OP_DIV, MLC_I8, 0, -128, -1, -128 },
    { OP_MOD, MLC_I8, 0, -128, -1, 0 },
    { OP_DIV, MLC_I64, 0, INT64_MIN, -1, INT64_MIN },
    { OP_MOD, MLC_I64, 0, INT64_MIN, -1, 0 },
    { OP_MOD, MLC_I64, 0, -1, INT64_MIN, INT64_MAX },
    { OP_DIV, MLC_I64, 0, -1, INT64_MIN, 1 },
    { OP_DIV, MLC_I64, 0, INT64_MIN, 3, -3074457345618258603 },
    { OP_MIN, MLC_U64, 0, -1, 1, 1 },
    { OP_MAX, MLC_U64, 0, -1, 1, -1 },
    { OP_MIN, MLC_I8, 0, -1, 1, -1 },
    { OP_AND, MLC_I8, 0, -1, 0x0f, 0x0f },
    { OP_XOR, MLC_U8, 0, 0xff, 0x0f, 0xf0 },
    { OP_NOT, MLC_U16, 0, 0, 0, 65535 },
    { OP_NOT, MLC_I16, 0, 0, 0, -1 },
    { OP_NOT, MLC_BOOL, 0, 1, 0, 0 },
    /* shifts: by the width and more, and by a negative count the other way */
    { OP_SHL, MLC_U8, MLC_U8, 1, 7, 128 },
    { OP_SHL, MLC_U8, MLC_U8, 1, 8, 0 },
    { OP_SHL, MLC_I8, MLC_I32, 1, 7, -128 },
    { OP_SHL, MLC_I64, MLC_I64, 1, 64, 0 },
    { OP_SHL, MLC_I64, MLC_U64, 4, -1, 0 },
    { OP_SHR, MLC_I8, MLC_I8, -128, 7, -1 },
    { OP_SHR, MLC_I8, MLC_I8, -128, 100, -1 },
    { OP_SHR, MLC_U8, MLC_I8, 128, 8, 0 },
    { OP_SHR, MLC_U64, MLC_I32, -1, 63, 1 },
    { OP_SHR, MLC_U64, MLC_I32, -1, 64, 0 },
    { OP_SHL, MLC_I32, MLC_I32, -16, -2, -4 },
    { OP_SHR, MLC_I32, MLC_I32, 3, -2, 12 },
    { OP_SHR, MLC_I32, MLC_I64, 3, INT64_MIN, 0 },
    { OP_SHL, MLC_I32, MLC_I64, -3, INT64_MIN, -1 },
    { OP_SHR, MLC_INDEX, MLC_INDEX, -5, 1, -3 },
    { OP_POPCOUNT, MLC_I8, 0, -1, 0, 8 },
    { OP_POPCOUNT, MLC_U64, 0, -1, 0, 64 },
    { OP_CLZ, MLC_U8, 0, 0, 0, 8 },
    { OP_CLZ, MLC_I16, 0, 1, 0, 15 },
    { OP_CLZ, MLC_I32, 0, -1, 0, 0 },
    { OP_CTZ, MLC_I8, 0, -128, 0, 7 },
    { OP_CTZ, MLC_U64, 0, 0, 0, 64 },
    { OP_LT, MLC_U64, 0, -1, 0, 0 },
    { OP_LT, MLC_I64, 0, -1, 0, 1 },
    { OP_LE, MLC_U64, 0, -1, -1, 1 },
    { OP_GT, MLC_U64, 0, -1, 0, 1 },
    { OP_GE, MLC_I8, 0, -1, 0, 0 },
    { OP_EQ, MLC_BOOL, 0, 1, 1, 1 },
    { OP_LAND, MLC_BOOL, 0, 1, 0, 0 },
    { OP_LOR, MLC_BOOL, 0, 1, 0, 1 },
    { OP_LNOT, MLC_BOOL, 0, 0, 0, 1 },
};

START_TEST(int_operators) {
    Value v[2] = { { .i = int_rows[_i].a }, { .i = int_rows[_i].b } };
    int64_t got = val_op(int_rows[_i].op, int_rows[_i].t, int_rows[_i].t2, v).i;
    ck_assert_msg(got == int_rows[_i].want, "row %d: %s on %s: %lld, want %lld", _i, ir_ops[int_rows[_i].op].text,
                  mlc_type_name(int_rows[_i].t), (long long)got, (long long)int_rows[_i].want);
}
END_TEST

/* a = (a / b) * b + a % b and 0 <= a % b < |b| for every pair of i8 and of u8 */
START_TEST(euclid_identity) {
    mlc_type t = _i ? MLC_U8 : MLC_I8;
    int lo = (int)ty_min(t), hi = (int)ty_max(t);
    for (int a = lo; a <= hi; a++)
        for (int b = lo; b <= hi; b++) {
            Value v[2] = { { .i = a }, { .i = b } };
            int64_t q = val_op(OP_DIV, t, MLC_VOID, v).i, r = val_op(OP_MOD, t, MLC_VOID, v).i;
            if (b == 0) ck_assert(q == 0 && r == 0);
            else ck_assert(r >= 0 && r < (b < 0 ? -b : b) && val_wrap(t, q * b + r).i == a);
        }
}
END_TEST

/* ---- casts ---- */

static const double NaN = (double)NAN, Inf = (double)INFINITY;

static const struct {
    mlc_type from, to;
    Value in, want;
} cast_rows[] = {
    { MLC_I32, MLC_U8, { .i = 300 }, { .i = 44 } },
    { MLC_I32, MLC_I8, { .i = 200 }, { .i = -56 } },
    { MLC_I8, MLC_U64, { .i = -1 }, { .i = -1 } },
    { MLC_I8, MLC_U32, { .i = -1 }, { .i = 0xffffffff } },
    { MLC_U64, MLC_I64, { .i = -1 }, { .i = -1 } },
    { MLC_I32, MLC_BOOL, { .i = 256 }, { .i = 1 } },
    { MLC_BOOL, MLC_F32, { .i = 1 }, { .f = 1 } },
    { MLC_F32, MLC_BOOL, { .f = -0.0 }, { .i = 0 } },
    { MLC_F32, MLC_BOOL, { .f = 0.25 }, { .i = 1 } },
    { MLC_F32, MLC_U8, { .f = 255.9 }, { .i = 255 } },
    { MLC_F32, MLC_U8, { .f = 256 }, { .i = 255 } },
    { MLC_F32, MLC_U8, { .f = -0.9 }, { .i = 0 } },
    { MLC_F32, MLC_I8, { .f = -128.9 }, { .i = -128 } },
    { MLC_F32, MLC_I8, { .f = -1e9 }, { .i = -128 } },
    { MLC_F32, MLC_I32, { .f = 2147483648.0 }, { .i = INT32_MAX } },
    { MLC_F32, MLC_I32, { .f = -2147483648.0 }, { .i = INT32_MIN } },
    { MLC_F32, MLC_I32, { .f = -7.9 }, { .i = -7 } },
    { MLC_F64, MLC_I64, { .f = 9223372036854775808.0 }, { .i = INT64_MAX } },
    { MLC_F64, MLC_I64, { .f = -9223372036854775808.0 }, { .i = INT64_MIN } },
    { MLC_F64, MLC_U64, { .f = 9223372036854775808.0 }, { .i = INT64_MIN } },
    { MLC_F64, MLC_U64, { .f = 18446744073709551616.0 }, { .i = -1 } },
    { MLC_F64, MLC_INDEX, { .f = 1e300 }, { .i = INT64_MAX } },
    { MLC_I32, MLC_F32, { .i = 16777217 }, { .f = 16777216 } },
    { MLC_I32, MLC_F32, { .i = 16777219 }, { .f = 16777220 } },
    /* once, not through double: 2^24 + 1 + 2^-29 of a quantum is above the tie */
    { MLC_I64, MLC_F32, { .i = 0x4000004000000001 }, { .f = 0x1.000002p62 } },
    { MLC_I64, MLC_F32, { .i = 0x4000004000000000 }, { .f = 0x1p62 } },
    { MLC_U64, MLC_F32, { .i = -1 }, { .f = 0x1p64 } },
    { MLC_U64, MLC_F64, { .i = -1 }, { .f = 0x1p64 } },
    { MLC_U64, MLC_F32, { .i = (int64_t)0x8000008000000001 }, { .f = 0x1.000002p63 } },
    { MLC_I64, MLC_BF16, { .i = 0x4040000000000001 }, { .f = 0x1.02p62 } },
    { MLC_I64, MLC_BF16, { .i = 0x4040000000000000 }, { .f = 0x1p62 } },
    { MLC_I64, MLC_BF16, { .i = -0x4040000000000001 }, { .f = -0x1.02p62 } },
    { MLC_I32, MLC_F16, { .i = 2049 }, { .f = 2048 } },
    { MLC_I32, MLC_F16, { .i = 2051 }, { .f = 2052 } },
    { MLC_I32, MLC_F16, { .i = 65519 }, { .f = 65504 } },
    { MLC_F64, MLC_F32, { .f = 0x1.000001p0 }, { .f = 1 } },
    { MLC_F64, MLC_F32, { .f = 0x1.0000010000001p0 }, { .f = 0x1.000002p0 } },
    { MLC_F64, MLC_F32, { .f = 0x1p-149 }, { .f = 0x1p-149 } },
    { MLC_F64, MLC_F32, { .f = 0x1p-150 }, { .f = 0 } },
    { MLC_F64, MLC_F32, { .f = -0x1p-151 }, { .f = -0.0 } },
    /* f64 to a half once: through f32 the low bit would be lost and the tie go down */
    { MLC_F64, MLC_F16, { .f = 0x1.0020000000001p0 }, { .f = 0x1.004p0 } },
    { MLC_F64, MLC_F16, { .f = 0x1.002p0 }, { .f = 1 } },
    { MLC_F64, MLC_BF16, { .f = 0x1.0100000000001p0 }, { .f = 0x1.02p0 } },
    { MLC_F64, MLC_F16, { .f = 0x1p-25 }, { .f = 0 } },
    { MLC_F64, MLC_F16, { .f = 0x1.0000000000001p-25 }, { .f = 0x1p-24 } },
    { MLC_F64, MLC_BF16, { .f = 0x1p-133 }, { .f = 0x1p-133 } },
    { MLC_F64, MLC_BF16, { .f = 0x1.fffp127 }, { .f = (double)INFINITY } },
    { MLC_F64, MLC_BF16, { .f = 5e-324 }, { .f = 0 } },
    { MLC_F64, MLC_F16, { .f = 0x1.ffcp15 }, { .f = 65504 } },
};

START_TEST(casts) {
    mlc_type from = cast_rows[_i].from, to = cast_rows[_i].to;
    Value got = val_cast(to, from, cast_rows[_i].in);
    ck_assert_msg(val_equal(to, got, cast_rows[_i].want), "row %d: %s to %s: %lld or %a", _i, mlc_type_name(from),
                  mlc_type_name(to), (long long)got.i, got.f);
}
END_TEST

START_TEST(casts_of_special_floats) {
    for (int t = MLC_I8; t <= MLC_U64; t++) {
        mlc_type to = (mlc_type)t;
        ck_assert_int_eq(val_cast(to, MLC_F64, (Value){ .f = NaN }).i, 0);
        ck_assert_int_eq(val_cast(to, MLC_F32, (Value){ .f = Inf }).i, val_wrap(to, (int64_t)ty_max(to)).i);
        ck_assert_int_eq(val_cast(to, MLC_F32, (Value){ .f = -Inf }).i, ty_min(to));
    }
    ck_assert_int_eq(val_cast(MLC_BOOL, MLC_F32, (Value){ .f = NaN }).i, 1);
    ck_assert(isinf(val_cast(MLC_F16, MLC_F64, (Value){ .f = 65520 }).f));
    ck_assert(isinf(val_cast(MLC_F32, MLC_F64, (Value){ .f = 1e300 }).f));
    for (int t = MLC_F16; t <= MLC_F64; t++) ck_assert(isnan(val_cast((mlc_type)t, MLC_F64, (Value){ .f = NaN }).f));
}
END_TEST

/* ---- floats ---- */

static const struct {
    Op op;
    mlc_type t;
    double a, b, c, want;
} flt_rows[] = {
    { OP_ADD, MLC_F32, 16777216, 1, 0, 16777216 },
    { OP_ADD, MLC_F32, -0.0, -0.0, 0, -0.0 },
    { OP_SUB, MLC_F32, 1, 1, 0, 0.0 },
    { OP_MUL, MLC_F32, 0x1.000002p0, 0x1.000002p0, 0, 0x1.000004p0 },
    { OP_MUL, MLC_F32, 0x1p-126, 0x1p-23, 0, 0x1p-149 },
    { OP_DIV, MLC_F32, 1, 3, 0, 0x1.555556p-2 },
    { OP_DIV, MLC_F64, 1, 3, 0, 1.0 / 3 },
    { OP_SQRT, MLC_F32, 2, 0, 0, 0x1.6a09e6p0 },
    { OP_SQRT, MLC_F64, -0.0, 0, 0, -0.0 },
    { OP_NEG, MLC_F32, 0, 0, 0, -0.0 },
    { OP_ABS, MLC_F64, -0.0, 0, 0, 0 },
    { OP_FLOOR, MLC_F32, -0.5, 0, 0, -1 },
    { OP_CEIL, MLC_F32, -0.5, 0, 0, -0.0 },
    { OP_TRUNC, MLC_F32, -1.5, 0, 0, -1 },
    { OP_ROUND, MLC_F32, 2.5, 0, 0, 2 },
    { OP_ROUND, MLC_F32, 3.5, 0, 0, 4 },
    { OP_ROUND, MLC_F64, -0.5, 0, 0, -0.0 },
    { OP_MIN, MLC_F32, -0.0, 0.0, 0, -0.0 },
    { OP_MIN, MLC_F32, 0.0, -0.0, 0, -0.0 },
    { OP_MAX, MLC_F32, -0.0, 0.0, 0, 0.0 },
    { OP_MAX, MLC_F32, 0.0, -0.0, 0, 0.0 },
    { OP_MAX, MLC_F64, -1, 2, 0, 2 },
    { OP_MIN, MLC_F64, -1, 2, 0, -1 },
    { OP_FMA, MLC_F64, 0x1.0000000000001p0, 0x1.0000000000001p0, -1, 0x1.00000000000008p-51 },
    { OP_FMA, MLC_F32, 0x1.000002p0, 0x1.000002p0, -1, 0x1.000001p-22 },
    /* rounding a double's fma again would meet a tie and go up: the sum lies just below it */
    { OP_FMA, MLC_F32, 0x1.000002p-24, 0x1.fffffcp-1, 0x1.000002p0, 0x1.000002p0 },
    { OP_FMA, MLC_F32, 0x1p-60, 1, 0x1.000001p0, 0x1p0 },
    { OP_MOD, MLC_F32, -1, 3, 0, 2 },
    { OP_MOD, MLC_F64, 5.5, -2, 0, -0.5 },
};

START_TEST(float_operators) {
    Value v[3] = { { .f = flt_rows[_i].a }, { .f = flt_rows[_i].b }, { .f = flt_rows[_i].c } };
    if (flt_rows[_i].t == MLC_F32) /* operands are values of the type */
        for (int k = 0; k < 3; k++) v[k] = val_round(MLC_F32, v[k].f);
    Value got = val_op(flt_rows[_i].op, flt_rows[_i].t, MLC_VOID, v);
    Value want = val_round(flt_rows[_i].t, flt_rows[_i].want);
    ck_assert_msg(val_equal(flt_rows[_i].t, got, want), "row %d: %s: %a, want %a", _i,
                  ir_ops[flt_rows[_i].op].text, got.f, want.f);
}
END_TEST

START_TEST(nan_wins_and_compares_false) {
    static const Op ops[] = { OP_MIN, OP_MAX, OP_ADD, OP_MUL };
    for (int side = 0; side < 2; side++) {
        Value v[2] = { { .f = side ? NaN : 1 }, { .f = side ? 1 : NaN } };
        for (int k = 0; k < 4; k++) ck_assert(isnan(val_op(ops[k], MLC_F32, MLC_VOID, v).f));
        ck_assert(!val_op(OP_LT, MLC_F32, MLC_VOID, v).i && !val_op(OP_GE, MLC_F32, MLC_VOID, v).i);
        ck_assert(!val_op(OP_EQ, MLC_F64, MLC_VOID, v).i && val_op(OP_NE, MLC_F64, MLC_VOID, v).i);
    }
    Value zeros[2] = { { .f = -0.0 }, { .f = 0.0 } };
    ck_assert(val_op(OP_EQ, MLC_F32, MLC_VOID, zeros).i && !val_op(OP_LT, MLC_F32, MLC_VOID, zeros).i);
}
END_TEST

/* min and max commute and associate, so any order of a reduction gives one result */
START_TEST(extremes_associate) {
    const double x[] = { NaN, Inf, -Inf, 0.0, -0.0, 1, -1, 0x1p-149, -0x1p-149 };
    const Op op = _i ? OP_MAX : OP_MIN;
    enum { N = sizeof x / sizeof *x };
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            for (int c = 0; c < N; c++) {
                Value ab[2] = { { .f = x[a] }, { .f = x[b] } }, ba[2] = { ab[1], ab[0] };
                Value m = val_op(op, MLC_F32, MLC_VOID, ab);
                ck_assert(val_equal(MLC_F32, m, val_op(op, MLC_F32, MLC_VOID, ba)));
                Value left[2] = { m, { .f = x[c] } }, bc[2] = { { .f = x[b] }, { .f = x[c] } };
                Value right[2] = { { .f = x[a] }, val_op(op, MLC_F32, MLC_VOID, bc) };
                ck_assert(val_equal(MLC_F32, val_op(op, MLC_F32, MLC_VOID, left), val_op(op, MLC_F32, MLC_VOID, right)));
            }
}
END_TEST

/* ---- halves and memory ---- */

/* Every pattern decodes to a value that encodes to it, and rounding lies midway between neighbours. */
START_TEST(halves_round_to_even) {
    double (*from)(uint16_t) = _i ? half_from_bf16 : half_from_f16;
    uint16_t (*to)(double) = _i ? half_to_bf16 : half_to_f16;
    uint16_t inf = _i ? 0x7f80 : 0x7c00;
    for (uint32_t b = 0; b < inf; b++) {
        double v = from((uint16_t)b), next = b + 1 < inf ? from((uint16_t)(b + 1)) : ldexp(1, _i ? 128 : 16);
        double mid = v + (next - v) / 2;
        ck_assert_int_eq(to(v), b);
        ck_assert_int_eq(to(-v), b | 0x8000);
        ck_assert_int_eq(to(mid), b + (b & 1));
        ck_assert_int_eq(to(nextafter(mid, 0)), b);
        ck_assert_int_eq(to(nextafter(mid, Inf)), b + 1);
    }
    ck_assert(isinf(from(inf)) && from(inf | 0x8000) < 0 && isnan(from(inf + 1)) && isnan(from(to(NaN))));
}
END_TEST

START_TEST(memory_round_trips) {
    static const int64_t ints[] = { 0, 1, -1, 127, 128, -128, 32768, INT32_MIN, INT64_MAX, INT64_MIN };
    unsigned char bytes[9];
    for (int t = MLC_BOOL; t < MLC_TYPE_COUNT; t++)
        for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) {
            mlc_type type = (mlc_type)t;
            Value v = ty_is_float(type) ? val_cast(type, MLC_I64, (Value){ .i = ints[k] }) : val_wrap(type, ints[k]);
            memset(bytes, 0xa5, sizeof bytes);
            val_store(type, bytes + 1, v); /* any alignment */
            ck_assert(val_equal(type, val_load(type, bytes + 1), v));
            ck_assert(mlc_type_size(type) == 8 || bytes[1 + mlc_type_size(type)] == 0xa5);
        }
    ck_assert(val_reinterpret(MLC_F32, MLC_U32, (Value){ .i = 0x3f800000 }).f == 1);
    ck_assert(val_reinterpret(MLC_I32, MLC_F32, (Value){ .f = -0.0 }).i == INT32_MIN);
    ck_assert(val_reinterpret(MLC_U16, MLC_BF16, (Value){ .f = 1 }).i == 0x3f80);
}
END_TEST

START_TEST(equality_is_of_bits) {
    ck_assert(val_equal(MLC_F32, (Value){ .f = NaN }, (Value){ .f = -NaN }));
    ck_assert(!val_equal(MLC_F32, (Value){ .f = 0.0 }, (Value){ .f = -0.0 }));
    ck_assert(val_equal(MLC_U64, (Value){ .i = -1 }, (Value){ .i = -1 }));
}
END_TEST

Suite *value_suite(void) {
    Suite *s = suite_create("value");
    TCase *t = tcase_create("value");
    tcase_add_loop_test(t, int_operators, 0, sizeof int_rows / sizeof *int_rows);
    tcase_add_loop_test(t, euclid_identity, 0, 2);
    tcase_add_loop_test(t, casts, 0, sizeof cast_rows / sizeof *cast_rows);
    tcase_add_test(t, casts_of_special_floats);
    tcase_add_loop_test(t, float_operators, 0, sizeof flt_rows / sizeof *flt_rows);
    tcase_add_test(t, nan_wins_and_compares_false);
    tcase_add_loop_test(t, extremes_associate, 0, 2);
    tcase_add_loop_test(t, halves_round_to_even, 0, 2);
    tcase_add_test(t, memory_round_trips);
    tcase_add_test(t, equality_is_of_bits);
    suite_add_tcase(s, t);
    return s;
}
