/* index.c - sums, quotients, remainders, minima and maxima of indices: algebra `index`.
 *
 * Indices do not overflow, so all of integer arithmetic holds.  Every function takes a node whose
 * operands are simplified and gives the normal form of it. */
#include "sim.h"

/* ---- division by a positive constant ---- */

typedef struct {
    const Lin *quotient; /* what divides by c without remainder */
    const Lin *rest;     /* x = c * quotient + rest, rest's constant in [0, c) */
} Parts;

static Parts parts(Sim *s, const Lin *x, int64_t c) {
    Parts p = { lin_const(s, floor_div(x->c, c)), lin_const(s, floor_mod(x->c, c)) };
    for (int i = 0; p.quotient && p.rest && i < x->n; i++) {
        const Lin *t = lin_of(s, x->at[i].atom);
        if (x->at[i].k % c == 0) p.quotient = lin_add(s, p.quotient, t, x->at[i].k / c);
        else p.rest = lin_add(s, p.rest, t, x->at[i].k);
    }
    return p;
}

/* The part of x whose coefficients g divides, over g, and the others; the constant goes to `others`
 * but for its multiple of g. */
static bool split_by(Sim *s, const Lin *x, int64_t g, const Lin **multiple, const Lin **others) {
    Parts p = parts(s, x, g);
    *multiple = p.quotient;
    *others = p.rest;
    return p.quotient && p.rest && p.quotient->n > 0;
}

/* Is 0 <= x < end? */
static bool within(Sim *s, const Lin *x, int64_t end) {
    const Lin *left = lin_scale(s, x, -1);
    left = left ? lin_shift(s, left, end - 1) : NULL;
    return left && prove_nonneg(s, x) && prove_nonneg(s, left);
}

/* floor(x / c), where that is one number for all x. */
static bool block_of(Sim *s, const Lin *x, int64_t c, int64_t *q) {
    Range r = range_lin(s, x);
    if (r.lo != NINF && r.hi != PINF && floor_div(r.lo, c) == floor_div(r.hi, c)) {
        *q = floor_div(r.lo, c);
        return true;
    }
    *q = 0;
    return within(s, x, c);
}

/* A coefficient's common factor g with c such that what g does not divide stays in [0, g): then
 * (g m + r) / (g c') is m / c', and the remainder is g (m % c') + r. */
static int64_t inner_factor(Sim *s, const Lin *x, int64_t c, const Lin **multiple, const Lin **others) {
    for (int i = 0; i < x->n; i++) {
        int64_t g = int_gcd(x->at[i].k, c);
        if (g > 1 && g < c && split_by(s, x, g, multiple, others) && within(s, *others, g)) return g;
    }
    return 1;
}

static const Node *raw_div(Sim *s, const Lin *x, int64_t c) {
    return ir_make2(s->I, OP_DIV, lin_node(s, x), ir_idx(s->I, c));
}

static const Node *quotient(Sim *s, const Lin *x, int64_t c);

/* floor(rest / c) for a rest that is not in one block. */
static const Node *quotient_rest(Sim *s, const Lin *x, int64_t c) {
    const Lin *m, *r;
    int64_t g = inner_factor(s, x, c, &m, &r);
    if (g > 1) return quotient(s, m, c / g);
    const Node *atom = x->n == 1 && x->at[0].k == 1 ? x->at[0].atom : NULL;
    int64_t a, product, k;
    if (atom && atom->op == OP_DIV && ir_is_int(atom->kid[1], &a) && a > 0 && !__builtin_mul_overflow(a, c, &product) &&
        !__builtin_mul_overflow(a, x->c, &k)) { /* (x / a + k) / c is (x + k a) / (a c) */
        const Lin *inner = lin_shift(s, lin_of(s, atom->kid[0]), k);
        if (inner) return quotient(s, inner, product);
    }
    return raw_div(s, x, c);
}

static const Node *quotient(Sim *s, const Lin *x, int64_t c) {
    int64_t block;
    if (c == 1) return lin_node(s, x);
    Parts p = parts(s, x, c);
    if (!p.quotient || !p.rest) return raw_div(s, x, c);
    if (block_of(s, p.rest, c, &block)) {
        const Lin *q = lin_shift(s, p.quotient, block);
        return q ? lin_node(s, q) : raw_div(s, x, c);
    }
    const Node *tail = quotient_rest(s, p.rest, c);
    const Lin *sum = lin_add(s, p.quotient, lin_of(s, tail), 1);
    return sum ? lin_node(s, sum) : raw_div(s, x, c);
}

static const Node *raw_mod(Sim *s, const Lin *x, int64_t c) {
    return ir_make2(s->I, OP_MOD, lin_node(s, x), ir_idx(s->I, c));
}

