/* cpu_gpu.h - CUDA C++ without a GPU: as C++ on this processor, to be run, and through NVRTC, to be compiled.
 *
 * A few definitions make C++ of it.  Every thread of a block is a coroutine; between two barriers they run one after the
 * other, in an order that turns around at each barrier, in blocks from the last to the first.  Memory of a block and of the
 * device begins as garbage, and the host's copy of what the device writes becomes garbage too: what nobody moved, or no
 * barrier keeps apart, shows. */
#ifndef CPU_GPU_H
#define CPU_GPU_H

#include "codegen/backend.h"
#include "nvrtc/nvrtc.h"

#include <mlc/runtime.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char cuda_before[] =
    "#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n#include <ucontext.h>\n#include <utility>\n"
    "#define __global__\n#define __device__\n#define __shared__\n#define __forceinline__ inline __attribute__((always_inline))\n"
    "#define __launch_bounds__(n)\n#define __align__(n) __attribute__((aligned(n)))\n"
    "struct Place { unsigned x, y, z; };\n"
    "static Place blockIdx, threadIdx;\n"
    "__attribute__((aligned(128))) unsigned char shared[232448];\n"
    "enum { MOST = 1024, STACK = 1 << 16 };\n"
    "static ucontext_t scheduler, context[MOST];\n"
    "static int waits[MOST], running;\n"
    "static void __syncthreads() { waits[running] = 1; swapcontext(&context[running], &scheduler); }\n"
    "template <class T, class F> static T as(F f) { T t; memcpy(&t, &f, sizeof t); return t; }\n"
    "static int __float_as_int(float f) { return as<int>(f); }\n"
    "static float __int_as_float(int i) { return as<float>(i); }\n"
    "static long long __double_as_longlong(double f) { return as<long long>(f); }\n"
    "static double __longlong_as_double(long long i) { return as<double>(i); }\n"
    "static float __fsqrt_rn(float a) { return sqrtf(a); }\n"
    "static double __dsqrt_rn(double a) { return sqrt(a); }\n"
    "static __attribute__((noinline)) float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }\n"
    "static __attribute__((noinline)) double __fma_rn(double a, double b, double c) { return fma(a, b, c); }\n"
    "static float __double2float_rz(double a) {\n"
    "    float f = (float)a;\n"
    "    return a == a && fabs((double)f) > fabs(a) ? nextafterf(f, 0) : f;\n"
    "}\n"
    "static int __popc(unsigned a) { return __builtin_popcount(a); }\n"
    "static int __popcll(unsigned long long a) { return __builtin_popcountll(a); }\n"
    "static int __clz(int a) { return a ? __builtin_clz(a) : 32; }\n"
    "static int __clzll(long long a) { return a ? __builtin_clzll(a) : 64; }\n"
    "static int __ffs(int a) { return __builtin_ffs(a); }\n"
    "static int __ffsll(long long a) { return __builtin_ffsll(a); }\n";

