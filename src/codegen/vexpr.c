/* vexpr.c - expressions on one slice of the lanes of a vector loop.
 *
 * A data value is a vector of its element type, of halves their bits.  A bool is a mask, -1 or 0 in signed
 * elements as wide as what was compared, converted where another width is wanted.  Indices are never
 * vectors: what consumes one (a load, a cast, a comparison) either sees how it grows from lane to lane or
 * visits the lanes one by one, taking the vectors it needs apart. */
#include "cg.h"

#include <string.h>

enum { LONGEST = 80 };

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

static const char *vt(Slice *s, mlc_type t) {
    return vector_type(s->G, ty_c(t), s->w);
}

static mlc_type mask_type(int bytes) {
    return ty_int(true, 8 * bytes);
}

static const char *mask_c(Slice *s, int bytes) {
    return vt(s, mask_type(bytes));
}

static Text call_text(Slice *s, const char *f, const Text *k, int n) {
    StrBuf b;
    sb_init(&b, s->G->arena);
    sb_printf(&b, "%s(", f);
    for (int i = 0; i < n; i++) sb_printf(&b, "%s%s", i ? ", " : "", k[i].s);
    sb_puts(&b, ")");
    return atom(b.at);
}

static Text vector_cast(Slice *s, const char *type, Text a) {
    return at_prec(fmt(s->G, "(%s)%s", type, wrap(s->G, a, P_UNARY)), P_UNARY);
}

static Text named(Slice *s, const char *type, Text t) {
    const char *name = fresh(s->G, fmt(s->G, "t%d", ++s->G->temps));
    line(s->G, "const %s %s = %s;", type, name, t.s);
    return atom(name);
}

/* ---- uniform values ---- */

static Text all_of(Slice *s, mlc_type t, Text scalar) {
    const char *v = vt(s, t), *f = fmt(s->G, "all_%s", v);
    Gen *G = s->G;
    if (!sm_get(&G->have, f)) {
        sm_put(&G->have, f, (void *)(uintptr_t)f);
        sm_put(&G->taken, f, (void *)(uintptr_t)f);
        sb_printf(&G->helpers, "INLINE %s %s(%s a) {\n    return (%s){ ", v, f, ty_c(t), v);
        for (int i = 0; i < s->w; i++) sb_printf(&G->helpers, "%sa", i ? ", " : "");
        sb_puts(&G->helpers, " };\n}\n");
    }
    return call_text(s, f, &scalar, 1);
}

/* A scalar in every lane; more than a name gets one, which the statement's other slices use too. */
static Text splat(Slice *s, const Node *e) {
    const Text *known = pm_get(s->splats, e);
    if (known) return *known;
    Text t = all_of(s, type_of(e), expr(s->G, s->env, e));
    if (!ir_is_const(e)) t = named(s, vt(s, type_of(e)), t);
    pm_put(s->splats, e, arena_copy(s->G->arena, &t, sizeof t));
    return t;
}

static Text uniform_mask(Slice *s, const Node *e, int bytes) {
    Text t = expr(s->G, s->env, e);
    Text minus = at_prec(fmt(s->G, "-(i64)%s", wrap(s->G, t, P_UNARY)), P_UNARY);
    return all_of(s, mask_type(bytes), minus);
}

/* ---- lane by lane ---- */

typedef struct {
    Slice *s;
    PtrMap now; /* Node -> its form in the lane loop */
    Env *env;
    const Node *lane;
    const char *i;
} LaneForm;

static bool is_data(Slice *s, const Node *e) {
    return e->type != MLC_INDEX && lanes_of(s->G, e).varies;
}

static bool lane_leaf(void *user, const Node *e) {
    LaneForm *f = user;
    return is_data(f->s, e);
}

/* No more than a name, or what binds as one. */
static bool is_name(Text t) {
    return t.prec == P_ATOM && !strchr(t.s, '(') && !strchr(t.s, '*');
}

/* A vector value becomes a variable of the lane loop, whose text takes the vector apart. */
static const Node *lane_value(LaneForm *f, const Node *e) {
    Slice *s = f->s;
    Gen *G = s->G;
    bool is_bool = e->type == MLC_BOOL;
    Text v = is_bool ? slice_mask(s, e, 1) : slice_value(s, e);
    const char *type = is_bool ? mask_c(s, 1) : vt(s, type_of(e));
    if (!is_name(v)) v = named(s, type, v);
    Sym *sym = ARENA_NEW(G->arena, Sym);
    *sym = (Sym){ .name = "lane", .kind = SYM_LET, .type = type_of(e) };
    const Node *var = ir_var(G->ir, sym);
    Text t = is_bool ? at_prec(fmt(G, "%s[%s] & 1", v.s, f->i), P_BAND) : atom(fmt(G, "%s[%s]", v.s, f->i));
    pm_put(&f->env->text, var, arena_copy(G->arena, &t, sizeof t));
    return var;
}

