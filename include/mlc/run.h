/* mlc/run.h - from programs to results: bind buffers, compile, call, look inside.
 *
 *     mlc_bind(in, mlc_wrap(src, W + 2, H + 2));
 *     if (!mlc_realize(by, mlc_wrap(dst, W, H), NULL)) fprintf(stderr, "%s\n", mlc_error(ctx));
 *
 * or, to compile once and call often, from any thread:
 *
 *     mlc_error_info e;
 *     mlc_module *m = mlc_compile(plan, mlc_outs(by), NULL, &e);
 *     mlc_buffer *b[] = { mlc_wrap(src, W + 2, H + 2), mlc_wrap(dst, W, H) };
 *     if (!m || mlc_run(m, 2, b, 0, NULL, &e)) fprintf(stderr, "%s\n", e.message);
 *     mlc_module_free(m);
 *
 * Compiled code is kept in a cache on disk ($MLC_CACHE, else ~/.cache/mlc): a program met before is
 * neither lowered nor compiled again. */
#ifndef MLC_RUN_H
#define MLC_RUN_H

#include <mlc/runtime.h>
#include <mlc/schedule.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to compile.  All zero (or NULL in place of the struct) is the default of each field. */
typedef struct {
    /* "host" (the default, or $MLC_TARGET): this processor.  "avx512", "avx2", "sse4", "plain": C for that
     * instruction set.  "cuda": this processor and a GPU beside it, on which the loops run that the plan puts there;
     * "cuda-sm_90a" (or $MLC_CUDA_ARCH): for GPUs of that architecture, whether or not one is here.  "interpret": from the definitions alone, slowly; the plan is checked and ignored. */
    const char *target;
    const char *cc;     /* a C compiler: gcc, clang or a path; default $MLC_CC, else gcc, else clang */
    const char *cflags; /* added to its command line; default $MLC_CFLAGS */
    int opt;            /* its -O level, 1 to 3; default: 1 of gcc, 2 of clang */
    int threads;        /* at most; default $MLC_NUM_THREADS, else the processors */
    bool check;         /* every access is checked at run time, naming Func and indices */
    bool no_cache;      /* neither read nor write the cache on disk */
    bool profile, trace; /* every Func, as with the directives of that name (mlc/watch.h) */
    int64_t most_spans; /* that a trace keeps; default 262144, of 32 bytes */
} mlc_options;

/* Bytes of a vector register of the target (as in mlc_options; NULL: the default), by which a plan may choose its
 * factors: 64 for avx512, 32 for avx2, 16 for sse4 and plain; 0 where the target is none that can run here. */
MLC_API int mlc_vector_bytes(const char *target);

/* Several outputs, as the two arguments (count, array) of mlc_compile, mlc_realize_all ... */
#define mlc_outs(...) (int)(sizeof((mlc_func[]){ __VA_ARGS__ }) / sizeof(mlc_func)), (mlc_func[]){ __VA_ARGS__ }

/* ---- inputs of realize ---- */

/* The buffer that realize reads for this input; the user keeps it, and it must live until the calls are
 * done.  False (and an error in the context) where its type or rank differ or it has no data; then nothing is
 * bound. */
MLC_API bool mlc_bind(mlc_func input, const mlc_buffer *b);
MLC_API void mlc_unbind(mlc_func input);

/* ---- realize: compile (in the cache, usually) and run ---- */

/* Under the context's default plan, into a buffer with memory; false leaves the message in mlc_error(ctx). */
MLC_API bool mlc_realize(mlc_func f, mlc_buffer *out, const mlc_options *o);
/* Several outputs: a buffer an element of each output's tuple, in order.  A buffer whose data is NULL, or a
 * NULL entry of `buffers`, is allocated: with its own extents, else those that the program fixes, else those
 * of the first buffer of the same rank.  Entries made here are freed with mlc_buffer_free.
 * `plan` NULL: the context's default plan. */
MLC_API bool mlc_realize_all(mlc_plan *plan, int n_outputs, const mlc_func *outputs, mlc_buffer **buffers, int n,
                             const mlc_options *o);
/* From the definitions alone: the oracle.  The plan does not matter. */
MLC_API bool mlc_interpret(mlc_func f, mlc_buffer *out);

/* ---- modules ---- */

typedef struct mlc_module mlc_module;

/* Compiles outputs under a plan (NULL: the default plan).  The module holds all that it needs: the context
 * may change and go.  NULL on failure, with the reason in *error (may be NULL). */
