/* text.c - names, types and lines of the C being written.
 *
 * Every identifier of the unit is unique, so a loop body can move into a function of its own with its
 * variables' names.  Which of them exist in the function being written is Fn.has; a name that is missing
 * there is captured from the function around it. */
#include "cg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Not deeper than is legible: allocations nest, and the text of a long chain of them must not grow with the
 * square of its length. */
static void indent(Gen *G) {
    static const char spaces[] = "                                                            ";
    size_t n = 4 * (size_t)G->fn->depth;
    sb_putn(&G->fn->out, spaces, n < sizeof spaces - 1 ? n : sizeof spaces - 1);
}

void line(Gen *G, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    indent(G);
    sb_vprintf(&G->fn->out, format, ap);
    sb_puts(&G->fn->out, "\n");
    va_end(ap);
}

void open_brace(Gen *G, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    indent(G);
    size_t before = G->fn->out.n;
    sb_vprintf(&G->fn->out, format, ap);
    sb_puts(&G->fn->out, G->fn->out.n > before ? " {\n" : "{\n");
    G->fn->depth++;
    va_end(ap);
}

void close_brace(Gen *G) {
    G->fn->depth--;
    line(G, "}");
}

char *fmt(Gen *G, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    StrBuf b;
    sb_init(&b, G->arena);
    sb_vprintf(&b, format, ap);
    va_end(ap);
    return b.at;
}

/* ---- identifiers ---- */

static const char *const reserved[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm",
    "bool", "true", "false", "main", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64",
    "call", "shape", "data", "code", "hooks", "show", "users_mode", "own_mode", "status", "closure", "fail", "INLINE", "linux", "unix", "mlc_call", "mlc_hooks", "mlc_memo",
    "mlc_gpu_memory", "grid", "threads", "args", "some", "mlc_scalar", "mlc_watched", "mlc_watch", "NULL", "printf", "aligned_alloc", "free", "typeof", "c", "i", "n", "one", "failed", "bytes_of", "box_of",
    "seen", "since", "begun", "counters", "ticks", "spend", "turn_wait", "turn_end", "turns_ended", "turns_close", "CLOSED",
};

/* What else CUDA C++ keeps for itself where a local name would hide it. */
static const char *const reserved_cuda[] = {
    "class", "new", "delete", "template", "this", "typename", "namespace", "operator", "private", "public", "protected", "using",
    "virtual", "friend", "explicit", "export", "mutable", "throw", "try", "catch", "typeid", "wchar_t", "and", "or", "not", "xor",
    "bitand", "bitor", "compl", "and_eq", "or_eq", "xor_eq", "not_eq", "const_cast", "static_cast", "dynamic_cast",
    "reinterpret_cast", "constexpr", "consteval", "constinit", "concept", "requires", "decltype", "noexcept", "nullptr", "alignas", "alignof",
    "static_assert", "thread_local", "char8_t", "char16_t", "char32_t", "co_await", "co_return", "co_yield",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "shared",
    "atomicAdd", "atomicAnd", "atomicOr", "atomicXor", "atomicMin", "atomicMax", "atomicCAS",
};

static bool is_among(const char *const *word, size_t n, const char *s) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(s, word[i])) return true;
    return false;
}

static bool is_reserved(const char *s, bool cuda) {
    return s[0] == '_' || is_among(reserved, sizeof reserved / sizeof *reserved, s) ||
           (cuda && is_among(reserved_cuda, sizeof reserved_cuda / sizeof *reserved_cuda, s));
}

/* Letters, digits and underscores; a name of the language may hold dots and dollars. */
static char *sanitised(Gen *G, const char *s) {
    char *c = arena_printf(G->arena, "%s%s", *s >= '0' && *s <= '9' ? "n" : "", s);
    for (char *p = c; *p; p++) {
        bool good = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!good) *p = '_';
    }
    return c;
}

/* Ends it like a helper (min_f32x16) or a type (f32x16u)?  Those are written when they are needed. */
static bool is_like_ours(const char *s) {
    static const char *const tags[] = { "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bf16", "f16", "f32", "f64",
                                        "c8", "c64" };
    size_t n = strlen(s);
    if (n && s[n - 1] == 'u') n--;
    size_t digits = n;
    while (digits && s[digits - 1] >= '0' && s[digits - 1] <= '9') digits--;
    if (digits < n && digits && s[digits - 1] == 'x') n = digits - 1;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        size_t k = strlen(tags[i]);
        if (n >= k && !strncmp(s + n - k, tags[i], k) && (n == k || s[n - k - 1] == '_')) return true;
    }
    return false;
}

