/* nvrtc.h - CUDA source to running kernels: NVRTC and the driver, both loaded by dlopen.
 *
 * Two things that are apart.  The compiler (nv_compiler.c) needs no GPU and no driver: source in, cubin out, with what ptxas
 * reports of each kernel.  The device (nv_device.c ...) needs libcuda.so.1 and a GPU: it loads cubins, holds memory, launches.
 * Nothing is global: whoever needs a compiler or a device opens it (src/pipeline/gpu.c: one of each a context).
 *
 * Variables of the environment: MLC_NVRTC and MLC_LIBCUDA name the two libraries' files, MLC_NVDISASM that of the disassembler;
 * MLC_GPU_WAIT=1 waits for each kernel,
 * so that an error names the one that made it. */
#ifndef NVRTC_H
#define NVRTC_H

#include "base/base.h"
#include <mlc/runtime.h>

/* ---- the compiler ---- */

typedef struct NvCompiler NvCompiler;
/* Finds NVRTC: $MLC_NVRTC (a path: that one or none), the loader's libnvrtc.so.13 or .12, the toolkit of $CUDA_HOME, $CUDA_PATH,
 * the nvcc in $PATH or /usr/local/cuda, or nvidia/cu13/lib and nvidia/cuda_nvrtc/lib of a Python environment ($VIRTUAL_ENV,
 * $CONDA_PREFIX, that of the python3 in $PATH, /usr/local).  Raises NVRTC_MISSING, which says where it looked.  Threads may share a compiler. */
NvCompiler *nv_compiler_open(const mlc_allocator *hook, Fault *f);
void nv_compiler_close(NvCompiler *c);
const char *nv_compiler_identity(const NvCompiler *c); /* path and version: a part of cache keys */

/* What ptxas says of a kernel. */
typedef struct {
    const char *name;
    int registers;
    int64_t spill_stores, spill_loads, stack, shared; /* bytes; shared: static */
} NvKernelReport;
typedef struct {
    int n;
    NvKernelReport *kernel;
    int n_warnings;
    const char **warning;  /* lines with a code C75xx or C76xx: what was asked of the chip that it does not do */
    const char *log;       /* all of it */
} NvReport;

typedef struct {
    const char *arch;      /* "sm_90a" */
    bool line_info;
    bool ptx;              /* the text of PTX in place of the cubin; ptxas reports all the same */
} NvOptions;
/* The options that a compile is done with, one string: the other part of cache keys. */
const char *nv_flags(Arena *a, const NvOptions *o);
/* `arch`, where the compiler knows it; else the newest virtual one below it ("compute_120"), which the driver goes on from. */
const char *nv_arch(Arena *a, const NvCompiler *c, const char *arch);
bool nv_is_virtual(const char *arch); /* "compute_120" */
/* The cubin, or PTX (text) where it is asked for or arch is a virtual one, in the arena.  `name` is for messages: that of the program.  Raises
 * NVRTC_FAILED with the first lines of the log; report may be NULL. */
const void *nv_compile(Arena *a, NvCompiler *c, const NvOptions *o, const char *source, const char *name, size_t *n, NvReport *report);
/* What the log of a compile says (nv_report.c); nv_compile calls it. */
void nv_report(Arena *a, const char *log, NvReport *report);

/* The instructions of a cubin, as text, by the toolkit's nvdisasm or cuobjdump: $MLC_NVDISASM (a path: that one or none), the
 * one in $PATH, or where NVRTC is looked for.  Raises NVDISASM_MISSING, NVDISASM_FAILED. */
const char *nv_disassemble(Arena *a, const void *cubin, size_t n);

/* ---- the device ---- */

typedef struct {
    char name[64], arch[16]; /* "NVIDIA H200", "sm_90a" */
    int ordinal, processors, driver; /* driver: 13000 is one of CUDA 13.0 */
    int shared_limit;      /* bytes that a block may have at most, after asking for them */
    int64_t grid_limit[3]; /* blocks of a launch, in each dimension */
    size_t memory;
} NvDeviceInfo;
enum { NV_MOST_THREADS = 1024 }; /* of a block */

