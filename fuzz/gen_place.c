/* gen_place.c - where a Func is computed and stored, its memory, and promises about its box. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

/* Stages that read func k directly or through inlined Funcs: as bits of (func, stage). */
static void consumers(const Plan *p, int k, bool at[FUNCS][MOST_STAGES]) {
    for (int c = 0; c < n_all(p); c++)
        for (int s = 0; s <= func_of(p, c)->updates; s++) {
            if (!reads(p, c, s, k)) continue;
            if (p->inlined[c]) consumers(p, c, at);
            else at[c][s] = true;
        }
}

static const Nest *nest_of(const Plan *p, const Site *s) {
    return &p->nest[s->func][s->stage];
}

static const Loop *loop_at(const Plan *p, const Site *s) {
    return &nest_of(p, s)->loop[s->loop];
}

/* The loops that all consumers of k stand in, outermost first, as far as a Func may be computed there. */
static Path common_path(const Plan *p, bool at[FUNCS][MOST_STAGES]) {
    Path all = { .n = -1 };
    for (int c = 0; c < n_all(p); c++)
        for (int s = 0; s < MOST_STAGES; s++) {
            if (!at[c][s]) continue;
            const Nest *nest = &p->nest[c][s];
            Path own = p->around[c];
            for (int i = nest->n - 1; i >= 0 && nest->n - i <= nest->shared; i--) own.at[own.n++] = leading_site(p, (Site){ c, s, i });
            int n = 0;
            while (n < own.n && (all.n < 0 || (n < all.n && !memcmp(&all.at[n], &own.at[n], sizeof(Site))))) n++;
            own.n = n;
            all = own;
        }
    for (int i = 0; i < all.n; i++) {
        const Loop *l = loop_at(p, &all.at[i]);
        if (l->vector || !is_named(l)) all.n = i;
    }
    return all;
}

static void put_site(Plan *p, const char *directive, const Site *s) {
    const GenFunc *f = func_of(p, s->func);
    if (p->n_levels < (int)(sizeof p->level / sizeof *p->level) && one_in(p, 10)) {
        put(p, directive, "l%d", p->n_levels);
        p->level[p->n_levels++] = *s;
        return;
    }
    char stage[8] = "";
    if (f->updates && s->stage) strcpy(stage, s->stage == 1 ? ".u0" : s->stage == 2 ? ".u1" : ".u2");
    put(p, directive, "%s%s, %s", f->name, stage, loop_at(p, s)->name);
}

void put_levels(Plan *p) {
    for (int i = 0; i < p->n_levels; i++) {
        at_stage(p, func_of(p, p->level[i].func), p->level[i].stage);
        put(p, "level", "l%d, %s", i, loop_at(p, &p->level[i])->name);
    }
}

void call_loops(Plan *p, int k) {
    const GenFunc *f = func_of(p, k);
    char head[32];
    snprintf(head, sizeof head, "extern stage %s:", f->name);
    const char *line = strstr(p->g->text, head), *fn = line ? strchr(line, '=') : NULL;
    bool more = fn && !strncmp(fn, "= blocks", 8); /* writes more than the slice that it is asked for */
    if (!f->rank || !one_in(p, more ? 20 : 2)) return;
    int d = gen_below(p->g, f->rank), at = p->g->next_name;
    switch (gen_below(p->g, 4)) {
    case 0: put(p, "serial", "_%d", d); break;
    case 1: put(p, "parallel", "_%d, %d", d, a_factor(p)); break;
    default:
        p->g->next_name += 2;
        put(p, "split", "_%d, w%d, w%d, %d", d, at, at + 1, a_factor(p));
        put(p, one_in(p, 2) ? "serial" : "parallel", "w%d", at);
    }
}

/* A task of its own, which what is stored outside of it must let run ahead: rarely. */
static bool task(Plan *p, bool ring) {
    if (p->g->gpu && !p->careless && !one_in(p, 30)) return false;
    bool own = one_in(p, p->careless ? 3 : 5) && (p->careless || ring || !p->stored || one_in(p, 6));
    if (own) put(p, "async", "%s", "");
    return own;
}

/* Memory for all iterations of the loops inside of the place, around loop `store` of the path, that can share it. */
static void hoist(Plan *p, const Path *path, int store) {
    int to = gen_below(p->g, store + 1) - 1;
    for (int m = store; m > to && !p->careless; m--)
        if (loop_at(p, &path->at[m])->parallel) to = m;
    if (to < 0) put(p, "hoist_storage_root", "%s", "");
    else put_site(p, "hoist_storage", &path->at[to]);
}

/* May memory stand at path.at[j - 1] (j 0: at root) for what is computed at path.at[i]?  Loops between must run one
 * after the other, and a stage with specializations has no common place for it. */
static bool may_store(const Plan *p, const Path *path, int j, int i) {
    for (int m = j; m <= i; m++)
        if (loop_at(p, &path->at[m])->parallel || nest_of(p, &path->at[m])->special) return false;
    return true;
}

