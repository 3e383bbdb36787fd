/* No program, text or buffer brings the process down: what is senseless is an error with a message.
 * Every test here fails by crashing; the sanitizer builds run it too. */
#include <mlc.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *hostile_suite(void);

/* ---- nothing where something is wanted ---- */

START_TEST(values_without_value) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_expr none = { 0 };
    mlc_var no_var = { 0 };
    mlc_param no_param = { 0 };
    mlc_func no_func = { 0 };
    mlc_rdom no_rdom = { 0 };
    mlc_stage no_stage = { 0 };
    mlc_extern no_extern = { 0 };
    mlc_func f = mlc_func_new(ctx, "f");
    mlc_var x = mlc_var_new(ctx, "x");
    mlc_def(mlc_at(f, no_var), 1);
    mlc_def(mlc_at(f, x), mlc_add(no_param, x));
    mlc_def(none, 1);
    mlc_define(mlc_at(f, x), MLC_DEF_SET, 0, NULL, MLC_HERE);
    mlc_define(mlc_at(f, x), MLC_DEF_SET, -1, NULL, MLC_HERE);
    mlc_define(mlc_at(f, x), (mlc_def_op)77, 1, &none, MLC_HERE);
    mlc_access(no_func, 0, NULL);
    mlc_access(f, -1, NULL);
    mlc_access(f, 1, &none);
    mlc_elem(none, 0);
    mlc_elem(mlc_at(f, x), -1);
    mlc_add(none, none);
    mlc_nary(MLC_OP_ADD, 0, NULL);
    mlc_nary(MLC_OP_ADD, -5, NULL);
    mlc_nary((mlc_op)9999, 2, (mlc_expr[]){ mlc_from_var(x), mlc_from_var(x) });
    mlc_nary((mlc_op)-1, 2, (mlc_expr[]){ mlc_from_var(x), mlc_from_var(x) });
    mlc_unary((mlc_op)9999, mlc_from_var(x));
    mlc_binary((mlc_op)9999, mlc_from_var(x), mlc_from_var(x));
    mlc_ternary((mlc_op)-1, mlc_from_var(x), mlc_from_var(x), mlc_from_var(x));
    for (int op = 0; op < MLC_OP_COUNT; op++) {
        mlc_expr v[4] = { mlc_from_var(x), mlc_from_int(3), mlc_from_float(2), none };
        mlc_unary((mlc_op)op, v[0]);
        mlc_binary((mlc_op)op, v[1], v[2]);
        mlc_binary((mlc_op)op, v[1], v[0]);
        mlc_ternary((mlc_op)op, v[0], v[1], v[2]);
        for (int n = 0; n <= 4; n++) mlc_nary((mlc_op)op, n, v);
    }
    mlc_cast((mlc_type)99, mlc_from_var(x));
    mlc_cast((mlc_type)-1, mlc_from_int(1));
    mlc_reinterpret((mlc_type)99, mlc_from_var(x));
    mlc_saturate((mlc_type)99, mlc_from_var(x));
    mlc_require_that(none, none, NULL);
    mlc_require_that(mlc_from_bool(true), mlc_from_var(x), NULL);
    mlc_print_values(NULL, 0, NULL);
    mlc_print_values(NULL, 1, &none);
    mlc_random(ctx, (mlc_type)99, none);
    mlc_random(NULL, MLC_F32, mlc_from_int(1));
    mlc_undef(ctx, (mlc_type)99);
    mlc_undef(NULL, MLC_F32);
    mlc_expr_type(none);
    mlc_input_range_set(no_func, none, none, MLC_HERE);
    mlc_param_range_set(no_param, none, none, MLC_HERE);
    mlc_param_set_value(no_param, none);
    mlc_param_set_i(no_param, 1);
    mlc_param_set_f(no_param, 1);
    mlc_dim_set(no_func, 0, (mlc_dim_spec){ 0 }, MLC_HERE);
    mlc_dim_min(no_func, 0);
    mlc_dim_extent(f, -1);
    mlc_dim_named((mlc_dim_spec){ 0 }, NULL);
    mlc_range_of(none, none);
    mlc_rdom_at(ctx, "r", 0, NULL, MLC_HERE);
    mlc_rdom_at(ctx, "r", -1, NULL, MLC_HERE);
    mlc_rdom_at(ctx, "r", 1, (mlc_range[]){ { none, none } }, MLC_HERE);
    mlc_rdom_at(NULL, "r", 1, (mlc_range[]){ { none, none } }, MLC_HERE);
    mlc_rvar(no_rdom, 0);
    mlc_where_at(no_rdom, none, MLC_HERE);
    mlc_reduce(MLC_SUM, no_rdom, none, MLC_HERE);
    mlc_reduce((mlc_reduction)55, no_rdom, mlc_from_int(1), MLC_HERE);
    mlc_func_of(none);
    mlc_pure(no_func);
    mlc_update(no_func, 0);
    mlc_update(f, -1);
    mlc_boundary(MLC_REPEAT_EDGE, none, &(mlc_edge_args){ .f = no_func });
    mlc_boundary((mlc_edge)77, none, &(mlc_edge_args){ .f = f });
    mlc_extern_new(ctx, NULL, NULL, NULL);
    mlc_extern_new(ctx, "e", NULL, "f32 -> f32");
    mlc_call_n(no_extern, 0, NULL);
    mlc_schedule(no_stage, mlc_parallel(x));
    mlc_schedule(f, mlc_parallel(no_var));
    mlc_plan_append(NULL, no_stage, 0, NULL);
    mlc_plan_free(NULL);
    mlc_find_func(ctx, NULL);
    mlc_find_param(ctx, NULL);
    mlc_val_set(ctx, NULL, none);
    mlc_val_set(ctx, "v", none);
    mlc_let_text(ctx, NULL, MLC_HERE);
    ck_assert_str_ne(mlc_error(ctx), "");
    ck_assert_int_gt(mlc_error_code(ctx), 0);
    ck_assert_str_ne(mlc_error_name(mlc_error_code(ctx)), "INTERNAL");
    mlc_error_clear(ctx);
    mlc_ctx_free(ctx);
}
END_TEST

