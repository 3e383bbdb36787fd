/* shape.c - how an expression moves with a variable: direction and slope. */
#include "sim.h"

enum { FLAT = 0, UP = 1, DOWN = -1, ANY = 2 };

static int turned(int m, int64_t k) {
    return k == 0 || m == FLAT ? FLAT : m == ANY ? ANY : k > 0 ? m : -m;
}

static int joined(int a, int b) {
    return a == FLAT ? b : b == FLAT || a == b ? a : ANY;
}

static int sign(Range r) {
    return r.lo >= 0 ? 1 : r.hi <= 0 ? -1 : 0;
}

static int factor(Sim *s, int m, const Node *by) {
    int k = sign(range_of(s, by));
    return m == FLAT ? FLAT : k ? turned(m, k) : ANY;
}

static bool exact_cast(Sim *s, const Node *e) {
    Range r = range_of(s, e->kid[0]), all = range_type((mlc_type)e->type);
    if (ty_is_float((mlc_type)e->type) || ty_is_float((mlc_type)e->kid[0]->type)) return false;
    if (e->type == MLC_INDEX) return e->kid[0]->type != MLC_U64;
    return r.lo >= all.lo && r.hi <= all.hi && r.lo != NINF && r.hi != PINF;
}

static int sum(Sim *s, const Lin *l) {
    int m = FLAT;
    for (int i = 0; i < l->n; i++) m = joined(m, turned(sim_info(s, l->at[i].atom)->monotonic, l->at[i].k));
    return m;
}

static int node(Sim *s, const Node *e) {
    if (e->op == OP_VAR) return e->u.sym == s->open ? UP : FLAT;
    int m = FLAT;
    for (int k = 0; k < e->n; k++) m = joined(m, sim_info(s, e->kid[k])->monotonic ? ANY : FLAT);
    if (m == FLAT) return FLAT;
    int a = sim_info(s, e->kid[0])->monotonic, b = e->n > 1 ? sim_info(s, e->kid[1])->monotonic : FLAT;
    bool index = e->kid[0]->type == MLC_INDEX;
    switch ((Op)e->op) {
    case OP_ADD: return index ? joined(a, b) : ANY;
    case OP_SUB: return index ? joined(a, turned(b, -1)) : ANY;
    case OP_NEG: return index ? turned(a, -1) : ANY;
    case OP_MUL: return !index || (a && b) ? ANY : a ? factor(s, a, e->kid[1]) : factor(s, b, e->kid[0]);
    case OP_DIV: return index && b == FLAT ? factor(s, a, e->kid[1]) : ANY;
    case OP_MIN: case OP_MAX: return joined(a, b);
    case OP_LT: case OP_LE: return joined(turned(a, -1), b);
    case OP_LAND: case OP_LOR: return joined(a, b);
    case OP_LNOT: return turned(a, -1);
    case OP_SELECT: return a == FLAT ? joined(b, sim_info(s, e->kid[2])->monotonic) : ANY;
    case OP_CAST: return exact_cast(s, e) ? a : ANY;
    case OP_LIKELY: case OP_LIKELY_INNER: return a;
    default: return ANY;
    }
}

static bool monotonic_done(const Sim *s, const Info *i) {
    (void)s;
    return i->has_monotonic;
}

static void monotonic_fill(Sim *s, const Node *e, Info *i) {
    i->monotonic = node(s, e);
    i->has_monotonic = true;
    if (i->monotonic != ANY || e->type != MLC_INDEX) return;
    /* Terms may cancel; atoms of products may be nodes that are not below e. */
    const Lin *l = lin_of(s, e);
    for (int k = 0; k < l->n; k++)
        if (!sim_info(s, l->at[k].atom)->has_monotonic) return;
    i->monotonic = sum(s, l);
}

int sim_monotonic(Interner *I, const Facts *f, const Node *e, const Sym *v) {
    Sim s;
    sim_open(&s, I, f);
    s.open = v;
    e = simple(&s, e);
    sim_walk(&s, e, monotonic_done, monotonic_fill);
    int m = sim_info(&s, e)->monotonic;
    sim_close(&s);
    return m;
}

bool sim_linear(Interner *I, const Node *e, const Sym *v, int64_t *a, const Node **b) {
    Sim s;
    if (e->type != MLC_INDEX) return false;
    sim_open(&s, I, NULL);
    const Lin *l = lin_of(&s, simple(&s, e));
    const Node *own = ir_var(I, v);
    const Lin *rest = lin_without(&s, l, own);
    bool linear = true;
    for (int i = 0; i < rest->n; i++) linear &= !ir_uses(s.arena, rest->at[i].atom, v);
    if (linear) {
        *a = lin_coefficient(l, own);
        *b = lin_node(&s, rest);
    }
    sim_close(&s);
    return linear;
}
