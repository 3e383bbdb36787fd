/* test_driver.c - devices, modules, memory and launches, over the driver of fake_cuda.c, which does everything as late as it may. */
#include "nvrtc/nvrtc.h"

#include "fake_cuda.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *driver_suite(void);

static Fault fault;
static const FakeCuda *fake;
static char path[600];
#define ENDS "; nvidia-smi shows its state, compute-sanitizer what a kernel does wrong"

static void setup(void) {
    const char *build = getenv("MLC_BUILD");
    const FakeCuda *(*get)(void);
    snprintf(path, sizeof path, "%s%s/tests/nvrtc/fake_cuda.so", build && *build == '/' ? "" : "./", build ? build : "build");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&get = dlsym(library, "fake_cuda");
    fake = get();
    fake->reset();
    setenv("MLC_LIBCUDA", path, 1);
    unsetenv("MLC_GPU_WAIT");
    memset(&fault, 0, sizeof fault);
}

static void teardown(void) {
    fake->reset();
}

/* NULL and an error in `fault`, or a device. */
static NvDevice *opened_with(const mlc_allocator *hook, int ordinal) {
    Barrier b;
    NvDevice *volatile d = NULL;
    memset(&fault, 0, sizeof fault);
    if (FAULT_TRY(&fault, b)) {
        d = nv_device_open(hook, ordinal, &fault);
        FAULT_END(&fault, b);
    }
    return d;
}

static NvDevice *opened(int ordinal) {
    return opened_with(NULL, ordinal);
}

static NvModule *loaded(NvDevice *d, int n, const char *const *names) {
    Barrier b;
    NvModule *volatile m = NULL;
    memset(&fault, 0, sizeof fault);
    if (FAULT_TRY(&fault, b)) {
        m = nv_module_load(d, "code", n, names, &fault);
        FAULT_END(&fault, b);
    }
    return m;
}

static int listed(NvDeviceInfo *info, int most) {
    Barrier b;
    int volatile n = -1;
    memset(&fault, 0, sizeof fault);
    if (FAULT_TRY(&fault, b)) {
        n = nv_device_list(info, most, &fault);
        FAULT_END(&fault, b);
    }
    return n;
}

/* ---- opening ---- */

