# src/lower/predicates.c
# a condition leaves out turns of a window that slides on
s/fn->compute == s && (fn->store != s || fn->sched->async)/fn->compute == s \&\& fn->sched->async/
