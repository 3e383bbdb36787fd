/* case.c - reading a text, lowering it, interpreting it both ways. */
#include "case.h"

#include "ir/whole.h"
#include "gen.h"

#include "lower/loop_interp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 1 << 21 };

void case_fail(Case *c, const char *what, const char *detail) {
    if (c->state == CASE_FAILED) return;
    c->state = CASE_FAILED;
    snprintf(c->what, sizeof c->what, "%s", what);
    snprintf(c->detail, sizeof c->detail, "%s", detail);
}

/* Rows that a plan may meet when it runs: explicit tails and bounds that the sizes break. */
static bool is_late(int code) {
    switch (code) {
    case ERR_TAIL_SHORT: case ERR_TAIL_MULTIPLE: case ERR_BOUND_BOX: case ERR_BOUND_EXTENT:
    case ERR_STORAGE_BOUND: case ERR_FOLD_BOX: case ERR_SPECIALIZE_FAILED: return true;
    case ERR_REGISTER: case ERR_STREAM_LANES: case ERR_STREAM_APART: return true; /* known to the code generator alone */
    case ERR_STREAM_ALIGN: return true;
    case ERR_STAGE_MORE: return true; /* calls for slices of an extern stage that writes whole blocks */
    case ERR_OUT_OF_MEMORY: return true; /* rounded boxes of boxes in three dimensions */
    case ERR_OUTPUT_BOX: return true; /* an output that another one reads in a larger box */
    default: return false;
    }
}

/* What a specialization reads past the end depends on the sizes by which it is chosen: no buffer made beforehand need
 * satisfy both. */
static bool chooses_by_size(const Case *c, int code) {
    return code == ERR_INPUT_BOX && strstr(c->text, "specialize(in");
}

void case_stop(Case *c, const char *what, const mlc_error_info *e) {
    if (is_late(e->code) || chooses_by_size(c, e->code)) {
        c->state = CASE_LATE;
        c->code = e->code;
    } else {
        case_fail(c, what, e->message);
        c->code = e->code;
    }
}

/* ---- reading ---- */

/* C functions that programs call. */
static float blend(float a, float b) { return a * 0.5f - b; }
static int32_t twist(int32_t a, uint8_t b) { return (int32_t)((uint32_t)a * 31u ^ b); }

static void copy_points(const mlc_buffer *from, const mlc_buffer *to, int64_t shift) {
    int64_t p[MLC_MAX_RANK], q[MLC_MAX_RANK];
    for (int d = 0; d < to->rank; d++) p[d] = to->dim[d].min;
    for (;;) {
        memcpy(q, p, sizeof q);
        q[0] += shift;
        memcpy(mlc_buffer_at(to, p), mlc_buffer_at(from, q), mlc_type_size(to->type));
        int d = 0;
        while (d < to->rank && ++p[d] == to->dim[d].min + to->dim[d].extent) p[d] = to->dim[d].min, d++;
        if (d == to->rank) return;
    }
}

/* An extern stage that reads the neighbours, and one that writes blocks of 4; of any type. */
static int nudge(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    if (!out[0]->data) {
        in[0]->dim[0].min -= 1;
        in[0]->dim[0].extent += 2;
        return 0;
    }
    copy_points(in[0], out[0], arg[0].i % 3 - 1);
    return 0;
}

static int blocks(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg) {
    (void)arg;
    if (!out[0]->data) {
        int64_t first = out[0]->dim[0].min & ~INT64_C(3), last = (out[0]->dim[0].min + out[0]->dim[0].extent - 1) | 3;
        out[0]->dim[0].min = in[0]->dim[0].min = first;
        out[0]->dim[0].extent = in[0]->dim[0].extent = last - first + 1;
        return 0;
    }
    copy_points(in[0], out[0], 0);
    return 0;
}

const CaseExtern case_externs[CASE_EXTERNS] = {
    { "blend", (void (*)(void))blend }, { "twist", (void (*)(void))twist }, { "nudge", (void (*)(void))nudge },
    { "blocks", (void (*)(void))blocks }, { "$query", (void (*)(void))whole_query }, { "$run", (void (*)(void))whole_run },
};

