# src/lower/sliding.c
# a sliding window computes from one row too late
s/ir_add(I, before(b, fn->full\[d\]\.hi, at->var), ir_idx(I, 1))/ir_add(I, before(b, fn->full[d].hi, at->var), ir_idx(I, 2))/
