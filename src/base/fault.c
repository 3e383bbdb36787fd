/* fault.c - recording an error and leaving for the innermost barrier. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *format;
} rows[] = {
    [ERR_NONE] = { "NONE", "no error" },
#define ERR(name, format) [ERR_##name] = { #name, format },
#include "errors.def"
#undef ERR
};

const char *err_name(ErrCode code) {
    return code < ERR_COUNT ? rows[code].name : "UNKNOWN";
}

const char *err_format(ErrCode code) {
    return code < ERR_COUNT ? rows[code].format : "";
}

const char *mlc_error_name(int code) {
    return code >= 0 && code < ERR_COUNT ? rows[code].name : "UNKNOWN";
}

const char *mlc_version(void) {
    return MLC_VERSION;
}

/* Appends printf output at `at`, never past the buffer; returns the new length. */
static size_t append(char *buf, size_t size, size_t at, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = at < size ? vsnprintf(buf + at, size - at, format, ap) : 0;
    va_end(ap);
    at += n > 0 ? (size_t)n : 0;
    return at < size ? at : size - 1;
}

void fault_vnote(Fault *f, ErrCode code, const Place *place, va_list ap) {
    if (f->info.code && !f->passing) return; /* the first error is the cause; later ones are its echoes */
    f->passing = false;
    char *buf = f->info.message;
    size_t size = sizeof f->info.message, at = 0;
    f->info.code = (int)code;
    buf[0] = 0;
    if (place) {
        if (place->loc.file) {
            const char *slash = strrchr(place->loc.file, '/');
            at = append(buf, size, at, "%s:%d: ", slash ? slash + 1 : place->loc.file, place->loc.line);
        }
        if (place->object) at = append(buf, size, at, "%s: ", place->object);
        if (place->directive) at = append(buf, size, at, "%s: ", place->directive);
    }
    vsnprintf(buf + at, size - at, err_format(code), ap);
}

bool fault_call_begin(Fault *f) {
    if (f->passing) {
        f->info.code = ERR_NONE;
        f->info.message[0] = 0;
        f->passing = false;
    }
    return !f->info.code;
}

void fault_call_end(Fault *f, bool began) {
    if (began) f->passing = f->info.code != ERR_NONE;
}

void fault_note(Fault *f, ErrCode code, const Place *place, ...) {
    va_list ap;
    va_start(ap, place);
    fault_vnote(f, code, place, ap);
    va_end(ap);
}

_Noreturn void fault_jump(Fault *f) {
    Barrier *b = f->barrier;
    if (!b) abort(); /* a public entry point without a barrier: cannot be reached by a user */
    f->barrier = b->up;
    longjmp(b->env, 1);
}

_Noreturn void fault_raise(Fault *f, ErrCode code, const Place *place, ...) {
    va_list ap;
    va_start(ap, place);
    fault_vnote(f, code, place, ap);
    va_end(ap);
    fault_jump(f);
}
