/* dlpack.c - arrays in and out, without copying.
 *
 * The structures are DLPack's version 0 ABI, declared here so that no header of its is needed. */
#include "runtime/runtime.h"

#include <string.h>

typedef struct {
    int32_t type, id; /* type 1: host memory; 2: that of CUDA device `id` */
} DlDevice;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DlType;

typedef struct {
    void *data;
    DlDevice device;
    int32_t ndim;
    DlType dtype;
    int64_t *shape, *strides; /* strides in elements; NULL: dense, last dimension innermost */
    uint64_t byte_offset;
} DlTensor;

typedef struct DlManaged {
    DlTensor tensor;
    void *manager;
    void (*deleter)(struct DlManaged *self);
} DlManaged;

enum { DL_HOST = 1, DL_CUDA = 2, DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

static const DlType types[MLC_TYPE_COUNT] = {
    [MLC_BOOL] = { DL_BOOL, 8, 1 },  [MLC_I8] = { DL_INT, 8, 1 },     [MLC_I16] = { DL_INT, 16, 1 },
    [MLC_I32] = { DL_INT, 32, 1 },   [MLC_I64] = { DL_INT, 64, 1 },   [MLC_U8] = { DL_UINT, 8, 1 },
    [MLC_U16] = { DL_UINT, 16, 1 },  [MLC_U32] = { DL_UINT, 32, 1 },  [MLC_U64] = { DL_UINT, 64, 1 },
    [MLC_F16] = { DL_FLOAT, 16, 1 }, [MLC_BF16] = { DL_BFLOAT, 16, 1 }, [MLC_F32] = { DL_FLOAT, 32, 1 },
    [MLC_F64] = { DL_FLOAT, 64, 1 },
};

static mlc_type type_of(DlType t) {
    for (int i = MLC_BOOL; i <= MLC_F64; i++)
        if (types[i].code == t.code && types[i].bits == t.bits && types[i].lanes == t.lanes) return (mlc_type)i;
    return MLC_VOID;
}

typedef struct {
    BufferOwner owner;
    DlManaged *tensor;
} TensorOwner;

static void drop_tensor(BufferOwner *o) {
    DlManaged *t = ((TensorOwner *)(void *)o)->tensor;
    if (t->deleter) t->deleter(t);
    mlc_allocator_libc.resize(NULL, o, 0);
}

mlc_buffer *mlc_buffer_from_dlpack(void *tensor) {
    DlManaged *m = tensor;
    const DlTensor *t = &m->tensor;
    mlc_type type = type_of(t->dtype);
    bool cuda = t->device.type == DL_CUDA;
    if ((t->device.type != DL_HOST && !cuda) || type == MLC_VOID || t->ndim < 0 || t->ndim > MLC_MAX_RANK) return NULL;
    mlc_buffer *b = mlc_allocator_libc.resize(NULL, NULL, sizeof *b);
    TensorOwner *own = b ? mlc_allocator_libc.resize(NULL, NULL, sizeof *own) : NULL;
    if (!own) {
        if (b) mlc_allocator_libc.resize(NULL, b, 0);
        return NULL;
    }
    *own = (TensorOwner){ .owner = { .drop = drop_tensor, .heap = mlc_allocator_libc }, .tensor = m };
    *b = (mlc_buffer){ .type = type, .rank = t->ndim, .flags = MLC_BUFFER_OWNED | MLC_BUFFER_HEAP, .owner = own };
    if (cuda) b->device = (uint64_t)(uintptr_t)t->data + t->byte_offset, b->flags |= MLC_BUFFER_DEVICE_DIRTY;
    else b->data = (char *)t->data + t->byte_offset;
    int64_t dense = 1;
    for (int d = 0; d < b->rank; d++) {
        int from = b->rank - 1 - d;
        b->dim[d] = (mlc_dim_t){ 0, t->shape[from], t->strides ? t->strides[from] : dense };
        dense *= t->shape[from];
    }
    return b;
}

typedef struct {
    DlManaged m;
    int64_t shape[MLC_MAX_RANK], strides[MLC_MAX_RANK];
    BufferOwner *owner; /* what the buffer owned of this memory, NULL: nothing */
} Export;

static void drop_export(DlManaged *m) {
    Export *e = m->manager;
    if (e->owner) e->owner->drop(e->owner);
    mlc_allocator_libc.resize(NULL, e, 0);
}

void *mlc_buffer_to_dlpack(mlc_buffer *b) {
    if (b->type <= MLC_VOID || b->type > MLC_F64 || b->rank < 0) return NULL;
    Export *e = mlc_allocator_libc.resize(NULL, NULL, sizeof *e);
    if (!e) return NULL;
    memset(e, 0, sizeof *e);
    bool heap = b->flags & MLC_BUFFER_HEAP, owned = b->flags & MLC_BUFFER_OWNED;
    /* A descriptor of another allocator would lose its way to be freed. */
    if (owned && heap && ((BufferOwner *)b->owner)->heap.resize != mlc_allocator_libc.resize) {
        mlc_allocator_libc.resize(NULL, e, 0);
        return NULL;
    }
    for (int d = 0; d < b->rank; d++) {
        e->shape[b->rank - 1 - d] = b->dim[d].extent;
        e->strides[b->rank - 1 - d] = b->dim[d].stride;
    }
    bool cuda = b->device && (!b->data || b->flags & MLC_BUFFER_DEVICE_DIRTY);
    if (cuda && b->device_owner) {
        e->owner = b->device_owner;
        b->device_owner = NULL;
    } else if (owned && (!cuda || !b->data)) {
        e->owner = b->owner;
        b->owner = NULL;
        b->flags &= ~(uint32_t)MLC_BUFFER_OWNED;
    }
    void *data = cuda ? (void *)(uintptr_t)b->device : b->data;
    e->m = (DlManaged){ .tensor = { .data = data, .device = { cuda ? DL_CUDA : DL_HOST, 0 }, .ndim = b->rank, .dtype = types[b->type],
                                    .shape = e->shape, .strides = e->strides },
                        .manager = e, .deleter = drop_export };
    return &e->m;
}
