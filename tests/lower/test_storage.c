/* test_storage.c - what a plan says of memory: its layout, size and kind.  Values stay the same; the text of the
 * flattened loops shows what became of the memory. */
#include "kit.h"

Suite *storage_suite(void);

static Func *f, *g;

/* g reads f around each point, in rows and columns. */
static void program(void) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    g = pure("g", 2, ir_add(I, at2(f, plus(x, -1), y), at2(f, plus(x, 1), plus(y, 1))));
}

static void shows(const char *text) {
    ck_assert_msg(strstr(loops, text) != NULL, "no '%s' in\n%s", text, loops);
}

static void all_sizes(void) {
    check_same(g, 17, 13, -3, 5);
    check_same(g, 1, 1, 0, 0);
    check_same(g, 7, 1, 2, -9);
    check_same(g, 0, 5, 0, 0);
}

#define REORDER_STORAGE2(a, b) D(.kind = MLC_REORDER_STORAGE, .n = 2, .v = { var(a), var(b) })
#define SIZE(kind_, a, n_) D(.kind = kind_, .v = { var(a) }, .k = { n_ })

/* ---- layout ---- */

START_TEST(columns) {
    program();
    line(f, 0, ROOT());
    line(f, 0, REORDER_STORAGE2("y", "x"));
    all_sizes();
    shows("let f.extent1 = g.extent1 + 1\n");
    shows("f(f.y - g.min1 + (f.x - f.min0) * f.extent1) = ");
}
END_TEST

/* Named ones change places among themselves, the last line wins. */
START_TEST(some_of_three) {
    program();
    Func *in = f->def.at[0]->value[0]->kid[0]->u.func, *h = func("h", 3, MLC_I32);
    const Node *z = var_node("z"), *kids[3] = { x, y, z };
    Def *d = add_def(h, NULL, x, y, ir_add(I, at2(in, x, y), ir_cast(I, MLC_I32, z)));
    d->coord[2] = d->lhs[2] = z;
    kids[2] = idx(2);
    g = pure("g2", 2, ir_add(I, ir_access(I, h, MLC_I32, 0, 3, kids), at2(in, x, y)));
    line(h, 0, ROOT());
    line(h, 0, D(.kind = MLC_REORDER_STORAGE, .n = 3, .v = { var("y"), var("x"), var("z") }));
    line(h, 0, REORDER_STORAGE2("z", "x"));
    check_same(g, 17, 13, -3, 5);
    shows("h(h.y - g2.min1 + (h.x - g2.min0) * g2.extent1) = ");
}
END_TEST

/* 19 points of x take 32 places, in a window of 2 rows. */
START_TEST(padded_rows) {
    program();
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    line(f, 0, SIZE(MLC_ALIGN_STORAGE, "x", 16));
    if (_i) line(f, 0, MARK(MLC_VECTORIZE, "x", 8, MLC_TAIL_AUTO));
    all_sizes();
    check_same(g, 17, 13, -3, 5);
    shows("let f.stride1 = (f.extent0 + 15) / 16 * 16\n");
    ck_assert_int_eq(stats.peak, (32 + 19) * 4);
    ck_assert_int_eq(low_stores(&stats, f, 0), 19 * 14);
}
END_TEST

/* A circle of 2 is padded too, and the strides stay constants. */
START_TEST(padded_circle) {
    program();
    line(g, 0, SPLIT("x", "xo", "xi", 4, MLC_TAIL_GUARD));
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE(g, "xo"));
    line(g, 0, D(.kind = MLC_REORDER, .n = 3, .v = { var("xi"), var("y"), var("xo") }));
    line(f, 0, REORDER_STORAGE2("y", "x"));
    line(f, 0, SIZE(MLC_ALIGN_STORAGE, "y", 3));
    all_sizes();
    check_same(g, 17, 13, -3, 5);
    shows("index(6)][index(0) +: index(2) fold 2 align 3] i32 heap");
    shows("f(f.x * 3 + f.y % 2 - f.min0 * 3) = ");
}
END_TEST

/* ---- size and memory ---- */

/* A bound that is not known to do is checked in front of the allocation. */
START_TEST(bounded) {
    program();
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    line(f, 0, SIZE(MLC_BOUND_STORAGE, "x", 19));
    if (_i) line(f, 0, D(.kind = MLC_STORE_IN, .memory = MLC_MEMORY_HEAP));
    all_sizes();
    check_same(g, 17, 13, -3, 5);
    ck_assert_int_eq(stats.peak, 19 * 2 * 4);
    shows(_i ? "[index(0) +: index(2) fold 2] i32 heap at root, 152 bytes" : "[index(0) +: index(2) fold 2] i32 stack at root, 152 bytes");
    ck_assert_str_eq(lower_and_run(g, box(MLC_I32, 2, 18, 3, 0, 0), NULL, 0),
                     "f needs memory in dimension 0 for 20 points, and its bound_storage gives 19; give more");
}
END_TEST

/* A circle of any size that holds the window: 3 of 3, 5 of 3; a smaller bound makes one of 3 where 4 is the choice. */
START_TEST(circles) {
    Func *in = input("in", MLC_I32, 2, 40, 80, -10, -40);
    f = pure("f", 2, ir_add(I, at2(in, x, y), i32(1)));
    g = pure("g", 2, ir_add(I, at2(f, x, plus(y, -1)), at2(f, x, plus(y, 1))));
    line(f, 0, AT(g, "y"));
    line(f, 0, STORE_AT_ROOT());
    line(f, 0, _i < 2 ? SIZE(MLC_FOLD_STORAGE, "y", _i ? 5 : 3) : SIZE(MLC_BOUND_STORAGE, "y", 3));
    all_sizes();
    check_same(g, 17, 13, -3, 5);
    ck_assert_int_eq(low_stores(&stats, f, 0), 17 * 15);
    ck_assert_int_eq(stats.peak, 17 * (_i == 1 ? 5 : 3) * 4);
}
END_TEST

