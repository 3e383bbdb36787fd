/* test_atomic.c - many threads that join values at few places: the results are those of one. */
#include <check.h>
#include <mlc.h>
#include <mlc/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *atomic_suite(void);

enum { N = 120000, BINS = 5 };

static const struct {
    const char *name, *update;
    mlc_type type;
} rows[] = {
    { "an instruction", "f(x) = 0; f(index(in(k)) % 5) += i32(k);", MLC_I32 },
    { "a narrow type", "f(x) = u8(0); f(index(in(k)) % 5) -= in(k);", MLC_U8 },
    { "computed again", "f(x) = u16(3); f(index(in(k)) % 5) *= u16(in(k)) * 2 + 1;", MLC_U16 },
    { "floats whose sums are exact", "f(x) = f32(0.0); f(index(in(k)) % 5) += f32(in(k)) * 0.5;", MLC_F32 },
    { "the greatest float", "f(x) = f32(-1.0); f(index(in(k)) % 5) max= sqrt(f32(in(k))) - f32(k % 1000);", MLC_F32 },
    { "a bool", "f(x) = false; f(index(in(k)) % 5) = f(index(in(k)) % 5) ^ true;", MLC_BOOL },
    { "under a lock", "f(x) = argmax(k, u32(k * 7919 % 1000) + select(index(in(k)) % 5 == x, u32(1000), u32(0)))[0];", MLC_I32 },
    { "floats", "f(x) = f32(0.0); f(index(in(k)) % 5) += f32(in(k)) / 7.0;", MLC_F32 },
    { "vectors inside", "f(x) = 0; f(x) += i32(in(k)) * i32(x);", MLC_I32 },
};

static const char *const plans[] = {
    "", "f.u0: atomic(.reassociate), parallel(k, 1024)", "argmax$1: compute_root(); argmax$1.u0: atomic(), parallel(k, 1024)",
    "f.u0: atomic(), reorder(x, k), vectorize(x, 4), parallel(k, 1024)", "f.u0: atomic(.reassociate), split(k, ko, ki, 1024), vectorize(ki, 8), parallel(ko)",
};

/* f under plan p; which of them suit a row is the caller's to say. */
static void run(int row, int p, uint8_t *in, void *out) {
    char text[512];
    mlc_ctx *ctx = mlc_ctx_new();
    snprintf(text, sizeof text, "mlc 1\ninput in: u8[1]; rdom k(0, %d); %s output f;\nplan p { %s; }\n", N, rows[row].update, plans[p]);
    mlc_program *program = mlc_program_parse(ctx, text, "t.mlc");
    ck_assert_msg(program != NULL, "%s: %s", rows[row].name, mlc_error(ctx));
    mlc_func f = mlc_program_output(program, 0);
    mlc_buffer b = { .type = rows[row].type, .rank = 1, .data = out, .dim = { { 0, BINS, 1 } } }, *to = &b;
    mlc_buffer from = { .type = MLC_U8, .rank = 1, .data = in, .dim = { { 0, N, 1 } } };
    bool ok = mlc_bind(mlc_find_func(ctx, "in"), &from) &&
              mlc_realize_all(mlc_program_plan(program, 0), 1, &f, &to, 1, &(mlc_options){ .threads = 8 });
    ck_assert_msg(ok, "%s: %s", rows[row].name, mlc_error(ctx));
    mlc_ctx_free(ctx);
}

static void fill(uint8_t *in) {
    for (int i = 0; i < N; i++) in[i] = (uint8_t)((uint32_t)i * 2654435761u >> 13);
}

static int row_of(const char *name) {
    int i = 0;
    while (strcmp(rows[i].name, name)) i++;
    return i;
}

/* Of n terms in any order the sum is within n * eps of that of their magnitudes. */
START_TEST(any_order_is_bounded) {
    uint8_t *in = malloc(N);
    float got[BINS];
    double exact[BINS] = { 0 };
    int n[BINS] = { 0 };
    fill(in);
    run(row_of("floats"), 1, in, got);
    for (int i = 0; i < N; i++) exact[in[i] % 5] += (double)((float)in[i] / 7.0f), n[in[i] % 5]++;
    for (int i = 0; i < BINS; i++) {
        double error = (double)got[i] - exact[i];
        ck_assert_msg((error < 0 ? -error : error) <= n[i] * 0x1p-23 * exact[i], "%a, not near %a", (double)got[i], exact[i]);
    }
    free(in);
}
END_TEST

/* The plan says of which class it is. */
START_TEST(class_is_printed) {
    static const char *const said[] = { "mlc 1\n", "// class bounded: threads join floats in any order; n terms differ by n * eps of the sum of their "
                                        "magnitudes (of the product)\nmlc 1\n" };
    for (int i = 0; i < 2; i++) {
        char text[1024] = { 0 };
        mlc_ctx *ctx = mlc_ctx_new();
        mlc_program *program = mlc_program_parse(ctx, i ? "mlc 1\nrdom k(0, 9); f() += f32(k); output f;\nplan p { f.u0: atomic(.reassociate), parallel(k); }\n"
                                                        : "mlc 1\nrdom k(0, 9); f() += i32(k); output f;\nplan p { f.u0: atomic(), parallel(k); }\n", "t.mlc");
        ck_assert_msg(program != NULL, "%s", mlc_error(ctx));
        FILE *to = fmemopen(text, sizeof text - 1, "w");
        mlc_func f = mlc_program_output(program, 0);
        ck_assert(mlc_explain(mlc_program_plan(program, 0), 1, &f, "algorithm", NULL, to, NULL));
        fclose(to);
        ck_assert_msg(!strncmp(text, said[i], strlen(said[i])), "%s", text);
        mlc_ctx_free(ctx);
    }
}
END_TEST

START_TEST(threads_join) {
    uint8_t *in = malloc(N), one[BINS * 8] = { 0 }, many[BINS * 8] = { 0 }, lanes[BINS * 8] = { 0 };
    fill(in);
    if (_i == row_of("floats")) { /* in another order they round otherwise */
        free(in);
        return;
    }
    bool locked = strstr(rows[_i].update, "argmax") != NULL, pure = strstr(rows[_i].update, "f(x) +=") != NULL;
    size_t size = BINS * mlc_type_size(rows[_i].type);
    run(_i, 0, in, one);
    for (int again = 0; again < 4; again++) { /* what threads lose they do not lose each time */
        run(_i, locked ? 2 : pure ? 3 : 1, in, many);
        ck_assert_msg(!memcmp(one, many, size), "%s", rows[_i].name);
    }
    if (!locked) {
        run(_i, 4, in, lanes);
        ck_assert_msg(!memcmp(one, lanes, size), "lanes of %s", rows[_i].name);
    }
    free(in);
}
END_TEST

Suite *atomic_suite(void) {
    Suite *s = suite_create("atomic");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, threads_join, 0, sizeof rows / sizeof *rows);
    tcase_add_test(t, any_order_is_bounded);
    tcase_add_test(t, class_is_printed);
    suite_add_tcase(s, t);
    return s;
}
