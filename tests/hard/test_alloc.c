/* The n-th allocation fails, for every n, through every entry point: nothing crashes, nothing leaks, and the
 * error says that memory is out.  MLC_NTH_ALLOCATION=1 (`make check-hard`) tries every n; else later ones are
 * sampled. */
#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *alloc_suite(void);

/* ---- an allocator that counts and fails ---- */

typedef struct {
    long left, made, alive;
} Count;

static void *count_resize(void *user, void *old, size_t size) {
    Count *c = user;
    if (size == 0) {
        __atomic_fetch_sub(&c->alive, old != NULL, __ATOMIC_RELAXED);
        free(old);
        return NULL;
    }
    __atomic_fetch_add(&c->made, 1, __ATOMIC_RELAXED);
    if (__atomic_fetch_sub(&c->left, 1, __ATOMIC_RELAXED) <= 0) return NULL;
    void *p = realloc(old, size);
    if (p && !old) __atomic_fetch_add(&c->alive, 1, __ATOMIC_RELAXED);
    return p;
}

/* One use of the library.  What fails leaves its code in the context or in `e`. */
typedef struct {
    mlc_ctx *ctx;
    const mlc_allocator *hook;
    mlc_error_info e;
    FILE *nowhere;
} Use;

static int32_t in[64] = { 3, 1, 4, 1, 5, 9, 2, 6 }, out[64], more[64];

static const mlc_options interpret = { .target = "interpret" };

/* ---- C ---- */

static mlc_func line(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func f = mlc_func_new(u->ctx, "f");
    mlc_def(mlc_at(f, x), mlc_add(mlc_mul(mlc_i32(x), 3), 1));
    return f;
}

static void c_pure(Use *u) {
    mlc_realize(line(u), mlc_wrap(out, 9), &interpret);
}

static void c_operators(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func f = mlc_func_new(u->ctx, "f");
    mlc_expr v = mlc_f32(x);
    for (int op = 0; op < MLC_OP_COUNT; op += 3) {
        mlc_expr r = mlc_binary((mlc_op)op, v, mlc_from_float(2));
        if (mlc_expr_type(r) == MLC_F32) v = r;
        else if (mlc_error_code(u->ctx) && strcmp(mlc_error_name(mlc_error_code(u->ctx)), "OUT_OF_MEMORY") != 0) mlc_error_clear(u->ctx);
    }
    mlc_def(mlc_at(f, x), mlc_i32(mlc_exp(v)));
    mlc_interpret(f, mlc_wrap(out, 5));
}

static void c_immediates(Use *u) {
    (void)u;
    mlc_expr e = mlc_mul(mlc_add(1, 2.5), mlc_pow(2.0, 3.0));
    mlc_expr_type(mlc_select(mlc_lt(e, 3), e, mlc_u8(3)));
}

static void c_update(Use *u) {
    MLC_VARS(u->ctx, x, y);
    mlc_func f = mlc_func_new(u->ctx, "f");
    mlc_rdom r = mlc_rdom_new(u->ctx, "r", mlc_range_new(0, 4), mlc_range_new(0, 3));
    mlc_where(r, mlc_lt(r.x, r.y));
    mlc_def(mlc_at(f, x, y), 0);
    mlc_def_add(mlc_at(f, x, y), mlc_i32(mlc_add(mlc_mul(r.x, x), r.y)));
    mlc_def_max(mlc_at(f, 0, y), mlc_i32(y));
    mlc_rvar(r, 1);
    mlc_realize(f, mlc_wrap(out, 4, 5), &interpret);
}

static void c_tuple(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func f = mlc_func_new(u->ctx, "f"), g = mlc_func_new(u->ctx, "g");
    mlc_def_tuple(mlc_at(f, x), mlc_i32(x), mlc_i32(mlc_mul(x, x)));
    mlc_expr at = mlc_at(f, x);
    mlc_def(mlc_at(g, x), mlc_add(mlc_elem(at, 0), mlc_elem(at, 1)));
    mlc_buffer *b[2] = { mlc_wrap(out, 7), mlc_wrap(more, 7) };
    mlc_realize_all(NULL, 1, &f, b, 2, &interpret);
    mlc_realize(g, b[0], &interpret);
}

