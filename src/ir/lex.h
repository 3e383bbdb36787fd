/* lex.h - tokens of the text language: names, numbers, strings, signs, with their places.
 *
 * A name may have dots (k.x, C.u0, in.extent.0): what stands behind a dot without a space belongs to
 * it.  Backquotes make a name of what would otherwise be a word of the language: `inf`.  Numbers have
 * C's spelling and C's types, so that stringised C means what it says. */
#ifndef LEX_H
#define LEX_H

#include "ir.h"

typedef enum { TOK_END, TOK_NAME, TOK_NUMBER, TOK_STRING, TOK_SIGN } TokKind;

typedef struct {
    TokKind kind;
    const char *at;   /* in the source */
    size_t n;
    int line, col;    /* from 1 */
    const char *text; /* names and strings: the contents; signs: the sign */
    bool quoted;      /* a name in backquotes */
    mlc_type type;    /* numbers: i32, i64, u32, u64, f32 or f64, as C types them */
    Value value;
} Token;

typedef struct {
    Arena *arena;
    Fault *fault;
    const char *file;  /* for messages; NULL: "text" */
    const char *text, *end, *at, *line_at;
    const char *mark;  /* where the last place pointed: the caret of a message */
    int line;
    Token tok;         /* the current one */
} Lexer;

/* `line` numbers the first line. */
void lex_init(Lexer *L, Arena *arena, Fault *fault, const char *text, size_t n, const char *file, int line);
void lex_next(Lexer *L);
Token lex_peek(const Lexer *L); /* the token after the current one */

static inline bool lex_at_end(const Lexer *L) { return L->tok.kind == TOK_END; }
bool lex_is(const Lexer *L, const char *sign);       /* the current token is this sign */
bool lex_is_word(const Lexer *L, const char *word);  /* ... this unquoted name */
bool lex_accept(Lexer *L, const char *sign);         /* ... and is passed */
bool lex_accept_word(Lexer *L, const char *word);
void lex_expect(Lexer *L, const char *sign);
const char *lex_name(Lexer *L, const char *what);    /* passes a name; `what` it should be, for the message */
int64_t lex_integer(Lexer *L, const char *what);     /* passes an integer, with its sign */
const char *lex_string(Lexer *L, const char *what);

/* Where the current token stands: prints as file:line:column. */
Place lex_place(Lexer *L);
Place lex_place_of(Lexer *L, const Token *t);
mlc_loc lex_loc(const Lexer *L);
/* "expected X, found Y". */
_Noreturn void lex_unexpected(Lexer *L, const char *wanted);
/* Puts the line of the last place and a caret under it behind the recorded message. */
void lex_show_caret(Lexer *L);

/* Is `s` one name that needs no backquotes? */
bool lex_is_plain_name(const char *s);

#endif
