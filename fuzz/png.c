/* png.c - libFuzzer: no PNG, however broken, does more than fail with a message. */
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char why[WHY];
    mlc_buffer_free(png_decode(data, n, why));
    return 0;
}
