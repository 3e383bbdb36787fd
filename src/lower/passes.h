/* passes.h - the functions behind the rows of passes.def. */
#ifndef PASSES_H
#define PASSES_H

#include "lower/lower.h"

Stmt *low_partition(Arena *a, Interner *I, const Schedule *schedule, Stmt *s); /* partition.c; schedule: NULL for none */
Stmt *low_trim(Arena *a, Interner *I, Stmt *s);      /* trim.c */
Stmt *low_simplify(Arena *a, Interner *I, Stmt *s, bool unroll); /* simplify_pass.c */

int low_index_bits(const Program *p);                /* index_size.c, after build */

void low_build(Program *p, const LowerOptions *o);   /* build.c */
/* run_ahead.c: asynchronous Funcs in memory of a block, without turns */
Stmt *low_run_ahead(Program *p, Stmt *body);
void low_fork(Program *p, const LowerOptions *o);     /* fork.c */
void low_access_checks(Program *p, const LowerOptions *o); /* access_checks.c */
void low_settle(Program *p, const LowerOptions *o);  /* settle.c */
/* unroll.c: iterations to write out, and whether a vector loop's extent will do: errors at the loop's directive. */
int64_t low_copies(Arena *a, Sim *sim, const Stmt *s, const Node *extent, int64_t around);
void low_check_lanes(Arena *a, const Stmt *s, const Node *extent);
void low_tiles(Program *p, const LowerOptions *o); /* tiles.c */
void low_kernels(Program *p, const LowerOptions *o); /* kernels.c */
/* spread.c: the body of a kernel in which memory of the block that the plan keeps in registers is each thread's own; stage: whose
 * production the kernel is; statements that are one part stay so. */
Stmt *low_spread(Program *p, const Kernel *kernel, const char *stage, PtrMap *part, Stmt *body);
/* barriers.c: the body of a kernel with the barriers that its parts need; part: the statements that are one. */
Stmt *low_barriers(Program *p, const Kernel *kernel, const PtrMap *part, Stmt *body);
void low_residence(Program *p); /* residence.c: moves of memory between host and device */
void low_watch(Program *p, const LowerOptions *o);  /* watch.c */
void low_flatten(Program *p, const LowerOptions *o); /* flatten.c */
void low_check_copies(Program *p);                   /* copies.c: of a flat program; raises where lanes do not fit, adds checks of buffers */
void low_check_registers(Program *p);                /* registers.c: of a flat program; raises where the plan asks too much */

#endif
