/* Modules: compiling, calling from many places, every check of a call, typed functions, required boxes. */
#include <mlc.h>

#include <check.h>
#include <mlc/text.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *module_suite(void);

/* out(x, y) = in(x, y) * k + in(x + 1, y) - d, with a ranged k and a plain d. */
typedef struct {
    mlc_ctx *ctx;
    mlc_func in, out;
    mlc_param k, d;
} Program;

static Program make(void) {
    Program p = { .ctx = mlc_ctx_new() };
    MLC_VARS(p.ctx, x, y);
    p.in = mlc_input_new(p.ctx, "in", MLC_I32, 2);
    p.out = mlc_func_new(p.ctx, "out");
    p.k = mlc_param_new(p.ctx, "k", MLC_I32);
    p.d = mlc_param_new(p.ctx, "d", MLC_I32);
    mlc_param_range(p.k, -5, 5);
    mlc_def(mlc_at(p.out, x, y),
            mlc_sub(mlc_add(mlc_mul(mlc_at(p.in, x, y), p.k), mlc_at(p.in, mlc_add(x, 1), y)), p.d));
    ck_assert_str_eq(mlc_error(p.ctx), "");
    return p;
}

static mlc_module *compile(const Program *p, const char *target) {
    mlc_error_info e;
    mlc_options o = { .target = target };
    mlc_module *m = mlc_compile(NULL, mlc_outs(p->out), &o, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    return m;
}

enum { W = 13, H = 7 };
static int32_t src[H][W + 1], dst[H][W];

static void fill(void) {
    for (int i = 0; i < H * (W + 1); i++) src[i / (W + 1)][i % (W + 1)] = i * 7919 % 1013 - 500;
    memset(dst, 0x55, sizeof dst);
}

static void check_result(int k, int d) {
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) ck_assert_int_eq(dst[y][x], src[y][x] * k + src[y][x + 1] - d);
}

static const char *const targets[] = { "host", "plain", "sse4", "interpret" };

START_TEST(a_module_outlives_its_context) {
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        Program p = make();
        mlc_module *m = compile(&p, targets[i]);
        mlc_ctx_free(p.ctx);
        fill();
        mlc_buffer *b[] = { mlc_wrap(src[0], W + 1, H), mlc_wrap(dst[0], W, H) };
        mlc_scalar v[] = { { .i = -3 }, { .i = 11 } };
        mlc_error_info e;
        ck_assert_msg(mlc_run(m, 2, b, 2, v, &e) == 0, "%s: %s", targets[i], e.message);
        check_result(-3, 11);
        mlc_module_free(m);
    }
}
END_TEST

START_TEST(strides_choose_the_variant) {
    Program p = make();
    mlc_module *m = compile(&p, "host");
    fill();
    static int32_t wide[H][3 * W];
    mlc_buffer out = *mlc_wrap(wide[0], 3 * W, H);
    ck_assert(mlc_buffer_stride(&out, 0, 3));
    mlc_buffer flipped = *mlc_wrap(src[0], W + 1, H); /* rows from the last to the first */
    flipped.data = src[H - 1];
    flipped.dim[1].stride = -(W + 1);
    mlc_buffer *b[] = { &flipped, &out };
    mlc_scalar v[] = { { .i = 2 }, { .i = 0 } };
    mlc_error_info e;
    ck_assert_msg(mlc_run(m, 2, b, 2, v, &e) == 0, "%s", e.message);
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < 3 * W; x++)
            ck_assert_int_eq(wide[y][x], x % 3 ? 0 : src[H - 1 - y][x / 3] * 2 + src[H - 1 - y][x / 3 + 1]);
    }
    mlc_buffer none = out;
    none.dim[0].extent = 0;
    b[1] = &none;
    ck_assert_int_eq(mlc_run(m, 2, b, 2, v, &e), 0); /* extent 0: nothing, and success */
    mlc_module_free(m);
    mlc_ctx_free(p.ctx);
}
END_TEST

