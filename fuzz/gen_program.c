/* gen_program.c - random algorithms.
 *
 * Types are chosen first and expressions are written for them, casts where an operand has another:
 * what comes out type-checks by construction.  Every index stays in a known range: Funcs are read at
 * offsets of at most two, or at a clamped value of the data; inputs are large enough for any chain. */
#include "gen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t gen_next(Gen *g) { /* splitmix64 */
    uint64_t z = (g->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int gen_below(Gen *g, int n) {
    return n > 0 ? (int)(gen_next(g) % (uint64_t)n) : 0;
}

void gen_count(Gen *g, const char *name) {
    GenCounts *c = g->counts;
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->name[i], name)) {
            c->count[i]++;
            return;
        }
    if (c->n == GEN_MAX_COUNTS) return;
    c->name[c->n] = name; /* always a literal */
    c->count[c->n++] = 1;
}

void gen_put(Gen *g, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int room = GEN_TEXT - g->n, n = vsnprintf(g->text + g->n, (size_t)room, format, ap);
    va_end(ap);
    if (n > 0) g->n += n < room ? n : room - 1;
}

static const char *const all_types[] = { "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64" };
enum { N_TYPES = 13 };

static bool is_float(const char *t) { return t[0] == 'f' || (t[0] == 'b' && t[1] == 'f'); }
static bool is_bool(const char *t) { return !strcmp(t, "bool"); }
static bool is_int(const char *t) { return !is_float(t) && !is_bool(t); }
static bool is_half(const char *t) { return !strcmp(t, "f16") || !strcmp(t, "bf16"); }

/* Common types more often: they have the fast paths. */
static const char *any_type(Gen *g) {
    static const char *const often[] = { "f32", "u8", "i32", "u16", "f32" };
    const char *t = gen_below(g, 2) ? often[gen_below(g, 5)] : all_types[gen_below(g, N_TYPES)];
    gen_count(g, t);
    return t;
}

/* What an expression may mention. */
typedef struct {
    const char *coord[4]; /* text of usable index variables */
    int n;
    const GenFunc *self;  /* self-reads allowed: at its own left side */
    const char *self_lhs; /* text of that left side's coordinates */
    int n_funcs;          /* producers g->func[0 .. n_funcs) */
} Scope;

static void expr(Gen *g, const Scope *s, const char *type, int depth);

static const char *const var_name[] = { "x", "y", "z" };

/* Coordinates for a read of f. */
static void coords(Gen *g, const Scope *s, const GenFunc *f, int depth) {
    for (int d = 0; d < f->rank; d++) {
        if (d) gen_put(g, ", ");
        int kind = gen_below(g, 12);
        if (kind == 0 || s->n == 0) {
            gen_put(g, "%d", gen_below(g, 9));
        } else if (kind == 1 && depth > 0) {
            gen_put(g, "clamp(index("), expr(g, s, "u8", depth > 2 ? 1 : depth - 1), gen_put(g, "), 0, %d)", 1 + gen_below(g, 9));
            gen_count(g, "data-dependent index");
        } else if (kind == 2) {
            gen_put(g, "clamp(%s, %d, %d)", s->coord[gen_below(g, s->n)], gen_below(g, 3) - 1, 3 + gen_below(g, 8));
            gen_count(g, "clamped index");
        } else {
            const char *c = d < s->n && gen_below(g, 4) ? s->coord[d] : s->coord[gen_below(g, s->n)];
            int off = f->offsets_ok ? gen_below(g, 5) - 2 : 0;
            if (off && gen_below(g, 3)) gen_put(g, "%s %c %d", c, off < 0 ? '-' : '+', off < 0 ? -off : off);
            else gen_put(g, "%s", c);
        }
    }
}

