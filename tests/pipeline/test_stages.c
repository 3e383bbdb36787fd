/* test_stages.c - extern stages from C and from text, compiled: values, calls, errors with their whole messages. */
#include "../lower/stages.h"

#include <mlc.h>
#include <mlc/text.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *stages_suite(void);

enum { SIDE = 60, W = 21, H = 13 };
static int32_t source[SIDE][SIDE];

/* Each row of the input, which has [0, 16) along dimension 0, sorted: a whole row at a time, whatever is asked of it. */
static int by_value(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int stage_sort(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    (void)arg;
    if (!out[0]->data) {
        in[0]->dim[0].min = out[0]->dim[0].min = 0;
        in[0]->dim[0].extent = out[0]->dim[0].extent = 16;
        return 0;
    }
    atomic_fetch_add(&runs, 1);
    for (int64_t y = out[0]->dim[1].min; y <= last(out[0], 1); y++) {
        int32_t row[16];
        for (int i = 0; i < 16; i++) row[i] = *i32_at(in[0], i, y);
        qsort(row, 16, sizeof *row, by_value);
        for (int i = 0; i < 16; i++) *i32_at(out[0], i, y) = row[i];
    }
    return 0;
}

static mlc_ctx *new_ctx(void) {
    static const struct {
        const char *name;
        mlc_stage_fn fn;
    } row[] = { { "blur", stage_blur }, { "ramp", stage_ramp }, { "blocks", stage_blocks }, { "cross", stage_cross }, { "sort", stage_sort } };
    mlc_ctx *ctx = mlc_ctx_new();
    reset_stages();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) mlc_extern_stage_new(ctx, row[i].name, row[i].fn);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) source[y][x] = (x * 37 + y * 91) % 1009;
    return ctx;
}

