/* cases.c - behaviours as texts: each file under tests/behaviours is a program, a plan and what must come of it.
 *
 *     text_cases [-a] [-g] FILE ...   -a: every compiler and instruction set, else one a file, in turn; -g: kernels on the GPU
 *
 * A file is a `.mlc` text whose comments say more:
 *     //: what the behaviour is              the first line; docs/halide-to-mlc.md shows it
 *     //! box out 0 13 -2 7                  the box that is asked of an output (min, extent a dimension); of an
 *                                            input, what it holds (else what is needed)
 *     //= value out 3 2 = 17                 the value there, worked out by hand; `out[1]` for a tuple's element
 *     //= stores rows.u0 20                  how many points the stage stores
 *     //= alloc rows 3 44                    how often the Func gets memory, and the most bytes at once of it
 *     //= peak 132                           the most bytes of inner memory at one time
 *     //= loops                              followed by `//=   ...` lines: the whole nest
 *     //= nest                               followed by such lines: what `mlc explain --level nest` prints
 *     //= notes                              followed by such lines: each memory, and what is said of it
 *     //= zones out 3                        how many copies of its store partition makes of a Func's: zones of its loops
 *     //= profile rows 5 20 18               what a profile counts of the stage: runs, points, points needed
 *     //= gpu 2 1 1                          launches of kernels, copies to the GPU, copies home
 *     //= error T                            the message that refuses it, without the source line that it shows
 *     //= warns T                            a line that the compile prints
 * Without `error` the value of every point under plan p must be the oracle's, bit by bit, in the loop
 * interpreter and compiled, and the text must print and read back. */
#include "kernels.h"

#include "lower/loop_interp.h"
#include "lower/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1 << 16, BATCH = 12, MESSAGE = 4096 };

typedef struct {
    const char *path, *name;
    char text[TEXT], why[MESSAGE + 256], said[MESSAGE - 64];
    Case c;
    bool compiles;
} File;

static void wrong(File *f, const char *what, const char *got) {
    if (!*f->why) snprintf(f->why, sizeof f->why, "%s: got %s", what, got);
}

/* The next line that begins with `head`, from `at` on; copied without its end. */
static const char *next_line(const char *at, const char *head, char *line, size_t size) {
    at = strstr(at, head);
    if (!at) return NULL;
    at += strlen(head);
    size_t n = strcspn(at, "\n");
    snprintf(line, size, "%.*s", (int)n, at);
    return at + n;
}

/* ---- what the run did ---- */

static const Func *func_named(const Program *p, const char *name) {
    const FuncList *all = &p->schedule->order;
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->at[i]->name, name)) return all->at[i];
    return NULL;
}

typedef struct {
    StrBuf *out;
    int depth;
} Nest;

static void nest_line(Nest *n, const char *what, const char *name, const char *kind) {
    sb_printf(n->out, "//=   %*s%s%s%s\n", 2 * n->depth, "", what, name, kind);
}

static void nest(Nest *n, const Stmt *s) {
    static const char *const kind[] = { "", " parallel", " vector", " unroll", " gpu_block", " gpu_thread", " tensor" };
    if (!s) return;
    Nest in = { n->out, n->depth + 1 };
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) nest(n, s->u.block.at[i]);
        break;
    case ST_FOR:
        nest_line(n, "for ", s->u.loop.var->name, kind[s->u.loop.kind]);
        nest(&in, s->u.loop.body);
        break;
    case ST_LET: nest(n, s->u.let.body); break;
    case ST_IF:
        if (n->depth || s->u.cond.no) nest_line(n, "if", "", "");
        nest(n->depth || s->u.cond.no ? &in : n, s->u.cond.yes);
        if (s->u.cond.no) {
            nest_line(n, "else", "", "");
            nest(&in, s->u.cond.no);
        }
        break;
    case ST_STORE: nest_line(n, "", s->u.store.func->name, ""); break;
    case ST_ALLOC:
        nest_line(n, "alloc ", s->u.alloc.storage->name, "");
        nest(n, s->u.alloc.body);
        break;
    case ST_PRODUCE: nest(n, s->u.produce.body); break;
    case ST_FORK:
        nest_line(n, "fork ", s->u.fork.channel->func->name, "");
        nest(&in, s->u.fork.task);
        nest_line(n, "and", "", "");
        nest(&in, s->u.fork.rest);
        break;
    case ST_TURN:
        nest_line(n, s->u.turn.reader < 0 ? "give " : "take ", s->u.turn.channel->func->name, "");
        nest(&in, s->u.turn.body);
        break;
    case ST_CALL: nest_line(n, "call ", s->u.call.func->name, ""); break;
    default: break;
    }
}

