/* mlc/schedule.h - plans: one ordered list of (stage, directive), kept apart from the algorithm.
 *
 * A directive is a plain value: it can be stored, printed, parsed and mutated.  schedule(f, ...)
 * appends to the context's default plan; mlc_plan_new makes others.  Directives are applied at
 * compile, to a private copy: an illegal plan leaves nothing behind.  Names and text forms come from
 * src/schedule/directives.def; docs/directives.md is generated from the same table. */
#ifndef MLC_SCHEDULE_H
#define MLC_SCHEDULE_H

#include <mlc/func.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    MLC_TAIL_AUTO,   /* never fails at run time (docs/semantics.md section 6) */
    MLC_TAIL_GUARD,  /* an if around the body of the last, partial tile */
    MLC_TAIL_SHIFT,  /* the last tile moves inwards and recomputes; pure definitions only */
    MLC_TAIL_ROUND,  /* computes past the end; the box grows to a multiple of the factor */
    MLC_TAIL_PREDICATE,        /* every tile under a mask: vector loads and stores without a branch, one body */
    MLC_TAIL_PREDICATE_LOADS,  /* nothing is loaded past the end, stores go on: an output's extent is a multiple */
    MLC_TAIL_PREDICATE_STORES, /* nothing is stored past the end, loads go on: inputs reach a multiple */
    MLC_TAIL_SHIFT_BLEND,      /* as shift; what an earlier tile stored is read back and kept, so updates may */
    MLC_TAIL_ROUND_BLEND,      /* as round; what lies past the end is read back and kept */
    MLC_TAIL_COUNT
} mlc_tail;

typedef enum {
    MLC_MEMORY_AUTO,     /* the stack where the size is a small constant, else the heap */
    MLC_MEMORY_HEAP,
    MLC_MEMORY_STACK,    /* an array: its size must be bounded by a constant, of 128 KiB at most */
    MLC_MEMORY_REGISTER, /* named variables: every index must be a constant once loops are unrolled */
    MLC_MEMORY_SHARED,   /* of the threads of a block of a GPU: its size must be bounded by a constant */
    MLC_MEMORY_FRAGMENT, /* registers of the lanes of a warp, as an instruction of tensorize() wants them */
    MLC_MEMORY_COUNT
} mlc_memory;

/* How a Func that is a copy of another one gets from there to here. */
typedef enum {
    MLC_COPY_LDST,     /* a thread loads and stores, the default */
    MLC_COPY_CP_ASYNC, /* a GPU copies 4, 8 or 16 bytes a thread to shared memory on its own, while threads go on */
    MLC_COPY_COUNT
} mlc_copy;

typedef enum {
    MLC_WAY_FORWARD, /* the window of a folded dimension must not fall back along its loop */
    MLC_WAY_BOTH,    /* it may, where each iteration computes its window anew */
    MLC_WAY_COUNT
} mlc_way;

typedef enum {
    MLC_SPLIT, MLC_FUSE, MLC_TILE, MLC_REORDER,
    MLC_SERIAL, MLC_PARALLEL, MLC_VECTORIZE, MLC_UNROLL, MLC_RENAME, MLC_PARTITION,
    MLC_COMPUTE_ROOT, MLC_COMPUTE_AT, MLC_COMPUTE_INLINE, MLC_STORE_ROOT, MLC_STORE_AT,
    MLC_REORDER_STORAGE, MLC_ALIGN_STORAGE, MLC_BOUND_STORAGE, MLC_FOLD_STORAGE, MLC_STORE_IN,
    MLC_ASYNC, MLC_RING_BUFFER,
    MLC_BOUND, MLC_BOUND_EXTENT, MLC_ALIGN_BOUNDS, MLC_ALIGN_EXTENT, MLC_ESTIMATE, MLC_UNSCHEDULED,
    MLC_IN, MLC_CLONE_IN, MLC_EAGER_INLINE, MLC_RFACTOR,
    MLC_SPECIALIZE, MLC_SPECIALIZE_FAIL, MLC_PREFETCH,
    MLC_HOIST_STORAGE, MLC_HOIST_STORAGE_ROOT,
    MLC_ATOMIC,
    MLC_MEMOIZE,
    MLC_LEVEL, MLC_CHANGE_TYPE,
    MLC_PROFILE, MLC_TRACE,
    MLC_COMPUTE_WITH,
    MLC_STREAM_STORES, MLC_STREAM_LOADS,
    MLC_GPU_BLOCKS, MLC_GPU_THREADS, MLC_GPU_TILE, MLC_GPU_SINGLE_THREAD,
    MLC_COPY_BY, MLC_SWIZZLE, MLC_TENSORIZE,
    MLC_DIRECTIVE_COUNT
} mlc_directive_kind;

