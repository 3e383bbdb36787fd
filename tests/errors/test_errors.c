/* Messages whole: what a user meets where boxes, files, signatures and sizes are wrong.  Rows that concern
 * one floor alone are compared beside that floor's tests; `tools/check-errors.sh` sees that none is without. */
#include "base/base.h"

#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *errors_suite(void);

/* ---- programs as text, up to their loops ---- */

static const struct {
    const char *text, *message;
} texts[] = {
    { "f(x) = x; g(x) = x; h(x) = f(x) + 1; output h; plan p { f: compute_at(g, x); }",
      "p.mlc:2: schedule f: compute_at(g, x): g is not part of the program that computes f; name one of its consumers" },
    { "a(x, y) = x + y; b(x, y) = a(x, y) + a(x, y + 1); output b; plan p { a: store_at(b, x), compute_at(b, y); }",
      "p.mlc:2: schedule a: store_at(b, x): the place where a is stored is not outside the place where it is computed; "
      "store it in an enclosing loop or at root" },
    { "a(x, y) = x + y; b(x, y) = a(x, y) + a(x, y + 1); output b;\nplan p { b: parallel(y);\n a: store_root(), compute_at(b, y); }",
      "p.mlc:4: schedule a: store_root(): iterations of the loop 'y' run at once and would share the memory of a; store it "
      "inside of that loop" },
    { "a(x) = x; b(x, y) = a(y / (y + 3)) + a(x); output b; plan p { a: store_root(), compute_at(b, y); }",
      "p.mlc:2: schedule a: store_root(): the memory of a has no bounds in dimension 0 over the loops it lives through; "
      "store it where it is computed" },
    { "input in: i32[1];\na(x) = 0; rdom r(0, 10);\na(index(in(r))) = 1; output a; plan p {}",
      "p.mlc:4: define a: a.u0 writes at an index without bounds in dimension 0: index(in(r)); "
      "wrap the index in clamp, or declare a range" },
    { "input in: i32[1];\na(x) = in(index(in(x)));\noutput a; plan p {}",
      "p.mlc:3: define a: a reads in at an index without bounds in dimension 0: index(in(a.x)); "
      "wrap the index in clamp, or declare a range" },
    { "a(x) = x; output a; plan p { a: vectorize(x); }",
      "p.mlc:2: schedule a: vectorize(x): the vector loop 'x' of a has no constant extent above 1; split it by a constant "
      "first" },
    { "a(x) = x; output a; plan p { a: unroll(x); }",
      "p.mlc:2: schedule a: unroll(x): the unrolled loop 'x' of a has no constant extent; split it by a constant first" },
    { "a(x) = x; output a; plan p { a: unroll(x, 100000); }",
      "p.mlc:2: schedule a: unroll(x, 100000): the unrolled loop 'x$u' of a has 100000 iterations; split it by a small "
      "constant first" },
    { "a(x) = x; b(x) = a(0) + a(x); output b; plan p { b: split(x, xo, xi, 8), vectorize(xi); a: compute_at(b, xi); }",
      "p.mlc:2: schedule a: compute_at(b, xi): the box of a has a size that differs between the lanes of the vector loop "
      "'xi'; place it outside of that loop" },
    { "f(x, y) = x + y; g(x, y) = f(x, y) + f(x + 1, y + 2); output g; plan p { f: compute_at(g, x), store_in(register); }",
      "p.mlc:2: schedule f: store_in(register): f cannot live in registers: its index f.y * 2 + f.x - g.y * 2 - g.x is no "
      "constant; unroll its loops, or store it on the stack" },
    { "f(x, y) = x + y; g(x, y) = f(0, y) + f(1, y) + x; output g; plan p { g: parallel(x); f: compute_at(g, y), store_in(register), unroll(x), unroll(y); }",
      "p.mlc:2: schedule f: store_in(register): f cannot live in registers: a parallel loop shares it; unroll its loops, or store it on the stack" },
    { "input in: i32[1]; f(x) = in(x * 4611686018427387904 + 7);\noutput f; plan p {}",
      "p.mlc:2: f: its indices overflow 64 bits whatever the sizes; use smaller constants" },
};

