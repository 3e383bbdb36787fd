/* fake_cuda.c - a library with the driver's functions over the memory of the host.
 *
 * Everything is as late as it may be: what is put into a stream runs when somebody waits for the stream, so that a missing
 * wait shows.  Memory that is given back is filled with 0xdd when its turn in the stream comes; a block is used again in the
 * same stream at once, in another one only after that.  Pageable memory is read at once, page-locked memory late.
 *
 * Kernels are those that tests give, and what fake_cpp.c makes of CUDA C++: with MLC_NVRTC and MLC_LIBCUDA set to the two files
 * any program runs its kernels on this processor. */
#include "fake_cuda.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500 };

typedef struct Op {
    struct Op *next;
    enum { COPY, LAUNCH, POISON } kind;
    char *to;
    const char *from;
    char *staged; /* freed with it */
    size_t bytes;
    FakeFunction function;
    unsigned grid[3], block[3], shared;
    _Alignas(16) char arg[FAKE_ARGS][64];
} Op;

typedef struct Block {
    struct Block *next;
    char *at;
    size_t bytes;
    bool used, resting; /* resting: given back, and its turn in the stream has come */
    void *stream;       /* that it was given back in */
} Block;

typedef struct {
    void *handle;
    Op *first, **last;
    int64_t n;
    bool records;
} Stream;

typedef struct {
    int device, primary;
} Context;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FakeStats stats;
static int n_devices = 1, sticky;
static size_t memory = 1u << 30;
static FakeFunction functions[MOST];
static int n_functions;
static Stream streams[MOST];
static Block *blocks;
static uint64_t threshold;
static Context contexts[MOST]; /* the first ones: primary */
static int n_contexts;
static struct {
    char name[64];
    int nth, error;
} failure;
static const char *pinned;
static size_t pinned_bytes;
static _Thread_local Context *stack[MOST];
static _Thread_local int depth;

/* ---- steering ---- */

static Stream *stream_of(void *handle) {
    for (Stream *s = streams; s < streams + MOST; s++) {
        if (s->last && s->handle != handle) continue;
        if (!s->last) *s = (Stream){ .handle = handle, .last = &s->first };
        return s;
    }
    return streams;
}

static int run(Op *o) {
    void *args[FAKE_ARGS];
    for (int i = 0; i < FAKE_ARGS; i++) args[i] = o->arg[i];
    if (o->kind == COPY) memcpy(o->to, o->from, o->bytes);
    if (o->kind == POISON) memset(o->to, 0xdd, o->bytes);
    return o->kind == LAUNCH && o->function.run ? o->function.run(o->grid, o->block, o->shared, args) : OK;
}

static void flush(Stream *s, bool dry) {
    while (s->first) {
        Op *o = s->first;
        s->first = o->next;
        if (!s->first) s->last = &s->first;
        s->n--;
        if (!dry && !sticky) sticky = run(o);
        free(o->staged);
        free(o);
    }
    for (Block *b = blocks; b; b = b->next)
        if (!b->used && b->stream == s->handle) b->resting = true;
}

static void fake_reset(void) {
    for (int i = 0; i < MOST; i++)
        if (streams[i].last) flush(&streams[i], true), streams[i].last = NULL;
    while (blocks) {
        Block *b = blocks;
        blocks = b->next;
        free(b->at);
        free(b);
    }
    stats = (FakeStats){ 0 };
    memory = 1u << 30;
    n_devices = 1;
    n_functions = depth = n_contexts = sticky = 0;
    failure.error = 0;
    pinned = NULL;
    threshold = 0;
}

static FakeStats fake_stats(void) {
    pthread_mutex_lock(&lock);
    FakeStats s = stats;
    pthread_mutex_unlock(&lock);
    return s;
}

static void fake_devices(int n) {
    n_devices = n;
}

static void fake_memory(size_t bytes) {
    memory = bytes;
}

static void fake_function(const FakeFunction *f) {
    functions[n_functions++] = *f;
}

static void fake_fail(const char *function, int nth, int error) {
    snprintf(failure.name, sizeof failure.name, "%s", function ? function : "");
    failure.nth = nth;
    failure.error = error;
}

static void fake_pin(const void *p, size_t bytes) {
    pinned = p;
    pinned_bytes = bytes;
}

static Context *context_of(int device, int primary) {
    for (int i = 0; i < n_contexts && primary; i++)
        if (contexts[i].primary && contexts[i].device == device) return &contexts[i];
    contexts[n_contexts] = (Context){ device, primary };
    return &contexts[n_contexts++];
}

