/* algorithm.h - what to compute: Funcs over Vars and RDoms, as written and in canonical form.
 *
 * A Func is an input (a buffer bound by the user) or has one pure definition and any number of
 * updates.  Stage 0 is the pure definition, stage i the update i - 1.  Definitions are immutable
 * once made; plans never touch them. */
#ifndef ALGORITHM_H
#define ALGORITHM_H

#include "ir/ir.h"
#include <mlc/func.h>

enum { MAX_RANK = 8, MAX_TUPLE = 8 };

typedef struct RDom {
    const char *name;
    int n;
    const Sym *var[MAX_RANK];                 /* k.x, k.y ..; printed k.x, or k where n is 1 */
    const Sym *written[MAX_RANK];             /* what stands for var in as-written forms, NULL: var.  A domain that
                                                 a plan derives has RVars by the names of the loops they were */
    bool cuts;                                /* ... and its conditions only cut last tiles off */
    const Node *min[MAX_RANK], *extent[MAX_RANK]; /* index expressions of params and buffer sizes */
    VEC(const Node *) where;                  /* predicates, as written; all must hold */
    VEC(const Node *) where_canon;
    bool frozen;                              /* a definition uses it: no more conditions */
    mlc_loc loc;
} RDom;

static inline const Sym *alg_written_var(const RDom *r, int i) {
    return r->written[i] ? r->written[i] : r->var[i];
}

typedef enum { /* how it was written */
    DEF_SET = MLC_DEF_SET,
    DEF_ADD = MLC_DEF_ADD,
    DEF_SUB = MLC_DEF_SUB,
    DEF_MUL = MLC_DEF_MUL,
    DEF_MIN = MLC_DEF_MIN,
    DEF_MAX = MLC_DEF_MAX
} DefOp;

typedef struct {
    DefOp op;
    int rank, n;                  /* coordinates, tuple elements */
    const Node *lhs[MAX_RANK];    /* pure: OP_VAR of args; update: any index expression, as written */
    const Node *rhs[MAX_TUPLE];   /* as written (for DEF_ADD: without the old value) */
    const Node *coord[MAX_RANK];  /* canonical lhs, type index */
    const Node *value[MAX_TUPLE]; /* canonical whole value: old value included, of the Func's type */
    RDom *rdom;                   /* of the RVars used, NULL: none */
    mlc_loc loc;
} Def;

typedef struct Func {
    const char *name;            /* name and n come first: the printer of expressions knows no more of a Func */
    int n;                       /* tuple elements, 0 until defined */
    mlc_ctx *ctx;
    bool is_input, implicit; /* implicit: the pure definition was made by an update */
    int rank;
    const Sym *arg[MAX_RANK];    /* the pure definition's Vars */
    mlc_type type[MAX_TUPLE];
    VEC(Def *) def;              /* [0] pure, then updates; empty for inputs */
    /* inputs and outputs: constraints stated by mlc_dim, has_* bits; and the declared range of data */
    struct {
        bool has_min, has_extent, has_stride;
        int64_t min, extent, stride, align;
    } dim[MAX_RANK];
    bool has_range;
    double lo, hi;
    const Sym *min[MAX_RANK], *extent[MAX_RANK], *stride[MAX_RANK]; /* SYM_MIN.. of the bound buffer */
    struct mlc_buffer *bound;    /* inputs: what mlc_bind gave, owned by the user */
    mlc_loc loc;
    int id;                      /* order of creation in the context */
    bool is_read;                /* by a definition of another Func */
    const Node *poison;          /* the first thing that was wrong with it: fails what reaches it */
} Func;
_Static_assert(offsetof(Func, n) == sizeof(char *), "print.c finds n behind the name");

