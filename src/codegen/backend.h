/* backend.h - what a target is to the floors above: functions from a lowered Program to something
 * that runs.  Both JITs sit behind this struct. */
#ifndef BACKEND_H
#define BACKEND_H

#include "lower/lower.h"

/* Instruction sets of x86-64 that the C generator knows. */
typedef enum { ISA_PLAIN, ISA_SSE4, ISA_AVX2, ISA_AVX512 } CpuIsa;

typedef struct {
    CpuIsa isa;
    bool is_gcc;             /* the compiler's dialect of builtins: gcc or clang */
    bool emit;               /* ahead of time: no hooks of mlc, plain loops or OpenMP pragmas */
    bool openmp;             /* with emit */
    const char *symbol;      /* name of the exported function */
} CgOptions;

/* What generated code is called with: two arrays.  See include/mlc/runtime.h for mlc_call. */

/* Prints a flat Program as one C11 translation unit that includes nothing. */
void cg_cpu(StrBuf *out, const Program *p, const CgOptions *o);

#endif
