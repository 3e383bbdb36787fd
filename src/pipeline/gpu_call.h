/* gpu_call.h - what a call of a module with kernels does before, during and after its code (gpu_call.c). */
#ifndef GPU_CALL_H
#define GPU_CALL_H

#include "pipeline/pipeline.h"

typedef struct GpuCall GpuCall;

/* A call that is recorded rather than done (gpu_graph.c): its launches become a graph, and memory between kernels is the graph's. */
typedef struct GpuBlock {
    struct GpuBlock *next;
    uint64_t address;
    size_t bytes;
    bool used; /* by the call, now */
} GpuBlock;
typedef struct {
    mlc_allocator hook;
    NvDevice *device;
    NvGraph *graph;
    GpuBlock *block;
    bool fresh; /* there are new blocks */
} Recording;
/* 0 or the driver's error number. */
int recording_take(Recording *r, size_t bytes, uint64_t *address);
void recording_give(Recording *r, uint64_t address);
/* As module_run does, recording where `r` is not NULL. */
int module_run_in(mlc_module *m, void *stream, Recording *r, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, Fault *f);

/* The buffers that the code is to work on: the given ones, or some in their place.  Raises where there is no device. */
mlc_buffer *const *gpu_call_open(GpuCall **g, mlc_module *m, void *stream, Recording *r, mlc_buffer *const *buffers, Arena *scratch, Fault *f);
/* Gives the call its hooks and memory; begins to record.  Raises where that fails. */
void gpu_call_attach(GpuCall *g, NvModule *kernels, mlc_call *call, Fault *f);
/* After the code, which returned r: outputs come home, what was taken is given back.  Returns r, or what failed here. */
int gpu_call_close(GpuCall *g, mlc_call *call, int r, Fault *f);

/* Bytes from the first to the last element of a buffer, and the first one's distance from the element at the mins. */
size_t gpu_span(const mlc_buffer *b, int64_t *low);

#endif
