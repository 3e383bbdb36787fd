/* lex.c - from characters to tokens.  The source may hold any bytes and needs no terminator. */
#include "lex.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_alpha(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static bool is_word(int c) {
    return is_alpha(c) || is_digit(c);
}

/* The character k behind the current one, -1 past the end. */
static int ahead(const Lexer *L, ptrdiff_t k) {
    return L->end - L->at > k ? (unsigned char)L->at[k] : -1;
}

/* ---- places and messages ---- */

Place lex_place_of(Lexer *L, const Token *t) {
    L->mark = t->at;
    /* A Place prints `file:line: `; with the line in the file's text, the column takes the line's place. */
    return (Place){ .loc = { arena_printf(L->arena, "%s:%d", L->file ? L->file : "text", t->line), t->col } };
}

Place lex_place(Lexer *L) {
    return lex_place_of(L, &L->tok);
}

mlc_loc lex_loc(const Lexer *L) {
    return (mlc_loc){ L->file ? L->file : "text", L->tok.line };
}

/* The token as a message shows it. */
static const char *shown(const Lexer *L, const Token *t) {
    if (t->kind == TOK_END) return "the end of the text";
    int n = t->n > 24 ? 24 : (int)t->n;
    return arena_printf(L->arena, "'%.*s%s'", n, t->at, t->n > 24 ? ".." : "");
}

_Noreturn void lex_unexpected(Lexer *L, const char *wanted) {
    Place place = lex_place(L);
    fault_raise(L->fault, ERR_TEXT_EXPECTED, &place, wanted, shown(L, &L->tok));
}

void lex_show_caret(Lexer *L) {
    if (!L->fault) return; /* memory ran out before it was set up */
    char *message = L->fault->info.message;
    size_t size = sizeof L->fault->info.message, at = strlen(message);
    const char *from = L->mark, *to = L->mark;
    if (!from) return;
    while (from > L->text && from[-1] != '\n') from--;
    while (to < L->end && *to != '\n') to++;
    if (to - from > 200 || at + 2 * (size_t)(to - from) + 16 > size) return;
    int before = (int)(L->mark - from);
    snprintf(message + at, size - at, "\n    %.*s\n    %*s^", (int)(to - from), from, before, "");
}

/* ---- blanks ---- */

static void step(Lexer *L) {
    if (*L->at == '\n') {
        L->line++;
        L->line_at = L->at + 1;
    }
    L->at++;
}

static void start(Lexer *L) {
    L->tok = (Token){ .kind = TOK_END, .at = L->at, .line = L->line, .col = (int)(L->at - L->line_at) + 1 };
}

static void skip_comment(Lexer *L) {
    start(L);
    L->at += 2;
    for (; !(ahead(L, 0) == '*' && ahead(L, 1) == '/'); step(L))
        if (L->at >= L->end) {
            Place place = lex_place(L);
            fault_raise(L->fault, ERR_TEXT_COMMENT, &place);
        }
    L->at += 2;
}

static void skip_blanks(Lexer *L) {
    for (;;) {
        int c = ahead(L, 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v') {
            step(L);
        } else if (c == '/' && ahead(L, 1) == '/') {
            while (L->at < L->end && *L->at != '\n') L->at++;
        } else if (c == '/' && ahead(L, 1) == '*') {
            skip_comment(L);
        } else {
            return;
        }
    }
}

static char *copied(Lexer *L, const char *from, size_t n) {
    char *s = arena_alloc(L->arena, n + 1);
    memcpy(s, from, n);
    return s;
}

/* ---- names ---- */

static void name(Lexer *L) {
    while (is_word(ahead(L, 0)) || (ahead(L, 0) == '.' && is_word(ahead(L, 1)))) L->at++;
    L->tok.kind = TOK_NAME;
    L->tok.text = copied(L, L->tok.at, (size_t)(L->at - L->tok.at));
}

static void quoted_name(Lexer *L) {
    const char *from = ++L->at;
    while (L->at < L->end && *L->at != '`' && *L->at != '\n') L->at++;
    if (L->at == from || ahead(L, 0) != '`') {
        Place place = lex_place(L);
        fault_raise(L->fault, ERR_TEXT_QUOTE, &place);
    }
    L->tok.kind = TOK_NAME;
    L->tok.quoted = true;
    L->tok.text = copied(L, from, (size_t)(L->at++ - from));
}

bool lex_is_plain_name(const char *s) {
    if (!is_alpha((unsigned char)*s)) return false;
    for (; *s; s++)
        if (!is_word((unsigned char)*s) && !(*s == '.' && is_word((unsigned char)s[1]))) return false;
    return true;
}

/* ---- numbers ---- */

