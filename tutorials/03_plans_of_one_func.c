/* Tutorial 03: plans of one Func.
 *
 * One definition, many loop nests.  Each plan below is a line of text; each gives the same bytes.  Run it
 * and read the nests beside the lines that made them.
 *
 *     make build/tutorials/03_plans_of_one_func && build/tutorials/03_plans_of_one_func
 */
#include <mlc/short.h>

#include <string.h>

enum { W = 37, H = 23 }; /* primes: no factor divides them */

static const struct {
    const char *what, *text;
} plans[] = {
    { "the default: y outside, x inside", "" },
    { "columns first", "f: reorder(y, x)" },
    { "x in tiles of 8; the last tile has 5 columns, and an if keeps the rest out", "f: split(x, xo, xi, 8, .tail = guard)" },
    { "the last tile moves inwards and computes three columns twice", "f: split(x, xo, xi, 8, .tail = shift)" },
    { "eight columns at a time; the tail is cut off, so the steady loop has no if", "f: split(x, xo, xi, 8), vectorize(xi)" },
    { "tiles: two splits and a reorder in one", "f: tile(x, y, xo, yo, xi, yi, 8, 4)" },
    { "both loops become one", "f: fuse(x, y, xy)" },
    { "four rows a task, the rows of a task written out", "f: split(y, yo, yi, 4), unroll(yi), parallel(yo)" },
};

int main(void) {
    static int32_t expected[H][W], got[H][W];
    int bad = 0;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        mlc_ctx *ctx = mlc_ctx_new();
        MLC_VARS(ctx, x, y);
        Func f = mlc_func_new(ctx, "f");
        def(at(f, x, y), add(mul(mlc_i32(x), 100), y));

        /* A plan of its own, apart from the context's default one: an algorithm lives under many. */
        mlc_plan *plan = mlc_plan_new(ctx);
        mlc_buffer *out[] = { mlc_wrap(&got[0][0], W, H) };
        memset(got, 0, sizeof got);
        bool ok = mlc_plan_parse(plan, plans[i].text, "tutorial") && mlc_realize_all(plan, mlc_outs(f), out, 1, NULL);
        if (i == 0) memcpy(expected, got, sizeof got);
        bool same = ok && !memcmp(expected, got, sizeof got);
        printf("== %s\n   %s\n", plans[i].what, plans[i].text);
        if (!ok) printf("   %s\n", mlc_error(ctx));
        else mlc_explain(plan, mlc_outs(f), "loops", NULL, stdout, NULL);
        bad += !same;
        mlc_ctx_free(ctx);
    }

    /* A plan that cannot be honoured is an error that names the line, the fact and a remedy. */
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    Func sum = mlc_func_new(ctx, "sum");
    RDom r = rdom(ctx, "r", range(0, 8));
    def(at(sum, x), 0);
    def_add(at(sum, x), add(x, r.x));
    schedule(update(sum, 0), parallel(r.x));
    int32_t four[4];
    bool refused = !mlc_realize(sum, mlc_wrap(four, 4), NULL);
    printf("== a race is refused\n   %s\n", mlc_error(ctx));
    mlc_ctx_free(ctx);
    printf("%d plans, %d wrong\n", (int)(sizeof plans / sizeof *plans), bad);
    return bad || !refused ? 1 : 0;
}
