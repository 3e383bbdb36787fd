/* mlc/runtime.h - buffers, and the call that generated code receives.
 *
 * A buffer describes memory that its user owns (mlc_wrap) or that mlc allocated (mlc_buffer_new). */
#ifndef MLC_RUNTIME_H
#define MLC_RUNTIME_H

#include <mlc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MLC_MAX_RANK = 8 };

/* One dimension: indices run over [min, min + extent); stride is in elements, may be negative. */
typedef struct {
    int64_t min, extent, stride;
} mlc_dim_t;

enum { /* mlc_buffer.flags */
    MLC_BUFFER_OWNED = 1,       /* `owner` is released by mlc_buffer_free */
    MLC_BUFFER_HOST_DIRTY = 2,  /* with `device`: the elements are current on the host alone, */
    MLC_BUFFER_DEVICE_DIRTY = 4, /* or on the device alone; neither: on both */
    MLC_BUFFER_HEAP = 8         /* the descriptor itself was allocated by mlc */
};

typedef struct mlc_buffer {
    void *data;          /* the element at index (min, min, ...) */
    mlc_type type;
    int rank;
    mlc_dim_t dim[MLC_MAX_RANK];
    uint32_t flags;
    uint64_t device;     /* on a GPU: the address there of the same element; 0: it is not there */
    void *owner;         /* what mlc_buffer_free releases: our allocation, or a DLPack tensor */
    void *device_owner;  /* and the memory on the device, where mlc took it */
} mlc_buffer;

/* ---- making ---- */

/* A zeroed, 64-byte aligned, dense buffer: dimension 0 has stride 1, mins are 0.  NULL when memory is
 * out or the shape is no shape (a negative extent, a rank above MLC_MAX_RANK, no type, too many bytes). */
MLC_API mlc_buffer *mlc_buffer_new(mlc_type type, int rank, const int64_t *extent);
MLC_API mlc_buffer *mlc_buffer_new_with(const mlc_allocator *allocator, mlc_type type, int rank, const int64_t *extent);
/* Releases what the buffer owns, and the descriptor where mlc made it.  NULL does nothing. */
MLC_API void mlc_buffer_free(mlc_buffer *b);
/* Describes dense memory of the user; fills and returns `b`. */
MLC_API mlc_buffer *mlc_buffer_wrap(mlc_buffer *b, void *data, mlc_type type, int rank, const int64_t *extent);

/* mlc_wrap(pointer, extent0, extent1 ...): a mlc_buffer * over the user's dense memory, that lives as
 * long as the block.  The type comes from the pointer; mlc_wrap_as(type, pointer, ...) states it (f16, bf16). */
#define mlc_wrap(p, ...) mlc_wrap_as(MLC_TYPE_OF(p), p, __VA_ARGS__)
#define mlc_wrap_as(t, p, ...)                                                                                  \
    mlc_buffer_wrap(&(mlc_buffer){ 0 }, (void *)(uintptr_t)(p), (t),                                            \
                    (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[]){ __VA_ARGS__ })
#define MLC_TYPE_OF(p)                                                                                        \
    _Generic(*(p), bool: MLC_BOOL, char: MLC_U8, signed char: MLC_I8, unsigned char: MLC_U8, short: MLC_I16,  \
             unsigned short: MLC_U16, int: MLC_I32, unsigned: MLC_U32, long: MLC_LONG_(I), unsigned long: MLC_LONG_(U), \
             long long: MLC_I64, unsigned long long: MLC_U64, float: MLC_F32, double: MLC_F64)
#define MLC_LONG_(kind) (sizeof(long) == 8 ? MLC_##kind##64 : MLC_##kind##32)

/* ---- views: each changes the descriptor alone; false, with nothing changed, where the request does not fit ---- */

/* A copy of the descriptor that owns nothing. */
MLC_API mlc_buffer mlc_buffer_view(const mlc_buffer *b);
/* Keeps [min, min + extent) of dimension d; indices stay what they were. */
MLC_API bool mlc_buffer_crop(mlc_buffer *b, int d, int64_t min, int64_t extent);
/* Fixes index `at` of dimension d and drops the dimension. */
MLC_API bool mlc_buffer_slice(mlc_buffer *b, int d, int64_t at);
/* Exchanges two dimensions. */
MLC_API bool mlc_buffer_transpose(mlc_buffer *b, int d, int e);
/* Every step-th index of dimension d: the min stays, the extent shrinks. */
MLC_API bool mlc_buffer_stride(mlc_buffer *b, int d, int64_t step);
/* The same elements under indices that begin at `min`. */
MLC_API bool mlc_buffer_set_min(mlc_buffer *b, int d, int64_t min);

