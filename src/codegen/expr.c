/* expr.c - scalar expressions as C.
 *
 * Signed arithmetic wraps because the unit is compiled with -fwrapv; where the user compiles it
 * (CgOptions.emit), and on a GPU, it goes through unsigned types.  Index arithmetic is plain: it may not overflow. */
#include "cg.h"

#include <string.h>

enum {
    LONGEST = 72,     /* a text longer than this gets a name */
    MOST_PIECES = 512 /* an array in more of them stays one */
};

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

/* ---- walking ---- */

typedef struct {
    const Node *e;
    int next;
} Frame;

void walk(const Walk *w, const Node *root) {
    VEC(Frame) s = { 0 };
    if (!pm_has(w->done, root)) VEC_PUSH(w->arena, &s, ((Frame){ root, 0 }));
    while (s.n) {
        Frame *f = &s.at[s.n - 1];
        if (f->next == 0 && (pm_has(w->done, f->e) || (w->leaf && w->leaf(w->user, f->e)))) f->next = f->e->n;
        if (f->next < f->e->n) {
            const Node *kid = f->e->kid[f->next++];
            if (!pm_has(w->done, kid)) VEC_PUSH(w->arena, &s, ((Frame){ kid, 0 }));
            continue;
        }
        const Node *e = f->e;
        s.n--;
        if (!pm_has(w->done, e)) w->visit(w->user, e);
    }
}

/* ---- bounds ---- */

bool const_bounds(Gen *G, const Node *e, int64_t *lo, int64_t *hi) {
    if (ir_is_int(e, lo)) { /* constants are most of them */
        *hi = *lo;
        return true;
    }
    return sim_const_bounds(G->ir, G->facts, e, lo, hi);
}

static bool not_negative(Gen *G, const Node *e) {
    int64_t lo, hi;
    return ty_is_unsigned(type_of(e)) || (const_bounds(G, e, &lo, &hi) && lo >= 0);
}

/* ---- one operator ---- */

Text infix(Gen *G, Text a, const char *sign, Text b, int prec) {
    /* Bit operators, shifts and comparisons are bracketed inside each other, as compilers ask. */
    int left = prec, right = prec + 1;
    if (prec >= P_BOR && prec <= P_SHIFT) left = right = P_UNARY;
    if (prec == P_CMP || prec == P_EQ) left = right = P_ADD;
    if (prec == P_OR) left = right = P_EQ;
    if (prec == P_AND) left = prec, right = P_EQ;
    return at_prec(fmt(G, "%s %s %s", wrap(G, a, left), sign, wrap(G, b, right)), prec);
}

static Text call2(Gen *G, const char *f, const Text *k, int n) {
    if (n == 1) return atom(fmt(G, "%s(%s)", f, k[0].s));
    if (n == 2) return atom(fmt(G, "%s(%s, %s)", f, k[0].s, k[1].s));
    return atom(fmt(G, "%s(%s, %s, %s)", f, k[0].s, k[1].s, k[2].s));
}

static Text c_cast(Gen *G, const char *t, Text a) {
    return at_prec(fmt(G, "(%s)%s", t, wrap(G, a, P_UNARY)), P_UNARY);
}

static const char *unsigned_c(mlc_type t) {
    return ty_c(ty_int(false, ty_bits(t)));
}

static Text as_unsigned(Gen *G, mlc_type t, Text a) {
    return a.wide ? at_prec(a.wide, a.wide_prec) : c_cast(G, unsigned_c(t), a);
}

/* + - * : wraps in t. */
static Text arithmetic(Gen *G, mlc_type t, Text a, const char *sign, Text b, int prec) {
    bool small = ty_bits(t) < 32, index = t == MLC_INDEX;
    if (index || ty_is_float(t) || t == MLC_U32 || t == MLC_U64) return infix(G, a, sign, b, prec);
    if (small && t == MLC_U16 && prec == P_MUL) a = c_cast(G, "u32", a); /* int would overflow */
    if (small) return c_cast(G, ty_c(t), infix(G, a, sign, b, prec));
    if (!G->o->emit && !G->cuda) return infix(G, a, sign, b, prec);
    Text sum = infix(G, as_unsigned(G, t, a), sign, as_unsigned(G, t, b), prec), r = c_cast(G, ty_c(t), sum);
    r.wide = sum.s;
    r.wide_prec = sum.prec;
    return r;
}

