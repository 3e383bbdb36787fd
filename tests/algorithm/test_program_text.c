/* Program text: parse -> print gives the rows below, print -> parse -> print the same bytes; the C front
 * door prints the text that says the same; errors with their whole message. */
#include "algorithm/text.h"

#include <mlc/func.h>
#include <mlc/text.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program printed, outputs and plans as the text has them. */
static const char *printed(mlc_ctx *ctx, const mlc_program *p) {
    mlc_func out[16];
    mlc_plan *plans[16];
    int n = mlc_program_n_outputs(p), m = mlc_program_n_plans(p);
    for (int i = 0; i < n; i++) out[i] = mlc_program_output(p, i);
    for (int i = 0; i < m; i++) plans[i] = mlc_program_plan(p, i);
    return mlc_program_print(ctx, n, out, m, plans);
}

static float fake_gain(float x) {
    return x * 2;
}

static mlc_ctx *new_ctx(void) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_extern_new(ctx, "gain", (void (*)(void))fake_gain, "f32 -> f32");
    ck_assert_str_eq(mlc_error(ctx), "");
    return ctx;
}

static void check_print(const char *text, const char *expected) {
    mlc_ctx *ctx = new_ctx(), *again = new_ctx();
    mlc_program *p = mlc_program_parse(ctx, text, NULL);
    ck_assert_msg(p != NULL, "%s\n%s", text, mlc_error(ctx));
    const char *one = printed(ctx, p);
    ck_assert_msg(one != NULL, "%s\n%s", text, mlc_error(ctx));
    ck_assert_str_eq(one, expected);
    mlc_program *q = mlc_program_parse(again, one, NULL);
    ck_assert_msg(q != NULL, "%s\n%s", one, mlc_error(again));
    ck_assert_str_eq(printed(again, q), one);
    mlc_ctx_free(again);
    mlc_ctx_free(ctx);
}

