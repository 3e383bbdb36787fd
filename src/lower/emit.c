/* emit.c - the finished tree of scopes as statements.
 *
 * In a scope stand, outermost first: the loop, the points of split dimensions, the guards, the conditions of
 * the domain that are told here, the boxes of what is computed here (consumers first, since each box is made of
 * those before it), then memory and producers, each enclosing the consumers injected before it, and last the stage's next loop or its store. */
#include "lower/nest.h"

static Stmt *emit_scope(Build *b, Scope *s);

/* undef keeps what the buffer holds: it reads the point that is about to be stored. */
typedef struct {
    const StageNest *st;
    int elem;
} Undef;

static const Node *keep(void *user, Interner *I, const Node *e) {
    const Undef *u = user;
    Func *f = u->st->fn->func;
    if (e->op != OP_UNDEF) return e;
    return ir_access(I, f, f->type[u->elem], u->elem, f->rank, u->st->coord);
}

/* What a tail must not change is read and stored again. */
static void blend(Build *b, const StageNest *st, const Node **value) {
    Func *f = st->fn->func;
    const Node *new = ir_bool(b->ir, true);
    for (int i = 0; i < st->blend.n; i++) new = ir_make2(b->ir, OP_LAND, new, st->blend.at[i]);
    for (int i = 0; st->blend.n && i < f->n; i++) {
        const Node *old = ir_access(b->ir, f, f->type[i], i, f->rank, st->coord);
        value[i] = ir_make3(b->ir, OP_SELECT, ir_make1(b->ir, OP_LIKELY, new), value[i], old);
    }
}

/* Is anything computed in s, or in a loop of the stage inside of it? */
static bool holds_items(const Scope *s) {
    for (; s; s = s->inner)
        if (s->item.n) return true;
    return false;
}

/* A producer in there stores into memory of its own, of which nothing is known: all of it is masked or none. */
static Stmt *guarded(Build *b, const Scope *at, const Guard *g, Stmt *s) {
    s = st_if(b->arena, g->cond, s, NULL);
    s->u.cond.likely = g->likely;
    s->u.cond.mask = holds_items(at) ? MASK_NONE : g->mask;
    return s;
}

/* Do threads join values at the same places?  Loops whose iterations may meet run at once in atomic stages alone. */
static bool is_atomic(const StageNest *st) {
    bool found = false;
    for (int i = 0; i < st->sched->dim.n; i++)
        found |= sch_spreads(st->sched->dim.at[i].kind) && !st->sched->dim.at[i].is_pure;
    return found;
}

typedef struct {
    const Node *held;
    const Sym *old;
} Old;

static const Node *name_old(void *user, Interner *I, const Node *e) {
    const Old *o = user;
    return e == o->held ? ir_var(I, o->old) : e;
}

static Stmt *atomic_store(Build *b, const StageNest *st, const Node **value) {
    Func *f = st->fn->func;
    Storage *t = st->fn->storage ? st->fn->storage : pm_get(&b->external, f);
    const Sym *old[MAX_TUPLE];
    for (int k = 0; k < f->n; k++) {
        Sym *s = ARENA_NEW(b->arena, Sym);
        *s = (Sym){ .name = f->n > 1 ? arena_printf(b->arena, "old%d", k) : "old", .kind = SYM_LET, .type = f->type[k] };
        Old o = { ir_access(b->ir, f, f->type[k], k, f->rank, st->coord), old[k] = s };
        for (int i = 0; i < f->n; i++) value[i] = alg_replace_accesses(b->ir, value[i], name_old, &o);
    }
    Stmt *s = st_store(b->arena, f, f->rank, st->coord, f->n, value);
    for (int k = 0; k < f->n; k++) s->u.store.old[k] = old[k];
    t->atomic = true;
    return s;
}

static Stmt *emit_leaf(Build *b, StageNest *st) {
    Func *f = st->fn->func;
    if (alg_is_whole(f)) return low_whole_call(b, st);
    const Node *value[MAX_TUPLE];
    bool stores = false;
    for (int i = 0; i < f->n; i++) {
        Undef u = { st, i };
        value[i] = ir_rewrite(b->ir, st->value[i], keep, &u);
        const Node *same = ir_access(b->ir, f, f->type[i], i, f->rank, st->coord);
        stores |= value[i] != same;
    }
    if (!stores) return NULL;
    blend(b, st, value);
    Stmt *s = is_atomic(st) ? atomic_store(b, st, value) : st_store(b->arena, f, f->rank, st->coord, f->n, value);
    s->u.store.async = low_copied_async(st->fn);
    if (st->sched->stream.stores || st->sched->stream.loads) s->u.store.stream = &st->sched->stream;
    return low_where(b, st, NULL, s);
}

static const Node *put_fixed(StmtMap *m, const Node *e) {
    return ir_substitute(m->ir, e, m->user);
}

