# src/lower/emit.c
# the predicate of a reduction domain is lost
s/for (int i = 0; i < st->n_where; i++) cond = /for (int i = 1; i < st->n_where; i++) cond = /
