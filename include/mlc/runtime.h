/* mlc/runtime.h - buffers, and the call that generated code receives.
 *
 * A buffer describes memory that its user owns (mlc_wrap) or that mlc allocated (mlc_buffer_new). */
#ifndef MLC_RUNTIME_H
#define MLC_RUNTIME_H

#include <mlc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MLC_MAX_RANK = 8 };

/* One dimension: indices run over [min, min + extent); stride is in elements, may be negative. */
typedef struct {
    int64_t min, extent, stride;
} mlc_dim_t;

enum { /* mlc_buffer.flags */
    MLC_BUFFER_OWNED = 1,       /* data was allocated by mlc_buffer_new */
    MLC_BUFFER_HOST_DIRTY = 2,  /* reserved for device copies */
    MLC_BUFFER_DEVICE_DIRTY = 4
};

typedef struct mlc_buffer {
    void *data;          /* the element at index (min, min, ...) */
    mlc_type type;
    int rank;
    mlc_dim_t dim[MLC_MAX_RANK];
    uint32_t flags;
    uint64_t device;     /* reserved: device address */
    void *owner;         /* what mlc_buffer_free releases: our allocation, or a DLPack tensor */
} mlc_buffer;

/* A scalar argument. */
typedef union {
    int64_t i; /* bool, integers, index */
    double f;  /* floats, exact */
} mlc_scalar;

/* What a call needs from the process around it; every module carries its context's hooks.
 * Generated code calls only these, so it links against nothing. */
typedef struct {
    void *user;
    /* Runs body(closure, i) for i in [0, n) in any order, on any threads; returns the first non-zero
     * result (the others may be skipped), 0 otherwise. */
    int (*par_for)(void *user, int (*body)(void *closure, int64_t i), void *closure, int64_t n);
    /* Memory for intermediates: 64-byte aligned, NULL when out. */
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *p);
    /* print(): label, then n values as text of their types. */
    void (*print)(void *user, const char *label, int n, const mlc_type *type, const mlc_scalar *value);
} mlc_hooks;

/* The argument of a compiled kernel: `int NAME(mlc_call *)`, 0 on success.  Slot s is buffer s
 * (inputs, then outputs, a slot a tuple element). */
typedef struct {
    void *const *data;           /* per slot: address of the element at the mins */
    const int64_t *shape;        /* per slot MLC_MAX_RANK * 3 values: min, extent, stride a dimension */
    const mlc_scalar *param;     /* scalar params, by slot */
    const mlc_hooks *hooks;
    /* on failure: the row of errors.def, the number of the check within the module, its arguments */
    int64_t error[6];
} mlc_call;

#ifdef __cplusplus
}
#endif
#endif
