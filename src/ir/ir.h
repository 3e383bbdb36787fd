/* ir.h - expressions: the nodes that every level shares.
 *
 * A Node is pure and hash-consed: within one chain of Interners, equal expressions are equal
 * pointers.  Nodes are scalar; a vector loop gives a meaning per lane to the scalar body, so no
 * pass ever rewrites widths.  Node ids are dense, so side tables are arrays indexed by id.
 *
 * Two forms of the same expression exist:
 *   as written   any operator of ops.def; what printers show
 *   canonical    LEAF and PRIM operators only; fma formed, roundings to f16/bf16 explicit (casts),
 *                derived operators replaced by their bodies.  This is the meaning: interpreters and
 *                lowering see nothing else (alg_canonical, src/algorithm/canon.c). */
#ifndef IR_H
#define IR_H

#include "base/base.h"

/* ---- types ---- */

static inline bool ty_is_float(mlc_type t) { return t >= MLC_F16 && t <= MLC_F64; }
static inline bool ty_is_half(mlc_type t) { return t == MLC_F16 || t == MLC_BF16; }
static inline bool ty_is_signed(mlc_type t) { return t >= MLC_I8 && t <= MLC_I64; }
static inline bool ty_is_unsigned(mlc_type t) { return t >= MLC_U8 && t <= MLC_U64; }
static inline bool ty_is_int(mlc_type t) { return t >= MLC_I8 && t <= MLC_U64; } /* not bool, not index */
static inline bool ty_is_data(mlc_type t) { return t >= MLC_BOOL && t <= MLC_F64; }
int ty_bits(mlc_type t);                 /* 1 for bool, 64 for index */
mlc_type ty_from_name(const char *name); /* MLC_VOID when it is none */
mlc_type ty_int(bool is_signed, int bits);
int64_t ty_min(mlc_type t);  /* least value of an integer type, index or bool */
uint64_t ty_max(mlc_type t); /* greatest, as unsigned */

/* ---- operators ---- */

typedef enum {
#define OP(name, text, arity, class, rule, prec) OP_##name,
#include "ops.def"
#undef OP
    OP_COUNT
} Op;

typedef enum { CLASS_LEAF, CLASS_PRIM, CLASS_DERIVED, CLASS_CANON } OpClass;
typedef enum {
    RULE_OWN, RULE_NUM, RULE_ANY, RULE_INT, RULE_BITS, RULE_FLT, RULE_SHIFT, RULE_CMP, RULE_LOGIC,
    RULE_SEL, RULE_ISF, RULE_CAST, RULE_SAME, RULE_WIDE, RULE_WIDER, RULE_UNS
} OpRule;

typedef struct {
    const char *name, *text;
    int arity;
    OpClass cls;
    OpRule rule;
    int prec;
} OpInfo;
extern const OpInfo ir_ops[OP_COUNT];

/* ---- symbols: what an OP_VAR node names ---- */

typedef enum {
    SYM_VAR,    /* a Var of the algorithm, interned by name */
    SYM_RVAR,   /* dimension `dim` of an RDom */
    SYM_PARAM,  /* a scalar argument of the program */
    SYM_LOOP,   /* a loop variable made by lowering */
    SYM_LET,    /* bound by a let statement */
    SYM_MIN, SYM_EXTENT, SYM_STRIDE, /* dimension `dim` of the buffer bound to `func` */
} SymKind;

struct Func;
struct RDom;
typedef struct Sym {
    const char *name;
    SymKind kind;
    mlc_type type;     /* MLC_INDEX but for params (and lets of data) */
    int dim;
    struct RDom *rdom; /* SYM_RVAR */
    struct Func *func; /* SYM_MIN .. SYM_STRIDE, and SYM_LOOP: whose loop */
    mlc_loc loc;
    /* SYM_PARAM: declared range (has_range), also checked at each call */
    bool has_range;
    double lo, hi;        /* float params */
    int64_t ilo, ihi;     /* integer and index params */
    int slot;             /* SYM_PARAM: position among the params of its context */
    int64_t align;        /* SYM_STRIDE.. of a buffer: known multiple, 0 none */
} Sym;

typedef struct Extern { /* a C function: callable from expressions, or of extern stages */
    const char *name;
    void (*fn)(void);
    bool is_stage;     /* fn is a mlc_stage_fn, and the rest is not used */
    mlc_type result;
    int n;
    mlc_type arg[8];
} Extern;

