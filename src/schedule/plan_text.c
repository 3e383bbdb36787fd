/* plan_text.c - plans from text, by the rows of directives.def:
 *
 *     by: tile(x, y, xo, yo, xi, yi, 32, 8, .tail = guard), vectorize(xi, 8);
 *     bx.u0: compute_at(by, xo), specialize(n > 3) { vectorize(x, 8) } */
#include "schedule/schedule.h"
#include "schedule/tensor.h"

#include <string.h>

enum { MOST_BRACES = 32 };

typedef struct {
    TextParser *text;
    Lexer *L;
    mlc_plan *plan;
    mlc_ctx *ctx;
    int braces; /* around the current token */
} PlanText;

/* ---- stages and loops ---- */

_Noreturn static void unknown_func(PlanText *t, const Token *at, const char *name) {
    VEC(const char *) names = { 0 };
    for (int i = 0; i < t->ctx->funcs.n; i++) VEC_PUSH(t->L->arena, &names, t->ctx->funcs.at[i]->name);
    Place place = lex_place_of(t->L, at);
    if (!strcmp(name, "plan")) fault_raise(t->L->fault, ERR_PLAN_BRACES, &place);
    fault_raise(t->L->fault, ERR_PLAN_FUNC, &place, name, did_you_mean(t->L->arena, name, names.at, names.n));
}

/* C, C.pure, C.u0: `stage` is what a bare C means. */
static mlc_stage stage_of(PlanText *t, int stage) {
    Token at = t->L->tok;
    char *name = arena_str(t->L->arena, lex_name(t->L, "the name of a Func or of one of its stages")), *dot = strrchr(name, '.');
    if (dot) {
        char *end = dot + 1;
        long u = -1;
        if (!strcmp(dot, ".pure")) stage = 0;
        else if (dot[1] == 'u' && dot[2] >= '0' && dot[2] <= '9')
            for (u = 0, end = dot + 2; *end >= '0' && *end <= '9' && u < 10000; end++) u = 10 * u + (*end - '0');
        if (u >= 0) stage = (int)u + 1;
        if (strcmp(dot, ".pure") && (u < 0 || *end)) {
            Place place = lex_place_of(t->L, &at);
            fault_raise(t->L->fault, ERR_PLAN_STAGE, &place, name);
        }
        *dot = 0;
    }
    Func *f = alg_find_func(t->ctx, name);
    if (!f) unknown_func(t, &at, name);
    return (mlc_stage){ f, stage };
}

static Func *func_of(PlanText *t, const char *what) {
    Token at = t->L->tok;
    const char *name = lex_name(t->L, what);
    Func *f = alg_find_func(t->ctx, name);
    if (!f) unknown_func(t, &at, name);
    return f;
}

/* The name of a Func that a line makes: it has no definition, and other plans may make it too. */
static Func *made_func(PlanText *t) {
    Token at = t->L->tok;
    const char *name = lex_name(t->L, "a name for the new Func");
    Func *f = alg_find_func(t->ctx, name);
    if (!f) f = alg_add_func(t->ctx, name, lex_place_of(t->L, &at).loc);
    if (f->poison) fault_jump(t->L->fault);
    return f;
}

static const Sym *rvar_of(PlanText *t, const char *name) {
    for (int i = 0; i < t->ctx->rdoms.n; i++) {
        const RDom *r = t->ctx->rdoms.at[i];
        for (int d = 0; d < r->n; d++)
            if (!strcmp(r->var[d]->name, name)) return r->var[d];
    }
    return NULL;
}

/* A loop's name: an RVar's, or any Var's. */
static mlc_var loop_of(PlanText *t, const char *what) {
    Token at = t->L->tok;
    const char *name = lex_name(t->L, what);
    const Sym *s = rvar_of(t, name);
    if (!s && !strchr(name, '.')) s = alg_var(t->ctx, name);
    if (s) return (mlc_var){ t->ctx, s };
    Place place = lex_place_of(t->L, &at);
    fault_raise(t->L->fault, ERR_PLAN_LOOP, &place, name);
}

