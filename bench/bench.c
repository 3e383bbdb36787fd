/* bench.c - interleaved rounds, medians, one line a result. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_MIN = 21, ROUNDS_MAX = 201 };

static FILE *file;

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void emit(const char *line) {
    fputs(line, stdout);
    fflush(stdout);
    if (file) fputs(line, file), fflush(file);
}

void bench_open(const char *path) {
    file = fopen(path, "a");
    if (!file) fprintf(stderr, "%s cannot be written\n", path);
    if (!file || ftell(file) == 0)
        emit("bench\tname\tsize\ttarget\tours_us\tpeer\tpeer_us\tratio\tlimit_fraction\tnote\n");
}

void bench_line(const char *bench, const char *name, const char *size, int threads, double us,
                const char *peer, double peer_us, double ratio, double limit, const char *note) {
    char theirs[64] = "-\t-", fraction[32] = "-", target[16] = "gpu", line[512];
    if (threads) snprintf(target, sizeof target, "cpu%d", threads);
    if (peer_us > 0) snprintf(theirs, sizeof theirs, "%.1f\t%.3f", peer_us, ratio);
    if (limit > 0) snprintf(fraction, sizeof fraction, "%.3f", limit);
    snprintf(line, sizeof line, "%s\t%s\t%s\t%s\t%.1f\t%s\t%s\t%s\t%s\n", bench, name, size, target, us,
             peer ? peer : "-", theirs, fraction, note ? note : "");
    emit(line);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n & 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static double time_one(BenchFn fn, void *user) {
    double t = bench_now();
    fn(user);
    return bench_now() - t;
}

double bench_run(const BenchRow *r) {
    double ours[ROUNDS_MAX], theirs[ROUNDS_MAX], ratio[ROUNDS_MAX];
    r->ours(r->ours_user); /* the first call of each side loads code and touches memory */
    if (r->theirs) r->theirs(r->theirs_user);
    int n = 0;
    for (double start = bench_now(); n < ROUNDS_MIN || (n < ROUNDS_MAX && bench_now() - start < 1.5e6); n++) {
        bool first = n & 1; /* neither side always runs on the other's warm cache */
        if (first && r->theirs) theirs[n] = time_one(r->theirs, r->theirs_user);
        ours[n] = time_one(r->ours, r->ours_user);
        if (!first && r->theirs) theirs[n] = time_one(r->theirs, r->theirs_user);
        ratio[n] = r->theirs ? theirs[n] / ours[n] : 0;
    }
    double us = bench_median(ours, n), peer_us = r->theirs ? bench_median(theirs, n) : 0,
           q = r->theirs ? bench_median(ratio, n) : 0;
    bench_line(r->bench, r->name, r->size, r->threads, us, r->peer, peer_us, q, r->limit_us / us, r->note);
    return q;
}

bool bench_wanted(const char *prefix, const char *bench) {
    size_t n = prefix ? strlen(prefix) : 0, m = strlen(bench);
    return !strncmp(bench, prefix ? prefix : "", n < m ? n : m);
}
