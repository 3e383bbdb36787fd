/* with.c - stages that share loops.
 *
 *     g: compute_with(f, y)        for y: what f does, where y is one of its iterations;
 *                                         what g does, where y is one of its
 *
 * g runs in the loops of f, its leader, down to y; f may have a leader itself, and g followers.  No stage of
 * one needs the other's values, so whatever the loop brings together may run in that order.  Funcs with stages that
 * share loops are a group: placed at once, behind all that any of them needs, before all that needs any.
 *
 *     f, f.u0      g: compute_with(f.u0, y)      f;  f.u0 and g;  g.u0
 *
 * Stages of a Func still run one after the other, so the loops of a group run in an order that keeps that. */
#include "schedule/resolve.h"

#include <string.h>

static const char *name_of(Resolve *r, const StageSched *st) {
    return sch_stage_name(r->arena, st->func, st->index);
}

static FuncSched *sched_of(Resolve *r, const Func *f) {
    return pm_get(&r->s->sched, f);
}

/* ---- a line ---- */

void sch_compute_with(Resolve *r, StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    const Func *f = line->d.at.f;
    FuncSched *fs = sched_of(r, f);
    int index = line->d.at_stage < 0 ? 0 : line->d.at_stage;
    if (alg_is_whole(st->func)) fault_raise(r->fault, ERR_WITH_STAGE, &place, st->func->name);
    if (!fs) fault_raise(r->fault, ERR_WITH_NOT_USED, &place, f->name, st->func->name);
    if (f == st->func) fault_raise(r->fault, ERR_WITH_ITSELF, &place, name_of(r, st));
    if (index >= fs->stage.n) fault_raise(r->fault, ERR_NO_STAGE, &place, f->name, index - 1, sch_updates(r->arena, fs->stage.n));
    StageSched *leader = &fs->stage.at[index];
    if (st->with.leader && st->with.leader != leader)
        fault_raise(r->fault, ERR_WITH_TWO, &place, name_of(r, st), name_of(r, st->with.leader));
    st->with.leader = leader;
    st->touched = true;
    VEC_PUSH(r->arena, &st->with.line, line);
}

/* ---- what only the whole plan shows ---- */

/* Each of the two stages has one nest of loops, which the plan says where to run. */
static void check_stage(Resolve *r, const StageSched *st, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    const FuncSched *fs = sched_of(r, st->func);
    bool placed = sch_is_output(r->s, st->func) || (fs->compute.line && fs->compute.kind != AT_INLINE);
    if (alg_is_whole(st->func)) fault_raise(r->fault, ERR_WITH_STAGE, &place, st->func->name);
    if (!placed) fault_raise(r->fault, ERR_WITH_PLACE, &place, st->func->name);
    if (st->special.n || st->fail) fault_raise(r->fault, ERR_WITH_SPECIALIZED, &place, name_of(r, st));
    if (fs->async) fault_raise(r->fault, ERR_WITH_ASYNC, &place, st->func->name);
    if (fs->memo) fault_raise(r->fault, ERR_WITH_MEMO, &place, st->func->name);
}

/* The outermost loops, for messages: "y, x parallel". */
static const char *outer_loops(Resolve *r, const StageSched *st, int n) {
    static const char *const mark[] = { "", " parallel", " vector", " unrolled", " gpu_block", " gpu_thread" };
    StrBuf b;
    sb_init(&b, r->arena);
    if (n > st->dim.n) n = st->dim.n;
    for (int i = 0; i < n; i++) {
        const Dim *d = &st->dim.at[st->dim.n - 1 - i];
        sb_printf(&b, "%s%s%s", i ? ", " : "", d->name, mark[d->kind]);
    }
    return n ? b.at : "none";
}

