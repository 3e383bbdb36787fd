# src/schedule/atomic.c
# lanes that are no power of two lose the odd one when they are joined
s|int64_t m = (n + 1) / 2;|int64_t m = n / 2;|
