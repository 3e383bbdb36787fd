/* derive.c - derived operators: each is replaced by the expression that is its meaning.
 *
 * Most bodies are rows of text (derived.def).  A row is parsed once per operand types, over placeholder
 * variables, made canonical, and kept in the Interner; a use substitutes its operands.  A few
 * operators depend on constants or on the number of operands and are built by code below. */
#include "parse.h"

#include <string.h>

/* ---- rows ---- */

typedef enum {
    IN_ANY, IN_INT, IN_SINT, IN_UINT, IN_U64, IN_I64, IN_FLT, IN_HALF, IN_F32, IN_F64
} TypeClass;

typedef struct {
    Op op;
    TypeClass in;
    const char *body;
} Row;

static const Row rows[] = {
#define DERIVED(op, in, body) { OP_##op, IN_##in, body },
#include "derived.def"
#undef DERIVED
};

static bool class_holds(TypeClass c, mlc_type t) {
    switch (c) {
    case IN_ANY: return true;
    case IN_INT: return ty_is_int(t) || t == MLC_INDEX;
    case IN_SINT: return ty_is_signed(t) || t == MLC_INDEX;
    case IN_UINT: return ty_is_unsigned(t);
    case IN_U64: return t == MLC_U64;
    case IN_I64: return t == MLC_I64;
    case IN_FLT: return ty_is_float(t);
    case IN_HALF: return ty_is_half(t);
    case IN_F32: return ty_is_half(t) || t == MLC_F32;
    case IN_F64: return t == MLC_F64;
    }
    return false;
}

static const Row *find_row(Op op, mlc_type t) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op && class_holds(rows[i].in, t)) return &rows[i];
    return NULL;
}

/* ---- bodies over placeholders ---- */

typedef struct {
    const Node *root;
    const Sym *param[3];
} Body;

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

/* Canonical from as-written, for what bodies hold: nothing fuses here.  Float operators nested in
 * the body of a half type's operator take their half rows too. */
static const Node *canonical_step(void *user, Interner *I, const Node *e) {
    mlc_type outer = *(const mlc_type *)user, t = e->n ? type_of(e->kid[0]) : MLC_VOID;
    if (e->op == OP_GT || e->op == OP_GE) return ir_make2(I, (Op)e->op, e->kid[0], e->kid[1]);
    if (e->op == OP_ROUNDED) return e->kid[0];
    if (ir_ops[e->op].cls == CLASS_DERIVED || (e->op == OP_MOD && ty_is_float(t)))
        return ir_derive(I, e, ty_is_half(outer) && t == MLC_F32 ? outer : t, e->kid);
    return e;
}

enum { MAX_NAMES = 8 };
typedef struct {
    int n;
    const char *name[MAX_NAMES];
    const Node *value[MAX_NAMES];
} Scope;

static void bring(Scope *s, const char *name, const Node *value) {
    s->name[s->n] = name;
    s->value[s->n++] = value;
}

static const Body *parse_row(Interner *I, const Row *row, mlc_type written, int n, const Node *const *kids) {
    static const char *const operand[3] = { "a", "b", "c" };
    mlc_type t = type_of(kids[0]);
    Body *body = ARENA_NEW(I->arena, Body);
    Scope s = { 0 };
    for (int i = 0; i < n; i++) {
        Sym *sym = ARENA_NEW(I->arena, Sym);
        *sym = (Sym){ .name = operand[i], .kind = SYM_LET, .type = type_of(kids[i]) };
        body->param[i] = sym;
        bring(&s, operand[i], ir_var(I, sym));
    }
    if (ty_is_float(t)) {
        bring(&s, "inf", ir_flt(I, t, (double)__builtin_inff()));
        bring(&s, "nan", ir_flt(I, t, (double)__builtin_nanf("")));
    } else if (t != MLC_BOOL) {
        bring(&s, "MIN", ir_int(I, t, ty_min(t)));
        bring(&s, "MAX", ir_int(I, t, (int64_t)ty_max(t)));
        bring(&s, "BITS", ir_int(I, t, ty_bits(t)));
    }
    const Node *text = ir_parse_body(I, row->body, s.n, s.value, s.name, t);
    body->root = ir_rewrite(I, text, canonical_step, &written);
    return body;
}

