/* loop_interp.h - runs a lowered program as it stands, before or after flatten, checking every access.
 *
 * This is how lowering is tested without a code generator: memory starts as garbage that is tracked,
 * indices are checked against the storage, folded storage remembers which point it holds, parallel
 * loops and the turns of tasks run in an order that `seed` chooses, and a vector loop runs each leaf statement for all lanes
 * before the next. */
#ifndef LOOP_INTERP_H
#define LOOP_INTERP_H

#include "lower/loops.h"
#include <mlc/runtime.h>

/* What a run did, for tests of structure. */
typedef struct {
    const Func *func;
    int stage;          /* of the innermost enclosing produce marker of func, 0 without one */
    int64_t stores;     /* points stored */
} LoopCount;
typedef struct {
    const Storage *storage;
    int64_t times, peak; /* allocations; most bytes of one */
} LoopAlloc;
typedef struct {
    VEC(LoopCount) count;
    VEC(LoopAlloc) alloc;
    VEC(int64_t) counted; /* by ST_COUNT: number of the stage times COUNT_KINDS, and the kind */
    int64_t live, peak;  /* bytes of internal allocations, all at once */
    int64_t kernels, to_device, to_host; /* runs of kernels; moves of memory that had to copy */
    int64_t prefetches, outside; /* ... and how many of them lay outside of their memory */
} LoopStats;

/* `buffers` by slot: inputs, then outputs.  `params` by Sym.slot, as a call
 * receives them.  Raises into arena->fault. */
void low_interpret(Arena *arena, const Program *p, struct mlc_buffer *const *buffers, const mlc_scalar *params,
                   uint64_t seed);
/* The same, filling `stats` (zeroed by the caller; lives in `arena`). */
void low_interpret_counted(Arena *arena, const Program *p, struct mlc_buffer *const *buffers,
                           const mlc_scalar *params, uint64_t seed, LoopStats *stats);
/* What ST_COUNT added up of Program.watched[at]. */
int64_t low_counted(const LoopStats *stats, int at, CountKind what);
/* Points stored to a stage of f. */
int64_t low_stores(const LoopStats *stats, const Func *f, int stage);

#endif
