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
    "typedef struct {\n"
    "    void *user;\n"
    "    int (*par_for)(void *user, int (*body)(void *closure, i64 i), void *closure, i64 n);\n"
    "    void *(*alloc)(void *user, unsigned long bytes);\n"
    "    void (*release)(void *user, void *p);\n"
    "    void (*print)(void *user, const char *label, int n, const int *type, const mlc_scalar *value);\n"
    "} mlc_hooks;\n"
    "typedef struct {\n"
    "    void *const *data;\n"
    "    const i64 *shape;\n"
    "    const mlc_scalar *param;\n"
    "    const mlc_hooks *hooks;\n"
    "    i64 error[6];\n"
    "} mlc_call;\n\n"
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
    "}\n"
    /* A size that no memory can hold asks for one that no memory holds. */
    "static __attribute__((unused)) i64 bytes_of(i64 n, i64 size) {\n"
    "    return n < 0 || n > (1l << 52) / size ? 1l << 52 : n * size;\n"
    "}\n\n";

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
}

static void read_buffer(Gen *G, StrBuf *out, const Storage *s) {
    for (int e = 0; e < s->n; e++) {
        const char *name = pm_get(&G->used, &s->type[e]);
        if (!name) continue;
        sb_printf(out, "    %s%s *restrict %s = call->data[%d];\n", s->is_input ? "const " : "", ty_c(s->type[e]), name,
                  s->slot + e);
    }
    for (int d = 0; d < s->func->rank; d++) {
        const Sym *sym[] = { s->func->min[d], s->func->extent[d], s->func->stride[d] };
        for (int k = 0; k < 3; k++) {
            const char *name = sym[k] ? pm_get(&G->used, sym[k]) : NULL;
            if (name) sb_printf(out, "    const i64 %s = call->shape[%d];\n", name, (s->slot * MAX_RANK + d) * 3 + k);
        }
    }
}

static void read_param(Gen *G, StrBuf *out, const Sym *s) {
    const char *name = pm_get(&G->used, s);
    if (!name) return;
    const char *field = ty_is_float(s->type) ? "f" : "i";
    const char *get = fmt(G, "call->param[%d].%s", s->slot, field);
    if (ty_is_half(s->type)) get = fmt(G, "%s(%s)", helper_convert(G, s->type, MLC_F64, 1), get);
    sb_printf(out, "    const %s %s = (%s)%s;\n", ty_c(s->type), name, ty_c(s->type), get);
}

static void write_kernel(Gen *G, StrBuf *out) {
    StrBuf top;
    sb_init(&top, G->arena);
    for (int i = 0; i < G->p->external.n; i++) read_buffer(G, &top, G->p->external.at[i]);
    for (int i = 0; i < G->p->param.n; i++) read_param(G, &top, G->p->param.at[i]);
    sb_puts(out, layouts);
    sb_puts(out, call_layout);
    sb_printf(out, "%s\n%s\n%s", G->types.at, G->helpers.at, G->functions.at);
    sb_printf(out, "__attribute__((visibility(\"default\")))\nint %s(mlc_call *call) {\n", G->o->symbol);
    sb_puts(out, "    const mlc_hooks *hooks = call->hooks;\n");
    sb_puts(out, top.at);
    if (G->fn->fails) sb_puts(out, "    int status = 0;\n");
    sb_printf(out, "    call->error[0] = 0;\n    (void)hooks;\n%s    return 0;\n}\n", G->fn->out.at);
}

static void put_string(StrBuf *out, const char *s) {
    sb_puts(out, "    \"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 32 || c > 126 || c == '"' || c == '\\' || c == '?') sb_printf(out, "\\%03o", c);
        else sb_putn(out, s, 1);
    }
    sb_puts(out, "\",\n");
}

static void write_texts(Gen *G, StrBuf *out) {
    sb_printf(out, "\n/* What each check is about. */\nconst char *const %s_text[] = {\n", G->o->symbol);
    for (int i = 0; i < G->checks.n; i++)
        for (int k = 0; k < 2; k++) put_string(out, G->checks.at[i].text[k]);
    sb_puts(out, "    0\n};\n");
}

static void gen_init(Gen *G, const Program *p, const CgOptions *o, Arena *arena) {
    *G = (Gen){ .p = p, .arena = arena, .ir = p->ir, .o = o };
    sb_init(&G->types, arena);
    sb_init(&G->helpers, arena);
    sb_init(&G->functions, arena);
    sm_init(&G->have, arena);
    sm_init(&G->taken, arena);
    PtrMap *maps[] = { &G->name, &G->promoted, &G->externs, &G->element, &G->used };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) pm_init(maps[i], arena);
    G->fn = ARENA_NEW(arena, Fn);
    *G->fn = (Fn){ .depth = 1 };
    sb_init(&G->fn->out, arena);
    pm_init(&G->fn->has, arena);
    sm_put(&G->taken, o->symbol, G);
}

void cg_cpu(StrBuf *out, const Program *p, const CgOptions *o) {
    Gen G;
    gen_init(&G, p, o, p->arena);
    bind_external(&G);
    stmt(&G, p->body);
    write_kernel(&G, out);
    write_texts(&G, out);
}
