/* jit.h - C source to code in this process: the system's compiler, dlopen, and a cache on disk.
 *
 * The cache is a directory of two kinds of files, both named by a 128-bit digest and ended by a digest of
 * their content: objects (.so, or .o) under the digest of source, flags, compiler and processor, and blobs
 * (.meta) under a key of the caller's.  A caller that keeps in a blob what it needs to know, the
 * source included, does no lowering and starts no process when it meets a program again.
 *
 * Files are written under a temporary name and renamed, so any number of processes may share the directory
 * and be killed at any time.  What does not verify is removed and made anew.  When the directory cannot
 * be written, objects live in a private directory until they are loaded. */
#ifndef JIT_H
#define JIT_H

#include "codegen/backend.h"

typedef struct {
    const char *path;     /* absolute, links resolved */
    bool is_gcc;          /* else clang */
    const char *identity; /* path, inode, time and size: changes when the compiler does */
} JitCompiler;

typedef struct {
    const char *cc;       /* a name or path; NULL: MLC_CC, then gcc, clang, cc */
    const char *flags;    /* more flags, after ours: sanitizers, -g ...; may be NULL */
    int opt;              /* -O level; 0 means the default */
    CpuIsa isa;
    bool native;          /* -march=native rather than the set's own name; only with the host's own isa */
    bool object, openmp;  /* object: compile to .o rather than link */
    bool no_cache;        /* always compile, keep nothing */
    mlc_log_fn log;       /* may be NULL */
    void *log_user;
} JitOptions;

/* The compiler to use; raises into a->fault where there is none, or one that has no vectors (tcc). */
const JitCompiler *jit_compiler(Arena *a, const JitOptions *o);

/* The best instruction set of this processor, and all that cache keys must know of it. */
CpuIsa jit_host_isa(void);
const char *jit_host_features(Arena *a);

/* 32 hexadecimal digits of the digest of n bytes. */
void jit_digest(const void *bytes, size_t n, char out[33]);

/* The loaded object of `source`, from the cache or built: a dlopen handle.  `fresh` asks for a copy of its
 * own, where the object has variables that the caller sets.  Raises where compiler or loader fail. */
typedef struct {
    double build_ms, load_ms;
    bool cached;
} JitTimes;
void *jit_load(Arena *a, const JitOptions *o, const char *source, bool fresh, JitTimes *times);
void *jit_symbol(void *handle, const char *name); /* NULL: there is none */
void jit_unload(void *handle);

/* Compiles to a file (JitOptions.object), past the cache. */
void jit_compile_to(Arena *a, const JitOptions *o, const char *source, const char *path);

/* Blobs.  get: the bytes, in the arena, or NULL; put: keeps them if it can. */
const char *jit_blob_get(Arena *a, const JitOptions *o, const char key[33], size_t *n);
void jit_blob_put(Arena *a, const JitOptions *o, const char key[33], const void *bytes, size_t n);

/* ---- shared by cc.c and cache.c ---- */

/* The whole command line but for file names, one string. */
const char *jit_flags(Arena *a, const JitOptions *o, const JitCompiler *c);
/* Runs the compiler on `in`; false when it failed, with its first lines in *message. */
bool jit_run_compiler(Arena *a, const JitOptions *o, const JitCompiler *c, const char *in, const char *out, const char **message);
/* The cache's directory, made if need be; NULL when there is none to be had. */
const char *jit_cache_dir(Arena *a);
/* A path in `dir` that no process has. */
const char *jit_temp_path(Arena *a, const char *dir, const char *end);
bool jit_write_file(const char *path, const void *bytes, size_t n);
char *jit_read_file(Arena *a, const char *path, size_t *n); /* NULL when unreadable; a 0 byte follows */

#endif
