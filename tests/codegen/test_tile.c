/* test_tile.c - the heart of a matrix product, a tile of 12 x 2 vectors: the accumulators, an array on the
 * stack in the program, must live in registers, with no memory access but the loads of A and B. */
#include <mlc/runtime.h>

#include "codegen/backend.h"
#include "jit/jit.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *tile_suite(void);

enum { DEPTH = 256 };

typedef struct {
    Arena arena;
    Fault fault;
    Interner ir;
    Program p;
} Rig;

static Storage *memory(Rig *r, const char *name, int slot, bool is_input) {
    Func *f = ARENA_NEW(&r->arena, Func);
    Storage *s = ARENA_NEW(&r->arena, Storage);
    *f = (Func){ .name = name, .rank = 1, .n = 1, .type = { MLC_F32 } };
    *s = (Storage){ .func = f, .name = name, .is_input = is_input, .is_output = !is_input, .slot = slot, .rank = 1, .n = 1, .type = { MLC_F32 } };
    if (slot >= 0) VEC_PUSH(&r->arena, &r->p.external, s);
    return s;
}

static const Node *load(Rig *r, Storage *s, const Node *index) {
    return ir_node(&r->ir, OP_LOAD, MLC_F32, (uint64_t)(uintptr_t)s, 0, 1, &index);
}

static Stmt *vector(Rig *r, int lanes, Storage *s, const Node *(*value)(Rig *r, const Node *x, int row), const Node *base, int row) {
    Sym *x = ARENA_NEW(&r->arena, Sym);
    *x = (Sym){ .name = "x", .kind = SYM_LOOP, .type = MLC_INDEX };
    const Node *v = ir_var(&r->ir, x), *at = ir_add(&r->ir, v, base), *e = value(r, v, row);
    Stmt *st = st_store(&r->arena, s->func, 1, &at, 1, &e);
    st->u.store.storage = s;
    return st_for(&r->arena, x, LOOP_VECTOR, ir_idx(&r->ir, 0), ir_idx(&r->ir, lanes), st);
}

static Storage *A, *B, *C, *acc;
static const Sym *k_var;
static int rows, lanes;

static const Node *zero(Rig *r, const Node *x, int row) {
    (void)x;
    (void)row;
    return ir_flt(&r->ir, MLC_F32, -0.0);
}

static const Node *update(Rig *r, const Node *x, int row) {
    Interner *I = &r->ir;
    const Node *k = ir_var(I, k_var), *a = load(r, A, ir_add(I, ir_mul(I, k, ir_idx(I, rows)), ir_idx(I, row)));
    const Node *b = load(r, B, ir_add(I, ir_mul(I, k, ir_idx(I, lanes)), x));
    return ir_make3(I, OP_FMA, a, b, load(r, acc, ir_add(I, x, ir_idx(I, row * lanes))));
}

static const Node *result(Rig *r, const Node *x, int row) {
    return load(r, acc, ir_add(&r->ir, x, ir_idx(&r->ir, row * lanes)));
}

static Stmt *tile(Rig *r) {
    Interner *I = &r->ir;
    Stmt *all[3][16];
    Sym *k = ARENA_NEW(&r->arena, Sym);
    *k = (Sym){ .name = "k", .kind = SYM_LOOP, .type = MLC_INDEX };
    k_var = k;
    for (int i = 0; i < rows; i++) {
        const Node *base = ir_idx(I, i * lanes);
        all[0][i] = vector(r, lanes, acc, zero, base, i);
        all[1][i] = vector(r, lanes, acc, update, base, i);
        all[2][i] = vector(r, lanes, C, result, base, i);
    }
    Stmt *loop = st_for(&r->arena, k, LOOP_SERIAL, ir_idx(I, 0), ir_idx(I, DEPTH), st_block(&r->arena, rows, all[1]));
    Stmt *body[3] = { st_block(&r->arena, rows, all[0]), loop, st_block(&r->arena, rows, all[2]) };
    acc->const_elems = rows * lanes;
    acc->memory = STORE_STACK;
    return st_alloc(&r->arena, acc, st_block(&r->arena, 3, body));
}

