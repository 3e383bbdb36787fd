/* test_gpu_calls.c - modules with kernels, called by the public road over the libraries that stand in for NVRTC and the driver:
 * what is copied, what stays, what is given back, and what each failure of the driver becomes. */
#include <mlc.h>
#include <mlc/text.h>

#include "fake_cuda.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *gpu_calls_suite(void);

static const FakeCuda *fake;

static const char *path_of(const char *name) {
    static char path[2][600];
    const char *build = getenv("MLC_BUILD");
    char *p = path[!strcmp(name, "cpp")];
    snprintf(p, sizeof path[0], "%s%s/tests/nvrtc/fake_%s.so", build && *build == '/' ? "" : "./", build ? build : "build", name);
    return p;
}

static void setup(void) {
    const FakeCuda *(*get)(void);
    void *library = dlopen(path_of("cuda"), RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&get = dlsym(library, "fake_cuda");
    fake = get();
    fake->reset();
    setenv("MLC_LIBCUDA", path_of("cuda"), 1);
    setenv("MLC_NVRTC", path_of("cpp"), 1);
    unsetenv("MLC_GPU_WAIT");
}

static void teardown(void) {
    unsetenv("MLC_LIBCUDA");
    unsetenv("MLC_NVRTC");
}

/* ---- a program of two kernels, with memory of the device's own between them ---- */

enum { W = 37, H = 11 };
static const char text[] = "mlc 1\n"
                           "input in: i32[2];\n"
                           "a(x, y) = in(x, y) * 3 + y;\n"
                           "b(x, y) = a(x, y) + a(x + 1, y);\n"
                           "output b;\n"
                           "plan p {\n"
                           "    a: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 4);\n"
                           "    b: gpu_tile(x, y, xo, yo, xi, yi, 16, 2);\n"
                           "}\n";

typedef struct {
    mlc_ctx *ctx;
    mlc_program *program;
    mlc_module *module;
    mlc_error_info error;
    int32_t src[H][W + 1], dst[H][W];
} Job;

static void fill(Job *j) {
    for (int i = 0; i < H * (W + 1); i++) j->src[i / (W + 1)][i % (W + 1)] = i * 7919 % 1013 - 500;
    memset(j->dst, 0x55, sizeof j->dst);
}

/* Without a module where there is no g++, or where it cannot be compiled: then `error` says why. */
static Job *make(const char *source) {
    Job *j = calloc(1, sizeof *j);
    j->ctx = mlc_ctx_new();
    j->program = mlc_program_parse(j->ctx, source, "job.mlc");
    ck_assert_msg(j->program != NULL, "%s", mlc_error(j->ctx));
    mlc_func out = mlc_program_output(j->program, 0);
    fill(j);
    if (system("command -v g++ >/dev/null 2>&1")) printf("  skipped: no g++\n");
    else j->module = mlc_compile(mlc_program_find_plan(j->program, "p"), mlc_outs(out), &(mlc_options){ .target = "cuda" }, &j->error);
    return j;
}

static Job *compiled(void) {
    Job *j = make(text);
    ck_assert_msg(j->module || !j->error.code, "%s", j->error.message);
    return j;
}

static void end(Job *j) {
    mlc_module_free(j->module);
    mlc_ctx_free(j->ctx);
    free(j);
}

static int run(Job *j) {
    mlc_buffer *b[] = { mlc_wrap(j->src[0], W + 1, H), mlc_wrap(j->dst[0], W, H) };
    return mlc_run(j->module, 2, b, 0, NULL, &j->error);
}

static int wrong(const Job *j) {
    int n = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) n += j->dst[y][x] != (j->src[y][x] + j->src[y][x + 1]) * 3 + 2 * y;
    return n;
}

#define SKIPPED(j) \
    if (!(j)->module) { \
        end(j); \
        return; \
    }

START_TEST(each_copy_is_made_once) {
    Job *j = compiled();
    SKIPPED(j);
    ck_assert_int_eq(fake->stats().launches, 0);
    ck_assert_msg(!run(j), "%s", j->error.message);
    ck_assert_int_eq(wrong(j), 0);
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.launches, 2);
    ck_assert_int_eq(s.copies_there, 1); /* in; b is written whole */
    ck_assert_int_eq(s.bytes_there, sizeof j->src);
    ck_assert_int_eq(s.copies_home, 1);
    ck_assert_int_eq(s.bytes_home, sizeof j->dst);
    ck_assert_int_eq(s.live, 0);
    end(j);
}
END_TEST

