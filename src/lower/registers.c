/* registers.c - what the plan keeps in registers must be in named variables of the generated code.
 *
 * Each access needs a constant index, at its first lane where it is a vector, and no other thread may have it.  What
 * else keeps an array from becoming variables (vectors that overlap, masks) only the generator of code can tell. */
#include "lower/passes.h"

typedef struct {
    Program *p;
    PtrMap lane;  /* variables of vector loops -> where they begin */
    PtrMap home;  /* Storage -> 1 + `at_once` around it */
    uintptr_t at_once; /* parallel loops and tasks around */
} Registers;

static void find_varying(void *user, const Node *e) {
    *(bool *)user |= e->op == OP_VAR && e->u.sym->kind != SYM_LET;
}

static void check(Registers *r, const Storage *t, const Node *index) {
    if (t->memory != STORE_REGISTER) return;
    const Node *first = sim_simplify(r->p->ir, NULL, ir_substitute(r->p->ir, index, &r->lane));
    const char *why = NULL;
    bool varies = false;
    ir_visit(r->p->arena, first, find_varying, &varies);
    if (varies) why = arena_printf(r->p->arena, "its index %s is no constant", ir_show(r->p->ir, first));
    else if ((uintptr_t)pm_get(&r->home, t) != r->at_once + 1) why = "a parallel loop shares it";
    if (!why) return;
    Place place = sch_place(r->p->arena, t->memory_line);
    fault_raise(r->p->arena->fault, ERR_REGISTER, &place, t->func->name, why);
}

static void look(void *user, const Node *e) {
    if (e->op == OP_LOAD) check(user, e->u.storage, e->kid[0]);
}

static Stmt *stmt(StmtMap *m, Stmt *s) {
    Registers *r = m->user;
    bool at_once = s->kind == ST_FORK || s->kind == ST_KERNEL || (s->kind == ST_FOR && sch_spreads(s->u.loop.kind));
    if (s->kind == ST_STORE) check(r, s->u.store.storage, s->u.store.coord[0]);
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_VECTOR) pm_put(&r->lane, s->u.loop.var, (void *)(uintptr_t)s->u.loop.min);
    if (s->kind == ST_ALLOC) pm_put(&r->home, s->u.alloc.storage, (void *)(r->at_once + 1));
    r->at_once += at_once;
    st_map_kids(m, s);
    r->at_once -= at_once;
    return s;
}

void low_check_registers(Program *p) {
    Registers r = { .p = p };
    pm_init(&r.lane, p->arena);
    pm_init(&r.home, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .visit = look, .stmt = stmt, .user = &r };
    st_map(&m, p->body);
}
