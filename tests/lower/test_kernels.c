/* test_kernels.c - loops of blocks and threads as kernels: their text, and their values in the loop interpreter, which
 * runs threads in any order between barriers and keeps the memory of the device apart. */
#include "text_kit.h"

Suite *kernels_suite(void);

enum { SEEDS = 12 };

/* The text of the loops behind the pass `kernels`, from `from` on. */
static void is_text(const char *from, const char *want) {
    ck_assert_str_eq(text_lower(NULL, "kernels", 0), "");
    const char *at = strstr(T.loops, from);
    ck_assert_msg(at && !strncmp(at, want, strlen(want)), "expected\n%s\nin\n%s", want, at ? at : T.loops);
}

/* Sizes at which the last blocks and threads are partial, under several orders of blocks and threads. */
static void check(int rank) {
    static const int64_t sizes[][4] = { { 1, 1, 0, 0 }, { 0, 3, 2, 1 }, { 17, 5, -3, 5 }, { 16, 8, 0, -2 }, { 37, 23, 5, -7 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) text_check(sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
    const int64_t size[2] = { 35, 19 }, min[2] = { -11, 6 };
    Func *out = T.out.f;
    ck_assert_int_eq(out->rank, rank);
    text_bind(size, min);
    mlc_buffer *want = text_buffer(out->type[0], rank, size, min, 0), *have = text_buffer(out->type[0], rank, size, min, 0);
    ck_assert_msg(mlc_interpret(T.out, want), "%s", mlc_error(T.ctx));
    for (uint64_t seed = 100; seed < 100 + SEEDS; seed++) {
        memset(have->data, 0xee, (size_t)mlc_buffer_count(have) * mlc_type_size(have->type));
        ck_assert_msg(!*text_lower(have, seed % 2 ? "kernels" : NULL, seed), "%s\n%s", T.message, T.loops);
        ck_assert_msg(!memcmp(want->data, have->data, (size_t)mlc_buffer_count(want) * mlc_type_size(want->type)), "seed %d differs\n%s",
                      (int)seed, T.loops);
    }
    mlc_buffer_free(want);
    mlc_buffer_free(have);
    text_unbind();
}

#define HEAD "mlc 1\ninput in: f32[2];\n"
#define BLUR \
    HEAD "bx(x, y) = in(x, y) + in(x + 1, y) + in(x + 2, y);\n" \
         "by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) * (1 / 9.0);\noutput by;\n"

START_TEST(map) {
    text_open("mlc 1\ninput in: f32[1];\nf(x) = in(x) * 2 + 1;\noutput f;\n"
              "plan p { f: split(x, xo, xi, 32), gpu_blocks(xo), gpu_threads(xi); }");
    is_text("    move", "    move f to device for writing all\n"
                        "    move in to device\n"
                        "    kernel f in blocks [(f.extent.0 + 31) / 32] of threads [32]  // t.mlc:5 gpu_blocks(xo)\n"
                        "      if likely thread.x + block.x * 32 < f.extent.0\n"
                        "        f(f.min.0 + thread.x + block.x * 32) = fma(in(f.min.0 + thread.x + block.x * 32), 2.0, 1.0)\n");
    check(1);
    ck_assert_int_eq(T.stats.kernels, 1);
    ck_assert_int_eq(T.stats.to_device, 1); /* f is not read */
    ck_assert_int_eq(T.stats.to_host, 1);   /* at the end */
}
END_TEST

/* The tile of bx has rows that by's threads have none for. */
START_TEST(shared_producer) {
    text_open(BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_at(by, xo), gpu_threads(x, y); }");
    is_text("    kernel", "    kernel by in blocks [(by.extent.0 + 15) / 16, (by.extent.1 + 7) / 8] of threads [16, 10]"
                          "  // t.mlc:6 gpu_tile(x, y, xo, yo, xi, yi, 16, 8)\n"
                          "      alloc bx[by.min.0 + block.x * 16 +: index(16)][by.min.1 + block.y * 8 +: index(10)] f32 shared at by.xo, 640 bytes"
                          "  // t.mlc:6 compute_at(by, xo)\n"
                          "      produce bx\n"
                          "        if thread.y + block.y * 8 <= min(by.extent.1 - 1, block.y * 8 + 7) + 2\n");
    ck_assert_ptr_nonnull(strstr(T.loops, "      barrier\n      if thread.y < 8\n"));
    ck_assert_int_eq(text_count("barrier"), 1);
    check(2);
    ck_assert_int_eq(T.allocs, 3 * 3); /* once a block */
}
END_TEST

/* Without threads of its own it is computed by one. */
START_TEST(one_thread) {
    text_open(BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_at(by, xo); }");
    is_text("      if thread.x < 1", "      if thread.x < 1 && thread.y < 1\n        produce bx\n          for bx.y in [");
    check(2);
}
END_TEST

/* In the threads, memory is their own. */
START_TEST(own_producer) {
    text_open(BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_at(by, xi), store_in(register), unroll(y); }");
    is_text("          alloc", "          alloc bx[by.min.0 + thread.x + block.x * 16 +: index(1)][by.min.1 + thread.y + block.y * 8 +: index(3)] f32 register");
    ck_assert_int_eq(text_count("barrier"), 0);
    check(2);
    text_open(BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_at(by, yi); }"); /* between the loops of threads: each makes it all */
    is_text("        alloc", "        alloc bx[by.min.0 + block.x * 16 +: index(16)][by.min.1 + thread.y + block.y * 8 +: index(3)] f32 stack");
    check(2);
    text_open(BLUR "plan p { by: gpu_single_thread(); bx: compute_at(by, x); }");
    check(2);
}
END_TEST

/* In a loop that all threads run, the memory is read yet by the iteration before. */
#define SUM \
    HEAD "a(x, y) = in(x, y) * 3; b(x, y) = in(x, y) + 1;\nrdom r(0, 12);\nc(x, y) = 0.0;\nc(x, y) += a(r, y) * b(x, r);\noutput c;\n"
START_TEST(back_edge) {
    text_open(SUM "plan p { c: gpu_tile(x, y, xo, yo, xi, yi, 8, 4);\n"
                  "c.u0: split(r, ro, ri, 4), tile(x, y, xo, yo, xi, yi, 8, 4), reorder(xi, yi, ri, ro, xo, yo), gpu_blocks(xo, yo), gpu_threads(xi, yi);\n"
                  "a: compute_at(c.u0, ro), gpu_threads(x, y);\nb: compute_at(c.u0, ro), gpu_threads(x, y); }");
    is_text("    kernel c_u0", "    kernel c_u0 in blocks [(c.extent.0 + 7) / 8, (c.extent.1 + 3) / 4] of threads [8, 4]");
    ck_assert_ptr_nonnull(strstr(T.loops, "        produce a\n          barrier\n")); /* one before both, */
    ck_assert_int_eq(text_count("barrier"), 2);                                /* one before they are read */
    check(2);
    ck_assert_int_eq(T.stats.kernels, 2);
}
END_TEST

/* Sums that outlive the loops of threads live in the registers of the threads: barriers are there for the tiles alone. */
START_TEST(kept_in_registers) {
    text_open(HEAD "a(x, y) = in(x, y) * 3; b(x, y) = in(x, y) + 1;\nrdom r(0, 12);\nc(x, y) = f32(0.0);\nc(x, y) += a(r, y) * b(x, r);\nf(x, y) = c(x, y);\noutput f;\n"
                   "plan p { f: tile(x, y, xo, yo, xi, yi, 8, 8), split(xi, tx, ux, 2), split(yi, uy, ty, 4), reorder(ux, uy, tx, ty, xo, yo),"
                   "           gpu_blocks(xo, yo), gpu_threads(tx, ty), unroll(ux), unroll(uy);\n"
                   "c: compute_at(f, xo), store_in(register), split(x, tx, ux, 2), split(y, uy, ty, 4), reorder(ux, uy, tx, ty), gpu_threads(tx, ty),"
                   "   unroll(ux), unroll(uy);\n"
                   "c.u0: split(r, ro, ri, 4), split(x, tx, ux, 2), split(y, uy, ty, 4), reorder(ux, uy, ri, tx, ty, ro), gpu_threads(tx, ty),"
                   "   unroll(ux), unroll(uy);\n"
                   "a: compute_at(c.u0, ro), gpu_threads(x, y);\nb: compute_at(c.u0, ro), gpu_threads(x, y); }");
    is_text("      alloc c", "      alloc c[index(0) +: index(2)][index(0) +: index(2)] f32 register");
    ck_assert_ptr_nonnull(strstr(T.loops, "c(index(1), index(1)) = fma("));
    ck_assert_int_eq(text_count("barrier"), 2); /* before tiles are stored, before they are read */
    check(2);
}
END_TEST

/* What each thread alone touches is waited for by nobody; what all read of one element is, in front of the loop that reads. */
START_TEST(own_elements) {
    text_open(HEAD "rdom r(0, 3);\nf(x, y) = 0.0;\nf(x, y) += in(x + r, y);\ng(x, y) = f(x, y) * 2;\noutput g;\n"
                   "plan p { g: gpu_tile(x, y, xo, yo, xi, yi, 8, 4); f: compute_at(g, xo), gpu_threads(x, y); f.u0: reorder(x, y, r), gpu_threads(x, y); }");
    ck_assert_str_eq(text_lower(NULL, "kernels", 0), "");
    ck_assert_int_eq(text_count("barrier"), 0);
    check(2);
    text_open(HEAD "k() = in(0, 0) + 1;\ng(x, y) = in(x, y) * k();\noutput g;\n"
                   "plan p { g: gpu_tile(x, y, xo, yo, xi, yi, 8, 4); k: compute_at(g, xo); }");
    is_text("      if thread.x < 1", "      if thread.x < 1 && thread.y < 1\n        produce k\n          k() = in(0, 0) + 1.0\n      barrier\n");
    check(2);
}
END_TEST

START_TEST(two_kernels) {
    text_open(BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 8); }");
    is_text("  alloc", "  alloc bx[by.min.0 +: by.extent.0][by.min.1 +: by.extent.1 + 2] f32 heap at root  // t.mlc:6 compute_root()\n"
                       "  produce bx\n"
                       "    move bx to device for writing all\n"
                       "    move in to device\n"
                       "    kernel bx in");
    ck_assert_ptr_nonnull(strstr(T.loops, "  produce by\n    move by to device for writing all\n    move bx to device\n    kernel by in"));
    check(2);
    ck_assert_int_eq(T.stats.to_device, 1); /* in */
    ck_assert_int_eq(T.stats.to_host, 1);   /* by: bx never comes to the host */
}
END_TEST

#define THREE \
    HEAD "f(x, y) = in(x, y) * 2; g(x, y) = f(x, y) + f(x, y + 1); h(x, y) = g(x, y) * g(x + 1, y) - f(x, y);\noutput h;\n"
START_TEST(host_between) {
    text_open(THREE "plan p { h: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); f: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 16, 8);\n"
                    "g: compute_root(), parallel(y); }");
    is_text("  move g to host", "  move g to host for writing\n  move f to host\n  produce g\n    for g.y in [h.min.1 +: h.extent.1) parallel");
    ck_assert_ptr_nonnull(strstr(T.loops, "    move h to device for writing all\n    move g to device\n    move f to device\n    kernel h in"));
    check(2);
    ck_assert_int_eq(T.stats.to_device, 2); /* in, g */
    ck_assert_int_eq(T.stats.to_host, 2);   /* f, h */
}
END_TEST

/* A loop of the host runs a kernel an iteration: none stores all of the memory, which is taken outside. */
START_TEST(launched_in_a_loop) {
    text_open(BLUR "plan p { by: split(y, yo, yi, 4); bx: store_root(), compute_at(by, yo), split(x, xo, xi, 8), gpu_blocks(xo), gpu_threads(xi); }");
    is_text("          move bx", "          move bx to device for writing\n          move in to device\n          kernel bx in blocks [");
    check(2);
    text_open(BLUR "plan p { by: gpu_blocks(x); bx: compute_root(); }");
    check(2);
    text_open(BLUR "plan p { by: split(y, yo, yi, 4), reorder(yi, x, yo), gpu_blocks(x), gpu_threads(yi); bx: compute_at(by, yo); }");
    check(2);
}
END_TEST

/* Stages of one Func in a kernel: each a part, with a barrier between; in a loop, one more at its start. */
START_TEST(stages) {
    text_open(HEAD "rdom r(0, 4);\nf(x, y) = in(x, y);\nf(x, y) += in(x + r, y);\nf(x, y) = f(x, y) * 2;\n"
                   "g(x, y) = f(x, y) + f(x + 1, y);\noutput g;\n"
                   "plan p { g: gpu_tile(x, y, xo, yo, xi, yi, 8, 4); f: compute_at(g, xo), gpu_threads(x, y); f.u0: gpu_threads(x, y); }");
    is_text("    kernel", "    kernel g in blocks [(g.extent.0 + 7) / 8, (g.extent.1 + 3) / 4] of threads [9, 4]");
    ck_assert_int_eq(text_count("barrier\n"), 3);
    ck_assert_ptr_nonnull(strstr(T.loops, "      barrier\n      if thread.x < 1 && thread.y < 1\n        produce f.u1\n"));
    check(2);
    text_open(HEAD "rdom r(0, 4);\nf(x, y) = in(x, y);\nf(x, y) += in(x + r, y);\ng(x, y) = f(x, y) + f(x + 1, y);\noutput g;\n"
                   "plan p { f: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 4); f.u0: gpu_tile(x, y, xo, yo, xi, yi, 4, 4); }");
    is_text("    move f to device for writing\n", "    move f to device for writing\n    move in to device\n    kernel f_u0 in");
    check(2);
}
END_TEST

/* Vectors, unrolled loops and tails in threads; blocks and threads in three dimensions. */
START_TEST(shapes) {
    static const char *const plan[] = {
        "by: split(x, xo, xi, 32), split(xi, xt, xv, 4), gpu_blocks(xo, y), gpu_threads(xt), vectorize(xv);",
        "by: tile(x, y, xo, yo, xi, yi, 8, 8, .tail = guard), gpu_blocks(xo, yo), gpu_threads(yi); bx: compute_at(by, xi), unroll(y);",
        "by: gpu_tile(x, y, xo, yo, xi, yi, 8, 8, .tail = predicate); bx: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 8, .tail = round);",
        "by: tile(x, y, xo, yo, xi, yi, 8, 8), tile(xi, yi, xt, yt, xs, ys, 2, 4), gpu_blocks(xo, yo), gpu_threads(xs, xt, yt), unroll(ys);",
        "by: split(y, yo, yi, 8), split(yo, yp, yq, 2), split(x, xo, xi, 4), reorder(xi, yi, xo, yq, yp), gpu_blocks(xo, yq, yp), gpu_threads(xi), unroll(yi); bx: compute_at(by, xo), vectorize(x, 4);",
        "by: gpu_tile(x, y, xo, yo, xi, yi, 8, 8); bx: in(by, bb); bb: compute_at(by, xo), gpu_threads(x, y), align_storage(x, 8); bx: compute_at(by, xo), gpu_threads(y);",
        "by: specialize(by.extent.0 == 37) { gpu_tile(x, y, xo, yo, xi, yi, 16, 8) }; by: gpu_blocks(y);",
    };
    char text[1024];
    snprintf(text, sizeof text, BLUR "plan p { %s }", plan[_i]);
    text_open(text);
    check(2);
}
END_TEST

/* A shape that no part has alone, memories that are too large together, what runs beside a task. */
START_TEST(refused) {
    static const char *const plan[][2] = {
        { "by: tile(x, y, xo, yo, xi, yi, 120, 6), gpu_blocks(xo, yo), gpu_threads(xi); bx: compute_at(by, xo), reorder(y, x), gpu_threads(y, x);",
          "t.mlc:5: schedule by: gpu_threads(xi): a block of by has 14400 threads, more than the 1024 that a GPU runs; take smaller tiles, or leave loops serial" },
        { "by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); f: compute_at(by, xo), align_storage(x, 4096); bx: compute_at(by, xo), align_storage(x, 4096);",
          "t.mlc:5: schedule by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8): a block of by holds 294912 bytes of shared memory, more than the 232448 that a GPU has; take smaller tiles, or compute less there" },
        { "by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); f: compute_root(), async(); bx: compute_root();",
          "t.mlc:5: schedule by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8): by runs beside a task for f, which does not go with a GPU yet; drop that, or compute it on the CPU, with no loop of a GPU in or around it" },
    };
    char text[1024];
    snprintf(text, sizeof text, HEAD "f(x, y) = in(x, y) * 2; bx(x, y) = f(x, y) + f(x + 1, y); by(x, y) = bx(x, y) + bx(x, y + 1);\n"
             "output by;\nplan p { %s }", plan[_i][0]);
    text_open(text);
    ck_assert_str_eq(text_lower(NULL, NULL, 0), plan[_i][1]);
}
END_TEST

/* ---- planted faults: what the pass made, one thing of it taken away ---- */

typedef enum { NO_BARRIER, NO_MOVE, NO_CONDITION, NO_WAIT } Fault1;
typedef struct {
    Fault1 what;
    int at, met;
    bool in_kernel;
} Planted;

static Stmt *plant(StmtMap *m, Stmt *s) {
    Planted *p = m->user;
    bool in_kernel = p->in_kernel;
    bool is = p->what == NO_BARRIER ? s->kind == ST_BARRIER : p->what == NO_MOVE ? s->kind == ST_MOVE
            : p->what == NO_WAIT ? s->kind == ST_COPIES && s->u.copies.pending >= 0 : s->kind == ST_IF && in_kernel;
    p->in_kernel |= s->kind == ST_KERNEL;
    bool here = is && p->met++ == p->at;
    Stmt *now = st_map_kids(m, s);
    p->in_kernel = in_kernel;
    if (!here) return now;
    return p->what == NO_CONDITION ? s->u.cond.yes : NULL;
}

/* Runs the program without the at-th of these; false where there are fewer.  `right`: with the values of the oracle. */
static bool run_without(Fault1 what, int at, uint64_t seed, const mlc_buffer *want, mlc_buffer *have, bool *right) {
    Fault fault = { 0 };
    Arena a;
    Interner ir;
    Barrier barrier;
    Planted planted = { what, at, 0, false };
    arena_init(&a, NULL, &fault);
    *right = false;
    memset(have->data, 0xee, (size_t)mlc_buffer_count(have) * mlc_type_size(have->type));
    if (FAULT_TRY(&fault, barrier)) {
        ir_interner_init(&ir, &a, &T.ctx->ir);
        LowerOptions o = { .name = "test", .stop_after = "kernels", .verify = true };
        Func *out = T.out.f;
        Program *p = low_lower(&a, &ir, sch_resolve(&ir, T.plan, &out, 1), &o);
        StmtMap m = { .arena = &a, .ir = &ir, .stmt = plant, .user = &planted };
        p->body = st_map(&m, p->body);
        mlc_buffer **slot = ARENA_ARRAY(&a, mlc_buffer *, p->external.n + 1);
        for (int i = 0; i < p->external.n; i++)
            slot[p->external.at[i]->slot] = p->external.at[i]->is_input ? p->external.at[i]->func->bound : have;
        if (planted.met > at) low_interpret(&a, p, slot, NULL, seed);
        *right = !memcmp(want->data, have->data, (size_t)mlc_buffer_count(want) * mlc_type_size(want->type));
        FAULT_END(&fault, barrier);
    }
    snprintf(T.message, sizeof T.message, "%s", fault.info.message);
    arena_free(&a);
    return planted.met > at;
}

/* How many there are, and how many of them may be missed: no order of blocks and threads shows it. */
static void count_missed(Fault1 what, int *all, int *missed) {
    const int64_t size[2] = { 35, 19 }, min[2] = { -11, 6 };
    Func *out = T.out.f;
    text_bind(size, min);
    mlc_buffer *want = text_buffer(out->type[0], 2, size, min, 0), *have = text_buffer(out->type[0], 2, size, min, 0);
    ck_assert_msg(mlc_interpret(T.out, want), "%s", mlc_error(T.ctx));
    *all = *missed = 0;
    for (bool more = true; more; ) {
        bool right = true;
        for (uint64_t seed = 0; right && more && seed < SEEDS; seed++) more = run_without(what, *all, seed, want, have, &right);
        *all += more;
        *missed += more && right;
    }
    mlc_buffer_free(want);
    mlc_buffer_free(have);
    text_unbind();
}

#define MATMUL \
    SUM "plan p { c: gpu_tile(x, y, xo, yo, xi, yi, 8, 4);\n" \
        "c.u0: split(r, ro, ri, 4), tile(x, y, xo, yo, xi, yi, 8, 4), reorder(xi, yi, ri, ro, xo, yo), gpu_blocks(xo, yo), gpu_threads(xi, yi);\n" \
        "a: compute_at(c.u0, ro), gpu_threads(x, y);\nb: compute_at(c.u0, ro), gpu_threads(x, y); }"

START_TEST(barriers_needed) {
    static const char *const text[] = {
        BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_at(by, xo), gpu_threads(x, y); }",
        MATMUL,
        HEAD "f(x, y) = in(x, y);\nf(x, y) = f(x, y) + in(x + 1, y);\ng(x, y) = f(x, y) + f(x + 1, y);\noutput g;\n"
             "plan p { g: gpu_tile(x, y, xo, yo, xi, yi, 8, 4); f: compute_at(g, xo), gpu_threads(y); f.u0: gpu_threads(x, y); }",
    };
    static const int barriers[] = { 1, 2, 2 };
    int all, missed;
    text_open(text[_i]);
    count_missed(NO_BARRIER, &all, &missed);
    ck_assert_int_eq(all, barriers[_i]);
    ck_assert_int_eq(missed, 0);
}
END_TEST