static const char cuda_after[] =
    "typedef void Kernel(void **args);\n"
    "template <class... P, size_t... I> static void unpack(void (*k)(P...), void **a, std::index_sequence<I...>) { k(*(P *)a[I]...); }\n"
    "template <class... P> static void start(void (*k)(P...), void **a) { unpack(k, a, std::index_sequence_for<P...>()); }\n"
    "static Kernel *kernel_now;\n"
    "static void **args_now;\n"
    "static void thread_main() { kernel_now(args_now); waits[running] = 2; }\n"
    /* 0, or 1 where some threads wait at a barrier that others never reach. */
    "static int run_block(const long *n, long size, bool back) {\n"
    "    static char *stack = (char *)malloc((size_t)MOST * STACK);\n"
    "    long total = n[0] * n[1] * n[2];\n"
    "    memset(shared, 0xa5, size);\n"
    "    for (long t = 0; t < total; t++) {\n"
    "        getcontext(&context[t]);\n"
    "        context[t].uc_stack.ss_sp = stack + t * STACK;\n"
    "        context[t].uc_stack.ss_size = STACK;\n"
    "        context[t].uc_link = &scheduler;\n"
    "        waits[t] = 0;\n"
    "        makecontext(&context[t], thread_main, 0);\n"
    "    }\n"
    "    for (long done = 0, waiting = 0; done < total; back = !back) {\n"
    "        done = waiting = 0;\n"
    "        for (long k = 0; k < total; k++) {\n"
    "            long t = back ? total - 1 - k : k;\n"
    "            if (waits[t] != 2) {\n"
    "                running = (int)t;\n"
    "                waits[t] = 0;\n"
    "                threadIdx = { unsigned(t % n[0]), unsigned(t / n[0] % n[1]), unsigned(t / n[0] / n[1]) };\n"
    "                swapcontext(&scheduler, &context[t]);\n"
    "            }\n"
    "            if (waits[t] == 2) done++;\n"
    "            else waiting++;\n"
    "        }\n"
    "        if (done && waiting) return 1;\n"
    "    }\n"
    "    return 0;\n"
    "}\n"
    "extern \"C\" int launch(int kernel, const long *grid, const long *threads, long size, void **args) {\n"
    "    int bad = 0;\n"
    "    kernel_now = kernels[kernel];\n"
    "    args_now = args;\n"
    "    for (long b = grid[0] * grid[1] * grid[2]; b-- > 0;) {\n"
    "        blockIdx = { unsigned(b % grid[0]), unsigned(b / grid[0] % grid[1]), unsigned(b / grid[0] / grid[1]) };\n"
    "        bad |= run_block(threads, size, b & 1);\n"
    "    }\n"
    "    return bad;\n"
    "}\n";

/* The kernels of a program, loaded. */
typedef struct {
    void *handle;
    int (*launch)(int kernel, const int64_t *grid, const int64_t *threads, int64_t size, void **args);
    bool sparse;                      /* buffers have gaps, which are not the program's to write */
    int launches, to_device, to_host; /* counted: kernels, copies */
    int diverged;                     /* blocks with threads that wait for ever */
} CpuGpu;

static inline bool cuda_has_cpp(void) {
    return system("command -v g++ >/dev/null 2>&1") == 0;
}

static inline void cuda_write(FILE *f, const Program *p, const char *source) {
    fputs(cuda_before, f);
    fputs(source, f);
    fputs("typedef void Kernel(void **args);\n", f);
    fputs("template <class... P> static void start(void (*k)(P...), void **a);\n", f);
    for (int i = 0; i < p->kernel.n; i++)
        fprintf(f, "static void start_%d(void **a) { start(%s_kernel, a); }\n", i, p->kernel.at[i]->name);
    fputs("static Kernel *const kernels[] = { ", f);
    for (int i = 0; i < p->kernel.n; i++) fprintf(f, "start_%d, ", i);
    fputs("};\n", f);
    fputs(cuda_after, f);
}

/* NULL, or why not.  Signed arithmetic that overflows stops the process: on a GPU it is undefined. */
static inline const char *cuda_load(Arena *a, const Program *p, const char *source, CpuGpu *g) {
    char folder[] = "/tmp/mlc_cuda_XXXXXX";
    const char *why = NULL;
    if (!mkdtemp(folder)) return "no folder for the kernels";
    const char *cpp = arena_printf(a, "%s/k.cpp", folder), *so = arena_printf(a, "%s/k.so", folder);
    FILE *f = fopen(cpp, "w");
    if (!f) return "no file for the kernels";
    cuda_write(f, p, source);
    fclose(f);
    if (getenv("CUDA_DUMP") && system(arena_printf(a, "cp %s %s", cpp, getenv("CUDA_DUMP")))) why = "CUDA_DUMP is no place";
    const char *run = arena_printf(a, "g++ -std=c++17 -O1 -w -ffp-contract=off -fsanitize=signed-integer-overflow "
                                      "-fsanitize-undefined-trap-on-error -shared -fPIC -o %s %s", so, cpp);
    if (!why && system(run)) return arena_printf(a, "g++ failed on %s", cpp);
    g->handle = why ? NULL : dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (g->handle) *(void **)&g->launch = dlsym(g->handle, "launch");
    if (!g->launch) why = dlerror();
    return system(arena_printf(a, "rm -r %s", folder)) ? "the folder of the kernels stays" : why;
}

