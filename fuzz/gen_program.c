/* gen_program.c - random algorithms.
 *
 * Every index stays in a known range: Funcs are read at small offsets, at halves, doubles or remainders of
 * a coordinate, at an index param, or at a clamped value of the data. */
#include "gen.h"

#include <stdio.h>
#include <string.h>

static const char *const var_name[] = { "x", "y", "z" };
static const char *const update_ops[] = { "=", "+=", "-=", "*=", "min=", "max=" };
static const char *const edges[] = { "constant_edge", "repeat_edge", "repeat_image", "mirror_image", "mirror_interior" };

void gen_expect_program(GenCounts *c) {
    static const char *const more[] = { "update", "scan", "scatter", "where", "tuple", "undef", "rank 0", "two outputs", "dim stride",
                                        "dim min, extent", "range of data", "param extent", "extern stage", "size 0", "size 1",
                                        "size prime", "min not 0", "strides" };
    for (int i = 0; i < 6; i++) gen_expect(c, update_ops[i]);
    for (int i = 0; i < 5; i++) gen_expect(c, edges[i]);
    for (int i = 0; i < (int)(sizeof more / sizeof *more); i++) gen_expect(c, more[i]);
}

/* Primes and the sizes next to vector widths. */
static int size_of(Gen *g, int most) {
    static const int sizes[] = { 0, 1, 2, 3, 5, 7, 8, 11, 13, 15, 16, 17, 19, 31, 33, 37, 64, 67 };
    int v = sizes[gen_below(g, 18)];
    return v <= most ? v : 1 + gen_below(g, most);
}

static void left_side(Gen *g, const GenFunc *f, const char *const *at) {
    gen_put(g, "%s(", f->name);
    for (int d = 0; d < f->rank; d++) gen_put(g, "%s%s", d ? ", " : "", at[d]);
    gen_put(g, ")");
}

static const char *an_index_param(Gen *g) {
    for (int i = 0; i < g->n_params; i++)
        if (!strcmp(g->param[i].type, "index")) return g->param[i].name;
    return NULL;
}

/* Over both RVars, over one, over none. */
static void condition(Gen *g, const char *name, int dims) {
    const char *p = an_index_param(g), *y = dims == 2 ? ".y" : "";
    int kind = gen_below(g, 6), c = gen_below(g, 6);
    if (dims == 2 && kind < 2) gen_put(g, " where %s.x + %s.y < %d", name, name, c);
    else if (dims == 2 && kind == 2) gen_put(g, " where %s.x <= %s.y + %d, %s.y != %d", name, name, c - 3, name, c - 1);
    else if (kind == 3 && p) gen_put(g, " where %s < %d", p, c);
    else gen_put(g, " where %s%s %s %d", name, y, kind == 4 ? "!=" : ">=", c - 2);
    gen_count(g, "where");
}

static void declare_rdom(Gen *g, const char *name, int dims, bool scan) {
    const char *p = an_index_param(g);
    gen_put(g, "rdom %s(", name);
    for (int i = 0; i < dims; i++) {
        gen_put(g, "%s%d, ", i ? "; " : "", scan ? 1 : gen_below(g, 3) - 1);
        if (p && gen_below(g, 3) == 0) gen_put(g, "%s", p), gen_count(g, "param extent");
        else gen_put(g, "%d", size_of(g, scan ? 7 : 5));
    }
    gen_put(g, ")");
    if (gen_below(g, dims == 2 ? 3 : 8) == 0) condition(g, name, dims);
    gen_put(g, ";\n");
}

/* What all kinds of updates share. */
typedef struct {
    GenFunc *f;
    GenScope scope;
    int along, dims;                 /* the dimension scanned or scattered; of the domain */
    char at[GEN_MAX_RANK][24], rx[2][16];
    const char *coord[GEN_MAX_RANK];
} Update;

static void scan(Gen *g, Update *u) {
    GenFunc *f = u->f;
    left_side(g, f, u->coord);
    gen_put(g, " = %s(", f->name);
    for (int d = 0; d < f->rank; d++) gen_put(g, "%s%s%s", d ? ", " : "", u->at[d], d == u->along ? " - 1" : "");
    gen_put(g, gen_is_bool(f->type[0]) ? ") ^ " : ") + ");
    u->scope.self = NULL;
    gen_expr(g, &u->scope, f->type[0], 2);
    gen_count(g, "scan");
}

