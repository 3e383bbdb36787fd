/* gpu_call.c - a call of a module with kernels: where its buffers lie, and the hooks that its host code calls.
 *
 * Each slot has a mlc_gpu_memory: the bytes from the first to the last element of its buffer, on the host, on the device
 * or on both.  Host code asks for moves; what is current already costs nothing.  A buffer with device memory of its own
 * keeps its results there; of any other, outputs come home at the end of the call and the copy on the device is
 * dropped.
 *
 * A move copies bytes, not elements.  So an output with gaps between its elements, where others may keep theirs, is
 * computed in memory apart, and its elements alone are copied from there. */
#include "pipeline/gpu_call.h"

#include <stdint.h>
#include <string.h>

struct GpuCall {
    mlc_module *module;
    NvDevice *device;
    NvModule *kernels;
    void *stream;
    Recording *recording; /* NULL: the call is done */
    NvEntered entered; /* the context is current while the code runs */
    HookUser user; /* what all hooks of the call see: begins with the module's own */
    mlc_hooks hooks;
    mlc_buffer *const *given; /* the caller's */
    mlc_buffer **used;        /* what the code works on */
    mlc_gpu_memory *memory;
    const int64_t *limit;     /* of blocks */
    int n, last;              /* last: the kernel launched last, -1: none yet */
    Fault fault;              /* what a hook met */
};

/* ---- the hooks ---- */

static GpuCall *call_of(void *user) {
    return ((HookUser *)user)->gpu;
}

/* Work before may have failed only now: then the kernel launched last is the first to look at. */
static const char *last_kernel(const GpuCall *g) {
    return g->last < 0 ? "none of this call" : g->module->meta.kernel[g->last];
}

static int failed(mlc_call *call, ErrCode row) {
    call->error[0] = row;
    return (int)row;
}

static int no_room(GpuCall *g, mlc_call *call, size_t bytes, int error) {
    fault_note(&g->fault, ERR_GPU_MEMORY, NULL, bytes, nv_error_name(g->device, error));
    return failed(call, ERR_GPU_MEMORY);
}

static int no_copy(GpuCall *g, mlc_call *call, size_t bytes, bool to_device, int error) {
    fault_note(&g->fault, ERR_GPU_COPY, NULL, bytes, to_device ? "to" : "from", nv_error_name(g->device, error), last_kernel(g));
    return failed(call, ERR_GPU_COPY);
}

static int too_many(GpuCall *g, mlc_call *call, int kernel, int dimension, int64_t blocks) {
    fault_note(&g->fault, ERR_GPU_GRID, NULL, g->module->meta.kernel[kernel], (long long)blocks, dimension, (long long)g->limit[dimension]);
    return failed(call, ERR_GPU_GRID);
}

/* The slot whose memory it is, -1: memory of the module's own. */
static int slot_of(const GpuCall *g, const mlc_gpu_memory *m) {
    return m >= g->memory && m < g->memory + g->n ? (int)(m - g->memory) : -1;
}

static int take(GpuCall *g, mlc_call *call, mlc_gpu_memory *m, bool on_device) {
    if (on_device && !m->device) {
        int e = g->recording ? recording_take(g->recording, m->bytes, &m->device) : nv_alloc(g->device, call->stream, m->bytes, &m->device);
        if (e) return no_room(g, call, m->bytes, e);
        m->owned |= MLC_ON_DEVICE;
    }
    if (!on_device && !m->host) {
        m->host = g->hooks.alloc(&g->user, m->bytes);
        if (!m->host) {
            call->error[2] = (int64_t)m->bytes;
            return failed(call, ERR_OUT_OF_MEMORY);
        }
        m->owned |= MLC_ON_HOST;
    }
    return 0;
}

/* A replay launches kernels and does nothing else: the host would do its part now alone. */
static int not_replayed(GpuCall *g, mlc_call *call, int slot) {
    if (slot < 0) fault_note(&g->fault, ERR_GRAPH_HOST, NULL, g->module->meta.kernel[0]);
    else fault_note(&g->fault, ERR_GRAPH_SLOT, NULL, g->module->meta.slot[slot].name);
    return failed(call, slot < 0 ? ERR_GRAPH_HOST : ERR_GRAPH_SLOT);
}

