/* Tutorial 06: C functions of your own - for points, and for wholes.
 *
 * Two doors lead from a program into C.  An extern function is called for a point, with values: it is as good
 * as an operator, and pure.  An extern stage computes a Func a box at a time, with buffers: a library's transform,
 * a hand-written kernel, a table.  Here each row of an image is sorted by C's qsort, which no definition over
 * points could say well.
 *
 *     make build/tutorials/06_own_c && build/tutorials/06_own_c
 */
#include <mlc/short.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W = 40, H = 12 };

/* ---- for points ---- */

/* Called for each point, on any thread, any number of times: it must be a function of its arguments. */
static float leveled(float v) {
    return sqrtf(v) * 16;
}

/* ---- for wholes ---- */

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int asked, sorted;

/* out(_0, _1): row _1 of in, its points from 0 to n - 1 sorted.
 *
 * First it is asked.  No buffer has data: the output has the box that somebody needs, and the function says what it
 * will read for that.  Rows it needs are the rows asked for, and so the input's dimension 1 came; of a row it needs
 * all, whichever points are asked for.  It also will write all of the row, and so says that of its output. */
static int sort_rows(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    int64_t n = arg[0].i;
    if (!out[0]->data) {
        asked++;
        if (out[0]->dim[0].min < 0 || out[0]->dim[0].min + out[0]->dim[0].extent > n) return 1; /* no such point */
        in[0]->dim[0].min = out[0]->dim[0].min = 0;
        in[0]->dim[0].extent = out[0]->dim[0].extent = n;
        return 0;
    }
    /* Then it computes.  Both buffers have the boxes that it named, with any strides: mlc_buffer_at finds a point. */
    for (int64_t y = out[0]->dim[1].min; y < out[0]->dim[1].min + out[0]->dim[1].extent; y++, sorted++) {
        float row[W];
        for (int64_t x = 0; x < n; x++) row[x] = *(float *)mlc_buffer_at(in[0], (int64_t[]){ x, y });
        qsort(row, (size_t)n, sizeof *row, by_value);
        for (int64_t x = 0; x < n; x++) *(float *)mlc_buffer_at(out[0], (int64_t[]){ x, y }) = row[x];
    }
    return 0; /* anything else ends the call with an error that names the Func and this code */
}

/* ---- plans: a stage has a place, and no loops for a plan to change ---- */

static const struct {
    const char *name, *plan;
    int rows; /* sorted */
    const char *why;
} rows[] = {
    { "root", "", H + 1, "the default: all rows, then all differences" },
    { "row", "out: vectorize(x, 8); ranks: compute_at(out, y)", 2 * H, "two rows for a row of differences" },
    { "strip", "out: split(y, yo, yi, 4), vectorize(x, 8); ranks: compute_at(out, yo); bright: compute_at(out, yo)", H / 4 * 5,
      "five rows for four; what it reads is computed beside it" },
};

int main(void) {
    static float image[H + 1][W], want[H][W], have[H][W];
    int bad = 0;
    for (int y = 0; y < H + 1; y++)
        for (int x = 0; x < W; x++) image[y][x] = (float)((x * 37 + y * 91) % 256);

    /* By hand. */
    float sorted_row[H + 1][W];
    for (int y = 0; y < H + 1; y++) {
        for (int x = 0; x < W; x++) sorted_row[y][x] = leveled(image[y][x]);
        qsort(sorted_row[y], W, sizeof **sorted_row, by_value);
    }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) want[y][x] = sorted_row[y + 1][x] - sorted_row[y][x];

    printf("%-6s %6s %7s  %s\n", "plan", "rows", "queries", "why");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_ctx *ctx = mlc_ctx_new();
        MLC_VARS(ctx, x, y);
        Func in = mlc_input_new(ctx, "image", MLC_F32, 2);
        mlc_extern curve = mlc_extern_new(ctx, "leveled", (void (*)(void))leveled, "f32 -> f32");
        mlc_extern sort = mlc_extern_stage_new(ctx, "sort_rows", sort_rows);
        Func bright = mlc_func_new(ctx, "bright"), ranks = mlc_func_new(ctx, "ranks"), out = mlc_func_new(ctx, "out");
        def(at(bright, x, y), mlc_call_extern(curve, at(in, x, y)));
        define_extern(ranks, sort, "f32[2]", bright, W); /* a Func, then a scalar */
        def(at(out, x, y), sub(at(ranks, x, add(y, 1)), at(ranks, x, y)));

        mlc_plan *plan = mlc_plan_new(ctx);
        mlc_buffer *to[] = { mlc_wrap(&have[0][0], W, H) };
        asked = sorted = 0;
        bool ok = mlc_bind(in, mlc_wrap(&image[0][0], W, H + 1)) && mlc_plan_parse(plan, rows[i].plan, "tutorial") &&
                  mlc_realize_all(plan, mlc_outs(out), to, 1, NULL);
        if (!ok) printf("%s: %s\n", rows[i].name, mlc_error(ctx));
        printf("%-6s %6d %7d  %s\n", rows[i].name, sorted, asked, rows[i].why);
        bad += !ok || sorted != rows[i].rows || memcmp(have, want, sizeof want);

        /* The same text would come from a file; the C functions are declared first. */
        if (i == 0) printf("\n    %s;\n\n", mlc_stage_print(mlc_pure(ranks)));

        /* A code that is not 0 reaches the caller: here points are asked for that no row has. */
        mlc_buffer *wide[] = { mlc_wrap(&have[0][0], W, H) };
        mlc_buffer_set_min(wide[0], 0, 1);
        ok = mlc_realize_all(plan, mlc_outs(out), wide, 1, NULL);
        bad += ok || !strstr(mlc_error(ctx), "the extern stage ranks returned 1");
        if (i == 0) printf("    %s\n\n", mlc_error(ctx));
        mlc_ctx_free(ctx);
    }
    return bad != 0;
}
