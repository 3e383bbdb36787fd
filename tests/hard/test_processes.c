/* Many processes and threads over one cache, killed, forked, or with a directory that is read-only, full or
 * corrupted: each compile works or gives an error, and none meets another's half-written file. */
#include <mlc.h>

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

Suite *processes_suite(void);

static char dir[64], *old_cache;

/* A cache of this test alone. */
static void open_cache(void) {
    strcpy(dir, "/tmp/mlc-process-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    old_cache = getenv("MLC_CACHE") ? strdup(getenv("MLC_CACHE")) : NULL;
    setenv("MLC_CACHE", dir, 1);
}

static void close_cache(void) {
    char command[200];
    if (old_cache) setenv("MLC_CACHE", old_cache, 1);
    else unsetenv("MLC_CACHE");
    free(old_cache);
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", dir, dir);
    ck_assert_int_eq(system(command), 0);
}

/* f(x) = x * k + 1, in parallel; true where it compiled and gave that. */
static bool works(int k) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_func f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(f, x), mlc_add(mlc_mul(mlc_i32(x), k), 1));
    mlc_schedule(f, mlc_parallel(x, 64));
    int32_t out[1000] = { 0 };
    bool good = mlc_realize(f, mlc_wrap(out, 1000), &(mlc_options){ .threads = 4, .opt = 1 });
    if (!good) fprintf(stderr, "%s\n", mlc_error(ctx));
    for (int i = 0; good && i < 1000; i++) good = out[i] == i * k + 1;
    mlc_ctx_free(ctx);
    return good;
}

/* What a child returns; -1 where it did not end by itself. */
static int wait_for(pid_t pid) {
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_child_runs_after_fork) {
    open_cache();
    ck_assert(works(3)); /* threads are there now */
    pid_t pid = fork();
    if (!pid) _exit(works(3) && works(4) ? 0 : 1);
    ck_assert_int_eq(wait_for(pid), 0);
    ck_assert(works(5));
    close_cache();
}
END_TEST

START_TEST(processes_that_are_killed) {
    open_cache();
    for (int i = 0; i < 12; i++) {
        pid_t pid = fork();
        if (!pid) {
            setpgid(0, 0);
            for (int k = 10 * i;; k++) works(k);
        }
        setpgid(pid, pid);
        nanosleep(&(struct timespec){ .tv_nsec = 7000000 + 13000000 * i }, NULL);
        kill(-pid, SIGKILL); /* its compiler too */
        wait_for(pid);
    }
    for (int k = 0; k < 8; k++) ck_assert_msg(works(10 * k), "program %d", k);
    close_cache();
}
END_TEST

START_TEST(processes_at_once) {
    open_cache();
    pid_t pid[6];
    for (int i = 0; i < 6; i++) {
        pid[i] = fork();
        if (pid[i]) continue;
        for (int k = 0; k < 3; k++)
            if (!works(k)) _exit(1);
        _exit(0);
    }
    for (int i = 0; i < 6; i++) ck_assert_int_eq(wait_for(pid[i]), 0);
    close_cache();
}
END_TEST

/* Each file of the cache replaced in turn; every damage is found, and made good. */
static void damage(const char *path, int how) {
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    if (how == 0) ck_assert_int_eq(truncate(path, st.st_size / 2), 0);
    if (how == 1) ck_assert_int_eq(truncate(path, 0), 0);
    if (how == 2 || how == 3) {
        int fd = open(path, O_RDWR);
        char byte = 0;
        off_t at = how == 2 ? st.st_size / 3 : st.st_size - 3;
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte = (char)(byte ^ 0x40);
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        close(fd);
    }
    if (how == 4) {
        unlink(path);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    if (how == 5) {
        unlink(path);
        ck_assert_int_eq(symlink("/nonexistent", path), 0);
    }
}

START_TEST(damaged_files) {
    for (int how = 0; how < 6; how++) {
        open_cache();
        ck_assert(works(7));
        pid_t pid = fork(); /* a process that has nothing loaded */
        if (!pid) {
            DIR *d = opendir(dir);
            for (struct dirent *e; d && (e = readdir(d));) {
                char path[400];
                snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
                if (e->d_name[0] != '.') damage(path, how);
            }
            if (d) closedir(d);
            _exit(works(7) && works(8) ? 0 : 1);
        }
        ck_assert_msg(wait_for(pid) == 0, "damage %d", how);
        close_cache();
    }
}
END_TEST

START_TEST(directories_that_cannot_be_used) {
    open_cache();
    char path[100], file[100];
    snprintf(path, sizeof path, "%s/none", dir);
    snprintf(file, sizeof file, "%s/file", dir);
    int fd = open(file, O_CREAT | O_WRONLY, 0600);
    close(fd);
    ck_assert_int_eq(mkdir(path, 0500), 0); /* read-only, but for root */
    const char *const places[] = { path, file, "/dev/null", "/dev/full", "/proc/self", "/proc/none/a/b", "" };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        setenv("MLC_CACHE", places[i], 1);
        char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
        unsetenv("HOME");
        bool good = works(20 + (int)i);
        if (home) setenv("HOME", home, 1);
        free(home);
        ck_assert_msg(good, "MLC_CACHE=%s", places[i]);
    }
    setenv("MLC_CACHE", dir, 1);
    setenv("MLC_CACHE_MIB", "0", 1); /* nothing may stay */
    bool good = works(30) && works(31);
    unsetenv("MLC_CACHE_MIB");
    ck_assert(good);
    close_cache();
}
END_TEST

