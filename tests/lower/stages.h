/* stages.h - C functions of extern stages for tests.  All work on i32 and count how they are called. */
#ifndef STAGES_H
#define STAGES_H

#include <mlc.h>

#include <stdatomic.h>
#include <stdlib.h>

static atomic_int queries, runs;
static int fail_query, fail_run, lie; /* codes to return; which wrong answer to give */

/* Boxes that were asked for, and what the answer was, in dimension 0 of the first input. */
typedef struct {
    int64_t lo, hi, need_lo, need_hi;
} Answer;
static Answer answers[4096];
static atomic_int n_answers;

static inline int32_t *i32_at(const mlc_buffer *b, int64_t d0, int64_t d1) {
    return mlc_buffer_at(b, (int64_t[]){ d0, d1 });
}

static inline int64_t last(const mlc_buffer *b, int d) {
    return b->dim[d].min + b->dim[d].extent - 1;
}

#define EACH_POINT(b)                                                       \
    for (int64_t y_ = (b)->dim[1].min; y_ <= ((b)->rank > 1 ? last(b, 1) : (b)->dim[1].min); y_++) \
        for (int64_t x_ = (b)->dim[0].min; x_ <= last(b, 0); x_++)

static inline void widen(mlc_buffer *b, int d, int64_t below, int64_t above) {
    b->dim[d].min -= below;
    b->dim[d].extent += below + above;
}

static inline void note_answer(const mlc_buffer *in, const mlc_buffer *out) {
    int i = atomic_fetch_add(&n_answers, 1);
    if (i < 4096) answers[i] = (Answer){ out->dim[0].min, last(out, 0), in->dim[0].min, last(in, 0) };
}

/* out(x, y) = scale * (in(x - 1, y) + 2 * in(x, y) + 3 * in(x + 1, y)) */
static inline int stage_blur(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    if (!out[0]->data) {
        atomic_fetch_add(&queries, 1);
        widen(in[0], 0, 1, 1);
        if (lie == 1) in[0]->type = MLC_F32;
        if (lie == 2) in[0]->dim[1].extent = -1;
        if (lie == 3) out[0]->dim[0].extent -= 1;
        if (lie == 4 && out[0]->dim[0].extent > 8) widen(in[0], 0, -1, -1); /* a larger box needs less */
        note_answer(in[0], out[0]);
        return fail_query;
    }
    atomic_fetch_add(&runs, 1);
    int32_t scale = (int32_t)arg[0].i;
    EACH_POINT(out[0])
        *i32_at(out[0], x_, y_) = scale * (*i32_at(in[0], x_ - 1, y_) + 2 * *i32_at(in[0], x_, y_) + 3 * *i32_at(in[0], x_ + 1, y_));
    return fail_run;
}

/* out(x, y) = 3 * x + 5 * y + arg: reads nothing. */
static inline int stage_ramp(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    (void)in;
    if (!out[0]->data) return 0;
    atomic_fetch_add(&runs, 1);
    EACH_POINT(out[0]) *i32_at(out[0], x_, y_) = (int32_t)(3 * x_ + 5 * y_ + arg[0].i);
    return 0;
}

static inline int64_t down(int64_t v) {
    return v >= 0 ? v / 8 * 8 : -((-v + 7) / 8 * 8);
}

/* out(x, y) = in(x, y) + 7, in blocks of 8 points a row: it writes more than it is asked for. */
static inline int stage_blocks(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    (void)arg;
    if (!out[0]->data) {
        int64_t lo = down(out[0]->dim[0].min), hi = down(last(out[0], 0)) + 7;
        out[0]->dim[0] = (mlc_dim_t){ lo, hi - lo + 1, 1 };
        in[0]->dim[0] = out[0]->dim[0];
        return 0;
    }
    if (out[0]->dim[0].min % 8 || out[0]->dim[0].extent % 8) return 88;
    atomic_fetch_add(&runs, 1);
    EACH_POINT(out[0]) *i32_at(out[0], x_, y_) = *i32_at(in[0], x_, y_) + 7;
    return 0;
}

/* {out0, out1}(x, y) = {a(y, x) + row(x), a(y, x) - row(x)}: a tuple of two inputs, one of them transposed and the other of one dimension. */
static inline int stage_cross(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    (void)arg;
    if (!out[0]->data) {
        in[0]->dim[0] = out[0]->dim[1];
        in[0]->dim[1] = out[0]->dim[0];
        return 0;
    }
    atomic_fetch_add(&runs, 1);
    EACH_POINT(out[0]) {
        int32_t a = *i32_at(in[0], y_, x_), row = *(int32_t *)mlc_buffer_at(in[1], (int64_t[]){ x_ });
        *i32_at(out[0], x_, y_) = a + row;
        *i32_at(out[1], x_, y_) = a - row;
    }
    return 0;
}

static inline void reset_stages(void) {
    queries = runs = n_answers = 0;
    fail_query = fail_run = lie = 0;
}

#endif
