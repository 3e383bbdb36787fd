/* test_cuda.c - kernels: what is printed for a GPU runs here as C++ and gives the bits of the scalar evaluator, and NVRTC,
 * where there is one, compiles it. */
#include "../../fuzz/cpu_gpu.h"
#include "jit/jit.h"
#include "ops_kit.h"

Suite *cuda_suite(void);

enum { THREADS = 64 };

/* ---- every operator ---- */

static Sym *index_sym(Arena *a, const char *name) {
    Sym *s = ARENA_NEW(a, Sym);
    *s = (Sym){ .name = name, .kind = SYM_LOOP, .type = MLC_INDEX };
    return s;
}

/* `THREADS` threads a block along x, so many that n points have one each. */
static Kernel *new_kernel(Arena *a, Interner *I, Program *p, const char *name, const Node *blocks) {
    Kernel *k = ARENA_NEW(a, Kernel);
    *k = (Kernel){ .name = name, .number = p->kernel.n, .block = { index_sym(a, "block.x") }, .thread = { index_sym(a, "thread.x") },
                   .grid = { blocks, ir_idx(I, 1), ir_idx(I, 1) }, .threads = { THREADS, 1, 1 } };
    VEC_PUSH(a, &p->kernel, k);
    return k;
}

static const Node *place_of(Interner *I, const Kernel *k) {
    return ir_add(I, ir_mul(I, ir_var(I, k->block[0]), ir_idx(I, THREADS)), ir_var(I, k->thread[0]));
}

/* let x = block * 64 + thread: if x < n: body */
static Stmt *over(Arena *a, Interner *I, Kernel *k, Sym *x, const Node *n, Stmt *body) {
    Stmt *inside = st_if(a, ir_make2(I, OP_LT, ir_var(I, x), n), body, NULL);
    return st_kernel(a, k, st_let(a, x, place_of(I, k), inside));
}

static CgOptions options(const char *symbol) {
    return (CgOptions){ .isa = jit_host_isa(), .is_gcc = true, .symbol = symbol };
}

static const char *cuda_text(Program *p) {
    StrBuf b;
    CgOptions o = options("host");
    sb_init(&b, p->arena);
    cg_cuda(&b, p, &o);
    return b.at;
}

static bool no_cpp(const char *test) {
    bool none = !cuda_has_cpp();
    if (none) printf("  skipped: %s: no g++\n", test);
    return none;
}

static void load_kernels(Program *p, const char *text, CpuGpu *g) {
    const char *why = cuda_load(p->arena, p, text, g);
    ck_assert_msg(!why, "%s", why);
}

/* By NVRTC, where there is one: else says so under the test's name, unless that is NULL. */
static bool compile(Arena *a, const char *text, bool all, NvReport *report, const char *test) {
    bool found;
    const char *why = cuda_compiles(a, text, all, report, &found);
    ck_assert_msg(!why, "%s", why);
    if (!found && test) printf("  skipped: NVRTC on %s\n", test);
    return found;
}

static int one_after_the_other(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    int failed = 0;
    (void)user;
    for (int64_t i = 0; i < n && !failed; i++) failed = body(closure, i);
    return failed;
}

/* ---- a GPU, where there is one ---- */

typedef struct {
    NvDevice *device;
    NvModule *kernels;
} RealGpu;

static int real_move(void *user, void *call, mlc_gpu_memory *m, int to_device, int what) {
    RealGpu *g = user;
    uint32_t here = to_device ? MLC_ON_DEVICE : MLC_ON_HOST;
    (void)call;
    if (!m->device) ck_assert_int_eq(nv_alloc(g->device, NULL, m->bytes, &m->device), 0);
    if (!(m->current & here) && to_device) ck_assert_int_eq(nv_to_device(g->device, NULL, m->device, m->host, m->bytes), 0);
    if (!(m->current & here) && !to_device) ck_assert_int_eq(nv_to_host(g->device, NULL, m->host, m->device, m->bytes), 0);
    m->current = what ? here : m->current | here;
    return 0;
}

