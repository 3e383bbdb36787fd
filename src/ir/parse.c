/* parse.c - expressions by precedence climbing over ops.def.
 *
 * Depth is counted, so that no text overflows the C stack; chains such as a + b + c + ... are loops and
 * cost no depth.  Each operator is typed as soon as it is read, at its own place in the text. */
#include "parse.h"

#include <string.h>

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

static Parsed value(const Node *e) {
    return (Parsed){ e, false };
}

static Place place_of(Parser *P, const Token *t) {
    if (!P->place_file || P->place_line != t->line) {
        P->place_file = lex_place_of(&P->lex, t).loc.file;
        P->place_line = t->line;
    }
    P->lex.mark = t->at;
    return (Place){ .loc = { P->place_file, t->col } };
}

const Node *ir_parse_check(Parser *P, const Node *e) {
    if (e->op == OP_POISON) ir_raise_poison(P->I->fault, e);
    return e;
}

static void enter(Parser *P) {
    if (++P->depth <= PARSE_MAX_DEPTH) return;
    Place place = lex_place(&P->lex);
    fault_raise(P->I->fault, ERR_TEXT_DEPTH, &place, PARSE_MAX_DEPTH);
}

/* ---- operators ---- */

static bool all_numbers(int n, const Parsed *kid) {
    for (int i = 0; i < n; i++)
        if (!kid[i].literal) return false;
    return n > 0;
}

/* An operator on plain numbers alone is the number that it gives. */
static const Node *folded(Parser *P, const Node *e, int n, const Parsed *kid) {
    if (!P->env || !P->env->fold || !all_numbers(n, kid)) return e;
    return ir_parse_check(P, P->env->fold(P->env->user, e));
}

static Parsed typed(Parser *P, const Token *at, Op op, int n, const Parsed *kid) {
    Place place = place_of(P, at);
    const Node *small[4], **e = n <= 4 ? small : ARENA_ARRAY(P->I->arena, const Node *, n);
    uint32_t literal = 0;
    for (int i = 0; i < n; i++) {
        e[i] = kid[i].e;
        if (kid[i].literal && i < 32) literal |= UINT32_C(1) << i;
    }
    const Node *typed_node = ir_parse_check(P, ir_typed(P->I, op, &place, n, e, literal));
    const Node *r = folded(P, typed_node, n, kid);
    return (Parsed){ r, r != typed_node };
}

static Op find_op(const char *text, bool infix, int arity) {
    for (int op = 0; op < OP_COUNT; op++) {
        const OpInfo *o = &ir_ops[op];
        if ((o->prec > 0) != infix || (infix && o->arity != arity) || o->cls == CLASS_LEAF) continue;
        if (!strcmp(o->text, text)) return (Op)op;
    }
    return OP_COUNT;
}

/* min, max of more than two group from the left. */
static Parsed chain(Parser *P, const Token *at, Op op, int n, const Parsed *kid) {
    Parsed r = kid[0];
    for (int i = 1; i < n; i++) r = typed(P, at, op, 2, (Parsed[2]){ r, kid[i] });
    return r;
}

/* select(c0, v0, c1, v1, ..., otherwise): all values unify, then nest from the right. */
static Parsed select_chain(Parser *P, const Token *at, int n, const Parsed *kid) {
    Place place = place_of(P, at);
    Interner *I = P->I;
    int values = n / 2 + 1;
    const Node **v = ARENA_ARRAY(I->arena, const Node *, values);
    uint32_t literal = 0;
    for (int i = 0; i < values; i++) {
        const Parsed *p = &kid[i == values - 1 ? n - 1 : 2 * i + 1];
        v[i] = p->e;
        if (p->literal && i < 32) literal |= UINT32_C(1) << i;
    }
    mlc_type t = (mlc_type)ir_typed_unify(I, OP_SELECT, &place, values, v, literal);
    if (t == MLC_VOID) ir_parse_check(P, v[0]);
    const Node *r = v[values - 1];
    for (int i = values - 2; i >= 0; i--) {
        const Parsed *c = &kid[2 * i];
        const Node *three[3] = { ir_parse_check(P, ir_coerce(I, c->e, c->literal, MLC_BOOL, &place)), v[i], r };
        r = ir_node(I, OP_SELECT, t, 0, 0, 3, three);
    }
    return value(folded(P, r, n, kid));
}

static void want_operands(Parser *P, const Token *at, bool ok, const char *wanted, int n) {
    if (ok) return;
    Place place = place_of(P, at);
    fault_raise(P->I->fault, ERR_TEXT_OPERANDS, &place, at->text, wanted, n);
}

