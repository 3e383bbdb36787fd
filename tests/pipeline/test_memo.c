/* test_memo.c - memoized Funcs, compiled: what is found, what is not, what is dropped, and that values are always those of
 * the interpreter. */
#include <mlc.h>
#include <mlc/text.h>

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *memo_suite(void);

enum { W = 13, H = 7, SIDE = 24 };

static atomic_int calls;

static float counted(float v) {
    atomic_fetch_add(&calls, 1);
    return v * 2 + 1;
}

typedef struct {
    mlc_ctx *ctx;
    mlc_module *m, *oracle;
    float in[SIDE][SIDE], out[H][W], want[H][W];
    mlc_scalar param[3];
} Rig;

/* g is memoized and read by f, the output; h is made for g alone. */
static const char program[] =
    "param gain: f32; param shift: i32; param version: i32;\n"
    "h(x, y) = counted(in(x, y)) * gain;\n"
    "g(x, y) = h(x, y) - h(x + 1, y) + f32(shift);\n"
    "f(x, y) = g(x, y) * 3.0f + g(x, y + 1);\noutput f;\n"
    "plan p { h: compute_root(); g: compute_root(), vectorize(x, 4), memoize(version + 1); f: vectorize(x, 8), parallel(y); }\n";

static void open_text(Rig *r, const char *text) {
    char all[2048];
    mlc_error_info e;
    memset(r, 0, sizeof *r);
    atomic_store(&calls, 0);
    r->ctx = mlc_ctx_new();
    mlc_extern_new(r->ctx, "counted", (void (*)(void))counted, "f32 -> f32");
    snprintf(all, sizeof all, "mlc 1\ninput in: f32[2];\nextern counted: f32 -> f32;\n%s", text);
    mlc_program *p = mlc_program_parse(r->ctx, all, "t.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(r->ctx));
    mlc_func out = mlc_program_output(p, 0);
    r->m = mlc_compile(mlc_program_plan(p, 0), 1, &out, NULL, &e);
    ck_assert_msg(r->m != NULL, "%s", e.message);
    r->oracle = mlc_compile(NULL, 1, &out, &(mlc_options){ .target = "interpret" }, &e);
    ck_assert_msg(r->oracle != NULL, "%s", e.message);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) r->in[y][x] = (float)((x * 37 + y * 91) % 101) / 8 - 3;
    r->param[0].f = 1.5;
}

static void close_rig(Rig *r) {
    mlc_module_free(r->m);
    mlc_module_free(r->oracle);
    mlc_ctx_free(r->ctx);
}

/* A call over W x H points from (min0, min1) on, against the interpreter; the calls of `counted` that it took. */
static int run_at(Rig *r, int64_t min0, int64_t min1) {
    mlc_error_info e = { 0 };
    mlc_buffer in, out, want;
    mlc_buffer_wrap(&in, r->in, MLC_F32, 2, (int64_t[]){ SIDE, SIDE });
    mlc_buffer_wrap(&out, r->out, MLC_F32, 2, (int64_t[]){ W, H });
    mlc_buffer_wrap(&want, r->want, MLC_F32, 2, (int64_t[]){ W, H });
    out.dim[0].min = want.dim[0].min = min0;
    out.dim[1].min = want.dim[1].min = min1;
    memset(r->out, 0x55, sizeof r->out);
    mlc_buffer *b[] = { &in, &out }, *w[] = { &in, &want };
    int n = mlc_module_params(r->m), before = atomic_load(&calls);
    ck_assert_msg(!mlc_run(r->m, 2, b, n, r->param, &e), "%s", e.message);
    int made = atomic_load(&calls) - before;
    ck_assert_msg(!mlc_run(r->oracle, 2, w, mlc_module_params(r->oracle), r->param, &e), "%s", e.message);
    ck_assert_mem_eq(r->out, r->want, sizeof r->out);
    return made;
}

static void expect(Rig *r, int64_t entries, int64_t hits, int64_t misses) {
    mlc_memo_stats s = mlc_module_memo(r->m);
    ck_assert_int_eq(s.entries, entries);
    ck_assert_int_eq(s.hits, hits);
    ck_assert_int_eq(s.misses, misses);
}

