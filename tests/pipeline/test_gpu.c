/* test_gpu.c - the target cuda: what it is called, what it refuses, what the cache keeps of it, and buffers that lie on a device.
 *
 * What runs here runs on what stands in for NVRTC and the driver (tests/nvrtc). */
#include <mlc.h>
#include <mlc/text.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *gpu_suite(void);

enum { W = 37, H = 11 };
static const char text[] = "mlc 1\n"
                           "input in: i32[2];\n"
                           "f(x, y) = in(x, y) * 3 + i32(x);\n"
                           "output f;\n"
                           "plan gpu { f: gpu_tile(x, y, xo, yo, xi, yi, 16, 4); }\n"
                           "plan cpu { f: vectorize(x, 8); }\n";

static int32_t src[H][W], dst[H][W];

static const char *built(const char *name) {
    static char path[2][600];
    static int turn;
    const char *build = getenv("MLC_BUILD");
    char *p = path[turn++ % 2];
    snprintf(p, sizeof path[0], "%s%s/tests/nvrtc/%s", build && *build == '/' ? "" : "./", build ? build : "build", name);
    return p;
}

static void setup(void) {
    setenv("MLC_NVRTC", built("fake_cpp.so"), 1);
    setenv("MLC_LIBCUDA", built("fake_cuda.so"), 1);
    unsetenv("MLC_CUDA_ARCH");
    for (int i = 0; i < W * H; i++) src[i / W][i % W] = i * 7919 % 1013 - 500;
    memset(dst, 0x55, sizeof dst);
}

static void teardown(void) {
    unsetenv("MLC_NVRTC");
    unsetenv("MLC_LIBCUDA");
}

static bool has_cpp(const char *what) {
    bool has = !system("command -v g++ >/dev/null 2>&1");
    if (!has) printf("  skipped: %s: there is no g++\n", what);
    return has;
}

/* A module, or NULL and why. */
static mlc_module *compile_with(const char *program, const char *plan, const mlc_options *o, mlc_error_info *e) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, program, "t.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    mlc_func out = mlc_program_output(p, 0);
    mlc_module *m = mlc_compile(mlc_program_find_plan(p, plan), mlc_outs(out), o, e);
    mlc_ctx_free(ctx);
    return m;
}

static mlc_module *compile(const char *plan, const char *target) {
    mlc_error_info e;
    mlc_module *m = compile_with(text, plan, &(mlc_options){ .target = target }, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    return m;
}

static void refused(const char *program, const char *plan, const mlc_options *o, const char *message) {
    mlc_error_info e = { 0 };
    ck_assert_ptr_null(compile_with(program, plan, o, &e));
    e.message[strcspn(e.message, "\n")] = 0; /* what follows shows the line */
    ck_assert_str_eq(e.message, message);
}

static void check_result(void) {
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) ck_assert_int_eq(dst[y][x], src[y][x] * 3 + x);
}

/* ---- what is refused ---- */

START_TEST(what_is_refused) {
    static const char sum[] = "mlc 1\ninput in: i32[1];\nf(x) = in(x);\noutput f;\nplan gpu { f: gpu_blocks(x); }\n";
    refused(text, "gpu", &(mlc_options){ .target = "cuda-90" },
            "'90' is no architecture of GPUs; write for example cuda-sm_90a, or MLC_CUDA_ARCH=sm_90a");
    refused(text, "gpu", &(mlc_options){ .target = "cuda-sm_90aa" },
            "'sm_90aa' is no architecture of GPUs; write for example cuda-sm_90a, or MLC_CUDA_ARCH=sm_90a");
    setenv("MLC_CUDA_ARCH", "hopper", 1);
    refused(text, "gpu", &(mlc_options){ .target = "cuda" },
            "'hopper' is no architecture of GPUs; write for example cuda-sm_90a, or MLC_CUDA_ARCH=sm_90a");
    unsetenv("MLC_CUDA_ARCH");
    refused(text, "gpu", &(mlc_options){ .target = "cudasm_90a" },
            "there is no target 'cudasm_90a'; use host, cuda, avx512, avx2, sse4, plain or interpret");
    refused(sum, "gpu", &(mlc_options){ .target = "plain" },
            "t.mlc:5: schedule f: gpu_blocks(x): the plan runs f on a GPU, and the target plain has none; choose the target cuda, "
            "or a plan without GPU loops");
    refused(sum, "gpu", &(mlc_options){ .target = "cuda", .profile = true },
            "t.mlc:5: schedule f: gpu_blocks(x): the plan runs f on a GPU, where there is nothing yet that makes a profile; take a "
            "plan without GPU loops for it");
    refused(sum, "gpu", &(mlc_options){ .target = "cuda", .trace = true },
            "t.mlc:5: schedule f: gpu_blocks(x): the plan runs f on a GPU, where there is nothing yet that makes a trace; take a "
            "plan without GPU loops for it");
}
END_TEST

