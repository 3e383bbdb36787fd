/* test_jit.c - the compiler, the cache and the loader, and what goes wrong with each. */
#include "jit/jit.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *jit_suite(void);

static Arena arena;
static Fault fault;
static char dir[64];

static void setup(void) {
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    strcpy(dir, P_tmpdir "/mlc-jit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    setenv("MLC_CACHE", dir, 1);
    unsetenv("MLC_CC");
}

static void teardown(void) {
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", dir, dir);
    ck_assert_int_eq(system(command), 0);
    arena_free(&arena);
}

/* What f() of the source gives; -1 on an error, which is in `fault`. */
static int call(const JitOptions *o, const char *source, bool *cached) {
    Barrier b;
    volatile int result = -1;
    memset(&fault, 0, sizeof fault);
    if (FAULT_TRY(&fault, b)) {
        JitTimes t = { 0 };
        void *h = jit_load(&arena, o, source, false, &t);
        int (*f)(void);
        *(void **)&f = jit_symbol(h, "f");
        result = f();
        if (cached) *cached = t.cached;
        jit_unload(h);
        FAULT_END(&fault, b);
    }
    return result;
}

/* Names in the directory that end so. */
static int files(const char *end, char *last) {
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t k = strlen(e->d_name), m = strlen(end);
        if (k <= m || strcmp(e->d_name + k - m, end)) continue;
        if (last) snprintf(last, 400, "%s/%s", dir, e->d_name);
        n++;
    }
    closedir(d);
    return n;
}

/* A folder may hold what others keep there; only what a killed compile left is old enough to go. */
START_TEST(what_others_keep_stays) {
    static const char *const kept[] = { "tmp.notes.txt", "tmp.XyZ123", "0123456789abcdef0123456789abcdef.txt", "mlc-notes" };
    char command[512];
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        snprintf(command, sizeof command, "head -c 2000000 /dev/zero > %s/%s && touch -d '3 hours ago' %s/%s", dir, kept[i], dir, kept[i]);
        ck_assert_int_eq(system(command), 0);
    }
    snprintf(command, sizeof command, "touch -d '3 hours ago' %s/mlc-tmp.1.2.3.so", dir);
    ck_assert_int_eq(system(command), 0);
    setenv("MLC_CACHE_MIB", "1", 1);
    ck_assert_int_eq(call(&(JitOptions){ .opt = 1 }, "int f(void) { return 7; }", NULL), 7);
    unsetenv("MLC_CACHE_MIB");
    ck_assert_int_eq(files(".txt", NULL), 2);
    ck_assert_int_eq(files(".XyZ123", NULL), 1);
    ck_assert_int_eq(files("-notes", NULL), 1);
    ck_assert_int_eq(files(".3.so", NULL), 0);
}
END_TEST

START_TEST(built_once) {
    JitOptions o = { .opt = 1 };
    bool cached = true;
    ck_assert_int_eq(call(&o, "int f(void) { return 41; }", &cached), 41);
    ck_assert(!cached);
    ck_assert_int_eq(call(&o, "int f(void) { return 41; }", &cached), 41);
    ck_assert(cached);
    ck_assert_int_eq(call(&o, "int f(void) { return 42; }", &cached), 42);
    ck_assert(!cached);
    o.flags = "-DX=7"; /* other flags, another object */
    ck_assert_int_eq(call(&o, "int f(void) { return X; }", &cached), 7);
    o.flags = "-DX=8";
    ck_assert_int_eq(call(&o, "int f(void) { return X; }", &cached), 8);
    ck_assert_int_eq(files(".so", NULL), 4);
    ck_assert_int_eq(files(".c", NULL) + files(".err", NULL), 0);
}
END_TEST

