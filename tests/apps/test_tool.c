/* test_tool.c - what the tool ($MLC, set by make test) shows of a run: profiles, traces, dumps; and what it says of
 * wrong options. */
#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *tool_suite(void);

static char folder[64], said[1 << 14];
static int came_from; /* the folder before, to which teardown returns: without forks the next suites run there */

static void setup(void) {
    static const char text[] = "mlc 1\ninput in: u8[2];\ng(x, y) = in(x, y) / 2;\nout(x, y) = g(x, y) + g(x, y + 1);\noutput out;\n"
                               "plan rows { g: compute_at(out, y); }\nplan some { g: compute_at(out, y), trace(); }\n";
    static const char counts[] = "mlc 1\ninput in: u8[2];\nparam fast: bool = false;\nparam n: i32 = 1;\nparam big: u64 = 1;\n"
                                 "param gain: f32 = 2;\nrdom r(0, 7; 0, 5);\nhist(x) = u64(0);\n"
                                 "hist(index(in(r.x, r.y))) += select(fast, u64(n), 1);\nlate(x) = hist(x) + big * u64(gain);\n"
                                 "output hist;\noutput late;\n";
    char path[128];
    snprintf(folder, sizeof folder, "/tmp/mlc-tool-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    came_from = open(".", O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(chdir(folder), 0);
    FILE *f = fopen("p.mlc", "w");
    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
    snprintf(path, sizeof path, "%s/cache", folder);
    setenv("MLC_CACHE", path, 1);
    f = fopen("q.mlc", "w");
    ck_assert(f && fputs(counts, f) >= 0 && fclose(f) == 0);
    f = fopen("z.plan", "w");
    ck_assert(f && fputs("plan z { g: compute_root(); }\n", f) >= 0 && fclose(f) == 0);
    f = fopen("in.npy", "w");
    char head[119];
    snprintf(head, sizeof head, "%-117s\n", "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 7), }");
    ck_assert(f && fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f) == 10 && fwrite(head, 1, 118, f) == 118);
    for (int i = 0; i < 35; i++) putc(i * 7, f);
    ck_assert_int_eq(fclose(f), 0);
}