/* How many loops the line shares. */
static int shared_depth(Resolve *r, const StageSched *st, const PlanLine *line) {
    const StageSched *leader = st->with.leader;
    const Sym *v = (const Sym *)line->d.v[0].sym;
    Place place = sch_place(r->arena, line);
    const Dim *last = v ? sch_find_loop(st, v->name) : NULL;
    if (!last) fault_raise(r->fault, ERR_NO_LOOP, &place, v ? v->name : "?", name_of(r, st), sch_loop_names(r->arena, st));
    int depth = st->dim.n - (int)(last - st->dim.at);
    bool same = depth <= leader->dim.n;
    for (int i = 1; same && i <= depth; i++) {
        const Dim *a = &st->dim.at[st->dim.n - i], *b = &leader->dim.at[leader->dim.n - i];
        same = !strcmp(a->name, b->name) && a->kind == b->kind;
        if (same && a->partitioned) fault_raise(r->fault, ERR_WITH_PARTITION, &place, a->name, name_of(r, st), name_of(r, leader));
    }
    if (!same)
        fault_raise(r->fault, ERR_WITH_LOOPS, &place, last->name, outer_loops(r, st, depth), name_of(r, st),
                    outer_loops(r, leader, depth), name_of(r, leader));
    return depth;
}

static const StageSched *root_of(const StageSched *st) {
    while (st->with.leader) st = st->with.leader;
    return st;
}

static void check_circle(Resolve *r, const StageSched *st, int stages) {
    const StageSched *s = st->with.leader;
    for (int n = 0; s && s != st && n < stages; n++) s = s->with.leader;
    if (s != st) return;
    Place place = sch_place(r->arena, st->with.line.at[0]);
    fault_raise(r->fault, ERR_WITH_CIRCLE, &place, name_of(r, st), name_of(r, st->with.leader));
}

/* No other stage of its Func runs in these loops. */
static void check_once(Resolve *r, const StageSched *st) {
    const FuncSched *fs = sched_of(r, st->func);
    for (int i = 0; i < fs->stage.n; i++) {
        if (i == st->index || root_of(&fs->stage.at[i]) != root_of(st)) continue;
        Place place = sch_place(r->arena, st->with.line.at[0]);
        fault_raise(r->fault, ERR_WITH_TWICE, &place, name_of(r, st), name_of(r, &fs->stage.at[i]));
    }
}

/* ---- groups ---- */

static FuncSched *group_of(FuncSched *fs) {
    while (fs->group) fs = fs->group;
    return fs;
}

static void check_needs(Resolve *r, Func *a, Func *b, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    if (alg_reaches(r->arena, a, b)) fault_raise(r->fault, ERR_WITH_NEEDS, &place, a->name, b->name);
    if (alg_reaches(r->arena, b, a)) fault_raise(r->fault, ERR_WITH_NEEDS, &place, b->name, a->name);
}

/* The groups of the two become one, unless a Func of one needs one of the other. */
static void join(Resolve *r, FuncSched *a, FuncSched *b, const PlanLine *line) {
    const FuncList *all = &r->s->order;
    a = group_of(a), b = group_of(b);
    if (a == b) return;
    for (int i = 0; i < all->n; i++)
        for (int k = 0; k < all->n; k++) {
            FuncSched *f = sched_of(r, all->at[i]), *g = sched_of(r, all->at[k]);
            if (f && g && group_of(f) == a && group_of(g) == b) check_needs(r, f->func, g->func, line);
        }
    a->group = b;
}

/* The next stages that share loops with `st`, it and they being the next of their Funcs: in a row, leaders first. */
static bool take(Resolve *r, FuncGroup *g, const StageSched *root, int *next) {
    int first = g->stage.n, wanted = 0;
    for (int i = 0; i < g->func.n; i++)
        for (int k = 0; k < g->func.at[i]->stage.n; k++) {
            if (root_of(&g->func.at[i]->stage.at[k]) != root) continue;
            if (k != next[i]) return false;
            wanted++;
        }
    VEC_PUSH(r->arena, &g->stage, (StageSched *)(uintptr_t)root);
    for (int at = first; at < first + wanted; at++)
        for (int i = 0; i < g->func.n; i++) {
            StageSched *st = next[i] < g->func.at[i]->stage.n ? &g->func.at[i]->stage.at[next[i]] : NULL;
            if (st && st->with.leader == g->stage.at[at]) VEC_PUSH(r->arena, &g->stage, st);
        }
    for (int i = 0; i < g->func.n; i++)
        next[i] += next[i] < g->func.at[i]->stage.n && root_of(&g->func.at[i]->stage.at[next[i]]) == root;
    return true;
}

