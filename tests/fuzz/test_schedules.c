/* test_schedules.c - a slice of the random schedules, and what they found before.
 *
 * The fuzzer is a program of its own, since what it tests may crash; its last line counts the differences. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

Suite *schedules_suite(void);

/* Runs it; its exit status, with the end of what it said. */
static int fuzz(const char *arguments, char *said, size_t size) {
    const char *build = getenv("MLC_BUILD");
    char command[256], line[1024];
    snprintf(command, sizeof command, "%s/fuzz_schedules %s 2>&1", build ? build : "build", arguments);
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    size_t n = 0;
    said[0] = 0;
    while (fgets(line, sizeof line, p)) {
        bool counts = strstr(line, "FAIL") || strstr(line, ".mlc:") || strstr(line, " differences");
        size_t k = strlen(line);
        if (!counts || n + k >= size) continue;
        memcpy(said + n, line, k + 1);
        n += k;
    }
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(slice) {
    static char said[8192];
    int status = fuzz("-z -n 500 -s 20000", said, sizeof said);
    ck_assert_msg(status == 0, "%s", said);
    const char *last = strstr(said, " programs, ");
    while (last && last > said && last[-1] >= '0' && last[-1] <= '9') last--;
    long programs = last ? strtol(last, NULL, 10) : 0; /* a block is begun again after one that is too slow */
    ck_assert_msg(programs >= 490 && strstr(said, " 0 differences"), "%s", said);
}
END_TEST

/* Plans with kernels, in the loop interpreter. */
START_TEST(kernels) {
    static char said[8192];
    int status = fuzz("-z -q -g -n 150 -s 40000", said, sizeof said);
    ck_assert_msg(status == 0 && strstr(said, " 0 differences"), "%s", said);
}
END_TEST

/* Plans that no care was taken for: lowered, or refused by a row of errors.def. */
START_TEST(careless) {
    static char said[8192];
    int status = fuzz("-z -c -n 1000 -s 70000", said, sizeof said);
    ck_assert_msg(status == 0 && strstr(said, " 0 differences"), "%s", said);
}
END_TEST

/* Programs that once gave a wrong result, small. */
START_TEST(found_before) {
    static char said[8192];
    int status = fuzz("tests/fuzz/found/*.mlc", said, sizeof said);
    ck_assert_msg(status == 0, "%s", said);
}
END_TEST

Suite *schedules_suite(void) {
    Suite *s = suite_create("random schedules");
    TCase *c = tcase_create("schedules");
    tcase_set_timeout(c, 900);
    tcase_add_test(c, found_before);
    tcase_add_test(c, kernels);
    tcase_add_test(c, careless);
    tcase_add_test(c, slice);
    suite_add_tcase(s, c);
    return s;
}
