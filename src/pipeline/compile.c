/* compile.c - from outputs and a plan to a module.
 *
 * The key is a digest of everything that the result depends on, so a program met before skips to its
 * object.  On a miss both variants are lowered and printed - a module must not need its context later -
 * and the dense one is built; the general one waits until a buffer asks for it. */
#define XXH_INLINE_ALL
#include "pipeline/pipeline.h"

#include "ir/whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <xxhash.h>

double pl_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void pl_open(Compile *c, mlc_plan *plan, int n, const mlc_func *outputs) {
    memset(c, 0, sizeof *c);
    c->begun = pl_now();
    c->ctx = plan ? plan->ctx : n > 0 && outputs && outputs[0].f ? outputs[0].f->ctx : NULL;
    arena_init(&c->arena, c->ctx ? &c->ctx->hook : NULL, &c->fault);
}

void pl_close(Compile *c) {
    gpu_unref(c->gpu);
    arena_free(&c->arena);
}

void pl_begin(Compile *c, mlc_plan *plan, int n, const mlc_func *outputs, const mlc_options *o) {
    Fault *f = &c->fault;
    if (n < 1 || !outputs || !c->ctx) fault_raise(f, ERR_NO_OUTPUTS, NULL);
    if (n > (int)(sizeof c->output / sizeof *c->output)) fault_raise(f, ERR_OUTPUT_COUNT, NULL, n);
    for (int i = 0; i < n; i++) {
        if (!outputs[i].f) fault_raise(f, ERR_NO_OUTPUTS, NULL);
        if (outputs[i].f->ctx != c->ctx) fault_raise(f, ERR_CONTEXTS_MIX, NULL);
        c->output[i] = outputs[i].f;
    }
    c->n_outputs = n;
    c->empty = (mlc_plan){ .ctx = c->ctx, .arena = &c->arena };
    c->plan = plan ? plan : c->ctx->plan ? c->ctx->plan : &c->empty;
    const Fault *before = &c->ctx->fault; /* such as that of a plan which was looked for and is not there */
    if (!plan && before->info.code && !before->passing) {
        f->info = before->info;
        fault_jump(f);
    }
    if (c->plan->fault.info.code) {
        f->info = c->plan->fault.info;
        fault_jump(f);
    }
    c->options = pl_options(f, o);
    const char *timed = getenv("MLC_TIME");
    c->timed = timed && *timed && strcmp(timed, "0") != 0;
    sb_init(&c->passes, &c->arena);
    ir_interner_init(&c->ir, &c->arena, &c->ctx->ir);
}

void pl_take_gpu(Compile *c) {
    Options *o = &c->options;
    if (!o->cuda || c->gpu) return;
    c->gpu = state_gpu(c->ctx, &c->fault);
    NvCompiler *nvrtc = gpu_find_compiler(c->gpu, NULL);
    NvDevice *device = o->arch ? NULL : gpu_find_device(c->gpu, NULL);
    if (!nvrtc || !device) return;
    NvDeviceInfo info;
    nv_device_info(device, &info);
    o->arch = nv_arch(&c->arena, nvrtc, arena_str(&c->arena, info.arch));
}

void pl_need_gpu(Compile *c) {
    Fault device = { 0 }, nvrtc = { 0 };
    Fault *f = &c->fault;
    pl_take_gpu(c);
    bool lacks_nvrtc = !gpu_find_compiler(c->gpu, &nvrtc);
    if (!c->options.arch) gpu_find_device(c->gpu, &device);
    if (lacks_nvrtc && device.info.code) fault_raise(f, ERR_CUDA_NEITHER, NULL, device.info.message, nvrtc.info.message);
    const Fault *first = device.info.code ? &device : &nvrtc;
    if (!first->info.code) return;
    f->info = first->info;
    fault_jump(f);
}

void pl_resolve(Compile *c) {
    if (!c->schedule) c->schedule = sch_resolve(&c->ir, c->plan, c->output, c->n_outputs);
}

static void observe(void *user, const char *pass, double ms, const Program *p) {
    Compile *c = user;
    (void)p;
    if (c->timed) sb_printf(&c->passes, "    %-24s %8.3f ms\n", pass, ms);
}

static LowerOptions lower_options(Compile *c, bool dense) {
    if (c->timed) sb_printf(&c->passes, "  lower %s\n", dense ? "dense" : "general");
    return (LowerOptions){ .name = c->output[0]->name, .dense = dense, .check = c->options.check, .in_line = c->in_line,
                           .explain = c->explain, .profile = c->options.profile, .trace = c->options.trace, .observe = observe,
                           .observe_user = c };
}