/* The stages of a group in the order in which they run. */
static void order_stages(Resolve *r, FuncGroup *g) {
    int *next = ARENA_ARRAY(r->arena, int, g->func.n);
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < g->func.n; i++)
            while (next[i] < g->func.at[i]->stage.n && take(r, g, root_of(&g->func.at[i]->stage.at[next[i]]), next)) moved = true;
    }
    for (int i = 0; i < g->func.n; i++)
        for (int k = next[i]; k < g->func.at[i]->stage.n; k++) {
            const StageSched *st = &g->func.at[i]->stage.at[k];
            if (!st->with.leader) continue;
            Place place = sch_place(r->arena, st->with.line.at[0]);
            fault_raise(r->fault, ERR_WITH_ORDER, &place, name_of(r, st));
        }
}

static bool is_ready(Resolve *r, const FuncGroup *g, const PtrMap *placed) {
    for (int i = 0; i < g->func.n; i++) {
        FuncList reads = alg_reads(r->arena, g->func.at[i]->func);
        for (int k = 0; k < reads.n; k++)
            if (sched_of(r, reads.at[k]) && reads.at[k] != g->func.at[i]->func && !pm_has(placed, reads.at[k])) return false;
    }
    return true;
}

static FuncGroup members(Resolve *r, FuncSched *of) {
    FuncGroup g = { .func = { 0 } };
    for (int i = 0; i < r->s->order.n; i++) {
        FuncSched *fs = sched_of(r, r->s->order.at[i]);
        if (fs && group_of(fs) == group_of(of)) VEC_PUSH(r->arena, &g.func, fs);
    }
    return g;
}

static _Noreturn void cycle(Resolve *r, const PtrMap *placed) {
    for (int i = 0; i < r->s->order.n; i++) {
        const FuncSched *fs = sched_of(r, r->s->order.at[i]);
        for (int k = 0; fs && !pm_has(placed, fs->func) && k < fs->stage.n; k++) {
            if (!fs->stage.at[k].with.leader) continue;
            Place place = sch_place(r->arena, fs->stage.at[k].with.line.at[0]);
            fault_raise(r->fault, ERR_WITH_CYCLE, &place, fs->func->name, fs->stage.at[k].with.leader->func->name);
        }
    }
    BUG(r->fault, "Funcs that wait for each other");
}

/* Producers first, which the order of the program is already but for groups of several. */
static void order_groups(Resolve *r, bool any) {
    PtrMap placed;
    pm_init(&placed, r->arena);
    for (bool left = true, moved = true; left;) {
        if (!moved) cycle(r, &placed);
        left = moved = false;
        for (int i = 0; i < r->s->order.n; i++) {
            FuncSched *fs = sched_of(r, r->s->order.at[i]);
            if (!fs || pm_has(&placed, fs->func)) continue;
            FuncGroup g = { .func = { 0 } };
            if (any) g = members(r, fs);
            else VEC_PUSH(r->arena, &g.func, fs);
            if (any && !is_ready(r, &g, &placed)) {
                left = true;
                continue;
            }
            order_stages(r, &g);
            VEC_PUSH(r->arena, &r->s->group, g);
            for (int k = 0; k < g.func.n; k++) pm_put(&placed, g.func.at[k]->func, fs);
            moved = true;
        }
    }
}

void sch_find_groups(Resolve *r) {
    VEC(StageSched *) all = { 0 };
    int stages = 0;
    for (int i = 0; i < r->s->order.n; i++) {
        FuncSched *fs = sched_of(r, r->s->order.at[i]);
        for (int k = 0; fs && k < fs->stage.n; k++, stages++)
            if (fs->stage.at[k].with.leader) VEC_PUSH(r->arena, &all, &fs->stage.at[k]);
    }
    for (int i = 0; i < all.n; i++) {
        With *w = &all.at[i]->with;
        check_stage(r, all.at[i], w->line.at[0]);
        check_stage(r, w->leader, w->line.at[0]);
        check_circle(r, all.at[i], stages);
        for (int k = 0; k < w->line.n; k++) {
            int depth = shared_depth(r, all.at[i], w->line.at[k]);
            if (depth > w->depth) w->depth = depth;
        }
    }
    for (int i = 0; i < all.n; i++) {
        check_once(r, all.at[i]);
        join(r, sched_of(r, all.at[i]->func), sched_of(r, all.at[i]->with.leader->func), all.at[i]->with.line.at[0]);
    }
    order_groups(r, all.n > 0);
}