/* A param that no definition mentions, only the condition of a specialization. */
START_TEST(params_of_conditions) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\nparam n: i32;\nf(x) = x;\noutput f;\n"
                                            "plan p { f: specialize(n > 3) { vectorize(x, 4) }, specialize_fail(\"n is small\"); }", "t");
    mlc_func f = mlc_program_output(p, 0);
    mlc_error_info e;
    mlc_module *m = mlc_compile(mlc_program_plan(p, 0), 1, &f, NULL, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    ck_assert_int_eq(mlc_module_params(m), 1);
    int32_t out[W];
    mlc_buffer *b[] = { mlc_wrap(out, W) };
    ck_assert_int_eq(mlc_run(m, 1, b, 1, (mlc_scalar[]){ { .i = 4 } }, &e), 0);
    ck_assert_int_eq(out[W - 1], W - 1);
    ck_assert_int_ne(mlc_run(m, 1, b, 1, (mlc_scalar[]){ { .i = 3 } }, &e), 0);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

typedef struct {
    mlc_module *m;
    int good;
} Caller;

static void *call_often(void *arg) {
    Caller *c = arg;
    int32_t out[H][W], in[H][W + 1];
    memcpy(in, src, sizeof in);
    mlc_scalar v[] = { { .i = 4 }, { .i = 1 } };
    for (int i = 0; i < 200; i++) {
        mlc_buffer a = *mlc_wrap(in[0], W + 1, H), o = *mlc_wrap(out[0], W, H), *b[] = { &a, &o };
        if (i % 2) o.dim[0] = (mlc_dim_t){ 0, W / 2, 2 }; /* the general variant, built by whoever is first */
        if (mlc_run(c->m, 2, b, 2, v, NULL)) return NULL;
        c->good += out[H - 1][0] == in[H - 1][0] * 4 + in[H - 1][1] - 1;
    }
    return NULL;
}

START_TEST(threads_share_a_module) {
    Program p = make();
    fill();
    Caller c[3];
    pthread_t t[3];
    mlc_module *m = compile(&p, "host");
    for (int i = 0; i < 3; i++) {
        c[i] = (Caller){ m, 0 };
        pthread_create(&t[i], NULL, call_often, &c[i]);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
        ck_assert_int_eq(c[i].good, 200);
    }
    mlc_module_free(m);
    mlc_ctx_free(p.ctx);
}
END_TEST

START_TEST(realize_uses_what_is_bound_and_set) {
    Program p = make();
    fill();
    mlc_buffer *out = mlc_wrap(dst[0], W, H);
    ck_assert(!mlc_realize(p.out, out, NULL));
    ck_assert_str_eq(mlc_error(p.ctx), "input in has no buffer; bind one with mlc_bind");
    mlc_error_clear(p.ctx);
    ck_assert(mlc_bind(p.in, mlc_wrap(src[0], W + 1, H)));
    ck_assert(!mlc_realize(p.out, out, NULL));
    ck_assert_str_eq(mlc_error(p.ctx), "param k has no value; set one with mlc_param_set or give it to the call");
    mlc_error_clear(p.ctx);
    mlc_param_set(p.d, 3);
    for (int k = -5; k <= 5; k += 5) {
        mlc_param_set(p.k, k);
        ck_assert_msg(mlc_realize(p.out, out, NULL), "%s", mlc_error(p.ctx));
        check_result(k, 3);
    }
    mlc_ctx_free(p.ctx);
}
END_TEST

typedef struct {
    Program *p;
    bool good;
} Compiler;

static void *compile_often(void *arg) {
    Compiler *c = arg;
    c->good = true;
    for (int i = 0; i < 20; i++) {
        mlc_error_info e;
        mlc_options o = { .target = i % 2 ? "interpret" : "plain" };
        mlc_module *m = mlc_compile(NULL, mlc_outs(c->p->out), &o, &e);
        int32_t in[2] = { 3, 4 }, out[1];
        mlc_buffer a = *mlc_wrap(in, 2, 1), b = *mlc_wrap(out, 1, 1);
        mlc_buffer *at[] = { &a, &b };
        c->good = c->good && m && !mlc_run(m, 2, at, 2, (mlc_scalar[]){ { .i = 2 }, { .i = 1 } }, &e) && out[0] == 9;
        mlc_module_free(m);
    }
    return NULL;
}

START_TEST(threads_compile_one_context) {
    Program p = make();
    Compiler c[2] = { { &p, false }, { &p, false } };
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, compile_often, &c[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    ck_assert(c[0].good && c[1].good);
    mlc_ctx_free(p.ctx);
}
END_TEST

START_TEST(outputs_are_allocated) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_func f = mlc_func_new(ctx, "f"), g = mlc_func_new(ctx, "g");
    mlc_def_tuple(mlc_at(f, x), x, mlc_mul(x, x));
    mlc_def(mlc_at(g, x), mlc_add(mlc_elem(mlc_at(f, x), 1), 1));
    mlc_buffer *b[3] = { mlc_buffer_new(MLC_I32, 1, (int64_t[]){ 9 }), NULL, NULL };
    mlc_buffer_set_min(b[0], 0, -4);
    ck_assert_msg(mlc_realize_all(NULL, mlc_outs(f, g), b, 3, NULL), "%s", mlc_error(ctx));
    for (int i = 0; i < 9; i++) {
        ck_assert_int_eq(((int32_t *)b[0]->data)[i], i - 4);
        ck_assert_int_eq(((int32_t *)b[1]->data)[i], (i - 4) * (i - 4));
        ck_assert_int_eq(((int32_t *)b[2]->data)[i], (i - 4) * (i - 4) + 1);
    }
    for (int i = 0; i < 3; i++) mlc_buffer_free(b[i]);
    b[0] = b[1] = b[2] = NULL;
    ck_assert(!mlc_realize_all(NULL, mlc_outs(f, g), b, 3, NULL));
    ck_assert_str_eq(mlc_error(ctx), "output f has no buffer and nothing fixes its extents; give a buffer");
    static const struct {
        int64_t extent;
        mlc_type type;
        const char *message;
    } row[] = {
        { -1, MLC_I32, "buffer f has in dimension 0 the extent -1; give 0 or more" },
        { INT64_MAX, MLC_I32, "buffer f has in dimension 0 a size that no address space holds; give its real shape" },
        { (int64_t)1 << 50, MLC_I32, "f: out of memory: 4503599627370496 bytes were asked for" },
        { 9, MLC_U8, "buffer f.0 holds u8, and the program has i32; give one of that type" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        mlc_buffer shape = { .type = row[i].type, .rank = 1, .dim[0] = { .extent = row[i].extent, .stride = 1 } };
        b[0] = &shape, b[1] = b[2] = NULL;
        ck_assert(!mlc_realize_all(NULL, mlc_outs(f, g), b, 3, NULL));
        ck_assert_str_eq(mlc_error(ctx), row[i].message);
        mlc_buffer_free(b[1]), mlc_buffer_free(b[2]);
    }
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- every check of a call ---- */

static void expect(mlc_module *m, int n, mlc_buffer *const *b, int np, const mlc_scalar *v, const char *message) {
    mlc_error_info e;
    ck_assert_int_ne(mlc_run(m, n, b, np, v, &e), 0);
    ck_assert_str_eq(e.message, message);
    ck_assert_str_ne(mlc_error_name(e.code), "UNKNOWN");
}

/* Until it is cleared, a wrong definition stops all of its context; after that, what reads it. */
START_TEST(a_wrong_definition_stops_its_context) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x, y);
    mlc_func bad = mlc_func_new(ctx, "bad"), good = mlc_func_new(ctx, "good"), reader = mlc_func_new(ctx, "reader");
    int32_t out[3];
    mlc_def(mlc_at(good, x), x);
    mlc_def(mlc_at(bad, x), y);
    ck_assert(!mlc_realize(good, mlc_wrap(out, 3), NULL));
    ck_assert_ptr_nonnull(strstr(mlc_error(ctx), ": define bad: the Var y is not on the left side; add it there or use an RDom"));
    mlc_error_clear(ctx);
    ck_assert_msg(mlc_realize(good, mlc_wrap(out, 3), NULL), "%s", mlc_error(ctx));
    ck_assert_int_eq(out[2], 2);
    mlc_def(mlc_at(reader, x), mlc_at(bad, x));
    mlc_error_clear(ctx);
    ck_assert(!mlc_realize(reader, mlc_wrap(out, 3), NULL));
    ck_assert_ptr_nonnull(strstr(mlc_error(ctx), ": define bad: the Var y is not on the left side; add it there or use an RDom"));
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(wrong_buffers_are_refused) {
    Program p = make();
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t += 3) {
        mlc_module *m = compile(&p, targets[t]);
        mlc_scalar v[] = { { .i = 1 }, { .i = 1 } };
        mlc_buffer in = *mlc_wrap(src[0], W + 1, H), out = *mlc_wrap(dst[0], W, H), odd;
        mlc_buffer *b[] = { &in, &out };
        expect(m, 1, b, 2, v, "the call gives 1 buffers, and the module has 2: in, out; give one a slot");
        expect(m, 2, (mlc_buffer *[]){ NULL, &out }, 2, v, "buffer in is missing or has no data; give one with memory");
        odd = in, odd.data = NULL;
        expect(m, 2, (mlc_buffer *[]){ &odd, &out }, 2, v, "buffer in is missing or has no data; give one with memory");
        odd = in, odd.type = MLC_U32;
        expect(m, 2, (mlc_buffer *[]){ &odd, &out }, 2, v,
               "buffer in holds u32, and the program has i32; give one of that type");
        odd = in, odd.rank = 3;
        expect(m, 2, (mlc_buffer *[]){ &odd, &out }, 2, v,
               "buffer in has 3 dimensions, and the program has 2; give one of that rank");
        odd = *mlc_wrap((int32_t *)in.data, 4, -1);
        expect(m, 2, (mlc_buffer *[]){ &odd, &out }, 2, v, "buffer in has in dimension 1 the extent -1; give 0 or more");
        odd = *mlc_wrap((int32_t *)in.data, INT64_MAX, 3);
        expect(m, 2, (mlc_buffer *[]){ &odd, &out }, 2, v,
               "buffer in has in dimension 0 a size that no address space holds; give its real shape");
        odd = in, odd.dim[1].extent = -1;
        expect(m, 2, (mlc_buffer *[]){ &odd, &out }, 2, v, "buffer in has in dimension 1 the extent -1; give 0 or more");
        odd = in, odd.dim[1].stride = INT64_MAX / 2;
        expect(m, 2, (mlc_buffer *[]){ &odd, &out }, 2, v,
               "buffer in has in dimension 1 a size that no address space holds; give its real shape");
        odd = out, odd.data = (char *)dst + 2;
        expect(m, 2, (mlc_buffer *[]){ &in, &odd }, 2, v, "buffer out is not aligned to its elements of 4 bytes; align its data");
        odd = out, odd.data = src;
        expect(m, 2, (mlc_buffer *[]){ &in, &odd }, 2, v, "output out shares memory with in; give it memory of its own");
        odd = out, odd.dim[1].stride = 0;
        expect(m, 2, (mlc_buffer *[]){ &in, &odd }, 2, v,
               "two indices of output out share memory; give it strides that keep them apart");
        mlc_module_free(m);
    }
    mlc_ctx_free(p.ctx);
}
END_TEST

START_TEST(elements_of_a_tuple_share_a_shape) {
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        mlc_ctx *ctx = mlc_ctx_new();
        ck_assert(mlc_let(ctx, pair(x, y) = {x + y, f32(x)}));
        mlc_error_info e;
        mlc_module *m = mlc_compile(NULL, mlc_outs(mlc_find_func(ctx, "pair")), &(mlc_options){ .target = targets[t] }, &e);
        ck_assert_msg(m != NULL, "%s", e.message);
        static float second[H][W + 2];
        mlc_buffer a = *mlc_wrap(dst[0], W, H), good = *mlc_wrap(second[0], W, H), odd;
        ck_assert_int_eq(mlc_run(m, 2, (mlc_buffer *[]){ &a, &good }, 0, NULL, &e), 0);
        odd = good, odd.dim[1].stride = W + 2;
        expect(m, 2, (mlc_buffer *[]){ &a, &odd }, 0, NULL,
               "buffer pair.1 differs in dimension 1 from that of element 0; give all elements of a tuple the same mins, "
               "extents and strides");
        odd = good, odd.dim[0].extent = W - 1;
        expect(m, 2, (mlc_buffer *[]){ &a, &odd }, 0, NULL,
               "buffer pair.1 differs in dimension 0 from that of element 0; give all elements of a tuple the same mins, "
               "extents and strides");
        odd = good, odd.dim[0].min = 1;
        expect(m, 2, (mlc_buffer *[]){ &a, &odd }, 0, NULL,
               "buffer pair.1 differs in dimension 0 from that of element 0; give all elements of a tuple the same mins, "
               "extents and strides");
        mlc_module_free(m);
        mlc_ctx_free(ctx);
    }
}
END_TEST

