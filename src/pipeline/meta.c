/* meta.c - what a module needs besides its code, and its form on disk.
 *
 * The stored form is a sequence of numbers and length-prefixed strings; a reader that runs past the
 * end fails as a whole. */
#include "pipeline/pipeline.h"

#include <string.h>

enum { MAGIC = 0x4d4c4334 };

/* ---- from a program ---- */

typedef struct {
    Arena *arena;
    PtrMap seen;
    VEC(const Sym *) found;
} Params;

static void note_param(void *user, const Node *e) {
    Params *p = user;
    if (e->op != OP_VAR || e->u.sym->kind != SYM_PARAM || pm_has(&p->seen, e->u.sym)) return;
    pm_put(&p->seen, e->u.sym, p);
    VEC_PUSH(p->arena, &p->found, e->u.sym);
}

static void note_conditions(Params *p, const StageSched *st) {
    for (int i = 0; i < st->special.n; i++) {
        ir_visit(p->arena, st->special.at[i].cond, note_param, p);
        note_conditions(p, st->special.at[i].sched);
    }
}

const Sym *const *meta_params_used(Arena *a, const Schedule *s, int *n) {
    Params p = { .arena = a };
    pm_init(&p.seen, a);
    for (int i = 0; i < s->order.n; i++) {
        for (int k = 0; k < s->order.at[i]->def.n; k++) {
            const Def *d = s->order.at[i]->def.at[k];
            for (int j = 0; j < d->rank; j++) ir_visit(a, d->coord[j], note_param, &p);
            for (int j = 0; j < d->n; j++) ir_visit(a, d->value[j], note_param, &p);
            for (int j = 0; d->rdom && j < d->rdom->n; j++) {
                ir_visit(a, d->rdom->min[j], note_param, &p);
                ir_visit(a, d->rdom->extent[j], note_param, &p);
            }
            for (int j = 0; d->rdom && j < d->rdom->where_canon.n; j++)
                ir_visit(a, d->rdom->where_canon.at[j], note_param, &p);
        }
    }
    for (int i = 0; i < s->order.n; i++) {
        const FuncSched *fs = pm_get(&s->sched, s->order.at[i]);
        for (int k = 0; fs && k < fs->stage.n; k++) note_conditions(&p, &fs->stage.at[k]);
        if (fs && fs->memo_key) ir_visit(a, fs->memo_key, note_param, &p);
    }
    for (int i = 1; i < p.found.n; i++) { /* in the order of their declaration */
        const Sym *v = p.found.at[i];
        int j = i;
        for (; j > 0 && p.found.at[j - 1]->slot > v->slot; j--) p.found.at[j] = p.found.at[j - 1];
        p.found.at[j] = v;
    }
    *n = p.found.n;
    return p.found.at;
}

static void add_slot(Arena *a, Meta *m, const Func *f, int element, const FuncSched *fs) {
    MetaSlot *s = &m->slot[m->n_slots++];
    *s = (MetaSlot){ .name = arena_str(a, f->name), .type = f->type[element], .rank = f->rank, .element = element,
                     .is_output = !f->is_input };
    for (int d = 0; d < f->rank; d++) {
        int64_t v;
        if (fs && fs->bound[d].extent && ir_is_int(fs->bound[d].extent, &v)) {
            s->has_extent[d] = true;
            s->extent[d] = v;
        }
        if (f->dim[d].has_extent) {
            s->has_extent[d] = true;
            s->extent[d] = f->dim[d].extent;
        }
    }
}

static mlc_scalar scalar_of(const Value *v, mlc_type t) {
    return ty_is_float(t) ? (mlc_scalar){ .f = v->f } : (mlc_scalar){ .i = v->i };
}

void meta_of_schedule(Arena *a, const Schedule *s, const Sym *const *param, int n_params, Meta *m) {
    memset(m, 0, sizeof *m);
    m->index_bits = MOST_INDEX_BITS;
    m->warned = s->warned;
    int most = s->n_outputs * MAX_TUPLE;
    for (int i = 0; i < s->order.n; i++) most += s->order.at[i]->is_input;
    m->slot = ARENA_ARRAY(a, MetaSlot, most);
    for (int i = 0; i < s->order.n; i++)
        if (s->order.at[i]->is_input) add_slot(a, m, s->order.at[i], 0, NULL);
    for (int i = 0; i < s->n_outputs; i++)
        for (int k = 0; k < s->output[i]->n; k++) add_slot(a, m, s->output[i], k, pm_get(&s->sched, s->output[i]));
    m->param = ARENA_ARRAY(a, MetaParam, n_params + 1);
    m->n_params = n_params;
    for (int i = 0; i < n_params; i++) {
        const Sym *y = param[i];
        MetaParam *p = &m->param[i];
        *p = (MetaParam){ .name = arena_str(a, y->name), .type = y->type, .at = y->slot, .has_range = y->has_range };
        p->lo = ty_is_float(y->type) ? (mlc_scalar){ .f = y->lo } : (mlc_scalar){ .i = y->ilo };
        p->hi = ty_is_float(y->type) ? (mlc_scalar){ .f = y->hi } : (mlc_scalar){ .i = y->ihi };
    }
}

/* The values that the context holds now. */
void meta_take_values(Meta *m, mlc_ctx *ctx) {
    for (int i = 0; i < m->n_params; i++) {
        const Named *n = sm_get(&ctx->names, m->param[i].name);
        const Value *v = n && n->kind == NAME_PARAM ? pm_get(&ctx->param_value, n->u.param) : NULL;
        m->param[i].has_value = v != NULL;
        if (v) m->param[i].value = scalar_of(v, m->param[i].type);
    }
}

