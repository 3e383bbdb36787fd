/* test_simplify.c - rows of text: what an expression becomes, what is provable, bounds, solutions. */
#include "ir/parse.h"
#include "simplify/simplify.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *simplify_suite(void);

static Fault fault;
static Arena arena;
static Interner interner, *I = &interner;

enum { SYMS = 11 };
static const char *const names[SYMS] = { "x", "y", "z", "n", "m", "s", "b", "w", "f", "p", "q" };
static const mlc_type types[SYMS] = { MLC_INDEX, MLC_INDEX, MLC_INDEX, MLC_INDEX, MLC_INDEX, MLC_INDEX,
                                      MLC_U8,    MLC_I32,   MLC_F32,   MLC_BOOL,  MLC_BOOL };
static Sym syms[SYMS];
static const Node *vars[SYMS];

static void setup(void) {
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    ir_interner_init(I, &arena, NULL);
    for (int i = 0; i < SYMS; i++) {
        syms[i] = (Sym){ .name = names[i], .kind = i < 3 ? SYM_LOOP : i == 5 ? SYM_EXTENT : SYM_PARAM, .type = types[i] };
        vars[i] = ir_var(I, &syms[i]);
    }
}

static void teardown(void) {
    arena_free(&arena);
}

/* As lowering builds expressions: operators that are not canonical replaced, constants folded. */
static const Node *canonical(void *user, Interner *in, const Node *e) {
    (void)user;
    if (e->op == OP_GT || e->op == OP_GE) return ir_make2(in, (Op)e->op, e->kid[0], e->kid[1]);
    if (e->op == OP_NEG && ir_is_const(e->kid[0])) return ir_make1(in, OP_NEG, e->kid[0]);
    return e;
}

static const Node *text(const char *s) {
    if (!strcmp(s, "true") || !strcmp(s, "false")) return ir_bool(I, *s == 't');
    char *end;
    long long v = strtoll(s, &end, 10);
    if (!*end) return ir_idx(I, v);
    return ir_rewrite(I, ir_parse_body(I, s, SYMS, vars, names, MLC_INDEX), canonical, NULL);
}

/* "x: 0, 7; y: x, x + 3; : x < n": ranges, inwards, and conditions; _ is no bound. */
static const Facts *facts(const char *s) {
    char *copy = arena_str(&arena, s ? s : ""), *save = NULL;
    const Facts *up = NULL;
    for (char *part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
        Facts *f = ARENA_NEW(&arena, Facts);
        char *colon = strchr(part, ':'), *comma = strchr(part, ',');
        *f = (Facts){ .up = up };
        *colon = 0;
        while (*part == ' ') part++;
        for (int i = 0; i < SYMS; i++)
            if (!strcmp(part, names[i])) f->var = &syms[i];
        if (f->var) {
            *comma = 0;
            const char *lo = colon + 2, *hi = comma + 2;
            f->range = (Interval){ *lo == '_' ? NULL : text(lo), *hi == '_' ? NULL : text(hi) };
        } else {
            f->truth = text(colon + 2);
        }
        up = f;
    }
    return up;
}

static const char *show(const Node *e) {
    return e ? ir_show(I, e) : "_";
}

/* ---- simplification ---- */