static void lane_visit(void *user, const Node *e) {
    LaneForm *f = user;
    Gen *G = f->s->G;
    const Node *now = e;
    if (!lanes_of(G, e).varies) now = e;
    else if (is_data(f->s, e)) now = lane_value(f, e);
    else if (e->op == OP_VAR) now = at_lane(G, e, f->lane);
    else {
        const Node **kids = ARENA_ARRAY(G->arena, const Node *, e->n);
        for (int i = 0; i < e->n; i++) kids[i] = pm_get(&f->now, e->kid[i]);
        now = ir_with_kids(G->ir, e, kids);
    }
    pm_put(&f->now, e, (void *)(uintptr_t)now);
}

/* Prepares to visit the lanes: everything below the operands of e that is a vector is computed. */
static void lane_form(LaneForm *f, Slice *s, Env *env) {
    Gen *G = s->G;
    *f = (LaneForm){ .s = s, .env = env };
    pm_init(&f->now, G->arena);
    env_init(G, env, s->env);
    Sym *sym = ARENA_NEW(G->arena, Sym);
    f->i = fresh(G, "lane");
    *sym = (Sym){ .name = f->i, .kind = SYM_LOOP, .type = MLC_INDEX };
    name_of(G, sym, f->i);
    const Node *var = ir_var(G->ir, sym);
    Text t = atom(f->i);
    pm_put(&env->text, var, arena_copy(G->arena, &t, sizeof t));
    f->lane = ir_add(G->ir, var, ir_idx(G->ir, s->o));
}

static const Node *in_lane(LaneForm *f, const Node *e) {
    Walk w = { f->s->G->arena, &f->now, lane_visit, lane_leaf, f };
    walk(&w, e);
    return legal(f->s->G, pm_get(&f->now, e));
}

/* The lanes that load, and those that store; NULL: all.  Arrays that hold no Func are loaded and stored whole.  Where
 * all lanes load, so do all store what lanes have for themselves: else they would load what is not there. */
static const Node *load_mask(const Slice *s, const Storage *t) {
    const Vec *v = s->G->vec;
    return !t->func || s->unmasked || v->masks == MASK_STORES ? NULL : v->mask;
}

static const Node *store_mask(const Slice *s, const Storage *t) {
    const Vec *v = s->G->vec;
    return !t->func || v->masks == MASK_LOADS || (t->lanes && v->masks == MASK_STORES) ? NULL : v->mask;
}

static Text mask_lane(Slice *s, LaneForm *f, const Node *m) {
    if (!m) return atom("");
    Text t = slice_mask(s, m, 1);
    if (!is_name(t)) t = named(s, mask_c(s, 1), t);
    return atom(fmt(s->G, "if (%s[%s]) ", t.s, f->i));
}

/* e, whose operands are indices, in each lane.  Of bool: a mask of so many bytes. */
static Text by_lanes(Slice *s, const Node *e, int mask_bytes) {
    Gen *G = s->G;
    LaneForm f;
    Env env;
    lane_form(&f, s, &env);
    const Node **kids = ARENA_ARRAY(G->arena, const Node *, e->n);
    for (int i = 0; i < e->n; i++) kids[i] = in_lane(&f, e->kid[i]);
    Text only = mask_lane(s, &f, e->op == OP_LOAD ? load_mask(s, e->u.storage) : NULL);
    const Node *one = legal(G, e->op == OP_LOAD ? ir_node(G->ir, OP_LOAD, type_of(e), e->u.bits, e->aux, 1, kids)
                                                : ir_with_kids(G->ir, e, kids));
    bool is_bool = e->type == MLC_BOOL;
    const char *type = is_bool ? mask_c(s, mask_bytes) : vt(s, type_of(e)), *name = fresh(G, fmt(G, "t%d", ++G->temps));
    line(G, "%s %s = { 0 };", type, name);
    open_brace(G, "for (int %s = 0; %s < %d; %s++)", f.i, f.i, s->w, f.i);
    if (*only.s) open_brace(G, "%s", only.s);
    Text t = expr(G, &env, one);
    line(G, is_bool ? "%s[%s] = -(%s);" : "%s[%s] = %s;", name, f.i, t.s);
    if (*only.s) close_brace(G);
    close_brace(G);
    return atom(name);
}

/* ---- loads ---- */

static const Node *index_at(Slice *s, const Node *index) {
    return legal(s->G, at_lane(s->G, index, ir_idx(s->G->ir, s->o)));
}

/* Stride k: k vectors that end just where the last lane lies, and shuffles of two at a time. */
static Text shuffled(Slice *s, const char *type, Text a, Text b, const int *pick) {
    StrBuf x;
    sb_init(&x, s->G->arena);
    sb_printf(&x, "__builtin_shufflevector(%s, %s", a.s, b.s);
    for (int i = 0; i < s->w; i++) sb_printf(&x, ", %d", pick[i]);
    sb_puts(&x, ")");
    return named(s, type, atom(x.at));
}

