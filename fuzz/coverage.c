/* coverage.c - the table at the end of a run: how often each operator, type, directive, tail and word was in a
 * program that ran.
 *
 * Its rows come from ops.def and directives.def, so what is added there and never drawn is seen.  Operators are
 * counted as they are drawn; of plans, from which refused lines are taken away, what is left is counted. */
#include "coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tail_rows[] = {
#define TAIL(kind, name, doc) [MLC_TAIL_##kind] = "tail " #name,
#include "schedule/directives.def"
};
static const char *const memory_rows[] = {
#define MEMORY(kind, name, doc) [MLC_MEMORY_##kind] = "memory " #name,
#include "schedule/directives.def"
};
static const char *const copy_rows[] = {
#define COPY(kind, name, doc) [MLC_COPY_##kind] = "copy " #name,
#include "schedule/directives.def"
};
static const char *const way_rows[] = {
#define WAY(kind, name, doc) [MLC_WAY_##kind] = "way " #name,
#include "schedule/directives.def"
};
static const char *const policy_rows[] = {
#define POLICY(kind, name) [MLC_PARTITION_##kind] = "partition " #name,
#include "schedule/directives.def"
};
static const char *const fetch_rows[] = {
#define FETCH(kind, name, doc) [MLC_FETCH_##kind] = "fetch " #name,
#include "schedule/directives.def"
};
static const char *const align_rows[] = {
#define LINE_UP(kind, name, doc) [MLC_LOOP_ALIGN_##kind] = "align " #name,
#include "schedule/directives.def"
};
#define N(rows) (int)(sizeof(rows) / sizeof *(rows))

/* Operators by their texts, where these are not those of others. */
static const struct {
    const char *text, *class;
} operators[] = {
#define OP(kind, text, arity, class, rule, precedence) { #kind[0] == 'N' && #kind[1] == 'E' && #kind[2] == 'G' ? "unary -" : text, #class },
#include <mlc/ops.def>
#undef OP
};

/* ---- counting ---- */

/* `name` is always a literal. */
void gen_expect(GenCounts *c, const char *name) {
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->name[i], name)) return;
    if (c->n < GEN_MAX_COUNTS) c->name[c->n++] = name;
}

static void expect_rows(GenCounts *c, const char *const *rows, int n) {
    for (int i = 0; i < n; i++) gen_expect(c, rows[i]);
}

void gen_expect_all(GenCounts *c) {
    static const char *const more[] = { "parallel by", "vectorize by", "unroll by", "vectorize outer", "vectorize fused" };
    memset(c, 0, sizeof *c);
    gen_expect_expressions(c);
    for (int i = 0; i < N(operators); i++)
        if (strcmp(operators[i].class, "LEAF")) gen_expect(c, operators[i].text);
    gen_expect_program(c);
    for (int i = 0; i < MLC_DIRECTIVE_COUNT; i++) gen_expect(c, sch_directives[i].name);
    expect_rows(c, tail_rows, N(tail_rows));
    expect_rows(c, memory_rows, N(memory_rows));
    expect_rows(c, copy_rows, N(copy_rows));
    expect_rows(c, way_rows, N(way_rows));
    expect_rows(c, policy_rows, N(policy_rows));
    expect_rows(c, fetch_rows, N(fetch_rows));
    expect_rows(c, align_rows, N(align_rows));
    expect_rows(c, more, N(more));
}

static void count(GenCounts *c, const char *name) {
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->name[i], name)) {
            c->count[i]++;
            return;
        }
    fprintf(stderr, "the table has no row '%s'\n", name);
    abort();
}

void gen_count(Gen *g, const char *name) {
    count(g->counts, name);
}

/* ---- plans ---- */

static void count_directive(GenCounts *c, const mlc_directive *d) {
    count(c, sch_directives[d->kind].name);
    bool by = d->k[0] > 0, splits = d->kind == MLC_SPLIT || d->kind == MLC_TILE || d->kind == MLC_GPU_TILE || by;
    if (d->kind == MLC_PARALLEL && by) count(c, "parallel by");
    if (d->kind == MLC_VECTORIZE && by) count(c, "vectorize by");
    if (d->kind == MLC_UNROLL && by) count(c, "unroll by");
    for (const char *s = sch_directives[d->kind].shape; *s; s++) {
        if (*s == 't' && splits) count(c, tail_rows[d->tail]);
        if (*s == 'm') count(c, memory_rows[d->memory]);
        if (*s == 'M') count(c, copy_rows[d->copy]);
        if (*s == 'd') count(c, way_rows[d->way]);
        if (*s == 'y') count(c, policy_rows[d->k[0]]);
        if (*s == 'o') count(c, fetch_rows[d->bounds]);
        if (*s == 'l') count(c, align_rows[d->align]);
    }
    for (int i = 0; i < d->n_body; i++) count_directive(c, &d->body[i]);
}

static bool is_fused(const StageSched *st, const char *loop) {
    for (int i = 0; i < st->split.n; i++)
        if (st->split.at[i].kind == SPLIT_FUSE && !strcmp(st->split.at[i].old, loop)) return true;
    return false;
}

static void count_vectors(GenCounts *c, const StageSched *st) {
    for (int i = 0; i < st->dim.n; i++) {
        if (st->dim.at[i].kind != LOOP_VECTOR) continue;
        if (i) count(c, "vectorize outer");
        if (is_fused(st, st->dim.at[i].name)) count(c, "vectorize fused");
    }
}

void coverage_of_plan(GenCounts *counts, const Case *c) {
    const Schedule *s = c->program->schedule;
    for (int i = 0; i < c->plan->line.n; i++) count_directive(counts, &c->plan->line.at[i].d);
    for (int i = 0; i < s->order.n; i++) {
        const FuncSched *fs = pm_get(&s->sched, s->order.at[i]);
        for (int k = 0; fs && k < fs->stage.n; k++) count_vectors(counts, &fs->stage.at[k]);
    }
}

/* ---- the table ---- */

/* Rows that only plans with kernels fill, and the only ones that these have to. */
static bool is_of_gpu(const char *name) {
    return !strncmp(name, "gpu_", 4) || !strcmp(name, "memory shared") || !strncmp(name, "copy", 4) || !strcmp(name, "swizzle");
}

/* Rows that no plan that is drawn has: products of the right shape are rare in random programs. */
static bool is_not_drawn(const char *name) {
    return !strcmp(name, "tensorize") || !strcmp(name, "memory fragment");
}

int gen_print_counts(const GenCounts *c, bool gpu, long least) {
    int few = 0;
    printf("how often each operator, type, directive and tail was in what ran:\n");
    for (int i = 0; i < c->n; i++) printf("%8ld %-22s%s", c->count[i], c->name[i], i % 4 == 3 || i == c->n - 1 ? "\n" : "");
    for (int i = 0; i < c->n; i++) {
        if (c->count[i] >= least || is_of_gpu(c->name[i]) != gpu || is_not_drawn(c->name[i])) continue;
        printf("FAIL: %s: drawn %ld times, not %ld\n", c->name[i], c->count[i], least);
        few++;
    }
    return few;
}
