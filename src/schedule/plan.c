/* plan.c - plans: made, filled, read.  Every entry point leaves its first error in the context. */
#include "schedule/schedule.h"

#include <string.h>

mlc_plan *mlc_plan_new(mlc_ctx *ctx) {
    Barrier b;
    if (!ctx || !FAULT_TRY(&ctx->fault, b)) return NULL;
    mlc_plan *p = ARENA_NEW(&ctx->arena, mlc_plan);
    p->ctx = ctx;
    p->arena = &ctx->arena;
    FAULT_END(&ctx->fault, b);
    return p;
}

mlc_plan *mlc_plan_default(mlc_ctx *ctx) {
    if (ctx && !ctx->plan) ctx->plan = mlc_plan_new(ctx);
    return ctx ? ctx->plan : NULL;
}

void mlc_plan_free(mlc_plan *plan) {
    if (!plan) return;
    plan->line.n = 0;
    if (plan->ctx->plan == plan) plan->ctx->plan = NULL;
}

const char *mlc_plan_name(const mlc_plan *plan) {
    return plan ? plan->name : NULL;
}

int mlc_plan_size(const mlc_plan *plan) {
    return plan ? plan->line.n : 0;
}

bool mlc_plan_get(const mlc_plan *plan, int i, mlc_stage *stage, mlc_directive *d) {
    if (!plan || i < 0 || i >= plan->line.n) return false;
    const PlanLine *l = &plan->line.at[i];
    if (stage) *stage = (mlc_stage){ l->func, l->stage };
    if (d) *d = l->d;
    return true;
}

bool mlc_plan_drop(mlc_plan *plan, int i) {
    if (!plan || i < 0 || i >= plan->line.n) return false;
    PlanLine *at = &plan->line.at[i];
    memmove(at, at + 1, sizeof *at * (size_t)(--plan->line.n - i));
    return true;
}

/* The Funcs of in and clone_in, where one is made, or of eager_inline. */
static void check_funcs(mlc_plan *plan, const PlanLine *l, bool made, const Place *place) {
    const mlc_directive *d = &l->d;
    Fault *f = &plan->ctx->fault;
    if (made && (d->n_func < 0 || d->n_func > 8)) fault_raise(f, ERR_PLAN_CONSUMERS, place, d->n_func);
    int least = strchr(sch_directives[d->kind].shape, 'G') ? 0 : 1;
    if (!made && (d->n_func < least || d->n_func > 8)) fault_raise(f, ERR_PLAN_FUNCS, place, d->n_func);
    for (int i = 0; i < d->n_func + made; i++) {
        const Func *g = i < d->n_func ? d->func[i].f : d->made.f;
        if (!g) fault_raise(f, ERR_PLAN_NO_FUNC, place);
        if (g->ctx != plan->ctx) fault_raise(f, ERR_CONTEXTS_MIX, place);
    }
}

/* A directive as the plan keeps it: what it points to is the plan's own, conditions are nodes of the context. */
static mlc_directive own(mlc_plan *plan, mlc_directive d) {
    if (d.text) d.text = arena_str(plan->arena, d.text);
    if (d.kind == MLC_SPECIALIZE || d.cond.type != MLC_VOID) {
        bool literal;
        d.cond = alg_expr(plan->ctx, alg_node(plan->ctx, d.cond, &literal));
    }
    mlc_directive *body = ARENA_ARRAY(plan->arena, mlc_directive, d.n_body + 1);
    for (int i = 0; i < d.n_body; i++) body[i] = own(plan, d.body[i]);
    d.body = body;
    return d;
}