static Text load_from(Slice *s, const Node *e, int64_t plus) {
    Gen *G = s->G;
    const Node *at = ir_add(G->ir, index_at(s, e->kid[0]), ir_idx(G->ir, plus));
    return named(s, vt(s, type_of(e)), atom(mem_ref(G, s->env, e->u.storage, e->aux, at, s->w)));
}

static Text strided(Slice *s, const Node *e, int stride) {
    int w = s->w, pick[64], last = stride - 1, end = (w - 1) * stride + 1;
    Text sofar = load_from(s, e, 0);
    for (int k = 1; k < stride; k++) {
        int start = k == last ? end - w : k * w;
        Text next = load_from(s, e, start);
        for (int i = 0; i < w; i++) {
            int at = i * stride, owner = at / w < last ? at / w : last;
            pick[i] = owner == k ? w + at - start : owner > k ? 0 : k == 1 ? at : i;
        }
        sofar = shuffled(s, vt(s, type_of(e)), sofar, next, pick);
    }
    return sofar;
}

static Text reversed(Slice *s, const Node *e) {
    int pick[64];
    Text t = load_from(s, e, -(int64_t)(s->w - 1));
    for (int i = 0; i < s->w; i++) pick[i] = s->w - 1 - i;
    return shuffled(s, vt(s, type_of(e)), t, t, pick);
}

static Text masked_load(Slice *s, const Node *e) {
    Gen *G = s->G;
    mlc_type t = type_of(e) == MLC_BOOL ? MLC_U8 : ty_is_half(type_of(e)) ? MLC_U16 : type_of(e);
    Text k[2] = { atom(mem_address(G, s->env, e->u.storage, e->aux, index_at(s, e->kid[0]))),
                  slice_mask(s, G->vec->mask, ty_bytes(t)) };
    return call_text(s, helper(G, "load", t, s->w), k, 2);
}

/* ---- gathers ---- */

/* Splits the index into what is the same in every lane (*base) and the rest, as a value of the integer type t that
 * holds it exactly; NULL where that cannot be shown. */
static const Node *narrow_index(Slice *s, const Node *e, mlc_type t, const Node **base) {
    Gen *G = s->G;
    int64_t lo, hi;
    if (!lanes_of(G, e).varies) {
        *base = ir_add(G->ir, *base, e);
        return ir_int(G->ir, t, 0);
    }
    if (e->type != MLC_INDEX || !const_bounds(G, e, &lo, &hi) || lo < ty_min(t) || hi > (int64_t)ty_max(t)) return NULL;
    if (e->op == OP_CAST && ty_is_int(type_of(e->kid[0]))) return ir_cast(G->ir, t, e->kid[0]);
    int64_t c;
    const Node *zero = ir_idx(G->ir, 0), *part = zero;
    if (e->op == OP_MUL && ir_is_int(e->kid[1], &c) && c >= ty_min(t) && c <= (int64_t)ty_max(t)) {
        const Node *a = narrow_index(s, e->kid[0], t, &part);
        return a && part == zero ? ir_mul(G->ir, a, ir_int(G->ir, t, c)) : NULL;
    }
    return NULL;
}

/* The sum e, its uniform terms in *base. */
static const Node *gather_index(Slice *s, const Node *e, mlc_type t, const Node **base) {
    Interner *I = s->G->ir;
    if ((e->op != OP_ADD && e->op != OP_SUB) || !lanes_of(s->G, e).varies) return narrow_index(s, e, t, base);
    const Node *right = ir_idx(I, 0), *a = gather_index(s, e->kid[0], t, base);
    const Node *b = a ? gather_index(s, e->kid[1], t, &right) : NULL;
    if (!b) return NULL;
    *base = ir_make2(I, (Op)e->op, *base, right);
    int64_t lo, hi; /* one varying term at most, so that the sum wraps nowhere */
    if (ir_is_int(b, &lo) && lo == 0) return a;
    return e->op == OP_ADD && ir_is_int(a, &hi) && hi == 0 ? b : NULL;
}

static bool gathered(Slice *s, const Node *e, Text *out) {
    Gen *G = s->G;
    int size = ty_bytes(type_of(e));
    mlc_type t = size == 4 ? MLC_I32 : MLC_I64;
    if (size < 4 || G->o->isa < ISA_AVX2 || size * s->w < 16 || ty_is_half(type_of(e))) return false;
    const Node *base = ir_idx(G->ir, 0), *index = gather_index(s, e->kid[0], t, &base);
    if (!index || !lanes_of(G, index).varies) return false;
    Text k[2] = { atom(mem_address(G, s->env, e->u.storage, e->aux, legal(G, base))), slice_value(s, index) };
    *out = named(s, vt(s, type_of(e)), call_text(s, helper(G, "gather", type_of(e), s->w), k, 2));
    return true;
}

