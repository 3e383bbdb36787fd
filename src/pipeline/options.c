/* options.c - every option with its default filled in, from the call, then the environment. */
#include "pipeline/pipeline.h"

#include "jit/jit.h"

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

CpuIsa pl_isa(Fault *f, const char *target, bool emit) {
    if (!strcmp(target, "host")) return emit ? ISA_AVX2 : jit_host_isa();
    for (int i = 0; i < ISAS; i++) {
        if (strcmp(isas[i].name, target)) continue;
        if (!emit && isas[i].isa > jit_host_isa()) fault_raise(f, ERR_TARGET_HERE, NULL, target);
        return isas[i].isa;
    }
    fault_raise(f, ERR_TARGET, NULL, target);
}

bool pl_is_cuda(const char *target) {
    return !strncmp(target, "cuda", 4) && (!target[4] || target[4] == '-');
}

/* "sm_90a": a number, and perhaps a letter for what no other architecture has.  NULL: that of the device. */
static const char *gpu_arch(Fault *f, const char *target) {
    const char *e = getenv("MLC_CUDA_ARCH"), *arch = target[4] ? target + 5 : e && *e ? e : NULL;
    if (!arch) return NULL;
    size_t n = strncmp(arch, "sm_", 3) ? 0 : strspn(arch + 3, "0123456789");
    const char *rest = arch + 3 + n;
    if (n < 2 || n > 3 || strspn(rest, "af") != strlen(rest) || strlen(rest) > 1) fault_raise(f, ERR_CUDA_ARCH, NULL, arch);
    return arch;
}

enum { SPANS = 1 << 18, MOST_SPANS = 1 << 30 };

/* The option, else the variable, else `other`; an empty variable counts as none. */
static const char *choose(const char *given, const char *variable, const char *other) {
    if (given && *given) return given;
    const char *e = variable ? getenv(variable) : NULL;
    return e && *e ? e : other;
}

static int threads(Fault *f, const mlc_options *o) {
    const char *s = choose(NULL, "MLC_NUM_THREADS", NULL);
    char *end;
    if (o->threads > 0) return o->threads;
    if (s && (strtol(s, &end, 10) < 1 || *end)) fault_raise(f, ERR_THREADS_VARIABLE, NULL, s);
    return rt_default_threads();
}

Options pl_options(Fault *f, const mlc_options *o) {
    static const mlc_options none = { 0 };
    if (!o) o = &none;
    const char *target = choose(o->target, "MLC_TARGET", "host");
    Options r = { .check = o->check, .no_cache = o->no_cache, .cc = choose(o->cc, "MLC_CC", NULL),
                  .cflags = choose(o->cflags, "MLC_CFLAGS", ""), .opt = o->opt,
                  .threads = threads(f, o) };
    r.profile = o->profile;
    r.trace = o->trace;
    r.most_spans = o->most_spans ? o->most_spans : SPANS;
    if (r.most_spans < 1 || r.most_spans > MOST_SPANS)
        fault_raise(f, ERR_MOST_SPANS, NULL, (long long)r.most_spans, (long long)MOST_SPANS);
    if (r.opt < 0 || r.opt > 3) fault_raise(f, ERR_OPT_LEVEL, NULL, r.opt);
    r.interpret = !strcmp(target, "interpret");
    if (r.interpret && (r.profile || r.trace)) fault_raise(f, ERR_WATCH_INTERPRET, NULL);
    r.cuda = pl_is_cuda(target);
    if (r.cuda) r.arch = gpu_arch(f, target);
    if (!r.interpret) r.isa = pl_isa(f, r.cuda ? "host" : target, false);
    r.native = r.cuda || !strcmp(target, "host");
    r.target = r.interpret ? "interpret" : r.cuda ? "cuda" : pl_isa_name(r.isa);
    return r;
}

int mlc_vector_bytes(const char *target) {
    Fault f = { 0 };
    Barrier b;
    volatile int bytes = 0;
    if (FAULT_TRY(&f, b)) {
        Options o = pl_options(&f, &(mlc_options){ .target = target });
        bytes = o.isa == ISA_AVX512 ? 64 : o.isa == ISA_AVX2 ? 32 : 16;
        FAULT_END(&f, b);
    }
    return bytes;
}
