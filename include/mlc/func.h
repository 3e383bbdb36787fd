/* mlc/func.h - Funcs, inputs, params, reduction domains and their definitions.
 *
 * A Func has one pure definition, whose left side is distinct Vars, and then any number of updates, whose
 * left side is any index expression; updates run in order.  Funcs, inputs, params and RDoms of a context
 * share one namespace; Vars are interned by name.  '$' is reserved for names that mlc generates.
 *
 * The first error stays in the context (mlc_error), and nothing of it compiles until mlc_error_clear; after that,
 * what reads the wrong definition still fails. */
#ifndef MLC_FUNC_H
#define MLC_FUNC_H

#include <mlc/expr.h>
#include <mlc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct Func;
struct RDom;
/* A Func, or an input (a buffer that the user binds). */
typedef struct {
    struct Func *f;
} mlc_func;
/* One definition of a Func: stage 0 is the pure one, stage i + 1 the update i. */
typedef struct {
    struct Func *f;
    int stage;
} mlc_stage;
/* A reduction domain: its first four dimensions are RVars x, y, z, w; mlc_rvar gives any. */
typedef struct {
    struct RDom *r;
    mlc_var x, y, z, w;
} mlc_rdom;
/* [min, min + extent).  All zero: no range. */
typedef struct {
    mlc_expr min, extent;
} mlc_range;
/* A C function that expressions may call. */
typedef struct {
    mlc_ctx *ctx;
    const struct Extern *ext;
} mlc_extern;

/* ---- Vars, Funcs, inputs, params ---- */

/* The Var of that name: the same one for the same name. */
MLC_API mlc_var mlc_var_new(mlc_ctx *ctx, const char *name);
/* Declares C variables x, y ... holding the Vars of these names (1 to 8). */
#define MLC_VARS(ctx, ...) mlc_var MLC_CAT(MLC_VARS_, MLC_NARG(__VA_ARGS__))(ctx, __VA_ARGS__)
#define MLC_VARS_1(c, a) a = mlc_var_new(c, #a)
#define MLC_VARS_2(c, a, ...) a = mlc_var_new(c, #a), MLC_VARS_1(c, __VA_ARGS__)
#define MLC_VARS_3(c, a, ...) a = mlc_var_new(c, #a), MLC_VARS_2(c, __VA_ARGS__)
#define MLC_VARS_4(c, a, ...) a = mlc_var_new(c, #a), MLC_VARS_3(c, __VA_ARGS__)
#define MLC_VARS_5(c, a, ...) a = mlc_var_new(c, #a), MLC_VARS_4(c, __VA_ARGS__)
#define MLC_VARS_6(c, a, ...) a = mlc_var_new(c, #a), MLC_VARS_5(c, __VA_ARGS__)
#define MLC_VARS_7(c, a, ...) a = mlc_var_new(c, #a), MLC_VARS_6(c, __VA_ARGS__)
#define MLC_VARS_8(c, a, ...) a = mlc_var_new(c, #a), MLC_VARS_7(c, __VA_ARGS__)

/* A Func to be defined.  mlc_func_new takes the place from the source. */
MLC_API mlc_func mlc_func_at(mlc_ctx *ctx, const char *name, mlc_loc loc);
#define mlc_func_new(ctx, name) mlc_func_at(ctx, name, MLC_HERE)
/* An input of a data type and a rank. */
MLC_API mlc_func mlc_input_at(mlc_ctx *ctx, const char *name, mlc_type type, int rank, mlc_loc loc);
#define mlc_input_new(ctx, name, type, rank) mlc_input_at(ctx, name, type, rank, MLC_HERE)
/* Declares that every element of the input lies in [lo, hi], and is no NaN (nor -0 where lo >= 0). */
MLC_API void mlc_input_range_set(mlc_func in, mlc_expr lo, mlc_expr hi, mlc_loc loc);
#define mlc_input_range(in, lo, hi) mlc_input_range_set(in, MLC_E(lo), MLC_E(hi), MLC_HERE)

/* A scalar argument, of a data type or MLC_INDEX. */
MLC_API mlc_param mlc_param_at(mlc_ctx *ctx, const char *name, mlc_type type, mlc_loc loc);
#define mlc_param_new(ctx, name, type) mlc_param_at(ctx, name, type, MLC_HERE)
/* Declares its range: checked at each call, and known to the compiler. */
MLC_API void mlc_param_range_set(mlc_param p, mlc_expr lo, mlc_expr hi, mlc_loc loc);
#define mlc_param_range(p, lo, hi) mlc_param_range_set(p, MLC_E(lo), MLC_E(hi), MLC_HERE)
/* Gives the value for coming calls; false (and an error) when its type does not hold it. */
MLC_API bool mlc_param_set_value(mlc_param p, mlc_expr v);
MLC_API bool mlc_param_set_i(mlc_param p, int64_t v);
MLC_API bool mlc_param_set_f(mlc_param p, double v);
#define mlc_param_set(p, v) mlc_param_set_value(p, MLC_E(v))

