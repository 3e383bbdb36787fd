/* resolve.c - applying a plan: from lines to one schedule a Func and a stage.
 *
 * Resolution knows names, definitions and order, but no boxes: what depends on boxes (does a level enclose
 * every use, is an extent long enough for a shifted tail) is checked where lowering infers them. */
#include "schedule/resolve.h"

#include <string.h>

FuncSched *sch_new_sched(Resolve *r, Func *f) {
    FuncSched *fs = ARENA_NEW(r->arena, FuncSched);
    fs->func = f;
    sch_first_storage(fs);
    for (int i = 0; i < f->def.n; i++) {
        StageSched st = { .func = f, .index = i, .def = f->def.at[i], .when = ir_bool(r->ir, true) };
        sch_first_loops(r, &st);
        VEC_PUSH(r->arena, &fs->stage, st);
    }
    return fs;
}

bool sch_is_output(const Schedule *s, const Func *f) {
    for (int i = 0; i < s->n_outputs; i++)
        if (s->output[i] == f) return true;
    return false;
}

/* ---- placement ---- */

/* The line that says where the level is that `line` names, NULL: none does.  It stands before the line `end`, if any. */
static const PlanLine *level_line(const Resolve *r, const PlanLine *line, const PlanLine *end) {
    for (int i = 0; i < r->s->plan->line.n && &r->s->plan->line.at[i] != end; i++) {
        const PlanLine *l = &r->s->plan->line.at[i];
        if (l->d.kind == MLC_LEVEL && l->d.v[0].sym == line->d.v[0].sym) return l;
    }
    return NULL;
}

static const char *loop_name(const PlanLine *line, int k) {
    const Sym *v = (const Sym *)line->d.v[k].sym;
    return v ? v->name : "?";
}

static void apply_level(Resolve *r, const PlanLine *line) {
    const PlanLine *other = level_line(r, line, line);
    Place place = sch_place(r->arena, line);
    if (other) fault_raise(r->fault, ERR_LEVEL_TWICE, &place, sch_stage_name(r->arena, other->func, other->stage), loop_name(line, 0));
}

/* The place that compute_at or store_at names: the consumer must be computed in loops, and have this one. */
static Level level_at(Resolve *r, const PlanLine *line) {
    bool named = line->d.at_stage == MLC_AT_LEVEL;
    const PlanLine *said = named ? level_line(r, line, NULL) : line;
    Place place = sch_place(r->arena, line);
    if (!said) fault_raise(r->fault, ERR_LEVEL_UNSET, &place, loop_name(line, 0), loop_name(line, 0));
    if (named && said->d.n < 2) return (Level){ .kind = AT_ROOT, .line = line };
    Func *at = named ? said->func : line->d.at.f;
    int stage = named ? said->stage : line->d.at_stage;
    FuncSched *fs = at ? pm_get(&r->s->sched, at) : NULL;
    if (!fs) fault_raise(r->fault, ERR_AT_NOT_USED, &place, at ? at->name : "?", line->func->name);
    if (at == line->func) fault_raise(r->fault, ERR_AT_ITSELF, &place, at->name);
    if (stage >= fs->stage.n) fault_raise(r->fault, ERR_NO_STAGE, &place, at->name, stage - 1, sch_updates(r->arena, fs->stage.n));
    return (Level){ .kind = AT_LOOP, .func = at, .stage = stage, .loop = loop_name(said, named), .line = line };
}

/* Any line may say where a level is, of any Func of the plan, so they are looked up once all lines are applied. */
static void settle_levels(Resolve *r, FuncSched *fs) {
    Level *level[] = { &fs->compute, &fs->store, &fs->hoist };
    for (int i = 0; i < 3; i++)
        if (level[i]->line && level[i]->line->d.at_stage == MLC_AT_LEVEL) *level[i] = level_at(r, level[i]->line);
}