/* What partition(v, ...) says of cutting a loop where its likely conditions begin and end to hold. */
typedef enum {
    MLC_PARTITION_AUTO,   /* where it pays, the default */
    MLC_PARTITION_NEVER,  /* one loop, every condition asked in it */
    MLC_PARTITION_ALWAYS, /* also where it seems not to pay; an error where nothing can be cut */
    MLC_PARTITION_COUNT
} mlc_partition_policy;

/* What a prefetch does where the region ahead is not all in memory. */
typedef enum {
    MLC_FETCH_CLAMP,        /* fetches the part that is, or its edge */
    MLC_FETCH_GUARD,        /* fetches nothing */
    MLC_FETCH_NON_FAULTING, /* fetches it nevertheless: no address of a prefetch faults */
    MLC_FETCH_COUNT
} mlc_fetch;

/* The instructions of tensorize(), one a row of <mlc/tensor.def>. */
typedef enum {
#define TENSOR(kind, name, scope, m, n, k, ab, c, map_a, map_b, map_c, arch, code) MLC_##kind,
#include <mlc/tensor.def>
    MLC_TENSOR_COUNT
} mlc_tensor;

enum { MLC_AT_LEVEL = -2 };

/* Which iterations of two stages that share a loop run together. */
typedef enum {
    MLC_LOOP_ALIGN_AUTO,     /* as NO_ALIGN */
    MLC_LOOP_ALIGN_START,    /* the first ones */
    MLC_LOOP_ALIGN_END,      /* the last ones */
    MLC_LOOP_ALIGN_NO_ALIGN, /* those of equal number */
    MLC_LOOP_ALIGN_COUNT
} mlc_loop_align;

/* One directive.  Fields that its kind does not use are zero. */
typedef struct mlc_directive mlc_directive;
struct mlc_directive {
    mlc_directive_kind kind;
    int n;               /* reorder, reorder_storage, gpu_blocks, gpu_threads, gpu_tile, tensorize: how many; rfactor: twice the number of pairs */
    mlc_var v[9];        /* loops or dimensions, in the order written */
    int64_t k[3];        /* factors: split, tile (x, y), gpu_tile, vectorize/unroll/parallel with a factor; bound, estimate: min, extent;
                          * align_storage, bound_storage, fold_storage: elements; bound_extent: extent; align_bounds: modulus,
                          * remainder; align_extent: modulus; partition: the policy */
    mlc_tail tail;
    mlc_memory memory;   /* store_in */
    mlc_copy copy;       /* copy_by */
    mlc_way way;         /* fold_storage */
    bool reassociate;    /* float + and * may be grouped and ordered otherwise */
    mlc_fetch bounds;    /* prefetch */
    mlc_loop_align align; /* compute_with */
    mlc_func at;         /* compute_at, store_at, hoist_storage: the consumer; prefetch: what is read; compute_with: whose loops */
    int at_stage;        /* -1: any of its stages that has the loop (compute_with: the pure one); MLC_AT_LEVEL: v[0] is a level, `at` is
                          * empty */
    int n_func;          /* in, clone_in: how many consumers, 0: all; eager_inline: how many Funcs; stream_loads: how many, 0: all */
    mlc_func func[8];    /* ... and which */
    mlc_tensor tensor;   /* tensorize */
    mlc_func made;       /* in, clone_in, rfactor: the Func that this line makes */
    mlc_expr cond;       /* specialize; memoize: the key, or none (its node is NULL) */
    mlc_type type;       /* change_type */
    bool lossy;          /* change_type: values may change */
    const char *text;    /* specialize_fail: the message */
    int n_body;          /* specialize: the directives of the copy; a plan keeps its own copies of these */
    const mlc_directive *body;
    mlc_loc loc;
};

typedef struct mlc_plan mlc_plan;

/* ---- directives: loops are Vars or RVars, .tail = MLC_TAIL_... may end those that split ---- */