static void c_reductions(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func a = mlc_input_new(u->ctx, "a", MLC_I32, 1), f = mlc_func_new(u->ctx, "f");
    mlc_rdom r = mlc_rdom_new(u->ctx, "r", mlc_range_new(0, 3));
    mlc_expr read = mlc_at(a, mlc_add(x, r.x));
    mlc_def(mlc_at(f, x), mlc_plus(mlc_sum(r, read), mlc_product(r, read), mlc_maximum(r, read), mlc_elem(mlc_argmin(r, read), 0)));
    mlc_bind(a, mlc_wrap(in, 12));
    mlc_realize(f, mlc_wrap(out, 9), &interpret);
    mlc_unbind(a);
}

static void c_edges(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func a = mlc_input_new(u->ctx, "a", MLC_I32, 1), f = mlc_func_new(u->ctx, "f");
    mlc_func e[] = { mlc_constant_edge(7, a), mlc_repeat_edge(a), mlc_repeat_image(a), mlc_mirror_image(a), mlc_mirror_interior(a) };
    mlc_expr all = mlc_from_int(0);
    for (int i = 0; i < 5; i++) all = mlc_add(mlc_at(e[i], mlc_sub(x, 3)), all);
    mlc_def(mlc_at(f, x), all);
    mlc_dim(a, 0, .min = 0, .stride = 1);
    mlc_dim_min(a, 0);
    mlc_dim_extent(a, 0);
    mlc_bind(a, mlc_wrap(in, 5));
    mlc_realize(f, mlc_wrap(out, 12), &interpret);
}

static void c_params(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func f = mlc_func_new(u->ctx, "f"), a = mlc_input_new(u->ctx, "a", MLC_I32, 1);
    mlc_param p = mlc_param_new(u->ctx, "p", MLC_I32), q = mlc_param_new(u->ctx, "q", MLC_F32);
    mlc_param_range(p, -3, 9);
    mlc_input_range(a, 0, 100);
    mlc_def(mlc_at(f, x), mlc_add(mlc_mul(mlc_at(a, x), p), mlc_i32(q)));
    mlc_param_set(p, 4);
    mlc_param_set_f(q, 1.5);
    mlc_bind(a, mlc_wrap(in, 8));
    mlc_realize(f, mlc_wrap(out, 8), &interpret);
}

static float half(float v) {
    return v / 2;
}

static void c_extern(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func f = mlc_func_new(u->ctx, "f");
    mlc_extern h = mlc_extern_new(u->ctx, "half", (void (*)(void))half, "f32 -> f32");
    mlc_def(mlc_at(f, x), mlc_i32(mlc_call_extern(h, mlc_f32(x))));
    mlc_realize(f, mlc_wrap(out, 5), &interpret);
}

static void c_effects(Use *u) {
    MLC_VARS(u->ctx, x);
    mlc_func f = mlc_func_new(u->ctx, "f");
    mlc_expr e = mlc_add(mlc_random_i32(u->ctx, 3), mlc_bits_as(MLC_I32, mlc_f32(x)));
    mlc_def(mlc_at(f, x), mlc_require(mlc_lt(x, 100), mlc_saturated(MLC_I32, e), "x is small"));
    mlc_def_add(mlc_at(f, 0), mlc_i32(mlc_as(MLC_U8, 300)));
    mlc_realize(f, mlc_wrap(out, 5), &interpret);
}

/* ---- plans ---- */

static void c_plan(Use *u) {
    MLC_VARS(u->ctx, x, xo, xi);
    mlc_func f = line(u);
    mlc_schedule(f, mlc_split(x, xo, xi, 4), mlc_unroll(xi));
    mlc_plan *p = mlc_plan_new(u->ctx);
    mlc_plan_add(p, f, mlc_vectorize(x, 8), mlc_parallel(x));
    mlc_plan_print(p);
    mlc_plan_drop(p, 0);
    mlc_module_free(mlc_compile(p, 1, &f, &interpret, &u->e));
    mlc_plan_free(p);
}

