/* gen_loops.c - directives about the loops of a stage: what splits, joins, orders and marks them, its
 * specializations and prefetches. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

static const char *left_side(const Plan *p, int k, int stage, char *out, size_t size) {
    const char *line = p->line_of[k][stage] ? p->line_of[k][stage] : "", *end = strchr(line, '=');
    size_t n = end ? (size_t)(end - line) : strlen(line);
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), line);
    return strchr(out, '(') ? strchr(out, '(') : out;
}

/* A pure Var of an update has a loop only where it stands on the left. */
static bool is_on_left(const Plan *p, int k, int stage, int d) {
    char text[160];
    const char *c = left_side(p, k, stage, text, sizeof text), v = *arg_name(func_of(p, k), d);
    for (; *c; c++)
        if (*c == v && (c[-1] == '(' || c[-1] == ' ') && (c[1] == ',' || c[1] == ')')) return true;
    return false;
}

bool stores_at_vars(const Plan *p, int k) {
    const GenFunc *f = func_of(p, k);
    for (int s = 1; s <= f->updates; s++)
        for (int d = 0; d < f->rank; d++)
            if (!is_on_left(p, k, s, d)) return false;
    return true;
}

/* Does it store where data says? */
static bool scatters(const Plan *p, const Nest *n) {
    char text[160];
    return n->stage && strstr(left_side(p, n->func, n->stage, text, sizeof text), "index(");
}

void start_nest(Plan *p, int k, int stage) {
    Nest *n = &p->nest[k][stage];
    const GenFunc *f = func_of(p, k);
    *n = (Nest){ .func = k, .stage = stage, .shared = MAX_LOOPS };
    if (stage) {
        const char *rdom = f->update_rdom[stage - 1], *line = p->line_of[k][stage];
        const char *used = line ? strstr(line, rdom) : NULL, *end = line ? strchr(line, '\n') : NULL;
        int rvars = used && end && used < end ? f->update_rvars[stage - 1] : 0; /* a domain not used has no loops */
        for (int i = 0; i < rvars; i++) {
            Loop *l = &n->loop[n->n++];
            snprintf(l->name, sizeof l->name, rvars == 1 ? "%s" : i ? "%s.y" : "%s.x", rdom);
            l->rvar = true;
            l->dim = -1;
        }
    }
    for (int d = 0; d < f->rank; d++) {
        if (stage && !is_on_left(p, k, stage, d)) continue;
        Loop *l = &n->loop[n->n++];
        snprintf(l->name, sizeof l->name, "%s", arg_name(f, d));
        l->dim = d;
        if (f->output) l->size = (int)f->extent[d];
    }
}

bool is_named(const Loop *l) {
    return !strchr(l->name, '$');
}

static Loop *some_loop(Plan *p, Nest *n) {
    return n->n ? &n->loop[gen_below(p->g, n->n)] : NULL;
}

int a_factor(Plan *p) {
    static const int factors[] = { 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 32, 64, 2, 4, 8, 3 };
    return factors[gen_below(p->g, 16)];
}

void insert_loop(Nest *n, int at, Loop l) {
    memmove(&n->loop[at + 1], &n->loop[at], sizeof *n->loop * (size_t)(n->n - at));
    n->loop[at] = l;
    n->n++;
}

/* ---- tails ---- */

typedef struct {
    const char *name;
    bool again, past, blends, innermost;
} Tail;

/* Those that sizes or stages may rule out are tried more often. */
static const Tail tails[] = {
    { .name = "auto" }, { .name = "guard" }, { .name = "predicate" },
    { .name = "round", .past = true }, { .name = "round", .past = true },
    { .name = "shift", .again = true }, { .name = "shift", .again = true },
    { .name = "round_blend", .past = true, .blends = true }, { .name = "round_blend", .past = true, .blends = true },
    { .name = "shift_blend", .again = true, .blends = true }, { .name = "shift_blend", .again = true, .blends = true },
    { .name = "predicate_loads", .past = true, .innermost = true }, { .name = "predicate_loads", .past = true, .innermost = true },
    { .name = "predicate_stores", .past = true, .innermost = true },
};
enum { N_TAILS = sizeof tails / sizeof *tails };

static bool fits(Plan *p, const Nest *n, const Loop *l, int factor, const Tail *t) {
    if (!t->again && !t->past) return true;
    if (l->rvar || (t->blends && !n->stage) || (t->again && !t->blends && n->stage)) return false;
    if (t->innermost && (l->outer || (!strcmp(t->name, "predicate_loads") && scatters(p, n)))) return false;
    if (l->extent) return t->again ? l->extent >= factor : l->extent % factor == 0;
    if (func_of(p, n->func)->output) return l->size && (t->again ? l->size >= factor : l->size % factor == 0);
    return !t->again || (factor < 5 && one_in(p, 3)); /* how long it is shows at the call */
}

