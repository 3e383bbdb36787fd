/* spread.c - memory of a block that its threads keep in their registers, each the elements that it alone touches.
 *
 *     alloc c[64][64] register of the block      alloc c[8][8] register of the thread
 *       c(thread.x * 8 + 3, ..) = 0                c(3, ..) = 0
 *       for ko                                     for ko
 *         load tiles; barrier                        load tiles; barrier
 *         c(thread.x * 8 + 3, ..) += ...             c(3, ..) += ...
 *       out(..) = c(thread.x * 8 + 3, ..)          out(..) = c(3, ..)
 *
 * So a sum lives in registers while all threads load what the next terms are made of: its memory is taken outside of the
 * loops of threads.  Legal where every stage that touches it has the same threads at the same elements: each index is the
 * first one met plus a constant, and no element is that of two threads, which is found by putting the number of every thread
 * in.  Where they are, that is cross-talk of the two stages.  A thread's array has a place for each constant. */
#include "lower/passes.h"
#include "schedule/resolve.h"

#include <stdlib.h>

enum { MOST_KEPT_BYTES = 255 * 4, MOST_SPOTS = 1 << 14 }; /* the registers of a thread; accesses of one memory that differ */

/* Elements that threads touch: the first coordinates plus `at`, by those threads for which `cond` may hold. */
typedef struct {
    const Node *cond;
    const char *stage;
    int64_t at[MAX_RANK];
} Spot;

typedef struct {
    const Storage *storage;
    int64_t born; /* loops begun before it */
    const Node *first[MAX_RANK];
    VEC(Spot) spot;
    int64_t *at[MAX_RANK], n[MAX_RANK]; /* the constants met in a dimension, in order: places of the array */
    Storage *kept;
} Kept;

/* A vector loop around: its iterations are lanes of one thread. */
typedef struct LaneLoop LaneLoop;
struct LaneLoop {
    const LaneLoop *up;
    const Stmt *loop;
};

typedef struct {
    Program *p;
    const Kernel *kernel;
    Sim *sim;
    PtrMap *part;
    PtrMap kept;   /* Func -> Kept, while its memory is in scope */
    PtrMap of;     /* its allocation -> Kept */
    PtrMap value;  /* names -> what they stand for */
    PtrMap number; /* variables of loops -> their number, from 1 */
    int64_t loops;
    const LaneLoop *lanes;
    const Node *cond; /* on threads, around; NULL: none */
    const char *stage;
} Spread;

static const Node *named(Spread *w, const Node *e) {
    return ir_substitute(w->p->ir, e, &w->value);
}

static _Noreturn void raise_index(Spread *w, const Kept *k, const Node *index) {
    Place place = sch_place(w->p->arena, k->storage->memory_line);
    fault_raise(w->p->arena->fault, ERR_GPU_KEPT_INDEX, &place, k->storage->func->name,
                ir_show(w->p->ir, index), w->stage);
}

static _Noreturn void raise_talk(Spread *w, const Kept *k, const char *here, const char *there) {
    Place place = sch_place(w->p->arena, k->storage->memory_line);
    fault_raise(w->p->arena->fault, ERR_GPU_KEPT, &place, here, k->storage->func->name, there);
}

/* ---- which elements? ---- */

typedef struct {
    Spread *w;
    const Kept *k;
    bool moves;
} Moving;

static void find_moving(void *user, const Node *e) {
    Moving *m = user;
    if (e->op == OP_VAR) m->moves |= (intptr_t)pm_get(&m->w->number, e->u.sym) > m->k->born;
    m->moves |= e->op == OP_ACCESS; /* data */
}

/* Not in every iteration of a loop the same. */
static bool moves(Spread *w, const Kept *k, const Node *e) {
    Moving m = { w, k, false };
    ir_visit(w->p->arena, e, find_moving, &m);
    return m.moves;
}

static void add_spot(Spread *w, Kept *k, const Spot *s) {
    int rank = k->storage->rank, d;
    for (int i = 0; i < k->spot.n; i++) {
        const Spot *have = &k->spot.at[i];
        for (d = 0; d < rank && have->at[d] == s->at[d]; d++) {
        }
        if (d == rank && have->cond == s->cond && have->stage == s->stage) return;
    }
    if (k->spot.n == MOST_SPOTS) raise_index(w, k, k->first[0]);
    VEC_PUSH(w->p->arena, &k->spot, *s);
}

