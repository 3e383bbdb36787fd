/* function.c - a plain, typed C function over a module, through a libffi closure.
 *
 * The signature is parsed once into a list of arguments; a call makes buffers and params of the C values
 * on its own stack, so any number of threads may call one function. */
#include "pipeline/pipeline.h"

#include <ctype.h>
#include <ffi.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 64 };

typedef enum { ARG_ARRAY, ARG_BUFFER, ARG_SCALAR } ArgKind;

typedef struct {
    ArgKind kind;
    mlc_type type;
    int slot;               /* array, buffer */
    int n;                  /* extents written; -1: none */
    int64_t extent[MAX_RANK];
    const char *size[MAX_RANK]; /* name of the scalar that gives it, or NULL */
    int size_arg[MAX_RANK];     /* its argument */
    const char *name;       /* scalar, or NULL */
    int param;              /* scalar: the module's param, -1: a size only */
} Arg;

typedef struct Closure {
    struct Closure *next;
    mlc_module *module;
    ffi_closure *closure;
    void *code;
    ffi_cif cif;
    ffi_type *ffi[MAX_ARGS];
    int n;
    Arg arg[MAX_ARGS];
    bool is_void;
} Closure;

/* ---- the signature ---- */

typedef struct {
    Arena *arena;
    Fault *fault;
    const char *at;
    const Meta *meta;
    Closure *c;
    int slots, params;
} Sig;

static _Noreturn void bad(const Sig *s, const char *why) {
    fault_raise(s->fault, ERR_SIGNATURE, NULL, *s->at ? s->at : "the end", why);
}

static void skip(Sig *s) {
    while (isspace((unsigned char)*s->at) || *s->at == ',') s->at++;
}

static bool accept(Sig *s, const char *token) {
    skip(s);
    size_t n = strlen(token);
    if (strncmp(s->at, token, n)) return false;
    s->at += n;
    return true;
}

static const char *word(Sig *s) {
    skip(s);
    const char *from = s->at;
    if (!isalpha((unsigned char)*from) && *from != '_') return NULL;
    while (isalnum((unsigned char)*s->at) || *s->at == '_') s->at++;
    char *w = arena_alloc(s->arena, (size_t)(s->at - from) + 1);
    memcpy(w, from, (size_t)(s->at - from));
    return w;
}

static void parse_extents(Sig *s, Arg *a) {
    a->n = 0;
    while (!accept(s, "]")) {
        if (a->n == MAX_RANK) bad(s, "an array has at most 8 extents");
        char *end;
        skip(s);
        long long v = strtoll(s->at, &end, 10);
        if (end != s->at) {
            if (v < 0) bad(s, "an extent is not negative");
            a->extent[a->n] = v;
            s->at = end;
        } else {
            a->size[a->n] = word(s);
            if (!a->size[a->n]) bad(s, "an extent is a number or the name of a scalar argument");
        }
        a->n++;
    }
}

static void take_slot(Sig *s, Arg *a) {
    if (s->slots == s->meta->n_slots) bad(s, "there are more arrays than the module has buffers");
    a->slot = s->slots++;
}

/* Where nothing is written, every extent must be fixed by the program. */
static void check_array(Sig *s, Arg *a) {
    const MetaSlot *slot = &s->meta->slot[a->slot];
    if (slot->type != a->type) bad(s, arena_printf(s->arena, "buffer %s holds %s", slot->name, mlc_type_name(slot->type)));
    if (a->n >= 0 && a->n != slot->rank)
        bad(s, arena_printf(s->arena, "buffer %s has %d dimensions", slot->name, slot->rank));
    for (int d = 0; a->n < 0 && d < slot->rank; d++) {
        if (!slot->has_extent[d])
            bad(s, arena_printf(s->arena, "nothing fixes the extents of %s; write them in brackets", slot->name));
        a->extent[d] = slot->extent[d];
    }
    a->n = slot->rank;
}