/* Bytes of a bool are not a mask yet. */
static Text load(Slice *s, const Node *e) {
    Lanes l = lanes_of(s->G, e->kid[0]);
    bool masked = load_mask(s, e->u.storage);
    if (l.affine) stream_load(s->G, s->env, e->u.storage, e->aux, index_at(s, e->kid[0]));
    if (l.affine && l.stride == 1) {
        if (masked && !e->u.storage->lanes) return masked_load(s, e);
        return atom(mem_ref(s->G, s->env, e->u.storage, e->aux, index_at(s, e->kid[0]), s->w));
    }
    if (l.affine && !masked && l.stride == -1) return reversed(s, e);
    if (l.affine && !masked && l.stride >= 2 && l.stride <= 4) return strided(s, e, (int)l.stride);
    Text t;
    if (!masked && gathered(s, e, &t)) return t;
    if (e->type != MLC_BOOL) return by_lanes(s, e, 0);
    return at_prec(fmt(s->G, "-%s", by_lanes(s, e, 1).s), P_UNARY);
}

/* ---- operators on data ---- */

/* An operand: beside an infix sign a constant may stay a scalar. */
static Text operand(Slice *s, const Node *e) {
    if (ir_is_const(e)) {
        Text t = constant_text(s->G, e);
        if (type_of(e) == MLC_F32 || type_of(e) == MLC_F64) return t;
        return vector_cast(s, ty_c(type_of(e)), t);
    }
    return slice_value(s, e);
}

static Text arithmetic(Slice *s, const Node *e, const char *sign, int prec) {
    Gen *G = s->G;
    mlc_type t = type_of(e);
    bool both = ir_is_const(e->kid[0]) && ir_is_const(e->kid[1]);
    Text a = both ? slice_value(s, e->kid[0]) : operand(s, e->kid[0]), b = operand(s, e->kid[1]);
    if (!G->o->emit || !ty_is_signed(t)) return infix(G, a, sign, b, prec);
    a = slice_value(s, e->kid[0]);
    b = slice_value(s, e->kid[1]);
    const char *u = vt(s, ty_int(false, ty_bits(t)));
    return vector_cast(s, vt(s, t), infix(G, vector_cast(s, u, a), sign, vector_cast(s, u, b), prec));
}

static Text by_helper(Slice *s, const Node *e, const char *base, mlc_type t) {
    Text k[3];
    for (int i = 0; i < e->n; i++) k[i] = slice_value(s, e->kid[i]);
    return call_text(s, helper(s->G, base, t, s->w), k, e->n);
}

/* By a constant other than 0 and powers of two; 8-bit values go through 16 bits. */
static Text divide_const(Slice *s, const Node *e, int64_t c) {
    Gen *G = s->G;
    mlc_type t = type_of(e), wide = ty_bits(t) == 8 ? ty_int(ty_is_signed(t), 16) : t;
    Text a = slice_value(s, e->kid[0]);
    if (wide != t) a = call_text(s, helper_convert(G, wide, t, s->w), &a, 1);
    a = named(s, vt(s, wide), a);
    const char *k = fmt(G, "(%s)%s", ty_c(wide), constant_text(G, ir_int(G->ir, wide, c)).s);
    if (ty_is_unsigned(t) && c < 0) k = fmt(G, "(%s)%s", ty_c(wide), constant_text(G, e->kid[1]).s);
    bool quotient = e->op == OP_DIV;
    Text r;
    if (ty_is_unsigned(t)) r = at_prec(fmt(G, "%s %s %s", a.s, quotient ? "/" : "%", k), P_MUL);
    else if (c == -1) r = quotient ? at_prec(fmt(G, "0 - %s", a.s), P_ADD) : at_prec(fmt(G, "%s ^ %s", a.s, a.s), P_XOR);
    else { /* towards zero, then one further where the remainder is negative */
        Text q = named(s, vt(s, wide), at_prec(fmt(G, "%s / %s", a.s, k), P_MUL));
        Text m = named(s, vt(s, wide), at_prec(fmt(G, "%s - %s * %s", a.s, q.s, k), P_ADD));
        const char *below = fmt(G, "(%s)(%s < 0)", vt(s, wide), m.s);
        r = quotient ? at_prec(fmt(G, "%s %s %s", q.s, c > 0 ? "+" : "-", below), P_ADD)
                     : at_prec(fmt(G, "%s %s (%s & (%s))", m.s, c > 0 ? "+" : "-", below, k), P_ADD);
    }
    if (wide == t) return r;
    return call_text(s, helper_convert(G, t, wide, s->w), &r, 1);
}

static Text divide(Slice *s, const Node *e) {
    mlc_type t = type_of(e);
    int64_t c;
    if (ty_is_float(t)) return e->op == OP_DIV ? arithmetic(s, e, "/", P_MUL) : by_helper(s, e, "mod", t);
    if (ir_is_int(e->kid[1], &c) && c != 0 && !ir_is_const(e->kid[0]) && ty_bits(t) < 64) return divide_const(s, e, c);
    return by_helper(s, e, e->op == OP_DIV ? "div" : "mod", t);
}

