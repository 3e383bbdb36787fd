/* inline.c - replacing accesses of inlined Funcs by their definitions.
 *
 * Each distinct access (Func, element, coordinates) is expanded once, and expansion works from the
 * consumer down on an explicit stack: a chain of any length costs time and nodes linear in what the
 * result holds, and no C stack. */
#include "lower/nest.h"

typedef struct {
    const Node *e;    /* being rewritten */
    const Node *alias; /* not NULL: e's result will be that of this node */
    int next;
} Frame;

typedef VEC(Frame) Stack;

static FuncSched *inlined_sched(Build *b, const Node *e) {
    if (e->op != OP_ACCESS || e->u.func->is_input) return NULL;
    FuncSched *fs = pm_get(&b->sched->sched, e->u.func);
    return fs && fs->compute.kind == AT_INLINE ? fs : NULL;
}

/* The definition's value at the access's coordinates, itself not yet expanded. */
static const Node *body_at(Build *b, const FuncSched *fs, const Node *access) {
    const Def *def = fs->stage.at[0].def;
    PtrMap map;
    pm_init(&map, b->arena);
    for (int d = 0; d < def->rank; d++) pm_put(&map, def->coord[d]->u.sym, (void *)(uintptr_t)access->kid[d]);
    return ir_substitute(b->ir, def->value[access->aux], &map);
}

static const Node *with_kids(Build *b, const Node *e) {
    const Node *small[16];
    const Node **kids = e->n <= 16 ? small : ARENA_ARRAY(b->arena, const Node *, e->n);
    bool changed = false;
    for (int i = 0; i < e->n; i++) {
        kids[i] = pm_get(&b->inlined, e->kid[i]);
        changed |= kids[i] != e->kid[i];
    }
    return changed ? ir_with_kids(b->ir, e, kids) : e;
}

static void put(Build *b, const Node *e, const Node *now) {
    pm_put(&b->inlined, e, (void *)(uintptr_t)now);
}

const Node *low_inline(Build *b, const Node *e) {
    Stack s = { 0 };
    VEC_PUSH(b->arena, &s, ((Frame){ .e = e }));
    while (s.n) {
        Frame *f = &s.at[s.n - 1];
        if (f->next == 0 && !f->alias && pm_has(&b->inlined, f->e)) {
            s.n--;
            continue;
        }
        if (!f->alias && f->next < f->e->n) {
            const Node *kid = f->e->kid[f->next++];
            VEC_PUSH(b->arena, &s, ((Frame){ .e = kid }));
            continue;
        }
        const Node *now = f->alias ? pm_get(&b->inlined, f->alias) : with_kids(b, f->e);
        FuncSched *fs = f->alias ? NULL : inlined_sched(b, now);
        if (fs) {
            f->alias = body_at(b, fs, now);
            const Node *body = f->alias;
            VEC_PUSH(b->arena, &s, ((Frame){ .e = body }));
            continue;
        }
        put(b, f->e, now);
        s.n--;
    }
    return pm_get(&b->inlined, e);
}
