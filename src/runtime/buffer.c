/* buffer.c - buffers: making, freeing, and views that change a descriptor alone.
 *
 * What a buffer owns begins with a BufferOwner, whose drop function knows how to release it: our own
 * allocation and a DLPack tensor are freed the same way. */
#include "runtime/runtime.h"

#include <stdint.h>
#include <string.h>

enum { ALIGN = 64 };

typedef struct {
    BufferOwner owner;
    mlc_allocator hook;
} OwnMemory;

static void drop_memory(BufferOwner *o) {
    mlc_allocator hook = ((OwnMemory *)(void *)o)->hook;
    hook.resize(hook.user, o, 0);
}

/* Fills a dense descriptor and its size in bytes; false where the shape is none. */
static bool dense(mlc_buffer *b, mlc_type type, int rank, const int64_t *extent, size_t *bytes) {
    *b = (mlc_buffer){ .type = type, .rank = rank };
    int64_t n = 1;
    bool none = false;
    if (rank < 0 || rank > MLC_MAX_RANK || mlc_type_size(type) == 0) return false;
    for (int d = 0; d < rank; d++) {
        if (extent[d] < 0) return false;
        none = none || extent[d] == 0;
        b->dim[d] = (mlc_dim_t){ .extent = extent[d], .stride = n };
        if (__builtin_mul_overflow(n, extent[d] ? extent[d] : 1, &n)) return false;
    }
    if (n > INT64_MAX / 16) return false;
    *bytes = none ? 0 : (size_t)n * mlc_type_size(type);
    return true;
}

