/* gen_plan.c - random plans for a random program.
 *
 * Funcs are placed consumers first, so that the loops a producer may be computed at are known.  What
 * is drawn keeps the rules of legality that need no proof (RVars keep their order, shift-inwards on
 * pure definitions only, nothing below a vector loop); a careless plan keeps none. */
#include "gen.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LOOPS = 12, MOST_WRAPS = 6, FUNCS = GEN_MAX_FUNCS + MOST_WRAPS };

typedef struct {
    char name[24];
    bool rvar, vector, parallel, used, fused; /* used: already marked parallel, vector or unrolled */
    bool outer, last; /* outer part of a split; a tail lets nobody split it again */
    bool blend;       /* a tail of what it stems from reads and stores again: not parallel */
    int extent; /* constant, 0: not known */
} Loop;

typedef struct {
    Loop loop[MAX_LOOPS]; /* innermost first */
    int n;
} Nest;

/* A loop of a stage, as a place to be computed at. */
typedef struct {
    int func, stage, loop;
} Site;

/* The loops around a stage, outermost first. */
typedef struct {
    Site at[FUNCS * MAX_LOOPS];
    int n;
} Path;

/* A Func that in, clone_in or rfactor makes; its number comes behind those of the program's. */
typedef struct {
    GenFunc f;
    int of, consumer; /* consumer -1: all */
    int parts;        /* of which stage it is the parts, 0: of none */
    bool clone;
} Wrap;

typedef struct {
    Gen *g;
    Wrap wrap[MOST_WRAPS];
    int n_wraps;
    Nest nest[FUNCS][4]; /* stage 0, then updates */
    bool inlined[FUNCS];
    Path around[FUNCS];  /* where it is computed: empty at root */
    const char *line_of[FUNCS][4]; /* definitions, in the program's text */
    bool careless, stored; /* stored: the Func at hand is stored outside of where it is computed */
    bool output; /* the Func at hand is one of the program's */
    int lines;
} Plan;

static const char *const var_name[] = { "x", "y", "z" };

/* An input's are those of its wrapper. */
static const char *arg_name(const GenFunc *f, int d) {
    static const char *const of_input[] = { "_0", "_1", "_2" };
    return f->input ? of_input[d] : var_name[d];
}

static int n_all(const Plan *p) {
    return p->g->n_funcs + p->n_wraps;
}

static const Wrap *wrap_of(const Plan *p, int k) {
    return k < p->g->n_funcs ? NULL : &p->wrap[k - p->g->n_funcs];
}

static const GenFunc *func_of(const Plan *p, int k) {
    return k < p->g->n_funcs ? &p->g->func[k] : &wrap_of(p, k)->f;
}

/* Opens a directive: `name(`. */
static void begin(Plan *p, const char *directive) {
    gen_put(p->g, "%s%s(", p->lines++ ? ", " : "", directive);
    gen_count(p->g, directive);
}

static void open_stage(Plan *p, const GenFunc *f, int stage) {
    p->lines = 0;
    if (stage) gen_put(p->g, "    %s.u%d: ", f->name, stage - 1);
    else gen_put(p->g, "    %s: ", f->name);
}

static void close_stage(Plan *p) {
    if (p->lines) {
        gen_put(p->g, ";\n");
    } else { /* nothing was drawn: take the opening back */
        while (p->g->n && p->g->text[p->g->n - 1] != '\n') p->g->n--;
        p->g->text[p->g->n] = 0;
    }
}

static void start_nest(Nest *n, const GenFunc *f, int stage, const char *line) {
    memset(n, 0, sizeof *n);
    if (stage) {
        const char *rdom = f->update_rdom[stage - 1], *used = strstr(line, rdom), *end = strchr(line, '\n');
        int rvars = used && end && used < end ? f->update_rvars[stage - 1] : 0; /* a domain not used has no loops */
        for (int i = 0; i < rvars; i++) {
            Loop *l = &n->loop[n->n++];
            snprintf(l->name, sizeof l->name, rvars == 1 ? "%s" : i ? "%s.y" : "%s.x", f->update_rdom[stage - 1]);
            l->rvar = true;
        }
    }
    for (int d = 0; d < f->rank; d++) {
        if (stage) { /* a pure Var of an update has a loop only where it stands on the left */
            char left[64];
            const char *end = strchr(line, '=');
            size_t len = end ? (size_t)(end - line) : strlen(line);
            snprintf(left, sizeof left, "%.*s", (int)(len < 63 ? len : 63), line);
            char *open = strchr(left, '(');
            bool found = false;
            for (char *c = open; c && *c; c++)
                found |= *c == *var_name[d] && (c[-1] == '(' || c[-1] == ' ') && (c[1] == ',' || c[1] == ')');
            if (!found) continue;
        }
        snprintf(n->loop[n->n++].name, sizeof n->loop[0].name, "%s", arg_name(f, d));
    }
}

