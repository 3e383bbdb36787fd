/* logic.c - comparisons and conditions: algebra `index` for comparisons, `any` for the rest.
 *
 * A comparison of indices is normalised by moving everything to one side, dividing by the common
 * factor, and giving each side its positive terms: 2 x + 4 <= 2 y + 9 is x <= y + 2. */
#include "sim.h"

static const Node *truth(Sim *s, bool v) {
    return ir_bool(s->I, v);
}

static bool is_likely(const Node *e) {
    return e->op == OP_LIKELY || e->op == OP_LIKELY_INNER;
}

/* ---- comparisons of indices ---- */

/* d's positive terms, or its negative ones negated; no constant. */
static const Node *side(Sim *s, const Lin *d, bool positive) {
    const Lin *sum = lin_const(s, 0);
    for (int i = 0; i < d->n; i++)
        if ((d->at[i].k > 0) == positive) {
            const Lin *more = lin_add(s, sum, lin_of(s, d->at[i].atom), positive ? d->at[i].k : -d->at[i].k);
            if (!more) return NULL;
            sum = more;
        }
    return lin_node(s, sum);
}

static const Node *plus(Sim *s, const Node *e, int64_t c) {
    const Lin *l = lin_shift(s, lin_of(s, e), c);
    return l ? lin_node(s, l) : NULL;
}

/* d with coefficients over their common factor g; the constant rounds down. */
static const Lin *over(Sim *s, const Lin *d, int64_t g) {
    const Lin *sum = lin_const(s, floor_div(d->c, g));
    for (int i = 0; sum && i < d->n; i++) sum = lin_add(s, sum, lin_of(s, d->at[i].atom), d->at[i].k / g);
    return sum;
}

/* 0 <= d as a comparison in normal form; NULL where that overflows. */
static const Node *written(Sim *s, const Lin *d) {
    int64_t g = lin_gcd(d);
    if (g > 1) d = over(s, d, g);
    const Node *p = d ? side(s, d, true) : NULL, *n = d ? side(s, d, false) : NULL, *end;
    if (!p || !n) return NULL;
    if (ir_is_const(p)) { /* n <= c is n < c + 1 */
        int64_t c;
        return __builtin_add_overflow(d->c, 1, &c) ? NULL : ir_make2(s->I, OP_LT, n, ir_idx(s->I, c));
    }
    if (ir_is_const(n)) return ir_make2(s->I, OP_LE, ir_idx(s->I, -d->c), p);
    if (d->c == -1) return ir_make2(s->I, OP_LT, n, p);
    end = d->c < 0 ? plus(s, n, -d->c) : plus(s, p, d->c);
    if (!end) return NULL;
    return d->c < 0 ? ir_make2(s->I, OP_LE, end, p) : ir_make2(s->I, OP_LE, n, end);
}

static const Lin *negation(Sim *s, const Lin *d) { /* not 0 <= d: 0 <= -d - 1 */
    const Lin *n = lin_scale(s, d, -1);
    return n ? lin_shift(s, n, -1) : NULL;
}

static const Node *order(Sim *s, const Node *e) {
    const Lin *d = cond_lin(s, e), *n = d ? negation(s, d) : NULL;
    if (!d || !n) return e;
    if (prove_nonneg(s, d)) return truth(s, true);
    if (prove_nonneg(s, n)) return truth(s, false);
    const Node *w = written(s, d);
    return w ? w : e;
}

static const Node *equality(Sim *s, const Node *e) {
    bool eq = e->op == OP_EQ;
    const Lin *d = lin_add(s, lin_of(s, e->kid[0]), lin_of(s, e->kid[1]), -1);
    if (d && d->n && d->at[0].k < 0) d = lin_scale(s, d, -1);
    const Lin *n = d ? lin_scale(s, d, -1) : NULL;
    if (!n) return e;
    Congruence c = congruence_lin(s, d);
    if (c.modulus == 0) return truth(s, (c.remainder == 0) == eq);
    if (c.remainder) return truth(s, !eq);
    bool ge = prove_nonneg(s, d), le = prove_nonneg(s, n);
    if (ge && le) return truth(s, eq);
    const Lin *above = lin_shift(s, d, -1), *below = lin_shift(s, n, -1);
    if ((above && prove_nonneg(s, above)) || (below && prove_nonneg(s, below))) return truth(s, !eq);
    int64_t g = lin_gcd(d);
    if (d->c % g) return truth(s, !eq);
    const Lin *small = over(s, d, g);
    const Node *p = small ? side(s, small, true) : NULL, *q = small ? side(s, small, false) : NULL;
    q = q ? plus(s, q, -small->c) : NULL;
    return p && q ? ir_make2(s->I, (Op)e->op, p, q) : e;
}

/* ---- conjunctions and disjunctions ---- */

enum { MAX_PARTS = 16 };

typedef struct {
    const Node *at[MAX_PARTS];
    int n;
} Parts;

