/* gen_plan.c - random plans for a random program.
 *
 * Funcs are placed consumers first, so that the loops a producer may be computed at are known.  What
 * is drawn keeps the rules of legality that need no proof (RVars keep their order, shift-inwards on
 * pure definitions only, nothing below a vector loop); a careless plan keeps none. */
#include "gen.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LOOPS = 12 };

typedef struct {
    char name[24];
    bool rvar, vector, used; /* used: already marked parallel, vector or unrolled */
    int extent; /* constant, 0: not known */
} Loop;

typedef struct {
    Loop loop[MAX_LOOPS]; /* innermost first */
    int n;
} Nest;

typedef struct {
    Gen *g;
    Nest nest[GEN_MAX_FUNCS][4]; /* stage 0, then updates */
    bool inlined[GEN_MAX_FUNCS], rooted[GEN_MAX_FUNCS];
    int at[GEN_MAX_FUNCS], at_stage[GEN_MAX_FUNCS], at_loop[GEN_MAX_FUNCS]; /* where it is computed, when not root */
    bool careless, output; /* output: the Func at hand is the program's */
    int lines;
} Plan;

static const char *const var_name[] = { "x", "y", "z" };

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
        snprintf(n->loop[n->n++].name, sizeof n->loop[0].name, "%s", var_name[d]);
    }
}

static const char *tail(Plan *p, bool pure) {
    static const char *const tails[] = { "tail auto", "tail guard", "tail round", "tail shift" };
    bool any = p->careless || (pure && (!p->output || gen_below(p->g, 8) == 0)); /* an output's sizes are given */
    const char *t = tails[gen_below(p->g, any ? 4 : 2)];
    gen_count(p->g, t);
    return t + 5;
}

static void split(Plan *p, Nest *n, bool pure) {
    static const int factors[] = { 1, 2, 3, 4, 5, 7, 8, 16 };
    if (!n->n || n->n + 1 >= MAX_LOOPS) return;
    int i = gen_below(p->g, n->n), factor = factors[gen_below(p->g, 8)];
    Loop old = n->loop[i];
    if (old.used) return;
    Loop in = { .rvar = old.rvar, .extent = factor }, out = { .rvar = old.rvar };
    snprintf(out.name, sizeof out.name, "o%d", p->g->next_name);
    snprintf(in.name, sizeof in.name, "n%d", p->g->next_name++);
    begin(p, "split");
    gen_put(p->g, "%s, %s, %s, %d, .tail = %s)", old.name, out.name, in.name, factor, tail(p, pure && !old.rvar));
    memmove(&n->loop[i + 2], &n->loop[i + 1], sizeof *n->loop * (size_t)(n->n - i - 1));
    n->loop[i] = in;
    n->loop[i + 1] = out;
    n->n++;
}

static void fuse(Plan *p, Nest *n) {
    if (n->n < 2) return;
    int i = gen_below(p->g, n->n - 1);
    Loop *a = &n->loop[i], *b = &n->loop[i + 1];
    if (a->rvar != b->rvar || a->used || b->used) return;
    Loop fused = { .rvar = a->rvar };
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
    for (int tries = 0; tries < 6; tries++) {
        int i = gen_below(p->g, n->n - 1);
        Loop a = n->loop[i], b = n->loop[i + 1];
        if (a.rvar && b.rvar && !p->careless) continue;
        n->loop[i] = b;
        n->loop[i + 1] = a;
    }
    begin(p, "reorder");
    for (int i = 0; i < n->n; i++) gen_put(p->g, "%s%s", i ? ", " : "", n->loop[i].name);
    gen_put(p->g, ")");
}

static void mark(Plan *p, Nest *n) {
    if (!n->n) return;
    int kind = gen_below(p->g, 4), i = kind == 1 ? 0 : gen_below(p->g, n->n);
    Loop *l = &n->loop[i];
    if (l->used) return;
    static const char *const names[] = { "serial", "vectorize", "unroll", "parallel" };
    if (!p->careless) {
        if (l->rvar && (kind == 1 || kind == 3)) return;
        if (kind == 1 && l->extent < 2) return;
        if (kind == 2 && (!l->extent || l->extent > 8)) return;
        if (kind == 3 && i == 0 && n->n > 1 && gen_below(p->g, 3)) return; /* outer loops mostly */
    }
    l->used = kind != 0;
    l->vector = kind == 1;
    begin(p, names[kind]);
    gen_put(p->g, "%s)", l->name);
}

