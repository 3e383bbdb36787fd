/* test_contract_calls.c - the rules of docs/semantics.md about calls: what is checked, what is kept, what is
 * refused.  Each test runs under every executor that kit.h lists. */
#include "kit.h"

#include <xmmintrin.h>

Suite *contract_calls_suite(void);

/* ---- one program under one combination ---- */

typedef struct {
    mlc_ctx *ctx;
    mlc_program *p;
    mlc_func out[8];
    int n;
    mlc_error_info e;
} Text;

static void read_text(Text *t, const char *text) {
    *t = (Text){ .ctx = mlc_ctx_new() };
    t->p = mlc_program_parse(t->ctx, text, NULL);
    ck_assert_msg(t->p != NULL, "%s", mlc_error(t->ctx));
    t->n = mlc_program_n_outputs(t->p);
    for (int i = 0; i < t->n; i++) t->out[i] = mlc_program_output(t->p, i);
}

/* NULL where this machine cannot run the target. */
static mlc_module *build(Text *t, const Combo *k, const char *plan) {
    mlc_plan *how = mlc_plan_new(t->ctx);
    ck_assert_msg(mlc_plan_parse(how, plan, NULL), "%s", mlc_error(t->ctx));
    mlc_options o = { .target = k->target, .cc = k->cc, .opt = k->opt, .threads = 3 };
    mlc_module *m = mlc_compile(how, t->n, t->out, &o, &t->e);
    ck_assert_msg(m || !strcmp(mlc_error_name(t->e.code), "TARGET_HERE"), "%s %s: %s", k->target, plan, t->e.message);
    return m;
}

