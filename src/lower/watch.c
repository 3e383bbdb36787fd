/* watch.c - counting what profiled stages do, at no cost inside of loops.
 *
 * Each store counts a point of its stage, each production a run.  A count moves outwards as far as what it counts is
 * known: out of a loop it is taken times the loop's extent, unless the loop's variable or a condition decides.
 *
 *     for y                                 count points of g: extent(y) * 8
 *       for x in [0 +: 8)                   for y
 *         g(x, y) = ...                       for x in [0 +: 8)
 *                                               g(x, y) = ... */
#include "lower/passes.h"

typedef struct {
    int at;
    CountKind what;
    const Node *amount;
} Tally;
typedef VEC(Tally) Tallies;

typedef struct {
    Program *p;
    PtrMap stage; /* Func -> stage of the innermost production around */
} Watch;

static Stmt *counted(Watch *w, Stmt *s, Tallies *out);

static int find(const Watch *w, const Func *f, int stage) {
    for (int i = 0; i < w->p->watched.n; i++)
        if (w->p->watched.at[i].func == f && w->p->watched.at[i].stage == stage) return i;
    return -1;
}

static void add(Watch *w, Tallies *out, int at, CountKind what, const Node *amount) {
    for (int i = 0; at >= 0 && i < out->n; i++) {
        Tally *t = &out->at[i];
        if (t->at != at || t->what != what) continue;
        t->amount = sim_simplify(w->p->ir, NULL, ir_add(w->p->ir, t->amount, amount));
        return;
    }
    Tally t = { at, what, amount };
    if (at >= 0) VEC_PUSH(w->p->arena, out, t);
}

static void find_data(void *user, const Node *e) {
    *(bool *)user |= e->op == OP_ACCESS || e->op == OP_QUERY || e->op == OP_EXTERN;
}

static bool reads_data(const Watch *w, const Node *e) {
    bool found = false;
    ir_visit(w->p->arena, e, find_data, &found);
    return found;
}

/* The body behind the counts that go no further. */
static Stmt *settled(Watch *w, const Tallies *in, Stmt *body) {
    Stmt **at = ARENA_ARRAY(w->p->arena, Stmt *, in->n + 1);
    for (int i = 0; i < in->n; i++) at[i] = st_count(w->p->arena, in->at[i].at, in->at[i].what, in->at[i].amount);
    at[in->n] = body;
    return st_block(w->p->arena, in->n + 1, at);
}

static Stmt *counted_here(Watch *w, Stmt *s) {
    Tallies in = { 0 };
    Stmt *body = s ? counted(w, s, &in) : NULL;
    return settled(w, &in, body);
}

/* Those that depend on `var`, which is bound around the body, stay inside; the others come `times` as often. */
static Stmt *counted_scope(Watch *w, const Sym *var, const Node *times, Stmt *body, Tallies *out) {
    Interner *I = w->p->ir;
    Tallies in = { 0 }, stay = { 0 };
    bool varies = times && reads_data(w, times);
    body = counted(w, body, &in);
    for (int i = 0; i < in.n; i++) {
        Tally t = in.at[i];
        if (varies || ir_uses(w->p->arena, t.amount, var)) VEC_PUSH(w->p->arena, &stay, t);
        else add(w, out, t.at, t.what, times ? sim_simplify(I, NULL, ir_mul(I, t.amount, times)) : t.amount);
    }
    return settled(w, &stay, body);
}

static const Node *box_points(Watch *w, const Stmt *s) {
    Whole whole = alg_whole(s->u.call.func);
    Interner *I = w->p->ir;
    const Node *const *e = s->u.call.e, *n = ir_idx(I, 1);
    for (int i = 0; i < whole.n_in; i++) e += 2 * whole.in[i]->rank;
    for (int d = 0; d < s->u.call.func->rank; d++) n = ir_mul(I, n, ir_max(I, e[2 * d + 1], ir_idx(I, 0)));
    return sim_simplify(I, NULL, n);
}

static int current(const Watch *w, const Func *f) {
    return find(w, f, (int)(intptr_t)pm_get(&w->stage, f));
}

static Stmt *counted_produce(Watch *w, Stmt *now, Tallies *out) {
    const Func *f = now->u.produce.func;
    void *outer = pm_get(&w->stage, f);
    if (!now->u.produce.is_consume) {
        pm_put(&w->stage, f, (void *)(intptr_t)now->u.produce.stage);
        add(w, out, current(w, f), COUNT_RUNS, ir_idx(w->p->ir, 1));
    }
    now->u.produce.body = counted(w, now->u.produce.body, out);
    pm_put(&w->stage, f, outer);
    return now;
}

static Stmt *counted_block(Watch *w, Stmt *now, Tallies *out) {
    Stmt **at = ARENA_ARRAY(w->p->arena, Stmt *, now->u.block.n);
    for (int i = 0; i < now->u.block.n; i++) at[i] = counted(w, now->u.block.at[i], out);
    return st_block(w->p->arena, now->u.block.n, at);
}

static Stmt *counted(Watch *w, Stmt *s, Tallies *out) {
    Interner *I = w->p->ir;
    Stmt *now = arena_copy(w->p->arena, s, sizeof *s);
    switch (s->kind) {
    case ST_BLOCK: return counted_block(w, now, out);
    case ST_STORE: add(w, out, current(w, s->u.store.func), COUNT_POINTS, ir_idx(I, 1)); return s;
    case ST_CALL: add(w, out, current(w, s->u.call.func), COUNT_POINTS, box_points(w, s)); return s;
    case ST_PRODUCE: return counted_produce(w, now, out);
    case ST_FOR: {
        const Node *times = sim_simplify(I, NULL, ir_max(I, s->u.loop.extent, ir_idx(I, 0)));
        now->u.loop.body = counted_scope(w, s->u.loop.var, times, s->u.loop.body, out);
        return now;
    }
    case ST_LET: now->u.let.body = counted_scope(w, s->u.let.var, NULL, s->u.let.body, out); return now;
    case ST_ALLOC: now->u.alloc.body = counted(w, s->u.alloc.body, out); return now;
    case ST_IF:
        now->u.cond.yes = counted_here(w, s->u.cond.yes);
        now->u.cond.no = counted_here(w, s->u.cond.no);
        return now;
    case ST_TURN: now->u.turn.body = counted_here(w, s->u.turn.body); return now;
    case ST_FORK:
        now->u.fork.task = counted_here(w, s->u.fork.task);
        now->u.fork.rest = counted_here(w, s->u.fork.rest);
        return now;
    case ST_KERNEL: /* what threads of a GPU do is not counted */
    case ST_CHECK: case ST_EVAL: case ST_PREFETCH: case ST_COUNT: case ST_BARRIER: case ST_COPIES: case ST_MOVE: case ST_MMA: return s;
    }
    return s;
}

/* Checks of sizes come first: what they refuse is not counted. */
void low_watch(Program *p, const LowerOptions *o) {
    (void)o;
    Watch w = { .p = p };
    Tallies all = { 0 };
    if (!p->watched.n || !p->body) return;
    pm_init(&w.stage, p->arena);
    Stmt *body = counted(&w, p->body, &all);
    for (int i = 0; i < p->watched.n; i++)
        if (p->watched.at[i].needed) add(&w, &all, i, COUNT_NEEDED, p->watched.at[i].needed);
    add(&w, &all, p->watched.n, COUNT_RUNS, ir_idx(p->ir, 1)); /* calls */
    p->body = settled(&w, &all, body);
}