static void real_close(void *user, void *call, mlc_gpu_memory *m) {
    RealGpu *g = user;
    (void)call;
    if (m->device) nv_free(g->device, NULL, m->device);
}

static int real_launch(void *user, void *call, int kernel, const int64_t grid[3], const int64_t threads[3], int64_t size, void **args) {
    RealGpu *g = user;
    (void)call;
    int e = nv_launch(g->kernels, kernel, NULL, grid, threads, size, args);
    ck_assert_msg(!e, "%s", nv_error_name(g->device, e));
    return 0;
}

/* The GPU with a program's kernels; false where there is none. */
static bool real_gpu(Program *p, const char *text, RealGpu *g) {
    Fault f = { 0 };
    Barrier b;
    NvDeviceInfo info;
    NvCompiler *volatile c = NULL;
    volatile bool found = false;
    if (FAULT_TRY(&f, b)) {
        g->device = nv_device_open(NULL, 0, &f);
        c = nv_compiler_open(NULL, &f);
        FAULT_END(&f, b);
        found = true;
    } else if (g->device) nv_device_close(g->device);
    if (!found) return false;
    nv_device_info(g->device, &info);
    const char **name = ARENA_ARRAY(p->arena, const char *, p->kernel.n);
    for (int i = 0; i < p->kernel.n; i++) name[i] = cg_kernel_name(p->arena, p->kernel.at[i]);
    size_t n;
    NvOptions o = { .arch = nv_arch(p->arena, c, info.arch) };
    const void *code = nv_compile(p->arena, c, &o, text, "kernels", &n, NULL);
    g->kernels = nv_module_load(g->device, code, p->kernel.n, name, p->arena->fault);
    nv_compiler_close(c);
    return true;
}

/* Runs the host's code with memory of two sides; its result. */
static int run_program(Program *p, mlc_hooks hooks, void **data, const int64_t *shape, const mlc_scalar *param, mlc_gpu_memory *memory) {
    JitOptions j = { .cc = "gcc", .isa = jit_host_isa(), .opt = 1, .flags = getenv("MLC_CFLAGS") };
    CgOptions o = options("host");
    StrBuf source;
    JitTimes times = { 0 };
    sb_init(&source, p->arena);
    cg_cpu(&source, p, &o);
    if (getenv("HOST_DUMP")) jit_write_file(getenv("HOST_DUMP"), source.at, source.n);
    void *handle = jit_load(p->arena, &j, source.at, false, &times);
    int (*fn)(mlc_call *);
    *(void **)&fn = jit_symbol(handle, "host");
    hooks.par_for = one_after_the_other;
    mlc_call call = { .data = data, .shape = shape, .param = param, .hooks = &hooks, .memory = memory };
    int failed = fn(&call);
    for (int i = 0; i < p->external.n; i++) hooks.gpu_close(hooks.user, &call, &memory[i]);
    jit_unload(handle);
    return failed;
}