START_TEST(levels) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, text, "t.mlc");
    mlc_func out = mlc_program_output(p, 0);
    mlc_error_info e;
    static char cuda[1 << 15];
    FILE *f = fmemopen(cuda, sizeof cuda, "w");
    setenv("MLC_NVRTC", "/none", 1); /* nothing is asked for */
    setenv("MLC_LIBCUDA", "/none", 1);
    ck_assert_msg(mlc_explain(mlc_program_find_plan(p, "gpu"), mlc_outs(out), "cuda", NULL, f, &e), "%s", e.message);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(cuda, "\nf_kernel("));
    ck_assert(!mlc_explain(mlc_program_find_plan(p, "cpu"), mlc_outs(out), "cuda", NULL, stdout, &e));
    ck_assert_str_eq(e.message, "the plan runs nothing on a GPU, so there is no CUDA; give it gpu_blocks or gpu_tile");
    mlc_ctx_free(ctx);
}
END_TEST

static int times(const char *in, const char *what) {
    int n = 0;
    for (const char *at = in; (at = strstr(at, what)); at++) n++;
    return n;
}

/* Sums in variables, a barrier and a wait a step, copies of 16 bytes from pointers that walk with the loop. */
START_TEST(tiles_copied_ahead) {
    static const char product[] =
        "mlc 1\ninput a: f32[2];\ninput b: f32[2];\nrdom k(0, 64);\nas(u, y) = a(u, y);\nc(x, y) = f32(0.0);\n"
        "c(x, y) += as(k, y) * b(x, k);\nf(x, y) = c(x, y);\noutput f;\n"
        "plan p { f: bound(x, 0, 64), bound(y, 0, 64), tile(x, y, xo, yo, xi, yi, 16, 8), split(xi, tx, ux, 2), reorder(ux, tx, yi, xo, yo),"
        " gpu_blocks(xo, yo), gpu_threads(tx, yi), unroll(ux);"
        " c: compute_at(f, xo), store_in(register), split(x, tx, ux, 2), reorder(ux, tx, y), gpu_threads(tx, y), unroll(ux);"
        " c.u0: split(k, ko, ki, 16), split(x, tx, ux, 2), reorder(ux, ki, tx, y, ko), gpu_threads(tx, y), unroll(ux);"
        " as: store_at(f, xo), compute_at(c.u0, ko), split(u, ut, uv, 4), gpu_threads(ut, y), vectorize(uv), ring_buffer(4), async(),"
        " copy_by(cp_async); }\n";
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, product, "t.mlc");
    mlc_func out = mlc_program_output(p, 0);
    mlc_error_info e;
    static char cuda[1 << 15];
    FILE *f = fmemopen(cuda, sizeof cuda, "w");
    ck_assert_msg(mlc_explain(mlc_program_find_plan(p, "p"), mlc_outs(out), "cuda", NULL, f, &e), "%s", e.message);
    fclose(f);
    ck_assert_int_eq(times(cuda, "f32 v_c_"), 2);
    ck_assert_int_eq(times(cuda, "__syncthreads();"), 1);
    ck_assert_int_eq(times(cuda, "copies_wait<2>();"), 1);
    ck_assert_int_eq(times(cuda, "    copy_async_16(as + ("), 2); /* the first steps, and those ahead */
    ck_assert_int_eq(times(cuda, "_next"), 6);                   /* begins, is copied from and goes on in both */
    ck_assert_int_eq(times(cuda, " += 16;"), 2);
    mlc_ctx_free(ctx);
}
END_TEST

