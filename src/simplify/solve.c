/* solve.c - for which values of a variable a condition holds.
 *
 * A comparison is 0 <= d.  Variables inside v's scope are eliminated first: by a lower bound of d
 * where the answer must be certain ("inner"), by an upper bound where what is left out must be
 * certain ("outer").  What remains is solved for v: a linear term by a division that rounds the
 * right way, a division of v by multiplying back, a minimum or maximum by cases, also inside a division. */
#include "sim.h"

typedef struct {
    Interval in;
    bool known; /* false: nothing is certain (inner), anything may be (outer) */
    bool empty;
} Solution;

typedef struct {
    Sim *s;
    const Sym *v;
    int depth;  /* v's */
    bool inner;
    int fuel;
} Solver;

static const Solution unknown = { { NULL, NULL }, false, false };
static const Solution everything = { { NULL, NULL }, true, false };

static Solution nothing(Solver *z) {
    return (Solution){ { ir_idx(z->s->I, 1), ir_idx(z->s->I, 0) }, true, true };
}

static const Node *pick(Solver *z, Op op, const Node *a, const Node *b) {
    return a && b ? ir_make2(z->s->I, op, a, b) : NULL;
}

static Solution both(Solver *z, Solution a, Solution b) {
    if (!a.known || !b.known) return z->inner ? unknown : a.known ? a : b;
    if (a.empty || b.empty) return nothing(z);
    Solution r = everything;
    r.in.lo = a.in.lo && b.in.lo ? pick(z, OP_MAX, a.in.lo, b.in.lo) : a.in.lo ? a.in.lo : b.in.lo;
    r.in.hi = a.in.hi && b.in.hi ? pick(z, OP_MIN, a.in.hi, b.in.hi) : a.in.hi ? a.in.hi : b.in.hi;
    return r;
}

static bool is_all(Solution a) {
    return a.known && !a.empty && !a.in.lo && !a.in.hi;
}

static Solution either(Solver *z, Solution a, Solution b) {
    if (is_all(a) || is_all(b)) return everything;
    if (!a.known || !b.known) return !z->inner ? unknown : a.known ? a : b;
    if (a.empty || b.empty) return a.empty ? b : a;
    Solution hull = everything;
    hull.in.lo = pick(z, OP_MIN, a.in.lo, b.in.lo);
    hull.in.hi = pick(z, OP_MAX, a.in.hi, b.in.hi);
    /* The hull of two half-lines of one direction is their union; other hulls may have a gap inside. */
    bool rays = (!a.in.hi && !b.in.hi) || (!a.in.lo && !b.in.lo);
    return z->inner && !rays ? a : hull;
}

static Solution solve_lin(Solver *z, const Lin *d);

static Solution solve_replaced(Solver *z, const Lin *d, Term t, const Node *e) {
    const Lin *l = lin_add(z->s, lin_without(z->s, d, t.atom), lin_of(z->s, e), t.k);
    return l ? solve_lin(z, l) : unknown;
}

/* floor(b / k) for k > 0 */
static const Node *floored(Solver *z, const Lin *b, int64_t k) {
    return simple(z->s, ir_make2(z->s->I, OP_DIV, lin_node(z->s, b), ir_idx(z->s->I, k)));
}

/* 0 <= k v + b */
static Solution solve_linear(Solver *z, int64_t k, const Lin *b) {
    Solution r = everything;
    if (k < 0) {
        r.in.hi = floored(z, b, -k);
    } else {
        const Lin *n = lin_scale(z->s, b, -1);
        n = n ? lin_shift(z->s, n, k - 1) : NULL; /* ceil(-b / k) */
        if (!n) return unknown;
        r.in.lo = floored(z, n, k);
    }
    return r;
}

/* 0 <= k (a / c) + b with v in a: k > 0: a >= c ceil(-b / k); k < 0: a <= c floor(b / -k) + c - 1 */
static Solution solve_quotient(Solver *z, Term t, const Lin *b) {
    Sim *s = z->s;
    const Node *a = t.atom->kid[0];
    int64_t c = t.atom->kid[1]->u.i;
    const Lin *m = t.k < 0 ? b : lin_scale(s, b, -1), *d;
    if (t.k > 0 && m) m = lin_shift(s, m, t.k - 1);
    if (!m) return unknown;
    const Lin *q = lin_of(s, floored(z, m, t.k < 0 ? -t.k : t.k)), *qc = lin_scale(s, q, t.k < 0 ? c : -c);
    if (t.k < 0 && qc) qc = lin_shift(s, qc, c - 1);
    d = qc ? lin_add(s, qc, lin_of(s, a), t.k < 0 ? -1 : 1) : NULL;
    return d ? solve_lin(z, d) : unknown;
}

static Solution decide(Solver *z, const Lin *d) {
    if (prove_nonneg(z->s, d)) return everything;
    const Lin *n = lin_scale(z->s, d, -1);
    n = n ? lin_shift(z->s, n, -1) : NULL;
    return n && prove_nonneg(z->s, n) ? nothing(z) : unknown;
}

static bool is_v(const Solver *z, const Node *e) {
    return e->op == OP_VAR && e->u.sym == z->v;
}

/* d with its term t, a quotient over a positive constant, whose dividend has a minimum or maximum that uses v:
 * division is monotone, so min(a, b) / c is min(a / c, b / c).  False where there is none. */
