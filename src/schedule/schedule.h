/* schedule.h - how to run it: plans, as ordered lists of (stage, directive).
 *
 * A plan names Funcs, stages and loops; it is resolved against a private copy of the algorithm at
 * compile, so Funcs are never mutated and an illegal plan leaves nothing behind.  directives.def is
 * the single source of the C constructors' kinds, the text grammar, the printer and the reference. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "algorithm/algorithm.h"
#include "algorithm/text.h"
#include <mlc/schedule.h>

/* One line of a plan. */
typedef struct {
    Func *func;
    int stage; /* 0 pure, 1.. updates */
    mlc_directive d;
} PlanLine;

struct mlc_plan {
    mlc_ctx *ctx;
    const char *name;   /* as program text names it, or NULL */
    Arena *arena; /* the context's */
    Fault fault;
    VEC(PlanLine) line;
};

/* The rows of directives.def. */
typedef struct {
    const char *name, *shape, *example, *doc;
} DirectiveInfo;
extern const DirectiveInfo sch_directives[MLC_DIRECTIVE_COUNT];
#define SHAPE_OPTIONS "tdrobxl" /* letters of a shape that stand for an option, or for directives in braces */
extern const char *const sch_tails[MLC_TAIL_COUNT], *const sch_memories[MLC_MEMORY_COUNT], *const sch_copies[MLC_COPY_COUNT], *const sch_ways[MLC_WAY_COUNT],
    *const sch_fetches[MLC_FETCH_COUNT], *const sch_line_ups[MLC_LOOP_ALIGN_COUNT];
extern const char *const sch_policies[MLC_PARTITION_COUNT];

/* Appends the lines `stage: directive, ...; ...` from the current token up to the sign `close`, or to the
 * end of the text where it is NULL; raises at the first that is wrong. */
void sch_parse_plan(TextParser *t, struct mlc_plan *p, const char *close);

void sch_print_directive(StrBuf *out, const mlc_directive *d); /* `split(x, xo, xi, 8, .tail = guard)` */
void sch_print_plan(StrBuf *out, const struct mlc_plan *p); /* a line a stage */
void sch_print_lines(StrBuf *out, const struct mlc_plan *p, const char *indent);
/* Place of a line for messages: its location, "schedule by" or "schedule C.u0", the directive printed. */
Place sch_place(Arena *a, const PlanLine *l);
/* "none", "u0 alone", "u0 to u2": the updates of a Func of n stages. */
const char *sch_updates(Arena *a, int stages);

/* ---- the algorithm that a plan computes (derive.c) ---- */

enum { MAX_OUTPUTS = 16 };

/* Where lines of the plan derive: private copies of all Funcs but inputs, with in and clone_in applied, and a plan
 * of the other lines, over them; else what was given. */
typedef struct {
    Func *output[MAX_OUTPUTS];
    const struct mlc_plan *plan;
    struct mlc_plan *lines; /* the same where it is private, else NULL */
    bool rewrites;          /* values may differ: class rewrite */
} Derived;
Derived sch_derive(Interner *I, const struct mlc_plan *plan, Func *const *outputs, int n); /* raises into I->fault */

/* ---- the resolved schedule of one stage: what lowering reads ---- */

typedef enum { LOOP_SERIAL, LOOP_PARALLEL, LOOP_VECTOR, LOOP_UNROLL, LOOP_GPU_BLOCK, LOOP_GPU_THREAD, LOOP_TENSOR } LoopKind;
extern const char *const sch_kinds[]; /* "serial" .. "tensorize" for messages, by LoopKind */
static inline bool sch_is_gpu(LoopKind k) { return k == LOOP_GPU_BLOCK || k == LOOP_GPU_THREAD; }
/* Do iterations run at once, in any order, in threads of their own? */
static inline bool sch_spreads(LoopKind k) { return k == LOOP_PARALLEL || sch_is_gpu(k); }
/* The loops of gpu_single_thread, of one iteration, around all others of the stage. */
#define SINGLE_BLOCK "gpu$block"
#define SINGLE_THREAD "gpu$thread"
typedef enum { SPLIT_SPLIT, SPLIT_FUSE, SPLIT_RENAME } SplitKind;

/* tails.c: what becomes of the points that a tail adds to a loop. */
typedef struct {
    bool loads_past, stores_past; /* producers and inputs, or memory, must reach a multiple of the factor */
    bool again;                   /* the last tile moves inwards, over points of the one before */
    bool blends;                  /* what must not change is read and stored again */
    bool innermost;               /* for the innermost split of a dimension alone */
} TailTraits;
extern const TailTraits sch_tail_traits[MLC_TAIL_COUNT + 1]; /* the last: no tail is needed */

typedef struct {
    SplitKind kind;
    const char *old, *outer, *inner; /* SPLIT: old = outer * factor + inner; FUSE: old is the fused loop; RENAME: old is
                                      * outer from here on */
    int64_t factor;
    mlc_tail tail;        /* resolved: never MLC_TAIL_AUTO */
    bool exact;           /* RVars and updates: must not compute more points than asked */
    const PlanLine *line;
} Split;

typedef struct {
    const char *name;     /* loop name, unique within the stage */
    LoopKind kind;
    bool is_rvar;         /* stems from an RVar whose order matters (impure) */
    bool is_pure;         /* iterations are provably independent */
    bool is_whole;        /* of an extern stage: its C function runs it */
    mlc_partition_policy partition;
    const PlanLine *partitioned; /* the line that says so, NULL: none */
    char axis;            /* LOOP_TENSOR: 'm', 'n' or 'k' of its instruction, which the line names */
    const PlanLine *line; /* the directive that made or marked it, NULL: the definition itself */
} Dim;

