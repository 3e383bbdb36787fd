/* What a machine can lack: compilers that are not there, do not fit, fail, print nonsense or make garbage;
 * directories that cannot be used.  Each is an error with its place and a remedy, and the process goes on. */
#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *build_errors_suite(void);

static char dir[64];

static void open_dir(void) {
    strcpy(dir, "/tmp/mlc-errors-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void close_dir(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* A compiler that is a shell script. */
static const char *script(const char *name, const char *body) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "#!/bin/sh\nout=; while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n%s\n", body);
    fclose(f);
    ck_assert_int_eq(chmod(path, 0755), 0);
    return path;
}

/* Compiles a program by this compiler, which must fail: the message, paths of temporary files as PATH. */
static const char *message_of(const char *cc, bool no_cache) {
    static mlc_error_info e;
    static char text[1200];
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_func f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(f, x), x);
    mlc_options o = { .cc = cc, .no_cache = no_cache };
    mlc_module *m = mlc_compile(NULL, mlc_outs(f), &o, &e);
    ck_assert_ptr_null(m);
    mlc_ctx_free(ctx);
    size_t n = 0;
    for (const char *p = e.message; *p && n + 8 < sizeof text; p++) {
        const char *temp = strncmp(p, "/tmp/tmp.", 9) && strncmp(p, "/tmp/mlc-", 9) ? NULL : p;
        if (temp && strncmp(p, dir, strlen(dir))) {
            n += (size_t)sprintf(text + n, "PATH");
            p += strcspn(p, " :,;") - 1;
        } else {
            text[n++] = *p;
        }
    }
    text[n] = 0;
    return text;
}

/* The wanted text, with the compiler's path in place of CC. */
static void check_message(const char *got, const char *want, const char *cc) {
    char all[1200];
    size_t n = 0;
    for (const char *p = want; *p; p++) {
        if (strncmp(p, "$CC", 3)) {
            all[n++] = *p;
            continue;
        }
        n += (size_t)snprintf(all + n, sizeof all - n, "%s", cc);
        p += 2;
    }
    all[n] = 0;
    ck_assert_str_eq(got, all);
}

#define FAILED "$CC failed on generated source, kept as PATH; check MLC_CFLAGS, or report that file; it said: "
#define UNLOADED "what $CC built cannot be loaded: "
#define REMEDY "; set MLC_CC to gcc or clang"

static const struct {
    const char *name, *body, *message;
} scripts[] = {
    { "tcc", "exit 0", "$CC cannot compile generated code: it has no vector types of gcc; set MLC_CC to gcc or clang" },
    { "mycc", "echo hello", "$CC cannot compile generated code: it has no vector types of gcc; set MLC_CC to gcc or clang" },
    { "gcc-a", "echo sorry >&2; exit 3", FAILED "sorry" },
    { "gcc-b", "exit 1", FAILED "nothing" },
    { "gcc-c", "kill -9 $$", FAILED "nothing" },
    { "gcc-d", "exit 0", FAILED "nothing, and made no file" },
    { "gcc-e", "rm -rf $out; mkdir $out", FAILED "nothing, and made no file" },
    { "gcc-f", "echo garbage >$out", UNLOADED "PATH: file too short" REMEDY },
    { "gcc-g", ": >$out", UNLOADED "PATH: file too short" REMEDY },
    { "gcc-h", "head -c 5000 /dev/zero >$out", UNLOADED "PATH: invalid ELF header" REMEDY },
    { "gcc-i", "cp \"$(ldd /bin/sh | sed -n 's/.* \\(.*libc.so.6\\) .*/\\1/p')\" $out", UNLOADED "it lacks the kernel" REMEDY },
};

/* Much said is cut. */
START_TEST(a_talkative_compiler) {
    open_dir();
    const char *cc = script("gcc", "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1");
    const char *got = message_of(cc, true), *said = strstr(got, "it said: ");
    ck_assert_ptr_nonnull(said);
    ck_assert_uint_eq(strlen(said), strlen("it said: ") + 500);
    close_dir();
}
END_TEST

START_TEST(compiler_row) {
    open_dir();
    for (int no_cache = 0; no_cache < 2; no_cache++) {
        const char *cc = script(scripts[_i].name, scripts[_i].body);
        check_message(message_of(cc, no_cache), scripts[_i].message, cc);
    }
    close_dir();
}
END_TEST

START_TEST(no_compiler) {
    static char path[4096];
    const char *old = getenv("PATH"), *cc = getenv("MLC_CC");
    snprintf(path, sizeof path, "%s", old ? old : "");
    ck_assert_str_eq(message_of("/nonexistent", false),
                     "no C compiler was found: looked for /nonexistent; install gcc or clang, set MLC_CC, or choose the "
                     "target interpret");
    ck_assert_str_eq(message_of("/tmp", false),
                     "no C compiler was found: looked for /tmp; install gcc or clang, set MLC_CC, or choose the target "
                     "interpret");
    static const char *const paths[] = { "", "/nonexistent", ":::" };
    for (int i = 0; i < 3 && !cc; i++) {
        setenv("PATH", paths[i], 1);
        const char *got = message_of(NULL, false);
        setenv("PATH", path, 1);
        ck_assert_str_eq(got, "no C compiler was found: looked for gcc, clang and cc; install gcc or clang, set MLC_CC, "
                              "or choose the target interpret");
    }
}
END_TEST

START_TEST(no_temporary_directory) {
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/nonexistent", 1);
    const char *got = message_of("gcc", true);
    if (old) setenv("TMPDIR", old, 1);
    else unsetenv("TMPDIR");
    free(old);
    char unique[7], want[200];
    ck_assert_int_eq(sscanf(got, "/nonexistent/mlc-%6s ", unique), 1);
    snprintf(want, sizeof want, "/nonexistent/mlc-%s cannot be used for temporary files: No such file or directory; set TMPDIR",
             unique);
    ck_assert_str_eq(got, want);
}
END_TEST

Suite *build_errors_suite(void) {
    Suite *s = suite_create("build_errors");
    TCase *t = tcase_create("build_errors");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, compiler_row, 0, (int)(sizeof scripts / sizeof *scripts));
    tcase_add_test(t, a_talkative_compiler);
    tcase_add_test(t, no_compiler);
    tcase_add_test(t, no_temporary_directory);
    suite_add_tcase(s, t);
    return s;
}
