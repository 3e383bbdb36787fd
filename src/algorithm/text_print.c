/* text_print.c - the algorithm as the user wrote it: inputs, params, C functions, definitions in an order
 * that can be read back (producers first), constraints, outputs. */
#include "algorithm/text.h"

#include <string.h>

/* ---- definitions ---- */

static void find_rvar(void *user, const Node *e) {
    *(bool *)user |= e->op == OP_VAR && e->u.sym->kind == SYM_RVAR;
}

/* Does a side name one of its RVars?  Else the text has to say which domain it runs over. */
static bool names_domain(Arena *a, const Def *d) {
    bool found = false;
    for (int i = 0; i < d->rank; i++) ir_visit(a, d->lhs[i], find_rvar, &found);
    for (int i = 0; i < d->n; i++) ir_visit(a, d->rhs[i], find_rvar, &found);
    return found;
}

void alg_print_def(StrBuf *out, const Func *f, int stage) {
    static const char *const op[] = { "=", "+=", "-=", "*=", "min=", "max=" };
    if (stage < 0 || stage >= f->def.n) return;
    const Def *d = f->def.at[stage];
    if (alg_is_whole(f)) {
        alg_print_whole(out, f);
        return;
    }
    sb_printf(out, "%s(", f->name);
    for (int i = 0; i < d->rank; i++) {
        sb_puts(out, i ? ", " : "");
        if (ir_is_const(d->lhs[i])) sb_printf(out, "%lld", (long long)d->lhs[i]->u.i);
        else ir_print(out, d->lhs[i]);
    }
    sb_printf(out, ") %s ", op[d->op]);
    for (int i = 0; i < d->n; i++) {
        sb_puts(out, i ? ", " : d->n > 1 ? "{" : "");
        ir_print(out, d->rhs[i]);
    }
    if (d->n > 1) sb_puts(out, "}");
    if (d->rdom && !names_domain(out->arena, d)) sb_printf(out, " over %s", d->rdom->name);
}

/* ---- what a program needs, as written ---- */

typedef struct {
    Arena *a;
    StrBuf *out;
    PtrMap seen, printed; /* Funcs, RDoms, Externs */
    VEC(const Func *) funcs; /* producers first */
    VEC(const Extern *) externs;
    VEC(const Func *) reads; /* of the Func being looked at */
} Survey;

static void look(void *user, const Node *e) {
    Survey *s = user;
    bool of_func = e->op == OP_VAR && (e->u.sym->kind == SYM_MIN || e->u.sym->kind == SYM_EXTENT || e->u.sym->kind == SYM_STRIDE);
    const Func *f = e->op == OP_ACCESS ? e->u.func : of_func ? e->u.sym->func : NULL;
    if (f && !pm_has(&s->seen, f)) VEC_PUSH(s->a, &s->reads, f);
    if (e->op != OP_EXTERN || pm_has(&s->seen, e->u.ext)) return;
    pm_put(&s->seen, e->u.ext, s);
    VEC_PUSH(s->a, &s->externs, e->u.ext);
}

static void look_rdom(Survey *s, const RDom *r) {
    for (int i = 0; i < r->n; i++) {
        ir_visit(s->a, r->min[i], look, s);
        ir_visit(s->a, r->extent[i], look, s);
    }
    for (int i = 0; i < r->where.n; i++) ir_visit(s->a, r->where.at[i], look, s);
}

/* What f reads, as written: s->reads. */
static void reads_of(Survey *s, const Func *f) {
    s->reads.n = 0;
    for (int i = 0; i < f->def.n; i++) {
        const Def *d = f->def.at[i];
        for (int k = 0; k < d->rank; k++) ir_visit(s->a, d->lhs[k], look, s);
        for (int k = 0; k < d->n; k++) ir_visit(s->a, d->rhs[k], look, s);
        if (d->rdom) look_rdom(s, d->rdom);
    }
}

typedef struct {
    const Func *f;
    bool opened;
} Visit;

/* Depth first with a stack of our own; a Func is listed behind what it reads. */
static void order(Survey *s, Func *const *outputs, int n) {
    VEC(Visit) stack = { 0 };
    for (int i = n - 1; i >= 0; i--) VEC_PUSH(s->a, &stack, ((Visit){ outputs[i], false }));
    while (stack.n) {
        Visit *v = &stack.at[stack.n - 1];
        const Func *f = v->f;
        if (v->opened || pm_has(&s->seen, f)) {
            if (v->opened) VEC_PUSH(s->a, &s->funcs, f);
            stack.n--;
            continue;
        }
        v->opened = true;
        pm_put(&s->seen, f, s);
        reads_of(s, f);
        for (int i = s->reads.n - 1; i >= 0; i--) VEC_PUSH(s->a, &stack, ((Visit){ s->reads.at[i], false }));
    }
}

/* ---- statements ---- */

static void print_end(StrBuf *out, mlc_type t, double f, int64_t i) {
    ir_print_number(out, t, ty_is_float(t) ? (Value){ .f = f } : (Value){ .i = i });
}

/* The integer nearest to a range's end, which a Func keeps as a double. */
static int64_t end_of(mlc_type t, double v) {
    if (v >= 0x1p63) return INT64_MAX;
    return v <= (double)ty_min(t) ? ty_min(t) : (int64_t)v;
}

static void print_input(StrBuf *out, const Func *f) {
    mlc_type t = f->type[0];
    sb_printf(out, "input %s: %s[%d]", f->name, mlc_type_name(t), f->rank);
    if (f->has_range) {
        bool flt = ty_is_float(t);
        sb_puts(out, " range ");
        print_end(out, t, f->lo, flt ? 0 : end_of(t, f->lo));
        sb_puts(out, "..");
        print_end(out, t, f->hi, flt ? 0 : end_of(t, f->hi));
    }
    sb_puts(out, ";\n");
}

