# src/lower/nest.c
# the guard of a partial tile is dropped
s/case MLC_TAIL_GUARD: add_guard(n, p->avail, inside, true, MASK_NONE); break;/case MLC_TAIL_GUARD: if (s->factor != 4) add_guard(n, p->avail, inside, true, MASK_NONE); break;/
