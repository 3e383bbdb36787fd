/* legal.c - brings expressions to the operators that C has or that helpers are written for.
 *
 *   casts to and from halves go through f32 or f64, which hold the source exactly
 *   a shift's count gets the signed type of the value's width, cut to [-64, 64]
 *   integer division and remainder by a power of two become a shift and a mask
 *   hints vanish */
#include "cg.h"

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

/* A cast that the builders may not merge with its operand. */
static const Node *raw_cast(Gen *G, mlc_type t, const Node *a) {
    return type_of(a) == t ? a : ir_node(G->ir, OP_CAST, t, 0, 0, 1, &a);
}

static const Node *raw2(Gen *G, Op op, mlc_type t, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_node(G->ir, op, t, 0, 0, 2, kids);
}

/* An exact stop on the way from `from` to a half: f32, f64, or none (64-bit integers go at once). */
static mlc_type stop_before_half(mlc_type from) {
    if (ty_is_float(from)) return ty_is_half(from) ? MLC_F32 : from;
    return ty_bits(from) <= 16 ? MLC_F32 : ty_bits(from) <= 32 ? MLC_F64 : from;
}

static const Node *cast(Gen *G, const Node *e) {
    mlc_type to = type_of(e), from = type_of(e->kid[0]);
    if (to == MLC_BOOL && from != MLC_BOOL) {
        const Node *a = ty_is_half(from) ? raw_cast(G, MLC_F32, e->kid[0]) : e->kid[0];
        const Node *zero = ty_is_float(from) ? ir_flt(G->ir, type_of(a), 0) : ir_int(G->ir, type_of(a), 0);
        return raw2(G, OP_NE, MLC_BOOL, a, zero);
    }
    if (ty_is_half(from)) return to == MLC_F32 ? e : cast(G, raw_cast(G, to, raw_cast(G, MLC_F32, e->kid[0])));
    if (!ty_is_half(to)) return e;
    return raw_cast(G, to, raw_cast(G, stop_before_half(from), e->kid[0]));
}

/* The count as a value of the signed type as wide as what is shifted. */
static const Node *count(Gen *G, mlc_type t, const Node *b) {
    mlc_type from = type_of(b), to = ty_int(true, ty_bits(t));
    Interner *I = G->ir;
    if (ir_is_const(b)) {
        bool huge = from == MLC_U64 && b->u.i < 0;
        int64_t c = huge || b->u.i > 64 ? 64 : b->u.i < -64 ? -64 : b->u.i;
        return ir_int(I, to, c);
    }
    bool is_signed = ty_is_signed(from) || from == MLC_INDEX;
    if (ty_bits(from) > ty_bits(to) || (!is_signed && ty_bits(from) == ty_bits(to))) {
        b = ir_make2(I, OP_MIN, b, ir_int(I, from, 64));
        if (is_signed) b = ir_make2(I, OP_MAX, b, ir_int(I, from, -64));
    }
    return raw_cast(G, to, b);
}

static const Node *shift(Gen *G, const Node *e) {
    const Node *b = count(G, type_of(e), e->kid[1]);
    Op op = (Op)e->op;
    if (ir_is_const(b) && b->u.i < 0) { /* the other way */
        op = op == OP_SHL ? OP_SHR : OP_SHL;
        b = ir_int(G->ir, type_of(b), -b->u.i);
    }
    int bits = ty_bits(type_of(e));
    if (ir_is_const(b) && b->u.i >= bits) {
        bool arithmetic = op == OP_SHR && (ty_is_signed(type_of(e)) || type_of(e) == MLC_INDEX);
        if (!arithmetic) return ir_int(G->ir, type_of(e), 0);
        b = ir_int(G->ir, type_of(b), bits - 1);
    }
    return raw2(G, op, type_of(e), e->kid[0], b);
}

static int log2_of(int64_t c) {
    int k = 0;
    while (k < 62 && (int64_t)1 << k < c) k++;
    return c > 0 && (int64_t)1 << k == c ? k : -1;
}

/* Euclid's quotient and remainder by 2^k are the arithmetic shift and the mask. */
static const Node *divide(Gen *G, const Node *e) {
    int64_t c;
    mlc_type t = type_of(e);
    if (ty_is_float(t) || !ir_is_int(e->kid[1], &c)) return e;
    int k = log2_of(c);
    if (k < 0) return e;
    if (e->op == OP_MOD) return raw2(G, OP_AND, t, e->kid[0], ir_int(G->ir, t, c - 1));
    return raw2(G, OP_SHR, t, e->kid[0], ir_int(G->ir, ty_int(true, ty_bits(t)), k));
}

static const Node *post(void *user, Interner *I, const Node *e) {
    Gen *G = user;
    (void)I;
    switch ((Op)e->op) {
    case OP_LIKELY: case OP_LIKELY_INNER: return e->kid[0];
    case OP_CAST: return cast(G, e);
    case OP_SHL: case OP_SHR: return shift(G, e);
    case OP_DIV: case OP_MOD: return divide(G, e);
    default: return e;
    }
}

const Node *legal(Gen *G, const Node *e) {
    return e->n ? ir_rewrite(G->ir, e, post, G) : e;
}
