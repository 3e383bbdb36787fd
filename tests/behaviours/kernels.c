/* kernels.c - kernels of a text: compiled by NVRTC, where there is one, and run by the public road.
 *
 * Where there is no GPU, fake_cpp.so makes code for this processor of them and fake_cuda.so is the driver: memory of its own,
 * everything as late as it may be.  So host code, moves, barriers and the arguments of kernels are all put to the test. */
#include "kernels.h"

#include "../nvrtc/fake_cuda.h"
#include "nvrtc/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- compiling ---- */

static NvCompiler *compiler(Kernels *k) {
    Fault f = { 0 };
    Barrier b;
    NvCompiler *volatile c = NULL;
    if (*k->no_nvrtc) return NULL;
    if (FAULT_TRY(&f, b)) {
        c = nv_compiler_open(NULL, &f);
        FAULT_END(&f, b);
    } else snprintf(k->no_nvrtc, sizeof k->no_nvrtc, "%s", f.info.message);
    return c;
}

static void compile_for(Case *c, NvCompiler *nvrtc, const char *source, const char *arch) {
    NvOptions o = { .arch = nv_arch(&c->arena, nvrtc, arch) };
    NvReport report = { 0 };
    size_t n = 0;
    nv_compile(&c->arena, nvrtc, &o, source, "text", &n, &report);
    if (!n) case_fail(c, arch, "NVRTC gave no code");
    for (int i = 0; i < report.n; i++)
        if (report.kernel[i].spill_stores) case_fail(c, arch, arena_printf(&c->arena, "kernel %s spills registers", report.kernel[i].name));
    if (report.n_warnings) case_fail(c, arch, report.warning[0]);
}

/* Tenths rotate by the day. */
static bool is_turn(const char *name) {
    return (hash_bytes(name, strlen(name), 0) + (uint64_t)time(NULL) / 86400) % 10 == 0 || getenv("MLC_LONG");
}

void kernels_compile(Kernels *k, Case *c, const char *name) {
    Barrier b;
    k->texts++;
    if (c->state != CASE_GOOD) return;
    NvCompiler *nvrtc = compiler(k);
    if (FAULT_TRY(&c->fault, b)) {
        StrBuf source;
        sb_init(&source, &c->arena);
        cg_cuda(&source, c->program, &(CgOptions){ .isa = c->isa, .symbol = "text" });
        if (nvrtc) compile_for(c, nvrtc, source.at, "sm_90a");
        if (nvrtc && is_turn(name)) {
            compile_for(c, nvrtc, source.at, "sm_80");
            compile_for(c, nvrtc, source.at, "sm_100a");
        }
        k->compiled += nvrtc != NULL;
        FAULT_END(&c->fault, b);
    } else case_fail(c, "kernels", c->fault.info.message);
    if (nvrtc) nv_compiler_close(nvrtc);
}

/* ---- running ---- */

static const char *path_of(const Kernels *k, const char *name, char *space, size_t size) {
    snprintf(space, size, "%s%s/tests/nvrtc/%s", *k->build == '/' ? "" : "./", k->build, name);
    return space;
}

static const FakeCuda *fake_driver(Kernels *k) {
    char path[600];
    const FakeCuda *(*get)(void);
    if (*k->no_run) return NULL;
    void *h = dlopen(path_of(k, "fake_cuda.so", path, sizeof path), RTLD_NOW | RTLD_LOCAL);
    if (!h) snprintf(k->no_run, sizeof k->no_run, "%.120s", dlerror());
    else if (system("command -v g++ >/dev/null 2>&1")) snprintf(k->no_run, sizeof k->no_run, "there is no g++");
    if (*k->no_run) return NULL;
    *(void **)&get = dlsym(h, "fake_cuda");
    return get();
}

/* MLC_NVRTC and MLC_LIBCUDA of what stands in for a GPU. */
static void run_fake(Kernels *k, Case *c, const FakeCuda *fake) {
    char driver[600], nvrtc[600], own[600];
    const char *before = getenv("MLC_NVRTC");
    snprintf(own, sizeof own, "%s", before ? before : "");
    fake->reset();
    setenv("MLC_LIBCUDA", path_of(k, "fake_cuda.so", driver, sizeof driver), 1);
    setenv("MLC_NVRTC", path_of(k, "fake_cpp.so", nvrtc, sizeof nvrtc), 1);
    case_run_public(c);
    unsetenv("MLC_LIBCUDA");
    if (before) setenv("MLC_NVRTC", own, 1);
    else unsetenv("MLC_NVRTC");
}

bool kernels_run(Kernels *k, Case *c, KernelCounts *counts) {
    const FakeCuda *fake = k->device ? NULL : fake_driver(k);
    if (c->state != CASE_GOOD || (!fake && !k->device)) return false;
    snprintf(c->isa_name, sizeof c->isa_name, "cuda");
    k->run++;
    if (!fake) {
        snprintf(c->cc, sizeof c->cc, "gcc"); /* machines with GPUs may have no other */
        case_run_public(c);
        return false;
    }
    run_fake(k, c, fake);
    FakeStats s = fake->stats();
    *counts = (KernelCounts){ s.launches, s.copies_there, s.copies_home };
    if (s.live) case_fail(c, "memory of the device", arena_printf(&c->arena, "%lld allocations were not given back", (long long)s.live));
    return true;
}

void kernels_report(const Kernels *k) {
    if (!k->texts) return;
    if (k->compiled < k->texts) printf("skipped: %d of %d texts were not compiled by NVRTC: %s\n", k->texts - k->compiled, k->texts, k->no_nvrtc);
    if (k->run < k->texts) printf("skipped: kernels of %d of %d texts did not run: %s\n", k->texts - k->run, k->texts, k->no_run);
}