static void c_plan_text(Use *u) {
    mlc_func f = line(u);
    mlc_plan *p = mlc_plan_new(u->ctx);
    mlc_plan_parse(p, "f: tile(x, y, a, b, c, d, 2, 3)", "plan.txt");
    mlc_plan_parse(p, "f: split(x, xo, xi, 4, .tail = guard), vectorize(xi)", NULL);
    mlc_plan_print(p);
    mlc_explain(p, 1, &f, "loops", NULL, u->nowhere, &u->e);
    if (mlc_error_code(u->ctx) && strcmp(mlc_error_name(mlc_error_code(u->ctx)), "OUT_OF_MEMORY") != 0) mlc_error_clear(u->ctx);
    if (u->e.code && strcmp(mlc_error_name(u->e.code), "OUT_OF_MEMORY") != 0) u->e.code = 0; /* y is no loop of f */
}

/* ---- text ---- */

static const char blur[] = "mlc 1\ninput in: i32[1] range 0..255;\nparam k: i32 range 0..9 = 3;\nrdom r(0, 3) where r < 2;\n"
                           "g(x) = in(x) + in(x + 1);\nf(x) = g(x) + g(x + 1) * k;\nf(x) += sum(r, in(x + r));\noutput f;\n"
                           "plan p { f: vectorize(x, 4); g: compute_at(f, x); }\nplan q { g: compute_root(); f: split(x, xo, xi, 3), unroll(xi); }\n";

static mlc_program *parse(Use *u, mlc_func *f) {
    mlc_program *p = mlc_program_parse(u->ctx, blur, "blur.mlc");
    *f = mlc_program_output(p, 0);
    return p;
}

static void t_parse(Use *u) {
    mlc_func f;
    mlc_program *p = parse(u, &f);
    mlc_program_find_plan(p, "q");
    mlc_find_func(u->ctx, "g");
    mlc_find_param(u->ctx, "k");
}

static void t_print(Use *u) {
    mlc_func f;
    mlc_program *p = parse(u, &f);
    mlc_plan *plans[2] = { mlc_program_plan(p, 0), mlc_program_plan(p, 1) };
    mlc_program_print(u->ctx, 1, &f, 2, plans);
    if (f.f) mlc_stage_print(mlc_update(f, 0));
}

static void t_let(Use *u) {
    mlc_val_set(u->ctx, "two", mlc_from_int(2));
    mlc_let(u->ctx, a(x) = two * i32(x); b(x) = a(x) + exp(f32(x)));
    mlc_func b = mlc_find_func(u->ctx, "b");
    if (b.f) mlc_explain(NULL, 1, &b, "algorithm", NULL, u->nowhere, &u->e);
}

static void t_wrong(Use *u) {
    mlc_program_parse(u->ctx, "mlc 1\nf(x) = \"", "wrong.mlc");
    mlc_error_clear(u->ctx);
}

static void explain(Use *u, const char *level, int plan) {
    mlc_func f;
    mlc_program *p = parse(u, &f);
    mlc_explain(mlc_program_plan(p, plan), 1, &f, level, NULL, u->nowhere, &u->e);
}

static void e_algorithm(Use *u) { explain(u, "algorithm", 0); }
static void e_schedule(Use *u) { explain(u, "schedule", 0); }
static void e_loops(Use *u) { explain(u, "loops", 0); }
static void e_loops_root(Use *u) { explain(u, "loops", 1); }
static void e_nest(Use *u) { explain(u, "nest", 1); }
static void e_code(Use *u) { explain(u, "c", 0); }
static void e_code_root(Use *u) { explain(u, "c", 1); }

static void take(void *user, const char *input, int rank, const mlc_box *need) {
    *(int64_t *)user += input[0] + rank + need[0].extent;
}

