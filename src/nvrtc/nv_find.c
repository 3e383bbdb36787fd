/* nv_find.c - where NVIDIA's files lie: in a toolkit, or in a Python environment that pip filled.
 *
 * NVRTC is a library and the disassembler a program, and both come in either way, so one list of places serves both. */
#include "nvrtc/nvrtc_priv.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_set(const char *s) {
    return s && *s;
}

/* Takes a match of the pattern, the newest first; the looked-for pattern joins the list of the message. */
static bool try_glob(const NvSearch *s, StrBuf *looked, const char *pattern) {
    glob_t found;
    bool good = false;
    sb_printf(looked, "%s%s", looked->n ? ", " : "", pattern);
    if (glob(pattern, GLOB_BRACE, NULL, &found)) return false;
    for (size_t i = found.gl_pathc; i-- > 0 && !good;) good = s->take(s->user, found.gl_pathv[i]); /* the newest last */
    globfree(&found);
    return good;
}

/* A Python environment: <root>/lib/python3.12/site-packages/nvidia/... */
static bool try_python(const NvSearch *s, Arena *a, StrBuf *looked, const char *root) {
    static const char format[] = "%s/lib/python3*/*-packages/nvidia/%s/%s";
    return try_glob(s, looked, arena_printf(a, format, root, "cu1[23]", s->in_python)) ||
           try_glob(s, looked, arena_printf(a, format, root, s->package, s->in_python));
}

const char *nv_folder_of(Arena *a, const char *program) {
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p; p += *p == ':') {
        size_t n = strcspn(p, ":");
        struct stat st;
        if (n && !stat(arena_printf(a, "%.*s/%s", (int)n, p, program), &st)) return arena_printf(a, "%.*s", (int)n, p);
        p += n;
    }
    return NULL;
}

/* The folder above the one that a shell would start the program from. */
static const char *root_of(Arena *a, const char *program) {
    const char *folder = nv_folder_of(a, program);
    return folder ? arena_printf(a, "%s/..", folder) : NULL;
}

bool nv_search(const NvSearch *s, Arena *a, StrBuf *looked) {
    const char *toolkit[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), root_of(a, "nvcc"), "/usr/local/cuda" };
    for (int i = 0; i < 4; i++)
        if (is_set(toolkit[i]) && try_glob(s, looked, arena_printf(a, "%s/%s", toolkit[i], s->in_toolkit))) return true;
    const char *python[] = { getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), root_of(a, "python3"), "/usr/local" };
    for (int i = 0; i < 4; i++)
        if (is_set(python[i]) && try_python(s, a, looked, python[i])) return true;
    return false;
}
