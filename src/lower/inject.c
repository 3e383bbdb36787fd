/* inject.c - putting a Func into the nest: its place, its box there, its stages, its memory.
 *
 * The place must enclose every reader, or, in a stage with specializations, there is one in each of them that
 * reads it.  Memory stands at the place of computation or around it; loops between the two must be serial,
 * since their iterations share the memory. */
#include "lower/nest.h"

#include <string.h>

bool low_encloses(const Scope *outer, const Scope *inner) {
    while (inner && inner->depth > outer->depth) inner = inner->up;
    return inner == outer;
}

static const StageNest *first_outside(const UseList *uses, const Scope *at) {
    for (int i = 0; i < uses->n; i++)
        if (!low_encloses(at, uses->at[i]->leaf)) return uses->at[i];
    return NULL;
}

/* The innermost scope that encloses every reader. */
static Scope *meet(const UseList *uses) {
    Scope *at = uses->at[0]->leaf;
    while (at->up && first_outside(uses, at)) at = at->up;
    return at;
}

static const char *legal_places(Build *b, const UseList *uses) {
    StrBuf text;
    sb_init(&text, b->arena);
    for (const Scope *s = meet(uses); s; s = s->up) {
        if (!s->dim) continue;
        sb_printf(&text, "compute_at(%s, %s), ", sch_stage_name(b->arena, s->stage->fn->func, s->stage->index),
                  s->dim->name);
    }
    sb_puts(&text, "compute_root()");
    return text.at;
}

Scope *low_find_loop(const StageNest *st, const char *loop) {
    for (int i = 0; i < st->sched->dim.n; i++)
        if (!strcmp(st->sched->dim.at[i].name, loop)) return st->loop[i];
    return NULL;
}

static void add_scope(Build *b, ScopeList *list, Scope *s) {
    for (int i = 0; i < list->n; i++)
        if (list->at[i] == s) return;
    VEC_PUSH(b->arena, list, s);
}

/* This loop of stage `index` of f, around each reader; the first reader that is outside, NULL: none is. */
static const StageNest *loops_around(Build *b, const Func *f, int index, const char *loop, const UseList *uses,
                                     ScopeList *found) {
    const NestList *nests = pm_get(&b->nest, f);
    for (int u = 0; u < uses->n; u++) {
        Scope *around = NULL;
        for (int i = 0; nests && i < nests->n; i++)
            for (int k = 0; k < nests->at[i]->run.n && !around; k++) {
                Scope *s = nests->at[i]->run.at[k]->index == index ? low_find_loop(nests->at[i]->run.at[k], loop) : NULL;
                if (s && low_encloses(s, uses->at[u]->leaf)) around = s;
            }
        if (!around) return uses->at[u];
        add_scope(b, found, around);
    }
    return NULL;
}

/* The innermost places, where all readers are one stage: it, or each of its specializations. */
static void own_places(Build *b, const UseList *uses, ScopeList *found) {
    bool same = true;
    for (int i = 1; i < uses->n; i++)
        same &= uses->at[i]->fn->func == uses->at[0]->fn->func && uses->at[i]->index == uses->at[0]->index;
    for (int i = 0; i < uses->n; i++) add_scope(b, found, same ? uses->at[i]->leaf : b->root);
}

/* The scopes of a level: of the stages that have the loop, the one that encloses every reader, or the loops
 * of its specializations that together do. */
static ScopeList find_level(Build *b, const FuncSched *fs, const Level *level, const UseList *uses) {
    ScopeList found = { 0 };
    if (level->kind == AT_ROOT) {
        add_scope(b, &found, b->root);
        return found;
    }
    if (!level->func) {
        own_places(b, uses, &found);
        return found;
    }
    if (!level->loop) {
        for (int i = 0; i < uses->n; i++) add_scope(b, &found, uses->at[i]->top);
        return found;
    }
    const StageNest *outside = uses->at[0];
    for (int i = 0; i < level->func->def.n; i++) {
        if (level->stage >= 0 && level->stage != i) continue;
        ScopeList around = { 0 };
        const StageNest *bad = loops_around(b, level->func, i, level->loop, uses, &around);
        if (!bad) return around;
        if (around.n) outside = bad;
    }
    Place place = sch_place(b->arena, level->line);
    fault_raise(b->fault, ERR_AT_NOT_ENCLOSING, &place, fs->func->name,
                sch_stage_name(b->arena, outside->fn->func, outside->index), legal_places(b, uses));
}

