/* test_make.c - canonical builders: whatever they fold or drop, the value stays, for every operator, type
 * and hostile operand; and the shapes that other passes rely on. */
#include "ir/ir.h"

#include <check.h>
#include <math.h>
#include <string.h>

Suite *make_suite(void);

static Fault fault;
static Arena arena;
static Interner interner, *I = &interner;
static Sym sym[MLC_TYPE_COUNT]; /* a variable of each type */

static void setup(void) {
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    ir_interner_init(I, &arena, NULL);
    for (int t = 0; t < MLC_TYPE_COUNT; t++)
        sym[t] = (Sym){ .name = mlc_type_name((mlc_type)t), .kind = SYM_PARAM, .type = (mlc_type)t };
}

static void teardown(void) {
    arena_free(&arena);
}

static const Node *var(mlc_type t) {
    return ir_var(I, &sym[t]);
}

/* Values on which identities break, of type t; returns how many. */
static int hostile(mlc_type t, Value *v) {
    const double f[] = { (double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0, 0x1p-149, -0x1p-140, 1, -1,
                         0.5, 2.5, -128.75, 255.5, 65504, 3e9, -1e19, 0x1p64, 0x1.fffffep127, 0x1.0000000000001p0 };
    const int64_t i[] = { 0, 1, 2, 3, 7, 8, 31, 64, 127, 128, 200, 255, -1, -2, -5, 32767, 65535, INT32_MAX, INT32_MIN,
                          (int64_t)1 << 53 | 1, INT64_MAX, INT64_MIN, INT64_MIN + 1 };
    int n = 0, count = (int)(ty_is_float(t) ? sizeof f / sizeof *f : sizeof i / sizeof *i);
    for (int k = 0; k < count; k++) {
        v[n] = ty_is_float(t) ? val_round(t, f[k]) : val_wrap(t, i[k]);
        bool known = false;
        for (int j = 0; j < n; j++) known |= val_equal(t, v[j], v[n]);
        n += !known;
    }
    return n;
}

/* The value of e where every variable is v. */
static Value eval(const Node *e, Value v) {
    Value k[3];
    if (e->op == OP_VAR) return v;
    if (e->op == OP_CONST) return ir_value(e);
    for (int i = 0; i < e->n; i++) k[i] = eval(e->kid[i], v);
    mlc_type t = (mlc_type)e->kid[0]->type;
    if (e->op == OP_CAST) return val_cast((mlc_type)e->type, t, k[0]);
    return val_op((Op)e->op, t, e->n > 1 ? (mlc_type)e->kid[1]->type : MLC_VOID, k);
}

static bool legal(Op op, mlc_type t) {
    if (ir_ops[op].cls != CLASS_PRIM && op != OP_GT && op != OP_GE) return false;
    switch (ir_ops[op].rule) {
    case RULE_NUM: return t != MLC_BOOL;
    case RULE_FLT: return ty_is_float(t);
    case RULE_INT: case RULE_SHIFT: return !ty_is_float(t) && t != MLC_BOOL;
    case RULE_BITS: return !ty_is_float(t);
    case RULE_CMP: case RULE_SAME: return true;
    case RULE_LOGIC: return t == MLC_BOOL;
    default: return false;
    }
}

static void same(Op op, mlc_type t, const Node *built, Value v, const Value *operands) {
    mlc_type result = ir_ops[op].rule == RULE_CMP || ir_ops[op].rule == RULE_LOGIC ? MLC_BOOL : t;
    Value want = val_op(op, t, t, operands), got = eval(built, v);
    ck_assert_int_eq(built->type, result);
    ck_assert_msg(val_equal(result, got, want), "%s on %s of %lld (%a), %lld (%a): %lld (%a), want %lld (%a)",
                  ir_ops[op].text, mlc_type_name(t), (long long)operands[0].i, operands[0].f,
                  (long long)operands[1].i, operands[1].f, (long long)got.i, got.f, (long long)want.i, want.f);
}

/* A variable beside each constant, on either side, itself beside itself, and constants alone. */
START_TEST(values_are_kept) {
    mlc_type t = (mlc_type)_i;
    Value c[32];
    int n = hostile(t, c);
    const Node *x = var(t);
    if (ty_is_half(t)) return; /* canonical expressions do not compute on halves */
    for (int o = 0; o < OP_COUNT; o++) {
        Op op = (Op)o;
        if (!legal(op, t) || ir_ops[op].arity > 2) continue;
        for (int a = 0; a < n; a++) {
            Value xx[2] = { c[a], c[a] };
            if (ir_ops[op].arity == 1) {
                same(op, t, ir_make1(I, op, x), c[a], xx);
                same(op, t, ir_make1(I, op, ir_const(I, t, c[a])), c[a], xx);
                continue;
            }
            same(op, t, ir_make2(I, op, x, x), c[a], xx);
            for (int b = 0; b < n; b++) {
                Value ab[2] = { c[a], c[b] };
                const Node *ca = ir_const(I, t, c[a]), *cb = ir_const(I, t, c[b]);
                same(op, t, ir_make2(I, op, x, cb), c[a], ab);
                same(op, t, ir_make2(I, op, ca, x), c[b], ab);
                same(op, t, ir_make2(I, op, ca, cb), c[a], ab);
            }
        }
    }
}
END_TEST

/* Two operators with constants on top of each other: merged or not, the value stays. */
START_TEST(chains_keep_values) {
    static const Op ops[] = { OP_ADD, OP_SUB, OP_MUL, OP_MIN, OP_XOR, OP_DIV, OP_SHL };
    mlc_type t = (mlc_type)_i;
    Value c[32];
    int n = hostile(t, c);
    if (ty_is_half(t) || t == MLC_BOOL) return;
    for (int k = 0; k < 49; k++) {
        Op first = ops[k / 7], second = ops[k % 7];
        if (!legal(first, t) || !legal(second, t)) continue;
        for (int a = k % 2; a < n; a += 2) /* half of the pairs for each two operators: all for some */
            for (int b = k / 7 % 2; b < n; b += 2) {
                const Node *inner = ir_make2(I, first, var(t), ir_const(I, t, c[a]));
                const Node *outer = ir_make2(I, second, inner, ir_const(I, t, c[b]));
                for (int v = k % 3; v < n; v += 3) {
                    Value one[2] = { c[v], c[a] }, two[2] = { val_op(first, t, t, one), c[b] };
                    same(second, t, outer, c[v], two);
                }
            }
    }
}
END_TEST

START_TEST(cast_chains_keep_values) {
    mlc_type from = (mlc_type)_i;
    Value c[32];
    int n = hostile(from, c);
    for (int m = MLC_BOOL; m < MLC_TYPE_COUNT; m++)
        for (int t = MLC_BOOL; t < MLC_TYPE_COUNT; t++) {
            mlc_type mid = (mlc_type)m, to = (mlc_type)t;
            const Node *e = ir_cast(I, to, ir_cast(I, mid, var(from)));
            ck_assert_int_eq(e->type, to);
            for (int v = 0; v < n; v++) {
                Value want = val_cast(to, mid, val_cast(mid, from, c[v])), got = eval(e, c[v]);
                ck_assert_msg(val_equal(to, got, want), "%s -> %s -> %s of %lld (%a): %lld (%a)", mlc_type_name(from),
                              mlc_type_name(mid), mlc_type_name(to), (long long)c[v].i, c[v].f, (long long)got.i, got.f);
            }
        }
}
END_TEST

/* ---- shapes ---- */

static const Node *num(mlc_type t, int64_t v) {
    return ir_int(I, t, v);
}

START_TEST(integer_identities) {
    for (int k = MLC_I8; k <= MLC_INDEX; k++) {
        mlc_type t = (mlc_type)k;
        if (ty_is_float(t)) continue;
        const Node *x = var(t), *zero = num(t, 0), *one = num(t, 1);
        ck_assert(ir_add(I, x, zero) == x && ir_add(I, zero, x) == x && ir_mul(I, one, x) == x);
        ck_assert(ir_mul(I, x, zero) == zero && ir_sub(I, x, x) == zero && ir_min(I, x, x) == x);
        ck_assert(ir_add(I, num(t, 5), x) == ir_add(I, x, num(t, 5)));
        ck_assert(ir_sub(I, ir_add(I, x, num(t, 5)), num(t, 3)) == ir_add(I, x, num(t, 2)));
        ck_assert(ir_sub(I, ir_add(I, x, num(t, 3)), num(t, 5)) == ir_sub(I, x, num(t, 2)));
        ck_assert(ir_add(I, ir_sub(I, x, num(t, 3)), num(t, 3)) == x);
        ck_assert(ir_mul(I, ir_mul(I, x, num(t, 3)), num(t, 5)) == ir_mul(I, x, num(t, 15)) || t == MLC_U64);
        if (!ty_is_unsigned(t)) ck_assert(ir_add(I, x, num(t, -3)) == ir_sub(I, x, num(t, 3)));
    }
    /* constants whose sum wraps stay apart: intervals would lose by it */
    const Node *u = var(MLC_U8);
    ck_assert(ir_add(I, ir_add(I, u, num(MLC_U8, 200)), num(MLC_U8, 100))->kid[0]->op == OP_ADD);
    ck_assert(ir_add(I, var(MLC_U64), num(MLC_U64, -3))->op == OP_ADD);
    const Node *far = ir_add(I, var(MLC_U64), num(MLC_U64, INT64_MIN));
    ck_assert(ir_add(I, far, num(MLC_U64, 1))->kid[0] == far);
}
END_TEST

START_TEST(float_identities) {
    for (int k = MLC_F32; k <= MLC_F64; k++) {
        mlc_type t = (mlc_type)k;
        const Node *x = var(t), *zero = ir_flt(I, t, 0), *minus = ir_flt(I, t, -0.0);
        ck_assert(ir_add(I, x, minus) == x && ir_sub(I, x, zero) == x && ir_mul(I, x, ir_flt(I, t, 1)) == x);
        /* not: x + 0 of -0, x * 0 and x - x of inf, x / x of 0 */
        ck_assert(ir_add(I, x, zero) != x && ir_sub(I, x, minus) != x && ir_mul(I, x, zero)->op == OP_MUL);
        ck_assert(ir_sub(I, x, x)->op == OP_SUB && ir_make2(I, OP_DIV, x, x)->op == OP_DIV);
        ck_assert(ir_make2(I, OP_EQ, x, x)->op == OP_EQ && ir_is(ir_make2(I, OP_LT, x, x), 0));
        ck_assert(ir_make1(I, OP_LNOT, ir_make2(I, OP_LT, x, zero))->op == OP_LNOT);
        ck_assert(ir_make1(I, OP_LNOT, ir_make2(I, OP_EQ, x, zero))->op == OP_NE);
    }
}
END_TEST

START_TEST(select_and_compare_shapes) {
    const Node *c = var(MLC_BOOL), *x = var(MLC_F32), *y = ir_flt(I, MLC_F32, 2), *yes = ir_bool(I, true), *no = ir_bool(I, false);
    ck_assert(ir_make3(I, OP_SELECT, yes, x, y) == x && ir_make3(I, OP_SELECT, no, x, y) == y);
    ck_assert(ir_make3(I, OP_SELECT, c, x, x) == x && ir_make3(I, OP_SELECT, c, yes, no) == c);
    ck_assert(ir_make3(I, OP_SELECT, ir_make1(I, OP_LNOT, c), x, y) == ir_make3(I, OP_SELECT, c, y, x));
    ck_assert(ir_make2(I, OP_GT, x, y) == ir_make2(I, OP_LT, y, x) && ir_make2(I, OP_GE, x, y) == ir_make2(I, OP_LE, y, x));
    ck_assert(ir_make1(I, OP_LIKELY, yes) == yes);
    const Node *three[3] = { ir_flt(I, MLC_F32, 0x1.000002p0), ir_flt(I, MLC_F32, 0x1.000002p0), ir_flt(I, MLC_F32, -1) };
    ck_assert(ir_make3(I, OP_FMA, three[0], three[1], three[2]) == ir_flt(I, MLC_F32, 0x1.000001p-22));
}
END_TEST

START_TEST(cast_shapes) {
    const Node *x = var(MLC_I32), *h = var(MLC_BF16), *u = var(MLC_U8);
    ck_assert(ir_cast(I, MLC_I32, x) == x && ir_cast(I, MLC_I32, ir_cast(I, MLC_INDEX, x)) == x);
    ck_assert(ir_cast(I, MLC_BF16, ir_cast(I, MLC_F32, h)) == h);
    ck_assert(ir_cast(I, MLC_I32, ir_cast(I, MLC_F32, u)) == ir_cast(I, MLC_I32, u));
    ck_assert(ir_cast(I, MLC_I8, ir_cast(I, MLC_F32, u))->kid[0]->op == OP_CAST); /* saturates, i8(u) wraps */
    ck_assert(ir_cast(I, MLC_F32, ir_cast(I, MLC_BF16, var(MLC_F32)))->kid[0]->op == OP_CAST); /* a rounding stays */
    ck_assert(ir_cast(I, MLC_INDEX, ir_cast(I, MLC_I32, var(MLC_INDEX)))->kid[0]->op == OP_CAST);
}
END_TEST

START_TEST(operands_are_replaced_through_the_builders) {
    const Node *x = var(MLC_INDEX), *e = ir_make2(I, OP_LT, ir_add(I, ir_mul(I, x, num(MLC_INDEX, 4)), x), num(MLC_INDEX, 9));
    PtrMap m;
    pm_init(&m, &arena);
    pm_put(&m, &sym[MLC_INDEX], (void *)(uintptr_t)num(MLC_INDEX, 2));
    ck_assert(ir_is(ir_substitute(I, e, &m), 0));
    pm_put(&m, &sym[MLC_INDEX], (void *)(uintptr_t)x);
    ck_assert(ir_substitute(I, e, &m) == e);
    const Node *poison = ir_node(I, OP_POISON, MLC_VOID, 0, 0, 0, NULL), *kids[2] = { x, poison };
    ck_assert(ir_with_kids(I, ir_add(I, x, x), kids) == poison);
}
END_TEST

/* x * 0 is 0, but a print in x must fire and a require in it must hold */
START_TEST(effects_are_not_dropped) {
    const Node *x = var(MLC_I32), *zero = num(MLC_I32, 0);
    ck_assert(!ir_has_effect(I, x));
    const Node *p = ir_node(I, OP_PRINT, MLC_I32, (uint64_t)(uintptr_t)ir_text(I, "p"), 0, 1, &x);
    const Node *sum = ir_add(I, p, num(MLC_I32, 1));
    ck_assert(ir_has_effect(I, sum) && !ir_has_effect(I, x));
    ck_assert(ir_mul(I, sum, zero)->op == OP_MUL && ir_sub(I, sum, sum)->op == OP_SUB && ir_add(I, sum, zero) == sum);
    ck_assert(ir_make3(I, OP_SELECT, ir_make2(I, OP_LT, sum, x), x, x)->op == OP_SELECT);
    ck_assert(ir_mul(I, x, zero) == zero);
    Interner over;
    ir_interner_init(&over, &arena, I);
    ck_assert(ir_mul(&over, sum, zero)->op == OP_MUL);
}
END_TEST

Suite *make_suite(void) {
    Suite *s = suite_create("make");
    TCase *t = tcase_create("make");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, values_are_kept, MLC_BOOL, MLC_TYPE_COUNT);
    tcase_add_loop_test(t, chains_keep_values, MLC_BOOL, MLC_TYPE_COUNT);
    tcase_add_loop_test(t, cast_chains_keep_values, MLC_BOOL, MLC_TYPE_COUNT);
    tcase_add_test(t, integer_identities);
    tcase_add_test(t, float_identities);
    tcase_add_test(t, select_and_compare_shapes);
    tcase_add_test(t, cast_shapes);
    tcase_add_test(t, operands_are_replaced_through_the_builders);
    tcase_add_test(t, effects_are_not_dropped);
    suite_add_tcase(s, t);
    return s;
}
