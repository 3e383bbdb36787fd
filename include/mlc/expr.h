/* mlc/expr.h - expressions: C numbers, Vars and accesses combined by the operators of ops.def.
 *
 * A value of type mlc_expr is either a node of a context or a C number not yet in one (an immediate).
 * Operators take anything that MLC_E accepts: every C arithmetic type, mlc_var, mlc_param, mlc_expr.
 * The context comes from the operands; an expression of immediates alone folds inside the value.
 *
 * An immediate remembers the type that C gave it (i32, u32, i64, u64, f32, f64).  Beside another
 * operand it takes that operand's type, which must hold it exactly (floats round to nearest);
 * alone, as a whole definition, it keeps its own.  A cast fixes the type for good: mlc_u8(3).
 *
 * Names: the plain functions (mlc_unary, mlc_binary, mlc_cast ...) are the ABI; the macros are sugar
 * over them and evaluate each argument once.  No operator fails at the call: a wrong one gives a poison
 * expression, whose message stays in the context (mlc_error) until mlc_error_clear; what it is put into is poison too. */
#ifndef MLC_EXPR_H
#define MLC_EXPR_H

#include <mlc/base.h>

/* A number where a Var or a Func is wanted, as in tile(x, y, 8, 8), is an error, not a pointer to address 8. */
#if defined __GNUC__ && !defined __cplusplus
#pragma GCC diagnostic error "-Wint-conversion"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlc_node mlc_node;

/* An expression.  `node` NULL: an immediate of type `type` whose value is `imm`. */
typedef struct {
    mlc_ctx *ctx;
    const mlc_node *node;
    union {
        int64_t i;
        double f;
    } imm;
    mlc_type type;
    bool typed; /* immediates: a cast has fixed the type, it no longer takes its neighbour's */
} mlc_expr;

struct Sym;
/* A Var or an RVar: an index that runs over the points of a definition. */
typedef struct {
    mlc_ctx *ctx;
    const struct Sym *sym;
} mlc_var;
/* A scalar argument of the program. */
typedef struct {
    mlc_ctx *ctx;
    const struct Sym *sym;
} mlc_param;

/* MLC_OP_ADD, MLC_OP_SELECT ...: the operators, numbered by their rows in ops.def. */
#pragma push_macro("OP")
#undef OP
#define OP(name, text, arity, cls, rule, prec) MLC_OP_##name,
typedef enum {
#include <mlc/ops.def>
    MLC_OP_COUNT
} mlc_op;
#undef OP
#pragma pop_macro("OP")

/* ---- C values, Vars and params as expressions; MLC_E(x) picks the right one ---- */

MLC_API mlc_expr mlc_from_bool(bool v);
MLC_API mlc_expr mlc_from_int(int v);
MLC_API mlc_expr mlc_from_uint(unsigned v);
MLC_API mlc_expr mlc_from_long(long v);
MLC_API mlc_expr mlc_from_ulong(unsigned long v);
MLC_API mlc_expr mlc_from_llong(long long v);
MLC_API mlc_expr mlc_from_ullong(unsigned long long v);
MLC_API mlc_expr mlc_from_float(float v);
MLC_API mlc_expr mlc_from_double(double v);
MLC_API mlc_expr mlc_from_ldouble(long double v); /* rounds to double */
MLC_API mlc_expr mlc_from_var(mlc_var v);
MLC_API mlc_expr mlc_from_param(mlc_param p);
MLC_API mlc_expr mlc_from_expr(mlc_expr e);

#ifndef __cplusplus
#define MLC_PICK(x) \
    _Generic((x), _Bool: mlc_from_bool, char: mlc_from_int, signed char: mlc_from_int, unsigned char: mlc_from_int, \
             short: mlc_from_int, unsigned short: mlc_from_int, int: mlc_from_int, unsigned: mlc_from_uint, \
             long: mlc_from_long, unsigned long: mlc_from_ulong, long long: mlc_from_llong, \
             unsigned long long: mlc_from_ullong, float: mlc_from_float, double: mlc_from_double, \
             long double: mlc_from_ldouble, mlc_var: mlc_from_var, mlc_param: mlc_from_param, mlc_expr: mlc_from_expr)

