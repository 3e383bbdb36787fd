/* loops.h - the loops level: statements.
 *
 * Lowering turns (algorithm, schedule) into one Stmt tree.  Statements live in the compile's arena and
 * are never mutated after a pass has returned them.  Expressions inside are canonical Nodes whose
 * variables are SYM_LOOP, SYM_LET, SYM_PARAM and the buffers' SYM_MIN/EXTENT/STRIDE.
 *
 * Accesses keep their shape: a read of a Func is OP_ACCESS with its coordinates until `flatten`, the
 * last pass, which makes OP_LOAD of one index out of each (and of each store's coordinates).
 *
 * Vector loops stay loops with a scalar body up to code generation: lane i runs the body with
 * var = min + i.  A leaf statement runs for all lanes before the next one starts; legality makes
 * that equal to running the lanes one after the other. */
#ifndef LOOPS_H
#define LOOPS_H

#include "schedule/schedule.h"
#include "schedule/tensor.h"

/* How the task of an asynchronous Func and those that read the Func take turns.  The task counts the turns that
 * it has finished, each reader those that it has: the n-th turn of a reader waits for the n-th of the task, and
 * one of the task for the readers' turns that must not fall behind (Stmt.turn.ahead). */
typedef struct Channel {
    Func *func;
    int readers;
    const Sym *part;   /* of a ring buffer: what the n-th turn uses, n modulo `parts`, has this name in a turn; or NULL */
    int64_t parts;
    const PlanLine *line;
    bool of_block;     /* threads of a block share its memory: they run ahead (run_ahead.c), there is no task */
} Channel;

/* Memory of a memoized Func, whose values may be there from an earlier call.  They are made of numbers (`word`) and of
 * regions of inputs alone. */
typedef struct {
    Func *func;
    const struct Storage *storage;  /* flat */
    const Node *min[MAX_RANK], *extent[MAX_RANK], *at; /* flat: `at`, the index of the element at the mins */
} MemoInput;
typedef struct Memo {
    const Sym *found, *entry;  /* bound by the allocation: are they there? and who holds them */
    const Node *evict;         /* the key to drop them by, or NULL */
    int n_words, n_in;
    const Node **word;
    MemoInput *in;
} Memo;

/* A loop nest that runs on a GPU.  Once the pass `kernels` has run no loop is of a GPU kind: in the body of an ST_KERNEL the
 * variables of its loops are names (ST_LET) for sums of these, and conditions keep out the threads that a part has no
 * iteration for.  Every thread of a block runs the whole body; loops outside of ST_IFs on threads, and ST_BARRIERs, have
 * the same iterations for all of them. */
enum { GPU_DIMS = 3 };
typedef struct Kernel {
    const char *name;                 /* unique in the program, a C identifier: of the Func that it computes */
    int number;                       /* in the order of Program.kernel */
    const Sym *block[GPU_DIMS], *thread[GPU_DIMS]; /* x, y, z; count from 0 */
    const Node *grid[GPU_DIMS];       /* blocks, by what is known outside of the kernel; 1 where there is no loop; at most 0: none runs */
    int64_t threads[GPU_DIMS];        /* of a block: the most that a part of the body has */
    const PlanLine *line;
} Kernel;

