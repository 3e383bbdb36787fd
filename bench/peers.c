/* peers.c - what a user would pick instead, loaded into this process where it is installed.
 *
 * Halide's functions take halide_buffer_t, whose layout is declared here as its runtime header states
 * it.  Its intermediates come from malloc at each call: bench programs set glibc to keep large blocks
 * before the first call, or the peer would pay for fresh pages every time. */
#include "bench.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t min, extent, stride;
    uint32_t flags;
} HalideDim;

typedef struct {
    uint64_t device;
    const void *interface;
    uint8_t *host;
    uint64_t flags;
    uint8_t code, bits;
    uint16_t lanes;
    int32_t dimensions;
    HalideDim *dim;
    void *padding;
} HalideBuffer;

enum { MAX_ARGS = 4 };

typedef struct {
    int (*call)(void **);
    int (*wait)(void *user, HalideBuffer *b);
    int (*release)(void *user, HalideBuffer *b);
    void *library;
    int n;
    HalideBuffer buffer[MAX_ARGS];
    HalideDim dim[MAX_ARGS][4];
    void *argv[MAX_ARGS];
} HalideApp;

void *peer_halide(const char *app, int n, const PeerArray *arrays) {
    char path[512], symbol[96];
    const char *folder = getenv("MLC_HALIDE");
    snprintf(path, sizeof path, "%s/libhalide_apps.so", folder ? folder : "build/halide");
    snprintf(symbol, sizeof symbol, "halide_%s_argv", app);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library || n > MAX_ARGS) return NULL;
    HalideApp *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    *(void **)&h->call = dlsym(library, symbol);
    if (!h->call) {
        free(h);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        HalideBuffer *b = &h->buffer[i];
        b->host = arrays[i].data;
        b->code = arrays[i].type == 'f' ? 2 : 1;
        b->bits = arrays[i].type == 'f' ? 32 : arrays[i].type == 'w' ? 16 : 8;
        b->lanes = 1;
        b->dimensions = arrays[i].rank;
        b->dim = h->dim[i];
        int64_t stride = 1;
        for (int d = 0; d < arrays[i].rank; d++) {
            b->dim[d] = (HalideDim){ 0, (int32_t)arrays[i].extent[d], (int32_t)stride, 0 };
            stride *= arrays[i].extent[d];
        }
        h->argv[i] = b;
    }
    h->library = library;
    h->n = n;
    return h;
}

/* Inputs are copied to its device at the first call, and stay there. */
void *peer_halide_gpu(const char *app, int n, const PeerArray *arrays) {
    enum { HOST_DIRTY = 1 };
    HalideApp *h = peer_halide(app, n, arrays);
    if (!h) return NULL;
    *(void **)&h->wait = dlsym(h->library, "halide_device_sync");
    *(void **)&h->release = dlsym(h->library, "halide_device_free");
    for (int i = 0; i < n; i++) h->buffer[i].flags = HOST_DIRTY;
    if (h->wait && h->release) return h;
    free(h);
    return NULL;
}

int peer_halide_wait(void *app) {
    HalideApp *h = app;
    return h->wait(NULL, &h->buffer[h->n - 1]);
}

void peer_halide_leave_gpu(void *app) {
    HalideApp *h = app;
    for (int i = 0; i < h->n; i++) h->release(NULL, &h->buffer[i]);
}

int peer_halide_run(void *app) {
    HalideApp *h = app;
    return h->call(h->argv);
}

void peer_halide_call(void *app) {
    int error = peer_halide_run(app);
    if (error) fprintf(stderr, "halide: error %d\n", error);
}

static void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                     const float *b, int ldb, float beta, float *c, int ldc);

bool peer_openblas_open(int threads) {
    const char *names[] = { "libopenblas.so.0", "libopenblas.so" };
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    void (*set)(int);
    *(void **)&set = dlsym(library, "openblas_set_num_threads");
    if (set) set(threads);
    return sgemm != NULL;
}

void peer_openblas_call(void *gemm) {
    const PeerGemm *g = gemm;
    sgemm(101, 111, 111, g->n, g->n, g->n, 1.f, g->a, g->n, g->b, g->n, 0.f, g->c, g->n);
}

typedef struct {
    float *to;
    const float *from;
    size_t bytes;
} Part;

static void *copy_part(void *part) {
    Part *p = part;
    memcpy(p->to, p->from, p->bytes);
    return NULL;
}

void bench_copy(void *copy) {
    const BenchCopy *c = copy;
    enum { MOST = 64 };
    pthread_t thread[MOST];
    Part part[MOST];
    int n = c->threads < MOST ? c->threads : MOST;
    for (int i = 0; i < n; i++) {
        int64_t from = c->n * i / n, to = c->n * (i + 1) / n;
        part[i] = (Part){ c->to + from, c->from + from, (size_t)(to - from) * sizeof(float) };
        if (i && pthread_create(&thread[i], NULL, copy_part, &part[i])) n = i;
    }
    copy_part(&part[0]);
    for (int i = 1; i < n; i++) pthread_join(thread[i], NULL);
}
