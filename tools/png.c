/* png.c - PNG in and out: 8 and 16 bits, grey, RGB and RGBA, planar in memory. */
#include "file.h"

#include <png.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 1 << 28, MOST_DEFLATE = 1032 }; /* deflate makes at most 1032 bytes of one */

/* What libpng calls back with; `row` and `out` are released on every way out. */
typedef struct {
    const unsigned char *at, *end;
    int64_t size; /* of the file */
    char *why;
    jmp_buf env;
    unsigned char *pixels;
    png_bytep *row;
    mlc_buffer *out;
} Png;

static void on_error(png_structp png, png_const_charp message) {
    Png *p = png_get_error_ptr(png);
    snprintf(p->why, WHY, "%s", message);
    longjmp(p->env, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep to, size_t n) {
    Png *p = png_get_io_ptr(png);
    if (n > (size_t)(p->end - p->at)) png_error(png, "the file ends too early");
    memcpy(to, p->at, n);
    p->at += n;
}

/* Rows of channels become planes, u16 in this machine's order. */
static void separate(mlc_buffer *b, png_bytep *row, int64_t w, int64_t h, int channels, bool wide) {
    for (int c = 0; c < channels; c++) {
        for (int64_t y = 0; y < h; y++) {
            int64_t at = (c * h + y) * w;
            for (int64_t x = 0; x < w; x++) {
                const unsigned char *s = row[y] + (x * channels + c) * (wide ? 2 : 1);
                if (wide) ((uint16_t *)b->data)[at + x] = (uint16_t)(s[0] << 8 | s[1]);
                else ((uint8_t *)b->data)[at + x] = s[0];
            }
        }
    }
}

static void decode(png_structp png, png_infop info, Png *p) {
    png_set_user_limits(png, 1 << 20, 1 << 20);
    png_set_read_fn(png, p, on_read);
    png_read_info(png, info);
    int64_t w = png_get_image_width(png, info), h = png_get_image_height(png, info);
    if (w * h > MOST_PIXELS) png_error(png, "the picture has over 2^28 pixels");
    int64_t packed = w * h * png_get_bit_depth(png, info) * png_get_channels(png, info) / 8;
    if (packed / MOST_DEFLATE > p->size) png_error(png, "the file is too short for a picture of that size");
    png_set_expand(png); /* palettes, 1 to 4 bits, transparent colours */
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    bool wide = png_get_bit_depth(png, info) == 16;
    int channels = png_get_channels(png, info);
    size_t stride = png_get_rowbytes(png, info);
    if (stride != (size_t)w * (size_t)channels * (wide ? 2 : 1)) png_error(png, "the rows have an odd size");
    p->pixels = malloc(stride * (size_t)h);
    p->row = malloc(sizeof *p->row * (size_t)h);
    p->out = mlc_buffer_new(wide ? MLC_U16 : MLC_U8, channels == 1 ? 2 : 3, (int64_t[]){ w, h, channels });
    if (!p->pixels || !p->row || !p->out) png_error(png, "out of memory");
    for (int64_t y = 0; y < h; y++) p->row[y] = p->pixels + (size_t)y * stride;
    png_read_image(png, p->row);
    separate(p->out, p->row, w, h, channels, wide);
}

mlc_buffer *png_decode(const void *bytes, size_t n, char why[WHY]) {
    Png p = { .at = bytes, .end = (const unsigned char *)bytes + n, .size = (int64_t)n, .why = why };
    png_infop info = NULL;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
    if (!info) {
        snprintf(why, WHY, "out of memory");
    } else if (!setjmp(p.env)) {
        decode(png, info, &p);
    } else {
        mlc_buffer_free(p.out);
        p.out = NULL;
    }
    png_destroy_read_struct(&png, &info, NULL);
    free(p.pixels);
    free(p.row);
    return p.out;
}

/* ---- writing ---- */

/* A float is 0..1, a bool black or white; u8 and u16 are themselves. */
static void put_row(const mlc_buffer *b, int64_t y, int channels, bool wide, unsigned char *row) {
    int64_t w = b->dim[0].extent;
    for (int64_t x = 0; x < w; x++) {
        for (int c = 0; c < channels; c++) {
            int64_t i[3] = { x + b->dim[0].min, y + b->dim[1].min, b->rank > 2 ? c + b->dim[2].min : 0 };
            double v = element_get(b->type, mlc_buffer_at(b, i));
            if (b->type == MLC_BOOL) v *= 255;
            if (b->type != MLC_BOOL && b->type != MLC_U8 && b->type != MLC_U16) v = v > 0 ? (v < 1 ? v * 255 + 0.5 : 255) : 0;
            unsigned u = (unsigned)v;
            if (wide) *row++ = (unsigned char)(u >> 8);
            *row++ = (unsigned char)u;
        }
    }
}

static void encode(png_structp png, png_infop info, FILE *f, const mlc_buffer *b, Png *p) {
    static const int colours[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA };
    int channels = b->rank > 2 ? (int)b->dim[2].extent : 1;
    bool wide = b->type == MLC_U16;
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)b->dim[0].extent, (png_uint_32)b->dim[1].extent, wide ? 16 : 8, colours[channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    p->pixels = malloc((size_t)b->dim[0].extent * (size_t)channels * 2);
    if (!p->pixels) png_error(png, "out of memory");
    for (int64_t y = 0; y < b->dim[1].extent; y++) {
        put_row(b, y, channels, wide, p->pixels);
        png_write_row(png, p->pixels);
    }
    png_write_end(png, info);
}

bool png_holds(const mlc_buffer *b, char why[WHY]) {
    bool picture = (b->rank == 2 || (b->rank == 3 && b->dim[2].extent >= 1 && b->dim[2].extent <= 4)) &&
                   b->dim[0].extent > 0 && b->dim[1].extent > 0 && b->dim[0].extent < 1 << 20 && b->dim[1].extent < 1 << 20;
    bool type = b->type == MLC_U8 || b->type == MLC_U16 || b->type == MLC_BOOL || (b->type >= MLC_F16 && b->type <= MLC_F64);
    for (int d = 0; d < b->rank; d++) {
        if (b->dim[d].extent) continue;
        snprintf(why, WHY, "the extent of dimension %d is 0, and a picture has points; write .npy", d);
        return false;
    }
    if (!picture || !type) {
        snprintf(why, WHY, "an array of %s with %d dimension%s is no picture; write .npy", mlc_type_name(b->type), b->rank, b->rank == 1 ? "" : "s");
        return false;
    }
    return true;
}

bool png_encode(FILE *f, const mlc_buffer *b, char why[WHY]) {
    if (!png_holds(b, why)) return false;
    Png p = { .why = why };
    png_infop info = NULL;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &p, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
    volatile bool good = false;
    if (!info) {
        snprintf(why, WHY, "out of memory");
    } else if (!setjmp(p.env)) {
        encode(png, info, f, b, &p);
        good = true;
    }
    png_destroy_write_struct(&png, &info);
    free(p.pixels);
    return good;
}
