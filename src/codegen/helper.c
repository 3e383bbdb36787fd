/* helper.c - small functions that generated code calls, written on demand from two tables.
 *
 * scalar.def holds the meaning of each operator that C lacks, cuda.def those rows of it that CUDA C++ spells in another
 * way, x86.def the fast spellings on vectors.  A
 * vector helper without a row is a loop over its lanes around the scalar one: slower, never wrong. */
#include "cg.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *of, *to;
    CpuIsa isa;
    const char *signature, *body;
} ScalarRow;

static const ScalarRow scalars[] = {
#define SCALAR(name, of, to, isa, signature, body) { name, of, to, ISA_##isa, signature, body },
#include "scalar.def"
#undef SCALAR
};

static const ScalarRow cuda[] = {
#define SCALAR(name, of, to, isa, signature, body) { name, of, to, ISA_##isa, signature, body },
#include "cuda.def"
#undef SCALAR
};

typedef enum { ANY, GCC, CLANG } Dialect;
typedef struct {
    const char *name, *of, *to;
    int least, most; /* bytes of the operand's vector */
    CpuIsa isa;
    Dialect dialect;
    const char *body;
} VectorRow;

static const VectorRow vectors[] = {
#define VECTOR(name, of, to, least, most, isa, dialect, body) { name, of, to, least, most, ISA_##isa, dialect, body },
#include "x86.def"
#undef VECTOR
};

/* What is being written. */
typedef struct {
    const char *base;
    mlc_type of, to; /* to: MLC_VOID where it is no conversion */
    int lanes;
} Want;

bool has_fma(const Gen *G) {
    return G->o->isa >= ISA_AVX2;
}

int native_bytes(const Gen *G) {
    return G->o->isa == ISA_AVX512 ? 64 : G->o->isa == ISA_AVX2 ? 32 : 16;
}

/* ---- classes of types ---- */

static bool in_class(const char *list, mlc_type t) {
    if (t == MLC_VOID) return !*list;
    const char *tag = ty_tag(t);
    size_t n = strlen(tag);
    for (const char *p = list; *p;) {
        size_t k = strcspn(p, " ");
        bool is_signed = ty_is_signed(t) || t == MLC_INDEX, one = k == 1;
        if (one && *p == 'F' && (t == MLC_F32 || t == MLC_F64)) return true;
        if (one && (*p == 'S' || *p == 'I') && is_signed) return true;
        if (one && (*p == 'U' || *p == 'I') && ty_is_unsigned(t)) return true;
        if (k == n && !strncmp(p, tag, n)) return true;
        p += k;
        while (*p == ' ') p++;
    }
    return false;
}

/* ---- vector types ---- */

static int element_bytes(const char *e) {
    while (*e < '0' || *e > '9') e++;
    return atoi(e) / 8;
}

/* Builtins want vectors of plain char, short, int and long long: c8, c64; the others are the same types. */
static const char *element_c(const char *e) {
    return !strcmp(e, "c8") ? "char" : !strcmp(e, "c64") ? "long long" : !strcmp(e, "i16") ? "short" :
           !strcmp(e, "i32") ? "int" : !strcmp(e, "f32") ? "float" : !strcmp(e, "f64") ? "double" : e;
}

const char *vector_type(Gen *G, const char *element, int lanes) {
    if (lanes == 1) return element;
    char *name = fmt(G, "%sx%d", element, lanes);
    if (sm_get(&G->have, name)) return name;
    sm_put(&G->have, name, name);
    sb_printf(&G->types, "typedef %s %s __attribute__((vector_size(%d)));\n", element_c(element), name,
              element_bytes(element) * lanes);
    return name;
}

const char *vector_memory(Gen *G, const char *element, int lanes) {
    const char *vector = vector_type(G, element, lanes);
    char *name = fmt(G, "%su", vector);
    if (sm_get(&G->have, name)) return name;
    sm_put(&G->have, name, name);
    sb_printf(&G->types, "typedef %s %s __attribute__((aligned(%d), may_alias));\n", vector, name,
              element_bytes(element));
    return name;
}

