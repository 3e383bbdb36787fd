/* test_emit.c - ahead-of-time C: a program of a user's, linked against what was emitted and nothing else. */
#include "codegen/backend.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *emit_suite(void);

typedef struct {
    Fault fault;
    Arena arena;
    Interner ir;
    Program p;
} Rig;

static Storage *memory(Rig *r, const char *name, int slot, bool is_input, mlc_type t) {
    Func *f = ARENA_NEW(&r->arena, Func);
    Storage *s = ARENA_NEW(&r->arena, Storage);
    *f = (Func){ .name = name, .rank = 1, .n = 1, .type = { t } };
    *s = (Storage){ .func = f, .name = name, .is_input = is_input, .is_output = slot >= 0 && !is_input, .slot = slot, .rank = 1, .n = 1, .type = { t } };
    if (slot >= 0) VEC_PUSH(&r->arena, &r->p.external, s);
    return s;
}

static Sym *symbol(Rig *r, const char *name, SymKind kind, mlc_type t, Func *f) {
    Sym *s = ARENA_NEW(&r->arena, Sym);
    *s = (Sym){ .name = name, .kind = kind, .type = t, .func = f };
    return s;
}

static Stmt *store(Rig *r, Storage *s, const Node *index, const Node *value) {
    Stmt *st = st_store(&r->arena, s->func, 1, &index, 1, &value);
    st->u.store.storage = s;
    return st;
}

static const Node *load(Rig *r, Storage *s, const Node *index) {
    return ir_node(&r->ir, OP_LOAD, s->type[0], (uint64_t)(uintptr_t)s, 0, 1, &index);
}

/* out(x) = row(x) + gain where row(x) = in(x) * gain, row on the heap, eight x a task; gain must be positive,
 * and i32 sums of the count wrap. */
static void build(Rig *r) {
    Interner *I = &r->ir;
    r->p = (Program){ .name = "scale", .arena = &r->arena, .ir = I, .flat = true, .index_bits = 40 };
    Storage *in = memory(r, "in", 0, true, MLC_F32), *out = memory(r, "out", 1, false, MLC_F32), *n = memory(r, "n", 2, false, MLC_I32);
    Storage *row = memory(r, "row", -1, false, MLC_F32);
    Sym *gain = symbol(r, "gain", SYM_PARAM, MLC_F32, NULL), *extent = symbol(r, "out.extent", SYM_EXTENT, MLC_INDEX, out->func);
    out->func->extent[0] = extent;
    VEC_PUSH(&r->arena, &r->p.param, gain);
    Sym *y = symbol(r, "y", SYM_LOOP, MLC_INDEX, NULL), *x = symbol(r, "x", SYM_LOOP, MLC_INDEX, NULL), *x2 = symbol(r, "x", SYM_LOOP, MLC_INDEX, NULL);
    const Node *g = ir_var(I, gain), *base = ir_mul(I, ir_var(I, y), ir_idx(I, 8));
    row->extent[0] = ir_idx(I, 8);
    row->stride[0] = ir_idx(I, 1);
    row->memory = STORE_HEAP;
    const Node *kids[2] = { ir_make2(I, OP_LT, ir_flt(I, MLC_F32, 0), g), ir_mul(I, load(r, in, ir_add(I, base, ir_var(I, x))), g) };
    const Node *checked = ir_node(I, OP_REQUIRE, MLC_F32, (uint64_t)(uintptr_t)ir_text(I, "gain is positive"), 0, 2, kids);
    Stmt *fill = st_for(&r->arena, x, LOOP_SERIAL, ir_idx(I, 0), ir_idx(I, 8), store(r, row, ir_var(I, x), checked));
    Stmt *use = st_for(&r->arena, x2, LOOP_VECTOR, ir_idx(I, 0), ir_idx(I, 8),
                       store(r, out, ir_add(I, base, ir_var(I, x2)), ir_add(I, load(r, row, ir_var(I, x2)), g)));
    Stmt *both[2] = { fill, use };
    Stmt *par = st_for(&r->arena, y, LOOP_PARALLEL, ir_idx(I, 0), ir_make2(I, OP_DIV, ir_var(I, extent), ir_idx(I, 8)),
                       st_alloc(&r->arena, row, st_block(&r->arena, 2, both)));
    const Node *big = load(r, n, ir_idx(I, 0));
    Stmt *all[2] = { par, store(r, n, ir_idx(I, 0), ir_add(I, ir_mul(I, big, big), big)) };
    r->p.body = st_block(&r->arena, 2, all);
}

