/* copies.c - copies to shared memory that a GPU makes on its own: PTX's cp.async.
 *
 *     const f32 *a_next = a + (...);
 *     for (i64 k = 0; k < n; k++) {
 *         copy_async_16(as + (x * 4 + y * 16), a_next);                      a thread asks for 16 bytes
 *         copy_async_16(as + (x * 4 + y * 16 + 256), a_next + 16 * a_stride_1);
 *         copies_end();                                                     what it has asked for since the last one is a group
 *         a_next += 16;
 *     }
 *     copies_wait<2>();                                                     until all groups but the last 2 have landed
 *
 * 16 bytes go around the first cache (.cg), which holds nothing that is read once; smaller ones must take it (.ca).  What is copied a
 * step later lies a constant further on: one pointer of a memory walks with the loop, and the copies of a step lie at constant distances
 * from it, which leaves a thread's time and registers to what it computes. */
#include "cg.h"

static void write_helper(Gen *G, const char *name, const char *text) {
    if (sm_get(&G->have, name)) return;
    sm_put(&G->have, name, G);
    sb_puts(&G->helpers, text);
}

static const char *copy_helper(Gen *G, int bytes) {
    const char *name = fmt(G, "copy_async_%d", bytes), *cache = bytes == 16 ? "cg" : "ca";
    write_helper(G, name, fmt(G, "#ifdef __CUDACC__\nINLINE void %s(void *to, const void *from) {\n"
                                 "    asm volatile(\"cp.async.%s.shared.global [%%0], [%%1], %d;\" : : \"r\"((u32)__cvta_generic_to_shared(to)), \"l\"(from) : \"memory\");\n"
                                 "}\n#endif\n", name, cache, bytes));
    return name;
}

/* ---- pointers that walk with a loop ---- */

/* Of a memory, in the loop around. */
struct CopyWalk {
    CopyWalk *up;
    const Storage *from;
    const Node *index, *step; /* of the first copy, over what is bound outside of the loop and its variable */
    const char *name;
};

/* A sum of products, so that those of two indices cancel. */
static const Node *expanded(Interner *I, const Node *e) {
    bool sum = e->op == OP_ADD || e->op == OP_SUB;
    if (!sum && e->op != OP_MUL) return e;
    const Node *a = expanded(I, e->kid[0]), *b = expanded(I, e->kid[1]);
    if (sum) return ir_make2(I, (Op)e->op, a, b);
    for (int i = 0; i < 2; i++) {
        const Node *many = i ? a : b, *one = i ? b : a;
        if (many->op != OP_ADD && many->op != OP_SUB) continue;
        return ir_make2(I, (Op)many->op, expanded(I, ir_mul(I, many->kid[0], one)), expanded(I, ir_mul(I, many->kid[1], one)));
    }
    return ir_mul(I, a, b);
}

static const Node *distance(Gen *G, const Node *from, const Node *to) {
    return sim_simplify(G->ir, NULL, ir_sub(G->ir, expanded(G->ir, to), expanded(G->ir, from)));
}

static const Node *at_value(Gen *G, const Node *e, const Sym *var, const Node *value) {
    PtrMap map;
    pm_init(&map, G->arena);
    pm_put(&map, var, (void *)(uintptr_t)value);
    return ir_substitute(G->ir, e, &map);
}

void note_let(Gen *G, const Sym *var, const Node *value) {
    if (G->cuda && var->type == MLC_INDEX) pm_put(&G->let_value, var, (void *)(uintptr_t)ir_substitute(G->ir, value, &G->let_value));
}

typedef struct {
    Gen *G;
    CopyWalk *found;
    PtrMap bound; /* in the loop */
} FindCopies;

static Stmt *find_copy(StmtMap *m, Stmt *s) {
    FindCopies *f = m->user;
    Gen *G = f->G;
    bool lanes = s->kind == ST_FOR && s->u.loop.kind == LOOP_VECTOR;
    if (s->kind == ST_FOR && !lanes) return s;
    if (s->kind == ST_LET) note_let(G, s->u.let.var, s->u.let.value);
    if (s->kind == ST_LET) pm_put(&f->bound, s->u.let.var, s);
    if (lanes) note_let(G, s->u.loop.var, s->u.loop.min); /* the first lane asks for all */
    if (s->kind == ST_STORE && s->u.store.async) {
        const Node *from = s->u.store.value[0];
        CopyWalk *w = f->found;
        while (w && w->from != from->u.storage) w = w->up;
        if (w) return s;
        w = ARENA_NEW(G->arena, CopyWalk);
        *w = (CopyWalk){ .up = f->found, .from = from->u.storage, .index = ir_substitute(G->ir, from->kid[0], &G->let_value) };
        f->found = w;
    }
    return st_map_kids(m, s);
}

