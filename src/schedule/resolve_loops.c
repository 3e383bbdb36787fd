/* resolve_loops.c - the loops of a stage, and the directives that split, join, order and mark them.
 *
 * dim[] is the loop nest, innermost first.  Each split stays in split[] in order of application; lowering
 * reads that list forwards for extents and backwards for values, so a directive may keep a name for a new
 * loop (vectorize(x, 8) leaves x as the outer loop). */
#include "schedule/assoc.h"
#include "schedule/resolve.h"

#include <string.h>

static const char *const kind_name[] = { "serial", "parallel", "vectorized", "unrolled", "one of gpu_blocks", "one of gpu_threads", "tensorized" };

const char *sch_stage_name(Arena *a, const Func *f, int stage) {
    return stage == 0 ? f->name : arena_printf(a, "%s.u%d", f->name, stage - 1);
}

const char *sch_updates(Arena *a, int stages) {
    return stages < 2 ? "none" : stages == 2 ? "u0 alone" : arena_printf(a, "u0 to u%d", stages - 2);
}

const char *sch_loop_names(Arena *a, const StageSched *st) {
    StrBuf b;
    sb_init(&b, a);
    for (int i = 0; i < st->dim.n; i++) sb_printf(&b, "%s%s", i ? ", " : "", st->dim.at[i].name);
    return st->dim.n ? b.at : "none";
}

static int find(const StageSched *st, const char *name) {
    for (int i = 0; i < st->dim.n; i++)
        if (!strcmp(st->dim.at[i].name, name)) return i;
    return -1;
}

Dim *sch_find_loop(const StageSched *st, const char *name) {
    int i = find(st, name);
    return i < 0 ? NULL : &st->dim.at[i];
}

void sch_first_loops(Resolve *r, StageSched *st) {
    const Def *def = st->def;
    bool whole = alg_is_whole(st->func); /* its loops are those of its C function, until the plan marks them */
    for (int i = 0; def->rdom && i < def->rdom->n; i++) {
        const Sym *v = def->rdom->var[i];
        bool pure = sch_rvar_is_pure(r->ir, st->func, def, v);
        Dim d = { .name = v->name, .is_rvar = !pure, .is_pure = pure };
        VEC_PUSH(r->arena, &st->dim, d);
    }
    for (int i = 0; i < def->rank; i++) {
        const Node *c = def->coord[i];
        if (c->op != OP_VAR || c->u.sym->kind != SYM_VAR) continue;
        Dim d = { .name = c->u.sym->name, .is_pure = true, .is_whole = whole };
        VEC_PUSH(r->arena, &st->dim, d);
    }
}

/* ---- finding and naming ---- */

static int need(Resolve *r, const StageSched *st, const PlanLine *line, int k) {
    const Sym *v = (const Sym *)line->d.v[k].sym;
    int i = v ? find(st, v->name) : -1;
    if (i >= 0) return i;
    Place place = sch_place(r->arena, line);
    fault_raise(r->fault, ERR_NO_LOOP, &place, v ? v->name : "?", sch_stage_name(r->arena, st->func, st->index),
                sch_loop_names(r->arena, st));
}

void sch_need_serial(Resolve *r, const Dim *d, const PlanLine *line) {
    if (d->kind == LOOP_SERIAL) return;
    Place place = sch_place(r->arena, line);
    fault_raise(r->fault, ERR_LOOP_MARKED, &place, d->name, kind_name[d->kind]);
}

/* A loop that a split or a fuse takes apart must have neither a mark nor a policy yet: its pieces would not know
 * what of it is theirs. */
static void need_whole(Resolve *r, const StageSched *st, const Dim *d, const PlanLine *line) {
    sch_need_serial(r, d, line);
    Place place = sch_place(r->arena, line);
    if (d->partitioned) fault_raise(r->fault, ERR_LOOP_MARKED, &place, d->name, "partitioned");
    sch_check_taken_apart(r, st, line, d->name);
}

/* The name of a new loop, which no other loop than the replaced ones may have. */
static const char *new_name(Resolve *r, const StageSched *st, const PlanLine *line, int k, int old1, int old2) {
    const Sym *v = (const Sym *)line->d.v[k].sym;
    const char *name = v ? v->name : "?";
    int i = find(st, name);
    if (i < 0 || i == old1 || i == old2) return name;
    Place place = sch_place(r->arena, line);
    fault_raise(r->fault, ERR_LOOP_NAME_USED, &place, name, sch_stage_name(r->arena, st->func, st->index));
}

