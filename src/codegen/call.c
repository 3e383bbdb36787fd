/* call.c - what generated code asks of its caller.
 *
 * In this process that is mlc_hooks: threads, memory, printing, and a record of the failure.  Ahead of
 * time (CgOptions.emit) it is the C library and OpenMP, and a failure is a number: -1 when memory is out,
 * else 1 + the number of the check, which SYMBOL_message turns into text. */
#include "cg.h"

#include <string.h>

const char *quoted(Gen *G, const char *s) {
    StrBuf b;
    sb_init(&b, G->arena);
    for (; s && *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 32 || c > 126 || c == '"' || c == '\\' || c == '?') sb_printf(&b, "\\%03o", c);
        else sb_putn(&b, s, 1);
    }
    return b.at;
}

const char *fail_text(Gen *G, ErrCode code, int number, const char *const arg[4]) {
    if (G->o->emit) return fmt(G, "%d", number < 0 ? -1 : number + 1);
    return fmt(G, "fail(call, %d, %d, %s, %s, %s, %s)", code, number, arg[0], arg[1], arg[2], arg[3]);
}

const char *alloc_text(Gen *G, const char *bytes) {
    return fmt(G, G->o->emit ? "aligned_alloc(64, (unsigned long)(%s + 127) & ~63ul)"
                             : "hooks->alloc(hooks->user, (unsigned long)%s)", bytes);
}

const char *release_text(Gen *G, const char *name) {
    return fmt(G, G->o->emit ? "free(%s)" : "hooks->release(hooks->user, %s)", name);
}

/* The caller of a C function whose address is known at run time.  It is never inlined: what a compiler moves
 * across a change of the floating-point mode stays outside of this one call. */
static void write_caller(Gen *G, const Extern *e, const char *address, const char *types, const char *caller) {
    const char *result = ty_c(e->result);
    StrBuf params, args;
    sb_init(&params, G->arena);
    sb_init(&args, G->arena);
    for (int i = 0; i < e->n; i++) {
        sb_printf(&params, ", %s a%d", ty_c(e->arg[i]), i);
        sb_printf(&args, "%sa%d", i ? ", " : "", i);
    }
    sb_printf(&G->types, "void *%s;\nOUTLINE %s %s(const mlc_call *call%s) {\n    users_mode(call);\n", address, result,
              caller, e->n ? params.at : "");
    sb_printf(&G->types, "    const %s r = ((%s (*)(%s))%s)(%s);\n    own_mode();\n    return r;\n}\n", result, result,
              types, address, e->n ? args.at : "");
}

/* What stands before the arguments.  The loader stores the address of an extern function in a variable of the
 * object; ahead of time it is linked. */
const char *extern_text(Gen *G, const Extern *e) {
    const char *known = pm_get(&G->externs, e);
    if (known) return known;
    StrBuf types;
    sb_init(&types, G->arena);
    for (int i = 0; i < e->n; i++) sb_printf(&types, "%s%s", i ? ", " : "", ty_c(e->arg[i]));
    const char *args = e->n ? types.at : "void", *call = fmt(G, "%s(", e->name);
    if (G->o->emit) {
        sb_printf(&G->types, "extern %s %s(%s);\n", ty_c(e->result), e->name, args);
    } else {
        const char *caller = fmt(G, "%s_call_%s", G->o->symbol, e->name);
        write_caller(G, e, fmt(G, "%s_extern_%s", G->o->symbol, e->name), args, caller);
        call = fmt(G, "%s(call%s", caller, e->n ? ", " : "");
    }
    pm_put(&G->externs, e, (void *)(uintptr_t)call);
    return call;
}

static void print_to_stdout(Gen *G, const Node *e, const Text *v) {
    StrBuf format, args;
    sb_init(&format, G->arena);
    sb_init(&args, G->arena);
    for (const char *p = e->u.text ? e->u.text : ""; *p; p++) sb_puts(&format, *p == '%' ? "%%" : quoted(G, fmt(G, "%c", *p)));
    for (int i = 0; i < e->n; i++) {
        bool real = ty_is_float((mlc_type)e->kid[i]->type);
        sb_puts(&format, real ? " %.9g" : e->kid[i]->type == MLC_U64 ? " %lu" : " %ld");
        sb_printf(&args, ", (%s)%s", real ? "f64" : "i64", wrap(G, v[i], P_UNARY));
    }
    line(G, "printf(\"%s\\n\"%s);", format.at, args.at);
}

void print_line(Gen *G, const Node *e, const Text *k) {
    StrBuf types, values;
    Text *v = ARENA_ARRAY(G->arena, Text, e->n);
    sb_init(&types, G->arena);
    sb_init(&values, G->arena);
    for (int i = 0; i < e->n; i++) {
        mlc_type t = (mlc_type)e->kid[i]->type;
        v[i] = ty_is_half(t) ? atom(fmt(G, "%s(%s)", helper_convert(G, MLC_F32, t, 1), k[i].s)) : k[i];
        sb_printf(&types, "%s%d", i ? ", " : "", t);
        sb_printf(&values, "%s{ .%c = %s }", i ? ", " : "", ty_is_float(t) ? 'f' : 'i', v[i].s);
    }
    if (G->o->emit) print_to_stdout(G, e, v);
    else line(G, "show(call, \"%s\", %d, (const int[]){ %s }, (const mlc_scalar[]){ %s });",
              quoted(G, e->u.text), e->n, types.at, values.at);
}

void parallel_call(Gen *G, const char *body, const char *extent) {
    if (!G->o->emit) {
        line(G, "const int failed = hooks->par_for(hooks->user, %s, &c, %s);", body, extent);
        return;
    }
    line(G, "int failed = 0;");
    line(G, "const i64 n = %s;", extent);
    if (G->o->openmp) line(G, "#pragma omp parallel for schedule(dynamic)");
    open_brace(G, "for (i64 i = 0; i < n; i++)");
    line(G, "const int one = %s(&c, i);", body);
    line(G, "if (one) __atomic_store_n(&failed, one, __ATOMIC_RELAXED);");
    close_brace(G);
}

/* The row of errors.def with its texts; numbers are known to the call alone. */
const char *error_message(Gen *G, ErrCode code, const char *a, const char *b) {
    const char *text[2] = { a, b };
    int n = 0;
    StrBuf out;
    sb_init(&out, G->arena);
    for (const char *p = err_format(code); *p; p++) {
        if (*p != '%') {
            sb_putn(&out, p, 1);
            continue;
        }
        while (p[1] && !strchr("sdux%", p[1])) p++;
        p++;
        sb_puts(&out, *p == 's' ? (n < 2 ? text[n++] : "#") : *p == '%' ? "%" : "#");
        if (!*p) break;
    }
    return out.at;
}
