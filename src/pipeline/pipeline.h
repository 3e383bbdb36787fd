/* pipeline.h - what ties the floors together: compile, call, realize, explain, emit.
 *
 * A compile goes: resolve the plan -> lower -> print C -> build or find the object -> Module.  It lives in
 * an arena of its own over a frozen context, so any number may run at once; a Module copies what it needs
 * into memory of its own. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "codegen/backend.h"
#include "nvrtc/nvrtc.h"
#include "runtime/runtime.h"
#include <mlc/run.h>

#include <pthread.h>
#include <stdatomic.h>

const char *pl_build_id(void);

/* ---- options, with every default filled in ---- */

typedef struct {
    bool interpret, check, no_cache, profile, trace;
    bool native;        /* the host itself: every instruction it has */
    CpuIsa isa;
    const char *target; /* the isa's name, "cuda" or "interpret" */
    bool cuda;          /* a GPU beside the host */
    const char *arch;   /* its architecture, "sm_90a"; NULL: that of the device, when it is asked for */
    const char *cc, *cflags;
    int opt, threads;
    int64_t most_spans;
} Options;
/* Raises into f where a field is wrong. */
Options pl_options(Fault *f, const mlc_options *o);
const char *pl_isa_name(CpuIsa isa);
/* `emit`: "host" is avx2, since the machine that will run it is unknown. */
CpuIsa pl_isa(Fault *f, const char *target, bool emit);
bool pl_is_cuda(const char *target); /* "cuda", the GPU that is here, or "cuda-sm_90a" */

/* ---- the metadata of a module: all that a call needs besides the code (meta.c) ---- */

typedef struct {
    const char *name;
    mlc_type type;
    int rank, element;
    bool is_output, on_device; /* on_device: kernels touch it, and the host only after moves */
    bool has_extent[MAX_RANK];
    int64_t extent[MAX_RANK]; /* fixed by the program */
} MetaSlot;

typedef struct {
    const char *name;
    mlc_type type;
    int at;                   /* where the kernel reads it */
    bool has_range, has_value;
    mlc_scalar lo, hi, value; /* value: not part of the stored form */
} MetaParam;

enum { DENSE, GENERAL, VARIANTS };
enum { MOST_INDEX_BITS = 48 }; /* no dimension is longer */

typedef struct {
    int n_slots, n_params;
    int index_bits;               /* mins, extents and index params lie within 2^this */
    bool warned;                  /* its plan has warnings: who finds it in the cache resolves it for them */
    MetaSlot *slot;
    MetaParam *param;
    const char *source[VARIANTS]; /* C */
    int n_kernels;                /* of a GPU; 0: it needs none */
    const char **kernel;          /* their names, by number */
    bool *keeps;                  /* of each: the plan keeps memory in its registers */
    const char *cuda[VARIANTS];   /* their CUDA C++; NULL where there are none */
} Meta;

void meta_write(StrBuf *out, const Meta *m);
/* Everything is copied into the arena; false where the bytes are no metadata. */
bool meta_read(Arena *a, const char *bytes, size_t n, Meta *m);
/* The params that a program uses, in the order of their declaration. */
const Sym *const *meta_params_used(Arena *a, const Schedule *s, int *n);
/* Slots (inputs in the order of the schedule, then outputs, one a tuple element) and params. */
void meta_of_schedule(Arena *a, const Schedule *s, const Sym *const *param, int n_params, Meta *m);
void meta_take_values(Meta *m, mlc_ctx *ctx); /* what mlc_param_set gave so far */

/* ---- code, built and loaded (code.c) ---- */

#define CODE_SYMBOL "mlc_kernel"

/* A C function that the program calls. */
typedef struct {
    const char *name;
    void (*fn)(void);
} ExternFn;

typedef struct {
    void *handle;
    int (*fn)(mlc_call *call);
    const char *const *text; /* two texts a check */
    const WatchRow *watch;   /* the stages that it reports on, NULL: none */
    const char *const *span; /* three texts a kind of span, or NULL */
    const void *cubin;       /* its kernels, NULL: none */
    NvReport report;         /* what ptxas said of them */
    NvModule *kernels;       /* on the device, from the first call on */
} Code;

/* Builds `source` (or finds its object) and loads it; raises into a->fault. */
Code *code_build(Arena *a, const Options *o, const char *source, const ExternFn *ext, int n_ext, mlc_times *t);
void code_free(Code *c);
/* The first level of the cache: key -> metadata; false on a miss. */
bool code_find(Arena *a, const Options *o, const char *key, Meta *m);
void code_keep(Arena *a, const Options *o, const char *key, const Meta *m);
/* Compiles `source` by NVRTC, or finds what it gave before: a blob under the digest of source, compiler and flags. */
typedef struct {
    const void *bytes;
    size_t n;
    NvReport report;
} Cubin;
Cubin code_cubin(Arena *a, const Options *o, NvCompiler *nvrtc, const char *source, const char *name, mlc_times *t);
/* Compiles to an object file at `path`, for ahead-of-time use. */
void code_object(Arena *a, const Options *o, const char *source, const char *path, bool openmp);
/* Path, kind and identity of the compiler, as text that changes when it does. */
const char *code_compiler(Arena *a, const Options *o, bool *is_gcc);

/* ---- an algorithm copied out of its context (snapshot.c) ---- */

