/* stmt.c - statements as C.
 *
 * Loops stay loops; the body of a parallel one becomes a function (parallel.c).
 * A failure leaves by `return` where nothing is held, else by a jump to the label that releases the
 * innermost allocation and goes on outwards. */
#include "cg.h"

#include <string.h>

void note(Gen *G, const Stmt *s, const char *why) {
    const char *loop = s->kind == ST_FOR ? s->u.loop.var->name : "";
    line(G, "// scalarised%s%s: %s", *loop ? " " : "", loop, why);
    watch_scalar(G, why);
    if (G->o->note && !G->dry) G->o->note(G->o->note_user, fmt(G, "scalarised %s: %s", loop, why));
}

/* ---- failures ---- */

void fail_line(Gen *G, const char *error) {
    if (!G->fn->label) {
        line(G, "return %s;", error);
        return;
    }
    G->fn->fails = true;
    if (strcmp(error, "status")) line(G, "status = %s;", error);
    line(G, "goto out%d;", G->fn->label);
}

int add_check(Gen *G, ErrCode code, const char *a, const char *b) {
    CheckText c = { code, { a ? a : "", b ? b : "" } };
    VEC_PUSH(G->arena, &G->checks, c);
    return G->checks.n - 1;
}

static void check(Gen *G, const Stmt *s) {
    Env v;
    env_init(G, &v, NULL);
    int number = add_check(G, s->u.check.code, s->u.check.text[0], s->u.check.text[1]);
    const char *args[4] = { "0", "0", "0", "0" };
    Text cond = expr(G, &v, legal(G, s->u.check.cond));
    open_brace(G, "if (!%s)", wrap(G, cond, P_ATOM));
    Env inner;
    env_init(G, &inner, &v);
    for (int i = 0; i < s->u.check.n; i++) args[i] = value(G, &inner, s->u.check.arg[i]);
    fail_line(G, fail_text(G, s->u.check.code, number, args));
    close_brace(G);
}

/* ---- leaves ---- */

/* All values are computed before any is stored. */
void scalar_store(Gen *G, const Stmt *s) {
    const Storage *t = s->u.store.storage;
    Env v;
    env_init(G, &v, NULL);
    int n = s->u.store.n;
    const char *ref[MAX_TUPLE], *val[MAX_TUPLE];
    const Node *index = legal(G, s->u.store.coord[0]);
    for (int i = 0; i < n; i++) {
        val[i] = value(G, &v, s->u.store.value[i]);
        if (n == 1) break;
        const char *name = fresh(G, fmt(G, "t%d", ++G->temps));
        line(G, "const %s %s = %s;", ty_c(t->type[i]), name, val[i]);
        val[i] = name;
    }
    for (int i = 0; i < n; i++) ref[i] = mem_ref(G, &v, t, i, index, 1);
    for (int i = 0; i < n; i++) line(G, "%s = %s;", ref[i], val[i]);
}

void scalar_leaf(Gen *G, const Stmt *s) {
    if (s->kind == ST_STORE && s->u.store.old[0]) atomic_store(G, s);
    else if (s->kind == ST_STORE && s->u.store.async) ask_copy(G, s);
    else if (s->kind == ST_STORE) scalar_store(G, s);
    else {
        Env v;
        env_init(G, &v, NULL);
        expr(G, &v, legal(G, s->u.eval.value));
    }
}

static void prefetch(Gen *G, const Stmt *s) {
    const Node *e = s->u.prefetch.read;
    Env v;
    env_init(G, &v, NULL);
    line(G, "__builtin_prefetch(%s, 0, 3);", mem_address(G, &v, e->u.storage, e->aux, legal(G, e->kid[0])));
}

/* ---- scopes ---- */

const Facts *fact_loop(Gen *G, const Sym *var, const Node *min, const Node *extent) {
    return sim_with_loop(G->ir, G->arena, G->facts, var, min, extent);
}

const Facts *fact_let(Gen *G, const Sym *var, const Node *v) {
    return sim_with_range(G->arena, G->facts, var, (Interval){ v, v });
}

