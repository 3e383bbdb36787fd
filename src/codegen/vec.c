/* vec.c - vector loops. */
#include "cg.h"
void vector_loop(Gen *G, const Stmt *s) { scalar_loop(G, s); }
