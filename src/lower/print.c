/* print.c - loop text: what lowering did, one statement a line, each loop with the line of the plan
 * that made it.
 *
 *     let bx.y.min = by.y.min
 *     for by.yo in [0, (by.y.extent + 7) / 8) parallel  // blur.c:15 parallel(yo)
 *       alloc bx[by.x.min +: 34][...] f32 stack at by.yo, 1088 bytes
 *       produce bx
 *
 * Lets and allocations do not indent what they enclose: their scope is the rest of the block, and a chain
 * of hundreds of them stays readable. */
#include "lower/loops.h"

#include <string.h>

static void indent(StrBuf *out, int depth) {
    for (int i = 0; i < depth; i++) sb_puts(out, "  ");
}

void st_print_line(StrBuf *out, const PlanLine *line) {
    if (!line) return;
    sb_puts(out, "  // ");
    if (line->d.loc.file) {
        const char *slash = strrchr(line->d.loc.file, '/');
        sb_printf(out, "%s:%d ", slash ? slash + 1 : line->d.loc.file, line->d.loc.line);
    }
    sch_print_directive(out, &line->d);
}

static void print_coords(StrBuf *out, int n, const Node *const *coord) {
    sb_puts(out, "(");
    for (int d = 0; d < n; d++) {
        if (d) sb_puts(out, ", ");
        ir_print(out, coord[d]);
    }
    sb_puts(out, ")");
}

static void print_stage(StrBuf *out, const Func *f, int stage) {
    sb_puts(out, f->name);
    if (stage > 0) sb_printf(out, ".u%d", stage - 1);
}

static void print_for(StrBuf *out, const Stmt *s) {
    static const char *const kind[] = { "", " parallel", " vector", " unroll", " gpu_block", " gpu_thread", " tensor" };
    sb_printf(out, "for %s in [", s->u.loop.var->name);
    ir_print(out, s->u.loop.min);
    sb_puts(out, " +: ");
    ir_print(out, s->u.loop.extent);
    sb_printf(out, ")%s", kind[s->u.loop.kind]);
    st_print_line(out, s->line);
}

static void print_alloc(StrBuf *out, const Storage *t) {
    static const char *const memory[] = { "heap", "stack", "register", "shared", "fragment" };
    sb_printf(out, "alloc %s", t->name);
    for (int d = 0; d < t->rank; d++) {
        sb_puts(out, "[");
        if (t->min[d]) ir_print(out, t->min[d]);
        sb_puts(out, " +: ");
        if (t->extent[d]) ir_print(out, t->extent[d]);
        if (t->fold[d]) sb_printf(out, " fold %lld", (long long)t->fold[d]);
        if (t->align[d] > 1) sb_printf(out, " align %lld", (long long)t->align[d]);
        sb_puts(out, "]");
    }
    for (int i = 0; i < t->n; i++) sb_printf(out, " %s", mlc_type_name(t->type[i]));
    sb_printf(out, " %s", memory[t->memory]);
    if (t->note) sb_printf(out, " %s", t->note);
    st_print_line(out, t->line);
}

static void print_store(StrBuf *out, const Stmt *s) {
    if (s->u.store.old[0]) sb_puts(out, "atomic ");
    sb_puts(out, s->u.store.storage ? s->u.store.storage->name : s->u.store.func->name);
    print_coords(out, s->u.store.rank, s->u.store.coord);
    sb_puts(out, " = ");
    for (int i = 0; i < s->u.store.n; i++) {
        sb_puts(out, i ? ", " : s->u.store.n > 1 ? "{" : "");
        ir_print(out, s->u.store.value[i]);
    }
    if (s->u.store.n > 1) sb_puts(out, "}");
    if (s->u.store.async) sb_puts(out, " by cp_async");
    if (s->u.store.stream) st_print_line(out, s->u.store.stream->stores);
    if (s->u.store.stream) st_print_line(out, s->u.store.stream->loads);
}

static void print_check(StrBuf *out, const Stmt *s) {
    sb_puts(out, "check ");
    ir_print(out, s->u.check.cond);
    sb_printf(out, " else %s", err_name(s->u.check.code));
    for (int i = 0; i < 2; i++)
        if (s->u.check.text[i]) sb_printf(out, " \"%s\"", s->u.check.text[i]);
    for (int i = 0; i < s->u.check.n; i++) {
        sb_puts(out, i ? ", " : " ");
        ir_print(out, s->u.check.arg[i]);
    }
}

