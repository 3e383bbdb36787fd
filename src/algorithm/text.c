/* text.c - what names mean in text, and the functions around it: mlc_let, mlc_val, finding by name. */
#include "algorithm/text.h"

#include <mlc/text.h>

#include <string.h>

/* ---- names ---- */

static const Sym *rvar_named(const mlc_ctx *ctx, const char *name) {
    for (int i = 0; i < ctx->rdoms.n; i++)
        for (int d = 0; d < ctx->rdoms.at[i]->n; d++)
            if (!strcmp(ctx->rdoms.at[i]->var[d]->name, name)) return ctx->rdoms.at[i]->var[d];
    return NULL;
}

/* in.min.0, in.extent.1, in.stride.0. */
static const Sym *size_named(mlc_ctx *ctx, const char *name) {
    const char *dot = strchr(name, '.');
    if (!dot) return NULL;
    char *base = arena_str(&ctx->arena, name);
    base[dot - name] = 0;
    const Func *f = alg_find_func(ctx, base);
    for (int d = 0; f && d < f->rank; d++) {
        const Sym *s[3] = { f->min[d], f->extent[d], f->stride[d] };
        for (int i = 0; i < 3; i++)
            if (!strcmp(s[i]->name, name)) return s[i];
    }
    return NULL;
}

static bool of_value(mlc_ctx *ctx, const char *name, Parsed *r) {
    const mlc_expr *v = ctx->vals.arena ? sm_get(&ctx->vals, name) : NULL;
    if (v) r->e = alg_node(ctx, *v, &r->literal);
    return v != NULL;
}

/* "in(x, y)": how the Func is read. */
static const char *read_of(mlc_ctx *ctx, const Func *f) {
    static const char *const coord[] = { "", "x", "x, y", "x, y, z", "x, y, z, w" };
    bool known = f->is_input || f->def.n;
    return arena_printf(&ctx->arena, "%s(%s)", f->name, known && f->rank < 5 ? coord[f->rank] : "..");
}

/* "r.x, r.y": the RVars that it has. */
static const char *rvars_of(mlc_ctx *ctx, const RDom *r) {
    StrBuf s;
    sb_init(&s, &ctx->arena);
    for (int d = 0; d < r->n; d++) sb_printf(&s, "%s%s", !d ? "" : d == r->n - 1 ? " or " : ", ", r->var[d]->name);
    return s.at;
}

/* Raises where the name, or what stands before its dot, is known but stands for no value. */
static void refuse_name(mlc_ctx *ctx, const Place *place, const char *name) {
    const char *dot = strchr(name, '.'), *base = name;
    if (dot) base = arena_printf(&ctx->arena, "%.*s", (int)(dot - name), name);
    const Named *n = sm_get(&ctx->names, base);
    if (!n) return;
    const Func *f = n->kind == NAME_FUNC ? n->u.func : NULL;
    if (n->kind == NAME_RDOM) fault_raise(&ctx->fault, ERR_TEXT_RVAR, place, name, base, rvars_of(ctx, n->u.rdom));
    if (!dot && f) fault_raise(&ctx->fault, ERR_TEXT_FUNC_ALONE, place, name, f->is_input ? "an input" : "a Func", read_of(ctx, f));
    if (!dot && n->kind == NAME_EXTERN) fault_raise(&ctx->fault, ERR_TEXT_NOT_CALLED, place, name);
    if (f && (f->is_input || f->def.n)) fault_raise(&ctx->fault, ERR_TEXT_SIZE, place, name, base, f->rank);
}

/* Raises where what is called has a value and no coordinates. */
static void refuse_call(mlc_ctx *ctx, const Place *place, const char *name) {
    const Named *n = sm_get(&ctx->names, name);
    const char *is = n && n->kind == NAME_PARAM ? "a param"
                   : n && n->kind == NAME_RDOM ? "an RDom"
                   : rvar_named(ctx, name)     ? "an RVar"
                   : sm_get(&ctx->vars, name)  ? "a Var"
                   : ctx->vals.arena && sm_get(&ctx->vals, name) ? "a value of C" : NULL;
    const char *instead = n && n->kind == NAME_RDOM ? rvars_of(ctx, n->u.rdom) : name;
    if (is) fault_raise(&ctx->fault, ERR_TEXT_CALLED, place, name, is, instead);
}

static bool find_name(void *user, const Place *place, const char *name, Parsed *r) {
    TextParser *t = user;
    mlc_ctx *ctx = t->ctx;
    const Named *n = sm_get(&ctx->names, name);
    const Sym *s = n && n->kind == NAME_PARAM ? n->u.param : rvar_named(ctx, name);
    if (!s && of_value(ctx, name, r)) return true;
    if (!s) s = size_named(ctx, name);
    if (!s) s = sm_get(&ctx->vars, name);
    if (!s && t->left && !n && !strchr(name, '.')) {
        s = alg_var(ctx, name);
        if (!s) fault_jump(&ctx->fault); /* a name that no Var can have: noted */
    }
    if (s) r->e = ir_var(&ctx->ir, s);
    else refuse_name(ctx, place, name);
    return s != NULL;
}

