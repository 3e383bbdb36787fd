# src/schedule/race.c
# a step of an RVar may be reached by the smaller steps of the others
s/return is_fixed(w, rest, false) \&\& reach < a/return is_fixed(w, rest, false) \&\& reach <= a/
