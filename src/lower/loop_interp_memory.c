/* loop_interp_memory.c - storage of the loop interpreter: bound buffers, allocations full of garbage,
 * and where in them a point lives. */
#include "loop_interp_run.h"

#include <string.h>

uint64_t run_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The range of offsets of a shape whose strides may be negative or leave gaps. */
static void set_range(Run *r, Memory *m, int rank) {
    int64_t last = 0;
    m->first = 0;
    bool empty = false;
    for (int d = 0; d < rank; d++) {
        int64_t span;
        empty |= m->extent[d] <= 0;
        CHECK(r->fault, empty || !__builtin_mul_overflow(m->extent[d] - 1, m->stride[d], &span));
        if (!empty && span < 0) m->first += span;
        if (!empty && span > 0) last += span;
    }
    m->count = empty ? 0 : last - m->first + 1;
}

/* ---- external buffers ---- */

int64_t run_stride(const Run *r, const struct mlc_buffer *b, int d) {
    return r->p->dense && d == 0 && b->dim[d].extent <= 1 ? 1 : b->dim[d].stride; /* one element: any will do */
}

static void bind_element(Run *r, Memory *m, int k) {
    const Storage *s = m->storage;
    const struct mlc_buffer *b = r->buffers[s->slot + k];
    CHECK(r->fault, b->rank == s->rank && b->type == s->type[k]);
    for (int d = 0; d < s->rank; d++) {
        int64_t stride = run_stride(r, b, d);
        CHECK(r->fault, k == 0 || (b->dim[d].min == m->min[d] && b->dim[d].extent == m->extent[d] &&
                                   stride == m->stride[d]));
        m->min[d] = b->dim[d].min;
        m->extent[d] = b->dim[d].extent;
        m->stride[d] = stride;
    }
    CHECK(r->fault, !r->p->dense || s->rank == 0 || m->stride[0] == 1);
    set_range(r, m, s->rank);
    m->data[k] = b->data;
    m->state[k] = ARENA_ARRAY(r->arena, uint8_t, m->count);
    bool kept = s->func->is_input || !s->func->def.n || s->func->def.at[0]->value[k]->op == OP_UNDEF;
    if (s->is_output && !kept) memset(m->state[k], GARBAGE, (size_t)m->count);
}

void run_bind(Run *r, Lane *l) {
    for (int i = 0; i < r->p->external.n; i++) {
        const Storage *s = r->p->external.at[i];
        Memory *m = ARENA_NEW(r->arena, Memory);
        m->storage = s;
        m->current = MLC_ON_HOST;
        for (int k = 0; k < s->n; k++) bind_element(r, m, k);
        l->memory[run_number(r, s->func)] = m;
        l->memory[run_number(r, s)] = m;
    }
}

/* Every point of an output's box must have been given a value that depends on no garbage. */
static void check_output(Run *r, const Memory *m, int k) {
    const Storage *s = m->storage;
    int64_t p[MAX_RANK] = { 0 };
    if (!m->count) return;
    for (;;) {
        int64_t at = 0;
        for (int d = 0; d < s->rank; d++) at += p[d] * m->stride[d];
        bool garbage = m->state[k][at - m->first] == GARBAGE;
        if (garbage) run_blame_stale(r);
        if (garbage)
            fault_raise(r->fault, ERR_LOOPS_GARBAGE, NULL, s->name, (long long)(s->rank ? p[0] + m->min[0] : 0),
                        (long long)(s->rank > 1 ? p[1] + m->min[1] : 0));
        int d = 0;
        while (d < s->rank && ++p[d] == m->extent[d]) p[d++] = 0;
        if (d == s->rank) return;
    }
}

void run_check_outputs(Run *r, const Lane *l) {
    for (int i = 0; i < r->p->external.n; i++) {
        const Storage *s = r->p->external.at[i];
        if (s->on_device) run_come_home(r, l->memory[run_number(r, s)]);
        for (int k = 0; s->is_output && k < s->n; k++) check_output(r, l->memory[run_number(r, s)], k);
    }
}

/* ---- allocations ---- */

void run_shape(Run *r, const Lane *l, Memory *m) {
    const Storage *s = m->storage;
    int64_t next = 1;
    for (int i = 0; i < s->rank; i++) {
        int d = s->order[i];
        m->min[d] = s->fold[d] > 0 ? 0 : run_index(r, l, s->min[d], "the least index of an allocation");
        m->extent[d] = s->fold[d] > 0 ? s->fold[d] : run_index(r, l, s->extent[d], "the extent of an allocation");
        if (m->extent[d] < 0) m->extent[d] = 0;
        if (r->p->flat && s->swizzle.ways && s->swizzle.of == d) m->extent[d] = st_align_up(m->extent[d], s->align[d]); /* chunks lie there, too */
        m->stride[d] = s->stride[d] ? run_index(r, l, s->stride[d], "a stride") : next;
        CHECK(r->fault, !__builtin_mul_overflow(st_align_up(m->extent[d], s->align[d]), next, &next));
    }
    set_range(r, m, s->rank);
}

static void account(Run *r, const Memory *m) {
    LoopStats *st = r->stats;
    int i = 0;
    while (i < st->alloc.n && st->alloc.at[i].storage != m->storage) i++;
    if (i == st->alloc.n) VEC_PUSH(r->arena, &st->alloc, ((LoopAlloc){ .storage = m->storage }));
    st->alloc.at[i].times++;
    if ((int64_t)m->bytes > st->alloc.at[i].peak) st->alloc.at[i].peak = (int64_t)m->bytes;
    st->live += (int64_t)m->bytes;
    if (st->live > st->peak) st->peak = st->live;
}

