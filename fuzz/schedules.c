/* schedules.c - random programs under random plans against the oracle.
 *
 *     fuzz_schedules [-n N] [-s SEED] [-j WORKERS] [-c] [-g] [-q] [-p] [-z] [-m] [FILE ...]
 *         -n  how many programs (default 500)      -s  first seed (default: from the clock; printed)
 *         -c  careless plans: most are refused, by a row of errors.def; compiles none, unless given twice
 *         -g  plans with kernels of a GPU, in the loop interpreter alone
 *         -q  no compiler                          -p  prints the program of seed SEED and how it fares
 *         -z  does not shrink what fails           FILE: runs these texts; -m prints what fails, made smaller
 *
 * Each program is read from text, printed and read again (the same text must come back), interpreted by
 * the oracle, lowered and run by the loop interpreter, and compiled by gcc or clang for one of the
 * instruction sets this machine has.  All must give the same bytes and leave all other bytes alone.
 * A line of a plan that is refused is taken away until the rest is legal; careless plans stay as they are.
 * Blocks of seeds share one compiler's run.  Workers take blocks; one that dies is replaced, and the seed
 * it died on is a failure.  What fails is made smaller and written to build/fuzz.  An interrupt ends the run early. */
#include "coverage.h"
#include "shrink.h"

#include <limits.h>
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

enum { MOST_WORKERS = 16, MOST_FAILURES = 64, MOST_SLOW = 64, TRIES = 3, REPAIRS = 16, SECONDS_A_CASE = 3, SECONDS_A_BLOCK = 900 };
enum { EXPECT_EACH = 3000, EXPECT_100 = 20000 }; /* so many programs have everything once, and a hundred times */

typedef enum { LOWERING, INTERPRETING, COMPILING, PARTS } Part;

typedef struct {
    uint64_t seed; /* being worked on */
    long block;
    uint32_t skip; /* seeds of the block that are done, a bit each */
    char text[GEN_BLOCK][GEN_TEXT];
} Worker;

/* Shared between the parent and its workers. */
typedef struct {
    long next_block;
    Worker worker[MOST_WORKERS];
    long done, compiled, late, slow;
    long drawn, refused, taken, hopeless; /* plans; of these not legal at once; lines taken away; programs given up */
    uint64_t slow_seed[MOST_SLOW];        /* took too long to interpret */
    long failures;
    uint64_t failed[MOST_FAILURES];
    char why[MOST_FAILURES][400], text[MOST_FAILURES][GEN_TEXT];
    long error[ERR_COUNT];
    long count[GEN_MAX_COUNTS];
    double seconds[PARTS];
} Shared;

static Shared *shared;
static Worker *self; /* NULL: the parent */
static GenCounts rows; /* all of them, each 0 */
static int careless, workers = 2;
static bool quick, gpu, smaller, shrinks = true;