/* call blur f[0 +: 8][0 +: 4] of g[-1 +: 10][0 +: 4], gain */
static void print_call(StrBuf *out, const Stmt *s) {
    Whole w = alg_whole(s->u.call.func);
    const Node *const *e = s->u.call.e;
    StrBuf box;
    sb_init(&box, out->arena);
    sb_printf(out, "call %s", w.ext->name);
    for (int i = 0; i <= w.n_in; i++) {
        const Func *f = i < w.n_in ? w.in[i] : s->u.call.func;
        StrBuf *to = i < w.n_in ? &box : out;
        sb_printf(to, "%s%s", i && i < w.n_in ? ", " : " ", f->name);
        for (int d = 0; d < f->rank; d++, e += 2) {
            sb_puts(to, "[");
            ir_print(to, e[0]);
            sb_puts(to, " +: ");
            ir_print(to, e[1]);
            sb_puts(to, "]");
        }
    }
    sb_printf(out, " of%s", w.n_in ? box.at : "");
    for (int i = 0; i < w.n_scalars; i++) {
        sb_puts(out, i || w.n_in ? ", " : " ");
        ir_print(out, e[i]);
    }
}

static void print_stmt(StrBuf *out, const Stmt *s, int depth);

static void print_body(StrBuf *out, const Stmt *s, int depth) {
    if (s) print_stmt(out, s, depth);
}

static void print_if(StrBuf *out, const Stmt *s, int depth) {
    static const char *const masks[] = { "", "masked ", "loads masked ", "stores masked " };
    sb_puts(out, s->u.cond.likely ? "if likely " : "if ");
    sb_puts(out, masks[s->u.cond.mask]);
    ir_print(out, s->u.cond.cond);
    st_print_line(out, s->line);
    sb_puts(out, "\n");
    print_body(out, s->u.cond.yes, depth + 1);
    if (!s->u.cond.no) return;
    indent(out, depth);
    sb_puts(out, "else\n");
    print_body(out, s->u.cond.no, depth + 1);
}

/* The task gives turns, readers take them. */
static void print_turn(StrBuf *out, const Stmt *s) {
    sb_printf(out, "%s %s", s->u.turn.reader < 0 ? "give" : "take", s->u.turn.channel->func->name);
    if (s->u.turn.reader > 0) sb_printf(out, " as reader %d", s->u.turn.reader);
    if (s->u.turn.channel->readers && s->u.turn.channel->part) sb_printf(out, " in %s", s->u.turn.channel->part->name);
    if (!s->u.turn.ahead) return;
    sb_puts(out, " ahead by less than ");
    ir_print(out, s->u.turn.ahead);
}

static void print_fork(StrBuf *out, const Stmt *s, int depth) {
    sb_printf(out, "fork %s", s->u.fork.channel->func->name);
    st_print_line(out, s->line);
    sb_puts(out, "\n");
    print_body(out, s->u.fork.task, depth + 1);
    indent(out, depth);
    sb_puts(out, "and\n");
    print_body(out, s->u.fork.rest, depth + 1);
}

static void print_count(StrBuf *out, const Stmt *s) {
    static const char *const what[] = { "runs", "points", "needed points" };
    sb_printf(out, "count %s of stage %d: ", what[s->u.count.what], s->u.count.at);
    ir_print(out, s->u.count.amount);
}

/* kernel by in blocks [(by.x.extent + 15)/16, by.y.extent] of threads [16, 8]: dimension 0 first, what is 1 behind the
 * last other one left out. */
static void print_kernel(StrBuf *out, const Stmt *s) {
    const Kernel *k = s->u.kernel.kernel;
    int blocks = GPU_DIMS, threads = GPU_DIMS;
    while (blocks > 1 && ir_is(k->grid[blocks - 1], 1)) blocks--;
    while (threads > 1 && k->threads[threads - 1] == 1) threads--;
    sb_printf(out, "kernel %s in blocks [", k->name);
    for (int d = 0; d < blocks; d++) {
        if (d) sb_puts(out, ", ");
        ir_print(out, k->grid[d]);
    }
    sb_puts(out, "] of threads [");
    for (int d = 0; d < threads; d++) sb_printf(out, "%s%lld", d ? ", " : "", (long long)k->threads[d]);
    sb_puts(out, "]");
    st_print_line(out, s->line);
}

