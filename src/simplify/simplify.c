/* simplify.c - the driver: rewrites an expression bottom-up, each distinct node once.
 *
 * Operands first, then steps at the node until none changes it.  The order by which this ends: a step
 * returns a node with fewer operators, or the normal form of the same operators (sorted, constants
 * last), which no step changes again.  A step's result is made of simplified parts, and the few
 * nodes it builds around them are brought to normal form by that step itself.
 *
 * print and require must not be dropped or repeated less often than their point is computed, so what is
 * above one of them is rebuilt but not rewritten. */
#include "sim.h"

/* ---- facts ---- */

static const Facts *with(Arena *a, Facts more) {
    return arena_copy(a, &more, sizeof more);
}

const Facts *sim_with_range(Arena *a, const Facts *up, const Sym *var, Interval range) {
    return with(a, (Facts){ .up = up, .var = var, .range = range });
}

const Facts *sim_with_loop(Interner *I, Arena *a, const Facts *up, const Sym *var, const Node *min, const Node *extent) {
    return sim_with_range(a, up, var, (Interval){ min, ir_sub(I, ir_add(I, min, extent), ir_idx(I, 1)) });
}

const Facts *sim_with_truth(Arena *a, const Facts *up, const Node *truth) {
    return with(a, (Facts){ .up = up, .truth = truth });
}

/* ---- a node ---- */


/* A node whose range is one value is that value. */
static const Node *constant(Sim *s, const Node *e) {
    mlc_type t = (mlc_type)e->type;
    if (e->op == OP_CONST || e->op == OP_REQUIRE || e->op == OP_PRINT || ty_is_float(t)) return e;
    Range r = range_of(s, e);
    return r.lo == r.hi && r.lo != NINF && r.lo != PINF ? ir_int(s->I, t, r.lo) : e;
}

static const Node *step(Sim *s, const Node *e) {
    if (e->op == OP_VAR) {
        const Bound *b = sim_find(s, e->u.sym);
        if (b && b->f->replace) return simple(s, b->f->range.lo);
        if (e->type == MLC_BOOL) return step_logic(s, e);
    }
    const Node *now = constant(s, e);
    if (now != e) return now;
    switch ((Op)e->op) {
    case OP_LIKELY: case OP_LIKELY_INNER: return ir_is_const(e->kid[0]) ? e->kid[0] : e;
    case OP_MIN: case OP_MAX:
        if (e->type == MLC_INDEX) now = step_minmax(s, e);
        break;
    case OP_ADD: case OP_SUB: case OP_MUL: case OP_NEG: case OP_DIV: case OP_MOD:
        if (e->type == MLC_INDEX) now = step_index(s, e);
        break;
    case OP_EQ: case OP_NE: case OP_LT: case OP_LE: case OP_LAND: case OP_LOR: case OP_LNOT: case OP_SELECT:
        now = step_logic(s, e);
        break;
    default: break;
    }
    return now != e ? now : step_rules(s, e);
}

/* The node with other operands, through the builders even where they are the same: it may have been
 * made without. */
static const Node *rebuilt(Sim *s, const Node *e, const Node *const *kids) {
    Op op = (Op)e->op;
    bool built = ir_ops[op].cls == CLASS_PRIM && ir_ops[op].rule != RULE_OWN && op != OP_CAST && op != OP_REINTERPRET;
    if (built && e->n == 1) return ir_make1(s->I, op, kids[0]);
    if (built && e->n == 2) return ir_make2(s->I, op, kids[0], kids[1]);
    if (built && e->n == 3) return ir_make3(s->I, op, kids[0], kids[1], kids[2]);
    return op == OP_CAST ? ir_cast(s->I, (mlc_type)e->type, kids[0]) : ir_with_kids(s->I, e, kids);
}

static bool simple_done(const Sim *s, const Info *i) {
    (void)s;
    return i->simple;
}

static void simple_fill(Sim *s, const Node *e, Info *i) {
    const Node *small[8];
    const Node **kids = e->n <= 8 ? small : ARENA_ARRAY(s->arena, const Node *, e->n);
    for (int k = 0; k < e->n; k++) kids[k] = sim_info(s, e->kid[k])->simple;
    const Node *now = rebuilt(s, e, kids);
    i->acts = e->op == OP_PRINT || e->op == OP_REQUIRE;
    for (int k = 0; k < e->n; k++) i->acts |= sim_info(s, e->kid[k])->acts;
    if (!i->acts && (ir_ops[e->op].cls == CLASS_PRIM || e->op == OP_VAR)) {
        /* Steps end by themselves (see above); the bound keeps a wrong row from hanging a compile. */
        for (int round = 0; round < 64; round++) {
            const Info *known = sim_info(s, now);
            const Node *next = known->simple ? known->simple : step(s, now);
            if (next == now) break;
            now = next;
        }
    }
    i->simple = now;
    Info *result = sim_info(s, now);
    result->acts = i->acts;
    if (!result->simple) result->simple = now;
}

const Node *simple(Sim *s, const Node *e) {
    Info *i = sim_info(s, e);
    if (!i->simple) sim_walk(s, e, simple_done, simple_fill);
    return i->simple;
}