static void refuse(const char *text, const char *plan, const char *message) {
    Text t;
    read_text(&t, text);
    mlc_plan *how = mlc_plan_new(t.ctx);
    ck_assert_msg(mlc_plan_parse(how, plan, NULL), "%s", mlc_error(t.ctx));
    for (int k = 0; k < 2; k++) { /* the interpreter ignores plans, but checks them */
        mlc_options o = { .target = k ? "interpret" : "plain" };
        mlc_module *m = mlc_compile(how, t.n, t.out, &o, &t.e);
        if (m && k) mlc_run(m, 0, NULL, 0, NULL, &t.e); /* what depends on boxes, only lowering knows */
        ck_assert_msg(!m || k, "%s with %s was compiled", text, plan);
        if (!m) ck_assert_msg(strstr(t.e.message, message) != NULL, "%s with %s: %s", text, plan, t.e.message);
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}

#define EACH_COMBO(k) for (const Combo *k = kit.combo; k < kit.combo + kit.combos; k++)

static void setup(void) {
    kit_combos();
}

/* ---- refused plans and programs ---- */

START_TEST(races_are_refused) {
    static const struct {
        const char *text, *plan, *message;
    } rows[] = {
        { "mlc 1; input in: u8[1]; rdom k(0, 99); h(x) = 0; h(index(in(k))) += 1; output h", "h.u0: parallel(k)",
          "iterations of 'k' may write or read the same points of h" },
        { "mlc 1; input in: u8[1]; rdom k(0, 99); h(x) = 0; h(index(in(k))) = i32(k); output h", "h.u0: vectorize(k, 8)",
          "may write or read the same points of h" },
        { "mlc 1; input in: f32[1]; rdom k(0, 99); f(x) += in(k); output f", "f.u0: vectorize(k, 8)", "may write or read the same points" },
        { "mlc 1; rdom k(0, 99); f(x) = 1; f(k + 1) = f(k); output f", "f.u0: vectorize(k, 4)", "may write or read the same points" },
        { "mlc 1; input in: f32[2]; rdom k(0, 9; 0, 9); f(x) += in(k.x, k.y); output f", "f.u0: reorder(k.y, k.x)", "keep their order" },
        { "mlc 1; input in: f32[1]; rdom k(0, 9); f(x) += in(k + x); output f", "f.u0: split(k, a, b, 4, .tail = round)", "use the guard tail" },
        { "mlc 1; input in: f32[1]; f(x) = in(x); f(x) += in(x); output f", "f.u0: split(x, a, b, 4, .tail = shift)", "use the guard tail" },
        { "mlc 1; input in: f32[1]; f(x) = in(x); output f", "f: split(x, a, b, 4, .tail = shift), parallel(a)", "use the guard tail" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) refuse(rows[i].text, rows[i].plan, rows[i].message);
}
END_TEST

START_TEST(wrong_types_are_refused) {
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "input a: u32[1]; input b: i32[1]; f(x) = a(x) + b(x);", "cast one side" },
        { "input a: u8[1]; input b: i8[1]; f(x) = a(x) * b(x);", "cast one side" },
        { "input a: f16[1]; input b: bf16[1]; f(x) = a(x) - b(x);", "cast one side" },
        { "input a: bool[1]; f(x) = a(x) + 1;", "cast" },
        { "input a: u64[1]; f(x) = a(x) + x;", "cast one side" },
        { "input a: u8[1]; f(x) = a(x); f(x) += i32(x);", "does not fit u8" },
        { "input a: u8[1]; f(x) = a(x) + 256;", "256 is not a value of u8" },
        { "input a: i8[1]; f(x) = a(x) + 128;", "128 is not a value of i8" },
        { "input a: u8[1]; f(x) = a(x) - -1;", "-1 is not a value of u8" },
        { "input a: f32[1]; f(x) = a(x) * 1e300;", "beyond the range of f32" },
        { "input a: i32[1]; f(x) = pow(a(x), 2);", "pow" },
        { "f(x, k) = 0; f(x, k) = f(x + 1, k);", "write x there" },
        { "input a: i32[1]; rdom k(0, a(3)); f(x) = 0; f(x) += i32(k);", "use literals, index params and sizes of buffers" },
        { "f(x) = x + undef_i32;", "use it only there" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_ctx *ctx = mlc_ctx_new();
        ck_assert_msg(!mlc_let_text(ctx, rows[i].text, MLC_HERE), "%s", rows[i].text);
        ck_assert_msg(strstr(mlc_error(ctx), rows[i].message) != NULL, "%s: %s", rows[i].text, mlc_error(ctx));
        mlc_ctx_free(ctx);
    }
}
END_TEST

START_TEST(unbounded_indices_are_refused) {
    refuse("mlc 1; input a: i32[1]; input b: i32[1]; f(x) = b(a(x)); output f", "f: serial(x)", "clamp");
    refuse("mlc 1; input a: i32[1]; f(x) = 0; rdom k(0, 9); f(index(a(k))) = 1; output f", "f: serial(x)", "clamp");
    refuse("mlc 1; input a: u64[1]; input b: i32[1]; f(x) = b(index(a(x)) + 1); output f", "f: serial(x)", "clamp");
}
END_TEST

/* ---- checks of a call ---- */

static void expect(mlc_module *m, int n, mlc_buffer *const *b, int np, const mlc_scalar *v, const char *name, const Combo *k) {
    mlc_error_info e = { 0, "no error" };
    int rc = mlc_run(m, n, b, np, v, &e);
    ck_assert_msg(rc != 0 && !strcmp(mlc_error_name(e.code), name), "%s -O%d: want %s, got %s", k->target, k->opt, name, e.message);
}

START_TEST(params_are_checked_at_every_call) {
    static const struct {
        double f;
        i64 i;
        const char *error; /* NULL: none */
    } rows[] = {
        { 0, -3, NULL }, { 4, 1000, NULL }, { 0x1p-149, 0, NULL }, { -0.0, 0, "PARAM_RANGE" }, { (double)NAN, 0, "PARAM_RANGE" },
        { (double)INFINITY, 0, "PARAM_RANGE" }, { 4.5, 0, "PARAM_RANGE" }, { -1e-30, 0, "PARAM_RANGE" }, { 1, -4, "PARAM_RANGE" },
        { 1, 1001, "PARAM_RANGE" }, { 1, INT64_MIN, "PARAM_TYPE" }, { 1, (i64)1 << 40, "PARAM_TYPE" },
    };
    Text t;
    read_text(&t, "mlc 1; param g: f32 range 0.0..4.0; param n: i32 range -3..1000; f(x) = g * n + x; output f");
    EACH_COMBO(k) {
        mlc_module *m = build(&t, k, "f: vectorize(x, 4)");
        if (!m) continue;
        f32 out[7];
        mlc_buffer *b[] = { mlc_wrap(out, 7) };
        int g = mlc_module_find_param(m, "g");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            mlc_scalar v[2];
            v[g].f = rows[i].f;
            v[!g].i = rows[i].i;
            if (rows[i].error) expect(m, 1, b, 2, v, rows[i].error, k);
            else ck_assert_int_eq(mlc_run(m, 1, b, 2, v, NULL), 0);
        }
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}
END_TEST

START_TEST(outputs_share_no_element) {
    Text t;
    read_text(&t, "mlc 1; input a: i32[1]; input b: i32[1]; f(x) = a(x) + b(x); g(x) = a(x) - b(x); output f, g");
    EACH_COMBO(k) {
        mlc_module *m = build(&t, k, "f: vectorize(x, 8); g: vectorize(x, 4)");
        if (!m) continue;
        static i32 in[16], out[64];
        for (int i = 0; i < 16; i++) in[i] = i * 3;
        mlc_buffer f = *mlc_wrap(out, 16), g = *mlc_wrap(out + 1, 16), both = *mlc_wrap(in, 16);
        mlc_buffer *b[] = { &both, &both, &f, &g }; /* inputs may share memory */
        expect(m, 4, b, 0, NULL, "CALL_OVERLAP", k);
        f.dim[0].stride = g.dim[0].stride = 2; /* interleaved: no element is shared */
        ck_assert_int_eq(mlc_run(m, 4, b, 0, NULL, NULL), 0);
        for (int i = 0; i < 16; i++) ck_assert(out[2 * i] == 6 * i && out[2 * i + 1] == 0);
        g.data = out + 30; /* f's last element */
        expect(m, 4, b, 0, NULL, "CALL_OVERLAP", k);
        g.data = in + 3;
        expect(m, 4, b, 0, NULL, "CALL_OVERLAP", k);
        g.data = out + 40, g.dim[0].stride = 0;
        expect(m, 4, b, 0, NULL, "CALL_OVERLAP_SELF", k);
        g.dim[0].stride = 1, g.data = (char *)(out + 40) + 1;
        expect(m, 4, b, 0, NULL, "CALL_ALIGN", k);
        g.data = out + 40, both.data = (char *)in + 2;
        expect(m, 4, b, 0, NULL, "CALL_ALIGN", k);
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}
END_TEST

START_TEST(strides_of_any_kind) {
    Text t;
    read_text(&t, "mlc 1; input a: u8[2]; f(x, y) = a(x, y) * 2 + u8(x); output f");
    EACH_COMBO(k) {
        mlc_module *m = build(&t, k, "f: vectorize(x, 16)");
        if (!m) continue;
        static u8 in[8 * 128], out[8 * 128];
        for (int i = 0; i < 8 * 128; i++) in[i] = (u8)(i * 37);
        for (int kind = 0; kind < 4; kind++) {
            mlc_buffer a = *mlc_wrap(in, 40, 8), f = *mlc_wrap(out, 40, 8), *b[] = { &a, &f };
            a.dim[1].stride = f.dim[1].stride = 128;
            if (kind == 1) a.dim[0].stride = 3;
            if (kind == 2) f.dim[0].stride = -3, f.data = out + 117;
            if (kind == 3) a.dim[0].stride = 0;
            memset(out, 0, sizeof out);
            ck_assert_int_eq(mlc_run(m, 2, b, 0, NULL, NULL), 0);
            for (int y = 0; y < 8; y++)
                for (int x = 0; x < 40; x++) {
                    u8 v = in[y * 128 + x * (kind == 1 ? 3 : kind == 3 ? 0 : 1)];
                    ck_assert_int_eq(*((u8 *)f.data + y * 128 + x * f.dim[0].stride), (u8)(v * 2 + x));
                }
        }
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}
END_TEST

START_TEST(sizes_that_do_not_fit_are_refused) {
    Text t;
    read_text(&t, "mlc 1; f(x) = x; output f");
    EACH_COMBO(k) {
        mlc_module *m = build(&t, k, "f: vectorize(x, 4)");
        if (!m) continue;
        i32 out[8];
        mlc_buffer f = *mlc_wrap(out, 8), *b[] = { &f };
        f.dim[0].min = INT32_MAX - 7;
        ck_assert_int_eq(mlc_run(m, 1, b, 0, NULL, NULL), 0);
        ck_assert_int_eq(out[7], INT32_MAX);
        f.dim[0].min = INT64_MAX - 3;
        expect(m, 1, b, 0, NULL, "CALL_FAR", k);
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}
END_TEST

/* What is needed of input i of the program, as a box a dimension. */
static void note_need(void *user, const char *input, int rank, const mlc_box *need) {
    (void)input;
    memcpy(user, need, (size_t)rank * sizeof *need);
}

START_TEST(indices_that_become_data_fit) {
    static const i64 top = (i64)1 << 31;
    static const struct {
        const char *text, *plan;
        i64 min, extent;
        bool fits;
        i64 last; /* the value of the last point */
    } rows[] = {
        { "f(x) = x;", "f: vectorize(x, 4)", top, 7, false, 0 },
        { "f(x) = x;", "f: serial(x)", top - 6, 7, false, 0 },
        { "f(x) = x;", "f: vectorize(x, 4)", top - 7, 7, true, INT32_MAX },
        { "f(x) = x;", "f: vectorize(x, 4, .tail = shift)", -top, 7, true, INT32_MIN + 6 },
        { "f(x) = x;", "f: vectorize(x, 4)", -top - 1, 7, false, 0 },
        { "f(x) = x;", "f: vectorize(x, 4)", top, 0, true, 0 },
        { "f(x) = i32(i64(x));", "f: vectorize(x, 4)", top, 7, true, INT32_MIN + 6 },
        { "f(x) = i32(f32(x));", "f: vectorize(x, 4)", top, 7, false, 0 },
        { "input a: u8[1]; f(x) = a(x * 0) + x;", "f: vectorize(x, 4)", top, 7, false, 0 },
        { "f(x) = i32(x * 3);", "f: vectorize(x, 4)", top / 3, 7, false, 0 },
        { "p(x) = x; f(x) = p(x + 100);", "p: compute_root(), vectorize(x, 8)", top - 106, 7, false, 0 },
        { "p(x) = x; f(x) = p(x + 100);", "p: compute_root(), vectorize(x, 8)", top - 107, 7, true, INT32_MAX },
        { "p(x) = x; f(x) = p(x + 100);", "f: split(x, xo, xi, 4), vectorize(xi); p: compute_at(f, xo), vectorize(x, 4)", top - 107, 7, true, INT32_MAX },
        { "rdom k(2147483640, 9); f(x) = 0; f(x) += i32(k);", "f: serial(x)", 0, 7, false, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Text t;
        char text[256];
        bool reads = strstr(rows[i].text, "input") != NULL;
        snprintf(text, sizeof text, "mlc 1; %s output f", rows[i].text);
        read_text(&t, text);
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, rows[i].plan);
            if (!m) continue;
            i32 out[8];
            u8 in[1] = { 0 };
            mlc_buffer f = *mlc_wrap(out, 7), g = *mlc_wrap(in, 1), *b[2] = { reads ? &g : &f, &f };
            f.dim[0].min = rows[i].min, f.dim[0].extent = rows[i].extent;
            if (!rows[i].fits) {
                expect(m, 1 + reads, b, 0, NULL, "INDEX_I32", k);
            } else {
                int rc = mlc_run(m, 1 + reads, b, 0, NULL, &t.e);
                ck_assert_msg(rc == 0, "%s at %lld: %s", text, (long long)rows[i].min, t.e.message);
                if (rows[i].extent) ck_assert_int_eq(out[6], rows[i].last);
            }
            mlc_module_free(m);
        }
        mlc_ctx_free(t.ctx);
    }
}
END_TEST

START_TEST(broken_tails_name_their_sizes) {
    static const struct {
        const char *plan;
        int extent;
        const char *message; /* NULL: none */
    } rows[] = {
        { "f: split(x, xo, xi, 8, .tail = shift)", 7, "f over x has extent 7, shorter than the factor 8 of its shifted tail" },
        { "f: split(x, xo, xi, 8, .tail = shift)", 8, NULL },
        { "f: vectorize(x, 8, .tail = shift)", 1, "extent 1, shorter than the factor 8" },
        { "f: vectorize(x, 8, .tail = round)", 15, "15, no multiple of the factor 8 to which its tail rounds" },
        { "f: vectorize(x, 8, .tail = round)", 16, NULL },
        { "f: vectorize(x, 8, .tail = guard)", 7, NULL },
        { "f: vectorize(x, 8)", 1, NULL },
        { "f: bound(x, 0, 16), vectorize(x, 8, .tail = round)", 15, "15" },
    };
    Text t;
    read_text(&t, "mlc 1; f(x) = x * 3; output f");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        EACH_COMBO(k) {
            if (!k->cc) continue; /* the interpreter has no tails */
            mlc_module *m = build(&t, k, rows[i].plan);
            if (!m) continue;
            i32 out[16];
            mlc_buffer *b[] = { mlc_wrap(out, rows[i].extent) };
            mlc_error_info e = { 0, "" };
            int rc = mlc_run(m, 1, b, 0, NULL, &e);
            ck_assert_msg((rc != 0) == (rows[i].message != NULL), "%s: %d %s", rows[i].plan, rows[i].extent, e.message);
            if (rows[i].message) ck_assert_msg(strstr(e.message, rows[i].message) != NULL, "%s: %s", rows[i].plan, e.message);
            for (int x = 0; !rc && x < rows[i].extent; x++) ck_assert_int_eq(out[x], x * 3);
            mlc_module_free(m);
        }
    mlc_ctx_free(t.ctx);
}
END_TEST

START_TEST(reads_out_of_bounds_are_refused) {
    Text t;
    read_text(&t, "mlc 1; input a: i32[1]; f(x) = select(x > 0, a(x - 1), 0); output f"); /* boxes count every operand */
    EACH_COMBO(k) {
        mlc_module *m = build(&t, k, "f: vectorize(x, 8)");
        if (!m) continue;
        i32 in[16] = { 0 }, out[16];
        mlc_buffer *b[] = { mlc_wrap(in, 16), mlc_wrap(out, 16) };
        expect(m, 2, b, 0, NULL, k->cc ? "INPUT_BOX" : "INTERP_READ", k);
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}
END_TEST

/* What updates write and other outputs read belongs to the box of an output, for every target. */
START_TEST(outputs_hold_what_is_written) {
    static const struct {
        const char *text, *plan, *message;
    } rows[] = {
        { "rdom k(0, 50); f(x) = 0; f(k) += 1; output f", "f: vectorize(x, 4)", "output f is written or read in dimension 0 from 0 to 49, " },
        { "rdom k(3, 9); f(x) = 0; f(2 * k) = f(k - 5) + 1; output f", "f: serial(x)", "output f is written or read in dimension 0 from -2 to 22, " },
        { "f(x) = x; g(x) = f(x) + f(x + 1); output f, g", "f: serial(x)", "output f is written or read in dimension 0 from 0 to 8, " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200], want[300];
        Text t;
        snprintf(text, sizeof text, "mlc 1; %s", rows[i].text);
        snprintf(want, sizeof want, "%sbut its buffer holds 0 to 7; bind a larger buffer", rows[i].message);
        read_text(&t, text);
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, rows[i].plan);
            if (!m) continue;
            i32 out[2][8];
            mlc_error_info e;
            mlc_buffer *b[] = { mlc_wrap(out[0], 8), mlc_wrap(out[1], 8) };
            ck_assert_int_ne(mlc_run(m, mlc_module_slots(m), b, 0, NULL, &e), 0);
            ck_assert_str_eq(mlc_error_name(e.code), "OUTPUT_BOX");
            ck_assert_str_eq(e.message, want);
            mlc_module_free(m);
        }
        mlc_ctx_free(t.ctx);
    }
}
END_TEST

START_TEST(require_ends_the_call) {
    Text t;
    read_text(&t, "mlc 1; input a: i32[1]; f(x) = require(a(x) != 7, a(x), \"seven\"); output f");
    static const char *const plans[] = { "f: serial(x)", "f: vectorize(x, 8)", "f: split(x, xo, xi, 8), parallel(xo), vectorize(xi)" };
    for (size_t p = 0; p < 3; p++)
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, plans[p]);
            if (!m) continue;
            i32 in[37], out[37];
            for (int i = 0; i < 37; i++) in[i] = i - 100;
            mlc_buffer *b[] = { mlc_wrap(in, 37), mlc_wrap(out, 37) };
            ck_assert_int_eq(mlc_run(m, 2, b, 0, NULL, NULL), 0);
            ck_assert_mem_eq(in, out, sizeof in);
            for (int at = 0; at < 37; at += 12) {
                in[at] = 7;
                expect(m, 2, b, 0, NULL, "REQUIRE_FAILED", k);
                in[at] = 1;
            }
            mlc_module_free(m);
        }
    mlc_ctx_free(t.ctx);
}
END_TEST

