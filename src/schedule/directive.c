/* directive.c - directives as values: the table, the constructors behind the macros, the printer. */
#include "schedule/schedule.h"
#include "schedule/tensor.h"

#include <string.h>

const DirectiveInfo sch_directives[MLC_DIRECTIVE_COUNT] = {
#define DIRECTIVE(kind, name, shape, example, doc) [MLC_##kind] = { #name, shape, example, doc },
#include "directives.def"
};

const char *const sch_tails[MLC_TAIL_COUNT] = {
#define TAIL(kind, name, doc) [MLC_TAIL_##kind] = #name,
#include "directives.def"
};

const char *const sch_policies[MLC_PARTITION_COUNT] = {
#define POLICY(kind, name) [MLC_PARTITION_##kind] = #name,
#include "directives.def"
};

const char *const sch_memories[MLC_MEMORY_COUNT] = {
#define MEMORY(kind, name, doc) [MLC_MEMORY_##kind] = #name,
#include "directives.def"
};

const char *const sch_copies[MLC_COPY_COUNT] = {
#define COPY(kind, name, doc) [MLC_COPY_##kind] = #name,
#include "directives.def"
};

const char *const sch_ways[MLC_WAY_COUNT] = {
#define WAY(kind, name, doc) [MLC_WAY_##kind] = #name,
#include "directives.def"
};

const char *const sch_fetches[MLC_FETCH_COUNT] = {
#define FETCH(kind, name, doc) [MLC_FETCH_##kind] = #name,
#include "directives.def"
};

const char *const sch_line_ups[MLC_LOOP_ALIGN_COUNT] = {
#define LINE_UP(kind, name, doc) [MLC_LOOP_ALIGN_##kind] = #name,
#include "directives.def"
};

const char *const sch_kinds[] = { "serial", "parallel", "vector", "unrolled", "gpu_blocks", "gpu_threads", "tensorize" };

/* ---- constructors ---- */

mlc_directive mlc_split_of(struct mlc_split_args a) {
    return (mlc_directive){ .kind = MLC_SPLIT, .n = 3, .v = { a.v, a.outer, a.inner }, .k = { a.factor }, .tail = a.tail, .loc = a.loc };
}

mlc_directive mlc_tile_of(struct mlc_tile_args a) {
    return (mlc_directive){ .kind = MLC_TILE, .n = 6, .v = { a.x, a.y, a.xo, a.yo, a.xi, a.yi }, .k = { a.fx, a.fy },
                            .tail = a.tail, .loc = a.loc };
}

mlc_directive mlc_gpu_tile1_of(struct mlc_split_args a) {
    return (mlc_directive){ .kind = MLC_GPU_TILE, .n = 3, .v = { a.v, a.outer, a.inner }, .k = { a.factor }, .tail = a.tail, .loc = a.loc };
}

mlc_directive mlc_gpu_tile2_of(struct mlc_tile_args a) {
    mlc_directive d = mlc_tile_of(a);
    d.kind = MLC_GPU_TILE;
    return d;
}

mlc_directive mlc_gpu_tile3_of(struct mlc_tile3_args a) {
    return (mlc_directive){ .kind = MLC_GPU_TILE, .n = 9, .v = { a.x, a.y, a.z, a.xo, a.yo, a.zo, a.xi, a.yi, a.zi },
                            .k = { a.fx, a.fy, a.fz }, .tail = a.tail, .loc = a.loc };
}

mlc_directive mlc_loop_of(mlc_directive_kind kind, struct mlc_loop_args a) {
    return (mlc_directive){ .kind = kind, .n = 1, .v = { a.v }, .k = { a.factor }, .tail = a.tail, .loc = a.loc };
}

mlc_directive mlc_fuse_of(mlc_var inner, mlc_var outer, mlc_var fused, mlc_loc loc) {
    return (mlc_directive){ .kind = MLC_FUSE, .n = 3, .v = { inner, outer, fused }, .loc = loc };
}

mlc_directive mlc_rfactor_of(struct mlc_rfactor_args a) {
    mlc_directive d = { .kind = MLC_RFACTOR, .made = a.parts, .reassociate = a.reassociate, .loc = a.loc };
    const mlc_var v[8] = { a.loop0, a.var0, a.loop1, a.var1, a.loop2, a.var2, a.loop3, a.var3 };
    memcpy(d.v, v, sizeof v);
    for (int i = 0; i < 8; i++)
        if (i < 2 || v[i].sym) d.n = i / 2 * 2 + 2;
    return d;
}

