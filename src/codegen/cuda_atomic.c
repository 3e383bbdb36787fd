/* cuda_atomic.c - atomic stores in kernels: threads of a block or of all blocks join values at places of shared or global memory.
 *
 *     atomicAdd((u32 *)&h[i], 1);                        one instruction: integers + - & | ^ min max, f32 and f64 + -
 *     do {                                               else: computed again until no other thread has stored in between
 *         seen = was;
 *         const u32 now = bits(f(from_bits(seen), e));
 *         was = now == seen ? seen : atomicCAS((u32 *)&f[i], seen, now);
 *     } while (was != seen);
 *
 * All of them are relaxed: barriers and ends of kernels order what comes after.  A sum of f32 in global memory takes denormal
 * values for zero, in shared memory it does not: why the class of such a plan is bounded. */
#include "cg.h"

#include <string.h>

typedef struct {
    Op op;
    const char *name, *types; /* tags of those that have it */
} Row;

static const Row rows[] = {
    { OP_ADD, "Add", "i32 u32 i64 u64 f32 f64" }, { OP_SUB, "Add", "i32 u32 i64 u64 f32 f64" },
    { OP_AND, "And", "i32 u32 i64 u64" }, { OP_OR, "Or", "i32 u32 i64 u64" }, { OP_XOR, "Xor", "i32 u32 i64 u64" },
    { OP_MIN, "Min", "i32 u32 i64 u64" }, { OP_MAX, "Max", "i32 u32 i64 u64" },
};

static bool has_instruction(Op op, mlc_type t, const char **name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *name = rows[i].name;
        if (rows[i].op == op) return strstr(rows[i].types, ty_tag(t)) != NULL;
    }
    return false;
}

/* An unsigned word of the value's bytes: what is compared. */
static const char *word_of(mlc_type t) {
    return ty_bytes(t) == 8 ? "u64" : ty_bytes(t) == 4 ? "u32" : "u16";
}

/* Where one instruction joins e to what the place holds. */
static bool by_instruction(Gen *G, Env *v, const Stmt *s, int k, const char *place) {
    const char *name;
    const Node *all = legal(G, s->u.store.value[k]), *e = joined_operand(G, s, k, all);
    mlc_type t = (mlc_type)all->type;
    if (!e || !has_instruction(all->op, t, &name)) return false;
    bool ordered = all->op == OP_MIN || all->op == OP_MAX, less = all->op == OP_SUB, wraps = ty_is_int(t) && !ordered;
    const char *type = wraps ? word_of(t) : ty_c(t), *text = value(G, v, e);
    const char *minus = !less ? "" : wraps ? "0 - " : "-";
    line(G, "atomic%s((%s *)&%s, %s(%s)(%s));", name, type, place, minus, type, text);
    return true;
}

static const char *as_bits(Gen *G, mlc_type t, const char *s) {
    return t == MLC_F32 || t == MLC_F64 ? fmt(G, "%s(%s)", helper(G, "bits", t, 1), s) : fmt(G, "(%s)(%s)", word_of(t), s);
}

static const char *from_bits(Gen *G, mlc_type t, const char *s) {
    return t == MLC_F32 || t == MLC_F64 ? fmt(G, "%s(%s)", helper(G, "from_bits", t, 1), s) : fmt(G, "(%s)%s", ty_c(t), s);
}

static void again_until_alone(Gen *G, Env *v, const Stmt *s, int k, const char *place) {
    const Node *all = legal(G, s->u.store.value[k]);
    mlc_type t = (mlc_type)all->type;
    const char *word = word_of(t), *cell = fresh(G, "cell"), *seen = fresh(G, "seen"), *was = fresh(G, "was"), *now = fresh(G, "now");
    const char *old = name_of(G, s->u.store.old[k], "old");
    name_rest(G, v, s, all);
    open_brace(G, "%s", "");
    line(G, "%s *const %s = (%s *)&%s;", word, cell, word, place);
    line(G, "%s %s, %s = *(volatile %s *)%s;", word, seen, was, word, cell);
    open_brace(G, "do");
    line(G, "%s = %s;", seen, was);
    line(G, "const %s %s = %s;", ty_c(t), old, from_bits(G, t, seen));
    bind(G, s->u.store.old[k], old);
    Env again;
    env_init(G, &again, v);
    line(G, "const %s %s = %s;", word, now, as_bits(G, t, value(G, &again, all)));
    line(G, "%s = %s == %s ? %s : atomicCAS(%s, %s, %s);", was, now, seen, seen, cell, seen, now);
    unbind(G, s->u.store.old[k]);
    close_brace(G);
    line(G, "while (%s != %s);", was, seen);
    close_brace(G);
}

void gpu_atomic_element(Gen *G, Env *v, const Stmt *s, int k, const char *place) {
    if (!by_instruction(G, v, s, k, place)) again_until_alone(G, v, s, k, place);
}
