/* define.c - definitions: what they must satisfy, and their canonical form.
 *
 * Rules (docs/semantics.md section 1): the left side of the pure definition is distinct Vars, and its
 * right side uses no others.  In an update a Var stands at its own place on the left and in every
 * self-read, so each of its values updates its own slice; RVars come from one RDom.  A Func reads itself
 * in its updates only.  Whatever is wrong is one poison, which stays with the Func. */
#include "algorithm.h"

#include <math.h>
#include <string.h>

typedef VEC(const Sym *) SymList;

typedef struct {
    Func *f;
    Interner *I;
    Arena *a;
    DefOp op;
    int rank, n;
    const Node *lhs[MAX_RANK], *rhs[MAX_TUPLE];
    uint32_t literal;
    Place place;
    bool pure;               /* this is the pure definition */
    bool fixed[MAX_RANK];    /* update: Var i stands at its place */
    RDom *rdom;
    bool self_read;
    const Node *bad;
} Definer;

static bool wrong(Definer *d, const Node *poison) {
    if (!d->bad) d->bad = poison;
    return false;
}

static const Sym *plain_var(const Node *e) {
    return e->op == OP_VAR && e->u.sym->kind == SYM_VAR ? e->u.sym : NULL;
}

static int place_of(const Func *f, const Sym *s) {
    for (int i = 0; i < f->rank; i++)
        if (f->arg[i] == s) return i;
    return -1;
}

/* ---- rewriting without folding, types kept ---- */

typedef struct {
    Interner *I;
    PtrMap done;
    const PtrMap *to;    /* Sym -> Node, or NULL */
    ir_rewrite_fn access; /* what stands for an access whose operands are rewritten, or NULL */
    void *user;
    bool renumber;       /* random places are numbered as met: */
    int next_random;
    PtrMap place;        /* old place + 1 -> new place + 1 */
} Rewriter;

static const Node *rewritten(Rewriter *r, const Node *e) {
    const Node *small[8], **kids = e->n <= 8 ? small : ARENA_ARRAY(r->I->arena, const Node *, e->n);
    for (int i = 0; i < e->n; i++) kids[i] = pm_get(&r->done, e->kid[i]);
    int32_t aux = e->aux;
    if (r->to && e->op == OP_VAR && pm_has(r->to, e->u.sym)) return pm_get(r->to, e->u.sym);
    if (r->renumber && e->op == OP_RANDOM) {
        const void *key = (const void *)((uintptr_t)aux + 1);
        if (!pm_has(&r->place, key)) pm_put(&r->place, key, (void *)(uintptr_t)++r->next_random);
        aux = (int32_t)((uintptr_t)pm_get(&r->place, key) - 1);
    }
    const Node *now = ir_node(r->I, (Op)e->op, (mlc_type)e->type, e->u.bits, aux, e->n, kids);
    return r->access && now->op == OP_ACCESS ? r->access(r->user, r->I, now) : now;
}

static void rewrite_step(void *user, const Node *e) {
    Rewriter *r = user;
    pm_put(&r->done, e, (void *)(uintptr_t)rewritten(r, e));
}

static const Node *rewrite(Rewriter *r, const Node *e) {
    pm_init(&r->done, r->I->arena);
    ir_visit(r->I->arena, e, rewrite_step, r);
    return pm_get(&r->done, e);
}

const Node *alg_replace(Interner *I, const Node *written, const PtrMap *sym_to_node) {
    Rewriter r = { .I = I, .to = sym_to_node };
    return rewrite(&r, written);
}

const Node *alg_replace_accesses(Interner *I, const Node *e, ir_rewrite_fn access, void *user) {
    Rewriter r = { .I = I, .access = access, .user = user };
    return rewrite(&r, e);
}

static void number_random(Definer *d) {
    Rewriter r = { .I = d->I, .renumber = true };
    pm_init(&r.place, d->a);
    for (int i = 0; i < d->rank; i++) d->lhs[i] = rewrite(&r, d->lhs[i]);
    for (int i = 0; i < d->n; i++) d->rhs[i] = rewrite(&r, d->rhs[i]);
}

/* ---- shape ---- */