START_TEST(no_driver_is_said) {
    setenv("MLC_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    ck_assert_ptr_null(opened(0));
    ck_assert_str_eq(fault.info.message, "there is no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or "
                     "directory; install NVIDIA's driver for the GPU, or set MLC_LIBCUDA to the path of its libcuda.so.1");
    ck_assert_int_eq(listed(NULL, 0), -1);
    ck_assert_int_eq(fault.info.code, ERR_CUDA_MISSING);
    setenv("MLC_LIBCUDA", "libm.so.6", 1);
    ck_assert_ptr_null(opened(0));
    ck_assert_str_eq(fault.info.message, "there is no CUDA driver: libm.so.6 has no cuGetProcAddress_v2, which drivers of CUDA 12 have; "
                     "install NVIDIA's driver for the GPU, or set MLC_LIBCUDA to the path of its libcuda.so.1");
    setenv("MLC_LIBCUDA", path, 1);
    setenv("FAKE_CUDA_LACKS", "cuMemPoolCreate", 1);
    ck_assert_ptr_null(opened(0));
    ck_assert_ptr_nonnull(strstr(fault.info.message, "fake_cuda.so has no cuMemPoolCreate, which drivers of CUDA 12 have;"));
    unsetenv("FAKE_CUDA_LACKS");
}
END_TEST

START_TEST(no_gpu_is_said) {
    fake->devices(0);
    ck_assert_ptr_null(opened(0));
    ck_assert_str_eq(fault.info.message, "there is no GPU 0: the driver finds 0; choose one that is there, or look at nvidia-smi and "
                     "CUDA_VISIBLE_DEVICES");
    fake->devices(2);
    ck_assert_ptr_null(opened(2));
    ck_assert_str_eq(fault.info.message, "there is no GPU 2: the driver finds 2; choose one that is there, or look at nvidia-smi and "
                     "CUDA_VISIBLE_DEVICES");
    ck_assert_ptr_null(opened(-1));
    ck_assert_int_eq(fault.info.code, ERR_CUDA_NO_DEVICE);
    ck_assert_int_eq(fake->stats().primary, 0);
}
END_TEST

START_TEST(a_driver_that_fails_is_said) {
    fake->let_fail("cuInit", 0, 999);
    ck_assert_ptr_null(opened(1));
    ck_assert_str_eq(fault.info.message, "starting the driver failed on GPU 1: an unknown error (the driver does not say what); "
                     "nvidia-smi shows its state, compute-sanitizer what a kernel does wrong");
    fake->let_fail("cuMemPoolCreate", 0, 2);
    ck_assert_ptr_null(opened(0));
    ck_assert_str_eq(fault.info.message, "opening it failed on GPU 0: CUDA_ERROR_OUT_OF_MEMORY (out of memory)" ENDS);
    fake->let_fail("cuDeviceGetName", 0, 1);
    ck_assert_int_eq(listed(&(NvDeviceInfo){ 0 }, 1), -1);
    ck_assert_str_eq(fault.info.message, "asking it what it is failed on GPU 0: CUDA_ERROR_INVALID_VALUE (invalid argument)" ENDS);
}
END_TEST

static int left_to_fail;
static void *failing(void *user, void *old, size_t size) {
    (void)user;
    if (size && left_to_fail-- == 0) return NULL;
    return mlc_allocator_libc.resize(NULL, old, size);
}

/* Whatever fails, it is an error, and nothing stays. */
START_TEST(opening_may_fail_anywhere) {
    mlc_allocator hook = { .resize = failing };
    NvDevice *d;
    int n = 0;
    left_to_fail = 0;
    ck_assert_ptr_null(opened_with(&hook, 0));
    ck_assert_int_eq(fault.info.code, ERR_OUT_OF_MEMORY);
    for (;; n++) {
        fake->let_fail(NULL, n, 2);
        if ((d = opened_with(&hook, 0))) break;
        ck_assert_int_eq(fault.info.code, ERR_CUDA_FAILED);
        ck_assert_int_eq(fake->stats().primary, 0);
        ck_assert_int_eq(fake->stats().pools, 0);
    }
    ck_assert_int_gt(n, 12);
    fake->let_fail(NULL, 0, 0);
    nv_device_close(d);
    ck_assert_int_eq(fake->stats().primary, 0);
    ck_assert_int_eq(fake->stats().pools, 0);
}
END_TEST

START_TEST(devices_are_listed) {
    NvDeviceInfo info[3];
    memset(info, 0, sizeof info);
    fake->devices(2);
    ck_assert_int_eq(listed(NULL, 0), 2);
    ck_assert_int_eq(listed(info, 1), 2);
    ck_assert_str_eq(info[1].name, "");
    ck_assert_int_eq(listed(info, 3), 2);
    ck_assert_str_eq(info[0].name, "Fake 0");
    ck_assert_str_eq(info[0].arch, "sm_90a");
    ck_assert_str_eq(info[1].arch, "sm_80");
    ck_assert_int_eq(info[1].ordinal, 1);
    ck_assert_int_eq(info[0].processors, 132);
    ck_assert_int_eq(info[0].driver, 13010);
    ck_assert_int_eq(info[0].shared_limit, 232448);
    ck_assert_int_eq(info[0].grid_limit[0], 2147483647);
    ck_assert_int_eq(info[0].grid_limit[2], 65535);
    ck_assert_uint_eq(info[0].memory, 1u << 30);
    ck_assert_int_eq(fake->stats().primary, 0); /* and none is in use */
}
END_TEST

START_TEST(a_current_context_is_used) {
    NvDeviceInfo info;
    uint64_t p;
    fake->devices(2);
    void *own = fake->context(1);
    fake->set_current(own);
    NvDevice *d = opened(0);
    nv_device_info(d, &info);
    ck_assert_int_eq(info.ordinal, 1);
    ck_assert_int_eq(fake->stats().primary, 0);
    ck_assert_int_eq(nv_alloc(d, NULL, 100, &p), 0);
    ck_assert_int_eq(nv_free(d, NULL, p), 0);
    nv_device_close(d);
    ck_assert_ptr_eq(fake->current(), own);
    ck_assert_int_eq(fake->depth(), 1);
    fake->set_current(NULL);
    d = opened(0); /* the primary one of the device that is asked for, current for nobody afterwards */
    nv_device_info(d, &info);
    ck_assert_int_eq(info.ordinal, 0);
    ck_assert_int_eq(fake->stats().primary, 1);
    ck_assert_int_eq(nv_alloc(d, NULL, 100, &p), 0);
    ck_assert_int_eq(nv_free(d, NULL, p), 0);
    ck_assert_int_eq(fake->depth(), 0);
    fake->set_current(own); /* what a thread has is put back */
    ck_assert_int_eq(nv_alloc(d, NULL, 100, &p), 0);
    ck_assert_int_eq(nv_free(d, NULL, p), 0);
    ck_assert_ptr_eq(fake->current(), own);
    ck_assert_int_eq(fake->depth(), 1);
    nv_device_close(d);
    ck_assert_int_eq(fake->stats().primary, 0);
}
END_TEST

START_TEST(a_child_of_fork_leaves_it_alone) {
    NvDevice *d = opened(0);
    const char *const none[] = { NULL };
    NvModule *m = loaded(d, 0, none);
    int64_t calls = fake->stats().calls;
    int status = 0;
    pid_t child = fork();
    if (!child) {
        uint64_t p;
        Barrier b;
        bool told = nv_alloc(d, NULL, 4, &p) == 3 && nv_wait(d, NULL) == 3 && nv_free(d, NULL, 64) == 3;
        if (FAULT_TRY(&fault, b)) {
            nv_device_check(d, &fault);
            told = false;
        }
        nv_module_free(m);
        nv_device_close(d);
        _exit(told && fake->stats().calls == calls && fault.info.code == ERR_CUDA_FORKED ? 7 : 8);
    }
    nv_device_check(d, &fault);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    nv_module_free(m);
    nv_device_close(d);
    ck_assert_int_eq(fake->stats().modules, 0);
}
END_TEST

/* ---- kernels ---- */

static int add(const unsigned grid[3], const unsigned block[3], unsigned shared, void **args) {
    int *p = *(int **)args[0], n = *(int *)args[1];
    for (unsigned i = 0; i < grid[0] * block[0]; i++) p[i] += n + (int)shared;
    return 0;
}

static int crash(const unsigned grid[3], const unsigned block[3], unsigned shared, void **args) {
    (void)grid, (void)block, (void)shared, (void)args;
    return 700;
}

static const char *const two[] = { "add", "crash" };

static NvModule *kernels(NvDevice *d) {
    fake->function(&(FakeFunction){ .name = "add", .run = add, .n_args = 2, .static_shared = 1000, .arg_size = { 8, 4 } });
    fake->function(&(FakeFunction){ .name = "crash", .run = crash });
    NvModule *m = loaded(d, 2, two);
    ck_assert_msg(m != NULL, "%s", fault.info.message);
    return m;
}

START_TEST(modules_may_fail_anywhere) {
    NvDevice *d = opened(0);
    const char *const other[] = { "add", "multiply" };
    NvModule *m = kernels(d);
    nv_module_free(m);
    ck_assert_ptr_null(loaded(d, 2, other));
    ck_assert_str_eq(fault.info.message, "loading kernels failed on GPU 0: CUDA_ERROR_NOT_FOUND (the driver does not say what)" ENDS);
    int n = 0;
    for (;; n++) {
        fake->let_fail(NULL, n, 2);
        if ((m = loaded(d, 2, two))) break;
        ck_assert_str_eq(fault.info.message, "loading kernels failed on GPU 0: CUDA_ERROR_OUT_OF_MEMORY (out of memory)" ENDS);
        ck_assert_int_eq(fake->stats().modules, 0);
        ck_assert_int_eq(fake->depth(), 0);
    }
    ck_assert_int_eq(n, 9); /* current, push; load; each kernel's function, size, limit */
    fake->let_fail(NULL, 0, 0);
    nv_module_free(m);
    nv_device_close(d);
    ck_assert_int_eq(fake->stats().modules, 0);
}
END_TEST

START_TEST(launches_run_in_order) {
    NvDevice *d = opened(0);
    NvModule *m = kernels(d);
    int host[64] = { 0 }, n = 5;
    uint64_t p;
    void *args[] = { &p, &n };
    for (int i = 0; i < 64; i++) host[i] = i;
    ck_assert_int_eq(fake->attribute("add", 8), 232448 - 1000); /* all that a block may have */
    ck_assert_int_eq(nv_alloc(d, NULL, sizeof host, &p), 0);
    ck_assert_int_eq(nv_to_device(d, NULL, p, host, sizeof host), 0);
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ 2, 1, 1 }, (int64_t[]){ 32, 1, 1 }, 0, args), 0);
    n = 100000; /* arguments are taken at the launch */
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ 1, 1, 1 }, (int64_t[]){ 1, 1, 1 }, 200000, args), 0);
    memset(host, 0, sizeof host); /* pageable memory was taken at the copy */
    ck_assert_int_eq(fake->queued(NULL), 3);
    ck_assert_int_eq(nv_to_host(d, NULL, host, p, sizeof host), 0);
    ck_assert_int_eq(fake->queued(NULL), 0);
    ck_assert_int_eq(host[0], 300005);
    for (int i = 1; i < 64; i++) ck_assert_int_eq(host[i], i + 5);
    NvStats s = nv_stats(d);
    ck_assert_int_eq(s.count[NV_LAUNCHES], 2);
    ck_assert_int_eq(s.count[NV_COPIES_THERE], 1);
    ck_assert_int_eq(s.count[NV_BYTES_HOME], sizeof host);
    nv_free(d, NULL, p);
    nv_module_free(m);
    nv_device_close(d);
}
END_TEST

