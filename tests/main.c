/* main.c - runs every suite.  The registry is generated: tests/<floor>/test_<topic>.c exports
 * <topic>_suite.  Arguments name the topics to run, none runs all; the last line is the verdict. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(topic) Suite *topic##_suite(void);
#include "suites.h"
#undef SUITE

static const struct {
    const char *topic;
    Suite *(*make)(void);
} registry[] = {
#define SUITE(topic) { #topic, topic##_suite },
#include "suites.h"
#undef SUITE
};

enum { COUNT = (int)(sizeof registry / sizeof *registry) };

static int wanted(const char *topic, int n, char **names) {
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], topic)) return 1;
    return n == 0;
}

int main(int argc, char **argv) {
    SRunner *runner = srunner_create(NULL);
    int chosen = 0;
    for (int i = 0; i < COUNT; i++) {
        if (!wanted(registry[i].topic, argc - 1, argv + 1)) continue;
        srunner_add_suite(runner, registry[i].make());
        chosen++;
    }
    if (!chosen) {
        fprintf(stderr, "no such suite; there are:");
        for (int i = 0; i < COUNT; i++) fprintf(stderr, " %s", registry[i].topic);
        fprintf(stderr, "\n");
        return 2;
    }
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    if (failed) { /* the list of failures came last: say the verdict again */
        TestResult **list = srunner_failures(runner);
        int errors = 0;
        for (int i = 0; i < failed; i++) errors += tr_rtype(list[i]) == CK_ERROR;
        free(list);
        printf("%d%%: Checks: %d, Failures: %d, Errors: %d\n", (run - failed) * 100 / (run ? run : 1), run,
               failed - errors, errors);
    }
    srunner_free(runner);
    return failed ? 1 : run ? 0 : 2;
}
