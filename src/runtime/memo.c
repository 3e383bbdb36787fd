/* memo.c - values kept from call to call: what stands behind memoize.
 *
 * An entry holds the values of one Func over one box, and its key: a copy of all that they were made of, so that keys are
 * compared whole and a digest only says which to compare.  A call enters with a key and finds values, or gets memory
 * to compute them in; when they are computed it keeps them, and in either case it leaves when it has read them.  A call
 * that fails leaves without keeping.  Calls that miss the same values at the same time all compute them, since none waits
 * for another, and the first to end keeps its own.
 *
 * Past the limit the entries that were used longest ago are dropped; memory of one in use goes with its last user.
 *
 * A child of fork may find the lock held by a thread that it does not have, which left the lists in any state.  It begins
 * with none, and the memory of its parent's entries stays lost to it. */
#include "runtime/runtime.h"

#include <string.h>
#include <xxhash.h>

enum { BUCKETS = 64 };
static const size_t first_limit = (size_t)256 << 20;

typedef struct Entry Entry;
struct Entry {
    Entry *newer, *older;   /* on the list of those that are kept */
    Entry *next;            /* in its bucket, or on a list of those to free */
    uint64_t digest;
    char *key;
    size_t key_bytes, bytes; /* bytes: all of it */
    int64_t evict;
    bool has_evict, kept;
    int users, n;
    void *data[]; /* n arrays */
};

struct Memo {
    Heap *heap;
    Lock lock;
    size_t limit, bytes;
    int64_t entries;
    _Atomic int64_t hits, misses;
    Entry *newest, *oldest, *bucket[BUCKETS];
};

Memo *memo_new(Heap *heap) {
    Memo *m = heap_alloc(heap, sizeof *m);
    if (!m) return NULL;
    *m = (Memo){ .heap = heap, .limit = first_limit };
    lock_init(&m->lock);
    return m;
}

static void lock(Memo *m) {
    if (!lock_take(&m->lock)) return;
    m->newest = m->oldest = NULL;
    memset(m->bucket, 0, sizeof m->bucket);
    m->bytes = 0;
    m->entries = 0;
}

/* ---- keys: numbers, then for each input the shape of what is read of it and the elements ---- */

enum { MOST_BITS = 46 }; /* more bytes than any memory has */

/* Of a region; one of stride 0 may have any number. */
static int64_t elements(const int64_t *extent, int64_t rank) {
    int64_t n = 1, most = (int64_t)1 << MOST_BITS;
    for (int64_t d = 0; d < rank; d++)
        if (extent[2 * d] <= 0) return 0;
    for (int64_t d = 0; d < rank; d++)
        if (__builtin_mul_overflow(n, extent[2 * d], &n) || n > most) n = most;
    return n;
}

static size_t key_size(const mlc_memo *k) {
    size_t n = (size_t)k->n_words * sizeof *k->word;
    const int64_t *s = k->shape;
    for (int i = 0; i < k->n_inputs; i++, s += 2 + 2 * s[1])
        n += (size_t)(2 + s[1]) * sizeof *s + (size_t)(s[0] * elements(s + 2, s[1]));
    return n;
}

static char *put(char *to, const void *from, size_t n) {
    if (n) memcpy(to, from, n);
    return to + n;
}

/* Extents and strides a dimension stand behind one another in `dim`. */
static char *put_region(char *to, const char *from, int64_t size, int64_t rank, const int64_t *dim) {
    if (!rank) return put(to, from, (size_t)size);
    const int64_t n = dim[2 * rank - 2], stride = dim[2 * rank - 1] * size;
    if (rank == 1 && dim[1] == 1) return put(to, from, n > 0 ? (size_t)(n * size) : 0);
    for (int64_t i = 0; i < n; i++) to = put_region(to, from + i * stride, size, rank - 1, dim);
    return to;
}

static void pack(const mlc_memo *k, char *to) {
    const int64_t *s = k->shape;
    to = put(to, k->word, (size_t)k->n_words * sizeof *k->word);
    for (int i = 0; i < k->n_inputs; i++, s += 2 + 2 * s[1]) {
        to = put(to, s, 2 * sizeof *s);
        for (int64_t d = 0; d < s[1]; d++) to = put(to, &s[2 + 2 * d], sizeof *s);
        if (elements(s + 2, s[1])) to = put_region(to, k->input[i], s[0], s[1], s + 2);
    }
}

/* ---- entries ---- */

static void free_entry(Memo *m, Entry *e) {
    for (int i = 0; i < e->n; i++) heap_release(m->heap, e->data[i]);
    heap_release(m->heap, e->key);
    heap_release(m->heap, e);
}

static void free_list(Memo *m, Entry *e) {
    for (Entry *next; e; e = next) {
        next = e->next;
        free_entry(m, e);
    }
}

