/* hoist.c - memory taken once for many iterations of the loop that it is stored in.
 *
 *     for yo: alloc g[x0 .. x1]          alloc g[0 .. longest][1]
 *             ... g(x) ...               for yo: ... g(x - x0, 0) ...
 *
 * Values live as long as they would without it: accesses count from the start of the iteration's own box, and what
 * an iteration finds there is garbage.  Inside of a vector loop each lane has memory of its own, so the last
 * coordinate is the lane.  It has stride 1: lanes that store the same point of their boxes store one vector. */
#include "lower/nest.h"

static Place place_of(Build *b, const FuncNest *fn) {
    return sch_place(b->arena, fn->sched->hoist.line);
}

void low_hoist_place(Build *b, const FuncNest *fn) {
    if (!fn->sched->hoist.line) return;
    Place place = place_of(b, fn);
    if (low_whole_reads(b, fn)) fault_raise(b->fault, ERR_HOIST_STAGE, &place, fn->func->name);
    for (const Scope *s = fn->store; s != fn->hoist; s = s->up)
        if (s->var && sch_spreads(s->kind)) fault_raise(b->fault, ERR_HOIST_RACE, &place, s->dim->name, fn->func->name);
}

/* The most that e, over names bound where the Func is stored, can be where its memory is taken. */
static const Node *most_of(Build *b, const FuncNest *fn, const Node *e, int d) {
    const Node *most = sim_bounds(b->ir, low_facts(b, fn->hoist, fn->store), e, NULL).hi;
    if (most) return sim_simplify(b->ir, low_facts(b, NULL, fn->hoist), most);
    Place place = place_of(b, fn);
    fault_raise(b->fault, ERR_HOIST_UNBOUNDED, &place, fn->func->name, d);
}

void low_hoist_extent(Build *b, FuncNest *fn, Storage *t, int d) {
    fn->base[d] = t->min[d];
    t->min[d] = ir_idx(b->ir, 0);
    if (!ir_is_const(t->extent[d])) t->extent[d] = most_of(b, fn, t->extent[d], d);
}

/* The lane at hand of the vector loops between the two places, counted through; how many there are. */
static const Node *lane_of(Build *b, const FuncNest *fn, const Node **lanes) {
    Interner *I = b->ir;
    const Node *lane = ir_idx(I, 0);
    *lanes = ir_idx(I, 1);
    for (const Scope *s = fn->store; s != fn->hoist; s = s->up) {
        if (!s->var || s->kind != LOOP_VECTOR) continue;
        lane = ir_add(I, lane, ir_mul(I, ir_sub(I, ir_var(I, s->var), s->min), *lanes));
        *lanes = ir_mul(I, *lanes, most_of(b, fn, s->extent, fn->func->rank));
    }
    return lane;
}

const Node *low_hoist_lanes(Build *b, const FuncNest *fn) {
    const Node *lanes;
    lane_of(b, fn, &lanes);
    return lanes;
}

Stmt *low_hoisted(Build *b, const FuncNest *fn, Stmt *s) {
    const Node *lanes, *lane = lane_of(b, fn, &lanes);
    return low_relative(b, fn->func, fn->base, lane, s);
}

/* ---- accesses that count from a base, and have one more coordinate ---- */

typedef struct {
    const Func *func;
    const Node *const *base, *last;
} Relative;

static void move(const Relative *r, Interner *I, const Node **coord) {
    for (int d = 0; d < r->func->rank; d++) coord[d] = ir_sub(I, coord[d], r->base[d]);
    coord[r->func->rank] = r->last;
}

/* Their further coordinate tells those that are done from the others. */
static const Node *move_access(void *user, Interner *I, const Node *e) {
    const Relative *r = user;
    const Node *coord[MAX_RANK];
    if (e->op != OP_ACCESS || e->u.func != r->func || e->n != r->func->rank) return e;
    for (int d = 0; d < e->n; d++) coord[d] = e->kid[d];
    move(r, I, coord);
    return ir_access(I, e->u.func, (mlc_type)e->type, e->aux, e->n + 1, coord);
}

static const Node *expr(StmtMap *m, const Node *e) {
    return ir_is_const(e) ? e : ir_rewrite(m->ir, e, move_access, m->user);
}

static Stmt *stmt(StmtMap *m, Stmt *s) {
    const Relative *r = m->user;
    Stmt *now = st_map_kids(m, s);
    if (!now || now->kind != ST_STORE || now->u.store.func != r->func) return now;
    now = arena_copy(m->arena, now, sizeof *now);
    move(r, m->ir, now->u.store.coord);
    now->u.store.rank++;
    return now;
}

Stmt *low_relative(Build *b, const Func *f, const Node *const *base, const Node *last, Stmt *s) {
    Relative r = { f, base, last };
    StmtMap m = { .arena = b->arena, .ir = b->ir, .expr = expr, .stmt = stmt, .user = &r };
    return st_map(&m, s);
}