MLC_API mlc_module *mlc_compile(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const mlc_options *o,
                                mlc_error_info *error);
MLC_API void mlc_module_free(mlc_module *m);

/* Calls it: n buffers in slot order (inputs, then outputs, one a tuple element), and the params in slot order
 * (n_params 0: the values that mlc_param_set gave when it was compiled).  Returns 0, or the code of the
 * error that *error (may be NULL) describes.  Any number of threads may call one module at once. */
MLC_API int mlc_run(mlc_module *m, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params,
                    mlc_error_info *error);
/* The same with the work of its kernels in a stream (a CUstream) of the context that the device was opened in; NULL, as in
 * mlc_run: the default stream.  What lies on the device then is neither waited for nor seen by other streams before the
 * program waits or orders them; mlc_buffer_to_host and mlc_buffer_leave_device work in the default stream.  A module without kernels
 * does not look at it. */
MLC_API int mlc_run_on(mlc_module *m, void *stream, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params,
                       mlc_error_info *error);

typedef struct {
    const char *name;
    mlc_type type;
    int rank;
    bool is_output;
    int element; /* of a tuple */
} mlc_slot_info;
typedef struct {
    const char *name;
    mlc_type type;
    bool has_range;
    mlc_scalar lo, hi;
    bool has_value; /* set when it was compiled */
    mlc_scalar value;
} mlc_param_info;
/* Milliseconds of each part of a compile; `cached`: nothing was lowered and no process was started. */
typedef struct {
    double key, lower, codegen, build, load, total;
    double kernels; /* by NVRTC */
    bool cached;
} mlc_times;

MLC_API int mlc_module_slots(const mlc_module *m);
MLC_API int mlc_module_params(const mlc_module *m);
MLC_API bool mlc_module_slot(const mlc_module *m, int i, mlc_slot_info *info);
MLC_API bool mlc_module_param(const mlc_module *m, int i, mlc_param_info *info);
MLC_API int mlc_module_find_param(const mlc_module *m, const char *name); /* -1: none */
MLC_API mlc_times mlc_module_times(const mlc_module *m);
MLC_API const char *mlc_module_target(const mlc_module *m); /* "avx512" ... */
/* The C that was compiled; NULL where there is none (interpret).  Lives as long as the module. */
MLC_API const char *mlc_module_source(const mlc_module *m);
/* The CUDA C++ of its kernels; NULL where there are none. */
MLC_API const char *mlc_module_cuda(const mlc_module *m);

/* Memoized Funcs (mlc_memoize) keep their values in the module, up to 256 MiB of them and of what they were made of, until
 * it is freed.  Past the limit those go that were used longest ago; 0 keeps none.  clear drops all, evict those
 * that were kept under this key.  Any thread may ask at any time. */
MLC_API void mlc_module_memo_limit(mlc_module *m, size_t bytes);
MLC_API void mlc_module_memo_clear(mlc_module *m);
MLC_API void mlc_module_memo_evict(mlc_module *m, int64_t key);
MLC_API mlc_memo_stats mlc_module_memo(mlc_module *m);

/* A typed C function over the module: mlc_function(m, "f32*[w,h] f32*[w,h] i64 w, i64 h -> i32", &e).
 * Arguments are separated by blanks or commas.  `T*` is a dense array, in slot order; its extents, dimension 0
 * first, are numbers or names of scalars in brackets, or may be left out where the program fixes them
 * (mlc_dim .extent).  `buffer` is a mlc_buffer *.  A scalar with a param's name, or an unnamed one, in order of
 * the params left, is that param; any other named one only sizes arrays.  The result is i32 (0: it went well,
 * else the error's code) or void.  NULL on failure.  The pointer lives as long as the module; cast it to
 * the type that the signature says. */
typedef void (*mlc_fn)(void);
MLC_API mlc_fn mlc_function(mlc_module *m, const char *signature, mlc_error_info *error);

/* ---- the target cuda ---- */

/* GPU i that the driver knows.  False, with the reason in *error (may be NULL): no driver, or fewer GPUs. */
typedef struct {
    char name[64], arch[16]; /* "NVIDIA H200", "sm_90a" */
    int processors, driver;  /* driver: 13000 is CUDA 13.0 */
    size_t memory;
} mlc_gpu_info;
MLC_API bool mlc_gpu(int i, mlc_gpu_info *info, mlc_error_info *error);
/* Path and version of NVRTC, which compiles kernels and needs no GPU, as text of at most `size` bytes.  False where
 * none is found. */