/* Lowered anew and run once with everything counted. */
static Program *counted(Case *c, const LowerOptions *o, LoopStats *stats) {
    Barrier barrier;
    Program *volatile p = NULL;
    mlc_buffer *b[CASE_SLOTS];
    Func *out[4];
    for (int i = 0; i < c->n_slots; i++) b[i] = &c->slot[i].b;
    for (int i = 0; i < c->n_out; i++) out[i] = c->out[i].f;
    if (FAULT_TRY(&c->fault, barrier)) {
        p = low_lower(&c->arena, &c->ir, sch_resolve(&c->ir, c->plan, out, c->n_out), o);
        low_interpret_counted(&c->arena, p, b, c->param, c->data, stats);
        FAULT_END(&c->fault, barrier);
    }
    for (int i = 0; i < c->n_slots; i++) memcpy(c->slot[i].memory, c->slot[i].before, c->slot[i].bytes);
    return p;
}

static void check_stores(File *f, const Program *p, const LoopStats *stats) {
    char line[256], name[64];
    for (const char *at = f->text; (at = next_line(at, "//= stores ", line, sizeof line));) {
        long want;
        if (sscanf(line, "%63s %ld", name, &want) != 2) wrong(f, "stores", line);
        char *u = strstr(name, ".u");
        int stage = u ? atoi(u + 2) + 1 : 0;
        if (u) *u = 0;
        const Func *func = func_named(p, name);
        char got[64];
        snprintf(got, sizeof got, "%lld", func ? (long long)low_stores(stats, func, stage) : -1LL);
        if (strtol(got, NULL, 10) != want) wrong(f, line, got);
    }
}

static void check_allocs(File *f, const LoopStats *stats) {
    char line[256], name[64], got[64];
    for (const char *at = f->text; (at = next_line(at, "//= alloc ", line, sizeof line));) {
        long times, bytes, t = 0, most = 0;
        if (sscanf(line, "%63s %ld %ld", name, &times, &bytes) != 3) wrong(f, "alloc", line);
        for (int i = 0; i < stats->alloc.n; i++) {
            const LoopAlloc *a = &stats->alloc.at[i];
            if (strcmp(a->storage->func->name, name)) continue;
            t += a->times;
            most = a->peak > most ? (long)a->peak : most;
        }
        snprintf(got, sizeof got, "%ld times, %ld bytes", t, most);
        if (t != times || most != bytes) wrong(f, line, got);
    }
    if (next_line(f->text, "//= peak ", line, sizeof line)) {
        snprintf(got, sizeof got, "%lld", (long long)stats->peak);
        if (strcmp(got, line)) wrong(f, "peak", got);
    }
}

static void check_loops(File *f, const Program *p) {
    const char *want = strstr(f->text, "//= loops\n");
    if (!want) return;
    want += strlen("//= loops\n");
    size_t n = 0;
    while (!strncmp(want + n, "//=   ", 6)) n += strcspn(want + n, "\n") + 1;
    StrBuf b;
    sb_init(&b, &f->c.arena);
    Nest top = { &b, 0 };
    nest(&top, p->body);
    if (b.n != n || memcmp(b.at, want, n)) wrong(f, "loops", arena_printf(&f->c.arena, "\n%s", b.at));
}

static void check_nest(File *f) {
    const char *want = strstr(f->text, "//= nest\n");
    LoopStats stats = { 0 };
    if (!want) return;
    LowerOptions o = { .name = "out", .dense = f->c.dense, .explain = true, .stop_after = "fork" };
    const Program *p = counted(&f->c, &o, &stats);
    StrBuf b, lines;
    sb_init(&b, &f->c.arena);
    sb_init(&lines, &f->c.arena);
    if (p) st_print_nest(&b, p->body);
    for (const char *at = b.at; p && *at; at += strcspn(at, "\n") + 1) sb_printf(&lines, "//=   %.*s\n", (int)strcspn(at, "\n"), at);
    if (strncmp(want + strlen("//= nest\n"), lines.at, lines.n)) wrong(f, "nest", arena_printf(&f->c.arena, "\n%s", lines.at));
}