/* The points of a box count as needed, those of its padding do not. */
START_TEST(require_counts_the_box) {
    static const struct {
        const char *text, *plan;
        bool fires;
    } rows[] = {
        { "p(x) = require(x % 2 == 0, x, \"even\"); f(x) = p(x * 2);", "p: compute_inline(); f: vectorize(x, 4)", false },
        { "p(x) = require(x % 2 == 0, x, \"even\"); f(x) = p(x * 2);", "p: compute_root()", true },
        { "p(x) = require(x < 13, x, \"low\"); f(x) = p(x * 2);", "p: compute_root(), vectorize(x, 8, .tail = round)", false },
        { "p(x) = require(x < 12, x, \"low\"); f(x) = p(x * 2);", "p: compute_root(), vectorize(x, 8, .tail = round)", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Text t;
        char text[256];
        snprintf(text, sizeof text, "mlc 1; %s output f", rows[i].text);
        read_text(&t, text);
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, rows[i].plan);
            if (!m) continue;
            i32 out[7];
            mlc_buffer *b[] = { mlc_wrap(out, 7) };
            bool exact = !strcmp(k->target, "interpret") && i == 1; /* which asks for the points read */
            int rc = mlc_run(m, 1, b, 0, NULL, &t.e);
            ck_assert_msg((rc != 0) == (rows[i].fires && !exact), "%s with %s on %s: %s", text, rows[i].plan, k->target, rc ? t.e.message : "no error");
            mlc_module_free(m);
        }
        mlc_ctx_free(t.ctx);
    }
}
END_TEST