/* The spots of an access, one a lane: coordinates over variables of lanes that are not yet put in. */
static void meet_lanes(Spread *w, Kept *k, const LaneLoop *lanes, int n, const Node *const *coord) {
    Interner *I = w->p->ir;
    Spot s = { .cond = w->cond, .stage = w->stage };
    int64_t extent;
    if (!lanes) {
        for (int d = 0; d < n; d++) {
            if (moves(w, k, coord[d])) raise_index(w, k, coord[d]);
            if (!k->first[d]) k->first[d] = coord[d];
            if (!ir_is_int(sim_run(w->sim, ir_sub(I, coord[d], k->first[d])), &s.at[d]))
                raise_talk(w, k, w->stage, k->spot.n ? k->spot.at[0].stage : w->stage);
        }
        add_spot(w, k, &s);
        return;
    }
    const Node *at[MAX_RANK], *min = named(w, lanes->loop->u.loop.min);
    if (!ir_is_int(lanes->loop->u.loop.extent, &extent)) raise_index(w, k, lanes->loop->u.loop.extent);
    for (int64_t i = 0; i < extent; i++) {
        PtrMap lane;
        pm_init(&lane, w->p->arena);
        pm_put(&lane, lanes->loop->u.loop.var, (void *)(uintptr_t)ir_add(I, min, ir_idx(I, i)));
        for (int d = 0; d < n; d++) at[d] = ir_substitute(I, coord[d], &lane);
        meet_lanes(w, k, lanes->up, n, at);
    }
}

static void meet(Spread *w, const Func *f, int n, const Node *const *coord) {
    Kept *k = pm_get(&w->kept, f);
    const Node *at[MAX_RANK];
    if (!k) return;
    for (int d = 0; d < n; d++) at[d] = named(w, coord[d]);
    meet_lanes(w, k, w->lanes, n, at);
}

static void meet_read(void *user, const Node *e) {
    if (e->op == OP_ACCESS) meet(user, e->u.func, e->n, e->kid);
}

/* ---- whose are they? ---- */

static int64_t threads_of(const Kernel *k) {
    return k->threads[0] * k->threads[1] * k->threads[2];
}

/* Of e, over numbers of threads and what is the same for all of them, where it stands for thread i. */
static const Node *in_thread(Spread *w, const Node *e, int64_t i) {
    const Kernel *k = w->kernel;
    PtrMap at;
    pm_init(&at, w->p->arena);
    for (int d = 0; d < GPU_DIMS; i /= k->threads[d++])
        pm_put(&at, k->thread[d], (void *)(uintptr_t)ir_idx(w->p->ir, i % k->threads[d]));
    return ir_substitute(w->p->ir, e, &at);
}

/* How far the first coordinates of each thread are from those of thread 0. */
static int64_t *find_shifts(Spread *w, Kept *k) {
    int rank = k->storage->rank;
    int64_t n = threads_of(w->kernel), *shift = ARENA_ARRAY(w->p->arena, int64_t, n * rank + 1);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < rank; d++) {
            const Node *far = ir_sub(w->p->ir, in_thread(w, k->first[d], i), in_thread(w, k->first[d], 0));
            if (!ir_is_int(sim_run(w->sim, far), &shift[i * rank + d])) raise_index(w, k, k->first[d]);
        }
    return shift;
}

/* A key of an element that no other one has. */
static const void *key_of(const Kept *k, const int64_t *shift, const Spot *s, const int64_t *lo,
                          const int64_t *length) {
    uint64_t key = 0;
    for (int d = k->storage->rank; d-- > 0;)
        key = key * (uint64_t)length[d] + (uint64_t)(shift[d] + s->at[d] - lo[d]);
    return (const void *)(uintptr_t)(key + 1);
}

typedef struct {
    int64_t thread;
    const char *stage;
} Owner;

