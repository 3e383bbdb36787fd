/* tiles.h - what the files of the pass `tiles` share. */
#ifndef TILES_H
#define TILES_H

#include "lower/passes.h"

/* How the lanes of a warp hold a Func in fragments: tiles of the sums of `row`, its m and n along these dimensions. */
typedef struct {
    const TensorRow *row;
    int m, n;
    Storage *storage;     /* as it was, while it is in scope */
    const PlanLine *line; /* of the update that is tensorized */
} Layout;

/* The loops of one tensorize(), outermost loop first, and what stands between and inside of them. */
typedef struct {
    const TensorRow *row;
    const PlanLine *line;
    const Stmt *loop[3];  /* along m, n and k; k: NULL where there is none */
    const char *stage;
    const Sym *lane;      /* what it becomes a loop over */
} Nest;

typedef struct {
    Program *p;
    Arena *arena;
    Interner *ir;
    Fault *fault;
    PtrMap layout;        /* Func -> Layout */
    PtrMap value;         /* names -> what they stand for */
    const char *stage;    /* whose production stands around */
    const Nest *nest;     /* of the two loops around, and the element of each lane that is being written; or NULL */
    int element, arrays;  /* ... and arrays of lanes that were made */
} Tiles;

bool tiles_is_loop(const Stmt *s);
/* Do tensorize() loops begin here? */
Nest tiles_nest(Tiles *t, const Stmt *s);
/* Where an element of a lane is along the axis, of an operand; on top of where the loop begins. */
const Node *tiles_point(Tiles *t, const Nest *n, TensorOperand operand, char axis, int element);
Stmt *tiles_lanes(Tiles *t, const Nest *n, Stmt *body); /* for each lane: body */
/* The coordinates, in fragments, of element `e` of the tile that a nest's point lies in. */
void tiles_place(Tiles *t, const Nest *n, const Layout *l, int rank, const Node *const *coord, int e, const Node **at);
/* Names are put in place. */
const Node *tiles_value(Tiles *t, const Node *e);

/* tile_mma.c: the store that three loops are around of, and what they become. */
const Stmt *tiles_store(Tiles *t, const Nest *n, const Stmt *s);
Stmt *tiles_mma(Tiles *t, const Nest *n, const Stmt *s);

#endif
