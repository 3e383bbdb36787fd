/* test_construct.c - the C front door: C values of every type, names, params, dimensions, externs, contexts,
 * and the text of each error they give. */
#include "algorithm/algorithm.h"

#include <mlc.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static mlc_ctx *ctx;
static mlc_var x, y;
static mlc_func in;

static void setup(void) {
    ctx = mlc_ctx_new();
    x = mlc_var_new(ctx, "x");
    y = mlc_var_new(ctx, "y");
    in = mlc_input_new(ctx, "in", MLC_U8, 2);
}

static void teardown(void) {
    mlc_ctx_free(ctx);
}

/* The context's error is the text, places apart; clears it. */
static void error_is(const char *text, int line) {
    const char *have = mlc_error(ctx), *place = strstr(have, ".c:");
    if (place) have = strstr(place, ": ") + 2;
    ck_assert_msg(!strcmp(have, text), "line %d: \"%s\", not \"%s\"", line, have, text);
    ck_assert_int_eq(mlc_error_code(ctx) != 0, *text != 0);
    mlc_error_clear(ctx);
}
#define ERROR_IS(text) error_is(text, __LINE__)

static const char *show(mlc_expr e) {
    return e.node ? ir_show(&ctx->ir, e.node) : "";
}

START_TEST(c_values) {
    char c = 5;
    signed char sc = -5;
    unsigned char uc = 200;
    short s = -300;
    unsigned short us = 60000;
    long l = -1;
    unsigned long ul = 3;
    const int ci = 9;
    const mlc_expr rows[] = { MLC_E(true), MLC_E((bool)1), MLC_E(c), MLC_E(sc), MLC_E(uc), MLC_E(s), MLC_E(us), MLC_E(ci),
                              MLC_E(7u), MLC_E(l), MLC_E(ul), MLC_E(7ll), MLC_E(7ull), MLC_E(1.5f), MLC_E(2.5), MLC_E(3.5L) };
    const mlc_type type[] = { MLC_I32, MLC_BOOL, MLC_I32, MLC_I32, MLC_I32, MLC_I32, MLC_I32, MLC_I32,
                              MLC_U32, MLC_I64, MLC_U64, MLC_I64, MLC_U64, MLC_F32, MLC_F64, MLC_F64 };
    const double value[] = { 1, 1, 5, -5, 200, -300, 60000, 9, 7, -1, 3, 7, 7, 1.5, 2.5, 3.5 };
    for (int i = 0; i < 16; i++) {
        ck_assert_ptr_null(rows[i].node);
        ck_assert_msg(mlc_expr_type(rows[i]) == type[i], "row %d", i);
        ck_assert_double_eq(ty_is_float(type[i]) ? rows[i].imm.f : (double)rows[i].imm.i, value[i]);
    }
}
END_TEST

START_TEST(values_alone_fold) {
    mlc_expr e = mlc_add(1, 2);
    ck_assert(!e.node && e.type == MLC_I32 && e.imm.i == 3 && !e.typed);
    e = mlc_add(1, 0.5);
    ck_assert(e.type == MLC_F64 && e.imm.f == 1.5);
    e = mlc_plus(0.5f, 1, 2);
    ck_assert(e.type == MLC_F32 && e.imm.f == 3.5);
    e = mlc_div(-7, 2); /* Euclidean */
    ck_assert(e.type == MLC_I32 && e.imm.i == -4);
    e = mlc_u8(300);
    ck_assert(e.type == MLC_U8 && e.imm.i == 44 && e.typed);
    e = mlc_select(mlc_lt(1, 2), 10, 20);
    ck_assert(e.type == MLC_I32 && e.imm.i == 10);
    e = mlc_mul(65536, 65536);
    ck_assert(e.type == MLC_I32 && e.imm.i == 0);
    e = mlc_add(mlc_f16(0.1), mlc_f16(0.2));
    ck_assert(e.type == MLC_F16 && e.typed);
    e = mlc_sqrt(2.0f);
    ck_assert(e.type == MLC_F32 && e.imm.f == (double)sqrtf(2));
    e = mlc_clamp(5, 0, 3);
    ck_assert(e.type == MLC_I32 && e.imm.i == 3);
    /* beside an operand: a literal still, unless a cast typed it */
    ck_assert_str_eq(show(mlc_add(mlc_at(in, x, y), mlc_add(1, 2))), "in(x, y) + 3");
    ck_assert_int_eq(mlc_expr_type(mlc_add(mlc_at(in, x, y), mlc_i32(3))), MLC_I32);
    ERROR_IS("");
    ck_assert_int_eq(mlc_expr_type(mlc_add(mlc_at(in, x, y), mlc_sqrt(2))), MLC_VOID);
    ERROR_IS("this operator on C values alone has no value (TYPE_WANT); give it an operand of a context");
    mlc_add(x, mlc_print("p", 1));
    ERROR_IS("this operator on C values alone has no value (LITERALS_ALONE); give it an operand of a context");
}
END_TEST

