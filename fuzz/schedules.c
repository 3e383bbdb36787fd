/* schedules.c - random programs under random plans against the oracle.
 *
 *     fuzz_schedules [-n N] [-s SEED] [-c] [-q] [-p] [-z] [FILE ...]
 *         -n  how many programs (default 500)      -s  first seed (default: from the clock; printed)
 *         -c  careless plans: legality is what is tested; only lowers, unless given twice
 *         -q  no compiler                          -p  prints the program of seed SEED and how it fares
 *         -z  does not shrink what fails           FILE: runs these texts
 *
 * Each program is read from text, printed and read again (the same text must come back), interpreted by
 * the oracle, lowered and run by the loop interpreter, and compiled by gcc or clang for one of the
 * instruction sets this machine has.  All must give the same bytes and leave all other bytes alone.
 * Blocks of seeds share one compiler's run.  Two workers take blocks; one that dies is replaced, and the seed
 * it died on is a failure.  What fails is made smaller and written to build/fuzz. */
#include "gen.h"
#include "shrink.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, MOST_FAILURES = 64, TRIES = 5, SECONDS_A_CASE = 3, SECONDS_A_BLOCK = 900, EXPECT_ALL = 3000 };

/* Shared between the parent and its workers. */
typedef struct {
    long next_block;
    uint64_t seed[WORKERS]; /* being worked on */
    long block[WORKERS];
    long done, refused, late, compiled, slow;
    uint64_t skipped[MOST_FAILURES]; /* took too long to interpret */
    long failures;
    uint64_t failed[MOST_FAILURES];
    char why[MOST_FAILURES][400];
    long error[ERR_COUNT];
    long count[GEN_MAX_COUNTS];
    char name[GEN_MAX_COUNTS][32];
    int names;
} Shared;

static Shared *shared;
static int careless;
static bool quick, shrinks = true;

static void add(long *to, long n) {
    __atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static void failure(uint64_t seed, const char *what, const char *detail) {
    long at = __atomic_fetch_add(&shared->failures, 1, __ATOMIC_RELAXED);
    printf("FAIL seed %llu: %s: %s\n", (unsigned long long)seed, what, detail);
    fflush(stdout);
    if (at >= MOST_FAILURES) return;
    shared->failed[at] = seed;
    snprintf(shared->why[at], sizeof shared->why[at], "%s: %s", what, detail);
}

static bool is_skipped(uint64_t seed) {
    for (long i = 0; i < shared->failures && i < MOST_FAILURES; i++)
        if (shared->failed[i] == seed) return true;
    for (long i = 0; i < shared->slow; i++)
        if (shared->skipped[i] == seed) return true;
    return false;
}

/* ---- one seed ---- */

/* The program of this seed under its first legal plan; false where none of a few is legal. */
static bool draw(uint64_t seed, Gen *g, Case *c, GenCounts *counts, bool count) {
    g->counts = counts;
    gen_program(g, seed);
    int program = g->n;
    for (int tries = 0; tries < TRIES; tries++) {
        g->n = program;
        g->text[program] = 0;
        gen_plan(g, careless > 0);
        case_open(c, g->text);
        case_lower(c);
        if (c->state != CASE_REFUSED) return true;
        if (count) add(&shared->refused, 1), add(&shared->error[c->code], 1);
        if (tries < TRIES - 1) case_close(c);
    }
    return false;
}

static void finish(uint64_t seed, Case *c, bool compiled) {
    if (c->state == CASE_FAILED) failure(seed, c->what, c->detail);
    if (c->state == CASE_LATE) add(&shared->late, 1), add(&shared->error[c->code], 1);
    if (compiled) add(&shared->compiled, 1);
    add(&shared->done, 1);
    case_close(c);
}

/* ---- blocks ---- */

static void publish(const GenCounts *counts) {
    for (int i = 0; i < counts->n; i++) {
        add(&shared->count[i], counts->count[i]);
        snprintf(shared->name[i], sizeof shared->name[i], "%s", counts->name[i]); /* the same order everywhere */
    }
    shared->names = counts->n;
}

/* Seconds of this process' own time, after which SIGVTALRM ends it; 0: none. */
static void limit(int seconds) {
    struct itimerval t = { .it_value.tv_sec = seconds };
    setitimer(ITIMER_VIRTUAL, &t, NULL);
    alarm(0);
}

static void work_block(int me, uint64_t first, long block, long n) {
    static Gen gen[GEN_BLOCK];
    static Case cases[GEN_BLOCK];
    static GenCounts counts;
    Case *some[GEN_BLOCK];
    uint64_t seed_of[GEN_BLOCK];
    int k = 0;
    counts.n = 0;
    memset(counts.count, 0, sizeof counts.count);
    gen_expect_all(&counts);
    uint64_t start = (first / GEN_BLOCK + (uint64_t)block) * GEN_BLOCK; /* seeds of a block have one compiler */
    for (uint64_t seed = start; seed < start + GEN_BLOCK; seed++) {
        if (seed < first || seed >= first + (uint64_t)n) continue;
        shared->seed[me] = seed;
        limit(SECONDS_A_CASE);
        if (is_skipped(seed)) continue;
        Case *c = &cases[k];
        bool legal = draw(seed, &gen[k], c, &counts, true);
        if (legal && careless != 1) case_interpret(c);
        if (!legal || c->state != CASE_GOOD || quick || careless == 1) {
            finish(seed, c, false);
            continue;
        }
        seed_of[k] = seed;
        some[k++] = c;
    }
    limit(0);
    alarm(SECONDS_A_BLOCK); /* a kernel may wait for ever */
    if (k && block % 16 == 15) shared->seed[me] = seed_of[0], case_run_public(some[0]);
    if (k) case_compile(some, k, &shared->seed[me], seed_of);
    for (int i = 0; i < k; i++) finish(seed_of[i], some[i], some[i]->source != NULL);
    publish(&counts);
}

static void worker(int me, uint64_t first, long n, long block) {
    long blocks = (n + GEN_BLOCK - 1) / GEN_BLOCK + 1;
    while (block < blocks) {
        shared->block[me] = block;
        work_block(me, first, block, n);
        block = __atomic_fetch_add(&shared->next_block, 1, __ATOMIC_RELAXED);
    }
    fflush(stdout);
    _exit(0);
}

static pid_t start(int me, uint64_t first, long n, long block) {
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) worker(me, first, n, block);
    return pid;
}

