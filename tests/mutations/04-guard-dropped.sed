# src/lower/nest.c
# the guard of a partial tile is dropped
s/if (tail == MLC_TAIL_GUARD) {/if (tail == MLC_TAIL_GUARD \&\& s->factor != 4) {/
