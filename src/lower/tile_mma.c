/* tile_mma.c - three tensorized loops around f += a * b: one instruction of a warp.
 *
 * Each lane reads the elements of both factors that the instruction's maps give it; a factor may be any expression of the
 * row's type.  Conditions around the update become zeros of factors: a row's that does not exist of a's elements,
 * a column's of b's, a product's of both, so that 0 * -0 is added, which changes nothing.  Only tails may leave out
 * rows and columns, for what is summed up there, in elements that nobody reads, may be anything. */
#include "lower/tiles.h"
#include "schedule/resolve.h"

typedef struct {
    const Stmt *store;
    const Node *factor[2];          /* of type row->ab, over the variables of the loops */
    const Node *cond[2], *products; /* rows that there are, columns; products; NULL: all */
} Product;

static _Noreturn void raise_sum(Tiles *t, const Nest *n, const char *why) {
    Place place = sch_place(t->arena, n->line);
    fault_raise(t->fault, ERR_TENSOR_SUM, &place, n->stage, n->row->name, mlc_type_name(n->row->c), mlc_type_name(n->row->ab), why);
}

static const Node *and_of(Tiles *t, const Node *a, const Node *b) {
    return a && b ? ir_make2(t->ir, OP_LAND, a, b) : a ? a : b;
}

static bool along(Tiles *t, const Nest *n, const Node *e, int axis) {
    return ir_uses(t->arena, e, n->loop[axis]->u.loop.var);
}

/* ---- conditions ---- */

static void add_cond(Tiles *t, const Nest *n, Product *p, const Node *cond, bool likely) {
    while (cond->op == OP_LIKELY || cond->op == OP_LIKELY_INNER) cond = cond->kid[0], likely = true;
    if (cond->op == OP_LAND) {
        add_cond(t, n, p, cond->kid[0], likely);
        add_cond(t, n, p, cond->kid[1], likely);
        return;
    }
    bool m = along(t, n, cond, 0), col = along(t, n, cond, 1), k = along(t, n, cond, 2);
    if (!m && !col) p->products = and_of(t, p->products, cond);
    else if (likely && m != col && !k) p->cond[col] = and_of(t, p->cond[col], cond);
    else raise_sum(t, n, arena_printf(t->arena, ", and runs only where %s", ir_show(t->ir, cond)));
}

/* ---- the update ---- */

/* The store, names put in place. */
static const Stmt *find_store(Tiles *t, const Nest *n, const Stmt *s, Product *p) {
    for (;;) switch (s->kind) {
        case ST_FOR:
            if (!tiles_is_loop(s)) raise_sum(t, n, arena_printf(t->arena, ", and has the loop %s inside", s->u.loop.var->name));
            s = s->u.loop.body;
            break;
        case ST_LET:
            pm_put(&t->value, s->u.let.var, (void *)(uintptr_t)tiles_value(t, s->u.let.value));
            s = s->u.let.body;
            break;
        case ST_PRODUCE: s = s->u.produce.body; break;
        case ST_IF:
            if (s->u.cond.no || s->u.cond.mask > MASK_ALL) raise_sum(t, n, ", and has two branches");
            if (p) add_cond(t, n, p, tiles_value(t, s->u.cond.cond), s->u.cond.likely);
            s = s->u.cond.yes;
            break;
        case ST_STORE: return s;
        default: raise_sum(t, n, ", and is more than one statement");
    }
}

const Stmt *tiles_store(Tiles *t, const Nest *n, const Stmt *s) {
    return find_store(t, n, s, NULL);
}

static bool is_old(const Stmt *store, const Node *e) {
    if (e->op != OP_ACCESS || e->u.func != store->u.store.func || e->aux) return false;
    for (int d = 0; d < store->u.store.rank; d++)
        if (e->kid[d] != store->u.store.coord[d]) return false;
    return true;
}

