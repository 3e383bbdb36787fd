/* kernels.h - texts whose plans have kernels (kernels.c). */
#ifndef KERNELS_H
#define KERNELS_H

#include "../../fuzz/case.h"

/* What is at hand to compile and to run kernels. */
typedef struct {
    const char *build;       /* the folder of what is built */
    bool device;             /* run on the GPU that is here, rather than on what stands in for one */
    int texts, compiled, run;
    char no_nvrtc[1024], no_run[128]; /* why nothing was compiled, or run */
} Kernels;

typedef struct {
    int64_t launches, there, home; /* kernels, copies to the device, copies to the host */
} KernelCounts;

/* For architectures by turns: sm_90a, for every tenth text sm_80 and sm_100a too.  Fails the case where NVRTC does. */
void kernels_compile(Kernels *k, Case *c, const char *name);
/* By mlc_compile and mlc_run.  True where counts were made. */
bool kernels_run(Kernels *k, Case *c, KernelCounts *counts);
/* A line for each thing that was skipped. */
void kernels_report(const Kernels *k);

#endif
