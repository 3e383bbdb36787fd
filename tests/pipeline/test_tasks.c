/* Tasks of asynchronous Funcs at work: values under any number of threads, run after run, from many callers, in a
 * forked child, when branches fail, and with hooks of somebody else. */
#include "pipeline/pipeline.h"
#include <mlc.h>

#include <check.h>
#include <mlc/text.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *tasks_suite(void);

static const char text[] =
    "mlc 1\n"
    "input in: i32[2];\n"
    "param bad: i32 = 0;\n"
    "a(x, y) = require(in(x, y) != bad, in(x, y), \"a met what is bad\") + in(x + 1, y);\n"
    "b(x, y) = a(x, y) * 3 - a(x, y + 2);\n"
    "c(x, y) = (b(x, y) ^ b(x, y + 1)) + a(x, y + 1);\n"
    "output c;\n"
    "plan whole { a: compute_root(), async(); b: compute_root(), async(); }\n"
    "plan rows { a: store_root(), compute_at(c, y), async(); b: store_root(), compute_at(c, y), async(); }\n"
    "plan vectors { a: store_root(), compute_at(c, y), async(), vectorize(x, 8); b: compute_at(c, y), vectorize(x, 8);\n"
    "    c: vectorize(x, 8); }\n"
    "plan parallel_rows { a: store_root(), compute_at(c, y), async(), parallel(x, 4);\n"
    "    b: store_root(), compute_at(c, y), async(), parallel(x); }\n"
    "plan strips { c: split(y, yo, yi, 4, .tail = guard), parallel(yo); a: store_at(c, yo), compute_at(c, yi), async();\n"
    "    b: store_at(c, yo), compute_at(c, yi), async(); }\n"
    "plan tiles { c: tile(x, y, xo, yo, xi, yi, 4, 4, .tail = guard), parallel(yo); a: compute_at(c, xo), async();\n"
    "    b: compute_at(c, xo), async(); }\n"
    "plan nested { c: split(y, yo, yi, 5, .tail = guard); b: store_root(), compute_at(c, yi), async();\n"
    "    a: store_root(), compute_at(c, yo), async(); }\n"
    "plan rings { c: tile(x, y, xo, yo, xi, yi, 4, 4, .tail = guard); a: store_root(), compute_at(c, xo), async(), ring_buffer(3);\n"
    "    b: store_at(c, yo), compute_at(c, xo), async(), ring_buffer(2), vectorize(x, 4); }\n"
    "plan ring_in_line { c: tile(x, y, xo, yo, xi, yi, 4, 4, .tail = guard), parallel(yo); a: store_at(c, yo), compute_at(c, xo),\n"
    "    ring_buffer(2), async(); b: store_at(c, yo), compute_at(c, xo), ring_buffer(4); }\n";

enum { W = 23, H = 19, PLANS = 9 };

typedef struct {
    mlc_ctx *ctx;
    mlc_program *program;
    int32_t in[H + 4][W + 1], want[H][W];
} Setup;

static void open_setup(Setup *s) {
    s->ctx = mlc_ctx_new();
    s->program = mlc_program_parse(s->ctx, text, "tasks.mlc");
    ck_assert_msg(s->program != NULL, "%s", mlc_error(s->ctx));
    ck_assert_int_eq(mlc_program_n_plans(s->program), PLANS);
    for (int i = 0; i < (H + 4) * (W + 1); i++) s->in[i / (W + 1)][i % (W + 1)] = 1 + i * 7919 % 100003;
    mlc_bind(mlc_find_func(s->ctx, "in"), mlc_wrap(s->in[0], W + 1, H + 4));
    ck_assert_msg(mlc_interpret(mlc_program_output(s->program, 0), mlc_wrap(s->want[0], W, H)), "%s", mlc_error(s->ctx));
}

static mlc_module *compile(Setup *s, int plan, int threads) {
    mlc_error_info e;
    mlc_options o = { .threads = threads };
    mlc_module *m = mlc_compile(mlc_program_plan(s->program, plan), mlc_outs(mlc_program_output(s->program, 0)), &o, &e);
    ck_assert_msg(m != NULL, "%s: %s", mlc_plan_name(mlc_program_plan(s->program, plan)), e.message);
    return m;
}