START_TEST(damage_is_noticed) {
    JitOptions o = { .opt = 1 };
    bool cached;
    char path[400];
    ck_assert_int_eq(call(&o, "int f(void) { return 5; }", &cached), 5);
    ck_assert_int_eq(files(".so", path), 1);
    FILE *f = fopen(path, "r+b");
    if (_i == 0) { /* one byte */
        fseek(f, 4096, SEEK_SET);
        fputc(0x5a, f);
    } else ck_assert_int_eq(truncate(path, _i == 1 ? 0 : 100), 0);
    fclose(f);
    ck_assert_int_eq(call(&o, "int f(void) { return 5; }", &cached), 5);
    ck_assert(!cached);
    ck_assert_int_eq(call(&o, "int f(void) { return 5; }", &cached), 5);
    ck_assert(cached);
}
END_TEST

static int logged;
static void count_log(void *user, const char *text) {
    (void)user;
    (void)text;
    logged++;
}

START_TEST(works_without_a_directory) {
    JitOptions o = { .opt = 1, .log = count_log };
    char other[128];
    logged = 0;
    if (_i == 0) setenv("MLC_CACHE", "/dev/null/nowhere", 1);
    if (_i == 1) { /* a file in its place */
        snprintf(other, sizeof other, "%s/file", dir);
        ck_assert(jit_write_file(other, "x", 1));
        setenv("MLC_CACHE", other, 1);
    }
    if (_i == 2) setenv("MLC_CACHE", "/proc", 1); /* there, and nobody can write it */
    ck_assert_int_eq(call(&o, "int f(void) { return 6; }", NULL), 6);
    ck_assert_int_gt(logged, 0);
    size_t n;
    char key[33];
    jit_digest("k", 1, key);
    jit_blob_put(&arena, &o, key, "b", 1);
    ck_assert_ptr_null(jit_blob_get(&arena, &o, key, &n));
}
END_TEST

START_TEST(blobs) {
    JitOptions o = { 0 };
    char key[33], path[400];
    size_t n = 0;
    jit_digest("what", 4, key);
    ck_assert_uint_eq(strlen(key), 32);
    ck_assert_ptr_null(jit_blob_get(&arena, &o, key, &n));
    jit_blob_put(&arena, &o, key, "hello\0you", 9);
    const char *p = jit_blob_get(&arena, &o, key, &n);
    ck_assert_uint_eq(n, 9);
    ck_assert_int_eq(memcmp(p, "hello\0you", 9), 0);
    ck_assert_int_eq(files(".meta", path), 1);
    ck_assert_int_eq(truncate(path, 20), 0);
    ck_assert_ptr_null(jit_blob_get(&arena, &o, key, &n));
    ck_assert_int_eq(files(".meta", NULL), 0);
}
END_TEST

START_TEST(bounded) {
    JitOptions o = { 0 };
    char key[33], *big = calloc(1, 300000);
    size_t n;
    setenv("MLC_CACHE_MIB", "1", 1);
    for (int i = 0; i < 6; i++) {
        jit_digest(&i, sizeof i, key);
        jit_blob_put(&arena, &o, key, big, 300000);
        usleep(20000); /* file times are coarse */
    }
    unsetenv("MLC_CACHE_MIB");
    ck_assert_int_eq(files(".meta", NULL), 3);
    ck_assert_ptr_nonnull(jit_blob_get(&arena, &o, key, &n)); /* the last one */
    free(big);
}
END_TEST

/* Several processes on one directory, some killed in the middle. */
START_TEST(many_processes) {
    JitOptions o = { .opt = 1 };
    pid_t pid[6];
    for (int i = 0; i < 6; i++) {
        pid[i] = fork();
        ck_assert_int_ge(pid[i], 0);
        if (pid[i] == 0) {
            int good = 1;
            for (int k = 0; k < 3; k++) {
                char source[64];
                snprintf(source, sizeof source, "int f(void) { return %d; }", 100 + k);
                good &= call(&o, source, NULL) == 100 + k;
            }
            _exit(good ? 0 : 1);
        }
    }
    usleep(30000);
    kill(pid[0], SIGKILL);
    for (int i = 0; i < 6; i++) {
        int status;
        waitpid(pid[i], &status, 0);
        if (i) ck_assert_int_eq(status, 0);
    }
    bool cached;
    for (int k = 0; k < 3; k++) {
        char source[64];
        snprintf(source, sizeof source, "int f(void) { return %d; }", 100 + k);
        ck_assert_int_eq(call(&o, source, &cached), 100 + k);
        ck_assert(cached);
    }
}
END_TEST