static const struct {
    const char *e, *want, *facts;
} simplified[] = {
    /* sums */
    { "x + y - x", "y", NULL },
    { "(x + 3) - (x - 4)", "7", NULL },
    { "2 * (x + y) - y * 2 - x", "x", NULL },
    { "x * 3 + x - x * 4", "0", NULL },
    { "y + x + 1 + x", "x * 2 + y + 1", NULL },
    { "(x * y) - (y * x)", "0", NULL },
    { "x * (2 * y) - 2 * (x * y)", "0", NULL },
    { "x - y + 4", "7", "y: x - 3, x - 3" },
    { "x - y + z", "z + 3", "y: x - 3, x - 3" },
    { "y + z", "y + z", "y: x - 3, x - 3" },
    /* quotients and remainders */
    { "(4 * x + y) / 4", "x", "y: 0, 3" },
    { "(4 * x + y) / 4", "(x * 4 + y) / 4", "y: 0, 4" },
    { "(4 * x + y) % 4", "y", "y: 0, 3" },
    { "(x * 8) % 8", "0", NULL },
    { "(x * 8 + 3) % 4", "3", NULL },
    { "(x * 8 + 11) / 4", "x * 2 + 2", NULL },
    { "(x * 6) / 4", "(x * 3) / 2", NULL },
    { "(x / 3) / 4", "x / 12", NULL },
    { "(x / 3 + 2) / 4", "(x + 6) / 12", NULL },
    { "(4 * x + y) / 8", "x / 2", "y: 0, 3" },
    { "(4 * x + y) % 8", "(x % 2) * 4 + y", "y: 0, 3" },
    { "(x / 8) * 8 + x % 8", "x", NULL },
    { "(x % 12) % 4", "x % 4", NULL },
    { "x / -3", "-(x / 3)", NULL },
    { "(x - 5) / 8", "-1", "x: 0, 4" },
    { "x % n", "x", "n: 1, _; x: 0, n - 1" },
    { "(x / n) * n + x % n", "x", "n: 1, _" },
    { "(x / n) * n + x % n", "(x / n) * n + x % n", NULL },
    /* minima and maxima */
    { "min(x + 3, x + 5)", "x + 3", NULL },
    { "max(x + z, y + z)", "max(x, y) + z", NULL },
    { "min(min(x, y), x)", "min(x, y)", NULL },
    { "min(x, max(x, y))", "x", NULL },
    { "min(max(x, y), max(z, x))", "max(min(y, z), x)", NULL },
    { "min(min(x, 7), 3)", "min(x, 3)", NULL },
    { "min(x + 2, min(x, y))", "min(x, y)", NULL },
    { "max(min(x, n - 1), 0)", "x", "n: 1, _; x: 0, n - 1" },
    { "min(x, y)", "x", ": x <= y" },
    { "min(x * 8 + 7, n - 1)", "x * 8 + 7", "x: 0, n / 8 - 1" },
    { "min((n + 3) / 4, n / 4)", "n / 4", NULL },
    { "max(s, 0)", "s", NULL },
    { "min(likely(x), 5)", "min(likely(x), 5)", NULL },
    { "min(likely(x), 5)", "likely(x)", "x: 0, 5" },
    /* comparisons */
    { "x + 3 < x + 4", "true", NULL },
    { "x + 3 < y + 3", "x < y", NULL },
    { "2 * x + 4 <= 2 * y + 9", "x <= y + 2", NULL },
    { "x - 3 < 0", "x < 3", NULL },
    { "x * 4 < 10", "x < 3", NULL },
    { "3 <= x * 2", "2 <= x", NULL },
    { "2 * x == 2 * y + 1", "false", NULL },
    { "x * 4 + 2 == y * 2", "y == x * 2 + 1", NULL },
    { "x < 8", "true", "x: 0, 7" },
    { "x < 7", "x < 7", "x: 0, 7" },
    { "x < n", "true", "x: 0, n - 1" },
    { "y < 16", "true", "x: 0, 1; y: x * 8, x * 8 + 7" },
    { "x * 8 + y < n", "true", "x: 0, n / 8 - 1; y: 0, 7" },
    /* conditions */
    { "x < 5 && x < 7", "x < 5", NULL },
    { "x < 5 || x < 7", "x < 7", NULL },
    { "x < 5 && 7 < x", "false", NULL },
    { "x < 5 || 3 < x", "true", NULL },
    { "!(x < y)", "y <= x", NULL },
    { "!(f < 1)", "!(f < 1)", NULL },
    { "p && !p", "false", NULL },
    { "p && (p || q)", "p", NULL },
    { "select(p, select(p, x, y), z)", "select(p, x, z)", NULL },
    { "select(x < y, x, y)", "min(x, y)", NULL },
    { "p || q", "true", ": q" },
    { "likely(p)", "likely(p)", NULL },
    { "likely(x < x + 1)", "true", NULL },
    /* data: wrapping stays, ranges decide */
    { "b + 1 < b", "b + 1 < b", NULL },
    { "i32(b) < 256", "true", NULL },
    { "min(i32(b), 255)", "i32(b)", NULL },
    { "max(i32(b) - 300, 0) == 0", "true", NULL },
    { "u8(i32(b))", "b", NULL },
    { "u16(i32(b)) & 255", "u16(b)", NULL },
    { "i32(b) % 256", "i32(b)", NULL },
    { "index(i32(x))", "x", "x: 0, 1000" },
    { "index(i32(b) + 3) - 3", "index(b)", NULL },
    { "w + 1 - 1 + w - w", "w", NULL },
    { "f + 0.0", "f + 0.0", NULL },
    { "f * 1.0", "f", NULL },
    { "f - f", "f - f", NULL },
    { "f / 4.0", "f * 0.25", NULL },
    { "f / 3.0", "f / 3.0", NULL },
};