/* With its key, and no memory for values yet. */
static Entry *new_entry(Memo *m, const mlc_memo *k) {
    size_t size = sizeof(Entry) + (size_t)k->n * sizeof(void *);
    Entry *e = heap_alloc(m->heap, size);
    if (!e) return NULL;
    memset(e, 0, size);
    e->n = k->n;
    e->evict = k->evict;
    e->has_evict = k->has_evict;
    e->users = 1;
    e->key_bytes = key_size(k);
    e->bytes = size + e->key_bytes;
    e->key = heap_alloc(m->heap, e->key_bytes);
    if (e->key) {
        pack(k, e->key);
        e->digest = XXH3_64bits(e->key, e->key_bytes);
        return e;
    }
    free_entry(m, e);
    return NULL;
}

/* One that may have the same key. */
static Entry *look(const Memo *m, const Entry *as) {
    Entry *e = m->bucket[as->digest % BUCKETS];
    while (e && (e->digest != as->digest || e->key_bytes != as->key_bytes)) e = e->next;
    return e;
}

static void put_first(Memo *m, Entry *e) {
    e->newer = NULL;
    e->older = m->newest;
    *(m->newest ? &m->newest->newer : &m->oldest) = e;
    m->newest = e;
}

static void take_out(Memo *m, Entry *e) {
    *(e->newer ? &e->newer->older : &m->newest) = e->older;
    *(e->older ? &e->older->newer : &m->oldest) = e->newer;
}

/* Not to be found any more; on the list `free` where nobody uses it. */
static void drop(Memo *m, Entry *e, Entry **free) {
    Entry **at = &m->bucket[e->digest % BUCKETS];
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    take_out(m, e);
    e->kept = false;
    m->bytes -= e->bytes;
    m->entries--;
    if (e->users) return;
    e->next = *free;
    *free = e;
}

static void shrink(Memo *m, Entry **free) {
    while (m->bytes > m->limit) drop(m, m->oldest, free);
}

/* ---- a call ---- */

/* The kept entry of this key, in use, or NULL.  Keys may be long, so they are compared without the lock. */
static Entry *use(Memo *m, const Entry *as) {
    lock(m);
    Entry *e = look(m, as);
    if (e) {
        e->users++;
        take_out(m, e);
        put_first(m, e);
    }
    lock_leave(&m->lock);
    if (!e || !memcmp(e->key, as->key, as->key_bytes)) return e;
    memo_leave(m, e);
    return NULL;
}

static bool get_memory(Memo *m, Entry *e, const int64_t *bytes) {
    for (int i = 0; i < e->n; i++) {
        e->data[i] = heap_alloc(m->heap, (size_t)bytes[i]);
        e->bytes += (size_t)bytes[i];
        if (!e->data[i]) return false;
    }
    return true;
}

int memo_enter(Memo *m, const mlc_memo *k, void **entry, void **data) {
    Entry *mine = new_entry(m, k);
    if (!mine) return -1;
    Entry *kept = use(m, mine), *e = kept ? kept : mine;
    bool good = kept || get_memory(m, mine, k->bytes);
    atomic_fetch_add_explicit(kept ? &m->hits : &m->misses, 1, memory_order_relaxed);
    if (kept || !good) free_entry(m, mine);
    for (int i = 0; i < k->n && good; i++) data[i] = e->data[i];
    *entry = e;
    return good ? kept != NULL : -1;
}

void memo_keep(Memo *m, void *entry) {
    Entry *e = entry, *free = NULL;
    lock(m);
    if (e->bytes <= m->limit && !look(m, e)) {
        e->kept = true;
        e->next = m->bucket[e->digest % BUCKETS];
        m->bucket[e->digest % BUCKETS] = e;
        put_first(m, e);
        m->bytes += e->bytes;
        m->entries++;
        shrink(m, &free);
    }
    lock_leave(&m->lock);
    free_list(m, free);
}

void memo_leave(Memo *m, void *entry) {
    Entry *e = entry;
    lock(m);
    bool last = --e->users == 0 && !e->kept;
    lock_leave(&m->lock);
    if (last) free_entry(m, e);
}

/* ---- from outside of calls ---- */

void memo_limit(Memo *m, size_t bytes) {
    Entry *free = NULL;
    lock(m);
    m->limit = bytes;
    shrink(m, &free);
    lock_leave(&m->lock);
    free_list(m, free);
}

void memo_evict(Memo *m, const int64_t *key) {
    Entry *free = NULL;
    lock(m);
    for (Entry *e = m->newest, *older; e; e = older) {
        older = e->older;
        if (!key || (e->has_evict && e->evict == *key)) drop(m, e, &free);
    }
    lock_leave(&m->lock);
    free_list(m, free);
}

mlc_memo_stats memo_stats(Memo *m) {
    lock(m);
    mlc_memo_stats s = { m->entries, (int64_t)m->bytes, atomic_load(&m->hits), atomic_load(&m->misses) };
    lock_leave(&m->lock);
    return s;
}

void memo_free(Memo *m) {
    if (!m) return;
    memo_evict(m, NULL);
    lock_end(&m->lock);
    heap_release(m->heap, m);
}