static void add(long *to, long n) {
    __atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The time since *since is that part's. */
static void spent(Part part, double *since) {
    double t = now();
    shared->seconds[part] += t - *since; /* a sum lost between two workers does no harm */
    *since = t;
}

static void failure(const Worker *w, uint64_t seed, const char *what, const char *detail) {
    long at = __atomic_fetch_add(&shared->failures, 1, __ATOMIC_RELAXED);
    printf("FAIL seed %llu: %s: %s\n", (unsigned long long)seed, what, detail);
    fflush(stdout);
    if (at >= MOST_FAILURES) return;
    shared->failed[at] = seed;
    snprintf(shared->why[at], sizeof shared->why[at], "%s: %s", what, detail);
    memcpy(shared->text[at], w->text[seed % GEN_BLOCK], GEN_TEXT);
}

/* ---- one seed ---- */

typedef struct {
    uint64_t seed;
    Gen gen;
    Case c;
    GenCounts counts;
} Trial;

/* A careless plan breaks a few rules rather than all of them, so that it comes far. */
static void write_plan(Gen *g) {
    int kind = careless ? gen_below(g, 6) : 0;
    if (kind == 5) gen_put(g, "plan p {\n}\n");
    else gen_plan(g, kind == 4);
    for (int i = careless && kind < 4 ? 1 + (kind == 0) : kind > 4 ? 4 : 0; i > 0; i--) {
        g->n -= 2; /* before the last brace */
        gen_careless_line(g);
        gen_put(g, "}\n");
    }
}

static void lower(Trial *t) {
    if (self) memcpy(self->text[t->seed % GEN_BLOCK], t->gen.text, (size_t)t->gen.n + 1);
    case_open(&t->c, t->gen.text);
    case_lower(&t->c);
}

/* A plan that does not read is refused as well, where no care was taken for that. */
static bool is_refused(const Case *c, bool any) {
    return c->state == CASE_REFUSED || (any && c->state == CASE_FAILED && !c->plan && c->code && c->code != ERR_INTERNAL);
}

/* Takes the line away that the message `fuzz:LINE: ...` names; false where that is none of the plan. */
static bool take_line(Gen *g, const char *message) {
    int line;
    if (sscanf(message, "fuzz:%d:", &line) != 1) return false;
    char *at = g->text, *end;
    while (--line > 0 && (at = strchr(at, '\n'))) at++;
    if (!at || at < strstr(g->text, "plan p {\n") || strncmp(at, "    ", 4) || !(end = strchr(at, '\n'))) return false;
    memmove(at, end + 1, strlen(end + 1) + 1);
    g->n -= (int)(end + 1 - at);
    return true;
}

/* The program of this seed under what is legal of a plan; false where that takes too long to find. */
static bool draw(uint64_t seed, Trial *t) {
    Gen *g = &t->gen;
    t->seed = seed;
    t->counts = rows;
    g->counts = &t->counts;
    gen_program(g, seed);
    g->gpu = gpu;
    for (int tries = 0, program = g->n; tries < TRIES; tries++) {
        g->n = program;
        g->text[program] = 0;
        write_plan(g);
        lower(t);
        add(&shared->drawn, 1);
        bool legal = !is_refused(&t->c, careless);
        add(&shared->refused, !legal);
        for (int i = 0; !legal; i++) {
            add(&shared->error[t->c.code], 1);
            if (careless || i == REPAIRS || !take_line(g, t->c.detail)) break;
            add(&shared->taken, 1);
            case_close(&t->c);
            lower(t);
            legal = !is_refused(&t->c, true);
        }
        if (legal && t->c.state == CASE_GOOD) coverage_of_plan(&t->counts, &t->c);
        if (legal || careless || tries == TRIES - 1) return legal;
        case_close(&t->c);
    }
    return false;
}

/* A careless plan promises of an output's buffer what nobody made it hold. */
static bool broken_promise(int code) {
    return careless && (code == ERR_BUFFER_MIN || code == ERR_BUFFER_EXTENT || code == ERR_BUFFER_MIN_ALIGN || code == ERR_BUFFER_EXTENT_ALIGN);
}

static void finish(Trial *t) {
    Case *c = &t->c;
    if (c->state == CASE_FAILED && broken_promise(c->code)) c->state = CASE_LATE;
    if (c->state == CASE_FAILED && !is_refused(c, careless)) failure(self, t->seed, c->what, c->detail);
    if (c->state == CASE_LATE) add(&shared->late, 1), add(&shared->error[c->code], 1);
    if (c->source) add(&shared->compiled, 1);
    for (int i = 0; c->state == CASE_GOOD && i < rows.n; i++) add(&shared->count[i], t->counts.count[i]);
    add(&shared->done, 1);
    self->skip |= 1u << t->seed % GEN_BLOCK;
    case_close(c);
}

/* ---- blocks ---- */

/* Seconds of this process' own time, after which SIGVTALRM ends it; 0: none. */
static void limit(int seconds) {
    struct itimerval t = { .it_value.tv_sec = seconds };
    setitimer(ITIMER_VIRTUAL, &t, NULL);
    alarm(0);
}

static void work_block(uint64_t first, long n) {
    static Trial trial[GEN_BLOCK];
    Case *some[GEN_BLOCK];
    uint64_t seed_of[GEN_BLOCK], start = (first / GEN_BLOCK + (uint64_t)self->block) * GEN_BLOCK; /* seeds of a block have one compiler */
    double since = now();
    int k = 0;
    for (uint64_t seed = start; seed < start + GEN_BLOCK; seed++) {
        Trial *t = &trial[k];
        if (seed < first || seed >= first + (uint64_t)n || self->skip >> seed % GEN_BLOCK & 1) continue;
        self->seed = seed;
        limit(careless ? 1 : SECONDS_A_CASE);
        bool legal = draw(seed, t);
        if (!legal && !careless) add(&shared->hopeless, 1);
        spent(LOWERING, &since);
        if (legal) case_interpret(&t->c);
        spent(INTERPRETING, &since);
        if (!legal || t->c.state != CASE_GOOD || quick || careless == 1) {
            finish(t);
            continue;
        }
        seed_of[k] = seed;
        some[k++] = &t->c;
    }
    limit(0);
    alarm(SECONDS_A_BLOCK); /* a kernel may wait for ever */
    if (k && self->block % 16 == 15) self->seed = seed_of[0], case_run_public(some[0]);
    if (k) case_compile(some, k, &self->seed, seed_of);
    for (int i = 0; i < k; i++) finish(&trial[i]);
    spent(COMPILING, &since);
}

static void work(uint64_t first, long n) {
    long blocks = (n + GEN_BLOCK - 1) / GEN_BLOCK + 1;
    while (self->block < blocks) {
        work_block(first, n);
        if (isatty(2)) fprintf(stderr, "\r  %ld of %ld programs ", shared->done, n);
        self->block = __atomic_fetch_add(&shared->next_block, 1, __ATOMIC_RELAXED);
        self->skip = 0;
    }
    fflush(stdout);
    _exit(0);
}

static pid_t start(Worker *w, uint64_t first, long n) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid) return pid;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    self = w;
    work(first, n);
    return 0;
}

