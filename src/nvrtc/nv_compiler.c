/* nv_compiler.c - NVRTC, loaded when it is needed: CUDA C++ in, a cubin and what ptxas says of it out.
 *
 * No header of the toolkit is used: the few functions stand in nvrtc_functions with the signatures that have been the same
 * since CUDA 11.  The library stays mapped once it is loaded (RTLD_NODELETE): it is 100 MB, slow to start, and has threads
 * and handlers of its own that outlive a handle. */
#include "nvrtc/nvrtc_priv.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct NvrtcProgram *Program;

#define NVRTC_FUNCTIONS(F)                                                                                                 \
    F(int, Version, (int *major, int *minor))                                                                              \
    F(const char *, GetErrorString, (int result))                                                                          \
    F(int, GetNumSupportedArchs, (int *n))                                                                                 \
    F(int, GetSupportedArchs, (int *archs))                                                                                \
    F(int, CreateProgram, (Program * prog, const char *src, const char *name, int n, const char *const *headers, const char *const *names)) \
    F(int, DestroyProgram, (Program * prog))                                                                               \
    F(int, CompileProgram, (Program prog, int n, const char *const *options))                                              \
    F(int, GetCUBINSize, (Program prog, size_t *n))                                                                        \
    F(int, GetCUBIN, (Program prog, char *cubin))                                                                          \
    F(int, GetPTXSize, (Program prog, size_t *n))                                                                          \
    F(int, GetPTX, (Program prog, char *ptx))                                                                              \
    F(int, GetProgramLogSize, (Program prog, size_t *n))                                                                   \
    F(int, GetProgramLog, (Program prog, char *log))

struct NvCompiler {
    mlc_allocator hook;
    void *library;
    char *identity;
#define F(result, name, args) result(*name) args;
    NVRTC_FUNCTIONS(F)
#undef F
};

/* ---- finding it ---- */

/* True when the library at `path` is NVRTC; else closed again. */
static bool load(NvCompiler *c, const char *path) {
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool good = c->library != NULL;
#define F(result, name, args) good = good && (*(void **)&c->name = dlsym(c->library, "nvrtc" #name)) != NULL;
    NVRTC_FUNCTIONS(F)
#undef F
    if (good) return true;
    if (c->library) dlclose(c->library);
    c->library = NULL;
    return false;
}

static bool take(void *c, const char *path) {
    return load(c, path);
}

static bool find(NvCompiler *c, Arena *a, StrBuf *looked) {
    const char *own = getenv("MLC_NVRTC");
    if (own && *own) { /* the one that is asked for, or none */
        if (load(c, own)) return true;
        const char *why = dlerror();
        sb_printf(looked, "MLC_NVRTC is %s: %s", own, why ? why : "no NVRTC");
        return false;
    }
    sb_puts(looked, "looked for libnvrtc.so.13, libnvrtc.so.12");
    if (load(c, "libnvrtc.so.13") || load(c, "libnvrtc.so.12")) return true;
    const NvSearch s = { take, c, "lib*/libnvrtc.so.1[23]", "cuda_nvrtc", "lib/libnvrtc.so.1[23]" };
    return nv_search(&s, a, looked);
}

