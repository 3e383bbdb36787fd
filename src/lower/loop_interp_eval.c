/* loop_interp_eval.c - expressions of the loop interpreter: compiled to steps once, run per lane. */
#include "loop_interp_run.h"

#include <string.h>

/* ---- numbering what the program names ---- */

static void give_number(Run *r, const void *what, int *next) {
    if (!pm_has(&r->number, what)) pm_put(&r->number, what, (void *)(intptr_t)++*next);
}

int run_number(Run *r, const void *what) {
    int n = (int)(intptr_t)pm_get(&r->number, what);
    CHECK(r->fault, n > 0);
    return n - 1;
}

static void name_memory(Run *r, const Storage *s) {
    give_number(r, s->func, &r->n_memories);
    give_number(r, s, &r->n_memories);
}

static void name_stmt(Run *r, const Stmt *s) {
    if (!s) return;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) name_stmt(r, s->u.block.at[i]);
        break;
    case ST_FOR: give_number(r, s->u.loop.var, &r->n_vars); name_stmt(r, s->u.loop.body); break;
    case ST_LET: give_number(r, s->u.let.var, &r->n_vars); name_stmt(r, s->u.let.body); break;
    case ST_IF: name_stmt(r, s->u.cond.yes); name_stmt(r, s->u.cond.no); break;
    case ST_ALLOC:
        name_memory(r, s->u.alloc.storage);
        if (s->u.alloc.storage->memo) give_number(r, s->u.alloc.storage->memo->found, &r->n_vars);
        name_stmt(r, s->u.alloc.body);
        break;
    case ST_PRODUCE: name_stmt(r, s->u.produce.body); break;
    case ST_TURN:
        if (s->u.turn.channel->part) give_number(r, s->u.turn.channel->part, &r->n_vars);
        name_stmt(r, s->u.turn.body);
        break;
    case ST_FORK: name_stmt(r, s->u.fork.task); name_stmt(r, s->u.fork.rest); break;
    case ST_STORE:
        for (int i = 0; i < s->u.store.n && s->u.store.old[i]; i++) give_number(r, s->u.store.old[i], &r->n_vars);
        break;
    case ST_KERNEL:
        for (int d = 0; d < GPU_DIMS; d++) {
            give_number(r, s->u.kernel.kernel->block[d], &r->n_vars);
            give_number(r, s->u.kernel.kernel->thread[d], &r->n_vars);
        }
        name_stmt(r, s->u.kernel.body);
        break;
    case ST_MMA:
        for (int i = 0; i < tensor_elements(s->u.mma.row, TENSOR_C); i++) give_number(r, s->u.mma.d[i], &r->n_vars);
        name_stmt(r, s->u.mma.body);
        break;
    case ST_CHECK: case ST_EVAL: case ST_CALL: case ST_PREFETCH: case ST_COUNT: case ST_BARRIER: case ST_COPIES: case ST_MOVE: break;
    }
}

void run_names(Run *r) {
    for (int i = 0; i < r->p->external.n; i++) name_memory(r, r->p->external.at[i]);
    name_stmt(r, r->p->body);
}

/* ---- compiling ---- */

struct builder {
    Run *r;
    PtrMap slot; /* Node -> its number + 1 */
    VEC(Step) step;
};

static void visit(void *user, const Node *e) {
    struct builder *b = user;
    Run *r = b->r;
    Step step = { .e = e, .kid = ARENA_ARRAY(r->arena, int, e->n), .name = -1 };
    for (int i = 0; i < e->n; i++) step.kid[i] = (int)(intptr_t)pm_get(&b->slot, e->kid[i]) - 1;
    CHECK(r->fault, e->op != OP_POISON && ir_ops[e->op].cls != CLASS_DERIVED);
    if (e->op == OP_VAR && (e->u.sym->kind == SYM_LOOP || e->u.sym->kind == SYM_LET)) step.name = run_number(r, e->u.sym);
    if (e->op == OP_ACCESS) step.name = run_number(r, e->u.func);
    if (e->op == OP_LOAD) step.name = run_number(r, e->u.storage);
    if (e->op == OP_EXTERN) step.call = effect_prepare(r->arena, e->u.ext);
    VEC_PUSH(r->arena, &b->step, step);
    pm_put(&b->slot, e, (void *)(intptr_t)b->step.n);
}

static int64_t size_of(Run *r, const Sym *s) {
    for (int i = 0; i < r->p->external.n; i++) {
        const Storage *t = r->p->external.at[i];
        if (t->func != s->func) continue;
        const struct mlc_buffer *b = r->buffers[t->slot];
        const mlc_dim_t *d = &b->dim[s->dim];
        return s->kind == SYM_MIN ? d->min : s->kind == SYM_EXTENT ? d->extent : run_stride(r, b, s->dim);
    }
    BUG(r->fault, "a size of no external buffer");
}

static Value preset(Run *r, const Node *e) {
    Value v = { .i = 0 };
    if (e->op == OP_CONST) return ir_value(e);
    if (e->u.sym->kind != SYM_PARAM) return (Value){ .i = size_of(r, e->u.sym) };
    CHECK(r->fault, r->params != NULL);
    memcpy(&v, &r->params[e->u.sym->slot], sizeof v);
    return v;
}

