/* test_resolve.c - legality: every rule that needs no boxes, its message whole; and what legal plans resolve
 * to. */
#include "../lower/kit.h"

Suite *resolve_suite(void);

/* g(x, y) reads c(x, y) += a(k, y) * b(x, k), float; h(x) is an integer histogram-like scan. */
static Func *a, *b, *c, *g, *h;

static void program(void) {
    a = input("a", MLC_F32, 2, 9, 17, 0, 0);
    b = input("b", MLC_F32, 2, 17, 9, 0, 0);
    RDom *k = rdom("k", 2, 9, 3);
    const Node *kx = ir_var(I, k->var[0]), *ky = ir_var(I, k->var[1]);
    c = pure("c", 2, ir_flt(I, MLC_F32, -0.0));
    Def *d = add_def(c, k, x, y, ir_add(I, at2(c, x, y), ir_mul(I, at2(a, kx, y), at2(b, x, ky))));
    d->op = DEF_ADD;
    d->rhs[0] = ir_mul(I, at2(a, kx, y), at2(b, x, ky));
    h = pure("h", 1, i32(0));
    RDom *r = rdom("r", 2, 5, 7);
    const Node *rx = ir_var(I, r->var[0]), *ry = ir_var(I, r->var[1]);
    d = add_def(h, r, rx, NULL, ir_add(I, at1(h, rx), ir_cast(I, MLC_I32, ry)));
    d->op = DEF_ADD;
    d->rhs[0] = ir_cast(I, MLC_I32, ry);
    const Node *row = ir_cast(I, MLC_F32, at1(h, clamped(y, 0, 4)));
    g = pure("g", 2, ir_add(I, at2(c, x, y), row));
}

#define T MLC_TAIL_AUTO

static const char *illegal(int i) {
    switch (i) {
    case 0:
        line(g, 0, SPLIT("z", "xo", "xi", 8, T));
        return "t.c:20: schedule g: split(z, xo, xi, 8): there is no loop 'z' in g; its loops are, innermost first: x, y";
    case 1:
        line(c, 1, MARK(MLC_VECTORIZE, "k.z", 8, T));
        return "t.c:20: schedule c.u0: vectorize(k.z, 8): there is no loop 'k.z' in c.u0; its loops are, innermost first: "
               "k.x, k.y, x, y";
    case 2:
        line(g, 0, SPLIT("x", "y", "xi", 8, T));
        return "t.c:20: schedule g: split(x, y, xi, 8): the name 'y' is taken by a loop of g; choose another";
    case 3:
        line(g, 0, SPLIT("x", "xo", "xi", 0, T));
        return "t.c:20: schedule g: split(x, xo, xi, 0): the size 0 is out of range; give 1 or more";
    case 4:
        line(g, 0, REORDER2("x", "x"));
        return "t.c:20: schedule g: reorder(x, x): the loop 'x' is named twice; name each loop once";
    case 5:
        line(g, 0, MARK(MLC_PARALLEL, "y", 0, T));
        line(g, 0, SPLIT("y", "yo", "yi", 8, T));
        return "t.c:21: schedule g: split(y, yo, yi, 8): the loop 'y' is already parallel; split, fuse or mark it before";
    case 6:
        line(c, 1, MARK(MLC_PARALLEL, "k.x", 0, T));
        return "t.c:20: schedule c.u0: parallel(k.x): iterations of 'k.x' may write or read the same points of c.u0; "
               "keep it serial, or say atomic() before it";
    case 7:
        line(c, 1, MARK(MLC_VECTORIZE, "k.x", 4, T));
        return "t.c:20: schedule c.u0: vectorize(k.x, 4): iterations of 'k.x' may write or read the same points of c.u0; "
               "keep it serial, or say atomic() before it";
    case 8:
        line(c, 1, REORDER2("k.y", "k.x"));
        return "t.c:20: schedule c.u0: reorder(k.y, k.x): 'k.x' and 'k.y' are reduction variables whose order c.u0 "
               "depends on; keep their order";
    case 9:
        line(c, 1, SPLIT("k.x", "ko", "ki", 4, MLC_TAIL_SHIFT));
        return "t.c:20: schedule c.u0: split(k.x, ko, ki, 4, .tail = shift): this tail would run points of the reduction "
               "variable 'k.x' again; use the guard tail";
    case 10:
        line(c, 1, SPLIT("k.x", "ko", "ki", 4, MLC_TAIL_ROUND));
        return "t.c:20: schedule c.u0: split(k.x, ko, ki, 4, .tail = round): this tail would run points of the reduction "
               "variable 'k.x' past its end; use the guard tail";
    case 11:
        line(c, 1, SPLIT("x", "xo", "xi", 4, MLC_TAIL_SHIFT));
        return "t.c:20: schedule c.u0: split(x, xo, xi, 4, .tail = shift): a shifted tail would apply the update c.u0 "
               "twice to some points; use the guard tail";
    case 12:
        line(g, 0, MARK(MLC_VECTORIZE, "x", 8, T));
        line(g, 0, MARK(MLC_VECTORIZE, "y", 4, T));
        return "t.c:21: schedule g: vectorize(y, 4): the loop 'x$v' of g is already a vector; mark one loop";
    case 13:
        line(g, 0, D(.kind = MLC_COMPUTE_INLINE));
        return "t.c:20: schedule g: compute_inline(): g is an output, which is computed at root into the caller's buffer; "
               "drop the directive";
    case 14:
        line(c, 0, D(.kind = MLC_COMPUTE_INLINE));
        return "t.c:20: schedule c: compute_inline(): c has updates and cannot be inlined; give it a compute_root or "
               "compute_at";
    case 15:
        line(c, 0, STORE_AT_ROOT());
        return "t.c:20: schedule c: store_root(): c has a place to be stored but none to be computed; add compute_at";
    case 16:
        line(c, 0, AT(c, "x"));
        return "t.c:20: schedule c: compute_at(c, x): c cannot be placed in a loop of its own; name one of its consumers";
    case 17:
        line(c, 0, AT(g, "xo"));
        return "t.c:20: schedule c: compute_at(g, xo): there is no loop 'xo' in g; its loops are, innermost first: x, y";
    case 18:
        line(a, 0, ROOT());
        return "t.c:20: schedule a: compute_root(): a is an input and is not computed; schedule a Func that reads it";
    case 19:
        line(g, 1, MARK(MLC_PARALLEL, "y", 0, T));
        return "t.c:20: schedule g.u0: parallel(y): g has no update 0: it has none; name another stage";
    case 20:
        line(g, 0, BOUND("z", 0, 8));
        return "t.c:20: schedule g: bound(z, 0, 8): g has no dimension 'z'; name an argument of its pure definition";
    case 21:
        line(g, 0, FUSE("x", "x", "xy"));
        return "t.c:20: schedule g: fuse(x, x, xy): the loop 'x' is named twice; name each loop once";
    case 22:
        line(g, 0, SPLIT("x", "xo", "xi", 6, MLC_TAIL_SHIFT));
        line(g, 0, MARK(MLC_PARALLEL, "xo", 0, T));
        return "t.c:20: schedule g: split(x, xo, xi, 6, .tail = shift): the last tile of 'x' moves inwards over points that "
               "another iteration of the parallel loop 'xo' computes; use the guard tail";
    case 23:
        line(g, 0, SPLIT("x", "xo", "xi", 6, MLC_TAIL_GUARD));
        line(g, 0, SPLIT("xi", "xio", "xii", 4, MLC_TAIL_ROUND));
        return "t.c:21: schedule g: split(xi, xio, xii, 4, .tail = round): the tail of 'xi' rounds a loop of 6 up past the "
               "factor that made it; use a factor that divides it, or the guard tail";
    case 24:
        line(g, 0, SPLIT("x", "xi", "xi", 6, T));
        return "t.c:20: schedule g: split(x, xi, xi, 6): the name 'xi' is taken by a loop of the same directive; "
               "choose another";
    default: return NULL;
    }
}
enum { N_ILLEGAL = 25 };

