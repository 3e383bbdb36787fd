/* value_range.c - which values a Func can have, so that a table which they index is computed no larger.
 *
 *     half(x) = in(x) / 4 + 10;      of u8: 10 .. 73
 *     out(x) = lut(index(half(x)));  asks for lut over 10 .. 73, not 0 .. 255
 *
 * A Func of one pure definition has the values of that expression; an input has its declared range. */
#include "lower/nest.h"

#include <math.h>

typedef struct {
    Build *b;
    const Facts *facts;
} Reads;

static const Facts *known(Build *b, const Facts *f, const Func *read) {
    const Interval *r = low_value_range(b, read);
    if (!r) return f;
    Facts *more = ARENA_NEW(b->arena, Facts);
    *more = (Facts){ .up = f, .memory = read, .range = *r };
    return more;
}

static void add_read(void *user, const Node *e) {
    Reads *r = user;
    if (e->op == OP_ACCESS) r->facts = known(r->b, r->facts, e->u.func);
}

static bool is_whole(mlc_type t) {
    return ty_is_int(t) || t == MLC_INDEX;
}

static bool find(Build *b, const Func *f, int64_t *lo, int64_t *hi) {
    mlc_type t = f->type[0];
    if (f->n != 1 || !is_whole(t)) return false;
    if (f->is_input) {
        if (f->has_range) *lo = (int64_t)ceil(f->lo), *hi = (int64_t)floor(f->hi);
        return f->has_range;
    }
    if (f->def.n != 1) return false;
    Reads r = { .b = b };
    ir_visit(b->arena, f->def.at[0]->value[0], add_read, &r);
    return sim_const_bounds(b->ir, r.facts, f->def.at[0]->value[0], lo, hi);
}

const Interval *low_value_range(Build *b, const Func *f) {
    Interval *r = pm_get(&b->values, f);
    int64_t lo, hi;
    if (!r) {
        r = ARENA_NEW(b->arena, Interval);
        pm_put(&b->values, f, r);
        if (find(b, f, &lo, &hi)) *r = (Interval){ ir_int(b->ir, f->type[0], lo), ir_int(b->ir, f->type[0], hi) };
    }
    return r->lo ? r : NULL;
}

const Facts *low_data_facts(Build *b, const Facts *f, const StageNest *st) {
    for (int i = 0; i < st->read.n; i++)
        if (st->read.at[i].in_index) f = known(b, f, st->read.at[i].func);
    return f;
}
