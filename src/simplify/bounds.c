/* bounds.c - symbolic bounds: eliminating one ranged variable at a time, the innermost first.
 *
 * A sum is bounded term by term after like terms have met in its linear form; the bounds of its atoms
 * come from their operators.  Terms that do not use the variable stay as they are, so what the two
 * ends share cancels in the next step: (x - x0) with x in [x0, x0 + 7] is in [0, 7] whatever x0 is. */
#include "sim.h"

/* ---- depth ---- */

static bool depth_done(const Sim *s, const Info *i) {
    (void)s;
    return i->has_depth;
}

static void depth_fill(Sim *s, const Node *e, Info *i) {
    const Bound *b;
    int d = 0;
    for (int k = 0; k < e->n; k++) {
        int kid = sim_info(s, e->kid[k])->depth;
        if (kid > d) d = kid;
    }
    switch ((Op)e->op) {
    case OP_VAR:
        if (e->u.sym == s->open && !sim_find(s, e->u.sym)) d = 1;
        else if ((b = sim_find(s, e->u.sym))) d = b->depth;
        break;
    case OP_ACCESS: case OP_LOAD: case OP_EXTERN: case OP_STAGE: case OP_UNDEF: case OP_RANDOM:
        d = DEPTH_DATA;
        break;
    default: break;
    }
    i->depth = d;
    i->has_depth = true;
}

int depth_of(Sim *s, const Node *e) {
    Info *i = sim_info(s, e);
    if (!i->has_depth) sim_walk(s, e, depth_done, depth_fill);
    return i->depth;
}

int depth_lin(Sim *s, const Lin *a) {
    int d = 0;
    for (int i = 0; i < a->n; i++) {
        int t = depth_of(s, a->at[i].atom);
        if (t > d) d = t;
    }
    return d;
}

/* ---- sums ---- */

const Lin *bound_lin(Sim *s, const Lin *a, int depth, bool upper) {
    const Lin *sum = lin_const(s, a->c);
    for (int i = 0; sum && i < a->n; i++) {
        Interval t = bound_node(s, a->at[i].atom, depth);
        const Node *end = (a->at[i].k > 0) == upper ? t.hi : t.lo;
        sum = end ? lin_add(s, sum, lin_of(s, end), a->at[i].k) : NULL;
    }
    return sum;
}

/* ---- operators ---- */

/* The constant range as an interval; the bare range of a 32- or 64-bit type counts as infinite. */
static Interval constant(Sim *s, const Node *e) {
    mlc_type t = (mlc_type)e->type;
    Range r = range_of(s, e), all = range_type(t);
    bool wide = ty_bits(t) >= 32;
    Interval i = { NULL, NULL };
    if (ty_is_float(t)) return i;
    if (r.lo != NINF && r.lo != PINF && !(wide && r.lo == all.lo && r.lo < 0)) i.lo = ir_int(s->I, t, r.lo);
    if (r.hi != PINF && r.hi != NINF && !(wide && r.hi == all.hi)) i.hi = ir_int(s->I, t, r.hi);
    return i;
}

static Interval sum_bounds(Sim *s, const Node *e, int depth) {
    const Lin *l = lin_of(s, e);
    for (int i = 0; i < l->n; i++)
        if (l->at[i].atom == e) return constant(s, e); /* its coefficients overflow: no sum to take apart */
    const Lin *lo = bound_lin(s, l, depth, false), *hi = bound_lin(s, l, depth, true);
    return (Interval){ lo ? lin_node(s, lo) : NULL, hi ? lin_node(s, hi) : NULL };
}

static const Node *both(Sim *s, Op op, const Node *a, const Node *b) {
    return a && b ? ir_make2(s->I, op, a, b) : NULL;
}

static Interval minmax(Sim *s, Op op, Interval a, Interval b) {
    Interval i = { both(s, op, a.lo, b.lo), both(s, op, a.hi, b.hi) };
    if (op == OP_MIN && !i.hi) i.hi = a.hi ? a.hi : b.hi;
    if (op == OP_MAX && !i.lo) i.lo = a.lo ? a.lo : b.lo;
    return i;
}

static Interval scale(Sim *s, Interval a, const Node *k, Range sign) {
    const Node *lo = both(s, OP_MUL, a.lo, k), *hi = both(s, OP_MUL, a.hi, k);
    if (sign.lo >= 0) return (Interval){ lo, hi };
    if (sign.hi <= 0) return (Interval){ hi, lo };
    return (Interval){ both(s, OP_MIN, lo, hi), both(s, OP_MAX, lo, hi) };
}