mlc_ctx *case_context(void) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_extern_stage_new(ctx, "nudge", nudge);
    mlc_extern_stage_new(ctx, "blocks", blocks);
    mlc_extern_new(ctx, "blend", (void (*)(void))blend, "f32 f32 -> f32");
    mlc_extern_new(ctx, "twist", (void (*)(void))twist, "i32 u8 -> i32");
    return ctx;
}

static void no_line(void *user, const char *line) {
    (void)user, (void)line;
}

void case_isa(Case *c) {
    static const char *const isas[] = { "plain", "sse4", "avx2", "avx512" };
    c->isa = jit_host_isa();
    for (int i = 0; i < 4; i++)
        if (!strcmp(c->isa_name, isas[i]) && (CpuIsa)i < c->isa) c->isa = (CpuIsa)i;
}

static void read_header(Case *c) {
    const char *run = strstr(c->text, "//! run ");
    unsigned long long data = 1;
    strcpy(c->cc, "gcc"), strcpy(c->isa_name, "host");
    c->opt = 1;
    if (run) sscanf(run, "//! run %15s %15s -O%d data %llu layout %ld", c->cc, c->isa_name, &c->opt, &data, &c->layout);
    c->data = data;
    case_isa(c);
}

mlc_plan *case_plan(mlc_program *p) {
    for (int i = 0; i < mlc_program_n_plans(p); i++)
        if (!strcmp(mlc_plan_name(mlc_program_plan(p, i)), "p")) return mlc_program_plan(p, i);
    return NULL;
}

/* What is printed reads back to what prints the same. */
static void check_printed(Case *c) {
    const char *printed = mlc_program_print(c->ctx, c->n_out, c->out, 1, &c->plan), *twice = NULL;
    if (!printed) {
        case_fail(c, "does not print", mlc_error(c->ctx));
        return;
    }
    mlc_ctx *again = case_context();
    mlc_program *q = mlc_program_parse(again, printed, "printed");
    if (q) {
        mlc_func out[4];
        for (int i = 0; i < c->n_out; i++) out[i] = mlc_program_output(q, i);
        mlc_plan *plan = case_plan(q);
        twice = mlc_program_print(again, c->n_out, out, 1, &plan);
    }
    if (!twice) case_fail(c, "what was printed does not read", mlc_error(again));
    else if (strcmp(printed, twice)) case_fail(c, "print, read, print differ", "");
    mlc_ctx_free(again);
}

void case_open(Case *c, const char *text) {
    memset(c, 0, sizeof *c);
    c->text = text;
    arena_init(&c->arena, NULL, &c->fault);
    read_header(c);
    c->ctx = case_context();
    mlc_ctx_log(c->ctx, no_line, NULL);
    mlc_program *p = mlc_program_parse(c->ctx, text, "fuzz");
    if (!p) {
        case_fail(c, "does not read", mlc_error(c->ctx));
        c->code = mlc_error_code(c->ctx);
        return;
    }
    c->n_out = mlc_program_n_outputs(p) < 4 ? mlc_program_n_outputs(p) : 4;
    for (int i = 0; i < c->n_out; i++) c->out[i] = mlc_program_output(p, i);
    c->plan = case_plan(p);
    if (!c->plan) c->plan = mlc_plan_new(c->ctx);
    check_printed(c);
}

/* ---- lowering ---- */

static Schedule *resolve(Case *c) {
    Func *out[4];
    for (int i = 0; i < c->n_out; i++) out[i] = c->out[i].f;
    return sch_resolve(&c->ir, c->plan, out, c->n_out);
}

void case_lower(Case *c) {
    Barrier barrier;
    if (c->state != CASE_GOOD) return;
    bool stride = strstr(c->text, ": stride ") != NULL;
    c->dense = !stride && (c->layout == 0 || c->layout % 3 == 0);
    if (FAULT_TRY(&c->fault, barrier)) {
        ir_interner_init(&c->ir, &c->arena, &c->ctx->ir);
        LowerOptions o = { .name = "out", .dense = c->dense, .verify = true, .profile = c->data % 4 == 1, .trace = c->data % 8 == 1 };
        c->program = low_lower(&c->arena, &c->ir, resolve(c), &o);
        if (c->program->kernel.n && o.profile) { /* nothing in kernels is counted yet */
            o.profile = o.trace = false;
            c->program = low_lower(&c->arena, &c->ir, resolve(c), &o);
        }
        o.stop_after = "unroll";
        if (c->data % 3 == 0) c->shaped = low_lower(&c->arena, &c->ir, resolve(c), &o);
        FAULT_END(&c->fault, barrier);
        return;
    }
    c->code = c->fault.info.code;
    if (c->code == ERR_INTERNAL) case_fail(c, "internal error", c->fault.info.message);
    else c->state = CASE_REFUSED;
    snprintf(c->detail, sizeof c->detail, "%s", c->fault.info.message);
}