MLC_API bool mlc_gpu_compiler(char *text, size_t size, mlc_error_info *error);

/* A call that is recorded once and replayed (a CUDA graph): one start for all of its kernels, which costs the host little however many
 * they are.  Its buffers lie on the device (mlc_buffer_to_device) and their descriptors live as long as the graph; the plan has no part
 * for the host and no copies between kernels, else making it is an error.  Replays compute with what the buffers' memory holds
 * then.  NULL on failure, with the reason in *error (may be NULL).  One thread at a time may use a graph; it keeps its module. */
typedef struct mlc_graph mlc_graph;
MLC_API mlc_graph *mlc_graph_new(mlc_module *m, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params,
                                 mlc_error_info *error);
/* Other buffers, of whatever sizes, and other params from the next replay on.  0, or the error's code: then the graph stays as it was. */
MLC_API int mlc_graph_update(mlc_graph *g, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params,
                             mlc_error_info *error);
/* Starts a replay in a stream (NULL: the default one), and waits for nothing.  Replays of one graph follow each other. */
MLC_API int mlc_graph_run(mlc_graph *g, void *stream, mlc_error_info *error);
/* Waits for the last replay. */
MLC_API void mlc_graph_free(mlc_graph *g);

/* What ptxas said of a module's kernel i, of the variant for buffers with dense rows. */
typedef struct {
    const char *name;
    int registers;   /* of a thread; 0: nothing is known, since the driver compiles the kernel for a GPU newer than NVRTC */
    int64_t spilled; /* bytes of the stores and loads that registers did not suffice for */
    int64_t local;   /* bytes of a thread's own memory, which is not in registers */
    int64_t shared;  /* bytes of a block, fixed in the code; what a launch asks for is not in it */
    bool keeps;      /* the plan keeps memory in registers (store_in): spilled and local are to be 0 */
} mlc_kernel_info;
MLC_API int mlc_module_kernels(const mlc_module *m);
MLC_API bool mlc_module_kernel(const mlc_module *m, int i, mlc_kernel_info *info);
/* A line of ptxas on something that was asked of the chip and is not done (C75xx), the i-th; NULL: there are no more. */
MLC_API const char *mlc_module_kernel_warning(const mlc_module *m, int i);

/* ---- looking ---- */

/* Which box of each input do these boxes of the outputs need?  Calls `each` once an input with its dimensions;
 * false (and *error) where one is unbounded.  `box` holds rank entries an output, one output after the other. */
typedef struct {
    int64_t min, extent;
} mlc_box;
MLC_API bool mlc_required(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const mlc_box *box,
                          void (*each)(void *user, const char *input, int rank, const mlc_box *need), void *user,
                          mlc_error_info *error);

/* The other way round: the largest box of an output (rank entries) that the buffers bound to the inputs allow.
 * A dimension that they do not limit (a boundary condition, say) is that of the first input of the output's
 * rank.  False (and *error) where there is none such, or where no one box is the largest, as of in(x + y). */
MLC_API bool mlc_allowed(mlc_func output, mlc_box *box, mlc_error_info *error);

/* Prints a level: "algorithm", "schedule", "nest" (which loops, which memory), "loops", "c", "cuda" (kernels), "ptx" or
 * "sass" (kernels as NVRTC and ptxas make them, with what ptxas says of each: for the target's architecture, that of the GPU that is
 * here or sm_90a; sass takes nvdisasm or cuobjdump).  None needs a GPU.  False with *error where it cannot be made. */
MLC_API bool mlc_explain(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const char *level,
                         const mlc_options *o, FILE *to, mlc_error_info *error);

/* Writes PREFIX.c and PREFIX.h (and PREFIX.o where `object`), which need nothing of mlc: the function
 * `name` takes its buffers and params.  A file of such a name that mlc did not write is left alone: an error.
 * Target "host" here means avx2. */
typedef struct {
    const char *name; /* default: the first output's */
    bool object;      /* also compile it */
    bool openmp;      /* parallel loops become OpenMP pragmas; else they are serial */
} mlc_emit_options;
MLC_API bool mlc_emit(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const char *prefix,
                      const mlc_emit_options *e, const mlc_options *o, mlc_error_info *error);

#ifdef __cplusplus
}
#endif
#endif
