/* gen_expr.c - random expressions of a given type.
 *
 * Types are chosen first and expressions are written for them, casts where an operand has another:
 * what comes out type-checks by construction. */
#include "gen.h"

#include <stdio.h>
#include <string.h>

static const char *const all_types[] = { "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64" };
enum { N_TYPES = 13 };

bool gen_is_float(const char *t) { return t[0] == 'f' || (t[0] == 'b' && t[1] == 'f'); }
bool gen_is_bool(const char *t) { return !strcmp(t, "bool"); }
bool gen_is_int(const char *t) { return !gen_is_float(t) && !gen_is_bool(t); }
static bool is_half(const char *t) { return !strcmp(t, "f16") || !strcmp(t, "bf16"); }

static int bits_of(const char *t) {
    while (*t && (*t < '0' || *t > '9')) t++;
    return *t == '8' ? 8 : (t[0] - '0') * 10 + (t[1] - '0');
}

static const char *int_type(bool is_signed, int bits) {
    for (int i = 1; i < 9; i++)
        if ((all_types[i][0] == 'i') == is_signed && bits_of(all_types[i]) == bits) return all_types[i];
    return "i32";
}

/* Common types more often: they have the fast paths. */
const char *gen_type(Gen *g) {
    static const char *const often[] = { "f32", "u8", "i32", "u16", "f32" };
    const char *t = gen_below(g, 2) ? often[gen_below(g, 5)] : all_types[gen_below(g, N_TYPES)];
    gen_count(g, t);
    return t;
}

/* Of Funcs with two elements: `[0]`. */
static void element(Gen *g, const GenFunc *f, int e) {
    if (f->elems > 1) gen_put(g, "[%d]", e);
}

static void begin_cast(Gen *g, const char *to, const char *from) {
    if (strcmp(to, from)) gen_put(g, "%s(", to);
}

static void end_cast(Gen *g, const char *to, const char *from) {
    if (strcmp(to, from)) gen_put(g, ")");
}

/* ---- leaves ---- */

static const GenParam *index_param(Gen *g) {
    for (int i = 0; i < g->n_params; i++)
        if (!strcmp(g->param[i].type, "index")) return &g->param[i];
    return NULL;
}

/* Coordinates for a read of f. */
static void coords(Gen *g, const GenScope *s, const GenFunc *f, int depth) {
    const GenParam *p = index_param(g);
    for (int d = 0; d < f->rank; d++) {
        if (d) gen_put(g, ", ");
        int kind = gen_below(g, 14);
        if (kind == 0 || s->n == 0) {
            gen_put(g, "%d", gen_below(g, 9));
        } else if (kind == 1 && depth > 0 && g->budget > 0) {
            gen_put(g, "clamp(index("), gen_expr(g, s, "u8", depth > 2 ? 1 : depth - 1), gen_put(g, "), 0, %d)", 1 + gen_below(g, 9));
            gen_count(g, "data-dependent index");
        } else if (kind == 2) {
            gen_put(g, "clamp(%s, %d, %d)", s->coord[gen_below(g, s->n)], gen_below(g, 3) - 1, 3 + gen_below(g, 8));
            gen_count(g, "clamped index");
        } else if (kind == 3 && p) {
            gen_put(g, "%s + %s", s->coord[gen_below(g, s->n)], p->name);
            gen_count(g, "param in an index");
        } else if (kind == 4) {
            const char *c = s->coord[gen_below(g, s->n)];
            switch (gen_below(g, 5)) {
            case 0: gen_put(g, "%s / 2", c); break;
            case 1: gen_put(g, "%s * 2 + 1", c); break;
            case 2: gen_put(g, "(%s + 1) / 3", c); break;
            case 3: gen_put(g, "%s %% 4", c); break;
            default: gen_put(g, "7 - %s", c); break;
            }
            gen_count(g, "scaled index");
        } else {
            const char *c = d < s->n && gen_below(g, 4) ? s->coord[d] : s->coord[gen_below(g, s->n)];
            int off = gen_below(g, 5) - 2;
            if (off && gen_below(g, 3)) gen_put(g, "%s %c %d", c, off < 0 ? '-' : '+', off < 0 ? -off : off);
            else gen_put(g, "%s", c);
        }
    }
}

