/* stream.c - stores and loads that go around the caches.
 *
 * A streamed store takes a whole vector to an address that is a multiple of its size, fills lines of the cache's size, and
 * is seen by other threads after a fence.  So a stage that streams first checks that the rows of its memory begin at such
 * lines, the same for every target, and ends with a fence, as each body of a parallel loop in it does.  Vectors that begin elsewhere, in a tail that was moved or under a mask, are stored
 * as ever.  A streamed load is a plain one behind a hint for the lines to come: they are read once, and nothing in the
 * caches has to make room for them. */
#include "cg.h"

enum { LEAST = 8, AHEAD = 512, LINE = 64 }; /* bytes of a vector that can be streamed; how far in front of the load the hint is */

/* ---- loads ---- */

void stream_load(Gen *G, Env *v, const Storage *t, int elem, const Node *index) {
    const Stream *s = G->stream;
    bool asked = s && s->loads && t->func && !s->n;
    for (int i = 0; s && s->loads && i < s->n; i++) asked |= s->func[i] == t->func;
    if (asked) line(G, "__builtin_prefetch((const char *)(%s) + %d, 0, 0);", mem_address(G, v, t, elem, index), AHEAD);
}

/* ---- stores ---- */

bool streams_to(const Gen *G, const Storage *t, int bytes) {
    return G->stream && G->stream->stores && t->func && bytes >= LEAST;
}

static Place place_of(Gen *G) {
    return sch_place(G->arena, G->stream->stores);
}

/* Lanes that lie apart: where that depends on the buffer, the call is an error. */
void stream_apart(Gen *G, const Storage *t) {
    const char *name = t->func->name, *none[4] = { "0", "0", "0", "0" };
    Place place = place_of(G);
    if (G->p->dense || G->o->emit || !t->is_output) fault_raise(G->arena->fault, ERR_STREAM_APART, &place, name);
    fail_line(G, fail_text(G, ERR_STREAM_APART, add_check(G, ERR_STREAM_APART, name, NULL), none));
}

/* ---- stages ---- */

typedef struct {
    const Func *func;
    const Stmt *store; /* a streamed one of the Func, or NULL */
} Find;

static Stmt *find_store(StmtMap *m, Stmt *s) {
    Find *f = m->user;
    bool streams = s->kind == ST_STORE && s->u.store.func == f->func && s->u.store.stream && s->u.store.stream->stores;
    if (streams) f->store = s;
    return st_map_kids(m, s);
}

static const Stmt *streamed(Gen *G, const Func *func, Stmt *s) {
    Find f = { func, NULL };
    StmtMap m = { .arena = G->arena, .ir = G->ir, .stmt = find_store, .user = &f };
    st_map(&m, s);
    return f.store;
}

void stream_one_by_one(Gen *G, const Func *func, Stmt *s, const char *why) {
    const Stmt *store = streamed(G, func, s);
    if (!store) return;
    Place place = sch_place(G->arena, store->u.store.stream->stores);
    fault_raise(G->arena->fault, ERR_STREAM_LANES, &place, func->name, why);
}

/* Do its rows begin at lines? */
static void check_rows(Gen *G, const Storage *t, int e) {
    int size = ty_bytes(t->type[e]);
    Env v;
    env_init(G, &v, NULL);
    const char *bad = fmt(G, "(u64)(%s) %% %d", mem_address(G, &v, t, e, ir_idx(G->ir, 0)), LINE);
    for (int d = 0; d < t->rank; d++) {
        int64_t stride;
        if (d == t->order[0] || (ir_is_int(t->stride[d], &stride) && stride * size % LINE == 0)) continue;
        bad = fmt(G, "%s || (%s > 1 && %s * %d %% %d)", bad, wrap(G, expr(G, &v, legal(G, t->extent[d])), P_ADD),
                  wrap(G, expr(G, &v, legal(G, t->stride[d])), P_MUL), size, LINE);
    }
    open_brace(G, "if (%s)", bad);
    const char *none[4] = { "0", "0", "0", "0" };
    fail_line(G, fail_text(G, ERR_STREAM_ALIGN, add_check(G, ERR_STREAM_ALIGN, t->func->name, NULL), none));
    close_brace(G);
}

void stream_begin(Gen *G, const Stmt *produce) {
    const Stmt *store = streamed(G, produce->u.produce.func, produce->u.produce.body);
    for (int e = 0; store && e < store->u.store.n; e++) check_rows(G, store->u.store.storage, e);
}
