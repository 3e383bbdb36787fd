/* ops_kit.h - every operator on every type as cases, data of hostile values, and what the scalar evaluator says of them. */
#ifndef OPS_KIT_H
#define OPS_KIT_H

#include "codegen/backend.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE MLC_VOID
enum { PAIRS = 1080, LANES = 27, MOST_CASES = 1200 }; /* 27 = 16 + 8 + 2 + 1 lanes of f32 */

typedef struct {
    Op op;
    mlc_type of, second, result; /* second: of the right operand */
    bool constant;               /* the right operand is one */
    Value c;
} Case;

static Case cases[MOST_CASES];
static int n_cases;

static void add(Op op, mlc_type of, mlc_type second, mlc_type result) {
    ck_assert_int_lt(n_cases, MOST_CASES);
    cases[n_cases++] = (Case){ .op = op, .of = of, .second = second, .result = result };
}

static void add_const(Op op, mlc_type of, mlc_type result, Value c) {
    add(op, of, of, result);
    cases[n_cases - 1].constant = true;
    cases[n_cases - 1].c = c;
}

static void integer_cases(mlc_type t) {
    static const Op two[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_MIN, OP_MAX, OP_AND, OP_OR, OP_XOR };
    static const Op one[] = { OP_NEG, OP_ABS, OP_NOT, OP_POPCOUNT, OP_CLZ, OP_CTZ };
    static const Op compare[] = { OP_EQ, OP_NE, OP_LT, OP_LE };
    static const int64_t divisor[] = { 3, 7, 8, 255, 1, -1, -5, -8 };
    static const int64_t count[] = { 1, 3, 7, 8, 63, 200, -2, -64 };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) add(two[i], t, t, t);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) add(one[i], t, NONE, t);
    for (size_t i = 0; i < sizeof compare / sizeof *compare; i++) add(compare[i], t, t, MLC_BOOL);
    for (size_t i = 0; i < 8; i++) {
        add_const(OP_DIV, t, t, val_wrap(t, divisor[i]));
        add_const(OP_MOD, t, t, val_wrap(t, divisor[i]));
        add_const(OP_SHL, t, t, val_wrap(t, count[i]));
        add_const(OP_SHR, t, t, val_wrap(t, count[i]));
    }
    for (mlc_type c = MLC_I8; c <= MLC_U64; c++) {
        bool near = c == t || c == MLC_U8 || c == MLC_I64 || c == MLC_U64;
        if (near) add(OP_SHL, t, c, t);
        if (near) add(OP_SHR, t, c, t);
    }
    add(OP_SELECT, t, t, t);
}

static void float_cases(mlc_type t) {
    static const Op two[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MIN, OP_MAX, OP_MOD, OP_FMA };
    static const Op one[] = { OP_NEG, OP_ABS, OP_SQRT, OP_FLOOR, OP_CEIL, OP_TRUNC, OP_ROUND };
    static const Op compare[] = { OP_EQ, OP_NE, OP_LT, OP_LE };
    static const double c[] = { 0.0, -0.0, 1.5, -3.25, (double)INFINITY, (double)NAN };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) add(two[i], t, t, t);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) add(one[i], t, NONE, t);
    for (size_t i = 0; i < sizeof compare / sizeof *compare; i++) add(compare[i], t, t, MLC_BOOL);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        add_const(OP_MIN, t, t, (Value){ .f = c[i] });
        add_const(OP_MAX, t, t, (Value){ .f = c[i] });
    }
    add(OP_SELECT, t, t, t);
}

static void bool_cases(void) {
    static const Op two[] = { OP_AND, OP_OR, OP_XOR, OP_LAND, OP_LOR, OP_EQ, OP_NE, OP_LT, OP_LE, OP_MIN, OP_MAX };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) add(two[i], MLC_BOOL, MLC_BOOL, MLC_BOOL);
    add(OP_LNOT, MLC_BOOL, NONE, MLC_BOOL);
    add(OP_NOT, MLC_BOOL, NONE, MLC_BOOL);
    add(OP_SELECT, MLC_BOOL, MLC_BOOL, MLC_BOOL);
}

