/* nvrtc_priv.h - the driver's functions and types, and what a device is made of: shared by the files of this floor.
 *
 * The declarations are ours, with the numbers of cuda.h, which never change: building needs no toolkit. */
#ifndef NVRTC_PRIV_H
#define NVRTC_PRIV_H

#include "nvrtc/nvrtc.h"

#include <stdatomic.h>
#include <sys/types.h>

typedef struct CuContextOf *CuContext;
typedef struct CuModuleOf *CuModule;
typedef struct CuFunctionOf *CuFunction;
typedef struct CuStreamOf *CuStream;
typedef struct CuPoolOf *CuPool;
typedef struct CuGraphOf *CuGraph;
typedef struct CuGraphExecOf *CuGraphExec;

enum { /* CUresult */
    CU_OK = 0, CU_INVALID_VALUE = 1, CU_OUT_OF_MEMORY = 2, CU_NOT_INITIALIZED = 3, CU_NO_DEVICE = 100
};
enum { /* CUdevice_attribute */
    CU_DEVICE_GRID_X = 5, CU_DEVICE_PROCESSORS = 16, CU_DEVICE_MAJOR = 75, CU_DEVICE_MINOR = 76, CU_DEVICE_SHARED_OPTIN = 97
};
enum { CU_FUNC_STATIC_SHARED = 1, CU_FUNC_MAX_DYNAMIC_SHARED = 8 }; /* CUfunction_attribute */
enum { CU_POOL_RELEASE_THRESHOLD = 4, CU_POOL_RESERVED = 5 };       /* CUmemPool_attribute */
enum { CU_POINTER_MEMORY_TYPE = 2 };                                /* CUpointer_attribute */

typedef struct { /* CUmemPoolProps */
    int alloc_type, handle_types;
    struct {
        int type, id;
    } location;
    void *security;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
} CuPoolProps;
enum { CU_ALLOC_PINNED = 1, CU_LOCATION_DEVICE = 1 };

typedef struct { /* CUgraphExecUpdateResultInfo */
    int result;
    void *node, *from;
} CuUpdateInfo;

typedef struct {
    void *library;
    int version; /* 13000 */
#define DRIVER(name, params) int(*name) params;
#include "nvrtc/driver.def"
#undef DRIVER
} NvDriver;

/* Loads and starts the driver; raises CUDA_MISSING, CUDA_NO_DEVICE, CUDA_FAILED.  `ordinal`: the device that is wanted. */
void nv_driver_open(NvDriver *v, int ordinal, Fault *f);
void nv_driver_close(NvDriver *v);
/* CUDA_ERROR_..., and what it means in words. */
const char *nv_driver_error(const NvDriver *v, int error, const char **text);
/* Notes CUDA_FAILED of what failed. */
void nv_note(const NvDriver *v, int error, const char *what, int ordinal, Fault *f);

struct NvDevice {
    mlc_allocator hook;
    NvDriver driver;
    CuContext context;
    bool primary; /* the context is the device's own, which is given back */
    pid_t pid;    /* a child of fork cannot use it: nv_is_ours */
    const volatile unsigned char *page; /* 1 here, 0 in such a child; NULL: the system has no such pages */
    bool wait;    /* MLC_GPU_WAIT: each launch waits, so that an error names its kernel */
    CuPool pool;
    NvDeviceInfo info;
    _Atomic int64_t count[NV_COUNTS];
};

/* ---- finding files (nv_find.c) ---- */

/* take: true where the file at a path will do.  The patterns are below the root of a toolkit, and below nvidia/cu13 or
 * nvidia/PACKAGE of a Python environment. */
typedef struct {
    bool (*take)(void *user, const char *path);
    void *user;
    const char *in_toolkit, *package, *in_python;
} NvSearch;
/* Each pattern that was tried joins `looked`. */
bool nv_search(const NvSearch *s, Arena *a, StrBuf *looked);
/* The folder that a shell would start the program from; NULL: none. */
const char *nv_folder_of(Arena *a, const char *program);

/* False in a child of fork, where the driver must not be called. */
bool nv_is_ours(const NvDevice *d);

#endif