static bool check_shape(Definer *d) {
    Func *f = d->f;
    for (int i = 0; i < d->rank; i++)
        if (d->lhs[i]->op == OP_POISON) return wrong(d, ir_poison_at(d->I, d->lhs[i], &d->place));
    for (int i = 0; i < d->n; i++)
        if (d->rhs[i]->op == OP_POISON) return wrong(d, ir_poison_at(d->I, d->rhs[i], &d->place));
    if (f->poison) return wrong(d, f->poison);
    if (f->is_input) return wrong(d, ir_poison(d->I, ERR_DEF_INPUT, &d->place, f->name));
    if (d->n < 1 || d->n > MAX_TUPLE || (f->def.n && d->n != f->n))
        return wrong(d, ir_poison(d->I, ERR_TUPLE_WIDTH, &d->place, f->name, f->def.n ? f->n : 1, d->n));
    if (d->rank < 0 || d->rank > MAX_RANK) return wrong(d, ir_poison(d->I, ERR_RANK_RANGE, &d->place, f->name, d->rank));
    if (alg_is_whole(f)) return wrong(d, ir_poison(d->I, ERR_STAGE_UPDATE, &d->place, f->name));
    if (f->def.n && d->rank != f->rank)
        return wrong(d, ir_poison(d->I, ERR_RANK_ACCESS, &d->place, f->name, f->rank, d->rank));
    return true;
}

/* ---- types ---- */

static bool check_types(Definer *d) {
    for (int i = 0; i < d->n; i++) {
        const Node *e = d->rhs[i];
        bool literal = d->literal >> i & 1;
        mlc_type to = (mlc_type)e->type;
        if (!d->pure) to = d->f->type[i];
        else if (to == MLC_INDEX) to = MLC_I32;
        d->rhs[i] = ir_coerce(d->I, e, literal, to, &d->place);
        if (d->rhs[i]->op == OP_POISON) return wrong(d, d->rhs[i]);
    }
    return true;
}

/* ---- variables and self-reads ---- */

static bool on_left(const Definer *d, const Sym *s) {
    int at = place_of(d->f, s);
    return at >= 0 && (d->pure || d->fixed[at]);
}

static void look_var(Definer *d, const Sym *s) {
    if (s->kind == SYM_RVAR) {
        if (d->pure) wrong(d, ir_poison(d->I, ERR_RVAR_PURE, &d->place, s->name));
        else if (d->rdom && d->rdom != s->rdom)
            wrong(d, ir_poison(d->I, ERR_RDOM_TWO, &d->place, d->rdom->name, s->rdom->name));
        d->rdom = s->rdom;
    } else if (s->kind == SYM_VAR && !on_left(d, s)) {
        wrong(d, ir_poison(d->I, ERR_VAR_FREE, &d->place, s->name));
    } else if (s->func && !s->func->is_input) { /* the size of an output: for plans alone */
        wrong(d, ir_poison(d->I, ERR_DIM_INPUT, &d->place, s->func->name));
    }
}

static void look_self(Definer *d, const Node *e) {
    Func *f = d->f;
    d->self_read = true; /* an update: before its pure definition a Func cannot be read */
    for (int i = 0; i < f->rank; i++)
        if (d->fixed[i] && plain_var(e->kid[i]) != f->arg[i])
            wrong(d, ir_poison(d->I, ERR_VAR_PLACE, &d->place, f->arg[i]->name, f->name, i, f->arg[i]->name, f->name));
}

static void look(void *user, const Node *e) {
    Definer *d = user;
    if (d->bad) return;
    if (e->op == OP_VAR) look_var(d, e->u.sym);
    else if (e->op == OP_UNDEF) wrong(d, ir_poison(d->I, ERR_UNDEF_PLACE, &d->place));
    else if (e->op == OP_POISON) wrong(d, ir_poison_at(d->I, e, &d->place));
    else if (e->op == OP_ACCESS && e->u.func == d->f) look_self(d, e);
    else if (e->op == OP_ACCESS && d->f->is_read && alg_reaches(d->a, e->u.func, d->f))
        wrong(d, ir_poison(d->I, ERR_FUNC_CYCLE, &d->place, d->f->name, e->u.func->name, d->f->name));
}

/* Distinct Vars of the pure definition; in an update, each Var that stands alone must be at its place. */
static bool check_left(Definer *d) {
    Func *f = d->f;
    for (int i = 0; i < d->rank; i++) {
        const Sym *s = plain_var(d->lhs[i]);
        if (d->pure) {
            bool again = s && place_of(f, s) != i;
            if (!s || again) return wrong(d, ir_poison(d->I, ERR_DEF_PURE_ARGS, &d->place, f->name, i));
            continue;
        }
        d->fixed[i] = s == f->arg[i];
        int at = s ? place_of(f, s) : i;
        if (s && !d->fixed[i] && at >= 0)
            return wrong(d, ir_poison(d->I, ERR_VAR_PLACE, &d->place, s->name, f->name, at, s->name, f->name));
        if (at < 0)
            return wrong(d, ir_poison(d->I, ERR_VAR_OTHER, &d->place, i, f->name, f->arg[i]->name, s->name, f->arg[i]->name));
    }
    return true;
}

