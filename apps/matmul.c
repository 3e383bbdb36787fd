/* matmul.c - the product of two f32 matrices, out = left * right, row-major: dimension 0 is the column.
 *
 * The naive three lines become a register-tiled kernel by directives: a tile of 12 rows by 32 columns
 * lives in registers over the whole reduction, and the panel of `right` that a block of columns reads is
 * packed once into consecutive memory. */
#include "app.h"
#include <mlc/short.h>

enum { N = 1024 };

static Func build(mlc_ctx *ctx) {
    MLC_VARS(ctx, x, y);
    Func left = mlc_input_new(ctx, "left", MLC_F32, 2), right = mlc_input_new(ctx, "right", MLC_F32, 2);
    Func panel = mlc_func_new(ctx, "panel"), product = mlc_func_new(ctx, "product"), out = mlc_func_new(ctx, "out");
    RDom k = rdom(ctx, "k", range(0, N));
    def(at(panel, x, y), at(right, x, y));
    def(at(product, x, y), 0.f);
    def_add(at(product, x, y), mul(at(panel, x, k.x), at(left, k.x, y)));
    def(at(out, x, y), at(product, x, y));
    return out;
}

/* left is the photo's brightness; right mirrors it and mixes neighbouring columns. */
static int buffers(const Photo *p, mlc_buffer *b[APP_BUFFERS]) {
    for (int i = 0; i < 3; i++)
        if (!(b[i] = mlc_buffer_new(MLC_F32, 2, (int64_t[]){ N, N }))) return 0;
    float *left = b[0]->data, *right = b[1]->data;
    for (int64_t y = 0; y < N; y++)
        for (int64_t x = 0; x < N; x++) {
            left[y * N + x] = p->rgb[(y * p->height / N + p->height) * p->width + x * p->width / N];
            int64_t from = x + y - (N - 1), d = from < 0 ? -from : from;
            right[y * N + x] = d < 8 ? (float)(8 - d) / 64.f : 0.f;
        }
    return 3;
}

const App matmul_app = {
    .name = "matmul",
    .what = "f32 matrix product, 1024 x 1024: mirrors the photo and smears it",
    .build = build,
    .buffers = buffers,
    .white = 255,
    .plan = {
        { "unscheduled", "product: compute_at(out, x)" },
        { "vectors", "product: compute_root(), vectorize(x, 16), parallel(y);"
                     "product.u0: reorder(x, k, y), vectorize(x, 16), parallel(y)" },
        { "registers", "out: bound(x, 0, 1024), bound(y, 0, 1024), tile(x, y, xo, yo, xi, yi, 32, 8),"
                       "     reorder(xi, yi, yo, xo), vectorize(xi, 16), unroll(xi), unroll(yi), parallel(xo);"
                       "product: compute_at(out, yo), vectorize(x, 16), unroll(x), unroll(y);"
                       "product.u0: reorder(x, y, k), vectorize(x, 16), unroll(x), unroll(y);"
                       "panel: compute_at(out, xo), vectorize(x, 16), unroll(x)" },
    },
};

APP_MAIN(matmul_app)