/* What the condition fixes becomes constants in its branch. */
static Stmt *emit_special(Build *b, const Special *special, Stmt *yes, Stmt *no) {
    PtrMap fixed;
    pm_init(&fixed, b->arena);
    st_fixed(b->ir, special->cond, &fixed);
    StmtMap m = { .arena = b->arena, .ir = b->ir, .expr = put_fixed, .user = &fixed };
    if (fixed.n) yes = st_map(&m, yes);
    Stmt *s = yes ? st_if(b->arena, special->cond, yes, no) : NULL;
    if (!yes && no) s = st_if(b->arena, ir_make1(b->ir, OP_LNOT, special->cond), no, NULL);
    if (s) s->line = special->line;
    return s;
}

/* The place, where the line of its memory does not say it, and what is computed more than once. */
static const char *produce_note(Build *b, const StageNest *st) {
    const FuncNest *fn = st->fn;
    const PlanLine *line = fn->sched->compute.line;
    bool said = fn->storage && fn->storage->line == line;
    const char *again = st->index ? NULL : low_again(b, fn), *inlined = low_inlined_again(b, st);
    StrBuf text;
    sb_init(&text, b->arena);
    if (line && !said) st_print_line(&text, line);
    const char *part[2] = { again, inlined };
    for (int i = 0; i < 2; i++)
        if (part[i]) sb_printf(&text, "%s%s", text.n ? "; " : "  // ", part[i]);
    return text.n ? text.at + 5 : NULL;
}

static Stmt *marked(Build *b, const StageNest *st, Stmt *s) {
    if (!s) return NULL;
    s = st_produce(b->arena, st->fn->func, st->index, false, s);
    s->line = st->fn->sched->compute.line;
    if (b->options->explain) s->u.produce.note = produce_note(b, st);
    return s;
}

static Stmt *where_wanted(Build *b, const FuncNest *fn, Stmt *s) {
    const Node *needed = low_needed(b, fn);
    if (s && !ir_is(needed, 1)) s = st_if(b->arena, needed, s, NULL);
    if (!s || ir_is(fn->wanted, 1)) return s;
    s = st_if(b->arena, fn->wanted, s, NULL);
    s->u.cond.likely = true;
    return s;
}

/* The first specialization whose condition holds, or the stage's own nest. */
static Stmt *emit_stage(Build *b, const StageNest *st) {
    Stmt *all = NULL;
    bool runs = !st->sched->fail && !ir_is(st->sched->when, 0);
    if (runs) {
        Stmt *both[2] = { st_block(b->arena, st->check.n, st->check.at), emit_scope(b, st->top) };
        all = st_block(b->arena, 2, both);
    }
    for (int i = st->special.n - 1; i >= 0; i--)
        all = emit_special(b, &st->sched->special.at[i], emit_stage(b, st->special.at[i]), all);
    return all;
}

/* What ends the Func alone keeps its values. */
static void keep_values(const FuncNest *fn, int n, Stmt **made) {
    while (n && !made[n - 1]) n--;
    if (n && fn->storage->memo) made[n - 1]->u.produce.keep = fn->storage->memo->entry;
}

/* The Funcs of a group, behind the checks of all.  A stage that shares the loops of another is met in there. */
static Stmt *emit_group(Build *b, const GroupNest *g) {
    bool alone = g->func.n == 1;
    VEC(Stmt *) check = { 0 }, made = { 0 };
    for (int i = 0; i < g->func.n; i++) {
        const FuncNest *fn = g->func.at[i];
        Stmt *s = st_block(b->arena, fn->check.n, fn->check.at);
        VEC_PUSH(b->arena, &check, alone ? s : where_wanted(b, fn, s));
    }
    for (int i = 0; i < g->stage.n; i++) {
        const StageNest *st = g->stage.at[i];
        bool shares = low_shares(st);
        if (shares) VEC_PUSH(b->arena, &check, where_wanted(b, st->fn, st_block(b->arena, st->check.n, st->check.at)));
        if (st->leader) continue;
        Stmt *s = shares ? emit_scope(b, st->top) : marked(b, st, emit_stage(b, st));
        VEC_PUSH(b->arena, &made, alone || shares ? s : where_wanted(b, st->fn, s));
    }
    if (alone) keep_values(g->func.at[0], made.n, made.at);
    Stmt *both[2] = { st_block(b->arena, check.n, check.at), st_block(b->arena, made.n, made.at) };
    Stmt *all = both[1] ? st_block(b->arena, 2, both) : NULL;
    return alone ? where_wanted(b, g->func.at[0], all) : all;
}

/* ... by the first of them alone. */
static Stmt *emit_func(Build *b, const FuncNest *fn) {
    return fn == fn->group->func.at[0] ? emit_group(b, fn->group) : NULL;
}

