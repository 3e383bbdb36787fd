/* cache.c - finding, building, verifying and loading objects; see jit.h for what the directory holds.
 *
 * Every file ends with a trailer: a magic number and the digest of all before it.  (A loader does not
 * read what follows an ELF file's own parts.) */
#define XXH_INLINE_ALL
#include "jit/jit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { DEFAULT_MIB = 512, STALE_SECONDS = 3600 };

typedef struct {
    char magic[8];
    unsigned char digest[16];
} Trailer;
static const char trailer_magic[8] = "mlcDG01";

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void log_line(const JitOptions *o, Arena *a, const char *what, const char *path) {
    if (o->log) o->log(o->log_user, arena_printf(a, "cache: %s: %s", what, path));
}

/* ---- digests and files ---- */

void jit_digest(const void *bytes, size_t n, char out[33]) {
    XXH128_hash_t h = XXH3_128bits(bytes, n);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

static Trailer trailer_of(const void *bytes, size_t n) {
    Trailer t;
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits(bytes, n));
    memcpy(t.magic, trailer_magic, sizeof t.magic);
    memcpy(t.digest, c.digest, sizeof t.digest);
    return t;
}

static bool write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

bool jit_write_file(const char *path, const void *bytes, size_t n) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool good = write_all(fd, bytes, n);
    if (close(fd)) good = false;
    if (!good) unlink(path);
    return good;
}

char *jit_read_file(Arena *a, const char *path, size_t *n) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return NULL;
    char *p = NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
        size_t size = (size_t)st.st_size, at = 0;
        p = arena_alloc(a, size + 1);
        for (ssize_t k = 1; at < size && k > 0; at += k > 0 ? (size_t)k : 0) {
            k = read(fd, p + at, size - at);
            if (k < 0 && errno == EINTR) k = 1, at--;
        }
        if (at < size) p = NULL;
        *n = size;
    }
    close(fd);
    return p;
}

#define TEMP_HEAD "mlc-tmp."
static _Atomic unsigned temp_count;

const char *jit_temp_path(Arena *a, const char *dir, const char *end) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    unsigned n = atomic_fetch_add(&temp_count, 1);
    return arena_printf(a, "%s/" TEMP_HEAD "%ld.%u.%llx.%s", dir, (long)getpid(), n,
                        (unsigned long long)t.tv_sec << 20 ^ (unsigned long long)t.tv_nsec, end);
}

/* The content without its trailer, or NULL; a file that does not verify is removed. */
static const char *read_verified(Arena *a, const JitOptions *o, const char *path, size_t *n) {
    size_t size;
    char *p = jit_read_file(a, path, &size);
    if (!p) return NULL;
    if (size >= sizeof(Trailer)) {
        *n = size - sizeof(Trailer);
        Trailer want = trailer_of(p, *n);
        if (!memcmp(p + *n, &want, sizeof want)) {
            p[*n] = 0;
            return p;
        }
    }
    log_line(o, a, "a damaged file was removed", path);
    unlink(path);
    return NULL;
}

/* ---- the directory ---- */

static bool make_dirs(char *path) {
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/') continue;
        char c = *p;
        *p = 0;
        bool good = !mkdir(path, 0700) || errno == EEXIST || errno == EROFS || errno == EACCES;
        *p = c;
        if (!good) return false;
        if (!c) return true;
    }
}

