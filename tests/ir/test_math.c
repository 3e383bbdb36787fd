/* The float functions: special values of C23 Annex F, and errors on a sample (tests/ir/math_errors.c measures
 * them all). */
#include "eval.h"

#include <math.h>

Suite *math_suite(void);

static double inf(void) {
    return (double)INFINITY;
}

/* ---- special values ---- */

typedef struct {
    Op op;
    double a, b, want;
} Row;

/* Exact for every type: signs of zero count, any NaN is NaN. */
static const Row specials[] = {
#define INF (double)INFINITY
#define NA (double)NAN
    { OP_EXP, 0, 0, 1 }, { OP_EXP, -0.0, 0, 1 }, { OP_EXP, INF, 0, INF }, { OP_EXP, -INF, 0, 0 }, { OP_EXP, NA, 0, NA },
    { OP_EXP2, -0.0, 0, 1 }, { OP_EXP2, 3, 0, 8 }, { OP_EXP2, -10, 0, 0x1p-10 }, { OP_EXP2, INF, 0, INF }, { OP_EXP2, -INF, 0, 0 },
    { OP_EXP2, NA, 0, NA }, { OP_EXPM1, 0, 0, 0 }, { OP_EXPM1, -0.0, 0, -0.0 }, { OP_EXPM1, INF, 0, INF }, { OP_EXPM1, -INF, 0, -1 },
    { OP_EXPM1, NA, 0, NA }, { OP_LOG, 0, 0, -INF }, { OP_LOG, -0.0, 0, -INF }, { OP_LOG, 1, 0, 0 }, { OP_LOG, -1, 0, NA },
    { OP_LOG, INF, 0, INF }, { OP_LOG, -INF, 0, NA }, { OP_LOG, NA, 0, NA }, { OP_LOG2, 1, 0, 0 }, { OP_LOG2, 8, 0, 3 },
    { OP_LOG2, 0x1p-14, 0, -14 }, { OP_LOG2, -0.0, 0, -INF }, { OP_LOG2, -2, 0, NA }, { OP_LOG2, INF, 0, INF }, { OP_LOG2, NA, 0, NA },
    { OP_LOG10, 1, 0, 0 }, { OP_LOG10, 0, 0, -INF }, { OP_LOG10, -2, 0, NA }, { OP_LOG10, INF, 0, INF }, { OP_LOG10, NA, 0, NA },
    { OP_LOG1P, 0, 0, 0 }, { OP_LOG1P, -0.0, 0, -0.0 }, { OP_LOG1P, -1, 0, -INF }, { OP_LOG1P, -2, 0, NA }, { OP_LOG1P, INF, 0, INF },
    { OP_LOG1P, NA, 0, NA }, { OP_RSQRT, 0, 0, INF }, { OP_RSQRT, -0.0, 0, -INF }, { OP_RSQRT, INF, 0, 0 }, { OP_RSQRT, -1, 0, NA },
    { OP_RSQRT, 4, 0, 0.5 }, { OP_SIN, 0, 0, 0 }, { OP_SIN, -0.0, 0, -0.0 }, { OP_SIN, INF, 0, NA }, { OP_SIN, -INF, 0, NA },
    { OP_SIN, NA, 0, NA }, { OP_COS, 0, 0, 1 }, { OP_COS, -0.0, 0, 1 }, { OP_COS, INF, 0, NA }, { OP_COS, -INF, 0, NA },
    { OP_TAN, 0, 0, 0 }, { OP_TAN, -0.0, 0, -0.0 }, { OP_TAN, INF, 0, NA }, { OP_TAN, NA, 0, NA }, { OP_ASIN, 0, 0, 0 },
    { OP_ASIN, -0.0, 0, -0.0 }, { OP_ASIN, 2, 0, NA }, { OP_ASIN, -2, 0, NA }, { OP_ASIN, NA, 0, NA }, { OP_ACOS, 1, 0, 0 },
    { OP_ACOS, 2, 0, NA }, { OP_ACOS, -INF, 0, NA }, { OP_ATAN, 0, 0, 0 }, { OP_ATAN, -0.0, 0, -0.0 }, { OP_ATAN, NA, 0, NA },
    { OP_ATAN2, 0, 1, 0 }, { OP_ATAN2, -0.0, 1, -0.0 }, { OP_ATAN2, 0, 0, 0 }, { OP_ATAN2, -0.0, 0, -0.0 }, { OP_ATAN2, 2, INF, 0 },
    { OP_ATAN2, -2, INF, -0.0 }, { OP_ATAN2, NA, 1, NA }, { OP_ATAN2, 1, NA, NA }, { OP_SINH, 0, 0, 0 }, { OP_SINH, -0.0, 0, -0.0 },
    { OP_SINH, INF, 0, INF }, { OP_SINH, -INF, 0, -INF }, { OP_SINH, NA, 0, NA }, { OP_COSH, 0, 0, 1 }, { OP_COSH, -0.0, 0, 1 },
    { OP_COSH, -INF, 0, INF }, { OP_COSH, NA, 0, NA }, { OP_TANH, 0, 0, 0 }, { OP_TANH, -0.0, 0, -0.0 }, { OP_TANH, INF, 0, 1 },
    { OP_TANH, -INF, 0, -1 }, { OP_TANH, NA, 0, NA }, { OP_ERF, 0, 0, 0 }, { OP_ERF, -0.0, 0, -0.0 }, { OP_ERF, INF, 0, 1 },
    { OP_ERF, -INF, 0, -1 }, { OP_ERF, NA, 0, NA }, { OP_SIGMOID, 0, 0, 0.5 }, { OP_SIGMOID, -0.0, 0, 0.5 }, { OP_SIGMOID, INF, 0, 1 },
    { OP_SIGMOID, -INF, 0, 0 }, { OP_SIGMOID, NA, 0, NA }, { OP_HYPOT, 3, -4, 5 }, { OP_HYPOT, INF, NA, INF },
    { OP_HYPOT, NA, -INF, INF }, { OP_HYPOT, NA, 1, NA }, { OP_HYPOT, 0, -0.0, 0 }, { OP_HYPOT, -2, 0, 2 },
    { OP_POW, NA, 0, 1 }, { OP_POW, NA, -0.0, 1 }, { OP_POW, INF, 0, 1 }, { OP_POW, 1, NA, 1 }, { OP_POW, 1, INF, 1 },
    { OP_POW, -1, INF, 1 }, { OP_POW, -1, -INF, 1 }, { OP_POW, -2, 0.5, NA }, { OP_POW, -2, NA, NA }, { OP_POW, NA, 2, NA },
    { OP_POW, -2, 3, -8 }, { OP_POW, -2, 2, 4 }, { OP_POW, -2, -1, -0.5 }, { OP_POW, 0, -3, INF }, { OP_POW, -0.0, -3, -INF },
    { OP_POW, -0.0, -2, INF }, { OP_POW, -0.0, -0.5, INF }, { OP_POW, 0, -INF, INF }, { OP_POW, -0.0, -INF, INF }, { OP_POW, 0, 3, 0 },
    { OP_POW, -0.0, 3, -0.0 }, { OP_POW, -0.0, 2, 0 }, { OP_POW, -0.0, 0.5, 0 }, { OP_POW, 0.5, -INF, INF }, { OP_POW, -2, -INF, 0 },
    { OP_POW, 0.5, INF, 0 }, { OP_POW, -2, INF, INF }, { OP_POW, -INF, -3, -0.0 }, { OP_POW, -INF, -2, 0 }, { OP_POW, -INF, -0.5, 0 },
    { OP_POW, -INF, 3, -INF }, { OP_POW, -INF, 2, INF }, { OP_POW, -INF, 0.5, INF }, { OP_POW, INF, -1, 0 }, { OP_POW, INF, 1, INF },
    { OP_POW, 4, 0.5, 2 }, { OP_POW, 2, -3, 0.125 },
#undef INF
#undef NA
};

