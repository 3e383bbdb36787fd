/* Expression text: print -> parse is the identity on nodes, parse -> print on the rows below; every
 * error says where and what; no bytes crash the parser. */
#include "ir/parse.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a world of a few names ---- */

enum { N_SYMS = 16 };

/* Begins as a Func does, which is all that this floor knows of one. */
struct fake_func {
    const char *name;
    int n;
};
static struct fake_func func_in = { "in", 1 }, func_pair = { "pair", 2 }, func_made = { "C$1", 1 };

typedef struct {
    Arena arena;
    Fault fault;
    Interner I;
    Sym sym[N_SYMS];
    ParseEnv env;
    uint64_t random;
} World;

static const struct {
    const char *name;
    mlc_type type;
} syms[N_SYMS] = {
    { "x", MLC_INDEX },   { "k.x", MLC_INDEX },  { "b", MLC_BOOL },    { "i8v", MLC_I8 },   { "i16v", MLC_I16 }, { "i32v", MLC_I32 },
    { "i64v", MLC_I64 },  { "u8v", MLC_U8 },     { "u16v", MLC_U16 },  { "u32v", MLC_U32 }, { "u64v", MLC_U64 }, { "h", MLC_F16 },
    { "bh", MLC_BF16 },   { "f", MLC_F32 },      { "d", MLC_F64 },     { "inf", MLC_INDEX },
};

static bool find_name(void *user, const Place *place, const char *name, Parsed *r) {
    World *w = user;
    (void)place;
    for (int i = 0; i < N_SYMS; i++)
        if (!strcmp(syms[i].name, name)) {
            r->e = ir_var(&w->I, &w->sym[i]);
            return true;
        }
    return false;
}

static bool find_call(void *user, const Place *place, const char *name, int n, const Parsed *arg, int element, Parsed *r) {
    World *w = user;
    struct fake_func *f = !strcmp(name, "in") ? &func_in : !strcmp(name, "pair") ? &func_pair : !strcmp(name, "C$1") ? &func_made : NULL;
    const Node *kid[8];
    if (!f || n > 8) return false;
    for (int i = 0; i < n; i++) {
        kid[i] = ir_coerce(&w->I, arg[i].e, arg[i].literal, MLC_INDEX, place);
        if (kid[i]->op == OP_POISON) {
            r->e = kid[i];
            return true;
        }
    }
    r->e = ir_access(&w->I, (struct Func *)(void *)f, MLC_U8, element < 0 ? 0 : element, n, kid);
    return true;
}

static const char *const *known(void *user, int *n) {
    static const char *const names[] = { "in", "pair", "u32v" };
    (void)user;
    *n = 3;
    return names;
}

static void world_init(World *w) {
    memset(w, 0, sizeof *w);
    arena_init(&w->arena, NULL, &w->fault);
    ir_interner_init(&w->I, &w->arena, NULL);
    for (int i = 0; i < N_SYMS; i++) w->sym[i] = (Sym){ .name = syms[i].name, .kind = SYM_PARAM, .type = syms[i].type };
    w->env = (ParseEnv){ .user = w, .name = find_name, .call = find_call, .names = known };
    w->random = 1;
}

