/* loop_interp_tasks.c - tasks of the loop interpreter, which stop and go on in an order that the seed chooses: those of
 * forks at turns, threads of a GPU's block at barriers.
 *
 * A task is a stack of statements that it is in the middle of.  It runs until it has begun or ended a turn, then
 * another task may go on; one whose turn must wait is asked again later.  What holds no turns or barriers runs in one go.
 * Where nobody can go on the program would hang: an error. */
#include "loop_interp_run.h"

typedef struct RunFrame Frame;
struct RunFrame {
    Frame *up;
    const Stmt *s;
    int64_t k;            /* children begun, or iterations */
    int64_t min;          /* of a loop */
    struct RunOrder order;
    void *outer;          /* what a marker stood for outside */
};

typedef struct Task Task;
struct Task {
    Task *parent;
    Frame *top;
    Lane *lane;
    int children;         /* still running */
    const Stmt *barrier;  /* where it waits for other threads, or NULL */
    const Stmt *mma;      /* where it waits for the lanes of its warp, or NULL */
};

/* Turns that were ended: by the task, then by each reader. */
typedef struct {
    int64_t *ended;
} Turns;

typedef struct {
    Run *r;
    VEC(Task *) task;
    PtrMap turns;         /* Channel -> Turns */
} Tasks;

static bool has_turns(Run *r, const Stmt *s);

static bool find_turns(Run *r, const Stmt *s) {
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++)
            if (has_turns(r, s->u.block.at[i])) return true;
        return false;
    case ST_FOR: return has_turns(r, s->u.loop.body);
    case ST_LET: return has_turns(r, s->u.let.body);
    case ST_IF: return has_turns(r, s->u.cond.yes) || has_turns(r, s->u.cond.no);
    case ST_ALLOC: return has_turns(r, s->u.alloc.body);
    case ST_PRODUCE: return has_turns(r, s->u.produce.body);
    case ST_TURN: case ST_FORK: case ST_MMA: case ST_BARRIER: return true;
    default: return false;
    }
}

static bool has_turns(Run *r, const Stmt *s) {
    intptr_t known = s ? (intptr_t)pm_get(&r->stops, s) : 1;
    if (!known) pm_put(&r->stops, s, (void *)(known = 1 + find_turns(r, s)));
    return known == 2;
}

static void push(Tasks *t, Task *task, const Stmt *s) {
    if (!s) return;
    Frame *f = t->r->free_frames;
    if (f) t->r->free_frames = f->up;
    else f = ARENA_NEW(t->r->arena, Frame);
    *f = (Frame){ .up = task->top, .s = s };
    task->top = f;
}

static void pop(Tasks *t, Task *task) {
    Frame *f = task->top;
    task->top = f->up;
    f->up = t->r->free_frames;
    t->r->free_frames = f;
}

static void begin_task(Tasks *t, Task *parent, const Lane *from, const Stmt *s) {
    Task *task = ARENA_NEW(t->r->arena, Task);
    *task = (Task){ .parent = parent, .lane = run_take_lane(t->r, from) };
    push(t, task, s);
    if (parent) parent->children++;
    VEC_PUSH(t->r->arena, &t->task, task);
}

/* ---- one step of each kind of statement: false when it is over ---- */

static bool step_loop(Tasks *t, Task *task, Frame *f) {
    const Stmt *s = f->s;
    int var = run_number(t->r, s->u.loop.var);
    if (!f->k) {
        f->min = run_index(t->r, task->lane, s->u.loop.min, "the start of a loop");
        int64_t n = run_index(t->r, task->lane, s->u.loop.extent, "the extent of a loop");
        f->order = sch_spreads(s->u.loop.kind) ? run_order(t->r, n) : (struct RunOrder){ n, 1, 0 };
    }
    if (f->k++ >= f->order.n) return false;
    task->lane->var[var].i = f->min + f->order.at;
    task->lane->state[var] = DEFINED;
    run_next(&f->order);
    push(t, task, s->u.loop.body);
    return true;
}

static bool step_let(Tasks *t, Task *task, Frame *f) {
    if (f->k++) return false;
    run_let(t->r, f->s, task->lane);
    push(t, task, f->s->u.let.body);
    return true;
}

