/* gen_gpu.c - kernels: which loops of a stage become blocks and threads, drawn where a run asks for them (Gen.gpu).
 *
 * A stage of the CPU gets a kernel around most of its loops, by gpu_tile or loop by loop; one that is computed in blocks may
 * get threads of its own; one inside of threads is theirs.  Loops of either kind race as parallel ones do, so the model says
 * parallel of them too. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

enum { MOST_THREADS = 1024, GUESS = 24, DIMS = 3 };

GpuLevel gpu_level(const Plan *p, int k) {
    GpuLevel level = OF_HOST;
    for (int i = 0; i < p->around[k].n; i++) {
        const Site *s = &p->around[k].at[i];
        const Loop *l = &p->nest[s->func][s->stage].loop[s->loop];
        if (l->thread) return OF_THREAD;
        if (l->block) level = OF_BLOCK;
        else if (l->parallel) level = OF_TASK;
    }
    return level;
}

/* Is the stage in a kernel, or going to be? */
void start_kernel(Plan *p, Nest *n) {
    GpuLevel level = gpu_level(p, n->func);
    n->gpu = level == OF_BLOCK || level == OF_THREAD || (level == OF_HOST && !one_in(p, 4));
}

static bool is_free(const Plan *p, const Loop *l) {
    return p->careless || (!l->rvar && !l->used && !l->overlaps && is_named(l));
}

static void mark(Loop *l, bool thread) {
    l->used = l->parallel = true;
    l->thread = thread;
    l->block = !thread;
}

/* Loops first .. first + count - 1, in one line or several. */
static void put_marks(Plan *p, Nest *n, const int *at, int count, bool thread) {
    char names[128] = "";
    for (int i = 0; i < count; i++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", n->loop[at[i]].name);
        mark(&n->loop[at[i]], thread);
        if (i + 1 < count && !one_in(p, 4)) continue;
        put(p, thread ? "gpu_threads" : "gpu_blocks", "%s", names);
        *names = 0;
    }
}

/* Threads: up to three free loops inside of loop `end`, outside of lanes. */
static void threads(Plan *p, Nest *n, int end, bool any_size) {
    int at[DIMS], count = 0, product = 1, first = 0, most = 1 + gen_below(p->g, DIMS);
    for (int i = 0; i < n->n; i++)
        if (n->loop[i].vector) first = i + 1;
    for (int i = first; i < end && count < most; i++) {
        const Loop *l = &n->loop[i];
        int size = l->extent ? l->extent : l->size ? l->size : GUESS;
        if (!is_free(p, l) || (!l->extent && !any_size && !one_in(p, 12)) || product * size > MOST_THREADS || one_in(p, 5)) continue;
        product *= size;
        at[count++] = i;
    }
    put_marks(p, n, at, count, true);
}

/* Blocks: a run of free loops, mostly the outermost ones; nothing around them runs at once. */
static void blocks_and_threads(Plan *p, Nest *n) {
    int at[DIMS], end = n->n - (one_in(p, 4) ? gen_below(p->g, n->n) : 0), first = end, most = 1 + gen_below(p->g, DIMS);
    for (int i = end; i < n->n; i++)
        if (n->loop[i].parallel || n->loop[i].vector) return;
    while (first > 0 && end - first < most && is_free(p, &n->loop[first - 1]) && !n->loop[first - 1].vector) first--;
    for (int i = 0; i < end - first; i++) at[i] = first + i;
    for (int i = first; i < n->n; i++)
        if (n->loop[i].vector) return;
    if (end == first) return;
    put_marks(p, n, at, end - first, false);
    threads(p, n, first, false);
}

/* A run of loops from `first` on, in tiles: the inner loops, then the outer ones, take the places of all. */
static void tile(Plan *p, Nest *n, int first, int count) {
    char text[256] = "";
    Loop in[DIMS], out[DIMS];
    static const char *const axis = "xyz";
    int id = p->g->next_name++, by[DIMS];
    const char *tail = tail_of_kernel(p, n, first, count, by);
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < count; i++) {
            Loop *old = &n->loop[first + i];
            if (part == 0) split_loop(old, by[i], &out[i], &in[i]);
            if (part == 1) snprintf(out[i].name, sizeof out->name, "b%c%d", axis[i], id);
            if (part == 2) snprintf(in[i].name, sizeof in->name, "t%c%d", axis[i], id);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "",
                     part == 0 ? old->name : part == 1 ? out[i].name : in[i].name);
        }
    for (int i = 0; i < count; i++) snprintf(text + strlen(text), sizeof text - strlen(text), ", %d", by[i]);
    put(p, "gpu_tile", "%s, .tail = %s", text, tail);
    for (int i = 0; i < count; i++) {
        mark(&in[i], true);
        mark(&out[i], false);
        n->loop[first + i] = in[i];
    }
    for (int i = 0; i < count; i++) insert_loop(n, first + count + i, out[i]);
}

static bool tiles(Plan *p, Nest *n) {
    int count = 1 + gen_below(p->g, n->n < DIMS ? n->n : DIMS), first = n->n - count;
    if (first > 0 && one_in(p, 3)) first = gen_below(p->g, first + 1);
    if (n->n + count >= MAX_LOOPS) return false;
    for (int i = first; i < n->n; i++) {
        const Loop *l = &n->loop[i];
        if (i < first + count && (!is_free(p, l) || (l->last && !p->careless))) return false;
        if (l->parallel || l->vector) return false;
    }
    tile(p, n, first, count);
    return true;
}

/* One iteration of each around all loops. */
static void single_thread(Plan *p, Nest *n) {
    if (n->n + 2 >= MAX_LOOPS) return;
    Loop thread = { .name = "gpu$thread", .dim = -1, .extent = 1 }, block = { .name = "gpu$block", .dim = -1, .extent = 1 };
    mark(&thread, true);
    mark(&block, false);
    put(p, "gpu_single_thread", "%s", "");
    insert_loop(n, n->n, thread);
    insert_loop(n, n->n, block);
}

void kernel(Plan *p, Nest *n) {
    GpuLevel level = gpu_level(p, n->func);
    bool parallel = false;
    if (!n->gpu || (n->atomic && !p->careless)) return;
    for (int i = 0; i < n->n; i++) parallel |= n->loop[i].parallel;
    if (level == OF_BLOCK && !parallel && !one_in(p, 4)) threads(p, n, n->n, true);
    if (level != OF_HOST || parallel) return;
    if (one_in(p, 12) || !n->n) single_thread(p, n);
    else if (one_in(p, 3) || !tiles(p, n)) blocks_and_threads(p, n);
}