/* ---- buffers ---- */

/* Hostile values: zeros of both signs, infinities, NaN, denormals, ends of ranges, ties, small numbers. */
static Value hostile(const Func *f, mlc_type t, uint64_t v) {
    static const double special[] = { 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 3.5, 1e-40, 1e30, -1e30, 255.5, 65504.0, 1e-7 };
    if (t == MLC_BOOL) return (Value){ .i = (int64_t)(v & 1) };
    if (!ty_is_float(t)) {
        if (f->has_range) return (Value){ .i = (int64_t)f->lo + (int64_t)(v % (uint64_t)(f->hi - f->lo + 1)) };
        return val_wrap(t, v >> 62 ? (int64_t)(v % 23) : v & 1 ? (int64_t)v : ty_min(t));
    }
    int kind = (int)(v >> 60);
    if (f->has_range) return val_round(t, kind == 0 ? f->lo : kind == 1 ? f->hi : f->lo + (f->hi - f->lo) * (double)(v % 1025) / 1024);
    double d = kind == 0 ? special[v % 13] : kind == 1 && v % 5 == 0 ? (double)INFINITY : kind == 1 && v % 5 == 1 ? (double)NAN
             : (double)(int64_t)(v % 4001) / 16 - 125;
    return val_round(t, d);
}

/* Lays the dimensions out: dense, or with other orders, gaps and steps where the header asks for it. */
static void lay_out(Case *c, CaseBuffer *s, const Func *f, Gen *r) {
    mlc_buffer *b = &s->b;
    int order[MAX_RANK], n = b->rank;
    bool plain = c->layout == 0;
    for (int d = 0; d < n; d++) order[d] = d;
    if (!plain && !c->dense && n > 1 && gen_below(r, 3) == 0) order[0] = n - 1, order[n - 1] = 0;
    int64_t reach = 1, lowest = 0;
    for (int k = 0; k < n; k++) {
        int d = order[k];
        int64_t step = plain ? 1 : k == 0 && !c->dense ? 1 + gen_below(r, 3) : 1, gap = plain ? 0 : gen_below(r, 3);
        if (k == 0 && f->dim[d].has_stride) step = f->dim[d].stride;
        if (k == 0 && c->dense) step = 1;
        int64_t stride = reach * step;
        if (f->dim[d].has_stride && stride != f->dim[d].stride) stride = f->dim[d].stride;
        reach = stride * (b->dim[d].extent > 0 ? b->dim[d].extent : 1) + gap;
        bool turned = !plain && !(d == 0 && (c->dense || f->dim[0].has_stride)) && gen_below(r, 8) == 0;
        b->dim[d].stride = turned ? -stride : stride;
        if (turned && b->dim[d].extent > 0) lowest += stride * (b->dim[d].extent - 1);
    }
    size_t size = mlc_type_size(b->type), lead = plain ? 0 : (size_t)gen_below(r, 5);
    s->bytes = ((size_t)reach + (size_t)lowest + lead + 8) * size;
    s->memory = aligned_alloc(64, (s->bytes + 63) / 64 * 64);
    b->data = s->memory + (lead + (size_t)lowest) * size;
}

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Elements by their indices, so that a larger buffer of the same input holds the same. */
static void fill(const Case *c, const Func *f, mlc_buffer *b, int slot) {
    int64_t at[MAX_RANK], n = mlc_buffer_count(b);
    for (int d = 0; d < b->rank; d++) at[d] = b->dim[d].min;
    size_t size = mlc_type_size(b->type);
    for (int64_t i = 0; i < n;) {
        uint64_t seed = c->data + (uint64_t)slot * 77;
        for (int d = 1; d < b->rank; d++) seed = seed * 0x9e3779b97f4a7c15u + (uint64_t)at[d];
        char *row = mlc_buffer_at(b, at);
        int64_t across = b->rank ? b->dim[0].extent : 1, first = b->rank ? b->dim[0].min : 0;
        for (int64_t x = 0; x < across; x++, i++) {
            uint64_t v = mix(seed + (uint64_t)(first + x) * 0x2545f4914f6cdd1du);
            val_store(b->type, row + x * (b->rank ? b->dim[0].stride : 1) * (int64_t)size, hostile(f, b->type, v));
        }
        for (int d = 1; d < b->rank && ++at[d] == b->dim[d].min + b->dim[d].extent; d++) at[d] = b->dim[d].min;
    }
}

