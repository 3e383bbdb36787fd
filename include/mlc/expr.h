/* mlc/expr.h - expressions: C numbers, Vars and accesses combined by the operators of ops.def.
 *
 * A value of type mlc_expr is either a node of a context or a C number not yet in one (an immediate).
 * Operators take anything that MLC_E accepts: every C arithmetic type, mlc_var, mlc_param, mlc_expr.
 * The context comes from the operands; an expression of immediates alone folds inside the value. */
#ifndef MLC_EXPR_H
#define MLC_EXPR_H

#include <mlc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlc_node mlc_node;

/* `node` NULL: an immediate of type `type`, whose value is `imm`. */
typedef struct {
    mlc_ctx *ctx;
    const mlc_node *node;
    union {
        int64_t i;
        double f;
    } imm;
    mlc_type type;
} mlc_expr;

struct mlc_sym;
typedef struct {
    mlc_ctx *ctx;
    const struct mlc_sym *sym;
} mlc_var; /* a Var or an RVar */
typedef struct {
    mlc_ctx *ctx;
    const struct mlc_sym *sym;
} mlc_param;

#ifdef __cplusplus
}
#endif
#endif
