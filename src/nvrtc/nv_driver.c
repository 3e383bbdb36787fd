/* nv_driver.c - libcuda.so.1, loaded when it is needed.
 *
 * The driver is of the machine, not of the toolkit: programs ask it for functions as they were in a version, so that one
 * binary runs with any newer driver.  $MLC_LIBCUDA names another file: the tests' own, or a driver that the loader does not find. */
#include "nvrtc/nvrtc_priv.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { AS_OF = 12000 };

static const char *const names[] = {
#define DRIVER(name, params) #name,
#include "nvrtc/driver.def"
#undef DRIVER
};
enum { FUNCTIONS = (int)(sizeof names / sizeof *names) };

typedef int Lookup(const char *name, void **function, int version, uint64_t flags, int *status);

/* NULL, or what is missing. */
static const char *look_up(NvDriver *v) {
    static const char *const lookup_name = "cuGetProcAddress_v2";
    void **slot[] = {
#define DRIVER(name, params) (void **)&v->name,
#include "nvrtc/driver.def"
#undef DRIVER
    };
    Lookup *lookup;
    *(void **)&lookup = dlsym(v->library, lookup_name);
    if (!lookup) return lookup_name;
    for (int i = 0; i < FUNCTIONS; i++) {
        int status = 0;
        if (lookup(names[i], slot[i], AS_OF, 0, &status) || !*slot[i]) return names[i];
    }
    return NULL;
}

/* Where containers and WSL put it, which a loader need not know. */
static const char *const places[] = { "libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1" };

static void open_library(NvDriver *v, Fault *f) {
    const char *const given[] = { getenv("MLC_LIBCUDA") };
    bool is_given = *given && **given;
    const char *const *list = is_given ? given : places, *path = NULL;
    int n = is_given ? 1 : (int)(sizeof places / sizeof *places);
    char text[700] = "";
    for (int i = 0; i < n && !v->library; i++) {
        path = list[i];
        v->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* it has threads of its own: it stays */
        const char *why = v->library ? NULL : dlerror();
        if (!i && why) snprintf(text, sizeof text, "%s", why);
    }
    if (!v->library) fault_raise(f, ERR_CUDA_MISSING, NULL, text);
    const char *missing = look_up(v);
    if (!missing) return;
    snprintf(text, sizeof text, "%s has no %s, which drivers of CUDA 12 have", path, missing);
    nv_driver_close(v);
    fault_raise(f, ERR_CUDA_MISSING, NULL, text);
}

void nv_driver_open(NvDriver *v, int ordinal, Fault *f) {
    *v = (NvDriver){ 0 };
    open_library(v, f);
    int rc = v->cuInit(0), n = 0;
    if (!rc) rc = v->cuDeviceGetCount(&n);
    if (!rc) rc = v->cuDriverGetVersion(&v->version);
    if (!rc) return;
    if (rc == CU_NO_DEVICE) fault_note(f, ERR_CUDA_NO_DEVICE, NULL, ordinal, 0);
    else nv_note(v, rc, "starting the driver", ordinal, f);
    nv_driver_close(v);
    fault_jump(f);
}

void nv_driver_close(NvDriver *v) {
    if (v->library) dlclose(v->library);
    v->library = NULL;
}

const char *nv_driver_error(const NvDriver *v, int error, const char **text) {
    const char *name = NULL;
    if (v->cuGetErrorString(error, text) || !*text) *text = "the driver does not say what";
    return v->cuGetErrorName(error, &name) || !name ? "an unknown error" : name;
}

void nv_note(const NvDriver *v, int error, const char *what, int ordinal, Fault *f) {
    const char *text, *name = nv_driver_error(v, error, &text);
    fault_note(f, ERR_CUDA_FAILED, NULL, what, ordinal, name, text);
}