/* The scattered dimension has no Var of its own in this stage. */
static void scatter(Gen *g, Update *u) {
    GenFunc *f = u->f;
    GenScope t = { .n_funcs = g->n_funcs };
    for (int d = 0; d < f->rank; d++)
        if (d != u->along) t.coord[t.n++] = var_name[d];
    for (int i = 0; i < u->dims; i++) t.coord[t.n++] = u->rx[i];
    gen_put(g, "%s(", f->name);
    for (int d = 0; d < f->rank; d++) {
        if (d) gen_put(g, ", ");
        if (d != u->along) gen_put(g, "%s", var_name[d]);
        else if (u->dims == 2 && gen_below(g, 2)) gen_put(g, "%d * %s + %s", 3 + gen_below(g, 3), u->rx[1], u->rx[0]); /* tile and point */
        else gen_put(g, "clamp(index("), gen_expr(g, &t, "u8", 1), gen_put(g, "), 0, 6)");
    }
    gen_put(g, ") += ");
    gen_expr(g, &t, f->type[0], 1);
    gen_count(g, "scatter");
}

static void plain_update(Gen *g, Update *u) {
    GenFunc *f = u->f;
    const char *op = gen_is_bool(f->type[0]) || f->elems > 1 ? "=" : update_ops[gen_below(g, 6)];
    gen_count(g, op);
    if (*op != '=') u->scope.self = NULL;
    left_side(g, f, u->coord);
    gen_put(g, " %s ", op);
    if (f->elems > 1) gen_put(g, "{");
    /* a plain overwrite of every point is refused: the old value is read */
    for (int e = 0; e < f->elems; e++) {
        if (e) gen_put(g, ", ");
        if (*op == '=')
            gen_put(g, "select(%s(%s)%s == %s, ", f->name, u->scope.self_lhs, f->elems > 1 ? (e ? "[1]" : "[0]") : "",
                    gen_is_bool(f->type[e]) ? "true" : "1");
        gen_expr(g, &u->scope, f->type[e], 2);
        if (*op == '=') gen_put(g, ", "), gen_expr(g, &u->scope, f->type[e], 1), gen_put(g, ")");
    }
    if (f->elems > 1) gen_put(g, "}");
}

/* An output, whose buffer has just the points asked for, is written nowhere else. */
static void update(Gen *g, GenFunc *f, int number) {
    char rdom[8], lhs[96] = "";
    Update u = { .f = f, .along = gen_below(g, f->rank), .dims = gen_below(g, 4) ? 1 : 2 };
    snprintf(rdom, sizeof rdom, "r%d", g->next_name++ % 1000);
    int kind = gen_below(g, 6);
    bool special = !f->output && f->elems == 1 && f->rank > 0;
    bool is_scan = special && kind == 4, is_scatter = special && kind == 5 && gen_is_int(f->type[0]);
    if (kind == 0) u.dims = 0;
    if (is_scan) u.dims = 1;
    if (u.dims) declare_rdom(g, rdom, u.dims, is_scan);
    for (int i = 0; i < u.dims; i++) snprintf(u.rx[i], sizeof u.rx[i], "%s%s", rdom, u.dims == 1 ? "" : i ? ".y" : ".x");
    u.scope = (GenScope){ .n_funcs = g->n_funcs, .self = f, .self_lhs = lhs };
    for (int d = 0; d < f->rank; d++) {
        bool scanned = is_scan && d == u.along;
        snprintf(u.at[d], sizeof u.at[d], "%s", scanned ? u.rx[0] : var_name[d]);
        u.coord[d] = u.at[d];
        size_t at = strlen(lhs);
        snprintf(lhs + at, sizeof lhs - at, "%s%.20s", d ? ", " : "", u.at[d]);
        if (!scanned) u.scope.coord[u.scope.n++] = var_name[d];
    }
    for (int i = 0; i < u.dims; i++) u.scope.coord[u.scope.n++] = u.rx[i];
    f->update_rvars[number] = u.dims;
    snprintf(f->update_rdom[number], sizeof f->update_rdom[number], "%s", rdom);
    if (is_scan) scan(g, &u);
    else if (is_scatter) scatter(g, &u);
    else plain_update(g, &u);
    gen_count(g, "update");
    gen_put(g, ";\n");
}

static void pure(Gen *g, GenFunc *f) {
    char rdom[8];
    GenScope s = { .n_funcs = g->n_funcs, .n = f->rank, .pure = true };
    for (int d = 0; d < f->rank; d++) s.coord[d] = var_name[d];
    if (gen_below(g, 4) == 0) {
        snprintf(rdom, sizeof rdom, "k%d", g->next_name++ % 1000);
        s.rdom = rdom;
        s.rdom_dims = 1 + gen_below(g, 2);
        declare_rdom(g, rdom, s.rdom_dims, false);
    }
    left_side(g, f, var_name);
    gen_put(g, " = %s", f->elems > 1 ? "{" : "");
    for (int e = 0; e < f->elems; e++) {
        if (e) gen_put(g, ", ");
        gen_put(g, "%s(", f->type[e]), gen_expr(g, &s, f->type[e], 1 + gen_below(g, 4)), gen_put(g, ")");
    }
    gen_put(g, "%s;\n", f->elems > 1 ? "}" : "");
}