static const Node *from_row(Interner *I, const Row *row, mlc_type written, int n, const Node *const *kids) {
    uintptr_t key = 1 | (uintptr_t)row->op << 8 | (uintptr_t)written << 16;
    for (int i = 0; i < n; i++) key |= (uintptr_t)kids[i]->type << (24 + 8 * i);
    const Body *body = NULL;
    for (const Interner *p = I; p && !body; p = p->parent)
        if (p->bodies.arena) body = pm_get(&p->bodies, (const void *)key);
    if (!body) {
        body = parse_row(I, row, written, n, kids);
        if (!I->bodies.arena) pm_init(&I->bodies, I->arena);
        pm_put(&I->bodies, (const void *)key, (void *)(uintptr_t)body);
    }
    PtrMap map;
    pm_init(&map, I->arena);
    for (int i = 0; i < n; i++) pm_put(&map, body->param[i], (void *)(uintptr_t)kids[i]);
    return ir_substitute(I, body->root, &map);
}

/* ---- built by code ---- */

static const Node *make_select(Interner *I, const Node *c, const Node *t, const Node *f) {
    return ir_make3(I, OP_SELECT, c, t, f);
}

static const Node *clamp_to(Interner *I, const Node *a, const Node *lo, const Node *hi) {
    return ir_min(I, ir_max(I, a, lo), hi);
}

static const Node *mux(Interner *I, int n, const Node *const *kids) {
    const Node *r = kids[n - 1];
    for (int i = n - 2; i >= 1; i--) {
        const Node *at = ir_make2(I, OP_EQ, kids[0], ir_int(I, type_of(kids[0]), i - 1));
        r = make_select(I, at, kids[i], r);
    }
    return r;
}

/* a^n by squaring, low bit first: ((a * a^4) * a^8) ... in that order. */
static const Node *ipow(Interner *I, const Node *a, const Node *power) {
    int64_t n;
    CHECK(I->fault, ir_is_int(power, &n) && n >= 0);
    const Node *r = NULL;
    for (; n; n >>= 1) {
        if (n & 1) r = r ? ir_mul(I, r, a) : a;
        if (n > 1) a = ir_mul(I, a, a);
    }
    if (r) return r;
    return ty_is_float(type_of(a)) ? ir_flt(I, type_of(a), 1) : ir_int(I, type_of(a), 1);
}

/* The greatest finite value of a half or of f32. */
static double greatest(mlc_type t) {
    return t == MLC_F16 ? 65504 : t == MLC_BF16 ? 0x1.fep127 : (double)0x1.fffffep127f;
}

/* Integer to integer: a is clamped to the values of `to` that its own type holds. */
static const Node *saturate_int(Interner *I, mlc_type to, const Node *a) {
    mlc_type t = type_of(a);
    if (ty_min(t) < ty_min(to)) a = ir_max(I, a, ir_int(I, t, ty_min(to)));
    if (ty_max(t) > ty_max(to)) a = ir_min(I, a, ir_int(I, t, (int64_t)ty_max(to)));
    return ir_cast(I, to, a);
}

static const Node *saturate(Interner *I, mlc_type to, const Node *a) {
    mlc_type t = type_of(a);
    bool whole = ty_is_int(t) || t == MLC_INDEX;
    if (t == MLC_BOOL || to == MLC_BOOL || to == MLC_F64) return ir_cast(I, to, a);
    if (!ty_is_float(to)) return whole ? saturate_int(I, to, a) : ir_cast(I, to, a); /* casts of floats saturate */
    if (!whole) { /* to the greatest finite value, an infinity too */
        if (mlc_type_size(t) <= mlc_type_size(to) && t != MLC_BF16) return ir_cast(I, to, a);
        return ir_cast(I, to, clamp_to(I, a, ir_flt(I, t, -greatest(to)), ir_flt(I, t, greatest(to))));
    }
    if (to != MLC_F16 || ty_bits(t) < 16) return ir_cast(I, to, a);
    if (ty_max(t) > 65504) a = ir_min(I, a, ir_int(I, t, 65504));
    if (ty_min(t) < -65504) a = ir_max(I, a, ir_int(I, t, -65504));
    return ir_cast(I, to, a);
}

/* ---- lerp ---- */

