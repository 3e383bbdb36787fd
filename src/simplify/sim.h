/* sim.h - what the files of the simplifier share: the scope of facts, and what is known of each node.
 *
 * A Sim is one scope of facts with its tables.  Everything is memoised by node and filled in operands
 * first with an explicit stack, so cost is linear in the size of the expression as a graph and depth
 * costs no C stack.
 *
 * Depths order the ranged variables of a chain: 0 for an expression without any, then 1 for the
 * outermost variable and so on inwards; DEPTH_DATA marks what reads memory.  Bounds eliminate the
 * deepest variable first: its endpoints mention only shallower ones, and terms that two endpoints
 * share cancel before the next step. */
#ifndef SIM_H
#define SIM_H

#include "simplify/simplify.h"

#include <limits.h>

enum { DEPTH_DATA = INT_MAX };

/* ---- linear forms: c + the sum of k * atom, atoms in the order of their ids, no k is 0 ---- */

typedef struct {
    const Node *atom;
    int64_t k;
} Term;

typedef struct {
    int64_t c;
    int n;
    Term at[];
} Lin;

enum { MAX_TERMS = 64 }; /* a longer sum stays an atom */

/* ---- constant ranges; an endpoint at the end of int64_t is unbounded ---- */

typedef struct {
    int64_t lo, hi;
} Range;
#define NINF INT64_MIN
#define PINF INT64_MAX

typedef struct {
    double lo, hi;
    bool nan; /* may be a NaN */
} FloatRange;

/* ---- what is known of a node ---- */

typedef struct Info Info;
struct Info {
    const Node *e;
    Info **kid;         /* of its operands, NULL: sim_walk was not here yet */
    const Node *simple; /* NULL: not simplified yet */
    const Lin *lin;
    Interval sym;       /* bounds after the variables of sym_depth are gone */
    int sym_depth;
    int depth;          /* deepest ranged variable inside */
    Range range;
    FloatRange real;
    Congruence congruence;
    int monotonic;      /* in the variable `open`: see sim_monotonic */
    enum { NONNEG_UNASKED, NONNEG_YES, NONNEG_NO } nonneg; /* prove_nonneg's answer */
    bool acts;          /* prints or requires */
    bool has_range, has_congruence, has_depth, has_monotonic;
};

typedef struct {
    const Node *e;
    Info *info;
} InfoSlot;

typedef struct {
    const Facts *f;
    int depth;
} Bound;

/* Memory for what a proof needs until it has ended. */
enum { SCRATCH_SIZE = 1 << 16 };
typedef struct {
    size_t used;
    int proofs;             /* one inside of another: simplifying what a proof makes asks again ... */
    int fuel;               /* ... and all of them together have this */
    _Alignas(16) unsigned char at[SCRATCH_SIZE];
} Scratch;

struct Sim {
    Interner *I;
    Arena *arena;           /* of its tables, given back to `mark` when it closes */
    ArenaMark mark;
    const Sim *up;          /* an enclosing scope: its variables and truths count here too */
    InfoSlot *info;         /* by the id of the node, open addressing */
    uint32_t n_info, cap_info;
    PtrMap scope;           /* Sym, or memory -> Bound */
    VEC(const Node *) truth;
    VEC(const Lin *) form;  /* the first `formed` truths as forms that are >= 0 */
    int formed;
    int depth;              /* of the deepest variable */
    const Sym *open;        /* the variable being solved for: bounds leave it and what is outside */
    Scratch *scratch;       /* while proving: for linear forms that nothing keeps */
    bool expand;            /* linear forms multiply products of sums out */
    int target;             /* depth of the variable being eliminated */
    const Node *why;        /* the first subexpression without a bound */
    VEC(Info *) stack;
};

void sim_open(Sim *s, Interner *I, const Facts *f); /* Sims close in the opposite order */
void sim_close(Sim *s);
Sim *sim_lasting(Interner *I);                 /* one without facts, for as long as the interner */
Arena *sim_tables(Interner *I);                /* rules.c: the stack of tables of open Sims */
void sim_nest(Sim *s, Sim *up);                /* a scope inside `up` with fresh tables */
void sim_enter(Sim *s, const Facts *f);        /* adds one fact; var must be new to this Sim */
const Bound *sim_find(const Sim *s, const void *key);
Info *sim_info(Sim *s, const Node *e);
/* Calls fill for each node below e for which `done` is false, operands first. */
typedef bool (*SimDone)(const Sim *s, const Info *i);
typedef void (*SimFill)(Sim *s, const Node *e, Info *i);
void sim_walk(Sim *s, const Node *e, SimDone done, SimFill fill);

/* linear.c */
const Lin *lin_of(Sim *s, const Node *e);
const Lin *lin_const(Sim *s, int64_t c);
const Lin *lin_add(Sim *s, const Lin *a, const Lin *b, int64_t k); /* a + k * b; NULL: overflow, too long */
const Lin *lin_shift(Sim *s, const Lin *a, int64_t c);             /* a + c; NULL: overflow */
const Lin *lin_scale(Sim *s, const Lin *a, int64_t k);
const Lin *lin_without(Sim *s, const Lin *a, const Node *atom);
const Node *lin_node(Sim *s, const Lin *a);
int64_t lin_gcd(const Lin *a);                 /* of the coefficients, 0 without terms */
int64_t lin_coefficient(const Lin *a, const Node *atom);
int64_t int_gcd(int64_t a, int64_t b);         /* >= 0; of INT64_MIN: 1 */
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }   /* b > 0 */
static inline int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

/* range.c, congruence.c */
Range range_of(Sim *s, const Node *e);
FloatRange real_of(Sim *s, const Node *e);
Range range_lin(Sim *s, const Lin *a);
Range range_type(mlc_type t);
Range range_binary(Op op, Range a, Range b);   /* ADD SUB MUL DIV MOD MIN MAX, no wrapping */
Congruence congruence_of(Sim *s, const Node *e);
Congruence congruence_lin(Sim *s, const Lin *a);

/* bounds.c */
int depth_of(Sim *s, const Node *e);
int depth_lin(Sim *s, const Lin *a);
/* A bound of `a` (lower or upper) free of the variable at `depth`; NULL: unbounded. */
const Lin *bound_lin(Sim *s, const Lin *a, int depth, bool upper);
Interval bound_node(Sim *s, const Node *e, int depth);

/* prove.c */
Scratch *sim_scratch(Interner *I); /* rules.c: one an Interner */
Sim *sim_plain(Interner *I);       /* ... and so is the scope without any fact */
bool prove_nonneg(Sim *s, const Lin *d);       /* d >= 0 */
bool prove(Sim *s, const Node *cond);
void sim_forms(Sim *s);                        /* the truths so far as linear forms */
/* cond as 0 <= d over the indices; NULL where it is not a comparison < or <= of indices. */
const Lin *cond_lin(Sim *s, const Node *cond);

/* simplify.c, index.c, logic.c, data.c, rules.c: one node whose operands are simplified already */
const Node *simple(Sim *s, const Node *e);
const Node *step_index(Sim *s, const Node *e);
const Node *step_minmax(Sim *s, const Node *e);
const Node *step_logic(Sim *s, const Node *e);
const Node *step_data(Sim *s, const Node *e);
const Node *step_rules(Sim *s, const Node *e);

#endif