static void insert_dim(Resolve *r, StageSched *st, int at, Dim d) {
    VEC_PUSH(r->arena, &st->dim, d);
    memmove(&st->dim.at[at + 1], &st->dim.at[at], sizeof d * (size_t)(st->dim.n - 1 - at));
    st->dim.at[at] = d;
}

static void remove_dim(StageSched *st, int at) {
    memmove(&st->dim.at[at], &st->dim.at[at + 1], sizeof *st->dim.at * (size_t)(st->dim.n - 1 - at));
    st->dim.n--;
}

/* ---- split and fuse ---- */

static void split(Resolve *r, StageSched *st, const PlanLine *line, int at, const char *outer, const char *inner,
                  int64_t factor) {
    Place place = sch_place(r->arena, line);
    if (factor < 1) fault_raise(r->fault, ERR_BAD_FACTOR, &place, (long long)factor);
    if (!strcmp(outer, inner)) fault_raise(r->fault, ERR_LOOP_NAME_USED, &place, inner, "the same directive");
    Dim old = st->dim.at[at];
    need_whole(r, st, &old, line);
    bool rvar = sch_stems_from_rvar(st, old.name);
    sch_check_tail(r, st, line, old.name, rvar);
    Split s = { .kind = SPLIT_SPLIT, .old = old.name, .outer = outer, .inner = inner, .factor = factor,
                .tail = line->d.tail, .exact = rvar || st->index > 0, .line = line };
    VEC_PUSH(r->arena, &st->split, s);
    old.line = line;
    st->dim.at[at] = old;
    st->dim.at[at].name = inner;
    insert_dim(r, st, at + 1, old);
    st->dim.at[at + 1].name = outer;
}

static void apply_split(Resolve *r, StageSched *st, const PlanLine *line) {
    int at = need(r, st, line, 0);
    split(r, st, line, at, new_name(r, st, line, 1, at, at), new_name(r, st, line, 2, at, at), line->d.k[0]);
}

static int impure_order(const StageSched *st, const char **names);
static void check_order(Resolve *r, const StageSched *st, const PlanLine *line, int n, const char *const *before);

/* fuse(inner, outer, fused): outer is first moved next to inner. */
static void apply_fuse(Resolve *r, StageSched *st, const PlanLine *line) {
    int in = need(r, st, line, 0), out = need(r, st, line, 1);
    Place place = sch_place(r->arena, line);
    if (in == out) fault_raise(r->fault, ERR_LOOP_TWICE, &place, st->dim.at[in].name);
    need_whole(r, st, &st->dim.at[in], line);
    need_whole(r, st, &st->dim.at[out], line);
    const char *name = new_name(r, st, line, 2, in, out), *before[MAX_RANK * 8];
    int n = impure_order(st, before);
    Dim a = st->dim.at[in], b = st->dim.at[out];
    remove_dim(st, out);
    insert_dim(r, st, out < in ? in : in + 1, b);
    check_order(r, st, line, n, before);
    in = find(st, a.name);
    Split s = { .kind = SPLIT_FUSE, .old = name, .outer = b.name, .inner = a.name, .line = line };
    VEC_PUSH(r->arena, &st->split, s);
    remove_dim(st, in + 1);
    st->dim.at[in] = (Dim){ .name = name, .is_rvar = a.is_rvar || b.is_rvar, .is_pure = a.is_pure && b.is_pure,
                            .line = line };
}

/* ---- names and policies ---- */

static void apply_rename(Resolve *r, StageSched *st, const PlanLine *line) {
    int at = need(r, st, line, 0);
    Split s = { .kind = SPLIT_RENAME, .old = st->dim.at[at].name, .outer = new_name(r, st, line, 1, at, at), .inner = "",
                .line = line };
    VEC_PUSH(r->arena, &st->split, s);
    st->dim.at[at].name = s.outer;
}

static void apply_partition(Resolve *r, StageSched *st, const PlanLine *line) {
    Dim *d = &st->dim.at[need(r, st, line, 0)];
    d->partition = (mlc_partition_policy)line->d.k[0];
    d->partitioned = line;
}

/* ---- order ---- */

static int impure_order(const StageSched *st, const char **names) {
    int n = 0;
    for (int i = 0; i < st->dim.n && n < MAX_RANK * 8; i++)
        if (st->dim.at[i].is_rvar) names[n++] = st->dim.at[i].name;
    return n;
}

