/* nv_memory.c - memory of a device in the order of a stream, and copies.
 *
 * Memory comes from the device's pool: what one call gave back is there for the next, so that after the first calls the pool
 * grows no more (NvStats.reserved).  Giving back waits for nothing: the stream's later work gets the memory after its earlier. */
#include "nvrtc/nvrtc_priv.h"

static void count(NvDevice *d, int what, int64_t n) {
    atomic_fetch_add_explicit(&d->count[what], n, memory_order_relaxed);
}

/* Once more where memory is out, with the pool's unused memory given back: other sizes may have it. */
static int alloc(NvDevice *d, CuStream stream, size_t bytes, uint64_t *address) {
    NvDriver *v = &d->driver;
    int rc = v->cuMemAllocFromPoolAsync(address, bytes, d->pool, stream);
    if (rc != CU_OUT_OF_MEMORY) return rc;
    rc = v->cuStreamSynchronize(stream); /* until then what was given back is in use */
    if (!rc) rc = v->cuMemPoolTrimTo(d->pool, 0);
    return rc ? rc : v->cuMemAllocFromPoolAsync(address, bytes, d->pool, stream);
}

int nv_alloc(NvDevice *d, void *stream, size_t bytes, uint64_t *address) {
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : alloc(d, stream, bytes ? bytes : 1, address);
    nv_leave(d, e);
    if (!rc) count(d, NV_ALLOCATIONS, 1);
    return rc;
}

int nv_free(NvDevice *d, void *stream, uint64_t address) {
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : d->driver.cuMemFreeAsync(address, stream);
    nv_leave(d, e);
    if (!rc) count(d, NV_FREES, 1);
    return rc;
}

void nv_memory_info(NvDevice *d, size_t *unused, size_t *total) {
    NvEntered e = nv_enter(d);
    if (e.error || d->driver.cuMemGetInfo(unused, total)) *unused = 0, *total = d->info.memory;
    nv_leave(d, e);
}

/* Of pageable memory the driver takes a copy before it returns.  Page-locked memory is read while the stream runs: there the
 * copy is waited for, since what follows on the host may change the bytes. */
static int copy_there(NvDevice *d, CuStream stream, uint64_t to, const void *from, size_t bytes) {
    unsigned kind = 0;
    int rc = d->driver.cuMemcpyHtoDAsync(to, from, bytes, stream);
    if (rc || d->driver.cuPointerGetAttribute(&kind, CU_POINTER_MEMORY_TYPE, (uint64_t)(uintptr_t)from)) return rc;
    return d->driver.cuStreamSynchronize(stream);
}

int nv_to_device(NvDevice *d, void *stream, uint64_t to, const void *from, size_t bytes) {
    if (!bytes) return CU_OK;
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : copy_there(d, stream, to, from, bytes);
    nv_leave(d, e);
    if (!rc) count(d, NV_COPIES_THERE, 1), count(d, NV_BYTES_THERE, (int64_t)bytes);
    return rc;
}

int nv_to_host(NvDevice *d, void *stream, void *to, uint64_t from, size_t bytes) {
    if (!bytes) return CU_OK;
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : d->driver.cuMemcpyDtoHAsync(to, from, bytes, stream);
    if (!rc) rc = d->driver.cuStreamSynchronize(stream);
    nv_leave(d, e);
    if (!rc) count(d, NV_COPIES_HOME, 1), count(d, NV_BYTES_HOME, (int64_t)bytes);
    return rc;
}

int nv_wait(NvDevice *d, void *stream) {
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : d->driver.cuStreamSynchronize(stream);
    nv_leave(d, e);
    return rc;
}
