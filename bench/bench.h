/* bench.h - timing two sides in one process, interleaved, and the table of results.
 *
 * Every figure is a ratio of one run: ours and the peer's calls alternate over at least 20 rounds,
 * the medians are compared.  A peer that is absent prints `-`. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef void (*BenchFn)(void *user);

typedef struct {
    const char *bench, *name, *size;
    int threads;
    BenchFn ours;
    void *ours_user;
    const char *peer; /* name of the peer, NULL: none */
    BenchFn theirs;   /* NULL: the peer is not installed */
    void *theirs_user;
    double limit_us; /* what the machine could do at best, in microseconds; 0: not stated */
    const char *note;
} BenchRow;

/* Microseconds of a monotonic clock. */
double bench_now(void);
/* Sorts them. */
double bench_median(double *v, int n);
/* Appends to the file of results beside stdout; an empty one gets the header line first. */
void bench_open(const char *path);
/* One line: peer_us and ratio where peer is not NULL (0: it is not installed), limit as a fraction or 0; threads 0: on a
 * GPU. */
void bench_line(const char *bench, const char *name, const char *size, int threads, double us,
                const char *peer, double peer_us, double ratio, double limit, const char *note);
/* Times and prints one row; returns peer_us / ours_us (0 where there is no peer). */
double bench_run(const BenchRow *row);
/* True where the prefix given on the command line (NULL or "": all) selects the row or begins with it. */
bool bench_wanted(const char *prefix, const char *bench);

/* Peers. */
typedef struct {
    void *data;
    int rank;
    int64_t extent[4];
    char type; /* 'f' f32, 'u' u8, 'w' u16 */
} PeerArray;
/* Halide's application NAME in the folder of `halide_apps.py --aot` (MLC_HALIDE, default
 * build/halide): an object for bench_run's `theirs`, or NULL where the library is absent. */
void *peer_halide(const char *app, int n, const PeerArray *arrays);
void peer_halide_call(void *app); /* says so where it fails */
int peer_halide_run(void *app);   /* 0, or Halide's error */
/* Its schedule for a GPU, in the folder of `halide_apps.py --aot --gpu`; wait ends a batch of calls. */
void *peer_halide_gpu(const char *app, int n, const PeerArray *arrays);
int peer_halide_wait(void *app);
void peer_halide_leave_gpu(void *app);

/* OpenBLAS by dlopen: c = a * b, row-major, n x n; NULL where absent. */
typedef struct {
    int n;
    const float *a, *b;
    float *c;
} PeerGemm;
bool peer_openblas_open(int threads);
void peer_openblas_call(void *gemm);

/* Rate of a plain multi-threaded copy of `bytes` bytes, in microseconds (read + write count once each). */
void bench_copy(void *copy);
typedef struct {
    float *to;
    const float *from;
    int64_t n;
    int threads;
} BenchCopy;

#endif