/* A construction context.  Funcs, inputs, params and RDoms share one namespace. */
struct mlc_ctx {
    Arena arena;
    Fault fault;
    Interner ir;
    mlc_allocator hook;
    mlc_log_fn log;
    void *log_user;
    StrMap vars;                 /* name -> Sym (SYM_VAR) */
    StrMap names;                /* name -> Named */
    StrMap vals;                 /* name -> mlc_expr, from mlc_val; made on first use */
    VEC(Func *) funcs;           /* in order of creation, inputs included */
    VEC(Sym *) params;
    VEC(RDom *) rdoms;
    VEC(const Extern *) externs;
    struct mlc_plan *plan;       /* the default plan, made on first use */
    PtrMap param_value;          /* Sym -> Value *, set by mlc_param_set */
    int next_random;             /* random() calls get distinct places */
    unsigned mode;               /* the floating-point mode in which an interpreter runs C functions; 0: any */
    /* Threads and kept memory, made by the pipeline on first use; mlc_ctx_free calls drop(state) where set. */
    struct {
        void *state;
        void (*drop)(void *state);
    } runtime;
};

typedef enum { NAME_FUNC, NAME_PARAM, NAME_RDOM, NAME_EXTERN } NameKind;
typedef struct {
    NameKind kind;
    union {
        Func *func;
        Sym *param;
        RDom *rdom;
        const Extern *ext;
    } u;
} Named;

/* Canonical form of an as-written expression (canon.c): fma formed bottom-up, halves widened, derived
 * operators replaced.  `round_to`: the definition's type; a half type ends in a cast to it. */
const Node *alg_canonical(Interner *I, const Node *written, mlc_type round_to);
/* Same inside a definition whose point is n index expressions: random() is a function of it. */
const Node *alg_canonical_at(Interner *I, const Node *written, mlc_type round_to, int n, const Node *const *point);

/* The Funcs that `outputs` need, producers before consumers, inputs included; deterministic.  Raises into
 * a->fault the poison of a Func reached, or that it has no definition. */
typedef VEC(Func *) FuncList;
FuncList alg_order(Arena *a, Func *const *outputs, int n);
FuncList alg_reads(Arena *a, const Func *f); /* each once, in the order of its definitions */
/* Does stage `def` of f read f itself? */
bool alg_is_recursive(const Func *f, const Def *def);
/* Does `from` read `to`, itself or through others? */
bool alg_reaches(Arena *a, Func *from, const Func *to);
Func *alg_find_func(mlc_ctx *ctx, const char *name);
const char *alg_generated_name(mlc_ctx *ctx, const char *base); /* base$1 ... */
const char *alg_kind_text(const Named *n); /* "an input", "a param" ...: for messages */

/* Making objects by name, generated names allowed (names.c); a wrong or taken name is noted in the
 * context, and the object still comes back, poisoned and without the name. */
const Sym *alg_var(mlc_ctx *ctx, const char *name);
Func *alg_add_func(mlc_ctx *ctx, const char *name, mlc_loc loc);
Func *alg_add_input(mlc_ctx *ctx, const char *name, mlc_type type, int rank, mlc_loc loc);
Sym *alg_add_param(mlc_ctx *ctx, const char *name, mlc_type type, mlc_loc loc);
RDom *alg_add_rdom(mlc_ctx *ctx, const char *name, int n, const Node *const *min, const Node *const *extent, mlc_loc loc);
void alg_add_where(mlc_ctx *ctx, RDom *r, const Node *cond, mlc_loc loc);
bool alg_name_is_free(mlc_ctx *ctx, const char *name, const Place *place); /* else noted */
/* A call of a C function, as written. */
const Node *alg_call(Interner *I, const Extern *x, int n, const Node *const *arg, uint32_t literal, const Place *place);
const Extern *alg_add_extern(mlc_ctx *ctx, const Extern *x); /* a copy, under its name, which is free */

