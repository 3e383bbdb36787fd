/* test_contract_values.c - the rules of docs/semantics.md about values: rows of values.def. */
#include "kit.h"

Suite *contract_values_suite(void);

/* ---- C's side ---- */

static i64 ref_div(i64 a, i64 b) {
    if (b == 0) return 0;
    if (b == -1) return (i64)(0 - (u64)a);
    return a % b >= 0 ? a / b : b > 0 ? a / b - 1 : a / b + 1;
}

static i64 ref_mod(i64 a, i64 b) {
    if (b == 0 || b == -1) return 0;
    i64 r = a % b;
    return r >= 0 ? r : b > 0 ? r + b : r - b;
}

/* a << n in the type's width; negative n: to the right. */
static i64 ref_shift(i64 a, int bits, bool sign, i64 n) {
    u64 mask = bits == 64 ? ~(u64)0 : ((u64)1 << bits) - 1;
    if (n >= 0) return n >= bits ? 0 : (i64)((u64)a << n);
    if (n < -63) n = -64;
    if (sign) return n == -64 ? (a < 0 ? -1 : 0) : a >> -n;
    return -n >= bits ? 0 : (i64)(((u64)a & mask) >> -n);
}

/* A count of 64 bits, brought near: an unsigned one that looks negative is large. */
static i64 ref_count(i64 n, bool sign) {
    return !sign && n < 0 ? 1000 : n > 1000 ? 1000 : n < -1000 ? -1000 : n;
}

static i64 ref_clamp(i64 v, i64 lo, i64 hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

/* Truncates and saturates; bits of an i64 or, for its greatest value, of a u64. */
static i64 ref_sat(wide v, wide lo, wide hi) {
    if (isnan(v)) return 0;
    v = truncl(v);
    v = v < lo ? lo : v > hi ? hi : v;
    return v > (wide)INT64_MAX ? (i64)(u64)v : (i64)v;
}

static f64 ref_fmin(f64 a, f64 b) {
    if (isnan(a) || isnan(b)) return (f64)NAN;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static f64 ref_fmax(f64 a, f64 b) {
    return -ref_fmin(-a, -b);
}

#define REF(f) static f64 ref_##f(f64 x) { return f(x); }
REF(exp) REF(exp2) REF(expm1) REF(log) REF(log2) REF(log10) REF(log1p) REF(sin) REF(cos) REF(tan) REF(asin) REF(acos)
REF(atan) REF(sinh) REF(cosh) REF(tanh) REF(erf)
#undef REF

static f64 ref_rsqrt(f64 x) {
    return 1 / sqrt(x);
}

static f64 ref_sigmoid(f64 x) {
    return 1 / (1 + exp(-x));
}

static const volatile f32 zerof = 0; /* the compiler must not simplify the C side */
static const volatile f64 zero = 0;

/* ---- the rows ---- */

#define CASE(test, name, T, text, ...)                                    \
    static void want_##test##_##name(void *out) {                         \
        for (int i = 0; i < N; i++) ((T *)out)[i] = (T)(__VA_ARGS__);     \
    }
#define NEAR(test, name, T, ulp, text, ...) CASE(test, name, T, text, __VA_ARGS__)
#define SAME(test, name, T, text)
#include "values.def"
#undef CASE
#undef NEAR
#undef SAME

#define KIND_i8 MLC_I8
#define KIND_i16 MLC_I16
#define KIND_i32 MLC_I32
#define KIND_i64 MLC_I64
#define KIND_u8 MLC_U8
#define KIND_u16 MLC_U16
#define KIND_u32 MLC_U32
#define KIND_u64 MLC_U64
#define KIND_f16 MLC_F16
#define KIND_bf16 MLC_BF16
#define KIND_f32 MLC_F32
#define KIND_f64 MLC_F64
#define KIND__Bool MLC_BOOL /* bool is a macro */
#define KIND_bool MLC_BOOL
#define KIND(T) KIND_##T

static const Case cases[] = {
#define CASE(test, name, T, text, ...) { #test, #name, KIND(T), text, want_##test##_##name, 0, { 0 }, 0, { 0 } },
#define NEAR(test, name, T, ulp, text, ...) { #test, #name, KIND(T), text, want_##test##_##name, ulp, { 0 }, 0, { 0 } },
#define SAME(test, name, T, text) { #test, #name, KIND(T), text, NULL, 0, { 0 }, 0, { 0 } },
#include "values.def"
#undef CASE
#undef NEAR
#undef SAME
};

static void setup(void) {
    kit_run(cases, (int)(sizeof cases / sizeof *cases), 8);
}

RULE(data_meets_data)
RULE(literals_take_the_other_side)
RULE(index_stays_index)
RULE(data_as_index_is_bounded)
RULE(ranges_are_relied_on)
RULE(comparisons_are_ieee)
RULE(integers_wrap)
RULE(division_is_euclidean)
RULE(shifts_beyond_the_width)
RULE(bits_are_counted_in_their_width)
RULE(integer_casts_wrap)
RULE(float_to_integer_saturates)
RULE(integer_to_float_rounds_once)
RULE(arithmetic_is_ieee)
RULE(rounding_keeps_the_sign)
RULE(float_narrowing_overflows)
RULE(fma_is_formed)
RULE(fma_is_kept_apart)
RULE(minimum_and_maximum)
RULE(halves_hold_an_f32)
RULE(float_remainder)
RULE(simplification_is_exact)
RULE(operators_are_expressions)
RULE(functions_are_near_and_equal)
RULE(selections_evaluate_all)
RULE(algebras_are_kept_apart)

Suite *contract_values_suite(void) {
    Suite *s = suite_create("contract: values");
    TCase *t = tcase_create("values");
    tcase_set_timeout(t, 60);
    tcase_add_unchecked_fixture(t, setup, NULL);
    tcase_add_test(t, data_meets_data);
    tcase_add_test(t, literals_take_the_other_side);
    tcase_add_test(t, index_stays_index);
    tcase_add_test(t, data_as_index_is_bounded);
    tcase_add_test(t, ranges_are_relied_on);
    tcase_add_test(t, comparisons_are_ieee);
    tcase_add_test(t, integers_wrap);
    tcase_add_test(t, division_is_euclidean);
    tcase_add_test(t, shifts_beyond_the_width);
    tcase_add_test(t, bits_are_counted_in_their_width);
    tcase_add_test(t, integer_casts_wrap);
    tcase_add_test(t, float_to_integer_saturates);
    tcase_add_test(t, integer_to_float_rounds_once);
    tcase_add_test(t, arithmetic_is_ieee);
    tcase_add_test(t, rounding_keeps_the_sign);
    tcase_add_test(t, float_narrowing_overflows);
    tcase_add_test(t, fma_is_formed);
    tcase_add_test(t, fma_is_kept_apart);
    tcase_add_test(t, minimum_and_maximum);
    tcase_add_test(t, halves_hold_an_f32);
    tcase_add_test(t, float_remainder);
    tcase_add_test(t, simplification_is_exact);
    tcase_add_test(t, operators_are_expressions);
    tcase_add_test(t, functions_are_near_and_equal);
    tcase_add_test(t, selections_evaluate_all);
    tcase_add_test(t, algebras_are_kept_apart);
    suite_add_tcase(s, t);
    return s;
}