START_TEST(nothing_is_taken_again) {
    Job *j = compiled();
    SKIPPED(j);
    ck_assert_int_eq(run(j), 0);
    FakeStats first = fake->stats();
    ck_assert_int_eq(first.from_system, 3);
    for (int i = 0; i < 10; i++) {
        fill(j);
        j->src[3][7] = i;
        ck_assert_int_eq(run(j), 0);
        ck_assert_int_eq(wrong(j), 0);
    }
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.from_system, first.from_system);
    ck_assert_int_eq(s.kept_bytes, first.kept_bytes);
    ck_assert_int_eq(s.live, 0);
    ck_assert_int_eq(s.waits, 11 * first.waits); /* one a call, for its result */
    ck_assert_int_eq(first.waits, 1);
    end(j);
}
END_TEST

START_TEST(everything_is_given_back) {
    Job *j = compiled();
    SKIPPED(j);
    ck_assert_int_eq(run(j), 0);
    ck_assert_int_eq(fake->stats().modules, 1);
    ck_assert_int_eq(fake->stats().primary, 1);
    mlc_ctx_free(j->ctx); /* the module lives on */
    j->ctx = NULL;
    fill(j);
    ck_assert_int_eq(run(j), 0);
    ck_assert_int_eq(wrong(j), 0);
    end(j);
    ck_assert_int_eq(fake->stats().modules, 0);
    ck_assert_int_eq(fake->stats().pools, 0);
    ck_assert_int_eq(fake->stats().primary, 0);
    ck_assert_int_eq(fake->depth(), 0);
}
END_TEST

START_TEST(the_programs_context_is_used) {
    fake->devices(2);
    void *own = fake->context(0);
    fake->set_current(own);
    Job *j = compiled();
    SKIPPED(j);
    ck_assert_int_eq(run(j), 0);
    ck_assert_int_eq(wrong(j), 0);
    ck_assert_int_eq(fake->stats().primary, 0);
    end(j);
    ck_assert_ptr_eq(fake->current(), own);
}
END_TEST

/* ---- buffers with a copy on the device ---- */

START_TEST(buffers_stay_on_the_device) {
    Job *j = compiled();
    SKIPPED(j);
    mlc_buffer in = *mlc_wrap(j->src[0], W + 1, H), out = *mlc_wrap(j->dst[0], W, H), *b[] = { &in, &out };
    ck_assert_msg(mlc_buffer_to_device(j->ctx, &in, &j->error), "%s", j->error.message);
    ck_assert_msg(mlc_buffer_to_device(j->ctx, &out, &j->error), "%s", j->error.message);
    FakeStats before = fake->stats();
    for (int i = 0; i < 3; i++) ck_assert_int_eq(mlc_run(j->module, 2, b, 0, NULL, &j->error), 0);
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.copies_there, before.copies_there);
    ck_assert_int_eq(s.copies_home, 0);
    ck_assert_int_eq(s.waits, before.waits); /* asked for, not waited for */
    ck_assert_int_eq(fake->queued(NULL) >= 6, 1);
    ck_assert_uint_eq(out.flags & (MLC_BUFFER_DEVICE_DIRTY | MLC_BUFFER_HOST_DIRTY), MLC_BUFFER_DEVICE_DIRTY);
    ck_assert_msg(mlc_buffer_to_host(j->ctx, &out, &j->error), "%s", j->error.message);
    ck_assert_uint_eq(out.flags & (MLC_BUFFER_DEVICE_DIRTY | MLC_BUFFER_HOST_DIRTY), 0);
    ck_assert_int_eq(wrong(j), 0);
    j->src[5][20] = 12345; /* a change on the host is seen once it is said */
    in.flags |= MLC_BUFFER_HOST_DIRTY;
    ck_assert_int_eq(mlc_run(j->module, 2, b, 0, NULL, &j->error), 0);
    ck_assert(mlc_buffer_to_host(j->ctx, &out, &j->error));
    ck_assert_int_eq(wrong(j), 0);
    mlc_buffer_leave_device(&in);
    mlc_buffer_leave_device(&out);
    ck_assert_int_eq(fake->stats().live, 0);
    end(j);
}
END_TEST