START_TEST(becomes) {
    const Node *have = sim_simplify(I, facts(simplified[_i].facts), text(simplified[_i].e));
    const Node *want = text(simplified[_i].want);
    if (have != want && !ir_is_const(want)) want = sim_simplify(I, NULL, want); /* another order of the same */
    ck_assert_msg(have == want, "%s is %s, not %s", simplified[_i].e, show(have), simplified[_i].want);
}
END_TEST

/* ---- bounds ---- */

static const struct {
    const char *e, *lo, *hi, *facts;
} bounded[] = {
    { "x", "0", "7", "x: 0, 7" },
    { "y - x", "0", "7", "x: 0, 100; y: x, x + 7" },
    { "(x + 3) - x", "3", "3", "x: 0, n" },
    { "x * y", "-21", "14", "x: -3, 2; y: 0, 7" },
    { "x * s", "0", "s * 7", "x: 0, 7" },
    { "x * y", "s * -4", "0", "x: -4, -1; y: 0, s" },
    { "index(abs(i32(b) - 100))", "0", "155", "b: _, _" },
    { "index((i32(b) >> 2) << 1)", "0", "126", "b: _, _" },
    { "index(i32(b) & 15 | 32)", "32", "63", "b: _, _" },
    { "x / 4", "-1", "1", "x: -3, 7" },
    { "x / -4", "-1", "1", "x: -3, 7" },
    { "x % 4", "0", "3", "x: _, _" },
    { "x % 4", "x % 4", "x % 4", NULL },
    { "x % s", "0", "max(s, 1) - 1", "x: _, _" },
    { "min(max(x, 0), n - 1)", "min(n - 1, 0)", "n - 1", "x: -5, _" },
    { "select(p, x, y)", "0", "9", "x: 0, 3; y: 2, 9" },
    { "likely(x) + 1", "1", "8", "x: 0, 7" },
    { "index(b)", "0", "255", "b: _, _" },
    { "index(b + b)", "0", "255", "b: _, _" },
    { "index(w)", "_", "_", "w: _, _" },
    { "index(min(max(w, 0), 9))", "0", "9", "w: _, _" },
    { "index(i32(max(min(f, 1.0), 0.0) * 255.0))", "0", "255", "f: _, _" },
    { "x + y", "n", "n + 10", "x: n, n + 3; y: 0, 7" },
    { "y", "0", "n + 7", "x: 0, n; y: x, x + 7" },
};

START_TEST(lies_within) {
    Interval have = sim_bounds(I, facts(bounded[_i].facts), text(bounded[_i].e), NULL);
    const char *want[2] = { bounded[_i].lo, bounded[_i].hi };
    for (int side = 0; side < 2; side++) {
        const Node *end = side ? have.hi : have.lo;
        const Node *w = *want[side] == '_' ? NULL : sim_simplify(I, NULL, text(want[side]));
        ck_assert_msg(end == w, "%s: end %d is %s, not %s", bounded[_i].e, side, show(end), want[side]);
    }
}
END_TEST

START_TEST(says_what_is_unbounded) {
    const Node *why = NULL;
    sim_bounds(I, facts("w: _, _"), text("index(w) + 1"), &why);
    ck_assert_ptr_nonnull(why);
    ck_assert_str_eq(show(why), "w");
}
END_TEST

/* ---- proofs and solutions ---- */

