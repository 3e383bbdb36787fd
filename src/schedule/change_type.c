/* change_type.c - a Func that is computed and stored in another type.
 *
 *     f(x) = e;  f(x) += a;  g(x) = f(x) + b            change_type(i16) of f, an i32, makes
 *     f(x) = i16(e);  f(x) += i16(a);  g(x) = i32(f(x)) + b
 *
 * That keeps every value where the new type holds all values of the old one and no update computes in it; or where all
 * values that f ever has, partial sums too, fit both types: then nothing wraps or rounds in either.  Which values
 * these are is a matter of intervals: those of the pure definition, and those of a term as often as its domain has
 * points.  `.lossy` takes the rest: the plan is then of class rewrite, and its bits are those of what is printed. */
#include "schedule/derive.h"

#include "simplify/simplify.h"

#include <math.h>
#include <string.h>

/* ---- what a type holds ---- */

/* All whole numbers up to 2^this, either way. */
static int whole_bits(mlc_type t) {
    switch (t) {
    case MLC_F16: return 11;
    case MLC_BF16: return 8;
    case MLC_F32: return 24;
    case MLC_F64: return 53;
    default: return ty_bits(t) - ty_is_signed(t);
    }
}

static bool holds_type(mlc_type to, mlc_type from) {
    if (from == MLC_BOOL) return true;
    if (ty_is_float(from)) return from == MLC_F64 ? false : to == MLC_F64 || (to == MLC_F32 && ty_is_half(from));
    bool sign = ty_is_float(to) || ty_is_signed(to) || ty_is_unsigned(from);
    return sign && whole_bits(to) >= whole_bits(from);
}

/* ---- which values does f have? ---- */

typedef struct {
    int64_t lo, hi;
} Span;

static bool holds_span(mlc_type t, Span s) {
    bool sign = s.lo >= 0 || ty_is_float(t) || ty_is_signed(t);
    int bits = whole_bits(t);
    if (bits >= 63) return sign;
    int64_t most = ty_is_float(t) ? (int64_t)1 << bits : ((int64_t)1 << bits) - 1;
    int64_t least = ty_is_float(t) ? -most : ty_is_signed(t) ? -most - 1 : 0;
    return sign && s.lo >= least && s.hi <= most;
}

static bool span_of(Derive *d, const Func *f, Span *s);

typedef struct {
    Derive *d;
    const Facts *facts;
} Known;

static void know_read(void *user, const Node *e) {
    Known *k = user;
    Span s;
    if (e->op != OP_ACCESS || !span_of(k->d, e->u.func, &s)) return;
    mlc_type t = (mlc_type)e->type;
    Facts *more = ARENA_NEW(k->d->arena, Facts);
    *more = (Facts){ .up = k->facts, .memory = e->u.func, .range = { ir_int(k->d->ir, t, s.lo), ir_int(k->d->ir, t, s.hi) } };
    k->facts = more;
}

/* The values of a canonical expression over a domain. */
static bool span_of_expr(Derive *d, const RDom *r, const Node *e, Span *s) {
    Known k = { .d = d };
    for (int i = 0; r && i < r->n; i++) k.facts = sim_with_loop(d->ir, d->arena, k.facts, r->var[i], r->min[i], r->extent[i]);
    ir_visit(d->arena, e, know_read, &k);
    return sim_const_bounds(d->ir, k.facts, e, &s->lo, &s->hi);
}

/* How often a domain meets one point, at most. */
static bool times_of(Derive *d, const RDom *r, int64_t *n) {
    *n = 1;
    for (int i = 0; r && i < r->n; i++) {
        int64_t lo, hi;
        if (!sim_const_bounds(d->ir, NULL, r->extent[i], &lo, &hi)) return false;
        if (__builtin_mul_overflow(*n, hi > 0 ? hi : 0, n)) return false;
    }
    return true;
}

