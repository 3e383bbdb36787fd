/* tensor.h - the rows of tensor.def, and their fragment maps. */
#ifndef TENSOR_H
#define TENSOR_H

#include "ir/ir.h"
#include <mlc/schedule.h>

enum { TENSOR_MOST = 16 }; /* elements of an operand that one lane has, at most */
typedef enum { TENSOR_WARP = 32 } TensorScope; /* how many lanes run it together */
typedef enum { TENSOR_A, TENSOR_B, TENSOR_C } TensorOperand;

typedef struct {
    const char *name;
    TensorScope scope;
    int m, n, k;
    mlc_type ab, c;
    const char *map[3]; /* by TensorOperand */
    int arch;
    const char *code;
} TensorRow;
extern const TensorRow tensor_rows[MLC_TENSOR_COUNT];
extern const char *const tensor_names[MLC_TENSOR_COUNT];

int tensor_size(const TensorRow *r, char axis);                   /* of 'm', 'n', 'k' */
int tensor_elements(const TensorRow *r, TensorOperand operand);   /* that a lane has */
/* Where element `e` of a lane is along the axis: `lane` (an index expression) decides the rest of it. */
const Node *tensor_place(Interner *I, const TensorRow *r, TensorOperand operand, char axis, const Node *lane, int e);

#endif
