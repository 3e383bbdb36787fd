/* range.c - constant ranges of every operator.
 *
 * A range of wrapping data that may overflow is the range of its type.  Endpoints at the ends of
 * int64_t mean unbounded (also for i64 and u64, whose ends cannot be told from them). */
#include "sim.h"

#include <math.h>

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

Range range_type(mlc_type t) {
    if (ty_is_float(t)) return (Range){ NINF, PINF };
    uint64_t hi = ty_max(t);
    return (Range){ ty_min(t), hi > (uint64_t)PINF ? PINF : (int64_t)hi };
}

static bool unbounded(Range r) {
    return r.lo == NINF || r.hi == PINF;
}

/* The result of an operation that wraps in t: r where no value can have wrapped. */
static Range fit(mlc_type t, Range r) {
    if (t == MLC_INDEX) return r;
    Range all = range_type(t);
    bool inside = r.lo >= all.lo && r.hi <= all.hi;
    return inside && !(ty_bits(t) == 64 && unbounded(r)) ? r : all;
}

/* a + b, `end` where either is or the sum overflows. */
static int64_t end_add(int64_t a, int64_t b, int64_t end) {
    int64_t sum;
    return a == end || b == end || __builtin_add_overflow(a, b, &sum) ? end : sum;
}

static Range negated(Range a) {
    return (Range){ a.hi == PINF || a.hi == NINF ? NINF : -a.hi, a.lo == NINF ? PINF : -a.lo };
}

/* The product with infinite ends; 0 times an infinity is 0. */
static int64_t end_mul(int64_t a, int64_t b) {
    int64_t p;
    if (!a || !b) return 0;
    bool inf = a == NINF || a == PINF || b == NINF || b == PINF;
    if (!inf && !__builtin_mul_overflow(a, b, &p)) return p;
    return (a < 0) == (b < 0) ? PINF : NINF;
}

static Range range_mul(Range a, Range b) {
    int64_t p[4] = { end_mul(a.lo, b.lo), end_mul(a.lo, b.hi), end_mul(a.hi, b.lo), end_mul(a.hi, b.hi) };
    Range r = { least(least(p[0], p[1]), least(p[2], p[3])), most(most(p[0], p[1]), most(p[2], p[3])) };
    if (r.lo == PINF) r.lo = PINF - 1; /* an overflow bounds nothing from below */
    if (r.hi == NINF) r.hi = NINF + 1;
    return r;
}

static int64_t end_div(int64_t a, int64_t b) {
    if (a == NINF || a == PINF) return a;
    return b == PINF ? (a < 0 ? -1 : 0) : floor_div(a, b);
}

static int64_t magnitude(Range a) {
    if (a.lo <= -PINF || a.hi == PINF) return PINF;
    return most(a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi);
}

static Range range_div(Range a, Range b) {
    if (b.lo >= 1) {
        int64_t q[4] = { end_div(a.lo, b.lo), end_div(a.lo, b.hi), end_div(a.hi, b.lo), end_div(a.hi, b.hi) };
        return (Range){ least(q[0], q[1]), most(q[2], q[3]) };
    }
    if (b.hi <= -1) return negated(range_div(a, negated(b)));
    int64_t m = magnitude(a);
    if (a.lo >= 0 && b.lo >= 0) return (Range){ 0, m };
    return (Range){ m == PINF ? NINF : -m, m };
}

static Range range_mod(Range a, Range b) {
    int64_t m = magnitude(b);
    if (a.lo >= 0 && b.lo > 0 && a.hi < b.lo) return a;
    int64_t hi = m == PINF ? PINF : most(m - 1, 0);
    return (Range){ 0, a.lo >= 0 ? least(hi, a.hi) : hi };
}

Range range_binary(Op op, Range a, Range b) {
    switch (op) {
    case OP_ADD: return (Range){ end_add(a.lo, b.lo, NINF), end_add(a.hi, b.hi, PINF) };
    case OP_SUB: b = negated(b); return (Range){ end_add(a.lo, b.lo, NINF), end_add(a.hi, b.hi, PINF) };
    case OP_MUL: return range_mul(a, b);
    case OP_DIV: return range_div(a, b);
    case OP_MOD: return range_mod(a, b);
    case OP_MIN: return (Range){ least(a.lo, b.lo), least(a.hi, b.hi) };
    case OP_MAX: return (Range){ most(a.lo, b.lo), most(a.hi, b.hi) };
    default: return (Range){ NINF, PINF };
    }
}

/* ---- bits ---- */

/* The least 2^n - 1 that is not below v. */
static int64_t ones_above(int64_t v) {
    int64_t m = 0;
    while (m < v) m = m << 1 | 1;
    return m;
}