START_TEST(names_without_name) {
    mlc_ctx *ctx = mlc_ctx_new();
    static char longer[100001];
    memset(longer, 'n', sizeof longer - 1);
    static const char *const names[] = { NULL, "", " ", "1", "a b", "$", "f$1", "add", "\xff\xfe", "x\n", "%s%n", longer };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mlc_func f = mlc_func_at(ctx, names[i], (mlc_loc){ NULL, 0 });
        mlc_var x = mlc_var_new(ctx, names[i]);
        mlc_def(mlc_at(f, x), x);
        mlc_input_at(ctx, names[i], MLC_F32, 1, (mlc_loc){ names[i], -1 });
        mlc_param_at(ctx, names[i], MLC_F32, MLC_HERE);
        mlc_extern_new(ctx, names[i], NULL, names[i]);
        mlc_buffer out = { 0 };
        mlc_realize(f, &out, &(mlc_options){ .target = names[i] });
        mlc_buffer_free(&out);
        mlc_program_parse(ctx, names[i], names[i]);
        mlc_plan *p = mlc_plan_new(ctx);
        mlc_plan_parse(p, names[i], names[i]);
        mlc_plan_print(p);
        mlc_error_clear(ctx);
    }
    mlc_func_at(NULL, "f", MLC_HERE);
    mlc_var_new(NULL, "f");
    mlc_input_at(NULL, "f", MLC_F32, 1, MLC_HERE);
    mlc_param_at(NULL, "f", MLC_F32, MLC_HERE);
    mlc_extern_new(NULL, "f", NULL, "f32 -> f32");
    mlc_input_at(ctx, "q", (mlc_type)99, 1, MLC_HERE);
    mlc_input_at(ctx, "q", MLC_F32, 9, MLC_HERE);
    mlc_input_at(ctx, "q", MLC_F32, -1, MLC_HERE);
    mlc_param_at(ctx, "q", (mlc_type)-4, MLC_HERE);
    mlc_ctx_free(ctx);
    mlc_ctx_free(NULL);
    mlc_error(NULL);
    mlc_error_code(NULL);
    mlc_error_clear(NULL);
    mlc_error_name(-1);
    mlc_error_name(100000);
    mlc_type_name((mlc_type)-1);
    mlc_type_size((mlc_type)1000);
}
END_TEST

static mlc_func plain(mlc_ctx *ctx, const char *name) {
    MLC_VARS(ctx, x);
    mlc_func f = mlc_func_new(ctx, name);
    mlc_def(mlc_at(f, x), mlc_i32(x));
    return f;
}

static void ignore(void *user, const char *input, int rank, const mlc_box *need) {
    (void)user, (void)input, (void)rank, (void)need;
}

