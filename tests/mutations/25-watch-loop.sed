# src/lower/watch.c
# a profile counts what a loop does as if it ran once
s/times ? sim_simplify(I, NULL, ir_mul(I, t.amount, times)) : t.amount/t.amount/
