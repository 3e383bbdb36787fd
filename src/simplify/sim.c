/* sim.c - scopes of facts, and the walk that fills the tables. */
#include "sim.h"

#include <string.h>

static void sim_init(Sim *s, Interner *I, Arena *arena) {
    *s = (Sim){ .I = I, .arena = arena };
    pm_init(&s->scope, s->arena);
}

void sim_enter(Sim *s, const Facts *f) {
    const void *key = f->var ? (const void *)f->var : f->memory;
    if (key) {
        Bound *b = ARENA_NEW(s->arena, Bound);
        *b = (Bound){ f, f->var ? ++s->depth : DEPTH_DATA };
        pm_put(&s->scope, key, b);
    }
    if (f->truth) VEC_PUSH(s->arena, &s->truth, f->truth);
}

void sim_open(Sim *s, Interner *I, const Facts *f) {
    Arena *tables = sim_tables(I);
    ArenaMark mark = arena_mark(tables);
    sim_init(s, I, tables);
    s->mark = mark;
    VEC(const Facts *) chain = { 0 };
    for (; f; f = f->up) VEC_PUSH(s->arena, &chain, f);
    s->depth = 1; /* 1 is left for a variable to solve for that has no range */
    for (int i = chain.n; i-- > 0;) sim_enter(s, chain.at[i]);
}

void sim_close(Sim *s) {
    arena_release(s->arena, s->mark);
}

void sim_nest(Sim *s, Sim *up) {
    sim_forms(up);
    sim_init(s, up->I, up->arena);
    s->up = up;
    s->depth = up->depth;
}

const Bound *sim_find(const Sim *s, const void *key) {
    for (; s; s = s->up) {
        const Bound *b = pm_get(&s->scope, key);
        if (b) return b;
    }
    return NULL;
}

static InfoSlot *info_slot(InfoSlot *at, uint32_t cap, const Node *e) {
    uint32_t i = e->hash & (cap - 1);
    while (at[i].e && at[i].e != e) i = (i + 1) & (cap - 1);
    return &at[i];
}

static void grow_info(Sim *s) {
    uint32_t cap = s->cap_info ? 2 * s->cap_info : 16;
    InfoSlot *at = ARENA_ARRAY(s->arena, InfoSlot, cap);
    for (uint32_t i = 0; i < s->cap_info; i++)
        if (s->info[i].e) *info_slot(at, cap, s->info[i].e) = s->info[i];
    s->info = at;
    s->cap_info = cap;
}

Info *sim_info(Sim *s, const Node *e) {
    if (2 * (s->n_info + 1) > s->cap_info) grow_info(s);
    InfoSlot *slot = info_slot(s->info, s->cap_info, e);
    if (slot->e) return slot->info;
    s->n_info++;
    slot->e = e;
    slot->info = ARENA_NEW(s->arena, Info);
    slot->info->e = e;
    return slot->info;
}

static Info **kids_of(Sim *s, Info *i) {
    if (i->kid) return i->kid;
    i->kid = ARENA_ARRAY(s->arena, Info *, i->e->n);
    for (int k = 0; k < i->e->n; k++) i->kid[k] = sim_info(s, i->e->kid[k]);
    return i->kid;
}

/* The stack holds nodes only: a node is finished when no operand is left that is not done.  Looking
 * at all operands again each time is what makes it need no second table. */
void sim_walk(Sim *s, const Node *e, SimDone done, SimFill fill) {
    int base = s->stack.n;
    Scratch *scratch = s->scratch;
    s->scratch = NULL; /* tables outlive the proof that asks */
    VEC_PUSH(s->arena, &s->stack, sim_info(s, e));
    while (s->stack.n > base) {
        Info *top = s->stack.at[s->stack.n - 1];
        bool ready = true;
        if (!done(s, top)) {
            Info **kid = kids_of(s, top);
            for (int k = top->e->n; k-- > 0;)
                if (!done(s, kid[k])) {
                    VEC_PUSH(s->arena, &s->stack, kid[k]);
                    ready = false;
                }
            if (ready) fill(s, top->e, top);
        }
        if (ready) s->stack.n--;
    }
    s->scratch = scratch;
}

