/* canon.c - the meaning of an expression: from as-written to canonical form (docs/semantics.md section 4).
 *
 * One walk over the as-written nodes, operands first, does four things at once:
 *   fma        a product under + or - becomes fma(+-a, b, +-c).  Products are looked for in what the user
 *              wrote, so nothing that folds, inlines or simplifies can form or split one.
 *   halves     an expression of f16 or bf16 holds an f32: its canonical node *has* type f32.  A cast to a
 *              half is a rounding node, and read again it is widened; a plain access needs none.
 *   derived    operators are replaced by their bodies (derive.c), after fma formation.
 *   order      > and >= become < and <= with the operands swapped.
 * What remains are LEAF and PRIM operators, and no arithmetic in a half type. */
#include "algorithm.h"

typedef struct {
    Interner *I;
    PtrMap done; /* as-written -> canonical */
    int n_point;
    const Node *const *point;
} Canon;

static mlc_type type_of(const Node *e) {
    return (mlc_type)e->type;
}

static const Node *canonical_of(const Canon *c, const Node *written) {
    return pm_get(&c->done, written);
}

/* The type that an expression of type t is held in. */
static mlc_type held(mlc_type t) {
    return ty_is_half(t) ? MLC_F32 : t;
}

static const Node *hold(Interner *I, const Node *e) {
    return ir_cast(I, held(type_of(e)), e);
}

/* ---- fma ---- */

/* Is e a product, or a negated one?  Its operands, as written. */
static bool is_product(const Node *e, const Node **a, const Node **b, bool *negated) {
    *negated = false;
    for (; e->op == OP_NEG; e = e->kid[0]) *negated = !*negated;
    if (e->op != OP_MUL || !ty_is_float(type_of(e))) return false;
    *a = e->kid[0];
    *b = e->kid[1];
    return true;
}

static const Node *negate(Interner *I, bool yes, const Node *e) {
    return yes ? ir_make1(I, OP_NEG, e) : e;
}

/* e is + or - of floats: of two products the left one fuses; NULL where neither is one. */
static const Node *fused(const Canon *c, const Node *e) {
    const Node *a, *b, *left = e->kid[0], *right = e->kid[1];
    bool minus = e->op == OP_SUB, negated;
    if (is_product(left, &a, &b, &negated)) {
        const Node *addend = negate(c->I, minus, canonical_of(c, right));
        return ir_make3(c->I, OP_FMA, negate(c->I, negated, canonical_of(c, a)), canonical_of(c, b), addend);
    }
    if (is_product(right, &a, &b, &negated)) {
        const Node *x = negate(c->I, negated != minus, canonical_of(c, a));
        return ir_make3(c->I, OP_FMA, x, canonical_of(c, b), canonical_of(c, left));
    }
    return NULL;
}

/* ---- the cases ---- */

static const Node *cast_of(Interner *I, const Node *e, const Node *a) {
    return hold(I, ir_cast(I, type_of(e), a));
}

/* Bits are those of the type the expression has, so a half rounds first. */
static const Node *reinterpret_of(Interner *I, const Node *e, const Node *a) {
    const Node *from = ir_cast(I, type_of(e->kid[0]), a);
    return hold(I, ir_with_kids(I, e, &from));
}

static const Node *extern_of(Interner *I, const Node *e, const Node **kids) {
    for (int i = 0; i < e->n; i++) kids[i] = ir_cast(I, e->u.ext->arg[i], kids[i]);
    return hold(I, ir_node(I, OP_EXTERN, type_of(e), e->u.bits, e->aux, e->n, kids));
}

static const Node *random_of(const Canon *c, const Node *e, const Node *seed) {
    const Node *kids[10] = { seed, ir_int(c->I, MLC_U32, e->aux) };
    if (c->n_point > 8) return ir_poison(c->I, ERR_RANDOM_POINT, NULL, c->n_point);
    for (int i = 0; i < c->n_point; i++) kids[2 + i] = c->point[i];
    const Node *whole = ir_node(c->I, OP_RANDOM, type_of(e), 0, e->aux, 2 + c->n_point, kids);
    return ir_derive(c->I, whole, type_of(e), kids);
}

/* The type that the user's operands had: a half where one is, since literals beside it are f32. */
static mlc_type operand_type(const Node *e) {
    mlc_type t = type_of(e->kid[0]);
    if (t != MLC_F32) return t;
    for (int i = 1; i < e->n; i++)
        if (ty_is_half(type_of(e->kid[i]))) return type_of(e->kid[i]);
    return t;
}

static const Node *derived_of(Interner *I, const Node *e, const Node *const *kids) {
    return hold(I, ir_derive(I, e, operand_type(e), kids));
}

static const Node *primitive_of(Interner *I, const Node *e, const Node *const *kids) {
    Op op = (Op)e->op;
    switch (e->n) {
    case 1: return ir_make1(I, op, kids[0]);
    case 2: return ir_make2(I, op, kids[0], kids[1]);
    case 3: return ir_make3(I, op, kids[0], kids[1], kids[2]);
    default: BUG(I->fault, "a primitive operator of more than three operands");
    }
}

static const Node *canonical_node(const Canon *c, const Node *e, const Node **kids) {
    Interner *I = c->I;
    Op op = (Op)e->op;
    switch (op) {
    case OP_POISON: case OP_UNDEF: return e;
    case OP_CONST: case OP_VAR: return hold(I, e);
    case OP_ACCESS: return hold(I, ir_node(I, op, type_of(e), e->u.bits, e->aux, e->n, kids));
    case OP_EXTERN: return extern_of(I, e, kids);
    case OP_ADD: case OP_SUB:
        if (ty_is_float(type_of(e))) {
            const Node *r = fused(c, e);
            if (r) return r;
        }
        return primitive_of(I, e, kids);
    case OP_MOD: return ty_is_float(type_of(e)) ? derived_of(I, e, kids) : primitive_of(I, e, kids);
    case OP_ROUNDED: return kids[0];
    case OP_CAST: return cast_of(I, e, kids[0]);
    case OP_REINTERPRET: return reinterpret_of(I, e, kids[0]);
    case OP_REQUIRE: case OP_PRINT: return ir_node(I, op, held(type_of(e)), e->u.bits, e->aux, e->n, kids);
    case OP_RANDOM: return random_of(c, e, kids[0]);
    default: return ir_ops[op].cls == CLASS_DERIVED ? derived_of(I, e, kids) : primitive_of(I, e, kids);
    }
}

static void visit(void *user, const Node *e) {
    Canon *c = user;
    const Node *small[8], **kids = e->n <= 8 ? small : ARENA_ARRAY(c->I->arena, const Node *, e->n);
    const Node *bad = NULL;
    for (int i = 0; i < e->n; i++) {
        kids[i] = canonical_of(c, e->kid[i]);
        if (kids[i]->op == OP_POISON && !bad) bad = kids[i];
    }
    pm_put(&c->done, e, (void *)(uintptr_t)(bad ? bad : canonical_node(c, e, kids)));
}

const Node *alg_canonical_at(Interner *I, const Node *written, mlc_type round_to, int n, const Node *const *point) {
    if (written->op == OP_UNDEF) return written;
    Canon c = { .I = I, .n_point = n, .point = point };
    pm_init(&c.done, I->arena);
    ir_visit(I->arena, written, visit, &c);
    const Node *r = canonical_of(&c, written);
    if (r->op == OP_POISON) return r;
    return ty_is_half(round_to) ? ir_cast(I, round_to, r) : r;
}

const Node *alg_canonical(Interner *I, const Node *written, mlc_type round_to) {
    return alg_canonical_at(I, written, round_to, 0, NULL);
}