static uint64_t next(World *w) {
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int below(World *w, int n) {
    return (int)(next(w) % (uint64_t)n);
}

/* NULL on an error, which is in w->fault; the caret is shown. */
static const Node *parse(World *w, const char *text, size_t n) {
    Parser P = { 0 };
    Barrier b;
    w->fault.info.code = 0;
    w->fault.info.message[0] = 0;
    if (!FAULT_TRY(&w->fault, b)) return NULL;
    ir_parser_init(&P, &w->I, &w->env, text, n, NULL, 1);
    const Node *e = ir_parse_expr(&P).e;
    if (!lex_at_end(&P.lex)) lex_unexpected(&P.lex, "the end");
    FAULT_END(&w->fault, b);
    return e;
}

static const char *show(World *w, const Node *e) {
    return ir_show(&w->I, e);
}

static void same_node(World *w, const Node *e) {
    const char *s = show(w, e);
    const Node *back = parse(w, s, strlen(s));
    ck_assert_msg(back != NULL, "%s: %s", s, w->fault.info.message);
    ck_assert_msg(back == e, "%s came back as %s", s, show(w, back));
}

/* ---- rows ---- */

START_TEST(rows) {
    static const struct {
        const char *text, *printed; /* printed NULL: the same */
    } row[] = {
        { "x", NULL },
        { "x + 1", NULL },
        { "-3", NULL },
        { "- 3", "-3" },
        { "x - -3", NULL },
        { "-x", NULL },
        { "- -x", "-(-x)" },
        { "~-i32v", "~(-i32v)" },
        { "!(b && !b)", NULL },
        { "(x + 1) * 2", NULL },
        { "x + 1 * x", NULL },
        { "x - (x - 1)", NULL },
        { "x - x - 1", NULL },
        { "1 << i32v", "i32(1) << i32v" },
        { "u8v << 3", NULL },
        { "x << 3", NULL },
        { "i32v & 3 ^ i32v | 7", NULL },
        { "(i32v | 3) & 7", NULL },
        { "x < 3 && x >= 0 || b", NULL },
        { "b == true", NULL },
        { "in(x, 3)", NULL },
        { "in(x, -1) + 1", NULL },
        { "in()", NULL },
        { "pair(x)[1]", NULL },
        { "pair(x)", "pair(x)[0]" },
        { "`in`(x)", "in(x)" },
        { "C$1(x)", NULL },
        { "k.x * 2", NULL },
        { "`inf` + 1", NULL },
        { "f * 0.1", NULL },
        { "f * 0.1f", "f * 0.1" },
        { "f * 3", "f * 3.0" },
        { "f + 1e30", "f + 1e+30" },
        { "f + 0x1.8p-3", "f + 0.1875" },
        { "f + .5", "f + 0.5" },
        { "f + 5.", "f + 5.0" },
        { "f * -0.0", NULL },
        { "f < inf", NULL },
        { "f > -inf", NULL },
        { "f != nan", NULL },
        { "d * 0.1", NULL },
        { "f + 16777217.0", "f + 16777216.0" },
        { "0.5", NULL },
        { "0.5f", "f32(0.5)" },
        { "nan", "f32(nan)" },
        { "7u", "u32(7)" },
        { "0xffffffff", "u32(4294967295)" },
        { "4294967296", "i64(4294967296)" },
        { "18446744073709551615", "u64(18446744073709551615)" },
        { "-9223372036854775808", "i64(-9223372036854775808)" },
        { "i32(-2147483648)", NULL },
        { "u64v + 18446744073709551615", NULL },
        { "h + 0.1", NULL },       /* literals beside halves are f32 */
        { "h + f16(0.5)", NULL },
        { "f16(h + 1.0)", NULL },
        { "u8(f)", NULL },
        { "u8(3)", NULL },
        { "u8(i32v) + 3", NULL },
        { "reinterpret_u32(f) & 0x80000000", "reinterpret_u32(f) & 2147483648" },
        { "saturate_u8(i32v * 3)", NULL },
        { "u8v + i32v", "i32(u8v) + i32v" },
        { "u8v + x", "i32(u8v) + i32(x)" },
        { "f32(x)", "f32(i32(x))" },
        { "min(x, 3)", NULL },
        { "min(f, 1, 2.5)", "min(min(f, 1.0), 2.5)" },
        { "clamp(x, 0, 9)", NULL },
        { "clamp(u8v, 1, u8v)", NULL },
        { "select(b, f, 0.0)", NULL },
        { "select(b, 1.0, x < 3, 2.0, f)", NULL },
        { "select(b, h, x < 3, 1.0, 2.0)", NULL },
        { "mux(x, f, 1.0, 2.0)", NULL },
        { "lerp(u8v, u8v, 0.5f)", "lerp(u8v, u8v, f32(0.5))" },
        { "lerp(h, 1.0, 0.5)", NULL },
        { "ipow(f, 3)", NULL },
        { "fma(f, f, 1.0)", NULL },
        { "absd(x, 3)", "absd(i32(x), i32(index(3)))" },
        { "require(x < 3, f, \"a \\\"b\\\"\\n\\x01\")", NULL },
        { "print(\"f\", f, x)", NULL },
        { "likely(x % 8)", NULL },
        { "undef_f32", NULL },
        { "type_max(u8)", "u8(255)" },
        { "type_min(i64)", "i64(-9223372036854775808)" },
        { "{ t = x + 1; t * t }", "(x + 1) * (x + 1)" },
        { "{ t = x; t = t + 1; t; }", "x + 1" },
        { "x /* a */ + // b\n 1", "x + 1" },
        { "b && i32v << 2 == 4", NULL },
    };
    World w;
    world_init(&w);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const Node *e = parse(&w, row[i].text, strlen(row[i].text));
        ck_assert_msg(e != NULL, "%s: %s", row[i].text, w.fault.info.message);
        ck_assert_str_eq(show(&w, e), row[i].printed ? row[i].printed : row[i].text);
        same_node(&w, e);
    }
    arena_free(&w.arena);
}
END_TEST