/* ---- one directive ---- */

/* One of the words of a table. */
static int word(PlanText *t, const char *what, const char *const *words, int n, ErrCode unknown) {
    Token at = t->L->tok;
    const char *name = lex_name(t->L, what);
    for (int i = 0; i < n; i++)
        if (!strcmp(name, words[i])) return i;
    Place place = lex_place_of(t->L, &at);
    fault_raise(t->L->fault, unknown, &place, name, did_you_mean(t->L->arena, name, words, n));
}

_Noreturn static void wrong_count(PlanText *t, const DirectiveInfo *info, const char *what) {
    Place place = lex_place(t->L);
    fault_raise(t->L->fault, ERR_PLAN_ARGUMENTS, &place, info->name, what, info->example);
}

/* Passes the comma before one more argument. */
static void comma(PlanText *t, const DirectiveInfo *info) {
    if (lex_is(t->L, ")")) wrong_count(t, info, "few");
    lex_expect(t->L, ",");
}

/* The option that a letter of a shape stands for. */
static const char *option_name(char kind) {
    switch (kind) {
    case 't': return ".tail";
    case 'd': return ".way";
    case 'r': return ".reassociate";
    case 'o': return ".bounds";
    case 'x': return ".lossy";
    case 'l': return ".align";
    default: return "no option";
    }
}

/* `.tail = guard` or `.reassociate`, behind the arguments; `kind` is the letter of the shape, 0: it takes none. */
static void option(PlanText *t, mlc_directive *d, const DirectiveInfo *info, char kind) {
    const char *takes = option_name(kind);
    if (!lex_is(t->L, ".") && !lex_is(t->L, ")")) wrong_count(t, info, "many");
    lex_expect(t->L, ".");
    Token at = t->L->tok;
    const char *name = lex_name(t->L, "the name of an option");
    if (!kind || strcmp(name, takes + 1)) {
        Place place = lex_place_of(t->L, &at);
        fault_raise(t->L->fault, ERR_PLAN_OPTION, &place, info->name, name, takes);
    }
    if (kind == 'r' || kind == 'x') {
        *(kind == 'r' ? &d->reassociate : &d->lossy) = true;
        return;
    }
    lex_expect(t->L, "=");
    if (kind == 't') d->tail = (mlc_tail)word(t, "the name of a tail", sch_tails, MLC_TAIL_COUNT, ERR_PLAN_TAIL);
    else if (kind == 'o') d->bounds = (mlc_fetch)word(t, "clamp, guard or non_faulting", sch_fetches, MLC_FETCH_COUNT, ERR_PLAN_FETCH);
    else if (kind == 'l') d->align = (mlc_loop_align)word(t, "auto, start, end or no_align", sch_line_ups, MLC_LOOP_ALIGN_COUNT, ERR_PLAN_ALIGN);
    else d->way = (mlc_way)word(t, "a way: forward or both", sch_ways, MLC_WAY_COUNT, ERR_PLAN_WAY);
}

static void loop(PlanText *t, mlc_directive *d, const char *what) {
    if (d->n == 8 && d->kind != MLC_GPU_TILE) lex_unexpected(t->L, "at most 8 loops");
    d->v[d->n++] = loop_of(t, what);
}

/* f, y or the name of a level, which stands alone. */
static void place(PlanText *t, mlc_directive *d) {
    Token next = lex_peek(t->L);
    bool level = next.kind == TOK_SIGN && !strcmp(next.text, ")");
    mlc_stage s = level ? (mlc_stage){ NULL, MLC_AT_LEVEL } : stage_of(t, -1);
    d->at.f = s.f;
    d->at_stage = s.stage;
    if (!level) lex_expect(t->L, ",");
    loop(t, d, level ? "the name of a level" : "the name of a loop");
}

static mlc_type number_type(PlanText *t) {
    Token at = t->L->tok;
    const char *name = lex_name(t->L, "a type");
    mlc_type type = ty_from_name(name);
    Place place = lex_place_of(t->L, &at);
    if (!ty_is_data(type) || type == MLC_BOOL) fault_raise(t->L->fault, ERR_PLAN_TYPE, &place, name);
    return type;
}

