/* test_boundary.c - boundary conditions and argmin/argmax by value: interpreted, against plain C. */
#include "algorithm/algorithm.h"

#include <mlc.h>

#include <check.h>
#include <math.h>
#include <string.h>

static mlc_ctx *ctx;
static mlc_var x, y;

static void setup(void) {
    ctx = mlc_ctx_new();
    x = mlc_var_new(ctx, "x");
    y = mlc_var_new(ctx, "y");
}

static void teardown(void) {
    mlc_ctx_free(ctx);
}

static mlc_buffer wrap(void *data, mlc_type type, int64_t min, int64_t extent) {
    return (mlc_buffer){ .data = data, .type = type, .rank = 1, .dim = { { min, extent, 1 } } };
}

/* Interprets one output into its buffer (a tuple: one a buffer); false on an error. */
static bool interpret(mlc_func f, mlc_buffer *const *out, int n) {
    Barrier b;
    if (!FAULT_TRY(&ctx->fault, b)) return false;
    alg_interpret(&ctx->arena, &f.f, out, n);
    FAULT_END(&ctx->fault, b);
    return true;
}

/* ---- what stands at i, by the words of func.h ---- */

static int64_t floor_mod(int64_t a, int64_t b) {
    return b ? ((a % b) + b) % b : 0;
}

/* The element of a 1-d image [lo, lo + n) that kind puts at i; -1: the constant. */
static int64_t source(mlc_edge kind, int64_t i, int64_t lo, int64_t n) {
    int64_t at = i - lo;
    if (at >= 0 && at < n) return at;
    switch (kind) {
    case MLC_CONSTANT_EDGE: return -1;
    case MLC_REPEAT_EDGE: return at < 0 ? 0 : n - 1;
    case MLC_REPEAT_IMAGE: return floor_mod(at, n);
    case MLC_MIRROR_IMAGE: /* walk: bounce on the walls between elements */
        for (int64_t p = 0, dir = 1, left = floor_mod(at, 2 * n);; left--) {
            if (!left) return p;
            if (p + dir < 0 || p + dir >= n) dir = -dir; /* stays: the edge is doubled */
            else p += dir;
        }
    case MLC_MIRROR_INTERIOR:
        if (n == 1) return 0;
        for (int64_t p = 0, dir = 1, left = floor_mod(at, 2 * (n - 1));; left--) {
            if (!left) return p;
            if (p + dir < 0 || p + dir >= n) dir = -dir;
            p += dir;
        }
    }
    return -1;
}

static const int64_t sizes[] = { 1, 2, 3, 7 }, mins[] = { 0, -3, 5 };

START_TEST(every_kind) {
    mlc_edge kind = (mlc_edge)_i;
    for (int s = 0; s < 4; s++)
        for (int m = 0; m < 3; m++) {
            int64_t n = sizes[s], lo = mins[m];
            float data[7], got[41];
            for (int i = 0; i < 7; i++) data[i] = (float)(10 + i);
            mlc_func in = mlc_input_new(ctx, arena_printf(&ctx->arena, "in%d%d", s, m), MLC_F32, 1);
            mlc_edge_args args = { .loc = MLC_HERE, .f = in };
            if (m == 1) args.d0 = mlc_range_new(lo, n); /* given, not the input's own */
            mlc_func e = mlc_boundary(kind, MLC_E(-1), &args);
            mlc_buffer ib = wrap(data, MLC_F32, lo, n), ob = wrap(got, MLC_F32, lo - 20, 41), *out = &ob;
            in.f->bound = &ib;
            ck_assert_str_eq(mlc_error(ctx), "");
            ck_assert_msg(interpret(e, &out, 1), "%s", mlc_error(ctx));
            for (int i = 0; i < 41; i++) {
                int64_t at = source(kind, lo - 20 + i, lo, n);
                ck_assert_msg(got[i] == (at < 0 ? -1.f : data[at]), "kind %d, %d of [%d, %d)", _i, i - 20 + (int)lo, (int)lo, (int)(lo + n));
            }
        }
}
END_TEST

START_TEST(shapes) {
    mlc_func in = mlc_input_new(ctx, "in", MLC_U8, 2);
    mlc_func e = mlc_repeat_edge(in), e2 = mlc_repeat_edge(in), named = mlc_mirror_image(in, .name = "m");
    ck_assert_str_eq(e.f->name, "in$edge");
    ck_assert_str_eq(e2.f->name, "in$edge$1");
    ck_assert_str_eq(named.f->name, "m");
    /* a range for dimension 0 only: the other is left alone */
    mlc_func one = mlc_constant_edge(7, in, mlc_range_new(0, 4), .name = "one");
    ck_assert_str_eq(ir_show(&ctx->ir, one.f->def.at[0]->value[0]),
                     "select(0 <= _0 && _0 < 4, likely(in(min(max(likely(_0), 0), 3), _1)), 7)");
    mlc_func f = mlc_func_new(ctx, "f");
    mlc_def_tuple(mlc_at(f, x), x, mlc_f32(x));
    mlc_func t = mlc_repeat_edge(f, mlc_range_new(0, 9));
    ck_assert(t.f->n == 2 && t.f->type[1] == MLC_F32 && t.f->arg[0] == x.sym);
    ck_assert_str_eq(mlc_error(ctx), "");
}
END_TEST

