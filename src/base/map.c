/* map.c - open-addressing maps in an arena, and the hash they share. */
#define XXH_INLINE_ALL
#include "base.h"

#include <string.h>
#include <xxhash.h>

#ifdef MLC_HARD
enum { FIRST = 2 };
#else
enum { FIRST = 16 };
#endif

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) {
    return XXH3_64bits_withSeed(p, n, seed);
}

static uint32_t ptr_hash(const void *key) {
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

void pm_init(PtrMap *m, Arena *a) {
    *m = (PtrMap){ .arena = a };
}

/* The slot that holds `key`, or the free one where it belongs.  Needs cap > n. */
static uint32_t pm_slot(const PtrMap *m, const void *key) {
    uint32_t i = ptr_hash(key) & (m->cap - 1);
    while (m->key[i] && m->key[i] != key) i = (i + 1) & (m->cap - 1);
    return i;
}

void *pm_get(const PtrMap *m, const void *key) {
    return m->n ? m->val[pm_slot(m, key)] : NULL;
}

bool pm_has(const PtrMap *m, const void *key) {
    return m->n && m->key[pm_slot(m, key)] == key;
}

void pm_put(PtrMap *m, const void *key, void *val) {
    if (2 * (m->n + 1) > m->cap) {
        PtrMap big = { .arena = m->arena, .cap = m->cap ? 2 * m->cap : FIRST, .n = m->n };
        big.key = ARENA_ARRAY(m->arena, const void *, big.cap);
        big.val = ARENA_ARRAY(m->arena, void *, big.cap);
        for (uint32_t i = 0; i < m->cap; i++) {
            if (!m->key[i]) continue;
            uint32_t s = pm_slot(&big, m->key[i]);
            big.key[s] = m->key[i];
            big.val[s] = m->val[i];
        }
        *m = big;
    }
    uint32_t s = pm_slot(m, key);
    m->n += !m->key[s];
    m->key[s] = key;
    m->val[s] = val;
}

void sm_init(StrMap *m, Arena *a) {
    *m = (StrMap){ .arena = a };
}

static uint32_t sm_slot(const StrMap *m, const char *key) {
    uint32_t i = (uint32_t)hash_bytes(key, strlen(key), 0) & (m->cap - 1);
    while (m->key[i] && strcmp(m->key[i], key)) i = (i + 1) & (m->cap - 1);
    return i;
}

void *sm_get(const StrMap *m, const char *key) {
    return m->n ? m->val[sm_slot(m, key)] : NULL;
}

void sm_put(StrMap *m, const char *key, void *val) {
    if (2 * (m->n + 1) > m->cap) {
        StrMap big = { .arena = m->arena, .cap = m->cap ? 2 * m->cap : FIRST, .n = m->n };
        big.key = ARENA_ARRAY(m->arena, const char *, big.cap);
        big.val = ARENA_ARRAY(m->arena, void *, big.cap);
        for (uint32_t i = 0; i < m->cap; i++) {
            if (!m->key[i]) continue;
            uint32_t s = sm_slot(&big, m->key[i]);
            big.key[s] = m->key[i];
            big.val[s] = m->val[i];
        }
        *m = big;
    }
    uint32_t s = sm_slot(m, key);
    if (!m->key[s]) {
        m->key[s] = arena_str(m->arena, key);
        m->n++;
    }
    m->val[s] = val;
}

/* How many letters to insert, drop, change or swap with their neighbour; 99 where b has over 63. */
static int distance(const char *a, const char *b) {
    int row[3][64], n = (int)strlen(b); /* of the last three letters of a */
    if (n > 63) return 99;
    for (int j = 0; j <= n; j++) row[0][j] = j;
    int i = 1;
    for (; a[i - 1]; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = last[j] < now[j - 1] ? last[j] + 1 : now[j - 1] + 1;
            if (change < now[j]) now[j] = change;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < now[j]) now[j] = before[j - 2] + 1;
        }
    }
    return row[(i + 2) % 3][n];
}

const char *mlc_nearest_name(const char *word, const char *const *names, int n) {
    const char *best = NULL;
    int least = ((int)strlen(word) + 1) / 3 + 1; /* of four letters one may be wrong, of five two */
    for (int i = 0; i < n; i++) {
        int d = distance(word, names[i]);
        if (!d) continue; /* it is there, but is none of what is wanted */
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

const char *did_you_mean(Arena *a, const char *word, const char *const *names, int n) {
    const char *near = mlc_nearest_name(word, names, n);
    return near ? arena_printf(a, " (did you mean '%s'?)", near) : "";
}
