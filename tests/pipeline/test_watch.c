/* Profiles and traces: what they count, exactly, under plans and threads; what they advise; the JSON; what refuses. */
#include <mlc.h>

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *watch_suite(void);

enum { W = 37, H = 23 };


static mlc_ctx *ctx;
static mlc_func out;
static int32_t in[(H + 2) * (W + 4)], got[H * W];

static void open_program(const char *program) {
    ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, program, "watch.mlc");
    ck_assert_msg(p != NULL, "%s", mlc_error(ctx));
    out = mlc_program_output(p, 0);
    for (int i = 0; i < (H + 2) * (W + 4); i++) in[i] = i * 7919 % 1009;
}

static const char blur[] = "mlc 1\ninput in: i32[2];\nbx(x, y) = in(x, y) + in(x + 1, y);\nby(x, y) = bx(x, y) + bx(x, y + 2);\noutput by;\n";

static mlc_module *compile(const char *plan, mlc_options o) {
    mlc_error_info e;
    mlc_plan *p = mlc_plan_new(ctx);
    ck_assert_msg(mlc_plan_parse(p, plan, "plan"), "%s", mlc_error(ctx));
    mlc_module *m = mlc_compile(p, mlc_outs(out), &o, &e);
    ck_assert_msg(m != NULL, "%s: %s", plan, e.message);
    return m;
}

static void run(mlc_module *m) {
    mlc_error_info e;
    mlc_buffer *b[] = { mlc_wrap(in, W + 4, H + 2), mlc_wrap(got, W, H) };
    ck_assert_msg(mlc_run(m, 2, b, 0, NULL, &e) == 0, "%s", e.message);
}

static mlc_profile_info row(const mlc_module *m, const char *name) {
    mlc_profile_info p;
    for (int i = 0; mlc_profile_row(m, i, &p); i++)
        if (!strcmp(p.name, name)) return p;
    ck_abort_msg("no row %s", name);
}

static const char *advice(const mlc_module *m, const char *name) {
    static char space[1024];
    mlc_profile_info p;
    for (int i = 0; mlc_profile_row(m, i, &p); i++)
        if (!strcmp(p.name, name)) return mlc_profile_advice(m, i, space, sizeof space);
    return "?";
}

/* runs, points and needed of bx; its allocations, bytes and peak. */
static const struct {
    const char *plan;
    int64_t runs, points, allocations, bytes, peak, stack;
} counted[] = {
    { "bx: compute_root()", 1, W * (H + 2), 1, W * (H + 2) * 4, W * (H + 2) * 4, 0 },
    { "bx: compute_root(), vectorize(x, 8); by: vectorize(x, 8, .tail = guard)", 1, W * (H + 2), 1, W * (H + 2) * 4, W * (H + 2) * 4, 0 },
    { "bx: compute_root(), vectorize(x, 8, .tail = predicate)", 1, W * (H + 2), 1, W * (H + 2) * 4, W * (H + 2) * 4, 0 },
    { "bx: compute_root(), vectorize(x, 8, .tail = round)", 1, 40 * (H + 2), 1, 40 * (H + 2) * 4, 40 * (H + 2) * 4, 0 },
    { "bx: compute_at(by, y)", H, 3 * W * H, H, 3 * W * H * 4, 3 * W * 4, 0 },
    { "bx: compute_at(by, y), vectorize(x, 8)", H, 3 * W * H, H, 3 * W * H * 4, 3 * W * 4, 0 },
    { "bx: store_root(), compute_at(by, y)", H, W * (H + 2), 1, 4 * W * 4, 4 * W * 4, 0 },
    { "bx: compute_at(by, x)", W * H, 3 * W * H, 0, 0, 0, 12 },
    { "bx: compute_at(by, x); by: split(x, xo, x, 8, .tail = guard), vectorize(x)", W * H, 3 * W * H, 0, 0, 0, 12 * 8 },
    { "bx: compute_at(by, yo); by: split(y, yo, yi, 4, .tail = guard)", 6, W * (5 * 6 + 5), 6, -1, 6 * W * 4, 0 },
    { "bx: compute_at(by, yo); by: split(y, yo, yi, 4, .tail = guard), parallel(yo)", 6, W * (5 * 6 + 5), 6, -1, -1, 0 },
    { "bx: store_root(), compute_at(by, y), async()", H, W * (H + 2), 1, -1, -1, 0 },
};