static void conversion_cases(void) {
    for (mlc_type a = MLC_BOOL; a <= MLC_F64; a++)
        for (mlc_type b = MLC_BOOL; b <= MLC_F64; b++) {
            if (a == b) continue;
            add(OP_CAST, a, NONE, b);
            bool bools = a == MLC_BOOL || b == MLC_BOOL; /* bytes of a bool are 0 or 1 */
            if (!bools && mlc_type_size(a) == mlc_type_size(b)) add(OP_REINTERPRET, a, NONE, b);
        }
    add(OP_SELECT, MLC_F16, MLC_F16, MLC_F16);
    add(OP_SELECT, MLC_BF16, MLC_BF16, MLC_BF16);
    for (mlc_type t = MLC_I32; t <= MLC_I64; t++) { /* indices, through a cast */
        add(OP_DIV, MLC_INDEX, MLC_INDEX, t);
        add(OP_MOD, MLC_INDEX, MLC_INDEX, t);
        add(OP_MIN, MLC_INDEX, MLC_INDEX, t);
    }
}

static void make_cases(void) {
    if (n_cases) return;
    for (mlc_type t = MLC_I8; t <= MLC_U64; t++) integer_cases(t);
    float_cases(MLC_F32);
    float_cases(MLC_F64);
    bool_cases();
    conversion_cases();
}

/* ---- data ---- */

static uint64_t next(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

enum { VALUES = 36 };

static void integer_values(mlc_type t, Value *v) {
    int64_t lo = ty_min(t), hi = (int64_t)ty_max(t);
    int64_t fixed[] = { 0, 1, -1, 2, -2, 3, -3, 5, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, lo, lo + 1, hi, hi - 1,
                        (int64_t)(ty_max(t) / 2), (int64_t)(ty_max(t) / 2 + 1), 100, -100, 0x55555555555555 };
    int n = (int)(sizeof fixed / sizeof *fixed);
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < VALUES; i++) v[i] = val_wrap(t, i < n ? fixed[i] : (int64_t)next(&seed));
}

static void float_values(mlc_type t, Value *v) {
    static const double fixed[] = { 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.3, -0.7, 255.5, 256, -129, 32767.5,
                                    65519.9, 65520, 2147483647.5, 2147483648.0, -2147483649.0, 4294967295.5, 4294967296.0,
                                    9.3e18, 1.9e19, 3e38, -3e38, 1e-45, -1e-40, 1.2e-38, 6e-8, 5.9e-8, 8388609.0 };
    int n = (int)(sizeof fixed / sizeof *fixed);
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < VALUES; i++) v[i] = val_round(t, i < n ? fixed[i] : ldexp((double)(int64_t)next(&seed), -(int)(next(&seed) % 90)));
    v[n].f = (double)NAN;
    v[n + 1].f = (double)INFINITY;
    v[n + 2].f = -(double)INFINITY;
    if (t == MLC_F64) v[3].f = 5e-324, v[7].f = 1.7e308, v[9].f = 0x1.fffffep127 * 1.0000001;
}

/* Array k (0, 1, 2) of type t: all pairs in the first two. */
static Value datum(const Value *v, mlc_type t, int k, int i) {
    if (t == MLC_BOOL) return (Value){ .i = (k == 0 ? i : k == 1 ? i / 2 : i / 4) & 1 };
    return v[k == 0 ? i % VALUES : k == 1 ? (i / VALUES + i % VALUES) % VALUES : (i * 7 + i / 11) % VALUES];
}

typedef struct {
    unsigned char *at[3][MLC_TYPE_COUNT];
    Value value[3][MLC_TYPE_COUNT][PAIRS];
} Data;

static void make_data(Data *d) {
    for (mlc_type t = MLC_BOOL; t <= MLC_INDEX; t++) {
        Value v[VALUES];
        if (ty_is_float(t)) float_values(t, v);
        else integer_values(t == MLC_INDEX ? MLC_I32 : t, v);
        for (int k = 0; k < 3; k++) {
            d->at[k][t] = malloc(PAIRS * mlc_type_size(t));
            for (int i = 0; i < PAIRS; i++) {
                d->value[k][t][i] = datum(v, t, k, i);
                val_store(t, d->at[k][t] + (size_t)i * mlc_type_size(t), d->value[k][t][i]);
            }
        }
    }
}

static void free_data(Data *d) {
    for (mlc_type t = MLC_BOOL; t <= MLC_INDEX; t++)
        for (int k = 0; k < 3; k++) free(d->at[k][t]);
    free(d);
}

