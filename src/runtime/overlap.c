/* overlap.c - do two strided boxes share a byte?
 *
 * The distance of two elements is a sum of stride * difference of indices, each difference in a known
 * interval, plus one term of stride 1 for the bytes inside an element.  Overlap asks whether the sum
 * can be zero.  Terms are tried from the greatest stride down: what is left must be within reach of the
 * smaller ones, so for usual layouts each term has one or two candidates.  A search that grows too
 * large answers "yes", the safe side. */
#include "runtime/runtime.h"

enum { MAX_TERMS = 2 * MLC_MAX_RANK + 1, MAX_STEPS = 20000 };

typedef struct {
    int64_t stride, lo, hi; /* stride > 0 bytes, lo <= factor <= hi */
} Term;

typedef struct {
    Term at[MAX_TERMS];
    int n, steps;
    bool vast; /* beyond what an address space holds: not worth an answer */
} Sum;

enum { VAST_BITS = 60 };

/* Adds stride * [lo, hi]. */
static void add_term(Sum *s, int64_t stride, int64_t lo, int64_t hi) {
    if (stride == 0 || (lo == 0 && hi == 0)) return;
    int64_t a, b;
    if (__builtin_mul_overflow(stride, lo, &a) || __builtin_mul_overflow(stride, hi, &b) || stride == INT64_MIN ||
        a >> VAST_BITS != a >> 63 || b >> VAST_BITS != b >> 63)
        s->vast = true;
    if (stride < 0) {
        int64_t t = lo;
        stride = -stride;
        lo = -hi;
        hi = -t;
    }
    int i = 0;
    while (i < s->n && s->at[i].stride > stride) i++;
    if (i < s->n && s->at[i].stride == stride) {
        s->at[i].lo += lo;
        s->at[i].hi += hi;
        return;
    }
    for (int j = s->n++; j > i; j--) s->at[j] = s->at[j - 1];
    s->at[i] = (Term){ stride, lo, hi };
}

static int64_t floor_div(int64_t a, int64_t b) { /* b > 0 */
    return a / b - (a % b < 0);
}

/* Can terms i.. sum to `target`? */
static bool reaches(Sum *s, int i, int64_t target) {
    if (i == s->n) return target == 0;
    if (s->vast || ++s->steps > MAX_STEPS) return true;
    int64_t least = 0, most = 0;
    for (int j = i + 1; j < s->n; j++) {
        if (__builtin_add_overflow(least, s->at[j].stride * s->at[j].lo, &least) ||
            __builtin_add_overflow(most, s->at[j].stride * s->at[j].hi, &most))
            return true;
    }
    const Term *t = &s->at[i];
    int64_t from, to; /* what stride * k must be */
    if (__builtin_sub_overflow(target, most, &from) || __builtin_sub_overflow(target, least, &to)) return true;
    int64_t a = -floor_div(-from, t->stride), b = floor_div(to, t->stride);
    if (a < t->lo) a = t->lo;
    if (b > t->hi) b = t->hi;
    for (int64_t k = a; k <= b; k++) {
        if (reaches(s, i + 1, target - k * t->stride)) return true;
    }
    return false;
}

static bool empty(const mlc_buffer *b) {
    for (int d = 0; d < b->rank; d++)
        if (b->dim[d].extent <= 0) return true;
    return false;
}

/* Two different indices of one buffer at one address: some first dimension (in the order of strides)
 * differs by at least one. */
static bool overlaps_itself(const mlc_buffer *b) {
    int64_t size = (int64_t)mlc_type_size(b->type);
    for (int lead = 0; lead < b->rank; lead++) {
        if (b->dim[lead].extent <= 1) continue;
        if (b->dim[lead].stride == 0) return true;
        Sum s = { .n = 0 };
        add_term(&s, 1, -(size - 1), size - 1);
        for (int d = lead + 1; d < b->rank; d++)
            add_term(&s, b->dim[d].stride * size, -(b->dim[d].extent - 1), b->dim[d].extent - 1);
        /* lead's difference is 1 + [0, extent - 2] */
        add_term(&s, b->dim[lead].stride * size, 0, b->dim[lead].extent - 2);
        if (reaches(&s, 0, -b->dim[lead].stride * size)) return true;
    }
    return false;
}

bool mlc_buffer_overlap(const mlc_buffer *a, const mlc_buffer *b) {
    if (empty(a) || empty(b) || !a->data || !b->data) return false;
    if (a == b) return overlaps_itself(a);
    int64_t as = (int64_t)mlc_type_size(a->type), bs = (int64_t)mlc_type_size(b->type);
    Sum s = { .n = 0 };
    add_term(&s, 1, -(bs - 1), as - 1);
    for (int d = 0; d < a->rank; d++) add_term(&s, a->dim[d].stride * as, 0, a->dim[d].extent - 1);
    for (int d = 0; d < b->rank; d++) add_term(&s, -b->dim[d].stride * bs, 0, b->dim[d].extent - 1);
    return reaches(&s, 0, (int64_t)((intptr_t)b->data - (intptr_t)a->data));
}