static Interval multiply(Sim *s, const Node *e, Interval a, Interval b, int depth) {
    const Node *x = e->kid[0], *y = e->kid[1];
    Range rx = range_of(s, x), ry = range_of(s, y);
    if (depth_of(s, y) < depth) return scale(s, a, y, ry);
    if (depth_of(s, x) < depth) return scale(s, b, x, rx);
    if (rx.lo >= 0 && ry.lo >= 0) {
        const Node *zero = ir_idx(s->I, 0); /* an end may say less than what is known of the sign */
        const Node *lo = a.lo && b.lo ? ir_mul(s->I, ir_max(s->I, a.lo, zero), ir_max(s->I, b.lo, zero)) : zero;
        return (Interval){ lo, both(s, OP_MUL, a.hi, b.hi) };
    }
    Interval p = { both(s, OP_MUL, a.lo, b.lo), both(s, OP_MUL, a.hi, b.hi) };
    Interval q = { both(s, OP_MUL, a.lo, b.hi), both(s, OP_MUL, a.hi, b.lo) };
    return (Interval){ both(s, OP_MIN, both(s, OP_MIN, p.lo, p.hi), both(s, OP_MIN, q.lo, q.hi)),
                       both(s, OP_MAX, both(s, OP_MAX, p.lo, p.hi), both(s, OP_MAX, q.lo, q.hi)) };
}

static const Node *minus(Sim *s, const Node *a) {
    return a ? ir_make1(s->I, OP_NEG, a) : NULL;
}

static Interval divide(Sim *s, const Node *e, Interval a, int depth) {
    const Node *by = e->kid[1];
    Range r = range_of(s, by);
    if (depth_of(s, by) >= depth) return constant(s, e);
    if (r.lo >= 1) return (Interval){ both(s, OP_DIV, a.lo, by), both(s, OP_DIV, a.hi, by) };
    if (r.hi <= -1) { /* a / -c is -(a / c) */
        const Node *c = minus(s, by);
        return (Interval){ minus(s, both(s, OP_DIV, a.hi, c)), minus(s, both(s, OP_DIV, a.lo, c)) };
    }
    return constant(s, e);
}

/* By a constant number of bits: a quotient or a product by a power of two. */
static Interval shift(Sim *s, const Node *e, Interval a, int depth) {
    int64_t bits;
    if (!ir_is_int(e->kid[1], &bits) || bits < 0 || bits > 62) return constant(s, e);
    const Node *by = ir_idx(s->I, INT64_C(1) << bits);
    if (e->op == OP_SHL) return scale(s, a, by, (Range){ 1, 1 });
    return divide(s, ir_make2(s->I, OP_DIV, e->kid[0], by), a, depth);
}

static Interval modulo(Sim *s, const Node *e, Interval a, Interval b) {
    Interval i = { ir_idx(s->I, 0), NULL };
    if (range_of(s, e->kid[1]).lo >= 0 && b.hi) /* x % 0 is 0 */
        i.hi = ir_sub(s->I, ir_max(s->I, b.hi, ir_idx(s->I, 1)), ir_idx(s->I, 1));
    else i.hi = constant(s, e).hi;
    if (range_of(s, e->kid[0]).lo >= 0 && a.hi) i.hi = i.hi ? ir_min(s->I, i.hi, a.hi) : a.hi;
    return i;
}

/* A cast that changes no value keeps symbolic ends. */
static Interval cast(Sim *s, const Node *e, Interval a) {
    const Node *from = e->kid[0];
    mlc_type t = (mlc_type)e->type, of = (mlc_type)from->type;
    Interval c = constant(s, e);
    if (ty_is_float(of) || ty_is_float(t)) return c;
    Range r = range_of(s, from), all = range_type(t);
    bool exact = t == MLC_INDEX ? of != MLC_U64 || r.hi != PINF
                                : r.lo >= all.lo && r.hi <= all.hi && r.lo != NINF && r.hi != PINF;
    if (exact && a.lo) c.lo = ir_cast(s->I, t, a.lo);
    if (exact && a.hi) c.hi = ir_cast(s->I, t, a.hi);
    return c;
}