START_TEST(calls_without_arguments) {
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_func f = plain(ctx, "f"), none = { 0 };
    mlc_error_info e;
    mlc_options o = { .target = "interpret" };
    ck_assert_ptr_null(mlc_compile(NULL, 0, NULL, NULL, &e));
    ck_assert_ptr_null(mlc_compile(NULL, -1, NULL, NULL, NULL));
    ck_assert_ptr_null(mlc_compile(NULL, 1, NULL, NULL, &e));
    ck_assert_ptr_null(mlc_compile(NULL, 1, &none, NULL, &e));
    ck_assert_ptr_null(mlc_compile(mlc_plan_new(ctx), 1, &none, NULL, &e));
    ck_assert_ptr_null(mlc_compile(mlc_plan_new(ctx), 1, NULL, NULL, &e));
    ck_assert(!mlc_realize(none, NULL, NULL));
    ck_assert(!mlc_realize_all(NULL, 1, &f, NULL, 1, &o));
    ck_assert(!mlc_realize_all(NULL, 1, &f, NULL, 0, &o));
    ck_assert(!mlc_realize_all(NULL, 1, &f, NULL, -3, &o));
    mlc_buffer *buffers[3] = { NULL, NULL, NULL };
    ck_assert(!mlc_realize_all(NULL, 1, &f, buffers, 3, &o));
    ck_assert(!mlc_interpret(none, NULL));
    ck_assert(!mlc_interpret(f, NULL));
    ck_assert(!mlc_bind(none, NULL));
    mlc_unbind(none);
    ck_assert_int_ne(mlc_run(NULL, 0, NULL, 0, NULL, &e), 0);
    mlc_module_free(NULL);
    ck_assert_int_eq(mlc_module_slots(NULL), 0);
    ck_assert_int_eq(mlc_module_find_param(NULL, "x"), -1);
    mlc_module_times(NULL);
    mlc_module_target(NULL);
    ck_assert_ptr_null(mlc_module_source(NULL));
    ck_assert(!mlc_function(NULL, "-> i32", &e));
    ck_assert(!mlc_required(NULL, 1, &none, NULL, ignore, NULL, &e));
    ck_assert(!mlc_required(NULL, 1, &f, NULL, ignore, NULL, &e));
    ck_assert(!mlc_required(NULL, 1, &f, &(mlc_box){ 0, 1 }, NULL, NULL, &e));
    ck_assert(!mlc_explain(NULL, 1, &f, "loops", NULL, NULL, &e));
    ck_assert(!mlc_explain(NULL, 1, &f, NULL, NULL, stdout, &e));
    ck_assert(!mlc_emit(NULL, 1, &f, NULL, NULL, NULL, &e));
    mlc_module *m = mlc_compile(NULL, 1, &f, &o, &e);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_ne(mlc_run(m, 1, NULL, 0, NULL, &e), 0);
    ck_assert_int_ne(mlc_run(m, -1, NULL, 0, NULL, &e), 0);
    ck_assert_int_ne(mlc_run(m, 1, buffers, -1, NULL, &e), 0);
    ck_assert_int_eq(mlc_module_find_param(m, NULL), -1);
    ck_assert(!mlc_module_slot(m, 0, NULL));
    ck_assert(!mlc_function(m, NULL, &e));
    mlc_module_free(m);
    ck_assert_ptr_null(mlc_plan_new(NULL));
    ck_assert_ptr_null(mlc_plan_default(NULL));
    ck_assert_ptr_null(mlc_program_parse(NULL, "mlc 1", NULL));
    mlc_program_parse(ctx, NULL, NULL);
    mlc_program_n_outputs(NULL);
    mlc_program_output(NULL, 0);
    mlc_program_plan(NULL, 0);
    mlc_program_n_plans(NULL);
    mlc_program_find_plan(NULL, "p");
    mlc_program_print(ctx, 1, NULL, 0, NULL);
    mlc_program_print(ctx, 1, &none, 0, NULL);
    mlc_program_print(ctx, 1, &f, 1, (mlc_plan *[]){ NULL });
    mlc_program_print(NULL, 1, &f, 0, NULL);
    mlc_stage_print((mlc_stage){ 0 });
    mlc_stage_print((mlc_stage){ f.f, 9 });
    mlc_ctx_free(ctx);
}
END_TEST

/* ---- two contexts ---- */

