/* index_casts.c - do the indices that become i32 fit it?
 *
 * An index that meets data becomes i32.  Where the sizes at a call could carry it past that type, entry
 * bounds it over all the points that its stage computes, and refuses the call if the bounds do not fit:
 *
 *     f(x) = x        check f.min >= -2^31 && f.min + f.extent - 1 < 2^31
 *
 * What data brings into an index at 32 bits or more is known to nobody at entry: no check. */
#include "lower/nest.h"

typedef struct {
    Build *b;
    const StageNest *st;
    const Facts *facts;
    PtrMap *seen;   /* conditions that are checked already, of stages that run under the same condition */
} Casts;

static void note_data(void *user, const Node *e) {
    mlc_type t = e->n == 1 ? (mlc_type)e->kid[0]->type : MLC_VOID;
    if (e->op == OP_CAST && e->type == MLC_INDEX && ty_is_int(t) && ty_bits(t) >= 32) *(bool *)user = true;
}

static void check_cast(void *user, const Node *e) {
    Casts *c = user;
    Build *b = c->b;
    if (e->op != OP_CAST || e->type != MLC_I32 || e->kid[0]->type != MLC_INDEX) return;
    bool data = false;
    ir_visit(b->arena, e->kid[0], note_data, &data);
    if (data) return;
    Interval i = sim_bounds(b->ir, c->facts, e->kid[0], NULL);
    if (!i.lo || !i.hi) return;
    const Node *lo = sim_simplify(b->ir, b->base, i.lo), *hi = sim_simplify(b->ir, b->base, i.hi);
    const Node *fits = ir_make2(b->ir, OP_LAND, ir_make2(b->ir, OP_LE, ir_idx(b->ir, INT32_MIN), lo),
                                ir_make2(b->ir, OP_LE, hi, ir_idx(b->ir, INT32_MAX)));
    const Node *empty = ir_make2(b->ir, OP_LOR, ir_make2(b->ir, OP_LT, hi, lo), ir_make1(b->ir, OP_LNOT, c->st->runs));
    const Node *cond = sim_simplify(b->ir, b->base, ir_make2(b->ir, OP_LOR, fits, empty));
    if (pm_has(c->seen, cond)) return;
    pm_put(c->seen, cond, (void *)(uintptr_t)cond);
    const Node *arg[2] = { lo, hi };
    const char *name = sch_stage_name(b->arena, c->st->fn->func, c->st->index);
    low_entry(b, low_check(b, cond, ERR_INDEX_I32, name, ir_show(b->ir, e->kid[0]), 2, arg));
}

static void check_stage(Build *b, const StageNest *st, PtrMap *seen) {
    Casts c = { b, st, low_facts(b, b->root, st->leaf), seen };
    for (int i = 0; i < st->n_where; i++) ir_visit(b->arena, st->where[i], check_cast, &c);
    c.facts = low_point_facts(b, st, b->root);
    for (int d = 0; d < st->sched->def->rank; d++) ir_visit(b->arena, st->coord[d], check_cast, &c);
    for (int i = 0; i < st->sched->def->n; i++) ir_visit(b->arena, st->value[i], check_cast, &c);
}

void low_index_casts(Build *b) {
    PtrMap seen;
    pm_init(&seen, b->arena);
    for (int i = b->sched->order.n - 1; i >= 0; i--) {
        const NestList *nests = pm_get(&b->nest, b->sched->order.at[i]);
        for (int k = 0; nests && k < nests->n; k++)
            for (int s = 0; s < nests->at[k]->run.n; s++) check_stage(b, nests->at[k]->run.at[s], &seen);
    }
}
