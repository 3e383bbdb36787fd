/* whole.c - the two ways in which the C function of an extern stage is called.
 *
 *     query   all data is NULL; the outputs have the box that is needed, each input the same box (in
 *             dimensions that the output lacks: [0, 1)); the function leaves in the inputs what it will read,
 *             and in the outputs what it will write, which may be more
 *     run     all have data, and exactly the boxes that the query left */
#include "whole.h"

#include "effect.h"

#include <string.h>

typedef struct {
    int n_in, n_out;
    mlc_buffer b[WHOLE_MOST], *at[WHOLE_MOST];
} Buffers;

static void describe(Buffers *w, const int *desc) {
    w->n_in = desc[0];
    w->n_out = desc[1];
    for (int i = 0; i < w->n_in + w->n_out; i++) {
        w->b[i] = (mlc_buffer){ .type = (mlc_type)desc[2 + 2 * i], .rank = desc[3 + 2 * i] };
        w->at[i] = &w->b[i];
    }
}

static int call(void (*fn)(void), Buffers *w, const mlc_scalar *arg, unsigned mode) {
    unsigned own = effect_mode(mode);
    int code = ((mlc_stage_fn)fn)(w->at, w->at + w->n_in, arg);
    effect_mode(own);
    return code;
}

static void ask_for(Buffers *w, const int64_t *box) {
    int rank = w->b[w->n_in].rank;
    for (int i = 0; i < w->n_in + w->n_out; i++) {
        int64_t stride = 1;
        for (int d = 0; d < w->b[i].rank; d++) {
            mlc_dim_t *dim = &w->b[i].dim[d];
            *dim = (mlc_dim_t){ 0, 1, stride };
            if (d < rank) dim->min = box[2 * d], dim->extent = box[2 * d + 1] - box[2 * d] + 1;
            stride *= dim->extent;
        }
    }
}

static WholeFault fault_of(const Buffers *w, const int *desc, const int64_t *box) {
    for (int i = 0; i < w->n_in + w->n_out; i++) {
        const mlc_buffer *b = &w->b[i];
        if ((int)b->type != desc[2 + 2 * i] || b->rank != desc[3 + 2 * i]) return WHOLE_TYPE;
        for (int d = 0; d < b->rank; d++) {
            int64_t min = b->dim[d].min, extent = b->dim[d].extent;
            if (min < -WHOLE_FAREST || min > WHOLE_FAREST || extent < 0 || extent > WHOLE_FAREST) return WHOLE_FAR;
            if (i >= w->n_in && (min > box[2 * d] || min + extent - 1 < box[2 * d + 1])) return WHOLE_SMALLER;
            if (i > w->n_in && (min != w->b[w->n_in].dim[d].min || extent != w->b[w->n_in].dim[d].extent)) return WHOLE_TYPE;
        }
    }
    return WHOLE_FINE;
}

int64_t whole_query(void (*fn)(void), const int *desc, int which, const int64_t *box, const mlc_scalar *arg, unsigned mode) {
    Buffers w;
    describe(&w, desc);
    bool empty = false;
    for (int d = 0; d < w.b[w.n_in].rank; d++) empty |= box[2 * d + 1] < box[2 * d];
    int code = 0;
    WholeFault fault = WHOLE_FINE;
    if (!empty) {
        ask_for(&w, box);
        code = call(fn, &w, arg, mode);
        fault = code ? WHOLE_FINE : fault_of(&w, desc, box);
    }
    if (which == WHOLE_CODE) return code;
    if (which == WHOLE_FAULT) return fault;
    int buffer = which / (2 * MLC_MAX_RANK), d = which / 2 % MLC_MAX_RANK;
    bool last = which % 2;
    if (!empty && !code && !fault) return w.b[buffer].dim[d].min + (last ? w.b[buffer].dim[d].extent - 1 : 0);
    if (buffer >= w.n_in) return box[2 * d + last];
    return last ? -WHOLE_FAREST : WHOLE_FAREST;
}

int whole_run(void (*fn)(void), const int *desc, void *const *data, const int64_t *shape, const mlc_scalar *arg,
              unsigned mode) {
    Buffers w;
    describe(&w, desc);
    for (int i = 0; i < w.n_in + w.n_out; i++) {
        w.b[i].data = data[i];
        for (int d = 0; d < w.b[i].rank; d++, shape += 3) w.b[i].dim[d] = (mlc_dim_t){ shape[0], shape[1], shape[2] };
    }
    return call(fn, &w, arg, mode);
}