START_TEST(contexts_are_kept_apart) {
    mlc_ctx *a = mlc_ctx_new(), *b = mlc_ctx_new();
    mlc_func f = plain(a, "f"), g = plain(b, "f");
    mlc_error_info e;
    mlc_plan *plan = mlc_plan_new(a);
    MLC_VARS(a, x);
    MLC_VARS(b, y);
    ck_assert_ptr_null(mlc_compile(plan, 1, &g, NULL, &e));
    ck_assert_str_eq(mlc_error_name(e.code), "CONTEXTS_MIX");
    ck_assert_ptr_null(mlc_compile(NULL, 2, (mlc_func[]){ f, g }, NULL, &e));
    ck_assert_str_eq(mlc_error_name(e.code), "CONTEXTS_MIX");
    mlc_plan_add(plan, g, mlc_parallel(x));
    mlc_plan_add(plan, f, mlc_parallel(y));
    mlc_plan_add(plan, f, mlc_compute_at(g, x));
    mlc_schedule(f, mlc_parallel(y));
    mlc_schedule(f, mlc_compute_at(g, x));
    ck_assert_ptr_null(mlc_compile(plan, 1, &f, NULL, &e));
    ck_assert_ptr_null(mlc_compile(NULL, 1, &f, NULL, &e));
    mlc_func h = mlc_func_new(a, "h");
    mlc_def(mlc_at(h, y), 1);
    mlc_def(mlc_at(h, x), mlc_at(g, x));
    mlc_def(mlc_at(h, x), mlc_add(x, y));
    mlc_rdom r = mlc_rdom_new(b, "r", mlc_range_new(0, 3));
    mlc_def_add(mlc_at(h, x), r.x);
    mlc_sum(r, x);
    mlc_where(r, mlc_lt(x, 3));
    mlc_rdom_at(a, "q", 1, (mlc_range[]){ { mlc_dim_min(mlc_input_new(b, "in", MLC_F32, 1), 0), mlc_from_int(3) } }, MLC_HERE);
    mlc_val_set(a, "v", mlc_from_var(y));
    mlc_let_text(a, "k(x) = v + x", MLC_HERE);
    mlc_program_print(a, 1, &g, 0, NULL);
    mlc_program_print(a, 1, &f, 1, (mlc_plan *[]){ mlc_plan_new(b) });
    ck_assert_str_ne(mlc_error(a), "");
    mlc_ctx_free(a);
    mlc_ctx_free(b);
}
END_TEST

/* ---- sizes ---- */

static mlc_module *of_text(mlc_ctx *ctx, const char *text, const char *target, mlc_error_info *e) {
    char all[4000];
    snprintf(all, sizeof all, "mlc 1\n%s\n", text);
    mlc_program *p = mlc_program_parse(ctx, all, "p");
    if (!p) {
        snprintf(e->message, sizeof e->message, "%s", mlc_error(ctx));
        e->code = mlc_error_code(ctx);
        return NULL;
    }
    mlc_func f = mlc_program_output(p, 0);
    mlc_plan *plan = mlc_program_n_plans(p) ? mlc_program_plan(p, 0) : NULL;
    return mlc_compile(plan, 1, &f, &(mlc_options){ .target = target }, e);
}

static const char *const targets[] = { "interpret", "plain", "host" };
enum { TARGETS = 3 };

/* Shapes that lie about a small block of memory; each is refused, or harmless. */
START_TEST(shapes_that_lie) {
    static const int64_t odd[] = { 0, 1, -1, 2, 7, 12, INT64_MAX, INT64_MIN, (int64_t)1 << 62, -((int64_t)1 << 62),
                                   (int64_t)1 << 32, (int64_t)1 << 47, INT64_MAX - 11 };
    enum { ODD = (int)(sizeof odd / sizeof *odd) };
    static const char *const programs[] = {
        "input in: i32[1]; f(x) = in(x) + in(x + 1); output f; plan p { f: vectorize(x, 8); }",
        "input in: u8[1]; a(x) = x; f(x) = a(index(in(x)) * x) + a(x); output f; plan p { a: compute_root(); }",
        "input in: i32[1]; f(x) = in(3 * x - 5) + i32(x); output f",
        "input in: i32[1]; g = repeat_edge(in); f(x) = g(x - 3) + g(x * x); output f",
        "input in: i32[1]; g = mirror_image(in); f(x) = g(7 - x); output f; plan p { f: split(x, xo, xi, 4, .tail = guard), parallel(xo); }",
    };
    for (int t = 0; t < TARGETS; t++) {
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
            mlc_ctx *ctx = mlc_ctx_new();
            mlc_error_info e = { 0 };
            mlc_module *m = of_text(ctx, programs[p], targets[t], &e);
            ck_assert_msg(m != NULL, "%s: %s", programs[p], e.message);
            mlc_slot_info s;
            mlc_module_slot(m, 0, &s);
            for (int i = 0; i < ODD * ODD * ODD * 2; i++) {
                int32_t in[32] = { 1, 2, 3 }, out[32];
                int64_t min = odd[i % ODD], extent = odd[i / ODD % ODD], stride = odd[i / ODD / ODD % ODD];
                bool turn = i >= ODD * ODD * ODD;
                /* Either it is true of the memory, or no memory is like that. */
                double reach = ((double)extent - 1) * (double)stride;
                bool is_true = extent < 2 || (reach >= 0 && reach < 20), is_absurd = reach > 0x1p59 || reach < -0x1p59 || extent > (int64_t)1 << 48;
                if (!is_true && !is_absurd) continue;
                mlc_buffer a = { .data = in, .type = s.type, .rank = 1, .dim = { { 0, 13, 1 } } };
                mlc_buffer b = { .data = out, .type = MLC_I32, .rank = 1, .dim = { { 0, 12, 1 } } };
                if (turn) a.dim[0] = (mlc_dim_t){ min, extent, stride };
                else b.dim[0] = (mlc_dim_t){ min, extent, stride };
                mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 0, NULL, &e);
                ck_assert_str_ne(mlc_error_name(e.code), "INTERNAL");
            }
            mlc_module_free(m);
            mlc_ctx_free(ctx);
        }
    }
}
END_TEST

