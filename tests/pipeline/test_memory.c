/* Running out of memory at every place: the n-th allocation fails, for every n.
 *
 * Whatever fails, nothing crashes, nothing leaks (the sanitizer build looks), and the error says
 * OUT_OF_MEMORY.  The hardened build makes arenas tiny, so that there are many more places. */
#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *memory_suite(void);

typedef struct {
    long left, made, alive;
} Failing;

static void *failing_resize(void *user, void *old, size_t size) {
    Failing *f = user;
    if (size == 0) {
        f->alive -= old != NULL;
        free(old);
        return NULL;
    }
    f->made++;
    if (f->left-- <= 0) return NULL;
    void *p = realloc(old, size);
    f->alive += p && !old;
    return p;
}

static const char *const programs[] = {
    "mlc 1\nf(x) = x * 2;\noutput f;\n",
    "mlc 1\ninput in: f32[1];\nf(x) = exp(in(x)) + in(x + 1);\noutput f;\n",
    "mlc 1\ninput in: u8[1];\ng(x) = u16(in(x)) + u16(in(x + 1));\nf(x) = u8(g(x) / 2);\noutput f;\n"
    "plan p { f: vectorize(x, 8); g: compute_at(f, x); }\n",
    "mlc 1\nparam k: i32 range 0..9;\nf(x) = x * k;\noutput f;\nplan p { f: split(x, xo, xi, 4), unroll(xi); }\n",
    "mlc 1\nf(x) = i32(0);\nrdom r(0, 20);\nf(clamp(r, 0, 3)) += 1;\noutput f;\n",
    "mlc 1\nf(x) = random_f32(7);\noutput f;\nplan p { f: parallel(x, 3); }\n",
};
enum { PROGRAMS = (int)(sizeof programs / sizeof *programs) };

/* Everything a user does with a program; the error's code, 0 where all went well. */
static int use(const mlc_allocator *hook, const char *text, const char *target) {
    mlc_error_info e = { 0 };
    int32_t out[11], code = 0;
    uint8_t bytes[16] = { 1, 2, 3 };
    float floats[16] = { 1, 2, 3 };
    mlc_ctx *ctx = mlc_ctx_new_with(hook);
    if (!ctx) return 0;
    mlc_program *p = mlc_program_parse(ctx, text, "p");
    if (p) {
        mlc_func f = mlc_program_output(p, 0);
        mlc_plan *plan = mlc_program_n_plans(p) ? mlc_program_plan(p, 0) : NULL;
        mlc_options o = { .target = target };
        mlc_module *m = mlc_compile(plan, 1, &f, &o, &e);
        if (m) {
            mlc_slot_info s;
            mlc_buffer b[2], *at[2] = { &b[0], &b[1] };
            int n = mlc_module_slots(m);
            for (int i = 0; mlc_module_slot(m, i, &s); i++) {
                void *data = s.is_output ? (void *)out : s.type == MLC_U8 ? (void *)bytes : (void *)floats;
                mlc_buffer_wrap(&b[i], data, s.type, 1, (int64_t[]){ s.is_output ? 11 : 12 });
            }
            mlc_run(m, n, at, mlc_module_params(m), (mlc_scalar[]){ { .i = 3 } }, &e);
            mlc_function(m, "buffer -> i32", NULL);
        }
        code = e.code;
        mlc_module_free(m);
    } else {
        code = mlc_error_code(ctx);
    }
    mlc_ctx_free(ctx);
    return code;
}

static void fail_at_every_place(const char *target) {
    for (int i = 0; i < PROGRAMS; i++) {
        Failing f = { .left = 1L << 40 };
        mlc_allocator hook = { failing_resize, &f };
        int code = use(&hook, programs[i], target);
        ck_assert_msg(code == 0, "program %d: %s", i, mlc_error_name(code));
        ck_assert_int_eq(f.alive, 0);
        long total = f.made;
        for (long n = 0; n < total; n += n < 60 ? 1 : 1 + n / 40) {
            f = (Failing){ .left = n };
            code = use(&hook, programs[i], target);
            bool good = !code || !strcmp(mlc_error_name(code), "OUT_OF_MEMORY");
            ck_assert_msg(good, "program %d, allocation %ld of %ld: %s", i, n, total, mlc_error_name(code));
            ck_assert_msg(f.alive == 0, "program %d, allocation %ld: %ld blocks are left", i, n, f.alive);
        }
    }
}

START_TEST(out_of_memory_when_interpreting) {
    fail_at_every_place("interpret");
}
END_TEST

START_TEST(out_of_memory_when_compiling) {
    fail_at_every_place("host");
}
END_TEST

Suite *memory_suite(void) {
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("memory");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, out_of_memory_when_interpreting);
    tcase_add_test(t, out_of_memory_when_compiling);
    suite_add_tcase(s, t);
    return s;
}