/* Vectors along a circle that the plan asks for; the tail of the last vector stays inside of the window. */
START_TEST(circle_of_vectors) {
    program();
    line(g, 0, SPLIT("x", "xo", "xi", 4, MLC_TAIL_GUARD));
    line(g, 0, MARK(MLC_VECTORIZE, "xi", 0, MLC_TAIL_AUTO));
    line(f, 0, AT(g, "xo"));
    line(f, 0, STORE(g, "y"));
    line(f, 0, SIZE(MLC_FOLD_STORAGE, "x", 6));
    all_sizes();
    check_same(g, 17, 13, -3, 5);
    ck_assert_int_eq(stats.peak, 6 * 2 * 4);
}
END_TEST

/* Why it is not: the alloc line says so. */
START_TEST(notes) {
    program();
    line(g, 0, MARK(MLC_VECTORIZE, "x", 4, MLC_TAIL_GUARD));
    line(f, 0, AT(g, "x"));
    line(f, 0, STORE(g, "y"));
    check_same(g, 17, 13, -3, 5);
    shows("i32 heap at g.y, x not folded: vectors run along it, of no constant size  // t.c:22 store_at(g, y)\n");
}
END_TEST

/* ---- what a plan may not say ---- */

static const char *refused(int i) {
    switch (i) {
    case 0:
        line(g, 0, REORDER_STORAGE2("y", "x"));
        return "t.c:20: schedule g: reorder_storage(y, x): g is an output, whose memory is the caller's; give it a buffer of that "
               "layout, or drop the directive";
    case 1:
        line(f, 0, SIZE(MLC_ALIGN_STORAGE, "x", 16));
        return "t.c:20: schedule f: align_storage(x, 16): f is inlined and has no memory; give it a compute_root or compute_at";
    case 2:
        line(f, 0, ROOT());
        line(f, 0, REORDER_STORAGE2("x", "x"));
        return "t.c:21: schedule f: reorder_storage(x, x): the dimension 'x' is named twice; name each dimension once";
    case 3:
        line(f, 0, ROOT());
        line(f, 0, REORDER_STORAGE2("x", "z"));
        return "t.c:21: schedule f: reorder_storage(x, z): f has no dimension 'z'; name an argument of its pure definition";
    case 4:
        line(f, 0, ROOT());
        line(f, 0, SIZE(MLC_ALIGN_STORAGE, "x", 0));
        return "t.c:21: schedule f: align_storage(x, 0): 0 elements are out of range; give 1 to 1048576";
    case 5:
        line(f, 0, ROOT());
        line(f, 0, SIZE(MLC_ALIGN_STORAGE, "x", 1048577));
        return "t.c:21: schedule f: align_storage(x, 1048577): 1048577 elements are out of range; give 1 to 1048576";
    case 6:
        line(f, 0, ROOT());
        line(f, 0, D(.kind = MLC_STORE_IN, .memory = MLC_MEMORY_REGISTER));
        return "t.c:21: schedule f: store_in(register): the extent of f in dimension 1 is not bounded by a constant, as a register "
               "needs; say bound_storage, or store it in the heap";
    case 7:
        line(f, 0, AT(g, "y"));
        line(f, 0, STORE_AT_ROOT());
        line(f, 0, SIZE(MLC_FOLD_STORAGE, "y", 1));
        return "t.c:22: schedule f: fold_storage(y, 1): f needs 2 points at once in dimension 'y', and its circle holds 1; fold by "
               "more";
    case 8:
        line(f, 0, AT(g, "x"));
        line(f, 0, STORE_AT_ROOT());
        line(f, 0, SIZE(MLC_FOLD_STORAGE, "x", 64));
        return "t.c:22: schedule f: fold_storage(x, 64): dimension 'x' of f cannot be folded: what slides along a loop outside needs "
               "it whole; drop the directive";
    case 9:
        line(f, 0, AT(g, "y"));
        line(f, 0, STORE_AT_ROOT());
        line(f, 0, SPLIT("y", "yo", "yi", 8, MLC_TAIL_ROUND));
        line(f, 0, SIZE(MLC_FOLD_STORAGE, "y", 64));
        return "t.c:23: schedule f: fold_storage(y, 64): dimension 'y' of f cannot be folded: a tail rounds its loop up; drop the "
               "directive";
    default: return NULL;
    }
}

enum { REFUSALS = 10 };

START_TEST(refusals) {
    program();
    const char *expected = refused(_i);
    if (!expected) return;
    ck_assert_str_eq(lower_and_run(g, NULL, NULL, 0), expected);
}
END_TEST

START_TEST(all_refusals_run) {
    program();
    ck_assert(refused(REFUSALS) == NULL);
}
END_TEST

Suite *storage_suite(void) {
    Suite *s = suite_create("storage");
    TCase *t = tcase_create("layout");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_test(t, columns);
    tcase_add_test(t, some_of_three);
    tcase_add_loop_test(t, padded_rows, 0, 2);
    tcase_add_test(t, padded_circle);
    tcase_add_loop_test(t, bounded, 0, 2);
    tcase_add_loop_test(t, circles, 0, 3);
    tcase_add_test(t, circle_of_vectors);
    tcase_add_test(t, notes);
    tcase_add_loop_test(t, refusals, 0, REFUSALS);
    tcase_add_test(t, all_refusals_run);
    suite_add_tcase(s, t);
    return s;
}
