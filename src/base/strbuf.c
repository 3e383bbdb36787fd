/* strbuf.c - a string that grows in an arena. */
#include "base.h"

#include <stdio.h>
#include <string.h>

static void reserve(StrBuf *b, size_t more) {
    if (b->n + more + 1 <= b->cap) return;
    size_t cap = (b->cap ? b->cap * 2 : 128) + more;
    char *at = arena_alloc(b->arena, cap);
    if (b->n) memcpy(at, b->at, b->n);
    b->at = at;
    b->cap = cap;
}

void sb_init(StrBuf *b, Arena *a) {
    *b = (StrBuf){ .arena = a };
    reserve(b, 0);
}

void sb_putn(StrBuf *b, const char *s, size_t n) {
    reserve(b, n);
    if (n) memcpy(b->at + b->n, s, n);
    b->n += n;
    b->at[b->n] = 0;
}

void sb_puts(StrBuf *b, const char *s) {
    sb_putn(b, s, strlen(s));
}

void sb_vprintf(StrBuf *b, const char *format, va_list ap) {
    va_list again;
    va_copy(again, ap);
    size_t room = b->cap - b->n; /* as a rule it fits: then it is formatted once */
    int n = vsnprintf(b->at + b->n, room, format, ap);
    if (n > 0 && (size_t)n >= room) {
        reserve(b, (size_t)n);
        vsnprintf(b->at + b->n, (size_t)n + 1, format, again);
    }
    b->n += n > 0 ? (size_t)n : 0;
    va_end(again);
}

void sb_printf(StrBuf *b, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    sb_vprintf(b, format, ap);
    va_end(ap);
}