static void find_bound(void *user, const Node *e) {
    void **w = user;
    const PtrMap *bound = w[0];
    if (e->op == OP_LOAD || (e->op == OP_VAR && pm_has(bound, e->u.sym))) w[1] = w;
}

/* Is e told by what is bound outside of the loop? */
static bool is_outside(FindCopies *f, const Node *e) {
    void *user[2] = { &f->bound, NULL };
    ir_visit(f->G->arena, e, find_bound, user);
    return !user[1];
}

CopyWalk *copies_begin(Gen *G, Env *v, const Stmt *loop) {
    const Sym *var = loop->u.loop.var;
    FindCopies f = { .G = G };
    CopyWalk *walks = NULL;
    if (!G->cuda || loop->u.loop.kind != LOOP_SERIAL) return NULL;
    pm_init(&f.bound, G->arena);
    StmtMap m = { .arena = G->arena, .ir = G->ir, .stmt = find_copy, .user = &f };
    st_map(&m, loop->u.loop.body);
    for (CopyWalk *w = f.found, *next; w; w = next) {
        next = w->up;
        w->step = distance(G, w->index, at_value(G, w->index, var, ir_add(G->ir, ir_var(G->ir, var), ir_idx(G->ir, 1))));
        const Node *first = at_value(G, w->index, var, loop->u.loop.min);
        pm_put(&f.bound, var, w);
        if (!is_outside(&f, w->step) || !is_outside(&f, first)) continue;
        const char *from = mem_address(G, v, w->from, 0, legal(G, first));
        w->name = fresh(G, fmt(G, "%s_next", element_name(G, w->from, 0)));
        line(G, "const %s *%s = %s;", ty_c(w->from->type[0]), w->name, from);
        w->up = walks;
        walks = w;
    }
    return walks;
}

void copies_step(Gen *G, const CopyWalk *walks) {
    Env v;
    env_init(G, &v, NULL);
    for (const CopyWalk *w = walks; w; w = w->up) line(G, "%s += %s;", w->name, value(G, &v, legal(G, w->step)));
}

/* ---- asking and waiting ---- */

static const char *source(Gen *G, Env *v, const Node *from) {
    const Node *index = ir_substitute(G->ir, from->kid[0], &G->let_value);
    const CopyWalk *w = G->walks;
    while (w && w->from != from->u.storage) w = w->up;
    const Node *far = w ? distance(G, w->index, index) : NULL;
    if (!far || ir_uses(G->arena, far, G->loop->u.loop.var)) return mem_address(G, v, from->u.storage, from->aux, legal(G, from->kid[0]));
    return ir_is(far, 0) ? w->name : fmt(G, "%s + (%s)", w->name, index_expr(G, v, legal(G, far)));
}

void ask_copy(Gen *G, const Stmt *s) {
    const Storage *to = s->u.store.storage;
    const Node *from = s->u.store.value[0];
    int lanes = G->copy_lanes ? G->copy_lanes : 1;
    Env v;
    env_init(G, &v, NULL);
    if (from->op != OP_LOAD) BUG(G->arena->fault, "a copy that is none");
    const char *name = copy_helper(G, lanes * ty_bytes(to->type[0]));
    const char *at = mem_address(G, &v, to, 0, legal(G, s->u.store.coord[0]));
    line(G, "%s(%s, %s);", name, at, source(G, &v, from));
}

void wait_copies(Gen *G, int pending) {
    write_helper(G, "copies_end", "#ifdef __CUDACC__\nINLINE void copies_end() { asm volatile(\"cp.async.commit_group;\" : : : \"memory\"); }\n"
                                  "template <int N> INLINE void copies_wait() { asm volatile(\"cp.async.wait_group %0;\" : : \"n\"(N) : \"memory\"); }\n#endif\n");
    if (pending < 0) {
        line(G, "copies_end();");
        return;
    }
    if (!pending) line(G, "copies_end();"); /* those in no group, too */
    line(G, "copies_wait<%d>();", pending);
}
