/* cuda.c - kernels as CUDA C++.
 *
 * One function a kernel, in which every thread runs the same statements as on the CPU, printed by the same functions in
 * another dialect (Gen.cuda).  What differs is small: arithmetic that wraps goes through unsigned types, some helpers
 * have rows of their own (cuda.def), arrays of a block are parts of one dynamic array, and all that needs the host -
 * failing, printing, the user's C functions - has been refused before.  Results have the bits of the CPU's: division and square roots
 * round correctly, products fuse where the program says fma, functions are mlc's own.
 *
 *     extern "C" __global__ void __launch_bounds__(128)
 *     blur_kernel(f32 *__restrict__ blur, const f32 *__restrict__ in, const i64 in_stride_1) {
 *         const i64 x_block = blockIdx.x, x_thread = threadIdx.x;
 *
 * The order of parameters is a function of the statement (kernel_args), which the host's side asks too. */
#include "cg.h"

static const char prelude[] =
    "typedef signed char i8;\ntypedef short i16;\ntypedef int i32;\ntypedef long long i64;\n"
    "typedef unsigned char u8;\ntypedef unsigned short u16;\ntypedef unsigned int u32;\ntypedef unsigned long long u64;\n"
    "typedef float f32;\ntypedef double f64;\n"
    "#define INLINE static __device__ __forceinline__\n"
    "#pragma nv_diag_suppress 177,186,549,550 /* what is not used or not set on some way, comparisons that always hold */\n\n";

const char *cg_kernel_name(Arena *a, const Kernel *k) {
    return arena_printf(a, "%s_kernel", k->name);
}

void refuse_on_gpu(Gen *G, const char *what) {
    BUG(G->arena->fault, fmt(G, "kernel %s has %s", G->kernel->u.kernel.kernel->name, what));
}

/* ---- what a kernel is made of ---- */

typedef struct {
    Gen *G;
    PtrMap bound;  /* Syms and Storages that the kernel has itself */
    PtrMap seen;   /* what is an argument already */
    PtrMap visited; /* nodes */
    KernelArgs memory, value;
} Args;

static Stmt *note_bound(StmtMap *m, Stmt *s) {
    Args *a = m->user;
    if (s->kind == ST_FOR) pm_put(&a->bound, s->u.loop.var, a);
    if (s->kind == ST_LET) pm_put(&a->bound, s->u.let.var, a);
    if (s->kind == ST_ALLOC) pm_put(&a->bound, s->u.alloc.storage, a);
    for (int i = 0; s->kind == ST_MMA && i < tensor_elements(s->u.mma.row, TENSOR_C); i++) pm_put(&a->bound, s->u.mma.d[i], a);
    for (int k = 0; s->kind == ST_STORE && k < s->u.store.n && s->u.store.old[k]; k++) pm_put(&a->bound, s->u.store.old[k], a);
    return st_map_kids(m, s);
}

static void add_memory(Args *a, const Storage *t, int e, bool written) {
    if (pm_has(&a->bound, t)) return;
    intptr_t at = (intptr_t)pm_get(&a->seen, &t->type[e]);
    if (at) a->memory.at[at - 1].written |= written;
    else {
        VEC_PUSH(a->G->arena, &a->memory, ((KernelArg){ .storage = t, .elem = e, .written = written }));
        pm_put(&a->seen, &t->type[e], (void *)(intptr_t)a->memory.n);
    }
}

static void note_leaf(void *user, const Node *e) {
    Args *a = user;
    pm_put(&a->visited, e, a);
    if (e->op == OP_LOAD) add_memory(a, e->u.storage, e->aux, false);
    if (e->op != OP_VAR || pm_has(&a->bound, e->u.sym) || pm_has(&a->seen, e->u.sym)) return;
    pm_put(&a->seen, e->u.sym, a);
    VEC_PUSH(a->G->arena, &a->value, ((KernelArg){ .sym = e->u.sym }));
}

static const Node *note_expr(StmtMap *m, const Node *e) {
    Args *a = m->user;
    Walk w = { .arena = m->arena, .done = &a->visited, .visit = note_leaf, .user = a };
    walk(&w, e);
    return e;
}

static Stmt *note_stores(StmtMap *m, Stmt *s) {
    Args *a = m->user;
    for (int e = 0; s->kind == ST_STORE && e < s->u.store.n; e++) add_memory(a, s->u.store.storage, e, true);
    return st_map_kids(m, s);
}