/* ---- planted faults, in generated code ---- */

#ifdef __SANITIZE_ADDRESS__
/* Memory one element shorter than its buffer says: the store that generated code makes there is caught. */
static void store_past_the_end(const char *target, const char *said) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_func f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(f, x), mlc_i32(x));
    mlc_schedule(f, mlc_vectorize(x, 8));
    mlc_error_info e;
    mlc_options o = { .target = target, .cc = "gcc", .cflags = "-fsanitize=address" };
    mlc_module *m = mlc_compile(NULL, 1, &f, &o, &e);
    if (!m || !freopen(said, "w", stderr)) _exit(0);
    int32_t *out = malloc(1023 * sizeof *out);
    mlc_run(m, 1, (mlc_buffer *[]){ mlc_wrap(out, 1024) }, 0, NULL, &e);
    _exit(0); /* not caught */
}

START_TEST(a_planted_store_is_caught) {
    open_cache();
    static const char *const targets[] = { "plain", "host" };
    for (int i = 0; i < 2; i++) {
        char said[100], text[4000] = "";
        snprintf(said, sizeof said, "%s/said", dir);
        pid_t pid = fork();
        if (!pid) store_past_the_end(targets[i], said);
        ck_assert_int_ne(wait_for(pid), 0);
        FILE *file = fopen(said, "r");
        ck_assert_ptr_nonnull(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        ck_assert_msg(strstr(text, "AddressSanitizer") && strstr(text, "WRITE of size") && strstr(text, "mlc_kernel"), "%s", text);
    }
    close_cache();
}
END_TEST
#endif

/* ---- threads ---- */

typedef struct {
    mlc_ctx *ctx;
    mlc_func f;
    mlc_module *shared;
    int n;
    bool good;
} Task;

static void *compile_and_call(void *user) {
    Task *t = user;
    t->good = true;
    for (int i = 0; i < 4 && t->good; i++) {
        int32_t out[300] = { 0 };
        mlc_error_info e;
        mlc_options o = { .opt = 1 + (t->n + i) % 2 };
        mlc_module *m = mlc_compile(NULL, 1, &t->f, &o, &e);
        t->good = m && !mlc_run(m, 1, (mlc_buffer *[]){ mlc_wrap(out, 300) }, 0, NULL, &e);
        for (int k = 0; k < 300 && t->good; k++) t->good = out[k] == 2 * k + 1;
        mlc_module_free(m);
        mlc_buffer b = *mlc_wrap(out, 150);
        b.dim[0].stride = 2; /* the other variant, built by whoever comes first */
        t->good = t->good && !mlc_run(t->shared, 1, (mlc_buffer *[]){ &b }, 0, NULL, &e) && out[298] == 299;
        t->good = t->good && mlc_function(t->shared, "i32*[300] -> i32", &e) != NULL;
    }
    return NULL;
}

START_TEST(threads_share_a_context_and_a_module) {
    open_cache();
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_func f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(f, x), mlc_add(mlc_mul(mlc_i32(x), 2), 1));
    mlc_schedule(f, mlc_parallel(x, 32));
    mlc_error_info e;
    mlc_module *m = mlc_compile(NULL, 1, &f, NULL, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    pthread_t thread[4];
    Task task[4];
    for (int i = 0; i < 4; i++) {
        task[i] = (Task){ ctx, f, m, i, false };
        ck_assert_int_eq(pthread_create(&thread[i], NULL, compile_and_call, &task[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_msg(task[i].good, "thread %d", i);
    }
    mlc_module_free(m);
    mlc_ctx_free(ctx);
    close_cache();
}
END_TEST

/* The sanitizers' own allocators keep their locks locked in a child of fork: a test of memory only without them. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define FORKS_WHILE_BUSY 0
#else
#define FORKS_WHILE_BUSY 1
#endif

#if FORKS_WHILE_BUSY
typedef struct {
    mlc_module *m;
    atomic_bool stop;
} Busy;

static bool small_call(mlc_module *m) {
    int32_t out[40] = { 0 };
    mlc_error_info e;
    mlc_buffer b = *mlc_wrap(out, 40);
    return !mlc_run(m, 1, (mlc_buffer *[]){ &b }, 0, NULL, &e) && out[39] == 3 * 39;
}

static void *call_until(void *user) {
    Busy *b = user;
    while (!atomic_load(&b->stop)) {
        small_call(b->m);
        mlc_module_memo_clear(b->m);
    }
    return NULL;
}

/* Threads that the child does not have hold locks of memory and of memoized values as often as not. */
START_TEST(a_child_of_a_busy_process) {
    open_cache();
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\ng(x) = i32(x); h(x) = g(x) + 0; f(x) = g(x) + 2 * h(x); output f;\n"
                                            "plan p { g: compute_root(), memoize(); h: compute_at(f, x), store_in(heap); }", "busy");
    mlc_func f = mlc_program_output(p, 0);
    mlc_error_info e;
    Busy b = { .m = mlc_compile(mlc_program_plan(p, 0), 1, &f, NULL, &e) };
    ck_assert_msg(b.m != NULL, "%s", e.message);
    ck_assert(small_call(b.m));
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, call_until, &b), 0);
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (!pid) {
            alarm(20);
            _exit(small_call(b.m) && small_call(b.m) ? 0 : 1);
        }
        ck_assert_int_eq(wait_for(pid), 0);
    }
    atomic_store(&b.stop, true);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    ck_assert(small_call(b.m));
    mlc_module_free(b.m);
    mlc_ctx_free(ctx);
    close_cache();
}
END_TEST