/* Every element is one thread's. */
static void check_owners(Spread *w, Kept *k, const int64_t *shift) {
    int rank = k->storage->rank;
    int64_t n = threads_of(w->kernel), lo[MAX_RANK] = { 0 }, length[MAX_RANK];
    PtrMap owner;
    pm_init(&owner, w->p->arena);
    for (int d = 0; d < rank; d++) {
        int64_t least = 0, most = 0;
        for (int64_t i = 0; i < n; i++) {
            if (shift[i * rank + d] < least) least = shift[i * rank + d];
            if (shift[i * rank + d] > most) most = shift[i * rank + d];
        }
        lo[d] = least + k->at[d][0];
        length[d] = most - least + k->at[d][k->n[d] - 1] - k->at[d][0] + 1;
    }
    for (int64_t i = 0; i < n; i++) {
        const Node *cond = NULL;
        bool runs = true;
        for (int s = 0; s < k->spot.n; s++) {
            const Spot *spot = &k->spot.at[s];
            if (!s || spot->cond != cond)
                runs = !spot->cond || !ir_is(sim_run(w->sim, in_thread(w, spot->cond, i)), 0);
            cond = spot->cond;
            if (!runs) continue;
            const void *key = key_of(k, shift + i * rank, spot, lo, length);
            const Owner *have = pm_get(&owner, key);
            if (have && have->thread != i) raise_talk(w, k, spot->stage, have->stage);
            if (have) continue;
            Owner *o = ARENA_NEW(w->p->arena, Owner);
            *o = (Owner){ i, spot->stage };
            pm_put(&owner, key, o);
        }
    }
}

/* ---- the array of a thread ---- */

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The constants that are met in a dimension. */
static void find_places(Spread *w, Kept *k, int d) {
    int64_t *at = ARENA_ARRAY(w->p->arena, int64_t, k->spot.n), n = 0;
    for (int i = 0; i < k->spot.n; i++) at[i] = k->spot.at[i].at[d];
    qsort(at, (size_t)k->spot.n, sizeof *at, by_value);
    for (int i = 0; i < k->spot.n; i++)
        if (!n || at[i] != at[n - 1]) at[n++] = at[i];
    k->at[d] = at;
    k->n[d] = n;
}

static int64_t place_of(const Kept *k, int d, int64_t constant) {
    const int64_t *at = bsearch(&constant, k->at[d], (size_t)k->n[d], sizeof constant, by_value);
    return at ? at - k->at[d] : -1;
}

static void shape(Spread *w, Kept *k) {
    Arena *a = w->p->arena;
    Storage *t = k->kept = arena_copy(a, k->storage, sizeof *t);
    int64_t bytes = 0;
    t->of_block = false;
    t->const_elems = 1;
    for (int d = 0; d < t->rank; d++) {
        t->min[d] = ir_idx(w->p->ir, 0);
        t->extent[d] = ir_idx(w->p->ir, k->n[d]);
        t->align[d] = 1;
        if (__builtin_mul_overflow(t->const_elems, k->n[d], &t->const_elems))
            t->const_elems = MOST_KEPT_BYTES + 1;
    }
    if (t->const_elems > MOST_KEPT_BYTES) t->const_elems = MOST_KEPT_BYTES + 1;
    for (int i = 0; i < t->n; i++) bytes += t->const_elems * (int64_t)mlc_type_size(t->type[i]);
    t->note = arena_printf(a, "%s; %lld bytes a thread", t->note, (long long)bytes);
    Place place = sch_place(a, t->memory_line);
    if (bytes > MOST_KEPT_BYTES)
        fault_raise(a->fault, ERR_GPU_SIZE, &place, t->func->name, (long long)bytes,
                    "the registers of a thread", (long long)MOST_KEPT_BYTES);
}

static void settle(Spread *w, Kept *k) {
    for (int d = 0; d < k->storage->rank; d++) {
        if (k->storage->fold[d]) raise_index(w, k, k->storage->extent[d]);
        find_places(w, k, d);
    }
    check_owners(w, k, find_shifts(w, k));
    shape(w, k);
}

/* ---- walks ---- */

static bool is_kept(const Stmt *s) {
    return s->kind == ST_ALLOC && s->u.alloc.storage->memory == STORE_REGISTER &&
           s->u.alloc.storage->of_block;
}