/* ---- errors ---- */

START_TEST(errors) {
    static const struct {
        const char *text, *message;
    } row[] = {
        { "", "text:1:1: expected an expression, found the end of the text; see docs/language.md" },
        { "x +", "text:1:4: expected an expression, found the end of the text; see docs/language.md" },
        { "(x + 1", "text:1:7: expected ')', found the end of the text; see docs/language.md" },
        { "x\n + (x 3)", "text:2:7: expected ')', found '3'; see docs/language.md" },
        { "x ? 1", "text:1:3: there is no c ? a : b here; write select(c, a, b)" },
        { "x + \x80", "text:1:5: the character 128 begins nothing here; remove it" },
        { "1.5e", "text:1:1: '1.5e' is no number; write 12, 0x1f, 1.5, 1e-3, 0x1.8p3, 1.5f or 7u" },
        { "12ab", "text:1:1: '12ab' is no number; write 12, 0x1f, 1.5, 1e-3, 0x1.8p3, 1.5f or 7u" },
        { "0x1.8", "text:1:1: '0x1.8' is no number; write 12, 0x1f, 1.5, 1e-3, 0x1.8p3, 1.5f or 7u" },
        { "18446744073709551616", "text:1:1: '18446744073709551616' does not fit 64 bits; write a float or a smaller number" },
        { "-1e999", "text:1:2: '1e999' is beyond every float; write inf where infinity is meant" },
        { "1e39f", "text:1:1: '1e39f' is beyond every float; write inf where infinity is meant" },
        { "x + 010", "text:1:5: '010' is octal in C; write it without the leading 0" },
        { "print(\"a", "text:1:7: the string has no end on its line; close it with a double quote" },
        { "print(\"a\\q\", x)", "text:1:7: the string holds an unknown escape; use \\n \\t \\r \\\" \\\\ or \\xHH" },
        { "`x", "text:1:1: the backquoted name is empty or has no end on its line; close it with a backquote" },
        { "x /* ", "text:1:3: the comment has no end; close it with */" },
        { "pairs(x)", "text:1:1: there is no 'pairs' here (did you mean 'pair'?); define it before its use" },
        { "1 + qqqqqqqqqqqq", "text:1:5: there is no 'qqqqqqqqqqqq' here; define it before its use" },
        { "sqrt + 1", "text:1:1: 'sqrt' is a function; give it operands in parentheses" },
        { "min(x)", "text:1:1: min takes 2 operands, not 1; give it as many" },
        { "select(b, x, b, x)", "text:1:1: select takes an odd number of operands, not 4; give it as many" },
        { "mux(x)", "text:1:1: mux takes at least 2 operands, not 1; give it as many" },
        { "x + (u32v +\n  i32v)", "text:1:11: + of u32 and i32: they have no common type; cast one side, as in i64(..)" },
        { "u8v + 256", "text:1:5: the literal 256 is not a value of u8; widen the other side, or write u8(256), which wraps or rounds" },
        { "in(f)", "text:1:1: an index is made of f32; convert it, as in index(i32(..))" },
        { "require(x, f, \"\")", "text:1:1: a value of index does not fit bool; write bool(..) around it" },
        { "require(b, f, f)", "text:1:15: expected the message of require, a string, found 'f'; see docs/language.md" },
        { "pair(x)[x]", "text:1:9: expected the number of a tuple's element, found 'x'; see docs/language.md" },
    };
    World w;
    world_init(&w);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ck_assert_msg(!parse(&w, row[i].text, strlen(row[i].text)), "%s is accepted", row[i].text);
        ck_assert_str_eq(w.fault.info.message, row[i].message);
    }
    arena_free(&w.arena);
}
END_TEST

