/* loop_interp_whole.c - extern stages in the loop interpreter. */
#include "loop_interp_run.h"

#include "ir/whole.h"

#include <string.h>

int64_t run_query(Run *r, const Node *e, const Value *kid) {
    Whole w = alg_whole(e->u.func);
    int64_t box[2 * MAX_RANK];
    mlc_scalar arg[8];
    CHECK(r->fault, e->n == 2 * w.rank + w.n_scalars);
    for (int i = 0; i < 2 * w.rank; i++) box[i] = kid[i].i;
    memcpy(arg, kid + 2 * w.rank, sizeof *arg * (size_t)w.n_scalars);
    return whole_query(w.ext->fn, w.desc, e->aux, box, arg, 0);
}

/* A box of a memory, its corners checked. */
typedef struct {
    Memory *m;
    int rank;
    int64_t min[MAX_RANK], extent[MAX_RANK], at, points;
} Part;

static Part part_of(Run *r, const Lane *l, const void *where, const Node *const *e) {
    Part p = { .m = l->memory[run_number(r, where)], .points = 1 };
    CHECK(r->fault, p.m != NULL);
    p.rank = p.m->storage->rank;
    int64_t corner[MAX_RANK];
    for (int d = 0; d < p.rank; d++) {
        p.min[d] = run_index(r, l, e[2 * d], "the box of an extern stage");
        p.extent[d] = run_index(r, l, e[2 * d + 1], "the box of an extern stage");
        corner[d] = p.min[d] + p.extent[d] - 1;
        p.points *= p.extent[d] > 0 ? p.extent[d] : 0;
    }
    for (int d = 0; d < p.rank && p.points; d++) {
        const Memory *m = p.m;
        int64_t last = m->min[d] + m->extent[d] - 1;
        if (p.min[d] < m->min[d] || corner[d] > last)
            fault_raise(r->fault, ERR_LOOPS_BOUNDS, NULL, m->storage->name,
                        (long long)(p.min[d] < m->min[d] ? p.min[d] : corner[d]), d, (long long)m->min[d], (long long)last);
        p.at += (p.min[d] - m->min[d]) * m->stride[d];
    }
    return p;
}

/* The states of all elements of a part: their union, or set to one. */
static uint8_t states(const Part *p, const uint8_t *set) {
    int64_t i[MAX_RANK] = { 0 };
    uint8_t all = DEFINED;
    for (int64_t n = 0; n < p->points; n++) {
        int64_t at = p->at - p->m->first;
        for (int d = 0; d < p->rank; d++) at += i[d] * p->m->stride[d];
        for (int k = 0; k < p->m->storage->n; k++) {
            if (set) p->m->state[k][at] = *set;
            all |= p->m->state[k][at];
        }
        for (int d = 0; d < p->rank && ++i[d] == p->extent[d]; d++) i[d] = 0;
    }
    return all;
}

/* Runs the stage for one lane; returns how many points it stored. */
int64_t run_call(Run *r, const Stmt *s, const Lane *l) {
    Whole w = alg_whole(s->u.call.func);
    void *data[WHOLE_MOST];
    int64_t shape[WHOLE_MOST * MAX_RANK * 3], *next = shape;
    mlc_scalar arg[8];
    uint8_t state = DEFINED;
    const Node *const *e = s->u.call.e;
    Part p = { .m = NULL };
    for (int i = 0; i <= w.n_in; i++) {
        const Func *f = i < w.n_in ? w.in[i] : s->u.call.func;
        p = part_of(r, l, r->p->flat ? (const void *)s->u.call.storage[i] : f, e);
        e += 2 * p.rank;
        for (int k = 0; k < f->n; k++) {
            data[w.first[i] + k] = p.m->data[k] + p.at * (int64_t)mlc_type_size(f->type[k]);
            for (int d = 0; d < p.rank; d++) *next++ = p.min[d], *next++ = p.extent[d], *next++ = p.m->stride[d];
        }
        if (i < w.n_in) state |= states(&p, NULL);
    }
    for (int i = 0; i < w.n_scalars; i++) {
        State known;
        Value v = run_eval(r, l, e[i], &known);
        memcpy(&arg[i], &v, sizeof v);
    }
    int code = whole_run(w.ext->fn, w.desc, data, shape, arg, 0);
    if (code) fault_raise(r->fault, ERR_STAGE_CODE, NULL, s->u.call.func->name, (long long)code);
    states(&p, &state);
    return p.points;
}