static mlc_program *read_text(mlc_ctx *ctx, const char *text) {
    char all[2000];
    snprintf(all, sizeof all, "mlc 1\n%s\n", text);
    mlc_program *p = mlc_program_parse(ctx, all, "p.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    return p;
}

static mlc_buffer *view_of_source(void) {
    static mlc_buffer b;
    mlc_buffer_wrap(&b, source, MLC_I32, 2, (int64_t[]){ SIDE, SIDE });
    mlc_buffer_set_min(&b, 0, -20);
    mlc_buffer_set_min(&b, 1, -20);
    return &b;
}

/* ---- values: compiled as interpreted, under every plan of a program ---- */

static const struct {
    const char *text;
    int tall; /* runs of C functions in the last plan at W x H, -1: not counted */
} programs[] = {
    { "extern stage f: i32[2] = ramp(4); h(x, y) = f(x, y - 1) + f(x + 1, y); output h; plan a {} "
      "plan b { h: tile(x, y, xo, yo, xi, yi, 8, 4), vectorize(xi), parallel(yo); f: compute_at(h, xo); }", 12 },
    { "input in: i32[2]; extern stage f: i32[2] = blur(in, 3); output f; plan a { f: compute_root(); }", 1 },
    { "input in: i32[2]; g(x, y) = in(x, y) * 3; extern stage f: i32[2] = blur(g, in.extent.0 - 50); output f; plan a {} "
      "plan b { g: compute_root(), vectorize(x, 8), parallel(y); }", 1 },
    { "input in: i32[2]; param p: i32; extern stage f: i32[2] = blur(in, p + 1); extern stage g: i32[2] = blur(f, 2); "
      "h(x, y) = g(x, y) - f(x, y + 1); output h; plan a {} "
      "plan b { h: tile(x, y, xo, yo, xi, yi, 8, 4), vectorize(xi), parallel(yo); f: compute_at(h, yo); g: compute_at(h, xo); }",
      12 + 4 },
    { "input in: i32[2]; extern stage f: i32[2] = blocks(in); h(x, y) = f(x, y) + f(x, y + 1); output h; plan a {} "
      "plan b { h: split(y, yo, yi, 4); f: compute_at(h, yo); }", 4 },
    { "input in: i32[2]; g(x, y) = in(x, y) + 1; row(x) = i32(x * x); extern stage f: {i32, i32}[2] = cross(g, row); "
      "h(x, y) = f(x, y)[0] * f(x, y + 1)[1]; output h, f; plan a {} "
      "plan b { h: vectorize(x, 8); g: compute_root(); row: compute_root(); }", 1 },
    { "input in: i32[2]; g(x, y) = in(x, y) + 1; row(x) = i32(x * x); extern stage f: {i32, i32}[2] = cross(g, row); "
      "h(x, y) = f(x, y)[0] * f(x, y + 1)[1]; output h; plan a {} "
      "plan b { h: tile(x, y, xo, yo, xi, yi, 8, 4), vectorize(xi); f: compute_at(h, xo); g: compute_at(h, xo); row: compute_at(h, yo); }", 12 },
    { "input in: i32[2]; g(x, y) = in(x, y) + 1; extern stage f: i32[2] = blur(g, 2); h(x, y) = f(x, y) + f(x, y + 1); output h; "
      "plan a { f: in(h, w); w: compute_root(); g: in(f, v); v: compute_root(), vectorize(x, 8); } "
      "plan b { f: async(), compute_root(); g: async(), compute_root(); } "
      "plan c { h: split(y, yo, yi, 4), parallel(yo); f: compute_at(h, yo), async(); g: compute_at(h, yo); } "
      "plan d { h: split(y, yo, yi, 4); f: compute_at(h, yo), reorder_storage(_1, _0), align_storage(_1, 16); "
      "g: store_root(), compute_at(h, yo), reorder_storage(y, x), align_storage(y, 4); }", 4 },
    /* loops around the calls */
    { "input in: i32[2]; g(x, y) = in(x, y) + 1; extern stage f: i32[2] = blur(g, 2); output f; "
      "plan a { f: split(_1, yo, yi, 4), parallel(yo); g: compute_at(f, yo), vectorize(x, 8); } "
      "plan b { f: parallel(_1), serial(_0); } plan c { f: rename(_1, t), parallel(t, 5); g: compute_root(); } "
      "plan d { f: tile(_0, _1, xo, yo, xi, yi, 8, 4), serial(xo), parallel(yo); g: compute_at(f, xo); }", 12 },
    { "input in: i32[2]; g(x, y) = in(x, y) + 1; row(x) = i32(x * x); extern stage f: {i32, i32}[2] = cross(g, row); "
      "extern stage e: i32[2] = ramp(3); h(x, y) = f(x, y)[0] * f(x, y + 1)[1] + e(y, x); output h; "
      "plan a { e: parallel(_0); f: serial(_1); g: compute_root(); row: compute_at(f, _1); } "
      "plan b { h: split(y, yo, yi, 4), parallel(yo); e: compute_at(h, yo), serial(_1); f: compute_at(h, yo), split(_0, xo, xi, 8), parallel(xo); "
      "g: compute_at(f, xo); row: compute_at(f, xo); }", 4 * 21 + 12 },
};

typedef struct {
    int32_t at[3][H + 1][W];
    mlc_buffer b[3], *to[3];
    int n;
} Outputs;

static void make_outputs(Outputs *o, mlc_program *p, int w, int h) {
    memset(o, 0x55, sizeof o->at);
    o->n = 0;
    mlc_module *m = mlc_compile(mlc_program_plan(p, 0), mlc_program_n_outputs(p),
                                (mlc_func[]){ mlc_program_output(p, 0), mlc_program_output(p, mlc_program_n_outputs(p) - 1) },
                                &(mlc_options){ .target = "interpret" }, NULL);
    ck_assert(m != NULL);
    for (int i = 0; i < mlc_module_slots(m); i++) {
        mlc_slot_info info;
        ck_assert(mlc_module_slot(m, i, &info));
        if (!info.is_output) continue;
        bool second = !strcmp(info.name, "f") && mlc_program_n_outputs(p) > 1; /* which the first output reads one row further */
        mlc_buffer_wrap(&o->b[o->n], o->at[o->n], MLC_I32, 2, (int64_t[]){ w, h + second });
        mlc_buffer_set_min(&o->b[o->n], 0, -3);
        mlc_buffer_set_min(&o->b[o->n], 1, 5);
        o->to[o->n] = &o->b[o->n];
        o->n++;
    }
    mlc_module_free(m);
}

static void bind_all(mlc_ctx *ctx) {
    mlc_func in = mlc_find_func(ctx, "in");
    if (in.f) ck_assert(mlc_bind(in, view_of_source()));
    mlc_param p = mlc_find_param(ctx, "p");
    if (p.sym) mlc_param_set(p, 2);
    mlc_error_clear(ctx); /* a program may lack either */
}

START_TEST(values) {
    static const int size[][2] = { { W, H }, { 1, 1 }, { 7, 3 }, { 0, 4 } };
    static Outputs want, have;
    mlc_ctx *ctx = new_ctx();
    mlc_program *p = read_text(ctx, programs[_i].text);
    mlc_func out[2] = { mlc_program_output(p, 0), mlc_program_output(p, mlc_program_n_outputs(p) - 1) };
    bind_all(ctx);
    for (int s = 0; s < 4; s++) {
        make_outputs(&want, p, size[s][0], size[s][1]);
        ck_assert_msg(mlc_realize_all(NULL, mlc_program_n_outputs(p), out, want.to, want.n, &(mlc_options){ .target = "interpret" }), "%s", mlc_error(ctx));
        for (int i = 0; i < mlc_program_n_plans(p); i++) {
            make_outputs(&have, p, size[s][0], size[s][1]);
            runs = 0;
            ck_assert_msg(mlc_realize_all(mlc_program_plan(p, i), mlc_program_n_outputs(p), out, have.to, have.n, NULL), "%s", mlc_error(ctx));
            if (s == 0 && i == mlc_program_n_plans(p) - 1) ck_assert_int_eq(runs, programs[_i].tall);
            ck_assert(!memcmp(want.at, have.at, sizeof want.at));
        }
    }
    mlc_ctx_free(ctx);
}
END_TEST

/* Sorted rows, read by pieces of them: each piece asks for the whole row, which then is computed once a row. */
START_TEST(sorted) {
    static const char *const plan[] = { "", "f: compute_at(h, y); g: compute_at(h, y), vectorize(x, 8)", "h: tile(x, y, xo, yo, xi, yi, 4, 2); f: compute_at(h, yo)",
                                        "f: serial(_1)" };
    static const int calls[] = { 1, H, (H + 1) / 2, H };
    for (int i = 0; i < 4; i++) {
        static int32_t out[H][16];
        mlc_ctx *c = new_ctx();
        mlc_program *p = read_text(c, "input in: i32[2]; g(x, y) = in(x, y) * 3 % 101; extern stage f: i32[2] = sort(g); "
                                      "h(x, y) = f(15 - x, y); output h;");
        mlc_func h = mlc_program_output(p, 0);
        mlc_plan *q = mlc_plan_new(c);
        mlc_buffer *to = mlc_wrap(&out[0][0], 16, H);
        bind_all(c);
        ck_assert_msg(mlc_plan_parse(q, plan[i], "plan"), "%s", mlc_error(c));
        runs = 0;
        bool good = mlc_realize_all(q, 1, &h, &to, 1, NULL);
        ck_assert_msg(good, "%s", mlc_error(c));
        for (int y = 0; y < H; y++)
            for (int x = 0; x + 1 < 16; x++) ck_assert_int_ge(out[y][x], out[y][x + 1]);
        ck_assert_int_eq(runs, calls[i]);
        mlc_ctx_free(c);
    }
}
END_TEST

/* Rows of the buffers are apart: the general variant, and strides that the function sees. */
START_TEST(strides) {
    mlc_ctx *ctx = new_ctx();
    mlc_program *p = read_text(ctx, programs[1].text);
    mlc_func f = mlc_program_output(p, 0);
    static int32_t a[H][W], b[W][H];
    mlc_buffer *to = mlc_wrap(&a[0][0], W, H), *turned = mlc_wrap(&b[0][0], H, W);
    ck_assert(mlc_buffer_transpose(turned, 0, 1));
    bind_all(ctx);
    ck_assert(mlc_interpret(f, to));
    ck_assert_msg(mlc_realize(f, turned, NULL), "%s", mlc_error(ctx));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) ck_assert_int_eq(a[y][x], b[x][y]);
    mlc_ctx_free(ctx);
}
END_TEST