/* A chain of lets is one block. */
static void lets(Gen *G, const Stmt *s) {
    const Facts *outside = G->facts;
    const Stmt *first = s;
    open_brace(G, "%s", "");
    for (; s->kind == ST_LET; s = s->u.let.body) {
        const Sym *var = s->u.let.var;
        Env v;
        env_init(G, &v, NULL);
        const char *text = value(G, &v, s->u.let.value), *name = name_of(G, var, var->name);
        line(G, "const %s %s = %s;", ty_c(var->type), name, text);
        bind(G, var, name);
        if (var->type == MLC_INDEX) G->facts = fact_let(G, var, s->u.let.value);
        note_let(G, var, s->u.let.value);
    }
    stmt(G, s);
    for (s = first; s->kind == ST_LET; s = s->u.let.body) unbind(G, s->u.let.var);
    G->facts = outside;
    close_brace(G);
}

void loop_body(Gen *G, const Stmt *s) {
    const Sym *var = s->u.loop.var;
    const Facts *outside = G->facts;
    const Stmt *around = G->loop;
    G->facts = fact_loop(G, var, s->u.loop.min, s->u.loop.extent);
    G->loop = s;
    bind(G, var, name_of(G, var, var->name));
    stmt(G, s->u.loop.body);
    if (s->u.loop.kind == LOOP_PARALLEL && !G->vec) watch_task(G, s);
    unbind(G, var);
    G->loop = around;
    G->facts = outside;
}

void scalar_loop(Gen *G, const Stmt *s) {
    Env v;
    const char *name = name_of(G, s->u.loop.var, s->u.loop.var->name);
    const Node *last = ir_add(G->ir, s->u.loop.min, s->u.loop.extent);
    bool constant = ir_is_const(last);
    const char *end = constant ? constant_text(G, last).s : fresh(G, fmt(G, "%s_end", name)); /* partition has lets of such names */
    if (!constant) open_brace(G, "%s", "");
    env_init(G, &v, NULL);
    const char *min = value(G, &v, s->u.loop.min);
    if (!constant) line(G, "const i64 %s = %s;", end, value(G, &v, last));
    bool unroll = s->u.loop.kind == LOOP_UNROLL || (G->cuda && s->u.loop.kind == LOOP_VECTOR);
    if (unroll) line(G, G->cuda ? "#pragma unroll" : "#pragma GCC unroll 64");
    const CopyWalk *outer = G->walks, *walks = copies_begin(G, &v, s);
    open_brace(G, "for (i64 %s = %s; %s < %s; %s++)", name, min, name, end, name);
    G->walks = walks;
    loop_body(G, s);
    copies_step(G, walks);
    G->walks = outer;
    close_brace(G);
    if (!constant) close_brace(G);
}

/* ---- memory ---- */

/* Elements from the first to the last of the box, as an index expression. */
static const Node *elements(Gen *G, const Storage *s) {
    Interner *I = G->ir;
    if (s->const_elems > 0) return ir_idx(I, s->const_elems);
    const Node *n = ir_idx(I, 1);
    for (int d = 0; d < s->rank; d++) {
        const Node *last = ir_sub(I, ir_max(I, st_room(I, s, d), ir_idx(I, 1)), ir_idx(I, 1));
        n = ir_add(I, n, ir_mul(I, last, s->stride[d]));
    }
    return n;
}

/* The same, -1 where its extents are too many for any memory. */
static const char *checked_box(Gen *G, Env *v, const Storage *t, const char *n) {
    const char *list = "";
    for (int d = 0; d < t->rank; d++) {
        const char *extent = value(G, v, st_padded(G->ir, t, d));
        list = fmt(G, "%s%s%s", list, d ? ", " : "", extent);
    }
    return fmt(G, "box_of(%s, %d, (const i64[]){ %s })", n, t->rank, list);
}

static const char *elements_name(Gen *G, const Storage *t) {
    return name_of(G, &t->const_elems, fmt(G, "%s_elements", t->name));
}

static void alloc_element(Gen *G, const Stmt *s, int e);