bool cg_is_name(const char *name) {
    if (!*name || (*name >= '0' && *name <= '9') || is_reserved(name, false) || is_like_ours(name)) return false;
    for (const char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_')) return false;
    return true;
}

const char *fresh(Gen *G, const char *base) {
    const char *s = sanitised(G, base), *c = s;
    if (is_reserved(s, G->cuda)) s = c = arena_printf(G->arena, "v%s%s", *s == '_' ? "" : "_", s);
    if (is_like_ours(s)) s = c = arena_printf(G->arena, "%s_v", s);
    for (int i = 2; sm_get(&G->taken, c); i++) c = arena_printf(G->arena, "%s_%d", s, i);
    sm_put(&G->taken, c, (void *)(uintptr_t)c);
    return c;
}

const char *name_of(Gen *G, const void *key, const char *base) {
    const char *s = pm_get(&G->name, key);
    if (!s) {
        s = fresh(G, base);
        pm_put(&G->name, key, (void *)(uintptr_t)s);
    }
    return s;
}

void bind(Gen *G, const void *key, const char *name) {
    pm_put(&G->fn->has, key, (void *)(uintptr_t)name);
}

void unbind(Gen *G, const void *key) {
    pm_put(&G->fn->has, key, NULL);
}

static const char *find_in(Gen *G, Fn *f, const void *key) {
    const char *s = pm_get(&f->has, key);
    if (s && !f->up) pm_put(&G->used, key, (void *)(uintptr_t)s);
    if (s) return s;
    if (!f->up) BUG(G->arena->fault, "a name is used outside its scope");
    s = find_in(G, f->up, key);
    VEC_PUSH(G->arena, &f->captured, key);
    pm_put(&f->has, key, (void *)(uintptr_t)s);
    return s;
}

const char *in_scope(Gen *G, const void *key) {
    return find_in(G, G->fn, key);
}

const char *element_name(Gen *G, const Storage *s, int elem) {
    const char *base = s->n > 1 ? fmt(G, "%s_%d", s->name, elem) : s->name;
    pm_put(&G->element, &s->type[elem], (void *)(uintptr_t)s);
    return name_of(G, &s->type[elem], base);
}

/* ---- types ---- */

const char *ty_c(mlc_type t) {
    switch (t) {
    case MLC_BOOL: return "u8";
    case MLC_F16: case MLC_BF16: return "u16";
    case MLC_INDEX: return "i64";
    default: return mlc_type_name(t);
    }
}

const char *ty_tag(mlc_type t) {
    return t == MLC_INDEX ? "i64" : mlc_type_name(t);
}

int ty_bytes(mlc_type t) {
    return (int)mlc_type_size(t);
}

/* ---- texts ---- */

Text atom(const char *s) {
    return (Text){ .s = s, .prec = P_ATOM };
}

Text at_prec(const char *s, int prec) {
    return (Text){ .s = s, .prec = prec };
}

const char *wrap(Gen *G, Text t, int prec) {
    return t.prec >= prec ? t.s : fmt(G, "(%s)", t.s);
}

static Text float_text(Gen *G, mlc_type t, double v) {
    const char *f = t == MLC_F32 ? "f" : "";
    if (G->cuda && isnan(v)) return atom(t == MLC_F32 ? "__int_as_float(0x7fffffff)" : "__longlong_as_double(0x7fffffffffffffffll)");
    if (G->cuda && isinf(v))
        return atom(fmt(G, t == MLC_F32 ? "__int_as_float(0x%xf800000)" : "__longlong_as_double(0x%xff0000000000000ll)", v < 0 ? 0xf : 7));
    if (isnan(v)) return atom(fmt(G, "__builtin_nan%s(\"\")", f));
    if (isinf(v)) return at_prec(fmt(G, "%s__builtin_inf%s()", v < 0 ? "-" : "", f), v < 0 ? P_UNARY : P_ATOM);
    int prec = signbit(v) ? P_UNARY : P_ATOM;
    if (v == floor(v) && fabs(v) < 1e6) return at_prec(fmt(G, "%.1f%s", v, f), prec);
    char shortest[40]; /* decimal where six digits say it exactly */
    snprintf(shortest, sizeof shortest, "%g", v);
    double back = 0;
    bool plain = !strchr(shortest, 'e') && sscanf(shortest, "%lf", &back) == 1;
    if (plain && (t == MLC_F32 ? (double)(float)back : back) == v) return at_prec(fmt(G, "%s%s", shortest, f), prec);
    return at_prec(fmt(G, "%a%s", v, f), prec);
}

Text constant_text(Gen *G, const Node *e) {
    mlc_type t = (mlc_type)e->type;
    if (ty_is_half(t)) {
        uint16_t bits;
        val_store(t, &bits, ir_value(e));
        return atom(fmt(G, "0x%x", bits));
    }
    if (ty_is_float(t)) return float_text(G, t, e->u.f);
    int64_t i = e->u.i;
    if (t == MLC_U64) return atom(fmt(G, "%lluul", (unsigned long long)i));
    if (t == MLC_U32) return atom(fmt(G, "%lluu", (unsigned long long)i));
    if (i == INT64_MIN) return atom("(-9223372036854775807l - 1)");
    const char *suffix = t == MLC_I64 || i > INT32_MAX || i < -INT32_MAX ? "l" : "";
    if (t == MLC_I32 && i == INT32_MIN) return atom("(-2147483647 - 1)");
    return at_prec(fmt(G, "%lld%s", (long long)i, suffix), i < 0 ? P_UNARY : P_ATOM);
}

/* `// blur.c:15 tile(x, y, ...)` above a loop or an allocation. */
void comment_line(Gen *G, const PlanLine *l) {
    if (!l) return;
    StrBuf b;
    sb_init(&b, G->arena);
    if (l->d.loc.file) {
        const char *slash = strrchr(l->d.loc.file, '/');
        sb_printf(&b, "%s:%d ", slash ? slash + 1 : l->d.loc.file, l->d.loc.line);
    }
    sch_print_directive(&b, &l->d);
    for (char *p = b.at; *p; p++)
        if (*p == '\n' || *p == '\\') *p = ' ';
    line(G, "// %s", b.at);
}
