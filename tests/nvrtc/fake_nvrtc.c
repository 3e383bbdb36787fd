/* fake_nvrtc.c - a library with NVRTC's functions whose "source" says what they are to answer.
 *
 * Line 1 of a source: `fail N` (the result of compiling), `create N`, `empty` (no code), or anything else; the rest is the log. */
#include "fake_nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct NvrtcProgram {
    char *source, options[1024];
};

int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 34;
    return 0;
}

const char *nvrtcGetErrorString(int result) {
    return result == 7 ? "FAKE_SEVEN" : "FAKE";
}

int nvrtcGetNumSupportedArchs(int *n) {
    *n = 3;
    return 0;
}

int nvrtcGetSupportedArchs(int *archs) {
    archs[0] = 80, archs[1] = 90, archs[2] = 100;
    return 0;
}

int nvrtcCreateProgram(Program *p, const char *source, const char *name, int n, const char *const *headers, const char *const *names) {
    int rc = 0;
    (void)name, (void)n, (void)headers, (void)names;
    if (sscanf(source, "create %d", &rc) == 1) return rc;
    *p = calloc(1, sizeof **p);
    (*p)->source = strdup(source);
    return 0;
}

int nvrtcDestroyProgram(Program *p) {
    free((*p)->source);
    free(*p);
    *p = NULL;
    return 0;
}

int nvrtcCompileProgram(Program p, int n, const char *const *options) {
    int rc = 0;
    for (int i = 0; i < n; i++) strcat(strcat(p->options, i ? " " : ""), options[i]);
    return sscanf(p->source, "fail %d", &rc) == 1 ? rc : 0;
}

static int empty(Program p) {
    return !strncmp(p->source, "empty", 5);
}

/* The code is the options that it was made with. */
int nvrtcGetCUBINSize(Program p, size_t *n) {
    *n = empty(p) ? 0 : strlen(p->options) + 1;
    return 0;
}

int nvrtcGetCUBIN(Program p, char *cubin) {
    strcpy(cubin, empty(p) ? "" : p->options);
    return 0;
}

int nvrtcGetPTXSize(Program p, size_t *n) {
    return nvrtcGetCUBINSize(p, n), *n += 4, 0;
}

int nvrtcGetPTX(Program p, char *ptx) {
    strcpy(ptx, "PTX ");
    return nvrtcGetCUBIN(p, ptx + 4);
}

static const char *log_in(Program p) {
    const char *end = strchr(p->source, '\n');
    return end ? end + 1 : "";
}

int nvrtcGetProgramLogSize(Program p, size_t *n) {
    *n = strlen(log_in(p)) + 1;
    return 0;
}

int nvrtcGetProgramLog(Program p, char *log) {
    strcpy(log, log_in(p));
    return 0;
}