static Parsed operator_call(Parser *P, const Token *at, Op op, int n, const Parsed *kid) {
    static const char *const count[] = { "0", "1", "2", "3" };
    if ((op == OP_MIN || op == OP_MAX) && n > 2) return chain(P, at, op, n, kid);
    if (op == OP_SELECT && n > 3) {
        want_operands(P, at, n % 2 == 1, "an odd number of", n);
        return select_chain(P, at, n, kid);
    }
    int arity = ir_ops[op].arity;
    if (arity >= 0) want_operands(P, at, n == arity, count[arity], n);
    else want_operands(P, at, n >= 2, "at least 2", n);
    return typed(P, at, op, n, kid);
}

/* ---- casts ---- */

/* A type's name; in bodies also T, W (twice as wide), U and S (unsigned, signed of T's width). */
static mlc_type type_named(const Parser *P, const char *s) {
    mlc_type t = ty_from_name(s), g = P->generic;
    if (t != MLC_VOID || g == MLC_VOID || !*s || s[1]) return t;
    int bits = ty_bits(g);
    switch (*s) {
    case 'T': return g;
    case 'W': return ty_is_float(g) ? MLC_F64 : ty_int(!ty_is_unsigned(g), 2 * bits);
    case 'U': return ty_int(false, bits);
    case 'S': return ty_int(true, bits);
    default: return MLC_VOID;
    }
}

static mlc_type type_behind(const Parser *P, const char *s, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(s, prefix, n) ? MLC_VOID : type_named(P, s + n);
}

static bool cast_named(const Parser *P, const char *s, Op *op, mlc_type *t) {
    if ((*t = type_named(P, s)) != MLC_VOID) *op = OP_CAST;
    else if ((*t = type_behind(P, s, "reinterpret_")) != MLC_VOID) *op = OP_REINTERPRET;
    else if ((*t = type_behind(P, s, "saturate_")) != MLC_VOID) *op = OP_SATURATE;
    return *t != MLC_VOID;
}

static Parsed cast(Parser *P, const Token *at, Op op, mlc_type t, int n, const Parsed *kid) {
    Place place = place_of(P, at);
    want_operands(P, at, n == 1, "1", n);
    const Node *e = ir_parse_check(P, ir_typed_cast(P->I, op, t, &place, kid[0].e, kid[0].literal));
    return value(e->op == OP_CONST ? e : folded(P, e, n, kid));
}

/* ---- names ---- */

static const Node *find_local(const Parser *P, const char *name) {
    for (int i = P->local.n - 1; i >= 0; i--)
        if (!strcmp(P->local.at[i].name, name)) return P->local.at[i].e;
    return NULL;
}

static const char *hint(Parser *P, const char *name) {
    VEC(const char *) all = { 0 };
    Arena *a = P->I->arena;
    for (int i = 0; i < P->local.n; i++) VEC_PUSH(a, &all, P->local.at[i].name);
    int n = 0;
    const char *const *names = P->env && P->env->names ? P->env->names(P->env->user, &n) : NULL;
    for (int i = 0; i < n; i++) VEC_PUSH(a, &all, names[i]);
    for (int op = 0; op < OP_COUNT; op++)
        if (ir_ops[op].cls != CLASS_LEAF && ir_ops[op].prec == 0) VEC_PUSH(a, &all, ir_ops[op].text);
    for (int t = MLC_BOOL; t < MLC_TYPE_COUNT; t++) VEC_PUSH(a, &all, mlc_type_name((mlc_type)t));
    return did_you_mean(a, name, all.at, all.n);
}

_Noreturn static void unknown(Parser *P, const Token *at) {
    Place place = place_of(P, at);
    fault_raise(P->I->fault, ERR_TEXT_NAME, &place, at->text, hint(P, at->text), P->env && P->env->remedy ? P->env->remedy : "");
}

static Parsed constant_name(Parser *P, const Token *at) {
    const char *s = at->text;
    Interner *I = P->I;
    if (!strcmp(s, "true") || !strcmp(s, "false")) return (Parsed){ ir_bool(I, *s == 't'), true };
    if (!strcmp(s, "inf")) return (Parsed){ ir_flt(I, MLC_F32, (double)__builtin_inff()), true };
    if (!strcmp(s, "nan")) return (Parsed){ ir_flt(I, MLC_F32, (double)__builtin_nanf("")), true };
    mlc_type t = type_behind(P, s, "undef_");
    return value(t != MLC_VOID && t != MLC_INDEX ? ir_node(I, OP_UNDEF, t, 0, 0, 0, NULL) : NULL);
}

