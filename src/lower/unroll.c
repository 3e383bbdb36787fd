/* unroll.c - writes unrolled loops out, and holds vector loops to constant extents.
 *
 * A loop whose extent is no constant but has a small bound is written out under conditions; one without a
 * bound is the user's error. */
#include "lower/passes.h"
#include "schedule/resolve.h"

enum { MOST = 512 };

typedef struct {
    Program *p;
    const Facts *facts;
} Unroll;

static Facts *fact(StmtMap *m) {
    Unroll *u = m->user;
    Facts *f = ARENA_NEW(m->arena, Facts);
    f->up = u->facts;
    return f;
}

static void know_range(StmtMap *m, const Sym *var, const Node *lo, const Node *hi) {
    Facts *f = fact(m);
    f->var = var;
    f->range = (Interval){ lo, hi };
    ((Unroll *)m->user)->facts = f;
}

static Place place_of(const StmtMap *m, const Stmt *s) {
    if (s->line) return sch_place(m->arena, s->line);
    return (Place){ .object = arena_printf(m->arena, "schedule %s", s->u.loop.var->func->name) };
}

static const char *name_of(const Stmt *s) {
    return s->u.loop.dim ? s->u.loop.dim->name : s->u.loop.var->name;
}

static Stmt *stmt(StmtMap *m, Stmt *s);

static Stmt *write_out(StmtMap *m, Stmt *s) {
    Unroll *u = m->user;
    Interner *I = m->ir;
    int64_t lo, n;
    const char *f = s->u.loop.var->func ? s->u.loop.var->func->name : "";
    bool exact = ir_is_int(s->u.loop.extent, &n);
    if (!exact && !sim_const_bounds(I, u->facts, s->u.loop.extent, &lo, &n)) {
        Place place = place_of(m, s);
        fault_raise(I->fault, ERR_UNROLL_EXTENT, &place, name_of(s), f);
    }
    if (n > MOST) {
        Place place = place_of(m, s);
        fault_raise(I->fault, ERR_UNROLL_SIZE, &place, name_of(s), f, (long long)n);
    }
    if (n < 1) return NULL;
    Stmt **copy = ARENA_ARRAY(m->arena, Stmt *, n), *body = s->u.loop.body;
    for (int64_t i = 0; i < n; i++) {
        const Node *k = ir_idx(I, i), *point = sim_simplify(I, NULL, ir_add(I, s->u.loop.min, k));
        Stmt *one = st_substitute(m->arena, I, body, s->u.loop.var, point);
        if (!exact) one = st_if(m->arena, ir_make2(I, OP_LT, k, s->u.loop.extent), one, NULL);
        copy[i] = st_map(m, one);
    }
    return st_block(m->arena, (int)n, copy);
}

static Stmt *loop(StmtMap *m, Stmt *s) {
    Unroll *u = m->user;
    Interner *I = m->ir;
    int64_t n;
    if (s->u.loop.kind == LOOP_UNROLL) return write_out(m, s);
    if (s->u.loop.kind == LOOP_VECTOR && (!ir_is_int(s->u.loop.extent, &n) || n < 1)) {
        Place place = place_of(m, s);
        fault_raise(I->fault, ERR_VECTOR_EXTENT, &place, name_of(s), s->u.loop.var->func ? s->u.loop.var->func->name : "");
    }
    const Facts *outer = u->facts;
    const Node *last = ir_sub(I, ir_add(I, s->u.loop.min, s->u.loop.extent), ir_idx(I, 1));
    know_range(m, s->u.loop.var, s->u.loop.min, last);
    Stmt *now = st_map_kids(m, s);
    u->facts = outer;
    return now;
}

static Stmt *stmt(StmtMap *m, Stmt *s) {
    Unroll *u = m->user;
    const Facts *outer = u->facts;
    if (s->kind == ST_FOR) return loop(m, s);
    if (s->kind == ST_LET && s->u.let.value->type == MLC_INDEX)
        know_range(m, s->u.let.var, s->u.let.value, s->u.let.value);
    Stmt *now = st_map_kids(m, s);
    u->facts = outer;
    return now;
}

/* Only programs with something to write out or to check are walked. */
void low_unroll(Program *p, const LowerOptions *o) {
    (void)o;
    Unroll u = { .p = p };
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = stmt, .user = &u };
    p->body = st_map(&m, p->body);
}
