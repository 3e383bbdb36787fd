/* fake_cuda.h - how tests steer the driver of fake_cuda.c: dlopen the file, take "fake_cuda", set what is wanted. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_ARGS = 64 };

/* A kernel: runs the whole grid.  An error that it returns is reported as a real one's: late, and to all that follows. */
typedef int FakeKernel(const unsigned grid[3], const unsigned block[3], unsigned shared, void **args);

typedef struct {
    const char *name;
    FakeKernel *run;
    int n_args, static_shared;
    size_t arg_size[FAKE_ARGS];
    int dynamic; /* as cuFuncSetAttribute left it */
} FakeFunction;

typedef struct {
    int64_t calls;                     /* of the driver's functions, all together */
    int64_t allocations, from_system;  /* cuMemAllocFromPoolAsync; those that no kept block could serve */
    int64_t live, live_bytes;          /* blocks that were not given back */
    int64_t kept_bytes;                /* that pools keep beyond that */
    int64_t launches, copies_there, copies_home, bytes_there, bytes_home, waits;
    int64_t replays, instantiated;     /* of graphs */
    int streams, graphs;               /* not destroyed; graphs: those that run too */
    int modules, pools, primary;       /* not ended: references of primary contexts */
} FakeStats;

typedef struct {
    void (*reset)(void); /* everything as at first; forgets what lives */
    FakeStats (*stats)(void);
    void (*devices)(int n);
    void (*memory)(size_t bytes);                      /* of each device */
    void (*function)(const FakeFunction *f);           /* every module has it, beside its own */
    void (*let_fail)(const char *function, int nth, int error); /* its nth call, counted from 0, or any function's: NULL */
    void (*pin)(const void *p, size_t bytes);          /* page-locked memory; NULL: none */
    void *(*context)(int device);                      /* a context of the program's own */
    void *(*current)(void);                            /* the thread's context */
    void (*set_current)(void *context);
    int (*depth)(void);                                /* contexts on the thread's stack */
    int (*attribute)(const char *function, int which); /* as cuFuncSetAttribute left it */
    int64_t (*queued)(void *stream);                   /* what waits in a stream */
    void (*wait)(void *stream);                        /* as a program does that has its own */
} FakeCuda;

const FakeCuda *fake_cuda(void);

#endif