static void e_required(Use *u) {
    mlc_func f;
    mlc_program *p = parse(u, &f);
    int64_t sum = 0;
    mlc_required(mlc_program_plan(p, 0), 1, &f, &(mlc_box){ 3, 10 }, take, &sum, &u->e);
}

static void e_emit(Use *u) {
    mlc_func f;
    mlc_program *p = parse(u, &f);
    char prefix[64], file[80];
    snprintf(prefix, sizeof prefix, "/tmp/mlc-alloc-%ld", (long)getpid());
    mlc_emit(mlc_program_plan(p, 0), 1, &f, prefix, NULL, NULL, &u->e);
    snprintf(file, sizeof file, "%s.c", prefix);
    unlink(file);
    snprintf(file, sizeof file, "%s.h", prefix);
    unlink(file);
}

/* ---- modules and buffers ---- */

static void run_module(Use *u, const mlc_options *o, int plan) {
    mlc_func f;
    mlc_program *p = parse(u, &f);
    mlc_module *m = mlc_compile(mlc_program_plan(p, plan), 1, &f, o, &u->e);
    if (!m) return;
    mlc_param_info pi;
    mlc_module_param(m, 0, &pi);
    mlc_module_find_param(m, "k");
    mlc_buffer *b[] = { mlc_wrap(in, 20), mlc_wrap(out, 13) };
    if (!u->e.code) mlc_run(m, 2, b, 1, &(mlc_scalar){ .i = 2 }, &u->e);
    mlc_error_info e = { 0 };
    mlc_fn fn = u->e.code ? NULL : mlc_function(m, "i32*[20] i32*[n] i32 k i64 n -> i32", &e);
    if (e.code) u->e = e;
    if (fn) ((int32_t (*)(int32_t *, int32_t *, int32_t, int64_t))fn)(in, out, 2, 13);
    mlc_buffer strided = *mlc_wrap(in, 40);
    mlc_buffer_stride(&strided, 0, 2);
    if (!u->e.code) mlc_run(m, 2, (mlc_buffer *[]){ &strided, b[1] }, 1, &(mlc_scalar){ .i = 2 }, &u->e);
    mlc_module_free(m);
}

static void m_interpret(Use *u) { run_module(u, &interpret, 0); }
static void m_host(Use *u) { run_module(u, NULL, 0); }
static void m_host_root(Use *u) { run_module(u, NULL, 1); }
static void m_check(Use *u) { run_module(u, &(mlc_options){ .check = true, .target = "plain" }, 1); }

/* What a watched module reports, too. */
static void m_watch(Use *u) {
    mlc_func f;
    mlc_program *p = parse(u, &f);
    mlc_options o = { .profile = true, .trace = true, .most_spans = 3 };
    mlc_module *m = mlc_compile(mlc_program_plan(p, 1), 1, &f, &o, &u->e);
    mlc_buffer *b[] = { mlc_wrap(in, 20), mlc_wrap(out, 13) };
    if (!m) return;
    if (!u->e.code) mlc_run(m, 2, b, 1, &(mlc_scalar){ .i = 2 }, &u->e);
    if (!u->e.code) mlc_profile_print(m, u->nowhere, MLC_PROFILE_TABLE, &u->e);
    if (!u->e.code) mlc_trace_write(m, "/tmp/mlc-alloc.json", &u->e);
    unlink("/tmp/mlc-alloc.json");
    mlc_module_free(m);
}

static void m_realize(Use *u) {
    mlc_func f;
    parse(u, &f);
    mlc_bind(mlc_find_func(u->ctx, "in"), mlc_wrap(in, 20));
    mlc_buffer *b[1] = { NULL }, given = { .type = MLC_I32, .rank = 1, .dim = { { 0, 9, 1 } } };
    mlc_realize_all(NULL, 1, &f, (mlc_buffer *[]){ &given }, 1, NULL);
    mlc_buffer_free(&given);
    mlc_program_parse(u->ctx, "mlc 1\nh() = 3; dim f[0]: extent 5; output h", "h");
    mlc_realize_all(NULL, 1, &f, b, 1, NULL);
    mlc_buffer_free(b[0]);
}