/* ---- the program ---- */

typedef struct {
    Fault fault;
    Arena arena;
    Interner ir;
    Program p;
} Bench;

static Storage *memory(Bench *b, const char *name, bool is_input, mlc_type t) {
    Func *f = ARENA_NEW(&b->arena, Func);
    Storage *s = ARENA_NEW(&b->arena, Storage);
    *f = (Func){ .name = name, .rank = 1, .n = 1, .type = { t } };
    *s = (Storage){ .func = f, .name = name, .is_input = is_input, .is_output = !is_input, .slot = b->p.external.n,
                    .rank = 1, .n = 1, .type = { t } };
    VEC_PUSH(&b->arena, &b->p.external, s);
    return s;
}

static const Node *load(Bench *b, Storage *s, const Node *index) {
    return ir_node(&b->ir, OP_LOAD, s->type[0], (uint64_t)(uintptr_t)s, 0, 1, &index);
}

static const Node *case_node(Bench *b, const Case *c, Storage *in[3][MLC_TYPE_COUNT], const Node *x) {
    bool index = c->of == MLC_INDEX;
    mlc_type from = index ? MLC_I32 : c->of;
    const Node *a = load(b, in[0][from], x), *kids[3] = { a, NULL, NULL };
    int n = ir_ops[c->op].arity;
    if (c->constant) kids[1] = ir_const(&b->ir, c->of, c->c);
    else if (c->second != NONE) kids[1] = load(b, in[1][index ? MLC_I32 : c->second], x);
    if (n == 3) kids[2] = load(b, in[2][from], x);
    if (c->op == OP_SELECT) {
        kids[2] = kids[0];
        kids[0] = load(b, in[2][MLC_BOOL], x);
    }
    if (index) {
        for (int i = 0; i < n; i++) kids[i] = ir_cast(&b->ir, MLC_INDEX, kids[i]);
        return ir_cast(&b->ir, c->result, ir_node(&b->ir, c->op, MLC_INDEX, 0, 0, n, kids));
    }
    return ir_node(&b->ir, c->op, c->result, 0, 0, n, kids);
}

static Value expected(const Case *c, const Data *d, int i) {
    bool index = c->of == MLC_INDEX;
    mlc_type from = index ? MLC_I32 : c->of;
    Value v[3] = { d->value[0][from][i], { 0 }, { 0 } };
    if (c->constant) v[1] = c->c;
    else if (c->second != NONE) v[1] = d->value[1][index ? MLC_I32 : c->second][i];
    v[2] = d->value[2][from][i];
    if (c->op == OP_SELECT) {
        v[2] = v[0];
        v[0] = d->value[2][MLC_BOOL][i];
    }
    if (c->op == OP_CAST) return val_cast(c->result, c->of, v[0]);
    if (c->op == OP_REINTERPRET) return val_reinterpret(c->result, c->of, v[0]);
    Value r = val_op(c->op, c->of, c->second, v);
    return index ? val_cast(c->result, MLC_INDEX, r) : r;
}

static void describe(const Case *c, const Data *d, int i, const Value *want, const Value *got, const char *how) {
    const char *t = mlc_type_name(c->of);
    Value a = d->value[0][c->of == MLC_INDEX ? MLC_I32 : c->of][i], b = c->constant ? c->c : d->value[1][c->second == MLC_INDEX ? MLC_I32 : c->second][i];
    printf("%s: %s %s %s -> %s, element %d: a %lld (%a) b %lld (%a): want %lld (%a), got %lld (%a)\n", how, ir_ops[c->op].name,
           t, mlc_type_name(c->second), mlc_type_name(c->result), i, (long long)a.i, a.f, (long long)b.i, b.f,
           (long long)want->i, want->f, (long long)got->i, got->f);
}

static int compare(const Data *d, void *const *data, int first, int n, const char *how) {
    int wrong = 0;
    for (int k = 0; k < n; k++) {
        const Case *c = &cases[first + k];
        for (int i = 0; i < PAIRS; i++) {
            Value want = expected(c, d, i), got = val_load(c->result, (char *)data[k] + (size_t)i * mlc_type_size(c->result));
            if (val_equal(c->result, want, got)) continue;
            if (wrong++ < 12) describe(c, d, i, &want, &got, how);
            break;
        }
    }
    return wrong;
}

#endif
