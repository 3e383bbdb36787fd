/* cc.c - the system's C compiler: which, with what flags, and running it.
 *
 * The flags are part of the meaning of generated code: contraction off, signed wrapping, no errno.
 * gcc's first level with partial redundancies removed makes code as fast as the second in two thirds of the
 * time: the generator has done what the second adds.  The compiler's own vectoriser and unroller stay off:
 * vectors are written by the generator, and what they would add is compile time and spills. */
#include "jit/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- the processor ---- */

#define V3 "-march=x86-64 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mmovbe -mpopcnt"
#define V4 V3 " -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl -mprefer-vector-width=512"
static const char *const isa_flags[] = { "-march=x86-64", "-march=x86-64 -msse4.2 -mpopcnt", V3, V4 };
/* A compiler asks the processor.  This process may run on less of it: under valgrind, or where the system does not
 * keep the wider registers. */
static const char *const native_flags[] = { "-march=native -mno-avx", "-march=native -mno-avx", "-march=native -mno-avx512f", "-march=native" };

#define FEATURES(X)                                                                                              \
    X("sse4.2") X("popcnt") X("avx") X("avx2") X("fma") X("bmi") X("bmi2") X("avx512f") X("avx512bw")            \
    X("avx512cd") X("avx512dq") X("avx512vl") X("avx512vbmi") X("avx512vnni") X("avx512vpopcntdq")               \
    X("avx512bitalg") X("avx512vbmi2") X("avx512ifma") X("gfni") X("vpclmulqdq")

/* The compiler of this library may not know "f16c": it is asked of the processor itself. */
static bool has_f16c(void) {
    unsigned a = 1, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return c >> 29 & 1;
}

CpuIsa jit_host_isa(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return ISA_PLAIN;
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && has_f16c();
    if (!avx2) return ISA_SSE4;
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx512 ? ISA_AVX512 : ISA_AVX2;
}

const char *jit_host_features(Arena *a) {
    StrBuf b;
    sb_init(&b, a);
    __builtin_cpu_init();
#define X(name) if (__builtin_cpu_supports(name)) sb_puts(&b, name " ");
    FEATURES(X)
#undef X
    if (has_f16c()) sb_puts(&b, "f16c ");
    /* Family, model and stepping, which -march=native looks at too. */
    unsigned eax = 1, ebx, ecx = 0, edx;
    __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    sb_printf(&b, "%x", eax);
    return b.at;
}

/* ---- which compiler ---- */

static const char *absolute(Arena *a, const char *path) {
    char real[PATH_MAX]; /* not malloc's: the arena may leave by a fault */
    struct stat st;
    if (!realpath(path, real) || stat(real, &st) || !S_ISREG(st.st_mode)) return NULL;
    return access(real, X_OK) == 0 ? arena_str(a, real) : NULL;
}

/* As a shell would find it. */
static const char *find_program(Arena *a, const char *name, const char **shown) {
    *shown = name;
    if (strchr(name, '/')) return absolute(a, name);
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        const char *full = arena_printf(a, "%.*s/%s", (int)n, p, name);
        const char *found = n ? absolute(a, full) : NULL;
        if (found) {
            *shown = full;
            return found;
        }
        p += n + (p[n] == ':');
    }
    return NULL;
}

typedef enum { KIND_UNKNOWN, KIND_GCC, KIND_CLANG, KIND_UNFIT } Kind;

static Kind kind_of_name(const char *path) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    if (strstr(base, "tcc")) return KIND_UNFIT;
    if (strstr(base, "clang")) return KIND_CLANG;
    return strstr(base, "gcc") ? KIND_GCC : KIND_UNKNOWN;
}

