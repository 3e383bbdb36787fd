/* parse.c - libFuzzer on the text language: whatever the bytes are, they parse or give an error, and what
 * parses prints as text that reads back to the same text.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address -D_GNU_SOURCE -Iinclude -Isrc fuzz/parse.c \
 *         src/base/*.c src/ir/*.c src/algorithm/*.c src/schedule/*.c src/runtime/*.c -lffi -lm */
#include "base/base.h"

#include <mlc/text.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_PLANS = 64, MAX_OUTPUTS = 16 };

static const char *print_program(mlc_ctx *ctx, const mlc_program *p) {
    mlc_func out[MAX_OUTPUTS];
    mlc_plan *plan[MAX_PLANS];
    int n = mlc_program_n_outputs(p), m = mlc_program_n_plans(p);
    if (n > MAX_OUTPUTS || m > MAX_PLANS) return NULL;
    for (int i = 0; i < n; i++) out[i] = mlc_program_output(p, i);
    for (int i = 0; i < m; i++) plan[i] = mlc_program_plan(p, i);
    return mlc_program_print(ctx, n, out, m, plan);
}

static void read_back(const char *one) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, one, NULL);
    const char *two = p ? print_program(ctx, p) : NULL;
    if (!two || strcmp(one, two)) abort(); /* the finding */
    mlc_ctx_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mlc_ctx *ctx = mlc_ctx_new();
    char *text = malloc(size + 1);
    if (!ctx || !text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    mlc_program *p = mlc_program_parse(ctx, text, NULL);
    const char *one = p ? print_program(ctx, p) : NULL;
    if (one) read_back(one);
    else if (!mlc_error_code(ctx) && p == NULL) abort();
    if (mlc_error_code(ctx) == ERR_INTERNAL) abort();
    free(text);
    mlc_ctx_free(ctx);
    return 0;
}