/* It died of `status`: of time, which is no fault, or of one. */
static void bury(Worker *w, int status) {
    char why[64];
    snprintf(why, sizeof why, "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    w->skip |= 1u << w->seed % GEN_BLOCK;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGVTALRM) failure(w, w->seed, "the process died", why);
    else if (shared->slow++ < MOST_SLOW) shared->slow_seed[shared->slow - 1] = w->seed;
}

/* The run ends with the blocks at hand. */
static void stop_early(int sig) {
    (void)sig;
    shared->next_block = LONG_MAX / 2;
}

static void run_all(uint64_t first, long n) {
    pid_t pid[MOST_WORKERS];
    struct sigaction early = { .sa_handler = stop_early, .sa_flags = SA_RESTART };
    sigaction(SIGINT, &early, NULL);
    sigaction(SIGTERM, &early, NULL);
    for (int i = 0; i < workers; i++) {
        shared->worker[i].block = shared->next_block++;
        pid[i] = start(&shared->worker[i], first, n);
    }
    for (int live = workers; live;) {
        int status, i = 0;
        pid_t dead = wait(&status);
        if (dead < 0) break;
        while (i < workers && pid[i] != dead) i++;
        if (i == workers) continue;
        bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!well) bury(&shared->worker[i], status);
        if (well || shared->failures >= MOST_FAILURES) live--;
        else pid[i] = start(&shared->worker[i], first, n);
    }
    if (isatty(2)) fprintf(stderr, "\r%40s\r", "");
}

/* ---- what is said at the end ---- */

static int table(long n) {
    memcpy(rows.count, shared->count, sizeof rows.count);
    int few = gen_print_counts(&rows, gpu, careless ? 0 : n >= EXPECT_100 ? 100 : n >= EXPECT_EACH);
    for (long i = 0; i < shared->slow && i < MOST_SLOW; i++) printf("too slow: seed %llu\n", (unsigned long long)shared->slow_seed[i]);
    printf("errors met:\n");
    for (int e = 1; e < ERR_COUNT; e++)
        if (shared->error[e]) printf("%8ld %s\n", shared->error[e], mlc_error_name(e));
    return few;
}