static bool check_variables(Definer *d) {
    for (int i = 0; i < d->rank; i++) ir_visit(d->a, d->lhs[i], look, d);
    for (int i = 0; i < d->n; i++)
        if (!(d->pure && d->rhs[i]->op == OP_UNDEF)) ir_visit(d->a, d->rhs[i], look, d);
    for (int i = 0; d->rdom && i < d->rdom->where.n; i++) ir_visit(d->a, d->rdom->where.at[i], look, d);
    if (d->bad) return false;
    bool everywhere = !d->pure && d->op == DEF_SET && !d->rdom && !d->self_read;
    for (int i = 0; i < d->rank; i++) everywhere = everywhere && d->fixed[i];
    if (everywhere) return wrong(d, ir_poison(d->I, ERR_DEF_AGAIN, &d->place, d->f->name));
    return true;
}

/* ---- canonical form ---- */

static const Node *whole_value(Definer *d, int i) {
    static const Op ops[] = {
        [DEF_ADD] = OP_ADD, [DEF_SUB] = OP_SUB, [DEF_MUL] = OP_MUL, [DEF_MIN] = OP_MIN, [DEF_MAX] = OP_MAX
    };
    if (d->op == DEF_SET) return d->rhs[i];
    const Node *kids[2] = { ir_access(d->I, d->f, d->f->type[i], i, d->rank, d->lhs), d->rhs[i] };
    return ir_typed(d->I, ops[d->op], &d->place, 2, kids, 0);
}

/* The variables of the definition: its plain Vars, then its RVars. */
static int point_of(Definer *d, const Node *point[2 * MAX_RANK]) {
    int n = 0;
    for (int i = 0; i < d->rank; i++)
        if (d->pure || d->fixed[i]) point[n++] = d->lhs[i];
    for (int i = 0; d->rdom && i < d->rdom->n; i++) point[n++] = ir_var(d->I, d->rdom->var[i]);
    return n;
}

static Def *make_def(Definer *d) {
    const Node *point[2 * MAX_RANK];
    int n_point = point_of(d, point);
    Def *def = ARENA_NEW(d->a, Def);
    *def = (Def){ .op = d->op, .rank = d->rank, .n = d->n, .rdom = d->rdom, .loc = d->place.loc };
    for (int i = 0; i < d->rank && !d->bad; i++) {
        def->lhs[i] = d->lhs[i];
        def->coord[i] = alg_canonical_at(d->I, d->lhs[i], MLC_INDEX, n_point, point);
        if (def->coord[i]->op == OP_POISON) wrong(d, ir_poison_at(d->I, def->coord[i], &d->place));
    }
    for (int i = 0; i < d->n && !d->bad; i++) {
        def->rhs[i] = d->rhs[i];
        const Node *whole = whole_value(d, i);
        def->value[i] = alg_canonical_at(d->I, whole, d->f->type[i], n_point, point);
        if (def->value[i]->op == OP_POISON) wrong(d, whole == def->value[i] ? whole : ir_poison_at(d->I, def->value[i], &d->place));
    }
    return d->bad ? NULL : def;
}

static void mark_read(void *user, const Node *e) {
    if (e->op == OP_ACCESS && e->u.func != user) e->u.func->is_read = true;
}

static void keep(Definer *d, Def *def) {
    Func *f = d->f;
    for (int i = 0; i < d->rank; i++) ir_visit(d->a, def->lhs[i], mark_read, f);
    for (int i = 0; i < d->n; i++) ir_visit(d->a, def->rhs[i], mark_read, f);
    if (def->rdom) {
        def->rdom->frozen = true;
        for (int i = 0; i < def->rdom->where.n; i++) ir_visit(d->a, def->rdom->where.at[i], mark_read, f);
    }
    VEC_PUSH(d->a, &f->def, def);
}

/* ---- implicit starts ---- */

const Node *alg_start_of(Interner *I, DefOp op, mlc_type t) {
    bool flt = ty_is_float(t);
    switch (op) {
    case DEF_MUL: return flt ? ir_flt(I, t, 1) : ir_int(I, t, 1);
    case DEF_MIN: return flt ? ir_flt(I, t, (double)INFINITY) : ir_int(I, t, (int64_t)ty_max(t));
    case DEF_MAX: return flt ? ir_flt(I, t, -(double)INFINITY) : ir_int(I, t, ty_min(t));
    default: return flt ? ir_flt(I, t, -0.0) : ir_int(I, t, 0);
    }
}