_Noreturn static void bad_number(Lexer *L, ErrCode code) {
    while (is_word(ahead(L, 0))) L->at++;
    L->tok.n = (size_t)(L->at - L->tok.at);
    Place place = lex_place(L);
    fault_raise(L->fault, code, &place, shown(L, &L->tok));
}

/* Digits of the base; true where there was one. */
static bool digits(Lexer *L, bool hex) {
    const char *from = L->at;
    while (is_digit(ahead(L, 0)) || (hex && ((ahead(L, 0) | 32) >= 'a' && (ahead(L, 0) | 32) <= 'f'))) L->at++;
    return L->at > from;
}

/* strtod and strtof want the decimal point of the process's locale. */
static char *in_locale(Lexer *L, char *s) {
    const char *point = localeconv()->decimal_point;
    char *dot = strchr(s, '.');
    if (!dot || !strcmp(point, ".")) return s;
    *dot = 0;
    return arena_printf(L->arena, "%s%s%s", s, point, dot + 1);
}

static void float_number(Lexer *L) {
    char *s = in_locale(L, copied(L, L->tok.at, (size_t)(L->at - L->tok.at)));
    int c = ahead(L, 0);
    bool narrow = c == 'f' || c == 'F';
    L->tok.type = narrow ? MLC_F32 : MLC_F64;
    L->tok.value.f = narrow ? (double)strtof(s, NULL) : strtod(s, NULL);
    if (narrow || c == 'l' || c == 'L') L->at++;
    if (is_word(ahead(L, 0))) bad_number(L, ERR_TEXT_NUMBER);
    if (isinf(L->tok.value.f)) bad_number(L, ERR_TEXT_NUMBER_INFINITE);
}

/* The suffix u, l, ll in any order and case, and C's choice of a type. */
static void integer_type(Lexer *L, uint64_t v, bool decimal) {
    bool u = false;
    int l = 0;
    for (;; L->at++) {
        int c = ahead(L, 0) | 32;
        if (c == 'u' && !u) u = true;
        else if (c == 'l' && l < 2) l++;
        else break;
    }
    if (is_word(ahead(L, 0))) bad_number(L, ERR_TEXT_NUMBER);
    if (v <= INT32_MAX && !u && !l) L->tok.type = MLC_I32;
    else if (v <= UINT32_MAX && (u || !decimal) && !l) L->tok.type = MLC_U32;
    else if (v <= INT64_MAX && !u) L->tok.type = MLC_I64;
    else L->tok.type = MLC_U64;
    L->tok.value.i = (int64_t)v;
}

static void integer(Lexer *L, bool hex) {
    uint64_t v = 0;
    unsigned base = hex ? 16 : 10;
    for (const char *p = L->tok.at + (hex ? 2 : 0); p < L->at; p++) {
        unsigned d = is_digit(*p) ? (unsigned)(*p - '0') : (unsigned)((*p | 32) - 'a' + 10);
        if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v)) bad_number(L, ERR_TEXT_NUMBER_RANGE);
    }
    if (!hex && L->at - L->tok.at > 1 && *L->tok.at == '0') bad_number(L, ERR_TEXT_OCTAL);
    integer_type(L, v, !hex);
}

static void number(Lexer *L) {
    bool hex = ahead(L, 0) == '0' && (ahead(L, 1) | 32) == 'x', is_float = false;
    L->tok.kind = TOK_NUMBER;
    if (hex) L->at += 2;
    bool any = digits(L, hex);
    if (ahead(L, 0) == '.' && ahead(L, 1) != '.') { /* 0..1 is a range */
        is_float = true;
        L->at++;
        any |= digits(L, hex);
    }
    if (!any) bad_number(L, ERR_TEXT_NUMBER);
    if ((ahead(L, 0) | 32) == (hex ? 'p' : 'e')) {
        is_float = true;
        L->at++;
        if (ahead(L, 0) == '+' || ahead(L, 0) == '-') L->at++;
        if (!digits(L, false)) bad_number(L, ERR_TEXT_NUMBER);
    } else if (hex && is_float) {
        bad_number(L, ERR_TEXT_NUMBER); /* a hex float has a p */
    }
    if (is_float || (!hex && (ahead(L, 0) | 32) == 'f')) float_number(L);
    else integer(L, hex);
}

/* ---- strings ---- */

