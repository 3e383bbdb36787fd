/* kit.h - programs and plans built by hand, lowered, run by the loop interpreter and compared with the
 * oracle.  Nothing but the structs of the floors below lowering is used, so a test here fails for
 * lowering's reasons. */
#ifndef KIT_H
#define KIT_H

#include "lower/loop_interp.h"
#include "lower/lower.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mlc_ctx K;
static Interner *I;
static const Node *x, *y;
static struct mlc_plan plan;
static LoopStats stats;
static bool with_checks; /* lower with .check */
static char loops[1 << 16]; /* text of the last lowering, before flatten */

static inline const Node *idx(int64_t v) {
    return ir_idx(I, v);
}

static inline const Node *i32(int64_t v) {
    return ir_int(I, MLC_I32, v);
}

static inline const Sym *new_sym(const char *name, SymKind kind, Func *f, int dim) {
    Sym *s = ARENA_NEW(&K.arena, Sym);
    *s = (Sym){ .name = name, .kind = kind, .type = MLC_INDEX, .func = f, .dim = dim };
    return s;
}

static inline mlc_var var(const char *name) {
    Sym *s = sm_get(&K.vars, name);
    if (!s) sm_put(&K.vars, name, s = (Sym *)(uintptr_t)new_sym(name, SYM_VAR, NULL, 0));
    return (mlc_var){ &K, (const void *)s };
}

static inline const Node *var_node(const char *name) {
    return ir_var(I, (const Sym *)(const void *)var(name).sym);
}

static inline void kit_setup(void) {
    memset(&K, 0, sizeof K);
    arena_init(&K.arena, NULL, &K.fault);
    ir_interner_init(&K.ir, &K.arena, NULL);
    pm_init(&K.param_value, &K.arena);
    sm_init(&K.vars, &K.arena);
    I = &K.ir;
    x = var_node("x");
    y = var_node("y");
    memset(&plan, 0, sizeof plan);
    plan.ctx = &K;
    plan.arena = &K.arena;
    loops[0] = 0;
    with_checks = false;
}

static inline void kit_teardown(void) {
    arena_free(&K.arena);
}

static inline Func *func(const char *name, int rank, mlc_type type) {
    Func *f = ARENA_NEW(&K.arena, Func);
    *f = (Func){ .name = name, .ctx = &K, .rank = rank, .n = 1, .type = { type }, .id = K.funcs.n };
    for (int d = 0; d < rank; d++) {
        f->arg[d] = d == 0 ? x->u.sym : d == 1 ? y->u.sym : var_node("z")->u.sym;
        f->min[d] = new_sym(arena_printf(&K.arena, "%s.min%d", name, d), SYM_MIN, f, d);
        f->extent[d] = new_sym(arena_printf(&K.arena, "%s.extent%d", name, d), SYM_EXTENT, f, d);
        f->stride[d] = new_sym(arena_printf(&K.arena, "%s.stride%d", name, d), SYM_STRIDE, f, d);
    }
    f->loc = (mlc_loc){ "t.c", 3 };
    VEC_PUSH(&K.arena, &K.funcs, f);
    return f;
}

static inline Def *add_def(Func *f, RDom *dom, const Node *c0, const Node *c1, const Node *value) {
    Def *d = ARENA_NEW(&K.arena, Def);
    *d = (Def){ .rank = f->rank, .n = f->n, .rdom = dom, .coord = { c0, c1 }, .lhs = { c0, c1 },
                .value = { value }, .rhs = { value }, .loc = { "t.c", 7 } };
    VEC_PUSH(&K.arena, &f->def, d);
    return d;
}

static inline Func *pure(const char *name, int rank, const Node *value) {
    Func *f = func(name, rank, (mlc_type)value->type);
    add_def(f, NULL, rank > 0 ? x : NULL, rank > 1 ? y : NULL, value);
    return f;
}

