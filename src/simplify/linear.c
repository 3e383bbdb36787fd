/* linear.c - index expressions as sums of terms with integer coefficients.
 *
 * Two index expressions that differ only in the order and grouping of additions, in constants that
 * were multiplied out or in terms that cancel have one linear form, so that comparing them is a
 * subtraction.  What is not a sum (a product of variables, a division, a minimum) is an atom. */
#include "sim.h"

#include <string.h>

/* While something is being proven, forms are needed for a moment only: they go to the scratch block. */
static Lin *lin_new(Sim *s, int n) {
    size_t size = sizeof(Lin) + sizeof(Term) * (size_t)n;
    Scratch *t = s->scratch;
    if (!t || t->used + size > SCRATCH_SIZE) return arena_alloc(s->arena, size);
    Lin *l = (Lin *)(void *)(t->at + t->used);
    t->used += size;
    l->c = 0;
    l->n = 0;
    return l;
}

const Lin *lin_const(Sim *s, int64_t c) {
    Lin *l = lin_new(s, 0);
    l->c = c;
    return l;
}

static const Lin *lin_atom(Sim *s, const Node *atom) {
    Lin *l = lin_new(s, 1);
    l->n = 1;
    l->at[0] = (Term){ atom, 1 };
    return l;
}

/* x + k * y into *out; false on overflow.  INT64_MIN counts as one: it could not be negated. */
static bool mul_add(int64_t x, int64_t k, int64_t y, int64_t *out) {
    int64_t p;
    return !__builtin_mul_overflow(k, y, &p) && !__builtin_add_overflow(x, p, out) && *out != INT64_MIN;
}

const Lin *lin_add(Sim *s, const Lin *a, const Lin *b, int64_t k) {
    Lin *l = lin_new(s, a->n + b->n);
    if (!mul_add(a->c, k, b->c, &l->c)) return NULL;
    int i = 0, j = 0;
    while (i < a->n || j < b->n) {
        Term t;
        if (j == b->n || (i < a->n && a->at[i].atom->id < b->at[j].atom->id)) {
            t = a->at[i++];
        } else {
            bool both = i < a->n && a->at[i].atom == b->at[j].atom;
            t.atom = b->at[j].atom;
            if (!mul_add(both ? a->at[i].k : 0, k, b->at[j].k, &t.k)) return NULL;
            i += both;
            j++;
        }
        if (t.k) l->at[l->n++] = t;
    }
    return l->n > MAX_TERMS ? NULL : l;
}

const Lin *lin_shift(Sim *s, const Lin *a, int64_t c) {
    return lin_add(s, a, lin_const(s, c), 1);
}

const Lin *lin_scale(Sim *s, const Lin *a, int64_t k) {
    return lin_add(s, lin_const(s, 0), a, k);
}

const Lin *lin_without(Sim *s, const Lin *a, const Node *atom) {
    Lin *l = lin_new(s, a->n);
    l->c = a->c;
    for (int i = 0; i < a->n; i++)
        if (a->at[i].atom != atom) l->at[l->n++] = a->at[i];
    return l;
}

int64_t lin_coefficient(const Lin *a, const Node *atom) {
    for (int i = 0; i < a->n; i++)
        if (a->at[i].atom == atom) return a->at[i].k;
    return 0;
}

int64_t int_gcd(int64_t a, int64_t b) {
    if (a == INT64_MIN || b == INT64_MIN) return 1;
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

int64_t lin_gcd(const Lin *a) {
    int64_t g = 0;
    for (int i = 0; i < a->n; i++) g = int_gcd(g, a->at[i].k);
    return g;
}

/* ---- products ---- */

/* The product of two atoms, its factors in the order of their ids so that equal products are equal. */
static const Node *monomial(Sim *s, const Node *a, const Node *b) {
    const Node *factor[16];
    int n = 0;
    const Node *todo[2] = { a, b };
    for (int i = 0; i < 2; i++) {
        const Node *e = todo[i];
        for (; e->op == OP_MUL && n < 14; e = e->kid[0]) factor[n++] = e->kid[1];
        factor[n++] = e;
    }
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && factor[j]->id < factor[j - 1]->id; j--) {
            const Node *swap = factor[j];
            factor[j] = factor[j - 1];
            factor[j - 1] = swap;
        }
    const Node *p = factor[0];
    for (int i = 1; i < n; i++) p = ir_mul(s->I, p, factor[i]);
    return p;
}

