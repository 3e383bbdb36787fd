# src/lower/alloc_bounds.c
# an array on the stack has no room for the padding that align_storage asks for
s/st_align_up(r->most\[d\], r->t->align\[d\])/r->most[d]/
