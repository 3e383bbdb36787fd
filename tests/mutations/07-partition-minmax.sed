# src/lower/partition.c
# the steady state begins at the least of the bounds, not the greatest
s/p->lo = narrowed(p, OP_MAX, p->lo, in\.lo);/p->lo = narrowed(p, OP_MIN, p->lo, in.lo);/
