/* watched.c - which stages a profile or a trace is about, and what their readers want to know of each besides what
 * calls count: where it is computed, how many points are needed at all, why some may be computed twice. */
#include "lower/nest.h"

static bool is_undef(const StageNest *st) {
    bool all = true;
    for (int i = 0; i < st->fn->func->n; i++) all &= st->sched->def->value[i]->op == OP_UNDEF;
    return all;
}

/* Points of the box that readers need in a whole call, however often each is computed. */
static const Node *needed_points(Build *b, const FuncNest *fn) {
    Interval box[MAX_RANK];
    const Node *n = ir_idx(b->ir, 1);
    bool whole = fn->compute == b->root; /* computed once: all that is computed is needed */
    if (is_undef(fn->stage.at[0]) || (!whole && !low_window(b, fn, NULL, NULL, box))) return NULL;
    for (int d = 0; d < fn->func->rank; d++) {
        const Node *length = low_length(b, b->base, whole ? fn->box[d] : box[d]);
        n = ir_mul(b->ir, n, ir_max(b->ir, length, ir_idx(b->ir, 0)));
    }
    PtrMap names; /* of root, since all is counted before they are bound */
    pm_init(&names, b->arena);
    for (int i = 0; i < b->root->box.n; i++) {
        const BoxLet *let = &b->root->box.at[i];
        pm_put(&names, let->sym, (void *)(uintptr_t)ir_substitute(b->ir, let->value, &names));
    }
    return sim_simplify(b->ir, b->base, ir_substitute(b->ir, n, &names));
}

static void look_at_loops(const NestList *nests, Watched *w) {
    for (int i = 0; i < nests->n; i++)
        for (int k = 0; k < nests->at[i]->run.n; k++) {
            const StageNest *st = nests->at[i]->run.at[k];
            if (st->index != w->stage) continue;
            for (const Scope *s = st->leaf; s; s = s->up) {
                w->vector |= s->var && s->kind == LOOP_VECTOR;
                w->parallel |= s->var && sch_spreads(s->kind);
            }
        }
}

/* Lanes of the innermost vector loop around that the stack holds side by side. */
static int64_t lanes_of(const FuncNest *fn) {
    const Storage *t = fn->storage;
    const Scope *s = fn->store;
    int64_t lanes;
    while (s && !(s->var && s->kind == LOOP_VECTOR)) s = s->up;
    if (!s || !ir_is_int(s->extent, &lanes)) return 1;
    for (int i = 0; i < t->n; i++)
        if (t->const_elems * lanes > MOST_STACK_BYTES / (int64_t)mlc_type_size(t->type[i])) return 1;
    return lanes;
}

static int64_t stack_bytes(const FuncNest *fn) {
    const Storage *t = fn->storage;
    int64_t bytes = 0;
    for (int i = 0; t && t->memory != STORE_HEAP && !t->is_output && i < t->n; i++)
        bytes += t->const_elems * (int64_t)mlc_type_size(t->type[i]);
    return bytes ? bytes * lanes_of(fn) : 0;
}

static void add_func(Build *b, const FuncSched *fs, const NestList *nests) {
    bool profiled = b->options->profile || fs->profile, traced = b->options->trace || fs->trace;
    if (!profiled && !traced) return;
    const FuncNest *fn = nests->at[0];
    for (int s = 0; s < fs->stage.n; s++) {
        Watched w = { .func = fs->func, .stage = s, .profiled = profiled, .traced = traced, .asked = fs->profile || fs->trace };
        w.name = sch_stage_name(b->arena, fs->func, s);
        w.place = low_place_name(b, fn->compute);
        look_at_loops(nests, &w);
        if (!s) {
            w.again = low_again(b, fn);
            w.needed = needed_points(b, fn);
            w.stack = stack_bytes(fn);
            for (int d = 0; d < fs->func->rank; d++) w.slides |= fn->slid[d] != NULL;
        }
        VEC_PUSH(b->arena, &b->program->watched, w);
    }
}

/* Kernels count nothing yet: where all Funcs are watched, those of theirs are not. */
static bool in_kernel(const NestList *nests) {
    for (int i = 0; i < nests->n; i++)
        for (int k = 0; k < nests->at[i]->run.n; k++)
            if (low_gpu_level(nests->at[i]->run.at[k]->leaf) != GPU_OF_HOST) return true;
    return false;
}

void low_watched(Build *b) {
    for (int i = 0; i < b->sched->order.n; i++) {
        const FuncSched *fs = pm_get(&b->sched->sched, b->sched->order.at[i]);
        const NestList *nests = pm_get(&b->nest, b->sched->order.at[i]);
        if (fs && nests && nests->n && !in_kernel(nests)) add_func(b, fs, nests);
    }
}
