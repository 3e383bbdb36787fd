/* nest.h - the loop nests while they are being built: a tree of scopes, mutable, private to lowering.
 *
 * Every definition that is computed becomes a StageNest: a chain of scopes, one a loop, outermost first.
 * A Func is computed in a scope (root, or the inside of a consumer's loop) and stored in that scope or one
 * around it.  Funcs are injected consumers first, so when a Func comes, everything that reads it stands
 * in the tree already, and its box at its place is the union over those reads: one walk from each reader
 * up to the place, never over the whole program.  Emission turns the finished tree into statements. */
#ifndef NEST_H
#define NEST_H

#include "lower/lower.h"
#include "schedule/resolve.h"

typedef struct Scope Scope;
typedef struct StageNest StageNest;
typedef struct FuncNest FuncNest;

/* A name bound right inside a loop to an expression of loops around: the point of a dimension that was
 * split, or the start of a shifted tile. */
typedef struct {
    const Sym *sym;
    const Node *value;
    Interval whole;       /* where it lies once all of its loops are eliminated */
    const Scope *outermost; /* the outermost of the loops it is made of */
    Interval loose;       /* contains whole, and is of constant length where `whole` is not; or NULL ends */
    bool clips;           /* a guard keeps it within `whole` where value alone would not, */
    bool clips_start;     /* the one at its end, the other at its start */
    bool coarse;          /* a quotient by an unknown extent: nothing less than `whole` can be said of it */
} NestLet;

/* An end of a box.  `full` is what the value would be without a sliding window, NULL: the value. */
typedef struct {
    const Sym *sym;
    const Node *value, *full;
} BoxLet;

/* What stands inside of it runs where cond holds; see MaskKind. */
typedef struct {
    const Node *cond;
    bool likely;
    MaskKind mask;
} Guard;

struct Scope {
    Scope *up;            /* NULL: root */
    StageNest *stage;     /* whose loop, or whose top; NULL: root */
    const Dim *dim;       /* the loop, NULL: root or the top of a stage */
    const Sym *var;       /* NULL: no loop (also a loop of exactly one iteration) */
    const Node *min, *extent;
    const Node *most;     /* a constant that bounds the extent, or NULL */
    LoopKind kind;
    int depth;
    bool in_vector;       /* inside or at a vector loop */
    VEC(NestLet) let;
    VEC(Guard) guard;
    VEC(BoxLet) box;      /* boxes of what is computed here: consumers first */
    VEC(Stmt *) check;    /* of what is computed here, before any of it (root: Build.check) */
    VEC(Stmt *) prefetch; /* at the start of each iteration */
    VEC(FuncNest *) item; /* what is computed, stored or has its memory taken here: consumers first; each encloses those before it */
    Scope *inner;         /* the stage's next loop, NULL: its leaf */
    VEC(StageNest *) with; /* stages that run in here too, behind the one whose loop it is */
};

/* No loop is made for one iteration, but where it says which block or thread of a GPU runs it. */
static inline bool low_is_once(LoopKind kind, const Node *extent) {
    return ir_is(extent, 1) && !sch_is_gpu(kind) && kind != LOOP_TENSOR;
}

/* The accesses of one Func in a stage. */
typedef struct {
    Func *func;
    bool in_index;        /* its values stand in coordinates */
    VEC(const Node *) access;
} Read;

/* A loop of a stage as the stage alone would have it. */
typedef struct {
    const Node *min, *extent;
    const Node *asked;    /* the iterations that are wanted; less than the extent where that is a constant bound of them */
    const Node *most;     /* see Scope */
    bool absolute;        /* it runs over the points themselves, else from 0 */
    const Node *shift;    /* of a shared loop: by how much this stage is at a later iteration */
} OwnLoop;