static Text shift(Slice *s, const Node *e) {
    Gen *G = s->G;
    mlc_type t = type_of(e);
    int64_t lo, hi;
    bool inside = const_bounds(G, e->kid[1], &lo, &hi) && lo >= 0 && hi < ty_bits(t);
    if (!inside) return by_helper(s, e, e->op == OP_SHL ? "shl" : "shr", t);
    Text a = slice_value(s, e->kid[0]);
    const char *u = vt(s, ty_int(false, ty_bits(t)));
    Text b = ir_is_const(e->kid[1]) ? vector_cast(s, ty_c(t), constant_text(G, e->kid[1]))
                                    : vector_cast(s, vt(s, t), slice_value(s, e->kid[1]));
    if (e->op == OP_SHL && ty_is_signed(t) && G->o->emit) {
        b = ir_is_const(e->kid[1]) ? b : vector_cast(s, u, b);
        return vector_cast(s, vt(s, t), infix(G, vector_cast(s, u, a), "<<", b, P_SHIFT));
    }
    return infix(G, a, e->op == OP_SHL ? "<<" : ">>", b, P_SHIFT);
}

static Text extreme(Slice *s, const Node *e) {
    const Node *b = e->kid[1];
    bool min = e->op == OP_MIN, simple = ty_is_float(type_of(e)) && ir_is_const(b) && b->u.f == b->u.f && b->u.f != 0;
    if (!simple) return by_helper(s, e, min ? "min" : "max", type_of(e));
    Text k[2] = { slice_value(s, b), slice_value(s, e->kid[0]) }; /* keeps a NaN of the second */
    return call_text(s, helper(s->G, min ? "least" : "most", type_of(e), s->w), k, 2);
}

/* ---- conversions ---- */

/* i32(x + 3): the value in lane 0 and a ramp, in the narrow type: both wrap. */
static Text ramp_cast(Slice *s, const Node *e, int64_t stride) {
    Gen *G = s->G;
    mlc_type t = type_of(e);
    const Node *first = legal(G, ir_cast(G->ir, t, at_lane(G, e->kid[0], ir_idx(G->ir, s->o))));
    StrBuf b;
    sb_init(&b, G->arena);
    sb_printf(&b, "(%s){ ", vt(s, t));
    for (int i = 0; i < s->w; i++)
        sb_printf(&b, "%s%s", i ? ", " : "", constant_text(G, ir_int(G->ir, t, stride * i)).s);
    sb_puts(&b, " }");
    return at_prec(fmt(G, "%s + %s", all_of(s, t, expr(G, s->env, first)).s, b.at), P_ADD);
}

/* 0 or 1 in elements of t. */
static Text from_mask(Slice *s, const Node *a, mlc_type t) {
    Gen *G = s->G;
    mlc_type i = ty_int(true, 8 * ty_bytes(t));
    Text ones = at_prec(fmt(G, "-%s", wrap(G, slice_mask(s, a, ty_bytes(t)), P_ATOM)), P_UNARY);
    if (ty_is_float(t)) return call_text(s, helper_convert(G, t, i, s->w), &ones, 1);
    return t == i ? ones : vector_cast(s, vt(s, t), ones);
}

/* u8(min(max(x, 0), 255)) and kin: a cast gives 0 for a NaN, for either zero, and for what a clamp from 0 makes of
 * them, so that one instruction a side is right, and what it gives fits.  The clamp, or NULL. */
static const Node *clamp_of(const Node *e) {
    if (e->op != OP_CAST) return NULL;
    mlc_type to = type_of(e);
    const Node *least = e->kid[0], *most = least->op == OP_MIN ? least->kid[0] : NULL;
    if (!most || most->op != OP_MAX || least->type != MLC_F32 || !ty_is_int(to) || ty_bits(to) > 32) return NULL;
    const Node *hi = least->kid[1], *lo = most->kid[1];
    if (!ir_is_const(hi) || !ir_is_const(lo) || lo->u.f != 0) return NULL;
    return hi->u.f >= 0 && hi->u.f <= (double)ty_max(to) && hi->u.f < 0x1p31 ? least : NULL;
}

/* The clamp of a cast, or of the one that the cast widens. */
static const Node *clamp_below(const Node *e) {
    mlc_type to = type_of(e);
    const Node *direct = clamp_of(e);
    if (direct || e->op != OP_CAST || !(ty_is_int(to) || to == MLC_F32)) return direct;
    mlc_type from = type_of(e->kid[0]);
    return ty_is_int(from) && ty_bits(from) < 32 ? clamp_of(e->kid[0]) : NULL;
}

