/* png.c - libFuzzer: no PNG, however broken, does more than fail with a message.
 *
 * libpng drops a chunk whose checksum is wrong before it looks at it, so a mutation is given right ones: each
 * chunk that still holds together, as far as the lengths lead. */
#include "file.h"

#include <stddef.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char why[WHY];
    mlc_buffer_free(png_decode(data, n, why));
    return 0;
}

enum { SIGNATURE = 8, LENGTH = 4, NAME = 4, SUM = 4 };

static size_t big_endian(const uint8_t *p) {
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    n = LLVMFuzzerMutate(data, n, most);
    if (seed % 16 == 0) return n; /* wrong sums are seen too */
    for (size_t at = SIGNATURE; at + LENGTH + NAME + SUM <= n;) {
        size_t length = big_endian(data + at);
        if (length > n - at - LENGTH - NAME - SUM) break;
        uint8_t *named = data + at + LENGTH, *end = named + NAME + length;
        unsigned long sum = crc32(0, named, (unsigned)(NAME + length));
        for (int i = 0; i < SUM; i++) end[i] = (uint8_t)(sum >> (24 - 8 * i));
        at += LENGTH + NAME + length + SUM;
    }
    return n;
}
