# src/lower/emit.c
# copies that the GPU makes on its own are read before they have landed
s/st_copies(b->arena, 0)/st_copies(b->arena, 9)/
