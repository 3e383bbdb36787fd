/* profile.c - what was reported of calls, for readers: rows, advice, a table, tab-separated values. */
#include "pipeline/pipeline.h"
#include <mlc/watch.h>

#include <stdio.h>
#include <string.h>

static const WatchRow *rows_of(const mlc_module *m) {
    return atomic_load_explicit(&m->code[DENSE], memory_order_acquire)->watch;
}

/* The i-th row that is profiled; n_watched for the rest, -1 where there is none. */
static int watched_row(const mlc_module *m, int i) {
    int profiled = 0;
    if (!m || !m->watch || i < 0) return -1;
    for (int k = 0; k < m->n_watched; k++)
        if (rows_of(m)[k].profiled && profiled++ == i) return k;
    return profiled && i == profiled ? m->n_watched : -1;
}

int mlc_profile_rows(const mlc_module *m) {
    int n = 0;
    while (watched_row(m, n) >= 0) n++;
    return n;
}

bool mlc_profile_row(const mlc_module *m, int i, mlc_profile_info *info) {
    int k = watched_row(m, i);
    if (k < 0 || !info) return false;
    static const WatchRow rest = { .name = "", .place = "", .again = "", .scalar = "" };
    const WatchRow *row = k < m->n_watched ? &rows_of(m)[k] : &rest;
    WatchSum s = watch_sum(m->watch, k);
    const int64_t *n = s.count;
    *info = (mlc_profile_info){ .name = row->name, .place = row->place, .again = row->again, .threads = s.threads,
                                .ms = s.threads ? (double)n[WATCH_TICKS] / watch_ticks_a_us(m->watch) * 1e-3 : -1,
                                .runs = n[WATCH_RUNS], .points = n[WATCH_POINTS], .needed = n[WATCH_NEEDED],
                                .tasks = n[WATCH_TASKS],
                                .allocations = s.allocations, .bytes = s.bytes, .peak = s.peak, .stack = row->stack };
    return true;
}

void mlc_profile_clear(mlc_module *m) {
    if (m && m->watch) watch_clear(m->watch);
}

/* ---- advice ---- */

typedef struct {
    char *at;
    size_t size, n;
} Text;

