/* run_ahead.c - asynchronous Funcs of a block: the threads that read them fill their rings, so many steps ahead.
 *
 *     for ko                                 for q in [0, 3)                          the first steps
 *       let as.part = ko % 4                   if q < n: produce as(.., q % 4)
 *       give as: produce as                    end copies
 *       produce c: as(..) ...                for ko
 *                                              wait for copies but 2                  those of this step have landed,
 *                                              barrier                                for all threads; all are done with the one before
 *                                              if ko + 3 < n: produce as(.., (ko + 3) % 4)
 *                                              end copies
 *                                              produce c: as(.., ko % 4) ...
 *
 * A block has no second task: while it waits for memory, it computes, if what it computes with has been asked for earlier.  A ring of n
 * parts lets a thread ask for the step n - 1 ahead, which takes the part of the step before this one: that one has been read by all threads
 * once they have met at the barrier of this step, the only one.  It stands for those that barriers.c would derive of the memory's
 * accesses, without knowing of parts; so between stages of one step there is none, and a Func with updates is refused.  Rings that turn in one loop share its barrier and its groups of copies. */
#include "lower/passes.h"
#include "schedule/resolve.h"

typedef struct {
    Arena *arena;
    Interner *ir;
    PtrMap done;       /* Channels whose rings are filled ahead */
    int loops;         /* around that are not of blocks */
} Ahead;

static Stmt *both(Arena *a, Stmt *first, Stmt *then) {
    Stmt *at[2] = { first, then };
    return st_block(a, 2, at);
}

/* A turn of the task of a Func whose memory threads of a block share. */
static bool is_turn(const Stmt *s) {
    return s->kind == ST_TURN && s->u.turn.reader < 0 && s->u.turn.channel->of_block;
}

/* ---- the turns of a loop ---- */

typedef struct {
    const Channel *channel;
    Stmt *body;        /* its computation with the names and conditions around, inside of the loop */
    bool copies;       /* by the GPU on its own */
    int64_t ahead;
} Turn;

typedef struct {
    Ahead *all;
    VEC(Turn) turn;
    PtrMap computed;   /* Funcs that are computed in the loop, beside the turns */
    bool threads;      /* has loops of threads */
} Turns;

static Stmt *find_copies(StmtMap *m, Stmt *s) {
    *(bool *)m->user |= s->kind == ST_STORE && s->u.store.async;
    return st_map_kids(m, s);
}

static bool has_copies(Ahead *h, Stmt *s) {
    bool found = false;
    StmtMap m = { .arena = h->arena, .ir = h->ir, .stmt = find_copies, .user = &found };
    st_map(&m, s);
    return found;
}

/* The same statement around another body; what is no name or condition goes: nobody ahead needs it. */
static Stmt *wrapped(Ahead *h, const Stmt *s, Stmt *body, bool no) {
    if (s->kind == ST_LET) return st_let(h->arena, s->u.let.var, s->u.let.value, body);
    if (s->kind != ST_IF) return body;
    return st_if(h->arena, no ? ir_make1(h->ir, OP_LNOT, s->u.cond.cond) : s->u.cond.cond, body, NULL);
}