/* Exact at both ends: c = 0 gives a, c = 1 gives b (where both are finite). */
static const Node *lerp_float(Interner *I, const Node *a, const Node *b, const Node *c) {
    const Node *rest = ir_make3(I, OP_FMA, ir_make1(I, OP_NEG, c), a, a);
    return ir_make3(I, OP_FMA, c, b, rest);
}

/* Integers, a float weight: in f32, or in f64 where values have more than 16 bits; rounded, saturated. */
static const Node *lerp_mixed(Interner *I, const Node *a, const Node *b, const Node *c) {
    mlc_type t = type_of(a), f = ty_bits(t) <= 16 && type_of(c) != MLC_F64 ? MLC_F32 : MLC_F64;
    const Node *r = lerp_float(I, ir_cast(I, f, a), ir_cast(I, f, b), ir_cast(I, f, c));
    return ir_cast(I, t, ir_make1(I, OP_ROUND, r));
}

/* Integers, a weight of w bits out of M = 2^w - 1: the nearest integer to (a (M - c) + b c) / M.  M is
 * odd, so there are no ties.  Signed values are biased to unsigned ones and back. */
static const Node *lerp_int(Interner *I, const Node *a, const Node *b, const Node *c) {
    mlc_type t = type_of(a);
    int bits = ty_bits(t), w = ty_bits(type_of(c)), wide = bits + w <= 16 ? 16 : bits + w <= 32 ? 32 : 64;
    if (bits + w > 64 || !ty_is_unsigned(type_of(c)))
        fault_raise(I->fault, ERR_LERP_WEIGHT, NULL, mlc_type_name(t), mlc_type_name(type_of(c)));
    mlc_type u = ty_int(false, bits), v = ty_int(false, wide);
    const Node *flip = ir_int(I, u, ty_is_signed(t) ? (int64_t)1 << (bits - 1) : 0);
    const Node *m = ir_int(I, v, (int64_t)((UINT64_C(1) << w) - 1)), *half = ir_int(I, v, (int64_t)1 << (w - 1));
    const Node *x = ir_cast(I, v, ir_make2(I, OP_XOR, ir_cast(I, u, a), flip));
    const Node *y = ir_cast(I, v, ir_make2(I, OP_XOR, ir_cast(I, u, b), flip)), *k = ir_cast(I, v, c), *r;
    const Node *sum = ir_add(I, ir_mul(I, x, ir_sub(I, m, k)), ir_mul(I, y, k));
    if (bits <= w) { /* sum <= M * M: dividing by 2^w - 1 takes one correction */
        const Node *by = ir_int(I, v, w), *s = ir_add(I, sum, half);
        r = ir_make2(I, OP_SHR, ir_add(I, s, ir_make2(I, OP_SHR, s, by)), by);
    } else {
        r = ir_make2(I, OP_DIV, ir_add(I, sum, ir_sub(I, half, ir_int(I, v, 1))), m);
    }
    return ir_cast(I, t, ir_make2(I, OP_XOR, ir_cast(I, u, r), flip));
}

static const Node *lerp(Interner *I, const Node *a, const Node *b, const Node *c) {
    if (ty_is_float(type_of(a))) return lerp_float(I, a, b, ir_cast(I, type_of(a), c));
    if (ty_is_float(type_of(c))) return lerp_mixed(I, a, b, c);
    return lerp_int(I, a, b, c);
}

/* ---- random: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, 2011) ---- */

static const Node *low_word(Interner *I, const Node *e) {
    return ir_cast(I, MLC_U32, e);
}

static const Node *high_word(Interner *I, const Node *e) {
    return low_word(I, ir_make2(I, OP_SHR, ir_cast(I, MLC_U64, e), ir_int(I, MLC_U64, 32)));
}

static const Node *xor3(Interner *I, const Node *a, const Node *b, const Node *c) {
    return ir_make2(I, OP_XOR, ir_make2(I, OP_XOR, a, b), c);
}

