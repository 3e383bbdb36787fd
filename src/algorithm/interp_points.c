/* interp_points.c - sets of points of the oracle: a box that grows, and a mask of what was asked.
 *
 * A Func without updates is computed exactly where it is read, so that a read out of an input's range
 * is an error only if the program really makes it; Funcs with updates are computed over boxes. */
#include "interp.h"

#include <string.h>

/* More points than this in one box cannot be meant for an interpreter; it stops endless growth too. */
static const int64_t LARGEST = (int64_t)1 << 28;

int64_t points_of(Oracle *o, const Func *f, int rank, const int64_t *extent) {
    int64_t n = 1;
    for (int d = 0; d < rank; d++) {
        if (extent[d] <= 0) return 0;
        if (__builtin_mul_overflow(n, extent[d], &n) || n > LARGEST) {
            Place at = eval_place(o, f, NULL);
            fault_raise(o->fault, ERR_INTERP_BOX, &at, f->name, d, (long long)extent[d]);
        }
    }
    return n;
}

int64_t points_at(int rank, const int64_t *min, const int64_t *extent, const int64_t *p) {
    int64_t at = 0;
    for (int d = rank - 1; d >= 0; d--) {
        uint64_t i = (uint64_t)p[d] - (uint64_t)min[d];
        if (i >= (uint64_t)extent[d]) return -1;
        at = at * extent[d] + (int64_t)i;
    }
    return at;
}

bool points_next(int n, const int64_t *min, const int64_t *extent, int64_t *p) {
    for (int d = 0; d < n; d++) {
        if (++p[d] < min[d] + extent[d]) return true;
        p[d] = min[d];
    }
    return false;
}

/* Copies the mask into a larger one that holds [lo, hi] and some room on the side that grew. */
static void grow_mask(Oracle *o, Realised *r) {
    int rank = r->f->rank;
    int64_t min[MAX_RANK], extent[MAX_RANK], p[MAX_RANK];
    for (int d = 0; d < rank; d++) {
        int64_t old = r->mask ? r->mask_extent[d] : 0, first = r->lo[d], last = r->hi[d];
        if (old && first >= r->mask_min[d]) first = r->mask_min[d];
        else first -= old / 2;
        if (old && last < r->mask_min[d] + old) last = r->mask_min[d] + old - 1;
        else last += old / 2;
        min[d] = first;
        if (__builtin_sub_overflow(last, first, &extent[d])) extent[d] = INT64_MAX - 1;
        extent[d]++;
    }
    uint8_t *mask = ARENA_ARRAY(o->arena, uint8_t, points_of(o, r->f, rank, extent));
    memcpy(p, r->mask_min, sizeof p);
    if (r->mask)
        do {
            uint8_t old = r->mask[points_at(rank, r->mask_min, r->mask_extent, p)];
            if (old) mask[points_at(rank, min, extent, p)] = old;
        } while (points_next(rank, r->mask_min, r->mask_extent, p));
    r->mask = mask;
    memcpy(r->mask_min, min, sizeof min);
    memcpy(r->mask_extent, extent, sizeof extent);
}

void points_ask(Oracle *o, Realised *r, const int64_t *p) {
    int rank = r->f->rank;
    bool wider = !r->any;
    for (int d = 0; d < rank; d++) {
        if (!r->any || p[d] < r->lo[d]) r->lo[d] = p[d], wider = true;
        if (!r->any || p[d] > r->hi[d]) r->hi[d] = p[d], wider = true;
    }
    r->any = true;
    r->grew |= wider;
    if (r->f->def.n > 1 || alg_is_whole(r->f)) return;
    int64_t at = r->mask ? points_at(rank, r->mask_min, r->mask_extent, p) : -1;
    if (at < 0) {
        grow_mask(o, r);
        at = points_at(rank, r->mask_min, r->mask_extent, p);
    }
    r->grew |= !r->mask[at];
    r->mask[at] = 1;
}

bool points_asked(const Realised *r, const int64_t *p) {
    if (!r->mask) return true;
    int64_t at = points_at(r->f->rank, r->mask_min, r->mask_extent, p);
    return at >= 0 && r->mask[at];
}