/* The same with both at far mins, where sums and products of indices overflow. */
START_TEST(mins_far_away) {
    static const char *const programs[] = {
        "input in: i32[1]; f(x) = in(x); output f",
        "input in: i32[1]; f(x) = in(x + 100) + in(x - 100); output f",
        "input in: i32[1]; f(x) = in(x * 255); output f",
        "input in: i32[1]; a(x) = x; f(x) = a(x * 1000003) + in(x); output f; plan p { a: compute_root(); }",
        "input in: i32[1]; a(x) = x; f(x) = a(x * x * x) + in(x); output f; plan p { a: compute_root(); }",
        "input in: i32[1]; a(x) = x; f(x) = a(index(u8(in(x))) * x) + in(x); output f; plan p { a: compute_root(); }",
        "input in: i32[1]; a(x, y) = x + y; f(x) = a(x, 3 - x) + in(x); output f; plan p { a: compute_root(); }",
        "input in: i32[1]; rdom r(0, 10); f(x) = in(x); f(clamp(r, -5, 5)) += 1; output f",
    };
    static const int64_t mins[] = { INT64_MAX - 12, INT64_MAX - 200, INT64_MIN, INT64_MIN + 150, (int64_t)1 << 62,
                                    -((int64_t)1 << 62), (int64_t)1 << 55, (int64_t)1 << 48, (int64_t)1 << 47, (int64_t)1 << 32 };
    for (int t = 0; t < TARGETS; t++) {
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
            mlc_ctx *ctx = mlc_ctx_new();
            mlc_error_info e = { 0 };
            mlc_module *m = of_text(ctx, programs[p], targets[t], &e);
            ck_assert_msg(m != NULL, "%s: %s", programs[p], e.message);
            for (size_t i = 0; i < sizeof mins / sizeof *mins; i++) {
                int32_t in[32] = { 1, 2, 3, 255, -4 }, out[32];
                for (int off = -1; off <= 1; off++) {
                    mlc_buffer a = { .data = in, .type = MLC_I32, .rank = 1, .dim = { { mins[i], 12, 1 } } };
                    mlc_buffer b = { .data = out, .type = MLC_I32, .rank = 1, .dim = { { mins[i], 12, 1 } } };
                    if (off > 0) b.dim[0].min = (int64_t)((uint64_t)mins[i] - 100);
                    if (off < 0) b.dim[0].extent = 3;
                    mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 0, NULL, &e);
                    ck_assert_str_ne(mlc_error_name(e.code), "INTERNAL");
                }
            }
            mlc_module_free(m);
            mlc_ctx_free(ctx);
        }
    }
}
END_TEST

