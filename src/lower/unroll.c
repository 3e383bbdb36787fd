/* unroll.c - how often an unrolled loop is written out, and vector loops held to constant extents.
 *
 * A loop whose extent is no constant but has a small bound is written out under conditions; one without a
 * bound is the user's error.  The copies are made by simplify_pass.c, which simplifies each as it is made. */
#include "lower/passes.h"
#include "schedule/resolve.h"

enum { MOST = 512, MOST_TOGETHER = 4096 };

static Place place_of(Arena *a, const Stmt *s) {
    if (s->line) return sch_place(a, s->line);
    return (Place){ .object = arena_printf(a, "schedule %s", s->u.loop.var->func->name) };
}

static const char *name_of(const Stmt *s) {
    return s->u.loop.dim ? s->u.loop.dim->name : s->u.loop.var->name;
}

static const char *func_of(const Stmt *s) {
    return s->u.loop.var->func ? s->u.loop.var->func->name : "";
}

int64_t low_copies(Arena *a, Sim *sim, const Stmt *s, const Node *extent, int64_t around) {
    int64_t lo, n;
    if (!ir_is_int(extent, &n) && !sim_const_ends(sim, extent, &lo, &n)) {
        Place place = place_of(a, s);
        fault_raise(a->fault, ERR_UNROLL_EXTENT, &place, name_of(s), func_of(s));
    }
    if (n > MOST) {
        Place place = place_of(a, s);
        fault_raise(a->fault, ERR_UNROLL_SIZE, &place, name_of(s), func_of(s), (long long)n);
    }
    if (n * around > MOST_TOGETHER) {
        Place place = place_of(a, s);
        fault_raise(a->fault, ERR_UNROLL_TOTAL, &place, name_of(s), func_of(s), (long long)(n * around));
    }
    return n;
}

void low_check_lanes(Arena *a, const Stmt *s, const Node *extent) {
    int64_t n;
    if (ir_is_int(extent, &n)) return;
    Place place = place_of(a, s);
    fault_raise(a->fault, ERR_VECTOR_EXTENT, &place, name_of(s), func_of(s));
}