/* What mlc_explain prints of plan gpu, or its message. */
static const char *explained(const char *level, const char *target) {
    static char out[1 << 15];
    static mlc_error_info e;
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, text, "t.mlc");
    mlc_func f = mlc_program_output(p, 0);
    FILE *to = fmemopen(out, sizeof out, "w");
    bool good = mlc_explain(mlc_program_find_plan(p, "gpu"), mlc_outs(f), level, &(mlc_options){ .target = target }, to, &e);
    fclose(to);
    mlc_ctx_free(ctx);
    return good ? out : e.message;
}

static void begins(const char *said, const char *with) {
    ck_assert_msg(!strncmp(said, with, strlen(with)), "%.300s", said);
}

/* A library that answers with its options shows what is asked of NVRTC; nothing of this takes a device. */
START_TEST(levels_of_nvrtc) {
    setenv("MLC_LIBCUDA", "/none", 1);
    setenv("MLC_NVRTC", built("fake_nvrtc.so"), 1);
    begins(explained("ptx", NULL), "// for sm_90a, by NVRTC 12.34\nPTX --gpu-architecture=sm_90a ");
    begins(explained("ptx", "cuda-sm_80"), "// for sm_80, by NVRTC 12.34\nPTX --gpu-architecture=sm_80 ");
    begins(explained("ptx", "cuda-sm_103a"), "// for compute_100, by NVRTC 12.34\nPTX --gpu-architecture=compute_100 ");
    ck_assert_str_eq(explained("sass", "cuda-sm_103a"), "the architecture is newer than NVRTC: there is PTX for compute_100, which the driver "
                     "compiles, and no SASS; take a newer NVRTC, or --level ptx");
    begins(explained("ptx", "avx2"), "t.mlc:5: schedule f: gpu_tile(x, y, xo, yo, xi, yi, 16, 4): the plan runs f on a GPU, and the target avx2 has none");
    setenv("MLC_NVDISASM", "/bin/echo", 1);
    begins(explained("sass", NULL), "// for sm_90a, by NVRTC 12.34\n-c ");
    unsetenv("MLC_NVDISASM");
    setenv("MLC_NVRTC", "/none", 1);
    begins(explained("ptx", NULL), "NVRTC, which compiles for GPUs, was not found: MLC_NVRTC is /none: ");
}
END_TEST

/* What ptxas says of kernels comes with the module, also out of the cache. */
START_TEST(modules_know_their_kernels) {
    mlc_kernel_info k;
    unsetenv("MLC_NVRTC");
    setenv("MLC_LIBCUDA", "/none", 1);
    if (!mlc_gpu_compiler(NULL, 0, NULL)) {
        printf("  skipped: modules_know_their_kernels: there is no NVRTC\n");
        return;
    }
    static const char kept[] = "mlc 1\ninput in: f32[2];\ng(x, y) = in(x, y) * 2;\nf(x, y) = g(x, y) + g(x + 1, y);\noutput f;\n"
                               "plan p { f: gpu_tile(x, y, xo, yo, xi, yi, 32, 4); g: compute_at(f, xi), unroll(x), store_in(register); }\n";
    for (int i = 0; i < 2; i++) {
        mlc_error_info e;
        mlc_module *m = compile_with(i ? kept : text, i ? "p" : "gpu", &(mlc_options){ .target = "cuda-sm_90a" }, &e);
        ck_assert_msg(m != NULL, "%s", e.message);
        ck_assert_int_eq(mlc_module_kernels(m), 1);
        ck_assert(mlc_module_kernel(m, 0, &k) && !mlc_module_kernel(m, 1, &k));
        ck_assert_str_eq(k.name, "f_kernel");
        ck_assert_int_gt(k.registers, 0);
        ck_assert_int_eq(k.spilled + k.local, 0);
        ck_assert(k.keeps == (i == 1));
        ck_assert_ptr_null(mlc_module_kernel_warning(m, 0));
        mlc_module_free(m);
    }
    ck_assert(!mlc_module_kernel(NULL, 0, &k) && !mlc_module_kernels(NULL));
}
END_TEST

/* ---- what is missing ---- */

