/* whole.h - calling the C function of an extern stage, which computes a box as a whole.
 *
 * Interpreters and compiled code call through here, so that all of them ask the same question.  Buffers are
 * described by plain arrays: `desc` is the number of inputs and of outputs, then a type and a rank a buffer. */
#ifndef WHOLE_H
#define WHOLE_H

#include "ir.h"

#include <mlc/func.h>

enum { WHOLE_MOST = 72 }; /* buffers of a stage: 8 arguments and the result, each of up to 8 elements */

/* Which number of a query is wanted: an end of a dimension of a buffer (inputs first), or how it went. */
enum {
    WHOLE_CODE = -1,  /* what the function returned */
    WHOLE_FAULT = -2, /* what is wrong with its answer, a WholeFault */
};
typedef enum { WHOLE_FINE, WHOLE_TYPE, WHOLE_FAR, WHOLE_SMALLER } WholeFault;
static inline int whole_end(int buffer, int dim, bool last) {
    return (buffer * MLC_MAX_RANK + dim) * 2 + last;
}

/* No answer reaches further from 0, so that no index made of it overflows. */
#define WHOLE_FAREST ((int64_t)1 << 40)

/* Asks for the box [lo, hi] a dimension of the outputs (`box`: lo, hi, lo, hi ...) and gives one number of the
 * answer.  Of an empty box nothing is asked, and so it is where the answer is no good: the output is the box, and
 * inputs go from WHOLE_FAREST down to -WHOLE_FAREST, which adds nothing to any box that it is united with. */
int64_t whole_query(void (*fn)(void), const int *desc, int which, const int64_t *box, const mlc_scalar *arg, unsigned mode);

/* Computes: `shape` holds min, extent and stride a dimension of each buffer.  Returns what the function does. */
int whole_run(void (*fn)(void), const int *desc, void *const *data, const int64_t *shape, const mlc_scalar *arg,
              unsigned mode);

#endif
