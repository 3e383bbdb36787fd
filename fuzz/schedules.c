/* schedules.c - random programs under random plans against the oracle.
 *
 *     fuzz_schedules [-n N] [-s SEED] [-1] [-c] [-q]
 *         -n  how many programs (default 500)      -s  first seed (default: from the clock; printed)
 *         -1  this seed alone, with its text       -c  careless plans: legality is what is tested
 *         -q  loop interpreter only: no compiler
 *
 * Each program is read from text, printed and read again (the same text must come back), interpreted by
 * the oracle, lowered and run by the loop interpreter, and compiled by gcc or clang for one of the
 * instruction sets this machine has.  All must give the same bytes.  Two workers share the seeds; one
 * that dies is replaced, and the seed it died on is a failure. */
#include "gen.h"

#include "algorithm/algorithm.h"
#include "lower/loop_interp.h"
#include "lower/lower.h"
#include <mlc/run.h>
#include <mlc/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, IN_MIN = -24, IN_EXTENT = 72 };

/* Shared between the parent and its workers. */
typedef struct {
    uint64_t seed[WORKERS];        /* being worked on */
    long done[WORKERS], failed[WORKERS], refused[WORKERS], late[WORKERS], compiled[WORKERS];
    long error[WORKERS][ERR_COUNT];
    long count[WORKERS][GEN_MAX_COUNTS];
    char name[WORKERS][GEN_MAX_COUNTS][32];
    int names[WORKERS];
} Shared;

static Shared *shared;
static int me;
static bool careless, quick, verbose;
static Gen gen;
static GenCounts counts;

static void failure(const char *what, const char *detail) {
    char path[64];
    mkdir("build", 0777), mkdir("build/fuzz", 0777);
    snprintf(path, sizeof path, "build/fuzz/seed-%llu.mlc", (unsigned long long)shared->seed[me]);
    FILE *f = fopen(path, "w");
    if (f) fputs(gen.text, f), fclose(f);
    printf("FAIL seed %llu: %s%s%s (program in %s)\n", (unsigned long long)shared->seed[me], what, *detail ? ": " : "", detail, path);
    fflush(stdout);
    shared->failed[me]++;
}

/* Hostile values: zeros of both signs, infinities, NaN, denormals, ends of ranges, ties, small numbers. */
static void fill(mlc_buffer *b, uint64_t seed) {
    static const double special[] = { 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 3.5, 1e-40, 1e30, -1e30, 255.5, 65504.0, 1e-7 };
    Gen r = { .state = seed };
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++) n *= b->dim[d].extent;
    size_t size = mlc_type_size(b->type);
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = gen_next(&r);
        Value x = { .i = 0 };
        if (ty_is_float(b->type)) {
            int kind = (int)(v >> 60);
            double f = kind == 0 ? special[v % 13] : kind == 1 && v % 5 == 0 ? (double)INFINITY : kind == 1 && v % 5 == 1 ? (double)NAN
                     : (double)(int64_t)(v % 4001) / 16 - 125;
            x = val_round(b->type, f);
        } else {
            x = val_wrap(b->type, v >> 62 ? (int64_t)(v % 23) : v & 1 ? (int64_t)v : ty_min(b->type));
            if (b->type == MLC_BOOL) x.i = (int64_t)(v & 1);
        }
        val_store(b->type, (char *)b->data + (size_t)i * size, x);
    }
}

static mlc_buffer *make(mlc_type type, int rank, const int64_t *min, const int64_t *extent) {
    mlc_buffer *b = mlc_buffer_new(type, rank, extent);
    for (int d = 0; b && d < rank; d++) b->dim[d].min = min[d];
    return b;
}

static size_t bytes_of(const mlc_buffer *b) {
    size_t n = mlc_type_size(b->type);
    for (int d = 0; d < b->rank; d++) n *= (size_t)b->dim[d].extent;
    return n;
}

