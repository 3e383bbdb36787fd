/* race.c - which loops over reduction variables are free of order.
 *
 * A pure Var stands at its own place on the left and in every self-read, so its iterations never meet.
 * Those of an RVar r never do where
 *   - a coordinate on the left is a * r + b, with a constant a that is not 0 and a b that is the same in all
 *     iterations, or, as in 32 * ro + ri, moved by other RVars in steps that do not bridge those of r, so that each
 *     stores at places of its own; and
 *   - every self-read has that coordinate too, or is at a place where no iteration of the stage stores: in some
 *     dimension its coordinate differs from that of every store.
 * Anything else is taken to conflict. */
#include "schedule/resolve.h"
#include "simplify/simplify.h"

typedef struct {
    Interner *I;
    const Func *f;
    const Def *def;
    int place;          /* the coordinate on the left that tells iterations apart */
    const Facts *facts; /* where the RVars lie, and their copies */
    PtrMap other;       /* RVar -> the same of another iteration */
    bool escaped;       /* f is read at a place where another iteration may store */
} Race;

/* ---- the same in all iterations ---- */

static void find_variable(void *user, const Node *e) {
    void **found = user; /* f, then what is looked for: any RVar where NULL */
    bool own = e->op == OP_RANDOM || (e->op == OP_ACCESS && e->u.func == found[0]);
    bool rvar = e->op == OP_VAR && e->u.sym->kind == SYM_RVAR;
    if (own) found[1] = found;
    if (rvar) found[2] = found;
}

/* Made of nothing that a store of the stage changes, and, where asked, of no RVar. */
static bool is_fixed(const Race *w, const Node *e, bool rvars) {
    void *found[3] = { (void *)(uintptr_t)w->f, NULL, NULL };
    ir_visit(w->I->arena, e, find_variable, found);
    return !found[1] && (rvars || !found[2]);
}

/* ---- places of its own ---- */

enum { MOST = 1 << 28 }; /* of a coefficient and an extent: products of them fit */

static int64_t size_of(const Node *extent) {
    int64_t n;
    return ir_is_int(extent, &n) && n < MOST ? (n > 0 ? n : 1) : 0;
}

static int64_t gcd(int64_t a, int64_t b) {
    return b ? gcd(b, a % b) : a;
}

/* Does coord differ wherever r does?  Of the other RVars those with smaller steps must not reach a step of r, and those
 * with larger ones, together multiples of some number, must be out of reach of all of r and these. */
static bool tells_apart(const Race *w, const Node *coord, const Sym *r) {
    const RDom *dom = w->def->rdom;
    int64_t a, own = 0, reach = 0, large = 0;
    const Node *rest;
    if (!sim_linear(w->I, coord, r, &a, &rest) || !a || a <= -MOST || a >= MOST) return false;
    a = a < 0 ? -a : a;
    for (int k = 0; k < dom->n; k++) {
        int64_t c, n = size_of(dom->extent[k]);
        if (dom->var[k] == r) own = n;
        if (dom->var[k] == r || !ir_uses(w->I->arena, rest, dom->var[k])) continue;
        if (!sim_linear(w->I, rest, dom->var[k], &c, &rest) || !n || c <= -MOST || c >= MOST) return false;
        c = c < 0 ? -c : c;
        if (c < a)
            reach += c * (n - 1);
        else
            large = gcd(large, c);
    }
    return is_fixed(w, rest, false) && reach < a && (!large || (own && a * (own - 1) + reach < large));
}

/* ---- places where nothing is stored ---- */

static const Facts *in_range(const Race *w, const Facts *up, const Sym *var, const RDom *dom, int k) {
    return sim_with_loop(w->I, w->I->arena, up, var, dom->min[k], dom->extent[k]);
}

static void find_facts(Race *w) {
    const RDom *dom = w->def->rdom;
    pm_init(&w->other, w->I->arena);
    for (int k = 0; k < dom->n; k++) {
        Sym *s = arena_copy(w->I->arena, dom->var[k], sizeof *s);
        pm_put(&w->other, dom->var[k], (void *)(uintptr_t)ir_var(w->I, s));
        w->facts = in_range(w, in_range(w, w->facts, dom->var[k], dom, k), s, dom, k);
    }
}

/* No iteration stores in this plane of dimension d. */
static bool is_apart(const Race *w, int d, const Node *read) {
    const Node *store = w->def->coord[d];
    if (!is_fixed(w, read, true) || !is_fixed(w, store, true)) return false;
    store = ir_substitute(w->I, store, &w->other);
    Congruence c = sim_congruence(w->I, w->facts, sim_simplify(w->I, w->facts, ir_sub(w->I, read, store)));
    if (c.modulus != 1 && c.remainder != 0) return true;
    return sim_prove(w->I, w->facts, ir_make2(w->I, OP_LT, read, store)) ||
           sim_prove(w->I, w->facts, ir_make2(w->I, OP_LT, store, read));
}

static void look(void *user, const Node *e) {
    Race *w = user;
    if (e->op != OP_ACCESS || e->u.func != w->f || w->escaped) return;
    if (e->kid[w->place] == w->def->coord[w->place]) return;
    w->escaped = true;
    for (int d = 0; d < e->n && w->escaped; d++) w->escaped = !is_apart(w, d, e->kid[d]);
}

/* Everything that the stage evaluates: coordinates, values, predicates. */
static void look_everywhere(Race *w) {
    const Def *def = w->def;
    Arena *a = w->I->arena;
    for (int d = 0; d < def->rank; d++) ir_visit(a, def->coord[d], look, w);
    for (int i = 0; i < def->n; i++) ir_visit(a, def->value[i], look, w);
    for (int i = 0; i < def->rdom->where_canon.n; i++) ir_visit(a, def->rdom->where_canon.at[i], look, w);
}

bool sch_rvar_is_pure(Interner *I, const Func *f, const Def *def, const Sym *r) {
    Race w = { .I = I, .f = f, .def = def };
    find_facts(&w);
    for (int d = 0; d < def->rank; d++) {
        if (!is_fixed(&w, def->coord[d], true) || !tells_apart(&w, def->coord[d], r)) continue;
        w.place = d;
        w.escaped = false;
        look_everywhere(&w);
        if (!w.escaped) return true;
    }
    return false;
}
