/* mlc/func.h - Funcs, inputs, params, reduction domains and their definitions. */
#ifndef MLC_FUNC_H
#define MLC_FUNC_H

#include <mlc/expr.h>

#ifdef __cplusplus
extern "C" {
#endif

struct Func;
typedef struct {
    struct Func *f;
} mlc_func;
/* One definition of a Func: stage 0 is the pure one, stage i + 1 the update i. */
typedef struct {
    struct Func *f;
    int stage;
} mlc_stage;

#ifdef __cplusplus
}
#endif
#endif
