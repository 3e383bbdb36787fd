/* derive.c - the algorithm that a plan computes.
 *
 * Most lines of a plan say how to run an algorithm; a few first make it another one, which has the same values:
 *
 *     f: in(g, w)            w(x) = f(x), and g reads w in place of f
 *     f: clone_in(g, w)      w has the definitions of f, and g reads w
 *     g: eager_inline(f)     g has the definition of f where it read f (eager.c)
 *     f: change_type(i16)    f has that type, and who reads it converts (change_type.c)
 *
 * They are applied before all others, in their order, each to what the ones before it made, and to private copies
 * of all Funcs of the program: the context stays as it is, and another plan may use the same names.  The other
 * lines then speak of the copies, so that resolution and everything behind it never meets a Func of the context
 * that was derived from. */
#include "schedule/derive.h"

#include <string.h>

bool sch_derives(const PlanLine *l) {
    switch (l->d.kind) {
    case MLC_IN: case MLC_CLONE_IN: case MLC_EAGER_INLINE: case MLC_CHANGE_TYPE: return true;
    default: return false;
    }
}

/* The others that change definitions need loops, and are applied by resolution, in turn with the rest. */
static bool needs_copies(const PlanLine *l) {
    return sch_derives(l) || l->d.kind == MLC_RFACTOR || l->d.kind == MLC_ATOMIC;
}

/* ---- changed definitions ---- */

void sch_start_change(Change *c, Derive *d, const Node *(*expr)(Change *c, const Node *e, bool written)) {
    *c = (Change){ .d = d, .expr = expr };
    pm_init(&c->func, d->arena);
    pm_init(&c->rdom, d->arena);
}

static RDom *changed_rdom(Change *c, RDom *r) {
    bool changed = false;
    if (!r || pm_has(&c->rdom, r)) return r ? pm_get(&c->rdom, r) : NULL;
    RDom *t = arena_copy(c->d->arena, r, sizeof *r);
    memset(&t->where, 0, sizeof t->where);
    memset(&t->where_canon, 0, sizeof t->where_canon);
    for (int i = 0; i < r->where.n; i++) VEC_PUSH(c->d->arena, &t->where, c->expr(c, r->where.at[i], true));
    for (int i = 0; i < r->where_canon.n; i++) {
        VEC_PUSH(c->d->arena, &t->where_canon, c->expr(c, r->where_canon.at[i], false));
        changed |= t->where_canon.at[i] != r->where_canon.at[i];
    }
    if (!changed) t = r;
    pm_put(&c->rdom, r, t);
    return t;
}

Def *sch_changed_def(Change *c, const Def *def) {
    Def *t = arena_copy(c->d->arena, def, sizeof *def);
    for (int i = 0; i < def->rank; i++) {
        t->lhs[i] = c->expr(c, def->lhs[i], true);
        t->coord[i] = c->expr(c, def->coord[i], false);
    }
    for (int i = 0; i < def->n; i++) {
        t->rhs[i] = c->expr(c, def->rhs[i], true);
        t->value[i] = c->expr(c, def->value[i], false);
    }
    t->rdom = changed_rdom(c, def->rdom);
    return t;
}

/* The definitions of `from`, changed, become those of `to`. */
static void change_defs(Change *c, const Func *from, Func *to) {
    Def **old = from->def.at;
    int n = from->def.n;
    memset(&to->def, 0, sizeof to->def);
    for (int i = 0; i < n; i++) VEC_PUSH(c->d->arena, &to->def, sch_changed_def(c, old[i]));
}

/* ---- definitions that read other Funcs ---- */

static const Node *other_func(void *user, Interner *I, const Node *e) {
    const Change *c = user;
    Func *f = pm_get(&c->func, e->u.func);
    return f ? ir_access(I, f, (mlc_type)e->type, e->aux, e->n, e->kid) : e;
}

/* Reads of Funcs that are keys of c->func become reads of their values; nothing to fold. */
static const Node *swapped(Change *c, const Node *e, bool written) {
    (void)written;
    return alg_replace_accesses(c->d->ir, e, other_func, c);
}

static void read_other(Derive *d, Func *reader, Func *old, Func *now) {
    Change c;
    sch_start_change(&c, d, swapped);
    pm_put(&c.func, old, now);
    change_defs(&c, reader, reader);
}

/* ---- who reads whom ---- */

struct look {
    const Func *f;
    bool found;
};

