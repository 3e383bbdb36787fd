/* checks.c - memory of the caller: its description, and what it must satisfy before any work is done.
 *
 * A min, extent or stride that the program fixes (mlc_dim, bound) stands as a constant everywhere; the
 * check at entry is what makes that true. */
#include "lower/nest.h"

#include <string.h>

const char *low_number(Build *b, int d) {
    return arena_printf(b->arena, "%d", d);
}

Stmt *low_check(Build *b, const Node *cond, ErrCode code, const char *t0, const char *t1, int n,
                const Node *const *arg) {
    return st_check(b->arena, cond, code, t0, t1, n, arg);
}

void low_entry(Build *b, Stmt *check) {
    if (ir_is(check->u.check.cond, 1)) return;
    VEC_PUSH(b->arena, &b->check, check);
}

/* The constant that a fact about the caller's buffer is fixed to, and the check that it is. */
static const Node *fixed(Build *b, const Func *f, int d, const Sym *have, const Node *want, ErrCode code) {
    const Node *arg[2] = { ir_var(b->ir, have), want };
    low_entry(b, low_check(b, ir_make2(b->ir, OP_EQ, arg[0], want), code, f->name, low_number(b, d), 2, arg));
    return want;
}

static const Node *align_down(Interner *I, const Node *e, int64_t modulus, int64_t remainder) {
    const Node *m = ir_idx(I, modulus), *r = ir_idx(I, remainder);
    return ir_add(I, ir_mul(I, ir_make2(I, OP_DIV, ir_sub(I, e, r), m), m), r);
}

/* An output is aligned as its buffer is: what stands for its min and extent shows it. */
static void align_dimension(Build *b, Storage *t, const FuncSched *fs, int d) {
    Interner *ir = b->ir;
    int64_t m = fs->align[d].modulus, r = fs->align[d].remainder;
    const Node *arg[3] = { t->extent[d], ir_idx(ir, m) }, *aligned = align_down(ir, t->extent[d], m, 0);
    const char *name = t->func->name, *dimension = low_number(b, d);
    low_entry(b, low_check(b, ir_make2(ir, OP_EQ, aligned, t->extent[d]), ERR_BUFFER_EXTENT_ALIGN, name, dimension, 2, arg));
    t->extent[d] = aligned;
    if (!fs->align[d].moves_min) return;
    arg[0] = t->min[d], arg[1] = ir_idx(ir, r), arg[2] = ir_idx(ir, m);
    aligned = align_down(ir, t->min[d], m, r);
    low_entry(b, low_check(b, ir_make2(ir, OP_EQ, aligned, t->min[d]), ERR_BUFFER_MIN_ALIGN, name, dimension, 3, arg));
    t->min[d] = aligned;
}

static void describe_dimension(Build *b, Storage *t, int d) {
    Func *f = t->func;
    Interner *ir = b->ir;
    FuncSched *fs = pm_get(&b->sched->sched, f);
    const Node *min = NULL, *extent = NULL, *stride = NULL;
    if (f->dim[d].has_min) min = ir_idx(ir, f->dim[d].min);
    if (f->dim[d].has_extent) extent = ir_idx(ir, f->dim[d].extent);
    if (f->dim[d].has_stride) stride = ir_idx(ir, f->dim[d].stride);
    if (fs && fs->bound[d].min) min = fs->bound[d].min;
    if (fs && fs->bound[d].extent) extent = fs->bound[d].extent;
    t->min[d] = min ? fixed(b, f, d, f->min[d], min, ERR_BUFFER_MIN) : ir_var(ir, f->min[d]);
    t->extent[d] = extent ? fixed(b, f, d, f->extent[d], extent, ERR_BUFFER_EXTENT) : ir_var(ir, f->extent[d]);
    if (fs && fs->align[d].modulus) align_dimension(b, t, fs, d);
    t->stride[d] = stride ? stride : ir_var(ir, f->stride[d]);
    if (stride) { /* one element: any stride will do */
        const Node *arg[2] = { ir_var(ir, f->stride[d]), stride };
        const Node *one = ir_make2(ir, OP_LE, t->extent[d], ir_idx(ir, 1));
        const Node *good = ir_make2(ir, OP_LOR, ir_make2(ir, OP_EQ, arg[0], stride), one);
        low_entry(b, low_check(b, good, ERR_BUFFER_STRIDE, f->name, low_number(b, d), 2, arg));
    }
    if (f->dim[d].align > 1) {
        const Node *arg[2] = { ir_var(ir, f->stride[d]), ir_idx(ir, f->dim[d].align) };
        const Node *rest = ir_make2(ir, OP_MOD, arg[0], arg[1]);
        low_entry(b, low_check(b, ir_make2(ir, OP_EQ, rest, ir_idx(ir, 0)), ERR_BUFFER_ALIGN, f->name, low_number(b, d), 2, arg));
    }
}