static Text cast_clamped(Slice *s, const Node *e, const Node *clamp) {
    Gen *G = s->G;
    const Node *hi = clamp->kid[1], *most = clamp->kid[0];
    Text a[2] = { slice_value(s, most->kid[0]), all_of(s, MLC_F32, atom("0.0f")) };
    Text b[2] = { slice_value(s, hi), call_text(s, helper(G, "most", MLC_F32, s->w), a, 2) };
    Text c = call_text(s, helper(G, "least", MLC_F32, s->w), b, 2);
    Text whole = call_text(s, helper(G, "inside", MLC_F32, s->w), &c, 1);
    return type_of(e) == MLC_I32 ? whole : call_text(s, helper_convert(G, type_of(e), MLC_I32, s->w), &whole, 1);
}

static Text convert(Slice *s, const Node *e) {
    Gen *G = s->G;
    mlc_type to = type_of(e), from = type_of(e->kid[0]);
    if (from == MLC_INDEX) {
        Lanes l = lanes_of(G, e->kid[0]);
        if (l.affine && !ty_is_float(to) && !ty_is_half(to)) return ramp_cast(s, e, l.stride);
        return by_lanes(s, e, 0);
    }
    if (from == MLC_BOOL) return from_mask(s, e->kid[0], to);
    const Node *clamp = clamp_below(e);
    if (clamp) return cast_clamped(s, e, clamp);
    Text a = slice_value(s, e->kid[0]);
    return call_text(s, helper_convert(G, to, from, s->w), &a, 1);
}

static Text reinterpret(Slice *s, const Node *e) {
    mlc_type from = type_of(e->kid[0]);
    if (from == MLC_INDEX) return by_lanes(s, e, 0);
    if (from == MLC_BOOL) return from_mask(s, e->kid[0], type_of(e));
    return vector_cast(s, vt(s, type_of(e)), slice_value(s, e->kid[0]));
}

static Text data_op(Slice *s, const Node *e) {
    Gen *G = s->G;
    mlc_type t = type_of(e);
    switch ((Op)e->op) {
    case OP_LOAD: return load(s, e);
    case OP_ADD: return arithmetic(s, e, "+", P_ADD);
    case OP_SUB: return arithmetic(s, e, "-", P_ADD);
    case OP_MUL: return arithmetic(s, e, "*", P_MUL);
    case OP_DIV: case OP_MOD: return divide(s, e);
    case OP_NEG: return at_prec(fmt(G, "-%s", wrap(G, slice_value(s, e->kid[0]), P_ATOM)), P_UNARY);
    case OP_NOT: return at_prec(fmt(G, "~%s", wrap(G, slice_value(s, e->kid[0]), P_ATOM)), P_UNARY);
    case OP_AND: return infix(G, slice_value(s, e->kid[0]), "&", slice_value(s, e->kid[1]), P_BAND);
    case OP_OR: return infix(G, slice_value(s, e->kid[0]), "|", slice_value(s, e->kid[1]), P_BOR);
    case OP_XOR: return infix(G, slice_value(s, e->kid[0]), "^", slice_value(s, e->kid[1]), P_XOR);
    case OP_SHL: case OP_SHR: return shift(s, e);
    case OP_MIN: case OP_MAX: return extreme(s, e);
    case OP_ABS: return ty_is_unsigned(t) ? slice_value(s, e->kid[0]) : by_helper(s, e, "abs", t);
    case OP_CAST: return convert(s, e);
    case OP_REINTERPRET: return reinterpret(s, e);
    case OP_SELECT: {
        mlc_type as = ty_is_half(t) ? MLC_U16 : t;
        Text k[3] = { slice_mask(s, e->kid[0], ty_bytes(t)), slice_value(s, e->kid[1]), slice_value(s, e->kid[2]) };
        return call_text(s, helper(G, "sel", as, s->w), k, 3);
    }
    case OP_FMA: return by_helper(s, e, "fma", t);
    case OP_POPCOUNT: return by_helper(s, e, "popcount", t);
    case OP_CLZ: return by_helper(s, e, "clz", t);
    case OP_CTZ: return by_helper(s, e, "ctz", t);
    case OP_SQRT: return by_helper(s, e, "sqrt", t);
    case OP_FLOOR: return by_helper(s, e, "floor", t);
    case OP_CEIL: return by_helper(s, e, "ceil", t);
    case OP_TRUNC: return by_helper(s, e, "trunc", t);
    case OP_ROUND: return by_helper(s, e, "round", t);
    default: BUG(G->arena->fault, fmt(G, "no vector C for the operator %s", ir_ops[e->op].name));
    }
}

/* ---- masks ---- */

static int width_of(Slice *s, const Node *e) {
    return (int)(intptr_t)pm_get(&s->width, e);
}

