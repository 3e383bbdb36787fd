/* tensor.c - the directive tensorize, and the fragment maps of its instructions.
 *
 * What the plan alone shows is asked here: the loops, that those of m and n do not depend on each other, that the update is
 * a sum.  Lengths, conditions and accesses show when the loops stand (lower/tiles.c). */
#include "schedule/tensor.h"
#include "schedule/assoc.h"

#include <stdlib.h>
#include <string.h>

const TensorRow tensor_rows[MLC_TENSOR_COUNT] = {
#define TENSOR(kind, name, scope, m, n, k, ab, c, map_a, map_b, map_c, arch, code) \
    [MLC_##kind] = { #name, TENSOR_##scope, m, n, k, MLC_##ab, MLC_##c, { map_a, map_b, map_c }, arch, code },
#include <mlc/tensor.def>
};

const char *const tensor_names[MLC_TENSOR_COUNT] = {
#define TENSOR(kind, name, scope, m, n, k, ab, c, map_a, map_b, map_c, arch, code) [MLC_##kind] = #name,
#include <mlc/tensor.def>
};

/* ---- maps ---- */

int tensor_size(const TensorRow *r, char axis) {
    return axis == 'm' ? r->m : axis == 'n' ? r->n : r->k;
}

/* The next part of a map, "k2": which axis, and by how much; false at a bar or at the end. */
static bool next_bit(const char **at, char *axis, int *by) {
    while (**at == ' ') ++*at;
    if (!**at || **at == '|') return false;
    *axis = *(*at)++;
    *by = (int)strtol(*at, (char **)(uintptr_t)at, 10);
    return true;
}

static const char *element_bits(const TensorRow *r, TensorOperand operand) {
    return strchr(r->map[operand], '|') + 1;
}

int tensor_elements(const TensorRow *r, TensorOperand operand) {
    const char *at = element_bits(r, operand);
    char axis;
    int n = 1, by;
    while (next_bit(&at, &axis, &by)) n *= 2;
    return n;
}

/* Bits in a row whose weights double are one quotient: m1 m2 m4 of bits 2 to 4 is lane / 4 % 8. */
const Node *tensor_place(Interner *I, const TensorRow *r, TensorOperand operand, char axis, const Node *lane, int e) {
    const char *at = r->map[operand], *element = element_bits(r, operand);
    const Node *place = ir_idx(I, 0);
    int64_t bit = 1, fixed = 0;
    char on;
    int by;
    for (bool more = next_bit(&at, &on, &by); more; bit *= 2, more = next_bit(&at, &on, &by)) {
        if (on != axis) continue;
        int64_t first = bit, weight = by, n = 2;
        const char *ahead = at;
        while (next_bit(&ahead, &on, &by) && on == axis && by == weight * n) n *= 2, bit *= 2, at = ahead;
        const Node *part = ir_make2(I, OP_DIV, lane, ir_idx(I, first));
        if (first * n < (int64_t)r->scope) part = ir_make2(I, OP_MOD, part, ir_idx(I, n));
        place = ir_add(I, place, ir_mul(I, part, ir_idx(I, weight)));
    }
    for (int i = 0; next_bit(&element, &on, &by); i++)
        if (on == axis && e >> i & 1) fixed += by;
    return ir_add(I, place, ir_idx(I, fixed));
}

/* ---- the directive ---- */

static const char *stage_name(Resolve *r, const StageSched *st) {
    return sch_stage_name(r->arena, st->func, st->index);
}

_Noreturn static void no_loop(Resolve *r, const StageSched *st, const PlanLine *line, const char *name) {
    Place place = sch_place(r->arena, line);
    fault_raise(r->fault, ERR_NO_LOOP, &place, name, stage_name(r, st), sch_loop_names(r->arena, st));
}

void sch_tensorize(Resolve *r, StageSched *st, const PlanLine *line) {
    const TensorRow *row = &tensor_rows[line->d.tensor];
    Place place = sch_place(r->arena, line);
    int n = line->d.n;
    bool product = n == 3;
    if (n < 2 || n > 3 || (product && !st->index)) fault_raise(r->fault, ERR_TENSOR_LOOPS, &place, n, stage_name(r, st));
    for (int i = 0; i < n; i++) {
        const char *name = line->d.v[i].sym ? line->d.v[i].sym->name : "?";
        Dim *d = sch_find_loop(st, name);
        if (!d) no_loop(r, st, line, name);
        sch_need_serial(r, d, line);
        if (i < 2 && !d->is_pure) fault_raise(r->fault, ERR_TENSOR_PURE, &place, name, stage_name(r, st), i ? "n" : "m");
        d->kind = LOOP_TENSOR;
        d->axis = "mnk"[i];
        d->line = line;
    }
    if (!product) return;
    Fold fold = sch_fold(r->ir, st->func, st->index, st->def);
    if (fold.kind != FOLD_OP || fold.op != OP_ADD || st->func->n != 1 || st->func->type[0] != row->c)
        fault_raise(r->fault, ERR_TENSOR_SUM, &place, stage_name(r, st), row->name, mlc_type_name(row->c), mlc_type_name(row->ab), "");
    r->s->by_units |= !fold.exact;
}

/* Its loops are the innermost ones. */
void sch_check_tensor(Resolve *r, const StageSched *st) {
    const Dim *outside = NULL;
    for (int i = 0; i < st->dim.n; i++) {
        const Dim *d = &st->dim.at[i];
        if (d->kind != LOOP_TENSOR) outside = outside ? outside : d;
        else if (outside) {
            Place place = sch_place(r->arena, d->line);
            fault_raise(r->fault, ERR_TENSOR_INNER, &place, tensor_names[d->line->d.tensor], stage_name(r, st), outside->name, d->name);
        }
    }
    for (int i = 0; i < st->special.n; i++) sch_check_tensor(r, st->special.at[i].sched);
}
