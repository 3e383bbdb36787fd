/* partition.c - splits loops so that what is only needed at the borders costs nothing in between.
 *
 *     for x in [0, n): f(x) = g(min(max(likely(x - 1), 0), n - 1))
 * becomes
 *     for x in [0, 1):         f(x) = g(min(max(x - 1, 0), n - 1))
 *     for x in [1, n):         f(x) = g(x - 1)
 *
 * likely() marks the side of a minimum, maximum, select or condition that is taken almost always; an `if`
 * that guards a tail carries the flag itself.  For each serial or parallel loop, outermost first, the
 * conditions that depend on its variable are solved for it, inner loop variables taken over their whole
 * ranges (so that all lanes of a vector agree).  Where all hold is the steady state, in which they are
 * decided; only there does partitioning go on inwards (but see border), so a nest of n loops holds some
 * 2 n + 1 copies of its body.  A parallel loop is not cut into three, which would wait for all threads twice: its
 * iterations choose between the two bodies.  Conditions that are asked only where whole loops hang on the answer
 * are no reason to cut.  A plan may say of a loop that it is never cut, or always where that is possible at all. */
#include "lower/passes.h"

typedef struct {
    Arena *arena;
    Interner *ir;
    const Facts *facts;  /* of the place the walk has reached */
    PtrMap marked;       /* Node -> MARK_* bits */
    /* while collecting for one loop: */
    const Sym *var;
    bool innermost;      /* no serial or parallel loop inside */
    const Node *lo, *hi; /* the steady state so far, NULL: no limit */
    PtrMap solved;       /* condition -> what is left of it */
    PtrMap inside;       /* Sym bound inside of the loop */
    int found;
    bool cheap;          /* what is asked now costs nothing beside the loops that hang on it ... */
    bool worth;          /* ... and something was asked that does */
    int copies;          /* vector and unrolled loops between the loop and here */
    int vectors;         /* vector loops around */
    bool border;         /* in a border: only innermost loops are cut */
    PtrMap cut;          /* Dim that has been cut */
} Partition;

enum { MARK_SEEN = 1, MARK_ANY = 2, MARK_CARRIES = 4, MARK_CARRIES_INNER = 8 };

/* ---- where is a likely? ---- */

/* The operand k of e hands its likely on to e: arithmetic does, reads and other conditions keep it. */
static bool carries(const Node *e, int k) {
    switch ((Op)e->op) {
    case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_NEG: case OP_MIN: case OP_MAX:
    case OP_CAST: case OP_LAND: case OP_LOR: case OP_LNOT:
        return true;
    case OP_SELECT: return k > 0;
    default: return false;
    }
}

static void mark_node(void *user, const Node *e) {
    Partition *p = user;
    uintptr_t bits = MARK_SEEN;
    for (int k = 0; k < e->n; k++) {
        uintptr_t kid = (uintptr_t)pm_get(&p->marked, e->kid[k]);
        bits |= carries(e, k) ? kid : kid & MARK_ANY;
    }
    if (e->op == OP_LIKELY) bits |= MARK_ANY | MARK_CARRIES;
    if (e->op == OP_LIKELY_INNER) bits |= MARK_ANY | MARK_CARRIES_INNER;
    pm_put(&p->marked, e, (void *)bits);
}

static uintptr_t marks(Partition *p, const Node *e) {
    if (!pm_has(&p->marked, e)) ir_visit(p->arena, e, mark_node, p);
    return (uintptr_t)pm_get(&p->marked, e);
}

static bool is_likely(Partition *p, const Node *e) {
    uintptr_t m = marks(p, e);
    return (m & MARK_CARRIES) || (p->innermost && (m & MARK_CARRIES_INNER));
}

/* ---- solving ---- */

static const Node *without_likely(const Node *e) {
    while (e->op == OP_LIKELY || e->op == OP_LIKELY_INNER) e = e->kid[0];
    return e;
}

static const Node *narrowed(Partition *p, Op op, const Node *a, const Node *b) {
    return a && b ? ir_make2(p->ir, op, a, b) : a ? a : b;
}

/* Is cond certain for all but some iterations at the ends?  Then it is recorded and decided. */
static bool solve(Partition *p, const Node *cond) {
    bool ok;
    Interval in = sim_solve_inner(p->ir, p->facts, cond, p->var, &ok);
    int64_t lo, hi;
    if (!ok) return false;
    if (in.lo && in.hi && ir_is_int(in.lo, &lo) && ir_is_int(in.hi, &hi) && lo > hi) return false; /* never */
    p->found += in.lo || in.hi;
    p->lo = narrowed(p, OP_MAX, p->lo, in.lo);
    p->hi = narrowed(p, OP_MIN, p->hi, in.hi);
    return true;
}