/* A plan without kernels needs neither library; one with kernels says what it lacks, both where both are missing. */
START_TEST(what_is_missing_is_said) {
    static const char both[] = "two things are missing. there is no CUDA driver: /none: cannot open shared object file: No such file or directory; "
                               "install NVIDIA's driver for the GPU, or set MLC_LIBCUDA to the path of its libcuda.so.1. NVRTC, which compiles "
                               "for GPUs, was not found: MLC_NVRTC is /none: /none: cannot open shared object file: No such file or directory; "
                               "install the CUDA toolkit or Python's nvidia-cuda-nvrtc, or set MLC_NVRTC to the path of libnvrtc.so.13";
    mlc_error_info e;
    setenv("MLC_NVRTC", "/none", 1);
    setenv("MLC_LIBCUDA", "/none", 1);
    mlc_module *m = compile("cpu", "cuda");
    mlc_buffer *b[] = { mlc_wrap(src[0], W, H), mlc_wrap(dst[0], W, H) };
    ck_assert_msg(!mlc_run(m, 2, b, 0, NULL, &e), "%s", e.message);
    check_result();
    mlc_module_free(m);
    refused(text, "gpu", &(mlc_options){ .target = "cuda" }, both);
    setenv("MLC_NVRTC", built("fake_cpp.so"), 1);
    refused(text, "gpu", &(mlc_options){ .target = "cuda" },
            "there is no CUDA driver: /none: cannot open shared object file: No such file or directory; install NVIDIA's driver for the GPU, or "
            "set MLC_LIBCUDA to the path of its libcuda.so.1");
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, text, "t.mlc");
    mlc_func f = mlc_program_output(p, 0);
    ck_assert(!mlc_emit(mlc_program_find_plan(p, "cpu"), mlc_outs(f), "/tmp/mlc-none", NULL, &(mlc_options){ .target = "cuda" }, &e));
    ck_assert_str_eq(e.message, "mlc emits C for a CPU alone, and 'cuda' is a GPU; use host, avx512, avx2, sse4 or plain, or print kernels with "
                     "mlc explain --level ptx");
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- the cache ---- */

START_TEST(the_cache_keeps_cubins) {
    char dir[] = "/tmp/mlc-gpu-XXXXXX", command[64], before[600];
    const char *own = getenv("MLC_CACHE");
    if (!has_cpp("cubins in the cache")) return;
    snprintf(before, sizeof before, "%s", own ? own : "");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    setenv("MLC_CACHE", dir, 1);
    static const struct {
        const char *target;
        bool cached;
    } rows[] = { { "cuda", false }, { "cuda", true }, { "cuda-sm_90a", true }, { "cuda-sm_90", false }, { "host", false }, { "cuda", true } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool gpu = *rows[i].target == 'c';
        mlc_module *m = compile(gpu ? "gpu" : "cpu", rows[i].target);
        ck_assert_msg(mlc_module_times(m).cached == rows[i].cached, "%zu: %s", i, rows[i].target);
        ck_assert_str_eq(mlc_module_target(m), gpu ? "cuda" : mlc_module_target(m));
        ck_assert((mlc_module_cuda(m) != NULL) == gpu);
        if (gpu) ck_assert_ptr_nonnull(strstr(mlc_module_cuda(m), "__global__"));
        mlc_module_free(m);
    }
    setenv("MLC_LIBCUDA", "/none", 1); /* what is kept needs no device, until it is called */
    mlc_module *m = compile("gpu", "cuda-sm_90a");
    mlc_error_info e;
    mlc_buffer *b[] = { mlc_wrap(src[0], W, H), mlc_wrap(dst[0], W, H) };
    ck_assert(mlc_module_times(m).cached);
    ck_assert(mlc_run(m, 2, b, 0, NULL, &e));
    ck_assert_str_eq(mlc_error_name(e.code), "CUDA_MISSING");
    mlc_module_free(m);
    if (*before) setenv("MLC_CACHE", before, 1);
    else unsetenv("MLC_CACHE");
    snprintf(command, sizeof command, "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(kinds_of_targets) {
    ck_assert_int_eq(mlc_vector_bytes("cuda"), mlc_vector_bytes("host"));
    ck_assert_int_eq(mlc_vector_bytes("cuda-x"), 0);
}
END_TEST

/* ---- buffers ---- */

/* Every second element of a wide row is the output's: what lies between stays. */
START_TEST(gaps_of_outputs_stay) {
    static int32_t wide[H][2 * W];
    if (!has_cpp("gaps of outputs")) return;
    mlc_module *m = compile("gpu", "cuda");
    mlc_error_info e;
    memset(wide, 0x33, sizeof wide);
    mlc_buffer out = *mlc_wrap(wide[0], 2 * W, H);
    mlc_buffer_stride(&out, 0, 2);
    mlc_buffer *b[] = { mlc_wrap(src[0], W, H), &out };
    ck_assert_msg(!mlc_run(m, 2, b, 0, NULL, &e), "%s", e.message);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            ck_assert_int_eq(wide[y][2 * x], src[y][x] * 3 + x);
            ck_assert_int_eq(wide[y][2 * x + 1], 0x33333333);
        }
    mlc_module_free(m);
}
END_TEST

