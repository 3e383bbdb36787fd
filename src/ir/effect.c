/* effect.c - C functions called through libffi, and the text of print. */
#include "effect.h"

#include <ffi.h>
#include <inttypes.h>
#include <stdio.h>

struct ExternCall {
    const Extern *ext;
    ffi_cif cif;
    ffi_type *type[8];
};

static ffi_type *ffi_of(mlc_type t) {
    switch (t) {
    case MLC_BOOL: case MLC_U8: return &ffi_type_uint8;
    case MLC_I8: return &ffi_type_sint8;
    case MLC_I16: return &ffi_type_sint16;
    case MLC_I32: return &ffi_type_sint32;
    case MLC_U16: return &ffi_type_uint16;
    case MLC_U32: return &ffi_type_uint32;
    case MLC_U64: return &ffi_type_uint64;
    case MLC_F32: return &ffi_type_float;
    case MLC_F64: return &ffi_type_double;
    case MLC_I64: case MLC_INDEX: return &ffi_type_sint64;
    default: return NULL; /* halves have no portable C type */
    }
}

ExternCall *effect_prepare(Arena *a, const Extern *ext) {
    ExternCall *c = ARENA_NEW(a, ExternCall);
    c->ext = ext;
    for (int i = 0; i < ext->n; i++) CHECK(a->fault, (c->type[i] = ffi_of(ext->arg[i])) != NULL);
    ffi_type *result = ffi_of(ext->result);
    CHECK(a->fault, result != NULL);
    CHECK(a->fault, ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, (unsigned)ext->n, result, c->type) == FFI_OK);
    return c;
}

typedef union { /* libffi returns small integers widened to a word */
    ffi_arg word;
    int64_t i;
    unsigned char bytes[16];
} Cell;

unsigned effect_mode(unsigned mode) {
#ifdef __x86_64__
    unsigned old = __builtin_ia32_stmxcsr();
    if (mode && old != mode) __builtin_ia32_ldmxcsr(mode);
    return old;
#else
    return mode;
#endif
}

Value effect_call(const ExternCall *c, const Value *arg, unsigned mode) {
    Cell cell[8] = { 0 }, result = { 0 };
    void *at[8];
    for (int k = 0; k < c->ext->n; k++) {
        val_store(c->ext->arg[k], cell[k].bytes, arg[k]);
        at[k] = &cell[k];
    }
    ffi_cif cif = c->cif; /* ffi_call takes it without const */
    unsigned own = effect_mode(mode);
    ffi_call(&cif, c->ext->fn, &result, at);
    effect_mode(own);
    mlc_type t = c->ext->result;
    if (ty_is_float(t)) return val_load(t, result.bytes);
    return val_wrap(t, t == MLC_BOOL ? (int64_t)(result.word & 0xff) : result.i);
}

void effect_print(StrBuf *line, mlc_type t, Value v) {
    if (line->n) sb_puts(line, " ");
    if (t == MLC_BOOL) sb_puts(line, v.i ? "true" : "false");
    else if (t == MLC_U64) sb_printf(line, "%" PRIu64, (uint64_t)v.i);
    else if (!ty_is_float(t)) sb_printf(line, "%" PRId64, v.i);
    else sb_printf(line, "%.*g", t == MLC_F64 ? 17 : 9, v.f);
}

void effect_emit(const StrBuf *line, mlc_log_fn log, void *user, unsigned mode) {
    const char *text = line->at ? line->at : "";
    unsigned own = effect_mode(mode);
    if (log) log(user, text);
    else fprintf(stderr, "%s\n", text);
    effect_mode(own);
}