/* ---- reading ---- */

/* The element at these indices (rank of them); not checked. */
MLC_API void *mlc_buffer_at(const mlc_buffer *b, const int64_t *index);
MLC_API int64_t mlc_buffer_count(const mlc_buffer *b); /* elements */
/* Copies element by element; types, rank and extents are the same (else false), mins and strides may differ.
 * The two must not share memory. */
MLC_API bool mlc_buffer_copy(mlc_buffer *to, const mlc_buffer *from);
/* Do the two share a byte?  With a == b: do two indices of it share one? */
MLC_API bool mlc_buffer_overlap(const mlc_buffer *a, const mlc_buffer *b);

/* ---- memory of a GPU ----
 * A buffer may keep a second copy of its elements on the GPU of a context, with the same strides.  Calls of modules of
 * the target cuda then work on that copy where they can and leave their results there, so that nothing is copied between
 * them; buffers without one are copied at each call, there and back.  The flags say which copy is current.  Who changes
 * elements through `data` sets MLC_BUFFER_HOST_DIRTY; who reads them there asks for mlc_buffer_to_host first.  Views
 * share the copies, and each has flags of its own.  A buffer whose data is NULL lies on the device alone: its address
 * may come from another library of the same CUDA context. */

/* Takes device memory where the buffer has none, and brings what the host changed there.  False with *error (may be
 * NULL) where there is no device or no room. */
MLC_API bool mlc_buffer_to_device(mlc_ctx *ctx, mlc_buffer *b, mlc_error_info *error);
/* Brings home what the device changed, and waits for it; nothing where the host is current. */
MLC_API bool mlc_buffer_to_host(mlc_ctx *ctx, mlc_buffer *b, mlc_error_info *error);
/* Gives device memory back; what is current there alone is lost. */
MLC_API void mlc_buffer_leave_device(mlc_buffer *b);

/* ---- DLPack: arrays of other libraries, without copying ----
 * `tensor` is a DLManagedTensor * (mlc keeps a declaration of its own).  DLPack's last dimension is mlc's
 * dimension 0. */

/* Takes the tensor over: mlc_buffer_free calls its deleter.  One on a CUDA device, which has to be that of the context,
 * becomes a buffer without data, for modules of the target cuda.  NULL (tensor untouched) where it is on another kind of
 * device, has a type that mlc lacks or more than MLC_MAX_RANK dimensions. */
MLC_API mlc_buffer *mlc_buffer_from_dlpack(void *tensor);
/* A tensor over the same memory: that on the host, or that on the device (0) where it alone is current; work on it is in
 * the order of the default stream.  What `b` owned of it belongs to the tensor from now on (b becomes a view);
 * where b owned nothing, its memory must outlive the tensor.  NULL when memory is out. */
MLC_API void *mlc_buffer_to_dlpack(mlc_buffer *b);

/* A scalar argument. */
typedef union {
    int64_t i; /* bool, integers, index */
    double f;  /* floats, exact */
} mlc_scalar;

/* What the cache of memoized Funcs of a module holds, and how often calls found values there. */
typedef struct {
    int64_t entries, bytes, hits, misses;
} mlc_memo_stats;

/* What the values of a memoized Func are made of, and how much memory they take. */
typedef struct {
    int n;                /* arrays of values, one an element of its tuple */
    const int64_t *bytes; /* of each */
    int n_words;
    const int64_t *word;  /* numbers: which Func, its box, params, sizes */
    int n_inputs;
    void *const *input;   /* of each region that is read: its first element */
    const int64_t *shape; /* of each: bytes of an element, rank, then extent and stride a dimension */
    bool has_evict;
    int64_t evict;        /* the key to drop it by */
} mlc_memo;