/* What is multiplied: fma(a, b, old), or old + a * b. */
static bool split_sum(const Stmt *store, const Node **a, const Node **b) {
    const Node *e = store->u.store.value[0], *product = NULL;
    if (e->op == OP_FMA && is_old(store, e->kid[2])) product = e;
    for (int i = 0; e->op == OP_ADD && i < 2; i++)
        if (is_old(store, e->kid[i]) && e->kid[1 - i]->op == OP_MUL) product = e->kid[1 - i];
    if (!product) return false;
    *a = product->kid[0];
    *b = product->kid[1];
    return true;
}

/* Does the narrower type hold every value of e, so that a cast to it and back was simplified away? */
static bool fits(Tiles *t, const Node *e, mlc_type narrow) {
    int64_t lo, hi;
    Value v = { 0 };
    if (ir_is_const(e)) {
        v = ir_value(e);
        return val_equal((mlc_type)e->type, v, val_cast((mlc_type)e->type, narrow, val_cast(narrow, (mlc_type)e->type, v)));
    }
    if (ty_is_float(narrow)) return e->op == OP_CAST && (ty_is_int((mlc_type)e->kid[0]->type) || e->kid[0]->type == MLC_BOOL) && ty_bits((mlc_type)e->kid[0]->type) <= 8;
    return sim_const_bounds(t->ir, NULL, e, &lo, &hi) && lo >= ty_min(narrow) && hi <= (int64_t)ty_max(narrow);
}

/* The factor as the instruction takes it: what is converted to the type of the sums. */
static const Node *operand_of(Tiles *t, const Nest *n, const Node *e) {
    if (e->op == OP_CAST && (mlc_type)e->kid[0]->type == n->row->ab) return e->kid[0];
    if (fits(t, e, n->row->ab)) return ir_cast(t->ir, n->row->ab, e->op == OP_CAST ? e->kid[0] : e);
    raise_sum(t, n, arena_printf(t->arena, ", and has the factor %s", ir_show(t->ir, e)));
}

static void find_product(Tiles *t, const Nest *n, const Stmt *s, Product *p) {
    const Node *a, *b;
    *p = (Product){ .store = NULL };
    p->store = find_store(t, n, s, p);
    if (p->store->u.store.n != 1 || !split_sum(p->store, &a, &b)) raise_sum(t, n, "");
    a = tiles_value(t, a);
    b = tiles_value(t, b);
    if (along(t, n, a, 1) || along(t, n, b, 0)) {
        const Node *other = a;
        a = b;
        b = other;
    }
    if (along(t, n, a, 1) || along(t, n, b, 0)) raise_sum(t, n, ", one of which does not move along n, the other not along m");
    p->factor[0] = operand_of(t, n, a);
    p->factor[1] = operand_of(t, n, b);
}

/* ---- operands ---- */

/* e for element `element` of a lane. */
static const Node *of_element(Tiles *t, const Nest *n, TensorOperand operand, const Node *e, int element) {
    PtrMap at;
    if (!e) return NULL;
    pm_init(&at, t->arena);
    int other = operand == TENSOR_A ? 0 : 1;
    pm_put(&at, n->loop[other]->u.loop.var, (void *)(uintptr_t)tiles_point(t, n, operand, "mn"[other], element));
    pm_put(&at, n->loop[2]->u.loop.var, (void *)(uintptr_t)tiles_point(t, n, operand, 'k', element));
    return ir_substitute(t->ir, e, &at);
}

/* An array of a lane for elements that are only read where a condition holds. */
static Storage *array_of(Tiles *t, const Nest *n, TensorOperand operand) {
    Func *f = ARENA_NEW(t->arena, Func);
    Storage *s = ARENA_NEW(t->arena, Storage);
    int count = tensor_elements(n->row, operand);
    const char *name = arena_printf(t->arena, "%s_%s%d", n->loop[0]->u.loop.var->func->name, operand == TENSOR_A ? "a" : "b", ++t->arrays);
    *f = (Func){ .name = name, .n = 1, .rank = 1, .type = { n->row->ab }, .ctx = t->p->schedule->ctx };
    *s = (Storage){ .func = f, .name = name, .rank = 1, .n = 1, .type = { n->row->ab }, .min = { ir_idx(t->ir, 0) },
                    .extent = { ir_idx(t->ir, count) }, .align = { 1 }, .memory = STORE_STACK, .const_elems = count, .note = "of a lane" };
    return s;
}

