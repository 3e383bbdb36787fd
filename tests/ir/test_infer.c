/* test_infer.c - the typing rules: the whole unification table, literals, index, casts, and the text of every
 * error that a wrong operand gives. */
#include "ir/ir.h"

#include <check.h>
#include <math.h>

typedef struct {
    Fault fault;
    Arena arena;
    Interner I;
    Sym sym[MLC_TYPE_COUNT];
} Kit;

static void kit_open(Kit *k) {
    *k = (Kit){ 0 };
    arena_init(&k->arena, NULL, &k->fault);
    ir_interner_init(&k->I, &k->arena, NULL);
    for (int t = 0; t < MLC_TYPE_COUNT; t++) k->sym[t] = (Sym){ .name = "v", .kind = SYM_PARAM, .type = (mlc_type)t };
}

static const Node *var(Kit *k, mlc_type t) {
    return ir_var(&k->I, &k->sym[t]);
}

static const char *message(const Node *e) {
    ck_assert_int_eq(e->op, OP_POISON);
    return e->u.text;
}

static const mlc_type V = MLC_VOID, I8 = MLC_I8, I16 = MLC_I16, I32 = MLC_I32, I64 = MLC_I64, U8 = MLC_U8, U16 = MLC_U16,
                      U32 = MLC_U32, U64 = MLC_U64, F16 = MLC_F16, BF = MLC_BF16, F32 = MLC_F32, F64 = MLC_F64, IX = MLC_INDEX;

/* The rule of section 2, once more and apart from infer.c's: one row a type, by hand. */
START_TEST(common_type_table) {
    const mlc_type order[14] = { MLC_BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF, F32, F64, IX };
    const mlc_type table[14][14] = {
        { MLC_BOOL, V, V, V, V, V, V, V, V, V, V, V, V, V },
        { V, I8, I16, I32, I64, V, V, V, V, F16, BF, F32, F64, I32 },
        { V, I16, I16, I32, I64, I16, V, V, V, F16, BF, F32, F64, I32 },
        { V, I32, I32, I32, I64, I32, I32, V, V, F16, BF, F32, F64, I32 },
        { V, I64, I64, I64, I64, I64, I64, I64, V, F16, BF, F32, F64, I64 },
        { V, V, I16, I32, I64, U8, U16, U32, U64, F16, BF, F32, F64, I32 },
        { V, V, V, I32, I64, U16, U16, U32, U64, F16, BF, F32, F64, I32 },
        { V, V, V, V, I64, U32, U32, U32, U64, F16, BF, F32, F64, V },
        { V, V, V, V, V, U64, U64, U64, U64, F16, BF, F32, F64, V },
        { V, F16, F16, F16, F16, F16, F16, F16, F16, F16, V, F32, F64, F16 },
        { V, BF, BF, BF, BF, BF, BF, BF, BF, V, BF, F32, F64, BF },
        { V, F32, F32, F32, F32, F32, F32, F32, F32, F32, F32, F32, F64, F32 },
        { V, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64 },
        { V, I32, I32, I32, I64, I32, I32, V, V, F16, BF, F32, F64, IX },
    };
    Kit k;
    kit_open(&k);
    for (int a = 0; a < 14; a++)
        for (int b = 0; b < 14; b++) {
            ck_assert_msg(ir_common_type(order[a], order[b]) == table[a][b], "%s, %s", mlc_type_name(order[a]), mlc_type_name(order[b]));
            const Node *kids[2] = { var(&k, order[a]), var(&k, order[b]) };
            const Node *e = ir_typed(&k.I, OP_EQ, NULL, 2, kids, 0);
            ck_assert_int_eq(e->type, table[a][b] == V ? V : MLC_BOOL);
            e = ir_typed(&k.I, OP_ADD, NULL, 2, kids, 0);
            ck_assert_int_eq(e->type, a == 0 && b == 0 ? V : table[a][b]);
            if (e->op == OP_ADD) ck_assert_int_eq(e->kid[0]->type, e->kid[1]->type);
        }
    arena_free(&k.arena);
}
END_TEST