static const Tail *a_tail(Plan *p, const Nest *n, const Loop *l, int factor) {
    for (int tries = 0; tries < 4; tries++) {
        const Tail *t = &tails[gen_below(p->g, N_TAILS)];
        if (p->careless || one_in(p, 400) || fits(p, n, l, factor, t)) return t;
    }
    return &tails[0];
}

const char *tail_of_kernel(Plan *p, const Nest *n, int first, int count, int *by) {
    static const int small[] = { 1, 2, 3, 4, 5, 7, 8, 16 };
    const Tail *t = &tails[gen_below(p->g, N_TAILS)];
    for (int i = 0; i < count; i++) by[i] = small[gen_below(p->g, 8)];
    bool fit = !t->again && !t->blends;
    for (int i = 0; i < count; i++) fit &= fits(p, n, &n->loop[first + i], by[i], t);
    return fit || p->careless || one_in(p, 200) ? t->name : one_in(p, 2) ? "auto" : "guard";
}

/* ---- changes of the nest ---- */

static void parts_of(const Loop *old, int factor, const Tail *t, Loop *out, Loop *in) {
    *in = (Loop){ .rvar = old->rvar, .dim = old->dim, .extent = factor, .last = t->innermost, .overlaps = old->overlaps || t->blends };
    *out = (Loop){ .rvar = old->rvar, .dim = old->dim, .outer = true, .overlaps = old->overlaps || t->blends || t->again,
                   .size = (old->size + factor - 1) / factor };
}

void split_loop(const Loop *old, int factor, Loop *out, Loop *in) {
    parts_of(old, factor, &tails[1], out, in);
}

static void split(Plan *p, Nest *n) {
    if (!n->n || n->n + 1 >= MAX_LOOPS) return;
    int i = gen_below(p->g, n->n), by = a_factor(p);
    Loop old = n->loop[i], in, out;
    if (old.used || (old.last && !p->careless)) return;
    const Tail *t = a_tail(p, n, &old, by);
    parts_of(&old, by, t, &out, &in);
    snprintf(out.name, sizeof out.name, "o%d", p->g->next_name);
    snprintf(in.name, sizeof in.name, "n%d", p->g->next_name++);
    put(p, "split", "%s, %s, %s, %d, .tail = %s", old.name, out.name, in.name, by, t->name);
    n->loop[i] = in;
    insert_loop(n, i + 1, out);
}

/* Two splits; the four loops take the places of the two, inner pair inside. */
static void tile(Plan *p, Nest *n) {
    if (n->n < 2 || n->n + 2 >= MAX_LOOPS) return;
    int i = gen_below(p->g, n->n - 1), k = i + 1 + gen_below(p->g, n->n - 1 - i), id = p->g->next_name++;
    int fx = a_factor(p), fy = a_factor(p);
    Loop x = n->loop[i], y = n->loop[k], l[4];
    if (x.used || y.used || (!p->careless && (x.rvar || y.rvar || x.last || y.last))) return;
    const Tail *t = a_tail(p, n, &x, fx);
    if (!p->careless && !fits(p, n, &y, fy, t)) t = &tails[1];
    parts_of(&x, fx, t, &l[2], &l[0]);
    parts_of(&y, fy, t, &l[3], &l[1]);
    static const char *const name[4] = { "ux", "uy", "tx", "ty" };
    for (int j = 0; j < 4; j++) snprintf(l[j].name, sizeof l->name, "%s%d", name[j], id);
    put(p, "tile", "%s, %s, %s, %s, %s, %s, %d, %d, .tail = %s", x.name, y.name, l[2].name, l[3].name, l[0].name, l[1].name, fx, fy, t->name);
    /* the places of x and of y hold an outer and an inner loop each: the four fill them from inside out */
    n->loop[i] = l[0];
    insert_loop(n, i + 1, l[1]);
    n->loop[k + 1] = l[2];
    insert_loop(n, k + 2, l[3]);
}