static void describe(Build *b, Func *f, bool is_output) {
    Storage *t = ARENA_NEW(b->arena, Storage);
    char *name = arena_str(b->arena, f->name);
    for (char *c = name; *c; c++)
        if (*c == '.' || *c == '$') *c = '_';
    *t = (Storage){ .func = f, .name = name, .is_input = !is_output, .is_output = is_output, .rank = f->rank, .n = f->n };
    memcpy(t->type, f->type, sizeof t->type);
    sm_put(&b->names, name, (void *)(uintptr_t)1);
    for (int i = 0; i < b->program->external.n; i++) t->slot += b->program->external.at[i]->n;
    pm_put(&b->external, f, t);
    VEC_PUSH(b->arena, &b->program->external, t);
    for (int d = 0; d < f->rank; d++) describe_dimension(b, t, d);
}

void low_external(Build *b) {
    Schedule *s = b->sched;
    for (int i = 0; i < s->order.n; i++)
        if (s->order.at[i]->is_input) describe(b, s->order.at[i], false);
    for (int i = 0; i < s->n_outputs; i++) describe(b, s->output[i], true);
}

/* ---- inputs ---- */

static void simplify_box(Build *b, int rank, Interval *box) {
    for (int d = 0; d < rank && box[d].lo; d++) {
        box[d].lo = sim_simplify(b->ir, b->base, box[d].lo);
        box[d].hi = sim_simplify(b->ir, b->base, box[d].hi);
    }
}

/* The buffer holds the box, or nobody is there to read it. */
static void check_box(Build *b, const Storage *t, const Interval *box, const Node *runs) {
    Interner *ir = b->ir;
    for (int d = 0; d < t->rank && box[d].lo; d++) {
        Interval need = box[d];
        const Node *last = ir_sub(ir, ir_add(ir, t->min[d], t->extent[d]), ir_idx(ir, 1));
        const Node *inside = ir_make2(ir, OP_LAND, ir_make2(ir, OP_LE, t->min[d], need.lo), ir_make2(ir, OP_LE, need.hi, last));
        const Node *empty = ir_make2(ir, OP_LT, need.hi, need.lo);
        if (!ir_is(runs, 1)) empty = ir_make2(ir, OP_LOR, empty, ir_make1(ir, OP_LNOT, runs));
        const Node *cond = sim_simplify(ir, b->base, ir_make2(ir, OP_LOR, inside, empty));
        const Node *arg[4] = { need.lo, need.hi, t->min[d], last };
        low_entry(b, low_check(b, cond, ERR_INPUT_BOX, t->func->name, low_number(b, d), 4, arg));
    }
}

static const Node *choose(Build *b, const Node *cond, const Node *yes, const Node *no) {
    return sim_simplify(b->ir, b->base, ir_make3(b->ir, OP_SELECT, cond, yes, no));
}

