/* kernels.c - loops over the blocks and threads of a GPU become kernels.
 *
 *     for yo gpu_block                       move in to device
 *       for xo gpu_block                     move by to device for writing all
 *         alloc bx                           kernel by in blocks [.., ..] of threads [16, 8]
 *         produce bx                           let yo = block.y
 *           for y gpu_thread                   let xo = block.x
 *             for x gpu_thread                 alloc bx shared
 *               bx(x, y) = ...                 if thread.y < 10
 *         for yi gpu_thread                      let y = thread.y
 *           for xi gpu_thread                    if thread.x < 16 ... bx(x, y) = ...
 *             by(...) = ...                    barrier
 *                                              if thread.y < 8 ... by(...) = ...
 *
 * Every thread of a block runs the whole body.  It is made of levels and parts.  A part is a nest of thread loops, or
 * what stands outside of them and is then run by one thread; conditions in it keep out the threads that it has no
 * iteration for.  Levels are all around: their loops, names and conditions are the same for all threads of a block, so
 * barriers may stand there.  A block or thread loop counts by the dimension that is the number of such loops inside. */
#include "lower/passes.h"
#include "schedule/resolve.h"

#include <string.h>

static const char *const axis[GPU_DIMS] = { "x", "y", "z" };

typedef struct {
    Program *program;
    Arena *arena;
    Interner *ir;
    Fault *fault;
    StrMap names;       /* of kernels */
    const Facts *facts; /* of what is bound around */
    const Func *func;   /* whose production stands around, or NULL */
    int stage;
    const Func *task;   /* asynchronous, its fork around, or NULL */
    bool found;         /* a kernel */
} Kernels;

typedef struct {
    Kernels *all;
    Kernel *kernel;
    const Facts *facts;  /* of what is bound inside of the kernel, on top of those outside */
    const Node *blocks[GPU_DIMS]; /* their most, over what is known outside of the kernel; NULL: no loop */
    PtrMap own;          /* Funcs whose memory each thread of the part at hand has for itself */
    PtrMap part;         /* statements that are parts */
} Body;

/* ---- what stands inside of a statement? ---- */

typedef struct {
    LoopKind kind;
    int depth, most;
} Height;

static Stmt *measure(StmtMap *m, Stmt *s) {
    Height *h = m->user;
    bool is = s->kind == ST_FOR && s->u.loop.kind == h->kind;
    h->depth += is;
    if (h->depth > h->most) h->most = h->depth;
    st_map_kids(m, s);
    h->depth -= is;
    return s;
}

/* The most loops of a kind around one another. */
static int height(Kernels *k, Stmt *s, LoopKind kind) {
    Height h = { kind, 0, 0 };
    StmtMap m = { .arena = k->arena, .ir = k->ir, .stmt = measure, .user = &h };
    st_map(&m, s);
    return h.most;
}

typedef struct {
    const PtrMap *own;
    PtrMap inside; /* Func -> memory of its own in the statement */
    bool found;
} Outside;

static Stmt *find_store(StmtMap *m, Stmt *s) {
    Outside *o = m->user;
    Func *f = s->kind == ST_STORE ? s->u.store.func : s->kind == ST_ALLOC ? s->u.alloc.storage->func : NULL;
    if (s->kind == ST_STORE) o->found |= !pm_get(o->own, f) && !pm_get(&o->inside, f);
    if (s->kind != ST_ALLOC) return st_map_kids(m, s);
    void *outer = pm_get(&o->inside, f);
    pm_put(&o->inside, f, s->u.alloc.storage->memory == STORE_SHARED ? NULL : f);
    st_map_kids(m, s);
    pm_put(&o->inside, f, outer);
    return s;
}

/* Does s store where other threads may see it? */
static bool stores_outside(Body *b, Stmt *s) {
    Outside o = { .own = &b->own };
    StmtMap m = { .arena = b->all->arena, .ir = b->all->ir, .stmt = find_store, .user = &o };
    pm_init(&o.inside, b->all->arena);
    st_map(&m, s);
    return o.found;
}

/* ---- facts ---- */

