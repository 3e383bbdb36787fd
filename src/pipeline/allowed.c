/* allowed.c - the largest box of an output that the bound inputs allow.
 *
 * Lowering answers which boxes of the inputs a box of the output needs (required.c); this asks it often.  First
 * a point that fits is sought, by steps that lessen what is lacking.  From it each dimension grows alone, both
 * ways, by doubling and then halving: need grows with the box, so what fits ends somewhere once.  Last the
 * product of all dimensions must fit; where it does not, dimensions trade off against each other and no one
 * box is the largest.  The plan does not matter: what is needed for one point must not depend on tiles. */
#include "pipeline/pipeline.h"

#include <string.h>

typedef struct {
    Compile *c;
    const Program *p;
    const Func *f;          /* the output */
    mlc_box box[MAX_RANK];  /* what is asked */
    int64_t most;           /* beyond it nothing limits */
    int input;              /* of the answer now given */
    double lack;            /* points missing, over all dimensions of all inputs */
} Ask;

static void take_need(void *user, const char *name, int rank, const mlc_box *need) {
    Ask *a = user;
    const mlc_buffer *b = a->p->required[a->input++].input->bound;
    (void)name;
    for (int d = 0; b && d < rank; d++) {
        if (need[d].extent <= 0) continue;
        double low = (double)b->dim[d].min - (double)need[d].min;
        double high = (double)need[d].min + (double)need[d].extent - (double)b->dim[d].min - (double)b->dim[d].extent;
        a->lack += (low > 0 ? low : 0) + (high > 0 ? high : 0);
    }
}

static double lack(Ask *a) {
    a->input = 0;
    a->lack = 0;
    pl_required(a->c, a->p, a->box, take_need, a);
    return a->lack;
}

/* A point that fits: along each dimension, steps from long to short while they lessen the lack. */
static bool find_point(Ask *a) {
    double best = lack(a);
    for (int round = 0; round < 4 && best > 0; round++) {
        for (int d = 0; d < a->f->rank && best > 0; d++) {
            for (int64_t step = a->most / 2; step && best > 0; step /= 2) {
                int64_t from = a->box[d].min;
                for (int sign = -1; sign <= 1 && a->box[d].min == from; sign += 2) {
                    a->box[d].min = from + sign * step;
                    bool far = a->box[d].min < -a->most || a->box[d].min > a->most;
                    double now = far ? best : lack(a);
                    if (now < best) best = now;
                    else a->box[d].min = from;
                }
            }
        }
    }
    return best == 0;
}

/* How many points can dimension d grow from its point?  -1: nothing limits it. */
static int64_t growth(Ask *a, int d, bool down) {
    mlc_box point = a->box[d];
    int64_t good = 0, bad = 1;
    bool limited = false;
    while (!limited || bad - good > 1) {
        int64_t k = limited ? good + (bad - good) / 2 : bad;
        if (k > a->most) break;
        a->box[d] = (mlc_box){ down ? point.min - k : point.min, k + 1 };
        if (lack(a) > 0) limited = true, bad = k;
        else if (limited) good = k;
        else good = k, bad = 2 * k;
    }
    a->box[d] = point;
    return limited ? good : -1;
}

static const mlc_buffer *first_of_rank(const Ask *a, bool *empty) {
    const mlc_buffer *like = NULL;
    for (int i = 0; i < a->p->n_required; i++) {
        const mlc_buffer *b = a->p->required[i].input->bound;
        if (b && b->rank == a->f->rank && !like) like = b;
        for (int d = 0; b && d < b->rank; d++) *empty |= b->dim[d].extent <= 0;
    }
    return like;
}

/* The range of dimension d around its point; false where nothing tells it. */
static bool range(Ask *a, int d, const mlc_buffer *like, mlc_box *r) {
    int64_t down = growth(a, d, true), up = growth(a, d, false), at = a->box[d].min;
    int64_t lo = at - down, hi = at + up;
    if (a->f->dim[d].has_extent) {
        if (a->f->dim[d].has_min) lo = a->f->dim[d].min;
        else if (down < 0) lo = at;
        *r = (mlc_box){ lo, a->f->dim[d].extent };
        return true;
    }
    if ((down < 0 || up < 0) && !like) return false;
    if (down < 0 || (like && up < 0 && lo < like->dim[d].min)) lo = like->dim[d].min;
    if (up < 0) hi = like->dim[d].min + like->dim[d].extent - 1;
    if (down < 0 && up >= 0 && hi >= like->dim[d].min + like->dim[d].extent) hi = like->dim[d].min + like->dim[d].extent - 1;
    if (a->f->dim[d].has_min) lo = a->f->dim[d].min;
    *r = (mlc_box){ lo, hi - lo + 1 };
    return hi >= lo;
}

static void allowed(Ask *a, mlc_box *box) {
    bool empty = false, good = true;
    const mlc_buffer *like = first_of_rank(a, &empty);
    int bits = a->p->index_bits < 34 ? a->p->index_bits - 2 : 32;
    a->most = INT64_C(1) << bits;
    for (int d = 0; d < a->f->rank; d++) a->box[d] = (mlc_box){ a->f->dim[d].has_min ? a->f->dim[d].min : 0, 1 };
    if (!find_point(a)) {
        if (!empty) fault_raise(&a->c->fault, ERR_ALLOWED_OPEN, NULL, a->f->name);
        for (int d = 0; d < a->f->rank; d++) box[d] = (mlc_box){ a->box[d].min, 0 };
        return; /* of nothing, nothing */
    }
    for (int d = 0; d < a->f->rank; d++) good = good && range(a, d, like, &box[d]);
    if (good) memcpy(a->box, box, sizeof *box * (size_t)a->f->rank);
    if (!good || lack(a) > 0) fault_raise(&a->c->fault, ERR_ALLOWED_OPEN, NULL, a->f->name);
}

bool mlc_allowed(mlc_func output, mlc_box *box, mlc_error_info *error) {
    Compile c;
    Barrier b;
    mlc_plan none = { .ctx = output.f ? output.f->ctx : NULL };
    volatile bool good = false;
    pl_open(&c, NULL, 1, &output);
    if (FAULT_TRY(&c.fault, b)) {
        none.arena = &c.arena;
        pl_begin(&c, &none, 1, &output, NULL);
        if (!box) fault_raise(&c.fault, ERR_NO_BOXES, NULL);
        pl_resolve(&c);
        Ask a = { .c = &c, .p = pl_lower(&c, true), .f = output.f };
        allowed(&a, box);
        good = true;
        FAULT_END(&c.fault, b);
    }
    pl_close(&c);
    pl_give_error(error, &c.fault);
    return good;
}
