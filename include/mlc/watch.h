/* mlc/watch.h - what calls cost: profiles and traces of modules.
 *
 *     mlc_options o = { .profile = true };     or schedule(g, profile()), for some Funcs alone
 *     mlc_module *m = mlc_compile(plan, mlc_outs(f), &o, &e);
 *     mlc_run(m, 2, buffers, 0, NULL, &e);     as often as you like, from any threads
 *     mlc_profile_print(m, stdout, MLC_PROFILE_TABLE, &e);
 *
 * A profile counts what each stage does, exactly, and times it.  Code that is not watched pays nothing.  Counts move
 * out of loops as far as they are known, and a production (one computation of a box of a stage) is timed by two looks
 * at the processor's clock; one of less than 64 points, known as such when it is compiled, is not, unless its Func has
 * the directive itself: its time is that of the stage around.  A trace keeps each production, and each iteration of
 * parallel loops, as a span of time of a thread.  Both add up the calls of a module that succeed, all variants and
 * threads together, and may be read at any time. */
#ifndef MLC_WATCH_H
#define MLC_WATCH_H

#include <mlc/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stage, over all calls so far. */
typedef struct {
    const char *name;     /* g, g.u0; "": what belongs to no stage, and the memory of all */
    const char *place;    /* where it is computed: "root", or a loop of its consumer, "f.y" */
    const char *again;    /* what is known of points computed more than once, else "" */
    double ms;            /* of all threads together, without what is computed inside; below 0: it is not timed */
    int threads;          /* that worked on it, where it is timed; 256 stands for more */
    int64_t runs;         /* productions; of "": calls */
    int64_t tasks;        /* iterations of its parallel loops */
    int64_t points;       /* stored, or computed by an extern stage: evaluations of the definition */
    int64_t needed;       /* of these, points that its consumers need at all; 0: not known, or an update */
    int64_t allocations;  /* memory from the heap: how often, */
    int64_t bytes, peak;  /* how much all together, how much at most at one time */
    int64_t stack;        /* bytes of its memory on the stack of each thread that computes it */
} mlc_profile_info;

/* Rows of a profile: the stages that it is about, in the order of their computation, then "".  0: there is none. */
MLC_API int mlc_profile_rows(const mlc_module *m);
MLC_API bool mlc_profile_row(const mlc_module *m, int i, mlc_profile_info *info);
/* What the numbers of row i advise, a sentence a line; "" where nothing stands out.  Fills and returns `space`. */
MLC_API const char *mlc_profile_advice(const mlc_module *m, int i, char *space, size_t size);
/* Sets all numbers to 0, and forgets the spans; no call may be running. */
MLC_API void mlc_profile_clear(mlc_module *m);

typedef enum { MLC_PROFILE_TABLE, MLC_PROFILE_TSV } mlc_profile_form;
/* The rows as a table for readers, advice below; or tab-separated after a header line, `-` for what is not known. */
MLC_API bool mlc_profile_print(const mlc_module *m, FILE *to, mlc_profile_form form, mlc_error_info *error);

/* Spans that a trace holds, and (where `lost` is not NULL) how many more there was no room for (.most_spans). */
MLC_API int64_t mlc_trace_spans(const mlc_module *m, int64_t *lost);
/* Writes them as JSON that chrome://tracing and Perfetto read, beside the path first, then renamed.  A span of
 * category "produce" is a production of a stage, "task" an iteration of a parallel loop; its argument is the iteration
 * of the loop around. */
MLC_API bool mlc_trace_write(const mlc_module *m, const char *path, mlc_error_info *error);

#ifdef __cplusplus
}
#endif
#endif