/* Rounded to nearest: constants that an error of one ulp would miss, in f32 and f64 only. */
static const Row limits[] = {
    { OP_ATAN, 1e30, 0, 0x1.921fb54442d18p0 }, { OP_ATAN, -1e30, 0, -0x1.921fb54442d18p0 }, { OP_ACOS, -1, 0, 0x1.921fb54442d18p1 },
    { OP_ACOS, 0, 0, 0x1.921fb54442d18p0 }, { OP_ASIN, 1, 0, 0x1.921fb54442d18p0 }, { OP_ATAN2, 0, -1, 0x1.921fb54442d18p1 },
    { OP_ATAN2, -0.0, -1, -0x1.921fb54442d18p1 }, { OP_ATAN2, 0, -0.0, 0x1.921fb54442d18p1 }, { OP_ATAN2, 1, 0, 0x1.921fb54442d18p0 },
    { OP_ATAN2, -1, -0.0, -0x1.921fb54442d18p0 },
};

static void check_rows(World *w, const Row *rows, size_t n, const mlc_type *types, int n_types) {
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < n_types; k++) {
            mlc_type t = types[k], both[2] = { t, t };
            Program *p = derived(w, rows[i].op, ir_ops[rows[i].op].arity, both);
            Value in[2] = { val_round(t, rows[i].a), val_round(t, rows[i].b) };
            Value got = val_round(t, eval(p, in).f), want = val_round(t, rows[i].want);
            ck_assert_msg(val_equal(t, got, want), "%s_%s(%g, %g): %a, not %a", ir_ops[rows[i].op].name, mlc_type_name(t), in[0].f,
                          in[1].f, got.f, want.f);
        }
}