static int hex_digit(int c) {
    if (is_digit(c)) return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character behind a backslash; 0 where it is none. */
static char escape(Lexer *L) {
    static const char from[] = "ntr\"\\'", to[] = "\n\t\r\"\\'";
    int c = ahead(L, 0);
    const char *p = c > 0 ? strchr(from, c) : NULL;
    if (c == 'x' && hex_digit(ahead(L, 1)) >= 0 && hex_digit(ahead(L, 2)) >= 0) {
        int v = 16 * hex_digit(ahead(L, 1)) + hex_digit(ahead(L, 2));
        L->at += 3;
        return (char)v;
    }
    if (!p) return 0;
    L->at++;
    return to[p - from];
}

static void string(Lexer *L) {
    const char *p = ++L->at;
    while (p < L->end && *p != '"' && *p != '\n') p += *p == '\\' && p + 1 < L->end ? 2 : 1;
    Place place = lex_place(L);
    if (p >= L->end || *p != '"') fault_raise(L->fault, ERR_TEXT_STRING, &place);
    char *s = arena_alloc(L->arena, (size_t)(p - L->at) + 1), *to = s;
    while (L->at < p) {
        char c = *L->at++;
        if (c == '\\') c = escape(L);
        if (!c) fault_raise(L->fault, ERR_TEXT_ESCAPE, &place);
        *to++ = c;
    }
    L->at++;
    L->tok.kind = TOK_STRING;
    L->tok.text = s;
}

/* ---- signs ---- */

static void sign(Lexer *L) {
    static const char *const signs[] = { "..", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "+=", "-=", "*=",
                                         "(",  ")",  "[",  "]",  "{",  "}",  ",",  ";",  ":",  ".",  "=",  "<",
                                         ">",  "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "~",  "!",  "@" };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i]);
        if ((size_t)(L->end - L->at) < n || memcmp(signs[i], L->at, n)) continue;
        L->tok.kind = TOK_SIGN;
        L->tok.text = signs[i];
        L->at += n;
        return;
    }
    Place place = lex_place(L);
    int c = ahead(L, 0);
    if (c == '?') fault_raise(L->fault, ERR_TEXT_TERNARY, &place);
    const char *what = c > 32 && c < 127 ? arena_printf(L->arena, "'%c'", c) : arena_printf(L->arena, "%d", c);
    fault_raise(L->fault, ERR_TEXT_CHARACTER, &place, what);
}

void lex_next(Lexer *L) {
    skip_blanks(L);
    start(L);
    int c = ahead(L, 0);
    if (c < 0) return;
    if (is_alpha(c)) name(L);
    else if (c == '`') quoted_name(L);
    else if (is_digit(c) || (c == '.' && is_digit(ahead(L, 1)))) number(L);
    else if (c == '"') string(L);
    else sign(L);
    L->tok.n = (size_t)(L->at - L->tok.at);
}

Token lex_peek(const Lexer *L) {
    Lexer copy = *L;
    lex_next(&copy);
    return copy.tok;
}

void lex_init(Lexer *L, Arena *arena, Fault *fault, const char *text, size_t n, const char *file, int line) {
    *L = (Lexer){ .arena = arena, .fault = fault, .file = file, .text = text, .end = text + n, .at = text, .line_at = text, .line = line };
    lex_next(L);
}

/* ---- the current token ---- */

bool lex_is(const Lexer *L, const char *s) {
    return L->tok.kind == TOK_SIGN && !strcmp(L->tok.text, s);
}

bool lex_is_word(const Lexer *L, const char *word) {
    return L->tok.kind == TOK_NAME && !L->tok.quoted && !strcmp(L->tok.text, word);
}

bool lex_accept(Lexer *L, const char *s) {
    if (!lex_is(L, s)) return false;
    lex_next(L);
    return true;
}

bool lex_accept_word(Lexer *L, const char *word) {
    if (!lex_is_word(L, word)) return false;
    lex_next(L);
    return true;
}

void lex_expect(Lexer *L, const char *s) {
    if (!lex_accept(L, s)) lex_unexpected(L, arena_printf(L->arena, "'%s'", s));
}

const char *lex_name(Lexer *L, const char *what) {
    if (L->tok.kind != TOK_NAME) lex_unexpected(L, what);
    const char *s = L->tok.text;
    lex_next(L);
    return s;
}

int64_t lex_integer(Lexer *L, const char *what) {
    bool minus = lex_is(L, "-") && lex_peek(L).kind == TOK_NUMBER;
    if (minus) lex_next(L);
    uint64_t v = (uint64_t)L->tok.value.i, most = (uint64_t)INT64_MAX + minus;
    if (L->tok.kind != TOK_NUMBER || ty_is_float(L->tok.type) || v > most) lex_unexpected(L, what);
    lex_next(L);
    return (int64_t)(minus ? 0 - v : v);
}

const char *lex_string(Lexer *L, const char *what) {
    if (L->tok.kind != TOK_STRING) lex_unexpected(L, what);
    const char *s = L->tok.text;
    lex_next(L);
    return s;
}
