/* Plans as text and as values: every directive, tail and option round-trips; C macros print the text that
 * says the same; errors with their whole message. */
#include "schedule/schedule.h"

#include <mlc/text.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static mlc_ctx *world(void) {
    mlc_ctx *ctx = mlc_ctx_new();
    bool ok = mlc_let(ctx, input in: f32[2]; rdom k(0, 3); rdom r(0, 3; 0, 5);
                      bx(x, y) = in(x, y) * 2; by(x, y) = bx(x, y); by(x, y) += bx(x, k); by(x, y) += bx(r.x, r.y));
    ck_assert_msg(ok, "%s", mlc_error(ctx));
    return ctx;
}

START_TEST(rows) {
    static const struct {
        const char *text, *printed; /* NULL: the same and ";\n" */
    } row[] = {
        { "by: split(x, xo, xi, 8)", NULL },
        { "by: split(x, xo, xi, 8, .tail = auto)", "by: split(x, xo, xi, 8);\n" },
        { "by: split(x, xo, xi, 8, .tail = guard)", NULL },
        { "by: split(x, xo, xi, 8, .tail = shift)", NULL },
        { "by: split(x, xo, xi, 8, .tail = round)", NULL },
        { "by: fuse(x, y, xy)", NULL },
        { "by: tile(x, y, xo, yo, xi, yi, 32, 8, .tail = round)", NULL },
        { "by: reorder(y)", NULL },
        { "by: reorder(y, x, yo, xo, a, b, c, d)", NULL },
        { "by: serial(y), parallel(x), parallel(y, 4), vectorize(x), vectorize(x, 8, .tail = guard), unroll(x), unroll(x, 2)", NULL },
        { "by: vectorize(x, .tail = guard)", NULL },
        { "bx: compute_root(), compute_inline(), store_root()", NULL },
        { "bx: compute_at(by, xo), store_at(by.u0, k)", NULL },
        { "bx: compute_at(by.pure, xo)", NULL },
        { "bx: compute_at(strip), store_at(k); by: level(strip, yo), level(k)", "bx: compute_at(strip), store_at(k);\nby: level(strip, yo), level(k);\n" },
        { "bx: change_type(f16), change_type(u64, .lossy)", NULL },
        { "by: bound(x, -3, 16), estimate(y, 0, 1080)", NULL },
        { "by: prefetch(in, y, y, 1), prefetch(bx, x, y, 3, .bounds = non_faulting), prefetch(in, y, y, 2, .bounds = guard)", NULL },
        { "by: prefetch(in, y, y, 1, .bounds = clamp)", "by: prefetch(in, y, y, 1);\n" },
        { "by.u0: atomic(), vectorize(k); by.u1: atomic(.reassociate), parallel(r.y)",
          "by.u0: atomic(), vectorize(k);\nby.u1: atomic(.reassociate), parallel(r.y);\n" },
        { "bx: compute_with(by, y), compute_with(by.u0, k, .align = start), compute_with(by.pure, y, .align = end)", NULL },
        { "bx: compute_with(by, y, .align = no_align), compute_with(by, x, .align = auto)", "bx: compute_with(by, y, .align = no_align), compute_with(by, x);\n" },
        { "by: gpu_blocks(y), gpu_threads(x, y, xo), gpu_single_thread(), gpu_tile(x, xo, xi, 64), "
          "gpu_tile(x, y, xo, yo, xi, yi, 16, 8, .tail = guard), gpu_tile(x, y, k, a, b, c, xi, yi, d, 8, 4, 2)", NULL },
        { "bx: store_in(shared), copy_by(cp_async)", NULL },
        { "by.u0: parallel(x); by.u1: reorder(x, r.x, r.y)", "by.u0: parallel(x);\nby.u1: reorder(x, r.x, r.y);\n" },
        { "by.u1: rfactor(parts, r.x, u), rfactor(more, r.x, u, r.y, v, .reassociate); parts: parallel(u)",
          "by.u1: rfactor(parts, r.x, u), rfactor(more, r.x, u, r.y, v, .reassociate);\nparts: parallel(u);\n" },
        { "by.pure: parallel(y);", "by: parallel(y);\n" },
        { ";; by: parallel(y);; bx: compute_root(); by: vectorize(x)", "by: parallel(y);\nbx: compute_root();\nby: vectorize(x);\n" },
        { "by : parallel ( y ) , /* c */ vectorize(x) // end", "by: parallel(y), vectorize(x);\n" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        mlc_ctx *ctx = world();
        mlc_plan *p = mlc_plan_new(ctx), *q = mlc_plan_new(ctx);
        ck_assert_msg(mlc_plan_parse(p, row[i].text, NULL), "%s: %s", row[i].text, mlc_error(ctx));
        char expected[512];
        snprintf(expected, sizeof expected, row[i].printed ? "%s" : "%s;\n", row[i].printed ? row[i].printed : row[i].text);
        ck_assert_str_eq(mlc_plan_print(p), expected);
        ck_assert_msg(mlc_plan_parse(q, mlc_plan_print(p), NULL), "%s", mlc_error(ctx));
        ck_assert_str_eq(mlc_plan_print(q), expected);
        mlc_ctx_free(ctx);
    }
}
END_TEST

/* Every row's own example parses, and prints as it is. */
START_TEST(examples) {
    mlc_ctx *ctx = world();
    ck_assert(mlc_let(ctx, out(x, y) = 1; param version: i32));
    for (int i = 0; i < MLC_DIRECTIVE_COUNT; i++) {
        const DirectiveInfo *d = &sch_directives[i];
        char line[256], expected[256];
        ck_assert_msg(d->name && d->shape && d->doc && d->doc[0], "row %d of directives.def is missing", i);
        snprintf(line, sizeof line, "by: %s", d->example);
        snprintf(expected, sizeof expected, "by: %s;\n", d->example);
        mlc_plan *p = mlc_plan_new(ctx);
        ck_assert_msg(mlc_plan_parse(p, line, NULL), "%s: %s", line, mlc_error(ctx));
        ck_assert_str_eq(mlc_plan_print(p), expected);
        mlc_directive got;
        ck_assert(mlc_plan_get(p, 0, NULL, &got) && (int)got.kind == i);
    }
    mlc_ctx_free(ctx);
}
END_TEST

/* docs/directives.md is what the table says now (tools/gen-directives.awk writes it). */
START_TEST(page) {
    static char text[1 << 16];
    FILE *f = fopen("docs/directives.md", "r");
    if (!f) return; /* not run from the repository's root */
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (int i = 0; i < MLC_DIRECTIVE_COUNT; i++) {
        const DirectiveInfo *d = &sch_directives[i];
        char line[512];
        snprintf(line, sizeof line, "| `%s` | `%s` | %s |\n", d->name, d->example, d->doc);
        ck_assert_msg(strstr(text, line) != NULL, "docs/directives.md lacks %s", line);
    }
}
END_TEST

START_TEST(macros) {
    mlc_ctx *ctx = world();
    MLC_VARS(ctx, x, y, xo, yo, xi, yi, xy);
    mlc_func by = mlc_find_func(ctx, "by"), bx = mlc_find_func(ctx, "bx");
    mlc_schedule(by, mlc_tile(x, y, xo, yo, xi, yi, 32, 8, .tail = MLC_TAIL_GUARD), mlc_vectorize(xi, 8), mlc_parallel(yo),
                 mlc_split(x, xo, xi, 4), mlc_fuse(x, y, xy), mlc_reorder(y, x), mlc_serial(x),
                 mlc_unroll(y, .tail = MLC_TAIL_SHIFT), mlc_bound(x, 0, 3), mlc_estimate(y, -1, 9));
    mlc_schedule(mlc_update(by, 0), mlc_parallel(y, 2));
    mlc_schedule(mlc_update(by, 0), mlc_rfactor(mlc_func_new(ctx, "parts"), x, xo, y, yo, .reassociate = true),
                 mlc_atomic(), mlc_atomic(.reassociate = true));
    mlc_schedule(bx, mlc_compute_at(by, yo), mlc_store_at(mlc_update(by, 0), y), mlc_compute_root(), mlc_compute_inline(), mlc_store_root(),
                 mlc_reorder_storage(y, x), mlc_align_storage(x, 16), mlc_bound_storage(y, 9), mlc_fold_storage(y, 4),
                 mlc_fold_storage(y, 4, .way = MLC_WAY_BOTH), mlc_store_in(MLC_MEMORY_STACK));
    mlc_schedule(bx, mlc_compute_at(xo), mlc_store_at(yo), mlc_change_type(MLC_I16), mlc_change_type(MLC_BF16, .lossy = true));
    mlc_schedule(by, mlc_level(xo, x), mlc_level(yo));
    ck_assert_str_eq(mlc_error(ctx), "");
    mlc_plan *plan = mlc_plan_default(ctx);
    const char *expected =
        "by: tile(x, y, xo, yo, xi, yi, 32, 8, .tail = guard), vectorize(xi, 8), parallel(yo), split(x, xo, xi, 4), "
        "fuse(x, y, xy), reorder(y, x), serial(x), unroll(y, .tail = shift), bound(x, 0, 3), estimate(y, -1, 9);\n"
        "by.u0: parallel(y, 2), rfactor(parts, x, xo, y, yo, .reassociate), atomic(), atomic(.reassociate);\n"
        "bx: compute_at(by, yo), store_at(by.u0, y), compute_root(), compute_inline(), store_root(), reorder_storage(y, x), "
        "align_storage(x, 16), bound_storage(y, 9), fold_storage(y, 4), fold_storage(y, 4, .way = both), store_in(stack), "
        "compute_at(xo), store_at(yo), change_type(i16), change_type(bf16, .lossy);\n"
        "by: level(xo, x), level(yo);\n";
    ck_assert_str_eq(mlc_plan_print(plan), expected);
    ck_assert_int_eq(mlc_plan_size(plan), 31);
    mlc_plan *copy = mlc_plan_new(ctx);
    ck_assert(mlc_plan_parse(copy, expected, NULL));
    for (int i = 0; i < 31; i++) { /* the same values, but for their places */
        mlc_directive a, b;
        mlc_stage s, t;
        ck_assert(mlc_plan_get(plan, i, &s, &a) && mlc_plan_get(copy, i, &t, &b));
        ck_assert(s.f == t.f && s.stage == t.stage && a.kind == b.kind && a.n == b.n && a.tail == b.tail && a.at.f == b.at.f);
        ck_assert(a.made.f == b.made.f && a.reassociate == b.reassociate);
        ck_assert(a.memory == b.memory && a.way == b.way && a.type == b.type && a.lossy == b.lossy);
        ck_assert(a.at_stage == b.at_stage && !memcmp(a.k, b.k, sizeof a.k));
        for (int v = 0; v < 8; v++) ck_assert(a.v[v].sym == b.v[v].sym);
        ck_assert(a.loc.line > 0 && strstr(a.loc.file, "test_plan_text.c"));
    }
    ck_assert(mlc_plan_drop(copy, 0) && mlc_plan_size(copy) == 30 && !mlc_plan_drop(copy, 30) && !mlc_plan_get(copy, 30, NULL, NULL));
    Arena a = { 0 };
    arena_init(&a, NULL, &ctx->fault);
    Place place = sch_place(&a, &plan->line.at[10]);
    ck_assert_str_eq(place.object, "schedule by.u0");
    ck_assert_str_eq(place.directive, "parallel(y, 2)");
    arena_free(&a);
    mlc_plan_free(plan);
    ck_assert_int_eq(mlc_plan_size(mlc_plan_default(ctx)), 0);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(gpu_macros) {
    mlc_ctx *ctx = world();
    MLC_VARS(ctx, x, y, z, xo, yo, zo);
    MLC_VARS(ctx, xi, yi, zi);
    mlc_func by = mlc_find_func(ctx, "by");
    mlc_schedule(by, mlc_gpu_blocks(x), mlc_gpu_blocks(x, y, z), mlc_gpu_threads(xi, yi), mlc_gpu_single_thread(),
                 mlc_gpu_tile(x, xo, xi, 64), mlc_gpu_tile(x, xo, xi, 64, .tail = MLC_TAIL_GUARD),
                 mlc_gpu_tile(x, y, xo, yo, xi, yi, 16, 8), mlc_gpu_tile(x, y, xo, yo, xi, yi, 16, 8, .tail = MLC_TAIL_ROUND),
                 mlc_gpu_tile(x, y, z, xo, yo, zo, xi, yi, zi, 8, 4, 2),
                 mlc_gpu_tile(x, y, z, xo, yo, zo, xi, yi, zi, 8, 4, 2, .tail = MLC_TAIL_GUARD), mlc_store_in(MLC_MEMORY_SHARED), mlc_copy_by(MLC_COPY_CP_ASYNC),
                 mlc_copy_by(MLC_COPY_LDST), mlc_swizzle(x, y), mlc_store_in(MLC_MEMORY_FRAGMENT), mlc_tensorize(MLC_MMA_M16N8K16_BF16, yi, xi),
                 mlc_tensorize(MLC_MMA_M16N8K32_S8, y, x, z));
    ck_assert_str_eq(mlc_error(ctx), "");
    ck_assert_str_eq(mlc_plan_print(mlc_plan_default(ctx)),
                     "by: gpu_blocks(x), gpu_blocks(x, y, z), gpu_threads(xi, yi), gpu_single_thread(), "
                     "gpu_tile(x, xo, xi, 64), gpu_tile(x, xo, xi, 64, .tail = guard), "
                     "gpu_tile(x, y, xo, yo, xi, yi, 16, 8), gpu_tile(x, y, xo, yo, xi, yi, 16, 8, .tail = round), "
                     "gpu_tile(x, y, z, xo, yo, zo, xi, yi, zi, 8, 4, 2), "
                     "gpu_tile(x, y, z, xo, yo, zo, xi, yi, zi, 8, 4, 2, .tail = guard), store_in(shared), copy_by(cp_async), copy_by(ldst), swizzle(x, y), "
                     "store_in(fragment), tensorize(mma_m16n8k16_bf16, yi, xi), tensorize(mma_m16n8k32_s8, y, x, z);\n");
    mlc_directive d;
    ck_assert(mlc_plan_get(mlc_plan_default(ctx), 8, NULL, &d) && d.n == 9 && d.k[2] == 2 && d.v[8].sym == zi.sym);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(text_errors) {
    static const struct {
        const char *text, *message;
    } row[] = {
        { "bz: compute_root()", "plan:1:1: there is no Func 'bz' (did you mean 'bx'?); define it before the plan" },
        { "blurred: compute_root()", "plan:1:1: there is no Func 'blurred'; define it before the plan" },
        { "bx: compute_rot()", "plan:1:5: there is no directive 'compute_rot' (did you mean 'compute_root'?); docs/directives.md lists them" },
        { "bx: compute_at(bw, y)", "plan:1:16: there is no Func 'bw' (did you mean 'bx'?); define it before the plan" },
        { "bx.v0: parallel(y)", "plan:1:1: 'bx.v0' names no stage; write C for the pure definition, C.u0, C.u1 .. for updates" },
        { "bx.u: parallel(y)", "plan:1:1: 'bx.u' names no stage; write C for the pure definition, C.u0, C.u1 .. for updates" },
        { "by: split(x, xo, xi, 8, .tail = grd)", "plan:1:33: there is no tail 'grd'; docs/directives.md lists them" },
        { "by: split(x, xo, xi, 8, .tail = gard)", "plan:1:33: there is no tail 'gard' (did you mean 'guard'?); docs/directives.md lists them" },
        { "by: split(x, xo, xi, 8, .tile = guard)", "plan:1:26: split has no option .tile; it takes .tail" },
        { "bx: store_in(stak)", "plan:1:14: there is no memory 'stak' (did you mean 'stack'?); use auto, heap, stack, register, shared or fragment" },
        { "bx: store_in(4)", "plan:1:14: expected a memory: heap, stack, register, shared or fragment, found '4'; see docs/language.md" },
        { "bx: tensorize(mma_m16n8k16_bf61, x, y)", "plan:1:15: there is no instruction 'mma_m16n8k16_bf61' (did you mean 'mma_m16n8k16_bf16'?); docs/directives.md lists those of tensorize" },
        { "bx: copy_by(tma)", "plan:1:13: there is no way of copying 'tma'; use ldst or cp_async" },
        { "bx: fold_storage(x, 4, .way = back)", "plan:1:31: there is no way 'back'; use forward or both" },
        { "bx: fold_storage(x, 4, .tail = guard)", "plan:1:25: fold_storage has no option .tail; it takes .way" },
        { "by: fuse(x, y, z, .tail = guard)", "plan:1:20: fuse has no option .tail; it takes no option" },
        { "by: split(x, xo, xi, 0)", "plan:1:23: the size 0 is out of range; give 1 or more" },
        { "by: split(x, xo, xi, n)", "plan:1:22: expected a size of 1 or more, found 'n'; see docs/language.md" },
        { "by: split(x, xo, xi)", "plan:1:20: split has too few arguments; write for example split(x, xo, xi, 8, .tail = guard)" },
        { "by: tile(x, y, xo, yo, xi, yi, 8)", "plan:1:33: tile has too few arguments; write for example tile(x, y, xo, yo, xi, yi, 32, 8)" },
        { "by: gpu_tile(x, xo, 8)", "plan:1:19: gpu_tile has too few arguments; write for example gpu_tile(x, y, xo, yo, xi, yi, 16, 8)" },
        { "by: gpu_tile(x, y, xo, yo, xi, yi, 8)", "plan:1:37: gpu_tile has too few arguments; write for example gpu_tile(x, y, xo, yo, xi, yi, 16, 8)" },
        { "by: gpu_tile(x, xo, xi, 8, 8)", "plan:1:28: gpu_tile has too many arguments; write for example gpu_tile(x, y, xo, yo, xi, yi, 16, 8)" },
        { "by: gpu_tile(x, xo, xi, 0)", "plan:1:26: the size 0 is out of range; give 1 or more" },
        { "by: gpu_tile(a, b, c, d, e, f, g, h, i, j, 8)", "plan:1:41: gpu_tile has too many arguments; write for example gpu_tile(x, y, xo, yo, xi, yi, 16, 8)" },
        { "by: gpu_blocks()", "plan:1:16: expected the name of a loop, found ')'; see docs/language.md" },
        { "by: serial(x, y)", "plan:1:15: serial has too many arguments; write for example serial(y)" },
        { "by: vectorize(x, 8, 9)", "plan:1:21: vectorize has too many arguments; write for example vectorize(x, 8)" },
        { "by: compute_root(x)", "plan:1:18: compute_root has too many arguments; write for example compute_root()" },
        { "by: vectorize(x, 8,)", "plan:1:20: expected '.', found ')'; see docs/language.md" },
        { "by: reorder(k.q)", "plan:1:13: 'k.q' is no RVar and cannot name a loop; use letters, digits and _" },
        { "by: prefetch(in, y, y, 1, .bounds = gard)", "plan:1:37: 'gard' says not what to do out of bounds (did you mean 'guard'?); use clamp, guard or non_faulting" },
        { "by: compute_with(bx, y, .align = strat)", "plan:1:34: there is no alignment 'strat' (did you mean 'start'?); use auto, start, end or no_align" },
        { "by: compute_with(bx, y, .tail = guard)", "plan:1:26: compute_with has no option .tail; it takes .align" },
        { "by: prefetch(in, y, y, 1, .tail = guard)", "plan:1:28: prefetch has no option .tail; it takes .bounds" },
        { "by: prefetch(im, y, y, 1)", "plan:1:14: there is no Func 'im' (did you mean 'in'?); define it before the plan" },
        { "by: reorder()", "plan:1:13: expected the name of a loop, found ')'; see docs/language.md" },
        { "by: reorder(a, b, c, d, e, f, g, h, i)", "plan:1:37: expected at most 8 loops, found 'i'; see docs/language.md" },
        { "by: parallel(y)\nbx: compute_root()", "plan:2:1: expected ';', found 'bx'; see docs/language.md" },
        { "by parallel(y)", "plan:1:4: expected ':', found 'parallel'; see docs/language.md" },
        { "by.u0: rfactor(k, k, u)", "plan:1:16: func: 'k' is already the name of an RDom; use another name" },
        { "by.u0: rfactor(parts, k, u, .tail = guard)", "plan:1:30: rfactor has no option .tail; it takes .reassociate" },
        { "by: bound(x, 0, 99999999999999999999)", "plan:1:17: '99999999999999999999' does not fit 64 bits; write a float or a smaller number" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        mlc_ctx *ctx = world();
        mlc_plan *p = mlc_plan_new(ctx);
        ck_assert(mlc_plan_parse(p, "bx: compute_root()", NULL));
        ck_assert_msg(!mlc_plan_parse(p, row[i].text, NULL), "%s is accepted", row[i].text);
        char message[1024];
        snprintf(message, sizeof message, "%s", mlc_error(ctx));
        message[strcspn(message, "\n")] = 0;
        ck_assert_str_eq(message, row[i].message);
        ck_assert_int_eq(mlc_plan_size(p), 1); /* all lines or none */
        mlc_ctx_free(ctx);
    }
}
END_TEST

START_TEST(value_errors) {
    mlc_ctx *ctx = world(), *other = world();
    MLC_VARS(ctx, x);
    mlc_func by = mlc_find_func(ctx, "by"), none = { NULL };
    mlc_plan *p = mlc_plan_new(ctx);
    mlc_var v[9] = { x, x, x, x, x, x, x, x, x }, empty = { ctx, NULL };
    const struct {
        mlc_stage s;
        mlc_directive d;
        const char *message;
    } row[] = {
        { { NULL, 0 }, mlc_place_of(MLC_COMPUTE_ROOT, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule: the Func or the stage has no value; make it with mlc_func_new or mlc_update" },
        { { by.f, 0 }, { .kind = (mlc_directive_kind)99 }, "schedule: 99 is no kind of directive; use the macros of mlc/schedule.h" },
        { { by.f, 0 }, mlc_at_of(MLC_COMPUTE_AT, mlc_any_stage(none), x, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: compute_at(?, x): the Func or the stage has no value; make it with mlc_func_new or mlc_update" },
        { { by.f, 0 }, mlc_at_of(MLC_COMPUTE_AT, mlc_any_stage(mlc_find_func(other, "by")), x, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: compute_at(by, x): operands come from two contexts; make them all with one" },
        { { by.f, 0 }, mlc_order_of(MLC_REORDER, 9, v, (mlc_loc){ "a.c", 3 }), "a.c:3: schedule by: reorder(x, x, x, x, x, x, x, x, x): 9 loops are reordered; name 1 to 8" },
        { { by.f, 0 }, mlc_fuse_of(x, empty, x, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: fuse(x, ?, x): loop 2 has no value; make its Var with mlc_var_new" },
        { { by.f, 0 }, mlc_copy_of((mlc_copy)9, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: copy_by(?): 9 is no way of copying; give one of MLC_COPY_LDST, CP_ASYNC" },
        { { by.f, 0 }, mlc_tensorize_of((mlc_tensor)99, 1, &x, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: tensorize(?, x): 99 is no instruction; give one of the MLC_MMA_ of mlc/schedule.h" },
        { { by.f, 0 }, mlc_memory_of((mlc_memory)9, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: store_in(?): 9 is no memory; give one of MLC_MEMORY_HEAP, STACK, REGISTER, SHARED, FRAGMENT" },
        { { by.f, 0 }, mlc_fold_of((struct mlc_fold_args){ { "a.c", 3 }, x, 8, (mlc_way)3 }),
          "a.c:3: schedule by: fold_storage(x, 8, .way = ?): 3 is no way; give one of MLC_WAY_FORWARD, BOTH" },
        { { by.f, 1 }, { .kind = MLC_RFACTOR, .made = mlc_find_func(ctx, "bx"), .n = 3, .v = { x, x, x }, .loc = { "a.c", 3 } },
          "a.c:3: schedule by.u0: rfactor(bx, x, x, x): 3 loops and Vars are given; name 1 to 4 pairs of a loop and the Var that it becomes" },
        { { by.f, 1 }, mlc_rfactor_of((struct mlc_rfactor_args){ { "a.c", 3 }, mlc_find_func(ctx, "bx"), .loop0 = x }),
          "a.c:3: schedule by.u0: rfactor(bx, x, ?): loop 2 has no value; make its Var with mlc_var_new" },
        { { by.f, 0 }, { .kind = MLC_GPU_TILE, .n = 4, .v = { x, x, x, x }, .k = { 8 }, .loc = { "a.c", 3 } },
          "a.c:3: schedule by: gpu_tile(x, x, x, x, 8): 4 loops are given; name 1 to 3 to tile, then as many for the outer loops and for the inner ones" },
        { { by.f, 1 }, mlc_split_of((struct mlc_split_args){ { "a.c", 3 }, x, x, x, 8, (mlc_tail)97 }),
          "a.c:3: schedule by.u0: split(x, x, x, 8): 97 is no tail; give one of MLC_TAIL_AUTO, MLC_TAIL_GUARD .. of mlc/schedule.h" },
        { { by.f, 0 }, mlc_size_of(MLC_PARTITION, x, 5, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: partition(x, ?): 5 is no policy; give one of MLC_PARTITION_AUTO, NEVER, ALWAYS" },
        { { by.f, 0 }, mlc_at_level(MLC_STORE_AT, empty, (mlc_loc){ "a.c", 3 }),
          "a.c:3: schedule by: store_at(?): loop 1 has no value; make its Var with mlc_var_new" },
        { { by.f, 0 }, mlc_level_of((struct mlc_level_args){ { "a.c", 3 }, empty, x }),
          "a.c:3: schedule by: level(?, x): loop 1 has no value; make its Var with mlc_var_new" },
        { { by.f, 0 }, mlc_change_type_of((struct mlc_change_args){ { "a.c", 3 }, MLC_INDEX, false }),
          "a.c:3: schedule by: change_type(index): 14 is no type of numbers; give one of MLC_I8 to MLC_F64" },
        { { by.f, 0 }, mlc_prefetch_of((struct mlc_prefetch_args){ { "a.c", 3 }, by, x, x, 1, (mlc_fetch)9 }),
          "a.c:3: schedule by: prefetch(by, x, x, 1, .bounds = ?): 9 is no way to fetch out of bounds; give one of MLC_FETCH_CLAMP, GUARD, NON_FAULTING" },
        { { by.f, 0 }, mlc_with_of((struct mlc_with_args){ { "a.c", 3 }, { by.f, 1 }, x, (mlc_loop_align)4 }),
          "a.c:3: schedule by: compute_with(by.u0, x, .align = ?): 4 is no alignment; give one of MLC_LOOP_ALIGN_AUTO, START, END, NO_ALIGN" },
        { { by.f, 0 }, mlc_with_of((struct mlc_with_args){ { "a.c", 3 }, { NULL, 0 }, x, MLC_LOOP_ALIGN_AUTO }),
          "a.c:3: schedule by: compute_with(?.pure, x): the Func or the stage has no value; make it with mlc_func_new or mlc_update" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        mlc_error_clear(ctx);
        ck_assert(!mlc_plan_append(p, row[i].s, 1, &row[i].d));
        ck_assert_str_eq(mlc_error(ctx), row[i].message);
        ck_assert_int_eq(mlc_plan_size(p), 0);
    }
    ck_assert(!mlc_plan_new(NULL) && !mlc_plan_default(NULL) && !mlc_plan_parse(NULL, "", NULL) && !mlc_plan_print(NULL));
    mlc_ctx_free(other);
    mlc_ctx_free(ctx);
}
END_TEST

Suite *plan_text_suite(void);
Suite *plan_text_suite(void) {
    Suite *s = suite_create("plan_text");
    TCase *t = tcase_create("plans");
    tcase_add_test(t, rows);
    tcase_add_test(t, examples);
    tcase_add_test(t, page);
    tcase_add_test(t, macros);
    tcase_add_test(t, gpu_macros);
    tcase_add_test(t, text_errors);
    tcase_add_test(t, value_errors);
    suite_add_tcase(s, t);
    return s;
}