/* Rows and columns turned: the general variant, with addresses below that of the first element. */
START_TEST(turned_buffers) {
    static int32_t back[W][H];
    if (!has_cpp("turned buffers")) return;
    mlc_module *m = compile("gpu", "cuda");
    mlc_error_info e;
    mlc_buffer out = *mlc_wrap(back[0], H, W);
    mlc_buffer_transpose(&out, 0, 1);
    out.data = &back[W - 1][0];
    out.dim[0].stride = -H;
    mlc_buffer *b[] = { mlc_wrap(src[0], W, H), &out };
    ck_assert_msg(!mlc_run(m, 2, b, 0, NULL, &e), "%s", e.message);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) ck_assert_int_eq(back[W - 1 - x][y], src[y][x] * 3 + x);
    mlc_module_free(m);
}
END_TEST

/* What a module of the host does with a buffer that has a copy on a device. */
START_TEST(host_and_device_take_turns) {
    if (!has_cpp("buffers on the device")) return;
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_module *gpu = compile("gpu", "cuda"), *cpu = compile("cpu", "host");
    mlc_error_info e;
    mlc_buffer in = *mlc_wrap(src[0], W, H), out = *mlc_wrap(dst[0], W, H);
    mlc_buffer *b[] = { &in, &out }, *next[] = { &out, &in };
    ck_assert(mlc_buffer_to_device(ctx, &out, &e));
    ck_assert_msg(!mlc_run(gpu, 2, b, 0, NULL, &e), "%s", e.message);
    ck_assert(out.flags & MLC_BUFFER_DEVICE_DIRTY);
    ck_assert_int_eq(dst[0][0], 0x55555555);
    ck_assert(mlc_run(cpu, 2, next, 0, NULL, &e));
    ck_assert_str_eq(e.message, "the values of in are current on a GPU alone, and the module runs on the host; bring them home with mlc_buffer_to_host");
    ck_assert_msg(mlc_buffer_to_host(ctx, &out, &e), "%s", e.message);
    check_result();
    ck_assert(!mlc_run(cpu, 2, b, 0, NULL, &e));
    ck_assert(out.flags & MLC_BUFFER_HOST_DIRTY);
    dst[2][3] = -7; /* what the host wrote is what the device reads next */
    int32_t third[H][W];
    mlc_buffer last = *mlc_wrap(third[0], W, H);
    mlc_buffer *again[] = { &out, &last };
    ck_assert_msg(!mlc_run(gpu, 2, again, 0, NULL, &e), "%s", e.message);
    ck_assert_int_eq(third[2][3], -7 * 3 + 3);
    ck_assert(!(out.flags & (MLC_BUFFER_HOST_DIRTY | MLC_BUFFER_DEVICE_DIRTY)));
    mlc_buffer view = mlc_buffer_view(&out);
    ck_assert(mlc_buffer_crop(&view, 1, 2, 3));
    ck_assert_uint_eq(view.device, out.device + 2 * W * sizeof(int32_t));
    mlc_buffer_free(&view); /* owns nothing of it */
    mlc_buffer_leave_device(&out);
    ck_assert(!out.device && !(out.flags & MLC_BUFFER_HOST_DIRTY));
    mlc_module_free(gpu);
    mlc_module_free(cpu);
    mlc_ctx_free(ctx);
}
END_TEST

