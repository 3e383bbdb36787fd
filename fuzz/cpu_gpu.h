/* cpu_gpu.h - CUDA C++ without a GPU: as C++ on this processor, to be run, and through NVRTC, to be compiled.
 *
 * A few definitions make C++ of it.  Every thread of a block is a coroutine; between two barriers they run one after the
 * other, in an order that turns around at each barrier, in blocks from the last to the first.  Memory of a block and of the
 * device begins as garbage, and the host's copy of what the device writes becomes garbage too: what nobody moved, or no
 * barrier keeps apart, shows. */
#ifndef CPU_GPU_H
#define CPU_GPU_H

#include "cuda_cpp.h"

#include "codegen/backend.h"
#include "nvrtc/nvrtc.h"

#include <mlc/runtime.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
