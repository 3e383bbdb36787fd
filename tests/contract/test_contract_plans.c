/* test_contract_plans.c - the rules of docs/semantics.md about order, boxes and tails: rows of plans.def. */
#include "kit.h"

Suite *contract_plans_suite(void);

/* ---- C's side ---- */

static f32 ref_p(i64 x, i64 y) {
    return fmaf(c_f32[x + 20 * y], 0.7f, 1);
}

static f32 ref_q(i64 x, i64 y) {
    return fmaf(ref_p(x, y), ref_p(x + 1, y), -ref_p(x + 2, y + 1));
}

static f32 ref_order(i64 x) {
    f32 f = 1;
    for (int ky = 2; ky < 5; ky++)
        for (int kx = 0; kx < 7; kx++) f = fmaf(f, 0.3f, fmaf(c_f32[kx + 9 * ky], 1e-3f, (f32)x));
    return f;
}

static f32 ref_sum(i64 x, int n) {
    f32 f = -0.0f;
    for (int k = 0; k < n; k++) f += c_f32[k + x];
    return f;
}

static f64 ref_product(i64 x, int n) {
    f64 f = 1;
    for (int k = 0; k < n; k++) f *= c_f64[k + x] * 1e-6;
    return f;
}

static i8 ref_int_sum(i64 x) {
    u32 f = 0;
    for (int k = 0; k < 85; k++) f += (u32)c_i8[k % 17 + 3 * (k / 17)] * (u32)c_i8[x];
    return (i8)f;
}

static bool ref_any(i64 x) {
    bool any = false;
    for (int k = 0; k < 9; k++) any |= a_i8[x + k] < -100;
    return any;
}

static i64 ref_half(i64 v) { /* floor(v / 2) */
    return (v - (v & 1)) / 2;
}

static i32 ref_argmin(void) {
    i32 at = 0;
    for (int k = 1; k < N; k++)
        if (ref_half(b_i32[k]) < ref_half(b_i32[at])) at = k;
    return at;
}

static u32 ref_fibonacci(i64 x) {
    u32 f[42] = { 1, 1 };
    for (int k = 0; k < 40; k++) f[k + 2] = f[k] + f[k + 1];
    return f[x];
}

static i32 ref_rows(i64 px, i64 py) {
    static i32 f[11][21];
    for (int y = 0; y < 11; y++)
        for (int x = 0; x < 21; x++) f[y][x] = x + 50 * y;
    for (int x = 0; x < 21; x++)
        for (int k = 1; k < 11; k++) f[k][x] += f[k - 1][x];
    for (int y = 0; y < 11; y++)
        for (int k = 1; k < 11; k++) f[y][k] = (i32)((u32)f[y][k - 1] * 3 + (u32)f[y][k]);
    for (int x = 0; x < 21; x++) f[4][x] = (i32)((u32)f[3][x] - (u32)f[4][x]);
    return f[py][px];
}

static i32 ref_place(i64 x, int c) {
    i64 f[4] = { x * 10, x * 10 + 1, x * 10 + 2, x * 10 + 3 };
    for (int k = 0; k < 3; k++) f[k] = f[k + 1] + f[3];
    return (i32)f[c];
}

static i32 ref_places(i64 x) {
    return ref_place(x, 0) + ref_place(x + 1, 2);
}

static u32 ref_step(i64 x) {
    struct {
        u32 a, b;
        bool c;
    } t[64];
    for (u32 i = 0; i < 64; i++) t[i].a = i + 1, t[i].b = i + i + 1, t[i].c = false;
    for (int k = 0; k < 20; k++) {
        u32 a = t[k + 1].b, b = t[k].a;
        bool c = t[k + 1].c;
        t[k].a = a, t[k].b = b, t[k].c = c;
    }
    return t[x].a * 1000 + t[x].b + t[x].c;
}

static i32 ref_count_of(i64 v) {
    i32 n = 0;
    for (int k = 0; k < N; k++) n += a_u8[k] == v;
    return n;
}

static i32 ref_last(i64 x) {
    i32 last = -1;
    for (int k = 0; k < 500; k++)
        if (c_u8[k] % 7 == x) last = k;
    return last;
}

static u32 ref_hash(i64 x) {
    u32 h = 1;
    for (u32 y = 0; y < 2; y++)
        for (u32 k = 0; k < 500; k++)
            if (c_u8[k] % 7 == x) h = h * 3 + (k ^ y);
    return h;
}

static i32 ref_triangle(i64 x) {
    u32 f = 0;
    for (int k = 0; k < 9 && k <= x; k++) f += (u32)a_i32[x - k] * 3 + 1;
    return (i32)f;
}

static i64 ref_where_two(i64 x) {
    u64 f = 0;
    for (int ky = 0; ky < 12; ky++)
        for (int kx = 0; kx < 12; kx++)
            if (kx < ky && a_i32[kx] > a_i32[ky]) f = f * 5 + (u64)(kx * 12 + ky + x);
    return (i64)f;
}

static i64 ref_floor_div(i64 a, i64 b) { /* Euclidean, and 0 by 0 */
    if (b == 0) return 0;
    return a % b >= 0 ? a / b : b > 0 ? a / b - 1 : a / b + 1;
}

static i32 ref_garbage(i64 x) {
    int p = a_u8[x] % 20;
    i64 q = ref_floor_div(1000, p - 7);
    return (i32)((u32)q + (u32)b_i32[p] + (u32)c_i32[q < 0 ? 0 : q > 575 ? 575 : q]);
}

