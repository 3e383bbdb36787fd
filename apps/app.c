/* app.c - the shell around every app: options, timing, comparing, writing the picture. */
#include "app.h"
#include "photo.h"

#include <getopt.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

bool app_photo(const char *path, int width, int height, Photo *photo) {
    png_image image = { .version = PNG_IMAGE_VERSION };
    if (path && !png_image_begin_read_from_file(&image, path)) {
        fprintf(stderr, "%s: %s\n", path, image.message);
        return false;
    }
    int w = path ? (int)image.width : width, h = path ? (int)image.height : height;
    size_t plane = (size_t)w * (size_t)h;
    uint8_t *pixels = malloc(3 * plane), *planar = malloc(3 * plane);
    bool ok = pixels && planar;
    if (ok && path) {
        image.format = PNG_FORMAT_RGB;
        ok = png_image_finish_read(&image, NULL, pixels, 0, NULL) != 0;
        if (!ok) fprintf(stderr, "%s: %s\n", path, image.message);
        for (size_t i = 0; ok && i < 3 * plane; i++) planar[i % 3 * plane + i / 3] = pixels[i];
    } else if (ok) {
        photo_render(planar, w, h);
    }
    png_image_free(&image);
    free(pixels);
    if (!ok) free(planar), planar = NULL;
    *photo = (Photo){ w, h, planar };
    return ok;
}

void app_photo_free(Photo *photo) {
    free(photo->rgb);
    photo->rgb = NULL;
}

mlc_module *app_compile(const App *app, const char *plan_text, const mlc_options *o) {
    mlc_error_info error = { 0 };
    mlc_module *module = NULL;
    mlc_ctx *ctx = mlc_ctx_new();
    if (!ctx) return NULL;
    mlc_func out = app->build(ctx);
    mlc_plan *plan = mlc_plan_new(ctx);
    if (plan && mlc_plan_parse(plan, plan_text, app->name)) module = mlc_compile(plan, mlc_outs(out), o, &error);
    if (!module) fprintf(stderr, "%s: %s\n", app->name, error.code ? error.message : mlc_error(ctx));
    mlc_ctx_free(ctx);
    return module;
}

static float value_of(const mlc_buffer *b, size_t i) {
    switch (b->type) {
    case MLC_U8: return ((const uint8_t *)b->data)[i];
    case MLC_U16: return ((const uint16_t *)b->data)[i];
    default: return ((const float *)b->data)[i];
    }
}

/* A dense output of rank 2 (grey) or 3 (planar RGB) as a PNG, written beside and renamed. */
static bool write_picture(const char *path, const mlc_buffer *b, float white) {
    size_t w = (size_t)b->dim[0].extent, h = (size_t)b->dim[1].extent, n = b->rank == 3 ? 3 : 1;
    uint8_t *pixels = malloc(w * h * n);
    char beside[4096];
    if (!pixels || snprintf(beside, sizeof beside, "%s.part", path) >= (int)sizeof beside) {
        free(pixels);
        return false;
    }
    for (size_t i = 0; i < w * h * n; i++) {
        float v = 255 * value_of(b, i % n * w * h + i / n) / white;
        pixels[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
    png_image image = { .version = PNG_IMAGE_VERSION, .width = (png_uint_32)w, .height = (png_uint_32)h,
                        .format = n == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY };
    bool ok = png_image_write_to_file(&image, beside, 0, pixels, 0, NULL) && !rename(beside, path);
    if (!ok) fprintf(stderr, "%s: %s\n", path, image.message);
    free(pixels);
    return ok;
}

/* The least of several runs within about `budget` milliseconds; negative on failure. */
static double time_module(mlc_module *m, int n, mlc_buffer **b, double budget) {
    mlc_error_info error;
    double best = -1, start = now_ms();
    for (int i = 0; i < 2 || (i < 50 && now_ms() - start < budget); i++) {
        double t = now_ms();
        if (mlc_run(m, n, b, 0, NULL, &error)) {
            fprintf(stderr, "%s\n", error.message);
            return -1;
        }
        t = now_ms() - t;
        if (best < 0 || t < best) best = t;
    }
    return best;
}

static size_t bytes_of(const mlc_buffer *b) {
    size_t n = mlc_type_size(b->type);
    for (int d = 0; d < b->rank; d++) n *= (size_t)b->dim[d].extent;
    return n;
}

/* Runs every plan (or the one named); true when all went well and agreed. */
static bool run_plans(const App *app, const char *only, int n, mlc_buffer **b) {
    size_t size = bytes_of(b[n - 1]);
    void *expected = malloc(size);
    double base = 0;
    bool ok = expected != NULL, first = true;
    for (const AppPlan *p = app->plan; ok && p->name; p++) {
        if (only && strcmp(only, p->name)) continue;
        mlc_module *m = app_compile(app, p->text, NULL);
        double ms = m ? time_module(m, n, b, 400) : -1;
        mlc_module_free(m);
        if (ms < 0) {
            ok = false;
        } else if (first) {
            base = ms;
            memcpy(expected, b[n - 1]->data, size);
        } else if (memcmp(expected, b[n - 1]->data, size)) {
            fprintf(stderr, "%s: plan %s gives other bytes than plan %s\n", app->name, p->name, app->plan->name);
            ok = false;
        }
        if (ok) printf("%-10s %-12s %10.3f ms %8.1fx\n", app->name, p->name, ms, base / ms);
        fflush(stdout);
        first = false;
    }
    free(expected);
    return ok && !first;
}

int app_main(const App *app, int argc, char **argv) {
    static const struct option options[] = { { "photo", 1, NULL, 'p' }, { "out", 1, NULL, 'o' }, { "size", 1, NULL, 's' },
                                             { "plan", 1, NULL, 'l' },  { "help", 0, NULL, 'h' }, { 0 } };
    const char *photo_path = NULL, *out_path = NULL, *only = NULL;
    int width = 1536, height = 1024, c;
    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (c == 'p') photo_path = optarg;
        if (c == 'o') out_path = optarg;
        if (c == 'l') only = optarg;
        if (c == 's' && (sscanf(optarg, "%dx%d", &width, &height) != 2 || width < 16 || height < 16 || width > 16384 || height > 16384)) {
            fprintf(stderr, "--size: expected WxH, each from 16 to 16384\n");
            return 2;
        }
        if (c == 'h' || c == '?') {
            printf("usage: %s [--photo PNG] [--out PNG] [--size WxH] [--plan NAME]\n%s\n", app->name, app->what);
            return c == 'h' ? 0 : 2;
        }
    }
    Photo photo;
    if (!app_photo(photo_path, width, height, &photo)) return 1;
    mlc_buffer *b[APP_BUFFERS] = { 0 };
    int n = app->buffers(&photo, b);
    bool ok = n > 0 && run_plans(app, only, n, b);
    if (ok && out_path) ok = write_picture(out_path, b[n - 1], app->white);
    for (int i = 0; i < APP_BUFFERS; i++) mlc_buffer_free(b[i]);
    app_photo_free(&photo);
    return ok ? 0 : 1;
}