START_TEST(launches_have_limits) {
    NvDevice *d = opened(0);
    NvModule *m = kernels(d);
    uint64_t p = 0;
    int n = 0;
    void *args[] = { &p, &n };
    for (int i = 0; i < 3; i++) { /* nothing to do is no error */
        int64_t grid[3] = { 1, 1, 1 };
        grid[i] = -(i & 1);
        ck_assert_int_eq(nv_launch(m, 0, NULL, grid, (int64_t[]){ 1, 1, 1 }, 0, args), 0);
    }
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ 1, 65536, 1 }, (int64_t[]){ 1, 1, 1 }, 0, args), 1);
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ (int64_t)1 << 32, 1, 1 }, (int64_t[]){ 1, 1, 1 }, 0, args), 1);
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ 1, 1, 1 }, (int64_t[]){ ((int64_t)1 << 32) + 1, 1, 1 }, 0, args), 1);
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ 1, 1, 1 }, (int64_t[]){ 512, 4, 1 }, 0, args), 1);
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ 1, 1, 1 }, (int64_t[]){ 1, 1, 1 }, 232448, args), 1);
    ck_assert_int_eq(nv_launch(m, 0, NULL, (int64_t[]){ 1, 1, 1 }, (int64_t[]){ 1, 1, 1 }, (int64_t)1 << 32, args), 1);
    ck_assert_int_eq(nv_launch(m, 2, NULL, (int64_t[]){ 1, 1, 1 }, (int64_t[]){ 1, 1, 1 }, 0, args), 1);
    ck_assert_int_eq(fake->stats().launches, 0);
    ck_assert_int_eq(nv_stats(d).count[NV_LAUNCHES], 0);
    nv_module_free(m);
    nv_device_close(d);
}
END_TEST

