/* loop_interp_kernel.c - kernels in the loop interpreter, and memory of which host and device have each a copy.
 *
 * Blocks run one after the other, in an order that the seed chooses.  So do the threads of a block between two
 * barriers: a barrier that is missing shows, as what a thread reads then has not been stored yet, or is stored over.
 * A kernel sees the copies on the device alone.  A copy that is not current is garbage, so a move that is missing
 * shows where the values reach an output. */
#include "loop_interp_run.h"

#include <string.h>

/* What a thread has asked for and not waited for yet. */
typedef struct {
    Memory *m;
    int64_t at, thread, group;
    Value value;
    State state;
} Asked;

/* The memory that the threads of a block share, and copies to it on their way. */
struct RunBlock {
    VEC(Memory *) shared;
    VEC(Asked) asked;
    int64_t *groups; /* that each thread has ended */
};

/* ---- races ---- */

enum { THREAD_BITS = 16, MANY_THREADS = (1 << THREAD_BITS) - 1 };

static void track(Run *r, Memory *m) {
    if ((size_t)m->count > m->marks || !m->writer) {
        m->marks = (size_t)m->count;
        m->writer = ARENA_ARRAY(r->arena, uint64_t, m->count + 1);
        m->reader = ARENA_ARRAY(r->arena, uint64_t, m->count + 1);
        m->joiner = ARENA_ARRAY(r->arena, uint64_t, m->count + 1);
    }
    memset(m->writer, 0, sizeof *m->writer * (size_t)m->count);
    memset(m->reader, 0, sizeof *m->reader * (size_t)m->count);
    memset(m->joiner, 0, sizeof *m->joiner * (size_t)m->count);
}

/* Another block may run at the same time; another thread of the block does until the next barrier. */
static bool meets(const Run *r, uint64_t mark) {
    int64_t phase = (int64_t)(mark >> THREAD_BITS), thread = (int64_t)(mark & MANY_THREADS);
    return phase >= r->kernel_phase && (phase < r->block_phase || (phase == r->phase && thread != r->thread));
}

static _Noreturn void raise_race(const Run *r, const Memory *m) {
    fault_raise(r->fault, ERR_LOOPS_RACE, NULL, m->storage->name);
}

/* Of those that may read, or join, at once: one thread, or many. */
static void note(const Run *r, uint64_t *mark) {
    uint64_t mine = (uint64_t)r->phase << THREAD_BITS | (uint64_t)r->thread;
    *mark = meets(r, *mark) ? mine | MANY_THREADS : mine;
}

void run_mark(Run *r, const Memory *m, int64_t at, bool store) {
    if (!m->writer || !r->block) return;
    uint64_t *writer = &m->writer[at - m->first], *reader = &m->reader[at - m->first];
    if (meets(r, *writer) || meets(r, m->joiner[at - m->first]) || (store && meets(r, *reader))) raise_race(r, m);
    if (store) *writer = (uint64_t)r->phase << THREAD_BITS | (uint64_t)r->thread;
    else note(r, reader);
}

/* Atomic stores meet one another, and nothing else. */
void run_mark_joined(Run *r, const Memory *m, int64_t at) {
    if (!m->writer || !r->block) return;
    if (meets(r, m->writer[at - m->first]) || meets(r, m->reader[at - m->first])) raise_race(r, m);
    note(r, &m->joiner[at - m->first]);
}

/* ---- copies on their way ---- */

/* A copy may land at once, or as late as the wait: so its place is garbage in between, for every thread. */
void run_ask(Run *r, Memory *m, int64_t at, Value v, State state) {
    struct RunBlock *b = r->block;
    CHECK(r->fault, m->storage->memory == STORE_SHARED);
    Asked a = { .at = at, .thread = r->thread, .group = b->groups[r->thread], .value = v, .state = state };
    for (int i = 0; i < b->shared.n; i++)
        if (b->shared.at[i]->storage == m->storage) a.m = b->shared.at[i];
    m->state[0][at - m->first] = GARBAGE;
    run_mark(r, m, at, true);
    VEC_PUSH(r->arena, &b->asked, a);
}

