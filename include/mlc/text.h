/* mlc/text.h - the language as text: docs/language.md is its grammar, and what it prints it reads.
 *
 *     mlc_let(ctx, by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3);
 *
 * takes C tokens (or a string), so that a definition looks like the formula.  It is text all the same:
 * C's variables are not seen, macros are not expanded, and every operator has mlc's meaning.  A C value
 * comes in by name: mlc_val(ctx, gain) first, then `gain` in later text.
 *
 * A text is read until its first error, which stays in the context with its line, column and a caret;
 * statements before it have been made. */
#ifndef MLC_TEXT_H
#define MLC_TEXT_H

#include <mlc/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statements: definitions, inputs, params, rdoms ..., `;` between them.  (Plans have mlc_plan_parse.) */
#define mlc_let(ctx, ...) mlc_let_text(ctx, #__VA_ARGS__, MLC_HERE)
MLC_API bool mlc_let_text(mlc_ctx *ctx, const char *text, mlc_loc loc);

/* Gives the C value or expression v the name `v` in later texts of this context; again: a new value. */
#define mlc_val(ctx, v) mlc_val_set(ctx, #v, MLC_E(v))
MLC_API bool mlc_val_set(mlc_ctx *ctx, const char *name, mlc_expr value);

/* The Func or input of that name; without a value, and an error in the context, where there is none. */
MLC_API mlc_func mlc_find_func(mlc_ctx *ctx, const char *name);
/* The param of that name; without a value where there is none. */
MLC_API mlc_param mlc_find_param(mlc_ctx *ctx, const char *name);

/* ---- whole programs: a text whose first line is `mlc 1` ---- */

typedef struct mlc_program mlc_program;
/* Adds the text's objects to the context; NULL with the error in the context.  `file` (may be NULL) names
 * the text in messages.  The program lives as long as the context. */
MLC_API mlc_program *mlc_program_parse(mlc_ctx *ctx, const char *text, const char *file);
/* Outputs in the order of the text, {NULL} past their end. */
MLC_API int mlc_program_n_outputs(const mlc_program *p);
MLC_API mlc_func mlc_program_output(const mlc_program *p, int i);
/* Plans in the order of the text, NULL past their end (mlc_plan_name tells the name); by name: NULL, and an error in
 * the context, where there is none of it. */
MLC_API int mlc_program_n_plans(const mlc_program *p);
MLC_API mlc_plan *mlc_program_plan(const mlc_program *p, int i);
MLC_API mlc_plan *mlc_program_find_plan(const mlc_program *p, const char *name);

/* The program that computes these outputs, with the plans given (those without a name are called plan0,
 * plan1 ...), as text in the context's memory; NULL with the error in the context. */
MLC_API const char *mlc_program_print(mlc_ctx *ctx, int n_outputs, const mlc_func *outputs, int n_plans,
                                      mlc_plan *const *plans);
/* One definition of a Func. */
MLC_API const char *mlc_stage_print(mlc_stage s);

#ifdef __cplusplus
}
#endif
#endif