/* ---- entry points ---- */

Sim *sim_begin(Interner *I, const Facts *f) {
    Sim *s = ARENA_NEW(I->arena, Sim);
    sim_open(s, I, f);
    return s;
}

void sim_end(Sim *s) {
    sim_close(s);
}

Sim *sim_lasting(Interner *I) {
    Sim *s = ARENA_NEW(I->arena, Sim);
    sim_init(s, I, I->arena);
    s->depth = 1;
    return s;
}

/* A variable that no node met so far can mention changes nothing that the tables hold; a condition does,
 * and so does a second range of a variable that another copy of a loop has bound before. */
Sim *sim_inside(Sim *outer, const Facts *one) {
    Sim *s = outer;
    if (one->truth || one->memory || sim_find(outer, one->var)) {
        s = ARENA_NEW(outer->arena, Sim);
        sim_nest(s, outer);
    }
    sim_enter(s, one);
    return s;
}

const Node *sim_run(Sim *s, const Node *e) {
    return simple(s, e);
}

bool sim_holds(Sim *s, const Node *cond) {
    return prove(s, cond);
}

const Node *sim_simplify(Interner *I, const Facts *f, const Node *e) {
    Sim s;
    if (ir_is_const(e)) return e;
    if (!f) return simple(sim_plain(I), e);
    sim_open(&s, I, f);
    e = simple(&s, e);
    sim_close(&s);
    return e;
}

bool sim_prove(Interner *I, const Facts *f, const Node *cond) {
    Sim s;
    bool yes = false;
    for (int look = 0; look < 2 && !yes; look++) {
        sim_open(&s, I, f);
        s.expand = look > 0; /* a second look with products of sums multiplied out */
        yes = prove(&s, cond);
        sim_close(&s);
    }
    return yes;
}

static bool is_whole(const Node *e) {
    return !ty_is_float((mlc_type)e->type);
}

/* Removes memory and then the ranged variables from one side, innermost first. */
static const Node *outermost(Sim *s, const Node *e, bool upper) {
    int depth;
    while (e && (depth = depth_of(s, e)) > 0) {
        if (e->type == MLC_INDEX) {
            const Lin *l = bound_lin(s, lin_of(s, e), depth, upper);
            e = l ? lin_node(s, l) : NULL;
        } else {
            Interval i = bound_node(s, e, depth);
            e = upper ? i.hi : i.lo;
        }
    }
    return e;
}

Interval sim_bounds(Interner *I, const Facts *f, const Node *e, const Node **why) {
    Sim s;
    sim_open(&s, I, f);
    Interval r = { NULL, NULL };
    if (is_whole(e)) {
        e = simple(&s, e);
        r.lo = outermost(&s, e, false);
        r.hi = outermost(&s, e, true);
    }
    if (why) *why = !r.lo || !r.hi ? s.why ? s.why : e : NULL;
    if (r.lo) r.lo = simple(&s, r.lo);
    if (r.hi) r.hi = simple(&s, r.hi);
    sim_close(&s);
    return r;
}

bool sim_const_ends(Sim *s, const Node *e, int64_t *lo, int64_t *hi) {
    e = simple(s, e);
    Range r = range_of(s, e);
    const Node *a = outermost(s, e, false), *b = outermost(s, e, true);
    Range ra = a ? range_of(s, a) : r, rb = b ? range_of(s, b) : r;
    *lo = ra.lo > r.lo ? ra.lo : r.lo;
    *hi = rb.hi < r.hi ? rb.hi : r.hi;
    return *lo != NINF && *hi != PINF;
}

bool sim_const_bounds(Interner *I, const Facts *f, const Node *e, int64_t *lo, int64_t *hi) {
    Sim s;
    if (!is_whole(e)) return false;
    sim_open(&s, I, f);
    bool known = sim_const_ends(&s, e, lo, hi);
    sim_close(&s);
    return known;
}

Congruence sim_congruence(Interner *I, const Facts *f, const Node *e) {
    Sim s;
    sim_open(&s, I, f);
    Congruence c = congruence_of(&s, simple(&s, e));
    sim_close(&s);
    return c;
}
