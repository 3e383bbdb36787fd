/* prove.c - deciding comparisons of indices.
 *
 * A comparison is 0 <= d for a linear form d.  It holds if d's constant range says so, if a lower
 * bound does after ranged variables are eliminated, if d minus a form known to be >= 0 does, or if it
 * holds with a minimum or maximum inside replaced by its sides, or a quotient by what it divides.
 * Fuel bounds the search, of each proof and of all that it asks on its way: the nodes that it makes are simplified,
 * which proves, which makes nodes. */
#include "sim.h"

/* d >= 0 by ranges: eliminate from the inside, looking after each step. */
static bool by_ranges(Sim *s, const Lin *d) {
    for (;;) {
        if (range_lin(s, d).lo >= 0) return true;
        int depth = depth_lin(s, d);
        if (depth == 0) return false;
        const Node *why = s->why;
        d = bound_lin(s, d, depth, false);
        s->why = why;
        if (!d) return false;
    }
}

/* d with the term of `atom` replaced by e. */
static const Lin *replaced(Sim *s, const Lin *d, Term t, const Node *e) {
    return lin_add(s, lin_without(s, d, t.atom), lin_of(s, e), t.k);
}

static const Node *bare(const Node *e) {
    while (e->op == OP_LIKELY || e->op == OP_LIKELY_INNER) e = e->kid[0];
    return e;
}

enum { FUEL = 32, FUEL_TOGETHER = 256 };

static bool nonneg(Sim *s, const Lin *d, int *fuel);

/* Both sides of a minimum (of a maximum below a minus, of a select) must hold; of a maximum one. */
static bool by_cases(Sim *s, const Lin *d, int *fuel) {
    for (int i = 0; i < d->n; i++) {
        Term t = d->at[i];
        const Node *e = bare(t.atom);
        bool select = e->op == OP_SELECT;
        if (e->op != OP_MIN && e->op != OP_MAX && !select) {
            if (e == t.atom) continue;
            const Lin *l = replaced(s, d, t, e);
            return l && nonneg(s, l, fuel);
        }
        bool all = select || (e->op == OP_MIN) == (t.k > 0);
        const Lin *a = replaced(s, d, t, e->kid[select]), *b = replaced(s, d, t, e->kid[1 + select]);
        if (!a || !b) return false;
        if (all) return nonneg(s, a, fuel) && nonneg(s, b, fuel);
        if (nonneg(s, a, fuel) || nonneg(s, b, fuel)) return true;
    }
    return false;
}

/* The conditions joined by && below e, in `out`. */
static int conjuncts(const Node *e, const Node **out, int max) {
    const Node *todo[16] = { e };
    int n = 1, found = 0;
    while (n && found < max) {
        const Node *c = bare(todo[--n]);
        if (c->op == OP_LAND && n < 14) {
            todo[n++] = c->kid[1];
            todo[n++] = c->kid[0];
        } else {
            out[found++] = c;
        }
    }
    return found;
}

/* The truths of this scope as forms that are >= 0, made once. */
void sim_forms(Sim *s) {
    Scratch *scratch = s->scratch;
    s->scratch = NULL;
    for (; s->formed < s->truth.n; s->formed++) {
        const Node *part[16];
        int n = conjuncts(s->truth.at[s->formed], part, 16);
        for (int k = 0; k < n; k++) {
            const Lin *t = cond_lin(s, part[k]);
            if (t && t->n) VEC_PUSH(s->arena, &s->form, t);
            if (part[k]->op != OP_EQ || part[k]->kid[0]->type != MLC_INDEX) continue;
            t = lin_add(s, lin_of(s, part[k]->kid[0]), lin_of(s, part[k]->kid[1]), -1);
            if (t && t->n) VEC_PUSH(s->arena, &s->form, t); /* an equality helps either way */
            if (t && t->n && (t = lin_scale(s, t, -1))) VEC_PUSH(s->arena, &s->form, t);
        }
    }
    s->scratch = scratch;
}

/* Taking t from d helps only where it takes from a term that they share. */
static bool shares(const Lin *d, const Lin *t) {
    for (int i = 0, j = 0; i < d->n && j < t->n;) {
        uint32_t a = d->at[i].atom->id, b = t->at[j].atom->id;
        if (a == b && (d->at[i].k > 0) == (t->at[j].k > 0)) return true;
        i += a <= b;
        j += b <= a;
    }
    return false;
}