/* a < b of indices that grow by one a lane: lanes are counted. */
static bool counted(Slice *s, const Node *e, Text *t, int *bytes) {
    Gen *G = s->G;
    Interner *I = G->ir;
    Lanes a = lanes_of(G, e->kid[0]), b = lanes_of(G, e->kid[1]);
    int64_t stride = a.stride - b.stride;
    if (!a.affine || !b.affine || (e->op != OP_LT && e->op != OP_LE) || stride < -1 || stride > 1) return false;
    const Node *lane = ir_idx(I, s->o), *left = at_lane(G, e->kid[0], lane), *right = at_lane(G, e->kid[1], lane);
    *bytes = s->bytes;
    if (stride == 0) {
        *t = uniform_mask(s, legal(G, ir_make2(I, (Op)e->op, left, right)), *bytes);
        return true;
    }
    /* i * stride < right - left, in lanes: i < n or i >= n */
    const Node *n = stride > 0 ? ir_sub(I, right, left) : ir_sub(I, left, right);
    if ((stride > 0) == (e->op == OP_LE)) n = ir_add(I, n, ir_idx(I, 1));
    n = ir_max(I, ir_min(I, n, ir_idx(I, 100)), ir_idx(I, -100));
    mlc_type m = mask_type(*bytes);
    StrBuf ramp;
    sb_init(&ramp, G->arena);
    sb_printf(&ramp, "(%s){ ", mask_c(s, *bytes));
    for (int i = 0; i < s->w; i++) sb_printf(&ramp, "%s%d", i ? ", " : "", i);
    sb_puts(&ramp, " }");
    Text first = named(s, ty_c(m), expr(G, s->env, legal(G, n)));
    *t = vector_cast(s, mask_c(s, *bytes),
                     at_prec(fmt(G, "%s %s %s", ramp.at, stride > 0 ? "<" : ">=", all_of(s, m, first).s), P_CMP));
    return true;
}

static Text compare(Slice *s, const Node *e, int *bytes) {
    Gen *G = s->G;
    mlc_type of = type_of(e->kid[0]);
    const char *sign = e->op == OP_EQ ? "==" : e->op == OP_NE ? "!=" : e->op == OP_LE ? "<=" : "<";
    Text t;
    if (of == MLC_INDEX) {
        if (counted(s, e, &t, bytes)) return t;
        *bytes = s->bytes;
        return by_lanes(s, e, *bytes);
    }
    *bytes = ty_bytes(of);
    Text a = operand(s, e->kid[0]), b = operand(s, e->kid[1]);
    return vector_cast(s, mask_c(s, *bytes), infix(G, a, sign, b, e->op == OP_EQ || e->op == OP_NE ? P_EQ : P_CMP));
}

static Text not_mask(Slice *s, Text a) {
    return at_prec(fmt(s->G, "~%s", wrap(s->G, a, P_ATOM)), P_UNARY);
}

/* Operators on bools, in the widest mask among the operands. */
static Text logic(Slice *s, const Node *e, int *bytes) {
    Gen *G = s->G;
    Text k[3];
    *bytes = 0;
    for (int i = 0; i < e->n; i++)
        if (is_data(s, e->kid[i])) {
            slice_mask(s, e->kid[i], 0);
            if (width_of(s, e->kid[i]) > *bytes) *bytes = width_of(s, e->kid[i]);
        }
    for (int i = 0; i < e->n; i++) k[i] = slice_mask(s, e->kid[i], *bytes);
    switch ((Op)e->op) {
    case OP_LAND: case OP_AND: case OP_MUL: case OP_MIN: return infix(G, k[0], "&", k[1], P_BAND);
    case OP_LOR: case OP_OR: case OP_MAX: return infix(G, k[0], "|", k[1], P_BOR);
    case OP_XOR: case OP_NE: return infix(G, k[0], "^", k[1], P_XOR);
    case OP_EQ: return not_mask(s, infix(G, k[0], "^", k[1], P_XOR));
    case OP_LT: return infix(G, not_mask(s, k[0]), "&", k[1], P_BAND);
    case OP_LE: return infix(G, not_mask(s, k[0]), "|", k[1], P_BOR);
    case OP_LNOT: case OP_NOT: return not_mask(s, k[0]);
    case OP_CAST: case OP_REINTERPRET: return k[0];
    case OP_SELECT:
        return call_text(s, helper(G, "sel", mask_type(*bytes), s->w), k, 3);
    default: BUG(G->arena->fault, fmt(G, "no mask for the operator %s", ir_ops[e->op].name));
    }
}

static Text mask_op(Slice *s, const Node *e, int *bytes) {
    if (e->op == OP_LOAD) {
        *bytes = 1;
        Text t = load(s, e);
        return vector_cast(s, mask_c(s, 1), at_prec(fmt(s->G, "%s != 0", wrap(s->G, t, P_ADD)), P_EQ));
    }
    mlc_type of = type_of(e->kid[0]);
    if (of == MLC_BOOL) return logic(s, e, bytes);
    if (e->op == OP_REINTERPRET) {
        *bytes = 1;
        Text t = slice_value(s, e->kid[0]);
        return vector_cast(s, mask_c(s, 1), at_prec(fmt(s->G, "%s != 0", wrap(s->G, t, P_ADD)), P_EQ));
    }
    return compare(s, e, bytes);
}