struct Storage; /* lower/loops.h */

/* ---- nodes ---- */

typedef struct mlc_node Node;
struct mlc_node {
    uint8_t op;    /* Op */
    uint8_t type;  /* mlc_type */
    uint16_t n;    /* operands */
    int32_t aux;   /* ACCESS, LOAD, STAGE: tuple element; PRINT, RANDOM: id; QUERY: which number */
    uint32_t id;   /* dense, unique along an Interner chain */
    uint32_t hash;
    union {
        int64_t i;   /* CONST of bool, integer, index: the value, sign- or zero-extended (u64: its bits) */
        double f;    /* CONST of a float: the value, exact (already rounded to the type) */
        uint64_t bits;
        const Sym *sym;
        struct Func *func;
        struct Storage *storage;
        const Extern *ext;
        const char *text; /* interned */
    } u;
    const Node *kid[];
};

/* An Interner makes nodes.  `parent` (may be NULL) is frozen while children exist: lookups go there
 * first, so two compiles may share one context.  Errors go to `fault`. */
typedef struct Interner Interner;
struct Interner {
    Arena *arena;
    Fault *fault;
    const Interner *parent;
    Node **table;
    uint32_t n, cap, first_id;
    StrMap texts;
    bool effects;  /* a PRINT or REQUIRE was made here: what drops operands must look for them */
    PtrMap bodies; /* derive.c: parsed rows of derived.def, by operator and types */
    void *rules;   /* the simplifier's parsed rows of rules.def */
};
void ir_interner_init(Interner *I, Arena *arena, const Interner *parent);
static inline uint32_t ir_next_id(const Interner *I) { return I->first_id + I->n; }
const char *ir_text(Interner *I, const char *s); /* interned string */

/* The raw constructor: no typing, no folding.  `bits` is the union's payload. */
const Node *ir_node(Interner *I, Op op, mlc_type type, uint64_t bits, int32_t aux, int n, const Node *const *kids);

/* Leaves. */
const Node *ir_int(Interner *I, mlc_type type, int64_t v);  /* wraps v to the type */
const Node *ir_flt(Interner *I, mlc_type type, double v);   /* rounds v to the type */
const Node *ir_idx(Interner *I, int64_t v);
const Node *ir_bool(Interner *I, bool v);
const Node *ir_var(Interner *I, const Sym *s);
const Node *ir_access(Interner *I, struct Func *f, mlc_type type, int elem, int n, const Node *const *coords);
bool ir_is_const(const Node *e);             /* a CONST of any type */
bool ir_is_int(const Node *e, int64_t *v);   /* a CONST of integer, index or bool */
bool ir_is(const Node *e, int64_t v);        /* ... equal to v */

/* Builders for canonical nodes whose operands already have the right types.  They fold constants and
 * the identities that hold in every algebra (x + 0 on integers, x * 1, select of a constant ...). */
const Node *ir_make1(Interner *I, Op op, const Node *a);
const Node *ir_make2(Interner *I, Op op, const Node *a, const Node *b);
const Node *ir_make3(Interner *I, Op op, const Node *a, const Node *b, const Node *c);
const Node *ir_cast(Interner *I, mlc_type t, const Node *a); /* nothing to do where the type is the same */
static inline const Node *ir_add(Interner *I, const Node *a, const Node *b) { return ir_make2(I, OP_ADD, a, b); }
static inline const Node *ir_sub(Interner *I, const Node *a, const Node *b) { return ir_make2(I, OP_SUB, a, b); }
static inline const Node *ir_mul(Interner *I, const Node *a, const Node *b) { return ir_make2(I, OP_MUL, a, b); }
static inline const Node *ir_min(Interner *I, const Node *a, const Node *b) { return ir_make2(I, OP_MIN, a, b); }
static inline const Node *ir_max(Interner *I, const Node *a, const Node *b) { return ir_make2(I, OP_MAX, a, b); }
/* The same node with other operands, through the builders above. */
const Node *ir_with_kids(Interner *I, const Node *e, const Node *const *kids);

/* ---- walking: memoised by node, iterative in depth ---- */

/* Rewrites bottom-up: `post` receives a node whose operands are already rewritten and returns its
 * replacement (usually itself).  Each distinct node is visited once. */
typedef const Node *(*ir_rewrite_fn)(void *user, Interner *I, const Node *e);
const Node *ir_rewrite(Interner *I, const Node *e, ir_rewrite_fn post, void *user);
/* The same where post is for leaves: a node that folds to a variable once its operands changed is not asked again,
 * for x + 1 with x - 1 in place of x is x. */