static inline RDom *rdom(const char *name, int n, int64_t extent0, int64_t extent1) {
    RDom *r = ARENA_NEW(&K.arena, RDom);
    Sym *v = ARENA_ARRAY(&K.arena, Sym, n);
    r->name = name;
    r->n = n;
    for (int i = 0; i < n; i++) {
        const char *full = n == 1 ? name : arena_printf(&K.arena, "%s.%c", name, "xyzw"[i]);
        v[i] = (Sym){ .name = full, .kind = SYM_RVAR, .type = MLC_INDEX, .dim = i, .rdom = r };
        sm_put(&K.vars, full, &v[i]);
        r->var[i] = &v[i];
        r->min[i] = idx(0);
        r->extent[i] = idx(i ? extent1 : extent0);
    }
    return r;
}

static inline const Node *at1(Func *f, const Node *a) {
    return ir_access(I, f, f->type[0], 0, 1, &a);
}

static inline const Node *at2(Func *f, const Node *a, const Node *b) {
    const Node *kids[2] = { a, b };
    return ir_access(I, f, f->type[0], 0, 2, kids);
}

static inline const Node *plus(const Node *a, int64_t k) {
    return ir_add(I, a, idx(k));
}

static inline const Node *clamped(const Node *e, int64_t lo, int64_t hi) {
    return ir_min(I, ir_max(I, e, idx(lo)), idx(hi));
}

/* ---- plans ---- */

static inline void line(Func *f, int stage, mlc_directive d) {
    d.loc = (mlc_loc){ "t.c", 20 + plan.line.n };
    PlanLine l = { .func = f, .stage = stage, .d = d };
    VEC_PUSH(&K.arena, &plan.line, l);
}

#define D(...) ((mlc_directive){ __VA_ARGS__ })
#define SPLIT(v0, v1, v2, f, t) D(.kind = MLC_SPLIT, .v = { var(v0), var(v1), var(v2) }, .k = { f }, .tail = t)
#define TILE(a, b, c, d, e, f, kx, ky, t) \
    D(.kind = MLC_TILE, .v = { var(a), var(b), var(c), var(d), var(e), var(f) }, .k = { kx, ky }, .tail = t)
#define FUSE(a, b, c) D(.kind = MLC_FUSE, .v = { var(a), var(b), var(c) })
#define MARK(kind_, a, f, t) D(.kind = kind_, .v = { var(a) }, .k = { f }, .tail = t)
#define ROOT() D(.kind = MLC_COMPUTE_ROOT)
#define STORE_AT_ROOT() D(.kind = MLC_STORE_ROOT)
#define AT(f_, a) D(.kind = MLC_COMPUTE_AT, .at = { f_ }, .at_stage = -1, .v = { var(a) })
#define STORE(f_, a) D(.kind = MLC_STORE_AT, .at = { f_ }, .at_stage = -1, .v = { var(a) })
#define REORDER2(a, b) D(.kind = MLC_REORDER, .n = 2, .v = { var(a), var(b) })
#define BOUND(a, m, e) D(.kind = MLC_BOUND, .v = { var(a) }, .k = { m, e })

/* ---- buffers ---- */

typedef struct {
    struct mlc_buffer b;
    int64_t bytes;
} Box;

static inline struct mlc_buffer *box(mlc_type t, int rank, int64_t w, int64_t h, int64_t min0, int64_t min1) {
    struct mlc_buffer *b = ARENA_NEW(&K.arena, struct mlc_buffer);
    int64_t n = rank > 1 ? w * h : rank > 0 ? w : 1;
    *b = (struct mlc_buffer){ .type = t, .rank = rank, .dim = { { min0, w, 1 }, { min1, h, w } } };
    b->data = arena_alloc(&K.arena, (size_t)(n + 1) * mlc_type_size(t));
    return b;
}

