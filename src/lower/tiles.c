/* tiles.c - tensorized loops become instructions of warps, and the Funcs that lanes hold in fragments each lane's own.
 *
 *     for yi tensor [0, 16)                        for lane gpu_thread [0, 32)
 *       for xi tensor [0, 8)                         mma {d0, d1, d2, d3} = {acc(0, 0, 0) ..} + {a(..) ..} * {b(..) ..}
 *         for ki tensor [0, 16)                        acc(0, 0, 0) = d0, acc(0, 0, 1) = d1 ...
 *           acc(xi, yi) += a * b
 *     for yi tensor [0, 16)                        for lane gpu_thread [0, 32)
 *       for xi tensor [0, 8)                         out(lane % 4 * 2, lane / 4) = acc(0, 0, 0) + bias(lane % 4 * 2)
 *         out(xi, yi) = acc(xi, yi) + bias(xi)       out(lane % 4 * 2 + 1, lane / 4) = acc(0, 0, 1) + ...
 *
 * Until here they are loops with a scalar body, as vector loops are, so bounds, guards and partition know nothing of tiles.
 * An element of a Func in fragments is reached by the number of its tile in two dimensions and of the element that a lane has
 * of it; the map of the instruction says which that is.  What says how fragments are held is the update that computes them. */
#include "lower/tiles.h"
#include "schedule/resolve.h"

/* ---- nests ---- */

bool tiles_is_loop(const Stmt *s) {
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_TENSOR;
}

static int index_of(char axis) {
    return axis == 'm' ? 0 : axis == 'n' ? 1 : 2;
}

static void check_length(Tiles *t, const Nest *n, const Stmt *s) {
    const Dim *d = s->u.loop.dim;
    int size = tensor_size(n->row, d->axis);
    int64_t known;
    if (ir_is(s->u.loop.extent, size)) return;
    Place place = sch_place(t->arena, n->line);
    const char *length = ir_is_int(s->u.loop.extent, &known) ? arena_printf(t->arena, "%lld", (long long)known) : ir_show(t->ir, s->u.loop.extent);
    fault_raise(t->fault, ERR_TENSOR_SHAPE, &place, d->name, length, n->row->name, size, (char[]){ d->axis, 0 });
}

static _Noreturn void raise_between(Tiles *t, const Nest *n, const char *what) {
    Place place = sch_place(t->arena, n->line);
    fault_raise(t->fault, ERR_TENSOR_NEST, &place, what, n->row->name);
}

/* What may stand between two of the loops: a name, a condition or a marker, around one statement. */
static const Stmt *inside_of(Tiles *t, const Nest *n, const Stmt *s) {
    switch (s->kind) {
    case ST_LET: return s->u.let.body;
    case ST_PRODUCE: return s->u.produce.body;
    case ST_IF:
        if (!s->u.cond.no) return s->u.cond.yes;
        raise_between(t, n, "an else");
    case ST_ALLOC: raise_between(t, n, s->u.alloc.storage->name);
    case ST_FOR: raise_between(t, n, s->u.loop.var->name);
    default: raise_between(t, n, "more than one statement");
    }
}

Nest tiles_nest(Tiles *t, const Stmt *s) {
    Nest n = { .line = s->u.loop.dim->line, .stage = t->stage };
    n.row = &tensor_rows[n.line->d.tensor];
    for (int found = 0;;) {
        if (!tiles_is_loop(s)) {
            s = inside_of(t, &n, s);
            continue;
        }
        check_length(t, &n, s);
        n.loop[index_of(s->u.loop.dim->axis)] = s;
        if (++found == n.line->d.n) break;
        s = s->u.loop.body;
    }
    Sym *lane = ARENA_NEW(t->arena, Sym);
    *lane = (Sym){ .name = arena_printf(t->arena, "%s.lane", n.stage), .kind = SYM_LOOP, .type = MLC_INDEX, .func = n.loop[0]->u.loop.var->func };
    n.lane = lane;
    return n;
}

const Node *tiles_point(Tiles *t, const Nest *n, TensorOperand operand, char axis, int element) {
    const Node *at = tensor_place(t->ir, n->row, operand, axis, ir_var(t->ir, n->lane), element);
    return ir_add(t->ir, n->loop[index_of(axis)]->u.loop.min, at);
}