/* Is there another argument, one that is no option? */
static bool more(PlanText *t) {
    if (!lex_is(t->L, ",")) return false;
    Token next = lex_peek(t->L);
    return next.kind != TOK_SIGN || strcmp(next.text, ".");
}

static void argument(PlanText *t, mlc_directive *d, char shape, int *k);

/* x, xo, xi, 8: as many numbers as a third of the names in front of them. */
static void tiled(PlanText *t, mlc_directive *d) {
    const DirectiveInfo *info = &sch_directives[d->kind];
    for (loop(t, d, "the name of a loop"); more(t) && lex_peek(t->L).kind == TOK_NAME;) {
        lex_next(t->L);
        if (d->n == 9) wrong_count(t, info, "many");
        loop(t, d, "the name of a loop");
    }
    if (d->n % 3) wrong_count(t, info, "few");
    for (int k = 0; k < d->n / 3;) {
        comma(t, info);
        argument(t, d, 'k', &k);
    }
}

static void argument(PlanText *t, mlc_directive *d, char shape, int *k) {
    if (shape == 'h') {
        tiled(t, d);
    } else if (shape == 'w') {
        d->made.f = made_func(t);
    } else if (shape == 'f') {
        mlc_stage s = stage_of(t, -1);
        d->at.f = s.f;
        d->at_stage = s.stage;
    } else if (shape == 'F') {
        d->at.f = func_of(t, "the name of a Func");
        d->at_stage = -1;
    } else if (shape == 'a') {
        place(t, d);
    } else if (shape == 'I') {
        d->tensor = (mlc_tensor)word(t, "the name of an instruction", tensor_names, MLC_TENSOR_COUNT, ERR_PLAN_TENSOR);
    } else if (shape == 'T') {
        d->type = number_type(t);
    } else if (shape == 'L') {
        loop(t, d, "a name for the level");
    } else if (shape == 'v' || shape == 'n') {
        loop(t, d, shape == 'v' ? "the name of a loop" : "a name for the new loop");
    } else if (shape == 'p') {
        loop(t, d, "the name of a loop");
        comma(t, &sch_directives[d->kind]);
        loop(t, d, "the Var that the loop becomes");
    } else if (shape == 'm') {
        d->memory = (mlc_memory)word(t, "a memory: heap, stack, register, shared or fragment", sch_memories, MLC_MEMORY_COUNT, ERR_PLAN_MEMORY);
    } else if (shape == 'M') {
        d->copy = (mlc_copy)word(t, "a way of copying: ldst or cp_async", sch_copies, MLC_COPY_COUNT, ERR_PLAN_COPY);
    } else if (shape == 'y') {
        d->k[(*k)++] = word(t, "a policy: auto, never or always", sch_policies, MLC_PARTITION_COUNT, ERR_PLAN_POLICY);
    } else if (shape == 's') {
        d->text = lex_string(t->L, "a message in quotes");
    } else if (shape == 'e') {
        d->cond = alg_expr(t->ctx, ir_parse_check(&t->text->P, ir_parse_expr(&t->text->P).e));
    } else {
        d->k[(*k)++] = lex_integer(t->L, shape == 'k' ? "a size of 1 or more" : "an integer");
        bool wrong = shape == 'k' && d->k[*k - 1] < 1;
        Place place = lex_place(t->L);
        if (wrong) fault_raise(t->L->fault, ERR_BAD_FACTOR, &place, (long long)d->k[*k - 1]);
    }
}

static void add_func(PlanText *t, mlc_directive *d) {
    if (d->n_func == (int)(sizeof d->func / sizeof *d->func)) lex_unexpected(t->L, "at most 8 Funcs");
    d->func[d->n_func++].f = func_of(t, "the name of a Func");
}