Program *pl_lower(Compile *c, bool dense) {
    LowerOptions o = lower_options(c, dense);
    return low_lower(&c->arena, &c->ir, c->schedule, &o);
}

Program *pl_lower_nest(Compile *c) {
    LowerOptions o = lower_options(c, true);
    o.stop_after = "fork";
    return low_lower(&c->arena, &c->ir, c->schedule, &o);
}

/* From the dense program: only the last pass differs. */
static Program *lower_general(Compile *c, const Program *dense) {
    LowerOptions o = lower_options(c, false);
    return low_variant(dense, &o);
}

void pl_program_text(Compile *c, StrBuf *out) {
    alg_print_program(out, c->ctx, c->output, c->n_outputs);
    sch_print_plan(out, c->plan);
}

/* The digest of all that the object depends on. */
static void make_key(Compile *c) {
    StrBuf b;
    bool is_gcc;
    sb_init(&b, &c->arena);
    alg_order(&c->arena, c->output, c->n_outputs); /* raises what is wrong with the definitions */
    pl_program_text(c, &b);
    const Options *o = &c->options;
    sb_printf(&b, "\n%s %s O%d check%d [%s] watch%d%d %lld %s", pl_build_id(), o->target, o->opt, o->check, o->cflags,
              o->profile, o->trace, o->trace ? (long long)o->most_spans : 0ll, o->interpret ? "" : code_compiler(&c->arena, o, &is_gcc));
    if (o->cuda) {
        pl_take_gpu(c);
        NvOptions nv = { .arch = o->arch ? o->arch : "none" };
        NvCompiler *nvrtc = gpu_find_compiler(c->gpu, NULL);
        sb_printf(&b, " %s %s", nvrtc ? nv_compiler_identity(nvrtc) : "none", nv_flags(&c->arena, &nv));
    }
    XXH128_hash_t h = XXH3_128bits(b.at, b.n);
    snprintf(c->key, sizeof c->key, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
    c->times.key = pl_now() - c->begun;
}

/* MLC_DUMP=dir: the loops and the texts of both variants of each program lowered.  The folder is made where it lacks. */
static void dump(Compile *c, const char *what, const char *text) {
    const char *dir = getenv("MLC_DUMP");
    if (!dir || !*dir || !text) return;
    const char *path = arena_printf(&c->arena, "%s/%s-%.8s.%s", dir, c->output[0]->name, c->key, what);
    mkdir(dir, 0777); /* it may be there */
    FILE *f = fopen(path, "w");
    if (!f) {
        const char *line = arena_printf(&c->arena, "MLC_DUMP: %s: %s", path, strerror(errno));
        if (c->ctx->log) c->ctx->log(c->ctx->log_user, line);
        else fprintf(stderr, "%s\n", line);
        return;
    }
    fputs(text, f);
    fclose(f);
}

static void dump_loops(Compile *c, const Program *p) {
    StrBuf b;
    if (!getenv("MLC_DUMP")) return;
    sb_init(&b, &c->arena);
    st_print(&b, p->body);
    dump(c, "loops", b.at);
}

static const char *print_source(Compile *c, const Program *p, bool is_gcc) {
    StrBuf b;
    CgOptions o = { .isa = c->options.isa, .is_gcc = is_gcc, .symbol = CODE_SYMBOL };
    sb_init(&b, &c->arena);
    cg_cpu(&b, p, &o);
    return b.at;
}

typedef struct {
    bool *keeps;
    const Kernel *kernel; /* that the walk is in */
} Kept;

static Stmt *find_kept(StmtMap *m, Stmt *s) {
    Kept *k = m->user;
    if (s->kind == ST_KERNEL) k->kernel = s->u.kernel.kernel;
    if (s->kind == ST_ALLOC && k->kernel && s->u.alloc.storage->memory == STORE_REGISTER) k->keeps[k->kernel->number] = true;
    s = st_map_kids(m, s);
    if (s->kind == ST_KERNEL) k->kernel = NULL;
    return s;
}

void pl_find_kept(Arena *a, const Program *p, bool *keeps) {
    Kept k = { .keeps = keeps };
    StmtMap m = { .arena = a, .stmt = find_kept, .user = &k };
    st_map(&m, p->body);
}

/* The kernels of a program: their names, and the CUDA C++ of a variant. */
static void print_kernels(Compile *c, mlc_module *m, const Program *p, int variant) {
    StrBuf b;
    CgOptions o = { .isa = c->options.isa, .symbol = CODE_SYMBOL };
    if (!p->kernel.n) return;
    const Kernel *first = p->kernel.at[0];
    Place place = sch_place(&c->arena, first->line);
    if (!c->options.cuda) fault_raise(&c->fault, ERR_GPU_TARGET, &place, first->name, c->options.target);
    if (c->options.profile || c->options.trace)
        fault_raise(&c->fault, ERR_GPU_WATCHED, &place, first->name, c->options.profile ? "profile" : "trace");
    CHECK(&c->fault, variant == DENSE || m->meta.n_kernels == p->kernel.n);
    pl_need_gpu(c);
    m->meta.n_kernels = p->kernel.n;
    m->meta.keeps = ARENA_ARRAY(&m->arena, bool, p->kernel.n);
    pl_find_kept(&c->arena, p, m->meta.keeps);
    m->meta.kernel = ARENA_ARRAY(&m->arena, const char *, p->kernel.n);
    for (int i = 0; i < p->kernel.n; i++) m->meta.kernel[i] = cg_kernel_name(&m->arena, p->kernel.at[i]);
    sb_init(&b, &c->arena);
    cg_cuda(&b, p, &o);
    m->meta.cuda[variant] = arena_str(&m->arena, b.at);
}

/* Slots of a program are those of the metadata, which hears whose memory kernels touch: both come from the same schedule. */
static void match_slots(Compile *c, const Program *p, Meta *m) {
    int slot = 0;
    for (int i = 0; i < p->external.n; i++) {
        const Storage *s = p->external.at[i];
        for (int e = 0; e < (s->is_input ? 1 : s->n) && slot + e < m->n_slots; e++) m->slot[slot + e].on_device = s->on_device;
        CHECK(&c->fault, s->slot == slot && slot < m->n_slots && !strcmp(m->slot[slot].name, s->func->name));
        slot += s->is_input ? 1 : s->n;
    }
    CHECK(&c->fault, slot == m->n_slots);
}

static void lower_both(Compile *c, mlc_module *m) {
    bool is_gcc;
    const Program *p = NULL;
    code_compiler(&c->arena, &c->options, &is_gcc);
    for (int v = 0; v < VARIANTS; v++) {
        double t = pl_now();
        p = v == DENSE ? pl_lower(c, true) : lower_general(c, p);
        double u = pl_now();
        match_slots(c, p, &m->meta);
        m->meta.index_bits = p->index_bits;
        print_kernels(c, m, p, v);
        m->meta.source[v] = arena_str(&m->arena, print_source(c, p, is_gcc));
        c->times.lower += u - t;
        c->times.codegen += pl_now() - u;
        if (v == DENSE) dump_loops(c, p);
    }
}

/* A program that the cache holds is lowered for the dump alone. */
static void dump_all(Compile *c, const mlc_module *m, bool found) {
    const char *dir = getenv("MLC_DUMP");
    if (!dir || !*dir) return;
    if (found) {
        pl_resolve(c);
        dump_loops(c, pl_lower(c, true));
    }
    for (int v = 0; v < VARIANTS; v++) dump(c, v == DENSE ? "c" : "general.c", m->meta.source[v]);
    for (int v = 0; v < VARIANTS; v++) dump(c, v == DENSE ? "cu" : "general.cu", m->meta.cuda[v]);
}

/* Those of the context, and those of the library that extern stages need: no name of a user has a '$'. */
static void take_externs(Compile *c, mlc_module *m) {
    m->ext = ARENA_ARRAY(&m->arena, ExternFn, c->ctx->externs.n + 2);
    m->ext[m->n_ext++] = (ExternFn){ "$query", (void (*)(void))whole_query };
    m->ext[m->n_ext++] = (ExternFn){ "$run", (void (*)(void))whole_run };
    for (int i = 0; i < c->ctx->externs.n; i++) {
        const Extern *e = c->ctx->externs.at[i];
        m->ext[m->n_ext++] = (ExternFn){ arena_str(&m->arena, e->name), e->fn };
    }
}

static void report(Compile *c, const mlc_module *m) {
    if (!c->timed) return;
    const mlc_times *t = &m->times;
    fprintf(stderr,
            "mlc %s: key %.2f, lower %.2f, codegen %.2f, build %.2f, kernels %.2f, load %.2f, total %.2f ms%s\n%s",
            c->output[0]->name, t->key, t->lower, t->codegen, t->build, t->kernels, t->load, t->total, t->cached ? " (cached)" : "",
            c->passes.at);
}

/* What the code reports to, where it says that it does. */
static void open_watch(mlc_module *m, Fault *f) {
    const Code *code = atomic_load(&m->code[DENSE]);
    bool traced = false;
    for (const WatchRow *row = code->watch; row && row->name; row++) {
        traced |= row->traced;
        m->n_watched++;
    }
    if (!code->watch) return;
    m->watch = watch_new(&m->hook, m->n_watched, traced ? m->options.most_spans : 0);
    if (!m->watch) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, (size_t)m->options.most_spans * sizeof(WatchSpan));
}

