/* fork.c - asynchronous Funcs get tasks of their own.
 *
 * Build leaves their computation in line, as a turn of the task in front of what reads it:
 *
 *     alloc f                             alloc f
 *     for y                               fork f
 *       give f: produce f                   for y
 *       produce g ... f(x, y) ...             give f: produce f
 *                                         and
 *                                           for y
 *                                             take f: produce g ... f(x, y) ...
 *
 * Both branches run the loops between the allocation and the turn.  What else is computed there goes where it
 * is read: into the task if f is made of it, else into the rest.  Allocations are split outermost first, so a
 * turn that takes f may itself be split between a task inside and its rest; each copy is a reader of its own. */
#include "lower/passes.h"

#include <string.h>

typedef struct {
    Arena *arena;
    Interner *ir;
    Channel *channel; /* of the Func that gets its task */
    PtrMap needs;     /* Funcs that the task computes: the Func itself, and what is computed for it alone */
} Fork;

/* The Func whose computation s is, or NULL. */
static const Func *computed(const Stmt *s) {
    if (s->kind == ST_PRODUCE && !s->u.produce.is_consume) return s->u.produce.func;
    return s->kind == ST_TURN && s->u.turn.reader < 0 ? s->u.turn.channel->func : NULL;
}

/* Turns name the part of a ring buffer themselves. */
static bool names_part(const Fork *f, const Stmt *s) {
    return s->kind == ST_LET && s->u.let.var == f->channel->part;
}

/* ---- who reads what? ---- */

typedef struct {
    const PtrMap *of; /* Funcs to look for; NULL: all */
    PtrMap *found;    /* Funcs read, mapped to themselves */
    const Func *any;
} Reads;

static void read_node(void *user, const Node *e) {
    Reads *r = user;
    if (e->op != OP_ACCESS || (r->of && !pm_has(r->of, e->u.func))) return;
    r->any = e->u.func;
    if (r->found) pm_put(r->found, e->u.func, (void *)(uintptr_t)e->u.func);
}

static const Func *find_reads(Fork *f, Stmt *s, const PtrMap *of, PtrMap *found) {
    Reads r = { .of = of, .found = found };
    StmtMap m = { .arena = f->arena, .ir = f->ir, .visit = read_node, .user = &r };
    st_map(&m, s);
    return r.any;
}

/* Is s a reader of the Func? */
static bool reads_func(Fork *f, Stmt *s, Func *func) {
    PtrMap one;
    pm_init(&one, f->arena);
    pm_put(&one, func, func);
    return s && find_reads(f, s, &one, NULL);
}

/* ---- what the task computes ---- */

typedef struct {
    Fork *fork;
    PtrMap reads;   /* Func -> PtrMap of what its computation reads, or computes inside, though nothing reads it */
    PtrMap *around; /* that of the computation around, or NULL */
} Computed;

static Stmt *note_computed(StmtMap *m, Stmt *s) {
    Computed *c = m->user;
    const Func *func = computed(s);
    if (!func) return st_map_kids(m, s);
    PtrMap *reads = pm_get(&c->reads, func), *outer = c->around;
    if (!reads) {
        reads = ARENA_NEW(m->arena, PtrMap);
        pm_init(reads, m->arena);
        pm_put(&c->reads, func, reads);
    }
    find_reads(c->fork, s, NULL, reads);
    if (outer) pm_put(outer, func, (void *)(uintptr_t)func);
    c->around = reads;
    s = st_map_kids(m, s);
    c->around = outer;
    return s;
}

/* The Func, and all that stands in the allocation's body and is read for it.  A computation around the turn,
 * whose loops the turn stands in, reads the Func, which is not made of it. */
static void find_needs(Fork *f, Stmt *body) {
    Computed c = { .fork = f };
    VEC(const Func *) todo = { 0 };
    pm_init(&c.reads, f->arena);
    pm_init(&f->needs, f->arena);
    StmtMap m = { .arena = f->arena, .ir = f->ir, .stmt = note_computed, .user = &c };
    st_map(&m, body);
    VEC_PUSH(f->arena, &todo, f->channel->func);
    while (todo.n) {
        const Func *func = todo.at[--todo.n];
        PtrMap *reads = pm_get(&c.reads, func);
        if (!reads || pm_has(&f->needs, func)) continue;
        pm_put(&f->needs, func, f);
        for (uint32_t i = 0; i < reads->cap; i++)
            if (reads->key[i]) VEC_PUSH(f->arena, &todo, reads->key[i]);
    }
}

/* ---- the task: the needed computations alone, in the loops around them ---- */

static Stmt *task_of(StmtMap *m, Stmt *s);