static void *fake_context(int device) {
    return context_of(device, 0);
}

static void *fake_current(void) {
    return depth ? stack[depth - 1] : NULL;
}

static void fake_set_current(void *context) {
    depth = context ? 1 : 0;
    stack[0] = context;
}

static int fake_depth(void) {
    return depth;
}

static int fake_attribute(const char *function, int which) {
    for (int i = 0; i < n_functions; i++)
        if (!strcmp(functions[i].name, function) && which == 8) return functions[i].dynamic;
    return -1;
}

static int64_t fake_queued(void *stream) {
    return stream_of(stream)->n;
}

static void fake_wait(void *stream) {
    pthread_mutex_lock(&lock);
    flush(stream_of(stream), false);
    pthread_mutex_unlock(&lock);
}

const FakeCuda *fake_cuda(void) {
    static const FakeCuda steering = { fake_reset, fake_stats, fake_devices, fake_memory, fake_function, fake_fail, fake_pin,
                                       fake_context, fake_current, fake_set_current, fake_depth, fake_attribute, fake_queued, fake_wait };
    return &steering;
}

/* ---- the driver: each function begins with enter and ends with leave ---- */

/* Of contexts that have failed one may still ask. */
static int enter_any(const char *name) {
    pthread_mutex_lock(&lock);
    stats.calls++;
    if (failure.error && (!*failure.name || !strcmp(failure.name, name)) && failure.nth-- == 0) {
        int e = failure.error;
        failure.error = 0;
        return e;
    }
    return OK;
}

static int enter(const char *name) {
    int rc = enter_any(name);
    return rc ? rc : sticky;
}

/* Most work wants a context. */
static int enter_context(const char *name) {
    int rc = enter(name);
    return rc ? rc : depth ? OK : INVALID_CONTEXT;
}

static int leave(int rc) {
    pthread_mutex_unlock(&lock);
    return rc;
}

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    int rc = enter("cuInit");
    return leave(rc ? rc : flags ? INVALID_VALUE : n_devices ? OK : NO_DEVICE);
}

static int fake_cuDriverGetVersion(int *version) {
    *version = 13010;
    return leave(enter("cuDriverGetVersion"));
}