static bool step_if(Tasks *t, Task *task, Frame *f) {
    State state;
    if (f->k++) return false;
    bool holds = run_eval(t->r, task->lane, f->s->u.cond.cond, &state).i != 0;
    push(t, task, holds ? f->s->u.cond.yes : f->s->u.cond.no);
    return true;
}

static bool step_alloc(Tasks *t, Task *task, Frame *f) {
    if (f->k++) {
        run_leave_alloc(t->r, f->s->u.alloc.storage, task->lane);
        return false;
    }
    run_enter_alloc(t->r, f->s->u.alloc.storage, task->lane);
    push(t, task, f->s->u.alloc.body);
    return true;
}

static bool step_produce(Tasks *t, Task *task, Frame *f) {
    const Func *func = f->s->u.produce.func;
    if (f->k++) {
        pm_put(&t->r->stage, func, f->outer);
        return false;
    }
    f->outer = pm_get(&t->r->stage, func);
    if (!f->s->u.produce.is_consume) pm_put(&t->r->stage, func, (void *)(intptr_t)f->s->u.produce.stage);
    push(t, task, f->s->u.produce.body);
    return true;
}

static bool step_fork(Tasks *t, Task *task, Frame *f) {
    Channel *c = f->s->u.fork.channel;
    if (f->k++) {
        pm_put(&t->turns, c, f->outer);
        return false;
    }
    Turns *turns = ARENA_NEW(t->r->arena, Turns);
    turns->ended = ARENA_ARRAY(t->r->arena, int64_t, c->readers + 1);
    f->outer = pm_get(&t->turns, c);
    pm_put(&t->turns, c, turns);
    begin_task(t, task, task->lane, f->s->u.fork.task);
    begin_task(t, task, task->lane, f->s->u.fork.rest);
    return true;
}

static bool may_begin(Tasks *t, const Task *task, const Stmt *s) {
    const Channel *c = s->u.turn.channel;
    const int64_t *ended = ((Turns *)pm_get(&t->turns, c))->ended;
    if (s->u.turn.reader >= 0) return ended[0] > ended[s->u.turn.reader + 1];
    if (!s->u.turn.ahead) return true;
    int64_t ahead = run_index(t->r, task->lane, s->u.turn.ahead, "how far a task may run ahead");
    for (int i = 1; i <= c->readers; i++)
        if (ended[0] - ended[i] >= ahead) return false;
    return true;
}

static bool step_turn(Tasks *t, Task *task, Frame *f) {
    const Channel *c = f->s->u.turn.channel;
    int64_t *ended = &((Turns *)pm_get(&t->turns, c))->ended[f->s->u.turn.reader + 1];
    if (f->k++) {
        ++*ended;
        return false;
    }
    if (c->part) {
        int part = run_number(t->r, c->part);
        task->lane->var[part].i = *ended % c->parts;
        task->lane->state[part] = DEFINED;
    }
    push(t, task, f->s->u.turn.body);
    return true;
}

/* Waits first, then goes on with what the instruction gave. */
static bool step_mma(Tasks *t, Task *task, Frame *f) {
    if (f->k++) return false;
    task->mma = f->s;
    push(t, task, f->s->u.mma.body);
    return true;
}

static bool step_frame(Tasks *t, Task *task, Frame *f) {
    switch (f->s->kind) {
    case ST_BLOCK:
        if (f->k == f->s->u.block.n) return false;
        push(t, task, f->s->u.block.at[f->k++]);
        return true;
    case ST_FOR: return step_loop(t, task, f);
    case ST_LET: return step_let(t, task, f);
    case ST_IF: return step_if(t, task, f);
    case ST_ALLOC: return step_alloc(t, task, f);
    case ST_PRODUCE: return step_produce(t, task, f);
    case ST_FORK: return step_fork(t, task, f);
    case ST_MMA: return step_mma(t, task, f);
    default: return step_turn(t, task, f);
    }
}

/* ---- scheduling ---- */