static i32 ref_folded(i64 x, i64 y) {
    u32 p[3];
    for (int k = 0; k < 3; k++) {
        i64 at = y + k - 1, px = k == 1 ? x + 1 : x;
        p[k] = (u32)c_i32[px + 3 * at] + (u32)at;
    }
    return (i32)(p[0] ^ p[1] ^ p[2]);
}

static i32 ref_in_place(i64 x) {
    u32 f[32];
    for (int i = 0; i < 32; i++) f[i] = 0x01010101;
    for (int k = 2; k < 22; k++) f[k] = f[k + 2] + f[k - 1];
    return (i32)f[x];
}

static f32 ref_ones(void) {
    u32 u = 0x01010101;
    f32 f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Philox4x32-10: the counter holds the point, the key the seed and the place. */
static u32 ref_philox(i64 seed, u32 place, i64 x, i64 y) {
    u32 c[4] = { (u32)x, (u32)((u64)x >> 32), (u32)y, (u32)((u64)y >> 32) }, k[2] = { (u32)seed, (u32)((u64)seed >> 32) ^ place };
    for (int round = 0; round < 10; round++) {
        u64 p = (u64)0xd2511f53 * c[0], q = (u64)0xcd9e8d57 * c[2];
        u32 next[4] = { (u32)(q >> 32) ^ c[1] ^ k[0], (u32)q, (u32)(p >> 32) ^ c[3] ^ k[1], (u32)p };
        memcpy(c, next, sizeof c);
        k[0] += 0x9e3779b9;
        k[1] += 0xbb67ae85;
    }
    return c[0];
}

static f32 ref_random(i64 x, i64 y) {
    return (f32)(ref_philox(-3, 0, x, y) >> 8) * 0x1p-24f;
}

static i64 ref_wrap(i64 a, i64 n) {
    return (a % n + n) % n;
}

static i32 ref_window(i64 x, int n) {
    u32 f = 0;
    for (int k = 0; k < n; k++) f += (u32)a_i32[x + k];
    return (i32)f;
}

/* ---- the rows ---- */

#define PLANS(...) { __VA_ARGS__ }
#define SIDES(...) { __VA_ARGS__ }
#define PLANNED(test, name, T, text, plans, sides, ...)                                                     \
    static void want_##test##_##name(void *out) {                                                           \
        static const i64 side[6] = sides;                                                                   \
        i64 rows = side[3] || side[2] ? side[3] : 1, at = 0;                                                \
        for (i64 y = side[2]; y < side[2] + rows; y++)                                                      \
            for (i64 x = side[0]; x < side[0] + side[1]; x++) ((T *)out)[at++] = (T)(__VA_ARGS__);          \
    }
#include "plans.def"
#undef PLANNED

#define KIND_i8 MLC_I8
#define KIND_i16 MLC_I16
#define KIND_i32 MLC_I32
#define KIND_i64 MLC_I64
#define KIND_u8 MLC_U8
#define KIND_u32 MLC_U32
#define KIND_u64 MLC_U64
#define KIND_f16 MLC_F16
#define KIND_bf16 MLC_BF16
#define KIND_f32 MLC_F32
#define KIND_f64 MLC_F64
#define KIND__Bool MLC_BOOL
#define KIND(T) KIND_(T)
#define KIND_(T) KIND_##T
#define PLANNED(test, name, T, text, plans, sides, ...) \
    { #test, #name, KIND(T), text, want_##test##_##name, 0, plans, sizeof((i64[])sides) / sizeof(i64) / 2, sides },

static const Case cases[] = {
#include "plans.def"
};
#undef PLANNED

static void setup(void) {
    kit_run(cases, (int)(sizeof cases / sizeof *cases), 8);
}

RULE(plans_keep_the_bits)
RULE(reduction_order_is_kept)
RULE(commuting_reductions)
RULE(starts_of_reductions)
RULE(stages_run_in_order)
RULE(vars_keep_their_places)
RULE(tuples_are_stored_together)
RULE(duplicates_apply_in_order)
RULE(where_excludes_points)
RULE(garbage_never_shows)
RULE(require_fires_for_needed_points)
RULE(undef_keeps_the_buffers_content)
RULE(random_ignores_plans)
RULE(boundaries)
RULE(extern_functions)
RULE(automatic_tails_never_fail)
RULE(explicit_tails)

Suite *contract_plans_suite(void) {
    Suite *s = suite_create("contract: plans");
    TCase *t = tcase_create("plans");
    tcase_set_timeout(t, 60);
    tcase_add_unchecked_fixture(t, setup, NULL);
    tcase_add_test(t, plans_keep_the_bits);
    tcase_add_test(t, reduction_order_is_kept);
    tcase_add_test(t, commuting_reductions);
    tcase_add_test(t, starts_of_reductions);
    tcase_add_test(t, stages_run_in_order);
    tcase_add_test(t, vars_keep_their_places);
    tcase_add_test(t, tuples_are_stored_together);
    tcase_add_test(t, duplicates_apply_in_order);
    tcase_add_test(t, where_excludes_points);
    tcase_add_test(t, garbage_never_shows);
    tcase_add_test(t, require_fires_for_needed_points);
    tcase_add_test(t, undef_keeps_the_buffers_content);
    tcase_add_test(t, random_ignores_plans);
    tcase_add_test(t, boundaries);
    tcase_add_test(t, extern_functions);
    tcase_add_test(t, automatic_tails_never_fail);
    tcase_add_test(t, explicit_tails);
    suite_add_tcase(s, t);
    return s;
}