const char *jit_cache_dir(Arena *a) {
    const char *own = getenv("MLC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *dir = own && *own ? arena_str(a, own)
                : xdg && *xdg == '/' ? arena_printf(a, "%s/mlc", xdg)
                : home && *home ? arena_printf(a, "%s/.cache/mlc", home) : NULL;
    struct stat st;
    if (!dir || !make_dirs(dir) || stat(dir, &st) || !S_ISDIR(st.st_mode)) return NULL;
    return dir;
}

static const char *path_in(Arena *a, const char *dir, const char *key, const char *end) {
    return arena_printf(a, "%s/%s.%s", dir, key, end);
}

typedef struct {
    char name[64];
    off_t size;
    struct timespec used;
} Entry;

static int by_age(const void *x, const void *y) {
    const Entry *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

static long long limit_bytes(void) {
    const char *s = getenv("MLC_CACHE_MIB");
    long long mib = s && *s ? strtoll(s, NULL, 10) : DEFAULT_MIB;
    return (mib < 0 || mib > 1 << 20 ? DEFAULT_MIB : mib) << 20;
}

static bool is_temp(const char *name) {
    return !strncmp(name, TEMP_HEAD, sizeof TEMP_HEAD - 1);
}

/* 32 hexadecimal digits and one of our endings: a folder may hold what others keep there. */
static bool is_entry(const char *name) {
    return strspn(name, "0123456789abcdef") == 32 && (!strcmp(name + 32, ".so") || !strcmp(name + 32, ".meta"));
}

/* Removes the oldest files beyond the limit, and what killed processes left. */
static void trim(Arena *a, const char *dir) {
    DIR *d = opendir(dir);
    if (!d) return;
    VEC(Entry) all = { 0 };
    long long total = 0, limit = limit_bytes();
    time_t now = time(NULL);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        Entry x;
        if (!(is_temp(e->d_name) || is_entry(e->d_name)) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW)) continue;
        if (is_temp(e->d_name)) {
            if (now - st.st_mtime > STALE_SECONDS) unlinkat(dirfd(d), e->d_name, 0);
            continue;
        }
        snprintf(x.name, sizeof x.name, "%.63s", e->d_name); /* is_entry: it is no longer */
        x.size = st.st_size;
        x.used = st.st_mtim;
        total += st.st_size;
        VEC_PUSH(a, &all, x);
    }
    if (total > limit) qsort(all.at, (size_t)all.n, sizeof *all.at, by_age);
    for (int i = 0; i < all.n && total > limit; i++) {
        unlinkat(dirfd(d), all.at[i].name, 0);
        total -= all.at[i].size;
    }
    closedir(d);
}

static void touch(const char *path) {
    utimensat(AT_FDCWD, path, NULL, 0); /* so that the oldest is the least used */
}

/* ---- blobs ---- */

const char *jit_blob_get(Arena *a, const JitOptions *o, const char key[33], size_t *n) {
    const char *dir = o->no_cache ? NULL : jit_cache_dir(a);
    if (!dir) return NULL;
    const char *path = path_in(a, dir, key, "meta"), *p = read_verified(a, o, path, n);
    if (p) touch(path);
    return p;
}

void jit_blob_put(Arena *a, const JitOptions *o, const char key[33], const void *bytes, size_t n) {
    const char *dir = o->no_cache ? NULL : jit_cache_dir(a);
    if (!dir) return;
    char *all = arena_alloc(a, n + sizeof(Trailer));
    Trailer t = trailer_of(bytes, n);
    memcpy(all, bytes, n);
    memcpy(all + n, &t, sizeof t);
    const char *tmp = jit_temp_path(a, dir, "meta"), *path = path_in(a, dir, key, "meta");
    if (!jit_write_file(tmp, all, n + sizeof t) || rename(tmp, path)) {
        log_line(o, a, "could not write", path);
        unlink(tmp);
        return;
    }
    trim(a, dir);
}

/* ---- objects ---- */

/* Appends the trailer to a finished file. */
static bool seal(Arena *a, const char *path) {
    size_t n;
    const char *bytes = jit_read_file(a, path, &n);
    if (!bytes) return false;
    Trailer t = trailer_of(bytes, n);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return false;
    bool good = write_all(fd, (const char *)&t, sizeof t);
    return !close(fd) && good;
}

static const char *private_dir(Arena *a) {
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(a, "%s/mlc-XXXXXX", tmp && *tmp ? tmp : P_tmpdir);
    if (!mkdtemp(dir)) fault_raise(a->fault, ERR_NO_DIRECTORY, NULL, dir, strerror(errno));
    return dir;
}

/* A name that is left behind for the reader of the message. */
static _Noreturn void compile_failed(Arena *a, const JitCompiler *c, const char *source, const char *message) {
    const char *tmp = getenv("TMPDIR");
    const char *kept = jit_temp_path(a, tmp && *tmp ? tmp : P_tmpdir, "mlc.c");
    if (!jit_write_file(kept, source, strlen(source))) kept = "(could not be kept)";
    fault_raise(a->fault, ERR_CC_FAILED, NULL, c->path, kept, message);
}

/* Compiles into `dir`; NULL where the directory is at fault (full, read-only). */
static const char *build_in(Arena *a, const JitOptions *o, const JitCompiler *c, const char *source, const char *dir) {
    const char *in = jit_temp_path(a, dir, "c"), *out = jit_temp_path(a, dir, o->object ? "o" : "so"), *message;
    if (!jit_write_file(in, source, strlen(source))) return NULL;
    bool good = jit_run_compiler(a, o, c, in, out, &message);
    unlink(in);
    struct stat st;
    if (good && (stat(out, &st) || !S_ISREG(st.st_mode))) {
        good = false;
        message = "nothing, and made no file";
    }
    if (good && (o->object || seal(a, out))) return out;
    if (unlink(out)) rmdir(out);
    if (!good && !strstr(message, "No space left") && !strstr(message, "Read-only file system"))
        compile_failed(a, c, source, message);
    return NULL;
}

