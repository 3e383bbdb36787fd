/* arena.c - bump allocation with one lifetime: freed as a whole, never piecewise; a stack arena also down to a mark.
 * -DMLC_HARD makes chunks tiny and poisons freed memory, to give bugs a chance. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ArenaChunk {
    ArenaChunk *below;
    size_t used, size;
    _Alignas(16) unsigned char data[];
};

#ifdef MLC_HARD
enum { CHUNK = 64 };
#else
enum { CHUNK = 1 << 16 };
#endif

static void *libc_resize(void *user, void *old, size_t size) {
    (void)user;
    if (size) return realloc(old, size);
    free(old);
    return NULL;
}

const mlc_allocator mlc_allocator_libc = { libc_resize, NULL };

void arena_init(Arena *a, const mlc_allocator *hook, Fault *fault) {
    *a = (Arena){ .hook = hook ? *hook : mlc_allocator_libc, .fault = fault };
}

void arena_init_in(Arena *a, const mlc_allocator *hook, Fault *fault, void *space, size_t size) {
    arena_init(a, hook, fault);
    ArenaChunk *c = space;
    *c = (ArenaChunk){ .size = size - sizeof *c };
    a->top = a->own = c;
}

/* One of the first that were given back, if it has the room. */
static ArenaChunk *take_spare(Arena *a, size_t need) {
    ArenaChunk **at = &a->spare;
    for (int i = 0; *at && i < 64; i++, at = &(*at)->below) {
        ArenaChunk *c = *at;
        if (c->size < need) continue;
        *at = c->below;
        return c;
    }
    return NULL;
}

void *arena_alloc(Arena *a, size_t size) {
    if (size > SIZE_MAX / 4) fault_raise(a->fault, ERR_OUT_OF_MEMORY, NULL, size);
    size_t need = (size + 15) & ~(size_t)15;
    ArenaChunk *c = a->top;
    if (!c || c->size - c->used < need) {
        size_t room = need > CHUNK ? need : CHUNK;
        c = take_spare(a, need);
        if (!c) {
            c = a->hook.resize(a->hook.user, NULL, sizeof *c + room);
            if (!c) fault_raise(a->fault, ERR_OUT_OF_MEMORY, NULL, size);
            c->size = room;
        }
        c->used = 0;
        if (a->top && need > CHUNK && !a->stack) { /* a big block goes below, so the open chunk keeps filling */
            c->below = a->top->below;
            a->top->below = c;
        } else {
            c->below = a->top;
            a->top = c;
        }
    }
    void *p = c->data + c->used;
    c->used += need;
    a->bytes += need;
    return memset(p, 0, need);
}

void *arena_copy(Arena *a, const void *p, size_t size) {
    void *q = arena_alloc(a, size);
    return size ? memcpy(q, p, size) : q;
}

char *arena_str(Arena *a, const char *s) {
    return arena_copy(a, s, strlen(s) + 1);
}

char *arena_printf(Arena *a, const char *format, ...) {
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    char *s = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n > 0) vsnprintf(s, (size_t)n + 1, format, again);
    va_end(again);
    return s;
}

void arena_free(Arena *a) {
    for (ArenaChunk *c = a->top, *below; c; c = below) {
        below = c->below;
#ifdef MLC_HARD
        memset(c->data, 0xa5, c->size);
#endif
        if (c != a->own) a->hook.resize(a->hook.user, c, 0);
    }
    a->top = NULL;
    a->own = NULL;
    a->bytes = 0;
}

void vec_grow(Arena *a, void **at, int n, int *cap, size_t size) {
    if (n < *cap) return;
    int more = *cap ? *cap * 2 : 4;
    void *q = arena_alloc(a, size * (size_t)more);
    if (n) memcpy(q, *at, size * (size_t)n);
    *at = q;
    *cap = more;
}

/* ---- stacks ---- */

static void *resize_from(void *user, void *old, size_t size) {
    return size && !old ? arena_alloc(user, size) : NULL;
}

void arena_stack(Arena *a, Arena *from) {
    *a = (Arena){ .hook = { resize_from, from }, .fault = from->fault, .stack = true };
}

ArenaMark arena_mark(const Arena *a) {
    return (ArenaMark){ a->top, a->top ? a->top->used : 0 };
}

void arena_release(Arena *a, ArenaMark mark) {
    while (a->top != mark.top) {
        ArenaChunk *c = a->top;
        a->top = c->below;
        c->below = a->spare;
        a->spare = c;
#ifdef MLC_HARD
        memset(c->data, 0xa5, c->size);
#endif
    }
    if (!a->top) return;
#ifdef MLC_HARD
    memset(a->top->data + mark.used, 0xa5, a->top->used - mark.used);
#endif
    a->top->used = mark.used;
}