static Text bits(Gen *G, mlc_type t, Text a, const char *sign, Text b, int prec) {
    (void)t; /* operands fit t, and so does the result, also as an int */
    return infix(G, a, sign, b, prec);
}

static Text shift(Gen *G, const Node *e, const Text *k) {
    mlc_type t = type_of(e);
    int64_t lo, hi;
    bool inside = const_bounds(G, e->kid[1], &lo, &hi) && lo >= 0 && hi < ty_bits(t);
    if (!inside) return call2(G, helper(G, e->op == OP_SHL ? "shl" : "shr", t, 1), k, 2);
    if (e->op == OP_SHR) return infix(G, k[0], ">>", k[1], P_SHIFT);
    if (ty_is_unsigned(t) && ty_bits(t) >= 32) return infix(G, k[0], "<<", k[1], P_SHIFT);
    const char *u = ty_bits(t) < 32 ? "u32" : unsigned_c(t);
    return c_cast(G, ty_c(t), infix(G, c_cast(G, u, k[0]), "<<", k[1], P_SHIFT));
}

static Text divide(Gen *G, const Node *e, const Text *k) {
    mlc_type t = type_of(e);
    bool quotient = e->op == OP_DIV;
    if (ty_is_float(t)) return quotient ? infix(G, k[0], "/", k[1], P_MUL) : call2(G, helper(G, "mod", t, 1), k, 2);
    int64_t c;
    bool positive = ir_is_int(e->kid[1], &c) && (c > 0 || (t == MLC_U64 && c != 0));
    if (positive && not_negative(G, e->kid[0])) return infix(G, k[0], quotient ? "/" : "%", k[1], P_MUL);
    return call2(G, helper(G, quotient ? "div" : "mod", t, 1), k, 2);
}

static Text convert(Gen *G, const Node *e, Text a) {
    mlc_type to = type_of(e), from = type_of(e->kid[0]);
    bool by_helper = ty_is_half(to) || ty_is_half(from) || (ty_is_float(from) && !ty_is_float(to));
    if (!by_helper) return c_cast(G, ty_c(to), a);
    return atom(fmt(G, "%s(%s)", helper_convert(G, to, from, 1), a.s));
}

static Text reinterpret(Gen *G, const Node *e, Text a) {
    mlc_type to = type_of(e), from = type_of(e->kid[0]);
    bool floats = to == MLC_F32 || to == MLC_F64, from_floats = from == MLC_F32 || from == MLC_F64;
    if (to == MLC_BOOL) return at_prec(fmt(G, "%s != 0", wrap(G, a, P_ADD)), P_EQ);
    if (floats == from_floats) return to == from ? a : c_cast(G, ty_c(to), a);
    if (from_floats) return c_cast(G, ty_c(to), call2(G, helper(G, "bits", from, 1), &a, 1));
    a = c_cast(G, unsigned_c(to), a);
    return call2(G, helper(G, "from_bits", to, 1), &a, 1);
}

/* One instruction where a side is a constant but 0 or NaN: `c < x ? c : x` keeps a NaN x. */
static Text extreme(Gen *G, const Node *e, const Text *k) {
    mlc_type t = type_of(e);
    const Node *b = e->kid[1];
    bool simple = ty_is_float(t) && ir_is_const(b) && b->u.f == b->u.f && b->u.f != 0;
    if (simple) {
        const char *c = wrap(G, k[1], P_ADD), *x = wrap(G, k[0], P_ADD);
        return at_prec(fmt(G, "%s %s %s ? %s : %s", c, e->op == OP_MIN ? "<" : ">", x, c, x), P_COND);
    }
    return call2(G, helper(G, e->op == OP_MIN ? "min" : "max", t, 1), k, 2);
}

/* gcc makes 0.0 - (f32)i of one C expression -(f32)i, whose zero has the other sign. */
static Text subtract(Gen *G, const Node *e, const Text *k) {
    mlc_type t = type_of(e);
    const Node *from = e->kid[0];
    if (ty_is_float(t) && ir_is_const(from) && from->u.f == 0) return call2(G, helper(G, "sub", t, 1), k, 2);
    return arithmetic(G, t, k[0], "-", k[1], P_ADD);
}