static bool same(const mlc_buffer *a, const mlc_buffer *b, char *where, size_t size) {
    int64_t n = 1;
    for (int d = 0; d < a->rank; d++) n *= a->dim[d].extent;
    size_t bytes = mlc_type_size(a->type);
    for (int64_t i = 0; i < n; i++) {
        Value x = val_load(a->type, (const char *)a->data + (size_t)i * bytes), y = val_load(b->type, (const char *)b->data + (size_t)i * bytes);
        if (val_equal(a->type, x, y)) continue;
        if (ty_is_float(a->type)) snprintf(where, size, "element %lld: %a, expected %a", (long long)i, y.f, x.f);
        else snprintf(where, size, "element %lld: %lld, expected %lld", (long long)i, (long long)y.i, (long long)x.i);
        return false;
    }
    return true;
}

/* Rows that a plan may meet when it runs: explicit tails and bounds that the sizes break. */
static bool is_late(int code) {
    const char *name = mlc_error_name(code);
    if (code == ERR_INPUT_BOX) return true; /* tails that round up read further */
    return strstr(name, "TAIL") || strstr(name, "BOUND") || strstr(name, "SHIFT") || strstr(name, "ROUND") || strstr(name, "TOO_SMALL") || strstr(name, "FOLD");
}

typedef struct {
    mlc_ctx *ctx;
    mlc_func out;
    mlc_plan *plan;
    int n;
    mlc_buffer *b[GEN_MAX_FUNCS + 1], *expected;
    char detail[1200];
} Case;

static const char *const passes[] = {
#define PASS(name, ...) #name,
#include "lower/passes.def"
#undef PASS
};
enum { PASSES = sizeof passes / sizeof *passes };

/* Runs the loops as they stand after pass `stop` (NULL: all). */
static void run_loops(Case *c, const char *stop) {
    Fault fault = { 0 };
    Arena arena;
    Interner ir;
    Barrier barrier;
    arena_init(&arena, NULL, &fault);
    if (FAULT_TRY(&fault, barrier)) {
        ir_interner_init(&ir, &arena, &c->ctx->ir);
        Schedule *s = sch_resolve(&ir, c->plan, &c->out.f, 1);
        Program *p = low_lower(&arena, &ir, s, &(LowerOptions){ .name = "out", .dense = true, .verify = true, .stop_after = stop });
        mlc_buffer *b[GEN_MAX_FUNCS + 1];
        for (int i = 0; i < p->external.n; i++)
            b[i] = p->external.at[i]->is_output ? c->b[c->n - 1] : p->external.at[i]->func->bound;
        low_interpret(&arena, p, b, NULL, shared->seed[me]);
        FAULT_END(&fault, barrier);
    }
    int code = fault.info.code;
    if (stop) printf("after %s: ", stop);
    if (code && is_late(code)) shared->late[me]++;
    else if (code) failure("loop interpreter", fault.info.message);
    else if (!same(c->expected, c->b[c->n - 1], c->detail, sizeof c->detail)) failure("loops differ from the oracle", c->detail);
    if (code) shared->error[me][code]++;
    arena_free(&arena);
}

static void run_compiled(Case *c) {
    static const char *const isas[] = { "host", "avx2", "sse4", "plain" };
    uint64_t r = gen_next(&gen);
    mlc_options o = { .cc = r & 1 ? "gcc" : "clang", .target = isas[(r >> 1) & 3], .opt = 1 + (int)(r >> 3 & 1), .no_cache = true };
    if (!strcmp(o.target, "avx2") && !__builtin_cpu_supports("avx2")) o.target = "plain";
    mlc_error_info error = { 0 };
    mlc_module *m = mlc_compile(c->plan, mlc_outs(c->out), &o, &error);
    char what[96];
    snprintf(what, sizeof what, "%s %s -O%d", o.cc, o.target, o.opt);
    if (m) {
        memset(c->b[c->n - 1]->data, 0xee, bytes_of(c->b[c->n - 1]));
        mlc_buffer *b[GEN_MAX_FUNCS + 1];
        mlc_slot_info slot;
        int n = mlc_module_slots(m);
        for (int i = 0; i < n && mlc_module_slot(m, i, &slot); i++)
            b[i] = slot.is_output ? c->b[c->n - 1] : mlc_find_func(c->ctx, slot.name).f->bound;
        mlc_run(m, n, b, 0, NULL, &error);
    }
    if (error.code && !is_late(error.code)) failure(what, error.message);
    else if (!error.code && !same(c->expected, c->b[c->n - 1], c->detail, sizeof c->detail)) failure(what, c->detail);
    if (error.code) shared->error[me][error.code]++;
    shared->compiled[me]++;
    mlc_module_free(m);
}

