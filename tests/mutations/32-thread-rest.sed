# src/lower/kernels.c
# threads that a loop has no iteration for run it
s/    return st_if(k->arena, less(k, id, loop->u.loop.extent), body, NULL);/    return body;/
