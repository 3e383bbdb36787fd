/* cg.h - what the files of the C generator share.
 *
 * A Gen writes one translation unit into four parts that are joined at the end: vector typedefs, helper
 * functions, outlined loop bodies, the kernel.  Helpers are asked for by name and written once, each after
 * those it calls.
 *
 * Expressions become Text operands first, so printing is iterative and linear in the size of the graph:
 * a node that is used twice, or whose text grows long, is written as a named local. */
#ifndef CG_H
#define CG_H

#include "codegen/backend.h"

/* C text of a value, and how tightly its outermost operator binds (C's levels). */
typedef struct {
    const char *s;
    int prec;
    const char *wide; /* the same bits as an unsigned sum or product, which s casts; or NULL */
    int wide_prec;
} Text;
enum { P_COND = 1, P_OR, P_AND, P_BOR, P_XOR, P_BAND, P_EQ, P_CMP, P_SHIFT, P_ADD, P_MUL, P_UNARY, P_ATOM };

/* A C function being written. */
typedef struct Fn Fn;
struct Fn {
    Fn *up;          /* the function whose loop body this is */
    StrBuf out;
    int depth;       /* of indentation */
    PtrMap has;      /* Sym or element of a Storage -> its name here, where it is in scope */
    VEC(const void *) captured;
    int label;       /* where a failure goes: out<label>, 0: return at once */
    bool fails;      /* has a status to return */
    VEC(int) seen;   /* watched: the counters that it keeps itself */
    int stage;       /* ... the stage whose time passes now */
    bool streams;    /* has streamed stores since the last fence */
};

typedef struct {
    ErrCode code;
    const char *text[2];
} CheckText;

/* An array that is only reached at constant places lives in named variables.  Which one is found by
 * writing the body twice: the first time all places are noted and the text is thrown away. */
typedef struct {
    int64_t at;
    int lanes;
    const char *name;
} Piece;
typedef struct {
    const Storage *storage;
    Fn *fn;
    const char *fails; /* why it stays an array, or NULL */
    VEC(Piece) piece;
} Promoted;

typedef struct Vec Vec;
typedef struct CopyWalk CopyWalk;
typedef struct {
    const Program *p;
    Arena *arena;
    Interner *ir;
    const CgOptions *o;
    StrBuf types, helpers, functions;
    StrMap have;     /* typedefs and helpers written */
    StrMap taken;    /* identifiers in use */
    PtrMap name;     /* Sym or element of a Storage -> its identifier */
    PtrMap promoted; /* element of a Storage -> Promoted: it lives in named variables */
    PtrMap externs;
    PtrMap element;  /* element of a Storage -> the Storage: tells elements from Syms among keys */
    PtrMap channel;  /* Channel -> itself: tells channels from Syms among keys */
    PtrMap used;     /* params, buffer fields and buffers that the kernel reads at its top */
    bool *few;       /* watched: has the stage a production of so few points that none is timed apart? */
    const char **scalar; /* watched: why a vector loop of each stage became scalar, or NULL */
    VEC(const char *) spans; /* traced: three texts a kind of span */
    const Stmt *loop; /* the innermost one around */
    Fn *fn;
    const Facts *facts;
    int temps, labels;
    int locks;       /* its address is the key of the locks' name */
    bool dry;        /* the text will be thrown away */
    VEC(CheckText) checks;
    Vec *vec;        /* the vector loop being written, or NULL */
    const Stream *stream; /* what the statement at hand streams, or NULL */
    bool cuda;            /* CUDA C++ of kernels, not C of the host */
    const Stmt *kernel;   /* ... the ST_KERNEL being written */
    PtrMap let_value;     /* ... names of indices -> what they stand for, over what is bound in the kernel */
    const CopyWalk *walks; /* ... pointers that walk with the loop around */
    int copy_lanes;       /* ... elements that a copy takes at a time, 0: one */
} Gen;

/* The expressions of one leaf statement. */
typedef struct Env Env;
struct Env {
    PtrMap text;     /* Node -> Text */
    PtrMap uses;     /* Node -> number of uses */
    const Env *up;   /* texts of an enclosing scope, to read */
};