/* What is left to ask of a conjunction in the steady state: true where all of it was solved. */
static const Node *left_of(Partition *p, const Node *cond) {
    const Node *left = pm_get(&p->solved, cond), *bare = without_likely(cond);
    if (left) return left;
    if (bare->op == OP_LAND) {
        const Node *a = left_of(p, bare->kid[0]), *b = left_of(p, bare->kid[1]);
        bool same = a == bare->kid[0] && b == bare->kid[1];
        left = same ? cond : ir_make2(p->ir, OP_LAND, a, b);
        if (!same && bare != cond && !ir_is(left, 1)) left = ir_make1(p->ir, (Op)cond->op, left); /* inner loops ask for the rest */
    } else {
        left = solve(p, bare) ? ir_bool(p->ir, true) : cond;
    }
    pm_put(&p->solved, cond, (void *)(uintptr_t)left);
    return left;
}

static const Node *ask(Partition *p, const Node *cond) {
    const Node *left = left_of(p, cond);
    p->worth |= left != cond && !p->cheap;
    return left;
}

static const Node *take_minmax(Partition *p, const Node *e) {
    const Node *a = e->kid[0], *b = e->kid[1];
    bool la = is_likely(p, a), lb = is_likely(p, b);
    if (la == lb) return e;
    const Node *taken = la ? a : b, *other = la ? b : a;
    const Node *cond = e->op == OP_MIN ? ir_make2(p->ir, OP_LE, taken, other) : ir_make2(p->ir, OP_LE, other, taken);
    return ir_is(ask(p, cond), 1) ? taken : e;
}

static const Node *take_select(Partition *p, const Node *e) {
    const Node *c = e->kid[0], *yes = e->kid[1], *no = e->kid[2];
    bool by_cond = is_likely(p, c), ly = is_likely(p, yes), ln = is_likely(p, no);
    if (by_cond || (ly && !ln)) {
        const Node *left = ask(p, c);
        return left == c ? e : ir_make3(p->ir, OP_SELECT, left, yes, no);
    }
    if (!ln || ly) return e;
    const Node *opposite = sim_simplify(p->ir, p->facts, ir_make1(p->ir, OP_LNOT, c)), *left = ask(p, opposite);
    return left == opposite ? e : ir_make3(p->ir, OP_SELECT, left, no, yes);
}

static const Node *take(void *user, Interner *I, const Node *e) {
    Partition *p = user;
    (void)I;
    if (e->op == OP_MIN || e->op == OP_MAX) return take_minmax(p, e);
    return e->op == OP_SELECT ? take_select(p, e) : e;
}

static const Node *steady_expr(StmtMap *m, const Node *e) {
    Partition *p = m->user;
    return marks(p, e) & MARK_ANY ? ir_rewrite(p->ir, e, take, p) : e;
}

/* ---- the steady body ---- */

static const Facts *with_fact(Partition *p, const Sym *var, const Node *lo, const Node *hi) {
    return sim_with_range(p->arena, p->facts, var, (Interval){ lo, hi });
}

static const Facts *loop_fact(Partition *p, const Stmt *s) {
    return sim_with_loop(p->ir, p->arena, p->facts, s->u.loop.var, s->u.loop.min, s->u.loop.extent);
}

static Stmt *steady_if(StmtMap *m, Stmt *s) {
    Partition *p = m->user;
    const Node *cond = s->u.cond.cond;
    if (!s->u.cond.likely && !is_likely(p, cond)) return st_map_kids(m, s);
    const Node *left = ask(p, cond);
    if (left == cond) return st_map_kids(m, s);
    if (ir_is(left, 1)) return st_map(m, s->u.cond.yes);
    Stmt *now = st_if(p->arena, left, s->u.cond.yes, s->u.cond.no);
    now->u.cond.likely = s->u.cond.likely;
    now->u.cond.mask = s->u.cond.mask;
    now->line = s->line;
    return st_map_kids(m, now);
}

enum { FEW = 8 };

/* The statements right inside of s: how many, -1 where it is none that holds others; `pair` is room for two. */
static int kids_of(const Stmt *s, Stmt *pair[2], Stmt *const **at) {
    *at = pair;
    pair[0] = pair[1] = NULL;
    switch (s->kind) {
    case ST_BLOCK: *at = s->u.block.at; return s->u.block.n;
    case ST_FOR: pair[0] = s->u.loop.body; return 1;
    case ST_LET: pair[0] = s->u.let.body; return 1;
    case ST_IF: pair[0] = s->u.cond.yes; pair[1] = s->u.cond.no; return 2;
    case ST_ALLOC: pair[0] = s->u.alloc.body; return 1;
    case ST_PRODUCE: pair[0] = s->u.produce.body; return 1;
    case ST_TURN: pair[0] = s->u.turn.body; return 1;
    case ST_FORK: pair[0] = s->u.fork.task; pair[1] = s->u.fork.rest; return 2;
    default: return -1;
    }
}