static void note_memory(StrBuf *out, const Stmt *s) {
    if (!s) return;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) note_memory(out, s->u.block.at[i]);
        return;
    case ST_FOR: note_memory(out, s->u.loop.body); return;
    case ST_LET: note_memory(out, s->u.let.body); return;
    case ST_IF: note_memory(out, s->u.cond.yes); return;
    case ST_PRODUCE: note_memory(out, s->u.produce.body); return;
    case ST_ALLOC:
        sb_printf(out, "//=   %s: %s\n", s->u.alloc.storage->name, s->u.alloc.storage->note);
        note_memory(out, s->u.alloc.body);
        return;
    default: return;
    }
}

static void check_notes(File *f, const Program *p) {
    const char *want = strstr(f->text, "//= notes\n");
    StrBuf b;
    sb_init(&b, &f->c.arena);
    if (!want) return;
    note_memory(&b, p->body);
    if (strncmp(want + strlen("//= notes\n"), b.at, b.n)) wrong(f, "notes", arena_printf(&f->c.arena, "\n%s", b.at));
}

static int zones(const Stmt *s, const char *name) {
    int n = 0;
    if (!s) return 0;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) n += zones(s->u.block.at[i], name);
        return n;
    case ST_FOR: return zones(s->u.loop.body, name);
    case ST_LET: return zones(s->u.let.body, name);
    case ST_IF: return zones(s->u.cond.yes, name) + zones(s->u.cond.no, name);
    case ST_PRODUCE: return zones(s->u.produce.body, name);
    case ST_ALLOC: return zones(s->u.alloc.body, name);
    case ST_STORE: return !strcmp(s->u.store.func->name, name);
    default: return 0;
    }
}

static void check_zones(File *f) {
    char line[256], name[64], got[32];
    LoopStats stats = { 0 };
    if (!next_line(f->text, "//= zones ", line, sizeof line)) return;
    LowerOptions o = { .name = "out", .dense = f->c.dense, .stop_after = "settle_parts" };
    const Program *p = counted(&f->c, &o, &stats);
    for (const char *at = f->text; p && (at = next_line(at, "//= zones ", line, sizeof line));) {
        long want;
        if (sscanf(line, "%63s %ld", name, &want) != 2) wrong(f, "zones", line);
        snprintf(got, sizeof got, "%d", zones(p->body, name));
        if (strtol(got, NULL, 10) != want) wrong(f, line, got);
    }
    if (!p) wrong(f, "zones", f->c.fault.info.message);
}

static void check_profile(File *f) {
    char line[256], name[64], got[96];
    LoopStats stats = { 0 };
    if (!next_line(f->text, "//= profile ", line, sizeof line)) return;
    LowerOptions o = { .name = "out", .dense = f->c.dense, .profile = true };
    const Program *p = counted(&f->c, &o, &stats);
    for (const char *at = f->text; p && (at = next_line(at, "//= profile ", line, sizeof line));) {
        int i = 0;
        if (sscanf(line, "%63s", name) != 1) wrong(f, "profile", line);
        while (i < p->watched.n && strcmp(p->watched.at[i].name, name)) i++;
        snprintf(got, sizeof got, "%s %lld %lld %lld", name, (long long)low_counted(&stats, i, COUNT_RUNS),
                 (long long)low_counted(&stats, i, COUNT_POINTS), (long long)low_counted(&stats, i, COUNT_NEEDED));
        if (i == p->watched.n || strcmp(got, line)) wrong(f, line, got);
    }
    if (!p) wrong(f, "profile", f->c.fault.info.message);
}