static int fake_cuGetErrorName(int error, const char **name) {
    static const struct {
        int error;
        const char *name;
    } known[] = { { 1, "CUDA_ERROR_INVALID_VALUE" }, { 2, "CUDA_ERROR_OUT_OF_MEMORY" }, { 500, "CUDA_ERROR_NOT_FOUND" },
                  { 700, "CUDA_ERROR_ILLEGAL_ADDRESS" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error) return *name = known[i].name, OK;
    return INVALID_VALUE;
}

static int fake_cuGetErrorString(int error, const char **text) {
    static const char *const texts[] = { "no error", "invalid argument", "out of memory" };
    *text = error == 700 ? "an illegal memory access was encountered" : error < 3 ? texts[error] : NULL;
    return *text ? OK : INVALID_VALUE;
}

static int fake_cuDeviceGetCount(int *n) {
    *n = n_devices;
    return leave(enter("cuDeviceGetCount"));
}

static int fake_cuDeviceGet(int *device, int ordinal) {
    int rc = enter("cuDeviceGet");
    *device = ordinal;
    return leave(rc ? rc : ordinal < n_devices ? OK : INVALID_DEVICE);
}

static int fake_cuDeviceGetName(char *name, int n, int device) {
    snprintf(name, (size_t)n, "Fake %d", device);
    return leave(enter("cuDeviceGetName"));
}

static int fake_cuDeviceTotalMem(size_t *bytes, int device) {
    (void)device;
    *bytes = memory;
    return leave(enter("cuDeviceTotalMem"));
}

static int fake_cuDeviceGetAttribute(int *value, int which, int device) {
    switch (which) {
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 16: *value = 132; break;
    case 75: *value = device == 1 ? 8 : 9; break;
    case 76: *value = 0; break;
    case 97: *value = 232448; break;
    default: return leave((enter("cuDeviceGetAttribute"), INVALID_VALUE));
    }
    return leave(enter("cuDeviceGetAttribute"));
}

static int fake_cuDevicePrimaryCtxRetain(Context **context, int device) {
    int rc = enter("cuDevicePrimaryCtxRetain");
    if (rc) return leave(rc);
    *context = context_of(device, 1);
    stats.primary++;
    return leave(OK);
}

static int fake_cuDevicePrimaryCtxRelease(int device) {
    int rc = enter("cuDevicePrimaryCtxRelease");
    (void)device;
    stats.primary--;
    return leave(rc);
}

static int fake_cuCtxGetCurrent(Context **context) {
    *context = fake_current();
    return leave(enter_any("cuCtxGetCurrent"));
}

static int fake_cuCtxGetDevice(int *device) {
    int rc = enter_context("cuCtxGetDevice");
    if (!rc) *device = stack[depth - 1]->device;
    return leave(rc);
}

static int fake_cuCtxPushCurrent(Context *context) {
    int rc = enter_any("cuCtxPushCurrent");
    if (!rc) stack[depth++] = context;
    return leave(rc);
}

static int fake_cuCtxPopCurrent(Context **context) {
    pthread_mutex_lock(&lock);
    if (depth) *context = stack[--depth];
    return leave(OK);
}

/* ---- modules and launches ---- */

typedef struct {
    void *library; /* what fake_cpp.c made; NULL: it has the functions of the tests alone */
    FakeFunction *function[MOST];
    int n;
} Module;

/* A library's file ends with the headers of its sections. */
static void *library_in(const void *image) {
    char file[] = "/tmp/mlc-image-XXXXXX";
    Elf64_Ehdr h;
    if (strncmp(image, ELFMAG, SELFMAG)) return NULL;
    memcpy(&h, image, sizeof h);
    size_t n = (size_t)h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
    int fd = mkstemp(file);
    bool good = fd >= 0 && write(fd, image, n) == (ssize_t)n;
    if (fd >= 0) close(fd);
    void *library = good ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(file);
    return library;
}

static void *symbol(const Module *m, const char *what, int i) {
    char name[64];
    snprintf(name, sizeof name, "cpu_%s_%d", what, i);
    return dlsym(m->library, name);
}

static FakeFunction *function_in(const Module *m, const char *name) {
    const char *at;
    const unsigned long *(*sizes)(void);
    for (int i = 0; m->library && (at = symbol(m, "name", i)); i++) {
        if (strcmp(at, name)) continue;
        FakeFunction *f = calloc(1, sizeof *f);
        f->name = at;
        *(void **)&f->run = symbol(m, "run", i);
        *(void **)&sizes = symbol(m, "sizes", i);
        for (const unsigned long *k = sizes(); *k && f->n_args < FAKE_ARGS; k++) f->arg_size[f->n_args++] = *k;
        return f;
    }
    return NULL;
}

static int fake_cuModuleLoadData(Module **module, const void *image) {
    int rc = enter_context("cuModuleLoadData");
    if (rc) return leave(rc);
    *module = calloc(1, sizeof **module);
    (*module)->library = library_in(image);
    stats.modules++;
    return leave(OK);
}

/* Its kernels may be waiting in streams. */
static int fake_cuModuleUnload(Module *m) {
    int rc = enter_context("cuModuleUnload");
    for (int i = 0; i < MOST; i++)
        if (streams[i].last) flush(&streams[i], false);
    for (int i = 0; i < m->n; i++) free(m->function[i]);
    if (m->library) dlclose(m->library);
    free(m);
    stats.modules--;
    return leave(rc);
}

static int fake_cuModuleGetFunction(FakeFunction **function, Module *m, const char *name) {
    int rc = enter_context("cuModuleGetFunction");
    if (rc) return leave(rc);
    for (int i = 0; i < n_functions; i++)
        if (!strcmp(functions[i].name, name)) return *function = &functions[i], leave(OK);
    FakeFunction *found = m->n < MOST ? function_in(m, name) : NULL;
    if (!found) return leave(NOT_FOUND);
    *function = m->function[m->n++] = found;
    return leave(OK);
}

static int fake_cuFuncGetAttribute(int *value, int which, FakeFunction *f) {
    int rc = enter_context("cuFuncGetAttribute");
    *value = f->static_shared;
    return leave(rc ? rc : which == 1 ? OK : INVALID_VALUE);
}

static int fake_cuFuncSetAttribute(FakeFunction *f, int which, int value) {
    int rc = enter_context("cuFuncSetAttribute");
    if (!rc && (which != 8 || value < 0 || value + f->static_shared > 232448)) rc = INVALID_VALUE;
    if (!rc) f->dynamic = value;
    return leave(rc);
}

static Op *put(void *stream, Op op) {
    Stream *s = stream_of(stream);
    Op *o = malloc(sizeof *o);
    *o = op;
    o->next = NULL;
    *s->last = o;
    s->last = &o->next;
    s->n++;
    return o;
}

static int fake_cuLaunchKernel(FakeFunction *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, void *stream, void **args, void **extra) {
    int rc = enter_context("cuLaunchKernel");
    if (!rc && (!gx || !gy || !gz || !bx || !by || !bz || gy > 65535 || gz > 65535 || (uint64_t)bx * by * bz > 1024 || extra ||
                (shared > 48 * 1024 && (int)shared > f->dynamic)))
        rc = INVALID_VALUE;
    if (rc) return leave(rc);
    Op *o = put(stream, (Op){ .kind = LAUNCH, .function = *f, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared });
    for (int i = 0; i < f->n_args; i++) memcpy(o->arg[i], args[i], f->arg_size[i]);
    stats.launches++;
    return leave(OK);
}

/* ---- graphs: what a stream holds when it is told to record ---- */

typedef struct {
    Op *first;
} Graph;

enum { CAPTURE = 900, UPDATE_FAILURE = 910 };

static void drop_ops(Op *o) {
    for (Op *next; o; o = next) {
        next = o->next;
        free(o->staged);
        free(o);
    }
}

static int fake_cuStreamCreate(void **stream, unsigned flags) {
    int rc = enter_context("cuStreamCreate");
    if (rc) return leave(rc);
    *stream = malloc(1);
    stats.streams++;
    return leave(flags == 1 ? OK : INVALID_VALUE);
}

static int fake_cuStreamDestroy(void *stream) {
    int rc = enter_context("cuStreamDestroy");
    if (rc) return leave(rc);
    Stream *s = stream_of(stream);
    flush(s, false);
    s->last = NULL;
    free(stream);
    stats.streams--;
    return leave(OK);
}

static int fake_cuStreamIsCapturing(void *stream, int *status) {
    int rc = enter_context("cuStreamIsCapturing");
    *status = stream_of(stream)->records;
    return leave(rc);
}

static int fake_cuStreamBeginCapture(void *stream, int mode) {
    int rc = enter_context("cuStreamBeginCapture");
    Stream *s = stream_of(stream);
    if (!rc && (!stream || mode != 2 || s->records)) rc = INVALID_VALUE;
    if (rc) return leave(rc);
    flush(s, false);
    s->records = true;
    return leave(OK);
}

static int fake_cuStreamEndCapture(void *stream, Graph **graph) {
    int rc = enter_context("cuStreamEndCapture");
    Stream *s = stream_of(stream);
    bool records = s->records;
    *graph = NULL;
    if (records) {
        *graph = calloc(1, sizeof **graph);
        (*graph)->first = s->first;
        s->first = NULL, s->last = &s->first, s->n = 0, s->records = false;
        stats.graphs++;
    }
    return leave(rc ? rc : records ? OK : INVALID_VALUE);
}

static Graph *copy_graph(const Graph *g) {
    Graph *c = calloc(1, sizeof *c);
    Op **last = &c->first;
    for (const Op *o = g->first; o; o = o->next) {
        *last = malloc(sizeof **last);
        **last = *o;
        (*last)->next = NULL, (*last)->staged = NULL;
        last = &(*last)->next;
    }
    return c;
}

static int fake_cuGraphInstantiateWithFlags(Graph **exec, Graph *graph, unsigned long long flags) {
    int rc = enter_context("cuGraphInstantiateWithFlags");
    if (rc || flags) return leave(rc ? rc : INVALID_VALUE);
    *exec = copy_graph(graph);
    stats.graphs++;
    stats.instantiated++;
    return leave(OK);
}

/* The same kernels in the same order may have other arguments and sizes. */
static int fake_cuGraphExecUpdate(Graph *exec, Graph *graph, void *info) {
    int rc = enter_context("cuGraphExecUpdate");
    const Op *a = exec->first, *b = graph->first;
    (void)info;
    while (a && b && a->kind == b->kind && a->function.run == b->function.run) a = a->next, b = b->next;
    if (rc || a || b) return leave(rc ? rc : UPDATE_FAILURE);
    Graph *now = copy_graph(graph);
    drop_ops(exec->first);
    exec->first = now->first;
    free(now);
    return leave(OK);
}

static int fake_cuGraphLaunch(Graph *exec, void *stream) {
    int rc = enter_context("cuGraphLaunch");
    for (const Op *o = exec->first; o && !rc; o = o->next) put(stream, *o);
    stats.replays += !rc;
    return leave(rc);
}

static int drop_graph(const char *name, Graph *g) {
    int rc = enter_context(name);
    drop_ops(g->first);
    free(g);
    stats.graphs--;
    return leave(rc);
}

static int fake_cuGraphExecDestroy(Graph *g) {
    return drop_graph("cuGraphExecDestroy", g);
}

static int fake_cuGraphDestroy(Graph *g) {
    return drop_graph("cuGraphDestroy", g);
}

/* ---- memory ---- */

static int fake_cuMemPoolCreate(void **pool, const void *props) {
    int rc = enter("cuMemPoolCreate");
    const int *kind = props;
    if (!rc && (kind[0] != 1 || kind[1] || kind[2] != 1 || kind[3] >= n_devices)) rc = INVALID_VALUE;
    if (rc) return leave(rc);
    *pool = &threshold;
    stats.pools++;
    return leave(OK);
}

static int fake_cuMemPoolDestroy(void *pool) {
    int rc = enter("cuMemPoolDestroy");
    (void)pool;
    stats.pools--;
    return leave(rc);
}

static int fake_cuMemPoolSetAttribute(void *pool, int which, void *value) {
    int rc = enter("cuMemPoolSetAttribute");
    if (!rc && which == 4) memcpy(pool, value, sizeof threshold);
    return leave(rc ? rc : which == 4 ? OK : INVALID_VALUE);
}

static int fake_cuMemPoolGetAttribute(void *pool, int which, void *value) {
    int rc = enter("cuMemPoolGetAttribute");
    uint64_t reserved = (uint64_t)(stats.live_bytes + stats.kept_bytes);
    (void)pool;
    if (which == 5) memcpy(value, &reserved, sizeof reserved);
    return leave(rc ? rc : which == 5 ? OK : INVALID_VALUE);
}

/* Gives kept blocks back whose turn has come. */
static void trim(uint64_t keep) {
    for (Block **p = &blocks; *p;) {
        Block *b = *p;
        if (b->used || !b->resting || (uint64_t)stats.kept_bytes <= keep) {
            p = &b->next;
            continue;
        }
        *p = b->next;
        stats.kept_bytes -= (int64_t)b->bytes;
        free(b->at);
        free(b);
    }
}

static int fake_cuMemPoolTrimTo(void *pool, size_t bytes) {
    int rc = enter("cuMemPoolTrimTo");
    (void)pool;
    if (!rc) trim(bytes);
    return leave(rc);
}

static int fake_cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream) {
    int rc = enter_context("cuMemAllocFromPoolAsync");
    Block *b = blocks;
    (void)pool;
    if (!rc && !bytes) rc = INVALID_VALUE;
    if (rc) return leave(rc);
    while (b && (b->used || b->bytes != bytes || !(b->resting || b->stream == stream))) b = b->next;
    if (!b && (size_t)(stats.live_bytes + stats.kept_bytes) + bytes > memory) return leave(OUT_OF_MEMORY);
    if (b) stats.kept_bytes -= (int64_t)bytes;
    else {
        b = calloc(1, sizeof *b);
        *b = (Block){ .next = blocks, .at = malloc(bytes), .bytes = bytes };
        memset(b->at, 0xcd, bytes);
        blocks = b;
        stats.from_system++;
    }
    b->used = true;
    b->resting = false;
    stats.allocations++;
    stats.live++;
    stats.live_bytes += (int64_t)bytes;
    *address = (uint64_t)(uintptr_t)b->at;
    return leave(OK);
}

