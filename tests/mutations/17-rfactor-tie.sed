# src/schedule/assoc.c
# of equal pieces of an argmin the later point is taken
s/is_before(I, n - 1, part, old)/is_before(I, n - 1, old, part)/
