/* gpu_nest.c - is what stands around a stage a kernel?
 *
 *     for r                        loops of the host, which launch a kernel an iteration: serial or unrolled
 *       for by.yo gpu_block        1 to 3 loops of blocks, one right inside of the other
 *         for by.xo gpu_block
 *           produce bx ...         by the threads of the block: with gpu_threads of its own, else by one of them
 *           for by.yi gpu_thread   1 to 3 loops of threads, with others between and inside as one likes
 *             for by.xi gpu_thread
 *               produce g ...      by each thread for itself
 *
 * A chain of scopes may hold loops of several stages, so these rules are asked here, where the chain stands.  Memory has
 * the level at which it is taken: the host's, which kernels reach in the heap alone; that of a block, which its threads
 * share; that of a thread, which no other one sees.  Nothing waits inside of a loop of threads: threads that have no
 * iteration of it would never come.  So what they do together, they do outside of all of these. */
#include "lower/nest.h"

enum { MOST_THREAD_LAYERS = 64 }; /* in the third dimension */

static const Scope *gpu_around(const Scope *s, LoopKind kind) {
    while (s && !(s->var && (s->kind == kind || (kind == LOOP_GPU_THREAD && s->kind == LOOP_TENSOR)))) s = s->up;
    return s;
}

GpuLevel low_gpu_level(const Scope *s) {
    return gpu_around(s, LOOP_GPU_THREAD) ? GPU_OF_THREAD : gpu_around(s, LOOP_GPU_BLOCK) ? GPU_OF_BLOCK : GPU_OF_HOST;
}

static Place place_of(Build *b, const Scope *s) {
    return sch_place(b->arena, s->dim->line);
}

/* The innermost loop around s in which loops of a kind cannot run, or NULL. */
static const Scope *bad_around(const Scope *s) {
    bool of_host = s->kind == LOOP_GPU_BLOCK, cpu = s->kind == LOOP_PARALLEL;
    for (const Scope *o = s->up; o; o = o->up) {
        if (!o->var) continue;
        bool gpu = sch_is_gpu(o->kind), spreads = o->kind == LOOP_PARALLEL || o->kind == LOOP_VECTOR;
        if (of_host ? spreads || o->kind == LOOP_GPU_THREAD : cpu ? gpu : spreads) return o;
    }
    return NULL;
}

/* ---- one loop ---- */

static void check_block(Build *b, const Scope *s) {
    const Scope *outer = gpu_around(s->up, LOOP_GPU_BLOCK);
    Place place = place_of(b, s);
    if (!outer) return;
    if (outer->stage != s->stage)
        fault_raise(b->fault, ERR_GPU_NESTED, &place, low_place_name(b, s), sch_kinds[s->kind], low_place_name(b, outer), s->stage->fn->func->name);
    for (const Scope *o = s->up; o != outer; o = o->up)
        if (o->var) fault_raise(b->fault, ERR_GPU_BETWEEN, &place, low_place_name(b, o), low_place_name(b, s), low_place_name(b, outer));
}

static void check_thread(Build *b, const Scope *s) {
    const Scope *outer = gpu_around(s->up, LOOP_GPU_THREAD);
    Place place = place_of(b, s);
    if (!gpu_around(s, LOOP_GPU_BLOCK)) fault_raise(b->fault, ERR_GPU_NO_BLOCKS, &place, low_place_name(b, s));
    if (outer && outer->stage != s->stage)
        fault_raise(b->fault, ERR_GPU_NESTED, &place, low_place_name(b, s), sch_kinds[s->kind], low_place_name(b, outer), s->stage->fn->func->name);
}

static void check_loop(Build *b, const Scope *s) {
    Place place = place_of(b, s);
    const Scope *bad = bad_around(s);
    if (bad) fault_raise(b->fault, ERR_GPU_INSIDE, &place, sch_kinds[s->kind], low_place_name(b, s), sch_kinds[bad->kind], low_place_name(b, bad));
    if (s->kind == LOOP_GPU_BLOCK) check_block(b, s);
    if (s->kind == LOOP_GPU_THREAD) check_thread(b, s);
}

