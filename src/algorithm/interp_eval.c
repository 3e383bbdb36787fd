/* interp_eval.c - a stage of the oracle as a list of scalar steps, operands first.
 *
 * Each distinct node of a definition is one step with one slot.  Params and sizes of buffers are put
 * into their slots once; Vars and RVars are set by the loops; the rest is computed in order, every
 * operand of select included, because that is what the language says. */
#include "interp.h"

Place eval_place(Oracle *o, const Func *f, const Stage *s) {
    mlc_loc loc = s ? s->def->loc : f->loc;
    return (Place){ .loc = loc, .object = arena_printf(o->arena, "interpret %s", f->name) };
}

/* ---- compiling ---- */

struct builder {
    Oracle *o;
    Realised *self;
    Stage *s;
    PtrMap slot; /* Node -> its number + 1 */
    VEC(Step) step;
};

static int slot_of(struct builder *b, const Node *e) {
    return (int)(intptr_t)pm_get(&b->slot, e) - 1;
}

static void visit(void *user, const Node *e) {
    struct builder *b = user;
    Oracle *o = b->o;
    if (pm_has(&b->slot, e)) return;
    Step step = { .e = e, .kid = ARENA_ARRAY(o->arena, int, e->n) };
    for (int i = 0; i < e->n; i++) step.kid[i] = slot_of(b, e->kid[i]);
    for (int i = 0; i < e->n && e->type == MLC_INDEX; i++) {
        mlc_type t = (mlc_type)e->kid[i]->type;
        step.data |= b->step.at[step.kid[i]].data || (e->op == OP_CAST && ty_is_int(t) && ty_bits(t) >= 32);
    }
    if (e->op == OP_ACCESS) step.from = pm_get(&o->real, e->u.func);
    if (e->op == OP_EXTERN) step.call = effect_prepare(o->arena, e->u.ext);
    CHECK(o->fault, e->op != OP_ACCESS || step.from);
    CHECK(o->fault, e->op != OP_POISON && e->op != OP_LOAD && ir_ops[e->op].cls != CLASS_DERIVED);
    VEC_PUSH(o->arena, &b->step, step);
    pm_put(&b->slot, e, (void *)(intptr_t)b->step.n);
}

static int add_root(struct builder *b, const Node *e) {
    CHECK(b->o->fault, e != NULL);
    ir_visit(b->o->arena, e, visit, b);
    return slot_of(b, e);
}

static int64_t size_of(Oracle *o, const Sym *s) {
    const Realised *r = pm_get(&o->real, s->func);
    const struct mlc_buffer *b = r && r->out ? r->out[0] : s->func->bound;
    if (!b) {
        Place at = { .object = "interpret" };
        fault_raise(o->fault, ERR_INTERP_UNBOUND, &at, s->func->name);
    }
    const mlc_dim_t *d = &b->dim[s->dim];
    return s->kind == SYM_MIN ? d->min : s->kind == SYM_EXTENT ? d->extent : d->stride;
}

/* Params and sizes; true when `sym` is one of them. */
static bool constant_symbol(Oracle *o, const Sym *sym, Value *v) {
    if (sym->kind == SYM_PARAM) {
        const Value *set = pm_get(&o->ctx->param_value, sym);
        if (!set) {
            Place at = { .loc = sym->loc, .object = "interpret" };
            fault_raise(o->fault, ERR_INTERP_PARAM, &at, sym->name);
        }
        *v = *set;
        return true;
    }
    if (sym->kind != SYM_MIN && sym->kind != SYM_EXTENT && sym->kind != SYM_STRIDE) return false;
    v->i = size_of(o, sym);
    return true;
}

static void preset(Oracle *o, Stage *s) {
    for (int i = 0; i < s->n; i++) {
        const Node *e = s->step[i].e;
        if (e->op == OP_CONST) s->slot[i] = ir_value(e);
        if (e->op == OP_VAR && !constant_symbol(o, e->u.sym, &s->slot[i])) s->state[i] = UNKNOWN;
    }
}

