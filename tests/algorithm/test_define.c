/* test_define.c - definitions: what a left side may be, implicit starts, canonical updates, tuples, reductions,
 * the order of Funcs, and the text of every error. */
#include "algorithm/algorithm.h"

#include <mlc.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static mlc_ctx *ctx;
static mlc_var x, y;
static mlc_func in, fl, f;
static mlc_rdom k, r;

static void setup(void) {
    ctx = mlc_ctx_new();
    x = mlc_var_new(ctx, "x");
    y = mlc_var_new(ctx, "y");
    in = mlc_input_new(ctx, "in", MLC_U8, 2);
    fl = mlc_input_new(ctx, "fl", MLC_F32, 2);
    f = mlc_func_new(ctx, "f");
    k = mlc_rdom_new(ctx, "k", mlc_range_new(0, 5));
    r = mlc_rdom_new(ctx, "r", mlc_range_new(1, 3), mlc_range_new(0, mlc_dim_extent(in, 1)));
}

static void teardown(void) {
    mlc_ctx_free(ctx);
}

static void error_is(const char *text, int line) {
    const char *have = mlc_error(ctx), *place = strstr(have, ".c:");
    if (place) have = strstr(place, ": ") + 2;
    ck_assert_msg(!strcmp(have, text), "line %d: \"%s\", not \"%s\"", line, have, text);
    mlc_error_clear(ctx);
}
#define ERROR_IS(text) error_is(text, __LINE__)

/* Value `i` of a stage, canonical, as text. */
static const char *value(const char *name, int stage, int i) {
    Func *g = alg_find_func(ctx, name);
    ck_assert_ptr_nonnull(g);
    ck_assert_int_lt(stage, g->def.n);
    return ir_show(&ctx->ir, g->def.at[stage]->value[i]);
}
#define VALUE_IS(name, stage, text) ck_assert_str_eq(value(name, stage, 0), text)

