/* print.c - expressions as text that parses back to the same nodes.
 *
 * A number is plain where reading it beside its neighbours gives the same constant, else it says its
 * type: u8(3).  Text is as deep and as long as the expression's graph, not its tree: a large node
 * that is used twice, and one that ends a deep chain, is named once in a block,
 *     { $1 = in(x) * in(x) + ...; $2 = $1 / $1; $2 + $1 }
 * so neither the printer nor a parser ever nests deeper than MAX_HEIGHT operators. */
#include "lex.h"
#include "whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_HEIGHT = 60, /* operators nested before a node gets a name */
    MIN_SHARED = 10, /* nodes of a tree that is worth a name where it is used again */
    SMALL = 64       /* trees up to this many nodes are printed as they are */
};

typedef struct {
    StrBuf *out;
    PtrMap name; /* Node -> Info, for those in a block */
    bool has_names;
} Printer;

typedef enum { PLAIN, TYPED, ALONE } Number; /* ALONE: typed, bools too */

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

static void print(Printer *p, const Node *e, int least, Number how);

/* ---- numbers ---- */

/* The shortest decimal text whose value, rounded to t, is v; always with a point or an exponent. */
static void print_float(StrBuf *out, mlc_type t, double v) {
    char s[40];
    if (isnan(v) || isinf(v)) {
        sb_puts(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (val_round(t, strtod(s, NULL)).f == v) break;
    }
    bool whole = true;
    for (char *c = s; *c; c++) {
        bool known = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (!known) *c = '.'; /* the decimal point of any locale */
        if (*c == '.' || *c == 'e') whole = false;
    }
    sb_printf(out, "%s%s", s, whole ? ".0" : "");
}

void ir_print_number(StrBuf *out, mlc_type t, Value v) {
    if (ty_is_float(t)) print_float(out, t, v.f);
    else if (t == MLC_U64) sb_printf(out, "%llu", (unsigned long long)v.i);
    else sb_printf(out, "%lld", (long long)v.i);
}

static void print_digits(StrBuf *out, const Node *e) {
    ir_print_number(out, type_of(e), ir_value(e));
}

/* The types that a number alone has. */
static bool is_natural(const Node *e) {
    mlc_type t = type_of(e);
    return t == MLC_I32 ? e->u.i != INT32_MIN : t == MLC_F64 && isfinite(e->u.f);
}

static void print_number(StrBuf *out, const Node *e, Number how) {
    if (type_of(e) == MLC_BOOL) {
        sb_printf(out, how == ALONE ? "bool(%s)" : "%s", e->u.i ? "true" : "false");
    } else if (how == PLAIN) {
        print_digits(out, e);
    } else {
        sb_printf(out, "%s(", mlc_type_name(type_of(e)));
        print_digits(out, e);
        sb_puts(out, ")");
    }
}

/* The operands of e among which kid i unifies: [from, to). */
static bool unifies(const Node *e, int i, int *from, int *to) {
    *from = 0;
    *to = e->n;
    switch (ir_ops[e->op].rule) {
    case RULE_NUM: case RULE_ANY: case RULE_INT: case RULE_BITS: case RULE_FLT: case RULE_CMP: case RULE_WIDE:
        return e->n > 1;
    case RULE_SEL: *from = 1; break;
    case RULE_OWN:
        if (e->op == OP_MUX) *from = 1;
        else if (e->op == OP_LERP) *to = ty_is_float(type_of(e)) ? 3 : 2;
        else if (e->op == OP_ABSD || e->op == OP_MUL_SHR || e->op == OP_ROUNDING_MUL_SHR) *to = 2;
        else return false;
        break;
    default: return false;
    }
    return i >= *from && i < *to;
}

/* The number c among operands that unify: plain where one of them that is no number has its type, or is a
 * half beside c's f32 (halves keep their literals in f32). */
static Number among(const Node *c, int n, const Node *const *kid) {
    Number how = TYPED;
    if (ty_is_half(type_of(c))) return TYPED;
    for (int i = 0; i < n; i++) {
        bool half = ty_is_half(type_of(kid[i]));
        if (half && type_of(c) == MLC_F32) return PLAIN;
        if (kid[i]->op != OP_CONST && kid[i]->type == c->type) how = PLAIN;
    }
    return how;
}

static Number number_at(const Node *e, int i) {
    const Node *c = e->kid[i];
    int from, to;
    if (c->op != OP_CONST) return PLAIN;
    if (e->op == OP_ACCESS || e->op == OP_LOAD) return type_of(c) == MLC_INDEX ? PLAIN : TYPED;
    if (e->op == OP_IPOW && i == 1) return PLAIN;
    if (ir_ops[e->op].rule == RULE_CAST) return ALONE;
    if (e->op == OP_REQUIRE || e->op == OP_PRINT || (e->op == OP_RANDOM && i == 0)) return is_natural(c) ? PLAIN : TYPED;
    if (ir_ops[e->op].rule == RULE_SHIFT && i == 1 && e->kid[0]->op != OP_CONST)
        return type_of(e->kid[0]) == MLC_INDEX ? (type_of(c) == MLC_INDEX ? PLAIN : TYPED) : is_natural(c) ? PLAIN : TYPED;
    return unifies(e, i, &from, &to) ? among(c, to - from, e->kid + from) : TYPED;
}

/* ---- names and strings ---- */

/* Does the word mean something of its own in an expression? */
static bool is_reserved(const char *s) {
    static const char *const words[] = { "true", "false", "inf", "nan", "type_min", "type_max" };
    static const char *const prefixes[] = { "$", "undef_", "reinterpret_", "saturate_" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(s, words[i])) return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(s, prefixes[i], strlen(prefixes[i]))) return true;
    return false;
}

