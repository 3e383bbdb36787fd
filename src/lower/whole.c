/* whole.c - extern stages: boxes that only a call of their C function can tell.
 *
 *     let f._0.first = query.f.1.d0.first(lo, hi)     what f writes where [lo, hi] is needed
 *     let f.g.x.first = query.f.0.d0.first(lo, hi)    what f reads of g for that
 *     alloc g ...  produce g ...
 *     produce f:  call blur f[..] of g[..]
 *
 * A query is an expression of the box asked for, so boxes go on from consumers to producers as ever.  Where a
 * producer is computed outside of the loops around f, sim_bounds makes of the queries of all those boxes
 * the query of the box around them: a larger box needs no less.  That is a promise of the C function, so
 * before each call a check compares what it reads with what is there.
 *
 * Where the plan has loops for it, each iteration asks and calls for a slice of the box (whole_loops.c):
 *
 *     for yo  let f._1.from = ..   let f.g.x.first = query .. of the slice ..   call blur f[slice] of g[..] */
#include "lower/nest.h"

#include "ir/whole.h"

#include <string.h>

static const Node *question(Build *b, const FuncNest *fn, const Whole *w, int which) {
    const Node *kid[2 * MAX_RANK + 8];
    int n = 0;
    for (int d = 0; d < w->rank; d++) {
        kid[n++] = fn->asked[d].lo;
        kid[n++] = fn->asked[d].hi;
    }
    for (int i = 0; i < w->n_scalars; i++) kid[n++] = w->scalar[i];
    return ir_node(b->ir, OP_QUERY, MLC_INDEX, (uint64_t)(uintptr_t)fn->func, which, n, kid);
}

/* A number of the query gets a name, so that it is asked for once. */
static const Node *ask(Build *b, const FuncNest *fn, const Whole *w, int which, const char *what) {
    const Sym *s = low_sym(b, fn->func, SYM_LET, arena_printf(b->arena, "%s.%s", fn->func->name, what));
    BoxLet let = { s, question(b, fn, w, which), NULL };
    VEC_PUSH(b->arena, &fn->asks->box, let);
    return ir_var(b->ir, s);
}

static Interval ask_ends(Build *b, const FuncNest *fn, const Whole *w, int buffer, const Func *g, int d) {
    const char *dim = g->arg[d] ? g->arg[d]->name : arena_printf(b->arena, "%d", d);
    if (g != fn->func) dim = arena_printf(b->arena, "%s.%s", g->name, dim);
    return (Interval){ ask(b, fn, w, whole_end(buffer, d, false), arena_printf(b->arena, "%s.first", dim)),
                       ask(b, fn, w, whole_end(buffer, d, true), arena_printf(b->arena, "%s.last", dim)) };
}

static void check(Build *b, const FuncNest *fn, const Node *cond, ErrCode code, int n, const Node *const *arg) {
    Stmt *s = low_check(b, cond, code, fn->func->name, NULL, n, arg);
    if (fn->asks == b->root) low_entry(b, s);
    else VEC_PUSH(b->arena, &fn->asks->check, s);
}

static void check_answer(Build *b, const FuncNest *fn, const Whole *w) {
    static const struct {
        WholeFault fault;
        ErrCode code;
    } row[] = { { WHOLE_TYPE, ERR_STAGE_TYPE }, { WHOLE_FAR, ERR_STAGE_FAR }, { WHOLE_SMALLER, ERR_STAGE_SMALLER } };
    const Node *code = ask(b, fn, w, WHOLE_CODE, "code"), *fault = ask(b, fn, w, WHOLE_FAULT, "fault");
    check(b, fn, ir_make2(b->ir, OP_EQ, code, ir_idx(b->ir, 0)), ERR_STAGE_CODE, 1, &code);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        check(b, fn, ir_make2(b->ir, OP_NE, fault, ir_idx(b->ir, row[i].fault)), row[i].code, 0, NULL);
}

/* Names the answer for fn->asked in the scope fn->asks, and checks it. */
static void ask_all(Build *b, FuncNest *fn, Interval *written) {
    Whole w = alg_whole(fn->func);
    check_answer(b, fn, &w);
    for (int d = 0; d < w.rank; d++) written[d] = ask_ends(b, fn, &w, w.first[w.n_in], fn->func, d);
    for (int i = 0; i < w.n_in; i++) {
        fn->read[i] = ARENA_ARRAY(b->arena, Interval, w.in[i]->rank + 1);
        for (int d = 0; d < w.in[i]->rank; d++) fn->read[i][d] = ask_ends(b, fn, &w, w.first[i], w.in[i], d);
    }
}

static bool in_slices(const FuncNest *fn) {
    return fn->sched->stage.at[0].dim.n > 0;
}

