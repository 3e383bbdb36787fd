/* test_stream.c - streamed stores and loads, compiled: the instructions are there, values are the interpreter's whatever
 * the sizes, and memory that cannot be streamed to is an error. */
#include <mlc.h>
#include <mlc/text.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *stream_suite(void);

enum { STRIDE = 128, ROWS = 9 };

static struct {
    mlc_ctx *ctx;
    mlc_module *m, *oracle;
    const char *source;
} T;

static mlc_module *compile(const char *text, const char *target, bool planned, mlc_error_info *e) {
    mlc_program *p = mlc_program_parse(T.ctx, text, "t.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(T.ctx));
    mlc_func f = mlc_program_output(p, 0);
    mlc_plan *plan = planned ? mlc_program_plan(p, 0) : mlc_plan_new(T.ctx);
    return mlc_compile(plan, 1, &f, &(mlc_options){ .target = target }, e);
}

static void close_all(void) {
    mlc_module_free(T.m);
    mlc_module_free(T.oracle);
    mlc_ctx_free(T.ctx);
    memset(&T, 0, sizeof T);
}

static void open_text(const char *text, const char *target) {
    mlc_error_info e;
    close_all();
    T.ctx = mlc_ctx_new();
    T.m = compile(text, target, true, &e);
    ck_assert_msg(T.m != NULL, "%s", e.message);
    mlc_ctx *planned = T.ctx;
    T.ctx = mlc_ctx_new();
    T.oracle = compile(text, "interpret", false, &e);
    ck_assert_msg(T.oracle != NULL, "%s", e.message);
    mlc_ctx_free(planned);
    T.source = mlc_module_source(T.m);
}

static void *aligned(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(p, 0x55, bytes);
    return p;
}

/* Over w x h points of an output of this type from an input of the same, in rows of STRIDE elements. */
static void check_size(mlc_type type, int64_t w, int64_t h) {
    size_t size = mlc_type_size(type), bytes = size * STRIDE * (ROWS + 2);
    unsigned char *in = aligned(bytes), *out = aligned(bytes), *want = aligned(bytes);
    for (size_t i = 0; i < bytes; i++) in[i] = (unsigned char)(type == MLC_BOOL ? i * 7 % 3 == 0 : i * 37 + i / 251);
    mlc_buffer a, b, c, *have[] = { &a, &b }, *expected[] = { &a, &c };
    mlc_buffer_wrap(&a, in, type, 2, (int64_t[]){ STRIDE, ROWS + 2 });
    mlc_buffer_wrap(&b, out, type, 2, (int64_t[]){ w, h });
    mlc_buffer_wrap(&c, want, type, 2, (int64_t[]){ w, h });
    b.dim[1].stride = c.dim[1].stride = STRIDE;
    mlc_error_info e;
    ck_assert_msg(!mlc_run(T.m, 2, have, 0, NULL, &e), "%s", e.message);
    ck_assert_msg(!mlc_run(T.oracle, 2, expected, 0, NULL, &e), "%s", e.message);
    ck_assert_msg(!memcmp(out, want, bytes), "%d x %d of %s differ", (int)w, (int)h, mlc_type_name(type));
    free(in);
    free(out);
    free(want);
}

static const char *const targets[] = { "plain", "sse4", "avx2", "avx512" };
enum { TARGETS = 4 };

static void check_sizes(mlc_type type) {
    static const int64_t size[][2] = { { 0, 3 }, { 3, 0 }, { 1, 1 }, { 7, 2 }, { 31, 3 }, { 64, 1 }, { 65, 5 }, { 97, ROWS } };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) check_size(type, size[i][0], size[i][1]);
}

START_TEST(every_type_and_target) {
    static const struct {
        const char *name, *value;
        mlc_type type;
    } row[] = {
        { "u8", "in(x, y) + in(x, y + 1)", MLC_U8 },   { "i16", "in(x, y) * 3", MLC_I16 }, { "i32", "in(x + 1, y) - in(x, y)", MLC_I32 },
        { "i64", "in(x, y) ^ 5", MLC_I64 },             { "bool", "in(x, y)", MLC_BOOL },   { "u16", "u16(i32(in(x, y)) / 3)", MLC_U16 },
    };
    if (!mlc_vector_bytes(targets[_i])) return;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[1024];
        snprintf(text, sizeof text, "mlc 1\ninput in: %s[2]; f(x, y) = %s; output f;"
                 "plan p { f: vectorize(x, 64), parallel(y), stream_stores(), stream_loads(in); }", row[i].name, row[i].value);
        open_text(text, targets[_i]);
        ck_assert_ptr_nonnull(strstr(T.source, row[i].type == MLC_U16 && _i < 2 ? "\"movnti " : _i < 2 ? "\"movntps " : "\"vmovntps "));
        ck_assert_ptr_nonnull(strstr(T.source, "__builtin_ia32_sfence();\n    return 0;\n}"));
        ck_assert_ptr_nonnull(strstr(T.source, "__builtin_prefetch((const char *)(in"));
        check_sizes(row[i].type);
    }
    close_all();
}
END_TEST