static void apply_placement(Resolve *r, FuncSched *fs, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    mlc_directive_kind kind = line->d.kind;
    if (sch_is_output(r->s, fs->func) && kind != MLC_COMPUTE_ROOT && kind != MLC_STORE_ROOT)
        fault_raise(r->fault, ERR_PLACE_OUTPUT, &place, fs->func->name);
    if (alg_is_whole(fs->func) && kind == MLC_COMPUTE_INLINE) fault_raise(r->fault, ERR_STAGE_INLINE, &place, fs->func->name);
    if (alg_is_whole(fs->func) && kind != MLC_COMPUTE_ROOT && kind != MLC_COMPUTE_AT)
        fault_raise(r->fault, ERR_STAGE_STORE, &place, fs->func->name);
    Level at = { .kind = AT_LOOP, .line = line };
    bool loop = kind == MLC_COMPUTE_AT || kind == MLC_STORE_AT || kind == MLC_HOIST_STORAGE;
    if (loop && line->d.at_stage != MLC_AT_LEVEL) at = level_at(r, line);
    switch (kind) {
    case MLC_COMPUTE_ROOT: fs->compute = (Level){ .kind = AT_ROOT, .line = line }; break;
    case MLC_COMPUTE_AT: fs->compute = at; break;
    case MLC_COMPUTE_INLINE:
        if (fs->stage.n > 1) fault_raise(r->fault, ERR_INLINE_UPDATES, &place, fs->func->name);
        fs->compute = (Level){ .kind = AT_INLINE, .line = line };
        break;
    case MLC_STORE_ROOT: fs->store = (Level){ .kind = AT_ROOT, .line = line }; break;
    case MLC_HOIST_STORAGE_ROOT: fs->hoist = (Level){ .kind = AT_ROOT, .line = line }; break;
    case MLC_HOIST_STORAGE: fs->hoist = at; break;
    default: fs->store = at; break;
    }
}

int sch_dimension(Resolve *r, const Func *f, const PlanLine *line, int k) {
    const Sym *v = (const Sym *)line->d.v[k].sym;
    for (int d = 0; v && d < f->rank; d++)
        if (!strcmp(f->arg[d]->name, v->name)) return d;
    Place place = sch_place(r->arena, line);
    fault_raise(r->fault, ERR_NO_DIMENSION, &place, f->name, v ? v->name : "?");
}

enum { MOST_PARTS = 1 << 20 };

static void apply_async(Resolve *r, FuncSched *fs, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    if (sch_is_output(r->s, fs->func)) fault_raise(r->fault, ERR_ASYNC_OUTPUT, &place, fs->func->name);
    fs->async = line;
}

static void apply_ring(Resolve *r, FuncSched *fs, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    int64_t n = line->d.k[0];
    if (sch_is_output(r->s, fs->func)) fault_raise(r->fault, ERR_STORAGE_OUTPUT, &place, fs->func->name);
    if (n < 1 || n > MOST_PARTS) fault_raise(r->fault, ERR_RING_PARTS, &place, (long long)n, MOST_PARTS);
    if (fs->func->rank == MAX_RANK) fault_raise(r->fault, ERR_RING_RANK, &place, fs->func->name, MAX_RANK);
    fs->ring = n;
    fs->ring_line = line;
}

