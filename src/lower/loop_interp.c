/* loop_interp.c - the statements of the loop interpreter.
 *
 * Everything runs for a set of lanes: one outside of vector loops; a vector loop makes a lane of each
 * iteration, with variables and allocations of its own, and then every statement below runs for all
 * of them before the next one starts.  An if splits the set, a serial loop inside runs in lockstep
 * while any lane has iterations left. */
#include "loop_interp_run.h"

#include <string.h>

/* ---- lanes ---- */

Lane *run_take_lane(Run *r, const Lane *from) {
    Lane *l = r->free_lanes;
    if (l) {
        r->free_lanes = l->next;
    } else {
        l = ARENA_NEW(r->arena, Lane);
        l->var = ARENA_ARRAY(r->arena, Value, r->n_vars);
        l->state = ARENA_ARRAY(r->arena, uint8_t, r->n_vars);
        l->memory = ARENA_ARRAY(r->arena, Memory *, r->n_memories);
    }
    if (from && r->n_vars) {
        memcpy(l->var, from->var, sizeof *l->var * (size_t)r->n_vars);
        memcpy(l->state, from->state, (size_t)r->n_vars);
    }
    if (from && r->n_memories) memcpy(l->memory, from->memory, sizeof *l->memory * (size_t)r->n_memories);
    return l;
}

void run_give_lane(Run *r, Lane *l) {
    l->next = r->free_lanes;
    r->free_lanes = l;
}

static Lanes *take_set(Run *r) {
    Lanes *set = r->free_sets;
    if (set) r->free_sets = set->next;
    else set = ARENA_NEW(r->arena, Lanes);
    set->n = 0;
    return set;
}

static void give_set(Run *r, Lanes *set) {
    set->next = r->free_sets;
    r->free_sets = set;
}

static void exec(Run *r, const Stmt *s, const Lanes *L);

/* ---- loops ---- */

static int64_t loop_extent(Run *r, const Lane *l, const Stmt *s, int64_t *min) {
    *min = run_index(r, l, s->u.loop.min, "the start of a loop");
    return run_index(r, l, s->u.loop.extent, "the extent of a loop");
}

static void exec_vector(Run *r, const Stmt *s, const Lanes *L) {
    int var = run_number(r, s->u.loop.var);
    Lanes *set = take_set(r);
    for (int i = 0; i < L->n; i++) {
        int64_t min, n = loop_extent(r, L->at[i], s, &min);
        for (int64_t k = 0; k < n; k++) {
            Lane *l = run_take_lane(r, L->at[i]);
            l->var[var].i = min + k;
            l->state[var] = DEFINED;
            VEC_PUSH(r->arena, set, l);
        }
    }
    if (set->n) exec(r, s->u.loop.body, set);
    for (int i = 0; i < set->n; i++) run_give_lane(r, set->at[i]);
    give_set(r, set);
}

struct RunOrder run_order(Run *r, int64_t n) {
    struct RunOrder o = { n, 1, 0 };
    if (n <= 1) return o;
    uint64_t a = run_random(&r->seed), b;
    o.at = (int64_t)(run_random(&r->seed) % (uint64_t)n);
    for (;; a++) {
        uint64_t x = a % (uint64_t)n;
        o.step = (int64_t)x;
        for (b = (uint64_t)n; x; ) {
            uint64_t rest = b % x;
            b = x;
            x = rest;
        }
        if (b == 1) return o;
    }
}

void run_next(struct RunOrder *o) {
    if (o->n > 0) o->at = (int64_t)(((uint64_t)o->at + (uint64_t)o->step) % (uint64_t)o->n);
}

static void exec_parallel(Run *r, const Stmt *s, const Lanes *L) {
    int var = run_number(r, s->u.loop.var);
    int64_t min, n = loop_extent(r, L->at[0], s, &min);
    struct RunOrder o = run_order(r, n);
    for (int64_t k = 0; k < n; k++) {
        L->at[0]->var[var].i = min + o.at;
        L->at[0]->state[var] = DEFINED;
        exec(r, s->u.loop.body, L);
        run_next(&o);
    }
}

static void exec_plain(Run *r, const Stmt *s, const Lanes *L) {
    int var = run_number(r, s->u.loop.var);
    int64_t min, n = loop_extent(r, L->at[0], s, &min);
    for (int64_t k = 0; k < n; k++) {
        L->at[0]->var[var].i = min + k;
        L->at[0]->state[var] = DEFINED;
        exec(r, s->u.loop.body, L);
    }
}