enum { ALL = (W + 1) * (H + 1) }; /* points of h */

START_TEST(the_same_is_found) {
    Rig r;
    open_text(&r, program);
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    ck_assert_int_eq(run_at(&r, 0, 0), 0); /* h neither */
    expect(&r, 1, 1, 1);
    close_rig(&r);
}
END_TEST

START_TEST(what_it_is_made_of_counts) {
    Rig r;
    open_text(&r, program);
    run_at(&r, 0, 0);
    r.param[0].f = 2.5;
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    r.param[1].i = 4;
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    ck_assert_int_eq(run_at(&r, 1, 0), ALL); /* another box */
    ck_assert_int_eq(run_at(&r, 0, 0), 0);
    r.in[H][W] += 1; /* the last element that is read */
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    r.in[0][0] = -0.0f;
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    r.in[0][0] = 0.0f; /* equal, but not the same bits */
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    r.in[H + 1][0] += 1; /* not read */
    r.in[0][W + 1] += 1;
    ck_assert_int_eq(run_at(&r, 0, 0), 0);
    r.param[2].i = 77; /* no value is made of the key */
    ck_assert_int_eq(run_at(&r, 0, 0), 0);
    r.in[H][W] -= 1, r.param[0].f = 1.5, r.param[1].i = 0, r.in[0][0] = -3; /* as in the beginning */
    ck_assert_int_eq(run_at(&r, 0, 0), 0);
    close_rig(&r);
}
END_TEST

/* What is read counts, not where it lies. */
START_TEST(buffers_of_other_strides) {
    Rig r;
    open_text(&r, program);
    run_at(&r, 0, 0);
    static float wide[SIDE][3 * SIDE];
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) wide[y][3 * x] = r.in[y][x];
    mlc_buffer in = *mlc_wrap(wide[0], 3 * SIDE, SIDE), *b[] = { &in, mlc_wrap(r.out[0], W, H) };
    ck_assert(mlc_buffer_stride(&in, 0, 3));
    int before = atomic_load(&calls);
    memset(r.out, 0x55, sizeof r.out);
    ck_assert_int_eq(mlc_run(r.m, 2, b, 3, r.param, NULL), 0);
    ck_assert_int_eq(atomic_load(&calls), before);
    ck_assert_mem_eq(r.out, r.want, sizeof r.out);
    close_rig(&r);
}
END_TEST

START_TEST(keys_and_limits) {
    Rig r;
    open_text(&r, program);
    for (int i = 0; i < 6; i++) { /* two of each key */
        r.param[0].f = i;
        r.param[2].i = i / 2;
        run_at(&r, 0, 0);
    }
    expect(&r, 6, 0, 6);
    mlc_module_memo_evict(r.m, 2); /* version 1 */
    expect(&r, 4, 0, 6);
    int64_t bytes = mlc_module_memo(r.m).bytes;
    mlc_module_memo_limit(r.m, (size_t)(bytes / 2));
    expect(&r, 2, 0, 6);
    r.param[0].f = 4;
    ck_assert_int_eq(run_at(&r, 0, 0), 0); /* the last ones are left; this one is now the last */
    r.param[0].f = 9;
    run_at(&r, 0, 0);
    r.param[0].f = 4;
    ck_assert_int_eq(run_at(&r, 0, 0), 0);
    r.param[0].f = 5;
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    mlc_module_memo_clear(r.m);
    ck_assert_int_eq(mlc_module_memo(r.m).bytes, 0);
    mlc_module_memo_limit(r.m, 0);
    run_at(&r, 0, 0);
    ck_assert_int_eq(run_at(&r, 0, 0), ALL);
    close_rig(&r);
}
END_TEST

