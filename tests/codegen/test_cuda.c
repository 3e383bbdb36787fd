/* test_cuda.c - kernels: what is printed for a GPU runs here as C++ and gives the bits of the scalar evaluator, and NVRTC,
 * where there is one, compiles it. */
#include "cuda_kit.h"
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

/* Runs the host's code with memory of two sides; its result. */
static int run_program(Program *p, CpuGpu *g, void **data, const int64_t *shape, const mlc_scalar *param, const size_t *bytes) {
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
    int slots = p->external.n;
    mlc_gpu_memory *memory = ARENA_ARRAY(p->arena, mlc_gpu_memory, slots);
    for (int i = 0; i < slots; i++) memory[i] = (mlc_gpu_memory){ .host = data[i], .bytes = bytes[i], .current = MLC_ON_HOST };
    mlc_hooks hooks = cuda_hooks(g);
    mlc_call call = { .data = data, .shape = shape, .param = param, .hooks = &hooks, .memory = memory };
    int failed = fn(&call);
    for (int i = 0; i < slots; i++) cuda_close(g, &call, &memory[i]);
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
        size_t *bytes = ARENA_ARRAY(&b.arena, size_t, slots);
        int m = 0;
        for (int i = 0; i < slots; i++) {
            Storage *t = b.p.external.at[i];
            t->on_device = true;
            bytes[i] = PAIRS * mlc_type_size(t->type[0]);
            data[i] = t->is_input ? d->at[i / (MLC_F64 - MLC_BOOL + 1)][t->type[0]] : arena_alloc(&b.arena, bytes[i]);
            moves[m++] = st_move(&b.arena, t, true, t->is_output, t->is_output);
        }
        moves[m++] = over(&b.arena, &b.ir, k, x, ir_idx(&b.ir, PAIRS), st_block(&b.arena, n, body));
        for (int i = first_out; i < slots; i++) moves[m++] = st_move(&b.arena, b.p.external.at[i], false, false, false);
        b.p.body = st_block(&b.arena, m, moves);
        const char *text = cuda_text(&b.p);
        CpuGpu g = { 0 };
        if (!cuda_compiles(&b.arena, text, all, NULL) && first == 0) printf("  skipped: NVRTC on operators\n");
        cuda_load(&b.arena, &b.p, text, &g);
        ck_assert_int_eq(run_program(&b.p, &g, data, NULL, NULL, bytes), 0);
        ck_assert_int_eq(g.launches, 1);
        wrong = compare(d, data + first_out, first, n, "kernel");
        dlclose(g.handle);
        FAULT_END(&b.fault, barrier);
    } else printf("%s\n", b.fault.info.message);
    arena_free(&b.arena);
    return wrong;
}

START_TEST(operators) {
    if (!cuda_has_cpp("operators")) return;
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

Suite *cuda_suite(void) {
    Suite *s = suite_create("codegen: CUDA C++");
    TCase *t = tcase_create("cuda");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, operators);
    suite_add_tcase(s, t);
    return s;
}
