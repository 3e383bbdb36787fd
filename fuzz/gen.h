/* gen.h - random programs and random plans, as text of the language itself.
 *
 * A failure is therefore a file: `mlc check`, `mlc run` and the parser's own tests read it as it is.
 * The generator knows the types of what it writes, so that every program is legal; plans are mostly
 * legal, and a line that is refused is counted and taken away. */
#ifndef GEN_H
#define GEN_H

#include <stdbool.h>
#include <stdint.h>

enum { GEN_TEXT = 1 << 16, GEN_MAX_FUNCS = 14, GEN_MAX_RANK = 3, GEN_MAX_COUNTS = 320, GEN_MAX_PARAMS = 3, GEN_BLOCK = 12 /* 32 at most */ };

/* How often each operator, type, directive and tail was drawn: a row each. */
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
    bool numbered;          /* its arguments are named _0, _1 ..: an input, an extern stage, a wrapper of one */
    bool output, unplanned; /* unplanned: a boundary, whose loops have names of its own */
    bool hidden;            /* no later Func reads it */
    bool stage, whole;      /* an extern stage, which reads func[reads]; read by one */
    int reads;
    int updates;
    char update_rdom[3][8];
    int update_rvars[3];
    int64_t min[GEN_MAX_RANK], extent[GEN_MAX_RANK]; /* of an output: its box */
} GenFunc;

typedef struct {
    char name[16];
    const char *type; /* "index": from 0 to 9 */
} GenParam;

typedef struct {
    uint64_t state;
    GenCounts *counts;
    char text[GEN_TEXT];
    int n;
    GenFunc func[GEN_MAX_FUNCS];
    int n_funcs, n_inputs; /* inputs come first; the last Func is the output "out" */
    GenParam param[GEN_MAX_PARAMS];
    int n_params;
    bool gpu; /* plans with kernels */
    int next_name, budget; /* budget: nodes that expressions may still take */
} Gen;

uint64_t gen_next(Gen *g);
int gen_below(Gen *g, int n); /* uniform in [0, n) */
void gen_put(Gen *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gen_count(Gen *g, const char *name); /* of a row that the table has */

/* ---- expressions (gen_expr.c) ---- */

/* What an expression may mention. */
typedef struct {
    const char *coord[6]; /* text of usable index variables */
    int n;
    const GenFunc *self;  /* self-reads allowed: at its own left side */
    const char *self_lhs; /* text of that left side's coordinates */
    int n_funcs;          /* producers g->func[0 .. n_funcs) */
    const char *rdom;     /* an RDom for inline reductions, and its dimensions */
    int rdom_dims;
    bool pure;            /* effects allowed: a point may be computed at will */
} GenScope;

bool gen_is_float(const char *type);
bool gen_is_bool(const char *type);
bool gen_is_int(const char *type);
const char *gen_type(Gen *g);
void gen_expr(Gen *g, const GenScope *s, const char *type, int depth);

/* ---- programs and plans ---- */

/* Writes one program (without plans) into g->text; g->func describes it. */
void gen_program(Gen *g, uint64_t seed);
/* Appends one plan for it. */
void gen_plan(Gen *g, bool careless);
/* Appends to an open plan a line that the shape of its directive alone restrains. */
void gen_careless_line(Gen *g);

/* ---- the table at the end of a run (coverage.c) ---- */

void gen_expect_all(GenCounts *c); /* its rows; those of gen_expr.c and gen_program.c, then of the .def files */
void gen_expect(GenCounts *c, const char *name);
void gen_expect_expressions(GenCounts *c);
void gen_expect_program(GenCounts *c);
/* Prints it; the number of rows, of kernels or of all others, that were counted less often than `least`, which are named. */
int gen_print_counts(const GenCounts *c, bool gpu, long least);

#endif