static mlc_buffer dense(mlc_type t, int rank, const int64_t *min, const int64_t *extent) {
    mlc_buffer *e = mlc_buffer_new(t, rank, extent), r = *e;
    r.flags &= ~(uint32_t)MLC_BUFFER_HEAP;
    for (int d = 0; d < rank; d++) r.dim[d].min = min[d];
    e->flags &= ~(uint32_t)MLC_BUFFER_OWNED;
    mlc_buffer_free(e);
    return r;
}

/* `element` of an output's tuple: all have one layout.  `wide`: the oracle, for which every element of a tuple
 * and both sides of a select count, may read more of an input than the loops. */
static void add_buffer(Case *c, const Func *f, int element, const int64_t *min, const int64_t *extent, bool wide) {
    CaseBuffer *s = &c->slot[c->n_slots];
    mlc_type t = f->type[element];
    Gen r = { .state = c->data + (uint64_t)(c->n_slots - element) * 77 + (uint64_t)c->layout };
    s->func = f;
    s->element = element;
    s->b = (mlc_buffer){ .type = t, .rank = f->rank };
    for (int d = 0; d < f->rank; d++) s->b.dim[d].min = min[d], s->b.dim[d].extent = extent[d];
    long keep = c->layout;
    if (f->rank && f->dim[0].has_stride) c->layout = 0; /* the dimension with a given stride is innermost */
    lay_out(c, s, f, &r);
    c->layout = keep;
    memset(s->memory, 1, s->bytes);
    fill(c, f, &s->b, c->n_slots);
    s->before = malloc(s->bytes);
    memcpy(s->before, s->memory, s->bytes);
    int64_t m[MAX_RANK], e[MAX_RANK];
    int more = !wide ? 0 : f->rank > 2 ? 20 : 80;
    for (int d = 0; d < f->rank; d++) m[d] = min[d] - more, e[d] = extent[d] + 2 * more;
    s->expected = dense(t, f->rank, m, e);
    s->output = !f->is_input;
    fill(c, f, &s->expected, c->n_slots);
    c->n_slots++;
}

/* The box by its line; true where there is one. */
static bool box_of(const Case *c, const Func *f, int64_t *min, int64_t *extent) {
    char head[64];
    snprintf(head, sizeof head, "//! box %s ", f->name);
    const char *at = strstr(c->text, head);
    bool given = at != NULL;
    if (at) at += strlen(head);
    for (int d = 0; d < f->rank; d++) {
        long m = 0, e = 5;
        int used = 0;
        if (at && sscanf(at, "%ld %ld%n", &m, &e, &used) == 2) at += used;
        min[d] = m, extent[d] = e;
    }
    return given;
}

typedef struct {
    Case *c;
    PtrMap number;
} Numbers;

static void put_number(Numbers *n, const Sym *s, int64_t v) {
    if (s) pm_put(&n->number, s, (void *)(uintptr_t)ir_idx(&n->c->ir, v));
}

/* A number, or false where the input's own size stands in it. */
static bool number_of(Numbers *n, const Node *e, int64_t *v) {
    return ir_is_int(low_answered(&n->c->ir, ir_substitute(&n->c->ir, e, &n->number), 0), v);
}

