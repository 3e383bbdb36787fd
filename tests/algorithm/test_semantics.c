/* test_semantics.c - the rules of docs/semantics.md about types and about the canonical form, a row each. */
#include "algorithm/algorithm.h"

#include <check.h>
#include <string.h>

Suite *semantics_suite(void);

static Fault fault;
static Arena arena;
static Interner interner, *I = &interner;
static Sym sym[MLC_TYPE_COUNT][3]; /* a, b and c of each type */

static void setup(void) {
    static const char *const names[] = { "a", "b", "c" };
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    ir_interner_init(I, &arena, NULL);
    for (int t = 0; t < MLC_TYPE_COUNT; t++)
        for (int k = 0; k < 3; k++) sym[t][k] = (Sym){ .name = names[k], .kind = SYM_PARAM, .type = (mlc_type)t };
}

static void teardown(void) {
    arena_free(&arena);
}

static const Node *var(mlc_type t, int k) {
    return ir_var(I, &sym[t][k]);
}

/* ---- types: VOID is an error ---- */

static const struct {
    Op op;
    mlc_type a, b, want;
} typing[] = {
    { OP_ADD, MLC_U8, MLC_U8, MLC_U8 }, /* no promotion to int */
    { OP_ADD, MLC_U8, MLC_U16, MLC_U16 },
    { OP_MUL, MLC_I8, MLC_I64, MLC_I64 },
    { OP_MUL, MLC_U8, MLC_I32, MLC_I32 }, /* unsigned meets a strictly wider signed */
    { OP_ADD, MLC_U32, MLC_I32, MLC_VOID },
    { OP_ADD, MLC_U8, MLC_I8, MLC_VOID },
    { OP_ADD, MLC_I32, MLC_F32, MLC_F32 },
    { OP_ADD, MLC_I64, MLC_F16, MLC_F16 }, /* integer meets float: the float */
    { OP_ADD, MLC_F16, MLC_F32, MLC_F32 },
    { OP_ADD, MLC_F16, MLC_BF16, MLC_VOID },
    { OP_ADD, MLC_F32, MLC_F64, MLC_F64 },
    { OP_ADD, MLC_BOOL, MLC_I32, MLC_VOID },
    { OP_ADD, MLC_BOOL, MLC_BOOL, MLC_VOID },
    { OP_AND, MLC_BOOL, MLC_BOOL, MLC_BOOL },
    { OP_LT, MLC_U8, MLC_I16, MLC_BOOL },
    { OP_ADD, MLC_INDEX, MLC_INDEX, MLC_INDEX },
    { OP_ADD, MLC_INDEX, MLC_U8, MLC_I32 }, /* an index that meets data becomes i32 */
    { OP_ADD, MLC_INDEX, MLC_I64, MLC_I64 },
    { OP_MUL, MLC_INDEX, MLC_F32, MLC_F32 },
    { OP_SHL, MLC_U8, MLC_I32, MLC_U8 }, /* the left's type */
    { OP_LAND, MLC_BOOL, MLC_I32, MLC_VOID },
};

START_TEST(types_unify) {
    const Node *kids[2] = { var(typing[_i].a, 0), var(typing[_i].b, 1) };
    for (int swap = 0; swap < (ir_ops[typing[_i].op].rule == RULE_SHIFT ? 1 : 2); swap++) {
        const Node *two[2] = { kids[swap], kids[!swap] };
        const Node *e = ir_typed(I, typing[_i].op, NULL, 2, two, 0);
        ck_assert_msg((mlc_type)e->type == typing[_i].want, "row %d: %s %s %s is %s, want %s", _i,
                      mlc_type_name(typing[_i].a), ir_ops[typing[_i].op].text, mlc_type_name(typing[_i].b),
                      mlc_type_name((mlc_type)e->type), mlc_type_name(typing[_i].want));
    }
}
END_TEST

/* A literal takes the other side's type, and must be exact there where it is an integer. */
START_TEST(literals_take_the_other_type) {
    const Node *u[2] = { var(MLC_U8, 0), ir_int(I, MLC_I32, 200) };
    ck_assert_int_eq(ir_typed(I, OP_ADD, NULL, 2, u, 2)->type, MLC_U8);
    u[1] = ir_int(I, MLC_I32, 256);
    ck_assert_int_eq(ir_typed(I, OP_ADD, NULL, 2, u, 2)->op, OP_POISON);
    const Node *f[2] = { var(MLC_I32, 0), ir_flt(I, MLC_F64, 0.5) };
    ck_assert_int_eq(ir_typed(I, OP_MUL, NULL, 2, f, 2)->type, MLC_F32); /* a float beside an integer: f32 */
    f[0] = var(MLC_F32, 0);
    f[1] = ir_flt(I, MLC_F64, 0.1); /* rounds to nearest */
    const Node *e = ir_typed(I, OP_MUL, NULL, 2, f, 2);
    ck_assert(e->type == MLC_F32 && e->kid[1]->u.f == (double)0.1f);
    f[1] = ir_flt(I, MLC_F64, 1e300);
    ck_assert_int_eq(ir_typed(I, OP_MUL, NULL, 2, f, 2)->op, OP_POISON);
    const Node *x[2] = { var(MLC_INDEX, 0), ir_int(I, MLC_I32, 2) };
    ck_assert_int_eq(ir_typed(I, OP_DIV, NULL, 2, x, 2)->type, MLC_INDEX);
}
END_TEST

/* ---- fma formation: as written on the left, the canonical form on the right ---- */

