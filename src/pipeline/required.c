/* required.c - which boxes of the inputs do boxes of the outputs need?
 *
 * Lowering leaves the answer as expressions of the outputs' mins and extents, of params and of the inputs'
 * own sizes (boundary conditions clamp to them): numbers are put in their place. */
#include "pipeline/pipeline.h"

#include <string.h>

typedef struct {
    Compile *c;
    PtrMap number; /* Sym -> Node */
} Numbers;

static void put(Numbers *n, const Sym *s, int64_t v) {
    if (s) pm_put(&n->number, s, (void *)(uintptr_t)ir_idx(&n->c->ir, v));
}

static void check_near(Numbers *n, const Func *f, int d, const char *what, int64_t v, int bits) {
    long long far = 1ll << bits;
    if (v < -far || v > far) fault_raise(&n->c->fault, ERR_CALL_FAR, NULL, what, (long long)v, d, f->name, far);
}

static void put_outputs(Numbers *n, const mlc_box *box, int bits) {
    for (int i = 0; i < n->c->n_outputs; i++) {
        const Func *f = n->c->schedule->output[i];
        for (int d = 0; d < f->rank; d++, box++) {
            check_near(n, f, d, "the min", box->min, bits);
            check_near(n, f, d, "the extent", box->extent, bits);
            put(n, f->min[d], box->min);
            put(n, f->extent[d], box->extent);
        }
    }
}

/* Sizes of the buffers bound to inputs, and params that have a value. */
static void put_rest(Numbers *n, const Program *p) {
    for (int i = 0; i < p->n_required; i++) {
        const Func *f = p->required[i].input;
        for (int d = 0; f->bound && d < f->rank; d++) {
            put(n, f->min[d], f->bound->dim[d].min);
            put(n, f->extent[d], f->bound->dim[d].extent);
            put(n, f->stride[d], f->bound->dim[d].stride);
        }
    }
    for (int i = 0; i < n->c->ctx->params.n; i++) {
        const Sym *s = n->c->ctx->params.at[i];
        const Value *v = pm_get(&n->c->ctx->param_value, s);
        if (v) pm_put(&n->number, s, (void *)(uintptr_t)ir_const(&n->c->ir, s->type, *v));
    }
}

static int64_t number_of(Numbers *n, const Node *e) {
    int64_t v;
    const Node *r = low_answered(&n->c->ir, ir_substitute(&n->c->ir, e, &n->number), n->c->ctx->mode);
    if (!ir_is_int(r, &v)) fault_raise(&n->c->fault, ERR_REQUIRED_OPEN, NULL, ir_show(&n->c->ir, r));
    return v;
}

static bool has_points(const Numbers *n, const mlc_box *box) {
    for (int i = 0; i < n->c->n_outputs; i++) {
        bool all = true;
        for (int d = 0; d < n->c->output[i]->rank; d++, box++) all &= box->extent > 0;
        if (all) return true;
    }
    return false;
}

static void answer(Numbers *n, const Program *p, bool work, void (*each)(void *user, const char *input, int rank, const mlc_box *need),
                   void *user) {
    for (int i = 0; i < p->n_required; i++) {
        const Required *r = &p->required[i];
        mlc_box box[MAX_RANK];
        for (int d = 0; d < r->input->rank; d++) {
            box[d] = (mlc_box){ 0, 0 };
            if (!work || !r->dim[d].lo || !r->dim[d].hi) continue; /* nothing is read */
            int64_t lo = number_of(n, r->dim[d].lo), hi = number_of(n, r->dim[d].hi);
            box[d] = (mlc_box){ lo, hi < lo ? 0 : hi - lo + 1 };
        }
        each(user, r->input->name, r->input->rank, box);
    }
}

void pl_required(Compile *c, const Program *p, const mlc_box *box,
                 void (*each)(void *user, const char *input, int rank, const mlc_box *need), void *user) {
    Numbers n = { .c = c };
    pm_init(&n.number, &c->arena);
    put_outputs(&n, box, p->index_bits);
    put_rest(&n, p);
    answer(&n, p, has_points(&n, box), each, user);
}

bool mlc_required(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const mlc_box *box,
                  void (*each)(void *user, const char *input, int rank, const mlc_box *need), void *user,
                  mlc_error_info *error) {
    Compile c;
    Barrier b;
    volatile bool good = false;
    pl_open(&c, plan, n_outputs, outputs);
    if (FAULT_TRY(&c.fault, b)) {
        pl_begin(&c, plan, n_outputs, outputs, NULL);
        if (!box || !each) fault_raise(&c.fault, ERR_NO_BOXES, NULL);
        pl_resolve(&c);
        const Program *p = pl_lower(&c, true);
        pl_required(&c, p, box, each, user);
        good = true;
        FAULT_END(&c.fault, b);
    }
    pl_close(&c);
    pl_give_error(error, &c.fault);
    return good;
}
