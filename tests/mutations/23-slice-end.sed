# src/lower/whole.c
# the last slice of an extern stage is as long as the others
s/ir_min(I, ir_sub(I, extent, one), hi) };/hi };/