static mlc_program *read_text(mlc_ctx *ctx, const char *text) {
    char all[1000];
    snprintf(all, sizeof all, "mlc 1\n%s\n", text);
    mlc_program *p = mlc_program_parse(ctx, all, "p.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    return p;
}

START_TEST(text_row) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = read_text(ctx, texts[_i].text);
    mlc_error_info e;
    FILE *nowhere = fopen("/dev/null", "w");
    mlc_func out = mlc_program_output(p, 0);
    ck_assert(!mlc_explain(mlc_program_plan(p, 0), 1, &out, "loops", NULL, nowhere, &e));
    ck_assert_str_eq(e.message, texts[_i].message);
    fclose(nowhere);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(text_nests_too_deep) {
    char text[4000] = "f(x) = ";
    memset(text + 7, '(', 3000);
    mlc_ctx *ctx = mlc_ctx_new();
    ck_assert(!mlc_let_text(ctx, text, (mlc_loc){ "t.c", 3 }));
    ck_assert_str_eq(mlc_error(ctx), "t.c:3:508: the text nests more than 500 levels deep; name parts of it, as in "
                                     "{ t = x + 1; t * t }");
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- compiling ---- */

static mlc_func simple(mlc_ctx *ctx) {
    MLC_VARS(ctx, x);
    mlc_func f = mlc_func_new(ctx, "f");
    mlc_def(mlc_at(f, x), x);
    return f;
}

START_TEST(outputs_are_counted) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = simple(ctx), many[17];
    mlc_error_info e;
    for (int i = 0; i < 17; i++) many[i] = f;
    ck_assert(!mlc_compile(NULL, 17, many, NULL, &e));
    ck_assert_str_eq(e.message, "17 outputs were asked for; a program has 1 to 16");
    ck_assert(!mlc_compile(NULL, 0, many, NULL, &e));
    ck_assert_str_eq(e.message, "no outputs are given; name at least one Func");
    mlc_ctx_free(ctx);
}
END_TEST

/* A processor runs what it has; what it lacks is refused (valgrind's lacks AVX-512). */
START_TEST(targets_that_the_processor_lacks) {
    static const char *const names[] = { "plain", "sse4", "avx2", "avx512" };
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = simple(ctx);
    for (int i = 0; i < 4; i++) {
        char want[100];
        mlc_options o = { .target = names[i] };
        mlc_error_info e;
        mlc_module *m = mlc_compile(NULL, 1, &f, &o, &e);
        snprintf(want, sizeof want, "this processor cannot run %s; use host or emit the code for another machine", names[i]);
        if (!m) ck_assert_str_eq(e.message, want);
        else ck_assert_str_eq(mlc_module_target(m), names[i]);
        mlc_module_free(m);
    }
    mlc_ctx_free(ctx);
}
END_TEST

static void no_box(void *user, const char *input, int rank, const mlc_box *need) {
    (void)user, (void)input, (void)rank, (void)need;
}

START_TEST(required_boxes_need_values) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_error_info e;
    mlc_box box = { 0, 10 };
    mlc_func f = mlc_program_output(read_text(ctx, "param p: index; input in: u8[1]; f(x) = in(x + p); output f"), 0);
    ck_assert(!mlc_required(NULL, 1, &f, &box, no_box, NULL, &e));
    ck_assert_str_eq(e.message, "the box depends on p, which has no value; bind the input or set the param");
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(signature_whole) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = simple(ctx);
    mlc_error_info e;
    mlc_module *m = mlc_compile(NULL, 1, &f, &(mlc_options){ .target = "interpret" }, &e);
    ck_assert(!mlc_function(m, "f32*[4] -> i32", &e));
    ck_assert_str_eq(e.message, "the signature does not fit at ' -> i32': buffer f holds i32; write for example "
                                "\"f32*[n] f32*[n] i64 n -> i32\"");
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* The name of the function and of the files: what C has, what no file is called, what others made. */
START_TEST(names_of_what_is_emitted) {
    static const char *const bad[] = { "int", "a b", "2nd", "printf", "x-y", "", "min_f32" };
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = simple(ctx);
    mlc_error_info e;
    char want[200];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert(!mlc_emit(NULL, 1, &f, "/nonexistent/f", &(mlc_emit_options){ .name = bad[i] }, NULL, &e));
        snprintf(want, sizeof want, "'%s' cannot name a function of C; give a name of letters, digits and _ that C does not use itself", bad[i]);
        ck_assert_str_eq(e.message, want);
    }
    ck_assert(!mlc_emit(NULL, 1, &f, "out/", NULL, NULL, &e));
    ck_assert_str_eq(e.message, "there is no prefix for the names of files; give one");
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(a_file_that_cannot_be_written) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = simple(ctx);
    mlc_error_info e;
    ck_assert(!mlc_emit(NULL, 1, &f, "/nonexistent/f", NULL, NULL, &e));
    ck_assert_str_eq(e.message, "/nonexistent/f.c: No such file or directory; choose another place");
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- definitions after a run ---- */

/* A Func that has run takes updates, which the modules of before do not see; it takes no second definition. */
START_TEST(definitions_after_a_run) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = simple(ctx);
    mlc_error_info e;
    int32_t out[4];
    MLC_VARS(ctx, x);
    mlc_module *before = mlc_compile(NULL, 1, &f, NULL, &e);
    ck_assert_msg(before != NULL, "%s", e.message);
    ck_assert(mlc_realize(f, mlc_wrap(out, 4), NULL));
    ck_assert_int_eq(out[3], 3);
    mlc_def_add(mlc_at(f, x), 17);
    ck_assert_msg(mlc_realize(f, mlc_wrap(out, 4), NULL), "%s", mlc_error(ctx));
    ck_assert_int_eq(out[3], 20);
    ck_assert_int_eq(mlc_run(before, 1, (mlc_buffer *[]){ mlc_wrap(out, 4) }, 0, NULL, &e), 0);
    ck_assert_int_eq(out[3], 3);
    mlc_def(mlc_at(f, x), mlc_mul(x, 2));
    ck_assert_str_eq(strstr(mlc_error(ctx), "define"), "define f: f is already defined for every point and this definition "
                                                       "does not read it; drop one of them");
    mlc_module_free(before);
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- sizes whose indices would overflow ---- */

START_TEST(sizes_too_far) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = read_text(ctx, "param p: index; input in: i32[1];\nf(x) = in(x + p); g(x) = in(x * x); output f, g");
    mlc_error_info e;
    int32_t in[9] = { 0 }, out[9];
    mlc_buffer a = *mlc_wrap(in, 9), b = *mlc_wrap(out, 9);
    mlc_func f = mlc_program_output(p, 0), g = mlc_program_output(p, 1);
    mlc_module *m = mlc_compile(NULL, 1, &f, NULL, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    a.dim[0].min = b.dim[0].min = -((int64_t)1 << 48);
    ck_assert_int_eq(mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 1, &(mlc_scalar){ .i = 0 }, &e), 0);
    a.dim[0].min--;
    mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 1, &(mlc_scalar){ .i = 0 }, &e);
    ck_assert_str_eq(e.message, "the min is -281474976710657 in dimension 0 of buffer in, where indices of this program would "
                                "overflow; stay within 281474976710656");
    a.dim[0].min = 0;
    mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 1, &(mlc_scalar){ .i = INT64_MAX }, &e);
    ck_assert_str_eq(e.message, "param p is 9223372036854775807, where indices of this program would overflow; stay within "
                                "281474976710656");
    mlc_module_free(m);
    m = mlc_compile(NULL, 1, &g, NULL, &e);
    ck_assert_msg(m != NULL, "%s", e.message);
    b.dim[0].min = (int64_t)1 << 32;
    mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 0, NULL, &e);
    ck_assert_str_eq(e.message, "the min is 4294967296 in dimension 0 of buffer g, where indices of this program would overflow; "
                                "stay within 268435456");
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(indices_too_long_for_i32) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = mlc_program_output(read_text(ctx, "f(x) = 3 * x; output f"), 0);
    int32_t out[4];
    mlc_buffer b = *mlc_wrap(out, 4);
    b.dim[0].min = 1 << 30;
    ck_assert(!mlc_realize(f, &b, NULL));
    ck_assert_str_eq(mlc_error(ctx), "f makes an i32 of the index f.x * 3, which goes from 3221225472 to 3221225481 here; write "
                                     "i64(..) around it");
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- arguments that are not there ---- */

