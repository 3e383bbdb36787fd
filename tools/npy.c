/* npy.c - NumPy's array files: a magic, a header that looks like a Python dict, the bytes. */
#include "file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code;
    mlc_type type;
} types[] = {
    { "|b1", MLC_BOOL }, { "|i1", MLC_I8 },  { "<i2", MLC_I16 }, { "<i4", MLC_I32 }, { "<i8", MLC_I64 },
    { "|u1", MLC_U8 },   { "<u2", MLC_U16 }, { "<u4", MLC_U32 }, { "<u8", MLC_U64 }, { "<f2", MLC_F16 },
    { "<V2", MLC_BF16 }, { "|V2", MLC_BF16 }, { "<f4", MLC_F32 }, { "<f8", MLC_F64 },
};
enum { TYPES = (int)(sizeof types / sizeof *types) };

static mlc_buffer *fail(char *why, const char *message) {
    snprintf(why, WHY, "%s", message);
    return NULL;
}

/* The text after 'key': in the header, NULL where there is none. */
static const char *field(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == '\'' || *at == '"') at++;
    if (*at++ != ':') return NULL;
    while (*at == ' ') at++;
    return at;
}

/* (3, 4, 5): how many numbers, -1 where it is no such thing. */
static int read_shape(const char *at, int64_t *shape) {
    int n = 0;
    if (*at++ != '(') return -1;
    for (;;) {
        while (*at == ' ' || *at == ',') at++;
        if (*at == ')') return n;
        char *end;
        long long v = strtoll(at, &end, 10);
        if (end == at || v < 0 || n == MLC_MAX_RANK) return -1;
        shape[n++] = v;
        at = *end == 'L' ? end + 1 : end;
    }
}

static mlc_buffer *build(const char *header, const unsigned char *data, size_t n, char *why) {
    const char *descr = field(header, "descr"), *order = field(header, "fortran_order"), *shape = field(header, "shape");
    int64_t extent[MLC_MAX_RANK], reversed[MLC_MAX_RANK];
    if (!descr || !order || !shape) return fail(why, "the header lacks descr, fortran_order or shape");
    mlc_type type = MLC_VOID;
    for (int i = 0; i < TYPES; i++)
        if ((*descr == '\'' || *descr == '"') && !strncmp(descr + 1, types[i].code, 3) && (descr[4] == '\'' || descr[4] == '"'))
            type = types[i].type;
    if (type == MLC_VOID) return fail(why, "the type of its elements is none of mlc's (little-endian numbers and bool)");
    int rank = read_shape(shape, extent);
    if (rank < 0) return fail(why, "the shape is no tuple of at most 8 sizes");
    bool fortran = !strncmp(order, "True", 4);
    for (int d = 0; d < rank; d++) reversed[d] = extent[fortran ? d : rank - 1 - d];
    uint64_t bytes = mlc_type_size(type);
    for (int d = 0; d < rank; d++)
        if (__builtin_mul_overflow(bytes, (uint64_t)reversed[d], &bytes)) return fail(why, "the shape is too large");
    if (bytes > n) return fail(why, "the file ends too early");
    mlc_buffer *b = mlc_buffer_new(type, rank, reversed);
    if (!b) return fail(why, "out of memory");
    if (bytes) memcpy(b->data, data, bytes);
    for (uint64_t i = 0; type == MLC_BOOL && i < bytes; i++) ((uint8_t *)b->data)[i] = ((uint8_t *)b->data)[i] != 0;
    return b;
}

mlc_buffer *npy_decode(const void *bytes, size_t n, char why[WHY]) {
    const unsigned char *p = bytes;
    if (n < 12 || memcmp(p, "\x93NUMPY", 6)) return fail(why, "it is no NPY file");
    size_t length = (size_t)p[8] | (size_t)p[9] << 8, at = 10;
    if (p[6] > 1) {
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
        at = 12;
    }
    if (p[6] < 1 || p[6] > 3) return fail(why, "its version is not 1, 2 or 3");
    if (length > n - at || length > 1 << 20) return fail(why, "the header ends too early");
    char *header = malloc(length + 1);
    if (!header) return fail(why, "out of memory");
    memcpy(header, p + at, length);
    header[length] = 0;
    mlc_buffer *b = build(header, p + at + length, n - at - length, why);
    free(header);
    return b;
}

bool npy_encode(FILE *f, const mlc_buffer *b, char why[WHY]) {
    char header[512];
    const char *code = NULL;
    for (int i = 0; i < TYPES && !code; i++)
        if (types[i].type == b->type) code = types[i].code;
    if (!code || b->rank < 0) {
        snprintf(why, WHY, "NPY has no elements of %s", mlc_type_name(b->type));
        return false;
    }
    int at = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (int d = b->rank - 1; d >= 0; d--)
        at += snprintf(header + at, sizeof header - (size_t)at, "%lld,%s", (long long)b->dim[d].extent, d ? " " : "");
    at += snprintf(header + at, sizeof header - (size_t)at, "), }");
    while ((at + 11) % 64) header[at++] = ' '; /* the data begins at a multiple of 64 */
    header[at++] = '\n';
    unsigned char magic[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(at & 255), (unsigned char)(at >> 8) };
    mlc_buffer *dense = mlc_buffer_new(b->type, b->rank, (int64_t[]){ b->dim[0].extent, b->dim[1].extent, b->dim[2].extent,
        b->dim[3].extent, b->dim[4].extent, b->dim[5].extent, b->dim[6].extent, b->dim[7].extent });
    bool good = dense && mlc_buffer_copy(dense, b);
    size_t bytes = good ? (size_t)mlc_buffer_count(dense) * mlc_type_size(b->type) : 0;
    good = good && fwrite(magic, 1, sizeof magic, f) == sizeof magic && fwrite(header, 1, (size_t)at, f) == (size_t)at &&
           fwrite(dense->data, 1, bytes, f) == bytes;
    if (!good) snprintf(why, WHY, dense ? "writing failed" : "out of memory");
    mlc_buffer_free(dense);
    return good;
}