/* A tail of the loop: those for all loops come first, then those for Vars, last what updates may not have and what
 * only the innermost split of a dimension may. */
static const char *tail(Plan *p, const Loop *l, int factor, bool pure) {
    static const char *const tails[] = { "tail auto", "tail guard", "tail auto", "tail predicate", "tail guard", "tail auto",
                                         "tail round", "tail round_blend", "tail shift_blend", "tail shift",
                                         "tail predicate_loads", "tail predicate_stores" };
    bool any = !l->rvar && (!p->output || gen_below(p->g, 8) == 0); /* an output's sizes are given */
    if (l->extent && l->extent % factor && gen_below(p->g, 8)) any = false; /* a rounded piece of a tile */
    int n = p->careless ? 12 : !any ? 6 : l->outer ? 9 + pure : 12, k = gen_below(p->g, n);
    if (k == 9 && !pure && !p->careless) k = 3;
    gen_count(p->g, tails[k]);
    return tails[k] + 5;
}

static bool for_innermost(const char *tail) {
    return !strncmp(tail, "predicate_", 10);
}

static bool blends(const char *tail) {
    return strstr(tail, "_blend") != NULL;
}

static int a_factor(Plan *p) {
    static const int factors[] = { 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 32, 64, 2, 4, 8, 3 };
    return factors[gen_below(p->g, 16)];
}

static void insert(Nest *n, int at, Loop l) {
    memmove(&n->loop[at + 1], &n->loop[at], sizeof *n->loop * (size_t)(n->n - at));
    n->loop[at] = l;
    n->n++;
}

static void split(Plan *p, Nest *n, bool pure) {
    if (!n->n || n->n + 1 >= MAX_LOOPS) return;
    int i = gen_below(p->g, n->n), factor = a_factor(p);
    Loop old = n->loop[i];
    if (old.used || (old.last && !p->careless)) return;
    Loop in = { .rvar = old.rvar, .extent = factor }, out = { .rvar = old.rvar, .outer = true };
    const char *how = tail(p, &old, factor, pure);
    in.last = for_innermost(how);
    in.blend = out.blend = old.blend || blends(how);
    snprintf(out.name, sizeof out.name, "o%d", p->g->next_name);
    snprintf(in.name, sizeof in.name, "n%d", p->g->next_name++);
    begin(p, "split");
    gen_put(p->g, "%s, %s, %s, %d, .tail = %s)", old.name, out.name, in.name, factor, how);
    n->loop[i] = in;
    insert(n, i + 1, out);
}

/* Two splits; the four loops take the places of the two, inner pair inside. */
static void tile(Plan *p, Nest *n, bool pure) {
    if (n->n < 2 || n->n + 2 >= MAX_LOOPS) return;
    int i = gen_below(p->g, n->n - 1), k = i + 1 + gen_below(p->g, n->n - 1 - i);
    Loop x = n->loop[i], y = n->loop[k];
    if (x.used || y.used || (!p->careless && (x.rvar || y.rvar || x.last || y.last))) return;
    int id = p->g->next_name++, fx = a_factor(p), fy = a_factor(p);
    const char *name[4] = { "tx", "ty", "ux", "uy" };
    x.outer |= y.outer;
    x.rvar |= y.rvar;
    if (!x.extent || x.extent % fx == 0) x.extent = y.extent % fy;
    const char *how = tail(p, &x, fx, pure);
    x.blend |= y.blend || blends(how);
    Loop l[4] = { { .extent = fx, .last = for_innermost(how) }, { .extent = fy, .last = for_innermost(how) }, { .outer = true }, { .outer = true } };
    for (int j = 0; j < 4; j++) snprintf(l[(j + 2) % 4].name, sizeof l->name, "%s%d", name[j], id), l[j].rvar = x.rvar, l[j].blend = x.blend;
    begin(p, "tile");
    gen_put(p->g, "%s, %s, %s, %s, %s, %s, %d, %d, .tail = %s)", x.name, y.name, l[2].name, l[3].name, l[0].name, l[1].name, fx, fy, how);
    /* the places of x and of y hold an outer and an inner loop each: the four fill them from inside out */
    n->loop[i] = l[0];
    insert(n, i + 1, l[1]);
    n->loop[k + 1] = l[2];
    insert(n, k + 2, l[3]);
}

