/* atomic.c - atomic stores: threads join values at places that others join at too.
 *
 *     h[i] += e           integers and + - & | ^: one instruction
 *     f[i] = f(old, e)    else: computed again until no other thread has stored in between
 *     tuples whose elements are joined together: under a lock, one of a table by the place
 *
 * What does not depend on the old value is computed before.  No order between threads is needed but for the locks:
 * the end of the parallel loop is one.  The builtins are of gcc and clang, and need no library for these sizes. */
#include "cg.h"

enum { LOCKS = 64 };

static bool uses_any(Gen *G, const Stmt *s, const Node *e, int but) {
    bool found = false;
    for (int k = 0; k < s->u.store.n; k++) found |= k != but && ir_uses(G->arena, e, s->u.store.old[k]);
    return found;
}

void name_rest(Gen *G, Env *v, const Stmt *s, const Node *e) {
    if (uses_any(G, s, e, -1)) {
        for (int i = 0; i < e->n; i++) name_rest(G, v, s, e->kid[i]);
        return;
    }
    if (ir_is_const(e) || e->op == OP_VAR || pm_has(&v->text, e)) return;
    const char *text = value(G, v, e), *name = fresh(G, fmt(G, "t%d", ++G->temps));
    line(G, "const %s %s = %s;", ty_c((mlc_type)e->type), name, text);
    Text t = atom(name);
    pm_put(&v->text, e, arena_copy(G->arena, &t, sizeof t));
}

const Node *joined_operand(Gen *G, const Stmt *s, int k, const Node *v) {
    for (int old = 0; v->n == 2 && old < 2 && (old == 0 || v->op != OP_SUB); old++) {
        const Node *held = v->kid[old], *e = v->kid[1 - old];
        if (held->op == OP_VAR && held->u.sym == s->u.store.old[k] && !uses_any(G, s, e, -1)) return e;
    }
    return NULL;
}

/* The builtin that joins an operand of the value, NULL: there is none. */
static const char *builtin_of(const Node *v) {
    static const struct {
        Op op;
        const char *name;
    } table[] = { { OP_ADD, "add" }, { OP_SUB, "sub" }, { OP_AND, "and" }, { OP_OR, "or" }, { OP_XOR, "xor" } };
    for (size_t i = 0; ty_is_int((mlc_type)v->type) && i < sizeof table / sizeof *table; i++)
        if (v->op == table[i].op) return table[i].name;
    return NULL;
}

/* The value of element k with the old ones under their names. */
static void one_element(Gen *G, Env *v, const Stmt *s, int k, const char *place) {
    const Node *all = legal(G, s->u.store.value[k]), *e = joined_operand(G, s, k, s->u.store.value[k]);
    const char *builtin = builtin_of(s->u.store.value[k]), *type = ty_c((mlc_type)all->type);
    if (builtin && e) {
        line(G, "__atomic_fetch_%s(&%s, %s, __ATOMIC_RELAXED);", builtin, place, value(G, v, e));
        return;
    }
    const char *old = name_of(G, s->u.store.old[k], "old"), *now = fresh(G, "now");
    name_rest(G, v, s, all);
    open_brace(G, "%s", "");
    line(G, "%s %s, %s;", type, old, now);
    line(G, "__atomic_load(&%s, &%s, __ATOMIC_RELAXED);", place, old);
    bind(G, s->u.store.old[k], old);
    open_brace(G, "do");
    Env again;
    env_init(G, &again, v);
    line(G, "%s = %s;", now, value(G, &again, all));
    close_brace(G);
    line(G, "while (!__atomic_compare_exchange(&%s, &%s, &%s, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));", place, old, now);
    unbind(G, s->u.store.old[k]);
    close_brace(G);
}

static const char lock_helpers[] =
    "int sched_yield(void);\n"
    "static __attribute__((unused)) void lock_take(i32 *lock) {\n"
    "    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))\n"
    "        while (__atomic_load_n(lock, __ATOMIC_RELAXED)) sched_yield();\n"
    "}\n\n";

void write_locks(Gen *G, StrBuf *out) {
    const char *name = pm_get(&G->used, &G->locks);
    if (name) sb_printf(out, "    i32 %s[%d] __attribute__((aligned(64))) = { 0 };\n", name, LOCKS);
}

static void all_elements(Gen *G, Env *v, const Stmt *s, const Node *index, const char *const *place) {
    int n = s->u.store.n;
    const Node *all[MAX_TUPLE];
    const char *now[MAX_TUPLE], *lock = fresh(G, "lock");
    if (!sm_get(&G->have, "lock_take")) sb_puts(&G->helpers, lock_helpers);
    sm_put(&G->have, "lock_take", G);
    for (int k = 0; k < n; k++) name_rest(G, v, s, all[k] = legal(G, s->u.store.value[k]));
    line(G, "i32 *const %s = &%s[(%s) & %d];", lock, in_scope(G, &G->locks), index_expr(G, v, index), LOCKS - 1);
    line(G, "lock_take(%s);", lock);
    for (int k = 0; k < n; k++) {
        const char *old = name_of(G, s->u.store.old[k], "old");
        line(G, "const %s %s = %s;", ty_c((mlc_type)all[k]->type), old, place[k]);
        bind(G, s->u.store.old[k], old);
    }
    for (int k = 0; k < n; k++) {
        now[k] = fresh(G, "now");
        line(G, "const %s %s = %s;", ty_c((mlc_type)all[k]->type), now[k], value(G, v, all[k]));
    }
    for (int k = 0; k < n; k++) line(G, "%s = %s;", place[k], now[k]);
    for (int k = 0; k < n; k++) unbind(G, s->u.store.old[k]);
    line(G, "__atomic_store_n(%s, 0, __ATOMIC_RELEASE);", lock);
}

void atomic_store(Gen *G, const Stmt *s) {
    const Node *index = legal(G, s->u.store.coord[0]);
    const char *place[MAX_TUPLE];
    bool apart = true;
    Env v;
    env_init(G, &v, NULL);
    open_brace(G, "%s", "");
    for (int k = 0; k < s->u.store.n; k++) {
        apart &= !uses_any(G, s, s->u.store.value[k], k);
        place[k] = mem_ref(G, &v, s->u.store.storage, k, index, 1);
    }
    if (apart)
        for (int k = 0; k < s->u.store.n; k++) (G->cuda ? gpu_atomic_element : one_element)(G, &v, s, k, place[k]);
    else if (G->cuda) BUG(G->arena->fault, "a tuple that threads of a GPU change together");
    else all_elements(G, &v, s, index, place);
    close_brace(G);
}