KernelArgs kernel_args(Gen *G, const Stmt *kernel) {
    const Kernel *k = kernel->u.kernel.kernel;
    Args a = { .G = G };
    PtrMap *maps[] = { &a.bound, &a.seen, &a.visited };
    for (int i = 0; i < 3; i++) pm_init(maps[i], G->arena);
    for (int d = 0; d < GPU_DIMS; d++) {
        if (k->block[d]) pm_put(&a.bound, k->block[d], &a);
        if (k->thread[d]) pm_put(&a.bound, k->thread[d], &a);
    }
    StmtMap bound = { .arena = G->arena, .ir = G->ir, .stmt = note_bound, .user = &a };
    StmtMap uses = { .arena = G->arena, .ir = G->ir, .stmt = note_stores, .expr = note_expr, .user = &a };
    st_map(&bound, kernel->u.kernel.body);
    st_map(&uses, kernel->u.kernel.body);
    for (int i = 0; i < a.value.n; i++) VEC_PUSH(G->arena, &a.memory, a.value.at[i]);
    return a.memory;
}

/* ---- memory of a block ---- */

typedef struct {
    PtrMap at;   /* Storage -> 1 + where it begins */
    int64_t end;
} Shared;

/* One array behind the other: no bytes are used twice, so that no barrier is needed for it. */
static Stmt *note_shared(StmtMap *m, Stmt *s) {
    Shared *h = m->user;
    const Storage *t = s->kind == ST_ALLOC ? s->u.alloc.storage : NULL;
    if (t && t->memory == STORE_SHARED && !pm_has(&h->at, t)) {
        pm_put(&h->at, t, (void *)(intptr_t)(h->end + 1));
        h->end += st_shared_bytes(t, t->n);
    }
    return st_map_kids(m, s);
}

int64_t shared_at(Gen *G, const Stmt *kernel, const Storage *t, int e) {
    Shared h = { .end = 0 };
    pm_init(&h.at, G->arena);
    StmtMap m = { .arena = G->arena, .ir = G->ir, .stmt = note_shared, .user = &h };
    st_map(&m, kernel->u.kernel.body);
    return t ? (intptr_t)pm_get(&h.at, t) - 1 + st_shared_bytes(t, e) : h.end;
}

void shared_array(Gen *G, const Storage *t, int e) {
    const char *name = element_name(G, t, e), *type = ty_c(t->type[e]);
    if (!G->kernel) BUG(G->arena->fault, "memory of a block outside of a kernel");
    line(G, "%s *const %s = (%s *)(shared + %lld); /* %lld of them */", type, name, type, (long long)shared_at(G, G->kernel, t, e),
         (long long)t->const_elems);
    bind(G, &t->type[e], name);
}

/* ---- a function ---- */

static void write_params(Gen *G, StrBuf *out, const KernelArgs *args) {
    for (int i = 0; i < args->n; i++) {
        const KernelArg *a = &args->at[i];
        const void *key = a->storage ? (const void *)&a->storage->type[a->elem] : a->sym;
        const char *name = a->storage ? element_name(G, a->storage, a->elem) : name_of(G, a->sym, a->sym->name);
        bind(G, key, name);
        sb_puts(out, i ? ", " : "");
        if (a->storage) sb_printf(out, "%s%s *__restrict__ %s", a->written ? "" : "const ", ty_c(a->storage->type[a->elem]), name);
        else sb_printf(out, "const %s %s", ty_c(a->sym->type), name);
    }
}

static const char axis[] = "xyz";

/* The variables that the hardware counts. */
static void bind_place(Gen *G, const Kernel *k) {
    for (int d = 0; d < GPU_DIMS; d++) {
        if (k->block[d]) {
            bind(G, k->block[d], name_of(G, k->block[d], k->block[d]->name));
            G->facts = fact_loop(G, k->block[d], ir_idx(G->ir, 0), k->grid[d]);
        }
        if (k->thread[d]) {
            bind(G, k->thread[d], name_of(G, k->thread[d], k->thread[d]->name));
            G->facts = fact_loop(G, k->thread[d], ir_idx(G->ir, 0), ir_idx(G->ir, k->threads[d]));
        }
    }
}