/* Memory that host and GPU both use: the same bytes at two places, of which one or both are current. */
enum { MLC_ON_HOST = 1, MLC_ON_DEVICE = 2 };
typedef struct {
    void *host;       /* its first byte; NULL: none yet */
    uint64_t device;  /* a device address; 0: none yet */
    size_t bytes;
    uint32_t current; /* MLC_ON_HOST, MLC_ON_DEVICE or both */
    uint32_t owned;   /* which of the two places gpu_close releases */
} mlc_gpu_memory;

/* What a call needs from the process around it; every module carries its context's hooks.
 * Generated code calls only these, so it links against nothing. */
typedef struct {
    void *user;
    /* Runs body(closure, i) for i in [0, n) in any order, on any threads; returns the first non-zero
     * result (the others may be skipped), 0 otherwise. */
    int (*par_for)(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n);
    /* Runs body(closure, i) for i in [0, n) all at once, since they wait for each other; returns when all have
     * returned, with the first non-zero result, 0 otherwise.  Below 0: there are no threads, nothing was run. */
    int (*fork_join)(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n);
    /* Returns once *counter, which only grows, is at least `least`.  wake comes after each change of a counter:
     * whoever waits looks again.  Counters are read and changed by atomic operations. */
    void (*wait)(void *user, const int64_t *counter, int64_t least);
    void (*wake)(void *user, const int64_t *counter);
    /* Memory for intermediates: 64-byte aligned, NULL when out. */
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *p);
    /* print(): label, then n values as text of their types. */
    void (*print)(void *user, const char *label, int n, const mlc_type *type, const mlc_scalar *value);
    /* Memory for the values of a memoized Func, data[0 .. n): 1 where it holds them already, 0 where they have to be
     * computed, below 0 when memory is out.  memo_keep says that they are computed, memo_leave (always) that they are
     * read no more. */
    int (*memo_enter)(void *user, const mlc_memo *memo, void **entry, void **data);
    void (*memo_keep)(void *user, void *entry);
    void (*memo_leave)(void *user, void *entry);
    /* A GPU, NULL where the module has no kernels.  Each returns 0 or a row of errors.def, whose numbers it has put into
     * the call (mlc_call.error).  All work of a call is in the order of one stream.
     * gpu_move: makes the bytes current on the device or the host, where memory is taken at need; what: 1 they are about to
     * change there, 2 all of them, so that nothing needs to be copied.  gpu_close: gives back what gpu_move took.
     * gpu_launch: a kernel of the module by number, with at least one block; arguments as cuLaunchKernel takes them;
     * shared: bytes of dynamic memory. */
    int (*gpu_move)(void *user, void *call, mlc_gpu_memory *m, int to_device, int what);
    void (*gpu_close)(void *user, void *call, mlc_gpu_memory *m);
    int (*gpu_launch)(void *user, void *call, int kernel, const int64_t grid[3], const int64_t threads[3], int64_t shared, void **args);
} mlc_hooks;

/* What a kernel that is profiled or traced reports to; of any thread.  Rows are stages, in the order of its table. */
typedef struct mlc_watch {
    void *user;
    /* Adds to n counters: five a row (ticks of the processor's clock, runs, points, needed points, tasks). */
    void (*tally)(void *user, int n, const int *counter, const int64_t *amount);
    /* A Func's memory: its bytes, less than 0 where it is given back. */
    void (*memory)(void *user, int row, int64_t bytes);
    /* Something of a kind took place between two ticks, for this value of the loop around. */
    void (*span)(void *user, int kind, int64_t begin, int64_t end, int64_t value);
} mlc_watch;

/* The argument of a compiled kernel: `int NAME(mlc_call *)`, 0 on success.  Slot s is buffer s
 * (inputs, then outputs, a slot a tuple element). */
typedef struct {
    void *const *data;           /* per slot: address of the element at the mins */
    const int64_t *shape;        /* per slot MLC_MAX_RANK * 3 values: min, extent, stride a dimension */
    const mlc_scalar *param;     /* scalar params, by slot */
    const mlc_hooks *hooks;
    /* on failure: the row of errors.def, the number of the check within the module, its arguments */
    int64_t error[6];
    unsigned mode;               /* the caller's floating-point mode, in which C functions run; 0: any */
    const mlc_watch *watch;      /* NULL: nobody watches */
    mlc_gpu_memory *memory;      /* per slot, of modules with kernels; else NULL */
    void *stream;                /* of the GPU, that the call's work goes to; NULL: the default */
} mlc_call;

#ifdef __cplusplus
}
#endif
#endif
