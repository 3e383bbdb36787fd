/* watch.c - what profiled and traced code counts and times.
 *
 * Each function keeps the counters of the stages that it runs in an array of its own and hands them over when it
 * returns, so counting costs additions to memory that no other thread sees.  Time belongs to one stage at each place
 * of the text: where a production begins and ends, what passed since the last such place goes to the stage before.
 *
 *     spend(&seen[0], &since);    what passed was f's
 *     ... g ...
 *     spend(&seen[3], &since);    this was g's
 *
 * A production of a few points, as many as the text says, costs less than looking at the clock: its time is its
 * consumer's.  So is that of all other copies of it, as in the borders that partition cuts off: a part of a stage's time
 * would pass for the whole.  Without a watched stage none of this is written. */
#include "cg.h"

#include <string.h>

enum { TICKS, RUNS, POINTS, NEEDED, TASKS, COUNTERS, FEW = 64 };

static const char helpers[] =
    "#ifdef __x86_64__\n"
    "#define ticks() ((i64)__builtin_ia32_rdtsc())\n"
    "#else\n"
    "#define ticks() 0l\n"
    "#endif\n"
    "static inline __attribute__((unused)) void spend(i64 *ticks_spent, i64 *since) {\n"
    "    const i64 now = ticks();\n"
    "    *ticks_spent += now - *since;\n"
    "    *since = now;\n"
    "}\n\n";

static bool watches(const Gen *G) {
    return G->p->watched.n && !G->o->emit;
}

/* The counter of a stage (the last one is of what is outside of all stages) in this function. */
static const char *counter(Gen *G, int stage, int what) {
    int number = stage * COUNTERS + what, i = 0;
    Fn *f = G->fn;
    while (i < f->seen.n && f->seen.at[i] != number) i++;
    if (i == f->seen.n) VEC_PUSH(G->arena, &f->seen, number);
    return fmt(G, "seen[%d]", i);
}

static void spend(Gen *G) {
    line(G, "spend(&%s, &since);", counter(G, G->fn->stage, TICKS));
}

/* ---- spans ---- */

/* Of this kind: what it is called, and the loop around. */
static int span_kind(Gen *G, const char *name, const char *what, const char *loop) {
    for (int i = 0; i < G->spans.n; i += 3)
        if (!strcmp(G->spans.at[i], name) && !strcmp(G->spans.at[i + 1], what) && !strcmp(G->spans.at[i + 2], loop)) return i / 3;
    VEC_PUSH(G->arena, &G->spans, name);
    VEC_PUSH(G->arena, &G->spans, what);
    VEC_PUSH(G->arena, &G->spans, loop);
    return G->spans.n / 3 - 1;
}

static void end_span(Gen *G, const char *begun, const char *name, const char *what) {
    const Sym *loop = G->loop ? G->loop->u.loop.var : NULL;
    int kind = span_kind(G, name, what, loop ? loop->name : "");
    line(G, "call->watch->span(call->watch->user, %d, %s, since, %s);", kind, begun, loop ? in_scope(G, loop) : "0");
}

void watch_task(Gen *G, const Stmt *loop) {
    int stage = G->fn->stage;
    if (!watches(G) || stage >= G->p->watched.n) return;
    line(G, "%s += 1;", counter(G, stage, TASKS));
    if (!G->p->watched.at[stage].traced) return;
    spend(G);
    end_span(G, "begun", loop->u.loop.var->name, "task");
}

/* ---- productions ---- */

static int64_t at_most(int64_t n) {
    return n < FEW ? n : FEW;
}

/* Points that a statement stores, FEW where they are as many or not known. */
static int64_t points(const Stmt *s) {
    int64_t n = 0;
    if (!s) return 0;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) n = at_most(n + points(s->u.block.at[i]));
        return n;
    case ST_STORE: return 1;
    case ST_FOR: return ir_is_int(s->u.loop.extent, &n) && n < FEW ? at_most(n * points(s->u.loop.body)) : FEW;
    case ST_LET: return points(s->u.let.body);
    case ST_IF: return at_most(points(s->u.cond.yes) + points(s->u.cond.no));
    case ST_ALLOC: return points(s->u.alloc.body);
    case ST_PRODUCE: return points(s->u.produce.body);
    case ST_CHECK: case ST_EVAL: case ST_PREFETCH: case ST_COUNT: return 0;
    default: return FEW;
    }
}

static int row_of(const Gen *G, const Func *f, int stage) {
    for (int i = 0; i < G->p->watched.n; i++)
        if (G->p->watched.at[i].func == f && G->p->watched.at[i].stage == stage) return i;
    return -1;
}

static Stmt *find_few(StmtMap *m, Stmt *s) {
    Gen *G = m->user;
    int row = s->kind == ST_PRODUCE && !s->u.produce.is_consume ? row_of(G, s->u.produce.func, s->u.produce.stage) : -1;
    if (row >= 0) G->few[row] |= points(s->u.produce.body) < FEW;
    return st_map_kids(m, s);
}

void watch_begin(Gen *G) {
    if (!watches(G)) return;
    sb_puts(&G->helpers, helpers);
    G->few = ARENA_ARRAY(G->arena, bool, G->p->watched.n);
    StmtMap m = { .arena = G->arena, .ir = G->ir, .stmt = find_few, .user = G };
    st_map(&m, G->p->body);
}

