/* text_parse.c - the statements of program text, one function each; docs/language.md is their grammar. */
#include "algorithm/text.h"

#include <math.h>
#include <string.h>

static Lexer *lexer(TextParser *t) {
    return &t->P.lex;
}

/* Leaves with the error that was noted. */
static void need(TextParser *t, bool ok) {
    if (!ok) fault_jump(lexer(t)->fault);
}

static mlc_type type_name(TextParser *t) {
    Lexer *L = lexer(t);
    mlc_type type = L->tok.kind == TOK_NAME ? ty_from_name(L->tok.text) : MLC_VOID;
    if (type == MLC_VOID) lex_unexpected(L, "a type: bool, i8 .. i64, u8 .. u64, f16, bf16, f32, f64 or index");
    lex_next(L);
    return type;
}

/* A number, as an immediate. */
static mlc_expr number(TextParser *t) {
    Token at = lexer(t)->tok;
    Parsed p = ir_parse_expr(&t->P);
    if (p.e->op != OP_CONST) {
        Place place = lex_place_of(lexer(t), &at);
        fault_raise(lexer(t)->fault, ERR_TEXT_CONSTANT, &place);
    }
    Value v = ir_value(p.e);
    mlc_expr e = { .type = (mlc_type)p.e->type, .typed = !p.literal };
    memcpy(&e.imm, &v, sizeof v);
    return e;
}

/* range lo..hi */
static bool range(TextParser *t, mlc_expr *lo, mlc_expr *hi) {
    if (!lex_accept_word(lexer(t), "range")) return false;
    *lo = number(t);
    lex_expect(lexer(t), "..");
    *hi = number(t);
    return true;
}

/* ---- declarations ---- */

/* input in: f32[2] range 0..1 */
static void input(TextParser *t) {
    Lexer *L = lexer(t);
    mlc_loc loc = lex_loc(L);
    const char *name = lex_name(L, "a name");
    lex_expect(L, ":");
    mlc_type type = type_name(t);
    lex_expect(L, "[");
    int64_t rank = lex_integer(L, "the number of dimensions");
    lex_expect(L, "]");
    mlc_func f = { alg_add_input(t->ctx, name, type, rank < 0 || rank > 99 ? 99 : (int)rank, loc) };
    need(t, !f.f->poison);
    mlc_expr lo, hi;
    if (!range(t, &lo, &hi)) return;
    mlc_input_range_set(f, lo, hi, loc);
    need(t, f.f->has_range);
}

static bool in_range(const Sym *s, Value v) {
    if (!s->has_range) return true;
    if (ty_is_float(s->type)) return v.f >= s->lo && v.f <= s->hi && !(s->lo >= 0 && signbit(v.f));
    if (s->type == MLC_U64) return (uint64_t)v.i >= (uint64_t)s->ilo && (uint64_t)v.i <= (uint64_t)s->ihi;
    return v.i >= s->ilo && v.i <= s->ihi;
}

static const char *number_text(TextParser *t, mlc_type type, double f, int64_t i) {
    StrBuf b;
    sb_init(&b, &t->ctx->arena);
    ir_print_number(&b, type, ty_is_float(type) ? (Value){ .f = f } : (Value){ .i = i });
    return b.at;
}

/* = 1.5 */
static void param_value(TextParser *t, mlc_param p) {
    Lexer *L = lexer(t);
    const Sym *s = p.sym;
    Place place = lex_place(L);
    need(t, mlc_param_set_value(p, number(t)));
    const Value *v = pm_get(&t->ctx->param_value, s);
    if (!in_range(s, *v))
        fault_raise(L->fault, ERR_PARAM_RANGE, &place, s->name, number_text(t, s->type, v->f, v->i),
                    number_text(t, s->type, s->lo, s->ilo), number_text(t, s->type, s->hi, s->ihi));
    place = lex_place(L);
    if (lex_is_word(L, "range")) fault_raise(L->fault, ERR_TEXT_PARAM_ORDER, &place, s->name);
}

