/* gpu_probe.c - a GPU seen through the floor of NVRTC: known kernels are compiled, loaded, run and checked (`make gpu-check`).
 *
 * It needs a GPU and says `skipped` where there is none.  What the tests show over a driver of their own is shown here over the real
 * one: order within a stream, memory that is kept, more than 48 KiB of shared memory, late errors.  Times are for the reader. */
#include "nvrtc/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "scale(const float *__restrict__ a, float *__restrict__ b, float by, long long n) {\n"
    "    long long i = blockIdx.x * 256ll + threadIdx.x;\n"
    "    if (i < n) b[i] = a[i] * by + 1.0f;\n"
    "}\n"
    "extern __shared__ __align__(128) unsigned char shared[];\n"
    /* each block turns its 32768 numbers around, which only fit into 128 KiB of shared memory */
    "extern \"C\" __global__ void __launch_bounds__(1024)\n"
    "turn(int *p) {\n"
    "    int *kept = (int *)shared, *own = p + blockIdx.x * 32768;\n"
    "    for (int i = threadIdx.x; i < 32768; i += 1024) kept[i] = own[i];\n"
    "    __syncthreads();\n"
    "    for (int i = threadIdx.x; i < 32768; i += 1024) own[i] = kept[32767 - i];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1)\nnext(int *p) { *p = *p * 3u + 1; }\n"
    "extern \"C\" __global__ void __launch_bounds__(1)\nfault(int *p) { *(int *)((unsigned long long)p ^ 0x700000000000ull) = 1; }\n";
enum { SCALE, TURN, NEXT, FAULT, KERNELS };
static const char *const names[KERNELS] = { "scale", "turn", "next", "fault" };

typedef struct {
    Arena arena;
    Fault fault;
    NvDeviceInfo info;
    NvCompiler *compiler;
    NvDevice *device;
    NvModule *module;
    int failed;
} Probe;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void check(Probe *p, bool good, const char *what) {
    printf("  %s: %s\n", good ? "ok" : "FAILED", what);
    p->failed += !good;
}

static void done(Probe *p, int rc, const char *what) {
    if (!rc) return;
    printf("  FAILED: %s: %s\n", what, nv_error_name(p->device, rc));
    p->failed++;
}

static int run(Probe *p, int kernel, void *stream, int64_t blocks, int64_t threads, int64_t shared, void **args) {
    return nv_launch(p->module, kernel, stream, (int64_t[]){ blocks, 1, 1 }, (int64_t[]){ threads, 1, 1 }, shared, args);
}

/* ---- opening; each raises where something is missing ---- */

static void open_all(Probe *p) {
    Fault *f = &p->fault;
    NvReport report;
    size_t n;
    double t0 = now_us();
    nv_device_list(NULL, 0, f);
    p->device = nv_device_open(NULL, 0, f);
    nv_device_info(p->device, &p->info);
    double t1 = now_us();
    printf("GPU: %s, %s, %d processors, %zu MiB, driver %d, %d bytes of shared memory a block; opened in %.0f us\n", p->info.name, p->info.arch,
           p->info.processors, p->info.memory >> 20, p->info.driver, p->info.shared_limit, t1 - t0);
    p->compiler = nv_compiler_open(NULL, f);
    printf("compiler: %s\n", nv_compiler_identity(p->compiler));
    for (int i = 0; i < 2; i++) {
        t0 = now_us();
        NvOptions o = { .arch = nv_arch(&p->arena, p->compiler, p->info.arch) };
        const void *code = nv_compile(&p->arena, p->compiler, &o, source, "probe", &n, &report);
        t1 = now_us();
        if (!i) {
            p->module = nv_module_load(p->device, code, KERNELS, names, f);
            printf("loaded in %.0f us\n", now_us() - t1);
        }
        printf("compiled in %.0f us: %zu bytes for %s\n", t1 - t0, n, o.arch);
    }
    for (int i = 0; i < report.n; i++)
        printf("  %s: %d registers, %lld bytes of stack, %lld of spills\n", report.kernel[i].name, report.kernel[i].registers,
               (long long)report.kernel[i].stack, (long long)(report.kernel[i].spill_stores + report.kernel[i].spill_loads));
}

/* ---- what is shown ---- */

