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
#define AT_A_TIME 1
#else
#define COLUMNS 1024
#define ROWS 1024
#define DEPTH 1024
#define AT_A_TIME 4 /* of `left`, whose rows it divides: elements that a thread of a GPU copies */
#endif
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define SIZES "out: bound(x, 0, " TEXT(COLUMNS) "), bound(y, 0, " TEXT(ROWS) ");"

/* A block of 64 threads makes 64 x 64 sums, each thread 8 x 8 in its registers: columns 4 at a time and 32 apart, rows 8 apart, so that threads
 * side by side read shared memory side by side.  Tiles of 16 steps of k are copied three steps ahead; rows of `left` get a pitch of 20. */
#define GPU_MINE(stage, order) stage "split(x, xh, xr, 32), split(xr, tx, xv, 4), split(y, uy, ty, 8), reorder(xv, xh, uy, " order "), gpu_threads(tx, ty)," \
                               "     unroll(xv), unroll(xh), unroll(uy);"
#define GPU_RING "store_at(out, xo), compute_at(product.u0, ko), ring_buffer(4), async(), store_in(shared), copy_by(cp_async), "
#define GPU_TILES \
    "out: tile(x, y, xo, yo, xi, yi, 64, 64), split(xi, xh, xr, 32), split(xr, tx, xv, 4), split(yi, uy, ty, 8)," \
    "     reorder(xv, xh, uy, tx, ty, xo, yo), gpu_blocks(xo, yo), gpu_threads(tx, ty), unroll(xv), unroll(xh), unroll(uy);" \
    GPU_MINE("product: compute_at(out, xo), store_in(register), ", "tx, ty") \
    GPU_MINE("product.u0: split(k, ko, ki, 16), unroll(ki), ", "ki, tx, ty, ko") \
    "left: in(product, rows);" \
    "rows: " GPU_RING "align_storage(_0, 20), split(_0, kt, kv, " TEXT(AT_A_TIME) "), split(_1, yq, yr, 16), split(yr, yt, yh, 2)," \
    "     reorder(kv, yq, kt, yh, yt), fuse(kt, yh, t), gpu_threads(t, yt), unroll(yq), vectorize(kv);" \
    "panel: " GPU_RING "split(x, xq, xr, 32), split(xr, xt, xv, 4), split(y, yq, yt, 8), reorder(xv, xq, yq, xt, yt)," \
    "     gpu_threads(xt, yt), unroll(xq), unroll(yq), vectorize(xv);"

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
        { "gpu", SIZES GPU_TILES, .gpu = true },
    },
};

APP_MAIN(matmul_app)