static Interval symbol(Sim *s, const Node *e, int depth) {
    const Bound *b = sim_find(s, e->u.sym);
    Interval i = { NULL, NULL };
    if (!b) return i;
    if (b->f->range.lo && depth_of(s, b->f->range.lo) < depth) i.lo = b->f->range.lo;
    if (b->f->range.hi && depth_of(s, b->f->range.hi) < depth) i.hi = b->f->range.hi;
    return i;
}

/* What an extern stage needs of the boxes in a range lies in what it needs of the box around them all: its
 * function promises that (mlc_stage_fn), and lowering checks it.  So either end lies between the ends of that
 * answer.  Scalars are the same in all iterations. */
static Interval query(Sim *s, const Node *e) {
    const Node *kids[24]; /* a box of up to 8 dimensions, up to 8 scalars */
    CHECK(s->I->fault, e->n <= 24);
    if (e->aux < 0) return constant(s, e);
    for (int k = 0; k < e->n; k++) {
        Interval i = sim_info(s, e->kid[k])->sym;
        kids[k] = k % 2 ? i.hi : i.lo;
        if (!kids[k]) return constant(s, e);
    }
    return (Interval){ ir_node(s->I, OP_QUERY, MLC_INDEX, e->u.bits, e->aux & ~1, e->n, kids),
                       ir_node(s->I, OP_QUERY, MLC_INDEX, e->u.bits, e->aux | 1, e->n, kids) };
}

static Interval of_index(Sim *s, const Node *e, int depth, Interval a, Interval b) {
    switch ((Op)e->op) {
    case OP_VAR: return symbol(s, e, depth);
    case OP_ADD: case OP_SUB: case OP_NEG: return sum_bounds(s, e, depth);
    case OP_MUL: return ir_is_const(e->kid[1]) ? sum_bounds(s, e, depth) : multiply(s, e, a, b, depth);
    case OP_DIV: return divide(s, e, a, depth);
    case OP_MOD: return modulo(s, e, a, b);
    case OP_SHL: case OP_SHR: return shift(s, e, a, depth);
    case OP_QUERY: return query(s, e);
    default: return constant(s, e);
    }
}

static Interval operator_bounds(Sim *s, const Node *e, int depth) {
    Interval a = e->n > 0 ? sim_info(s, e->kid[0])->sym : (Interval){ NULL, NULL };
    Interval b = e->n > 1 ? sim_info(s, e->kid[1])->sym : (Interval){ NULL, NULL };
    if (ty_is_float((mlc_type)e->type)) return (Interval){ NULL, NULL };
    switch ((Op)e->op) {
    case OP_MIN: case OP_MAX: return minmax(s, (Op)e->op, a, b);
    case OP_SELECT: {
        Interval c = sim_info(s, e->kid[2])->sym;
        return (Interval){ both(s, OP_MIN, b.lo, c.lo), both(s, OP_MAX, b.hi, c.hi) };
    }
    case OP_LIKELY: case OP_LIKELY_INNER: case OP_PRINT: return a;
    case OP_REQUIRE: return b;
    case OP_CAST: return cast(s, e, a);
    case OP_VAR: return symbol(s, e, depth);
    default: return e->type == MLC_INDEX ? of_index(s, e, depth, a, b) : constant(s, e);
    }
}

/* Finite constant bounds help where the symbolic ones ran out. */
static Interval filled(Sim *s, const Node *e, Interval i) {
    if (i.lo && i.hi) return i;
    Interval c = constant(s, e);
    if (!i.lo) i.lo = c.lo;
    if (!i.hi) i.hi = c.hi;
    if ((!i.lo || !i.hi) && !s->why) s->why = e;
    return i;
}

static void sym_fill(Sim *s, const Node *e, Info *i) {
    int target = s->target;
    if (depth_of(s, e) < target) i->sym = (Interval){ e, e };
    else i->sym = filled(s, e, operator_bounds(s, e, target));
    i->sym_depth = target;
}

static bool sym_done(const Sim *s, const Info *i) {
    return i->sym_depth == s->target;
}

Interval bound_node(Sim *s, const Node *e, int depth) {
    Info *i = sim_info(s, e);
    if (i->sym_depth == depth) return i->sym;
    if (depth_of(s, e) < depth) return (Interval){ e, e };
    int old = s->target;
    s->target = depth;
    sim_walk(s, e, sym_done, sym_fill);
    s->target = old;
    return i->sym;
}
