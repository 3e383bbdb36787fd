/* entry.c - what a function made ahead of time asks of its arguments before it touches them.
 *
 * Lowering proves checks needless by the ranges of params and by sizes under which no index overflows.  The library
 * asks at each call that these hold; where it is not there, the function asks itself: of buffers that they are there,
 * aligned, and of a size that memory can have, of params that they are in range. */
#include "cg.h"

static const char buffers_fit[] =
    "/* 1 no memory, 2 a negative extent, 3 too large, 4 not aligned. */\n"
    "static int unfit(const struct %s_buffer *b, int rank, i64 size, i64 far) {\n"
    "    const i64 most = 1l << 60;\n"
    "    i64 reach = size, span, empty = 0;\n"
    "    if (!b) return 1;\n"
    "    for (int d = 0; d < rank; d++) {\n"
    "        const i64 min = b->dim[d].min, extent = b->dim[d].extent, stride = b->dim[d].stride;\n"
    "        if (extent < 0) return 2;\n"
    "        if (extent > far || min < -far || min > far) return 3;\n"
    "        if (__builtin_mul_overflow(stride, extent * size, &span) || span < -most || span > most) return 3;\n"
    "        reach += span < 0 ? -span : span;\n"
    "        if (reach > most) return 3;\n"
    "        empty |= !extent;\n"
    "    }\n"
    "    if (!b->data && !empty) return 1;\n"
    "    return (u64)b->data %% (u64)size ? 4 : 0;\n"
    "}\n\n";

static const char shapes_equal[] =
    "static int same_shape(const struct %s_buffer *a, const struct %s_buffer *b, int rank) {\n"
    "    for (int d = 0; d < rank; d++)\n"
    "        if (a->dim[d].min != b->dim[d].min || a->dim[d].extent != b->dim[d].extent ||\n"
    "            (a->dim[d].stride != b->dim[d].stride && a->dim[d].extent > 1)) return 0;\n"
    "    return 1;\n"
    "}\n\n";

void entry_helpers(Gen *G, StrBuf *out) {
    const char *name = G->o->symbol;
    bool tuples = false;
    for (int i = 0; i < G->p->external.n; i++) tuples |= G->p->external.at[i]->n > 1;
    sb_printf(out, buffers_fit, name);
    if (tuples) sb_printf(out, shapes_equal, name, name);
}

static void check_buffer(Gen *G, StrBuf *out, const Storage *s, int e) {
    static const ErrCode row[] = { ERR_CALL_NULL, ERR_CALL_EXTENT, ERR_CALL_SIZE, ERR_CALL_ALIGN };
    const char *name = element_name(G, s, e), *said = s->n > 1 ? fmt(G, "%s.%d", s->func->name, e) : s->func->name;
    int64_t far = (int64_t)1 << (G->p->index_bits < 56 ? G->p->index_bits : 56);
    sb_printf(out, "    switch (unfit(%s_buffer, %d, sizeof(%s), %lldl)) {\n", name, s->func->rank, ty_c(s->type[e]), (long long)far);
    for (int k = 0; k < 4; k++) sb_printf(out, "    case %d: return %d;\n", k + 1, add_check(G, row[k], said, "") + 1);
    sb_puts(out, "    }\n");
    if (!e) return;
    sb_printf(out, "    if (!same_shape(%s_buffer, %s_buffer, %d)) return %d;\n", element_name(G, s, 0), name, s->func->rank,
              add_check(G, ERR_CALL_TUPLE, said, "") + 1);
}

static const char *end_text(Gen *G, const Sym *s, double real, int64_t whole) {
    mlc_type t = ty_is_half(s->type) ? MLC_F32 : s->type;
    return constant_text(G, ty_is_float(t) ? ir_flt(G->ir, t, real) : ir_int(G->ir, t, whole)).s;
}

static void check_param(Gen *G, StrBuf *out, const Sym *s) {
    const char *name = name_of(G, s, s->name);
    long long far = 1ll << (G->p->index_bits < 56 ? G->p->index_bits : 56);
    if (s->type == MLC_INDEX)
        sb_printf(out, "    if (%s_param < -%lldl || %s_param > %lldl) return %d;\n", name, far, name, far,
                  add_check(G, ERR_PARAM_FAR, s->name, "#") + 1);
    if (!s->has_range) return;
    const char *sign = ty_is_float(s->type) && s->lo >= 0 ? fmt(G, " && !__builtin_signbit(%s_param)", name) : "";
    sb_printf(out, "    if (!(%s_param >= %s && %s_param <= %s%s)) return %d;\n", name, end_text(G, s, s->lo, s->ilo), name,
              end_text(G, s, s->hi, s->ihi), sign, add_check(G, ERR_PARAM_RANGE, s->name, "#") + 1);
}

void entry_checks(Gen *G, StrBuf *out) {
    for (int i = 0; i < G->p->external.n; i++)
        for (int e = 0; e < G->p->external.at[i]->n; e++) check_buffer(G, out, G->p->external.at[i], e);
    for (int i = 0; i < G->p->param.n; i++) check_param(G, out, G->p->param.at[i]);
}