typedef struct Snapshot {
    mlc_ctx ctx;       /* its own params; no names, no plan */
    Func *output[16];
    int n_outputs;
    Func **input;      /* in slot order */
    int n_inputs;
    const Sym **param; /* in slot order */
    int n_params;
} Snapshot;
Snapshot *snap_copy(Arena *a, const Schedule *s, const Sym *const *param, int n_params);

/* ---- the GPU behind a context (gpu.c) ---- */

/* NVRTC and a device, each opened at the first need.  The contexts and modules on it share it by counting. */
typedef struct Gpu Gpu;
Gpu *gpu_new(const mlc_allocator *hook); /* one reference; NULL: no memory */
Gpu *gpu_ref(Gpu *g);
void gpu_unref(Gpu *g);
/* Both raise where there is none. */
NvCompiler *gpu_compiler(Gpu *g, Fault *f);
NvDevice *gpu_device(Gpu *g, Fault *f);
/* The same, quietly: NULL, with the message in `why` (may be NULL) where there is none. */
NvCompiler *gpu_find_compiler(Gpu *g, Fault *why);
NvDevice *gpu_find_device(Gpu *g, Fault *why);

/* ---- modules ---- */

struct mlc_module {
    Arena arena;
    Fault fault;
    mlc_allocator hook;
    Options options;
    Meta meta;
    char key[33];
    HookUser hook_user;
    mlc_hooks hooks;
    mlc_times times;
    int n_ext;
    ExternFn *ext;
    Lock lock; /* the arena: building the general variant, making functions, interpreting */
    _Atomic(Code *) code[VARIANTS], ready[VARIANTS]; /* ready: its kernels are on the device too */
    Watch *watch;         /* profiled or traced, else NULL */
    int n_watched;
    Gpu *gpu;             /* target cuda, else NULL */
    Snapshot *snapshot;   /* interpret: the algorithm, copied */
    struct Closure *closures;
    atomic_int refs;
};

mlc_module *module_new(const mlc_allocator *hook, Fault *f);
/* Builds the code of a variant, kernels included; puts them on the device.  Both raise into the arena's fault. */
Code *module_build(mlc_module *m, int variant, mlc_times *t);
void module_load_kernels(mlc_module *m, Code *c);
/* Into the arena, whose faults go to f. */
void module_enter(mlc_module *m, Fault *f);
void module_leave(mlc_module *m);
void module_unref(mlc_module *m);
/* Notes why a buffer of another rank is refused: rank -1 is that of mlc_wrap, where the extents make no shape. */
void pl_note_rank(Fault *f, const Place *place, const char *name, const mlc_buffer *b, int rank);
/* Runs with every check; f receives the error. */
int module_run(mlc_module *m, void *stream, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, Fault *f);
void closures_free(struct Closure *list); /* function.c */

/* ---- compiling (compile.c) ---- */

/* One compile: an arena, an overlay of the context's nodes, the outputs and the plan. */
typedef struct {
    Fault fault;
    Arena arena;
    Interner ir;
    mlc_ctx *ctx;
    const mlc_plan *plan;
    mlc_plan empty;     /* where the context has no plan */
    Func *output[16];
    int n_outputs;
    Options options;
    Gpu *gpu;           /* target cuda: by pl_take_gpu, else NULL */
    Schedule *schedule; /* by pl_resolve */
    char key[33];
    bool explain;       /* productions say what they compute again */
    bool in_line;       /* asynchronous Funcs without tasks */
    mlc_times times;
    double begun;
    bool timed;         /* MLC_TIME */
    StrBuf passes;      /* its lines */
} Compile;

/* Sets up the arena; everything later needs a barrier on c->fault. */
void pl_open(Compile *c, mlc_plan *plan, int n, const mlc_func *outputs);
void pl_close(Compile *c);
void pl_begin(Compile *c, mlc_plan *plan, int n, const mlc_func *outputs, const mlc_options *o);
void pl_resolve(Compile *c);
/* Target cuda: the architecture of the GPU that is here, where the options name none.  Says nothing of what is missing:
 * a program without kernels needs none of it. */
void pl_take_gpu(Compile *c);
/* Raises what is missing, where the compiler of kernels is or no architecture is known. */
void pl_need_gpu(Compile *c);
Program *pl_lower(Compile *c, bool dense);
/* Which kernels (by number) have memory that the plan keeps in registers. */
void pl_find_kept(Arena *a, const Program *p, bool *keeps);
Program *pl_lower_nest(Compile *c); /* the first pass alone: loops and memory as the plan has them */
/* mlc_required of a program that is lowered already; raises (required.c). */
void pl_required(Compile *c, const Program *p, const mlc_box *box,
                 void (*each)(void *user, const char *input, int rank, const mlc_box *need), void *user);
void pl_program_text(Compile *c, StrBuf *out); /* the algorithm, then the plan */
mlc_module *pl_compile(Compile *c);            /* after pl_begin */
mlc_module *pl_find_or_compile(Compile *c);    /* the same, in this process' modules first; a counted reference */
double pl_now(void);                           /* milliseconds */
void pl_give_error(mlc_error_info *to, const Fault *f);

/* ---- the state behind a context: threads and kept memory, and modules that realize made (state.c) ---- */

Runtime *state_runtime(mlc_ctx *ctx, Fault *f); /* a counted reference */
Gpu *state_gpu(mlc_ctx *ctx, Fault *f);         /* a counted reference */
mlc_module *state_find(mlc_ctx *ctx, const char *key, int threads); /* a counted reference, or NULL */
void state_keep(mlc_ctx *ctx, mlc_module *m);

#endif