/* A loop that runs its iterations one by one or in threads, not as lanes or copies. */
static bool is_stepped(const Stmt *s) {
    return s->kind == ST_FOR && (s->u.loop.kind == LOOP_SERIAL || sch_spreads(s->u.loop.kind));
}

/* Does s hold a loop of more than a few iterations? */
static bool is_long(const Stmt *s) {
    Stmt *pair[2], *const *at;
    int64_t n;
    if (!s) return false;
    if (is_stepped(s) && !(ir_is_int(s->u.loop.extent, &n) && n <= FEW)) return true;
    for (int i = 0, kids = kids_of(s, pair, &at); i < kids; i++)
        if (is_long(at[i])) return true;
    return false;
}

/* The statements that s becomes when its loops are unrolled. */
static int64_t written(const Stmt *s) {
    Stmt *pair[2], *const *at;
    int64_t n = 0, extent;
    if (!s) return 0;
    int kids = kids_of(s, pair, &at);
    if (kids < 0) return 1;
    for (int i = 0; i < kids; i++) n += written(at[i]);
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_UNROLL && ir_is_int(s->u.loop.extent, &extent) ? n * extent : n;
}

/* Conditions in the bounds of a loop, in a name, in an `if` are asked once for all that stands inside.  Where
 * that is a long loop or much code they are no reason to write everything twice. */
static bool is_cheap(const Partition *p, const Stmt *s) {
    const Stmt *inside = NULL;
    if (p->copies) return false;
    switch (s->kind) {
    case ST_FOR: inside = s->u.loop.body; break;
    case ST_LET: inside = s->u.let.body; break;
    case ST_ALLOC: inside = s->u.alloc.body; break;
    case ST_IF: inside = s->u.cond.yes; break;
    default: break;
    }
    return is_long(inside) || written(inside) > FEW;
}

/* The fact that s gives to what stands inside of it. */
static const Facts *inside_of(Partition *p, const Stmt *s) {
    if (s->kind == ST_FOR) return loop_fact(p, s);
    if (s->kind != ST_LET || s->u.let.var->type != MLC_INDEX) return p->facts;
    return with_fact(p, s->u.let.var, s->u.let.value, s->u.let.value);
}

/* Answers were found for one range of a variable: another copy of its loop asks again. */
static void enter(Partition *p, const Stmt *s) {
    const Sym *var = s->kind == ST_FOR ? s->u.loop.var : s->kind == ST_LET ? s->u.let.var : NULL;
    if (!var) return;
    if (pm_has(&p->inside, var)) pm_init(&p->solved, p->arena);
    pm_put(&p->inside, var, p);
}

static Stmt *steady_stmt(StmtMap *m, Stmt *s) {
    Partition *p = m->user;
    const Facts *outer = p->facts;
    p->cheap = is_cheap(p, s);
    if (s->kind == ST_IF) return steady_if(m, s);
    bool copies = s->kind == ST_FOR && (s->u.loop.kind == LOOP_VECTOR || s->u.loop.kind == LOOP_UNROLL);
    enter(p, s);
    p->facts = inside_of(p, s);
    p->copies += copies;
    Stmt *now = st_map_kids(m, s);
    p->copies -= copies;
    p->facts = outer;
    return now;
}

/* ---- cutting the loop ---- */

/* Serial and parallel loops inside one another in s. */
static int loop_depth(const Stmt *s) {
    Stmt *pair[2], *const *at;
    int most = 0;
    if (!s) return 0;
    for (int i = 0, kids = kids_of(s, pair, &at); i < kids; i++) {
        int depth = loop_depth(at[i]);
        most = depth > most ? depth : most;
    }
    return most + is_stepped(s);
}

static Stmt *part(Partition *p, const Stmt *loop, const Node *from, const Node *to, Stmt *body) {
    Stmt *s = arena_copy(p->arena, loop, sizeof *loop);
    s->u.loop.min = from;
    s->u.loop.extent = sim_simplify(p->ir, p->facts, ir_sub(p->ir, to, from));
    s->u.loop.body = body;
    return s;
}