static void fuse(Plan *p, Nest *n) {
    if (n->n < 2) return;
    int i = gen_below(p->g, n->n - 1);
    for (int k = 0; k + 1 < n->n && !one_in(p, 4); k++) /* rather two whose size is known: a vector of both */
        if (n->loop[k].extent && n->loop[k + 1].extent) i = k;
    Loop *a = &n->loop[i], *b = &n->loop[i + 1];
    if (a->rvar != b->rvar || a->used || b->used || (!p->careless && (a->last || b->last))) return;
    Loop both = { .rvar = a->rvar, .fused = true, .dim = -1, .overlaps = a->overlaps || b->overlaps,
                  .extent = a->extent * b->extent <= 64 ? a->extent * b->extent : 0 };
    snprintf(both.name, sizeof both.name, "j%d", p->g->next_name++);
    put(p, "fuse", "%s, %s, %s", a->name, b->name, both.name);
    n->loop[i] = both;
    memmove(&n->loop[i + 1], &n->loop[i + 2], sizeof *n->loop * (size_t)(n->n - i - 2));
    n->n--;
}

/* A permutation that keeps the order of RVars among themselves. */
static void reorder(Plan *p, Nest *n) {
    char names[256] = "";
    if (n->n < 2 || n->n > 8) return;
    for (int i = 0; i < n->n; i++)
        if (!is_named(&n->loop[i])) return;
    for (int tries = 0; tries < 6; tries++) {
        int i = gen_below(p->g, n->n - 1);
        Loop a = n->loop[i], b = n->loop[i + 1];
        if (a.rvar && b.rvar && !p->careless) continue;
        n->loop[i] = b;
        n->loop[i + 1] = a;
    }
    for (int i = 0; i < n->n; i++) snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", n->loop[i].name);
    put(p, "reorder", "%s", names);
}

static void rename_loop(Plan *p, Nest *n) {
    Loop *l = some_loop(p, n);
    if (!l || !is_named(l)) return;
    put(p, "rename", "%s, w%d", l->name, p->g->next_name);
    snprintf(l->name, sizeof l->name, "w%d", p->g->next_name++);
}

/* ---- marks ---- */

typedef enum { SERIAL, VECTORIZE, UNROLL, PARALLEL } Mark;
static const char *const mark_name[] = { "serial", "vectorize", "unroll", "parallel" };

/* mark(v, n): v stays the outer loop, the inner one has a name of its own that no later line uses. */
static void mark_by_factor(Plan *p, Nest *n, Mark kind, int i) {
    Loop *l = &n->loop[i], out, in;
    int by = kind == UNROLL ? 1 + gen_below(p->g, 5) : a_factor(p);
    if (!p->careless && kind == VECTORIZE && by < 2) by = 4;
    if (n->n + 1 >= MAX_LOOPS || (l->last && !p->careless)) return;
    const Tail *t = a_tail(p, n, l, by);
    if (kind == PARALLEL && !p->careless && (t->again || t->blends)) t = &tails[1];
    put(p, mark_name[kind], "%s, %d, .tail = %s", l->name, by, t->name);
    parts_of(l, by, t, &out, &in);
    memcpy(out.name, l->name, sizeof out.name);
    snprintf(in.name, sizeof in.name, "%.18s$%c", l->name, mark_name[kind][0]);
    in.used = true;
    in.vector = kind == VECTORIZE;
    out.used = out.parallel = kind == PARALLEL;
    *l = out;
    insert_loop(n, i, in);
}

/* May iterations of loop i that meet run at once?  Lanes have nothing but serial RVars inside, and no other schedules. */
static bool may_meet(const Nest *n, Mark kind, int i) {
    bool lanes = !n->special && n->n + 2 < MAX_LOOPS;
    for (int k = 0; k < i; k++) lanes &= n->loop[k].rvar && !n->loop[k].parallel;
    return n->atomic && (kind == VECTORIZE ? lanes : n->exact);
}

/* May the loop have this mark? */
static bool may_be(Plan *p, const Nest *n, Mark kind, int i) {
    const Loop *l = &n->loop[i];
    for (int k = 0; kind == VECTORIZE && k < n->n; k++)
        if (n->loop[k].vector) return false;
    if (l->rvar && (kind == VECTORIZE || kind == PARALLEL) && !may_meet(n, kind, i) && !one_in(p, 12)) return false;
    if (kind == PARALLEL && (n->gpu || l->overlaps) && !one_in(p, 50)) return false;
    return true;
}

static void mark_as(Plan *p, Loop *l, Mark kind) {
    l->used = kind != SERIAL;
    l->vector = kind == VECTORIZE;
    l->parallel = kind == PARALLEL;
    put(p, mark_name[kind], "%s", l->name);
}