/* What holds inside of s, of an if: in its first branch. */
static const Facts *facts_in(Kernels *k, const Facts *up, const Stmt *s) {
    Interner *I = k->ir;
    if (s->kind == ST_LET) return sim_with_range(k->arena, up, s->u.let.var, (Interval){ s->u.let.value, s->u.let.value });
    if (s->kind == ST_IF) return sim_with_truth(k->arena, up, s->u.cond.cond);
    if (s->kind != ST_FOR) return up;
    const Node *last = ir_sub(I, ir_add(I, s->u.loop.min, s->u.loop.extent), ir_idx(I, 1));
    return sim_with_range(k->arena, up, s->u.loop.var, (Interval){ s->u.loop.min, sim_simplify(I, NULL, last) });
}

/* ---- loops of blocks and threads ---- */

static const Node *less(Kernels *k, const Sym *id, const Node *extent) {
    return ir_make2(k->ir, OP_LT, ir_var(k->ir, id), extent);
}

/* if id < extent: let var = min + id: body */
static Stmt *counted(Kernels *k, const Stmt *loop, const Sym *id, Stmt *body) {
    if (!body) return NULL;
    body = st_let(k->arena, loop->u.loop.var, ir_add(k->ir, loop->u.loop.min, ir_var(k->ir, id)), body);
    return st_if(k->arena, less(k, id, loop->u.loop.extent), body, NULL);
}

static Stmt *level(Body *b, Stmt *s);

/* Of what is bound inside of the kernel alone. */
static const Facts *inner_facts(Kernels *k, const Facts *f) {
    if (f == k->facts) return NULL;
    Facts *now = arena_copy(k->arena, f, sizeof *f);
    now->up = inner_facts(k, f->up);
    return now;
}

/* gpu_nest.c has seen to it that these follow each other, so that there is one of a dimension. */
static Stmt *block_loop(Body *b, Stmt *s) {
    Kernels *k = b->all;
    int d = height(k, s->u.loop.body, LOOP_GPU_BLOCK);
    CHECK(k->fault, d < GPU_DIMS && !b->blocks[d]);
    b->blocks[d] = sim_bounds(k->ir, inner_facts(k, b->facts), s->u.loop.extent, NULL).hi;
    CHECK(k->fault, b->blocks[d] != NULL);
    const Facts *outer = b->facts;
    b->facts = facts_in(k, outer, s);
    Stmt *body = level(b, s->u.loop.body);
    b->facts = outer;
    return counted(k, s, b->kernel->block[d], body);
}

/* ---- parts ---- */

static const Node *alone(Body *b, unsigned used) {
    Kernels *k = b->all;
    const Node *cond = NULL;
    for (int d = 0; d < GPU_DIMS; d++) {
        if (used >> d & 1) continue;
        const Node *one = less(k, b->kernel->thread[d], ir_idx(k->ir, 1));
        cond = cond ? ir_make2(k->ir, OP_LAND, cond, one) : one;
    }
    return cond;
}

static Stmt *threads(Body *b, Stmt *s, unsigned used);

/* Parts of other shapes share the threads of a block: 1024 x 1 and 1 x 1024 make 2^20 of them. */
static void need_threads(Body *b, const Stmt *s, int d) {
    Kernels *k = b->all;
    int64_t lo, hi, least, all = 1, *most = &b->kernel->threads[d];
    CHECK(k->fault, s->u.loop.most && ir_is_int(s->u.loop.most, &hi));
    if (sim_const_bounds(k->ir, b->facts, s->u.loop.extent, &lo, &least) && least < hi) hi = least;
    if (hi > *most) *most = hi;
    for (int i = 0; i < GPU_DIMS; i++)
        if (__builtin_mul_overflow(all, b->kernel->threads[i], &all)) all = INT64_MAX;
    if (all <= MOST_BLOCK_THREADS) return;
    Place place = sch_place(k->arena, s->line);
    fault_raise(k->fault, ERR_GPU_THREADS, &place, b->kernel->name, (long long)all, MOST_BLOCK_THREADS);
}

static Stmt *thread_loop(Body *b, Stmt *s, unsigned used) {
    Kernels *k = b->all;
    int d = height(k, s->u.loop.body, LOOP_GPU_THREAD);
    CHECK(k->fault, d < GPU_DIMS);
    need_threads(b, s, d);
    const Facts *outer = b->facts;
    b->facts = facts_in(k, outer, s);
    Stmt *body = threads(b, s->u.loop.body, used | 1u << d);
    b->facts = outer;
    return counted(k, s, b->kernel->thread[d], body);
}