/* The loop's body without its turns, which are noted. */
static Stmt *take_turns(Turns *t, Stmt *s) {
    Ahead *h = t->all;
    int first = t->turn.n;
    if (!s) return NULL;
    Stmt *now = arena_copy(h->arena, s, sizeof *s);
    if (is_turn(s)) {
        Turn turn = { s->u.turn.channel, s->u.turn.body, has_copies(h, s->u.turn.body), s->u.turn.channel->parts - 1 };
        VEC_PUSH(h->arena, &t->turn, turn);
        return NULL;
    }
    switch (s->kind) {
    case ST_BLOCK:
        now->u.block.at = ARENA_ARRAY(h->arena, Stmt *, s->u.block.n);
        for (int i = 0; i < s->u.block.n; i++) now->u.block.at[i] = take_turns(t, s->u.block.at[i]);
        return st_block(h->arena, s->u.block.n, now->u.block.at);
    case ST_LET: now->u.let.body = take_turns(t, s->u.let.body); break;
    case ST_ALLOC: now->u.alloc.body = take_turns(t, s->u.alloc.body); break;
    case ST_PRODUCE: now->u.produce.body = take_turns(t, s->u.produce.body); break;
    case ST_IF:
        now->u.cond.yes = take_turns(t, s->u.cond.yes);
        for (int i = first; i < t->turn.n; i++) t->turn.at[i].body = wrapped(h, s, t->turn.at[i].body, false);
        first = t->turn.n;
        now->u.cond.no = take_turns(t, s->u.cond.no);
        for (int i = first; i < t->turn.n; i++) t->turn.at[i].body = wrapped(h, s, t->turn.at[i].body, true);
        return now->u.cond.yes || now->u.cond.no ? now : NULL;
    default: return s;
    }
    for (int i = first; i < t->turn.n; i++) t->turn.at[i].body = wrapped(h, s, t->turn.at[i].body, false);
    Stmt *body = s->kind == ST_LET ? now->u.let.body : s->kind == ST_ALLOC ? now->u.alloc.body : now->u.produce.body;
    return body ? now : NULL;
}

/* ---- what must not be ---- */

static Stmt *note(StmtMap *m, Stmt *s) {
    Turns *t = m->user;
    if (s->kind == ST_PRODUCE && !s->u.produce.is_consume) pm_put(&t->computed, s->u.produce.func, s);
    if (s->kind == ST_ALLOC) pm_put(&t->computed, s->u.alloc.storage->func, s);
    t->threads |= s->kind == ST_FOR && s->u.loop.kind == LOOP_GPU_THREAD;
    return st_map_kids(m, s);
}

typedef struct {
    const Turns *t;
    const Func *self, *found;
} Reads;

static void find_read(void *user, const Node *e) {
    Reads *r = user;
    if (e->op != OP_ACCESS || e->u.func == r->self) return;
    if (pm_has(&r->t->computed, e->u.func)) r->found = e->u.func;
    for (int i = 0; i < r->t->turn.n; i++)
        if (r->t->turn.at[i].channel->func == e->u.func) r->found = e->u.func;
}

static void check(Turns *t, const Stmt *loop, Stmt *body) {
    Ahead *h = t->all;
    const char *name = loop->u.loop.dim ? loop->u.loop.dim->name : loop->u.loop.var->name;
    StmtMap m = { .arena = h->arena, .ir = h->ir, .stmt = note, .user = t };
    st_map(&m, body);
    for (int i = 0; i < t->turn.n; i++) {
        const Channel *c = t->turn.at[i].channel;
        Place place = sch_place(h->arena, c->line);
        Reads r = { t, c->func, NULL };
        StmtMap reads = { .arena = h->arena, .ir = h->ir, .visit = find_read, .user = &r };
        st_map(&reads, t->turn.at[i].body);
        if (r.found) fault_raise(h->arena->fault, ERR_AHEAD_READS, &place, c->func->name, name, r.found->name);
        if (!t->threads) fault_raise(h->arena->fault, ERR_AHEAD_THREADS, &place, c->func->name, name);
        if (c->func->def.n > 1) fault_raise(h->arena->fault, ERR_AHEAD_UPDATES, &place, c->func->name, name);
    }
}

/* ---- the loop ---- */

