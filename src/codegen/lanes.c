/* lanes.c - memory inside of a vector loop.
 *
 * Each lane has memory of its own there, so an array of n elements becomes one of n * lanes, the lanes of an element
 * side by side: what they do at the same place of their memory is done to one vector, and a sum stays in a register.
 *
 *     vectorize x of 8:                       alloc s[1 * 8]
 *       alloc s[1]                            s[0 * 8 + lane] = 0
 *       s[0] = 0                        ->    for k: s[0 * 8 + lane] += in[x + lane + k]
 *       for k: s[0] += in[x + k]
 *
 * What is too large for the stack stays as it is, and its loop runs lane by lane. */
#include "cg.h"

bool on_stack(const Storage *t, int e) {
    int64_t n = t->const_elems;
    return t->memory != STORE_HEAP && t->memory != STORE_SHARED && n > 0 && n <= MOST_STACK_BYTES / ty_bytes(t->type[e]);
}

typedef struct {
    Gen *G;
    PtrMap wide; /* Storage -> the one that holds all lanes */
} Widen;

static const Node *in_lane(const Gen *G, const Node *index) {
    Interner *I = G->ir;
    return ir_add(I, ir_mul(I, index, ir_idx(I, G->vec->lanes)), ir_var(I, G->vec->lane));
}

static const Node *widen_load(void *user, Interner *I, const Node *e) {
    const Widen *w = user;
    const Storage *t = e->op == OP_LOAD ? pm_get(&w->wide, e->u.storage) : NULL;
    if (!t) return e;
    const Node *index = in_lane(w->G, e->kid[0]);
    return ir_node(I, OP_LOAD, (mlc_type)e->type, (uint64_t)(uintptr_t)t, e->aux, 1, &index);
}

static const Node *widen_expr(StmtMap *m, const Node *e) {
    return ir_is_const(e) ? e : ir_rewrite(m->ir, e, widen_load, m->user);
}

/* NULL where the stack does not hold it. */
static Storage *wide_storage(const Gen *G, const Storage *s) {
    Storage *t = arena_copy(G->arena, s, sizeof *t);
    t->lanes = true;
    t->const_elems *= G->vec->lanes;
    for (int e = 0; e < t->n; e++)
        if (!on_stack(s, e) || !on_stack(t, e)) return NULL;
    return t;
}

static Stmt *widen_stmt(StmtMap *m, Stmt *s) {
    Widen *w = m->user;
    Storage *t = NULL;
    if (s->kind == ST_ALLOC && (t = wide_storage(w->G, s->u.alloc.storage))) pm_put(&w->wide, s->u.alloc.storage, t);
    Stmt *now = st_map_kids(m, s);
    if (t) now = st_alloc(m->arena, t, now->u.alloc.body);
    if (s->kind != ST_STORE || !(t = pm_get(&w->wide, s->u.store.storage))) return now;
    now = arena_copy(m->arena, now, sizeof *now);
    now->u.store.coord[0] = in_lane(w->G, now->u.store.coord[0]);
    now->u.store.storage = t;
    return now;
}

Stmt *lane_memory(Gen *G, Stmt *s) {
    Widen w = { .G = G };
    pm_init(&w.wide, G->arena);
    StmtMap m = { .arena = G->arena, .ir = G->ir, .expr = widen_expr, .stmt = widen_stmt, .user = &w };
    return st_map(&m, s);
}
