/* Every plan of every app against the oracle, on a picture of 37 x 23 points: primes, which no factor
 * divides, and above every tile that a plan names but smaller than the next multiple. */
#include "../../apps/app.h"
#include "../../apps/photo.h"

#include <check.h>
#include <mlc/text.h>
#include <stdlib.h>
#include <string.h>

Suite *apps_suite(void);

enum { W = 37, H = 23 };
extern const App blur_app, unsharp_app, hist_app, matmul_app;
static const App *const apps[] = { &blur_app, &unsharp_app, &hist_app, &matmul_app };

static uint8_t pixels[3 * W * H];

static size_t bytes_of(const mlc_buffer *b) {
    return (size_t)mlc_buffer_count(b) * mlc_type_size(b->type);
}

/* Buffers of the app over the small picture; the output full of garbage. */
static int make_buffers(const App *app, mlc_buffer *b[APP_BUFFERS]) {
    Photo photo = { W, H, pixels };
    memset(b, 0, sizeof(mlc_buffer *) * APP_BUFFERS);
    photo_render(pixels, W, H);
    int n = app->buffers(&photo, b);
    ck_assert_int_gt(n, 0);
    memset(b[n - 1]->data, 0xa5, bytes_of(b[n - 1]));
    return n;
}

/* One point of the output where the two differ, as text. */
static const char *difference(const mlc_buffer *a, const mlc_buffer *b) {
    static char text[96];
    size_t size = mlc_type_size(a->type), n = (size_t)mlc_buffer_count(a), at = n, wrong = 0;
    for (size_t i = 0; i < n; i++)
        if (memcmp((char *)a->data + i * size, (char *)b->data + i * size, size)) {
            if (at == n) at = i;
            wrong++;
        }
    size_t w = (size_t)a->dim[0].extent, h = (size_t)a->dim[1].extent;
    snprintf(text, sizeof text, "%zu of %zu points differ, first (%zu, %zu, %zu)", wrong, n, at % w,
             at / w % h, at / w / h);
    return wrong ? text : NULL;
}

static void run(const App *app, const char *plan, const mlc_options *o, mlc_buffer **b, int n) {
    mlc_error_info e;
    mlc_module *m = app_compile(app, plan, o);
    ck_assert_msg(m != NULL, "%s under '%s' does not compile", app->name, plan);
    ck_assert_msg(!mlc_run(m, n, b, 0, NULL, &e), "%s: %s", app->name, e.message);
    mlc_module_free(m);
}

/* `gpu`: the plans for a GPU, else the others. */
static void check_app(const App *app, const mlc_options *o, bool gpu) {
    mlc_buffer *want[APP_BUFFERS], *got[APP_BUFFERS];
    int n = make_buffers(app, want);
    run(app, "", &(mlc_options){ .target = "interpret" }, want, n);
    for (const AppPlan *p = app->plan; p->name; p++) {
        if (p->gpu != gpu) continue;
        make_buffers(app, got);
        run(app, p->text, o, got, n);
        const char *wrong = difference(want[n - 1], got[n - 1]);
        ck_assert_msg(!wrong, "%s, plan %s: %s", app->name, p->name, wrong);
        for (int i = 0; i < n; i++) mlc_buffer_free(got[i]);
    }
    for (int i = 0; i < n; i++) mlc_buffer_free(want[i]);
}

START_TEST(plans_equal_the_oracle) {
    check_app(apps[_i], NULL, false);
}
END_TEST

/* Kernels, made C++ for this processor by what stands in for NVRTC and the driver (tests/nvrtc). */
START_TEST(plans_of_a_gpu_equal_the_oracle) {
    char path[2][600];
    const char *build = getenv("MLC_BUILD"), *const name[] = { "fake_cpp.so", "fake_cuda.so" };
    if (system("command -v g++ >/dev/null 2>&1")) {
        printf("  skipped: plans of apps for a GPU: there is no g++\n");
        return;
    }
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s%s/tests/nvrtc/%s", build && *build == '/' ? "" : "./", build ? build : "build", name[i]);
    setenv("MLC_NVRTC", path[0], 1);
    setenv("MLC_LIBCUDA", path[1], 1);
    check_app(apps[_i], &(mlc_options){ .target = "cuda" }, true);
    unsetenv("MLC_NVRTC");
    unsetenv("MLC_LIBCUDA");
}
END_TEST

