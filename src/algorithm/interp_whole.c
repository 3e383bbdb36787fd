/* interp_whole.c - extern stages in the oracle: the C function is called once for the whole box that is needed. */
#include "interp.h"

#include "ir/whole.h"

#include <string.h>

static void scalars(Oracle *o, Realised *r, const Whole *w, mlc_scalar *arg) {
    for (int i = 0; i < w->n_scalars; i++) {
        Value v = eval_constant(o, r, w->scalar[i]);
        memcpy(&arg[i], &v, sizeof v);
    }
}

static Place place_of(Oracle *o, const Realised *r) {
    return (Place){ .loc = r->f->def.at[0]->loc, .object = arena_printf(o->arena, "interpret %s", r->f->name) };
}

/* The query of the box asked for; raises what is wrong with its answer. */
typedef struct {
    Whole w;
    int64_t box[2 * MAX_RANK];
    mlc_scalar arg[8];
} Question;

static int64_t ask(const Oracle *o, const Question *q, int which) {
    return whole_query(q->w.ext->fn, q->w.desc, which, q->box, q->arg, o->ctx->mode);
}

static void open_question(Oracle *o, Realised *r, Question *q) {
    static const ErrCode row[] = { [WHOLE_TYPE] = ERR_STAGE_TYPE, [WHOLE_FAR] = ERR_STAGE_FAR, [WHOLE_SMALLER] = ERR_STAGE_SMALLER };
    q->w = alg_whole(r->f);
    scalars(o, r, &q->w, q->arg);
    for (int d = 0; d < r->f->rank; d++) q->box[2 * d] = r->lo[d], q->box[2 * d + 1] = r->hi[d];
    Place place = place_of(o, r);
    int64_t code = ask(o, q, WHOLE_CODE), fault = ask(o, q, WHOLE_FAULT);
    if (code) fault_raise(o->fault, ERR_STAGE_CODE, &place, r->f->name, (long long)code);
    if (fault) fault_raise(o->fault, row[fault], &place, r->f->name);
}

/* The box of buffer `b`; false where it is empty. */
static bool answer(const Oracle *o, const Question *q, int b, int rank, int64_t *min, int64_t *extent) {
    bool any = true;
    for (int d = 0; d < rank; d++) {
        min[d] = ask(o, q, whole_end(b, d, false));
        extent[d] = ask(o, q, whole_end(b, d, true)) - min[d] + 1;
        any &= extent[d] > 0;
    }
    return any;
}

static void check_input(Oracle *o, const Realised *r, const Realised *g, const int64_t *min, const int64_t *extent) {
    for (int d = 0; d < g->f->rank; d++) {
        const mlc_dim_t *dim = &g->in->dim[d];
        int64_t last = min[d] + extent[d] - 1, wrong = min[d] < dim->min ? min[d] : last;
        if (min[d] >= dim->min && last < dim->min + dim->extent) continue;
        Place place = place_of(o, r);
        fault_raise(o->fault, ERR_INTERP_READ, &place, g->f->name, (long long)wrong, d, (long long)dim->min,
                    (long long)(dim->min + dim->extent - 1));
    }
}

void whole_demand(Oracle *o, Realised *r) {
    Question q;
    int64_t min[MAX_RANK], extent[MAX_RANK], p[MAX_RANK];
    if (!r->any) return;
    open_question(o, r, &q);
    for (int i = 0; i < q.w.n_in; i++) {
        Realised *g = pm_get(&o->real, q.w.in[i]);
        int rank = g->f->rank;
        if (!answer(o, &q, q.w.first[i], rank, min, extent)) continue;
        points_of(o, g->f, rank, extent);
        if (g->in) {
            check_input(o, r, g, min, extent);
            continue;
        }
        memcpy(p, min, sizeof p);
        for (int d = 0; d < rank; d++) p[d] += extent[d] - 1; /* the far corner first: one allocation */
        points_ask(o, g, min);
        points_ask(o, g, p);
        memcpy(p, min, sizeof p);
        do points_ask(o, g, p);
        while (points_next(rank, min, extent, p));
    }
}

/* ---- memory: dense copies of what the function reads, and room for what it writes ---- */

