/* hooks.c - the Runtime that contexts and modules share, and the hooks that kernels see. */
#include "runtime/runtime.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

struct Runtime {
    mlc_allocator hook;
    mlc_log_fn log;
    void *log_user;
    Pool *pool;
    Heap *heap;
    _Atomic int refs;
};

Runtime *rt_new(const mlc_allocator *hook, mlc_log_fn log, void *log_user) {
    Runtime *rt = hook->resize(hook->user, NULL, sizeof *rt);
    if (!rt) return NULL;
    *rt = (Runtime){ .hook = *hook, .log = log, .log_user = log_user, .pool = pool_new(hook), .heap = heap_new(hook) };
    atomic_init(&rt->refs, 1);
    if (rt->pool && rt->heap) return rt;
    rt_unref(rt);
    return NULL;
}

Runtime *rt_ref(Runtime *rt) {
    atomic_fetch_add_explicit(&rt->refs, 1, memory_order_relaxed);
    return rt;
}

void rt_unref(void *p) {
    Runtime *rt = p;
    if (!rt || atomic_fetch_sub_explicit(&rt->refs, 1, memory_order_acq_rel) != 1) return;
    pool_free(rt->pool);
    heap_free(rt->heap);
    rt->hook.resize(rt->hook.user, rt, 0);
}

static int hook_par_for(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    HookUser *u = user;
    return pool_par_for(u->rt->pool, u->threads, body, closure, n);
}

static int hook_fork_join(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n) {
    return pool_fork_join(((HookUser *)user)->rt->pool, body, closure, n);
}

static void hook_wait(void *user, const int64_t *counter, int64_t least) {
    pool_wait(((HookUser *)user)->rt->pool, counter, least);
}

static void hook_wake(void *user, const int64_t *counter) {
    pool_wake(((HookUser *)user)->rt->pool, counter);
}

static void *hook_alloc(void *user, size_t bytes) {
    return heap_alloc(((HookUser *)user)->rt->heap, bytes);
}

static void hook_release(void *user, void *p) {
    heap_release(((HookUser *)user)->rt->heap, p);
}

/* Appends printf output, never past the line's end. */
static size_t append(char *line, size_t size, size_t at, int n) {
    (void)line;
    size_t end = at + (size_t)(n > 0 ? n : 0);
    return end < size ? end : size - 1;
}

static void hook_print(void *user, const char *label, int n, const mlc_type *type, const mlc_scalar *value) {
    Runtime *rt = ((HookUser *)user)->rt;
    char line[1024];
    size_t at = append(line, sizeof line, 0, snprintf(line, sizeof line, "%s", label ? label : ""));
    for (int i = 0; i < n; i++) {
        char *to = line + at;
        size_t room = sizeof line - at;
        const char *gap = at ? " " : "";
        int k;
        if (type[i] >= MLC_F16 && type[i] <= MLC_F64)
            k = snprintf(to, room, type[i] == MLC_F64 ? "%s%.17g" : "%s%.9g", gap, value[i].f);
        else if (type[i] == MLC_BOOL)
            k = snprintf(to, room, "%s%s", gap, value[i].i ? "true" : "false");
        else if (type[i] == MLC_U64)
            k = snprintf(to, room, "%s%" PRIu64, gap, (uint64_t)value[i].i);
        else
            k = snprintf(to, room, "%s%" PRId64, gap, value[i].i);
        at = append(line, sizeof line, at, k);
    }
    if (rt->log) rt->log(rt->log_user, line);
    else fprintf(stderr, "%s\n", line); /* one call, so that lines of several threads stay whole */
}

static int hook_memo_enter(void *user, const mlc_memo *memo, void **entry, void **data) {
    return memo_enter(((HookUser *)user)->memo, memo, entry, data);
}

static void hook_memo_keep(void *user, void *entry) {
    memo_keep(((HookUser *)user)->memo, entry);
}

static void hook_memo_leave(void *user, void *entry) {
    memo_leave(((HookUser *)user)->memo, entry);
}

Memo *rt_memo(Runtime *rt) {
    return memo_new(rt->heap);
}

void rt_hooks(mlc_hooks *hooks, HookUser *user) {
    *hooks = (mlc_hooks){ .user = user, .par_for = hook_par_for, .fork_join = hook_fork_join,
                          .wait = hook_wait, .wake = hook_wake, .alloc = hook_alloc, .release = hook_release,
                          .print = hook_print, .memo_enter = hook_memo_enter, .memo_keep = hook_memo_keep,
                          .memo_leave = hook_memo_leave };
}
