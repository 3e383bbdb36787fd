/* pool.c - one small pool of threads, shared by all callers of a context's modules.
 *
 * A parallel loop is a Job on its caller's stack, linked into the pool while it runs.  The caller and
 * whichever threads are idle take chunks of it from an atomic counter; the caller leaves when the
 * counter is exhausted and no helper is inside.  A nested loop is simply another Job: its caller can
 * always finish it alone, so nothing can deadlock.
 *
 * Idle threads look for work for a few microseconds, then sleep on a condition variable: a longer spin
 * burns the slice that the partner needs on a busy machine.
 *
 * After fork only the calling thread exists, and the lock may have been held by one that does not.  The
 * child notices by its process id and goes on with a fresh crew. */
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 256, SPINS = 400, CHUNKS_A_THREAD = 8 };

typedef struct Job {
    struct Job *below;
    int (*body)(void *closure, int64_t i);
    void *closure;
    int64_t n, chunk;
    _Atomic int64_t next;
    _Atomic int result;
    int limit;   /* helpers that may still join; under the lock */
    _Atomic int inside; /* helpers at work; changes under the lock */
} Job;

/* The threads of one process. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* there is work, or quit */
    pthread_cond_t done; /* a helper left a job */
    Job *jobs;           /* newest first */
    _Atomic unsigned news; /* grows with each job: what idle threads watch while they spin */
    int started, asleep;
    bool quit;
    pid_t pid;
    Forks *forks;
    void *parent;        /* after fork: the crew of the parent process, whose memory is ours to free */
    pthread_t thread[MAX_THREADS];
} Crew;

struct Pool {
    mlc_allocator hook;
    _Atomic(Crew *) crew;
};