void watch_produce(Gen *G, const Stmt *s) {
    int row = watches(G) && !s->u.produce.is_consume ? row_of(G, s->u.produce.func, s->u.produce.stage) : -1;
    const Watched *w = row >= 0 ? &G->p->watched.at[row] : NULL;
    if (!w || (!w->asked && G->few[row])) {
        stmt(G, s->u.produce.body);
        return;
    }
    int outer = G->fn->stage;
    spend(G);
    G->fn->stage = row;
    open_brace(G, "%s", "");
    const char *begun = fresh(G, "begun");
    if (w->traced) line(G, "const i64 %s = since;", begun);
    stmt(G, s->u.produce.body);
    spend(G);
    if (w->traced) end_span(G, begun, w->name, "produce");
    close_brace(G);
    G->fn->stage = outer;
}

/* ---- counts ---- */

static const int what_of[COUNT_KINDS] = { [COUNT_RUNS] = RUNS, [COUNT_POINTS] = POINTS, [COUNT_NEEDED] = NEEDED };

void watch_count(Gen *G, const Stmt *s) {
    if (!watches(G)) return;
    Env v;
    env_init(G, &v, NULL);
    const char *amount = value(G, &v, legal(G, s->u.count.amount));
    line(G, "%s += %s;", counter(G, s->u.count.at, what_of[s->u.count.what]), amount);
}

void watch_lanes(Gen *G, const Stmt *s) {
    Vec *v = G->vec;
    Interner *I = G->ir;
    const Node *amount = s->u.count.amount;
    if (!v->mask && !lanes_of(G, amount).varies) {
        Stmt all = *s;
        all.u.count.amount = ir_mul(I, amount, ir_idx(I, v->lanes));
        watch_count(G, &all);
        return;
    }
    Sym *i = ARENA_NEW(G->arena, Sym);
    *i = (Sym){ .name = "lane", .kind = SYM_LOOP, .type = MLC_INDEX };
    const char *name = name_of(G, i, "lane");
    open_brace(G, "for (i64 %s = 0; %s < %lld; %s++)", name, name, (long long)v->lanes, name);
    bind(G, i, name);
    Env e;
    env_init(G, &e, NULL);
    if (v->mask) open_brace(G, "if (%s)", value(G, &e, at_lane(G, v->mask, ir_var(I, i))));
    Stmt one = *s;
    one.u.count.amount = at_lane(G, ir_substitute(I, amount, &v->subst), ir_var(I, i));
    watch_count(G, &one);
    if (v->mask) close_brace(G);
    unbind(G, i);
    close_brace(G);
}

void watch_scalar(Gen *G, const char *why) {
    if (!watches(G) || G->fn->stage >= G->p->watched.n) return;
    if (!G->scalar) G->scalar = ARENA_ARRAY(G->arena, const char *, G->p->watched.n);
    if (!G->scalar[G->fn->stage]) G->scalar[G->fn->stage] = why;
}

void watch_memory(Gen *G, const Storage *t, const char *bytes, const char *sign) {
    int row = watches(G) && t->func ? row_of(G, t->func, 0) : -1;
    if (row >= 0) line(G, "call->watch->memory(call->watch->user, %d, %s%s);", row, sign, bytes);
}

/* ---- functions ---- */

/* What others do while this thread waits, and what it does for them, is counted there. */
void watch_pause(Gen *G, bool begins) {
    if (!watches(G)) return;
    if (begins) spend(G);
    else line(G, "since = ticks();");
}

void watch_open(Gen *G, const Fn *f, StrBuf *out) {
    if (!watches(G)) return;
    sb_printf(out, "    i64 seen[%d] = { 0 }, since = ticks();\n", f->seen.n + 1);
    if (f->up) sb_puts(out, "    const i64 begun = since;\n    (void)begun;\n");
}

void watch_close(Gen *G, Fn *f, StrBuf *out) {
    if (!watches(G)) return;
    Fn *inner = G->fn;
    G->fn = f;
    const char *last = counter(G, f->stage, TICKS);
    G->fn = inner;
    sb_printf(out, "    spend(&%s, &since);\n    {\n        static const int counters[] = { ", last);
    for (int i = 0; i < f->seen.n; i++) sb_printf(out, "%s%d", i ? ", " : "", f->seen.at[i]);
    sb_printf(out, " };\n        call->watch->tally(call->watch->user, %d, counters, seen);\n    }\n", f->seen.n);
}

/* ---- tables ---- */

void watch_tables(Gen *G, StrBuf *out) {
    const char *symbol = G->o->symbol;
    if (!watches(G)) return;
    sb_printf(out, "\n/* The stages that are watched. */\nconst mlc_watched %s_watch[] = {\n", symbol);
    for (int i = 0; i < G->p->watched.n; i++) {
        const Watched *w = &G->p->watched.at[i];
        sb_printf(out, "    { \"%s\", \"%s\", \"%s\", \"%s\", %lld, %d, %d, %d, %d, %d },\n", quoted(G, w->name), quoted(G, w->place),
                  quoted(G, w->again), quoted(G, G->scalar ? G->scalar[i] : NULL), (long long)w->stack, w->profiled, w->traced, w->vector, w->parallel, w->slides);
    }
    sb_printf(out, "    { 0 }\n};\n/* What spans are called, what they are, and the loop around. */\nconst char *const %s_spans[] = {\n", symbol);
    for (int i = 0; i < G->spans.n; i++) sb_printf(out, "    \"%s\",\n", quoted(G, G->spans.at[i]));
    sb_puts(out, "    0\n};\n");
}