void jit_compile_to(Arena *a, const JitOptions *o, const char *source, const char *path) {
    const JitCompiler *c = jit_compiler(a, o);
    const char *dir = private_dir(a), *in = jit_temp_path(a, dir, "c"), *message = "cannot write the source";
    bool good = jit_write_file(in, source, strlen(source)) && jit_run_compiler(a, o, c, in, path, &message);
    unlink(in);
    rmdir(dir);
    if (!good) compile_failed(a, c, source, message);
}

/* A loaded object needs its file no longer. */
static void *open_private(Arena *a, const JitCompiler *c, const char *path, const char *dir) {
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = h ? NULL : arena_str(a, dlerror());
    unlink(path);
    if (dir) rmdir(dir);
    if (!h) fault_raise(a->fault, ERR_LOAD_FAILED, NULL, c->path, why);
    return h;
}

static void *open_copy(Arena *a, const JitCompiler *c, const char *bytes, size_t n) {
    const char *dir = private_dir(a), *path = jit_temp_path(a, dir, "so");
    if (!jit_write_file(path, bytes, n)) {
        rmdir(dir);
        fault_raise(a->fault, ERR_NO_DIRECTORY, NULL, path, strerror(errno));
    }
    return open_private(a, c, path, dir);
}

static void *build_privately(Arena *a, const JitOptions *o, const JitCompiler *c, const char *source, JitTimes *t, double begun) {
    const char *dir = private_dir(a), *path = build_in(a, o, c, source, dir);
    double built = now_ms();
    t->build_ms += built - begun;
    if (!path) {
        rmdir(dir);
        fault_raise(a->fault, ERR_NO_DIRECTORY, NULL, dir, "no room to compile");
    }
    void *h = open_private(a, c, path, dir);
    t->load_ms += now_ms() - built;
    return h;
}

static void object_key(Arena *a, const JitOptions *o, const JitCompiler *c, const char *source, char key[33]) {
    StrBuf b;
    sb_init(&b, a);
    sb_printf(&b, "%s\n%s\n%s\n", c->identity, jit_flags(a, o, c), o->native ? jit_host_features(a) : "");
    sb_puts(&b, source);
    jit_digest(b.at, b.n, key);
}

/* Room for an object and what the compiler writes beside it?  It would fail for want of space as if the source were bad. */
static bool has_room(const char *dir) {
    struct statvfs v;
    return statvfs(dir, &v) || v.f_bavail > ((unsigned long)4 << 20) / (v.f_frsize ? v.f_frsize : 1);
}

void *jit_load(Arena *a, const JitOptions *o, const char *source, bool fresh, JitTimes *times) {
    double begun = now_ms();
    const JitCompiler *c = jit_compiler(a, o);
    const char *dir = o->no_cache ? NULL : jit_cache_dir(a);
    if (!dir && !o->no_cache) log_line(o, a, "no directory, objects are not kept", "set MLC_CACHE");
    if (!dir) return build_privately(a, o, c, source, times, begun);
    char key[33];
    size_t n;
    object_key(a, o, c, source, key);
    const char *path = path_in(a, dir, key, "so"), *bytes = read_verified(a, o, path, &n);
    times->cached = bytes != NULL;
    if (bytes) touch(path);
    else {
        const char *made = has_room(dir) ? build_in(a, o, c, source, dir) : NULL;
        if (!made || rename(made, path)) {
            if (made) unlink(made);
            log_line(o, a, "cannot be written, the object is not kept", dir);
            return build_privately(a, o, c, source, times, begun);
        }
        trim(a, dir);
        times->build_ms += now_ms() - begun;
    }
    double loading = now_ms();
    if (fresh && !bytes) bytes = read_verified(a, o, path, &n);
    void *h = fresh && bytes ? open_copy(a, c, bytes, n) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    times->load_ms += now_ms() - loading;
    if (h) return h;
    /* Another process trimmed it just now, or the directory may not hold code. */
    log_line(o, a, dlerror(), path);
    return build_privately(a, o, c, source, times, now_ms());
}

void *jit_symbol(void *handle, const char *name) {
    return dlsym(handle, name);
}

void jit_unload(void *handle) {
    if (handle) dlclose(handle);
}
