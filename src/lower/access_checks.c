/* access_checks.c - `.check` runs: before every statement that reads or writes memory, a check that each
 * point lies in what the memory holds, and that data of inputs keeps its declared range.
 *
 * Lowering proves that boxes cover accesses; this finds data that breaks a declared range, and would find a
 * fault of lowering itself.  Folded dimensions wrap around and hold any point. */
#include "lower/passes.h"

typedef struct {
    PtrMap memory; /* Func -> Storage in scope */
    VEC(Stmt *) before; /* checks of the statement at hand */
    PtrMap seen;        /* accesses that it checks already */
    Arena *arena;
    Interner *ir;
} Checks;

static void add(Checks *c, const Node *cond, ErrCode code, const char *t0, const char *t1, int n, const Node *const *arg) {
    Stmt *s = ARENA_NEW(c->arena, Stmt);
    if (ir_is(cond, 1)) return;
    s->kind = ST_CHECK;
    s->u.check.cond = cond;
    s->u.check.code = code;
    s->u.check.text[0] = t0;
    s->u.check.text[1] = t1;
    s->u.check.n = n;
    for (int i = 0; i < n; i++) s->u.check.arg[i] = arg[i];
    VEC_PUSH(c->arena, &c->before, s);
}

static void check_point(Checks *c, const Func *f, const Node *const *coord) {
    const Storage *t = pm_get(&c->memory, f);
    Interner *I = c->ir;
    CHECK(I->fault, t != NULL);
    for (int d = 0; d < t->rank; d++) {
        if (t->fold[d] > 0) continue;
        const Node *last = ir_sub(I, ir_add(I, t->min[d], t->extent[d]), ir_idx(I, 1));
        const Node *cond = ir_make2(I, OP_LAND, ir_make2(I, OP_LE, t->min[d], coord[d]), ir_make2(I, OP_LE, coord[d], last));
        const Node *arg[3] = { coord[d], t->min[d], last };
        add(c, cond, ERR_ACCESS_BOX, f->name, arena_printf(c->arena, "%d", d), 3, arg);
    }
}

/* Integers compare as they are; a float range excludes NaN, since comparisons with it fail. */
static void check_range(Checks *c, const Node *e) {
    const Func *f = e->u.func;
    Interner *I = c->ir;
    mlc_type t = (mlc_type)e->type;
    if (!f->is_input || !f->has_range || t == MLC_BOOL) return;
    const Node *v = e, *lo, *hi;
    if (ty_is_half(t)) v = ir_cast(I, MLC_F32, e);
    if (ty_is_float(t)) {
        lo = ir_flt(I, (mlc_type)v->type, f->lo);
        hi = ir_flt(I, (mlc_type)v->type, f->hi);
    } else {
        lo = ir_int(I, t, (int64_t)f->lo);
        hi = ir_int(I, t, (int64_t)f->hi);
    }
    const Node *zero = ir_idx(I, 0);
    const Node *arg[2] = { e->n > 0 ? e->kid[0] : zero, e->n > 1 ? e->kid[1] : zero };
    const Node *cond = ir_make2(I, OP_LAND, ir_make2(I, OP_LE, lo, v), ir_make2(I, OP_LE, v, hi));
    add(c, cond, ERR_DATA_RANGE, f->name, arena_printf(c->arena, "%g to %g", f->lo, f->hi), 2, arg);
}

static void visit(void *user, const Node *e) {
    Checks *c = user;
    if (e->op != OP_ACCESS || pm_has(&c->seen, e)) return;
    pm_put(&c->seen, e, c);
    check_point(c, e->u.func, e->kid);
    check_range(c, e);
}

/* Operands come first, so an index is checked before what it leads to. */
static void visit_all(Checks *c, const Node *e) {
    if (e && !ir_is_const(e)) ir_visit(c->arena, e, visit, c);
}

static Stmt *stmt(StmtMap *m, Stmt *s) {
    Checks *c = m->user;
    c->before.n = 0;
    pm_init(&c->seen, m->arena);
    if (s->kind == ST_ALLOC) {
        void *outer = pm_get(&c->memory, s->u.alloc.storage->func);
        pm_put(&c->memory, s->u.alloc.storage->func, s->u.alloc.storage);
        Stmt *now = st_map_kids(m, s);
        pm_put(&c->memory, s->u.alloc.storage->func, outer);
        return now;
    }
    if (s->kind == ST_IF) visit_all(c, s->u.cond.cond);
    if (s->kind == ST_STORE) {
        for (int d = 0; d < s->u.store.rank; d++) visit_all(c, s->u.store.coord[d]);
        for (int i = 0; i < s->u.store.n; i++) visit_all(c, s->u.store.value[i]);
        check_point(c, s->u.store.func, s->u.store.coord);
    }
    Stmt *checks = st_block(m->arena, c->before.n, c->before.at), *both[2] = { checks, st_map_kids(m, s) };
    return checks ? st_block(m->arena, 2, both) : both[1];
}

void low_access_checks(Program *p, const LowerOptions *o) {
    if (!o->check) return;
    Checks c = { .arena = p->arena, .ir = p->ir };
    pm_init(&c.memory, p->arena);
    for (int i = 0; i < p->external.n; i++) pm_put(&c.memory, p->external.at[i]->func, p->external.at[i]);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = stmt, .user = &c };
    p->body = st_map(&m, p->body);
}
