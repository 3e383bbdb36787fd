/* eager.c - eager_inline: the bodies of pure Funcs put into one stage now, so that later lines and readers of the
 * algorithm see what it is made of.
 *
 * The canonical form takes the canonical body, as late inlining does.  The form as written must go on to mean it:
 * an access keeps a product below it from fusing with a sum around, and rounds a half, so where the access vanishes
 * rounded(..) or a cast says so:
 *
 *     f(x) = a(x) * b(x);  g(x) = f(x) + c(x)      becomes      g(x) = rounded(a(x) * b(x)) + c(x) */
#include "schedule/derive.h"

static void arguments(const Change *c, const Node *access, PtrMap *map) {
    pm_init(map, c->d->arena);
    for (int i = 0; i < access->n; i++) pm_put(map, c->inlined->arg[i], (void *)(uintptr_t)access->kid[i]);
}

static const Node *canonical_body(void *user, Interner *I, const Node *e) {
    const Change *c = user;
    PtrMap map;
    if (e->op != OP_ACCESS || e->u.func != c->inlined) return e;
    arguments(c, e, &map);
    return ir_substitute(I, c->inlined->def.at[0]->value[e->aux], &map);
}

static bool is_product(const Node *e) {
    while (e->op == OP_NEG) e = e->kid[0];
    return e->op == OP_MUL;
}

static const Node *written_body(void *user, Interner *I, const Node *e) {
    const Change *c = user;
    PtrMap map;
    if (e->u.func != c->inlined) return e;
    arguments(c, e, &map);
    const Node *body = alg_replace(I, c->inlined->def.at[0]->rhs[e->aux], &map);
    mlc_type t = (mlc_type)e->type;
    if (ty_is_half(t)) return ir_node(I, OP_CAST, t, 0, 0, 1, &body);
    return ty_is_float(t) && is_product(body) ? ir_node(I, OP_ROUNDED, t, 0, 0, 1, &body) : body;
}

static const Node *put_in(Change *c, const Node *e, bool written) {
    if (written) return alg_replace_accesses(c->d->ir, e, written_body, c);
    return ir_rewrite(c->d->ir, e, canonical_body, c);
}

/* ---- what may be put in ---- */

static void find_random(void *user, const Node *e) {
    if (e->op == OP_RANDOM) *(const char **)user = "calls random, which depends on whose point it is";
}

/* What keeps f from being put elsewhere, or NULL. */
static const char *impure(const Derive *d, const Func *f) {
    const char *why = NULL;
    if (f->is_input) return "is an input";
    if (f->def.n > 1) return "has updates";
    if (alg_is_whole(f)) return "is an extern stage";
    for (int i = 0; i < f->n; i++) {
        if (f->def.at[0]->value[i]->op == OP_UNDEF) return "is undef";
        ir_visit(d->arena, f->def.at[0]->rhs[i], find_random, &why);
    }
    return why;
}

/* A line that schedules f as if it were computed. */
static const PlanLine *own_line(const Derive *d, const Func *f) {
    for (int i = 0; i < d->plan->line.n; i++) {
        const PlanLine *l = &d->plan->line.at[i];
        bool idle = l->d.kind == MLC_COMPUTE_INLINE || l->d.kind == MLC_ESTIMATE || l->d.kind == MLC_UNSCHEDULED;
        if (l->func == f && !sch_derives(l) && !idle) return l;
    }
    return NULL;
}

/* Of the context's Func `name`, which line l puts in. */
static const Func *callee(const Derive *d, const PlanLine *l, const Func *name) {
    Place place = sch_place(d->arena, l);
    const Func *f = pm_get(&d->now, name);
    if (!f && !name->is_input && !name->def.n) fault_raise(d->fault, ERR_FUNC_UNDEFINED, &place, name->name);
    const char *why = impure(d, f ? f : name);
    if (why) fault_raise(d->fault, ERR_EAGER_IMPURE, &place, name->name, why);
    const PlanLine *own = own_line(d, name);
    if (own) {
        StrBuf text;
        sb_init(&text, d->arena);
        sch_print_directive(&text, &own->d);
        fault_raise(d->fault, ERR_EAGER_SCHEDULED, &place, name->name, text.at);
    }
    return f ? f : name;
}

void sch_eager_inline(Derive *d, const PlanLine *l, Func *f) {
    Place place = sch_place(d->arena, l);
    const Func *put[8];
    bool done[8] = { false }, again = true;
    if (f->is_input) fault_raise(d->fault, ERR_SCHEDULE_INPUT, &place, f->name);
    if (l->stage < 0 || l->stage >= f->def.n) fault_raise(d->fault, ERR_NO_STAGE, &place, f->name, l->stage - 1, sch_updates(d->arena, f->def.n));
    for (int i = 0; i < l->d.n_func; i++) put[i] = callee(d, l, l->d.func[i].f);
    if (alg_is_whole(f)) fault_raise(d->fault, ERR_STAGE_INPUT, &place, put[0]->name, f->name);
    Def **def = &f->def.at[l->stage];
    while (again) { /* one that is put in may read another that is named */
        again = false;
        for (int i = 0; i < l->d.n_func; i++) {
            if (!sch_reads(d, *def, put[i])) continue;
            Change c;
            sch_start_change(&c, d, put_in);
            c.inlined = put[i];
            *def = sch_changed_def(&c, *def);
            done[i] = again = true;
        }
    }
    for (int i = 0; i < l->d.n_func; i++)
        if (!done[i]) fault_raise(d->fault, ERR_EAGER_NOT_READ, &place, f->name, put[i]->name);
}