START_TEST(operators) {
    mlc_expr v = mlc_at(in, x, y), f = mlc_f32(v);
    const struct {
        mlc_expr e;
        const char *text;
        mlc_type type;
    } rows[] = {
        { mlc_add(x, 1), "x + 1", MLC_INDEX },
        { mlc_min(v, 3, v), "min(min(in(x, y), 3), in(x, y))", MLC_U8 },
        { mlc_times(f, 2, 3.5), "f32(in(x, y)) * 2.0 * 3.5", MLC_F32 },
        { mlc_land(mlc_lt(x, 1), mlc_gt(y, 2), true), "x < 1 && y > 2 && true", MLC_BOOL },
        { mlc_select(mlc_lt(x, 1), 1, mlc_lt(x, 2), v, 300u - 100u), "select(x < 1, 1, x < 2, in(x, y), 200)", MLC_U8 },
        { mlc_mux(x, 1.5, f, 2), "mux(x, 1.5, f32(in(x, y)), 2.0)", MLC_F32 },
        { mlc_require(mlc_lt(x, 9), v, "x is small"), "require(x < 9, in(x, y), \"x is small\")", MLC_U8 },
        { mlc_print("v", v, x), "print(\"v\", in(x, y), x)", MLC_U8 },
        { mlc_saturated(MLC_I8, v), "saturate_i8(in(x, y))", MLC_I8 },
        { mlc_bits_as(MLC_U32, f), "reinterpret_u32(f32(in(x, y)))", MLC_U32 },
        { mlc_mul(x, 0.5), "f32(i32(x)) * 0.5", MLC_F32 },
        { mlc_at(in, v, mlc_add(x, v)), "in(index(in(x, y)), index(i32(x) + i32(in(x, y))))", MLC_U8 },
        { mlc_shl(1, v), "u8(1) << in(x, y)", MLC_U8 },
        { mlc_nary(MLC_OP_ADD, 1, &v), "in(x, y)", MLC_U8 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_str_eq(show(rows[i].e), rows[i].text);
        ck_assert_int_eq(mlc_expr_type(rows[i].e), rows[i].type);
    }
    ERROR_IS("");
}
END_TEST

START_TEST(operator_errors) {
    mlc_expr v = mlc_at(in, x, y), none = { 0 };
    mlc_nary((mlc_op)999, 1, &v);
    ERROR_IS("operator 999 is not one that mlc_nary makes; use its own function");
    mlc_nary(MLC_OP_CAST, 1, &v);
    ck_assert_int_eq(mlc_error_code(ctx), ERR_OP_RANGE);
    mlc_error_clear(ctx);
    mlc_select(mlc_lt(x, y), v, v, v);
    ERROR_IS("select takes 3 operands, not 4; give it as many");
    mlc_select(v, v, v);
    ERROR_IS("a value of u8 does not fit bool; write bool(..) around it");
    mlc_add(v, none);
    ERROR_IS("an expression, Var or param without a value is used; make it with mlc_var_new, mlc_param_new or an operator; of an RDom, name a dimension that it has");
    mlc_random_f32(ctx, 0.5);
    ERROR_IS("random of f32; ask for f32, u32 or i32, with an integer seed");
    mlc_undef(ctx, MLC_INDEX);
    ERROR_IS("undef cannot have this type; give one of MLC_BOOL to MLC_F64");
    mlc_at(in, x);
    ERROR_IS("in has rank 2 and is used with 1 coordinates; give one a dimension");
    mlc_at(in, x, 0.5);
    ERROR_IS("an index is made of f64; convert it, as in index(i32(..))");
    mlc_elem(mlc_at(in, x, y), 1);
    ERROR_IS("in has 1 elements and no element 1; count from 0");
    mlc_ctx *other = mlc_ctx_new();
    mlc_add(x, mlc_var_new(other, "z"));
    ERROR_IS("operands come from two contexts; make them all with one");
    mlc_ctx_free(other);
}
END_TEST

START_TEST(names) {
    ck_assert(mlc_var_new(ctx, "x").sym == x.sym);
    const struct {
        const char *name, *message;
    } rows[] = {
        { "1a", "func: '1a' is no name; use letters, digits and _, starting with a letter or _" },
        { "", "func: '' is no name; use letters, digits and _, starting with a letter or _" },
        { "a b", "func: 'a b' is no name; use letters, digits and _, starting with a letter or _" },
        { "a$1", "func: 'a$1' contains $, which only generated names do; use another name" },
        { "min", "func: 'min' is the name of a type or an operator; use another name" },
        { "bf16", "func: 'bf16' is the name of a type or an operator; use another name" },
        { "in", "func: 'in' is already the name of an input; use another name" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_func f = mlc_func_new(ctx, rows[i].name);
        ck_assert_ptr_nonnull(f.f->poison);
        ERROR_IS(rows[i].message);
        mlc_def(mlc_at(f, x), 1); /* what uses it fails, and tells the cause again */
        ERROR_IS(rows[i].message);
        mlc_at(f, 3);
        ERROR_IS("");
    }
    mlc_func_new(ctx, "g");
    mlc_param_new(ctx, "g", MLC_F32);
    ERROR_IS("param: 'g' is already the name of a Func; use another name");
    mlc_rdom_new(ctx, "x", mlc_range_new(0, 1));
    ERROR_IS("rdom: 'x' is already the name of a Var; use another name");
    mlc_param_new(ctx, "p", MLC_F32);
    mlc_expr e = mlc_add(mlc_var_new(ctx, "p"), 1);
    ck_assert(!e.node || e.node->op == OP_POISON);
    ERROR_IS("Var: 'p' is already the name of a param; use another name");
    mlc_var_new(ctx, "a$b");
    ERROR_IS("Var: 'a$b' contains $, which only generated names do; use another name");
    mlc_input_new(ctx, "i1", MLC_INDEX, 2);
    ERROR_IS("input: i1 cannot have this type; give one of MLC_BOOL to MLC_F64");
    mlc_input_new(ctx, "i2", MLC_U8, 9);
    ERROR_IS("input: i2 cannot have rank 9; give 0 to 8");
    mlc_param_new(ctx, "q", MLC_VOID);
    ERROR_IS("param: q cannot have this type; give one of MLC_BOOL to MLC_INDEX");
}
END_TEST

static double value_of(mlc_param p) {
    const Value *v = pm_get(&ctx->param_value, p.sym);
    return !v ? (double)NAN : ty_is_float(p.sym->type) ? v->f : (double)v->i;
}

START_TEST(params) {
    mlc_param f = mlc_param_new(ctx, "f", MLC_F32), u = mlc_param_new(ctx, "u", MLC_U8), n = mlc_param_new(ctx, "n", MLC_INDEX);
    ck_assert(mlc_param_set(f, 0.1) && value_of(f) == (double)0.1f);
    ck_assert(mlc_param_set_i(f, 7) && value_of(f) == 7);
    ck_assert(mlc_param_set(u, 255) && value_of(u) == 255);
    ck_assert(mlc_param_set_i(n, 1000) && value_of(n) == 1000);
    ck_assert(!mlc_param_set(u, 256) && value_of(u) == 255);
    ERROR_IS("set u: the literal 256 is not a value of u8; widen the other side, or write u8(256), which wraps or rounds");
    ck_assert(!mlc_param_set_f(u, 1.0));
    ERROR_IS("set u: the float literal 1 stands where u8 is wanted; write u8(1) to convert it");
    ck_assert(!mlc_param_set(f, x));
    ERROR_IS("set f: the value given to f is no f32; give a literal that its type holds");
    mlc_param_range(f, 0, 0.5);
    ck_assert(f.sym->has_range && f.sym->lo == 0 && f.sym->hi == 0.5);
    mlc_param_range(n, 1, 1 << 20);
    ck_assert(n.sym->has_range && n.sym->ilo == 1 && n.sym->ihi == 1 << 20);
    mlc_param_range(u, 3, 2);
    ERROR_IS("range: the range of u is empty or not of its type; give lo <= hi, literals that its type holds");
    mlc_param_range(f, (double)NAN, 1);
    ERROR_IS("range: the range of f is empty or not of its type; give lo <= hi, literals that its type holds");
    mlc_input_range(in, 0, 100);
    ck_assert(in.f->has_range && in.f->lo == 0 && in.f->hi == 100);
}
END_TEST

START_TEST(dimensions) {
    mlc_dim(in, 0, .stride = 3, .min = 0);
    mlc_dim(in, 1, .extent = 7, .align = 32);
    ck_assert(in.f->dim[0].has_min && in.f->dim[0].min == 0 && in.f->dim[0].has_stride && in.f->dim[0].stride == 3);
    ck_assert(!in.f->dim[0].has_extent && in.f->dim[1].has_extent && in.f->dim[1].extent == 7 && !in.f->dim[1].has_min);
    ck_assert_int_eq(in.f->stride[1]->align, 32);
    mlc_dim(in, 2, .min = 0);
    ERROR_IS("dim: in has no dimension 2; count from 0, below its rank");
    mlc_dim(in, 0, .extent = -1);
    ERROR_IS("dim: the extent -1 of a dimension is out of range; give 0 or more");
    mlc_dim(in, 0, .align = 0);
    ERROR_IS("dim: the align 0 of a dimension is out of range; give 1 or more");
    ck_assert_str_eq(show(mlc_add(mlc_dim_min(in, 1), mlc_dim_extent(in, 0))), "in.min.1 + in.extent.0");
    mlc_dim_min(in, 5);
    ERROR_IS("dim: in has no dimension 5; count from 0, below its rank");
    mlc_dim_extent(mlc_func_new(ctx, "f"), 0);
    ERROR_IS("dim: f has no dimension 0; count from 0, below its rank");
}
END_TEST

static float twice(float v) {
    return 2 * v;
}

START_TEST(externs) {
    mlc_extern e = mlc_extern_new(ctx, "twice", (void (*)(void))twice, "f32 -> f32");
    ck_assert_str_eq(show(mlc_call_extern(e, mlc_at(in, x, y))), "twice(f32(in(x, y)))");
    ck_assert_int_eq(mlc_expr_type(mlc_call_extern(e, 1)), MLC_F32);
}
END_TEST

START_TEST(extern_errors) {
    mlc_extern e = mlc_extern_new(ctx, "twice", (void (*)(void))twice, "f32 -> f32");
    mlc_call_extern(e, 1, 2);
    ERROR_IS("twice takes 1 arguments, and 2 are given; give it as many");
    mlc_call_extern(e, mlc_f64(mlc_at(in, x, y)));
    ERROR_IS("a value of f64 does not fit f32; write f32(..) around it");
    const char *bad[] = { "", "f32", "f32 ->", "f32 -> f32 f32", "f33 -> f32", "index -> f32", "-> void" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "extern: '%s' is no signature; write types and a result, as in \"f32 f32 -> f32\"", bad[i]);
        ck_assert_ptr_null(mlc_extern_new(ctx, "g", (void (*)(void))twice, bad[i]).ext);
        ERROR_IS(text);
    }
    ck_assert_ptr_nonnull(mlc_extern_new(ctx, "g", (void (*)(void))twice, " -> bool").ext);
    mlc_extern_new(ctx, "g", (void (*)(void))twice, "-> bool");
    ERROR_IS("extern: 'g' is already the name of a C function; use another name");
}
END_TEST

/* An allocator that fails at the n-th call: every n gives an error, never a crash. */
struct failing {
    long left;
};

static void *fail_later(void *user, void *old, size_t size) {
    struct failing *f = user;
    if (size && --f->left < 0) return NULL;
    return mlc_allocator_libc.resize(NULL, old, size);
}

START_TEST(out_of_memory) {
    for (long n = 0; n < 40; n++) {
        struct failing f = { n };
        mlc_allocator hook = { fail_later, &f };
        mlc_ctx *c = mlc_ctx_new_with(&hook);
        if (!c) continue;
        mlc_var v = mlc_var_new(c, "v");
        mlc_func g = mlc_func_new(c, "g");
        mlc_rdom k = mlc_rdom_new(c, "k", mlc_range_new(0, 5));
        mlc_expr e = mlc_f32(v);
        for (int i = 0; i < 3000; i++) e = mlc_add(e, mlc_mul(e, i));
        mlc_def(mlc_at(g, v), mlc_sum(k, e));
        if (f.left < 0) ck_assert_int_eq(mlc_error_code(c), ERR_OUT_OF_MEMORY);
        mlc_ctx_free(c);
        if (f.left >= 0) break;
    }
}
END_TEST

Suite *construct_suite(void);
Suite *construct_suite(void) {
    Suite *s = suite_create("construct");
    TCase *t = tcase_create("front door");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, c_values);
    tcase_add_test(t, values_alone_fold);
    tcase_add_test(t, operators);
    tcase_add_test(t, operator_errors);
    tcase_add_test(t, names);
    tcase_add_test(t, params);
    tcase_add_test(t, dimensions);
    tcase_add_test(t, externs);
    tcase_add_test(t, extern_errors);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return s;
}
