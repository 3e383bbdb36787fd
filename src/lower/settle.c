/* settle.c - the points of split dimensions put in place of their names.
 *
 * While boxes were inferred the names kept a dimension's range apart from the loops it was split into; from
 * here on indices are wanted as sums of loop variables, which partition solves and code generation
 * strides over.  Values that cost more than that (quotients, minima, what is long) keep their name; it runs again
 * after partition, which turns minima into one of their sides. */
#include "lower/passes.h"

enum { SMALL = 12 };

typedef struct {
    int count;
    bool costly;
} Cost;

static void cost_node(void *user, const Node *e) {
    Cost *c = user;
    c->count++;
    Op op = (Op)e->op;
    c->costly |= op == OP_DIV || op == OP_MOD || op == OP_MIN || op == OP_MAX || op == OP_ACCESS || op == OP_LOAD || op == OP_QUERY;
}

static const Node *expr(StmtMap *m, const Node *e) {
    const PtrMap *value = m->user;
    return value->n ? ir_substitute(m->ir, e, value) : e;
}

/* Copies of a loop bind the same names anew, so a name means its value only inside its let. */
static Stmt *stmt(StmtMap *m, Stmt *s) {
    if (s->kind != ST_LET || s->u.let.value->type != MLC_INDEX) return st_map_kids(m, s);
    const Node *value = expr(m, s->u.let.value);
    const Sym *name = s->u.let.var;
    void *outer = pm_get(m->user, name);
    Cost c = { 0 };
    ir_visit(m->arena, value, cost_node, &c);
    bool keep = c.costly || c.count > SMALL;
    pm_put(m->user, name, keep ? NULL : (void *)(uintptr_t)value);
    Stmt *now = keep ? st_map_kids(m, s) : st_map(m, s->u.let.body);
    pm_put(m->user, name, outer);
    return now;
}

void low_settle(Program *p, const LowerOptions *o) {
    (void)o;
    PtrMap value;
    pm_init(&value, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .expr = expr, .stmt = stmt, .user = &value };
    p->body = st_map(&m, p->body);
}