START_TEST(wrong_params_are_refused) {
    Program p = make();
    mlc_module *m = compile(&p, "host");
    mlc_buffer *b[] = { mlc_wrap(src[0], W + 1, H), mlc_wrap(dst[0], W, H) };
    expect(m, 2, b, 1, (mlc_scalar[]){ { .i = 1 } }, "the call gives 1 params, and the module has 2: k, d; give all of them");
    expect(m, 2, b, 0, NULL, "param k has no value; set one with mlc_param_set or give it to the call");
    expect(m, 2, b, 2, (mlc_scalar[]){ { .i = 6 }, { .i = 0 } }, "param k is 6, outside its range -5 to 5; give one inside");
    expect(m, 2, b, 2, (mlc_scalar[]){ { .i = 1 }, { .i = INT64_C(1) << 31 } },
           "param d is 2147483648, which is no i32; give a value of its type");
    mlc_module_free(m);
    mlc_ctx_free(p.ctx);
}
END_TEST

START_TEST(a_small_input_is_refused_by_the_kernel) {
    Program p = make();
    mlc_module *m = compile(&p, "host");
    mlc_scalar v[] = { { .i = 1 }, { .i = 1 } };
    mlc_buffer in = *mlc_wrap(src[0], W + 1, H);
    ck_assert(mlc_buffer_crop(&in, 0, 0, W));
    mlc_buffer *b[] = { &in, mlc_wrap(dst[0], W, H) };
    mlc_error_info e;
    ck_assert_int_ne(mlc_run(m, 2, b, 2, v, &e), 0);
    ck_assert_str_eq(mlc_error_name(e.code), "INPUT_BOX");
    ck_assert_ptr_nonnull(strstr(e.message, "input in is needed in dimension 0 from 0 to 13"));
    mlc_module_free(m);
    mlc_ctx_free(p.ctx);
}
END_TEST