/* ---- print ---- */

static _Atomic int printed[64];

static void note(void *user, const char *line) {
    (void)user;
    int x, y;
    if (sscanf(line, "at %d %d", &x, &y) == 2 && x >= 0 && x < 64 && y == x * x) atomic_fetch_add(&printed[x], 1);
}

START_TEST(print_shows_each_needed_point) {
    Text t = { .ctx = mlc_ctx_new() };
    mlc_ctx_log(t.ctx, note, NULL);
    t.p = mlc_program_parse(t.ctx, "mlc 1; p(x) = print(\"at\", x, x * x); f(x) = p(x) + 1; output f", NULL);
    ck_assert_msg(t.p != NULL, "%s", mlc_error(t.ctx));
    t.out[0] = mlc_program_output(t.p, 0), t.n = 1;
    static const char *const plans[] = { "f: serial(x)", "f: vectorize(x, 8)", "p: compute_root(), vectorize(x, 8, .tail = round); f: parallel(x)" };
    for (size_t p = 0; p < 3; p++)
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, plans[p]);
            if (!m) continue;
            memset(printed, 0, sizeof printed);
            i32 out[37];
            mlc_buffer *b[] = { mlc_wrap(out, 37) };
            ck_assert_int_eq(mlc_run(m, 1, b, 0, NULL, NULL), 0);
            for (int x = 0; x < 37; x++) ck_assert_msg(out[x] == x + 1 && printed[x] >= 1, "%s %s: %d", k->target, plans[p], x);
            mlc_module_free(m);
        }
    mlc_ctx_free(t.ctx);
}
END_TEST