static void parse_arg(Sig *s) {
    if (s->c->n == MAX_ARGS) bad(s, "a function has at most 64 arguments");
    Arg *a = &s->c->arg[s->c->n++];
    *a = (Arg){ .n = -1, .param = -1 };
    const char *w = word(s);
    if (!w) bad(s, "a type is wanted");
    if (!strcmp(w, "buffer")) {
        a->kind = ARG_BUFFER;
        take_slot(s, a);
        accept(s, "*");
        return;
    }
    a->type = ty_from_name(w);
    if (a->type == MLC_VOID) bad(s, arena_printf(s->arena, "'%s' is no type", w));
    if (accept(s, "*")) {
        a->kind = ARG_ARRAY;
        take_slot(s, a);
        if (accept(s, "[")) parse_extents(s, a);
        check_array(s, a);
        return;
    }
    a->kind = ARG_SCALAR;
    if (ty_is_half(a->type)) bad(s, "C has no such scalar; use f32");
    const char *before = s->at, *name = word(s);
    if (name && (ty_from_name(name) != MLC_VOID || !strcmp(name, "buffer"))) { /* the next argument's type */
        s->at = before;
        name = NULL;
    }
    a->name = name;
}

static int find_param(const Meta *m, const char *name) {
    for (int i = 0; i < m->n_params; i++)
        if (!strcmp(m->param[i].name, name)) return i;
    return -1;
}

/* Scalars become params by name, then unnamed ones by order; sizes find their scalars. */
static void match(Sig *s) {
    bool *used = ARENA_ARRAY(s->arena, bool, s->meta->n_params + 1);
    int next = 0, found = 0;
    for (int i = 0; i < s->c->n; i++) {
        Arg *a = &s->c->arg[i];
        if (a->kind != ARG_SCALAR || !a->name) continue;
        a->param = find_param(s->meta, a->name);
        if (a->param >= 0) used[a->param] = true;
    }
    for (int i = 0; i < s->c->n; i++) {
        Arg *a = &s->c->arg[i];
        if (a->kind != ARG_SCALAR || a->name) continue;
        while (next < s->meta->n_params && used[next]) next++;
        if (next == s->meta->n_params) bad(s, "there are more unnamed scalars than the module has params");
        used[next] = true;
        a->param = next;
    }
    for (int i = 0; i < s->meta->n_params; i++) found += used[i];
    if (found != s->meta->n_params) {
        for (int i = 0; i < s->meta->n_params; i++)
            if (!used[i]) bad(s, arena_printf(s->arena, "param %s is missing", s->meta->param[i].name));
    }
    for (int i = 0; i < s->c->n; i++) {
        Arg *a = &s->c->arg[i];
        for (int d = 0; a->kind == ARG_ARRAY && d < a->n; d++) {
            if (!a->size[d]) continue;
            a->size_arg[d] = -1;
            for (int k = 0; k < s->c->n; k++)
                if (s->c->arg[k].kind == ARG_SCALAR && s->c->arg[k].name && !strcmp(s->c->arg[k].name, a->size[d]))
                    a->size_arg[d] = k;
            if (a->size_arg[d] < 0 || ty_is_float(s->c->arg[a->size_arg[d]].type))
                bad(s, arena_printf(s->arena, "there is no integer argument named %s", a->size[d]));
        }
    }
}

static void parse(Sig *s) {
    while (!accept(s, "->")) {
        skip(s);
        if (!*s->at) bad(s, "-> and a result are wanted");
        parse_arg(s);
    }
    const char *result = word(s);
    if (!result || (strcmp(result, "i32") && strcmp(result, "void"))) bad(s, "the result is i32 or void");
    s->c->is_void = !strcmp(result, "void");
    skip(s);
    if (*s->at) bad(s, "nothing may follow the result");
    if (s->slots != s->meta->n_slots)
        bad(s, arena_printf(s->arena, "buffer %s is missing", s->meta->slot[s->slots].name));
    match(s);
}

/* ---- the call ---- */

static int64_t int_arg(mlc_type t, const void *p) {
    return val_load(t == MLC_INDEX ? MLC_I64 : t, p).i;
}

