/* test_nvrtc.c - the compiler of kernels: how it is found, what it says, and what the log holds.  A fake library answers where
 * the answer matters; the real one, where there is one, shows that the fake answers alike. */
#include "nvrtc/nvrtc.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *nvrtc_suite(void);

static Arena arena;
static Fault fault;
static char fake[512];

static void setup(void) {
    memset(&fault, 0, sizeof fault);
    arena_init(&arena, NULL, &fault);
    const char *build = getenv("MLC_BUILD");
    snprintf(fake, sizeof fake, "%s/tests/nvrtc/fake_nvrtc.so", build ? build : "build");
    if (!strchr(fake, '/')) ck_abort();
    if (*fake != '/') { /* a path, not a name that the loader looks for */
        char with_dot[520];
        snprintf(with_dot, sizeof with_dot, "./%s", fake);
        memcpy(fake, with_dot, sizeof fake);
    }
    setenv("MLC_NVRTC", fake, 1);
}

static void teardown(void) {
    arena_free(&arena);
}

/* NULL and an error in `fault`, or a compiler. */
static NvCompiler *opened(const mlc_allocator *hook) {
    Barrier b;
    NvCompiler *volatile c = NULL;
    memset(&fault, 0, sizeof fault);
    if (FAULT_TRY(&fault, b)) {
        c = nv_compiler_open(hook, &fault);
        FAULT_END(&fault, b);
    }
    return c;
}

/* The code of a source under the name "blur"; NULL and an error in `fault`. */
static const char *compiled(NvCompiler *c, const char *arch, const char *source, NvReport *report) {
    Barrier b;
    size_t n;
    const char *volatile code = NULL;
    memset(&fault, 0, sizeof fault);
    if (FAULT_TRY(&fault, b)) {
        code = nv_compile(&arena, c, &(NvOptions){ .arch = arch }, source, "blur", &n, report);
        ck_assert_uint_gt(n, 0);
        FAULT_END(&fault, b);
    }
    return code;
}

START_TEST(what_is_not_there_is_said) {
    setenv("MLC_NVRTC", "/nowhere/libnvrtc.so.13", 1);
    ck_assert_ptr_null(opened(NULL));
    ck_assert_str_eq(fault.info.message, "NVRTC, which compiles for GPUs, was not found: MLC_NVRTC is /nowhere/libnvrtc.so.13: "
                     "/nowhere/libnvrtc.so.13: cannot open shared object file: No such file or directory; install the CUDA "
                     "toolkit or Python's nvidia-cuda-nvrtc, or set MLC_NVRTC to the path of libnvrtc.so.13");
    setenv("MLC_NVRTC", "libm.so.6", 1); /* a library, but another one */
    ck_assert_ptr_null(opened(NULL));
    ck_assert_ptr_nonnull(strstr(fault.info.message, "MLC_NVRTC is libm.so.6: "));
}
END_TEST

/* Each failing allocation is an error of its own, and leaves nothing behind. */
static int left_to_fail;
static void *failing(void *user, void *old, size_t size) {
    (void)user;
    if (size && left_to_fail-- == 0) return NULL;
    return mlc_allocator_libc.resize(NULL, old, size);
}

/* Compiles with memory for n allocations. */
static bool compiles_with(NvCompiler *c, const mlc_allocator *hook, int n) {
    Arena own;
    Barrier b;
    bool volatile good = false;
    size_t size;
    left_to_fail = n;
    memset(&fault, 0, sizeof fault);
    arena_init(&own, hook, &fault);
    if (FAULT_TRY(&fault, b)) {
        nv_compile(&own, c, &(NvOptions){ .arch = "sm_90a" }, "good\nptxas info : Compiling entry function 'k' for 'sm_90a'\n", "k",
                   &size, &(NvReport){ 0 });
        good = true;
        FAULT_END(&fault, b);
    } else ck_assert_str_eq(err_name((ErrCode)fault.info.code), "OUT_OF_MEMORY");
    arena_free(&own);
    return good;
}

