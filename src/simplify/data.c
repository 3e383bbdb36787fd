/* data.c - what ranges decide about data: needless casts, minima, remainders and masks. */
#include "sim.h"

#include <math.h>

static bool inside(Range r, Range all) {
    return r.lo >= all.lo && r.hi <= all.hi && r.lo != NINF && r.hi != PINF;
}

static const Node *minmax(Sim *s, const Node *e) {
    Range a = range_of(s, e->kid[0]), b = range_of(s, e->kid[1]);
    if (e->type == MLC_U64) return e;
    bool a_less = a.hi <= b.lo, b_less = b.hi <= a.lo;
    if (a_less) return e->kid[e->op == OP_MAX];
    return b_less ? e->kid[e->op == OP_MIN] : e;
}

/* cast(cast(x)) skips a middle type that holds every value of x; an index made of data + constant is
 * the index of the data, plus the constant, where that sum cannot wrap. */
static const Node *cast(Sim *s, const Node *e) {
    const Node *a = e->kid[0];
    mlc_type t = (mlc_type)e->type, mid = (mlc_type)a->type;
    if (ty_is_float(mid) || mid == MLC_BOOL) return e;
    if (a->op == OP_CAST && !ty_is_float((mlc_type)a->kid[0]->type) && t != MLC_BOOL &&
        inside(range_of(s, a->kid[0]), range_type(mid)))
        return ir_cast(s->I, t, a->kid[0]);
    if (t == MLC_INDEX && mid != MLC_U64 && (a->op == OP_ADD || a->op == OP_SUB) && ir_is_const(a->kid[1])) {
        Range r = range_binary((Op)a->op, range_of(s, a->kid[0]), range_of(s, a->kid[1]));
        if (inside(r, range_type(mid)))
            return ir_make2(s->I, (Op)a->op, ir_cast(s->I, t, a->kid[0]), ir_cast(s->I, t, a->kid[1]));
    }
    return e;
}

static const Node *modulo(Sim *s, const Node *e) {
    Range a = range_of(s, e->kid[0]), b = range_of(s, e->kid[1]);
    return a.lo >= 0 && a.hi < b.lo && a.hi != PINF ? e->kid[0] : e;
}

/* x & m where m is 2^n - 1 and x fits under it. */
static const Node *mask(Sim *s, const Node *e) {
    Range a = range_of(s, e->kid[0]);
    int64_t m;
    if (!ir_is_int(e->kid[1], &m) || m <= 0 || ((uint64_t)m & ((uint64_t)m + 1))) return e;
    return a.lo >= 0 && a.hi <= m && a.hi != PINF ? e->kid[0] : e;
}

/* x / c is x * (1 / c) where 1 / c is exact: both round the same real number. */
static const Node *reciprocal(Sim *s, const Node *e) {
    mlc_type t = (mlc_type)e->type;
    if (e->op != OP_DIV || e->kid[1]->op != OP_CONST || (t != MLC_F32 && t != MLC_F64)) return e;
    const Node *c = e->kid[1];
    int power;
    double one = val_round(t, 1 / c->u.f).f;
    if (fabs(frexp(c->u.f, &power)) != 0.5 || !isfinite(one) || one == 0) return e;
    return ir_mul(s->I, e->kid[0], ir_flt(s->I, t, one));
}

const Node *step_data(Sim *s, const Node *e) {
    if (ty_is_float((mlc_type)e->type)) return reciprocal(s, e);
    switch ((Op)e->op) {
    case OP_MIN: case OP_MAX: return minmax(s, e);
    case OP_CAST: return cast(s, e);
    case OP_MOD: return modulo(s, e);
    case OP_AND: return e->type == MLC_BOOL ? e : mask(s, e);
    default: return e;
    }
}
