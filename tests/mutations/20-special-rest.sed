# src/schedule/specialize.c
# what is left for calls that no specialization fits takes their conditions to hold
s/ir_make1(r->ir, OP_LNOT, s.cond))/s.cond)/