START_TEST(memory_may_be_out) {
    mlc_allocator hook = { .resize = failing };
    NvCompiler *c;
    int n = 0;
    for (left_to_fail = n; !(c = opened(&hook)); left_to_fail = ++n)
        ck_assert_str_eq(err_name((ErrCode)fault.info.code), "OUT_OF_MEMORY");
    ck_assert_int_gt(n, 1);
    for (n = 0; !compiles_with(c, &hook, n);) n++; /* while a program of NVRTC's is open */
    ck_assert_int_gt(n, 0);
    left_to_fail = 1 << 30;
    nv_compiler_close(c);
}
END_TEST

START_TEST(options_are_keys) {
    NvCompiler *c = opened(NULL);
    ck_assert_str_eq(nv_flags(&arena, &(NvOptions){ .arch = "sm_90a" }), "--gpu-architecture=sm_90a --std=c++17 --fmad=false "
                     "--ftz=false --prec-div=true --prec-sqrt=true --ptxas-options=-v");
    ck_assert_str_eq(nv_flags(&arena, &(NvOptions){ .arch = "sm_80", .line_info = true }), "--gpu-architecture=sm_80 --std=c++17 "
                     "--fmad=false --ftz=false --prec-div=true --prec-sqrt=true --ptxas-options=-v -lineinfo");
    /* and what a compile is done with */
    ck_assert_str_eq(compiled(c, "sm_90a", "good", NULL), nv_flags(&arena, &(NvOptions){ .arch = "sm_90a" }));
    ck_assert_ptr_nonnull(strstr(nv_compiler_identity(c), "NVRTC 12.34 "));
    ck_assert_ptr_nonnull(strstr(nv_compiler_identity(c), "fake_nvrtc.so"));
    /* of an architecture that is too new for it, the newest virtual one that is not: PTX */
    ck_assert_str_eq(nv_arch(&arena, c, "sm_90a"), "sm_90a");
    ck_assert_str_eq(nv_arch(&arena, c, "sm_103a"), "compute_100");
    ck_assert_str_eq(nv_arch(&arena, c, "sm_70"), "sm_70");
    ck_assert(!strncmp(compiled(c, "compute_100", "good", NULL), "PTX --gpu-architecture=compute_100 ", 35));
    size_t n;
    ck_assert(!strncmp(nv_compile(&arena, c, &(NvOptions){ .arch = "sm_90a", .ptx = true }, "good", "k", &n, NULL), "PTX --gpu-architecture=sm_90a ", 30));
    nv_compiler_close(c);
}
END_TEST

static const struct {
    const char *source, *message;
} failures[] = {
    { "fail 6\nblur.cu(1): error: identifier \"g\" is undefined\n",
      "NVRTC cannot compile the kernels of blur for sm_90a: blur.cu(1): error: identifier \"g\" is undefined; report it with what "
      "mlc explain --level cuda prints" },
    { "fail 6\nptxas info    : 0 bytes gmem\nptxas         .     0 bytes stack frame\nptxas fatal   : no\n\n",
      "NVRTC cannot compile the kernels of blur for sm_90a: ptxas fatal   : no; report it with what mlc explain --level cuda prints" },
    { "fail 7\n", "NVRTC cannot compile the kernels of blur for sm_90a: FAKE_SEVEN; report it with what mlc explain --level cuda prints" },
    { "create 7\n", "NVRTC cannot compile the kernels of blur for sm_90a: FAKE_SEVEN; report it with what mlc explain --level cuda prints" },
    { "empty\n", "NVRTC cannot compile the kernels of blur for sm_90a: nothing, and made no code; report it with what mlc explain "
                 "--level cuda prints" },
    { "fail 6\n1\n2\n3\n4\n5\n6\n7\n", "NVRTC cannot compile the kernels of blur for sm_90a: 1\n2\n3\n4\n5\n6; report it with what mlc "
                                       "explain --level cuda prints" },
};

START_TEST(failures_are_said) {
    NvCompiler *c = opened(NULL);
    ck_assert_ptr_null(compiled(c, "sm_90a", failures[_i].source, NULL));
    ck_assert_str_eq(fault.info.message, failures[_i].message);
    nv_compiler_close(c);
}
END_TEST

