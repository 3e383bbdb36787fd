/* module.c - modules: owning, asking, and the checks and the run of a call. */
#include "pipeline/gpu_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

mlc_module *module_new(const mlc_allocator *hook, Fault *f) {
    mlc_module *m = hook->resize(hook->user, NULL, sizeof *m);
    if (!m) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, sizeof *m);
    memset(m, 0, sizeof *m);
    m->hook = *hook;
    arena_init(&m->arena, hook, f);
    lock_init(&m->lock);
    atomic_init(&m->refs, 1);
    return m;
}

/* A child of fork that finds another thread's work half done leaves the memory of it alone. */
void module_enter(mlc_module *m, Fault *f) {
    if (lock_take(&m->lock)) arena_init(&m->arena, &m->hook, f);
    m->arena.fault = f;
}

void module_leave(mlc_module *m) {
    m->arena.fault = &m->fault;
    lock_leave(&m->lock);
}

void module_unref(mlc_module *m) {
    if (!m || atomic_fetch_sub(&m->refs, 1) != 1) return;
    closures_free(m->closures);
    for (int v = 0; v < VARIANTS; v++) code_free(atomic_load(&m->code[v]));
    memo_free(m->hook_user.memo);
    watch_free(m->watch);
    rt_unref(m->hook_user.rt);
    gpu_unref(m->gpu);
    lock_end(&m->lock);
    mlc_allocator hook = m->hook;
    arena_free(&m->arena);
    hook.resize(hook.user, m, 0);
}

void mlc_module_free(mlc_module *m) {
    module_unref(m);
}

/* ---- asking ---- */

int mlc_module_slots(const mlc_module *m) {
    return m ? m->meta.n_slots : 0;
}

int mlc_module_params(const mlc_module *m) {
    return m ? m->meta.n_params : 0;
}

bool mlc_module_slot(const mlc_module *m, int i, mlc_slot_info *info) {
    if (!m || !info || i < 0 || i >= m->meta.n_slots) return false;
    const MetaSlot *s = &m->meta.slot[i];
    *info = (mlc_slot_info){ .name = s->name, .type = s->type, .rank = s->rank, .is_output = s->is_output,
                             .element = s->element };
    return true;
}

bool mlc_module_param(const mlc_module *m, int i, mlc_param_info *info) {
    if (!m || !info || i < 0 || i >= m->meta.n_params) return false;
    const MetaParam *p = &m->meta.param[i];
    *info = (mlc_param_info){ .name = p->name, .type = p->type, .has_range = p->has_range, .lo = p->lo, .hi = p->hi,
                              .has_value = p->has_value, .value = p->value };
    return true;
}

int mlc_module_find_param(const mlc_module *m, const char *name) {
    for (int i = 0; m && name && i < m->meta.n_params; i++)
        if (!strcmp(m->meta.param[i].name, name)) return i;
    return -1;
}

mlc_times mlc_module_times(const mlc_module *m) {
    return m ? m->times : (mlc_times){ 0 };
}

const char *mlc_module_target(const mlc_module *m) {
    return m ? m->options.target : NULL;
}

const char *mlc_module_source(const mlc_module *m) {
    return m ? m->meta.source[DENSE] : NULL;
}

const char *mlc_module_cuda(const mlc_module *m) {
    return m ? m->meta.cuda[DENSE] : NULL;
}

int mlc_module_kernels(const mlc_module *m) {
    return m ? m->meta.n_kernels : 0;
}

static const NvReport *report_of(const mlc_module *m) {
    const Code *c = m ? atomic_load(&m->code[DENSE]) : NULL;
    return c && c->cubin ? &c->report : NULL;
}

bool mlc_module_kernel(const mlc_module *m, int i, mlc_kernel_info *info) {
    const NvReport *r = report_of(m);
    if (!r || !info || i < 0 || i >= m->meta.n_kernels) return false;
    *info = (mlc_kernel_info){ .name = m->meta.kernel[i], .keeps = m->meta.keeps[i] };
    for (int k = 0; k < r->n; k++) {
        const NvKernelReport *of = &r->kernel[k];
        if (strcmp(of->name, info->name)) continue;
        info->registers = of->registers;
        info->spilled = of->spill_stores + of->spill_loads;
        info->local = of->stack;
        info->shared = of->shared;
    }
    return true;
}