static void literal(Gen *g, const char *t) {
    static const char *const ints[] = { "0", "1", "2", "3", "7", "5", "100", "127" };
    static const char *const floats[] = { "0.0", "1.0", "0.5", "-0.0", "3.0", "-2.5", "1e-3", "100.0", "0.1", "inf" };
    if (gen_is_bool(t)) gen_put(g, gen_below(g, 2) ? "true" : "false");
    else if (gen_is_float(t)) gen_put(g, "%s(%s)", t, floats[gen_below(g, 10)]);
    else if (gen_below(g, 8) == 0) gen_put(g, gen_below(g, 2) ? "type_max(%s)" : "type_min(%s)", t), gen_count(g, "ends of a type");
    else gen_put(g, "%s(%s)", t, ints[gen_below(g, 8)]);
}

static const GenFunc *producer(Gen *g, const GenScope *s) {
    const GenFunc *f;
    do f = &g->func[gen_below(g, 3) ? s->n_funcs - 1 - gen_below(g, s->n_funcs < 2 ? 1 : 2) : gen_below(g, s->n_funcs)];
    while (f->hidden);
    return f;
}

static void leaf(Gen *g, const GenScope *s, const char *t, int depth) {
    int kind = gen_below(g, 12);
    if (s->self && kind < 3) {
        const GenFunc *f = s->self;
        begin_cast(g, t, f->type[0]);
        gen_put(g, "%s(%s)", f->name, s->self_lhs);
        element(g, f, 0);
        end_cast(g, t, f->type[0]);
        gen_count(g, "self-read");
    } else if (s->n_funcs && kind < 9) {
        const GenFunc *f = producer(g, s);
        int e = f->elems > 1 ? gen_below(g, f->elems) : 0;
        begin_cast(g, t, f->type[e]);
        gen_put(g, "%s(", f->name);
        coords(g, s, f, depth);
        gen_put(g, ")");
        element(g, f, e);
        end_cast(g, t, f->type[e]);
    } else if (s->n && kind < 10) {
        const char *c = s->coord[gen_below(g, s->n)];
        if (gen_is_bool(t)) gen_put(g, "(%s > 2)", c);
        else gen_put(g, "%s(i32(%s))", t, c);
        gen_count(g, "index as data");
    } else if (g->n_params && kind < 11) {
        const GenParam *p = &g->param[gen_below(g, g->n_params)];
        const char *have = strcmp(p->type, "index") ? p->type : "i32";
        begin_cast(g, t, p->type);
        if (have != p->type && strcmp(t, "i32")) gen_put(g, "i32(%s)", p->name);
        else gen_put(g, "%s", p->name);
        end_cast(g, t, p->type);
        gen_count(g, "param");
    } else {
        literal(g, t);
    }
}

/* ---- operators whose operands have the result's type ---- */

typedef struct {
    const char *text; /* operator or function */
    int arity;        /* negative: infix */
    char for_type;    /* i int, f float, n both, b int and bool */
} OpRow;