/* ---- options, introspection ---- */

START_TEST(options_are_checked) {
    Program p = make();
    static const struct {
        mlc_options o;
        const char *message;
    } rows[] = {
        { { .target = "z80" }, "there is no target 'z80'; use host, cuda, avx512, avx2, sse4, plain or interpret" },
        { { .opt = 7 }, "there is no optimisation level 7; give 1, 2 or 3" },
    };
    mlc_error_info e;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_ptr_null(mlc_compile(NULL, mlc_outs(p.out), &rows[i].o, &e));
        ck_assert_str_eq(e.message, rows[i].message);
    }
    ck_assert_ptr_null(mlc_compile(NULL, 0, NULL, NULL, &e));
    ck_assert_str_eq(e.message, "no outputs are given; name at least one Func");
    ck_assert(!mlc_explain(NULL, mlc_outs(p.out), "asm", NULL, stdout, &e));
    ck_assert_str_eq(e.message, "there is no level 'asm'; use algorithm, schedule, nest, loops, c, cuda, ptx or sass");
    ck_assert(!mlc_bind(p.out, mlc_wrap(dst[0], W, H)));
    ck_assert_str_eq(mlc_error(p.ctx), "bind: out is no input; bind buffers to what mlc_input_new made");
    mlc_ctx_free(p.ctx);
}
END_TEST