/* How many GPUs there are, and what up to `most` of them are; makes no context.  Raises CUDA_MISSING (no libcuda.so.1 that the
 * loader finds, nor where containers and WSL have it; $MLC_LIBCUDA names another file), CUDA_NO_DEVICE, CUDA_FAILED (the
 * driver's own name of its error). */
int nv_device_list(NvDeviceInfo *info, int most, Fault *f);

typedef struct NvDevice NvDevice;
/* The current CUDA context's device or, where there is none, the primary context of device `ordinal`.  Raises as nv_device_list
 * does.  Threads may share a device; a child of fork cannot use it, and may close it. */
NvDevice *nv_device_open(const mlc_allocator *hook, int ordinal, Fault *f);
void nv_device_close(NvDevice *d);
void nv_device_info(const NvDevice *d, NvDeviceInfo *info);
const int64_t *nv_grid_limit(const NvDevice *d); /* of that, without a copy */
/* Raises CUDA_FORKED in a child of fork, where all that runs gives CUDA_ERROR_NOT_INITIALIZED. */
void nv_device_check(const NvDevice *d, Fault *f);

/* Loaded code, as nv_compile made it; kernels by their place in `names`.  Raises CUDA_FAILED. */
typedef struct NvModule NvModule;
NvModule *nv_module_load(NvDevice *d, const void *code, int n_kernels, const char *const *names, Fault *f);
void nv_module_free(NvModule *m);

/* Makes the device's context the thread's, where it is not; nv_leave puts back what was there.  What runs does so by itself;
 * around many of them it is done once. */
typedef struct {
    int error; /* the driver's number, 0: none */
    bool pushed;
} NvEntered;
NvEntered nv_enter(NvDevice *d);
void nv_leave(NvDevice *d, NvEntered e);

enum { NV_OUT_OF_MEMORY = 2 }; /* the driver's number */

/* What runs: each gives 0 or the driver's error number (nv_error_name), and none waits unless it says so.  stream: a CUstream,
 * NULL: the default one of the context. */
int nv_launch(NvModule *m, int kernel, void *stream, const int64_t grid[3], const int64_t threads[3], int64_t shared, void **args);
/* The same where the thread has entered: the call of the driver and nothing else. */
int nv_launch_entered(NvModule *m, int kernel, void *stream, const int64_t grid[3], const int64_t threads[3], int64_t shared, void **args);
/* Memory in the order of the stream, from a pool of the device's that keeps what is given back. */
int nv_alloc(NvDevice *d, void *stream, size_t bytes, uint64_t *address);
int nv_free(NvDevice *d, void *stream, uint64_t address);
int nv_to_device(NvDevice *d, void *stream, uint64_t to, const void *from, size_t bytes); /* `from` may change afterwards */
int nv_to_host(NvDevice *d, void *stream, void *to, uint64_t from, size_t bytes); /* waits until the bytes are there */
int nv_wait(NvDevice *d, void *stream);                                            /* until all that was asked is done */
void nv_memory_info(NvDevice *d, size_t *unused, size_t *total);
const char *nv_error_name(NvDevice *d, int error); /* "CUDA_ERROR_ILLEGAL_ADDRESS" */

/* Launches that are recorded and replayed together.  begin gives the stream in which nv_launch records; end makes of them what launch
 * starts, or drops them.  free waits for nothing.  new raises CUDA_FAILED; the others give the driver's error number. */
typedef struct NvGraph NvGraph;
NvGraph *nv_graph_new(NvDevice *d, Fault *f);
void nv_graph_free(NvGraph *g);
int nv_graph_begin(NvGraph *g, void **stream);
int nv_graph_end(NvGraph *g, bool keep);
int nv_graph_launch(NvGraph *g, void *stream);

/* What was done since the device was opened; reserved: bytes that the pool has of the device now. */
enum { NV_LAUNCHES, NV_ALLOCATIONS, NV_FREES, NV_COPIES_THERE, NV_BYTES_THERE, NV_COPIES_HOME, NV_BYTES_HOME, NV_REPLAYS, NV_COUNTS };
typedef struct {
    int64_t count[NV_COUNTS], reserved;
} NvStats;
NvStats nv_stats(NvDevice *d);

#endif