/* What the device copies on its own is there once it has been waited for, and for the other threads behind a barrier. */
#define COPIED(more) \
    HEAD "a(x, y) = in(x, y); b(x, y) = in(x, y);\nrdom r(0, 12);\nc(x, y) = 0.0;\nc(x, y) += a(r, y) * b(x, r);\noutput c;\n" \
         "plan p { c: gpu_tile(x, y, xo, yo, xi, yi, 8, 4);\n" \
         "c.u0: split(r, ro, ri, 4), tile(x, y, xo, yo, xi, yi, 8, 4), reorder(xi, yi, ri, ro, xo, yo), gpu_blocks(xo, yo), gpu_threads(xi, yi);\n" \
         "a: compute_at(c.u0, ro), gpu_threads(x, y), copy_by(cp_async)" more ";\n" \
         "b: compute_at(c.u0, ro), gpu_threads(x, y), copy_by(cp_async)" more "; }"

START_TEST(waits_needed) {
    static const char *const text[] = { COPIED(""), COPIED(", store_at(c.u0, xo), ring_buffer(3), async()") };
    static const int waits[] = { 2, 1 }, needless[] = { 1, 0 }, barriers[] = { 2, 1 };
    int all, missed;
    text_open(text[_i]);
    check(2);
    count_missed(NO_WAIT, &all, &missed);
    ck_assert_int_eq(all, waits[_i]);
    ck_assert_int_eq(missed, needless[_i]); /* a wait for the second copy is one for the first */
    count_missed(NO_BARRIER, &all, &missed);
    ck_assert_int_eq(all, barriers[_i]);
    ck_assert_int_eq(missed, 0);
}
END_TEST