static const OpRow rows[] = {
    { "+", -2, 'n' }, { "-", -2, 'n' }, { "*", -2, 'n' }, { "/", -2, 'n' }, { "%", -2, 'n' },
    { "+", -2, 'n' }, { "*", -2, 'n' }, { "+", -2, 'n' },
    { "min", 2, 'n' }, { "max", 2, 'n' }, { "abs", 1, 'n' }, { "clamp", 3, 'n' }, { "sign", 1, 'n' },
    { "&", -2, 'b' }, { "|", -2, 'b' }, { "^", -2, 'b' }, { "~", 1, 'b' },
    { "popcount", 1, 'i' }, { "clz", 1, 'i' }, { "ctz", 1, 'i' },
    { "saturating_add", 2, 'i' }, { "saturating_sub", 2, 'i' }, { "halving_add", 2, 'i' }, { "halving_sub", 2, 'i' },
    { "rounding_halving_add", 2, 'i' }, { "div_to_zero", 2, 'i' }, { "mod_to_zero", 2, 'i' },
    { "fma", 3, 'f' }, { "rounded", 1, 'f' }, { "sqrt", 1, 'f' }, { "floor", 1, 'f' }, { "ceil", 1, 'f' }, { "trunc", 1, 'f' },
    { "round", 1, 'f' }, { "round_away", 1, 'f' }, { "fract", 1, 'f' }, { "min_num", 2, 'f' },
    { "max_num", 2, 'f' }, { "exp", 1, 'f' }, { "exp2", 1, 'f' }, { "expm1", 1, 'f' }, { "log", 1, 'f' }, { "log2", 1, 'f' },
    { "log10", 1, 'f' }, { "log1p", 1, 'f' }, { "pow", 2, 'f' }, { "rsqrt", 1, 'f' }, { "sin", 1, 'f' }, { "cos", 1, 'f' },
    { "tan", 1, 'f' }, { "asin", 1, 'f' }, { "acos", 1, 'f' }, { "atan", 1, 'f' }, { "atan2", 2, 'f' }, { "sinh", 1, 'f' },
    { "cosh", 1, 'f' }, { "tanh", 1, 'f' }, { "erf", 1, 'f' }, { "sigmoid", 1, 'f' }, { "hypot", 2, 'f' }, { "lerp", 3, 'f' },
    { "smoothstep", 3, 'f' },
    { "likely", 1, 'n' }, { "likely_if_innermost", 1, 'n' },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool fits(const OpRow *r, const char *t) {
    switch (r->for_type) {
    case 'n': return !gen_is_bool(t);
    case 'i': return gen_is_int(t);
    case 'f': return gen_is_float(t);
    default: return !gen_is_float(t);
    }
}

static void operands(Gen *g, const GenScope *s, const char *t, const OpRow *r, int depth) {
    if (r->arity < 0) {
        gen_put(g, "("), gen_expr(g, s, t, depth), gen_put(g, " %s ", r->text), gen_expr(g, s, t, depth), gen_put(g, ")");
        return;
    }
    gen_put(g, "%s(", r->text);
    for (int i = 0; i < r->arity; i++) {
        if (i) gen_put(g, ", ");
        gen_expr(g, s, t, depth);
    }
    gen_put(g, ")");
}

static void condition(Gen *g, const GenScope *s, int depth) {
    static const char *const cmp[] = { "<", "<=", ">", ">=", "==", "!=" }, *const is[] = { "is_nan", "is_inf", "is_finite" };
    int kind = gen_below(g, 10);
    if (kind == 0 && depth > 1) {
        bool is_and = gen_below(g, 2);
        gen_count(g, is_and ? "&&" : "||");
        gen_put(g, "("), condition(g, s, depth - 1), gen_put(g, is_and ? " && " : " || "), condition(g, s, depth - 1), gen_put(g, ")");
    } else if (kind == 1 && depth > 1) {
        gen_count(g, "!");
        gen_put(g, "!("), condition(g, s, depth - 1), gen_put(g, ")");
    } else if (kind == 2) {
        const char *f = is[gen_below(g, 3)];
        gen_count(g, f);
        gen_put(g, "%s(", f), gen_expr(g, s, gen_below(g, 3) ? "f32" : "f64", depth - 1), gen_put(g, ")");
    } else if (kind == 3 && depth > 1) {
        const OpRow *r;
        do r = &rows[gen_below(g, N_ROWS)];
        while (!fits(r, "bool"));
        gen_count(g, r->text);
        operands(g, s, "bool", r, depth - 1);
    } else {
        const char *t = all_types[1 + gen_below(g, N_TYPES - 1)], *c = cmp[gen_below(g, 6)];
        gen_count(g, c);
        gen_put(g, "("), gen_expr(g, s, t, depth - 1), gen_put(g, " %s ", c), gen_expr(g, s, t, depth - 1), gen_put(g, ")");
    }
}

/* ---- operators with operands of other types ---- */

static const char *const odd[] = { "<<", ">>", "rounding_shl", "rounding_shr", "widening_add", "widening_sub", "widening_mul", "absd",
                                   "mul_shr", "rounding_mul_shr", "ipow", "reinterpret", "random", "lerp of integers", "extern",
                                   "require", "print", "copysign" };
enum { N_ODD = sizeof odd / sizeof *odd };

/* ---- each writes the operator if it can have type t ---- */

static bool shift(Gen *g, const GenScope *s, const char *t, const char *op, int depth) {
    if (!gen_is_int(t)) return false;
    const char *count = gen_below(g, 2) ? t : all_types[1 + gen_below(g, 8)];
    bool infix = *op == '<' || *op == '>';
    gen_put(g, infix ? "(" : "%s(", op);
    gen_expr(g, s, t, depth), gen_put(g, infix ? " %s " : ", ", op);
    if (gen_below(g, 2)) gen_put(g, "%s(%d)", count, gen_below(g, 9));
    else gen_expr(g, s, count, depth);
    gen_put(g, ")");
    return true;
}

static bool widening(Gen *g, const GenScope *s, const char *t, const char *op, int depth) {
    if (!gen_is_int(t) || bits_of(t) < 16) return false;
    bool sub = !strcmp(op, "widening_sub");
    if (sub && *t != 'i') return false;
    const char *from = int_type(sub ? gen_below(g, 2) : *t == 'i', bits_of(t) / 2);
    gen_put(g, "%s(", op), gen_expr(g, s, from, depth), gen_put(g, ", "), gen_expr(g, s, from, depth), gen_put(g, ")");
    return true;
}

static bool absd(Gen *g, const GenScope *s, const char *t, int depth) {
    if (*t == 'i' || gen_is_bool(t)) return false;
    const char *from = *t == 'u' ? int_type(gen_below(g, 2), bits_of(t)) : t;
    gen_put(g, "absd("), gen_expr(g, s, from, depth), gen_put(g, ", "), gen_expr(g, s, from, depth), gen_put(g, ")");
    return true;
}

static bool mul_shr(Gen *g, const GenScope *s, const char *t, const char *op, int depth) {
    if (!gen_is_int(t)) return false;
    gen_put(g, "%s(", op), gen_expr(g, s, t, depth), gen_put(g, ", "), gen_expr(g, s, t, depth);
    if (gen_below(g, 3)) gen_put(g, ", %s(%d))", "u8", gen_below(g, 16));
    else gen_put(g, ", "), gen_expr(g, s, all_types[1 + gen_below(g, 8)], depth - 1), gen_put(g, ")");
    return true;
}

static bool reinterpret(Gen *g, const GenScope *s, const char *t, int depth) {
    const char *from = all_types[1 + gen_below(g, N_TYPES - 1)];
    if (gen_is_bool(t) || bits_of(from) != bits_of(t)) return false;
    /* the sign of a NaN is nobody's promise: bits of floats are taken where there is none */
    bool from_float = gen_is_float(from);
    gen_put(g, "reinterpret_%s(", t);
    if (from_float) gen_put(g, "clamp(");
    if (from_float) gen_put(g, "max_num("), gen_expr(g, s, from, depth), gen_put(g, ", %s(0.5)), %s(-100.0), %s(100.0))", from, from, from);
    else gen_expr(g, s, from, depth);
    gen_put(g, ")");
    return true;
}

static bool odd_operator(Gen *g, const GenScope *s, const char *t, int depth) {
    int k = gen_below(g, N_ODD);
    const char *op = odd[k];
    bool done = false;
    if (gen_is_bool(t)) return false;
    if (k < 4) {
        done = shift(g, s, t, op, depth);
    } else if (k < 7) {
        done = widening(g, s, t, op, depth);
    } else if (k == 7) {
        done = absd(g, s, t, depth);
    } else if (k < 10) {
        done = mul_shr(g, s, t, op, depth);
    } else if (k == 10) {
        gen_put(g, "ipow("), gen_expr(g, s, t, depth), gen_put(g, ", %d)", gen_below(g, 7));
        done = true;
    } else if (k == 11) {
        done = reinterpret(g, s, t, depth);
    } else if (k == 12) {
        done = !strcmp(t, "f32") || !strcmp(t, "u32") || !strcmp(t, "i32");
        if (done) gen_put(g, "random_%s(%d)", t, gen_below(g, 100));
    } else if (k == 13) {
        bool narrow = gen_below(g, 2) && *t == 'u';
        done = gen_is_int(t) && bits_of(t) <= 32;
        if (done)
            gen_put(g, "lerp("), gen_expr(g, s, t, depth), gen_put(g, ", "), gen_expr(g, s, t, depth), gen_put(g, ", "),
                gen_expr(g, s, narrow ? t : "u16", depth), gen_put(g, ")");
    } else if (k == 14) {
        done = !strcmp(t, "f32") || !strcmp(t, "i32");
        if (done && *t == 'f') gen_put(g, "blend("), gen_expr(g, s, "f32", depth), gen_put(g, ", "), gen_expr(g, s, "f32", depth), gen_put(g, ")");
        else if (done) gen_put(g, "twist("), gen_expr(g, s, "i32", depth), gen_put(g, ", "), gen_expr(g, s, "u8", depth), gen_put(g, ")");
    } else if (k == 15 && s->pure) {
        gen_put(g, "require(("), gen_expr(g, s, "i32", depth - 1), gen_put(g, " | 1) != 0, "), gen_expr(g, s, t, depth), gen_put(g, ", \"odd\")");
        done = true;
    } else if (k == 16 && s->pure) {
        gen_put(g, "print(\"value\", "), gen_expr(g, s, t, depth), gen_put(g, ")");
        done = true;
    }
    if (k == 17 && gen_is_float(t)) { /* the sign of a NaN is nobody's promise */
        gen_put(g, "copysign("), gen_expr(g, s, t, depth), gen_put(g, ", min_num("), gen_expr(g, s, t, depth);
        gen_put(g, ", %s(100.0)))", t);
        done = true;
    }
    if (done) gen_count(g, op);
    return done;
}

static void inline_reduction(Gen *g, const GenScope *s, const char *t, int depth) {
    static const char *const kinds[] = { "sum", "product", "minimum", "maximum", "argmin", "argmax" };
    int k = gen_below(g, 6);
    GenScope in = *s;
    in.rdom = NULL;
    in.pure = false;
    char dim[2][16];
    for (int i = 0; i < s->rdom_dims && in.n < 6; i++) {
        snprintf(dim[i], sizeof dim[i], "%s%s", s->rdom, s->rdom_dims == 1 ? "" : i ? ".y" : ".x");
        in.coord[in.n++] = dim[i];
    }
    bool arg = k >= 4;
    const char *of = arg && gen_is_float(t) ? "f32" : t;
    int element = arg ? gen_below(g, s->rdom_dims + 1) : 0;
    bool coordinate = arg && element < s->rdom_dims;
    if (coordinate && strcmp(t, "i32")) gen_put(g, "%s(", t);
    if (arg && !coordinate && strcmp(of, t)) gen_put(g, "%s(", t);
    gen_count(g, kinds[k]);
    gen_put(g, "%s(%s, ", kinds[k], s->rdom), gen_expr(g, &in, of, depth), gen_put(g, ")");
    if (arg) gen_put(g, "[%d]", element);
    if (coordinate && strcmp(t, "i32")) gen_put(g, ")");
    if (arg && !coordinate && strcmp(of, t)) gen_put(g, ")");
}

void gen_expr(Gen *g, const GenScope *s, const char *t, int depth) {
    if (depth <= 0 || g->budget-- <= 0 || gen_below(g, 8) == 0) {
        leaf(g, s, t, depth);
        return;
    }
    int kind = gen_below(g, 16);
    if (kind == 15 && s->rdom && !gen_is_bool(t)) {
        inline_reduction(g, s, t, depth - 1);
        return;
    }
    if (kind > 10 && odd_operator(g, s, t, depth - 1)) return;
    if (gen_is_bool(t)) {
        condition(g, s, depth);
    } else if (kind == 0) {
        gen_count(g, "select");
        gen_put(g, "select("), condition(g, s, depth - 1), gen_put(g, ", "), gen_expr(g, s, t, depth - 1), gen_put(g, ", "),
            gen_expr(g, s, t, depth - 1), gen_put(g, ")");
    } else if (kind == 1) {
        const char *from = all_types[gen_below(g, N_TYPES)];
        gen_count(g, "cast");
        gen_put(g, "%s(", t), gen_expr(g, s, from, depth - 1), gen_put(g, ")");
    } else if (kind == 2) {
        const char *from = all_types[1 + gen_below(g, N_TYPES - 1)];
        gen_count(g, "saturate");
        gen_put(g, "saturate_%s(", t), gen_expr(g, s, from, depth - 1), gen_put(g, ")");
    } else if (kind == 3) {
        gen_count(g, "unary -");
        gen_put(g, "(-"), gen_expr(g, s, t, depth - 1), gen_put(g, ")");
    } else if (kind == 4 && !is_half(t)) {
        gen_count(g, "mux");
        gen_put(g, "mux("), gen_expr(g, s, "i32", depth - 1);
        for (int i = 0; i < 3; i++) gen_put(g, ", "), gen_expr(g, s, t, depth - 2);
        gen_put(g, ")");
    } else {
        const OpRow *r = &rows[gen_below(g, N_ROWS)];
        while (!fits(r, t)) r = &rows[gen_below(g, N_ROWS)];
        gen_count(g, r->text);
        operands(g, s, t, r, depth - 1);
    }
}

void gen_expect_expressions(GenCounts *c) {
    static const char *const more[] = { "extern", "undef", "lerp of integers", "sum", "product", "minimum", "maximum", "argmin", "argmax",
                                        "self-read", "index as data", "param", "param in an index", "data-dependent index",
                                        "clamped index", "scaled index", "ends of a type" };
    for (int i = 0; i < N_TYPES; i++) gen_expect(c, all_types[i]);
    for (int i = 0; i < (int)(sizeof more / sizeof *more); i++) gen_expect(c, more[i]);
}
