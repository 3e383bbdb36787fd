/* vec.c - vector loops: each leaf statement runs for all lanes before the next one.
 *
 * A statement's lanes are cut into slices of one machine vector of its widest element, smaller powers of
 * two at the end.  Values that no lane changes stay scalars, indices stay scalar arithmetic: lane i of an
 * index that grows by s a lane is its value in lane 0, plus s * i.  Serial loops and lets around the
 * leaves stay what they are; a varying let, and the condition of a varying if, live in a small array with
 * one element a lane, which then becomes vector variables (see Promoted).
 *
 * What has no vector form runs lane after lane, which legality makes the same; a note says so. */
#include "cg.h"

#include <string.h>

enum { MOST_LANES = 256 }; /* of one piece of code; longer loops repeat it */

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

/* ---- what lanes do to a value ---- */

static Lanes combine(const Node *e, const Lanes *k) {
    Lanes r = { 0 };
    for (int i = 0; i < e->n; i++) r.varies |= k[i].varies;
    if (!r.varies || e->type != MLC_INDEX) return r;
    int64_t c;
    bool affine = true;
    for (int i = 0; i < e->n; i++) affine &= !k[i].varies || k[i].affine;
    switch ((Op)e->op) {
    case OP_ADD: r.stride = k[0].stride + k[1].stride; break;
    case OP_SUB: r.stride = k[0].stride - k[1].stride; break;
    case OP_NEG: r.stride = -k[0].stride; break;
    case OP_LIKELY: case OP_LIKELY_INNER: r.stride = k[0].stride; break;
    case OP_MUL:
        affine &= ir_is_int(e->kid[1], &c);
        r.stride = affine ? k[0].stride * c : 0;
        break;
    default: affine = false;
    }
    r.affine = affine;
    return r;
}

static void find_lanes(void *user, const Node *e) {
    Gen *G = user;
    Vec *v = G->vec;
    Lanes small[8], *k = e->n > 8 ? ARENA_ARRAY(G->arena, Lanes, e->n) : small, r = { 0 };
    for (int i = 0; i < e->n; i++) k[i] = *(const Lanes *)pm_get(&v->info, e->kid[i]);
    const Lanes *let = e->op == OP_VAR ? pm_get(&v->lets, e->u.sym) : NULL;
    if (let) r = *let;
    else if (e->op == OP_VAR && (e->u.sym == v->var || e->u.sym == v->lane)) r = (Lanes){ true, true, 1 };
    else r = combine(e, k);
    if (!r.varies) r.affine = true;
    pm_put(&v->info, e, arena_copy(G->arena, &r, sizeof r));
}

Lanes lanes_of(Gen *G, const Node *e) {
    Walk w = { G->arena, &G->vec->info, find_lanes, NULL, G };
    walk(&w, e);
    return *(const Lanes *)pm_get(&G->vec->info, e);
}

typedef struct {
    Gen *G;
    const Node *lane;
} AtLane;

static const Node *replace_lane(void *user, Interner *I, const Node *e) {
    AtLane *r = user;
    const Vec *v = r->G->vec;
    if (e->op != OP_VAR) return e;
    if (e->u.sym == v->lane) return r->lane;
    if (e->u.sym == v->var) return ir_add(I, ir_is_const(v->loop->u.loop.min) ? v->loop->u.loop.min : e, r->lane);
    const Lanes *let = pm_get(&v->lets, e->u.sym);
    return let && let->affine && let->stride ? ir_add(I, e, ir_mul(I, r->lane, ir_idx(I, let->stride))) : e;
}

const Node *at_lane(Gen *G, const Node *e, const Node *lane) {
    AtLane r = { G, lane };
    return ir_rewrite_leaves(G->ir, e, replace_lane, &r);
}

/* With varying lets replaced by what holds them, in the operators that C has. */
static const Node *settled(Gen *G, const Node *e) {
    return legal(G, ir_substitute(G->ir, e, &G->vec->subst));
}

/* ---- can it be a vector loop? ---- */