static void find_thread(void *user, const Node *e) {
    void **w = user;
    const Kernel *k = w[0];
    if (e->op == OP_ACCESS || e->op == OP_LOAD) w[1] = NULL;
    if (e->op == OP_VAR && e->u.sym != k->thread[0] && e->u.sym != k->thread[1] && e->u.sym != k->thread[2])
        w[1] = NULL;
}

/* Adds a condition that the numbers of threads alone decide. */
static void narrow(Spread *w, const Node *cond, bool holds) {
    const Node *e = named(w, cond);
    void *only[2] = { (void *)(uintptr_t)w->kernel, w };
    if (holds && e->op == OP_LAND) {
        narrow(w, e->kid[0], true);
        narrow(w, e->kid[1], true);
        return;
    }
    ir_visit(w->p->arena, e, find_thread, only);
    if (!only[1]) return;
    if (!holds) e = ir_make1(w->p->ir, OP_LNOT, e);
    w->cond = w->cond ? ir_make2(w->p->ir, OP_LAND, w->cond, e) : e;
}

/* The statement with what is around of its children noted. */
static Stmt *around(StmtMap *m, Stmt *s) {
    Spread *w = m->user, outer = *w;
    LaneLoop lanes = { w->lanes, s };
    switch (s->kind) {
    case ST_LET:
        pm_put(&w->value, s->u.let.var, (void *)(uintptr_t)named(w, s->u.let.value));
        break;
    case ST_FOR:
        if (s->u.loop.kind == LOOP_VECTOR)
            w->lanes = &lanes;
        else
            pm_put(&w->number, s->u.loop.var, (void *)(intptr_t)++w->loops);
        break;
    case ST_PRODUCE:
        if (!s->u.produce.is_consume)
            w->stage = sch_stage_name(m->arena, s->u.produce.func, s->u.produce.stage);
        break;
    default:
        break;
    }
    Stmt *now = s;
    if (s->kind == ST_IF) { /* its branches under what decides between them */
        Stmt *copy = arena_copy(m->arena, s, sizeof *s);
        narrow(w, s->u.cond.cond, true);
        copy->u.cond.yes = st_map(m, s->u.cond.yes);
        w->cond = outer.cond;
        narrow(w, s->u.cond.cond, false);
        copy->u.cond.no = st_map(m, s->u.cond.no);
        w->cond = outer.cond;
        StmtMap own = *m;
        own.stmt = st_stay;
        now = st_map_kids(&own, copy);
    } else
        now = st_map_kids(m, s);
    w->lanes = outer.lanes;
    w->stage = outer.stage;
    return now;
}

static Stmt *look(StmtMap *m, Stmt *s) {
    Spread *w = m->user;
    if (s->kind == ST_STORE) meet(w, s->u.store.func, s->u.store.rank, s->u.store.coord);
    if (!is_kept(s)) {
        around(m, s);
        return s;
    }
    const Func *f = s->u.alloc.storage->func;
    void *outer = pm_get(&w->kept, f);
    Kept *k = ARENA_NEW(m->arena, Kept);
    *k = (Kept){ .storage = s->u.alloc.storage, .born = w->loops };
    pm_put(&w->kept, f, k);
    pm_put(&w->of, s->u.alloc.storage, k);
    around(m, s);
    pm_put(&w->kept, f, outer);
    if (k->spot.n) settle(w, k);
    return s;
}

static const Node *in_lane(Spread *w, const Node *e, const Stmt *loop, int64_t i) {
    PtrMap at;
    pm_init(&at, w->p->arena);
    pm_put(&at, loop->u.loop.var, (void *)(uintptr_t)ir_add(w->p->ir, named(w, loop->u.loop.min), ir_idx(w->p->ir, i)));
    return sim_run(w->sim, ir_substitute(w->p->ir, e, &at));
}