/* ---- whole expressions ---- */

static bool slice_leaf(void *user, const Node *e) {
    Slice *s = user;
    if (!is_data(s, e) || e->op == OP_LOAD || clamp_below(e)) return true;
    for (int i = 0; i < e->n; i++)
        if (e->kid[i]->type == MLC_INDEX) return true; /* by_lanes looks below */
    return false;
}

static void slice_visit(void *user, const Node *e) {
    Slice *s = user;
    Gen *G = s->G;
    if (!is_data(s, e)) return;
    int bytes = 0;
    bool is_bool = e->type == MLC_BOOL, shared = (intptr_t)pm_get(s->uses, e) > 1;
    Text t = is_bool ? mask_op(s, e, &bytes) : data_op(s, e);
    bool plain = is_name(t);
    /* A load's text is an lvalue: it binds as a unary operator. */
    if (t.prec == P_ATOM && *t.s == '*') t.prec = P_UNARY;
    if (!plain && (shared || strlen(t.s) > LONGEST)) t = named(s, is_bool ? mask_c(s, bytes) : vt(s, type_of(e)), t);
    if (is_bool) pm_put(&s->width, e, (void *)(intptr_t)bytes);
    pm_put(&s->text, e, arena_copy(G->arena, &t, sizeof t));
}

static const Text *computed(Slice *s, const Node *e) {
    const Text *t = pm_get(&s->text, e);
    if (t) return t;
    Walk w = { s->G->arena, &s->text, slice_visit, slice_leaf, s };
    walk(&w, e);
    return pm_get(&s->text, e);
}

Text slice_value(Slice *s, const Node *e) {
    if (e->type == MLC_BOOL) return from_mask(s, e, MLC_U8);
    return is_data(s, e) ? *computed(s, e) : splat(s, e);
}

/* bytes 0: as it is. */
Text slice_mask(Slice *s, const Node *e, int bytes) {
    if (!is_data(s, e)) return uniform_mask(s, e, bytes ? bytes : 1);
    bool outer = s->unmasked;
    s->unmasked |= e == s->G->vec->mask;
    const Text *t = computed(s, e);
    s->unmasked = outer;
    int have = width_of(s, e);
    if (!bytes || have == bytes) return *t;
    PtrMap *kept = &s->mask[__builtin_ctz((unsigned)bytes)];
    const Text *known = pm_get(kept, e);
    if (known) return *known;
    Text c = call_text(s, helper_convert(s->G, mask_type(bytes), mask_type(have), s->w), t, 1);
    c = named(s, mask_c(s, bytes), c);
    pm_put(kept, e, arena_copy(s->G->arena, &c, sizeof c));
    return c;
}

/* ---- stores ---- */

void slice_store(Slice *s, const Storage *t, int elem, const Node *index, Text v) {
    Gen *G = s->G;
    Lanes l = lanes_of(G, index);
    mlc_type type = t->type[elem] == MLC_BOOL ? MLC_U8 : ty_is_half(t->type[elem]) ? MLC_U16 : t->type[elem];
    const Node *mask = store_mask(s, t);
    if (l.affine && l.stride == 1) {
        if (!mask && streams_to(G, t, s->w * ty_bytes(type))) {
            Text k[2] = { atom(mem_address(G, s->env, t, elem, index_at(s, index))), v };
            line(G, "%s;", call_text(s, helper(G, "stream", type, s->w), k, 2).s);
            G->fn->streams = true;
            return;
        }
        if (!mask) {
            line(G, "%s = %s;", mem_ref(G, s->env, t, elem, index_at(s, index), s->w), v.s);
            return;
        }
        if (t->lanes) { /* nobody else sees it */
            Text at = atom(mem_ref(G, s->env, t, elem, index_at(s, index), s->w)), k[3] = { slice_mask(s, mask, ty_bytes(type)), v, at };
            line(G, "%s = %s;", at.s, call_text(s, helper(G, "sel", type, s->w), k, 3).s);
            return;
        }
        Text k[3] = { atom(mem_address(G, s->env, t, elem, index_at(s, index))), v,
                      slice_mask(s, mask, ty_bytes(type)) };
        line(G, "%s;", call_text(s, helper(G, "store", type, s->w), k, 3).s);
        return;
    }
    if (streams_to(G, t, s->w * ty_bytes(type))) stream_apart(G, t);
    LaneForm f;
    Env env;
    lane_form(&f, s, &env);
    const Node *at = in_lane(&f, index);
    v = named(s, vt(s, type), v);
    Text only = mask_lane(s, &f, mask);
    open_brace(G, "for (int %s = 0; %s < %d; %s++)", f.i, f.i, s->w, f.i);
    if (*only.s) open_brace(G, "%s", only.s);
    line(G, "%s = %s[%s];", mem_ref(G, &env, t, elem, at, 1), v.s, f.i);
    if (*only.s) close_brace(G);
    close_brace(G);
}