static void literal(Gen *g, const char *t) {
    static const char *const ints[] = { "0", "1", "2", "3", "7", "5", "100", "127" };
    static const char *const floats[] = { "0.0", "1.0", "0.5", "-0.0", "3.0", "-2.5", "1e-3", "100.0", "0.1", "inf" };
    if (is_bool(t)) gen_put(g, gen_below(g, 2) ? "true" : "false");
    else if (is_float(t)) gen_put(g, "%s(%s)", t, floats[gen_below(g, 10)]);
    else gen_put(g, "%s(%s)", t, ints[gen_below(g, 8)]);
}

static void leaf(Gen *g, const Scope *s, const char *t, int depth) {
    int kind = gen_below(g, 10);
    if (s->self && kind < 3) {
        const GenFunc *f = s->self;
        bool cast = strcmp(f->type[0], t) != 0;
        if (cast) gen_put(g, "%s(", t);
        gen_put(g, "%s(%s)", f->name, s->self_lhs);
        if (f->elems > 1) gen_put(g, "[0]");
        if (cast) gen_put(g, ")");
        gen_count(g, "self-read");
    } else if (s->n_funcs && kind < 8) {
        const GenFunc *f = &g->func[gen_below(g, 2) ? s->n_funcs - 1 : gen_below(g, s->n_funcs)];
        int e = f->elems > 1 ? gen_below(g, f->elems) : 0;
        bool cast = strcmp(f->type[e], t) != 0;
        if (cast) gen_put(g, "%s(", t);
        gen_put(g, "%s(", f->name);
        coords(g, s, f, depth);
        gen_put(g, ")");
        if (f->elems > 1) gen_put(g, "[%d]", e);
        if (cast) gen_put(g, ")");
    } else if (s->n && kind < 9) {
        const char *c = s->coord[gen_below(g, s->n)];
        if (is_bool(t)) gen_put(g, "(%s > 2)", c);
        else gen_put(g, "%s(i32(%s))", t, c);
        gen_count(g, "index as data");
    } else {
        literal(g, t);
    }
}

typedef struct {
    const char *text; /* operator or function */
    int arity;        /* negative: infix */
    char for_type;    /* i int, f float, n both, s small ints (8 to 32 bits), S signed... */
} OpRow;