/* The product of two sums, multiplied out; NULL where it is too long or overflows. */
static const Lin *expand(Sim *s, const Lin *a, const Lin *b) {
    if ((a->n + 1) * (b->n + 1) > 32) return NULL;
    const Lin *sum = lin_scale(s, a, b->c);
    for (int j = 0; sum && j < b->n; j++) {
        int64_t k;
        if (__builtin_mul_overflow(a->c, b->at[j].k, &k)) return NULL;
        sum = lin_add(s, sum, lin_atom(s, b->at[j].atom), k);
        for (int i = 0; sum && i < a->n; i++) {
            if (__builtin_mul_overflow(a->at[i].k, b->at[j].k, &k)) return NULL;
            sum = lin_add(s, sum, lin_atom(s, monomial(s, a->at[i].atom, b->at[j].atom)), k);
        }
    }
    return sum;
}

/* a with its coefficients and constant divided by g, which divides them all. */
static const Lin *divided(Sim *s, const Lin *a, int64_t g) {
    Lin *l = lin_new(s, a->n);
    l->c = a->c / g;
    l->n = a->n;
    for (int i = 0; i < a->n; i++) l->at[i] = (Term){ a->at[i].atom, a->at[i].k / g };
    return l;
}

static const Lin *lin_product(Sim *s, const Node *e, const Lin *a, const Lin *b) {
    if (!a->n) return lin_scale(s, b, a->c);
    if (!b->n) return lin_scale(s, a, b->c);
    const Lin *sum = s->expand ? expand(s, a, b) : NULL;
    if (sum) return sum;
    /* Constant factors go to the coefficient, so that (2 x) y and x (2 y) are one. */
    int64_t ga = int_gcd(lin_gcd(a), a->c), gb = int_gcd(lin_gcd(b), b->c), k;
    if (a->at[0].k < 0) ga = -ga;
    if (b->at[0].k < 0) gb = -gb;
    if (__builtin_mul_overflow(ga, gb, &k)) return lin_atom(s, e);
    const Node *p = monomial(s, lin_node(s, divided(s, a, ga)), lin_node(s, divided(s, b, gb)));
    return lin_scale(s, lin_atom(s, p), k);
}

/* ---- from and to nodes ---- */

static bool lin_done(const Sim *s, const Info *i) {
    (void)s;
    return i->lin;
}

static void lin_fill(Sim *s, const Node *e, Info *i) {
    const Lin *sum = NULL;
    if (e->type == MLC_INDEX) {
        const Lin *a = e->n > 0 ? sim_info(s, e->kid[0])->lin : NULL;
        const Lin *b = e->n > 1 ? sim_info(s, e->kid[1])->lin : NULL;
        switch ((Op)e->op) {
        case OP_CONST: sum = e->u.i == INT64_MIN ? NULL : lin_const(s, e->u.i); break;
        case OP_ADD: sum = lin_add(s, a, b, 1); break;
        case OP_SUB: sum = lin_add(s, a, b, -1); break;
        case OP_NEG: sum = lin_scale(s, a, -1); break;
        case OP_MUL: sum = lin_product(s, e, a, b); break;
        default: break;
        }
    }
    i->lin = sum ? sum : lin_atom(s, e);
}

const Lin *lin_of(Sim *s, const Node *e) {
    Info *i = sim_info(s, e);
    if (!i->lin) sim_walk(s, e, lin_done, lin_fill);
    return i->lin;
}

static const Node *scaled(Sim *s, const Node *atom, int64_t k) {
    return k == 1 ? atom : ir_mul(s->I, atom, ir_idx(s->I, k));
}

/* Positive terms first, then the negative ones subtracted, the constant last: x + y * 2 - z - 3. */
const Node *lin_node(Sim *s, const Lin *a) {
    const Node *e = NULL;
    int64_t c = a->c;
    for (int i = 0; i < a->n; i++)
        if (a->at[i].k > 0) {
            const Node *t = scaled(s, a->at[i].atom, a->at[i].k);
            e = e ? ir_add(s->I, e, t) : t;
        }
    if (!e && (c || !a->n)) {
        e = ir_idx(s->I, c);
        c = 0;
    }
    for (int i = 0; i < a->n; i++) {
        if (a->at[i].k >= 0) continue;
        if (e) e = ir_sub(s->I, e, scaled(s, a->at[i].atom, -a->at[i].k));
        else e = scaled(s, a->at[i].atom, a->at[i].k);
    }
    return c < 0 ? ir_sub(s->I, e, ir_idx(s->I, -c)) : ir_add(s->I, e, ir_idx(s->I, c));
}
