# src/codegen/vec.c
# the last lane of an odd vector is not computed
s/for (int64_t o = 0; o < v->lanes; o += w) {/for (int64_t o = 0; o + (v->lanes > 2) < v->lanes; o += w) {/