static void fuse(Plan *p, Nest *n) {
    if (n->n < 2) return;
    int i = gen_below(p->g, n->n - 1);
    for (int k = 0; k + 1 < n->n && gen_below(p->g, 4); k++) /* rather two whose size is known: a vector of both */
        if (n->loop[k].extent && n->loop[k + 1].extent) i = k;
    Loop *a = &n->loop[i], *b = &n->loop[i + 1];
    if (a->rvar != b->rvar || a->used || b->used || (!p->careless && (a->last || b->last))) return;
    Loop fused = { .rvar = a->rvar, .fused = true, .blend = a->blend || b->blend, .extent = a->extent * b->extent <= 64 ? a->extent * b->extent : 0 };
    snprintf(fused.name, sizeof fused.name, "j%d", p->g->next_name++);
    begin(p, "fuse");
    gen_put(p->g, "%s, %s, %s)", a->name, b->name, fused.name);
    n->loop[i] = fused;
    memmove(&n->loop[i + 1], &n->loop[i + 2], sizeof *n->loop * (size_t)(n->n - i - 2));
    n->n--;
}

/* A permutation that keeps the order of RVars among themselves. */
static void reorder(Plan *p, Nest *n) {
    if (n->n < 2) return;
    Nest before = *n;
    for (int tries = 0; tries < 6; tries++) {
        int i = gen_below(p->g, n->n - 1);
        Loop a = n->loop[i], b = n->loop[i + 1];
        if (a.rvar && b.rvar && !p->careless) continue;
        n->loop[i] = b;
        n->loop[i + 1] = a;
    }
    bool named = n->n <= 8;
    for (int i = 0; i < n->n; i++) named &= !strchr(n->loop[i].name, '$');
    if (!named) {
        *n = before;
        return;
    }
    begin(p, "reorder");
    for (int i = 0; i < n->n; i++) gen_put(p->g, "%s%s", i ? ", " : "", n->loop[i].name);
    gen_put(p->g, ")");
}

static const char *const mark_name[] = { "serial", "vectorize", "unroll", "parallel" };
static const char *const mark_by[] = { "serial", "vectorize by", "unroll by", "parallel by" };

/* mark(v, n): v stays the outer loop, the inner one has a name of its own that no later line uses. */
static void mark_by_factor(Plan *p, Nest *n, int kind, int i, bool pure) {
    Loop *l = &n->loop[i];
    int factor = kind == 2 ? 1 + gen_below(p->g, 5) : a_factor(p);
    if (!p->careless && kind == 1 && factor < 2) factor = 4;
    if (n->n + 1 >= MAX_LOOPS) return;
    gen_count(p->g, mark_by[kind]);
    if (l->last && !p->careless) return;
    begin(p, mark_name[kind]);
    const char *how = tail(p, l, factor, pure);
    if (blends(how) && kind == 3 && !p->careless) how = "guard";
    gen_put(p->g, "%s, %d, .tail = %s)", l->name, factor, how);
    l->outer = true;
    l->blend |= blends(how);
    Loop in = { .rvar = l->rvar, .used = true, .vector = kind == 1, .extent = factor };
    snprintf(in.name, sizeof in.name, "%.18s$%c", l->name, mark_name[kind][0]);
    if (kind == 3) l->used = l->parallel = true, in.used = true;
    l->extent = 0;
    insert(n, i, in);
}

static void mark(Plan *p, Nest *n, bool pure) {
    if (!n->n) return;
    static const int often[] = { 0, 1, 1, 1, 1, 2, 2, 3, 3 };
    int kind = often[gen_below(p->g, 9)], i = kind == 1 && gen_below(p->g, 3) ? 0 : gen_below(p->g, n->n);
    for (int k = 0; kind == 1 && k < n->n; k++)
        if (n->loop[k].fused && n->loop[k].extent > 1 && gen_below(p->g, 2)) i = k;
    Loop *l = &n->loop[i];
    if (l->used) return;
    for (int k = 0; kind == 1 && !p->careless && k < n->n; k++)
        if (n->loop[k].vector) return;
    if (!p->careless && l->rvar && (kind == 1 || kind == 3)) return;
    if (kind && gen_below(p->g, 3) == 0) {
        mark_by_factor(p, n, kind, i, pure);
        return;
    }
    if (!p->careless) {
        if (kind == 3 && l->blend && gen_below(p->g, 8)) return;
        if (kind == 1 && l->extent < 2) return;
        if (kind == 2 && (!l->extent || l->extent > 8)) return;
        if (kind == 3 && i == 0 && n->n > 1 && gen_below(p->g, 3)) return; /* outer loops mostly */
    }
    if (kind == 1 && i > 0) gen_count(p->g, "vectorize outer");
    if (kind == 1 && l->fused) gen_count(p->g, "vectorize fused");
    l->used = kind != 0;
    l->vector = kind == 1;
    l->parallel = kind == 3;
    begin(p, mark_name[kind]);
    gen_put(p->g, "%s)", l->name);
}