static bool by_truths(Sim *s, const Lin *d) {
    sim_forms(s);
    for (const Sim *at = s; at; at = at->up)
        for (int i = at->form.n; i-- > 0;) {
            const Lin *rest = shares(d, at->form.at[i]) ? lin_add(s, d, at->form.at[i], -1) : NULL;
            if (rest && by_ranges(s, rest)) return true;
        }
    return false;
}

/* Quotients by c relax to what is divided: c (a / c) is in [a - c + 1, a].  d is whole, so d >= 0 is
 * c d >= 1 - c. */
static bool by_quotients(Sim *s, const Lin *d, int *fuel) {
    int64_t c = 0, by;
    for (int i = 0; i < d->n && !c; i++)
        if (d->at[i].atom->op == OP_DIV && ir_is_int(d->at[i].atom->kid[1], &by) && by > 1) c = by;
    const Lin *sum = c ? lin_const(s, c - 1) : NULL, *times;
    for (int i = 0; sum && i < d->n; i++) {
        Term t = d->at[i];
        if (t.atom->op == OP_DIV && ir_is(t.atom->kid[1], c)) {
            const Lin *a = lin_of(s, t.atom->kid[0]);
            a = t.k > 0 ? lin_shift(s, a, 1 - c) : a;
            sum = a ? lin_add(s, sum, a, t.k) : NULL;
        } else {
            times = lin_scale(s, lin_of(s, t.atom), t.k);
            sum = times ? lin_add(s, sum, times, c) : NULL;
        }
    }
    sum = sum ? lin_add(s, sum, lin_const(s, d->c), c) : NULL;
    return sum && nonneg(s, sum, fuel);
}

static bool nonneg(Sim *s, const Lin *d, int *fuel) {
    if (by_ranges(s, d)) return true;
    if (--*fuel < 0 || --s->scratch->fuel < 0) return false;
    if (by_truths(s, d) || by_cases(s, d, fuel) || by_quotients(s, d, fuel)) return true;
    int depth = depth_lin(s, d);
    const Node *why = s->why;
    const Lin *outer = depth ? bound_lin(s, d, depth, false) : NULL;
    s->why = why;
    return outer && nonneg(s, outer, fuel);
}

bool prove_nonneg(Sim *s, const Lin *d) {
    if (range_lin(s, d).lo >= 0) return true;
    if (!d->n) return false;
    Info *i = sim_info(s, lin_node(s, d));
    if (i->nonneg == NONNEG_UNASKED) {
        int fuel = FUEL;
        Scratch *outer = s->scratch, *own = s->scratch = sim_scratch(s->I);
        size_t mark = own->used;
        if (!own->proofs++) own->fuel = FUEL_TOGETHER;
        i->nonneg = nonneg(s, d, &fuel) ? NONNEG_YES : NONNEG_NO;
        own->proofs--;
        own->used = mark;
        s->scratch = outer;
    }
    return i->nonneg == NONNEG_YES;
}

const Lin *cond_lin(Sim *s, const Node *cond) {
    bool lt = cond->op == OP_LT;
    if (cond->op == OP_LNOT && (cond->kid[0]->op == OP_LT || cond->kid[0]->op == OP_LE) &&
        cond->kid[0]->kid[0]->type == MLC_INDEX) { /* !(a < b) is 0 <= a - b */
        const Node *c = cond->kid[0];
        const Lin *d = lin_add(s, lin_of(s, c->kid[0]), lin_of(s, c->kid[1]), -1);
        return d && c->op == OP_LE ? lin_shift(s, d, -1) : d;
    }
    if ((!lt && cond->op != OP_LE) || cond->kid[0]->type != MLC_INDEX) return NULL;
    const Lin *d = lin_add(s, lin_of(s, cond->kid[1]), lin_of(s, cond->kid[0]), -1);
    return d && lt ? lin_shift(s, d, -1) : d;
}

bool prove(Sim *s, const Node *cond) {
    const Node *part[16];
    int n = conjuncts(cond, part, 16);
    if (n == 16) return ir_is(bare(simple(s, cond)), 1);
    for (int i = 0; i < n; i++) {
        const Lin *d = cond_lin(s, part[i]);
        if (d && prove_nonneg(s, d)) continue;
        const Node *e = simple(s, part[i]);
        if (ir_is(bare(e), 1)) continue;
        d = cond_lin(s, bare(e)); /* simplification may have divided by a common factor */
        if (!d || !prove_nonneg(s, d)) return false;
    }
    return true;
}