static void mark(Plan *p, Nest *n) {
    static const Mark often[] = { SERIAL, VECTORIZE, VECTORIZE, VECTORIZE, VECTORIZE, UNROLL, UNROLL, PARALLEL, PARALLEL };
    if (!n->n) return;
    Mark kind = often[gen_below(p->g, 9)];
    int i = kind == VECTORIZE && !one_in(p, 3) ? 0 : gen_below(p->g, n->n);
    Loop *l = &n->loop[i];
    if (l->used || (!p->careless && !may_be(p, n, kind, i))) return;
    if (kind != SERIAL && one_in(p, 3)) {
        mark_by_factor(p, n, kind, i);
        return;
    }
    if (!p->careless) {
        if (kind == VECTORIZE && l->extent < 2) return;
        if (kind == UNROLL && (!l->extent || l->extent > 8)) return;
        if (kind == PARALLEL && i == 0 && n->n > 1 && !one_in(p, 3)) return; /* outer loops mostly */
    }
    mark_as(p, l, kind);
}

static void atomic(Plan *p, Nest *n) {
    bool folds = n->stage && is_fold(p, n, &n->exact);
    if (p->careless ? !n->stage && !one_in(p, 4) : !folds || n->atomic || n->gpu) return;
    put(p, "atomic", "%s", folds && n->exact && !one_in(p, 4) ? "" : ".reassociate");
    n->atomic = true;
    mark(p, n);
}

static void fuse_and_mark(Plan *p, Nest *n) {
    fuse(p, n);
    for (int i = 0; i < n->n; i++)
        if (n->loop[i].fused && n->loop[i].extent > 1 && !n->loop[i].used && may_be(p, n, VECTORIZE, i)) {
            mark_as(p, &n->loop[i], VECTORIZE);
            return;
        }
    mark(p, n);
}

static const struct {
    int weight;
    void (*draw)(Plan *p, Nest *n);
} moves[] = { { 4, split }, { 1, tile }, { 1, fuse_and_mark }, { 1, reorder }, { 3, mark }, { 1, atomic } };
enum { N_MOVES = sizeof moves / sizeof *moves };

static void move(Plan *p, Nest *n) {
    int sum = 0, i = 0;
    for (int k = 0; k < N_MOVES; k++) sum += moves[k].weight;
    for (int left = gen_below(p->g, sum); left >= moves[i].weight; i++) left -= moves[i].weight;
    moves[i].draw(p, n);
}

/* ---- what is said last ---- */

static bool is_read(const Plan *p, int k) {
    for (int c = 0; c < p->g->n_funcs; c++)
        for (int s = 0; s <= p->g->func[c].updates; s++)
            if (!p->g->func[c].unplanned && reads(p, c, s, k)) return true;
    return false;
}

/* A bool of what is known at a call; false where one of its kind is there already, so that it might never hold. */
static bool condition(Plan *p, Nest *nest, char *out, size_t size) {
    Gen *g = p->g;
    int kind = gen_below(g, 6), n = gen_below(g, 9), input = gen_below(g, g->n_inputs);
    const GenFunc *in = &g->func[input], *f = &g->func[g->n_funcs - 1];
    const GenParam *a = g->n_params ? &g->param[gen_below(g, g->n_params)] : NULL;
    bool sizes = kind > 0 && kind < 4, usable = kind == 0 ? is_read(p, input) : sizes ? f->rank > 0 : a != NULL;
    if (!p->careless && (!usable || nest->conditions & 1u << (sizes ? 1 : kind / 4))) return false;
    nest->conditions |= 1u << (sizes ? 1 : kind / 4);
    if (kind == 0) snprintf(out, size, "%s.extent.0 > %d && %s.stride.0 == 1", in->name, n, in->name);
    else if (kind == 1) snprintf(out, size, "out.extent.0 %% %d == 0", 2 + n);
    else if (kind == 2) snprintf(out, size, "out.extent.0 == %ld", (long)f->extent[0] + gen_below(g, 2));
    else if (kind == 3) snprintf(out, size, "out.extent.%d > %d", f->rank - 1, n);
    else snprintf(out, size, "%s %s %d", a ? a->name : "true", kind == 4 ? "==" : ">", n);
    return true;
}

/* How many of the outermost loops are the same in both. */
static int shared_loops(const Nest *a, const Nest *b) {
    int n = 0;
    while (n < a->n && n < b->n) {
        const Loop *x = &a->loop[a->n - 1 - n], *y = &b->loop[b->n - 1 - n];
        if (strcmp(x->name, y->name) || y->vector || x->parallel != y->parallel || x->block != y->block) break;
        n++;
    }
    return n;
}

