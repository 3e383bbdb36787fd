/* ctx.c - contexts: the owner of every language object, and the keeper of its first error. */
#include "algorithm.h"

#include <string.h>

mlc_ctx *mlc_ctx_new_with(const mlc_allocator *allocator) {
    mlc_allocator hook = allocator ? *allocator : mlc_allocator_libc;
    mlc_ctx *ctx = hook.resize(hook.user, NULL, sizeof *ctx);
    if (!ctx) return NULL;
    memset(ctx, 0, sizeof *ctx);
    ctx->hook = hook;
    arena_init(&ctx->arena, &hook, &ctx->fault);
    Barrier b;
    if (!FAULT_TRY(&ctx->fault, b)) {
        mlc_ctx_free(ctx);
        return NULL;
    }
    ir_interner_init(&ctx->ir, &ctx->arena, NULL);
    sm_init(&ctx->vars, &ctx->arena);
    sm_init(&ctx->names, &ctx->arena);
    pm_init(&ctx->param_value, &ctx->arena);
    FAULT_END(&ctx->fault, b);
    return ctx;
}

mlc_ctx *mlc_ctx_new(void) {
    return mlc_ctx_new_with(NULL);
}

void mlc_ctx_free(mlc_ctx *ctx) {
    if (!ctx) return;
    if (ctx->runtime.drop) ctx->runtime.drop(ctx->runtime.state);
    mlc_allocator hook = ctx->hook;
    arena_free(&ctx->arena);
    hook.resize(hook.user, ctx, 0);
}

void mlc_ctx_log(mlc_ctx *ctx, mlc_log_fn fn, void *user) {
    if (!ctx) return;
    ctx->log = fn;
    ctx->log_user = user;
}

const char *mlc_error(const mlc_ctx *ctx) {
    return ctx ? ctx->fault.info.message : "";
}

int mlc_error_code(const mlc_ctx *ctx) {
    return ctx ? ctx->fault.info.code : 0;
}

void mlc_error_clear(mlc_ctx *ctx) {
    if (!ctx) return;
    ctx->fault.info.code = ERR_NONE;
    ctx->fault.info.message[0] = 0;
}