void gen_init(Gen *G, const Program *p, const CgOptions *o, Arena *arena); /* cpu.c */

/* ---- text.c: names, types, lines ---- */
void line(Gen *G, const char *format, ...) __attribute__((format(printf, 2, 3)));
void open_brace(Gen *G, const char *format, ...) __attribute__((format(printf, 2, 3)));
void close_brace(Gen *G);
char *fmt(Gen *G, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *fresh(Gen *G, const char *base);              /* an identifier nobody has */
const char *name_of(Gen *G, const void *key, const char *base); /* the identifier of a Sym or element */
const char *in_scope(Gen *G, const void *key);            /* its name in this function, captured if need be */
void bind(Gen *G, const void *key, const char *name);
void unbind(Gen *G, const void *key);
const char *ty_c(mlc_type t);                             /* C's type of a value: u16 for halves, u8 for bool */
const char *ty_tag(mlc_type t);                           /* the same but f16, bf16 and bool kept apart */
int ty_bytes(mlc_type t);
void comment_line(Gen *G, const PlanLine *l);
Text atom(const char *s);
Text at_prec(const char *s, int prec);
const char *wrap(Gen *G, Text t, int prec);               /* in parentheses if it binds less tightly */
Text constant_text(Gen *G, const Node *e);
const char *element_name(Gen *G, const Storage *s, int elem);

/* ---- helper.c over scalar.def, cuda.def and x86.def ---- */
/* The name of the helper `base` on `t` (and `to`, for conversions), `lanes` wide (1: scalar), written on demand. */
const char *helper(Gen *G, const char *base, mlc_type t, int lanes);
const char *helper_convert(Gen *G, mlc_type to, mlc_type from, int lanes);
const char *vector_type(Gen *G, const char *element, int lanes); /* "f32x16" and its typedef */
const char *vector_memory(Gen *G, const char *element, int lanes); /* the same, unaligned: "f32x16u" */
bool has_fma(const Gen *G);
int native_bytes(const Gen *G);

/* ---- legal.c ---- */
const Node *legal(Gen *G, const Node *e); /* operators that C has, or that helpers are written for */

/* ---- expr.c ---- */
void env_init(Gen *G, Env *v, const Env *up);
Text expr(Gen *G, Env *v, const Node *e);       /* emits locals for what is shared, gives the rest */
const char *value(Gen *G, Env *v, const Node *e);          /* the same as an argument or right-hand side */
const char *index_expr(Gen *G, Env *v, const Node *e);
Text scalar_op(Gen *G, const Node *e, const Text *kid);    /* one operator on scalar operands */
Text infix(Gen *G, Text a, const char *sign, Text b, int prec);
/* Elements `index` to index + lanes - 1 of a memory, as an lvalue; `type` is that of one element. */
const char *mem_ref(Gen *G, Env *v, const Storage *s, int elem, const Node *index, int lanes);
const char *mem_address(Gen *G, Env *v, const Storage *s, int elem, const Node *index);
void count_uses_below(Gen *G, PtrMap *uses, const Node *e);
bool const_bounds(Gen *G, const Node *e, int64_t *lo, int64_t *hi);
typedef struct {
    Arena *arena;
    PtrMap *done;                                 /* nodes not to enter */
    void (*visit)(void *user, const Node *e);     /* must put e into done */
    bool (*leaf)(void *user, const Node *e);      /* operands are not wanted; NULL: none */
    void *user;
} Walk;
void walk(const Walk *w, const Node *root);       /* operands first, each once, iterative */

/* ---- stmt.c ---- */
void stmt(Gen *G, const Stmt *s);
void fail_line(Gen *G, const char *error);        /* leaves the function with that error code */
int add_check(Gen *G, ErrCode code, const char *a, const char *b);
void scalar_store(Gen *G, const Stmt *s);
void scalar_leaf(Gen *G, const Stmt *s);
void scalar_loop(Gen *G, const Stmt *s);
void allocate(Gen *G, const Stmt *s);
void loop_body(Gen *G, const Stmt *loop);
void note(Gen *G, const Stmt *s, const char *why);
const Facts *fact_loop(Gen *G, const Sym *var, const Node *min, const Node *extent);
const Facts *fact_let(Gen *G, const Sym *var, const Node *value);

/* ---- parallel.c: loop bodies as functions ---- */
void parallel_loop(Gen *G, const Stmt *s);
/* Writes a loop body, or the branches of a fork, as a function of its own; `var` is the number that it is called
 * with, counted from closure.from. */
Fn *begin_body(Gen *G);
void end_body(Gen *G, Fn *f, const char *name, const Sym *var);
/* Fills `c`, the closure of that function. */
void fill_closure(Gen *G, Fn *f, const char *name, const char *from);
const char *restricted(const Storage *s);

/* ---- atomic.c: stores that threads share ---- */
void atomic_store(Gen *G, const Stmt *s);
void name_rest(Gen *G, Env *v, const Stmt *s, const Node *e); /* names for what can be computed before the old values are known */
const Node *joined_operand(Gen *G, const Stmt *s, int k, const Node *v); /* of v, the other one: what the place holds and that; or NULL */
void gpu_atomic_element(Gen *G, Env *v, const Stmt *s, int k, const char *place); /* cuda_atomic.c */
void write_locks(Gen *G, StrBuf *out); /* at the top of the kernel, where any is used */

/* ---- tile.c: instructions of tensor.def ---- */
void cuda_mma(Gen *G, const Stmt *s);

/* ---- cuda.c: what runs on a GPU ---- */

/* What a kernel gets, in the order of its parameters: memories, whose elements it reads or writes, then values. */
typedef struct {
    const Storage *storage; /* NULL: a value */
    int elem;
    bool written;
    const Sym *sym;
} KernelArg;
typedef VEC(KernelArg) KernelArgs;
KernelArgs kernel_args(Gen *G, const Stmt *kernel);
/* Where the element begins in the block's memory; NULL: all its bytes. */
int64_t shared_at(Gen *G, const Stmt *kernel, const Storage *t, int e);
/* What code for a GPU does not have, and legality keeps out: `what` says it, as "a print". */
_Noreturn void refuse_on_gpu(Gen *G, const char *what);
void shared_array(Gen *G, const Storage *t, int e); /* names it */

/* ---- copies.c: copies that a GPU makes on its own ---- */
void ask_copy(Gen *G, const Stmt *store);
void wait_copies(Gen *G, int pending);
void note_let(Gen *G, const Sym *var, const Node *value);
CopyWalk *copies_begin(Gen *G, Env *v, const Stmt *loop); /* in front of a loop: pointers to what its body copies */
void copies_step(Gen *G, const CopyWalk *walks);          /* at the end of its body */

/* ---- gpu.c: the host's side of it ---- */
void launch_kernel(Gen *G, const Stmt *s);
void move_memory(Gen *G, const Stmt *s);
void gpu_array(Gen *G, const Storage *t, int e, const char *bytes); /* memory on both sides, and its name on the host */
void release_gpu(Gen *G, const Storage *t, int next);
const char *gpu_offset(Gen *G, const Storage *t, int e); /* external: the bytes from the memory's first one to the element at the mins */

/* ---- fork.c: tasks and their turns ---- */
void fork_tasks(Gen *G, const Stmt *s);
void take_turn(Gen *G, const Stmt *s);

/* ---- call.c: what generated code asks of its caller: mlc's hooks, or the C library ahead of time ---- */
const char *fail_text(Gen *G, ErrCode code, int number, const char *const arg[4]); /* an int expression */
const char *alloc_text(Gen *G, const char *bytes);
const char *release_text(Gen *G, const char *name);
const char *extern_text(Gen *G, const Extern *e);  /* a call up to its arguments */
void print_line(Gen *G, const Node *e, const Text *k);
void parallel_call(Gen *G, const char *body, const char *extent); /* leaves the result in `failed` */
const char *quoted(Gen *G, const char *s);
const char *error_message(Gen *G, ErrCode code, const char *a, const char *b);

/* ---- watch.c: what profiled and traced code reports ---- */
void watch_begin(Gen *G);
void watch_produce(Gen *G, const Stmt *s);
void watch_count(Gen *G, const Stmt *s);
void watch_lanes(Gen *G, const Stmt *s);          /* the same in a vector loop */
void watch_scalar(Gen *G, const char *why);       /* a vector loop of the stage at hand runs lane by lane */
void watch_memory(Gen *G, const Storage *t, const char *bytes, const char *sign);
void watch_open(Gen *G, const Fn *f, StrBuf *out); /* a function's counters, before its statements */
void watch_close(Gen *G, Fn *f, StrBuf *out);      /* what hands them over, before it returns */
void watch_pause(Gen *G, bool begins);             /* around what other threads do, too */
void watch_task(Gen *G, const Stmt *loop);         /* an iteration of a parallel loop ends */
void watch_tables(Gen *G, StrBuf *out);

/* ---- entry.c: what a function made ahead of time asks of its arguments ---- */
void entry_helpers(Gen *G, StrBuf *out);
void entry_checks(Gen *G, StrBuf *out);

/* ---- whole.c: extern stages ---- */
Text whole_text(Gen *G, const Node *e, const Text *k); /* a query */
void whole_call(Gen *G, const Stmt *s);

/* ---- memo.c: memory of memoized Funcs ---- */
void memo_open(Gen *G, const Storage *t, const char *elements);
void memo_close(Gen *G, const Storage *t);

/* ---- stream.c: around the caches ---- */
void stream_load(Gen *G, Env *v, const Storage *t, int elem, const Node *index); /* in front of a load of the element */
bool streams_to(const Gen *G, const Storage *t, int bytes);
void stream_apart(Gen *G, const Storage *t);
void stream_begin(Gen *G, const Stmt *produce); /* checks, in front of a stage */
void stream_one_by_one(Gen *G, const Func *func, Stmt *s, const char *why); /* an error where the Func streams its lanes in s */

/* ---- vec.c: vector loops and their statements ---- */

/* What a lane does to a value: nothing, adds stride per lane (index only), anything. */
typedef struct {
    bool varies, affine;
    int64_t stride;
} Lanes;

/* A vector loop.  Lane i has var = min + i; outside of lane loops the name of var stands for lane 0. */
struct Vec {
    const Stmt *loop;
    const Sym *var;
    int64_t lanes;
    Sym *lane;       /* the number of a lane */
    PtrMap info;     /* Node -> Lanes */
    PtrMap lets;     /* Sym -> Lanes */
    PtrMap subst;    /* Sym -> Node: varying lets live in arrays, one element a lane */
    const Node *mask; /* lanes that run, NULL: all */
    MaskKind masks;   /* what it masks */
};
void vector_loop(Gen *G, const Stmt *s);
void vector_stmt(Gen *G, const Stmt *s);
Lanes lanes_of(Gen *G, const Node *e);
const Node *at_lane(Gen *G, const Node *e, const Node *lane); /* e in that lane */

/* ---- lanes.c: memory inside of a vector loop ---- */
bool on_stack(const Storage *t, int elem);
Stmt *lane_memory(Gen *G, Stmt *body); /* with one array for all lanes in the place of one a lane */

/* ---- vexpr.c: one statement on one slice of the lanes ---- */
typedef struct {
    Gen *G;
    Env *env;        /* of uniform values, shared by the statement's slices */
    int o, w;        /* lanes o to o + w - 1 */
    int bytes;       /* of the widest element */
    PtrMap *uses;
    PtrMap *splats;  /* Node -> Text, for this w */
    PtrMap text;     /* Node -> Text; of bool: a mask */
    PtrMap width;    /* bool Node -> bytes of its mask's elements */
    PtrMap mask[4];  /* bool Node -> Text, converted to 1, 2, 4, 8 bytes */
    bool unmasked;   /* the mask itself is being computed */
} Slice;
Text slice_value(Slice *s, const Node *e);         /* a data value; of bool: bytes 0 or 1 */
Text slice_mask(Slice *s, const Node *e, int bytes); /* a bool as -1 or 0 in elements of so many bytes */
void slice_store(Slice *s, const Storage *t, int elem, const Node *index, Text v);

#endif