static void error_is(const char *text) {
    const char *have = mlc_error(ctx), *place = strstr(have, ".c:");
    if (place) have = strstr(place, ": ") + 2;
    ck_assert_str_eq(have, text);
    mlc_error_clear(ctx);
}

START_TEST(errors) {
    mlc_func in = mlc_input_new(ctx, "in", MLC_U8, 1), f = mlc_func_new(ctx, "f");
    mlc_repeat_edge(f, mlc_range_new(0, 3));
    error_is("boundary: f is read before it is defined; define it first, and let an update over an RDom read itself");
    mlc_def(mlc_at(f, x), mlc_at(in, x));
    mlc_repeat_edge(f);
    error_is("boundary: the boundary of f has no bounds; give a range for some dimension");
    mlc_repeat_edge(in, mlc_range_new(0, 3), mlc_range_new(0, 3));
    error_is("boundary: in has no dimension 1; count from 0, below its rank");
    mlc_constant_edge(256, in);
    error_is("boundary: the literal 256 is not a value of u8; widen the other side, or write u8(256), which wraps or rounds");
    mlc_repeat_edge(in, mlc_range_new(0, 2.5));
    error_is("boundary: an index is made of f64; convert it, as in index(i32(..))");
}
END_TEST

/* ---- argmin and argmax: a NaN beats all, -0 < +0, the first of equals ---- */

static const struct {
    float v[5];
    int least, greatest;
} rows[] = {
    { { 3, 1, 4, 1, 5 }, 1, 4 },
    { { 2, 2, 2, 2, 2 }, 0, 0 },
    { { 0.f, -0.f, 0.f, -0.f, 0.f }, 1, 0 },
    { { -0.f, 0.f, 0.f, -0.f, 0.f }, 0, 1 },
    { { 1, (float)NAN, 0, (float)NAN, 9 }, 1, 1 },
    { { (float)INFINITY, (float)INFINITY, (float)INFINITY, (float)INFINITY, (float)INFINITY }, 0, 0 },
    { { -(float)INFINITY, 0x1p-149f, -0x1p-149f, 0, (float)INFINITY }, 0, 4 },
};

START_TEST(argument_of_extremes) {
    float data[5];
    memcpy(data, rows[_i].v, sizeof data);
    mlc_func in = mlc_input_new(ctx, "in", MLC_F32, 1), f = mlc_func_new(ctx, "f");
    mlc_rdom k = mlc_rdom_new(ctx, "k", mlc_range_new(0, 5));
    mlc_expr lo = mlc_argmin(k, mlc_at(in, k.x)), hi = mlc_argmax(k, mlc_at(in, k.x));
    mlc_def_tuple(mlc_access(f, 0, NULL), mlc_elem(lo, 0), mlc_elem(hi, 0), mlc_elem(lo, 1), mlc_elem(hi, 1));
    ck_assert_str_eq(mlc_error(ctx), "");
    int32_t at[2];
    float v[2];
    mlc_buffer b[4] = { { .data = &at[0], .type = MLC_I32 }, { .data = &at[1], .type = MLC_I32 },
                        { .data = &v[0], .type = MLC_F32 }, { .data = &v[1], .type = MLC_F32 } };
    mlc_buffer *out[4] = { &b[0], &b[1], &b[2], &b[3] }, ib = wrap(data, MLC_F32, 0, 5);
    in.f->bound = &ib;
    ck_assert_msg(interpret(f, out, 4), "%s", mlc_error(ctx));
    ck_assert_int_eq(at[0], rows[_i].least);
    ck_assert_int_eq(at[1], rows[_i].greatest);
    ck_assert(isnan(v[0]) ? isnan(data[at[0]]) : !memcmp(&v[0], &data[at[0]], sizeof *v));
    ck_assert(isnan(v[1]) ? isnan(data[at[1]]) : !memcmp(&v[1], &data[at[1]], sizeof *v));
}
END_TEST

Suite *boundary_suite(void);
Suite *boundary_suite(void) {
    Suite *s = suite_create("boundary");
    TCase *t = tcase_create("edges");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, every_kind, MLC_CONSTANT_EDGE, MLC_MIRROR_INTERIOR + 1);
    tcase_add_test(t, shapes);
    tcase_add_test(t, errors);
    tcase_add_loop_test(t, argument_of_extremes, 0, sizeof rows / sizeof *rows);
    suite_add_tcase(s, t);
    return s;
}
