/* simplify_pass.c - simplifies every expression of a program with what its place knows: ranges of the
 * loops around it, values of lets, conditions of ifs, checks that have passed.
 *
 *     for x in [0, 8): if (x < 9) f(x) = g(max(x, 0))        for x in [0, 8): f(x) = g(x)
 *
 * Loops of no iteration and ifs that are decided disappear, loops of one iteration become lets, and lets
 * of constants, of variables and of values used once at their own depth are put in place.  The last run
 * writes unrolled loops out as well: each copy is simplified as it is made, and no pass goes over it again. */
#include "lower/passes.h"

typedef struct {
    int count;      /* uses of the variable */
    int let_depth;  /* loops around its let */
    int use_depth;  /* loops around the last use found */
} Uses;

typedef struct {
    Arena *arena;
    Interner *ir;
    Sim *sim;
    PtrMap uses;    /* Sym -> Uses */
    bool unroll;    /* the last run */
    int64_t copies; /* that unrolled loops around make of what is being simplified */
    int depth;      /* loops around, while counting */
} Pass;

/* ---- how often is a let used, and inside how many loops? ---- */

static void count_node(void *user, const Node *e) {
    Pass *p = user;
    Uses *u = e->op == OP_VAR ? pm_get(&p->uses, e->u.sym) : NULL;
    if (!u) return;
    u->count++;
    u->use_depth = p->depth;
}

static Stmt *count_stmt(StmtMap *m, Stmt *s) {
    Pass *p = m->user;
    if (s->kind == ST_LET) {
        Uses *u = ARENA_NEW(m->arena, Uses);
        u->let_depth = p->depth;
        if (pm_has(&p->uses, s->u.let.var)) u->count = 2; /* copies of a loop bind it twice: leave it */
        pm_put(&p->uses, s->u.let.var, u);
    }
    p->depth += s->kind == ST_FOR;
    st_map_kids(m, s);
    p->depth -= s->kind == ST_FOR;
    return s;
}

/* ---- what may move ---- */

typedef struct {
    bool reads, acts;
} Effects;

static void look(void *user, const Node *e) {
    Effects *f = user;
    f->reads |= e->op == OP_ACCESS || e->op == OP_LOAD;
    f->acts |= e->op == OP_PRINT || e->op == OP_REQUIRE;
}

static Effects effects(Pass *p, const Node *e) {
    Effects f = { false, false };
    ir_visit(p->arena, e, look, &f);
    return f;
}

static bool goes_inline(Pass *p, const Sym *var, const Node *value) {
    if (ir_is_const(value) || value->op == OP_VAR) return true;
    const Uses *u = pm_get(&p->uses, var);
    if (!u || u->count != 1 || u->use_depth != u->let_depth) return false;
    Effects f = effects(p, value);
    return !f.reads && !f.acts;
}

/* ---- statements ---- */

static const Node *run(Pass *p, const Node *e) {
    return e ? sim_run(p->sim, e) : NULL;
}

static const Node *simplify_expr(StmtMap *m, const Node *e) {
    return run(m->user, e);
}

static Stmt *inside(StmtMap *m, Stmt *body, const Facts *fact) {
    Pass *p = m->user;
    Sim *outer = p->sim;
    p->sim = sim_inside(outer, fact);
    Stmt *now = st_map(m, body);
    p->sim = outer;
    return now;
}

static Stmt *let(StmtMap *m, Stmt *s, const Sym *var, const Node *value, Stmt *body) {
    Pass *p = m->user;
    const Uses *u = pm_get(&p->uses, var);
    bool unused = u && u->count == 0 && !effects(p, value).acts, replace = goes_inline(p, var, value);
    Facts *fact = ARENA_NEW(p->arena, Facts);
    *fact = (Facts){ .var = var, .range = { value, value }, .replace = replace };
    Stmt *now = inside(m, body, fact);
    if (!now || unused || replace) return now;
    if (s->kind == ST_LET && now == s->u.let.body && value == s->u.let.value) return s;
    Stmt *made = st_let(p->arena, var, value, now);
    made->line = s->line;
    return made;
}

