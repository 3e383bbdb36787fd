/* rules.h - the parsed rows of rules.def: for the simplifier and for the test that takes each alone. */
#ifndef RULES_H
#define RULES_H

#include "sim.h"

typedef enum { ALGEBRA_index, ALGEBRA_wrap, ALGEBRA_float, ALGEBRA_any } Algebra;

typedef struct {
    Algebra algebra;
    const Node *left, *right, *condition;
    const char *text; /* of the left side */
    int next;         /* row of the same root operator, -1: none */
} Rule;

typedef struct {
    int n, first[OP_COUNT];
    Rule *at;       /* NULL until parsed */
    Scratch scratch;
} Rules;

const Rules *sim_rules(Interner *I);
int rule_weight(const Node *pattern);
/* e rewritten by one row, or e itself. */
const Node *rule_apply(Sim *s, const Rule *r, const Node *e);

#endif