static void land(Run *r, const Asked *a) {
    Memory *m = a->m;
    mlc_type t = m->storage->type[0];
    val_store(t, m->data[0] + a->at * (int64_t)mlc_type_size(t), a->value);
    m->state[0][a->at - m->first] = (uint8_t)a->state;
    run_mark(r, m, a->at, true);
}

void run_copies(Run *r, int pending) {
    struct RunBlock *b = r->block;
    if (!b) return;
    int64_t ended = pending < 0 ? ++b->groups[r->thread] : b->groups[r->thread];
    int left = 0;
    for (int i = 0; pending >= 0 && i < b->asked.n; i++) {
        const Asked *a = &b->asked.at[i];
        bool lands = a->thread == r->thread && (a->group < ended - pending || !pending);
        if (lands) land(r, a);
        else b->asked.at[left++] = *a;
    }
    if (pending >= 0) b->asked.n = left;
}

/* ---- two copies ---- */

static Memory *device_of(Run *r, Memory *m) {
    if (m->device && m->device_taken) return m->device;
    Memory *d = m->device;
    if (!d) d = ARENA_NEW(r->arena, Memory);
    d->storage = m->storage;
    memcpy(d->min, m->min, sizeof d->min);
    memcpy(d->extent, m->extent, sizeof d->extent);
    memcpy(d->stride, m->stride, sizeof d->stride);
    d->first = m->first;
    d->count = m->count;
    run_reserve(r, d);
    track(r, d);
    m->device = d;
    m->device_taken = true;
    return d;
}

static void forget(Memory *m) {
    for (int k = 0; k < m->storage->n; k++) memset(m->state[k], GARBAGE, (size_t)m->count);
}

static void copy_element(const Memory *from, Memory *to, int64_t at) {
    for (int k = 0; k < from->storage->n; k++) {
        int64_t size = (int64_t)mlc_type_size(from->storage->type[k]);
        memcpy(to->data[k] + at * size, from->data[k] + at * size, (size_t)size);
        to->state[k][at - to->first] = from->state[k][at - from->first];
    }
    if (from->point) memcpy(to->point[at - to->first], from->point[at - from->first], sizeof *to->point);
}

/* What lies between the elements is not theirs. */
static void copy(const Memory *from, Memory *to) {
    int64_t p[MAX_RANK] = { 0 }, rank = from->storage->rank;
    for (int d = 0; from->count;) {
        int64_t at = 0;
        for (d = 0; d < rank; d++) at += p[d] * from->stride[d];
        copy_element(from, to, at);
        for (d = 0; d < rank && ++p[d] == from->extent[d]; d++) p[d] = 0;
        if (d == rank) return;
    }
}

static void make_current(Run *r, Memory *m, bool device) {
    Memory *d = device_of(r, m);
    unsigned bit = device ? MLC_ON_DEVICE : MLC_ON_HOST;
    if (m->current & bit) return;
    if (device) copy(m, d), r->stats->to_device++;
    else copy(d, m), r->stats->to_host++;
    m->current |= bit;
}

void run_move(Run *r, const Stmt *s, const Lane *l) {
    const Storage *t = s->u.move.storage;
    Memory *m = l->memory[run_number(r, r->p->flat ? (const void *)t : t->func)];
    CHECK(r->fault, m && !r->block && (r->p->flat ? t : m->storage)->on_device);
    Memory *d = device_of(r, m);
    if (s->u.move.all) forget(s->u.move.device ? d : m);
    else make_current(r, m, s->u.move.device);
    if (!s->u.move.writes) return;
    CHECK(r->fault, !t->is_input);
    m->current = s->u.move.device ? MLC_ON_DEVICE : MLC_ON_HOST;
    forget(s->u.move.device ? m : d);
}