START_TEST(rows) {
    static const struct {
        const char *text, *printed; /* the header and `output f;` are added */
    } row[] = {
        { "f(x) = x;", NULL },
        { "f(x) = 3; ", NULL },
        { "f(x) = -0.5; ", NULL },
        { "f(x) = u8(255);", NULL },
        { "f() = 3;", NULL },
        { "input in: f32[2];\nf(x, y) = in(x + 1, y) * 0.5;", NULL },
        { "input in: f32[2] range 0.0..1.0;\nf(x, y) = in(x, y);", NULL },
        { "input in: f32[1] range 0.1..inf;\nf(x) = in(x);", NULL },
        { "input in: u8[1] range 0..254;\nf(x) = in(x);", NULL },
        { "input in: u64[1] range 0..9223372036854775807;\nf(x) = in(x);", NULL },
        { "input in: i64[1] range -9223372036854775808..9223372036854775807;\nf(x) = in(x);", NULL },
        { "input in: f32[0];\nf(x) = in();", NULL },
        { "input in: bf16[1];\nf(x) = bf16(in(x) * in(x) + 0.1);", NULL },
        { "input in: f16[1];\nf(x) = select(x < 3, in(x), f16(0.5));", NULL },
        { "param p: f32 range 0.0..4.5;\nf(x) = p + f32(i32(x));", NULL },
        { "param p: u64 range 1..9223372036854775807;\nf(x) = p;", NULL },
        { "param n: index;\nrdom k(0, n);\nf(x) += i32(k);", NULL },
        { "param p: bool = true;\nf(x) = p;", "param p: bool = 1;\nf(x) = p;\n" },
        { "param p: bool = 1;\nf(x) = p;", NULL },
        { "param p: f32 range 0.0..4.0 = 1.5;\nf(x) = p;", NULL },
        { "param p: u64 = 18446744073709551615;\nf(x) = p;", NULL },
        { "param p: f64 = -inf;\nf(x) = p;", NULL },
        { "param p: i8 = -128;\nf(x) = p;", NULL },
        { "f(x) = x; f(x) = f(x) + 1;", "f(x) = i32(x);\nf(x) = f(x) + 1;\n" },
        { "input in: u8[2];\nrdom k(0, 3; -1, 5) where k.x < k.y, in(k.x, k.y) > 3;\nf(x) += u32(in(x + k.x, k.y));", NULL },
        { "input in: u8[1];\nh(i) = u32(0);\nrdom k(0, in.extent.0);\nh(index(in(k))) += u32(1);\nf(x) = h(x);", NULL },
        { "rdom k(0, 3);\nf(x) -= x * k;\nf(x) *= 2;\nf(x) min= 7;\nf(x) max= i32(k);", "rdom k(0, 3);\nf(x) -= i32(x * k);\nf(x) *= 2;\nf(x) min= 7;\nf(x) max= i32(k);\n" },
        { "g(x) = 0;\nrdom k(1, 9);\ng(k) = g(k - 1) + 1;\nf(x) = g(x);", NULL },
        { "t(x) = {x, f32(0.5), u8(3)};\nf(x) = t(x)[1] + f32(t(x)[2]);", "t(x) = {i32(x), f32(0.5), u8(3)};\nf(x) = t(x)[1] + f32(t(x)[2]);\n" },
        { "t(x) = {1, 2};\nrdom k(0, 3);\nt(x) = {t(x)[1], t(x)[0] + i32(k)};\nf(x) = t(x)[0];", "t(x) = {1, 2};\nrdom k(0, 3);\nt(x) = {t(x)[1], t(x)[0] + i32(k)};\nf(x) = t(x)[0];\n" },
        { "f(x) = { a = x * x; b = a + a; b * b };", "f(x) = i32((x * x + x * x) * (x * x + x * x));\n" },
        { "extern gain: f32 -> f32;\nf(x) = gain(f32(i32(x)));", NULL },
        { "f(x) = random_f32(7) + random_f32(7) * random_u32(x, 5);", "f(x) = random_f32(7, 0) + random_f32(7, 1) * f32(random_u32(i32(x), 2));\n" },
        { "input in: f32[1];\nrdom k(0, 3);\nf(x) = sum(k, in(x + k)) / 3;", "input in: f32[1];\nrdom k(0, 3);\nsum$1(x) += in(x + k);\nf(x) = sum$1(x) / 3.0;\n" },
        { "input in: f32[1];\ng = repeat_edge(in);\nf(x) = g(x - 1);", "input in: f32[1];\ng(_0) = in(clamp(likely(_0), in.min.0, in.min.0 + in.extent.0 - 1));\nf(x) = g(x - 1);\n" },
        { "input in: u8[3];\ndim in[0]: stride 3, extent 640;\ndim in[2]: min 0, stride 1, align 4;\nf(x) = in(x, 0, 1);", "input in: u8[3];\nf(x) = in(x, 0, 1);\ndim in[0]: extent 640, stride 3;\ndim in[2]: min 0, stride 1, align 4;\n" },
        { "f(x) = undef_f32;", NULL },
        { "f(x) = require(x < 10, x, \"x is \\\"big\\\"\");", "f(x) = i32(require(x < 10, x, \"x is \\\"big\\\"\"));\n" },
        { "f(x) = print(\"f\", x, 2);", "f(x) = i32(print(\"f\", x, 2));\n" },
        { "f(x) = 1 / 3 + 7 % 4 - min(2, 3);", "f(x) = 1;\n" },
        { "f(x) = { 1 };", "f(x) = 1;\n" },
        { "input inf: u8[1];\ntype_min(x) = `inf`(x);\nsaturate_u8(`nan`) = `type_min`(`nan`);\nsum(x) = `saturate_u8`(x);\nf(x) = sum(x);", NULL },
        { "plan(x) = 1;\noutput(input) = plan(input);\nf(x) = output(x);", NULL },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[2048], expected[2048];
        const char *want = row[i].printed ? row[i].printed : row[i].text;
        bool line = want[strlen(want) - 1] == '\n';
        snprintf(text, sizeof text, "mlc 1\n%s output f", row[i].text);
        snprintf(expected, sizeof expected, "mlc 1\n%s%soutput f;\n", want, line ? "" : "\n");
        if (!strcmp(want, "f(x) = x;")) snprintf(expected, sizeof expected, "mlc 1\nf(x) = i32(x);\noutput f;\n");
        if (!strcmp(want, "f(x) = 3; ")) snprintf(expected, sizeof expected, "mlc 1\nf(x) = 3;\noutput f;\n");
        if (!strcmp(want, "f(x) = -0.5; ")) snprintf(expected, sizeof expected, "mlc 1\nf(x) = -0.5;\noutput f;\n");
        check_print(text, expected);
    }
}
END_TEST