static int fake_cuMemFreeAsync(uint64_t address, void *stream) {
    int rc = enter_context("cuMemFreeAsync");
    Block *b = blocks;
    while (b && (uint64_t)(uintptr_t)b->at != address) b = b->next;
    if (!rc && (!b || !b->used)) rc = INVALID_VALUE;
    if (rc) return leave(rc);
    put(stream, (Op){ .kind = POISON, .to = b->at, .bytes = b->bytes });
    b->used = false;
    b->stream = stream;
    stats.live--;
    stats.live_bytes -= (int64_t)b->bytes;
    stats.kept_bytes += (int64_t)b->bytes;
    return leave(OK);
}

static int fake_cuMemGetInfo(size_t *unused, size_t *total) {
    int rc = enter_context("cuMemGetInfo");
    *total = memory;
    *unused = memory - (size_t)(stats.live_bytes + stats.kept_bytes);
    return leave(rc);
}

static bool is_pinned(const void *p) {
    return pinned && (const char *)p >= pinned && (const char *)p < pinned + pinned_bytes;
}

static int fake_cuMemcpyHtoDAsync(uint64_t to, const void *from, size_t bytes, void *stream) {
    int rc = enter_context("cuMemcpyHtoDAsync");
    if (rc) return leave(rc);
    Op *o = put(stream, (Op){ .kind = COPY, .to = (char *)(uintptr_t)to, .from = from, .bytes = bytes });
    if (!is_pinned(from)) o->from = o->staged = memcpy(malloc(bytes), from, bytes);
    stats.copies_there++;
    stats.bytes_there += (int64_t)bytes;
    return leave(OK);
}