/* A literal beside a variable: the constant's type and value, or the message. */
static const struct {
    mlc_type other, own;
    double value; /* small enough to be exact for integers too */
    mlc_type type;
    double result;
    const char *message;
} literals[] = {
    { MLC_U8, MLC_I32, 255, MLC_U8, 255, NULL },
    { MLC_U8, MLC_I32, 256, MLC_VOID, 0, "the literal 256 is not a value of u8; widen the other side, or write u8(256), which wraps or rounds" },
    { MLC_U8, MLC_I32, -1, MLC_VOID, 0, "the literal -1 is not a value of u8; widen the other side, or write u8(-1), which wraps or rounds" },
    { MLC_I8, MLC_I32, -128, MLC_I8, -128, NULL },
    { MLC_I8, MLC_I32, 128, MLC_VOID, 0, "the literal 128 is not a value of i8; widen the other side, or write i8(128), which wraps or rounds" },
    { MLC_U64, MLC_I32, -1, MLC_VOID, 0, "the literal -1 is not a value of u64; widen the other side, or write u64(-1), which wraps or rounds" },
    { MLC_INDEX, MLC_I32, -7, MLC_INDEX, -7, NULL },
    { MLC_F32, MLC_I32, 16777216, MLC_F32, 16777216, NULL },
    { MLC_F32, MLC_I32, 16777217, MLC_VOID, 0, "the literal 16777217 is not a value of f32; widen the other side, or write f32(16777217), which wraps or rounds" },
    { MLC_F64, MLC_I32, 16777217, MLC_F64, 16777217, NULL },
    { MLC_F16, MLC_I32, 2049, MLC_F32, 2049, NULL },
    { MLC_BF16, MLC_F64, 0.1, MLC_F32, (double)0.1f, NULL },
    { MLC_F32, MLC_F64, 0.1, MLC_F32, (double)0.1f, NULL },
    { MLC_F64, MLC_F32, (double)0.1f, MLC_F64, (double)0.1f, NULL },
    { MLC_F32, MLC_F64, 1e39, MLC_VOID, 0, "the literal 1e+39 is beyond the range of f32; use a smaller one or a wider type" },
    { MLC_F32, MLC_F64, (double)INFINITY, MLC_F32, (double)INFINITY, NULL },
    { MLC_F32, MLC_F64, 1e-60, MLC_F32, 0, NULL },
    { MLC_U8, MLC_F64, 0.5, MLC_F32, 0.5, NULL },
    { MLC_INDEX, MLC_F64, 0.5, MLC_F32, 0.5, NULL },
    { MLC_I64, MLC_F64, 0.1, MLC_F32, (double)0.1f, NULL },
    { MLC_BOOL, MLC_I32, 2, MLC_VOID, 0, "the literal 2 is not a value of bool; widen the other side, or write bool(2), which wraps or rounds" },
    { MLC_BOOL, MLC_F64, 0.5, MLC_VOID, 0, "the float literal 0.5 stands where bool is wanted; write bool(0.5) to convert it" },
};

START_TEST(literal_beside) {
    Kit k;
    kit_open(&k);
    bool flt = ty_is_float(literals[_i].own);
    const Node *lit = flt ? ir_flt(&k.I, literals[_i].own, literals[_i].value)
                          : ir_int(&k.I, literals[_i].own, (int64_t)literals[_i].value);
    const Node *kids[2] = { var(&k, literals[_i].other), lit };
    const Node *e = ir_typed(&k.I, OP_EQ, NULL, 2, kids, 2);
    if (literals[_i].message) {
        ck_assert_str_eq(message(e), literals[_i].message);
        ck_assert_str_eq(k.fault.info.message, literals[_i].message);
    } else {
        const Node *c = e->kid[1];
        ck_assert_int_eq(c->op, OP_CONST);
        ck_assert_int_eq(c->type, literals[_i].type);
        ck_assert_double_eq(ty_is_float(literals[_i].type) ? c->u.f : (double)c->u.i, literals[_i].result);
    }
    arena_free(&k.arena);
}
END_TEST

