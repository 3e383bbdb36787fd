# src/lower/bounds.c
# what a condition on data reads is narrowed by that condition itself
s|const Facts \*f = asked ? p->plain : p->all;|const Facts *f = p->all;|
