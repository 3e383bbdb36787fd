/* congruence.c - what is known of an index modulo a constant: e = modulus * k + remainder.
 * Modulus 0 is the constant `remainder`, modulus 1 says nothing. */
#include "sim.h"

static const Congruence unknown = { 1, 0 };

static Congruence reduced(int64_t m, int64_t r) {
    if (m == INT64_MIN || r == INT64_MIN) return unknown;
    m = m < 0 ? -m : m;
    return (Congruence){ m, m ? floor_mod(r, m) : r };
}

static Congruence add(Congruence a, Congruence b) {
    int64_t r;
    return __builtin_add_overflow(a.remainder, b.remainder, &r) ? unknown : reduced(int_gcd(a.modulus, b.modulus), r);
}

/* (m k + r)(n l + q) = m n k l + m q k + n r l + r q */
static Congruence multiply(Congruence a, Congruence b) {
    int64_t mn, mq, nr, rq;
    if (__builtin_mul_overflow(a.modulus, b.modulus, &mn) || __builtin_mul_overflow(a.modulus, b.remainder, &mq) ||
        __builtin_mul_overflow(b.modulus, a.remainder, &nr) || __builtin_mul_overflow(a.remainder, b.remainder, &rq))
        return unknown;
    return reduced(int_gcd(int_gcd(mn, mq), nr), rq);
}

/* What holds of both. */
static Congruence join(Congruence a, Congruence b) {
    int64_t d;
    if (__builtin_sub_overflow(a.remainder, b.remainder, &d)) return unknown;
    return reduced(int_gcd(int_gcd(a.modulus, b.modulus), d), a.remainder);
}

static Congruence divide(Congruence a, int64_t c) {
    if (c <= 0) return unknown;
    if (a.modulus % c) return unknown;
    return reduced(a.modulus / c, floor_div(a.remainder, c));
}

static Congruence modulo(Congruence a, int64_t c) {
    if (c <= 0) return unknown;
    if (a.modulus % c == 0) return (Congruence){ 0, floor_mod(a.remainder, c) };
    int64_t g = int_gcd(a.modulus, c); /* c and the part that is taken away are multiples of g */
    return reduced(g, a.remainder);
}

static Congruence symbol(Sim *s, const Node *e) {
    const Sym *v = e->u.sym;
    const Bound *b = sim_find(s, v);
    const Node *lo = b ? b->f->range.lo : NULL;
    if (lo && lo == b->f->range.hi && depth_of(s, lo) < b->depth) return congruence_of(s, lo);
    return v->align > 1 ? (Congruence){ v->align, 0 } : unknown;
}

static bool congruence_done(const Sim *s, const Info *i) {
    (void)s;
    return i->has_congruence;
}

static Congruence node(Sim *s, const Node *e) {
    if (e->type != MLC_INDEX) return unknown;
    Congruence a = e->n > 0 ? sim_info(s, e->kid[0])->congruence : unknown;
    Congruence b = e->n > 1 ? sim_info(s, e->kid[1])->congruence : unknown;
    int64_t c;
    switch ((Op)e->op) {
    case OP_CONST: return e->u.i == INT64_MIN ? unknown : (Congruence){ 0, e->u.i };
    case OP_VAR: return symbol(s, e);
    case OP_ADD: return add(a, b);
    case OP_SUB: return add(a, multiply(b, (Congruence){ 0, -1 }));
    case OP_NEG: return multiply(a, (Congruence){ 0, -1 });
    case OP_MUL: return multiply(a, b);
    case OP_DIV: return ir_is_int(e->kid[1], &c) ? divide(a, c) : unknown;
    case OP_MOD: return ir_is_int(e->kid[1], &c) ? modulo(a, c) : unknown;
    case OP_MIN: case OP_MAX: return join(a, b);
    case OP_SELECT: return join(b, sim_info(s, e->kid[2])->congruence);
    case OP_LIKELY: case OP_LIKELY_INNER: case OP_PRINT: return a;
    case OP_REQUIRE: return b;
    default: return unknown;
    }
}

static void congruence_fill(Sim *s, const Node *e, Info *i) {
    i->congruence = node(s, e);
    i->has_congruence = true;
}

Congruence congruence_of(Sim *s, const Node *e) {
    Info *i = sim_info(s, e);
    if (!i->has_congruence) sim_walk(s, e, congruence_done, congruence_fill);
    return i->congruence;
}

Congruence congruence_lin(Sim *s, const Lin *a) {
    Congruence sum = { 0, a->c };
    for (int i = 0; i < a->n; i++)
        sum = add(sum, multiply((Congruence){ 0, a->at[i].k }, congruence_of(s, a->at[i].atom)));
    return sum;
}
