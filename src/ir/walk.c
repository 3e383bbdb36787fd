/* walk.c - visiting and rewriting expressions, each distinct node once, with an explicit stack:
 * an expression of any depth costs no C stack. */
#include "ir.h"

typedef struct {
    const Node *e;
    int next; /* operand to visit next */
} Frame;

typedef VEC(Frame) Stack;

void ir_visit(Arena *scratch, const Node *e, ir_visit_fn visit, void *user) {
    PtrMap seen;
    pm_init(&seen, scratch);
    Stack s = { 0 };
    VEC_PUSH(scratch, &s, ((Frame){ e, 0 }));
    while (s.n) {
        Frame *f = &s.at[s.n - 1];
        if (f->next == 0 && pm_has(&seen, f->e)) {
            s.n--;
        } else if (f->next < f->e->n) {
            const Node *kid = f->e->kid[f->next++];
            if (!pm_has(&seen, kid)) VEC_PUSH(scratch, &s, ((Frame){ kid, 0 }));
        } else {
            if (!pm_has(&seen, f->e)) {
                pm_put(&seen, f->e, (void *)(uintptr_t)1);
                visit(user, f->e);
            }
            s.n--;
        }
    }
}

/* `leaves`: only nodes that are leaves as they stand are given to post. */
static const Node *rewrite(Interner *I, const Node *e, ir_rewrite_fn post, void *user, bool leaves) {
    PtrMap done;
    pm_init(&done, I->arena);
    Stack s = { 0 };
    VEC_PUSH(I->arena, &s, ((Frame){ e, 0 }));
    while (s.n) {
        Frame *f = &s.at[s.n - 1];
        if (f->next < f->e->n) {
            const Node *kid = f->e->kid[f->next++];
            if (!pm_has(&done, kid)) VEC_PUSH(I->arena, &s, ((Frame){ kid, 0 }));
            continue;
        }
        const Node *old = f->e, *small[8];
        const Node **kids = old->n <= 8 ? small : ARENA_ARRAY(I->arena, const Node *, old->n);
        bool changed = false;
        for (int i = 0; i < old->n; i++) {
            kids[i] = pm_get(&done, old->kid[i]);
            changed |= kids[i] != old->kid[i];
        }
        const Node *now = changed ? ir_with_kids(I, old, kids) : old;
        if (!leaves || old->n == 0) now = post(user, I, now);
        pm_put(&done, old, (void *)(uintptr_t)now);
        s.n--;
    }
    return pm_get(&done, e);
}

const Node *ir_rewrite(Interner *I, const Node *e, ir_rewrite_fn post, void *user) {
    return rewrite(I, e, post, user, false);
}

const Node *ir_rewrite_leaves(Interner *I, const Node *e, ir_rewrite_fn post, void *user) {
    return rewrite(I, e, post, user, true);
}

static const Node *replace(void *user, Interner *I, const Node *e) {
    (void)I;
    const Node *to = e->op == OP_VAR ? pm_get(user, e->u.sym) : NULL;
    return to ? to : e;
}

const Node *ir_substitute(Interner *I, const Node *e, const PtrMap *sym_to_node) {
    return rewrite(I, e, replace, (void *)(uintptr_t)sym_to_node, true);
}

struct search {
    const Sym *sym;
    bool found;
};

static void look(void *user, const Node *e) {
    struct search *s = user;
    s->found |= e->op == OP_VAR && e->u.sym == s->sym;
}

bool ir_uses(Arena *scratch, const Node *e, const Sym *sym) {
    struct search s = { sym, false };
    ir_visit(scratch, e, look, &s);
    return s.found;
}