/* Reads gen.text again until a legal plan is found; false where the program itself is refused. */
static bool read_case(Case *c, const char *text) {
    c->ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(c->ctx, text, "fuzz");
    if (!p) {
        failure("does not parse", mlc_error(c->ctx));
        return false;
    }
    c->out = mlc_program_output(p, 0);
    c->plan = mlc_program_find_plan(p, "p");
    const char *printed = mlc_program_print(c->ctx, 1, &c->out, 1, &c->plan), *twice = NULL;
    mlc_ctx *again = mlc_ctx_new();
    mlc_program *q = printed ? mlc_program_parse(again, printed, "printed") : NULL;
    if (q) {
        mlc_func out = mlc_program_output(q, 0);
        mlc_plan *plan = mlc_program_find_plan(q, "p");
        twice = mlc_program_print(again, 1, &out, 1, &plan);
    }
    if (!printed) failure("does not print", mlc_error(c->ctx));
    else if (!twice) failure("what was printed does not parse", mlc_error(again));
    else if (strcmp(printed, twice)) failure("print, parse, print differ", "");
    mlc_ctx_free(again);
    return true;
}

static bool legal(Case *c) {
    Fault fault = { 0 };
    Arena arena;
    Interner ir;
    Barrier barrier;
    arena_init(&arena, NULL, &fault);
    if (FAULT_TRY(&fault, barrier)) {
        ir_interner_init(&ir, &arena, &c->ctx->ir);
        Schedule *s = sch_resolve(&ir, c->plan, &c->out.f, 1);
        low_lower(&arena, &ir, s, &(LowerOptions){ .name = "out", .dense = true, .verify = true });
        FAULT_END(&fault, barrier);
    }
    int code = fault.info.code;
    arena_free(&arena);
    if (!code) return true;
    shared->error[me][code]++;
    shared->refused[me]++;
    if (code == ERR_INTERNAL) failure("internal error", fault.info.message);
    if (verbose) printf("refused: %s\n", fault.info.message);
    return false;
}

static void run_case(Case *c) {
    int64_t min[3] = { IN_MIN, IN_MIN, IN_MIN };
    c->n = 0;
    for (int i = 0; i < gen.n_inputs; i++) {
        const GenFunc *f = &gen.func[i];
        int64_t extent[3] = { IN_EXTENT, IN_EXTENT, IN_EXTENT };
        mlc_buffer *b = make(ty_from_name(f->type[0]), f->rank, min, extent);
        fill(b, shared->seed[me] + (uint64_t)i);
        mlc_bind(mlc_find_func(c->ctx, f->name), b);
        c->b[c->n++] = b;
    }
    const GenFunc *f = &gen.func[gen.n_funcs - 1];
    mlc_type t = ty_from_name(f->type[0]);
    c->expected = make(t, f->rank, gen.out_min, gen.out_extent);
    c->b[c->n++] = make(t, f->rank, gen.out_min, gen.out_extent);
    if (!mlc_interpret(c->out, c->expected)) {
        failure("oracle", mlc_error(c->ctx));
    } else {
        for (int i = 0; verbose && i < PASSES; i++) run_loops(c, passes[i]), putchar('\n');
        run_loops(c, NULL);
        if (!quick) run_compiled(c);
    }
    for (int i = 0; i < c->n; i++) mlc_buffer_free(c->b[i]);
    mlc_buffer_free(c->expected);
}