/* ---- the floating-point mode ---- */

enum { DEFAULT_MODE = 0x1f80, FTZ_DAZ_UP = 0x1f80 | 0x8040 | 0x4000 };

/* A user's function in the middle of a kernel. */
static f32 same(f32 v) {
    return v;
}

START_TEST(floating_point_mode_is_mlcs_own) {
    Text t = { .ctx = mlc_ctx_new() };
    mlc_extern_new(t.ctx, "same", (void (*)(void))same, "f32 -> f32");
    t.p = mlc_program_parse(t.ctx, "mlc 1; extern same: f32 -> f32; input a: f32[2]; f(x, y) = a(x, y) / 3 + a(x, y) * 0.5; g(x, y) = same(a(x, y)); output f, g", NULL);
    ck_assert_msg(t.p != NULL, "%s", mlc_error(t.ctx));
    for (t.n = 0; t.n < 2; t.n++) t.out[t.n] = mlc_program_output(t.p, t.n);
    EACH_COMBO(k) {
        mlc_module *m = build(&t, k, "f: vectorize(x, 8), parallel(y); g: parallel(y)");
        if (!m) continue;
        static f32 in[64 * 16], out[64 * 16], again[64 * 16], want[64 * 16];
        for (int i = 0; i < 64 * 16; i++) {
            u32 bits = (u32)i * 8191; /* denormals */
            if (i % 2) in[i] = (f32)i * 0.37f;
            else memcpy(&in[i], &bits, 4);
            want[i] = fmaf(in[i], 0.5f, in[i] / 3);
        }
        mlc_buffer *b[] = { mlc_wrap(in, 64, 16), mlc_wrap(out, 64, 16), mlc_wrap(again, 64, 16) };
        _mm_setcsr(FTZ_DAZ_UP);
        int rc = mlc_run(m, 3, b, 0, NULL, &t.e);
        unsigned after = _mm_getcsr();
        _mm_setcsr(DEFAULT_MODE);
        ck_assert_msg(rc == 0, "%s", t.e.message);
        ck_assert_msg((after & ~0x3fu) == FTZ_DAZ_UP, "%s: the mode comes back as %x", k->target, after);
        ck_assert_msg(memcmp(out, want, sizeof out) == 0, "%s %s -O%d: flushed or rounded up", k->target, k->cc ? k->cc : "", k->opt);
        ck_assert_mem_eq(again, in, sizeof in);
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}
END_TEST

/* Says whether it runs in its caller's mode, and leaves another one behind. */
static f32 spoil(f32 v) {
    bool good = (_mm_getcsr() & ~0x3fu) == FTZ_DAZ_UP;
    _mm_setcsr(DEFAULT_MODE | 0x8040 | 0x2000); /* down */
    return good ? v : -1;
}

static _Atomic int wrong_logs, logs;

static void note_mode(void *user, const char *text) {
    (void)user, (void)text;
    atomic_fetch_add(&logs, 1);
    if ((_mm_getcsr() & ~0x3fu) != FTZ_DAZ_UP) atomic_fetch_add(&wrong_logs, 1);
}

START_TEST(c_functions_run_in_the_callers_mode) {
    Text t = { .ctx = mlc_ctx_new() };
    mlc_ctx_log(t.ctx, note_mode, NULL);
    mlc_extern_new(t.ctx, "spoil", (void (*)(void))spoil, "f32 -> f32");
    t.p = mlc_program_parse(t.ctx, "mlc 1; extern spoil: f32 -> f32; input a: f32[2]; f(x, y) = spoil(a(x, y)) / 3 + a(x, y) * 0.5;"
                                   "g(x, y) = print(\"v\", a(x, y)) / 3; output f, g", NULL);
    ck_assert_msg(t.p != NULL, "%s", mlc_error(t.ctx));
    for (t.n = 0; t.n < 2; t.n++) t.out[t.n] = mlc_program_output(t.p, t.n);
    static const char *const plans[] = { "f: serial(x)", "f: vectorize(x, 4); g: vectorize(x, 4)", "f: parallel(y); g: parallel(y)" };
    for (size_t p = 0; p < 3; p++)
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, plans[p]);
            if (!m) continue;
            f32 in[32], out[32], third[32];
            for (int i = 0; i < 32; i++) in[i] = i % 3 ? (f32)i * 0.37f : (f32)i * 0x1p-140f;
            mlc_buffer *b[] = { mlc_wrap(in, 4, 8), mlc_wrap(out, 4, 8), mlc_wrap(third, 4, 8) };
            logs = wrong_logs = 0;
            _mm_setcsr(FTZ_DAZ_UP);
            int rc = mlc_run(m, 3, b, 0, NULL, &t.e);
            unsigned after = _mm_getcsr();
            _mm_setcsr(DEFAULT_MODE);
            ck_assert_msg(rc == 0, "%s", t.e.message);
            ck_assert_msg((after & ~0x3fu) == FTZ_DAZ_UP, "%s %s: the mode comes back as %x", k->target, plans[p], after);
            ck_assert_msg(logs >= 32 && !wrong_logs, "%s %s: %d of %d lines logged in mlc's mode", k->target, plans[p], wrong_logs, logs);
            for (int i = 0; i < 32; i++) {
                ck_assert_msg(out[i] == fmaf(in[i], 0.5f, in[i] / 3), "%s %s -O%d: f(%d) is %a", k->target, plans[p], k->opt, i, (double)out[i]);
                ck_assert_msg(third[i] == in[i] / 3, "%s %s -O%d: g(%d) is %a", k->target, plans[p], k->opt, i, (double)third[i]);
            }
            mlc_module_free(m);
        }
    mlc_ctx_free(t.ctx);
}
END_TEST

