/* blur.c - a 3x3 box blur as two passes of one dimension, over u16.
 *
 * The algorithm is two lines.  The plans differ in where `rows` lives: nowhere (recomputed three times
 * a pixel), in memory as a whole, in a tile, as a window of rows that slides down a strip, or in registers. */
#include "app.h"
#include <mlc/short.h>

static Func build(mlc_ctx *ctx) {
    MLC_VARS(ctx, x, y);
    Func in = mlc_input_new(ctx, "in", MLC_U16, 2);
    Func rows = mlc_func_new(ctx, "rows"), out = mlc_func_new(ctx, "out");
    def(at(rows, x, y), quo(plus(at(in, x, y), at(in, add(x, 1), y), at(in, add(x, 2), y)), 3));
    def(at(out, x, y), quo(plus(at(rows, x, y), at(rows, x, add(y, 1)), at(rows, x, add(y, 2))), 3));
    return out;
}

static int buffers(const Photo *p, mlc_buffer *b[APP_BUFFERS]) {
    int64_t w = p->width, h = p->height;
    b[0] = mlc_buffer_new(MLC_U16, 2, (int64_t[]){ w, h });
    b[1] = mlc_buffer_new(MLC_U16, 2, (int64_t[]){ w - 2, h - 2 });
    if (!b[0] || !b[1]) return 0;
    uint16_t *grey = b[0]->data;
    for (int64_t i = 0; i < w * h; i++) /* green is most of what the eye calls bright; 12 bits of range */
        grey[i] = (uint16_t)(16 * p->rgb[i + w * h]);
    return 2;
}

const App blur_app = {
    .name = "blur",
    .what = "3x3 box blur of the photo's brightness, u16",
    .build = build,
    .buffers = buffers,
    .white = 4095,
    .plan = {
        { "unscheduled", "" },
        { "root", "rows: compute_root()" },
        { "vectors", "rows: compute_root(), vectorize(x, 32), parallel(y);"
                     "out: vectorize(x, 32), parallel(y)" },
        { "tiles", "out: tile(x, y, xo, yo, xi, yi, 256, 32), vectorize(xi, 32), parallel(yo);"
                   "rows: compute_at(out, xo), vectorize(x, 32)" },
        { "slide", "out: split(y, yo, yi, 128), vectorize(x, 64), parallel(yo);"
                   "rows: store_at(out, yo), compute_at(out, yi), vectorize(x, 32)" },
        { "registers", "out: split(x, xo, xi, 16, .tail = shift), split(y, yo, yi, 8), reorder(xi, yi, xo, yo),"
                       "     vectorize(xi), unroll(yi), parallel(yo);"
                       "rows: compute_at(out, xo), vectorize(x, 16), unroll(y)" },
        { "gpu", "out: gpu_tile(x, y, xo, yo, xi, yi, 32, 16); rows: compute_at(out, xo), gpu_threads(x, y)", .gpu = true },
    },
};

APP_MAIN(blur_app)
