/* fork.c - branches of a fork, which wait for each other, and the counters that they wait on.
 *
 * A waiting branch holds its thread, so every branch must have one, whatever number of threads loops may use:
 * there are always at least as many idle threads as branches that no thread has taken yet.  New ones are started
 * where these do not suffice and stay for later forks, so that their number is that of the most branches
 * that ever ran at once.
 *
 * Waiting is a short spin, then sleep at a spot that the counter's address chooses.  Whoever raises a counter
 * looks whether somebody sleeps there; both sides write first and look then, in one order that all threads see. */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 400, SPOTS = 16 };

/* A fork on its caller's stack. */
typedef struct Group {
    struct Group *below;
    int (*body)(void *closure, int64_t i);
    void *closure;
    int64_t n, next, left; /* branches; the next to take; not returned yet */
    int result;
} Group;

typedef struct Thread {
    struct Thread *next;
    pthread_t id;
} Thread;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t grown;
    int waiting; /* atomic */
} Spot;

struct Forks {
    mlc_allocator hook;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* there are branches to take, or quit */
    pthread_cond_t done; /* a group has returned */
    Group *groups;       /* with branches to take */
    int64_t idle, open;  /* threads without a branch, branches without a thread */
    Thread *threads;
    bool quit;
    Spot spot[SPOTS];
};

Forks *forks_new(const mlc_allocator *hook) {
    Forks *f = hook->resize(hook->user, NULL, sizeof *f);
    if (!f) return NULL;
    memset(f, 0, sizeof *f);
    f->hook = *hook;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->wake, NULL);
    pthread_cond_init(&f->done, NULL);
    for (int i = 0; i < SPOTS; i++) {
        pthread_mutex_init(&f->spot[i].lock, NULL);
        pthread_cond_init(&f->spot[i].grown, NULL);
    }
    return f;
}

static void end_threads(Forks *f) {
    pthread_mutex_lock(&f->lock);
    f->quit = true;
    pthread_cond_broadcast(&f->wake);
    pthread_mutex_unlock(&f->lock);
    for (Thread *t = f->threads; t; t = t->next) pthread_join(t->id, NULL);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->wake);
    pthread_cond_destroy(&f->done);
    for (int i = 0; i < SPOTS; i++) {
        pthread_mutex_destroy(&f->spot[i].lock);
        pthread_cond_destroy(&f->spot[i].grown);
    }
}

void forks_free(Forks *f, bool ours) {
    if (!f) return;
    if (ours) end_threads(f);
    for (Thread *t = f->threads, *next; t; t = next) {
        next = t->next;
        f->hook.resize(f->hook.user, t, 0);
    }
    f->hook.resize(f->hook.user, f, 0);
}

/* ---- branches ---- */

/* Takes the newest group's next branch and runs it; called and left with the lock held. */
static void take(Forks *f) {
    Group *g = f->groups;
    int64_t i = g->next++;
    if (g->next == g->n) f->groups = g->below;
    f->open--;
    f->idle--;
    pthread_mutex_unlock(&f->lock);
    int r = g->body(g->closure, i);
    pthread_mutex_lock(&f->lock);
    f->idle++;
    if (!g->result) g->result = r;
    if (--g->left == 0) pthread_cond_broadcast(&f->done);
}

static void *thread_main(void *arg) {
    Forks *f = arg;
    fp_enter();
    pthread_mutex_lock(&f->lock);
    while (!f->quit) {
        if (f->groups) take(f);
        else pthread_cond_wait(&f->wake, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* Idle threads for so many branches; under the lock.  False: the system gives no more. */
static bool have_threads(Forks *f, int64_t branches) {
    while (f->idle < branches) {
        Thread *t = f->hook.resize(f->hook.user, NULL, sizeof *t);
        if (!t) return false;
        if (!rt_thread(&t->id, thread_main, f)) {
            f->hook.resize(f->hook.user, t, 0);
            return false;
        }
        t->next = f->threads;
        f->threads = t;
        f->idle++;
    }
    return true;
}

int forks_run(Forks *f, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    Group g = { .body = body, .closure = closure, .n = n, .next = 1, .left = n - 1 };
    if (n < 1) return 0;
    if (n > 1) {
        pthread_mutex_lock(&f->lock);
        bool enough = have_threads(f, f->open + n - 1);
        if (enough) {
            g.below = f->groups;
            f->groups = &g;
            f->open += n - 1;
            if (n == 2) pthread_cond_signal(&f->wake);
            else pthread_cond_broadcast(&f->wake);
        }
        pthread_mutex_unlock(&f->lock);
        if (!enough) return -1;
    }
    int r = body(closure, 0);
    if (n == 1) return r;
    pthread_mutex_lock(&f->lock);
    while (g.left) pthread_cond_wait(&f->done, &f->lock);
    pthread_mutex_unlock(&f->lock);
    return r ? r : g.result;
}

/* ---- counters ---- */

static Spot *spot_of(Forks *f, const int64_t *counter) {
    uintptr_t line = (uintptr_t)counter / 64;
    return &f->spot[(line ^ line / SPOTS) % SPOTS];
}

void forks_wait(Forks *f, const int64_t *counter, int64_t least) {
    for (int i = 0; i < SPINS; i++) {
        if (__atomic_load_n(counter, __ATOMIC_ACQUIRE) >= least) return;
        rt_relax();
    }
    Spot *p = spot_of(f, counter);
    pthread_mutex_lock(&p->lock);
    __atomic_fetch_add(&p->waiting, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < least) pthread_cond_wait(&p->grown, &p->lock);
    __atomic_fetch_sub(&p->waiting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&p->lock);
}

void forks_wake(Forks *f, const int64_t *counter) {
    Spot *p = spot_of(f, counter);
    if (!__atomic_load_n(&p->waiting, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->grown);
    pthread_mutex_unlock(&p->lock);
}
