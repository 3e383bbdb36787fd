/* Tutorial 02: seeing what happens.
 *
 * A plan is only as good as your picture of it.  mlc can show the program at every level - algorithm,
 * schedule, nest, loops, C - count and time what each stage costs, and print values while it runs.
 *
 *     make build/tutorials/02_seeing && build/tutorials/02_seeing
 */
#include <mlc/short.h>

#include <stdlib.h>
#include <string.h>

/* Shows one level and returns its text, which the caller frees. */
static char *show(Func f, const char *level) {
    char *text = NULL;
    size_t n = 0;
    mlc_error_info error;
    FILE *to = open_memstream(&text, &n);
    if (!to) return NULL;
    bool ok = mlc_explain(NULL, mlc_outs(f), level, NULL, to, &error);
    fclose(to);
    printf("---- %s ----\n%s\n", level, ok ? text : error.message);
    return text;
}

int main(void) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x, y);
    MLC_VARS(ctx, xo, xi);
    Func ramp = mlc_func_new(ctx, "ramp"), out = mlc_func_new(ctx, "out");
    def(at(ramp, x, y), add(mul(x, x), y));
    def(at(out, x, y), add(at(ramp, x, y), at(ramp, add(x, 1), y)));
    schedule(out, split(x, xo, xi, 8), vectorize(xi), parallel(y));
    schedule(ramp, compute_at(out, y));

    /* The algorithm and the plan as text.  Both read back: a `.mlc` file holds exactly this, and the
     * command line runs it (`mlc run`), so a program can leave C and come back. */
    char *algorithm = show(out, "algorithm"), *plan = show(out, "schedule");

    /* The loops.  Each shows the line of the directive that made it; `ramp` is computed inside out's y
     * loop, over the 1 + extent columns that a row of out reads. */
    char *loops = show(out, "loops");

    /* What the plan costs: a module compiled with .profile counts and times itself (mlc/watch.h).  Each row of ramp holds
     * one point more than a row of out; `needed` says that none is computed twice.  From the command line: mlc run --profile. */
    int32_t picture[32][64];
    mlc_error_info error;
    mlc_profile_info cost = { .points = 0 };
    mlc_module *m = mlc_compile(NULL, mlc_outs(out), &(mlc_options){ .profile = true }, &error);
    bool counted = m && !mlc_run(m, 1, (mlc_buffer *[]){ mlc_wrap(picture[0], 64, 32) }, 0, NULL, &error) &&
                   mlc_profile_print(m, stdout, MLC_PROFILE_TABLE, &error) && mlc_profile_row(m, 0, &cost);
    if (!counted) fprintf(stderr, "%s\n", error.message);
    counted = counted && cost.points == 65 * 32 && cost.needed == cost.points;
    mlc_module_free(m);

    /* The C that the compiler gets: readable, with vectors cut to the machine's width. */
    char *c = show(out, "c");

    /* Values: print(label, value, more ...) gives `value` and prints them all whenever it is computed.  A
     * point may be computed more than once, in any order: print shows the plan at work. */
    Func noisy = mlc_func_new(ctx, "noisy");
    def(at(noisy, x), mlc_print("noisy", mul(mlc_i32(x), 10), x));
    int32_t three[3];
    fflush(stdout);
    bool ok = mlc_realize(noisy, mlc_wrap(three, 3), NULL);
    if (!ok) fprintf(stderr, "%s\n", mlc_error(ctx));

    ok = ok && algorithm && strstr(algorithm, "ramp(x, y) =") && plan && strstr(plan, "compute_at(out, y)") && loops &&
         strstr(loops, "parallel") && counted && c && strstr(c, "int mlc_kernel(") && three[2] == 20;
    free(algorithm), free(plan), free(loops), free(c);
    mlc_ctx_free(ctx);
    return ok ? 0 : 1;
}