/* Coefficients brought below c: 5 x and x leave the same remainder by 4. */
static const Lin *reduced(Sim *s, const Lin *x, int64_t c) {
    const Lin *sum = lin_const(s, x->c);
    for (int i = 0; sum && i < x->n; i++) sum = lin_add(s, sum, lin_of(s, x->at[i].atom), x->at[i].k % c);
    return sum;
}

static const Node *remainder_of(Sim *s, const Lin *x, int64_t c) {
    int64_t block;
    if (c == 1) return ir_idx(s->I, 0);
    Parts p = parts(s, x, c);
    if (p.rest) p.rest = reduced(s, p.rest, c);
    if (!p.rest) return raw_mod(s, x, c);
    Congruence g = congruence_lin(s, p.rest);
    if (g.modulus % c == 0) return ir_idx(s->I, floor_mod(g.remainder, c));
    if (block_of(s, p.rest, c, &block)) {
        const Lin *r = lin_add(s, p.rest, lin_const(s, c), -block);
        return r ? lin_node(s, r) : raw_mod(s, x, c);
    }
    const Lin *m, *r;
    int64_t f = inner_factor(s, p.rest, c, &m, &r);
    if (f > 1) {
        const Lin *sum = lin_add(s, r, lin_of(s, remainder_of(s, m, c / f)), f);
        if (sum) return lin_node(s, sum);
    }
    const Node *atom = p.rest->n == 1 && p.rest->at[0].k == 1 ? p.rest->at[0].atom : NULL;
    int64_t a;
    if (atom && atom->op == OP_MOD && ir_is_int(atom->kid[1], &a) && a > 0 && a % c == 0) { /* (x % a + k) % c */
        const Lin *inner = lin_shift(s, lin_of(s, atom->kid[0]), p.rest->c);
        if (inner) return remainder_of(s, inner, c);
    }
    return raw_mod(s, p.rest, c);
}

/* ---- sums ---- */

/* (x / c) * (c k) + (x % c) * k is x * k. */
static const Lin *joined(Sim *s, const Lin *x) {
    for (int i = 0; i < x->n; i++) {
        const Node *m = x->at[i].atom;
        int64_t c, ck;
        if (m->op != OP_MOD || !ir_is_int(m->kid[1], &c) || __builtin_mul_overflow(c, x->at[i].k, &ck)) continue;
        for (int j = 0; j < x->n; j++) {
            const Node *d = x->at[j].atom;
            if (d->op != OP_DIV || d->kid[1] != m->kid[1] || d->kid[0] != m->kid[0] || x->at[j].k != ck) continue;
            const Lin *rest = lin_without(s, lin_without(s, x, m), d);
            rest = lin_add(s, rest, lin_of(s, m->kid[0]), x->at[i].k);
            return rest ? rest : x;
        }
    }
    return x;
}

/* A name that is known to be a sum goes where that cancels: y - y.min + 4 with y.min = y - 3 is 7. */
static const Lin *shortened(Sim *s, const Lin *x) {
    for (int i = 0; i < x->n; i++) {
        const Node *v = x->at[i].atom;
        const Bound *b = v->op == OP_VAR ? sim_find(s, v->u.sym) : NULL;
        const Node *value = b ? b->f->range.lo : NULL;
        if (!value || value != b->f->range.hi || depth_of(s, value) >= b->depth) continue;
        const Lin *l = lin_add(s, lin_without(s, x, v), lin_of(s, value), x->at[i].k);
        if (l && l->n < x->n) return shortened(s, l);
    }
    return x;
}

const Node *step_index(Sim *s, const Node *e) {
    int64_t c;
    if (e->op == OP_DIV && ir_is_int(e->kid[1], &c) && c > 0) return quotient(s, lin_of(s, e->kid[0]), c);
    if (e->op == OP_MOD && ir_is_int(e->kid[1], &c) && c > 0) return remainder_of(s, lin_of(s, e->kid[0]), c);
    if ((e->op == OP_DIV || e->op == OP_MOD) && ir_is_int(e->kid[1], &c) && c < 0 && c != INT64_MIN) {
        const Lin *x = lin_of(s, e->kid[0]); /* Euclid: x / -c is -(x / c), x % -c is x % c */
        if (e->op == OP_MOD) return remainder_of(s, x, -c);
        const Lin *q = lin_scale(s, lin_of(s, quotient(s, x, -c)), -1);
        return q ? lin_node(s, q) : e;
    }
    if (e->op == OP_DIV || e->op == OP_MOD) return e;
    return lin_node(s, shortened(s, joined(s, lin_of(s, e))));
}

/* ---- minima and maxima ---- */

enum { MAX_ARGS = 12 };

typedef struct {
    const Lin *at[MAX_ARGS];
    int n;
} Args;

