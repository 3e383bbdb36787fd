# src/lower/alloc_bounds.c
# memory lacks the last point of a dimension
s/r->t->extent\[d\] = low_length(b, r->facts, i);/r->t->extent[d] = ir_sub(b->ir, low_length(b, r->facts, i), ir_idx(b->ir, d == 1));/