/* The args of an implicit pure definition: the Vars that stand alone on the left, elsewhere _0, _1 ... */
static const Node *implicit_arg(Definer *d, int at) {
    const Sym *s = plain_var(d->lhs[at]);
    for (int i = 0; i < at && s; i++)
        if (d->lhs[i] == d->lhs[at]) s = NULL;
    if (s) return d->lhs[at];
    for (int k = 0;; k++) {
        const Sym *free = alg_var(d->f->ctx, arena_printf(d->a, "_%d", k));
        if (!free) BUG(d->I->fault, "a Var _0 cannot be made");
        const Node *e = ir_var(d->I, free);
        bool used = false;
        for (int i = 0; i < d->rank; i++) used |= d->lhs[i] == e || (i < at && d->f->arg[i] == free);
        if (!used) return e;
    }
}

static void take_types(Definer *d) {
    alg_set_rank(d->a, d->f, d->rank);
    d->f->n = d->n;
    for (int i = 0; i < d->n; i++) d->f->type[i] = (mlc_type)d->rhs[i]->type;
}

/* Gives f the start that its first update implies. */
static bool make_start(Definer *d) {
    Definer s = *d;
    s.pure = true;
    if (!check_types(&s)) return wrong(d, s.bad);
    take_types(&s);
    s.op = DEF_SET;
    for (int i = 0; i < d->rank; i++) {
        s.lhs[i] = implicit_arg(d, i);
        d->f->arg[i] = s.lhs[i]->u.sym;
    }
    for (int i = 0; i < d->n; i++) s.rhs[i] = alg_start_of(d->I, d->op, d->f->type[i]);
    Def *def = make_def(&s);
    if (!def) return wrong(d, s.bad);
    keep(&s, def);
    d->f->implicit = true;
    return true;
}

/* ---- the entry ---- */

static Def *define(Definer *d) {
    Func *f = d->f;
    if (!check_shape(d)) return NULL;
    number_random(d);
    if (!f->def.n && d->op != DEF_SET && !make_start(d)) return NULL;
    d->pure = !f->def.n;
    for (int i = 0; d->pure && i < d->rank; i++) f->arg[i] = plain_var(d->lhs[i]);
    if (d->pure) f->rank = d->rank;
    if (d->pure && d->rdom) wrong(d, ir_poison(d->I, ERR_RVAR_PURE, &d->place, d->rdom->var[0]->name));
    if (d->bad) return NULL;
    if (!check_left(d) || !check_types(d) || !check_variables(d)) return NULL;
    if (d->pure) take_types(d);
    return make_def(d);
}

static Def *build(Definer *d, Interner *I, Func *f, DefOp op, int rank, const Node *const *lhs, int n, const Node *const *rhs,
                  uint32_t literal, RDom *over, mlc_loc loc) {
    *d = (Definer){ .f = f, .I = I, .a = I->arena, .op = op, .rank = rank, .n = n, .literal = literal, .rdom = over };
    d->place = (Place){ .loc = loc, .object = arena_printf(I->arena, "define %s", f->name) };
    if (rank >= 0 && rank <= MAX_RANK) memcpy(d->lhs, lhs, sizeof *lhs * (size_t)rank);
    if (n >= 0 && n <= MAX_TUPLE) memcpy(d->rhs, rhs, sizeof *rhs * (size_t)n);
    if (rank < 0 || rank > MAX_RANK) wrong(d, ir_poison(I, ERR_RANK_RANGE, &d->place, f->name, rank));
    else if (n < 1 || n > MAX_TUPLE) wrong(d, ir_poison(I, ERR_TUPLE_WIDTH, &d->place, f->name, f->def.n ? f->n : 1, n));
    else if ((unsigned)op > DEF_MAX) wrong(d, ir_poison(I, ERR_OP_RANGE, &d->place, (int)op));
    Def *def = d->bad ? NULL : define(d);
    if (!def && !f->poison) f->poison = d->bad;
    return def;
}

Def *alg_build(Interner *I, Func *f, DefOp op, int rank, const Node *const *lhs, int n, const Node *const *rhs, RDom *over,
               mlc_loc loc) {
    Definer d;
    return build(&d, I, f, op, rank, lhs, n, rhs, 0, over, loc);
}

int alg_define(Func *f, DefOp op, int rank, const Node *const *lhs, int n, const Node *const *rhs, uint32_t literal, mlc_loc loc) {
    return alg_define_over(f, op, rank, lhs, n, rhs, literal, NULL, loc);
}

int alg_define_over(Func *f, DefOp op, int rank, const Node *const *lhs, int n, const Node *const *rhs, uint32_t literal,
                    RDom *over, mlc_loc loc) {
    Definer d;
    Def *def = build(&d, &f->ctx->ir, f, op, rank, lhs, n, rhs, literal, over, loc);
    if (!def) return -1;
    keep(&d, def);
    alg_warn(f, def, &d.place);
    return f->def.n - 1;
}