typedef struct {
    void *data[WHOLE_MOST];
    int64_t shape[WHOLE_MOST * MAX_RANK * 3], *next;
    State worst;
} Room;

static int64_t shape_of(Room *room, int rank, const int64_t *min, const int64_t *extent) {
    int64_t stride = 1;
    for (int d = 0; d < rank; d++) {
        *room->next++ = min[d];
        *room->next++ = extent[d];
        *room->next++ = stride;
        stride *= extent[d] > 0 ? extent[d] : 0;
    }
    return stride;
}

/* The value of an input's element at a point, or of a Func's. */
static State fetch(const Realised *g, int k, const int64_t *p, Value *v) {
    int rank = g->f->rank;
    if (g->in) {
        int64_t at = 0;
        for (int d = 0; d < rank; d++) at += (p[d] - g->in->dim[d].min) * g->in->dim[d].stride;
        *v = val_load(g->in->type, (const char *)g->in->data + at * (int64_t)mlc_type_size(g->in->type));
        return KNOWN;
    }
    int64_t at = g->value[0] && g->usable ? points_at(rank, g->min, g->extent, p) : -1;
    if (at < 0) return UNKNOWN;
    *v = g->value[k][at];
    return (State)g->state[k][at];
}

static void copy_in(Oracle *o, const Question *q, int i, Room *room) {
    const Realised *g = pm_get(&o->real, q->w.in[i]);
    int64_t min[MAX_RANK], extent[MAX_RANK], p[MAX_RANK];
    bool any = answer(o, q, q->w.first[i], g->f->rank, min, extent);
    for (int k = 0; k < g->f->n; k++) {
        size_t size = mlc_type_size(g->f->type[k]);
        int64_t n = shape_of(room, g->f->rank, min, extent);
        char *at = room->data[q->w.first[i] + k] = arena_alloc(o->arena, (size_t)(n + 1) * size);
        if (!any) continue;
        memcpy(p, min, sizeof p);
        do {
            Value v = { .i = 0 };
            State s = fetch(g, k, p, &v);
            if (s > room->worst) room->worst = s;
            val_store(g->f->type[k], at, v);
            at += size;
        } while (points_next(g->f->rank, min, extent, p));
    }
}

static void copy_out(Oracle *o, Realised *r, const Question *q, const Room *room, int64_t n) {
    for (int k = 0; k < r->f->n; k++) {
        size_t size = mlc_type_size(r->f->type[k]);
        const char *at = room->data[q->w.first[q->w.n_in] + k];
        r->value[k] = ARENA_ARRAY(o->arena, Value, n);
        r->state[k] = ARENA_ARRAY(o->arena, uint8_t, n);
        memset(r->state[k], (int)room->worst, (size_t)n);
        for (int64_t i = 0; i < n && room->worst == KNOWN; i++, at += size) r->value[k][i] = val_load(r->f->type[k], at);
    }
}

void whole_compute(Oracle *o, Realised *r) {
    if (!r->any || (!r->grew && !r->stale)) return;
    Question q;
    Room *room = ARENA_NEW(o->arena, Room);
    room->next = room->shape;
    open_question(o, r, &q);
    answer(o, &q, q.w.first[q.w.n_in], r->f->rank, r->min, r->extent);
    int64_t n = points_of(o, r->f, r->f->rank, r->extent);
    for (int i = 0; i < q.w.n_in; i++) copy_in(o, &q, i, room);
    for (int k = 0; k < r->f->n; k++) {
        shape_of(room, r->f->rank, r->min, r->extent);
        room->data[q.w.first[q.w.n_in] + k] = arena_alloc(o->arena, (size_t)(n + 1) * mlc_type_size(r->f->type[k]));
    }
    int code = room->worst == KNOWN ? whole_run(q.w.ext->fn, q.w.desc, room->data, room->shape, q.arg, o->ctx->mode) : 0;
    Place place = place_of(o, r);
    if (code) fault_raise(o->fault, ERR_STAGE_CODE, &place, r->f->name, (long long)code);
    copy_out(o, r, &q, room, n);
    r->usable = true;
    r->grew = false;
    r->stale = room->worst == UNKNOWN;
    o->incomplete |= r->stale;
}