static bool flatten(const Node *e, Op op, Parts *out) {
    const Node *todo[MAX_PARTS] = { e };
    int n = 1;
    while (n) {
        const Node *c = todo[--n];
        if (c->op == op && n + 2 <= MAX_PARTS) {
            todo[n++] = c->kid[1];
            todo[n++] = c->kid[0];
        } else if (out->n == MAX_PARTS) {
            return false;
        } else {
            out->at[out->n++] = c;
        }
    }
    return true;
}

/* Does a imply b, by one linear form being the other plus a constant? */
static bool implies(Sim *s, const Node *a, const Node *b) {
    if (a == b) return true;
    const Lin *x = cond_lin(s, a), *y = cond_lin(s, b), *d = x && y ? lin_add(s, y, x, -1) : NULL;
    return d && d->n == 0 && d->c >= 0;
}

/* Can a and b never hold at once? */
static bool excludes(Sim *s, const Node *a, const Node *b) {
    if (ir_make1(s->I, OP_LNOT, a) == b || ir_make1(s->I, OP_LNOT, b) == a) return true;
    const Lin *x = cond_lin(s, a), *y = cond_lin(s, b), *d = x && y ? lin_add(s, x, y, 1) : NULL;
    return d && d->n == 0 && d->c < 0;
}

static const Node *inverse(Sim *s, const Node *e) {
    return simple(s, ir_make1(s->I, OP_LNOT, e));
}

/* Removes what the others make needless; true when the whole is decided (`false` for &&). */
static bool reduce(Sim *s, Op op, Parts *p) {
    bool conj = op == OP_LAND;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) {
            if (i == j) continue;
            const Node *a = p->at[i], *b = p->at[j];
            if (i < j && (conj ? excludes(s, a, b) : excludes(s, inverse(s, a), inverse(s, b)))) return true;
            if (!(conj ? implies(s, a, b) : implies(s, b, a))) continue;
            for (int k = j; k + 1 < p->n; k++) p->at[k] = p->at[k + 1];
            p->n--;
            i -= j < i;
            j--;
        }
    return false;
}

static const Node *junction(Sim *s, const Node *e) {
    Parts p = { .n = 0 };
    Op op = (Op)e->op, dual = op == OP_LAND ? OP_LOR : OP_LAND;
    if (!flatten(e, op, &p)) return e;
    if (reduce(s, op, &p)) return truth(s, op == OP_LOR);
    for (int i = 0; i < p.n; i++) { /* a && (a || b) is a */
        bool absorbed = false;
        for (int j = 0; j < p.n && p.at[i]->op == dual; j++)
            absorbed |= j != i && (p.at[i]->kid[0] == p.at[j] || p.at[i]->kid[1] == p.at[j]);
        if (absorbed) p.at[i--] = p.at[--p.n];
    }
    for (int i = 1; i < p.n; i++)
        for (int j = i; j > 0 && p.at[j]->id < p.at[j - 1]->id; j--) {
            const Node *swap = p.at[j];
            p.at[j] = p.at[j - 1];
            p.at[j - 1] = swap;
        }
    const Node *all = p.at[0];
    for (int i = 1; i < p.n; i++) all = ir_make2(s->I, op, all, p.at[i]);
    return all;
}

/* !(a < b) is b <= a where there is no NaN; negations move inwards. */
static const Node *negated(Sim *s, const Node *e) {
    const Node *c = e->kid[0];
    if ((c->op == OP_LT || c->op == OP_LE) && !ty_is_float((mlc_type)c->kid[0]->type))
        return simple(s, ir_make2(s->I, c->op == OP_LT ? OP_LE : OP_LT, c->kid[1], c->kid[0]));
    if (c->op != OP_LAND && c->op != OP_LOR) return e;
    return simple(s, ir_make2(s->I, c->op == OP_LAND ? OP_LOR : OP_LAND, inverse(s, c->kid[0]), inverse(s, c->kid[1])));
}

/* Is e, or its opposite, one of the conditions known to hold? */
static const Node *known(Sim *s, const Node *e) {
    for (const Sim *at = s; at; at = at->up)
        for (int i = 0; i < at->truth.n; i++) {
            Parts p = { .n = 0 };
            flatten(at->truth.at[i], OP_LAND, &p);
            for (int k = 0; k < p.n; k++) {
                const Node *t = is_likely(p.at[k]) ? p.at[k]->kid[0] : p.at[k];
                if (t == e) return truth(s, true);
                if (t == ir_make1(s->I, OP_LNOT, e)) return truth(s, false);
            }
        }
    return e;
}

const Node *step_logic(Sim *s, const Node *e) {
    const Node *now = e->type == MLC_BOOL && e->op != OP_SELECT ? known(s, e) : e;
    if (now != e) return now;
    bool index = e->n > 0 && e->kid[0]->type == MLC_INDEX;
    switch ((Op)e->op) {
    case OP_LT: case OP_LE: return index ? order(s, e) : e;
    case OP_EQ: case OP_NE: return index ? equality(s, e) : e;
    case OP_LAND: case OP_LOR: return junction(s, e);
    case OP_LNOT: return negated(s, e);
    default: return e;
    }
}
