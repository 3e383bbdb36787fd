/* text.h - programs as text, in and out (docs/language.md).  Plans are of the floor above, which parses
 * the statements that this one does not know. */
#ifndef ALG_TEXT_H
#define ALG_TEXT_H

#include "algorithm/algorithm.h"
#include "ir/parse.h"

typedef struct TextParser {
    Parser P;
    ParseEnv env;
    mlc_ctx *ctx;
    bool left;            /* inside a left side: unknown names are new Vars */
    VEC(Func *) outputs;
    /* A statement that begins with an unknown keyword and a name; false: not known there either. */
    bool (*other)(void *user, struct TextParser *t);
    void *user;
} TextParser;

/* Each raises into ctx->fault.  The text and the file's name are kept by the caller, for as long as the ctx. */
void alg_text_init(TextParser *t, mlc_ctx *ctx, const char *text, size_t n, const char *file, int line);
void alg_text_statements(TextParser *t); /* up to the end of the text */
/* An array of the names that a Func, an input ... has, for hints. */
RDom *alg_rdom_name(struct TextParser *t); /* the RDom that the next word names */
const char *const *alg_known_names(mlc_ctx *ctx, int *n);

/* The program of these outputs, with further Funcs (that plans name) and what they need. */
typedef struct {
    VEC(Func *) funcs;
    VEC(const RDom *) rdoms;
    bool values; /* of params, where they have one: no part of what is compiled */
} AlsoPrint;
void alg_print_with(StrBuf *out, mlc_ctx *ctx, Func *const *outputs, int n, const AlsoPrint *also);

#endif