/* Path, version and file: whatever may change what it compiles to. */
static const char *describe(const NvCompiler *c, Arena *a) {
    int major = 0, minor = 0;
    Dl_info info = { 0 };
    struct stat st = { 0 };
    c->Version(&major, &minor);
    if (!dladdr(*(void *const *)&c->CompileProgram, &info) || !info.dli_fname) info.dli_fname = "libnvrtc";
    if (stat(info.dli_fname, &st)) return arena_printf(a, "NVRTC %d.%d %s", major, minor, info.dli_fname);
    return arena_printf(a, "NVRTC %d.%d %s %llu %lld.%09ld %lld", major, minor, info.dli_fname, (unsigned long long)st.st_ino,
                        (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size);
}

static void open_in(NvCompiler *c, Arena *a) {
    StrBuf looked;
    sb_init(&looked, a);
    if (!find(c, a, &looked)) fault_raise(a->fault, ERR_NVRTC_MISSING, NULL, looked.at);
    const char *identity = describe(c, a);
    size_t n = strlen(identity) + 1;
    c->identity = c->hook.resize(c->hook.user, NULL, n);
    if (!c->identity) fault_raise(a->fault, ERR_OUT_OF_MEMORY, NULL, n);
    memcpy(c->identity, identity, n);
}

NvCompiler *nv_compiler_open(const mlc_allocator *hook, Fault *f) {
    mlc_allocator h = hook ? *hook : mlc_allocator_libc;
    NvCompiler *c = h.resize(h.user, NULL, sizeof *c);
    if (!c) fault_raise(f, ERR_OUT_OF_MEMORY, NULL, sizeof *c);
    *c = (NvCompiler){ .hook = h };
    Arena a;
    Barrier b;
    arena_init(&a, &h, f);
    if (FAULT_TRY(f, b)) {
        open_in(c, &a);
        FAULT_END(f, b);
        arena_free(&a);
        return c;
    }
    arena_free(&a);
    nv_compiler_close(c);
    fault_jump(f);
}

void nv_compiler_close(NvCompiler *c) {
    if (!c) return;
    if (c->library) dlclose(c->library);
    if (c->identity) c->hook.resize(c->hook.user, c->identity, 0);
    c->hook.resize(c->hook.user, c, 0);
}

const char *nv_compiler_identity(const NvCompiler *c) {
    return c->identity;
}

/* ---- compiling ---- */

/* What the values of a program ask for is said, although it is the default: no contraction (fma is formed once, in the
 * canonical form), denormals kept, division and square root rounded correctly. */
static const char *const always[] = { "--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true",
                                      "--ptxas-options=-v" };
enum { ALWAYS = (int)(sizeof always / sizeof *always), MOST_FLAGS = ALWAYS + 2 };

static int list_flags(Arena *a, const NvOptions *o, const char *list[MOST_FLAGS]) {
    int n = 0;
    list[n++] = arena_printf(a, "--gpu-architecture=%s", o->arch);
    for (int i = 0; i < ALWAYS; i++) list[n++] = always[i];
    if (o->line_info) list[n++] = "-lineinfo";
    return n;
}

bool nv_is_virtual(const char *arch) {
    return !strncmp(arch, "compute_", 8);
}

const char *nv_flags(Arena *a, const NvOptions *o) {
    const char *list[MOST_FLAGS];
    int n = list_flags(a, o, list);
    StrBuf b;
    sb_init(&b, a);
    for (int i = 0; i < n; i++) sb_printf(&b, "%s%s", i ? " " : "", list[i]);
    return b.at;
}

const char *nv_arch(Arena *a, const NvCompiler *c, const char *arch) {
    int want = 0, n = 0, best = 0, *archs;
    if (sscanf(arch, "sm_%d", &want) != 1 || c->GetNumSupportedArchs(&n) || n < 1) return arch;
    archs = ARENA_ARRAY(a, int, n);
    if (c->GetSupportedArchs(archs)) return arch;
    for (int i = 0; i < n; i++) {
        if (archs[i] == want) return arch;
        if (archs[i] < want && archs[i] > best) best = archs[i];
    }
    return best ? arena_printf(a, "compute_%d", best) : arch;
}

enum { MOST_SAID = 600 }; /* a message holds little more */

/* The first lines of a log but for ptxas' reports. */
static const char *first_lines(Arena *a, const char *log) {
    StrBuf b;
    sb_init(&b, a);
    for (int lines = 0; *log && lines < 6 && b.n < MOST_SAID; log += *log == '\n') {
        size_t n = strcspn(log, "\n");
        if (n && strncmp(log, "ptxas info", 10) && strncmp(log, "ptxas    ", 9)) {
            sb_printf(&b, "%s%.*s", lines++ ? "\n" : "", n < MOST_SAID ? (int)n : MOST_SAID, log);
        }
        log += n;
    }
    return b.n ? b.at : "nothing";
}

static const char *log_of(Arena *a, const NvCompiler *c, Program p) {
    size_t n = 0;
    if (c->GetProgramLogSize(p, &n) || !n) return "";
    char *log = arena_alloc(a, n + 1);
    return c->GetProgramLog(p, log) ? "" : log;
}

/* PTX where the architecture is a virtual one: the driver goes on from there. */
static const void *code_of(Arena *a, const NvCompiler *c, Program p, bool ptx, size_t *n) {
    if (ptx ? c->GetPTXSize(p, n) : c->GetCUBINSize(p, n)) return NULL;
    char *code = arena_alloc(a, *n + 1);
    int rc = ptx ? c->GetPTX(p, code) : c->GetCUBIN(p, code);
    return rc || !*n ? NULL : code;
}

static const void *compile(Arena *a, const NvCompiler *c, const NvOptions *o, const char *name, Program p, size_t *n, NvReport *report) {
    const char *flags[MOST_FLAGS];
    int rc = c->CompileProgram(p, list_flags(a, o, flags), flags);
    const char *log = log_of(a, c, p);
    if (rc) fault_raise(a->fault, ERR_NVRTC_FAILED, NULL, name, o->arch, *log ? first_lines(a, log) : c->GetErrorString(rc));
    const void *code = code_of(a, c, p, o->ptx || nv_is_virtual(o->arch), n);
    if (!code) fault_raise(a->fault, ERR_NVRTC_FAILED, NULL, name, o->arch, "nothing, and made no code");
    if (report) nv_report(a, log, report);
    return code;
}

const void *nv_compile(Arena *a, NvCompiler *c, const NvOptions *o, const char *source, const char *name, size_t *n, NvReport *report) {
    Program p = NULL;
    Barrier b;
    int rc = c->CreateProgram(&p, source, arena_printf(a, "%s.cu", name), 0, NULL, NULL);
    if (rc) fault_raise(a->fault, ERR_NVRTC_FAILED, NULL, name, o->arch, c->GetErrorString(rc));
    if (FAULT_TRY(a->fault, b)) {
        const void *code = compile(a, c, o, name, p, n, report);
        FAULT_END(a->fault, b);
        c->DestroyProgram(&p);
        return code;
    }
    c->DestroyProgram(&p);
    fault_jump(a->fault);
}
