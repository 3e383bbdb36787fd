/* state.c - what stands behind a context at run time: the Runtime and the GPU that its modules share, and
 * the modules that realize made lately. */
#include "pipeline/pipeline.h"

#include <string.h>

enum { KEPT = 32 };

typedef struct {
    mlc_allocator hook;
    Runtime *rt;
    Gpu *gpu;
    Lock lock;
    mlc_module *module[KEPT]; /* most recent first */
    int n;
} State;

static void state_drop(void *p) {
    State *s = p;
    if (!s) return;
    for (int i = 0; i < s->n; i++) module_unref(s->module[i]);
    rt_unref(s->rt);
    gpu_unref(s->gpu);
    lock_end(&s->lock);
    s->hook.resize(s->hook.user, s, 0);
}

/* Two threads may compile one context for the first time at once: one of their states wins. */
static State *state_of(mlc_ctx *ctx) {
    State *s = __atomic_load_n((State **)&ctx->runtime.state, __ATOMIC_ACQUIRE);
    if (s) return s;
    State *fresh = ctx->hook.resize(ctx->hook.user, NULL, sizeof *fresh);
    if (!fresh) return NULL;
    memset(fresh, 0, sizeof *fresh);
    fresh->hook = ctx->hook;
    lock_init(&fresh->lock);
    fresh->rt = rt_new(&ctx->hook, ctx->log, ctx->log_user);
    fresh->gpu = gpu_new(&ctx->hook);
    void *none = NULL;
    bool mine = fresh->rt && fresh->gpu && __atomic_compare_exchange_n(&ctx->runtime.state, &none, fresh, false, __ATOMIC_ACQ_REL,
                                                         __ATOMIC_ACQUIRE);
    if (!mine) {
        state_drop(fresh);
        return none;
    }
    __atomic_store_n(&ctx->runtime.drop, state_drop, __ATOMIC_RELEASE);
    return fresh;
}

Runtime *state_runtime(mlc_ctx *ctx, Fault *f) {
    State *s = state_of(ctx);
    if (!s) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, sizeof(State));
    return rt_ref(s->rt);
}

Gpu *state_gpu(mlc_ctx *ctx, Fault *f) {
    State *s = state_of(ctx);
    if (!s) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, sizeof(State));
    return gpu_ref(s->gpu);
}

/* What another thread of the parent was changing at a fork is lost to the child. */
static void state_lock(State *s) {
    if (lock_take(&s->lock)) s->n = 0;
}

mlc_module *state_find(mlc_ctx *ctx, const char *key, int threads) {
    State *s = state_of(ctx);
    mlc_module *found = NULL;
    if (!s) return NULL;
    state_lock(s);
    for (int i = 0; i < s->n && !found; i++) {
        if (strcmp(s->module[i]->key, key) || s->module[i]->hook_user.threads != threads) continue;
        found = s->module[i];
        memmove(s->module + 1, s->module, sizeof *s->module * (size_t)i);
        s->module[0] = found;
        atomic_fetch_add(&found->refs, 1);
    }
    lock_leave(&s->lock);
    return found;
}

void state_keep(mlc_ctx *ctx, mlc_module *m) {
    State *s = state_of(ctx);
    if (!s) return;
    atomic_fetch_add(&m->refs, 1);
    state_lock(s);
    mlc_module *last = s->n == KEPT ? s->module[--s->n] : NULL;
    memmove(s->module + 1, s->module, sizeof *s->module * (size_t)s->n++);
    s->module[0] = m;
    lock_leave(&s->lock);
    module_unref(last);
}