const char *mlc_module_kernel_warning(const mlc_module *m, int i) {
    const NvReport *r = report_of(m);
    return r && i >= 0 && i < r->n_warnings ? r->warning[i] : NULL;
}

/* ---- what memoized Funcs keep ---- */

void mlc_module_memo_limit(mlc_module *m, size_t bytes) {
    if (m) memo_limit(m->hook_user.memo, bytes);
}

void mlc_module_memo_clear(mlc_module *m) {
    if (m) memo_evict(m->hook_user.memo, NULL);
}

void mlc_module_memo_evict(mlc_module *m, int64_t key) {
    if (m) memo_evict(m->hook_user.memo, &key);
}

mlc_memo_stats mlc_module_memo(mlc_module *m) {
    return m ? memo_stats(m->hook_user.memo) : (mlc_memo_stats){ 0 };
}

/* ---- what a call must satisfy ---- */

/* "in", or "f.1" for an element of a tuple. */
static const char *slot_name(const Meta *m, int i, char *space, size_t size) {
    const MetaSlot *s = &m->slot[i];
    bool tuple = s->element || (i + 1 < m->n_slots && m->slot[i + 1].element);
    if (!tuple) return s->name;
    snprintf(space, size, "%s.%d", s->name, s->element);
    return space;
}

static const char *names_of(const Meta *m, bool params, char *space, size_t size) {
    size_t at = 0;
    int n = params ? m->n_params : m->n_slots;
    space[0] = 0;
    for (int i = 0; i < n && at + 1 < size; i++) {
        char one[128];
        const char *name = params ? m->param[i].name : slot_name(m, i, one, sizeof one);
        int k = snprintf(space + at, size - at, "%s%s", i ? ", " : "", name);
        at += k > 0 ? (size_t)k : 0;
    }
    return n ? space : "none";
}

/* Does the buffer reach at most 2^60 bytes from its first element? */
static void check_shape(Fault *f, const Meta *all, const char *name, const mlc_buffer *b) {
    long long far = 1ll << all->index_bits;
    int64_t reach = (int64_t)mlc_type_size(b->type);
    for (int d = 0; d < b->rank; d++) {
        const mlc_dim_t *m = &b->dim[d];
        int64_t span, stride = m->stride < 0 ? -(m->stride + 1) : m->stride;
        if (m->extent < 0) fault_raise(f, ERR_CALL_EXTENT, NULL, name, d, (long long)m->extent);
        bool bad = m->extent > (int64_t)1 << MOST_INDEX_BITS || stride == INT64_MAX ||
                   __builtin_mul_overflow(stride + 1, m->extent * (int64_t)mlc_type_size(b->type), &span) ||
                   __builtin_add_overflow(reach, span, &reach) ||
                   reach > (int64_t)1 << 60;
        if (bad) fault_raise(f, ERR_CALL_SIZE, NULL, name, d);
        if (m->min < -far || m->min > far) fault_raise(f, ERR_CALL_FAR, NULL, "the min", (long long)m->min, d, name, far);
        if (m->extent > far) fault_raise(f, ERR_CALL_FAR, NULL, "the extent", (long long)m->extent, d, name, far);
    }
}

static void check_buffer(Fault *f, const Meta *m, int i, const mlc_buffer *b) {
    char space[128];
    const char *name = slot_name(m, i, space, sizeof space);
    const MetaSlot *s = &m->slot[i];
    if (!b) fault_raise(f, ERR_CALL_NULL, NULL, name);
    if (b->type != s->type) fault_raise(f, ERR_CALL_TYPE, NULL, name, mlc_type_name(b->type), mlc_type_name(s->type));
    if (b->rank != s->rank) {
        pl_note_rank(f, NULL, name, b, s->rank);
        fault_jump(f);
    }
    check_shape(f, m, name, b);
    const void *at = b->data;
    if (!at && m->n_kernels) at = (const void *)(uintptr_t)b->device;
    if (!at && mlc_buffer_count(b)) fault_raise(f, ERR_CALL_NULL, NULL, name);
    if (!m->n_kernels && b->flags & MLC_BUFFER_DEVICE_DIRTY && b->device) fault_raise(f, ERR_CALL_DEVICE, NULL, name);
    size_t size = mlc_type_size(b->type);
    if ((uintptr_t)at % size) fault_raise(f, ERR_CALL_ALIGN, NULL, name, (int)size);
}