mlc_directive mlc_rename_of(mlc_var old, mlc_var now, mlc_loc loc) {
    return (mlc_directive){ .kind = MLC_RENAME, .n = 2, .v = { old, now }, .loc = loc };
}

mlc_directive mlc_align_of(mlc_directive_kind kind, struct mlc_align_args a) {
    return (mlc_directive){ .kind = kind, .n = 1, .v = { a.v }, .k = { a.modulus, a.remainder }, .loc = a.loc };
}

mlc_directive mlc_order_of(mlc_directive_kind kind, int n, const mlc_var *v, mlc_loc loc) {
    mlc_directive d = { .kind = kind, .n = n, .loc = loc };
    for (int i = 0; i < n && i < (int)(sizeof d.v / sizeof *d.v); i++) d.v[i] = v[i];
    return d;
}

mlc_directive mlc_tensorize_of(mlc_tensor instruction, int n, const mlc_var *v, mlc_loc loc) {
    mlc_directive d = mlc_order_of(MLC_TENSORIZE, n, v, loc);
    d.tensor = instruction;
    return d;
}

mlc_directive mlc_place_of(mlc_directive_kind kind, mlc_loc loc) {
    return (mlc_directive){ .kind = kind, .loc = loc };
}

mlc_directive mlc_count_of(mlc_directive_kind kind, int64_t n, mlc_loc loc) {
    return (mlc_directive){ .kind = kind, .k = { n }, .loc = loc };
}

mlc_directive mlc_at_of(mlc_directive_kind kind, mlc_stage consumer, mlc_var v, mlc_loc loc) {
    return (mlc_directive){ .kind = kind, .n = 1, .v = { v }, .at = { consumer.f }, .at_stage = consumer.stage, .loc = loc };
}

mlc_directive mlc_at_level(mlc_directive_kind kind, mlc_var level, mlc_loc loc) {
    return (mlc_directive){ .kind = kind, .n = 1, .v = { level }, .at_stage = MLC_AT_LEVEL, .loc = loc };
}

mlc_directive mlc_level_of(struct mlc_level_args a) {
    return (mlc_directive){ .kind = MLC_LEVEL, .n = a.loop.sym ? 2 : 1, .v = { a.level, a.loop }, .loc = a.loc };
}

mlc_directive mlc_change_type_of(struct mlc_change_args a) {
    return (mlc_directive){ .kind = MLC_CHANGE_TYPE, .type = a.type, .lossy = a.lossy, .loc = a.loc };
}

mlc_directive mlc_box_of(mlc_directive_kind kind, mlc_var v, int64_t min, int64_t extent, mlc_loc loc) {
    return (mlc_directive){ .kind = kind, .n = 1, .v = { v }, .k = { min, extent }, .loc = loc };
}

mlc_directive mlc_size_of(mlc_directive_kind kind, mlc_var v, int64_t size, mlc_loc loc) {
    return (mlc_directive){ .kind = kind, .n = 1, .v = { v }, .k = { size }, .loc = loc };
}

mlc_directive mlc_funcs_of(mlc_directive_kind kind, int n, const mlc_func *f, mlc_loc loc) {
    mlc_directive d = { .kind = kind, .n_func = n, .loc = loc };
    for (int i = 0; i < n && i < (int)(sizeof d.func / sizeof *d.func); i++) d.func[i] = f[i];
    return d;
}

mlc_directive mlc_wrap_of(mlc_directive_kind kind, int n, const mlc_func *f, mlc_loc loc) {
    mlc_directive d = mlc_funcs_of(kind, n - 1, f, loc);
    if (n > 0) d.made = f[n - 1];
    return d;
}

mlc_directive mlc_fold_of(struct mlc_fold_args a) {
    return (mlc_directive){ .kind = MLC_FOLD_STORAGE, .n = 1, .v = { a.v }, .k = { a.size }, .way = a.way, .loc = a.loc };
}

mlc_directive mlc_memory_of(mlc_memory memory, mlc_loc loc) {
    return (mlc_directive){ .kind = MLC_STORE_IN, .memory = memory, .loc = loc };
}

mlc_directive mlc_copy_of(mlc_copy copy, mlc_loc loc) {
    return (mlc_directive){ .kind = MLC_COPY_BY, .copy = copy, .loc = loc };
}

