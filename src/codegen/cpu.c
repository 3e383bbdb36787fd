/* cpu.c - the translation unit: layouts, typedefs, helpers, loop bodies, the kernel.
 *
 * It includes nothing, because a system header costs more compile time than the kernel itself, so it
 * repeats the layouts of include/mlc/runtime.h. */
#include "cg.h"

static const char layouts[] =
    "typedef signed char i8;\ntypedef short i16;\ntypedef int i32;\ntypedef long i64;\n"
    "typedef unsigned char u8;\ntypedef unsigned short u16;\ntypedef unsigned int u32;\ntypedef unsigned long u64;\n"
    "typedef float f32;\ntypedef double f64;\n"
    "#define INLINE static inline __attribute__((always_inline))\n"
    "#define OUTLINE static __attribute__((noinline))\n\n";

static const char call_layout[] =
    "typedef union {\n    i64 i;\n    f64 f;\n} mlc_scalar;\n"
    "typedef struct {\n    int n;\n    const i64 *bytes;\n    int n_words;\n    const i64 *word;\n    int n_inputs;\n"
    "    void *const *input;\n    const i64 *shape;\n    _Bool has_evict;\n    i64 evict;\n} mlc_memo;\n"
    "typedef struct {\n    void *host;\n    u64 device;\n    unsigned long bytes;\n    u32 current, owned;\n} mlc_gpu_memory;\n"
    "typedef struct {\n"
    "    void *user;\n"
    "    int (*par_for)(void *user, int (*body)(void *closure, i64 i), void *closure, i64 n);\n"
    "    int (*fork_join)(void *user, int (*body)(void *closure, i64 i), void *closure, i64 n);\n"
    "    void (*wait)(void *user, const i64 *counter, i64 least);\n"
    "    void (*wake)(void *user, const i64 *counter);\n"
    "    void *(*alloc)(void *user, unsigned long bytes);\n"
    "    void (*release)(void *user, void *p);\n"
    "    void (*print)(void *user, const char *label, int n, const int *type, const mlc_scalar *value);\n"
    "    int (*memo_enter)(void *user, const mlc_memo *memo, void **entry, void **data);\n"
    "    void (*memo_keep)(void *user, void *entry);\n"
    "    void (*memo_leave)(void *user, void *entry);\n"
    "    int (*gpu_move)(void *user, void *call, mlc_gpu_memory *m, int to_device, int what);\n"
    "    void (*gpu_close)(void *user, void *call, mlc_gpu_memory *m);\n"
    "    int (*gpu_launch)(void *user, void *call, int kernel, const i64 *grid, const i64 *threads, i64 shared, void **args);\n"
    "} mlc_hooks;\n"
    "struct mlc_watch {\n"
    "    void *user;\n"
    "    void (*tally)(void *user, int n, const int *counter, const i64 *amount);\n"
    "    void (*memory)(void *user, int row, i64 bytes);\n"
    "    void (*span)(void *user, int kind, i64 begin, i64 end, i64 value);\n"
    "};\n"
    "typedef struct {\n"
    "    const char *name, *place, *again, *scalar;\n"
    "    i64 stack;\n"
    "    u8 profiled, traced, vector, parallel, slides;\n"
    "} mlc_watched;\n"
    "typedef struct {\n"
    "    void *const *data;\n"
    "    const i64 *shape;\n"
    "    const mlc_scalar *param;\n"
    "    const mlc_hooks *hooks;\n"
    "    i64 error[6];\n"
    "    unsigned mode;\n"
    "    const struct mlc_watch *watch;\n"
    "    mlc_gpu_memory *memory;\n"
    "    void *stream;\n"
    "} mlc_call;\n\n"
    /* C functions run in the caller's floating-point mode, and whatever they leave, kernels go on in theirs. */
    "static __attribute__((unused)) void users_mode(const mlc_call *call) {\n"
    "#ifdef __x86_64__\n"
    "    if (call->mode && ((__builtin_ia32_stmxcsr() ^ call->mode) & ~0x3fu)) __builtin_ia32_ldmxcsr(call->mode);\n"
    "#else\n    (void)call;\n#endif\n"
    "}\n"
    "static __attribute__((unused)) void own_mode(void) {\n"
    "#ifdef __x86_64__\n"
    "    if ((__builtin_ia32_stmxcsr() & ~0x3fu) != 0x1f80) __builtin_ia32_ldmxcsr(0x1f80);\n"
    "#endif\n"
    "}\n"
    "static __attribute__((noinline, unused)) void show(const mlc_call *call, const char *label, int n, const int *type, const mlc_scalar *v) {\n"
    "    users_mode(call);\n"
    "    call->hooks->print(call->hooks->user, label, n, type, v);\n"
    "    own_mode();\n"
    "}\n"
    /* Threads may fail at once: the first one speaks. */
    "static __attribute__((noinline, unused)) int fail(mlc_call *call, int code, i64 number, i64 a, i64 b, i64 c, i64 d) {\n"
    "    i64 none = 0;\n"
    "    if (__atomic_compare_exchange_n(&call->error[0], &none, code, 0, 2, 0)) {\n"
    "        call->error[1] = number;\n"
    "        call->error[2] = a;\n"
    "        call->error[3] = b;\n"
    "        call->error[4] = c;\n"
    "        call->error[5] = d;\n"
    "    }\n"
    "    return code;\n"
    "}\n";

