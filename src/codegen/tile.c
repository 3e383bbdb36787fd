/* tile.c - instructions of tensor.def in CUDA C++: a function an instruction, over the 32-bit registers that it takes.
 *
 *     INLINE void mma_m16n8k8_bf16(f32 &d0, f32 &d1, f32 &d2, f32 &d3, u32 a0, u32 a1, u32 b0) {
 *     #ifdef __CUDA_ARCH__
 *         asm volatile("mma.sync... {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+f"(d0) ... : "r"(a0) ...);
 *     #else
 *         ... what stands in for NVRTC knows the instruction by its shape
 *     #endif
 *
 * The lanes of a warp are at the same place when they come here, for nothing that differs between them stands around. */
#include "cg.h"

#include <string.h>

enum { REGISTER_BITS = 32 };

static int per_register(const TensorRow *r) {
    return REGISTER_BITS / ty_bits(r->ab);
}

static int registers(const TensorRow *r, TensorOperand operand) {
    return operand == TENSOR_C ? tensor_elements(r, operand) : tensor_elements(r, operand) / per_register(r);
}

/* ---- the function ---- */

static const char letter[] = "abd";

/* "u32 a0, u32 a1", or "%4, %5": n times `each`, which has a number in it. */
static const char *listed(Gen *G, const char *before, int first, int n, const char *after) {
    const char *all = "";
    for (int i = 0; i < n; i++) all = fmt(G, "%s%s%s%d%s", all, i ? ", " : "", before, first + i, after);
    return all;
}

/* The row's code with the numbers of its operands. */
static const char *numbered(Gen *G, const TensorRow *r) {
    int d = registers(r, TENSOR_C), a = registers(r, TENSOR_A), first[] = { d, d + a, 0 }, n[] = { a, registers(r, TENSOR_B), d };
    StrBuf b;
    sb_init(&b, G->arena);
    for (const char *p = r->code; *p; p++) {
        const char *which = *p == '$' ? strchr(letter, p[1]) : NULL;
        if (!which) {
            sb_putn(&b, p, 1);
            continue;
        }
        sb_puts(&b, listed(G, "%", first[which - letter], n[which - letter], ""));
        p++;
    }
    return b.at;
}

static void need_function(Gen *G, const TensorRow *r) {
    if (sm_get(&G->have, r->name)) return;
    sm_put(&G->have, r->name, (void *)(uintptr_t)r->name);
    int d = registers(r, TENSOR_C), a = registers(r, TENSOR_A), b = registers(r, TENSOR_B);
    const char *sum = ty_c(r->c), *kind = ty_is_float(r->c) ? "f" : "r";
    StrBuf *out = &G->helpers;
    sb_printf(out, "INLINE void %s(%s, %s, %s) {\n", r->name, listed(G, fmt(G, "%s &d", sum), 0, d, ""), listed(G, "u32 a", 0, a, ""), listed(G, "u32 b", 0, b, ""));
    sb_printf(out, "#ifdef __CUDA_ARCH__\n    asm volatile(\"%s\"\n                 : %s\n                 : %s, %s);\n", numbered(G, r),
              listed(G, fmt(G, "\"+%s\"(d", kind), 0, d, ")"), listed(G, "\"r\"(a", 0, a, ")"), listed(G, "\"r\"(b", 0, b, ")"));
    sb_printf(out, "#else\n    %s d[] = { %s };\n    const u32 a[] = { %s }, b[] = { %s };\n", sum, listed(G, "d", 0, d, ""), listed(G, "a", 0, a, ""),
              listed(G, "b", 0, b, ""));
    sb_printf(out, "    warp_mma(\"%s\", %d, %d, %d, d, a, b);\n", mlc_type_name(r->ab), r->m, r->n, r->k);
    for (int i = 0; i < d; i++) sb_printf(out, "    d%d = d[%d];\n", i, i);
    sb_puts(out, "#endif\n}\n");
}

/* ---- a use ---- */

/* Elements side by side in a register, the first one lowest. */
static const char *packed(Gen *G, Env *v, const TensorRow *r, const Node *const *e) {
    int n = per_register(r), bits = ty_bits(r->ab);
    const char *all = "";
    for (int i = 0; i < n; i++) {
        const char *one = value(G, v, e[i]), *type = ty_c(ty_int(false, bits));
        const char *at = i ? fmt(G, "(u32)(%s)(%s) << %d", type, one, bits * i) : fmt(G, "(u32)(%s)(%s)", type, one);
        all = i ? fmt(G, "%s | %s", all, at) : at;
    }
    return all;
}

void cuda_mma(Gen *G, const Stmt *s) {
    const TensorRow *r = s->u.mma.row;
    int n = tensor_elements(r, TENSOR_C);
    if (!G->cuda) BUG(G->arena->fault, "an instruction of a GPU in code of the CPU");
    need_function(G, r);
    open_brace(G, "%s", "");
    Env v;
    env_init(G, &v, NULL);
    const char *args = "";
    for (int i = 0; i < n; i++) {
        const Sym *d = s->u.mma.d[i];
        const char *name = fresh(G, fmt(G, "d%d", ++G->temps));
        line(G, "%s %s = %s;", ty_c(r->c), name, value(G, &v, s->u.mma.c[i]));
        bind(G, d, name);
        args = fmt(G, "%s%s%s", args, i ? ", " : "", name);
    }
    for (int o = 0; o < 2; o++) {
        const Node *const *e = o ? s->u.mma.b : s->u.mma.a;
        for (int i = 0; i < registers(r, (TensorOperand)o); i++) args = fmt(G, "%s, %s", args, packed(G, &v, r, e + i * per_register(r)));
    }
    line(G, "%s(%s);", r->name, args);
    stmt(G, s->u.mma.body);
    for (int i = 0; i < n; i++) unbind(G, s->u.mma.d[i]);
    close_brace(G);
}
