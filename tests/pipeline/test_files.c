/* Arrays in files, and the command line tool over them. */
#include "../../tools/file.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *files_suite(void);

static char dir[64];

static const char *path(const char *name) {
    static char p[4][128];
    static int turn;
    char *s = p[turn++ % 4];
    snprintf(s, sizeof p[0], "%s/%s", dir, name);
    return s;
}

static void open_dir(void) {
    strcpy(dir, "/tmp/mlc-files-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void close_dir(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static mlc_buffer *pattern(mlc_type type, int rank, const int64_t *extent) {
    mlc_buffer *b = mlc_buffer_new(type, rank, extent);
    unsigned char *p = b->data;
    size_t n = (size_t)mlc_buffer_count(b) * mlc_type_size(type);
    for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(type == MLC_BOOL ? i % 3 == 0 : i * 151 + 7);
    return b;
}

static bool equal(const mlc_buffer *a, const mlc_buffer *b) {
    bool same = a->type == b->type && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = a->dim[d].extent == b->dim[d].extent;
    return same && !memcmp(a->data, b->data, (size_t)mlc_buffer_count(a) * mlc_type_size(a->type));
}

START_TEST(npy_keeps_every_type_and_rank) {
    static const int64_t extents[][8] = { { 0 }, { 13 }, { 5, 7 }, { 3, 1, 2 }, { 2, 3, 1, 2, 1, 2, 1, 2 }, { 4, 0 } };
    static const int ranks[] = { 0, 1, 2, 3, 8, 2 };
    char why[WHY] = "";
    for (int t = MLC_BOOL; t <= MLC_F64; t++) {
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
            mlc_buffer *b = pattern((mlc_type)t, ranks[i], extents[i]);
            ck_assert_msg(array_write(path("a.npy"), b, why), "%s", why);
            mlc_buffer *c = array_read(path("a.npy"), why);
            ck_assert_msg(c && equal(b, c), "%s rank %d: %s", mlc_type_name((mlc_type)t), ranks[i], why);
            mlc_buffer_free(b);
            mlc_buffer_free(c);
        }
    }
}
END_TEST

START_TEST(png_keeps_8_and_16_bits_and_channels) {
    char why[WHY] = "";
    for (int wide = 0; wide < 2; wide++) {
        for (int channels = 1; channels <= 4; channels++) {
            mlc_buffer *b = pattern(wide ? MLC_U16 : MLC_U8, channels == 1 ? 2 : 3, (int64_t[]){ 13, 7, channels });
            ck_assert_msg(array_write(path("a.png"), b, why), "%s", why);
            mlc_buffer *c = array_read(path("a.png"), why);
            ck_assert_msg(c && equal(b, c), "%d bits, %d channels: %s", wide ? 16 : 8, channels, why);
            mlc_buffer_free(b);
            mlc_buffer_free(c);
        }
    }
}
END_TEST

START_TEST(pictures_become_what_a_program_wants) {
    char why[WHY];
    mlc_buffer *b = array_fit(pattern(MLC_U8, 2, (int64_t[]){ 4, 3 }), MLC_F32, 3, why);
    ck_assert_int_eq(b->rank, 3);
    ck_assert_int_eq(b->dim[2].extent, 1);
    ck_assert(((float *)b->data)[1] == (float)(158 / 255.));
    mlc_buffer_free(b);
    b = array_fit(pattern(MLC_U8, 2, (int64_t[]){ 4, 3 }), MLC_U16, 2, why);
    ck_assert_uint_eq(((uint16_t *)b->data)[1], 158 * 257);
    mlc_buffer_free(b);
    ck_assert_ptr_null(array_fit(pattern(MLC_U8, 3, (int64_t[]){ 4, 3, 3 }), MLC_U8, 2, why));
    ck_assert_str_eq(why, "it has 3 dimensions, and the program wants 2");
    ck_assert_ptr_null(array_fit(pattern(MLC_F64, 2, (int64_t[]){ 4, 3 }), MLC_F32, 2, why));
    ck_assert_str_eq(why, "it holds f64, and the program wants f32");
}
END_TEST