static const mlc_type floats[] = { MLC_F16, MLC_BF16, MLC_F32, MLC_F64 };

START_TEST(annex_f) {
    World w;
    world_open(&w);
    check_rows(&w, specials, sizeof specials / sizeof *specials, floats, 4);
    check_rows(&w, limits, sizeof limits / sizeof *limits, floats + 2, 2);
    const Row infinite[] = {
        { OP_ATAN2, -inf(), 1, -0x1.921fb54442d18p0 }, { OP_ATAN2, -inf(), -inf(), -0x1.2d97c7f3321d2p1 }, { OP_ATAN2, inf(), 1, 0x1.921fb54442d18p0 }, { OP_ATAN2, 1, -inf(), 0x1.921fb54442d18p1 }, { OP_ATAN, -inf(), 0, -0x1.921fb54442d18p0 },
    };
    check_rows(&w, infinite, 5, floats + 2, 2);
    world_close(&w);
}
END_TEST

/* Denormal arguments and results are kept; the ends of the range overflow where they must. */
START_TEST(ends_of_the_range) {
    static const Row f32[] = {
        { OP_EXP, -103.97, 0, 0x1p-149 }, { OP_EXP, -104, 0, 0 }, { OP_EXP, 88.8, 0, (double)INFINITY }, { OP_EXP2, -149, 0, 0x1p-149 },
        { OP_EXP2, -150, 0, 0 }, { OP_EXP2, 127, 0, 0x1p127 }, { OP_EXP2, 128, 0, (double)INFINITY }, { OP_LOG2, 0x1p-149, 0, -149 },
        { OP_LOG2, 0x1p-126, 0, -126 }, { OP_EXPM1, 0x1p-149, 0, 0x1p-149 }, { OP_EXPM1, 88.8, 0, (double)INFINITY },
        { OP_LOG1P, -0x1p-149, 0, -0x1p-149 }, { OP_SIN, 0x1p-149, 0, 0x1p-149 }, { OP_TAN, -0x1p-149, 0, -0x1p-149 },
        { OP_ASIN, 0x1p-149, 0, 0x1p-149 }, { OP_ATAN, 0x1p-149, 0, 0x1p-149 }, { OP_SINH, -0x1p-149, 0, -0x1p-149 },
        { OP_SINH, 89.5, 0, (double)INFINITY }, { OP_COSH, -89.5, 0, (double)INFINITY }, { OP_TANH, 0x1p-149, 0, 0x1p-149 },
        { OP_SIGMOID, -103.97, 0, 0x1p-149 }, { OP_HYPOT, 0x1p-149, 0x1p-149, 0x1p-149 }, { OP_HYPOT, 0x1.8p127, 0x1p126, 0x1.94c584p127 },
        { OP_HYPOT, 3e38, 3e38, (double)INFINITY }, { OP_POW, 2, -149, 0x1p-149 }, { OP_POW, 2, -151, 0 }, { OP_POW, 2, 128, (double)INFINITY },
        { OP_POW, 0x1p-149, 1, 0x1p-149 }, { OP_POW, 0x1p-140, 0.5, 0x1p-70 }, { OP_POW, -3, 16777215, -(double)INFINITY },
        { OP_ATAN2, 0x1p-149, 1, 0x1p-149 }, { OP_ATAN2, 0x1p-149, 0x1p120, 0 }, { OP_RSQRT, 0x1p-148, 0, 0x1p74 },
    };
    static const Row f64[] = {
        { OP_EXP, -745.13, 0, 0x1p-1074 }, { OP_EXP, -746, 0, 0 }, { OP_EXP, 710, 0, (double)INFINITY }, { OP_EXP2, -1074, 0, 0x1p-1074 },
        { OP_EXP2, -1076, 0, 0 }, { OP_EXP2, 1023, 0, 0x1p1023 }, { OP_EXP2, 1024, 0, (double)INFINITY }, { OP_LOG2, 0x1p-1074, 0, -1074 },
        { OP_EXPM1, 0x1p-1074, 0, 0x1p-1074 }, { OP_LOG1P, -0x1p-1074, 0, -0x1p-1074 }, { OP_SIN, 0x1p-1074, 0, 0x1p-1074 },
        { OP_TAN, -0x1p-1074, 0, -0x1p-1074 }, { OP_ASIN, 0x1p-1074, 0, 0x1p-1074 }, { OP_ATAN, 0x1p-1074, 0, 0x1p-1074 },
        { OP_SINH, -0x1p-1074, 0, -0x1p-1074 }, { OP_SINH, 711, 0, (double)INFINITY }, { OP_TANH, 0x1p-1074, 0, 0x1p-1074 },
        { OP_HYPOT, 0x1p-1074, 0, 0x1p-1074 }, { OP_HYPOT, 0x3p1000, 0x4p1000, 0x5p1000 }, { OP_HYPOT, 0x3p-1060, 0x4p-1060, 0x5p-1060 },
        { OP_POW, 2, -1074, 0x1p-1074 }, { OP_POW, 2, 1024, (double)INFINITY }, { OP_POW, 0x1p-1074, 1, 0x1p-1074 },
        { OP_POW, -3, 9007199254740991.0, -(double)INFINITY }, { OP_POW, 10, 15, 1e15 },
    };
    static const mlc_type t32 = MLC_F32, t64 = MLC_F64;
    World w;
    world_open(&w);
    check_rows(&w, f32, sizeof f32 / sizeof *f32, &t32, 1);
    check_rows(&w, f64, sizeof f64 / sizeof *f64, &t64, 1);
    world_close(&w);
}
END_TEST