/* What is known of one dimension of an input's or output's buffer, checked at bind: bits of `has` name the
 * fields that count.  `align`: the stride is a multiple of it. */
enum { MLC_HAS_MIN = 1, MLC_HAS_EXTENT = 2, MLC_HAS_STRIDE = 4, MLC_HAS_ALIGN = 8 };
typedef struct {
    int64_t min, extent, stride, align;
    int has;
} mlc_dim_spec;
MLC_API void mlc_dim_set(mlc_func f, int dim, mlc_dim_spec spec, mlc_loc loc);
/* mlc_dim(in, 0, .stride = 3, .min = 0): the fields named are the ones constrained. */
#define mlc_dim(f, dim, ...) \
    mlc_dim_set(f, dim, mlc_dim_named((mlc_dim_spec){ __VA_ARGS__ }, #__VA_ARGS__), MLC_HERE)
/* `spec` with `has` filled from the designators in `fields`. */
MLC_API mlc_dim_spec mlc_dim_named(mlc_dim_spec spec, const char *fields);
/* The min, the extent and the stride (in elements) of the buffer bound to an input, as index expressions; of an
 * output in conditions of plans alone. */
MLC_API mlc_expr mlc_dim_min(mlc_func f, int dim);
MLC_API mlc_expr mlc_dim_extent(mlc_func f, int dim);
MLC_API mlc_expr mlc_dim_stride(mlc_func f, int dim);

/* ---- reduction domains ---- */

/* mlc_range_new(min, extent): bounds of one dimension, made of index expressions: literals, index params, sizes. */
#define mlc_range_new(min_, extent_) (mlc_range_of(MLC_E(min_), MLC_E(extent_)))
MLC_API mlc_range mlc_range_of(mlc_expr min, mlc_expr extent);
/* A domain of n dimensions, the first innermost. */
MLC_API mlc_rdom mlc_rdom_at(mlc_ctx *ctx, const char *name, int n, const mlc_range *ranges, mlc_loc loc);
#define mlc_rdom_new(ctx, name, ...) \
    mlc_rdom_at(ctx, name, MLC_NARG(__VA_ARGS__), (mlc_range[]){ __VA_ARGS__ }, MLC_HERE)
/* Its dimension i. */
MLC_API mlc_var mlc_rvar(mlc_rdom r, int i);
/* Only points where `cond` holds are visited.  All conditions come before the first use. */
MLC_API void mlc_where_at(mlc_rdom r, mlc_expr cond, mlc_loc loc);
#define mlc_where(r, cond) mlc_where_at(r, MLC_E(cond), MLC_HERE)

/* ---- accesses and definitions ---- */

/* f at n coordinates: a read, or the left side of a definition.  Data becomes an index; a tuple's element
 * is taken with mlc_elem.  A Func of rank 0 is mlc_access(f, 0, NULL). */
MLC_API mlc_expr mlc_access(mlc_func f, int n, const mlc_expr *coord);
#define mlc_at(f, ...) mlc_access(f, MLC_EXPRS(__VA_ARGS__))
/* Element i of a tuple read by `access`. */
MLC_API mlc_expr mlc_elem(mlc_expr access, int i);

/* How a definition combines with the old value. */
typedef enum { MLC_DEF_SET, MLC_DEF_ADD, MLC_DEF_SUB, MLC_DEF_MUL, MLC_DEF_MIN, MLC_DEF_MAX } mlc_def_op;

/* Defines `left` (an access) by n values, a tuple where n > 1.  The first definition with MLC_DEF_SET is
 * the pure one; any other op first gives the Func its neutral start (float sums -0, min +inf ...).
 * Returns the stage that was made; its f is NULL where it could not be. */
MLC_API mlc_stage mlc_define(mlc_expr left, mlc_def_op op, int n, const mlc_expr *value, mlc_loc loc);
#define MLC_DEFINE(left, op, ...) mlc_define(left, op, MLC_EXPRS(__VA_ARGS__), MLC_HERE)
#define mlc_def(left, value) MLC_DEFINE(left, MLC_DEF_SET, value)
#define mlc_def_add(left, value) MLC_DEFINE(left, MLC_DEF_ADD, value)
#define mlc_def_sub(left, value) MLC_DEFINE(left, MLC_DEF_SUB, value)
#define mlc_def_mul(left, value) MLC_DEFINE(left, MLC_DEF_MUL, value)
#define mlc_def_min(left, value) MLC_DEFINE(left, MLC_DEF_MIN, value)
#define mlc_def_max(left, value) MLC_DEFINE(left, MLC_DEF_MAX, value)
#define mlc_def_tuple(left, ...) MLC_DEFINE(left, MLC_DEF_SET, __VA_ARGS__)

/* The pure stage, and the update i. */
MLC_API mlc_stage mlc_pure(mlc_func f);
MLC_API mlc_stage mlc_update(mlc_func f, int i);

/* ---- inline reductions ---- */

typedef enum { MLC_SUM, MLC_PRODUCT, MLC_MINIMUM, MLC_MAXIMUM, MLC_ARGMIN, MLC_ARGMAX } mlc_reduction;
/* The reduction of e over r: a hidden Func over the free Vars of e (sum$1 ...), read here.  Argmin and argmax
 * give a tuple: the point's coordinates as i32, r's first dimension first, then the value; of equal
 * values the first in the domain's order.  They start at r's mins with the type's end. */
MLC_API mlc_expr mlc_reduce(mlc_reduction kind, mlc_rdom r, mlc_expr e, mlc_loc loc);
#define mlc_sum(r, e) mlc_reduce(MLC_SUM, r, MLC_E(e), MLC_HERE)
#define mlc_product(r, e) mlc_reduce(MLC_PRODUCT, r, MLC_E(e), MLC_HERE)
#define mlc_minimum(r, e) mlc_reduce(MLC_MINIMUM, r, MLC_E(e), MLC_HERE)
#define mlc_maximum(r, e) mlc_reduce(MLC_MAXIMUM, r, MLC_E(e), MLC_HERE)
#define mlc_argmin(r, e) mlc_reduce(MLC_ARGMIN, r, MLC_E(e), MLC_HERE)
#define mlc_argmax(r, e) mlc_reduce(MLC_ARGMAX, r, MLC_E(e), MLC_HERE)
/* The Func that an access reads: schedules an inline reduction. */
MLC_API mlc_func mlc_func_of(mlc_expr access);

/* ---- boundary conditions ---- */

typedef enum {
    MLC_CONSTANT_EDGE,   /* a value outside */
    MLC_REPEAT_EDGE,     /* the nearest element */
    MLC_REPEAT_IMAGE,    /* tiles of the image */
    MLC_MIRROR_IMAGE,    /* tiles, every other one mirrored: c b a | a b c | c b a */
    MLC_MIRROR_INTERIOR, /* the same without doubling the edge: c b | a b c | b a */
} mlc_edge;
/* What a boundary macro takes: the Func and a range a dimension (all zero: that dimension is left alone;
 * none given: the input's own min and extent), and `.name` (else NAME$edge). */
typedef struct {
    mlc_loc loc;
    mlc_func f;
    mlc_range d0, d1, d2, d3, d4, d5, d6, d7;
    const char *name;
} mlc_edge_args;
/* A new Func that reads f inside its bounds, and outside what `kind` says; `value` is for MLC_CONSTANT_EDGE. */
MLC_API mlc_func mlc_boundary(mlc_edge kind, mlc_expr value, const mlc_edge_args *args);
#define MLC_EDGE_ARGS(...) (&(mlc_edge_args){ .loc = MLC_HERE, .f = __VA_ARGS__ })
#define mlc_constant_edge(value, ...) mlc_boundary(MLC_CONSTANT_EDGE, MLC_E(value), MLC_EDGE_ARGS(__VA_ARGS__))
#define mlc_repeat_edge(...) mlc_boundary(MLC_REPEAT_EDGE, mlc_from_int(0), MLC_EDGE_ARGS(__VA_ARGS__))
#define mlc_repeat_image(...) mlc_boundary(MLC_REPEAT_IMAGE, mlc_from_int(0), MLC_EDGE_ARGS(__VA_ARGS__))
#define mlc_mirror_image(...) mlc_boundary(MLC_MIRROR_IMAGE, mlc_from_int(0), MLC_EDGE_ARGS(__VA_ARGS__))
#define mlc_mirror_interior(...) mlc_boundary(MLC_MIRROR_INTERIOR, mlc_from_int(0), MLC_EDGE_ARGS(__VA_ARGS__))

/* ---- C functions ---- */

/* Declares the pure, thread-safe C function `fn`, of signature "f32 f32 -> f32": up to 8 data types. */
MLC_API mlc_extern mlc_extern_new(mlc_ctx *ctx, const char *name, void (*fn)(void), const char *signature);
/* Calls it. */
MLC_API mlc_expr mlc_call_n(mlc_extern fn, int n, const mlc_expr *arg);
#define mlc_call_extern(fn, ...) mlc_call_n(fn, MLC_EXPRS(__VA_ARGS__))

/* ---- extern stages: a Func whose values a C function computes as a whole ----
 *
 * The function is called in two ways, told apart by out[0]->data.
 *   NULL: a query.  The outputs have the box that is needed (all the same); the function sets the mins and extents of
 *   the inputs to what it reads for that.  They come with the outputs' box, where that is right already, and
 *   [0, 1) in further dimensions.  It may also enlarge the outputs' boxes, alike, to what it writes.
 *   Else: it computes.  Inputs and outputs have exactly the boxes that the query left; strides are any.
 * Tuples are a buffer an element, arguments in order; scalars in their order in `arg` (integers in .i, floats in .f).
 * It returns 0; any other code ends the call with an error that names the Func and the code.
 *
 * It must be thread-safe, its answer may depend on the box and the scalars alone, a larger box may not need less,
 * and a point's value may not depend on the box it is computed in: it is called for tiles as for wholes, queries
 * any number of times, and never for an empty box.  Ends of boxes stay within +-2^40.  Loops that a plan marks serial or
 * parallel run around the calls, each of which then has to write just the slice that it is asked for. */
typedef int (*mlc_stage_fn)(mlc_buffer *const *in, mlc_buffer *const *out, const mlc_scalar *arg);
/* Declares it for extern stages. */
MLC_API mlc_extern mlc_extern_stage_new(mlc_ctx *ctx, const char *name, mlc_stage_fn fn);
/* An argument: a Func or an input, or an expression of params, sizes of inputs and constants. */
typedef struct {
    mlc_func func;
    mlc_expr value;
} mlc_stage_arg;
MLC_API mlc_stage_arg mlc_arg_func(mlc_func f);
MLC_API mlc_stage_arg mlc_arg_expr(mlc_expr e);
MLC_API mlc_stage_arg mlc_arg_param(mlc_param p);
MLC_API mlc_stage_arg mlc_arg_int(int v);
MLC_API mlc_stage_arg mlc_arg_long(long v);
MLC_API mlc_stage_arg mlc_arg_float(float v);
MLC_API mlc_stage_arg mlc_arg_double(double v);
/* mlc_define_extern(f, fn, "u8[2]", g, in, gain): defines f, of that type and rank ("{u8, f32}[2]": a tuple), with 1 to
 * 8 arguments.  Its dimensions are named _0, _1 ...  False where it could not be. */
MLC_API bool mlc_define_extern_at(mlc_func f, mlc_extern fn, const char *types, int n, const mlc_stage_arg *arg, mlc_loc loc);
#define mlc_define_extern(f, fn, types, ...) \
    mlc_define_extern_at(f, fn, types, MLC_NARG(__VA_ARGS__), (mlc_stage_arg[]){ MLC_ARGS(__VA_ARGS__) }, MLC_HERE)
#define MLC_ARG(x) \
    _Generic((x), mlc_func: mlc_arg_func, mlc_expr: mlc_arg_expr, mlc_param: mlc_arg_param, int: mlc_arg_int, \
             long: mlc_arg_long, float: mlc_arg_float, double: mlc_arg_double)(x)
#define MLC_ARGS(...) MLC_CAT(MLC_ARGS_, MLC_NARG(__VA_ARGS__))(__VA_ARGS__)
#define MLC_ARGS_1(a) MLC_ARG(a)
#define MLC_ARGS_2(a, ...) MLC_ARG(a), MLC_ARGS_1(__VA_ARGS__)
#define MLC_ARGS_3(a, ...) MLC_ARG(a), MLC_ARGS_2(__VA_ARGS__)
#define MLC_ARGS_4(a, ...) MLC_ARG(a), MLC_ARGS_3(__VA_ARGS__)
#define MLC_ARGS_5(a, ...) MLC_ARG(a), MLC_ARGS_4(__VA_ARGS__)
#define MLC_ARGS_6(a, ...) MLC_ARG(a), MLC_ARGS_5(__VA_ARGS__)
#define MLC_ARGS_7(a, ...) MLC_ARG(a), MLC_ARGS_6(__VA_ARGS__)
#define MLC_ARGS_8(a, ...) MLC_ARG(a), MLC_ARGS_7(__VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
