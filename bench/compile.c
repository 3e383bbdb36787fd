/* compile.c - how long a program takes to become code: bench_compile [--out FILE] [--only PREFIX].
 *
 * Cold: a process that finds no cache compiles with the system's compiler.  Warm: another process finds
 * the object.  Each is a process of its own, as a user's first call is; lowering alone is timed in this
 * one, on a chain of stencils of growing length, whose cost an element must not grow, and on a pyramid of 104 stages. */
#include "../apps/app.h"
#include "bench.h"

#include <getopt.h>
#include <mlc/text.h>
#include <stdarg.h>
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

/* ---- lowering alone ---- */

/* A program that is being written, and its plan. */
typedef struct {
    char *text, *plan;
    size_t room, n_text, n_plan;
    int stages;
} Writing;

static void write_to(char *to, size_t room, size_t *at, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void write_to(char *to, size_t room, size_t *at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = to && *at < room ? vsnprintf(to + *at, room - *at, format, args) : 0;
    va_end(args);
    *at += (size_t)(n > 0 ? n : 0);
}
#define TEXT(w, ...) write_to((w)->text, (w)->room, &(w)->n_text, __VA_ARGS__)
#define PLAN(w, ...) write_to((w)->plan, (w)->room, &(w)->n_plan, __VA_ARGS__)

static Writing begin(size_t room) {
    Writing w = { .text = malloc(room), .plan = malloc(room), .room = room };
    TEXT(&w, "mlc 1\n");
    PLAN(&w, "%s", "");
    return w;
}

/* Times a compile up to the C text, and frees the texts. */
static bool lower(Writing *w, const char *bench, const char *of) {
    char size[64], note[64];
    mlc_ctx *ctx = mlc_ctx_new();
    FILE *nowhere = fopen("/dev/null", "w");
    bool ok = w->text && w->plan && ctx && nowhere && w->n_text < w->room && w->n_plan < w->room;
    mlc_program *p = ok ? mlc_program_parse(ctx, w->text, bench) : NULL;
    mlc_plan *q = ok ? mlc_plan_new(ctx) : NULL;
    ok = p && mlc_plan_parse(q, w->plan, bench);
    double begun = bench_now();
    ok = ok && mlc_explain(q, mlc_outs(mlc_program_output(p, 0)), "c", NULL, nowhere, NULL);
    double us = bench_now() - begun;
    snprintf(size, sizeof size, "%d %s", w->stages, of);
    snprintf(note, sizeof note, "%.1f us a stage", us / w->stages);
    if (ok) row(bench, "lower", size, us, note);
    else fprintf(stderr, "%s: %s\n", bench, ctx ? mlc_error(ctx) : "out of memory");
    if (nowhere) fclose(nowhere);
    mlc_ctx_free(ctx);
    free(w->text);
    free(w->plan);
    return ok;
}

/* n stencils, each in memory of its own. */
static bool chain(int n) {
    Writing w = begin(256 * (size_t)n + 256);
    TEXT(&w, "input s0: f32[1];\n");
    for (int i = 1; i <= n; i++) {
        TEXT(&w, "s%d(x) = s%d(x - 1) + s%d(x) * 2 + s%d(x + 1);\n", i, i - 1, i - 1, i - 1);
        if (i < n) PLAN(&w, "s%d: compute_root();", i);
    }
    TEXT(&w, "output s%d;\n", n);
    w.stages = n;
    return lower(&w, "compile/chain", "stencils");
}

/* An image pyramid down and up again, six stages a level: what a level loses against the next one is doubled. */
static bool pyramid(int levels) {
    Writing w = begin(2048 * (size_t)levels);
    TEXT(&w, "input in: f32[2];\nparam w: index;\nparam h: index;\n"
             "g0(x, y) = in(clamp(x, 0, w - 1), clamp(y, 0, h - 1));\n");
    for (int j = 1; j <= levels; j++)
        TEXT(&w, "d%d(x, y) = (g%d(2 * x - 1, y) + 3 * (g%d(2 * x, y) + g%d(2 * x + 1, y)) + g%d(2 * x + 2, y)) / 8;\n"
                 "g%d(x, y) = (d%d(x, 2 * y - 1) + 3 * (d%d(x, 2 * y) + d%d(x, 2 * y + 1)) + d%d(x, 2 * y + 2)) / 8;\n",
             j, j - 1, j - 1, j - 1, j - 1, j, j, j, j, j);
    TEXT(&w, "o%d(x, y) = g%d(x, y);\n", levels, levels);
    for (int j = levels - 1; j >= 0; j--)
        TEXT(&w, "a%d(x, y) = (g%d(x / 2, y) + g%d((x + 1) / 2, y)) / 2;\n"
                 "l%d(x, y) = g%d(x, y) - (a%d(x, y / 2) + a%d(x, (y + 1) / 2)) / 2;\n"
                 "v%d(x, y) = (o%d(x / 2, y) + o%d((x + 1) / 2, y)) / 2;\n"
                 "o%d(x, y) = 2 * l%d(x, y) + (v%d(x, y / 2) + v%d(x, (y + 1) / 2)) / 2;\n",
             j, j + 1, j + 1, j, j, j, j, j, j + 1, j + 1, j, j, j, j);
    TEXT(&w, "output o0;\n");
    for (int j = 0; j <= levels; j++) {
        static const char names[] = "gdavlo";
        for (const char *c = names; *c; c++) {
            bool there = *c == 'g' || (*c == 'd' ? j > 0 : *c == 'o' ? true : j < levels);
            if (!there || (*c == 'o' && j == 0)) continue;
            PLAN(&w, "%c%d: compute_root(), vectorize(x, 8), parallel(y);", *c, j);
            w.stages++;
        }
    }
    PLAN(&w, "o0: vectorize(x, 8), parallel(y)");
    w.stages++;
    return lower(&w, "compile/pyramid", "stages");
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
    for (int n = 125; n <= 1000; n *= 2) ok = chain(n) && ok;
    ok = pyramid(17) && ok;
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    return system(command) || !ok;
}