/* Goes on up to the next begin or end of a turn; false where the task has to wait. */
static bool advance(Tasks *t, Task *task) {
    for (bool moved = false; task->top; moved = true) {
        Frame *f = task->top;
        bool turn = f->s->kind == ST_TURN, fork = f->s->kind == ST_FORK;
        if (task->children || (turn && !f->k && !may_begin(t, task, f->s))) return moved;
        const Stmt *s = f->s;
        task->barrier = s->kind == ST_BARRIER ? s : NULL;
        if (!has_turns(t->r, s) || task->barrier) {
            pop(t, task);
            if (task->barrier) return true;
            run_in_lane(t->r, s, task->lane);
            continue;
        }
        if (!step_frame(t, task, f)) pop(t, task);
        if (turn || fork || task->mma) return true;
    }
    return true;
}

void run_fork(Run *r, const Stmt *s, const Lane *lane) {
    Tasks t = { .r = r };
    pm_init(&t.turns, r->arena);
    begin_task(&t, NULL, lane, s);
    while (t.task.n) {
        int n = t.task.n, i = (int)(run_random(&r->seed) % (uint64_t)n), tried = 0;
        while (tried < n && !advance(&t, t.task.at[i])) tried++, i = (i + 1) % n;
        CHECK(r->fault, tried < n); /* nobody can go on */
        Task *task = t.task.at[i];
        if (task->top || task->children) continue;
        if (task->parent) task->parent->children--;
        run_give_lane(r, task->lane);
        t.task.at[i] = t.task.at[--t.task.n];
    }
}

/* ---- threads of a block ---- */

/* Production markers are the run's: those that a thread is inside of hold while it runs. */
static void leave_markers(Run *r, const Frame *f) {
    for (; f; f = f->up)
        if (f->s->kind == ST_PRODUCE) pm_put(&r->stage, f->s->u.produce.func, f->outer);
}

static void enter_markers(Run *r, Frame *f) {
    if (!f) return;
    enter_markers(r, f->up);
    if (f->s->kind != ST_PRODUCE) return;
    const Stmt *s = f->s;
    f->outer = pm_get(&r->stage, s->u.produce.func);
    if (!s->u.produce.is_consume) pm_put(&r->stage, s->u.produce.func, (void *)(intptr_t)s->u.produce.stage);
}

/* Runs up to a barrier or an instruction of its warp, or to the end. */
static void run_thread(Tasks *t, Task *task) {
    enter_markers(t->r, task->top);
    while (task->top && advance(t, task) && !task->barrier && !task->mma) {}
    leave_markers(t->r, task->top);
}

/* Instructions for which all lanes of a warp have come; was there one? */
static bool run_warps(Run *r, Task *task, int64_t n) {
    enum { LANES = 32 };
    bool any = false;
    for (int64_t first = 0; first + LANES <= n; first += LANES) {
        Lane *lane[LANES];
        int64_t thread[LANES];
        bool all = task[first].mma != NULL;
        for (int i = 0; i < LANES; i++) {
            all &= task[first + i].mma == task[first].mma;
            lane[i] = task[first + i].lane;
            thread[i] = first + i;
        }
        if (!all) continue;
        run_mma(r, task[first].mma, lane, thread);
        for (int i = 0; i < LANES; i++) task[first + i].mma = NULL;
        any = true;
    }
    return any;
}

/* What is left of threads up to the next barrier. */
static void run_phase(Tasks *t, Task *task, int64_t n) {
    for (int64_t i = 0; i < n; i++) task[i].barrier = NULL;
    do {
        struct RunOrder o = run_order(t->r, n);
        for (int64_t i = 0; i < n; i++) {
            t->r->thread = o.at;
            if (!task[o.at].mma && !task[o.at].barrier) run_thread(t, &task[o.at]);
            run_next(&o);
        }
    } while (run_warps(t->r, task, n));
}

void run_threads(Run *r, const Stmt *s, Lane *const *lane, int64_t n) {
    Tasks t = { .r = r };
    Task *task = ARENA_ARRAY(r->arena, Task, n);
    for (int64_t i = 0; i < n; i++) {
        task[i].lane = lane[i];
        push(&t, &task[i], s);
    }
    while (task[0].top) {
        r->phase++;
        run_phase(&t, task, n);
        for (int64_t i = 1; i < n; i++) CHECK(r->fault, !task[i].top == !task[0].top && task[i].barrier == task[0].barrier && !task[i].mma && !task[0].mma);
    }
}
