/* Tutorial 05: reductions - domains, updates, and how a sum runs in lanes and threads.
 *
 * A Func may have updates behind its pure definition: each changes points of it, once for each point of a
 * reduction domain (an RDom), whose first variable is innermost.  That order is part of the meaning.  A plan may
 * leave it where the result cannot tell, or where it says so.
 *
 *     make build/tutorials/05_reductions && build/tutorials/05_reductions
 */
#include <mlc/short.h>

#include <string.h>

enum { W = 61, H = 37, N = W * H };
static uint8_t image[N];

/* Runs f under the plan; false, and a message, where it cannot be. */
static bool run(mlc_ctx *ctx, const char *plan_text, Func f, void *data, mlc_type type, int64_t extent) {
    mlc_plan *plan = mlc_plan_new(ctx);
    mlc_buffer b = { .type = type, .rank = extent ? 1 : 0, .data = data, .dim = { { 0, extent, 1 } } }, *to = &b;
    bool ok = mlc_plan_parse(plan, plan_text, "tutorial") && mlc_realize_all(plan, mlc_outs(f), &to, 1, NULL);
    if (!ok) printf("%s\n", mlc_error(ctx));
    return ok;
}

/* The pure definition says what each point is before the update: `+=` without one would start from 0. */
static bool sums_of_rows(mlc_ctx *ctx, Func in) {
    int32_t got[H];
    MLC_VARS(ctx, y);
    Func rows = mlc_func_new(ctx, "rows");
    RDom k = rdom(ctx, "k", range(0, W));
    def(at(rows, y), 1000);
    def_add(at(rows, y), i32(at(in, k.x, y)));
    /* An update is a stage of its own, with a plan of its own: rows and rows.u0. */
    bool ok = run(ctx, "rows: vectorize(y, 8); rows.u0: vectorize(y, 8), reorder(k, y)", rows, got, MLC_I32, H);
    for (int r = 0; r < H; r++) {
        int32_t sum = 1000;
        for (int c = 0; c < W; c++) sum += image[r * W + c];
        ok = ok && got[r] == sum;
    }
    printf("rows: each starts at 1000, and its points are added: %d, %d ...\n", got[0], got[1]);
    return ok;
}

/* A condition leaves points of the domain out: nothing is read there. */
static bool a_triangle(mlc_ctx *ctx, Func in) {
    int32_t got = 0, expected = 0;
    Func below = mlc_func_new(ctx, "below");
    RDom t = rdom(ctx, "t", range(0, H), range(0, H));
    where(t, lt(t.x, t.y));
    def_add(mlc_access(below, 0, NULL), i32(at(in, t.x, t.y)));
    bool ok = run(ctx, "", below, &got, MLC_I32, 0);
    for (int r = 0; r < H; r++)
        for (int c = 0; c < r; c++) expected += image[r * W + c];
    printf("where: the points below the diagonal sum to %d\n", got);
    return ok && got == expected;
}

/* Inline reductions make a hidden Func, here argmax$1: a tuple of the point and its value, of equal values the first. */
static bool the_brightest(mlc_ctx *ctx, Func in) {
    int32_t got = 0, expected = 0;
    Func brightest = mlc_func_new(ctx, "brightest");
    RDom p = rdom(ctx, "p", range(0, W), range(0, H));
    Expr best = argmax(p, at(in, p.x, p.y));
    def(mlc_access(brightest, 0, NULL), add(mul(mlc_elem(best, 1), W), mlc_elem(best, 0)));
    bool ok = run(ctx, "", brightest, &got, MLC_I32, 0);
    for (int i = 0; i < N; i++)
        if (image[i] > image[expected]) expected = i;
    printf("argmax: the brightest point is %d, %d\n", got % W, got / W);
    return ok && got == expected;
}

/* A scatter: which place an iteration adds to is known from data alone.  Two iterations may meet at one, so running
 * them at once is refused, unless the update is atomic and cannot tell the order of what it joins. */