/* param gain: f32 range 0..4 = 1.5 */
static void param(TextParser *t) {
    Lexer *L = lexer(t);
    mlc_loc loc = lex_loc(L);
    const char *name = lex_name(L, "a name");
    lex_expect(L, ":");
    Sym *s = alg_add_param(t->ctx, name, type_name(t), loc);
    need(t, s != NULL);
    mlc_param p = { t->ctx, s };
    mlc_expr lo, hi;
    if (range(t, &lo, &hi)) {
        mlc_param_range_set(p, lo, hi, loc);
        need(t, s->has_range);
    }
    if (lex_accept(L, "=")) param_value(t, p);
}

static const Node *index_expr(TextParser *t) {
    Place place = lex_place(lexer(t));
    Parsed p = ir_parse_expr(&t->P);
    return ir_parse_check(&t->P, ir_coerce(&t->ctx->ir, p.e, p.literal, MLC_INDEX, &place));
}

/* rdom k(0, 3; 0, in.extent.1) where k.x < k.y, ... */
static void rdom(TextParser *t) {
    Lexer *L = lexer(t);
    mlc_loc loc = lex_loc(L);
    const char *name = lex_name(L, "a name");
    const Node *min[MAX_RANK], *extent[MAX_RANK];
    int n = 0;
    lex_expect(L, "(");
    do {
        if (n == MAX_RANK) lex_unexpected(L, "at most 8 dimensions");
        min[n] = index_expr(t);
        lex_expect(L, ",");
        extent[n++] = index_expr(t);
    } while (lex_accept(L, ";"));
    lex_expect(L, ")");
    RDom *r = alg_add_rdom(t->ctx, name, n, min, extent, loc);
    need(t, r != NULL);
    if (!lex_accept_word(L, "where")) return;
    do {
        Place place = lex_place(L);
        Parsed p = ir_parse_expr(&t->P);
        if (p.literal) p.e = ir_parse_check(&t->P, ir_coerce(&t->ctx->ir, p.e, true, MLC_BOOL, &place));
        int before = r->where.n;
        bool fits = p.e->type == MLC_BOOL;
        alg_add_where(t->ctx, r, p.e, loc);
        need(t, fits && r->where.n == before + 1 && r->where.at[before]->op != OP_POISON);
    } while (lex_accept(L, ","));
}

static Func *func_name(TextParser *t);

/* Is the next argument the name of a Func alone? */
static bool names_func(TextParser *t) {
    Lexer *L = lexer(t);
    Token next = lex_peek(L);
    bool alone = L->tok.kind == TOK_NAME && next.kind == TOK_SIGN && (!strcmp(next.text, ",") || !strcmp(next.text, ")"));
    return alone && alg_find_func(t->ctx, L->tok.text);
}

/* A Func by its name alone, else an expression. */
static WholeArg stage_arg(TextParser *t) {
    if (names_func(t)) return (WholeArg){ .func = func_name(t) };
    return (WholeArg){ .value = ir_parse_expr(&t->P).e };
}

/* u8[2], {u8, f32}[2] */
static int stage_type(TextParser *t, mlc_type *type, int64_t *rank) {
    Lexer *L = lexer(t);
    int n = 0;
    bool tuple = lex_accept(L, "{");
    do {
        if (n == MAX_TUPLE) lex_unexpected(L, "at most 8 types");
        type[n++] = type_name(t);
    } while (tuple && lex_accept(L, ","));
    if (tuple) lex_expect(L, "}");
    lex_expect(L, "[");
    *rank = lex_integer(L, "the number of dimensions");
    lex_expect(L, "]");
    return n;
}