/* Also where both would store the same value, and the outputs be right. */
START_TEST(races) {
    const int64_t size[2] = { 35, 19 }, min[2] = { -11, 6 };
    bool right;
    text_open(BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_at(by, xo); }");
    text_bind(size, min);
    mlc_buffer *want = text_buffer(MLC_F32, 2, size, min, 0), *have = text_buffer(MLC_F32, 2, size, min, 0);
    ck_assert(run_without(NO_CONDITION, 0, 3, want, have, &right)); /* thread.x < 1 && thread.y < 1 */
    ck_assert_str_eq(T.message, "threads of a kernel race for an element of bx; a barrier between them is missing, or a condition on threads");
    mlc_buffer_free(want);
    mlc_buffer_free(have);
    text_unbind();
}
END_TEST

/* Nothing reports an error from inside of a kernel. */
START_TEST(checked) {
    Fault fault = { 0 };
    Arena a;
    Interner ir;
    Barrier barrier;
    text_open(HEAD "by(x, y) = in(x % 7 + y / 3 * 2, min(x * y, y));\noutput by;\nplan p { by: gpu_blocks(y); }");
    arena_init(&a, NULL, &fault);
    if (FAULT_TRY(&fault, barrier)) {
        ir_interner_init(&ir, &a, &T.ctx->ir);
        LowerOptions o = { .name = "test", .check = true };
        Func *out = T.out.f;
        low_lower(&a, &ir, sch_resolve(&ir, T.plan, &out, 1), &o);
        FAULT_END(&fault, barrier);
    }
    ck_assert_str_eq(fault.info.message, "t.mlc:5: schedule by: gpu_blocks(y): by is run with .check, which does not go with a GPU yet; drop that, or compute it on the CPU, with no loop of a GPU in or around it");
    arena_free(&a);
}
END_TEST