/* Any operand as an mlc_expr.  The GNU form names its argument once, so nesting costs no expansion; the
 * ISO form (other compilers, or MLC_ISO_ONLY) names it twice. */
#if defined __GNUC__ && !defined MLC_ISO_ONLY
#define MLC_E(x) MLC_E1(x, __COUNTER__)
#define MLC_E1(x, n) MLC_E2(x, n)
#define MLC_E2(x, n) __extension__({ __auto_type mlc_tmp_##n = (x); MLC_PICK(mlc_tmp_##n)(mlc_tmp_##n); })
#else
#define MLC_E(x) MLC_PICK(x)(x)
#endif
#endif

/* How many arguments (1 to 16), and MLC_E of each of up to 16, as `n, array`. */
#define MLC_NARG(...) MLC_NARG_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define MLC_NARG_(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, n, ...) n
#define MLC_CAT(a, b) MLC_CAT_(a, b)
#define MLC_CAT_(a, b) a##b
#define MLC_EACH(...) MLC_CAT(MLC_EACH_, MLC_NARG(__VA_ARGS__))(__VA_ARGS__)
#define MLC_EACH_1(a) MLC_E(a)
#define MLC_EACH_2(a, ...) MLC_E(a), MLC_EACH_1(__VA_ARGS__)
#define MLC_EACH_3(a, ...) MLC_E(a), MLC_EACH_2(__VA_ARGS__)
#define MLC_EACH_4(a, ...) MLC_E(a), MLC_EACH_3(__VA_ARGS__)
#define MLC_EACH_5(a, ...) MLC_E(a), MLC_EACH_4(__VA_ARGS__)
#define MLC_EACH_6(a, ...) MLC_E(a), MLC_EACH_5(__VA_ARGS__)
#define MLC_EACH_7(a, ...) MLC_E(a), MLC_EACH_6(__VA_ARGS__)
#define MLC_EACH_8(a, ...) MLC_E(a), MLC_EACH_7(__VA_ARGS__)
#define MLC_EACH_9(a, ...) MLC_E(a), MLC_EACH_8(__VA_ARGS__)
#define MLC_EACH_10(a, ...) MLC_E(a), MLC_EACH_9(__VA_ARGS__)
#define MLC_EACH_11(a, ...) MLC_E(a), MLC_EACH_10(__VA_ARGS__)
#define MLC_EACH_12(a, ...) MLC_E(a), MLC_EACH_11(__VA_ARGS__)
#define MLC_EACH_13(a, ...) MLC_E(a), MLC_EACH_12(__VA_ARGS__)
#define MLC_EACH_14(a, ...) MLC_E(a), MLC_EACH_13(__VA_ARGS__)
#define MLC_EACH_15(a, ...) MLC_E(a), MLC_EACH_14(__VA_ARGS__)
#define MLC_EACH_16(a, ...) MLC_E(a), MLC_EACH_15(__VA_ARGS__)
#define MLC_EXPRS(...) MLC_NARG(__VA_ARGS__), (mlc_expr[]){ MLC_EACH(__VA_ARGS__) }

/* ---- the operator functions ---- */

/* `op` (MLC_OP_...) on one, two or three operands. */
MLC_API mlc_expr mlc_unary(mlc_op op, mlc_expr a);
MLC_API mlc_expr mlc_binary(mlc_op op, mlc_expr a, mlc_expr b);
MLC_API mlc_expr mlc_ternary(mlc_op op, mlc_expr a, mlc_expr b, mlc_expr c);
/* On n operands: + * min max & | ^ && || group left to right; select is (cond, value, cond, value ...,
 * otherwise); mux is (which, v0, v1, ...); any other operator takes its own number. */
