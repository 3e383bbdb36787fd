# src/lower/trim.c
# a loop ends an iteration before its condition does
s/if (may.hi) range->hi = range->hi ? ir_min(t->ir, range->hi, may.hi) : may.hi;/if (may.hi) range->hi = ir_sub(t->ir, may.hi, ir_idx(t->ir, 1));/
