/* case_compile.c - a case as code: many in one file by a compiler, kernels as C++ beside them, or by the public road. */
#include "case.h"

#include "cpu_gpu.h"
#include "pipeline/gpu_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_SOURCE = 32 << 10, LARGE_ONE_IN = 10, HUGE_SOURCE = 96 << 10 };

void case_print(Case *c, const char *symbol) {
    Barrier barrier;
    if (c->state != CASE_GOOD) return;
    if (FAULT_TRY(&c->fault, barrier)) {
        StrBuf b;
        sb_init(&b, &c->arena);
        cg_cpu(&b, c->program, &(CgOptions){ .isa = c->isa, .is_gcc = !strcmp(c->cc, "gcc"), .symbol = arena_str(&c->arena, symbol) });
        /* compilers take as long for the largest tenth as for all others: few of these are compiled, and none of
         * those that take a compiler half a minute */
        bool skip = c->bulk && b.n > LARGE_SOURCE && (c->data % LARGE_ONE_IN || b.n > HUGE_SOURCE);
        c->source = skip ? NULL : b.at;
        FAULT_END(&c->fault, barrier);
    } else {
        case_stop(c, "code generator", &c->fault.info);
    }
}

static const char *configuration(const Case *c, char *s, size_t n) {
    snprintf(s, n, "%s %s -O%d", c->cc, c->isa_name, c->opt);
    return s;
}

static void no_print(void *user, const char *label, int n, const mlc_type *type, const mlc_scalar *value) {
    (void)user, (void)label, (void)n, (void)type, (void)value;
}

/* The code counts what the loop interpreter did; what depends on garbage past the end is anyone's. */
static void check_watch(Case *c, const Watch *w, const char *what) {
    bool garbage = strstr(c->text, ".tail = round") || strstr(c->text, ".tail = predicate");
    for (int i = 0; w && !garbage && i < c->program->watched.n && i < CASE_SLOTS; i++) {
        int64_t got = watch_sum(w, i).count[WATCH_POINTS];
        if (got != c->points[i])
            case_fail(c, what, arena_printf(&c->arena, "points of %s: %lld, not %lld", c->program->watched.at[i].name, (long long)got, (long long)c->points[i]));
    }
}

/* ---- kernels, on this processor ---- */

/* From the first byte of its elements to the last one. */
static mlc_gpu_memory span_of(const mlc_buffer *b) {
    int64_t low;
    mlc_gpu_memory m = { .bytes = gpu_span(b, &low), .current = MLC_ON_HOST };
    m.host = m.bytes ? (char *)b->data + low : b->data;
    return m;
}

/* Their CUDA C++ as C++, loaded; NVRTC compiles it too, where there is one. */
static bool load_kernels(Case *c, CpuGpu *g) {
    Barrier barrier;
    StrBuf b;
    bool found;
    if (!FAULT_TRY(&c->fault, barrier)) {
        case_stop(c, "code generator of kernels", &c->fault.info);
        return false;
    }
    sb_init(&b, &c->arena);
    cg_cuda(&b, c->program, &(CgOptions){ .isa = c->isa, .symbol = "host" });
    FAULT_END(&c->fault, barrier);
    const char *why = cuda_compiles(&c->arena, b.at, false, NULL, &found);
    if (!why) why = cuda_load(&c->arena, c->program, b.at, g);
    for (int i = 0; i < c->n_slots; i++) g->sparse |= (size_t)mlc_buffer_count(&c->slot[i].b) * mlc_type_size(c->slot[i].b.type) < span_of(&c->slot[i].b).bytes;
    if (why) case_fail(c, "kernels", why);
    return !why;
}

static int run_on_both(Case *c, int (*fn)(mlc_call *call), mlc_call *call, CpuGpu *g) {
    mlc_gpu_memory memory[CASE_SLOTS];
    for (int i = 0; i < c->n_slots; i++) memory[i] = span_of(&c->slot[i].b);
    call->memory = memory;
    int r = fn(call);
    for (int i = 0; i < c->n_slots; i++) {
        if (!r && c->slot[i].output) cuda_move(g, call, &memory[i], 0, 0);
        cuda_close(g, call, &memory[i]);
    }
    if (g->diverged) case_fail(c, "kernels", "threads wait at a barrier that others never reach");
    return r;
}

/* The hooks get what all hooks of a call do. */
static int hook_move(void *user, void *call, mlc_gpu_memory *m, int to_device, int what) {
    return cuda_move(((HookUser *)user)->gpu, call, m, to_device, what);
}

