/* kit.h - rules of docs/semantics.md as rows, run by everything that executes programs.
 *
 * A row is a piece of program text and a C function that says which bytes must come out.  The rows of a
 * file are gathered into few programs (`@` in a row's text becomes a name of its own), and each program runs
 * under "interpret", and compiled: for each instruction set that this machine has, at -O1 and -O2, by gcc
 * and by clang.  Two workers share the work; they record into shared memory, and a test named RULE(name)
 * passes where each of its rows gave the expected bytes under every executor.
 *
 *   rows without a plan    values of one dimension of N points; each runs as a scalar and as a vector loop.
 *                          They share one output a type: out_i32(x, 7) = row(x)
 *   rows with plans        outputs of their own; each plan must give the same bytes
 *
 * MLC_LONG runs every combination; else gcc at -O2 on every instruction set, and clang twice.
 * MLC_CONTRACT=name runs the rows whose names begin so, and prints their text; MLC_CONTRACT_TIMES=1 prints
 * what each program cost. */
#ifndef CONTRACT_KIT_H
#define CONTRACT_KIT_H

#include <mlc.h>

#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint16_t f16, bf16; /* bits */
typedef float f32;
typedef double f64;
typedef long double wide; /* holds every value of every type */

enum { VALUES = 24, N = VALUES * VALUES, MOST_PLANS = 8, MOST = 1500, CHUNK_VALUES = 90, CHUNK_PLANS = 12 };

/* ---- inputs that every program may read: a_T and b_T hold all pairs of hostile values, c_T others ---- */

#define EACH_TYPE(F)                                                                                              \
    F(i8, I8) F(i16, I16) F(i32, I32) F(i64, I64) F(u8, U8) F(u16, U16) F(u32, U32) F(u64, U64) F(f16, F16)       \
    F(bf16, BF16) F(f32, F32) F(f64, F64) F(bool, BOOL)
#define F(T, E) static T a_##T[N], b_##T[N], c_##T[N];
EACH_TYPE(F)
#undef F
static f32 r_f32[N]; /* inputs with ranges: 0.0..1.0, -3..1000 */
static i32 r_i32[N];

typedef struct {
    const char *name;
    mlc_type type;
    void *data;
} Datum;
static const Datum data[] = {
#define F(T, E) { "a_" #T, MLC_##E, a_##T }, { "b_" #T, MLC_##E, b_##T }, { "c_" #T, MLC_##E, c_##T },
    EACH_TYPE(F)
#undef F
    { "r_f32", MLC_F32, r_f32 }, { "r_i32", MLC_I32, r_i32 },
};
enum { DATA = (int)(sizeof data / sizeof *data) };

/* The nearest value of a binary format of `digits` bits whose least exponent is `low`, ties to even. */
static inline wide round_to(wide v, int digits, int low, wide over) {
    int e;
    if (!isfinite(v) || v == 0) return v;
    frexpl(v, &e);
    wide unit = ldexpl(1, e - digits > low ? e - digits : low), r = rintl(v / unit) * unit;
    return fabsl(r) >= over ? copysignl((wide)INFINITY, v) : r == 0 ? copysignl(0, v) : r;
}

static inline bf16 to_bf16(wide v) {
    f32 f = (f32)round_to(v, 8, -133, 0x1p128L);
    u32 u;
    memcpy(&u, &f, sizeof u);
    return isnan(v) ? 0x7fc0 : (bf16)(u >> 16);
}

