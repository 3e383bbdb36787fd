/* whole.c - extern stages in C: queries as expressions, and the call.
 *
 * Both go through two functions of the library (ir/whole.h), whose addresses the loader stores in variables
 * of the object as it does for the user's C function. */
#include "cg.h"

/* The variable that holds the address of a C function. */
static const char *address(Gen *G, const char *name) {
    const char *text = fmt(G, "%s_extern_%s", G->o->symbol, name);
    if (!sm_get(&G->have, text)) {
        sm_put(&G->have, text, G);
        sb_printf(&G->types, "void *%s;\n", text);
    }
    return text;
}

/* The table of its buffers' types and ranks. */
static const char *description(Gen *G, const Func *f, const Whole *w) {
    const char *name = pm_get(&G->externs, f);
    if (name) return name;
    name = fresh(G, fmt(G, "%s_stage%d", G->o->symbol, f->id));
    pm_put(&G->externs, f, (void *)(uintptr_t)name);
    sb_printf(&G->types, "static const int %s[] = { ", name);
    for (int i = 0; i < 2 + 2 * (w->desc[0] + w->desc[1]); i++) sb_printf(&G->types, "%s%d", i ? ", " : "", w->desc[i]);
    sb_printf(&G->types, " }; /* %s by %s */\n", f->name, w->ext->name);
    return name;
}

static const char *scalar(Gen *G, mlc_type t, const char *text) {
    return fmt(G, "{ .%c = %s }", ty_is_float(t) ? 'f' : 'i', text);
}

static const char *array(Gen *G, const char *type, int n, const char *const *e) {
    if (!n) return "0";
    StrBuf b;
    sb_init(&b, G->arena);
    sb_printf(&b, "(const %s[]){ ", type);
    for (int i = 0; i < n; i++) sb_printf(&b, "%s%s", i ? ", " : "", e[i]);
    sb_puts(&b, " }");
    return b.at;
}

Text whole_text(Gen *G, const Node *e, const Text *k) {
    Whole w = alg_whole(e->u.func);
    const char *item[24];
    for (int i = 0; i < e->n; i++) item[i] = i < 2 * w.rank ? k[i].s : scalar(G, (mlc_type)e->kid[i]->type, k[i].s);
    return atom(fmt(G, "((i64 (*)(void *, const int *, int, const i64 *, const mlc_scalar *, unsigned))%s)(%s, %s, %d, %s, %s, call->mode)",
                    address(G, "$query"), address(G, w.ext->name), description(G, e->u.func, &w), e->aux,
                    array(G, "i64", 2 * w.rank, item), array(G, "mlc_scalar", e->n - 2 * w.rank, item + 2 * w.rank)));
}

/* All arrays first: min, extent and stride a dimension of each buffer, where each begins, the scalars. */
void whole_call(Gen *G, const Stmt *s) {
    const Func *f = s->u.call.func;
    Whole w = alg_whole(f);
    const Node *const *e = s->u.call.e, *const *index = e + s->u.call.n - w.n_in - 1;
    StrBuf shape, data;
    sb_init(&shape, G->arena);
    sb_init(&data, G->arena);
    open_brace(G, "%s", "");
    Env v;
    env_init(G, &v, NULL);
    for (int i = 0; i <= w.n_in; i++) {
        const Storage *t = s->u.call.storage[i];
        const char *dims = "";
        for (int d = 0; d < t->rank; d++, e += 2)
            dims = fmt(G, "%s%s, %s, %s, ", dims, value(G, &v, e[0]), value(G, &v, e[1]), value(G, &v, t->stride[d]));
        for (int k = 0; k < t->n; k++) {
            sb_puts(&shape, dims);
            sb_printf(&data, "%s(void *)(%s)", i || k ? ", " : "", mem_address(G, &v, t, k, index[i]));
        }
    }
    const char *arg[8];
    for (int i = 0; i < w.n_scalars; i++) arg[i] = scalar(G, (mlc_type)e[i]->type, value(G, &v, e[i]));
    line(G, "const i64 shape[] = { %s0 };", shape.n ? shape.at : "");
    line(G, "void *const data[] = { %s };", data.at);
    line(G, "const int code = ((int (*)(void *, const int *, void *const *, const i64 *, const mlc_scalar *, unsigned))%s)(%s, %s, data, shape, %s, call->mode);",
         address(G, "$run"), address(G, w.ext->name), description(G, f, &w), array(G, "mlc_scalar", w.n_scalars, arg));
    open_brace(G, "if (code)");
    const char *args[4] = { "code", "0", "0", "0" };
    fail_line(G, fail_text(G, ERR_STAGE_CODE, add_check(G, ERR_STAGE_CODE, f->name, NULL), args));
    close_brace(G);
    close_brace(G);
}