static int run_ops(Data *d, int first, int n, bool all) {
    Bench b = { .fault = { 0 } };
    Barrier barrier;
    volatile int wrong = -1;
    arena_init(&b.arena, NULL, &b.fault);
    if (FAULT_TRY(&b.fault, barrier)) {
        ir_interner_init(&b.ir, &b.arena, NULL);
        b.p = (Program){ .name = "ops", .arena = &b.arena, .ir = &b.ir, .flat = true };
        Storage *in[3][MLC_TYPE_COUNT];
        Kernel *k = new_kernel(&b.arena, &b.ir, &b.p, "ops", ir_idx(&b.ir, (PAIRS + THREADS - 1) / THREADS));
        Sym *x = index_sym(&b.arena, "x");
        const Node *at = ir_var(&b.ir, x);
        for (int i = 0; i < 3; i++)
            for (mlc_type t = MLC_BOOL; t <= MLC_F64; t++) in[i][t] = memory(&b, arena_printf(&b.arena, "%c_%s", 'a' + i, mlc_type_name(t)), true, t);
        int first_out = b.p.external.n, slots = first_out + n;
        Stmt **body = ARENA_ARRAY(&b.arena, Stmt *, n), *moves[3 * MLC_TYPE_COUNT + MOST_CASES];
        for (int i = 0; i < n; i++) {
            const Case *c = &cases[first + i];
            Storage *out = memory(&b, arena_printf(&b.arena, "%s_%s_%d", ir_ops[c->op].name, mlc_type_name(c->of), i), false, c->result);
            const Node *value = case_node(&b, c, in, at);
            body[i] = st_store(&b.arena, out->func, 1, &at, 1, &value);
            body[i]->u.store.storage = out;
        }
        void **data = ARENA_ARRAY(&b.arena, void *, slots);
        mlc_gpu_memory *both = ARENA_ARRAY(&b.arena, mlc_gpu_memory, slots);
        int m = 0;
        for (int i = 0; i < slots; i++) {
            Storage *t = b.p.external.at[i];
            t->on_device = true;
            size_t bytes = PAIRS * mlc_type_size(t->type[0]);
            data[i] = t->is_input ? d->at[i / (MLC_F64 - MLC_BOOL + 1)][t->type[0]] : arena_alloc(&b.arena, bytes);
            both[i] = (mlc_gpu_memory){ .host = data[i], .bytes = bytes, .current = MLC_ON_HOST };
            moves[m++] = st_move(&b.arena, t, true, t->is_output, t->is_output);
        }
        moves[m++] = over(&b.arena, &b.ir, k, x, ir_idx(&b.ir, PAIRS), st_block(&b.arena, n, body));
        for (int i = first_out; i < slots; i++) moves[m++] = st_move(&b.arena, b.p.external.at[i], false, false, false);
        b.p.body = st_block(&b.arena, m, moves);
        const char *text = cuda_text(&b.p);
        CpuGpu g = { 0 };
        compile(&b.arena, text, all, NULL, first ? NULL : "operators");
        load_kernels(&b.p, text, &g);
        ck_assert_int_eq(run_program(&b.p, cuda_hooks(&g), data, NULL, NULL, both), 0);
        ck_assert_int_eq(g.launches, 1);
        wrong = compare(d, data + first_out, first, n, "kernel");
        dlclose(g.handle);
        RealGpu real = { 0 };
        for (int i = 0; i < slots; i++) both[i] = (mlc_gpu_memory){ .host = data[i], .bytes = both[i].bytes, .current = MLC_ON_HOST };
        for (int i = first_out; i < slots; i++) memset(data[i], 0, both[i].bytes);
        if (!real_gpu(&b.p, text, &real)) {
            if (!first) printf("  skipped: operators on a GPU\n");
        } else {
            mlc_hooks hooks = { .user = &real, .gpu_move = real_move, .gpu_close = real_close, .gpu_launch = real_launch };
            ck_assert_int_eq(run_program(&b.p, hooks, data, NULL, NULL, both), 0);
            wrong += compare(d, data + first_out, first, n, "kernel on a GPU");
            nv_module_free(real.kernels);
            nv_device_close(real.device);
        }
        FAULT_END(&b.fault, barrier);
    } else printf("%s\n", b.fault.info.message);
    arena_free(&b.arena);
    return wrong;
}