static Stmt *realloced(Body *b, const Stmt *s, Storage *t, Stmt *body) {
    Stmt *now = st_alloc(b->all->arena, t, body);
    now->line = s->line;
    return now;
}

static Stmt *own_memory(Body *b, Stmt *s, unsigned used) {
    Func *f = s->u.alloc.storage->func;
    void *outer = pm_get(&b->own, f);
    pm_put(&b->own, f, f);
    Stmt *body = threads(b, s->u.alloc.body, used);
    pm_put(&b->own, f, outer);
    return body ? realloced(b, s, s->u.alloc.storage, body) : NULL;
}

/* What has no thread loops inside.  Memory of a thread's own is filled by each thread, other memory by one. */
static Stmt *thread_leaf(Body *b, Stmt *s, unsigned used) {
    bool all = used == (1u << GPU_DIMS) - 1;
    return !all && stores_outside(b, s) ? st_if(b->all->arena, alone(b, used), s, NULL) : s;
}

static Stmt *within(Body *b, Stmt *s, Stmt *body, unsigned used, Stmt *(*walk)(Body *b, Stmt *s, unsigned used)) {
    const Facts *outer = b->facts;
    if (!body) return NULL;
    b->facts = facts_in(b->all, outer, s);
    body = walk(b, body, used);
    b->facts = outer;
    return body;
}

/* The same statement around what became of what it is around of. */
static Stmt *rebuilt(Body *b, Stmt *s, unsigned used, Stmt *(*walk)(Body *b, Stmt *s, unsigned used)) {
    Arena *a = b->all->arena;
    Stmt *now = arena_copy(a, s, sizeof *s), *body = NULL;
    switch (s->kind) {
    case ST_BLOCK: {
        Stmt **at = ARENA_ARRAY(a, Stmt *, s->u.block.n);
        for (int i = 0; i < s->u.block.n; i++) at[i] = walk(b, s->u.block.at[i], used);
        return st_block(a, s->u.block.n, at);
    }
    case ST_FOR: body = now->u.loop.body = within(b, s, s->u.loop.body, used, walk); break;
    case ST_LET: body = now->u.let.body = within(b, s, s->u.let.body, used, walk); break;
    case ST_PRODUCE: body = now->u.produce.body = within(b, s, s->u.produce.body, used, walk); break;
    case ST_IF:
        body = now->u.cond.yes = within(b, s, s->u.cond.yes, used, walk);
        now->u.cond.no = s->u.cond.no ? walk(b, s->u.cond.no, used) : NULL;
        if (body || !now->u.cond.no) break;
        return st_if(a, ir_make1(b->all->ir, OP_LNOT, s->u.cond.cond), now->u.cond.no, NULL);
    default: BUG(b->all->fault, "a statement without a body around loops");
    }
    return body ? now : NULL;
}

static Stmt *threads(Body *b, Stmt *s, unsigned used) {
    if (!height(b->all, s, LOOP_GPU_THREAD)) return thread_leaf(b, s, used);
    if (s->kind == ST_ALLOC) return own_memory(b, s, used);
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_GPU_THREAD) return thread_loop(b, s, used);
    return rebuilt(b, s, used, threads);
}

/* Memory in the hands of one thread need not be shared, unless the plan says so. */
static Stmt *keep_private(StmtMap *m, Stmt *s) {
    Stmt *now = st_map_kids(m, s);
    Storage *t = now->kind == ST_ALLOC ? now->u.alloc.storage : NULL;
    if (!t || t->memory != STORE_SHARED || t->memory_line || st_shared_bytes(t, t->n) > MOST_STACK_BYTES) return now;
    t = arena_copy(m->arena, t, sizeof *t);
    t->memory = STORE_STACK;
    return realloced(m->user, now, t, now->u.alloc.body);
}

static Stmt *part(Body *b, Stmt *s) {
    StmtMap m = { .arena = b->all->arena, .ir = b->all->ir, .stmt = keep_private, .user = b };
    s = threads(b, st_map(&m, s), 0);
    int n = s && s->kind == ST_BLOCK ? s->u.block.n : 0; /* the block around takes them in one by one */
    for (int i = 0; i < n; i++) pm_put(&b->part, s->u.block.at[i], s);
    if (s) pm_put(&b->part, s, s);
    return s;
}