START_TEST(counts) {
    static const int threads[] = { 1, 2, 5 };
    open_program(blur);
    for (int t = 0; t < 3; t++) {
        mlc_module *m = compile(counted[_i].plan, (mlc_options){ .profile = true, .threads = threads[t] });
        for (int calls = 1; calls <= 3; calls++) {
            run(m);
            mlc_profile_info p = row(m, "bx"), f = row(m, "by"), rest = row(m, "");
            ck_assert_int_eq(p.runs, calls * counted[_i].runs);
            ck_assert_int_eq(p.points, calls * counted[_i].points);
            ck_assert_int_eq(p.needed, calls * W * (H + 2));
            ck_assert_int_eq(p.allocations, calls * counted[_i].allocations);
            if (counted[_i].bytes >= 0) ck_assert_int_eq(p.bytes, calls * counted[_i].bytes);
            if (counted[_i].peak >= 0) ck_assert_int_eq(p.peak, counted[_i].peak);
            ck_assert_int_eq(p.stack, counted[_i].stack);
            ck_assert_int_eq(f.runs, calls);
            ck_assert_int_eq(f.tasks, strstr(counted[_i].plan, "parallel") ? calls * 6 : 0);
            ck_assert_int_eq(f.points, calls * W * H);
            ck_assert_int_eq(f.needed, calls * W * H);
            ck_assert_int_eq(rest.runs, calls);
            ck_assert_int_ge(rest.peak, p.peak);
            if (counted[_i].peak >= 0) ck_assert_int_eq(rest.peak, p.peak); /* else tasks take and free at once */
            ck_assert(f.ms >= 0 && f.threads >= 1);
        }
        mlc_profile_clear(m);
        ck_assert_int_eq(row(m, "bx").points, 0);
        run(m);
        ck_assert_int_eq(row(m, "bx").points, counted[_i].points);
        mlc_module_free(m);
    }
    mlc_ctx_free(ctx);
}
END_TEST

/* Many callers at once, while somebody reads. */
static void *call_often(void *m) {
    mlc_error_info e;
    int32_t *mine = malloc(sizeof got);
    mlc_buffer *b[] = { mlc_wrap(in, W + 4, H + 2), mlc_wrap(mine, W, H) };
    int bad = 0;
    for (int i = 0; i < 20; i++) bad |= mlc_run(m, 2, b, 0, NULL, &e);
    free(mine);
    return bad ? m : NULL;
}