START_TEST(operators) {
    if (no_cpp("operators")) return;
    Data *d = calloc(1, sizeof *d);
    make_cases();
    make_data(d);
    int wrong = 0, slice = 120;
    for (int first = 0, part = 0; first < n_cases; first += slice, part++)
        wrong += run_ops(d, first, n_cases - first < slice ? n_cases - first : slice, getenv("MLC_LONG") != NULL || part == 3);
    free_data(d);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* ---- the host's side ---- */

typedef struct {
    Bench b;
    Interner *I;
    Arena *a;
} Rig;

static Storage *external(Rig *r, const char *name, bool is_input, mlc_type t) {
    Storage *s = memory(&r->b, name, is_input, t);
    s->on_device = true;
    return s;
}

static Storage *internal(Rig *r, const char *name, int n, const mlc_type *t, MemoryKind kind, const Node *extent) {
    Func *f = ARENA_NEW(r->a, Func);
    Storage *s = ARENA_NEW(r->a, Storage);
    *f = (Func){ .name = name, .rank = 1, .n = n };
    *s = (Storage){ .func = f, .name = name, .rank = 1, .n = n, .memory = kind, .min = { ir_idx(r->I, 0) }, .extent = { extent },
                    .stride = { ir_idx(r->I, 1) }, .on_device = kind == STORE_HEAP };
    for (int e = 0; e < n; e++) f->type[e] = s->type[e] = t[e];
    ir_is_int(extent, &s->const_elems);
    return s;
}

static const Node *load_at(Rig *r, Storage *s, int e, const Node *index) {
    return ir_node(r->I, OP_LOAD, s->type[e], (uint64_t)(uintptr_t)s, e, 1, &index);
}

static Stmt *store_at(Rig *r, Storage *s, const Node *index, const Node *v0, const Node *v1) {
    const Node *v[] = { v0, v1 };
    Stmt *st = st_store(r->a, s->func, 1, &index, s->n, v);
    st->u.store.storage = s;
    return st;
}

/* Statement by statement. */
typedef struct {
    int n;
    Stmt *at[32];
} List;

static void then(List *l, Stmt *s) {
    l->at[l->n++] = s;
}

static Stmt *all_of(Rig *r, const List *l) {
    return st_block(r->a, l->n, l->at);
}

static Rig *new_rig(void) {
    Rig *r = calloc(1, sizeof *r);
    r->a = &r->b.arena;
    r->I = &r->b.ir;
    arena_init(r->a, NULL, &r->b.fault);
    ir_interner_init(r->I, r->a, NULL);
    r->b.p = (Program){ .name = "two", .arena = r->a, .ir = r->I, .flat = true, .index_bits = 40 };
    return r;
}

static void free_rig(Rig *r) {
    arena_free(r->a);
    free(r);
}

/*     kernel first:  t(x) = { in(x) * gain, x + step }
 *     on the host:   t(x).1 += 100, in parallel
 *     kernel turn:   s(x) = t(64 b + x).0; after a barrier out(64 b + x) = s(63 - x) + f32(t(64 b + x).1)
 *     on the host:   out(0) = 7 */
static void build_two(Rig *r, Storage **to) {
    Interner *I = r->I;
    static const mlc_type pair[] = { MLC_F32, MLC_I32 }, one[] = { MLC_F32 };
    Storage *in = external(r, "in", true, MLC_F32), *out = external(r, "out", false, MLC_F32);
    Sym *gain = ARENA_NEW(r->a, Sym), *n = ARENA_NEW(r->a, Sym), *step = ARENA_NEW(r->a, Sym);
    *gain = (Sym){ .name = "gain", .kind = SYM_PARAM, .type = MLC_F32, .slot = 0 };
    *n = (Sym){ .name = "out.extent", .kind = SYM_EXTENT, .type = MLC_INDEX, .func = out->func };
    *step = (Sym){ .name = "step", .kind = SYM_LET, .type = MLC_I32 };
    out->func->extent[0] = n;
    VEC_PUSH(r->a, &r->b.p.param, gain);
    const Node *size = ir_var(I, n), *blocks = ir_make2(I, OP_DIV, ir_add(I, size, ir_idx(I, THREADS - 1)), ir_idx(I, THREADS));
    Storage *t = internal(r, "t", 2, pair, STORE_HEAP, size), *s = internal(r, "s", 1, one, STORE_SHARED, ir_idx(I, THREADS));
    Kernel *first = new_kernel(r->a, I, &r->b.p, "first", blocks), *turn = new_kernel(r->a, I, &r->b.p, "turn", blocks);
    Sym *x = index_sym(r->a, "x"), *h = index_sym(r->a, "h"), *z = index_sym(r->a, "z");
    const Node *vx = ir_var(I, x), *vh = ir_var(I, h), *vz = ir_var(I, z), *tx = ir_var(I, turn->thread[0]);
    List body = { 0 }, block = { 0 };
    then(&body, st_move(r->a, in, true, false, false));
    then(&body, st_move(r->a, t, true, true, true));
    then(&body, over(r->a, I, first, x, size,
                     store_at(r, t, vx, ir_mul(I, load_at(r, in, 0, vx), ir_var(I, gain)), ir_add(I, ir_cast(I, MLC_I32, vx), ir_var(I, step)))));
    then(&body, st_move(r->a, t, false, true, false));
    then(&body, st_for(r->a, h, LOOP_PARALLEL, ir_idx(I, 0), size,
                       store_at(r, t, vh, load_at(r, t, 0, vh), ir_add(I, load_at(r, t, 1, vh), ir_int(I, MLC_I32, 100)))));
    then(&body, st_move(r->a, t, true, false, false));
    then(&body, st_move(r->a, out, true, true, true));
    then(&block, st_if(r->a, ir_make2(I, OP_LT, vz, size), store_at(r, s, tx, load_at(r, t, 0, vz), NULL), NULL));
    then(&block, st_barrier(r->a));
    const Node *turned = load_at(r, s, 0, ir_sub(I, ir_idx(I, THREADS - 1), tx));
    then(&block, st_if(r->a, ir_make2(I, OP_LT, vz, size),
                       store_at(r, out, vz, ir_add(I, turned, ir_cast(I, MLC_F32, load_at(r, t, 1, vz))), NULL), NULL));
    then(&body, st_kernel(r->a, turn, st_let(r->a, z, place_of(I, turn), st_alloc(r->a, s, all_of(r, &block)))));
    then(&body, st_move(r->a, out, false, true, false));
    then(&body, store_at(r, out, ir_idx(I, 0), ir_flt(I, MLC_F32, 7), NULL));
    r->b.p.body = st_let(r->a, step, ir_int(I, MLC_I32, 5), st_alloc(r->a, t, all_of(r, &body)));
    to[0] = in, to[1] = out;
}

START_TEST(memory_on_both_sides) {
    if (no_cpp("memory_on_both_sides")) return;
    enum { N = 5 * THREADS };
    Rig *r = new_rig();
    Barrier barrier;
    static float in[N], room[N + 4], *out = room + 4; /* the element at the mins is not the first one */
    static int64_t shape[2 * MAX_RANK * 3];
    if (FAULT_TRY(&r->b.fault, barrier)) {
        Storage *s[2];
        build_two(r, s);
        shape[MAX_RANK * 3 + 1] = N;
        for (int i = 0; i < N; i++) in[i] = (float)i;
        const char *text = cuda_text(&r->b.p);
        CpuGpu g = { 0 };
        NvReport report = { 0 };
        if (compile(r->a, text, true, &report, "memory_on_both_sides")) ck_assert_int_eq(report.n, 2);
        for (int i = 0; i < report.n; i++) ck_assert_int_eq(report.kernel[i].stack + report.kernel[i].spill_stores, 0);
        ck_assert_ptr_nonnull(strstr(text, "extern \"C\" __global__ void __launch_bounds__(64)\nfirst_kernel(f32 *__restrict__ t_0, i32 *__restrict__ t_1, const f32 *__restrict__ in, "));
        ck_assert_ptr_nonnull(strstr(text, "extern __shared__ __align__(16) u8 shared[];"));
        load_kernels(&r->b.p, text, &g);
        mlc_scalar param = { .f = 0.5 };
        size_t bytes[] = { sizeof in, sizeof room };
        void *data[] = { in, out };
        mlc_gpu_memory memory[] = { { .host = in, .bytes = bytes[0], .current = MLC_ON_HOST }, { .host = room, .bytes = bytes[1], .current = MLC_ON_HOST } };
        ck_assert_int_eq(run_program(&r->b.p, cuda_hooks(&g), data, shape, &param, memory), 0);
        ck_assert_int_eq(g.launches, 2);
        ck_assert_int_eq(g.to_device, 3); /* in, and t's two elements; out is about to be written */
        ck_assert_int_eq(g.to_host, 3);
        ck_assert_int_eq(g.diverged, 0);
        ck_assert_float_eq(out[0], 7);
        for (int i = 1; i < N; i++) ck_assert_float_eq(out[i], (float)(i / THREADS * THREADS + THREADS - 1 - i % THREADS) * 0.5f + (float)(i + 105));
        dlclose(g.handle);
        FAULT_END(&r->b.fault, barrier);
    } else ck_abort_msg("%s", r->b.fault.info.message);
    free_rig(r);
}
END_TEST

/* ---- what kernels cannot have: were legality to let it through, no code is made of it ---- */

typedef enum { A_PRINT, A_REQUIRE, A_CALL, A_CHECK, A_PARALLEL, A_HEAP, A_PREFETCH, REFUSALS } Refusal;

static Stmt *refused_body(Rig *r, Refusal what, Storage *in, Storage *out, const Node *x) {
    static Extern halved = { .name = "halved", .result = MLC_F32, .n = 1, .arg = { MLC_F32 } };
    static const mlc_type one[] = { MLC_F32 };
    Interner *I = r->I;
    const Node *v = load_at(r, in, 0, x), *two[] = { ir_make2(I, OP_LT, v, ir_flt(I, MLC_F32, 3)), v };
    Sym *i = index_sym(r->a, "i");
    uint64_t text = (uint64_t)(uintptr_t)ir_text(I, "small");
    if (what == A_PRINT) v = ir_node(I, OP_PRINT, MLC_F32, text, 0, 1, &v);
    if (what == A_REQUIRE) v = ir_node(I, OP_REQUIRE, MLC_F32, text, 0, 2, two);
    if (what == A_CALL) v = ir_node(I, OP_EXTERN, MLC_F32, (uint64_t)(uintptr_t)&halved, 0, 1, &v);
    Stmt *s = store_at(r, out, x, v, NULL);
    if (what == A_CHECK) {
        s = ARENA_NEW(r->a, Stmt);
        s->kind = ST_CHECK;
        s->u.check.cond = two[0];
        s->u.check.code = ERR_REQUIRE_FAILED;
    }
    if (what == A_PREFETCH) s = st_prefetch(r->a, v);
    if (what == A_PARALLEL) s = st_for(r->a, i, LOOP_PARALLEL, ir_idx(I, 0), ir_idx(I, 3), s);
    if (what == A_HEAP) s = st_alloc(r->a, internal(r, "row", 1, one, STORE_HEAP, x), s);
    return s;
}

START_TEST(refused) {
    static const char *const has[] = { "a print", "a require", "a call of the C function halved", "a check of what it computes",
                                       "a parallel loop", "memory for row of a size that is no constant", "a prefetch" };
    Refusal what = (Refusal)_i;
    Rig *r = new_rig();
    Barrier barrier;
    static volatile bool caught;
    caught = false;
    if (FAULT_TRY(&r->b.fault, barrier)) {
        Storage *in = external(r, "in", true, MLC_F32), *out = external(r, "out", false, MLC_F32);
        Kernel *k = new_kernel(r->a, r->I, &r->b.p, "out", ir_idx(r->I, 2));
        Sym *x = index_sym(r->a, "x");
        r->b.p.body = over(r->a, r->I, k, x, ir_idx(r->I, 99), refused_body(r, what, in, out, ir_var(r->I, x)));
        cuda_text(&r->b.p);
        FAULT_END(&r->b.fault, barrier);
    } else caught = true;
    ck_assert(caught);
    ck_assert_int_eq(r->b.fault.info.code, ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(r->b.fault.info.message, arena_printf(r->a, "kernel out has %s", has[what])));
    free_rig(r);
}
END_TEST

Suite *cuda_suite(void) {
    Suite *s = suite_create("codegen: CUDA C++");
    TCase *t = tcase_create("cuda");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, operators);
    tcase_add_test(t, memory_on_both_sides);
    tcase_add_loop_test(t, refused, 0, REFUSALS);
    suite_add_tcase(s, t);
    return s;
}
