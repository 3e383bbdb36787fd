/* barriers.c - where the threads of a block wait for one another.
 *
 *     for k                                  for k
 *       alloc a shared                         alloc a shared
 *       if thread.x < 18: a(..) = ..             barrier           a is read yet by the iteration before
 *       if thread.x < 16: b(..) = a(..) ..       if thread.x < 18: a(..) = ..
 *                                                barrier
 *                                                if thread.x < 16: b(..) = a(..) ..
 *
 * The parts of a kernel's body run one after the other in each thread, but threads are at different parts.  A part
 * waits if it touches what an earlier one has stored since the last barrier, or stores what an earlier one has
 * touched, in memory that threads share - atomic stores do not wait for atomic ones; a loop's body also for the end of the iteration before.  Within a part
 * threads never meet: that is the legality of its loops.  So nobody waits for a memory of which each thread touches one
 * element alone, the same wherever it touches it: sums that a thread keeps in c(x, y) while all of them load tiles. */
#include "lower/passes.h"

/* Memories as bits.  Two of many may share a bit, which adds a barrier and never loses one. */
typedef struct {
    uint64_t stored, read, joined; /* joined: by atomic stores, which may meet one another */
} Touched;

typedef struct {
    Program *p;
    const PtrMap *part;
    PtrMap bit;    /* Func whose memory threads share and store -> its bit */
    int n;
    PtrMap known;  /* Stmt -> Touched */
    int made;      /* barriers in what is being placed */
} Barriers;

/* ---- which memories? ---- */

/* The only element of a memory that a thread touches. */
typedef struct {
    bool known, varies;
    const Node *coord[MAX_RANK];
} Element;

typedef struct {
    Barriers *b;
    PtrMap own;     /* Funcs whose memory a thread has for itself */
    PtrMap value;   /* names -> what they stand for, over loops, blocks, threads and what is bound outside */
    PtrMap counted; /* variables of loops */
    PtrMap element; /* Func -> Element */
    PtrMap ahead;   /* Funcs with barriers of their own */
} Find;

static void find_loop(void *user, const Node *e) {
    void **w = user;
    if (e->op == OP_VAR && pm_has(w[0], e->u.sym)) w[1] = w[0];
}

static void meet(Find *f, const Func *func, int n, const Node *const *coord) {
    Element *at = pm_get(&f->element, func);
    Interner *I = f->b->p->ir;
    if (!at) pm_put(&f->element, func, at = ARENA_NEW(f->b->p->arena, Element));
    for (int d = 0; d < n; d++) {
        const Node *c = ir_substitute(I, coord[d], &f->value);
        void *loop[2] = { &f->counted, NULL };
        ir_visit(f->b->p->arena, c, find_loop, loop);
        at->varies |= loop[1] || (at->known && c != at->coord[d]);
        at->coord[d] = c;
    }
    at->known = true;
}

static void meet_read(void *user, const Node *e) {
    if (e->op == OP_ACCESS) meet(user, e->u.func, e->n, e->kid);
}

static Stmt *find_shared(StmtMap *m, Stmt *s) {
    Find *f = m->user;
    Func *func = s->kind == ST_STORE ? s->u.store.func : s->kind == ST_ALLOC ? s->u.alloc.storage->func : NULL;
    PtrMap *bit = &f->b->bit;
    if (s->kind == ST_STORE) meet(f, func, s->u.store.rank, s->u.store.coord);
    if (s->kind == ST_STORE && s->u.store.old[0]) ((Element *)pm_get(&f->element, func))->varies = true; /* threads meet */
    if (s->kind == ST_FOR) pm_put(&f->counted, s->u.loop.var, f);
    if (s->kind == ST_LET) {
        const Node *value = ir_substitute(m->ir, s->u.let.value, &f->value);
        pm_put(&f->value, s->u.let.var, (void *)(uintptr_t)value);
    }
    if (s->kind == ST_STORE && !pm_get(&f->own, func) && !pm_has(bit, func))
        pm_put(bit, func, (void *)(uintptr_t)((uint64_t)1 << f->b->n++ % 64));
    if (s->kind != ST_ALLOC) return st_map_kids(m, s);
    void *outer = pm_get(&f->own, func);
    if (s->u.alloc.storage->ahead) pm_put(&f->ahead, func, f);
    pm_put(&f->own, func, s->u.alloc.storage->memory == STORE_SHARED ? NULL : func);
    st_map_kids(m, s);
    pm_put(&f->own, func, outer);
    return s;
}

/* Does each thread touch an element of its own?  Stores to places that all thread loops tell apart do not meet, or the
 * loops would race. */
static bool is_own(Find *f, const Kernel *k, const Func *func) {
    const Element *at = pm_get(&f->element, func);
    bool told = !at->varies;
    for (int i = 0; i < GPU_DIMS; i++) {
        bool uses = k->threads[i] == 1;
        for (int d = 0; d < func->rank; d++) uses |= ir_uses(f->b->p->arena, at->coord[d], k->thread[i]);
        told &= uses;
    }
    return told;
}

/* ---- what does a statement touch? ---- */

typedef struct {
    Barriers *b;
    Touched all;
} Look;

static void look_node(void *user, const Node *e) {
    Look *l = user;
    if (e->op == OP_ACCESS) l->all.read |= (uint64_t)(uintptr_t)pm_get(&l->b->bit, e->u.func);
}