/* The same program from C prints the same text. */
START_TEST(from_c) {
    mlc_ctx *ctx = new_ctx();
    mlc_func in = mlc_input_new(ctx, "in", MLC_I32, 2), f = mlc_func_new(ctx, "f"), t = mlc_func_new(ctx, "t");
    mlc_param gain = mlc_param_new(ctx, "gain", MLC_F32);
    mlc_extern cross = mlc_extern_stage_new(ctx, "second", stage_cross);
    ck_assert(mlc_define_extern(f, cross, " {i32 , f64} [ 2 ]", in, gain, mlc_add(gain, 1.5f), 7, 0.1));
    ck_assert(mlc_define_extern_at(t, cross, "u8[0]", 0, NULL, MLC_HERE));
    ck_assert_str_eq(mlc_stage_print(mlc_pure(f)), "extern stage f: {i32, f64}[2] = second(in, gain, gain + 1.5, 7, 0.1)");
    ck_assert_str_eq(mlc_stage_print(mlc_pure(t)), "extern stage t: u8[0] = second()");
    mlc_func both[2] = { f, t };
    const char *text = mlc_program_print(ctx, 2, both, 0, NULL);
    ck_assert_msg(text != NULL, "%s", mlc_error(ctx));
    mlc_ctx *again = new_ctx();
    mlc_extern_stage_new(again, "second", stage_cross);
    mlc_program *p = mlc_program_parse(again, text, NULL);
    ck_assert_msg(p != NULL, "%s\n%s", text, mlc_error(again));
    mlc_func outs[2] = { mlc_program_output(p, 0), mlc_program_output(p, 1) };
    ck_assert_str_eq(mlc_program_print(again, 2, outs, 0, NULL), text);
    mlc_ctx_free(again);
    mlc_ctx_free(ctx);
}
END_TEST

