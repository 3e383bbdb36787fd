/* array.c - files to buffers and back, whatever their format, and the conversions that pictures need. */
#include "file.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *file_bytes(const char *path, size_t *n, char why[WHY]) {
    FILE *f = fopen(path, "rb");
    char *p = NULL;
    size_t cap = 0, most = (size_t)4 << 30;
    *n = 0;
    while (f) {
        if (*n == cap) {
            char *q = cap < most ? realloc(p, cap = cap ? cap * 2 : 1 << 16) : NULL;
            if (!q) {
                errno = cap < most ? ENOMEM : EFBIG;
                break;
            }
            p = q;
        }
        size_t k = fread(p + *n, 1, cap - *n, f);
        *n += k;
        if (k) continue;
        if (ferror(f)) break;
        fclose(f);
        return p;
    }
    snprintf(why, WHY, "%s", strerror(errno));
    if (f) fclose(f);
    free(p);
    return NULL;
}

bool file_replace(const char *path, bool (*write)(FILE *f, const mlc_buffer *b, char why[WHY]), const mlc_buffer *b,
                  char why[WHY]) {
    size_t n = strlen(path);
    char *part = malloc(n + 6);
    if (!part) return false;
    memcpy(part, path, n);
    memcpy(part + n, ".part", 6);
    FILE *f = fopen(part, "wb");
    bool good = f && write(f, b, why);
    if (!f) snprintf(why, WHY, "%s", strerror(errno));
    if (f && fclose(f) && good) {
        snprintf(why, WHY, "%s", strerror(errno));
        good = false;
    }
    if (good && rename(part, path)) {
        snprintf(why, WHY, "%s", strerror(errno));
        good = false;
    }
    if (f && !good) remove(part);
    free(part);
    return good;
}

mlc_buffer *array_read(const char *path, char why[WHY]) {
    size_t n;
    char *p = file_bytes(path, &n, why);
    if (!p) return NULL;
    mlc_buffer *b = NULL;
    if (n >= 8 && !memcmp(p, "\x89PNG\r\n\x1a\n", 8)) b = png_decode(p, n, why);
    else if (n >= 6 && !memcmp(p, "\x93NUMPY", 6)) b = npy_decode(p, n, why);
    else snprintf(why, WHY, "it is neither PNG nor NPY");
    free(p);
    return b;
}

static bool ends_in(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n > k && !strcmp(path + n - k, end);
}

bool array_writable(const char *path, const mlc_buffer *b, char why[WHY]) {
    bool png = ends_in(path, ".png");
    if (!png && !ends_in(path, ".npy")) {
        snprintf(why, WHY, "the name ends in neither .png nor .npy");
        return false;
    }
    const char *slash = strrchr(path, '/');
    char folder[4096] = ".";
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    if (access(folder, W_OK)) {
        snprintf(why, WHY, "%s", strerror(errno));
        return false;
    }
    return !png || png_holds(b, why);
}

bool array_write(const char *path, const mlc_buffer *b, char why[WHY]) {
    return array_writable(path, b, why) && file_replace(path, ends_in(path, ".png") ? png_encode : npy_encode, b, why);
}

/* ---- elements as numbers ---- */

static double from_bits(uint32_t sign_exp_frac) {
    float f;
    memcpy(&f, &sign_exp_frac, sizeof f);
    return f;
}

static double half_value(uint16_t h) {
    int e = h >> 10 & 31;
    double f = h & 1023, v = e == 31 ? (f > 0 ? (double)NAN : (double)INFINITY) : e ? ldexp(f + 1024, e - 25) : ldexp(f, -24);
    return h & 0x8000 ? -v : v;
}

#define GET(TYPE, C) case TYPE: { C v; memcpy(&v, p, sizeof v); return (double)v; }
double element_get(mlc_type t, const void *p) {
    uint16_t h;
    switch (t) {
    GET(MLC_BOOL, uint8_t) GET(MLC_I8, int8_t) GET(MLC_I16, int16_t) GET(MLC_I32, int32_t) GET(MLC_I64, int64_t)
    GET(MLC_U8, uint8_t) GET(MLC_U16, uint16_t) GET(MLC_U32, uint32_t) GET(MLC_U64, uint64_t)
    GET(MLC_F32, float) GET(MLC_F64, double)
    case MLC_F16: memcpy(&h, p, 2); return half_value(h);
    case MLC_BF16: memcpy(&h, p, 2); return from_bits((uint32_t)h << 16);
    default: return 0;
    }
}