static void hook_close(void *user, void *call, mlc_gpu_memory *m) {
    cuda_close(((HookUser *)user)->gpu, call, m);
}

static int hook_launch(void *user, void *call, int kernel, const int64_t *grid, const int64_t *threads, int64_t size, void **args) {
    return cuda_launch(((HookUser *)user)->gpu, call, kernel, grid, threads, size, args);
}

static void run_kernel(Case *c, void *handle, const char *symbol, Runtime *rt) {
    char name[128], what[64];
    int (*fn)(mlc_call *);
    void *found = jit_symbol(handle, symbol), *data[CASE_SLOTS];
    static int64_t shape[CASE_SLOTS * MLC_MAX_RANK * 3];
    HookUser user = { .rt = rt, .threads = 3 };
    mlc_hooks hooks;
    if (!found) {
        case_fail(c, "the object lacks its kernel", symbol);
        return;
    }
    memcpy(&fn, &found, sizeof fn);
    for (int i = 0; i < CASE_EXTERNS; i++) {
        snprintf(name, sizeof name, "%s_extern_%s", symbol, case_externs[i].name);
        void *slot = jit_symbol(handle, name);
        if (slot) memcpy(slot, &case_externs[i].fn, sizeof case_externs[i].fn);
    }
    CpuGpu g = { 0 };
    bool kernels = c->program->kernel.n > 0;
    if (kernels && (!cuda_has_cpp() || !load_kernels(c, &g))) return;
    user.memo = rt_memo(rt);
    rt_hooks(&hooks, &user);
    hooks.gpu_move = hook_move, hooks.gpu_close = hook_close, hooks.gpu_launch = hook_launch;
    user.gpu = (void *)&g;
    hooks.print = no_print;
    for (int i = 0; i < c->n_slots; i++) {
        data[i] = c->slot[i].b.data;
        for (int d = 0; d < c->slot[i].b.rank; d++) {
            mlc_dim_t m = c->slot[i].b.dim[d];
            int64_t *s = &shape[(i * MLC_MAX_RANK + d) * 3];
            s[0] = m.min, s[1] = m.extent, s[2] = m.stride;
        }
    }
    configuration(c, what, sizeof what);
    Watch *watch = c->program->watched.n ? watch_new(&mlc_allocator_libc, c->program->watched.n, 100) : NULL;
    for (int run = 0; run < 2 && (!run || memo_stats(user.memo).entries); run++) { /* once more where values are kept */
        mlc_call call = { .data = data, .shape = shape, .param = c->param, .hooks = &hooks, .watch = watch_hooks(watch, 0) };
        call.mode = fp_enter();
        int r = kernels ? run_on_both(c, fn, &call, &g) : fn(&call);
        fp_leave(call.mode);
        mlc_error_info e = { .code = (int)call.error[0] };
        snprintf(e.message, sizeof e.message, "the kernel says %s", mlc_error_name((int)call.error[0]));
        if (r) case_stop(c, what, &e);
        else case_compare(c, what);
        if (!r && !run) check_watch(c, watch, what);
        case_restore(c);
    }
    watch_free(watch);
    memo_free(user.memo);
    if (g.handle) dlclose(g.handle);
}