/* ---- errors on a sample ---- */

static long double rsqrt_l(long double x) {
    return 1 / sqrtl(x);
}

static long double sigmoid_l(long double x) {
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

typedef struct {
    Op op;
    long double (*one)(long double), (*two)(long double, long double);
    double bound[4]; /* f16, bf16, f32, f64: just above what is measured (docs/math.md) */
} Function;

static const Function functions[] = {
    { OP_EXP, expl, NULL, { 0.55, 0.52, 1.05, 1.2 } }, { OP_EXP2, exp2l, NULL, { 0.55, 0.52, 1.1, 1.2 } },
    { OP_EXPM1, expm1l, NULL, { 0.55, 0.52, 1.6, 2.4 } }, { OP_LOG, logl, NULL, { 0.55, 0.52, 1.2, 1 } },
    { OP_LOG2, log2l, NULL, { 0.55, 0.52, 1.4, 1.2 } }, { OP_LOG10, log10l, NULL, { 0.55, 0.52, 1.4, 1.2 } },
    { OP_LOG1P, log1pl, NULL, { 0.55, 0.52, 1.8, 1.6 } }, { OP_RSQRT, rsqrt_l, NULL, { 0.55, 0.52, 1.5, 1.5 } },
    { OP_SIN, sinl, NULL, { 0.55, 0.52, 1.6, 1.6 } }, { OP_COS, cosl, NULL, { 0.55, 0.52, 1.6, 1.6 } },
    { OP_TAN, tanl, NULL, { 0.55, 0.52, 2, 3 } }, { OP_ASIN, asinl, NULL, { 0.55, 0.52, 1.6, 2.6 } },
    { OP_ACOS, acosl, NULL, { 0.55, 0.52, 1.4, 1.6 } }, { OP_ATAN, atanl, NULL, { 0.55, 0.52, 1.5, 1.8 } },
    { OP_SINH, sinhl, NULL, { 0.55, 0.52, 1.8, 1.8 } }, { OP_COSH, coshl, NULL, { 0.55, 0.52, 1.6, 1.6 } },
    { OP_TANH, tanhl, NULL, { 0.55, 0.52, 1.5, 2.6 } }, { OP_ERF, erfl, NULL, { 0.55, 0.52, 1.4, 1.4 } },
    { OP_SIGMOID, sigmoid_l, NULL, { 0.55, 0.52, 1.1, 2.2 } }, { OP_POW, NULL, powl, { 0.55, 0.52, 0.6, 1.4 } },
    { OP_ATAN2, NULL, atan2l, { 0.55, 0.52, 1.8, 1.8 } }, { OP_HYPOT, NULL, hypotl, { 0.55, 0.52, 0.51, 1.2 } },
};

static double ulp_of(mlc_type t, long double ref) {
    static const int digits[] = { 11, 8, 24, 53 }, least[] = { -24, -133, -149, -1074 };
    int e, i = (int)t - MLC_F16;
    frexpl(ref, &e);
    return ldexp(1.0, e - digits[i] < least[i] ? least[i] : e - digits[i]);
}

/* Any bits, a moderate exponent, or near 1, in turn. */
static double sample(mlc_type t, uint64_t *s, int kind) {
    uint64_t z = *s = *s * 6364136223846793005u + 1442695040888963407u;
    z = (z ^ z >> 31) * 0x94d049bb133111ebu;
    z ^= z >> 29;
    if (kind % 3 == 0) return val_load(t, &z).f;
    double u = (double)(z >> 11) * 0x1p-53, sign = z & 1 ? -1 : 1;
    if (kind % 3 == 1) return val_round(t, sign * exp2(u * 24 - 14)).f;
    return val_round(t, sign * (1 + (u - 0.5) * exp2(-(double)(z % 20)))).f;
}

static void check_function(World *w, const Function *f, mlc_type t) {
    Program *p = derived(w, f->op, f->two ? 2 : 1, (mlc_type[]){ t, t });
    uint64_t seed = (uint64_t)f->op * 4 + (uint64_t)t;
    double bound = f->bound[(int)t - MLC_F16];
    for (int i = 0; i < 900; i++) {
        Value in[2] = { of_f(sample(t, &seed, i)), of_f(sample(t, &seed, i / 3)) };
        long double ref = f->two ? f->two((long double)in[0].f, (long double)in[1].f) : f->one((long double)in[0].f);
        double got = val_round(t, eval(p, in).f).f, rounded = val_round(t, (double)ref).f;
        bool same = val_equal(t, of_f(got), of_f(rounded)); /* special values, mostly */
        double e = (double)fabsl((long double)got - ref) / ulp_of(t, ref);
        if (!same && (!(e <= bound) || !signbit(got) != !signbit(rounded)))
            ck_abort_msg("%s_%s(%a, %a): %a, not %a: %g ulp", ir_ops[f->op].name, mlc_type_name(t), in[0].f, in[1].f, got, rounded, e);
    }
}

START_TEST(errors_are_bounded) {
    World w;
    world_open(&w);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int k = 0; k < 4; k++) check_function(&w, &functions[i], floats[k]);
    world_close(&w);
}
END_TEST