static int hook_move(void *user, void *c, mlc_gpu_memory *m, int to_device, int what) {
    GpuCall *g = call_of(user);
    mlc_call *call = c;
    uint32_t here = to_device ? MLC_ON_DEVICE : MLC_ON_HOST, there = here ^ (MLC_ON_DEVICE | MLC_ON_HOST);
    int slot = slot_of(g, m), r;
    if (!m->bytes) return 0;
    if (!to_device && slot >= 0 && !g->given[slot]->data) {
        fault_note(&g->fault, ERR_GPU_ALONE, NULL, g->module->meta.slot[slot].name);
        return failed(call, ERR_GPU_ALONE);
    }
    if (g->recording && (!to_device || (slot >= 0 && !m->device))) return not_replayed(g, call, slot);
    if ((r = take(g, call, m, to_device))) return r;
    if (!(m->current & here) && m->current & there && what < 2) {
        if (g->recording) return not_replayed(g, call, slot);
        int e = to_device ? nv_to_device(g->device, call->stream, m->device, m->host, m->bytes)
                          : nv_to_host(g->device, call->stream, m->host, m->device, m->bytes);
        if (e) return no_copy(g, call, m->bytes, to_device, e);
    }
    m->current = what ? here : m->current | here;
    return 0;
}

static void hook_close(void *user, void *c, mlc_gpu_memory *m) {
    GpuCall *g = call_of(user);
    mlc_call *call = c;
    if (m->owned & MLC_ON_DEVICE && g->recording) recording_give(g->recording, m->device);
    else if (m->owned & MLC_ON_DEVICE) nv_free(g->device, call->stream, m->device);
    if (m->owned & MLC_ON_HOST) g->hooks.release(&g->user, m->host);
    m->owned = 0;
}

static int hook_launch(void *user, void *c, int kernel, const int64_t grid[3], const int64_t threads[3], int64_t shared, void **args) {
    GpuCall *g = call_of(user);
    mlc_call *call = c;
    for (int i = 0; i < 3; i++)
        if (grid[i] > g->limit[i]) return too_many(g, call, kernel, i, grid[i]);
    int e = g->entered.error ? g->entered.error : nv_launch_entered(g->kernels, kernel, call->stream, grid, threads, shared, args);
    if (!e) {
        g->last = kernel;
        return 0;
    }
    fault_note(&g->fault, ERR_GPU_LAUNCH, NULL, g->module->meta.kernel[kernel], nv_error_name(g->device, e));
    return failed(call, ERR_GPU_LAUNCH);
}

/* ---- where buffers lie ---- */

size_t gpu_span(const mlc_buffer *b, int64_t *low) {
    int64_t size = (int64_t)mlc_type_size(b->type), far = 0;
    *low = 0;
    for (int d = 0; d < b->rank; d++) {
        int64_t reach = (b->dim[d].extent - 1) * b->dim[d].stride * size;
        if (b->dim[d].extent <= 0) return 0;
        if (reach < 0) *low += reach;
        else far += reach;
    }
    return (size_t)(far - *low + size);
}

static bool has_gaps(const mlc_buffer *b) {
    int64_t low;
    return gpu_span(b, &low) > (size_t)mlc_buffer_count(b) * mlc_type_size(b->type);
}

/* Other memory with the same strides; the elements are copied: an output may keep some of its own. */
static mlc_buffer *apart(Arena *a, const mlc_buffer *b) {
    mlc_buffer *d = arena_copy(a, b, sizeof *b);
    int64_t low;
    size_t bytes = gpu_span(b, &low);
    d->data = (char *)arena_alloc(a, bytes) - low;
    mlc_buffer_copy(d, b);
    return d;
}

static mlc_gpu_memory memory_of(const mlc_buffer *b) {
    int64_t low;
    mlc_gpu_memory m = { .bytes = gpu_span(b, &low), .current = MLC_ON_HOST };
    m.host = (char *)b->data + low;
    if (!b->device) return m;
    m.device = b->device + (uint64_t)low;
    m.current = b->flags & MLC_BUFFER_DEVICE_DIRTY ? MLC_ON_DEVICE : b->flags & MLC_BUFFER_HOST_DIRTY ? MLC_ON_HOST : MLC_ON_DEVICE | MLC_ON_HOST;
    return m;
}