static void check_order(Resolve *r, const StageSched *st, const PlanLine *line, int n, const char *const *before) {
    const char *after[MAX_RANK * 8];
    impure_order(st, after);
    Fold fold = sch_fold(r->ir, st->func, st->index, st->def);
    bool is_free = fold.kind == FOLD_OP && fold.exact;
    for (int i = 0; i < n; i++) {
        if (is_free || !strcmp(before[i], after[i])) continue;
        Place place = sch_place(r->arena, line);
        fault_raise(r->fault, ERR_ORDER_RVAR, &place, before[i], after[i],
                    sch_stage_name(r->arena, st->func, st->index));
    }
}

/* The named loops take the places they held together, innermost first. */
static void reorder(Resolve *r, StageSched *st, const PlanLine *line, int n, const int *at) {
    const char *before[MAX_RANK * 8];
    int impure = impure_order(st, before), count = st->dim.n;
    bool *moved = ARENA_ARRAY(r->arena, bool, count);
    Dim *old = arena_copy(r->arena, st->dim.at, sizeof *old * (size_t)count);
    for (int i = 0; i < n; i++) {
        if (moved[at[i]]) {
            Place place = sch_place(r->arena, line);
            fault_raise(r->fault, ERR_LOOP_TWICE, &place, old[at[i]].name);
        }
        moved[at[i]] = true;
    }
    for (int i = 0, k = 0; i < count; i++)
        if (moved[i]) st->dim.at[i] = old[at[k++]];
    check_order(r, st, line, impure, before);
}

static void apply_reorder(Resolve *r, StageSched *st, const PlanLine *line) {
    int at[8], n = line->d.n < 8 ? line->d.n : 8;
    for (int i = 0; i < n; i++) at[i] = need(r, st, line, i);
    reorder(r, st, line, n, at);
}

/* tile(x, y, xo, yo, xi, yi, fx, fy): two splits, and the order xi, yi, xo, yo; n loops likewise.  A new loop may have
 * the name of one that is split later. */
static void apply_tile(Resolve *r, StageSched *st, const PlanLine *line, int n) {
    int at[6];
    Place place = sch_place(r->arena, line);
    for (int i = 0; i < n; i++) {
        int old = need(r, st, line, i), next = i + 1 < n ? need(r, st, line, i + 1) : old;
        if (old == next && i + 1 < n) fault_raise(r->fault, ERR_LOOP_TWICE, &place, st->dim.at[old].name);
        split(r, st, line, old, new_name(r, st, line, n + i, old, next), new_name(r, st, line, 2 * n + i, old, next), line->d.k[i]);
    }
    for (int i = 0; i < n; i++) at[i] = need(r, st, line, 2 * n + i), at[n + i] = need(r, st, line, n + i);
    reorder(r, st, line, 2 * n, at);
}

/* ---- marks ---- */

static void check_mark(Resolve *r, const StageSched *st, const Dim *d, LoopKind kind, const PlanLine *line) {
    if (kind == LOOP_SERIAL) return;
    sch_need_serial(r, d, line);
    Place place = sch_place(r->arena, line);
    if (!d->is_pure && kind != LOOP_UNROLL) sch_check_race(r, st, d, kind, line);
    for (int i = 0; kind == LOOP_VECTOR && i < st->dim.n; i++)
        if (st->dim.at[i].kind == LOOP_VECTOR)
            fault_raise(r->fault, ERR_VECTOR_TWICE, &place, st->dim.at[i].name,
                        sch_stage_name(r->arena, st->func, st->index));
}

/* mark(v) or mark(v, n): the latter splits first; v stays the name of the outer loop. */
static void apply_mark(Resolve *r, StageSched *st, const PlanLine *line, LoopKind kind, const char *suffix) {
    int at = need(r, st, line, 0);
    Place place = sch_place(r->arena, line);
    if (line->d.k[0] < 0) fault_raise(r->fault, ERR_BAD_FACTOR, &place, (long long)line->d.k[0]);
    if (line->d.k[0] > 0 && kind != LOOP_SERIAL) {
        const char *name = st->dim.at[at].name, *inner = arena_printf(r->arena, "%s$%s", name, suffix);
        for (int i = 1; find(st, inner) >= 0; i++) inner = arena_printf(r->arena, "%s$%s%d", name, suffix, i);
        check_mark(r, st, &st->dim.at[at], kind, line);
        split(r, st, line, at, name, inner, line->d.k[0]);
        if (kind == LOOP_PARALLEL) at++;
    } else {
        check_mark(r, st, &st->dim.at[at], kind, line);
    }
    st->dim.at[at].kind = kind;
    st->dim.at[at].is_whole = false;
    st->dim.at[at].line = line;
}

/* ---- of a GPU ---- */