Value eval_constant(Oracle *o, Realised *self, const Node *e) {
    Stage s = { .def = NULL };
    struct builder b = { .o = o, .self = self, .s = &s };
    pm_init(&b.slot, o->arena);
    int root = add_root(&b, e);
    s.n = b.step.n;
    s.step = b.step.at;
    s.slot = ARENA_ARRAY(o->arena, Value, s.n);
    s.state = ARENA_ARRAY(o->arena, uint8_t, s.n);
    preset(o, &s);
    eval_values(o, self, &s);
    CHECK(o->fault, s.state[root] == KNOWN);
    return s.slot[root];
}

static void bind_loops(Oracle *o, Realised *r, Stage *s, const PtrMap *slots) {
    for (int d = 0; d < s->def->rank; d++) {
        const Node *c = s->def->coord[d];
        bool is_var = c->op == OP_VAR && c->u.sym->kind == SYM_VAR;
        s->pure[d] = is_var ? (int)(intptr_t)pm_get(slots, c) - 1 : -1;
        if (is_var) s->state[s->pure[d]] = KNOWN;
    }
    RDom *dom = s->def->rdom;
    for (int k = 0; dom && k < dom->n; k++) {
        s->rvar[k] = -1;
        for (int i = 0; i < s->n; i++)
            if (s->step[i].e->op == OP_VAR && s->step[i].e->u.sym == dom->var[k]) s->rvar[k] = i;
        if (s->rvar[k] >= 0) s->state[s->rvar[k]] = KNOWN;
        s->rmin[k] = eval_constant(o, r, dom->min[k]).i;
        s->rextent[k] = eval_constant(o, r, dom->extent[k]).i;
    }
    for (int i = 0; i < s->n; i++) CHECK(o->fault, s->step[i].e->op != OP_VAR || s->state[i] == KNOWN);
}

/* Marks the steps that the demand pass must run: reads of Funcs, and all that coordinates stand on. */
static void select_demand(Oracle *o, const Realised *r, Stage *s) {
    bool *need = ARENA_ARRAY(o->arena, bool, s->n);
    for (int d = 0; d < s->def->rank; d++) need[s->coord[d]] = true;
    for (int i = s->n - 1; i >= 0; i--) {
        Step *step = &s->step[i];
        bool reads = step->e->op == OP_ACCESS;
        if (reads) step->wanted = need[i];
        if (reads && step->from->f->is_input && !need[i]) continue; /* checked when it is computed */
        need[i] |= reads;
        for (int k = 0; need[i] && k < step->e->n; k++) need[step->kid[k]] = true;
    }
    (void)r;
    s->demand = ARENA_ARRAY(o->arena, int, s->n);
    for (int i = s->n_where; i < s->n; i++)
        if (need[i]) s->demand[s->n_demand++] = i;
}

static void look_plain(void *user, const Node *e) {
    *(bool *)user &= e->op != OP_ACCESS && e->op != OP_EXTERN && e->op != OP_REQUIRE && e->op != OP_PRINT;
}

/* Compiles the predicates that are (or are not) over indices alone, conjunctions taken apart. */
static void add_predicates(struct builder *b, const RDom *dom, bool plain) {
    Arena *a = b->o->arena;
    Stage *s = b->s;
    VEC(const Node *) todo = { 0 };
    for (int i = dom ? dom->where_canon.n : 0; i-- > 0;) VEC_PUSH(a, &todo, dom->where_canon.at[i]);
    while (todo.n) {
        const Node *c = todo.at[--todo.n];
        bool is_plain = true;
        ir_visit(a, c, look_plain, &is_plain);
        bool room = s->n_predicates + todo.n + 2 < MOST_PREDICATES;
        if (c->op == OP_LAND && !is_plain && room) {
            VEC_PUSH(a, &todo, c->kid[1]);
            VEC_PUSH(a, &todo, c->kid[0]);
        } else if (is_plain == plain) {
            CHECK(b->o->fault, s->n_predicates < MOST_PREDICATES);
            s->where[s->n_predicates++] = add_root(b, c);
        }
    }
}