static Text negate(Gen *G, mlc_type t, Text a) {
    Text zero = atom("0");
    if (ty_is_float(t)) return at_prec(fmt(G, "-%s", wrap(G, a, P_ATOM)), P_UNARY);
    return arithmetic(G, t, zero, "-", a, P_ADD);
}

static Text select_text(Gen *G, const Text *k) {
    const char *c = wrap(G, k[0], P_OR), *a = wrap(G, k[1], P_OR), *b = wrap(G, k[2], P_COND);
    return at_prec(fmt(G, "%s ? %s : %s", c, a, b), P_COND);
}

/* A signed sum or product whose bounds lie inside of its type: the bounds of one that may wrap are the type's. */
static bool never_wraps(Gen *G, const Node *e) {
    mlc_type t = type_of(e);
    int64_t lo, hi;
    if ((t != MLC_I32 && t != MLC_I64) || (!G->o->emit && !G->cuda)) return false;
    return const_bounds(G, e, &lo, &hi) && lo > ty_min(t) && hi < (int64_t)ty_max(t);
}

Text scalar_op(Gen *G, const Node *e, const Text *k) {
    mlc_type t = type_of(e), of = e->n ? type_of(e->kid[0]) : t;
    if ((e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL) && never_wraps(G, e))
        return infix(G, k[0], e->op == OP_ADD ? "+" : e->op == OP_SUB ? "-" : "*", k[1], e->op == OP_MUL ? P_MUL : P_ADD);
    switch ((Op)e->op) {
    case OP_ADD: return arithmetic(G, t, k[0], "+", k[1], P_ADD);
    case OP_SUB: return subtract(G, e, k);
    case OP_MUL: return arithmetic(G, t, k[0], "*", k[1], P_MUL);
    case OP_DIV: case OP_MOD: return divide(G, e, k);
    case OP_NEG: return negate(G, t, k[0]);
    case OP_MIN: case OP_MAX: return extreme(G, e, k);
    case OP_ABS: return ty_is_unsigned(t) || t == MLC_BOOL ? k[0] : call2(G, helper(G, "abs", t, 1), k, 1);
    case OP_AND: return bits(G, t, k[0], "&", k[1], P_BAND);
    case OP_OR: return bits(G, t, k[0], "|", k[1], P_BOR);
    case OP_XOR: return bits(G, t, k[0], "^", k[1], P_XOR);
    case OP_NOT:
        if (t == MLC_BOOL) return at_prec(fmt(G, "!%s", wrap(G, k[0], P_ATOM)), P_UNARY);
        return c_cast(G, ty_c(t), at_prec(fmt(G, "~%s", wrap(G, k[0], P_ATOM)), P_UNARY));
    case OP_LNOT: return at_prec(fmt(G, "!%s", wrap(G, k[0], P_ATOM)), P_UNARY);
    case OP_SHL: case OP_SHR: return shift(G, e, k);
    case OP_EQ: return infix(G, k[0], "==", k[1], P_EQ);
    case OP_NE: return infix(G, k[0], "!=", k[1], P_EQ);
    case OP_LT: return infix(G, k[0], "<", k[1], P_CMP);
    case OP_LE: return infix(G, k[0], "<=", k[1], P_CMP);
    case OP_GT: return infix(G, k[0], ">", k[1], P_CMP);
    case OP_GE: return infix(G, k[0], ">=", k[1], P_CMP);
    case OP_LAND: return infix(G, k[0], "&&", k[1], P_AND);
    case OP_LOR: return infix(G, k[0], "||", k[1], P_OR);
    case OP_SELECT: return select_text(G, k);
    case OP_CAST: return convert(G, e, k[0]);
    case OP_REINTERPRET: return reinterpret(G, e, k[0]);
    case OP_FMA: return call2(G, helper(G, "fma", of, 1), k, 3);
    case OP_POPCOUNT: return call2(G, helper(G, "popcount", of, 1), k, 1);
    case OP_CLZ: return call2(G, helper(G, "clz", of, 1), k, 1);
    case OP_CTZ: return call2(G, helper(G, "ctz", of, 1), k, 1);
    case OP_SQRT: return call2(G, helper(G, "sqrt", of, 1), k, 1);
    case OP_FLOOR: return call2(G, helper(G, "floor", of, 1), k, 1);
    case OP_CEIL: return call2(G, helper(G, "ceil", of, 1), k, 1);
    case OP_TRUNC: return call2(G, helper(G, "trunc", of, 1), k, 1);
    case OP_ROUND: return call2(G, helper(G, "round", of, 1), k, 1);
    default: BUG(G->arena->fault, fmt(G, "no C for the operator %s", ir_ops[e->op].name));
    }
}

