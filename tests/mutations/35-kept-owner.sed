# src/lower/spread.c
# elements in the registers of one thread are another's, too
s/if (have && have->thread != i) raise_talk/if (have \&\& have->thread != i \&\& rank > MAX_RANK) raise_talk/