static void read_place(Gen *G, const Kernel *k) {
    for (int d = 0; d < GPU_DIMS; d++) {
        if (k->block[d] && pm_has(&G->used, k->block[d])) line(G, "const i64 %s = blockIdx.%c;", in_scope(G, k->block[d]), axis[d]);
        if (k->thread[d] && pm_has(&G->used, k->thread[d])) line(G, "const i64 %s = threadIdx.%c;", in_scope(G, k->thread[d]), axis[d]);
    }
}

/* A kernel's own names, as short as in the first one. */
static void forget_names(Gen *G) {
    sm_init(&G->taken, G->arena);
    for (int i = 0; i < G->p->kernel.n; i++) sm_put(&G->taken, cg_kernel_name(G->arena, G->p->kernel.at[i]), G);
    PtrMap *maps[] = { &G->name, &G->promoted, &G->element, &G->used, &G->let_value };
    for (int i = 0; i < 5; i++) pm_init(maps[i], G->arena);
    G->temps = 0;
}

static void write_function(Gen *G, const Stmt *s) {
    const Kernel *k = s->u.kernel.kernel;
    const Facts *outside = G->facts;
    KernelArgs args = kernel_args(G, s);
    StrBuf params;
    Fn *f = ARENA_NEW(G->arena, Fn);
    *f = (Fn){ .depth = 1 };
    sb_init(&f->out, G->arena);
    sb_init(&params, G->arena);
    pm_init(&f->has, G->arena);
    forget_names(G);
    G->fn = f;
    G->kernel = s;
    write_params(G, &params, &args);
    bind_place(G, k);
    stmt(G, s->u.kernel.body);
    StrBuf body = f->out;
    sb_init(&f->out, G->arena);
    comment_line(G, k->line);
    read_place(G, k);
    sb_printf(&G->functions, "extern \"C\" __global__ void __launch_bounds__(%lld)\n%s(%s) {\n",
              (long long)(k->threads[0] * k->threads[1] * k->threads[2]), cg_kernel_name(G->arena, k), params.at);
    sb_puts(&G->functions, f->out.at);
    if (shared_at(G, s, NULL, 0)) sb_printf(&G->functions, "    extern __shared__ __align__(%d) u8 shared[];\n", SHARED_ALIGN);
    sb_puts(&G->functions, body.at);
    sb_puts(&G->functions, "}\n\n");
    G->kernel = NULL;
    G->facts = outside;
}

/* Finds kernels, and what is known of the variables around them. */
static void find_kernels(Gen *G, const Stmt *s) {
    const Facts *outside = G->facts;
    if (!s) return;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) find_kernels(G, s->u.block.at[i]);
        break;
    case ST_FOR:
        G->facts = fact_loop(G, s->u.loop.var, s->u.loop.min, s->u.loop.extent);
        find_kernels(G, s->u.loop.body);
        break;
    case ST_LET:
        if (s->u.let.var->type == MLC_INDEX) G->facts = fact_let(G, s->u.let.var, s->u.let.value);
        find_kernels(G, s->u.let.body);
        break;
    case ST_IF:
        find_kernels(G, s->u.cond.yes);
        find_kernels(G, s->u.cond.no);
        break;
    case ST_ALLOC: find_kernels(G, s->u.alloc.body); break;
    case ST_PRODUCE: find_kernels(G, s->u.produce.body); break;
    case ST_TURN: find_kernels(G, s->u.turn.body); break;
    case ST_FORK:
        find_kernels(G, s->u.fork.task);
        find_kernels(G, s->u.fork.rest);
        break;
    case ST_KERNEL: write_function(G, s); break;
    case ST_MMA: case ST_STORE: case ST_CHECK: case ST_EVAL: case ST_CALL: case ST_PREFETCH: case ST_COUNT: case ST_BARRIER: case ST_COPIES: case ST_MOVE: break;
    }
    G->facts = outside;
}

void cg_cuda(StrBuf *out, const Program *p, const CgOptions *o) {
    Gen G;
    if (!p->kernel.n) return;
    gen_init(&G, p, o, p->arena);
    G.cuda = true;
    find_kernels(&G, p->body);
    sb_puts(out, prelude);
    sb_puts(out, G.helpers.at);
    sb_puts(out, "\n");
    sb_puts(out, G.functions.at);
}
