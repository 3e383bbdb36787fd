/* gpu.c - kernels on a GPU beside a peer on the same data: bench_gpu [--out FILE] [--only PREFIX] [--rounds N] FILE.mlc ...
 *
 * A case is a text (bench/gpu/NAME.mlc): one program, and a plan for each row of the table.  Comments at its head say what
 * it runs on; sizes are extents by the names of inputs and outputs, the innermost first:
 *
 *     //! time in=8192x16384 out=8192x16384      what is timed
 *     //! check in=131x17 out=131x17             what is compared with the interpreter, bit by bit, before
 *     //! peer copy                              or sgemm, gemm (cuBLAS), halide NAME: see gpu_bench.h
 *     //! how graph                              the call is replayed as a graph; a second row times what the host takes to start
 *                                                its kernels one by one, beside as many launches by the driver (peer launch)
 *     //! data small                             small integers, whose sums are exact; else -4 to 4
 *
 * Ours and the peer take turns: a turn is a batch of calls with one wait at its end, over buffers that stay on the device,
 * so that what is timed is the device's work.  Where there is no GPU nothing is timed, and that is said. */
#include "gpu_bench.h"

#include <mlc/text.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16, TURN_US = 3000, MOST_BATCH = 200 };

typedef struct {
    const char *file;
    char text[MOST_BYTES], name[96];
    mlc_ctx *ctx;
    mlc_program *program;
    mlc_func out[8];
    int n_out;
} Case;

static bool fails(mlc_error_info *e, const char *why, const char *what) {
    snprintf(e->message, sizeof e->message, "%s%s", why, what);
    return false;
}

/* ---- a case's text ---- */

static bool read_case(Case *c, mlc_error_info *e) {
    FILE *f = fopen(c->file, "r");
    if (!f) return fails(e, "cannot be opened", "");
    size_t n = fread(c->text, 1, sizeof c->text - 1, f);
    fclose(f);
    c->text[n] = 0;
    if (n == sizeof c->text - 1) return fails(e, "is too long", "");
    c->program = mlc_program_parse(c->ctx, c->text, c->file);
    if (!c->program) return fails(e, mlc_error(c->ctx), "");
    c->n_out = mlc_program_n_outputs(c->program);
    if (c->n_out > 8) return fails(e, "has more than 8 outputs", "");
    for (int i = 0; i < c->n_out; i++) c->out[i] = mlc_program_output(c->program, i);
    const char *base = strrchr(c->file, '/');
    snprintf(c->name, sizeof c->name, "gpu/%.80s", base ? base + 1 : c->file);
    char *dot = strstr(c->name, ".mlc");
    if (dot) *dot = 0;
    return true;
}