/* Memory of one Func in this program: an input, an output, or an internal allocation. */
typedef enum {
    STORE_HEAP,     /* of the host, of the device or of both: Storage.on_device */
    STORE_STACK,    /* an array of a thread, also of a thread of a kernel */
    STORE_REGISTER,
    STORE_SHARED,   /* of the threads of a block of a kernel */
    STORE_FRAGMENT  /* registers of the lanes of a warp, until the pass `tiles`: then each lane has its elements in its own */
} MemoryKind;
enum { MOST_STACK_BYTES = 128 << 10 }; /* of one Func on a thread's stack */
enum {
    MOST_SHARED_BYTES = 227 << 10, /* of all that a block of a GPU holds at one time */
    SHARED_ALIGN = 16,             /* bytes, of each array there: the widest access of a thread */
    MOST_BLOCK_THREADS = 1024
};
typedef struct Storage {
    Func *func;
    const char *name;             /* unique in the program, a C identifier */
    bool is_input, is_output;
    int slot;                     /* inputs and outputs: position in the call's buffers; element e at slot + e */
    int rank, n;                  /* n: tuple elements, each its own array of the same shape */
    mlc_type type[MAX_TUPLE];
    /* internal: the box, as expressions at the ALLOC; external: SYM_MIN .. nodes */
    const Node *min[MAX_RANK], *extent[MAX_RANK];
    const Node *stride[MAX_RANK]; /* elements; filled before flatten */
    int64_t fold[MAX_RANK];       /* > 0: this dimension is a circular buffer of that many; min is 0 */
    int order[MAX_RANK];          /* internal: dimensions, the one of stride 1 first */
    int64_t align[MAX_RANK];      /* internal: each dimension is padded to a multiple of that many elements */
    struct {
        int of, by;               /* chunks of dimension `of`, which has stride 1, change places by the number in dimension `by`: */
        int64_t chunk, rows, ways; /* elements of a chunk; so many rows of `by` alike; so many chunks change places; ways 0: none do */
    } swizzle;
    MemoryKind memory;
    bool of_block;                /* taken for all threads of a block of a kernel */
    int64_t const_elems;          /* elements when the size is a constant, else 0 */
    Channel *channel;             /* of an asynchronous Func: threads share this memory; else NULL */
    int64_t copy_bytes;           /* external: kernels copy from it so many bytes at a time, which must be aligned (copies.c); or 0 */
    bool ahead;                   /* of a block: a ring that its threads fill ahead, between barriers of its own (run_ahead.c) */
    bool atomic;                  /* threads share it by atomic stores */
    bool on_device;               /* external or heap: a kernel reads or writes it; statements ST_MOVE keep the copies apart */
    bool lanes;                   /* holds what the lanes of a vector loop have of it, those of an element side by side */
    Memo *memo;                   /* of a memoized Func, else NULL */
    const PlanLine *line, *memory_line; /* why it is where it is, and store_in */
    const char *note;             /* internal: place, size and what was decided about it, for readers */
} Storage;

typedef struct Stmt Stmt;
typedef enum { ST_BLOCK, ST_FOR, ST_LET, ST_IF, ST_STORE, ST_ALLOC, ST_PRODUCE, ST_CHECK, ST_EVAL, ST_TURN, ST_FORK, ST_CALL, ST_PREFETCH, ST_COUNT,
               ST_KERNEL, ST_BARRIER, ST_COPIES, ST_MOVE, ST_MMA } StmtKind;

/* An if whose condition differs between lanes needs a mask for what its lanes store and load.  MASK_NONE asks
 * whether any lane runs, and masks both; the others do not ask.  MASK_LOADS and MASK_STORES mask the one alone:
 * lowering saw to it that the other may run in every lane. */
typedef enum { MASK_NONE, MASK_ALL, MASK_LOADS, MASK_STORES } MaskKind;

/* What calls count of a stage that is profiled or traced: productions; points stored; distinct points that its
 * readers need. */
typedef enum { COUNT_RUNS, COUNT_POINTS, COUNT_NEEDED, COUNT_KINDS } CountKind;
typedef struct {
    Func *func;
    int stage;
    const char *name;             /* g, g.u0 */
    const char *place;            /* where it is computed: "root", "f.y" */
    const char *again;            /* why points are computed more than once, NULL: they are not, or nobody knows */
    const Node *needed;           /* over sizes alone; NULL: unknown, or an update */
    bool profiled, traced, asked; /* asked: by a directive of its own */
    bool vector, parallel, slides; /* has a vector loop; runs in a parallel loop; keeps what earlier iterations computed */
    int64_t stack;                /* bytes of its memory on a stack, once */
} Watched;

