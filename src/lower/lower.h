/* lower.h - from (algorithm, schedule) to loops: the passes of passes.def, in order. */
#ifndef LOWER_H
#define LOWER_H

#include "lower/loops.h"
#include "simplify/simplify.h"

typedef struct {
    const char *name;
    bool dense;              /* stride of dimension 0 is 1 for every external buffer */
    bool check;              /* add a check to every access (.check runs) */
    bool in_line;            /* asynchronous Funcs without tasks: for code that lacks mlc's hooks */
    bool explain;            /* say beside productions why points are computed more than once */
    bool profile, trace;     /* watch every stage that is computed, not only those that the plan names */
    bool verify;             /* run the verifier after every pass */
    const char *stop_after;  /* name of a pass, or NULL */
    void (*observe)(void *user, const char *pass, double ms, const Program *p); /* after each pass, or NULL */
    void *observe_user;
} LowerOptions;

/* Lowers; everything lives in `arena`, nodes in the overlay I.  Raises into arena->fault. */
Program *low_lower(Arena *arena, Interner *I, Schedule *s, const LowerOptions *o);
/* The same program under the other assumption about strides, of which flatten is the first to know: only
 * flatten runs again. */
Program *low_variant(const Program *p, const LowerOptions *o);

/* The boxes of the inputs that an output box needs, as expressions of output mins and extents: one
 * Interval an input dimension.  For mlc_required and for the checks at entry: Program.required, one an
 * input, in slot order. */
typedef struct Required {
    Func *input;
    Interval dim[MAX_RANK]; /* NULL ends: nothing is read */
} Required;

/* Such an expression, numbers put in place of its variables: simplified, with the queries of extern stages that it
 * holds answered by their C functions. */
const Node *low_answered(Interner *I, const Node *e, unsigned mode);

#endif
