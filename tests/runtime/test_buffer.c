/* Buffers: making, views, copies, overlap, DLPack. */
#include "runtime/runtime.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *buffer_suite(void);

START_TEST(wrap_takes_type_and_shape_from_c) {
    float f[6];
    const uint16_t u[6] = { 0 };
    int64_t l[2];
    mlc_buffer *b = mlc_wrap(f, 3, 2);
    ck_assert_int_eq(b->type, MLC_F32);
    ck_assert_int_eq(b->rank, 2);
    ck_assert_int_eq(b->dim[1].stride, 3);
    ck_assert_int_eq(b->dim[1].extent, 2);
    ck_assert_ptr_eq(b->data, f);
    ck_assert_int_eq(mlc_wrap(u, 6)->type, MLC_U16);
    ck_assert_int_eq(mlc_wrap(l, 2)->type, MLC_I64);
    ck_assert_int_eq(mlc_wrap_as(MLC_BF16, u, 6)->type, MLC_BF16);
    ck_assert_int_eq(mlc_wrap(f, -1)->rank, -1); /* no shape: refused at bind */
}
END_TEST

START_TEST(new_checks_the_shape) {
    static const struct {
        mlc_type type;
        int rank;
        int64_t extent[2];
        bool good;
    } rows[] = {
        { MLC_F32, 2, { 5, 7 }, true },         { MLC_U8, 0, { 0 }, true },
        { MLC_F64, 2, { 0, 7 }, true },         { MLC_F32, 1, { -1 }, false },
        { MLC_VOID, 1, { 1 }, false },          { MLC_F32, 9, { 1 }, false },
        { MLC_F32, -1, { 1 }, false },          { MLC_U8, 2, { INT64_MAX, 2 }, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlc_buffer *b = mlc_buffer_new(rows[i].type, rows[i].rank, rows[i].extent);
        ck_assert_msg(!b == !rows[i].good, "row %zu", i);
        if (b) {
            ck_assert_int_eq((intptr_t)b->data % 64, 0);
            for (size_t k = 0; k < (size_t)mlc_buffer_count(b) * mlc_type_size(b->type); k++)
                ck_assert_int_eq(((char *)b->data)[k], 0);
        }
        mlc_buffer_free(b);
    }
    mlc_buffer_free(NULL);
}
END_TEST

START_TEST(views_move_the_address_and_keep_the_elements) {
    int v[5 * 7];
    for (int i = 0; i < 35; i++) v[i] = i;
    mlc_buffer b = *mlc_wrap(v, 5, 7);
    ck_assert(mlc_buffer_set_min(&b, 0, -2));
    ck_assert(mlc_buffer_crop(&b, 0, 0, 2));
    ck_assert(mlc_buffer_crop(&b, 1, 3, 4));
    ck_assert_int_eq(*(int *)b.data, 3 * 5 + 2);
    ck_assert_int_eq(*(int *)mlc_buffer_at(&b, (int64_t[]){ 1, 6 }), 6 * 5 + 3);
    ck_assert(mlc_buffer_transpose(&b, 0, 1));
    ck_assert_int_eq(*(int *)mlc_buffer_at(&b, (int64_t[]){ 6, 1 }), 6 * 5 + 3);
    ck_assert(mlc_buffer_stride(&b, 0, 3)); /* 3 4 5 6 -> 3 4, elements of rows 3 and 6 */
    ck_assert_int_eq(b.dim[0].extent, 2);
    ck_assert_int_eq(*(int *)mlc_buffer_at(&b, (int64_t[]){ 4, 0 }), 6 * 5 + 2);
    ck_assert(mlc_buffer_slice(&b, 0, 4));
    ck_assert_int_eq(b.rank, 1);
    ck_assert_int_eq(*(int *)b.data, 6 * 5 + 2);
    mlc_buffer before = b;
    ck_assert(!mlc_buffer_crop(&b, 0, -1, 1));
    ck_assert(!mlc_buffer_crop(&b, 0, 0, 3));
    ck_assert(!mlc_buffer_crop(&b, 0, 0, -1));
    ck_assert(!mlc_buffer_crop(&b, 0, INT64_MAX, 1));
    ck_assert(!mlc_buffer_crop(&b, 1, 0, 1));
    ck_assert(!mlc_buffer_slice(&b, 0, 2));
    ck_assert(!mlc_buffer_transpose(&b, 0, 1));
    ck_assert(!mlc_buffer_stride(&b, 0, 0));
    ck_assert(!mlc_buffer_set_min(&b, 0, INT64_MAX));
    ck_assert_int_eq(memcmp(&b, &before, sizeof b), 0);
    ck_assert(mlc_buffer_crop(&b, 0, 1, 0)); /* empty */
}
END_TEST

START_TEST(copy_respects_strides) {
    int src[3 * 5], dst[64];
    for (int i = 0; i < 15; i++) src[i] = 100 + i;
    for (int t = 0; t < 2; t++) {
        memset(dst, 0, sizeof dst);
        mlc_buffer to = { .data = dst, .type = MLC_I32, .rank = 2, .dim = { { 9, 3, t ? 2 : 1 }, { 0, 5, 11 } } };
        ck_assert(mlc_buffer_copy(&to, mlc_wrap(src, 3, 5)));
        for (int y = 0; y < 5; y++)
            for (int x = 0; x < 3; x++) ck_assert_int_eq(dst[x * (t ? 2 : 1) + y * 11], 100 + x + 3 * y);
        ck_assert_int_eq(dst[t ? 1 : 3], 0);
    }
    ck_assert(!mlc_buffer_copy(mlc_wrap(dst, 3, 4), mlc_wrap(src, 3, 5)));
    ck_assert(!mlc_buffer_copy(mlc_wrap(dst, 15), mlc_wrap(src, 3, 5)));
    ck_assert(!mlc_buffer_copy(mlc_wrap_as(MLC_F32, dst, 3, 5), mlc_wrap(src, 3, 5)));
}
END_TEST

/* The judge: every pair of elements. */
static bool overlap_by_force(const mlc_buffer *a, const mlc_buffer *b) {
    int64_t as = (int64_t)mlc_type_size(a->type), bs = (int64_t)mlc_type_size(b->type);
    for (int64_t i = 0; i < a->dim[0].extent * a->dim[1].extent; i++) {
        for (int64_t j = 0; j < b->dim[0].extent * b->dim[1].extent; j++) {
            if (a == b && i == j) continue;
            int64_t ai[2] = { i % a->dim[0].extent, i / a->dim[0].extent }, bi[2] = { j % b->dim[0].extent, j / b->dim[0].extent };
            char *p = mlc_buffer_at(a, ai), *q = mlc_buffer_at(b, bi);
            if (p < q + bs && q < p + as) return true;
        }
    }
    return false;
}

START_TEST(overlap_agrees_with_every_pair) {
    static char memory[4096];
    uint32_t seed = 12345;
    int yes = 0;
    for (int round = 0; round < 4000; round++) {
        mlc_buffer b[2];
        for (int k = 0; k < 2; k++) {
            int64_t r[5];
            for (int i = 0; i < 5; i++) r[i] = (seed = seed * 1664525u + 1013904223u) >> 16;
            b[k] = (mlc_buffer){ .data = memory + 2048 + r[0] % 40, .type = r[4] % 2 ? MLC_U16 : MLC_F32, .rank = 2,
                                 .dim = { { 0, 1 + r[1] % 5, r[2] % 7 - 3 }, { 0, 1 + (r[1] / 8) % 5, (r[3] % 23) - 11 } } };
        }
        bool want = overlap_by_force(&b[0], &b[1]);
        ck_assert_msg(mlc_buffer_overlap(&b[0], &b[1]) == want, "round %d", round);
        ck_assert_msg(mlc_buffer_overlap(&b[0], &b[0]) == overlap_by_force(&b[0], &b[0]), "self %d", round);
        yes += want;
    }
    ck_assert_int_gt(yes, 400);
    ck_assert_int_lt(yes, 3600);
}
END_TEST

START_TEST(overlap_of_whole_images) {
    float *p = malloc(sizeof(float) * 1000 * 1000);
    mlc_buffer even = *mlc_wrap(p, 1000, 1000), odd = even, left = even, right = even;
    ck_assert(mlc_buffer_stride(&even, 0, 2));
    ck_assert(mlc_buffer_crop(&odd, 0, 1, 999) && mlc_buffer_stride(&odd, 0, 2));
    ck_assert(!mlc_buffer_overlap(&even, &odd));
    ck_assert(mlc_buffer_crop(&left, 0, 0, 500) && mlc_buffer_crop(&right, 0, 500, 500));
    ck_assert(!mlc_buffer_overlap(&left, &right));
    right.data = (float *)right.data - 1;
    ck_assert(mlc_buffer_overlap(&left, &right));
    ck_assert(!mlc_buffer_overlap(&even, &even));
    even.dim[1].stride = 0;
    ck_assert(mlc_buffer_overlap(&even, &even));
    free(p);
}
END_TEST

START_TEST(dlpack_round_trip) {
    mlc_buffer *b = mlc_buffer_new(MLC_I16, 2, (int64_t[]){ 3, 5 });
    for (int i = 0; i < 15; i++) ((int16_t *)b->data)[i] = (int16_t)i;
    void *data = b->data, *tensor = mlc_buffer_to_dlpack(b);
    ck_assert_ptr_nonnull(tensor);
    ck_assert(!(b->flags & MLC_BUFFER_OWNED));
    mlc_buffer_free(b); /* the descriptor alone: the memory is the tensor's */
    mlc_buffer *c = mlc_buffer_from_dlpack(tensor);
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_eq(c->data, data);
    ck_assert_int_eq(c->type, MLC_I16);
    ck_assert_int_eq(c->dim[0].extent, 3);
    ck_assert_int_eq(c->dim[1].stride, 3);
    ck_assert_int_eq(*(int16_t *)mlc_buffer_at(c, (int64_t[]){ 2, 4 }), 14);
    mlc_buffer_free(c);
    float own[4];
    tensor = mlc_buffer_to_dlpack(mlc_wrap(own, 4));
    c = mlc_buffer_from_dlpack(tensor);
    ck_assert_ptr_eq(c->data, own);
    mlc_buffer_free(c);
}
END_TEST

Suite *buffer_suite(void) {
    Suite *s = suite_create("buffer");
    TCase *t = tcase_create("buffer");
    tcase_add_test(t, wrap_takes_type_and_shape_from_c);
    tcase_add_test(t, new_checks_the_shape);
    tcase_add_test(t, views_move_the_address_and_keep_the_elements);
    tcase_add_test(t, copy_respects_strides);
    tcase_add_test(t, overlap_agrees_with_every_pair);
    tcase_add_test(t, overlap_of_whole_images);
    tcase_add_test(t, dlpack_round_trip);
    suite_add_tcase(s, t);
    return s;
}