static int run(mlc_module *m, const Setup *s, int bad, int w, int h, mlc_error_info *e) {
    int32_t out[H][W];
    memset(out, 0x55, sizeof out);
    mlc_buffer b = *mlc_wrap(out[0], W, H), in = *mlc_wrap(s->in[0], W + 1, H + 4), *both[] = { &in, &b };
    b.dim[0].extent = w;
    b.dim[1].extent = h;
    int r = mlc_run(m, 2, both, 1, &(mlc_scalar){ .i = bad }, e);
    if (r) return r;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            if (out[y][x] != (x < w && y < h ? s->want[y][x] : 0x55555555)) return -1;
    return 0;
}

static int runs(void) {
    return getenv("MLC_LONG") ? 1000 : 25;
}

START_TEST(values) {
    static const int size[][2] = { { W, H }, { 1, 1 }, { 0, 3 }, { 7, 2 }, { 2, H } };
    static const int threads[] = { 1, 2, 5 };
    Setup s;
    open_setup(&s);
    for (int t = 0; t < 3; t++) {
        mlc_module *m = compile(&s, _i, threads[t]);
        mlc_error_info e = { 0 };
        for (int k = 0; k < runs(); k++) {
            const int *wh = size[k % 5];
            ck_assert_msg(run(m, &s, 0, wh[0], wh[1], &e) == 0, "plan %d, %d threads, %dx%d: %s", _i, threads[t], wh[0], wh[1], e.message);
        }
        mlc_module_free(m);
    }
    mlc_ctx_free(s.ctx);
}
END_TEST

typedef struct {
    mlc_module *m;
    const Setup *s;
    int good;
} Caller;

static void *call_often(void *arg) {
    Caller *c = arg;
    for (int k = 0; k < runs(); k++) c->good += run(c->m, c->s, 0, W, H, NULL) == 0;
    return NULL;
}