static const struct {
    const char *cond, *facts;
    bool holds;
} proofs[] = {
    { "x < y + 1", ": x <= y", true },
    { "x < y", ": x <= y", false },
    { "x < n", ": x < m; : m <= n", false }, /* one step only: truths are not chained */
    { "x + y < n + 8", "x: 0, n; y: 0, 7", true },
    { "min(x, y) <= x", NULL, true },
    { "x * n <= (x + 1) * n", "n: 0, _", true },
    { "n / 8 * 8 <= n", NULL, true },
    { "n <= (n + 7) / 8 * 8", NULL, true },
    { "n < (n + 7) / 8 * 8", NULL, false },
    { "x < 4", ": x == y; : y == 3", false },
    { "x < 4", ": x == 3", true },
    { "0 < n", "x: 0, n - 1", false },
    { "x * x >= 0", NULL, false },
};

START_TEST(provable) {
    bool have = sim_prove(I, facts(proofs[_i].facts), text(proofs[_i].cond));
    ck_assert_msg(have == proofs[_i].holds, "%s: %d", proofs[_i].cond, have);
}
END_TEST

static const struct {
    const char *cond, *facts, *inner_lo, *inner_hi, *outer_lo, *outer_hi; /* of x; "?" as lo: not solved */
} solutions[] = {
    { "x * 4 + 1 <= n", NULL, "_", "(n - 1) / 4", "_", "(n - 1) / 4" },
    { "3 <= x * 2", NULL, "2", "_", "2", "_" },
    { "x * 8 + y < n", "y: 0, 7", "_", "n / 8 - 1", "_", "(n - 1) / 8" },
    { "0 <= x - 1 && x + 1 < n", NULL, "1", "n - 2", "1", "n - 2" },
    { "x / 4 < n", NULL, "_", "n * 4 - 1", "_", "n * 4 - 1" },
    { "2 <= x / 4", NULL, "8", "_", "8", "_" },
    { "x == n", NULL, "n", "n", "n", "n" },
    { "x < 3 || 9 < x", NULL, "_", "2", "_", "_" },
    { "min(x, n) <= 5", NULL, "_", "5", "?", "" },
    { "max(x, 3) <= n", ": 3 <= n", "_", "n", "_", "n" },
    { "x - x % 8 < n", NULL, "_", "n - 1", "_", "n + 6" },
    { "x * x < n", NULL, "?", "", "?", "" },
    { "p", NULL, "?", "", "?", "" },
    { "x < n && p", NULL, "?", "", "_", "n - 1" },
};

static void compare(const char *what, Interval have, bool ok, const char *lo, const char *hi) {
    ck_assert_msg(ok == (*lo != '?'), "%s: solved %d", what, ok);
    if (!ok) return;
    const Node *a = *lo == '_' ? NULL : sim_simplify(I, NULL, text(lo)), *b = *hi == '_' ? NULL : sim_simplify(I, NULL, text(hi));
    ck_assert_msg(have.lo == a && have.hi == b, "%s: [%s, %s], not [%s, %s]", what, show(have.lo), show(have.hi), lo, hi);
}

START_TEST(solves) {
    bool ok;
    const Node *cond = text(solutions[_i].cond);
    const Facts *f = facts(solutions[_i].facts);
    Interval in = sim_solve_inner(I, f, cond, &syms[0], &ok);
    compare(solutions[_i].cond, in, ok, solutions[_i].inner_lo, solutions[_i].inner_hi);
    Interval out = sim_solve_outer(I, f, cond, &syms[0], &ok);
    compare(solutions[_i].cond, out, ok, solutions[_i].outer_lo, solutions[_i].outer_hi);
}
END_TEST

/* ---- congruence, direction, slope ---- */

static const struct {
    const char *e;
    int64_t modulus, remainder;
    int monotonic;
} shapes[] = {
    { "x * 8 + 3", 8, 3, 1 },          { "x * 8 + y * 12", 4, 0, 1 },
    { "7", 0, 7, 0 },                  { "y * 2 - x * 4", 2, 0, -1 },
    { "x % 4", 1, 0, 2 },              { "x / 4 - y", 1, 0, 1 },
    { "x - x", 0, 0, 0 },              { "min(x * 4 + 1, x * 2 + 3)", 2, 1, 1 },
    { "(x * 8) / 4", 2, 0, 1 },        { "select(p, x * 6, 9)", 3, 0, 1 },
    { "max(x, -x)", 1, 0, 2 },         { "x * s", 1, 0, 1 },
};