/* extern stage f: u8[2] = blur(g, in, gain), of a C function that mlc_extern_stage_new declared. */
static void extern_stage(TextParser *t) {
    Lexer *L = lexer(t);
    mlc_loc loc = lex_loc(L);
    const char *name = lex_name(L, "a name");
    mlc_type type[MAX_TUPLE];
    int64_t rank;
    WholeArg arg[8];
    int n_args = 0;
    lex_expect(L, ":");
    int n = stage_type(t, type, &rank);
    lex_expect(L, "=");
    Token at = L->tok;
    const char *fn = lex_name(L, "the name of a C function");
    const Named *known = sm_get(&t->ctx->names, fn);
    if (!known || known->kind != NAME_EXTERN || !known->u.ext->is_stage) {
        Place place = lex_place_of(L, &at);
        fault_raise(L->fault, ERR_TEXT_STAGE, &place, fn);
    }
    lex_expect(L, "(");
    if (!lex_is(L, ")")) {
        do {
            if (n_args == 8) lex_unexpected(L, "at most 8 arguments");
            arg[n_args++] = stage_arg(t);
        } while (lex_accept(L, ","));
    }
    lex_expect(L, ")");
    Func *f = alg_find_func(t->ctx, name);
    if (!f) f = alg_add_func(t->ctx, name, loc);
    need(t, !f->poison);
    need(t, alg_define_whole(f, known->u.ext, rank < 0 || rank > 99 ? 99 : (int)rank, n, type, n_args, arg, loc));
}

/* extern gain: f32 f32 -> f32, of a C function that mlc_extern_new declared. */
static void extern_fn(TextParser *t) {
    Lexer *L = lexer(t);
    if (lex_is_word(L, "stage") && lex_peek(L).kind == TOK_NAME) {
        lex_next(L);
        extern_stage(t);
        return;
    }
    Token at = L->tok;
    Extern x = { .name = lex_name(L, "a name") };
    lex_expect(L, ":");
    while (!lex_is(L, "-")) {
        if (x.n == 8) lex_unexpected(L, "'->' after at most 8 types");
        x.arg[x.n++] = type_name(t);
    }
    lex_expect(L, "-");
    lex_expect(L, ">");
    x.result = type_name(t);
    const Named *n = sm_get(&t->ctx->names, x.name);
    const Extern *have = n && n->kind == NAME_EXTERN ? n->u.ext : NULL;
    bool same = have && !have->is_stage && have->n == x.n && have->result == x.result && !memcmp(have->arg, x.arg, sizeof *x.arg * (size_t)x.n);
    if (same) return;
    Place place = lex_place_of(L, &at);
    fault_raise(L->fault, ERR_TEXT_EXTERN, &place, x.name);
}

static Func *func_name(TextParser *t) {
    Lexer *L = lexer(t);
    Token at = L->tok;
    const char *name = lex_name(L, "the name of a Func or an input");
    Func *f = alg_find_func(t->ctx, name);
    if (f) return f;
    int n;
    const char *const *names = alg_known_names(t->ctx, &n);
    Place place = lex_place_of(L, &at);
    const Named *other = sm_get(&t->ctx->names, name);
    if (other) fault_raise(L->fault, ERR_TEXT_NO_FUNC, &place, name, alg_kind_text(other));
    fault_raise(L->fault, ERR_TEXT_NAME, &place, name, did_you_mean(L->arena, name, names, n), "");
}

/* dim in[0]: min 0, extent 3, stride 3, align 8 */
static void dim(TextParser *t) {
    static const char *const field[] = { "min", "extent", "stride", "align" };
    Lexer *L = lexer(t);
    mlc_loc loc = lex_loc(L);
    mlc_func f = { func_name(t) };
    mlc_dim_spec spec = { 0 };
    int64_t *to[] = { &spec.min, &spec.extent, &spec.stride, &spec.align };
    lex_expect(L, "[");
    int64_t d = lex_integer(L, "the number of a dimension");
    lex_expect(L, "]");
    lex_expect(L, ":");
    do {
        int i = 0;
        while (i < 4 && !lex_is_word(L, field[i])) i++;
        if (i == 4) lex_unexpected(L, "min, extent, stride or align");
        lex_next(L);
        *to[i] = lex_integer(L, "an integer");
        spec.has |= 1 << i;
    } while (lex_accept(L, ","));
    bool fits = d >= 0 && d < MAX_RANK && (f.f->is_input || f.f->def.n) && d < f.f->rank;
    fits = fits && !((spec.has & MLC_HAS_EXTENT) && spec.extent < 0) && !((spec.has & MLC_HAS_ALIGN) && spec.align < 1);
    mlc_dim_set(f, d < 0 || d > 99 ? 99 : (int)d, spec, loc);
    need(t, fits);
}

