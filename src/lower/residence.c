/* residence.c - memory of which host and device have each a copy.
 *
 *     in, f: kernels read or write them       move in to device
 *                                             move f to device for writing all
 *                                             kernel f ...
 *                                             move f to host
 *                                             for x: g(x) = f(x) ...               on the host
 *
 * In front of a kernel its memories are brought to the device, in front of what the host does those that it touches
 * to the host: of statements in a row all at once, so that none is moved between threads of the host.  What is there
 * already costs a look at a flag, so nothing is proven here about which moves do nothing.  Buffers of the caller go
 * home at the end of a call by what calls it, which knows whether they have a home on the device. */
#include "lower/passes.h"

typedef struct {
    Program *p;
    PtrMap device;     /* Funcs whose memory kernels touch */
    Func *whole;       /* all of whose memory the statement at hand is about to store, or NULL */
    int loops;         /* around */
    PtrMap home;       /* Func -> 1 + loops around its memory; of buffers 0 */
} Residence;

/* ---- what is touched ---- */

typedef struct {
    Residence *r;
    PtrMap own;        /* Funcs whose memory is taken inside */
    VEC(Func *) func;
    PtrMap read, stored; /* of those */
} Touch;

static void touch(Touch *t, Func *f, PtrMap *how) {
    if (pm_get(&t->own, f)) return;
    if (!pm_has(&t->read, f) && !pm_has(&t->stored, f)) VEC_PUSH(t->r->p->arena, &t->func, f);
    pm_put(how, f, f);
}

static void touch_node(void *user, const Node *e) {
    Touch *t = user;
    if (e->op == OP_ACCESS) touch(t, e->u.func, &t->read);
}

static Stmt *touch_stmt(StmtMap *m, Stmt *s) {
    Touch *t = m->user;
    if (s->kind == ST_STORE) touch(t, s->u.store.func, &t->stored);
    if (s->kind == ST_CALL) touch(t, s->u.call.func, &t->stored);
    if (s->kind != ST_ALLOC) return st_map_kids(m, s);
    Func *f = s->u.alloc.storage->func;
    void *outer = pm_get(&t->own, f);
    pm_put(&t->own, f, f);
    st_map_kids(m, s);
    pm_put(&t->own, f, outer);
    return s;
}

/* Of s with all that is inside of it, or of its own expressions alone. */
static void look(Residence *r, Touch *t, Stmt *s, bool inside) {
    *t = (Touch){ .r = r };
    pm_init(&t->own, r->p->arena);
    pm_init(&t->read, r->p->arena);
    pm_init(&t->stored, r->p->arena);
    StmtMap m = { .arena = r->p->arena, .ir = r->p->ir, .visit = touch_node, .stmt = inside ? touch_stmt : st_stay, .user = t };
    if (inside) st_map(&m, s);
    else st_map_kids(&m, s);
}

static Stmt *find_device(StmtMap *m, Stmt *s) {
    Residence *r = m->user;
    if (s->kind != ST_KERNEL) return st_map_kids(m, s);
    Touch t;
    look(r, &t, s->u.kernel.body, true);
    for (int i = 0; i < t.func.n; i++) pm_put(&r->device, t.func.at[i], t.func.at[i]);
    return s;
}

static Stmt *find_kernel(StmtMap *m, Stmt *s) {
    *(bool *)m->user |= s->kind == ST_KERNEL;
    return st_map_kids(m, s);
}

static bool has_kernel(Residence *r, Stmt *s) {
    bool found = false;
    StmtMap m = { .arena = r->p->arena, .ir = r->p->ir, .stmt = find_kernel, .user = &found };
    st_map(&m, s);
    return found;
}

/* ---- moves ---- */

/* Flatten gives it the memory that is in scope; until then any of the Func's will do. */
static Storage *storage_of(Residence *r, Func *f) {
    Storage *t = ARENA_NEW(r->p->arena, Storage);
    *t = (Storage){ .func = f, .name = f->name, .on_device = true };
    return t;
}