void low_whole_ask(Build *b, FuncNest *fn, Interval *written) {
    memmove(written, fn->box, sizeof fn->box);
    if (in_slices(fn)) return;
    memcpy(fn->asked, fn->box, sizeof fn->box);
    fn->asks = fn->compute;
    ask_all(b, fn, written);
    memcpy(fn->call, written, sizeof fn->call);
}

/* ---- slices ---- */

/* What an iteration has of a name's points, counted from 0. */
static Interval slice(Build *b, const StageNest *st, int split, const char *name, const Node *extent) {
    Interner *I = b->ir;
    const Node *one = ir_idx(I, 1);
    for (int i = split; i < st->sched->split.n; i++) {
        const Split *s = &st->sched->split.at[i];
        if (strcmp(s->old, name)) continue;
        if (s->kind == SPLIT_RENAME) {
            name = s->outer;
            continue;
        }
        const Node *factor = ir_idx(I, s->factor), *up = ir_sub(I, ir_add(I, extent, factor), one);
        Interval out = slice(b, st, i + 1, s->outer, ir_make2(I, OP_DIV, up, factor)), in = slice(b, st, i + 1, s->inner, factor);
        const Node *hi = ir_add(I, ir_mul(I, out.hi, factor), in.hi);
        return (Interval){ ir_add(I, ir_mul(I, out.lo, factor), in.lo), ir_min(I, ir_sub(I, extent, one), hi) };
    }
    for (Scope *at = st->leaf; at != st->top; at = at->up) {
        if (strcmp(at->dim->name, name)) continue;
        at->extent = extent;
        return (Interval){ ir_var(I, at->var), ir_var(I, at->var) };
    }
    return (Interval){ ir_idx(I, 0), ir_sub(I, extent, one) };
}

/* Calls for a slice at a time, which must write no more than it. */
static void cut(Build *b, StageNest *st) {
    FuncNest *fn = st->fn;
    Interval written[MAX_RANK];
    const Node *same = ir_bool(b->ir, true);
    for (int d = 0; d < fn->func->rank; d++) {
        Interval box = fn->box[d], part = slice(b, st, 0, fn->func->arg[d]->name, low_length(b, b->base, box));
        fn->asked[d] = (Interval){ ir_add(b->ir, box.lo, part.lo), ir_add(b->ir, box.lo, part.hi) };
    }
    const Facts *facts = low_facts(b, NULL, st->leaf);
    for (int d = 0; d < fn->func->rank; d++) {
        fn->asked[d].lo = sim_simplify(b->ir, facts, fn->asked[d].lo);
        fn->asked[d].hi = sim_simplify(b->ir, facts, fn->asked[d].hi);
    }
    memcpy(fn->call, fn->asked, sizeof fn->call);
    fn->asks = st->leaf;
    ask_all(b, fn, written);
    for (int d = 0; d < fn->func->rank; d++) {
        const Node *lo = ir_make2(b->ir, OP_EQ, written[d].lo, fn->asked[d].lo), *hi = ir_make2(b->ir, OP_EQ, written[d].hi, fn->asked[d].hi);
        same = ir_make2(b->ir, OP_LAND, same, ir_make2(b->ir, OP_LAND, lo, hi));
    }
    check(b, fn, same, ERR_STAGE_MORE, 0, NULL);
}

void low_whole_nest(Build *b, StageNest *st) {
    Scope *s = st->top = st->part = low_new_scope(b, st, st->fn->compute);
    const StageSched *sched = st->sched;
    st->own = ARENA_ARRAY(b->arena, OwnLoop, sched->dim.n + 1);
    st->loop = ARENA_ARRAY(b->arena, Scope *, sched->dim.n + 1);
    for (int i = sched->dim.n - 1; i >= 0; i--) {
        const char *name = arena_printf(b->arena, "%s.%s", st->fn->func->name, sched->dim.at[i].name);
        Scope *in = st->loop[i] = low_new_scope(b, st, s);
        in->dim = &sched->dim.at[i];
        in->kind = in->dim->kind;
        in->min = ir_idx(b->ir, 0);
        in->var = low_sym(b, st->fn->func, SYM_LOOP, name);
        s->inner = in;
        s = in;
    }
    st->leaf = s;
    for (int d = 0; d < st->fn->func->rank; d++) st->covered[d] = st->fn->box[d];
    if (sched->dim.n) cut(b, st);
    for (int i = 0; i < sched->dim.n; i++) st->own[i].extent = st->loop[i]->extent;
}

