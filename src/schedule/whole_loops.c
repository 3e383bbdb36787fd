/* whole_loops.c - loops around the calls of an extern stage.
 *
 *     e: parallel(_1)                                 a call for each row, on all threads
 *     e: split(_1, yo, yi, 16), parallel(yo)          one for each 16 rows
 *     e: tile(_0, _1, xo, yo, xi, yi, 64, 16), serial(xo), parallel(yo)
 *
 * The loops of an extern stage are its C function's.  Those that the plan marks serial or parallel run here; each of
 * their iterations calls the function for a slice of the box: whole where it is cut by no loop, else what is left
 * inside.  So an inner loop of a split may run here only where the outer one does. */
#include "schedule/resolve.h"

#include <string.h>

void sch_check_whole(Resolve *r, const StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    switch (line->d.kind) {
    case MLC_SPLIT: case MLC_TILE: case MLC_REORDER: case MLC_RENAME: case MLC_SERIAL: case MLC_PARALLEL: break;
    default: fault_raise(r->fault, ERR_STAGE_LOOPS, &place, st->func->name);
    }
    if (line->d.tail != MLC_TAIL_AUTO && line->d.tail != MLC_TAIL_GUARD) fault_raise(r->fault, ERR_STAGE_TAIL, &place, st->func->name);
}

/* Is any loop that `name` was made into, from that split on, the C function's (whole), or one that runs here? */
static bool has(const StageSched *st, int split, const char *name, bool whole) {
    for (int i = split; i < st->split.n; i++) {
        const Split *s = &st->split.at[i];
        if (strcmp(s->old, name)) continue;
        if (s->kind == SPLIT_SPLIT && has(st, i + 1, s->inner, whole)) return true;
        name = s->outer;
    }
    const Dim *d = sch_find_loop(st, name);
    return d && d->is_whole == whole;
}

void sch_whole_loops(Resolve *r, StageSched *st) {
    for (int i = 0; i < st->split.n; i++) {
        const Split *s = &st->split.at[i];
        if (s->kind != SPLIT_SPLIT || !has(st, i + 1, s->outer, true) || !has(st, i + 1, s->inner, false)) continue;
        Place place = sch_place(r->arena, s->line);
        fault_raise(r->fault, ERR_STAGE_SLICE, &place, s->inner, st->func->name, s->outer);
    }
    int n = 0;
    for (int i = 0; i < st->dim.n; i++)
        if (!st->dim.at[i].is_whole) st->dim.at[n++] = st->dim.at[i];
    st->dim.n = n;
}