typedef enum { INNER, SECOND, LAST } Role;

static void define(Gen *g, Role role) {
    GenFunc f = { .rank = gen_below(g, 16) ? 1 + gen_below(g, GEN_MAX_RANK) : 0, .elems = gen_below(g, 8) ? 1 : 2,
                  .output = role != INNER, .hidden = role == SECOND };
    snprintf(f.name, sizeof f.name, role == LAST ? "out" : role == SECOND ? "also" : "f%d", g->next_name++);
    if (f.rank == 0) gen_count(g, "rank 0");
    for (int e = 0; e < f.elems; e++) f.type[e] = gen_type(g);
    if (f.elems > 1) gen_count(g, "tuple");
    f.updates = gen_below(g, 3) ? 0 : 1 + gen_below(g, 2);
    if (role == LAST && f.elems == 1 && f.updates && gen_below(g, 6) == 0) {
        left_side(g, &f, var_name);
        gen_put(g, " = undef_%s;\n", f.type[0]);
        gen_count(g, "undef");
    } else {
        pure(g, &f);
    }
    for (int i = 0; i < f.updates; i++) update(g, &f, i);
    f.reduction = f.updates > 0;
    g->func[g->n_funcs++] = f;
}

/* An extern stage over a Func or an input that has at least one dimension. */
static void stage(Gen *g) {
    int of = gen_below(g, g->n_funcs);
    const char *p = an_index_param(g);
    if (g->func[of].hidden || g->func[of].unplanned || !g->func[of].rank || g->func[of].elems > 1) return;
    GenFunc f = { .rank = g->func[of].rank, .elems = 1, .type = { g->func[of].type[0] }, .stage = true, .numbered = true, .reads = of };
    g->func[of].whole = true;
    snprintf(f.name, sizeof f.name, "f%d", g->next_name++);
    gen_put(g, "extern stage %s: %s[%d] = ", f.name, f.type[0], f.rank);
    if (gen_below(g, 2)) gen_put(g, "blocks(%s);\n", g->func[of].name);
    else if (p) gen_put(g, "nudge(%s, %s + %d);\n", g->func[of].name, p, gen_below(g, 3));
    else gen_put(g, "nudge(%s, %d);\n", g->func[of].name, gen_below(g, 3));
    gen_count(g, "extern stage");
    g->func[g->n_funcs++] = f;
}

static bool is_prime(int64_t n) {
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0) return false;
    return n > 1;
}

/* The box that is asked of an output, as a comment that case.c reads. */
static void output_box(Gen *g, GenFunc *f) {
    gen_put(g, "//! box %s", f->name);
    for (int d = 0; d < f->rank; d++) {
        int64_t n = f->extent[d] = size_of(g, f->rank == 1 ? 67 : f->rank == 2 ? (d ? 11 : 19) : d ? 5 : 7);
        f->min[d] = gen_below(g, 3) ? 0 : gen_below(g, 7) - 3;
        gen_put(g, " %ld %ld", (long)f->min[d], (long)n);
        if (n < 2) gen_count(g, n ? "size 1" : "size 0");
        if (is_prime(n)) gen_count(g, "size prime");
        if (f->min[d]) gen_count(g, "min not 0");
    }
    gen_put(g, "\n");
}

static void input(Gen *g, int number) {
    static const char *const ranges[][3] = { { "f32", "0.0", "1.0" }, { "f32", "-3.5", "100.0" }, { "u8", "0", "63" }, { "i32", "-9", "9" },
                                             { "u16", "1", "1023" }, { "f64", "0.5", "2.0" } };
    GenFunc f = { .rank = 1 + gen_below(g, GEN_MAX_RANK), .elems = 1, .input = true, .numbered = true };
    snprintf(f.name, sizeof f.name, "in%d", number);
    if (gen_below(g, 5)) {
        f.type[0] = gen_type(g);
        gen_put(g, "input %s: %s[%d];\n", f.name, f.type[0], f.rank);
    } else {
        const char *const *r = ranges[gen_below(g, 6)];
        f.type[0] = r[0];
        gen_put(g, "input %s: %s[%d] range %s..%s;\n", f.name, f.type[0], f.rank, r[1], r[2]);
        gen_count(g, "range of data");
    }
    if (gen_below(g, 8) == 0) {
        gen_put(g, "dim %s[0]: stride %d;\n", f.name, 1 + gen_below(g, 3));
        gen_count(g, "dim stride");
    }
    g->func[g->n_funcs++] = f;
}

