/* gen_plan.c - random plans for a random program.
 *
 * Funcs are placed consumers first, so that the loops that a producer may be computed at are known.  The rules of
 * legality that need no proof are kept (RVars keep their order, nothing below a vector loop, tails where they may
 * be); a careless plan keeps none. */
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *arg_name(const GenFunc *f, int d) {
    static const char *const number[] = { "_0", "_1", "_2" }, *const var[] = { "x", "y", "z" };
    return f->numbered ? number[d] : var[d];
}

int n_all(const Plan *p) {
    return p->g->n_funcs + p->n_wraps;
}

const Wrap *wrap_of(const Plan *p, int k) {
    return k < p->g->n_funcs ? NULL : &p->wrap[k - p->g->n_funcs];
}

const GenFunc *func_of(const Plan *p, int k) {
    return k < p->g->n_funcs ? &p->g->func[k] : &wrap_of(p, k)->f;
}

bool one_in(Plan *p, int n) {
    return gen_below(p->g, n) == 0;
}

/* ---- text ---- */

void at_stage(Plan *p, const GenFunc *f, int stage) {
    if (stage) snprintf(p->stage, sizeof p->stage, "%s.u%d", f->name, stage - 1);
    else snprintf(p->stage, sizeof p->stage, "%s", f->name);
}

void put(Plan *p, const char *directive, const char *format, ...) {
    char arguments[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(arguments, sizeof arguments, format, ap);
    va_end(ap);
    if (p->in_braces) gen_put(p->g, "%s%s(%s)", p->lines++ ? ", " : "", directive, arguments);
    else gen_put(p->g, "    %s: %s(%s);\n", p->stage, directive, arguments);
}

/* The definitions' lines in the program's text. */
static void find_lines(Plan *p) {
    for (int k = 0; k < p->g->n_funcs; k++) {
        char head[24];
        int stage = 0, len = snprintf(head, sizeof head, "%s(", p->g->func[k].name);
        for (const char *l = p->g->text; l && *l && stage < MOST_STAGES; l = strchr(l, '\n'), l = l ? l + 1 : NULL)
            if (!strncmp(l, head, (size_t)len)) p->line_of[k][stage++] = l;
    }
}

/* ---- the whole ---- */

static void schedule_parts(Plan *p, int at) {
    const GenFunc *f = func_of(p, at);
    at_stage(p, f, 0);
    place(p, at);
    loops(p, &p->nest[at][0]);
    at_stage(p, f, 0);
    memory(p, at);
    at_stage(p, f, 1);
    loops(p, &p->nest[at][1]);
}

void schedule(Plan *p, int k) {
    const GenFunc *f = func_of(p, k);
    bool has_loops = !f->stage || p->careless;
    p->stored = false;
    for (int s = 0; s <= f->updates; s++) {
        at_stage(p, f, s);
        if (has_loops) start_nest(p, k, s);
        if (s == 0) retype(p, k);
        if (s ? p->inlined[k] : !place(p, k)) continue;
        int parts = s ? factor(p, &p->nest[k][s]) : 0;
        if (has_loops) loops(p, &p->nest[k][s]);
        if (has_loops && one_in(p, 40)) put(p, "unscheduled", "%s", "");
        if (s == 0 && !f->stage) memory(p, k);
        if (!has_loops) call_loops(p, k);
        if (s == 0 && one_in(p, p->g->gpu ? 200 : 16)) put(p, one_in(p, 2) ? "profile" : "trace", "%s", "");
        if (parts) schedule_parts(p, parts);
    }
}

/* Of what a stage reads from memory at root. */
static void prefetch_some(Plan *p) {
    for (int k = 0; k < n_all(p); k++)
        for (int s = 0; s <= func_of(p, k)->updates; s++) {
            Nest *n = &p->nest[k][s];
            int f = gen_below(p->g, n_all(p));
            bool there = func_of(p, f)->input || (!p->inlined[f] && !p->around[f].n && !func_of(p, f)->output);
            if (p->inlined[k] || !n->n || n->failed || !one_in(p, n->gpu ? 80 : 4)) continue;
            if (!p->careless && (!there || f == k || !reads(p, k, s, f))) continue;
            at_stage(p, func_of(p, k), s);
            prefetch(p, n, f);
        }
}

static void (*const at_end[])(Plan *p) = { prefetch_some, put_levels };

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
        while (one_in(p, 10)) put_wrapper(p, k);
        if (!g->func[k].unplanned && k >= g->n_inputs) schedule(p, k);
        for (int i = p->inlined[k] ? gen_below(g, 4) : 0; i > 0; i--) put_in(p, k);
    }
    for (int i = 0; i < (int)(sizeof at_end / sizeof *at_end); i++) at_end[i](p);
    gen_put(g, "}\n");
}