static void apply_line(Resolve *r, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    if (line->func->is_input) fault_raise(r->fault, ERR_SCHEDULE_INPUT, &place, line->func->name);
    FuncSched *fs = pm_get(&r->s->sched, line->func);
    if (!fs) return; /* a plan may serve several programs: this one does not need the Func */
    if (line->stage < 0 || line->stage >= fs->stage.n)
        fault_raise(r->fault, ERR_NO_STAGE, &place, fs->func->name, line->stage - 1, sch_updates(r->arena, fs->stage.n));
    if (sch_is_storage_directive(line->d.kind)) {
        sch_storage_directive(r, fs, line);
        return;
    }
    switch (line->d.kind) {
    case MLC_COMPUTE_ROOT: case MLC_COMPUTE_AT: case MLC_COMPUTE_INLINE: case MLC_STORE_ROOT: case MLC_STORE_AT:
    case MLC_HOIST_STORAGE: case MLC_HOIST_STORAGE_ROOT:
        apply_placement(r, fs, line);
        break;
    case MLC_RING_BUFFER: apply_ring(r, fs, line); break;
    case MLC_ASYNC: apply_async(r, fs, line); break;
    case MLC_MEMOIZE: sch_memoize(r, fs, line); break;
    case MLC_BOUND: case MLC_BOUND_EXTENT: case MLC_ALIGN_BOUNDS: case MLC_ALIGN_EXTENT:
        sch_bound_directive(r, fs, line);
        break;
    case MLC_RFACTOR: sch_rfactor(r, &fs->stage.at[line->stage], line); break;
    case MLC_COMPUTE_WITH: sch_compute_with(r, &fs->stage.at[line->stage], line); break;
    case MLC_ESTIMATE: break; /* for tuners alone */
    case MLC_LEVEL: apply_level(r, line); break;
    case MLC_PROFILE: fs->profile = line; break;
    case MLC_TRACE: fs->trace = line; break;
    case MLC_UNSCHEDULED: fs->stage.at[line->stage].touched = true; break;
    default:
        if (!sch_stage_directive(r, &fs->stage.at[line->stage], line)) BUG(r->fault, "a directive that nobody resolves");
    }
}

/* ---- defaults, and what only the whole plan shows ---- */

static const PlanLine *first_loop_line(const struct mlc_plan *plan, const Func *f) {
    for (int i = 0; i < plan->line.n; i++) {
        mlc_directive_kind k = plan->line.at[i].d.kind;
        bool boxes = k >= MLC_BOUND && k <= MLC_ALIGN_EXTENT;
        bool special = k == MLC_SPECIALIZE || k == MLC_SPECIALIZE_FAIL || k == MLC_PREFETCH || k == MLC_STREAM_STORES || k == MLC_STREAM_LOADS;
        special |= k >= MLC_GPU_BLOCKS && k <= MLC_GPU_SINGLE_THREAD;
        if (plan->line.at[i].func == f && (k < MLC_COMPUTE_ROOT || boxes || special)) return &plan->line.at[i];
    }
    return NULL;
}

static void check_hoist(Resolve *r, const FuncSched *fs, bool placed) {
    if (!fs->hoist.line) return;
    Place place = sch_place(r->arena, fs->hoist.line);
    if (!placed || fs->compute.kind == AT_INLINE) fault_raise(r->fault, ERR_HOIST_WITHOUT_COMPUTE, &place, fs->func->name);
    if (fs->async || fs->ring) fault_raise(r->fault, ERR_HOIST_TURNS, &place, fs->func->name, fs->async ? "async" : "ring_buffer");
    if (fs->func->rank == MAX_RANK) fault_raise(r->fault, ERR_HOIST_RANK, &place, fs->func->name, MAX_RANK);
}

/* A Func without a placement: outputs are root, a Func with updates goes where lowering finds its only
 * consumer (AT_LOOP without a Func),
 * extern stages and what they read are root, the others are inlined. */
