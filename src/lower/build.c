/* build.c - from the schedule to the first statements: outputs first, then every Func that something in
 * the tree reads, consumers before producers. */
#include "lower/nest.h"

/* Inside the body a lone output has points; of several, some may be empty. */
static void base_facts(Build *b) {
    for (int i = 0; i < b->sched->n_outputs; i++) {
        const Storage *t = pm_get(&b->external, b->sched->output[i]);
        for (int d = 0; d < t->rank; d++) {
            if (ir_is_const(t->extent[d])) continue;
            Facts *f = ARENA_NEW(b->arena, Facts);
            *f = (Facts){ .up = b->base };
            f->truth = ir_make2(b->ir, OP_LT, ir_idx(b->ir, b->sched->n_outputs == 1 ? 0 : -1), t->extent[d]);
            b->base = f;
        }
    }
}

void low_build(Program *p, const LowerOptions *o) {
    Build b = { .ir = p->ir, .arena = p->arena, .fault = p->arena->fault, .sched = p->schedule, .options = o, .program = p };
    pm_init(&b.uses, b.arena);
    pm_init(&b.nest, b.arena);
    pm_init(&b.external, b.arena);
    pm_init(&b.values, b.arena);
    pm_init(&b.inlined, b.arena);
    pm_init(&b.needed, b.arena);
    pm_init(&b.varying, b.arena);
    sm_init(&b.names, b.arena);
    b.root = ARENA_NEW(b.arena, Scope);
    low_external(&b);
    base_facts(&b);
    for (int i = b.sched->group.n - 1; i >= 0; i--) low_inject(&b, &b.sched->group.at[i]);
    for (int i = 0; i < b.sched->order.n; i++) {
        const NestList *nests = pm_get(&b.nest, b.sched->order.at[i]);
        for (int k = 0; nests && k < nests->n; k++) low_memoize(&b, nests->at[k]);
        for (int k = 0; nests && k < nests->n; k++)
            for (int s = 0; s < nests->at[k]->run.n; s++) low_prefetch(&b, nests->at[k]->run.at[s]), low_check_stream(&b, nests->at[k]->run.at[s]);
    }
    low_watched(&b);
    low_entry_checks(&b);
    p->body = low_emit(&b);
}