/* The body with a label of its own, at which failures arrive, then `release`. */
static void held(Gen *G, const Stmt *s, int e, void (*release)(Gen *G, const Storage *t, int e)) {
    int outer = G->fn->label;
    bool failed = G->fn->fails;
    G->fn->label = ++G->labels;
    G->fn->fails = false;
    alloc_element(G, s, e);
    bool used = G->fn->fails;
    if (used) line(G, "out%d:;", G->fn->label);
    G->fn->label = outer;
    G->fn->fails = failed || used;
    release(G, s->u.alloc.storage, e);
    if (!used) return;
    open_brace(G, "if (status)");
    fail_line(G, "status");
    close_brace(G);
}

static void stack_array(Gen *G, const Stmt *s, int e) {
    const Storage *t = s->u.alloc.storage;
    const char *name = element_name(G, t, e);
    bind(G, &t->type[e], name);
    Promoted *p = pm_get(&G->promoted, &t->type[e]);
    if (p) p->fn = G->fn;
    bool named = p && !p->fails && !G->dry;
    /* under a mask: lanes outside of it are not stored */
    const char *zero = G->vec && G->vec->mask && (t->lanes || t->type[e] == MLC_BOOL) ? " = { 0 }" : "";
    const char *aligned = G->cuda ? "" : " __attribute__((aligned(64)))";
    if (!named) line(G, "%s %s[%lld]%s%s;", ty_c(t->type[e]), name, (long long)t->const_elems, aligned, zero);
    for (int i = 0; named && i < p->piece.n; i++)
        line(G, "%s %s%s;", vector_type(G, ty_c(t->type[e]), p->piece.at[i].lanes), p->piece.at[i].name, zero);
    alloc_element(G, s, e + 1);
    unbind(G, &t->type[e]);
}

/* Its size; the address inside of the element's key is a key too. */
static const char *bytes_name(Gen *G, const Storage *t, int e) {
    return name_of(G, (const char *)&t->type[e] + 1, fmt(G, "%s_bytes", element_name(G, t, e)));
}

static void release_array(Gen *G, const Storage *t, int next) {
    const char *name = element_name(G, t, next - 1);
    watch_memory(G, t, bytes_name(G, t, next - 1), "-");
    line(G, "%s;", release_text(G, name));
}

static void release_memo(Gen *G, const Storage *t, int next) {
    (void)next;
    memo_close(G, t);
}

static void heap_array(Gen *G, const Stmt *s, int e) {
    const Storage *t = s->u.alloc.storage;
    const char *name = element_name(G, t, e), *type = ty_c(t->type[e]);
    const char *bytes = bytes_name(G, t, e);
    line(G, "const i64 %s = bytes_of(%s, sizeof(%s));", bytes, elements_name(G, t), type);
    if (t->on_device) {
        gpu_array(G, t, e, bytes);
        bind(G, &t->type[e], name);
        held(G, s, e + 1, release_gpu);
        unbind(G, &t->type[e]);
        return;
    }
    line(G, "%s *%s%s = %s;", type, restricted(t), name, alloc_text(G, bytes));
    open_brace(G, "if (!%s)", name);
    const char *arg[4] = { bytes, "0", "0", "0" };
    fail_line(G, fail_text(G, ERR_OUT_OF_MEMORY, -1, arg));
    close_brace(G);
    watch_memory(G, t, bytes, "");
    bind(G, &t->type[e], name);
    held(G, s, e + 1, release_array);
    unbind(G, &t->type[e]);
}

static void alloc_element(Gen *G, const Stmt *s, int e) {
    const Storage *t = s->u.alloc.storage;
    if (e == t->n) stmt(G, s->u.alloc.body);
    else if (on_stack(t, e)) stack_array(G, s, e);
    else if (t->memory == STORE_SHARED) {
        shared_array(G, t, e);
        alloc_element(G, s, e + 1);
        unbind(G, &t->type[e]);
    } else if (G->cuda) refuse_on_gpu(G, fmt(G, "memory for %s of a size that is no constant", t->name));
    else heap_array(G, s, e);
}

/* ---- arrays that become variables ---- */