static void scale(Probe *p, void *stream, int64_t n) {
    float *a = malloc((size_t)n * 4), *b = calloc((size_t)n, 4), by = 3;
    uint64_t there = 0, result = 0;
    size_t bytes = (size_t)n * 4;
    void *args[] = { &there, &result, &by, &n };
    if (!a || !b) {
        check(p, false, "memory");
        goto end;
    }
    for (int64_t i = 0; i < n; i++) a[i] = (float)(i % 8191);
    done(p, nv_alloc(p->device, stream, bytes, &there), "nv_alloc");
    done(p, nv_alloc(p->device, stream, bytes, &result), "nv_alloc");
    done(p, nv_to_device(p->device, stream, there, a, bytes), "nv_to_device");
    done(p, run(p, SCALE, stream, (n + 255) / 256, 256, 0, args), "nv_launch");
    done(p, nv_to_host(p->device, stream, b, result, bytes), "nv_to_host");
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += b[i] != a[i] * 3 + 1;
    check(p, !bad, "a kernel over many blocks, with a last one that is not full");
    done(p, nv_free(p->device, stream, there), "nv_free");
    done(p, nv_free(p->device, stream, result), "nv_free");
end:
    free(a);
    free(b);
}

static void turn(Probe *p) {
    enum { N = 32768 * 3 };
    int *a = malloc(N * sizeof(int));
    uint64_t there = 0;
    void *args[] = { &there };
    if (!a) {
        check(p, false, "memory");
        return;
    }
    for (int i = 0; i < N; i++) a[i] = i;
    done(p, nv_alloc(p->device, NULL, N * sizeof(int), &there), "nv_alloc");
    done(p, nv_to_device(p->device, NULL, there, a, N * sizeof(int)), "nv_to_device");
    done(p, run(p, TURN, NULL, 3, 1024, 131072, args), "nv_launch");
    done(p, nv_to_host(p->device, NULL, a, there, N * sizeof(int)), "nv_to_host");
    int bad = 0;
    for (int i = 0; i < N; i++) bad += a[i] != i / 32768 * 32768 + 32767 - i % 32768;
    check(p, !bad, "128 KiB of shared memory a block, with a barrier");
    done(p, nv_free(p->device, NULL, there), "nv_free");
    free(a);
}

/* Kernels of a stream run one after the other; arguments are taken at the launch. */
static void order(Probe *p, void *stream) {
    unsigned value = 1, want = 1;
    uint64_t there = 0;
    void *args[] = { &there };
    done(p, nv_alloc(p->device, stream, 4, &there), "nv_alloc");
    done(p, nv_to_device(p->device, stream, there, &value, 4), "nv_to_device");
    double t0 = now_us();
    for (int i = 0; i < 1000; i++) {
        done(p, run(p, NEXT, stream, 1, 1, 0, args), "nv_launch");
        want = want * 3 + 1;
    }
    double t1 = now_us();
    done(p, nv_wait(p->device, stream), "nv_wait");
    double t2 = now_us();
    done(p, nv_to_host(p->device, stream, &value, there, 4), "nv_to_host");
    check(p, value == want, "1000 kernels in order");
    printf("    %.2f us to ask for one, %.2f us until it is done\n", (t1 - t0) / 1000, (t2 - t0) / 1000);
    done(p, nv_free(p->device, stream, there), "nv_free");
}

/* What was copied from may change at once, although the copy has to wait for the kernels before it. */
static void copied_from(Probe *p) {
    enum { N = 16 << 20 };
    unsigned *a = malloc(N * sizeof *a), bad = 0;
    uint64_t there = 0, busy = 0;
    void *args[] = { &busy };
    if (!a) {
        check(p, false, "memory");
        return;
    }
    for (unsigned i = 0; i < N; i++) a[i] = i;
    done(p, nv_alloc(p->device, NULL, N * sizeof *a, &there), "nv_alloc");
    done(p, nv_alloc(p->device, NULL, 4, &busy), "nv_alloc");
    for (int i = 0; i < 500; i++) done(p, run(p, NEXT, NULL, 1, 1, 0, args), "nv_launch");
    done(p, nv_to_device(p->device, NULL, there, a, N * sizeof *a), "nv_to_device");
    memset(a, 0xff, N * sizeof *a);
    done(p, nv_to_host(p->device, NULL, a, there, N * sizeof *a), "nv_to_host");
    for (unsigned i = 0; i < N; i++) bad += a[i] != i;
    check(p, !bad, "what was copied from may change at once");
    done(p, nv_free(p->device, NULL, there), "nv_free");
    done(p, nv_free(p->device, NULL, busy), "nv_free");
    free(a);
}