static void write_failures(void) {
    char path[64], what[1400];
    mkdir("build", 0777), mkdir("build/fuzz", 0777);
    for (long i = 0; i < shared->failures && i < MOST_FAILURES; i++) {
        char *text = shared->text[i];
        int outcome = shrinks && i < 8 ? shrink_try(text, what, sizeof what) : 0;
        if (outcome) shrink_text(text, outcome, 90);
        if (outcome) shrink_try(text, what, sizeof what);
        snprintf(path, sizeof path, "build/fuzz/seed-%llu.mlc", (unsigned long long)shared->failed[i]);
        FILE *f = fopen(path, "w");
        if (!f) continue;
        fputs(text, f);
        fclose(f);
        printf("%s: %s\n", path, outcome ? what : shared->why[i]);
        fflush(stdout);
    }
}

static void summary(double seconds, int few) {
    double all = shared->seconds[LOWERING] + shared->seconds[INTERPRETING] + shared->seconds[COMPILING], drawn = (double)shared->drawn;
    printf("%.1f programs a second: %.0f%% of the time lowering, %.0f%% interpreting, %.0f%% compiling and running\n",
           (double)shared->done / seconds, 100 * shared->seconds[LOWERING] / all, 100 * shared->seconds[INTERPRETING] / all,
           100 * shared->seconds[COMPILING] / all);
    printf("%ld plans, %.1f%% refused, of which %ld lines were taken away; %ld programs found none that is legal\n", shared->drawn,
           100 * (double)shared->refused / (drawn > 0 ? drawn : 1), shared->taken, shared->hopeless);
    printf("%ld programs, %ld compiled, %ld stopped by a run-time check, %ld too slow, %d rows too rare, %ld differences\n", shared->done,
           shared->compiled, shared->late, shared->slow, few, shared->failures);
}

/* ---- the command line ---- */

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
    if (outcome && smaller) shrink_text(text, outcome, 90), puts(text);
    printf("%s: %s\n", path, outcome ? what : "good");
    return outcome != 0;
}

static int show(uint64_t seed) {
    static Trial t;
    char what[1400];
    bool legal = draw(seed, &t);
    puts(t.gen.text);
    if (!legal) printf("refused: %s\n", t.c.detail);
    case_close(&t.c);
    int outcome = legal ? shrink_try(t.gen.text, what, sizeof what) : 0;
    if (legal) puts(outcome ? what : "good");
    return outcome != 0;
}

int main(int argc, char **argv) {
    long n = 500;
    uint64_t first = (uint64_t)time(NULL) * 1000;
    bool one = false;
    for (int c; (c = getopt(argc, argv, "n:s:j:pcgqmz")) != -1;) {
        if (c == 'n') n = atol(optarg);
        else if (c == 's') first = strtoull(optarg, NULL, 10);
        else if (c == 'j') workers = atoi(optarg);
        else if (c == 'p') one = true;
        else if (c == 'c') careless++;
        else if (c == 'g') gpu = true;
        else if (c == 'q') quick = true;
        else if (c == 'm') smaller = true;
        else if (c == 'z') shrinks = false;
        else return 2;
    }
    if (workers < 1 || workers > MOST_WORKERS) return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    gen_expect_all(&rows);
    if (one) return show(first);
    int bad = 0;
    for (int i = optind; i < argc; i++) bad |= run_file(argv[i]);
    if (optind < argc) return bad;
    printf("fuzz-schedules: %ld programs, SEED=%llu\n", n, (unsigned long long)first);
    double since = now();
    run_all(first, n);
    double seconds = now() - since;
    long ran = shared->done + shared->slow;
    int few = table(ran < n ? ran : n);
    write_failures();
    summary(seconds, few);
    return shared->failures || few;
}
