/* unsharp.c - unsharp mask: brightness minus its Gaussian blur, given back to the channels as a ratio.
 *
 * Brightness slides down a strip in a window of seven rows; the blur of a column needs a row of memory, the
 * blur of a row and the ratio none: they are computed where they are used, once for the three channels. */
#include "app.h"
#include <mlc/short.h>

#include <math.h>

/* The weighted sum of seven values, the outermost pair last. */
static Expr seven_taps(const Expr v[7]) {
    const double sigma = 1.5, norm = 1 / (sqrt(2 * 3.14159265358979323846) * sigma);
    Expr total = mul((float)norm, v[3]);
    for (int i = 1; i < 4; i++)
        total = add(total, mul((float)(norm * exp(-i * i / (2 * sigma * sigma))), add(v[3 - i], v[3 + i])));
    return total;
}

static Func build(mlc_ctx *ctx) {
    MLC_VARS(ctx, x, y, c);
    Func in = mlc_input_new(ctx, "in", MLC_F32, 3);
    Func edge = mlc_repeat_edge(in);
    Func gray = mlc_func_new(ctx, "gray"), down = mlc_func_new(ctx, "down"), across = mlc_func_new(ctx, "across");
    Func ratio = mlc_func_new(ctx, "ratio"), out = mlc_func_new(ctx, "out");
    Expr v[7];
    def(at(gray, x, y), plus(mul(0.299f, at(edge, x, y, 0)), mul(0.587f, at(edge, x, y, 1)), mul(0.114f, at(edge, x, y, 2))));
    for (int i = 0; i < 7; i++) v[i] = at(gray, x, add(y, i - 3));
    def(at(down, x, y), seven_taps(v));
    for (int i = 0; i < 7; i++) v[i] = at(down, add(x, i - 3), y);
    def(at(across, x, y), seven_taps(v));
    def(at(ratio, x, y), quo(sub(mul(2.f, at(gray, x, y)), at(across, x, y)), at(gray, x, y)));
    def(at(out, x, y, c), mul(at(ratio, x, y), at(in, x, y, c)));
    return out;
}

static int buffers(const Photo *p, mlc_buffer *b[APP_BUFFERS]) {
    int64_t n = (int64_t)p->width * p->height * 3, shape[] = { p->width, p->height, 3 };
    b[0] = mlc_buffer_new(MLC_F32, 3, shape);
    b[1] = mlc_buffer_new(MLC_F32, 3, shape);
    if (!b[0] || !b[1]) return 0;
    for (int64_t i = 0; i < n; i++) ((float *)b[0]->data)[i] = (1.f + (float)p->rgb[i]) / 256.f;
    return 2;
}

const App unsharp_app = {
    .name = "unsharp",
    .what = "unsharp mask of the photo, f32 RGB",
    .build = build,
    .buffers = buffers,
    .white = 1,
    .plan = {
        { "unscheduled", "gray: compute_root(); down: compute_root(); ratio: compute_root()" },
        { "vectors", "gray: compute_root(), vectorize(x, 16), parallel(y);"
                     "down: compute_root(), vectorize(x, 16), parallel(y);"
                     "ratio: compute_root(), vectorize(x, 16), parallel(y);"
                     "out: vectorize(x, 16), parallel(y)" },
        { "slide", "out: bound(c, 0, 3), split(y, yo, yi, 32), split(x, xo, xi, 16), reorder(xi, c, xo, yi, yo),"
                   "     vectorize(xi), unroll(c), parallel(yo);"
                   "gray: store_at(out, yo), compute_at(out, yi), vectorize(x, 16);"
                   "down: compute_at(out, yi), vectorize(x, 16); ratio: compute_at(out, xo), vectorize(x, 16)" },
        { "gpu", "out: bound(c, 0, 3), gpu_tile(x, y, xo, yo, xi, yi, 32, 16), reorder(c, xi, yi, xo, yo), unroll(c);"
                 "gray: compute_at(out, xo), gpu_threads(x, y); down: compute_at(out, xo), gpu_threads(x, y);"
                 "ratio: compute_at(out, xi)", .gpu = true },
    },
};

APP_MAIN(unsharp_app)