START_TEST(callers_at_once) {
    Setup s;
    open_setup(&s);
    mlc_module *m = compile(&s, _i, 2);
    pthread_t id[8];
    Caller c[8];
    for (int i = 0; i < 8; i++) {
        c[i] = (Caller){ m, &s, 0 };
        ck_assert_int_eq(pthread_create(&id[i], NULL, call_often, &c[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(id[i], NULL);
        ck_assert_int_eq(c[i].good, runs());
    }
    mlc_module_free(m);
    mlc_ctx_free(s.ctx);
}
END_TEST

#if !defined __SANITIZE_THREAD__ /* which knows no threads after fork */
START_TEST(a_child_runs_after_fork) {
    Setup s;
    open_setup(&s);
    mlc_module *m = compile(&s, _i, 2);
    ck_assert_int_eq(run(m, &s, 0, W, H, NULL), 0); /* threads are there now */
    pid_t pid = fork();
    if (!pid) {
        int bad = 0;
        for (int k = 0; k < 5; k++) bad |= run(m, &s, 0, W, H, NULL);
        mlc_module_free(m);
        mlc_ctx_free(s.ctx);
        _exit(bad ? 1 : 0);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(run(m, &s, 0, W, H, NULL), 0);
    mlc_module_free(m);
    mlc_ctx_free(s.ctx);
}
END_TEST
#endif

/* The first, a middle and the last row fail: whoever waits leaves, the error comes once, the next call is whole. */
START_TEST(a_branch_fails) {
    Setup s;
    open_setup(&s);
    mlc_module *m = compile(&s, _i, 3);
    static const int row[] = { 0, 1, H / 2, H + 1 };
    for (int k = 0; k < 4 * (runs() / 20 + 1); k++) {
        mlc_error_info e = { 0 };
        ck_assert_int_ne(run(m, &s, s.in[row[k % 4]][3], W, H, &e), 0);
        ck_assert_msg(strstr(e.message, "require failed: a met what is bad") != NULL, "%s", e.message);
        ck_assert_str_eq(mlc_error_name(e.code), "REQUIRE_FAILED");
        ck_assert_int_eq(run(m, &s, 0, W, H, &e), 0);
    }
    mlc_module_free(m);
    mlc_ctx_free(s.ctx);
}
END_TEST

/* ---- hooks of somebody else: a thread a branch, waiting by asking again, loops backwards ---- */

typedef struct {
    int (*body)(void *closure, int64_t i);
    void *closure;
    int64_t i;
    int result;
} Branch;

static void *branch_main(void *arg) {
    Branch *b = arg;
    b->result = b->body(b->closure, b->i);
    return NULL;
}

static int plain_fork_join(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    pthread_t id[4];
    Branch b[4];
    int result = 0;
    (void)user;
    ck_assert(n <= 4);
    for (int64_t i = 0; i < n; i++) {
        b[i] = (Branch){ body, closure, i, 0 };
        ck_assert_int_eq(pthread_create(&id[i], NULL, branch_main, &b[i]), 0);
    }
    for (int64_t i = 0; i < n; i++) {
        pthread_join(id[i], NULL);
        if (!result) result = b[i].result;
    }
    return result;
}

static void plain_wait(void *user, const int64_t *counter, int64_t least) {
    (void)user;
    while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < least) sched_yield();
}

static void plain_wake(void *user, const int64_t *counter) {
    (void)user;
    (void)counter;
}

static int backwards(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    (void)user;
    for (int64_t i = n; i-- > 0;) {
        int r = body(closure, i);
        if (r) return r;
    }
    return 0;
}

static int no_fork(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    (void)user;
    (void)body;
    (void)closure;
    (void)n;
    return -1;
}

START_TEST(other_hooks) {
    Setup s;
    open_setup(&s);
    mlc_module *m = compile(&s, _i, 2);
    mlc_error_info e = { 0 };
    m->hooks.par_for = backwards;
    m->hooks.fork_join = plain_fork_join;
    m->hooks.wait = plain_wait;
    m->hooks.wake = plain_wake;
    for (int k = 0; k < 5; k++) ck_assert_msg(run(m, &s, 0, W, H, &e) == 0, "%s", e.message);
    ck_assert_int_ne(run(m, &s, s.in[2][3], W, H, &e), 0);
    ck_assert_str_eq(mlc_error_name(e.code), "REQUIRE_FAILED");
    m->hooks.fork_join = no_fork;
    ck_assert_int_ne(run(m, &s, 0, W, H, &e), 0);
    ck_assert_str_eq(mlc_error_name(e.code), "ASYNC_NO_THREAD");
    if (_i != 6) ck_assert_str_eq(e.message, "the system gives no thread for the task of a; allow more threads, or drop async");
    mlc_module_free(m);
    mlc_ctx_free(s.ctx);
}
END_TEST

/* Ahead of time, where nothing promises two tasks at once, the Funcs are computed in line. */
START_TEST(ahead_of_time) {
    Setup s;
    char prefix[] = "/tmp/mlc_tasks_XXXXXX", path[64], line[512];
    mlc_error_info e;
    open_setup(&s);
    ck_assert(mkstemp(prefix) >= 0);
    ck_assert_msg(mlc_emit(mlc_program_plan(s.program, _i), mlc_outs(mlc_program_output(s.program, 0)), prefix,
                           &(mlc_emit_options){ .name = "sums", .object = true }, NULL, &e), "%s", e.message);
    snprintf(path, sizeof path, "%s.c", prefix);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) ck_assert_msg(!strstr(line, "turn_") && !strstr(line, "fork_join"), "%s", line);
    fclose(f);
    static const char *const ends[] = { ".c", ".h", ".o", "" };
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", prefix, ends[i]);
        unlink(path);
    }
    mlc_ctx_free(s.ctx);
}
END_TEST

Suite *tasks_suite(void) {
    Suite *s = suite_create("tasks");
    TCase *t = tcase_create("tasks");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, values, 0, PLANS);
    tcase_add_loop_test(t, callers_at_once, 0, PLANS);
#if !defined __SANITIZE_THREAD__
    tcase_add_loop_test(t, a_child_runs_after_fork, 0, PLANS);
#endif
    tcase_add_loop_test(t, a_branch_fails, 0, PLANS);
    tcase_add_loop_test(t, other_hooks, 0, PLANS);
    tcase_add_loop_test(t, ahead_of_time, 0, PLANS);
    suite_add_tcase(s, t);
    return s;
}