struct StageNest {
    FuncNest *fn;
    const StageSched *sched;
    int index;
    Scope *top, *leaf;    /* top has no loop of its own */
    Scope *part;          /* inside of the loops that it shares, around what is its alone; where it shares none, top */
    OwnLoop *own;         /* as in sched->dim, */
    Scope **loop;         /* and where they are */
    struct Nesting *nesting; /* nest.c, while they are made */
    StageNest *leader;    /* whose outer loops are its own too, or NULL */
    VEC(StageNest *) follower;
    int n_where, n_plain; /* the plain predicates, over indices alone, come first: the others are asked where these hold */
    const Node *coord[MAX_RANK], *value[MAX_TUPLE], **where; /* inlined; over loop variables once built */
    const Scope **asked_at;  /* predicates.c: where each predicate is asked */
    VEC(Read) read;
    VEC(const Node *) blend; /* where one of them fails, what is stored is what was there */
    Interval covered[MAX_RANK]; /* what its loops store, rounded tails included */
    VEC(StageNest *) special; /* as in sched */
    const Node *runs;     /* over sizes and the boxes of root: false only where no point of it is computed */
    const Node *stage_runs; /* the same of the stage, whichever of its specializations it is */
    VEC(Stmt *) check;
};

/* Funcs that are computed at once, and their stages in the order in which they run. */
typedef struct {
    VEC(FuncNest *) func;
    VEC(StageNest *) stage;
} GroupNest;

struct FuncNest {
    FuncSched *sched;
    Func *func;
    GroupNest *group;
    Scope *compute, *store;
    Scope *hoist;            /* where its memory is taken: the store scope, or one around it */
    const Node *base[MAX_RANK]; /* hoisted further: the start of the box at the store scope, from which accesses count; or NULL */
    Storage *storage;
    Interval box[MAX_RANK];  /* at the compute scope */
    Interval wide[MAX_RANK]; /* ... before sliding, where the store scope is outside of the compute scope */
    Interval full[MAX_RANK]; /* wide, with every name bound between the two scopes put in place */
    const Scope *slid[MAX_RANK]; /* the loop that the dimension slides along, or NULL */
    int64_t depth;           /* async and folded: the memory holds the windows of so many turns */
    const Node *ahead;       /* async: by how many turns readers may fall behind, NULL: any number */
    int64_t most[MAX_RANK]; /* a constant that bounds the box's length, or 0 */
    Interval asked[MAX_RANK];    /* of an extern stage: the box that is needed; `box` is what its C function writes, */
    Interval *read[8];           /* and this what it reads of each input for that, */
    Interval call[MAX_RANK];     /* this what one call of it computes; */
    Scope *asks;                 /* it is asked here: where it is computed, or in the loops around its calls */
    Interval computed[MAX_RANK]; /* the box with rounded tails */
    const Node *wanted;      /* at root: does any of its readers run?  Elsewhere true */
    VEC(StageNest *) stage;
    VEC(Stmt *) room;        /* checks in front of the allocation */
    VEC(Stmt *) check;       /* before all stages */
    VEC(StageNest *) run;    /* the same and their specializations, without those that no call runs */
};

typedef struct {
    Interner *ir;
    Arena *arena;
    Fault *fault;
    Schedule *sched;
    const LowerOptions *options;
    Program *program;
    Scope *root;
    PtrMap uses;     /* Func -> UseList */
    PtrMap nest;     /* Func -> NestList: one, or one in each specialization that reads it */
    PtrMap external; /* Func -> Storage */
    PtrMap values;   /* Func -> Interval of its values, without ends where they are unknown */
    PtrMap inlined;  /* ACCESS node -> its expansion */
    PtrMap needed;   /* FuncNest -> low_needed */
    int memos;       /* memoized Funcs */
    bool unslid;     /* bounds inference takes boxes as they would be without sliding windows */
    bool loose;      /* bounds inference ignores what clips the last tile: longer boxes of constant length */
    PtrMap varying;  /* Sym that differs between the lanes of a vector loop around it */
    StrMap names;    /* names in use */
    const Facts *base; /* what holds everywhere inside the body */
    VEC(Stmt *) check; /* at entry */
} Build;

