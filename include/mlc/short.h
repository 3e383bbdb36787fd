/* mlc/short.h - unprefixed names for programs that are mostly mlc, opt-in.
 *
 * All are function-like macros, so `at`, `range` or `tile` stay usable as the names of variables and
 * members.  As names of functions they are taken, each #define below: a function `sum`, `min`, `max`, `add`, `sub`,
 * `level`, `profile`, `trace`, `update`, `split` or `where` of your own, or of a header included later, fails with an
 * error that speaks of mlc's headers.  Call it otherwise, include that header first and #undef the name behind this
 * one, or use mlc.h with its prefixes.  Names of the C library are left alone: write mlc_div, mlc_abs, mlc_exp,
 * mlc_select, mlc_index ...; div is `quo`, select is `when`.  In C++ the operators do not exist, as they choose by
 * _Generic: there mlc.h gives the plain functions, and mlc_program_parse takes programs as text. */
#ifndef MLC_SHORT_H
#define MLC_SHORT_H

#ifdef __cplusplus
#error "mlc/short.h is for C, whose _Generic it stands on; in C++ include mlc.h and write programs as text"
#endif

#include <mlc.h>

typedef mlc_expr Expr;
typedef mlc_var Var;
typedef mlc_param Param;
typedef mlc_func Func;
typedef mlc_stage Stage;
typedef mlc_rdom RDom;

/* arithmetic */
#define add(...) mlc_add(__VA_ARGS__)
#define sub(...) mlc_sub(__VA_ARGS__)
#define mul(...) mlc_mul(__VA_ARGS__)
#define quo(...) mlc_div(__VA_ARGS__)
#define mod(...) mlc_mod(__VA_ARGS__)
#define neg(...) mlc_neg(__VA_ARGS__)
#define plus(...) mlc_plus(__VA_ARGS__)
#define times(...) mlc_times(__VA_ARGS__)
#define min(...) mlc_min(__VA_ARGS__)
#define max(...) mlc_max(__VA_ARGS__)
#define clamp(...) mlc_clamp(__VA_ARGS__)
#define lerp(...) mlc_lerp(__VA_ARGS__)
#define smoothstep(...) mlc_smoothstep(__VA_ARGS__)
#define absd(...) mlc_absd(__VA_ARGS__)
#define ipow(...) mlc_ipow(__VA_ARGS__)
#define rounded(...) mlc_rounded(__VA_ARGS__)

/* bits, comparison, logic, selection */
#define shl(...) mlc_shl(__VA_ARGS__)
#define shr(...) mlc_shr(__VA_ARGS__)
#define eq(...) mlc_eq(__VA_ARGS__)
#define ne(...) mlc_ne(__VA_ARGS__)
#define lt(...) mlc_lt(__VA_ARGS__)
#define le(...) mlc_le(__VA_ARGS__)
#define gt(...) mlc_gt(__VA_ARGS__)
#define ge(...) mlc_ge(__VA_ARGS__)
#define land(...) mlc_land(__VA_ARGS__)
#define lor(...) mlc_lor(__VA_ARGS__)
#define lnot(...) mlc_lnot(__VA_ARGS__)
#define when(...) mlc_select(__VA_ARGS__)
#define mux(...) mlc_mux(__VA_ARGS__)
#define likely(...) mlc_likely(__VA_ARGS__)

/* casts */
#define i8(...) mlc_i8(__VA_ARGS__)
#define i16(...) mlc_i16(__VA_ARGS__)
#define i32(...) mlc_i32(__VA_ARGS__)
#define i64(...) mlc_i64(__VA_ARGS__)
#define u8(...) mlc_u8(__VA_ARGS__)
#define u16(...) mlc_u16(__VA_ARGS__)
#define u32(...) mlc_u32(__VA_ARGS__)
#define u64(...) mlc_u64(__VA_ARGS__)
#define f16(...) mlc_f16(__VA_ARGS__)
#define bf16(...) mlc_bf16(__VA_ARGS__)
#define f32(...) mlc_f32(__VA_ARGS__)
#define f64(...) mlc_f64(__VA_ARGS__)