START_TEST(illegal_plans) {
    program();
    const char *want = illegal(_i);
    ck_assert_str_eq(lower_and_run(g, NULL, NULL, 0), want);
}
END_TEST

/* A loop of an inlined Func, and one placed in an inlined Func. */
START_TEST(inlined) {
    Func *in = input("in", MLC_I32, 2, 9, 9, 0, 0);
    Func *p = pure("p", 2, at2(in, x, y)), *q = pure("q", 2, at2(p, x, y)), *o = pure("o", 2, at2(q, x, y));
    if (_i == 0) line(p, 0, MARK(MLC_VECTORIZE, "x", 8, T));
    else line(p, 0, AT(q, "x"));
    ck_assert_str_eq(lower_and_run(o, NULL, NULL, 0),
                     _i == 0 ? "t.c:20: schedule p: vectorize(x, 8): p is inlined and has no loops; give it a "
                               "compute_root or compute_at"
                             : "t.c:20: schedule p: compute_at(q, x): q is inlined and has no loops; give it a "
                               "compute_root or compute_at");
}
END_TEST

/* Legal: integer sums in any order, an RVar that stands alone on the left, pure loops around RVars. */
START_TEST(legal_plans) {
    program();
    switch (_i) {
    case 0: line(h, 1, REORDER2("r.y", "r.x")); break;
    case 1: line(h, 1, MARK(MLC_VECTORIZE, "r.x", 4, T)); line(h, 0, ROOT()); break;
    case 2: line(h, 1, MARK(MLC_PARALLEL, "r.x", 0, T)); line(h, 0, ROOT()); break;
    case 3:
        line(c, 0, ROOT());
        line(c, 1, D(.kind = MLC_REORDER, .n = 4, .v = { var("x"), var("y"), var("k.x"), var("k.y") }));
        line(c, 1, MARK(MLC_VECTORIZE, "x", 4, T));
        break;
    case 4: line(c, 1, FUSE("k.x", "k.y", "k")); line(c, 1, SPLIT("k", "ko", "ki", 4, T)); break;
    case 5: line(c, 1, SPLIT("k.x", "ko", "ki", 4, MLC_TAIL_GUARD)); break;
    case 6: line(c, 1, FUSE("x", "y", "xy")); line(c, 1, MARK(MLC_VECTORIZE, "xy", 4, T)); line(c, 0, ROOT()); break;
    }
    check_same(g, 17, 9, 0, 0);
}
END_TEST

Suite *resolve_suite(void) {
    Suite *s = suite_create("resolve");
    TCase *t = tcase_create("plans");
    tcase_add_checked_fixture(t, kit_setup, kit_teardown);
    tcase_add_loop_test(t, illegal_plans, 0, N_ILLEGAL);
    tcase_add_loop_test(t, inlined, 0, 2);
    tcase_add_loop_test(t, legal_plans, 0, 7);
    suite_add_tcase(s, t);
    return s;
}