/* A buffer that the host alone touches: no move will be asked for. */
static void bring_home(GpuCall *g, int slot, Fault *f) {
    const MetaSlot *s = &g->module->meta.slot[slot];
    mlc_buffer *b = g->used[slot] = g->given[slot];
    mlc_gpu_memory *m = &g->memory[slot];
    if (b->device && !b->data) fault_raise(f, ERR_GPU_ALONE, NULL, s->name);
    *m = memory_of(b);
    if (m->current == MLC_ON_DEVICE && m->bytes) {
        int e = nv_to_host(g->device, g->stream, m->host, m->device, m->bytes);
        if (e) fault_raise(f, ERR_GPU_COPY, NULL, m->bytes, "from", nv_error_name(g->device, e), last_kernel(g));
    }
    m->current = s->is_output ? MLC_ON_HOST : m->current | MLC_ON_HOST;
}

mlc_buffer *const *gpu_call_open(GpuCall **to, mlc_module *m, void *stream, Recording *r, mlc_buffer *const *buffers, Arena *scratch, Fault *f) {
    GpuCall *g = *to = ARENA_NEW(scratch, GpuCall);
    g->module = m;
    g->stream = stream;
    g->recording = r;
    g->device = gpu_device(m->gpu, f);
    g->limit = nv_grid_limit(g->device);
    g->n = m->meta.n_slots;
    g->last = -1;
    g->given = buffers;
    g->used = ARENA_ARRAY(scratch, mlc_buffer *, g->n + 1);
    g->memory = ARENA_ARRAY(scratch, mlc_gpu_memory, g->n + 1);
    for (int i = 0; i < g->n; i++) {
        mlc_buffer *b = buffers[i];
        if (r && (!m->meta.slot[i].on_device || !b->device)) fault_raise(f, ERR_GRAPH_SLOT, NULL, m->meta.slot[i].name);
        if (!m->meta.slot[i].on_device) {
            bring_home(g, i, f);
            continue;
        }
        if (b->device && !b->data) {
            b = arena_copy(scratch, b, sizeof *b);
            b->data = (void *)(uintptr_t)b->device; /* a number to reckon with: hook_move lets nobody look there */
            b->flags |= MLC_BUFFER_DEVICE_DIRTY;
        } else if (!b->device && m->meta.slot[i].is_output && has_gaps(b)) {
            b = apart(scratch, b);
        }
        g->used[i] = b;
        g->memory[i] = memory_of(b);
    }
    return g->used;
}

void gpu_call_attach(GpuCall *g, NvModule *kernels, mlc_call *call, Fault *f) {
    int e = g->recording ? nv_graph_begin(g->recording->graph, &call->stream) : 0;
    if (e) fault_raise(f, ERR_GRAPH, NULL, "recorded", g->module->meta.kernel[0], nv_error_name(g->device, e));
    g->kernels = kernels;
    g->user = g->module->hook_user;
    g->user.gpu = g;
    g->hooks = g->module->hooks;
    g->hooks.user = &g->user;
    g->hooks.gpu_move = hook_move;
    g->hooks.gpu_close = hook_close;
    g->hooks.gpu_launch = hook_launch;
    call->hooks = &g->hooks;
    call->memory = g->memory;
    g->entered = nv_enter(g->device);
}

/* ---- the end ---- */

static void note_current(mlc_buffer *b, const mlc_gpu_memory *m) {
    uint32_t flags = b->flags & ~(uint32_t)(MLC_BUFFER_HOST_DIRTY | MLC_BUFFER_DEVICE_DIRTY);
    if (m->current == MLC_ON_DEVICE) flags |= MLC_BUFFER_DEVICE_DIRTY;
    if (m->current == MLC_ON_HOST) flags |= MLC_BUFFER_HOST_DIRTY;
    if (flags != b->flags) b->flags = flags; /* inputs of several calls at once stay as they are */
}

int gpu_call_close(GpuCall *g, mlc_call *call, int r, Fault *f) {
    for (int i = 0; i < g->n; i++) {
        mlc_buffer *b = g->given[i];
        mlc_gpu_memory *m = &g->memory[i];
        bool home = g->module->meta.slot[i].is_output && !b->device && !g->recording;
        if (!r && home) r = hook_move(&g->user, call, m, 0, 0);
        if (!r && home && g->used[i] != b) mlc_buffer_copy(b, g->used[i]);
        if (b->device && !g->recording) note_current(b, m);
        hook_close(&g->user, call, m);
    }
    int e = g->recording ? nv_graph_end(g->recording->graph, !r) : 0;
    if (e && !r) {
        fault_note(&g->fault, ERR_GRAPH, NULL, "recorded", g->module->meta.kernel[0], nv_error_name(g->device, e));
        r = failed(call, ERR_GRAPH);
    }
    nv_leave(g->device, g->entered);
    if (r && g->fault.info.code) f->info = g->fault.info;
    return r;
}
