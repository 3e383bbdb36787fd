/* test_graphs.c - calls that are recorded and replayed, over the libraries that stand in for NVRTC and the driver: what a replay
 * computes, what an update changes, what is refused, and that nothing is left behind. */
#include <mlc.h>
#include <mlc/text.h>

#include "fake_cuda.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *graphs_suite(void);

enum { W = 37, H = 11 };
static const FakeCuda *fake;
static mlc_ctx *ctx;
static mlc_error_info e;
static int32_t src[2][H][W], dst[2][H][W];
static mlc_buffer in[2], out[2];

static const char text[] = "mlc 1\ninput in: i32[2];\nparam k: i32 = 3;\na(x, y) = in(x, y) * k;\nb(x, y) = a(x, y) + a(x, y) * i32(y);\noutput b;\n"
                           "plan gpu { a: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 4); b: gpu_tile(x, y, xo, yo, xi, yi, 16, 2); }\n"
                           "plan cpu { b: vectorize(x, 8); }\n"
                           "plan first { a: compute_root(); b: gpu_tile(x, y, xo, yo, xi, yi, 16, 2); }\n"
                           "plan last { a: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 4); }\n";

static const char *path_of(const char *name, char *path, size_t size) {
    const char *build = getenv("MLC_BUILD");
    snprintf(path, size, "%s%s/tests/nvrtc/fake_%s.so", build && *build == '/' ? "" : "./", build ? build : "build", name);
    return path;
}

static void setup(void) {
    char path[600];
    const FakeCuda *(*get)(void);
    void *library = dlopen(path_of("cuda", path, sizeof path), RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&get = dlsym(library, "fake_cuda");
    fake = get();
    fake->reset();
    setenv("MLC_LIBCUDA", path, 1);
    setenv("MLC_NVRTC", path_of("cpp", path, sizeof path), 1);
    unsetenv("MLC_GPU_WAIT");
    ctx = mlc_ctx_new();
    for (int i = 0; i < 2 * H * W; i++) (&src[0][0][0])[i] = i * 7919 % 1013 - 500;
    memset(dst, 0x55, sizeof dst);
    for (int i = 0; i < 2; i++) {
        in[i] = *mlc_wrap(src[i][0], W, H);
        out[i] = *mlc_wrap(dst[i][0], W, H);
    }
}

static void teardown(void) {
    for (int i = 0; i < 2; i++) {
        mlc_buffer_leave_device(&in[i]);
        mlc_buffer_leave_device(&out[i]);
    }
    mlc_ctx_free(ctx);
    unsetenv("MLC_LIBCUDA");
    unsetenv("MLC_NVRTC");
}

/* NULL where there is no g++. */
static mlc_module *compiled(const char *plan) {
    if (system("command -v g++ >/dev/null 2>&1")) {
        printf("  skipped: no g++\n");
        return NULL;
    }
    mlc_ctx *own = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(own, text, "graph.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(own));
    mlc_func f = mlc_program_output(p, 0);
    mlc_module *m = mlc_compile(mlc_program_find_plan(p, plan), mlc_outs(f), &(mlc_options){ .target = "cuda" }, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    mlc_ctx_free(own);
    for (int i = 0; i < 2; i++) ck_assert(mlc_buffer_to_device(ctx, &in[i], &e) && mlc_buffer_to_device(ctx, &out[i], &e));
    return m;
}

static void check_result(int i, int k) {
    ck_assert_msg(mlc_buffer_to_host(ctx, &out[i], &e), "%s", e.message);
    for (int y = 0; y < out[i].dim[1].extent; y++)
        for (int x = 0; x < W; x++) ck_assert_int_eq(dst[i][y][x], src[i][y][x] * k * (1 + y));
}

START_TEST(a_replay_computes_with_what_is_there) {
    mlc_module *m = compiled("gpu");
    if (!m) return;
    mlc_buffer *b[] = { &in[0], &out[0] };
    mlc_graph *g = mlc_graph_new(m, 2, b, 0, NULL, &e);
    ck_assert_msg(g != NULL, "%s", e.message);
    FakeStats before = fake->stats();
    ck_assert(!(out[0].flags & MLC_BUFFER_DEVICE_DIRTY)); /* nothing has been computed */
    ck_assert_int_eq(dst[0][0][0], 0x55555555);
    for (int i = 0; i < 3; i++) {
        src[0][2][3] = i;
        in[0].flags |= MLC_BUFFER_HOST_DIRTY;
        ck_assert(mlc_buffer_to_device(ctx, &in[0], &e));
        ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
        check_result(0, 3);
    }
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.launches, before.launches);
    ck_assert_int_eq(s.replays, 3);
    ck_assert_int_eq(s.allocations, before.allocations);
    mlc_graph_free(g);
    mlc_module_free(m);
}
END_TEST

START_TEST(an_update_changes_buffers_and_params) {
    mlc_module *m = compiled("gpu");
    if (!m) return;
    mlc_buffer *b[2][2] = { { &in[0], &out[0] }, { &in[1], &out[1] } };
    mlc_graph *g = mlc_graph_new(m, 2, b[0], 0, NULL, &e);
    ck_assert_msg(g != NULL, "%s", e.message);
    FakeStats before = fake->stats();
    ck_assert_int_eq(mlc_graph_update(g, 2, b[1], 1, &(mlc_scalar){ .i = 5 }, &e), 0);
    ck_assert_int_eq(mlc_graph_run(g, (void *)16, &e), 0);
    fake->wait((void *)16);
    check_result(1, 5);
    ck_assert_int_eq(dst[0][0][0], 0x55555555);
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.instantiated, 1); /* the graph is the same */
    ck_assert_int_eq(s.allocations, before.allocations);
    out[0].dim[1].extent = in[0].dim[1].extent = 5; /* other sizes: other memory between the kernels */
    ck_assert_int_eq(mlc_graph_update(g, 2, b[0], 1, &(mlc_scalar){ .i = -2 }, &e), 0);
    ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
    check_result(0, -2);
    fake->let_fail("cuGraphExecUpdate", 0, 910); /* not the same to the driver: made anew */
    ck_assert_int_eq(mlc_graph_update(g, 2, b[0], 1, &(mlc_scalar){ .i = 7 }, &e), 0);
    ck_assert_int_eq(fake->stats().instantiated, 2);
    ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
    check_result(0, 7);
    fake->let_fail("cuLaunchKernel", 1, 1); /* what fails changes nothing */
    ck_assert(mlc_graph_update(g, 2, b[1], 1, &(mlc_scalar){ .i = 8 }, &e));
    ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
    check_result(0, 7);
    mlc_graph_free(g);
    mlc_module_free(m);
}
END_TEST

START_TEST(replays_leave_nothing) {
    mlc_module *m = compiled("gpu");
    if (!m) return;
    mlc_buffer *b[] = { &in[0], &out[0] };
    setenv("MLC_GPU_WAIT", "1", 1);
    FakeStats before = fake->stats();
    mlc_graph *g = mlc_graph_new(m, 2, b, 0, NULL, &e);
    ck_assert_msg(g != NULL, "%s", e.message);
    int64_t live = fake->stats().live;
    for (int i = 0; i < 10000; i++) {
        ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
        if (i % 100 == 0) fake->wait(NULL);
    }
    ck_assert_int_eq(fake->stats().live, live);
    mlc_module_free(m); /* the graph keeps it */
    ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
    check_result(0, 3);
    mlc_graph_free(g);
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.live, before.live);
    ck_assert_int_eq(s.streams + s.graphs, 0);
    ck_assert_int_eq(s.modules, 0);
    ck_assert_int_eq(fake->depth(), 0);
    unsetenv("MLC_GPU_WAIT");
}
END_TEST