START_TEST(errors_come_late_or_at_once) {
    static const int64_t one[3] = { 1, 1, 1 };
    int host = 0;
    uint64_t p;
    if (_i) setenv("MLC_GPU_WAIT", "1", 1);
    NvDevice *d = opened(0);
    NvModule *m = kernels(d);
    ck_assert_int_eq(nv_alloc(d, NULL, 4, &p), 0);
    ck_assert_int_eq(nv_launch(m, 1, NULL, one, one, 0, NULL), _i ? 700 : 0);
    ck_assert_int_eq(nv_to_host(d, NULL, &host, p, 4), 700);
    ck_assert_str_eq(nv_error_name(d, 700), "CUDA_ERROR_ILLEGAL_ADDRESS");
    ck_assert_int_eq(nv_wait(d, NULL), 700); /* nothing works from then on */
    ck_assert_int_eq(nv_free(d, NULL, p), 700);
    nv_module_free(m);
    nv_device_close(d);
    unsetenv("MLC_GPU_WAIT");
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_is_kept) {
    NvDevice *d = opened(0);
    uint64_t p[3];
    int64_t from_system = 0, reserved = 0;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++) ck_assert_int_eq(nv_alloc(d, NULL, (size_t)1000 << i, &p[i]), 0);
        for (int i = 0; i < 3; i++) ck_assert_int_eq(nv_free(d, NULL, p[i]), 0);
        if (round % 3 == 0) ck_assert_int_eq(nv_wait(d, NULL), 0);
        if (round == 0) from_system = fake->stats().from_system, reserved = nv_stats(d).reserved;
        ck_assert_int_eq(fake->stats().from_system, from_system);
        ck_assert_int_eq(nv_stats(d).reserved, reserved);
    }
    ck_assert_int_eq(from_system, 3);
    ck_assert_int_eq(reserved, 7000);
    ck_assert_int_eq(fake->stats().live, 0);
    ck_assert_int_eq(nv_stats(d).count[NV_ALLOCATIONS], 30);
    ck_assert_int_eq(nv_stats(d).count[NV_FREES], 30);
    ck_assert_int_eq(nv_alloc(d, NULL, 0, &p[0]), 0); /* none is some */
    ck_assert_int_eq(nv_free(d, NULL, p[0]), 0);
    nv_device_close(d);
}
END_TEST

