/* simplify.h - algebra on canonical expressions: rewriting, intervals, divisibility, solving.
 *
 * Every rule names its algebra (SEMANTICS section 7): `index` (no overflow), `wrap` (modular),
 * `float` (bit-exact), `any`.  Index expressions are brought to a linear normal form first: a sum of
 * terms with integer coefficients, in a stable order; rules see what the normal form cannot do. */
#ifndef SIMPLIFY_H
#define SIMPLIFY_H

#include "ir/ir.h"

/* [lo, hi], both inclusive; NULL is unbounded on that side.  Symbolic, of the expression's type. */
typedef struct {
    const Node *lo, *hi;
} Interval;

/* What is known in a scope: ranges of variables, ranges of the values in a memory, and conditions that
 * hold.  Scopes nest by `up`; a variable has one range in a chain. */
typedef struct Facts Facts;
struct Facts {
    const Facts *up;
    const Sym *var;      /* var's range, or NULL */
    const void *memory;  /* or what is read: the Func of an ACCESS, the Storage of a LOAD, or NULL ... */
    int elem;            /* ... and its tuple element */
    Interval range;      /* expressions of variables outside */
    const Node *truth;   /* a condition that holds, or NULL */
    bool replace;        /* var is range.lo: simplifying puts that in its place */
};

/* One more, in the arena: the range of a variable, that of a loop's, a condition that holds. */
const Facts *sim_with_range(Arena *a, const Facts *up, const Sym *var, Interval range);
const Facts *sim_with_loop(Interner *I, Arena *a, const Facts *up, const Sym *var, const Node *min, const Node *extent);
const Facts *sim_with_truth(Arena *a, const Facts *up, const Node *truth);

/* Simplifies under facts (may be NULL).  The result is equal wherever the facts hold. */
const Node *sim_simplify(Interner *I, const Facts *f, const Node *e);

/* Scopes that are kept, for passes that walk statements: tables are shared along the walk, so a node is
 * simplified once although many statements hold it.  sim_inside adds one fact for what stands inside;
 * the outer scope is used again once the walk has left. */
typedef struct Sim Sim;
Sim *sim_begin(Interner *I, const Facts *f);
void sim_end(Sim *s);
Sim *sim_inside(Sim *outer, const Facts *one);
const Node *sim_run(Sim *s, const Node *e);
bool sim_holds(Sim *s, const Node *cond);

/* True only when cond provably holds wherever the facts hold. */
bool sim_prove(Interner *I, const Facts *f, const Node *cond);
/* Bounds of e when each var in the chain `f` ranges over its interval: endpoints mention only variables
 * without a range in f.  Unbounded sides are NULL.  `why` (may be NULL) receives the subexpression that
 * made a side unbounded, for messages. */
Interval sim_bounds(Interner *I, const Facts *f, const Node *e, const Node **why);
/* Constant bounds, following ranges to the end; false when a side is not finite. */
bool sim_const_bounds(Interner *I, const Facts *f, const Node *e, int64_t *lo, int64_t *hi);
bool sim_const_ends(Sim *s, const Node *e, int64_t *lo, int64_t *hi); /* of a whole-valued e under s */
/* e = modulus * k + remainder for some k; modulus 0: e is the constant remainder; 1: nothing known. */
typedef struct {
    int64_t modulus, remainder;
} Congruence;
Congruence sim_congruence(Interner *I, const Facts *f, const Node *e);
/* The interval of integer `v` in which cond certainly holds (inner), or outside of which it certainly does
 * not (outer).  Empty or unknown sides are NULL with *ok false when nothing could be solved. */
Interval sim_solve_inner(Interner *I, const Facts *f, const Node *cond, const Sym *v, bool *ok);
Interval sim_solve_outer(Interner *I, const Facts *f, const Node *cond, const Sym *v, bool *ok);
/* +1: e does not decrease as v grows by 1; -1: does not increase; 0: e does not use v; 2: unknown. */
int sim_monotonic(Interner *I, const Facts *f, const Node *e, const Sym *v);
/* e = a * v + b with a an integer constant and b free of v: true and fills both. */
bool sim_linear(Interner *I, const Node *e, const Sym *v, int64_t *a, const Node **b);

#endif