START_TEST(missing_arguments) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = simple(ctx);
    mlc_error_info e;
    ck_assert_int_eq(mlc_run(NULL, 0, NULL, 0, NULL, &e), e.code);
    ck_assert_str_eq(e.message, "there is no module; compile one first, and look at its error");
    ck_assert(!mlc_function(NULL, "-> i32", &e));
    ck_assert_str_eq(e.message, "there is no module; compile one first, and look at its error");
    ck_assert(!mlc_explain(NULL, 1, &f, "loops", NULL, NULL, &e));
    ck_assert_str_eq(e.message, "there is no file to print to; give an open FILE");
    ck_assert(!mlc_emit(NULL, 1, &f, NULL, NULL, NULL, &e));
    ck_assert_str_eq(e.message, "there is no prefix for the names of files; give one");
    ck_assert(!mlc_required(NULL, 1, &f, NULL, no_box, NULL, &e));
    ck_assert_str_eq(e.message, "there are no boxes of the outputs, or no function to take the answer; give both");
    mlc_extern_new(ctx, "gain", NULL, "f32 -> f32");
    ck_assert_str_eq(mlc_error(ctx), "extern: 'gain' has no address; give that of a C function");
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- ourselves ---- */

START_TEST(broken_invariants_are_errors) {
    Fault f = { 0 };
    Barrier b;
    volatile int line = 0, after = 0;
    char want[200];
    if (FAULT_TRY(&f, b)) {
        CHECK(&f, 1 + 1 == 2);
        line = __LINE__ + 1;
        CHECK(&f, 1 + 1 == 3);
        after = 1;
    }
    snprintf(want, sizeof want, "%s:%d: internal error: 1 + 1 == 3; please report it with the program", __FILE__, line);
    ck_assert_str_eq(f.info.message, want);
    ck_assert_int_eq(after, 0);
}
END_TEST

