/* mlc/base.h - contexts, types, places and errors: what every other header stands on.
 *
 * Nothing in mlc aborts or exits.  A construction error makes a poison expression and stays in the
 * context (the first one is kept) until mlc_error_clear, up to which nothing of it compiles; errors of a compile belong to the plan or
 * module; errors of a call are returned and fill the caller's mlc_error_info. */
#ifndef MLC_BASE_H
#define MLC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define MLC_API __attribute__((visibility("default")))
#else
#define MLC_API
#endif

/* The version of these headers; mlc_version() is that of the library that was linked. */
#define MLC_VERSION "0.1.0"
MLC_API const char *mlc_version(void);

/* Owns every language object made with it.  Independent contexts may be used by different threads
 * at once; one context is built by one thread at a time. */
typedef struct mlc_ctx mlc_ctx;

/* A place in the user's source. */
typedef struct {
    const char *file;
    int line;
} mlc_loc;
#define MLC_HERE ((mlc_loc){ __FILE__, __LINE__ })

/* Element types (docs/semantics.md section 2).  MLC_INDEX is the 64-bit type of Vars and extents. */
typedef enum {
    MLC_VOID, /* no type: poison, or unknown */
    MLC_BOOL,
    MLC_I8, MLC_I16, MLC_I32, MLC_I64,
    MLC_U8, MLC_U16, MLC_U32, MLC_U64,
    MLC_F16, MLC_BF16, MLC_F32, MLC_F64,
    MLC_INDEX,
    MLC_TYPE_COUNT
} mlc_type;

/* Bytes of one element of `type` (bool: 1, index: 8), 0 for MLC_VOID. */
MLC_API size_t mlc_type_size(mlc_type type);
/* "f32", "u8", "index" ...; "void" for a value that is no type. */
MLC_API const char *mlc_type_name(mlc_type type);

/* An allocator hook: realloc's contract (old NULL allocates, size 0 frees and returns NULL).
 * Returning NULL for size > 0 is an out-of-memory error of the call that needed it. */
typedef struct {
    void *(*resize)(void *user, void *old, size_t size);
    void *user;
} mlc_allocator;

/* A log hook: receives one line without a newline.  Default: none. */
typedef void (*mlc_log_fn)(void *user, const char *line);

/* Makes a context; NULL when memory is out.  `allocator` may be NULL (the C library's). */
MLC_API mlc_ctx *mlc_ctx_new(void);
MLC_API mlc_ctx *mlc_ctx_new_with(const mlc_allocator *allocator);
/* Frees the context and every Func, Var, plan and expression made with it.  Modules live on. */
MLC_API void mlc_ctx_free(mlc_ctx *ctx);
MLC_API void mlc_ctx_log(mlc_ctx *ctx, mlc_log_fn fn, void *user);

/* One error: `code` is a row of errors.def (0: none), `message` the whole text. */
typedef struct {
    int code;
    char message[1024];
} mlc_error_info;

/* The first construction or plan error since the last clear; else the error of the last call (bind, realize,
 * interpret) where that failed; "" when there is none.  The text lives
 * until mlc_error_clear or mlc_ctx_free. */
MLC_API const char *mlc_error(const mlc_ctx *ctx);
/* Its code, 0 when there is none; mlc_error_name gives the row's name. */
MLC_API int mlc_error_code(const mlc_ctx *ctx);
MLC_API const char *mlc_error_name(int code);
MLC_API void mlc_error_clear(mlc_ctx *ctx);

/* The one of n names that `word` may have been meant to be, by edit distance; NULL where none is near. */
MLC_API const char *mlc_nearest_name(const char *word, const char *const *names, int n);

#ifdef __cplusplus
}
#endif
#endif