/* Code indexes all elements of a tuple by the shape of the first. */
static void check_tuple(Fault *f, const Meta *m, int i, mlc_buffer *const *b) {
    char space[128];
    const mlc_buffer *own = b[i], *first = b[i - m->slot[i].element];
    for (int d = 0; d < own->rank; d++) {
        const mlc_dim_t *x = &own->dim[d], *y = &first->dim[d];
        if (x->min != y->min || x->extent != y->extent || (x->stride != y->stride && x->extent > 1))
            fault_raise(f, ERR_CALL_TUPLE, NULL, slot_name(m, i, space, sizeof space), d);
    }
}

/* Where it is, as numbers: one that lies on a GPU alone has no other address. */
static mlc_buffer placed(const mlc_buffer *b) {
    mlc_buffer v = *b; /* the same descriptor twice is still two buffers */
    if (!v.data) v.data = (void *)(uintptr_t)v.device;
    return v;
}

static void check_overlap(Fault *f, const Meta *m, mlc_buffer *const *b) {
    char one[128], two[128];
    for (int i = 0; i < m->n_slots; i++) {
        if (!m->slot[i].is_output) continue;
        const char *name = slot_name(m, i, one, sizeof one);
        mlc_buffer own = placed(b[i]);
        if (mlc_buffer_overlap(&own, &own)) fault_raise(f, ERR_CALL_OVERLAP_SELF, NULL, name);
        for (int k = 0; k < m->n_slots; k++) {
            if (k == i || (m->slot[k].is_output && k > i)) continue; /* two outputs: once */
            mlc_buffer other = placed(b[k]);
            if (mlc_buffer_overlap(&own, &other))
                fault_raise(f, ERR_CALL_OVERLAP, NULL, name, slot_name(m, k, two, sizeof two));
        }
    }
}

static const char *scalar_text(char *space, size_t size, mlc_type t, mlc_scalar v) {
    if (ty_is_float(t)) snprintf(space, size, "%g", v.f);
    else if (t == MLC_U64) snprintf(space, size, "%" PRIu64, (uint64_t)v.i);
    else snprintf(space, size, "%" PRId64, v.i);
    return space;
}

/* The value as the kernel reads it: of its type and inside its range. */
static mlc_scalar check_param(Fault *f, const Meta *m, const MetaParam *p, mlc_scalar v) {
    char s[3][40];
    bool good;
    if (ty_is_float(p->type)) {
        v.f = val_round(p->type, v.f).f;
        good = !p->has_range || (v.f >= p->lo.f && v.f <= p->hi.f && !(p->lo.f >= 0 && __builtin_signbit(v.f)));
    } else {
        if (val_wrap(p->type, v.i).i != v.i)
            fault_raise(f, ERR_PARAM_TYPE, NULL, p->name, scalar_text(s[0], sizeof s[0], MLC_I64, v), mlc_type_name(p->type));
        bool un = p->type == MLC_U64;
        good = !p->has_range || (un ? (uint64_t)v.i >= (uint64_t)p->lo.i && (uint64_t)v.i <= (uint64_t)p->hi.i
                                    : v.i >= p->lo.i && v.i <= p->hi.i);
    }
    long long far = 1ll << m->index_bits;
    if (p->type == MLC_INDEX && (v.i < -far || v.i > far)) fault_raise(f, ERR_PARAM_FAR, NULL, p->name, (long long)v.i, far);
    if (!good)
        fault_raise(f, ERR_PARAM_RANGE, NULL, p->name, scalar_text(s[0], sizeof s[0], p->type, v),
                    scalar_text(s[1], sizeof s[1], p->type, p->lo), scalar_text(s[2], sizeof s[2], p->type, p->hi));
    return v;
}

/* ---- running ---- */

