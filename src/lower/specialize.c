/* specialize.c - what depends on which schedule of a stage a call runs.
 *
 * Each schedule of a stage is a nest of its own; emission puts them under if, else if and else.  All nests
 * of a stage compute the same box, so what is said of boxes holds whichever runs.  A nest's condition
 *   - decides selects and the like in its copy of the definition, so that it reads no more than it needs,
 *   - decides tails,
 *   - is part of `runs`: of the caller's memory only what the running nests read must be there,
 * and the simplifier meets it as the condition of the if. */
#include "lower/nest.h"

const Facts *low_special_facts(Build *b, const StageNest *st, const Facts *f) {
    return ir_is_const(st->sched->when) ? f : sim_with_truth(b->arena, f, st->sched->when);
}

/* e % 16 == 0, for a divisor of 16. */
static bool says_multiple(const Node *cond, const Node *e, int64_t of) {
    int64_t modulus;
    if (cond->op == OP_LAND) return says_multiple(cond->kid[0], e, of) || says_multiple(cond->kid[1], e, of);
    const Node *zero = cond->op == OP_EQ ? cond->kid[ir_is(cond->kid[0], 0) ? 0 : 1] : NULL;
    if (!zero || !ir_is(zero, 0)) return false;
    const Node *rest = cond->kid[zero == cond->kid[0]];
    return rest->op == OP_MOD && rest->kid[0] == e && ir_is_int(rest->kid[1], &modulus) && modulus % of == 0;
}

bool low_special_multiple(const StageNest *st, const Node *e, int64_t of) {
    return says_multiple(st->sched->when, e, of);
}

typedef struct {
    Sim *sim;
    PtrMap fixed;
} Known;

static const Node *decide(void *user, Interner *I, const Node *e) {
    Known *k = user;
    if (e->type != MLC_BOOL || ir_is_const(e)) return e;
    const Node *now = ir_substitute(I, e, &k->fixed);
    if (sim_holds(k->sim, now)) return ir_bool(I, true);
    return sim_holds(k->sim, ir_make1(I, OP_LNOT, now)) ? ir_bool(I, false) : e;
}

const Node *low_decided(Build *b, const StageSched *sched, const Node *e) {
    if (ir_is_const(sched->when) || ir_is_const(e)) return e;
    Facts f = { .up = b->base, .truth = sched->when };
    Known k = { .sim = sim_begin(b->ir, &f) };
    pm_init(&k.fixed, b->arena);
    st_fixed(b->ir, sched->when, &k.fixed);
    e = ir_rewrite(b->ir, e, decide, &k);
    sim_end(k.sim);
    return e;
}

static int places_inside(const ScopeList *places, const Scope *s) {
    int n = 0;
    for (int i = 0; i < places->n; i++) n += low_encloses(s, places->at[i]);
    return n;
}

/* Specializations share no memory: what would stand right outside of them goes inside. */
Scope *low_special_store(Build *b, const FuncSched *fs, const Level *level, const ScopeList *places, Scope *compute, Scope *store) {
    if (places_inside(places, store) == 1) return store;
    Scope *s = compute;
    while (s->up != store) s = s->up;
    if (!s->dim && places_inside(places, s) == 1) return s;
    Place place = sch_place(b->arena, level->line);
    fault_raise(b->fault, ERR_STORE_SPECIALIZED, &place, fs->func->name, compute->stage->fn->func->name);
}

void low_check_fail(Build *b, const StageNest *st) {
    if (!st->sched->fail) return;
    const char *name = sch_stage_name(b->arena, st->fn->func, st->index);
    const Node *cond = sim_simplify(b->ir, b->base, ir_make1(b->ir, OP_LNOT, st->runs));
    Stmt *check = low_check(b, cond, ERR_SPECIALIZE_FAILED, name, st->sched->fail->d.text, 0, NULL);
    check->line = st->sched->fail;
    VEC_PUSH(b->arena, &b->check, check);
}

FuncNest *low_nest_read(Build *b, const StageNest *st, const Func *f) {
    const NestList *nests = pm_get(&b->nest, f);
    for (int i = 0; nests && i < nests->n; i++)
        if (low_encloses(nests->at[i]->compute, st->leaf)) return nests->at[i];
    return NULL;
}
