/* matmul.c - the product of two f32 matrices, out = left * right, row-major: dimension 0 is the column.
 *
 * The naive three lines become a register-tiled kernel by directives: a tile of 6 rows by 16 columns (64 where
 * there are 32 wide registers) lives in registers over the whole reduction, and the panel of `right` that a block of columns reads is
 * packed once into consecutive memory. */
#include "app.h"
#include <mlc/short.h>

/* The sizes are part of the plan: what is known when it is compiled can live in registers. */
#ifdef APP_SMALL
#define COLUMNS 128
#define ROWS 40
#define DEPTH 29
#else
#define COLUMNS 1024
#define ROWS 1024
#define DEPTH 1024
#endif
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define SIZES "out: bound(x, 0, " TEXT(COLUMNS) "), bound(y, 0, " TEXT(ROWS) ");"

static Func build(mlc_ctx *ctx) {
    MLC_VARS(ctx, x, y);
    Func left = mlc_input_new(ctx, "left", MLC_F32, 2), right = mlc_input_new(ctx, "right", MLC_F32, 2);
    Func panel = mlc_func_new(ctx, "panel"), product = mlc_func_new(ctx, "product"), out = mlc_func_new(ctx, "out");
    RDom k = rdom(ctx, "k", range(0, DEPTH));
    def(at(panel, x, y), at(right, x, y));
    def(at(product, x, y), 0.f);
    def_add(at(product, x, y), mul(at(left, k.x, y), at(panel, x, k.x)));
    def(at(out, x, y), at(product, x, y));
    return out;
}

/* left is the photo's brightness; right mirrors it and mixes neighbouring columns. */
static int buffers(const Photo *p, mlc_buffer *b[APP_BUFFERS]) {
    b[0] = mlc_buffer_new(MLC_F32, 2, (int64_t[]){ DEPTH, ROWS });
    b[1] = mlc_buffer_new(MLC_F32, 2, (int64_t[]){ COLUMNS, DEPTH });
    b[2] = mlc_buffer_new(MLC_F32, 2, (int64_t[]){ COLUMNS, ROWS });
    if (!b[0] || !b[1] || !b[2]) return 0;
    float *left = b[0]->data, *right = b[1]->data;
    for (int64_t y = 0; y < ROWS; y++)
        for (int64_t x = 0; x < DEPTH; x++)
            left[y * DEPTH + x] = p->rgb[(y * p->height / ROWS + p->height) * p->width + x * p->width / DEPTH];
    for (int64_t y = 0; y < DEPTH; y++)
        for (int64_t x = 0; x < COLUMNS; x++) {
            int64_t from = x + y - (DEPTH - 1), d = from < 0 ? -from : from;
            right[y * COLUMNS + x] = d < 8 ? (float)(8 - d) / 64.f : 0.f;
        }
    return 3;
}

const App matmul_app = {
    .name = "matmul",
    .what = "f32 matrix product of 1024 x 1024: mirrors the photo and smears it",
    .build = build,
    .buffers = buffers,
    .white = 255,
    .plan = {
        { "unscheduled", "product: compute_at(out, x)" },
        { "vectors", "product: compute_root(), vectorize(x, 16), parallel(y);"
                     "product.u0: reorder(x, k, y), vectorize(x, 16), parallel(y)" },
        { "registers", SIZES "out: split(x, xp, x0, 64), split(x0, xo, xi, 16), split(y, yo, yi, 6, .tail = shift),"
                       "     reorder(xi, yi, xo, yo, xp), vectorize(xi, 16), unroll(yi), parallel(xp);"
                       "product: compute_at(out, xo), vectorize(x, 16), unroll(y);"
                       "product.u0: reorder(x, y, k), vectorize(x, 16), unroll(y);"
                       "panel: compute_at(out, xp), vectorize(x, 16)" },
        { "registers", SIZES "out: split(x, xo, xi, 64), split(y, yo, yi, 6, .tail = shift), reorder(xi, yi, yo, xo),"
                       "     vectorize(xi, 16), unroll(xi), unroll(yi), parallel(xo);"
                       "product: compute_at(out, yo), vectorize(x, 16), unroll(x), unroll(y);"
                       "product.u0: reorder(x, y, k), vectorize(x, 16), unroll(x), unroll(y);"
                       "panel: compute_at(out, xo), vectorize(x, 16), unroll(x)", .bytes = 64 },
        { "gpu", SIZES "out: split(x, xb, xt, 4), split(y, yb, yt, 4), gpu_tile(xb, yb, xo, yo, xi, yi, 16, 8),"
                 "     reorder(xt, yt, xi, yi, xo, yo), unroll(xt), unroll(yt);"
                 "product: compute_at(out, xi), store_in(register), unroll(x), unroll(y);"
                 "product.u0: reorder(x, y, k), unroll(x), unroll(y)", .gpu = true },
    },
};

APP_MAIN(matmul_app)