static void keep_need(void *user, const char *input, int rank, const mlc_box *need) {
    (void)input;
    memcpy(user, need, sizeof *need * (size_t)rank);
}

START_TEST(required) {
    mlc_ctx *ctx = new_ctx();
    mlc_program *p = read_text(ctx, programs[3].text);
    mlc_func h = mlc_program_output(p, 0);
    mlc_box need[2], ask[2] = { { 10, 5 }, { 0, 3 } }, all[2];
    mlc_error_info e;
    bind_all(ctx);
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(mlc_required(mlc_program_plan(p, i), 1, &h, ask, keep_need, need, &e), "%s", e.message);
        ck_assert_int_eq(need[0].min, 8);
        ck_assert_int_eq(need[0].extent, 9);
        ck_assert_int_eq(need[1].min, 0);
        ck_assert_int_eq(need[1].extent, 4);
    }
    ck_assert_msg(mlc_allowed(h, all, &e), "%s", e.message);
    ck_assert_int_eq(all[0].min, -18);
    ck_assert_int_eq(all[0].extent, SIDE - 4);
    ck_assert_int_eq(all[1].extent, SIDE - 1);
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- errors of definitions ---- */

static mlc_ctx *ctx;
static mlc_func in, f;
static mlc_param q;
static mlc_extern fn, scalar_fn;

static void define_nothing(void) { mlc_define_extern(f, fn, "u8", in); }
static void define_deep(void) { mlc_define_extern(f, fn, "u8[9]", in); }
static void define_index(void) { mlc_define_extern(f, fn, "{u8, index}[2]", in); }
static void define_wide(void) { mlc_define_extern(f, fn, "{u8, u8, u8, u8, u8, u8, u8, u8, u8}[1]", in); }
static void define_point(void) { mlc_define_extern(f, fn, "u8[1]", in, mlc_add(mlc_from_var(mlc_var_new(ctx, "x")), 1)); }
static void define_data(void) { mlc_define_extern(f, fn, "u8[1]", mlc_at(in, 0, 0)); }
static void define_scalar(void) { mlc_define_extern(f, scalar_fn, "u8[1]", in); }
static void define_null(void) { mlc_extern_stage_new(ctx, "none", NULL); }
static void define_itself(void) { mlc_define_extern(f, fn, "u8[1]", f); }
static void define_twice(void) { mlc_define_extern(f, fn, "i32[1]", in), mlc_define_extern(f, fn, "i32[1]", in); }
static void define_input(void) { mlc_define_extern(in, fn, "i32[1]", in); }
static void define_many(void) { mlc_define_extern_at(f, fn, "i32[1]", 9, (mlc_stage_arg[9]){ 0 }, (mlc_loc){ "t.c", 5 }); }
static void define_update(void) {
    mlc_define_extern(f, fn, "i32[1]", in);
    mlc_def_add(mlc_at(f, mlc_from_var(mlc_var_new(ctx, "x"))), 1);
}
static void call_stage(void) { mlc_def(mlc_at(f, mlc_from_var(mlc_var_new(ctx, "x"))), mlc_call_extern(fn, 1)); }

