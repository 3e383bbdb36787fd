/* memo.c - memoized Funcs: an earlier call may have computed the same values.
 *
 *     alloc g .. memoized                g.found: an entry of the module's cache holds them
 *       if !g.found: produce h           what is made for g alone
 *       if !g.found: produce g, kept
 *       ... g ..
 *
 * An entry is found by all that the values are made of: which Func over which box, the params and sizes that its
 * definitions and those of its producers mention, and the elements of the inputs that these read.  So what is found
 * is what would be computed, whatever the caller did to its buffers.  Memory of such a Func is taken first of all, since
 * what is found decides what else is computed. */
#include "lower/nest.h"

typedef struct {
    Build *b;
    PtrMap seen;             /* Funcs, and Syms that are words */
    VEC(Func *) todo, input;
    VEC(const Node *) word;
} Parts;

static void add_func(Parts *p, Func *f) {
    if (pm_has(&p->seen, f)) return;
    pm_put(&p->seen, f, f);
    if (f->is_input) VEC_PUSH(p->b->arena, &p->input, f);
    else VEC_PUSH(p->b->arena, &p->todo, f);
}

/* As 64 bits: equal ones are equal values. */
static void add_word(Parts *p, const Node *e) {
    Interner *I = p->b->ir;
    mlc_type t = (mlc_type)e->type;
    if (ty_is_float(t)) e = ir_node(I, OP_REINTERPRET, ty_int(false, ty_bits(t)), 0, 0, 1, &e);
    e = ir_cast(I, MLC_INDEX, e);
    VEC_PUSH(p->b->arena, &p->word, e);
}

static void note_part(void *user, const Node *e) {
    Parts *p = user;
    if (e->op == OP_ACCESS) add_func(p, e->u.func);
    if (e->op != OP_VAR || pm_has(&p->seen, e->u.sym)) return;
    SymKind k = e->u.sym->kind;
    if (k != SYM_PARAM && k != SYM_MIN && k != SYM_EXTENT && k != SYM_STRIDE) return;
    pm_put(&p->seen, e->u.sym, p);
    add_word(p, e);
}

static void add_def(Parts *p, const Def *def) {
    Arena *a = p->b->arena;
    const RDom *r = def->rdom;
    for (int i = 0; i < def->n; i++) ir_visit(a, def->value[i], note_part, p);
    for (int d = 0; d < def->rank; d++) ir_visit(a, def->coord[d], note_part, p);
    for (int i = 0; r && i < r->n; i++) {
        ir_visit(a, r->min[i], note_part, p);
        ir_visit(a, r->extent[i], note_part, p);
    }
    for (int i = 0; r && i < r->where_canon.n; i++) ir_visit(a, r->where_canon.at[i], note_part, p);
}

/* What of the input the stages read that f is made by; where a stage does not run, that may lie outside. */
static MemoInput region(Build *b, const Parts *p, Func *f) {
    const UseList *uses = pm_get(&b->uses, f);
    const Storage *t = pm_get(&b->external, f);
    Interval box[MAX_RANK] = { { NULL, NULL } };
    MemoInput in = { .func = f };
    for (int i = 0; uses && i < uses->n; i++)
        if (pm_has(&p->seen, uses->at[i]->fn->func)) low_required_by(b, f, uses->at[i], b->root, box);
    for (int d = 0; d < f->rank; d++) {
        const Node *last = ir_sub(b->ir, ir_add(b->ir, t->min[d], t->extent[d]), ir_idx(b->ir, 1));
        if (!box[d].lo) box[d] = (Interval){ t->min[d], ir_sub(b->ir, t->min[d], ir_idx(b->ir, 1)) };
        Interval have = { ir_max(b->ir, box[d].lo, t->min[d]), ir_min(b->ir, box[d].hi, last) };
        in.min[d] = sim_simplify(b->ir, b->base, have.lo);
        in.extent[d] = low_length(b, b->base, have);
    }
    return in;
}

void low_memoize(Build *b, FuncNest *fn) {
    Memo *m = fn->storage->memo;
    Parts p = { .b = b };
    if (!m) return;
    pm_init(&p.seen, b->arena);
    add_word(&p, ir_idx(b->ir, fn->func->id));
    for (int d = 0; d < fn->storage->rank; d++) {
        add_word(&p, fn->storage->min[d]);
        add_word(&p, fn->storage->extent[d]);
    }
    add_func(&p, fn->func);
    while (p.todo.n) {
        const Func *f = p.todo.at[--p.todo.n];
        for (int i = 0; i < f->def.n; i++) add_def(&p, f->def.at[i]);
    }
    VEC_PUSH(b->arena, &p.word, NULL); /* room past the end, as the inputs have */
    p.word.n--;
    m->in = ARENA_ARRAY(b->arena, MemoInput, p.input.n + 1);
    for (int i = 0; i < p.input.n; i++) {
        MemoInput in = m->in[m->n_in++] = region(b, &p, p.input.at[i]);
        for (int d = 0; d < in.func->rank; d++) add_word(&p, in.min[d]);
    }
    m->word = p.word.at;
    m->n_words = p.word.n;
}

Memo *low_new_memo(Build *b, const FuncNest *fn) {
    Memo *m = ARENA_NEW(b->arena, Memo);
    m->found = low_sym(b, fn->func, SYM_LET, arena_printf(b->arena, "%s.found", fn->func->name));
    m->entry = low_sym(b, fn->func, SYM_LET, arena_printf(b->arena, "%s.entry", fn->func->name));
    m->evict = fn->sched->memo_key;
    ((Sym *)(uintptr_t)m->found)->type = MLC_BOOL;
    b->memos++;
    return m;
}

/* Is the Func at root needed inside of whose loops the stage stands?  In a loop that stages share, one of its group. */
static const Node *needed_around(Build *b, const StageNest *st) {
    const Node *any = ir_bool(b->ir, false);
    const Scope *s = st->part;
    while (s->up != b->root && !(s == s->stage->part && s->stage->fn->compute == b->root)) s = s->up;
    const GroupNest *g = s->stage->fn->group;
    if (s == s->stage->part) return low_needed(b, s->stage->fn);
    for (int i = 0; i < g->func.n; i++) any = ir_make2(b->ir, OP_LOR, any, low_needed(b, g->func.at[i]));
    return any;
}

const Node *low_needed(Build *b, const FuncNest *fn) {
    const UseList *uses = pm_get(&b->uses, fn->func);
    if (!b->memos || fn->compute != b->root || fn->storage->is_output) return ir_bool(b->ir, true);
    if (fn->storage->memo) return ir_make1(b->ir, OP_LNOT, ir_var(b->ir, fn->storage->memo->found));
    const Node *any = pm_get(&b->needed, fn);
    if (any) return any;
    any = ir_bool(b->ir, false);
    for (int i = 0; uses && i < uses->n; i++) any = ir_make2(b->ir, OP_LOR, any, needed_around(b, uses->at[i]));
    pm_put(&b->needed, fn, (void *)(uintptr_t)any);
    return any;
}
