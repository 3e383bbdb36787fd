/* runtime.h - what a running kernel stands on: buffers, threads, memory, the floating-point mode.
 *
 * A Runtime is one pool of threads and one store of kept memory.  Contexts and modules share it by
 * counting: nothing here is global, and a module outlives the context that made it. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include "base/base.h"
#include <mlc/runtime.h>

#include <pthread.h>

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
} HookUser;
void rt_hooks(mlc_hooks *hooks, HookUser *user);
Memo *rt_memo(Runtime *rt); /* a new cache in its memory; NULL: no memory */

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

/* ---- the floating-point mode: nearest, no flushing, exceptions masked ---- */
unsigned fp_enter(void);     /* sets it; returns what was there */
void fp_leave(unsigned old); /* puts it back */

#endif