static const char bytes_layout[] =
    /* A size that no memory can hold asks for one that no memory holds. */
    "static __attribute__((unused)) i64 bytes_of(i64 n, i64 size) {\n"
    "    return n < 0 || n > (1l << 52) / size ? 1l << 52 : n * size;\n"
    "}\n\n"
    /* n, unless the product of the extents that made it overflowed; 0 for a box without points, whose other
     * extents count for nothing. */
    "static __attribute__((unused)) i64 box_of(i64 n, int rank, const i64 *extent) {\n"
    "    i64 all = 1;\n"
    "    for (int d = 0; d < rank; d++)\n"
    "        if (extent[d] <= 0) return 0;\n"
    "    for (int d = 0; d < rank; d++)\n"
    "        if (extent[d] > 1 && __builtin_mul_overflow(all, extent[d], &all)) return -1;\n"
    "    return n;\n"
    "}\n\n";

void gen_init(Gen *G, const Program *p, const CgOptions *o, Arena *arena) {
    *G = (Gen){ .p = p, .arena = arena, .ir = p->ir, .o = o };
    sb_init(&G->types, arena);
    sb_init(&G->helpers, arena);
    sb_init(&G->functions, arena);
    sm_init(&G->have, arena);
    sm_init(&G->taken, arena);
    PtrMap *maps[] = { &G->name, &G->promoted, &G->externs, &G->element, &G->channel, &G->used };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) pm_init(maps[i], arena);
    G->fn = ARENA_NEW(arena, Fn);
    *G->fn = (Fn){ .depth = 1, .stage = p->watched.n };
    sb_init(&G->fn->out, arena);
    pm_init(&G->fn->has, arena);
    sm_put(&G->taken, o->symbol, G);
}

/* ---- the top of the kernel ---- */

static void bind_external(Gen *G) {
    const Program *p = G->p;
    for (int i = 0; i < p->external.n; i++) {
        const Storage *s = p->external.at[i];
        for (int e = 0; e < s->n; e++) bind(G, &s->type[e], element_name(G, s, e));
        static const char *const field[] = { "min", "extent", "stride" };
        for (int d = 0; d < s->func->rank; d++) {
            const Sym *sym[] = { s->func->min[d], s->func->extent[d], s->func->stride[d] };
            for (int k = 0; k < 3; k++)
                if (sym[k]) bind(G, sym[k], name_of(G, sym[k], fmt(G, "%s_%s_%d", s->name, field[k], d)));
        }
    }
    for (int i = 0; i < p->param.n; i++) bind(G, p->param.at[i], name_of(G, p->param.at[i], p->param.at[i]->name));
    bind(G, &G->locks, name_of(G, &G->locks, "locks"));
}

/* Where the kernel finds a buffer, its shape and a param. */
static const char *data_text(Gen *G, const Storage *s, int e) {
    return G->o->emit ? fmt(G, "%s_buffer->data", element_name(G, s, e)) : fmt(G, "call->data[%d]", s->slot + e);
}

static const char *shape_text(Gen *G, const Storage *s, int d, int k) {
    static const char *const field[] = { "min", "extent", "stride" };
    if (G->o->emit) return fmt(G, "%s_buffer->dim[%d].%s", element_name(G, s, 0), d, field[k]);
    return fmt(G, "call->shape[%d]", (s->slot * MAX_RANK + d) * 3 + k);
}

