# src/lower/tails.c
# a parallel loop over the points of tiles around the loop over tiles is no race for what moves inwards
s/    if (outer || !tile) return outer;/    return outer;/
