/* test_cli.c - a program in C and the same program as a `.mlc` file run by the tool give equal bytes.
 *
 * Each app, under each of its plans, is printed as text; the tool ($MLC, set by make test) runs that file
 * on the same arrays. */
#include "../../apps/app.h"
#include "../../apps/photo.h"

#include <check.h>
#include <mlc/text.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *cli_suite(void);

enum { W = 37, H = 23 };
extern const App blur_app, unsharp_app, hist_app, matmul_app;
static const App *const apps[] = { &blur_app, &unsharp_app, &hist_app, &matmul_app };

static char folder[64];

static const char *path(const char *name) {
    static char text[4][160];
    static int turn;
    char *t = text[turn++ % 4];
    snprintf(t, sizeof text[0], "%s/%s", folder, name);
    return t;
}

static size_t bytes_of(const mlc_buffer *b) {
    return (size_t)mlc_buffer_count(b) * mlc_type_size(b->type);
}

/* NPY, version 1: a header padded to 128 bytes, then the elements, dimension 0 fastest. */
static void write_npy(const char *file, const mlc_buffer *b) {
    char header[128], shape[64] = "";
    const char *type = b->type == MLC_F32 ? "<f4" : b->type == MLC_U16 ? "<u2" : "|u1";
    for (int d = b->rank - 1; d >= 0; d--)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld, ", (long long)b->dim[d].extent);
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int n = snprintf(header + 10, sizeof header - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    header[10 + n] = ' ';
    header[127] = '\n';
    FILE *f = fopen(file, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert(fwrite(header, 1, 128, f) == 128 && fwrite(b->data, 1, bytes_of(b), f) == bytes_of(b));
    ck_assert_int_eq(fclose(f), 0);
}

/* Do the elements of the file equal those of b? */
static bool same_npy(const char *file, const mlc_buffer *b) {
    FILE *f = fopen(file, "r");
    unsigned char head[10];
    if (!f || fread(head, 1, 10, f) != 10) return false;
    fseek(f, 10 + head[8] + 256 * head[9], SEEK_SET);
    size_t size = bytes_of(b);
    char *got = malloc(size + 1);
    bool same = got && fread(got, 1, size + 1, f) == size && !memcmp(got, b->data, size);
    free(got);
    fclose(f);
    return same;
}

static void run_tool(const char *arguments) {
    char command[1024], said[2048];
    snprintf(command, sizeof command, "%s %s 2>&1", getenv("MLC"), arguments);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    said[fread(said, 1, sizeof said - 1, f)] = 0;
    ck_assert_msg(pclose(f) == 0, "mlc %s: %s", arguments, said);
}

/* The app as a file with this plan; its inputs' names, in slot order, in `name`. */
static void print_app(const App *app, const AppPlan *p, char name[APP_BUFFERS][32]) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func out = app->build(ctx);
    mlc_plan *plan = mlc_plan_new(ctx);
    ck_assert_msg(mlc_plan_parse(plan, p->text, app->name), "%s", mlc_error(ctx));
    const char *text = mlc_program_print(ctx, 1, &out, 1, &plan);
    ck_assert_msg(text != NULL, "%s", mlc_error(ctx));
    FILE *f = fopen(path("p.mlc"), "w");
    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
    mlc_ctx_free(ctx);
    mlc_module *m = app_compile(app, p->text, NULL);
    mlc_slot_info slot;
    for (int i = 0; i < mlc_module_slots(m) && mlc_module_slot(m, i, &slot); i++)
        snprintf(name[i], sizeof name[i], "%s", slot.name);
    mlc_module_free(m);
}

START_TEST(file_and_program_agree) {
    if (!getenv("MLC")) return;
    const App *app = apps[_i];
    static uint8_t pixels[3 * W * H];
    Photo photo = { W, H, pixels };
    mlc_buffer *b[APP_BUFFERS] = { 0 };
    snprintf(folder, sizeof folder, "/tmp/mlc-cli-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    photo_render(pixels, W, H);
    int n = app->buffers(&photo, b);
    for (const AppPlan *p = app->plan; p->name; p++) {
        if (p->gpu) continue;
        char name[APP_BUFFERS][32], arguments[900];
        print_app(app, p, name);
        mlc_error_info e;
        mlc_module *m = app_compile(app, p->text, NULL);
        ck_assert_msg(m && !mlc_run(m, n, b, 0, NULL, &e), "%s", app->name);
        mlc_module_free(m);
        int at = snprintf(arguments, sizeof arguments, "run %s --schedule plan0 --size %s=", path("p.mlc"), name[n - 1]);
        for (int d = 0; d < b[n - 1]->rank; d++)
            at += snprintf(arguments + at, sizeof arguments - (size_t)at, "%s%lld", d ? "," : "", (long long)b[n - 1]->dim[d].extent);
        for (int i = 0; i < n; i++) {
            char file[48];
            snprintf(file, sizeof file, "%.31s.npy", name[i]);
            if (i < n - 1) write_npy(path(file), b[i]);
            at += snprintf(arguments + at, sizeof arguments - (size_t)at, " %s=%s", name[i], path(file));
            if (i == n - 1) {
                run_tool(arguments);
                ck_assert_msg(same_npy(path(file), b[i]), "%s, plan %s: the file gives other bytes", app->name, p->name);
            }
        }
        for (int i = 0; i < n; i++) {
            char file[48];
            snprintf(file, sizeof file, "%.31s.npy", name[i]);
            unlink(path(file));
        }
        unlink(path("p.mlc"));
    }
    for (int i = 0; i < n; i++) mlc_buffer_free(b[i]);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

Suite *cli_suite(void) {
    Suite *s = suite_create("cli");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, file_and_program_agree, 0, sizeof apps / sizeof *apps);
    suite_add_tcase(s, t);
    return s;
}
