/* trace.c - spans of calls as JSON, in the form of trace events that chrome://tracing and Perfetto read. */
#include "pipeline/pipeline.h"
#include <mlc/watch.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_string(FILE *to, const char *s) {
    putc('"', to);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') fprintf(to, "\\%c", c);
        else if (c < 32) fprintf(to, "\\u%04x", c);
        else putc(c, to);
    }
    putc('"', to);
}

/* Microseconds with three digits, whatever the locale says. */
static void print_us(FILE *to, double us) {
    long long ns = (long long)(us * 1e3 + 0.5);
    fprintf(to, "%lld.%03lld", ns / 1000, ns % 1000);
}

static void print_span(FILE *to, const mlc_module *m, const WatchSpan *s, int64_t start, double rate) {
    const char *const *text = atomic_load_explicit(&m->code[s->variant], memory_order_acquire)->span + 3 * s->kind;
    fputs(",\n{\"ph\": \"X\", \"name\": ", to);
    print_string(to, text[0]);
    fprintf(to, ", \"cat\": \"%s\", \"pid\": 1, \"tid\": %d, \"ts\": ", text[1], s->thread);
    print_us(to, (double)(s->begin - start) / rate);
    fputs(", \"dur\": ", to);
    print_us(to, (double)(s->end - s->begin) / rate);
    if (*text[2]) {
        fputs(", \"args\": {", to);
        print_string(to, text[2]);
        fprintf(to, ": %lld}", (long long)s->value);
    }
    putc('}', to);
}

static void print_trace(const mlc_module *m, FILE *to) {
    int64_t lost, n = watch_spans(m->watch, &lost), start = INT64_MAX;
    double rate = watch_ticks_a_us(m->watch);
    bool there[WATCH_THREADS] = { false };
    WatchSpan s;
    fprintf(to, "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"spans\": %lld, \"lost\": %lld}, \"traceEvents\": [\n", (long long)n,
            (long long)lost);
    fputs("{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"mlc\"}}", to);
    for (int64_t i = 0; i < n; i++) {
        if (!watch_span(m->watch, i, &s)) continue;
        start = s.begin < start ? s.begin : start;
        if (!there[s.thread])
            fprintf(to, ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": %d, \"args\": {\"name\": \"thread %d\"}}",
                    s.thread, s.thread);
        there[s.thread] = true;
    }
    for (int64_t i = 0; i < n; i++)
        if (watch_span(m->watch, i, &s) && s.begin >= start) print_span(to, m, &s, start, rate);
    fputs("\n]}\n", to);
}

static bool is_traced(const mlc_module *m) {
    bool any = false;
    for (int i = 0; m->watch && i < m->n_watched; i++) any |= atomic_load(&m->code[DENSE])->watch[i].traced;
    return any;
}

int64_t mlc_trace_spans(const mlc_module *m, int64_t *lost) {
    if (lost) *lost = 0;
    return m && m->watch ? watch_spans(m->watch, lost) : 0;
}

/* Written beside and renamed: what was there stays until all is well. */
static int write_beside(const mlc_module *m, const char *path, const char *beside) {
    FILE *to = fopen(beside, "w");
    int why = to ? 0 : errno;
    if (!to) return why;
    errno = 0;
    print_trace(m, to);
    if (ferror(to)) why = errno ? errno : EIO;
    if (fclose(to) && !why) why = errno;
    if (!why && rename(beside, path)) why = errno;
    if (why) remove(beside);
    return why;
}

bool mlc_trace_write(const mlc_module *m, const char *path, mlc_error_info *error) {
    Fault f = { 0 };
    if (!m) fault_note(&f, ERR_NO_MODULE, NULL);
    else if (!is_traced(m)) fault_note(&f, ERR_NO_TRACE, NULL);
    else if (!path || !*path) fault_note(&f, ERR_NO_STREAM, NULL);
    else {
        Arena a;
        Barrier b;
        arena_init(&a, &m->hook, &f);
        if (FAULT_TRY(&f, b)) {
            int why = write_beside(m, path, arena_printf(&a, "%s.part", path));
            if (why) fault_note(&f, ERR_WRITE_FILE, NULL, path, strerror(why));
            FAULT_END(&f, b);
        }
        arena_free(&a);
    }
    pl_give_error(error, &f);
    return !f.info.code;
}
