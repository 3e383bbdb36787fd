/* test_shared.c - loops that stages share: compute_with.  Values at odd sizes, what the loops look like, and which
 * plans are refused. */
#include "stages.h"
#include "text_kit.h"

#include <mlc.h>

Suite *shared_suite(void);

/* ---- values ---- */

#define BOTH "mlc 1\ninput in: i32[2];\nf(x, y) = in(x, y) + 1;\ng(x, y) = in(x, y) * 3;\n"

static const char *const programs[] = {
    /* one range, two ranges, at each depth, with each alignment */
    BOTH "out(x, y) = f(x, y) + g(x, y);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, y); }\n",
    BOTH "out(x, y) = f(x, y) + g(x, y);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, x); }\n",
    BOTH "out(x, y) = f(x - 1, y) - g(x + 2, y + 3);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, y); }\n",
    BOTH "out(x, y) = f(x - 1, y) - g(x + 2, y + 3);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, x, .align = no_align); }\n",
    BOTH "out(x, y) = f(x - 1, y) - g(x + 2, y + 3) + f(x, y - 7);\noutput out;\n"
         "plan p { f: compute_root(); g: compute_root(), compute_with(f, x, .align = start), compute_with(f, y, .align = end); }\n",
    BOTH "out(x, y) = f(x - 1, y) - g(x + 2, y + 3) + g(x, y - 7);\noutput out;\n"
         "plan p { f: compute_root(); g: compute_root(), compute_with(f, y, .align = start); }\n",
    /* nothing in common at all */
    BOTH "out(x, y) = f(x, 3 * y) - g(x + 20, y - 19);\noutput out;\nplan p { g: compute_root(); f: compute_root(), compute_with(g, x); }\n",
    /* kinds of loops */
    BOTH "out(x, y) = f(x, y) - g(x, y + 2);\noutput out;\n"
         "plan p { f: compute_root(), parallel(y), vectorize(x, 8); g: compute_root(), parallel(y), vectorize(x, 4), compute_with(f, y); }\n",
    BOTH "out(x, y) = f(x, y) - g(x + 3, y + 2);\noutput out;\n"
         "plan p { f: compute_root(), split(x, xo, xi, 8), vectorize(xi); g: compute_root(), split(x, xo, xi, 8), vectorize(xi), compute_with(f, xi); }\n",
    BOTH "out(x, y) = f(x, y) - g(x + 3, y + 2);\noutput out;\n"
         "plan p { f: compute_root(), split(x, xo, xi, 8), vectorize(xi); g: compute_root(), split(x, xo, xi, 4), vectorize(xi), compute_with(f, xi); }\n",
    BOTH "out(x, y) = f(x, y) - g(x + 3, y + 2);\noutput out;\n"
         "plan p { f: compute_root(), tile(x, y, xo, yo, xi, yi, 8, 4), unroll(yi); "
         "g: compute_root(), tile(x, y, xo, yo, xi, yi, 5, 3, .tail = guard), unroll(yi), compute_with(f, yi, .align = end); }\n",
    BOTH "out(x, y) = f(x, y) - g(x + 3, y + 2);\noutput out;\n"
         "plan p { f: compute_root(), split(x, xo, xi, 8, .tail = round); g: compute_root(), split(x, xo, xi, 8, .tail = predicate), compute_with(f, xo); }\n",
    BOTH "out(x, y) = f(x, y) - g(x + 3, y + 2);\noutput out;\n"
         "plan p { f: compute_root(), fuse(x, y, t), parallel(t, 8); g: compute_root(), fuse(x, y, t), parallel(t, 4), compute_with(f, t); }\n",
    /* updates, in the order of stages */
    "mlc 1\ninput in: i32[2];\nrdom r(-2, 5);\nf(x, y) = in(x, y);\nf(x, y) += in(x + r, y);\nf(x, y) += f(x, y) * 3;\n"
    "g(x, y) = in(x, y) + 5;\ng(x, y) += in(x, y + r) * r;\nout(x, y) = f(x, y) + g(x, y + 1);\noutput out;\n"
    "plan p { f: compute_root(); g: compute_root(), compute_with(f, y); g.u0: compute_with(f.u0, x), unroll(r); }\n",
    "mlc 1\ninput in: i32[2];\nrdom r(-2, 5);\nf(x, y) = in(x, y);\nf(x, y) += in(x + r, y);\nf(x, y) += f(x, y) * 3;\n"
    "g(x, y) = in(x, y) + 5;\ng(x, y) += in(x, y + r) * r;\nout(x, y) = f(x, y) + g(x, y + 1);\noutput out;\n"
    "plan p { f: compute_root(); g: compute_root(), compute_with(f.u0, y); g.u0: reorder(x, y, r), compute_with(f.u1, y); f.u1: rename(y, r), rename(x, y); }\n",
    "mlc 1\ninput in: i32[2];\nrdom r(0, 7);\nf(x) = 0;\nf(x) = f(x) * 3 + in(x, r);\ng(x) = 1;\ng(x) = g(x) * 5 - in(r, x);\n"
    "out(x, y) = f(x) + g(y);\noutput out;\nplan p { f: compute_root(); f.u0: reorder(x, r); g: compute_root(); g.u0: reorder(x, r), compute_with(f.u0, x); }\n",
    /* half the size, with two rows of the other one in each iteration */
    "mlc 1\ninput in: i32[2];\nluma(x, y) = in(x, y) * 2;\nchroma(x, y) = in(2 * x, 2 * y) + in(2 * x + 1, 2 * y);\n"
    "out(x, y) = luma(x, y) + chroma(x / 2, y / 2);\noutput out;\n"
    "plan p { luma: compute_root(), split(y, yo, yi, 2), unroll(yi); chroma: compute_root(), rename(y, yo), compute_with(luma, yo, .align = start); }\n",
    /* a chain, and two with one leader, at different depths */
    BOTH "h(x, y) = in(x, y) - 9;\nk(x, y) = in(x, y) ^ 5;\nout(x, y) = f(x, y) + g(x + 1, y + 1) * h(x + 2, y - 3) - k(x - 5, y + 4);\noutput out;\n"
         "plan p { f: compute_root(); g: compute_root(), compute_with(f, y); h: compute_root(), compute_with(g, x); "
         "k: compute_root(), compute_with(h, y, .align = end); }\n",
    BOTH "h(x, y) = in(x, y) - 9;\nout(x, y) = f(x, y) + g(x + 1, y + 1) * h(x + 2, y - 3);\noutput out;\n"
         "plan p { f: compute_root(); g: compute_root(), compute_with(f, x, .align = end); h: compute_root(), compute_with(f, y, .align = start); }\n",
    BOTH "h(x, y) = in(x, y) - 9;\nout(x, y) = f(x, y) + g(x + 1, y + 1) * h(x + 2, y - 3);\noutput out;\n"
         "plan p { f: compute_root(); g: compute_root(), compute_with(f, x, .align = end); h: compute_root(), compute_with(g, y, .align = end); }\n",
    /* inside of a consumer's loops, stored there and outside, sliding */
    BOTH "out(x, y) = f(x, y) + g(x + 1, y + 1) + g(x, y - 1);\noutput out;\n"
         "plan p { out: split(y, yo, yi, 4, .tail = guard); f: compute_at(out, yo); g: compute_at(out, yo), compute_with(f, x); }\n",
    BOTH "out(x, y) = f(x, y) + g(x + 1, y + 1) + g(x, y - 1);\noutput out;\n"
         "plan p { f: compute_at(out, y), store_root(); g: compute_at(out, y), store_root(), compute_with(f, y); }\n",
    BOTH "out(x, y) = f(x, y) + g(x + 1, y + 1) + g(x, y - 1);\noutput out;\n"
         "plan p { out: split(y, yo, yi, 4, .tail = guard); f: compute_at(out, yi), store_at(out, yo); g: compute_at(out, yi), store_root(), "
         "compute_with(f, x, .align = start); }\n",
    BOTH "out(x, y) = f(x, y) + g(x + 1, y + 1) + g(x, y - 1);\noutput out;\n"
         "plan p { f: compute_at(out, y), store_root(), ring_buffer(2); g: compute_at(out, y), store_root(), ring_buffer(3), compute_with(f, x); }\n",
    BOTH "out(x, y) = f(x, y) + g(x + 1, y + 1);\noutput out;\n"
         "plan p { out: split(x, xo, xi, 4), vectorize(xi); f: compute_at(out, xi); g: compute_at(out, xi), compute_with(f, x); }\n",
    /* producers in the shared loop, in the part of either, and slid along it */
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nf(x, y) = p(x, y) + p(x, y + 1);\ng(x, y) = p(x, y) - p(x + 2, y - 1);\n"
    "out(x, y) = f(x, y) + g(x - 3, y + 2);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, y); p: compute_at(f, y); }\n",
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nf(x, y) = p(x, y) + p(x, y + 1);\ng(x, y) = p(x, y) - p(x + 2, y - 1);\n"
    "out(x, y) = f(x, y) + g(x - 3, y + 2);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, y, .align = end); "
    "p: compute_at(g, y), store_root(); }\n",
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nf(x, y) = p(x, y) + p(x, y + 1);\ng(x, y) = p(x, y) - p(x + 2, y - 1);\n"
    "out(x, y) = f(x, y) + g(x - 3, y + 2);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, x); p: compute_at(f, y), store_root(); }\n",
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nq(x, y) = in(x, y) - 3;\nf(x, y) = p(x, y) + p(x, y + 1);\ng(x, y) = q(x, y) - q(x + 2, y - 1);\n"
    "out(x, y) = f(x, y) + g(x - 3, y + 2);\noutput out;\n"
    "plan p { f: compute_root(), split(x, xo, xi, 4); g: compute_root(), split(x, xo, xi, 4, .tail = guard), compute_with(f, y); "
    "p: compute_at(f, xo), store_at(f, y); q: compute_at(g, xo), store_root(); }\n",
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nq(x, y) = in(x, y) - 3;\nf(x, y) = p(x, y) + p(x, y + 1);\ng(x, y) = q(x, y) - q(x + 2, y - 1);\n"
    "out(x, y) = f(x, y) + g(x - 3, y + 2);\noutput out;\n"
    "plan p { f: compute_root(); g: compute_root(), compute_with(f, y); q: compute_at(f, y); p: compute_at(g, y), compute_with(q, x); }\n",
    /* asynchronous producers of the parts */
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nf(x, y) = p(x, y) + p(x, y + 1);\ng(x, y) = p(x, y) - p(x + 2, y - 1);\n"
    "out(x, y) = f(x, y) + g(x - 3, y + 2);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, y); "
    "p: compute_at(f, y), store_root(), async(); }\n",
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nf(x, y) = p(x, y) + p(x, y + 1);\ng(x, y) = in(x, y) - 5;\nq(x, y) = f(x, y) + 1;\n"
    "out(x, y) = q(x, y) + g(x - 3, y + 2);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, y); "
    "p: compute_root(), async(); q: compute_root(), async(); }\n",
    /* what one of the parts is made of, where the other is made for a memoized Func */
    "mlc 1\ninput in: i32[2];\np(x, y) = in(x, y) * 3;\nf(x, y) = in(x, y) - 1;\ng(x, y) = p(x, y) - p(x + 2, y - 1);\nm(x, y) = f(x, y) + 1;\n"
    "out(x, y) = m(x, y) + g(x - 3, y + 2);\noutput out;\nplan p { f: compute_root(); g: compute_root(), compute_with(f, y); p: compute_root(); "
    "m: compute_root(), memoize(); }\n",
    /* what each part fetches ahead */
    BOTH "out(x, y) = f(x, y) + g(x + 1, y + 1);\noutput out;\n"
         "plan p { f: compute_root(), prefetch(in, y, y, 2); g: compute_root(), compute_with(f, y), prefetch(in, y, y, 3), prefetch(in, x, y, 1, .bounds = guard); }\n",
};