/* Those that are needed nowhere bring what is there already. */
START_TEST(moves_needed) {
    static const char *const text[] = {
        BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 8, 8); }",
        THREE "plan p { h: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); f: compute_root(), gpu_tile(x, y, xo, yo, xi, yi, 16, 8); g: compute_root(); }",
        BLUR "plan p { by: split(y, yo, yi, 4); bx: store_root(), compute_at(by, yo), split(x, xo, xi, 8), gpu_blocks(xo), gpu_threads(xi); }",
    };
    static const int moves[] = { 4, 7, 3 }, needless[] = { 1, 2, 0 };
    int all, missed;
    text_open(text[_i]);
    count_missed(NO_MOVE, &all, &missed);
    ck_assert_int_eq(all, moves[_i]);
    ck_assert_int_eq(missed, needless[_i]);
}
END_TEST

/* Those that may be missed keep threads from points past the end that nobody reads. */
START_TEST(conditions_needed) {
    static const char *const text[] = {
        BLUR "plan p { by: gpu_tile(x, y, xo, yo, xi, yi, 16, 8); bx: compute_at(by, xo), gpu_threads(x, y); }",
        HEAD "f(x, y) = in(x, y);\nf(x, y) = f(x, y) + in(x + 1, y);\ng(x, y) = f(x, y) + f(x + 1, y);\noutput g;\n"
             "plan p { g: gpu_tile(x, y, xo, yo, xi, yi, 8, 4); f: compute_at(g, xo), gpu_threads(y); f.u0: gpu_threads(x, y); }",
    };
    static const int conditions[] = { 5, 7 }, needless[] = { 2, 2 };
    int all, missed;
    text_open(text[_i]);
    count_missed(NO_CONDITION, &all, &missed);
    ck_assert_int_eq(all, conditions[_i]);
    ck_assert_int_eq(missed, needless[_i]);
}
END_TEST

Suite *kernels_suite(void) {
    Suite *s = suite_create("kernels");
    TCase *tc = tcase_create("kernels");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, map);
    tcase_add_test(tc, shared_producer);
    tcase_add_test(tc, one_thread);
    tcase_add_test(tc, own_producer);
    tcase_add_test(tc, back_edge);
    tcase_add_test(tc, own_elements);
    tcase_add_test(tc, kept_in_registers);
    tcase_add_test(tc, two_kernels);
    tcase_add_test(tc, host_between);
    tcase_add_test(tc, launched_in_a_loop);
    tcase_add_test(tc, stages);
    tcase_add_loop_test(tc, shapes, 0, 7);
    tcase_add_loop_test(tc, refused, 0, 3);
    tcase_add_loop_test(tc, barriers_needed, 0, 3);
    tcase_add_loop_test(tc, waits_needed, 0, 2);
    tcase_add_test(tc, races);
    tcase_add_test(tc, checked);
    tcase_add_loop_test(tc, moves_needed, 0, 3);
    tcase_add_loop_test(tc, conditions_needed, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}
