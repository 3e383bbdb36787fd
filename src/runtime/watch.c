/* watch.c - what calls of a profiled or traced module report, from any number of threads at once.
 *
 * Each thread has counters of its own, found by its identity in a table that only grows, so adding to them meets no
 * other thread.  They are atomic nevertheless: a profile may be read while calls run.  Spans go to one array whose
 * next free place is an atomic number; past its end they are only counted. */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { KINDS = 1 << 20 }; /* of spans, of one variant */

typedef _Atomic int64_t Number;

typedef struct {
    Number live, peak, bytes, times;
} Memory;

typedef struct {
    _Atomic int kind; /* 0: not written yet, else 1 more; last of all */
    int thread;
    int64_t begin, end, value;
} Span;

/* What one variant of a kernel reports to: its kinds of spans have numbers of their own. */
typedef struct {
    Watch *watch;
    int first_kind;
} Port;

struct Watch {
    mlc_allocator hook;
    mlc_watch hooks[WATCH_VARIANTS];
    Port port[WATCH_VARIANTS];
    int n; /* rows, and one for all the rest */
    _Atomic uintptr_t owner[WATCH_THREADS];
    Number *count;  /* WATCH_COUNTERS a row, n rows a thread */
    Memory *memory; /* n */
    Span *span;
    int64_t room;
    Number spans; /* reported; those past `room` are lost */
    int64_t first_tick, first_ns;
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The clock of generated code. */
static int64_t now_ticks(void) {
#ifdef __x86_64__
    return (int64_t)__builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* Threads come in an order that chance decides; the same thread always gets the same number. */
static int thread_number(Watch *w) {
    uintptr_t self = (uintptr_t)pthread_self();
    for (int i = 0; i < WATCH_THREADS - 1; i++) {
        uintptr_t owner = atomic_load_explicit(&w->owner[i], memory_order_relaxed);
        if (owner == self) return i;
        if (owner) continue;
        if (atomic_compare_exchange_strong_explicit(&w->owner[i], &owner, self, memory_order_relaxed, memory_order_relaxed)) return i;
        if (owner == self) return i;
    }
    return WATCH_THREADS - 1;
}

static Number *counters_of(const Watch *w, int thread) {
    return w->count + (size_t)thread * (size_t)w->n * WATCH_COUNTERS;
}

static void add(Number *to, int64_t n) {
    if (n) atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static void tally(void *user, int n, const int *counter, const int64_t *amount) {
    Watch *w = ((const Port *)user)->watch;
    Number *mine = counters_of(w, thread_number(w));
    for (int i = 0; i < n; i++) add(&mine[counter[i]], amount[i]);
}

static void take(Memory *m, int64_t bytes) {
    int64_t live = atomic_fetch_add_explicit(&m->live, bytes, memory_order_relaxed) + bytes;
    if (bytes < 0) return;
    add(&m->bytes, bytes);
    add(&m->times, 1);
    int64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak_explicit(&m->peak, &peak, live, memory_order_relaxed, memory_order_relaxed)) {}
}

/* The total grows first and shrinks last: whatever other threads do between, no row holds more than all rows. */
static void memory(void *user, int row, int64_t bytes) {
    Watch *w = ((const Port *)user)->watch;
    Memory *one = &w->memory[row], *all = &w->memory[w->n - 1];
    take(bytes < 0 ? one : all, bytes);
    take(bytes < 0 ? all : one, bytes);
}

static void span(void *user, int kind, int64_t begin, int64_t end, int64_t value) {
    const Port *port = user;
    Watch *w = port->watch;
    int64_t i = atomic_fetch_add_explicit(&w->spans, 1, memory_order_relaxed);
    if (i >= w->room) return;
    Span *s = &w->span[i];
    s->thread = thread_number(w);
    s->begin = begin;
    s->end = end;
    s->value = value;
    atomic_store_explicit(&s->kind, port->first_kind + kind + 1, memory_order_release);
}

/* ---- made and gone ---- */

static void *zeroed(const mlc_allocator *hook, size_t n, size_t size) {
    void *p = n ? hook->resize(hook->user, NULL, n * size) : NULL;
    return p ? memset(p, 0, n * size) : NULL;
}

Watch *watch_new(const mlc_allocator *hook, int n, int64_t most_spans) {
    Watch *w = zeroed(hook, 1, sizeof *w);
    if (!w) return NULL;
    w->hook = *hook;
    for (int i = 0; i < WATCH_VARIANTS; i++) {
        w->port[i] = (Port){ w, i * KINDS };
        w->hooks[i] = (mlc_watch){ .user = &w->port[i], .tally = tally, .memory = memory, .span = span };
    }
    w->n = n + 1;
    w->room = most_spans;
    w->count = zeroed(hook, (size_t)w->n * WATCH_THREADS * WATCH_COUNTERS, sizeof *w->count);
    w->memory = zeroed(hook, (size_t)w->n, sizeof *w->memory);
    w->span = zeroed(hook, (size_t)most_spans, sizeof *w->span);
    w->first_ns = now_ns();
    w->first_tick = now_ticks();
    if (w->count && w->memory && (w->span || !most_spans)) return w;
    watch_free(w);
    return NULL;
}

void watch_free(Watch *w) {
    if (!w) return;
    mlc_allocator hook = w->hook;
    void *all[] = { w->count, w->memory, w->span, w };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) hook.resize(hook.user, all[i], 0);
}

const mlc_watch *watch_hooks(const Watch *w, int variant) {
    return w ? &w->hooks[variant] : NULL;
}

void watch_clear(Watch *w) {
    int64_t kept = watch_spans(w, NULL);
    memset((void *)w->count, 0, (size_t)w->n * WATCH_THREADS * WATCH_COUNTERS * sizeof *w->count);
    memset((void *)w->memory, 0, (size_t)w->n * sizeof *w->memory);
    for (int64_t i = 0; i < kept; i++) atomic_store(&w->span[i].kind, 0);
    atomic_store(&w->spans, 0);
}

/* ---- reading ---- */

WatchSum watch_sum(const Watch *w, int i) {
    const Memory *m = &w->memory[i];
    WatchSum sum = { .allocations = m->times, .bytes = m->bytes, .peak = m->peak };
    for (int t = 0; t < WATCH_THREADS; t++) {
        const Number *c = counters_of(w, t) + (size_t)i * WATCH_COUNTERS;
        for (int k = 0; k < WATCH_COUNTERS; k++) sum.count[k] += atomic_load_explicit(&c[k], memory_order_relaxed);
        sum.threads += atomic_load_explicit(&c[WATCH_TICKS], memory_order_relaxed) > 0;
    }
    return sum;
}

int64_t watch_spans(const Watch *w, int64_t *lost) {
    int64_t all = atomic_load_explicit(&w->spans, memory_order_relaxed);
    if (lost) *lost = all > w->room ? all - w->room : 0;
    return all > w->room ? w->room : all;
}

bool watch_span(const Watch *w, int64_t i, WatchSpan *to) {
    const Span *s = &w->span[i];
    int kind = atomic_load_explicit(&s->kind, memory_order_acquire) - 1;
    if (kind < 0) return false;
    *to = (WatchSpan){ kind / KINDS, kind % KINDS, s->thread, s->begin, s->end, s->value };
    return true;
}

double watch_ticks_a_us(const Watch *w) {
    double us = (double)(now_ns() - w->first_ns) * 1e-3, ticks = (double)(now_ticks() - w->first_tick);
    return us > 0 && ticks > 0 ? ticks / us : 1;
}