static void b_buffers(Use *u) {
    mlc_buffer *b = mlc_buffer_new_with(u->hook, MLC_F64, 3, (int64_t[]){ 3, 5, 7 });
    mlc_buffer *c = mlc_buffer_new_with(u->hook, MLC_F64, 3, (int64_t[]){ 3, 5, 7 });
    if (b && c) {
        mlc_buffer_copy(b, c);
        mlc_buffer v = mlc_buffer_view(b);
        mlc_buffer_crop(&v, 0, 1, 2);
        mlc_buffer_slice(&v, 1, 2);
        mlc_buffer_transpose(&v, 0, 1);
        mlc_buffer_overlap(&v, b);
        void *t = mlc_buffer_to_dlpack(b);
        if (t) {
            mlc_buffer_free(b);
            b = mlc_buffer_from_dlpack(t);
            /* Where memory was out the tensor still owns: it is taken again. */
            for (int i = 0; !b && i < 2; i++) b = mlc_buffer_from_dlpack(t);
        }
    }
    mlc_buffer_free(b);
    mlc_buffer_free(c);
}

static const struct {
    const char *name;
    void (*fn)(Use *u);
} uses[] = {
#define USE(name) { #name, name }
    USE(c_pure), USE(c_operators), USE(c_immediates), USE(c_update), USE(c_tuple), USE(c_reductions), USE(c_edges),
    USE(c_params), USE(c_extern), USE(c_effects), USE(c_plan), USE(c_plan_text), USE(t_parse), USE(t_print), USE(t_let),
    USE(t_wrong), USE(e_algorithm), USE(e_schedule), USE(e_loops), USE(e_loops_root), USE(e_nest), USE(e_code), USE(e_code_root),
    USE(e_required), USE(e_emit), USE(m_interpret), USE(m_host), USE(m_host_root), USE(m_check), USE(m_watch), USE(m_realize), USE(b_buffers),
};
enum { USES = (int)(sizeof uses / sizeof *uses) };

/* The code of what failed, 0 where nothing did; `made` allocations. */
static int use(int i, Count *c) {
    mlc_allocator hook = { count_resize, c };
    Use u = { .ctx = mlc_ctx_new_with(&hook), .hook = &hook, .nowhere = fopen("/dev/null", "w") };
    int code = 0;
    if (u.ctx) {
        uses[i].fn(&u);
        code = mlc_error_code(u.ctx) ? mlc_error_code(u.ctx) : u.e.code; /* the cause before its echoes */
    }
    fclose(u.nowhere);
    mlc_ctx_free(u.ctx);
    return code;
}

START_TEST(each_allocation_fails) {
    Count c = { .left = 1L << 40 };
    int code = use(_i, &c);
    ck_assert_msg(code == 0, "%s: %s", uses[_i].name, mlc_error_name(code));
    ck_assert_msg(c.alive == 0, "%s: %ld blocks are left", uses[_i].name, c.alive);
    const char *every = getenv("MLC_NTH_ALLOCATION");
    long total = c.made;
    for (long n = 0; n < total; n += n < 40 || (every && n < 3000) ? 1 : 1 + n / 20) {
        c = (Count){ .left = n };
        code = use(_i, &c);
        bool good = !code || !strcmp(mlc_error_name(code), "OUT_OF_MEMORY");
        ck_assert_msg(good, "%s, allocation %ld of %ld: %s", uses[_i].name, n, total, mlc_error_name(code));
        ck_assert_msg(c.alive == 0, "%s, allocation %ld of %ld: %ld blocks are left", uses[_i].name, n, total, c.alive);
    }
}
END_TEST

Suite *alloc_suite(void) {
    Suite *s = suite_create("alloc");
    TCase *t = tcase_create("alloc");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, each_allocation_fails, 0, USES);
    suite_add_tcase(s, t);
    return s;
}
