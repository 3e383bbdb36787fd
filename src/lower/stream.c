/* stream.c - what a stage streams is read from memory. */
#include "lower/nest.h"

static bool reads_memory(Build *b, const StageNest *st, const Func *f) {
    bool reads = false;
    for (int i = 0; i < st->read.n; i++) reads |= st->read.at[i].func == f;
    return reads && (pm_has(&b->external, f) || low_nest_read(b, st, f));
}

void low_check_stream(Build *b, const StageNest *st) {
    const Stream *s = &st->sched->stream;
    for (int i = 0; s->loads && i < s->n; i++) {
        if (reads_memory(b, st, s->func[i])) continue;
        Place place = sch_place(b->arena, s->loads);
        fault_raise(b->fault, ERR_STREAM_READ, &place, sch_stage_name(b->arena, st->fn->func, st->index), s->func[i]->name);
    }
}