/* split(v, outer, inner, factor): v = outer * factor + inner. */
#define mlc_split(...) mlc_split_of((struct mlc_split_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* fuse(inner, outer, fused). */
#define mlc_fuse(inner_, outer_, fused_) mlc_fuse_of(inner_, outer_, fused_, MLC_HERE)
/* tile(x, y, xo, yo, xi, yi, fx, fy): two splits, then xi, yi, xo, yo, innermost first. */
#define mlc_tile(...) mlc_tile_of((struct mlc_tile_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* reorder(a, b, ...): innermost first, up to 8. */
#define mlc_reorder(...) mlc_order_of(MLC_REORDER, MLC_LOOPS(__VA_ARGS__), MLC_HERE)
#define mlc_serial(v_) mlc_loop_of(MLC_SERIAL, (struct mlc_loop_args){ .loc = MLC_HERE, .v = (v_) })
/* parallel(v [, factor]), vectorize(v [, factor]), unroll(v [, factor]). */
#define mlc_parallel(...) mlc_loop_of(MLC_PARALLEL, (struct mlc_loop_args){ .loc = MLC_HERE, __VA_ARGS__ })
#define mlc_vectorize(...) mlc_loop_of(MLC_VECTORIZE, (struct mlc_loop_args){ .loc = MLC_HERE, __VA_ARGS__ })
#define mlc_unroll(...) mlc_loop_of(MLC_UNROLL, (struct mlc_loop_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* rename(old, new): the loop keeps its place and marks. */
#define mlc_rename(old_, new_) mlc_rename_of(old_, new_, MLC_HERE)
/* partition(v, MLC_PARTITION_...): after the splits and fuses of that loop. */
#define mlc_partition(v_, policy_) mlc_size_of(MLC_PARTITION, v_, policy_, MLC_HERE)
#define mlc_compute_root() mlc_place_of(MLC_COMPUTE_ROOT, MLC_HERE)
#define mlc_compute_inline() mlc_place_of(MLC_COMPUTE_INLINE, MLC_HERE)
#define mlc_store_root() mlc_place_of(MLC_STORE_ROOT, MLC_HERE)
/* compute_at(f, v), store_at(f, v): f is a Func (any of its stages that has the loop) or a stage.  compute_at(level),
 * store_at(level), hoist_storage(level): where another line of the plan, before or behind, says that the level is. */
#define mlc_compute_at(...) MLC_CAT(MLC_PLACE_, MLC_NARG(__VA_ARGS__))(MLC_COMPUTE_AT, __VA_ARGS__)
#define mlc_store_at(...) MLC_CAT(MLC_PLACE_, MLC_NARG(__VA_ARGS__))(MLC_STORE_AT, __VA_ARGS__)
#define MLC_PLACE_1(kind_, level_) mlc_at_level(kind_, level_, MLC_HERE)
#define MLC_PLACE_2(kind_, f, v_) mlc_at_of(kind_, MLC_CONSUMER(f), v_, MLC_HERE)
/* level(strip, v): the level strip is the loop v of this stage; level(strip): it is outside of all loops.  A level is
 * a Var that names a place instead of a loop, so code may place Funcs where only its caller knows.  A plan says it
 * once, anywhere. */
#define mlc_level(...) mlc_level_of((struct mlc_level_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* hoist_storage(f, v), hoist_storage_root(): the memory is taken once for all iterations inside of this loop, or of the call,
 * and each uses it anew: values live as long as they did.  The loop is around the one where the Func is stored. */
#define mlc_hoist_storage(...) MLC_CAT(MLC_PLACE_, MLC_NARG(__VA_ARGS__))(MLC_HOIST_STORAGE, __VA_ARGS__)
#define mlc_hoist_storage_root() mlc_place_of(MLC_HOIST_STORAGE_ROOT, MLC_HERE)

/* compute_with(f, v): this stage runs in the loops of f, a Func (its pure stage) or a stage, from the outermost down to
 * v: in each iteration first f's part, then this stage's.  The loops run over what either needs, and each part
 * where it is needed.  Both have these loops by the same names, in the same order and of the same kinds, both are
 * computed at one place, and neither is made of the other.  .align = MLC_LOOP_ALIGN_... says which iterations of v run
 * together; another line that names a loop around v says so of that one. */
#define mlc_compute_with(f, ...) mlc_with_of((struct mlc_with_args){ .loc = MLC_HERE, .leader = MLC_CONSUMER(f), __VA_ARGS__ })

/* Of the memory of a Func that is computed at root or in a loop, and is no output; v is a dimension, a Var of its
 * pure definition. */