/* Pieces are the same or apart. */
static bool pieces_fit(const Promoted *p) {
    for (int i = 0; i < p->piece.n; i++)
        for (int k = 0; k < i; k++) {
            const Piece *a = &p->piece.at[i], *b = &p->piece.at[k];
            if (a->at < b->at + b->lanes && b->at < a->at + a->lanes) return false;
        }
    return true;
}

static void consider(Gen *G, const Storage *t) {
    for (int e = 0; e < t->n; e++) {
        if (!on_stack(t, e) || pm_has(&G->promoted, &t->type[e])) continue;
        Promoted *p = ARENA_NEW(G->arena, Promoted);
        *p = (Promoted){ .storage = t, .fn = G->fn };
        pm_put(&G->promoted, &t->type[e], p);
    }
}

/* Writes the allocation, and those inside, to learn how its arrays are used. */
static void rehearse(Gen *G, const Stmt *s) {
    size_t out = G->fn->out.n, functions = G->functions.n;
    int checks = G->checks.n, label = G->labels;
    bool fails = G->fn->fails;
    G->dry = true;
    alloc_element(G, s, 0);
    G->dry = false;
    for (uint32_t i = 0; i < G->promoted.cap; i++) {
        Promoted *p = G->promoted.key[i] ? G->promoted.val[i] : NULL;
        if (p && !p->fails && !pieces_fit(p)) p->fails = "vectors of it overlap";
        if (p && p->fails && p->storage->memory == STORE_REGISTER) {
            Place place = sch_place(G->arena, p->storage->memory_line);
            fault_raise(G->arena->fault, ERR_REGISTER, &place, p->storage->func->name, p->fails);
        }
    }
    G->fn->out.at[G->fn->out.n = out] = 0;
    G->functions.at[G->functions.n = functions] = 0;
    G->checks.n = checks;
    G->labels = label;
    G->fn->fails = fails;
}

void allocate(Gen *G, const Stmt *s) {
    bool stack = false;
    for (int e = 0; e < s->u.alloc.storage->n; e++) stack |= on_stack(s->u.alloc.storage, e);
    bool known = pm_has(&G->promoted, &s->u.alloc.storage->type[0]);
    if (stack && (!known || G->dry)) consider(G, s->u.alloc.storage);
    if (stack && !known && !G->dry) rehearse(G, s);
    const Storage *t = s->u.alloc.storage;
    comment_line(G, t->line);
    open_brace(G, "%s", "");
    bool heap = false;
    for (int e = 0; e < t->n; e++) heap |= !on_stack(t, e);
    if (heap && !G->cuda) {
        Env v;
        env_init(G, &v, NULL);
        const char *n = value(G, &v, elements(G, t));
        if (t->const_elems <= 0 && t->rank > 1) n = checked_box(G, &v, t, n);
        line(G, "const i64 %s = %s;", elements_name(G, t), n);
    }
    if (t->memo) {
        memo_open(G, t, elements_name(G, t));
        held(G, s, t->n, release_memo);
    } else {
        alloc_element(G, s, 0);
    }
    close_brace(G);
}

/* ---- the rest ---- */

static void condition(Gen *G, const Stmt *s) {
    Env v;
    env_init(G, &v, NULL);
    Text c = expr(G, &v, legal(G, s->u.cond.cond));
    if (s->u.cond.likely && !G->cuda) open_brace(G, "if (__builtin_expect(%s, 1))", c.s);
    else open_brace(G, "if (%s)", c.s);
    stmt(G, s->u.cond.yes);
    close_brace(G);
    if (!s->u.cond.no) return;
    open_brace(G, "else");
    stmt(G, s->u.cond.no);
    close_brace(G);
}

