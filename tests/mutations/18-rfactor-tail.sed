# src/schedule/rfactor.c
# the last, partial piece of a domain of constant extent has no guard
s/bool divides = ir_is_int(extent, &n) && n % s->factor == 0;/bool divides = ir_is_int(extent, \&n);/