static Code *compile(Run *r, const Node *e) {
    struct builder b = { .r = r };
    pm_init(&b.slot, r->arena);
    ir_visit(r->arena, e, visit, &b);
    Code *c = ARENA_NEW(r->arena, Code);
    *c = (Code){ .n = b.step.n, .step = b.step.at, .slot = ARENA_ARRAY(r->arena, Value, b.step.n),
                 .state = ARENA_ARRAY(r->arena, uint8_t, b.step.n) };
    for (int i = 0; i < c->n; i++) {
        const Step *s = &c->step[i];
        if (s->e->op == OP_CONST || (s->e->op == OP_VAR && s->name < 0)) c->slot[i] = preset(r, s->e);
    }
    pm_put(&r->code, e, c);
    return c;
}

/* ---- running ---- */

static void read(Run *r, const Lane *l, Code *c, int i) {
    const Step *s = &c->step[i];
    const Memory *m = l->memory[s->name];
    CHECK(r->fault, m != NULL);
    int64_t p[MAX_RANK];
    uint8_t state = DEFINED;
    for (int k = 0; k < s->e->n; k++) {
        p[k] = c->slot[s->kid[k]].i;
        state |= c->state[s->kid[k]];
    }
    int64_t at = run_offset(r, m, s->e->n, p);
    if (!run_holds(r, m, at, p)) state = GARBAGE;
    run_mark(r, m, at, false);
    mlc_type t = m->storage->type[s->e->aux];
    c->slot[i] = val_load(t, m->data[s->e->aux] + at * (int64_t)mlc_type_size(t));
    c->state[i] = state | m->state[s->e->aux][at - m->first];
}

static void print_values(Run *r, const Code *c, const Step *s) {
    const mlc_ctx *ctx = r->p->schedule ? r->p->schedule->ctx : NULL;
    StrBuf line;
    sb_init(&line, r->arena);
    sb_puts(&line, s->e->u.text ? s->e->u.text : "");
    for (int k = 0; k < s->e->n; k++) effect_print(&line, (mlc_type)s->e->kid[k]->type, c->slot[s->kid[k]]);
    effect_emit(&line, ctx ? ctx->log : NULL, ctx ? ctx->log_user : NULL, 0);
}

static void effect(Run *r, Code *c, int i) {
    const Step *s = &c->step[i];
    if (s->e->op == OP_EXTERN) {
        Value arg[8];
        for (int k = 0; k < s->e->n; k++) arg[k] = c->slot[s->kid[k]];
        c->slot[i] = effect_call(s->call, arg, 0);
    } else if (s->e->op == OP_PRINT) {
        print_values(r, c, s);
        c->slot[i] = c->slot[s->kid[0]];
    } else {
        if (!c->slot[s->kid[0]].i) fault_raise(r->fault, ERR_REQUIRE_FAILED, NULL, s->e->u.text);
        c->slot[i] = c->slot[s->kid[1]];
    }
}

static uint8_t state_of(const Code *c, const Step *s) {
    const int *k = s->kid;
    if (s->e->op == OP_SELECT) return c->state[k[0]] | c->state[c->slot[k[0]].i ? k[1] : k[2]];
    if (s->e->op == OP_LAND || s->e->op == OP_LOR) /* selects of bools become these: one side may decide alone */
        for (int i = 0; i < 2; i++)
            if (c->state[k[i]] == DEFINED && !c->slot[k[i]].i == (s->e->op == OP_LAND)) return DEFINED;
    uint8_t state = DEFINED;
    for (int i = 0; i < s->e->n; i++) state |= c->state[k[i]];
    return state;
}

static void run_step(Run *r, const Lane *l, Code *c, int i) {
    const Step *s = &c->step[i];
    const Node *e = s->e;
    switch (e->op) {
    case OP_CONST: return;
    case OP_VAR:
        if (s->name < 0) return;
        c->slot[i] = l->var[s->name];
        c->state[i] = l->state[s->name];
        return;
    case OP_UNDEF: c->state[i] = GARBAGE; return;
    case OP_ACCESS: case OP_LOAD: read(r, l, c, i); return;
    default: break;
    }
    c->state[i] = state_of(c, s);
    if (e->op == OP_PRINT || e->op == OP_REQUIRE || e->op == OP_EXTERN) {
        effect(r, c, i);
        return;
    }
    Value v[24];
    for (int k = 0; k < e->n; k++) v[k] = c->slot[s->kid[k]];
    if (e->op == OP_QUERY) {
        c->slot[i].i = run_query(r, e, v);
        return;
    }
    mlc_type t = (mlc_type)e->kid[0]->type;
    if (e->op == OP_CAST) c->slot[i] = val_cast((mlc_type)e->type, t, v[0]);
    else if (e->op == OP_REINTERPRET) c->slot[i] = val_reinterpret((mlc_type)e->type, t, v[0]);
    else c->slot[i] = val_op((Op)e->op, t, e->n > 1 ? (mlc_type)e->kid[1]->type : MLC_VOID, v);
}

Value run_eval(Run *r, const Lane *l, const Node *e, State *state) {
    Code *c = pm_get(&r->code, e);
    if (!c) c = compile(r, e);
    for (int i = 0; i < c->n; i++) run_step(r, l, c, i);
    *state = (State)c->state[c->n - 1];
    return c->slot[c->n - 1];
}

int64_t run_index(Run *r, const Lane *l, const Node *e, const char *what) {
    State state;
    Value v = run_eval(r, l, e, &state);
    if (state == GARBAGE) run_blame_stale(r);
    if (state == GARBAGE) fault_raise(r->fault, ERR_LOOPS_DECIDES, NULL, what);
    return v.i;
}
