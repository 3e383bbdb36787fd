/* gpu_call.h - what a call of a module with kernels does before, during and after its code (gpu_call.c). */
#ifndef GPU_CALL_H
#define GPU_CALL_H

#include "pipeline/pipeline.h"

typedef struct GpuCall GpuCall;
/* The buffers that the code is to work on: the given ones, or some in their place.  Raises where there is no device. */
mlc_buffer *const *gpu_call_open(GpuCall **g, mlc_module *m, void *stream, mlc_buffer *const *buffers, Arena *scratch, Fault *f);
/* Gives the call its hooks and memory. */
void gpu_call_attach(GpuCall *g, NvModule *kernels, mlc_call *call);
/* After the code, which returned r: outputs come home, what was taken is given back.  Returns r, or what failed here. */
int gpu_call_close(GpuCall *g, mlc_call *call, int r, Fault *f);

/* Bytes from the first to the last element of a buffer, and the first one's distance from the element at the mins. */
size_t gpu_span(const mlc_buffer *b, int64_t *low);

#endif