START_TEST(whole) {
    check_print("mlc 1 // comments and blanks are free\n"
                "input in: f32[2]; bx(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3;\n"
                "by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3; output by, bx;\n"
                "plan root { bx: compute_root() } plan tiled { by: tile(x, y, xo, yo, xi, yi, 32, 8, .tail = guard),\n"
                "vectorize(xi, 8), parallel(yo); bx: store_at(by, yo), compute_at(by.pure, xo); bx: vectorize(x, 8); }",
                "mlc 1\n"
                "input in: f32[2];\n"
                "bx(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3.0;\n"
                "by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3.0;\n"
                "output by, bx;\n"
                "plan root {\n    bx: compute_root();\n}\n"
                "plan tiled {\n"
                "    by: tile(x, y, xo, yo, xi, yi, 32, 8, .tail = guard), vectorize(xi, 8), parallel(yo);\n"
                "    bx: store_at(by, yo), compute_at(by.pure, xo), vectorize(x, 8);\n"
                "}\n");
}
END_TEST

/* The two front doors make the same program. */
START_TEST(two_doors) {
    mlc_ctx *a = mlc_ctx_new(), *b = mlc_ctx_new();
    MLC_VARS(a, x, y);
    mlc_func in = mlc_input_new(a, "in", MLC_U8, 2), f = mlc_func_new(a, "f"), g = mlc_func_new(a, "g");
    mlc_rdom k = mlc_rdom_new(a, "k", mlc_range_new(0, 3), mlc_range_new(-1, 3));
    mlc_def_add(mlc_at(f, x, y), mlc_mul(mlc_u32(mlc_at(in, mlc_add(x, k.x), mlc_add(y, k.y))), 3));
    mlc_def(mlc_at(g, x, y), mlc_select(mlc_lt(x, y), mlc_f32(mlc_at(f, x, y)), mlc_gt(x, 3), 2, mlc_max(x, 1, y)));
    const char *one = mlc_program_print(a, 1, &g, 0, NULL);
    ck_assert_str_eq(mlc_error(a), "");
    (void)b;
    ck_assert_ptr_null(strstr(one, "poison"));
    mlc_ctx_free(a);

    bool ok = mlc_let(b, input in: u8[2]; rdom k(0, 3; -1, 3));
    ok = ok && mlc_let(b, f(x, y) += u32(in(x + k.x, y + k.y)) * 3);
    ok = ok && mlc_let(b, "g(x, y) = select(x < y, f32(f(x, y)), "
                          "1.0f)");
    ck_assert_msg(ok, "%s", mlc_error(b));
    mlc_func out = mlc_find_func(b, "g");
    ck_assert_str_eq(mlc_program_print(b, 1, &out, 0, NULL),
                     "mlc 1\ninput in: u8[2];\nrdom k(0, 3; -1, 3);\nf(x, y) += u32(in(x + k.x, y + k.y)) * 3;\n"
                     "g(x, y) = select(x < y, f32(f(x, y)), 1.0);\noutput g;\n");
    ck_assert_str_eq(mlc_stage_print(mlc_pure(out)), "g(x, y) = select(x < y, f32(f(x, y)), 1.0)");
    mlc_ctx_free(b);
}
END_TEST

START_TEST(same_program) {
    mlc_ctx *a = mlc_ctx_new();
    MLC_VARS(a, x, y);
    mlc_func in = mlc_input_new(a, "in", MLC_F32, 2), f = mlc_func_new(a, "f");
    mlc_param p = mlc_param_new(a, "p", MLC_F32);
    mlc_dim(in, 0, .stride = 3);
    mlc_input_range(in, 0, 1);
    mlc_def(mlc_at(f, x, y), mlc_clamp(mlc_mul(mlc_at(in, mlc_clamp(mlc_add(x, 1), 0, 99), y), p), 0, 0.1f));
    const char *text = mlc_program_print(a, 1, &f, 0, NULL);
    check_print(text, text);
    ck_assert_str_eq(text, "mlc 1\ninput in: f32[2] range 0.0..1.0;\nparam p: f32;\n"
                           "f(x, y) = clamp(in(clamp(x + 1, 0, 99), y) * p, 0.0, 0.1);\ndim in[0]: stride 3;\noutput f;\n");
    mlc_ctx_free(a);
}
END_TEST