START_TEST(values) {
    text_open(programs[_i]);
    text_check_sizes();
    text_close();
}
END_TEST

/* ---- structure ---- */

static void open_at(const char *text, int64_t w, int64_t h) {
    text_open(text);
    text_check(w, h, -3, 5);
}

/* Where both need the same iterations nothing is asked. */
START_TEST(one_range) {
    open_at(programs[_i], 17, 13);
    ck_assert_int_eq(text_stores("f", 0), 17 * 13);
    ck_assert_int_eq(text_stores("g", 0), 17 * 13);
    const int64_t size[2] = { 17, 13 }, min[2] = { 0, 0 };
    text_bind(size, min);
    ck_assert_str_eq(text_lower(NULL, "unroll", 0), "");
    ck_assert_int_eq(text_count("for f.y"), 1);
    ck_assert_int_eq(text_count("for g.y"), 0);
    ck_assert_int_eq(text_count("for f.x"), 1);
    ck_assert_int_eq(text_count("for g.x"), _i == 0);
    ck_assert_int_eq(text_count("if "), 1); /* around all */
    text_unbind();
    text_close();
}
END_TEST

/* No point is computed that its own loops would not; the steady state asks nothing. */
START_TEST(two_ranges) {
    open_at(programs[2 + _i], 17, 13);
    ck_assert_int_eq(text_stores("f", 0), 17 * 13);
    ck_assert_int_eq(text_stores("g", 0), 17 * 13);
    text_close();
}
END_TEST