/* The box of one more reader joins those of the readers before it, of which `any` says whether one runs. */
static const Node *join(Build *b, int rank, Interval *all, const Node *any, const Interval *box, const Node *runs) {
    for (int d = 0; d < rank && box[d].lo; d++) {
        Interval both = all[d].lo ? low_union(b, b->base, all[d], box[d]) : box[d], old = all[d].lo ? all[d] : box[d];
        all[d].lo = choose(b, any, choose(b, runs, both.lo, old.lo), box[d].lo);
        all[d].hi = choose(b, any, choose(b, runs, both.hi, old.hi), box[d].hi);
    }
    return sim_simplify(b->ir, b->base, ir_make2(b->ir, OP_LOR, any, runs));
}

static void read_box(Build *b, const Storage *t, const StageNest *st, Interval *box) {
    for (int d = 0; d < t->rank; d++) box[d] = (Interval){ NULL, NULL };
    low_required_by(b, t->func, st, b->root, box);
    simplify_box(b, t->rank, box);
}

/* The end of the readers from i on that are schedules of one stage and read the same box; *runs: does one run? */
static int same_readers(Build *b, const Storage *t, const UseList *uses, int i, const Interval *box, const Node **runs) {
    int next;
    *runs = low_group_runs(b, uses, i, &next);
    for (int k = i + 1; k < next; k++) {
        Interval other[MAX_RANK];
        read_box(b, t, uses->at[k], other);
        if (!memcmp(box, other, sizeof *box * (size_t)t->rank)) continue;
        *runs = uses->at[i]->runs;
        return i + 1;
    }
    return next;
}

/* Readers of which some may have no point: each has a check of its own. */
static void check_readers(Build *b, const Storage *t, Required *r, const UseList *uses) {
    const Node *any = ir_bool(b->ir, false), *runs;
    for (int i = 0; i < uses->n;) {
        Interval box[MAX_RANK];
        read_box(b, t, uses->at[i], box);
        i = same_readers(b, t, uses, i, box, &runs);
        check_box(b, t, box, runs);
        any = join(b, t->rank, r->dim, any, box, runs);
    }
    for (int d = 0; d < t->rank && r->dim[d].lo; d++)
        r->dim[d].hi = choose(b, any, r->dim[d].hi, ir_sub(b->ir, r->dim[d].lo, ir_idx(b->ir, 1)));
}

static void check_input(Build *b, const Storage *t, Required *r) {
    const UseList *uses = pm_get(&b->uses, t->func);
    bool all_run = true;
    r->input = t->func;
    for (int i = 0; uses && i < uses->n; i++) all_run &= ir_is(uses->at[i]->runs, 1);
    if (!all_run) {
        check_readers(b, t, r, uses);
        return;
    }
    low_required(b, t->func, b->root, r->dim);
    simplify_box(b, t->rank, r->dim);
    check_box(b, t, r->dim, ir_bool(b->ir, true));
}

/* The boxes of root by what they are made of: shapes of outputs and params alone. */
static void expand_required(Build *b, Required *r) {
    PtrMap map;
    pm_init(&map, b->arena);
    for (int i = 0; i < b->root->box.n; i++) {
        const BoxLet *let = &b->root->box.at[i];
        pm_put(&map, let->sym, (void *)(uintptr_t)ir_substitute(b->ir, let->value, &map));
    }
    for (int d = 0; map.n && d < r->input->rank && r->dim[d].lo; d++) {
        r->dim[d].lo = ir_substitute(b->ir, r->dim[d].lo, &map);
        r->dim[d].hi = ir_substitute(b->ir, r->dim[d].hi, &map);
    }
}

void low_entry_checks(Build *b) {
    Program *p = b->program;
    Required *all = ARENA_ARRAY(b->arena, Required, p->external.n + 1);
    int n = 0;
    for (int i = 0; i < p->external.n; i++)
        if (p->external.at[i]->is_input) check_input(b, p->external.at[i], &all[n++]);
    low_index_casts(b);
    for (int i = 0; i < n; i++) expand_required(b, &all[i]);
    p->required = all;
    p->n_required = n;
}