void low_whole_needs(Build *b, const Func *f, const StageNest *st, const Scope *at, Interval *box) {
    Whole w = alg_whole(st->fn->func);
    const Facts *facts = low_facts(b, at, st->leaf);
    for (int i = 0; i < w.n_in; i++) {
        for (int d = 0; w.in[i] == f && d < f->rank; d++) {
            const Node *why = NULL;
            Interval n = st->fn->read[i][d];
            n = (Interval){ sim_bounds(b->ir, facts, n.lo, &why).lo, sim_bounds(b->ir, facts, n.hi, &why).hi };
            if (!n.lo || !n.hi) {
                Place place = { .loc = st->sched->def->loc, .object = arena_printf(b->arena, "define %s", st->fn->func->name) };
                fault_raise(b->fault, ERR_UNBOUNDED, &place, st->fn->func->name, f->name, d, "its box", why ? arena_printf(b->arena, ", because of %s", ir_show(b->ir, why)) : "");
            }
            box[d] = box[d].lo ? low_union(b, b->base, box[d], n) : n;
        }
    }
}

/* Is what input i needs in dimension d there?  NULL: that is sure. */
static Stmt *check_nested(Build *b, const StageNest *st, const Func *g, int d, Interval n) {
    const FuncNest *in = low_nest_read(b, st, g);
    const Storage *t = in ? in->storage : pm_get(&b->external, g);
    Interner *ir = b->ir;
    CHECK(b->fault, t != NULL);
    if (!in && st->fn->asks == b->root) return NULL; /* entry looks at it */
    const Node *last = ir_sub(ir, ir_add(ir, t->min[d], t->extent[d]), ir_idx(ir, 1));
    const Node *inside = ir_make2(ir, OP_LAND, ir_make2(ir, OP_LE, t->min[d], n.lo), ir_make2(ir, OP_LE, n.hi, last));
    const Node *cond = ir_make2(ir, OP_LOR, inside, ir_make2(ir, OP_LT, n.hi, n.lo)), *arg[4] = { n.lo, n.hi, t->min[d], last };
    if (sim_prove(ir, low_facts(b, NULL, st->leaf), cond)) return NULL;
    return low_check(b, cond, ERR_STAGE_NESTED, st->fn->func->name, arena_printf(b->arena, "dimension %d of %s", d, g->name), 4, arg);
}

Stmt *low_whole_call(Build *b, const StageNest *st) {
    Func *f = st->fn->func;
    Whole w = alg_whole(f);
    VEC(Stmt *) all = { 0 };
    VEC(const Node *) e = { 0 };
    for (int i = 0; i < w.n_in; i++) {
        for (int d = 0; d < w.in[i]->rank; d++) {
            Interval n = st->fn->read[i][d];
            VEC_PUSH(b->arena, &all, check_nested(b, st, w.in[i], d, n));
            VEC_PUSH(b->arena, &e, n.lo);
            VEC_PUSH(b->arena, &e, low_length(b, NULL, n));
        }
    }
    const Node *some = ir_bool(b->ir, true);
    for (int d = 0; d < f->rank; d++) {
        const Node *n = low_length(b, b->base, st->fn->call[d]);
        some = ir_make2(b->ir, OP_LAND, some, ir_make2(b->ir, OP_LT, ir_idx(b->ir, 0), n));
        VEC_PUSH(b->arena, &e, st->fn->call[d].lo);
        VEC_PUSH(b->arena, &e, n);
    }
    for (int i = 0; i < w.n_scalars; i++) VEC_PUSH(b->arena, &e, w.scalar[i]);
    VEC_PUSH(b->arena, &e, st->value[0]);
    Stmt *s = ARENA_NEW(b->arena, Stmt);
    s->kind = ST_CALL;
    s->u.call.func = f;
    s->u.call.n = e.n;
    s->u.call.e = e.at;
    VEC_PUSH(b->arena, &all, s);
    Stmt *body = st_block(b->arena, all.n, all.at);
    return ir_is(some, 1) ? body : st_if(b->arena, some, body, NULL);
}

bool low_whole_reads(Build *b, const FuncNest *fn) {
    const UseList *uses = pm_get(&b->uses, fn->func);
    for (int i = 0; uses && i < uses->n; i++)
        if (alg_is_whole(uses->at[i]->fn->func)) return true;
    return false;
}

/* ---- queries for boxes of numbers ---- */

static const Node *answer(void *user, Interner *I, const Node *e) {
    const unsigned *mode = user;
    mlc_scalar arg[8];
    int64_t box[2 * MAX_RANK];
    if (e->op != OP_QUERY) return e;
    Whole w = alg_whole(e->u.func);
    for (int i = 0; i < e->n; i++) {
        const Node *kid = sim_simplify(I, NULL, e->kid[i]);
        if (!ir_is_const(kid)) return e;
        Value v = ir_value(kid);
        if (i < 2 * w.rank) box[i] = v.i;
        else memcpy(&arg[i - 2 * w.rank], &v, sizeof v);
    }
    return ir_idx(I, whole_query(w.ext->fn, w.desc, e->aux, box, arg, *mode));
}

const Node *low_answered(Interner *I, const Node *e, unsigned mode) {
    return sim_simplify(I, NULL, ir_rewrite(I, e, answer, &mode));
}