static const Node *op2(Op op, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_typed(I, op, NULL, 2, kids, 0);
}

static const Node *op1(Op op, const Node *a) {
    return ir_typed(I, op, NULL, 1, &a, 0);
}

static const Node *canon(const Node *e) {
    return alg_canonical(I, e, (mlc_type)e->type);
}

static const Node *fma3(const Node *a, const Node *b, const Node *c) {
    return ir_make3(I, OP_FMA, a, b, c);
}

static const Node *neg(const Node *a) {
    return ir_make1(I, OP_NEG, a);
}

START_TEST(fma_is_formed_once) {
    const Node *a = var(MLC_F32, 0), *b = var(MLC_F32, 1), *c = var(MLC_F32, 2);
    const Node *ab = op2(OP_MUL, a, b), *cc = op2(OP_MUL, c, c), *bc = op2(OP_MUL, b, c);
    ck_assert(canon(op2(OP_ADD, ab, c)) == fma3(a, b, c) && canon(op2(OP_ADD, c, ab)) == fma3(a, b, c));
    ck_assert(canon(op2(OP_SUB, ab, c)) == fma3(a, b, neg(c)) && canon(op2(OP_SUB, c, ab)) == fma3(neg(a), b, c));
    ck_assert(canon(op2(OP_ADD, ab, cc)) == fma3(a, b, ir_mul(I, c, c))); /* of two the left one */
    ck_assert(canon(op2(OP_ADD, op1(OP_NEG, ab), c)) == fma3(neg(a), b, c)); /* a negated product is one */
    ck_assert(canon(op2(OP_ADD, op2(OP_ADD, c, ab), bc)) == fma3(b, c, fma3(a, b, c)));
    const Node *twice = op2(OP_MUL, op2(OP_ADD, ab, c), op2(OP_SUB, ab, c)); /* at each use */
    ck_assert(canon(twice) == ir_mul(I, fma3(a, b, c), fma3(a, b, neg(c))));
    /* f += a*b + c*c is f + fma(a, b, c*c) */
    ck_assert(canon(op2(OP_ADD, b, op2(OP_ADD, ab, cc))) == ir_add(I, b, fma3(a, b, ir_mul(I, c, c))));
}
END_TEST

START_TEST(fma_is_not_formed) {
    const Node *a = var(MLC_F32, 0), *b = var(MLC_F32, 1), *c = var(MLC_F32, 2), *ab = op2(OP_MUL, a, b);
    ck_assert(canon(op2(OP_ADD, op1(OP_ROUNDED, ab), c)) == ir_add(I, ir_mul(I, a, b), c));
    const Node *wide = ir_typed_cast(I, OP_CAST, MLC_F64, NULL, ab, false), *d = var(MLC_F64, 0);
    ck_assert_int_eq(canon(op2(OP_ADD, wide, d))->op, OP_ADD); /* never through a cast */
    const Node *kids[3] = { var(MLC_BOOL, 0), ab, a };
    ck_assert_int_eq(canon(op2(OP_ADD, ir_typed(I, OP_SELECT, NULL, 3, kids, 0), c))->op, OP_ADD);
    const Node *i = var(MLC_I32, 0), *j = var(MLC_I32, 1);
    ck_assert_int_eq(canon(op2(OP_ADD, op2(OP_MUL, i, j), j))->op, OP_ADD); /* integers have none */
}
END_TEST

/* ---- halves hold an f32 until a rounding node ---- */

START_TEST(halves_hold_f32) {
    const Node *a = var(MLC_BF16, 0), *b = var(MLC_BF16, 1);
    const Node *fa = ir_cast(I, MLC_F32, a), *fb = ir_cast(I, MLC_F32, b), *sum = op2(OP_ADD, a, b);
    ck_assert_int_eq(sum->type, MLC_BF16);
    ck_assert(alg_canonical(I, sum, MLC_BF16) == ir_cast(I, MLC_BF16, ir_add(I, fa, fb)));
    const Node *read = ir_typed_cast(I, OP_CAST, MLC_F32, NULL, sum, false);
    ck_assert(canon(read) == ir_add(I, fa, fb)); /* f32(a + b) reads it unrounded */
    const Node *rounded = ir_typed_cast(I, OP_CAST, MLC_BF16, NULL, sum, false);
    ck_assert(canon(op2(OP_LT, sum, a)) == ir_make2(I, OP_LT, ir_add(I, fa, fb), fa));
    ck_assert_int_eq(rounded->op, OP_CAST); /* bf16(a + b) is a rounding, though the type is the same */
    ck_assert(canon(op2(OP_LT, rounded, a))->kid[0] == ir_cast(I, MLC_F32, ir_cast(I, MLC_BF16, ir_add(I, fa, fb))));
    const Node *abb[2] = { a, ir_flt(I, MLC_F64, 0.1) };
    const Node *scaled = ir_typed(I, OP_MUL, NULL, 2, abb, 2); /* a literal beside it is f32 */
    ck_assert(alg_canonical(I, scaled, MLC_F32) == ir_mul(I, fa, ir_flt(I, MLC_F32, (double)0.1f)));
}
END_TEST

Suite *semantics_suite(void) {
    Suite *s = suite_create("semantics");
    TCase *t = tcase_create("semantics");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, types_unify, 0, sizeof typing / sizeof *typing);
    tcase_add_test(t, literals_take_the_other_type);
    tcase_add_test(t, fma_is_formed_once);
    tcase_add_test(t, fma_is_not_formed);
    tcase_add_test(t, halves_hold_f32);
    suite_add_tcase(s, t);
    return s;
}