START_TEST(caret) {
    World w;
    world_init(&w);
    const char *text = "x +\n  (x ? 3)\n";
    Parser P = { 0 };
    Barrier b;
    if (FAULT_TRY(&w.fault, b)) {
        ir_parser_init(&P, &w.I, &w.env, text, strlen(text), "blur.mlc", 10);
        ir_parse_expr(&P);
        FAULT_END(&w.fault, b);
        ck_abort_msg("accepted");
    }
    lex_show_caret(&P.lex);
    ck_assert_str_eq(w.fault.info.message,
                     "blur.mlc:11:6: there is no c ? a : b here; write select(c, a, b)\n      (x ? 3)\n         ^");
    arena_free(&w.arena);
}
END_TEST

/* ---- depth ---- */

static char *nested(World *w, int n, const char *open, const char *close) {
    StrBuf s;
    sb_init(&s, &w->arena);
    for (int i = 0; i < n; i++) sb_puts(&s, open);
    sb_puts(&s, "x");
    for (int i = 0; i < n; i++) sb_puts(&s, close);
    return s.at;
}

START_TEST(depths) {
    World w;
    world_init(&w);
    char *s = nested(&w, 499, "(", ")");
    ck_assert(parse(&w, s, strlen(s)) != NULL);
    static const char *const open[] = { "(", "-", "{", "abs(", "in(", "{ t = " };
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        s = nested(&w, 100000, open[i], "");
        ck_assert(!parse(&w, s, strlen(s)));
        ck_assert_ptr_nonnull(strstr(w.fault.info.message, "nests more than 500 levels deep"));
    }
    s = nested(&w, 20000, "x + ", ""); /* a chain is no depth */
    const Node *e = parse(&w, s, strlen(s));
    ck_assert(e != NULL);
    same_node(&w, e);
    arena_free(&w.arena);
}
END_TEST

/* Graphs that are exponential, or very deep, as trees. */
START_TEST(shared) {
    World w;
    world_init(&w);
    const Node *f = ir_var(&w.I, &w.sym[13]), *e = f;
    for (int i = 0; i < 300; i++) {
        const Node *kids[3] = { e, e, f };
        e = ir_typed(&w.I, i % 2 ? OP_MIN : OP_FMA, NULL, i % 2 ? 2 : 3, kids, 0);
    }
    ck_assert_uint_lt(strlen(show(&w, e)), 10000);
    same_node(&w, e);
    for (int i = 0; i < 3000; i++) e = ir_typed(&w.I, i % 3 ? OP_NEG : OP_SQRT, NULL, 1, &e, 0);
    same_node(&w, e);
    const Node *b = ir_var(&w.I, &w.sym[2]);
    for (int i = 0; i < 300; i++) {
        const Node *kids[3] = { b, f, e };
        e = ir_typed(&w.I, OP_SELECT, NULL, 3, kids, 0);
    }
    same_node(&w, e);
    const Node *t = parse(&w, "(f + 1) * (f + 1)", 17);
    const Node *big = parse(&w, "in(x + 1) + in(x + 2) + in(x + 3)", 33), *two[2] = { big, big };
    for (int i = 0; i < 4; i++) two[0] = two[1] = ir_typed(&w.I, OP_MUL, NULL, 2, two, 0);
    ck_assert_str_eq(show(&w, t), "(f + 1.0) * (f + 1.0)");
    ck_assert_str_eq(show(&w, two[0]), "{ $1 = in(x + 1) + in(x + 2) + in(x + 3); $2 = $1 * $1 * ($1 * $1) * ($1 * $1 * ($1 * $1)); $2 * $2 }");
    arena_free(&w.arena);
}
END_TEST

/* ---- every operator and type, on random operands ---- */

static const Node *hostile_const(World *w, mlc_type t) {
    if (ty_is_float(t)) {
        static const double v[] = { 0.0, -0.0, 1, -1, 0.1, 1e-45, 3e38, 65504, 1.0 / 3, 5e-324, 1e308, 16777217 };
        int k = below(w, 16);
        if (k == 12) return ir_flt(&w->I, t, (double)__builtin_inff());
        if (k == 13) return ir_flt(&w->I, t, -(double)__builtin_inff());
        if (k == 14) return ir_flt(&w->I, t, (double)__builtin_nanf(""));
        if (k == 15) return ir_flt(&w->I, t, (double)(int64_t)next(w) / 3e15);
        return ir_flt(&w->I, t, v[k]);
    }
    if (t == MLC_BOOL) return ir_bool(&w->I, below(w, 2));
    int64_t v[] = { ty_min(t), (int64_t)ty_max(t), 0, 1, -1, 3, (int64_t)next(w) };
    return ir_int(&w->I, t, v[below(w, 7)]);
}

