/* fork.c - tasks and their turns as C.
 *
 * A fork is a function of two branches that the hook fork_join calls in two threads, and an array of counters
 * on the stack of the caller: turns that the task has ended, then those of each reader, each in a cache line
 * of its own.  Only its owner raises a counter; a turn waits for others to reach a number.  A branch that fails
 * closes all counters of the fork: they become larger than any number waited for, and whoever waits on one
 * leaves too, with the error that the call holds by then. */
#include "cg.h"

#include <string.h>

enum { APART = 8 }; /* counters to a cache line */

static const char helpers[] =
    "#define CLOSED (1l << 62)\n"
    "static __attribute__((noinline, unused)) int turn_wait(mlc_call *call, const i64 *counter, i64 least) {\n"
    "    if (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < least) call->hooks->wait(call->hooks->user, counter, least);\n"
    "    const int closed = __atomic_load_n(counter, __ATOMIC_ACQUIRE) >= CLOSED;\n"
    "    return closed ? (int)__atomic_load_n(&call->error[0], __ATOMIC_RELAXED) : 0;\n"
    "}\n"
    "static __attribute__((unused)) i64 turns_ended(const i64 *counter) {\n"
    "    return __atomic_load_n(counter, __ATOMIC_RELAXED) & (CLOSED - 1);\n"
    "}\n"
    "static __attribute__((noinline, unused)) void turn_end(mlc_call *call, i64 *counter) {\n"
    "    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);\n"
    "    call->hooks->wake(call->hooks->user, counter);\n"
    "}\n"
    "static __attribute__((noinline, unused)) int turns_close(mlc_call *call, i64 *counter, int n, int status) {\n"
    "    for (int i = 0; status && i < n; i++) {\n"
    "        __atomic_fetch_or(&counter[8 * i], CLOSED, __ATOMIC_SEQ_CST);\n"
    "        call->hooks->wake(call->hooks->user, &counter[8 * i]);\n"
    "    }\n"
    "    return status;\n"
    "}\n\n";

static void need_helpers(Gen *G) {
    if (sm_get(&G->have, "turn_wait")) return;
    sm_put(&G->have, "turn_wait", G);
    sb_puts(&G->helpers, helpers);
}

/* ---- forks ---- */

/* The closing of the counters comes after the branch has left, wherever it did. */
static void write_closer(Gen *G, const char *name, const char *body, const char *turns, int counters) {
    sb_printf(&G->functions, "static int %s(void *closure, i64 i) {\n    const struct %s_closure *c = closure;\n", name, body);
    sb_printf(&G->functions, "    return turns_close(c->call, c->%s, %d, %s(closure, i));\n}\n\n", turns, counters, body);
}

void fork_tasks(Gen *G, const Stmt *s) {
    Channel *c = s->u.fork.channel;
    const char *func = c->func->name, *turns = name_of(G, c, fmt(G, "%s_turns", func));
    Sym *branch = ARENA_NEW(G->arena, Sym);
    *branch = (Sym){ .name = fmt(G, "%s_branch", func), .kind = SYM_LOOP, .type = MLC_INDEX };
    const char *body = fresh(G, fmt(G, "%s_fork", func)), *closer = fresh(G, fmt(G, "%s_closing", func));
    need_helpers(G);
    pm_put(&G->channel, c, c);
    comment_line(G, s->line);
    open_brace(G, "%s", "");
    line(G, "i64 %s[%d] __attribute__((aligned(64))) = { 0 };", turns, APART * (1 + c->readers));
    bind(G, c, turns);
    Fn *f = begin_body(G);
    in_scope(G, c);
    open_brace(G, "if (%s == 0)", name_of(G, branch, branch->name));
    stmt(G, s->u.fork.task);
    close_brace(G);
    open_brace(G, "else");
    stmt(G, s->u.fork.rest);
    close_brace(G);
    end_body(G, f, body, branch);
    write_closer(G, closer, body, turns, 1 + c->readers);
    fill_closure(G, f, body, "0");
    watch_pause(G, true);
    line(G, "int failed = hooks->fork_join(hooks->user, %s, &c, 2);", closer);
    watch_pause(G, false);
    const char *none[4] = { "0", "0", "0", "0" };
    int number = add_check(G, ERR_ASYNC_NO_THREAD, func, NULL);
    line(G, "if (failed < 0) failed = %s;", fail_text(G, ERR_ASYNC_NO_THREAD, number, none));
    open_brace(G, "if (failed)");
    fail_line(G, "failed");
    close_brace(G);
    unbind(G, c);
    close_brace(G);
}

/* ---- turns ---- */

static void wait_for(Gen *G, const char *turns, int counter, const char *least) {
    open_brace(G, "%s", "");
    watch_pause(G, true);
    line(G, "const int failed = turn_wait(call, &%s[%d], %s);", turns, APART * counter, least);
    watch_pause(G, false);
    open_brace(G, "if (failed)");
    fail_line(G, "failed");
    close_brace(G);
    close_brace(G);
}

/* A reader's next turn needs the task's turn of the same number; the task's, that readers are not too far behind. */
void take_turn(Gen *G, const Stmt *s) {
    Channel *c = s->u.turn.channel;
    const char *turns = in_scope(G, c);
    int own = s->u.turn.reader + 1;
    if (own) wait_for(G, turns, 0, fmt(G, "turns_ended(&%s[%d]) + 1", turns, APART * own));
    if (s->u.turn.ahead) {
        Env v;
        env_init(G, &v, NULL);
        open_brace(G, "%s", "");
        const char *least = fresh(G, fmt(G, "%s_least", c->func->name));
        line(G, "const i64 %s = turns_ended(%s) + 1 - (%s);", least, turns, value(G, &v, legal(G, s->u.turn.ahead)));
        for (int i = 1; i <= c->readers; i++) wait_for(G, turns, i, least);
        close_brace(G);
    }
    if (c->part) {
        const char *part = name_of(G, c->part, c->part->name);
        open_brace(G, "%s", "");
        line(G, "const i64 %s = turns_ended(&%s[%d]) %% %lld;", part, turns, APART * own, (long long)c->parts);
        bind(G, c->part, part);
    }
    stmt(G, s->u.turn.body);
    if (c->part) {
        unbind(G, c->part);
        close_brace(G);
    }
    line(G, "turn_end(call, &%s[%d]);", turns, APART * own);
}