static void look(void *user, const Node *e) {
    struct look *l = user;
    l->found |= e->op == OP_ACCESS && e->u.func == l->f;
}

bool sch_reads(const Derive *d, const Def *def, const Func *f) {
    struct look l = { f, false };
    for (int k = 0; k < def->rank; k++) ir_visit(d->arena, def->coord[k], look, &l);
    for (int k = 0; k < def->n; k++) ir_visit(d->arena, def->value[k], look, &l);
    for (int k = 0; def->rdom && k < def->rdom->where_canon.n; k++) ir_visit(d->arena, def->rdom->where_canon.at[k], look, &l);
    return l.found;
}

static bool reads(const Derive *d, const Func *reader, const Func *f) {
    for (int i = 0; i < reader->def.n; i++)
        if (sch_reads(d, reader->def.at[i], f)) return true;
    return false;
}

static bool stands_for(const Derive *d, const Func *w, const Func *f) {
    return pm_get(&d->stands_for, w) == f;
}

/* "g, h" */
static const char *readers(const Derive *d, const Func *f) {
    StrBuf b;
    sb_init(&b, d->arena);
    for (int i = 0; i < d->funcs.n; i++) {
        const Func *g = d->funcs.at[i];
        if (g != f && !stands_for(d, g, f) && reads(d, g, f)) sb_printf(&b, "%s%s", b.n ? ", " : "", g->name);
    }
    return b.n ? b.at : "none";
}

/* ---- the Func that a line makes ---- */

/* A Func of f's shape, without definitions. */
static Func *make_func(Derive *d, const PlanLine *l, const Func *f) {
    const Func *name = l->d.made.f;
    Place place = sch_place(d->arena, l);
    if (name->poison) ir_raise_poison(d->fault, name->poison);
    const char *taken = name->is_input ? "an input" : name->def.n ? "a Func that has a definition" : NULL;
    if (pm_has(&d->now, name)) taken = taken ? taken : "another line of the plan";
    if (taken) fault_raise(d->fault, ERR_DERIVE_NAME, &place, name->name, taken);
    Func *w = ARENA_NEW(d->arena, Func);
    *w = (Func){ .name = name->name, .ctx = f->ctx, .rank = f->rank, .n = f->n, .id = name->id, .loc = l->d.loc };
    memcpy(w->arg, f->arg, sizeof w->arg);
    memcpy(w->type, f->type, sizeof w->type);
    pm_put(&d->now, name, w);
    return w;
}

/* The Var of a dimension of an input, which has none: _0, _1 ... */
static const Sym *plain_arg(Derive *d, int i) {
    Sym *s = ARENA_NEW(d->arena, Sym);
    *s = (Sym){ .name = arena_printf(d->arena, "_%d", i), .kind = SYM_VAR, .type = MLC_INDEX };
    return s;
}

/* w(x, ..) = f(x, ..) */
static Func *wrapper(Derive *d, const PlanLine *l, Func *f) {
    Func *w = make_func(d, l, f);
    Def *def = ARENA_NEW(d->arena, Def);
    *def = (Def){ .op = DEF_SET, .rank = f->rank, .n = f->n, .loc = l->d.loc };
    for (int i = 0; i < f->rank; i++) {
        if (f->is_input) w->arg[i] = plain_arg(d, i);
        def->lhs[i] = def->coord[i] = ir_var(d->ir, w->arg[i]);
    }
    for (int i = 0; i < f->n; i++) {
        def->rhs[i] = ir_access(d->ir, f, f->type[i], i, f->rank, def->lhs);
        def->value[i] = alg_canonical_at(d->ir, def->rhs[i], f->type[i], f->rank, def->lhs);
    }
    VEC_PUSH(d->arena, &w->def, def);
    return w;
}

static Func *clone(Derive *d, const PlanLine *l, Func *f) {
    Place place = sch_place(d->arena, l);
    Change c;
    if (f->is_input) fault_raise(d->fault, ERR_CLONE_INPUT, &place, f->name);
    if (!l->d.n_func) fault_raise(d->fault, ERR_CLONE_ALL, &place, f->name);
    for (int i = 0; i < f->n; i++)
        if (f->def.at[0]->value[i]->op == OP_UNDEF) fault_raise(d->fault, ERR_CLONE_UNDEF, &place, f->name);
    Func *w = make_func(d, l, f);
    w->implicit = f->implicit;
    sch_start_change(&c, d, swapped);
    pm_put(&c.func, f, w);
    change_defs(&c, f, w);
    return w;
}