static void teardown(void) {
    char command[128];
    ck_assert_int_eq(fchdir(came_from), 0);
    close(came_from);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *tool_path(void) {
    static char path[4096];
    const char *tool = getenv("MLC");
    if (!path[0] && tool && !realpath(tool, path)) path[0] = 0;
    return path;
}

/* What the tool prints, its status in front. */
static const char *tool(const char *arguments) {
    char command[8192];
    snprintf(command, sizeof command, "%s %s 2>&1", tool_path(), arguments);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(said + 2, 1, sizeof said - 3, f);
    said[n + 2] = 0;
    said[0] = (char)('0' + pclose(f) / 256);
    said[1] = ' ';
    return said;
}

static void begins(const char *arguments, const char *text) {
    ck_assert_msg(!strncmp(tool(arguments), text, strlen(text)), "mlc %s: %s", arguments, said);
}

static int lines_with(const char *path, const char *part) {
    char line[4096];
    int n = 0;
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s is not there", path);
    while (fgets(line, sizeof line, f)) n += strstr(line, part) != NULL;
    fclose(f);
    return n;
}

START_TEST(profiles) {
    if (!*tool_path()) return;
    tool("run p.mlc --schedule rows in=in.npy out=out.npy --profile=tsv --threads 1");
    ck_assert_msg(!strncmp(said, "0 stage\tplace\t", 14), "%s", said);
    ck_assert_msg(strstr(said, "\t4\t56\t35\t1.60\t4\t56\t14\t0\t") != NULL, "%s", said);
    tool("bench p.mlc --schedule rows --schedule none --size in=64,65 --size out=64,64 --rounds 1 --profile");
    ck_assert_msg(strstr(said, "\nplan\trows\nstage ") && strstr(said, "\nplan\tnone\nstage "), "%s", said);
}
END_TEST

START_TEST(traces) {
    if (!*tool_path()) return;
    begins("run p.mlc --schedule rows in=in.npy out=out.npy --trace-chrome t.json", "0 ");
    ck_assert_int_eq(lines_with("t.json", "\"cat\": \"produce\""), 5);
    begins("run p.mlc --schedule some in=in.npy out=out.npy --trace-chrome t.json", "0 ");
    ck_assert_int_eq(lines_with("t.json", "\"cat\": \"produce\""), 4);
    begins("run p.mlc --schedule rows in=in.npy out=out.npy --trace-chrome t.json --most-spans 2",
           "0 mlc: --trace-chrome t.json: it holds the first 2 spans, and 3 more found no room; say --most-spans 5, or trace() in the plan, "
           "of some Funcs alone\n");
    ck_assert_int_eq(lines_with("t.json", "\"cat\": \"produce\""), 2);
}
END_TEST

START_TEST(dumps) {
    if (!*tool_path()) return;
    begins("run p.mlc --schedule rows in=in.npy out=out.npy --dump g=g.npy --dump out=again.npy", "0 ");
    unsigned char g[200];
    FILE *f = fopen("g.npy", "r");
    ck_assert(f && fread(g, 1, sizeof g, f) == 128 + 35);
    fclose(f);
    for (int i = 0; i < 35; i++) ck_assert_int_eq(g[128 + i], i * 7 / 2);
    ck_assert_int_eq(system("cmp out.npy again.npy"), 0);
    FILE *text = fopen("apart.mlc", "w");
    ck_assert(text && fputs("mlc 1\ninput in: u8[2];\ninput other: u8[2];\nparam gain: i32;\nout(x, y) = in(x, y);\n"
                            "g(x, y) = i32(other(x, y)) * gain;\noutput out;\n", text) >= 0 && fclose(text) == 0);
    begins("run apart.mlc in=in.npy other=in.npy gain=3 out=out.npy --dump g=g.npy", "0 ");
    int32_t apart[200];
    f = fopen("g.npy", "r");
    ck_assert(f && fread(apart, 1, sizeof apart, f) == 128 + 35 * sizeof *apart);
    fclose(f);
    for (int i = 0; i < 35; i++) ck_assert_int_eq(apart[32 + i], i * 7 * 3);
    begins("run apart.mlc in=in.npy other=in.npy out=out.npy --dump g=g.npy", "1 mlc: param gain has no value; write for example gain=1\n");
    begins("run apart.mlc in=in.npy gain=3 out=out.npy --dump g=g.npy", "1 mlc: input other has no file; write other=FILE\n");
    begins("run apart.mlc in=in.npy gain=3 out=out.npy g=g.npy",
           "1 mlc: g=g.npy: g is no output, and none reads it as an input; an inner Func is written by --dump g=FILE\n");
    begins("run apart.mlc in=in.npy other=in.npy out=out.npy",
           "1 mlc: other=in.npy: other is no output, and none reads it as an input; an inner Func is written by --dump other=FILE\n");
    begins("run p.mlc in=in.npy out=out.npy --dump h=h.npy", "1 mlc: --dump h: the program has no Func of that name\n");
    begins("run p.mlc in=in.npy out=out.npy --dump h", "2 mlc: --dump h: NAME=FILE is wanted, once a Func\n");
}
END_TEST

/* What a compile says of its plan it says again where the cache holds the program; not where another plan is chosen. */
START_TEST(warnings_are_repeated) {
    static const char warning[] = "0 mlc: w.mlc:4: warning: f has a schedule but its update f.u0 has none and runs as written; schedule it "
                                  "too, or say unscheduled()\n";
    if (!*tool_path()) return;
    FILE *f = fopen("w.mlc", "w");
    ck_assert(f && fputs("mlc 1\nrdom k(0, 9);\nf(x) = i32(x);\nf(x) += i32(k);\noutput f;\nplan p { f: vectorize(x, 8); }\n", f) >= 0 &&
              fclose(f) == 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(tool("run w.mlc f=f.npy --size f=9"), warning);
        ck_assert_str_eq(tool("run w.mlc f=f.npy --size f=9 --schedule none"), "0 ");
    }
}
END_TEST

/* The loops and both texts of C, also of a program that the cache holds. */
START_TEST(dumps_levels) {
    if (!*tool_path()) return;
    for (int i = 0; i < 2; i++) {
        glob_t found;
        setenv("MLC_DUMP", "levels", 1);
        begins("run p.mlc --schedule rows in=in.npy out=out.npy --time", "0 key_ms");
        ck_assert_msg(strstr(said, i ? "cached\t1" : "cached\t0") != NULL, "%s", said);
        ck_assert_int_eq(glob("levels/*", 0, NULL, &found), 0);
        ck_assert_uint_eq(found.gl_pathc, 3);
        globfree(&found);
        ck_assert_int_eq(system("rm -r levels"), 0);
        unsetenv("MLC_DUMP");
    }
}
END_TEST

START_TEST(wrong_options) {
    static const char *const rows[][2] = {
        { "run p.mlc --threads 0", "2 mlc: --threads 0: a number from 1 to 1024 is wanted\n" },
        { "run p.mlc --opt 9", "2 mlc: --opt 9: a number from 1 to 3 is wanted\n" },
        { "bench p.mlc --rounds x", "2 mlc: --rounds x: a number from 1 to 1000000 is wanted\n" },
        { "run p.mlc --most-spans -1", "2 mlc: --most-spans -1: a number from 1 to 1073741824 is wanted\n" },
        { "run p.mlc --size out", "2 mlc: --size out: NAME=EXTENTS is wanted, once a buffer\n" },
        { "run p.mlc --size out=3,3 --size out=4,4", "2 mlc: --size out: NAME=EXTENTS is wanted, once a buffer\n" },
        { "run p.mlc --dump g=a.npy --dump g=b.npy", "2 mlc: --dump g: NAME=FILE is wanted, once a Func\n" },
        { "run p.mlc =3", "2 mlc: '=3' is no NAME=VALUE\n" },
        { "run p.mlc --profile=json", "2 mlc: --profile json: nothing or tsv is wanted\n" },
        { "run p.mlc --trace-chrome ''", "2 mlc: --trace-chrome : a file is wanted\n" },
        { "run p.mlc in=in.npy in=in.npy out=o.npy", "2 mlc: in= is given twice; give it once\n" },
        { "run p.mlc in=in.npy out=o.npy --profile --target interpret",
          "1 mlc: the target interpret runs no plan, so there is nothing to profile or trace; choose another target\n" },
    };
    for (size_t i = 0; *tool_path() && i < sizeof rows / sizeof *rows; i++) begins(rows[i][0], rows[i][1]);
}
END_TEST

/* Each program is run as far as the message. */
START_TEST(wrong_words) {
    static const char *const rows[][2] = {
        { "run p.mlc --profiel", "2 mlc: there is no option --profiel (did you mean 'profile'?); `mlc help run` lists them\n" },
        { "run p.mlc -x", "2 mlc: there is no option -x; `mlc help run` lists them\n" },
        { "run p.mlc --time=3", "2 mlc: --time takes no value\n" },
        { "run p.mlc --opt", "2 mlc: --opt takes a value; write one behind it\n" },
        { "run p.mlc in=in.npy --level c", "2 mlc: run takes no --level, an option of explain\n" },
        { "run p.mlc in=in.npy -o x", "2 mlc: run takes no --output, an option of emit\n" },
        { "check p.mlc --size zz=3", "2 mlc: check takes no --size, an option of run, bench\n" },
        { "check p.mlc foo=1", "2 mlc: check takes no NAME=VALUE such as foo=1; run and bench do\n" },
        { "explain p.mlc --rounds 3", "2 mlc: explain takes no --rounds, an option of bench\n" },
        { "emit p.mlc --time", "2 mlc: emit takes no --time, an option of run\n" },
        { "bench p.mlc --object", "2 mlc: bench takes no --object, an option of emit\n" },
        { "info --dump g=g.npy", "2 mlc: info takes no --dump, an option of run\n" },
        { "run p.mlc -s none -s rows", "2 mlc: run takes one --schedule; check and bench take several\n" },
        { "run p.mlc inn=in.npy out=o.npy", "1 mlc: the program has no input, output or param 'inn' (did you mean 'in'?)\n" },
        { "run p.mlc oot=o.npy", "1 mlc: the program has no input, output or param 'oot' (did you mean 'out'?)\n" },
        { "run q.mlc gian=3", "1 mlc: the program has no input, output or param 'gian' (did you mean 'gain'?)\n" },
        { "run p.mlc --size oot=3,3", "1 mlc: --size oot: the program has no buffer of that name (did you mean 'out'?)\n" },
        { "run p.mlc --size in=3,3", "1 mlc: --size in: an input is as large as its file; drop the --size\n" },
        { "run p.mlc in=in.npy --size out=1099511627776,1099511627776",
          "1 mlc: there is no memory for out, 1099511627776,1099511627776 of u8: 1208925819614629174706176 bytes; give it a smaller --size\n" },
        { "bench p.mlc --size in=9,9 out=o.npy", "1 mlc: bench writes no output; drop out=\n" },
        { "run p.mlc -s rwos", "1 mlc: --schedule rwos: the program has no plan of that name (did you mean 'rows'?), and there is no such "
                               "file; its plans are rows, some; plan text holds a colon, as in 'f: parallel(y)'\n" },
        { "run q.mlc -s 'g parallel(y)'", "1 mlc: --schedule g parallel(y): the program has no plan of that name, and there is no such "
                                          "file; plan text holds a colon, as in 'f: parallel(y)'\n" },
        { "run p.mlc -s z.plan", "1 mlc: z.plan:1:1: one plan is wanted here, its directives alone; drop 'plan', its name and its braces\n" },
        { "check p.mlc", "0 p.mlc: 1 output: good under none, rows, some\n" },
        { "check p.mlc -s 'out: parallel(q)'", "1 mlc: --schedule:1: schedule out: parallel(q): there is no loop 'q' in out; its loops are, innermost first: x, y\n" },
        { "check q.mlc -s 'hist: compute_root()'", "0 q.mlc: 2 outputs: good under none, --schedule 'hist: compute_root()'\n" },
    };
    for (size_t i = 0; *tool_path() && i < sizeof rows / sizeof *rows; i++) begins(rows[i][0], rows[i][1]);
    setenv("MLC_NUM_THREADS", "2x", 1);
    if (*tool_path())
        begins("run p.mlc in=in.npy", "1 mlc: MLC_NUM_THREADS is '2x', which is no number of threads; set it to 1 or more, or unset it\n");
    unsetenv("MLC_NUM_THREADS");
}
END_TEST

START_TEST(wrong_values) {
    static const char *const rows[][2] = {
        { "n=2.5", "1 mlc: n=2.5: n is i32; give a whole number that it holds\n" },
        { "n=99999999999", "1 mlc: n=99999999999: n is i32; give a whole number that it holds\n" },
        { "fast=maybe", "1 mlc: fast=maybe: fast is bool; give true or false\n" },
        { "gain=x", "1 mlc: gain=x: it is no number\n" },
        { "fast=true n=-0x5 big=18446744073709551615 gain=1.5 --size hist=256 --size late=1 hist=h.npy", "0 " },
        { "", "1 mlc: the inputs do not tell the extents of output hist; give them\nmlc: write --size hist=W\n"
              "mlc: the inputs do not tell the extents of output late; give them\nmlc: write --size late=W\n" },
        { "--size late=1 --size hist=100 hist=h.npy",
          "1 mlc: output hist is written or read in dimension 0 from 0 to 255, but its buffer holds 0 to 99; bind a larger buffer\n"
          "mlc: write --size hist=256\n" },
        { "--size late=1 --size hist=5:100 hist=h.npy",
          "1 mlc: output hist is written or read in dimension 0 from 0 to 255, but its buffer holds 5 to 104; bind a larger buffer\n"
          "mlc: write --size hist=256\n" },
        { "--size late=1 --size hist=-3", "1 mlc: --size hist=-3: the extent of dimension 0 is -3; give 0 to 1099511627776\n" },
        { "--size late=1 --size hist=2,2", "1 mlc: --size hist=2,2: 1 extent is wanted, as in 100\n" },
        { "--size late=1 --size hist=256 hist=h.jpg", "1 mlc: h.jpg: the name ends in neither .png nor .npy\n" },
        { "--size late=1 --size hist=256 hist=h.png", "1 mlc: h.png: an array of u64 with 1 dimension is no picture; write .npy\n" },
        { "--size late=1 --size hist=256 hist=nodir/h.npy", "1 mlc: nodir/h.npy: No such file or directory\n" },
    };
    for (size_t i = 0; *tool_path() && i < sizeof rows / sizeof *rows; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "run q.mlc in=in.npy %s", rows[i][0]);
        begins(arguments, rows[i][1]);
    }
}
END_TEST

Suite *tool_suite(void) {
    Suite *s = suite_create("tool");
    TCase *t = tcase_create("tool");
    tool_path(); /* before anybody changes the folder */
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, profiles);
    tcase_add_test(t, traces);
    tcase_add_test(t, dumps);
    tcase_add_test(t, warnings_are_repeated);
    tcase_add_test(t, dumps_levels);
    tcase_add_test(t, wrong_options);
    tcase_add_test(t, wrong_words);
    tcase_add_test(t, wrong_values);
    suite_add_tcase(s, t);
    return s;
}