/* Its loops become one of the lanes of a warp. */
static void check_tensor(Build *b, const Scope *s) {
    Place place = place_of(b, s);
    if (!gpu_around(s, LOOP_GPU_BLOCK)) fault_raise(b->fault, ERR_GPU_NO_BLOCKS, &place, low_place_name(b, s));
    for (const Scope *o = s->up; o; o = o->up) {
        bool bad = o->var && (o->kind == LOOP_PARALLEL || o->kind == LOOP_VECTOR || (o->kind == LOOP_TENSOR && o->stage != s->stage));
        if (bad) fault_raise(b->fault, ERR_GPU_INSIDE, &place, sch_kinds[s->kind], low_place_name(b, s), sch_kinds[o->kind], low_place_name(b, o));
    }
}

/* Stages that share a loop of blocks share them all: what one of them did in a block, it would else do in several. */
static void check_shared(Build *b, const StageNest *st) {
    if (!st->leader) return;
    const Scope *last = st->part->up, *outer = gpu_around(last, LOOP_GPU_BLOCK), *more = NULL;
    for (const Scope *s = last->inner; outer && s; s = s->inner)
        if (s->var && s->kind == LOOP_GPU_BLOCK) more = s;
    for (const Scope *s = st->leaf; outer && s != last; s = s->up)
        if (s->var && s->kind == LOOP_GPU_BLOCK) more = s;
    if (!more) return;
    Place place = sch_place(b->arena, st->sched->with.line.at[0]);
    fault_raise(b->fault, ERR_GPU_WITH, &place, sch_stage_name(b->arena, st->fn->func, st->index),
                sch_stage_name(b->arena, st->leader->fn->func, st->leader->index), low_place_name(b, outer), low_place_name(b, more));
}

/* ---- how many ---- */

/* A constant that bounds the iterations of a loop of threads. */
int64_t low_most_threads(Build *b, const Scope *s) {
    int64_t lo, hi;
    if (sim_const_bounds(b->ir, low_facts(b, NULL, s->up), s->extent, &lo, &hi)) return hi;
    if (s->most && ir_is_int(s->most, &hi)) return hi;
    Place place = place_of(b, s);
    fault_raise(b->fault, ERR_GPU_THREADS_OPEN, &place, low_place_name(b, s));
}

static void check_count(Build *b, const StageNest *st) {
    int n[2] = { 0, 0 };
    int64_t threads = 1;
    for (const Scope *s = st->leaf; s; s = s->up) { /* the first met is the x */
        if (s->var && s->kind == LOOP_TENSOR && !n[1]) n[1] = 1, threads = TENSOR_WARP; /* lanes, inside of all others */
        if (!s->var || !sch_is_gpu(s->kind)) continue;
        bool thread = s->kind == LOOP_GPU_THREAD;
        Place place = place_of(b, s);
        if (++n[thread] > GPU_DIMS) fault_raise(b->fault, ERR_GPU_DIMS, &place, low_place_name(b, s), sch_kinds[s->kind], GPU_DIMS);
        if (!thread) continue;
        int64_t most = low_most_threads(b, s);
        if (n[1] == GPU_DIMS && most > MOST_THREAD_LAYERS)
            fault_raise(b->fault, ERR_GPU_LAYERS, &place, low_place_name(b, s), (long long)most, MOST_THREAD_LAYERS);
        if (most > 1 && (__builtin_mul_overflow(threads, most, &threads) || threads > MOST_BLOCK_THREADS))
            fault_raise(b->fault, ERR_GPU_THREADS, &place, sch_stage_name(b->arena, st->fn->func, st->index), (long long)threads, MOST_BLOCK_THREADS);
    }
}

void low_check_gpu_nest(Build *b, const StageNest *st) {
    for (const Scope *s = st->leaf; s != st->fn->compute; s = s->up) {
        if (s->var && sch_spreads(s->kind)) check_loop(b, s);
        if (s->var && s->kind == LOOP_TENSOR) check_tensor(b, s);
    }
    check_shared(b, st);
    if (low_gpu_level(st->leaf) != GPU_OF_HOST) check_count(b, st);
}

