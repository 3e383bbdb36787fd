/* swizzle.c - rows in shared memory whose chunks change places, so that columns lie in different banks.
 *
 *     row 0   c0 c1 c2 c3 c4 c5 c6 c7        chunk c of row y is at the place of chunk c xor y: of 8 rows that hold
 *     row 1   c1 c0 c3 c2 c5 c4 c7 c6        128 bytes each, the chunks c lie at 8 places, which the 32 banks serve
 *     row 2   c2 c3 c0 c1 c6 c7 c4 c5        at once; one below the other they would wait for each other
 *
 * A chunk is 16 bytes, the widest access of a thread, so that those stay whole.  Shorter rows share a line of 128 bytes: those of a line
 * are permuted alike.  It is applied where coordinates become indices (flatten.c); nothing else knows of it. */
#include "lower/nest.h"

enum { CHUNK_BYTES = 16, LINE_BYTES = 128 };

void low_swizzle(Build *b, const FuncNest *fn, Storage *t) {
    const StorageSched *plan = &fn->sched->storage;
    int of = plan->swizzled, by = plan->swizzled_by;
    int64_t size = (int64_t)mlc_type_size(t->type[0]), extent, ways = 1;
    if (!plan->swizzle_line) return;
    Place place = sch_place(b->arena, plan->swizzle_line);
    const char *name = fn->func->name;
    if (t->memory != STORE_SHARED) fault_raise(b->fault, ERR_SWIZZLE_SHARED, &place, name, low_place_name(b, fn->hoist));
    if (t->order[0] != of || of == by) fault_raise(b->fault, ERR_SWIZZLE_DENSE, &place, name, t->order[0]);
    CHECK(b->fault, ir_is_int(t->extent[of], &extent)); /* as memory of a block has it */
    int64_t bytes = st_align_up(extent, t->align[of]) * size;
    bool alike = true;
    for (int i = 1; i < t->n; i++) alike &= (int64_t)mlc_type_size(t->type[i]) == size;
    while (alike && ways < LINE_BYTES / CHUNK_BYTES && bytes % (2 * ways * CHUNK_BYTES) == 0) ways *= 2;
    if (ways < 2) fault_raise(b->fault, ERR_SWIZZLE_ROWS, &place, name, (long long)bytes);
    t->swizzle.of = of;
    t->swizzle.by = by;
    t->swizzle.chunk = CHUNK_BYTES / size;
    t->swizzle.rows = LINE_BYTES / (ways * CHUNK_BYTES);
    t->swizzle.ways = ways;
    t->note = arena_printf(b->arena, "%s, %s of %s swizzled", t->note, low_number(b, (int)ways), fn->func->arg[of]->name);
}