/* A refused call of realize or bind: nothing runs, and the message says what to do. */
static void refused(mlc_ctx *ctx, bool good, const char *message) {
    ck_assert(!good);
    ck_assert_str_eq(mlc_error(ctx), message);
    mlc_error_clear(ctx);
}

START_TEST(realize_refuses_what_it_cannot_fill) {
    Program p = make();
    mlc_var x = mlc_var_new(p.ctx, "x");
    mlc_func pair = mlc_func_new(p.ctx, "pair");
    mlc_def_tuple(mlc_at(pair, x), x, mlc_mul(x, 2));
    mlc_param_set(p.k, 1);
    mlc_param_set(p.d, 3);
    mlc_buffer *out = mlc_wrap(dst[0], W, H), *in = mlc_wrap(src[0], W + 1, H);
    ck_assert(mlc_bind(p.in, in));
    refused(p.ctx, mlc_realize(p.out, mlc_wrap((int32_t *)NULL, W, H), NULL),
            "realize: buffer out is missing or has no data; give one with memory");
    refused(p.ctx, mlc_realize(p.out, NULL, NULL), "realize: buffer out is missing or has no data; give one with memory");
    refused(p.ctx, mlc_interpret(p.out, NULL), "realize: buffer out is missing or has no data; give one with memory");
    refused(p.ctx, mlc_realize(p.in, out, NULL), "realize: in is an input; realize a Func");
    refused(p.ctx, mlc_realize(pair, out, NULL), "realize: pair has 2 elements; give mlc_realize_all a buffer for each");
    ck_assert(mlc_realize(p.out, out, NULL));
    refused(p.ctx, mlc_bind(p.in, mlc_wrap((int32_t *)NULL, W + 1, H)),
            "bind: buffer in is missing or has no data; give one with memory");
    refused(p.ctx, mlc_realize(p.out, out, NULL), "input in has no buffer; bind one with mlc_bind");
    ck_assert(mlc_bind(p.in, in));
    static float of_floats[1];
    refused(p.ctx, mlc_bind(p.in, mlc_wrap(of_floats, 1, 1)),
            "bind: buffer in holds f32, and the program has i32; give one of that type");
    refused(p.ctx, mlc_realize(p.out, out, NULL), "input in has no buffer; bind one with mlc_bind");
    mlc_ctx_free(p.ctx);
}
END_TEST