/* The stage so far with other loops, which later lines do not know. */
static void specialize_one(Plan *p, Nest *so_far, int deep) {
    char cond[96];
    for (int i = 0; i < so_far->n && !p->careless; i++)
        if (so_far->loop[i].rvar && so_far->loop[i].vector) return; /* lanes are another algorithm */
    if (!condition(p, so_far, cond, sizeof cond)) return;
    Nest n = *so_far;
    bool in_braces = p->in_braces;
    int lines = p->lines;
    n.atomic &= p->careless;
    if (in_braces) gen_put(p->g, "%s", lines ? ", " : "");
    else gen_put(p->g, "    %s: ", p->stage);
    gen_put(p->g, "specialize(%s) { ", cond);
    p->in_braces = true;
    p->lines = 0;
    for (int i = gen_below(p->g, 3); i > 0; i--) move(p, &n);
    if (p->g->gpu && one_in(p, 2)) kernel(p, &n);
    if (deep < 2 && one_in(p, 6)) specialize_one(p, &n, deep + 1);
    if (one_in(p, 8) && !(n.gpu && !one_in(p, 8))) prefetch(p, &n, gen_below(p->g, p->g->n_inputs));
    if (!n.special) mark(p, &n);
    p->in_braces = in_braces;
    p->lines = lines + 1;
    gen_put(p->g, in_braces ? " }" : " };\n");
    int shared = shared_loops(so_far, &n);
    if (n.shared < shared) shared = n.shared;
    if (shared < so_far->shared) so_far->shared = shared;
    so_far->special = true;
}

static void specialize(Plan *p, Nest *n) {
    if (n->shares && !p->careless) return;
    for (int i = 0; i < 3 && (i == 0 || one_in(p, 4)); i++) specialize_one(p, n, 0);
}

/* What has a policy is not split any more. */
static void partition(Plan *p, Nest *n) {
    static const char *const policies[] = { "never", "auto", "always" };
    const Loop *l = some_loop(p, n);
    bool shared = l && n->n - 1 - (int)(l - n->loop) < n->shares;
    if (l && is_named(l) && (!shared || p->careless)) put(p, "partition", "%s, %s", l->name, policies[one_in(p, 24) ? 2 : gen_below(p->g, 2)]);
}

/* Stores rarely: most memory is not aligned for them, which ends the run. */
static void stream(Plan *p, Nest *n) {
    bool vector = p->careless, rvars = false;
    if (n->gpu && !one_in(p, 20)) return;
    for (int i = 0; i < n->n; i++) vector |= n->loop[i].vector, rvars |= n->loop[i].rvar;
    if (vector && one_in(p, 2)) put(p, "stream_loads", "%s", "");
    if (vector && one_in(p, 4) && (!rvars || p->careless)) put(p, "stream_stores", "%s", "");
}

static void fail(Plan *p, Nest *n) {
    if (!n->special && !p->careless) return;
    put(p, "specialize_fail", "\"none\"");
    n->failed = true;
}

void prefetch(Plan *p, const Nest *n, int f) {
    static const char *const bounds[] = { "", ", .bounds = clamp", ", .bounds = guard", ", .bounds = non_faulting" };
    int vector = -1;
    for (int i = 0; i < n->n && !p->careless; i++)
        if (n->loop[i].vector) vector = i;
    if (vector + 1 >= n->n || (!p->careless && !reads(p, n->func, n->stage, f))) return;
    int at = vector + 1 + gen_below(p->g, n->n - vector - 1), from = at + gen_below(p->g, n->n - at);
    if (!is_named(&n->loop[at]) || !is_named(&n->loop[from])) return;
    put(p, "prefetch", "%s, %s, %s, %d%s", func_of(p, f)->name, n->loop[at].name, n->loop[from].name, 1 + gen_below(p->g, 4),
        bounds[gen_below(p->g, 4)]);
}

/* In this order: a specialization knows the names of its time, nothing may follow fail. */
static const struct {
    int one_in;
    void (*draw)(Plan *p, Nest *n);
} last[] = { { 6, rename_loop }, { 2, share }, { 8, specialize }, { 6, partition }, { 12, stream }, { 24, fail } };

void loops(Plan *p, Nest *n) {
    if (p->g->gpu) start_kernel(p, n);
    for (int i = gen_below(p->g, n->gpu ? 4 : 6); i > 0; i--) move(p, n);
    if (!one_in(p, n->gpu ? 2 : 3)) mark(p, n);
    if (p->g->gpu && !one_in(p, 10)) kernel(p, n);
    for (int i = 0; i < (int)(sizeof last / sizeof *last); i++)
        if (one_in(p, last[i].one_in)) last[i].draw(p, n);
}
