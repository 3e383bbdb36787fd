/* factor.h - an update cut into parts: what rfactor and the lanes of atomic share. */
#ifndef FACTOR_H
#define FACTOR_H

#include "schedule/assoc.h"

/* A loop over the domain, or what a split or a fuse made it from. */
typedef struct {
    const char *name;
    const Node *extent;
    const Node *rel;   /* its index from 0 by the variables of the new definition */
} Piece;

enum { REDUCED = -1, IN_PLACE = -2 };

/* A loop of the stage over its domain, innermost first. */
typedef struct {
    const char *name;
    const char *rvar;  /* the name of its RVar in the new domains */
    const Sym *whole;  /* the RVar itself, NULL: a piece */
    const Node *min, *extent;
    int kept;          /* number of the pair that keeps it; REDUCED; IN_PLACE: kept as the Var of dimension `place` */
    int place;
} Leaf;

typedef struct {
    Resolve *r;
    Interner *I;
    StageSched *st;
    const PlanLine *line;
    Place place;
    const char *name;         /* of the parts */
    Fold fold;
    VEC(Piece) piece;
    const Node *(*before)[2]; /* of each split: the extents that it met (fuse: inner, outer) */
    bool *ours;               /* the split is of the domain */
    VEC(Leaf) leaf;
    int n_dims;               /* of the stage, before */
    int n_kept, lanes;        /* lanes: the pair whose pieces are joined by halving, -1: none */
    const Sym *var[MAX_RANK]; /* the new dimensions */
    bool moved[MAX_RANK];     /* of each coordinate: it varies over what is reduced, so the join has a Var in its place */
    Func *parts;
} Factor;

/* The loops over the domain of x->st, none of which may be marked. */
void sch_find_leaves(Factor *x);
/* The Func of the parts gets its two definitions; the loops that are kept are Vars of it. */
void sch_make_parts(Factor *x);
/* The stage joins the parts: its definition and its loops, of which those over Vars that a coordinate becomes stand
 * outermost (of lanes: innermost, where the parts are computed outside of them). */
void sch_join_parts(Factor *x);
/* The leaves that are kept, or those that are reduced, as a domain.  Where there are none: NULL, or one point. */
RDom *sch_factor_domain(Factor *x, bool kept);
/* A domain of one loop of `extent` iterations from min. */
RDom *sch_line_domain(Factor *x, const char *name, const Node *min, const Node *extent);
/* A definition over a domain (NULL: over none), from its written forms. */
Def *sch_factor_def(Factor *x, Func *f, DefOp op, RDom *dom, int rank, const Node *const *lhs, const Node *const *rhs);

#endif