/* Does the text of stage s of func c read func k? */
static bool text_reads(const Plan *p, int c, int s, int k) {
    char needle[24];
    const char *line = p->line_of[c][s], *end = line ? strchr(line, '\n') : NULL, *hit = line ? strchr(line, '=') : NULL;
    if (c < p->g->n_funcs && p->g->func[c].stage) return p->g->func[c].reads == k;
    if (!hit || c == k) return false;
    snprintf(needle, sizeof needle, "%s(", func_of(p, k)->name);
    for (hit = strstr(hit, needle); hit && hit < end; hit = strstr(hit + 1, needle))
        if (strchr(" ({[-!~", hit[-1])) return true;
    return false;
}

/* ... once in and clone_in have changed who reads whom? */
static bool reads_before_rfactor(const Plan *p, int c, int s, int k) {
    const Wrap *of = wrap_of(p, c), *read = wrap_of(p, k);
    if (of && !of->clone) return s == 0 && of->of == k;
    int text = of ? of->of : c, first = read ? read->of : k;
    if (!text_reads(p, text, s, first)) return false;
    for (int i = 0; i < p->n_wraps; i++) {
        const Wrap *w = &p->wrap[i];
        if (!w->parts && w->of == first && (w->consumer == c || w->consumer < 0)) return w == read;
    }
    return !read;
}

/* ... and rfactor, which moves all that an update reads to its parts? */
static bool reads(const Plan *p, int c, int s, int k) {
    const Wrap *of = wrap_of(p, c), *read = wrap_of(p, k);
    if (read && read->parts) return read->of == c && read->parts == s;
    if (of && of->parts) return s == 1 && reads_before_rfactor(p, of->of, of->parts, k);
    for (int i = 0; i < p->n_wraps; i++)
        if (p->wrap[i].of == c && p->wrap[i].parts == s && s) return false;
    return reads_before_rfactor(p, c, s, k);
}

/* Stages that read func k directly or through inlined Funcs: as bits of (func, stage). */
static void consumers(const Plan *p, int k, bool at[FUNCS][4]) {
    for (int c = 0; c < n_all(p); c++)
        for (int s = 0; s <= func_of(p, c)->updates; s++) {
            if (!reads(p, c, s, k)) continue;
            if (p->inlined[c]) consumers(p, c, at);
            else at[c][s] = true;
        }
}

/* The definitions' lines in the program's text. */
static void find_lines(Plan *p) {
    for (int k = 0; k < p->g->n_funcs; k++) {
        char head[24];
        int stage = 0, len = snprintf(head, sizeof head, "%s(", p->g->func[k].name);
        for (const char *l = p->g->text; l && *l && stage < 4; l = strchr(l, '\n'), l = l ? l + 1 : NULL)
            if (!strncmp(l, head, (size_t)len)) p->line_of[k][stage++] = l;
    }
}

/* The loops that all consumers of k stand in, outermost first, as far as a Func may be computed there. */
static Path common_path(const Plan *p, bool at[FUNCS][4]) {
    Path all = { .n = -1 };
    for (int c = 0; c < n_all(p); c++)
        for (int s = 0; s < 4; s++) {
            if (!at[c][s]) continue;
            Path own = p->around[c];
            for (int i = p->nest[c][s].n - 1; i >= 0; i--) own.at[own.n++] = (Site){ c, s, i };
            int n = 0;
            while (n < own.n && (all.n < 0 || (n < all.n && !memcmp(&all.at[n], &own.at[n], sizeof(Site))))) n++;
            own.n = n;
            all = own;
        }
    for (int i = 0; i < all.n; i++) {
        const Loop *l = &p->nest[all.at[i].func][all.at[i].stage].loop[all.at[i].loop];
        if (l->vector || strchr(l->name, '$')) all.n = i;
    }
    return all;
}

static void put_site(Plan *p, const char *directive, const Site *s) {
    begin(p, directive);
    gen_put(p->g, "%s", func_of(p, s->func)->name);
    if (func_of(p, s->func)->updates && s->stage) gen_put(p->g, ".u%d", s->stage - 1);
    gen_put(p->g, ", %s)", p->nest[s->func][s->stage].loop[s->loop].name);
}

static bool runs_at_once(const Plan *p, const Site *s) {
    return p->nest[s->func][s->stage].loop[s->loop].parallel;
}