/* A serial loop right inside of those of blocks: threads of the block fill rings there, mostly ahead. */
static bool ring_of_block(Plan *p, int k, const Path *path) {
    int i = 1;
    while (i < path->n && !(loop_at(p, &path->at[i - 1])->block && !loop_at(p, &path->at[i])->parallel)) i++;
    if (!p->g->gpu || p->careless || i >= path->n || func_of(p, k)->stage || !may_store(p, path, i, i) || one_in(p, 3)) return false;
    put_site(p, "store_at", &path->at[i - 1]);
    put_site(p, "compute_at", &path->at[i]);
    put(p, "ring_buffer", "%d", 2 + gen_below(p->g, 3));
    if (!one_in(p, 4)) put(p, "async", "%s", "");
    p->stored = true;
    p->folds = -1;
    p->around[k] = *path;
    p->around[k].n = i + 1;
    return true;
}

static void compute_inside(Plan *p, int k, const Path *path) {
    Gen *g = p->g;
    if (ring_of_block(p, k, path)) return;
    int i = one_in(p, 3) ? gen_below(g, path->n) : path->n - 1 - gen_below(g, path->n < 2 ? 1 : 2), j = gen_below(g, i + 2);
    for (int m = path->n - 1; p->g->gpu && m >= 0; m--) /* mostly in the blocks of a kernel, for their threads */
        if (loop_at(p, &path->at[m])->block && !one_in(p, 3)) i = m, j = m + 1, m = 0;
    for (; i + 1 < path->n && loop_at(p, &path->at[i])->block && loop_at(p, &path->at[i + 1])->block && !p->careless; j++) i++; /* nothing between blocks */
    bool stores = !func_of(p, k)->stage && one_in(p, 2) && j <= i;
    p->stored = stores && (p->careless || may_store(p, path, j, i) || one_in(p, 50));
    if (p->stored && j) put_site(p, "store_at", &path->at[j - 1]);
    else if (p->stored) put(p, "store_root", "%s", "");
    put_site(p, "compute_at", &path->at[i]);
    bool ring = p->g->gpu && !one_in(p, 20) ? false : p->stored ? one_in(p, 3) : p->careless && one_in(p, 8);
    if (ring) put(p, "ring_buffer", "%d", 1 + gen_below(g, 3));
    p->folds = p->stored && !ring ? loop_at(p, &path->at[i])->dim : -1;
    bool turns = task(p, ring) || ring;
    int kept = p->stored ? j - 1 : i;
    if (kept >= 0 && (p->careless || (!turns && !func_of(p, k)->stage)) && one_in(p, 3)) hoist(p, path, kept);
    p->around[k] = *path;
    p->around[k].n = i + 1;
}

bool place(Plan *p, int k) {
    const GenFunc *f = func_of(p, k);
    if (f->output) return true;
    bool at[FUNCS][MOST_STAGES] = { 0 };
    consumers(p, k, at);
    p->folds = -1;
    Path path = common_path(p, at);
    int kind = gen_below(p->g, 10);
    if (!f->reduction && !f->whole && !f->stage && (path.n < 0 || kind < 2)) {
        p->inlined[k] = true;
        if (kind == 0) put(p, "compute_inline", "%s", "");
        return false;
    }
    if (path.n >= 1 && kind >= 4) {
        compute_inside(p, k, &path);
    } else {
        put(p, "compute_root", "%s", "");
        bool own = task(p, false);
        if ((!own || p->careless) && one_in(p, p->g->gpu ? 90 : 6)) put(p, "memoize", "%s", one_in(p, 2) ? "7" : "");
    }
    return true;
}

/* ---- memory and boxes ---- */

static const char *some_arg(Plan *p, const GenFunc *f) {
    return arg_name(f, gen_below(p->g, f->rank));
}

static void reorder_storage(Plan *p, const GenFunc *f) {
    if (f->rank < 2) return;
    int a = gen_below(p->g, f->rank), b = (a + 1 + gen_below(p->g, f->rank - 1)) % f->rank;
    put(p, "reorder_storage", "%s, %s", arg_name(f, a), arg_name(f, b));
}

static void align_storage(Plan *p, const GenFunc *f) {
    put(p, "align_storage", "%s, %d", some_arg(p, f), a_factor(p));
}

/* A kernel makes no checks. */
static bool may_check(Plan *p) {
    return !p->g->gpu || p->careless || one_in(p, 12);
}

static void swizzle(Plan *p, const GenFunc *f) {
    if (f->rank < 2 || (!p->careless && (!p->g->gpu || gpu_level(p, p->at_hand) != OF_BLOCK))) return;
    if (!one_in(p, 4)) put(p, "align_storage", "%s, %d", arg_name(f, 0), 32);
    put(p, "swizzle", "%s, %s", arg_name(f, 0), arg_name(f, 1 + gen_below(p->g, f->rank - 1)));
}