static void read_buffer(Gen *G, StrBuf *out, const Storage *s) {
    for (int e = 0; e < s->n; e++) {
        const char *name = pm_get(&G->used, &s->type[e]);
        if (!name) continue;
        sb_printf(out, "    %s%s *%s%s = %s;\n", s->is_input ? "const " : "", ty_c(s->type[e]), restricted(s), name, data_text(G, s, e));
        if (s->on_device)
            sb_printf(out, "    const i64 %s = (i64)((u64)%s - (u64)call->memory[%d].host);\n", gpu_offset(G, s, e), name, s->slot + e);
    }
    for (int d = 0; d < s->func->rank; d++) {
        const Sym *sym[] = { s->func->min[d], s->func->extent[d], s->func->stride[d] };
        for (int k = 0; k < 3; k++) {
            const char *name = sym[k] ? pm_get(&G->used, sym[k]) : NULL;
            if (name) sb_printf(out, "    const i64 %s = %s;\n", name, shape_text(G, s, d, k));
        }
    }
}

static void read_param(Gen *G, StrBuf *out, const Sym *s) {
    const char *name = pm_get(&G->used, s);
    if (!name) return;
    mlc_type from = G->o->emit ? MLC_F32 : MLC_F64;
    const char *get = fmt(G, "call->param[%d].%s", s->slot, ty_is_float(s->type) ? "f" : "i");
    if (G->o->emit) get = fmt(G, "%s_param", name_of(G, s, s->name));
    if (ty_is_half(s->type)) get = fmt(G, "%s(%s)", helper_convert(G, s->type, from, 1), get);
    sb_printf(out, "    const %s %s = (%s)%s;\n", ty_c(s->type), name, ty_c(s->type), get);
}

/* ---- ahead of time ---- */

static const char *argument_type(mlc_type t) {
    switch (t) {
    case MLC_F16: case MLC_BF16: case MLC_F32: return "float";
    case MLC_F64: return "double";
    case MLC_BOOL: return "int";
    case MLC_INDEX: return "int64_t";
    default: return NULL;
    }
}

/* One prototype for header and source: long is int64_t where this runs. */
static void write_prototype(Gen *G, StrBuf *out) {
    const Program *p = G->p;
    const char *s = "";
    sb_printf(out, "int %s(", G->o->symbol);
    for (int i = 0; i < p->external.n; i++)
        for (int e = 0; e < p->external.at[i]->n; e++) {
            sb_printf(out, "%sconst struct %s_buffer *%s_buffer", s, G->o->symbol, element_name(G, p->external.at[i], e));
            s = ", ";
        }
    for (int i = 0; i < p->param.n; i++) {
        const Sym *y = p->param.at[i];
        const char *t = argument_type(y->type);
        sb_printf(out, "%s%s %s_param", s, t ? t : fmt(G, "%sint%d_t", ty_is_unsigned(y->type) ? "u" : "", ty_bits(y->type)),
                  name_of(G, y, y->name));
        s = ", ";
    }
    sb_puts(out, *s ? ")" : "void)");
}

static void write_buffer_struct(Gen *G, StrBuf *out) {
    sb_printf(out, "struct %s_buffer {\n    void *data; /* the element at the mins */\n"
                   "    struct {\n        int64_t min, extent, stride; /* stride in elements */\n    } dim[%d];\n};\n\n",
              G->o->symbol, MAX_RANK);
}

static const char *const isa_demand[] = { "__x86_64__", "__SSE4_2__", "__AVX2__ && defined __FMA__ && defined __F16C__",
                                          "__AVX512BW__ && defined __AVX512DQ__ && defined __AVX512VL__" };
static const char *const isa_march[] = { "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" };

static void write_emit_head(Gen *G, StrBuf *out) {
    const CgOptions *o = G->o;
    sb_printf(out, "/* Made by mlc.  Compile with -O2 -march=%s -ffp-contract=off%s. */\n", isa_march[o->isa],
              o->openmp ? " -fopenmp" : "");
    sb_printf(out, "#if !(defined %s)\n#error \"compile with -march=%s\"\n#endif\n", isa_demand[o->isa], isa_march[o->isa]);
    sb_puts(out, "#ifdef __FAST_MATH__\n#error \"results are exact: compile without -ffast-math\"\n#endif\n"
                 "#pragma GCC diagnostic ignored \"-Wunused-variable\"\n"
                 "#pragma GCC diagnostic ignored \"-Wmissing-field-initializers\"\n"
                 "#pragma GCC diagnostic ignored \"-Wunknown-pragmas\"\n"
                 "#if defined __clang__\n#pragma STDC FP_CONTRACT OFF\n#else\n"
                 "#pragma GCC optimize (\"fp-contract=off\", \"wrapv\", \"no-math-errno\", \"no-trapping-math\")\n#endif\n");
    sb_puts(out, layouts);
    sb_puts(out, "typedef i8 int8_t;\ntypedef i16 int16_t;\ntypedef i32 int32_t;\ntypedef i64 int64_t;\n"
                 "typedef u8 uint8_t;\ntypedef u16 uint16_t;\ntypedef u32 uint32_t;\ntypedef u64 uint64_t;\n"
                 "void *aligned_alloc(unsigned long align, unsigned long size);\nvoid free(void *p);\n"
                 "int printf(const char *format, ...);\n\n");
    sb_puts(out, bytes_layout);
    write_buffer_struct(G, out);
}

