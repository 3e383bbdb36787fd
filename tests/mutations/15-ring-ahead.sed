# src/lower/async.c
# a task fills a part of its ring buffer that is still being read
s/fn->ahead = ir_idx(I, fn->sched->ring);/fn->ahead = ir_idx(I, fn->sched->ring + 1);/