static void fill_defaults(Resolve *r, FuncSched *fs) {
    Func *f = fs->func;
    bool placed = fs->compute.line != NULL;
    if (sch_is_output(r->s, f)) {
        fs->compute.kind = AT_ROOT;
        if (!fs->store.line) fs->store = fs->compute;
        return;
    }
    if (!placed && fs->stage.n > 1) fs->compute.kind = AT_LOOP;
    if (!placed && alg_is_whole(f)) fs->compute.kind = AT_ROOT;
    if (fs->store.line && (!placed || fs->compute.kind == AT_INLINE)) {
        Place place = sch_place(r->arena, fs->store.line);
        fault_raise(r->fault, ERR_STORE_WITHOUT_COMPUTE, &place, f->name);
    }
    if (fs->async && (!placed || fs->compute.kind == AT_INLINE)) {
        Place place = sch_place(r->arena, fs->async);
        fault_raise(r->fault, ERR_ASYNC_INLINE, &place, f->name);
    }
    check_hoist(r, fs, placed);
    if (fs->ring && !fs->store.line) {
        Place place = sch_place(r->arena, fs->ring_line);
        fault_raise(r->fault, ERR_RING_STORE, &place, f->name);
    }
    const PlanLine *watch = fs->profile ? fs->profile : fs->trace;
    if (watch && fs->compute.kind == AT_INLINE) {
        Place place = sch_place(r->arena, watch);
        fault_raise(r->fault, ERR_WATCH_INLINE, &place, f->name);
    }
    if (!fs->store.line) fs->store = fs->compute;
    const PlanLine *line = fs->compute.kind == AT_INLINE ? first_loop_line(r->s->plan, f) : NULL;
    if (line) {
        Place place = sch_place(r->arena, line);
        fault_raise(r->fault, ERR_INLINE_LOOPS, &place, f->name);
    }
    if (fs->storage.line && fs->compute.kind == AT_INLINE) {
        Place place = sch_place(r->arena, fs->storage.line);
        fault_raise(r->fault, ERR_STORAGE_INLINED, &place, f->name);
    }
}

/* A schedule does not reach a Func's updates: the trap of those who meet them first. */
static void warn_updates(Resolve *r, const FuncSched *fs) {
    bool touched = false;
    for (int i = 0; i < fs->stage.n; i++) touched |= fs->stage.at[i].touched;
    for (int i = 1; touched && i < fs->stage.n; i++) {
        if (fs->stage.at[i].touched) continue;
        r->s->warned = true;
        alg_warning(fs->func->ctx, ERR_WARN_UPDATE, &(Place){ .loc = fs->stage.at[i].def->loc }, fs->func->name,
                    sch_stage_name(r->arena, fs->func, i));
    }
}

/* undef keeps what the caller's buffer holds. */
static void check_undef(Resolve *r, const Func *f) {
    if (f->is_input || sch_is_output(r->s, f)) return;
    for (int i = 0; i < f->n; i++) {
        if (f->def.at[0]->value[i]->op != OP_UNDEF) continue;
        Place place = { .loc = f->def.at[0]->loc, .object = arena_printf(r->arena, "define %s", f->name) };
        fault_raise(r->fault, ERR_UNDEF_INNER, &place, f->name);
    }
}

/* What an extern stage reads is memory: at root, where nothing else is said. */
static void place_inputs(Resolve *r, const Func *f) {
    if (!alg_is_whole(f)) return;
    Whole w = alg_whole(f);
    for (int i = 0; i < w.n_in; i++) {
        FuncSched *in = pm_get(&r->s->sched, w.in[i]);
        if (in && !in->compute.line) in->compute.kind = AT_ROOT;
    }
}

static void check_inputs(Resolve *r, const FuncSched *fs) {
    if (!alg_is_whole(fs->func)) return;
    Whole w = alg_whole(fs->func);
    for (int i = 0; i < w.n_in; i++) {
        const FuncSched *in = pm_get(&r->s->sched, w.in[i]);
        if (!in || in->compute.kind != AT_INLINE) continue;
        Place place = sch_place(r->arena, in->compute.line);
        fault_raise(r->fault, ERR_STAGE_INPUT, &place, in->func->name, fs->func->name);
    }
}

static _Noreturn void no_loop(Resolve *r, const PlanLine *line, const StageSched *st, const char *loop) {
    Place place = sch_place(r->arena, line);
    fault_raise(r->fault, ERR_NO_LOOP, &place, loop, sch_stage_name(r->arena, st->func, st->index), sch_loop_names(r->arena, st));
}

/* A line that says where a level is, is of a stage that has the loop. */
static void check_said(Resolve *r, const PlanLine *line) {
    const FuncSched *fs = line->d.kind == MLC_LEVEL && line->d.n > 1 ? pm_get(&r->s->sched, line->func) : NULL;
    const StageSched *st = fs ? &fs->stage.at[line->stage] : NULL;
    if (st && !sch_has_loop(st, loop_name(line, 1))) no_loop(r, line, st, loop_name(line, 1));
}