void st_print_move(StrBuf *out, const Stmt *s) {
    sb_printf(out, "move %s to %s", s->u.move.storage->name, s->u.move.device ? "device" : "host");
    if (s->u.move.writes) sb_puts(out, s->u.move.all ? " for writing all" : " for writing");
}

static void print_list(StrBuf *out, const char *open, int n, const Node *const *e) {
    for (int i = 0; i < n; i++) {
        sb_puts(out, i ? ", " : open);
        ir_print(out, e[i]);
    }
    sb_puts(out, "}");
}

/* mma mma_m16n8k8_bf16 {d.0, d.1, d.2, d.3} = {..} + {..} * {..} */
static void print_mma(StrBuf *out, const Stmt *s) {
    const TensorRow *row = s->u.mma.row;
    sb_printf(out, "mma %s {", row->name);
    for (int i = 0; i < tensor_elements(row, TENSOR_C); i++) sb_printf(out, "%s%s", i ? ", " : "", s->u.mma.d[i]->name);
    print_list(out, "} = {", tensor_elements(row, TENSOR_C), s->u.mma.c);
    print_list(out, " + {", tensor_elements(row, TENSOR_A), s->u.mma.a);
    print_list(out, " * {", tensor_elements(row, TENSOR_B), s->u.mma.b);
    st_print_line(out, s->line);
}

static void print_stmt(StrBuf *out, const Stmt *s, int depth) {
    if (s->kind == ST_BLOCK) {
        for (int i = 0; i < s->u.block.n; i++) print_body(out, s->u.block.at[i], depth);
        return;
    }
    const Stmt *body = NULL;
    int deeper = 0;
    indent(out, depth);
    switch (s->kind) {
    case ST_FOR:
        print_for(out, s);
        body = s->u.loop.body;
        deeper = 1;
        break;
    case ST_LET:
        sb_printf(out, "let %s = ", s->u.let.var->name);
        ir_print(out, s->u.let.value);
        body = s->u.let.body;
        break;
    case ST_ALLOC:
        print_alloc(out, s->u.alloc.storage);
        body = s->u.alloc.body;
        break;
    case ST_PRODUCE:
        sb_puts(out, s->u.produce.is_consume ? "consume " : "produce ");
        print_stage(out, s->u.produce.func, s->u.produce.stage);
        if (s->u.produce.keep) sb_puts(out, ", kept");
        if (s->u.produce.note) sb_printf(out, "  // %s", s->u.produce.note);
        body = s->u.produce.body;
        deeper = 1;
        break;
    case ST_TURN:
        print_turn(out, s);
        body = s->u.turn.body;
        deeper = 1;
        break;
    case ST_FORK: print_fork(out, s, depth); return;
    case ST_IF: print_if(out, s, depth); return;
    case ST_STORE: print_store(out, s); break;
    case ST_CHECK: print_check(out, s); break;
    case ST_EVAL:
        sb_puts(out, "eval ");
        ir_print(out, s->u.eval.value);
        break;
    case ST_CALL: print_call(out, s); break;
    case ST_PREFETCH:
        sb_puts(out, "prefetch ");
        ir_print(out, s->u.prefetch.read);
        st_print_line(out, s->line);
        break;
    case ST_COUNT: print_count(out, s); break;
    case ST_KERNEL:
        print_kernel(out, s);
        body = s->u.kernel.body;
        deeper = 1;
        break;
    case ST_BARRIER: sb_puts(out, "barrier"); break;
    case ST_COPIES:
        if (s->u.copies.pending < 0) sb_puts(out, "end copies");
        else if (s->u.copies.pending) sb_printf(out, "wait for copies but %d", s->u.copies.pending);
        else sb_puts(out, "wait for copies");
        break;
    case ST_MOVE: st_print_move(out, s); break;
    case ST_MMA:
        print_mma(out, s);
        body = s->u.mma.body;
        break;
    case ST_BLOCK: break;
    }
    sb_puts(out, "\n");
    if (body) print_stmt(out, body, depth + deeper);
}

void st_print(StrBuf *out, const Stmt *s) {
    if (s) print_stmt(out, s, 0);
}