/* Index params are sizes too. */
START_TEST(params_far_away) {
    static const char *const programs[] = {
        "param p: index; input in: i32[1]; f(x) = in(x + p); output f",
        "param p: index; input in: i32[1]; f(x) = in(x * p); output f",
        "param p: index; input in: i32[1]; a(x) = x; f(x) = a(x * p * p) + in(x); output f; plan q { a: compute_root(); }",
        "param p: index; input in: i32[1]; a(x) = x; f(x) = a(x % p) + a(x / p) + in(x); output f; plan q { a: compute_root(); }",
        "param p: index; input in: i32[1]; rdom r(p, 10); f(x) = sum(r, in(clamp(r, 0, 11))); output f",
        "param p: index; input in: i32[1]; rdom r(0, p); f(x) = 0; f(clamp(r, 0, 11)) += 1 + in(0); output f",
        "param p: index; input in: i32[1]; a(x) = x; f(x) = a(x << p) + in(x); output f; plan q { a: compute_root(); }",
    };
    static const int64_t values[] = { 0, 1, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 62, (int64_t)1 << 61, (int64_t)1 << 40,
                                      -((int64_t)1 << 62) };
    for (int t = 0; t < TARGETS; t++) {
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
            mlc_ctx *ctx = mlc_ctx_new();
            mlc_error_info e = { 0 };
            mlc_module *m = of_text(ctx, programs[p], targets[t], &e);
            if (!m) {
                ck_assert_str_ne(mlc_error_name(e.code), "INTERNAL");
                mlc_ctx_free(ctx);
                continue;
            }
            for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                if (strstr(programs[p], "(0, p)") && values[i] == (int64_t)1 << 40) continue; /* it would run for hours */
                int32_t in[32] = { 1, 2, 3, 255, -4 }, out[32];
                mlc_buffer a = { .data = in, .type = MLC_I32, .rank = 1, .dim = { { 0, 12, 1 } } };
                mlc_buffer b = { .data = out, .type = MLC_I32, .rank = 1, .dim = { { 0, 12, 1 } } };
                mlc_run(m, 2, (mlc_buffer *[]){ &a, &b }, 1, (mlc_scalar[]){ { .i = values[i] } }, &e);
                ck_assert_str_ne(mlc_error_name(e.code), "INTERNAL");
            }
            mlc_module_free(m);
            mlc_ctx_free(ctx);
        }
    }
}
END_TEST