mlc_directive mlc_specialize_of(mlc_expr cond, int n, const mlc_directive *body, mlc_loc loc) {
    return (mlc_directive){ .kind = MLC_SPECIALIZE, .cond = cond, .n_body = n, .body = body, .loc = loc };
}

mlc_directive mlc_specialize_fail_of(const char *message, mlc_loc loc) {
    return (mlc_directive){ .kind = MLC_SPECIALIZE_FAIL, .text = message, .loc = loc };
}

mlc_directive mlc_prefetch_of(struct mlc_prefetch_args a) {
    return (mlc_directive){ .kind = MLC_PREFETCH, .n = 2, .v = { a.at, a.from }, .k = { a.offset }, .bounds = a.bounds,
                            .at = a.f, .at_stage = -1, .loc = a.loc };
}

mlc_directive mlc_atomic_of(struct mlc_atomic_args a) {
    return (mlc_directive){ .kind = MLC_ATOMIC, .reassociate = a.reassociate, .loc = a.loc };
}

mlc_directive mlc_memoize_of(mlc_expr key, mlc_loc loc) {
    return (mlc_directive){ .kind = MLC_MEMOIZE, .cond = key, .loc = loc };
}

mlc_directive mlc_with_of(struct mlc_with_args a) {
    return (mlc_directive){ .kind = MLC_COMPUTE_WITH, .n = 1, .v = { a.v }, .at = { a.leader.f }, .at_stage = a.leader.stage,
                            .align = a.align, .loc = a.loc };
}

mlc_directive mlc_stream_loads_of(struct mlc_stream_args a) {
    const mlc_func f[8] = { a.f0, a.f1, a.f2, a.f3, a.f4, a.f5, a.f6, a.f7 };
    int n = 0;
    for (int i = 0; i < 8; i++)
        if (f[i].f) n = i + 1;
    return mlc_funcs_of(MLC_STREAM_LOADS, n, f, a.loc);
}

mlc_stage mlc_this_stage(mlc_stage s) {
    return s;
}

mlc_stage mlc_any_stage(mlc_func f) {
    return (mlc_stage){ f.f, -1 };
}

/* ---- printing ---- */

static void print_stage(StrBuf *out, const Func *f, int stage, bool pure) {
    sb_puts(out, f ? f->name : "?");
    if (stage > 0) sb_printf(out, ".u%d", stage - 1);
    else if (stage == 0 && pure) sb_puts(out, ".pure");
}

static void print_loop(StrBuf *out, mlc_var v) {
    sb_puts(out, v.sym ? v.sym->name : "?");
}

static const char *print_funcs(StrBuf *out, const mlc_directive *d) {
    for (int i = 0; i < d->n_func && i < (int)(sizeof d->func / sizeof *d->func); i++) {
        sb_puts(out, i ? ", " : "");
        print_stage(out, d->func[i].f, 0, false);
    }
    return d->n_func ? ", " : "";
}

/* Loops to tile, names for the outer and the inner ones, factors. */
static void print_tiled(StrBuf *out, const mlc_directive *d) {
    for (int i = 0; i < d->n && i < (int)(sizeof d->v / sizeof *d->v); i++) sb_puts(out, i ? ", " : ""), print_loop(out, d->v[i]);
    for (int i = 0; i < d->n / 3 && i < (int)(sizeof d->k / sizeof *d->k); i++) sb_printf(out, ", %lld", (long long)d->k[i]);
}

static const char *word(const char *const *words, int n, int i) {
    return i >= 0 && i < n ? words[i] : "?";
}

static void print_body(StrBuf *out, const mlc_directive *d) {
    sb_puts(out, " {");
    for (int i = 0; i < d->n_body; i++) {
        sb_puts(out, i ? ", " : " ");
        sch_print_directive(out, &d->body[i]);
    }
    sb_puts(out, " }");
}

/* What is not a loop, a Func or a number. */
static void print_other(StrBuf *out, const mlc_directive *d, char shape) {
    if (shape == 's') ir_print_string(out, d->text ? d->text : "");
    else if (d->cond.node) ir_print(out, d->cond.node);
    else sb_puts(out, d->cond.imm.i ? "true" : "false");
}

