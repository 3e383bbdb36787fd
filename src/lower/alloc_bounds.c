/* alloc_bounds.c - the memory of an internal Func: the union of its boxes over the loops between the place
 * where it is stored and the place where it is computed, folded where that may be (folding.c).
 *
 * A size that is a small constant (at least: bounded by one) goes to the stack, with that constant as
 * extents, so that strides are constants too; the plan may say another memory (store_in) and another extent
 * (bound_storage).  A note says for readers of the loops what was decided, and why. */
#include "lower/nest.h"

#include <string.h>

enum { SMALL_BYTES = 16 * 1024 };
static const int64_t MOST = (int64_t)1 << 40; /* larger numbers of elements are all the same */

/* The memory of one Func while its size is found. */
typedef struct {
    Build *b;
    FuncNest *fn;
    const StorageSched *plan;
    const Facts *facts;     /* at the store scope */
    Storage *t;
    int64_t most[MAX_RANK]; /* constants that bound the extents */
    int open;               /* a dimension that has none, or -1 */
    StrBuf note;
} Room;

static const char *identifier(Build *b, const char *name) {
    char *id = arena_str(b->arena, name);
    for (char *c = id; *c; c++)
        if (*c == '.' || *c == '$') *c = '_';
    const char *full = id;
    for (int i = 1; sm_get(&b->names, full); i++) full = arena_printf(b->arena, "%s_%d", id, i);
    sm_put(&b->names, full, (void *)(uintptr_t)1);
    return full;
}

/* ---- extents ---- */

/* The box at the store scope. */
static Interval lifetime(Build *b, const FuncNest *fn, int d) {
    Interval i = fn->computed[d];
    if (fn->sched->ring) return low_ring_box(b, fn, d);
    if (fn->store == fn->compute) return i;
    const Facts *f = low_facts(b, fn->store, fn->compute);
    if (fn->slid[d]) i.lo = fn->wide[d].lo; /* the first iteration starts there */
    Interval all = { sim_bounds(b->ir, f, i.lo, NULL).lo, sim_bounds(b->ir, f, i.hi, NULL).hi };
    if (!all.lo || !all.hi) {
        Place place = sch_place(b->arena, fn->sched->store.line);
        fault_raise(b->fault, ERR_STORE_UNBOUNDED, &place, fn->func->name, d);
    }
    return all;
}

/* Does dimension d differ between iterations of a loop outside of which it is stored?  Else nobody wonders why
 * it is not folded. */
static bool moves(const Room *r, int d) {
    const FuncNest *fn = r->fn;
    if (fn->sched->ring) return false;
    for (const Scope *s = fn->compute; s != fn->store; s = s->up)
        if (s->var && (ir_uses(r->b->arena, fn->full[d].lo, s->var) || ir_uses(r->b->arena, fn->full[d].hi, s->var))) return true;
    return false;
}

static void fold(Room *r, int d) {
    const char *why;
    r->t->fold[d] = low_fold(r->b, r->fn, d, &why);
    if (r->t->fold[d]) {
        r->t->min[d] = ir_idx(r->b->ir, 0);
        r->t->extent[d] = ir_idx(r->b->ir, r->t->fold[d]);
    } else if (why && moves(r, d)) {
        sb_printf(&r->note, ", %s not folded: %s", r->fn->func->arg[d]->name, why);
    }
}

/* bound_storage: the extent is what the plan says, and a check that it will do. */
static void cap(Room *r, int d) {
    Build *b = r->b;
    const Node *arg[2] = { r->t->extent[d], ir_idx(b->ir, r->plan->dim[d].most) };
    const Node *cond = sim_simplify(b->ir, r->facts, ir_make2(b->ir, OP_LE, arg[0], arg[1]));
    int64_t need;
    if (ir_is(cond, 0) && ir_is_int(arg[0], &need)) {
        Place place = sch_place(b->arena, r->plan->dim[d].most_line);
        fault_raise(b->fault, ERR_STORAGE_BOUND, &place, r->fn->func->name, low_number(b, d), (long long)need, (long long)r->plan->dim[d].most);
    }
    if (!r->t->fold[d]) r->t->extent[d] = arg[1];
    if (ir_is(cond, 1)) return;
    Stmt *check = low_check(b, cond, ERR_STORAGE_BOUND, r->fn->func->name, low_number(b, d), 2, arg);
    check->line = r->plan->dim[d].most_line;
    VEC_PUSH(b->arena, &r->fn->room, check);
}

static void find_extent(Room *r, int d) {
    Build *b = r->b;
    FuncNest *fn = r->fn;
    Interval i = lifetime(b, fn, d);
    int64_t lo;
    r->t->min[d] = sim_simplify(b->ir, r->facts, i.lo);
    r->t->extent[d] = low_length(b, r->facts, i);
    fold(r, d);
    if (r->plan->dim[d].most) cap(r, d);
    bool stays = fn->store == fn->compute || fn->sched->ring || (low_gpu_level(fn->store) && !moves(r, d));
    bool tile = stays && fn->most[d] > 0 && !low_is_padded(fn, d);
    if (tile && !r->plan->dim[d].most) r->most[d] = fn->most[d];
    else if (!sim_const_bounds(b->ir, r->facts, r->t->extent[d], &lo, &r->most[d])) r->open = d;
    if (r->most[d] < 1) r->most[d] = 1;
    if (fn->hoist == fn->store) return;
    if (r->open != d) r->t->extent[d] = ir_idx(b->ir, r->most[d]);
    low_hoist_extent(b, fn, r->t, d);
}

/* The parts of a ring buffer: one more dimension, outside of all others. */
static void add_parts(Room *r) {
    Storage *t = r->t;
    int d = t->rank++;
    t->order[d] = d;
    t->min[d] = ir_idx(r->b->ir, 0);
    t->extent[d] = ir_idx(r->b->ir, r->most[d] = r->fn->sched->ring);
}

