/* test_canon.c - the canonical form: where an fma forms and where not, roundings of halves, derived
 * operators.  Rows are (as written, canonical), both as text. */
#include "algorithm/algorithm.h"

#include <mlc.h>

#include <check.h>
#include <string.h>

static mlc_ctx *ctx;
static mlc_var x;
static mlc_expr a, b, c, d, h, k, g, i, u, w;
static mlc_func fh;

static mlc_expr param(const char *name, mlc_type type) {
    return mlc_from_param(mlc_param_new(ctx, name, type));
}

static void setup(void) {
    ctx = mlc_ctx_new();
    x = mlc_var_new(ctx, "x");
    a = param("a", MLC_F32);
    b = param("b", MLC_F32);
    c = param("c", MLC_F32);
    d = param("d", MLC_F32);
    h = param("h", MLC_F16);
    k = param("k", MLC_F16);
    g = param("g", MLC_BF16);
    i = param("i", MLC_I32);
    u = param("u", MLC_U8);
    w = param("w", MLC_F64);
    fh = mlc_input_new(ctx, "fh", MLC_F16, 1);
}

static void teardown(void) {
    mlc_ctx_free(ctx);
}

/* Compares the canonical form of e, as the value of a definition of e's type, with text. */
static void same(mlc_expr e, const char *text, int line) {
    ck_assert_msg(e.node && e.node->op != OP_POISON, "line %d: %s", line, mlc_error(ctx));
    const Node *r = alg_canonical(&ctx->ir, e.node, (mlc_type)e.node->type);
    const char *have = ir_show(&ctx->ir, r);
    ck_assert_msg(!strcmp(have, text), "line %d: %s, not %s", line, have, text);
}
#define SAME(e, text) same(e, text, __LINE__)

START_TEST(fma_forms) {
    SAME(mlc_add(mlc_mul(a, b), c), "fma(a, b, c)");
    SAME(mlc_add(c, mlc_mul(a, b)), "fma(a, b, c)");
    SAME(mlc_sub(mlc_mul(a, b), c), "fma(a, b, -c)");
    SAME(mlc_sub(c, mlc_mul(a, b)), "fma(-a, b, c)");
    SAME(mlc_add(mlc_mul(a, b), mlc_mul(c, d)), "fma(a, b, c * d)");
    SAME(mlc_sub(mlc_mul(a, b), mlc_mul(c, d)), "fma(a, b, -(c * d))");
    SAME(mlc_add(mlc_neg(mlc_mul(a, b)), c), "fma(-a, b, c)");
    SAME(mlc_sub(c, mlc_neg(mlc_mul(a, b))), "fma(a, b, c)");
    SAME(mlc_sub(mlc_neg(mlc_mul(a, b)), c), "fma(-a, b, -c)");
    SAME(mlc_add(mlc_neg(mlc_neg(mlc_mul(a, b))), c), "fma(a, b, c)");
    SAME(mlc_plus(mlc_mul(a, b), mlc_mul(c, d), mlc_mul(a, d)), "fma(a, d, fma(a, b, c * d))");
    SAME(mlc_plus(a, b, mlc_mul(c, d)), "fma(c, d, a + b)");
    SAME(mlc_mul(mlc_add(mlc_mul(a, b), c), d), "fma(a, b, c) * d");
    mlc_expr p = mlc_mul(a, b); /* used twice: fuses at each */
    SAME(mlc_sub(mlc_add(p, c), mlc_sub(p, d)), "fma(a, b, c) - fma(a, b, -d)");
    SAME(mlc_sub(p, p), "fma(a, b, -(a * b))");
    SAME(mlc_add(mlc_mul(w, w), w), "fma(w, w, w)");
    SAME(mlc_add(mlc_mul(a, 2), c), "fma(a, 2.0, c)");
}
END_TEST

START_TEST(fma_does_not_form) {
    SAME(mlc_add(mlc_rounded(mlc_mul(a, b)), c), "a * b + c");
    SAME(mlc_add(mlc_mul(i, i), 1), "i * i + 1");
    SAME(mlc_add(mlc_select(mlc_lt(a, b), mlc_mul(a, b), c), d), "select(a < b, a * b, c) + d");
    SAME(mlc_add(mlc_f64(mlc_mul(a, b)), w), "f64(a * b) + w");
    SAME(mlc_add(mlc_likely(mlc_mul(a, b)), c), "likely(a * b) + c");
    SAME(mlc_add(mlc_div(a, b), c), "a / b + c");
    SAME(mlc_fma(a, b, mlc_mul(c, d)), "fma(a, b, c * d)");
    SAME(mlc_mul(mlc_add(a, b), c), "(a + b) * c");
}
END_TEST