/* reorder_storage(a, b, ...): the dimension with the smallest stride first, among the places that they have. */
#define mlc_reorder_storage(...) mlc_order_of(MLC_REORDER_STORAGE, MLC_LOOPS(__VA_ARGS__), MLC_HERE)
/* align_storage(v, n): what is stored along v is padded to a multiple of n elements (1 or more), so that the
 * strides of the dimensions outside of it are multiples of n. */
#define mlc_align_storage(v_, n_) mlc_size_of(MLC_ALIGN_STORAGE, v_, n_, MLC_HERE)
/* bound_storage(v, n): memory for n points along v, whatever is computed; where n is not known to be enough, the
 * call checks it. */
#define mlc_bound_storage(v_, n_) mlc_size_of(MLC_BOUND_STORAGE, v_, n_, MLC_HERE)
/* fold_storage(v, n): of a Func stored outside of a loop along which v moves, a circle of n points, where any n (not
 * a power of two alone) will do.  .way = MLC_WAY_BOTH lets the window of v fall back along that loop. */
#define mlc_fold_storage(...) mlc_fold_of((struct mlc_fold_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* store_in(MLC_MEMORY_...): which memory; an error where the values cannot live there. */
#define mlc_store_in(memory_) mlc_memory_of(memory_, MLC_HERE)
/* swizzle(x, y): in shared memory, whose rows along x hold several chunks of 16 bytes, row y keeps chunk c at the place of chunk c xor y, so
 * that threads that read a column of chunks find each in other banks; a permutation in each row, which no value shows. */
#define mlc_swizzle(x_, y_) mlc_order_of(MLC_SWIZZLE, 2, (mlc_var[]){ x_, y_ }, MLC_HERE)
/* copy_by(MLC_COPY_...): how a Func that is one read of another gets its values.  MLC_COPY_CP_ASYNC needs shared memory on this side and
 * memory of the device on the other; a vectorized loop makes 8 or 16 bytes of 4, whose alignment is proven or checked at each call. */
#define mlc_copy_by(copy_) mlc_copy_of(copy_, MLC_HERE)

/* async(): the Func is computed in a task of its own, at the same time as what follows; its consumers wait for the
 * points that they read.  Where it is stored outside of the loop that it is computed in, its task runs ahead, as
 * far as its memory goes.  Needs compute_root or compute_at; every iteration of the loops between the two places
 * must touch new points (sliding windows do).  Code made ahead of time computes it in line. */
#define mlc_async() mlc_place_of(MLC_ASYNC, MLC_HERE)
/* ring_buffer(n): memory for n (1 or more) computations of the Func, used in turn: each iteration of the innermost loop
 * between store_at and compute_at fills the next part, whole, and nothing slides. An async Func runs ahead by
 * up to n - 1 of them, also where iterations touch the same points.  Needs store_at or store_root outside of
 * compute_at. */
#define mlc_ring_buffer(n_) mlc_count_of(MLC_RING_BUFFER, n_, MLC_HERE)
/* bound(v, min, extent), estimate(v, min, extent): of a dimension, in points. */
#define mlc_bound(v_, min_, extent_) mlc_box_of(MLC_BOUND, v_, min_, extent_, MLC_HERE)
/* bound_extent(v, extent): the dimension is computed from where it is needed for just that many points; a call
 * that needs more is an error, so is an output of another extent. */
#define mlc_bound_extent(v_, extent_) mlc_size_of(MLC_BOUND_EXTENT, v_, extent_, MLC_HERE)
/* align_bounds(v, modulus [, remainder]): what is computed grows until its min is `remainder` more than a multiple of
 * the modulus, and its extent a multiple.  align_extent(v, modulus): the extent alone, from the min that is needed.
 * An output's box is its buffer's, which must be so: else the call is an error. */
#define mlc_align_bounds(...) mlc_align_of(MLC_ALIGN_BOUNDS, (struct mlc_align_args){ .loc = MLC_HERE, __VA_ARGS__ })
#define mlc_align_extent(v_, modulus_) mlc_size_of(MLC_ALIGN_EXTENT, v_, modulus_, MLC_HERE)
#define mlc_estimate(v_, min_, extent_) mlc_box_of(MLC_ESTIMATE, v_, min_, extent_, MLC_HERE)
/* unscheduled(): this stage is meant to run as written; its Func's other schedules warn of it no more. */
#define mlc_unscheduled() mlc_place_of(MLC_UNSCHEDULED, MLC_HERE)
/* in(consumer, ..., w): the consumers read w, a new Func w(x, ..) = f(x, ..), in place of f; without consumers all
 * that read f do, but for its other wrappers.  f is a Func or an input, whose wrapper has the loops _0, _1 ...
 * w is a Func made by mlc_func_new and not defined; this plan alone gives it a definition, and schedules it like
 * any other.  The values stay: `mlc explain --level algorithm` prints what is computed. */