void eval_compile(Oracle *o, Realised *r, int stage) {
    Stage *s = &r->stage[stage];
    *s = (Stage){ .def = r->f->def.at[stage] };
    struct builder b = { .o = o, .self = r, .s = s };
    pm_init(&b.slot, o->arena);
    RDom *dom = s->def->rdom;
    CHECK(o->fault, !dom || dom->where_canon.n == dom->where.n);
    add_predicates(&b, dom, true);
    s->n_plain = s->n_predicates;
    s->n_first = b.step.n;
    add_predicates(&b, dom, false);
    s->n_where = b.step.n;
    for (int d = 0; d < s->def->rank; d++) s->coord[d] = add_root(&b, s->def->coord[d]);
    for (int k = 0; k < s->def->n; k++) s->value[k] = add_root(&b, s->def->value[k]);
    s->n = b.step.n;
    s->step = b.step.at;
    s->slot = ARENA_ARRAY(o->arena, Value, s->n);
    s->state = ARENA_ARRAY(o->arena, uint8_t, s->n);
    preset(o, s);
    bind_loops(o, r, s, &b.slot);
    select_demand(o, r, s);
    for (int i = 0; i < s->n_where; i++) s->step[i].wanted = true; /* predicates are decided at once */
}

/* ---- running ---- */

static State read_input(Oracle *o, Realised *self, const Stage *s, const Realised *from, const int64_t *p,
                        Value *v) {
    const struct mlc_buffer *b = from->in;
    int64_t at = 0;
    for (int d = 0; d < from->f->rank; d++) {
        int64_t lo = b->dim[d].min, n = b->dim[d].extent;
        if (p[d] < lo || p[d] - lo >= n) {
            Place place = eval_place(o, self->f, s);
            fault_raise(o->fault, ERR_INTERP_READ, &place, from->f->name, (long long)p[d], d, (long long)lo,
                        (long long)(lo + n - 1));
        }
        at += (p[d] - lo) * b->dim[d].stride;
    }
    *v = val_load(b->type, (const char *)b->data + at * (int64_t)mlc_type_size(b->type));
    return KNOWN;
}

static State read_func(Oracle *o, const Realised *self, Realised *from, int elem, const int64_t *p, Value *v) {
    int64_t at = from->value[0] ? points_at(from->f->rank, from->min, from->extent, p) : -1;
    State state = at < 0 || !(from->usable || from == self) ? UNKNOWN : (State)from->state[elem][at];
    if (state == UNKNOWN) {
        points_ask(o, from, p);
        o->incomplete = true;
    } else {
        *v = from->value[elem][at];
    }
    return state;
}

/* A read; in the demand pass only asks for the point, unless the value decides other points. */
static void run_access(Oracle *o, Realised *self, Stage *s, int i, bool demand) {
    Step *step = &s->step[i];
    int64_t p[MAX_RANK];
    uint8_t state = KNOWN;
    for (int d = 0; d < step->e->n; d++) {
        p[d] = s->slot[step->kid[d]].i;
        if (s->state[step->kid[d]] > state) state = s->state[step->kid[d]];
    }
    s->state[i] = state;
    if (state != KNOWN) return;
    if (demand && !step->from->f->is_input) points_ask(o, step->from, p);
    if (demand && !step->wanted) return;
    if (demand && step->from == self) { /* no value of it belongs to this moment; the compute pass asks again */
        s->state[i] = UNKNOWN;
        return;
    }
    if (step->from->f->is_input) s->state[i] = (uint8_t)read_input(o, self, s, step->from, p, &s->slot[i]);
    else s->state[i] = (uint8_t)read_func(o, self, step->from, step->e->aux, p, &s->slot[i]);
}

static void run_extern(const Oracle *o, Stage *s, int i) {
    const Step *step = &s->step[i];
    Value arg[8];
    for (int k = 0; k < step->e->n; k++) arg[k] = s->slot[step->kid[k]];
    s->slot[i] = effect_call(step->call, arg, o->ctx->mode);
}

static void print_values(Oracle *o, const Stage *s, const Step *step) {
    StrBuf line;
    sb_init(&line, o->arena);
    sb_puts(&line, step->e->u.text ? step->e->u.text : "");
    for (int k = 0; k < step->e->n; k++)
        effect_print(&line, (mlc_type)step->e->kid[k]->type, s->slot[step->kid[k]]);
    effect_emit(&line, o->ctx->log, o->ctx->log_user, o->ctx->mode);
}

/* The state of a result: select depends on the operand it chose, all else on every operand. */
static uint8_t state_of(const Stage *s, const Step *step) {
    const int *k = step->kid;
    if (step->e->op == OP_SELECT)
        return s->state[k[0]] ? s->state[k[0]] : s->state[s->slot[k[0]].i ? k[1] : k[2]];
    uint8_t worst = KNOWN;
    for (int i = 0; i < step->e->n; i++)
        if (s->state[k[i]] > worst) worst = s->state[k[i]];
    return worst;
}