static void refused(const char *plan, mlc_buffer *i, mlc_buffer *o, const char *message) {
    mlc_module *m = compiled(plan);
    if (!m) return;
    mlc_buffer *b[] = { i, o };
    ck_assert_ptr_null(mlc_graph_new(m, 2, b, 0, NULL, &e));
    ck_assert_str_eq(e.message, message);
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.streams + s.graphs, 0);
    ck_assert_int_eq(s.live, 4);
    mlc_module_free(m);
}

static const char *not_there(const char *name) {
    static char said[300];
    snprintf(said, sizeof said, "a graph replays kernels alone, and %s is not on the GPU, is current on the host, or is touched there; call "
             "mlc_buffer_to_device first, and keep the host out of it", name);
    return said;
}

START_TEST(what_is_no_kernel_is_refused) {
    mlc_buffer here = *mlc_wrap(src[0][0], W, H);
    refused("gpu", &here, &out[0], not_there("in"));
    refused("gpu", &in[0], mlc_wrap(dst[0][0], W, H), not_there("b"));
    refused("cpu", &in[0], &out[0], "the plan runs nothing on a GPU, so there is no CUDA; give it gpu_blocks or gpu_tile");
    refused("first", &in[0], &out[0], not_there("in"));
    refused("last", &in[0], &out[0], not_there("b"));
    in[0].flags |= MLC_BUFFER_HOST_DIRTY;
    mlc_buffer stale = in[0];
    stale.flags |= MLC_BUFFER_HOST_DIRTY;
    refused("gpu", &stale, &out[0], not_there("in"));
    ck_assert_ptr_null(mlc_graph_new(NULL, 0, NULL, 0, NULL, &e));
    ck_assert_str_eq(mlc_error_name(e.code), "NO_MODULE");
    ck_assert(mlc_graph_run(NULL, NULL, &e));
    ck_assert_str_eq(mlc_error_name(e.code), "CALL_NULL");
    mlc_graph_free(NULL);
}
END_TEST

