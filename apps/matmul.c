/* matmul.c - the product of two f32 matrices, out = left * right, row-major: dimension 0 is the column.
 *
 * The naive three lines become a register-tiled kernel by directives: a tile of 8 rows by 32 columns
 * lives in registers over the whole reduction, and the panel of `right` that a block of columns reads is
 * packed once into consecutive memory. */
#include "app.h"
#include <mlc/short.h>

static Func build(mlc_ctx *ctx) {
    MLC_VARS(ctx, x, y);
    Func left = mlc_input_new(ctx, "left", MLC_F32, 2), right = mlc_input_new(ctx, "right", MLC_F32, 2);
    Func panel = mlc_func_new(ctx, "panel"), product = mlc_func_new(ctx, "product"), out = mlc_func_new(ctx, "out");
    RDom k = rdom(ctx, "k", range(0, mlc_dim_extent(left, 0)));
    def(at(panel, x, y), at(right, x, y));
    def(at(product, x, y), 0.f);
    def_add(at(product, x, y), mul(at(panel, x, k.x), at(left, k.x, y)));
    def(at(out, x, y), at(product, x, y));
    return out;
}

static int64_t side(int pixels) {
    return pixels < 1024 ? pixels : 1024;
}

/* left is the photo's brightness; right mirrors it and mixes neighbouring columns. */
static int buffers(const Photo *p, mlc_buffer *b[APP_BUFFERS]) {
    int64_t w = side(p->width), h = side(p->height);
    b[0] = mlc_buffer_new(MLC_F32, 2, (int64_t[]){ w, h });
    b[1] = mlc_buffer_new(MLC_F32, 2, (int64_t[]){ w, w });
    b[2] = mlc_buffer_new(MLC_F32, 2, (int64_t[]){ w, h });
    if (!b[0] || !b[1] || !b[2]) return 0;
    float *left = b[0]->data, *right = b[1]->data;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) left[y * w + x] = p->rgb[(y * p->height / h + p->height) * p->width + x * p->width / w];
    for (int64_t y = 0; y < w; y++)
        for (int64_t x = 0; x < w; x++) {
            int64_t from = x + y - (w - 1), d = from < 0 ? -from : from;
            right[y * w + x] = d < 8 ? (float)(8 - d) / 64.f : 0.f;
        }
    return 3;
}

const App matmul_app = {
    .name = "matmul",
    .what = "f32 matrix product, at most 1024 x 1024: mirrors the photo and smears it",
    .build = build,
    .buffers = buffers,
    .white = 255,
    .plan = {
        { "unscheduled", "product: compute_at(out, x)" },
        { "vectors", "product: compute_root(), vectorize(x, 16), parallel(y);"
                     "product.u0: reorder(x, k, y), vectorize(x, 16), parallel(y)" },
        { "registers", "out: tile(x, y, xo, yo, xi, yi, 32, 8, .tail = shift), reorder(xi, yi, yo, xo),"
                       "     vectorize(xi, 16), unroll(xi), unroll(yi), parallel(xo);"
                       "product: compute_at(out, yo), vectorize(x, 16), unroll(x), unroll(y);"
                       "product.u0: reorder(x, y, k), vectorize(x, 16), unroll(x), unroll(y);"
                       "panel: compute_at(out, xo), vectorize(x, 16), unroll(x)" },
    },
};

APP_MAIN(matmul_app)