/* Checks stay in front of what they protect. */
static Stmt *task_block(StmtMap *m, Stmt *s) {
    int n = s->u.block.n, kept = 0;
    Stmt **at = ARENA_ARRAY(m->arena, Stmt *, n);
    for (int i = 0; i < n; i++) {
        at[i] = task_of(m, s->u.block.at[i]);
        kept += at[i] != NULL;
    }
    for (int i = 0; kept && i < n; i++)
        if (s->u.block.at[i]->kind == ST_CHECK) at[i] = s->u.block.at[i];
    return st_block(m->arena, n, at);
}

static Stmt *task_of(StmtMap *m, Stmt *s) {
    Fork *f = m->user;
    const Func *func = computed(s);
    Stmt *body;
    if (func && pm_has(&f->needs, func)) return s;
    if (names_part(f, s)) return st_map(m, s->u.let.body);
    switch (s->kind) {
    case ST_BLOCK: return task_block(m, s);
    case ST_STORE: case ST_EVAL: case ST_CHECK: case ST_CALL: case ST_PREFETCH: case ST_COUNT: return NULL;
    case ST_PRODUCE: return st_map(m, s->u.produce.body);
    case ST_ALLOC: /* of others: nothing of theirs is left */
        body = st_map(m, s->u.alloc.body);
        return body && pm_has(&f->needs, s->u.alloc.storage->func) ? st_alloc(m->arena, s->u.alloc.storage, body) : body;
    case ST_TURN:
        body = st_map(m, s->u.turn.body);
        if (s->u.turn.reader < 0 || !reads_func(f, body, s->u.turn.channel->func)) return body;
        return st_turn(m->arena, s->u.turn.channel, s->u.turn.reader, s->u.turn.ahead, body);
    default: return st_map_kids(m, s);
    }
}

/* ---- the rest: everything else, taking turns ---- */

/* Wraps what reads the Func among the statements after its turn, as closely as one place allows.  Names and boxes
 * read no Func. */
static Stmt *take(Fork *f, Stmt *s) {
    Channel *c = f->channel;
    if (!reads_func(f, s, c->func)) return s;
    if (s->kind == ST_LET)
        return st_let(f->arena, s->u.let.var, s->u.let.value, take(f, s->u.let.body));
    if (s->kind == ST_ALLOC) return st_alloc(f->arena, s->u.alloc.storage, take(f, s->u.alloc.body));
    if (s->kind != ST_BLOCK) return st_turn(f->arena, c, 0, NULL, s);
    int n = s->u.block.n, first = n, last = -1;
    for (int i = 0; i < n; i++) {
        if (!reads_func(f, s->u.block.at[i], c->func)) continue;
        if (last < 0) first = i;
        last = i;
    }
    Stmt **at = arena_copy(f->arena, s->u.block.at, sizeof *at * (size_t)n);
    if (first == last) {
        at[first] = take(f, at[first]);
        return st_block(f->arena, n, at);
    }
    Stmt *readers = st_block(f->arena, last - first + 1, at + first);
    Stmt *all[3] = { st_block(f->arena, first, at), st_turn(f->arena, c, 0, NULL, readers),
                     st_block(f->arena, n - last - 1, at + last + 1) };
    return st_block(f->arena, 3, all);
}

/* Does the turn of the task stand in s, in the same run of the loops around? */
static bool gives(const Fork *f, const Stmt *s) {
    if (!s) return false;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++)
            if (gives(f, s->u.block.at[i])) return true;
        return false;
    case ST_LET: return gives(f, s->u.let.body);
    case ST_ALLOC: return gives(f, s->u.alloc.body);
    case ST_TURN: return s->u.turn.reader < 0 ? s->u.turn.channel == f->channel : gives(f, s->u.turn.body);
    default: return false;
    }
}

static Stmt *rest_of(StmtMap *m, Stmt *s);

/* What comes after the turn takes it.  A turn that takes another Func may hold a part of that, which then takes
 * this one as a reader of its own. */
static Stmt *rest_block(StmtMap *m, Stmt *s) {
    Fork *f = m->user;
    int n = s->u.block.n;
    Stmt **at = ARENA_ARRAY(m->arena, Stmt *, n), *both[2];
    for (int i = 0; i < n; i++) {
        at[i] = rest_of(m, s->u.block.at[i]);
        if (!gives(f, s->u.block.at[i])) continue;
        both[0] = st_block(m->arena, i + 1, at);
        both[1] = st_block(m->arena, n - i - 1, s->u.block.at + i + 1);
        if (both[1]) both[1] = st_map(m, both[1]);
        if (both[1]) both[1] = take(f, both[1]);
        return st_block(m->arena, 2, both);
    }
    return st_block(m->arena, n, at);
}

