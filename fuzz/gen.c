/* gen.c - the generator's numbers, drawn from one state, and its text. */
#include "gen.h"

#include <stdarg.h>
#include <stdio.h>

uint64_t gen_next(Gen *g) { /* splitmix64 */
    uint64_t z = (g->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int gen_below(Gen *g, int n) {
    return n > 0 ? (int)(gen_next(g) % (uint64_t)n) : 0;
}

void gen_put(Gen *g, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int room = GEN_TEXT - g->n, n = vsnprintf(g->text + g->n, (size_t)room, format, ap);
    va_end(ap);
    if (n > 0) g->n += n < room ? n : room - 1;
}
