# src/lower/barriers.c
# atomic stores do not wait for what threads stored before, or what they read
s/ || (now.joined & (since->stored | since->read));/;/