static void steady(Probe *p) {
    int64_t reserved = 0, changed = 0;
    double took = 0;
    for (int i = 0; i < 200; i++) {
        uint64_t at[4];
        double t0 = now_us();
        for (int k = 0; k < 4; k++) done(p, nv_alloc(p->device, NULL, ((size_t)1 << 20) * (size_t)(k + 1) + 12, &at[k]), "nv_alloc");
        for (int k = 0; k < 4; k++) done(p, nv_free(p->device, NULL, at[k]), "nv_free");
        took += now_us() - t0;
        if (i % 7 == 0) done(p, nv_wait(p->device, NULL), "nv_wait");
        NvStats s = nv_stats(p->device);
        if (i == 3) reserved = s.reserved;
        changed += i > 3 && s.reserved != reserved;
    }
    check(p, reserved > 0 && !changed, "the pool keeps its memory and grows no more");
    printf("    %lld bytes; %.2f us to take a block and give it back\n", (long long)reserved, took / 800);
}

static void too_much(Probe *p) {
    size_t unused, total;
    uint64_t at = 0;
    nv_memory_info(p->device, &unused, &total);
    check(p, unused > 0 && unused <= total, "free memory is known");
    check(p, nv_alloc(p->device, NULL, total * 2, &at) == 2, "more memory than there is");
    check(p, !nv_alloc(p->device, NULL, 1000, &at) && !nv_free(p->device, NULL, at), "and less of it, afterwards");
}

static void copies(Probe *p) {
    size_t bytes = (size_t)256 << 20;
    char *a = calloc(1, bytes);
    uint64_t there = 0;
    if (!a) return;
    done(p, nv_alloc(p->device, NULL, bytes, &there), "nv_alloc");
    for (int i = 0; i < 2; i++) {
        double t0 = now_us();
        done(p, nv_to_device(p->device, NULL, there, a, bytes), "nv_to_device");
        done(p, nv_wait(p->device, NULL), "nv_wait");
        double t1 = now_us();
        done(p, nv_to_host(p->device, NULL, a, there, bytes), "nv_to_host");
        double t2 = now_us();
        printf("    256 MiB: %.2f GB/s there, %.2f GB/s home\n", (double)bytes / (t1 - t0) * 1e-3, (double)bytes / (t2 - t1) * 1e-3);
    }
    done(p, nv_free(p->device, NULL, there), "nv_free");
    free(a);
}

/* Last, since nothing works afterwards. */
static void late_error(Probe *p) {
    uint64_t there = 0;
    int value = 0;
    void *args[] = { &there };
    done(p, nv_alloc(p->device, NULL, 4, &there), "nv_alloc");
    int launch = run(p, FAULT, NULL, 1, 1, 0, args), copy = nv_to_host(p->device, NULL, &value, there, 4);
    check(p, !launch && copy == 700 && !strcmp(nv_error_name(p->device, copy), "CUDA_ERROR_ILLEGAL_ADDRESS"),
          "a kernel's error is told by the next wait");
}

static void probe(Probe *p) {
    void *const legacy = NULL, *const of_thread = (void *)2; /* CU_STREAM_PER_THREAD */
    Barrier b;
    if (FAULT_TRY(&p->fault, b)) {
        open_all(p);
        FAULT_END(&p->fault, b);
    } else {
        int code = p->fault.info.code;
        bool missing = code == ERR_CUDA_MISSING || code == ERR_CUDA_NO_DEVICE || code == ERR_NVRTC_MISSING;
        printf("%s: %s\n", missing ? "skipped" : "FAILED", p->fault.info.message);
        p->failed = !missing;
        return;
    }
    scale(p, legacy, 1000003);
    scale(p, of_thread, 77);
    turn(p);
    order(p, legacy);
    order(p, of_thread);
    copied_from(p);
    steady(p);
    too_much(p);
    copies(p);
    if (!getenv("MLC_GPU_WAIT")) late_error(p);
    printf("gpu-check: %s\n", p->failed ? "FAILED" : "all is well");
}

int main(void) {
    Probe p = { 0 };
    arena_init(&p.arena, NULL, &p.fault);
    probe(&p);
    nv_module_free(p.module);
    nv_device_close(p.device);
    nv_compiler_close(p.compiler);
    arena_free(&p.arena);
    return p.failed != 0;
}