START_TEST(literal_edges) {
    Kit k;
    kit_open(&k);
    const Node *big = ir_int(&k.I, MLC_U64, INT64_MIN), *kids[2] = { var(&k, MLC_I64), big };
    ck_assert_str_eq(message(ir_typed(&k.I, OP_ADD, NULL, 2, kids, 2)),
                     "the literal 9223372036854775808 is not a value of i64; widen the other side, or write i64(9223372036854775808), which wraps or rounds");
    kids[0] = var(&k, MLC_F32);
    ck_assert_double_eq(ir_typed(&k.I, OP_ADD, NULL, 2, kids, 2)->kid[1]->u.f, 0x1p63);
    kids[1] = ir_int(&k.I, MLC_I64, INT64_MAX); /* not 2^63, which a float would be */
    ck_assert_int_eq(ir_typed(&k.I, OP_ADD, NULL, 2, kids, 2)->op, OP_POISON);
    kids[1] = ir_int(&k.I, MLC_I64, INT64_MIN);
    ck_assert_double_eq(ir_typed(&k.I, OP_ADD, NULL, 2, kids, 2)->kid[1]->u.f, -0x1p63);
    kids[1] = ir_int(&k.I, MLC_I32, 3); /* not flagged: typed, so it unifies as any i32 */
    kids[0] = var(&k, MLC_U8);
    ck_assert_int_eq(ir_typed(&k.I, OP_ADD, NULL, 2, kids, 0)->type, MLC_I32);
    kids[0] = ir_int(&k.I, MLC_I32, 1);
    kids[1] = ir_flt(&k.I, MLC_F64, 0.5);
    ck_assert_int_eq(ir_typed(&k.I, OP_ADD, NULL, 2, kids, 3)->type, MLC_F64);
    kids[1] = ir_int(&k.I, MLC_U32, 5);
    ck_assert_int_eq(ir_typed(&k.I, OP_ADD, NULL, 2, kids, 3)->type, MLC_U32);
    arena_free(&k.arena);
}
END_TEST

/* Operators with rules of their own: a type an operand, the result. */
static const struct {
    Op op;
    int n;
    mlc_type kid[3];
    mlc_type type;
    const char *message;
} typed[] = {
    { OP_SHL, 2, { MLC_U8, MLC_I32 }, MLC_U8, NULL },
    { OP_SHR, 2, { MLC_INDEX, MLC_INDEX }, MLC_INDEX, NULL },
    { OP_SHR, 2, { MLC_INDEX, MLC_U8 }, MLC_I32, NULL },
    { OP_SHL, 2, { MLC_F32, MLC_I32 }, MLC_VOID, "<< needs integers, not f32; cast, as in i32(..)" },
    { OP_SQRT, 1, { MLC_F16 }, MLC_F16, NULL },
    { OP_SQRT, 1, { MLC_INDEX }, MLC_VOID, "sqrt needs floats, not index; cast, as in f32(..)" },
    { OP_IS_NAN, 1, { MLC_BF16 }, MLC_BOOL, NULL },
    { OP_NOT, 1, { MLC_BOOL }, MLC_BOOL, NULL },
    { OP_NEG, 1, { MLC_U8 }, MLC_U8, NULL },
    { OP_NEG, 1, { MLC_BOOL }, MLC_VOID, "- needs numbers, not bool; cast, as in i32(..)" },
    { OP_LAND, 2, { MLC_BOOL, MLC_BOOL }, MLC_BOOL, NULL },
    { OP_LAND, 2, { MLC_BOOL, MLC_U8 }, MLC_VOID, "&& needs a bool, not u8; cast, as in bool(..)" },
    { OP_SELECT, 3, { MLC_BOOL, MLC_U8, MLC_I16 }, MLC_I16, NULL },
    { OP_SELECT, 3, { MLC_BOOL, MLC_INDEX, MLC_INDEX }, MLC_INDEX, NULL },
    { OP_SELECT, 3, { MLC_BOOL, MLC_F16, MLC_BF16 }, MLC_VOID, "select of f16 and bf16: they have no common type; cast one side, as in f32(..)" },
    { OP_SELECT, 3, { MLC_I32, MLC_U8, MLC_U8 }, MLC_VOID, "select needs a bool, not i32; cast, as in bool(..)" },
    { OP_WIDENING_MUL, 2, { MLC_U8, MLC_U8 }, MLC_U16, NULL },
    { OP_WIDENING_SUB, 2, { MLC_U8, MLC_U8 }, MLC_I16, NULL },
    { OP_WIDENING_ADD, 2, { MLC_I64, MLC_I64 }, MLC_VOID, "widening_add needs integers of at most 32 bits, not i64; cast, as in i32(..)" },
    { OP_ABSD, 2, { MLC_I8, MLC_I8 }, MLC_U8, NULL },
    { OP_ABSD, 2, { MLC_F32, MLC_F32 }, MLC_F32, NULL },
    { OP_ABSD, 2, { MLC_INDEX, MLC_INDEX }, MLC_U32, NULL },
    { OP_LERP, 3, { MLC_U8, MLC_U8, MLC_U8 }, MLC_U8, NULL },
    { OP_LERP, 3, { MLC_U8, MLC_U8, MLC_F32 }, MLC_U8, NULL },
    { OP_LERP, 3, { MLC_U8, MLC_U8, MLC_I8 }, MLC_VOID,
      "lerp of u8 cannot take a weight of i8; give a float, or an unsigned integer (both together of at most 64 bits)" },
    { OP_MUL_SHR, 3, { MLC_I16, MLC_I16, MLC_U8 }, MLC_I16, NULL },
    { OP_MUX, 3, { MLC_INDEX, MLC_U8, MLC_I16 }, MLC_I16, NULL },
    { OP_MUX, 3, { MLC_F32, MLC_U8, MLC_I16 }, MLC_VOID, "mux needs integers, not f32; cast, as in i32(..)" },
    { OP_IPOW, 2, { MLC_F32, MLC_I32 }, MLC_VOID, "the power of ipow is not an integer literal >= 0; use pow for others" },
    { OP_CLAMP, 2, { MLC_F32, MLC_F32 }, MLC_VOID, "clamp takes 3 operands, not 2; give it as many" },
    { OP_ADD, 2, { MLC_U32, MLC_I32 }, MLC_VOID, "+ of u32 and i32: they have no common type; cast one side, as in i64(..)" },
    { OP_MIN, 2, { MLC_BOOL, MLC_U8 }, MLC_VOID, "min of bool and u8: they have no common type; cast one side, as in u8(..)" },
    { OP_ADD, 2, { MLC_VOID, MLC_U8 }, MLC_VOID,
      "an expression, Var or param without a value is used; make it with mlc_var_new, mlc_param_new or an operator; of an RDom, name a dimension that it has" },
};