Stmt *tiles_lanes(Tiles *t, const Nest *n, Stmt *body) {
    const Node *count = ir_idx(t->ir, n->row->scope);
    Stmt *loop = st_for(t->arena, n->lane, LOOP_GPU_THREAD, ir_idx(t->ir, 0), count, body);
    if (!loop) return NULL;
    loop->u.loop.most = count;
    loop->line = n->line;
    return loop;
}

const Node *tiles_value(Tiles *t, const Node *e) {
    return t->value.n ? ir_substitute(t->ir, e, &t->value) : e;
}

/* ---- fragments ---- */

static _Noreturn void raise_layout(Tiles *t, const Nest *n, const Layout *l, const Node *coord, int d) {
    Place place = sch_place(t->arena, n->line);
    bool rows = d == l->m;
    fault_raise(t->fault, ERR_TENSOR_LAYOUT, &place, n->stage, l->storage->func->name, ir_show(t->ir, coord), d, l->row->name,
                rows ? l->row->m : l->row->n, rows ? "m" : "n");
}

/* A coordinate that moves with the nest's loop along one axis, and begins a whole number of tiles from where memory does. */
static const Node *tile_of(Tiles *t, const Nest *n, const Layout *l, const Node *coord, int d) {
    Interner *I = t->ir;
    bool rows = d == l->m;
    const Stmt *along = n->loop[!rows];
    const Node *start;
    int64_t step, size = tensor_size(l->row, rows ? 'm' : 'n');
    coord = tiles_value(t, coord);
    if (!sim_linear(I, coord, along->u.loop.var, &step, &start) || step != 1 || ir_uses(t->arena, start, n->loop[rows]->u.loop.var) ||
        (n->loop[2] && ir_uses(t->arena, start, n->loop[2]->u.loop.var)))
        raise_layout(t, n, l, coord, d);
    start = ir_add(I, start, tiles_value(t, along->u.loop.min));
    const Node *far = sim_simplify(I, NULL, ir_sub(I, start, tiles_value(t, l->storage->min[d])));
    Congruence c = sim_congruence(I, NULL, far);
    if (c.modulus % size || c.remainder % size) raise_layout(t, n, l, coord, d);
    return sim_simplify(I, NULL, ir_make2(I, OP_DIV, far, ir_idx(I, size)));
}

void tiles_place(Tiles *t, const Nest *n, const Layout *l, int rank, const Node *const *coord, int e, const Node **at) {
    CHECK(t->fault, rank < MAX_RANK);
    for (int d = 0; d < rank; d++) {
        at[d] = tiles_value(t, coord[d]);
        if (d == l->m || d == l->n) at[d] = tile_of(t, n, l, coord[d], d);
        else for (int i = 0; i < 3; i++)
            if (n->loop[i] && ir_uses(t->arena, at[d], n->loop[i]->u.loop.var)) raise_layout(t, n, l, coord[d], d);
    }
    at[rank] = ir_idx(t->ir, e);
    if (l->storage->of_block) at[rank] = ir_add(t->ir, at[rank], ir_mul(t->ir, ir_var(t->ir, n->lane), ir_idx(t->ir, tensor_elements(l->row, TENSOR_C))));
}

/* Memory of tiles, for each lane its elements of them: those of one tile side by side.  What is a block's is spread over its
 * threads later (spread.c), so until then it has room for all lanes. */
