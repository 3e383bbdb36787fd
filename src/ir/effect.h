/* effect.h - what expressions do besides computing: calls of C functions and print, for interpreters. */
#ifndef EFFECT_H
#define EFFECT_H

#include "ir.h"

/* A C function made ready to be called through libffi. */
typedef struct ExternCall ExternCall;
ExternCall *effect_prepare(Arena *a, const Extern *ext);
/* Runs it in a floating-point mode, 0: the present one, and puts the present one back. */
Value effect_call(const ExternCall *c, const Value *arg, unsigned mode);

/* Sets the floating-point mode, 0: leaves it.  Returns the one that was. */
unsigned effect_mode(unsigned mode);

/* Adds one value of a print() as text: shortest that tells the value, a space in front if needed. */
void effect_print(StrBuf *line, mlc_type t, Value v);
/* Hands the line to the log, or to stderr where there is none, as compiled programs do. */
void effect_emit(const StrBuf *line, mlc_log_fn log, void *user, unsigned mode);

#endif