/* ---- whom it reaches ---- */

static Func *consumer(Derive *d, const PlanLine *l, int i, const Func *f) {
    Place place = sch_place(d->arena, l);
    Func *c = pm_get(&d->now, l->d.func[i].f);
    const char *name = l->d.func[i].f->name;
    if (!c) fault_raise(d->fault, ERR_AT_NOT_USED, &place, name, f->name);
    if (c == f) fault_raise(d->fault, ERR_WRAP_ITSELF, &place, name);
    if (reads(d, c, f)) return c;
    for (int k = 0; k < d->funcs.n; k++) {
        const Func *w = d->funcs.at[k];
        if (stands_for(d, w, f) && reads(d, c, w)) fault_raise(d->fault, ERR_WRAP_OVERLAP, &place, name, f->name, w->name, w->name);
    }
    fault_raise(d->fault, ERR_WRAP_NOT_READ, &place, name, f->name, readers(d, f));
}

static void reach_all(Derive *d, const PlanLine *l, Func *f, Func *w) {
    bool any = false;
    for (int i = 0; i < d->funcs.n; i++) {
        Func *c = d->funcs.at[i];
        if (c == f || stands_for(d, c, f) || !reads(d, c, f)) continue;
        read_other(d, c, f, w);
        any = true;
    }
    Place place = sch_place(d->arena, l);
    if (!any) fault_raise(d->fault, ERR_WRAP_UNREAD, &place, f->name);
}

static void wrap(Derive *d, const PlanLine *l, Func *f) {
    Func *w = l->d.kind == MLC_IN ? wrapper(d, l, f) : clone(d, l, f);
    VEC_PUSH(d->arena, &d->funcs, w);
    pm_put(&d->stands_for, w, f);
    if (!l->d.n_func) reach_all(d, l, f, w);
    for (int i = 0; i < l->d.n_func; i++) read_other(d, consumer(d, l, i, f), f, w);
}

/* ---- the whole ---- */

/* What rfactor makes comes after these lines. */
static void check_made(Derive *d, const PlanLine *l) {
    for (int i = 0; i < d->plan->line.n; i++) {
        const PlanLine *other = &d->plan->line.at[i];
        if (other->d.kind != MLC_RFACTOR || other->d.made.f != l->func || !pm_has(&d->now, other->func)) continue;
        Place place = sch_place(d->arena, l);
        fault_raise(d->fault, ERR_DERIVE_MADE, &place, l->func->name, sch_directives[l->d.kind].name);
    }
}

static void apply(Derive *d, const PlanLine *l) {
    Func *f = pm_get(&d->now, l->func);
    if (!f) check_made(d, l);
    if (!f) return; /* a plan may serve several programs: this one does not need the Func */
    if (l->d.kind == MLC_EAGER_INLINE) sch_eager_inline(d, l, f);
    else if (l->d.kind == MLC_CHANGE_TYPE) sch_change_type(d, l, f);
    else wrap(d, l, f);
}

static const Sym *copy_size(Derive *d, const Sym *s, Func *f) {
    Sym *t = s ? arena_copy(d->arena, s, sizeof *s) : NULL;
    if (t) t->func = f;
    return t;
}

/* Without its definitions; the sizes of its buffer are its own. */
static Func *copy_func(Derive *d, const Func *f) {
    Func *g = arena_copy(d->arena, f, sizeof *f);
    for (int i = 0; i < f->rank; i++) {
        g->min[i] = copy_size(d, f->min[i], g);
        g->extent[i] = copy_size(d, f->extent[i], g);
        g->stride[i] = copy_size(d, f->stride[i], g);
    }
    return g;
}

/* Adds what is read as written alone: canonical forms lost it (u8(f(x)) % 0 is 0), but printers go there. */
typedef struct {
    FuncList *all;
    PtrMap seen;
    Arena *arena;
} Written;

static void find_written(void *user, const Node *e) {
    Written *w = user;
    if (e->op != OP_ACCESS || pm_has(&w->seen, e->u.func)) return;
    pm_put(&w->seen, e->u.func, w);
    VEC_PUSH(w->arena, w->all, e->u.func);
}