/* The arguments of nested minima (or maxima), also of min(...) + rest: min(a + rest, b + rest). */
static bool gather(Sim *s, Op op, const Lin *x, Args *out, int depth) {
    for (int i = 0; i < x->n && depth < 8; i++) {
        const Node *m = x->at[i].atom;
        if (m->op != op || x->at[i].k != 1) continue;
        const Lin *rest = lin_without(s, x, m);
        const Lin *a = lin_add(s, rest, lin_of(s, m->kid[0]), 1), *b = lin_add(s, rest, lin_of(s, m->kid[1]), 1);
        if (!a || !b) break;
        int before = out->n;
        if (gather(s, op, a, out, depth + 1) && gather(s, op, b, out, depth + 1)) return true;
        out->n = before;
        break;
    }
    if (out->n == MAX_ARGS) return false;
    out->at[out->n++] = x;
    return true;
}

/* Does a always win over b in op? */
static bool wins(Sim *s, Op op, const Lin *a, const Lin *b) {
    const Lin *d = op == OP_MIN ? lin_add(s, b, a, -1) : lin_add(s, a, b, -1);
    return d && prove_nonneg(s, d);
}

static void drop_losers(Sim *s, Op op, Args *g) {
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < g->n; j++) {
            if (i == j || !wins(s, op, g->at[i], g->at[j])) continue;
            for (int k = j; k + 1 < g->n; k++) g->at[k] = g->at[k + 1];
            g->n--;
            i -= j < i;
            j--;
        }
}

/* What all arguments have in common: terms of equal coefficients, and an equal constant. */
static const Lin *common(Sim *s, const Args *g) {
    const Lin *sum = lin_const(s, 0);
    for (int i = 0; i < g->at[0]->n; i++) {
        Term t = g->at[0]->at[i];
        bool all = true;
        for (int j = 1; j < g->n; j++) all &= lin_coefficient(g->at[j], t.atom) == t.k;
        const Lin *more = all ? lin_add(s, sum, lin_of(s, t.atom), t.k) : NULL;
        if (more) sum = more;
    }
    bool same = true;
    for (int j = 1; j < g->n; j++) same &= g->at[j]->c == g->at[0]->c;
    const Lin *shifted = same ? lin_shift(s, sum, g->at[0]->c) : NULL;
    return shifted ? shifted : sum;
}

/* Constants last, others by id: a stable order. */
static bool before(const Node *a, const Node *b) {
    if (ir_is_const(a) != ir_is_const(b)) return ir_is_const(b);
    return a->id < b->id;
}

static const Node *folded(Sim *s, Op op, const Args *g, const Lin *shared) {
    const Node *arg[MAX_ARGS] = { NULL };
    for (int i = 0; i < g->n; i++) {
        const Lin *d = lin_add(s, g->at[i], shared, -1);
        if (!d) return NULL;
        arg[i] = lin_node(s, d);
        for (int j = i; j > 0 && before(arg[j], arg[j - 1]); j--) {
            const Node *swap = arg[j];
            arg[j] = arg[j - 1];
            arg[j - 1] = swap;
        }
    }
    const Node *m = arg[0];
    for (int i = 1; i < g->n; i++) m = ir_make2(s->I, op, m, arg[i]);
    return m;
}

/* A minimum of maxima that share an argument: min(max(a, b), max(a, c)) is max(a, min(b, c)); and
 * min(a, max(a, b)) is a. */
static const Node *absorbed(Sim *s, const Node *e) {
    Op op = (Op)e->op, dual = op == OP_MIN ? OP_MAX : OP_MIN;
    const Node *a = e->kid[0], *b = e->kid[1];
    for (int i = 0; i < 2; i++) {
        const Node *x = i ? b : a, *y = i ? a : b;
        if (y->op == dual && (y->kid[0] == x || y->kid[1] == x)) return x;
    }
    if (a->op != dual || b->op != dual) return e;
    for (int i = 0; i < 4; i++)
        if (a->kid[i & 1] == b->kid[i >> 1])
            return ir_make2(s->I, dual, a->kid[i & 1], ir_make2(s->I, op, a->kid[1 - (i & 1)], b->kid[1 - (i >> 1)]));
    return e;
}

const Node *step_minmax(Sim *s, const Node *e) {
    const Node *short_form = absorbed(s, e);
    if (short_form != e) return simple(s, short_form);
    Args g = { .n = 0 };
    for (int i = 0; i < 2; i++)
        if (!gather(s, (Op)e->op, lin_of(s, e->kid[i]), &g, 0)) return e;
    drop_losers(s, (Op)e->op, &g);
    if (g.n == 1) return lin_node(s, g.at[0]);
    const Lin *shared = common(s, &g);
    const Node *m = folded(s, (Op)e->op, &g, shared);
    const Lin *sum = m ? lin_add(s, shared, lin_of(s, m), 1) : NULL;
    return sum ? lin_node(s, sum) : e;
}
