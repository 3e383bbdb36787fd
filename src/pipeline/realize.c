/* realize.c - the short way: bind, compile or find, allocate, run. */
#include "pipeline/pipeline.h"

#include <string.h>

void pl_note_rank(Fault *f, const Place *place, const char *name, const mlc_buffer *b, int rank) {
    int64_t n = 1;
    for (int d = 0; b->rank < 0 && d < MAX_RANK; d++) {
        int64_t extent = b->dim[d].extent;
        if (extent < 0) fault_note(f, ERR_CALL_EXTENT, place, name, d, (long long)extent);
        else if (__builtin_mul_overflow(n, extent ? extent : 1, &n) || n > INT64_MAX / 16) fault_note(f, ERR_CALL_SIZE, place, name, d);
        else continue;
        return;
    }
    fault_note(f, ERR_CALL_RANK, place, name, b->rank, rank);
}

static bool bind(Func *f, const mlc_buffer *buffer) {
    Fault *fault = &f->ctx->fault;
    Place place = { .object = "bind" };
    if (!f->is_input) {
        fault_note(fault, ERR_BIND_INPUT, &place, f->name);
        return false;
    }
    f->bound = NULL; /* after a refusal too: nothing runs on what was bound before */
    if (!buffer) return true;
    if (buffer->type != f->type[0]) {
        fault_note(fault, ERR_CALL_TYPE, &place, f->name, mlc_type_name(buffer->type), mlc_type_name(f->type[0]));
        return false;
    }
    if (buffer->rank != f->rank) {
        pl_note_rank(fault, &place, f->name, buffer, f->rank);
        return false;
    }
    if (!buffer->data && !buffer->device && mlc_buffer_count(buffer)) {
        fault_note(fault, ERR_CALL_NULL, &place, f->name);
        return false;
    }
    f->bound = (mlc_buffer *)(uintptr_t)buffer; /* only read */
    return true;
}

bool mlc_bind(mlc_func input, const mlc_buffer *buffer) {
    if (!input.f) return false;
    Fault *fault = &input.f->ctx->fault;
    bool began = fault_call_begin(fault), good = bind(input.f, buffer);
    fault_call_end(fault, began);
    return good;
}

void mlc_unbind(mlc_func input) {
    if (input.f) input.f->bound = NULL;
}

/* ---- output buffers that realize allocates ---- */

static mlc_buffer *first_of_rank(mlc_buffer *const *b, int n, int rank) {
    for (int i = 0; i < n; i++)
        if (b[i] && b[i]->rank == rank) return b[i];
    return NULL;
}

static mlc_buffer *new_buffer(Compile *c, const char *name, mlc_type type, int rank, const int64_t *extent) {
    mlc_buffer *b = mlc_buffer_new_with(&c->ctx->hook, type, rank, extent), wanted;
    if (b) return b;
    mlc_buffer_wrap(&wanted, NULL, type, rank, extent);
    Place place = { .object = name };
    if (wanted.rank >= 0) fault_raise(&c->fault, ERR_OUT_OF_MEMORY, &place, (size_t)mlc_buffer_count(&wanted) * mlc_type_size(type));
    pl_note_rank(&c->fault, NULL, name, &wanted, rank);
    fault_jump(&c->fault);
}

static mlc_buffer *allocate(Compile *c, const MetaSlot *s, mlc_buffer *const *all, int n) {
    int64_t extent[MAX_RANK], min[MAX_RANK] = { 0 };
    const mlc_buffer *like = first_of_rank(all, n, s->rank);
    for (int d = 0; d < s->rank; d++) {
        if (!s->has_extent[d] && !like) fault_raise(&c->fault, ERR_OUTPUT_SHAPE, NULL, s->name);
        extent[d] = s->has_extent[d] ? s->extent[d] : like->dim[d].extent;
        if (like) min[d] = like->dim[d].min;
    }
    mlc_buffer *b = new_buffer(c, s->name, s->type, s->rank, extent);
    for (int d = 0; d < s->rank; d++) b->dim[d].min = min[d];
    return b;
}

/* A descriptor without data gets memory; it keeps its shape. */
static void give_memory(Compile *c, const MetaSlot *s, mlc_buffer *b) {
    int64_t extent[MAX_RANK];
    if (b->type != s->type || b->rank != s->rank) return; /* refused by the call */
    for (int d = 0; d < b->rank; d++) extent[d] = b->dim[d].extent;
    mlc_buffer *fresh = new_buffer(c, s->name, s->type, b->rank, extent);
    for (int d = 0; d < b->rank; d++) fresh->dim[d].min = b->dim[d].min;
    bool heap = b->flags & MLC_BUFFER_HEAP;
    fresh->flags &= ~(uint32_t)MLC_BUFFER_HEAP;
    mlc_buffer copy = *fresh;
    c->ctx->hook.resize(c->ctx->hook.user, fresh, 0); /* the descriptor alone */
    *b = copy;
    if (heap) b->flags |= MLC_BUFFER_HEAP;
}