/* Of what the stage reads of func, fetched in the loop `at` for `offset` iterations of `from` later. */
typedef struct {
    Func *func;
    const char *at, *from;
    int64_t offset;
    mlc_fetch bounds;
    const PlanLine *line;
} Prefetch;

/* What a stage moves around the caches: its stores, what it loads of these Funcs (n 0: of all); NULL: no. */
typedef struct {
    const PlanLine *stores, *loads;
    int n;
    Func *func[8];
} Stream;

/* A stage has one of these, and one more for each of its specializations, which may have some themselves. */
typedef struct StageSched StageSched;
typedef struct {
    const Node *cond;     /* canonical; of the ones that hold, the first wins */
    StageSched *sched;
    const PlanLine *line;
} Special;

/* The outer loops of the stage are those of another one, its leader. */
typedef struct {
    VEC(const PlanLine *) line; /* all of one leader; none: its loops are its own */
    StageSched *leader;
    int depth;                  /* so many loops, outermost first */
} With;

struct StageSched {
    Func *func;
    int index;            /* stage */
    const Def *def;
    VEC(Split) split;     /* in order of application */
    VEC(Dim) dim;         /* innermost first */
    bool touched;
    const PlanLine *atomic; /* iterations that meet may run at once: the update is a fold; NULL: they may not */
    VEC(Prefetch) prefetch;
    With with;
    Stream stream;
    VEC(Special) special; /* tried in order before this schedule itself */
    const Node *when;     /* a call runs this schedule itself exactly where this holds */
    const PlanLine *fail; /* specialize_fail: such a call is an error, NULL: none */
};

typedef enum { AT_INLINE, AT_ROOT, AT_LOOP } LevelKind;
typedef struct {
    LevelKind kind;
    Func *func;           /* AT_LOOP: consumer */
    int stage;            /* its stage, -1: any stage that has the loop */
    const char *loop;     /* NULL: outside of all loops of that stage */
    const PlanLine *line;
} Level;

/* What the plan says of a Func's memory. */
typedef struct {
    const PlanLine *line;    /* the last directive about it, NULL: none */
    int order[MAX_RANK];     /* dimensions, the one of stride 1 first */
    mlc_memory memory;
    const PlanLine *memory_line;
    mlc_copy copy;
    const PlanLine *copy_line;
    int swizzled, swizzled_by; /* dimensions */
    const PlanLine *swizzle_line;
    struct {
        int64_t align;       /* padded to a multiple of so many elements */
        int64_t most, fold;  /* bound_storage, fold_storage; 0: not said */
        mlc_way way;
        const PlanLine *most_line, *fold_line;
    } dim[MAX_RANK];
} StorageSched;

typedef struct FuncSched {
    Func *func;
    Level compute, store; /* store defaults to compute */
    Level hoist;          /* where its memory is taken; without a line: where it is stored */
    StorageSched storage;
    int64_t ring;         /* computations that the memory holds in turn, 0: no ring_buffer */
    const PlanLine *ring_line;
    const PlanLine *async; /* computed in a task of its own, NULL: in line */
    const PlanLine *memo;  /* kept from call to call, NULL: not */
    const Node *memo_key;  /* to drop it by, NULL: none */
    const PlanLine *profile, *trace; /* NULL: nobody asked */
    struct {              /* what is computed of a dimension: `bound` is all of it, after `align` */
        const Node *min, *extent; /* extent NULL: no bound; min NULL: from where it is needed */
        const PlanLine *line;
    } bound[MAX_RANK];
    struct {
        int64_t modulus, remainder; /* modulus 0: none */
        bool moves_min;   /* else only the extent grows */
        const PlanLine *line;
    } align[MAX_RANK];
    VEC(StageSched) stage;
    struct FuncSched *group; /* towards the Func that stands for its group (with.c), NULL: it does itself */
} FuncSched;

/* Funcs that share loops are computed at one place, at once; most Funcs are a group alone.  Their stages are listed in
 * the order in which they run, those that share loops in a row, leaders first. */
typedef struct {
    VEC(FuncSched *) func;
    VEC(StageSched *) stage;
} FuncGroup;

typedef struct {
    mlc_ctx *ctx;
    Arena *arena;
    const struct mlc_plan *plan;
    FuncList order;       /* producers first, inputs included */
    PtrMap sched;         /* Func -> FuncSched (not for inputs) */
    VEC(FuncGroup) group; /* all of them, producers first */
    bool rewrites;        /* the plan derives an algorithm of other roundings: class rewrite */
    bool bounded;         /* threads join floats in any order: class bounded */
    bool by_units;        /* tensor units sum floats: class bounded too */
    bool warned;          /* something was said to the log, had it been there */
    Func *output[MAX_OUTPUTS];
    int n_outputs;
} Schedule;

/* Applies a plan: resolves names, checks every rule that needs no bounds (unknown loop, illegal tail,
 * reorder of impure RVars, races ...), fills defaults (outputs root, pure Funcs inline, Funcs with
 * updates at the innermost loop of their consumer).  Raises into I->fault. */
Schedule *sch_resolve(Interner *I, const struct mlc_plan *plan, Func *const *outputs, int n);

#endif