/* output a, b */
static void output(TextParser *t) {
    do {
        Func *f = func_name(t);
        VEC_PUSH(&t->ctx->arena, &t->outputs, f);
    } while (lex_accept(lexer(t), ","));
}

/* ---- boundary conditions: g = repeat_edge(in, 0, w; 0, h) ---- */

static bool edge_kind(const char *word, mlc_edge *kind) {
    static const char *const names[] = { "constant_edge", "repeat_edge", "repeat_image", "mirror_image", "mirror_interior" };
    for (int i = 0; i < 5; i++)
        if (!strcmp(word, names[i])) {
            *kind = (mlc_edge)i;
            return true;
        }
    return false;
}

/* min, extent a dimension, `;` between; an empty place leaves its dimension alone. */
static void edge_ranges(TextParser *t, mlc_edge_args *args) {
    Lexer *L = lexer(t);
    mlc_range *to[MAX_RANK] = { &args->d0, &args->d1, &args->d2, &args->d3, &args->d4, &args->d5, &args->d6, &args->d7 };
    for (int d = 0;; d++) {
        if (d == MAX_RANK) lex_unexpected(L, "at most 8 dimensions");
        if (!lex_is(L, ";") && !lex_is(L, ")")) {
            to[d]->min = alg_expr(t->ctx, index_expr(t));
            lex_expect(L, ",");
            to[d]->extent = alg_expr(t->ctx, index_expr(t));
        }
        if (!lex_accept(L, ";")) return;
    }
}

static void edge(TextParser *t, const char *name, mlc_loc loc) {
    Lexer *L = lexer(t);
    mlc_edge kind = MLC_REPEAT_EDGE;
    if (L->tok.kind != TOK_NAME || !edge_kind(L->tok.text, &kind))
        lex_unexpected(L, "constant_edge, repeat_edge, repeat_image, mirror_image or mirror_interior");
    lex_next(L);
    lex_expect(L, "(");
    mlc_expr value = { .type = MLC_I32 };
    if (kind == MLC_CONSTANT_EDGE) {
        Place place = lex_place(L);
        if (names_func(t)) fault_raise(L->fault, ERR_TEXT_EDGE_VALUE, &place, L->tok.text);
        Parsed p = ir_parse_expr(&t->P);
        value = alg_expr(t->ctx, p.e);
        Value v = ir_value(p.e);
        if (p.literal) value = (mlc_expr){ .type = (mlc_type)p.e->type };
        if (p.literal) memcpy(&value.imm, &v, sizeof v);
        lex_expect(L, ",");
    }
    mlc_edge_args args = { .loc = loc, .f = { func_name(t) }, .name = name };
    if (lex_accept(L, ",")) edge_ranges(t, &args);
    lex_expect(L, ")");
    mlc_func g = mlc_boundary(kind, value, &args);
    need(t, g.f && !g.f->poison);
}

/* ---- definitions ---- */

static DefOp def_op(TextParser *t) {
    static const char *const sign[] = { "=", "+=", "-=", "*=" }, *const word[] = { "min", "max" };
    Lexer *L = lexer(t);
    for (int i = 0; i < 4; i++)
        if (lex_accept(L, sign[i])) return (DefOp)i;
    for (int i = 0; i < 2; i++)
        if (lex_accept_word(L, word[i])) {
            lex_expect(L, "=");
            return i ? DEF_MAX : DEF_MIN;
        }
    lex_unexpected(L, "'=', '+=', '-=', '*=', 'min=' or 'max='");
}