/* Those in front of the last argument. */
static void consumers(PlanText *t, mlc_directive *d) {
    while (lex_peek(t->L).kind == TOK_SIGN && !strcmp(lex_peek(t->L).text, ",")) {
        add_func(t, d);
        lex_expect(t->L, ",");
    }
}

static void funcs(PlanText *t, mlc_directive *d) {
    do add_func(t, d);
    while (lex_accept(t->L, ","));
}

static void arguments(PlanText *t, mlc_directive *d, const DirectiveInfo *info) {
    int k = 0, count = 0;
    bool optional = false;
    const char *option_at = strpbrk(info->shape, SHAPE_OPTIONS);
    char last = 0;
    for (const char *s = info->shape; *s && s != option_at; s++) {
        if (*s == '?') {
            optional = true;
        } else if (*s == '*') {
            while (more(t)) lex_next(t->L), argument(t, d, last, &k);
        } else if (*s == 'c') {
            consumers(t, d);
        } else if (*s == 'g' || *s == 'G') {
            if (*s == 'g' || !lex_is(t->L, ")")) funcs(t, d);
        } else {
            if (optional && (count ? !more(t) : lex_is(t->L, ")"))) break;
            if (count++) comma(t, info);
            argument(t, d, last = *s, &k);
        }
    }
    if (!*info->shape && !lex_is(t->L, ")")) wrong_count(t, info, "many");
    if (!count && option_at && lex_is(t->L, ".")) option(t, d, info, *option_at);
    while (lex_accept(t->L, ",")) option(t, d, info, option_at ? *option_at : 0);
}

static void body(PlanText *t, mlc_directive *d);

static mlc_directive directive(PlanText *t) {
    Token at = t->L->tok;
    const char *names[MLC_DIRECTIVE_COUNT], *name = lex_name(t->L, "a directive");
    for (int i = 0; i < MLC_DIRECTIVE_COUNT; i++) names[i] = sch_directives[i].name;
    for (int i = 0; i < MLC_DIRECTIVE_COUNT; i++) {
        if (strcmp(name, names[i])) continue;
        mlc_directive d = { .kind = (mlc_directive_kind)i, .loc = { t->L->file, at.line } };
        lex_expect(t->L, "(");
        arguments(t, &d, &sch_directives[i]);
        lex_expect(t->L, ")");
        if (strchr(sch_directives[i].shape, 'b')) body(t, &d);
        return d;
    }
    Place place = lex_place_of(t->L, &at);
    fault_raise(t->L->fault, ERR_PLAN_DIRECTIVE, &place, name, did_you_mean(t->L->arena, name, names, MLC_DIRECTIVE_COUNT));
}

/* { directive, ... } */
static void body(PlanText *t, mlc_directive *d) {
    VEC(mlc_directive) all = { 0 };
    Place place = lex_place(t->L);
    if (++t->braces > MOST_BRACES) fault_raise(t->L->fault, ERR_TEXT_DEPTH, &place, MOST_BRACES);
    lex_expect(t->L, "{");
    if (!lex_is(t->L, "}")) {
        do {
            mlc_directive one = directive(t);
            VEC_PUSH(t->plan->arena, &all, one);
        } while (lex_accept(t->L, ","));
    }
    lex_expect(t->L, "}");
    t->braces--;
    d->body = all.at;
    d->n_body = all.n;
}

static bool at_close(const Lexer *L, const char *close) {
    return close ? lex_is(L, close) : lex_at_end(L);
}

void sch_parse_plan(TextParser *text, mlc_plan *plan, const char *close) {
    Lexer *L = &text->P.lex;
    PlanText t = { .text = text, .L = L, .plan = plan, .ctx = plan->ctx };
    while (!at_close(L, close)) {
        if (lex_accept(L, ";")) continue;
        mlc_stage s = stage_of(&t, 0);
        lex_expect(L, ":");
        do {
            PlanLine line = { .func = s.f, .stage = s.stage, .d = directive(&t) };
            VEC_PUSH(plan->arena, &plan->line, line);
        } while (lex_accept(L, ","));
        if (!at_close(L, close)) lex_expect(L, ";");
    }
}