#define mlc_in(...) mlc_wrap_of(MLC_IN, MLC_FUNCS(__VA_ARGS__), MLC_HERE)
/* clone_in(consumer, ..., w): the consumers read w, a copy of f with all of its definitions and a schedule of its own. */
#define mlc_clone_in(...) mlc_wrap_of(MLC_CLONE_IN, MLC_FUNCS(__VA_ARGS__), MLC_HERE)
/* eager_inline(f, ...): this stage has the definitions of f ... where it read them, as other lines and
 * `explain --level algorithm` see it; each is a pure Func that the plan does not schedule. */
#define mlc_eager_inline(...) mlc_funcs_of(MLC_EAGER_INLINE, MLC_FUNCS(__VA_ARGS__), MLC_HERE)
/* specialize(cond, directives ...): where cond holds, this stage runs as a copy of its schedule so far, with
 * these directives added; the first condition that holds wins, what comes after is for the others.  cond is a
 * bool of params, sizes and strides of buffers, and constants.  The directives are about loops, or specialize
 * again.  Producers may be computed at loops of the copies: each copy that reads them has its own. */
#define mlc_specialize(...) MLC_SPECIALIZED(__VA_ARGS__, (mlc_directive){ .kind = MLC_SPECIALIZE })
/* specialize_fail(message): a call that takes none of the specializations before this is an error. */
#define mlc_specialize_fail(message_) mlc_specialize_fail_of(message_, MLC_HERE)

/* change_type(MLC_I16): the Func is computed and stored in this type: its values are converted to it, updates by an
 * operator (+= ...) run in it, and readers convert back; mlc_explain prints, at level algorithm, what is computed.
 * Refused where values may change (a value does not fit, a sum may wrap or round otherwise), which .lossy = true
 * accepts: then the bits are those of that algorithm. */
#define mlc_change_type(...) mlc_change_type_of((struct mlc_change_args){ .loc = MLC_HERE, .type = __VA_ARGS__ })

/* rfactor(parts, ri, u [, rj, v ..., up to 4 pairs] [, .reassociate = true]), of an update that folds with an
 * associative operator: parts, a Func without definitions, becomes one with the further dimensions u, v ..., whose
 * update folds over all loops but ri, rj ..., and these stay to join the pieces.  Loops may be pieces of RVars.
 * Exact for integers, bools, min, max, argmin and argmax; sums and products of floats round otherwise, which
 * .reassociate accepts: mlc_explain prints, at level algorithm, the algorithm that the plan derives.  Later lines
 * of the plan schedule parts; what they do not is computed at the innermost loop that joins. */
#define mlc_rfactor(...) mlc_rfactor_of((struct mlc_rfactor_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* prefetch(f, at, from, offset): each iteration of the loop `at` first asks the caches for the region of f, an
 * input or a Func stored outside of the loop `from`, that this stage reads there `offset` iterations of `from`
 * later; `from` is `at` or a loop around it.  .bounds = MLC_FETCH_... may follow. */
#define mlc_prefetch(...) mlc_prefetch_of((struct mlc_prefetch_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* profile(): the calls of a module count and time what this Func costs (mlc/watch.h).  trace(): they keep when it was
 * computed, by which thread.  Both are of all stages of the Func, and want a place of its own for it. */
#define mlc_profile() mlc_place_of(MLC_PROFILE, MLC_HERE)
#define mlc_trace() mlc_place_of(MLC_TRACE, MLC_HERE)

/* atomic([.reassociate = true]), of an update that folds with an associative operator: later lines may mark loops over
 * its RVars parallel, whose threads then join values at the same places one after the other, and one of them as
 * vector, whose lanes fold parts of their own that are joined by halving: an algorithm that mlc_explain prints.  Exact
 * for integers, bools, min, max, argmin and argmax.  Sums and products of floats need .reassociate: under vectorize
 * they have the bits of the printed algorithm, under parallel those of any order, with n * eps of the sum of the n terms'
 * magnitudes (of the product) as the bound of the difference. */
