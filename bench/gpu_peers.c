/* gpu_peers.c - the peers of bench_gpu: the driver's copy and cuBLAS, by dlopen, on the buffers that our kernels have. */
#include "gpu_bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    int (*wait)(void);
    int (*alloc)(uint64_t *at, size_t bytes);
    int (*release)(uint64_t at);
    int (*load)(void **module, const void *image);
    int (*unload)(void *module);
    int (*function)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                  void **args, void **extra);
} driver;

static bool find(void *lib, const char *name, void *fn) {
    void *at = lib ? dlsym(lib, name) : NULL;
    memcpy(fn, &at, sizeof at);
    return at != NULL;
}

static bool failed(mlc_error_info *e, const char *what, int code) {
    if (code) snprintf(e->message, sizeof e->message, "%s: error %d", what, code);
    return code != 0;
}

bool gpu_open(void) {
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*init)(unsigned flags), (*retain)(void **context, int device), (*set)(void *context);
    return find(lib, "cuInit", &init) && find(lib, "cuDevicePrimaryCtxRetain", &retain) && find(lib, "cuCtxSetCurrent", &set) &&
           find(lib, "cuMemcpyDtoDAsync_v2", &driver.copy) && find(lib, "cuCtxSynchronize", &driver.wait) &&
           find(lib, "cuMemAlloc_v2", &driver.alloc) && find(lib, "cuMemFree_v2", &driver.release) && find(lib, "cuModuleLoadData", &driver.load) &&
           find(lib, "cuModuleUnload", &driver.unload) && find(lib, "cuModuleGetFunction", &driver.function) && find(lib, "cuLaunchKernel", &driver.launch) &&
           !init(0) &&
           !retain(&context, 0) && !set(context);
}

bool gpu_wait(mlc_error_info *e) {
    return !failed(e, "cuCtxSynchronize", driver.wait());
}

/* ---- data ---- */

static void put_float(mlc_buffer *b, int64_t i, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    switch (b->type) {
    case MLC_F32: ((float *)b->data)[i] = v; break;
    case MLC_F64: ((double *)b->data)[i] = (double)v; break;
    case MLC_BF16: ((uint16_t *)b->data)[i] = (uint16_t)(bits >> 16); break;
    case MLC_F16: { /* normal values alone: smaller ones become 0 */
        int exponent = (int)(bits >> 23 & 255) - 112;
        uint32_t half = exponent > 0 ? (uint32_t)exponent << 10 | (bits >> 13 & 1023) : 0;
        ((uint16_t *)b->data)[i] = (uint16_t)((bits >> 16 & 0x8000) | half);
        break;
    }
    default: break;
    }
}

void gpu_fill(mlc_buffer *b, int seed, bool small) {
    uint32_t s = (uint32_t)seed * 2654435761u;
    size_t size = mlc_type_size(b->type);
    bool real = b->type == MLC_F32 || b->type == MLC_F64 || b->type == MLC_F16 || b->type == MLC_BF16;
    for (int64_t i = 0, n = mlc_buffer_count(b); i < n; i++) {
        s = s * 1664525u + 1013904223u;
        int whole = (int)(s >> 24) % 7 - 3;
        if (real) put_float(b, i, small ? (float)whole : (float)(int32_t)s * 0x1p-29f);
        else memset((char *)b->data + i * (int64_t)size, small ? whole & 3 : (int)(s >> 24), size);
    }
}

/* ---- the driver's copy ---- */

typedef struct {
    uint64_t from, to;
    size_t bytes;
} Copy;

static bool call_copy(void *user, mlc_error_info *e) {
    Copy *c = user;
    return !failed(e, "cuMemcpyDtoDAsync", driver.copy(c->to, c->from, c->bytes, NULL));
}

static size_t bytes_of(const mlc_buffer *b) {
    return (size_t)mlc_buffer_count(b) * mlc_type_size(b->type);
}

static bool open_copy(GpuPeer *p, const GpuBuffers *b, mlc_error_info *e) {
    Copy *c = calloc(1, sizeof *c);
    if (!c) return false;
    *p = (GpuPeer){ .call = call_copy, .user = c };
    for (int i = 0; i < b->n; i++) c->bytes += bytes_of(b->at[i]);
    c->bytes /= 2;
    return !failed(e, "cuMemAlloc", driver.alloc(&c->from, c->bytes)) && !failed(e, "cuMemAlloc", driver.alloc(&c->to, c->bytes));
}

static void close_copy(Copy *c) {
    if (c->from) driver.release(c->from);
    if (c->to) driver.release(c->to);
}

/* ---- cuBLAS ---- */

/* cublasGemmEx, column-major: what is c(x, y) here is theirs transposed, so b comes first. */
typedef int (*GemmEx)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                      const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algo);

typedef struct {
    GemmEx gemm;
    void *handle;
    int m, n, k, type, type_c;
    uint64_t a, b, c;
} Gemm;

/* Of library_types.h and cublas_api.h. */
enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14, CUBLAS_COMPUTE_32F = 68, CUBLAS_DEFAULT = -1 };

static bool call_gemm(void *user, mlc_error_info *e) {
    static const float one = 1, zero = 0;
    Gemm *g = user;
    const void *a = (const void *)(uintptr_t)g->a, *b = (const void *)(uintptr_t)g->b;
    return !failed(e, "cublasGemmEx", g->gemm(g->handle, 0, 0, g->m, g->n, g->k, &one, b, g->type, g->m, a, g->type, g->k, &zero,
                                              (void *)(uintptr_t)g->c, g->type_c, g->m, CUBLAS_COMPUTE_32F, CUBLAS_DEFAULT));
}