static int fake_cuMemcpyDtoHAsync(void *to, uint64_t from, size_t bytes, void *stream) {
    int rc = enter_context("cuMemcpyDtoHAsync");
    if (rc) return leave(rc);
    put(stream, (Op){ .kind = COPY, .to = to, .from = (const char *)(uintptr_t)from, .bytes = bytes });
    stats.copies_home++;
    stats.bytes_home += (int64_t)bytes;
    return leave(OK);
}

static int fake_cuPointerGetAttribute(void *value, int which, uint64_t address) {
    int rc = enter_context("cuPointerGetAttribute");
    if (!rc && (which != 2 || !is_pinned((const void *)(uintptr_t)address))) rc = INVALID_VALUE;
    if (!rc) *(unsigned *)value = 1;
    return leave(rc);
}

static int fake_cuStreamSynchronize(void *stream) {
    int rc = enter_context("cuStreamSynchronize");
    if (rc || stream_of(stream)->records) return leave(rc ? rc : CAPTURE);
    stats.waits++;
    flush(stream_of(stream), false);
    trim(threshold);
    return leave(sticky);
}

/* ---- what programs look up ---- */

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    typedef void (*Any)(void);
    static const struct {
        const char *name;
        Any f;
    } table[] = {
        { "cuInit", (Any)cuInit },
#define ROW(name) { #name, (Any)fake_##name }
        ROW(cuDriverGetVersion), ROW(cuGetErrorName), ROW(cuGetErrorString), ROW(cuDeviceGetCount), ROW(cuDeviceGet), ROW(cuDeviceGetName),
        ROW(cuDeviceTotalMem), ROW(cuDeviceGetAttribute), ROW(cuDevicePrimaryCtxRetain), ROW(cuDevicePrimaryCtxRelease),
        ROW(cuCtxGetCurrent), ROW(cuCtxGetDevice), ROW(cuCtxPushCurrent), ROW(cuCtxPopCurrent), ROW(cuModuleLoadData), ROW(cuModuleUnload),
        ROW(cuModuleGetFunction), ROW(cuFuncGetAttribute), ROW(cuFuncSetAttribute), ROW(cuLaunchKernel), ROW(cuMemPoolCreate),
        ROW(cuMemPoolDestroy), ROW(cuMemPoolSetAttribute), ROW(cuMemPoolGetAttribute), ROW(cuMemPoolTrimTo), ROW(cuMemAllocFromPoolAsync),
        ROW(cuMemFreeAsync), ROW(cuMemGetInfo), ROW(cuMemcpyHtoDAsync), ROW(cuMemcpyDtoHAsync), ROW(cuPointerGetAttribute),
        ROW(cuStreamSynchronize), ROW(cuStreamCreate), ROW(cuStreamDestroy), ROW(cuStreamIsCapturing), ROW(cuStreamBeginCapture),
        ROW(cuStreamEndCapture), ROW(cuGraphInstantiateWithFlags), ROW(cuGraphExecUpdate), ROW(cuGraphLaunch), ROW(cuGraphExecDestroy),
        ROW(cuGraphDestroy),
    };
    const char *lacks = getenv("FAKE_CUDA_LACKS");
    *status = 0;
    if (version != 12000 || flags) return INVALID_VALUE;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) || (lacks && !strcmp(lacks, name))) continue;
        memcpy(function, &table[i].f, sizeof *function);
        return OK;
    }
    *status = 1;
    return NOT_FOUND;
}