/* The lanes of a hoisted memory: one more dimension, inside of all others. */
static void add_lanes(Room *r) {
    Storage *t = r->t;
    int d = t->rank++;
    memmove(t->order + 1, t->order, sizeof *t->order * (size_t)d);
    t->order[0] = d;
    t->min[d] = ir_idx(r->b->ir, 0);
    t->extent[d] = low_hoist_lanes(r->b, r->fn);
    if (!ir_is_int(t->extent[d], &r->most[d])) r->open = d;
}

/* ---- which memory ---- */

/* Elements with padding, saturated. */
static int64_t elements(const Room *r) {
    int64_t n = 1;
    for (int d = 0; d < r->t->rank; d++)
        if (__builtin_mul_overflow(n, st_align_up(r->most[d], r->t->align[d]), &n) || n > MOST) return MOST;

    return n;
}

/* All but the heap, where the plan asks for it or a kernel has nothing else. */
static void need_constant(const Room *r, int64_t bytes, MemoryKind memory) {
    bool gpu = low_gpu_level(r->fn->hoist) != GPU_OF_HOST;
    const char *what = memory == STORE_SHARED ? "a block" : memory == STORE_FRAGMENT ? "fragments" : memory == STORE_STACK ? gpu ? "a thread" : "the stack" : "a register";
    const PlanLine *line = r->plan->memory_line ? r->plan->memory_line : r->t->line;
    bool spread = memory == STORE_REGISTER && low_gpu_level(r->fn->hoist) == GPU_OF_BLOCK; /* over all threads of a block */
    long long most = memory == STORE_SHARED || memory == STORE_FRAGMENT ? MOST_SHARED_BYTES : MOST_STACK_BYTES * (spread ? 8 : 1);
    Place place = { .loc = r->fn->func->loc, .object = arena_printf(r->b->arena, "schedule %s", r->fn->func->name) };
    if (line) place = sch_place(r->b->arena, line);
    ErrCode open = gpu ? ERR_GPU_EXTENT : ERR_STACK_EXTENT, size = gpu ? ERR_GPU_SIZE : ERR_STACK_SIZE;
    if (r->open >= 0) fault_raise(r->b->fault, open, &place, r->fn->func->name, r->open, what);
    if (bytes > most) fault_raise(r->b->fault, size, &place, r->fn->func->name, (long long)bytes, what, most);
}

static void choose_memory(Room *r) {
    Storage *t = r->t;
    int64_t n = elements(r), widest = 1, all = 0;
    for (int i = 0; i < t->n; i++) {
        int64_t bytes = (int64_t)mlc_type_size(t->type[i]);
        widest = bytes > widest ? bytes : widest;
        all += bytes;
    }
    bool small = r->open < 0 && n * widest <= SMALL_BYTES;
    if (r->fn->sched->memo) {
        t->memo = low_new_memo(r->b, r->fn);
        sb_puts(&r->note, ", kept from call to call");
        return;
    }
    if (r->open < 0 && n < MOST) sb_printf(&r->note, ", %lld bytes", (long long)(n * all));
    if (r->plan->memory) {
        sb_puts(&r->note, ", by ");
        sch_print_directive(&r->note, &r->plan->memory_line->d);
    }
    MemoryKind memory = low_memory_kind(r->b, r->fn);
    bool must = memory != STORE_HEAP && (r->plan->memory || low_gpu_level(r->fn->hoist));
    if (must) need_constant(r, n * all, memory);
    else if (memory != STORE_HEAP && !small) sb_puts(&r->note, r->open < 0 ? ", too large for the stack" : ", of no constant size");
    if (!small && !must) return;
    for (int d = 0; d < t->rank; d++) t->extent[d] = ir_idx(r->b->ir, r->most[d]);
    t->const_elems = n;
    t->memory = memory;
    t->of_block = low_gpu_level(r->fn->hoist) == GPU_OF_BLOCK;
}

const char *low_place_name(Build *b, const Scope *s) {
    while (s->up && !s->dim) s = s->up;
    return s->dim ? arena_printf(b->arena, "%s.%s", sch_stage_name(b->arena, s->stage->fn->func, s->stage->index), s->dim->name) : "root";
}

void low_allocate(Build *b, FuncNest *fn) {
    Func *f = fn->func;
    Storage *t = ARENA_NEW(b->arena, Storage);
    *t = (Storage){ .func = f, .name = identifier(b, f->name), .rank = f->rank, .n = f->n };
    const PlanLine *why[] = { fn->sched->memo, fn->sched->hoist.line, fn->sched->store.line, fn->sched->compute.line };
    for (int i = 0; i < 4 && !t->line; i++) t->line = why[i];
    memcpy(t->type, f->type, sizeof t->type);
    Room r = { .b = b, .fn = fn, .plan = &fn->sched->storage, .facts = low_facts(b, NULL, fn->store), .t = t, .open = -1 };
    sb_init(&r.note, b->arena);
    sb_printf(&r.note, "at %s", low_place_name(b, fn->hoist));
    memcpy(t->order, r.plan->order, sizeof t->order);
    for (int d = 0; d < f->rank; d++) {
        t->align[d] = r.plan->dim[d].align;
        find_extent(&r, d);
    }
    if (fn->sched->ring) add_parts(&r);
    if (fn->hoist != fn->store) add_lanes(&r);
    choose_memory(&r);
    t->memory_line = r.plan->memory_line;
    t->note = r.note.at;
    low_swizzle(b, fn, t);
    fn->storage = t;
    if (fn->sched->async) low_async_ahead(b, fn);
}