/* A buffer without memory on the host: fine for kernels, refused where the host is to touch it. */
START_TEST(buffers_on_the_device_alone) {
    static const char host_last[] = "mlc 1\ninput in: i32[2];\ng(x, y) = in(x, y) * 2;\nf(x, y) = g(x, y) + 1;\noutput f;\n"
                                    "plan p { g: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 8); f: vectorize(x, 4); }\n";
    static const char between[] = "mlc 1\ninput in: i32[2];\nf(x, y) = in(x, y);\nf(x, y) += 1;\noutput f;\n"
                                  "plan p { f: gpu_tile(x, y, xo, yo, xi, yi, 8, 8); f.u0: vectorize(x, 4); }\n";
    if (!has_cpp("buffers on the device alone")) return;
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_module *m = compile("gpu", "cuda");
    mlc_error_info e;
    mlc_buffer own = *mlc_wrap(dst[0], W, H), in = *mlc_wrap(src[0], W, H);
    ck_assert(mlc_buffer_to_device(ctx, &own, &e));
    mlc_buffer out = mlc_buffer_view(&own);
    out.data = NULL;
    mlc_buffer *b[] = { &in, &out };
    ck_assert_msg(!mlc_run(m, 2, b, 0, NULL, &e), "%s", e.message);
    ck_assert(!mlc_buffer_to_host(ctx, &out, &e));
    ck_assert_str_eq(e.message, "the buffer has no memory on the host; give it some, and set its data");
    own.flags |= MLC_BUFFER_DEVICE_DIRTY;
    ck_assert(mlc_buffer_to_host(ctx, &own, &e));
    check_result();
    mlc_module *last = compile_with(host_last, "p", &(mlc_options){ .target = "cuda" }, &e);
    ck_assert_msg(last != NULL, "%s", e.message);
    ck_assert(mlc_run(last, 2, b, 0, NULL, &e));
    ck_assert_str_eq(e.message, "f lies on the GPU alone, and the plan touches it on the host; give its buffer memory there too");
    mlc_module *update = compile_with(between, "p", &(mlc_options){ .target = "cuda" }, &e);
    ck_assert_msg(update != NULL, "%s", e.message);
    ck_assert(mlc_run(update, 2, b, 0, NULL, &e));
    ck_assert_str_eq(e.message, "f lies on the GPU alone, and the plan touches it on the host; give its buffer memory there too");
    mlc_module_free(update);
    b[1] = &own; /* with memory on both sides it is the host's, and current there */
    own.flags |= MLC_BUFFER_DEVICE_DIRTY;
    ck_assert_msg(!mlc_run(last, 2, b, 0, NULL, &e), "%s", e.message);
    ck_assert_int_eq(own.flags & (MLC_BUFFER_DEVICE_DIRTY | MLC_BUFFER_HOST_DIRTY), MLC_BUFFER_HOST_DIRTY);
    ck_assert_int_eq(dst[3][2], src[3][2] * 2 + 1);
    b[1] = &out;
    mlc_buffer *same[] = { &out, &out };
    ck_assert(mlc_run(m, 2, same, 0, NULL, &e));
    ck_assert_str_eq(mlc_error_name(e.code), "CALL_OVERLAP");
    mlc_module_free(m);
    mlc_module_free(last);
    mlc_buffer_free(&own);
    mlc_ctx_free(ctx);
}
END_TEST

/* Out of one library and into another: the memory goes with the tensor. */
START_TEST(tensors_on_the_device) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_error_info e;
    mlc_buffer own = *mlc_wrap(dst[0], W, H);
    ck_assert_msg(mlc_buffer_to_device(ctx, &own, &e), "%s", e.message);
    uint64_t device = own.device;
    own.flags |= MLC_BUFFER_DEVICE_DIRTY;
    void *tensor = mlc_buffer_to_dlpack(&own);
    ck_assert_ptr_null(own.device_owner);
    mlc_buffer *b = mlc_buffer_from_dlpack(tensor);
    ck_assert_ptr_nonnull(b);
    ck_assert(!b->data && b->device == device && b->flags & MLC_BUFFER_DEVICE_DIRTY);
    ck_assert_int_eq(b->dim[1].stride, W);
    mlc_buffer *c = mlc_buffer_from_dlpack(mlc_buffer_to_dlpack(b));
    mlc_buffer_free(b);
    ck_assert_uint_eq(c->device, device);
    mlc_buffer_free(c);
    mlc_ctx_free(ctx);
}
END_TEST

