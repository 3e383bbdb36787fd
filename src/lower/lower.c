/* lower.c - runs the passes of passes.def in order, checks what each needs, times it and shows it. */
#include "lower/passes.h"

#include <string.h>
#include <time.h>

enum { NEST = 1, POINTS = 2, SIMPLE = 4, PARTED = 8, UNROLLED = 16, FLAT = 32 };

static void pass_build(Program *p, const LowerOptions *o) { low_build(p, o); }
static void pass_fork(Program *p, const LowerOptions *o) { low_fork(p, o); }
static void pass_access_checks(Program *p, const LowerOptions *o) { low_access_checks(p, o); }
static void pass_settle(Program *p, const LowerOptions *o) { low_settle(p, o); }
static void pass_settle_parts(Program *p, const LowerOptions *o) { low_settle(p, o); }
static void pass_tiles(Program *p, const LowerOptions *o) { low_tiles(p, o); }
static void pass_kernels(Program *p, const LowerOptions *o) { low_kernels(p, o); }
static void pass_watch(Program *p, const LowerOptions *o) { low_watch(p, o); }
static void pass_flatten(Program *p, const LowerOptions *o) { low_flatten(p, o); }

static void pass_simplify(Program *p, const LowerOptions *o) {
    (void)o;
    p->body = low_simplify(p->arena, p->ir, p->body, false);
}

static void pass_unroll(Program *p, const LowerOptions *o) {
    (void)o;
    p->body = low_simplify(p->arena, p->ir, p->body, true);
}

static void pass_trim(Program *p, const LowerOptions *o) {
    (void)o;
    p->body = low_trim(p->arena, p->ir, p->body);
}

static void pass_partition(Program *p, const LowerOptions *o) {
    (void)o;
    p->body = low_partition(p->arena, p->ir, p->schedule, p->body);
}

static const struct {
    const char *name;
    void (*run)(Program *p, const LowerOptions *o);
    unsigned needs, gives, breaks;
    const char *what;
} passes[] = {
#define PASS(name, needs, gives, breaks, what) { #name, pass_##name, needs, gives, breaks, what },
#include "lower/passes.def"
#undef PASS
};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- the scalar params that are left ---- */

typedef struct {
    Program *p;
    PtrMap seen;
} Params;

static void visit_param(void *user, const Node *e) {
    Params *w = user;
    if (e->op != OP_VAR || e->u.sym->kind != SYM_PARAM || pm_has(&w->seen, e->u.sym)) return;
    pm_put(&w->seen, e->u.sym, (void *)(uintptr_t)e->u.sym);
    VEC_PUSH(w->p->arena, &w->p->param, e->u.sym);
}

static void find_params(Program *p) {
    Params w = { .p = p };
    pm_init(&w.seen, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .visit = visit_param, .user = &w };
    st_map(&m, p->body);
    for (int i = 1; i < p->param.n; i++) /* by slot; there are few */
        for (int j = i; j > 0 && p->param.at[j - 1]->slot > p->param.at[j]->slot; j--) {
            const Sym *t = p->param.at[j];
            p->param.at[j] = p->param.at[j - 1];
            p->param.at[j - 1] = t;
        }
}

enum { PASSES = (int)(sizeof passes / sizeof *passes) };

static void run_pass(Program *p, int i, const LowerOptions *o, unsigned *holds) {
    double start = now_ms();
    CHECK(p->arena->fault, (*holds & passes[i].needs) == passes[i].needs);
    passes[i].run(p, o);
    *holds = (*holds & ~passes[i].breaks) | passes[i].gives;
    p->flat = *holds & FLAT;
    if (i == 0) {
        find_params(p);
        p->index_bits = low_index_bits(p);
    }
    double took = now_ms() - start;
    if (o->verify) st_verify(p, passes[i].name);
    if (o->observe) o->observe(o->observe_user, passes[i].name, took, p);
}

Program *low_variant(const Program *p, const LowerOptions *o) {
    CHECK(p->arena->fault, p->shaped);
    Program *q = arena_copy(p->arena, p->shaped, sizeof *q);
    unsigned holds = passes[PASSES - 1].needs;
    q->dense = o->dense;
    q->shaped = p->shaped;
    run_pass(q, PASSES - 1, o, &holds);
    return q;
}

Program *low_lower(Arena *arena, Interner *I, Schedule *s, const LowerOptions *o) {
    Program *p = ARENA_NEW(arena, Program);
    *p = (Program){ .name = o->name, .arena = arena, .ir = I, .schedule = s, .dense = o->dense };
    unsigned holds = 0;
    for (int i = 0; i < PASSES; i++) {
        if (i == PASSES - 1) p->shaped = arena_copy(arena, p, sizeof *p);
        run_pass(p, i, o, &holds);
        if (o->stop_after && !strcmp(o->stop_after, passes[i].name)) break;
    }
    return p;
}