/* Arguments that lie nearest to multiples of pi/2 (Muller, Elementary Functions), and the greatest finite ones. */
START_TEST(large_angles) {
    static const struct {
        Op op;
        mlc_type t;
        double x, want;
    } rows[] = {
        { OP_COS, MLC_F64, 6381956970095103.0 * 0x1p797, -4.687165924254624e-19 },
        { OP_SIN, MLC_F64, 1e22, -0.8522008497671888 }, { OP_COS, MLC_F64, 1e300, -0.5753861119575491 },
        { OP_SIN, MLC_F64, 0x1.fffffffffffffp1023, 0.004961954789184062 }, { OP_SIN, MLC_F64, 16777217, 0 },
        { OP_SIN, MLC_F32, 0x1.fffffep127, -0.5218765 }, { OP_COS, MLC_F32, 0x1.fffffep127, 0.85302103 },
        { OP_SIN, MLC_F32, -131073, 0 }, { OP_TAN, MLC_F32, 131073, 0 }, { OP_COS, MLC_F32, 16367173.0 * 0x1p72, 0 },
        { OP_COS, MLC_F64, 0x1.921fb54442d18p0, 6.123233995736766e-17 }, { OP_SIN, MLC_F64, 0x1.921fb54442d18p1, 0 },
        { OP_TAN, MLC_F64, 0x1.921fb54442d18p20, 0 }, { OP_COS, MLC_F32, 0x1.921fb6p0, -4.371139e-8 }, { OP_SIN, MLC_F32, 0x1.921fb6p16, 0 },
    };
    World w;
    world_open(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_type t = rows[i].t;
        Value in = of_f(rows[i].x), got = eval(derived(&w, rows[i].op, 1, &t), &in);
        long double x = (long double)in.f, ref = rows[i].op == OP_SIN ? sinl(x) : rows[i].op == OP_COS ? cosl(x) : tanl(x);
        double e = (double)fabsl((long double)got.f - ref) / ulp_of(t, ref);
        ck_assert_msg(e < 2, "row %zu: %a, not %a", i, got.f, (double)ref);
        if (rows[i].want != 0) ck_assert_msg(fabs(got.f / rows[i].want - 1) < 1e-6, "row %zu: %.17g", i, got.f);
    }
    world_close(&w);
}
END_TEST