START_TEST(callers) {
    pthread_t id[4];
    void *bad;
    open_program(blur);
    mlc_module *m = compile("bx: compute_at(by, yi); by: split(y, yo, yi, 2, .tail = guard), parallel(yo)",
                            (mlc_options){ .profile = true, .trace = true, .threads = 3 });
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&id[i], NULL, call_often, m), 0);
    for (int i = 0; i < 50; i++) ck_assert_int_le(row(m, "bx").points, 80 * 3 * W * H);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(id[i], &bad), 0);
        ck_assert_ptr_null(bad);
    }
    ck_assert_int_eq(row(m, "bx").points, 80 * 3 * W * H);
    ck_assert_int_eq(row(m, "bx").runs, 80 * H);
    ck_assert_int_eq(row(m, "").runs, 80);
    ck_assert_int_ge(row(m, "bx").threads, 4);
    ck_assert_int_eq(mlc_trace_spans(m, NULL), 80 * (1 + H + (H + 1) / 2));
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* Stages apart, an inlined Func nowhere, small productions untimed, conditions and triangles counted where they hold. */
START_TEST(stages) {
    open_program("mlc 1\ninput in: i32[2];\nrdom k(0, 5) where k != 3;\na(x, y) = in(x, y) * 2;\ns(x, y) = 0;\n"
                 "s(x, y) += a(x, y + k);\nout(x, y) = s(x, y) + 1;\noutput out;\n");
    mlc_module *m = compile("s: compute_at(out, x)", (mlc_options){ .profile = true });
    mlc_error_info e;
    mlc_buffer *b[] = { mlc_wrap(in, 20, 24), mlc_wrap(got, 19, 13) };
    ck_assert_msg(mlc_run(m, 2, b, 0, NULL, &e) == 0, "%s", e.message);
    ck_assert_int_eq(mlc_profile_rows(m), 4);
    ck_assert_int_eq(row(m, "s").points, 19 * 13);
    ck_assert_int_eq(row(m, "s.u0").points, 19 * 13 * 4);
    ck_assert_int_eq(row(m, "s.u0").runs, 19 * 13);
    ck_assert_int_eq(row(m, "s.u0").needed, 0);
    ck_assert_int_eq(row(m, "s").stack, 4);
    ck_assert(row(m, "s").ms < 0 && row(m, "s").threads == 0);
    mlc_module_free(m);
    m = compile("s: compute_at(out, x), profile()", (mlc_options){ 0 });
    ck_assert_msg(mlc_run(m, 2, b, 0, NULL, &e) == 0, "%s", e.message);
    ck_assert_int_eq(mlc_profile_rows(m), 3);
    ck_assert(row(m, "s").ms >= 0 && row(m, "s").threads == 1);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* Strides that are not dense run other code; both count. */
START_TEST(variants) {
    mlc_error_info e;
    open_program(blur);
    mlc_module *m = compile("bx: compute_root()", (mlc_options){ .profile = true, .trace = true });
    run(m);
    mlc_buffer a = *mlc_wrap(in, W + 4, H + 2), *b[] = { &a, mlc_wrap(got, 5, H) };
    ck_assert(mlc_buffer_stride(&a, 0, 2));
    ck_assert_msg(mlc_run(m, 2, b, 0, NULL, &e) == 0, "%s", e.message);
    ck_assert_int_eq(row(m, "bx").points, (W + 5) * (H + 2));
    ck_assert_int_eq(mlc_trace_spans(m, NULL), 4);
    ck_assert_msg(mlc_trace_write(m, "/dev/null.d/x", &e) == false, "written");
    ck_assert_str_eq(e.message, "/dev/null.d/x: No such file or directory; choose another place");
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

static void no_line(void *user, const char *text) {
    (void)user, (void)text;
}

START_TEST(advises) {
    open_program(blur);
    mlc_module *m = compile("bx: compute_at(by, y), vectorize(x, 8); by: vectorize(x, 8)", (mlc_options){ .profile = true, .threads = 1 });
    run(m);
    ck_assert_str_eq(advice(m, "bx"), "computes each point 2.76 times: an iteration of by.y computes 3 of y, 1 of them new: store_at outside of by.y "
                                      "lets it slide where that loop is serial; or compute_at further out");
    ck_assert_str_eq(advice(m, "by"), "");
    ck_assert_str_eq(advice(m, ""), "");
    mlc_module_free(m);
    m = compile("bx: store_root(), compute_at(by, y), vectorize(x, 8); by: vectorize(x, 8)", (mlc_options){ .profile = true, .threads = 1 });
    run(m);
    ck_assert_str_eq(advice(m, "bx"), "");
    mlc_module_free(m);
    m = compile("by: split(y, yo, yi, 12), parallel(yo), vectorize(x, 8)", (mlc_options){ .profile = true, .threads = 3 });
    run(m);
    ck_assert_str_eq(advice(m, "by"), "2 tasks a call for 3 threads: smaller factors, or another loop");
    mlc_module_free(m);
    mlc_ctx_free(ctx);
    open_program("mlc 1\ninput in: i32[2];\nedge = repeat_edge(in);\nrdom k(0, 3; 0, 2);\nby(x, y) = sum(k, edge(x + k.x, y + k.y));\noutput by;\n");
    m = compile("", (mlc_options){ .profile = true, .threads = 1 });
    run(m);
    ck_assert(row(m, "sum$1.u0").points == 6 * W * H && row(m, "sum$1.u0").ms < 0); /* nor are the copies at the borders */
    ck_assert(row(m, "by").ms >= 0);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
    open_program("mlc 1\ninput in: i32[2];\nrdom k(0, 3; 0, 2);\nby(x, y) = sum(k, in(x + k.x, y + k.y));\noutput by;\n");
    m = compile("by: vectorize(x, 8)", (mlc_options){ .profile = true, .threads = 1 });
    run(m);
    ck_assert_str_eq(advice(m, "by"), ""); /* lanes keep their sums in vectors */
    mlc_module_free(m);
    m = compile("by: split(x, xo, xi, 8), vectorize(xi); sum$1: compute_at(by, xi), store_in(heap)", (mlc_options){ .profile = true, .threads = 1 });
    run(m);
    ck_assert_str_eq(advice(m, "by"), "a vector loop of it runs lane by lane: an allocation inside that the stack does not hold");
    mlc_module_free(m);
    mlc_ctx_free(ctx);
    open_program("mlc 1\ninput in: i32[2];\nby(x, y) = print(\"by\", in(x, y));\noutput by;\n");
    mlc_ctx_log(ctx, no_line, NULL);
    m = compile("by: vectorize(x, 8)", (mlc_options){ .profile = true, .threads = 1 });
    run(m);
    ck_assert_str_eq(advice(m, "by"), "a vector loop of it runs lane by lane: effects, calls or one place for all lanes");
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- printed ---- */

static char *printed(const mlc_module *m, mlc_profile_form form) {
    static char said[4096];
    mlc_error_info e;
    FILE *f = tmpfile();
    ck_assert_msg(f && mlc_profile_print(m, f, form, &e), "%s", e.message);
    rewind(f);
    said[fread(said, 1, sizeof said - 1, f)] = 0;
    fclose(f);
    return said;
}

START_TEST(prints) {
    char a[16], b[16], c[16];
    open_program(blur);
    mlc_module *m = compile("bx: compute_at(by, y), profile()", (mlc_options){ .threads = 1 });
    run(m);
    char *t = printed(m, MLC_PROFILE_TSV);
    const char *head = "stage\tplace\ttime_ms\tshare\tthreads\ttasks\truns\tpoints\tneeded\tratio\tallocs\tbytes\tpeak\tstack\tadvice\n";
    ck_assert_msg(!strncmp(t, head, strlen(head)), "%s", t);
    int n = 0;
    sscanf(t + strlen(head), "bx\tby.y\t%15[0-9.]\t%15[0-9.]\t%15[0-9]\t0\t23\t2553\t925\t2.76\t23\t10212\t444\t0\tcomputes each%n", a, b, c, &n);
    ck_assert_msg(n > 0, "%s", t);
    ck_assert_ptr_nonnull(strstr(t, "\n(rest)\t-\t"));
    t = printed(m, MLC_PROFILE_TABLE);
    ck_assert_msg(!strncmp(t, "stage   place  time_ms  share  threads  tasks  runs", 51), "%s", t);
    ck_assert_ptr_nonnull(strstr(t, "\nbx: computes each point 2.76 times"));
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- traces ---- */

/* A reader of JSON that keeps nothing: where the value at s ends, NULL: it is none. */
static const char *json(const char *s);

static const char *blanks(const char *s) {
    return s + strspn(s, " \n");
}

static const char *json_list(const char *s, char end, bool pairs) {
    s = blanks(s + 1);
    if (*s == end) return s + 1;
    for (;;) {
        if (pairs) {
            s = *s == '"' ? blanks(json(s)) : NULL;
            if (!s || *s++ != ':') return NULL;
        }
        s = json(blanks(s));
        if (!s) return NULL;
        s = blanks(s);
        if (*s == end) return s + 1;
        if (*s != ',') return NULL;
        s = blanks(s + 1);
    }
}

static const char *json(const char *s) {
    char *end;
    if (*s == '{') return json_list(s, '}', true);
    if (*s == '[') return json_list(s, ']', false);
    if (*s == '"') {
        for (s++; *s && *s != '"'; s++)
            if (*s == '\\' && !*++s) return NULL;
        return *s ? s + 1 : NULL;
    }
    strtod(s, &end);
    return end > s ? end : NULL;
}

static char *written(const mlc_module *m) {
    static char all[1 << 16], path[64];
    mlc_error_info e;
    snprintf(path, sizeof path, "/tmp/mlc-trace-%d.json", (int)getpid());
    ck_assert_msg(mlc_trace_write(m, path, &e), "%s", e.message);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    all[fread(all, 1, sizeof all - 1, f)] = 0;
    fclose(f);
    unlink(path);
    const char *end = json(all);
    ck_assert_msg(end && !*blanks(end), "no JSON: %s", all);
    return all;
}

static int times(const char *text, const char *part) {
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

START_TEST(traces) {
    open_program(blur);
    mlc_module *m = compile("bx: compute_at(by, y); by: split(y, yo, y, 4, .tail = guard), parallel(yo)",
                            (mlc_options){ .trace = true, .threads = 2 });
    run(m);
    char *t = written(m);
    ck_assert_int_eq(times(t, "\"name\": \"bx\", \"cat\": \"produce\""), H);
    ck_assert_int_eq(times(t, "\"name\": \"by\", \"cat\": \"produce\""), 1);
    ck_assert_int_eq(times(t, "\"name\": \"by.yo\", \"cat\": \"task\""), 6);
    for (int i = 0; i < 6; i++) {
        char arg[32];
        snprintf(arg, sizeof arg, "\"args\": {\"by.yo\": %d}", i);
        ck_assert_msg(times(t, arg) == 1, "%s in %s", arg, t);
    }
    ck_assert_int_eq(times(t, "\"spans\": 30, \"lost\": 0"), 1);
    ck_assert_int_ge(times(t, "\"thread_name\""), 1);
    mlc_profile_clear(m);
    ck_assert_int_eq(mlc_trace_spans(m, NULL), 0);
    ck_assert_int_eq(times(written(m), "\"ph\": \"X\""), 0);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(traces_are_bounded) {
    int64_t lost;
    open_program(blur);
    mlc_module *m = compile("bx: compute_at(by, y), trace()", (mlc_options){ .most_spans = 5 });
    ck_assert_int_eq(mlc_profile_rows(m), 0);
    run(m);
    ck_assert_int_eq(mlc_trace_spans(m, &lost), 5);
    ck_assert_int_eq(lost, H - 5);
    char *t = written(m);
    ck_assert_int_eq(times(t, "\"ph\": \"X\""), 5);
    ck_assert_int_eq(times(t, "\"spans\": 5, \"lost\": 18"), 1);
    ck_assert_int_eq(times(t, "\"by\""), 0);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* Productions lie within those around them, on their thread. */
START_TEST(spans_nest) {
    open_program(blur);
    mlc_module *m = compile("bx: compute_at(by, y)", (mlc_options){ .trace = true, .threads = 1 });
    run(m);
    double ts, dur, outer = -1, end = -1;
    const char *t = written(m), *at;
    at = strstr(t, "\"name\": \"by\", \"cat\"");
    ck_assert_int_eq(sscanf(strstr(at, "\"ts\""), "\"ts\": %lf, \"dur\": %lf", &outer, &dur), 2);
    end = outer + dur;
    for (at = t; (at = strstr(at, "\"name\": \"bx\"")); at++) {
        ck_assert_int_eq(sscanf(strstr(at, "\"ts\""), "\"ts\": %lf, \"dur\": %lf", &ts, &dur), 2);
        ck_assert(ts >= outer - 0.002 && ts + dur <= end + 0.002);
    }
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- what is refused, and what costs nothing ---- */

START_TEST(refuses) {
    mlc_error_info e;
    open_program(blur);
    mlc_plan *p = mlc_plan_new(ctx);
    ck_assert(mlc_plan_parse(p, "bx: profile()", "plan"));
    ck_assert_ptr_null(mlc_compile(p, mlc_outs(out), NULL, &e));
    ck_assert_str_eq(e.message, "plan:1: schedule bx: profile(): bx is inlined, and what it costs is part of its consumers; "
                                "give it a place of its own by compute_root or compute_at");
    p = mlc_plan_new(ctx);
    ck_assert(mlc_plan_parse(p, "by: trace()", "plan"));
    ck_assert(!mlc_emit(p, mlc_outs(out), "/tmp/mlc-watch-none", NULL, NULL, &e));
    ck_assert_str_eq(e.message, "plan:1: schedule by: trace(): by is profiled or traced, which code made ahead of time cannot be; drop that");
    mlc_options o = { .profile = true, .target = "interpret" };
    ck_assert_ptr_null(mlc_compile(NULL, mlc_outs(out), &o, &e));
    ck_assert_str_eq(e.message, "the target interpret runs no plan, so there is nothing to profile or trace; choose another target");
    o = (mlc_options){ .trace = true, .most_spans = -1 };
    ck_assert_ptr_null(mlc_compile(NULL, mlc_outs(out), &o, &e));
    ck_assert_str_eq(e.message, "-1 is no number of spans that a trace keeps; give 1 to 1073741824");
    mlc_module *m = compile("", (mlc_options){ 0 });
    ck_assert_int_eq(mlc_profile_rows(m), 0);
    ck_assert(!mlc_profile_print(m, stdout, MLC_PROFILE_TABLE, &e));
    ck_assert_str_eq(e.message, "the module keeps no profile; compile it with .profile, or give Funcs the directive profile()");
    ck_assert(!mlc_trace_write(m, "/tmp/mlc-watch-none", &e));
    ck_assert_str_eq(e.message, "the module keeps no trace; compile it with .trace, or give Funcs the directive trace()");
    ck_assert_msg(!strstr(mlc_module_source(m), "ticks()") && !strstr(mlc_module_source(m), "seen["), "%s", mlc_module_source(m));
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

/* The same values, and the two modules do not stand for each other in the cache. */
START_TEST(keeps_values) {
    int32_t want[H * W];
    open_program(blur);
    mlc_module *m = compile("bx: compute_at(by, y), vectorize(x, 4); by: vectorize(x, 8), parallel(y)", (mlc_options){ 0 });
    run(m);
    memcpy(want, got, sizeof got);
    mlc_module_free(m);
    m = compile("bx: compute_at(by, y), vectorize(x, 4); by: vectorize(x, 8), parallel(y)", (mlc_options){ .profile = true, .trace = true });
    memset(got, 0, sizeof got);
    run(m);
    ck_assert_mem_eq(want, got, sizeof got);
    ck_assert_int_eq(row(m, "by").points, W * H);
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}
END_TEST

Suite *watch_suite(void) {
    Suite *s = suite_create("watch");
    TCase *t = tcase_create("watch");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, counts, 0, sizeof counted / sizeof *counted);
    tcase_add_test(t, callers);
    tcase_add_test(t, stages);
    tcase_add_test(t, variants);
    tcase_add_test(t, advises);
    tcase_add_test(t, prints);
    tcase_add_test(t, traces);
    tcase_add_test(t, traces_are_bounded);
    tcase_add_test(t, spans_nest);
    tcase_add_test(t, refuses);
    tcase_add_test(t, keeps_values);
    suite_add_tcase(s, t);
    return s;
}
