/* loop_interp_run.h - inside the loop interpreter: lanes, memory, and compiled expressions. */
#ifndef LOOP_INTERP_RUN_H
#define LOOP_INTERP_RUN_H

#include "ir/effect.h"
#include "lower/loop_interp.h"

typedef enum { DEFINED, GARBAGE } State;

/* One allocation, or the buffer bound to an external storage. */
typedef struct Memory Memory;
struct Memory {
    const Storage *storage;
    int64_t min[MAX_RANK], extent[MAX_RANK], stride[MAX_RANK];
    int64_t first, count;          /* element offsets run over [first, first + count) */
    char *data[MAX_TUPLE];         /* at offset 0 */
    uint8_t *state[MAX_TUPLE];     /* by offset - first */
    int64_t (*point)[MAX_RANK];    /* folded: which point an element holds */
    char *owned;                   /* internal: bytes, reused by later allocations of the storage */
    size_t capacity, bytes;
    Memory *device;                /* on_device: the other copy, with a shape of its own for now; NULL: there is none yet */
    bool device_taken;             /* ... which stands for this allocation, not for an earlier one */
    unsigned current;              /* which of them is: MLC_ON_HOST, MLC_ON_DEVICE */
    uint64_t *writer, *reader;     /* of a kernel's memory: which thread stored an element last, and read it; else NULL */
    uint64_t *joiner;              /* ... and stored atomically there */
    size_t marks;                  /* room for them */
    Memory *outer;                 /* what the Func's accesses meant outside of this allocation */
    Memory *next;                  /* free list of the storage */
};

/* One lane of the vector loops around: its own variables and its own view of memory. */
typedef struct Lane Lane;
struct Lane {
    Value *var;
    uint8_t *state;
    Memory **memory;
    Lane *next;
};
typedef struct Lanes Lanes;
struct Lanes {
    Lane **at;
    int n, cap;
    Lanes *next;
};

/* An expression as steps, operands first; the last one is the result. */
typedef struct {
    const Node *e;
    int *kid;
    int name;            /* VAR: number of the variable; ACCESS, LOAD: number of the memory */
    ExternCall *call;
} Step;
typedef struct {
    int n;
    Step *step;
    Value *slot;
    uint8_t *state;
} Code;

/* A read of a circle whose element held another point by then. */
typedef struct {
    const Storage *storage; /* NULL: there was none */
    int d;
    int64_t wanted, held;   /* in dimension d */
} Stale;

typedef struct {
    Arena *arena;
    Fault *fault;
    const Program *p;
    Stale stale;         /* the first one */
    struct mlc_buffer *const *buffers;
    const mlc_scalar *params;
    uint64_t seed;
    LoopStats *stats;
    PtrMap code;         /* Node -> Code */
    PtrMap number;       /* Sym, Func or Storage -> its number + 1 */
    int n_vars, n_memories;
    PtrMap stage;        /* Func -> stage of the innermost produce marker */
    PtrMap pool;         /* Storage -> free Memory */
    struct RunBlock *block;     /* of a kernel, that runs; or NULL */
    int64_t thread, phase, block_phase, kernel_phase; /* the phase between two barriers, counted through; the first of the block and kernel */
    PtrMap stops;               /* Stmt -> 1 or 2: does it hold no turn and no barrier, or one? */
    struct RunFrame *free_frames;
    Memory *free_views;
    Lane *free_lanes;
    Lanes *free_sets;
} Run;

/* loop_interp.c */
Lane *run_take_lane(Run *r, const Lane *from);
void run_give_lane(Run *r, Lane *l);
void run_in_lane(Run *r, const Stmt *s, Lane *l);
void run_let(Run *r, const Stmt *s, Lane *l);
void run_enter_alloc(Run *r, const Storage *t, Lane *l);
void run_leave_alloc(Run *r, const Storage *t, Lane *l);
/* An order of n iterations that the seed chooses, a walk by a step coprime to n: `at` is the next one. */
struct RunOrder {
    int64_t n, step, at;
};
struct RunOrder run_order(Run *r, int64_t n);
void run_next(struct RunOrder *o);

/* loop_interp_tasks.c */
void run_fork(Run *r, const Stmt *s, const Lane *lane);
/* All lanes run s, each in one go up to the next barrier, where it waits for the others. */
void run_threads(Run *r, const Stmt *s, Lane *const *lane, int64_t n);

/* loop_interp_mma.c: the instruction, for the lanes of a warp, which are these threads */
void run_mma(Run *r, const Stmt *s, Lane *const *lane, int64_t *thread);

/* loop_interp_kernel.c */
void run_kernel(Run *r, const Stmt *s, const Lane *l);
void run_move(Run *r, const Stmt *s, const Lane *l);
/* Threads that touch an element between the same barriers, one of them to store it, race. */
void run_mark(Run *r, const Memory *m, int64_t at, bool store);
void run_mark_joined(Run *r, const Memory *m, int64_t at);
/* A copy that the thread asks for: what was there is lost, and the value lands when the thread waits for it. */
void run_ask(Run *r, Memory *m, int64_t at, Value v, State state);
void run_copies(Run *r, int pending);
void run_come_home(Run *r, Memory *m); /* at the end of a call */
Memory *run_view_shared(Run *r, const Lane *l, const Storage *s); /* a thread's view of memory of its block */
void run_leave_shared(Run *r, Memory *view);

/* loop_interp_eval.c */
int run_number(Run *r, const void *what); /* of a Sym, Func or Storage that run_names has met */
void run_names(Run *r);                   /* numbers everything that the program names */
Value run_eval(Run *r, const Lane *l, const Node *e, State *state);
int64_t run_index(Run *r, const Lane *l, const Node *e, const char *what); /* must be defined */

/* loop_interp_whole.c: the query of an extern stage of the values of its operands, and its call */
int64_t run_query(Run *r, const Node *e, const Value *kid);
int64_t run_call(Run *r, const Stmt *s, const Lane *l);

/* loop_interp_memory.c */
void run_bind(Run *r, Lane *l);
int64_t run_stride(const Run *r, const struct mlc_buffer *b, int d);
Memory *run_allocate(Run *r, const Lane *l, const Storage *s);
void run_release(Run *r, Memory *m);
void run_shape(Run *r, const Lane *l, Memory *m);
void run_reserve(Run *r, Memory *m); /* room for what its shape holds, all of it garbage */
/* Where a point or a flat index lives in m: the offset.  Out of bounds is an error. */
int64_t run_offset(Run *r, const Memory *m, int n, const int64_t *coord);
bool run_inside(const Run *r, const Memory *m, int n, const int64_t *coord);
void run_hold(const Memory *m, int64_t offset, const int64_t *coord);
bool run_holds(Run *r, const Memory *m, int64_t offset, const int64_t *coord); /* else what is read is garbage */
void run_blame_stale(Run *r); /* garbage has reached what counts: it came from a stale element, if there was one */
void run_check_outputs(Run *r, const Lane *l);
uint64_t run_random(uint64_t *state);

#endif
