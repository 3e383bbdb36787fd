/* lock.c - locks that a child of fork can take.
 *
 * Of the threads of a process fork leaves only its caller: a lock that another one held stays locked in the child, and what
 * it guards may be half changed.  So a lock knows the process that it is of.  The first to come in a child makes it the
 * child's own, and hears whether somebody was inside; the others of the child wait until it is through. */
#include "runtime/runtime.h"

#include <unistd.h>

void lock_init(Lock *l) {
    pthread_mutex_init(&l->mutex, NULL);
    atomic_init(&l->pid, getpid());
}

/* Ends with the lock held. */
static bool adopt(Lock *l, pid_t self) {
    bool held = pthread_mutex_trylock(&l->mutex) != 0;
    if (held) {
        pthread_mutex_init(&l->mutex, NULL);
        pthread_mutex_lock(&l->mutex);
    }
    atomic_store(&l->pid, self);
    return held;
}

bool lock_take(Lock *l) {
    pid_t self = getpid(), pid;
    while ((pid = atomic_load(&l->pid)) != self) {
        if (pid && atomic_compare_exchange_strong(&l->pid, &pid, 0)) return adopt(l, self);
        rt_relax();
    }
    pthread_mutex_lock(&l->mutex);
    return false;
}

void lock_leave(Lock *l) {
    pthread_mutex_unlock(&l->mutex);
}

void lock_end(Lock *l) {
    pthread_mutex_destroy(&l->mutex);
}