/* ---- inside one process: sizes change, threads call ---- */

START_TEST(extent_0_computes_nothing) {
    static const struct {
        const char *text, *plan;
        i64 side[4];
        f32 value; /* of a point, where there is one */
    } rows[] = {
        { "f(x, y) = a(x + 100000);", "f: vectorize(x, 8)", { 0, 0, 0, 5 }, 0 },
        { "f(x, y) = a(x + 100000);", "f: parallel(x)", { 3, 5, 7, 0 }, 0 },
        { "f(x, y) = a(x + 100000);", "f: vectorize(x, 8, .tail = shift)", { 0, 0, 0, 5 }, 0 },
        { "rdom k(0, 9); f(x, y) = 0.0f; f(x, y) += a(x + y + k + 100000);", "f: vectorize(x, 8); f.u0: vectorize(x, 8), parallel(y)", { 4, 5, 7, 0 }, 0 },
        { "p(x) = a(x + 100000); f(x, y) = p(x) + p(x + y);", "p: compute_root(), vectorize(x, 8, .tail = round)", { 0, 0, 0, 9 }, 0 },
        { "p(x) = a(x + 100000); f(x, y) = p(x) + p(x + y);", "p: compute_at(f, y), store_root()", { 0, 5, 0, 0 }, 0 },
        { "rdom k(0, 0); f(x, y) = 0.5f; f(x, y) += a(k + 5000) + x;", "f: vectorize(x, 8); f.u0: vectorize(x, 8)", { 0, 19, 0, 1 }, 0.5f },
        { "f(x, y) = 0.5f; rdom k(0, 100000) where k < 0; f(x, y) += a(k + 5000) + x;", "f.u0: vectorize(x, 8)", { 0, 19, 0, 1 }, 0.5f },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Text t;
        char text[256];
        snprintf(text, sizeof text, "mlc 1; input a: f32[1]; %s output f", rows[i].text);
        read_text(&t, text);
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, rows[i].plan);
            if (!m) continue;
            f32 in[4] = { 0 }, out[32];
            mlc_buffer f = *mlc_wrap(out, rows[i].side[1], rows[i].side[3]), *b[] = { mlc_wrap(in, 4), &f };
            f.dim[0].min = rows[i].side[0], f.dim[1].min = rows[i].side[2];
            int rc = mlc_run(m, 2, b, 0, NULL, &t.e);
            ck_assert_msg(rc == 0, "%s %s -O%d: %s", text, k->target, k->opt, t.e.message);
            for (int x = 0; x < rows[i].side[1] * rows[i].side[3]; x++) ck_assert_float_eq(out[x], rows[i].value);
            mlc_module_free(m);
        }
        mlc_ctx_free(t.ctx);
    }
}
END_TEST

