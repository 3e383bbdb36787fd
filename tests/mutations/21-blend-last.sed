# src/lower/emit.c
# of several tails that blend only the last one keeps what was there
s/new = ir_make2(b->ir, OP_LAND, new, st->blend.at\[i\]);/new = st->blend.at[i];/