/* An extern stage (whole.c): its C function, the Funcs that it reads, and its scalars, which no loop changes. */
typedef struct {
    const Extern *ext;
    int rank, n_in, n_scalars;
    Func *in[8];
    int first[9];            /* the number of the first buffer of each input, and of the output */
    const Node *scalar[8];   /* canonical */
    int desc[2 + 2 * 72];    /* types and ranks of the buffers, as ir/whole.h takes them */
} Whole;
bool alg_is_whole(const Func *f);
Whole alg_whole(const Func *f);
typedef struct {
    Func *func;         /* or NULL: */
    const Node *value;  /* as written */
} WholeArg;
/* False where it was wrong: noted, and f is poisoned. */
bool alg_define_whole(Func *f, const Extern *fn, int rank, int n, const mlc_type *type, int n_args, const WholeArg *arg,
                      mlc_loc loc);
void alg_print_whole(StrBuf *out, const Func *f);

/* Fixes a Func's rank and makes the symbols of its buffer, in that arena. */
void alg_set_rank(Arena *a, Func *f, int rank);
/* f at coordinates, as written, literals flagged; aux -1 and type MLC_VOID for a whole tuple or an undefined Func. */
const Node *alg_access(Func *f, int n, const Node *const *coord, uint32_t literal, const Place *place);
const Node *alg_elem(Interner *I, const Node *access, int i, const Place *place);
/* Adds a definition (define.c).  Returns the stage, -1 where it was wrong: noted, and f is poisoned.  `over`, where
 * it is not NULL: the RDom of an update whose sides need not name it. */
int alg_define_over(Func *f, DefOp op, int rank, const Node *const *lhs, int n, const Node *const *rhs, uint32_t literal,
                    RDom *over, mlc_loc loc);
int alg_define(Func *f, DefOp op, int rank, const Node *const *lhs, int n, const Node *const *rhs, uint32_t literal, mlc_loc loc);
/* The same in another Interner, kept nowhere: the directives that derive an algorithm add it to a private copy
 * of f.  NULL where it was wrong; f, if it has no definitions yet, takes its shape from it. */
Def *alg_build(Interner *I, Func *f, DefOp op, int rank, const Node *const *lhs, int n, const Node *const *rhs, RDom *over,
               mlc_loc loc);
/* The neutral element of an update: what its implicit pure definition is (docs/semantics.md section 1). */
const Node *alg_start_of(Interner *I, DefOp op, mlc_type t);
/* Does e win over old in the order of min (greatest: max)?  A NaN beats all, -0 < +0; ties keep the old. */
const Node *alg_wins(Interner *I, const Place *place, bool greatest, const Node *e, const Node *old);
/* The inline reduction of e over r, as the access that stands for it (reduce.c). */
const Node *alg_reduce(mlc_ctx *ctx, mlc_reduction kind, RDom *r, const Node *e, mlc_loc loc);
/* Logs what in a new definition is legal but probably not meant (warn.c). */
void alg_warn(const Func *f, const Def *def, const Place *place);
/* One line to the context's log hook, if it has one. */
void alg_warning(mlc_ctx *ctx, ErrCode row, const Place *place, ...);
/* An as-written expression with variables (Sym -> Node) replaced: no folding. */
const Node *alg_replace(Interner *I, const Node *written, const PtrMap *sym_to_node);
/* An expression, as written or canonical, with each access given to `access` once its operands are done: no folding. */
const Node *alg_replace_accesses(Interner *I, const Node *e, ir_rewrite_fn access, void *user);
/* An mlc_expr as a node of ctx; *literal: it takes its neighbour's type. */
const Node *alg_node(mlc_ctx *ctx, mlc_expr e, bool *literal);
static inline mlc_expr alg_expr(mlc_ctx *ctx, const Node *e) {
    return (mlc_expr){ .ctx = ctx, .node = e, .type = (mlc_type)e->type };
}

/* The oracle (interp.c): computes outputs over the extents of their buffers, from definitions alone.
 * inputs come from Func.bound, params from ctx.  Raises into `arena->fault`. */
void alg_interpret(Arena *arena, Func *const *outputs, struct mlc_buffer *const *buffers, int n_buffers);

/* Text (text.c): the whole program, and one definition. */
void alg_print_program(StrBuf *out, mlc_ctx *ctx, Func *const *outputs, int n);
void alg_print_def(StrBuf *out, const Func *f, int stage);

#endif