/* Fills a row of errors.def with what a kernel left: %s takes the check's texts, numbers its arguments. */
static void note_kernel_error(Fault *f, ErrCode code, const char *const *text, const int64_t *arg) {
    char message[512];
    size_t at = 0;
    int texts = 0, args = 0;
    for (const char *p = err_format(code); *p && at + 1 < sizeof message; p++) {
        if (*p != '%' || p[1] == '%') {
            message[at++] = *p;
            p += *p == '%';
            continue;
        }
        while (!strchr("sdux", *++p)) {}
        int n = *p == 's' ? snprintf(message + at, sizeof message - at, "%s", texts < 2 && text ? text[texts++] : "")
                          : snprintf(message + at, sizeof message - at, "%" PRId64, args < 4 ? arg[args++] : 0);
        at += n > 0 ? (size_t)n : 0;
        if (at >= sizeof message) at = sizeof message - 1;
    }
    message[at] = 0;
    fault_note(f, ERR_AT, NULL, message);
    f->info.code = (int)code;
}

Code *module_build(mlc_module *m, int variant, mlc_times *t) {
    Cubin cubin = { 0 };
    if (m->meta.n_kernels) {
        NvCompiler *nvrtc = gpu_compiler(m->gpu, m->arena.fault);
        cubin = code_cubin(&m->arena, &m->options, nvrtc, m->meta.cuda[variant], m->meta.kernel[0], t);
    }
    Code *c = code_build(&m->arena, &m->options, m->meta.source[variant], m->ext, m->n_ext, t);
    c->cubin = cubin.bytes;
    c->report = cubin.report;
    return c;
}

void module_load_kernels(mlc_module *m, Code *c) {
    Fault *f = m->arena.fault;
    if (m->meta.n_kernels && !c->kernels)
        c->kernels = nv_module_load(gpu_device(m->gpu, f), c->cubin, m->meta.n_kernels, m->meta.kernel, f);
}

static Code *build_variant(mlc_module *m, int variant) {
    Code *c = atomic_load(&m->code[variant]);
    mlc_times t = { 0 };
    if (!c) c = module_build(m, variant, &t);
    atomic_store(&m->code[variant], c);
    module_load_kernels(m, c);
    atomic_store_explicit(&m->ready[variant], c, memory_order_release);
    return c;
}

/* The variant's code, built and on the device on first need. */
static Code *code_of(mlc_module *m, int variant, Fault *f) {
    Code *ready = atomic_load_explicit(&m->ready[variant], memory_order_acquire);
    if (ready) return ready;
    Barrier b;
    Code *volatile c = NULL;
    module_enter(m, f);
    if (FAULT_TRY(f, b)) {
        c = build_variant(m, variant);
        FAULT_END(f, b);
    }
    module_leave(m);
    if (!c) fault_jump(f);
    return c;
}

static int run_code(mlc_module *m, void *stream, Recording *recording, mlc_buffer *const *buffers, const mlc_scalar *param, Arena *scratch, Fault *f) {
    int n = m->meta.n_slots;
    GpuCall *gpu = NULL;
    if (m->meta.n_kernels) buffers = gpu_call_open(&gpu, m, stream, recording, buffers, scratch, f);
    void **data = ARENA_ARRAY(scratch, void *, n + 1);
    int64_t *shape = ARENA_ARRAY(scratch, int64_t, (n + 1) * MLC_MAX_RANK * 3);
    bool dense = true;
    for (int i = 0; i < n; i++) {
        const mlc_buffer *b = buffers[i];
        data[i] = b->data;
        for (int d = 0; d < b->rank; d++) {
            int64_t *s = shape + (i * MLC_MAX_RANK + d) * 3;
            s[0] = b->dim[d].min;
            s[1] = b->dim[d].extent;
            s[2] = b->dim[d].stride;
            if (d == 0 && s[1] <= 1) s[2] = 1; /* one element: any stride will do */
        }
        if (b->rank && shape[i * MLC_MAX_RANK * 3 + 2] != 1) dense = false;
    }
    int variant = dense ? DENSE : GENERAL;
    const Code *code = code_of(m, variant, f);
    mlc_call call = { .data = data, .shape = shape, .param = param, .hooks = &m->hooks, .watch = watch_hooks(m->watch, variant),
                      .stream = stream };
    if (gpu) gpu_call_attach(gpu, code->kernels, &call, f);
    call.mode = fp_enter();
    int r = code->fn(&call);
    fp_leave(call.mode);
    if (gpu) r = gpu_call_close(gpu, &call, r, f);
    if (!r || f->info.code) return f->info.code;
    int64_t row = call.error[0] > 0 && call.error[0] < ERR_COUNT ? call.error[0] : r;
    const char *const *text = row == ERR_OUT_OF_MEMORY || !code->text ? NULL : code->text + 2 * call.error[1];
    note_kernel_error(f, (ErrCode)(row > 0 && row < ERR_COUNT ? row : ERR_INTERNAL), text, call.error + 2);
    return f->info.code;
}