static Stmt *write_out(StmtMap *m, Stmt *s, const Node *min, const Node *extent) {
    Pass *p = m->user;
    int64_t n = low_copies(p->arena, p->sim, s, extent, p->copies);
    if (n < 1) return NULL;
    Stmt **copy = ARENA_ARRAY(p->arena, Stmt *, n);
    p->copies *= n;
    for (int64_t i = 0; i < n; i++) {
        const Node *k = ir_idx(p->ir, i);
        Stmt *one = st_substitute(p->arena, p->ir, s->u.loop.body, s->u.loop.var, run(p, ir_add(p->ir, min, k)));
        if (!ir_is_const(extent)) one = st_if(p->arena, ir_make2(p->ir, OP_LT, k, extent), one, NULL);
        copy[i] = st_map(m, one);
    }
    p->copies /= n;
    return st_block(p->arena, (int)n, copy);
}

static Stmt *loop(StmtMap *m, Stmt *s) {
    Pass *p = m->user;
    const Node *min = run(p, s->u.loop.min), *extent = run(p, s->u.loop.extent);
    if (sim_holds(p->sim, ir_make2(p->ir, OP_LE, extent, ir_idx(p->ir, 0)))) return NULL;
    if (ir_is(extent, 1) && !sch_is_gpu(s->u.loop.kind) && s->u.loop.kind != LOOP_TENSOR) return let(m, s, s->u.loop.var, min, s->u.loop.body);
    if (p->unroll && s->u.loop.kind == LOOP_UNROLL) return write_out(m, s, min, extent);
    if (p->unroll && s->u.loop.kind == LOOP_VECTOR) low_check_lanes(p->arena, s, extent);
    Facts *fact = ARENA_NEW(p->arena, Facts);
    const Node *last = run(p, ir_sub(p->ir, ir_add(p->ir, min, extent), ir_idx(p->ir, 1)));
    *fact = (Facts){ .var = s->u.loop.var, .range = { min, last } };
    Stmt *body = inside(m, s->u.loop.body, fact);
    if (!body) return NULL;
    if (min == s->u.loop.min && extent == s->u.loop.extent && body == s->u.loop.body) return s;
    Stmt *made = arena_copy(p->arena, s, sizeof *s);
    made->u.loop.min = min;
    made->u.loop.extent = extent;
    made->u.loop.body = body;
    return made;
}

static const Node *without_likely(const Node *e) {
    while (e->op == OP_LIKELY || e->op == OP_LIKELY_INNER) e = e->kid[0];
    return e;
}

static Stmt *under(StmtMap *m, Stmt *s, const Node *truth) {
    Pass *p = m->user;
    if (!s) return NULL;
    Facts *fact = ARENA_NEW(p->arena, Facts);
    *fact = (Facts){ .truth = truth };
    return inside(m, s, fact);
}

static Stmt *branch(StmtMap *m, Stmt *s) {
    Pass *p = m->user;
    const Node *cond = run(p, s->u.cond.cond);
    int64_t c;
    if (ir_is_int(cond, &c)) return st_map(m, c ? s->u.cond.yes : s->u.cond.no);
    const Node *holds = without_likely(cond);
    /* Where one of loads and stores is masked alone, the other runs in every lane: nothing holds of both. */
    bool all_run = s->u.cond.mask == MASK_STORES || s->u.cond.mask == MASK_LOADS;
    Stmt *yes = all_run ? st_map(m, s->u.cond.yes) : under(m, s->u.cond.yes, holds);
    Stmt *no = under(m, s->u.cond.no, run(p, ir_make1(p->ir, OP_LNOT, holds)));
    if (!yes && !no) return NULL;
    if (cond == s->u.cond.cond && yes == s->u.cond.yes && no == s->u.cond.no) return s;
    Stmt *made = arena_copy(p->arena, s, sizeof *s);
    if (!yes) { /* only the else is left */
        cond = run(p, ir_make1(p->ir, OP_LNOT, holds));
        made->u.cond.likely = false;
    }
    made->u.cond.cond = cond;
    made->u.cond.yes = yes ? yes : no;
    made->u.cond.no = yes ? no : NULL;
    return made;
}

static Stmt *check(StmtMap *m, Stmt *s) {
    Stmt *now = st_map_kids(m, s);
    return ir_is(without_likely(now->u.check.cond), 1) ? NULL : now;
}

