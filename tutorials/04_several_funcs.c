/* Tutorial 04: several Funcs - recompute, locality, parallelism.
 *
 * Two stages of a blur.  Where the first one is computed decides how often each of its points is computed
 * again, how far its values lie from their use, and what may run at once.  The points are counted by a C
 * function that the program calls for each; the values are the same under every plan.
 *
 *     make build/tutorials/04_several_funcs && build/tutorials/04_several_funcs
 */
#include <mlc/short.h>

#include <stdatomic.h>
#include <string.h>

enum { W = 32, H = 16 };

/* Counts its calls: an extern function is called once for each point that is computed. */
static atomic_long calls;
static int32_t counted(int32_t v) {
    atomic_fetch_add(&calls, 1);
    return v;
}

static const struct {
    const char *name, *plan;
    long points;   /* of the first stage */
    const char *why;
} rows[] = {
    { "inline", "", 3 * W * H, "three times a point: nothing is kept" },
    { "root", "rows: compute_root()", W * (H + 2), "each point once; all of it lies in memory before the first use" },
    { "row", "rows: compute_at(out, y)", 3 * W * H, "three rows a row: small and near, computed three times" },
    { "tile", "out: tile(x, y, xo, yo, xi, yi, 8, 4); rows: compute_at(out, xo)", W / 8 * (H / 4) * 8 * 6,
      "tiles of 8 x 4 read 8 x 6: near, and little is computed twice" },
    { "window", "rows: store_root(), compute_at(out, y)", W * (H + 2),
      "memory outside of the loop: a row is computed when it is first needed and kept while it is" },
    { "strips", "out: split(y, yo, yi, 8), parallel(yo); rows: store_at(out, yo), compute_at(out, yi)", 2 * W * (8 + 2),
      "a window for each of two strips that run at once: two rows more, and both cores busy" },
};

int main(void) {
    static int32_t in[H + 2][W], out[H][W];
    int bad = 0;
    for (int y = 0; y < H + 2; y++)
        for (int x = 0; x < W; x++) in[y][x] = (x * 37 + y * 91) % 256;

    printf("%-8s %8s  %s\n", "plan", "points", "why");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_ctx *ctx = mlc_ctx_new();
        MLC_VARS(ctx, x, y);
        Func image = mlc_input_new(ctx, "image", MLC_I32, 2);
        mlc_extern count = mlc_extern_new(ctx, "counted", (void (*)(void))counted, "i32 -> i32");
        Func first = mlc_func_new(ctx, "rows"), blur = mlc_func_new(ctx, "out");
        def(at(first, x, y), mlc_call_extern(count, at(image, x, y)));
        def(at(blur, x, y), quo(plus(at(first, x, y), at(first, x, add(y, 1)), at(first, x, add(y, 2))), 3));

        mlc_plan *plan = mlc_plan_new(ctx);
        mlc_buffer *to[] = { mlc_wrap(&out[0][0], W, H) };
        calls = 0;
        bool ok = mlc_bind(image, mlc_wrap(&in[0][0], W, H + 2)) && mlc_plan_parse(plan, rows[i].plan, "tutorial") &&
                  mlc_realize_all(plan, mlc_outs(blur), to, 1, NULL);
        if (!ok) printf("%s: %s\n", rows[i].name, mlc_error(ctx));
        printf("%-8s %8ld  %s\n", rows[i].name, (long)calls, rows[i].why);
        bool same = ok && calls == rows[i].points;
        for (int r = 0; r < H; r++)
            for (int c = 0; c < W; c++) same = same && out[r][c] == (in[r][c] + in[r + 1][c] + in[r + 2][c]) / 3;
        bad += !same;
        mlc_ctx_free(ctx);
    }
    return bad != 0;
}