static Range range_bits(Op op, mlc_type t, Range a, Range b) {
    Range all = range_type(t);
    if (t == MLC_BOOL) return all;
    switch (op) {
    case OP_AND:
        if (a.lo >= 0 && b.lo >= 0) return (Range){ 0, least(a.hi, b.hi) };
        if (a.lo >= 0 || b.lo >= 0) return (Range){ 0, a.lo >= 0 ? a.hi : b.hi };
        return all;
    case OP_OR: case OP_XOR:
        if (a.lo < 0 || b.lo < 0) return all;
        return (Range){ op == OP_OR ? most(a.lo, b.lo) : 0, ones_above(most(a.hi, b.hi)) };
    case OP_SHL:
        if (b.lo != b.hi || b.lo < 0 || b.lo >= least(ty_bits(t), 62)) return all;
        return fit(t, range_mul(a, (Range){ (int64_t)1 << b.lo, (int64_t)1 << b.lo }));
    case OP_SHR:
        if (b.lo < 0) return all;
        if (b.lo != b.hi || b.lo > 62) return (Range){ least(a.lo, 0), most(a.hi, 0) };
        return (Range){ a.lo == NINF ? NINF : a.lo >> b.lo, a.hi == PINF && t != MLC_I64 ? PINF : a.hi >> b.lo };
    case OP_NOT:
        if (ty_is_unsigned(t)) return all;
        return (Range){ a.hi == PINF ? NINF : -1 - a.hi, a.lo == NINF ? PINF : -1 - a.lo };
    case OP_POPCOUNT: case OP_CLZ: case OP_CTZ: return (Range){ 0, ty_bits(t) };
    default: return all;
    }
}

static Range range_compare(Op op, Range a, Range b) {
    Range any = { 0, 1 }, yes = { 1, 1 }, no = { 0, 0 };
    /* PINF as a lower end still says "at least", so only the strict comparisons below need care. */
    bool below = a.hi != PINF && a.hi < b.lo, above = b.hi != PINF && b.hi < a.lo;
    switch (op) {
    case OP_LT: return below ? yes : b.hi != PINF && b.hi <= a.lo ? no : any;
    case OP_LE: return a.hi != PINF && a.hi <= b.lo ? yes : above ? no : any;
    case OP_EQ: return below || above ? no : any;
    case OP_NE: return below || above ? yes : any;
    default: return any;
    }
}

/* ---- floats: every operation rounds monotonically, so rounded corners bound rounded results ---- */

static const FloatRange any_real = { -INFINITY, INFINITY, true };

static FloatRange corners(const Node *e, FloatRange a, FloatRange b) {
    mlc_type t = (mlc_type)e->kid[0]->type;
    FloatRange r = { INFINITY, -INFINITY, a.nan || b.nan };
    double x[2] = { a.lo, a.hi }, y[2] = { b.lo, b.hi };
    for (int i = 0; i < 4; i++) {
        Value v[2] = { { .f = x[i & 1] }, { .f = y[i >> 1] } };
        double z = val_op((Op)e->op, t, t, v).f;
        if (isnan(z)) return any_real;
        r.lo = fmin(r.lo, z);
        r.hi = fmax(r.hi, z);
    }
    return r;
}

static FloatRange real_memory(Sim *s, const Node *e) {
    const Bound *b = sim_find(s, e->u.func);
    FloatRange r = any_real;
    if (!b || b->f->elem != e->aux || !b->f->range.lo || !b->f->range.hi) return r;
    const Node *lo = b->f->range.lo, *hi = b->f->range.hi;
    if (lo->op != OP_CONST || hi->op != OP_CONST || lo->type != e->type) return r;
    return (FloatRange){ lo->u.f, hi->u.f, false };
}

static FloatRange real_cast(Sim *s, const Node *e, const Node *from) {
    mlc_type t = (mlc_type)e->type;
    if (ty_is_float((mlc_type)from->type)) {
        FloatRange r = sim_info(s, from)->real;
        return (FloatRange){ val_round(t, r.lo).f, val_round(t, r.hi).f, r.nan };
    }
    Range r = range_of(s, from);
    if (unbounded(r)) return (FloatRange){ -INFINITY, INFINITY, false };
    return (FloatRange){ val_cast(t, MLC_I64, (Value){ .i = r.lo }).f, val_cast(t, MLC_I64, (Value){ .i = r.hi }).f, false };
}

static FloatRange real_minmax(Op op, FloatRange a, FloatRange b) {
    bool min = op == OP_MIN;
    return (FloatRange){ min ? fmin(a.lo, b.lo) : fmax(a.lo, b.lo), min ? fmin(a.hi, b.hi) : fmax(a.hi, b.hi),
                         a.nan || b.nan };
}