/* ---- templates ---- */

static const char *of_letter(Gen *G, const Want *w, char c, int lanes) {
    mlc_type s = ty_int(true, ty_bytes(w->of) * 8), u = ty_int(false, ty_bytes(w->of) * 8);
    switch (c) {
    case 'T': return vector_type(G, ty_c(w->of), lanes);
    case 'S': return vector_type(G, ty_c(s), lanes);
    case 'U': return vector_type(G, ty_c(u), lanes);
    case 'R': return vector_type(G, ty_c(w->to), lanes);
    case 'f': return vector_type(G, "f32", lanes);
    case 'P': return fmt(G, "const %s *", ty_c(w->of));
    case 'p': return fmt(G, "%s *", ty_c(w->of));
    case 'v': return "void";
    default: return vector_type(G, "f64", lanes);
    }
}

static const char *least_text(mlc_type t) {
    switch (t) {
    case MLC_I8: return "-128";
    case MLC_I16: return "-32768";
    case MLC_I32: return "(-2147483647 - 1)";
    default: return "(-9223372036854775807l - 1)";
    }
}

/* How instructions call elements of that size. */
static const char *letter_of(mlc_type t) {
    int n = ty_bytes(t);
    return n == 1 ? "b" : n == 2 ? "w" : n == 4 ? "d" : "q";
}

/* The text of `$name`; *n is how much of it was the name. */
static const char *expand(Gen *G, const Want *w, const char *p, size_t *n) {
    static const struct {
        const char *name;
        char what;
    } words[] = { { "end", 'e' }, { "max", 'M' }, { "min", 'm' }, { "whole", 'w' }, { "T", 'T' }, { "S", 'S' },
                  { "U", 'U' }, { "R", 'R' }, { "V", 'V' }, { "I", 'I' }, { "W", 'W' }, { "Q", 'Q' }, { "N", 'N' },
                  { "t", 't' }, { "r", 'r' }, { "B", 'B' }, { "f", 'f' }, { "x", 'x' }, { "p", 'p' }, { "j", 'j' }, { "k", 'k' } };
    char what = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words && !what; i++) {
        *n = strlen(words[i].name);
        if (!strncmp(p, words[i].name, *n)) what = words[i].what;
    }
    mlc_type to = w->to;
    const char *f = w->of == MLC_F32 ? "f" : "";
    switch (what) {
    case 'e': return fmt(G, "0x1p%d%s", ty_bits(to) - !ty_is_unsigned(to), f);
    case 'M': return ty_is_unsigned(to) ? fmt(G, "%lluul", (unsigned long long)ty_max(to))
                                        : fmt(G, "%lld%s", (long long)ty_max(to), ty_bits(to) == 64 ? "l" : "");
    case 'm': return least_text(to == MLC_VOID ? w->of : to);
    case 'w': return w->of == MLC_F32 ? "0x1p23f" : "0x1p52";
    case 'T': case 'S': case 'U': case 'R': return of_letter(G, w, what, 1);
    case 'V': return of_letter(G, w, 'T', w->lanes);
    case 'I': return of_letter(G, w, 'S', w->lanes);
    case 'W': return of_letter(G, w, 'U', w->lanes);
    case 'Q': return of_letter(G, w, 'R', w->lanes);
    case 'N': return fmt(G, "%d", w->lanes);
    case 't': return ty_tag(w->of);
    case 'r': return ty_tag(to);
    case 'B': return fmt(G, "%d", ty_bytes(w->of) * 8);
    case 'f': return f;
    case 'x': return fmt(G, "x%d", w->lanes);
    case 'p': return w->of == MLC_F32 ? "ps" : "pd";
    case 'j': return letter_of(w->of);
    case 'k': return fmt(G, "%s%s", ty_is_unsigned(w->of) ? "u" : "s", letter_of(w->of));
    default: BUG(G->arena->fault, "a helper's template names nothing");
    }
}

static const char *need(Gen *G, const Want *w);

