/* parse.h - expressions from text (docs/language.md), typed as the C front door types them.
 *
 * This floor knows operators, types and numbers; what other names mean is asked of a ParseEnv, so that the
 * algorithm floor can bring Funcs, Vars and params. */
#ifndef PARSE_H
#define PARSE_H

#include "lex.h"

enum { PARSE_MAX_DEPTH = 500 };

typedef struct Parser Parser;

typedef struct {
    const Node *e;
    bool literal; /* a number that takes its neighbour's type */
} Parsed;

/* Both return false where they don't know the name, and raise or give a poison where its use is wrong. */
typedef struct {
    void *user;
    bool (*name)(void *user, const Place *place, const char *name, Parsed *r);
    /* name(arg ...), and [element] behind it, -1: none. */
    bool (*call)(void *user, const Place *place, const char *name, int n, const Parsed *arg, int element, Parsed *r);
    /* A call with a grammar of its own: the current token stands behind `name(`; passes the `)` and more. */
    bool (*special)(void *user, Parser *P, const Token *at, Parsed *r);
    /* The names that would have been known, for a hint. */
    const char *const *(*names)(void *user, int *n);
    /* The constant that an operator on plain numbers is, as the C front door folds it; NULL: nothing folds. */
    const Node *(*fold)(void *user, const Node *e);
    const char *remedy; /* what else there is to do about an unknown name, or NULL */
} ParseEnv;

typedef struct {
    const char *name;
    const Node *e;
} ParseLocal;

struct Parser {
    Lexer lex;
    Interner *I;
    const ParseEnv *env;
    int depth;
    mlc_type generic;       /* bodies: what T stands for; MLC_VOID elsewhere */
    VEC(ParseLocal) local;  /* names of the blocks around, innermost last */
    int place_line;         /* the line that place_file was made for */
    const char *place_file;
};

void ir_parser_init(Parser *P, Interner *I, const ParseEnv *env, const char *text, size_t n, const char *file, int line);
/* One expression from the current token on; errors are raised. */
Parsed ir_parse_expr(Parser *P);
/* Ends the parse with a poison's message. */
const Node *ir_parse_check(Parser *P, const Node *e);

/* A body of derived.def: `name = expr; ... result` over the names of `params`, T being their type.  Operators
 * are typed, nothing is folded. */
const Node *ir_parse_body(Interner *I, const char *text, int n, const Node *const *params, const char *const *names,
                          mlc_type T);

#endif
