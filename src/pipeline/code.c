/* code.c - C source to a function that a module calls, and the first level of the cache.
 *
 * Under the key of a program lies its metadata, both C texts (and those of its kernels, CUDA C++) included; the
 * object is found under the digest of its C, the cubin under that of the CUDA C++, with what ptxas said of it.  So a program met before costs two files read (three with kernels), whichever variant a call needs. */
#include "pipeline/pipeline.h"

#include "jit/jit.h"

#include <dlfcn.h>
#include <string.h>

static JitOptions jit_options(const Options *o) {
    return (JitOptions){ .cc = o->cc, .flags = o->cflags, .opt = o->opt, .isa = o->isa, .native = o->native,
                         .no_cache = o->no_cache };
}

const char *code_compiler(Arena *a, const Options *o, bool *is_gcc) {
    JitOptions j = jit_options(o);
    const JitCompiler *c = jit_compiler(a, &j);
    *is_gcc = c->is_gcc;
    return o->native ? arena_printf(a, "%s\n%s", c->identity, jit_host_features(a)) : c->identity;
}

/* Gives the object the addresses of the C functions it calls. */
static bool bind_externs(Arena *a, Code *c, const char *source, const ExternFn *ext, int n, bool write) {
    bool any = false;
    for (int i = 0; i < n; i++) {
        const char *name = arena_printf(a, CODE_SYMBOL "_extern_%s", ext[i].name);
        if (!write) {
            any = any || strstr(source, name);
            continue;
        }
        void *slot = dlsym(c->handle, name);
        if (slot) memcpy(slot, &ext[i].fn, sizeof ext[i].fn);
    }
    return any;
}

Code *code_build(Arena *a, const Options *o, const char *source, const ExternFn *ext, int n_ext, mlc_times *t) {
    JitOptions j = jit_options(o);
    JitTimes jt = { 0 };
    Code *c = ARENA_NEW(a, Code);
    bool fresh = bind_externs(a, c, source, ext, n_ext, false);
    c->handle = jit_load(a, &j, source, fresh, &jt);
    void *fn = dlsym(c->handle, CODE_SYMBOL);
    if (!fn) {
        jit_unload(c->handle);
        fault_raise(a->fault, ERR_LOAD_FAILED, NULL, jit_compiler(a, &j)->path, "it lacks the kernel");
    }
    memcpy(&c->fn, &fn, sizeof fn);
    c->text = dlsym(c->handle, CODE_SYMBOL "_text");
    c->watch = dlsym(c->handle, CODE_SYMBOL "_watch");
    c->span = dlsym(c->handle, CODE_SYMBOL "_spans");
    bind_externs(a, c, source, ext, n_ext, true);
    t->build += jt.build_ms;
    t->load += jt.load_ms;
    t->cached = jt.cached;
    return c;
}

void code_free(Code *c) {
    if (!c) return;
    if (c->kernels) nv_module_free(c->kernels);
    jit_unload(c->handle);
}

/* What is kept is the code, the log's text and, in the last 8 bytes, the length of the code. */
static bool unpack(const char *kept, size_t n, Cubin *c, const char **log) {
    uint64_t size;
    if (!kept || n < sizeof size + 1) return false;
    memcpy(&size, kept + n - sizeof size, sizeof size);
    if (size >= n - sizeof size || kept[n - sizeof size - 1]) return false;
    c->bytes = kept;
    c->n = (size_t)size;
    *log = kept + size;
    return true;
}

static void keep(Arena *a, const JitOptions *j, const char *key, const Cubin *c) {
    uint64_t size = c->n;
    StrBuf b;
    sb_init(&b, a);
    sb_putn(&b, c->bytes, c->n);
    sb_putn(&b, c->report.log, strlen(c->report.log) + 1);
    sb_putn(&b, (const char *)&size, sizeof size);
    jit_blob_put(a, j, key, b.at, b.n);
}

Cubin code_cubin(Arena *a, const Options *o, NvCompiler *nvrtc, const char *source, const char *name, mlc_times *t) {
    JitOptions j = jit_options(o);
    NvOptions nv = { .arch = o->arch };
    StrBuf b;
    char key[33];
    sb_init(&b, a);
    sb_printf(&b, "cubin 2\n%s\n%s\n", nv_compiler_identity(nvrtc), nv_flags(a, &nv));
    sb_puts(&b, source);
    jit_digest(b.at, b.n, key);
    double begun = pl_now();
    size_t n;
    Cubin c = { 0 };
    const char *log, *kept = jit_blob_get(a, &j, key, &n);
    bool found = unpack(kept, n, &c, &log);
    t->cached = t->cached && found;
    if (found) nv_report(a, log, &c.report);
    else {
        c.bytes = nv_compile(a, nvrtc, &nv, source, name, &c.n, &c.report);
        keep(a, &j, key, &c);
    }
    t->kernels += pl_now() - begun;
    return c;
}

bool code_find(Arena *a, const Options *o, const char *key, Meta *m) {
    size_t n;
    JitOptions j = jit_options(o);
    const char *bytes = jit_blob_get(a, &j, key, &n);
    return bytes && meta_read(a, bytes, n, m) && m->source[DENSE] && m->source[GENERAL] &&
           (!m->n_kernels || (m->cuda[DENSE] && m->cuda[GENERAL]));
}

void code_keep(Arena *a, const Options *o, const char *key, const Meta *m) {
    JitOptions j = jit_options(o);
    StrBuf b;
    sb_init(&b, a);
    meta_write(&b, m);
    jit_blob_put(a, &j, key, b.at, b.n);
}

void code_object(Arena *a, const Options *o, const char *source, const char *path, bool openmp) {
    JitOptions j = jit_options(o);
    j.object = true;
    j.openmp = openmp;
    j.native = false;
    jit_compile_to(a, &j, source, path);
}
