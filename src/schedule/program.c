/* program.c - whole programs as text: the algorithm's statements, and plans by name. */
#include "algorithm/text.h"
#include "schedule/schedule.h"

#include <mlc/text.h>

#include <stdio.h>
#include <string.h>

struct mlc_program {
    mlc_ctx *ctx;
    VEC(Func *) outputs;
    VEC(mlc_plan *) plans;
};

static mlc_plan *plan_named(const mlc_program *p, const char *name) {
    for (int i = 0; i < p->plans.n; i++)
        if (!strcmp(p->plans.at[i]->name, name)) return p->plans.at[i];
    return NULL;
}

/* plan name { lines } */
static bool plan_statement(void *user, TextParser *t) {
    mlc_program *p = user;
    Lexer *L = &t->P.lex;
    if (!lex_accept_word(L, "plan")) return false;
    Token at = L->tok;
    const char *name = lex_name(L, "the name of the plan");
    if (plan_named(p, name)) {
        Place place = lex_place_of(L, &at);
        fault_raise(L->fault, ERR_NAME_TAKEN, &place, name, "a plan");
    }
    mlc_plan *plan = mlc_plan_new(t->ctx);
    if (!plan) fault_jump(L->fault);
    plan->name = name;
    lex_expect(L, "{");
    sch_parse_plan(t, plan, "}");
    lex_expect(L, "}");
    VEC_PUSH(&t->ctx->arena, &p->plans, plan);
    return true;
}

/* The first line. */
static void version(Lexer *L) {
    bool is_mlc = lex_is_word(L, "mlc");
    if (is_mlc) lex_next(L);
    if (!is_mlc || L->tok.kind != TOK_NUMBER || L->tok.type != MLC_I32) lex_unexpected(L, "'mlc 1', the version of the text");
    Place place = lex_place(L);
    if (L->tok.value.i != 1) fault_raise(L->fault, ERR_TEXT_VERSION, &place, (long long)L->tok.value.i);
    lex_next(L);
}

mlc_program *mlc_program_parse(mlc_ctx *ctx, const char *text, const char *file) {
    if (!ctx || !text) return NULL;
    TextParser t = { .ctx = ctx };
    Barrier b;
    int errors = ctx->fault.info.code;
    if (!FAULT_TRY(&ctx->fault, b)) {
        if (!errors) lex_show_caret(&t.P.lex);
        return NULL;
    }
    mlc_program *p = ARENA_NEW(&ctx->arena, mlc_program);
    p->ctx = ctx;
    const char *slash = file ? strrchr(file, '/') : NULL;
    const char *name = file ? arena_str(&ctx->arena, slash ? slash + 1 : file) : NULL;
    alg_text_init(&t, ctx, arena_str(&ctx->arena, text), strlen(text), name, 1);
    t.other = plan_statement;
    t.user = p;
    version(&t.P.lex);
    alg_text_statements(&t);
    for (int i = 0; i < t.outputs.n; i++) VEC_PUSH(&ctx->arena, &p->outputs, t.outputs.at[i]);
    FAULT_END(&ctx->fault, b);
    return p;
}

int mlc_program_n_outputs(const mlc_program *p) {
    return p ? p->outputs.n : 0;
}

mlc_func mlc_program_output(const mlc_program *p, int i) {
    return (mlc_func){ p && i >= 0 && i < p->outputs.n ? p->outputs.at[i] : NULL };
}

int mlc_program_n_plans(const mlc_program *p) {
    return p ? p->plans.n : 0;
}

mlc_plan *mlc_program_plan(const mlc_program *p, int i) {
    return p && i >= 0 && i < p->plans.n ? p->plans.at[i] : NULL;
}

mlc_plan *mlc_program_find_plan(const mlc_program *p, const char *name) {
    Barrier b;
    mlc_plan *found = p && name ? plan_named(p, name) : NULL;
    if (found || !p || !name || !FAULT_TRY(&p->ctx->fault, b)) return found;
    Arena *a = &p->ctx->arena;
    VEC(const char *) names = { 0 };
    for (int i = 0; i < p->plans.n; i++) VEC_PUSH(a, &names, p->plans.at[i]->name);
    Place place = { .object = "find" };
    fault_note(&p->ctx->fault, ERR_FIND_PLAN, &place, name, did_you_mean(a, name, names.at, names.n));
    FAULT_END(&p->ctx->fault, b);
    return NULL;
}

static void print_plan(StrBuf *out, const mlc_plan *plan, int i) {
    if (plan->name) sb_printf(out, "plan %s {\n", plan->name);
    else sb_printf(out, "plan plan%d {\n", i);
    sch_print_lines(out, plan, "    ");
    sb_puts(out, "}\n");
}

/* A plan may name Funcs and RVars that the outputs do not need: they are printed too, so that it reads back. */
typedef struct {
    Arena *arena;
    AlsoPrint *also;
} Scheduled;

static void add_func(Scheduled *s, Func *f) {
    if (f && !f->poison && (f->is_input || f->def.n)) VEC_PUSH(s->arena, &s->also->funcs, f);
}

/* Sizes; and values, which resolution refuses, but such a plan prints too. */
static void add_node(void *user, const Node *e) {
    if (e->op == OP_VAR) add_func(user, e->u.sym->func);
    if (e->op == OP_ACCESS) add_func(user, e->u.func);
}

static void add_directive(Scheduled *s, const mlc_directive *d) {
    add_func(s, d->at.f);
    for (int k = 0; k < d->n_func; k++) add_func(s, d->func[k].f);
    for (int k = 0; k < (int)(sizeof d->v / sizeof *d->v); k++) {
        const Sym *v = d->v[k].sym;
        if (v && v->kind == SYM_RVAR) VEC_PUSH(s->arena, &s->also->rdoms, v->rdom);
    }
    if (d->cond.node) ir_visit(s->arena, d->cond.node, add_node, s);
    for (int i = 0; i < d->n_body; i++) add_directive(s, &d->body[i]);
}

static void add_scheduled(Arena *a, AlsoPrint *also, const mlc_plan *plan) {
    Scheduled s = { a, also };
    for (int i = 0; i < plan->line.n; i++) {
        add_func(&s, plan->line.at[i].func);
        add_directive(&s, &plan->line.at[i].d);
    }
}

const char *mlc_program_print(mlc_ctx *ctx, int n_outputs, const mlc_func *outputs, int n_plans, mlc_plan *const *plans) {
    Barrier b;
    if (!ctx || !FAULT_TRY(&ctx->fault, b)) return NULL;
    StrBuf out;
    sb_init(&out, &ctx->arena);
    if (n_outputs < 1 || !outputs) fault_raise(&ctx->fault, ERR_NO_OUTPUTS, NULL);
    Func **f = ARENA_ARRAY(&ctx->arena, Func *, n_outputs + 1);
    for (int i = 0; i < n_outputs; i++) {
        f[i] = outputs[i].f;
        if (!f[i]) fault_raise(&ctx->fault, ERR_PLAN_NO_FUNC, NULL);
        if (f[i]->ctx != ctx) fault_raise(&ctx->fault, ERR_CONTEXTS_MIX, NULL);
    }
    AlsoPrint more = { .values = true };
    for (int i = 0; plans && i < n_plans; i++)
        if (plans[i]) add_scheduled(&ctx->arena, &more, plans[i]);
    alg_print_with(&out, ctx, f, n_outputs, &more);
    for (int i = 0; plans && i < n_plans; i++)
        if (plans[i]) print_plan(&out, plans[i], i);
    FAULT_END(&ctx->fault, b);
    return out.at;
}