/* Where what is computed at fn->compute, one of the places, is stored. */
static void find_store(Build *b, FuncNest *fn, const UseList *uses, const ScopeList *places) {
    const FuncSched *fs = fn->sched;
    fn->store = fn->compute;
    if (!fs->store.line) return;
    ScopeList stores = find_level(b, fs, &fs->store, uses);
    Place place = sch_place(b->arena, fs->store.line);
    int i = 0;
    while (i < stores.n && !low_encloses(stores.at[i], fn->compute)) i++;
    if (i == stores.n) fault_raise(b->fault, ERR_STORE_NOT_ENCLOSING, &place, fs->func->name);
    fn->store = low_special_store(b, fs, &fs->store, places, fn->compute, stores.at[i]);
    for (const Scope *s = fn->compute; s != fn->store; s = s->up)
        if (s->var && (sch_spreads(s->kind) || s->kind == LOOP_VECTOR))
            fault_raise(b->fault, ERR_STORE_RACE, &place, s->dim->name, fs->func->name);
}

/* Where its memory is taken. */
static void find_hoist(Build *b, FuncNest *fn, const UseList *uses, const ScopeList *places) {
    const Level *level = &fn->sched->hoist;
    fn->hoist = fn->store;
    if (!level->line) return;
    ScopeList scopes = find_level(b, fn->sched, level, uses);
    int i = 0;
    while (i < scopes.n && !low_encloses(scopes.at[i], fn->store)) i++;
    if (i == scopes.n) {
        Place place = sch_place(b->arena, level->line);
        fault_raise(b->fault, ERR_HOIST_NOT_ENCLOSING, &place, fn->func->name);
    }
    fn->hoist = low_special_store(b, fn->sched, level, places, fn->compute, scopes.at[i]);
    low_hoist_place(b, fn);
}

/* ---- boxes ---- */

static void output_box(Build *b, FuncNest *fn) {
    for (int d = 0; d < fn->func->rank; d++) {
        const Node *min = fn->storage->min[d], *extent = fn->storage->extent[d];
        const Node *last = ir_sub(b->ir, ir_add(b->ir, min, extent), ir_idx(b->ir, 1));
        fn->box[d] = (Interval){ min, sim_simplify(b->ir, b->base, last) };
    }
}

/* The caller's buffer must hold what other outputs read and what updates write. */
static void check_output(Build *b, const FuncNest *fn, const Interval *need) {
    for (int d = 0; d < fn->func->rank; d++) {
        Interval have = fn->box[d];
        if (need[d].lo == have.lo && need[d].hi == have.hi) continue;
        const Node *below = ir_make2(b->ir, OP_LE, have.lo, need[d].lo);
        const Node *above = ir_make2(b->ir, OP_LE, need[d].hi, have.hi);
        const Node *arg[4] = { need[d].lo, need[d].hi, have.lo, have.hi };
        Stmt *check = low_check(b, ir_make2(b->ir, OP_LAND, below, above), ERR_OUTPUT_BOX, fn->func->name,
                                low_number(b, d), 4, arg);
        VEC_PUSH(b->arena, &b->check, check);
    }
}

static void count_node(void *user, const Node *e) {
    *(int *)user += e->op == OP_QUERY ? 10 : 1; /* a call: asked once */
}

static void varies_node(void *user, const Node *e) {
    Build *b = ((void **)user)[0];
    if (e->op == OP_VAR && pm_get(&b->varying, e->u.sym)) ((void **)user)[1] = b;
}

static bool varies(Build *b, const Node *e) {
    void *user[2] = { b, NULL };
    ir_visit(b->arena, e, varies_node, user);
    return user[1] != NULL;
}

const Node *low_name(Build *b, FuncNest *fn, int d, const Node *e, const char *end, const Node *full) {
    const char *name = arena_printf(b->arena, "%s.%s.%s", fn->func->name, fn->func->arg[d]->name, end);
    const Sym *sym = low_sym(b, fn->func, SYM_LET, name);
    if (varies(b, e)) pm_put(&b->varying, sym, (void *)(uintptr_t)1);
    BoxLet let = { sym, e, full };
    VEC_PUSH(b->arena, &fn->compute->box, let);
    return ir_var(b->ir, sym);
}

/* An end of a box that is more than a few operations gets a name, so that chains of boxes stay short. */
static const Node *name_end(Build *b, FuncNest *fn, int d, const Node *e, const char *end, const Node *full) {
    int count = 0;
    ir_visit(b->arena, e, count_node, &count);
    return count <= 9 && !full ? e : low_name(b, fn, d, e, end, full);
}

