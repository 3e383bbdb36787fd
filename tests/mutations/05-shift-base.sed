# src/lower/nest.c
# a shifted last tile starts one point early
s/const Node \*last = ir_sub(I(n), extent, factor);/const Node *last = ir_sub(I(n), ir_sub(I(n), extent, factor), ir_idx(I(n), 1));/
