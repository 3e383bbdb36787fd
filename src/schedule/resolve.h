/* resolve.h - what the files that resolve a plan share. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include "schedule/schedule.h"

typedef struct {
    Interner *ir;
    Arena *arena;
    Fault *fault;
    Schedule *s;
    struct mlc_plan *lines; /* those that are applied, where private */
} Resolve;

/* race.c: may the iterations of r run in any order, at once? */
bool sch_rvar_is_pure(Interner *I, const Func *f, const Def *def, const Sym *r);

/* rfactor.c */
void sch_rfactor(Resolve *r, StageSched *st, const PlanLine *line);

/* atomic.c: the directive; may a loop whose iterations meet be marked so?  And, once all lines are applied, the
 * algorithm in which vector loops over RVars are lanes. */
void sch_atomic(Resolve *r, StageSched *st, const PlanLine *line);
void sch_check_race(Resolve *r, const StageSched *st, const Dim *d, LoopKind kind, const PlanLine *line);
void sch_derive_lanes(Resolve *r);

/* tails.c: may the loop `old` be split with the tail that the line asks for?  May a loop be taken apart, which a
 * tail for innermost splits does not allow of its inner one? */
bool sch_stems_from_rvar(const StageSched *st, const char *name);
void sch_check_tail(Resolve *r, const StageSched *st, const PlanLine *line, const char *old, bool rvar);
void sch_check_taken_apart(Resolve *r, const StageSched *st, const PlanLine *line, const char *loop);

/* bounds.c: bound, bound_extent, align_bounds, align_extent; and do they agree? */
void sch_bound_directive(Resolve *r, FuncSched *fs, const PlanLine *line);
void sch_check_bounds(Resolve *r, const FuncSched *fs);

/* resolve_loops.c: the loops of one stage before any directive, and a directive applied to them; false: it is
 * about something else. */
void sch_first_loops(Resolve *r, StageSched *st);
bool sch_loop_directive(Resolve *r, StageSched *st, const PlanLine *line);
/* tensor.c: tensorize; and are its loops the innermost, once all directives are applied? */
void sch_tensorize(Resolve *r, StageSched *st, const PlanLine *line);
void sch_check_tensor(Resolve *r, const StageSched *st);
void sch_check_prefetches(Resolve *r, const StageSched *st);

/* memoize.c: memoize, and may the Func be, now that its place is known? */
void sch_memoize(Resolve *r, FuncSched *fs, const PlanLine *line);
void sch_check_memo(Resolve *r, const FuncSched *fs);

/* stream.c: streams, and may the stage have them, once all directives are applied? */
void sch_stream(Resolve *r, StageSched *st, const PlanLine *line);
void sch_check_streams(Resolve *r, const StageSched *st);

/* specialize.c: a directive about one stage alone applied to it; false: it is about something else. */
bool sch_stage_directive(Resolve *r, StageSched *st, const PlanLine *line);
/* Has the stage, or one of its specializations, this loop? */
bool sch_has_loop(const StageSched *st, const char *name);

/* whole_loops.c: loops around the calls of an extern stage: may the line make some?  Once all lines are applied: do they
 * cut its box into slices?  Then only these loops are left. */
void sch_check_whole(Resolve *r, const StageSched *st, const PlanLine *line);
void sch_whole_loops(Resolve *r, StageSched *st);

/* with.c: stages that share loops: a line of one of them; then what only the whole plan shows, and the groups. */
void sch_compute_with(Resolve *r, StageSched *st, const PlanLine *line);
void sch_find_groups(Resolve *r);

/* resolve_storage.c: a Func's memory before any directive, and a directive applied to it. */
void sch_first_storage(FuncSched *fs);
bool sch_is_storage_directive(mlc_directive_kind kind);
void sch_storage_directive(Resolve *r, FuncSched *fs, const PlanLine *line);

/* resolve.c: the dimension that name k of a directive is; raises where it is none. */
int sch_dimension(Resolve *r, const Func *f, const PlanLine *line, int k);
bool sch_is_output(const Schedule *s, const Func *f);

/* "C" or "C.u0". */
const char *sch_stage_name(Arena *a, const Func *f, int stage);
const char *sch_loop_names(Arena *a, const StageSched *st); /* "xi, xo, y" for messages */
/* A loop that a directive takes apart must not be marked yet. */
void sch_need_serial(Resolve *r, const Dim *d, const PlanLine *line);
FuncSched *sch_new_sched(Resolve *r, Func *f);
Dim *sch_find_loop(const StageSched *st, const char *name);

#endif