START_TEST(streams_are_apart) {
    NvDevice *d = opened(0);
    void *a = (void *)16, *b = (void *)32;
    int x = 1, y = 2, z = 0;
    uint64_t p, q;
    ck_assert_int_eq(nv_alloc(d, a, 4, &p), 0);
    ck_assert_int_eq(nv_to_device(d, a, p, &x, 4), 0);
    ck_assert_int_eq(nv_free(d, a, p), 0);
    ck_assert_int_eq(nv_alloc(d, b, 4, &q), 0); /* a may be at work on p */
    ck_assert_uint_ne(p, q);
    ck_assert_int_eq(nv_to_device(d, b, q, &y, 4), 0);
    ck_assert_int_eq(nv_alloc(d, a, 4, &p), 0);
    ck_assert_int_eq(nv_to_device(d, a, p, &x, 4), 0);
    ck_assert_int_eq(nv_to_host(d, b, &z, q, 4), 0);
    ck_assert_int_eq(z, 2);
    ck_assert_int_eq(fake->queued(b), 0);
    ck_assert_int_eq(fake->queued(a), 3); /* waiting for b is not waiting for a */
    ck_assert_int_eq(nv_to_host(d, a, &z, p, 4), 0);
    ck_assert_int_eq(z, 1);
    ck_assert_int_eq(nv_free(d, a, p), 0);
    ck_assert_int_eq(nv_free(d, b, q), 0);
    nv_device_close(d);
}
END_TEST

START_TEST(kept_memory_serves_other_sizes) {
    NvDevice *d = opened(0);
    size_t unused, total;
    uint64_t p;
    fake->memory(10000);
    ck_assert_int_eq(nv_alloc(d, NULL, 8000, &p), 0);
    ck_assert_int_eq(nv_free(d, NULL, p), 0);
    ck_assert_int_eq(nv_alloc(d, NULL, 9000, &p), 0); /* only without the 8000 that are kept */
    ck_assert_int_eq(nv_alloc(d, NULL, 2000, &p), 2);
    nv_memory_info(d, &unused, &total);
    ck_assert_uint_eq(unused, 1000);
    ck_assert_uint_eq(total, 10000);
    ck_assert_int_eq(nv_stats(d).count[NV_ALLOCATIONS], 2);
    fake->let_fail("cuMemGetInfo", 0, 1);
    nv_memory_info(d, &unused, &total);
    ck_assert_uint_eq(unused, 0);
    nv_device_close(d);
}
END_TEST

START_TEST(page_locked_memory_may_change_too) {
    NvDevice *d = opened(0);
    int host = 7, back = 0;
    uint64_t p;
    ck_assert_int_eq(nv_alloc(d, NULL, 4, &p), 0);
    int64_t waits = fake->stats().waits;
    ck_assert_int_eq(nv_to_device(d, NULL, p, &host, 4), 0);
    ck_assert_int_eq(fake->stats().waits, waits); /* pageable: nothing to wait for */
    fake->pin(&host, sizeof host);
    ck_assert_int_eq(nv_to_device(d, NULL, p, &host, 4), 0);
    host = 9;
    ck_assert_int_eq(nv_to_host(d, NULL, &back, p, 4), 0);
    ck_assert_int_eq(back, 7);
    ck_assert_int_eq(nv_free(d, NULL, p), 0);
    ck_assert_int_eq(nv_to_device(d, NULL, p, &host, 0), 0); /* no bytes, no copy */
    ck_assert_int_eq(nv_to_host(d, NULL, &back, p, 0), 0);
    ck_assert_int_eq(fake->stats().copies_there + fake->stats().copies_home, 3);
    nv_device_close(d);
}
END_TEST

