/* order.c - which Funcs a set of outputs needs, producers first.
 *
 * Depth first from the outputs in their order; a Func's reads are met in the order of its definitions,
 * so the order is a function of the program alone.  The stack is explicit: a chain of any length costs
 * no C stack. */
#include "algorithm.h"

typedef struct {
    Arena *arena;
    VEC(Func *) reads; /* each once, in the order met */
    PtrMap seen;
} Reads;

static void note_read(void *user, const Node *e) {
    Reads *r = user;
    bool of_func = e->op == OP_VAR && (e->u.sym->kind == SYM_MIN || e->u.sym->kind == SYM_EXTENT);
    Func *f = e->op == OP_ACCESS ? e->u.func : of_func ? e->u.sym->func : NULL;
    if (!f || pm_has(&r->seen, f)) return;
    pm_put(&r->seen, f, f);
    VEC_PUSH(r->arena, &r->reads, f);
}

static void reads_of_def(Reads *r, const Def *d) {
    for (int i = 0; i < d->n; i++) ir_visit(r->arena, d->value[i], note_read, r);
    for (int i = 0; i < d->rank; i++) ir_visit(r->arena, d->coord[i], note_read, r);
    if (!d->rdom) return;
    for (int i = 0; i < d->rdom->n; i++) {
        ir_visit(r->arena, d->rdom->min[i], note_read, r);
        ir_visit(r->arena, d->rdom->extent[i], note_read, r);
    }
    for (int i = 0; i < d->rdom->where_canon.n; i++) ir_visit(r->arena, d->rdom->where_canon.at[i], note_read, r);
}

typedef struct {
    Func *f;
    Reads reads;
    int next;
} Step;

/* Opens f: raises what is wrong with it, and lists what it reads. */
static Step open_func(Arena *a, Func *f) {
    Place place = { .loc = f->loc };
    if (f->poison) ir_raise_poison(a->fault, f->poison);
    if (!f->is_input && !f->def.n) fault_raise(a->fault, ERR_FUNC_UNDEFINED, &place, f->name);
    Step s = { .f = f, .reads = { .arena = a } };
    pm_init(&s.reads.seen, a);
    for (int i = 0; i < f->def.n; i++) reads_of_def(&s.reads, f->def.at[i]);
    return s;
}

/* Outputs are Funcs to compute, each once: a call has one buffer for each. */
static void check_outputs(Arena *a, Func *const *outputs, int n) {
    for (int i = 0; i < n; i++) {
        if (outputs[i]->is_input) fault_raise(a->fault, ERR_REALIZE_INPUT, NULL, outputs[i]->name);
        for (int k = 0; k < i; k++)
            if (outputs[k] == outputs[i]) fault_raise(a->fault, ERR_OUTPUT_TWICE, NULL, outputs[i]->name);
    }
}

FuncList alg_order(Arena *a, Func *const *outputs, int n) {
    check_outputs(a, outputs, n);
    FuncList order = { 0 };
    VEC(Step) stack = { 0 };
    PtrMap opened;
    pm_init(&opened, a);
    for (int i = 0; i < n; i++) {
        if (pm_has(&opened, outputs[i])) continue;
        pm_put(&opened, outputs[i], outputs[i]);
        VEC_PUSH(a, &stack, open_func(a, outputs[i]));
        while (stack.n) {
            Step *top = &stack.at[stack.n - 1];
            if (top->next == top->reads.reads.n) {
                VEC_PUSH(a, &order, top->f);
                stack.n--;
                continue;
            }
            Func *read = top->reads.reads.at[top->next++];
            if (pm_has(&opened, read)) continue;
            pm_put(&opened, read, read);
            VEC_PUSH(a, &stack, open_func(a, read));
        }
    }
    return order;
}

struct self {
    const Func *f;
    bool found;
};

static void look(void *user, const Node *e) {
    struct self *s = user;
    s->found |= e->op == OP_ACCESS && e->u.func == s->f;
}

bool alg_is_recursive(const Func *f, const Def *def) {
    Arena *a = &f->ctx->arena;
    struct self s = { f, false };
    for (int i = 0; i < def->n; i++) ir_visit(a, def->value[i], look, &s);
    for (int i = 0; i < def->rank; i++) ir_visit(a, def->coord[i], look, &s);
    for (int i = 0; def->rdom && i < def->rdom->where_canon.n; i++) ir_visit(a, def->rdom->where_canon.at[i], look, &s);
    return s.found;
}

FuncList alg_reads(Arena *a, const Func *f) {
    Reads r = { .arena = a };
    FuncList all = { 0 };
    pm_init(&r.seen, a);
    for (int i = 0; i < f->def.n; i++) reads_of_def(&r, f->def.at[i]);
    for (int i = 0; i < r.reads.n; i++) VEC_PUSH(a, &all, r.reads.at[i]);
    return all;
}

bool alg_reaches(Arena *a, Func *from, const Func *to) {
    VEC(Func *) todo = { 0 };
    PtrMap seen;
    pm_init(&seen, a);
    VEC_PUSH(a, &todo, from);
    pm_put(&seen, from, from);
    while (todo.n) {
        Func *f = todo.at[--todo.n];
        if (f == to) return true;
        FuncList reads = alg_reads(a, f);
        for (int i = 0; i < reads.n; i++) {
            if (pm_has(&seen, reads.at[i])) continue;
            pm_put(&seen, reads.at[i], reads.at[i]);
            VEC_PUSH(a, &todo, reads.at[i]);
        }
    }
    return false;
}