static int cuda_type(mlc_type t) {
    return t == MLC_F32 ? CUDA_R_32F : t == MLC_F16 ? CUDA_R_16F : t == MLC_BF16 ? CUDA_R_16BF : -1;
}

static bool open_gemm(GpuPeer *p, bool plain, const GpuBuffers *b, mlc_error_info *e) {
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so" };
    const mlc_buffer *A = b->at[0], *B = b->at[1], *C = b->at[b->n - 1];
    void *lib = NULL;
    int (*create)(void **handle);
    bool fits = b->inputs >= 2 && A->rank == 2 && B->rank == 2 && C->rank == 2 && A->type == B->type &&
                A->dim[0].extent == B->dim[1].extent && A->dim[1].extent == C->dim[1].extent && B->dim[0].extent == C->dim[0].extent;
    if (!fits || cuda_type(A->type) < 0 || cuda_type(C->type) < 0 || (plain && (A->type != MLC_F32 || C->type != MLC_F32))) {
        snprintf(e->message, sizeof e->message, "the buffers are not those of the peer's matrix product");
        return false;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++) lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    Gemm *g = lib ? calloc(1, sizeof *g) : NULL;
    if (!g) return true; /* not installed: its columns say so */
    *g = (Gemm){ .m = (int)B->dim[0].extent, .n = (int)A->dim[1].extent, .k = (int)A->dim[0].extent, .type = cuda_type(A->type),
                 .type_c = cuda_type(C->type), .a = A->device, .b = B->device };
    p->user = g;
    if (!find(lib, "cublasCreate_v2", &create) || !find(lib, "cublasGemmEx", &g->gemm)) return true;
    if (failed(e, "cublasCreate", create(&g->handle)) || failed(e, "cuMemAlloc", driver.alloc(&g->c, bytes_of(C)))) return false;
    p->call = call_gemm;
    return true;
}

static void close_gemm(Gemm *g) {
    if (g->c) driver.release(g->c);
}

/* ---- Halide ---- */

static bool call_halide(void *user, mlc_error_info *e) {
    return !failed(e, "halide", peer_halide_run(user));
}

static bool wait_for_halide(void *user, mlc_error_info *e) {
    return !failed(e, "halide_device_sync", peer_halide_wait(user));
}

static bool open_halide(GpuPeer *p, const char *app, const GpuBuffers *b) {
    PeerArray array[GPU_MOST] = { 0 };
    for (int i = 0; i < b->n; i++) {
        const mlc_buffer *a = b->at[i];
        array[i] = (PeerArray){ .data = a->data, .rank = a->rank, .type = a->type == MLC_F32 ? 'f' : a->type == MLC_U16 ? 'w' : 'u' };
        for (int d = 0; d < a->rank && d < 4; d++) array[i].extent[d] = a->dim[d].extent;
    }
    void *h = peer_halide_gpu(app, b->n, array);
    if (h) *p = (GpuPeer){ call_halide, wait_for_halide, h };
    return true;
}

/* ---- launches by the driver, and nothing around them ---- */

typedef struct {
    void *module, *function;
    int n;
} Launches;

static bool call_launches(void *user, mlc_error_info *e) {
    Launches *l = user;
    uint64_t arg[4] = { 0 };
    void *args[4] = { &arg[0], &arg[1], &arg[2], &arg[3] };
    int rc = 0;
    for (int i = 0; i < l->n && !rc; i++) rc = driver.launch(l->function, 1, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
    return !failed(e, "cuLaunchKernel", rc);
}

static bool open_launches(GpuPeer *p, int n, mlc_error_info *e) {
    static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                              ".visible .entry empty(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }\n";
    Launches *l = calloc(1, sizeof *l);
    if (!l) return false;
    *p = (GpuPeer){ .call = call_launches, .user = l };
    l->n = n;
    return !failed(e, "cuModuleLoadData", driver.load(&l->module, ptx)) &&
           !failed(e, "cuModuleGetFunction", driver.function(&l->function, l->module, "empty"));
}

bool gpu_peer_open(GpuPeer *p, const char *kind, const GpuBuffers *b, mlc_error_info *e) {
    *p = (GpuPeer){ 0 };
    if (!strcmp(kind, "copy")) return open_copy(p, b, e);
    if (!strcmp(kind, "sgemm") || !strcmp(kind, "gemm")) return open_gemm(p, kind[0] == 's', b, e);
    if (!strncmp(kind, "halide ", 7)) return open_halide(p, kind + 7, b);
    if (!strncmp(kind, "launch ", 7)) return open_launches(p, atoi(kind + 7), e);
    snprintf(e->message, sizeof e->message, "there is no peer %s; use copy, sgemm, gemm, launch N or halide NAME", kind);
    return false;
}

void gpu_peer_close(GpuPeer *p) {
    if (p->call == call_copy) close_copy(p->user);
    if (p->call == call_gemm) close_gemm(p->user);
    if (p->call == call_launches) driver.unload(((Launches *)p->user)->module);
    if (p->call == call_halide) peer_halide_leave_gpu(p->user);
    free(p->user);
    *p = (GpuPeer){ 0 };
}
