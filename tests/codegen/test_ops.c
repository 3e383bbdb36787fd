/* test_ops.c - every operator on every type, compiled, against the scalar evaluator: scalar and vector
 * loops, each instruction set that this machine runs, both compilers.
 *
 * One kernel holds one loop a case; inputs are all pairs of hostile values. */
#include "jit/jit.h"
#include "ops_kit.h"

#include <mlc/runtime.h>

#include <unistd.h>

Suite *ops_suite(void);

static Stmt *case_loop(Bench *b, const Case *c, Storage *in[3][MLC_TYPE_COUNT], Storage *out, bool vector) {
    Sym *x = ARENA_NEW(&b->arena, Sym), *o = ARENA_NEW(&b->arena, Sym);
    *x = (Sym){ .name = "x", .kind = SYM_LOOP, .type = MLC_INDEX };
    *o = (Sym){ .name = "xo", .kind = SYM_LOOP, .type = MLC_INDEX };
    const Node *at = ir_var(&b->ir, x), *value = case_node(b, c, in, at);
    Stmt *s = st_store(&b->arena, out->func, 1, &at, 1, &value);
    s->u.store.storage = out;
    if (!vector) return st_for(&b->arena, x, LOOP_SERIAL, ir_idx(&b->ir, 0), ir_idx(&b->ir, PAIRS), s);
    const Node *from = ir_mul(&b->ir, ir_var(&b->ir, o), ir_idx(&b->ir, LANES));
    s = st_for(&b->arena, x, LOOP_VECTOR, from, ir_idx(&b->ir, LANES), s);
    return st_for(&b->arena, o, LOOP_SERIAL, ir_idx(&b->ir, 0), ir_idx(&b->ir, PAIRS / LANES), s);
}

static int run_cases(Data *d, CpuIsa isa, const char *cc, bool vector, int opt, int first, int n) {
    Bench b = { .fault = { 0 } };
    Barrier barrier;
    volatile int wrong = -1;
    arena_init(&b.arena, NULL, &b.fault);
    if (FAULT_TRY(&b.fault, barrier)) {
        ir_interner_init(&b.ir, &b.arena, NULL);
        b.p = (Program){ .name = "ops", .arena = &b.arena, .ir = &b.ir, .flat = true };
        Storage *in[3][MLC_TYPE_COUNT];
        void **data = ARENA_ARRAY(&b.arena, void *, 3 * MLC_TYPE_COUNT + n);
        for (int k = 0; k < 3; k++)
            for (mlc_type t = MLC_BOOL; t <= MLC_F64; t++) {
                in[k][t] = memory(&b, arena_printf(&b.arena, "%c_%s", 'a' + k, mlc_type_name(t)), true, t);
                data[in[k][t]->slot] = d->at[k][t];
            }
        int first_out = b.p.external.n;
        Stmt **all = ARENA_ARRAY(&b.arena, Stmt *, n);
        for (int k = 0; k < n; k++) {
            const Case *c = &cases[first + k];
            Storage *out = memory(&b, arena_printf(&b.arena, "%s_%s_%d", ir_ops[c->op].name, mlc_type_name(c->of), k), false, c->result);
            data[out->slot] = arena_alloc(&b.arena, PAIRS * mlc_type_size(c->result));
            all[k] = case_loop(&b, c, in, out, vector);
        }
        b.p.body = st_block(&b.arena, n, all);
        JitOptions j = { .cc = cc, .isa = isa, .opt = opt, .flags = getenv("MLC_CFLAGS") };
        CgOptions o = { .isa = isa, .is_gcc = jit_compiler(&b.arena, &j)->is_gcc, .symbol = "ops" };
        StrBuf source;
        sb_init(&source, &b.arena);
        cg_cpu(&source, &b.p, &o);
        if (getenv("OPS_DUMP")) jit_write_file(getenv("OPS_DUMP"), source.at, source.n);
        JitTimes times = { 0 };
        void *handle = jit_load(&b.arena, &j, source.at, false, &times);
        int (*fn)(mlc_call *);
        *(void **)&fn = jit_symbol(handle, "ops");
        mlc_call call = { .data = data };
        ck_assert_int_eq(fn(&call), 0);
        const char *how = arena_printf(&b.arena, "%s isa %d %s -O%d", cc, isa, vector ? "vector" : "scalar", opt);
        wrong = compare(d, data + first_out, first, n, how);
        jit_unload(handle);
        if (getenv("OPS_TIMES")) printf("%s: %d cases, build %.0f ms\n", how, n, times.build_ms);
        FAULT_END(&b.fault, barrier);
    } else printf("%s\n", b.fault.info.message);
    arena_free(&b.arena);
    return wrong;
}

static bool have(const char *cc) {
    char line[64];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", cc);
    return system(line) == 0;
}

static void run_all(bool vector) {
    static const char *const compilers[] = { "gcc", "clang" };
    Data *d = calloc(1, sizeof *d);
    make_cases();
    make_data(d);
    CpuIsa host = jit_host_isa();
    bool all = getenv("MLC_LONG") != NULL;
    const char *flags = getenv("MLC_CFLAGS");
    bool sanitized = flags && strstr(flags, "-fsanitize");
    int wrong = 0, slice = all ? 100 : 60, ways = 2 * ((int)host + 1);
    for (int way = 0; way < ways; way++) {
        const char *cc = compilers[way % 2];
        if (!have(cc) || (sanitized && way % 2)) continue; /* clang's runtime is not in this process */
        /* In long runs all cases each way, else each case one way. */
        for (int first = 0, part = 0; first < n_cases; first += slice, part++) {
            if (!all && (part + vector) % ways != way) continue;
            int n = n_cases - first < slice ? n_cases - first : slice;
            wrong += run_cases(d, (CpuIsa)(way / 2), cc, vector, all && part % 2 ? 2 : 1, first, n);
        }
    }
    free_data(d);
    ck_assert_int_eq(wrong, 0);
}

START_TEST(scalar_loops) {
    run_all(false);
}
END_TEST

START_TEST(vector_loops) {
    run_all(true);
}
END_TEST

Suite *ops_suite(void) {
    Suite *s = suite_create("codegen: operators");
    TCase *t = tcase_create("ops");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, scalar_loops);
    tcase_add_test(t, vector_loops);
    suite_add_tcase(s, t);
    return s;
}