/* Stages that read func k directly or through inlined Funcs: as bits of (func, stage). */
static void consumers(const Plan *p, int k, bool at[GEN_MAX_FUNCS][4], const char *line_of[GEN_MAX_FUNCS][4]) {
    char needle[24];
    snprintf(needle, sizeof needle, "%s(", p->g->func[k].name);
    for (int c = k; c < p->g->n_funcs; c++)
        for (int s = 0; s <= p->g->func[c].updates; s++) {
            const char *line = line_of[c][s], *end = line ? strchr(line, '\n') : NULL, *hit = line ? strchr(line, '=') : NULL;
            if (c == k || !line || !hit) continue;
            hit = strstr(line, needle);
            if (!hit || hit > end) continue;
            if (p->inlined[c]) consumers(p, c, at, line_of);
            else at[c][s] = true;
        }
}

/* The definitions' lines in the program's text. */
static void find_lines(const Gen *g, const char *line_of[GEN_MAX_FUNCS][4]) {
    for (int k = 0; k < g->n_funcs; k++) {
        char head[24];
        int stage = 0, len = snprintf(head, sizeof head, "%s(", g->func[k].name);
        for (const char *l = g->text; l && *l && stage < 4; l = strchr(l, '\n'), l = l ? l + 1 : NULL)
            if (!strncmp(l, head, (size_t)len)) line_of[k][stage++] = l;
    }
}

static bool place(Plan *p, int k, const char *line_of[GEN_MAX_FUNCS][4]) {
    Gen *g = p->g;
    const GenFunc *f = &g->func[k];
    if (k == g->n_funcs - 1) return p->rooted[k] = true;
    bool at[GEN_MAX_FUNCS][4] = { 0 };
    consumers(p, k, at, line_of);
    int n = 0, c = 0, s = 0;
    for (int i = 0; i < g->n_funcs; i++)
        for (int j = 0; j < 4; j++)
            if (at[i][j]) n++, c = i, s = j;
    int kind = gen_below(g, 10);
    if (!f->reduction && (n == 0 || kind < 3)) {
        p->inlined[k] = true;
        if (kind == 0) begin(p, "compute_inline"), gen_put(g, ")");
        return false;
    }
    if (n != 1 || kind < 5) {
        begin(p, "compute_root"), gen_put(g, ")");
        return p->rooted[k] = true;
    }
    const Nest *nest = &p->nest[c][s];
    int lowest = 0;
    for (int i = 0; i < nest->n; i++)
        if (nest->loop[i].vector) lowest = i + 1;
    if (lowest >= nest->n) {
        begin(p, "compute_root"), gen_put(g, ")");
        return p->rooted[k] = true;
    }
    int i = lowest + gen_below(g, nest->n - lowest);
    char stage[8] = "";
    if (g->func[c].updates) snprintf(stage, sizeof stage, s ? ".u%d" : ".p", s - 1);
    if (!strcmp(stage, ".p")) stage[0] = 0;
    if (gen_below(g, 3) == 0) {
        if (i + 1 < nest->n && gen_below(g, 2)) {
            int j = i + 1 + gen_below(g, nest->n - i - 1);
            begin(p, "store_at"), gen_put(g, "%s%s, %s)", g->func[c].name, stage, nest->loop[j].name);
        } else {
            begin(p, "store_root"), gen_put(g, ")");
        }
    }
    begin(p, "compute_at"), gen_put(g, "%s%s, %s)", g->func[c].name, stage, nest->loop[i].name);
    return true;
}

static void loops(Plan *p, int k, int stage) {
    Nest *n = &p->nest[k][stage];
    bool pure = stage == 0;
    int moves = gen_below(p->g, 6);
    for (int i = 0; i < moves; i++) {
        int kind = gen_below(p->g, 8);
        if (kind < 4) split(p, n, pure);
        else if (kind == 4) fuse(p, n);
        else if (kind == 5) reorder(p, n);
        else mark(p, n);
    }
    if (gen_below(p->g, 2)) mark(p, n);
}

void gen_plan(Gen *g, bool careless) {
    Plan p = { .g = g, .careless = careless };
    const char *line_of[GEN_MAX_FUNCS][4] = { 0 };
    find_lines(g, line_of);
    gen_put(g, "plan p {\n");
    for (int k = g->n_funcs - 1; k >= g->n_inputs; k--) {
        const GenFunc *f = &g->func[k];
        p.output = k == g->n_funcs - 1;
        for (int s = 0; s <= f->updates; s++) {
            open_stage(&p, f, s);
            start_nest(&p.nest[k][s], f, s, line_of[k][s] ? line_of[k][s] : "");
            bool live = s ? !p.inlined[k] : place(&p, k, line_of);
            if (live) loops(&p, k, s);
            if (live && s == 0 && k == g->n_funcs - 1) {
                int d = gen_below(g, f->rank);
                if (gen_below(g, 5) == 0)
                    begin(&p, "bound"), gen_put(g, "%s, %ld, %ld)", var_name[d], (long)g->out_min[d], (long)g->out_extent[d]);
                if (gen_below(g, 8) == 0) begin(&p, "estimate"), gen_put(g, "%s, 0, 1000)", var_name[d]);
            }
            close_stage(&p);
        }
    }
    gen_put(g, "}\n");
}