START_TEST(the_log_is_read) {
    NvReport r;
    nv_report(&arena,
              "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n"
              "ptxas info    : 17 bytes gmem\n"
              "ptxas info    : Compiling entry function 'blur' for 'sm_90a'\n"
              "ptxas info    : Function properties for blur\n"
              "ptxas         .     800 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
              "ptxas info    : Used 32 registers, used 1 barriers, 832 bytes cumulative stack size, 512 bytes smem\n"
              "ptxas info    : Compile time = 531.468 ms\n"
              "ptxas info    : Function properties for _ZN1hEf\n"
              "ptxas         .     4000 bytes stack frame, 400 bytes spill stores, 400 bytes spill loads\n"
              "ptxas info    : Compiling entry function 'fill' for 'sm_90a'\n"
              "ptxas info    : Function properties for fill\n"
              "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
              "ptxas info    : Used 10 registers, 1024 bytes smem, 368 bytes cmem[0]",
              &r);
    ck_assert_int_eq(r.n, 2);
    ck_assert_str_eq(r.kernel[0].name, "blur");
    ck_assert_int_eq(r.kernel[0].registers, 32);
    ck_assert_int_eq(r.kernel[0].stack, 832);
    ck_assert_int_eq(r.kernel[0].spill_stores, 12);
    ck_assert_int_eq(r.kernel[0].spill_loads, 16);
    ck_assert_int_eq(r.kernel[0].shared, 512);
    ck_assert_str_eq(r.kernel[1].name, "fill");
    ck_assert_int_eq(r.kernel[1].registers, 10);
    ck_assert_int_eq(r.kernel[1].stack, 0);
    ck_assert_int_eq(r.kernel[1].spill_stores, 0);
    ck_assert_int_eq(r.kernel[1].shared, 1024);
    ck_assert_int_eq(r.n_warnings, 1);
    ck_assert_ptr_nonnull(strstr(r.warning[0], "(C7508)"));
    nv_report(&arena, "", &r);
    ck_assert_int_eq(r.n + r.n_warnings, 0);
}
END_TEST

/* ---- the disassembler: a program of the shell stands in for it ---- */

/* The text of a "cubin", or NULL and an error in `fault`. */
static const char *disassembled(const char *cubin) {
    Barrier b;
    const char *volatile text = NULL;
    memset(&fault, 0, sizeof fault);
    if (FAULT_TRY(&fault, b)) {
        text = nv_disassemble(&arena, cubin, strlen(cubin));
        FAULT_END(&fault, b);
    }
    return text;
}

static void write_script(const char *path, const char *body) {
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "#!/bin/sh\n%s\n", body);
    fclose(f);
    ck_assert_int_eq(chmod(path, 0700), 0);
}

START_TEST(sass_is_read) {
    char dir[] = "/tmp/mlc-sass-XXXXXX", own[64], other[64], want[400];
    const char *path = getenv("PATH");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(own, sizeof own, "%s/own", dir);
    snprintf(other, sizeof other, "%s/cuobjdump", dir);
    setenv("MLC_NVDISASM", own, 1);
    ck_assert_ptr_null(disassembled("code"));
    snprintf(want, sizeof want, "no disassembler of GPU code was found: MLC_NVDISASM is %s: No such file or directory; install the CUDA toolkit "
             "or Python's nvidia-cuda-nvdisasm, or set MLC_NVDISASM to the path of nvdisasm or cuobjdump", own);
    ck_assert_str_eq(fault.info.message, want);
    write_script(own, "echo \"$1\"; cat \"$2\"");
    ck_assert_str_eq(disassembled("HGMMA\n"), "-c\nHGMMA\n");
    write_script(own, "echo too new >&2; exit 3");
    ck_assert_ptr_null(disassembled("code"));
    snprintf(want, sizeof want, "%s cannot disassemble the kernels: too new; take a disassembler as new as NVRTC, or look at --level ptx", own);
    ck_assert_str_eq(fault.info.message, want);
    write_script(other, "echo \"$1\"; cat \"$2\"");
    unsetenv("MLC_NVDISASM");
    char *before = strdup(path ? path : ""), now[600];
    snprintf(now, sizeof now, "%s:%.500s", dir, before);
    setenv("PATH", now, 1);
    const char *found = disassembled("HMMA\n"); /* nvdisasm, where it is in the path, comes first and knows no such code */
    ck_assert(!found ? fault.info.code == ERR_NVDISASM_FAILED : !strcmp(found, "-sass\nHMMA\n"));
    setenv("PATH", before, 1);
    free(before);
    unlink(own), unlink(other), rmdir(dir);
}
END_TEST