/* ---- levels ---- */

/* What all threads do together. */
static bool is_shared(const Stmt *s) {
    return s->kind == ST_BARRIER || s->kind == ST_COPIES;
}

static bool is_part(Body *b, Stmt *s) {
    bool loop = s->kind == ST_FOR && s->u.loop.kind == LOOP_GPU_THREAD;
    return !height(b->all, s, LOOP_GPU_BLOCK) && (loop || !height(b->all, s, LOOP_GPU_THREAD));
}

static bool has_loops(Body *b, Stmt *s) {
    return height(b->all, s, LOOP_GPU_BLOCK) || height(b->all, s, LOOP_GPU_THREAD);
}

/* What one thread runs in a row is one part. */
static Stmt *level_block(Body *b, Stmt *s) {
    Arena *a = b->all->arena;
    int n = s->u.block.n, made = 0;
    Stmt **at = ARENA_ARRAY(a, Stmt *, n);
    for (int i = 0; i < n; made++) {
        int first = i;
        while (i < n && !has_loops(b, s->u.block.at[i]) && !is_shared(s->u.block.at[i])) i++;
        at[made] = i > first ? part(b, st_block(a, i - first, s->u.block.at + first)) : level(b, s->u.block.at[i++]);
    }
    return st_block(a, made, at);
}

static Stmt *level_walk(Body *b, Stmt *s, unsigned used) {
    (void)used;
    return level(b, s);
}

static Stmt *level(Body *b, Stmt *s) {
    if (is_shared(s)) return s;
    if (is_part(b, s)) return part(b, s);
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_GPU_BLOCK) return block_loop(b, s);
    if (s->kind == ST_BLOCK) return level_block(b, s);
    if (s->kind != ST_ALLOC) return rebuilt(b, s, 0, level_walk);
    Stmt *body = level(b, s->u.alloc.body);
    return body ? realloced(b, s, s->u.alloc.storage, body) : NULL;
}

/* ---- a kernel ---- */

static const char *kernel_name(Kernels *k, const Func *f, int stage) {
    char *id = arena_printf(k->arena, stage ? "%s_u%d" : "%s", f->name, stage - 1);
    for (char *c = id; *c; c++)
        if (*c == '.' || *c == '$') *c = '_';
    const char *full = id;
    for (int i = 1; sm_get(&k->names, full); i++) full = arena_printf(k->arena, "%s_%d", id, i);
    sm_put(&k->names, full, (void *)(uintptr_t)1);
    return full;
}

static const Sym *new_id(Kernels *k, const char *what, int d) {
    Sym *s = ARENA_NEW(k->arena, Sym);
    *s = (Sym){ .name = arena_printf(k->arena, "%s.%s", what, axis[d]), .kind = SYM_LOOP, .type = MLC_INDEX };
    return s;
}

static Stmt *find_check(StmtMap *m, Stmt *s) {
    *(bool *)m->user |= s->kind == ST_CHECK;
    return st_map_kids(m, s);
}

/* What an asynchronous task and a kernel share cannot be current at two places. */
static void refuse(Kernels *k, const Kernel *kernel, Stmt *s) {
    Place place = sch_place(k->arena, s->line);
    bool checks = false;
    StmtMap m = { .arena = k->arena, .ir = k->ir, .stmt = find_check, .user = &checks };
    st_map(&m, s);
    const char *what = k->task ? arena_printf(k->arena, "runs beside a task for %s", k->task->name) : checks ? "is run with .check" : NULL;
    if (what) fault_raise(k->fault, ERR_GPU_NOT_YET, &place, kernel->name, what);
}

static Stmt *add_shared(StmtMap *m, Stmt *s) {
    const Storage *t = s->kind == ST_ALLOC ? s->u.alloc.storage : NULL;
    if (t && t->memory == STORE_SHARED) *(int64_t *)m->user += st_shared_bytes(t, t->n);
    return st_map_kids(m, s);
}