/* Extents in the text that no machine has, and steps at the ends of the index type. */
START_TEST(numbers_far_away) {
    static const char *const programs[] = {
        "rdom r(0, 4611686018427387904); f(x) = sum(r, x + r); output f",
        "rdom r(4611686018427387904, 4611686018427387904); f(x) = i32(0); f(r) = 1; output f",
        "rdom r(-9223372036854775807, 10); f(x) = i32(0); f(clamp(r, 0, 3)) = 1; output f",
        "rdom r(0, -5; 3, 0); f(x) = i32(0); f(clamp(r.x + r.y, 0, 3)) += 1; output f",
        "f(x) = x + 9223372036854775807; output f",
        "f(x) = x * 9223372036854775807 * 9223372036854775807; output f",
        "input in: i32[1]; f(x) = in(x + 9223372036854775807); output f",
        "input in: i32[1]; f(x) = in(x * 4611686018427387904); output f",
        "input in: i32[1]; f(x) = in(-9223372036854775807 - 1 - x); output f",
        "input in: i32[1]; f(x) = in(x / 0) + in(x % 0) + in(0 / x) + in(3 % x); output f",
        "input in: i32[1]; f(x) = in(x / (0 - 1)) + in((-9223372036854775807 - 1) / (x * 0 - 1)); output f",
        "input in: i32[1]; f(x) = in(clamp(x << 63, 0, 3)) + in(clamp(x >> 64, 0, 3)) + in(clamp(1 << x, 0, 4)); output f",
        "a(x) = x; f(x) = a(x) + a(x + 4611686018427387904); output f; plan p { a: compute_root(); }",
        "a(x) = x; f(x) = a(x) + a(x + 1099511627776); output f; plan p { a: compute_root(); }",
        "a(x, y) = x + y; f(x) = a(x, x * 2147483648) + a(x * 2147483648, 0); output f; plan p { a: compute_root(); }",
        "f(x) = x; output f; plan p { f: split(x, xo, xi, 9223372036854775807); }",
        "f(x) = x; output f; plan p { f: split(x, xo, xi, 9223372036854775807, .tail = round); }",
        "f(x) = x; output f; plan p { f: split(x, xo, xi, 4611686018427387904, .tail = shift), split(xi, a, b, 4611686018427387903); }",
        "f(x) = x; output f; plan p { f: vectorize(x, 9223372036854775807); }",
        "f(x) = x; output f; plan p { f: vectorize(x, 1000000); }",
        "f(x) = x; output f; plan p { f: vectorize(x, 65536); }",
        "f(x) = x; output f; plan p { f: unroll(x, 9223372036854775807); }",
        "f(x) = x; output f; plan p { f: parallel(x, 9223372036854775807); }",
        "f(x) = x; output f; plan p { f: bound(x, 0, 9223372036854775807); }",
        "f(x) = x; output f; plan p { f: bound(x, 9223372036854775807, 9223372036854775807); }",
        "f(x) = x; output f; plan p { f: bound(x, 0, -1); }",
        "f(x) = x; output f; plan p { f: estimate(x, -9223372036854775807, 9223372036854775807); }",
        "dim f[0]: min 9223372036854775807, extent 9223372036854775807, stride 9223372036854775807, align 9223372036854775807; f(x) = x; output f",
        "f(x, y) = x; output f; plan p { f: split(x, xo, xi, 4294967296), split(y, yo, yi, 4294967296), fuse(xi, yi, t); }",
        "f(x) = x; output f; plan p { f: split(x, a, b, 3), split(b, c, d, 2), split(d, e, g, 2), unroll(g), vectorize(e, 2); }",
    };
    for (int t = 0; t < TARGETS; t++) {
        for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
            mlc_ctx *ctx = mlc_ctx_new();
            mlc_error_info e = { 0 };
            mlc_module *m = of_text(ctx, programs[p], targets[t], &e);
            ck_assert_msg(e.code == 0 || strcmp(mlc_error_name(e.code), "INTERNAL") != 0, "%s: %s", programs[p], e.message);
            ck_assert_msg(e.code == 0 || strcmp(mlc_error_name(e.code), "CC_FAILED") != 0, "%s: %s", programs[p], e.message);
            static const mlc_dim_t shapes[] = { { 0, 12, 1 }, { 0, 0, 1 }, { -5, 11, 1 } };
            bool forever = strstr(programs[p], "sum(r, x") || strstr(programs[p], "rdom r(4611");
            for (int k = 0; m && k < 3 && !forever; k++) {
                int32_t in[32] = { 1, 2, 3 }, out[144] = { 0 };
                mlc_slot_info s = { 0 };
                int n = mlc_module_slots(m);
                mlc_buffer b[2], *at[2] = { &b[0], &b[1] };
                for (int i = 0; i < n && i < 2; i++) {
                    mlc_module_slot(m, i, &s);
                    b[i] = (mlc_buffer){ .data = s.is_output ? out : in, .type = s.type, .rank = s.rank, .dim = { shapes[k], { 0, 11, 12 } } };
                }
                mlc_run(m, n, at, 0, NULL, &e);
                ck_assert_msg(strcmp(mlc_error_name(e.code), "INTERNAL") != 0, "%s: %s", programs[p], e.message);
            }
            mlc_module_free(m);
            mlc_ctx_free(ctx);
        }
    }
}
END_TEST

/* ---- many and deep ---- */

/* Small constants nest to any depth by C. */
START_TEST(deep_expressions) {
    for (int n = 1000; n <= 100000; n *= 10) {
        mlc_ctx *ctx = mlc_ctx_new();
        MLC_VARS(ctx, x);
        mlc_func f = mlc_func_new(ctx, "f");
        mlc_expr e = mlc_i32(x);
        for (int i = 0; i < n; i++) e = i % 3 ? mlc_add(mlc_mul(e, 3), i) : mlc_select(mlc_lt(e, i), e, mlc_xor(e, i));
        mlc_def(mlc_at(f, x), e);
        int32_t out[3];
        mlc_interpret(f, mlc_wrap(out, 3));
        ck_assert_str_ne(mlc_error_name(mlc_error_code(ctx)), "INTERNAL");
        mlc_error_clear(ctx);
        mlc_program_print(ctx, 1, &f, 0, NULL);
        FILE *nowhere = fopen("/dev/null", "w");
        mlc_error_info error;
        mlc_explain(NULL, 1, &f, n > 10000 ? "algorithm" : "c", NULL, nowhere, &error);
        fclose(nowhere);
        mlc_ctx_free(ctx);
    }
}
END_TEST