/* What a directive must be before its loops are known. */
static void check(mlc_plan *plan, const PlanLine *l) {
    Fault *f = &plan->ctx->fault;
    const mlc_directive *d = &l->d;
    Place place = { .loc = d->loc, .object = "schedule" };
    if (!l->func) fault_raise(f, ERR_PLAN_NO_FUNC, &place);
    if ((unsigned)d->kind >= MLC_DIRECTIVE_COUNT) fault_raise(f, ERR_PLAN_KIND, &place, (int)d->kind);
    place = sch_place(plan->arena, l);
    const char *shape = sch_directives[d->kind].shape;
    bool consumer = *shape == 'f' || *shape == 'F' || (*shape == 'a' && d->at_stage != MLC_AT_LEVEL);
    int names = *shape == 'a' || *shape == 'L' ? 1 : (int)strspn(shape + consumer, "vn");
    if (l->func->ctx != plan->ctx || (consumer && d->at.f && d->at.f->ctx != plan->ctx)) fault_raise(f, ERR_CONTEXTS_MIX, &place);
    if (consumer && !d->at.f) fault_raise(f, ERR_PLAN_NO_FUNC, &place);
    bool many = strchr(shape, '*'), pairs = strchr(shape, 'p');
    if (pairs && (d->n < 2 || d->n > 8 || d->n % 2)) fault_raise(f, ERR_PLAN_PAIRS, &place, d->n);
    bool tiled = *shape == 'h';
    if (tiled && (d->n < 3 || d->n > 9 || d->n % 3)) fault_raise(f, ERR_PLAN_TILED, &place, d->n);
    if (many && (d->n < 1 || d->n > 8)) fault_raise(f, ERR_PLAN_REORDER, &place, d->n);
    for (int i = 0; i < (many || tiled ? d->n : names); i++)
        if (!d->v[i].sym) fault_raise(f, ERR_PLAN_NO_LOOP_NAME, &place, i + 1);
    bool made = strchr(shape, 'w');
    if (made || strpbrk(shape, "gG")) check_funcs(plan, l, made, &place);
    if ((unsigned)d->memory >= MLC_MEMORY_COUNT) fault_raise(f, ERR_BAD_WORD, &place, (int)d->memory, "memory", "MLC_MEMORY_HEAP, STACK, REGISTER, SHARED, FRAGMENT");
    if ((unsigned)d->tensor >= MLC_TENSOR_COUNT) fault_raise(f, ERR_BAD_WORD, &place, (int)d->tensor, "instruction", "the MLC_MMA_ of mlc/schedule.h");
    if ((unsigned)d->copy >= MLC_COPY_COUNT) fault_raise(f, ERR_BAD_WORD, &place, (int)d->copy, "way of copying", "MLC_COPY_LDST, CP_ASYNC");
    if ((unsigned)d->way >= MLC_WAY_COUNT) fault_raise(f, ERR_BAD_WORD, &place, (int)d->way, "way", "MLC_WAY_FORWARD, BOTH");
    bool policy = d->kind != MLC_PARTITION || (d->k[0] >= 0 && d->k[0] < MLC_PARTITION_COUNT);
    if (!policy) fault_raise(f, ERR_BAD_WORD, &place, (int)d->k[0], "policy", "MLC_PARTITION_AUTO, NEVER, ALWAYS");
    bool numbers = d->kind != MLC_CHANGE_TYPE || (ty_is_data(d->type) && d->type != MLC_BOOL);
    if (!numbers) fault_raise(f, ERR_BAD_WORD, &place, (int)d->type, "type of numbers", "MLC_I8 to MLC_F64");
    if ((unsigned)d->tail >= MLC_TAIL_COUNT) fault_raise(f, ERR_BAD_TAIL, &place, (int)d->tail);
    if ((unsigned)d->bounds >= MLC_FETCH_COUNT) fault_raise(f, ERR_BAD_FETCH, &place, (int)d->bounds);
    if ((unsigned)d->align >= MLC_LOOP_ALIGN_COUNT)
        fault_raise(f, ERR_BAD_WORD, &place, (int)d->align, "alignment", "MLC_LOOP_ALIGN_AUTO, START, END, NO_ALIGN");
    for (int i = 0; i < d->n_body; i++) check(plan, &(PlanLine){ .func = l->func, .stage = l->stage, .d = d->body[i] });
}

bool mlc_plan_append(mlc_plan *plan, mlc_stage s, int n, const mlc_directive *d) {
    Barrier b;
    if (!plan) return false;
    int before = plan->line.n;
    if (!FAULT_TRY(&plan->ctx->fault, b)) {
        plan->line.n = before;
        plan->fault.info = plan->ctx->fault.info;
        return false;
    }
    for (int i = 0; i < n; i++) {
        PlanLine line = { .func = s.f, .stage = s.stage, .d = own(plan, d[i]) };
        check(plan, &line);
        VEC_PUSH(plan->arena, &plan->line, line);
    }
    FAULT_END(&plan->ctx->fault, b);
    return true;
}

bool mlc_apply(mlc_stage s, int n, const mlc_directive *d) {
    return s.f && mlc_plan_append(mlc_plan_default(s.f->ctx), s, n, d);
}

bool mlc_plan_parse(mlc_plan *plan, const char *text, const char *file) {
    if (!plan || !text) return false;
    mlc_ctx *ctx = plan->ctx;
    TextParser t = { .ctx = ctx };
    Barrier b;
    int lines = plan->line.n, errors = ctx->fault.info.code;
    if (!FAULT_TRY(&ctx->fault, b)) {
        plan->line.n = lines;
        if (!errors) lex_show_caret(&t.P.lex);
        return false;
    }
    alg_text_init(&t, ctx, arena_str(&ctx->arena, text), strlen(text), file ? arena_str(&ctx->arena, file) : "plan", 1);
    sch_parse_plan(&t, plan, NULL);
    FAULT_END(&ctx->fault, b);
    return true;
}

const char *mlc_plan_print(mlc_plan *plan) {
    Barrier b;
    if (!plan || !FAULT_TRY(&plan->ctx->fault, b)) return NULL;
    StrBuf out;
    sb_init(&out, plan->arena);
    sch_print_plan(&out, plan);
    FAULT_END(&plan->ctx->fault, b);
    return out.at;
}