MLC_API mlc_expr mlc_nary(mlc_op op, int n, const mlc_expr *v);
/* The value of `e` in `type` (docs/semantics.md section 3: integers wrap, floats saturate into them). */
MLC_API mlc_expr mlc_cast(mlc_type type, mlc_expr e);
/* The bits of `e` as `type`, of the same width. */
MLC_API mlc_expr mlc_reinterpret(mlc_type type, mlc_expr e);
/* The nearest value of the integer type `type`; NaN gives 0. */
MLC_API mlc_expr mlc_saturate(mlc_type type, mlc_expr e);
/* `value`, once `cond` is known to hold: at a needed point where it does not, the call fails with `message`. */
MLC_API mlc_expr mlc_require_that(mlc_expr cond, mlc_expr value, const char *message);
/* v[0], printing the label and all n values wherever it is computed (once or more a point, in any order). */
MLC_API mlc_expr mlc_print_values(const char *label, int n, const mlc_expr *v);
/* A random value of type f32 (in [0, 1)), u32 or i32: a function of the seed, the definition's point and the
 * place of this call in the definition. */
MLC_API mlc_expr mlc_random(mlc_ctx *ctx, mlc_type type, mlc_expr seed);
/* Same, of the given place: calls with equal places in one definition are one value (text uses it). */
MLC_API mlc_expr mlc_random_place(mlc_ctx *ctx, mlc_type type, mlc_expr seed, int place);
/* No value: as an output's pure definition it keeps what the buffer holds. */
MLC_API mlc_expr mlc_undef(mlc_ctx *ctx, mlc_type type);
/* The type of an expression; MLC_VOID of a poison one, of an undefined Func or of a whole tuple. */
MLC_API mlc_type mlc_expr_type(mlc_expr e);

#define MLC_OP1(op, a) mlc_unary(MLC_OP_##op, MLC_E(a))
#define MLC_OP2(op, a, b) mlc_binary(MLC_OP_##op, MLC_E(a), MLC_E(b))
#define MLC_OP3(op, a, b, c) mlc_ternary(MLC_OP_##op, MLC_E(a), MLC_E(b), MLC_E(c))
#define MLC_OPN(op, ...) mlc_nary(MLC_OP_##op, MLC_EXPRS(__VA_ARGS__))

/* ---- arithmetic.  Integers wrap; / and % are Euclidean, x/0 = x%0 = 0 ---- */
#define mlc_add(a, b) MLC_OP2(ADD, a, b)
#define mlc_sub(a, b) MLC_OP2(SUB, a, b)
#define mlc_mul(a, b) MLC_OP2(MUL, a, b)
#define mlc_div(a, b) MLC_OP2(DIV, a, b)
#define mlc_mod(a, b) MLC_OP2(MOD, a, b)
#define mlc_neg(a) MLC_OP1(NEG, a)
#define mlc_abs(a) MLC_OP1(ABS, a)
#define mlc_plus(...) MLC_OPN(ADD, __VA_ARGS__)  /* a + b + ..., left to right */
#define mlc_times(...) MLC_OPN(MUL, __VA_ARGS__) /* a * b * ... */
#define mlc_min(...) MLC_OPN(MIN, __VA_ARGS__)   /* of two or more; NaN propagates, -0 < +0 */
#define mlc_max(...) MLC_OPN(MAX, __VA_ARGS__)
#define mlc_fma(a, b, c) MLC_OP3(FMA, a, b, c)   /* a * b + c rounded once */
#define mlc_rounded(a) MLC_OP1(ROUNDED, a)       /* keeps a product from fusing into an fma */
#define mlc_ipow(x, n) MLC_OP2(IPOW, x, n)       /* x to a literal integer power >= 0, by squaring */
#define mlc_absd(a, b) MLC_OP2(ABSD, a, b)       /* |a - b|, unsigned for integers */
#define mlc_sign(a) MLC_OP1(SIGN, a)
#define mlc_div_to_zero(a, b) MLC_OP2(DIV_TO_ZERO, a, b) /* C's / and % */
#define mlc_mod_to_zero(a, b) MLC_OP2(MOD_TO_ZERO, a, b)

/* ---- bits.  A shift by the width or more gives 0 (or the sign); a negative count shifts back ---- */
#define mlc_and(...) MLC_OPN(AND, __VA_ARGS__)
#define mlc_or(...) MLC_OPN(OR, __VA_ARGS__)
#define mlc_xor(...) MLC_OPN(XOR, __VA_ARGS__)
#define mlc_not(a) MLC_OP1(NOT, a)
#define mlc_shl(a, b) MLC_OP2(SHL, a, b)
#define mlc_shr(a, b) MLC_OP2(SHR, a, b)
#define mlc_popcount(a) MLC_OP1(POPCOUNT, a)
#define mlc_clz(a) MLC_OP1(CLZ, a) /* of 0: the width */
#define mlc_ctz(a) MLC_OP1(CTZ, a)