static Storage *fragments(Tiles *t, const Layout *l, const Storage *was) {
    Storage *now = arena_copy(t->arena, was, sizeof *was);
    Place place = sch_place(t->arena, was->memory_line);
    int e = now->rank++, elements = tensor_elements(l->row, TENSOR_C) * (was->of_block ? (int)l->row->scope : 1);
    int64_t n = elements, extent;
    if (e == MAX_RANK) fault_raise(t->fault, ERR_HOIST_RANK, &place, was->func->name, MAX_RANK);
    for (int d = 0; d < e; d++) {
        int64_t size = d == l->m ? l->row->m : d == l->n ? l->row->n : 1;
        CHECK(t->fault, ir_is_int(was->extent[d], &extent) && !was->fold[d]);
        if (d == l->m || d == l->n) now->min[d] = ir_idx(t->ir, 0);
        extent = (extent + size - 1) / size;
        now->extent[d] = ir_idx(t->ir, extent);
        now->align[d] = 1;
        n *= extent;
        now->order[e - d] = was->order[e - 1 - d];
    }
    now->order[0] = e;
    now->min[e] = ir_idx(t->ir, 0);
    now->extent[e] = ir_idx(t->ir, elements);
    now->align[e] = 1;
    now->const_elems = n;
    now->memory = STORE_REGISTER;
    now->note = arena_printf(t->arena, "%s, in fragments of %s", was->note, l->row->name);
    return now;
}

/* What stands inside of s knows whose production it is, and what the name stands for. */
static void name_stage(Tiles *t, const Stmt *s) {
    if (s->kind == ST_PRODUCE && !s->u.produce.is_consume) t->stage = sch_stage_name(t->arena, s->u.produce.func, s->u.produce.stage);
    if (s->kind == ST_LET) pm_put(&t->value, s->u.let.var, (void *)(uintptr_t)tiles_value(t, s->u.let.value));
}

/* ---- what says how lanes hold a Func ---- */

static int dimension_along(Tiles *t, const Nest *n, const Stmt *store, int axis) {
    int found = -1;
    for (int d = 0; d < store->u.store.rank; d++)
        if (ir_uses(t->arena, tiles_value(t, store->u.store.coord[d]), n->loop[axis]->u.loop.var)) found = d;
    return found;
}

static Stmt *note_layout(StmtMap *m, Stmt *s) {
    Tiles *t = m->user;
    name_stage(t, s);
    if (!tiles_is_loop(s)) return st_map_kids(m, s);
    Nest n = tiles_nest(t, s);
    if (!n.loop[2]) return s;
    const Stmt *store = tiles_store(t, &n, s);
    Layout *l = ARENA_NEW(t->arena, Layout);
    *l = (Layout){ n.row, dimension_along(t, &n, store, 0), dimension_along(t, &n, store, 1), NULL, n.line };
    Place place = sch_place(t->arena, n.line);
    if (l->m < 0 || l->n < 0 || l->m == l->n)
        fault_raise(t->fault, ERR_TENSOR_SUM, &place, n.stage, n.row->name, mlc_type_name(n.row->c), mlc_type_name(n.row->ab), "");
    pm_put(&t->layout, store->u.store.func, l);
    return s;
}

/* ---- the walk ---- */

static _Noreturn void raise_read(Tiles *t, const Layout *l) {
    Place place = sch_place(t->arena, l->storage->memory_line);
    fault_raise(t->fault, ERR_TENSOR_READ, &place, t->stage, l->storage->func->name, l->row->name, l->row->name);
}

/* The same layout of sums, whatever the factors are. */
static void check_row(Tiles *t, const Layout *l) {
    const TensorRow *a = l->row, *b = t->nest ? t->nest->row : NULL;
    if (!b || a->m != b->m || a->n != b->n || a->map[TENSOR_C] != b->map[TENSOR_C]) raise_read(t, l);
}

static Layout *held(Tiles *t, const Func *f) {
    Layout *l = pm_get(&t->layout, f);
    return l && l->storage ? l : NULL;
}

static const Node *touch_node(void *user, Interner *I, const Node *e) {
    Tiles *t = user;
    Layout *l = e->op == OP_ACCESS ? held(t, e->u.func) : NULL;
    const Node *at[MAX_RANK + 1];
    if (!l) return e;
    check_row(t, l);
    tiles_place(t, t->nest, l, e->n, e->kid, t->element, at);
    return ir_access(I, e->u.func, (mlc_type)e->type, e->aux, e->n + 1, at);
}

static const Node *touch(StmtMap *m, const Node *e) {
    return ir_rewrite(m->ir, e, touch_node, m->user);
}

static Stmt *tile_stmt(StmtMap *m, Stmt *s);

