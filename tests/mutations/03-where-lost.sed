# src/lower/emit.c
# the predicate of a reduction domain is lost
s/for (int i = from; i < to; i++) cond = /for (int i = from + 1; i < to; i++) cond = /