typedef VEC(StageNest *) UseList;
typedef VEC(FuncNest *) NestList;

/* inline.c: every access of an inlined Func replaced by its definition. */
const Node *low_inline(Build *b, const Node *e);

/* bounds.c */
/* Ranges of what is bound inside `outer` (NULL: of everything) down to `inner`, on top of the base facts. */
const Facts *low_facts(Build *b, const Scope *outer, const Scope *inner);
/* value_range.c: the values that f can have, or NULL; f and what is known of the data in the coordinates of st. */
const Interval *low_value_range(Build *b, const Func *f);
const Facts *low_data_facts(Build *b, const Facts *f, const StageNest *st);
const Facts *low_point_facts(Build *b, const StageNest *st, const Scope *at);
Interval low_union(Build *b, const Facts *f, Interval a, Interval c);
/* The box of f that the readers need at scope `at`; raises where it has no bounds. */
void low_required(Build *b, Func *f, const Scope *at, Interval *box);
/* The same of one reader, added to the box. */
void low_required_by(Build *b, Func *f, const StageNest *reader, const Scope *at, Interval *box);
/* Widens the box of a Func with updates by what they write and read of it. */
void low_cover_updates(Build *b, FuncNest *fn, const Facts *f);
/* Widens what the stage covers by what it writes and reads of its Func at points past the end of its box: f(x, g(x)) does
 * so in y too.  Before its points are put in. */
void low_cover_padding(Build *b, StageNest *st, const Facts *f);
/* The range of a node over the given facts, which must be bounded. */
const Node *low_length(Build *b, const Facts *f, Interval i); /* hi - lo + 1 */

/* tails.c */
/* The tail of split i, whose loop has this extent; MLC_TAIL_COUNT: it needs none.  Adds what it asks of sizes. */
mlc_tail low_choose_tail(Build *b, StageNest *st, int i, const Node *extent, const Facts *f);
/* The inner loop of s may not run over more than the factor; tail: of each split. */
void low_check_nested(Build *b, const StageSched *sched, const mlc_tail *tail, const Split *s, const Node *covered);
/* The caller's buffer has no room past the extent, which the tail of s rounds up to `stored`. */
void low_check_rounded(Build *b, const StageNest *st, const char *dimension, const Split *s, const Node *stored, const Node *extent);

/* box.c: what bound, bound_extent, align_bounds and align_extent make of the box that is needed. */
void low_shape_box(Build *b, FuncNest *fn, const Facts *f);
bool low_is_shaped(const FuncNest *fn, int d);
bool low_is_padded(const FuncNest *fn, int d); /* tails store past the box */

/* nest.c: the loops of one stage over fn->box: how long they are, then the loops themselves. */
void low_measure_stage(Build *b, StageNest *st);
void low_build_stage(Build *b, StageNest *st);
Scope *low_new_scope(Build *b, StageNest *st, Scope *up);
/* Binds the name of something of the stage at a scope; see NestLet. */
NestLet *low_bind(Build *b, const StageNest *st, Scope *at, const char *name, const Node *value, Interval whole,
                  const Scope *outermost, bool clips);

/* shared.c: loops that stages share.  How many of its outer loops does the stage share with others? */
int low_shares(const StageNest *st);
Scope *low_shared_scopes(Build *b, StageNest *st); /* makes them, up to st->part, which it returns */
/* Loop i as the stage counts it, bound in its part, which runs where the loop would. */
const Node *low_share(Build *b, StageNest *st, int i, const char *name);
const Sym *low_sym(Build *b, const Func *f, SymKind kind, const char *name);

/* readers.c: a stage and its specializations without loops; and the stage, which has loops now, noted with what it reads. */
StageNest *low_new_stage(Build *b, FuncNest *fn, const StageSched *sched);
void low_note_uses(Build *b, StageNest *st);

