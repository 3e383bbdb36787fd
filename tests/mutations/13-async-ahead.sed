# src/lower/async.c
# a task runs ahead by a turn more than its memory holds
s/ir_idx(I, fn->depth)/ir_idx(I, fn->depth + 1)/