static Scope *vector_around(Scope *s) {
    while (s && !(s->var && s->kind == LOOP_VECTOR)) s = s->up;
    return s;
}

/* Inside of a vector loop every lane has its own copy: the sizes must agree. */
static bool lanes_differ(Build *b, const FuncNest *fn, const Facts *f) {
    for (int d = 0; d < fn->func->rank; d++)
        if (varies(b, low_length(b, f, fn->box[d]))) return true;
    return false;
}

static void name_box(Build *b, FuncNest *fn, const Facts *f) {
    const Scope *vector = vector_around(fn->compute);
    if (vector && lanes_differ(b, fn, f)) {
        Place place = { .loc = fn->func->loc, .object = arena_printf(b->arena, "schedule %s", fn->func->name) };
        if (fn->sched->compute.line) place = sch_place(b->arena, fn->sched->compute.line);
        fault_raise(b->fault, ERR_AT_IN_VECTOR, &place, fn->func->name, vector->dim->name);
    }
    for (int d = 0; d < fn->func->rank; d++) {
        Interval *i = &fn->box[d];
        const Node *length = low_length(b, f, *i);
        int64_t size;
        i->lo = name_end(b, fn, d, i->lo, "min", fn->slid[d] ? fn->wide[d].lo : NULL);
        if (ir_is_int(length, &size)) i->hi = ir_add(b->ir, i->lo, ir_idx(b->ir, size - 1));
        else i->hi = name_end(b, fn, d, i->hi, "max", NULL);
    }
}

/* The box of an extern stage is what its C function writes where so much is needed. */
static void written_box(Build *b, FuncNest *fn) {
    const Scope *vector = vector_around(fn->compute);
    if (vector) {
        Place place = sch_place(b->arena, fn->sched->compute.line);
        fault_raise(b->fault, ERR_STAGE_VECTOR, &place, fn->func->name, vector->dim->name);
    }
    memset(fn->most, 0, sizeof fn->most);
    low_whole_ask(b, fn, fn->box);
}

/* ---- the whole ---- */

/* Both intervals hold what is needed: the part that they share does, and is no longer than either. */
static Interval within(Build *b, const Facts *f, Interval i, Interval other) {
    Interner *I = b->ir;
    if (!sim_prove(I, f, ir_make2(I, OP_LE, other.lo, i.lo))) i.lo = sim_simplify(I, f, ir_max(I, i.lo, other.lo));
    if (!sim_prove(I, f, ir_make2(I, OP_LE, i.hi, other.hi))) i.hi = sim_simplify(I, f, ir_min(I, i.hi, other.hi));
    return i;
}

/* Constant bounds of the box's length: of the box itself, or of the one that last tiles would have if they
 * were whole. */
static void find_most(Build *b, FuncNest *fn, const Facts *facts) {
    Interval loose[MAX_RANK], box[MAX_RANK];
    int64_t lo;
    bool known = true;
    for (int d = 0; d < fn->func->rank; d++)
        known &= ir_is_int(low_length(b, facts, fn->box[d]), &fn->most[d]);
    if (known || fn->compute == b->root) return;
    memcpy(box, fn->box, sizeof box);
    b->loose = true;
    low_required(b, fn->func, fn->compute, fn->box);
    low_cover_updates(b, fn, facts);
    memcpy(loose, fn->box, sizeof loose);
    memcpy(fn->box, box, sizeof box);
    for (int d = 0; d < fn->func->rank; d++) {
        const Node *length = low_length(b, facts, loose[d]);
        if (!sim_const_bounds(b->ir, facts, length, &lo, &fn->most[d])) fn->most[d] = 0;
        else fn->box[d] = within(b, facts, fn->box[d], loose[d]);
    }
    b->loose = false;
}

/* Of one that slides, as far as kernels need such bounds: of what its first iteration computes, the whole window. */
static void find_slid_most(Build *b, FuncNest *fn, const Facts *facts) {
    Interval box[MAX_RANK];
    int64_t lo;
    if (low_gpu_level(fn->store) == GPU_OF_HOST) return;
    memcpy(box, fn->box, sizeof box);
    b->loose = b->unslid = true;
    low_required(b, fn->func, fn->compute, fn->box);
    low_cover_updates(b, fn, facts);
    for (int d = 0; d < fn->func->rank; d++)
        if (!sim_const_bounds(b->ir, facts, low_length(b, facts, fn->box[d]), &lo, &fn->most[d])) fn->most[d] = 0;
    b->loose = b->unslid = false;
    memcpy(fn->box, box, sizeof box);
}

