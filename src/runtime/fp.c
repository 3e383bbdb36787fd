/* fp.c - the floating-point mode of kernels: round to nearest, denormals kept, no traps.
 *
 * A host may have set flush-to-zero or another rounding; results must not depend on it. */
#include "runtime/runtime.h"

#if defined __SSE__ || defined __x86_64__

enum { MODE = 0x1f80 };

unsigned fp_enter(void) {
    unsigned old = __builtin_ia32_stmxcsr();
    if ((old & ~0x3fu) != MODE) __builtin_ia32_ldmxcsr(MODE);
    return old;
}

void fp_leave(unsigned old) {
    if ((old & ~0x3fu) != MODE) __builtin_ia32_ldmxcsr(old); /* sticky flags stay as the kernel left them */
}

#else
#include <fenv.h>

unsigned fp_enter(void) {
    unsigned old = (unsigned)fegetround();
    fesetround(FE_TONEAREST);
    return old;
}

void fp_leave(unsigned old) {
    fesetround((int)old);
}

#endif