START_TEST(a_failure_keeps_nothing) {
    Rig r;
    mlc_error_info e;
    open_text(&r, "param least: f32;\n"
                  "g(x, y) = require(in(x, y) >= least, counted(in(x, y)), \"too little\");\n"
                  "f(x, y) = g(x, y) + g(x, y + 1);\noutput f;\nplan p { g: compute_root(), memoize(), parallel(y); }\n");
    mlc_buffer in, out, *b[] = { &in, &out };
    mlc_buffer_wrap(&in, r.in, MLC_F32, 2, (int64_t[]){ SIDE, SIDE });
    mlc_buffer_wrap(&out, r.out, MLC_F32, 2, (int64_t[]){ W, H });
    r.param[0].f = 0;
    ck_assert_int_ne(mlc_run(r.m, 2, b, 1, r.param, &e), 0);
    ck_assert_ptr_nonnull(strstr(e.message, "too little"));
    ck_assert_int_ne(mlc_run(r.m, 2, b, 1, r.param, &e), 0);
    expect(&r, 0, 0, 2);
    r.param[0].f = -100;
    ck_assert_int_gt(run_at(&r, 0, 0), 0);
    ck_assert_int_eq(run_at(&r, 0, 0), 0);
    expect(&r, 1, 1, 3);
    close_rig(&r);
}
END_TEST

/* Shapes of programs: each run twice over two boxes, found the second time. */
static const char *const programs[] = {
    /* a tuple, an update, a reduction */
    "g(x, y) = {in(x, y), i32(x)}; g(x, y) = {g(x, y)[0] * 2.0f, g(x, y)[1] + 1}; f(x, y) = g(x, y)[0] + f32(g(x + 2, y)[1]); output f;"
    "plan p { g: compute_root(), memoize(); }",
    "rdom k(0, 5); g(x) = 0.0f; g(x) += in(x, k) * f32(k); f(x, y) = g(x) + in(x, y); output f; plan p { g: compute_root(), memoize(); }",
    "rdom k(0, 5); g() = 0.0f; g() += in(k, k); f(x, y) = g() + in(x, y); output f; plan p { g: compute_root(), memoize(); }",
    /* sizes as values, a boundary, padded halves in another order */
    "e = repeat_edge(in); g(x, y) = e(x - 3, y + 30) + f32(in.extent.0); f(x, y) = g(x, y); output f;"
    "plan p { g: compute_root(), memoize(); }",
    "g(x, y) = f16(in(x, y)); f(x, y) = f32(g(x, y)); output f;"
    "plan p { g: compute_root(), reorder_storage(y, x), align_storage(y, 16), memoize(); }",
    /* one in another, one beside another, an asynchronous producer and an asynchronous reader */
    "h(x, y) = sqrt(in(x, y)); g(x, y) = h(x, y) + h(x, y + 1); k(x, y) = in(x, y) * 2.0f; f(x, y) = g(x, y) + k(x, y) + h(x, y); output f;"
    "plan p { h: compute_root(), memoize(); g: compute_root(), memoize(); k: compute_root(), memoize(); }",
    "h(x, y) = sqrt(in(x, y)); g(x, y) = h(x, y) + h(x, y + 1); k(x, y) = g(x, y) * 2.0f; f(x, y) = k(x, y) + g(x, y); output f;"
    "plan p { h: store_root(), compute_at(g, y), async(); g: compute_root(), memoize(); k: compute_at(f, y), async(); }",
    "h(x, y) = in(x, y); g(x, y) = h(x, y) + 1.0f; f(x, y) = g(x, y); output f;"
    "plan p { h: compute_root(), async(); g: compute_root(), memoize(); f: parallel(y); }",
    /* a stage that shares its loops with what is made for values that are found */
    "h(x, y) = sqrt(in(x, y)); l(x, y) = in(x, y) * 2.0f; k(x, y) = h(x, y) + 1.0f; g(x, y) = l(x, y) + l(x, y + 1);"
    "f(x, y) = g(x, y) + k(x, y); output f;"
    "plan p { h: compute_root(); l: compute_root(); k: compute_root(), compute_with(l, y); g: compute_root(), memoize(); }",
    /* bools, constants alone, what is inlined, specializations */
    "g(x, y) = in(x, y) > 0.0f; f(x, y) = select(g(x, y), 1.0f, 2.0f); output f; plan p { g: compute_root(), memoize(); }",
    "g(x, y) = f32(x * 3 - y); f(x, y) = g(x, y) + in(x, y); output f; plan p { g: compute_root(), memoize(), store_in(heap); }",
    "h(x, y) = in(x, y) * 2.0f; g(x, y) = h(x, y) - h(x, y + 1); f(x, y) = g(x, y) + h(x, y); output f; plan p { g: compute_root(), memoize(); }",
    "g(x, y) = in(x, y) * 2.0f; f(x, y) = g(x, y); output f;"
    "plan p { g: compute_root(), memoize(), specialize(f.extent.0 > 12) { vectorize(x, 4) }; f: vectorize(x, 4); }",
};