/* A boundary condition over an input that nothing else reads. */
static void edge(Gen *g) {
    int of = g->n_inputs - 1, kind = gen_below(g, 5);
    GenFunc f = g->func[of];
    g->func[of].hidden = true;
    f.input = false; /* its arguments keep the names of the input's */
    f.unplanned = true;
    snprintf(f.name, sizeof f.name, "e%d", g->next_name++);
    gen_put(g, "%s = %s(", f.name, edges[kind]);
    if (kind == 0) gen_put(g, gen_is_bool(f.type[0]) ? "true, " : "%s(3), ", f.type[0]);
    gen_put(g, "in%d", of);
    if (gen_below(g, 2)) {
        gen_put(g, ", ");
        for (int d = 0; d < f.rank; d++) {
            gen_put(g, d ? "; " : "");
            if (d == 0 || gen_below(g, 4)) gen_put(g, "%d, %d", gen_below(g, 5) - 2, 1 + gen_below(g, 9));
        }
    }
    gen_put(g, ");\n");
    gen_count(g, edges[kind]);
    g->func[g->n_funcs++] = f;
}

static void params(Gen *g) {
    static const char *const rows[][4] = { { "f32", "-2.0", "2.0", "0.75" }, { "i32", "-100", "100", "-7" }, { "u8", "0", "255", "200" },
                                           { "i64", "-9", "9", "3" }, { "f64", "0.0", "1.0", "0.125" }, { "u16", "3", "9", "3" } };
    for (int i = gen_below(g, 3); i > 0; i--) {
        GenParam *p = &g->param[g->n_params++];
        snprintf(p->name, sizeof p->name, "p%d", g->n_params);
        const char *const *r = rows[gen_below(g, 6)];
        bool index = gen_below(g, 2);
        p->type = index ? "index" : r[0];
        if (index) gen_put(g, "param %s: index range 0..9 = %d;\n", p->name, gen_below(g, 10));
        else if (gen_below(g, 2)) gen_put(g, "param %s: %s range %s..%s = %s;\n", p->name, r[0], r[1], r[2], r[3]);
        else gen_put(g, "param %s: %s = %s;\n", p->name, r[0], r[3]);
    }
}

/* How it is run, as a comment that case.c reads. */
static void header(Gen *g, uint64_t seed) {
    static const char *const isas[] = { "host", "avx2", "sse4", "plain" };
    Gen block = { .state = seed / GEN_BLOCK * 0x9e3779b97f4a7c15u }; /* a block shares its compiler */
    const char *cc = gen_below(&block, 2) ? "gcc" : "clang", *isa = isas[gen_below(&block, 4)];
    int layout = gen_below(g, 2) ? 0 : 1 + gen_below(g, 1 << 20);
    gen_put(g, "//! run %s %s -O%d data %llu layout %d\n", cc, isa, 1 + (gen_below(&block, 3) == 0), (unsigned long long)(gen_next(g) >> 1),
            layout);
    if (layout) gen_count(g, "strides");
}

void gen_program(Gen *g, uint64_t seed) {
    GenCounts *counts = g->counts;
    *g = (Gen){ .state = seed * 0x2545f4914f6cdd1du + 1, .counts = counts };
    g->budget = 12 + gen_below(g, gen_below(g, 3) ? 40 : 90);
    gen_put(g, "mlc 1\n");
    header(g, seed);
    int inputs = 1 + gen_below(g, 2), funcs = 1 + gen_below(g, 5);
    bool edged = gen_below(g, 5) == 0, two = gen_below(g, 6) == 0;
    params(g);
    for (int i = 0; i < inputs + edged; i++) input(g, i);
    g->n_inputs = g->n_funcs;
    if (edged) edge(g);
    for (int i = 0; i < funcs - 1; i++) {
        g->budget += 6;
        define(g, INNER);
        if (g->n_funcs + 4 < GEN_MAX_FUNCS && gen_below(g, 7) == 0) stage(g);
    }
    if (two) {
        define(g, SECOND);
        output_box(g, &g->func[g->n_funcs - 1]);
        gen_count(g, "two outputs");
    }
    g->budget += 6;
    define(g, LAST);
    GenFunc *out = &g->func[g->n_funcs - 1];
    output_box(g, out);
    if (out->rank && gen_below(g, 10) == 0) {
        int d = gen_below(g, out->rank);
        gen_put(g, "dim out[%d]: min %ld, extent %ld;\n", d, (long)out->min[d], (long)out->extent[d]);
        gen_count(g, "dim min, extent");
    }
    gen_put(g, "output out%s;\n", two ? ", also" : "");
}