static const struct {
    void (*define)(void);
    const char *message; /* behind the place */
} wrong[] = {
    { define_nothing, "define f: 'u8' is no type and rank; write them as in \"u8[2]\" or \"{u8, f32}[2]\"" },
    { define_index, "define f: '{u8, index}[2]' is no type and rank; write them as in \"u8[2]\" or \"{u8, f32}[2]\"" },
    { define_wide, "define f: '{u8, u8, u8, u8, u8, u8, u8, u8, u8}[1]' is no type and rank; write them as in \"u8[2]\" or \"{u8, f32}[2]\"" },
    { define_deep, "define f: f cannot have rank 9; give 0 to 8" },
    { define_point, "define f: argument 1 of f is made of points or data; give a Func, or an expression of params, sizes and constants" },
    { define_data, "define f: argument 0 of f is made of points or data; give a Func, or an expression of params, sizes and constants" },
    { define_scalar, "define f: plain is no C function of extern stages; declare it with mlc_extern_stage_new" },
    { define_null, "extern: 'none' has no address; give that of a C function" },
    { define_itself, "define f: f is read before it is defined; define it first, and let an update over an RDom read itself" },
    { define_twice, "define f: f is defined already; define another Func" },
    { define_input, "define in: in is defined already; define another Func" },
    { define_many, "define f: f has 9 arguments; give up to 8" },
    { define_update, "define f: f is an extern stage and takes no updates; update a Func that reads it" },
    { call_stage, "blur2 computes whole boxes and cannot be called for a point; define a Func by it with mlc_define_extern" },
};

static int32_t plain(int32_t v) {
    return v;
}