START_TEST(programs_of_all_kinds) {
    Rig r;
    open_text(&r, programs[_i]);
    for (int i = 0; i < 2; i++) run_at(&r, 0, 0), run_at(&r, 3, 2);
    mlc_memo_stats s = mlc_module_memo(r.m);
    ck_assert_int_gt(s.hits, 0);
    ck_assert_int_eq(s.hits % s.misses, 0); /* but what needs no box is found at once */
    ck_assert_int_ge(s.hits, s.misses);
    r.in[H / 2][W / 2] += 1;
    run_at(&r, 0, 0);
    close_rig(&r);
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 60 };

typedef struct {
    Rig *r;
    int seed, good;
} Caller;

/* Four programs' worth of calls at once, each checked point by point; the cache holds only some of their values. */
static void *call_often(void *arg) {
    Caller *c = arg;
    static const float gains[] = { 0.5f, 1, 2, 4, 8 };
    for (int i = 0; i < ROUNDS; i++) {
        float out[H][W], gain = gains[(i * 7 + c->seed) % 5];
        mlc_buffer in = *mlc_wrap(c->r->in[0], SIDE, SIDE), o = *mlc_wrap(out[0], W, H), *b[] = { &in, &o };
        mlc_scalar v[] = { { .f = gain }, { .i = i % 2 }, { .i = i } };
        if (mlc_run(c->r->m, 2, b, 3, v, NULL)) return NULL;
        bool same = true;
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                float g[2];
                for (int k = 0; k < 2; k++) {
                    float h0 = (c->r->in[y + k][x] * 2 + 1) * gain, h1 = (c->r->in[y + k][x + 1] * 2 + 1) * gain;
                    g[k] = h0 - h1 + (float)(i % 2);
                }
                same &= out[y][x] == g[0] * 3 + g[1]; /* exact: eighths times powers of two */
            }
        c->good += same;
        if (i % 16 == 5) mlc_module_memo_evict(c->r->m, i + 1);
        if (i % 32 == 9) mlc_module_memo_limit(c->r->m, (size_t)(i % 64) * 400);
        if (i % 32 == 25) mlc_module_memo_limit(c->r->m, 1 << 20);
    }
    return NULL;
}