/* With [first, beyond) the interval where all conditions hold, cut to the loop's [min, end) on one side each:
 *     prologue [min, min(first, end)), steady [first, beyond), epilogue [max(beyond, min(first, end)), end)
 * cover the loop in order, also where beyond < first: the steady loop then has no iterations.  Its ends
 * are not clamped to one another, so that inside of it v >= first and v < beyond say all they can. */
typedef struct {
    const Node *min, *end;
    const Node *first, *beyond;
    const Node *head_end, *tail;   /* end of the prologue, start of the epilogue */
    struct {
        const Sym *var;
        const Node *value;
    } let[4];                      /* names for the longer ones */
    int n;
} Cut;

static const Node *named(Partition *p, const Stmt *loop, Cut *c, const char *what, const Node *value) {
    value = sim_simplify(p->ir, p->facts, value);
    if (ir_is_const(value) || value->op == OP_VAR || value == c->end) return value;
    Sym *sym = ARENA_NEW(p->arena, Sym);
    sym->name = arena_printf(p->arena, "%s_%s", loop->u.loop.var->name, what);
    sym->kind = SYM_LET;
    sym->type = MLC_INDEX;
    p->facts = with_fact(p, sym, value, value);
    c->let[c->n].var = sym;
    c->let[c->n++].value = value;
    return ir_var(p->ir, sym);
}

/* Fills c and adds the facts of its names; false where the steady state is empty. */
static bool cut(Partition *p, const Stmt *loop, Cut *c) {
    Interner *I = p->ir;
    *c = (Cut){ .min = loop->u.loop.min };
    c->end = sim_simplify(I, p->facts, ir_add(I, c->min, loop->u.loop.extent));
    c->first = c->head_end = c->min;
    c->beyond = c->tail = c->end;
    if (p->lo) c->first = named(p, loop, c, "steady", ir_max(I, c->min, p->lo));
    if (p->hi) c->beyond = named(p, loop, c, "end", ir_min(I, c->end, ir_add(I, p->hi, ir_idx(I, 1))));
    if (sim_prove(I, p->facts, ir_make2(I, OP_LE, c->beyond, c->first))) return false;
    if (c->first != c->min) c->head_end = named(p, loop, c, "head", ir_min(I, c->first, c->end));
    if (c->beyond != c->end) c->tail = named(p, loop, c, "tail", ir_max(I, c->beyond, ir_min(I, c->first, c->end)));
    return true;
}

static Stmt *bound(Partition *p, const Cut *c, Stmt *s) {
    for (int i = c->n; i-- > 0;) s = st_let(p->arena, c->let[i].var, c->let[i].value, s);
    return s;
}

static Stmt *inwards(StmtMap *m, const Facts *fact, Stmt *body) {
    Partition *p = m->user;
    const Facts *outer = p->facts;
    p->facts = fact;
    Stmt *now = st_map(m, body);
    p->facts = outer;
    return now;
}

/* What is left of a loop that holds whole loop nests, like the rows that warm up a sliding window or a strip at
 * the border, is worth cutting its innermost loops. */
static Stmt *border(StmtMap *m, const Stmt *loop, const Node *end) {
    Partition *p = m->user;
    Stmt *body = loop->u.loop.body;
    if (loop_depth(body) < 2 || p->border) return body;
    const Node *last = ir_sub(p->ir, end, ir_idx(p->ir, 1));
    p->border = true;
    body = inwards(m, with_fact(p, loop->u.loop.var, loop->u.loop.min, last), body);
    p->border = false;
    return body;
}

static Stmt *assembled(StmtMap *m, const Stmt *loop, const Cut *c, Stmt *steady) {
    Partition *p = m->user;
    Interner *I = p->ir;
    const Node *last = ir_sub(I, c->beyond, ir_idx(I, 1));
    steady = inwards(m, with_fact(p, loop->u.loop.var, c->first, last), steady);
    bool head = c->first != c->min, tail = c->beyond != c->end;
    Stmt *result;
    if (!head && !tail) {
        result = part(p, loop, c->min, c->end, steady);
    } else if (loop->u.loop.kind == LOOP_PARALLEL) {
        const Node *v = ir_var(I, loop->u.loop.var), *in = ir_bool(I, true);
        if (head) in = ir_make2(I, OP_LE, c->first, v);
        if (tail) in = ir_make2(I, OP_LAND, in, ir_make2(I, OP_LT, v, c->beyond));
        result = part(p, loop, c->min, c->end, st_if(p->arena, in, steady, border(m, loop, c->end)));
    } else {
        Stmt *at[3] = { head ? part(p, loop, c->min, c->head_end, border(m, loop, c->head_end)) : NULL,
                        part(p, loop, c->first, c->beyond, steady),
                        tail ? part(p, loop, c->tail, c->end, loop->u.loop.body) : NULL };
        result = st_block(p->arena, 3, at);
    }
    return bound(p, c, result);
}