static const char *obstacle(Gen *G, const Stmt *s) {
    const char *why = NULL;
    if (!s) return NULL;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n && !why; i++) why = obstacle(G, s->u.block.at[i]);
        return why;
    case ST_FOR:
        if (s->u.loop.kind == LOOP_VECTOR) return "a vector loop inside";
        if (s->u.loop.kind == LOOP_PARALLEL) return "a parallel loop inside";
        if (lanes_of(G, s->u.loop.min).varies || lanes_of(G, s->u.loop.extent).varies)
            return "a loop inside has bounds that differ between lanes";
        return obstacle(G, s->u.loop.body);
    case ST_LET: {
        Lanes l = lanes_of(G, s->u.let.value);
        if (l.varies) pm_put(&G->vec->lets, s->u.let.var, arena_copy(G->arena, &l, sizeof l));
        return obstacle(G, s->u.let.body);
    }
    case ST_IF:
        why = obstacle(G, s->u.cond.yes);
        return why ? why : obstacle(G, s->u.cond.no);
    case ST_ALLOC: return s->u.alloc.storage->lanes ? obstacle(G, s->u.alloc.body) : "an allocation inside that the stack does not hold";
    case ST_FORK: case ST_TURN: return "a task inside";
    case ST_PRODUCE: return obstacle(G, s->u.produce.body);
    case ST_CHECK: return lanes_of(G, s->u.check.cond).varies ? "a check inside" : NULL;
    default: return NULL;
    }
}

/* ---- leaves ---- */

/* Has it effects or calls, whose order only a lane loop keeps? */
static void find_effect(void *user, const Node *e) {
    bool *found = user;
    *found |= e->op == OP_REQUIRE || e->op == OP_PRINT || e->op == OP_EXTERN;
}

static bool has_effects(Gen *G, const Node *e) {
    bool found = false;
    ir_visit(G->arena, e, find_effect, &found);
    return found;
}

typedef struct {
    Gen *G;
    int widest;
} Widest;

/* Indices do not count: they stay scalar.  Nor does a bool by itself: its mask is as wide as what was compared. */
static void find_widest(void *user, const Node *e) {
    Widest *w = user;
    if (!lanes_of(w->G, e).varies || e->type == MLC_INDEX) return;
    int n = ty_bytes(type_of(e));
    if (n > w->widest) w->widest = n;
}

static int slice_lanes(Gen *G, const Stmt *s, const Node *const *value, int n) {
    Widest w = { G, 1 };
    for (int i = 0; i < n; i++) {
        ir_visit(G->arena, value[i], find_widest, &w);
        if (s->kind == ST_STORE && ty_bytes(type_of(value[i])) > w.widest) w.widest = ty_bytes(type_of(value[i]));
    }
    return native_bytes(G) / w.widest;
}

/* The statement once for each lane, in order. */
static void lane_loop(Gen *G, const Stmt *s) {
    Vec *v = G->vec;
    Sym *i = ARENA_NEW(G->arena, Sym);
    *i = (Sym){ .name = "lane", .kind = SYM_LOOP, .type = MLC_INDEX };
    const Node *lane = ir_var(G->ir, i);
    const char *name = name_of(G, i, "lane");
    Stmt one = *s;
    note(G, s, "effects, calls or one place for all lanes");
    open_brace(G, "for (i64 %s = 0; %s < %lld; %s++)", name, name, (long long)v->lanes, name);
    bind(G, i, name);
    if (v->mask) {
        Env e;
        env_init(G, &e, NULL);
        open_brace(G, "if (%s)", value(G, &e, at_lane(G, v->mask, lane)));
    }
    if (s->kind == ST_STORE) {
        one.u.store.coord[0] = at_lane(G, settled(G, s->u.store.coord[0]), lane);
        for (int k = 0; k < s->u.store.n; k++) one.u.store.value[k] = at_lane(G, settled(G, s->u.store.value[k]), lane);
    } else one.u.eval.value = at_lane(G, settled(G, s->u.eval.value), lane);
    scalar_leaf(G, &one);
    if (v->mask) close_brace(G);
    unbind(G, i);
    close_brace(G);
}

