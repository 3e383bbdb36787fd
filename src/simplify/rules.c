/* rules.c - rewriting by the rows of rules.def.
 *
 * Rows are parsed by the parser of expressions, once an Interner, when first an expression comes that has
 * their root operator and a type of their algebra.  A pattern does not mind types but for one: all that stands for T is of one type. */
#include "rules.h"

#include "ir/parse.h"

#include <string.h>

enum { WILDS = 8 };
static const char *const wild_name[WILDS] = { "x", "y", "z", "c0", "c1", "a", "b", "d" };

#define WILD(n, t) { .name = n, .kind = SYM_VAR, .type = t }
#define WILDS_OF(t)                                                                             \
    { WILD("x", t), WILD("y", t), WILD("z", t), WILD("c0", t), WILD("c1", t), WILD("a", MLC_BOOL), \
      WILD("b", MLC_BOOL), WILD("d", MLC_BOOL) }
/* T is i32 in patterns of wrap and any, f32 in those of float. */
static const Sym wild[3][WILDS] = { WILDS_OF(MLC_INDEX), WILDS_OF(MLC_I32), WILDS_OF(MLC_F32) };

static const struct {
    Algebra algebra;
    Op root;
    const char *left, *right, *condition;
} rows[] = {
#define RULE(algebra, root, left, right, condition) { ALGEBRA_##algebra, OP_##root, left, right, condition },
#include "rules.def"
#undef RULE
};

enum { ROWS = (int)(sizeof rows / sizeof *rows) };

static const Node *negative(void *user, Interner *I, const Node *e) {
    (void)user;
    if (e->op == OP_NEG && ir_is_const(e->kid[0])) return ir_make1(I, OP_NEG, e->kid[0]);
    if (e->op == OP_GT || e->op == OP_GE) return ir_make2(I, (Op)e->op, e->kid[0], e->kid[1]);
    return e;
}

static const Node *pattern(Interner *I, Algebra algebra, const char *text) {
    int set = algebra == ALGEBRA_index ? 0 : algebra == ALGEBRA_float ? 2 : 1;
    const Node *param[WILDS];
    for (int i = 0; i < WILDS; i++) param[i] = ir_var(I, &wild[set][i]);
    const Node *e = ir_parse_body(I, text, WILDS, param, wild_name, wild[set][0].type);
    CHECK(I->fault, e->op != OP_POISON);
    return ir_rewrite(I, e, negative, NULL);
}

static const Node *parsed(Interner *I, Algebra algebra, const char *text) {
    bool yes = !strcmp(text, "true");
    return yes || !strcmp(text, "false") ? ir_bool(I, yes) : pattern(I, algebra, text);
}

static Rules *shared(Interner *I) {
    Rules *r = I->rules;
    if (r) return r;
    I->rules = r = ARENA_NEW(I->arena, Rules);
    arena_stack(&r->tables, I->arena);
    return r;
}

Arena *sim_tables(Interner *I) {
    return &shared(I)->tables;
}

Scratch *sim_scratch(Interner *I) {
    return &shared(I)->scratch;
}

Sim *sim_plain(Interner *I) {
    Rules *r = shared(I);
    if (!r->plain) r->plain = sim_lasting(I);
    return r->plain;
}

static const Rule *rule(Interner *I, Rules *r, int i) {
    Rule *row = &r->at[i];
    if (row->left) return row;
    row->algebra = rows[i].algebra;
    row->right = parsed(I, row->algebra, rows[i].right);
    row->condition = parsed(I, row->algebra, rows[i].condition);
    row->text = rows[i].left;
    row->left = parsed(I, row->algebra, rows[i].left);
    CHECK(I->fault, row->left->op == rows[i].root);
    return row;
}

static Rules *open_rules(Interner *I) {
    Rules *r = shared(I);
    if (!r->at) r->at = ARENA_ARRAY(I->arena, Rule, r->n = ROWS);
    return r;
}

const Rules *sim_rules(Interner *I) {
    Rules *r = open_rules(I);
    for (int i = 0; i < ROWS; i++) rule(I, r, i);
    return r;
}

static int class_of(mlc_type t) {
    return t == MLC_INDEX ? 0 : ty_is_int(t) ? 1 : t == MLC_F32 || t == MLC_F64 ? 2 : 3;
}

/* The rows whose root is op and whose T may be t. */
static const RuleList *rules_for(Interner *I, Op op, mlc_type t) {
    static const int class_of_algebra[] = { [ALGEBRA_index] = 0, [ALGEBRA_wrap] = 1, [ALGEBRA_float] = 2 };
    Rules *r = open_rules(I);
    int k = class_of(t);
    RuleList *list = &r->list[op][k];
    if (r->listed[op][k]) return list;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].root == op && (rows[i].algebra == ALGEBRA_any || class_of_algebra[rows[i].algebra] == k))
            VEC_PUSH(I->arena, list, rule(I, r, i));
    r->listed[op][k] = true;
    return list;
}

/* ---- weight: what every row lessens ---- */

static int operator_weight(Op op) {
    switch (op) {
    case OP_SELECT: case OP_DIV: case OP_MOD: return 6;
    case OP_MUL: case OP_MIN: case OP_MAX: case OP_EQ: case OP_NE: return 3;
    case OP_LNOT: case OP_NEG: return 1;
    default: return 2;
    }
}