static void add_written(Derive *d, FuncList *order) {
    Written w = { .all = order, .arena = d->arena };
    pm_init(&w.seen, d->arena);
    for (int i = 0; i < order->n; i++) pm_put(&w.seen, order->at[i], &w);
    for (int i = 0; i < order->n; i++) /* which grows */
        for (int k = 0; k < order->at[i]->def.n; k++) {
            const Def *def = order->at[i]->def.at[k];
            for (int j = 0; j < def->rank; j++) ir_visit(d->arena, def->lhs[j], find_written, &w);
            for (int j = 0; j < def->n; j++) ir_visit(d->arena, def->rhs[j], find_written, &w);
            for (int j = 0; def->rdom && j < def->rdom->where.n; j++) ir_visit(d->arena, def->rdom->where.at[j], find_written, &w);
        }
}

static void copy_program(Derive *d, FuncList *order) {
    Change c;
    add_written(d, order);
    sch_start_change(&c, d, swapped);
    for (int i = 0; i < order->n; i++) {
        Func *f = order->at[i];
        pm_put(&d->now, f, f->is_input ? f : copy_func(d, f));
        pm_put(&c.func, f, pm_get(&d->now, f));
    }
    for (int i = 0; i < order->n; i++) {
        Func *f = order->at[i];
        if (f->is_input) continue;
        change_defs(&c, f, pm_get(&d->now, f));
        VEC_PUSH(d->arena, &d->funcs, pm_get(&d->now, f));
    }
}

static Func *now(const Derive *d, Func *f) {
    Func *g = pm_get(&d->now, f);
    return g ? g : f;
}

/* A condition over the sizes of the copies. */
static const Node *condition_now(const Derive *d, const Node *cond) {
    PtrMap size;
    pm_init(&size, d->arena);
    for (uint32_t i = 0; i < d->now.cap; i++) {
        const Func *f = d->now.key[i], *g = f ? d->now.val[i] : NULL;
        for (int k = 0; f != g && k < f->rank; k++) {
            const Sym *from[3] = { f->min[k], f->extent[k], f->stride[k] }, *to[3] = { g->min[k], g->extent[k], g->stride[k] };
            for (int j = 0; j < 3; j++)
                if (from[j] && to[j]) pm_put(&size, from[j], (void *)(uintptr_t)ir_var(d->ir, to[j]));
        }
    }
    return alg_replace(d->ir, cond, &size);
}

static mlc_directive directive_now(const Derive *d, mlc_directive l) {
    if (l.at.f) l.at.f = now(d, l.at.f);
    for (int i = 0; i < l.n_func; i++) l.func[i].f = now(d, l.func[i].f);
    if (l.cond.node) l.cond.node = condition_now(d, l.cond.node);
    mlc_directive *body = ARENA_ARRAY(d->arena, mlc_directive, l.n_body + 1);
    for (int i = 0; i < l.n_body; i++) body[i] = directive_now(d, l.body[i]);
    l.body = body;
    return l;
}

/* The lines that do not derive, of the Funcs as they are now. */
static struct mlc_plan *rest_of_plan(const Derive *d, const struct mlc_plan *plan) {
    struct mlc_plan *rest = arena_copy(d->arena, plan, sizeof *plan);
    memset(&rest->line, 0, sizeof rest->line);
    for (int i = 0; i < plan->line.n; i++) {
        PlanLine l = plan->line.at[i];
        if (sch_derives(&l)) continue;
        l.func = now(d, l.func);
        if (l.d.made.f) l.d.made.f = now(d, l.d.made.f);
        l.d = directive_now(d, l.d);
        VEC_PUSH(d->arena, &rest->line, l);
    }
    return rest;
}

Derived sch_derive(Interner *I, const struct mlc_plan *plan, Func *const *outputs, int n) {
    Derive d = { .ir = I, .arena = I->arena, .fault = I->fault, .plan = plan, .output = outputs, .n_outputs = n };
    Derived r = { .plan = plan };
    bool any = false;
    for (int i = 0; i < plan->line.n; i++) any |= needs_copies(&plan->line.at[i]);
    for (int i = 0; i < n; i++) r.output[i] = outputs[i];
    if (!any) return r;
    FuncList order = alg_order(d.arena, outputs, n);
    pm_init(&d.now, d.arena);
    pm_init(&d.stands_for, d.arena);
    pm_init(&d.spans, d.arena);
    copy_program(&d, &order);
    for (int i = 0; i < plan->line.n; i++)
        if (sch_derives(&plan->line.at[i])) apply(&d, &plan->line.at[i]);
    for (int i = 0; i < n; i++) r.output[i] = pm_get(&d.now, outputs[i]);
    r.plan = r.lines = rest_of_plan(&d, plan);
    r.rewrites = d.rewrites;
    return r;
}