START_TEST(a_module_tells_what_it_takes) {
    Program p = make();
    mlc_param_set(p.d, 42);
    mlc_module *m = compile(&p, "host");
    mlc_slot_info s;
    mlc_param_info q;
    ck_assert_int_eq(mlc_module_slots(m), 2);
    ck_assert(mlc_module_slot(m, 0, &s) && !s.is_output && s.type == MLC_I32 && s.rank == 2);
    ck_assert_str_eq(s.name, "in");
    ck_assert(mlc_module_slot(m, 1, &s) && s.is_output);
    ck_assert(!mlc_module_slot(m, 2, &s));
    ck_assert_int_eq(mlc_module_find_param(m, "d"), 1);
    ck_assert(mlc_module_param(m, 1, &q) && q.has_value && q.value.i == 42 && !q.has_range);
    ck_assert(mlc_module_param(m, 0, &q) && q.has_range && q.lo.i == -5 && q.hi.i == 5);
    ck_assert_int_eq(mlc_module_find_param(m, "e"), -1);
    ck_assert_ptr_nonnull(strstr(mlc_module_source(m), "mlc_kernel"));
    mlc_module_free(m);
    mlc_ctx_free(p.ctx);
}
END_TEST

/* ---- typed functions ---- */

START_TEST(a_typed_function_is_plain_c) {
    Program p = make();
    mlc_module *m = compile(&p, "host");
    mlc_error_info e;
    fill();
    mlc_fn any = mlc_function(m, "i32*[w1, h] i32*[w,h] i64 w1, i64 w, i32 h, i32 d, i32 -> i32", &e);
    ck_assert_msg(any != NULL, "%s", e.message);
    int32_t (*f)(const int32_t *, int32_t *, int64_t, int64_t, int32_t, int32_t, int32_t) =
        (int32_t (*)(const int32_t *, int32_t *, int64_t, int64_t, int32_t, int32_t, int32_t))any;
    ck_assert_int_eq(f(src[0], dst[0], W + 1, W, H, 9, -2), 0);
    check_result(-2, 9);
    ck_assert_int_ne(f(src[0], dst[0], W + 1, W, H, 9, 6), 0); /* k is out of range */
    any = mlc_function(m, "buffer* i32*[13,7] i8 k i64 d -> void", &e);
    ck_assert_msg(any != NULL, "%s", e.message);
    memset(dst, 0, sizeof dst);
    ((void (*)(mlc_buffer *, int32_t *, int8_t, int64_t))any)(mlc_wrap(src[0], W + 1, H), dst[0], 3, 1);
    check_result(3, 1);
    mlc_module_free(m);
    mlc_ctx_free(p.ctx);
}
END_TEST

