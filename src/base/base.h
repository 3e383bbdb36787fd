/* base.h - arenas, faults, strings, vectors, maps: the ground floor.
 *
 * Memory: everything of one lifetime lives in one Arena and is dropped with it.
 * Errors: fault_raise() formats the message of an errors.def row into the Fault and jumps to the
 * innermost barrier.  Every public entry point sets one, so no error path needs cleanup beyond
 * dropping an arena.  Nothing here is global. */
#ifndef BASE_H
#define BASE_H

#include <mlc/base.h>
#include <setjmp.h>
#include <stdarg.h>

/* ---- faults ---- */

typedef enum {
    ERR_NONE,
#define ERR(name, format) ERR_##name,
#include "errors.def"
#undef ERR
    ERR_COUNT
} ErrCode;

typedef struct Barrier {
    jmp_buf env;
    struct Barrier *up;
} Barrier;

typedef struct {
    Barrier *barrier; /* innermost, NULL outside public calls */
    mlc_error_info info; /* the first error since it was cleared */
    bool passing;        /* it is that of a call, which the next call or error replaces */
} Fault;

/* Where an error happened: any field may be NULL.  Printed `file:line: object: directive: `. */
typedef struct {
    mlc_loc loc;
    const char *object;    /* "schedule by", "define blur" ... */
    const char *directive; /* the directive as printed, or NULL */
} Place;

/* Records the row's message (unless an earlier error is kept) and jumps to the innermost barrier. */
_Noreturn void fault_raise(Fault *f, ErrCode code, const Place *place, ...);
/* Records without jumping: for errors that leave a poison behind. */
void fault_note(Fault *f, ErrCode code, const Place *place, ...);
void fault_vnote(Fault *f, ErrCode code, const Place *place, va_list ap);
/* Jumps to the innermost barrier with what is already recorded. */
_Noreturn void fault_jump(Fault *f);
/* A public call that leaves its error in a context begins and ends with these: false where an error of construction
 * stands, which stays. */
bool fault_call_begin(Fault *f);
void fault_call_end(Fault *f, bool began);
const char *err_name(ErrCode code);
const char *err_format(ErrCode code);

/* if (FAULT_TRY(f, b)) { ...; FAULT_END(f, b); } else { error; the barrier is already popped } */
#define FAULT_TRY(f, b) ((b).up = (f)->barrier, (f)->barrier = &(b), setjmp((b).env) == 0)
#define FAULT_END(f, b) ((f)->barrier = (b).up)

/* A broken invariant of ours: an ERR_INTERNAL fault, never an abort. */
#define BUG(f, what) fault_raise(f, ERR_INTERNAL, NULL, __FILE__, __LINE__, what)
#define CHECK(f, cond) ((cond) ? (void)0 : BUG(f, #cond))

/* ---- arenas ---- */

typedef struct ArenaChunk ArenaChunk;
typedef struct {
    ArenaChunk *top;
    mlc_allocator hook;
    Fault *fault;   /* receives ERR_OUT_OF_MEMORY; never NULL */
    size_t bytes;   /* handed out so far */
    bool stack;     /* memory may be given back to a mark */
    ArenaChunk *spare; /* given back, to be used again */
    void *own;         /* the first chunk where the caller gave it: not freed */
} Arena;

void arena_init(Arena *a, const mlc_allocator *hook, Fault *fault);
/* The same with memory to begin with, aligned to 16, that outlives the arena: what fits there takes nothing from the hook. */
void arena_init_in(Arena *a, const mlc_allocator *hook, Fault *fault, void *space, size_t size);
void *arena_alloc(Arena *a, size_t size); /* zeroed, 16-byte aligned, never NULL */
void *arena_copy(Arena *a, const void *p, size_t size);
char *arena_str(Arena *a, const char *s);
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(Arena *a);
/* An arena of type stack, its memory taken from another one: what was allocated after a mark is given back together. */
typedef struct {
    ArenaChunk *top;
    size_t used;
} ArenaMark;
void arena_stack(Arena *a, Arena *from);
ArenaMark arena_mark(const Arena *a);
void arena_release(Arena *a, ArenaMark mark);
#define ARENA_NEW(a, T) ((T *)arena_alloc(a, sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc(a, sizeof(T) * (size_t)(n)))
extern const mlc_allocator mlc_allocator_libc;

/* ---- growable arrays in an arena: struct { T *at; int n, cap; } ---- */

#define VEC(T) struct { T *at; int n, cap; }
#define VEC_PUSH(arena, v, x) \
    (vec_grow(arena, (void **)&(v)->at, (v)->n, &(v)->cap, sizeof *(v)->at), (v)->at[(v)->n++] = (x))
void vec_grow(Arena *a, void **at, int n, int *cap, size_t size);

/* ---- strings ---- */

typedef struct {
    Arena *arena;
    char *at; /* always terminated */
    size_t n, cap;
} StrBuf;
void sb_init(StrBuf *b, Arena *a);
void sb_puts(StrBuf *b, const char *s);
void sb_putn(StrBuf *b, const char *s, size_t n);
void sb_printf(StrBuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sb_vprintf(StrBuf *b, const char *format, va_list ap);

/* ---- maps: pointer -> pointer and string -> pointer, open addressing, in an arena ---- */

typedef struct {
    Arena *arena;
    const void **key;
    void **val;
    uint32_t n, cap;
} PtrMap;
void pm_init(PtrMap *m, Arena *a);
void *pm_get(const PtrMap *m, const void *key); /* NULL when absent */
bool pm_has(const PtrMap *m, const void *key);
void pm_put(PtrMap *m, const void *key, void *val);

typedef struct {
    Arena *arena;
    const char **key;
    void **val;
    uint32_t n, cap;
} StrMap;
void sm_init(StrMap *m, Arena *a);
void *sm_get(const StrMap *m, const char *key);
void sm_put(StrMap *m, const char *key, void *val); /* key is copied */

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

/* ` (did you mean 'blur'?)`, or nothing. */
const char *did_you_mean(Arena *a, const char *word, const char *const *names, int n);

#endif