static void real_fill(Sim *s, const Node *e, Info *i) {
    i->real = any_real;
    if (!ty_is_float((mlc_type)e->type)) return;
    const Node *k0 = e->n > 0 ? e->kid[0] : NULL, *k1 = e->n > 1 ? e->kid[1] : NULL;
    FloatRange a = k0 ? sim_info(s, k0)->real : any_real, b = k1 ? sim_info(s, k1)->real : any_real;
    switch ((Op)e->op) {
    case OP_CONST: i->real = isnan(e->u.f) ? any_real : (FloatRange){ e->u.f, e->u.f, false }; break;
    case OP_VAR:
        if (e->u.sym->kind == SYM_PARAM && e->u.sym->has_range) i->real = (FloatRange){ e->u.sym->lo, e->u.sym->hi, false };
        break;
    case OP_ACCESS: case OP_LOAD: i->real = real_memory(s, e); break;
    case OP_ADD: case OP_SUB: case OP_MUL: i->real = corners(e, a, b); break;
    case OP_DIV:
        if (b.lo > 0 || b.hi < 0) i->real = corners(e, a, b);
        break;
    case OP_NEG: i->real = (FloatRange){ -a.hi, -a.lo, a.nan }; break;
    case OP_ABS:
        i->real = (FloatRange){ a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, fmax(fabs(a.lo), fabs(a.hi)), a.nan };
        break;
    case OP_MIN: case OP_MAX: i->real = real_minmax((Op)e->op, a, b); break;
    case OP_SELECT: {
        FloatRange c = sim_info(s, e->kid[2])->real;
        i->real = (FloatRange){ fmin(b.lo, c.lo), fmax(b.hi, c.hi), b.nan || c.nan };
        break;
    }
    case OP_FLOOR: i->real = (FloatRange){ floor(a.lo), floor(a.hi), a.nan }; break;
    case OP_CEIL: i->real = (FloatRange){ ceil(a.lo), ceil(a.hi), a.nan }; break;
    case OP_TRUNC: i->real = (FloatRange){ trunc(a.lo), trunc(a.hi), a.nan }; break;
    case OP_ROUND: i->real = (FloatRange){ nearbyint(a.lo), nearbyint(a.hi), a.nan }; break;
    case OP_SQRT:
        if (a.lo >= 0) i->real = (FloatRange){ 0, a.hi == INFINITY ? INFINITY : ceil(sqrt(a.hi)), a.nan };
        break;
    case OP_CAST: i->real = real_cast(s, e, k0); break;
    case OP_LIKELY: case OP_LIKELY_INNER: case OP_PRINT: i->real = a; break;
    case OP_REQUIRE: i->real = b; break;
    default: break;
    }
}

/* ---- nodes ---- */

static Range range_symbol(Sim *s, const Node *e) {
    const Sym *v = e->u.sym;
    Range r = range_type(v->type);
    if (v->kind == SYM_EXTENT) r.lo = 0;
    if (v->kind == SYM_PARAM && v->has_range && !ty_is_float(v->type))
        r = (Range){ most(r.lo, v->ilo), least(r.hi, v->ihi) };
    const Bound *b = sim_find(s, v);
    if (!b) return r;
    const Node *lo = b->f->range.lo, *hi = b->f->range.hi;
    /* Endpoints mention outer variables only; anything else would not end. */
    if (lo && depth_of(s, lo) < b->depth) r.lo = most(r.lo, range_of(s, lo).lo);
    if (hi && depth_of(s, hi) < b->depth) r.hi = least(r.hi, range_of(s, hi).hi);
    return r;
}

static Range range_memory(Sim *s, const Node *e) {
    mlc_type t = (mlc_type)e->type;
    Range r = range_type(t);
    const Bound *b = sim_find(s, e->u.func);
    int64_t v;
    if (!b || b->f->elem != e->aux) return r;
    if (b->f->range.lo && ir_is_int(b->f->range.lo, &v) && t != MLC_U64) r.lo = most(r.lo, v);
    if (b->f->range.hi && ir_is_int(b->f->range.hi, &v) && (t != MLC_U64 || v >= 0)) r.hi = least(r.hi, v);
    return r;
}

/* Truncates towards zero and saturates; NaN gives 0. */
static Range range_from_real(mlc_type t, FloatRange f) {
    Range r = { val_cast(t, MLC_F64, (Value){ .f = f.lo }).i, val_cast(t, MLC_F64, (Value){ .f = f.hi }).i };
    if (t == MLC_U64 || t == MLC_BOOL) return range_type(t);
    if (f.nan) r = (Range){ least(r.lo, 0), most(r.hi, 0) };
    return r;
}