/* A task of its own: where the place is wrong for one, the plan is refused. */
static bool task(Plan *p) {
    bool own = gen_below(p->g, p->careless ? 3 : 5) == 0;
    if (own) begin(p, "async"), gen_put(p->g, ")");
    return own;
}

/* Memory for all iterations of the loops inside of the place, around loop `store` of the path, that can share it. */
static void hoist(Plan *p, const Path *path, int store) {
    int to = gen_below(p->g, store + 1) - 1;
    for (int m = store; m > to && !p->careless; m--)
        if (runs_at_once(p, &path->at[m])) to = m;
    if (to < 0) begin(p, "hoist_storage_root"), gen_put(p->g, ")");
    else put_site(p, "hoist_storage", &path->at[to]);
}

static bool place(Plan *p, int k) {
    Gen *g = p->g;
    const GenFunc *f = func_of(p, k);
    if (f->output) return true;
    bool at[FUNCS][4] = { 0 };
    consumers(p, k, at);
    Path path = common_path(p, at);
    int kind = gen_below(g, 10);
    if (!f->reduction && !f->whole && !f->stage && (path.n < 0 || kind < 2)) {
        p->inlined[k] = true;
        if (kind == 0) begin(p, "compute_inline"), gen_put(g, ")");
        return false;
    }
    if (path.n < 1 || kind < 4) {
        begin(p, "compute_root"), gen_put(g, ")");
        task(p);
        return true;
    }
    int i = gen_below(g, 3) ? path.n - 1 - gen_below(g, path.n < 2 ? 1 : 2) : gen_below(g, path.n), store = f->stage ? 0 : gen_below(g, 2);
    int j = gen_below(g, i + 1);
    bool at_once = false;
    for (int m = store && j < i ? j + 1 : 0; m <= i; m++) at_once |= runs_at_once(p, &path.at[m]);
    if (store && (!at_once || p->careless || gen_below(g, 20) == 0)) {
        p->stored = true;
        if (j < i) put_site(p, "store_at", &path.at[j]);
        else if (!at_once) begin(p, "store_root"), gen_put(g, ")");
        else p->stored = false;
    }
    put_site(p, "compute_at", &path.at[i]);
    bool turns = (p->stored && gen_below(g, 3) == 0) || (p->careless && gen_below(g, 8) == 0);
    if (turns) begin(p, "ring_buffer"), gen_put(g, "%d)", 1 + gen_below(g, 3));
    turns |= task(p);
    int kept = !p->stored ? i : j < i ? j : -1;
    if (kept >= 0 && (p->careless || (!turns && !f->stage)) && gen_below(g, 3) == 0) hoist(p, &path, kept);
    p->around[k] = path;
    p->around[k].n = i + 1;
    return true;
}

/* Of the memory of a Func that is computed: any layout is legal, but sizes and places may be refused. */
static void memory(Plan *p, const GenFunc *f) {
    if (!f->rank || (f->output && !(p->careless && gen_below(p->g, 4) == 0))) return;
    if (f->rank > 1 && gen_below(p->g, 6) == 0) {
        int a = gen_below(p->g, f->rank), b = (a + 1 + gen_below(p->g, f->rank - 1)) % f->rank;
        begin(p, "reorder_storage");
        gen_put(p->g, "%s, %s)", arg_name(f, a), arg_name(f, b));
    }
    if (gen_below(p->g, 6) == 0) {
        begin(p, "align_storage");
        gen_put(p->g, "%s, %d)", arg_name(f, gen_below(p->g, f->rank)), a_factor(p));
    }
    if (gen_below(p->g, 12) == 0) {
        begin(p, "bound_storage");
        gen_put(p->g, "%s, %d)", arg_name(f, gen_below(p->g, f->rank)), gen_below(p->g, 4) ? 64 : a_factor(p));
    }
    if (p->stored && gen_below(p->g, 4) == 0) {
        begin(p, "fold_storage");
        gen_put(p->g, "%s, %d%s)", arg_name(f, gen_below(p->g, f->rank)), gen_below(p->g, 3) ? 32 : a_factor(p),
                gen_below(p->g, 3) ? "" : ", .way = both");
    }
    if (gen_below(p->g, 8) == 0) {
        static const char *const where[] = { "heap", "heap", "heap", "heap", "heap", "stack", "stack", "register" };
        begin(p, "store_in");
        gen_put(p->g, "%s)", where[gen_below(p->g, 8)]);
    }
}

static bool named(const Loop *l) {
    return !strchr(l->name, '$');
}

