# src/lower/alloc_bounds.c
# memory lacks the last point of a dimension
s/t->extent\[d\] = low_length(b, facts, i);/t->extent[d] = ir_sub(b->ir, low_length(b, facts, i), ir_idx(b->ir, d == 1));/