/* Kernels as NVRTC makes them for a GPU that need not be here: none spills, and the chip does what they ask. */
START_TEST(plans_of_a_gpu_compile) {
    if (!mlc_gpu_compiler(NULL, 0, NULL)) {
        printf("  skipped: kernels of apps were not compiled: there is no NVRTC\n");
        return;
    }
    for (const AppPlan *p = apps[_i]->plan; p->name; p++) {
        mlc_kernel_info k;
        if (!p->gpu) continue;
        mlc_module *m = app_compile(apps[_i], p->text, &(mlc_options){ .target = "cuda-sm_90a" });
        ck_assert_msg(m != NULL, "%s, plan %s", apps[_i]->name, p->name); /* and why, printed */
        ck_assert_int_gt(mlc_module_kernels(m), 0);
        for (int i = 0; mlc_module_kernel(m, i, &k); i++)
            ck_assert_msg(!k.spilled, "%s, plan %s: %s spills %lld bytes", apps[_i]->name, p->name, k.name, (long long)k.spilled);
        ck_assert_ptr_null(mlc_module_kernel_warning(m, 0));
        mlc_module_free(m);
    }
}
END_TEST

/* With every access checked: a plan that strays outside of a buffer fails even where the bytes are right. */
START_TEST(no_plan_strays) {
    check_app(apps[_i], &(mlc_options){ .check = true }, false);
}
END_TEST

/* The blur as text: apps/search/blur.mlc, under each of its plans, against the blur in C. */
START_TEST(text_and_c_agree) {
    static char text[8192];
    mlc_buffer *want[APP_BUFFERS], *got[APP_BUFFERS];
    FILE *f = fopen("apps/search/blur.mlc", "r");
    ck_assert_msg(f != NULL, "tests run in the root of the repository");
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, text, "blur.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    int n = make_buffers(&blur_app, want);
    run(&blur_app, "", NULL, want, n);
    ck_assert_int_gt(mlc_program_n_plans(p), 2);
    for (int i = 0; i < mlc_program_n_plans(p); i++) {
        mlc_error_info e = { 0 };
        make_buffers(&blur_app, got);
        mlc_module *m = mlc_compile(mlc_program_plan(p, i), mlc_outs(mlc_program_output(p, 0)), NULL, &e);
        ck_assert_msg(m && !mlc_run(m, n, got, 0, NULL, &e), "plan %d: %s", i, e.message);
        ck_assert_msg(!difference(want[n - 1], got[n - 1]), "plan %d: %s", i,
                      difference(want[n - 1], got[n - 1]));
        mlc_module_free(m);
        for (int k = 0; k < n; k++) mlc_buffer_free(got[k]);
    }
    for (int k = 0; k < n; k++) mlc_buffer_free(want[k]);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(the_photo_is_the_same_everywhere) {
    uint32_t h = 2166136261u;
    photo_render(pixels, W, H);
    for (int i = 0; i < 3 * W * H; i++) h = (h ^ pixels[i]) * 16777619u;
    ck_assert_uint_eq(h, 0x9d6a3c64);
}
END_TEST

Suite *apps_suite(void) {
    Suite *s = suite_create("apps");
    TCase *t = tcase_create("plans");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, plans_equal_the_oracle, 0, (int)(sizeof apps / sizeof *apps));
    tcase_add_loop_test(t, plans_of_a_gpu_equal_the_oracle, 0, (int)(sizeof apps / sizeof *apps));
    tcase_add_loop_test(t, plans_of_a_gpu_compile, 0, (int)(sizeof apps / sizeof *apps));
    tcase_add_loop_test(t, no_plan_strays, 0, (int)(sizeof apps / sizeof *apps));
    tcase_add_test(t, text_and_c_agree);
    tcase_add_test(t, the_photo_is_the_same_everywhere);
    suite_add_tcase(s, t);
    return s;
}