static void rely_on(Pass *p, const Stmt *s) {
    Facts *fact = ARENA_NEW(p->arena, Facts);
    *fact = (Facts){ .truth = without_likely(s->u.check.cond) };
    p->sim = sim_inside(p->sim, fact);
}

/* What stands after checks may rely on them; checks in a row share their scope. */
static Stmt *block(StmtMap *m, Stmt *s) {
    Pass *p = m->user;
    Sim *outer = p->sim;
    int n = s->u.block.n, relied = 0;
    Stmt **at = ARENA_ARRAY(p->arena, Stmt *, n);
    bool same = true;
    for (int i = 0; i < n; i++) {
        for (; relied < i && s->u.block.at[i]->kind != ST_CHECK; relied++)
            if (at[relied] && at[relied]->kind == ST_CHECK) rely_on(p, at[relied]);
        at[i] = st_map(m, s->u.block.at[i]);
        same &= at[i] == s->u.block.at[i];
    }
    p->sim = outer;
    return same ? s : st_block(p->arena, n, at);
}

/* A turn names the part of a ring buffer. */
static Stmt *turn(StmtMap *m, Stmt *s) {
    Pass *p = m->user;
    const Channel *c = s->u.turn.channel;
    Facts *fact = ARENA_NEW(p->arena, Facts);
    *fact = (Facts){ .var = c->part, .range = { ir_idx(p->ir, 0), ir_idx(p->ir, c->parts - 1) } };
    Stmt *body = inside(m, s->u.turn.body, fact);
    return st_turn(p->arena, s->u.turn.channel, s->u.turn.reader, run(p, s->u.turn.ahead), body);
}

/* Blocks and threads of a kernel count from 0. */
static Stmt *kernel(StmtMap *m, Stmt *s) {
    Pass *p = m->user;
    Kernel k = *s->u.kernel.kernel;
    Sim *outer = p->sim;
    for (int d = 0; d < GPU_DIMS; d++) {
        k.grid[d] = run(p, k.grid[d]);
        if (sim_holds(outer, ir_make2(p->ir, OP_LE, k.grid[d], ir_idx(p->ir, 0)))) return NULL;
    }
    for (int d = 0; d < GPU_DIMS; d++) {
        Facts *fact = ARENA_ARRAY(p->arena, Facts, 2);
        const Node *zero = ir_idx(p->ir, 0);
        fact[0] = (Facts){ .var = k.block[d], .range = { zero, sim_run(outer, ir_sub(p->ir, k.grid[d], ir_idx(p->ir, 1))) } };
        fact[1] = (Facts){ .var = k.thread[d], .range = { zero, ir_idx(p->ir, k.threads[d] - 1) } };
        p->sim = sim_inside(sim_inside(p->sim, &fact[0]), &fact[1]);
    }
    Stmt *body = st_map(m, s->u.kernel.body);
    p->sim = outer;
    return body ? st_kernel(p->arena, arena_copy(p->arena, &k, sizeof k), body) : NULL;
}

static Stmt *simplify_stmt(StmtMap *m, Stmt *s) {
    Pass *p = m->user;
    switch (s->kind) {
    case ST_FOR: return loop(m, s);
    case ST_LET: return let(m, s, s->u.let.var, run(p, s->u.let.value), s->u.let.body);
    case ST_IF: return branch(m, s);
    case ST_CHECK: return check(m, s);
    case ST_BLOCK: return block(m, s);
    case ST_KERNEL: return kernel(m, s);
    case ST_TURN: return s->u.turn.channel->part ? turn(m, s) : st_map_kids(m, s);
    default: return st_map_kids(m, s);
    }
}

Stmt *low_simplify(Arena *a, Interner *I, Stmt *s, bool unroll) {
    Pass p = { .arena = a, .ir = I, .sim = sim_begin(I, NULL), .unroll = unroll, .copies = 1 };
    pm_init(&p.uses, a);
    StmtMap count = { .arena = a, .ir = I, .visit = count_node, .stmt = count_stmt, .user = &p };
    st_map(&count, s);
    StmtMap m = { .arena = a, .ir = I, .expr = simplify_expr, .stmt = simplify_stmt, .user = &p };
    s = st_map(&m, s);
    sim_end(p.sim);
    return s;
}