static void say(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(Text *t, const char *format, ...) {
    va_list ap;
    if (t->n >= t->size) return;
    va_start(ap, format);
    if (t->n) t->n += (size_t)snprintf(t->at + t->n, t->size - t->n, "\n");
    if (t->n < t->size) t->n += (size_t)vsnprintf(t->at + t->n, t->size - t->n, format, ap);
    va_end(ap);
}

static double ratio(const mlc_profile_info *p) {
    return p->needed > 0 ? (double)p->points / (double)p->needed : 0;
}

static void advise_again(Text *t, const mlc_profile_info *p, const WatchRow *row) {
    if (ratio(p) < 1.1) return;
    const char *gap = *p->again ? ": " : "";
    bool root = !strcmp(p->place, "root");
    if (root) say(t, "computes %.2f times the points that are needed: another tail, or a factor that divides", ratio(p));
    else if (row->slides) say(t, "computes each point %.2f times%s%s: larger tiles, or compute_at further out", ratio(p), gap, p->again);
    else say(t, "computes each point %.2f times%s%s: store_at outside of %s lets it slide where that loop is serial; or compute_at "
                "further out", ratio(p), gap, p->again, p->place);
}

static void advise_memory(Text *t, const mlc_profile_info *p, int64_t calls) {
    const double mib = 1 << 20;
    if (calls > 0 && p->allocations / calls >= 1000)
        say(t, "asks for memory %lld times a call: hoist_storage out of %s, or a size with a constant bound of 16 KiB, which the stack holds",
            (long long)(p->allocations / calls), p->place);
    if ((double)p->peak >= 32 * mib && !strcmp(p->place, "root"))
        say(t, "its %.0f MiB leave the cache before they are read: compute_at a loop of its consumer", (double)p->peak / mib);
}

static double all_ms(const mlc_module *m) {
    mlc_profile_info p;
    double all = 0;
    for (int i = 0; mlc_profile_row(m, i, &p); i++) all += p.ms > 0 ? p.ms : 0;
    return all;
}

/* Tasks that are too few to go round, or so short that handing them out is the work. */
static void advise_tasks(Text *t, const mlc_module *m, const mlc_profile_info *p, double all, int64_t calls) {
    int threads = m->options.threads;
    if (p->tasks && calls && p->tasks / calls < threads)
        say(t, "%lld tasks a call for %d threads: smaller factors, or another loop", (long long)(p->tasks / calls), threads);
    else if (threads > 1 && p->tasks && all / (double)p->tasks < 0.002)
        say(t, "tasks of %.2f us: give parallel a factor, or a loop further out", 1e3 * all / (double)p->tasks);
}

/* What takes a quarter of the time, or more. */
static void advise_time(Text *t, const mlc_module *m, const mlc_profile_info *p, const WatchRow *row, double all) {
    if (*row->scalar) say(t, "a vector loop of it runs lane by lane: %s", row->scalar);
    if (p->ms < 0.25 * all) return;
    if (!row->parallel && p->threads == 1 && m->options.threads > 1)
        say(t, "%.0f %% of the time, on one thread: parallel over a loop of it, or around it", 100 * p->ms / all);
    if (!row->vector) say(t, "%.0f %% of the time, without vectors: vectorize a loop of it", 100 * p->ms / all);
}

const char *mlc_profile_advice(const mlc_module *m, int i, char *space, size_t size) {
    mlc_profile_info p, rest;
    Text t = { space, size, 0 };
    if (!space || !size) return "";
    *space = 0;
    int k = watched_row(m, i);
    if (k < 0 || k == m->n_watched || !mlc_profile_row(m, i, &p)) return space;
    mlc_profile_row(m, mlc_profile_rows(m) - 1, &rest);
    advise_again(&t, &p, &rows_of(m)[k]);
    advise_memory(&t, &p, rest.runs);
    double all = all_ms(m);
    advise_tasks(&t, m, &p, all, rest.runs);
    advise_time(&t, m, &p, &rows_of(m)[k], all);
    return space;
}

/* ---- printed ---- */

enum { ADVICE = 1024, COLUMNS = 15 };
static const char *const head[COLUMNS] = { "stage", "place", "time_ms", "share", "threads", "tasks", "runs", "points", "needed", "ratio",
                                           "allocs", "bytes", "peak", "stack", "advice" };

static const char *number(char *to, size_t size, int64_t n, bool known) {
    if (known) snprintf(to, size, "%lld", (long long)n);
    else snprintf(to, size, "-");
    return to;
}

/* The texts of a row, without the advice. */
static void cells(const mlc_profile_info *p, double all, char cell[COLUMNS][96]) {
    enum { SIZE = 96 };
    bool rest = !*p->name, timed = p->ms >= 0;
    snprintf(cell[0], SIZE, "%s", rest ? "(rest)" : p->name);
    snprintf(cell[1], SIZE, "%s", rest ? "-" : p->place);
    snprintf(cell[2], SIZE, timed ? "%.3f" : "-", p->ms);
    snprintf(cell[3], SIZE, timed && all > 0 ? "%.1f" : "-", 100 * p->ms / all);
    number(cell[4], SIZE, p->threads, timed);
    number(cell[5], SIZE, p->tasks, true);
    number(cell[6], SIZE, p->runs, true);
    number(cell[7], SIZE, p->points, !rest);
    number(cell[8], SIZE, p->needed, p->needed > 0);
    snprintf(cell[9], SIZE, p->needed > 0 ? "%.2f" : "-", ratio(p));
    number(cell[10], SIZE, p->allocations, true);
    number(cell[11], SIZE, p->bytes, true);
    number(cell[12], SIZE, p->peak, true);
    number(cell[13], SIZE, p->stack, !rest);
}

static void print_tsv(const mlc_module *m, FILE *to) {
    mlc_profile_info p;
    char cell[COLUMNS][96], advice[ADVICE];
    double all = all_ms(m);
    for (int c = 0; c < COLUMNS; c++) fprintf(to, "%s%c", head[c], c < COLUMNS - 1 ? '\t' : '\n');
    for (int i = 0; mlc_profile_row(m, i, &p); i++) {
        cells(&p, all, cell);
        for (int c = 0; c < COLUMNS - 1; c++) fprintf(to, "%s\t", cell[c]);
        mlc_profile_advice(m, i, advice, sizeof advice);
        for (char *at = advice; (at = strchr(at, '\n'));) *at = ';';
        fprintf(to, "%s\n", *advice ? advice : "-");
    }
}

static void print_table(const mlc_module *m, FILE *to) {
    mlc_profile_info p;
    char cell[COLUMNS][96], advice[ADVICE];
    int width[COLUMNS], n;
    double all = all_ms(m);
    for (int c = 0; c < COLUMNS; c++) width[c] = (int)strlen(head[c]);
    for (int i = 0; mlc_profile_row(m, i, &p); i++) {
        cells(&p, all, cell);
        for (int c = 0; c < COLUMNS - 1; c++)
            if ((n = (int)strlen(cell[c])) > width[c]) width[c] = n;
    }
    for (int i = -1; i < 0 || mlc_profile_row(m, i, &p); i++) {
        if (i >= 0) cells(&p, all, cell);
        for (int c = 0; c < COLUMNS - 1; c++)
            fprintf(to, "%*s%s", c < 2 ? -width[c] : width[c], i < 0 ? head[c] : cell[c], c < COLUMNS - 2 ? "  " : "\n");
    }
    for (int i = 0; mlc_profile_row(m, i, &p); i++) {
        mlc_profile_advice(m, i, advice, sizeof advice);
        for (const char *at = advice, *end; *at; at = end + (*end != 0)) {
            end = at + strcspn(at, "\n");
            fprintf(to, "%s: %.*s\n", p.name, (int)(end - at), at);
        }
    }
}

bool mlc_profile_print(const mlc_module *m, FILE *to, mlc_profile_form form, mlc_error_info *error) {
    Fault f = { 0 };
    if (!m) fault_note(&f, ERR_NO_MODULE, NULL);
    else if (!mlc_profile_rows(m)) fault_note(&f, ERR_NO_PROFILE, NULL);
    else if (!to) fault_note(&f, ERR_NO_STREAM, NULL);
    else if (form == MLC_PROFILE_TSV) print_tsv(m, to);
    else print_table(m, to);
    if (!f.info.code && ferror(to)) fault_note(&f, ERR_WRITE_FILE, NULL, "output", "cannot be written");
    pl_give_error(error, &f);
    return !f.info.code;
}