/* ---- one Func ---- */

/* Blocks stand right inside of each other: nothing is computed between. */
void low_check_gpu_place(Build *b, const FuncNest *fn) {
    const Scope *outer = gpu_around(fn->compute, LOOP_GPU_BLOCK), *inner = NULL;
    for (const Scope *s = fn->compute->inner; outer && s; s = s->inner)
        if (s->var && s->kind == LOOP_GPU_BLOCK) inner = s;
    if (!inner) return;
    Place place = { .loc = fn->func->loc, .object = arena_printf(b->arena, "schedule %s", fn->func->name) };
    if (fn->sched->compute.line) place = sch_place(b->arena, fn->sched->compute.line);
    fault_raise(b->fault, ERR_GPU_BETWEEN_FUNC, &place, fn->func->name, low_place_name(b, outer), low_place_name(b, inner));
}

/* Does a kernel compute it, or read it? */
bool low_gpu_touches(Build *b, const FuncNest *fn) {
    const UseList *uses = pm_get(&b->uses, fn->func);
    bool touches = false;
    for (int i = 0; i < fn->run.n; i++) touches |= low_gpu_level(fn->run.at[i]->leaf) != GPU_OF_HOST;
    for (int i = 0; uses && i < uses->n; i++) touches |= low_gpu_level(uses->at[i]->leaf) != GPU_OF_HOST;
    return touches;
}

static _Noreturn void not_yet(Build *b, const PlanLine *line, const char *name, const char *what) {
    Place place = sch_place(b->arena, line);
    fault_raise(b->fault, ERR_GPU_NOT_YET, &place, name, what);
}

typedef struct {
    Build *b;
    const StageNest *st;
    const PlanLine *line;
} Refusal;

static void refuse_node(void *user, const Node *e) {
    const Refusal *k = user;
    Build *b = k->b;
    const char *name = sch_stage_name(b->arena, k->st->fn->func, k->st->index);
    if (e->op == OP_EXTERN) not_yet(b, k->line, name, arena_printf(b->arena, "calls the C function %s", e->u.ext->name));
    if (e->op == OP_PRINT || e->op == OP_REQUIRE) not_yet(b, k->line, name, arena_printf(b->arena, "has a %s", ir_ops[e->op].text));
}

/* What a stage in a kernel may not have. */
static void check_stage(Build *b, const StageNest *st) {
    const Scope *s = st->leaf;
    while (s && !(s->var && sch_is_gpu(s->kind))) s = s->up;
    if (!s) return;
    const char *name = sch_stage_name(b->arena, st->fn->func, st->index);
    const Stream *stream = &st->sched->stream;
    if (st->sched->prefetch.n) not_yet(b, st->sched->prefetch.at[0].line, name, "prefetches");
    if (stream->stores) not_yet(b, stream->stores, name, "streams its stores");
    if (stream->loads) not_yet(b, stream->loads, name, "streams its loads");
    Refusal k = { b, st, s->dim->line };
    for (int i = 0; i < st->fn->func->n; i++) ir_visit(b->arena, st->value[i], refuse_node, &k);
    for (int d = 0; d < st->sched->def->rank; d++) ir_visit(b->arena, st->coord[d], refuse_node, &k);
    for (int i = 0; i < st->n_where; i++) ir_visit(b->arena, st->where[i], refuse_node, &k);
}

/* Nothing reports an error from inside of a kernel. */
static void check_check(Build *b, const FuncNest *fn, const Stmt *check) {
    Place place = { .loc = fn->func->loc, .object = arena_printf(b->arena, "schedule %s", fn->func->name) };
    if (check->line) place = sch_place(b->arena, check->line);
    fault_raise(b->fault, ERR_GPU_CHECK, &place, fn->func->name, ir_show(b->ir, check->u.check.cond));
}

void low_check_gpu_checks(Build *b, const FuncNest *fn) {
    if (low_gpu_level(fn->store) != GPU_OF_HOST && fn->room.n) check_check(b, fn, fn->room.at[0]);
    if (low_gpu_level(fn->compute) == GPU_OF_HOST) return;
    if (fn->check.n) check_check(b, fn, fn->check.at[0]);
    for (int i = 0; i < fn->run.n; i++)
        if (fn->run.at[i]->check.n) check_check(b, fn, fn->run.at[i]->check.at[0]);
}

