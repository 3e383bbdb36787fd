/* nv_report.c - the log of a compile as data: what ptxas says of each kernel, and what it could not do.
 *
 *   ptxas info    : Compiling entry function 'blur' for 'sm_90a'
 *   ptxas info    : Function properties for blur
 *   ptxas         .     800 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *   ptxas info    : Used 32 registers, used 1 barriers, 800 bytes cumulative stack size, 512 bytes smem
 *   ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; ...
 *
 * Properties also come for functions that are no kernels: they count for none, since what a kernel's calls take is in its
 * cumulative stack.  The words are looked for, not columns: older versions print other beginnings. */
#include "nvrtc/nvrtc.h"

#include <stdlib.h>
#include <string.h>

/* The number in front of the words, as in "512 bytes smem"; -1 where they are not there. */
static int64_t number_before(const char *line, const char *words) {
    const char *p = strstr(line, words);
    if (!p) return -1;
    while (p > line && p[-1] == ' ') p--;
    while (p > line && p[-1] >= '0' && p[-1] <= '9') p--;
    return strtoll(p, NULL, 10);
}

/* What stands between the quotes after the words. */
static const char *quoted_after(Arena *a, const char *line, const char *words) {
    const char *p = strstr(line, words);
    if (!p) return NULL;
    p += strlen(words);
    return arena_printf(a, "%.*s", (int)strcspn(p, "'"), p);
}

static void take(int64_t *to, const char *line, const char *words) {
    int64_t n = number_before(line, words);
    if (n > *to) *to = n;
}

/* A line about the kernel that was named last. */
static void properties(NvKernelReport *k, const char *line) {
    take(&k->stack, line, "bytes stack frame");
    take(&k->stack, line, "bytes cumulative stack size");
    take(&k->spill_stores, line, "bytes spill stores");
    take(&k->spill_loads, line, "bytes spill loads");
    take(&k->shared, line, "bytes smem");
    int64_t registers = number_before(line, "registers");
    if (registers > 0) k->registers = (int)registers;
}

void nv_report(Arena *a, const char *log, NvReport *r) {
    VEC(NvKernelReport) kernels = { 0 };
    VEC(const char *) warnings = { 0 };
    bool own = false; /* the lines are about the last kernel */
    for (const char *p = log; *p; p += *p == '\n') {
        size_t n = strcspn(p, "\n");
        const char *line = arena_printf(a, "%.*s", (int)n, p);
        const char *entry = quoted_after(a, line, "Compiling entry function '"), *of = strstr(line, "Function properties for ");
        p += n;
        if (strstr(line, "(C75") || strstr(line, "(C76")) VEC_PUSH(a, &warnings, line);
        if (entry) VEC_PUSH(a, &kernels, ((NvKernelReport){ .name = entry }));
        own = entry ? true : of ? kernels.n && !strcmp(of + 24, kernels.at[kernels.n - 1].name) : own;
        if (own && !entry) properties(&kernels.at[kernels.n - 1], line);
    }
    *r = (NvReport){ kernels.n, kernels.at, warnings.n, warnings.at, arena_str(a, log) };
}