static void write_messages(Gen *G, StrBuf *out) {
    sb_printf(out, "\nconst char *%s_message(int code) {\n    static const char *const text[] = {\n        \"\",\n", G->o->symbol);
    for (int i = 0; i < G->checks.n; i++) {
        const CheckText *c = &G->checks.at[i];
        sb_printf(out, "        \"%s\",\n", quoted(G, error_message(G, c->code, c->text[0], c->text[1])));
    }
    sb_printf(out, "    };\n    if (code == -1) return \"out of memory\";\n"
                   "    return code > 0 && code <= %d ? text[code] : \"\";\n}\n", G->checks.n);
}

void cg_emit_header(StrBuf *out, const Program *p, const CgOptions *o) {
    Gen G;
    gen_init(&G, p, o, p->arena);
    bind_external(&G);
    StrBuf guard;
    sb_init(&guard, p->arena);
    sb_printf(&guard, "%s_H", o->symbol);
    for (char *c = guard.at; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    sb_printf(out, "/* Made by mlc.  A dimension's indices run over [min, min + extent). */\n#ifndef %s\n#define %s\n\n"
                   "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", guard.at, guard.at);
    write_buffer_struct(&G, out);
    sb_puts(out, "/* 0 when it is done; else a number that the next function explains, with # for what only the call knows.  No output may\n"
                   " * share memory with another buffer. */\n");
    write_prototype(&G, out);
    sb_printf(out, ";\nconst char *%s_message(int code);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", o->symbol);
}

/* ---- the unit ---- */

static void write_kernel(Gen *G, StrBuf *out) {
    StrBuf top;
    sb_init(&top, G->arena);
    for (int i = 0; i < G->p->external.n; i++) read_buffer(G, &top, G->p->external.at[i]);
    for (int i = 0; i < G->p->param.n; i++) read_param(G, &top, G->p->param.at[i]);
    write_locks(G, &top);
    if (G->o->emit) write_emit_head(G, out);
    else {
        sb_puts(out, layouts);
        sb_puts(out, call_layout);
        sb_puts(out, bytes_layout);
    }
    sb_puts(out, G->types.at);
    sb_puts(out, "\n");
    sb_puts(out, G->helpers.at);
    sb_puts(out, "\n");
    sb_puts(out, G->functions.at);
    if (G->o->emit) entry_helpers(G, out);
    sb_puts(out, "__attribute__((visibility(\"default\")))\n");
    if (G->o->emit) write_prototype(G, out);
    else sb_printf(out, "int %s(mlc_call *call)", G->o->symbol);
    sb_puts(out, " {\n");
    if (!G->o->emit) sb_puts(out, "    const mlc_hooks *hooks = call->hooks;\n    (void)hooks;\n    call->error[0] = 0;\n");
    if (G->o->emit) entry_checks(G, out);
    sb_puts(out, top.at);
    if (G->fn->fails) sb_puts(out, "    int status = 0;\n");
    watch_open(G, G->fn, out);
    sb_puts(out, G->fn->out.at);
    watch_close(G, G->fn, out);
    sb_puts(out, "    return 0;\n}\n");
}

static void write_texts(Gen *G, StrBuf *out) {
    sb_printf(out, "\n/* What each check is about. */\nconst char *const %s_text[] = {\n", G->o->symbol);
    for (int i = 0; i < G->checks.n; i++)
        for (int k = 0; k < 2; k++) sb_printf(out, "    \"%s\",\n", quoted(G, G->checks.at[i].text[k]));
    sb_puts(out, "    0\n};\n");
}

void cg_cpu(StrBuf *out, const Program *p, const CgOptions *o) {
    Gen G;
    gen_init(&G, p, o, p->arena);
    bind_external(&G);
    watch_begin(&G);
    stmt(&G, p->body);
    write_kernel(&G, out);
    if (o->emit) write_messages(&G, out);
    else {
        write_texts(&G, out);
        watch_tables(&G, out);
    }
}
