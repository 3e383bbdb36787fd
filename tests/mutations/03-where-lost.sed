# src/lower/predicates.c
# the first predicate of a reduction domain is lost
s/if (st->asked_at\[i\] == at) cond/if (i \&\& st->asked_at[i] == at) cond/
