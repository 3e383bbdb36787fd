/* compile.c - how long a program takes to become code: bench_compile [--out FILE] [--only PREFIX].
 *
 * Cold: a process that finds no cache compiles with the system's compiler.  Warm: another process finds
 * the object.  Each is a process of its own, as a user's first call is; lowering alone is timed in this
 * one, on a chain of stencils of growing length, whose cost an element must not grow. */
#include "../apps/app.h"
#include "bench.h"

#include <getopt.h>
#include <mlc/text.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const App blur_app, unsharp_app, hist_app, matmul_app;
static const App *const apps[] = { &blur_app, &unsharp_app, &hist_app, &matmul_app };

static void row(const char *bench, const char *name, const char *size, double us, const char *note) {
    bench_line(bench, name, size, 1, us, NULL, 0, 0, 0, note);
}

/* In a process of its own: compiles and calls once, and prints what it took. */
static int one_process(const App *app, const AppPlan *plan, const char *name, double begun) {
    static uint8_t pixels[3 * 64 * 48];
    Photo photo = { 64, 48, pixels };
    mlc_buffer *b[APP_BUFFERS] = { 0 };
    char bench[64], note[160];
    mlc_error_info e;
    int n = app->buffers(&photo, b);
    mlc_module *m = app_compile(app, plan->text, NULL);
    if (!n || !m || mlc_run(m, n, b, 0, NULL, &e)) return 1;
    double us = bench_now() - begun;
    mlc_times t = mlc_module_times(m);
    snprintf(bench, sizeof bench, "compile/%s/%s", app->name, plan->name);
    snprintf(note, sizeof note, "ms: key %.2f, lower %.2f, codegen %.2f, build %.2f, load %.2f%s", t.key,
             t.lower, t.codegen, t.build, t.load, t.cached ? ", cached" : "");
    row(bench, name, "64x48", us, note);
    return 0;
}

static bool in_child(const App *app, const AppPlan *plan, const char *name) {
    fflush(NULL);
    double begun = bench_now();
    pid_t child = fork();
    if (child == 0) {
        int status = one_process(app, plan, name, begun);
        fflush(NULL);
        _exit(status);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Lowers a chain of n stencils, each in memory of its own. */
static void chain(int n) {
    size_t room = 256 * (size_t)n + 256, at = 0;
    char *text = malloc(room), *plan = malloc(room), size[64], note[64];
    mlc_ctx *ctx = mlc_ctx_new();
    FILE *nowhere = fopen("/dev/null", "w");
    if (text && plan && ctx && nowhere) {
        at += (size_t)snprintf(text, room, "mlc 1\ninput s0: f32[1];\n");
        plan[0] = 0;
        for (int i = 1; i <= n; i++)
            at += (size_t)snprintf(text + at, room - at, "s%d(x) = s%d(x - 1) + s%d(x) * 2 + s%d(x + 1);\n",
                                   i, i - 1, i - 1, i - 1);
        snprintf(text + at, room - at, "output s%d;\n", n);
        at = 0;
        for (int i = 1; i < n; i++) at += (size_t)snprintf(plan + at, room - at, "s%d: compute_root();", i);
        mlc_program *p = mlc_program_parse(ctx, text, "chain");
        mlc_plan *q = mlc_plan_new(ctx);
        if (p && mlc_plan_parse(q, plan, "chain")) {
            double begun = bench_now();
            bool ok = mlc_explain(q, mlc_outs(mlc_program_output(p, 0)), "c", NULL, nowhere, NULL);
            double us = bench_now() - begun;
            snprintf(size, sizeof size, "%d stencils", n);
            snprintf(note, sizeof note, "%.1f us a stencil", us / n);
            if (ok) row("compile/chain", "lower", size, us, note);
        }
    }
    if (nowhere) fclose(nowhere);
    mlc_ctx_free(ctx);
    free(text);
    free(plan);
}

int main(int argc, char **argv) {
    static const struct option options[] = { { "out", 1, NULL, 'f' }, { "only", 1, NULL, 'o' }, { 0 } };
    const char *only = NULL;
    char cache[] = "/tmp/mlc-bench-XXXXXX";
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'f')
            bench_open(optarg);
        else if (c == 'o')
            only = optarg;
        else
            return 2;
    }
    if (!bench_wanted(only, "compile/")) return 0;
    if (!mkdtemp(cache)) return 1;
    setenv("MLC_CACHE", cache, 1);
    bool ok = true;
    for (int i = 0; i < 4; i++)
        for (const AppPlan *p = apps[i]->plan; p->name; p++)
            if (app_plan_fits(p)) ok = in_child(apps[i], p, "cold") && in_child(apps[i], p, "warm") && ok;
    for (int n = 125; n <= 1000; n *= 2) chain(n);
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    return system(command) || !ok;
}