/* The sugar that prints as something else: it must parse, and print as text that reads back. */
START_TEST(sugar) {
    mlc_ctx *ctx = new_ctx();
    mlc_program *p = mlc_program_parse(ctx,
        "mlc 1; input in: u8[2] range 0..254; param q: f32 range 0.0..4.0 = 1.5; rdom k(0, 9);\n"
        "c = constant_edge(0, in, 0, 640; 0, 480); r = repeat_edge(in, ; 0, 480); i = repeat_image(c, 0, 9; 0, 9);\n"
        "m = mirror_image(in); n = mirror_interior(in); f(x) = {c(x, 1), argmin(k, in(k, x))[0], f32(argmax(k, in(x, k))[1])};\n"
        "g(x, y) = minimum(k, r(x + k, y)) + maximum(k, i(x + k, y)) * product(k, m(x, k)) - u8(sum(k, u32(n(k, y))));\n"
        "s() = 3; h(index(in(k, 0))) += 1; h(index(in(0, k))) max= type_max(i32) - 1; output f, g, s, h;", NULL);
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    const char *one = printed(ctx, p);
    ck_assert_msg(one != NULL, "%s", mlc_error(ctx));
    check_print(one, one);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(values) {
    mlc_ctx *ctx = mlc_ctx_new();
    double gain = 0.25;
    int n = 3;
    mlc_expr seven = mlc_u8(7);
    MLC_VARS(ctx, x);
    mlc_expr twice = mlc_mul(x, 2);
    ck_assert(mlc_val(ctx, gain) && mlc_val(ctx, n) && mlc_val(ctx, seven) && mlc_val(ctx, twice));
    ck_assert_msg(mlc_let(ctx, f(x) = f32(x) * gain + n; g(x) = seven; h(x) = twice), "%s", mlc_error(ctx));
    ck_assert_str_eq(mlc_stage_print(mlc_pure(mlc_find_func(ctx, "f"))), "f(x) = f32(i32(x)) * 0.25 + 3.0");
    ck_assert_str_eq(mlc_stage_print(mlc_pure(mlc_find_func(ctx, "g"))), "g(x) = u8(7)");
    ck_assert_str_eq(mlc_stage_print(mlc_pure(mlc_find_func(ctx, "h"))), "h(x) = i32(x * 2)");
    ck_assert(!mlc_val_set(ctx, "f", mlc_from_int(3)));
    ck_assert_str_eq(mlc_error(ctx), "val: 'f' is already the name of an object of the program; use another name");
    mlc_error_clear(ctx);
    ck_assert(!mlc_val_set(ctx, "1a", mlc_from_int(3)));
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(errors) {
    static const struct {
        const char *text, *message; /* up to the line of the caret */
    } row[] = {
        { "f(x) = x", "text:1:1: expected 'mlc 1', the version of the text, found 'f'; see docs/language.md" },
        { "mlc 2\n", "text:1:5: this is text of version 2; this library reads version 1" },
        { "mlc 1\nf(x) = x y", "text:2:10: expected ';', found 'y'; see docs/language.md" },
        { "mlc 1\nimput in: f32[2]", "text:2:1: expected input, param, rdom, extern, dim, output, plan or a definition, found 'imput'; see docs/language.md" },
        { "mlc 1\n3 = f", "text:2:1: expected a statement, found '3'; see docs/language.md" },
        { "mlc 1\ninput in: f31[2]", "text:2:11: expected a type: bool, i8 .. i64, u8 .. u64, f16, bf16, f32, f64 or index, found 'f31'; see docs/language.md" },
        { "mlc 1\ninput in: f32[9]", "text:2: input: in cannot have rank 9; give 0 to 8" },
        { "mlc 1\ninput in: f32[1] range 2..1", "text:2: range: the range of in is empty or not of its type; give lo <= hi, literals that its type holds" },
        { "mlc 1\ninput in: f32[1] range x..1", "text:2:24: there is no 'x' here; define it before its use" },
        { "mlc 1\ninput in: f32[1]; param p: f32; param q: f32 range p..1", "text:2:52: this is no constant; write a number" },
        { "mlc 1\ninput in: f32[1]; input in: u8[1]", "text:2: input: 'in' is already the name of an input; use another name" },
        { "mlc 1\nf(x) = blurr(x); output f", "text:2:8: there is no 'blurr' here; define it before its use" },
        { "mlc 1\nblur(x) = x; f(x) = blurr(x);", "text:2:21: there is no 'blurr' here (did you mean 'blur'?); define it before its use" },
        { "mlc 1\nrdom r(0, 9; 0, 9); f(x) = r", "text:2:28: 'r' is no dimension of the RDom r; write r.x or r.y" },
        { "mlc 1\nrdom r(0, 9; 0, 9); f(x) = 0; f(r) += 1", "text:2:33: 'r' is no dimension of the RDom r; write r.x or r.y" },
        { "mlc 1\nrdom r(0, 9; 0, 9; 0, 9); f(x) = r.w", "text:2:34: 'r.w' is no dimension of the RDom r; write r.x, r.y or r.z" },
        { "mlc 1\nrdom r(0, 9); f(x) = r.x", "text:2:22: 'r.x' is no dimension of the RDom r; write r" },
        { "mlc 1\nrdom r(0, 9; 0, 9); f(x) = r(0)", "text:2:28: 'r' is an RDom and takes nothing in parentheses; write r.x or r.y" },
        { "mlc 1\ninput in: u8[2]; f(x, y) = in", "text:2:28: 'in' is an input; write in(x, y)" },
        { "mlc 1\ninput in: u8[2]; f(x, y) = in[x, y]", "text:2:28: 'in' is an input; write in(x, y)" },
        { "mlc 1\ng(x) = 1; f(x) = g + f", "text:2:18: 'g' is a Func; write g(x)" },
        { "mlc 1\nf(x) = f", "text:2:8: 'f' is a Func; write f(..)" },
        { "mlc 1\ninput in: u8[1]; rdom r(0, in.extent.1)", "text:2:28: 'in.extent.1' is no size of in, whose rank is 1; "
          "write .min, .extent or .stride and a dimension, counted from 0" },
        { "mlc 1\ninput in: u8[1]; g = constant_edge(in)", "text:2:36: constant_edge needs a value first; write constant_edge(0, in)" },
        { "mlc 1\nparam p: i32; f(x) = p(x)", "text:2:22: 'p' is a param and takes nothing in parentheses; write p" },
        { "mlc 1\nf(x) = x(0)", "text:2:8: 'x' is a Var and takes nothing in parentheses; write x" },
        { "mlc 1\nrdom r(0, 9); f(x) = 0; f(x) += r(0)", "text:2:33: 'r' is an RDom and takes nothing in parentheses; write r" },
        { "mlc 1\nf(x) = { a = x; a(1) }", "text:2:17: 'a' is a value and takes nothing in parentheses; write a" },
        { "mlc 1\nparam p: f32 = 3 range 0.0..1.0", "text:2:18: the range of p stands behind its value; write the range first, as in param gain: f32 range 0..4 = 1.5" },
        { "mlc 1\nparam p: f32 range 0..1 = 3", "text:2:27: param p is 3.0, outside its range 0.0 to 1.0; give one inside" },
        { "mlc 1\nparam p: f32 range 0..1 = -0.0", "text:2:27: param p is -0.0, outside its range 0.0 to 1.0; give one inside" },
        { "mlc 1\nparam p: u64 range 1..9 = 0", "text:2:27: param p is 0, outside its range 1 to 9; give one inside" },
        { "mlc 1\nparam p: i32; output p", "text:2:22: 'p' is a param; name a Func or an input here" },
        { "mlc 1\nrdom r(0, 3); g = repeat_edge(r)", "text:2:31: 'r' is an RDom; name a Func or an input here" },
        { "mlc 1\nf(x) = 1; output x", "text:2:18: there is no 'x' here; define it before its use" },
        { "mlc 1\noutput f", "text:2:8: there is no 'f' here; define it before its use" },
        { "mlc 1\nf(x) = f(x - 1)", "text:2:8: f is read before it is defined; define it first, and let an update over an RDom read itself" },
        { "mlc 1\nt(x) = {1, 2}; f(x) = t(x) + 1", "text:2:23: t is a tuple; take one of its elements: [0] in text, mlc_elem in C" },
        { "mlc 1\nt(x) = {1, 2}; f(x) = t(x)[2]", "text:2:23: t has 2 elements and no element 2; count from 0" },
        { "mlc 1\nf(x) 3", "text:2:6: expected '=', '+=', '-=', '*=', 'min=' or 'max=', found '3'; see docs/language.md" },
        { "mlc 1\nf(x) = u8(1); f(x) += 256", "text:2: define f: the literal 256 is not a value of u8; widen the other side, or write u8(256), which wraps or rounds" },
        { "mlc 1\nf(x, x) = 1", "text:2: define f: f has no definition yet, and dimension 1 of this one is no Var of its own; give a pure definition with distinct Vars first" },
        { "mlc 1\nf(x) = 1; g(y) = y + x", "text:2: define g: the Var x is not on the left side; add it there or use an RDom" },
        { "mlc 1\nrdom k(0)", "text:2:9: expected ',', found ')'; see docs/language.md" },
        { "mlc 1\nrdom k(0, 3) where k", "text:2: where k: the condition of k is index, not bool; compare it with something" },
        { "mlc 1\nf(x) = sum(k, x)", "text:2:12: 'k' is no RDom; declare it, as in rdom k(0, 3)" },
        { "mlc 1\nextern gian: f32 -> f32", "text:2:8: the C function gian is not declared with this signature; call mlc_extern_new before the text is read" },
        { "mlc 1\nextern gain: f32 f32 -> f32", "text:2:8: the C function gain is not declared with this signature; call mlc_extern_new before the text is read" },
        { "mlc 1\nf(x) = gain(1, 2)", "text:2:8: gain takes 1 arguments, and 2 are given; give it as many" },
        { "mlc 1\nf(x) = random_f32(x, -1)", "text:2:19: -1 is no number of a place; write 0 or more" },
        { "mlc 1\nf(x) = 1; dim f[1]: min 0", "text:2: dim: f has no dimension 1; count from 0, below its rank" },
        { "mlc 1\nf(x) = 1; dim f[0]: max 0", "text:2:21: expected min, extent, stride or align, found 'max'; see docs/language.md" },
        { "mlc 1\ng = repeat(f)", "text:2:5: expected constant_edge, repeat_edge, repeat_image, mirror_image or mirror_interior, found 'repeat'; see docs/language.md" },
        { "mlc 1\nf(x) = 1; plan a { } plan a { }", "text:2:27: 'a' is already the name of a plan; use another name" },
        { "mlc 1\nf(x) = 1; plan a { f: split(x) }", "text:2:30: split has too few arguments; write for example split(x, xo, xi, 8, .tail = guard)" },
        { "mlc 1\nf(x) = 1; plan a { f: tile(", "text:2:28: expected the name of a loop, found the end of the text; see docs/language.md" },
        { "mlc 1\nf32(x) = 1", "text:2: func: 'f32' is the name of a type or an operator; use another name" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        mlc_ctx *ctx = new_ctx();
        ck_assert_msg(!mlc_program_parse(ctx, row[i].text, NULL), "%s is accepted", row[i].text);
        char message[1024];
        snprintf(message, sizeof message, "%s", mlc_error(ctx));
        message[strcspn(message, "\n")] = 0;
        ck_assert_str_eq(message, row[i].message);
        mlc_ctx_free(ctx);
    }
    mlc_ctx *ctx = mlc_ctx_new();
    ck_assert(!mlc_let_text(ctx, "f(x) = (x", (mlc_loc){ "/a/b.c", 7 }));
    ck_assert_str_eq(mlc_error(ctx), "b.c:7:10: expected ')', found the end of the text; see docs/language.md\n"
                                     "    f(x) = (x\n             ^");
    mlc_error_clear(ctx);
    ck_assert(!mlc_let(ctx, f(x, y) = i32(x) * zzzz));
    ck_assert_ptr_nonnull(strstr(mlc_error(ctx), "there is no 'zzzz' here; define it before its use, or hand a value of C over with mlc_val\n"));
    mlc_ctx_free(ctx);
}
END_TEST

static uint64_t state = 7;
static int below(int n) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)n);
}

