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
    const Node *min[MAX_RANK], *extent[MAX_RANK]; /* index expressions of params and buffer sizes */
    VEC(const Node *) where;                  /* predicates, as written; all must hold */
    VEC(const Node *) where_canon;
    mlc_loc loc;
} RDom;

typedef enum { DEF_SET, DEF_ADD, DEF_SUB, DEF_MUL, DEF_MIN, DEF_MAX } DefOp; /* how it was written */

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
    const char *name;
    mlc_ctx *ctx;
    bool is_input, implicit; /* implicit: the pure definition was made by an update */
    int rank, n;                 /* n: tuple elements, 0 until defined */
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
} Func;

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
    VEC(Func *) funcs;           /* in order of creation, inputs included */
    VEC(Sym *) params;
    VEC(RDom *) rdoms;
    VEC(const Extern *) externs;
    struct mlc_plan *plan;       /* the default plan, made on first use */
    PtrMap param_value;          /* Sym -> Value *, set by mlc_param_set */
    int next_generated;
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

/* The Funcs that `outputs` need, producers before consumers, inputs included; deterministic. */
typedef VEC(Func *) FuncList;
FuncList alg_order(Arena *a, Func *const *outputs, int n);
/* Does stage `def` of f read f itself? */
bool alg_is_recursive(const Func *f, const Def *def);
Func *alg_find_func(mlc_ctx *ctx, const char *name);
const char *alg_generated_name(mlc_ctx *ctx, const char *base); /* base$1 ... */

/* The oracle (interp.c): computes outputs over the extents of their buffers, from definitions alone.
 * inputs come from Func.bound, params from ctx.  Raises into `arena->fault`. */
void alg_interpret(Arena *arena, Func *const *outputs, struct mlc_buffer *const *buffers, int n_buffers);

/* Text (text.c): the whole program, and one definition. */
void alg_print_program(StrBuf *out, mlc_ctx *ctx, Func *const *outputs, int n);
void alg_print_def(StrBuf *out, const Func *f, int stage);

#endif
