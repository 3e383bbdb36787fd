/* print_nest.c - the shape of a program: loops, memory and what is computed where, without any expression.
 *
 *     produce by
 *       for by.y parallel  // blur.mlc:9 parallel(y)
 *         store bx  // blur.mlc:10 compute_at(by, y)
 *         produce bx
 *           for bx.x
 *             bx(...) = ...
 */
#include "lower/loops.h"

typedef struct {
    StrBuf *out;
    int depth;
} Nest;

static void nest(Nest n, const Stmt *s);

static void begin(const Nest *n, const char *what, const char *name) {
    for (int i = 0; i < n->depth; i++) sb_puts(n->out, "  ");
    sb_puts(n->out, what);
    sb_puts(n->out, name);
}

static void end(const Nest *n, const PlanLine *line) {
    st_print_line(n->out, line);
    sb_puts(n->out, "\n");
}

static void nest_for(const Nest *n, const Stmt *s) {
    static const char *const kind[] = { "", " parallel", " vector", " unroll", " gpu_block", " gpu_thread", " tensor" };
    int64_t min, extent;
    begin(n, "for ", s->u.loop.var->name);
    if (ir_is_int(s->u.loop.min, &min) && ir_is_int(s->u.loop.extent, &extent))
        sb_printf(n->out, " in [%lld, %lld]", (long long)min, (long long)(min + extent - 1));
    sb_puts(n->out, kind[s->u.loop.kind]);
    end(n, s->line);
    nest((Nest){ n->out, n->depth + 1 }, s->u.loop.body);
}

static void nest_produce(const Nest *n, const Stmt *s) {
    begin(n, s->u.produce.is_consume ? "consume " : "produce ", s->u.produce.func->name);
    if (s->u.produce.stage) sb_printf(n->out, ".u%d", s->u.produce.stage - 1);
    if (s->u.produce.note) sb_printf(n->out, "  // %s", s->u.produce.note);
    sb_puts(n->out, "\n");
    nest((Nest){ n->out, n->depth + 1 }, s->u.produce.body);
}

/* The conditions of specializations are the plan's; others are lowering's, and stand in the loops. */
static void nest_if(const Nest *n, const Stmt *s) {
    Nest in = { n->out, n->depth + (s->line != NULL) };
    if (s->line) {
        begin(n, "if ", "");
        ir_print(n->out, s->u.cond.cond);
        end(n, s->line);
    }
    nest(in, s->u.cond.yes);
    if (!s->u.cond.no) return;
    if (s->line) begin(n, "else", "\n");
    nest(in, s->u.cond.no);
}

static void nest_fork(const Nest *n, const Stmt *s) {
    Nest in = { n->out, n->depth + 1 };
    begin(n, "fork ", s->u.fork.channel->func->name);
    end(n, s->line);
    nest(in, s->u.fork.task);
    begin(n, "and", "\n");
    nest(in, s->u.fork.rest);
}

static void nest_kernel(const Nest *n, const Stmt *s) {
    begin(n, "kernel ", s->u.kernel.kernel->name);
    end(n, s->line);
    nest((Nest){ n->out, n->depth + 1 }, s->u.kernel.body);
}

static void nest(Nest n, const Stmt *s) {
    if (!s) return;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) nest(n, s->u.block.at[i]);
        return;
    case ST_FOR: nest_for(&n, s); return;
    case ST_LET: nest(n, s->u.let.body); return;
    case ST_IF: nest_if(&n, s); return;
    case ST_PRODUCE: nest_produce(&n, s); return;
    case ST_FORK: nest_fork(&n, s); return;
    case ST_TURN: nest(n, s->u.turn.body); return;
    case ST_ALLOC:
        begin(&n, "store ", s->u.alloc.storage->name);
        end(&n, s->line);
        nest(n, s->u.alloc.body);
        return;
    case ST_STORE: begin(&n, s->u.store.func->name, s->u.store.rank ? "(...) = ...\n" : "() = ...\n"); return;
    case ST_CALL: begin(&n, s->u.call.func->name, " by "); sb_printf(n.out, "%s\n", alg_whole(s->u.call.func).ext->name); return;
    case ST_PREFETCH:
        begin(&n, "prefetch", "");
        end(&n, s->line);
        return;
    case ST_KERNEL: nest_kernel(&n, s); return;
    case ST_BARRIER: begin(&n, "barrier", "\n"); return;
    case ST_COPIES: begin(&n, s->u.copies.pending < 0 ? "end copies" : "wait for copies", "\n"); return;
    case ST_MOVE:
        begin(&n, "", "");
        st_print_move(n.out, s);
        sb_puts(n.out, "\n");
        return;
    case ST_MMA:
        begin(&n, "mma ", s->u.mma.row->name);
        sb_puts(n.out, "\n");
        nest(n, s->u.mma.body);
        return;
    case ST_CHECK: case ST_EVAL: case ST_COUNT: return;
    }
}

void st_print_nest(StrBuf *out, const Stmt *s) {
    nest((Nest){ out, 0 }, s);
}
