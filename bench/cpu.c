/* cpu.c - the apps beside their peers, in one process.
 *
 *     bench_cpu [--threads N] [--only PREFIX] [--out FILE]
 *
 * Halide's side is `libhalide_apps.so` as `halide_apps.py --aot` of the peers' folder leaves it
 * (MLC_HALIDE names the folder); OpenBLAS is loaded where it is installed.  Halide reads its number of
 * threads once, so a run has one number for all. */
#include "../apps/app.h"
#include "bench.h"

#include <getopt.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

extern const App blur_app, unsharp_app, hist_app, matmul_app;

static int threads = 1;
static const char *only;

typedef struct {
    mlc_module *module;
    int n;
    mlc_buffer *b[APP_BUFFERS];
} Ours;

static void run_ours(void *user) {
    Ours *o = user;
    mlc_error_info e;
    if (mlc_run(o->module, o->n, o->b, 0, NULL, &e)) fprintf(stderr, "mlc: %s\n", e.message);
}

static mlc_buffer *make(mlc_type type, int rank, const int64_t *extent, uint32_t seed) {
    mlc_buffer *b = mlc_buffer_new(type, rank, extent);
    int64_t n = 1;
    if (!b) exit(1);
    for (int d = 0; d < rank; d++) n *= extent[d];
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (type == MLC_F32)
            ((float *)b->data)[i] = (float)(1 + (seed >> 8)) / 16777217.f;
        else if (type == MLC_U16)
            ((uint16_t *)b->data)[i] = (uint16_t)(seed >> 20);
        else
            ((uint8_t *)b->data)[i] = (uint8_t)(seed >> 24);
    }
    return b;
}

static PeerArray array_of(const mlc_buffer *b, void *data) {
    PeerArray a = { .data = data,
                    .rank = b->rank,
                    .type = b->type == MLC_F32   ? 'f'
                            : b->type == MLC_U16 ? 'w'
                                                 : 'u' };
    for (int d = 0; d < b->rank; d++) a.extent[d] = b->dim[d].extent;
    return a;
}

static double element(const mlc_buffer *b, int64_t i) {
    switch (b->type) {
    case MLC_U8:
        return ((const uint8_t *)b->data)[i];
    case MLC_U16:
        return ((const uint16_t *)b->data)[i];
    default:
        return (double)((const float *)b->data)[i];
    }
}

/* Runs both sides once and says how far apart their results are: is it the same work that is timed? */
static const char *compare(const BenchRow *row, const mlc_buffer *ours, const mlc_buffer *theirs,
                           char note[64]) {
    if (!row->theirs) return NULL;
    double most = 0;
    row->ours(row->ours_user);
    row->theirs(row->theirs_user);
    for (int64_t i = 0, n = mlc_buffer_count(ours); i < n; i++) {
        double d = element(ours, i) - element(theirs, i);
        if (!(d <= most && -d <= most)) most = d < 0 ? -d : d;
    }
    snprintf(note, 64, "results differ by at most %.3g", most);
    return note;
}

/* The best plan of the app, ours, beside Halide's hand schedule on the same input. */
static void app_rows(const App *app, const char *size, Ours o) {
    const AppPlan *best = app_best_plan(app);
    mlc_buffer *out = o.b[o.n - 1];
    int64_t extent[MLC_MAX_RANK];
    for (int d = 0; d < out->rank; d++) extent[d] = out->dim[d].extent;
    mlc_buffer *theirs = make(out->type, out->rank, extent, 9);
    PeerArray arrays[APP_BUFFERS];
    char name[64], note[64];
    for (int i = 0; i < o.n; i++) arrays[i] = array_of(o.b[i], i == o.n - 1 ? theirs->data : o.b[i]->data);
    snprintf(name, sizeof name, "cpu/%s", app->name);
    o.module = app_compile(app, best->text, &(mlc_options){ .threads = threads });
    BenchRow row = { .bench = name,
                     .name = best->name,
                     .size = size,
                     .threads = threads,
                     .ours = run_ours,
                     .ours_user = &o,
                     .peer = "halide" };
    row.theirs_user = peer_halide(app->name, o.n, arrays);
    row.theirs = row.theirs_user ? peer_halide_call : NULL;
    if (o.module) {
        row.note = compare(&row, out, theirs, note);
        bench_run(&row);
    }
    if (o.module && app == &matmul_app) {
        PeerGemm g = { (int)extent[0], o.b[0]->data, o.b[1]->data, theirs->data };
        row.peer = "openblas", row.theirs_user = &g;
        row.theirs = peer_openblas_open(threads) ? peer_openblas_call : NULL;
        row.note = compare(&row, out, theirs, note);
        bench_run(&row);
    }
    mlc_module_free(o.module);
    mlc_buffer_free(theirs);
    for (int i = 0; i < o.n; i++) mlc_buffer_free(o.b[i]);
}

/* Eight elementwise operators, a Func each, over 2^24 values: fused into one pass, and each in memory of its own. */
enum { CHAIN = 1 << 24 };