static void run_effect(Oracle *o, Realised *self, Stage *s, int i) {
    Step *step = &s->step[i];
    if (step->e->op == OP_PRINT) {
        print_values(o, s, step);
        s->slot[i] = s->slot[step->kid[0]];
    } else if (step->e->op == OP_EXTERN) {
        run_extern(o, s, i);
    } else {
        s->slot[i] = s->slot[step->kid[1]];
        if (s->slot[step->kid[0]].i) return;
        Place at = eval_place(o, self->f, s);
        fault_raise(o->fault, ERR_REQUIRE_FAILED, &at, step->e->u.text);
    }
}

/* An index becomes i32 without loss, or the program is at fault.  Data that became an index may be anything. */
static void check_fits(Oracle *o, Realised *self, const Stage *s, const Step *step) {
    int64_t v = s->slot[step->kid[0]].i;
    if (step->e->type != MLC_I32 || step->e->kid[0]->type != MLC_INDEX || s->step[step->kid[0]].data) return;
    if (v >= INT32_MIN && v <= INT32_MAX) return;
    Place at = eval_place(o, self->f, s);
    fault_raise(o->fault, ERR_INDEX_I32, &at, self->f->name, ir_show(&o->ctx->ir, step->e->kid[0]), (long long)v,
                (long long)v);
}

static void run_step(Oracle *o, Realised *self, Stage *s, int i, bool demand) {
    Step *step = &s->step[i];
    const Node *e = step->e;
    switch (e->op) {
    case OP_CONST: case OP_VAR: return;
    case OP_UNDEF: s->state[i] = GARBAGE; return;
    case OP_ACCESS: run_access(o, self, s, i, demand); return;
    default: break;
    }
    s->state[i] = state_of(s, step);
    if (s->state[i] == UNKNOWN) return;
    mlc_type t = (mlc_type)e->kid[0]->type;
    switch (e->op) {
    case OP_CAST:
        if (s->state[i] == KNOWN) check_fits(o, self, s, step);
        s->slot[i] = val_cast((mlc_type)e->type, t, s->slot[step->kid[0]]); return;
    case OP_REINTERPRET: s->slot[i] = val_reinterpret((mlc_type)e->type, t, s->slot[step->kid[0]]); return;
    case OP_PRINT: case OP_REQUIRE: case OP_EXTERN: run_effect(o, self, s, i); return;
    default: break;
    }
    Value v[3];
    for (int k = 0; k < e->n; k++) v[k] = s->slot[step->kid[k]];
    s->slot[i] = val_op((Op)e->op, t, e->n > 1 ? (mlc_type)e->kid[1]->type : MLC_VOID, v);
}

State eval_where(Oracle *o, Realised *self, Stage *s, bool demand, bool *holds) {
    uint8_t worst = KNOWN;
    *holds = true;
    for (int i = 0; i < s->n_first; i++) run_step(o, self, s, i, demand);
    for (int i = 0; i < s->n_plain; i++) *holds &= s->slot[s->where[i]].i != 0;
    if (!*holds) return KNOWN; /* nothing is read where these exclude the point */
    for (int i = s->n_first; i < s->n_where; i++) run_step(o, self, s, i, demand);
    for (int i = s->n_plain; i < s->n_predicates; i++) {
        if (s->state[s->where[i]] > worst) worst = s->state[s->where[i]];
        *holds &= s->slot[s->where[i]].i != 0;
    }
    return (State)worst;
}

void eval_values(Oracle *o, Realised *self, Stage *s) {
    for (int i = s->n_where; i < s->n; i++) run_step(o, self, s, i, false);
}

void eval_demand(Oracle *o, Realised *self, Stage *s) {
    for (int i = 0; i < s->n_demand; i++) run_step(o, self, s, s->demand[i], true);
}

State eval_left(const Stage *s, int64_t *p) {
    uint8_t worst = KNOWN;
    for (int d = 0; d < s->def->rank; d++) {
        p[d] = s->slot[s->coord[d]].i;
        if (s->state[s->coord[d]] > worst) worst = s->state[s->coord[d]];
    }
    return (State)worst;
}
