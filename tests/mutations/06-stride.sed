# src/lower/flatten.c
# the stride of a dimension forgets the one below
s/stride = sim_simplify(m->ir, NULL, ir_mul(m->ir, t->stride\[d\], st_padded(m->ir, t, d)));/stride = st_padded(m->ir, t, d);/
