/* Threads, kept memory and the floating-point mode behind a module's hooks. */
#include "runtime/runtime.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *pool_suite(void);

typedef struct {
    mlc_hooks hooks;
    HookUser user;
} Fixture;

static void open_fixture(Fixture *f, int threads) {
    f->user = (HookUser){ .rt = rt_new(&mlc_allocator_libc, NULL, NULL), .threads = threads };
    ck_assert_ptr_nonnull(f->user.rt);
    rt_hooks(&f->hooks, &f->user);
}

static void close_fixture(Fixture *f) {
    rt_unref(f->user.rt);
}

typedef struct {
    const mlc_hooks *hooks;
    _Atomic int *count;
    int64_t width;
    int64_t fail_at;
} Work;

static int tick(void *closure, int64_t i) {
    Work *w = closure;
    atomic_fetch_add(&w->count[i], 1);
    return i == w->fail_at ? 7 : 0;
}

static int nest(void *closure, int64_t i) {
    Work *w = closure;
    Work inner = { w->hooks, w->count + i * w->width, 0, -1 };
    return w->hooks->par_for(w->hooks->user, tick, &inner, w->width);
}

START_TEST(every_iteration_runs_once) {
    static const int64_t sizes[] = { 0, 1, 2, 3, 7, 64, 1009, 10007 };
    for (int threads = 1; threads <= 5; threads++) {
        Fixture f;
        open_fixture(&f, threads);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            static _Atomic int count[10007];
            memset(count, 0, sizeof count);
            Work w = { &f.hooks, count, 0, -1 };
            ck_assert_int_eq(f.hooks.par_for(f.hooks.user, tick, &w, sizes[k]), 0);
            for (int64_t i = 0; i < 10007; i++) ck_assert_int_eq(count[i], i < sizes[k]);
        }
        close_fixture(&f);
    }
}
END_TEST

START_TEST(nested_loops_finish) {
    Fixture f;
    open_fixture(&f, 4);
    static _Atomic int count[31 * 37];
    for (int round = 0; round < 50; round++) {
        memset(count, 0, sizeof count);
        Work w = { &f.hooks, count, 37, -1 };
        ck_assert_int_eq(f.hooks.par_for(f.hooks.user, nest, &w, 31), 0);
        for (int i = 0; i < 31 * 37; i++) ck_assert_int_eq(count[i], 1);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(a_failure_comes_back) {
    Fixture f;
    open_fixture(&f, 3);
    static _Atomic int count[100000];
    Work w = { &f.hooks, count, 0, 5 };
    ck_assert_int_eq(f.hooks.par_for(f.hooks.user, tick, &w, 100000), 7);
    ck_assert_int_eq(count[5], 1);
    w.fail_at = 99999;
    ck_assert_int_eq(f.hooks.par_for(f.hooks.user, tick, &w, 100000), 7);
    close_fixture(&f);
}
END_TEST

static void *caller(void *arg) {
    Fixture *f = arg;
    _Atomic int *count = calloc(1009, sizeof *count);
    for (int round = 0; round < 60; round++) {
        Work w = { &f->hooks, count, 0, -1 };
        if (f->hooks.par_for(f->hooks.user, tick, &w, 1009)) return NULL;
    }
    bool good = true;
    for (int i = 0; i < 1009; i++) good = good && count[i] == 60;
    free(count);
    return good ? arg : NULL;
}

START_TEST(callers_share_one_pool) {
    Fixture f;
    open_fixture(&f, 3);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, caller, &f), 0);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(t[i], &result);
        ck_assert_ptr_eq(result, &f);
    }
    close_fixture(&f);
}
END_TEST

#if !defined __SANITIZE_THREAD__
START_TEST(works_in_a_forked_child) {
    Fixture f;
    open_fixture(&f, 3);
    static _Atomic int count[1009];
    Work w = { &f.hooks, count, 0, -1 };
    ck_assert_int_eq(f.hooks.par_for(f.hooks.user, tick, &w, 1009), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        int r = f.hooks.par_for(f.hooks.user, tick, &w, 1009);
        for (int i = 0; i < 1009; i++) r |= count[i] != 2;
        rt_unref(f.user.rt);
        _exit(r ? 1 : 0);
    }
    int status;
    waitpid(child, &status, 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(f.hooks.par_for(f.hooks.user, tick, &w, 1009), 0);
    close_fixture(&f);
}
END_TEST
#endif

START_TEST(memory_is_aligned_kept_and_separate) {
    Fixture f;
    open_fixture(&f, 1);
    char *p[200];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 200; i++) {
            size_t n = (size_t)i * (size_t)i * 13;
            p[i] = f.hooks.alloc(f.hooks.user, n);
            ck_assert_ptr_nonnull(p[i]);
            ck_assert_int_eq((intptr_t)p[i] % 64, 0);
            memset(p[i], i, n);
        }
        for (int i = 0; i < 200; i++) {
            size_t n = (size_t)i * (size_t)i * 13;
            for (size_t k = 0; k < n; k += 97) ck_assert_int_eq((unsigned char)p[i][k], i);
            f.hooks.release(f.hooks.user, p[i]);
        }
    }
    ck_assert_ptr_null(f.hooks.alloc(f.hooks.user, SIZE_MAX / 2));
    f.hooks.release(f.hooks.user, NULL);
    close_fixture(&f);
}
END_TEST

START_TEST(floating_point_mode_is_set_and_put_back) {
#if defined __x86_64__
    unsigned host = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80 | 0x8040 | 0x6000); /* flush to zero, round towards zero */
    unsigned odd = __builtin_ia32_stmxcsr();
    volatile float tiny = 1e-38f;
    unsigned old = fp_enter();
    float kept = tiny * 0.25f;
    fp_leave(old);
    unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(host);
    ck_assert(kept > 0);
    ck_assert_uint_eq(after, odd);
#endif
}
END_TEST

static char logged[256];
static void take_line(void *user, const char *line) {
    (void)user;
    snprintf(logged, sizeof logged, "%s", line);
}

START_TEST(print_writes_one_line) {
    HookUser u = { .rt = rt_new(&mlc_allocator_libc, take_line, NULL), .threads = 1 };
    mlc_hooks h;
    rt_hooks(&h, &u);
    mlc_type t[] = { MLC_F32, MLC_U64, MLC_BOOL, MLC_I8 };
    mlc_scalar v[] = { { .f = 0.5 }, { .i = -1 }, { .i = 1 }, { .i = -128 } };
    h.print(h.user, "p", 4, t, v);
    ck_assert_str_eq(logged, "p 0.5 18446744073709551615 true -128");
    rt_unref(u.rt);
}
END_TEST

Suite *pool_suite(void) {
    Suite *s = suite_create("pool");
    TCase *t = tcase_create("pool");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_iteration_runs_once);
    tcase_add_test(t, nested_loops_finish);
    tcase_add_test(t, a_failure_comes_back);
    tcase_add_test(t, callers_share_one_pool);
#if !defined __SANITIZE_THREAD__ /* which knows no threads after fork */
    tcase_add_test(t, works_in_a_forked_child);
#endif
    tcase_add_test(t, memory_is_aligned_kept_and_separate);
    tcase_add_test(t, floating_point_mode_is_set_and_put_back);
    tcase_add_test(t, print_writes_one_line);
    suite_add_tcase(s, t);
    return s;
}