static void bound_storage(Plan *p, const GenFunc *f) {
    if (!may_check(p)) return;
    put(p, "bound_storage", "%s, %d", some_arg(p, f), one_in(p, 8) ? a_factor(p) : 96);
}

static void fold_storage(Plan *p, const GenFunc *f) {
    if (!may_check(p)) return;
    if ((p->folds < 0 || p->folds >= f->rank) && !p->careless) return;
    put(p, "fold_storage", "%s, %d%s", p->careless ? some_arg(p, f) : arg_name(f, p->folds), one_in(p, 3) ? a_factor(p) : 32,
        one_in(p, 3) ? ", .way = both" : one_in(p, 4) ? ", .way = forward" : "");
}

static void store_in(Plan *p, const GenFunc *f) {
    static const char *const gpu[][4] = { { "heap", "heap", "auto", "auto" }, { "heap", "heap", "auto", "auto" },
                                          { "shared", "shared", "register", "auto" }, { "stack", "stack", "auto", "register" } };
    if (p->g->gpu && !p->careless && !one_in(p, 20)) {
        put(p, "store_in", "%s", gpu[gpu_level(p, p->at_hand)][gen_below(p->g, 4)]);
        return;
    }
    static const char *const where[] = { "heap", "heap", "heap", "auto", "auto", "stack", "stack", "register" };
    const char *memory = f->rank ? where[gen_below(p->g, 8)] : where[gen_below(p->g, 2) ? 7 : gen_below(p->g, 7)];
    bool small = *memory == 's' && !one_in(p, 4); /* the stack wants to know how large it is */
    for (int d = 0; d < f->rank && small; d++) put(p, "bound_storage", "%s, %d", arg_name(f, d), f->rank > 2 ? 24 : 80);
    put(p, "store_in", "%s", memory);
}

static void align_bounds(Plan *p, const GenFunc *f) {
    int m = 1 + gen_below(p->g, 9);
    put(p, "align_bounds", "%s, %d, %d", some_arg(p, f), m, gen_below(p->g, m));
}

static void align_extent(Plan *p, const GenFunc *f) {
    put(p, "align_extent", "%s, %d", some_arg(p, f), 1 + gen_below(p->g, 9));
}

static void bound_extent(Plan *p, const GenFunc *f) {
    if (!may_check(p)) return;
    put(p, "bound_extent", "%s, %d", some_arg(p, f), 40 + gen_below(p->g, 80)); /* which may be too small */
}

static const struct {
    int one_in;
    void (*draw)(Plan *p, const GenFunc *f);
    bool vars; /* not of what stores at places of its own */
} of_func[] = {
    { 6, reorder_storage, false }, { 6, align_storage, false }, { 12, bound_storage, false }, { 6, swizzle, false }, { 1, fold_storage, false },
    { 8, store_in, false }, { 16, align_bounds, true }, { 16, align_extent, true }, { 24, bound_extent, true },
};

/* Promises that hold: of an output's box. */
static void promises(Plan *p, const GenFunc *f) {
    Gen *g = p->g;
    int d = gen_below(g, f->rank);
    const char *v = arg_name(f, d);
    long min = (long)f->min[d], extent = (long)f->extent[d], m = 9;
    while (m > 1 && extent % m) m--;
    if (one_in(p, 5) && extent > 0) put(p, "bound", "%s, %ld, %ld", v, min, extent);
    if (one_in(p, 8)) put(p, "estimate", "%s, 0, 1000", v);
    if (one_in(p, 12) && extent > 0) put(p, "bound_extent", "%s, %ld", v, extent);
    if (one_in(p, 12)) put(p, "align_extent", "%s, %ld", v, m);
    else if (one_in(p, 12)) put(p, "align_bounds", "%s, %ld, %ld", v, m, (min % m + m) % m);
}

void memory(Plan *p, int k) {
    p->at_hand = k;
    const GenFunc *f = func_of(p, k);
    if (!f->rank && !f->output) store_in(p, f); /* one value: any memory holds it */
    if (!f->rank) return;
    if (f->output) promises(p, f);
    if (f->output && !(p->careless && one_in(p, 4))) return;
    bool vars = stores_at_vars(p, k) || p->careless;
    for (int i = 0; i < (int)(sizeof of_func / sizeof *of_func); i++)
        if ((vars || !of_func[i].vars) && one_in(p, of_func[i].one_in)) of_func[i].draw(p, f);
    if (p->g->gpu && gpu_level(p, k) == OF_BLOCK && one_in(p, 2)) store_in(p, f);
    if (p->g->gpu && one_in(p, gpu_level(p, k) == OF_BLOCK ? 4 : 60)) put(p, "copy_by", "%s", one_in(p, 4) ? "ldst" : "cp_async");
}