START_TEST(typed_operators) {
    Kit k;
    kit_open(&k);
    const Node *kids[3];
    for (int i = 0; i < typed[_i].n; i++) kids[i] = var(&k, typed[_i].kid[i]);
    const Node *e = ir_typed(&k.I, typed[_i].op, NULL, typed[_i].n, kids, 0);
    ck_assert_int_eq(e->type, typed[_i].type);
    if (typed[_i].message) ck_assert_str_eq(message(e), typed[_i].message);
    arena_free(&k.arena);
}
END_TEST

/* An index becomes i32 on its way to a float, and i64 only where asked for. */
START_TEST(index_meets_data) {
    Kit k;
    kit_open(&k);
    const Node *x = var(&k, MLC_INDEX), *kids[2] = { x, var(&k, MLC_F64) };
    const Node *e = ir_typed(&k.I, OP_MUL, NULL, 2, kids, 0)->kid[0];
    ck_assert(e->type == MLC_F64 && e->op == OP_CAST && e->kid[0]->type == MLC_I32 && e->kid[0]->kid[0] == x);
    e = ir_typed_cast(&k.I, OP_CAST, MLC_F32, NULL, x, false);
    ck_assert(e->kid[0]->op == OP_CAST && e->kid[0]->type == MLC_I32);
    e = ir_typed_cast(&k.I, OP_CAST, MLC_I64, NULL, x, false);
    ck_assert(e->kid[0] == x);
    kids[1] = var(&k, MLC_I64);
    e = ir_typed(&k.I, OP_ADD, NULL, 2, kids, 0)->kid[0];
    ck_assert(e->type == MLC_I64 && e->kid[0] == x);
    e = ir_coerce(&k.I, var(&k, MLC_U8), false, MLC_INDEX, NULL);
    ck_assert(e->op == OP_CAST && e->type == MLC_INDEX);
    ck_assert_str_eq(message(ir_coerce(&k.I, kids[0] = var(&k, MLC_F32), false, MLC_INDEX, NULL)),
                     "an index is made of f32; convert it, as in index(i32(..))");
    arena_free(&k.arena);
}
END_TEST