void run_come_home(Run *r, Memory *m) {
    if (!(m->current & MLC_ON_HOST)) make_current(r, m, false);
}

/* ---- memory of a block ---- */

/* The bytes are the block's, whatever iteration of a loop around a thread is in; where they begin, and how long the
 * dimensions are, is the thread's. */
Memory *run_view_shared(Run *r, const Lane *l, const Storage *s) {
    struct RunBlock *b = r->block;
    CHECK(r->fault, b != NULL);
    int i = 0;
    while (i < b->shared.n && b->shared.at[i]->storage != s) i++;
    if (i == b->shared.n) {
        VEC_PUSH(r->arena, &b->shared, run_allocate(r, l, s));
        track(r, b->shared.at[i]);
    }
    Memory *view = r->free_views;
    if (view) r->free_views = view->next;
    else view = ARENA_NEW(r->arena, Memory);
    *view = *b->shared.at[i];
    run_shape(r, l, view);
    CHECK(r->fault, view->first == b->shared.at[i]->first && view->count <= b->shared.at[i]->count);
    return view;
}

void run_leave_shared(Run *r, Memory *view) {
    view->next = r->free_views;
    r->free_views = view;
}

/* ---- blocks and threads ---- */

static void set(Run *r, Lane *l, const Sym *var, int64_t value) {
    int n = run_number(r, var);
    l->var[n].i = value;
    l->state[n] = DEFINED;
}

/* A lane that sees the device alone. */
static Lane *on_device(Run *r, const Lane *l) {
    Lane *d = run_take_lane(r, l);
    for (int i = 0; i < r->n_memories; i++)
        if (d->memory[i]) d->memory[i] = d->memory[i]->storage->on_device ? device_of(r, d->memory[i]) : NULL;
    return d;
}

static void run_block(Run *r, const Stmt *s, const Lane *l, Lane **thread, int64_t n) {
    const Kernel *k = s->u.kernel.kernel;
    struct RunBlock block = { .shared = { 0 } };
    block.groups = ARENA_ARRAY(r->arena, int64_t, n);
    r->block = &block;
    for (int64_t i = 0; i < n; i++) {
        thread[i] = run_take_lane(r, l);
        set(r, thread[i], k->thread[0], i % k->threads[0]);
        set(r, thread[i], k->thread[1], i / k->threads[0] % k->threads[1]);
        set(r, thread[i], k->thread[2], i / k->threads[0] / k->threads[1]);
    }
    r->block_phase = r->phase + 1;
    run_threads(r, s->u.kernel.body, thread, n);
    for (int64_t i = 0; i < n; i++) run_give_lane(r, thread[i]);
    for (int i = 0; i < block.shared.n; i++) run_release(r, block.shared.at[i]);
    r->block = NULL;
}

void run_kernel(Run *r, const Stmt *s, const Lane *l) {
    const Kernel *k = s->u.kernel.kernel;
    int64_t grid[GPU_DIMS], blocks = 1, n = 1;
    for (int d = 0; d < GPU_DIMS; d++) {
        grid[d] = run_index(r, l, k->grid[d], "the blocks of a kernel");
        blocks *= grid[d] > 0 ? grid[d] : 0;
        n *= k->threads[d];
    }
    r->stats->kernels++;
    r->kernel_phase = r->phase + 1;
    Lane *device = on_device(r, l), **thread = ARENA_ARRAY(r->arena, Lane *, n);
    struct RunOrder o = run_order(r, blocks);
    for (int64_t i = 0; i < blocks; i++) {
        set(r, device, k->block[0], o.at % grid[0]);
        set(r, device, k->block[1], o.at / grid[0] % grid[1]);
        set(r, device, k->block[2], o.at / grid[0] / grid[1]);
        run_block(r, s, device, thread, n);
        run_next(&o);
    }
    run_give_lane(r, device);
}