START_TEST(threads_share_what_is_kept) {
    Rig r;
    Caller c[THREADS];
    pthread_t id[THREADS];
    open_text(&r, program);
    for (int i = 0; i < THREADS; i++) {
        c[i] = (Caller){ &r, i, 0 };
        ck_assert_int_eq(pthread_create(&id[i], NULL, call_often, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(id[i], NULL);
    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(c[i].good, ROUNDS);
    mlc_memo_stats s = mlc_module_memo(r.m);
    ck_assert_int_eq(s.hits + s.misses, THREADS * ROUNDS);
    ck_assert_int_gt(s.hits, 0);
    close_rig(&r);
}
END_TEST

/* ---- memory ---- */

typedef struct {
    atomic_long left, alive;
} Failing;

static void *failing_resize(void *user, void *old, size_t size) {
    Failing *f = user;
    if (size == 0) {
        atomic_fetch_sub(&f->alive, old != NULL);
        free(old);
        return NULL;
    }
    if (atomic_fetch_sub(&f->left, 1) <= 0) return NULL;
    void *p = realloc(old, size);
    atomic_fetch_add(&f->alive, p && !old);
    return p;
}

START_TEST(without_memory) {
    Failing f = { .left = 1L << 40 };
    mlc_allocator hook = { failing_resize, &f };
    mlc_ctx *ctx = mlc_ctx_new_with(&hook);
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\ninput in: f32[1]; g(x) = {in(x), in(x + 1)}; f(x) = g(x)[0] + g(x + 1)[1]; output f;"
                                            "plan p { g: compute_root(), memoize(); }", "t");
    mlc_func out = mlc_program_output(p, 0);
    mlc_error_info e;
    mlc_module *m = mlc_compile(mlc_program_plan(p, 0), 1, &out, NULL, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    float in[20] = { 1, 2, 3 }, result[9];
    mlc_buffer *b[] = { mlc_wrap(in, 20), mlc_wrap(result, 9) };
    for (long n = 0, code = 1; code; n++) {
        in[0] = (float)n;
        f.left = n;
        code = mlc_run(m, 2, b, 0, NULL, &e);
        ck_assert_msg(!code || !strcmp(mlc_error_name((int)code), "OUT_OF_MEMORY"), "%s", e.message);
        f.left = 1L << 40;
        ck_assert(!code || mlc_module_memo(m).entries == 0);
        ck_assert_int_lt(n, 100);
    }
    ck_assert_float_eq(result[0], in[0] + in[2]);
    ck_assert_int_eq(mlc_module_memo(m).entries, 1);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
    ck_assert_int_eq(f.alive, 0);
}
END_TEST

/* ---- realize, ahead of time, the front door of C ---- */

START_TEST(realize_finds_too) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_extern fn = mlc_extern_new(ctx, "counted", (void (*)(void))counted, "f32 -> f32");
    mlc_param k = mlc_param_new(ctx, "k", MLC_I32);
    mlc_func g = mlc_func_new(ctx, "g"), f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(g, x), mlc_call_extern(fn, mlc_f32(x)));
    mlc_def(mlc_at(f, x), mlc_add(mlc_at(g, x), mlc_f32(k)));
    mlc_schedule(g, mlc_compute_root(), mlc_memoize_by(mlc_mul(k, 2)));
    ck_assert_str_eq(mlc_plan_print(mlc_plan_default(ctx)), "g: compute_root(), memoize(k * 2);\n");
    float out[5];
    atomic_store(&calls, 0);
    for (int i = 0; i < 3; i++) {
        mlc_param_set(k, i);
        ck_assert_msg(mlc_realize(f, mlc_wrap(out, 5), NULL), "%s", mlc_error(ctx));
        ck_assert_float_eq(out[4], (float)(9 + i));
    }
    ck_assert_int_eq(atomic_load(&calls), 5);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(ahead_of_time_it_is_refused) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\ng(x) = i32(x);\nf(x) = g(x);\noutput f;\nplan p { g: compute_root(), memoize(); }\n", "t.mlc");
    mlc_func f = mlc_program_output(p, 0);
    mlc_error_info e;
    ck_assert(!mlc_emit(mlc_program_plan(p, 0), 1, &f, "/nowhere/f", NULL, NULL, &e));
    ck_assert_str_eq(e.message, "t.mlc:5: schedule g: memoize(): code ahead of time keeps nothing from call to call, so g cannot be "
                                "memoized; drop the directive");
    mlc_ctx_free(ctx);
}
END_TEST

Suite *memo_suite(void) {
    Suite *s = suite_create("memoized Funcs");
    TCase *t = tcase_create("memoized Funcs");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_same_is_found);
    tcase_add_test(t, what_it_is_made_of_counts);
    tcase_add_test(t, buffers_of_other_strides);
    tcase_add_test(t, keys_and_limits);
    tcase_add_test(t, a_failure_keeps_nothing);
    tcase_add_loop_test(t, programs_of_all_kinds, 0, (int)(sizeof programs / sizeof *programs));
    tcase_add_test(t, threads_share_what_is_kept);
    tcase_add_test(t, without_memory);
    tcase_add_test(t, realize_finds_too);
    tcase_add_test(t, ahead_of_time_it_is_refused);
    suite_add_tcase(s, t);
    return s;
}