static void one_lane(Gen *G, const Stmt *s, const Env *shared, int64_t at) {
    const Node *lane = ir_idx(G->ir, at);
    Env v;
    env_init(G, &v, shared);
    const Node *mask = G->vec->mask ? at_lane(G, G->vec->mask, lane) : NULL;
    open_brace(G, mask ? "if (%s)" : "%s", mask ? value(G, &v, mask) : "");
    Stmt one = *s;
    one.u.store.coord[0] = at_lane(G, settled(G, s->u.store.coord[0]), lane);
    for (int k = 0; k < s->u.store.n; k++) one.u.store.value[k] = at_lane(G, settled(G, s->u.store.value[k]), lane);
    scalar_leaf(G, &one);
    close_brace(G);
}

static void store_slice(Gen *G, const Stmt *s, Slice *c, const Node *index, const Node *const *val) {
    int n = s->u.store.n;
    Text t[MAX_TUPLE];
    for (int i = 0; i < n; i++) {
        t[i] = slice_value(c, val[i]);
        if (n == 1) break;
        const char *name = fresh(G, fmt(G, "t%d", ++G->temps));
        line(G, "const %s %s = %s;", vector_type(G, ty_c(type_of(val[i])), c->w), name, t[i].s);
        t[i] = atom(name);
    }
    for (int i = 0; i < n; i++) slice_store(c, s->u.store.storage, i, index, t[i]);
}

static void vector_store(Gen *G, const Stmt *s) {
    Vec *v = G->vec;
    const Node *val[MAX_TUPLE], *index = settled(G, s->u.store.coord[0]);
    bool effects = has_effects(G, index); /* or indices as values, which have no vectors */
    for (int i = 0; i < s->u.store.n; i++) {
        val[i] = settled(G, s->u.store.value[i]);
        effects |= has_effects(G, val[i]) || (val[i]->type == MLC_INDEX && lanes_of(G, val[i]).varies);
    }
    if (effects || s->u.store.old[0] || !lanes_of(G, index).varies) {
        stream_one_by_one(G, s->u.store.func, arena_copy(G->arena, s, sizeof *s), "effects, calls or one place for all lanes");
        lane_loop(G, s);
        return;
    }
    int w = slice_lanes(G, s, val, s->u.store.n);
    G->stream = s->u.store.stream;
    Env env;
    PtrMap uses, splats[7];
    env_init(G, &env, NULL);
    pm_init(&uses, G->arena);
    for (int i = 0; i < 7; i++) pm_init(&splats[i], G->arena);
    for (int i = 0; i < s->u.store.n; i++) count_uses_below(G, &uses, val[i]);
    int bytes = native_bytes(G) / w;
    for (int64_t o = 0; o < v->lanes; o += w) {
        while (w > v->lanes - o) w /= 2;
        if (w == 1) {
            one_lane(G, s, &env, o);
            continue;
        }
        Slice c = { .G = G, .env = &env, .o = (int)o, .w = w, .bytes = bytes, .uses = &uses,
                    .splats = &splats[__builtin_ctz((unsigned)w)] };
        pm_init(&c.text, G->arena);
        pm_init(&c.width, G->arena);
        for (int i = 0; i < 4; i++) pm_init(&c.mask[i], G->arena);
        store_slice(G, s, &c, index, val);
    }
    G->stream = NULL;
}

/* ---- values that lanes keep ---- */

static Storage *lane_array(Gen *G, const char *name, mlc_type t) {
    Storage *s = ARENA_NEW(G->arena, Storage);
    *s = (Storage){ .name = name, .rank = 1, .n = 1, .type = { t }, .memory = STORE_STACK, .const_elems = G->vec->lanes };
    s->stride[0] = ir_idx(G->ir, 1);
    return s;
}

static const Node *lane_load(Gen *G, Storage *s) {
    const Node *index = ir_var(G->ir, G->vec->lane);
    return ir_node(G->ir, OP_LOAD, s->type[0], (uint64_t)(uintptr_t)s, 0, 1, &index);
}

static Stmt *lane_store(Gen *G, Storage *s, const Node *e) {
    const Node *index = ir_var(G->ir, G->vec->lane);
    Stmt *st = st_store(G->arena, NULL, 1, &index, 1, &e);
    st->u.store.storage = s;
    return st;
}