/* The place of a coordinate that the lanes of one loop differ in: their places must follow one another. */
static const Node *local_lanes(Spread *w, const Kept *k, int d, const Node *far, const Stmt *loop) {
    Interner *I = w->p->ir;
    int64_t first, at, lanes = 0;
    bool fits = ir_is_int(in_lane(w, far, loop, 0), &first) && ir_is_int(loop->u.loop.extent, &lanes);
    for (int64_t i = 1; fits && i < lanes; i++) fits = ir_is_int(in_lane(w, far, loop, i), &at) && place_of(k, d, at) == place_of(k, d, first) + i;
    if (!fits) raise_index(w, k, far);
    const Node *lane = ir_sub(I, ir_var(I, loop->u.loop.var), named(w, loop->u.loop.min));
    return sim_run(w->sim, ir_add(I, lane, ir_idx(I, place_of(k, d, first))));
}

static const Node *local(Spread *w, const Kept *k, int d, const Node *coord) {
    const Node *far = sim_run(w->sim, ir_sub(w->p->ir, named(w, coord), k->first[d]));
    int64_t constant;
    if (ir_is_int(far, &constant)) return ir_idx(w->p->ir, place_of(k, d, constant));
    const LaneLoop *l = w->lanes;
    while (l && !ir_uses(w->p->arena, far, l->loop->u.loop.var)) l = l->up;
    if (!l) raise_index(w, k, coord);
    return local_lanes(w, k, d, far, l->loop);
}

static const Node *put_node(void *user, Interner *I, const Node *e) {
    Spread *w = user;
    const Kept *k = e->op == OP_ACCESS ? pm_get(&w->kept, e->u.func) : NULL;
    const Node *at[MAX_RANK];
    if (!k) return e;
    for (int d = 0; d < e->n; d++) at[d] = local(w, k, d, e->kid[d]);
    return ir_access(I, e->u.func, (mlc_type)e->type, e->aux, e->n, at);
}

static const Node *put_expr(StmtMap *m, const Node *e) {
    return ir_rewrite(m->ir, e, put_node, m->user);
}

static Stmt *put(StmtMap *m, Stmt *s) {
    Spread *w = m->user;
    Stmt *now;
    if (is_kept(s)) {
        const Func *f = s->u.alloc.storage->func;
        Kept *k = pm_get(&w->of, s->u.alloc.storage);
        void *outer = pm_get(&w->kept, f);
        pm_put(&w->kept, f, k->spot.n ? k : NULL);
        now = st_map(m, s->u.alloc.body);
        pm_put(&w->kept, f, outer);
        if (now && k->spot.n) now = st_alloc(m->arena, k->kept, now), now->line = s->line;
    } else if (s->kind == ST_STORE && pm_get(&w->kept, s->u.store.func)) {
        const Kept *k = pm_get(&w->kept, s->u.store.func);
        now = arena_copy(m->arena, s, sizeof *s);
        for (int d = 0; d < s->u.store.rank; d++) now->u.store.coord[d] = local(w, k, d, s->u.store.coord[d]);
        for (int i = 0; i < s->u.store.n; i++) now->u.store.value[i] = put_expr(m, s->u.store.value[i]);
    } else
        now = around(m, s);
    if (now && pm_has(w->part, s)) pm_put(w->part, now, now);
    return now;
}

static Stmt *find(StmtMap *m, Stmt *s) {
    *(bool *)m->user |= is_kept(s);
    return st_map_kids(m, s);
}

static void forget(Spread *w) {
    PtrMap *maps[] = { &w->kept, &w->value, &w->number };
    for (int i = 0; i < 3; i++) pm_init(maps[i], w->p->arena);
    w->loops = 0;
}

Stmt *low_spread(Program *p, const Kernel *kernel, const char *stage, PtrMap *part, Stmt *body) {
    Spread w = { .p = p, .kernel = kernel, .part = part, .stage = stage };
    bool any = false;
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = find, .user = &any };
    st_map(&m, body);
    if (!any) return body;
    w.sim = sim_begin(p->ir, NULL);
    pm_init(&w.of, p->arena);
    forget(&w);
    m = (StmtMap){ .arena = p->arena, .ir = p->ir, .visit = meet_read, .stmt = look, .user = &w };
    st_map(&m, body);
    forget(&w);
    m = (StmtMap){ .arena = p->arena, .ir = p->ir, .expr = put_expr, .stmt = put, .user = &w };
    body = st_map(&m, body);
    sim_end(w.sim);
    return body;
}
