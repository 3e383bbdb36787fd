/* gpu.c - the GPU behind a context: the compiler of kernels and the device, each opened at the first need.
 *
 * A context that never meets the target cuda opens neither, and a compile for a named architecture opens the compiler
 * alone, so it works where there is no device. */
#include "pipeline/pipeline.h"

#include <stdio.h>
#include <string.h>

struct Gpu {
    mlc_allocator hook;
    Lock lock;
    NvCompiler *compiler;
    _Atomic(NvDevice *) device;
    atomic_int refs;
};

Gpu *gpu_new(const mlc_allocator *hook) {
    Gpu *g = hook->resize(hook->user, NULL, sizeof *g);
    if (!g) return NULL;
    memset(g, 0, sizeof *g);
    g->hook = *hook;
    lock_init(&g->lock);
    atomic_init(&g->refs, 1);
    return g;
}

Gpu *gpu_ref(Gpu *g) {
    atomic_fetch_add(&g->refs, 1);
    return g;
}

void gpu_unref(Gpu *g) {
    if (!g || atomic_fetch_sub(&g->refs, 1) != 1) return;
    if (g->compiler) nv_compiler_close(g->compiler);
    nv_device_close(g->device);
    lock_end(&g->lock);
    g->hook.resize(g->hook.user, g, 0);
}

/* What another thread of the parent was opening at a fork is lost to the child, which opens it anew. */
static void enter(Gpu *g, bool compiler) {
    if (!lock_take(&g->lock)) return;
    if (compiler) g->compiler = NULL;
    else g->device = NULL;
}

NvCompiler *gpu_compiler(Gpu *g, Fault *f) {
    Barrier b;
    NvCompiler *volatile found = NULL;
    enter(g, true);
    if (FAULT_TRY(f, b)) {
        if (!g->compiler) g->compiler = nv_compiler_open(&g->hook, f);
        found = g->compiler;
        FAULT_END(f, b);
    }
    lock_leave(&g->lock);
    if (!found) fault_jump(f);
    return found;
}

NvDevice *gpu_device(Gpu *g, Fault *f) {
    Barrier b;
    NvDevice *volatile found = atomic_load_explicit(&g->device, memory_order_acquire);
    if (found) { /* every call but the first comes by here */
        nv_device_check(found, f);
        return found;
    }
    enter(g, false);
    if (FAULT_TRY(f, b)) {
        if (!g->device) g->device = nv_device_open(&g->hook, 0, f);
        nv_device_check(g->device, f);
        found = g->device;
        FAULT_END(f, b);
    }
    lock_leave(&g->lock);
    if (!found) fault_jump(f);
    return found;
}

NvCompiler *gpu_find_compiler(Gpu *g, Fault *why) {
    Fault quiet = { 0 };
    Barrier b;
    NvCompiler *volatile found = NULL;
    if (FAULT_TRY(&quiet, b)) {
        found = gpu_compiler(g, &quiet);
        FAULT_END(&quiet, b);
    }
    if (why) *why = quiet;
    return found;
}

NvDevice *gpu_find_device(Gpu *g, Fault *why) {
    Fault quiet = { 0 };
    Barrier b;
    NvDevice *volatile found = NULL;
    if (FAULT_TRY(&quiet, b)) {
        found = gpu_device(g, &quiet);
        FAULT_END(&quiet, b);
    }
    if (why) *why = quiet;
    return found;
}

/* ---- asking, without a context ---- */

bool mlc_gpu(int i, mlc_gpu_info *info, mlc_error_info *error) {
    Fault f = { 0 };
    Barrier b;
    if (FAULT_TRY(&f, b)) {
        enum { MOST = 64 };
        NvDeviceInfo list[MOST];
        int n = nv_device_list(list, MOST, &f);
        if (i < 0 || i >= n || i >= MOST) fault_raise(&f, ERR_CUDA_NO_DEVICE, NULL, i, n);
        const NvDeviceInfo *d = &list[i];
        if (info) {
            *info = (mlc_gpu_info){ .processors = d->processors, .driver = d->driver, .memory = d->memory };
            memcpy(info->name, d->name, sizeof info->name);
            memcpy(info->arch, d->arch, sizeof info->arch);
        }
        FAULT_END(&f, b);
    }
    pl_give_error(error, &f);
    return !f.info.code;
}

bool mlc_gpu_compiler(char *text, size_t size, mlc_error_info *error) {
    Fault f = { 0 };
    Barrier b;
    if (FAULT_TRY(&f, b)) {
        NvCompiler *c = nv_compiler_open(&mlc_allocator_libc, &f);
        const char *all = nv_compiler_identity(c);
        size_t n = strlen(all); /* without the file's inode, time and size */
        for (int fields = 0; n && fields < 3; n--) fields += all[n - 1] == ' ';
        if (text && size) snprintf(text, size, "%.*s", (int)n, all);
        nv_compiler_close(c);
        FAULT_END(&f, b);
    }
    pl_give_error(error, &f);
    return !f.info.code;
}