static bool a_histogram(mlc_ctx *ctx, Func in) {
    int32_t got[256], expected[256] = { 0 };
    MLC_VARS(ctx, i);
    Func hist = mlc_func_new(ctx, "hist");
    RDom h = rdom(ctx, "h", range(0, W), range(0, H));
    def(at(hist, i), 0);
    def_add(at(hist, mlc_index(at(in, h.x, h.y))), 1);
    mlc_plan *race = mlc_plan_new(ctx);
    mlc_plan_add(race, update(hist, 0), parallel(h.y));
    bool ok = !mlc_realize_all(race, mlc_outs(hist), &(mlc_buffer *){ mlc_wrap(got, 256) }, 1, NULL);
    printf("a race is refused:\n    %s\n", mlc_error(ctx));
    mlc_error_clear(ctx);
    ok = ok && run(ctx, "hist.u0: atomic(), parallel(h.y)", hist, got, MLC_I32, 256);
    for (int k = 0; k < N; k++) expected[image[k]]++;
    printf("atomic: threads count together\n");
    return ok && !memcmp(got, expected, sizeof got);
}

/* Float sums round otherwise in another order, so a plan that changes it must say .reassociate; then the program has the
 * bits of another algorithm, which can be printed, and which gives these bits on every machine. */
static bool a_dot_product(mlc_ctx *ctx) {
    static const char *const plans[] = {
        "",
        "dot.u0: atomic(.reassociate), vectorize(n, 16)",
        "dot.u0: split(n, no, ni, 64), rfactor(parts, no, u, .reassociate); parts: compute_root(); parts.u0: parallel(u)",
    };
    static float a[N], b[N];
    float got[3], serial = -0.0f;
    for (int k = 0; k < N; k++) {
        a[k] = image[k] * 0.37f;
        b[k] = 1.0f / (float)(k + 1);
        serial = __builtin_fmaf(a[k], b[k], serial);
    }
    Func left = mlc_input_new(ctx, "a", MLC_F32, 1), right = mlc_input_new(ctx, "b", MLC_F32, 1), dot = mlc_func_new(ctx, "dot");
    RDom n = rdom(ctx, "n", range(0, N));
    def_add(mlc_access(dot, 0, NULL), mul(at(left, n.x), at(right, n.x)));
    bool ok = mlc_bind(left, mlc_wrap(a, N)) && mlc_bind(right, mlc_wrap(b, N));
    for (int i = 0; i < 3; i++) {
        ok = run(ctx, plans[i], dot, &got[i], MLC_F32, 0) && ok;
        printf("== %s\n   %.9g\n", *plans[i] ? plans[i] : "in order", got[i]);
        mlc_plan *plan = mlc_plan_new(ctx);
        mlc_plan_parse(plan, plans[i], "tutorial");
        mlc_explain(plan, mlc_outs(dot), "algorithm", NULL, stdout, NULL);
    }
    /* In lanes: lane i takes every 16th product; then lane i takes lane i + 8, i + 4, i + 2, i + 1. */
    float lane[16];
    for (int i = 0; i < 16; i++) lane[i] = -0.0f;
    for (int k = 0; k < N; k++) lane[k % 16] = __builtin_fmaf(a[k], b[k], lane[k % 16]);
    for (int m = 8; m; m /= 2)
        for (int i = 0; i < m; i++) lane[i] += lane[i + m];
    return ok && got[0] == serial && got[1] == lane[0];
}

int main(void) {
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) image[y * W + x] = (uint8_t)(x * 37 + y * 91 + x * y % 13);
    mlc_ctx *ctx = mlc_ctx_new();
    Func in = mlc_input_new(ctx, "in", MLC_U8, 2);
    int good = mlc_bind(in, mlc_wrap(image, W, H));
    good += sums_of_rows(ctx, in);
    good += a_triangle(ctx, in);
    good += the_brightest(ctx, in);
    good += a_histogram(ctx, in);
    good += a_dot_product(ctx);
    mlc_ctx_free(ctx);
    return good != 6;
}