/* Errors of a round of work whose n-th call of the driver fails; *calls: how many there are. */
static int round_of_work(int n, int64_t *calls) {
    static const int64_t one[3] = { 1, 1, 1 };
    fake->reset();
    NvDevice *d = opened(0);
    NvModule *m = kernels(d);
    uint64_t p = 0;
    int host = 1, by = 1, errors = 0;
    void *args[] = { &p, &by };
    *calls = fake->stats().calls;
    fake->let_fail(NULL, n, 700);
    errors += nv_alloc(d, NULL, 4, &p) == 700;
    if (p) {
        errors += nv_to_device(d, NULL, p, &host, 4) == 700;
        errors += nv_launch(m, 0, NULL, one, one, 0, args) == 700;
        errors += nv_to_host(d, NULL, &host, p, 4) == 700;
        errors += nv_free(d, NULL, p) == 700;
    }
    errors += nv_wait(d, NULL) == 700;
    *calls = fake->stats().calls - *calls;
    ck_assert_int_eq(fake->depth(), 0);
    fake->let_fail(NULL, 0, 0);
    nv_module_free(m);
    nv_device_close(d);
    return errors;
}

/* Each is told but for the question whether memory is page-locked, which fails where it is not. */
START_TEST(work_may_fail_anywhere) {
    int64_t calls, ignored;
    int told = 0;
    ck_assert_int_eq(round_of_work(1 << 20, &calls), 0);
    for (int n = 0; n < calls; n++) {
        int errors = round_of_work(n, &ignored);
        ck_assert_int_le(errors, 1);
        told += errors;
    }
    ck_assert_int_eq(told, calls - 1);
    ck_assert_int_gt(told, 15);
}
END_TEST

/* ---- threads ---- */

typedef struct {
    NvDevice *device;
    NvModule *module;
    int stream, bad;
} Worker;

static void *work(void *arg) {
    Worker *w = arg;
    void *stream = (void *)(uintptr_t)(w->stream * 64);
    for (int i = 0; i < 50; i++) {
        int host[32], by = w->stream;
        uint64_t p;
        void *args[] = { &p, &by };
        for (int k = 0; k < 32; k++) host[k] = k;
        if (nv_alloc(w->device, stream, sizeof host, &p)) w->bad++;
        if (nv_to_device(w->device, stream, p, host, sizeof host)) w->bad++;
        if (nv_launch(w->module, 0, stream, (int64_t[]){ 1, 1, 1 }, (int64_t[]){ 32, 1, 1 }, 0, args)) w->bad++;
        if (nv_to_host(w->device, stream, host, p, sizeof host)) w->bad++;
        if (nv_free(w->device, stream, p)) w->bad++;
        for (int k = 0; k < 32; k++) w->bad += host[k] != k + by;
    }
    w->bad += fake->depth();
    return NULL;
}

START_TEST(threads_share_a_device) {
    NvDevice *d = opened(0);
    NvModule *m = kernels(d);
    Worker w[4];
    pthread_t id[4];
    for (int i = 0; i < 4; i++) {
        w[i] = (Worker){ d, m, i + 1, 0 };
        ck_assert_int_eq(pthread_create(&id[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(id[i], NULL);
        ck_assert_int_eq(w[i].bad, 0);
    }
    ck_assert_int_eq(nv_stats(d).count[NV_LAUNCHES], 200);
    ck_assert_int_eq(nv_stats(d).count[NV_ALLOCATIONS] - nv_stats(d).count[NV_FREES], 0);
    nv_module_free(m);
    nv_device_close(d);
}
END_TEST

Suite *driver_suite(void) {
    Suite *s = suite_create("driver");
    TCase *t = tcase_create("driver");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, no_driver_is_said);
    tcase_add_test(t, no_gpu_is_said);
    tcase_add_test(t, a_driver_that_fails_is_said);
    tcase_add_test(t, opening_may_fail_anywhere);
    tcase_add_test(t, devices_are_listed);
    tcase_add_test(t, a_current_context_is_used);
    tcase_add_test(t, a_child_of_fork_leaves_it_alone);
    tcase_add_test(t, modules_may_fail_anywhere);
    tcase_add_test(t, launches_run_in_order);
    tcase_add_test(t, launches_have_limits);
    tcase_add_loop_test(t, errors_come_late_or_at_once, 0, 2);
    tcase_add_test(t, memory_is_kept);
    tcase_add_test(t, streams_are_apart);
    tcase_add_test(t, kept_memory_serves_other_sizes);
    tcase_add_test(t, page_locked_memory_may_change_too);
    tcase_add_test(t, work_may_fail_anywhere);
    tcase_add_test(t, threads_share_a_device);
    suite_add_tcase(s, t);
    return s;
}