static void work(uint64_t seed) {
    shared->seed[me] = seed;
    gen.counts = &counts;
    gen_program(&gen, seed);
    int program = gen.n;
    for (int tries = 0; tries < 6; tries++) {
        Case c = { 0 };
        gen.n = program;
        gen.text[program] = 0;
        gen_plan(&gen, careless);
        if (verbose) puts(gen.text);
        bool read = read_case(&c, gen.text), ok = read && legal(&c);
        if (ok) run_case(&c);
        mlc_ctx_free(c.ctx);
        if (ok || !read) break;
    }
    shared->done[me]++;
}

static void publish(void) {
    for (int i = 0; i < counts.n; i++) {
        shared->count[me][i] = counts.count[i];
        snprintf(shared->name[me][i], sizeof shared->name[me][i], "%s", counts.name[i]);
    }
    shared->names[me] = counts.n;
}

static void worker(uint64_t first, long n) {
    for (long i = me; i < n; i += WORKERS) {
        if (shared->done[me] > i / WORKERS) continue; /* a predecessor did these */
        work(first + (uint64_t)i);
        if (i % 16 == me % 16) publish();
    }
    publish();
    fflush(stdout);
    _exit(0);
}

static void table(void) {
    GenCounts all = { 0 };
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < shared->names[w]; i++) {
            int k = 0;
            while (k < all.n && strcmp(all.name[k], shared->name[w][i])) k++;
            if (k == all.n && all.n < GEN_MAX_COUNTS) all.name[all.n++] = shared->name[w][i];
            all.count[k] += shared->count[w][i];
        }
    printf("how often each operator, type, directive and tail was drawn:\n");
    for (int i = 0; i < all.n; i++) printf("%8ld %-22s%s", all.count[i], all.name[i], i % 4 == 3 || i == all.n - 1 ? "\n" : "");
    printf("errors met:\n");
    for (int e = 1; e < ERR_COUNT; e++) {
        long n = 0;
        for (int w = 0; w < WORKERS; w++) n += shared->error[w][e];
        if (n) printf("%8ld %s\n", n, mlc_error_name(e));
    }
}

int main(int argc, char **argv) {
    long n = 500;
    uint64_t first = (uint64_t)time(NULL) * 1000;
    bool one = false;
    for (int c; (c = getopt(argc, argv, "n:s:1cq")) != -1;) {
        if (c == 'n') n = atol(optarg);
        else if (c == 's') first = strtoull(optarg, NULL, 10);
        else if (c == '1') one = true;
        else if (c == 'c') careless = true;
        else if (c == 'q') quick = true;
        else return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    printf("fuzz-schedules: %ld programs, SEED=%llu\n", one ? 1 : n, (unsigned long long)first);
    fflush(stdout);
    if (one) {
        verbose = true;
        work(first);
        return shared->failed[0] != 0;
    }
    pid_t pid[WORKERS];
    for (me = 0; me < WORKERS; me++)
        if (!(pid[me] = fork())) worker(first, n);
    for (int live = WORKERS; live;) {
        int status;
        pid_t dead = wait(&status);
        if (dead < 0) break;
        for (me = 0; me < WORKERS && pid[me] != dead; me++) continue;
        if (me == WORKERS) continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            live--;
            continue;
        }
        printf("FAIL seed %llu: the process died (status %d)\n", (unsigned long long)shared->seed[me], status);
        shared->failed[me]++;
        shared->done[me]++;
        if (!(pid[me] = fork())) worker(first, n);
    }
    table();
    long done = 0, failed = 0, refused = 0, late = 0, compiled = 0;
    for (int w = 0; w < WORKERS; w++) {
        done += shared->done[w], failed += shared->failed[w], refused += shared->refused[w];
        late += shared->late[w], compiled += shared->compiled[w];
    }
    printf("%ld programs, %ld compiled, %ld plans refused, %ld stopped by a run-time check, %ld differences\n", done, compiled, refused,
           late, failed);
    return failed != 0;
}
