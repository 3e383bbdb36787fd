/* resolve_storage.c - what a plan says of a Func's memory: the order of its dimensions, their padding and
 * size, and where it lives.
 *
 * Memory belongs to the Func, not to a stage, so a line of any of its stages says it.  How large it must be is
 * known to lowering alone. */
#include "schedule/resolve.h"

enum { MOST_ELEMENTS = 1 << 20 };

void sch_first_storage(FuncSched *fs) {
    for (int d = 0; d < MAX_RANK; d++) {
        fs->storage.order[d] = d;
        fs->storage.dim[d].align = 1;
    }
}

bool sch_is_storage_directive(mlc_directive_kind kind) {
    switch (kind) {
    case MLC_REORDER_STORAGE: case MLC_ALIGN_STORAGE: case MLC_BOUND_STORAGE: case MLC_FOLD_STORAGE: case MLC_STORE_IN: case MLC_COPY_BY: case MLC_SWIZZLE: return true;
    default: return false;
    }
}

/* The named dimensions take the places that they held together. */
static void reorder(Resolve *r, FuncSched *fs, const PlanLine *line) {
    int rank = fs->func->rank, next = 0;
    bool moved[MAX_RANK] = { false };
    for (int i = 0; i < line->d.n; i++) {
        int d = sch_dimension(r, fs->func, line, i);
        if (moved[d]) {
            Place place = sch_place(r->arena, line);
            fault_raise(r->fault, ERR_DIMENSION_TWICE, &place, fs->func->arg[d]->name);
        }
        moved[d] = true;
    }
    for (int i = 0; i < rank; i++)
        if (moved[fs->storage.order[i]]) fs->storage.order[i] = sch_dimension(r, fs->func, line, next++);
}

static int64_t size_of(Resolve *r, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    if (line->d.k[0] < 1 || line->d.k[0] > MOST_ELEMENTS) fault_raise(r->fault, ERR_STORAGE_SIZE, &place, (long long)line->d.k[0]);
    return line->d.k[0];
}

void sch_storage_directive(Resolve *r, FuncSched *fs, const PlanLine *line) {
    if (sch_is_output(r->s, fs->func)) {
        Place place = sch_place(r->arena, line);
        fault_raise(r->fault, ERR_STORAGE_OUTPUT, &place, fs->func->name);
    }
    StorageSched *s = &fs->storage;
    s->line = line;
    if (line->d.kind == MLC_STORE_IN) {
        s->memory = line->d.memory;
        s->memory_line = line;
        return;
    }
    if (line->d.kind == MLC_COPY_BY) {
        s->copy = line->d.copy;
        s->copy_line = line;
        return;
    }
    if (line->d.kind == MLC_SWIZZLE) {
        s->swizzled = sch_dimension(r, fs->func, line, 0);
        s->swizzled_by = sch_dimension(r, fs->func, line, 1);
        s->swizzle_line = line;
        return;
    }
    if (line->d.kind == MLC_REORDER_STORAGE) {
        reorder(r, fs, line);
        return;
    }
    int d = sch_dimension(r, fs->func, line, 0);
    int64_t size = size_of(r, line);
    if (line->d.kind == MLC_ALIGN_STORAGE) {
        s->dim[d].align = size;
    } else if (line->d.kind == MLC_BOUND_STORAGE) {
        s->dim[d].most = size;
        s->dim[d].most_line = line;
    } else {
        s->dim[d].fold = size;
        s->dim[d].way = line->d.way;
        s->dim[d].fold_line = line;
    }
}