static void check_values(File *f) {
    char line[256], name[64];
    Case *c = &f->c;
    for (const char *at = f->text; (at = next_line(at, "//= value ", line, sizeof line));) {
        char *value = strstr(line, " = "), *p = line;
        int used = 0, elem = 0;
        if (!value || sscanf(line, "%63s%n", name, &used) != 1) wrong(f, "value", line);
        char *bracket = strchr(name, '[');
        if (bracket) elem = atoi(bracket + 1), *bracket = 0;
        const CaseBuffer *s = NULL;
        for (int i = 0, e = 0; i < c->n_slots; i++) {
            if (!c->slot[i].output || strcmp(c->slot[i].func->name, name)) continue;
            if (e++ == elem) s = &c->slot[i];
        }
        if (!s || !value) {
            wrong(f, line, "no such output");
            continue;
        }
        int64_t where[MAX_RANK] = { 0 };
        p += used;
        for (int d = 0; d < s->expected.rank; d++) where[d] = strtol(p, &p, 10);
        bool inside = true;
        for (int d = 0; d < s->expected.rank; d++)
            inside &= where[d] >= s->expected.dim[d].min && where[d] < s->expected.dim[d].min + s->expected.dim[d].extent;
        if (!inside) {
            wrong(f, line, "outside of the box");
            continue;
        }
        mlc_type t = s->expected.type;
        Value got = val_load(t, mlc_buffer_at(&s->expected, where)), want;
        if (ty_is_float(t)) want = val_round(t, strtod(value + 3, NULL));
        else want.i = ty_is_unsigned(t) ? (int64_t)strtoull(value + 3, NULL, 10) : strtoll(value + 3, NULL, 10);
        if (val_equal(t, got, want)) continue;
        if (ty_is_float(t)) wrong(f, line, arena_printf(&c->arena, "%a (%.9g)", got.f, got.f));
        else wrong(f, line, arena_printf(&c->arena, "%lld", (long long)got.i));
    }
}

/* ---- texts that are refused ---- */

static mlc_buffer *buffer_of(const File *f, const char *name, mlc_type t, int rank) {
    char head[80], line[256];
    int64_t min[MAX_RANK] = { 0 }, extent[MAX_RANK] = { 0 };
    snprintf(head, sizeof head, "//! box %s ", name);
    if (next_line(f->text, head, line, sizeof line)) {
        char *p = line;
        for (int d = 0; d < rank; d++) min[d] = strtol(p, &p, 10), extent[d] = strtol(p, &p, 10);
    }
    mlc_buffer *b = mlc_buffer_new(t, rank, extent);
    for (int d = 0; b && d < rank; d++) b->dim[d].min = min[d];
    return b;
}

static void keep_line(void *user, const char *line) {
    File *f = user;
    size_t n = strlen(f->said);
    snprintf(f->said + n, sizeof f->said - n, "%s\n", line);
}

/* The message that the text, its plan or its run ends in; "" where all goes well. */
static void provoke(File *f, char *message, size_t size) {
    mlc_ctx *ctx = case_context();
    mlc_error_info e = { 0 };
    mlc_ctx_log(ctx, keep_line, f);
    mlc_program *p = mlc_program_parse(ctx, f->text, f->name);
    snprintf(message, size, "%s", p ? "" : mlc_error(ctx));
    mlc_func out[4];
    int n_out = p ? mlc_program_n_outputs(p) : 0;
    for (int i = 0; i < n_out && i < 4; i++) out[i] = mlc_program_output(p, i);
    mlc_plan *plan = p ? case_plan(p) : NULL;
    mlc_module *m = p ? mlc_compile(plan ? plan : mlc_plan_new(ctx), n_out, out, NULL, &e) : NULL;
    if (p && !m) snprintf(message, size, "%s", e.message);
    if (m) {
        mlc_buffer *b[CASE_SLOTS] = { 0 };
        int nb = mlc_module_slots(m);
        for (int i = 0; i < nb && i < CASE_SLOTS; i++) {
            mlc_slot_info s;
            if (mlc_module_slot(m, i, &s)) b[i] = buffer_of(f, s.name, s.type, s.rank);
        }
        if (mlc_run(m, nb, b, 0, NULL, &e)) snprintf(message, size, "%s", e.message);
        for (int i = 0; i < nb; i++) mlc_buffer_free(b[i]);
    }
    mlc_module_free(m);
    mlc_ctx_free(ctx);
}

static void check_refusal(File *f) {
    static char message[MESSAGE], want[MESSAGE + 8];
    char line[MESSAGE];
    provoke(f, message, sizeof message);
    if (next_line(f->text, "//= warns ", line, sizeof line)) {
        snprintf(want, sizeof want, "%s\n", line);
        if (!strstr(f->said, want)) wrong(f, "warns", f->said);
    }
    message[strcspn(message, "\n")] = 0; /* what follows shows the line with a caret */
    bool refused = next_line(f->text, "//= error ", line, sizeof line) != NULL;
    if (!refused) line[0] = 0;
    if (strcmp(message, line)) wrong(f, "error", message);
}