/* ---- stored ---- */

static void put_int(StrBuf *b, int64_t v) {
    sb_putn(b, (const char *)&v, sizeof v);
}

static void put_str(StrBuf *b, const char *s) {
    put_int(b, s ? (int64_t)strlen(s) : -1);
    if (s) sb_puts(b, s);
}

void meta_write(StrBuf *out, const Meta *m) {
    put_int(out, MAGIC);
    put_int(out, m->index_bits);
    put_int(out, m->warned);
    put_int(out, m->n_slots);
    for (int i = 0; i < m->n_slots; i++) {
        const MetaSlot *s = &m->slot[i];
        put_str(out, s->name);
        put_int(out, s->type);
        put_int(out, s->rank);
        put_int(out, s->element);
        put_int(out, s->is_output);
        put_int(out, s->on_device);
        for (int d = 0; d < s->rank; d++) {
            put_int(out, s->has_extent[d]);
            put_int(out, s->extent[d]);
        }
    }
    put_int(out, m->n_params);
    for (int i = 0; i < m->n_params; i++) {
        put_str(out, m->param[i].name);
        put_int(out, m->param[i].type);
        put_int(out, m->param[i].at);
        put_int(out, m->param[i].has_range);
        put_int(out, m->param[i].lo.i);
        put_int(out, m->param[i].hi.i);
    }
    for (int v = 0; v < VARIANTS; v++) put_str(out, m->source[v]);
    put_int(out, m->n_kernels);
    for (int i = 0; i < m->n_kernels; i++) {
        put_str(out, m->kernel[i]);
        put_int(out, m->keeps[i]);
    }
    for (int v = 0; v < VARIANTS; v++) put_str(out, m->cuda[v]);
}

typedef struct {
    Arena *arena;
    const char *at, *end;
    bool bad;
} Reader;

static int64_t get_int(Reader *r, int64_t lo, int64_t hi) {
    int64_t v = 0;
    if (r->end - r->at < (ptrdiff_t)sizeof v) r->bad = true;
    else {
        memcpy(&v, r->at, sizeof v);
        r->at += sizeof v;
    }
    if (v < lo || v > hi) r->bad = true;
    return r->bad ? lo : v;
}

static const char *get_str(Reader *r) {
    int64_t n = get_int(r, -1, r->end - r->at);
    if (r->bad || n < 0 || n > r->end - r->at) {
        r->bad = r->bad || n >= 0;
        return NULL;
    }
    char *s = arena_alloc(r->arena, (size_t)n + 1);
    memcpy(s, r->at, (size_t)n);
    r->at += n;
    return s;
}

static void get_slot(Reader *r, MetaSlot *s) {
    s->name = get_str(r);
    s->type = (mlc_type)get_int(r, MLC_BOOL, MLC_F64);
    s->rank = (int)get_int(r, 0, MAX_RANK);
    s->element = (int)get_int(r, 0, MAX_TUPLE - 1);
    s->is_output = get_int(r, 0, 1);
    s->on_device = get_int(r, 0, 1);
    for (int d = 0; d < s->rank; d++) {
        s->has_extent[d] = get_int(r, 0, 1);
        s->extent[d] = get_int(r, 0, INT64_MAX);
    }
    if (!s->name) r->bad = true;
}

static void get_param(Reader *r, MetaParam *p) {
    p->name = get_str(r);
    p->type = (mlc_type)get_int(r, MLC_BOOL, MLC_INDEX);
    p->at = (int)get_int(r, 0, 1 << 20);
    p->has_range = get_int(r, 0, 1);
    p->lo.i = get_int(r, INT64_MIN, INT64_MAX);
    p->hi.i = get_int(r, INT64_MIN, INT64_MAX);
    if (!p->name) r->bad = true;
}

static void get_kernels(Reader *r, Meta *m) {
    m->n_kernels = (int)get_int(r, 0, 1 << 20);
    m->kernel = ARENA_ARRAY(r->arena, const char *, r->bad ? 1 : m->n_kernels + 1);
    m->keeps = ARENA_ARRAY(r->arena, bool, r->bad ? 1 : m->n_kernels + 1);
    for (int i = 0; i < m->n_kernels && !r->bad; i++) {
        if (!(m->kernel[i] = get_str(r))) r->bad = true;
        m->keeps[i] = get_int(r, 0, 1);
    }
    for (int v = 0; v < VARIANTS && !r->bad; v++) m->cuda[v] = get_str(r);
}

bool meta_read(Arena *a, const char *bytes, size_t n, Meta *m) {
    Reader r = { .arena = a, .at = bytes, .end = bytes + n };
    memset(m, 0, sizeof *m);
    get_int(&r, MAGIC, MAGIC);
    m->index_bits = (int)get_int(&r, 0, MOST_INDEX_BITS);
    m->warned = get_int(&r, 0, 1);
    m->n_slots = (int)get_int(&r, 0, 1 << 20);
    m->slot = ARENA_ARRAY(a, MetaSlot, r.bad ? 1 : m->n_slots + 1);
    for (int i = 0; i < m->n_slots && !r.bad; i++) get_slot(&r, &m->slot[i]);
    m->n_params = (int)get_int(&r, 0, 1 << 20);
    m->param = ARENA_ARRAY(a, MetaParam, r.bad ? 1 : m->n_params + 1);
    for (int i = 0; i < m->n_params && !r.bad; i++) get_param(&r, &m->param[i]);
    for (int v = 0; v < VARIANTS && !r.bad; v++) m->source[v] = get_str(&r);
    get_kernels(&r, m);
    return !r.bad && r.at == r.end;
}
