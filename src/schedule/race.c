/* race.c - which loops over reduction variables are free of order.
 *
 * A pure Var stands at its own place on the left and in every self-read, so its iterations never meet.
 * An RVar has that freedom only where it does the same: alone at one place of the left-hand side, and at
 * that place in every self-read.  Anything else is taken to conflict. */
#include "schedule/resolve.h"

typedef struct {
    const Func *f;
    const Sym *r;
    int place;    /* of r on the left */
    bool escaped; /* f is read at another place than its own */
} Reads;

static bool is_var(const Node *e, const Sym *s) {
    return e->op == OP_VAR && e->u.sym == s;
}

static void look(void *user, const Node *e) {
    Reads *w = user;
    if (e->op == OP_ACCESS && e->u.func == w->f && !is_var(e->kid[w->place], w->r)) w->escaped = true;
}

/* Everything that stage `def` evaluates: coordinates, values, predicates. */
static void look_everywhere(Arena *scratch, const Def *def, Reads *w) {
    for (int d = 0; d < def->rank; d++) ir_visit(scratch, def->coord[d], look, w);
    for (int i = 0; i < def->n; i++) ir_visit(scratch, def->value[i], look, w);
    for (int i = 0; def->rdom && i < def->rdom->where_canon.n; i++)
        ir_visit(scratch, def->rdom->where_canon.at[i], look, w);
}

bool sch_rvar_is_pure(Arena *scratch, const Func *f, const Def *def, const Sym *r) {
    for (int d = 0; d < def->rank; d++) {
        if (!is_var(def->coord[d], r)) continue;
        Reads w = { .f = f, .r = r, .place = d };
        look_everywhere(scratch, def, &w);
        if (!w.escaped) return true;
    }
    return false;
}