/* The array comes alive around `body`; what fills it is the first statement in there. */
static void with_array(Gen *G, Storage *s, const Node *e, Stmt *body) {
    Stmt *both[2] = { lane_store(G, s, e), body };
    vector_stmt(G, st_alloc(G->arena, s, st_block(G->arena, 2, both)));
}

static void vector_let(Gen *G, const Stmt *s) {
    Vec *v = G->vec;
    const Sym *var = s->u.let.var;
    const Node *e = s->u.let.value;
    Lanes l = lanes_of(G, e);
    if (l.varies && !l.affine) {
        Storage *t = lane_array(G, var->name, var->type);
        pm_put(&v->subst, var, (void *)(uintptr_t)lane_load(G, t));
        with_array(G, t, e, s->u.let.body);
        return;
    }
    Env env;
    env_init(G, &env, NULL);
    if (l.varies) pm_put(&v->lets, var, arena_copy(G->arena, &l, sizeof l));
    e = settled(G, l.varies ? at_lane(G, e, ir_idx(G->ir, 0)) : e);
    const char *name = name_of(G, var, var->name);
    open_brace(G, "%s", "");
    line(G, "const %s %s = %s;", ty_c(var->type), name, value(G, &env, e));
    bind(G, var, name);
    const Facts *outside = G->facts;
    if (var->type == MLC_INDEX && !l.varies) G->facts = fact_let(G, var, s->u.let.value);
    stmt(G, s->u.let.body);
    G->facts = outside;
    unbind(G, var);
    close_brace(G);
}

/* ---- conditions ---- */

static void find_load(void *user, const Node *e) {
    bool *found = user;
    *found |= e->op == OP_LOAD || e->op == OP_EXTERN;
}

/* An index comparison with one end: true in some lane when it is in the first or the last. */
static bool is_guard(Gen *G, const Node *c) {
    bool loads = false;
    if (c->op != OP_LT && c->op != OP_LE) return false;
    if (c->kid[0]->type != MLC_INDEX || !lanes_of(G, c->kid[0]).affine || !lanes_of(G, c->kid[1]).affine) return false;
    ir_visit(G->arena, c, find_load, &loads);
    return !loads;
}

static void under_mask(Gen *G, const Node *mask, MaskKind masks, const Stmt *s) {
    Vec *v = G->vec, outside = *v;
    v->mask = mask;
    v->masks = masks;
    stmt(G, s);
    v->mask = outside.mask;
    v->masks = outside.masks;
}

/* A condition of index arithmetic that needs no branch. */
static void predicated(Gen *G, const Stmt *s, const Node *c) {
    const Vec *v = G->vec;
    bool same = !v->mask || v->masks == s->u.cond.mask; /* else what the mask around forbids must stay so */
    const Node *mask = v->mask ? ir_make2(G->ir, OP_LAND, v->mask, c) : c;
    under_mask(G, mask, same ? s->u.cond.mask : MASK_ALL, s->u.cond.yes);
}

static void guarded(Gen *G, const Node *c, const Stmt *yes) {
    Env v;
    env_init(G, &v, NULL);
    Text first = expr(G, &v, legal(G, at_lane(G, c, ir_idx(G->ir, 0))));
    Text last = expr(G, &v, legal(G, at_lane(G, c, ir_idx(G->ir, G->vec->lanes - 1))));
    open_brace(G, "if (%s)", infix(G, first, "||", last, P_OR).s);
    under_mask(G, c, MASK_ALL, yes);
    close_brace(G);
}

/* A varying condition is kept in an array of lanes, together with the mask around it; a branch is an if on
 * the load of such an array, and nothing of it runs where no lane does. */
static bool is_branch(Gen *G, const Stmt *s) {
    const Node *c = s->u.cond.cond;
    return c->op == OP_LOAD && c->kid[0] == ir_var(G->ir, G->vec->lane);
}

