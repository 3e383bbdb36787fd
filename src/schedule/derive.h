/* derive.h - what the files that derive an algorithm from a plan share. */
#ifndef DERIVE_H
#define DERIVE_H

#include "schedule/schedule.h"

typedef struct {
    Interner *ir;
    Arena *arena;
    Fault *fault;
    const struct mlc_plan *plan;
    FuncList funcs;    /* the program's, without inputs: copies, and what lines made */
    PtrMap now;        /* Func of the context -> what stands for it */
    Func *const *output; /* as the context has them */
    int n_outputs;
    bool rewrites;     /* see Derived */
    PtrMap spans;      /* Func -> the values that it has (change_type.c) */
    PtrMap stands_for; /* Func that a line made -> the one that its consumers read before */
} Derive;

/* A way to change expressions, applied to all of a definition: coordinates, values, conditions of its domain.  The
 * form as written and the canonical one must go on to mean the same. */
typedef struct Change Change;
struct Change {
    Derive *d;
    const Node *(*expr)(Change *c, const Node *e, bool written);
    PtrMap func;       /* what is read -> what to read instead */
    const Func *inlined, *retyped;
    mlc_type to;       /* of what is retyped */
    bool written;      /* what `expr` is at */
    PtrMap rdom;       /* a domain is copied once, where its conditions change */
};
void sch_start_change(Change *c, Derive *d, const Node *(*expr)(Change *c, const Node *e, bool written));
Def *sch_changed_def(Change *c, const Def *def);

bool sch_derives(const PlanLine *l);
bool sch_reads(const Derive *d, const Def *def, const Func *f);
/* eager.c: the Funcs that line l names, put into the stage of f. */
void sch_eager_inline(Derive *d, const PlanLine *l, Func *f);
/* change_type.c: f gets the type that line l says. */
void sch_change_type(Derive *d, const PlanLine *l, Func *f);

#endif