/* A helper by the name that a template wrote: base_type, base_typexN, type_to_type, type_to_typexN. */
static void need_named(Gen *G, const char *text) {
    char *name = arena_str(G->arena, text);
    Want w = { .lanes = 1 };
    char *x = strrchr(name, 'x');
    if (x && x[1] >= '0' && x[1] <= '9') {
        w.lanes = atoi(x + 1);
        *x = 0;
    }
    char *to = strstr(name, "_to_"), *last = strrchr(name, '_');
    if (to) {
        *to = 0;
        w.base = "to";
        w.of = ty_from_name(name);
        w.to = ty_from_name(to + 4);
    } else if (last) {
        *last = 0;
        w.base = name;
        w.of = ty_from_name(last + 1);
    }
    need(G, &w);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* $v{f64}: the vector type of so many f64 as there are lanes; $v{f64 4}: of four. */
static const char *expand_vector(Gen *G, const Want *w, const char *p, size_t *n) {
    size_t k = strcspn(p + 2, "} ");
    char *element = arena_copy(G->arena, p + 2, k + 1);
    element[k] = 0;
    int lanes = p[2 + k] == ' ' ? atoi(p + 2 + k) : w->lanes;
    *n = strcspn(p, "}") + 1;
    return vector_type(G, element, lanes);
}

/* Two steps: `$` words, then `@` names, which may contain them. */
static const char *fill(Gen *G, const Want *w, const char *body) {
    StrBuf once, twice;
    sb_init(&once, G->arena);
    sb_init(&twice, G->arena);
    for (const char *p = body; *p;) {
        size_t n = 0;
        if (*p != '$') sb_putn(&once, p++, 1);
        else if (p[1] == '$') {
            sb_puts(&once, "$");
            p += 2;
        }
        else {
            bool vector = p[1] == 'v' && p[2] == '{';
            sb_puts(&once, vector ? expand_vector(G, w, p + 1, &n) : expand(G, w, p + 1, &n));
            p += 1 + n;
        }
    }
    for (const char *p = once.at; *p;) {
        if (*p != '@') {
            sb_putn(&twice, p++, 1);
            continue;
        }
        size_t n = 0;
        while (is_word(p[1 + n])) n++;
        char *name = arena_copy(G->arena, p + 1, n + 1);
        name[n] = 0;
        need_named(G, name);
        sb_puts(&twice, name);
        p += 1 + n;
    }
    return twice.at;
}

/* ---- writing one ---- */

static const ScalarRow *find_row(const ScalarRow *r, size_t n, const Want *w, CpuIsa isa) {
    for (; n; n--, r++)
        if (!strcmp(r->name, w->base) && r->isa <= isa && in_class(r->of, w->of) && in_class(r->to, w->to)) return r;
    return NULL;
}

static const ScalarRow *cuda_row(const Gen *G, const Want *w) {
    return G->cuda ? find_row(cuda, sizeof cuda / sizeof *cuda, w, ISA_PLAIN) : NULL;
}

static const ScalarRow *scalar_row(Gen *G, const Want *w) {
    const ScalarRow *r = find_row(scalars, sizeof scalars / sizeof *scalars, w, G->cuda ? ISA_PLAIN : G->o->isa);
    if (r) return r;
    BUG(G->arena->fault, fmt(G, "no helper %s on %s to %s", w->base, mlc_type_name(w->of), mlc_type_name(w->to)));
}

static const VectorRow *vector_row(Gen *G, const Want *w, Dialect mine) {
    int bytes = ty_bytes(w->of) * w->lanes;
    if (w->to != MLC_VOID && ty_bytes(w->to) > ty_bytes(w->of)) bytes = ty_bytes(w->to) * w->lanes;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const VectorRow *r = &vectors[i];
        if (strcmp(r->name, w->base) || r->isa > G->o->isa || bytes < r->least || bytes > r->most) continue;
        if (bytes > native_bytes(G) && strstr(r->body, "__asm__")) continue; /* no register takes it: C splits it */
        if ((r->dialect == ANY || r->dialect == mine) && in_class(r->of, w->of) && in_class(r->to, w->to)) return r;
    }
    return NULL;
}