START_TEST(wrong_signatures_are_refused) {
    static const struct {
        const char *signature, *why;
    } rows[] = {
        { "", "-> and a result are wanted" },
        { "i32*[4,4]", "-> and a result are wanted" },
        { "i32* i32*[2,2] i32 i32 -> i32", "nothing fixes the extents of in; write them in brackets" },
        { "f32*[4,4] -> i32", "buffer in holds i32" },
        { "i32*[4] -> i32", "buffer in has 2 dimensions" },
        { "i32*[4,-4] -> i32", "an extent is not negative" },
        { "i32*[4,?] -> i32", "an extent is a number or the name of a scalar argument" },
        { "i32*[4,4] i32*[n,4] i32 i32 -> i32", "there is no integer argument named n" },
        { "i32*[4,4] i32*[4,4] i32 -> i32", "param d is missing" },
        { "i32*[4,4] i32*[4,4] i32 i32 i32 -> i32", "there are more unnamed scalars than the module has params" },
        { "i32*[4,4] i32*[4,4] i32*[4,4] -> i32", "there are more arrays than the module has buffers" },
        { "i32*[4,4] i32 i32 -> i32", "buffer out is missing" },
        { "q7 -> i32", "'q7' is no type" },
        { "* -> i32", "a type is wanted" },
        { "buffer buffer f16 i32 -> i32", "C has no such scalar; use f32" },
        { "buffer buffer i32 i32 -> f32", "the result is i32 or void" },
        { "buffer buffer i32 i32 -> i32 i32", "nothing may follow the result" },
    };
    Program p = make();
    mlc_module *m = compile(&p, "interpret");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_error_info e;
        ck_assert_msg(!mlc_function(m, rows[i].signature, &e), "%s", rows[i].signature);
        ck_assert_str_eq(mlc_error_name(e.code), "SIGNATURE");
        ck_assert_msg(strstr(e.message, rows[i].why) != NULL, "%s gives %s", rows[i].signature, e.message);
    }
    mlc_module_free(m);
    mlc_ctx_free(p.ctx);
}
END_TEST

/* ---- required boxes, emitting ---- */

typedef struct {
    int n;
    mlc_box box[2];
} Need;

static void take_need(void *user, const char *input, int rank, const mlc_box *need) {
    Need *n = user;
    ck_assert_str_eq(input, "in");
    n->n = rank;
    memcpy(n->box, need, sizeof *need * (size_t)rank);
}

