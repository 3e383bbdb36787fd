/* assoc.c - which updates are folds: an old value and a term joined by an associative operator.
 *
 * The proof is by shape, on the form that the user wrote.  Nodes are hash-consed, so a pattern is tried by
 * building it of the parts it should have and comparing pointers:
 *
 *     f(x) += e, f(x) min= e, f(x) = f(x) | e ...       rows of assoc.def
 *     f(x) = {select(W, a, f(x)[0]), select(W, e, f(x)[1])}   where W is "e wins over f(x)[1]"
 *
 * Neither e, nor a coordinate, nor a predicate may read f elsewhere. */
#include "schedule/assoc.h"

enum { INTS = 1, FLOATS = 2, BOOLS = 4 };
typedef enum { OWN, ZERO, ONES } Start;

static const struct {
    Op op;
    int types;
    DefOp combine;
    Start start;
    bool exact;
} rows[] = {
#define ASSOC(op, types, combine, start, exact) { OP_##op, types, DEF_##combine, start, exact },
#include "schedule/assoc.def"
#undef ASSOC
};

static int kind_of(mlc_type t) {
    return t == MLC_BOOL ? BOOLS : ty_is_float(t) ? FLOATS : ty_is_int(t) ? INTS : 0;
}

static const Node *start_of(Interner *I, int row, mlc_type t) {
    if (rows[row].start == OWN) return alg_start_of(I, rows[row].combine, t);
    if (t == MLC_BOOL) return ir_bool(I, rows[row].start == ONES);
    return ir_int(I, t, rows[row].start == ONES ? -1 : 0);
}

/* ---- reads of f ---- */

typedef struct {
    const Func *f;
    bool found, random;
} Reads;

static void look(void *user, const Node *e) {
    Reads *r = user;
    r->found |= e->op == OP_ACCESS && e->u.func == r->f;
    r->random |= e->op == OP_RANDOM; /* a function of the variables of its definition */
}

static bool is_free(Arena *a, const Func *f, const Node *e) {
    Reads r = { .f = f };
    ir_visit(a, e, look, &r);
    return !r.found && !r.random;
}

static bool places_are_free(Arena *a, const Func *f, const Def *def) {
    for (int d = 0; d < def->rank; d++)
        if (!is_free(a, f, def->lhs[d])) return false;
    for (int i = 0; def->rdom && i < def->rdom->where.n; i++)
        if (!is_free(a, f, def->rdom->where.at[i])) return false;
    return true;
}

/* The old value of element k, as written. */
static const Node *old_value(Interner *I, const Func *f, const Def *def, int k) {
    return ir_access(I, (Func *)(uintptr_t)f, f->type[k], k, def->rank, def->lhs);
}

/* ---- one operator ---- */

static Op op_of(DefOp op) {
    switch (op) {
    case DEF_ADD: case DEF_SUB: return OP_ADD; /* a difference adds the opposite, and joins by a sum */
    case DEF_MUL: return OP_MUL;
    case DEF_MIN: return OP_MIN;
    case DEF_MAX: return OP_MAX;
    default: return OP_COUNT;
    }
}

/* The operator that joins element k with its term, OP_COUNT: none is found. */
static Op joining(Interner *I, const Func *f, const Def *def, int k) {
    const Node *e = def->rhs[k];
    if (def->op != DEF_SET) return is_free(I->arena, f, e) ? op_of(def->op) : OP_COUNT;
    if (e->n != 2) return OP_COUNT;
    const Node *old = old_value(I, f, def, k);
    for (int i = 0; i < 2; i++)
        if (e->kid[i] == old && is_free(I->arena, f, e->kid[1 - i])) {
            bool minus = e->op == OP_SUB && i == 0;
            return minus ? OP_ADD : (Op)e->op;
        }
    return OP_COUNT;
}

static bool fold_by_op(Interner *I, const Func *f, const Def *def, Fold *fold) {
    for (int k = 0; k < f->n; k++) {
        Op op = joining(I, f, def, k);
        int row = 0, n = (int)(sizeof rows / sizeof *rows);
        while (row < n && (rows[row].op != op || !(rows[row].types & kind_of(f->type[k])))) row++;
        if (row == n || (k && (op != fold->op || rows[row].combine != fold->combine))) return false;
        fold->kind = FOLD_OP;
        fold->op = op;
        fold->combine = rows[row].combine;
        fold->exact = (k == 0 || fold->exact) && rows[row].exact;
        fold->start[k] = start_of(I, row, f->type[k]);
    }
    return true;
}

/* ---- the winner takes all ---- */

/* Is the start that f had, all of whose elements a fold may meet, exactly the neutral one? */
static bool starts_neutral(const Func *f, int stage, const Fold *fold) {
    const Def *pure = f->def.at[0];
    for (int k = 0; k < f->n; k++)
        if (pure->rhs[k] != fold->start[k]) return false;
    return stage == 1;
}