static bool solve_cases_of_quotient(Solver *z, const Lin *d, Term t, Solution *r) {
    Sim *s = z->s;
    const Lin *n = lin_of(s, t.atom->kid[0]);
    for (int i = 0; i < n->n; i++) {
        Term m = n->at[i];
        if ((m.atom->op != OP_MIN && m.atom->op != OP_MAX) || depth_of(s, m.atom) < z->depth) continue;
        Solution k[2];
        for (int j = 0; j < 2; j++) {
            const Node *e = m.atom->kid[j];
            while (e->op == OP_LIKELY || e->op == OP_LIKELY_INNER) e = e->kid[0];
            const Lin *l = lin_add(s, lin_without(s, n, m.atom), lin_of(s, e), m.k);
            if (!l) return false;
            k[j] = solve_replaced(z, d, t, simple(s, ir_make2(s->I, OP_DIV, lin_node(s, l), t.atom->kid[1])));
        }
        bool least = (m.atom->op == OP_MIN) == (m.k > 0);
        *r = least == (t.k > 0) ? both(z, k[0], k[1]) : either(z, k[0], k[1]);
        return true;
    }
    return false;
}

/* A term that is not v itself but uses v. */
static Solution solve_term(Solver *z, const Lin *d, Term t) {
    const Node *e = t.atom;
    int64_t c;
    switch ((Op)e->op) {
    case OP_LIKELY: case OP_LIKELY_INNER: case OP_PRINT: return solve_replaced(z, d, t, e->kid[0]);
    case OP_MIN: case OP_MAX: {
        Solution a = solve_replaced(z, d, t, e->kid[0]), b = solve_replaced(z, d, t, e->kid[1]);
        return (e->op == OP_MIN) == (t.k > 0) ? both(z, a, b) : either(z, a, b);
    }
    case OP_DIV: {
        Solution r;
        if (!ir_is_int(e->kid[1], &c) || c <= 0) break;
        if (depth_lin(z->s, lin_without(z->s, d, e)) < z->depth) return solve_quotient(z, t, lin_without(z->s, d, e));
        if (solve_cases_of_quotient(z, d, t, &r)) return r;
        break;
    }
    default: break;
    }
    Interval i = bound_node(z->s, e, z->depth); /* v % 8 is in [0, 7] */
    const Node *end = (t.k > 0) == z->inner ? i.lo : i.hi;
    return end && depth_of(z->s, end) < z->depth ? solve_replaced(z, d, t, end) : unknown;
}

static Solution solve_lin(Solver *z, const Lin *d) {
    Sim *s = z->s;
    int depth;
    if (--z->fuel < 0) return unknown;
    while ((depth = depth_lin(s, d)) > z->depth)
        if (!(d = bound_lin(s, d, depth, !z->inner))) return unknown;
    if (depth < z->depth) return decide(z, d);
    Term own = { NULL, 0 };
    for (int i = 0; i < d->n; i++) {
        if (depth_of(s, d->at[i].atom) < z->depth) continue;
        if (!is_v(z, d->at[i].atom)) return solve_term(z, d, d->at[i]);
        own = d->at[i];
    }
    return solve_linear(z, own.k, lin_without(s, d, own.atom));
}

/* cond, or its opposite. */
static Solution solve(Solver *z, const Node *cond, bool not) {
    Sim *s = z->s;
    int64_t c;
    if (--z->fuel < 0) return unknown;
    if (ir_is_int(cond, &c)) return (c != 0) != not ? everything : nothing(z);
    const Lin *d = cond_lin(s, cond);
    if (d && not) {
        d = lin_scale(s, d, -1);
        d = d ? lin_shift(s, d, -1) : NULL;
    }
    if (d) return solve_lin(z, d);
    switch ((Op)cond->op) {
    case OP_LIKELY: case OP_LIKELY_INNER: return solve(z, cond->kid[0], not);
    case OP_LNOT: return solve(z, cond->kid[0], !not);
    case OP_LAND: case OP_LOR: {
        Solution a = solve(z, cond->kid[0], not), b = solve(z, cond->kid[1], not);
        return (cond->op == OP_LAND) != not ? both(z, a, b) : either(z, a, b);
    }
    case OP_EQ: case OP_NE: {
        if (cond->kid[0]->type != MLC_INDEX) return unknown;
        bool equal = (cond->op == OP_EQ) != not; /* a <= b and b <= a, or not one of them */
        Solution a = solve(z, ir_make2(s->I, OP_LE, cond->kid[0], cond->kid[1]), !equal);
        Solution b = solve(z, ir_make2(s->I, OP_LE, cond->kid[1], cond->kid[0]), !equal);
        return equal ? both(z, a, b) : either(z, a, b);
    }
    default: return unknown;
    }
}

static Interval run(Interner *I, const Facts *f, const Node *cond, const Sym *v, bool inner, bool *ok) {
    Sim s;
    sim_open(&s, I, f);
    s.open = v;
    const Bound *b = sim_find(&s, v);
    Solver z = { .s = &s, .v = v, .depth = b ? b->depth : 1, .inner = inner, .fuel = 64 };
    Solution r = solve(&z, simple(&s, cond), false);
    *ok = r.known;
    if (!r.known) r.in = (Interval){ NULL, NULL };
    if (r.in.lo) r.in.lo = simple(&s, r.in.lo);
    if (r.in.hi) r.in.hi = simple(&s, r.in.hi);
    sim_close(&s);
    return r.in;
}

Interval sim_solve_inner(Interner *I, const Facts *f, const Node *cond, const Sym *v, bool *ok) {
    return run(I, f, cond, v, true, ok);
}

Interval sim_solve_outer(Interner *I, const Facts *f, const Node *cond, const Sym *v, bool *ok) {
    return run(I, f, cond, v, false, ok);
}