static Parsed named(Parser *P, const Token *at) {
    Parsed r = value(find_local(P, at->text));
    if (!r.e && !at->quoted) r = constant_name(P, at);
    Place place = place_of(P, at);
    if (!r.e && P->env && P->env->name(P->env->user, &place, at->text, &r)) ir_parse_check(P, r.e);
    if (r.e) return r;
    Op op;
    mlc_type t;
    if (!at->quoted && (find_op(at->text, false, 0) != OP_COUNT || cast_named(P, at->text, &op, &t)))
        fault_raise(P->I->fault, ERR_TEXT_NOT_CALLED, &place, at->text);
    unknown(P, at);
}

/* ---- calls ---- */

typedef VEC(Parsed) Args;

static Args arguments(Parser *P) {
    Args a = { 0 };
    if (lex_accept(&P->lex, ")")) return a;
    do {
        Parsed p = ir_parse_expr(P);
        VEC_PUSH(P->I->arena, &a, p);
    } while (lex_accept(&P->lex, ","));
    lex_expect(&P->lex, ")");
    return a;
}

/* An operand that may have any type, but must have one. */
static const Node *a_value(Parser *P, Parsed p, const Place *place) {
    return ir_parse_check(P, ir_coerce(P->I, p.e, p.literal, type_of(p.e), place));
}

/* require(cond, value, "message"). */
static Parsed require_call(Parser *P, const Token *at) {
    Parsed cond = ir_parse_expr(P);
    lex_expect(&P->lex, ",");
    Parsed v = ir_parse_expr(P);
    lex_expect(&P->lex, ",");
    const char *message = ir_text(P->I, lex_string(&P->lex, "the message of require, a string"));
    lex_expect(&P->lex, ")");
    Place place = place_of(P, at);
    const Node *c = ir_parse_check(P, ir_coerce(P->I, cond.e, cond.literal, MLC_BOOL, &place)), *kids[2] = { c, a_value(P, v, &place) };
    return value(ir_node(P->I, OP_REQUIRE, type_of(v.e), (uint64_t)(uintptr_t)message, 0, 2, kids));
}

/* print("label", value, more ...). */
static Parsed print_call(Parser *P, const Token *at) {
    const char *label = ir_text(P->I, lex_string(&P->lex, "the label of print, a string"));
    lex_expect(&P->lex, ",");
    Args a = arguments(P);
    if (!a.n) lex_unexpected(&P->lex, "a value to print");
    const Node **kids = ARENA_ARRAY(P->I->arena, const Node *, a.n);
    Place place = place_of(P, at);
    for (int i = 0; i < a.n; i++) kids[i] = a_value(P, a.at[i], &place);
    return value(ir_node(P->I, OP_PRINT, type_of(kids[0]), (uint64_t)(uintptr_t)label, 0, a.n, kids));
}

/* type_min(u8), type_max(T). */
static Parsed type_end(Parser *P, bool max) {
    const char *s = lex_name(&P->lex, "a type");
    mlc_type t = type_named(P, s);
    if (t == MLC_VOID || t == MLC_BOOL) lex_unexpected(&P->lex, "a type of numbers");
    lex_expect(&P->lex, ")");
    double end = max ? (double)__builtin_inff() : -(double)__builtin_inff();
    if (ty_is_float(t)) return value(ir_flt(P->I, t, end));
    return value(ir_int(P->I, t, max ? (int64_t)ty_max(t) : ty_min(t)));
}

static int element(Parser *P) {
    if (!lex_accept(&P->lex, "[")) return -1;
    int64_t i = lex_integer(&P->lex, "the number of a tuple's element");
    lex_expect(&P->lex, "]");
    return i < 0 || i > 1000 ? 1000 : (int)i;
}

static Parsed env_call(Parser *P, const Token *at, Args a) {
    int elem = element(P);
    Place place = place_of(P, at);
    if (find_local(P, at->text)) fault_raise(P->I->fault, ERR_TEXT_CALLED, &place, at->text, "a value", at->text);
    Parsed r = value(NULL);
    if (!P->env || !P->env->call(P->env->user, &place, at->text, a.n, a.at, elem, &r)) unknown(P, at);
    ir_parse_check(P, r.e);
    return r;
}

/* `at` is the name, the current token what follows its parenthesis. */
static Parsed call(Parser *P, const Token *at) {
    const char *s = at->text;
    if (at->quoted) return env_call(P, at, arguments(P));
    if (!strcmp(s, "require")) return require_call(P, at);
    if (!strcmp(s, "print")) return print_call(P, at);
    Parsed special;
    if (P->env && P->env->special && P->env->special(P->env->user, P, at, &special)) return special;
    if (!strcmp(s, "type_min") || !strcmp(s, "type_max")) return type_end(P, s[6] == 'a');
    Args a = arguments(P);
    Op op;
    mlc_type t;
    if (cast_named(P, s, &op, &t)) return cast(P, at, op, t, a.n, a.at);
    op = find_op(s, false, 0);
    bool named_by_type = op == OP_CAST || op == OP_REINTERPRET || op == OP_SATURATE || op == OP_RANDOM;
    return op != OP_COUNT && !named_by_type ? operator_call(P, at, op, a.n, a.at) : env_call(P, at, a);
}