static void print_name(StrBuf *out, const char *s) {
    sb_printf(out, lex_is_plain_name(s) && !is_reserved(s) ? "%s" : "`%s`", s);
}

void ir_print_string(StrBuf *out, const char *s) {
    sb_puts(out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') sb_printf(out, "\\%c", c);
        else if (c == '\n') sb_puts(out, "\\n");
        else if (c == '\t') sb_puts(out, "\\t");
        else if (c < 32 || c == 127) sb_printf(out, "\\x%02x", c);
        else sb_putn(out, s, 1);
    }
    sb_puts(out, "\"");
}

/* ---- calls ---- */

static void print_kids(Printer *p, const Node *e, int from) {
    for (int i = from; i < e->n; i++) {
        if (i > from) sb_puts(p->out, ", ");
        print(p, e->kid[i], 0, number_at(e, i));
    }
    sb_puts(p->out, ")");
}

static bool is_named(const Printer *p, const Node *e) {
    return p->has_names && pm_has(&p->name, e);
}

/* select(c0, v0, c1, v1, ..., otherwise), its chain of else sides as one list, since its values unify together. */
static void print_select(Printer *p, const Node *e) {
    VEC(const Node *) cond = { 0 }, v = { 0 };
    const Node *s = e;
    for (int i = 0; i < MAX_HEIGHT / 4 && s->op == OP_SELECT && s->type == e->type && (s == e || !is_named(p, s)); i++) {
        VEC_PUSH(p->out->arena, &cond, s->kid[0]);
        VEC_PUSH(p->out->arena, &v, s->kid[1]);
        s = s->kid[2];
    }
    VEC_PUSH(p->out->arena, &v, s);
    sb_puts(p->out, "select(");
    for (int i = 0; i < v.n; i++) {
        if (i < cond.n) print(p, cond.at[i], 0, TYPED);
        if (i < cond.n) sb_puts(p->out, ", ");
        print(p, v.at[i], 0, v.at[i]->op == OP_CONST ? among(v.at[i], v.n, v.at) : PLAIN);
        sb_puts(p->out, i < v.n - 1 ? ", " : ")");
    }
}

/* Funcs and Storage are of higher floors.  A Func begins with its name and its number of elements, a Storage
 * with its Func and its name. */
