/* backend.h - what a target is to the floors above: functions from a lowered Program to something
 * that runs.  Both JITs sit behind this struct. */
#ifndef BACKEND_H
#define BACKEND_H

#include "lower/lower.h"

/* Instruction sets of x86-64 that the C generator knows.  AVX2 stands for x86-64-v3 (FMA, F16C), AVX512
 * for x86-64-v4 (F, BW, DQ, VL, CD). */
typedef enum { ISA_PLAIN, ISA_SSE4, ISA_AVX2, ISA_AVX512 } CpuIsa;

typedef struct {
    CpuIsa isa;
    bool is_gcc;             /* the compiler's dialect of builtins: gcc or clang */
    bool emit;               /* ahead of time: no hooks of mlc, plain loops or OpenMP pragmas */
    bool openmp;             /* with emit */
    const char *symbol;      /* name of the exported function */
    /* receives what a reader of the plan may want to know: "scalarised: ..."; may be NULL */
    void (*note)(void *user, const char *text);
    void *note_user;
} CgOptions;

/* What generated code is called with: see include/mlc/runtime.h for mlc_call.  A flat index counts from
 * the element that data[slot] points to; tuple element e of a Storage has slot + e; a param its Sym's slot.
 *
 * On failure the function returns error[0], the row of errors.def; error[1] is the number of the check,
 * counted from 0 over the program, error[2..5] its arguments (OUT_OF_MEMORY: error[2] the bytes).
 * The object also exports, so that a cached one explains itself without lowering:
 *   const char *const SYMBOL_text[]        two texts a check, "" where there is none (REQUIRE_FAILED: the message)
 *   void *SYMBOL_extern_NAME               one for each extern function used; the loader stores its address */

/* Prints a flat Program as one C11 translation unit that includes nothing. */
void cg_cpu(StrBuf *out, const Program *p, const CgOptions *o);
/* Prints the kernels of a flat Program as one CUDA C++ translation unit that includes nothing: NVRTC takes it as it is.
 * Nothing where there are none.  What cg_cpu prints of the same Program launches them, by number. */
void cg_cuda(StrBuf *out, const Program *p, const CgOptions *o);
/* What its function is called there, where C++ and CUDA have names of their own. */
const char *cg_kernel_name(Arena *a, const Kernel *k);
/* The header of an ahead-of-time unit (CgOptions.emit). */
/* Can a function that is emitted have this name? */
bool cg_is_name(const char *name);
void cg_emit_header(StrBuf *out, const Program *p, const CgOptions *o);

#endif
