# src/codegen/cuda.c
# arrays of a block lie on top of each other
s/h->end = st_align_up(h->end + t->const_elems \* ty_bytes(t->type\[e\]), SHARED_ALIGN);/h->end = SHARED_ALIGN;/
