/* test_rules.c - every row of rules.def alone: it rewrites, it lightens, and both sides are equal on the
 * hostile values of its algebra. */
#include "simplify/rules.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Suite *rules_suite(void);

static Fault fault;
static Arena arena;
static Interner interner, *I = &interner;

static void setup(void) {
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    ir_interner_init(I, &arena, NULL);
}

static void teardown(void) {
    arena_free(&arena);
}

static const mlc_type types[] = { MLC_INDEX, MLC_I8, MLC_I16, MLC_I32, MLC_I64, MLC_U8, MLC_U16, MLC_U32, MLC_U64,
                                  MLC_F32, MLC_F64, MLC_BOOL };
enum { TYPES = (int)(sizeof types / sizeof *types) };

static bool of_algebra(Algebra a, mlc_type t) {
    switch (a) {
    case ALGEBRA_index: return t == MLC_INDEX;
    case ALGEBRA_wrap: return ty_is_int(t);
    case ALGEBRA_float: return ty_is_float(t);
    default: return t != MLC_BOOL;
    }
}

static uint64_t state;

static uint64_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

static Value hostile(mlc_type t) {
    static const double odd[] = { 0.0, -0.0, 1, -1, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e-45, -1e-45, 3e38, 0.5, -2.5, 7 };
    if (ty_is_float(t)) return val_round(t, odd[next() % 13]);
    if (t == MLC_BOOL) return (Value){ .i = next() & 1 };
    if (t == MLC_INDEX) return (Value){ .i = (int64_t)(next() % 25) - 12 };
    int64_t ends[] = { 0, 1, -1, ty_min(t), (int64_t)ty_max(t), ty_min(t) + 1, 2, 3, 4, 7, -3, 100 };
    return val_wrap(t, next() % 4 ? ends[next() % 12] : (int64_t)next());
}

/* A pattern as a node of type t: fresh variables for wildcards, values for those that are constants. */
typedef struct {
    mlc_type t;
    Sym sym[8];
    Value value[8];
    const char *name[8];
    int n;
} Instance;

static int place(Instance *in, const Node *wild) {
    for (int i = 0; i < in->n; i++)
        if (in->name[i] == wild->u.sym->name) return i;
    int i = in->n++;
    mlc_type t = wild->type == MLC_BOOL ? MLC_BOOL : in->t;
    in->name[i] = wild->u.sym->name;
    in->sym[i] = (Sym){ .name = wild->u.sym->name, .kind = SYM_LET, .type = t };
    in->value[i] = hostile(t);
    return i;
}

static const Node *instance(Instance *in, const Node *p) {
    if (p->op == OP_VAR) {
        int i = place(in, p);
        if (p->u.sym->name[0] == 'c') return ir_const(I, in->t, in->value[i]);
        return ir_var(I, &in->sym[i]);
    }
    if (p->op == OP_CONST) {
        if (p->type == MLC_BOOL) return p;
        return ty_is_float(in->t) ? ir_flt(I, in->t, p->u.f) : ir_int(I, in->t, p->u.i);
    }
    const Node *kid[3];
    for (int k = 0; k < p->n; k++) kid[k] = instance(in, p->kid[k]);
    return ir_node(I, (Op)p->op, (Op)p->op == OP_SELECT || p->type != MLC_BOOL ? kid[p->n - 1]->type : MLC_BOOL, 0, 0, p->n, kid);
}

static Value eval(const Instance *in, const Node *e) {
    Value v[3] = { { 0 }, { 0 }, { 0 } };
    if (e->op == OP_CONST) return ir_value(e);
    if (e->op == OP_VAR) return in->value[e->u.sym - in->sym];
    for (int k = 0; k < e->n; k++) v[k] = eval(in, e->kid[k]);
    return val_op((Op)e->op, (mlc_type)e->kid[0]->type, e->n > 1 ? (mlc_type)e->kid[1]->type : MLC_VOID, v);
}

/* One draw: 1 applied, 0 the condition or folding kept it from applying. */
static int try_row(const Rule *r, mlc_type t, Facts *facts) {
    Instance in = { .t = t };
    Sim s;
    const Node *e = instance(&in, r->left), *cond = instance(&in, r->condition);
    /* Ranges of one value let the condition be proven where it holds. */
    for (int i = 0; i < in.n; i++) {
        const Node *v = ir_const(I, in.sym[i].type, in.value[i]);
        facts[i] = (Facts){ .up = i ? &facts[i - 1] : NULL, .var = &in.sym[i], .range = { v, v } };
    }
    sim_open(&s, I, r->condition->op == OP_CONST || !in.n ? NULL : &facts[in.n - 1]);
    const Node *now = rule_apply(&s, r, e);
    if (now == e) return 0;
    ck_assert_msg(eval(&in, cond).i, "row '%s' applied where its condition is false", r->text);
    mlc_type result = (mlc_type)e->type;
    ck_assert_int_eq(now->type, result);
    if (!val_equal(result, eval(&in, e), eval(&in, now))) {
        char text[256] = "";
        for (int i = 0; i < in.n; i++) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, " %s=%lld|%a", in.name[i], (long long)in.value[i].i, in.value[i].f);
        }
        ck_abort_msg("row '%s' of type %s is wrong at%s", r->text, mlc_type_name(t), text);
    }
    return 1;
}

START_TEST(row_is_true_of_hostile_values) {
    const Rule *r = &sim_rules(I)->at[_i];
    Facts facts[8];
    int applied = 0;
    for (int k = 0; k < TYPES; k++) {
        state = (uint64_t)_i * 7919 + (uint64_t)k;
        for (int draw = 0; of_algebra(r->algebra, types[k]) && draw < 400; draw++) applied += try_row(r, types[k], facts);
    }
    ck_assert_msg(applied > 20, "row '%s' applied %d times", r->text, applied);
}
END_TEST

START_TEST(row_lightens) {
    const Rule *r = &sim_rules(I)->at[_i];
    ck_assert_msg(rule_weight(r->right) < rule_weight(r->left), "row '%s': %d is not below %d", r->text,
                  rule_weight(r->right), rule_weight(r->left));
}
END_TEST

Suite *rules_suite(void) {
    setup();
    int n = sim_rules(I)->n;
    teardown();
    Suite *s = suite_create("rules");
    TCase *c = tcase_create("rows");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, row_is_true_of_hostile_values, 0, n);
    tcase_add_loop_test(c, row_lightens, 0, n);
    suite_add_tcase(s, c);
    return s;
}
