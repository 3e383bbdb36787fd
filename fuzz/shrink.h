/* shrink.h - makes a failing text small. */
#ifndef SHRINK_H
#define SHRINK_H

#include "case.h"

/* Runs a text in a process of its own: the outcome as one number; 0: all is well.  A death by a signal or by
 * time is an outcome too.  `what` (may be NULL) receives the failure in words. */
int shrink_try(const char *text, char *what, int size);
/* Drops directives, lines and parts of expressions while the outcome stays.  `text` is changed in place. */
void shrink_text(char *text, int outcome, int seconds);

#endif
