/* nv_module.c - a cubin in the device's context: its kernels by number, and launching them. */
#include "nvrtc/nvrtc_priv.h"

#include <string.h>

struct NvModule {
    NvDevice *device;
    CuModule module;
    int n;
    CuFunction kernel[];
};

/* A block may use more than 48 KiB of shared memory only after asking: every kernel asks, once, for all that it may have.
 * That bounds what launches can ask for, and takes nothing from kernels that ask for less. */
static int allow_shared(NvDevice *d, CuFunction k) {
    int fixed = 0, rc = d->driver.cuFuncGetAttribute(&fixed, CU_FUNC_STATIC_SHARED, k);
    return rc ? rc : d->driver.cuFuncSetAttribute(k, CU_FUNC_MAX_DYNAMIC_SHARED, d->info.shared_limit - fixed);
}

static int load(NvModule *m, const void *code, const char *const *names) {
    NvDriver *v = &m->device->driver;
    int rc = v->cuModuleLoadData(&m->module, code);
    for (int i = 0; i < m->n && !rc; i++) {
        rc = v->cuModuleGetFunction(&m->kernel[i], m->module, names[i]);
        if (!rc) rc = allow_shared(m->device, m->kernel[i]);
    }
    return rc;
}

NvModule *nv_module_load(NvDevice *d, const void *code, int n_kernels, const char *const *names, Fault *f) {
    size_t size = sizeof(NvModule) + sizeof(CuFunction) * (size_t)n_kernels;
    NvModule *m = d->hook.resize(d->hook.user, NULL, size);
    if (!m) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, size);
    memset(m, 0, size);
    m->device = d;
    m->n = n_kernels;
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : load(m, code, names);
    nv_leave(d, e);
    if (!rc) return m;
    nv_module_free(m);
    nv_note(&d->driver, rc, "loading kernels", d->info.ordinal, f);
    fault_jump(f);
}

void nv_module_free(NvModule *m) {
    if (!m) return;
    NvDevice *d = m->device;
    if (m->module) {
        NvEntered e = nv_enter(d);
        if (!e.error) d->driver.cuModuleUnload(m->module);
        nv_leave(d, e);
    }
    d->hook.resize(d->hook.user, m, 0);
}

/* MLC_GPU_WAIT: what a stream records runs later, and is not waited for. */
static int wait_for(NvDevice *d, CuStream stream) {
    int recording = 0, rc = d->driver.cuStreamIsCapturing(stream, &recording);
    return rc || recording ? rc : d->driver.cuStreamSynchronize(stream);
}

int nv_launch_entered(NvModule *m, int kernel, void *stream, const int64_t grid[3], const int64_t threads[3], int64_t shared, void **args) {
    NvDevice *d = m->device;
    if (kernel < 0 || kernel >= m->n || shared < 0 || shared > d->info.shared_limit) return CU_INVALID_VALUE;
    for (int i = 0; i < 3; i++) {
        if (grid[i] <= 0 || threads[i] <= 0) return CU_OK; /* nothing to be done, which the driver refuses */
    }
    for (int i = 0; i < 3; i++)
        if (grid[i] > d->info.grid_limit[i] || threads[i] > NV_MOST_THREADS) return CU_INVALID_VALUE;
    int rc = d->driver.cuLaunchKernel(m->kernel[kernel], (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], (unsigned)threads[0],
                                      (unsigned)threads[1], (unsigned)threads[2], (unsigned)shared, stream, args, NULL);
    if (!rc && d->wait) rc = wait_for(d, stream);
    if (!rc) atomic_fetch_add_explicit(&d->count[NV_LAUNCHES], 1, memory_order_relaxed);
    return rc;
}

int nv_launch(NvModule *m, int kernel, void *stream, const int64_t grid[3], const int64_t threads[3], int64_t shared, void **args) {
    NvEntered e = nv_enter(m->device);
    int rc = e.error ? e.error : nv_launch_entered(m, kernel, stream, grid, threads, shared, args);
    nv_leave(m->device, e);
    return rc;
}