/* ---- the hooks ---- */

static inline int cuda_move(void *user, void *call, mlc_gpu_memory *m, int to_device, int what) {
    CpuGpu *g = user;
    uint32_t here = to_device ? MLC_ON_DEVICE : MLC_ON_HOST;
    (void)call;
    if (to_device && !m->device) {
        m->device = (uint64_t)(uintptr_t)malloc(m->bytes + 1);
        m->owned |= MLC_ON_DEVICE;
    }
    if (!to_device && !m->host) {
        m->host = malloc(m->bytes + 1);
        m->owned |= MLC_ON_HOST;
    }
    void *device = (void *)(uintptr_t)m->device, *to = to_device ? device : m->host, *from = to_device ? m->host : device;
    if (!(m->current & here)) {
        if ((what == 2 && !g->sparse) || !m->current) memset(to, 0xa5, m->bytes);
        else {
            memcpy(to, from, m->bytes);
            if (to_device) g->to_device++;
            else g->to_host++;
        }
        m->current |= here;
    }
    if (what) {
        if (from && !g->sparse) memset(from, 0x5a, m->bytes);
        m->current = here;
    }
    return 0;
}

static inline void cuda_close(void *user, void *call, mlc_gpu_memory *m) {
    (void)user, (void)call;
    if (m->owned & MLC_ON_DEVICE) free((void *)(uintptr_t)m->device);
    if (m->owned & MLC_ON_HOST) free(m->host);
    m->owned = 0;
}

static inline int cuda_launch(void *user, void *call, int kernel, const int64_t grid[3], const int64_t threads[3], int64_t size, void **args) {
    CpuGpu *g = user;
    (void)call;
    g->launches++;
    g->diverged += g->launch(kernel, grid, threads, size, args);
    return 0;
}

static inline void *cuda_host_alloc(void *user, size_t bytes) {
    (void)user;
    return malloc(bytes + 1);
}

static inline void cuda_host_release(void *user, void *p) {
    (void)user;
    free(p);
}

static inline mlc_hooks cuda_hooks(CpuGpu *g) {
    return (mlc_hooks){ .user = g, .alloc = cuda_host_alloc, .release = cuda_host_release, .gpu_move = cuda_move,
                        .gpu_close = cuda_close, .gpu_launch = cuda_launch };
}

/* ---- NVRTC ---- */

/* Compiles for each architecture, or only the first: NULL, or what it says where that fails.  *found: is there an NVRTC? */
static inline const char *cuda_compiles(Arena *a, const char *source, bool all, NvReport *report, bool *found) {
    static const char *const arch[] = { "sm_90a", "sm_80", "sm_100a" };
    Fault f = { 0 };
    Barrier b;
    NvCompiler *volatile c = NULL;
    const char *volatile why = NULL;
    if (FAULT_TRY(&f, b)) {
        c = nv_compiler_open(NULL, &f);
        FAULT_END(&f, b);
    }
    *found = c != NULL;
    for (volatile int i = 0; c && !why && i < (all ? 3 : 1); i++) {
        Barrier inner;
        size_t n = 0;
        if (FAULT_TRY(a->fault, inner)) {
            NvOptions o = { .arch = nv_arch(a, c, arch[i]) };
            if (!nv_compile(a, c, &o, source, "kernels.cu", &n, i ? NULL : report)) why = "no code";
            FAULT_END(a->fault, inner);
        } else why = arena_printf(a, "%s: %s", arch[i], a->fault->info.message);
    }
    if (c) nv_compiler_close(c);
    return why;
}

#endif