/* Lanes in lockstep; those whose loop is shorter drop out. */
static void exec_lockstep(Run *r, const Stmt *s, const Lanes *L) {
    int var = run_number(r, s->u.loop.var);
    Lanes *set = take_set(r);
    for (int64_t k = 0;; k++) {
        set->n = 0;
        for (int i = 0; i < L->n; i++) {
            /* Bounds belong to the loop's start; the body cannot change what they stand on. */
            int64_t min, n = loop_extent(r, L->at[i], s, &min);
            if (k >= n) continue;
            L->at[i]->var[var].i = min + k;
            L->at[i]->state[var] = DEFINED;
            VEC_PUSH(r->arena, set, L->at[i]);
        }
        if (!set->n) break;
        exec(r, s->u.loop.body, set);
    }
    give_set(r, set);
}

static void exec_loop(Run *r, const Stmt *s, const Lanes *L) {
    if (s->u.loop.kind == LOOP_VECTOR) exec_vector(r, s, L);
    else if (L->n > 1) exec_lockstep(r, s, L);
    else if (sch_spreads(s->u.loop.kind)) exec_parallel(r, s, L);
    else exec_plain(r, s, L);
}

/* ---- scopes ---- */

void run_let(Run *r, const Stmt *s, Lane *l) {
    int var = run_number(r, s->u.let.var);
    State state;
    l->var[var] = run_eval(r, l, s->u.let.value, &state);
    l->state[var] = (uint8_t)state;
}

static void exec_let(Run *r, const Stmt *s, const Lanes *L) {
    for (int i = 0; i < L->n; i++) run_let(r, s, L->at[i]);
    exec(r, s->u.let.body, L);
}

static void exec_if(Run *r, const Stmt *s, const Lanes *L) {
    Lanes *yes = take_set(r), *no = take_set(r);
    for (int i = 0; i < L->n; i++) {
        State state; /* a condition on garbage may go either way: what it guards is garbage too */
        bool holds = run_eval(r, L->at[i], s->u.cond.cond, &state).i != 0;
        if (holds) VEC_PUSH(r->arena, yes, L->at[i]);
        else VEC_PUSH(r->arena, no, L->at[i]);
    }
    if (yes->n && s->u.cond.yes) exec(r, s->u.cond.yes, yes);
    if (no->n && s->u.cond.no) exec(r, s->u.cond.no, no);
    give_set(r, yes);
    give_set(r, no);
}

void run_enter_alloc(Run *r, const Storage *t, Lane *l) {
    int by_func = run_number(r, t->func), by_storage = run_number(r, t);
    Memory *m = t->memory == STORE_SHARED && r->block ? run_view_shared(r, l, t) : run_allocate(r, l, t);
    if (t->memo) { /* there is no earlier run */
        int found = run_number(r, t->memo->found);
        l->var[found].i = 0;
        l->state[found] = DEFINED;
    }
    m->outer = l->memory[by_func];
    l->memory[by_func] = l->memory[by_storage] = m;
}

void run_leave_alloc(Run *r, const Storage *t, Lane *l) {
    int by_func = run_number(r, t->func), by_storage = run_number(r, t);
    Memory *m = l->memory[by_storage];
    l->memory[by_storage] = NULL;
    l->memory[by_func] = m->outer;
    if (t->memory == STORE_SHARED && r->block) run_leave_shared(r, m);
    else run_release(r, m);
}

static void exec_alloc(Run *r, const Stmt *s, const Lanes *L) {
    for (int i = 0; i < L->n; i++) run_enter_alloc(r, s->u.alloc.storage, L->at[i]);
    exec(r, s->u.alloc.body, L);
    for (int i = 0; i < L->n; i++) run_leave_alloc(r, s->u.alloc.storage, L->at[i]);
}

static void exec_produce(Run *r, const Stmt *s, const Lanes *L) {
    const Func *f = s->u.produce.func;
    void *outer = pm_get(&r->stage, f);
    if (!s->u.produce.is_consume) pm_put(&r->stage, f, (void *)(intptr_t)s->u.produce.stage);
    exec(r, s->u.produce.body, L);
    pm_put(&r->stage, f, outer);
}

/* ---- leaves ---- */

static void count_stores(Run *r, const Func *f, int n) {
    LoopStats *st = r->stats;
    int stage = (int)(intptr_t)pm_get(&r->stage, f), i = 0;
    while (i < st->count.n && (st->count.at[i].func != f || st->count.at[i].stage != stage)) i++;
    if (i == st->count.n) VEC_PUSH(r->arena, &st->count, ((LoopCount){ .func = f, .stage = stage }));
    st->count.at[i].stores += n;
}

/* What one lane is about to store. */
typedef struct {
    Memory *m;
    int64_t at, coord[MAX_RANK];
    Value value[MAX_TUPLE];
    State state[MAX_TUPLE];
} Pending;