static const char user[] =
    "#include \"scale.h\"\n#include <stdio.h>\n#include <string.h>\n"
    "int main(void) {\n"
    "    float a[40], b[40];\n    int n = 2147483647;\n"
    "    for (int i = 0; i < 40; i++) a[i] = i * 0.25f, b[i] = -1;\n"
    "    struct scale_buffer in = { a, { { 0, 40, 1 } } }, out = { b, { { 0, 40, 1 } } }, c = { &n, { { 0, 1, 1 } } };\n"
    "    if (scale(&in, &out, &c, 1.5f)) return 1;\n"
    "    for (int i = 0; i < 40; i++) if (b[i] != a[i] * 1.5f + 1.5f) return 2;\n"
    "    if (n != (int)((unsigned)2147483647 * 2147483647u + 2147483647u)) return 3;\n"
    "    int rc = scale(&in, &out, &c, -1);\n"
    "    if (rc != 1 || strcmp(scale_message(rc), \"require failed: gain is positive\")) return 4;\n"
    "    return strcmp(scale_message(-1), \"out of memory\") ? 5 : 0;\n}\n";

static void write_text(const char *dir, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void shell(const char *format, const char *dir, const char *cc) {
    char command[1024];
    snprintf(command, sizeof command, format, dir, cc);
    ck_assert_msg(system(command) == 0, "%s", command);
}

START_TEST(links_alone) {
    const char *cc = _i % 2 ? "clang" : "gcc", *have = _i % 2 ? "command -v clang >/dev/null" : "command -v gcc >/dev/null";
    if (system(have)) return;
    Rig r = { .fault = { 0 } };
    Barrier b;
    arena_init(&r.arena, NULL, &r.fault);
    if (FAULT_TRY(&r.fault, b)) {
        ir_interner_init(&r.ir, &r.arena, NULL);
        build(&r);
        CgOptions o = { .isa = _i / 2 ? ISA_PLAIN : ISA_AVX2, .is_gcc = true, .emit = true, .openmp = _i == 0, .symbol = "scale" };
        StrBuf code, header;
        sb_init(&code, &r.arena);
        sb_init(&header, &r.arena);
        cg_cpu(&code, &r.p, &o);
        cg_emit_header(&header, &r.p, &o);
        ck_assert_ptr_null(strstr(code.at, "mlc_"));
        ck_assert_ptr_null(strstr(header.at, "mlc_"));
        char dir[] = P_tmpdir "/mlc-emit-XXXXXX";
        ck_assert_ptr_nonnull(mkdtemp(dir));
        write_text(dir, "scale.c", code.at);
        write_text(dir, "scale.h", header.at);
        write_text(dir, "user.c", user);
        const char *march = _i / 2 ? "x86-64" : "x86-64-v3";
        char build_line[512];
        snprintf(build_line, sizeof build_line, "cd %%s && %%s -Wall -O2 -march=%s%s user.c scale.c -o user && ./user", march, _i == 0 ? " -fopenmp" : "");
        shell(build_line, dir, cc);
        shell("rm -r %s # %s", dir, cc);
        FAULT_END(&r.fault, b);
    } else ck_abort_msg("%s", r.fault.info.message);
    arena_free(&r.arena);
}
END_TEST

Suite *emit_suite(void) {
    Suite *s = suite_create("codegen: ahead of time");
    TCase *t = tcase_create("emit");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, links_alone, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
