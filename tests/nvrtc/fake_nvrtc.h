/* fake_nvrtc.h - the functions of NVRTC that mlc calls, as the libraries which stand in for it define them. */
#ifndef FAKE_NVRTC_H
#define FAKE_NVRTC_H

#include <stddef.h>

typedef struct NvrtcProgram *Program;

int nvrtcVersion(int *major, int *minor);
const char *nvrtcGetErrorString(int result);
int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetSupportedArchs(int *archs);
int nvrtcCreateProgram(Program *p, const char *source, const char *name, int n, const char *const *headers, const char *const *names);
int nvrtcDestroyProgram(Program *p);
int nvrtcCompileProgram(Program p, int n, const char *const *options);
int nvrtcGetCUBINSize(Program p, size_t *n);
int nvrtcGetCUBIN(Program p, char *cubin);
int nvrtcGetPTXSize(Program p, size_t *n);
int nvrtcGetPTX(Program p, char *ptx);
int nvrtcGetProgramLogSize(Program p, size_t *n);
int nvrtcGetProgramLog(Program p, char *log);

#endif