/* Its computation in front of the body, which reads it. */
static Stmt *computed(Build *b, const FuncNest *fn, Stmt *body) {
    Channel *c = fn->storage->channel;
    Stmt *made = emit_func(b, fn);
    if (made && low_copied_async(fn) && !c) {
        Stmt *landed[2] = { made, st_copies(b->arena, 0) };
        made = st_block(b->arena, 2, landed);
    }
    if (c) made = st_turn(b->arena, c, -1, fn->ahead, made);
    Stmt *both[2] = { made, body };
    body = st_block(b->arena, 2, both);
    return fn->sched->ring && body ? low_ring(b, fn, body) : body;
}

/* The body in the memory that fn is stored in, or has taken, in s. */
static Stmt *stored(Build *b, const FuncNest *fn, const Scope *s, Stmt *body) {
    bool hoisted = fn->hoist != fn->store;
    if (s == fn->store && hoisted) body = low_hoisted(b, fn, body);
    if (s == fn->hoist && !fn->storage->memo) body = st_alloc(b->arena, fn->storage, body);
    if (s != fn->store) return body;
    Stmt *both[2] = { st_block(b->arena, fn->room.n, fn->room.at), body };
    return st_block(b->arena, 2, both);
}

static Stmt *emit_scope(Build *b, Scope *s) {
    Arena *a = b->arena;
    Stmt *body = s->inner ? emit_scope(b, s->inner) : s->stage ? emit_leaf(b, s->stage) : NULL;
    for (int i = 0; i < s->with.n; i++) {
        Stmt *both[2] = { body, emit_scope(b, s->with.at[i]->top) };
        body = st_block(a, 2, both);
    }
    for (int i = 0; i < s->item.n; i++) {
        const FuncNest *fn = s->item.at[i];
        if (s == fn->compute) body = computed(b, fn, body);
        if (body && !fn->storage->is_output) body = stored(b, fn, s, body);
    }
    for (int i = 0; i < s->item.n && body; i++)
        if (s->item.at[i]->storage->memo) body = st_alloc(a, s->item.at[i]->storage, body);
    if (s->prefetch.n && body) {
        Stmt *both[2] = { st_block(a, s->prefetch.n, s->prefetch.at), body };
        body = st_block(a, 2, both);
    }
    if (s->check.n) {
        Stmt *both[2] = { st_block(a, s->check.n, s->check.at), body };
        body = st_block(a, 2, both);
    }
    if (!s->up) { /* what the caller's buffers must hold, before any work, over the boxes of root */
        Stmt *both[2] = { st_block(a, b->check.n, b->check.at), body };
        body = st_block(a, 2, both);
    }
    if (!body) return NULL;
    for (int i = s->box.n - 1; i >= 0; i--) body = st_let(a, s->box.at[i].sym, s->box.at[i].value, body);
    if (s->stage) body = low_where(b, s->stage, s, body);
    for (int i = s->guard.n - 1; i >= 0; i--) body = guarded(b, s, &s->guard.at[i], body);
    for (int i = s->let.n - 1; i >= 0; i--) body = st_let(a, s->let.at[i].sym, s->let.at[i].value, body);
    if (s->stage && s == s->stage->part && low_shares(s->stage)) return where_wanted(b, s->stage->fn, marked(b, s->stage, body));
    if (!s->var) return body;
    Stmt *loop = st_for(a, s->var, s->kind, s->min, s->extent, body);
    loop->u.loop.dim = s->dim;
    loop->u.loop.most = s->kind == LOOP_GPU_THREAD ? ir_idx(b->ir, low_most_threads(b, s)) : s->most;
    loop->line = s->dim->line;
    return loop;
}

/* Does any output have a point?  That is asked of the buffer itself: one that is not aligned as the plan says may not
 * pass for an empty one. */
static const Node *some_work(Build *b) {
    const Node *any = ir_bool(b->ir, false);
    for (int i = 0; i < b->sched->n_outputs; i++) {
        const Func *f = b->sched->output[i];
        const Storage *t = pm_get(&b->external, f);
        const Node *all = ir_bool(b->ir, true);
        for (int d = 0; d < t->rank; d++) {
            int64_t fixed;
            if (ir_is_int(t->extent[d], &fixed) && fixed > 0) continue;
            all = ir_make2(b->ir, OP_LAND, all, ir_make2(b->ir, OP_LT, ir_idx(b->ir, 0), ir_var(b->ir, f->extent[d])));
        }
        any = ir_make2(b->ir, OP_LOR, any, all);
    }
    return any;
}

Stmt *low_emit(Build *b) {
    Stmt *all = emit_scope(b, b->root);
    const Node *cond = some_work(b);
    if (!all || ir_is(cond, 1)) return all;
    all = st_if(b->arena, cond, all, NULL);
    all->u.cond.likely = true;
    return all;
}