/* Onto a device of their architecture, where one is here; else the first call does, or says what is missing. */
static void load_kernels(Compile *c, mlc_module *m) {
    NvDeviceInfo info;
    if (!m->meta.n_kernels || !gpu_find_device(m->gpu, NULL)) return;
    double begun = pl_now();
    nv_device_info(gpu_device(m->gpu, &c->fault), &info);
    if (!strcmp(info.arch, m->options.arch) || !strncmp(m->options.arch, "compute_", 8)) module_load_kernels(m, atomic_load(&m->code[DENSE]));
    c->times.load += pl_now() - begun;
}

static void compile_code(Compile *c, mlc_module *m) {
    Options *o = &m->options;
    bool found = !o->no_cache && code_find(&m->arena, o, m->key, &m->meta);
    if (!found) {
        int n;
        pl_resolve(c);
        const Sym *const *param = meta_params_used(&c->arena, c->schedule, &n);
        meta_of_schedule(&m->arena, c->schedule, param, n, &m->meta);
        lower_both(c, m);
    }
    if (found && m->meta.warned && c->ctx->log) pl_resolve(c); /* says again what the plan's first compile said */
    dump_all(c, m, found);
    atomic_store(&m->code[DENSE], module_build(m, DENSE, &c->times));
    load_kernels(c, m);
    c->times.cached = found && c->times.cached;
    open_watch(m, &c->fault);
    if (!found && !o->no_cache) code_keep(&m->arena, o, m->key, &m->meta);
}

