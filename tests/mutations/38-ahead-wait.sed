# src/lower/run_ahead.c
# a step's copies may not have landed when it is read
s/st_copies(a, (int)least - 1)/st_copies(a, (int)least)/