/* Collects into p->lo and p->hi; the body of the steady state. */
static Stmt *collect(Partition *p, const Stmt *loop) {
    const Facts *outer = p->facts;
    p->var = loop->u.loop.var;
    p->innermost = !loop_depth(loop->u.loop.body);
    p->lo = p->hi = NULL;
    p->found = 0;
    p->worth = false;
    p->copies = 0;
    pm_init(&p->solved, p->arena);
    pm_init(&p->inside, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .expr = steady_expr, .stmt = steady_stmt, .user = p };
    p->facts = loop_fact(p, loop);
    Stmt *steady = st_map(&m, loop->u.loop.body);
    p->facts = outer;
    return steady;
}

static mlc_partition_policy policy(const Stmt *loop) {
    return loop->u.loop.dim ? loop->u.loop.dim->partition : MLC_PARTITION_AUTO;
}

/* The loop cut up, or NULL where there is nothing to gain. */
static Stmt *partitioned(StmtMap *m, Stmt *loop) {
    Partition *p = m->user;
    const Facts *outer = p->facts;
    Cut c;
    int64_t extent;
    bool always = policy(loop) == MLC_PARTITION_ALWAYS;
    if (!always && ir_is_int(loop->u.loop.extent, &extent) && extent <= 2) return NULL;
    Stmt *steady = collect(p, loop), *now = NULL;
    if (p->found && (p->worth || always) && cut(p, loop, &c)) {
        now = assembled(m, loop, &c, steady);
        pm_put(&p->cut, loop->u.loop.dim, p);
    }
    p->facts = outer;
    return now;
}

static Stmt *visit(StmtMap *m, Stmt *s) {
    Partition *p = m->user;
    const Facts *outer = p->facts;
    bool loop = s->kind == ST_FOR, vector = loop && s->u.loop.kind == LOOP_VECTOR;
    /* Inside a vector loop the ends of the steady state could differ from lane to lane. */
    bool cuts = loop && !p->vectors && (!p->border || !loop_depth(s->u.loop.body)) && policy(s) != MLC_PARTITION_NEVER;
    if (cuts && (s->u.loop.kind == LOOP_SERIAL || s->u.loop.kind == LOOP_PARALLEL)) {
        Stmt *cut_up = partitioned(m, s);
        if (cut_up) return cut_up;
    }
    p->facts = inside_of(p, s);
    p->vectors += vector;
    Stmt *now = st_map_kids(m, s);
    p->vectors -= vector;
    p->facts = outer;
    return now;
}

/* ---- the hints have served ---- */

static const Node *strip_node(void *user, Interner *I, const Node *e) {
    (void)user;
    (void)I;
    return without_likely(e);
}

static const Node *strip(StmtMap *m, const Node *e) {
    return marks(m->user, e) & MARK_ANY ? ir_rewrite(m->ir, e, strip_node, NULL) : e;
}

/* Every loop that is always to be cut was, somewhere. */
static void check_always(const Partition *p, const Schedule *schedule, const StageSched *st) {
    for (int i = 0; i < st->dim.n; i++) {
        const Dim *d = &st->dim.at[i];
        if (d->partition != MLC_PARTITION_ALWAYS || pm_has(&p->cut, d)) continue;
        Place place = sch_place(p->arena, d->partitioned);
        const char *stage = st->index ? arena_printf(p->arena, "%s.u%d", st->func->name, st->index - 1) : st->func->name;
        fault_raise(schedule->arena->fault, ERR_PARTITION_NOTHING, &place, d->name, stage);
    }
}

static void check_schedule(const Partition *p, const Schedule *schedule) {
    for (int i = 0; schedule && i < schedule->order.n; i++) {
        const FuncSched *fs = pm_get(&schedule->sched, schedule->order.at[i]);
        for (int k = 0; fs && k < fs->stage.n; k++) check_always(p, schedule, &fs->stage.at[k]);
    }
}

Stmt *low_partition(Arena *a, Interner *I, const Schedule *schedule, Stmt *s) {
    Partition p = { .arena = a, .ir = I };
    pm_init(&p.marked, a);
    pm_init(&p.cut, a);
    StmtMap m = { .arena = a, .ir = I, .stmt = visit, .user = &p };
    s = st_map(&m, s);
    check_schedule(&p, schedule);
    StmtMap clean = { .arena = a, .ir = I, .expr = strip, .user = &p };
    return st_map(&clean, s);
}