/* inject.c: where the Funcs of a group are computed and stored, and putting them there. */
void low_inject(Build *b, const FuncGroup *g);
Scope *low_find_loop(const StageNest *st, const char *loop);
bool low_encloses(const Scope *outer, const Scope *inner);
/* Something about dimension d by a name that is bound where fn is computed; full: see BoxLet. */
const Node *low_name(Build *b, FuncNest *fn, int d, const Node *e, const char *end, const Node *full);

/* whole.c: extern stages. */
void low_whole_ask(Build *b, FuncNest *fn, Interval *written); /* names the answer for fn->box, and checks it */
void low_whole_nest(Build *b, StageNest *st);                  /* in place of loops */
void low_whole_needs(Build *b, const Func *f, const StageNest *st, const Scope *at, Interval *box); /* of f */
Stmt *low_whole_call(Build *b, const StageNest *st);
bool low_whole_reads(Build *b, const FuncNest *fn); /* does an extern stage read fn, whose memory is then one dense box? */

/* specialize.c: what depends on which schedule of a stage a call runs. */
typedef VEC(Scope *) ScopeList;
/* Truths of the condition under which the nest runs, for decisions alone: boxes must hold whatever runs. */
const Facts *low_special_facts(Build *b, const StageNest *st, const Facts *f);
/* Does the condition under which the nest runs say that e is a multiple of this? */
bool low_special_multiple(const StageNest *st, const Node *e, int64_t of);
/* e without the alternatives that are decided where the nest runs. */
const Node *low_decided(Build *b, const StageSched *sched, const Node *e);
/* Where the memory stands of what is computed at `compute`, one of several places, where the level means `store`. */
Scope *low_special_store(Build *b, const FuncSched *fs, const Level *level, const ScopeList *places, Scope *compute, Scope *store);
void low_check_fail(Build *b, const StageNest *st);
/* The nest of f whose memory the stage reads, NULL: f is not computed, or not around the stage. */
FuncNest *low_nest_read(Build *b, const StageNest *st, const Func *f);

/* prefetch.c: what the stages fetch ahead, once all memory has its place. */
void low_prefetch(Build *b, StageNest *st);

/* swizzle.c: which chunks of its rows change places. */
void low_swizzle(Build *b, const FuncNest *fn, Storage *t);

/* copies.c: may the Func be copied as the plan says?  Once its place is known.  And the line that has a GPU copy it on its own, or NULL. */
void low_check_copy(Build *b, const FuncNest *fn);
const PlanLine *low_copied_async(const FuncNest *fn);

/* stream.c: is what the stage streams there to be read? */
void low_check_stream(Build *b, const StageNest *st);

/* predicates.c: s where those predicates hold that are asked at scope `at`, NULL: at the store. */
Stmt *low_where(Build *b, StageNest *st, const Scope *at, Stmt *s);

/* sliding.c: of a Func stored outside of where it is computed, compute only what is new. */
bool low_slide(Build *b, FuncNest *fn);
bool low_pure_in(const FuncNest *fn, int d); /* every update runs over the dimension by its own Var */
/* folding.c: the size of the circular buffer that dimension d gets, 0: none, and why. */
int64_t low_fold(Build *b, FuncNest *fn, int d, const char **why);

/* async.c: may an asynchronous Func be where it is placed, and how far may it run ahead? */
void low_async_place(Build *b, const FuncNest *fn);
void low_async_ahead(Build *b, FuncNest *fn);
/* The loop between memory and computation that turns follow one another in, NULL: there is one turn. */
const Scope *low_turns(const FuncNest *fn);

/* ring.c: the part of a ring buffer that an iteration uses, as one more coordinate of every access. */
void low_ring_place(Build *b, const FuncNest *fn);
Interval low_ring_box(Build *b, const FuncNest *fn, int d);
Stmt *low_ring(Build *b, const FuncNest *fn, Stmt *s);