/* Two calls in two streams: each is done when its own stream is waited for, and takes no memory that the other may be at. */
START_TEST(streams_are_apart) {
    void *const stream[2] = { (void *)16, (void *)32 };
    int32_t *home[2] = { calloc(H * W, 4), calloc(H * W, 4) };
    Job *j = compiled();
    SKIPPED(j);
    mlc_buffer in = *mlc_wrap(j->src[0], W + 1, H), out[2] = { *mlc_wrap(home[0], W, H), *mlc_wrap(home[1], W, H) };
    for (int i = 0; i < 2; i++) ck_assert(mlc_buffer_to_device(j->ctx, &out[i], &j->error));
    for (int i = 0; i < 2; i++) {
        mlc_buffer *b[] = { &in, &out[i] };
        ck_assert_msg(!mlc_run_on(j->module, stream[i], 2, b, 0, NULL, &j->error), "%s", j->error.message);
        j->src[1][1]++; /* the second call has other values */
    }
    ck_assert_int_eq(fake->stats().from_system, 2 + 2 * 2); /* outputs; in and a, twice */
    ck_assert_int_eq(fake->queued(NULL), 0);
    for (int i = 1; i >= 0; i--) {
        ck_assert_int_gt(fake->queued(stream[i]), 2);
        fake->wait(stream[i]);
        ck_assert_int_eq(fake->queued(stream[!i]) > 2, i);
        ck_assert(mlc_buffer_to_host(j->ctx, &out[i], &j->error));
        j->src[1][1]--;
        memcpy(j->dst, home[i], sizeof j->dst);
        ck_assert_int_eq(wrong(j), 0);
    }
    for (int i = 0; i < 2; i++) {
        mlc_buffer_leave_device(&out[i]);
        free(home[i]);
    }
    ck_assert_int_eq(fake->stats().live, 0);
    end(j);
}
END_TEST

/* A buffer that a call before it in the stream writes comes home for a stage of the host. */
START_TEST(a_stream_orders_the_host_too) {
    void *stream = (void *)16;
    Job *j = compiled();
    SKIPPED(j);
    Job *k = make("mlc 1\ninput in: i32[2];\nh(x, y) = in(x, y) + 1;\nf(x, y) = h(x, y) * 2;\noutput f;\n"
                  "plan p { h: compute_root(); f: gpu_tile(x, y, xo, yo, xi, yi, 8, 4); }\n");
    ck_assert_msg(k->module != NULL, "%s", k->error.message);
    mlc_buffer middle = *mlc_wrap(j->dst[0], W, H), *first[] = { mlc_wrap(j->src[0], W + 1, H), &middle };
    mlc_buffer *second[] = { &middle, mlc_wrap(&k->dst[0][0], W, H) };
    ck_assert(mlc_buffer_to_device(j->ctx, &middle, &j->error));
    ck_assert_msg(!mlc_run_on(j->module, stream, 2, first, 0, NULL, &j->error), "%s", j->error.message);
    ck_assert_msg(!mlc_run_on(k->module, stream, 2, second, 0, NULL, &k->error), "%s", k->error.message);
    ck_assert_int_eq(wrong(j), 0);
    for (int i = 0; i < W * H; i++) ck_assert_int_eq(k->dst[i / W][i % W], (j->dst[i / W][i % W] + 1) * 2);
    mlc_buffer_leave_device(&middle);
    end(k);
    end(j);
}
END_TEST

/* What a call was given may change once it has returned, though its work has not begun. */
START_TEST(inputs_may_change_after_a_call) {
    Job *j = compiled();
    SKIPPED(j);
    mlc_buffer out = *mlc_wrap(j->dst[0], W, H), *b[] = { mlc_wrap(j->src[0], W + 1, H), &out };
    if (_i) fake->pin(j->src, sizeof j->src); /* read late, where nobody waits */
    ck_assert(mlc_buffer_to_device(j->ctx, &out, &j->error));
    ck_assert_int_eq(mlc_run(j->module, 2, b, 0, NULL, &j->error), 0);
    ck_assert_int_gt(fake->queued(NULL), 0);
    memset(j->src, 0, sizeof j->src);
    ck_assert(mlc_buffer_to_host(j->ctx, &out, &j->error));
    for (int i = 0; i < H * (W + 1); i++) j->src[i / (W + 1)][i % (W + 1)] = i * 7919 % 1013 - 500;
    ck_assert_int_eq(wrong(j), 0);
    mlc_buffer_leave_device(&out);
    end(j);
}
END_TEST