static void rename_loop(Plan *p, Nest *n) {
    Loop *l = n->n ? &n->loop[gen_below(p->g, n->n)] : NULL;
    if (!l || !named(l)) return;
    begin(p, "rename");
    gen_put(p->g, "%s, w%d)", l->name, p->g->next_name);
    snprintf(l->name, sizeof l->name, "w%d", p->g->next_name++);
}

/* The last of a stage: what has a policy is not split any more. */
static void part(Plan *p, Nest *n) {
    static const char *const policies[] = { "never", "never", "auto", "always" };
    const Loop *l = n->n ? &n->loop[gen_below(p->g, n->n)] : NULL;
    if (!l || !named(l)) return;
    const char *how = policies[gen_below(p->g, gen_below(p->g, 6) ? 3 : 4)];
    begin(p, "partition");
    gen_put(p->g, "%s, %s)", l->name, how);
    gen_count(p->g, how);
}

static void move(Plan *p, Nest *n, bool pure) {
    int kind = gen_below(p->g, 10);
    if (kind < 4) split(p, n, pure);
    else if (kind == 4) tile(p, n, pure);
    else if (kind == 5) fuse(p, n), mark(p, n, pure);
    else if (kind == 6) reorder(p, n);
    else mark(p, n, pure);
}

/* A bool of what is known at a call. */
static void condition(Plan *p) {
    Gen *g = p->g;
    const GenFunc *in = &g->func[gen_below(g, g->n_inputs)], *out = &g->func[g->n_funcs - 1];
    const GenParam *a = g->n_params ? &g->param[gen_below(g, g->n_params)] : NULL;
    int kind = gen_below(g, 5), n = gen_below(g, 9);
    if (kind == 0 && in->rank) gen_put(g, "%s.extent.0 > %d && %s.stride.0 == 1", in->name, n, in->name);
    else if (kind == 1 && out->rank) gen_put(g, "out.extent.0 %% %d == 0", 1 + n);
    else if (kind == 2 && out->rank) gen_put(g, "out.extent.0 == %ld", (long)g->out_extent[0] + gen_below(g, 2));
    else if (a && !gen_is_bool(a->type)) gen_put(g, "%s %s %d", a->name, kind == 3 ? "==" : ">", n);
    else if (out->rank) gen_put(g, "out.extent.%d > %d", out->rank - 1, n);
    else gen_put(g, "true");
}

/* The stage so far with other loops, which later lines do not know. */
static void specialize(Plan *p, const Nest *so_far, bool pure) {
    Nest n = *so_far;
    int lines = p->lines;
    begin(p, "specialize");
    condition(p);
    gen_put(p->g, ") { ");
    p->lines = 0;
    for (int i = gen_below(p->g, 3); i > 0; i--) move(p, &n, pure);
    if (gen_below(p->g, 6) == 0) specialize(p, &n, pure);
    mark(p, &n, pure);
    gen_put(p->g, " }");
    p->lines = lines + 1;
}

/* What the stage reads some iterations of a loop later: inputs rather, since Funcs are placed after this. */
static void prefetch(Plan *p, const Nest *n, int k, int stage) {
    static const char *const bounds[] = { "", ", .bounds = guard", ", .bounds = non_faulting" };
    Gen *g = p->g;
    int f = gen_below(g, gen_below(g, 12) ? g->n_inputs : n_all(p)), vector = -1;
    for (int i = 0; i < n->n; i++)
        if (n->loop[i].vector && !p->careless) vector = i;
    if (vector + 1 >= n->n || (!p->careless && !reads(p, k, stage, f))) return;
    int at = vector + 1 + gen_below(g, n->n - vector - 1), from = at + gen_below(g, n->n - at);
    if (strchr(n->loop[at].name, '$') || strchr(n->loop[from].name, '$')) return;
    begin(p, "prefetch");
    gen_put(g, "%s, %s, %s, %d%s)", func_of(p, f)->name, n->loop[at].name, n->loop[from].name, 1 + gen_below(g, 4), bounds[gen_below(g, 3)]);
}

static void loops(Plan *p, int k, int stage) {
    Nest *n = &p->nest[k][stage];
    bool pure = stage == 0;
    for (int i = gen_below(p->g, 6); i > 0; i--) move(p, n, pure);
    if (gen_below(p->g, 3)) mark(p, n, pure);
    bool special = gen_below(p->g, 8) == 0;
    for (int i = 0; special && i < 3 && (i == 0 || gen_below(p->g, 4) == 0); i++) specialize(p, n, pure);
    if (gen_below(p->g, 6) == 0) rename_loop(p, n);
    if (gen_below(p->g, 6) == 0) part(p, n);
    for (int i = 0; i < 2 && gen_below(p->g, 4) == 0; i++) prefetch(p, n, k, stage);
    if (special && gen_below(p->g, 12) == 0) begin(p, "specialize_fail"), gen_put(p->g, "\"none\")"); /* the last line */
}