/* Elements 0 to n - 2 are the RVars themselves, and f starts with the domain's mins. */
static bool tells_its_point(Interner *I, const Func *f, int stage, const Def *def, Fold *fold) {
    const RDom *r = def->rdom;
    if (!r || r->n != f->n - 1 || fold->key != f->n - 1) return false;
    for (int k = 0; k < r->n; k++) {
        const Node *point = ir_coerce(I, ir_var(I, alg_written_var(r, k)), false, MLC_I32, NULL);
        if (f->type[k] != MLC_I32 || def->rhs[k]->kid[1] != point) return false;
        fold->start[k] = ir_coerce(I, r->min[k], true, MLC_I32, NULL);
    }
    return starts_neutral(f, stage, fold);
}

static bool fold_by_win(Interner *I, const Func *f, int stage, const Def *def, Fold *fold) {
    if (def->op != DEF_SET || f->n < 2) return false;
    for (int k = 0; k < f->n; k++) {
        const Node *e = def->rhs[k];
        if (e->op != OP_SELECT || e->kid[0] != def->rhs[0]->kid[0] || e->kid[2] != old_value(I, f, def, k) ||
            !is_free(I->arena, f, e->kid[1]))
            return false;
        fold->start[k] = f->type[k] == MLC_BOOL ? ir_bool(I, false) : alg_start_of(I, DEF_ADD, f->type[k]); /* never read */
    }
    for (int k = 0; k < f->n; k++)
        for (int greatest = 0; greatest < 2 && f->type[k] != MLC_BOOL; greatest++) {
            const Node *e = def->rhs[k];
            if (alg_wins(I, NULL, greatest, e->kid[1], e->kid[2]) != e->kid[0]) continue;
            fold->kind = FOLD_ARG;
            fold->exact = true;
            fold->combine = DEF_SET;
            fold->key = k;
            fold->greatest = greatest;
            fold->start[k] = alg_start_of(I, greatest ? DEF_MAX : DEF_MIN, f->type[k]);
            if (tells_its_point(I, f, stage, def, fold)) fold->kind = FOLD_POINT;
            return true;
        }
    return false;
}

Fold sch_fold(Interner *I, const Func *f, int stage, const Def *def) {
    Fold fold = { .kind = FOLD_NONE };
    if (stage == 0 || !places_are_free(I->arena, f, def)) return fold;
    if (fold_by_op(I, f, def, &fold) || fold_by_win(I, f, stage, def, &fold)) return fold;
    return (Fold){ .kind = FOLD_NONE };
}

void sch_need_fold(Resolve *r, const PlanLine *line, const StageSched *st, Fold *fold) {
    Place place = sch_place(r->arena, line);
    const char *stage = sch_stage_name(r->arena, st->func, st->index);
    *fold = sch_fold(r->ir, st->func, st->index, st->def);
    if (fold->kind == FOLD_NONE) fault_raise(r->fault, ERR_NO_FOLD, &place, stage);
    if (!fold->exact && !line->d.reassociate) fault_raise(r->fault, ERR_REASSOCIATE, &place, stage);
}

/* ---- joining two folds ---- */

static const Node *make2(Interner *I, Op op, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_typed(I, op, NULL, 2, kids, 0);
}

/* Is the point a before b in the order of the domain, whose first RVar is innermost? */
static const Node *is_before(Interner *I, int n, const Node *const *a, const Node *const *b) {
    const Node *before = make2(I, OP_LT, a[0], b[0]);
    for (int k = 1; k < n; k++) {
        const Node *same = make2(I, OP_LAND, make2(I, OP_EQ, a[k], b[k]), before);
        before = make2(I, OP_LOR, make2(I, OP_LT, a[k], b[k]), same);
    }
    return before;
}

void sch_join(Interner *I, const Fold *fold, int n, const Node *const *old, const Node *const *part, const Node **rhs) {
    if (fold->kind == FOLD_OP) {
        for (int k = 0; k < n; k++) rhs[k] = fold->combine == DEF_SET ? make2(I, fold->op, old[k], part[k]) : part[k];
        return;
    }
    const Node *win = alg_wins(I, NULL, fold->greatest, part[fold->key], old[fold->key]);
    if (fold->kind == FOLD_POINT) { /* neither wins: they are equal, and the earlier point stays */
        const Node *lose = alg_wins(I, NULL, fold->greatest, old[fold->key], part[fold->key]);
        const Node *tie = make2(I, OP_LAND, ir_typed(I, OP_LNOT, NULL, 1, &lose, 0), is_before(I, n - 1, part, old));
        win = make2(I, OP_LOR, win, tie);
    }
    for (int k = 0; k < n; k++) {
        const Node *kids[3] = { win, part[k], old[k] };
        rhs[k] = ir_typed(I, OP_SELECT, NULL, 3, kids, 0);
    }
}