static const Node *random_node(World *w, int depth, uint32_t *literal);

static const Node *random_kid(World *w, int depth, uint32_t *literal) {
    *literal = 0;
    if (below(w, 3) == 0) {
        static const mlc_type natural[] = { MLC_I32, MLC_F32, MLC_F64, MLC_U32, MLC_I64, MLC_U64, MLC_BOOL };
        *literal = below(w, 3) > 0;
        return hostile_const(w, *literal ? natural[below(w, 7)] : (mlc_type)(1 + below(w, MLC_INDEX)));
    }
    if (depth <= 0 || below(w, 3) == 0) return ir_var(&w->I, &w->sym[below(w, N_SYMS)]);
    uint32_t none;
    return random_node(w, depth - 1, &none);
}

/* A node of a random operator, or a variable where the operands drawn do not fit it. */
static const Node *random_node(World *w, int depth, uint32_t *literal) {
    Op op = (Op)below(w, OP_COUNT);
    const Node *kid[5];
    uint32_t bits = 0, one;
    int n = ir_ops[op].arity < 0 ? 2 + below(w, 3) : ir_ops[op].arity;
    *literal = 0;
    for (int i = 0; i < n; i++) {
        kid[i] = random_kid(w, depth, &one);
        bits |= one << i;
    }
    if (op == OP_IPOW) kid[1] = ir_int(&w->I, MLC_I32, below(w, 9));
    if (ir_ops[op].cls == CLASS_LEAF || op == OP_RANDOM || op == OP_REQUIRE || op == OP_PRINT)
        return ir_var(&w->I, &w->sym[below(w, N_SYMS)]);
    w->fault.info.code = 0;
    const Node *e = ir_ops[op].rule == RULE_CAST
                        ? ir_typed_cast(&w->I, op, (mlc_type)(1 + below(w, MLC_INDEX)), NULL, kid[0], bits & 1)
                        : ir_typed(&w->I, op, NULL, n, kid, bits);
    return e->op == OP_POISON ? ir_var(&w->I, &w->sym[below(w, N_SYMS)]) : e;
}

static void count(void *user, const Node *e) {
    ((int *)user)[e->op]++;
}

START_TEST(random_round_trip) {
    World w;
    world_init(&w);
    int seen[OP_COUNT] = { 0 };
    for (int i = 0; i < 20000; i++) {
        uint32_t literal;
        const Node *e = random_node(&w, 3, &literal);
        ir_visit(&w.arena, e, count, seen);
        same_node(&w, e);
        if (w.arena.bytes > 200u << 20) break;
    }
    for (int op = 0; op < OP_COUNT; op++) {
        bool other = ir_ops[op].cls == CLASS_LEAF || op == OP_RANDOM || op == OP_REQUIRE || op == OP_PRINT;
        ck_assert_msg(other || seen[op] > 0, "%s was never drawn", ir_ops[op].name);
    }
    arena_free(&w.arena);
}
END_TEST

START_TEST(constants) {
    World w;
    world_init(&w);
    for (mlc_type t = MLC_BOOL; t < MLC_TYPE_COUNT; t++) {
        const Node *v = ir_var(&w.I, &w.sym[t == MLC_INDEX ? 0 : 1 + (int)t]);
        for (int i = 0; i < 200; i++) {
            const Node *c = hostile_const(&w, t), *kids[2] = { v, c };
            same_node(&w, c);
            same_node(&w, ir_typed(&w.I, OP_EQ, NULL, 2, kids, 0));
        }
    }
    arena_free(&w.arena);
}
END_TEST

/* Decimal points are points, whatever the process's locale. */
START_TEST(locale) {
    const char *set = setlocale(LC_NUMERIC, "de_DE.UTF-8");
    World w;
    world_init(&w);
    const Node *e = parse(&w, "f * 0.25f + d * 1.5", 19);
    const char *s = show(&w, e);
    setlocale(LC_NUMERIC, "C");
    ck_assert_str_eq(s, "f64(f * 0.25) + d * 1.5");
    (void)set; /* absent locales leave "C", which tests less */
    arena_free(&w.arena);
}
END_TEST

