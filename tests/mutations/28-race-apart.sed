# src/schedule/race.c
# a read a multiple away from the stores counts as apart from them
s|if (c.modulus != 1 \&\& c.remainder != 0) return true;|if (c.modulus != 1) return true;|