/* ---- numbers ---- */

static Parsed number(Parser *P) {
    Token t = P->lex.tok;
    lex_next(&P->lex);
    return (Parsed){ ir_const(P->I, t.type, t.value), true };
}

/* A number's own minus sign; 2^63 is there to be i64's least value. */
static Parsed negative(Parser *P) {
    Parsed p = number(P);
    mlc_type t = type_of(p.e);
    if (t == MLC_U64 && p.e->u.i == INT64_MIN) t = MLC_I64;
    const Node *e = ty_is_float(t) ? ir_flt(P->I, t, -p.e->u.f) : ir_int(P->I, t, (int64_t)(0 - p.e->u.bits));
    return (Parsed){ e, true };
}

/* ---- the grammar ---- */

/* name = expr; ... result, up to `close`. */
static Parsed sequence(Parser *P) {
    while (P->lex.tok.kind == TOK_NAME) {
        Token next = lex_peek(&P->lex);
        if (next.kind != TOK_SIGN || strcmp(next.text, "=")) break;
        ParseLocal l = { P->lex.tok.text, NULL };
        lex_next(&P->lex);
        lex_next(&P->lex);
        l.e = ir_parse_expr(P).e;
        VEC_PUSH(P->I->arena, &P->local, l);
        lex_expect(&P->lex, ";");
    }
    Parsed r = ir_parse_expr(P);
    lex_accept(&P->lex, ";");
    return r;
}

static Parsed primary(Parser *P) {
    Lexer *L = &P->lex;
    if (L->tok.kind == TOK_NUMBER) return number(P);
    if (L->tok.kind == TOK_NAME) {
        Token at = L->tok;
        lex_next(L);
        return lex_accept(L, "(") ? call(P, &at) : named(P, &at);
    }
    if (lex_accept(L, "(")) {
        Parsed r = ir_parse_expr(P);
        lex_expect(L, ")");
        return r;
    }
    if (lex_accept(L, "{")) {
        int outer = P->local.n;
        Parsed r = sequence(P);
        lex_expect(L, "}");
        P->local.n = outer;
        return r;
    }
    lex_unexpected(L, "an expression");
}

static Parsed unary(Parser *P) {
    Token at = P->lex.tok;
    if (at.kind != TOK_SIGN) return primary(P);
    Op op = find_op(at.text, true, 1);
    if (op == OP_COUNT) return primary(P);
    lex_next(&P->lex);
    if (op == OP_NEG && P->lex.tok.kind == TOK_NUMBER) return negative(P);
    if (op == OP_NEG && lex_is_word(&P->lex, "inf") && !find_local(P, "inf")) {
        lex_next(&P->lex);
        return (Parsed){ ir_flt(P->I, MLC_F32, -(double)__builtin_inff()), true };
    }
    enter(P);
    Parsed a = unary(P);
    P->depth--;
    return typed(P, &at, op, 1, &a);
}

static Parsed binary(Parser *P, int least) {
    enter(P);
    Parsed a = unary(P);
    for (;;) {
        Token at = P->lex.tok;
        Op op = at.kind == TOK_SIGN ? find_op(at.text, true, 2) : OP_COUNT;
        if (op == OP_COUNT || ir_ops[op].prec < least) break;
        lex_next(&P->lex);
        Parsed b = binary(P, ir_ops[op].prec + 1);
        a = typed(P, &at, op, 2, (Parsed[2]){ a, b });
    }
    P->depth--;
    return a;
}

Parsed ir_parse_expr(Parser *P) {
    return binary(P, 1);
}

void ir_parser_init(Parser *P, Interner *I, const ParseEnv *env, const char *text, size_t n, const char *file, int line) {
    *P = (Parser){ .I = I, .env = env };
    lex_init(&P->lex, I->arena, I->fault, text, n, file, line);
}

const Node *ir_parse_body(Interner *I, const char *text, int n, const Node *const *params, const char *const *names,
                          mlc_type T) {
    Parser P;
    ir_parser_init(&P, I, NULL, text, strlen(text), "body", 1);
    P.generic = T;
    for (int i = 0; i < n; i++) {
        ParseLocal l = { names[i], params[i] };
        VEC_PUSH(I->arena, &P.local, l);
    }
    Parsed r = sequence(&P);
    if (!lex_at_end(&P.lex)) lex_unexpected(&P.lex, "the end of the body");
    return r.e;
}