void sch_print_directive(StrBuf *out, const mlc_directive *d) {
    bool known = (unsigned)d->kind < MLC_DIRECTIVE_COUNT;
    const char *shape = known ? sch_directives[d->kind].shape : "", *comma = "";
    bool optional = false;
    int v = 0, k = 0;
    sb_printf(out, "%s(", known ? sch_directives[d->kind].name : "?");
    for (; *shape && !strchr(SHAPE_OPTIONS, *shape); shape++) {
        optional |= *shape == '?';
        bool given = *shape == 'e' ? d->cond.node != NULL : *shape == 'v' ? v < d->n : d->k[k] != 0;
        if (*shape == '?' || (optional && !given)) continue;
        if (*shape == '*') {
            for (; v < d->n && v < (int)(sizeof d->v / sizeof *d->v); v++) sb_puts(out, ", "), print_loop(out, d->v[v]);
            continue;
        }
        if (*shape == 'c' || *shape == 'g' || *shape == 'G') {
            comma = print_funcs(out, d);
            continue;
        }
        sb_puts(out, comma);
        comma = ", ";
        if (*shape == 'h') {
            print_tiled(out, d);
            continue;
        }
        bool level = *shape == 'L' || (*shape == 'a' && d->at_stage == MLC_AT_LEVEL);
        if (*shape == 'a' && !level) print_stage(out, d->at.f, d->at_stage, true), sb_puts(out, ", ");
        if (*shape == 'a' || level) print_loop(out, d->v[v++]);
        else if (*shape == 'f' || *shape == 'F') print_stage(out, d->at.f, d->at_stage, true);
        else if (*shape == 'w') print_stage(out, d->made.f, 0, false);
        else if (*shape == 'p') print_loop(out, d->v[v]), sb_puts(out, ", "), print_loop(out, d->v[v + 1]), v += 2;
        else if (*shape == 'v' || *shape == 'n') print_loop(out, d->v[v++]);
        else if (*shape == 'm') sb_puts(out, word(sch_memories, MLC_MEMORY_COUNT, (int)d->memory));
        else if (*shape == 'M') sb_puts(out, word(sch_copies, MLC_COPY_COUNT, (int)d->copy));
        else if (*shape == 'y') sb_puts(out, word(sch_policies, MLC_PARTITION_COUNT, (int)d->k[k++]));
        else if (*shape == 'T') sb_puts(out, mlc_type_name(d->type));
        else if (*shape == 'I') sb_puts(out, word(tensor_names, MLC_TENSOR_COUNT, (int)d->tensor));
        else if (*shape == 'e' || *shape == 's') print_other(out, d, *shape);
        else sb_printf(out, "%lld", (long long)d->k[k++]);
    }
    bool tail = *shape == 't' && d->tail > MLC_TAIL_AUTO && d->tail < MLC_TAIL_COUNT;
    if (tail) sb_printf(out, ", .tail = %s", sch_tails[d->tail]);
    if (*shape == 'd' && d->way) sb_printf(out, ", .way = %s", word(sch_ways, MLC_WAY_COUNT, (int)d->way));
    if (*shape == 'o' && d->bounds) sb_printf(out, ", .bounds = %s", word(sch_fetches, MLC_FETCH_COUNT, (int)d->bounds));
    if (*shape == 'l' && d->align) sb_printf(out, ", .align = %s", word(sch_line_ups, MLC_LOOP_ALIGN_COUNT, (int)d->align));
    if (d->reassociate) sb_printf(out, "%s.reassociate", comma);
    if (d->lossy) sb_puts(out, ", .lossy");
    sb_puts(out, ")");
    if (*shape == 'b') print_body(out, d);
}

void sch_print_lines(StrBuf *out, const struct mlc_plan *p, const char *indent) {
    for (int i = 0; i < p->line.n; i++) {
        const PlanLine *l = &p->line.at[i], *before = i ? l - 1 : NULL;
        bool same = before && before->func == l->func && before->stage == l->stage;
        if (same) {
            sb_puts(out, ", ");
        } else {
            sb_puts(out, before ? ";\n" : "");
            sb_puts(out, indent);
            print_stage(out, l->func, l->stage, false);
            sb_puts(out, ": ");
        }
        sch_print_directive(out, &l->d);
    }
    if (p->line.n) sb_puts(out, ";\n");
}

void sch_print_plan(StrBuf *out, const struct mlc_plan *p) {
    sch_print_lines(out, p, "");
}

Place sch_place(Arena *a, const PlanLine *l) {
    StrBuf object, directive;
    sb_init(&object, a);
    sb_puts(&object, "schedule ");
    print_stage(&object, l->func, l->stage, false);
    sb_init(&directive, a);
    sch_print_directive(&directive, &l->d);
    return (Place){ .loc = l->d.loc, .object = object.at, .directive = directive.at };
}