/* ---- failures ---- */

static const struct {
    const char *function;
    int nth, error;
    const char *name, *message;
} failures[] = {
    { "cuLaunchKernel", 1, 1, "GPU_LAUNCH", "kernel b_kernel cannot be launched: the driver says CUDA_ERROR_INVALID_VALUE; give its blocks fewer "
                                            "threads or less shared memory" },
    { "cuMemAllocFromPoolAsync", 0, 700, "GPU_MEMORY", "there is no room for 1672 bytes on the GPU: the driver says CUDA_ERROR_ILLEGAL_ADDRESS; "
                                                       "free device memory, or compute less at a time" },
    { "cuMemcpyHtoDAsync", 0, 700, "GPU_COPY", "1672 bytes cannot be copied to the GPU: the driver says CUDA_ERROR_ILLEGAL_ADDRESS; the kernel "
                                               "launched last is none of this call" },
    { "cuStreamSynchronize", 0, 700, "GPU_COPY", "1628 bytes cannot be copied from the GPU: the driver says CUDA_ERROR_ILLEGAL_ADDRESS; the "
                                                 "kernel launched last is b_kernel" },
};

START_TEST(failures_are_said) {
    Job *j = compiled();
    SKIPPED(j);
    ck_assert_int_eq(run(j), 0);
    fake->let_fail(failures[_i].function, failures[_i].nth, failures[_i].error);
    int code = run(j);
    ck_assert_str_eq(mlc_error_name(code), failures[_i].name);
    ck_assert_str_eq(j->error.message, failures[_i].message);
    ck_assert_int_eq(fake->stats().live, 0);
    fill(j);
    ck_assert_int_eq(run(j), 0); /* the next call knows nothing of it */
    ck_assert_int_eq(wrong(j), 0);
    end(j);
}
END_TEST

START_TEST(memory_of_the_device_may_be_out) {
    Job *j = compiled();
    SKIPPED(j);
    fake->memory(4000); /* two of the three blocks */
    ck_assert_str_eq(mlc_error_name(run(j)), "GPU_MEMORY");
    ck_assert_ptr_nonnull(strstr(j->error.message, "on the GPU: the driver says CUDA_ERROR_OUT_OF_MEMORY; free device memory, or compute"));
    ck_assert_int_eq(fake->stats().live, 0);
    fake->memory(10000);
    ck_assert_int_eq(run(j), 0);
    ck_assert_int_eq(wrong(j), 0);
    end(j);
}
END_TEST

/* Every call of the driver in a run fails in turn: an error or the right values, and nothing stays. */
START_TEST(a_run_may_fail_anywhere) {
    int told = 0, n = 0;
    Job *j = compiled();
    SKIPPED(j);
    ck_assert_int_eq(run(j), 0);
    int64_t calls = fake->stats().calls;
    ck_assert_int_eq(run(j), 0);
    calls = fake->stats().calls - calls;
    for (; n < calls; n++) {
        fill(j);
        fake->let_fail(NULL, n, 700);
        int code = run(j);
        fake->let_fail(NULL, 0, 0);
        ck_assert_int_eq(fake->depth(), 0);
        told += code != 0;
        if (!code) ck_assert_int_eq(wrong(j), 0);
        else ck_assert(!strncmp(mlc_error_name(code), "GPU_", 4));
    }
    ck_assert_int_ge(told, 14);
    /* Unheard: giving memory back, whether memory is page-locked, and the context of the whole call, which each step asks for. */
    ck_assert_int_ge(told, n - 9);
    end(j);
}
END_TEST

