# src/lower/barriers.c
# no thread waits for the iteration before
s/        \*since = at;/        { *made = b->made; return now; }/