/* ---- bodies ---- */

START_TEST(bodies) {
    World w;
    world_init(&w);
    static const char *const names[] = { "a", "MAX" };
    static const struct {
        const char *body;
        int sym;
        const char *printed;
    } row[] = {
        { "t = a * a; u = t - 1; u * t", 7, "(u8v * u8v - 1) * (u8v * u8v)" },
        { "W(a) + W(a)", 7, "u16(u8v) + u16(u8v)" },
        { "S(a) >> 1", 7, "i8(u8v) >> 1" },
        { "U(a) - 2", 5, "u32(i32v) - 2" },
        { "reinterpret_U(a) & 0x7fffffff", 13, "reinterpret_u32(f) & 2147483647" },
        { "T(0x1.8p1) * a", 13, "f32(3.0) * f" },
        { "type_max(T) - a", 7, "u8(255) - u8v" },
        { "1 + 2", 7, "i32(1) + i32(2)" }, /* nothing folds */
        { "min(MAX, a) * a + a", 7, "min(3, u8v) * u8v + u8v" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const Node *a = ir_var(&w.I, &w.sym[row[i].sym]), *params[2] = { a, ir_int(&w.I, (mlc_type)a->type, 3) };
        Barrier b;
        if (!FAULT_TRY(&w.fault, b)) ck_abort_msg("%s: %s", row[i].body, w.fault.info.message);
        const Node *e = ir_parse_body(&w.I, row[i].body, ty_is_float((mlc_type)a->type) ? 1 : 2, params, names, (mlc_type)a->type);
        FAULT_END(&w.fault, b);
        if (i == 5) ck_assert_str_eq(show(&w, e), "3.0 * f");
        else if (i == 6) ck_assert_str_eq(show(&w, e), "255 - u8v");
        else ck_assert_str_eq(show(&w, e), row[i].printed);
    }
    arena_free(&w.arena);
}
END_TEST

/* ---- garbage ---- */

START_TEST(garbage) {
    static const char *const seed[] = {
        "select(b, in(x + 1, 3) * 0x1.8p-3, { t = f + 1.5e3; t * t })", "print(\"a\\n\", -u8v << 2, pair(x)[1]) /* c */ || !b",
        "require(x <= 18446744073709551615u, `inf` % k.x, \"m\") // e\n", "reinterpret_u32(f16(1.0f)) ^ ~0xffull >> type_max(i8)",
    };
    World w;
    world_init(&w);
    for (int i = 0; i < 20000; i++) {
        char s[256];
        const char *from = seed[below(&w, 4)];
        size_t n = strlen(from);
        memcpy(s, from, n);
        for (int k = below(&w, 6); k >= 0; k--) {
            size_t at = (size_t)below(&w, (int)n);
            switch (below(&w, 4)) {
            case 0: s[at] = (char)next(&w); break;
            case 1: s[at] = "(){}[];,.=<>&|\"`/*0x1e-"[below(&w, 23)]; break;
            case 2: memmove(s + at, s + at + 1, n - at - 1), n -= n > 1; break;
            default: n = at + 1; break;
            }
        }
        char *exact = malloc(n); /* a read past the end is a sanitizer's to see */
        memcpy(exact, s, n);
        const Node *e = parse(&w, exact, n);
        if (!e) ck_assert_int_ne(w.fault.info.code, 0);
        if (!e) ck_assert_int_ne(w.fault.info.code, ERR_INTERNAL);
        free(exact);
        if (w.arena.bytes > 64u << 20) {
            uint64_t state = w.random;
            arena_free(&w.arena);
            world_init(&w);
            w.random = state;
        }
    }
    arena_free(&w.arena);
}
END_TEST

Suite *text_suite(void);
Suite *text_suite(void) {
    Suite *s = suite_create("text");
    TCase *t = tcase_create("expressions");
    tcase_add_test(t, rows);
    tcase_add_test(t, errors);
    tcase_add_test(t, caret);
    tcase_add_test(t, depths);
    tcase_add_test(t, shared);
    tcase_add_test(t, random_round_trip);
    tcase_add_test(t, constants);
    tcase_add_test(t, locale);
    tcase_add_test(t, bodies);
    tcase_add_test(t, garbage);
    suite_add_tcase(s, t);
    return s;
}
