/* heap.c - memory for intermediates: 64-byte aligned, and kept for the next call.
 *
 * The first touch of fresh pages costs more than many kernels, so freed blocks wait on a list by size
 * class, up to a bound.  Under a sanitizer and in the hardened build nothing is kept and nothing is
 * rounded up, so that a store past the end is seen.
 *
 * Nobody waits for the list for long: who does not get it goes to the hook.  So a child of fork gets memory even where
 * a thread that it does not have held the lock. */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdint.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define EXACT 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined MLC_HARD
#define EXACT 1
#endif
#ifndef EXACT
#define EXACT 0
#endif

enum { ALIGN = 64, CLASSES = 8 * 40, SPINS = 400 };
static const size_t keep_at_most = (size_t)512 << 20;

typedef struct Block {
    struct Block *next;
    void *raw; /* what the hook gave */
    size_t size;
    int cls;
} Block; /* lies right below the bytes handed out */
_Static_assert(sizeof(Block) <= ALIGN, "the header fits below an aligned block");

struct Heap {
    mlc_allocator hook;
    pthread_mutex_t lock;
    size_t kept;
    Block *free[CLASSES];
};

Heap *heap_new(const mlc_allocator *hook) {
    Heap *h = hook->resize(hook->user, NULL, sizeof *h);
    if (!h) return NULL;
    *h = (Heap){ .hook = *hook };
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

void heap_free(Heap *h) {
    if (!h) return;
    for (int c = 0; c < CLASSES; c++) {
        for (Block *b = h->free[c], *next; b; b = next) {
            next = b->next;
            h->hook.resize(h->hook.user, b->raw, 0);
        }
    }
    pthread_mutex_destroy(&h->lock);
    h->hook.resize(h->hook.user, h, 0);
}

/* Eight classes an octave above 512 bytes: at most an eighth is lost. */
static int size_class(size_t bytes, size_t *rounded) {
    size_t units = (bytes + ALIGN - 1) / ALIGN; /* of 64 bytes */
    if (units < 8) units = 8;
    int octave = 63 - __builtin_clzl(units);    /* >= 3 */
    size_t step = (size_t)1 << (octave - 3);
    size_t up = (units + step - 1) / step * step;
    int at = (int)(up / step) - 8;              /* 0..8 */
    *rounded = up * ALIGN;
    return (octave - 3) * 8 + at;
}

static bool lock(Heap *h) {
    for (int i = 0; i < SPINS; i++) {
        if (!pthread_mutex_trylock(&h->lock)) return true;
        rt_relax();
    }
    return false;
}

void *heap_alloc(Heap *h, size_t bytes) {
    if (bytes > (size_t)1 << 46) return NULL;
    size_t size = bytes ? bytes : 1;
    int cls = EXACT ? 0 : size_class(size, &size);
    if (!EXACT && lock(h)) {
        Block *b = h->free[cls];
        if (b) {
            h->free[cls] = b->next;
            h->kept -= b->size;
        }
        pthread_mutex_unlock(&h->lock);
        if (b) return (char *)b + ALIGN;
    }
    char *raw = h->hook.resize(h->hook.user, NULL, size + 2 * ALIGN);
    if (!raw) return NULL;
    char *p = (char *)(((uintptr_t)raw + 2 * ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    Block *b = (Block *)(void *)(p - ALIGN);
    *b = (Block){ .raw = raw, .size = size, .cls = cls };
    return p;
}

void heap_release(Heap *h, void *p) {
    if (!p) return;
    Block *b = (Block *)(void *)((char *)p - ALIGN);
    bool keep = false;
    if (!EXACT && lock(h)) {
        keep = h->kept + b->size <= keep_at_most;
        if (keep) {
            b->next = h->free[b->cls];
            h->free[b->cls] = b;
            h->kept += b->size;
        }
        pthread_mutex_unlock(&h->lock);
    }
    if (!keep) h->hook.resize(h->hook.user, b->raw, 0);
}