static void inner_box(Build *b, FuncNest *fn, const Facts *facts) {
    low_required(b, fn->func, fn->compute, fn->box);
    low_cover_updates(b, fn, facts);
    for (int d = 0; d < fn->func->rank; d++) {
        fn->box[d].lo = sim_simplify(b->ir, facts, fn->box[d].lo);
        fn->box[d].hi = sim_simplify(b->ir, facts, fn->box[d].hi);
    }
}

static void find_box(Build *b, FuncNest *fn) {
    Func *f = fn->func;
    const Facts *facts = low_facts(b, NULL, fn->compute);
    if (fn->storage) {
        Interval need[MAX_RANK];
        low_required(b, f, b->root, need);
        output_box(b, fn);
        memcpy(fn->computed, fn->box, sizeof fn->box);
        low_cover_updates(b, fn, facts);
        for (int d = 0; d < f->rank; d++)
            if (need[d].lo) fn->box[d] = low_union(b, facts, fn->box[d], need[d]);
        memcpy(need, fn->box, sizeof need);
        memcpy(fn->box, fn->computed, sizeof fn->box);
        check_output(b, fn, need);
        if (!alg_is_whole(f)) return;
        low_whole_ask(b, fn, need);
        check_output(b, fn, need);
        return;
    }
    inner_box(b, fn, facts);
    Scope *vector = fn->sched->compute.line ? NULL : vector_around(fn->compute);
    while (vector && lanes_differ(b, fn, facts)) { /* nobody asked for this place: go outside of the lanes */
        fn->compute = fn->store = fn->hoist = vector->up;
        facts = low_facts(b, NULL, fn->compute);
        inner_box(b, fn, facts);
        vector = vector_around(fn->compute);
    }
    if (fn->store == fn->compute || fn->sched->ring || !low_slide(b, fn)) find_most(b, fn, facts);
    else find_slid_most(b, fn, facts);
    low_shape_box(b, fn, facts);
    name_box(b, fn, facts);
    if (alg_is_whole(f)) written_box(b, fn);
}

/* Does the computation of fn read f, itself or in what is computed inside of its loops? */
static bool computes_with(Build *b, const FuncNest *fn, const Func *f) {
    const UseList *uses = pm_get(&b->uses, f);
    for (int i = 0; uses && i < uses->n; i++)
        for (const Scope *s = uses->at[i]->leaf; s; s = s->up)
            if (s->stage && s->stage->fn == fn) return true;
    return false;
}

/* Each item encloses those before it.  A task begins where its item stands, so what it does not read goes inside. */
static void add_item(Build *b, Scope *at, FuncNest *fn) {
    VEC_PUSH(b->arena, &at->item, fn);
    bool moves = !fn->sched->async && fn->group->func.n == 1; /* Funcs that share loops stay together */
    for (int i = at->item.n - 1; i > 0 && moves; i--) {
        FuncNest *task = at->item.at[i - 1];
        if (!task->sched->async || task->store != at || computes_with(b, task, fn->func)) break;
        at->item.at[i] = task;
        at->item.at[i - 1] = fn;
    }
}

static void build_stage(Build *b, StageNest *st, const Facts *facts) {
    FuncNest *fn = st->fn;
    if (!st->nesting) low_measure_stage(b, st);
    low_build_stage(b, st);
    low_check_gpu_nest(b, st);
    for (int d = 0; d < fn->func->rank; d++) fn->computed[d] = low_union(b, facts, fn->computed[d], st->covered[d]);
    low_runs(b, st);
    low_check_fail(b, st);
    for (int i = 0; i < st->special.n; i++) build_stage(b, st->special.at[i], facts);
}