/* Boxes of inner Funcs grow; a bound of their extent may be too small. */
static void widen(Plan *p, const char *v) {
    Gen *g = p->g;
    int m = 1 + gen_below(g, 9);
    switch (gen_below(g, 12)) {
    case 0: begin(p, "align_bounds"), gen_put(g, "%s, %d, %d)", v, m, gen_below(g, m)); break;
    case 1: begin(p, "align_extent"), gen_put(g, "%s, %d)", v, m); break;
    case 2: begin(p, "bound_extent"), gen_put(g, "%s, %d)", v, 24 + gen_below(g, 80)); break;
    }
}

/* Promises that hold: of the output's box. */
static void promises(Plan *p, const GenFunc *f) {
    Gen *g = p->g;
    if (!f->rank) return;
    int d = gen_below(g, f->rank);
    const char *v = var_name[d];
    if (!f->output) widen(p, v);
    if (strcmp(f->name, "out")) return;
    long min = (long)g->out_min[d], extent = (long)g->out_extent[d];
    if (gen_below(g, 5) == 0 && extent > 0) begin(p, "bound"), gen_put(g, "%s, %ld, %ld)", v, min, extent);
    if (gen_below(g, 8) == 0) begin(p, "estimate"), gen_put(g, "%s, 0, 1000)", v);
    if (gen_below(g, 12) == 0 && extent > 0) begin(p, "bound_extent"), gen_put(g, "%s, %ld)", v, extent);
    long m = 9;
    while (m > 1 && extent % m) m--;
    if (gen_below(g, 12) == 0) begin(p, "align_extent"), gen_put(g, "%s, %ld)", v, m);
    else if (gen_below(g, 12) == 0) begin(p, "align_bounds"), gen_put(g, "%s, %ld, %ld)", v, m, (min % m + m) % m);
}

/* Loops of the parts' stage: what is reduced (or nothing), the pure ones, the new dimension. */
static void parts_nest(Nest *to, const Nest *of, int kept, bool reduced, const char *var) {
    memset(to, 0, sizeof *to);
    for (int i = 0; i < of->n; i++) {
        Loop l = of->loop[i];
        if (i == kept || (l.rvar && !reduced)) continue;
        l.used = false;
        to->loop[to->n++] = l;
    }
    snprintf(to->loop[to->n++].name, sizeof to->loop[0].name, "%s", var);
}

/* `rfactor(q0, r, u1)` of an update that the signs say is a fold; its parts' number, 0: none.  Nothing is split
 * or marked yet but one RVar, so that a loop is left to reduce. */
static int factor(Plan *p, int k, int s) {
    const GenFunc *f = func_of(p, k);
    Nest *n = &p->nest[k][s];
    const char *line = p->line_of[k][s], *sign = line ? strpbrk(line, "=") : NULL;
    int rvars = 0, kept = -1;
    for (int i = 0; i < n->n; i++) rvars += n->loop[i].rvar;
    bool folds = sign && (strchr("+-*", sign[-1]) || !strncmp(sign - 3, "min", 3) || !strncmp(sign - 3, "max", 3));
    if (!rvars || p->n_wraps == MOST_WRAPS || gen_below(p->g, 3) || (!folds && !p->careless)) return 0;
    if (rvars == 1 || gen_below(p->g, 2)) {
        Loop *r = &n->loop[gen_below(p->g, rvars)];
        Loop in = *r, out = *r;
        in.extent = a_factor(p);
        snprintf(out.name, sizeof out.name, "o%d", p->g->next_name);
        snprintf(in.name, sizeof in.name, "n%d", p->g->next_name++);
        begin(p, "split");
        gen_put(p->g, "%s, %s, %s, %d)", r->name, out.name, in.name, in.extent);
        int at = (int)(r - n->loop);
        *r = in;
        insert(n, at + 1, out);
        rvars++;
    }
    kept = gen_below(p->g, rvars);
    Wrap *w = &p->wrap[p->n_wraps];
    char var[16];
    *w = (Wrap){ .f = *f, .of = k, .consumer = -2, .parts = s };
    snprintf(w->f.name, sizeof w->f.name, "q%d", p->g->next_name);
    snprintf(var, sizeof var, "v%d", p->g->next_name++);
    w->f.updates = 1;
    w->f.output = false;
    begin(p, "rfactor");
    bool says = gen_is_float(f->type[0]) || gen_below(p->g, 2);
    gen_put(p->g, "%s, %s, %s%s)", w->f.name, n->loop[kept].name, var, says ? ", .reassociate" : "");
    int at = p->g->n_funcs + p->n_wraps++;
    parts_nest(&p->nest[at][0], n, kept, false, var);
    parts_nest(&p->nest[at][1], n, kept, true, var);
    Nest left = { .n = 0 };
    for (int i = 0; i < n->n; i++)
        if (i == kept || !n->loop[i].rvar) left.loop[left.n++] = n->loop[i];
    *n = left;
    return at;
}