/* hoist.c: memory taken outside of the store scope. */
void low_hoist_place(Build *b, const FuncNest *fn);
void low_hoist_extent(Build *b, FuncNest *fn, Storage *t, int d); /* of what t says of the store scope */
const Node *low_hoist_lanes(Build *b, const FuncNest *fn);
Stmt *low_hoisted(Build *b, const FuncNest *fn, Stmt *s);
/* Accesses of f in s count from `base` and have one more coordinate. */
Stmt *low_relative(Build *b, const Func *f, const Node *const *base, const Node *last, Stmt *s);
/* again.c: why points of it, or of what its stage inlines, are computed more than once; NULL: they are not, or nobody knows */
const char *low_again(Build *b, const FuncNest *fn);
/* What its readers need of it in one iteration of `at`, NULL: in all; `inside`: of readers in there alone, NULL: of all.
 * False where that is not told by reads alone.  Last tiles count as whole ones where `at` is a loop. */
bool low_window(Build *b, const FuncNest *fn, const Scope *inside, const Scope *at, Interval *box);
const char *low_inlined_again(Build *b, const StageNest *st);
/* watched.c: the stages that are profiled or traced, into Program.watched. */
void low_watched(Build *b);
const char *low_place_name(Build *b, const Scope *s); /* alloc_bounds.c: "root", "f.y" */

/* alloc_bounds.c: the memory of a Func that is placed. */
void low_allocate(Build *b, FuncNest *fn);

/* memo.c: memoized Funcs: their memory; what finds their values, once all stages stand; and is fn, at root, not made for
 * values alone that were found? */
Memo *low_new_memo(Build *b, const FuncNest *fn);
void low_memoize(Build *b, FuncNest *fn);
const Node *low_needed(Build *b, const FuncNest *fn);

/* runs.c: which stages have no point to compute in a call? */
void low_runs(Build *b, StageNest *st);
/* Of the reader uses[i] and those of the same stage behind it, which *next counts. */
const Node *low_group_runs(Build *b, const UseList *uses, int i, int *next);
const Node *low_wanted(Build *b, const FuncNest *fn, const UseList *uses);

/* index_casts.c: do the indices that become i32 fit it? */
void low_index_casts(Build *b);

/* checks.c: what the caller's buffers must satisfy. */
void low_entry(Build *b, Stmt *check); /* adds one, unless it holds */
void low_external(Build *b);
const char *low_number(Build *b, int d); /* as text, for messages */
void low_entry_checks(Build *b);
Stmt *low_check(Build *b, const Node *cond, ErrCode code, const char *t0, const char *t1, int n, const Node *const *arg);

/* gpu_nest.c: whose are the loops around, and the memory that is taken there? */
typedef enum { GPU_OF_HOST, GPU_OF_BLOCK, GPU_OF_THREAD } GpuLevel;
GpuLevel low_gpu_level(const Scope *s);
int64_t low_most_threads(Build *b, const Scope *s); /* of a loop of threads */
bool low_gpu_touches(Build *b, const FuncNest *fn); /* a kernel computes it, or reads it */
MemoryKind low_memory_kind(Build *b, const FuncNest *fn); /* STORE_STACK: where it is small enough */
/* May a Func be computed there, the loops of a stage be where they are, and a Func with all of its stages be in a kernel? */
void low_check_gpu_place(Build *b, const FuncNest *fn);
void low_check_gpu_nest(Build *b, const StageNest *st);
void low_check_gpu_func(Build *b, const FuncNest *fn);
void low_check_gpu_checks(Build *b, const FuncNest *fn); /* with its memory: is anything asked in a kernel? */

/* emit.c */
Stmt *low_emit(Build *b);

/* build.c: the whole of it. */
void low_build(Program *p, const LowerOptions *o);

#endif