static const char *want_name(Gen *G, const Want *w) {
    const char *x = w->lanes > 1 ? fmt(G, "x%d", w->lanes) : "";
    if (w->to != MLC_VOID) return fmt(G, "%s_to_%s%s", ty_tag(w->of), ty_tag(w->to), x);
    return fmt(G, "%s_%s%s", w->base, ty_tag(w->of), x);
}

/* Each lane by the scalar helper. */
static const char *by_lanes(Gen *G, const Want *w, const char *signature) {
    Want one = *w;
    one.lanes = 1;
    const char *name = need(G, &one);
    StrBuf args;
    sb_init(&args, G->arena);
    for (int i = 0; signature[2 + i] != ')'; i++) sb_printf(&args, "%s%c[i]", i ? ", " : "", 'a' + i);
    return fmt(G, "%s r;\nfor (int i = 0; i < %d; i++) r[i] = %s(%s);\nreturn r;",
               of_letter(G, w, signature[0], w->lanes), w->lanes, name, args.at);
}

static const char *body_of(Gen *G, const Want *w, Dialect mine) {
    const VectorRow *v = w->lanes > 1 ? vector_row(G, w, mine) : NULL;
    if (v) return fill(G, w, v->body);
    return w->lanes > 1 ? by_lanes(G, w, scalar_row(G, w)->signature) : fill(G, w, scalar_row(G, w)->body);
}

/* An instruction, for chips that have it; else the row of scalar.def. */
static const char *cuda_body(Gen *G, const ScalarRow *r, const Want *w) {
    const char *body = fill(G, w, r->body);
    return strstr(r->body, "asm(") ? fmt(G, "#if __CUDA_ARCH__ >= 800\n%s\n#else\n%s\n#endif", body, body_of(G, w, ANY)) : body;
}

static void write_helper(Gen *G, const Want *w, const char *name) {
    const ScalarRow *own = cuda_row(G, w);
    const char *signature = scalar_row(G, w)->signature;
    const char *body = own ? cuda_body(G, own, w) : body_of(G, w, G->o->is_gcc ? GCC : CLANG);
    /* What is made ahead of time may meet either compiler. */
    const char *other = G->o->emit ? body_of(G, w, G->o->is_gcc ? CLANG : GCC) : body;
    if (strcmp(body, other)) body = fmt(G, "#if%sdef __clang__\n%s\n#else\n%s\n#endif", G->o->is_gcc ? "n" : "", body, other);
    StrBuf b; /* helpers that it needs are out already */
    sb_init(&b, G->arena);
    /* A loop over lanes is long when inlined and slow anyway. */
    const char *how = w->lanes > 1 && strstr(body, "for (") ? "OUTLINE" : "INLINE";
    sb_printf(&b, "%s %s %s(", how, of_letter(G, w, signature[0], w->lanes), name);
    for (int i = 0; signature[2 + i] != ')'; i++)
        sb_printf(&b, "%s%s %c", i ? ", " : "", of_letter(G, w, signature[2 + i], w->lanes), 'a' + i);
    sb_puts(&b, ") {\n");
    for (const char *p = body; *p;) {
        size_t n = strcspn(p, "\n");
        sb_printf(&b, "    %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
    sb_puts(&b, "}\n");
    sb_puts(&G->helpers, b.at);
}

static const char *need(Gen *G, const Want *w) {
    const char *name = want_name(G, w);
    if (!sm_get(&G->have, name)) {
        sm_put(&G->have, name, (void *)(uintptr_t)name);
        sm_put(&G->taken, name, (void *)(uintptr_t)name);
        write_helper(G, w, name);
    }
    return name;
}

const char *helper(Gen *G, const char *base, mlc_type t, int lanes) {
    Want w = { base, t, MLC_VOID, lanes };
    return need(G, &w);
}

const char *helper_convert(Gen *G, mlc_type to, mlc_type from, int lanes) {
    Want w = { "to", from, to, lanes };
    return need(G, &w);
}