START_TEST(definition) {
    ctx = new_ctx();
    in = mlc_input_new(ctx, "in", MLC_I32, 2);
    f = mlc_func_new(ctx, "f");
    q = mlc_param_new(ctx, "q", MLC_I32);
    fn = mlc_extern_stage_new(ctx, "blur2", stage_blur);
    scalar_fn = mlc_extern_new(ctx, "plain", (void (*)(void))plain, "i32 -> i32");
    ck_assert_str_eq(mlc_error(ctx), "");
    wrong[_i].define();
    const char *e = mlc_error(ctx);
    size_t n = strlen(e), m = strlen(wrong[_i].message);
    ck_assert_msg(n >= m && !strcmp(e + n - m, wrong[_i].message), "%s", e);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(unknown_function) {
    static const char *const text[] = { "mlc 1\nextern stage f: i32[2] = nobody(3)", "mlc 1\nextern stage f: i32[2] = plain(3)" };
    static const char *const name[] = { "nobody", "plain" };
    char want[200];
    mlc_ctx *c = new_ctx();
    mlc_extern_new(c, "plain", (void (*)(void))plain, "i32 -> i32");
    ck_assert(!mlc_program_parse(c, text[_i], NULL));
    snprintf(want, sizeof want, "text:2:26: the C function %s is not declared for extern stages; call mlc_extern_stage_new before the text is read", name[_i]);
    ck_assert_msg(!strncmp(mlc_error(c), want, strlen(want)), "%s", mlc_error(c));
    mlc_ctx_free(c);
}
END_TEST

/* ---- errors of plans ---- */

#define BLUR "input in: i32[2];\ng(x, y) = in(x, y) * 3;\nextern stage f: i32[2] = blur(g, 2);\nh(x, y) = f(x, y) + f(x, y + 1);\noutput h;\n"
static const struct {
    const char *plan, *message;
} plans[] = {
    { "f: vectorize(_0, 8)", "p.mlc:8: schedule f: vectorize(_0, 8): f is an extern stage, whose C function runs its own loops; give it serial and parallel loops alone" },
    { "f: fuse(_0, _1, t)", "p.mlc:8: schedule f: fuse(_0, _1, t): f is an extern stage, whose C function runs its own loops; give it serial and parallel loops alone" },
    { "f: compute_inline()", "p.mlc:8: schedule f: compute_inline(): f is an extern stage, which computes boxes; give it compute_root or compute_at" },
    { "f: store_root(), compute_at(h, y)", "p.mlc:8: schedule f: store_root(): f is an extern stage and is stored where it is computed; leave out its other place" },
    { "g: compute_inline()", "p.mlc:8: schedule g: compute_inline(): g is read by the extern stage f and needs memory; give it a compute_root or compute_at" },
    { "h: split(x, xo, xi, 8), vectorize(xi); f: compute_at(h, xi)", "p.mlc:8: schedule f: compute_at(h, xi): f is an extern stage and cannot be computed inside the vector loop 'xi'; compute it outside" },
    { "f: eager_inline(g)", "p.mlc:8: schedule f: eager_inline(g): g is read by the extern stage f and needs memory; give it a compute_root or compute_at" },
    { "h: eager_inline(f)", "p.mlc:8: schedule h: eager_inline(f): f is an extern stage and cannot be put in; name a pure Func" },
    { "f: compute_at(h, y); g: store_root(), compute_at(h, y), fold_storage(y, 8)", "p.mlc:8: schedule g: fold_storage(y, 8): dimension 'y' of g cannot be folded: an extern stage reads it; drop the directive" },
    { "f: compute_at(h, y); g: store_root(), compute_at(h, y), ring_buffer(2)", "p.mlc:8: schedule g: ring_buffer(2): g is read by an extern stage and cannot be a ring buffer; drop the directive" },
    { "g: compute_at(f, _0)", "p.mlc:8: schedule g: compute_at(f, _0): there is no loop '_0' in f; its loops are, innermost first: none" },
};

START_TEST(plan_row) {
    char text[1000];
    mlc_ctx *c = new_ctx();
    snprintf(text, sizeof text, BLUR "plan p {\n%s; }", plans[_i].plan);
    mlc_program *p = read_text(c, text);
    mlc_func h = mlc_program_output(p, 0);
    mlc_error_info e;
    ck_assert(!mlc_compile(mlc_program_plan(p, 0), 1, &h, NULL, &e));
    ck_assert_str_eq(e.message, plans[_i].message);
    mlc_ctx_free(c);
}
END_TEST

START_TEST(ahead_of_time) {
    mlc_ctx *c = new_ctx();
    mlc_program *p = read_text(c, BLUR);
    mlc_func h = mlc_program_output(p, 0);
    mlc_error_info e;
    ck_assert(!mlc_emit(NULL, 1, &h, "/tmp/mlc-never", NULL, NULL, &e));
    ck_assert_str_eq(e.message, "code ahead of time cannot call the extern stage f; compile and run it here");
    mlc_ctx_free(c);
}
END_TEST

/* ---- errors of calls: of the compiled program and of the oracle ---- */

static const struct {
    int fail_query, fail_run, lie;
    const char *plan, *message;
    bool oracle; /* says the same */
} calls[] = {
    { 7, 0, 0, "", "the C function of the extern stage f returned 7, which is an error; look up what it means by that", true },
    { 0, -9, 0, "", "the C function of the extern stage f returned -9, which is an error; look up what it means by that", true },
    { -3, 0, 0, "h: split(y, yo, yi, 4), parallel(yo); f: compute_at(h, yo); g: compute_at(h, yo)",
      "the C function of the extern stage f returned -3, which is an error; look up what it means by that", true },
    { 0, 5, 0, "h: split(y, yo, yi, 4), parallel(yo); f: compute_at(h, yo); g: compute_at(h, yo)",
      "the C function of the extern stage f returned 5, which is an error; look up what it means by that", true },
    { 0, 5, 0, "f: parallel(_1); g: compute_root()", "the C function of the extern stage f returned 5, which is an error; look up what it means by that", true },
    { 7, 0, 0, "f: split(_0, xo, xi, 8), serial(xo); g: compute_at(f, xo)",
      "the C function of the extern stage f returned 7, which is an error; look up what it means by that", true },
    { 0, 0, 1, "", "the C function of the extern stage f changed the type or rank of a buffer, or gave its outputs different boxes; let it set mins and extents alone", true },
    { 0, 0, 2, "", "the C function of the extern stage f asked for a negative extent, or for a box past 2^40; let it fill all mins and extents", true },
    { 0, 0, 3, "", "the C function of the extern stage f made the box of its output smaller; let it keep or enlarge it", true },
    { 0, 0, 3, "h: split(x, xo, xi, 8); f: compute_at(h, xo)", "the C function of the extern stage f made the box of its output smaller; let it keep or enlarge it", true },
    { 0, 0, 4, "h: split(x, xo, xi, 8); f: compute_at(h, xo); g: compute_root()",
      "the C function of the extern stage f reads dimension 0 of g from -4 to 5, but it was not asked for more than -3 to 17; let a larger box need at least what its parts need", false },
};

START_TEST(call_row) {
    static int32_t out[H][W];
    mlc_ctx *c = new_ctx();
    mlc_program *p = read_text(c, BLUR);
    mlc_func h = mlc_program_output(p, 0);
    mlc_plan *plan = mlc_plan_new(c);
    mlc_buffer *to = mlc_wrap(&out[0][0], W, H);
    bind_all(c);
    mlc_buffer_set_min(to, 0, -3);
    ck_assert(mlc_plan_parse(plan, calls[_i].plan, "plan"));
    fail_query = calls[_i].fail_query;
    fail_run = calls[_i].fail_run;
    lie = calls[_i].lie;
    ck_assert(!mlc_realize_all(plan, 1, &h, &to, 1, NULL));
    ck_assert_str_eq(mlc_error(c), calls[_i].message);
    mlc_error_clear(c);
    const char *place = "interpret f: ";
    bool good = mlc_interpret(h, to);
    ck_assert(!calls[_i].oracle || !good);
    if (!good && calls[_i].oracle) {
        ck_assert_msg(!strncmp(mlc_error(c), place, strlen(place)), "%s", mlc_error(c));
        ck_assert_str_eq(mlc_error(c) + strlen(place), calls[_i].message);
    }
    mlc_ctx_free(c);
}
END_TEST

/* What it writes must fit the output's buffer; what it reads the input's. */
START_TEST(boxes) {
    static int32_t out[H][16];
    mlc_ctx *c = new_ctx();
    mlc_program *p = read_text(c, "input in: i32[2];\nextern stage f: i32[2] = blocks(in);\noutput f;");
    mlc_func b = mlc_program_output(p, 0);
    mlc_buffer *to = mlc_wrap(&out[0][0], 16, H);
    bind_all(c);
    ck_assert_msg(mlc_realize(b, to, NULL), "%s", mlc_error(c));
    ck_assert_int_eq(out[2][3], source[22][23] + 7);
    mlc_buffer_set_min(to, 0, 4);
    ck_assert(!mlc_realize(b, to, NULL));
    ck_assert_str_eq(mlc_error(c), "output f is written or read in dimension 0 from 0 to 23, but its buffer holds 4 to 19; bind a larger buffer");
    mlc_error_clear(c);
    mlc_buffer_set_min(to, 0, 32);
    ck_assert(!mlc_realize(b, to, NULL));
    ck_assert_str_eq(mlc_error(c), "input in is needed in dimension 0 from 32 to 47, but its buffer holds -20 to 39; bind a larger buffer, or give the input a boundary");
    mlc_error_clear(c);
    ck_assert(!mlc_interpret(b, to));
    ck_assert_str_eq(mlc_error(c), "interpret f: reads in at 47 in dimension 0, which holds -20 to 39; clamp the index or bind a larger buffer, or give the input a boundary");
    mlc_ctx_free(c);
}
END_TEST

Suite *stages_suite(void) {
    Suite *s = suite_create("stages");
    TCase *t = tcase_create("stages");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, values, 0, (int)(sizeof programs / sizeof *programs));
    tcase_add_test(t, strides);
    tcase_add_test(t, sorted);
    tcase_add_test(t, from_c);
    tcase_add_test(t, required);
    tcase_add_loop_test(t, definition, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_loop_test(t, unknown_function, 0, 2);
    tcase_add_loop_test(t, plan_row, 0, (int)(sizeof plans / sizeof *plans));
    tcase_add_test(t, ahead_of_time);
    tcase_add_loop_test(t, call_row, 0, (int)(sizeof calls / sizeof *calls));
    tcase_add_test(t, boxes);
    suite_add_tcase(s, t);
    return s;
}