START_TEST(halves_hold_f32) {
    SAME(h, "h");
    SAME(mlc_add(h, k), "f16(f32(h) + f32(k))");
    SAME(mlc_f32(mlc_add(h, k)), "f32(h) + f32(k)");
    SAME(mlc_f32(mlc_f16(mlc_add(h, k))), "f32(f16(f32(h) + f32(k)))");
    SAME(mlc_add(mlc_mul(h, k), h), "f16(fma(f32(h), f32(k), f32(h)))");
    SAME(mlc_add(mlc_f16(mlc_mul(h, k)), h), "f16(f32(f16(f32(h) * f32(k))) + f32(h))");
    SAME(mlc_add(h, 0.1), "f16(f32(h) + 0.1)");
    SAME(mlc_lt(mlc_add(h, k), k), "f32(h) + f32(k) < f32(k)");
    SAME(mlc_select(mlc_lt(h, k), h, 1.5), "f16(select(f32(h) < f32(k), f32(h), 1.5))");
    SAME(mlc_add(h, a), "f32(h) + a");
    SAME(mlc_bf16(h), "bf16(h)");
    SAME(mlc_f16(w), "f16(w)");
    SAME(mlc_f16(i), "f16(i)");
    SAME(mlc_add(mlc_f16(w), h), "f16(f32(f16(w)) + f32(h))");
    SAME(mlc_add(g, i), "bf16(f32(g) + f32(bf16(i)))");
    SAME(mlc_at(fh, x), "fh(x)");
    SAME(mlc_neg(mlc_at(fh, x)), "f16(-f32(fh(x)))");
    SAME(mlc_bits_as(MLC_U16, h), "reinterpret_u16(h)");
    SAME(mlc_bits_as(MLC_U16, mlc_add(h, k)), "reinterpret_u16(f16(f32(h) + f32(k)))");
    SAME(mlc_min(h, k), "f16(min(f32(h), f32(k)))");
    SAME(mlc_plus(h, k, h), "f16(f32(h) + f32(k) + f32(h))");
}
END_TEST

START_TEST(operators_go) {
    SAME(mlc_gt(a, b), "b < a");
    SAME(mlc_ge(a, b), "b <= a");
    SAME(mlc_clamp(a, 0, 1), "min(max(a, 0.0), 1.0)");
    SAME(mlc_mod(a, b), "fma(-floor(a / b), b, a)");
    SAME(mlc_mod(u, 3), "u % 3");
    SAME(mlc_mux(i, a, b, c), "select(i == 0, a, i == 1, b, c)");
    SAME(mlc_select(mlc_lt(a, b), 1, mlc_lt(b, c), 2, u), "select(a < b, 1, b < c, 2, u)");
    SAME(mlc_ipow(a, 3), "a * (a * a)");
    SAME(mlc_likely(a), "likely(a)");
    SAME(mlc_at(fh, mlc_add(x, u)), "fh(index(i32(x) + i32(u)))");
}
END_TEST

/* No node of a derived or as-written operator, and no arithmetic in a half, remains of any operator. */
static void check_node(void *user, const Node *e) {
    OpClass cls = ir_ops[e->op].cls;
    ck_assert_msg(cls == CLASS_LEAF || cls == CLASS_PRIM, "%s remains in %s", ir_ops[e->op].text, (const char *)user);
    bool half = ty_is_half((mlc_type)e->type);
    for (int n = 0; n < e->n; n++) half |= ty_is_half((mlc_type)e->kid[n]->type);
    bool moves = cls == CLASS_LEAF || e->op == OP_CAST || e->op == OP_REINTERPRET;
    ck_assert_msg(!half || moves, "%s in a half type in %s", ir_ops[e->op].text, (const char *)user);
}

START_TEST(all_operators_end_canonical) {
    const mlc_type types[] = { MLC_BOOL, MLC_U8, MLC_I16, MLC_U32, MLC_I32, MLC_U64, MLC_I64, MLC_F16, MLC_BF16, MLC_F32, MLC_F64, MLC_INDEX };
    int built = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        mlc_expr v = param(arena_printf(&ctx->arena, "p%zu", t), types[t]);
        mlc_expr q = types[t] == MLC_BOOL ? v : param(arena_printf(&ctx->arena, "q%zu", t), types[t]);
        for (int op = 0; op < MLC_OP_COUNT; op++) {
            int n = ir_ops[op].arity;
            if (ir_ops[op].cls == CLASS_LEAF || ir_ops[op].rule == RULE_CAST || n < 1) continue;
            mlc_expr third = op == MLC_OP_LERP && mlc_expr_type(v) < MLC_F16 ? mlc_from_float(0.5f) : v;
            mlc_expr kid[3] = { v, op == MLC_OP_IPOW ? mlc_from_int(5) : q, third };
            if (op == MLC_OP_SELECT) kid[0] = mlc_eq(v, q);
            mlc_expr e = mlc_nary((mlc_op)op, n, kid);
            if (mlc_expr_type(e) == MLC_VOID) { /* a wrong type for it: a poison, never a crash */
                ck_assert_int_eq(e.node->op, OP_POISON);
                mlc_error_clear(ctx);
                continue;
            }
            mlc_type type = mlc_expr_type(e);
            const Node *r = alg_canonical(&ctx->ir, e.node, type);
            ck_assert_msg(r->type == type, "%s of %s", ir_ops[op].name, mlc_type_name(types[t]));
            ir_visit(&ctx->arena, r, check_node, (void *)(uintptr_t)ir_ops[op].name);
            built++;
        }
    }
    ck_assert_int_gt(built, 500);
}
END_TEST

/* A chain of a hundred thousand operators costs no C stack. */
START_TEST(deep_expressions) {
    mlc_expr e = a;
    for (int n = 0; n < 100000; n++) e = mlc_add(e, mlc_mul(b, c));
    const Node *r = alg_canonical(&ctx->ir, e.node, MLC_F32);
    int depth = 0;
    for (; r->op == OP_FMA; r = r->kid[2]) depth++;
    ck_assert_int_eq(depth, 100000);
}
END_TEST

Suite *canon_suite(void);
Suite *canon_suite(void) {
    Suite *s = suite_create("canon");
    TCase *t = tcase_create("canonical");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, fma_forms);
    tcase_add_test(t, fma_does_not_form);
    tcase_add_test(t, halves_hold_f32);
    tcase_add_test(t, operators_go);
    tcase_add_test(t, all_operators_end_canonical);
    tcase_add_test(t, deep_expressions);
    suite_add_tcase(s, t);
    return s;
}