static Stmt *rest_of(StmtMap *m, Stmt *s) {
    Fork *f = m->user;
    const Func *func = computed(s);
    if (func && pm_has(&f->needs, func)) return NULL;
    if (names_part(f, s)) return st_map(m, s->u.let.body);
    if (s->kind == ST_BLOCK) return rest_block(m, s);
    Stmt *body;
    switch (s->kind) {
    case ST_ALLOC:
        body = st_map(m, s->u.alloc.body);
        return body && !pm_has(&f->needs, s->u.alloc.storage->func) ? st_alloc(m->arena, s->u.alloc.storage, body) : body;
    case ST_TURN:
        body = st_map(m, s->u.turn.body);
        if (s->u.turn.reader >= 0 && !reads_func(f, body, s->u.turn.channel->func)) return body;
        return st_turn(m->arena, s->u.turn.channel, s->u.turn.reader, s->u.turn.ahead, body);
    default: return st_map_kids(m, s);
    }
}

/* ---- names that only the other side uses ---- */

static void used_node(void *user, const Node *e) {
    if (e->op == OP_VAR) pm_put(user, e->u.sym, (void *)(uintptr_t)e->u.sym);
}

/* The body first: a value counts only where its name is used. */
static Stmt *drop_unused(StmtMap *m, Stmt *s) {
    if (s->kind != ST_LET) return st_map_kids(m, s);
    Stmt *body = st_map(m, s->u.let.body);
    if (!pm_has(m->user, s->u.let.var)) return body;
    ir_visit(m->arena, s->u.let.value, used_node, m->user);
    return body == s->u.let.body ? s : st_let(m->arena, s->u.let.var, s->u.let.value, body);
}

static Stmt *without_unused(Fork *f, Stmt *s) {
    PtrMap used;
    pm_init(&used, f->arena);
    StmtMap m = { .arena = f->arena, .ir = f->ir, .visit = used_node, .stmt = drop_unused, .user = &used };
    return st_map(&m, s);
}

/* What is computed for the task inside of its loops must not be read outside of it. */
static void check_shared(Fork *f, Stmt *rest) {
    PtrMap others;
    pm_init(&others, f->arena);
    for (uint32_t i = 0; i < f->needs.cap; i++)
        if (f->needs.key[i] && f->needs.key[i] != f->channel->func) pm_put(&others, f->needs.key[i], f);
    const Func *both = rest ? find_reads(f, rest, &others, NULL) : NULL;
    if (!both) return;
    Place place = sch_place(f->arena, f->channel->line);
    fault_raise(f->ir->fault, ERR_ASYNC_SHARED, &place, both->name, f->channel->func->name);
}

static Stmt *split(StmtMap *m, Stmt *s) {
    Channel *c = s->kind == ST_ALLOC ? s->u.alloc.storage->channel : NULL;
    if (!c) return st_map_kids(m, s);
    Fork f = { .arena = m->arena, .ir = m->ir, .channel = c };
    find_needs(&f, s->u.alloc.body);
    StmtMap to_task = { .arena = m->arena, .ir = m->ir, .stmt = task_of, .user = &f };
    StmtMap to_rest = { .arena = m->arena, .ir = m->ir, .stmt = rest_of, .user = &f };
    Stmt *task = st_map(&to_task, s->u.alloc.body), *rest = st_map(&to_rest, s->u.alloc.body);
    check_shared(&f, rest);
    task = st_map(m, without_unused(&f, task));
    rest = st_map(m, without_unused(&f, rest));
    return st_alloc(m->arena, s->u.alloc.storage, st_fork(m->arena, c, task, rest));
}

/* ---- the end: readers get their numbers ---- */

static Stmt *number(StmtMap *m, Stmt *s) {
    Stmt *now = st_map_kids(m, s);
    if (now->kind != ST_TURN || now->u.turn.reader < 0) return now;
    Channel *c = now->u.turn.channel;
    return st_turn(m->arena, c, c->readers++, NULL, now->u.turn.body);
}

/* ---- without tasks ---- */

static Stmt *in_line(StmtMap *m, Stmt *s) {
    if (s->kind == ST_TURN) return st_map(m, s->u.turn.body);
    if (s->kind != ST_ALLOC || !s->u.alloc.storage->channel) return st_map_kids(m, s);
    Storage *t = arena_copy(m->arena, s->u.alloc.storage, sizeof *t);
    t->channel = NULL;
    Stmt *body = st_map(m, s->u.alloc.body);
    return body ? st_alloc(m->arena, t, body) : NULL;
}

void low_fork(Program *p, const LowerOptions *o) {
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = o->in_line ? in_line : split };
    if (p->body) p->body = low_run_ahead(p, p->body);
    p->body = st_map(&m, p->body);
    if (o->in_line) return;
    m.stmt = number;
    p->body = st_map(&m, p->body);
}