void rt_relax(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

static Crew *crew_new(const Pool *p) {
    Crew *c = p->hook.resize(p->hook.user, NULL, sizeof *c);
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    c->forks = forks_new(&p->hook);
    if (!c->forks) {
        p->hook.resize(p->hook.user, c, 0);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    pthread_cond_init(&c->done, NULL);
    c->pid = getpid();
    return c;
}

static void crew_free(const Pool *p, Crew *c) {
    if (!c) return;
    crew_free(p, c->parent);
    forks_free(c->forks, c->pid == getpid());
    if (c->pid == getpid()) { /* in a forked child the threads do not exist and the lock may be stuck */
        pthread_mutex_lock(&c->lock);
        c->quit = true;
        atomic_fetch_add_explicit(&c->news, 1, memory_order_release);
        pthread_cond_broadcast(&c->wake);
        pthread_mutex_unlock(&c->lock);
        for (int i = 0; i < c->started; i++) pthread_join(c->thread[i], NULL);
        pthread_mutex_destroy(&c->lock);
        pthread_cond_destroy(&c->wake);
        pthread_cond_destroy(&c->done);
    }
    p->hook.resize(p->hook.user, c, 0);
}

Pool *pool_new(const mlc_allocator *hook) {
    Pool *p = hook->resize(hook->user, NULL, sizeof *p);
    if (!p) return NULL;
    p->hook = *hook;
    atomic_init(&p->crew, NULL);
    return p;
}

void pool_free(Pool *p) {
    if (!p) return;
    crew_free(p, atomic_load(&p->crew));
    p->hook.resize(p->hook.user, p, 0);
}

/* The crew of this process; NULL when memory is out.  The crew of a parent is set aside:
 * nothing says in which state fork found it. */
static Crew *crew_of(Pool *p) {
    Crew *c = atomic_load_explicit(&p->crew, memory_order_acquire);
    if (c && c->pid == getpid()) return c;
    Crew *fresh = crew_new(p);
    if (!fresh) return NULL;
    fresh->parent = c;
    if (atomic_compare_exchange_strong(&p->crew, &c, fresh)) return fresh;
    fresh->parent = NULL;
    crew_free(p, fresh); /* another thread was first */
    return c;
}

/* Takes chunks until none is left or one failed. */
static void work_on(Job *j) {
    while (atomic_load_explicit(&j->result, memory_order_relaxed) == 0) {
        int64_t i = atomic_fetch_add_explicit(&j->next, j->chunk, memory_order_relaxed);
        if (i >= j->n) return;
        int64_t end = j->n - i < j->chunk ? j->n : i + j->chunk;
        for (; i < end; i++) {
            int r = j->body(j->closure, i);
            int none = 0;
            if (r) {
                atomic_compare_exchange_strong(&j->result, &none, r);
                return;
            }
        }
    }
}

/* A job with work left that takes another helper; under the lock. */
static Job *open_job(Crew *c) {
    for (Job *j = c->jobs; j; j = j->below)
        if (j->limit > 0 && atomic_load_explicit(&j->next, memory_order_relaxed) < j->n) return j;
    return NULL;
}

/* Helps wherever there is something to do; called and left with the lock held. */
static void help(Crew *c) {
    for (Job *j; (j = open_job(c));) {
        j->limit--;
        atomic_fetch_add_explicit(&j->inside, 1, memory_order_relaxed);
        pthread_mutex_unlock(&c->lock);
        work_on(j);
        pthread_mutex_lock(&c->lock);
        j->limit++;
        if (atomic_fetch_sub_explicit(&j->inside, 1, memory_order_release) == 1) pthread_cond_broadcast(&c->done);
    }
}

static void *thread_main(void *arg) {
    Crew *c = arg;
    fp_enter();
    pthread_mutex_lock(&c->lock);
    while (!c->quit) {
        help(c);
        unsigned seen = atomic_load_explicit(&c->news, memory_order_relaxed);
        if (c->quit) break;
        pthread_mutex_unlock(&c->lock);
        for (int i = 0; i < SPINS && atomic_load_explicit(&c->news, memory_order_acquire) == seen; i++) rt_relax();
        pthread_mutex_lock(&c->lock);
        c->asleep++;
        while (!c->quit && !open_job(c)) pthread_cond_wait(&c->wake, &c->lock);
        c->asleep--;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

bool rt_thread(pthread_t *id, void *(*main)(void *arg), void *arg) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool good = pthread_create(id, NULL, main, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return good;
}

/* Starts threads up to `want` helpers; under the lock.  Fewer than wanted is not an error: the caller works. */
static void start(Crew *c, int want) {
    while (c->started < want && c->started < MAX_THREADS && rt_thread(&c->thread[c->started], thread_main, c)) c->started++;
}

static int alone(int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int r = body(closure, i);
        if (r) return r;
    }
    return 0;
}

int pool_par_for(Pool *p, int threads, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    if (n <= 1 || threads <= 1) return alone(body, closure, n);
    Crew *c = crew_of(p);
    if (!c) return alone(body, closure, n);
    int helpers = n - 1 < threads - 1 ? (int)n - 1 : threads - 1;
    Job j = { .body = body, .closure = closure, .n = n, .limit = helpers };
    j.chunk = n / ((int64_t)threads * CHUNKS_A_THREAD);
    if (j.chunk < 1) j.chunk = 1;
    pthread_mutex_lock(&c->lock);
    start(c, helpers);
    j.below = c->jobs;
    c->jobs = &j;
    atomic_fetch_add_explicit(&c->news, 1, memory_order_release);
    if (c->asleep) {
        if (helpers == 1) pthread_cond_signal(&c->wake);
        else pthread_cond_broadcast(&c->wake);
    }
    pthread_mutex_unlock(&c->lock);
    work_on(&j);
    for (int i = 0; i < SPINS && atomic_load_explicit(&j.inside, memory_order_acquire); i++) rt_relax();
    pthread_mutex_lock(&c->lock);
    Job **at = &c->jobs;
    while (*at != &j) at = &(*at)->below;
    *at = j.below;
    while (atomic_load_explicit(&j.inside, memory_order_acquire)) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return atomic_load(&j.result);
}

int pool_fork_join(Pool *p, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    Crew *c = crew_of(p);
    return c ? forks_run(c->forks, body, closure, n) : -1;
}

static Forks *forks_of(Pool *p) {
    return atomic_load_explicit(&p->crew, memory_order_acquire)->forks;
}

void pool_wait(Pool *p, const int64_t *counter, int64_t least) {
    forks_wait(forks_of(p), counter, least);
}

void pool_wake(Pool *p, const int64_t *counter) {
    forks_wake(forks_of(p), counter);
}

int rt_default_threads(void) {
    const char *s = getenv("MLC_NUM_THREADS");
    long n = s ? strtol(s, NULL, 10) : 0;
    if (n <= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    }
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}