static void philox(Interner *I, const Node *c[4], const Node *const key[2]) {
    const Node *k[2] = { key[0], key[1] };
    for (int round = 0; round < 10; round++) {
        const Node *p = ir_mul(I, ir_cast(I, MLC_U64, c[0]), ir_int(I, MLC_U64, 0xd2511f53));
        const Node *q = ir_mul(I, ir_cast(I, MLC_U64, c[2]), ir_int(I, MLC_U64, 0xcd9e8d57));
        c[0] = xor3(I, high_word(I, q), c[1], k[0]);
        c[2] = xor3(I, high_word(I, p), c[3], k[1]);
        c[1] = low_word(I, q);
        c[3] = low_word(I, p);
        k[0] = ir_add(I, k[0], ir_int(I, MLC_U32, 0x9e3779b9));
        k[1] = ir_add(I, k[1], ir_int(I, MLC_U32, 0xbb67ae85));
    }
}

/* kids: seed, id, coordinates.  The key is the seed's low word and its high word ^ id.  The counter holds
 * up to two coordinates whole; more give their low words, four a block, blocks chained by xor.  The
 * result is the first word; as f32 its upper 24 bits, in [0, 1). */
static const Node *random_at(Interner *I, mlc_type result, int n, const Node *const *kids) {
    CHECK(I->fault, n >= 2 && n <= 10);
    const Node *none = ir_int(I, MLC_U32, 0), *c[4] = { none, none, none, none };
    const Node *key[2] = { low_word(I, kids[0]), ir_make2(I, OP_XOR, low_word(I, kids[1]), high_word(I, kids[0])) };
    if (n <= 4) {
        for (int i = 2; i < n; i++) {
            c[2 * (i - 2)] = low_word(I, kids[i]);
            c[2 * (i - 2) + 1] = high_word(I, kids[i]);
        }
        philox(I, c, key);
    } else {
        for (int i = 2; i < n; i++) {
            c[(i - 2) % 4] = ir_make2(I, OP_XOR, c[(i - 2) % 4], low_word(I, kids[i]));
            if ((i - 2) % 4 == 3 || i == n - 1) philox(I, c, key);
        }
    }
    if (result != MLC_F32) return ir_cast(I, result, c[0]);
    const Node *top = ir_cast(I, MLC_I32, ir_make2(I, OP_SHR, c[0], ir_int(I, MLC_U32, 8)));
    return ir_mul(I, ir_cast(I, MLC_F32, top), ir_flt(I, MLC_F32, 0x1p-24));
}

/* ---- mul_shr: brings the count to i64 where the values have 64 bits ---- */

static const Node *mul_shr(Interner *I, const Node *e, mlc_type type, const Node *const *kids) {
    const Node *k[3] = { kids[0], kids[1], kids[2] };
    if (type == MLC_INDEX) {
        type = MLC_I64;
        k[0] = ir_cast(I, type, k[0]);
        k[1] = ir_cast(I, type, k[1]);
    }
    if (ty_bits(type) == 64) {
        mlc_type c = type_of(k[2]);
        if (ty_bits(c) == 64) k[2] = ir_min(I, k[2], ir_int(I, c, 200));
        if (ty_bits(c) == 64 && c != MLC_U64) k[2] = ir_max(I, k[2], ir_int(I, c, -200));
        k[2] = ir_cast(I, MLC_I64, k[2]);
    }
    return ir_cast(I, type_of(e), from_row(I, find_row((Op)e->op, type), type, 3, k));
}

const Node *ir_derive(Interner *I, const Node *e, mlc_type type, const Node *const *kids) {
    int n = e->n;
    for (int i = 0; i < n; i++)
        if (kids[i]->op == OP_POISON) return kids[i];
    switch ((Op)e->op) {
    case OP_MUX: return mux(I, n, kids);
    case OP_IPOW: return ipow(I, kids[0], kids[1]);
    case OP_SATURATE: return saturate(I, type_of(e), kids[0]);
    case OP_LERP: return lerp(I, kids[0], kids[1], kids[2]);
    case OP_RANDOM: return random_at(I, type_of(e), n, kids);
    case OP_MUL_SHR: case OP_ROUNDING_MUL_SHR: return mul_shr(I, e, type, kids);
    default: break;
    }
    const Row *row = find_row((Op)e->op, type);
    CHECK(I->fault, row && n <= 3);
    const Node *r = from_row(I, row, type, n, kids);
    bool as_f32 = ty_is_half(type_of(e)); /* halves hold an f32 until a rounding node */
    return as_f32 || ty_is_float(type_of(r)) ? r : ir_cast(I, type_of(e), r);
}
