/* interp.c - the oracle: what a program means, computed naively from its definitions.
 *
 * Plans do not matter here, and no code is shared with lowering.  Each round has two passes:
 *   demand   consumers first, runs every index expression at every point asked for, and asks the
 *            producers for the points that are read;
 *   compute  producers first, runs the stages of each Func in order over its points.
 * An index that reads a Func (a gather) may need a value that is computed only in the second pass: it
 * is UNKNOWN in the first round, and rounds repeat until nothing is.  Chains of Funcs cost no C stack. */
#include "interp.h"

#include <string.h>

/* Each round settles at least one value; nobody nests gathers this deep. */
enum { MOST_ROUNDS = 100000 };

static void add_func(Oracle *o, Func *f) {
    Realised *r = ARENA_NEW(o->arena, Realised);
    r->f = f;
    r->stale = true;
    if (f->is_input) {
        Place at = eval_place(o, f, NULL);
        if (!f->bound) fault_raise(o->fault, ERR_INTERP_UNBOUND, &at, f->name);
        CHECK(o->fault, f->bound->rank == f->rank && f->bound->type == f->type[0]);
        r->in = f->bound;
    }
    pm_put(&o->real, f, r);
}

/* The first point of an output's buffers; false where they hold none. */
static bool first_point(const Realised *r, int64_t *min, int64_t *extent, int64_t *p) {
    const struct mlc_buffer *b = r->out[0];
    for (int d = 0; d < r->f->rank; d++) {
        if (b->dim[d].extent <= 0) return false;
        min[d] = p[d] = b->dim[d].min;
        extent[d] = b->dim[d].extent;
    }
    return true;
}

/* Asks for the box of the output's buffers. */
static void ask_output(Oracle *o, Realised *r) {
    int64_t min[MAX_RANK], extent[MAX_RANK], p[MAX_RANK];
    int rank = r->f->rank;
    if (!first_point(r, min, extent, p)) return;
    points_of(o, r->f, rank, extent);
    for (int d = 0; d < rank; d++) p[d] += extent[d] - 1; /* the far corner first: one allocation */
    points_ask(o, r, min);
    points_ask(o, r, p);
    memcpy(p, min, sizeof p);
    do points_ask(o, r, p);
    while (points_next(rank, min, extent, p));
}

/* ---- loops of one stage ---- */

typedef void (*point_fn)(Oracle *o, Realised *r, Stage *s);

static void over_rdom(Oracle *o, Realised *r, Stage *s, point_fn fn) {
    const RDom *dom = s->def->rdom;
    if (!dom) {
        fn(o, r, s);
        return;
    }
    int64_t p[MAX_RANK];
    for (int k = 0; k < dom->n; k++) {
        if (s->rextent[k] <= 0) return;
        p[k] = s->rmin[k];
    }
    do {
        for (int k = 0; k < dom->n; k++)
            if (s->rvar[k] >= 0) s->slot[s->rvar[k]].i = p[k];
        fn(o, r, s);
    } while (points_next(dom->n, s->rmin, s->rextent, p));
}

/* Runs fn at every point of the stage: its pure Vars over the box, for each the RDom in its order. */
static void over_stage(Oracle *o, Realised *r, Stage *s, point_fn fn) {
    int64_t min[MAX_RANK], extent[MAX_RANK], p[MAX_RANK];
    int rank = r->f->rank;
    bool exact = s->def == r->f->def.at[0] && r->mask;
    for (int d = 0; d < rank; d++) {
        min[d] = p[d] = s->pure[d] >= 0 ? r->lo[d] : 0;
        extent[d] = s->pure[d] >= 0 ? r->hi[d] - r->lo[d] + 1 : 1;
    }
    points_of(o, r->f, rank, extent);
    do {
        if (exact && !points_asked(r, p)) continue;
        for (int d = 0; d < rank; d++)
            if (s->pure[d] >= 0) s->slot[s->pure[d]].i = p[d];
        over_rdom(o, r, s, fn);
    } while (points_next(rank, min, extent, p));
}

/* ---- demand ---- */

static void demand_point(Oracle *o, Realised *r, Stage *s) {
    bool holds;
    if (eval_where(o, r, s, true, &holds) != KNOWN || !holds) return;
    eval_demand(o, r, s);
    int64_t p[MAX_RANK];
    if (eval_left(s, p) == KNOWN) points_ask(o, r, p);
}