/* Loops of a part are asked for once an iteration of what is shared, and not at all in the steady state. */
START_TEST(loop_nest) {
    open_at(programs[3], 17, 13);
    const int64_t size[2] = { 17, 13 }, min[2] = { 0, 0 };
    text_bind(size, min);
    ck_assert_str_eq(text_lower(NULL, "build", 0), "");
    const char *nest = strstr(T.loops, "  for f.y"), *end = strstr(T.loops, "  produce out");
    ck_assert_msg(nest && end, "%s", T.loops);
    char got[1024];
    snprintf(got, sizeof got, "%.*s", (int)(end - nest), nest);
    ck_assert_str_eq(got, "  for f.y in [out.min.1 +: out.extent.1 + 3)\n"
                          "    for f.x in [out.min.0 - 1 +: out.extent.0 + 3)\n"
                          "      produce f\n"
                          "        let f.y$1 = f.y\n"
                          "        let f.x$1 = f.x\n"
                          "        if likely f.y$1 < out.min.1 + out.extent.1\n"
                          "          if likely f.x$1 < out.min.0 + out.extent.0 - 1\n"
                          "            f(f.x$1, f.y$1) = in(f.x$1, f.y$1) + 1\n"
                          "      produce g\n"
                          "        let g.y = f.y\n"
                          "        let g.x = f.x\n"
                          "        if likely out.min.1 + 3 <= g.y\n"
                          "          if likely out.min.0 + 2 <= g.x\n"
                          "            g(g.x, g.y) = in(g.x, g.y) * 3\n");
    text_unbind();
    text_close();
}
END_TEST

