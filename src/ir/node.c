/* node.c - hash-consing: equal expressions are one node.
 *
 * The table holds pointers, keyed by operator, type, payload, aux and operands' identities.  A
 * compile interns in an overlay: it looks in the parent's frozen table first. */
#include "ir.h"

#include <string.h>

#ifdef MLC_HARD
enum { FIRST = 4 };
#else
enum { FIRST = 256 };
#endif

void ir_interner_init(Interner *I, Arena *arena, const Interner *parent) {
    *I = (Interner){ .arena = arena, .fault = arena->fault, .parent = parent };
    I->first_id = parent ? ir_next_id(parent) : 0;
    sm_init(&I->texts, arena);
}

const char *ir_text(Interner *I, const char *s) {
    for (const Interner *p = I; p; p = p->parent) {
        const char *found = sm_get(&p->texts, s);
        if (found) return found;
    }
    char *copy = arena_str(I->arena, s);
    sm_put(&I->texts, copy, copy);
    return copy;
}

static bool same(const Node *e, Op op, mlc_type type, uint64_t bits, int32_t aux, int n, const Node *const *kids) {
    return e->op == op && e->type == type && e->u.bits == bits && e->aux == aux && e->n == n &&
           (n == 0 || !memcmp(e->kid, kids, sizeof *kids * (size_t)n));
}

static Node *find(const Interner *I, uint32_t hash, Op op, mlc_type type, uint64_t bits, int32_t aux, int n,
                  const Node *const *kids) {
    if (!I->cap) return NULL;
    for (uint32_t i = hash & (I->cap - 1); I->table[i]; i = (i + 1) & (I->cap - 1))
        if (I->table[i]->hash == hash && same(I->table[i], op, type, bits, aux, n, kids)) return I->table[i];
    return NULL;
}

static void insert(Node **table, uint32_t cap, Node *e) {
    uint32_t i = e->hash & (cap - 1);
    while (table[i]) i = (i + 1) & (cap - 1);
    table[i] = e;
}

static void grow(Interner *I) {
    uint32_t cap = I->cap ? 2 * I->cap : FIRST;
    Node **table = ARENA_ARRAY(I->arena, Node *, cap);
    for (uint32_t i = 0; i < I->cap; i++)
        if (I->table[i]) insert(table, cap, I->table[i]);
    I->table = table;
    I->cap = cap;
}

const Node *ir_node(Interner *I, Op op, mlc_type type, uint64_t bits, int32_t aux, int n, const Node *const *kids) {
    uint64_t head[3] = { (uint64_t)op << 8 | (uint64_t)type, bits, (uint64_t)(uint32_t)aux };
    uint64_t h = hash_bytes(head, sizeof head, 0);
    for (int i = 0; i < n; i++) h = (h ^ kids[i]->id) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    uint32_t hash = (uint32_t)(h ^ h >> 32);
    for (const Interner *p = I; p; p = p->parent) {
        Node *e = find(p, hash, op, type, bits, aux, n, kids);
        if (e) return e;
    }
    if (2 * (I->n + 1) > I->cap) grow(I);
    Node *e = arena_alloc(I->arena, sizeof *e + sizeof *kids * (size_t)n);
    e->op = (uint8_t)op;
    e->type = (uint8_t)type;
    e->n = (uint16_t)n;
    e->aux = aux;
    e->id = ir_next_id(I);
    e->hash = hash;
    e->u.bits = bits;
    if (n) memcpy(e->kid, kids, sizeof *kids * (size_t)n);
    insert(I->table, I->cap, e);
    I->n++;
    I->effects |= op == OP_PRINT || op == OP_REQUIRE;
    return e;
}

const Node *ir_int(Interner *I, mlc_type type, int64_t v) {
    return ir_node(I, OP_CONST, type, (uint64_t)val_wrap(type, v).i, 0, 0, NULL);
}

const Node *ir_flt(Interner *I, mlc_type type, double v) {
    return ir_const(I, type, val_round(type, v));
}

const Node *ir_const(Interner *I, mlc_type type, Value v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ir_node(I, OP_CONST, type, bits, 0, 0, NULL);
}

const Node *ir_idx(Interner *I, int64_t v) {
    return ir_node(I, OP_CONST, MLC_INDEX, (uint64_t)v, 0, 0, NULL);
}

const Node *ir_bool(Interner *I, bool v) {
    return ir_node(I, OP_CONST, MLC_BOOL, v, 0, 0, NULL);
}

const Node *ir_var(Interner *I, const Sym *s) {
    return ir_node(I, OP_VAR, s->type, (uint64_t)(uintptr_t)s, 0, 0, NULL);
}

const Node *ir_access(Interner *I, struct Func *f, mlc_type type, int elem, int n, const Node *const *coords) {
    return ir_node(I, OP_ACCESS, type, (uint64_t)(uintptr_t)f, elem, n, coords);
}

bool ir_is_const(const Node *e) {
    return e->op == OP_CONST;
}

bool ir_is_int(const Node *e, int64_t *v) {
    if (e->op != OP_CONST || ty_is_float((mlc_type)e->type)) return false;
    *v = e->u.i;
    return true;
}

bool ir_is(const Node *e, int64_t v) {
    int64_t have;
    return ir_is_int(e, &have) && have == v;
}

Value ir_value(const Node *e) {
    Value v;
    memcpy(&v, &e->u, sizeof v);
    return v;
}