START_TEST(failures_are_rows) {
    JitOptions o = { .opt = 1 };
    ck_assert_int_eq(call(&o, "int f(void) { return nothing; }", NULL), -1);
    ck_assert_int_eq(fault.info.code, ERR_CC_FAILED);
    ck_assert_ptr_nonnull(strstr(fault.info.message, "nothing"));
    const char *kept = strstr(fault.info.message, "kept as ");
    ck_assert_ptr_nonnull(kept);
    char path[300];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(kept + 8, ";"), kept + 8);
    char source[300] = "";
    FILE *in = fopen(path, "r");
    ck_assert_ptr_nonnull(in);
    ck_assert_uint_gt(fread(source, 1, sizeof source - 1, in), 0);
    fclose(in);
    ck_assert_ptr_nonnull(strstr(source, "int f(void) { return nothing; }")); /* what failed is there to be looked at */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(files(".so", NULL), 0);

    ck_assert_int_eq(call(&o, "int g(void); int f(void) { return g(); }", NULL), -1);
    ck_assert_int_eq(fault.info.code, ERR_LOAD_FAILED);

    o.cc = "no-such-compiler";
    ck_assert_int_eq(call(&o, "int f(void) { return 1; }", NULL), -1);
    ck_assert_str_eq(fault.info.message, "no C compiler was found: looked for no-such-compiler; install gcc or clang, "
                                         "set MLC_CC, or choose the target interpret");
    ck_assert_int_eq(fault.info.code, ERR_NO_COMPILER);

    char fake[128];
    snprintf(fake, sizeof fake, "%s/tcc", dir);
    ck_assert(jit_write_file(fake, "#!/bin/sh\n", 10));
    chmod(fake, 0700);
    o.cc = fake;
    ck_assert_int_eq(call(&o, "int f(void) { return 1; }", NULL), -1);
    ck_assert_int_eq(fault.info.code, ERR_COMPILER_UNFIT);

    snprintf(fake, sizeof fake, "%s/wrapper", dir); /* an unknown name is asked what it is */
    FILE *f = fopen(fake, "w");
    fputs("#!/bin/sh\nexec gcc \"$@\"\n", f);
    fclose(f);
    chmod(fake, 0700);
    ck_assert_int_eq(call(&o, "int f(void) { return 9; }", NULL), 9);
    Barrier b;
    if (FAULT_TRY(&fault, b)) {
        ck_assert(jit_compiler(&arena, &o)->is_gcc);
        FAULT_END(&fault, b);
    }
}
END_TEST

/* A fresh copy has variables of its own. */
START_TEST(fresh_copies) {
    JitOptions o = { .opt = 1 };
    Barrier b;
    if (FAULT_TRY(&fault, b)) {
        JitTimes t = { 0 };
        void *h[2];
        for (int i = 0; i < 2; i++) h[i] = jit_load(&arena, &o, "int v; int *f(void) { return &v; }", true, &t);
        ck_assert_ptr_ne(jit_symbol(h[0], "v"), jit_symbol(h[1], "v"));
        for (int i = 0; i < 2; i++) jit_unload(h[i]);
        FAULT_END(&fault, b);
    } else ck_abort_msg("%s", fault.info.message);
}
END_TEST

Suite *jit_suite(void) {
    Suite *s = suite_create("jit");
    TCase *t = tcase_create("jit");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, what_others_keep_stays);
    tcase_add_test(t, built_once);
    tcase_add_loop_test(t, damage_is_noticed, 0, 3);
    tcase_add_loop_test(t, works_without_a_directory, 0, 3);
    tcase_add_test(t, blobs);
    tcase_add_test(t, bounded);
    tcase_add_test(t, many_processes);
    tcase_add_test(t, failures_are_rows);
    tcase_add_test(t, fresh_copies);
    suite_add_tcase(s, t);
    return s;
}