/* Its stages without loops, and its box. */
static FuncNest *begin(Build *b, FuncSched *fs, const ScopeList *places, int place, GroupNest *g) {
    FuncNest *fn = ARENA_NEW(b->arena, FuncNest);
    const UseList *uses = pm_get(&b->uses, fs->func);
    *fn = (FuncNest){ .sched = fs, .func = fs->func, .group = g, .storage = pm_get(&b->external, fs->func), .compute = places->at[place] };
    fn->store = fn->hoist = fn->compute;
    if (!fn->storage) find_store(b, fn, uses, places), find_hoist(b, fn, uses, places);
    low_check_gpu_place(b, fn);
    low_async_place(b, fn);
    low_ring_place(b, fn);
    VEC_PUSH(b->arena, (NestList *)pm_get(&b->nest, fs->func), fn);
    for (int i = 0; i < fs->stage.n; i++) {
        StageNest *st = low_new_stage(b, fn, &fs->stage.at[i]);
        VEC_PUSH(b->arena, &fn->stage, st);
    }
    find_box(b, fn);
    fn->wanted = low_wanted(b, fn, uses);
    memcpy(fn->computed, fn->box, sizeof fn->box);
    return fn;
}

/* Its memory, and what it reads. */
static void finish(Build *b, FuncNest *fn) {
    for (int i = 0; i < fn->run.n; i++) low_note_uses(b, fn->run.at[i]);
    low_check_gpu_func(b, fn);
    low_check_copy(b, fn);
    if (!fn->storage) low_allocate(b, fn);
    low_check_gpu_checks(b, fn);
    add_item(b, fn->compute, fn);
    if (fn->store != fn->compute) add_item(b, fn->store, fn);
    if (fn->hoist != fn->store) add_item(b, fn->hoist, fn);
}

static StageNest *nest_of(const GroupNest *g, const StageSched *sched) {
    for (int i = 0; sched && i < g->func.n; i++)
        if (g->func.at[i]->func == sched->func) return g->func.at[i]->stage.at[sched->index];
    return NULL; /* nothing reads it */
}

static void inject_at(Build *b, const FuncGroup *all, GroupNest *g) {
    for (int i = 0; i < all->stage.n; i++) {
        StageNest *st = nest_of(g, all->stage.at[i]);
        if (!st) continue;
        VEC_PUSH(b->arena, &g->stage, st);
        st->leader = nest_of(g, all->stage.at[i]->with.leader);
        if (st->leader) VEC_PUSH(b->arena, &st->leader->follower, st);
    }
    const Facts *facts = low_facts(b, NULL, g->func.at[0]->compute);
    if (g->func.n > 1) /* a shared loop is as long as all its stages need */
        for (int i = 0; i < g->stage.n; i++) low_measure_stage(b, g->stage.at[i]);
    for (int i = 0; i < g->stage.n; i++) build_stage(b, g->stage.at[i], facts);
    for (int i = 0; i < g->func.n; i++) finish(b, g->func.at[i]);
}

static ScopeList places_of(Build *b, const FuncSched *fs) {
    const UseList *uses = pm_get(&b->uses, fs->func);
    ScopeList places = { 0 };
    if (pm_has(&b->external, fs->func)) add_scope(b, &places, b->root);
    else if (fs->compute.kind != AT_INLINE && uses) places = find_level(b, fs, &fs->compute, uses);
    return places; /* none: it is inlined, or read by inlined definitions alone, in parts that are gone */
}

/* Funcs that share loops are at one place. */
static void check_place(Build *b, const FuncGroup *g, const Func *f, const ScopeList *places, const Scope *at) {
    if (g->func.n == 1 || (places->n == 1 && places->at[0] == at)) return;
    for (int i = 0; i < g->stage.n; i++) {
        const StageSched *st = g->stage.at[i], *leader = st->with.leader;
        if (!leader || (st->func != f && leader->func != f)) continue;
        Place place = sch_place(b->arena, st->with.line.at[0]);
        fault_raise(b->fault, ERR_WITH_PLACES, &place, st->func->name, leader->func->name);
    }
}

void low_inject(Build *b, const FuncGroup *g) {
    int n = g->func.n;
    ScopeList *places = ARENA_ARRAY(b->arena, ScopeList, n), *first = NULL;
    for (int i = 0; i < n; i++) {
        places[i] = places_of(b, g->func.at[i]);
        if (!places[i].n) continue;
        if (!first) first = &places[i];
        check_place(b, g, g->func.at[i]->func, &places[i], first->at[0]);
        pm_put(&b->nest, g->func.at[i]->func, ARENA_NEW(b->arena, NestList));
    }
    for (int k = 0; first && k < first->n; k++) {
        GroupNest *nest = ARENA_NEW(b->arena, GroupNest);
        for (int i = 0; i < n; i++) {
            FuncNest *fn = places[i].n ? begin(b, g->func.at[i], &places[i], k, nest) : NULL;
            if (fn) VEC_PUSH(b->arena, &nest->func, fn);
        }
        inject_at(b, g, nest);
    }
}