/* ---- comparison (IEEE), logic (no short circuit), selection (all operands are evaluated) ---- */
#define mlc_eq(a, b) MLC_OP2(EQ, a, b)
#define mlc_ne(a, b) MLC_OP2(NE, a, b)
#define mlc_lt(a, b) MLC_OP2(LT, a, b)
#define mlc_le(a, b) MLC_OP2(LE, a, b)
#define mlc_gt(a, b) MLC_OP2(GT, a, b)
#define mlc_ge(a, b) MLC_OP2(GE, a, b)
#define mlc_land(...) MLC_OPN(LAND, __VA_ARGS__)
#define mlc_lor(...) MLC_OPN(LOR, __VA_ARGS__)
#define mlc_lnot(a) MLC_OP1(LNOT, a)
#define mlc_select(...) MLC_OPN(SELECT, __VA_ARGS__) /* cond, value, [cond, value ...] otherwise */
#define mlc_mux(...) MLC_OPN(MUX, __VA_ARGS__)       /* which, v0, v1, ...; the last one when out of range */
#define mlc_clamp(x, lo, hi) MLC_OP3(CLAMP, x, lo, hi)
#define mlc_lerp(a, b, w) MLC_OP3(LERP, a, b, w)
#define mlc_smoothstep(lo, hi, x) MLC_OP3(SMOOTHSTEP, lo, hi, x)
#define mlc_min_num(a, b) MLC_OP2(MIN_NUM, a, b) /* numbers win over NaN */
#define mlc_max_num(a, b) MLC_OP2(MAX_NUM, a, b)
#define mlc_is_nan(a) MLC_OP1(IS_NAN, a)
#define mlc_is_inf(a) MLC_OP1(IS_INF, a)
#define mlc_is_finite(a) MLC_OP1(IS_FINITE, a)

/* ---- conversions ---- */
#define mlc_bool(e) mlc_cast(MLC_BOOL, MLC_E(e)) /* e != 0 */
#define mlc_i8(e) mlc_cast(MLC_I8, MLC_E(e))
#define mlc_i16(e) mlc_cast(MLC_I16, MLC_E(e))
#define mlc_i32(e) mlc_cast(MLC_I32, MLC_E(e))
#define mlc_i64(e) mlc_cast(MLC_I64, MLC_E(e))
#define mlc_u8(e) mlc_cast(MLC_U8, MLC_E(e))
#define mlc_u16(e) mlc_cast(MLC_U16, MLC_E(e))
#define mlc_u32(e) mlc_cast(MLC_U32, MLC_E(e))
#define mlc_u64(e) mlc_cast(MLC_U64, MLC_E(e))
#define mlc_f16(e) mlc_cast(MLC_F16, MLC_E(e))
#define mlc_bf16(e) mlc_cast(MLC_BF16, MLC_E(e))
#define mlc_f32(e) mlc_cast(MLC_F32, MLC_E(e))
#define mlc_f64(e) mlc_cast(MLC_F64, MLC_E(e))
#define mlc_index(e) mlc_cast(MLC_INDEX, MLC_E(e))
#define mlc_as(type, e) mlc_cast(type, MLC_E(e))
#define mlc_bits_as(type, e) mlc_reinterpret(type, MLC_E(e))
#define mlc_saturated(type, e) mlc_saturate(type, MLC_E(e))

