/* nv_graph.c - launches that are recorded once and replayed together: a CUDA graph.
 *
 * Launches go to a stream of the graph's own while it records, and none of them runs.  What was recorded becomes a graph that one
 * call of the driver starts; recorded again with other arguments, the graph that is there takes these where its kernels are
 * the same, and is made anew where they are not.  Replays of one graph follow each other, whatever their streams: the driver sees to it. */
#include "nvrtc/nvrtc_priv.h"

#include <string.h>

struct NvGraph {
    NvDevice *device;
    CuStream stream;
    CuGraphExec exec; /* NULL: nothing is recorded yet */
};

enum { CU_STREAM_NON_BLOCKING = 1, CU_CAPTURE_RELAXED = 2 };

NvGraph *nv_graph_new(NvDevice *d, Fault *f) {
    NvGraph *g = d->hook.resize(d->hook.user, NULL, sizeof *g);
    if (!g) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, sizeof *g);
    *g = (NvGraph){ .device = d };
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : d->driver.cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING);
    nv_leave(d, e);
    if (!rc) return g;
    d->hook.resize(d->hook.user, g, 0);
    nv_note(&d->driver, rc, "making a stream", d->info.ordinal, f);
    fault_jump(f);
}

void nv_graph_free(NvGraph *g) {
    if (!g) return;
    NvDevice *d = g->device;
    NvEntered e = nv_enter(d);
    if (!e.error && g->exec) d->driver.cuGraphExecDestroy(g->exec);
    if (!e.error) d->driver.cuStreamDestroy(g->stream);
    nv_leave(d, e);
    d->hook.resize(d->hook.user, g, 0);
}

/* Relaxed: what the thread asks of other streams meanwhile, such as memory, is done at once. */
int nv_graph_begin(NvGraph *g, void **stream) {
    NvDevice *d = g->device;
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : d->driver.cuStreamBeginCapture(g->stream, CU_CAPTURE_RELAXED);
    nv_leave(d, e);
    *stream = g->stream;
    return rc;
}

/* The recorded one in the place of what is there. */
static int take(NvGraph *g, CuGraph made) {
    NvDriver *v = &g->device->driver;
    CuGraphExec fresh = NULL;
    CuUpdateInfo info = { 0 };
    if (g->exec && !v->cuGraphExecUpdate(g->exec, made, &info)) return CU_OK;
    int rc = v->cuGraphInstantiateWithFlags(&fresh, made, 0);
    if (rc) return rc;
    if (g->exec) v->cuGraphExecDestroy(g->exec);
    g->exec = fresh;
    return CU_OK;
}

int nv_graph_end(NvGraph *g, bool keep) {
    NvDevice *d = g->device;
    CuGraph made = NULL;
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : d->driver.cuStreamEndCapture(g->stream, &made);
    if (!rc && keep) rc = take(g, made);
    if (made) d->driver.cuGraphDestroy(made);
    nv_leave(d, e);
    return rc;
}

int nv_graph_launch(NvGraph *g, void *stream) {
    NvDevice *d = g->device;
    if (!g->exec) return CU_INVALID_VALUE;
    NvEntered e = nv_enter(d);
    int rc = e.error ? e.error : d->driver.cuGraphLaunch(g->exec, stream);
    if (!rc && d->wait) rc = d->driver.cuStreamSynchronize(stream);
    nv_leave(d, e);
    if (!rc) atomic_fetch_add_explicit(&d->count[NV_REPLAYS], 1, memory_order_relaxed);
    return rc;
}
