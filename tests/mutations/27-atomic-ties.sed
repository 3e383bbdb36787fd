# src/schedule/atomic.c
# of equal values that threads join the last one stays
s|if (meeting(st, LOOP_PARALLEL) >= 0) break_ties(r, st);||