/* ---- refused ---- */

#define TWO "none(x, y) = in(x, y);\np(x, y) = in(x, y) + 1;\nf(x, y) = in(x, y) * 2;\nf(x, y) += in(r, y);\ng(x, y) = p(x, y);\ng(x, y) += in(x, r);\nout(x, y) = f(x, y) + g(x, y);"
#define FOUR "a(x, y) = in(x, y) + 1;\nb(x, y) = a(x, y) * 2;\nc(x, y) = in(x, y) - 5;\nd(x, y) = c(x, y) * 3;\nout(x, y) = b(x, y) + d(x, y);"

static const struct {
    const char *text, *plan, *want;
} wrong[] = {
    { TWO, "f: compute_root(); g: compute_root(), compute_with(g, y)",
      "t.mlc:13: schedule g: compute_with(g, y): g cannot share the loops of a stage of its own; name a stage of "
      "another Func" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(none, y)",
      "t.mlc:13: schedule g: compute_with(none, y): none is not part of the program that computes g; share the loops "
      "of a Func that is" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(f.u2, y)",
      "t.mlc:13: schedule g: compute_with(f.u2, y): f has no update 2: it has u0 alone; name another stage" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(f, y); g.u0: compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): g and g.u0 would share a loop, but a stage runs when the one before "
      "it is done; drop one of the lines" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(f, y), compute_with(f.u0, x)",
      "t.mlc:13: schedule g: compute_with(f.u0, x): g shares the loops of f already; name one stage" },
    { TWO, "f: compute_root(); p: compute_with(f, y); g: compute_root()",
      "t.mlc:13: schedule p: compute_with(f, y): p has no place of its own, as stages that share loops must; give it "
      "a compute_root or compute_at" },
    { TWO, "g: compute_root(), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): f has no place of its own, as stages that share loops must; give it "
      "a compute_root or compute_at" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(p, y)",
      "t.mlc:13: schedule g: compute_with(p, y): p has no place of its own, as stages that share loops must; give it "
      "a compute_root or compute_at" },
    { TWO, "f: compute_root(), specialize(true) { parallel(y) }; g: compute_root(), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): f is specialized and has more than one nest of loops; drop its "
      "specializations or this line" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(f, y), specialize(out.extent.0 > 3) { vectorize(x, 8) }",
      "t.mlc:13: schedule g: compute_with(f, y): g is specialized and has more than one nest of loops; drop its "
      "specializations or this line" },
    { TWO, "f: compute_root(); g: compute_root(), specialize(out.extent.0 > 3) { compute_with(f, y) }",
      "t.mlc:13: schedule g: compute_with(f, y): compute_with is not about the loops of one stage; put it outside of "
      "the specialization" },
    { TWO, "f: compute_root(), async(); g: compute_root(), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): f is async and runs its loops in a task of its own; drop that or "
      "this line" },
    { TWO, "f: compute_root(); g: compute_root(), memoize(), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): g is memoized and not computed where its values are found; drop that "
      "or this line" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(f, z)",
      "t.mlc:13: schedule g: compute_with(f, z): there is no loop 'z' in g; its loops are, innermost first: x, y" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(f, y), split(y, yo, yi, 8)",
      "t.mlc:13: schedule g: compute_with(f, y): there is no loop 'y' in g; its loops are, innermost first: x, yi, "
      "yo" },
    { TWO, "f: compute_root(); g: compute_root(), reorder(y, x), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): the loops down to 'y' are x, y in g and y, x in f; give them the "
      "same names, order and kinds" },
    { TWO, "f: compute_root(), parallel(y); g: compute_root(), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): the loops down to 'y' are y in g and y parallel in f; give them the "
      "same names, order and kinds" },
    { TWO, "f: compute_root(); g: compute_root(), partition(y, never), compute_with(f, x)",
      "t.mlc:13: schedule g: compute_with(f, x): the loop 'y' of g is that of f; say there how it is cut" },
    { TWO, "f: compute_root(), compute_with(g, y); g: compute_root(), compute_with(f, y)",
      "t.mlc:13: schedule f: compute_with(g, y): f would share loops with itself, by way of g; drop one of the lines" },
    { TWO, "f: compute_root(), compute_with(out, y); g: compute_root()",
      "t.mlc:13: schedule f: compute_with(out, y): out is made of f, which must be done before; share loops of Funcs "
      "that do not need each other" },
    { TWO, "p: compute_root(); f: compute_root(); g: compute_root(), compute_with(p, y)",
      "t.mlc:13: schedule g: compute_with(p, y): g is made of p, which must be done before; share loops of Funcs "
      "that do not need each other" },
    { TWO, "f: compute_root(); g: compute_root(), compute_with(f.u0, y); g.u0: compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f.u0, y): g waits for stages that wait for it; share loops in the order in "
      "which stages run" },
    { TWO, "f: compute_at(out, y); g: compute_root(), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): g is not computed where f is, or both are in several "
      "specializations; give them one place" },
    { TWO, "out: specialize(out.extent.0 > 3) { vectorize(x, 8) }; f: compute_at(out, y); g: compute_at(out, y), compute_with(f, y)",
      "t.mlc:13: schedule g: compute_with(f, y): g is not computed where f is, or both are in several "
      "specializations; give them one place" },
    { FOUR, "a: compute_root(), compute_with(d, y); b: compute_root(), compute_with(c, y); c: compute_root(); d: compute_root()",
      "t.mlc:11: schedule a: compute_with(d, y): a would be computed at once with d, and between the two stands what "
      "shares other loops; drop one of the lines" },
};

