/* readers.c - a stage before it has loops: its definition with inlined Funcs put in, what that reads, and the list of
 * readers that each Func keeps, by which producers find their places and boxes. */
#include "lower/nest.h"

typedef struct {
    Build *b;
    StageNest *st;
} Gather;

static void gather(void *user, const Node *e) {
    Gather *g = user;
    if (e->op != OP_ACCESS) return;
    StageNest *st = g->st;
    for (int i = st->read.n - 1; i >= 0; i--)
        if (st->read.at[i].func == e->u.func) {
            VEC_PUSH(g->b->arena, &st->read.at[i].access, e);
            return;
        }
    Read r = { .func = e->u.func };
    VEC_PUSH(g->b->arena, &r.access, e);
    VEC_PUSH(g->b->arena, &st->read, r);
}

static void mark(void *user, const Node *e) {
    StageNest *st = user;
    for (int i = 0; e->op == OP_ACCESS && i < st->read.n; i++)
        if (st->read.at[i].func == e->u.func) st->read.at[i].in_index = true;
}

static void find_indices(Build *b, StageNest *st, int rank) {
    for (int d = 0; d < rank; d++)
        if (st->coord[d]->op != OP_VAR) ir_visit(b->arena, st->coord[d], mark, st);
    for (int r = 0; r < st->read.n; r++)
        for (int i = 0; i < st->read.at[r].access.n; i++) {
            const Node *e = st->read.at[r].access.at[i];
            for (int d = 0; d < e->n; d++)
                if (e->kid[d]->n) ir_visit(b->arena, e->kid[d], mark, st);
        }
}

void low_note_uses(Build *b, StageNest *st) {
    for (int i = 0; i < st->read.n; i++) {
        Func *f = st->read.at[i].func;
        if (f == st->fn->func) continue;
        UseList *uses = pm_get(&b->uses, f);
        if (!uses) pm_put(&b->uses, f, uses = ARENA_NEW(b->arena, UseList));
        VEC_PUSH(b->arena, uses, st);
    }
}

static void look_plain(void *user, const Node *e) {
    *(bool *)user &= e->op != OP_ACCESS && e->op != OP_EXTERN && e->op != OP_REQUIRE && e->op != OP_PRINT;
}

/* Predicates may read and call: at no point that those over indices exclude, so these come first. */
static void add_where(Build *b, StageNest *st) {
    const RDom *dom = st->sched->def->rdom;
    VEC(const Node *) todo = { 0 };
    VEC(const Node *) asked = { 0 };
    for (int i = dom ? dom->where_canon.n : 0; i-- > 0;) VEC_PUSH(b->arena, &todo, low_decided(b, st->sched, low_inline(b, dom->where_canon.at[i])));
    VEC(const Node *) plain = { 0 };
    while (todo.n) {
        const Node *c = todo.at[--todo.n];
        bool is_plain = true;
        ir_visit(b->arena, c, look_plain, &is_plain);
        if (c->op == OP_LAND) {
            VEC_PUSH(b->arena, &todo, c->kid[1]);
            VEC_PUSH(b->arena, &todo, c->kid[0]);
        } else if (is_plain) VEC_PUSH(b->arena, &plain, c);
        else VEC_PUSH(b->arena, &asked, c);
    }
    st->n_plain = plain.n;
    for (int i = 0; i < asked.n; i++) VEC_PUSH(b->arena, &plain, asked.at[i]);
    st->n_where = plain.n;
    st->where = plain.at;
}

/* The definition with inlined Funcs substituted, over Vars and RVars still. */
StageNest *low_new_stage(Build *b, FuncNest *fn, const StageSched *sched) {
    StageNest *st = ARENA_NEW(b->arena, StageNest);
    st->fn = fn;
    st->index = sched->index;
    st->sched = sched;
    const Def *def = st->sched->def;
    Gather g = { b, st };
    for (int d = 0; d < def->rank; d++) st->coord[d] = low_decided(b, sched, low_inline(b, def->coord[d]));
    for (int i = 0; i < def->n; i++) st->value[i] = low_decided(b, sched, low_inline(b, def->value[i]));
    add_where(b, st);
    for (int d = 0; d < def->rank; d++) ir_visit(b->arena, st->coord[d], gather, &g);
    for (int i = 0; i < def->n; i++) ir_visit(b->arena, st->value[i], gather, &g);
    for (int i = 0; i < st->n_where; i++) ir_visit(b->arena, st->where[i], gather, &g);
    find_indices(b, st, def->rank);
    for (int i = 0; i < sched->special.n; i++) {
        StageNest *s = low_new_stage(b, fn, sched->special.at[i].sched);
        VEC_PUSH(b->arena, &st->special, s);
    }
    if (!sched->fail && !ir_is(sched->when, 0)) VEC_PUSH(b->arena, &fn->run, st);
    return st;
}