/* Stages inside of others, in strips and in tiles, with tails that move and that are masked. */
START_TEST(plans) {
    static const char *const plan[] = {
        "f: tile(x, y, xo, yo, xi, yi, 32, 2), vectorize(xi), parallel(yo), stream_stores(), stream_loads();",
        "f: split(x, xo, xi, 32, .tail = predicate), vectorize(xi), stream_stores(), stream_loads(g); g: compute_root(), vectorize(x, 8);",
        "f: vectorize(x, 16), parallel(y); g: compute_at(f, y), vectorize(x, 32), align_storage(x, 64), stream_stores(), stream_loads(in);",
        "f: vectorize(x, 16), stream_stores(); g: store_root(), compute_at(f, y), vectorize(x, 16), align_storage(x, 16), stream_stores(), async();",
        "f: vectorize(x, 16), stream_stores(), unroll(y, 2); g: compute_at(f, x);",
        "f: specialize(f.extent.0 > 64) { vectorize(x, 16), stream_stores() }, vectorize(x, 4);",
    };
    char text[1024];
    snprintf(text, sizeof text, "mlc 1\ninput in: i32[2]; g(x, y) = in(x, y) * 3; f(x, y) = g(x, y) - g(x, y + 1); output f; plan p { %s }", plan[_i]);
    open_text(text, NULL);
    check_sizes(MLC_I32);
    close_all();
}
END_TEST

static const char *run_shape(const mlc_buffer *out, mlc_error_info *e) {
    static int32_t in[64][64];
    mlc_buffer o = *out, *b[] = { mlc_wrap(in[0], 64, 64), &o };
    e->message[0] = 0;
    mlc_run(T.m, 2, b, 0, NULL, e);
    return e->message;
}

START_TEST(memory_that_cannot_be_streamed_to) {
    static const char rows[] = "rows of f do not all begin at multiples of 64 bytes, as what is streamed does; align the memory and its "
                               "strides, or drop stream_stores";
    mlc_error_info e;
    open_text("mlc 1\ninput in: i32[2]; f(x, y) = in(x, y); output f; plan p { f: vectorize(x, 8), stream_stores(); }", NULL);
    int32_t *data = aligned(64 * 64 * 4);
    mlc_buffer out = *mlc_wrap(data, 32, 32);
    ck_assert_str_eq(run_shape(&out, &e), "");
    out.data = data + 1;
    ck_assert_str_eq(run_shape(&out, &e), rows);
    out.data = data;
    out.dim[1].stride = 40;
    ck_assert_str_eq(run_shape(&out, &e), rows);
    out.dim[1].extent = 1; /* there is no other row */
    ck_assert_str_eq(run_shape(&out, &e), "");
    out.dim[0].stride = 2;
    out.dim[1] = (mlc_dim_t){ 0, 32, 64 };
    ck_assert_str_eq(run_shape(&out, &e), "lanes that store f lie apart in memory, and only whole vectors are streamed; vectorize the "
                                          "dimension of stride 1");
    free(data);
    close_all();
}
END_TEST

START_TEST(from_c) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_func in = mlc_input_new(ctx, "in", MLC_I32, 1), f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(f, x), mlc_add(mlc_at(in, x), 1));
    mlc_schedule(f, mlc_vectorize(x, 8), mlc_stream_stores(), mlc_stream_loads(in));
    ck_assert_str_eq(mlc_plan_print(mlc_plan_default(ctx)), "f: vectorize(x, 8), stream_stores(), stream_loads(in);\n");
    mlc_plan *all = mlc_plan_new(ctx);
    mlc_plan_add(all, f, mlc_vectorize(x, 8), mlc_stream_loads());
    ck_assert_str_eq(mlc_plan_print(all), "f: vectorize(x, 8), stream_loads();\n");
    mlc_ctx_free(ctx);
}
END_TEST

Suite *stream_suite(void) {
    Suite *s = suite_create("streams");
    TCase *t = tcase_create("streams");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_type_and_target, 0, TARGETS);
    tcase_add_loop_test(t, plans, 0, 6);
    tcase_add_test(t, memory_that_cannot_be_streamed_to);
    tcase_add_test(t, from_c);
    suite_add_tcase(s, t);
    return s;
}
