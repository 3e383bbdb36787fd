/* expr_check.h - one case: a random expression under random facts, and everything the simplifier says of
 * it compared with values drawn where the facts hold. */
#ifndef FUZZ_EXPR_CHECK_H
#define FUZZ_EXPR_CHECK_H

#include "expr.h"

typedef struct {
    FuzzExpr f;
    Facts at[4];
    const Facts *facts;
    const Node *e, *simple;
    mlc_type t;
    int v;                    /* the variable that is solved for */
    bool bounded, proven, inner_ok, outer_ok, linear;
    int64_t lo, hi, slope;
    Congruence congruence;
    Interval sym, inner, outer;
    const Node *rest;
    int monotonic;
} FuzzCase;

static inline void fuzz_ask(FuzzCase *c, Interner *I, uint64_t seed) {
    static const mlc_type data[] = { MLC_U8, MLC_I32, MLC_F32, MLC_I16 };
    memset(c, 0, sizeof *c);
    FuzzExpr *f = &c->f;
    fuzz_init(f, I, seed);
    const Facts *facts = c->facts = fuzz_facts(f, c->at);
    int kind = fuzz_below(f, 4);
    const Node *e = kind == 0 ? fuzz_cond(f, 3) : kind == 1 ? fuzz_data(f, data[fuzz_below(f, 4)], 4) : fuzz_index(f, 4);
    const Sym *v = &f->sym[c->v = fuzz_below(f, 3)];
    mlc_type t = (mlc_type)e->type;
    c->e = e;
    c->t = t;
    c->simple = sim_simplify(I, facts, e);
    c->bounded = !ty_is_float(t) && sim_const_bounds(I, facts, e, &c->lo, &c->hi);
    c->congruence = (Congruence){ 1, 0 };
    c->monotonic = 2;
    if (t == MLC_INDEX) {
        c->congruence = sim_congruence(I, facts, e);
        c->sym = sim_bounds(I, facts, e, NULL);
        c->linear = sim_linear(I, e, v, &c->slope, &c->rest);
    }
    if (t == MLC_BOOL) {
        c->proven = sim_prove(I, facts, e);
        c->inner = sim_solve_inner(I, facts, e, v, &c->inner_ok);
        c->outer = sim_solve_outer(I, facts, e, v, &c->outer_ok);
    } else {
        c->monotonic = sim_monotonic(I, facts, e, v);
    }
}

static inline bool fuzz_in(const FuzzExpr *f, Interval i, int64_t x) {
    return (!i.lo || fuzz_eval(f, i.lo).i <= x) && (!i.hi || x <= fuzz_eval(f, i.hi).i);
}

/* Does stepping v by one keep to the announced direction? */
static inline bool fuzz_moves(FuzzCase *c, Value before) {
    FuzzExpr *f = &c->f;
    f->value[c->v].i++;
    bool holds = !c->at[3].truth || fuzz_eval(f, c->at[3].truth).i;
    for (int i = 0; i < 3; i++) holds = holds && fuzz_in(f, c->at[i].range, f->value[i].i);
    Value after = fuzz_eval(f, c->e);
    f->value[c->v].i--;
    if (!holds) return true;
    if (ty_is_float(c->t) || c->monotonic == 0) return val_equal(c->t, before, after);
    return c->monotonic > 0 ? after.i >= before.i : after.i <= before.i;
}

/* NULL, or what is wrong for the values drawn. */
static inline const char *fuzz_wrong(FuzzCase *c) {
    const FuzzExpr *f = &c->f;
    Value v = fuzz_eval(f, c->e);
    int64_t x = f->value[c->v].i, m = c->congruence.modulus, r = c->congruence.remainder;
    if (!val_equal(c->t, v, fuzz_eval(f, c->simple))) return "simplify";
    if (c->bounded && (v.i < c->lo || v.i > c->hi)) return "const_bounds";
    if (c->t == MLC_INDEX && (m ? (v.i - r) % m != 0 : v.i != r)) return "congruence";
    if (c->t == MLC_INDEX && !fuzz_in(f, c->sym, v.i)) return "bounds";
    if (c->linear && c->slope * x + fuzz_eval(f, c->rest).i != v.i) return "linear";
    if (c->proven && !v.i) return "prove";
    if (c->inner_ok && fuzz_in(f, c->inner, x) && !v.i) return "solve_inner";
    if (c->outer_ok && !fuzz_in(f, c->outer, x) && v.i) return "solve_outer";
    return c->monotonic != 2 && !fuzz_moves(c, v) ? "monotonic" : NULL;
}

static inline const char *fuzz_report(FuzzCase *c, const char *what) {
    FuzzExpr *f = &c->f;
    StrBuf b;
    sb_init(&b, f->I->arena);
    sb_printf(&b, "%s\n  of %s\n  simplified %s\n", what, fuzz_text(f, c->e), fuzz_text(f, c->simple));
    sb_printf(&b, "  bounds [%s, %s]\n", fuzz_text(f, c->sym.lo), fuzz_text(f, c->sym.hi));
    sb_printf(&b, "  inner [%s, %s]", fuzz_text(f, c->inner.lo), fuzz_text(f, c->inner.hi));
    sb_printf(&b, " outer [%s, %s] of %s\n", fuzz_text(f, c->outer.lo), fuzz_text(f, c->outer.hi), f->sym[c->v].name);
    for (int i = 0; i < 3; i++)
        sb_printf(&b, "  %s in [%s, %s]\n", f->sym[i].name, fuzz_text(f, c->at[i].range.lo), fuzz_text(f, c->at[i].range.hi));
    if (c->at[3].truth) sb_printf(&b, "  where %s\n", fuzz_text(f, c->at[3].truth));
    for (int i = 0; i < FUZZ_SYMS; i++) {
        if (f->sym[i].type == MLC_F32) sb_printf(&b, " %s=%a", f->sym[i].name, f->value[i].f);
        else sb_printf(&b, " %s=%lld", f->sym[i].name, (long long)f->value[i].i);
    }
    return b.at;
}

/* Asks once, draws `draws` times; NULL or a report in I's arena. */
static inline const char *fuzz_case(FuzzCase *c, Interner *I, uint64_t seed, int draws) {
    fuzz_ask(c, I, seed);
    while (draws-- > 0) {
        if (!fuzz_assign(&c->f, c->at)) continue;
        const char *what = fuzz_wrong(c);
        if (what) return fuzz_report(c, what);
    }
    return NULL;
}

#endif
