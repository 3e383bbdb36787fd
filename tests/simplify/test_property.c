/* test_property.c - what the simplifier says of random expressions is true of their values. */
#include "../../fuzz/expr_check.h"

#include <check.h>
#include <stdio.h>

Suite *property_suite(void);

enum { BATCH = 100 };

typedef struct {
    char report[3000]; /* "" : nothing is wrong */
    int changed, bounded, moved;
} Verdict;

static void judge(Verdict *v, uint64_t seed, int draws) {
    Fault fault = { 0 };
    Arena arena;
    Interner I;
    FuzzCase c;
    Barrier b;
    arena_init(&arena, NULL, &fault);
    if (FAULT_TRY(&fault, b)) {
        ir_interner_init(&I, &arena, NULL);
        const char *report = fuzz_case(&c, &I, seed, draws);
        if (report) snprintf(v->report, sizeof v->report, "case %llu: %s", (unsigned long long)seed, report);
        v->changed += c.simple != c.e;
        v->bounded += c.bounded;
        v->moved += sim_simplify(&I, c.facts, c.simple) != c.simple;
        FAULT_END(&fault, b);
    } else {
        snprintf(v->report, sizeof v->report, "case %llu: %s", (unsigned long long)seed, fault.info.message);
    }
    arena_free(&arena);
}

/* Simplifying again changes nothing, but for the rare expression that needs a second look. */
START_TEST(true_of_values) {
    Verdict v = { "", 0, 0, 0 };
    for (int i = 0; i < BATCH && !v.report[0]; i++) judge(&v, (uint64_t)(_i * BATCH + i + 1), 24);
    ck_assert_msg(!v.report[0], "%s", v.report);
    ck_assert_int_gt(v.changed, BATCH / 3);
    ck_assert_int_gt(v.bounded, BATCH / 3);
    ck_assert_msg(v.moved <= BATCH / 20, "%d of %d move again", v.moved, BATCH);
}
END_TEST

Suite *property_suite(void) {
    Suite *s = suite_create("property");
    TCase *c = tcase_create("random");
    tcase_add_loop_test(c, true_of_values, 0, 8);
    suite_add_tcase(s, c);
    return s;
}