/* ---- the real one ---- */

static NvCompiler *real(const char *test) {
    unsetenv("MLC_NVRTC");
    NvCompiler *c = opened(NULL);
    if (!c) printf("  skipped: %s: %s\n", test, fault.info.message);
    return c;
}

static const char kernels[] = "extern \"C\" __global__ void __launch_bounds__(128) turn(const float *__restrict__ a, float *__restrict__ b) {\n"
                              "    __shared__ float s[128];\n"
                              "    s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];\n"
                              "    __syncthreads();\n"
                              "    b[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];\n"
                              "}\n"
                              "extern \"C\" __global__ void twice(float *a, int n) {\n"
                              "    float big[200];\n"
                              "    for (int i = 0; i < 200; i++) big[i] = a[i * n];\n"
                              "    a[0] = big[n] * 2;\n"
                              "}\n";

START_TEST(nvrtc_makes_cubins) {
    NvCompiler *c = real("nvrtc_makes_cubins");
    if (!c) return;
    static const char *const archs[] = { "sm_80", "sm_90a", "sm_100a" };
    for (int i = 0; i < 3; i++) {
        NvReport r;
        const char *arch = nv_arch(&arena, c, archs[i]), *code = compiled(c, arch, kernels, &r);
        ck_assert_msg(code != NULL, "%s", fault.info.message);
        if (strcmp(arch, archs[i])) continue; /* too new for this NVRTC: PTX, without a report */
        ck_assert_int_eq(memcmp(code, "\177ELF", 4), 0);
        ck_assert_int_eq(r.n, 2);
        for (int k = 0; k < 2; k++) {
            bool turn = !strcmp(r.kernel[k].name, "turn");
            if (!turn) ck_assert_str_eq(r.kernel[k].name, "twice");
            ck_assert_int_gt(r.kernel[k].registers, 0);
            ck_assert_int_eq(r.kernel[k].stack, turn ? 0 : 800);
            ck_assert_int_ge(r.kernel[k].shared, turn ? 512 : 0);
        }
        ck_assert_int_eq(r.n_warnings, 0);
    }
    const char *ptx = compiled(c, "compute_80", kernels, NULL);
    ck_assert_ptr_nonnull(strstr(ptx, ".entry turn"));
    nv_compiler_close(c);
}
END_TEST

START_TEST(nvrtc_fails_alike) {
    NvCompiler *c = real("nvrtc_fails_alike");
    if (!c) return;
    ck_assert_ptr_null(compiled(c, "sm_90a", "extern \"C\" __global__ void f() { g(); }\n", NULL));
    ck_assert_ptr_nonnull(strstr(fault.info.message, "for sm_90a: blur.cu(1): error: identifier \"g\" is undefined"));
    ck_assert_ptr_null(compiled(c, "sm_1", kernels, NULL));
    ck_assert_ptr_nonnull(strstr(fault.info.message, "for sm_1: nvrtc: error: invalid value for --gpu-architecture (-arch); report"));
    NvReport r;
    ck_assert_ptr_nonnull(compiled(c, "sm_90a", "extern \"C\" __global__ void w(float *p) {\n"
                                   "    asm volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\");\n    p[threadIdx.x] = 1;\n}\n", &r));
    ck_assert_int_eq(r.n_warnings, 1);
    ck_assert_ptr_nonnull(strstr(r.warning[0], "(C7508)"));
    nv_compiler_close(c);
}
END_TEST

Suite *nvrtc_suite(void) {
    Suite *s = suite_create("nvrtc");
    TCase *t = tcase_create("nvrtc");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, what_is_not_there_is_said);
    tcase_add_test(t, memory_may_be_out);
    tcase_add_test(t, options_are_keys);
    tcase_add_loop_test(t, failures_are_said, 0, (int)(sizeof failures / sizeof *failures));
    tcase_add_test(t, the_log_is_read);
    tcase_add_test(t, sass_is_read);
    tcase_add_test(t, nvrtc_makes_cubins);
    tcase_add_test(t, nvrtc_fails_alike);
    suite_add_tcase(s, t);
    return s;
}