/* All turns, each for the step that comes `ahead` later than `step`, where there is one, from the first on; then their group. */
static Stmt *ask(Turns *t, const Stmt *loop, const Node *step, int64_t most, bool begins) {
    Ahead *h = t->all;
    Interner *I = h->ir;
    const Node *end = ir_add(I, loop->u.loop.min, loop->u.loop.extent);
    Stmt *all = NULL;
    bool copies = false;
    for (int i = 0; i < t->turn.n; i++) {
        const Turn *turn = &t->turn.at[i];
        const Node *at = ir_add(I, step, ir_idx(I, turn->ahead)), *cond = ir_make2(I, OP_LT, at, end);
        if (begins && turn->ahead < most) cond = ir_make2(I, OP_LAND, ir_make2(I, OP_LE, loop->u.loop.min, at), cond);
        Stmt *s = st_substitute(h->arena, I, turn->body, loop->u.loop.var, at);
        all = both(h->arena, all, st_if(h->arena, cond, s, NULL));
        copies |= turn->copies;
    }
    return copies ? both(h->arena, all, st_copies(h->arena, -1)) : all;
}

static Sym *first_steps(Ahead *h, const Stmt *loop) {
    Sym *s = arena_copy(h->arena, loop->u.loop.var, sizeof *s);
    s->name = arena_printf(h->arena, "%s.first", loop->u.loop.var->name);
    return s;
}

static Stmt *run_ahead(Ahead *h, Stmt *loop) {
    Turns t = { .all = h };
    Interner *I = h->ir;
    Arena *a = h->arena;
    pm_init(&t.computed, a);
    Stmt *body = take_turns(&t, loop->u.loop.body);
    if (!t.turn.n) return NULL;
    check(&t, loop, body);
    int64_t most = 0, least = INT64_MAX;
    for (int i = 0; i < t.turn.n; i++) {
        const Turn *turn = &t.turn.at[i];
        if (turn->ahead > most) most = turn->ahead;
        if (turn->copies && turn->ahead < least) least = turn->ahead;
        pm_put(&h->done, turn->channel, h);
    }
    Sym *q = first_steps(h, loop);
    const Node *step = ir_sub(I, ir_add(I, loop->u.loop.min, ir_var(I, q)), ir_idx(I, most));
    Stmt *first = st_for(a, q, LOOP_SERIAL, ir_idx(I, 0), ir_idx(I, most), ask(&t, loop, step, most, true));
    Stmt *landed = least < INT64_MAX ? st_copies(a, (int)least - 1) : NULL;
    Stmt *ready = both(a, both(a, landed, st_barrier(a)), ask(&t, loop, ir_var(I, loop->u.loop.var), most, false));
    Stmt *now = arena_copy(a, loop, sizeof *loop);
    now->u.loop.body = both(a, ready, body);
    if (h->loops) first = both(a, st_barrier(a), first); /* the iteration before reads the rings yet */
    return both(a, first, now);
}

/* ---- walks ---- */

static Stmt *turn_loops(StmtMap *m, Stmt *s) {
    Ahead *h = m->user;
    bool loop = s->kind == ST_FOR && s->u.loop.kind != LOOP_GPU_BLOCK;
    h->loops += loop;
    s = st_map_kids(m, s);
    h->loops -= loop;
    Stmt *now = loop && s ? run_ahead(h, s) : NULL;
    return now ? now : s;
}

/* What has no loop to turn in is made and waited for; nothing is left of the channels. */
static Stmt *settle(StmtMap *m, Stmt *s) {
    Ahead *h = m->user;
    s = st_map_kids(m, s);
    if (is_turn(s)) return has_copies(h, s->u.turn.body) ? both(m->arena, s->u.turn.body, st_copies(m->arena, 0)) : s->u.turn.body;
    Channel *c = s->kind == ST_ALLOC ? s->u.alloc.storage->channel : NULL;
    if (!c || !c->of_block) return s;
    Storage *t = arena_copy(m->arena, s->u.alloc.storage, sizeof *t);
    t->channel = NULL;
    t->ahead = pm_has(&h->done, c);
    Stmt *now = st_alloc(m->arena, t, s->u.alloc.body);
    now->line = s->line;
    return now;
}

Stmt *low_run_ahead(Program *p, Stmt *body) {
    Ahead h = { .arena = p->arena, .ir = p->ir };
    pm_init(&h.done, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = turn_loops, .user = &h };
    body = st_map(&m, body);
    m.stmt = settle;
    return st_map(&m, body);
}