#define mlc_atomic(...) mlc_atomic_of((struct mlc_atomic_args){ .loc = MLC_HERE, __VA_ARGS__ })
/* memoize(): the values of this Func, computed at root, are kept in the module from call to call, and a call that
 * would compute the same finds them: for the same box, params and sizes, and the same elements of the inputs that they are
 * made of, all of which are compared.  What is made for it alone is not computed then either.  C functions that it
 * calls must give the same for the same.  memoize_by(key), `memoize(key)` in text: with a key, an integer made of params,
 * that mlc_module_memo_evict drops them by. */
#define mlc_memoize() mlc_place_of(MLC_MEMOIZE, MLC_HERE)
#define mlc_memoize_by(key_) mlc_memoize_of(MLC_E(key_), MLC_HERE)
/* stream_stores(): whole vectors of this stage go to memory around the caches, for outputs larger than these.  The rows of
 * its memory must begin at multiples of 64 bytes, which each call checks; a vector loop runs
 * over the dimension of stride 1.  stream_loads(f, ...): hints that what it reads of these, up to 8 (none: of all), is
 * read once. */
#define mlc_stream_stores() mlc_place_of(MLC_STREAM_STORES, MLC_HERE)
#define mlc_stream_loads(...) mlc_stream_loads_of((struct mlc_stream_args){ .loc = MLC_HERE, __VA_ARGS__ })

/* gpu_blocks(x [, y [, z]]), gpu_threads(x [, y [, z]]), innermost first: the iterations of these loops are the blocks of a
 * kernel, and the threads of each block.  A stage's nest has at most 3 loops of either; those of blocks stand around those
 * of threads, right inside of each other.  What is computed at a loop of blocks is computed by the threads of each block for
 * itself, in memory that these share, by its own gpu_threads or by one thread alone. */
#define mlc_gpu_blocks(...) mlc_order_of(MLC_GPU_BLOCKS, MLC_LOOPS(__VA_ARGS__), MLC_HERE)
#define mlc_gpu_threads(...) mlc_order_of(MLC_GPU_THREADS, MLC_LOOPS(__VA_ARGS__), MLC_HERE)
/* gpu_tile(x, y, xo, yo, xi, yi, fx, fy): splits into tiles, whose loops, xo innermost, become gpu_blocks, and the loops
 * inside of a tile gpu_threads; gpu_tile(x, xo, xi, fx) and gpu_tile(x, y, z, xo, yo, zo, xi, yi, zi, fx, fy, fz) likewise. */
#define mlc_gpu_tile(...) MLC_CAT(MLC_GPU_TILE_, MLC_NARG(__VA_ARGS__))(__VA_ARGS__)
#define MLC_GPU_TILE_4(...) mlc_gpu_tile1_of((struct mlc_split_args){ .loc = MLC_HERE, __VA_ARGS__ })
#define MLC_GPU_TILE_5(...) MLC_GPU_TILE_4(__VA_ARGS__)
#define MLC_GPU_TILE_8(...) mlc_gpu_tile2_of((struct mlc_tile_args){ .loc = MLC_HERE, __VA_ARGS__ })
#define MLC_GPU_TILE_9(...) MLC_GPU_TILE_8(__VA_ARGS__)
#define MLC_GPU_TILE_12(...) mlc_gpu_tile3_of((struct mlc_tile3_args){ .loc = MLC_HERE, __VA_ARGS__ })
#define MLC_GPU_TILE_13(...) MLC_GPU_TILE_12(__VA_ARGS__)
/* gpu_single_thread(): the stage runs in a kernel of one block of one thread. */
#define mlc_gpu_single_thread() mlc_place_of(MLC_GPU_SINGLE_THREAD, MLC_HERE)
/* tensorize(MLC_MMA_..., m, n, k), of an update f += a * b: these three loops, the innermost of the stage and of just the
 * lengths that the instruction has, are one instruction of a warp.  Its sums round in an order and a way that are the chip's:
 * class bounded for floats, the bits of the algorithm for integers.  f is kept in registers, store_in(MLC_MEMORY_FRAGMENT).
 * tensorize(MLC_MMA_..., m, n): the two innermost loops of a stage that stores or reads such an f run over its elements as the
 * lanes hold them: what stands inside runs in each lane for those that are its own. */
#define mlc_tensorize(instruction_, ...) mlc_tensorize_of(instruction_, MLC_LOOPS(__VA_ARGS__), MLC_HERE)

/* ---- plans ---- */

