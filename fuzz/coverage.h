/* coverage.h - what the plans that ran were made of. */
#ifndef FUZZ_COVERAGE_H
#define FUZZ_COVERAGE_H

#include "case.h"
#include "gen.h"

/* Counts the directives of a case that was lowered, their tails and other words. */
void coverage_of_plan(GenCounts *counts, const Case *c);

#endif
