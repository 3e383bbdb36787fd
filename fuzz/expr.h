/* expr.h - random canonical expressions and their values: what tests of the simplifier and the fuzzer
 * share.  Everything is drawn from one 64-bit state, so a seed replays a run. */
#ifndef FUZZ_EXPR_H
#define FUZZ_EXPR_H

#include "simplify/simplify.h"

#include <string.h>

enum { FUZZ_SYMS = 8 };

typedef struct {
    Interner *I;
    uint64_t state;
    Sym sym[FUZZ_SYMS];    /* x y z: indices with ranges; n m: free indices; b: u8, w: i32, f: f32 */
    Value value[FUZZ_SYMS];
} FuzzExpr;

static inline uint64_t fuzz_next(FuzzExpr *f) {
    uint64_t z = f->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int fuzz_below(FuzzExpr *f, int n) {
    return (int)(fuzz_next(f) % (uint64_t)n);
}

static inline void fuzz_init(FuzzExpr *f, Interner *I, uint64_t seed) {
    static const char *const name[FUZZ_SYMS] = { "x", "y", "z", "n", "m", "b", "w", "f" };
    static const mlc_type type[FUZZ_SYMS] = { MLC_INDEX, MLC_INDEX, MLC_INDEX, MLC_INDEX, MLC_INDEX, MLC_U8, MLC_I32, MLC_F32 };
    memset(f, 0, sizeof *f);
    f->I = I;
    f->state = seed;
    for (int i = 0; i < FUZZ_SYMS; i++)
        f->sym[i] = (Sym){ .name = name[i], .kind = i < 3 ? SYM_LOOP : SYM_PARAM, .type = type[i] };
}

static inline const Node *fuzz_sym(FuzzExpr *f, int i) {
    return ir_var(f->I, &f->sym[i]);
}

static inline int64_t fuzz_hostile(FuzzExpr *f, mlc_type t) {
    int64_t ends[8] = { 0, 1, -1, ty_min(t), (int64_t)ty_max(t), ty_min(t) + 1, 2, 127 };
    int k = fuzz_below(f, 12);
    return val_wrap(t, k < 8 ? ends[k] : (int64_t)(fuzz_next(f) % 41) - 20).i;
}

static const Node *fuzz_cond(FuzzExpr *f, int depth);
static const Node *fuzz_data(FuzzExpr *f, mlc_type t, int depth);

/* An index expression over the first `syms` variables whose values stay small. */
static const Node *fuzz_index_of(FuzzExpr *f, int depth, int first, int syms) {
    Interner *I = f->I;
    if (depth <= 0 || fuzz_below(f, 8) == 0) {
        if (fuzz_below(f, 3) == 0) return ir_idx(I, fuzz_below(f, 21) - 8);
        return fuzz_sym(f, first + fuzz_below(f, syms - first));
    }
    const Node *a = fuzz_index_of(f, depth - 1, first, syms);
    const Node *b = fuzz_below(f, 3) ? fuzz_index_of(f, depth - 1, first, syms) : ir_idx(I, fuzz_below(f, 16) - 3);
    switch (fuzz_below(f, 14)) {
    case 0: case 1: case 2: return ir_add(I, a, b);
    case 3: case 4: return ir_sub(I, a, b);
    case 5: return ir_mul(I, a, fuzz_below(f, 4) ? ir_idx(I, fuzz_below(f, 13) - 4) : b);
    case 6: return ir_make2(I, OP_DIV, a, fuzz_below(f, 5) ? ir_idx(I, 1 + fuzz_below(f, 9)) : b);
    case 7: return ir_make2(I, OP_MOD, a, fuzz_below(f, 5) ? ir_idx(I, 1 + fuzz_below(f, 9)) : b);
    case 8: case 9: return ir_min(I, a, b);
    case 10: case 11: return ir_max(I, a, b);
    case 12: return ir_make3(I, OP_SELECT, fuzz_cond(f, depth - 1), a, b);
    default:
        if (first == 0 && fuzz_below(f, 2)) return ir_cast(I, MLC_INDEX, fuzz_data(f, fuzz_below(f, 2) ? MLC_U8 : MLC_I16, depth - 1));
        return ir_make1(I, fuzz_below(f, 2) ? OP_NEG : OP_LIKELY, a);
    }
}

static inline const Node *fuzz_index(FuzzExpr *f, int depth) {
    return fuzz_index_of(f, depth, 0, 5);
}

static const Node *fuzz_cond(FuzzExpr *f, int depth) {
    static const Op compare[4] = { OP_LT, OP_LE, OP_EQ, OP_NE };
    Interner *I = f->I;
    if (depth > 0 && fuzz_below(f, 3) == 0) {
        const Node *a = fuzz_cond(f, depth - 1);
        int k = fuzz_below(f, 4);
        if (k == 0) return ir_make1(I, OP_LNOT, a);
        if (k == 1) return ir_make1(I, OP_LIKELY, a);
        return ir_make2(I, k == 2 ? OP_LAND : OP_LOR, a, fuzz_cond(f, depth - 1));
    }
    if (fuzz_below(f, 5) == 0) {
        mlc_type t = fuzz_below(f, 2) ? MLC_U8 : fuzz_below(f, 2) ? MLC_I32 : MLC_F32;
        return ir_make2(I, compare[fuzz_below(f, 4)], fuzz_data(f, t, depth - 1), fuzz_data(f, t, depth - 1));
    }
    return ir_make2(I, compare[fuzz_below(f, 4)], fuzz_index_of(f, depth - 1, 0, 5), fuzz_index_of(f, depth - 1, 0, 5));
}

static const Node *fuzz_data_leaf(FuzzExpr *f, mlc_type t) {
    static const double odd[] = { 0.0, -0.0, 1.0, -1.0, 0.5, 1e-40, 3.0, (double)__builtin_inff(), 2.0 };
    int which = t == MLC_U8 ? 5 : t == MLC_I32 ? 6 : t == MLC_F32 ? 7 : -1;
    if (which >= 0 && fuzz_below(f, 3)) return fuzz_sym(f, which);
    if (ty_is_float(t)) return ir_flt(f->I, t, odd[fuzz_below(f, 9)]);
    if (fuzz_below(f, 2)) return ir_cast(f->I, t, fuzz_sym(f, 5 + fuzz_below(f, 2)));
    return ir_int(f->I, t, fuzz_hostile(f, t));
}

static const Node *fuzz_data(FuzzExpr *f, mlc_type t, int depth) {
    static const Op whole[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_MIN, OP_MAX, OP_AND, OP_OR, OP_XOR, OP_SHL, OP_SHR };
    static const Op real[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MIN, OP_MAX };
    static const Op one[] = { OP_NEG, OP_ABS, OP_NOT };
    static const mlc_type from[] = { MLC_U8, MLC_I16, MLC_I32, MLC_F32, MLC_I64, MLC_U32 };
    if (depth <= 0 || fuzz_below(f, 6) == 0) return fuzz_data_leaf(f, t);
    bool flt = ty_is_float(t);
    const Node *a = fuzz_data(f, t, depth - 1);
    switch (fuzz_below(f, 8)) {
    case 0: return ir_make1(f->I, one[fuzz_below(f, flt ? 2 : 3)], a);
    case 1: return ir_cast(f->I, t, fuzz_data(f, from[fuzz_below(f, 6)], depth - 1));
    case 2: return ir_make3(f->I, OP_SELECT, fuzz_cond(f, depth - 1), a, fuzz_data(f, t, depth - 1));
    default: return ir_make2(f->I, flt ? real[fuzz_below(f, 6)] : whole[fuzz_below(f, 12)], a, fuzz_data(f, t, depth - 1));
    }
}

/* ---- values ---- */

static Value fuzz_eval(const FuzzExpr *f, const Node *e) {
    Value v[3] = { { 0 }, { 0 }, { 0 } };
    if (e->op == OP_CONST) return ir_value(e);
    if (e->op == OP_VAR) return f->value[e->u.sym - f->sym];
    for (int i = 0; i < e->n && i < 3; i++) v[i] = fuzz_eval(f, e->kid[i]);
    if (e->op == OP_CAST) return val_cast((mlc_type)e->type, (mlc_type)e->kid[0]->type, v[0]);
    return val_op((Op)e->op, (mlc_type)e->kid[0]->type, e->n > 1 ? (mlc_type)e->kid[1]->type : MLC_VOID, v);
}

/* A range for each of x, y, z, inwards, of expressions over what is outside of it. */
static inline const Facts *fuzz_facts(FuzzExpr *f, Facts at[4]) {
    Interner *I = f->I;
    const Facts *up = NULL;
    for (int i = 0; i < 3; i++) {
        const Node *lo = fuzz_below(f, 2) ? ir_idx(I, fuzz_below(f, 12) - 5) : NULL, *hi;
        if (!lo) lo = fuzz_below(f, 2) && i ? fuzz_sym(f, fuzz_below(f, i)) : fuzz_index_of(f, 1, 3, 5);
        hi = fuzz_below(f, 5) ? ir_add(I, lo, ir_idx(I, fuzz_below(f, 12))) : fuzz_index_of(f, 1, 3, 5);
        if (fuzz_below(f, 8) == 0) lo = NULL;
        else if (fuzz_below(f, 8) == 0) hi = NULL;
        at[i] = (Facts){ .up = up, .var = &f->sym[i], .range = { lo, hi } };
        up = &at[i];
    }
    if (fuzz_below(f, 3) == 0) {
        at[3] = (Facts){ .up = up, .truth = fuzz_cond(f, 2) };
        up = &at[3];
    }
    return up;
}

/* Draws values for which the facts hold; false when the draw missed. */
static inline bool fuzz_assign(FuzzExpr *f, const Facts at[4]) {
    static const double odd[] = { 0.0, -0.0, 1.5, -2.25, 1e-40, 3e38, (double)__builtin_inff(), (double)__builtin_nanf("") };
    for (int i = 3; i < 5; i++) f->value[i].i = fuzz_below(f, 31) - 12;
    f->value[5].i = fuzz_hostile(f, MLC_U8);
    f->value[6].i = fuzz_hostile(f, MLC_I32);
    f->value[7] = val_round(MLC_F32, odd[fuzz_below(f, 8)]);
    for (int i = 0; i < 3; i++) {
        const Node *l = at[i].range.lo, *h = at[i].range.hi;
        int64_t lo = l ? fuzz_eval(f, l).i : h ? fuzz_eval(f, h).i - 20 : -20;
        int64_t hi = h ? fuzz_eval(f, h).i : lo + 20;
        if (lo > hi) return false;
        f->value[i].i = lo + (int64_t)(fuzz_next(f) % (uint64_t)(hi - lo + 1));
    }
    return !at[3].truth || fuzz_eval(f, at[3].truth).i;
}

/* Prefix text, for reports: independent of the project's printer. */
static void fuzz_show(StrBuf *out, const Node *e) {
    if (e->op == OP_CONST && ty_is_float((mlc_type)e->type)) sb_printf(out, "%a", e->u.f);
    else if (e->op == OP_CONST) sb_printf(out, "%lld", (long long)e->u.i);
    else if (e->op == OP_VAR) sb_puts(out, e->u.sym->name);
    else {
        sb_printf(out, "%s", e->op == OP_CAST ? mlc_type_name((mlc_type)e->type) : ir_ops[e->op].text);
        for (int i = 0; i < e->n; i++) {
            sb_puts(out, i ? " " : "(");
            fuzz_show(out, e->kid[i]);
        }
        sb_puts(out, ")");
    }
}

static inline const char *fuzz_text(FuzzExpr *f, const Node *e) {
    StrBuf b;
    sb_init(&b, f->I->arena);
    if (e) fuzz_show(&b, e);
    return e ? b.at : "none";
}

#endif