static void run_snapshot(mlc_module *m, mlc_buffer *const *buffers, const mlc_scalar *param, Arena *scratch, Fault *f) {
    Snapshot *s = m->snapshot;
    Barrier b;
    volatile bool good = false;
    module_enter(m, f);
    if (FAULT_TRY(f, b)) {
        for (int i = 0; i < s->n_inputs; i++) s->input[i]->bound = buffers[i];
        for (int i = 0; i < s->n_params; i++) {
            Value *v = pm_get(&s->ctx.param_value, s->param[i]);
            if (ty_is_float(s->param[i]->type)) v->f = param[m->meta.param[i].at].f;
            else v->i = param[m->meta.param[i].at].i;
        }
        unsigned mode = s->ctx.mode = fp_enter();
        alg_interpret(scratch, s->output, buffers + s->n_inputs, m->meta.n_slots - s->n_inputs);
        fp_leave(mode);
        good = true;
        FAULT_END(f, b);
    }
    module_leave(m);
    if (!good) fault_jump(f);
}

enum { CALL_SPACE = 6144 }; /* what a call of some ten buffers needs: it takes no memory */

int module_run_in(mlc_module *m, void *stream, Recording *recording, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, Fault *f) {
    const Meta *meta = &m->meta;
    Arena scratch;
    Barrier b;
    _Alignas(16) unsigned char memory[CALL_SPACE];
    arena_init_in(&scratch, &m->hook, f, memory, sizeof memory);
    if (FAULT_TRY(f, b)) {
        char space[400];
        if (n != meta->n_slots || (n && !buffers))
            fault_raise(f, ERR_CALL_COUNT, NULL, n, meta->n_slots, names_of(meta, false, space, sizeof space));
        if (n_params && (n_params != meta->n_params || !params))
            fault_raise(f, ERR_CALL_PARAMS, NULL, n_params, meta->n_params, names_of(meta, true, space, sizeof space));
        for (int i = 0; i < n; i++) check_buffer(f, meta, i, buffers[i]);
        for (int i = 0; i < n; i++) check_tuple(f, meta, i, buffers);
        check_overlap(f, meta, buffers);
        int most = 0;
        for (int i = 0; i < meta->n_params; i++) most = meta->param[i].at > most ? meta->param[i].at : most;
        mlc_scalar *value = ARENA_ARRAY(&scratch, mlc_scalar, most + 1);
        for (int i = 0; i < meta->n_params; i++) {
            const MetaParam *p = &meta->param[i];
            if (!n_params && !p->has_value) fault_raise(f, ERR_PARAM_UNSET, NULL, p->name);
            value[p->at] = check_param(f, meta, p, n_params ? params[i] : p->value);
        }
        if (m->snapshot) run_snapshot(m, buffers, value, &scratch, f);
        else run_code(m, stream, recording, buffers, value, &scratch, f);
        for (int i = 0; i < n && !meta->n_kernels && !f->info.code; i++)
            if (meta->slot[i].is_output && buffers[i]->device) buffers[i]->flags |= MLC_BUFFER_HOST_DIRTY;
        FAULT_END(f, b);
    }
    arena_free(&scratch);
    return f->info.code;
}

int module_run(mlc_module *m, void *stream, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, Fault *f) {
    return module_run_in(m, stream, NULL, n, buffers, n_params, params, f);
}

void pl_give_error(mlc_error_info *to, const Fault *f) {
    if (to) *to = f->info;
}

int mlc_run(mlc_module *m, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params, mlc_error_info *error) {
    return mlc_run_on(m, NULL, n, buffers, n_params, params, error);
}

int mlc_run_on(mlc_module *m, void *stream, int n, mlc_buffer *const *buffers, int n_params, const mlc_scalar *params,
               mlc_error_info *error) {
    Fault f = { 0 };
    if (m) module_run(m, stream, n, buffers, n_params, params, &f);
    else fault_note(&f, ERR_NO_MODULE, NULL);
    pl_give_error(error, &f);
    return f.info.code;
}