static inline Func *input(const char *name, mlc_type t, int rank, int64_t w, int64_t h, int64_t min0, int64_t min1) {
    Func *f = func(name, rank, t);
    f->is_input = true;
    f->bound = box(t, rank, w, h, min0, min1);
    uint32_t seed = 12345;
    int64_t n = rank > 1 ? w * h : w;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        Value v = ty_is_float(t) ? (Value){ .f = (double)(seed >> 20) } : val_wrap(t, (int64_t)(seed >> 8));
        val_store(t, (char *)f->bound->data + i * (int64_t)mlc_type_size(t), v);
    }
    return f;
}

/* ---- running ---- */

static inline int64_t points(const struct mlc_buffer *b) {
    return b->rank > 1 ? b->dim[0].extent * b->dim[1].extent : b->rank > 0 ? b->dim[0].extent : 1;
}

/* Lowers up to a pass and runs the result; "" or the message of what was raised. */
static inline const char *lower_and_run(Func *out, struct mlc_buffer *b, const char *stop, uint64_t seed) {
    static char message[1024];
    Barrier barrier;
    Arena a;
    Interner ir;
    K.fault.info.code = 0;
    K.fault.info.message[0] = 0;
    arena_init(&a, NULL, &K.fault);
    if (FAULT_TRY(&K.fault, barrier)) {
        ir_interner_init(&ir, &a, I);
        LowerOptions o = { .name = "test", .stop_after = stop, .verify = true, .check = with_checks };
        Schedule *s = sch_resolve(&ir, &plan, &out, 1);
        Program *p = low_lower(&a, &ir, s, &o);
        StrBuf text;
        sb_init(&text, &a);
        st_print(&text, p->body);
        snprintf(loops, sizeof loops, "%s", text.at);
        if (b) {
            struct mlc_buffer **slot = ARENA_ARRAY(&a, struct mlc_buffer *, p->external.n);
            for (int i = 0; i < p->external.n; i++) {
                Storage *t = p->external.at[i];
                slot[t->slot] = t->is_input ? t->func->bound : b;
            }
            memset(&stats, 0, sizeof stats);
            low_interpret_counted(&K.arena, p, slot, NULL, seed, &stats);
        }
        FAULT_END(&K.fault, barrier);
    }
    snprintf(message, sizeof message, "%s", K.fault.info.message);
    arena_free(&a);
    return message;
}

/* Runs the program at every stopping point that matters and compares each with the oracle. */
static inline void check_same(Func *out, int64_t w, int64_t h, int64_t min0, int64_t min1) {
    static const char *const stops[] = { "build", "settle", "simplify", "partition", "unroll", NULL };
    struct mlc_buffer *want = box(out->type[0], out->rank, w, h, min0, min1);
    Barrier barrier;
    K.fault.info.code = 0;
    K.fault.info.message[0] = 0;
    if (FAULT_TRY(&K.fault, barrier)) {
        Func *one = out;
        alg_interpret(&K.arena, &one, &want, 1);
        FAULT_END(&K.fault, barrier);
    }
    ck_assert_str_eq(K.fault.info.message, "");
    for (int s = 0; s < (int)(sizeof stops / sizeof *stops); s++) {
        struct mlc_buffer *have = box(out->type[0], out->rank, w, h, min0, min1);
        const char *message = lower_and_run(out, have, stops[s], (uint64_t)s);
        ck_assert_msg(!*message, "%s: %s\n%s", stops[s] ? stops[s] : "flatten", message, loops);
        size_t size = mlc_type_size(out->type[0]);
        for (int64_t i = 0; i < points(want); i++) {
            Value a = val_load(out->type[0], (char *)want->data + (size_t)i * size);
            Value c = val_load(out->type[0], (char *)have->data + (size_t)i * size);
            ck_assert_msg(val_equal(out->type[0], a, c), "%s: point %lld of %lldx%lld differs\n%s",
                          stops[s] ? stops[s] : "flatten", (long long)i, (long long)w, (long long)h, loops);
        }
    }
}

#endif
