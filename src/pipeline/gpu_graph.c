/* gpu_graph.c - a call of a module that is recorded once and replayed: one start for all of its kernels.
 *
 * The call goes its usual road with launches that are recorded rather than done.  Everything that is not a launch must have been
 * settled before: buffers are on the device, and memory between kernels belongs to the graph, at the same addresses in each
 * replay.  So whatever the host would have to do in between is an error when the graph is made. */
#include "pipeline/gpu_call.h"

#include <string.h>

typedef struct {
    mlc_buffer *buffer;
    uint64_t device; /* that the kernels were told */
} GraphSlot;

struct mlc_graph {
    mlc_module *module;
    Recording recording;
    GraphSlot *slot; /* one a buffer of the module */
    void *stream;    /* of the last replay */
    bool ran;
};

/* ---- memory between kernels ---- */

int recording_take(Recording *r, size_t bytes, uint64_t *address) {
    GpuBlock *b = r->block;
    while (b && (b->used || b->bytes != bytes)) b = b->next;
    if (!b) {
        b = r->hook.resize(r->hook.user, NULL, sizeof *b);
        if (!b) return NV_OUT_OF_MEMORY;
        *b = (GpuBlock){ .next = r->block, .bytes = bytes };
        int e = nv_alloc(r->device, NULL, bytes, &b->address);
        if (e) {
            r->hook.resize(r->hook.user, b, 0);
            return e;
        }
        r->block = b;
        r->fresh = true;
    }
    b->used = true;
    *address = b->address;
    return 0;
}

/* Kernels follow each other: what comes behind the last one that uses it may have it. */
void recording_give(Recording *r, uint64_t address) {
    for (GpuBlock *b = r->block; b; b = b->next)
        if (b->address == address) b->used = false;
}

static void free_blocks(Recording *r) {
    for (GpuBlock *b = r->block, *next; b; b = next) {
        next = b->next;
        nv_free(r->device, NULL, b->address);
        r->hook.resize(r->hook.user, b, 0);
    }
}

/* ---- recording ---- */

static void record(mlc_graph *g, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, Fault *f) {
    Recording *r = &g->recording;
    if (module_run_in(g->module, NULL, r, n, buffers, n_params, params, f)) fault_jump(f);
    for (int i = 0; i < n; i++) g->slot[i] = (GraphSlot){ buffers[i], buffers[i]->device };
    int e = r->fresh ? nv_wait(r->device, NULL) : 0; /* so that any stream may use them */
    if (e) fault_raise(f, ERR_GRAPH, NULL, "recorded", g->module->meta.kernel[0], nv_error_name(r->device, e));
    r->fresh = false;
}

static void open_in(mlc_graph *g, mlc_module *m, Fault *f) {
    if (!m->meta.n_kernels) fault_raise(f, ERR_NO_KERNELS, NULL);
    Recording *r = &g->recording;
    size_t size = sizeof *g->slot * (size_t)(m->meta.n_slots + 1);
    g->slot = m->hook.resize(m->hook.user, NULL, size);
    if (!g->slot) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, size);
    memset(g->slot, 0, size);
    r->device = gpu_device(m->gpu, f);
    r->graph = nv_graph_new(r->device, f);
}

mlc_graph *mlc_graph_new(mlc_module *m, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, mlc_error_info *error) {
    Fault f = { 0 };
    Barrier b;
    mlc_graph *volatile g = NULL;
    if (FAULT_TRY(&f, b)) {
        if (!m) fault_raise(&f, ERR_NO_MODULE, NULL);
        g = m->hook.resize(m->hook.user, NULL, sizeof *g);
        if (!g) fault_raise(&f, ERR_OUT_OF_MEMORY, NULL, sizeof *g);
        *g = (mlc_graph){ .module = m, .recording = { .hook = m->hook } };
        atomic_fetch_add(&m->refs, 1);
        open_in(g, m, &f);
        record(g, n, buffers, n_params, params, &f);
        FAULT_END(&f, b);
    }
    pl_give_error(error, &f);
    if (!f.info.code) return g;
    mlc_graph_free(g);
    return NULL;
}

int mlc_graph_update(mlc_graph *g, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, mlc_error_info *error) {
    Fault f = { 0 };
    Barrier b;
    if (FAULT_TRY(&f, b)) {
        if (!g) fault_raise(&f, ERR_CALL_NULL, NULL, "the graph");
        record(g, n, buffers, n_params, params, &f);
        FAULT_END(&f, b);
    }
    pl_give_error(error, &f);
    return f.info.code;
}

void mlc_graph_free(mlc_graph *g) {
    if (!g) return;
    mlc_module *m = g->module;
    Recording *r = &g->recording;
    if (g->ran) nv_wait(r->device, g->stream); /* kernels may still use the memory */
    nv_graph_free(r->graph);
    free_blocks(r);
    if (g->slot) m->hook.resize(m->hook.user, g->slot, 0);
    m->hook.resize(m->hook.user, g, 0);
    module_unref(m);
}

/* ---- replaying ---- */

static void replay(mlc_graph *g, void *stream, Fault *f) {
    const Meta *meta = &g->module->meta;
    for (int i = 0; i < meta->n_slots; i++) {
        const mlc_buffer *b = g->slot[i].buffer;
        if (b->device != g->slot[i].device) fault_raise(f, ERR_GRAPH_MOVED, NULL, meta->slot[i].name);
        if (b->flags & MLC_BUFFER_HOST_DIRTY && !meta->slot[i].is_output) fault_raise(f, ERR_GRAPH_SLOT, NULL, meta->slot[i].name);
    }
    int e = nv_graph_launch(g->recording.graph, stream);
    if (e) fault_raise(f, ERR_GRAPH, NULL, "replayed", meta->kernel[0], nv_error_name(g->recording.device, e));
    g->stream = stream;
    g->ran = true;
    for (int i = 0; i < meta->n_slots; i++) {
        mlc_buffer *b = g->slot[i].buffer;
        if (meta->slot[i].is_output) b->flags = (b->flags & ~(uint32_t)MLC_BUFFER_HOST_DIRTY) | MLC_BUFFER_DEVICE_DIRTY;
    }
}

int mlc_graph_run(mlc_graph *g, void *stream, mlc_error_info *error) {
    Fault f = { 0 };
    Barrier b;
    if (FAULT_TRY(&f, b)) {
        if (!g) fault_raise(&f, ERR_CALL_NULL, NULL, "the graph");
        replay(g, stream, &f);
        FAULT_END(&f, b);
    }
    pl_give_error(error, &f);
    return f.info.code;
}