/* The variant of strided buffers, which the first call of one builds. */
static bool strided_call(mlc_module *m) {
    int32_t out[80] = { 0 };
    mlc_error_info e;
    mlc_buffer b = *mlc_wrap(out, 40);
    b.dim[0].stride = 2;
    return !mlc_run(m, 1, (mlc_buffer *[]){ &b }, 0, NULL, &e) && out[78] == 3 * 39;
}

static void *build_variant(void *m) {
    return strided_call(m) ? m : NULL;
}

/* The thread is in the compiler, with the module locked, at most of the forks. */
START_TEST(a_child_of_a_process_that_compiles) {
    open_cache();
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, "mlc 1\nf(x) = 3 * i32(x); output f;", "compiles");
    mlc_func f = mlc_program_output(p, 0);
    mlc_error_info e;
    mlc_module *m = mlc_compile(NULL, 1, &f, NULL, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, build_variant, m), 0);
    pid_t child[8];
    for (int i = 0; i < 8; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
        child[i] = fork();
        if (child[i]) continue;
        alarm(60);
        _exit(strided_call(m) && mlc_function(m, "i32*[40] -> i32", &e) ? 0 : 1);
    }
    for (int i = 0; i < 8; i++) ck_assert_int_eq(wait_for(child[i]), 0);
    void *built;
    pthread_join(thread, &built);
    ck_assert_ptr_eq(built, m);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
    close_cache();
}
END_TEST
#endif

Suite *processes_suite(void) {
    Suite *s = suite_create("processes");
    TCase *t = tcase_create("processes");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_child_runs_after_fork);
#if FORKS_WHILE_BUSY
    tcase_add_test(t, a_child_of_a_busy_process);
    tcase_add_test(t, a_child_of_a_process_that_compiles);
#endif
    tcase_add_test(t, processes_that_are_killed);
    tcase_add_test(t, processes_at_once);
    tcase_add_test(t, damaged_files);
    tcase_add_test(t, directories_that_cannot_be_used);
#ifdef __SANITIZE_ADDRESS__
    tcase_add_test(t, a_planted_store_is_caught);
#endif
    tcase_add_test(t, threads_share_a_context_and_a_module);
    suite_add_tcase(s, t);
    return s;
}