static void chain(int n, bool root) {
    mlc_ctx *ctx = mlc_ctx_new();
    MLC_VARS(ctx, x);
    mlc_func last = { 0 };
    for (int i = 0; i < n; i++) {
        char name[20];
        snprintf(name, sizeof name, "f%d", i);
        mlc_func f = mlc_func_new(ctx, name);
        if (i) mlc_def(mlc_at(f, x), mlc_add(mlc_at(last, x), 1));
        else mlc_def(mlc_at(f, x), mlc_i32(x));
        last = f;
        if (root && i + 1 < n) mlc_schedule(f, mlc_compute_root());
    }
    int32_t out[3] = { 0 };
    mlc_options o = { .target = "interpret" };
    bool good = mlc_realize(last, mlc_wrap(out, 3), &o);
    ck_assert_msg(good || strcmp(mlc_error_name(mlc_error_code(ctx)), "INTERNAL"), "%s", mlc_error(ctx));
    if (good) ck_assert_int_eq(out[2], n + 1);
    mlc_ctx_free(ctx);
}

START_TEST(many_funcs) {
    chain(1000, false);
    chain(100000, true);
}
END_TEST

START_TEST(deep_texts) {
    static const char *const opens[] = { "(", "-", "!", "{ t = ", "f(", "i32(", "1 + (", "select(true, 1, " };
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        size_t n = strlen(opens[i]), most = 200000;
        char *text = malloc(n * most + 50);
        ck_assert_ptr_nonnull(text);
        size_t at = (size_t)sprintf(text, "mlc 1\nf(x) = ");
        for (size_t k = 0; k < most; k++, at += n) memcpy(text + at, opens[i], n);
        text[at] = 0;
        mlc_ctx *ctx = mlc_ctx_new();
        ck_assert_ptr_null(mlc_program_parse(ctx, text, NULL));
        ck_assert_str_ne(mlc_error_name(mlc_error_code(ctx)), "INTERNAL");
        mlc_ctx_free(ctx);
        free(text);
    }
}
END_TEST

/* A sum of 20,000 terms, and 3,000 statements. */
START_TEST(wide_texts) {
    size_t most = 20000, at = 0;
    char *text = malloc(most * 30);
    ck_assert_ptr_nonnull(text);
    at += (size_t)sprintf(text, "mlc 1\nf(x) = i32(x)");
    for (size_t k = 0; k < most; k++) at += (size_t)sprintf(text + at, " + x");
    at += (size_t)sprintf(text + at, ";\n");
    for (int k = 0; k < 3000; k++) at += (size_t)sprintf(text + at, "g%d(x) = f(x);\n", k);
    sprintf(text + at, "output f;\n");
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_program *p = mlc_program_parse(ctx, text, NULL);
    if (p) {
        mlc_func f = mlc_program_output(p, 0);
        int32_t out[3];
        mlc_interpret(f, mlc_wrap(out, 3));
        ck_assert_str_ne(mlc_error_name(mlc_error_code(ctx)), "INTERNAL");
    }
    mlc_ctx_free(ctx);
    free(text);
}
END_TEST

/* A plan may name RVars that no output needs: they are printed with what their bounds read. */
START_TEST(plans_name_rvars_of_their_own) {
    static const char text[] = "mlc 1\ninput in: u8[1];\nrdom k(0, 3; -1, in.extent.0) where k.x < k.y;\nh(x) = 0;\noutput h;\n"
                               "plan p {\n    h.u0: fuse(k.x, k.y, q);\n}\n";
    const char *one = text, *two = NULL;
    mlc_ctx *ctx[2];
    for (int i = 0; i < 2; i++, one = two) {
        ctx[i] = mlc_ctx_new();
        mlc_program *p = mlc_program_parse(ctx[i], one, NULL);
        ck_assert_msg(p != NULL, "%s", mlc_error(ctx[i]));
        mlc_func h = mlc_program_output(p, 0);
        two = mlc_program_print(ctx[i], 1, &h, 1, (mlc_plan *[]){ mlc_program_plan(p, 0) });
        ck_assert_ptr_nonnull(two);
        if (i) ck_assert_str_eq(one, two);
    }
    mlc_ctx_free(ctx[0]);
    mlc_ctx_free(ctx[1]);
}
END_TEST

Suite *hostile_suite(void) {
    Suite *s = suite_create("hostile");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, values_without_value);
    tcase_add_test(t, names_without_name);
    tcase_add_test(t, calls_without_arguments);
    tcase_add_test(t, contexts_are_kept_apart);
    tcase_add_test(t, shapes_that_lie);
    tcase_add_test(t, mins_far_away);
    tcase_add_test(t, params_far_away);

    tcase_add_test(t, numbers_far_away);
    tcase_add_test(t, deep_expressions);
    tcase_add_test(t, many_funcs);
    tcase_add_test(t, deep_texts);
    tcase_add_test(t, wide_texts);
    tcase_add_test(t, plans_name_rvars_of_their_own);
    suite_add_tcase(s, t);
    return s;
}
