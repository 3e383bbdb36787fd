/* runtime.h - what a running kernel stands on: buffers, threads, memory, the floating-point mode.
 *
 * A Runtime is one pool of threads and one store of kept memory.  Contexts and modules share it by
 * counting: nothing here is global, and a module outlives the context that made it. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include "base/base.h"
#include <mlc/runtime.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* First member of whatever a buffer owns. */
typedef struct BufferOwner {
    void (*drop)(struct BufferOwner *owner);
    mlc_allocator heap; /* of the descriptor */
} BufferOwner;

typedef struct Runtime Runtime;
Runtime *rt_new(const mlc_allocator *hook, mlc_log_fn log, void *log_user); /* one reference; NULL: no memory */
Runtime *rt_ref(Runtime *rt);
void rt_unref(void *rt); /* the last one joins the threads and frees the memory */

/* Threads that a call may use when nothing else is said: MLC_NUM_THREADS, else the processors that this
 * process may run on. */
int rt_default_threads(void);

typedef struct Memo Memo;

/* What a module puts behind mlc_hooks.user. */
typedef struct {
    Runtime *rt;
    int threads; /* at most this many work on one of its loops */
    Memo *memo;  /* of this module alone */
    void *gpu;   /* what the hooks of a GPU need, which are not set here */
} HookUser;
void rt_hooks(mlc_hooks *hooks, HookUser *user);
Memo *rt_memo(Runtime *rt); /* a new cache in its memory; NULL: no memory */

/* ---- locks (lock.c) ---- */
typedef struct {
    pthread_mutex_t mutex;
    _Atomic pid_t pid; /* the process that it is of; 0 while a child makes it its own */
} Lock;
void lock_init(Lock *l);
/* True, once in a child of fork: it was held by a thread of the parent, and what it guards is in any state. */
bool lock_take(Lock *l);
void lock_leave(Lock *l);
void lock_end(Lock *l); /* nobody holds or waits for it */

/* ---- threads (pool.c) ---- */
typedef struct Pool Pool;
Pool *pool_new(const mlc_allocator *hook);
void pool_free(Pool *p);
int pool_par_for(Pool *p, int threads, int (*body)(void *closure, int64_t i), void *closure, int64_t n);

int pool_fork_join(Pool *p, int (*body)(void *closure, int64_t i), void *closure, int64_t n);
/* Within a fork_join of the pool. */
void pool_wait(Pool *p, const int64_t *counter, int64_t least);
void pool_wake(Pool *p, const int64_t *counter);
/* A thread without signals, which are the host's business; false: the system gives none. */
bool rt_thread(pthread_t *id, void *(*main)(void *arg), void *arg);
void rt_relax(void); /* inside a spin */

/* ---- branches that wait for each other, in one process (fork.c) ---- */
typedef struct Forks Forks;
Forks *forks_new(const mlc_allocator *hook);
/* `ours`: its threads are of this process, no child made by fork; they end. */
void forks_free(Forks *f, bool ours);
int forks_run(Forks *f, int (*body)(void *closure, int64_t i), void *closure, int64_t n); /* below 0: no threads */
void forks_wait(Forks *f, const int64_t *counter, int64_t least);
void forks_wake(Forks *f, const int64_t *counter);

/* ---- kept memory (heap.c) ---- */
typedef struct Heap Heap;
Heap *heap_new(const mlc_allocator *hook);
void heap_free(Heap *h);
void *heap_alloc(Heap *h, size_t bytes);
void heap_release(Heap *h, void *p);

/* ---- values kept from call to call (memo.c); the functions are those of mlc_hooks and mlc/run.h ---- */
Memo *memo_new(Heap *heap); /* NULL: no memory */
void memo_free(Memo *m); /* no call is running */
int memo_enter(Memo *m, const mlc_memo *k, void **entry, void **data);
void memo_keep(Memo *m, void *entry);
void memo_leave(Memo *m, void *entry);
void memo_limit(Memo *m, size_t bytes);
void memo_evict(Memo *m, const int64_t *key); /* NULL: all */
mlc_memo_stats memo_stats(Memo *m);
/* ---- what profiled and traced kernels report (watch.c) ---- */

/* A row of the table that such an object holds, SYMBOL_watch; the last one has no name. */
typedef struct {
    const char *name, *place, *again, *scalar;
    int64_t stack;
    unsigned char profiled, traced, vector, parallel, slides;
} WatchRow;

enum { WATCH_TICKS, WATCH_RUNS, WATCH_POINTS, WATCH_NEEDED, WATCH_TASKS, WATCH_COUNTERS };
enum { WATCH_VARIANTS = 2 }; /* of one program's code, each with a table of spans */
enum { WATCH_THREADS = 256 }; /* that are told apart; more count as the last one */

typedef struct {
    int64_t count[WATCH_COUNTERS];
    int threads; /* that spent time on it */
    int64_t allocations, bytes, peak; /* of its memory: how often, all together, most at one time */
} WatchSum;

typedef struct {
    int variant, kind, thread;
    int64_t begin, end, value;
} WatchSpan;

typedef struct Watch Watch;
/* Of n rows; keeps at most so many spans.  NULL: no memory. */
Watch *watch_new(const mlc_allocator *hook, int n, int64_t most_spans);
void watch_free(Watch *w);
const mlc_watch *watch_hooks(const Watch *w, int variant); /* NULL: nobody watches */
/* What was reported of row i until now; row n: of what is outside of all stages; its memory: that of all together. */
WatchSum watch_sum(const Watch *w, int i);
int64_t watch_spans(const Watch *w, int64_t *lost); /* how many are kept, and how many found no room */
bool watch_span(const Watch *w, int64_t i, WatchSpan *span); /* false: it is being written */
double watch_ticks_a_us(const Watch *w); /* measured since watch_new */
void watch_clear(Watch *w);              /* no call may be running */

/* ---- the floating-point mode: nearest, no flushing, exceptions masked ---- */
unsigned fp_enter(void);     /* sets it; returns what was there */
void fp_leave(unsigned old); /* puts it back */

#endif