const Node *ir_rewrite_leaves(Interner *I, const Node *e, ir_rewrite_fn post, void *user);
/* Replaces OP_VAR nodes: map is Sym -> Node. */
const Node *ir_substitute(Interner *I, const Node *e, const PtrMap *sym_to_node);
/* Calls `visit` once for each distinct node reachable from e, operands first. */
typedef void (*ir_visit_fn)(void *user, const Node *e);
void ir_visit(Arena *scratch, const Node *e, ir_visit_fn visit, void *user);
bool ir_uses(Arena *scratch, const Node *e, const Sym *s);
/* Does e hold a print or a require, so that it may not be dropped?  Costs nothing where none was made. */
bool ir_has_effect(Interner *I, const Node *e);

/* ---- values: the scalar meaning of every PRIM operator (value.c), shared by folding and the
 *      interpreters; compiled code is checked against it ---- */

typedef union {
    int64_t i; /* bool, integers, index: sign- or zero-extended; u64 as bits */
    double f;  /* f16, bf16, f32, f64: exact value */
} Value;

Value val_wrap(mlc_type t, int64_t v);          /* an integer into t */
Value val_round(mlc_type t, double v);          /* a double into float type t, one rounding */
Value val_cast(mlc_type to, mlc_type from, Value v);
Value val_reinterpret(mlc_type to, mlc_type from, Value v);
/* op on operands of type t (`t` is the operands' type; comparisons return bool in .i; SHL/SHR: the
 * second operand's type is t2, else ignored). */
Value val_op(Op op, mlc_type t, mlc_type t2, const Value *a);
Value val_load(mlc_type t, const void *p);      /* one element from memory */
void val_store(mlc_type t, void *p, Value v);
bool val_equal(mlc_type t, Value a, Value b);   /* equal bits; any NaN equals any NaN */
const Node *ir_const(Interner *I, mlc_type t, Value v);
Value ir_value(const Node *e);                  /* of a CONST */

/* ---- typed construction: the language's own rules (infer.c) ---- */

/* Makes the as-written node of `op`, unifying operand types by the op's rule: a CONST that came from
 * a literal (flagged by the caller in `literal`, a bit an operand) takes the other side's type.
 * A violation returns a POISON node that carries the message (and notes it in I->fault). */
const Node *ir_typed(Interner *I, Op op, const Place *place, int n, const Node *const *kids, uint32_t literal);
const Node *ir_typed_cast(Interner *I, Op op, mlc_type to, const Place *place, const Node *a, bool literal);
const Node *ir_poison(Interner *I, ErrCode code, const Place *place, ...);
/* The same poison with the place of a statement put in front of its message. */
const Node *ir_poison_at(Interner *I, const Node *poison, const Place *place);
/* Leaves with a poison's message. */
_Noreturn void ir_raise_poison(Fault *f, const Node *poison);
/* The type that operands of types a and b unify to, MLC_VOID: none. */
mlc_type ir_common_type(mlc_type a, mlc_type b);
/* Unifies n operands in place, as an n-ary `op` does, and returns their type; MLC_VOID: kids[0] is the poison. */
mlc_type ir_typed_unify(Interner *I, Op op, const Place *place, int n, const Node **kids, uint32_t literal);
/* A Func's name, which it begins with: this floor knows no more of it. */
const char *ir_func_name(const struct Func *f);
/* Brings `e` to `want` as a right-hand side, coordinate or argument does; poison if it may not. */
const Node *ir_coerce(Interner *I, const Node *e, bool literal, mlc_type want, const Place *place);

/* ---- derived operators (derive.c over derived.def) ---- */

/* The body of derived operator `op` on canonical operands, itself canonical.  `type` is the type the
 * user's operands had: f16 and bf16 rows exist, whose operands and result are f32 here. */
const Node *ir_derive(Interner *I, const Node *e, mlc_type type, const Node *const *kids);

/* ---- text (print.c, parse.c) ---- */

void ir_print(StrBuf *out, const Node *e);  /* one expression, as text that parses back */
void ir_print_number(StrBuf *out, mlc_type t, Value v); /* its digits, without its type */
void ir_print_string(StrBuf *out, const char *s); /* in quotes, escaped */
const char *ir_show(Interner *I, const Node *e); /* the same, in the arena: for messages and gdb */

#endif