/* ---- float rounding and functions (docs/math.md: errors in ulp) ---- */
#define mlc_sqrt(a) MLC_OP1(SQRT, a)
#define mlc_floor(a) MLC_OP1(FLOOR, a)
#define mlc_ceil(a) MLC_OP1(CEIL, a)
#define mlc_trunc(a) MLC_OP1(TRUNC, a)
#define mlc_round(a) MLC_OP1(ROUND, a)           /* ties to even */
#define mlc_round_away(a) MLC_OP1(ROUND_AWAY, a) /* ties away from zero */
#define mlc_fract(a) MLC_OP1(FRACT, a)
#define mlc_copysign(a, b) MLC_OP2(COPYSIGN, a, b)
#define mlc_hypot(a, b) MLC_OP2(HYPOT, a, b)
#define mlc_exp(a) MLC_OP1(EXP, a)
#define mlc_exp2(a) MLC_OP1(EXP2, a)
#define mlc_expm1(a) MLC_OP1(EXPM1, a)
#define mlc_log(a) MLC_OP1(LOG, a)
#define mlc_log2(a) MLC_OP1(LOG2, a)
#define mlc_log10(a) MLC_OP1(LOG10, a)
#define mlc_log1p(a) MLC_OP1(LOG1P, a)
#define mlc_pow(a, b) MLC_OP2(POW, a, b)
#define mlc_rsqrt(a) MLC_OP1(RSQRT, a)
#define mlc_sin(a) MLC_OP1(SIN, a)
#define mlc_cos(a) MLC_OP1(COS, a)
#define mlc_tan(a) MLC_OP1(TAN, a)
#define mlc_asin(a) MLC_OP1(ASIN, a)
#define mlc_acos(a) MLC_OP1(ACOS, a)
#define mlc_atan(a) MLC_OP1(ATAN, a)
#define mlc_atan2(a, b) MLC_OP2(ATAN2, a, b)
#define mlc_sinh(a) MLC_OP1(SINH, a)
#define mlc_cosh(a) MLC_OP1(COSH, a)
#define mlc_tanh(a) MLC_OP1(TANH, a)
#define mlc_erf(a) MLC_OP1(ERF, a)
#define mlc_sigmoid(a) MLC_OP1(SIGMOID, a)

/* ---- fixed point (integers) ---- */
#define mlc_widening_add(a, b) MLC_OP2(WIDENING_ADD, a, b) /* result twice as wide */
#define mlc_widening_sub(a, b) MLC_OP2(WIDENING_SUB, a, b) /* and signed */
#define mlc_widening_mul(a, b) MLC_OP2(WIDENING_MUL, a, b)
#define mlc_saturating_add(a, b) MLC_OP2(SATURATING_ADD, a, b)
#define mlc_saturating_sub(a, b) MLC_OP2(SATURATING_SUB, a, b)
#define mlc_halving_add(a, b) MLC_OP2(HALVING_ADD, a, b) /* (a + b) >> 1 without overflow */
#define mlc_halving_sub(a, b) MLC_OP2(HALVING_SUB, a, b)
#define mlc_rounding_halving_add(a, b) MLC_OP2(ROUNDING_HALVING_ADD, a, b)
#define mlc_rounding_shl(a, b) MLC_OP2(ROUNDING_SHL, a, b)
#define mlc_rounding_shr(a, b) MLC_OP2(ROUNDING_SHR, a, b)
#define mlc_mul_shr(a, b, c) MLC_OP3(MUL_SHR, a, b, c) /* (a * b) >> c without overflow, saturated */
#define mlc_rounding_mul_shr(a, b, c) MLC_OP3(ROUNDING_MUL_SHR, a, b, c)

/* ---- hints and effects ---- */
#define mlc_likely(a) MLC_OP1(LIKELY, a) /* the operand of a min, max, select or % that the steady state takes */
#define mlc_likely_if_innermost(a) MLC_OP1(LIKELY_INNER, a)
#define mlc_require(cond, value, message) mlc_require_that(MLC_E(cond), MLC_E(value), message)
#define mlc_print(label, ...) mlc_print_values(label, MLC_EXPRS(__VA_ARGS__))
#define mlc_random_f32(ctx, seed) mlc_random(ctx, MLC_F32, MLC_E(seed))
#define mlc_random_u32(ctx, seed) mlc_random(ctx, MLC_U32, MLC_E(seed))
#define mlc_random_i32(ctx, seed) mlc_random(ctx, MLC_I32, MLC_E(seed))

#ifdef __cplusplus
}
#endif
#endif