mlc_buffer *mlc_buffer_new_with(const mlc_allocator *allocator, mlc_type type, int rank, const int64_t *extent) {
    mlc_allocator hook = allocator ? *allocator : mlc_allocator_libc;
    mlc_buffer shape;
    size_t bytes;
    if (!dense(&shape, type, rank, extent, &bytes)) return NULL;
    mlc_buffer *b = hook.resize(hook.user, NULL, sizeof *b);
    OwnMemory *own = b ? hook.resize(hook.user, NULL, sizeof *own + ALIGN + bytes) : NULL;
    if (!own) {
        if (b) hook.resize(hook.user, b, 0);
        return NULL;
    }
    *own = (OwnMemory){ .owner = { .drop = drop_memory, .heap = hook }, .hook = hook };
    *b = shape;
    b->flags = MLC_BUFFER_OWNED | MLC_BUFFER_HEAP;
    b->owner = own;
    b->data = (void *)(((uintptr_t)(own + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    memset(b->data, 0, bytes);
    return b;
}

mlc_buffer *mlc_buffer_new(mlc_type type, int rank, const int64_t *extent) {
    return mlc_buffer_new_with(NULL, type, rank, extent);
}

void mlc_buffer_leave_device(mlc_buffer *b) {
    BufferOwner *owner = b ? b->device_owner : NULL;
    if (!b) return;
    b->device_owner = NULL;
    b->device = 0;
    b->flags &= ~(uint32_t)(MLC_BUFFER_HOST_DIRTY | MLC_BUFFER_DEVICE_DIRTY);
    if (owner) owner->drop(owner);
}

void mlc_buffer_free(mlc_buffer *b) {
    if (!b) return;
    BufferOwner *owner = b->flags & MLC_BUFFER_OWNED ? b->owner : NULL;
    mlc_allocator hook = owner ? owner->heap : mlc_allocator_libc;
    bool heap = b->flags & MLC_BUFFER_HEAP;
    mlc_buffer_leave_device(b);
    b->flags = 0;
    b->owner = b->data = NULL;
    if (owner) owner->drop(owner);
    if (heap) hook.resize(hook.user, b, 0);
}

mlc_buffer *mlc_buffer_wrap(mlc_buffer *b, void *data, mlc_type type, int rank, const int64_t *extent) {
    size_t bytes;
    if (!dense(b, type, rank, extent, &bytes)) {
        b->rank = -1; /* refused at bind, where a message can be given: of these */
        for (int d = 0; d < rank && d < MLC_MAX_RANK; d++) b->dim[d].extent = extent[d];
    }
    b->data = data;
    return b;
}

/* ---- views ---- */

mlc_buffer mlc_buffer_view(const mlc_buffer *b) {
    mlc_buffer v = *b;
    v.flags &= ~(uint32_t)(MLC_BUFFER_OWNED | MLC_BUFFER_HEAP);
    v.owner = v.device_owner = NULL;
    return v;
}

static void advance(mlc_buffer *b, int64_t elements) {
    int64_t bytes = elements * (int64_t)mlc_type_size(b->type);
    if (b->data) b->data = (char *)b->data + bytes;
    if (b->device) b->device += (uint64_t)bytes;
}

static bool has_dim(const mlc_buffer *b, int d) {
    return d >= 0 && d < b->rank;
}

bool mlc_buffer_crop(mlc_buffer *b, int d, int64_t min, int64_t extent) {
    if (!has_dim(b, d) || extent < 0) return false;
    mlc_dim_t *m = &b->dim[d];
    int64_t skip, end;
    if (min < m->min || __builtin_sub_overflow(min, m->min, &skip) || __builtin_add_overflow(skip, extent, &end) ||
        end > m->extent)
        return false;
    if (extent) advance(b, skip * m->stride); /* an empty crop points nowhere: keep the address inside */
    m->min = min;
    m->extent = extent;
    return true;
}

bool mlc_buffer_slice(mlc_buffer *b, int d, int64_t at) {
    if (!has_dim(b, d) || at < b->dim[d].min || at - b->dim[d].min >= b->dim[d].extent) return false;
    advance(b, (at - b->dim[d].min) * b->dim[d].stride);
    for (int i = d; i + 1 < b->rank; i++) b->dim[i] = b->dim[i + 1];
    b->dim[--b->rank] = (mlc_dim_t){ 0 };
    return true;
}

bool mlc_buffer_transpose(mlc_buffer *b, int d, int e) {
    if (!has_dim(b, d) || !has_dim(b, e)) return false;
    mlc_dim_t t = b->dim[d];
    b->dim[d] = b->dim[e];
    b->dim[e] = t;
    return true;
}

bool mlc_buffer_stride(mlc_buffer *b, int d, int64_t step) {
    int64_t stride;
    if (!has_dim(b, d) || step < 1 || __builtin_mul_overflow(b->dim[d].stride, step, &stride)) return false;
    mlc_dim_t *m = &b->dim[d];
    m->extent = m->extent > 0 ? (m->extent - 1) / step + 1 : 0;
    m->stride = stride;
    return true;
}

bool mlc_buffer_set_min(mlc_buffer *b, int d, int64_t min) {
    int64_t end;
    if (!has_dim(b, d) || __builtin_add_overflow(min, b->dim[d].extent, &end)) return false;
    b->dim[d].min = min;
    return true;
}

/* ---- reading ---- */

void *mlc_buffer_at(const mlc_buffer *b, const int64_t *index) {
    int64_t at = 0;
    for (int d = 0; d < b->rank; d++) at += (index[d] - b->dim[d].min) * b->dim[d].stride;
    return (char *)b->data + at * (int64_t)mlc_type_size(b->type);
}

int64_t mlc_buffer_count(const mlc_buffer *b) {
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++) n *= b->dim[d].extent;
    return n;
}

/* One row of dimension 0, then the others as an odometer. */
bool mlc_buffer_copy(mlc_buffer *to, const mlc_buffer *from) {
    if (to->type != from->type || to->rank != from->rank) return false;
    for (int d = 0; d < to->rank; d++)
        if (to->dim[d].extent != from->dim[d].extent) return false;
    size_t size = mlc_type_size(to->type);
    int64_t i[MLC_MAX_RANK] = { 0 }, row = to->rank ? to->dim[0].extent : 1;
    bool together = to->rank == 0 || (to->dim[0].stride == 1 && from->dim[0].stride == 1);
    if (mlc_buffer_count(to) <= 0) return true;
    for (;;) {
        int64_t t = 0, f = 0;
        for (int d = 1; d < to->rank; d++) t += i[d] * to->dim[d].stride, f += i[d] * from->dim[d].stride;
        char *p = (char *)to->data + t * (int64_t)size;
        const char *q = (const char *)from->data + f * (int64_t)size;
        if (together) {
            memcpy(p, q, (size_t)row * size);
        } else {
            int64_t ps = to->dim[0].stride * (int64_t)size, qs = from->dim[0].stride * (int64_t)size;
            for (int64_t x = 0; x < row; x++) memcpy(p + x * ps, q + x * qs, size);
        }
        int d = 1;
        while (d < to->rank && ++i[d] == to->dim[d].extent) i[d++] = 0;
        if (d >= to->rank) return true;
    }
}
