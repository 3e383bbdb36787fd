# src/lower/folding.c
# a circle of memory has half the places that it needs
s/while (size < need) size \*= 2;/while (size * 2 < need) size *= 2;/
