/* contact.c - one sheet of several pictures: contact [--width N] [--table FILE] OUT.png CAPTION=PNG ...
 *
 * Each picture is shrunk to a tile of N columns by averaging; in its corner stands a piece of it, enlarged,
 * since what a blur or a mask does is too small to survive the shrinking.  The table is a tile of text. */
#include "font.h"

#include <ctype.h>
#include <getopt.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, GAP = 10, CAPTION = 22, PAPER = 248, INK = 30, ZOOM = 3 };

typedef struct {
    int w, h;
    unsigned char *rgb;
} Picture;

static void dot(Picture *p, int x, int y, int v) {
    if (x >= 0 && y >= 0 && x < p->w && y < p->h)
        memset(p->rgb + 3 * ((size_t)y * (size_t)p->w + (size_t)x), v, 3);
}

/* Text at `scale` dots a dot; letters without a glyph leave a blank. */
static void draw_text(Picture *p, int x, int y, const char *text, int scale) {
    for (; *text && *text != '\n'; text++, x += (FONT_W + 1) * scale)
        for (size_t g = 0; g < sizeof font / sizeof *font; g++) {
            if (font[g].sign != toupper((unsigned char)*text)) continue;
            for (int i = 0; i < FONT_W * scale * FONT_H * scale; i++) {
                int u = i % (FONT_W * scale), v = i / (FONT_W * scale);
                if (font[g].row[v / scale] >> (FONT_W - 1 - u / scale) & 1) dot(p, x + u, y + v, INK);
            }
        }
}

static bool read_picture(const char *path, Picture *p) {
    png_image image = { .version = PNG_IMAGE_VERSION };
    bool ok = png_image_begin_read_from_file(&image, path) != 0;
    if (ok) {
        image.format = PNG_FORMAT_RGB;
        *p = (Picture){ (int)image.width, (int)image.height, malloc(PNG_IMAGE_SIZE(image)) };
        ok = p->rgb && png_image_finish_read(&image, NULL, p->rgb, 0, NULL);
    }
    if (!ok) fprintf(stderr, "%s: %s\n", path, image.message);
    png_image_free(&image);
    return ok;
}

/* The mean of the box of `from` that the point (x, y) of a w x h tile stands for. */
static void shrink(const Picture *from, int w, int h, int x, int y, unsigned char *to) {
    long x0 = (long)x * from->w / w, x1 = (long)(x + 1) * from->w / w, y0 = (long)y * from->h / h,
         y1 = (long)(y + 1) * from->h / h;
    long sum[3] = { 0 }, n = 0;
    if (x1 == x0) x1++;
    if (y1 == y0) y1++;
    for (long j = y0; j < y1; j++)
        for (long i = x0; i < x1; i++, n++)
            for (int c = 0; c < 3; c++) sum[c] += from->rgb[3 * (j * from->w + i) + c];
    for (int c = 0; c < 3; c++) to[c] = (unsigned char)((sum[c] + n / 2) / n);
}

static void place(Picture *sheet, const Picture *from, int left, int top, int w, int h) {
    int iw = w / 3 / ZOOM * ZOOM,
        ih = h / 3 / ZOOM * ZOOM; /* the enlarged piece: below the middle, at the left */
    int px = from->w * 11 / 48 - iw / ZOOM / 2, py = from->h * 13 / 16 - ih / ZOOM / 2;
    bool piece = from->w >= w && from->h >= h; /* so it lies inside */
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            unsigned char *to = sheet->rgb + 3 * ((size_t)(top + y) * (size_t)sheet->w + (size_t)(left + x));
            int u = x - (w - iw), v = y - (h - ih);
            if (!piece || u < -2 || v < -2)
                shrink(from, w, h, x, y, to);
            else if (u < 0 || v < 0)
                memset(to, PAPER, 3);
            else
                memcpy(to,
                       from->rgb + 3 * ((size_t)(py + v / ZOOM) * (size_t)from->w + (size_t)(px + u / ZOOM)),
                       3);
        }
}

static void place_table(Picture *sheet, const char *path, int left, int top, int w, int h) {
    char line[256];
    FILE *f = fopen(path, "r");
    int longest = 1, lines = 0;
    while (f && fgets(line, sizeof line, f)) {
        int n = (int)strcspn(line, "\n");
        longest = n > longest ? n : longest, lines++;
    }
    int scale = w / (longest * (FONT_W + 1)) > 0 ? w / (longest * (FONT_W + 1)) : 1,
        pitch = lines ? h / lines : h;
    if (pitch > 2 * FONT_H * scale) pitch = 2 * FONT_H * scale;
    if (f) rewind(f);
    for (int y = 0; f && fgets(line, sizeof line, f); y += pitch)
        draw_text(sheet, left, top + y, line, scale);
    if (f) fclose(f);
}

/* Blank paper for `cells` tiles of w x h. */
static bool new_sheet(Picture *sheet, int cells, int w, int h) {
    sheet->w = COLUMNS * (w + GAP) + GAP;
    sheet->h = (cells + COLUMNS - 1) / COLUMNS * (h + CAPTION + GAP) + GAP;
    size_t bytes = 3 * (size_t)sheet->w * (size_t)sheet->h;
    sheet->rgb = malloc(bytes);
    if (sheet->rgb) memset(sheet->rgb, PAPER, bytes);
    return sheet->rgb != NULL;
}

/* The sheet of n captions "CAPTION=PNG"; the first picture's shape is that of every tile. */
static bool fill_sheet(Picture *sheet, int n, char **captions, int w, const char *table) {
    int h = 0, left = 0, top = 0;
    for (int i = 0; i < n + (table != NULL); i++) {
        char *path = i < n ? strchr(captions[i], '=') : NULL;
        Picture p = { 0 };
        if (i < n && (!path || !read_picture(path + 1, &p))) return false;
        if (i == 0) {
            h = (int)((long)w * p.h / p.w);
            if (h > 2 * w) h = 2 * w;
            if (h < 1) h = 1;
            if (!new_sheet(sheet, n + (table != NULL), w, h)) return false;
        }
        left = GAP + i % COLUMNS * (w + GAP), top = GAP + i / COLUMNS * (h + CAPTION + GAP);
        if (i == n) {
            place_table(sheet, table, left, top, w, h);
        } else {
            *path = 0;
            place(sheet, &p, left, top, w, h);
            draw_text(sheet, left, top + h + 5, captions[i], 2);
        }
        free(p.rgb);
    }
    return true;
}

int main(int argc, char **argv) {
    static const struct option options[] = { { "width", 1, NULL, 'w' }, { "table", 1, NULL, 't' }, { 0 } };
    const char *table = NULL;
    int width = 480;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'w') width = atoi(optarg);
        if (c == 't') table = optarg;
    }
    int n = argc - optind - 1;
    if (n < 1 || width < 60 || width > 4096) {
        fprintf(stderr, "usage: contact [--width N] [--table FILE] OUT.png CAPTION=PNG ...\n");
        return 2;
    }
    Picture sheet = { 0 };
    bool ok = fill_sheet(&sheet, n, argv + optind + 1, width, table);
    if (ok) {
        png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
        image.width = (png_uint_32)sheet.w, image.height = (png_uint_32)sheet.h;
        ok = png_image_write_to_file(&image, argv[optind], 0, sheet.rgb, 0, NULL) != 0;
        if (!ok) fprintf(stderr, "%s: %s\n", argv[optind], image.message);
    }
    free(sheet.rgb);
    return ok ? 0 : 1;
}