static void branch(Gen *G, const Stmt *s) {
    const Node *mask = s->u.cond.cond;
    const char *any = fresh(G, fmt(G, "any_%s", mask->u.storage->name)), *i = fresh(G, "lane");
    Env v;
    env_init(G, &v, NULL);
    line(G, "u8 %s = 0;", any);
    Sym *sym = ARENA_NEW(G->arena, Sym);
    *sym = (Sym){ .name = i, .kind = SYM_LOOP, .type = MLC_INDEX };
    open_brace(G, "for (i64 %s = 0; %s < %lld; %s++)", i, i, (long long)G->vec->lanes, i);
    bind(G, sym, i);
    line(G, "%s |= %s;", any, value(G, &v, at_lane(G, mask, ir_var(G->ir, sym))));
    unbind(G, sym);
    close_brace(G);
    open_brace(G, "if (%s)", any);
    under_mask(G, mask, MASK_ALL, s->u.cond.yes);
    close_brace(G);
}

static void masked_if(Gen *G, const Stmt *s, const Node *c) {
    const Node *outer = G->vec->mask;
    Storage *yes = lane_array(G, "mask", MLC_BOOL), *no = lane_array(G, "mask_else", MLC_BOOL);
    const Node *in_yes = lane_load(G, yes), *in_no = lane_load(G, no);
    const Node *yes_value = outer ? ir_make2(G->ir, OP_LAND, outer, c) : c, *no_value = ir_make1(G->ir, OP_LNOT, in_yes);
    if (outer) no_value = ir_make2(G->ir, OP_LAND, outer, no_value);
    /* Both are known before the first branch runs, which may change what the condition reads. */
    Stmt *otherwise = s->u.cond.no;
    Stmt *at[4] = { lane_store(G, yes, yes_value), otherwise ? lane_store(G, no, no_value) : NULL,
                    st_if(G->arena, in_yes, s->u.cond.yes, NULL), otherwise ? st_if(G->arena, in_no, otherwise, NULL) : NULL };
    Stmt *body = st_block(G->arena, 4, at);
    vector_stmt(G, st_alloc(G->arena, yes, otherwise ? st_alloc(G->arena, no, body) : body));
}

static void vector_if(Gen *G, const Stmt *s) {
    if (is_branch(G, s)) {
        branch(G, s);
        return;
    }
    const Node *c = ir_substitute(G->ir, s->u.cond.cond, &G->vec->subst);
    if (lanes_of(G, c).varies) {
        if (s->u.cond.mask) predicated(G, s, c);
        else if (!G->vec->mask && !s->u.cond.no && is_guard(G, c)) guarded(G, c, s->u.cond.yes);
        else masked_if(G, s, c);
        return;
    }
    Env v;
    env_init(G, &v, NULL);
    open_brace(G, "if (%s)", value(G, &v, c));
    stmt(G, s->u.cond.yes);
    close_brace(G);
    if (!s->u.cond.no) return;
    open_brace(G, "else");
    stmt(G, s->u.cond.no);
    close_brace(G);
}

/* ---- statements inside a vector loop ---- */

void vector_stmt(Gen *G, const Stmt *s) {
    if (!s) return;
    Vec *v = G->vec;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) vector_stmt(G, s->u.block.at[i]);
        break;
    case ST_FOR: comment_line(G, s->line); scalar_loop(G, s); break;
    case ST_LET: vector_let(G, s); break;
    case ST_IF: vector_if(G, s); break;
    case ST_STORE: vector_store(G, s); break;
    case ST_EVAL:
        if (v->mask || lanes_of(G, s->u.eval.value).varies) lane_loop(G, s);
        else scalar_leaf(G, s);
        break;
    case ST_FORK: case ST_TURN: BUG(G->arena->fault, "a task inside of lanes");
    case ST_ALLOC: allocate(G, s); break; /* for all lanes: others are obstacles */
    case ST_PRODUCE: stmt(G, s->u.produce.body); break;
    case ST_COUNT: watch_lanes(G, s); break;
    case ST_CALL: BUG(G->arena->fault, "an extern stage in a vector loop");
    case ST_KERNEL: case ST_BARRIER: case ST_COPIES: case ST_MOVE: case ST_MMA: BUG(G->arena->fault, "a kernel in a vector loop");
    case ST_CHECK: case ST_PREFETCH: /* no lane differs */
        G->vec = NULL;
        stmt(G, s);
        G->vec = v;
        break;
    }
}

