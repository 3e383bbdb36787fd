/* gen.h - random programs and random plans, as text of the language itself.
 *
 * A failure is therefore a file: `mlc check`, `mlc run` and the parser's own tests read it as it is.
 * The generator knows the types of what it writes, so that every program is legal; plans are mostly
 * legal (what resolution refuses is counted and drawn again). */
#ifndef GEN_H
#define GEN_H

#include <stdbool.h>
#include <stdint.h>

enum { GEN_TEXT = 1 << 16, GEN_MAX_FUNCS = 8, GEN_MAX_RANK = 3, GEN_MAX_COUNTS = 256 };

/* How often each operator, type, directive and tail was drawn: printed at the end, none may be zero. */
typedef struct {
    const char *name[GEN_MAX_COUNTS];
    long count[GEN_MAX_COUNTS];
    int n;
} GenCounts;

typedef struct {
    char name[16];
    int rank, elems; /* elems: tuple elements */
    const char *type[2];
    bool input, reduction; /* reduction: has updates, so it cannot be inlined */
    bool offsets_ok;     /* may be read at neighbouring points */
    int rvars, updates;
    char update_rdom[3][8];
    int update_rvars[3];
    int64_t lo, hi;      /* range of indices that readers keep to, each dimension */
} GenFunc;

typedef struct {
    uint64_t state;
    GenCounts *counts;
    char text[GEN_TEXT];
    int n;
    GenFunc func[GEN_MAX_FUNCS];
    int n_funcs, n_inputs; /* inputs come first; the last Func is the output */
    int64_t out_min[GEN_MAX_RANK], out_extent[GEN_MAX_RANK];
    int next_name;
} Gen;

uint64_t gen_next(Gen *g);
int gen_below(Gen *g, int n); /* uniform in [0, n) */
void gen_count(Gen *g, const char *name);
void gen_put(Gen *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes one program (without plans) into g->text; g->func describes it. */
void gen_program(Gen *g, uint64_t seed);
/* Writes one plan for it into g->text, after the program when `append`. */
void gen_plan(Gen *g, bool careless);

#endif