/* The operator by which an update joins its term, as written, to the old value: op=, f(x) = f(x) + e.  DEF_SET: none. */
static DefOp joins(Derive *d, const Func *f, const Def *def, const Node **term) {
    static const struct {
        Op op;
        DefOp join;
    } row[] = { { OP_ADD, DEF_ADD }, { OP_SUB, DEF_SUB }, { OP_MIN, DEF_MIN }, { OP_MAX, DEF_MAX } };
    const Node *e = def->rhs[0], *old = ir_access(d->ir, (Func *)(uintptr_t)f, f->type[0], 0, def->rank, def->lhs);
    *term = e;
    if (def->op != DEF_SET) return def->op;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (e->op != row[i].op || (e->kid[0] != old && (e->kid[1] != old || e->op == OP_SUB))) continue;
        *term = e->kid[e->kid[0] == old];
        return row[i].join;
    }
    return DEF_SET;
}

static void find_own(void *user, const Node *e) {
    const Func **f = user;
    if (e->op == OP_ACCESS && e->u.func == *f) *f = NULL;
}

static bool reads_own(Derive *d, const Func *f, const Node *e) {
    ir_visit(d->arena, e, find_own, &f);
    return !f;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Adds what an update makes of the values so far, and its terms, which the new type has to hold too: the minimum of 1 and
 * 65535 is 1, and that of 1 and i8(65535) is -1. */
static bool widen(Derive *d, const Func *f, const Def *def, Span *s) {
    const Node *term;
    DefOp op = joins(d, f, def, &term);
    Span t, sum = *s;
    int64_t n, down, up;
    if (op == DEF_MUL || reads_own(d, f, term)) return false;
    if (!span_of_expr(d, def->rdom, alg_canonical(d->ir, term, f->type[0]), &t)) return false;
    *s = (Span){ least(s->lo, t.lo), most(s->hi, t.hi) };
    if (op != DEF_ADD && op != DEF_SUB) return true;
    if (t.lo == INT64_MIN || !times_of(d, def->rdom, &n)) return false;
    if (op == DEF_SUB) t = (Span){ -t.hi, -t.lo };
    if (__builtin_mul_overflow(n, least(t.lo, 0), &down) || __builtin_mul_overflow(n, most(t.hi, 0), &up)) return false;
    if (__builtin_add_overflow(sum.lo, down, &sum.lo) || __builtin_add_overflow(sum.hi, up, &sum.hi)) return false;
    *s = (Span){ least(s->lo, sum.lo), most(s->hi, sum.hi) };
    return true;
}

/* The values that f has at any time, as whole numbers that nothing made wrap; false: unknown. */
static bool span_of(Derive *d, const Func *f, Span *s) {
    if (f->n != 1 || !ty_is_int(f->type[0])) return false;
    if (f->is_input) {
        *s = (Span){ (int64_t)ceil(f->lo), (int64_t)floor(f->hi) };
        return f->has_range;
    }
    Span *known = pm_get(&d->spans, f);
    if (!known) {
        pm_put(&d->spans, f, known = ARENA_NEW(d->arena, Span));
        *known = (Span){ 1, 0 };
        bool good = !alg_is_whole(f) && span_of_expr(d, NULL, f->def.at[0]->value[0], s);
        for (int k = 1; good && k < f->def.n; k++) good = widen(d, f, f->def.at[k], s);
        if (good && holds_span(f->type[0], *s)) *known = *s;
    }
    *s = *known;
    return s->lo <= s->hi;
}

/* ---- what is wrong with it ---- */

/* Why values may change, NULL: they do not. */
static const char *why_lossy(Derive *d, const Func *f, mlc_type to) {
    mlc_type from = f->type[0];
    bool computes = false;
    Span s;
    for (int k = 1; k < f->def.n; k++) {
        DefOp op = f->def.at[k]->op;
        computes |= op == DEF_ADD || op == DEF_SUB || op == DEF_MUL;
    }
    if (holds_type(to, from) && !computes) return NULL;
    if (!ty_is_int(from) && holds_type(to, from)) return "its updates would round otherwise";
    if (!ty_is_int(from)) return arena_printf(d->arena, "it does not hold all of %s", mlc_type_name(from));
    if (!span_of(d, f, &s)) return arena_printf(d->arena, "nothing is known to keep them within %s", mlc_type_name(from));
    if (holds_span(to, s)) return NULL;
    return arena_printf(d->arena, "they reach from %lld to %lld", (long long)s.lo, (long long)s.hi);
}

/* An extern stage that f is, or that reads f. */
static const Func *stage_of(const Derive *d, const Func *f) {
    if (alg_is_whole(f)) return f;
    for (int i = 0; i < d->funcs.n; i++)
        if (alg_is_whole(d->funcs.at[i]) && sch_reads(d, d->funcs.at[i]->def.at[0], f)) return d->funcs.at[i];
    return NULL;
}

static void check(Derive *d, const PlanLine *l, const Func *f) {
    Place place = sch_place(d->arena, l);
    const char *type = mlc_type_name(l->d.type);
    if (f->is_input) fault_raise(d->fault, ERR_SCHEDULE_INPUT, &place, f->name);
    for (int i = 0; i < d->n_outputs; i++)
        if (d->output[i] == l->func) fault_raise(d->fault, ERR_CHANGE_OUTPUT, &place, f->name);
    if (f->n != 1) fault_raise(d->fault, ERR_CHANGE_TUPLE, &place, f->name, f->n);
    const Func *stage = stage_of(d, f);
    if (stage) fault_raise(d->fault, ERR_CHANGE_STAGE, &place, stage->name, f->name);
    if (f->type[0] == l->d.type) fault_raise(d->fault, ERR_CHANGE_SAME, &place, f->name, type);
    const char *why = why_lossy(d, f, l->d.type);
    if (why && !l->d.lossy) fault_raise(d->fault, ERR_CHANGE_INEXACT, &place, f->name, type, why);
    d->rewrites |= why != NULL;
}

/* ---- the change ---- */

/* A read of f in its new type, converted back.  Canonical forms hold halves as f32. */
static const Node *read_back(void *user, Interner *I, const Node *e) {
    const Change *c = user;
    const Func *f = c->retyped;
    if (e->u.func != f) return e;
    const Node *now = ir_access(I, (Func *)(uintptr_t)f, c->to, e->aux, e->n, e->kid);
    if (c->written) return ir_node(I, OP_CAST, e->type, 0, 0, 1, &now);
    return ir_cast(I, (mlc_type)e->type, ty_is_half(c->to) ? ir_cast(I, MLC_F32, now) : now);
}

static const Node *converted(Change *c, const Node *e, bool written) {
    c->written = written;
    return alg_replace_accesses(c->d->ir, e, read_back, c);
}

static void redefine(Derive *d, const PlanLine *l, Func *f, Change *c) {
    Def **old = f->def.at;
    int n = f->def.n;
    memset(&f->def, 0, sizeof f->def);
    f->implicit = false;
    for (int k = 0; k < n; k++) {
        const Def *t = sch_changed_def(c, old[k]);
        const Node *value = ir_node(d->ir, OP_CAST, l->d.type, 0, 0, 1, &t->rhs[0]);
        RDom *written = t->rdom ? t->rdom->var[0]->rdom : NULL; /* of which t's may be a copy with other conditions */
        Def *def = alg_build(d->ir, f, t->op, t->rank, t->lhs, 1, &value, written, t->loc);
        if (!def) ir_raise_poison(d->fault, f->poison);
        def->rdom = t->rdom;
        VEC_PUSH(d->arena, &f->def, def);
    }
}

void sch_change_type(Derive *d, const PlanLine *l, Func *f) {
    Change c;
    check(d, l, f);
    sch_start_change(&c, d, converted);
    c.retyped = f;
    c.to = l->d.type;
    for (int i = 0; i < d->funcs.n; i++) {
        Func *g = d->funcs.at[i];
        for (int k = 0; g != f && k < g->def.n; k++) g->def.at[k] = sch_changed_def(&c, g->def.at[k]);
    }
    redefine(d, l, f, &c);
    pm_init(&d->spans, d->arena);
}