static void schedule_parts(Plan *p, int at) {
    const GenFunc *f = func_of(p, at);
    p->output = false;
    for (int s = 0; s < 2; s++) {
        open_stage(p, f, s);
        if (s == 0) place(p, at);
        loops(p, at, s);
        if (s == 0) memory(p, f);
        close_stage(p);
    }
}

/* Places a Func and schedules its stages. */
static void schedule(Plan *p, int k) {
    const GenFunc *f = func_of(p, k);
    p->stored = false;
    for (int s = 0; s <= f->updates; s++) {
        p->output = f->output;
        open_stage(p, f, s);
        if (!f->stage || p->careless) start_nest(&p->nest[k][s], f, s, p->line_of[k][s] ? p->line_of[k][s] : "");
        bool live = s ? !p->inlined[k] : place(p, k);
        int parts = live && s ? factor(p, k, s) : 0;
        if (live && (!f->stage || p->careless)) loops(p, k, s);
        if (live && s == 0 && !f->stage) promises(p, f), memory(p, f);
        close_stage(p);
        if (parts) schedule_parts(p, parts);
    }
}

/* A reader of func k that has no wrapper of it yet, or -1. */
static int some_reader(const Plan *p, int k) {
    int found[FUNCS], n = 0;
    for (int c = 0; c < p->g->n_funcs; c++)
        for (int s = 0; s <= p->g->func[c].updates; s++)
            if (!p->g->func[c].unplanned && reads(p, c, s, k)) found[n++] = c, s = p->g->func[c].updates;
    return n ? found[gen_below(p->g, n)] : -1;
}

/* `f: in(c, w0)`, and the schedule of w0. */
static void wrap(Plan *p, int k) {
    const GenFunc *f = &p->g->func[k];
    int c = some_reader(p, k);
    const char *line = p->line_of[k][0];
    bool undef = line && !strncmp(strchr(line, '='), "= undef", 7), clone = !f->input && gen_below(p->g, 3) == 0;
    if (p->n_wraps == MOST_WRAPS || f->unplanned || c < 0 || (clone && undef && !p->careless)) return;
    bool all = !clone && gen_below(p->g, 3) == 0;
    Wrap *w = &p->wrap[p->n_wraps];
    *w = (Wrap){ .f = *f, .of = k, .consumer = all ? -1 : c, .clone = clone };
    snprintf(w->f.name, sizeof w->f.name, "w%d", p->g->next_name++);
    w->f.output = false;
    open_stage(p, f, 0);
    begin(p, clone ? "clone_in" : "in");
    if (!all) gen_put(p->g, "%s, ", p->g->func[c].name);
    gen_put(p->g, "%s)", w->f.name);
    close_stage(p);
    int at = p->g->n_funcs + p->n_wraps++;
    if (clone) {
        memcpy(p->line_of[at], p->line_of[k], sizeof p->line_of[k]);
    } else {
        w->f.updates = 0;
        w->f.reduction = w->f.stage = false;
    }
    schedule(p, at);
}

/* `c: eager_inline(f)` of a Func f that vanishes into its uses anyway. */
static void put_in(Plan *p, int k) {
    int c = gen_below(p->g, n_all(p)), s = gen_below(p->g, func_of(p, c)->updates + 1);
    const GenFunc *f = func_of(p, c);
    if (f->unplanned || !reads(p, c, s, k)) return;
    open_stage(p, f, s);
    begin(p, "eager_inline");
    gen_put(p->g, "%s)", p->g->func[k].name);
    close_stage(p);
}

void gen_plan(Gen *g, bool careless) {
    static Plan plan;
    Plan *p = &plan;
    memset(p, 0, sizeof *p);
    p->g = g;
    p->careless = careless;
    find_lines(p);
    gen_put(g, "plan p {\n");
    for (int k = g->n_funcs - 1; k >= 0; k--) {
        p->inlined[k] = g->func[k].unplanned;
        while (gen_below(g, 10) == 0) wrap(p, k);
        if (!g->func[k].unplanned && k >= g->n_inputs) schedule(p, k);
        for (int i = p->inlined[k] ? gen_below(g, 4) : 0; i > 0; i--) put_in(p, k);
    }
    gen_put(g, "}\n");
}