/* definitions */
#define at(...) mlc_at(__VA_ARGS__)
#define elem(...) mlc_elem(__VA_ARGS__)
#define def(...) mlc_def(__VA_ARGS__)
#define def_add(...) mlc_def_add(__VA_ARGS__)
#define def_sub(...) mlc_def_sub(__VA_ARGS__)
#define def_mul(...) mlc_def_mul(__VA_ARGS__)
#define def_min(...) mlc_def_min(__VA_ARGS__)
#define def_max(...) mlc_def_max(__VA_ARGS__)
#define def_tuple(...) mlc_def_tuple(__VA_ARGS__)
#define define_extern(...) mlc_define_extern(__VA_ARGS__)
#define update(...) mlc_update(__VA_ARGS__)
#define rdom(...) mlc_rdom_new(__VA_ARGS__)
#define range(...) mlc_range_new(__VA_ARGS__)
#define where(...) mlc_where(__VA_ARGS__)
#define sum(...) mlc_sum(__VA_ARGS__)
#define product(...) mlc_product(__VA_ARGS__)
#define minimum(...) mlc_minimum(__VA_ARGS__)
#define maximum(...) mlc_maximum(__VA_ARGS__)
#define argmin(...) mlc_argmin(__VA_ARGS__)
#define argmax(...) mlc_argmax(__VA_ARGS__)
#define constant_edge(...) mlc_constant_edge(__VA_ARGS__)
#define repeat_edge(...) mlc_repeat_edge(__VA_ARGS__)
#define repeat_image(...) mlc_repeat_image(__VA_ARGS__)
#define mirror_image(...) mlc_mirror_image(__VA_ARGS__)
#define mirror_interior(...) mlc_mirror_interior(__VA_ARGS__)

/* plans */
#define schedule(...) mlc_schedule(__VA_ARGS__)
#define split(...) mlc_split(__VA_ARGS__)
#define fuse(...) mlc_fuse(__VA_ARGS__)
#define tile(...) mlc_tile(__VA_ARGS__)
#define reorder(...) mlc_reorder(__VA_ARGS__)
#define rfactor(...) mlc_rfactor(__VA_ARGS__)
#define serial(...) mlc_serial(__VA_ARGS__)
#define parallel(...) mlc_parallel(__VA_ARGS__)
#define vectorize(...) mlc_vectorize(__VA_ARGS__)
#define unroll(...) mlc_unroll(__VA_ARGS__)
#define partition(...) mlc_partition(__VA_ARGS__)
#define compute_root(...) mlc_compute_root(__VA_ARGS__)
#define compute_at(...) mlc_compute_at(__VA_ARGS__)
#define compute_inline(...) mlc_compute_inline(__VA_ARGS__)
#define store_root(...) mlc_store_root(__VA_ARGS__)
#define store_at(...) mlc_store_at(__VA_ARGS__)
#define ring_buffer(...) mlc_ring_buffer(__VA_ARGS__)
#define async(...) mlc_async(__VA_ARGS__)
#define unscheduled(...) mlc_unscheduled(__VA_ARGS__)
#define reorder_storage(...) mlc_reorder_storage(__VA_ARGS__)
#define align_storage(...) mlc_align_storage(__VA_ARGS__)
#define bound_storage(...) mlc_bound_storage(__VA_ARGS__)
#define fold_storage(...) mlc_fold_storage(__VA_ARGS__)
#define store_in(...) mlc_store_in(__VA_ARGS__)
#define swizzle(...) mlc_swizzle(__VA_ARGS__)
#define copy_by(...) mlc_copy_by(__VA_ARGS__)
#define bound(...) mlc_bound(__VA_ARGS__)
#define bound_extent(...) mlc_bound_extent(__VA_ARGS__)
#define align_bounds(...) mlc_align_bounds(__VA_ARGS__)
#define align_extent(...) mlc_align_extent(__VA_ARGS__)
#define estimate(...) mlc_estimate(__VA_ARGS__)
#define in(...) mlc_in(__VA_ARGS__)
#define clone_in(...) mlc_clone_in(__VA_ARGS__)
#define eager_inline(...) mlc_eager_inline(__VA_ARGS__)
#define specialize(...) mlc_specialize(__VA_ARGS__)
#define specialize_fail(...) mlc_specialize_fail(__VA_ARGS__)
#define prefetch(...) mlc_prefetch(__VA_ARGS__)
#define hoist_storage(...) mlc_hoist_storage(__VA_ARGS__)
#define hoist_storage_root(...) mlc_hoist_storage_root(__VA_ARGS__)
#define atomic(...) mlc_atomic(__VA_ARGS__)
#define memoize(...) mlc_memoize(__VA_ARGS__)
#define memoize_by(...) mlc_memoize_by(__VA_ARGS__)
#define level(...) mlc_level(__VA_ARGS__)
#define change_type(...) mlc_change_type(__VA_ARGS__)
#define profile(...) mlc_profile(__VA_ARGS__)
#define trace(...) mlc_trace(__VA_ARGS__)
#define compute_with(...) mlc_compute_with(__VA_ARGS__)
#define stream_stores(...) mlc_stream_stores(__VA_ARGS__)
#define stream_loads(...) mlc_stream_loads(__VA_ARGS__)
#define gpu_blocks(...) mlc_gpu_blocks(__VA_ARGS__)
#define gpu_threads(...) mlc_gpu_threads(__VA_ARGS__)
#define gpu_tile(...) mlc_gpu_tile(__VA_ARGS__)
#define gpu_single_thread(...) mlc_gpu_single_thread(__VA_ARGS__)
#define tensorize(...) mlc_tensorize(__VA_ARGS__)

#endif
