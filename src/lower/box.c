/* box.c - what directives make of the box that readers need: it is aligned first, and bounded then.
 *
 *     align_bounds(x, 8, 3)     needed 9 to 20: computed 3 to 26
 *     align_extent(x, 8)        needed 9 to 20: computed 9 to 24
 *     bound_extent(x, 16)       needed 9 to 20: computed 9 to 24
 *
 * A box without points keeps none under align_extent. */
#include "lower/nest.h"

bool low_is_shaped(const FuncNest *fn, int d) {
    return fn->sched->bound[d].extent || fn->sched->align[d].modulus;
}

bool low_is_padded(const FuncNest *fn, int d) {
    return fn->computed[d].lo != fn->box[d].lo || fn->computed[d].hi != fn->box[d].hi;
}

static Interval from(Build *b, const Node *lo, const Node *length) {
    return (Interval){ lo, ir_sub(b->ir, ir_add(b->ir, lo, length), ir_idx(b->ir, 1)) };
}

/* e / modulus.  A name keeps it together, so that its product by the modulus is seen to be one. */
static const Node *quotient(Build *b, FuncNest *fn, int d, const Node *e, const Facts *f, const char *name) {
    const Node *q = ir_make2(b->ir, OP_DIV, e, ir_idx(b->ir, fn->sched->align[d].modulus));
    q = sim_simplify(b->ir, f, q);
    return ir_is_const(q) || q->op == OP_VAR ? q : low_name(b, fn, d, q, name, NULL);
}

static void align(Build *b, FuncNest *fn, int d, const Facts *f) {
    Interner *I = b->ir;
    int64_t modulus = fn->sched->align[d].modulus, most = fn->most[d];
    const Node *m = ir_idx(I, modulus), *r = ir_idx(I, fn->sched->align[d].remainder);
    Interval *box = &fn->box[d];
    if (!modulus) return;
    if (fn->sched->align[d].moves_min) {
        box->lo = ir_add(I, ir_mul(I, quotient(b, fn, d, ir_sub(I, box->lo, r), f, "aligned"), m), r);
        if (most > 0) most += modulus - 1;
    }
    const Node *up = ir_add(I, low_length(b, f, *box), ir_idx(I, modulus - 1));
    *box = from(b, box->lo, ir_mul(I, quotient(b, fn, d, up, f, "tiles"), m));
    box->lo = sim_simplify(I, f, box->lo);
    box->hi = sim_simplify(I, f, box->hi);
    if (!ir_is_int(low_length(b, f, *box), &fn->most[d]) && most > 0) fn->most[d] = (most + modulus - 1) / modulus * modulus;
}

static void bound(Build *b, FuncNest *fn, int d, const Facts *f) {
    const Node *min = fn->sched->bound[d].min, *extent = fn->sched->bound[d].extent;
    Interval need = fn->box[d];
    if (!extent) return;
    Interval box = from(b, min ? min : need.lo, extent);
    const Node *cond = ir_make2(b->ir, OP_LE, need.hi, box.hi);
    if (min) cond = ir_make2(b->ir, OP_LAND, ir_make2(b->ir, OP_LE, min, need.lo), cond);
    cond = sim_simplify(b->ir, f, cond);
    fn->box[d] = box;
    ir_is_int(extent, &fn->most[d]);
    if (ir_is(cond, 1)) return;
    const Node *all[4] = { need.lo, need.hi, min, box.hi }, *length[3] = { need.lo, need.hi, extent };
    const char *name = fn->func->name, *dimension = low_number(b, d);
    Stmt *check = min ? low_check(b, cond, ERR_BOUND_BOX, name, dimension, 4, all)
                      : low_check(b, cond, ERR_BOUND_EXTENT, name, dimension, 3, length);
    check->line = fn->sched->bound[d].line;
    VEC_PUSH(b->arena, &fn->check, check);
}

void low_shape_box(Build *b, FuncNest *fn, const Facts *f) {
    for (int d = 0; d < fn->func->rank; d++) {
        align(b, fn, d, f);
        bound(b, fn, d, f);
    }
}