/* Appends directives to the default plan of the stage's context; s is a Func (its pure stage) or a stage. */
#define mlc_schedule(s, ...) mlc_apply(MLC_STAGE(s), MLC_DIRECTIVES(__VA_ARGS__))
MLC_API bool mlc_apply(mlc_stage s, int n, const mlc_directive *d);
/* The same for any plan. */
#define mlc_plan_add(plan, s, ...) mlc_plan_append(plan, MLC_STAGE(s), MLC_DIRECTIVES(__VA_ARGS__))
MLC_API bool mlc_plan_append(mlc_plan *plan, mlc_stage s, int n, const mlc_directive *d);

/* An empty plan.  It lives as long as the context; mlc_plan_free lets its lines go early. */
MLC_API mlc_plan *mlc_plan_new(mlc_ctx *ctx);
/* The plan that mlc_schedule fills, NULL when memory is out. */
MLC_API mlc_plan *mlc_plan_default(mlc_ctx *ctx);
MLC_API void mlc_plan_free(mlc_plan *plan);
/* Appends lines of text, `by: tile(x, y, xo, yo, xi, yi, 32, 8), vectorize(xi, 8); bx.u0: parallel(y)`; all
 * of them or, with an error in the context, none.  `file` (may be NULL) names the text in messages. */
MLC_API bool mlc_plan_parse(mlc_plan *plan, const char *text, const char *file);
/* The lines as text that parses back, in the context's memory; NULL when memory is out. */
MLC_API const char *mlc_plan_print(mlc_plan *plan);
/* The name that program text gave it, or NULL. */
MLC_API const char *mlc_plan_name(const mlc_plan *plan);
/* Lines as data: how many, and line i (false: there is none). */
MLC_API int mlc_plan_size(const mlc_plan *plan);
MLC_API bool mlc_plan_get(const mlc_plan *plan, int i, mlc_stage *stage, mlc_directive *d);
/* Drops line i. */
MLC_API bool mlc_plan_drop(mlc_plan *plan, int i);

/* ---- what the macros stand for ---- */