/* Asks for all that the points of r read; a Func with updates also for what it writes itself, until
 * its box holds still. */
static void demand_func(Oracle *o, Realised *r) {
    int64_t lo[MAX_RANK], hi[MAX_RANK];
    bool moved = r->any;
    if (alg_is_whole(r->f)) {
        whole_demand(o, r);
        return;
    }
    while (moved) {
        memcpy(lo, r->lo, sizeof lo);
        memcpy(hi, r->hi, sizeof hi);
        for (int k = 0; k < r->f->def.n; k++) over_stage(o, r, &r->stage[k], demand_point);
        moved = memcmp(lo, r->lo, sizeof lo) || memcmp(hi, r->hi, sizeof hi);
    }
}

/* ---- compute ---- */

static void compute_point(Oracle *o, Realised *r, Stage *s) {
    bool holds;
    State state = eval_where(o, r, s, false, &holds);
    if (state == KNOWN && !holds) return;
    int64_t p[MAX_RANK], at = -1;
    if (state == KNOWN) {
        eval_values(o, r, s);
        state = eval_left(s, p);
    }
    if (state == KNOWN) {
        at = points_at(r->f->rank, r->min, r->extent, p);
        if (at < 0) points_ask(o, r, p);
    }
    if (state == GARBAGE) {
        Place place = eval_place(o, r->f, s);
        fault_raise(o->fault, ERR_INTERP_GARBAGE_INDEX, &place);
    }
    if (at < 0) { /* a write whose place is not known yet: nothing here can be trusted this round */
        r->usable = false;
        o->incomplete = true;
        return;
    }
    for (int k = 0; k < s->def->n; k++) {
        if (s->step[s->value[k]].e->op == OP_UNDEF) continue; /* keeps what is there */
        r->value[k][at] = s->slot[s->value[k]];
        r->state[k][at] = s->state[s->value[k]];
        if (r->state[k][at] == UNKNOWN) r->stale = true;
    }
}

static char *element(const struct mlc_buffer *b, int rank, const int64_t *p) {
    int64_t at = 0;
    for (int d = 0; d < rank; d++) at += (p[d] - b->dim[d].min) * b->dim[d].stride;
    return (char *)b->data + at * (int64_t)mlc_type_size(b->type);
}

static bool inside(const struct mlc_buffer *b, int rank, const int64_t *p) {
    for (int d = 0; d < rank; d++)
        if (p[d] < b->dim[d].min || p[d] - b->dim[d].min >= b->dim[d].extent) return false;
    return true;
}

/* An element whose pure definition is `undef` starts as the buffer's content, garbage outside of it. */
static void load_undefined(Realised *r, int k, int64_t n) {
    int64_t p[MAX_RANK];
    memcpy(p, r->min, sizeof p);
    for (int64_t i = 0; i < n; i++) {
        bool held = r->out && inside(r->out[k], r->f->rank, p);
        r->state[k][i] = held ? KNOWN : GARBAGE;
        if (held) r->value[k][i] = val_load(r->f->type[k], element(r->out[k], r->f->rank, p));
        points_next(r->f->rank, r->min, r->extent, p);
    }
}

static void compute_func(Oracle *o, Realised *r) {
    if (alg_is_whole(r->f)) whole_compute(o, r);
    if (!r->any || alg_is_whole(r->f) || (!r->grew && !r->stale && r->usable)) return;
    int rank = r->f->rank;
    for (int d = 0; d < rank; d++) {
        r->min[d] = r->lo[d];
        if (__builtin_sub_overflow(r->hi[d], r->lo[d], &r->extent[d])) r->extent[d] = INT64_MAX - 1;
        r->extent[d]++;
    }
    int64_t n = points_of(o, r->f, rank, r->extent);
    r->grew = r->stale = false;
    r->usable = true;
    for (int k = 0; k < r->f->n; k++) {
        r->value[k] = ARENA_ARRAY(o->arena, Value, n);
        r->state[k] = ARENA_ARRAY(o->arena, uint8_t, n);
        memset(r->state[k], UNKNOWN, (size_t)n);
        if (r->f->def.at[0]->value[k]->op == OP_UNDEF) load_undefined(r, k, n);
    }
    for (int k = 0; k < r->f->def.n; k++) over_stage(o, r, &r->stage[k], compute_point);
}

