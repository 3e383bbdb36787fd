# src/lower/async.c
# a window that starts anew does not wait for what is being read
s/ir_idx(I, 1));/ir_idx(I, ANY));/
