/* plan.h - what the files that draw plans share: a model of the plan so far, kept beside its text.
 *
 * A draw looks into the model for what is legal, writes its directive with put(), and changes the model as
 * resolution will change the nest.  A draw that finds nothing to do returns and has written nothing.  What takes a
 * proof to know is drawn all the same: schedules.c takes the line that was refused away again.
 *
 * To draw another directive, write its function and its row in one of the tables:
 *     moves     gen_loops.c    what changes or marks the loops of a stage
 *     last      gen_loops.c    what is said of a stage when its loops are done
 *     of_func   gen_place.c    the memory and the box of a Func that is computed
 *     kernel    gen_gpu.c      blocks and threads
 *     at_end    gen_plan.c     what needs to know all stages and places
 * Its row in the table at the end of a run comes from directives.def by itself. */
#ifndef FUZZ_PLAN_H
#define FUZZ_PLAN_H

#include "gen.h"

enum { MAX_LOOPS = 12, MOST_WRAPS = 6, MOST_STAGES = 4, FUNCS = GEN_MAX_FUNCS + MOST_WRAPS };

typedef struct {
    char name[24];
    bool rvar, vector, parallel, fused;
    bool block, thread; /* of a GPU: parallel too */
    bool used;        /* parallel, vector or unrolled already */
    bool outer, last; /* outer part of a split; a tail lets nobody split it again */
    bool overlaps;    /* the tail of what it stems from runs points again, or stores what it read: not parallel */
    int extent;       /* constant, 0: not known */
    int size;         /* how many points of an output it has to run over, 0: not known */
    int dim;          /* the dimension that it stems from, -1: none, or several */
} Loop;

/* A loop of a stage, as a place to be computed at. */
typedef struct {
    int func, stage, loop;
} Site;

typedef struct {
    Loop loop[MAX_LOOPS]; /* innermost first */
    int n;
    int func, stage;
    int shares;           /* so many of the outermost loops are another stage's, */
    Site with;            /* down to this one */
    bool gpu;             /* in a kernel, or to become one */
    bool atomic, exact;   /* an atomic update; nobody can tell the order of what it joins */
    bool special, failed; /* has specializations; the last of which refuses all other calls */
    unsigned conditions;  /* kinds of conditions that these have already, or those around it */
    int shared;           /* so many of the outermost loops are those of all its specializations */
} Nest;

/* The loops around a stage, outermost first. */
typedef struct {
    Site at[FUNCS * MAX_LOOPS];
    int n;
} Path;

/* A Func that in, clone_in or rfactor makes; its number comes behind those of the program's. */
typedef struct {
    GenFunc f;
    int of, consumer; /* consumer -1: all */
    int parts;        /* of which stage it is the parts, 0: of none */
    bool clone;
} Wrap;

typedef struct {
    Gen *g;
    Wrap wrap[MOST_WRAPS];
    int n_wraps;
    Nest nest[FUNCS][MOST_STAGES]; /* stage 0, then updates */
    bool inlined[FUNCS];
    Path around[FUNCS];            /* where it is computed: empty at root */
    const char *line_of[FUNCS][MOST_STAGES]; /* definitions, in the program's text */
    bool careless;
    bool stored;     /* the Func at hand is stored outside of where it is computed, */
    int folds;       /* ... so that dimension `folds` may be folded; -1: none */
    char stage[40];  /* the stage at hand */
    int at_hand;     /* the Func whose memory is drawn */
    bool in_braces;  /* directives go into the braces of one that is open, where `lines` stand already */
    int lines;
    Site level[8];   /* where the levels l0, l1 ... are, which the last lines say */
    int n_levels;
} Plan;

/* gen_plan.c */
int n_all(const Plan *p); /* Funcs: the program's, then those that the plan makes */
const GenFunc *func_of(const Plan *p, int k);
const Wrap *wrap_of(const Plan *p, int k); /* NULL: one of the program's */
const char *arg_name(const GenFunc *f, int d);
bool one_in(Plan *p, int n);
void at_stage(Plan *p, const GenFunc *f, int stage); /* what put() writes is said of this stage */
/* `directive(what the format says)`, a line of its own or, inside of braces, one after the other. */
void put(Plan *p, const char *directive, const char *format, ...) __attribute__((format(printf, 3, 4)));
void schedule(Plan *p, int k); /* places Func k and schedules its stages */

/* gen_loops.c */
void start_nest(Plan *p, int k, int stage);
void loops(Plan *p, Nest *n);
int a_factor(Plan *p);
void insert_loop(Nest *n, int at, Loop l);
bool is_named(const Loop *l); /* later lines can name it */
bool stores_at_vars(const Plan *p, int k); /* all its updates store at its Vars alone */
void prefetch(Plan *p, const Nest *n, int f);

/* Two loops that a split with the guard tail, or no worse, makes of one. */
void split_loop(const Loop *old, int factor, Loop *out, Loop *in);
/* Factors of count loops from `first` on for tiles of a block, and a tail for all. */
const char *tail_of_kernel(Plan *p, const Nest *n, int first, int count, int *by);

/* gen_gpu.c: whose are the loops around Func k? */
typedef enum { OF_HOST, OF_TASK, OF_BLOCK, OF_THREAD } GpuLevel;
GpuLevel gpu_level(const Plan *p, int k);
void start_kernel(Plan *p, Nest *n);
void kernel(Plan *p, Nest *n);

/* gen_share.c */
void share(Plan *p, Nest *n);
Site leading_site(const Plan *p, Site at); /* the loop, as that of the stage which leads it */

/* gen_place.c */
bool place(Plan *p, int k); /* false: it is inlined */
void memory(Plan *p, int k);
void put_levels(Plan *p);
void call_loops(Plan *p, int k); /* around the calls of an extern stage */

/* gen_derive.c */
bool reads(const Plan *p, int c, int s, int k); /* stage s of Func c reads Func k, wrappers and parts considered */
void put_wrapper(Plan *p, int k);
void put_in(Plan *p, int k);
bool is_fold(const Plan *p, const Nest *n, bool *exact); /* exact: in every order */
void retype(Plan *p, int k);
int factor(Plan *p, Nest *n); /* the number of the parts, 0: none were made */

#endif