START_TEST(casts) {
    Kit k;
    kit_open(&k);
    Interner *I = &k.I;
    Place place = { .loc = { "dir/a.c", 7 }, .object = "define f" };
    ck_assert_str_eq(message(ir_typed_cast(I, OP_REINTERPRET, MLC_F64, &place, var(&k, MLC_I32), false)),
                     "a.c:7: define f: reinterpret to f64 from i32: the widths differ or one is no data type; cast to a type of that width first");
    ck_assert_str_eq(message(ir_typed_cast(I, OP_SATURATE, MLC_INDEX, NULL, var(&k, MLC_I32), false)),
                     "saturate to index has no meaning; write index(..)");
    ck_assert_str_eq(message(ir_typed_cast(I, OP_CAST, MLC_VOID, NULL, var(&k, MLC_I32), false)),
                     "the cast names no type; give one of MLC_BOOL to MLC_INDEX");
    ck_assert_str_eq(message(ir_coerce(I, var(&k, MLC_F64), false, MLC_F32, NULL)),
                     "a value of f64 does not fit f32; write f32(..) around it");
    ck_assert_int_eq(ir_typed_cast(I, OP_CAST, MLC_U8, NULL, ir_int(I, MLC_I32, 300), true)->u.i, 44);
    ck_assert_double_eq(ir_typed_cast(I, OP_CAST, MLC_F16, NULL, ir_flt(I, MLC_F64, 0.1), true)->u.f, 0.0999755859375);
    /* a half's cast to itself rounds what an expression holds; a plain value needs none */
    const Node *h = var(&k, MLC_F16), *kids[2] = { h, h }, *sum = ir_typed(I, OP_ADD, NULL, 2, kids, 0);
    ck_assert(ir_typed_cast(I, OP_CAST, MLC_F16, NULL, h, false) == h);
    ck_assert_int_eq(ir_typed_cast(I, OP_CAST, MLC_F16, NULL, sum, false)->op, OP_CAST);
    arena_free(&k.arena);
}
END_TEST

/* The first error is the cause: what uses its poison adds none, and placing it adds the place. */
START_TEST(poison_travels) {
    Kit k;
    kit_open(&k);
    const Node *kids[2] = { var(&k, MLC_U32), var(&k, MLC_I32) };
    const Node *bad = ir_typed(&k.I, OP_ADD, NULL, 2, kids, 0);
    kids[1] = bad;
    ck_assert(ir_typed(&k.I, OP_MUL, NULL, 2, kids, 0) == bad);
    ck_assert(ir_typed_cast(&k.I, OP_CAST, MLC_F32, NULL, bad, false) == bad);
    ck_assert(ir_coerce(&k.I, bad, false, MLC_F32, NULL) == bad);
    Place place = { .loc = { "a.c", 3 }, .object = "define f" };
    const Node *placed = ir_poison_at(&k.I, bad, &place);
    ck_assert(ir_poison_at(&k.I, placed, &place) == placed); /* one place is enough */
    ck_assert_str_eq(k.fault.info.message, "a.c:3: define f: + of u32 and i32: they have no common type; cast one side, as in i64(..)");
    ck_assert_int_eq(k.fault.info.code, ERR_TYPE_MIX);
    arena_free(&k.arena);
}
END_TEST

Suite *infer_suite(void);
Suite *infer_suite(void) {
    Suite *s = suite_create("infer");
    TCase *t = tcase_create("types");
    tcase_add_test(t, common_type_table);
    tcase_add_loop_test(t, literal_beside, 0, sizeof literals / sizeof *literals);
    tcase_add_test(t, literal_edges);
    tcase_add_loop_test(t, typed_operators, 0, sizeof typed / sizeof *typed);
    tcase_add_test(t, index_meets_data);
    tcase_add_test(t, casts);
    tcase_add_test(t, poison_travels);
    suite_add_tcase(s, t);
    return s;
}
