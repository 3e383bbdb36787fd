/* text_kit.h - a program of one output with a plan p, as text: lowered, run by the loop interpreter and compared
 * with the oracle, which reads the algorithm as it was before any plan. */
#ifndef TEXT_KIT_H
#define TEXT_KIT_H

#include "lower/loop_interp.h"
#include "lower/lower.h"
#include <mlc/run.h>
#include <mlc/text.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COUNTS = 32, AROUND = 24 }; /* AROUND: points that inputs hold on each side of the output's box */

static struct {
    mlc_ctx *ctx;
    mlc_plan *plan;
    mlc_func out;
    char loops[1 << 16];   /* before flatten */
    char message[1024];    /* "", or what was raised */
    LoopStats stats;
    int64_t allocs, peak;  /* of the last run: how often memory was taken, the most bytes at once */
    struct { char name[32]; int stage; int64_t stores; } count[MOST_COUNTS];
    int n_counts;
} T;

static inline void text_close(void) {
    mlc_ctx_free(T.ctx);
    memset(&T, 0, sizeof T);
}

static inline void text_open(const char *text) {
    if (T.ctx) text_close();
    T.ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(T.ctx, text, "t.mlc");
    ck_assert_msg(p && mlc_program_n_outputs(p) == 1, "%s", mlc_error(T.ctx));
    T.out = mlc_program_output(p, 0);
    T.plan = strstr(text, "plan p {") ? mlc_program_find_plan(p, "p") : mlc_plan_new(T.ctx);
}

/* ---- buffers ---- */

static inline mlc_buffer *text_buffer(mlc_type t, int rank, const int64_t *size, const int64_t *min, int around) {
    int64_t extent[MAX_RANK] = { 0 };
    for (int d = 0; d < rank; d++) extent[d] = size[d] + 2 * around;
    mlc_buffer *b = mlc_buffer_new(t, rank, extent);
    for (int d = 0; d < rank; d++) b->dim[d].min = min[d] - around;
    return b;
}

static inline void text_fill(mlc_buffer *b) {
    uint32_t seed = 12345;
    for (int64_t i = 0; i < mlc_buffer_count(b); i++) {
        seed = seed * 1664525u + 1013904223u;
        Value v = ty_is_float(b->type) ? (Value){ .f = (double)(seed >> 20) / 7 } : val_wrap(b->type, (int64_t)(seed >> 8));
        val_store(b->type, (char *)b->data + i * (int64_t)mlc_type_size(b->type), val_round(b->type, v.f));
        if (!ty_is_float(b->type)) val_store(b->type, (char *)b->data + i * (int64_t)mlc_type_size(b->type), v);
    }
}

static inline void text_bind(const int64_t *size, const int64_t *min) {
    for (int i = 0; i < T.ctx->funcs.n; i++) {
        Func *f = T.ctx->funcs.at[i];
        if (!f->is_input) continue;
        mlc_buffer_free(f->bound);
        text_fill(f->bound = text_buffer(f->type[0], f->rank, size, min, AROUND));
    }
}

static inline void text_unbind(void) {
    for (int i = 0; i < T.ctx->funcs.n; i++) {
        if (T.ctx->funcs.at[i]->is_input) mlc_buffer_free(T.ctx->funcs.at[i]->bound);
        T.ctx->funcs.at[i]->bound = NULL;
    }
}

/* ---- running ---- */

/* Lowers up to a pass; with a buffer runs the result into it. */
static inline const char *text_lower(mlc_buffer *b, const char *stop, uint64_t seed) {
    Fault fault = { 0 };
    Arena a;
    Interner ir;
    Barrier barrier;
    arena_init(&a, NULL, &fault);
    if (FAULT_TRY(&fault, barrier)) {
        ir_interner_init(&ir, &a, &T.ctx->ir);
        LowerOptions o = { .name = "test", .stop_after = stop, .verify = true };
        Func *out = T.out.f;
        Program *p = low_lower(&a, &ir, sch_resolve(&ir, T.plan, &out, 1), &o);
        StrBuf text;
        sb_init(&text, &a);
        st_print(&text, p->shaped && !stop ? p->shaped->body : p->body);
        snprintf(T.loops, sizeof T.loops, "%s", text.at);
        mlc_buffer **slot = ARENA_ARRAY(&a, mlc_buffer *, p->external.n + 1);
        for (int i = 0; i < p->external.n; i++)
            slot[p->external.at[i]->slot] = p->external.at[i]->is_input ? p->external.at[i]->func->bound : b;
        memset(&T.stats, 0, sizeof T.stats);
        if (b) low_interpret_counted(&a, p, slot, NULL, seed, &T.stats);
        T.n_counts = 0;
        T.allocs = 0;
        T.peak = T.stats.peak;
        for (int i = 0; i < T.stats.alloc.n; i++) T.allocs += T.stats.alloc.at[i].times;
        for (int i = 0; i < T.stats.count.n && i < MOST_COUNTS; i++) {
            snprintf(T.count[i].name, sizeof T.count[i].name, "%s", T.stats.count.at[i].func->name);
            T.count[i].stage = T.stats.count.at[i].stage;
            T.count[i].stores = T.stats.count.at[i].stores;
            T.n_counts++;
        }
        FAULT_END(&fault, barrier);
    }
    snprintf(T.message, sizeof T.message, "%s", fault.info.message);
    arena_free(&a);
    return T.message;
}

/* How many points of a stage the last run stored. */
static inline int64_t text_stores(const char *name, int stage) {
    for (int i = 0; i < T.n_counts; i++)
        if (!strcmp(T.count[i].name, name) && T.count[i].stage == stage) return T.count[i].stores;
    return 0;
}

static inline int64_t text_count(const char *what) {
    int64_t n = 0;
    for (const char *p = T.loops; (p = strstr(p, what)); p++) n++;
    return n;
}

/* At every stopping point that matters, over a box of this size. */
static inline void text_check(int64_t w, int64_t h, int64_t min0, int64_t min1) {
    static const char *const stops[] = { "build", "settle", "simplify", "partition", "unroll", "kernels", NULL };
    const int64_t size[2] = { w, h }, min[2] = { min0, min1 };
    Func *out = T.out.f;
    mlc_buffer *want = text_buffer(out->type[0], out->rank, size, min, 0);
    text_bind(size, min);
    ck_assert_msg(mlc_interpret(T.out, want), "%s", mlc_error(T.ctx));
    for (int s = 0; s < (int)(sizeof stops / sizeof *stops); s++) {
        mlc_buffer *have = text_buffer(out->type[0], out->rank, size, min, 0);
        const char *message = text_lower(have, stops[s], (uint64_t)s);
        ck_assert_msg(!*message, "%s: %s\n%s", stops[s] ? stops[s] : "flatten", message, T.loops);
        ck_assert_msg(!memcmp(want->data, have->data, (size_t)mlc_buffer_count(want) * mlc_type_size(want->type)),
                      "%s: %lldx%lld differs\n%s", stops[s] ? stops[s] : "flatten", (long long)w, (long long)h, T.loops);
        mlc_buffer_free(have);
    }
    mlc_buffer_free(want);
    text_unbind();
}

/* Sizes that tails, empty boxes and starts other than 0 show at. */
static inline void text_check_sizes(void) {
    static const int64_t size[][4] = { { 1, 1, 0, 0 }, { 0, 3, 2, 1 }, { 7, 3, -3, 5 }, { 8, 8, 0, -2 }, { 17, 13, 5, -7 } };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) text_check(size[i][0], size[i][1], size[i][2], size[i][3]);
}

#endif
