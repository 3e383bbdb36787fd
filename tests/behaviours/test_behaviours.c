/* test_behaviours.c - the texts under tests/behaviours, a test a folder: see cases.c for what a text says.
 *
 * The runner is a program of its own, since what it tests may crash; every file is named when it fails. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

Suite *behaviours_suite(void);

enum { MOST_FOLDERS = 32 };
static char folder[MOST_FOLDERS][64];
static int folders;

static void find_folders(void) {
    DIR *d = opendir("tests/behaviours");
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strchr(e->d_name, '.') && folders < MOST_FOLDERS) snprintf(folder[folders++], sizeof folder[0], "%.60s", e->d_name);
    if (d) closedir(d);
}

START_TEST(texts) {
    const char *build = getenv("MLC_BUILD");
    char command[256], line[2048];
    static char said[1 << 15];
    size_t n = 0;
    snprintf(command, sizeof command, "%s/text_cases %s tests/behaviours/%s/*.mlc 2>&1", build ? build : "build",
             getenv("MLC_LONG") ? "-a" : "", folder[_i]);
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    said[0] = 0;
    while (fgets(line, sizeof line, p)) {
        size_t k = strlen(line);
        if (!strncmp(line, "skipped: ", 9)) printf("  %s: %s", folder[_i], line);
        if (n + k < sizeof said) memcpy(said + n, line, k + 1), n += k;
    }
    int status = pclose(p);
    ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status) && strstr(said, " 0 failures"), "%s: %s", folder[_i], said);
}
END_TEST

START_TEST(there_are_some) {
    ck_assert_int_gt(folders, 0);
}
END_TEST

Suite *behaviours_suite(void) {
    Suite *s = suite_create("behaviours");
    TCase *c = tcase_create("texts");
    tcase_set_timeout(c, 600);
    find_folders();
    tcase_add_test(c, there_are_some);
    tcase_add_loop_test(c, texts, 0, folders);
    suite_add_tcase(s, c);
    return s;
}
