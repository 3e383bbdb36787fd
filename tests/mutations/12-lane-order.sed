# src/codegen/vec.c
# the mask of a guard holds in its first lane or not at all
s/\(Text first = expr(G, &v, legal(G, at_lane(G, c, \)ir_idx(G->ir, 0)/\1ir_idx(G->ir, 1)/; s/open_brace(G, "if (%s)", infix(G, first, "||", last, P_OR).s);/(void)last;\n    open_brace(G, "if (%s)", first.s);/
