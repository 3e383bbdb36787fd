/* expr.c - random expressions against the simplifier: expr [cases] [seed].  Without a seed the clock
 * gives one; it is printed, and a run with it repeats. */
#include "expr_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int one(uint64_t seed, long tally[6]) {
    Fault fault = { 0 };
    Arena arena;
    Interner I;
    Barrier b;
    FuzzCase c;
    int bad = 0;
    arena_init(&arena, NULL, &fault);
    if (FAULT_TRY(&fault, b)) {
        ir_interner_init(&I, &arena, NULL);
        const char *report = fuzz_case(&c, &I, seed, 40);
        if (report) printf("case %llu: %s\n", (unsigned long long)seed, report);
        bad = report != NULL;
        tally[0] += c.simple != c.e;
        tally[1] += c.bounded;
        tally[2] += c.proven;
        tally[3] += c.inner_ok;
        tally[4] += c.outer_ok;
        tally[5] += c.monotonic != 2;
        FAULT_END(&fault, b);
    } else {
        printf("case %llu: %s\n", (unsigned long long)seed, fault.info.message);
        bad = 1;
    }
    arena_free(&arena);
    return bad;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 10000, bad = 0, tally[6] = { 0 };
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) << 20;
    printf("%ld expressions from seed %llu\n", n, (unsigned long long)seed);
    for (long i = 0; i < n && bad < 5; i++) bad += one(seed + (uint64_t)i, tally);
    printf("changed %ld, bounded %ld, proven %ld, inner %ld, outer %ld, monotonic %ld: %ld wrong\n", tally[0], tally[1],
           tally[2], tally[3], tally[4], tally[5], bad);
    return bad != 0;
}
