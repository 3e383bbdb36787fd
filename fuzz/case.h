/* case.h - one text under test: read, printed and read back, interpreted, lowered, run as loops, compiled, run.
 *
 * The text says all: lines `//! run ...` and `//! box NAME min extent ...` carry the compiler, the
 * instruction set, the seed of the data, the layout of the buffers and the boxes asked for. */
#ifndef CASE_H
#define CASE_H

#include "algorithm/algorithm.h"
#include "codegen/backend.h"
#include "jit/jit.h"
#include "runtime/runtime.h"
#include <mlc/run.h>
#include <mlc/text.h>

enum { CASE_SLOTS = 24 };

typedef enum {
    CASE_GOOD,
    CASE_REFUSED, /* the plan is not legal: a row of errors.def */
    CASE_LATE,    /* a check at run time stopped it, as it may */
    CASE_FAILED,
} CaseState;

/* Memory of a buffer: its elements and all around them. */
typedef struct {
    const Func *func;
    int element;
    mlc_buffer b;
    char *memory, *before;  /* `before`: the bytes as they were */
    size_t bytes;
    bool output;
    mlc_buffer expected;    /* dense: of outputs what the oracle says, of inputs what it reads */
} CaseBuffer;

typedef struct {
    CaseState state;
    int code;               /* of the error that refused or stopped it */
    char what[64], detail[1200];
    const char *text;
    mlc_ctx *ctx;
    mlc_plan *plan;
    mlc_func out[4];
    int n_out;
    Fault fault;
    Arena arena;
    Interner ir;
    Program *program, *shaped; /* flat; before flatten, or NULL */
    CaseBuffer slot[CASE_SLOTS];
    int n_slots;
    mlc_scalar param[8];
    bool dense;
    /* from the header */
    char cc[16], isa_name[16];
    CpuIsa isa;
    int opt;
    uint64_t data;
    long layout;
    int64_t points[CASE_SLOTS]; /* of the stages that are watched */
    const char *source; /* C; NULL: none, or too large to compile in bulk */
    bool bulk;
} Case;

/* A context with the C functions that programs call. */
mlc_ctx *case_context(void);
/* c->isa of c->isa_name, as far as this machine goes. */
void case_isa(Case *c);
/* Its plan p, or NULL. */
mlc_plan *case_plan(mlc_program *p);
/* Reads the text and whatever its header says; state CASE_FAILED where the text does not read or print. */
void case_open(Case *c, const char *text);
/* Resolves and lowers: c->state CASE_REFUSED where the plan is illegal. */
void case_lower(Case *c);
/* Makes buffers, runs the oracle and the loop interpreter. */
void case_interpret(Case *c);
/* The C of the kernel `symbol`. */
void case_print(Case *c, const char *symbol);
/* Compiles n cases in one file and runs each that the states allow; -O, compiler and set are the first one's.
 * *at is the seed of the one that runs (both may be NULL). */
void case_compile(Case *const *c, int n, uint64_t *at, const uint64_t *seed);
/* The same by the public road: mlc_compile and mlc_run. */
void case_run_public(Case *c);
void case_close(Case *c);

/* ---- shared by what runs cases ---- */

/* The first thing that is wrong stays. */
void case_fail(Case *c, const char *what, const char *detail);
/* An error that a call ended with: CASE_LATE where a plan may meet its row, else it fails. */
void case_stop(Case *c, const char *what, const mlc_error_info *e);
/* The outputs with those of the oracle, and what lies around them. */
void case_compare(Case *c, const char *what);
void case_restore(Case *c); /* the buffers, as they were before a run */
/* The C functions that programs call, by the names that code has for them. */
enum { CASE_EXTERNS = 6 };
typedef struct {
    const char *name;
    void (*fn)(void);
} CaseExtern;
extern const CaseExtern case_externs[CASE_EXTERNS];

/* Everything above for one text. */
CaseState case_whole(Case *c, const char *text, bool compile);

#endif
