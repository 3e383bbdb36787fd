/* eval.h - evaluates canonical expressions over operands, for the tests of derived operators. */
#ifndef TESTS_IR_EVAL_H
#define TESTS_IR_EVAL_H

#include "ir/ir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { EVAL_MAX = 2000 };

typedef struct {
    Fault fault;
    Arena arena;
    Interner I;
} World;

static inline void world_open(World *w) {
    memset(w, 0, sizeof *w);
    arena_init(&w->arena, NULL, &w->fault);
    ir_interner_init(&w->I, &w->arena, NULL);
}

static inline void world_close(World *w) {
    arena_free(&w->arena);
}

/* A body with its nodes in order, operands first, each with the place of its operands. */
typedef struct {
    int n, params;
    mlc_type type;
    const Node *node[EVAL_MAX];
    int kid[EVAL_MAX][3], param[EVAL_MAX];
    Value value[EVAL_MAX];
} Program;

static inline void program_add(void *user, const Node *e) {
    Program *p = user;
    ck_assert_int_lt(p->n, EVAL_MAX);
    ck_assert_int_le(e->n, 3);
    for (int k = 0; k < e->n; k++)
        for (int i = 0; i < p->n; i++)
            if (p->node[i] == e->kid[k]) p->kid[p->n][k] = i;
    if (e->op == OP_CONST) p->value[p->n] = ir_value(e);
    p->param[p->n] = e->op == OP_VAR ? e->u.sym->dim : -1;
    ck_assert_msg(ir_ops[e->op].cls == CLASS_PRIM || e->op == OP_CONST || e->op == OP_VAR, "%s is not canonical", ir_ops[e->op].name);
    p->node[p->n++] = e;
}

static inline const Node *operand(World *w, mlc_type t, int i) {
    static const char *const names[3] = { "a", "b", "c" };
    Sym *s = ARENA_NEW(&w->arena, Sym);
    *s = (Sym){ .name = names[i], .kind = SYM_LET, .type = t, .dim = i };
    return ir_var(&w->I, s);
}

static inline Program *program_of(World *w, const Node *body) {
    Program *p = ARENA_NEW(&w->arena, Program);
    p->type = (mlc_type)body->type;
    ir_visit(&w->arena, body, program_add, p);
    return p;
}

/* The body of `op`, typed by the language's rules, on operands of these types. */
static inline Program *derived(World *w, Op op, int n, const mlc_type *t) {
    const Node *typed[3], *held[3];
    for (int i = 0; i < n; i++) {
        typed[i] = operand(w, t[i], i);
        held[i] = ty_is_half(t[i]) ? operand(w, MLC_F32, i) : typed[i];
    }
    const Node *e = ir_typed(&w->I, op, NULL, n, typed, 0);
    ck_assert_msg(e->op != OP_POISON, "%s: %s", ir_ops[op].name, w->fault.info.message);
    return program_of(w, ir_derive(&w->I, e, t[0], held));
}

static inline Value eval(Program *p, const Value *operands) {
    for (int i = 0; i < p->n; i++) {
        const Node *e = p->node[i];
        Value k[3] = { { 0 }, { 0 }, { 0 } };
        mlc_type t[3] = { MLC_VOID, MLC_VOID, MLC_VOID };
        for (int j = 0; j < e->n; j++) {
            k[j] = p->value[p->kid[i][j]];
            t[j] = (mlc_type)e->kid[j]->type;
        }
        if (p->param[i] >= 0) p->value[i] = operands[p->param[i]];
        else if (e->op == OP_CAST) p->value[i] = val_cast((mlc_type)e->type, t[0], k[0]);
        else if (e->op == OP_REINTERPRET) p->value[i] = val_reinterpret((mlc_type)e->type, t[0], k[0]);
        else if (e->op != OP_CONST) p->value[i] = val_op((Op)e->op, t[0], t[1], k);
    }
    return p->value[p->n - 1];
}

static inline Value of_i(int64_t i) {
    return (Value){ .i = i };
}

static inline Value of_f(double f) {
    return (Value){ .f = f };
}

#endif