static void mark_gpu(Resolve *r, StageSched *st, const PlanLine *line, int first, int n, LoopKind kind) {
    Place place = sch_place(r->arena, line);
    for (int i = 0; i < n; i++) {
        int at = need(r, st, line, first + i), before = i ? need(r, st, line, first + i - 1) : -1;
        Dim *d = &st->dim.at[at];
        check_mark(r, st, d, kind, line);
        if (at < before) fault_raise(r->fault, ERR_GPU_ORDER, &place, d->name, st->dim.at[before].name);
        d->kind = kind;
        d->is_whole = false;
        d->line = line;
    }
}

static void apply_gpu_tile(Resolve *r, StageSched *st, const PlanLine *line) {
    int n = line->d.n / 3;
    apply_tile(r, st, line, n);
    mark_gpu(r, st, line, n, n, LOOP_GPU_BLOCK);
    mark_gpu(r, st, line, 2 * n, n, LOOP_GPU_THREAD);
}

/* Loops of one iteration around all others. */
static void apply_single_thread(Resolve *r, StageSched *st, const PlanLine *line) {
    Dim thread = { .name = SINGLE_THREAD, .kind = LOOP_GPU_THREAD, .is_pure = true, .line = line }, block = thread;
    block.name = SINGLE_BLOCK;
    block.kind = LOOP_GPU_BLOCK;
    Place place = sch_place(r->arena, line);
    if (find(st, SINGLE_BLOCK) >= 0) fault_raise(r->fault, ERR_LOOP_TWICE, &place, SINGLE_BLOCK);
    VEC_PUSH(r->arena, &st->dim, thread);
    VEC_PUSH(r->arena, &st->dim, block);
}

static void apply_prefetch(Resolve *r, StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    const char *at = st->dim.at[need(r, st, line, 0)].name, *from = st->dim.at[need(r, st, line, 1)].name;
    if (line->d.k[0] < 1) fault_raise(r->fault, ERR_BAD_FACTOR, &place, (long long)line->d.k[0]);
    Prefetch p = { .func = line->d.at.f, .at = at, .from = from, .offset = line->d.k[0], .bounds = line->d.bounds, .line = line };
    VEC_PUSH(r->arena, &st->prefetch, p);
}

/* Their loops must be there still when all directives are applied. */
void sch_check_prefetches(Resolve *r, const StageSched *st) {
    for (int i = 0; i < st->prefetch.n; i++) {
        const Prefetch *p = &st->prefetch.at[i];
        int at = need(r, st, p->line, 0), from = need(r, st, p->line, 1);
        Place place = sch_place(r->arena, p->line);
        if (from < at) fault_raise(r->fault, ERR_PREFETCH_ORDER, &place, p->from, p->at, p->at);
    }
    for (int i = 0; i < st->special.n; i++) sch_check_prefetches(r, st->special.at[i].sched);
}

bool sch_loop_directive(Resolve *r, StageSched *st, const PlanLine *line) {
    switch (line->d.kind) {
    case MLC_SPLIT: apply_split(r, st, line); break;
    case MLC_FUSE: apply_fuse(r, st, line); break;
    case MLC_TILE: apply_tile(r, st, line, 2); break;
    case MLC_REORDER: apply_reorder(r, st, line); break;
    case MLC_SERIAL: apply_mark(r, st, line, LOOP_SERIAL, "s"); break;
    case MLC_PARALLEL: apply_mark(r, st, line, LOOP_PARALLEL, "p"); break;
    case MLC_VECTORIZE: apply_mark(r, st, line, LOOP_VECTOR, "v"); break;
    case MLC_UNROLL: apply_mark(r, st, line, LOOP_UNROLL, "u"); break;
    case MLC_GPU_BLOCKS: mark_gpu(r, st, line, 0, line->d.n, LOOP_GPU_BLOCK); break;
    case MLC_GPU_THREADS: mark_gpu(r, st, line, 0, line->d.n, LOOP_GPU_THREAD); break;
    case MLC_GPU_TILE: apply_gpu_tile(r, st, line); break;
    case MLC_GPU_SINGLE_THREAD: apply_single_thread(r, st, line); break;
    case MLC_TENSORIZE: sch_tensorize(r, st, line); break;
    case MLC_RENAME: apply_rename(r, st, line); break;
    case MLC_PARTITION: apply_partition(r, st, line); break;
    case MLC_PREFETCH: apply_prefetch(r, st, line); break;
    case MLC_ATOMIC: sch_atomic(r, st, line); break;
    case MLC_STREAM_STORES: case MLC_STREAM_LOADS: sch_stream(r, st, line); break;
    default: return false;
    }
    st->touched = true;
    return true;
}
