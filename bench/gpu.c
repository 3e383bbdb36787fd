/* gpu.c - kernels on a GPU beside the device's own copy of the bytes that they must move: bench_gpu [--out FILE] [--only PREFIX].
 *
 * Every kernel is checked against the same program on the host first, bit by bit.  Then it and the copy take turns: a turn
 * is a batch of calls with one wait at its end, over buffers that stay on the device, so that what is timed is the
 * device's work.  The driver is loaded by hand, as a peer is; where there is none, nothing is timed and that is said. */
#include "bench.h"

#include <mlc.h>
#include <mlc/text.h>

#include <dlfcn.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *bench, *name, *size, *text;
    mlc_type type;
    int64_t in[2], out[2]; /* extents; the second 0: of rank 1 */
} Case;

#define BLUR "mlc 1\ninput in: f32[2];\nrows(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) * 0.33333334;\n" \
    "out(x, y) = (rows(x, y) + rows(x, y + 1) + rows(x, y + 2)) * 0.33333334;\noutput out;\n"
#define MAP(e) "mlc 1\ninput in: f32[1];\nout(x) = " e ";\noutput out;\n"
#define BY_4 "plan p { out: split(x, b, v, 1024), split(v, t, u, 4), gpu_blocks(b), gpu_threads(t), vectorize(u); }\n"
enum { N = 1 << 27, W = 7680, H = 4320 };

static const Case cases[] = {
    { "gpu/map", "copy, a float a thread", "f32 2^27", MAP("in(x)") "plan p { out: gpu_tile(x, b, t, 256); }\n", MLC_F32, { N }, { N } },
    { "gpu/map", "copy, 4 floats a thread", "f32 2^27", MAP("in(x)") BY_4, MLC_F32, { N }, { N } },
    { "gpu/map", "gelu", "f32 2^27", MAP("0.5 * in(x) * (1.0 + erf(in(x) * 0.70710677))") "plan p { out: gpu_tile(x, b, t, 128); }\n",
      MLC_F32, { N }, { N } },
    { "gpu/map", "gelu, 4 a thread", "f32 2^27", MAP("0.5 * in(x) * (1.0 + erf(in(x) * 0.70710677))") BY_4, MLC_F32, { N }, { N } },
    { "gpu/map", "gelu(2 x + 1) + tanh(x)", "f32 2^27",
      MAP("(2.0 * in(x) + 1.0) * 0.5 * (1.0 + erf((2.0 * in(x) + 1.0) * 0.70710677)) + tanh(in(x))")
      "plan p { out: gpu_tile(x, b, t, 128); }\n", MLC_F32, { N }, { N } },
    { "gpu/blur", "rows in shared memory", "f32 7680x4320",
      BLUR "plan p { out: gpu_tile(x, y, xo, yo, xi, yi, 64, 8); rows: compute_at(out, xo), gpu_threads(x, y); }\n",
      MLC_F32, { W + 2, H + 2 }, { W, H } },
    { "gpu/blur", "rows in registers", "f32 7680x4320",
      BLUR "plan p { out: split(x, xo, xi, 128), split(y, yo, yi, 4), reorder(yi, xi, xo, yo), gpu_blocks(xo, yo), gpu_threads(xi),"
           " unroll(yi); rows: compute_at(out, xi), unroll(y); }\n",
      MLC_F32, { W + 2, H + 2 }, { W, H } },
    { "gpu/blur", "inline", "f32 7680x4320", BLUR "plan p { out: gpu_tile(x, y, xo, yo, xi, yi, 128, 2); }\n", MLC_F32, { W + 2, H + 2 }, { W, H } },
};

/* The driver's copy, in the current context, which mlc uses, too. */
typedef struct {
    int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    int (*wait)(void);
} Driver;

static bool load_driver(Driver *d) {
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    static const char *const name[] = { "cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemcpyDtoDAsync_v2", "cuCtxSynchronize" };
    void *at[5] = { 0 };
    for (int i = 0; i < 5 && lib; i++)
        if (!(at[i] = dlsym(lib, name[i]))) return false;
    if (!lib) return false;
    int (*init)(unsigned flags), (*retain)(void **context, int device), (*set)(void *context);
    memcpy(&init, &at[0], sizeof init);
    memcpy(&retain, &at[1], sizeof retain);
    memcpy(&set, &at[2], sizeof set);
    memcpy(&d->copy, &at[3], sizeof d->copy);
    memcpy(&d->wait, &at[4], sizeof d->wait);
    return !init(0) && !retain(&context, 0) && !set(context);
}

