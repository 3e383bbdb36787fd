/* nv_device.c - a GPU: the context that work runs in, what the device is, and the pool of its memory.
 *
 * A program that uses CUDA already has a context current, and shares its memory and streams with us when we use the same one:
 * so the thread that opens the device gives the choice.  Without one it is the device's primary context, which the other
 * libraries of a process use as well.  Calls may come from any thread: each makes the context current and puts back what was.
 *
 * A child of fork has none of the driver's threads, and may hang where it calls it.  To know for nothing that this is one, the
 * device has a page of memory that the system clears in children. */
#include "nvrtc/nvrtc_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void mark_as_ours(NvDevice *d) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    d->pid = getpid();
    if (page == MAP_FAILED) return;
    if (madvise(page, size, MADV_WIPEONFORK)) {
        munmap(page, size);
        return;
    }
    *page = 1;
    d->page = page;
}

bool nv_is_ours(const NvDevice *d) {
    return d->page ? *d->page : d->pid == getpid();
}

void nv_device_check(const NvDevice *d, Fault *f) {
    if (!nv_is_ours(d)) fault_raise(f, ERR_CUDA_FORKED, NULL);
}

NvEntered nv_enter(NvDevice *d) {
    CuContext now = NULL;
    NvEntered e = { .error = CU_NOT_INITIALIZED };
    if (!nv_is_ours(d)) return e;
    e.error = d->driver.cuCtxGetCurrent(&now);
    if (e.error || now == d->context) return e;
    e.error = d->driver.cuCtxPushCurrent(d->context);
    e.pushed = !e.error;
    return e;
}

void nv_leave(NvDevice *d, NvEntered e) {
    CuContext ours;
    if (e.pushed) d->driver.cuCtxPopCurrent(&ours);
}

/* ---- opening ---- */

static int attribute(const NvDriver *v, int which, int device, int *rc) {
    int value = 0, error = v->cuDeviceGetAttribute(&value, which, device);
    if (error && !*rc) *rc = error;
    return value;
}

/* From compute capability 9 on, the instructions of exactly this chip are worth having: "sm_90a". */
static int describe(const NvDriver *v, int device, NvDeviceInfo *i) {
    int rc = v->cuDeviceGetName(i->name, (int)sizeof i->name, device);
    int major = attribute(v, CU_DEVICE_MAJOR, device, &rc), minor = attribute(v, CU_DEVICE_MINOR, device, &rc);
    i->name[sizeof i->name - 1] = 0;
    snprintf(i->arch, sizeof i->arch, "sm_%d%d%s", major & 0xfff, minor & 0xff, major >= 9 ? "a" : "");
    i->ordinal = device;
    i->driver = v->version;
    i->processors = attribute(v, CU_DEVICE_PROCESSORS, device, &rc);
    i->shared_limit = attribute(v, CU_DEVICE_SHARED_OPTIN, device, &rc);
    for (int k = 0; k < 3; k++) i->grid_limit[k] = attribute(v, CU_DEVICE_GRID_X + k, device, &rc);
    return rc ? rc : v->cuDeviceTotalMem(&i->memory, device);
}

int nv_device_list(NvDeviceInfo *info, int most, Fault *f) {
    NvDriver v;
    int n = 0, device = 0;
    nv_driver_open(&v, 0, f);
    int rc = v.cuDeviceGetCount(&n);
    for (int i = 0; i < n && i < most && !rc; i++) {
        rc = v.cuDeviceGet(&device, i);
        if (!rc) rc = describe(&v, device, &info[i]);
    }
    if (rc) nv_note(&v, rc, "asking it what it is", device, f);
    nv_driver_close(&v);
    if (rc) fault_jump(f);
    return n;
}

/* The current context and its device, or the primary one of `ordinal`. */
static int choose(NvDevice *d, int ordinal, int *device) {
    int rc = d->driver.cuCtxGetCurrent(&d->context);
    if (rc) return rc;
    if (d->context) return d->driver.cuCtxGetDevice(device);
    rc = d->driver.cuDeviceGet(device, ordinal);
    if (rc) return rc;
    rc = d->driver.cuDevicePrimaryCtxRetain(&d->context, *device);
    d->primary = !rc;
    return rc;
}

/* A pool of our own, that gives nothing back before its end: the next call needs the same memory again. */
static int make_pool(NvDevice *d) {
    CuPoolProps props = { .alloc_type = CU_ALLOC_PINNED, .location = { CU_LOCATION_DEVICE, d->info.ordinal } };
    uint64_t keep = UINT64_MAX;
    int rc = d->driver.cuMemPoolCreate(&d->pool, &props);
    return rc ? rc : d->driver.cuMemPoolSetAttribute(d->pool, CU_POOL_RELEASE_THRESHOLD, &keep);
}

static void open_in(NvDevice *d, int ordinal, Fault *f) {
    int n = 0, device = ordinal;
    nv_driver_open(&d->driver, ordinal, f);
    int rc = d->driver.cuDeviceGetCount(&n);
    if (!rc && (ordinal < 0 || ordinal >= n)) fault_raise(f, ERR_CUDA_NO_DEVICE, NULL, ordinal, n);
    if (!rc) rc = choose(d, ordinal, &device);
    if (!rc) rc = describe(&d->driver, device, &d->info);
    if (!rc) rc = make_pool(d);
    if (!rc) return;
    nv_note(&d->driver, rc, "opening it", device, f);
    fault_jump(f);
}

NvDevice *nv_device_open(const mlc_allocator *hook, int ordinal, Fault *f) {
    mlc_allocator h = hook ? *hook : mlc_allocator_libc;
    NvDevice *d = h.resize(h.user, NULL, sizeof *d);
    const char *wait = getenv("MLC_GPU_WAIT");
    Barrier b;
    if (!d) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, sizeof *d);
    memset(d, 0, sizeof *d);
    d->hook = h;
    mark_as_ours(d);
    d->wait = wait && *wait && strcmp(wait, "0");
    if (FAULT_TRY(f, b)) {
        open_in(d, ordinal, f);
        FAULT_END(f, b);
        return d;
    }
    nv_device_close(d);
    fault_jump(f);
}

void nv_device_close(NvDevice *d) {
    if (!d) return;
    if (nv_is_ours(d)) { /* what a child of fork has are its parent's */
        if (d->pool) d->driver.cuMemPoolDestroy(d->pool);
        if (d->primary) d->driver.cuDevicePrimaryCtxRelease(d->info.ordinal);
    }
    nv_driver_close(&d->driver);
    if (d->page) munmap((void *)(uintptr_t)d->page, (size_t)sysconf(_SC_PAGESIZE));
    d->hook.resize(d->hook.user, d, 0);
}

void nv_device_info(const NvDevice *d, NvDeviceInfo *info) {
    *info = d->info;
}

const int64_t *nv_grid_limit(const NvDevice *d) {
    return d->info.grid_limit;
}

const char *nv_error_name(NvDevice *d, int error) {
    const char *text;
    return nv_driver_error(&d->driver, error, &text);
}

NvStats nv_stats(NvDevice *d) {
    NvStats s = { 0 };
    uint64_t reserved = 0;
    NvEntered e = nv_enter(d);
    if (!e.error && !d->driver.cuMemPoolGetAttribute(d->pool, CU_POOL_RESERVED, &reserved)) s.reserved = (int64_t)reserved;
    nv_leave(d, e);
    for (int i = 0; i < NV_COUNTS; i++) s.count[i] = atomic_load_explicit(&d->count[i], memory_order_relaxed);
    return s;
}