/* What an atomic store finds at its place. */
static void read_old(Run *r, const Stmt *s, const Lane *l, const Pending *w) {
    for (int k = 0; k < s->u.store.n && s->u.store.old[k]; k++) {
        int var = run_number(r, s->u.store.old[k]);
        mlc_type t = w->m->storage->type[k];
        l->var[var] = val_load(t, w->m->data[k] + w->at * (int64_t)mlc_type_size(t));
        l->state[var] = w->m->state[k][w->at - w->m->first];
    }
}

static Pending prepare_store(Run *r, const Stmt *s, const Lane *l) {
    const void *where = r->p->flat ? (const void *)s->u.store.storage : s->u.store.func;
    Pending w = { .m = l->memory[run_number(r, where)] };
    CHECK(r->fault, w.m && !w.m->storage->is_input && s->u.store.n == w.m->storage->n);
    for (int d = 0; d < s->u.store.rank; d++)
        w.coord[d] = run_index(r, l, s->u.store.coord[d], "the place of a store");
    w.at = run_offset(r, w.m, s->u.store.rank, w.coord);
    read_old(r, s, l, &w);
    for (int k = 0; k < s->u.store.n; k++) w.value[k] = run_eval(r, l, s->u.store.value[k], &w.state[k]);
    return w;
}

static void finish_store(Run *r, const Stmt *s, const Pending *w) {
    for (int k = 0; k < s->u.store.n; k++) {
        if (s->u.store.value[k]->op == OP_UNDEF) continue;
        mlc_type t = w->m->storage->type[k];
        if (s->u.store.async && r->block) { /* before there are kernels, loops of threads run in line */
            run_ask(r, w->m, w->at, w->value[k], w->state[k]);
            continue;
        }
        val_store(t, w->m->data[k] + w->at * (int64_t)mlc_type_size(t), w->value[k]);
        w->m->state[k][w->at - w->m->first] = (uint8_t)w->state[k];
        if (s->u.store.old[k]) run_mark_joined(r, w->m, w->at);
        else run_mark(r, w->m, w->at, true);
    }
    if (!r->p->flat) run_hold(w->m, w->at, w->coord);
}

/* All lanes compute before any stores, as vector code does, but for atomic stores. */
static void exec_store(Run *r, const Stmt *s, const Lanes *L) {
    if (L->n == 1 || s->u.store.old[0]) {
        for (int i = 0; i < L->n; i++) {
            Pending w = prepare_store(r, s, L->at[i]);
            finish_store(r, s, &w);
        }
    } else {
        Lanes *room = take_set(r); /* reuses its memory as bytes for the pending stores */
        size_t slots = (sizeof(Pending) + sizeof(Lane *) - 1) / sizeof(Lane *) * (size_t)L->n;
        while ((size_t)room->cap < slots) vec_grow(r->arena, (void **)&room->at, room->cap, &room->cap, sizeof *room->at);
        Pending *w = (Pending *)(void *)room->at;
        for (int i = 0; i < L->n; i++) w[i] = prepare_store(r, s, L->at[i]);
        for (int i = 0; i < L->n; i++) finish_store(r, s, &w[i]);
        give_set(r, room);
    }
    count_stores(r, s->u.store.func, L->n);
}

/* The row's text with its texts and integers in the order in which the format asks for them. */
static _Noreturn void raise_check(Run *r, const Stmt *s, const Lane *l) {
    StrBuf b;
    sb_init(&b, r->arena);
    int text = 0, arg = 0;
    for (const char *f = err_format(s->u.check.code); *f; f++) {
        if (*f != '%') {
            sb_putn(&b, f, 1);
            continue;
        }
        f++;
        while (*f && strchr("lhjzt", *f)) f++;
        if (!*f) break;
        if (*f == '%') {
            sb_puts(&b, "%");
        } else if (*f == 's') {
            const char *t = text < 2 ? s->u.check.text[text++] : NULL;
            sb_puts(&b, t ? t : "");
        } else if (arg < s->u.check.n) {
            State state;
            sb_printf(&b, "%lld", (long long)run_eval(r, l, s->u.check.arg[arg++], &state).i);
        }
    }
    if (!r->fault->info.code) {
        r->fault->info.code = (int)s->u.check.code;
        strncpy(r->fault->info.message, b.at ? b.at : "", sizeof r->fault->info.message - 1);
    }
    fault_jump(r->fault);
}