/* A GPU's threads are its lanes: those of a vector loop become statements, so that its arrays stay in registers. */
static void lane_by_lane(Gen *G, const Stmt *s) {
    int64_t lanes;
    enum { MOST = 32 };
    const Stmt *copy = s->u.loop.body;
    while (copy->kind == ST_LET || copy->kind == ST_PRODUCE) copy = copy->kind == ST_LET ? copy->u.let.body : copy->u.produce.body;
    if (copy->kind == ST_STORE && copy->u.store.async && ir_is_int(s->u.loop.extent, &lanes)) { /* the first lane asks for all */
        Stmt *first = st_substitute(G->arena, G->ir, s->u.loop.body, s->u.loop.var, s->u.loop.min);
        int outer = G->copy_lanes;
        G->copy_lanes = (int)lanes;
        stmt(G, first);
        G->copy_lanes = outer;
        return;
    }
    if (!ir_is_int(s->u.loop.extent, &lanes) || lanes > MOST) {
        scalar_loop(G, s);
        return;
    }
    for (int64_t i = 0; i < lanes; i++) {
        const Node *at = ir_add(G->ir, s->u.loop.min, ir_idx(G->ir, i));
        stmt(G, st_substitute(G->arena, G->ir, s->u.loop.body, s->u.loop.var, at));
    }
}

static void loop(Gen *G, const Stmt *s) {
    comment_line(G, s->line);
    switch (s->u.loop.kind) {
    case LOOP_PARALLEL: parallel_loop(G, s); break;
    case LOOP_VECTOR:
        if (G->cuda) lane_by_lane(G, s);
        else vector_loop(G, s);
        break;
    default: scalar_loop(G, s);
    }
}

static void produce(Gen *G, const Stmt *s) {
    if (!s->u.produce.is_consume) {
        const char *stage = s->u.produce.stage ? fmt(G, ".u%d", s->u.produce.stage - 1) : "";
        line(G, "// %s%s", s->u.produce.func->name, stage);
    }
    if (G->cuda) {
        stmt(G, s->u.produce.body);
        return;
    }
    bool before = G->fn->streams;
    stream_begin(G, s);
    G->fn->streams = false;
    watch_produce(G, s);
    if (G->fn->streams) line(G, "__builtin_ia32_sfence();");
    if (s->u.produce.keep) line(G, "hooks->memo_keep(hooks->user, (void *)%s);", in_scope(G, s->u.produce.keep));
    G->fn->streams = before;
}

static const char *only_on_host(const Stmt *s) {
    switch (s->kind) {
    case ST_CHECK: return "a check of what it computes";
    case ST_FORK: case ST_TURN: return "an asynchronous Func";
    case ST_CALL: return "an extern stage";
    case ST_COUNT: return "a profiled or traced stage";
    case ST_PREFETCH: return "a prefetch";
    case ST_KERNEL: return "blocks inside of its blocks";
    case ST_MOVE: return "memory of the host";
    default: return s->kind == ST_FOR && s->u.loop.kind == LOOP_PARALLEL ? "a parallel loop" : NULL;
    }
}

void stmt(Gen *G, const Stmt *s) {
    if (!s) return;
    if (G->cuda && only_on_host(s)) refuse_on_gpu(G, only_on_host(s));
    if (G->vec) {
        vector_stmt(G, s);
        return;
    }
    switch (s->kind) {
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n; i++) stmt(G, s->u.block.at[i]);
        break;
    case ST_FOR: loop(G, s); break;
    case ST_LET: lets(G, s); break;
    case ST_IF: condition(G, s); break;
    case ST_STORE: case ST_EVAL: scalar_leaf(G, s); break;
    case ST_PREFETCH: prefetch(G, s); break;
    case ST_ALLOC: allocate(G, s); break;
    case ST_PRODUCE: produce(G, s); break;
    case ST_CHECK: check(G, s); break;
    case ST_FORK: fork_tasks(G, s); break;
    case ST_TURN: take_turn(G, s); break;
    case ST_CALL: whole_call(G, s); break;
    case ST_COUNT: watch_count(G, s); break;
    case ST_KERNEL: launch_kernel(G, s); break;
    case ST_BARRIER: line(G, "__syncthreads();"); break;
    case ST_COPIES: wait_copies(G, s->u.copies.pending); break;
    case ST_MOVE: move_memory(G, s); break;
    case ST_MMA: cuda_mma(G, s); break;
    }
}