/* ---- running ---- */

static mlc_scalar *param_values(Compile *c, const Meta *m) {
    Meta now = *m;
    now.param = arena_copy(&c->arena, m->param, sizeof *m->param * (size_t)(m->n_params + 1));
    meta_take_values(&now, c->ctx);
    mlc_scalar *v = ARENA_ARRAY(&c->arena, mlc_scalar, m->n_params + 1);
    for (int i = 0; i < m->n_params; i++) {
        if (!now.param[i].has_value) fault_raise(&c->fault, ERR_PARAM_UNSET, NULL, now.param[i].name);
        v[i] = now.param[i].value;
    }
    return v;
}

static void run(Compile *c, mlc_module *m, mlc_buffer **buffers, int n) {
    const Meta *meta = &m->meta;
    mlc_buffer **all = ARENA_ARRAY(&c->arena, mlc_buffer *, meta->n_slots + (n > 0 ? n : 0) + 1);
    int inputs = 0;
    while (inputs < meta->n_slots && !meta->slot[inputs].is_output) {
        const Named *f = sm_get(&c->ctx->names, meta->slot[inputs].name);
        CHECK(&c->fault, f && f->kind == NAME_FUNC);
        if (!f->u.func->bound) fault_raise(&c->fault, ERR_INTERP_UNBOUND, NULL, f->u.func->name);
        all[inputs++] = f->u.func->bound;
    }
    if (!buffers || n < 0) n = 0; /* refused by the call */
    for (int i = 0; i < n; i++) {
        const MetaSlot *slot = inputs + i < meta->n_slots ? &meta->slot[inputs + i] : NULL; /* NULL: refused by the call */
        if (slot && !buffers[i]) buffers[i] = allocate(c, slot, buffers, n);
        else if (slot && buffers[i] && !buffers[i]->data && !buffers[i]->device) give_memory(c, slot, buffers[i]);
        all[inputs + i] = buffers[i];
    }
    if (module_run(m, NULL, inputs + n, all, meta->n_params, param_values(c, meta), &c->fault)) fault_jump(&c->fault);
}

static bool realize(mlc_plan *plan, int n_outputs, const mlc_func *outputs, mlc_buffer **buffers, int n,
                    const mlc_options *o) {
    Compile c;
    Barrier b;
    mlc_module *volatile m = NULL;
    volatile bool good = false;
    pl_open(&c, plan, n_outputs, outputs);
    bool began = c.ctx && fault_call_begin(&c.ctx->fault);
    if (FAULT_TRY(&c.fault, b)) {
        pl_begin(&c, plan, n_outputs, outputs, o);
        m = pl_find_or_compile(&c);
        run(&c, m, buffers, n);
        good = true;
        FAULT_END(&c.fault, b);
    }
    module_unref(m);
    if (!good && began) c.ctx->fault.info = c.fault.info;
    if (c.ctx) fault_call_end(&c.ctx->fault, began);
    pl_close(&c);
    return good;
}

bool mlc_realize_all(mlc_plan *plan, int n_outputs, const mlc_func *outputs, mlc_buffer **buffers, int n,
                     const mlc_options *o) {
    return realize(plan, n_outputs, outputs, buffers, n, o);
}

/* One Func, one buffer with memory: what would be allocated here nobody could free. */
static bool is_realizable(mlc_func f, const mlc_buffer *out) {
    if (!f.f) return true; /* refused later */
    Fault *fault = &f.f->ctx->fault;
    Place place = { .object = "realize" };
    bool began = fault_call_begin(fault);
    if (f.f->is_input) fault_note(fault, ERR_REALIZE_INPUT, &place, f.f->name);
    else if (f.f->n > 1) fault_note(fault, ERR_REALIZE_TUPLE, &place, f.f->name, f.f->n);
    else if (!out || (!out->data && !out->device && mlc_buffer_count(out))) fault_note(fault, ERR_CALL_NULL, &place, f.f->name);
    else return true;
    fault_call_end(fault, began);
    return false;
}

bool mlc_realize(mlc_func f, mlc_buffer *out, const mlc_options *o) {
    return is_realizable(f, out) && realize(NULL, 1, &f, &out, 1, o);
}

bool mlc_interpret(mlc_func f, mlc_buffer *out) {
    mlc_options o = { .target = "interpret" };
    mlc_plan none = { .ctx = f.f ? f.f->ctx : NULL };
    return none.ctx && is_realizable(f, out) && realize(&none, 1, &f, &out, 1, &o);
}