struct Stmt {
    StmtKind kind;
    const PlanLine *line; /* the directive that made it, NULL: none */
    union {
        struct { int n; Stmt **at; } block;
        /* var runs over [min, min + extent); nothing happens where extent <= 0. */
        struct { const Sym *var; LoopKind kind; const Node *min, *extent, *most; Stmt *body; const Dim *dim; } loop; /* most: a constant that bounds the extent, or NULL */
        struct { const Sym *var; const Node *value; Stmt *body; } let;
        struct { const Node *cond; Stmt *yes, *no; bool likely; MaskKind mask; } cond; /* no may be NULL */
        /* All values are computed before any is stored.  After flatten rank is 1.  An atomic store has `old`: in the
         * values these stand for what the place holds, and no other thread stores there in between. */
        struct { Func *func; Storage *storage; int rank, n; const Node *coord[MAX_RANK]; const Node *value[MAX_TUPLE]; const Sym *old[MAX_TUPLE];
                 const Stream *stream; /* what goes around the caches, NULL: nothing */
                 const PlanLine *async; /* a copy that lands at any time up to ST_COPIES (copies.c), NULL: not */ } store;
        struct { Storage *storage; Stmt *body; } alloc;
        /* A marker for readers of the text.  keep: the entry of a memoized Func, whose values are all there at the end;
         * NULL: none. */
        struct { Func *func; int stage; bool is_consume; const Sym *keep; Stmt *body; const char *note; } produce;
        /* Unless cond holds the call ends with error `code`, whose format takes the texts that are not NULL
         * (%s), then the values of `arg` (%lld). */
        struct { const Node *cond; ErrCode code; const char *text[2]; int n; const Node *arg[4]; } check;
        /* The turn of the task (reader -1) or of a reader.  Before its own the task lets readers fall behind by less
         * than `ahead` turns, NULL: by any number.  body may be NULL: a turn counts whatever is left of it. */
        struct { Channel *channel; int reader; const Node *ahead; Stmt *body; } turn;
        /* Both at once; over when both are.  Either may be NULL: its loops have no iterations. */
        struct { Channel *channel; Stmt *task, *rest; } fork;
        struct { const Node *value; } eval; /* for print and require alone */
        /* An extern stage computes: min and extent a dimension of each Func it reads and of its own, then its scalars
         * (alg_whole tells how many), then the OP_STAGE itself, in which who looks for reads finds them.  In its place
         * flatten puts the index of the element at the mins of each, and the memory. */
        struct { Func *func; int n; const Node **e; Storage **storage; } call;
        /* Asks the caches for what `read`, an access (flat: a load), would read; it may lie outside of memory. */
        struct { const Node *read; } prefetch;
        /* Adds to what is counted of Program.watched[at]. */
        struct { int at; CountKind what; const Node *amount; } count;
        /* Runs the body in every thread of every block, and returns at once: later kernels and moves to the host wait.
         * ST_BARRIER, without fields, waits for all threads of the block, whose writes before it all see. */
        struct { Kernel *kernel; Stmt *body; } kernel;
        /* Ends a group of the copies that the thread has asked for (-1), or waits until at most so many groups have not landed; 0 waits for
         * those in no group, too. */
        struct { int pending; } copies;
        /* Makes the memory (on_device) current on the device or the host; writes: there it is about to change, so that
         * copies elsewhere are stale from now on.  all: every element is about to be written,
         * so that none has to be copied there; what lies between elements is as little the memory's as ever. */
        struct { Storage *storage; bool device, writes, all; } move;
        /* d = c + a * b of tiles that the lanes of a warp hold by the maps of `row` (tensor.def): all lanes come here, each with its
         * elements, and in the body `d` are the names of its elements of the result. */
        struct { const TensorRow *row; const Node **a, **b, **c; const Sym **d; Stmt *body; } mma;
    } u;
};

typedef VEC(Storage *) StorageList;

/* A lowered program. */
typedef struct Program {
    const char *name;
    Arena *arena;
    Interner *ir;
    Schedule *schedule;
    Stmt *body;
    StorageList external;       /* inputs, then outputs, in slot order */
    VEC(const Sym *) param;     /* scalar params used, in slot order */
    bool dense;                 /* dimension 0 of every external buffer is assumed to have stride 1: flatten says so */
    bool flat;                  /* flatten has run */
    int index_bits;             /* with all mins, extents and index params within 2^this, no index overflows */
    const struct Required *required; /* what each input must hold (lower.h), one an input, in slot order */
    int n_required;
    VEC(Kernel *) kernel;       /* in the order of Kernel.number */
    VEC(Watched) watched;       /* stages that are profiled or traced */
    const struct Program *shaped; /* as it was before flatten, NULL: not flat */
} Program;

