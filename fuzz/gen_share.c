/* gen_share.c - compute_with: a stage runs in loops of one that is scheduled already. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

Site leading_site(const Plan *p, Site at) {
    const Nest *n = &p->nest[at.func][at.stage];
    for (int outer = n->n - 1 - at.loop; outer < n->shares; at.loop = n->n - 1 - outer) {
        at = n->with;
        n = &p->nest[at.func][at.stage];
    }
    return at;
}

/* Is func k made of func `of`? */
static bool needs(const Plan *p, int k, int of, bool *seen) {
    if (k == of) return true;
    if (seen[k]) return false;
    seen[k] = true;
    for (int s = 0; s <= func_of(p, k)->updates; s++)
        for (int r = 0; r < n_all(p); r++)
            if (r != k && reads(p, k, s, r) && needs(p, r, of, seen)) return true;
    return false;
}

/* May the stage run in loops of stage s of func c? */
static bool may_share(Plan *p, const Nest *n, int c, int s) {
    int k = n->func;
    bool seen[2][FUNCS] = { { false } };
    if (c == k || p->inlined[c] || !p->nest[c][s].n) return false;
    if (p->careless) return true;
    for (int i = 0; i < n->stage; i++) /* in the order of its stages */
        if (p->nest[k][i].shares && (p->nest[k][i].with.func != c || p->nest[k][i].with.stage >= s)) return false;
    bool here = p->around[k].n == p->around[c].n && !memcmp(p->around[k].at, p->around[c].at, sizeof(Site) * (size_t)p->around[k].n);
    return here && !p->nest[c][s].special && !needs(p, k, c, seen[0]) && !needs(p, c, k, seen[1]);
}

/* Gives loop i the name and the mark of the leader's; false where it cannot have them. */
static bool liken(Plan *p, Nest *n, int i, const Loop *lead) {
    Loop *l = &n->loop[i];
    bool marks = lead->parallel && !l->used && !l->rvar && !l->overlaps && is_named(l);
    for (int j = 0; j < n->n; j++)
        if (j != i && !strcmp(n->loop[j].name, lead->name)) return false;
    if (!marks && (l->used != lead->used || l->parallel != lead->parallel || l->block != lead->block || l->vector != lead->vector)) return false;
    if (strcmp(l->name, lead->name) && (!is_named(l) || !is_named(lead))) return false;
    if (marks) put(p, lead->block ? "gpu_blocks" : lead->thread ? "gpu_threads" : "parallel", "%s", l->name), l->used = l->parallel = true;
    if (marks) l->block = lead->block, l->thread = lead->thread;
    if (strcmp(l->name, lead->name)) put(p, "rename", "%s, %s", l->name, lead->name);
    memcpy(l->name, lead->name, sizeof l->name);
    return true;
}

static void put_line(Plan *p, const Nest *n, int outer, const char *align) {
    const char *of = func_of(p, n->with.func)->name, *loop = n->loop[n->n - 1 - outer].name;
    if (n->with.stage) put(p, "compute_with", "%s.u%d, %s%s", of, n->with.stage - 1, loop, align);
    else put(p, "compute_with", "%s, %s%s", of, loop, align);
}

void share(Plan *p, Nest *n) {
    static const char *const align[] = { "", ", .align = auto", ", .align = start", ", .align = end", ", .align = no_align" };
    Site found[FUNCS * MOST_STAGES];
    int some = 0, depth = 0;
    for (int c = 0; c < n_all(p); c++)
        for (int s = 0; s <= func_of(p, c)->updates && s < MOST_STAGES; s++)
            if (may_share(p, n, c, s)) found[some++] = (Site){ c, s, 0 };
    if (!some || n->special) return;
    Site with = found[gen_below(p->g, some)];
    const Nest *lead = &p->nest[with.func][with.stage];
    while (depth < n->n && depth < lead->n && (!depth || !one_in(p, 3)) && liken(p, n, n->n - 1 - depth, &lead->loop[lead->n - 1 - depth])) depth++;
    while (depth && !is_named(&n->loop[n->n - depth])) depth--;
    if (!depth) return;
    n->shares = depth;
    n->with = (Site){ with.func, with.stage, lead->n - depth };
    put_line(p, n, depth - 1, align[gen_below(p->g, 5)]);
    for (int i = depth - 2; i >= 0; i--)
        if (is_named(&n->loop[n->n - 1 - i]) && one_in(p, 2)) put_line(p, n, i, align[gen_below(p->g, 5)]);
}