/* Mutated programs: an error or a program that prints as it reads, never a crash or an internal error. */
START_TEST(garbage) {
    static const char seed[] =
        "mlc 1\ninput in: u8[2] range 0..9; param p: f32 range 0..1;\nrdom k(0, 3; -1, in.extent.0) where k.x < k.y;\n"
        "t(x, y) = {x + y, f32(in(x, 1)) * p}; t(x, y) = {t(x, y)[0] + k.x, sum(k, p)};\n"
        "h(x) += u32(in(k.x, x)); g = repeat_edge(in, 0, 3; 0, 5); f(x, y) = select(t(x, y)[0] < 3, { a = g(x, y); a * a }, u8(2));\n"
        "dim in[0]: stride 3; output f, h; plan a { f: split(x, xo, xi, 4, .tail = guard), vectorize(xi); h.u0: serial(k.y); }\n";
    for (int i = 0; i < 3000; i++) {
        char s[1024];
        size_t n = sizeof seed - 1;
        memcpy(s, seed, n + 1);
        for (int m = below(3); m >= 0; m--) {
            size_t at = (size_t)below((int)n), len = 1 + (size_t)below(8), to = (size_t)below((int)n);
            if (at + len > n) len = n - at;
            switch (below(4)) {
            case 0: s[at] = "(){}[];:,.=<>&|\"`/*0x1e-$\n \x01\xff"[below(29)]; break;
            case 1: memmove(s + at, s + at + len, n - at - len + 1), n -= len; break;
            case 2: if (to + len <= n) memmove(s + to, s + at, len); break;
            default: s[n = at] = 0; break;
            }
            if (n < 4) break;
        }
        mlc_ctx *ctx = mlc_ctx_new();
        mlc_program *p = mlc_program_parse(ctx, s, NULL);
        ck_assert_msg(p || mlc_error_code(ctx), "no error:\n%s", s);
        ck_assert_msg(mlc_error_code(ctx) != ERR_INTERNAL, "%s\n%s", mlc_error(ctx), s);
        const char *one = p ? printed(ctx, p) : NULL;
        if (one) {
            mlc_ctx *again = mlc_ctx_new();
            mlc_program *q = mlc_program_parse(again, one, NULL);
            ck_assert_msg(q != NULL, "%s\n%s", mlc_error(again), one);
            ck_assert_str_eq(printed(again, q), one);
            mlc_ctx_free(again);
        }
        mlc_ctx_free(ctx);
    }
}
END_TEST

