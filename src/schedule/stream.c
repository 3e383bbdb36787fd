/* stream.c - stream_stores, stream_loads: what a stage moves once and nobody needs soon goes around the caches. */
#include "schedule/resolve.h"

static void check_self(Resolve *r, const StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    for (int i = 0; i < line->d.n_func; i++)
        if (line->d.func[i].f == st->func) fault_raise(r->fault, ERR_STREAM_SELF, &place, st->func->name);
}

void sch_stream(Resolve *r, StageSched *st, const PlanLine *line) {
    Stream *s = &st->stream;
    if (line->d.kind == MLC_STREAM_STORES) {
        s->stores = line;
        return;
    }
    check_self(r, st, line);
    s->loads = line;
    s->n = line->d.n_func;
    for (int i = 0; i < s->n; i++) s->func[i] = line->d.func[i].f;
}

void sch_check_streams(Resolve *r, const StageSched *st) {
    const PlanLine *line = st->stream.stores ? st->stream.stores : st->stream.loads;
    for (int i = 0; i < st->special.n; i++) sch_check_streams(r, st->special.at[i].sched);
    if (!line || ir_is(st->when, 0)) return;
    const char *name = sch_stage_name(r->arena, st->func, st->index);
    bool vectors = false;
    for (int i = 0; i < st->dim.n; i++) {
        vectors |= st->dim.at[i].kind == LOOP_VECTOR;
        if (st->dim.at[i].is_pure || !st->stream.stores) continue;
        Place place = sch_place(r->arena, st->stream.stores);
        fault_raise(r->fault, ERR_STREAM_RVAR, &place, st->dim.at[i].name, name);
    }
    Place place = sch_place(r->arena, line);
    if (!vectors) fault_raise(r->fault, ERR_STREAM_SCALAR, &place, name);
}
