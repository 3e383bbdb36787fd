/* gpu_buffer.c - the second copy that a buffer may have of its elements, on a GPU: taking, updating and dropping it.
 *
 * What is copied is the bytes from the first element to the last, whatever lies between them, so that both copies have
 * the same strides. */
#include "pipeline/gpu_call.h"

#include <string.h>

/* Device memory that a buffer owns; it keeps the device open. */
typedef struct {
    BufferOwner owner;
    Gpu *gpu;
    NvDevice *device;
    uint64_t address;
} DeviceOwner;

static void drop_device(BufferOwner *o) {
    DeviceOwner *d = (DeviceOwner *)(void *)o;
    mlc_allocator hook = o->heap;
    nv_free(d->device, NULL, d->address);
    gpu_unref(d->gpu);
    hook.resize(hook.user, d, 0);
}

static void take(Fault *f, Gpu *g, NvDevice *device, mlc_buffer *b, size_t bytes, int64_t low) {
    const mlc_allocator hook = mlc_allocator_libc;
    DeviceOwner *d = hook.resize(hook.user, NULL, sizeof *d);
    if (!d) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, sizeof *d);
    *d = (DeviceOwner){ .owner = { .drop = drop_device, .heap = hook }, .device = device };
    int e = nv_alloc(device, NULL, bytes, &d->address);
    if (e) {
        hook.resize(hook.user, d, 0);
        fault_raise(f, ERR_GPU_MEMORY, NULL, bytes, nv_error_name(device, e));
    }
    d->gpu = gpu_ref(g);
    b->device = d->address - (uint64_t)low;
    b->device_owner = d;
    b->flags = (b->flags & ~(uint32_t)MLC_BUFFER_DEVICE_DIRTY) | MLC_BUFFER_HOST_DIRTY;
}

/* One copy made that of the other. */
static void copy(Fault *f, NvDevice *d, mlc_buffer *b, bool to_device, size_t bytes, int64_t low) {
    char *host = (char *)b->data + low;
    uint64_t device = b->device + (uint64_t)low;
    int e = to_device ? nv_to_device(d, NULL, device, host, bytes) : nv_to_host(d, NULL, host, device, bytes);
    if (!e && to_device) e = nv_wait(d, NULL); /* so that any stream may use it */
    if (e) fault_raise(f, ERR_GPU_COPY, NULL, bytes, to_device ? "to" : "from", nv_error_name(d, e), "none of this call");
    b->flags &= ~(uint32_t)(MLC_BUFFER_HOST_DIRTY | MLC_BUFFER_DEVICE_DIRTY);
}

static void move(Fault *f, Gpu *g, mlc_buffer *b, bool to_device) {
    int64_t low;
    size_t bytes = gpu_span(b, &low);
    if (!bytes) return;
    if (!to_device && !b->device) return; /* it was never there */
    if (!b->data && !to_device) fault_raise(f, ERR_BUFFER_ALONE, NULL);
    if (!b->data && !b->device) fault_raise(f, ERR_CALL_NULL, NULL, "the buffer");
    NvDevice *d = gpu_device(g, f);
    if (!b->device) take(f, g, d, b, bytes, low);
    if (b->flags & (to_device ? MLC_BUFFER_HOST_DIRTY : MLC_BUFFER_DEVICE_DIRTY)) copy(f, d, b, to_device, bytes, low);
}

static bool call(mlc_ctx *ctx, mlc_buffer *b, bool to_device, mlc_error_info *error) {
    Fault f = { 0 };
    Barrier barrier;
    Gpu *volatile g = NULL;
    if (FAULT_TRY(&f, barrier)) {
        if (!ctx || !b) fault_raise(&f, ERR_CALL_NULL, NULL, ctx ? "the buffer" : "the context");
        g = state_gpu(ctx, &f);
        move(&f, g, b, to_device);
        FAULT_END(&f, barrier);
    }
    gpu_unref(g);
    pl_give_error(error, &f);
    return !f.info.code;
}

bool mlc_buffer_to_device(mlc_ctx *ctx, mlc_buffer *b, mlc_error_info *error) {
    return call(ctx, b, true, error);
}

bool mlc_buffer_to_host(mlc_ctx *ctx, mlc_buffer *b, mlc_error_info *error) {
    return call(ctx, b, false, error);
}
