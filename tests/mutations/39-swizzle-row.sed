# src/lower/flatten.c
# chunks of a row change places by the chunk's own number: two come to lie on one another
s/ir_make2(I, OP_XOR, at, with)/ir_make2(I, OP_XOR, at, sim_simplify(I, NULL, ir_make2(I, OP_MOD, at, ir_idx(I, t->swizzle.ways))))/