static mlc_buffer *fresh(mlc_type type, const int64_t *extent) {
    return mlc_buffer_new(type, extent[1] ? 2 : 1, extent);
}

static void fill(mlc_buffer *b) {
    uint32_t s = 1;
    float *p = b->data;
    for (int64_t i = 0, n = mlc_buffer_count(b); i < n; i++) {
        s = s * 1664525u + 1013904223u;
        p[i] = (float)(int32_t)s * 0x1p-29f; /* -4 to 4 */
    }
}

enum { ROUNDS = 21, BATCH = 20 };

/* Both in turns: the medians of one call's time, us. */
static bool time_both(const Driver *d, mlc_module *m, mlc_buffer **b, double *ours, double *copy, mlc_error_info *e) {
    double mine[ROUNDS], theirs[ROUNDS];
    size_t bytes = (size_t)mlc_buffer_count(b[1]) * 4;
    for (int r = -2; r < ROUNDS; r++) {
        double t = bench_now();
        for (int i = 0; i < BATCH; i++)
            if (mlc_run(m, 2, b, 0, NULL, e)) return false;
        int failed = d->wait();
        double u = bench_now();
        for (int i = 0; i < BATCH && !failed; i++) failed = d->copy(b[1]->device, b[0]->device, bytes, NULL);
        if (!failed) failed = d->wait();
        if (failed) snprintf(e->message, sizeof e->message, "the driver's error %d", failed);
        if (failed) return false;
        if (r >= 0) mine[r] = (u - t) / BATCH, theirs[r] = (bench_now() - u) / BATCH;
    }
    *ours = bench_median(mine, ROUNDS);
    *copy = bench_median(theirs, ROUNDS);
    return true;
}

static bool run(const Driver *d, const Case *k) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_error_info e = { 0 };
    mlc_program *p = mlc_program_parse(ctx, k->text, k->bench);
    mlc_func out = p ? mlc_program_output(p, 0) : (mlc_func){ 0 };
    mlc_module *gpu = p ? mlc_compile(mlc_program_plan(p, 0), 1, &out, &(mlc_options){ .target = "cuda" }, &e) : NULL;
    mlc_plan *none = mlc_plan_new(ctx);
    mlc_module *host = gpu ? mlc_compile(none, 1, &out, NULL, &e) : NULL;
    mlc_buffer *b[2] = { fresh(k->type, k->in), fresh(k->type, k->out) }, *want[2] = { b[0], fresh(k->type, k->out) };
    double ours = 0, copy = 0;
    bool good = host && b[0] && b[1] && want[1];
    if (good) fill(b[0]);
    good = good && mlc_buffer_to_device(ctx, b[0], &e) && mlc_buffer_to_device(ctx, b[1], &e);
    good = good && !mlc_run(gpu, 2, b, 0, NULL, &e) && mlc_buffer_to_host(ctx, b[1], &e) && !mlc_run(host, 2, want, 0, NULL, &e);
    bool equal = good && !memcmp(b[1]->data, want[1]->data, (size_t)mlc_buffer_count(b[1]) * 4);
    good = equal && time_both(d, gpu, b, &ours, &copy, &e);
    if (good) bench_line(k->bench, k->name, k->size, 0, ours, "copy", copy, copy / ours, 0, "equal bits");
    else fprintf(stderr, "%s %s: %s\n", k->bench, k->name, e.message[0] ? e.message : p ? "the results differ" : mlc_error(ctx));
    for (int i = 0; i < 2; i++) mlc_buffer_free(b[i]);
    mlc_buffer_free(want[1]);
    mlc_module_free(gpu);
    mlc_module_free(host);
    mlc_ctx_free(ctx);
    return good;
}

int main(int argc, char **argv) {
    static const struct option options[] = { { "out", 1, NULL, 'f' }, { "only", 1, NULL, 'o' }, { 0 } };
    const char *only = NULL;
    Driver d;
    bool good = true;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'f') bench_open(optarg);
        else if (c == 'o') only = optarg;
        else return 2;
    }
    if (!load_driver(&d)) {
        fprintf(stderr, "bench_gpu: skipped, there is no driver (libcuda.so.1) or no GPU\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (bench_wanted(only, cases[i].bench)) good = run(&d, &cases[i]) && good;
    return !good;
}