typedef struct {
    const Node *e[TENSOR_MOST];
    Storage *array;             /* NULL: the elements are read as they are */
    Stmt *fill[TENSOR_MOST];
} Operand;

static const Node *zero_of(Tiles *t, const Nest *n, TensorOperand operand) {
    mlc_type type = n->row->ab;
    if (!ty_is_float(type)) return ir_int(t->ir, type, 0);
    return ir_flt(t->ir, type, operand == TENSOR_A ? 0.0 : -0.0);
}

static void make_operand(Tiles *t, const Nest *n, const Product *p, TensorOperand operand, Operand *o) {
    const Node *cond = and_of(t, p->products, p->cond[operand]), *zero = zero_of(t, n, operand);
    o->array = cond ? array_of(t, n, operand) : NULL;
    for (int i = 0; i < tensor_elements(n->row, operand); i++) {
        const Node *at = ir_idx(t->ir, i), *value = of_element(t, n, operand, p->factor[operand], i);
        o->e[i] = value;
        if (!cond) continue;
        o->fill[i] = st_if(t->arena, of_element(t, n, operand, cond, i), st_store(t->arena, o->array->func, 1, &at, 1, &value),
                           st_store(t->arena, o->array->func, 1, &at, 1, &zero));
        o->e[i] = ir_access(t->ir, o->array->func, n->row->ab, 0, 1, &at);
    }
}

/* In front of `body` the array is filled. */
static Stmt *with_array(Tiles *t, const Nest *n, TensorOperand operand, const Operand *o, Stmt *body) {
    Stmt *two[2];
    if (!o->array) return body;
    two[0] = st_block(t->arena, tensor_elements(n->row, operand), o->fill);
    two[1] = body;
    return st_alloc(t->arena, o->array, st_block(t->arena, 2, two));
}

/* ---- the instruction ---- */

static const Sym *result_name(Tiles *t, const Nest *n, int e) {
    Sym *s = ARENA_NEW(t->arena, Sym);
    *s = (Sym){ .name = arena_printf(t->arena, "%s.d%d", n->loop[0]->u.loop.var->func->name, e), .kind = SYM_LET, .type = n->row->c };
    return s;
}

Stmt *tiles_mma(Tiles *t, const Nest *n, const Stmt *s) {
    Product p;
    Operand a, b;
    int elements = tensor_elements(n->row, TENSOR_C);
    const Sym **d = ARENA_ARRAY(t->arena, const Sym *, elements);
    const Node **c = ARENA_ARRAY(t->arena, const Node *, elements), *at[MAX_RANK + 1];
    Stmt *store[TENSOR_MOST];
    find_product(t, n, s, &p);
    Func *f = p.store->u.store.func;
    const Layout *l = pm_get(&t->layout, f);
    make_operand(t, n, &p, TENSOR_A, &a);
    make_operand(t, n, &p, TENSOR_B, &b);
    for (int e = 0; e < elements; e++) {
        d[e] = result_name(t, n, e);
        tiles_place(t, n, l, p.store->u.store.rank, p.store->u.store.coord, e, at);
        const Node *value = ir_var(t->ir, d[e]);
        c[e] = ir_access(t->ir, f, n->row->c, 0, p.store->u.store.rank + 1, at);
        store[e] = st_store(t->arena, f, p.store->u.store.rank + 1, at, 1, &value);
    }
    const Node **x = arena_copy(t->arena, a.e, sizeof a.e), **y = arena_copy(t->arena, b.e, sizeof b.e);
    Stmt *made = st_mma(t->arena, n->row, x, y, c, d, st_block(t->arena, elements, store));
    made->line = n->line;
    made = with_array(t, n, TENSOR_A, &a, with_array(t, n, TENSOR_B, &b, made));
    return tiles_lanes(t, n, made);
}
