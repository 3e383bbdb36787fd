/* rules.h - the parsed rows of rules.def: for the simplifier and for the test that takes each alone. */
#ifndef RULES_H
#define RULES_H

#include "sim.h"

typedef enum { ALGEBRA_index, ALGEBRA_wrap, ALGEBRA_float, ALGEBRA_any } Algebra;

typedef struct {
    Algebra algebra;
    const Node *left, *right, *condition; /* NULL until parsed */
    const char *text; /* of the left side */
} Rule;

typedef VEC(const Rule *) RuleList;

enum { RULE_CLASSES = 4 }; /* of types: index, integers, f32 and f64, others */

typedef struct {
    int n;
    Rule *at;
    RuleList list[OP_COUNT][RULE_CLASSES]; /* the rows that may match, in order ... */
    bool listed[OP_COUNT][RULE_CLASSES];   /* ... once somebody has asked */
    Arena tables; /* of open Sims */
    Scratch scratch;
    Sim *plain;
} Rules;

/* All rows, parsed. */
const Rules *sim_rules(Interner *I);
int rule_weight(const Node *pattern);
/* e rewritten by one row, or e itself. */
const Node *rule_apply(Sim *s, const Rule *r, const Node *e);

#endif