static void run_all(uint64_t first, long n) {
    pid_t pid[WORKERS];
    for (int me = 0; me < WORKERS; me++) pid[me] = start(me, first, n, __atomic_fetch_add(&shared->next_block, 1, __ATOMIC_RELAXED));
    for (int live = WORKERS; live;) {
        int status, me = 0;
        pid_t dead = wait(&status);
        if (dead < 0) break;
        while (me < WORKERS && pid[me] != dead) me++;
        if (me == WORKERS) continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            live--;
            continue;
        }
        char why[64];
        snprintf(why, sizeof why, "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM && shared->slow < MOST_FAILURES)
            shared->skipped[shared->slow++] = shared->seed[me];
        else failure(shared->seed[me], "the process died", why);
        if (shared->failures >= MOST_FAILURES) live--;
        else pid[me] = start(me, first, n, shared->block[me]);
    }
}

/* ---- what is said at the end ---- */

static int table(long n) {
    int missing = 0;
    printf("how often each operator, type, directive and tail was drawn:\n");
    for (int i = 0; i < shared->names; i++) {
        printf("%8ld %-22s%s", shared->count[i], shared->name[i], i % 4 == 3 || i == shared->names - 1 ? "\n" : "");
        missing += !shared->count[i];
    }
    for (int i = 0; i < shared->names && n >= EXPECT_ALL; i++)
        if (!shared->count[i]) printf("never drawn: %s\n", shared->name[i]);
    for (long i = 0; i < shared->slow; i++) printf("too slow: seed %llu\n", (unsigned long long)shared->skipped[i]);
    printf("errors met:\n");
    for (int e = 1; e < ERR_COUNT; e++)
        if (shared->error[e]) printf("%8ld %s\n", shared->error[e], mlc_error_name(e));
    return n >= EXPECT_ALL ? missing : 0;
}

static void write_failures(void) {
    static Gen g;
    static GenCounts counts;
    char path[64], what[1400];
    mkdir("build", 0777), mkdir("build/fuzz", 0777);
    for (long i = 0; i < shared->failures && i < MOST_FAILURES; i++) {
        Case c;
        uint64_t seed = shared->failed[i];
        draw(seed, &g, &c, &counts, false);
        case_close(&c);
        int outcome = shrinks && i < 8 ? shrink_try(g.text, what, sizeof what) : 0;
        if (outcome) shrink_text(g.text, outcome, 90);
        if (outcome) shrink_try(g.text, what, sizeof what);
        snprintf(path, sizeof path, "build/fuzz/seed-%llu.mlc", (unsigned long long)seed);
        FILE *f = fopen(path, "w");
        if (!f) continue;
        fputs(g.text, f);
        fclose(f);
        printf("%s: %s\n", path, outcome ? what : shared->why[i]);
        fflush(stdout);
    }
}

static int run_file(const char *path) {
    static char text[GEN_TEXT], what[1400];
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        return 1;
    }
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    int outcome = shrink_try(text, what, sizeof what);
    printf("%s: %s\n", path, outcome ? what : "good");
    return outcome != 0;
}

static int show(uint64_t seed) {
    static Gen g;
    static GenCounts counts;
    char what[1400];
    Case c;
    bool legal = draw(seed, &g, &c, &counts, false);
    puts(g.text);
    if (!legal) printf("refused: %s\n", c.detail);
    case_close(&c);
    int outcome = legal ? shrink_try(g.text, what, sizeof what) : 0;
    if (legal) puts(outcome ? what : "good");
    return outcome != 0;
}

int main(int argc, char **argv) {
    long n = 500;
    uint64_t first = (uint64_t)time(NULL) * 1000;
    bool one = false;
    for (int c; (c = getopt(argc, argv, "n:s:pcqz")) != -1;) {
        if (c == 'n') n = atol(optarg);
        else if (c == 's') first = strtoull(optarg, NULL, 10);
        else if (c == 'p') one = true;
        else if (c == 'c') careless++;
        else if (c == 'q') quick = true;
        else if (c == 'z') shrinks = false;
        else return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    if (one) return show(first);
    int bad = 0;
    for (int i = optind; i < argc; i++) bad |= run_file(argv[i]);
    if (optind < argc) return bad;
    printf("fuzz-schedules: %ld programs, SEED=%llu\n", n, (unsigned long long)first);
    run_all(first, n);
    int missing = table(careless ? 0 : n);
    write_failures();
    printf("%ld programs, %ld compiled, %ld plans refused, %ld stopped by a run-time check, %ld too slow, %d never drawn, %ld differences\n", shared->done,
           shared->compiled, shared->refused, shared->late, shared->slow, missing, shared->failures);
    return shared->failures || missing;
}