static double clamped(double v, double lo, double hi) {
    return v > lo ? (v < hi ? v : hi) : lo; /* a NaN becomes lo */
}

#define PUT(TYPE, C, LO, HI) case TYPE: { C x = (C)clamped(nearbyint(v), LO, HI); memcpy(p, &x, sizeof x); return; }
void element_set(mlc_type t, void *p, double v) {
    switch (t) {
    PUT(MLC_BOOL, uint8_t, 0, 1) PUT(MLC_I8, int8_t, -128, 127) PUT(MLC_I16, int16_t, -32768, 32767)
    PUT(MLC_I32, int32_t, -0x1p31, 0x7fffffff) PUT(MLC_I64, int64_t, -0x1p63, 0x7ffffffffffffc00)
    PUT(MLC_U8, uint8_t, 0, 255) PUT(MLC_U16, uint16_t, 0, 65535) PUT(MLC_U32, uint32_t, 0, 0xffffffff)
    PUT(MLC_U64, uint64_t, 0, 0xfffffffffffff800)
    case MLC_F32: { float x = (float)v; memcpy(p, &x, sizeof x); return; }
    case MLC_F64: memcpy(p, &v, sizeof v); return;
    case MLC_BF16: {
        float x = (float)v;
        uint32_t u;
        memcpy(&u, &x, sizeof u);
        if (x == x) u += 0x7fff + (u >> 16 & 1);
        uint16_t h = (uint16_t)(u >> 16);
        memcpy(p, &h, 2);
        return;
    }
    case MLC_F16: {
        double a = fabs(v), unit = a < 0x1p-14 ? 0x1p-24 : ldexp(1, ilogb(a) - 10), r = nearbyint(a / unit) * unit;
        int bits = a != a ? 0x7e00 : a == 0 ? 0 : r >= 65536 || isinf(a) ? 0x7c00 : r < 0x1p-14 ? (int)(r * 0x1p24)
                   : (ilogb(r) + 15) << 10 | ((int)ldexp(r, 10 - ilogb(r)) & 1023);
        uint16_t h = (uint16_t)(bits | (signbit(v) ? 0x8000 : 0));
        memcpy(p, &h, 2);
        return;
    }
    default: return;
    }
}

/* What one unit of a picture's element is worth: a float is 0..1. */
static double scale_of(mlc_type from, mlc_type to) {
    double white = from == MLC_U8 ? 255 : from == MLC_U16 ? 65535 : 0;
    if (white > 0 && to >= MLC_F16 && to <= MLC_F64) return 1 / white;
    if (from == MLC_U8 && to == MLC_U16) return 257;
    if (from == MLC_U16 && to == MLC_U8) return 1 / 257.;
    return 1;
}

static mlc_buffer *convert(mlc_buffer *b, mlc_type type, char why[WHY]) {
    int64_t extent[MLC_MAX_RANK] = { 0 };
    for (int d = 0; d < b->rank; d++) extent[d] = b->dim[d].extent;
    mlc_buffer *r = mlc_buffer_new(type, b->rank, extent);
    int64_t n = r ? mlc_buffer_count(r) : 0;
    double scale = scale_of(b->type, type);
    size_t from = mlc_type_size(b->type), to = mlc_type_size(type);
    for (int64_t i = 0; i < n; i++)
        element_set(type, (char *)r->data + (size_t)i * to, element_get(b->type, (char *)b->data + (size_t)i * from) * scale);
    if (!r) snprintf(why, WHY, "out of memory");
    mlc_buffer_free(b);
    return r;
}

mlc_buffer *array_fit(mlc_buffer *b, mlc_type type, int rank, char why[WHY]) {
    if (b->rank == 2 && rank == 3) { /* a grey picture where planes are wanted */
        b->dim[2] = (mlc_dim_t){ 0, 1, b->dim[0].extent * b->dim[1].extent };
        b->rank = 3;
    }
    if (b->rank == 3 && rank == 2 && b->dim[2].extent == 1) b->rank = 2;
    if (b->rank != rank) {
        snprintf(why, WHY, "it has %d dimension%s, and the program wants %d", b->rank, b->rank == 1 ? "" : "s", rank);
        mlc_buffer_free(b);
        return NULL;
    }
    bool picture = b->type == MLC_U8 || b->type == MLC_U16, both = type >= MLC_BOOL && type <= MLC_F64;
    if (b->type == type) return b;
    if (picture && both) return convert(b, type, why);
    snprintf(why, WHY, "it holds %s, and the program wants %s", mlc_type_name(b->type), mlc_type_name(type));
    mlc_buffer_free(b);
    return NULL;
}