/* The rest of the line `//! WORD ...` of the head in `line`; false where there is none. */
static bool find_line(const Case *c, const char *word, char line[256]) {
    char key[32];
    snprintf(key, sizeof key, "//! %s ", word);
    const char *at = strstr(c->text, key);
    if (!at) return false;
    at += strlen(key);
    snprintf(line, 256, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static mlc_buffer *buffer_of(const char *line, const mlc_slot_info *slot) {
    int64_t extent[MLC_MAX_RANK] = { 0 };
    int n = 0;
    size_t length = strlen(slot->name);
    const char *at = line;
    while ((at = strstr(at, slot->name)) && !((at == line || at[-1] == ' ') && at[length] == '=')) at += length;
    if (!at) return slot->rank ? NULL : mlc_buffer_new(slot->type, 0, extent);
    char *p = (char *)at + length;
    while (n < slot->rank && (*p == '=' || *p == 'x')) extent[n++] = strtoll(p + 1, &p, 10);
    return n == slot->rank ? mlc_buffer_new(slot->type, slot->rank, extent) : NULL;
}

static bool make_buffers(const mlc_module *m, const char *line, GpuBuffers *b, mlc_error_info *e) {
    b->n = mlc_module_slots(m);
    if (b->n > GPU_MOST) return fails(e, "has too many buffers", "");
    for (int i = 0; i < b->n; i++) {
        mlc_slot_info slot;
        mlc_module_slot(m, i, &slot);
        if (!slot.is_output) b->inputs = i + 1;
        b->at[i] = buffer_of(line, &slot);
        if (!b->at[i]) return fails(e, "no memory for, or no extents of, ", slot.name);
    }
    return true;
}

static void free_buffers(GpuBuffers *b) {
    for (int i = 0; i < b->n; i++) mlc_buffer_free(b->at[i]);
    b->n = 0;
}

/* ---- one plan ---- */

static bool same_bits(const mlc_buffer *a, const mlc_buffer *b) {
    return !memcmp(a->data, b->data, (size_t)mlc_buffer_count(a) * mlc_type_size(a->type));
}

/* The kernels' values are the interpreter's. */
static bool check(const Case *c, mlc_plan *plan, mlc_module *gpu, bool small, mlc_error_info *e) {
    char line[256];
    GpuBuffers b = { 0 }, want = { 0 };
    if (!find_line(c, "check", line)) return fails(e, "has no line //! check", "");
    mlc_module *oracle = mlc_compile(plan, c->n_out, c->out, &(mlc_options){ .target = "interpret" }, e);
    bool good = oracle && make_buffers(gpu, line, &b, e) && make_buffers(oracle, line, &want, e);
    for (int i = 0; good && i < b.inputs; i++) gpu_fill(b.at[i], i + 1, small), gpu_fill(want.at[i], i + 1, small);
    good = good && !mlc_run(oracle, want.n, want.at, 0, NULL, e) && !mlc_run(gpu, b.n, b.at, 0, NULL, e);
    for (int i = b.inputs; good && i < b.n; i++) {
        good = mlc_buffer_to_host(c->ctx, b.at[i], e);
        if (good && !same_bits(b.at[i], want.at[i])) good = fails(e, "the results differ from the interpreter's", "");
    }
    free_buffers(&b);
    free_buffers(&want);
    mlc_module_free(oracle);
    return good;
}

typedef struct {
    mlc_module *m;
    GpuBuffers *b;
} Call;

static bool call_ours(void *user, mlc_error_info *e) {
    Call *c = user;
    return !mlc_run(c->m, c->b->n, c->b->at, 0, NULL, e);
}

static bool turn(const GpuPeer *p, int batch, double *us, mlc_error_info *e) {
    double t = bench_now();
    for (int i = 0; i < batch; i++)
        if (!p->call(p->user, e)) return false;
    if (!(p->wait ? p->wait(p->user, e) : gpu_wait(e))) return false;
    *us = (bench_now() - t) / batch;
    return true;
}

enum { MOST_ROUNDS = 101 };

/* Both in turns: the medians of one call's time and of the rounds' ratios. */
static bool time_both(const GpuPeer *ours, const GpuPeer *peer, int rounds, double us[2], double *ratio, mlc_error_info *e) {
    double t[2][MOST_ROUNDS], r[MOST_ROUNDS], once = 0;
    if (!turn(ours, 2, &once, e) || !turn(ours, 2, &once, e)) return false;
    int batch = once > TURN_US ? 1 : (int)(TURN_US / once) + 1;
    if (batch > MOST_BATCH) batch = MOST_BATCH;
    for (int i = -2; i < rounds; i++) {
        int k = i < 0 ? 0 : i;
        if (!turn(ours, batch, &t[0][k], e)) return false;
        if (peer->call && !turn(peer, batch, &t[1][k], e)) return false;
        if (peer->call) r[k] = t[1][k] / t[0][k];
    }
    us[0] = bench_median(t[0], rounds);
    us[1] = peer->call ? bench_median(t[1], rounds) : 0;
    *ratio = peer->call ? bench_median(r, rounds) : 0;
    return true;
}

static bool call_graph(void *user, mlc_error_info *e) {
    return !mlc_graph_run(user, NULL, e);
}

/* What the host takes to start a call: the device's work is waited for outside of the time. */
static bool time_starts(const GpuPeer *ours, const GpuPeer *peer, int rounds, double us[2], double *ratio, mlc_error_info *e) {
    double t[2][MOST_ROUNDS], r[MOST_ROUNDS];
    const GpuPeer *const both[2] = { ours, peer };
    for (int i = -2; i < rounds; i++) {
        int k = i < 0 ? 0 : i;
        for (int p = 0; p < 2; p++) {
            double begun = bench_now();
            if (!both[p]->call(both[p]->user, e)) return false;
            t[p][k] = bench_now() - begun;
            if (!gpu_wait(e)) return false;
        }
        r[k] = t[1][k] / t[0][k];
    }
    for (int p = 0; p < 2; p++) us[p] = bench_median(t[p], rounds);
    *ratio = bench_median(r, rounds);
    return true;
}

/* Two rows: a replay, which has no peer, and the starts of the call's kernels. */
static bool run_graph(const Case *c, const char *plan, const char *size, mlc_module *m, GpuBuffers *b, int rounds, mlc_error_info *e) {
    char kind[32], note[80];
    double us[2] = { 0 }, ratio = 0;
    int kernels = mlc_module_kernels(m);
    GpuPeer peer = { 0 }, starts = { .call = call_ours, .user = &(Call){ m, b } };
    mlc_graph *g = mlc_graph_new(m, b->n, b->at, 0, NULL, e);
    GpuPeer replays = { .call = call_graph, .user = g };
    bool good = g && time_both(&replays, &peer, rounds, us, &ratio, e);
    snprintf(note, sizeof note, "a replay of %d kernels: %.3f us each", kernels, us[0] / kernels);
    if (good) bench_line(c->name, plan, size, 0, us[0], "-", 0, 0, 0, note);
    snprintf(kind, sizeof kind, "launch %d", kernels);
    good = good && gpu_peer_open(&peer, kind, b, e) && time_starts(&starts, &peer, rounds, us, &ratio, e);
    snprintf(note, sizeof note, "the host's time to start %d kernels: %.3f us each", kernels, us[0] / kernels);
    if (good) bench_line(c->name, plan, size, 0, us[0], kind, us[1], ratio, 0, note);
    gpu_peer_close(&peer);
    mlc_graph_free(g);
    return good;
}

static bool run_plan(Case *c, mlc_plan *plan, int rounds) {
    mlc_error_info e = { 0 };
    char line[256], kind[256] = "copy", data[256] = "", how[256] = "";
    GpuBuffers b = { 0 };
    GpuPeer peer = { 0 };
    double us[2] = { 0 }, ratio = 0;
    find_line(c, "peer", kind);
    bool small = find_line(c, "data", data) && !strcmp(data, "small");
    mlc_module *m = mlc_compile(plan, c->n_out, c->out, &(mlc_options){ .target = "cuda" }, &e);
    bool good = m && check(c, plan, m, small, &e);
    if (good && !find_line(c, "time", line)) good = fails(&e, "has no line //! time", "");
    good = good && make_buffers(m, line, &b, &e);
    for (int i = 0; good && i < b.inputs; i++) gpu_fill(b.at[i], i + 1, small);
    for (int i = 0; good && i < b.n; i++) good = mlc_buffer_to_device(c->ctx, b.at[i], &e);
    GpuPeer ours = { .call = call_ours, .user = &(Call){ m, &b } };
    bool graph = find_line(c, "how", how) && !strcmp(how, "graph");
    if (graph) good = good && run_graph(c, mlc_plan_name(plan), line, m, &b, rounds, &e);
    else good = good && gpu_peer_open(&peer, kind, &b, &e) && time_both(&ours, &peer, rounds, us, &ratio, &e);
    if (good && !graph) bench_line(c->name, mlc_plan_name(plan), line, 0, us[0], kind, us[1], ratio, 0, "equal bits");
    if (!good) fprintf(stderr, "%s, plan %s: %s\n", c->name, mlc_plan_name(plan), e.message);
    gpu_peer_close(&peer);
    free_buffers(&b);
    mlc_module_free(m);
    return good;
}

static bool run_case(const char *file, const char *only, int rounds) {
    static Case c;
    mlc_error_info e = { 0 };
    bool good = true;
    c = (Case){ .file = file, .ctx = mlc_ctx_new() };
    if (!c.ctx) return false;
    if (!read_case(&c, &e)) {
        fprintf(stderr, "%s: %s\n", file, e.message);
        good = false;
    }
    for (int i = 0; c.program && i < mlc_program_n_plans(c.program) && bench_wanted(only, c.name); i++)
        good = run_plan(&c, mlc_program_plan(c.program, i), rounds) && good;
    mlc_ctx_free(c.ctx);
    return good;
}

int main(int argc, char **argv) {
    static const struct option options[] = { { "out", 1, NULL, 'f' }, { "only", 1, NULL, 'o' }, { "rounds", 1, NULL, 'r' }, { 0 } };
    const char *only = NULL;
    int rounds = 21;
    bool good = true;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'f') bench_open(optarg);
        else if (c == 'o') only = optarg;
        else if (c == 'r') rounds = atoi(optarg);
        else return 2;
    }
    if (rounds < 1 || rounds > MOST_ROUNDS) return 2;
    if (!gpu_open()) {
        fprintf(stderr, "bench_gpu: skipped, there is no driver (libcuda.so.1) or no GPU\n");
        return 0;
    }
    for (int i = optind; i < argc; i++) good = run_case(argv[i], only, rounds) && good;
    return !good;
}
