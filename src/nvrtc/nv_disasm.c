/* nv_disasm.c - the instructions of a cubin as text: a program of the toolkit's makes it, since the encoding is its maker's.
 *
 * nvdisasm and cuobjdump both will do.  Each takes a file, so the cubin lies in one while the program runs. */
#include "nvrtc/nvrtc_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct {
    Arena *arena;
    const char *path;
} Found;

static bool take(void *user, const char *path) {
    Found *f = user;
    if (access(path, X_OK)) return false;
    f->path = arena_str(f->arena, path);
    return true;
}

static const char *find_disassembler(Arena *a) {
    static const char *const names[] = { "nvdisasm", "cuobjdump" };
    const char *own = getenv("MLC_NVDISASM");
    Found f = { .arena = a };
    StrBuf looked;
    sb_init(&looked, a);
    if (own && *own) {
        if (take(&f, own)) return f.path;
        fault_raise(a->fault, ERR_NVDISASM_MISSING, NULL, arena_printf(a, "MLC_NVDISASM is %s: %s", own, strerror(errno)));
    }
    sb_puts(&looked, "looked for nvdisasm and cuobjdump in PATH");
    for (int i = 0; i < 2; i++) {
        const char *folder = nv_folder_of(a, names[i]);
        if (folder && take(&f, arena_printf(a, "%s/%s", folder, names[i]))) return f.path;
    }
    const NvSearch s = { take, &f, "bin/{cuobjdump,nvdisasm}", "cuda_{cuobjdump,nvdisasm}", "bin/{cuobjdump,nvdisasm}" };
    if (nv_search(&s, a, &looked)) return f.path;
    fault_raise(a->fault, ERR_NVDISASM_MISSING, NULL, looked.at);
}

/* Its exit status, -1: it cannot be run.  What it says, good or bad, goes to `out`. */
static int run(const char *const *argv, int out) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status, bad = posix_spawn_file_actions_init(&files);
    if (bad) return -1;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, out, 2);
    bad = posix_spawn(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (bad) return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool write_all(int fd, const char *bytes, size_t n) {
    for (ssize_t k; n; bytes += k, n -= (size_t)k)
        if ((k = write(fd, bytes, n)) <= 0) return false;
    return true;
}

/* From its beginning; NULL where it cannot be read. */
static char *read_all(Arena *a, int fd) {
    off_t n = lseek(fd, 0, SEEK_END);
    char *text = n < 0 || lseek(fd, 0, SEEK_SET) ? NULL : arena_alloc(a, (size_t)n + 1);
    size_t at = 0;
    for (ssize_t k; text && at < (size_t)n; at += (size_t)k)
        if ((k = read(fd, text + at, (size_t)n - at)) <= 0) return NULL;
    if (text) text[n] = 0;
    return text;
}

/* A file that is there while it is open, or until it is unlinked; its path ends in XXXXXX. */
static int temporary(char *path) {
    int fd = mkstemp(path);
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

const char *nv_disassemble(Arena *a, const void *cubin, size_t n) {
    const char *program = find_disassembler(a), *tmp = getenv("TMPDIR"), *slash = strrchr(program, '/');
    const char *dir = tmp && *tmp ? tmp : P_tmpdir;
    char *in_path = arena_printf(a, "%s/mlc-cubin-XXXXXX", dir), *out_path = arena_printf(a, "%s/mlc-sass-XXXXXX", dir);
    int in = temporary(in_path), out = in < 0 ? -1 : temporary(out_path), rc = -1;
    const char *argv[] = { program, slash && strstr(slash, "cuobjdump") ? "-sass" : "-c", in_path, NULL };
    const char *why = "it cannot be run";
    if (out >= 0) unlink(out_path);
    if (out < 0 || !write_all(in, cubin, n)) why = strerror(errno);
    else rc = run(argv, out);
    if (in >= 0) unlink(in_path), close(in);
    Fault *f = a->fault;
    Barrier b;
    const char *volatile text = NULL;
    if (FAULT_TRY(f, b)) {
        text = out < 0 ? NULL : read_all(a, out);
        FAULT_END(f, b);
    }
    if (out >= 0) close(out);
    if (f->info.code) fault_jump(f);
    if (!rc && text) return text;
    if (text && *text) why = arena_printf(a, "%.*s", (int)strcspn(text, "\n"), text);
    fault_raise(f, ERR_NVDISASM_FAILED, NULL, program, why);
}