static void trampoline(ffi_cif *cif, void *result, void **args, void *user) {
    Closure *c = user;
    (void)cif;
    mlc_buffer made[MAX_ARGS], *b[MAX_ARGS];
    mlc_scalar params[MAX_ARGS] = { { 0 } };
    for (int i = 0; i < c->n; i++) {
        const Arg *a = &c->arg[i];
        if (a->kind == ARG_BUFFER) {
            b[a->slot] = *(mlc_buffer **)args[i];
        } else if (a->kind == ARG_ARRAY) {
            int64_t extent[MAX_RANK];
            for (int d = 0; d < a->n; d++)
                extent[d] = a->size[d] ? int_arg(c->arg[a->size_arg[d]].type, args[a->size_arg[d]]) : a->extent[d];
            b[a->slot] = mlc_buffer_wrap(&made[i], *(void **)args[i], a->type, a->n, extent);
        } else if (a->param >= 0) {
            /* An integer goes to a float param as a number, and the reverse is refused by the check of its type. */
            bool to_float = ty_is_float(c->module->meta.param[a->param].type), from_float = ty_is_float(a->type);
            double f = from_float ? val_load(a->type, args[i]).f : (double)int_arg(a->type, args[i]);
            if (to_float) params[a->param].f = f;
            else params[a->param].i = from_float ? (int64_t)f : int_arg(a->type, args[i]);
        }
    }
    int r = mlc_run(c->module, c->module->meta.n_slots, b, c->module->meta.n_params, params, NULL);
    if (!c->is_void) *(ffi_arg *)result = (ffi_arg)r;
}

static ffi_type *ffi_of(const Arg *a) {
    if (a->kind != ARG_SCALAR) return &ffi_type_pointer;
    switch (a->type) {
    case MLC_BOOL:
    case MLC_U8: return &ffi_type_uint8;
    case MLC_I8: return &ffi_type_sint8;
    case MLC_I16: return &ffi_type_sint16;
    case MLC_U16: return &ffi_type_uint16;
    case MLC_I32: return &ffi_type_sint32;
    case MLC_U32: return &ffi_type_uint32;
    case MLC_U64: return &ffi_type_uint64;
    case MLC_F32: return &ffi_type_float;
    case MLC_F64: return &ffi_type_double;
    default: return &ffi_type_sint64;
    }
}

static mlc_fn make_closure(mlc_module *m, Closure *c, Fault *f) {
    for (int i = 0; i < c->n; i++) c->ffi[i] = ffi_of(&c->arg[i]);
    ffi_type *result = c->is_void ? &ffi_type_void : &ffi_type_sint32;
    c->closure = ffi_closure_alloc(sizeof *c->closure, &c->code);
    if (!c->closure) fault_raise(f, ERR_CLOSURE, NULL);
    c->module = m;
    c->next = m->closures;
    m->closures = c;
    if (ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, (unsigned)c->n, result, c->ffi) != FFI_OK ||
        ffi_prep_closure_loc(c->closure, &c->cif, trampoline, c, c->code) != FFI_OK)
        fault_raise(f, ERR_CLOSURE, NULL);
    mlc_fn fn;
    memcpy(&fn, &c->code, sizeof fn);
    return fn;
}

static mlc_fn function(mlc_module *m, const char *signature, Fault *f) {
    Closure *c = ARENA_NEW(&m->arena, Closure);
    Sig s = { .arena = &m->arena, .fault = f, .at = signature ? signature : "", .meta = &m->meta, .c = c };
    parse(&s);
    return make_closure(m, c, f);
}

mlc_fn mlc_function(mlc_module *m, const char *signature, mlc_error_info *error) {
    Fault f = { 0 };
    Barrier b;
    volatile mlc_fn fn = NULL;
    if (!m) {
        fault_note(&f, ERR_NO_MODULE, NULL);
        pl_give_error(error, &f);
        return NULL;
    }
    module_enter(m, &f);
    if (FAULT_TRY(&f, b)) {
        fn = function(m, signature, &f);
        FAULT_END(&f, b);
    }
    module_leave(m);
    pl_give_error(error, &f);
    return fn;
}

void closures_free(Closure *list) {
    for (; list; list = list->next) ffi_closure_free(list->closure);
}