/* An input gets the box of its line, else just the one that is needed; one under a boundary condition any small one. */
static void add_input(Numbers *n, const Required *r) {
    Case *c = n->c;
    const Func *f = r->input;
    int64_t min[MAX_RANK], extent[MAX_RANK], given_min[MAX_RANK], given_extent[MAX_RANK], hi, elements = 1;
    bool open = false;
    for (int d = 0; d < f->rank; d++) {
        min[d] = extent[d] = 0;
        if (!r->dim[d].lo || !r->dim[d].hi) continue;
        if (number_of(n, r->dim[d].lo, &min[d]) && number_of(n, r->dim[d].hi, &hi)) extent[d] = hi < min[d] ? 0 : hi - min[d] + 1;
        else open = true;
    }
    Gen g = { .state = c->data + 5 };
    for (int d = 0; d < f->rank; d++) {
        if (open && extent[d] == 0) min[d] = gen_below(&g, 5) - 2, extent[d] = 1 + gen_below(&g, 11);
        elements = elements > MOST_ELEMENTS ? elements : elements * (extent[d] > 0 ? extent[d] : 1);
    }
    if (box_of(c, f, given_min, given_extent)) {
        memcpy(min, given_min, sizeof min), memcpy(extent, given_extent, sizeof extent);
        elements = 1, open = true; /* the oracle too sees no more than this */
    }
    if (elements > MOST_ELEMENTS) fault_raise(&c->fault, ERR_UNBOUNDED, NULL, "the fuzzer", f->name, 0, "too large", "its size");
    add_buffer(c, f, 0, min, extent, !open);
    ((Func *)(uintptr_t)f)->bound = &c->slot[c->n_slots - 1].expected;
}

static void make_buffers(Case *c) {
    Numbers n = { .c = c };
    int64_t min[4][MAX_RANK], extent[4][MAX_RANK];
    Func *const *out = c->program->schedule->output;
    pm_init(&n.number, &c->arena);
    for (int i = 0; i < c->n_out; i++) {
        const Func *f = out[i];
        box_of(c, f, min[i], extent[i]);
        for (int d = 0; d < f->rank; d++) put_number(&n, f->min[d], min[i][d]), put_number(&n, f->extent[d], extent[i][d]);
    }
    for (int i = 0; i < c->ctx->params.n; i++) {
        const Sym *s = c->ctx->params.at[i];
        const Value *v = pm_get(&c->ctx->param_value, s);
        if (v) pm_put(&n.number, s, (void *)(uintptr_t)ir_const(&c->ir, s->type, *v));
    }
    for (int i = 0; i < c->program->n_required; i++) add_input(&n, &c->program->required[i]);
    for (int i = 0; i < c->n_out; i++)
        for (int e = 0; e < out[i]->n; e++) add_buffer(c, out[i], e, min[i], extent[i], false);
    for (int i = 0; i < c->program->param.n; i++) {
        const Sym *s = c->program->param.at[i];
        const Value *v = pm_get(&c->ctx->param_value, s);
        if (!v || s->slot >= 8) continue;
        if (ty_is_float(s->type)) c->param[s->slot].f = v->f;
        else c->param[s->slot].i = v->i;
    }
}

/* ---- comparing ---- */

static bool same(const mlc_buffer *want, const mlc_buffer *got, char *where, size_t size) {
    int64_t at[MAX_RANK], n = mlc_buffer_count(want);
    for (int d = 0; d < want->rank; d++) at[d] = want->dim[d].min;
    for (int64_t i = 0; i < n; i++) {
        Value x = val_load(want->type, mlc_buffer_at(want, at)), y = val_load(got->type, mlc_buffer_at(got, at));
        if (!val_equal(want->type, x, y)) {
            int k = snprintf(where, size, "at (%lld, %lld, %lld): ", (long long)at[0], (long long)(want->rank > 1 ? at[1] : 0),
                             (long long)(want->rank > 2 ? at[2] : 0));
            if (ty_is_float(want->type)) snprintf(where + k, size - (size_t)k, "%a, expected %a", y.f, x.f);
            else snprintf(where + k, size - (size_t)k, "%lld, expected %lld", (long long)y.i, (long long)x.i);
            return false;
        }
        for (int d = 0; d < want->rank && ++at[d] == want->dim[d].min + want->dim[d].extent; d++) at[d] = want->dim[d].min;
    }
    return true;
}

/* Then no byte beside the elements may have changed. */
static bool untouched(CaseBuffer *s) {
    if (s->output && mlc_buffer_count(&s->b)) {
        mlc_buffer old = s->b;
        old.data = s->before + ((char *)s->b.data - s->memory);
        mlc_buffer_copy(&s->b, &old);
    }
    return !memcmp(s->memory, s->before, s->bytes);
}