static bool is_wild_const(const Node *e) {
    return e->op == OP_CONST || (e->op == OP_VAR && e->u.sym->name[0] == 'c');
}

static bool folds(const Node *e) {
    if (e->n == 0) return is_wild_const(e);
    for (int k = 0; k < e->n; k++)
        if (!folds(e->kid[k])) return false;
    return true;
}

int rule_weight(const Node *e) {
    if (folds(e)) return 1;
    int w = e->n ? operator_weight((Op)e->op) : 2;
    for (int k = 0; k < e->n; k++) w += rule_weight(e->kid[k]);
    return w;
}

/* ---- matching ---- */

typedef struct {
    const Node *bound[WILDS];
    mlc_type T; /* MLC_VOID until something stands for it */
} Match;

static int wild_index(const Node *p) {
    for (int i = 0; i < WILDS; i++)
        if (!strcmp(p->u.sym->name, wild_name[i])) return i;
    return 0;
}

static bool allows(Algebra algebra, mlc_type t) {
    switch (algebra) {
    case ALGEBRA_index: return t == MLC_INDEX;
    case ALGEBRA_wrap: return ty_is_int(t);
    case ALGEBRA_float: return t == MLC_F32 || t == MLC_F64;
    default: return true;
    }
}

static bool bind(const Rule *r, Match *m, const Node *p, const Node *e) {
    int i = wild_index(p);
    mlc_type t = (mlc_type)e->type;
    if (m->bound[i]) return m->bound[i] == e;
    if (p->type == MLC_BOOL ? t != MLC_BOOL : m->T != MLC_VOID ? t != m->T : !allows(r->algebra, t)) return false;
    if (p->u.sym->name[0] == 'c' && e->op != OP_CONST) return false;
    if (p->type != MLC_BOOL) m->T = t;
    m->bound[i] = e;
    return true;
}

static bool commutes(Op op) {
    switch (op) {
    case OP_ADD: case OP_MUL: case OP_MIN: case OP_MAX: case OP_AND: case OP_OR: case OP_XOR:
    case OP_EQ: case OP_NE: case OP_LAND: case OP_LOR:
        return true;
    default: return false;
    }
}

static bool equal_const(const Node *p, const Node *e) {
    if (e->op != OP_CONST) return false;
    if (ty_is_float((mlc_type)p->type) != ty_is_float((mlc_type)e->type)) return false;
    if (ty_is_float((mlc_type)p->type)) return val_equal(MLC_F64, ir_value(p), ir_value(e));
    return val_wrap((mlc_type)e->type, p->u.i).i == e->u.i;
}

static bool match(const Rule *r, Match *m, const Node *p, const Node *e) {
    if (p->op == OP_VAR) return bind(r, m, p, e);
    if (p->op == OP_CONST) return equal_const(p, e);
    if (p->op != e->op || p->n != e->n) return false;
    Match before = *m;
    bool all = true;
    for (int k = 0; all && k < p->n; k++) all = match(r, m, p->kid[k], e->kid[k]);
    if (all || p->n != 2 || !commutes((Op)p->op)) return all;
    *m = before;
    return match(r, m, p->kid[0], e->kid[1]) && match(r, m, p->kid[1], e->kid[0]);
}

static const Node *build(Sim *s, const Match *m, const Node *p) {
    if (p->op == OP_VAR) return m->bound[wild_index(p)];
    if (p->op == OP_CONST && p->type == MLC_BOOL) return p;
    if (p->op == OP_CONST) return ty_is_float(m->T) ? ir_flt(s->I, m->T, p->u.f) : ir_int(s->I, m->T, p->u.i);
    const Node *kid[3];
    for (int k = 0; k < p->n; k++) kid[k] = build(s, m, p->kid[k]);
    if (p->n == 1) return ir_make1(s->I, (Op)p->op, kid[0]);
    if (p->n == 2) return ir_make2(s->I, (Op)p->op, kid[0], kid[1]);
    return ir_make3(s->I, (Op)p->op, kid[0], kid[1], kid[2]);
}

static bool holds(Sim *s, const Match *m, const Node *cond) {
    if (cond->op == OP_LAND) return holds(s, m, cond->kid[0]) && holds(s, m, cond->kid[1]);
    if (cond->op == OP_CONST) return cond->u.i;
    const Node *e = build(s, m, cond);
    const Lin *d = cond_lin(s, e);
    if (d) return prove_nonneg(s, d);
    Range r = range_of(s, e);
    return r.lo == 1;
}

const Node *rule_apply(Sim *s, const Rule *r, const Node *e) {
    Match m = { .T = MLC_VOID };
    if (!match(r, &m, r->left, e) || !holds(s, &m, r->condition)) return e;
    return build(s, &m, r->right);
}

const Node *step_rules(Sim *s, const Node *e) {
    const Node *now = step_data(s, e);
    if (now != e || ir_ops[e->op].cls != CLASS_PRIM || e->n == 0) return now;
    const RuleList *list = rules_for(s->I, (Op)e->op, (mlc_type)e->kid[e->op == OP_SELECT]->type);
    for (int i = 0; i < list->n; i++) {
        now = rule_apply(s, list->at[i], e);
        if (now != e) return simple(s, now);
    }
    return e;
}
