/* options.c - every option with its default filled in, from the call, then the environment. */
#include "pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    CpuIsa isa;
} isas[] = { { "plain", ISA_PLAIN }, { "sse4", ISA_SSE4 }, { "avx2", ISA_AVX2 }, { "avx512", ISA_AVX512 } };

enum { ISAS = (int)(sizeof isas / sizeof *isas) };

const char *pl_isa_name(CpuIsa isa) {
    return isas[isa].name;
}

bool pl_host_runs(CpuIsa isa) {
#if defined __x86_64__
    switch (isa) {
    case ISA_PLAIN: return true;
    case ISA_SSE4: return __builtin_cpu_supports("sse4.2");
    case ISA_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
    }
#endif
    return isa == ISA_PLAIN;
}

CpuIsa pl_isa(Fault *f, const char *target, bool emit) {
    if (!strcmp(target, "host")) {
        if (emit) return ISA_AVX2;
        CpuIsa best = ISA_PLAIN;
        for (int i = 0; i < ISAS; i++)
            if (pl_host_runs(isas[i].isa)) best = isas[i].isa;
        return best;
    }
    for (int i = 0; i < ISAS; i++) {
        if (strcmp(isas[i].name, target)) continue;
        if (!emit && !pl_host_runs(isas[i].isa)) fault_raise(f, ERR_TARGET_HERE, NULL, target);
        return isas[i].isa;
    }
    fault_raise(f, ERR_TARGET, NULL, target);
}

/* The option, else the variable, else `other`; an empty variable counts as none. */
static const char *choose(const char *given, const char *variable, const char *other) {
    if (given && *given) return given;
    const char *e = variable ? getenv(variable) : NULL;
    return e && *e ? e : other;
}

Options pl_options(Fault *f, const mlc_options *o) {
    static const mlc_options none = { 0 };
    if (!o) o = &none;
    const char *target = choose(o->target, "MLC_TARGET", "host");
    Options r = { .check = o->check, .no_cache = o->no_cache, .cc = choose(o->cc, "MLC_CC", NULL),
                  .cflags = choose(o->cflags, "MLC_CFLAGS", ""), .opt = o->opt ? o->opt : 2,
                  .threads = o->threads > 0 ? o->threads : rt_default_threads() };
    if (r.opt < 1 || r.opt > 3) fault_raise(f, ERR_OPT_LEVEL, NULL, r.opt);
    r.interpret = !strcmp(target, "interpret");
    if (!r.interpret) r.isa = pl_isa(f, target, false);
    r.target = r.interpret ? "interpret" : pl_isa_name(r.isa);
    return r;
}