static bool is_folded(const Storage *s) {
    for (int d = 0; d < s->rank; d++)
        if (s->fold[d] > 0) return true;
    return false;
}

/* Room for the elements, their states, and for folded storage the point that each one holds. */
static void reserve(Run *r, Memory *m) {
    const Storage *s = m->storage;
    size_t n = (size_t)m->count, need = 0, points = is_folded(s) ? n * sizeof *m->point : 0;
    m->bytes = 0;
    for (int k = 0; k < s->n; k++) m->bytes += n * mlc_type_size(s->type[k]);
    need = points + m->bytes + n * (size_t)s->n;
    if (need > m->capacity || !m->owned) {
        m->owned = arena_alloc(r->arena, need + 1);
        m->capacity = need + 1;
    }
    m->point = points ? (void *)m->owned : NULL;
    char *at = m->owned + points;
    for (int k = 0; k < s->n; k++) {
        m->data[k] = at - m->first * (int64_t)mlc_type_size(s->type[k]);
        at += n * mlc_type_size(s->type[k]);
    }
    for (int k = 0; k < s->n; k++, at += n) m->state[k] = (uint8_t *)at;
}

static void fill_with_garbage(Run *r, Memory *m) {
    char *bytes = m->owned + (m->point ? (size_t)m->count * sizeof *m->point : 0);
    for (size_t i = 0; i < m->bytes; i += 8) {
        uint64_t noise = run_random(&r->seed);
        memcpy(bytes + i, &noise, m->bytes - i < 8 ? m->bytes - i : 8);
    }
    for (int k = 0; k < m->storage->n; k++) memset(m->state[k], GARBAGE, (size_t)m->count);
}

void run_reserve(Run *r, Memory *m) {
    reserve(r, m);
    fill_with_garbage(r, m);
}

Memory *run_allocate(Run *r, const Lane *l, const Storage *s) {
    Memory *m = pm_get(&r->pool, s);
    if (m) pm_put(&r->pool, s, m->next);
    else m = ARENA_NEW(r->arena, Memory);
    m->storage = s;
    run_shape(r, l, m);
    run_reserve(r, m);
    m->current = MLC_ON_HOST;
    m->device_taken = false;
    account(r, m);
    return m;
}

void run_release(Run *r, Memory *m) {
    r->stats->live -= (int64_t)m->bytes;
    m->next = pm_get(&r->pool, m->storage);
    pm_put(&r->pool, m->storage, m);
}

/* ---- places ---- */

static int64_t modulo(int64_t a, int64_t b) {
    return (a % b + b) % b;
}

bool run_inside(const Run *r, const Memory *m, int n, const int64_t *coord) {
    if (r->p->flat) return coord[0] >= m->first && coord[0] - m->first < m->count;
    for (int d = 0; d < n; d++) {
        int64_t fold = m->storage->fold[d], c = fold > 0 ? modulo(coord[d], fold) : coord[d];
        if (c < m->min[d] || c - m->min[d] >= m->extent[d]) return false;
    }
    return true;
}

int64_t run_offset(Run *r, const Memory *m, int n, const int64_t *coord) {
    const Storage *s = m->storage;
    if (r->p->flat) {
        CHECK(r->fault, n == 1);
        if (coord[0] < m->first || coord[0] - m->first >= m->count)
            fault_raise(r->fault, ERR_LOOPS_INDEX, NULL, s->name, (long long)coord[0], (long long)m->first,
                        (long long)(m->first + m->count - 1));
        return coord[0];
    }
    CHECK(r->fault, n == s->rank);
    int64_t at = 0;
    for (int d = 0; d < n; d++) {
        int64_t c = s->fold[d] > 0 ? modulo(coord[d], s->fold[d]) : coord[d];
        if (c < m->min[d] || c - m->min[d] >= m->extent[d])
            fault_raise(r->fault, ERR_LOOPS_BOUNDS, NULL, s->name, (long long)c, d, (long long)m->min[d],
                        (long long)(m->min[d] + m->extent[d] - 1));
        at += (c - m->min[d]) * m->stride[d];
    }
    return at;
}

void run_hold(const Memory *m, int64_t offset, const int64_t *coord) {
    if (m->point) memcpy(m->point[offset - m->first], coord, sizeof *coord * (size_t)m->storage->rank);
}

/* A circular buffer that is too small shows here: the element holds another point by now.  Where a tail computes
 * points that nobody asked for, that is as good as any garbage. */
bool run_holds(Run *r, const Memory *m, int64_t offset, const int64_t *coord) {
    const Storage *s = m->storage;
    if (!m->point || r->p->flat || m->state[0][offset - m->first] == GARBAGE) return true;
    const int64_t *held = m->point[offset - m->first];
    for (int d = 0; d < s->rank; d++) {
        if (held[d] == coord[d]) continue;
        if (!r->stale.storage) r->stale = (Stale){ s, d, coord[d], held[d] };
        return false;
    }
    return true;
}

void run_blame_stale(Run *r) {
    const Stale *w = &r->stale;
    if (!w->storage) return;
    fault_raise(r->fault, ERR_LOOPS_STALE, NULL, w->storage->name, (long long)w->wanted, w->d, (long long)w->storage->fold[w->d],
                (long long)w->held);
}