START_TEST(pure) {
    mlc_stage s = mlc_def(mlc_at(f, x, y), mlc_add(mlc_mul(mlc_at(fl, x, y), 2), mlc_at(fl, y, x)));
    ck_assert(s.f == f.f && s.stage == 0);
    VALUE_IS("f", 0, "fma(fl(x, y), 2.0, fl(y, x))");
    ck_assert(f.f->rank == 2 && f.f->n == 1 && f.f->type[0] == MLC_F32 && f.f->arg[0] == x.sym && !f.f->implicit);
    ck_assert_str_eq(f.f->min[1]->name, "f.min.1");
    const struct {
        mlc_expr e;
        mlc_type type;
    } rows[] = { { mlc_from_var(x), MLC_I32 },      { mlc_from_int(3), MLC_I32 },    { mlc_from_double(0.5), MLC_F64 },
                 { mlc_u8(3), MLC_U8 },             { mlc_lt(x, 3), MLC_BOOL },      { mlc_i64(x), MLC_I64 },
                 { mlc_add(mlc_at(in, x, 0), x), MLC_I32 }, { mlc_f16(0.5), MLC_F16 }, { mlc_index(mlc_at(in, x, 0)), MLC_I32 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_func g = mlc_func_new(ctx, arena_printf(&ctx->arena, "g%zu", i));
        mlc_def(mlc_at(g, x), rows[i].e);
        ck_assert_int_eq(g.f->type[0], rows[i].type);
        ck_assert_int_eq(g.f->def.at[0]->value[0]->type, rows[i].type);
    }
    mlc_func z = mlc_func_new(ctx, "z");
    mlc_def(mlc_access(z, 0, NULL), 4);
    ck_assert(z.f->rank == 0 && z.f->def.n == 1);
    ERROR_IS("");
}
END_TEST

/* Neutral starts by op and type (SEMANTICS section 1). */
static const struct {
    mlc_def_op op;
    mlc_type type;
    const char *start, *update;
} starts[] = {
    { MLC_DEF_ADD, MLC_F32, "f32(-0.0)", "f(x) + e(x, k)" },
    { MLC_DEF_SUB, MLC_F32, "f32(-0.0)", "f(x) - e(x, k)" },
    { MLC_DEF_MUL, MLC_F32, "f32(1.0)", "f(x) * e(x, k)" },
    { MLC_DEF_MIN, MLC_F32, "f32(inf)", "min(f(x), e(x, k))" },
    { MLC_DEF_MAX, MLC_F32, "f32(-inf)", "max(f(x), e(x, k))" },
    { MLC_DEF_ADD, MLC_F64, "-0.0", "f(x) + e(x, k)" },
    { MLC_DEF_ADD, MLC_BF16, "bf16(-0.0)", "bf16(f32(f(x)) + f32(e(x, k)))" },
    { MLC_DEF_MAX, MLC_F16, "f16(-inf)", "f16(max(f32(f(x)), f32(e(x, k))))" },
    { MLC_DEF_ADD, MLC_U8, "u8(0)", "f(x) + e(x, k)" },
    { MLC_DEF_MUL, MLC_I16, "i16(1)", "f(x) * e(x, k)" },
    { MLC_DEF_MIN, MLC_U8, "u8(255)", "min(f(x), e(x, k))" },
    { MLC_DEF_MAX, MLC_U8, "u8(0)", "max(f(x), e(x, k))" },
    { MLC_DEF_MIN, MLC_I8, "i8(127)", "min(f(x), e(x, k))" },
    { MLC_DEF_MAX, MLC_I32, "i32(-2147483648)", "max(f(x), e(x, k))" },
};

START_TEST(implicit_starts) {
    mlc_func e = mlc_input_new(ctx, "e", starts[_i].type, 2);
    mlc_expr v = mlc_at(e, x, k.x);
    mlc_stage s = mlc_define(mlc_at(f, x), starts[_i].op, 1, &v, MLC_HERE);
    ck_assert_str_eq(mlc_error(ctx), "");
    ck_assert(s.stage == 1 && f.f->implicit && f.f->type[0] == starts[_i].type && f.f->def.at[1]->rdom == k.r);
    const Node *start = f.f->def.at[0]->value[0];
    const char *have = ir_show(&ctx->ir, start);
    ck_assert_msg(start->op == OP_CONST && !strcmp(have, starts[_i].start), "%s, not %s", have, starts[_i].start);
    VALUE_IS("f", 1, starts[_i].update);
    if (ty_is_float(starts[_i].type) && starts[_i].op <= MLC_DEF_SUB) ck_assert(start->u.f == 0 && signbit(start->u.f));
}
END_TEST

START_TEST(updates) {
    mlc_def(mlc_at(f, x, y), 1.5f);
    mlc_def_add(mlc_at(f, x, k.x), mlc_mul(mlc_at(fl, x, k.x), 2));
    VALUE_IS("f", 1, "fma(fl(x, k), 2.0, f(x, k))");
    mlc_def_sub(mlc_at(f, x, y), mlc_mul(mlc_at(fl, x, y), mlc_at(fl, y, x)));
    VALUE_IS("f", 2, "fma(-fl(x, y), fl(y, x), f(x, y))");
    mlc_def_add(mlc_at(f, x, y), mlc_add(mlc_mul(mlc_at(fl, x, y), 2), mlc_mul(mlc_at(fl, y, x), 3)));
    VALUE_IS("f", 3, "f(x, y) + fma(fl(x, y), 2.0, fl(y, x) * 3.0)");
    mlc_def_add(mlc_at(f, x, y), mlc_at(in, x, y)); /* u8 into f32 */
    VALUE_IS("f", 4, "f(x, y) + f32(in(x, y))");
    mlc_def(mlc_at(f, mlc_at(in, r.x, r.y), 0), mlc_at(f, 1, r.y));
    ck_assert_str_eq(ir_show(&ctx->ir, f.f->def.at[5]->coord[0]), "index(in(r.x, r.y))");
    mlc_def(mlc_at(f, x, mlc_add(x, 1)), mlc_at(f, x, 0)); /* x stands at its place, and may be used beside */
    ck_assert(mlc_update(f, 5).stage == 6);
    ck_assert(f.f->def.n == 7 && alg_is_recursive(f.f, f.f->def.at[5]) && !alg_is_recursive(f.f, f.f->def.at[0]));
    /* scattered: no Var stands alone, so the start gets _0 */
    mlc_func h = mlc_func_new(ctx, "h");
    mlc_def_add(mlc_at(h, mlc_at(in, r.x, r.y), x), 1);
    ck_assert_str_eq(h.f->arg[0]->name, "_0");
    ck_assert(h.f->arg[1] == x.sym && h.f->type[0] == MLC_I32);
    VALUE_IS("h", 1, "h(index(in(r.x, r.y)), x) + 1");
    ERROR_IS("");
}
END_TEST

START_TEST(tuples) {
    mlc_def_tuple(mlc_at(f, x), 1, 2.5f, x);
    ck_assert(f.f->n == 3 && f.f->type[0] == MLC_I32 && f.f->type[1] == MLC_F32 && f.f->type[2] == MLC_I32);
    mlc_def_tuple(mlc_at(f, k.x), mlc_elem(mlc_at(f, k.x), 2), 3, mlc_elem(mlc_at(f, 0), 0));
    ck_assert_str_eq(value("f", 1, 0), "f(k)[2]");
    ck_assert_str_eq(value("f", 1, 1), "f32(3.0)");
    ERROR_IS("");
    mlc_func g = mlc_func_new(ctx, "g");
    mlc_def(mlc_at(g, x), mlc_add(mlc_at(f, x), 1));
    ERROR_IS("define g: f is a tuple; take one of its elements: [0] in text, mlc_elem in C");
    mlc_elem(mlc_at(f, x), 3);
    ERROR_IS("f has 3 elements and no element 3; count from 0");
    mlc_def_tuple(mlc_at(f, x), 1, 2);
    ERROR_IS("define f: f has 3 values, and 2 are given; a tuple has 1 to 8, the same number in each definition");
}
END_TEST

/* Each breaks one rule in a context of its own; f(x, y) = fl(x, y) is there, g is not. */
typedef void (*Wrong)(mlc_func g);
#define WRONG(name, body) \
    static void name(mlc_func g) { \
        (void)g; \
        body; \
    }
WRONG(w_left, mlc_def(mlc_add(x, 1), 3))
WRONG(w_input, mlc_def(mlc_at(in, x, y), 3))
WRONG(w_args, mlc_def(mlc_at(g, x, x), 3))
WRONG(w_args2, mlc_def(mlc_at(g, mlc_add(x, 1)), 3))
WRONG(w_again, mlc_def(mlc_at(f, x, y), 3))
WRONG(w_self, mlc_def(mlc_at(g, x), mlc_add(mlc_at(g, mlc_sub(x, 1)), 1)))
WRONG(w_free, mlc_def(mlc_at(g, x), mlc_at(in, x, y)))
WRONG(w_free2, mlc_def(mlc_at(f, x, 3), mlc_f32(mlc_at(in, x, y))))
WRONG(w_place, mlc_def(mlc_at(f, y, x), mlc_at(f, 0, 0)))
WRONG(w_place2, mlc_def(mlc_at(f, x, k.x), mlc_at(f, mlc_sub(x, 1), k.x)))
WRONG(w_other, mlc_def(mlc_at(f, mlc_var_new(ctx, "z"), y), 3))
WRONG(w_rvar, mlc_def(mlc_at(g, x), mlc_at(in, x, k.x)))
WRONG(w_two, mlc_def_add(mlc_at(f, x, k.x), mlc_at(fl, r.x, r.y)))
WRONG(w_narrow, mlc_def_add(mlc_at(f, x, y), mlc_f64(mlc_at(fl, x, y))))
WRONG(w_rank, mlc_def_add(mlc_at(f, x), 3))
WRONG(w_bool, mlc_def_add(mlc_at(g, x), mlc_lt(x, k.x)))
WRONG(w_undef, mlc_def(mlc_at(g, x), mlc_add(mlc_undef(ctx, MLC_U8), 1)))
WRONG(w_undef2, mlc_def(mlc_at(f, x, k.x), mlc_undef(ctx, MLC_F32)))
WRONG(w_read, mlc_def(mlc_at(f, x, k.x), mlc_add(mlc_at(g, x), 1)))
WRONG(w_poison, mlc_def(mlc_at(g, x), mlc_add(mlc_u32(mlc_at(in, x, 0)), mlc_i32(1))))

static void w_cycle(mlc_func g) {
    mlc_def(mlc_at(g, x, y), mlc_at(f, x, y));
    mlc_def_add(mlc_at(f, x, y), mlc_at(g, x, y));
}

static void w_where(mlc_func g) {
    mlc_def_add(mlc_at(g, x), mlc_at(in, x, k.x));
    mlc_where(k, mlc_lt(k.x, 3));
}

static void w_random(mlc_func g) {
    mlc_range one = mlc_range_new(0, 2);
    mlc_rdom q = mlc_rdom_new(ctx, "q", one, one, one, one, one, one, one, one);
    mlc_def_add(mlc_at(g, x), mlc_mul(mlc_random_f32(ctx, 1), mlc_f32(mlc_rvar(q, 7))));
}

static const struct {
    Wrong make;
    const char *message;
} wrongs[] = {
    { w_left, "define: the left side is no access of a Func; write mlc_at(f, x, ..)" },
    { w_input, "define in: in is an input and cannot be defined; define another Func that reads it" },
    { w_args, "define g: g has no definition yet, and dimension 1 of this one is no Var of its own; give a pure definition with distinct Vars first" },
    { w_args2, "define g: g has no definition yet, and dimension 0 of this one is no Var of its own; give a pure definition with distinct Vars first" },
    { w_again, "define f: f is already defined for every point and this definition does not read it; drop one of them" },
    { w_self, "define g: g is read before it is defined; define it first, and let an update over an RDom read itself" },
    { w_free, "define g: the Var y is not on the left side; add it there or use an RDom" },
    { w_free2, "define f: the Var y is not on the left side; add it there or use an RDom" },
    { w_place, "define f: the Var y of f stands in dimension 1 only; write y there on the left and in each read of f" },
    { w_place2, "define f: the Var x of f stands in dimension 0 only; write x there on the left and in each read of f" },
    { w_other, "define f: dimension 0 of f is the Var x, and the left side has z; use x there, or an index expression without Vars" },
    { w_rvar, "define g: the pure definition uses the RVar k; write an update or an inline reduction" },
    { w_two, "define f: the definition uses RVars of k and of r; make one RDom with the dimensions of both" },
    { w_narrow, "define f: a value of f64 does not fit f32; write f32(..) around it" },
    { w_rank, "define: f has rank 2 and is used with 1 coordinates; give one a dimension" },
    { w_bool, "define g: + needs numbers, not bool; cast, as in i32(..)" },
    { w_undef, "define g: undef is not a whole pure definition; use it only there" },
    { w_undef2, "define f: undef is not a whole pure definition; use it only there" },
    { w_read, "define f: g is read before it is defined; define it first, and let an update over an RDom read itself" },
    { w_poison, "define g: + of u32 and i32: they have no common type; cast one side, as in i64(..)" },
    { w_cycle, "define f: f reads g, which reads f; a Func may read itself in its updates only, and only directly" },
    { w_where, "where k: k is used by a definition already; add its conditions before" },
    { w_random, "define g: random in a definition of 9 variables; it takes at most 8" },
};

START_TEST(wrong_definitions) {
    mlc_func g = mlc_func_new(ctx, "g");
    mlc_def(mlc_at(f, x, y), mlc_at(fl, x, y));
    wrongs[_i].make(g);
    ERROR_IS(wrongs[_i].message);
}
END_TEST

START_TEST(domains) {
    mlc_expr v = mlc_at(in, x, y);
    ck_assert_str_eq(r.y.sym->name, "r.y");
    ck_assert_str_eq(k.x.sym->name, "k");
    ck_assert_ptr_null(k.y.sym);
    mlc_rdom_new(ctx, "b1", mlc_range_new(0, v));
    ERROR_IS("rdom: dimension 0 of b1 has a bound that is no index; use literals, index params and sizes of buffers");
    mlc_rdom_new(ctx, "b2", mlc_range_new(0, 3), mlc_range_new(x, 3));
    ERROR_IS("rdom: dimension 1 of b2 has a bound that is no index; use literals, index params and sizes of buffers");
    mlc_param n = mlc_param_new(ctx, "n", MLC_I32), m = mlc_param_new(ctx, "m", MLC_INDEX);
    mlc_rdom_new(ctx, "b3", mlc_range_new(0, n));
    ERROR_IS("rdom: dimension 0 of b3 has a bound that is no index; use literals, index params and sizes of buffers");
    mlc_rdom ok = mlc_rdom_new(ctx, "ok", mlc_range_new(mlc_dim_min(in, 0), mlc_sub(m, 1)));
    ERROR_IS("");
    mlc_rvar(ok, 1);
    ERROR_IS("ok has 1 dimensions and no dimension 1; count from 0");
    mlc_where(ok, mlc_add(ok.x, 1));
    ERROR_IS("where ok: the condition of ok is index, not bool; compare it with something");
    /* conditions may read Funcs and use the left side's Vars */
    mlc_where(k, mlc_lt(k.x, x));
    mlc_def_add(mlc_at(f, x, y), mlc_at(in, k.x, y));
    ERROR_IS("");
    mlc_func g = mlc_func_new(ctx, "g");
    mlc_def_add(mlc_at(g, y), mlc_at(in, k.x, y));
    ERROR_IS("define g: the Var x is not on the left side; add it there or use an RDom");
}
END_TEST

START_TEST(reductions) {
    mlc_def(mlc_at(f, x), mlc_sum(k, mlc_mul(mlc_at(fl, x, k.x), mlc_maximum(r, mlc_mul(mlc_at(fl, r.x, k.x), 2)))));
    ERROR_IS("");
    VALUE_IS("f", 0, "sum$1(x)");
    VALUE_IS("sum$1", 1, "fma(fl(x, k), maximum$1(k), sum$1(x))");
    VALUE_IS("maximum$1", 1, "max(maximum$1(k$x), fl(r.x, k$x) * 2.0)");
    mlc_expr best = mlc_argmin(r, mlc_at(in, r.x, r.y));
    Func *a = mlc_func_of(best).f;
    ck_assert(a->n == 3 && a->rank == 0 && a->type[0] == MLC_I32 && a->type[2] == MLC_U8);
    ck_assert_str_eq(value("argmin$1", 0, 0), "1");
    ck_assert_str_eq(value("argmin$1", 0, 2), "u8(255)");
    ck_assert_str_eq(value("argmin$1", 1, 1), "select(in(r.x, r.y) < argmin$1()[2], i32(r.y), argmin$1()[1])");
    mlc_sum(k, mlc_lt(k.x, 3));
    ERROR_IS("define sum$2: + needs numbers, not bool; cast, as in i32(..)");
    mlc_argmax(k, mlc_lt(k.x, 3));
    ERROR_IS("argmax: min needs numbers, not bool; cast, as in i32(..)");
}
END_TEST

static char logged[300];

static void log_line(void *user, const char *line) {
    const char *place = strstr(line, ".c:");
    ck_assert_ptr_null(user);
    snprintf(logged, sizeof logged, "%s", place ? strstr(place, ": ") + 2 : line);
}

START_TEST(warnings) {
    mlc_ctx_log(ctx, log_line, NULL);
    mlc_def_add(mlc_at(f, x), mlc_bf16(mlc_at(fl, x, k.x)));
    ck_assert_str_eq(logged, "define f: warning: f rounds to bf16 at every step of this reduction; accumulate in an f32 Func");
    mlc_func g = mlc_func_new(ctx, "g"), h = mlc_func_new(ctx, "h");
    logged[0] = 0;
    mlc_def(mlc_at(g, x), mlc_div(mlc_at(fl, x, 0), 4)); /* 1/4 is exact */
    ck_assert_str_eq(logged, "");
    mlc_def(mlc_at(h, x), mlc_div(mlc_at(fl, x, 0), 3));
    ck_assert_str_eq(logged, "define h: warning: / 3.0 divides at every point, since 1/c is not exact; write * (1 / 3.0) where that will do");
    ERROR_IS("");
}
END_TEST

START_TEST(random_places) {
    mlc_random_u32(ctx, 3); /* elsewhere: does not count */
    mlc_func g = mlc_func_new(ctx, "g");
    mlc_expr two = mlc_sub(mlc_random_u32(ctx, 3), mlc_random_u32(ctx, 3)), once = mlc_random_u32(ctx, 3);
    mlc_def(mlc_at(f, x), two);
    mlc_def(mlc_at(g, x), mlc_sub(once, once));
    ERROR_IS("");
    const Node *a = f.f->def.at[0]->value[0], *b = g.f->def.at[0]->value[0];
    ck_assert(a->op == OP_SUB && a->kid[0] != a->kid[1]); /* two places, two values */
    ck_assert(ir_is(b, 0));                               /* one call, one value */
    ck_assert_int_eq(f.f->def.at[0]->rhs[0]->kid[0]->aux, 0);
    ck_assert_int_eq(f.f->def.at[0]->rhs[0]->kid[1]->aux, 1);
}
END_TEST

static bool orders_two(Func *g, Func *h) {
    Barrier bar;
    Func *outs[] = { g, h };
    if (!FAULT_TRY(&ctx->fault, bar)) return false;
    alg_order(&ctx->arena, outs, h ? 2 : 1);
    FAULT_END(&ctx->fault, bar);
    return true;
}

static bool orders(mlc_func g) {
    return orders_two(g.f, NULL);
}

START_TEST(order) {
    mlc_func a = mlc_func_new(ctx, "a"), b = mlc_func_new(ctx, "b"), c = mlc_func_new(ctx, "c");
    mlc_def(mlc_at(a, x), mlc_at(fl, x, 0));
    mlc_def(mlc_at(b, x), mlc_mul(mlc_at(a, x), mlc_at(in, x, 1)));
    mlc_def(mlc_at(c, x), mlc_add(mlc_at(b, x), mlc_at(a, x)));
    Func *outs[] = { c.f, a.f };
    FuncList l = alg_order(&ctx->arena, outs, 2);
    const char *names[] = { "fl", "a", "in", "b", "c" };
    ck_assert_int_eq(l.n, 5);
    for (int i = 0; i < 5; i++) ck_assert_str_eq(l.at[i]->name, names[i]);
    /* a chain of any length, and a poison that only its consumers meet */
    mlc_func last = c;
    for (int i = 0; i < 20000; i++) {
        mlc_func next = mlc_func_new(ctx, arena_printf(&ctx->arena, "s%d", i));
        mlc_def(mlc_at(next, x), mlc_at(last, x));
        last = next;
    }
    ck_assert_int_eq(alg_order(&ctx->arena, &last.f, 1).n, 20005);
    mlc_func bad = mlc_func_new(ctx, "bad"), user = mlc_func_new(ctx, "user");
    mlc_def(mlc_at(bad, x), y);
    mlc_error_clear(ctx);
    mlc_def(mlc_at(user, x), mlc_at(bad, x));
    mlc_error_clear(ctx);
    ck_assert_int_eq(alg_order(&ctx->arena, &c.f, 1).n, 5);
    ck_assert(!orders_two(c.f, c.f));
    ERROR_IS("c is named as an output twice; name it once and copy its buffer");
    ck_assert(!orders(in));
    ERROR_IS("in is an input; realize a Func");
    ck_assert(!orders(user));
    ERROR_IS("define bad: the Var y is not on the left side; add it there or use an RDom");
    ck_assert(!orders(mlc_func_new(ctx, "none")));
    ERROR_IS("none is needed and has no definition; define it");
}
END_TEST

Suite *define_suite(void);
Suite *define_suite(void) {
    Suite *s = suite_create("define");
    TCase *t = tcase_create("definitions");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, pure);
    tcase_add_loop_test(t, implicit_starts, 0, sizeof starts / sizeof *starts);
    tcase_add_test(t, updates);
    tcase_add_test(t, tuples);
    tcase_add_loop_test(t, wrong_definitions, 0, sizeof wrongs / sizeof *wrongs);
    tcase_add_test(t, domains);
    tcase_add_test(t, reductions);
    tcase_add_test(t, warnings);
    tcase_add_test(t, random_places);
    tcase_add_test(t, order);
    suite_add_tcase(s, t);
    return s;
}