/* The error of a call is gone with the next call; one of construction stays, and stops what would guess. */
START_TEST(errors_of_calls_pass) {
    Program p = make();
    static int32_t few[2], room[H][W];
    static uint8_t bytes[H * W];
    mlc_buffer *small = mlc_wrap(few, 2, 1), *out = mlc_wrap(&room[0][0], W, H);
    mlc_param_set_i(p.k, 1);
    mlc_param_set_i(p.d, 0);
    ck_assert(mlc_bind(p.in, small));
    ck_assert(!mlc_realize(p.out, out, NULL));
    ck_assert_ptr_nonnull(strstr(mlc_error(p.ctx), "in is needed"));
    ck_assert(!mlc_realize(p.out, mlc_wrap(bytes, W, H), NULL));
    ck_assert_ptr_null(strstr(mlc_error(p.ctx), "in is needed"));
    ck_assert(mlc_bind(p.in, mlc_wrap(&src[0][0], W + 1, H)));
    ck_assert_str_eq(mlc_error(p.ctx), "");
    ck_assert(mlc_realize(p.out, out, NULL));
    ck_assert_str_eq(mlc_error(p.ctx), "");
    ck_assert(!mlc_find_func(p.ctx, "ot").f);
    ck_assert_str_eq(mlc_error(p.ctx), "find: there is no Func 'ot' (did you mean 'out'?) here; define it first");
    ck_assert(!mlc_realize(p.out, out, NULL));
    ck_assert_str_eq(mlc_error(p.ctx), "find: there is no Func 'ot' (did you mean 'out'?) here; define it first");
    mlc_error_clear(p.ctx);
    mlc_program *q = mlc_program_parse(p.ctx, "mlc 1; h(x) = x; output h; plan fast { h: vectorize(x, 4); }", "t");
    ck_assert_ptr_nonnull(q);
    ck_assert_ptr_null(mlc_program_find_plan(q, "fsat"));
    mlc_error_info e;
    ck_assert_ptr_null(mlc_compile(NULL, mlc_outs(mlc_program_output(q, 0)), NULL, &e));
    ck_assert_str_eq(e.message, "find: the program has no plan 'fsat' (did you mean 'fast'?); name one that it has");
    mlc_ctx_free(p.ctx);
}
END_TEST

START_TEST(required_boxes) {
    Program p = make();
    Need n = { 0 };
    mlc_error_info e;
    mlc_box out[] = { { -3, 10 }, { 100, 5 } };
    ck_assert_msg(mlc_required(NULL, mlc_outs(p.out), out, take_need, &n, &e), "%s", e.message);
    ck_assert_int_eq(n.n, 2);
    ck_assert_int_eq(n.box[0].min, -3);
    ck_assert_int_eq(n.box[0].extent, 11);
    ck_assert_int_eq(n.box[1].min, 100);
    ck_assert_int_eq(n.box[1].extent, 5);
    mlc_ctx_free(p.ctx);
}
END_TEST

Suite *module_suite(void) {
    Suite *s = suite_create("module");
    TCase *t = tcase_create("module");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_module_outlives_its_context);
    tcase_add_test(t, strides_choose_the_variant);
    tcase_add_test(t, params_of_conditions);
    tcase_add_test(t, threads_share_a_module);
    tcase_add_test(t, realize_uses_what_is_bound_and_set);
    tcase_add_test(t, threads_compile_one_context);
    tcase_add_test(t, outputs_are_allocated);
    tcase_add_test(t, a_wrong_definition_stops_its_context);
    tcase_add_test(t, wrong_buffers_are_refused);
    tcase_add_test(t, elements_of_a_tuple_share_a_shape);
    tcase_add_test(t, wrong_params_are_refused);
    tcase_add_test(t, a_small_input_is_refused_by_the_kernel);
    tcase_add_test(t, options_are_checked);
    tcase_add_test(t, realize_refuses_what_it_cannot_fill);
    tcase_add_test(t, errors_of_calls_pass);
    tcase_add_test(t, a_module_tells_what_it_takes);
    tcase_add_test(t, a_typed_function_is_plain_c);
    tcase_add_test(t, wrong_signatures_are_refused);
    tcase_add_test(t, required_boxes);
    suite_add_tcase(s, t);
    return s;
}