/* Threads of a block share rings, which they fill ahead; others are the host's. */
static void check_ring(Build *b, const FuncNest *fn, bool inside) {
    const FuncSched *fs = fn->sched;
    const char *name = fn->func->name;
    bool shared = low_gpu_level(fn->compute) == GPU_OF_BLOCK && low_gpu_level(fn->hoist) == GPU_OF_BLOCK && low_memory_kind(b, fn) == STORE_SHARED;
    const PlanLine *line = fs->async ? fs->async : fs->ring_line;
    if (!line) return;
    Place place = sch_place(b->arena, line);
    if (!inside && fs->async) not_yet(b, fs->async, name, "is async");
    if (!inside) not_yet(b, fs->ring_line, name, "has a ring buffer");
    if (!shared) fault_raise(b->fault, ERR_AHEAD_SHARED, &place, name, low_place_name(b, fn->hoist));
    if (fs->async && fs->ring < 2) fault_raise(b->fault, ERR_AHEAD_RING, &place, name);
}

void low_check_gpu_func(Build *b, const FuncNest *fn) {
    const FuncSched *fs = fn->sched;
    const char *name = fn->func->name;
    bool inside = low_gpu_level(fn->compute) != GPU_OF_HOST;
    if (!low_gpu_touches(b, fn)) return;
    if (inside && alg_is_whole(fn->func)) not_yet(b, fs->compute.line, name, "is an extern stage");
    check_ring(b, fn, inside);
    if (fs->memo) not_yet(b, fs->memo, name, "is memoized");
    if (fs->profile) not_yet(b, fs->profile, name, "is profiled");
    if (fs->trace) not_yet(b, fs->trace, name, "is traced");
    for (int i = 0; i < fn->run.n; i++) check_stage(b, fn->run.at[i]);
}

/* ---- its memory ---- */

/* What only a kernel, or only the host, has. */
static void check_memory(Build *b, const FuncNest *fn, GpuLevel level, bool far) {
    mlc_memory asked = fn->sched->storage.memory;
    const char *name = fn->func->name, *at = low_place_name(b, fn->hoist);
    Place place = sch_place(b->arena, fn->sched->storage.memory_line);
    bool own = asked == MLC_MEMORY_STACK || asked == MLC_MEMORY_REGISTER;
    if (asked == MLC_MEMORY_SHARED && level != GPU_OF_BLOCK) fault_raise(b->fault, ERR_GPU_SHARED, &place, name, at);
    if (level == GPU_OF_BLOCK && asked == MLC_MEMORY_STACK) fault_raise(b->fault, ERR_GPU_CROSS_TALK, &place, name, at);
    if (asked == MLC_MEMORY_FRAGMENT && level == GPU_OF_HOST) fault_raise(b->fault, ERR_GPU_FRAGMENT, &place, name, at);
    if (level != GPU_OF_HOST && asked == MLC_MEMORY_HEAP) fault_raise(b->fault, ERR_GPU_HEAP, &place, name, at);
    if (far && own) fault_raise(b->fault, ERR_GPU_STACK, &place, name, sch_memories[asked]);
}

MemoryKind low_memory_kind(Build *b, const FuncNest *fn) {
    GpuLevel level = low_gpu_level(fn->hoist);
    mlc_memory asked = fn->sched->storage.memory;
    bool far = level == GPU_OF_HOST && low_gpu_touches(b, fn);
    if (asked) check_memory(b, fn, level, far);
    if (far || asked == MLC_MEMORY_HEAP) return STORE_HEAP;
    if (asked == MLC_MEMORY_FRAGMENT) return STORE_FRAGMENT;
    bool one = asked == MLC_MEMORY_REGISTER || fn->hoist->in_vector; /* a vector loop there is one thread's */
    if (level == GPU_OF_BLOCK && !one) return STORE_SHARED;
    return asked == MLC_MEMORY_REGISTER ? STORE_REGISTER : STORE_STACK;
}