static void print_param(StrBuf *out, const Sym *s, const Value *value) {
    sb_printf(out, "param %s: %s", s->name, mlc_type_name(s->type));
    if (s->has_range) {
        sb_puts(out, " range ");
        print_end(out, s->type, s->lo, s->ilo);
        sb_puts(out, "..");
        print_end(out, s->type, s->hi, s->ihi);
    }
    if (value) {
        sb_puts(out, " = ");
        ir_print_number(out, s->type, *value);
    }
    sb_puts(out, ";\n");
}

static void print_extern(StrBuf *out, const Extern *x) {
    sb_printf(out, "extern %s:", x->name);
    for (int i = 0; i < x->n; i++) sb_printf(out, " %s", mlc_type_name(x->arg[i]));
    sb_printf(out, " -> %s;\n", mlc_type_name(x->result));
}

static void print_index(StrBuf *out, const Node *e) {
    if (ir_is_const(e)) sb_printf(out, "%lld", (long long)e->u.i);
    else ir_print(out, e);
}

static void print_rdom(StrBuf *out, const RDom *r) {
    sb_printf(out, "rdom %s(", r->name);
    for (int i = 0; i < r->n; i++) {
        sb_puts(out, i ? "; " : "");
        print_index(out, r->min[i]);
        sb_puts(out, ", ");
        print_index(out, r->extent[i]);
    }
    sb_puts(out, ")");
    for (int i = 0; i < r->where.n; i++) {
        sb_puts(out, i ? ", " : " where ");
        ir_print(out, r->where.at[i]);
    }
    sb_puts(out, ";\n");
}

static void print_rdom_once(Survey *s, const RDom *r) {
    if (!r || pm_has(&s->printed, r)) return;
    print_rdom(s->out, r);
    pm_put(&s->printed, r, s);
}

static void print_func(Survey *s, const Func *f) {
    for (int i = 0; i < f->def.n; i++) {
        print_rdom_once(s, f->def.at[i]->rdom);
        if (i == 0 && f->implicit) continue; /* its update makes it again */
        alg_print_def(s->out, f, i);
        sb_puts(s->out, ";\n");
    }
}

static void print_dims(StrBuf *out, const Func *f) {
    for (int d = 0; d < f->rank; d++) {
        const char *comma = "";
        if (!f->dim[d].has_min && !f->dim[d].has_extent && !f->dim[d].has_stride && f->dim[d].align < 1) continue;
        sb_printf(out, "dim %s[%d]:", f->name, d);
        if (f->dim[d].has_min) sb_printf(out, " min %lld", (long long)f->dim[d].min), comma = ",";
        if (f->dim[d].has_extent) sb_printf(out, "%s extent %lld", comma, (long long)f->dim[d].extent), comma = ",";
        if (f->dim[d].has_stride) sb_printf(out, "%s stride %lld", comma, (long long)f->dim[d].stride), comma = ",";
        if (f->dim[d].align >= 1) sb_printf(out, "%s align %lld", comma, (long long)f->dim[d].align);
        sb_puts(out, ";\n");
    }
}

void alg_print_with(StrBuf *out, mlc_ctx *ctx, Func *const *outputs, int n, const AlsoPrint *also) {
    Survey s = { .a = out->arena, .out = out };
    pm_init(&s.seen, out->arena);
    pm_init(&s.printed, out->arena);
    for (int i = 0; i < n; i++) {
        Place place = { .loc = outputs[i]->loc };
        if (outputs[i]->poison) ir_raise_poison(out->arena->fault, outputs[i]->poison);
        if (!outputs[i]->is_input && !outputs[i]->def.n) fault_raise(out->arena->fault, ERR_FUNC_UNDEFINED, &place, outputs[i]->name);
    }
    order(&s, outputs, n);
    order(&s, also->funcs.at, also->funcs.n);
    for (int i = 0; i < also->rdoms.n; i++) {
        s.reads.n = 0;
        look_rdom(&s, also->rdoms.at[i]);
        Func *const *reads = arena_copy(out->arena, s.reads.at, sizeof *s.reads.at * (size_t)s.reads.n);
        order(&s, reads, s.reads.n);
    }
    sb_puts(out, "mlc 1\n");
    for (int i = 0; i < ctx->funcs.n; i++) /* in order of creation, which numbers the slots */
        if (ctx->funcs.at[i]->is_input && pm_has(&s.seen, ctx->funcs.at[i])) print_input(out, ctx->funcs.at[i]);
    for (int i = 0; i < ctx->params.n; i++) {
        const Sym *p = ctx->params.at[i];
        print_param(out, p, also->values ? pm_get(&ctx->param_value, p) : NULL);
    }
    for (int i = 0; i < s.externs.n; i++) print_extern(out, s.externs.at[i]);
    for (int i = 0; i < s.funcs.n; i++) print_func(&s, s.funcs.at[i]);
    for (int i = 0; i < also->rdoms.n; i++) print_rdom_once(&s, also->rdoms.at[i]);
    for (int i = 0; i < s.funcs.n; i++) print_dims(out, s.funcs.at[i]);
    for (int i = 0; i < n; i++) sb_printf(out, "%s%s", i ? ", " : "output ", outputs[i]->name);
    sb_puts(out, n ? ";\n" : "");
}

void alg_print_program(StrBuf *out, mlc_ctx *ctx, Func *const *outputs, int n) {
    alg_print_with(out, ctx, outputs, n, &(AlsoPrint){ 0 });
}