/* The first identifier that a line at file scope declares: before `(`, `[`, `=` or `;`, or after struct. */
static bool declared(const char *line, char *name, size_t size) {
    if (*line == ' ' || *line == '\n' || *line == '}' || *line == '#' || *line == '/' || !*line) return false;
    if (!strncmp(line, "__attribute__((visibility", 25) || !strncmp(line, "int ", 4)) return false;
    const char *end = line + strcspn(line, "\n"), *from = line, *texts = strstr(line, "_text[]");
    if (texts && texts < end) return false;
    if (!strncmp(line, "typedef", 7) && line[8] != 's') return false; /* the same type again is no error */
    if (!strncmp(line, "struct ", 7)) {
        from = line + 7;
    } else {
        const char *p = line;
        /* the name before the parameters: skip attributes */
        const char *attr;
        while ((attr = strstr(p, "__attribute__((")) && attr < end) p = strstr(attr, "))") + 2;
        const char *stop_at = p + strcspn(p, "(=;[{\n");
        while (stop_at > p && stop_at[-1] == ' ') stop_at--;
        from = stop_at;
        while (from > p && (from[-1] == '_' || from[-1] == '$' || (from[-1] >= '0' && from[-1] <= '9') || (from[-1] >= 'a' && from[-1] <= 'z') ||
                            (from[-1] >= 'A' && from[-1] <= 'Z')))
            from--;
    }
    size_t n = strspn(from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$");
    if (!n || n >= size || !strncmp(from, "kernel_", 7)) return false; /* those are sought by name */
    snprintf(name, size, "%.*s", (int)n, from);
    return true;
}

/* Sources in one file: the layouts once, and what each declares under names of its own. */
static const char *join(Arena *a, Case *const *c, int n) {
    StrBuf b;
    sb_init(&b, a);
    bool first = true;
    for (int i = 0; i < n; i++) {
        if (!c[i]->source) continue;
        static const char last[] = "static __attribute__((unused)) i64 bytes_of";
        const char *body = strstr(c[i]->source, last);
        body = body ? strstr(body, "\n}\n") + 3 : c[i]->source;
        if (first) sb_putn(&b, c[i]->source, (size_t)(body - c[i]->source));
        first = false;
        StrMap seen;
        StrBuf undo;
        char name[200];
        sm_init(&seen, a);
        sb_init(&undo, a);
        for (const char *l = body; *l; l += strcspn(l, "\n"), l += *l == '\n') {
            if (!declared(l, name, sizeof name) || sm_get(&seen, name)) continue;
            sm_put(&seen, name, &seen);
            sb_printf(&b, "#define %s %s__%d\n", name, name, i);
            sb_printf(&undo, "#undef %s\n", name);
        }
        sb_printf(&b, "%s\n%s", body, undo.at ? undo.at : "");
    }
    return first ? NULL : b.at;
}

static void compile_some(Case *const *c, int n, int first, uint64_t *at, const uint64_t *seed) {
    Fault fault = { 0 };
    Arena arena;
    Barrier barrier;
    Runtime *rt = rt_new(&mlc_allocator_libc, NULL, NULL);
    arena_init(&arena, NULL, &fault);
    if (FAULT_TRY(&fault, barrier)) {
        JitOptions o = { .cc = c[0]->cc, .opt = c[0]->opt, .isa = c[0]->isa, .no_cache = true };
        o.native = !strcmp(c[0]->isa_name, "host");
        JitTimes times;
        const char *source = join(&arena, c, n);
        void *handle = source ? jit_load(&arena, &o, source, true, &times) : NULL;
        for (int i = 0; i < n; i++) {
            char symbol[32];
            snprintf(symbol, sizeof symbol, "kernel_%d", first + i);
            if (at) *at = seed[i];
            if (c[i]->source) run_kernel(c[i], handle, symbol, rt);
        }
        if (handle) jit_unload(handle);
        FAULT_END(&fault, barrier);
    } else if (n == 1) {
        case_fail(c[0], fault.info.code == ERR_CC_FAILED ? "does not compile" : "not compiled", fault.info.message);
    }
    arena_free(&arena);
    rt_unref(rt);
    if (n == 1 || !fault.info.code) return;
    for (int i = 0; i < n; i++) compile_some(c + i, 1, first + i, at, seed ? seed + i : NULL); /* which one was it? */
}

void case_compile(Case *const *c, int n, uint64_t *at, const uint64_t *seed) {
    for (int i = 0; i < n; i++) {
        char symbol[32];
        c[i]->bulk = at != NULL;
        snprintf(symbol, sizeof symbol, "kernel_%d", i);
        case_print(c[i], symbol);
    }
    compile_some(c, n, 0, at, seed);
}

void case_run_public(Case *c) {
    char what[64];
    bool other = c->state == CASE_GOOD && c->program->kernel.n && strncmp(c->isa_name, "cuda", 4); /* no processor's */
    if (c->state != CASE_GOOD || other) return;
    mlc_options o = { .cc = c->cc, .target = c->isa_name, .opt = c->opt, .no_cache = true };
    mlc_error_info error = { 0 };
    mlc_buffer *b[CASE_SLOTS];
    for (int i = 0; i < c->n_slots; i++) b[i] = &c->slot[i].b;
    mlc_module *m = mlc_compile(c->plan, c->n_out, c->out, &o, &error);
    if (m) mlc_run(m, c->n_slots, b, 0, NULL, &error);
    snprintf(what, sizeof what, "mlc_run, %s %s -O%d", c->cc, c->isa_name, c->opt);
    if (error.code) case_stop(c, what, &error);
    else case_compare(c, what);
    case_restore(c);
    mlc_module_free(m);
}