/* ---- memory ---- */

static void *one_block(void *user, void *old, size_t size) {
    int *left = user;
    if (!size) {
        free(old);
        return NULL;
    }
    return (*left)-- > 0 ? realloc(old, size) : NULL;
}

START_TEST(memory_is_out) {
    int left = 1000;
    mlc_allocator hook = { one_block, &left };
    mlc_ctx *ctx = mlc_ctx_new_with(&hook);
    ck_assert_ptr_nonnull(ctx);
    left = 0;
    for (int i = 0; i < 100000 && !*mlc_error(ctx); i++) {
        char name[20];
        snprintf(name, sizeof name, "f%d", i);
        mlc_func_new(ctx, name);
    }
    size_t bytes = 0;
    char want[100];
    ck_assert_int_eq(sscanf(mlc_error(ctx), "out of memory: %zu", &bytes), 1);
    snprintf(want, sizeof want, "out of memory: %zu bytes were asked for", bytes);
    ck_assert_str_eq(mlc_error(ctx), want);
    ck_assert_uint_gt(bytes, 0);
    mlc_ctx_free(ctx);
}
END_TEST

Suite *errors_suite(void) {
    Suite *s = suite_create("errors");
    TCase *t = tcase_create("errors");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, text_row, 0, (int)(sizeof texts / sizeof *texts));
    tcase_add_test(t, text_nests_too_deep);
    tcase_add_test(t, outputs_are_counted);
    tcase_add_test(t, targets_that_the_processor_lacks);
    tcase_add_test(t, required_boxes_need_values);
    tcase_add_test(t, signature_whole);
    tcase_add_test(t, names_of_what_is_emitted);
    tcase_add_test(t, a_file_that_cannot_be_written);
    tcase_add_test(t, definitions_after_a_run);
    tcase_add_test(t, sizes_too_far);
    tcase_add_test(t, indices_too_long_for_i32);
    tcase_add_test(t, missing_arguments);
    tcase_add_test(t, broken_invariants_are_errors);
    tcase_add_test(t, memory_is_out);
    suite_add_tcase(s, t);
    return s;
}
