/* assoc.h - updates that are folds: what the directives rfactor, atomic and reorder may do with them. */
#ifndef ASSOC_H
#define ASSOC_H

#include "schedule/resolve.h"

typedef enum {
    FOLD_NONE,   /* nothing is known */
    FOLD_OP,     /* f = f op e, op a row of assoc.def: also commutes */
    FOLD_ARG,    /* a tuple whose last win takes all its elements, ties keep the earlier: argmin, argmax */
    FOLD_POINT   /* ... whose other elements are the point itself, so that it commutes once ties go by the point */
} FoldKind;

typedef struct {
    FoldKind kind;
    bool exact;                    /* any grouping gives the same bits; so does any order, but for FOLD_ARG */
    DefOp combine;                 /* FOLD_OP: the definition that joins two folds; DEF_SET: by `op` */
    Op op;
    int key;                       /* FOLD_ARG, FOLD_POINT: the element that is compared */
    bool greatest;
    const Node *start[MAX_TUPLE];  /* neutral: folding it in changes nothing */
} Fold;

/* What stage `stage` of f, defined by def, is as a fold. */
Fold sch_fold(Interner *I, const Func *f, int stage, const Def *def);
/* The same; raises where it is none, or where another grouping needs a .reassociate that the line lacks. */
void sch_need_fold(Resolve *r, const PlanLine *line, const StageSched *st, Fold *fold);
/* f's value at `at` joined with what `part` holds there: the elements' right-hand sides for a definition by
 * `combine`, as written. */
void sch_join(Interner *I, const Fold *fold, int n, const Node *const *old, const Node *const *part, const Node **rhs);

#endif