static bool find_call(void *user, const Place *place, const char *name, int n, const Parsed *arg, int element, Parsed *r) {
    TextParser *t = user;
    mlc_ctx *ctx = t->ctx;
    const Named *named = sm_get(&ctx->names, name);
    if (!named || (named->kind != NAME_FUNC && named->kind != NAME_EXTERN)) {
        refuse_call(ctx, place, name);
        return false;
    }
    const Node **kid = ARENA_ARRAY(&ctx->arena, const Node *, n + 1);
    uint32_t literal = 0;
    for (int i = 0; i < n; i++) {
        kid[i] = arg[i].e;
        if (arg[i].literal && i < 32) literal |= UINT32_C(1) << i;
    }
    if (named->kind == NAME_EXTERN) {
        r->e = alg_call(&ctx->ir, named->u.ext, n, kid, literal, place);
        if (element >= 0) r->e = alg_elem(&ctx->ir, r->e, element, place);
    } else {
        r->e = alg_access(named->u.func, n, kid, literal, place);
        if (element >= 0) r->e = alg_elem(&ctx->ir, r->e, element, place);
        else if (!t->left && r->e->op == OP_ACCESS && r->e->type == MLC_VOID)
            r->e = ir_coerce(&ctx->ir, r->e, false, MLC_I32, place); /* says what it lacks: an element, a definition */
    }
    return true;
}

/* ---- calls with a grammar of their own: random_f32(seed, place), sum(k, e) ---- */

static Parsed random_call(TextParser *t, const char *type) {
    Lexer *L = &t->P.lex;
    Place place = lex_place(L);
    Parsed seed = ir_parse_expr(&t->P);
    int64_t number = lex_accept(L, ",") ? lex_integer(L, "the number of this place, an integer") : t->ctx->next_random++;
    lex_expect(L, ")");
    if (number < 0 || number > INT32_MAX) fault_raise(L->fault, ERR_TEXT_RANDOM, &place, (long long)number);
    mlc_expr e = mlc_random_place(t->ctx, ty_from_name(type), alg_expr(t->ctx, seed.e), (int)number);
    if (!e.node) fault_jump(L->fault);
    return (Parsed){ e.node, false };
}

RDom *alg_rdom_name(TextParser *t) {
    Lexer *L = &t->P.lex;
    Token at = L->tok;
    const char *name = lex_name(L, "the name of an RDom");
    const Named *n = sm_get(&t->ctx->names, name);
    if (n && n->kind == NAME_RDOM) return n->u.rdom;
    Place place = lex_place_of(L, &at);
    fault_raise(L->fault, ERR_TEXT_RDOM, &place, name);
}

static Parsed reduction_call(TextParser *t, mlc_reduction kind) {
    Lexer *L = &t->P.lex;
    mlc_loc loc = lex_loc(L);
    RDom *r = alg_rdom_name(t);
    lex_expect(L, ",");
    Place place = lex_place(L);
    Parsed e = ir_parse_expr(&t->P);
    lex_expect(L, ")");
    const Node *a = ir_parse_check(&t->P, alg_reduce(t->ctx, kind, r, e.e, loc));
    if (lex_accept(L, "[")) {
        int64_t i = lex_integer(L, "the number of a tuple's element");
        lex_expect(L, "]");
        a = ir_parse_check(&t->P, alg_elem(&t->ctx->ir, a, i < 0 || i > 99 ? 99 : (int)i, &place));
    } else if (a->type == MLC_VOID) {
        ir_parse_check(&t->P, ir_coerce(&t->ctx->ir, a, false, MLC_I32, &place));
    }
    return (Parsed){ a, false };
}

static bool special(void *user, Parser *P, const Token *at, Parsed *r) {
    static const char *const reduction[] = { "sum", "product", "minimum", "maximum", "argmin", "argmax" };
    TextParser *t = user;
    (void)P;
    if (sm_get(&t->ctx->names, at->text)) return false;
    for (int i = 0; i < 6; i++)
        if (!strcmp(at->text, reduction[i])) {
            *r = reduction_call(t, (mlc_reduction)i);
            return true;
        }
    if (strcmp(at->text, "random_f32") && strcmp(at->text, "random_u32") && strcmp(at->text, "random_i32")) return false;
    *r = random_call(t, at->text + strlen("random_"));
    return true;
}

static const Node *fold(void *user, const Node *e) {
    TextParser *t = user;
    return alg_canonical(&t->ctx->ir, e, (mlc_type)e->type);
}

static void add_keys(Arena *a, const char ***names, int *n, const StrMap *m) {
    const char **more = ARENA_ARRAY(a, const char *, *n + (int)m->n + 1);
    if (*n) memcpy(more, *names, sizeof *more * (size_t)*n);
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->key[i]) more[(*n)++] = m->key[i];
    *names = more;
}