/* Builders. */
Stmt *st_block(Arena *a, int n, Stmt *const *at); /* flattens nested blocks, drops NULLs; NULL when empty */
Stmt *st_for(Arena *a, const Sym *var, LoopKind kind, const Node *min, const Node *extent, Stmt *body);
Stmt *st_let(Arena *a, const Sym *var, const Node *value, Stmt *body);
Stmt *st_if(Arena *a, const Node *cond, Stmt *yes, Stmt *no);
Stmt *st_store(Arena *a, Func *f, int rank, const Node *const *coord, int n, const Node *const *value);
Stmt *st_alloc(Arena *a, Storage *s, Stmt *body);
Stmt *st_turn(Arena *a, Channel *c, int reader, const Node *ahead, Stmt *body);
Stmt *st_fork(Arena *a, Channel *c, Stmt *task, Stmt *rest);
Stmt *st_prefetch(Arena *a, const Node *read);
Stmt *st_count(Arena *a, int at, CountKind what, const Node *amount);
Stmt *st_kernel(Arena *a, Kernel *k, Stmt *body);
Stmt *st_barrier(Arena *a);
Stmt *st_check(Arena *a, const Node *cond, ErrCode code, const char *t0, const char *t1, int n, const Node *const *arg);
Stmt *st_copies(Arena *a, int pending);
Stmt *st_move(Arena *a, Storage *t, bool device, bool writes, bool all);
Stmt *st_mma(Arena *a, const TensorRow *row, const Node **x, const Node **y, const Node **c, const Sym **d, Stmt *body);
Stmt *st_produce(Arena *a, Func *f, int stage, bool is_consume, Stmt *body);

/* How many indices of dimension d of an internal memory there is room for, and padding with it. */
const Node *st_room(Interner *I, const Storage *t, int d);
const Node *st_padded(Interner *I, const Storage *t, int d);
int64_t st_align_up(int64_t n, int64_t align);
int64_t st_shared_bytes(const Storage *t, int n); /* that the first n elements of memory of a block take there */

/* Rebuilds a statement with every expression passed through `expr` and every child statement through
 * `stmt` (either may be NULL: unchanged).  The same pointer comes back where nothing changed.  `visit`, in the place of
 * `expr`, is called on every node of each expression but constants, with `user`, and changes nothing. */
typedef struct StmtMap StmtMap;
struct StmtMap {
    Arena *arena;
    Interner *ir;
    const Node *(*expr)(StmtMap *m, const Node *e);
    void (*visit)(void *user, const Node *e);
    Stmt *(*stmt)(StmtMap *m, Stmt *s); /* call st_map_kids for the default */
    void *user;
};
Stmt *st_map_kids(StmtMap *m, Stmt *s);
Stmt *st_map(StmtMap *m, Stmt *s); /* NULL gives NULL */
Stmt *st_stay(StmtMap *m, Stmt *s); /* a `stmt` that does not go inside: s */

/* Replaces a variable in a statement. */
Stmt *st_substitute(Arena *a, Interner *I, Stmt *s, const Sym *var, const Node *value);
/* Adds the variables that a condition fixes to constants: Sym -> Node. */
void st_fixed(Interner *I, const Node *cond, PtrMap *value);

void st_print(StrBuf *out, const Stmt *s); /* loop text, with the line of the directive of each loop */
void st_print_nest(StrBuf *out, const Stmt *s); /* the same without expressions: which loops, which memory */
void st_print_move(StrBuf *out, const Stmt *s);
void st_print_line(StrBuf *out, const PlanLine *line); /* `  // blur.c:15 parallel(yo)`, NULL: nothing */
void st_verify(Program *p, const char *after_pass); /* every variable bound, every access stored: else BUG */

#endif