/* The consumer of a level must have the loop, in the stage asked for or in any. */
static void check_level(Resolve *r, const Level *at) {
    if (at->kind != AT_LOOP || !at->func || !at->loop) return;
    Place place = sch_place(r->arena, at->line);
    FuncSched *fs = pm_get(&r->s->sched, at->func);
    if (fs->compute.kind == AT_INLINE) fault_raise(r->fault, ERR_AT_INLINED, &place, at->func->name);
    for (int i = 0; i < fs->stage.n; i++)
        if ((at->stage < 0 || at->stage == i) && sch_has_loop(&fs->stage.at[i], at->loop)) return;
    no_loop(r, at->line, &fs->stage.at[at->stage < 0 ? 0 : at->stage], at->loop);
}

Schedule *sch_resolve(Interner *I, const struct mlc_plan *plan, Func *const *outputs, int n) {
    Schedule *s = ARENA_NEW(I->arena, Schedule);
    Resolve r = { .ir = I, .arena = I->arena, .fault = I->fault, .s = s };
    s->ctx = plan->ctx;
    s->arena = I->arena;
    if (n < 1 || n > MAX_OUTPUTS) fault_raise(r.fault, ERR_OUTPUT_COUNT, NULL, n);
    Derived derived = sch_derive(I, plan, outputs, n);
    s->plan = plan = derived.plan;
    r.lines = derived.lines;
    s->rewrites = derived.rewrites;
    memcpy(s->output, derived.output, sizeof s->output);
    s->n_outputs = n;
    s->order = alg_order(I->arena, s->output, n);
    pm_init(&s->sched, I->arena);
    for (int i = 0; i < s->order.n; i++)
        if (!s->order.at[i]->is_input) pm_put(&s->sched, s->order.at[i], sch_new_sched(&r, s->order.at[i]));
    for (int i = 0; i < plan->line.n; i++) apply_line(&r, &plan->line.at[i]);
    if (derived.lines) s->order = alg_order(I->arena, s->output, n); /* with what rfactor made */
    for (int i = 0; i < plan->line.n; i++) check_said(&r, &plan->line.at[i]);
    for (int i = 0; i < s->order.n; i++)
        if (alg_is_whole(s->order.at[i])) sch_whole_loops(&r, &((FuncSched *)pm_get(&s->sched, s->order.at[i]))->stage.at[0]);
    for (int i = 0; i < s->order.n; i++) {
        FuncSched *fs = pm_get(&s->sched, s->order.at[i]);
        if (fs) settle_levels(&r, fs);
    }
    sch_derive_lanes(&r);
    if (derived.lines) s->order = alg_order(I->arena, s->output, n);
    for (int i = 0; i < s->order.n; i++) check_undef(&r, s->order.at[i]);
    for (int i = 0; i < s->order.n; i++) place_inputs(&r, s->order.at[i]);
    for (int i = 0; i < s->order.n; i++) {
        FuncSched *fs = pm_get(&s->sched, s->order.at[i]);
        if (fs) fill_defaults(&r, fs);
    }
    for (int i = 0; i < s->order.n; i++) {
        FuncSched *fs = pm_get(&s->sched, s->order.at[i]);
        if (!fs) continue;
        check_level(&r, &fs->compute);
        check_level(&r, &fs->store);
        check_level(&r, &fs->hoist);
        check_inputs(&r, fs);
        sch_check_memo(&r, fs);
        sch_check_bounds(&r, fs);
        for (int k = 0; k < fs->stage.n; k++) sch_check_prefetches(&r, &fs->stage.at[k]), sch_check_streams(&r, &fs->stage.at[k]), sch_check_tensor(&r, &fs->stage.at[k]);
        warn_updates(&r, fs);
    }
    sch_find_groups(&r);
    return s;
}
