/* interp.h - inside the oracle: a stage compiled to a list of scalar steps (interp_eval.c) and the
 * points of each Func (interp_points.c), which interp.c drives. */
#ifndef INTERP_H
#define INTERP_H

#include "algorithm/algorithm.h"
#include "ir/effect.h"
#include <mlc/runtime.h>

/* What is known about a value.  GARBAGE stems from `undef`; UNKNOWN waits for a point not computed yet. */
typedef enum { KNOWN, GARBAGE, UNKNOWN } State;

typedef struct Realised Realised;

/* One distinct node of a stage; its value lives in the slot of the same number. */
typedef struct {
    const Node *e;
    int *kid;            /* slots of the operands */
    Realised *from;      /* ACCESS: the Func read */
    ExternCall *call;    /* EXTERN */
    bool wanted;         /* ACCESS: a coordinate of another access depends on its value */
    bool data;           /* holds an index that was data of 32 bits or more */
} Step;

enum { MOST_PREDICATES = 64 };

typedef struct {
    const Def *def;
    int n, n_where;      /* steps; the first n_where decide the predicates, */
    int n_first;         /* ... of these the first n_first those over indices alone */
    Step *step;
    Value *slot;
    uint8_t *state;
    int where[MOST_PREDICATES], n_predicates, n_plain; /* the plain ones first */
    int coord[MAX_RANK], value[MAX_TUPLE];
    int pure[MAX_RANK];  /* slot of the Var that stands at this place of the left side, -1: none */
    int rvar[MAX_RANK];  /* slot, -1: not used */
    int64_t rmin[MAX_RANK], rextent[MAX_RANK];
    int *demand, n_demand; /* steps that say which points are read and written */
} Stage;

/* A Func during interpretation: the points asked of it, and their values. */
struct Realised {
    Func *f;
    struct mlc_buffer *in;          /* inputs */
    struct mlc_buffer *const *out;  /* outputs: a buffer an element, else NULL */
    Stage *stage;
    /* Points asked for: a box, and for Funcs without updates the exact set, in a larger box. */
    bool any, grew;
    int64_t lo[MAX_RANK], hi[MAX_RANK];
    uint8_t *mask;
    int64_t mask_min[MAX_RANK], mask_extent[MAX_RANK];
    /* Values of a box. */
    bool stale, usable;
    int64_t min[MAX_RANK], extent[MAX_RANK];
    Value *value[MAX_TUPLE];
    uint8_t *state[MAX_TUPLE];
};

typedef struct {
    Arena *arena;
    Fault *fault;
    mlc_ctx *ctx;
    PtrMap real;      /* Func -> Realised */
    bool incomplete;  /* a value was UNKNOWN: another round is needed */
} Oracle;

/* interp_points.c */
int64_t points_of(Oracle *o, const Func *f, int rank, const int64_t *extent); /* product, or a fault */
int64_t points_at(int rank, const int64_t *min, const int64_t *extent, const int64_t *p); /* -1: outside */
void points_ask(Oracle *o, Realised *r, const int64_t *p);
bool points_asked(const Realised *r, const int64_t *p);
/* The next point of a box, dimension 0 fastest; false at the end. */
bool points_next(int n, const int64_t *min, const int64_t *extent, int64_t *p);

/* interp_whole.c: of an extern stage */
void whole_demand(Oracle *o, Realised *r);
void whole_compute(Oracle *o, Realised *r);

/* interp_eval.c */
void eval_compile(Oracle *o, Realised *r, int stage);
/* The value of an expression of constants, params and sizes. */
Value eval_constant(Oracle *o, Realised *self, const Node *e);
/* Do the predicates hold at the point in the slots?  UNKNOWN where that cannot be said yet. */
State eval_where(Oracle *o, Realised *self, Stage *s, bool demand, bool *holds);
void eval_values(Oracle *o, Realised *self, Stage *s);
void eval_demand(Oracle *o, Realised *self, Stage *s);
/* The coordinates of the left side; the worst state among them. */
State eval_left(const Stage *s, int64_t *p);
Place eval_place(Oracle *o, const Func *f, const Stage *s);

#endif