START_TEST(shaped) {
    const Node *e = text(shapes[_i].e);
    Congruence c = sim_congruence(I, NULL, e);
    ck_assert_msg(c.modulus == shapes[_i].modulus && c.remainder == shapes[_i].remainder, "%s: %lld k + %lld",
                  shapes[_i].e, (long long)c.modulus, (long long)c.remainder);
    ck_assert_msg(sim_monotonic(I, NULL, e, &syms[0]) == shapes[_i].monotonic, "%s: direction %d", shapes[_i].e,
                  sim_monotonic(I, NULL, e, &syms[0]));
}
END_TEST

START_TEST(linear_in_a_variable) {
    int64_t a;
    const Node *b;
    ck_assert(sim_linear(I, text("3 * (x + y) - x + n / 2"), &syms[0], &a, &b));
    ck_assert_int_eq(a, 2);
    ck_assert_ptr_eq(b, sim_simplify(I, NULL, text("3 * y + n / 2")));
    ck_assert(!sim_linear(I, text("x + x / 2"), &syms[0], &a, &b));
    ck_assert(!sim_linear(I, text("x * n"), &syms[0], &a, &b));
    ck_assert(sim_linear(I, text("y * n"), &syms[0], &a, &b));
    ck_assert_int_eq(a, 0);
}
END_TEST

/* A chain that shares its parts doubles as a tree with every step: 2^200 paths, 200 nodes. */
START_TEST(shared_parts_are_met_once) {
    const Node *e = vars[0], *d = vars[7], *c = text("x < y");
    for (int i = 0; i < 200; i++) {
        const Node *t = ir_make2(I, OP_MOD, ir_add(I, e, ir_mul(I, e, vars[1])), ir_idx(I, 1000 + i));
        e = ir_max(I, t, ir_min(I, e, vars[2]));
        d = ir_make2(I, OP_XOR, ir_mul(I, d, d), ir_make2(I, OP_SHR, d, ir_int(I, MLC_I32, 3)));
        c = ir_make2(I, i & 1 ? OP_LAND : OP_LOR, c, ir_make2(I, OP_LT, e, vars[3]));
    }
    size_t before = arena.bytes;
    sim_simplify(I, facts("x: 0, n"), e);
    sim_simplify(I, NULL, d);
    sim_simplify(I, NULL, c);
    sim_bounds(I, facts("y: 0, 9; x: 0, y"), e, NULL);
#ifdef MLC_HARD
    const size_t most = (size_t)64 << 20; /* tiny chunks, each with a head */
#else
    const size_t most = (size_t)32 << 20;
#endif
    ck_assert_msg(arena.bytes - before < most, "%zu bytes", arena.bytes - before);
}
END_TEST

/* Depth costs no C stack. */
START_TEST(deep_expressions) {
    const Node *e = vars[7];
    for (int i = 0; i < 100000; i++) e = ir_make2(I, OP_SHR, ir_make2(I, OP_XOR, e, ir_int(I, MLC_I32, i)), vars[7]);
    ck_assert_ptr_nonnull(sim_simplify(I, NULL, e));
}
END_TEST

#define LOOP(c, test, rows) tcase_add_loop_test(c, test, 0, (int)(sizeof rows / sizeof *rows))

Suite *simplify_suite(void) {
    Suite *s = suite_create("simplify");
    TCase *c = tcase_create("rows");
    tcase_add_checked_fixture(c, setup, teardown);
    LOOP(c, becomes, simplified);
    LOOP(c, lies_within, bounded);
    tcase_add_test(c, says_what_is_unbounded);
    LOOP(c, provable, proofs);
    LOOP(c, solves, solutions);
    LOOP(c, shaped, shapes);
    tcase_add_test(c, linear_in_a_variable);
    tcase_add_test(c, shared_parts_are_met_once);
    tcase_add_test(c, deep_expressions);
    suite_add_tcase(s, c);
    return s;
}
