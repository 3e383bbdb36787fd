/* gpu_bench.h - what bench_gpu times beside ours: the driver's copy and cuBLAS, loaded by hand as a peer is. */
#ifndef GPU_BENCH_H
#define GPU_BENCH_H

#include "bench.h"

#include <mlc.h>

enum { GPU_MOST = 8 };

/* The buffers of a call in slot order, inputs first. */
typedef struct {
    mlc_buffer *at[GPU_MOST];
    int n, inputs;
} GpuBuffers;

typedef struct {
    bool (*call)(void *user, mlc_error_info *e); /* NULL: not installed */
    bool (*wait)(void *user, mlc_error_info *e); /* NULL: gpu_wait */
    void *user;
} GpuPeer;

/* The driver with the first device's primary context current, which mlc uses, too. */
bool gpu_open(void);
bool gpu_wait(mlc_error_info *e);

/* `kind` on the same device memory:
 *     copy    the driver's copy of half the bytes that the call's buffers hold: it reads and writes each once
 *     sgemm   cuBLAS, f32, tf32 off: c(x, y) = sum of a(k, y) * b(x, k), slots a, b, c
 *     gemm    cuBLAS, f16 or bf16 inputs, sums in f32, output f32 or as the inputs
 *     launch N   the driver's launches of N kernels that do nothing
 *     halide NAME   Halide's application NAME under its CUDA schedule, in a context of its own
 * false where the kind does not fit the buffers. */
bool gpu_peer_open(GpuPeer *p, const char *kind, const GpuBuffers *b, mlc_error_info *e);
void gpu_peer_close(GpuPeer *p);

/* Random values of any type, the same for the same seed: -4 to 4, or whole numbers from -3 to 3. */
void gpu_fill(mlc_buffer *b, int seed, bool small);

#endif
