/* app.h - what the example programs share: the photo, timing, the table of plans, the picture.
 *
 * An app is an algorithm (a function that builds Funcs) and, apart from it, plans (text).  Every plan
 * computes the same bytes; app_main checks that, times each, and prints a line a plan:
 *     app  plan  ms  speed-up over the first plan
 */
#ifndef APP_H
#define APP_H

#include <mlc.h>

/* The photo, planar: x fastest, then y, then R, G, B. */
typedef struct {
    int width, height;
    uint8_t *rgb;
} Photo;

typedef struct {
    const char *name, *text; /* text "" is the unscheduled program */
    int bytes;               /* for machines whose vectors have so many bytes or more */
    bool gpu;                /* for MLC_TARGET=cuda alone */
} AppPlan;

enum { APP_PLANS = 8, APP_BUFFERS = 4 };

typedef struct {
    const char *name;
    const char *what;                         /* one line: what it computes */
    mlc_func (*build)(mlc_ctx *ctx);          /* the algorithm */
    /* Fills b[0 .. n): inputs in order, then the output, allocated with mlc_buffer_new; returns n. */
    int (*buffers)(const Photo *photo, mlc_buffer *b[APP_BUFFERS]);
    float white;                              /* the output's value that a picture shows as white */
    AppPlan plan[APP_PLANS];                  /* the first is the baseline; ends at a NULL name */
} App;

/* usage: APP [--photo PNG] [--out PNG] [--size WxH] [--plan NAME] [--table FILE]: FILE gets the table's lines too */
int app_main(const App *app, int argc, char **argv);

/* Reads a PNG, or renders the project's own picture of width x height where path is NULL.  False with
 * a line on stderr on failure.  The pixels are freed with app_photo_free. */
bool app_photo(const char *path, int width, int height, Photo *photo);
void app_photo_free(Photo *photo);
/* Is the plan one for this machine?  It is not where its vectors are too wide, a later one of its name fits too, or it is
 * one for a GPU and the target ($MLC_TARGET) is none. */
bool app_plan_fits(const AppPlan *p);
/* The last that fits. */
const AppPlan *app_best_plan(const App *app);
/* A compiled module of one plan of an app, or NULL with a line on stderr. */
mlc_module *app_compile(const App *app, const char *plan_text, const mlc_options *o);

#ifdef APP_LIBRARY /* benchmarks link all apps into one program */
#define APP_MAIN(app)
#else
#define APP_MAIN(app) \
    int main(int argc, char **argv) { return app_main(&app, argc, argv); }
#endif

#endif