/* A copy of the nest for element e of every lane. */
static Stmt *one_element(Tiles *t, const Nest *n, Stmt *s, int e) {
    StmtMap m = { .arena = t->arena, .ir = t->ir, .expr = touch, .stmt = tile_stmt, .user = t };
    t->nest = n;
    t->element = e;
    s = st_map(&m, s);
    t->nest = NULL;
    for (int i = 0; s && i < 2; i++)
        s = st_substitute(t->arena, t->ir, s, n->loop[i]->u.loop.var, tiles_point(t, n, TENSOR_C, "mn"[i], e));
    return s;
}

static Stmt *by_lanes(Tiles *t, Stmt *s) {
    Nest n = tiles_nest(t, s);
    if (n.loop[2]) return tiles_mma(t, &n, s);
    int elements = tensor_elements(n.row, TENSOR_C);
    Stmt *at[TENSOR_MOST];
    for (int e = 0; e < elements; e++) at[e] = one_element(t, &n, s, e);
    return tiles_lanes(t, &n, st_block(t->arena, elements, at));
}

static Stmt *tile_alloc(StmtMap *m, Stmt *s) {
    Tiles *t = m->user;
    Storage *was = s->u.alloc.storage;
    Layout *l = pm_get(&t->layout, was->func);
    Place place = was->memory_line ? sch_place(t->arena, was->memory_line) : (Place){ .object = was->func->name };
    if (l && was->memory != STORE_FRAGMENT) {
        place = sch_place(t->arena, l->line);
        fault_raise(t->fault, ERR_TENSOR_MEMORY, &place, l->row->name, was->func->name);
    }
    if (was->memory != STORE_FRAGMENT) return st_map_kids(m, s);
    if (!l) fault_raise(t->fault, ERR_TENSOR_NONE, &place, was->func->name);
    Storage *outer = l->storage;
    l->storage = was;
    Stmt *body = st_map(m, s->u.alloc.body);
    l->storage = outer;
    if (!body) return NULL;
    Stmt *now = st_alloc(t->arena, fragments(t, l, was), body);
    now->line = s->line;
    return now;
}

static Stmt *tile_store(StmtMap *m, Stmt *s) {
    Tiles *t = m->user;
    Layout *l = held(t, s->u.store.func);
    Stmt *now = st_map_kids(m, s);
    if (!l) return now;
    check_row(t, l);
    now = arena_copy(t->arena, now, sizeof *now);
    tiles_place(t, t->nest, l, s->u.store.rank, s->u.store.coord, t->element, now->u.store.coord);
    now->u.store.rank++;
    return now;
}

static Stmt *tile_stmt(StmtMap *m, Stmt *s) {
    Tiles *t = m->user;
    const char *outer = t->stage;
    name_stage(t, s);
    if (tiles_is_loop(s) && t->nest) return st_map(m, s->u.loop.body); /* one of its own, whose variable is put in later */
    if (tiles_is_loop(s)) return by_lanes(t, s);
    if (s->kind == ST_ALLOC) return tile_alloc(m, s);
    if (s->kind == ST_STORE) return tile_store(m, s);
    s = st_map_kids(m, s);
    t->stage = outer;
    return s;
}

static Stmt *find(StmtMap *m, Stmt *s) {
    *(bool *)m->user |= tiles_is_loop(s) || (s->kind == ST_ALLOC && s->u.alloc.storage->memory == STORE_FRAGMENT);
    return st_map_kids(m, s);
}

void low_tiles(Program *p, const LowerOptions *o) {
    (void)o;
    Tiles t = { .p = p, .arena = p->arena, .ir = p->ir, .fault = p->arena->fault, .stage = "" };
    bool any = false;
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = find, .user = &any };
    st_map(&m, p->body);
    if (!any) return;
    pm_init(&t.layout, p->arena);
    pm_init(&t.value, p->arena);
    m = (StmtMap){ .arena = p->arena, .ir = p->ir, .stmt = note_layout, .user = &t };
    st_map(&m, p->body);
    m = (StmtMap){ .arena = p->arena, .ir = p->ir, .expr = touch, .stmt = tile_stmt, .user = &t };
    p->body = st_map(&m, p->body);
}
