# src/codegen/vec.c
# the mask of a guard asks the first lane only
s/Text last = expr(G, &v, legal(G, at_lane(G, c, ir_idx(G->ir, G->vec->lanes - 1))));/Text last = first;/
