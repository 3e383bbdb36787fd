/* Tutorial 01: a first pipeline.
 *
 * An mlc program has two halves.  The algorithm says what the value of a Func is at each point; the
 * plan says how to compute it.  This tutorial writes a small algorithm, runs it, and then changes only
 * the plan: the result stays the same to the bit.
 *
 *     make build/tutorials/01_first_pipeline && build/tutorials/01_first_pipeline
 */
#include <mlc/short.h>

#include <string.h>

enum { W = 320, H = 200 };
static float src[H + 2][W + 2], slow[H][W], fast[H][W];

int main(void) {
    /* Everything is made in a context and lives as long as it does. */
    mlc_ctx *ctx = mlc_ctx_new();

    /* Vars are names of indices.  They have no values: a definition holds for every x and y. */
    MLC_VARS(ctx, x, y);
    MLC_VARS(ctx, yo, yi);

    /* An input is a buffer that comes later; its type and rank are part of the program. */
    Func in = mlc_input_new(ctx, "in", MLC_F32, 2);

    /* Two Funcs.  C has no operator overloading, so a + b is add(a, b), and a + b + c is plus(a, b, c).
     * at(in, add(x, 1), y) reads `in` one point to the right. */
    Func bx = mlc_func_new(ctx, "bx"), by = mlc_func_new(ctx, "by");
    def(at(bx, x, y), mul(plus(at(in, x, y), at(in, add(x, 1), y), at(in, add(x, 2), y)), 1 / 3.f));
    def(at(by, x, y), mul(plus(at(bx, x, y), at(bx, x, add(y, 1)), at(bx, x, add(y, 2))), 1 / 3.f));

    /* The same definition can be written as text: mlc_let(ctx, by(x, y) = (bx(x, y) + ...) * (1 / 3.f)).
     * Mind that C folds `1 / 3` to 0 before mlc sees it; in text, `1 / 3` has mlc's meaning. */

    for (int j = 0; j < H + 2; j++)
        for (int i = 0; i < W + 2; i++) src[j][i] = (float)((i * 7 + j * 13) % 256);

    /* mlc_wrap describes memory that is yours: a pointer, then the extents, innermost first.  `by` is asked
     * for W x H points, so `in` must have two more of each: mlc works that out and checks it. */
    mlc_bind(in, mlc_wrap(&src[0][0], W + 2, H + 2));

    /* No plan yet: bx is computed wherever by needs it, again each time. */
    if (!mlc_realize(by, mlc_wrap(&slow[0][0], W, H), NULL)) {
        fprintf(stderr, "%s\n", mlc_error(ctx));
        return 1;
    }

    /* Now a plan: strips of 32 rows in parallel, eight pixels at a time; within a strip, bx keeps a window
     * of rows that slides down, so each of its values is computed once. */
    schedule(by, split(y, yo, yi, 32), vectorize(x, 8), parallel(yo));
    schedule(bx, store_at(by, yo), compute_at(by, yi), vectorize(x, 8));
    if (!mlc_realize(by, mlc_wrap(&fast[0][0], W, H), NULL)) {
        fprintf(stderr, "%s\n", mlc_error(ctx));
        return 1;
    }

    printf("by(10, 20) = %.6f, with a plan %.6f\n", (double)slow[20][10], (double)fast[20][10]);
    bool same = !memcmp(slow, fast, sizeof slow);
    printf("both plans give %s bytes\n", same ? "the same" : "other");
    mlc_ctx_free(ctx);
    return same ? 0 : 1;
}