/* Readers without a point need nothing of an input, also where others do. */
START_TEST(empty_readers_need_nothing) {
    static const struct {
        const char *text, *plan;
        i64 w, h, g;    /* f's box, g's box */
        i64 n;          /* the param */
        bool holds;
        mlc_box need;   /* by mlc_required */
    } rows[] = {
        { "rdom k(0, 9); f(x, y) = 0.0f; f(x, y) += a(x + y + k + 100000); g(x) = a(x);", "f: vectorize(x, 8); f.u0: vectorize(x, 8)", 0, 5, 4, 0, true, { 0, 4 } },
        { "rdom k(0, 9); f(x, y) = 0.0f; f(x, y) += a(x + y + k + 100000); g(x) = a(x);", "f.u0: reorder(x, k, y), parallel(y)", 3, 0, 4, 0, true, { 0, 4 } },
        { "rdom k(0, 9); f(x, y) = 0.0f; f(x, y) += a(x + y + k + 100000); g(x) = a(x);", "g: serial(x)", 1, 1, 0, 0, false, { 100000, 9 } },
        { "rdom k(0, 9); f(x, y) = 0.0f; f(x, y) += a(x + y + k + 100000); g(x) = a(x);", "g: serial(x)", 1, 1, 4, 0, false, { 0, 100009 } },
        { "rdom k(0, 9); f(x, y) = 0.0f; f(x, y) += a(x + y + k + 100000); g(x) = a(x);", "g: serial(x)", 0, 0, 0, 0, true, { 0, 0 } },
        { "rdom k(0, n); f(x, y) = 0.0f; f(x, y) += a(x + y + k + 100000); g(x) = a(x);", "f.u0: vectorize(x, 8)", 3, 3, 4, 0, true, { 0, 4 } },
        { "p(x) = a(x + 100000); f(x, y) = p(x) + p(x + y); g(x) = a(x);", "p: compute_root(), vectorize(x, 8)", 0, 9, 4, 0, true, { 0, 4 } },
        { "p(x) = a(x + 100000); f(x, y) = p(x) + p(x + y); g(x) = a(x);", "p: compute_at(f, y), vectorize(x, 8)", 9, 0, 4, 0, true, { 0, 4 } },
        { "p(x) = a(x + 100000); rdom k(0, n); f(x, y) = 0.0f; f(x, y) += p(x + k); g(x) = a(x);", "p: compute_root(); f.u0: vectorize(x, 8)", 3, 3, 4, -5, true, { 0, 4 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Text t;
        char text[256];
        snprintf(text, sizeof text, "mlc 1; input a: f32[1]; param n: index = %lld; %s output f, g", (long long)rows[i].n, rows[i].text);
        read_text(&t, text);
        EACH_COMBO(k) {
            mlc_module *m = build(&t, k, rows[i].plan);
            if (!m) continue;
            f32 in[4] = { 0, 1, 2, 3 }, out[32], same[4];
            mlc_buffer *b[] = { mlc_wrap(in, 4), mlc_wrap(out, rows[i].w, rows[i].h), mlc_wrap(same, rows[i].g) };
            int rc = mlc_run(m, 3, b, 0, NULL, &t.e);
            ck_assert_msg((rc == 0) == rows[i].holds, "%s %s -O%d: %s", text, k->target, k->opt, t.e.message);
            if (!rc) ck_assert_mem_eq(same, in, (size_t)rows[i].g * sizeof *in);
            mlc_module_free(m);
        }
        mlc_plan *how = mlc_plan_new(t.ctx);
        ck_assert(mlc_plan_parse(how, rows[i].plan, NULL));
        mlc_box need = { -1, -1 }, out[3] = { { 0, rows[i].w }, { 0, rows[i].h }, { 0, rows[i].g } };
        ck_assert_msg(mlc_required(how, t.n, t.out, out, note_need, &need, &t.e), "%s", t.e.message);
        ck_assert_msg(need.extent == rows[i].need.extent && (!need.extent || need.min == rows[i].need.min),
                      "%s: needs %lld from %lld", text, (long long)need.extent, (long long)need.min);
        mlc_ctx_free(t.ctx);
    }
}
END_TEST

START_TEST(modules_are_symbolic_in_sizes) {
    Text t;
    read_text(&t, "mlc 1; input a: i32[2]; p(x, y) = a(x, y) + a(x + 1, y); f(x, y) = p(x, y) * p(x, y + 1); output f");
    EACH_COMBO(k) {
        mlc_module *m = build(&t, k, "f: tile(x, y, xo, yo, xi, yi, 8, 4), vectorize(xi), parallel(yo); p: compute_at(f, xo), vectorize(x, 8)");
        if (!m) continue;
        static const int sizes[] = { 0, 1, 2, 7, 8, 9, 31 };
        static i32 in[33 * 33], out[32 * 32];
        for (int i = 0; i < 33 * 33; i++) in[i] = i * 7919 - 100000;
        for (int s = 0; s < 49; s++) {
            int w = sizes[s % 7], h = sizes[s / 7];
            mlc_buffer *b[] = { mlc_wrap(in, 33, 33), mlc_wrap(out, w, h) };
            int rc = mlc_run(m, 2, b, 0, NULL, &t.e);
            ck_assert_msg(rc == 0, "%s %d x %d: %s", k->target, w, h, t.e.message);
            for (int i = 0; i < w * h; i++) {
                const i32 *at = in + i / w * 33 + i % w;
                ck_assert_int_eq(out[i], (i32)(((u32)at[0] + (u32)at[1]) * ((u32)at[33] + (u32)at[34])));
            }
        }
        mlc_module_free(m);
    }
    mlc_ctx_free(t.ctx);
}
END_TEST

Suite *contract_calls_suite(void) {
    Suite *s = suite_create("contract: calls");
    TCase *t = tcase_create("calls");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, races_are_refused);
    tcase_add_test(t, wrong_types_are_refused);
    tcase_add_test(t, unbounded_indices_are_refused);
    tcase_add_test(t, params_are_checked_at_every_call);
    tcase_add_test(t, outputs_share_no_element);
    tcase_add_test(t, strides_of_any_kind);
    tcase_add_test(t, sizes_that_do_not_fit_are_refused);
    tcase_add_test(t, broken_tails_name_their_sizes);
    tcase_add_test(t, reads_out_of_bounds_are_refused);
    tcase_add_test(t, outputs_hold_what_is_written);
    tcase_add_test(t, require_ends_the_call);
    tcase_add_test(t, require_counts_the_box);
    tcase_add_test(t, print_shows_each_needed_point);
    tcase_add_test(t, floating_point_mode_is_mlcs_own);
    tcase_add_test(t, extent_0_computes_nothing);
    tcase_add_test(t, c_functions_run_in_the_callers_mode);
    tcase_add_test(t, empty_readers_need_nothing);
    tcase_add_test(t, indices_that_become_data_fit);
    tcase_add_test(t, modules_are_symbolic_in_sizes);
    suite_add_tcase(s, t);
    return s;
}
