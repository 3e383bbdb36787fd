/* memo.c - memory of memoized Funcs as C: the hook finds their values by what they are made of, or gives memory. */
#include "cg.h"

static const char *list(Gen *G, Env *v, int n, const Node *const *e) {
    const char *all = "";
    for (int i = 0; i < n; i++) all = fmt(G, "%s%s, ", all, value(G, v, e[i]));
    return all;
}

/* The regions of inputs: where each begins, and its shape. */
static void regions(Gen *G, Env *v, const Memo *m, const char *inputs, const char *shapes) {
    const char *at = "", *shape = "";
    for (int i = 0; i < m->n_in; i++) {
        const Storage *t = m->in[i].storage;
        at = fmt(G, "%s(void *)(%s), ", at, mem_address(G, v, t, 0, legal(G, m->in[i].at)));
        shape = fmt(G, "%s%d, %d, ", shape, ty_bytes(t->type[0]), t->rank);
        for (int d = 0; d < t->rank; d++)
            shape = fmt(G, "%s%s, %s, ", shape, value(G, v, m->in[i].extent[d]), value(G, v, t->stride[d]));
    }
    line(G, "void *const %s[] = { %s0 };", inputs, at);
    line(G, "const i64 %s[] = { %s0 };", shapes, shape);
}

/* Opens a scope in which the arrays are bound, `found` and the entry as well. */
void memo_open(Gen *G, const Storage *t, const char *elements) {
    const Memo *m = t->memo;
    const char *base = t->name, *bytes = fresh(G, fmt(G, "%s_bytes", base)), *words = fresh(G, fmt(G, "%s_words", base));
    const char *inputs = fresh(G, fmt(G, "%s_inputs", base)), *shapes = fresh(G, fmt(G, "%s_shapes", base));
    const char *arrays = fresh(G, fmt(G, "%s_arrays", base)), *found = fresh(G, fmt(G, "%s_found", base));
    const char *holder = fresh(G, fmt(G, "%s_holder", base)), *each = "";
    Env v;
    env_init(G, &v, NULL);
    for (int e = 0; e < t->n; e++) each = fmt(G, "%sbytes_of(%s, %d), ", each, elements, ty_bytes(t->type[e]));
    line(G, "const i64 %s[] = { %s };", bytes, each);
    line(G, "const i64 %s[] = { %s };", words, list(G, &v, m->n_words, m->word));
    regions(G, &v, m, inputs, shapes);
    const char *evict = m->evict ? value(G, &v, m->evict) : "0";
    line(G, "void *%s[%d], *%s = 0;", arrays, t->n, holder);
    line(G, "const int %s = hooks->memo_enter(hooks->user, &(mlc_memo){ %d, %s, %d, %s, %d, %s, %s, %d, %s }, &%s, %s);", found,
         t->n, bytes, m->n_words, words, m->n_in, inputs, shapes, m->evict != NULL, evict, holder, arrays);
    open_brace(G, "if (%s < 0)", found);
    const char *arg[4] = { fmt(G, "%s[0]", bytes), "0", "0", "0" };
    fail_line(G, fail_text(G, ERR_OUT_OF_MEMORY, -1, arg));
    close_brace(G);
    const char *is = name_of(G, m->found, m->found->name), *entry = name_of(G, m->entry, m->entry->name);
    line(G, "const u8 %s = %s != 0;", is, found);
    line(G, "const i64 %s = (i64)%s;", entry, holder);
    bind(G, m->found, is);
    bind(G, m->entry, entry);
    for (int e = 0; e < t->n; e++) {
        const char *name = element_name(G, t, e);
        line(G, "%s *restrict %s = %s[%d];", ty_c(t->type[e]), name, arrays, e);
        bind(G, &t->type[e], name);
    }
}

void memo_close(Gen *G, const Storage *t) {
    line(G, "hooks->memo_leave(hooks->user, (void *)%s);", in_scope(G, t->memo->entry));
    for (int e = 0; e < t->n; e++) unbind(G, &t->type[e]);
    unbind(G, t->memo->found);
    unbind(G, t->memo->entry);
}
