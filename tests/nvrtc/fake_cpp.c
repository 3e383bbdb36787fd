/* fake_cpp.c - a library with NVRTC's functions that makes of kernels code for this processor: C++ of g++ (cuda_cpp.h).
 *
 * What it gives in place of a cubin is a shared object.  For kernel i it exports `cpu_name_i`, `cpu_sizes_i` (the bytes of its
 * arguments, 0 ends them) and `cpu_run_i`, a FakeKernel; the driver of fake_cuda.c loads it. */
#include "fake_nvrtc.h"

#include "../../fuzz/cuda_cpp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, FAILED = 6 };

struct NvrtcProgram {
    char *source, *code, log[2048];
    size_t n;
};

int nvrtcVersion(int *major, int *minor) {
    *major = 0, *minor = 1;
    return 0;
}

const char *nvrtcGetErrorString(int result) {
    return result == FAILED ? "g++ failed" : "no error";
}

int nvrtcGetNumSupportedArchs(int *n) {
    *n = 1;
    return 0;
}

int nvrtcGetSupportedArchs(int *archs) {
    archs[0] = 90;
    return 0;
}

int nvrtcCreateProgram(Program *p, const char *source, const char *name, int n, const char *const *headers, const char *const *names) {
    (void)name, (void)n, (void)headers, (void)names;
    *p = calloc(1, sizeof **p);
    (*p)->source = strdup(source);
    return 0;
}

int nvrtcDestroyProgram(Program *p) {
    free((*p)->source);
    free((*p)->code);
    free(*p);
    *p = NULL;
    return 0;
}

/* A starter for each kernel, by the line after its bounds. */
static int write_kernels(FILE *f, const char *source) {
    static const char bounds[] = "__global__ void __launch_bounds__(";
    int n = 0;
    fputs("typedef void Kernel(void **args);\n"
          "template <class... P> static void start(void (*k)(P...), void **a);\n"
          "template <class... P> struct Sizes { static const unsigned long at[]; };\n"
          "template <class... P> const unsigned long Sizes<P...>::at[] = { sizeof(P)..., 0 };\n"
          "template <class... P> static const unsigned long *sizes(void (*)(P...)) { return Sizes<P...>::at; }\n", f);
    for (const char *at = source; (at = strstr(at, bounds)) && n < MOST; n++) {
        at = strchr(at, '\n') + 1;
        int len = (int)strcspn(at, "(");
        fprintf(f, "static void start_%d(void **cpu_args) { start(::%.*s, cpu_args); }\n", n, len, at);
        fprintf(f, "extern \"C\" const char cpu_name_%d[] = \"%.*s\";\n", n, len, at);
        fprintf(f, "extern \"C\" const unsigned long *cpu_sizes_%d() { return sizes(::%.*s); }\n", n, len, at);
    }
    fputs("static Kernel *const kernels[] = { ", f);
    for (int i = 0; i < n; i++) fprintf(f, "start_%d, ", i);
    fputs("};\n", f);
    fputs(cuda_after, f);
    for (int i = 0; i < n; i++)
        fprintf(f, "extern \"C\" int cpu_run_%d(const unsigned *g, const unsigned *b, unsigned size, void **args) {\n"
                   "    long grid[] = { g[0], g[1], g[2] }, block[] = { b[0], b[1], b[2] };\n"
                   "    return launch(%d, grid, block, size, args) ? 719 : 0;\n}\n", i, i);
    return n;
}

static void read_all(Program p, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return;
    fseek(f, 0, SEEK_END);
    p->n = (size_t)ftell(f);
    rewind(f);
    p->code = malloc(p->n + 1);
    p->n = fread(p->code, 1, p->n, f);
    fclose(f);
}

int nvrtcCompileProgram(Program p, int n, const char *const *options) {
    char folder[] = "/tmp/mlc-cpp-XXXXXX", cpp[64], so[64], log[64], command[512];
    (void)n, (void)options;
    if (!mkdtemp(folder)) return FAILED;
    snprintf(cpp, sizeof cpp, "%s/k.cpp", folder);
    snprintf(so, sizeof so, "%s/k.so", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    FILE *f = fopen(cpp, "w");
    if (!f) return FAILED;
    fputs(cuda_before, f);
    fputs(p->source, f);
    write_kernels(f, p->source);
    fclose(f);
    snprintf(command, sizeof command, "g++ -std=c++17 -O1 -w -ffp-contract=off -fsanitize=signed-integer-overflow "
             "-fsanitize-undefined-trap-on-error -shared -fPIC -o %s %s 2>%s", so, cpp, log);
    int good = system(command) == 0;
    if (good) read_all(p, so);
    FILE *said = fopen(log, "r");
    if (said) {
        p->log[fread(p->log, 1, sizeof p->log - 1, said)] = 0;
        fclose(said);
    }
    unlink(cpp), unlink(so), unlink(log), rmdir(folder);
    return good ? 0 : FAILED;
}

int nvrtcGetCUBINSize(Program p, size_t *n) {
    *n = p->n;
    return 0;
}

int nvrtcGetCUBIN(Program p, char *cubin) {
    memcpy(cubin, p->code, p->n);
    return 0;
}

int nvrtcGetPTXSize(Program p, size_t *n) {
    return nvrtcGetCUBINSize(p, n);
}

int nvrtcGetPTX(Program p, char *ptx) {
    return nvrtcGetCUBIN(p, ptx);
}

int nvrtcGetProgramLogSize(Program p, size_t *n) {
    *n = strlen(p->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(Program p, char *log) {
    strcpy(log, p->log);
    return 0;
}
