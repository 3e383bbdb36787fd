/* hist.c - histogram equalisation of an RGB image: brightness is equalised, colour is kept.
 *
 * Counting is a scatter: hist_rows(luma, y) += 1.  Rows are independent, so they run in parallel, each
 * over a row of brightness that was computed as vectors; then the rows are summed. */
#include "app.h"
#include <mlc/short.h>

static Expr luma_of(Func in, Var x, Var y) {
    return plus(mul(0.299f, mlc_f32(at(in, x, y, 0))), mul(0.587f, mlc_f32(at(in, x, y, 1))),
                mul(0.114f, mlc_f32(at(in, x, y, 2))));
}

static Expr byte(Expr e) {
    return mlc_u8(mlc_clamp(e, 0.f, 255.f));
}

static Func build(mlc_ctx *ctx) {
    MLC_VARS(ctx, x, y, c);
    Func in = mlc_input_new(ctx, "in", MLC_U8, 3);
    Func level = mlc_func_new(ctx, "level"), hist_rows = mlc_func_new(ctx, "hist_rows"), hist = mlc_func_new(ctx, "hist");
    Func cdf = mlc_func_new(ctx, "cdf"), luma = mlc_func_new(ctx, "luma"), equal = mlc_func_new(ctx, "equal");
    Func out = mlc_func_new(ctx, "out");
    Expr w = mlc_dim_extent(in, 0), h = mlc_dim_extent(in, 1);
    RDom col = rdom(ctx, "col", range(0, w)), row = rdom(ctx, "row", range(0, h)), bin = rdom(ctx, "bin", range(1, 255));

    def(at(level, x, y), byte(luma_of(in, x, y)));
    def(at(hist_rows, x, y), mlc_i32(0));
    def_add(at(hist_rows, at(level, col.x, y), y), 1);
    def(at(hist, x), mlc_i32(0));
    def_add(at(hist, x), at(hist_rows, x, row.x));
    def(at(cdf, x), at(hist, 0));
    def(at(cdf, bin.x), add(at(cdf, sub(bin.x, 1)), at(hist, bin.x)));

    def(at(luma, x, y), luma_of(in, x, y));
    def(at(equal, x, y), mlc_clamp(mul(mlc_f32(at(cdf, byte(at(luma, x, y)))), quo(255.f, mlc_f32(mul(w, h)))), 0.f, 255.f));
    Expr y1 = at(equal, x, y), red = mul(sub(mlc_f32(at(in, x, y, 0)), at(luma, x, y)), 0.713f);
    Expr blue = mul(sub(mlc_f32(at(in, x, y, 2)), at(luma, x, y)), 0.564f);
    def(at(out, x, y, c), mlc_mux(c, byte(add(y1, mul(red, 1.4f))),
                                  byte(sub(sub(y1, mul(0.343f, blue)), mul(0.711f, red))), byte(add(y1, mul(1.765f, blue)))));
    return out;
}

static int buffers(const Photo *p, mlc_buffer *b[APP_BUFFERS]) {
    int64_t n = (int64_t)p->width * p->height * 3, shape[] = { p->width, p->height, 3 };
    b[0] = mlc_buffer_new(MLC_U8, 3, shape);
    b[1] = mlc_buffer_new(MLC_U8, 3, shape);
    if (!b[0] || !b[1]) return 0;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)b[0]->data)[i] = p->rgb[i];
    return 2;
}

const App hist_app = {
    .name = "hist",
    .what = "histogram equalisation of the photo, u8 RGB",
    .build = build,
    .buffers = buffers,
    .white = 255,
    .plan = {
        { "unscheduled", "hist_rows: compute_root(); hist: compute_root(); cdf: compute_root()" },
        { "rows", "hist_rows: compute_root(), vectorize(x, 16), parallel(y);"
                  "hist_rows.u0: split(y, yo, yi, 4), reorder(yi, col, yo), unroll(yi), parallel(yo);"
                  "level: compute_at(hist_rows.u0, yo), vectorize(x, 16);"
                  "hist: compute_root(), vectorize(x, 16);"
                  "hist.u0: split(x, xo, xi, 64), reorder(xi, row, xo), vectorize(xi, 16);"
                  "cdf: compute_root();"
                  "out: bound(c, 0, 3), split(x, xo, xi, 32), reorder(xi, c, xo, y), vectorize(xi), unroll(c), parallel(y);"
                  "equal: compute_at(out, xo), vectorize(x, 32); luma: compute_at(out, xo), vectorize(x, 32)" },
        { "gpu", "hist_rows: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 32, 8);"
                 "hist_rows.u0: split(y, yo, yi, 32), gpu_blocks(yo), gpu_threads(yi);"
                 "hist: compute_root(), split(x, xo, xi, 32), gpu_blocks(xo), gpu_threads(xi);"
                 "hist.u0: split(x, xo, xi, 32), gpu_blocks(xo), gpu_threads(xi);"
                 "cdf: compute_root(), gpu_single_thread(); cdf.u0: gpu_single_thread();"
                 "out: bound(c, 0, 3), gpu_tile(x, y, xo, yo, xi, yi, 32, 8), reorder(c, xi, yi, xo, yo), unroll(c);"
                 "equal: compute_at(out, xi); luma: compute_at(out, xi)", .gpu = true },
    },
};

APP_MAIN(hist_app)