void case_compare(Case *c, const char *what) {
    char detail[300];
    for (int i = 0; i < c->n_slots; i++) {
        CaseBuffer *s = &c->slot[i];
        if (s->output && !same(&s->expected, &s->b, detail, sizeof detail)) case_fail(c, what, detail);
        if (!untouched(s)) case_fail(c, what, "bytes outside of the buffer changed");
    }
}

void case_restore(Case *c) {
    for (int i = 0; i < c->n_slots; i++) memcpy(c->slot[i].memory, c->slot[i].before, c->slot[i].bytes);
}

/* ---- both interpreters ---- */

/* What profiles count is what is stored. */
static void check_counts(Case *c, const Program *p, const LoopStats *stats) {
    for (int i = 0; i < p->watched.n; i++) {
        const Watched *w = &p->watched.at[i];
        int64_t want = low_stores(stats, w->func, w->stage), got = low_counted(stats, i, COUNT_POINTS);
        if (i < CASE_SLOTS) c->points[i] = got;
        if (p->flat && got != want)
            case_fail(c, "points counted", arena_printf(&c->arena, "%s: %lld, not %lld", w->name, (long long)got, (long long)want));
    }
}

static void run_loops(Case *c, const Program *p, const char *what) {
    mlc_buffer *b[CASE_SLOTS];
    Barrier barrier;
    for (int i = 0; i < c->n_slots; i++) b[i] = &c->slot[i].b;
    if (FAULT_TRY(&c->fault, barrier)) {
        LoopStats stats = { .live = 0 };
        low_interpret_counted(&c->arena, p, b, c->param, c->data, &stats);
        FAULT_END(&c->fault, barrier);
        case_compare(c, what);
        check_counts(c, p, &stats);
    } else {
        case_stop(c, what, &c->fault.info);
    }
    case_restore(c);
}

/* Inputs and params of another context, by name, as they are in this one. */
static void take_values(const Case *c, mlc_ctx *to) {
    for (int i = 0; i < c->ctx->funcs.n; i++) {
        Func *f = alg_find_func(to, c->ctx->funcs.at[i]->name);
        if (f && f->is_input) f->bound = c->ctx->funcs.at[i]->bound;
    }
    for (int i = 0; i < c->ctx->params.n; i++) {
        const Named *n = sm_get(&to->names, c->ctx->params.at[i]->name);
        if (n) pm_put(&to->param_value, n->u.param, pm_get(&c->ctx->param_value, c->ctx->params.at[i]));
    }
}

static void compare_text(Case *c, const char *text) {
    char detail[300];
    mlc_buffer have[CASE_SLOTS], *b[CASE_SLOTS];
    Func *out[4];
    Barrier barrier;
    volatile int n = 0;
    mlc_ctx *other = case_context();
    mlc_ctx_log(other, no_line, NULL);
    mlc_program *p = mlc_program_parse(other, text, "derived");
    if (!p) case_fail(c, "the derived algorithm does not read", mlc_error(other));
    for (int i = 0; p && i < c->n_out; i++) out[i] = mlc_program_output(p, i).f;
    for (int i = 0; i < c->n_slots; i++) {
        if (!c->slot[i].output) continue;
        int64_t min[MAX_RANK], extent[MAX_RANK];
        const mlc_buffer *e = &c->slot[i].expected;
        for (int d = 0; d < e->rank; d++) min[d] = e->dim[d].min, extent[d] = e->dim[d].extent;
        have[n] = dense(e->type, e->rank, min, extent);
        fill(c, c->slot[i].func, &have[n], i);
        b[n] = &have[n];
        n++;
    }
    if (p && n) {
        take_values(c, other);
        if (FAULT_TRY(&other->fault, barrier)) {
            alg_interpret(&other->arena, out, b, n);
            FAULT_END(&other->fault, barrier);
            for (int i = 0, k = 0; i < c->n_slots; i++)
                if (c->slot[i].output && !same(&c->slot[i].expected, b[k++], detail, sizeof detail)) case_fail(c, "derived algorithm", detail);
        } else if (other->fault.info.code != ERR_INTERP_READ) { /* every element of a tuple counts for the oracle */
            case_fail(c, "derived algorithm", mlc_error(other));
        }
    }
    for (int i = 0; i < n; i++) mlc_buffer_free(&have[i]);
    mlc_ctx_free(other);
}

