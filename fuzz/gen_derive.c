/* gen_derive.c - directives that derive another algorithm: in, clone_in, eager_inline, rfactor; and who then
 * reads whom. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

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
bool reads(const Plan *p, int c, int s, int k) {
    const Wrap *of = wrap_of(p, c), *read = wrap_of(p, k);
    if (read && read->parts) return read->of == c && read->parts == s;
    if (of && of->parts) return s == 1 && reads_before_rfactor(p, of->of, of->parts, k);
    for (int i = 0; i < p->n_wraps; i++)
        if (p->wrap[i].of == c && p->wrap[i].parts == s && s) return false;
    return reads_before_rfactor(p, c, s, k);
}

/* What stands in an inline reduction is read by a Func that the library makes of that. */
static bool reduces_inline(const Plan *p, int c, int s) {
    static const char *const heads[] = { "sum(k", "product(k", "minimum(k", "maximum(k", "argmin(k", "argmax(k" };
    const char *line = p->line_of[c][s], *end = line ? strchr(line, '\n') : NULL;
    for (int i = 0; line && i < 6; i++) {
        const char *hit = strstr(line, heads[i]);
        if (hit && hit < end) return true;
    }
    return false;
}

/* A reader of func k that has no wrapper of it yet, or -1. */
static int some_reader(const Plan *p, int k) {
    int found[FUNCS], n = 0;
    for (int c = 0; c < p->g->n_funcs; c++)
        for (int s = 0; s <= p->g->func[c].updates; s++)
            if (!p->g->func[c].unplanned && reads(p, c, s, k) && !reduces_inline(p, c, s)) found[n++] = c, s = p->g->func[c].updates;
    return n ? found[gen_below(p->g, n)] : -1;
}

/* `f: in(c, w0)` or `f: clone_in(c, w0)`, and the schedule of w0. */
void put_wrapper(Plan *p, int k) {
    const GenFunc *f = &p->g->func[k];
    int c = some_reader(p, k);
    const char *line = p->line_of[k][0];
    bool undef = line && !strncmp(strchr(line, '='), "= undef", 7), clone = !f->input && one_in(p, 3);
    if (p->n_wraps == MOST_WRAPS || f->unplanned || c < 0 || (clone && undef && !p->careless)) return;
    bool all = !clone && one_in(p, 3);
    Wrap *w = &p->wrap[p->n_wraps];
    *w = (Wrap){ .f = *f, .of = k, .consumer = all ? -1 : c, .clone = clone };
    snprintf(w->f.name, sizeof w->f.name, "w%d", p->g->next_name++);
    w->f.output = false;
    at_stage(p, f, 0);
    put(p, clone ? "clone_in" : "in", "%s%s%s", all ? "" : p->g->func[c].name, all ? "" : ", ", w->f.name);
    int at = p->g->n_funcs + p->n_wraps++;
    if (clone) {
        memcpy(p->line_of[at], p->line_of[k], sizeof p->line_of[k]);
    } else {
        w->f.updates = 0;
        w->f.input = w->f.reduction = w->f.stage = false;
    }
    schedule(p, at);
}

/* `c: eager_inline(f)` of a Func f that vanishes into its uses anyway. */
void put_in(Plan *p, int k) {
    int c = gen_below(p->g, n_all(p)), s = gen_below(p->g, func_of(p, c)->updates + 1);
    const GenFunc *f = func_of(p, c);
    if (f->unplanned || !reads(p, c, s, k) || reduces_inline(p, c, s)) return;
    at_stage(p, f, s);
    put(p, "eager_inline", "%s", p->g->func[k].name);
}

/* Loops of the parts' stage: what is reduced (or nothing), the pure ones, the new dimension. */
static void parts_nest(Plan *p, int at, int stage, const Nest *of, int kept, const char *var) {
    Nest *to = &p->nest[at][stage];
    *to = (Nest){ .func = at, .stage = stage, .shared = MAX_LOOPS };
    for (int i = 0; i < of->n; i++) {
        Loop l = of->loop[i];
        if (i == kept || (l.rvar && !stage)) continue;
        l.used = false;
        to->loop[to->n++] = l;
    }
    snprintf(to->loop[to->n++].name, sizeof to->loop[0].name, "%s", var);
}

/* A fold by its sign. */
bool is_fold(const Plan *p, const Nest *n, bool *exact) {
    const GenFunc *f = func_of(p, n->func);
    const char *line = p->line_of[n->func][n->stage], *sign = line ? strpbrk(line, "=") : NULL;
    bool least = sign && (!strncmp(sign - 3, "min", 3) || !strncmp(sign - 3, "max", 3)), floats = false;
    for (int i = 0; i < f->elems; i++) floats |= gen_is_float(f->type[i]);
    *exact = least || !floats;
    return least || (sign && strchr("+-*", sign[-1]));
}

/* An RVar is split, so that a loop is left to reduce. */
static void split_one(Plan *p, Nest *n, int rvars) {
    Loop *r = &n->loop[gen_below(p->g, rvars)], in = *r, out = *r;
    in.extent = a_factor(p);
    snprintf(out.name, sizeof out.name, "o%d", p->g->next_name);
    snprintf(in.name, sizeof in.name, "n%d", p->g->next_name++);
    put(p, "split", "%s, %s, %s, %d", r->name, out.name, in.name, in.extent);
    int at = (int)(r - n->loop);
    *r = in;
    insert_loop(n, at + 1, out);
}

/* `rfactor(q0, r, u1)`; nothing is split or marked yet. */
int factor(Plan *p, Nest *n) {
    const GenFunc *f = func_of(p, n->func);
    int rvars = 0;
    for (int i = 0; i < n->n; i++) rvars += n->loop[i].rvar;
    bool exact, folds = is_fold(p, n, &exact);
    if (!rvars || p->n_wraps == MOST_WRAPS || !one_in(p, 3) || (!folds && !p->careless)) return 0;
    if (rvars == 1 || one_in(p, 2)) split_one(p, n, rvars++);
    int kept = gen_below(p->g, rvars);
    Wrap *w = &p->wrap[p->n_wraps];
    char var[16];
    *w = (Wrap){ .f = *f, .of = n->func, .consumer = -2, .parts = n->stage };
    snprintf(w->f.name, sizeof w->f.name, "q%d", p->g->next_name);
    snprintf(var, sizeof var, "v%d", p->g->next_name++);
    w->f.updates = 1;
    w->f.output = false;
    bool says = gen_is_float(f->type[0]) || one_in(p, 2);
    put(p, "rfactor", "%s, %s, %s%s", w->f.name, n->loop[kept].name, var, says ? ", .reassociate" : "");
    int at = p->g->n_funcs + p->n_wraps++;
    parts_nest(p, at, 0, n, kept, var);
    parts_nest(p, at, 1, n, kept, var);
    int left = 0;
    for (int i = 0; i < n->n; i++)
        if (i == kept || !n->loop[i].rvar) n->loop[left++] = n->loop[i];
    n->n = left;
    return at;
}

/* A type that its values may not fit. */
void retype(Plan *p, int k) {
    static const char *const types[] = { "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64" };
    const GenFunc *f = func_of(p, k);
    bool hardly = f->output || f->stage || f->whole || f->elems > 1;
    if (one_in(p, hardly ? 500 : 14)) put(p, "change_type", "%s%s", types[gen_below(p->g, 12)], one_in(p, 6) ? "" : ", .lossy");
}