const char *const *alg_known_names(mlc_ctx *ctx, int *n) {
    const char **names = NULL;
    *n = 0;
    add_keys(&ctx->arena, &names, n, &ctx->names);
    add_keys(&ctx->arena, &names, n, &ctx->vars);
    if (ctx->vals.arena) add_keys(&ctx->arena, &names, n, &ctx->vals);
    return names;
}

static const char *const *known(void *user, int *n) {
    return alg_known_names(((TextParser *)user)->ctx, n);
}

void alg_text_init(TextParser *t, mlc_ctx *ctx, const char *text, size_t n, const char *file, int line) {
    *t = (TextParser){ .ctx = ctx };
    t->env = (ParseEnv){ t, find_name, find_call, special, known, fold, NULL };
    ir_parser_init(&t->P, &ctx->ir, &t->env, text, n, file, line);
}

/* ---- the public functions ---- */

/* A stringised string literal: its contents, neighbours joined, in *text. */
static void unwrap(TextParser *t, const char **text, size_t *n) {
    StrBuf b;
    sb_init(&b, &t->ctx->arena);
    while (t->P.lex.tok.kind == TOK_STRING) {
        sb_puts(&b, t->P.lex.tok.text);
        lex_next(&t->P.lex);
    }
    if (!lex_at_end(&t->P.lex)) lex_unexpected(&t->P.lex, "the end of the text behind the string");
    *text = b.at;
    *n = b.n;
}

static void let(TextParser *t, const char *text, mlc_loc loc) {
    mlc_ctx *ctx = t->ctx;
    size_t n = strlen(text);
    const char *slash = loc.file ? strrchr(loc.file, '/') : NULL, *file = slash ? slash + 1 : loc.file;
    int line = loc.line ? loc.line : 1;
    text = arena_str(&ctx->arena, text);
    alg_text_init(t, ctx, text, n, file, line);
    if (t->P.lex.tok.kind == TOK_STRING) {
        unwrap(t, &text, &n);
        alg_text_init(t, ctx, text, n, file, line);
    }
    t->env.remedy = ", or hand a value of C over with mlc_val";
    alg_text_statements(t);
}

bool mlc_let_text(mlc_ctx *ctx, const char *text, mlc_loc loc) {
    if (!ctx || !text) return false;
    TextParser t = { .ctx = ctx };
    Barrier b;
    int errors = ctx->fault.info.code;
    if (!FAULT_TRY(&ctx->fault, b)) {
        if (!errors) lex_show_caret(&t.P.lex);
        return false;
    }
    let(&t, text, loc);
    FAULT_END(&ctx->fault, b);
    return true;
}

bool mlc_val_set(mlc_ctx *ctx, const char *name, mlc_expr value) {
    Barrier b;
    if (!ctx || !name || !FAULT_TRY(&ctx->fault, b)) return false;
    Place place = { .object = "val" };
    if (!lex_is_plain_name(name)) fault_raise(&ctx->fault, ERR_NAME_BAD, &place, name);
    const Named *taken = sm_get(&ctx->names, name);
    if (taken) fault_raise(&ctx->fault, ERR_NAME_TAKEN, &place, name, "an object of the program");
    if (!ctx->vals.arena) sm_init(&ctx->vals, &ctx->arena);
    sm_put(&ctx->vals, name, arena_copy(&ctx->arena, &value, sizeof value));
    FAULT_END(&ctx->fault, b);
    return true;
}

mlc_func mlc_find_func(mlc_ctx *ctx, const char *name) {
    Barrier b;
    Func *volatile f = NULL;
    if (!ctx || !name || !FAULT_TRY(&ctx->fault, b)) return (mlc_func){ NULL };
    f = alg_find_func(ctx, name);
    if (!f) {
        int n;
        const char *const *names = alg_known_names(ctx, &n);
        Place place = { .object = "find" };
        fault_note(&ctx->fault, ERR_FIND_FUNC, &place, name, did_you_mean(&ctx->arena, name, names, n));
    }
    FAULT_END(&ctx->fault, b);
    return (mlc_func){ f };
}

mlc_param mlc_find_param(mlc_ctx *ctx, const char *name) {
    const Named *n = ctx && name ? sm_get(&ctx->names, name) : NULL;
    return (mlc_param){ ctx, n && n->kind == NAME_PARAM ? n->u.param : NULL };
}

const char *mlc_stage_print(mlc_stage s) {
    Barrier b;
    if (!s.f || !FAULT_TRY(&s.f->ctx->fault, b)) return NULL;
    StrBuf out;
    sb_init(&out, &s.f->ctx->arena);
    alg_print_def(&out, s.f, s.stage);
    FAULT_END(&s.f->ctx->fault, b);
    return out.at;
}