static int elements_of(const struct Func *f) {
    return *(const int *)(const void *)((const char *)f + sizeof(char *));
}

static const char *storage_name(const struct Storage *s) {
    return *(const char *const *)(const void *)((const char *)s + sizeof(struct Func *));
}

static void print_access(Printer *p, const Node *e) {
    print_name(p->out, ir_func_name(e->u.func));
    sb_puts(p->out, "(");
    print_kids(p, e, 0);
    if (e->aux > 0 || (e->aux == 0 && elements_of(e->u.func) > 1)) sb_printf(p->out, "[%d]", e->aux);
}

static void print_load(Printer *p, const Node *e) {
    print_name(p->out, storage_name(e->u.storage));
    if (e->aux) sb_printf(p->out, ".%d", e->aux);
    sb_puts(p->out, "[");
    print(p, e->kid[0], 0, number_at(e, 0));
    sb_puts(p->out, "]");
}

static void print_random(Printer *p, const Node *e) {
    sb_printf(p->out, "random_%s(", mlc_type_name(type_of(e)));
    print(p, e->kid[0], 0, number_at(e, 0));
    if (e->n == 1) {
        sb_printf(p->out, ", %d)", e->aux);
    } else {
        sb_puts(p->out, ", ");
        print_kids(p, e, 1);
    }
}

/* query.f.0.d1.last: the end of a dimension of a buffer (whole.h). */
static void print_query(StrBuf *out, const Node *e) {
    int which = e->aux;
    sb_printf(out, "query.%s.", ir_func_name(e->u.func));
    if (which < 0) sb_puts(out, which == WHOLE_CODE ? "code" : "fault");
    else sb_printf(out, "%d.d%d.%s", which / (2 * MLC_MAX_RANK), which / 2 % MLC_MAX_RANK, which % 2 ? "last" : "first");
}

static void print_call(Printer *p, const Node *e) {
    StrBuf *out = p->out;
    switch ((Op)e->op) {
    case OP_ACCESS: print_access(p, e); return;
    case OP_EXTERN: case OP_STAGE: print_name(out, e->u.ext->name); break;
    case OP_QUERY: print_query(out, e); break;
    case OP_CAST: sb_puts(out, mlc_type_name(type_of(e))); break;
    case OP_REINTERPRET: case OP_SATURATE: sb_printf(out, "%s_%s", ir_ops[e->op].text, mlc_type_name(type_of(e))); break;
    case OP_LOAD: print_load(p, e); return;
    case OP_RANDOM: print_random(p, e); return;
    case OP_SELECT: print_select(p, e); return;
    case OP_REQUIRE:
        sb_puts(out, "require(");
        print(p, e->kid[0], 0, number_at(e, 0));
        sb_puts(out, ", ");
        print(p, e->kid[1], 0, number_at(e, 1));
        sb_puts(out, ", ");
        ir_print_string(out, e->u.text);
        sb_puts(out, ")");
        return;
    case OP_PRINT:
        sb_puts(out, "print(");
        ir_print_string(out, e->u.text);
        sb_puts(out, ", ");
        print_kids(p, e, 0);
        return;
    default: sb_puts(out, ir_ops[e->op].text); break;
    }
    sb_puts(out, "(");
    print_kids(p, e, 0);
}

/* ---- operators ---- */

/* a - b - c - ...: the left side is a chain, printed without nesting. */
static void print_infix(Printer *p, const Node *e, int least) {
    int prec = ir_ops[e->op].prec;
    bool parens = prec < least;
    if (parens) sb_puts(p->out, "(");
    if (e->n == 1) {
        const Node *a = e->kid[0];
        sb_puts(p->out, ir_ops[e->op].text);
        print(p, a, prec + (a->n == 1 && ir_ops[a->op].prec > 0), TYPED);
    } else {
        print(p, e->kid[0], prec, number_at(e, 0));
        sb_printf(p->out, " %s ", ir_ops[e->op].text);
        print(p, e->kid[1], prec + 1, number_at(e, 1));
    }
    if (parens) sb_puts(p->out, ")");
}