/* Best approximations of multiples of pi/2 m 2^e: what is left is as small as it gets. */
START_TEST(angles_next_to_multiples) {
    static const double x64[] = {
        0x1.61a3db8c8d129p+1023, 0x1.b1c15d78e7c7cp+1017, 0x1.7f6a4d2df7d7fp+1003, 0x1.3cd06d91bde34p+980, 0x1.ea17c46d23a3cp+959,
        0x1.0332fe835389ap+911, 0x1.6ac5b262ca1ffp+849, 0x1.1b21e01142fb4p+752, 0x1.6bf5d7abaf7c8p+561, 0x1.715b33a0d143ep+384,
        0x1.51856420e8c52p+251, 0x1.b930d680374c2p+151, 0x1.e0664dbedfec5p+82, 0x1.56a4aa740a5a7p+53, 0x1.9eb7148f354d6p+21,
        0x1.b951f1572eba5p+23, 0x1.9eb7148f354d6p+20, 0x1.67e57cdd4dc54p+15,
    };
    static const double x32[] = {
        0x1.7b9b4p+126, 0x1.b08c4ap+113, 0x1.f37c8ap+95, 0x1.13093p+76, 0x1.206ap+48, 0x1.1ffa28p+31, 0x1.4ac55cp+22, 0x1.9a48dep+17,
        0x1.9a48dep+16, 0x1.9a48dep+15,
    };
    static const struct {
        Op op;
        long double (*ref)(long double);
        double bound[2];
    } f[] = { { OP_SIN, sinl, { 1.6, 1.6 } }, { OP_COS, cosl, { 1.6, 1.6 } }, { OP_TAN, tanl, { 2, 4 } } };
    World w;
    world_open(&w);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            mlc_type t = k ? MLC_F64 : MLC_F32;
            Program *p = derived(&w, f[i].op, 1, &t);
            size_t n = k ? sizeof x64 / sizeof *x64 : sizeof x32 / sizeof *x32;
            for (size_t j = 0; j < 2 * n; j++) {
                double x = (k ? x64 : x32)[j / 2];
                Value in = of_f(j & 1 ? -x : x);
                long double ref = f[i].ref((long double)in.f);
                double e = (double)fabsl((long double)eval(p, &in).f - ref) / ulp_of(t, ref);
                ck_assert_msg(e < f[i].bound[k], "%s(%a): %g ulp", ir_ops[f[i].op].name, in.f, e);
            }
        }
    world_close(&w);
}
END_TEST

/* Every carry and every bit of the table matters for some argument: many, half of them near the greatest. */
START_TEST(large_angles_sampled) {
    World w;
    world_open(&w);
    static const mlc_type types[] = { MLC_F32, MLC_F64 };
    for (int k = 0; k < 2; k++) {
        mlc_type t = types[k];
        Program *p = derived(&w, OP_SIN, 1, &t);
        uint64_t s = 12345;
        for (int i = 0; i < 6000; i++) {
            int e2, top = t == MLC_F32 ? 128 : 1024;
            double m = frexp(sample(t, &s, 1), &e2);
            Value in = of_f(ldexp(m, top - i % (i & 1 ? 20 : top - 30)));
            long double ref = sinl((long double)in.f);
            double e = (double)fabsl((long double)eval(p, &in).f - ref) / ulp_of(t, ref);
            ck_assert_msg(e < 1.6, "sin(%a): %g ulp", in.f, e);
        }
    }
    world_close(&w);
}
END_TEST

Suite *math_suite(void) {
    Suite *s = suite_create("math");
    TCase *c = tcase_create("math");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, annex_f);
    tcase_add_test(c, ends_of_the_range);
    tcase_add_test(c, errors_are_bounded);
    tcase_add_test(c, large_angles);
    tcase_add_test(c, angles_next_to_multiples);
    tcase_add_test(c, large_angles_sampled);
    suite_add_tcase(s, c);
    return s;
}