/* A Func of the host's own between two kernels. */
START_TEST(the_host_between_kernels_is_refused) {
    mlc_module *m = compiled("gpu");
    if (!m) return;
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\ninput in: i32[2];\na(x, y) = in(x, y) * 2;\nh(x, y) = a(x, y) + 1;\nb(x, y) = h(x, y) * 3;\noutput b;\n"
                                       "plan p { a: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 4); h: compute_root();"
                                       " b: gpu_tile(x, y, xo, yo, xi, yi, 16, 2); }\n", "h.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    mlc_func f = mlc_program_output(p, 0);
    mlc_module *between = mlc_compile(mlc_program_find_plan(p, "p"), mlc_outs(f), &(mlc_options){ .target = "cuda" }, &e);
    ck_assert_msg(between != NULL, "%s", e.message);
    mlc_buffer *b[] = { &in[0], &out[0] };
    ck_assert_ptr_null(mlc_graph_new(between, 2, b, 0, NULL, &e));
    ck_assert_str_eq(e.message, "the host computes or copies something between the kernels of a_kernel, which a graph does not replay; put all on the GPU, "
                     "or call the module");
    mlc_module_free(between);
    mlc_graph *g = mlc_graph_new(m, 2, b, 0, NULL, &e);
    ck_assert_msg(g != NULL, "%s", e.message);
    in[0].flags |= MLC_BUFFER_HOST_DIRTY; /* what the host changed must go there first */
    ck_assert(mlc_graph_run(g, NULL, &e));
    ck_assert_str_eq(e.message, not_there("in"));
    in[0].flags &= ~(uint32_t)MLC_BUFFER_HOST_DIRTY;
    uint64_t device = in[0].device;
    in[0].device += 64;
    ck_assert(mlc_graph_run(g, NULL, &e));
    ck_assert_str_eq(e.message, "the memory of in on the GPU is not what the graph was made with; call mlc_graph_update");
    in[0].device = device;
    ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
    fake->wait(NULL);
    mlc_graph_free(g);
    mlc_module_free(m);
}
END_TEST

static const struct {
    const char *function;
    const char *name;
} failures[] = { { "cuStreamCreate", "CUDA_FAILED" }, { "cuStreamBeginCapture", "GRAPH" }, { "cuLaunchKernel", "GPU_LAUNCH" },
                 { "cuGraphInstantiateWithFlags", "GRAPH" }, { "cuMemAllocFromPoolAsync", "GPU_MEMORY" } };

START_TEST(failures_are_said) {
    mlc_module *m = compiled("gpu");
    if (!m) return;
    mlc_buffer *b[] = { &in[0], &out[0] };
    fake->let_fail(failures[_i].function, 0, 700);
    ck_assert_ptr_null(mlc_graph_new(m, 2, b, 0, NULL, &e));
    ck_assert_str_eq(mlc_error_name(e.code), failures[_i].name);
    if (!strcmp(failures[_i].name, "GRAPH"))
        ck_assert_str_eq(e.message, "a graph cannot be recorded with the kernels of a_kernel: the driver says CUDA_ERROR_ILLEGAL_ADDRESS; call the module instead");
    FakeStats s = fake->stats();
    ck_assert_int_eq(s.streams + s.graphs, 0);
    ck_assert_int_eq(s.live, 4);
    mlc_graph *g = mlc_graph_new(m, 2, b, 0, NULL, &e);
    ck_assert_msg(g != NULL, "%s", e.message);
    fake->let_fail("cuGraphLaunch", 0, 700);
    ck_assert(mlc_graph_run(g, NULL, &e));
    ck_assert_str_eq(e.message, "a graph cannot be replayed with the kernels of a_kernel: the driver says CUDA_ERROR_ILLEGAL_ADDRESS; call the module instead");
    ck_assert_int_eq(mlc_graph_run(g, NULL, &e), 0);
    check_result(0, 3);
    mlc_graph_free(g);
    mlc_module_free(m);
}
END_TEST

Suite *graphs_suite(void) {
    Suite *s = suite_create("graphs");
    TCase *t = tcase_create("graphs");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_replay_computes_with_what_is_there);
    tcase_add_test(t, an_update_changes_buffers_and_params);
    tcase_add_test(t, replays_leave_nothing);
    tcase_add_test(t, what_is_no_kernel_is_refused);
    tcase_add_test(t, the_host_between_kernels_is_refused);
    tcase_add_loop_test(t, failures_are_said, 0, (int)(sizeof failures / sizeof *failures));
    suite_add_tcase(s, t);
    return s;
}
