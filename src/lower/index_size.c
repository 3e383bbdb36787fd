/* index_size.c - how large may sizes be, so that no index overflows?
 *
 * Every index of a program is made of sizes (mins and extents of buffers, index params), constants and
 * loops over boxes made of these.  If all sizes lie within 2^b, intervals say how far each expression
 * reaches; the largest b that keeps all of them within 62 bits is what a call checks.  A stencil
 * gives the full 48 bits, x * x * x 20. */
#include "lower/nest.h"
#include "lower/passes.h"

typedef struct {
    double lo, hi;
} Span;

typedef struct {
    Arena *arena;
    Interner *ir;
    PtrMap node, sym; /* -> Span */
    double size;
    bool over, big_constant;
} Sizes;

#define LIMIT 0x1p62
static const Span anything = { -0x1p60, 0x1p60 }; /* what is not an index made of sizes: its own wrapping is meant */

static Span span_of(const Sizes *z, const Node *e) {
    const Span *s = pm_get(&z->node, e);
    return s ? *s : anything;
}

static Span join(Span a, Span b) {
    return (Span){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

static Span meet(Span a, Span b) {
    return (Span){ a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
}

static Span product(Span a, Span b) {
    double p[4] = { a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi };
    return join(join((Span){ p[0], p[0] }, (Span){ p[1], p[1] }), join((Span){ p[2], p[2] }, (Span){ p[3], p[3] }));
}

static bool within(Span a, Span b) {
    return a.lo >= b.lo && a.hi <= b.hi;
}

static double most(Span a) {
    return a.hi > -a.lo ? a.hi : -a.lo;
}

static Span of_type(mlc_type t) {
    if (t == MLC_BOOL) return (Span){ 0, 1 };
    if (!ty_is_int(t) || ty_bits(t) == 64) return anything;
    return (Span){ (double)ty_min(t), (double)ty_max(t) };
}

static Span of_var(const Sizes *z, const Sym *s) {
    Span all = { s->kind == SYM_EXTENT ? 0 : -z->size, z->size };
    const Span *known = pm_get(&z->sym, s);
    if (known) return *known;
    if (s->type != MLC_INDEX) all = of_type(s->type);
    if (s->kind == SYM_PARAM && s->has_range && !ty_is_float(s->type))
        all = meet(all, (Span){ (double)s->ilo, (double)s->ihi });
    return all;
}

static Span shifted(const Node *e, Span a) {
    int64_t n;
    if (!ir_is_int(e->kid[1], &n) || n < 0 || n > 62) return e->op == OP_SHR ? join(a, (Span){ 0, 0 }) : anything;
    double by = (double)((int64_t)1 << n);
    return e->op == OP_SHL ? product(a, (Span){ by, by }) : (Span){ a.lo / by - 1, a.hi / by };
}

static Span of_operator(const Sizes *z, const Node *e) {
    Span a = e->n > 0 ? span_of(z, e->kid[0]) : anything, b = e->n > 1 ? span_of(z, e->kid[1]) : anything;
    int64_t v;
    switch (e->op) {
    case OP_CONST: return ir_is_int(e, &v) ? (Span){ (double)v, (double)v } : anything;
    case OP_VAR: return of_var(z, e->u.sym);
    case OP_QUERY: return (Span){ -0x1p41, 0x1p41 }; /* ir/whole.h: WHOLE_FAREST */
    case OP_ADD: return (Span){ a.lo + b.lo, a.hi + b.hi };
    case OP_SUB: return (Span){ a.lo - b.hi, a.hi - b.lo };
    case OP_NEG: return (Span){ -a.hi, -a.lo };
    case OP_MUL: return product(a, b);
    case OP_DIV: return a.lo >= 0 && b.lo >= 0 ? (Span){ 0, a.hi } : (Span){ -most(a) - 1, most(a) + 1 };
    case OP_MOD: return (Span){ 0, most(b) };
    case OP_ABS: return (Span){ 0, most(a) };
    case OP_MIN: return (Span){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
    case OP_MAX: return (Span){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
    case OP_SELECT: return join(b, span_of(z, e->kid[2]));
    case OP_LIKELY: case OP_LIKELY_INNER: return a;
    case OP_CAST: return within(a, of_type((mlc_type)e->type)) ? a : of_type((mlc_type)e->type);
    case OP_AND: return a.lo >= 0 && b.lo >= 0 ? (Span){ 0, a.hi < b.hi ? a.hi : b.hi } : of_type((mlc_type)e->type);
    case OP_SHL: case OP_SHR: return shifted(e, a);
    default: return of_type((mlc_type)e->type);
    }
}

static void visit(void *user, const Node *e) {
    Sizes *z = user;
    bool index = e->type == MLC_INDEX;
    if ((!index && !ty_is_int((mlc_type)e->type) && e->type != MLC_BOOL) || pm_has(&z->node, e)) return;
    Span *s = ARENA_NEW(z->arena, Span);
    *s = of_operator(z, e);
    if (index) {
        double m = most(*s);
        z->over |= m > LIMIT;
        z->big_constant |= e->op == OP_CONST && m >= 0x1p40;
    } else {
        Span all = of_type((mlc_type)e->type); /* data wraps */
        if (!within(*s, all)) *s = all;
    }
    pm_put(&z->node, e, s);
}

static Span look(Sizes *z, const Node *e) {
    if (!ir_is_const(e)) ir_visit(z->arena, e, visit, z);
    else visit(z, e);
    return span_of(z, e);
}

static void bind_sym(Sizes *z, const Sym *s, Span v) {
    Span *at = pm_get(&z->sym, s), *now = ARENA_NEW(z->arena, Span);
    *now = at ? join(*at, v) : v;
    pm_put(&z->sym, s, now);
}

static const Node *look_expr(StmtMap *m, const Node *e) {
    look(m->user, e);
    return e;
}

/* Binders come before what they bind, so a walk from the top meets each variable known. */
static Stmt *look_stmt(StmtMap *m, Stmt *s) {
    Sizes *z = m->user;
    if (s->kind == ST_LET && s->u.let.var->type == MLC_INDEX) bind_sym(z, s->u.let.var, look(z, s->u.let.value));
    if (s->kind == ST_TURN && s->u.turn.channel->part)
        bind_sym(z, s->u.turn.channel->part, (Span){ 0, (double)s->u.turn.channel->parts });
    if (s->kind == ST_FOR) {
        const Node *end = ir_add(z->ir, s->u.loop.min, s->u.loop.extent);
        const Node *last = sim_simplify(z->ir, NULL, ir_sub(z->ir, end, ir_idx(z->ir, 1)));
        Span lo = look(z, s->u.loop.min), hi = look(z, last);
        bind_sym(z, s->u.loop.var, join((Span){ lo.lo, lo.lo }, (Span){ hi.hi, hi.hi }));
    }
    return st_map_kids(m, s);
}

static bool fits(const Program *p, double size, Sizes *z) {
    *z = (Sizes){ .arena = p->arena, .ir = p->ir, .size = size };
    pm_init(&z->node, p->arena);
    pm_init(&z->sym, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .expr = look_expr, .stmt = look_stmt, .user = z };
    st_map(&m, p->body);
    return !z->over;
}

int low_index_bits(const Program *p) {
    static const int bits[] = { 48, 44, 40, 36, 32, 31, 28, 24, 20, 16, 12, 8, 4 };
    Sizes z;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (fits(p, (double)((int64_t)1 << bits[i]), &z)) return bits[i];
    if (!z.big_constant) return 31; /* long chains of boxes, whose intervals drift apart */
    Place place = { .loc = p->schedule->output[0]->loc, .object = p->schedule->output[0]->name };
    fault_raise(p->arena->fault, ERR_INDEX_OVERFLOW, &place);
}
