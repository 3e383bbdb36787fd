/* app.c - the shell around every app: options, timing, comparing, writing the picture. */
#include "app.h"
#include "photo.h"

#include <getopt.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    if (plan && mlc_plan_parse(plan, plan_text, app->name))
        module = mlc_compile(plan, mlc_outs(out), o, &error);
    if (!module) fprintf(stderr, "%s: %s\n", app->name, error.code ? error.message : mlc_error(ctx));
    mlc_ctx_free(ctx);
    return module;
}

static float value_of(const mlc_buffer *b, size_t i) {
    switch (b->type) {
    case MLC_U8:
        return ((const uint8_t *)b->data)[i];
    case MLC_U16:
        return ((const uint16_t *)b->data)[i];
    default:
        return ((const float *)b->data)[i];
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
    png_image image = { .version = PNG_IMAGE_VERSION,
                        .width = (png_uint_32)w,
                        .height = (png_uint_32)h,
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
    for (int i = 0; i < 1 || (i < 50 && now_ms() - start < budget); i++) {
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

/* What is going on, on a terminal: the line is overwritten by the next one, and by the result. */
static void progress(const App *app, const AppPlan *p, const char *what) {
    if (isatty(STDOUT_FILENO)) printf("%-10s %-12s %-24s\r", app->name, p->name, what);
    fflush(stdout);
}

static bool has_gpu(void) {
    const char *target = getenv("MLC_TARGET");
    return target && !strncmp(target, "cuda", 4);
}

bool app_plan_fits(const AppPlan *p) {
    if (p->gpu && !has_gpu()) return false;
    int bytes = mlc_vector_bytes(NULL);
    for (const AppPlan *q = p + 1; q->name; q++)
        if (!strcmp(p->name, q->name) && q->bytes <= bytes) return false;
    return p->bytes <= bytes;
}

const AppPlan *app_best_plan(const App *app) {
    const AppPlan *best = app->plan;
    for (const AppPlan *p = app->plan; p->name; p++)
        if (app_plan_fits(p)) best = p;
    return best;
}

/* Compiles and times one plan; negative on failure. */
static double run_plan(const App *app, const AppPlan *p, int n, mlc_buffer **b) {
    progress(app, p, "compiling ...");
    mlc_module *m = app_compile(app, p->text, NULL);
    if (!m) return -1;
    progress(app, p, "running ...");
    memset(b[n - 1]->data, 0xa5, bytes_of(b[n - 1])); /* a plan that skips a point shows */
    double ms = time_module(m, n, b, 400);
    mlc_module_free(m);
    return ms;
}

static void print_row(const App *app, const AppPlan *p, double ms, double speedup, FILE *table) {
    FILE *to[2] = { stdout, table };
    for (int i = 0; i < 2 && to[i]; i++) {
        fprintf(to[i], "%-10s %-12s %10.3f %12.1fx\n", app->name, p->name, ms, speedup);
        fflush(to[i]);
    }
}

/* Runs every plan (or the one named); true when all went well and agreed. */
static bool run_plans(const App *app, const char *only, int n, mlc_buffer **b, FILE *table) {
    size_t size = bytes_of(b[n - 1]);
    void *expected = malloc(size);
    const AppPlan *first = NULL;
    double base = 0;
    bool ok = expected != NULL;
    for (const AppPlan *p = app->plan; ok && p->name; p++) {
        if (!app_plan_fits(p) || (only && strcmp(only, p->name))) continue;
        double ms = run_plan(app, p, n, b);
        if (ms < 0) {
            ok = false;
        } else if (!first) {
            first = p;
            base = ms;
            memcpy(expected, b[n - 1]->data, size);
        } else if (memcmp(expected, b[n - 1]->data, size)) {
            fprintf(stderr, "%s: plan %s gives other bytes than plan %s\n", app->name, p->name, first->name);
            ok = false;
        }
        if (ok) print_row(app, p, ms, base / ms, table);
    }
    if (ok && !first) fprintf(stderr, "%s: there is no plan %s\n", app->name, only);
    free(expected);
    return ok && first;
}

typedef struct {
    const char *photo, *out, *plan, *table;
    int width, height;
} Options;

/* -1: go on; else the exit status. */
static int read_options(const App *app, int argc, char **argv, Options *o) {
    static const struct option options[] = { { "photo", 1, NULL, 'p' },
                                             { "out", 1, NULL, 'o' },
                                             { "size", 1, NULL, 's' },
                                             { "plan", 1, NULL, 'l' },
                                             { "table", 1, NULL, 't' },
                                             { "help", 0, NULL, 'h' },
                                             { 0 } };
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (c == 'p') o->photo = optarg;
        if (c == 'o') o->out = optarg;
        if (c == 'l') o->plan = optarg;
        if (c == 't') o->table = optarg;
        if (c == 's' && (sscanf(optarg, "%dx%d", &o->width, &o->height) != 2 || o->width < 3 ||
                         o->height < 3 || o->width > 16384 || o->height > 16384)) {
            fprintf(stderr, "--size: expected WxH, each from 3 to 16384\n");
            return 2;
        }
        if (c == 'h' || c == '?') {
            printf("usage: %s [--photo PNG] [--out PNG] [--size WxH] [--plan NAME] [--table FILE]\n%s\n",
                   app->name, app->what);
            return c == 'h' ? 0 : 2;
        }
    }
    return -1;
}

int app_main(const App *app, int argc, char **argv) {
    Options o = { .width = 1536, .height = 1024 };
    int status = read_options(app, argc, argv, &o);
    if (status >= 0) return status;
    Photo photo;
    if (!app_photo(o.photo, o.width, o.height, &photo)) return 1;
    mlc_buffer *b[APP_BUFFERS] = { 0 };
    bool large = photo.width >= 3 && photo.height >= 3;
    int n = large ? app->buffers(&photo, b) : 0;
    if (n == 0) fprintf(stderr, "%s: %s\n", app->name, large ? "memory is out" : "the picture is smaller than 3 x 3");
    FILE *table = o.table ? fopen(o.table, "a") : NULL;
    bool ok = n > 0 && run_plans(app, o.plan, n, b, table);
    if (table) fclose(table);
    if (ok && o.out) ok = write_picture(o.out, b[n - 1], app->white);
    for (int i = 0; i < APP_BUFFERS; i++) mlc_buffer_free(b[i]);
    app_photo_free(&photo);
    return ok ? 0 : 1;
}