/* ---- leaves ---- */

static int slot_of(Gen *G, const Func *f) {
    for (int i = 0; i < G->p->external.n; i++)
        if (G->p->external.at[i]->func == f) return G->p->external.at[i]->slot;
    BUG(G->arena->fault, "a buffer field of a Func that is not external");
}

/* Params and buffer fields are read once, at the top of the kernel. */
static Text variable(Gen *G, const Sym *s) {
    if (s->kind >= SYM_MIN) slot_of(G, s->func);
    return atom(in_scope(G, s));
}

static const char *index_text(Gen *G, const Node *index) {
    StrBuf text;
    sb_init(&text, G->arena);
    ir_print(&text, index);
    return text.at;
}

static const char *piece_of(Gen *G, Promoted *p, const char *name, const Node *index, int lanes) {
    int64_t at = 0;
    bool known = ir_is_int(index, &at) && p->fn == G->fn && p->piece.n < MOST_PIECES;
    for (int i = 0; known && i < p->piece.n; i++)
        if (p->piece.at[i].at == at && p->piece.at[i].lanes == lanes) return p->piece.at[i].name;
    if (!ir_is_int(index, &at)) p->fails = fmt(G, "its index %s is no constant", index_text(G, index));
    else if (p->fn != G->fn) p->fails = "a parallel loop shares it";
    else if (!known) p->fails = fmt(G, "it has more than %d pieces", MOST_PIECES);
    else VEC_PUSH(G->arena, &p->piece, ((Piece){ at, lanes, fresh(G, fmt(G, "%s_%lld", name, (long long)at)) }));
    return known ? p->piece.at[p->piece.n - 1].name : name;
}

const char *mem_ref(Gen *G, Env *v, const Storage *s, int elem, const Node *index, int lanes) {
    const void *key = &s->type[elem];
    Promoted *p = pm_get(&G->promoted, key);
    const char *name = in_scope(G, key);
    if (p && !p->fails) {
        const char *piece = piece_of(G, p, name, index, lanes);
        if (!G->dry) return piece;
    }
    const char *at = fmt(G, "%s[%s]", name, index_expr(G, v, index));
    if (lanes == 1) return at;
    const char *type = vector_memory(G, ty_c(s->type[elem]), lanes);
    return fmt(G, "*(%s%s *)&%s", s->is_input ? "const " : "", type, at);
}

/* Where masked and gathered accesses begin, which may lie past the end where no lane is active: a sum, since
 * C gives an array's elements no address there.  What has an address stays an array. */
const char *mem_address(Gen *G, Env *v, const Storage *s, int elem, const Node *index) {
    Promoted *p = pm_get(&G->promoted, &s->type[elem]);
    if (p && !p->fails) p->fails = "a mask or a gather needs its address";
    return fmt(G, "%s + (%s)", in_scope(G, &s->type[elem]), index_expr(G, v, index));
}

static Text extern_call(Gen *G, const Node *e, const Text *k) {
    if (G->cuda) refuse_on_gpu(G, fmt(G, "a call of the C function %s", e->u.ext->name));
    StrBuf args;
    sb_init(&args, G->arena);
    for (int i = 0; i < e->n; i++) sb_printf(&args, "%s%s", i ? ", " : "", k[i].s);
    return atom(fmt(G, "%s%s)", extern_text(G, e->u.ext), e->n ? args.at : ""));
}

/* ---- effects ---- */

static Text require(Gen *G, const Node *e, const Text *k) {
    if (G->cuda) refuse_on_gpu(G, "a require");
    static const char *const none[4] = { "0", "0", "0", "0" };
    int number = add_check(G, ERR_REQUIRE_FAILED, e->u.text, "");
    open_brace(G, "if (!%s)", wrap(G, k[0], P_ATOM));
    fail_line(G, fail_text(G, ERR_REQUIRE_FAILED, number, none));
    close_brace(G);
    return k[1];
}