static Stmt *look_stmt(StmtMap *m, Stmt *s) {
    Look *l = m->user;
    if (s->kind == ST_STORE) *(s->u.store.old[0] ? &l->all.joined : &l->all.stored) |= (uint64_t)(uintptr_t)pm_get(&l->b->bit, s->u.store.func);
    return st_map_kids(m, s);
}

/* Of the statement without what it is around of, or with it. */
static Touched touched(Barriers *b, Stmt *s, bool inside) {
    Touched *known = pm_get(&b->known, s);
    if (known) return *known;
    Look l = { .b = b };
    StmtMap m = { .arena = b->p->arena, .ir = b->p->ir, .visit = look_node, .stmt = inside ? look_stmt : st_stay, .user = &l };
    if (inside) st_map(&m, s);
    else st_map_kids(&m, s);
    pm_put(&b->known, s, arena_copy(b->p->arena, &l.all, sizeof l.all));
    return l.all;
}

/* ---- placing them ---- */

static Touched both(Touched a, Touched b) {
    return (Touched){ a.stored | b.stored, a.read | b.read, a.joined | b.joined };
}

/* Does what comes now have to wait?  Then what was before is over. */
static bool waits(Touched *since, Touched now) {
    uint64_t changed = since->stored | since->joined;
    bool wait = (now.read & changed) || (now.stored & (changed | since->read)) || (now.joined & (since->stored | since->read));
    *since = wait ? now : both(*since, now);
    return wait;
}

static Stmt *place(Barriers *b, Stmt *s, Touched *since);

/* What is at the start is what was before the loop, or is left by an iteration: until that adds nothing. */
static Stmt *place_in_body(Barriers *b, Stmt *body, Touched *since, int *made) {
    for (;;) {
        Touched at = *since;
        b->made = 0;
        Stmt *now = place(b, body, &at);
        *made = b->made;
        at = both(at, *since);
        if (at.stored == since->stored && at.read == since->read && at.joined == since->joined) return now;
        *since = at;
    }
}

/* An iteration waits for what was before the loop, or all threads do once, in front of it: *wait. */
static Stmt *place_in_loop(Barriers *b, Stmt *body, Touched *since, bool *wait) {
    Touched fresh = { 0, 0, 0 };
    int outer = b->made, with, without;
    Stmt *now = place_in_body(b, body, since, &with), *alone = with ? place_in_body(b, body, &fresh, &without) : now;
    bool before = with && without < with;
    b->made = outer + (before ? without : with);
    if (!before) return now;
    *wait = true;
    *since = fresh;
    return alone;
}

static Stmt *place_if(Barriers *b, Stmt *s, Stmt *now, Touched *since) {
    Touched no = *since;
    if (s->u.cond.yes) now->u.cond.yes = place(b, s->u.cond.yes, since);
    if (s->u.cond.no) now->u.cond.no = place(b, s->u.cond.no, &no);
    *since = both(*since, no);
    return now;
}

static Stmt *place(Barriers *b, Stmt *s, Touched *since) {
    Arena *a = b->p->arena;
    bool part = pm_has(b->part, s);
    bool wait = s->kind != ST_BLOCK && waits(since, touched(b, s, part));
    Stmt *now = part ? s : arena_copy(a, s, sizeof *s), *two[2];
    if (!part) switch (s->kind) {
    case ST_BLOCK:
        now->u.block.at = ARENA_ARRAY(a, Stmt *, s->u.block.n);
        for (int i = 0; i < s->u.block.n; i++) now->u.block.at[i] = place(b, s->u.block.at[i], since);
        return st_block(a, s->u.block.n, now->u.block.at);
    case ST_FOR: now->u.loop.body = place_in_loop(b, s->u.loop.body, since, &wait); break;
    case ST_LET: now->u.let.body = place(b, s->u.let.body, since); break;
    case ST_IF: now = place_if(b, s, now, since); break;
    case ST_ALLOC: now->u.alloc.body = place(b, s->u.alloc.body, since); break;
    case ST_PRODUCE: now->u.produce.body = place(b, s->u.produce.body, since); break;
    case ST_BARRIER: *since = (Touched){ 0, 0, 0 }; break;
    case ST_COPIES: break;
    default: BUG(a->fault, "what only one thread runs stands outside of a part");
    }
    if (!wait) return now;
    b->made++;
    two[0] = st_barrier(a);
    two[1] = now;
    return st_block(a, 2, two);
}

Stmt *low_barriers(Program *p, const Kernel *kernel, const PtrMap *part, Stmt *body) {
    Barriers b = { .p = p, .part = part };
    Find f = { .b = &b };
    Touched since = { 0, 0, 0 };
    pm_init(&b.bit, p->arena);
    pm_init(&b.known, p->arena);
    pm_init(&f.own, p->arena);
    pm_init(&f.value, p->arena);
    pm_init(&f.counted, p->arena);
    pm_init(&f.element, p->arena);
    pm_init(&f.ahead, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .visit = meet_read, .stmt = find_shared, .user = &f };
    st_map(&m, body);
    for (uint32_t i = 0; i < f.element.cap; i++) {
        const Func *func = f.element.key[i];
        bool alone = func && pm_has(&b.bit, func) && (pm_has(&f.ahead, func) || is_own(&f, kernel, func));
        if (alone) pm_put(&b.bit, func, NULL);
    }
    return place(&b, body, &since);
}
