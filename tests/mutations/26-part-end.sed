# src/lower/shared.c
# the part of a stage runs on where its own loop would have ended
s/    if (!to_end) run_where(b, st->part, OP_LT,/    if (!to_end \&\& i) run_where(b, st->part, OP_LT,/