static mlc_func chain_build(mlc_ctx *ctx) {
    mlc_program *p = mlc_program_parse(ctx,
                                       "mlc 1\n"
                                       "input in: f32[1];\n"
                                       "s0(x) = in(x) * 2; s1(x) = s0(x) + 1; s2(x) = s1(x) * in(x);\n"
                                       "s3(x) = s2(x) - 3; s4(x) = s3(x) * 0.5; s5(x) = s4(x) + in(x);\n"
                                       "s6(x) = s5(x) * in(x); s7(x) = s6(x) + 1;\n"
                                       "output s7;\n",
                                       "chain");
    return p ? mlc_program_output(p, 0) : (mlc_func){ 0 };
}

static void chain_rows(void) {
    if (!bench_wanted(only, "cpu/chain")) return;
    char unfused[2048] = "";
    for (int i = 0; i < 8; i++)
        snprintf(unfused + strlen(unfused), sizeof unfused - strlen(unfused),
                 "s%d: %ssplit(x, xo, xi, 65536), vectorize(xi, 16), parallel(xo);", i,
                 i < 7 ? "compute_root(), " : "");
    const App chain = { .name = "chain", .build = chain_build };
    int64_t n[] = { CHAIN };
    mlc_buffer *from = make(MLC_F32, 1, n, 5), *to = make(MLC_F32, 1, n, 6), *theirs = make(MLC_F32, 1, n, 7);
    BenchCopy copy = { theirs->data, from->data, CHAIN, threads };
    PeerArray arrays[] = { array_of(from, from->data), array_of(from, theirs->data) };
    void *halide = peer_halide("chain", 2, arrays), *halide_unfused = peer_halide("chain_unfused", 2, arrays);
    const char *whole = "s7: split(x, xo, xi, 65536), vectorize(xi, 64), parallel(xo)";
    Ours fused = { app_compile(&chain, whole, &(mlc_options){ .threads = threads }), 2, { from, to } };
    Ours apart = { app_compile(&chain, unfused, &(mlc_options){ .threads = threads }), 2, { from, to } };
    if (fused.module && apart.module) {
        BenchRow row = { .bench = "cpu/chain",
                         .name = "fused",
                         .size = "8 ops on 2^24 f32",
                         .threads = threads,
                         .ours = run_ours,
                         .ours_user = &fused };
        row.peer = "memcpy", row.theirs = bench_copy, row.theirs_user = &copy;
        bench_run(&row);
        row.peer = "unfused", row.theirs = run_ours, row.theirs_user = &apart;
        bench_run(&row);
        row.peer = "halide", row.theirs = halide ? peer_halide_call : NULL, row.theirs_user = halide;
        bench_run(&row);
        row.name = "unfused", row.ours_user = &apart;
        row.theirs = halide_unfused ? peer_halide_call : NULL, row.theirs_user = halide_unfused;
        bench_run(&row);
        /* of the 19 arrays that the unfused form moves (11 reads, 8 writes) a copy moves two */
        row.peer = "memcpy", row.theirs = bench_copy, row.theirs_user = &copy,
        row.note = "bytes 9.5x the copy's";
        bench_run(&row);
    }
    mlc_module_free(fused.module), mlc_module_free(apart.module);
    mlc_buffer_free(from), mlc_buffer_free(to), mlc_buffer_free(theirs);
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        { "threads", 1, NULL, 't' }, { "only", 1, NULL, 'o' }, { "out", 1, NULL, 'f' }, { 0 }
    };
    const char *out = "/dev/null";
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 't')
            threads = atoi(optarg) > 0 ? atoi(optarg) : 1;
        else if (c == 'o')
            only = optarg;
        else if (c == 'f')
            out = optarg;
        else
            return 2;
    }
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("HL_NUM_THREADS", text, 1);
    if (__builtin_cpu_supports("avx512f")) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    /* Halide's intermediates come from malloc: keep large blocks, as its own timing script does. */
    mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, -1), mallopt(M_TOP_PAD, 100000000);
    bench_open(out);

    int64_t in2[] = { 2568, 1922 }, out2[] = { 2560, 1920 }, rgb[] = { 1536, 2560, 3 },
            square[] = { 1024, 1024 };
    if (bench_wanted(only, "cpu/blur"))
        app_rows(&blur_app, "u16 2560x1920",
                 (Ours){ .n = 2, .b = { make(MLC_U16, 2, in2, 1), make(MLC_U16, 2, out2, 2) } });
    if (bench_wanted(only, "cpu/unsharp"))
        app_rows(&unsharp_app, "f32 1536x2560x3",
                 (Ours){ .n = 2, .b = { make(MLC_F32, 3, rgb, 1), make(MLC_F32, 3, rgb, 2) } });
    if (bench_wanted(only, "cpu/hist"))
        app_rows(&hist_app, "u8 1536x2560x3",
                 (Ours){ .n = 2, .b = { make(MLC_U8, 3, rgb, 1), make(MLC_U8, 3, rgb, 2) } });
    if (bench_wanted(only, "cpu/matmul"))
        app_rows(&matmul_app, "f32 1024^3",
                 (Ours){ .n = 3,
                         .b = { make(MLC_F32, 2, square, 1), make(MLC_F32, 2, square, 2),
                                make(MLC_F32, 2, square, 3) } });
    chain_rows();
    return 0;
}