/* `{` opens a tuple unless it opens a block: { name = ...; }. */
static bool opens_block(TextParser *t) {
    Lexer copy = *lexer(t);
    lex_next(&copy);
    Token next = lex_peek(&copy);
    return copy.tok.kind == TOK_NAME && next.kind == TOK_SIGN && !strcmp(next.text, "=");
}

static int values(TextParser *t, const Node **value, uint32_t *literal) {
    Lexer *L = lexer(t);
    bool tuple = lex_is(L, "{") && !opens_block(t);
    int n = 0;
    if (tuple) lex_next(L);
    do {
        if (n == MAX_TUPLE) lex_unexpected(L, "at most 8 values");
        Parsed p = ir_parse_expr(&t->P);
        if (p.literal) *literal |= UINT32_C(1) << n;
        value[n++] = p.e;
    } while (tuple && lex_accept(L, ","));
    if (tuple) lex_expect(L, "}");
    return n;
}

/* f(x, y) = e, hist(index(in(k.x))) += 1, t(x) = {a, b}, n() += 1 over k */
static void definition(TextParser *t, const char *name, mlc_loc loc) {
    Lexer *L = lexer(t);
    const Node *lhs[MAX_RANK], *rhs[MAX_TUPLE];
    Place at[MAX_RANK];
    Parsed left[MAX_RANK];
    uint32_t literal = 0;
    int rank = 0;
    t->left = true;
    if (!lex_accept(L, ")")) {
        do {
            if (rank == MAX_RANK) lex_unexpected(L, "at most 8 coordinates");
            at[rank] = lex_place(L);
            left[rank++] = ir_parse_expr(&t->P);
        } while (lex_accept(L, ","));
        lex_expect(L, ")");
    }
    t->left = false;
    for (int i = 0; i < rank; i++)
        lhs[i] = ir_parse_check(&t->P, ir_coerce(&t->ctx->ir, left[i].e, left[i].literal, MLC_INDEX, &at[i]));
    DefOp op = def_op(t);
    Func *f = alg_find_func(t->ctx, name);
    if (!f) f = alg_add_func(t->ctx, name, loc); /* before its values, so that `f` is known in them */
    need(t, !f->poison);
    int n = values(t, rhs, &literal);
    RDom *over = lex_accept_word(L, "over") ? alg_rdom_name(t) : NULL;
    need(t, alg_define_over(f, op, rank, lhs, n, rhs, literal, over, loc) >= 0);
}

/* ---- statements ---- */

static bool declaration(TextParser *t, const char *word) {
    static const struct {
        const char *word;
        void (*parse)(TextParser *t);
    } row[] = {
        { "input", input }, { "param", param }, { "rdom", rdom }, { "extern", extern_fn }, { "dim", dim }, { "output", output },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (strcmp(row[i].word, word)) continue;
        lex_next(lexer(t));
        row[i].parse(t);
        return true;
    }
    return false;
}

/* Returns whether a `;` has to follow. */
static bool statement(TextParser *t) {
    Lexer *L = lexer(t);
    if (L->tok.kind != TOK_NAME) lex_unexpected(L, "a statement");
    Token next = lex_peek(L), at = L->tok;
    L->mark = at.at; /* for errors that know their line alone */
    if (next.kind == TOK_NAME && !at.quoted) {
        if (declaration(t, at.text)) return true;
        if (t->other && t->other(t->user, t)) return false;
        lex_unexpected(L, "input, param, rdom, extern, dim, output, plan or a definition");
    }
    mlc_loc loc = lex_loc(L);
    lex_next(L);
    if (lex_accept(L, "=")) {
        edge(t, at.text, loc);
    } else {
        lex_expect(L, "(");
        definition(t, at.text, loc);
    }
    return true;
}

void alg_text_statements(TextParser *t) {
    Lexer *L = lexer(t);
    while (!lex_at_end(L)) {
        if (lex_accept(L, ";")) continue;
        if (statement(t) && !lex_at_end(L)) lex_expect(L, ";");
    }
}