START_TEST(blocks_have_a_limit) {
    Job *j = make("mlc 1\ninput in: u8[2];\nf(x, y) = in(x, y) + 1;\noutput f;\nplan p { f: gpu_tile(x, y, xo, yo, xi, yi, 8, 4); }\n");
    SKIPPED(j);
    enum { TALL = 65535 * 4 };
    uint8_t *in = calloc(TALL + 1, 1), *out = calloc(TALL + 1, 1);
    mlc_buffer *b[] = { mlc_wrap(in, 1, TALL), mlc_wrap(out, 1, TALL) };
    ck_assert_msg(!mlc_run(j->module, 2, b, 0, NULL, &j->error), "%s", j->error.message);
    ck_assert_int_eq(out[TALL - 1], 1);
    mlc_buffer *more[] = { mlc_wrap(in, 1, TALL + 1), mlc_wrap(out, 1, TALL + 1) };
    ck_assert_str_eq(mlc_error_name(mlc_run(j->module, 2, more, 0, NULL, &j->error)), "GPU_GRID");
    ck_assert_str_eq(j->error.message, "kernel f_kernel needs 65536 blocks in dimension 1, and this GPU runs at most 65535; put larger extents in "
                     "dimension 0, or make the blocks larger");
    ck_assert_int_eq(fake->stats().live, 0);
    free(in);
    free(out);
    end(j);
}
END_TEST

START_TEST(what_is_missing_is_said) {
    setenv("MLC_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    Job *j = make(text);
    if (j->error.code) {
        ck_assert_str_eq(mlc_error_name(j->error.code), "CUDA_MISSING");
        ck_assert_str_eq(j->error.message, "there is no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or "
                         "directory; install NVIDIA's driver for the GPU, or set MLC_LIBCUDA to the path of its libcuda.so.1");
    }
    end(j);
    setup();
    fake->devices(0);
    j = make(text);
    if (j->error.code) ck_assert_str_eq(mlc_error_name(j->error.code), "CUDA_NO_DEVICE");
    end(j);
}
END_TEST

START_TEST(a_child_of_fork_has_no_gpu) {
    int status = 0;
    Job *j = compiled();
    SKIPPED(j);
    ck_assert_int_eq(run(j), 0);
    int64_t calls = fake->stats().calls;
    pid_t child = fork();
    if (!child) {
        bool told = !strcmp(mlc_error_name(run(j)), "CUDA_FORKED") &&
                    !strcmp(j->error.message, "the GPU was opened before this process was forked, and a child cannot use it; make the first "
                            "call for a GPU after the fork");
        end(j);
        _exit(told && fake->stats().calls == calls ? 7 : 8);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    fill(j);
    ck_assert_int_eq(run(j), 0);
    ck_assert_int_eq(wrong(j), 0);
    end(j);
}
END_TEST

/* ---- threads ---- */

static void *call_often(void *arg) {
    const Job *shared = arg;
    Job *j = calloc(1, sizeof *j);
    int64_t bad = 0;
    j->module = shared->module;
    for (int i = 0; i < 20; i++) {
        fill(j);
        j->src[2][2] = i;
        bad += run(j) != 0 || wrong(j);
    }
    free(j);
    return (void *)(intptr_t)bad;
}

START_TEST(threads_share_a_module) {
    pthread_t id[4];
    void *bad;
    Job *j = compiled();
    SKIPPED(j);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&id[i], NULL, call_often, j), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(id[i], &bad);
        ck_assert_ptr_null(bad);
    }
    ck_assert_int_eq(fake->stats().live, 0);
    ck_assert_int_eq(fake->stats().launches, 4 * 20 * 2);
    end(j);
}
END_TEST

Suite *gpu_calls_suite(void) {
    Suite *s = suite_create("gpu_calls");
    TCase *t = tcase_create("gpu_calls");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, each_copy_is_made_once);
    tcase_add_test(t, nothing_is_taken_again);
    tcase_add_test(t, everything_is_given_back);
    tcase_add_test(t, the_programs_context_is_used);
    tcase_add_test(t, buffers_stay_on_the_device);
    tcase_add_test(t, streams_are_apart);
    tcase_add_test(t, a_stream_orders_the_host_too);
    tcase_add_loop_test(t, inputs_may_change_after_a_call, 0, 2);
    tcase_add_loop_test(t, failures_are_said, 0, (int)(sizeof failures / sizeof *failures));
    tcase_add_test(t, memory_of_the_device_may_be_out);
    tcase_add_test(t, a_run_may_fail_anywhere);
    tcase_add_test(t, blocks_have_a_limit);
    tcase_add_test(t, what_is_missing_is_said);
    tcase_add_test(t, a_child_of_fork_has_no_gpu);
    tcase_add_test(t, threads_share_a_module);
    suite_add_tcase(s, t);
    return s;
}