/* `chunk` lanes at a time. */
static void in_chunks(Gen *G, const Stmt *s, int64_t lanes, int64_t chunk) {
    Interner *I = G->ir;
    Sym *i = ARENA_NEW(G->arena, Sym);
    *i = (Sym){ .name = fmt(G, "%s_chunk", s->u.loop.var->name), .kind = SYM_LOOP, .type = MLC_INDEX };
    const Node *at = ir_add(I, s->u.loop.min, ir_mul(I, ir_var(I, i), ir_idx(I, chunk)));
    Stmt *inner = st_for(G->arena, s->u.loop.var, LOOP_VECTOR, at, ir_idx(I, chunk), s->u.loop.body);
    stmt(G, st_for(G->arena, i, LOOP_SERIAL, ir_idx(I, 0), ir_idx(I, lanes / chunk), inner));
    int64_t done = lanes / chunk * chunk;
    if (done == lanes) return;
    const Node *rest = ir_add(I, s->u.loop.min, ir_idx(I, done));
    stmt(G, st_for(G->arena, s->u.loop.var, LOOP_VECTOR, rest, ir_idx(I, lanes - done), s->u.loop.body));
}

/* How many lanes a machine vector of a guarded store takes; 0 for other statements.  A guard stands in the last
 * round of a loop: there short code counts more than straight code, and slices past the end need not run. */
static int guarded_lanes(Gen *G, const Stmt *s) {
    if (s->kind != ST_IF || s->u.cond.no || s->u.cond.mask || !is_guard(G, s->u.cond.cond) || !lanes_of(G, s->u.cond.cond).varies) return 0;
    const Stmt *yes = s->u.cond.yes;
    if (!yes || yes->kind != ST_STORE) return 0;
    return slice_lanes(G, yes, (const Node *const *)yes->u.store.value, yes->u.store.n);
}

static void vector_body(Gen *G, const Stmt *s, int64_t lanes) {
    const Sym *var = s->u.loop.var;
    Vec v = { .loop = s, .var = var, .lanes = lanes };
    Sym *lane = ARENA_NEW(G->arena, Sym);
    *lane = (Sym){ .name = "lane", .kind = SYM_LOOP, .type = MLC_INDEX };
    v.lane = lane;
    pm_init(&v.info, G->arena);
    pm_init(&v.lets, G->arena);
    pm_init(&v.subst, G->arena);
    G->vec = &v;
    Stmt *body = lane_memory(G, s->u.loop.body);
    const char *why = obstacle(G, body);
    if (why) {
        G->vec = NULL;
        note(G, s, why);
        stream_one_by_one(G, var->func, s->u.loop.body, why);
        scalar_loop(G, s);
        return;
    }
    int slice = guarded_lanes(G, body);
    if (slice && lanes > slice) {
        G->vec = NULL;
        in_chunks(G, s, lanes, slice);
        return;
    }
    const Facts *outside = G->facts;
    G->facts = fact_loop(G, var, s->u.loop.min, s->u.loop.extent);
    const char *name = name_of(G, var, var->name);
    open_brace(G, "%s", "");
    if (!ir_is_const(s->u.loop.min)) {
        Env e;
        env_init(G, &e, NULL);
        line(G, "const i64 %s = %s; // lane 0 of %lld", name, value(G, &e, s->u.loop.min), (long long)lanes);
    } else line(G, "// %s = %lld .. %lld", name, (long long)s->u.loop.min->u.i, (long long)(s->u.loop.min->u.i + lanes - 1));
    bind(G, var, name);
    stmt(G, body);
    unbind(G, var);
    close_brace(G);
    G->facts = outside;
    G->vec = NULL;
}

void vector_loop(Gen *G, const Stmt *s) {
    int64_t lanes;
    if (!ir_is_int(s->u.loop.extent, &lanes)) {
        note(G, s, "its extent is not constant");
        scalar_loop(G, s);
    } else if (lanes > MOST_LANES) in_chunks(G, s, lanes, MOST_LANES);
    else if (lanes > 1) vector_body(G, s, lanes);
    else scalar_loop(G, s);
}
