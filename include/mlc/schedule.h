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
    MLC_TAIL_COUNT
} mlc_tail;

typedef enum {
    MLC_SPLIT, MLC_FUSE, MLC_TILE, MLC_REORDER,
    MLC_SERIAL, MLC_PARALLEL, MLC_VECTORIZE, MLC_UNROLL,
    MLC_COMPUTE_ROOT, MLC_COMPUTE_AT, MLC_COMPUTE_INLINE, MLC_STORE_ROOT, MLC_STORE_AT,
    MLC_BOUND, MLC_ESTIMATE,
    MLC_DIRECTIVE_COUNT
} mlc_directive_kind;

/* One directive.  Fields that its kind does not use are zero. */
typedef struct {
    mlc_directive_kind kind;
    int n;               /* reorder: how many loops */
    mlc_var v[8];        /* loops, in the order written */
    int64_t k[2];        /* factors: split, tile (x, y), vectorize/unroll/parallel with a factor; bound, estimate: min, extent */
    mlc_tail tail;
    mlc_func at;         /* compute_at, store_at: the consumer */
    int at_stage;        /* -1: any of its stages that has the loop */
    mlc_loc loc;
} mlc_directive;

typedef struct mlc_plan mlc_plan;

#ifdef __cplusplus
}
#endif
#endif