struct mlc_split_args {
    mlc_loc loc;
    mlc_var v, outer, inner;
    int64_t factor;
    mlc_tail tail;
};
struct mlc_tile_args {
    mlc_loc loc;
    mlc_var x, y, xo, yo, xi, yi;
    int64_t fx, fy;
    mlc_tail tail;
};
struct mlc_loop_args {
    mlc_loc loc;
    mlc_var v;
    int64_t factor;
    mlc_tail tail;
};
struct mlc_fold_args {
    mlc_loc loc;
    mlc_var v;
    int64_t size;
    mlc_way way;
};
struct mlc_rfactor_args {
    mlc_loc loc;
    mlc_func parts;
    mlc_var loop0, var0, loop1, var1, loop2, var2, loop3, var3;
    bool reassociate;
};
struct mlc_align_args {
    mlc_loc loc;
    mlc_var v;
    int64_t modulus, remainder;
};
struct mlc_prefetch_args {
    mlc_loc loc;
    mlc_func f;
    mlc_var at, from;
    int64_t offset;
    mlc_fetch bounds;
};
struct mlc_atomic_args {
    mlc_loc loc;
    bool reassociate;
};
MLC_API mlc_directive mlc_atomic_of(struct mlc_atomic_args a);
struct mlc_stream_args {
    mlc_loc loc;
    mlc_func f0, f1, f2, f3, f4, f5, f6, f7;
};
struct mlc_level_args {
    mlc_loc loc;
    mlc_var level, loop;
};
struct mlc_change_args {
    mlc_loc loc;
    mlc_type type;
    bool lossy;
};
MLC_API mlc_directive mlc_prefetch_of(struct mlc_prefetch_args a);
MLC_API mlc_directive mlc_memoize_of(mlc_expr key, mlc_loc loc);
MLC_API mlc_directive mlc_level_of(struct mlc_level_args a);
MLC_API mlc_directive mlc_at_level(mlc_directive_kind kind, mlc_var level, mlc_loc loc);
MLC_API mlc_directive mlc_change_type_of(struct mlc_change_args a);
struct mlc_with_args {
    mlc_loc loc;
    mlc_stage leader;
    mlc_var v;
    mlc_loop_align align;
};
MLC_API mlc_directive mlc_with_of(struct mlc_with_args a);
MLC_API mlc_directive mlc_stream_loads_of(struct mlc_stream_args a);
MLC_API mlc_directive mlc_split_of(struct mlc_split_args a);
MLC_API mlc_directive mlc_tile_of(struct mlc_tile_args a);
struct mlc_tile3_args {
    mlc_loc loc;
    mlc_var x, y, z, xo, yo, zo, xi, yi, zi;
    int64_t fx, fy, fz;
    mlc_tail tail;
};
MLC_API mlc_directive mlc_gpu_tile1_of(struct mlc_split_args a);
MLC_API mlc_directive mlc_gpu_tile2_of(struct mlc_tile_args a);
MLC_API mlc_directive mlc_gpu_tile3_of(struct mlc_tile3_args a);
MLC_API mlc_directive mlc_loop_of(mlc_directive_kind kind, struct mlc_loop_args a);
MLC_API mlc_directive mlc_rfactor_of(struct mlc_rfactor_args a);
MLC_API mlc_directive mlc_fuse_of(mlc_var inner, mlc_var outer, mlc_var fused, mlc_loc loc);
MLC_API mlc_directive mlc_order_of(mlc_directive_kind kind, int n, const mlc_var *v, mlc_loc loc);
MLC_API mlc_directive mlc_fold_of(struct mlc_fold_args a);
MLC_API mlc_directive mlc_memory_of(mlc_memory memory, mlc_loc loc);
MLC_API mlc_directive mlc_copy_of(mlc_copy copy, mlc_loc loc);
MLC_API mlc_directive mlc_size_of(mlc_directive_kind kind, mlc_var v, int64_t size, mlc_loc loc);
MLC_API mlc_directive mlc_rename_of(mlc_var old, mlc_var now, mlc_loc loc);
MLC_API mlc_directive mlc_align_of(mlc_directive_kind kind, struct mlc_align_args a);
MLC_API mlc_directive mlc_tensorize_of(mlc_tensor instruction, int n, const mlc_var *v, mlc_loc loc);
MLC_API mlc_directive mlc_place_of(mlc_directive_kind kind, mlc_loc loc);
MLC_API mlc_directive mlc_count_of(mlc_directive_kind kind, int64_t n, mlc_loc loc);
MLC_API mlc_directive mlc_at_of(mlc_directive_kind kind, mlc_stage consumer, mlc_var v, mlc_loc loc);
MLC_API mlc_directive mlc_box_of(mlc_directive_kind kind, mlc_var v, int64_t min, int64_t extent, mlc_loc loc);
MLC_API mlc_directive mlc_funcs_of(mlc_directive_kind kind, int n, const mlc_func *f, mlc_loc loc);
/* n Funcs: the consumers, last the Func that is made. */
MLC_API mlc_directive mlc_wrap_of(mlc_directive_kind kind, int n, const mlc_func *f, mlc_loc loc);
/* The last of the directives is there so that there is one. */
#define MLC_SPECIALIZED(cond_, ...) \
    mlc_specialize_of(MLC_E(cond_), (int)(sizeof((mlc_directive[]){ __VA_ARGS__ }) / sizeof(mlc_directive)) - 1, \
                      (mlc_directive[]){ __VA_ARGS__ }, MLC_HERE)
MLC_API mlc_directive mlc_specialize_of(mlc_expr cond, int n, const mlc_directive *body, mlc_loc loc);
MLC_API mlc_directive mlc_specialize_fail_of(const char *message, mlc_loc loc);
/* The stage itself; any stage of f (number -1). */
MLC_API mlc_stage mlc_this_stage(mlc_stage s);
MLC_API mlc_stage mlc_any_stage(mlc_func f);
#define MLC_STAGE(s) _Generic((s), mlc_func: mlc_pure, mlc_stage: mlc_this_stage)(s)
#define MLC_CONSUMER(f) _Generic((f), mlc_func: mlc_any_stage, mlc_stage: mlc_this_stage)(f)
#define MLC_LOOPS(...) (int)(sizeof((mlc_var[]){ __VA_ARGS__ }) / sizeof(mlc_var)), (mlc_var[]){ __VA_ARGS__ }
#define MLC_FUNCS(...) (int)(sizeof((mlc_func[]){ __VA_ARGS__ }) / sizeof(mlc_func)), (mlc_func[]){ __VA_ARGS__ }
#define MLC_DIRECTIVES(...) \
    (int)(sizeof((mlc_directive[]){ __VA_ARGS__ }) / sizeof(mlc_directive)), (mlc_directive[]){ __VA_ARGS__ }

#ifdef __cplusplus
}
#endif
#endif