START_TEST(refused) {
    char text[2048];
    snprintf(text, sizeof text, "mlc 1\ninput in: i32[2];\nrdom r(0, 3);\n%s\noutput out;\nplan p {\n%s;\n}\n", wrong[_i].text, wrong[_i].plan);
    text_open(text);
    const int64_t size[2] = { 17, 13 }, min[2] = { 0, 0 };
    text_bind(size, min);
    ck_assert_str_eq(text_lower(NULL, NULL, 0), wrong[_i].want);
    text_unbind();
    text_close();
}
END_TEST

/* Extern stages run loops that nobody sees. */
START_TEST(extern_stages) {
    static const char *const want[] = {
        "a.c:9: schedule e: compute_with(f.pure, y): e is an extern stage, whose loops are those of its C function; share the "
        "loops of another Func",
        "a.c:9: schedule f: compute_with(e, y): e is an extern stage, whose loops are those of its C function; share the loops of "
        "another Func",
    };
    text_open("mlc 1\nf(x, y) = i32(x);\nout(x, y) = f(x, y);\noutput out;\n");
    mlc_func f = mlc_find_func(T.ctx, "f"), e = mlc_func_new(T.ctx, "e"), sum = mlc_func_new(T.ctx, "sum");
    MLC_VARS(T.ctx, x, y);
    ck_assert(mlc_define_extern(e, mlc_extern_stage_new(T.ctx, "ramp", stage_ramp), "i32[2]", mlc_i32(3)));
    mlc_def(mlc_at(sum, x, y), mlc_add(mlc_at(e, x, y), mlc_at(f, x, y)));
    T.out = sum;
    mlc_plan_add(T.plan, f, mlc_compute_root());
    mlc_directive d = _i ? mlc_compute_with(e, y) : mlc_compute_with(mlc_pure(f), y);
    d.loc = (mlc_loc){ "a.c", 9 };
    ck_assert_msg(_i ? mlc_plan_add(T.plan, f, d) : mlc_plan_add(T.plan, e, d), "%s", mlc_error(T.ctx));
    ck_assert_str_eq(text_lower(NULL, NULL, 0), want[_i]);
    text_close();
}
END_TEST

Suite *shared_suite(void) {
    Suite *s = suite_create("shared");
    TCase *t = tcase_create("shared");
    tcase_add_loop_test(t, values, 0, (int)(sizeof programs / sizeof *programs));
    tcase_add_loop_test(t, one_range, 0, 2);
    tcase_add_loop_test(t, two_ranges, 0, 2);
    tcase_add_test(t, loop_nest);
    tcase_add_loop_test(t, extern_stages, 0, 2);
    tcase_add_loop_test(t, refused, 0, (int)(sizeof wrong / sizeof *wrong));
    suite_add_tcase(s, t);
    return s;
}