/* Memory runs out at every place. */
static void *resize_until(void *user, void *old, size_t size) {
    int *left = user;
    if (size && (*left)-- <= 0) return NULL;
    return mlc_allocator_libc.resize(mlc_allocator_libc.user, old, size);
}

START_TEST(out_of_memory) {
    static char text[40000] = "mlc 1\nf(x) = 1";
    for (int i = 0; i < 1500; i++) strcat(text + 12, " + x * 3");
    strcat(text, "; output f; plan a { f: vectorize(x, 8); }");
    for (int n = 0; n < 1 << 24; n += n < 200 ? 1 : n) { /* arenas of the hardened build ask often */
        int left = n;
        mlc_allocator hook = { resize_until, &left };
        mlc_ctx *ctx = mlc_ctx_new_with(&hook);
        mlc_program *p = ctx ? mlc_program_parse(ctx, text, NULL) : NULL;
        const char *one = p ? printed(ctx, p) : NULL;
        if (ctx && !one) ck_assert_int_eq(mlc_error_code(ctx), ERR_OUT_OF_MEMORY);
        mlc_ctx_free(ctx);
        if (!one) continue;
        ck_assert_int_gt(n, 2);
        return;
    }
    ck_abort_msg("never enough");
}
END_TEST

START_TEST(nulls) {
    mlc_ctx *ctx = mlc_ctx_new();
    ck_assert(!mlc_program_parse(NULL, "", NULL) && !mlc_program_parse(ctx, NULL, NULL) && !mlc_let_text(NULL, "", MLC_HERE));
    ck_assert(!mlc_program_output(NULL, 0).f && !mlc_program_plan(NULL, 0) && !mlc_find_func(ctx, NULL).f);
    mlc_func none = { NULL };
    ck_assert(!mlc_program_print(ctx, 1, &none, 0, NULL));
    ck_assert_str_eq(mlc_error(ctx), "the Func or the stage has no value; make it with mlc_func_new or mlc_update");
    mlc_error_clear(ctx);
    mlc_func f = mlc_func_new(ctx, "f");
    ck_assert(!mlc_program_print(ctx, 1, &f, 0, NULL));
    ck_assert_ptr_nonnull(strstr(mlc_error(ctx), "f is needed and has no definition; define it"));
    mlc_ctx_free(ctx);
}
END_TEST

Suite *program_text_suite(void);
Suite *program_text_suite(void) {
    Suite *s = suite_create("program_text");
    TCase *t = tcase_create("programs");
    tcase_add_test(t, rows);
    tcase_add_test(t, whole);
    tcase_add_test(t, two_doors);
    tcase_add_test(t, same_program);
    tcase_add_test(t, sugar);
    tcase_add_test(t, values);
    tcase_add_test(t, errors);
    tcase_add_test(t, garbage);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, nulls);
    suite_add_tcase(s, t);
    return s;
}