/* What s touches, in front of it. */
static Stmt *moved(Residence *r, Stmt *s, const Touch *t, bool device) {
    Stmt **at = ARENA_ARRAY(r->p->arena, Stmt *, t->func.n + 1);
    for (int i = 0; i < t->func.n; i++) {
        Func *f = t->func.at[i];
        bool stored = pm_has(&t->stored, f), all = device && f == r->whole && !pm_has(&t->read, f);
        if (pm_has(&r->device, f)) at[i] = st_move(r->p->arena, storage_of(r, f), device, stored, stored && all);
    }
    at[t->func.n] = s;
    return st_block(r->p->arena, t->func.n + 1, at);
}

static Stmt *host(Residence *r, Stmt *s) {
    Touch t;
    look(r, &t, s, true);
    return moved(r, s, &t, false);
}

static Stmt *place(Residence *r, Stmt *s);

static Stmt *place_in_block(Residence *r, Stmt *s) {
    Arena *a = r->p->arena;
    int n = s->u.block.n, made = 0, kernels = 0;
    Stmt **at = ARENA_ARRAY(a, Stmt *, n);
    bool *is = ARENA_ARRAY(a, bool, n);
    for (int i = 0; i < n; i++) kernels += is[i] = has_kernel(r, s->u.block.at[i]);
    if (kernels > 1) r->whole = NULL; /* each may store a part */
    for (int i = 0; i < n; made++) {
        int first = i;
        while (i < n && !is[i]) i++;
        at[made] = i > first ? host(r, st_block(a, i - first, s->u.block.at + first)) : place(r, s->u.block.at[i++]);
    }
    return st_block(a, made, at);
}

static Stmt *place_alloc(Residence *r, Stmt *s) {
    Func *f = s->u.alloc.storage->func;
    Storage *t = arena_copy(r->p->arena, s->u.alloc.storage, sizeof *t);
    void *outer = pm_get(&r->home, f);
    t->on_device = pm_has(&r->device, f);
    pm_put(&r->home, f, (void *)(intptr_t)(1 + r->loops));
    Stmt *now = st_alloc(r->p->arena, t, place(r, s->u.alloc.body));
    pm_put(&r->home, f, outer);
    now->line = s->line;
    return now;
}

/* A first stage stores every element, or keeps what is there by reading it. */
static Func *stores_whole(const Residence *r, const Stmt *s) {
    Func *f = s->u.produce.func;
    intptr_t home = (intptr_t)pm_get(&r->home, f);
    bool once = r->loops == (home ? home - 1 : 0);
    return once && !s->u.produce.is_consume && s->u.produce.stage == 0 ? f : NULL;
}

/* A statement that is around of a kernel; what it asks itself is asked before. */
static Stmt *place(Residence *r, Stmt *s) {
    if (!has_kernel(r, s)) return host(r, s);
    if (s->kind == ST_BLOCK) return place_in_block(r, s);
    if (s->kind == ST_ALLOC) return place_alloc(r, s);
    Stmt *now = arena_copy(r->p->arena, s, sizeof *s);
    Func *outer = r->whole;
    Touch t;
    switch (s->kind) {
    case ST_KERNEL:
        look(r, &t, s->u.kernel.body, true);
        return moved(r, s, &t, true);
    case ST_FOR:
        r->whole = NULL;
        r->loops++;
        now->u.loop.body = place(r, s->u.loop.body);
        r->loops--;
        break;
    case ST_LET: now->u.let.body = place(r, s->u.let.body); break;
    case ST_IF:
        now->u.cond.yes = s->u.cond.yes ? place(r, s->u.cond.yes) : NULL;
        now->u.cond.no = s->u.cond.no ? place(r, s->u.cond.no) : NULL;
        break;
    case ST_PRODUCE:
        r->whole = stores_whole(r, s);
        now->u.produce.body = place(r, s->u.produce.body);
        break;
    default: BUG(r->p->arena->fault, "a kernel in a task");
    }
    r->whole = outer;
    look(r, &t, s, false);
    return moved(r, now, &t, false);
}

void low_residence(Program *p) {
    Residence r = { .p = p };
    pm_init(&r.device, p->arena);
    pm_init(&r.home, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = find_device, .user = &r };
    st_map(&m, p->body);
    for (int i = 0; i < p->external.n; i++) {
        Storage *t = arena_copy(p->arena, p->external.at[i], sizeof *t);
        t->on_device = pm_has(&r.device, t->func);
        p->external.at[i] = t;
    }
    p->body = p->body ? place(&r, p->body) : NULL;
}