static int run(Arena *a, const char *const *argv, const char *out, const char *err) {
    posix_spawn_file_actions_t files;
    (void)a;
    if (posix_spawn_file_actions_init(&files)) return -1;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid;
    int bad = posix_spawn(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (bad) return -1;
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Asks the preprocessor what it is; the answer is kept as a blob. */
static Kind probe(Arena *a, const JitOptions *o, const char *path, const char *identity) {
    char key[33];
    const char *id = arena_printf(a, "probe %s", identity);
    jit_digest(id, strlen(id), key);
    size_t n;
    const char *known = jit_blob_get(a, o, key, &n);
    if (known && n == 1 && *known >= '1' && *known <= '3') return (Kind)(*known - '0');
    const char *tmp = getenv("TMPDIR");
    const char *out = jit_temp_path(a, tmp && *tmp ? tmp : P_tmpdir, "macros");
    const char *argv[] = { path, "-dM", "-E", "-x", "c", "/dev/null", NULL };
    int rc = run(a, argv, out, "/dev/null");
    const char *text = rc ? NULL : jit_read_file(a, out, &n);
    unlink(out);
    Kind k = !text || strstr(text, "__TINYC__") || !strstr(text, "__GNUC__") || !strstr(text, "__x86_64__") ? KIND_UNFIT
             : strstr(text, "__clang__") ? KIND_CLANG : KIND_GCC;
    char digit = (char)('0' + k);
    jit_blob_put(a, o, key, &digit, 1);
    return k;
}

static const char *identity_of(Arena *a, const char *path) {
    struct stat st;
    if (stat(path, &st)) return path;
    return arena_printf(a, "%s %llu %lld.%09ld %lld", path, (unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec,
                        st.st_mtim.tv_nsec, (long long)st.st_size);
}

const JitCompiler *jit_compiler(Arena *a, const JitOptions *o) {
    const char *env = getenv("MLC_CC"), *given = o->cc && *o->cc ? o->cc : env && *env ? env : NULL;
    const char *names[] = { given ? given : "gcc", given ? NULL : "clang", given ? NULL : "cc" };
    for (int i = 0; i < 3; i++) {
        const char *shown, *path = names[i] ? find_program(a, names[i], &shown) : NULL;
        if (!path) continue;
        JitCompiler *c = ARENA_NEW(a, JitCompiler);
        Kind k = kind_of_name(path);
        c->identity = identity_of(a, path);
        if (k == KIND_UNKNOWN) k = probe(a, o, path, c->identity);
        if (k == KIND_UNFIT && given) fault_raise(a->fault, ERR_COMPILER_UNFIT, NULL, given);
        if (k == KIND_UNFIT) continue;
        c->path = path;
        c->is_gcc = k == KIND_GCC;
        return c;
    }
    fault_raise(a->fault, ERR_NO_COMPILER, NULL, given ? given : "gcc, clang and cc");
}

/* ---- running it ---- */

const char *jit_flags(Arena *a, const JitOptions *o, const JitCompiler *c) {
    const char *extra = o->flags ? o->flags : "";
    bool sanitized = strstr(extra, "-fsanitize") != NULL;
    const char *quiet = c->is_gcc ? "-ftree-pre -fno-tree-vectorize -fno-tree-slp-vectorize"
                                  : "-fno-vectorize -fno-slp-vectorize -fno-unroll-loops";
    const char *march = (o->native ? native_flags : isa_flags)[o->isa];
    return arena_printf(a, "-std=c11 -pipe -w -O%d %s -ffp-contract=off -fwrapv -fno-strict-aliasing -fno-math-errno "
                        "-fno-trapping-math -fno-stack-protector -fPIC %s%s %s %s", o->opt ? o->opt : c->is_gcc ? 1 : 2, quiet, march,
                        o->openmp ? " -fopenmp" : "", o->object ? "-c" : sanitized ? "-shared" : "-shared -nostdlib", extra);
}

enum { MAX_ARGS = 256 };

static void split(Arena *a, const char *flags, const char **argv, int *n) {
    for (const char *p = flags; *p;) {
        p += strspn(p, " \t\n");
        size_t k = strcspn(p, " \t\n");
        if (k && *n < MAX_ARGS - 8) argv[(*n)++] = arena_printf(a, "%.*s", (int)k, p);
        p += k;
    }
}

enum { MOST_SAID = 500 }; /* a message holds little more */

/* The first lines of what it said. */
static const char *first_lines(Arena *a, const char *path) {
    size_t n;
    char *text = jit_read_file(a, path, &n);
    if (!text || !*text) return "nothing";
    if (n > MOST_SAID) text[MOST_SAID] = 0;
    int lines = 0;
    for (char *p = text; *p; p++) {
        if (*p == '\n' && (++lines == 4 || !p[1])) *p = 0;
        if (!*p) break;
    }
    return text;
}

bool jit_run_compiler(Arena *a, const JitOptions *o, const JitCompiler *c, const char *in, const char *out, const char **message) {
    const char *argv[MAX_ARGS] = { c->path };
    int n = 1;
    split(a, jit_flags(a, o, c), argv, &n);
    argv[n++] = "-o";
    argv[n++] = out;
    argv[n++] = "-x";
    argv[n++] = "c";
    argv[n++] = in;
    argv[n] = NULL;
    const char *err = arena_printf(a, "%s.err", out);
    int rc = run(a, argv, "/dev/null", err);
    if (rc) *message = first_lines(a, err);
    unlink(err);
    return rc == 0;
}