/* Each memory has a place of its own, whether or not another one is in use at that time. */
static void check_shared(Kernels *k, const Kernel *kernel, Stmt *body) {
    int64_t all = 0;
    StmtMap m = { .arena = k->arena, .ir = k->ir, .stmt = add_shared, .user = &all };
    st_map(&m, body);
    if (all <= MOST_SHARED_BYTES) return;
    Place place = sch_place(k->arena, kernel->line);
    fault_raise(k->fault, ERR_GPU_SHARED_ALL, &place, kernel->name, (long long)all, MOST_SHARED_BYTES);
}

static Stmt *find_mma(StmtMap *m, Stmt *s) {
    if (s->kind == ST_MMA) *(const Stmt **)m->user = s;
    return st_map_kids(m, s);
}

/* Threads count along x first: only where that is whole warps are the lanes of an instruction neighbours in one. */
static void check_warps(Kernels *k, const Kernel *kernel, Stmt *body) {
    const Stmt *mma = NULL;
    StmtMap m = { .arena = k->arena, .ir = k->ir, .stmt = find_mma, .user = &mma };
    st_map(&m, body);
    if (!mma || kernel->threads[0] % TENSOR_WARP == 0) return;
    Place place = sch_place(k->arena, mma->line);
    fault_raise(k->fault, ERR_TENSOR_WARP, &place, mma->u.mma.row->name, kernel->name, (long long)kernel->threads[0]);
}

static Stmt *make_kernel(Kernels *k, Stmt *s) {
    const Func *f = k->func ? k->func : s->u.loop.var->func;
    Body b = { .all = k, .facts = k->facts };
    Kernel *kernel = b.kernel = ARENA_NEW(k->arena, Kernel);
    pm_init(&b.own, k->arena);
    pm_init(&b.part, k->arena);
    *kernel = (Kernel){ .name = kernel_name(k, f, k->func ? k->stage : 0), .line = s->line };
    for (int d = 0; d < GPU_DIMS; d++) {
        kernel->block[d] = new_id(k, "block", d);
        kernel->thread[d] = new_id(k, "thread", d);
        kernel->threads[d] = 1;
    }
    refuse(k, kernel, s);
    Stmt *body = level(&b, s);
    if (!body) return NULL;
    for (int d = 0; d < GPU_DIMS; d++) kernel->grid[d] = b.blocks[d] ? b.blocks[d] : ir_idx(k->ir, 1);
    body = low_spread(k->program, kernel, sch_stage_name(k->arena, f, k->func ? k->stage : 0), &b.part, body);
    if (kernel->threads[0] * kernel->threads[1] * kernel->threads[2] > 1) body = low_barriers(k->program, kernel, &b.part, body);
    check_shared(k, kernel, body);
    check_warps(k, kernel, body);
    return st_kernel(k->arena, kernel, body);
}

static Stmt *find_kernels(StmtMap *m, Stmt *s) {
    Kernels *k = m->user;
    Kernels outer = *k;
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_GPU_BLOCK) {
        k->found = true;
        return make_kernel(k, s);
    }
    if (s->kind == ST_FORK) k->task = s->u.fork.channel->func;
    if (s->kind == ST_PRODUCE && !s->u.produce.is_consume) k->func = s->u.produce.func, k->stage = s->u.produce.stage;
    if (s->kind == ST_IF) { /* the condition holds on one side alone */
        Stmt now = *s;
        k->facts = facts_in(k, outer.facts, s);
        now.u.cond.yes = st_map(m, s->u.cond.yes);
        k->facts = outer.facts;
        now.u.cond.no = st_map(m, s->u.cond.no);
        StmtMap copy = { .arena = m->arena, .ir = m->ir };
        return st_map_kids(&copy, arena_copy(m->arena, &now, sizeof now));
    }
    k->facts = facts_in(k, outer.facts, s);
    s = st_map_kids(m, s);
    k->facts = outer.facts;
    k->func = outer.func;
    k->stage = outer.stage;
    k->task = outer.task;
    return s;
}

void low_kernels(Program *p, const LowerOptions *o) {
    (void)o;
    Kernels k = { .program = p, .arena = p->arena, .ir = p->ir, .fault = p->arena->fault };
    sm_init(&k.names, p->arena);
    StmtMap m = { .arena = p->arena, .ir = p->ir, .stmt = find_kernels, .user = &k };
    Stmt *body = st_map(&m, p->body);
    if (!k.found) return;
    p->body = low_simplify(p->arena, p->ir, body, false);
    low_residence(p);
}