static const OpRow rows[] = {
    { "+", -2, 'n' }, { "-", -2, 'n' }, { "*", -2, 'n' }, { "/", -2, 'n' }, { "%", -2, 'n' },
    { "+", -2, 'n' }, { "*", -2, 'n' },
    { "min", 2, 'n' }, { "max", 2, 'n' }, { "abs", 1, 'n' }, { "clamp", 3, 'n' }, { "sign", 1, 'n' },
    { "&", -2, 'i' }, { "|", -2, 'i' }, { "^", -2, 'i' }, { "<<", -2, 'i' }, { ">>", -2, 'i' },
    { "popcount", 1, 'i' }, { "clz", 1, 'i' }, { "ctz", 1, 'i' },
    { "saturating_add", 2, 'i' }, { "saturating_sub", 2, 'i' }, { "halving_add", 2, 'i' }, { "halving_sub", 2, 'i' },
    { "rounding_halving_add", 2, 'i' }, { "rounding_shl", 2, 'i' }, { "rounding_shr", 2, 'i' },
    { "div_to_zero", 2, 'i' }, { "mod_to_zero", 2, 'i' },
    { "fma", 3, 'f' }, { "rounded", 1, 'f' }, { "sqrt", 1, 'f' }, { "floor", 1, 'f' }, { "ceil", 1, 'f' }, { "trunc", 1, 'f' },
    { "round", 1, 'f' }, { "fract", 1, 'f' }, { "copysign", 2, 'f' }, { "min_num", 2, 'f' }, { "max_num", 2, 'f' },
    { "exp", 1, 'f' }, { "log", 1, 'f' }, { "sin", 1, 'f' }, { "cos", 1, 'f' }, { "tanh", 1, 'f' }, { "rsqrt", 1, 'f' },
    { "erf", 1, 'f' }, { "pow", 2, 'f' }, { "atan2", 2, 'f' }, { "hypot", 2, 'f' }, { "lerp", 3, 'f' }, { "likely", 1, 'n' },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void condition(Gen *g, const Scope *s, int depth) {
    static const char *const cmp[] = { "<", "<=", ">", ">=", "==", "!=" };
    int kind = gen_below(g, 8);
    if (kind == 0 && depth > 1) {
        bool is_and = gen_below(g, 2);
        gen_count(g, is_and ? "&&" : "||");
        gen_put(g, "("), condition(g, s, depth - 1), gen_put(g, is_and ? " && " : " || "), condition(g, s, depth - 1), gen_put(g, ")");
    } else if (kind == 1 && depth > 1) {
        gen_count(g, "!");
        gen_put(g, "!("), condition(g, s, depth - 1), gen_put(g, ")");
    } else if (kind == 2) {
        gen_count(g, "is_nan");
        gen_put(g, "is_nan("), expr(g, s, "f32", depth - 1), gen_put(g, ")");
    } else {
        const char *t = all_types[1 + gen_below(g, N_TYPES - 1)], *c = cmp[gen_below(g, 6)];
        gen_count(g, c);
        gen_put(g, "("), expr(g, s, t, depth - 1), gen_put(g, " %s ", c), expr(g, s, t, depth - 1), gen_put(g, ")");
    }
}

static void operands(Gen *g, const Scope *s, const char *t, const OpRow *r, int depth) {
    if (r->arity < 0) {
        gen_put(g, "("), expr(g, s, t, depth), gen_put(g, " %s ", r->text), expr(g, s, t, depth), gen_put(g, ")");
        return;
    }
    gen_put(g, "%s(", r->text);
    for (int i = 0; i < r->arity; i++) {
        if (i) gen_put(g, ", ");
        expr(g, s, t, depth);
    }
    gen_put(g, ")");
}

static void expr(Gen *g, const Scope *s, const char *t, int depth) {
    if (depth <= 0 || gen_below(g, 8) == 0) {
        leaf(g, s, t, depth);
        return;
    }
    int kind = gen_below(g, 12);
    if (is_bool(t)) {
        condition(g, s, depth);
    } else if (kind == 0) {
        gen_count(g, "select");
        gen_put(g, "select("), condition(g, s, depth - 1), gen_put(g, ", "), expr(g, s, t, depth - 1), gen_put(g, ", "),
            expr(g, s, t, depth - 1), gen_put(g, ")");
    } else if (kind == 1) {
        const char *from = all_types[gen_below(g, N_TYPES)];
        gen_count(g, "cast");
        gen_put(g, "%s(", t), expr(g, s, from, depth - 1), gen_put(g, ")");
    } else if (kind == 2 && is_int(t)) {
        const char *from = all_types[1 + gen_below(g, N_TYPES - 1)];
        gen_count(g, "saturate");
        gen_put(g, "saturate_%s(", t), expr(g, s, from, depth - 1), gen_put(g, ")");
    } else if (kind == 3) {
        gen_count(g, "unary -");
        gen_put(g, "(-"), expr(g, s, t, depth - 1), gen_put(g, ")");
    } else if (kind == 4 && !is_half(t)) {
        gen_count(g, "mux");
        gen_put(g, "mux("), expr(g, s, "i32", depth - 1);
        for (int i = 0; i < 3; i++) gen_put(g, ", "), expr(g, s, t, depth - 2);
        gen_put(g, ")");
    } else {
        const OpRow *r = &rows[gen_below(g, N_ROWS)];
        while (r->for_type != 'n' && (r->for_type == 'f') != is_float(t)) r = &rows[gen_below(g, N_ROWS)];
        gen_count(g, r->text);
        operands(g, s, t, r, depth - 1);
    }
}

/* Primes and the sizes next to vector widths. */
static int size_of(Gen *g, int most) {
    static const int sizes[] = { 0, 1, 2, 3, 5, 7, 8, 11, 13, 15, 16, 17, 19, 31, 33, 37 };
    int v = sizes[gen_below(g, 16)];
    return v <= most ? v : 1 + gen_below(g, most);
}

static void left_side(Gen *g, const GenFunc *f, const char *const *at) {
    gen_put(g, "%s(", f->name);
    for (int d = 0; d < f->rank; d++) gen_put(g, "%s%s", d ? ", " : "", at[d]);
    gen_put(g, ")");
}

/* `last`: the output, whose buffer has just the points asked for, is written nowhere else. */
static void update(Gen *g, GenFunc *f, int number, bool last) {
    char rdom[8], rx[2][16], lhs[64] = "", at[GEN_MAX_RANK][24];
    const char *coord[GEN_MAX_RANK];
    snprintf(rdom, sizeof rdom, "r%d", g->next_name++);
    int dims = gen_below(g, 4) ? 1 : 2, kind = gen_below(g, 6);
    bool scan = !last && kind == 4 && f->elems == 1, scatter = !last && kind == 5 && f->elems == 1 && is_int(f->type[0]), no_rdom = kind == 0;
    if (no_rdom) dims = 0;
    if (scan) dims = 1;
    if (dims) {
        gen_put(g, "rdom %s(", rdom);
        for (int i = 0; i < dims; i++)
            gen_put(g, "%s%d, %d", i ? "; " : "", scan ? 1 : gen_below(g, 3) - 1, size_of(g, scan ? 7 : 5));
        gen_put(g, ")");
        if (dims == 2 && gen_below(g, 3) == 0) gen_put(g, " where %s.x + %s.y < %d", rdom, rdom, gen_below(g, 6)), gen_count(g, "where");
        gen_put(g, ";\n");
    }
    for (int i = 0; i < dims; i++) snprintf(rx[i], sizeof rx[i], dims == 1 ? "%s" : i ? "%s.y" : "%s.x", rdom);
    int along = gen_below(g, f->rank);
    for (int d = 0; d < f->rank; d++) {
        snprintf(at[d], sizeof at[d], "%s", scan && d == along ? rx[0] : var_name[d]);
        coord[d] = at[d];
        snprintf(lhs + strlen(lhs), sizeof lhs - strlen(lhs), "%s%s", d ? ", " : "", at[d]);
    }
    Scope s = { .n_funcs = g->n_funcs, .self = f, .self_lhs = lhs };
    for (int d = 0; d < f->rank; d++)
        if (!scan || d != along) s.coord[s.n++] = var_name[d];
    for (int i = 0; i < dims && s.n < 4; i++) s.coord[s.n++] = rx[i];
    f->update_rvars[number] = dims;
    snprintf(f->update_rdom[number], sizeof f->update_rdom[number], "%s", rdom);
    if (scan) {
        char before[96] = "";
        for (int d = 0; d < f->rank; d++)
            snprintf(before + strlen(before), sizeof before - strlen(before), "%s%s%s", d ? ", " : "", at[d], d == along ? " - 1" : "");
        left_side(g, f, coord);
        gen_put(g, " = %s(%s) + ", f->name, before);
        if (is_bool(f->type[0])) g->n -= 3, gen_put(g, " ^ ");
        s.self = NULL;
        expr(g, &s, f->type[0], 2);
        gen_count(g, "scan");
    } else if (scatter) {
        /* the scattered dimension has no Var of its own in this stage */
        Scope t = { .n_funcs = g->n_funcs };
        for (int d = 0; d < f->rank; d++)
            if (d != along) t.coord[t.n++] = var_name[d];
        for (int i = 0; i < dims && t.n < 4; i++) t.coord[t.n++] = rx[i];
        gen_put(g, "%s(", f->name);
        for (int d = 0; d < f->rank; d++) {
            if (d) gen_put(g, ", ");
            if (d != along) gen_put(g, "%s", var_name[d]);
            else gen_put(g, "clamp(index("), expr(g, &t, "u8", 1), gen_put(g, "), 0, 6)");
        }
        gen_put(g, ") += ");
        expr(g, &t, f->type[0], 1);
        gen_count(g, "scatter");
    } else {
        static const char *const how[] = { "=", "+=", "-=", "*=", "min=", "max=" };
        const char *op = is_bool(f->type[0]) || f->elems > 1 ? "=" : how[gen_below(g, 6)];
        gen_count(g, op);
        if (*op != '=') s.self = NULL;
        left_side(g, f, coord);
        gen_put(g, " %s ", op);
        if (f->elems > 1) gen_put(g, "{");
        /* a plain overwrite of every point is refused: the old value is read */
        bool reads = *op == '=';
        for (int e = 0; e < f->elems; e++) {
            if (e) gen_put(g, ", ");
            if (reads) gen_put(g, "select(%s(%s)%s == %s, ", f->name, lhs, f->elems > 1 ? (e ? "[1]" : "[0]") : "", is_bool(f->type[e]) ? "true" : "1");
            expr(g, &s, f->type[e], 2);
            if (reads) gen_put(g, ", "), expr(g, &s, f->type[e], 1), gen_put(g, ")");
        }
        if (f->elems > 1) gen_put(g, "}");
    }
    gen_put(g, ";\n");
}

static void define(Gen *g, bool last) {
    GenFunc f = { .rank = 1 + gen_below(g, GEN_MAX_RANK), .elems = gen_below(g, 8) ? 1 : 2, .offsets_ok = true };
    if (last) f.elems = 1;
    snprintf(f.name, sizeof f.name, last ? "out" : "f%d", g->next_name++);
    Scope s = { .n_funcs = g->n_funcs, .n = f.rank };
    for (int d = 0; d < f.rank; d++) s.coord[d] = var_name[d];
    for (int e = 0; e < f.elems; e++) f.type[e] = any_type(g);
    if (f.elems > 1) gen_count(g, "tuple");
    left_side(g, &f, var_name);
    gen_put(g, " = %s", f.elems > 1 ? "{" : "");
    for (int e = 0; e < f.elems; e++) {
        if (e) gen_put(g, ", ");
        gen_put(g, "%s(", f.type[e]), expr(g, &s, f.type[e], 1 + gen_below(g, 4)), gen_put(g, ")");
    }
    gen_put(g, "%s;\n", f.elems > 1 ? "}" : "");
    f.updates = gen_below(g, 3) ? 0 : 1 + gen_below(g, 2);
    for (int i = 0; i < f.updates; i++) update(g, &f, i, last);
    f.reduction = f.updates > 0;
    g->func[g->n_funcs++] = f;
    if (!last) return;
    for (int d = 0; d < f.rank; d++) {
        g->out_min[d] = gen_below(g, 3) ? 0 : gen_below(g, 7) - 3;
        g->out_extent[d] = size_of(g, f.rank == 1 ? 37 : f.rank == 2 ? 19 : 7);
    }
}

void gen_program(Gen *g, uint64_t seed) {
    GenCounts *counts = g->counts;
    *g = (Gen){ .state = seed * 0x2545f4914f6cdd1du + 1, .counts = counts };
    gen_put(g, "mlc 1\n");
    int inputs = 1 + gen_below(g, 2), funcs = 1 + gen_below(g, 5);
    for (int i = 0; i < inputs; i++) {
        GenFunc f = { .rank = 1 + gen_below(g, GEN_MAX_RANK), .elems = 1, .input = true, .offsets_ok = true };
        snprintf(f.name, sizeof f.name, "in%d", i);
        f.type[0] = any_type(g);
        gen_put(g, "input %s: %s[%d];\n", f.name, f.type[0], f.rank);
        g->func[g->n_funcs++] = f;
    }
    g->n_inputs = inputs;
    for (int i = 0; i < funcs; i++) define(g, i == funcs - 1);
    gen_put(g, "output out;\n");
}