static void compile_snapshot(Compile *c, mlc_module *m) {
    int n;
    pl_resolve(c);
    const Sym *const *param = meta_params_used(&c->arena, c->schedule, &n);
    meta_of_schedule(&m->arena, c->schedule, param, n, &m->meta);
    m->snapshot = snap_copy(&m->arena, c->schedule, param, n);
}

mlc_module *pl_find_or_compile(Compile *c) {
    make_key(c);
    mlc_module *m = state_find(c->ctx, c->key, c->options.threads);
    if (m) return m;
    m = pl_compile(c);
    state_keep(c->ctx, m);
    return m;
}

mlc_module *pl_compile(Compile *c) {
    if (!c->key[0]) make_key(c);
    mlc_module *m = module_new(&c->ctx->hook, &c->fault);
    Barrier b;
    volatile bool good = false;
    if (FAULT_TRY(&c->fault, b)) {
        m->options = c->options;
        m->options.cc = c->options.cc ? arena_str(&m->arena, c->options.cc) : NULL;
        m->options.cflags = arena_str(&m->arena, c->options.cflags);
        m->options.arch = c->options.arch ? arena_str(&m->arena, c->options.arch) : NULL;
        m->gpu = c->gpu ? gpu_ref(c->gpu) : NULL;
        memcpy(m->key, c->key, sizeof m->key);
        m->hook_user = (HookUser){ .rt = state_runtime(c->ctx, &c->fault), .threads = c->options.threads };
        m->hook_user.memo = rt_memo(m->hook_user.rt);
        if (!m->hook_user.memo) fault_raise(&c->fault, ERR_OUT_OF_MEMORY, NULL, (size_t)0);
        rt_hooks(&m->hooks, &m->hook_user);
        take_externs(c, m);
        if (c->options.interpret) compile_snapshot(c, m);
        else compile_code(c, m);
        meta_take_values(&m->meta, c->ctx);
        c->times.total = pl_now() - c->begun;
        m->times = c->times;
        report(c, m);
        good = true;
        FAULT_END(&c->fault, b);
    }
    m->arena.fault = &m->fault;
    if (good) return m;
    module_unref(m);
    fault_jump(&c->fault);
}

mlc_module *mlc_compile(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const mlc_options *o, mlc_error_info *error) {
    Compile c;
    Barrier b;
    mlc_module *volatile m = NULL;
    pl_open(&c, plan, n_outputs, outputs);
    if (FAULT_TRY(&c.fault, b)) {
        pl_begin(&c, plan, n_outputs, outputs, o);
        m = pl_compile(&c);
        FAULT_END(&c.fault, b);
    }
    pl_close(&c);
    pl_give_error(error, &c.fault);
    return m;
}