START_TEST(elements_round_as_the_language_does) {
    static const struct {
        mlc_type type;
        double v, want;
    } rows[] = {
        { MLC_F16, 65519, 65504 },       { MLC_F16, 65520, (double)INFINITY }, { MLC_F16, 1 + 0x1p-11, 1 },
        { MLC_F16, 1 + 0x3p-11, 1 + 0x1p-9 }, { MLC_F16, 0x1p-24, 0x1p-24 },   { MLC_F16, 0x1p-25, 0 },
        { MLC_F16, 2047.9, 2048 },       { MLC_BF16, 1 + 0x1p-8, 1 },          { MLC_BF16, 1 + 0x3p-8, 1 + 0x1p-6 },
        { MLC_U8, 300, 255 },            { MLC_U8, -1, 0 },                    { MLC_I8, 2.5, 2 },
        { MLC_I64, 0x1p70, 0x7ffffffffffffc00 }, { MLC_F32, 0.1, (double)0.1f }, { MLC_U16, (double)NAN, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t space = 0;
        element_set(rows[i].type, &space, rows[i].v);
        ck_assert_msg(element_get(rows[i].type, &space) == rows[i].want, "row %zu: %g", i, element_get(rows[i].type, &space));
    }
}
END_TEST

static void put_file(const char *name, const void *bytes, size_t n) {
    FILE *f = fopen(path(name), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

START_TEST(broken_files_fail_with_a_reason) {
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } rows[] = {
#define NPY(header) "\x93NUMPY\1\0\x50\0" header "                                                                  "
#define ROW(bytes, why) { bytes, sizeof(bytes) - 1, why },
        ROW("", "it is neither PNG nor NPY")
        ROW("\x93NUMPY\1\0", "it is no NPY file")
        ROW("\x93NUMPY\4\0\2\0{}    ", "its version is not 1, 2 or 3")
        ROW("\x93NUMPY\1\0\xff\xff{}  ", "the header ends too early")
        ROW(NPY("{'descr': '<f4', 'shape': (2,)}"), "the header lacks descr, fortran_order or shape")
        ROW(NPY("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}"),
            "the type of its elements is none of mlc's (little-endian numbers and bool)")
        ROW(NPY("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"), "the shape is no tuple of at most 8 sizes")
        ROW(NPY("{'descr': '<f8', 'fortran_order': False, 'shape': (9,9)}"), "the file ends too early")
        ROW(NPY("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,9)}"), "the shape is too large")
        ROW("\x89PNG\r\n\x1a\n", "the file ends too early")
        ROW("\x89PNG\r\n\x1a\n\0\0\0\4abcd", "the file ends too early")
        /* 255 x 393218 pixels of 64 bits */
        ROW("\x89PNG\r\n\x1a\n\0\0\0\15IHDR\0\0\0\377\0\6\0\2\20\6\0\0\0\1\373\337\311\0\0\0\53IDATx\332\n\0\0\0\r",
            "the file is too short for a picture of that size")
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char why[WHY] = "";
        put_file("broken", rows[i].bytes, rows[i].n);
        ck_assert_msg(!array_read(path("broken"), why), "row %zu", i);
        ck_assert_msg(!strcmp(why, rows[i].why), "row %zu: %s", i, why);
    }
    char why[WHY];
    ck_assert_ptr_null(array_read(path("absent"), why));
    ck_assert_str_eq(why, "No such file or directory");
}
END_TEST

START_TEST(what_cannot_be_written_leaves_the_old_file) {
    char why[WHY];
    mlc_buffer *b = pattern(MLC_I32, 2, (int64_t[]){ 4, 3 });
    put_file("old.png", "old", 3);
    ck_assert(!array_write(path("old.png"), b, why));
    ck_assert_str_eq(why, "an array of i32 with 2 dimensions is no picture; write .npy");
    size_t n;
    char *old = file_bytes(path("old.png"), &n, why);
    ck_assert(n == 3 && !memcmp(old, "old", 3));
    free(old);
    ck_assert_int_ne(access(path("old.png.part"), F_OK), 0);
    ck_assert(!array_write(path("a.txt"), b, why));
    ck_assert_str_eq(why, "the name ends in neither .png nor .npy");
    ck_assert(!array_write("/nowhere/a.npy", b, why));
    mlc_buffer_free(b);
}
END_TEST

/* ---- the tool: $MLC names it ---- */

/* Runs it with these arguments; its exit status, and what it printed. */
static int tool(const char *arguments, char *out, size_t size) {
    char command[1024];
    snprintf(command, sizeof command, "%s %s 2>&1", getenv("MLC"), arguments);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(out, 1, size - 1, f);
    out[n] = 0;
    while (fgetc(f) != EOF) {} /* the rest, so that it does not die of a closed pipe */
    int status = pclose(f);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const char program[] = "mlc 1\n"
                              "input in: f32[2];\n"
                              "param gain: f32 range 0..4;\n"
                              "bx(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) * gain;\n"
                              "by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3;\n"
                              "output by;\n"
                              "plan fast { by: vectorize(x, 8), parallel(y); bx: compute_at(by, y), vectorize(x, 8); }\n";

START_TEST(the_tool_runs_programs) {
    if (!getenv("MLC")) return; /* make test sets it */
    char out[4096], args[512], why[WHY];
    put_file("p.mlc", program, sizeof program - 1);
    mlc_buffer *in = pattern(MLC_U8, 2, (int64_t[]){ 37, 23 });
    ck_assert(array_write(path("in.png"), in, why));
    static const char *const ways[] = { "--target interpret", "--schedule none", "--schedule fast", "--check" };
    mlc_buffer *first = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(args, sizeof args, "run %s in=%s by=%s gain=0.25 %s", path("p.mlc"), path("in.png"), path("by.npy"), ways[i]);
        ck_assert_msg(tool(args, out, sizeof out) == 0, "%s: %s", args, out);
        mlc_buffer *b = array_read(path("by.npy"), why);
        ck_assert_msg(b && b->dim[0].extent == 35 && b->dim[1].extent == 21, "%s", ways[i]);
        if (first) ck_assert_msg(equal(first, b), "%s differs from the interpreter", ways[i]);
        else first = b;
        if (b != first) mlc_buffer_free(b);
    }
    mlc_buffer_free(first);
    mlc_buffer_free(in);
    snprintf(args, sizeof args, "bench %s --schedule none --schedule fast --size in=64,64 gain=1 --rounds 3", path("p.mlc"));
    ck_assert_msg(tool(args, out, sizeof out) == 0, "%s", out);
    ck_assert_ptr_nonnull(strstr(out, "program\tplan\ttarget\t"));
    ck_assert_ptr_nonnull(strstr(out, "\tfast\t"));
    snprintf(args, sizeof args, "check %s", path("p.mlc"));
    ck_assert_msg(tool(args, out, sizeof out) == 0, "%s", out);
    for (int i = 0; i < 4; i++) {
        static const char *const level[] = { "algorithm", "schedule", "loops", "c" };
        snprintf(args, sizeof args, "explain %s --schedule fast --level %s", path("p.mlc"), level[i]);
        ck_assert_msg(tool(args, out, sizeof out) == 0 && strlen(out) > 20, "%s: %s", level[i], out);
    }
}
END_TEST

START_TEST(the_tool_says_what_is_wrong) {
    if (!getenv("MLC")) return;
    static const struct {
        const char *args; /* %s: the program */
        int status;
        const char *says;
    } rows[] = {
        { "", 2, "usage: mlc COMMAND" },
        { "rnu", 2, "mlc: there is no command 'rnu' (did you mean 'run'?); `mlc help` lists them\n" },
        { "help run", 0, "usage: mlc run" },
        { "help frobnicate", 2, "mlc: there is no command 'frobnicate'; `mlc help` lists them\n" },
        { "run", 2, "mlc: a program is wanted: mlc run P.mlc [options] NAME=FILE|VALUE ...\n" },
        { "run %s --opt 9", 2, "mlc: --opt 9: a number from 1 to 3 is wanted\n" },
        { "run %s --bogus", 2, "mlc: there is no option --bogus; `mlc help run` lists them\n" },
        { "help", 0, "Without --schedule a program runs under its plan default, else its first, else none.\n" },
        { "run /nowhere.mlc", 1, "No such file" },
        { "run %s gain=1", 1, "input in has no file; write in=FILE" },
        { "bench %s --size in=9,9", 1, "param gain has no value; write for example gain=1.5" },
        { "run %s gain=much", 1, "gain=much: it is no number" },
        { "run %s gain=9 in=%s", 1, "neither PNG nor NPY" },
        { "explain %s --level asm", 1, "there is no level 'asm'" },
        { "explain %s --schedule nosuch", 1, "the program has no plan of that name" },
        { "emit %s", 2, "-o PREFIX is wanted" },
        { "info extra", 2, "info takes no program" },
        { "bench %s gain=1", 1, "input in has neither a file nor a --size" },
        { "bench %s gain=1 --size in=3", 1, "--size in=3: 2 extents are wanted" },
        { "bench %s gain=1 --size in=9,9 --size foo=1", 1, "mlc: --size foo: the program has no buffer of that name\n" },
        { "bench %s gain=5 --size in=9,9 --rounds 1", 1, "param gain is 5, outside its range 0 to 4" },
    };
    put_file("p.mlc", program, sizeof program - 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[4096], args[512];
        size_t n = 0;
        for (const char *p = rows[i].args; *p && n < 400; p++) {
            if (p[0] == '%' && p[1] == 's') n += (size_t)sprintf(args + n, "%s", path("p.mlc")), p++;
            else args[n++] = *p;
        }
        args[n] = 0;
        int status = tool(args, out, sizeof out);
        ck_assert_msg(status == rows[i].status && strstr(out, rows[i].says), "mlc %s gives %d and %s", args, status, out);
    }
}
END_TEST

/* Without --size an output is the largest that its inputs allow, or an error: never less in silence. */
START_TEST(outputs_are_the_largest_that_inputs_allow) {
    if (!getenv("MLC")) return;
    static const struct {
        const char *input, *body;
        int rank, out_rank;
        int64_t in[3], want[3]; /* want[0] -1: an error that asks for `size` */
        const char *size;
    } rows[] = {
        { "u8[2]", "t(x, y) = in(y, x);", 2, 2, { 1022, 1534 }, { 1534, 1022 }, 0 },
        { "u8[2]", "t(x, y) = in(x * 2, y * 2);", 2, 2, { 1022, 1534 }, { 511, 767 }, 0 },
        { "u8[2]", "t(x, y) = in(2 * x, y) + in(2 * x + 1, y);", 2, 2, { 1021, 15 }, { 510, 15 }, 0 },
        { "u8[2]", "t(x, y) = in(x / 2, y / 2);", 2, 2, { 1022, 1534 }, { 2044, 3068 }, 0 },
        { "u8[2]", "t(x, y) = in(x - 1, y) + in(x + 3, y);", 2, 2, { 30, 7 }, { 26, 7 }, 0 },
        { "u8[2]", "t(x, y) = in(1000 - x, y);", 2, 2, { 30, 7 }, { 30, 7 }, 0 },
        { "u8[2]", "t(x, y) = in(5 * x - 100000, y);", 2, 2, { 30, 7 }, { 6, 7 }, 0 },
        { "u8[2]", "t(x, y) = in(x + 3, y) + in(9 - x, y);", 2, 2, { 10, 7 }, { 7, 7 }, 0 },
        { "u8[3]", "t(x, y) = in(x, y, 0) / 2 + in(x, y, 2) / 2;", 3, 2, { 13, 7, 3 }, { 13, 7 }, 0 },
        { "u8[3]", "t(x, y) = in(x, y, 0) / 2 + in(x, y, 3) / 2;", 3, 2, { 13, 7, 3 }, { -1 }, "W,H" },
        { "u8[2]", "rdom k(0, 13); t(y) += u32(in(k, y));", 2, 1, { 13, 7 }, { 7 }, 0 },
        { "u8[1]", "t(x, y) = in(x) + in(y);", 1, 2, { 13 }, { 13, 13 }, 0 },
        { "u8[1]", "t(x, y) = in(x + y);", 1, 2, { 13 }, { -1 }, "W,H" },
        { "u8[1]", "t(x, y, c) = in(x);", 1, 3, { 13 }, { -1 }, "W,H,D" },
        { "u8[2]", "t(x, y) = in(clamp(x, 0, 12), clamp(y, 0, 6));", 2, 2, { 13, 7 }, { 13, 7 }, 0 },
        { "u8[2]", "t(x) = in(clamp(x, 0, 12), 0);", 2, 1, { 13, 7 }, { -1 }, "W" },
        { "u8[2]", "t(x, y) = in(x * 2, y);", 2, 2, { 0, 7 }, { 0, 0 }, 0 },
        { "u8[2]", "t(x, y) = in(x, y) + in(x + 20, y);", 2, 2, { 13, 7 }, { -1 }, "W,H" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[4096], args[512], text[512], why[WHY];
        int n = snprintf(text, sizeof text, "mlc 1\ninput in: %s;\n%s\noutput t;\n", rows[i].input, rows[i].body);
        put_file("p.mlc", text, (size_t)n);
        mlc_buffer *in = pattern(MLC_U8, rows[i].rank, rows[i].in);
        ck_assert_msg(array_write(path("in.npy"), in, why), "%s", why);
        mlc_buffer_free(in);
        snprintf(args, sizeof args, "run %s in=%s t=%s", path("p.mlc"), path("in.npy"), path("t.npy"));
        int status = tool(args, out, sizeof out);
        if (rows[i].want[0] < 0) {
            snprintf(text, sizeof text, "the inputs do not tell the extents of output t; give them\nmlc: write --size t=%s\n",
                     rows[i].size);
            ck_assert_msg(status == 1 && strstr(out, text), "%s gives %d, %s", rows[i].body, status, out);
            continue;
        }
        ck_assert_msg(status == 0, "%s: %s", rows[i].body, out);
        mlc_buffer *t = array_read(path("t.npy"), why);
        ck_assert_msg(t && t->rank == rows[i].out_rank, "%s: %s", rows[i].body, why);
        for (int d = 0; d < t->rank; d++)
            ck_assert_msg(t->dim[d].extent == rows[i].want[d], "%s: %lld in dimension %d", rows[i].body,
                          (long long)t->dim[d].extent, d);
        mlc_buffer_free(t);
    }
}
END_TEST

START_TEST(emit_spares_what_others_wrote) {
    if (!getenv("MLC")) return;
    char out[4096], args[512], why[WHY];
    put_file("p.mlc", program, sizeof program - 1);
    put_file("mine.h", "int x;", 6);
    snprintf(args, sizeof args, "emit %s -o %s", path("p.mlc"), path("mine"));
    ck_assert_int_eq(tool(args, out, sizeof out), 1);
    ck_assert_ptr_nonnull(strstr(out, "mine.h exists and was not made by mlc; choose another prefix"));
    ck_assert_int_ne(access(path("mine.c"), F_OK), 0);
    size_t n;
    char *old = file_bytes(path("mine.h"), &n, why);
    ck_assert(n == 6 && !memcmp(old, "int x;", 6));
    free(old);
    snprintf(args, sizeof args, "emit %s -o %s", path("p.mlc"), path("new"));
    for (int i = 0; i < 2; i++) ck_assert_msg(tool(args, out, sizeof out) == 0, "%s", out); /* its own it replaces */
}
END_TEST

Suite *files_suite(void) {
    Suite *s = suite_create("files");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, open_dir, close_dir);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, npy_keeps_every_type_and_rank);
    tcase_add_test(t, png_keeps_8_and_16_bits_and_channels);
    tcase_add_test(t, pictures_become_what_a_program_wants);
    tcase_add_test(t, elements_round_as_the_language_does);
    tcase_add_test(t, broken_files_fail_with_a_reason);
    tcase_add_test(t, what_cannot_be_written_leaves_the_old_file);
    tcase_add_test(t, the_tool_runs_programs);
    tcase_add_test(t, the_tool_says_what_is_wrong);
    tcase_add_test(t, outputs_are_the_largest_that_inputs_allow);
    tcase_add_test(t, emit_spares_what_others_wrote);
    suite_add_tcase(s, t);
    return s;
}