/* ---- all of it ---- */

static bool is_refusal(const File *f) {
    return strstr(f->text, "\n//= error ") || strstr(f->text, "\n//= warns ");
}

/* Kernels go a way of their own: compiled by NVRTC, run by the public road. */
static void run_kernels(File *f, Kernels *k) {
    KernelCounts n;
    char line[256], got[96];
    kernels_compile(k, &f->c, f->name);
    bool counted = kernels_run(k, &f->c, &n);
    if (!counted || !next_line(f->text, "//= gpu ", line, sizeof line)) return;
    snprintf(got, sizeof got, "%lld %lld %lld", (long long)n.launches, (long long)n.there, (long long)n.home);
    if (strcmp(got, line)) wrong(f, "gpu", got);
}

static void begin(File *f, const char *cc, const char *isa, int opt, Kernels *k) {
    LoopStats stats = { 0 };
    if (strncmp(f->text, "mlc 1\n//: ", 10)) wrong(f, "the second line", "no `//: what the behaviour is`");
    if (is_refusal(f)) {
        check_refusal(f);
        return;
    }
    Case *c = &f->c;
    case_open(c, f->text);
    snprintf(c->cc, sizeof c->cc, "%s", cc);
    snprintf(c->isa_name, sizeof c->isa_name, "%s", isa);
    case_isa(c);
    c->opt = opt;
    case_lower(c);
    case_interpret(c);
    if (c->state != CASE_GOOD) return;
    f->compiles = !c->program->kernel.n;
    if (!f->compiles) run_kernels(f, k);
    check_values(f);
    LowerOptions o = { .name = "out", .dense = c->dense, .stop_after = "trim" }; /* the nest that the plan asks for */
    const Program *p = counted(c, &o, &stats);
    if (!p) {
        wrong(f, "counting", c->fault.info.message);
        return;
    }
    check_stores(f, p, &stats);
    check_allocs(f, &stats);
    check_loops(f, p);
    check_nest(f);
    check_notes(f, p);
    check_zones(f);
    check_profile(f);
}

static bool finish(File *f) {
    bool ran = !is_refusal(f);
    if (ran && f->c.state != CASE_GOOD) {
        if (!*f->why) snprintf(f->why, sizeof f->why, "%s: %s", f->c.what, f->c.detail);
    }
    if (*f->why) printf("FAIL %s: %s\n", f->path, f->why);
    if (ran) case_close(&f->c);
    return !*f->why;
}

static bool read_file(File *f, const char *path) {
    FILE *in = fopen(path, "r");
    memset(f, 0, sizeof *f);
    f->path = path;
    f->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (!in) {
        perror(path);
        return false;
    }
    f->text[fread(f->text, 1, sizeof f->text - 1, in)] = 0;
    fclose(in);
    return true;
}

static int run_batch(int n, char **path, const char *cc, const char *isa, int opt, Kernels *kernels) {
    static File file[BATCH];
    Case *some[BATCH];
    int k = 0, bad = 0;
    for (int i = 0; i < n; i++) {
        if (!read_file(&file[i], path[i])) return 1;
        begin(&file[i], cc, isa, opt, kernels);
        if (file[i].compiles) some[k++] = &file[i].c;
    }
    if (k) case_compile(some, k, NULL, NULL);
    for (int i = 0; i < n; i++) bad += !finish(&file[i]);
    return bad;
}

int main(int argc, char **argv) {
    static const char *const isas[] = { "avx2", "plain", "avx512", "sse4" };
    Kernels kernels = { .build = getenv("MLC_BUILD") ? getenv("MLC_BUILD") : "build" };
    bool all = false;
    int first = 1, bad = 0;
    for (; first < argc && argv[first][0] == '-'; first++) {
        all |= !strcmp(argv[first], "-a");
        kernels.device |= !strcmp(argv[first], "-g");
    }
    int n = argc - first;
    char **path = argv + first;
    for (int config = 0; config < (all ? 16 : 1); config++)
        for (int i = 0, turn = config; i < n; i += BATCH, turn += !all)
            bad += run_batch(n - i < BATCH ? n - i : BATCH, path + i, turn / 4 % 2 ? "clang" : "gcc", isas[turn % 4], 1 + turn / 8 % 2, &kernels);
    kernels_report(&kernels);
    printf("%d texts, %d failures\n", n, bad);
    return bad != 0;
}