/* ---- results ---- */

/* No garbage reaches a result; and, as for every other target, the buffer holds what other outputs read and what
 * updates write. */
static void check_output(Oracle *o, const Realised *r) {
    int64_t min[MAX_RANK], extent[MAX_RANK], p[MAX_RANK];
    int rank = r->f->rank;
    bool more = first_point(r, min, extent, p);
    for (; more; more = points_next(rank, min, extent, p)) {
        int64_t at = points_at(rank, r->min, r->extent, p);
        CHECK(o->fault, at >= 0);
        for (int k = 0; k < r->f->n; k++) {
            if (r->state[k][at] == KNOWN) continue;
            Place place = eval_place(o, r->f, NULL);
            fault_raise(o->fault, ERR_INTERP_GARBAGE, &place, r->f->name, (long long)(rank ? p[0] : 0), (long long)(rank > 1 ? p[1] : 0));
        }
    }
    for (int d = 0; r->any && d < rank; d++) {
        int64_t first = r->out[0]->dim[d].min, last = first + r->out[0]->dim[d].extent - 1;
        if (r->lo[d] >= first && r->hi[d] <= last) continue;
        fault_raise(o->fault, ERR_OUTPUT_BOX, NULL, r->f->name, arena_printf(o->arena, "%d", d), (long long)r->lo[d], (long long)r->hi[d],
                    (long long)first, (long long)last);
    }
}

static void deliver(const Realised *r) {
    int64_t min[MAX_RANK], extent[MAX_RANK], p[MAX_RANK];
    int rank = r->f->rank;
    bool more = first_point(r, min, extent, p);
    for (; more; more = points_next(rank, min, extent, p)) {
        int64_t at = points_at(rank, r->min, r->extent, p);
        for (int k = 0; k < r->f->n; k++) val_store(r->f->type[k], element(r->out[k], rank, p), r->value[k][at]);
    }
}

static void prepare(Oracle *o, FuncList order, Func *const *outputs, int n, struct mlc_buffer *const *buffers) {
    pm_init(&o->real, o->arena);
    for (int i = 0; i < order.n; i++) add_func(o, order.at[i]);
    for (int i = 0, slot = 0; i < n; slot += outputs[i++]->n) {
        Realised *r = pm_get(&o->real, outputs[i]);
        CHECK(o->fault, r && !outputs[i]->is_input && buffers[slot]->rank == outputs[i]->rank);
        for (int k = 0; k < outputs[i]->n; k++)
            CHECK(o->fault, buffers[slot + k]->type == outputs[i]->type[k]);
        r->out = buffers + slot;
    }
    for (int i = 0; i < order.n; i++) {
        Realised *r = pm_get(&o->real, order.at[i]);
        r->stage = ARENA_ARRAY(o->arena, Stage, r->f->def.n);
        for (int k = 0; k < r->f->def.n && !alg_is_whole(r->f); k++) eval_compile(o, r, k);
    }
    for (int i = 0; i < n; i++) ask_output(o, pm_get(&o->real, outputs[i]));
}

void alg_interpret(Arena *arena, Func *const *outputs, struct mlc_buffer *const *buffers, int n_buffers) {
    Oracle o = { .arena = arena, .fault = arena->fault };
    int n = 0;
    for (int slots = 0; slots < n_buffers; n++) slots += outputs[n]->n;
    if (!n) return;
    o.ctx = outputs[0]->ctx;
    FuncList order = alg_order(arena, outputs, n);
    prepare(&o, order, outputs, n, buffers);
    int rounds = 0;
    do {
        CHECK(o.fault, ++rounds < MOST_ROUNDS);
        o.incomplete = false;
        for (int i = order.n - 1; i >= 0; i--) demand_func(&o, pm_get(&o.real, order.at[i]));
        for (int i = 0; i < order.n; i++) compute_func(&o, pm_get(&o.real, order.at[i]));
    } while (o.incomplete);
    for (int i = 0; i < n; i++) check_output(&o, pm_get(&o.real, outputs[i]));
    for (int i = 0; i < n; i++) deliver(pm_get(&o.real, outputs[i]));
}
