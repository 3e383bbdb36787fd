/* cpu.c - the apps beside their peers, in one process.
 *
 *     bench_cpu [--threads N] [--only PREFIX]
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
        if (type == MLC_F32) ((float *)b->data)[i] = (float)(1 + (seed >> 8)) / 16777217.f;
        else if (type == MLC_U16) ((uint16_t *)b->data)[i] = (uint16_t)(seed >> 20);
        else ((uint8_t *)b->data)[i] = (uint8_t)(seed >> 24);
    }
    return b;
}

static PeerArray array_of(const mlc_buffer *b, void *data) {
    PeerArray a = { .data = data, .rank = b->rank, .type = b->type == MLC_F32 ? 'f' : b->type == MLC_U16 ? 'w' : 'u' };
    for (int d = 0; d < b->rank; d++) a.extent[d] = b->dim[d].extent;
    return a;
}

/* The last plan of the app beside Halide's hand schedule on the same input. */
static void app_row(const App *app, const char *size, Ours o) {
    char name[64];
    snprintf(name, sizeof name, "cpu/%s", app->name);
    if (!bench_wanted(only, name)) return;
    const AppPlan *best = app->plan;
    while (best[1].name) best++;
    o.module = app_compile(app, best->text, &(mlc_options){ .threads = threads });
    if (!o.module) return;
    mlc_buffer *out = o.b[o.n - 1], *theirs = make(out->type, out->rank, (int64_t[]){ out->dim[0].extent, out->dim[1].extent, out->rank > 2 ? out->dim[2].extent : 1 }, 9);
    PeerArray arrays[APP_BUFFERS];
    for (int i = 0; i < o.n; i++) arrays[i] = array_of(o.b[i], i == o.n - 1 ? theirs->data : o.b[i]->data);
    void *halide = peer_halide(app->name, o.n, arrays);
    bench_run(&(BenchRow){ .bench = name, .name = best->name, .size = size, .threads = threads, .ours = run_ours, .ours_user = &o,
                           .peer = "halide", .theirs = halide ? peer_halide_call : NULL, .theirs_user = halide });
    if (app == &matmul_app && peer_openblas_open(threads)) {
        PeerGemm g = { (int)out->dim[0].extent, o.b[0]->data, o.b[1]->data, theirs->data };
        bench_run(&(BenchRow){ .bench = name, .name = best->name, .size = size, .threads = threads, .ours = run_ours, .ours_user = &o,
                               .peer = "openblas", .theirs = peer_openblas_call, .theirs_user = &g });
    }
    mlc_buffer_free(theirs);
    mlc_module_free(o.module);
}

/* Eight elementwise operators, a Func each, over 2^24 values: fused into one pass, and each in memory of its own. */
enum { CHAIN = 1 << 24 };

static mlc_func chain_build(mlc_ctx *ctx) {
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\n"
                                            "input in: f32[1];\n"
                                            "s0(x) = in(x) * 2; s1(x) = s0(x) + 1; s2(x) = s1(x) * in(x); s3(x) = s2(x) - 3;\n"
                                            "s4(x) = s3(x) * 0.5; s5(x) = s4(x) + in(x); s6(x) = s5(x) * in(x); s7(x) = s6(x) + 1;\n"
                                            "output s7;\n", "chain");
    return p ? mlc_program_output(p, 0) : (mlc_func){ 0 };
}

static void chain_rows(void) {
    if (!bench_wanted(only, "cpu/chain")) return;
    char unfused[2048] = "";
    for (int i = 0; i < 8; i++)
        snprintf(unfused + strlen(unfused), sizeof unfused - strlen(unfused),
                 "s%d: %ssplit(x, xo, xi, 65536), vectorize(xi, 16), parallel(xo);", i, i < 7 ? "compute_root(), " : "");
    const App chain = { .name = "chain", .build = chain_build };
    int64_t n[] = { CHAIN };
    mlc_buffer *from = make(MLC_F32, 1, n, 5), *to = make(MLC_F32, 1, n, 6), *theirs = make(MLC_F32, 1, n, 7);
    BenchCopy copy = { theirs->data, from->data, CHAIN, threads };
    PeerArray arrays[] = { array_of(from, from->data), array_of(from, theirs->data) };
    void *halide = peer_halide("chain", 2, arrays), *halide_unfused = peer_halide("chain_unfused", 2, arrays);
    Ours fused = { app_compile(&chain, "s7: split(x, xo, xi, 65536), vectorize(xi, 16), parallel(xo)", &(mlc_options){ .threads = threads }), 2, { from, to } };
    Ours apart = { app_compile(&chain, unfused, &(mlc_options){ .threads = threads }), 2, { from, to } };
    if (fused.module && apart.module) {
        BenchRow row = { .bench = "cpu/chain", .name = "fused", .size = "8 ops on 2^24 f32", .threads = threads, .ours = run_ours, .ours_user = &fused };
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
        row.peer = "memcpy", row.theirs = bench_copy, row.theirs_user = &copy, row.note = "bytes 9.5x the copy's";
        bench_run(&row);
    }
    mlc_module_free(fused.module), mlc_module_free(apart.module);
    mlc_buffer_free(from), mlc_buffer_free(to), mlc_buffer_free(theirs);
}

int main(int argc, char **argv) {
    static const struct option options[] = { { "threads", 1, NULL, 't' }, { "only", 1, NULL, 'o' }, { 0 } };
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 't') threads = atoi(optarg) > 0 ? atoi(optarg) : 1;
        else if (c == 'o') only = optarg;
        else return 2;
    }
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("HL_NUM_THREADS", text, 1);
    if (__builtin_cpu_supports("avx512f")) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    /* Halide's intermediates come from malloc: keep large blocks, as its own timing script does. */
    mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, -1), mallopt(M_TOP_PAD, 100000000);
    snprintf(text, sizeof text, "build/bench%d", threads);
    char path[32];
    snprintf(path, sizeof path, "%s.tsv", text);
    bench_open(path);

    int64_t in2[] = { 2568, 1922 }, out2[] = { 2560, 1920 }, rgb[] = { 1536, 2560, 3 }, square[] = { 1024, 1024 };
    app_row(&blur_app, "u16 2560x1920", (Ours){ .n = 2, .b = { make(MLC_U16, 2, in2, 1), make(MLC_U16, 2, out2, 2) } });
    app_row(&unsharp_app, "f32 1536x2560x3", (Ours){ .n = 2, .b = { make(MLC_F32, 3, rgb, 1), make(MLC_F32, 3, rgb, 2) } });
    app_row(&hist_app, "u8 1536x2560x3", (Ours){ .n = 2, .b = { make(MLC_U8, 3, rgb, 1), make(MLC_U8, 3, rgb, 2) } });
    app_row(&matmul_app, "f32 1024^3", (Ours){ .n = 3, .b = { make(MLC_F32, 2, square, 1), make(MLC_F32, 2, square, 2), make(MLC_F32, 2, square, 3) } });
    chain_rows();
    return 0;
}