static Range range_cast(Sim *s, const Node *e) {
    const Node *from = e->kid[0];
    mlc_type t = (mlc_type)e->type, of = (mlc_type)from->type;
    if (ty_is_float(t)) return range_type(t);
    if (ty_is_float(of)) return range_from_real(t, real_of(s, from));
    Range r = sim_info(s, from)->range;
    if (t == MLC_BOOL) return r.lo > 0 || r.hi < 0 ? (Range){ 1, 1 } : (Range){ 0, 1 };
    Range all = range_type(t), had = range_type(of);
    if (t == MLC_INDEX && of == MLC_U64 && r.hi == PINF) return all;
    if (t == MLC_INDEX) { /* the bare end of a 32- or 64-bit type counts as none, also in sums */
        if (ty_bits(of) >= 32 && r.lo == had.lo && r.lo < 0) r.lo = NINF;
        if (ty_bits(of) >= 32 && r.hi == had.hi) r.hi = PINF;
        return r;
    }
    if (r.lo < all.lo || r.hi > all.hi) return all;
    /* An unbounded end lies outside of what the type can hold unless the types are alike. */
    return unbounded(r) && !(ty_bits(t) == 64 && (of == t || (of == MLC_INDEX && t == MLC_I64))) ? all : r;
}

static Range range_node(Sim *s, const Node *e) {
    mlc_type t = (mlc_type)e->type, all_t = t;
    Range all = range_type(all_t), any = { NINF, PINF };
    Range a = e->n > 0 ? sim_info(s, e->kid[0])->range : any, b = e->n > 1 ? sim_info(s, e->kid[1])->range : any;
    bool of_float = e->n > 0 && ty_is_float((mlc_type)e->kid[0]->type);
    if (ty_is_float(t)) return all;
    switch ((Op)e->op) {
    case OP_CONST: return t == MLC_U64 && e->u.i < 0 ? (Range){ PINF, PINF } : (Range){ e->u.i, e->u.i };
    case OP_VAR: return range_symbol(s, e);
    case OP_ACCESS: case OP_LOAD: return range_memory(s, e);
    case OP_ADD: case OP_SUB:
        if (t == MLC_INDEX) {
            const Lin *sum = lin_of(s, e);
            bool itself = sum->n == 1 && sum->at[0].atom == e; /* its coefficients overflow */
            if (!itself) return range_lin(s, sum);
        }
        return fit(t, range_binary((Op)e->op, a, b));
    case OP_MUL: return fit(t, range_mul(a, b));
    case OP_DIV: return t == MLC_U64 && (a.hi == PINF || b.hi == PINF) ? all : fit(t, range_div(a, b));
    case OP_MOD: return fit(t, range_mod(a, b));
    case OP_NEG: return fit(t, negated(a));
    case OP_ABS: {
        if (ty_is_unsigned(t)) return a;
        int64_t m = magnitude(a);
        return fit(t, (Range){ a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, m });
    }
    case OP_MIN: case OP_MAX: return range_binary((Op)e->op, a, b);
    case OP_SELECT: {
        Range c = sim_info(s, e->kid[2])->range;
        return (Range){ least(b.lo, c.lo), most(b.hi, c.hi) };
    }
    case OP_AND: case OP_OR: case OP_XOR: case OP_NOT: case OP_SHL: case OP_SHR:
    case OP_POPCOUNT: case OP_CLZ: case OP_CTZ:
        return range_bits((Op)e->op, t, a, b);
    case OP_EQ: case OP_NE: case OP_LT: case OP_LE: return of_float ? all : range_compare((Op)e->op, a, b);
    case OP_CAST: return range_cast(s, e);
    case OP_LIKELY: case OP_LIKELY_INNER: case OP_PRINT: return a;
    case OP_REQUIRE: return b;
    default: return all;
    }
}

static bool range_done(const Sim *s, const Info *i) {
    (void)s;
    return i->has_range;
}

static void range_fill(Sim *s, const Node *e, Info *i) {
    real_fill(s, e, i);
    i->range = range_node(s, e);
    if (i->range.lo > i->range.hi) i->range.hi = i->range.lo; /* contradictory facts: nothing runs here */
    i->has_range = true;
}

Range range_of(Sim *s, const Node *e) {
    Info *i = sim_info(s, e);
    if (!i->has_range) sim_walk(s, e, range_done, range_fill);
    return i->range;
}

FloatRange real_of(Sim *s, const Node *e) {
    range_of(s, e);
    return sim_info(s, e)->real;
}

Range range_lin(Sim *s, const Lin *a) {
    Range r = { a->c, a->c };
    for (int i = 0; i < a->n; i++) {
        Range k = { a->at[i].k, a->at[i].k };
        r = range_binary(OP_ADD, r, range_mul(k, range_of(s, a->at[i].atom)));
    }
    return r;
}