static inline f32 of_bf16(bf16 v) {
    u32 u = (u32)v << 16;
    f32 f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline f16 to_f16(wide v) {
    if (isnan(v)) return 0x7e00;
    int sign = signbit(v) ? 0x8000 : 0, e;
    wide m = fabsl(round_to(v, 11, -24, 65520));
    if (isinf(m)) return (f16)(sign | 0x7c00);
    if (m < 0x1p-14L) return (f16)(sign | (int)(m * 0x1p24L));
    m = frexpl(m, &e);
    return (f16)(sign | ((e + 14) << 10) | ((int)(m * 2048) - 1024));
}

static inline f32 of_f16(f16 v) {
    int e = v >> 10 & 31, m = v & 1023;
    f32 f = e == 31 ? m ? NAN : INFINITY : e ? ldexpf((f32)(m + 1024), e - 25) : ldexpf((f32)m, -24);
    return v >> 15 ? -f : f;
}

static inline void fill_integers(const Datum *d, int which, mlc_type t) {
    size_t size = mlc_type_size(t);
    int bits = (int)size * 8;
    u64 top = (u64)1 << (bits - 1);
    const u64 v[2][VALUES] = {
        { 0, 1, (u64)-1, 2, (u64)-2, 3, 7, 8, 9, 15, 16, 31, 33, 63, 64, top, top + 1, top - 1, top - 2, top / 2,
          top / 2 + 1, 100, (u64)-100, (u64)-7 },
        { 5, 0, (u64)-3, 16777217, 0x4040000000000001u, 33554435, 2049, 257, (u64)-257, 0x8000000000000400u, top, top - 1,
          (u64)-1, 0x20000000000001u, 65519, 65520, 0x0123456789abcdefu, 0xfedcba9876543210u, 127, 200, 0x7fffffbf,
          0xffffff7f, 0xfffffffffffffbffu, 12345 },
    };
    for (int i = 0; i < N; i++) {
        u64 e = v[which == 2][which == 0 ? i % VALUES : which == 1 ? i / VALUES : (i * 7 + i / 11) % VALUES];
        if (t == MLC_BOOL) e = (u64)(i >> which) & 1;
        memcpy((char *)d->data + (size_t)i * size, &e, size); /* little endian */
    }
}

static inline void fill_floats(const Datum *d, int which, mlc_type t) {
    const wide most = t == MLC_F16 ? 65504 : t == MLC_BF16 ? 0x1.fep127L : t == MLC_F32 ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L;
    const wide least = t == MLC_F16 ? 0x1p-24L : t == MLC_BF16 ? 0x1p-133L : t == MLC_F32 ? 0x1p-149L : 0x1p-1074L;
    const wide normal = t == MLC_F16 ? 0x1p-14L : t == MLC_F64 ? 0x1p-1022L : 0x1p-126L;
    const wide eps = t == MLC_F16 ? 0x1p-10L : t == MLC_BF16 ? 0x1p-7L : t == MLC_F32 ? 0x1p-23L : 0x1p-52L;
    const wide v[2][VALUES] = {
        { 0, -0.0L, 1, -1, 0.5L, -0.5L, 1.5L, 2.5L, -2.5L, 0.1L, (wide)INFINITY, -(wide)INFINITY, (wide)NAN, most, -most, normal,
          least, -5 * least, 3, -7, 1 + eps, 1 - eps / 2, 1000.25L, -0.75L },
        { 254.99L, 255.5L, 256, -128.9L, -129, 32767.5L, -32769, 65535.5L, 4294967295.0L, 4294967296.0L, 2147483647.0L,
          -2147483649.0L, 9223372036854775807.0L, 18446744073709551615.0L, -9.3e18L, 0x1.0020000000001p0L, 65519.9L, 65520,
          0x1.01p0L + 0x1p-30L, -0x1p-140L, 3.3e38L, 0x1.fffffefp127L, -0.9L, 3.5L },
    };
    for (int i = 0; i < N; i++) {
        wide e = v[which == 2][which == 0 ? i % VALUES : which == 1 ? i / VALUES : (i * 7 + i / 11) % VALUES];
        if (t == MLC_F16) ((f16 *)d->data)[i] = to_f16(e);
        else if (t == MLC_BF16) ((bf16 *)d->data)[i] = to_bf16(e);
        else if (t == MLC_F32) ((f32 *)d->data)[i] = (f32)e;
        else ((f64 *)d->data)[i] = (f64)e;
    }
}

static inline void fill_inputs(void) {
    for (int k = 0; k < DATA; k++) {
        mlc_type t = data[k].type;
        if (t >= MLC_F16 && t <= MLC_F64) fill_floats(&data[k], data[k].name[0] - 'a', t);
        else fill_integers(&data[k], data[k].name[0] - 'a', t);
    }
    for (int i = 0; i < N; i++) {
        r_f32[i] = i % 7 == 0 ? 0.0f : i % 7 == 1 ? 1.0f : i % 7 == 2 ? 0x1p-149f : (f32)i / N;
        r_i32[i] = i % 5 == 0 ? -3 : i % 5 == 1 ? 1000 : i;
    }
}

/* The extern function that programs may call: of three types. */
static inline f64 kit_mix(f32 a, i8 b, bool c) {
    return c ? (f64)a * 3 - b : (f64)b;
}

/* ---- rows ---- */

typedef struct {
    const char *test, *name;
    mlc_type type;
    const char *text;         /* `@` is the row's name; it ends with a definition of @ */
    void (*want)(void *out);  /* NULL: what "interpret" gives */
    int ulp;                  /* above 0: `want` within so many units, and the same bytes everywhere */
    const char *plan[MOST_PLANS];  /* none: a row of values */
    int rank;
    i64 side[6]; /* min, extent of each dimension */
} Case;

/* One row under one plan. */
typedef struct {
    const Case *c;
    int plan;      /* rows of values: 0 scalar, 1 vector */
    int module, slot;
    char name[64];
} Instance;

typedef struct {
    const char *target, *cc;
    int opt;
} Combo;

typedef struct {
    bool ran;
    char message[240];
} Result;

typedef struct {
    _Atomic int next; /* job: combination * modules + module */
    int taken[2];     /* by worker */
    Result result[];  /* combination * instances + instance */
} Board;

static struct {
    int n, modules, combos, lanes;
    Instance at[MOST];
    Combo combo[32];
    Board *board;
} kit;

static inline bool kit_has(const char *cc) {
    char line[64];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", cc);
    return system(line) == 0;
}

static inline void kit_combos(void) {
    static const char *const target[] = { "plain", "sse4", "avx2", "avx512" }, *const cc[] = { "gcc", "clang" };
    bool all = getenv("MLC_LONG") != NULL, here[2] = { kit_has("gcc"), kit_has("clang") };
    kit.combos = 0;
    kit.combo[kit.combos++] = (Combo){ "interpret", NULL, 0 };
    for (int k = 0; k < 2; k++)
        for (int opt = 2; opt >= 1; opt--)
            for (int t = 0; t < 4; t++) {
                bool some = k == 0 ? opt == 2 : (opt == 2 && t == 3) || (opt == 1 && t == 0);
                if (here[k] && (all || some)) kit.combo[kit.combos++] = (Combo){ target[t], cc[k], opt };
            }
}

/* Copies text with @ replaced. */
static inline char *kit_name_in(char *to, const char *text, const char *name) {
    for (; *text; text++) {
        if (*text == '@') to += sprintf(to, "%s", name);
        else *to++ = *text;
    }
    *to = 0;
    return to;
}

/* The program of a module, and its plan. */
static inline void kit_text(int module, char *text, char *plan) {
    text += sprintf(text, "mlc 1\n");
    for (int k = 0; k < DATA; k++)
        text += sprintf(text, "input %s: %s[1]%s;\n", data[k].name, mlc_type_name(data[k].type),
                        !strcmp(data[k].name, "r_f32") ? " range 0.0..1.0" : !strcmp(data[k].name, "r_i32") ? " range -3..1000" : "");
    text += sprintf(text, "param p_index: index = 3;\nparam p_i32: i32 = -7;\nparam p_f32: f32 range 0.0..4.0 = 1.5;\n"
                          "param p_n: index range 1..9 = 5;\nextern mix: f32 i8 bool -> f64;\n");
    char outputs[4096] = "", *o = outputs;
    bool made[MLC_TYPE_COUNT] = { false };
    for (int i = 0; i < kit.n; i++) {
        const Instance *n = &kit.at[i];
        if (n->module != module) continue;
        const char *t = mlc_type_name(n->c->type);
        text = kit_name_in(text, n->c->text, n->name);
        *text++ = '\n';
        if (n->c->plan[0]) {
            plan = kit_name_in(plan, n->c->plan[n->plan], n->name);
            *plan++ = ';';
            o += sprintf(o, ", %s", n->name);
            continue;
        }
        if (!made[n->c->type]) {
            text += sprintf(text, "out_%s(x, c) = undef_%s;\ndim out_%s[0]: min 0, extent %d;\n", t, t, t, N);
            o += sprintf(o, ", out_%s", t);
            made[n->c->type] = true;
        }
        text += sprintf(text, "out_%s(x, %d) = %s(x);\n", t, n->slot, n->name);
        if (n->plan) plan += sprintf(plan, "out_%s.u%d: vectorize(x, %d);", t, n->slot, kit.lanes);
    }
    sprintf(text, "output %s;\n", outputs + 2);
    *plan = 0;
}

/* Which element of an output is instance i's first, and how many it has. */
static inline i64 kit_count(const Case *c) {
    i64 n = 1;
    for (int d = 0; d < c->rank; d++) n *= c->side[2 * d + 1];
    return c->plan[0] ? n : N;
}

static inline int kit_slots(int module, mlc_type t) {
    int n = 0;
    for (int i = 0; i < kit.n; i++) n += kit.at[i].module == module && kit.at[i].c->type == t;
    return n;
}

/* ---- one module under one combination ---- */

typedef struct {
    mlc_module *m;
    int n;
    mlc_buffer *b[DATA + 32];
    mlc_buffer in[DATA + 32];
    mlc_slot_info slot[DATA + 32];
} Loaded;

static inline void kit_buffers(Loaded *l, int module) {
    l->n = mlc_module_slots(l->m);
    for (int s = 0; s < l->n; s++) {
        mlc_slot_info *info = &l->slot[s];
        mlc_module_slot(l->m, s, info);
        if (!info->is_output) {
            for (int k = 0; k < DATA; k++)
                if (!strcmp(data[k].name, info->name)) l->b[s] = mlc_buffer_wrap(&l->in[s], data[k].data, data[k].type, 1, (i64[]){ N });
            continue;
        }
        i64 extent[3] = { N, kit_slots(module, info->type), 1 };
        const Case *c = NULL;
        for (int i = 0; i < kit.n; i++)
            if (kit.at[i].c->plan[0] && !strcmp(kit.at[i].name, info->name)) c = kit.at[i].c;
        for (int d = 0; c && d < c->rank; d++) extent[d] = c->side[2 * d + 1];
        l->b[s] = mlc_buffer_new(info->type, info->rank, extent);
        for (int d = 0; c && d < c->rank; d++) l->b[s]->dim[d].min = c->side[2 * d];
        memset(l->b[s]->data, 1, (size_t)mlc_buffer_count(l->b[s]) * mlc_type_size(info->type));
    }
}

static inline void kit_free(Loaded *l) {
    for (int s = 0; s < l->n; s++)
        if (l->slot[s].is_output) mlc_buffer_free(l->b[s]);
    mlc_module_free(l->m);
}

static inline bool kit_load(Loaded *l, int module, const Combo *k, const char *text, const char *plan, mlc_error_info *e) {
    memset(l, 0, sizeof *l);
    mlc_ctx *ctx = mlc_ctx_new();
    mlc_extern_new(ctx, "mix", (void (*)(void))kit_mix, "f32 i8 bool -> f64");
    mlc_program *p = mlc_program_parse(ctx, text, "rows");
    mlc_plan *how = mlc_plan_new(ctx);
    bool ok = p && mlc_plan_parse(how, plan, "plan");
    if (!ok) snprintf(e->message, sizeof e->message, "%s", mlc_error(ctx)), e->code = mlc_error_code(ctx);
    mlc_func out[16];
    for (int i = 0; ok && i < mlc_program_n_outputs(p) && i < 16; i++) out[i] = mlc_program_output(p, i);
    mlc_options o = { .target = k->target, .cc = k->cc, .opt = k->opt, .threads = 3 };
    if (ok) l->m = mlc_compile(how, mlc_program_n_outputs(p), out, &o, e);
    mlc_ctx_free(ctx);
    if (!l->m) return false;
    kit_buffers(l, module);
    return mlc_run(l->m, l->n, l->b, 0, NULL, e) == 0;
}

static inline wide kit_value(mlc_type t, const void *at) {
    switch (t) {
    case MLC_F16: return of_f16(*(const f16 *)at);
    case MLC_BF16: return of_bf16(*(const bf16 *)at);
    case MLC_F32: return *(const f32 *)at;
    case MLC_F64: return *(const f64 *)at;
    default: return 0;
    }
}

/* The bits of a float as a number that counts values from zero, negative below it. */
static inline i64 kit_rank(size_t size, const void *at) {
    uint64_t u = 0, sign = (uint64_t)1 << (size * 8 - 1);
    memcpy(&u, at, size);
    return u & sign ? -(i64)(u & ~sign) : (i64)u;
}

/* Distance in units of the last place; zeros of two signs are apart. */
static inline bool kit_near(mlc_type t, const void *a, const void *b, int ulp) {
    size_t size = mlc_type_size(t);
    if (!memcmp(a, b, size)) return true;
    if (kit_value(t, a) == 0 && kit_value(t, b) == 0) return false;
    i64 distance;
    return !__builtin_sub_overflow(kit_rank(size, a), kit_rank(size, b), &distance) && distance <= ulp && distance >= -ulp;
}

/* Compares the bytes that came out with those wanted. */
static inline void kit_compare(const Instance *n, const char *got, const char *want, int ulp, Result *r) {
    mlc_type t = n->c->type;
    size_t size = mlc_type_size(t);
    for (i64 i = 0; i < kit_count(n->c); i++, got += size, want += size) {
        wide g = kit_value(t, got), w = kit_value(t, want);
        if (memcmp(got, want, size) == 0 || (isnan(g) && isnan(w))) continue;
        if (ulp && !isnan(g) && !isnan(w) && kit_near(t, got, want, ulp)) continue;
        u64 gu = 0, wu = 0;
        memcpy(&gu, got, size);
        memcpy(&wu, want, size);
        if (t >= MLC_F16 && t <= MLC_F64)
            snprintf(r->message, sizeof r->message, "element %lld is %La (%llx), want %La (%llx)", (long long)i, g,
                     (unsigned long long)gu, w, (unsigned long long)wu);
        else
            snprintf(r->message, sizeof r->message, "element %lld is %llx, want %llx", (long long)i, (unsigned long long)gu,
                     (unsigned long long)wu);
        return;
    }
}

static inline const char *kit_output(const Loaded *l, const Instance *n) {
    for (int s = 0; s < l->n; s++) {
        if (!l->slot[s].is_output) continue;
        if (n->c->plan[0] ? !strcmp(l->slot[s].name, n->name) : l->slot[s].type == n->c->type)
            return (const char *)l->b[s]->data + (n->c->plan[0] ? 0 : (size_t)n->slot * N * mlc_type_size(n->c->type));
    }
    return NULL;
}

static inline mlc_type kit_type(const Loaded *l, const Instance *n) {
    for (int s = 0; s < l->n; s++)
        if (l->slot[s].is_output && !strcmp(l->slot[s].name, n->name)) return l->slot[s].type;
    return MLC_VOID;
}

/* In short runs each program is compiled under half of the combinations, and each rule has several programs. */
static inline bool kit_skips(int combo, int module) {
    return combo > 0 && !getenv("MLC_LONG") && (combo + module) % 2;
}

static inline void kit_job(int combo, int module) {
    const Combo *k = &kit.combo[combo];
    if (kit_skips(combo, module)) return;
    Result *r = &kit.board->result[combo * kit.n];
    size_t room = 1u << 18;
    char *text = malloc(room), *plan = malloc(room);
    mlc_error_info e = { 0, "" };
    Loaded l, oracle = { 0 };
    kit_text(module, text, plan);
    if (getenv("MLC_CONTRACT") && combo == 0) printf("%splan {\n%s\n}\n", text, plan), fflush(stdout);
    bool ok = kit_load(&l, module, k, text, plan, &e);
    mlc_times times = l.m ? mlc_module_times(l.m) : (mlc_times){ 0 };
    if (getenv("MLC_CONTRACT_TIMES"))
        printf("%s %s -O%d module %d: lower %.0f ms, codegen %.0f, build %.0f\n", k->target, k->cc ? k->cc : "", k->opt, module,
               times.lower, times.codegen, times.build), fflush(stdout);
    bool absent = !ok && !l.m && !strcmp(mlc_error_name(e.code), "TARGET_HERE");
    bool needs = false;
    for (int i = 0; ok && i < kit.n; i++) needs |= kit.at[i].module == module && (!kit.at[i].c->want || kit.at[i].c->ulp);
    if (ok && needs) ok = kit_load(&oracle, module, &kit.combo[0], text, plan, &e);
    char *want = malloc((size_t)1 << 20);
    for (int i = 0; i < kit.n; i++) {
        const Instance *n = &kit.at[i];
        if (n->module != module) continue;
        r[i].message[0] = 0;
        if (!ok && !absent) snprintf(r[i].message, sizeof r[i].message, "%.200s", e.message);
        if (ok && n->c->plan[0] && kit_type(&l, n) != n->c->type) {
            snprintf(r[i].message, sizeof r[i].message, "is of %s", mlc_type_name(kit_type(&l, n)));
            r[i].ran = true;
            continue;
        }
        if (ok && n->c->want) {
            memset(want, 1, (size_t)1 << 20);
            n->c->want(want);
            kit_compare(n, kit_output(&l, n), want, n->c->ulp, &r[i]);
        }
        if (ok && (!n->c->want || n->c->ulp) && !r[i].message[0])
            kit_compare(n, kit_output(&l, n), kit_output(&oracle, n), 0, &r[i]);
        r[i].ran = true;
    }
    kit_free(&l);
    kit_free(&oracle);
    free(want);
    free(text);
    free(plan);
}

static inline void kit_worker(int me) {
    for (;;) {
        int j = atomic_fetch_add(&kit.board->next, 1);
        if (j >= kit.combos * kit.modules) _exit(0);
        for (int i = 0; i < kit.n; i++)
            if (kit.at[i].module == j % kit.modules && !kit_skips(j / kit.modules, j % kit.modules))
                snprintf(kit.board->result[j / kit.modules * kit.n + i].message, 240, "the process died");
        kit.board->taken[me] = j;
        alarm(300);
        kit_job(j / kit.modules, j % kit.modules);
    }
}

/* ---- all rows under all combinations, and the verdict of one rule ---- */

static inline void kit_instances(const Case *c, int n) {
    const char *only = getenv("MLC_CONTRACT");
    int in[2] = { 0, 0 }, module[2] = { -1, -1 };
    kit.n = kit.modules = 0;
    for (int i = 0; i < n; i++) {
        if (only && strncmp(c[i].name, only, strlen(only))) continue;
        bool planned = c[i].plan[0] != NULL;
        for (int p = 0; p < (planned ? MOST_PLANS : 2) && (!planned || c[i].plan[p]); p++) {
            if (module[planned] < 0 || in[planned] == (planned ? CHUNK_PLANS : CHUNK_VALUES)) {
                module[planned] = kit.modules++;
                in[planned] = 0;
            }
            Instance *s = &kit.at[kit.n];
            *s = (Instance){ .c = &c[i], .plan = p, .module = module[planned] };
            in[planned]++;
            s->slot = kit_slots(s->module, c[i].type);
            snprintf(s->name, sizeof s->name, "%s_%d_%d", c[i].name, i, p);
            kit.n++;
        }
    }
}

static inline void kit_run(const Case *c, int n, int lanes) {
    kit.lanes = lanes;
    fill_inputs();
    kit_combos();
    kit_instances(c, n);
    size_t size = sizeof(Board) + sizeof(Result) * (size_t)(kit.combos * kit.n);
    kit.board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kit.board == MAP_FAILED) exit(2);
    fflush(NULL);
    pid_t pid[2];
    for (int w = 0; w < 2; w++)
        if ((pid[w] = fork()) == 0) kit_worker(w);
    for (int left = 2; left;) { /* one that died is replaced; what it did not finish stays marked */
        int status;
        pid_t gone = waitpid(-1, &status, 0);
        if (gone < 0) break;
        for (int w = 0; w < 2; w++) {
            if (pid[w] != gone) continue;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) left--;
            else if ((pid[w] = fork()) == 0) kit_worker(w);
        }
    }
}

static inline void kit_verdict(const char *test) {
    int rows = 0, wrong = 0;
    for (int i = 0; i < kit.n; i++) {
        const Instance *n = &kit.at[i];
        if (strcmp(n->c->test, test)) continue;
        rows++;
        for (int k = 0; k < kit.combos; k++) {
            const Result *r = &kit.board->result[k * kit.n + i];
            if ((r->ran && !r->message[0]) || kit_skips(k, n->module)) continue;
            if (wrong++ < 12)
                printf("%s: %s under %s %s -O%d, %s: %s\n", test, n->name, kit.combo[k].target,
                       kit.combo[k].cc ? kit.combo[k].cc : "", kit.combo[k].opt,
                       n->c->plan[0] ? n->c->plan[n->plan] : n->plan ? "vector" : "scalar", r->message[0] ? r->message : "not run");
        }
    }
    fflush(stdout);
    ck_assert_int_gt(rows, 0);
    ck_assert_msg(wrong == 0, "%d of %d runs of %d rows are wrong", wrong, rows * kit.combos, rows);
}

/* A test that holds a rule by its rows alone. */
#define RULE(name)       \
    START_TEST(name) {   \
        kit_verdict(#name); \
    }                    \
    END_TEST

#endif