static char *tool(const char *command) {
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = 0;
    pclose(f);
    return text;
}

/* Accesses to the stack in the whole kernel, as the assembler shows them. */
static int stack_accesses(const char *object) {
    char command[4200];
    snprintf(command, sizeof command, "objdump -d --no-show-raw-insn %s | grep -c '[xyz]mm.*(%%r[sb]p)'", object);
    char *text = tool(command);
    int n = atoi(text);
    free(text);
    return n;
}

static void run_tile(CpuIsa isa, const char *cc) {
    Rig *r = calloc(1, sizeof *r);
    Barrier barrier;
    rows = isa == ISA_AVX512 ? 12 : 6;
    lanes = isa == ISA_AVX512 ? 32 : 16;
    float *a = calloc(DEPTH * 12, 4), *b = calloc(DEPTH * 32, 4), *c = calloc(12 * 32, 4);
    for (int i = 0; i < DEPTH * rows; i++) a[i] = (float)(i * 37 % 101) / 50.f - 1;
    for (int i = 0; i < DEPTH * lanes; i++) b[i] = (float)(i * 53 % 103) / 50.f - 1;
    arena_init(&r->arena, NULL, &r->fault);
    if (FAULT_TRY(&r->fault, barrier)) {
        ir_interner_init(&r->ir, &r->arena, NULL);
        r->p = (Program){ .name = "tile", .arena = &r->arena, .ir = &r->ir, .flat = true };
        A = memory(r, "A", 0, true);
        B = memory(r, "B", 1, true);
        C = memory(r, "C", 2, false);
        acc = memory(r, "acc", -1, false);
        acc->is_output = false;
        r->p.body = tile(r);
        JitOptions j = { .cc = cc, .isa = isa };
        CgOptions o = { .isa = isa, .is_gcc = jit_compiler(&r->arena, &j)->is_gcc, .symbol = "tile" };
        StrBuf source;
        sb_init(&source, &r->arena);
        cg_cpu(&source, &r->p, &o);
        if (getenv("OPS_DUMP")) jit_write_file(getenv("OPS_DUMP"), source.at, source.n);
        JitTimes times = { 0 };
        void *h = jit_load(&r->arena, &j, source.at, false, &times);
        int (*fn)(mlc_call *);
        *(void **)&fn = jit_symbol(h, "tile");
        void *data[] = { a, b, c };
        mlc_call call = { .data = data };
        ck_assert_int_eq(fn(&call), 0);
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < lanes; x++) {
                float sum = -0.f;
                for (int k = 0; k < DEPTH; k++) sum = fmaf(a[k * rows + y], b[k * lanes + x], sum);
                ck_assert_msg(c[y * lanes + x] == sum, "%g for %g", (double)c[y * lanes + x], (double)sum);
            }
        char object[64];
        snprintf(object, sizeof object, P_tmpdir "/mlc-test-tile-%ld.o", (long)getpid());
        j.object = true;
        jit_compile_to(&r->arena, &j, source.at, object);
        ck_assert_int_eq(stack_accesses(object), 0);
        unlink(object);
        jit_unload(h);
        FAULT_END(&r->fault, barrier);
    } else ck_abort_msg("%s", r->fault.info.message);
    arena_free(&r->arena);
    free(a);
    free(b);
    free(c);
    free(r);
}

START_TEST(no_spills) {
    static const char *const compilers[] = { "gcc", "clang" };
    CpuIsa isa = _i / 2 ? ISA_AVX512 : ISA_AVX2;
    char line[64];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", compilers[_i % 2]);
    if (isa <= jit_host_isa() && system(line) == 0) run_tile(isa, compilers[_i % 2]);
}
END_TEST

Suite *tile_suite(void) {
    Suite *s = suite_create("codegen: register tile");
    TCase *t = tcase_create("tile");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, no_spills, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
