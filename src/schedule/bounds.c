/* bounds.c - directives about the box of a Func: how much of a dimension is computed.
 *
 *     bound(x, 0, 32)        0 to 31, whatever is needed
 *     bound_extent(x, 32)    32 points from where it is needed
 *     align_bounds(x, 8, 3)  what is needed, widened to a min of 8 k + 3 and an extent of 8 n
 *     align_extent(x, 8)     what is needed, widened to an extent of 8 n
 *
 * One of the first two may meet one of the others: the alignment comes first, and what the bound then makes of the
 * box must still be aligned. */
#include "schedule/resolve.h"

static int64_t at_least_1(Resolve *r, const PlanLine *line, int64_t k) {
    Place place = sch_place(r->arena, line);
    if (k < 1) fault_raise(r->fault, ERR_BAD_FACTOR, &place, (long long)k);
    return k;
}

static void set_bound(Resolve *r, FuncSched *fs, int d, const PlanLine *line) {
    bool fixed = line->d.kind == MLC_BOUND;
    fs->bound[d].min = fixed ? ir_idx(r->ir, line->d.k[0]) : NULL;
    fs->bound[d].extent = ir_idx(r->ir, at_least_1(r, line, line->d.k[fixed]));
    fs->bound[d].line = line;
}

/* Do its updates store elsewhere than at their Vars?  Then a wider range of one dimension asks for more of another. */
static const char *scattering(Resolve *r, const Func *f) {
    for (int i = 1; i < f->def.n; i++)
        for (int d = 0; d < f->rank; d++) {
            const Node *c = f->def.at[i]->coord[d];
            if (c->op != OP_VAR || c->u.sym->kind != SYM_VAR) return sch_stage_name(r->arena, f, i);
        }
    return NULL;
}

static void set_align(Resolve *r, FuncSched *fs, int d, const PlanLine *line) {
    int64_t modulus = at_least_1(r, line, line->d.k[0]), remainder = line->d.k[1];
    Place place = sch_place(r->arena, line);
    const char *stage = scattering(r, fs->func);
    if (stage) fault_raise(r->fault, ERR_ALIGN_UPDATE, &place, stage);
    if (remainder < 0 || remainder >= modulus)
        fault_raise(r->fault, ERR_ALIGN_REMAINDER, &place, (long long)remainder, (long long)modulus - 1);
    fs->align[d].modulus = modulus;
    fs->align[d].remainder = remainder;
    fs->align[d].moves_min = line->d.kind == MLC_ALIGN_BOUNDS;
    fs->align[d].line = line;
}

void sch_bound_directive(Resolve *r, FuncSched *fs, const PlanLine *line) {
    bool aligns = line->d.kind == MLC_ALIGN_BOUNDS || line->d.kind == MLC_ALIGN_EXTENT;
    (aligns ? set_align : set_bound)(r, fs, sch_dimension(r, fs->func, line, 0), line);
}

void sch_check_bounds(Resolve *r, const FuncSched *fs) {
    for (int d = 0; d < fs->func->rank; d++) {
        int64_t modulus = fs->align[d].modulus, min = 0, extent;
        if (!modulus || !fs->bound[d].extent) continue;
        ir_is_int(fs->bound[d].extent, &extent);
        const char *wrong = NULL;
        if (extent % modulus) wrong = arena_printf(r->arena, "its extent is no multiple of %lld", (long long)modulus);
        bool fixed = fs->align[d].moves_min && fs->bound[d].min && ir_is_int(fs->bound[d].min, &min);
        if (fixed && (min % modulus + modulus) % modulus != fs->align[d].remainder)
            wrong = arena_printf(r->arena, "its min is not %lld more than a multiple of %lld", (long long)fs->align[d].remainder,
                                 (long long)modulus);
        Place place = sch_place(r->arena, fs->bound[d].line);
        if (wrong) fault_raise(r->fault, ERR_ALIGN_BOUND, &place, fs->func->name, fs->func->arg[d]->name, wrong);
    }
}