static Text print_values(Gen *G, const Node *e, const Text *k) {
    if (G->cuda) refuse_on_gpu(G, "a print");
    print_line(G, e, k);
    return k[0];
}

/* ---- whole expressions ---- */

void env_init(Gen *G, Env *v, const Env *up) {
    pm_init(&v->text, G->arena);
    pm_init(&v->uses, G->arena);
    v->up = up;
}

static const Text *find_text(const Env *v, const Node *e) {
    for (; v; v = v->up) {
        const Text *t = pm_get(&v->text, e);
        if (t) return t;
    }
    return NULL;
}

typedef struct {
    Gen *G;
    Env *v;
} Writer;

static void count_uses(void *user, const Node *e) {
    Writer *w = user;
    PtrMap *uses = &w->v->uses;
    for (int i = 0; i < e->n; i++)
        pm_put(uses, e->kid[i], (void *)((intptr_t)pm_get(uses, e->kid[i]) + 1));
    if (!pm_has(uses, e)) pm_put(uses, e, NULL);
}

static bool is_known(void *user, const Node *e) {
    Writer *w = user;
    return find_text(w->v, e) != NULL;
}

static Text text_of(Writer *w, const Node *e, const Text *k) {
    switch ((Op)e->op) {
    case OP_CONST: return constant_text(w->G, e);
    case OP_VAR: return variable(w->G, e->u.sym);
    case OP_LOAD: return atom(mem_ref(w->G, w->v, e->u.storage, e->aux, e->kid[0], 1));
    case OP_EXTERN: return extern_call(w->G, e, k);
    case OP_QUERY: return whole_text(w->G, e, k);
    case OP_REQUIRE: return require(w->G, e, k);
    case OP_PRINT: return print_values(w->G, e, k);
    case OP_UNDEF: return atom("0"); /* any value will do */
    default: return scalar_op(w->G, e, k);
    }
}

static void write_node(void *user, const Node *e) {
    Writer *w = user;
    Gen *G = w->G;
    if (find_text(w->v, e)) return;
    Text small[8], *k = e->n > 8 ? ARENA_ARRAY(G->arena, Text, e->n) : small;
    for (int i = 0; i < e->n; i++) k[i] = *find_text(w->v, e->kid[i]);
    Text t = text_of(w, e, k);
    bool trivial = e->op == OP_CONST || e->op == OP_VAR || e->op == OP_REQUIRE || e->op == OP_PRINT;
    bool shared = (intptr_t)pm_get(&w->v->uses, e) > 1;
    if (!trivial && (shared || strlen(t.s) > LONGEST)) {
        const char *name = fresh(G, fmt(G, "t%d", ++G->temps));
        line(G, "const %s %s = %s;", ty_c(type_of(e)), name, t.s);
        t = atom(name);
    }
    pm_put(&w->v->text, e, arena_copy(G->arena, &t, sizeof t));
}

/* Counts the uses below e.  The root of a statement counts once more for each time it is asked for. */
static void count(Gen *G, Env *v, const Node *e) {
    Writer w = { G, v };
    if (pm_has(&v->uses, e)) {
        pm_put(&v->uses, e, (void *)((intptr_t)pm_get(&v->uses, e) + 1));
        return;
    }
    ir_visit(G->arena, e, count_uses, &w);
}

void count_uses_below(Gen *G, PtrMap *uses, const Node *e) {
    Env v = { .uses = *uses };
    Writer w = { G, &v };
    ir_visit(G->arena, e, count_uses, &w);
    *uses = v.uses;
}

Text expr(Gen *G, Env *v, const Node *e) {
    const Text *known = find_text(v, e);
    if (known) return *known;
    count(G, v, e);
    Writer w = { G, v };
    Walk writing = { G->arena, &v->text, write_node, is_known, &w };
    walk(&writing, e);
    return *find_text(v, e);
}

const char *value(Gen *G, Env *v, const Node *e) {
    return expr(G, v, legal(G, e)).s;
}

const char *index_expr(Gen *G, Env *v, const Node *e) {
    return value(G, v, e);
}
