/* snapshot.c - an algorithm copied out of its context, so that a module outlives it.
 *
 * Funcs, definitions, symbols, domains and canonical nodes are copied into the module's arena, over an
 * Interner without a parent.  What only printers read (the written form) stays behind. */
#include "pipeline/pipeline.h"

#include <string.h>

typedef struct {
    Snapshot *to;
    Arena *arena;
    Interner *ir;
    PtrMap func, sym, rdom, ext, node;
} Copier;

static Func *copy_func_shell(Copier *c, const Func *f);
static RDom *copy_rdom(Copier *c, const RDom *r);

static const Sym *copy_sym(Copier *c, const Sym *s) {
    Sym *t = pm_get(&c->sym, s);
    if (t) return t;
    t = arena_copy(c->arena, s, sizeof *s);
    pm_put(&c->sym, s, t);
    t->name = s->name ? arena_str(c->arena, s->name) : NULL;
    t->loc = (mlc_loc){ NULL, 0 };
    if (s->func) t->func = copy_func_shell(c, s->func);
    if (s->rdom) t->rdom = copy_rdom(c, s->rdom);
    return t;
}

static const Extern *copy_ext(Copier *c, const Extern *e) {
    Extern *t = pm_get(&c->ext, e);
    if (t) return t;
    t = arena_copy(c->arena, e, sizeof *e);
    t->name = arena_str(c->arena, e->name);
    pm_put(&c->ext, e, t);
    return t;
}

static void copy_node(void *user, const Node *e) {
    Copier *c = user;
    if (pm_has(&c->node, e)) return;
    uint64_t bits = e->u.bits;
    switch ((Op)e->op) {
    case OP_VAR: bits = (uint64_t)(uintptr_t)copy_sym(c, e->u.sym); break;
    case OP_ACCESS: bits = (uint64_t)(uintptr_t)copy_func_shell(c, e->u.func); break;
    case OP_EXTERN:
    case OP_STAGE: bits = (uint64_t)(uintptr_t)copy_ext(c, e->u.ext); break;
    case OP_POISON:
    case OP_REQUIRE:
    case OP_PRINT: bits = e->u.text ? (uint64_t)(uintptr_t)ir_text(c->ir, e->u.text) : 0; break;
    default: break;
    }
    const Node **kid = ARENA_ARRAY(c->arena, const Node *, e->n + 1);
    for (int i = 0; i < e->n; i++) kid[i] = pm_get(&c->node, e->kid[i]);
    pm_put(&c->node, e, (void *)(uintptr_t)ir_node(c->ir, (Op)e->op, (mlc_type)e->type, bits, e->aux, e->n, kid));
}

static const Node *copy_expr(Copier *c, const Node *e) {
    if (!e) return NULL;
    if (!pm_has(&c->node, e)) ir_visit(c->arena, e, copy_node, c);
    return pm_get(&c->node, e);
}

static RDom *copy_rdom(Copier *c, const RDom *r) {
    RDom *t = pm_get(&c->rdom, r);
    if (t) return t;
    t = ARENA_NEW(c->arena, RDom);
    pm_put(&c->rdom, r, t);
    t->name = r->name ? arena_str(c->arena, r->name) : NULL;
    t->n = r->n;
    for (int i = 0; i < r->n; i++) {
        t->var[i] = copy_sym(c, r->var[i]);
        t->min[i] = copy_expr(c, r->min[i]);
        t->extent[i] = copy_expr(c, r->extent[i]);
    }
    for (int i = 0; i < r->where_canon.n; i++) {
        VEC_PUSH(c->arena, &t->where_canon, copy_expr(c, r->where_canon.at[i]));
        VEC_PUSH(c->arena, &t->where, t->where_canon.at[i]);
    }
    return t;
}

/* Everything but definitions, which need the nodes of other Funcs. */
static Func *copy_func_shell(Copier *c, const Func *f) {
    Func *t = pm_get(&c->func, f);
    if (t) return t;
    t = arena_copy(c->arena, f, sizeof *f);
    pm_put(&c->func, f, t);
    t->name = arena_str(c->arena, f->name);
    t->ctx = &c->to->ctx;
    t->bound = NULL;
    t->loc = (mlc_loc){ NULL, 0 };
    memset(&t->def, 0, sizeof t->def);
    for (int d = 0; d < f->rank; d++) {
        if (f->arg[d]) t->arg[d] = copy_sym(c, f->arg[d]);
        if (f->min[d]) t->min[d] = copy_sym(c, f->min[d]);
        if (f->extent[d]) t->extent[d] = copy_sym(c, f->extent[d]);
        if (f->stride[d]) t->stride[d] = copy_sym(c, f->stride[d]);
    }
    return t;
}

static void copy_defs(Copier *c, const Func *f, Func *t) {
    for (int i = 0; i < f->def.n; i++) {
        const Def *d = f->def.at[i];
        Def *e = ARENA_NEW(c->arena, Def);
        e->op = d->op;
        e->rank = d->rank;
        e->n = d->n;
        for (int k = 0; k < d->rank; k++) e->lhs[k] = e->coord[k] = copy_expr(c, d->coord[k]);
        for (int k = 0; k < d->n; k++) e->rhs[k] = e->value[k] = copy_expr(c, d->value[k]);
        e->rdom = d->rdom ? copy_rdom(c, d->rdom) : NULL;
        VEC_PUSH(c->arena, &t->def, e);
    }
}

Snapshot *snap_copy(Arena *a, const Schedule *s, const Sym *const *param, int n_params) {
    Snapshot *snap = ARENA_NEW(a, Snapshot);
    snap->ctx.arena = (Arena){ .hook = a->hook, .fault = &snap->ctx.fault };
    snap->ctx.hook = a->hook;
    snap->ctx.log = s->ctx->log;
    snap->ctx.log_user = s->ctx->log_user;
    ir_interner_init(&snap->ctx.ir, a, NULL);
    pm_init(&snap->ctx.param_value, a);
    Copier c = { .to = snap, .arena = a, .ir = &snap->ctx.ir };
    pm_init(&c.func, a);
    pm_init(&c.sym, a);
    pm_init(&c.rdom, a);
    pm_init(&c.ext, a);
    pm_init(&c.node, a);
    snap->input = ARENA_ARRAY(a, Func *, s->order.n + 1);
    for (int i = 0; i < s->order.n; i++) {
        Func *t = copy_func_shell(&c, s->order.at[i]);
        copy_defs(&c, s->order.at[i], t);
        if (t->is_input) snap->input[snap->n_inputs++] = t;
    }
    snap->n_outputs = s->n_outputs;
    for (int i = 0; i < s->n_outputs; i++) snap->output[i] = copy_func_shell(&c, s->output[i]);
    snap->n_params = n_params;
    snap->param = ARENA_ARRAY(a, const Sym *, n_params + 1);
    for (int i = 0; i < n_params; i++) {
        snap->param[i] = copy_sym(&c, param[i]);
        pm_put(&snap->ctx.param_value, snap->param[i], ARENA_NEW(a, Value));
    }
    return snap;
}
