/* test_emitted.c - what mlc_emit writes, compiled by either compiler without a warning and called with arguments
 * that it has to refuse: params out of range, buffers that are missing, negative, too large, not aligned. */
#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

Suite *emitted_suite(void);

static const char program[] =
    "mlc 1; input in: u8[2]; param k: index range 0..3; param g: f32 range 0.0..4.0;"
    "f(x, y) = {i32(in(x + k, y)) * 3 + i32(g), u8(f32(in(x, y)) * 0.5f)};"
    "output f; plan p { f: vectorize(x, 8), parallel(y); }";

static const char caller[] =
    "#include \"made.h\"\n#include <stdio.h>\n#include <string.h>\n#include <math.h>\n"
    "static uint8_t src[8][16];\nstatic int32_t dst[8][13];\nstatic uint8_t half[8][13];\nstatic int bad;\n"
    "static void want(int code, const char *what) {\n"
    "    if (what ? strstr(made_message(code), what) != NULL : code == 0) return;\n"
    "    printf(\"%d (%s), not %s\\n\", code, made_message(code), what ? what : \"0\");\n    bad = 1;\n}\n"
    "int main(void) {\n"
    "    struct made_buffer in = { src, { { 0, 16, 1 }, { 0, 8, 16 } } }, a = { dst, { { 0, 13, 1 }, { 0, 8, 13 } } };\n"
    "    struct made_buffer b = a, c;\n    b.data = half;\n"
    "    for (int i = 0; i < 128; i++) src[i / 16][i % 16] = (uint8_t)(i * 37);\n"
    "    want(made(&in, &a, &b, 3, 2.0f), 0);\n"
    "    if (dst[5][7] != src[5][10] * 3 + 2 || half[5][7] != src[5][7] / 2) want(-1, \"the right value\");\n"
    "    want(made(&in, &a, &b, 4, 2.0f), \"param k is #, outside its range\");\n"
    "    want(made(&in, &a, &b, -1, 2.0f), \"param k is #, outside its range\");\n"
    "    want(made(&in, &a, &b, 3, 4.5f), \"param g is #, outside its range\");\n"
    "    want(made(&in, &a, &b, 3, NAN), \"param g is #, outside its range\");\n"
    "    want(made(&in, &a, &b, 3, -0.0f), \"param g is #, outside its range\");\n"
    "    want(made(NULL, &a, &b, 3, 2.0f), \"buffer in is missing\");\n"
    "    c = in, c.data = NULL;\n    want(made(&c, &a, &b, 3, 2.0f), \"buffer in is missing\");\n"
    "    c = in, c.dim[0].extent = 15;\n    want(made(&c, &a, &b, 3, 2.0f), \"input in is needed in dimension 0\");\n"
    "    c = a, c.dim[1].extent = -5;\n    want(made(&in, &c, &b, 3, 2.0f), \"has in dimension # the extent\");\n"
    "    c = a, c.dim[0].extent = INT64_MAX;\n    want(made(&in, &c, &b, 3, 2.0f), \"no address space\");\n"
    "    c = a, c.dim[0].stride = INT64_MIN;\n    want(made(&in, &c, &b, 3, 2.0f), \"no address space\");\n"
    "    c = a, c.data = (char *)dst + 1;\n    want(made(&in, &c, &b, 3, 2.0f), \"is not aligned\");\n"
    "    c = b, c.dim[0].min = 1;\n    want(made(&in, &a, &c, 3, 2.0f), \"differs in dimension #\");\n"
    "    c = a, c.data = NULL, c.dim[1].extent = 0;\n    b.dim[1].extent = 0;\n    want(made(&in, &c, &b, 3, 2.0f), 0);\n"
    "    return bad;\n}\n";

static const char *const compilers[] = { "gcc", "clang" };
static const char *const targets[] = { "avx2", "sse4", "plain" };
static const char *const marches[] = { "x86-64-v3", "x86-64-v2", "x86-64" };

START_TEST(arguments_are_checked) {
    char folder[] = "/tmp/mlc-emitted-XXXXXX", path[64], command[512];
    const char *cc = compilers[_i % 2], *target = targets[_i / 2];
    snprintf(command, sizeof command, "command -v %s > /dev/null", cc);
    if (system(command)) {
        printf("skipped: there is no %s\n", cc);
        return;
    }
    ck_assert_ptr_nonnull(mkdtemp(folder));
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, program, "t");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    mlc_func f = mlc_program_output(p, 0);
    mlc_error_info e;
    snprintf(path, sizeof path, "%s/made", folder);
    ck_assert_msg(mlc_emit(mlc_program_plan(p, 0), 1, &f, path, &(mlc_emit_options){ .name = "made" },
                           &(mlc_options){ .target = target }, &e), "%s", e.message);
    snprintf(path, sizeof path, "%s/main.c", folder);
    FILE *out = fopen(path, "w");
    fputs(caller, out);
    fclose(out);
    snprintf(command, sizeof command, "cd %s && %s -std=c11 -Wall -Wextra -Werror -O1 -march=%s main.c made.c -o run -lm && %s", folder, cc,
             marches[_i / 2], __builtin_cpu_supports("avx2") || _i / 2 > 0 ? "./run" : "echo skipped: no avx2 here");
    int status = system(command);
    ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "%s %s", cc, target);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    mlc_ctx_free(ctx);
}
END_TEST

Suite *emitted_suite(void) {
    Suite *s = suite_create("emitted");
    TCase *t = tcase_create("emitted");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, arguments_are_checked, 0, 6);
    suite_add_tcase(s, t);
    return s;
}