/* Changes nothing: only whether it would find memory is counted. */
static void exec_prefetch(Run *r, const Stmt *s, const Lane *l) {
    const Node *e = s->u.prefetch.read;
    const void *memory = e->op == OP_ACCESS ? (const void *)e->u.func : e->u.storage;
    int64_t coord[MAX_RANK] = { 0 };
    for (int d = 0; d < e->n; d++) coord[d] = run_index(r, l, e->kid[d], "a prefetch");
    if (!r->stats) return;
    r->stats->prefetches++;
    r->stats->outside += !run_inside(r, l->memory[run_number(r, memory)], e->n, coord);
}

static void exec_count(Run *r, const Stmt *s, const Lanes *L) {
    LoopStats *st = r->stats;
    int at = s->u.count.at * COUNT_KINDS + (int)s->u.count.what;
    while (st->counted.n <= at) VEC_PUSH(r->arena, &st->counted, 0);
    for (int i = 0; i < L->n; i++) st->counted.at[at] += run_index(r, L->at[i], s->u.count.amount, "a count");
}

static void exec(Run *r, const Stmt *s, const Lanes *L) {
    State state;
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) exec(r, s->u.block.at[i], L);
        break;
    case ST_FOR: exec_loop(r, s, L); break;
    case ST_LET: exec_let(r, s, L); break;
    case ST_IF: exec_if(r, s, L); break;
    case ST_STORE: exec_store(r, s, L); break;
    case ST_ALLOC: exec_alloc(r, s, L); break;
    case ST_PRODUCE: exec_produce(r, s, L); break;
    case ST_CHECK:
        for (int i = 0; i < L->n; i++)
            if (!run_eval(r, L->at[i], s->u.check.cond, &state).i) raise_check(r, s, L->at[i]);
        break;
    case ST_EVAL:
        for (int i = 0; i < L->n; i++) run_eval(r, L->at[i], s->u.eval.value, &state);
        break;
    case ST_TURN: /* in line: the pass that splits tasks off has not run */
        if (s->u.turn.body) exec(r, s->u.turn.body, L);
        break;
    case ST_FORK:
        CHECK(r->fault, L->n == 1);
        run_fork(r, s, L->at[0]);
        break;
    case ST_CALL:
        for (int i = 0; i < L->n; i++) count_stores(r, s->u.call.func, (int)run_call(r, s, L->at[i]));
        break;
    case ST_PREFETCH: exec_prefetch(r, s, L->at[0]); break;
    case ST_COUNT: exec_count(r, s, L); break;
    case ST_KERNEL:
        CHECK(r->fault, L->n == 1);
        run_kernel(r, s, L->at[0]);
        break;
    case ST_BARRIER:
        if (r->block) BUG(r->fault, "a barrier that not all threads of a block meet");
        break;
    case ST_COPIES: run_copies(r, s->u.copies.pending); break;
    case ST_MOVE: run_move(r, s, L->at[0]); break;
    case ST_MMA: BUG(r->fault, "an instruction of a warp that not all of its lanes meet");
    }
}

void run_in_lane(Run *r, const Stmt *s, Lane *l) {
    Lanes one = { .at = &l, .n = 1 };
    exec(r, s, &one);
}

/* ---- entry ---- */

void low_interpret_counted(Arena *arena, const Program *p, struct mlc_buffer *const *buffers,
                           const mlc_scalar *params, uint64_t seed, LoopStats *stats) {
    Run r = { .arena = arena, .fault = arena->fault, .p = p, .buffers = buffers, .params = params, .seed = seed,
              .stats = stats };
    pm_init(&r.code, arena);
    pm_init(&r.number, arena);
    pm_init(&r.stage, arena);
    pm_init(&r.pool, arena);
    pm_init(&r.stops, arena);
    run_names(&r);
    Lane *one = run_take_lane(&r, NULL);
    Lanes all = { .at = &one, .n = 1 };
    run_bind(&r, one);
    if (p->body) exec(&r, p->body, &all);
    run_check_outputs(&r, one);
}

void low_interpret(Arena *arena, const Program *p, struct mlc_buffer *const *buffers, const mlc_scalar *params,
                   uint64_t seed) {
    LoopStats stats = { .live = 0 };
    low_interpret_counted(arena, p, buffers, params, seed, &stats);
}

int64_t low_stores(const LoopStats *stats, const Func *f, int stage) {
    for (int i = 0; i < stats->count.n; i++)
        if (stats->count.at[i].func == f && stats->count.at[i].stage == stage) return stats->count.at[i].stores;
    return 0;
}

int64_t low_counted(const LoopStats *stats, int at, CountKind what) {
    int i = at * COUNT_KINDS + (int)what;
    return i < stats->counted.n ? stats->counted.at[i] : 0;
}