/* Copies of 16 bytes need rows that begin at multiples of 16, which is asked at each call. */
START_TEST(copies_ask_for_aligned_rows) {
    static const char copied[] = "mlc 1\ninput in: i32[2];\ns(x, y) = in(x, y);\nf(x, y) = s(x, y) * 3 + i32(x);\noutput f;\n"
                                 "plan p { f: bound(x, 0, 32), gpu_tile(x, y, xo, yo, xi, yi, 32, 1);"
                                 " s: compute_at(f, xo), split(x, t, v, 4), gpu_threads(t), vectorize(v), copy_by(cp_async); }\n";
    static int32_t rows[H][36], twice[H][64];
    if (!has_cpp("aligned copies")) return;
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_error_info e;
    mlc_module *m = compile_with(copied, "p", &(mlc_options){ .target = "cuda" }, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    mlc_buffer good = *mlc_wrap(rows[0], 36, H), odd = *mlc_wrap(src[0], W, H), far = *mlc_wrap(twice[0], 64, H), out = *mlc_wrap(dst[0], W, H);
    mlc_buffer *b[] = { &good, &out };
    for (int i = 0; i < H * 36; i++) rows[i / 36][i % 36] = i * 31 % 1000;
    out.dim[0].extent = 32;
    ck_assert_msg(!mlc_run(m, 2, b, 0, NULL, &e), "%s", e.message);
    for (int i = 0; i < H * 32; i++) ck_assert_int_eq(dst[i / 32][i % 32], rows[i / 32][i % 32] * 3 + i % 32);
    b[0] = &odd;
    ck_assert(mlc_run(m, 2, b, 0, NULL, &e));
    ck_assert_str_eq(e.message, "the stride of dimension 1 of in is 37, and copy_by(cp_async) of vectors needs a multiple of 4; bind another buffer, or copy single elements");
    far.dim[0].extent = 32, far.dim[0].stride = 2;
    b[0] = &far;
    ck_assert(mlc_run(m, 2, b, 0, NULL, &e));
    ck_assert_str_eq(e.message, "the stride of dimension 0 of in is 2, and copy_by(cp_async) of vectors needs 1; bind a buffer whose rows are dense, or copy single elements");
    ck_assert_msg(mlc_buffer_to_device(ctx, &good, &e), "%s", e.message);
    mlc_buffer beside = mlc_buffer_view(&good);
    beside.data = NULL;
    beside.device += 4;
    b[0] = &beside;
    ck_assert(mlc_run(m, 2, b, 0, NULL, &e));
    ck_assert_str_eq(e.message, "memory that kernel f reads by copy_by(cp_async) begins at no multiple of 16 bytes on the GPU; bind another buffer, or copy single elements");
    mlc_module_free(m);
    mlc_buffer_free(&good);
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- the command line ---- */

static const char *said(const char *arguments) {
    static char out[1 << 14];
    char command[700];
    snprintf(command, sizeof command, "%s %s 2>&1", getenv("MLC"), arguments);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    out[fread(out, 1, sizeof out - 1, f)] = 0;
    int status = pclose(f);
    snprintf(out + strlen(out), sizeof out - strlen(out), "[%d]", status ? 1 : 0);
    return out;
}

START_TEST(the_tool) {
    char file[] = "/tmp/mlc-gpu-XXXXXX", command[200];
    if (!getenv("MLC") || !has_cpp("the tool")) return;
    int fd = mkstemp(file);
    ck_assert(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1 && !close(fd));
    ck_assert_ptr_nonnull(strstr(said("info"), "\ngpu 0\tFake 0, sm_90a, 132 processors"));
    snprintf(command, sizeof command, "check --target cuda %s", file);
    ck_assert_msg(strstr(said(command), "good under none, gpu, cpu\n[0]"), "%s", said(command));
    snprintf(command, sizeof command, "bench --target cuda --schedule gpu --rounds 1 --size in=40,30 %s", file);
    ck_assert_msg(strstr(said(command), "\tgpu\tcuda\t"), "%s", said(command));
    setenv("MLC_LIBCUDA", "/none", 1);
    ck_assert_msg(strstr(said(command), "there is no CUDA driver: /none: ") && strstr(said(command), "[1]"), "%s", said(command));
    ck_assert_ptr_nonnull(strstr(said("info"), "\ngpu\tno: there is no CUDA driver: /none: "));
    snprintf(command, sizeof command, "check --target cuda %s", file);
    ck_assert_msg(!strncmp(said(command), "no GPU is here: kernels are compiled for sm_90a\n", 48) && strstr(said(command), "[0]"), "%s", said(command));
    setenv("MLC_NVRTC", "/none", 1);
    ck_assert_ptr_nonnull(strstr(said("info"), "\nnvrtc\tno: NVRTC, which compiles for GPUs, was not found: MLC_NVRTC is /none: "));
    ck_assert_msg(strstr(said(command), "plan gpu: NVRTC, which compiles for GPUs, was not found: ") && strstr(said(command), "[1]"), "%s", said(command));
    unlink(file);
}
END_TEST

/* 64 sums a thread of 1024 fill all of its registers, and leave none to reckon with. */
START_TEST(the_tool_reads_ptxas) {
    static const char sums[] = "mlc 1\ninput a: f32[2];\ninput b: f32[2];\nrdom k(0, 64);\nc(x, y) = f32(0.0);\nc(x, y) += a(k, y) * b(x, k);\n"
        "f(x, y) = c(x, y);\noutput f;\nplan p {\n"
        "  f: tile(x, y, xo, yo, xi, yi, 256, 256), split(xi, u, xi, 32), split(yi, v, yi, 32), reorder(u, v, xi, yi), unroll(u), unroll(v),"
        " gpu_blocks(xo, yo), gpu_threads(xi, yi);\n"
        "  c: compute_at(f, xo), store_in(register), split(x, u, xi, 32), split(y, v, yi, 32), reorder(u, v, xi, yi), unroll(u), unroll(v),"
        " gpu_threads(xi, yi);\n"
        "  c.u0: split(x, u, xi, 32), split(y, v, yi, 32), reorder(u, v, k, xi, yi), unroll(u), unroll(v), gpu_threads(xi, yi);\n}\n";
    char file[] = "/tmp/mlc-gpu-XXXXXX", command[200];
    unsetenv("MLC_NVRTC");
    setenv("MLC_LIBCUDA", "/none", 1);
    if (!getenv("MLC") || !mlc_gpu_compiler(NULL, 0, NULL)) {
        printf("  skipped: the_tool_reads_ptxas: there is no NVRTC\n");
        return;
    }
    int fd = mkstemp(file);
    ck_assert(fd >= 0 && write(fd, sums, sizeof sums - 1) == (ssize_t)sizeof sums - 1 && !close(fd));
    snprintf(command, sizeof command, "check --target cuda %s", file);
    const char *out = said(command);
    ck_assert_msg(strstr(out, "plan p: f_kernel: ") && strstr(out, "mlc: plan p: f_kernel keeps memory in registers, and ") && strstr(out, "[1]"), "%s", out);
    unlink(file);
}
END_TEST

Suite *gpu_suite(void) {
    Suite *s = suite_create("gpu");
    TCase *t = tcase_create("gpu");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, levels);
    tcase_add_test(t, tiles_copied_ahead);
    tcase_add_test(t, levels_of_nvrtc);
    tcase_add_test(t, modules_know_their_kernels);
    tcase_add_test(t, what_is_missing_is_said);
    tcase_add_test(t, the_cache_keeps_cubins);
    tcase_add_test(t, kinds_of_targets);
    tcase_add_test(t, gaps_of_outputs_stay);
    tcase_add_test(t, turned_buffers);
    tcase_add_test(t, host_and_device_take_turns);
    tcase_add_test(t, buffers_on_the_device_alone);
    tcase_add_test(t, tensors_on_the_device);
    tcase_add_test(t, copies_ask_for_aligned_rows);
    tcase_add_test(t, the_tool);
    tcase_add_test(t, the_tool_reads_ptxas);
    suite_add_tcase(s, t);
    return s;
}
