/* parallel.c - bodies of parallel loops, and branches of forks: functions that find their variables in a closure.
 *
 * What a body names from outside is captured as it is met, so its text is written first; the closure's type and the lines
 * that unpack it come in front. */
#include "cg.h"

/* Threads share what a channel passes on and what they store atomically: no pointer to it is the only one.  What a GPU
 * shares comes home to a place that may be new. */
const char *restricted(const Storage *s) {
    return s->channel || s->atomic || s->on_device ? "" : "restrict ";
}

static const char *capture_type(Gen *G, const void *key) {
    const Storage *s = pm_get(&G->element, key);
    if (pm_has(&G->channel, key)) return "i64 *";
    if (key == &G->locks) return "i32 *";
    if (!s) return fmt(G, "%s ", ty_c(((const Sym *)key)->type));
    return fmt(G, "%s%s *", s->is_input ? "const " : "", ty_c(*(const mlc_type *)key));
}

/* The finished function, closure type first. */
static void write_body(Gen *G, Fn *f, const char *name, const Sym *var) {
    StrBuf *out = &G->functions;
    const char *call = G->o->emit ? "" : "    mlc_call *call;\n";
    sb_printf(out, "struct %s_closure {\n%s    i64 from;\n", name, call);
    for (int i = 0; i < f->captured.n; i++) {
        const void *key = f->captured.at[i];
        sb_printf(out, "    %s%s;\n", capture_type(G, key), (const char *)pm_get(&f->has, key));
    }
    sb_printf(out, "};\n\nstatic int %s(void *closure, i64 i) {\n", name);
    sb_printf(out, "    const struct %s_closure *c = closure;\n", name);
    if (!G->o->emit) sb_puts(out, "    mlc_call *call = c->call;\n    const mlc_hooks *hooks = call->hooks;\n    (void)hooks;\n");
    for (int i = 0; i < f->captured.n; i++) {
        const void *key = f->captured.at[i];
        const char *n = pm_get(&f->has, key), *t = capture_type(G, key);
        const Storage *s = pm_get(&G->element, key);
        bool memory = s || key == &G->locks;
        sb_printf(out, "    %s%s%s%s = c->%s;\n", memory ? "" : "const ", t, s ? restricted(s) : "", n, n);
    }
    sb_printf(out, "    const i64 %s = c->from + i;\n", name_of(G, var, var->name));
    if (f->fails) sb_puts(out, "    int status = 0;\n");
    watch_open(G, f, out);
    sb_puts(out, f->out.at);
    watch_close(G, f, out);
    sb_printf(out, "%s    return 0;\n}\n\n", f->streams ? "    __builtin_ia32_sfence();\n" : "");
}

Fn *begin_body(Gen *G) {
    Fn *f = ARENA_NEW(G->arena, Fn);
    *f = (Fn){ .up = G->fn, .depth = 1, .stage = G->fn->stage };
    sb_init(&f->out, G->arena);
    pm_init(&f->has, G->arena);
    return G->fn = f;
}

void end_body(Gen *G, Fn *f, const char *name, const Sym *var) {
    G->fn = f->up;
    for (int i = 0; i < f->captured.n; i++) in_scope(G, f->captured.at[i]);
    write_body(G, f, name, var);
}

void fill_closure(Gen *G, Fn *f, const char *name, const char *from) {
    line(G, G->o->emit ? "struct %s_closure c = { %s };" : "struct %s_closure c = { call, %s };", name, from);
    for (int i = 0; i < f->captured.n; i++) {
        const char *n = in_scope(G, f->captured.at[i]);
        line(G, "c.%s = %s;", n, n);
    }
}

void parallel_loop(Gen *G, const Stmt *s) {
    const Sym *var = s->u.loop.var;
    Env v;
    env_init(G, &v, NULL);
    const char *min = value(G, &v, s->u.loop.min), *extent = value(G, &v, s->u.loop.extent);
    const char *name = fresh(G, fmt(G, "%s_body", name_of(G, var, var->name)));
    Fn *f = begin_body(G);
    loop_body(G, s);
    end_body(G, f, name, var);
    open_brace(G, "%s", "");
    fill_closure(G, f, name, min);
    watch_pause(G, true);
    parallel_call(G, name, extent);
    watch_pause(G, false);
    open_brace(G, "if (failed)");
    fail_line(G, "failed");
    close_brace(G);
    close_brace(G);
}