static void print_leaf(Printer *p, const Node *e, Number how) {
    switch ((Op)e->op) {
    case OP_CONST: print_number(p->out, e, how); break;
    case OP_VAR: print_name(p->out, e->u.sym->name); break;
    case OP_UNDEF: sb_printf(p->out, "undef_%s", mlc_type_name(type_of(e))); break;
    default:
        sb_puts(p->out, "poison(");
        ir_print_string(p->out, e->u.text ? e->u.text : "");
        sb_puts(p->out, ")");
    }
}

static void print_node(Printer *p, const Node *e, int least, Number how) {
    if (e->op == OP_CONST || e->op == OP_VAR || e->op == OP_UNDEF || e->op == OP_POISON) print_leaf(p, e, how);
    else if (ir_ops[e->op].prec > 0) print_infix(p, e, least);
    else print_call(p, e);
}

/* ---- blocks ---- */

typedef struct {
    uint32_t uses, size, height;
    int name; /* 0: none */
} Info;

static void print(Printer *p, const Node *e, int least, Number how) {
    const Info *info = p->has_names ? pm_get(&p->name, e) : NULL;
    if (info) sb_printf(p->out, "$%d", info->name);
    else print_node(p, e, least, how);
}

typedef struct {
    PtrMap info;
    Arena *arena;
    VEC(const Node *) order;
} Survey;

static void count_uses(void *user, const Node *e) {
    Survey *s = user;
    pm_put(&s->info, e, ARENA_NEW(s->arena, Info));
    VEC_PUSH(s->arena, &s->order, e);
    for (int i = 0; i < e->n; i++) ((Info *)pm_get(&s->info, e->kid[i]))->uses++;
}

/* Gives names to nodes of the order (operands first), the root excepted; how many. */
static int choose_names(Survey *s, Printer *p) {
    int n = 0;
    for (int k = 0; k < s->order.n; k++) {
        const Node *e = s->order.at[k];
        Info *at = pm_get(&s->info, e);
        at->size = 1;
        for (int i = 0; i < e->n; i++) {
            const Info *kid = pm_get(&s->info, e->kid[i]);
            if (kid->name) at->size++;
            else at->size += kid->size;
            if (!kid->name && kid->height + 1 > at->height) at->height = kid->height + 1;
        }
        bool shared = at->uses > 1 && at->size >= MIN_SHARED;
        if (e->n && k < s->order.n - 1 && (shared || at->height >= MAX_HEIGHT)) {
            at->name = ++n;
            pm_put(&p->name, e, at);
        }
    }
    return n;
}

/* Does the tree have at most *left nodes? */
static bool is_small(const Node *e, int *left) {
    if (--*left < 0) return false;
    for (int i = 0; i < e->n; i++)
        if (!is_small(e->kid[i], left)) return false;
    return true;
}

void ir_print(StrBuf *out, const Node *e) {
    Printer p = { .out = out };
    Number how = is_natural(e) ? PLAIN : TYPED;
    int left = SMALL;
    if (is_small(e, &left)) {
        print(&p, e, 0, how);
        return;
    }
    Survey s = { .arena = out->arena };
    pm_init(&s.info, out->arena);
    pm_init(&p.name, out->arena);
    ir_visit(out->arena, e, count_uses, &s);
    p.has_names = choose_names(&s, &p) > 0;
    if (p.has_names) sb_puts(out, "{ ");
    for (int k = 0; p.has_names && k < s.order.n; k++) {
        const Info *at = pm_get(&p.name, s.order.at[k]);
        if (!at) continue;
        sb_printf(out, "$%d = ", at->name);
        print_node(&p, s.order.at[k], 0, PLAIN);
        sb_puts(out, "; ");
    }
    print(&p, e, 0, how);
    if (p.has_names) sb_puts(out, " }");
}

const char *ir_show(Interner *I, const Node *e) {
    StrBuf out;
    sb_init(&out, I->arena);
    ir_print(&out, e);
    return out.at;
}