/* The algorithm that the plan derives, printed, reads back and has the expected values. */
static void check_derived(Case *c) {
    Barrier barrier;
    const Schedule *derived = c->program->schedule;
    if (derived->output[0] == c->out[0].f) return;
    if (!FAULT_TRY(&c->fault, barrier)) {
        case_fail(c, "printing", c->fault.info.message);
        return;
    }
    StrBuf text;
    sb_init(&text, &c->arena);
    alg_print_program(&text, c->ctx, derived->output, c->n_out);
    compare_text(c, text.at);
    FAULT_END(&c->fault, barrier);
}

/* A plan that derives an algorithm of class exact: the one that the user wrote says the same. */
static void check_exact(Case *c, int n, mlc_buffer *const *derived) {
    const Schedule *s = c->program->schedule;
    Func *out[4];
    mlc_buffer *own[CASE_SLOTS];
    char detail[300];
    if (s->output[0] == c->out[0].f || s->rewrites) return; /* nothing is derived, or other bits are meant */
    for (int i = 0; i < c->n_out; i++) out[i] = c->out[i].f;
    for (int i = 0; i < n; i++) {
        int64_t min[MAX_RANK], extent[MAX_RANK];
        for (int d = 0; d < derived[i]->rank; d++) min[d] = derived[i]->dim[d].min, extent[d] = derived[i]->dim[d].extent;
        own[i] = arena_alloc(&c->arena, sizeof **own);
        *own[i] = dense(derived[i]->type, derived[i]->rank, min, extent);
    }
    for (int i = 0, k = 0; i < c->n_slots; i++)
        if (c->slot[i].output) fill(c, c->slot[i].func, own[k++], i);
    alg_interpret(&c->arena, out, own, n);
    for (int i = 0; i < n; i++) {
        if (!same(own[i], derived[i], detail, sizeof detail)) case_fail(c, "the derived algorithm is not exact", detail);
        mlc_buffer_free(own[i]);
    }
}

void case_interpret(Case *c) {
    Barrier barrier;
    mlc_buffer *expected[CASE_SLOTS];
    int n = 0;
    if (c->state != CASE_GOOD) return;
    const char *volatile what = "buffers";
    if (FAULT_TRY(&c->fault, barrier)) {
        make_buffers(c);
        for (int i = 0; i < c->n_slots; i++)
            if (c->slot[i].output) expected[n++] = &c->slot[i].expected;
        what = "oracle";
        if (n) alg_interpret(&c->arena, c->program->schedule->output, expected, n);
        if (n) check_exact(c, n, expected);
        FAULT_END(&c->fault, barrier);
    } else if (c->fault.info.code == ERR_UNBOUNDED || c->fault.info.code == ERR_INTERP_READ ||
               c->fault.info.code == ERR_INTERP_UNBOUND || c->fault.info.code == ERR_OUTPUT_BOX) {
        /* Too large for this test; an output that another one reads in a larger box; or the algorithm as it was written
         * reads more than what the plan made of it: every element of a tuple, an input whose values an inlined body drops. */
        c->state = CASE_LATE;
        c->code = c->fault.info.code;
        return;
    } else {
        case_fail(c, what, c->fault.info.message);
        return;
    }
    check_derived(c);
    if (c->shaped) run_loops(c, c->shaped, "loops before flatten");
    if (c->state == CASE_GOOD) run_loops(c, c->program, "loops");
}

void case_close(Case *c) {
    for (int i = 0; i < c->n_slots; i++) {
        free(c->slot[i].memory);
        free(c->slot[i].before);
        mlc_buffer_free(&c->slot[i].expected);
    }
    mlc_ctx_free(c->ctx);
    arena_free(&c->arena);
}

CaseState case_whole(Case *c, const char *text, bool compile) {
    case_open(c, text);
    case_lower(c);
    case_interpret(c);
    if (compile && c->state == CASE_GOOD) case_compile(&c, 1, NULL, NULL);
    if (compile) case_run_public(c);
    return c->state;
}
