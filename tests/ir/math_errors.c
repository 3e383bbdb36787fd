/* math_errors.c - measures the float functions: each body of math.def is printed as C, compiled, and
 * compared with the C library in a wider type.
 *
 *   build/math-errors [stride [function]]        (make check-math STRIDE=97; part of make check-long)
 *
 * f32 functions of one argument see every stride-th bit pattern (1: all 2^32), f16 and bf16 ones all 65536.
 * Functions of two arguments, and f64, see hostile values and a fixed sequence of random ones.  A result
 * is wrong where NaN, infinity or the sign of a zero differ.  Exit 1 if a bound of docs/math.md is broken. */
#include "ir/ir.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- references ---- */

static long double ref_rsqrt(long double x) { return 1 / sqrtl(x); }
static long double ref_sigmoid(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static double ref_rsqrt_d(double x) { return 1 / sqrt(x); }
static double ref_sigmoid_d(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

typedef struct {
    const char *name;
    Op op;
    double (*d1)(double);
    long double (*l1)(long double);
    double (*d2)(double, double);
    long double (*l2)(long double, long double);
    double bound32, bound64;
} Function;

static const Function functions[] = {
    { "exp", OP_EXP, exp, expl, NULL, NULL, 2, 4 },
    { "exp2", OP_EXP2, exp2, exp2l, NULL, NULL, 2, 4 },
    { "expm1", OP_EXPM1, expm1, expm1l, NULL, NULL, 2, 4 },
    { "log", OP_LOG, log, logl, NULL, NULL, 2, 4 },
    { "log2", OP_LOG2, log2, log2l, NULL, NULL, 2, 4 },
    { "log10", OP_LOG10, log10, log10l, NULL, NULL, 2, 4 },
    { "log1p", OP_LOG1P, log1p, log1pl, NULL, NULL, 2, 4 },
    { "rsqrt", OP_RSQRT, ref_rsqrt_d, ref_rsqrt, NULL, NULL, 2, 4 },
    { "sin", OP_SIN, sin, sinl, NULL, NULL, 2, 4 },
    { "cos", OP_COS, cos, cosl, NULL, NULL, 2, 4 },
    { "tan", OP_TAN, tan, tanl, NULL, NULL, 2, 4 },
    { "asin", OP_ASIN, asin, asinl, NULL, NULL, 2, 4 },
    { "acos", OP_ACOS, acos, acosl, NULL, NULL, 2, 4 },
    { "atan", OP_ATAN, atan, atanl, NULL, NULL, 2, 4 },
    { "sinh", OP_SINH, sinh, sinhl, NULL, NULL, 2, 4 },
    { "cosh", OP_COSH, cosh, coshl, NULL, NULL, 2, 4 },
    { "tanh", OP_TANH, tanh, tanhl, NULL, NULL, 2, 4 },
    { "erf", OP_ERF, erf, erfl, NULL, NULL, 2, 4 },
    { "sigmoid", OP_SIGMOID, ref_sigmoid_d, ref_sigmoid, NULL, NULL, 2, 4 },
    { "pow", OP_POW, NULL, NULL, pow, powl, 4, 4 },
    { "atan2", OP_ATAN2, NULL, NULL, atan2, atan2l, 2, 4 },
    { "hypot", OP_HYPOT, NULL, NULL, hypot, hypotl, 2, 4 },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };
static const mlc_type types[] = { MLC_F16, MLC_BF16, MLC_F32, MLC_F64 };

/* ---- bodies as C ---- */

static const char prelude[] =
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    "#define EXTREMES(N, T) static inline T min_##N(T a, T b) { return a != a ? a : b != b ? b : "
    "a < b || (a == b && __builtin_signbit(a)) ? a : b; } "
    "static inline T max_##N(T a, T b) { return a != a ? a : b != b ? b : a > b || (a == b && !__builtin_signbit(a)) ? a : b; }\n"
    "EXTREMES(f32, float)\nEXTREMES(f64, double)\n"
    "static inline uint64_t shl(uint64_t a, int64_t n);\n"
    "static inline uint64_t shr(uint64_t a, int64_t n) { return n < 0 ? shl(a, -n) : n > 63 ? 0 : a >> n; }\n"
    "static inline uint64_t shl(uint64_t a, int64_t n) { return n < 0 ? shr(a, -n) : n > 63 ? 0 : a << n; }\n"
    "static inline int64_t sar(int64_t a, int64_t n) { return n < 0 ? (int64_t)shl((uint64_t)a, -n) : a >> (n > 63 ? 63 : n); }\n"
    "#define CAST(F, T) static inline T F##_##T(F x) { T y; memcpy(&y, &x, sizeof y); return y; }\n"
    "CAST(float, int32_t) CAST(float, uint32_t) CAST(int32_t, float) CAST(uint32_t, float)\n"
    "CAST(double, int64_t) CAST(double, uint64_t) CAST(int64_t, double) CAST(uint64_t, double)\n";

static const char *c_type(const Node *e) {
    switch (e->type) {
    case MLC_BOOL: return "_Bool";
    case MLC_I32: return "int32_t";
    case MLC_U32: return "uint32_t";
    case MLC_I64: return "int64_t";
    case MLC_U64: return "uint64_t";
    case MLC_F32: return "float";
    default: return "double";
    }
}

static void print_const(StrBuf *out, const Node *e) {
    if (!ty_is_float((mlc_type)e->type)) sb_printf(out, "(%s)%lldll", c_type(e), (long long)e->u.i);
    else if (isnan(e->u.f)) sb_puts(out, "NAN");
    else if (isinf(e->u.f)) sb_puts(out, e->u.f > 0 ? "INFINITY" : "-INFINITY");
    else sb_printf(out, "%a%s", e->u.f, e->type == MLC_F32 ? "f" : "");
}

static void print_shift(StrBuf *out, const Node *e) {
    const Node *a = e->kid[0];
    bool right = e->op == OP_SHR, is_signed = ty_is_signed((mlc_type)a->type);
    const char *f = !right ? "shl" : is_signed ? "sar" : "shr";
    int64_t n;
    if (ir_is_int(e->kid[1], &n)) /* plain, so that the compiler makes vectors of it */
        sb_printf(out, "(%s)((%s)v%u %s %d)", c_type(e), right ? c_type(a) : "uint64_t", a->id, right ? ">>" : "<<", (int)n);
    else
        sb_printf(out, "(%s)%s((%s)v%u, v%u)", c_type(e), f, right && is_signed ? "int64_t" : "uint64_t", a->id, e->kid[1]->id);
}

/* One statement a node.  math.def casts no float to an integer and takes abs of floats only. */
static void print_node(void *user, const Node *e) {
    StrBuf *out = user;
    unsigned k[3] = { 0 };
    for (int i = 0; i < e->n && i < 3; i++) k[i] = e->kid[i]->id;
    const char *t = c_type(e), *suffix = e->type == MLC_F32 ? "f" : "", *ty = e->type == MLC_F32 ? "f32" : "f64";
    bool flt = ty_is_float((mlc_type)e->type);
    sb_printf(out, "        %s v%u = ", t, e->id);
    switch ((Op)e->op) {
    case OP_CONST: print_const(out, e); break;
    case OP_VAR: sb_printf(out, "%s[i]", e->u.sym->name); break;
    case OP_NEG: case OP_NOT: case OP_LNOT: sb_printf(out, "%sv%u", ir_ops[e->op].text, k[0]); break;
    case OP_LIKELY: sb_printf(out, "v%u", k[0]); break;
    case OP_ABS: sb_printf(out, "fabs%s(v%u)", suffix, k[0]); break;
    case OP_SQRT: case OP_FLOOR: case OP_TRUNC: case OP_CEIL: sb_printf(out, "%s%s(v%u)", ir_ops[e->op].text, suffix, k[0]); break;
    case OP_ROUND: sb_printf(out, "rint%s(v%u)", suffix, k[0]); break;
    case OP_FMA: sb_printf(out, "fma%s(v%u, v%u, v%u)", suffix, k[0], k[1], k[2]); break;
    case OP_MIN: case OP_MAX:
        if (flt) sb_printf(out, "%s_%s(v%u, v%u)", ir_ops[e->op].text, ty, k[0], k[1]);
        else sb_printf(out, "v%u %c v%u ? v%u : v%u", k[0], e->op == OP_MIN ? '<' : '>', k[1], k[0], k[1]);
        break;
    case OP_SHL: case OP_SHR: print_shift(out, e); break;
    case OP_SELECT: sb_printf(out, "v%u ? v%u : v%u", k[0], k[1], k[2]); break;
    case OP_CAST: sb_printf(out, "(%s)v%u", t, k[0]); break;
    case OP_REINTERPRET:
        if (flt || ty_is_float((mlc_type)e->kid[0]->type)) sb_printf(out, "%s_%s(v%u)", c_type(e->kid[0]), t, k[0]);
        else sb_printf(out, "(%s)v%u", t, k[0]);
        break;
    default: sb_printf(out, "v%u %s v%u", k[0], ir_ops[e->op].text, k[1]); break;
    }
    sb_puts(out, ";\n");
}

static void print_function(Interner *I, StrBuf *out, const Function *f, mlc_type t) {
    mlc_type held = ty_is_half(t) ? MLC_F32 : t;
    static const char *const names[2] = { "a", "b" };
    const Node *kids[2];
    int n = f->d2 ? 2 : 1;
    for (int i = 0; i < n; i++) {
        Sym *s = ARENA_NEW(I->arena, Sym);
        *s = (Sym){ .name = names[i], .kind = SYM_LET, .type = held };
        kids[i] = ir_var(I, s);
    }
    const Node *body = ir_derive(I, ir_node(I, f->op, t, 0, 0, n, kids), t, kids);
    const char *c = held == MLC_F32 ? "float" : "double";
    sb_printf(out, "void %s_%s(const %s *a, const %s *b, %s *y, long n);\n", f->name, mlc_type_name(t), c, c, c);
    sb_printf(out, "void %s_%s(const %s *a, const %s *b, %s *y, long n) {\n    (void)b;\n", f->name, mlc_type_name(t), c, c, c);
    sb_puts(out, "    for (long i = 0; i < n; i++) {\n");
    ir_visit(I->arena, body, print_node, out);
    sb_printf(out, "        y[i] = v%u;\n    }\n}\n", body->id);
}

typedef void (*Body)(const void *a, const void *b, void *y, long n);

/* Prints, compiles and loads all bodies; NULL with a message on stderr when a step fails. */
static void *build(Interner *I) {
    StrBuf out;
    sb_init(&out, I->arena);
    sb_puts(&out, prelude);
    for (int f = 0; f < FUNCTIONS; f++)
        for (int t = 0; t < 4; t++) print_function(I, &out, &functions[f], types[t]);
    char dir[] = "/tmp/math-errors-XXXXXX", path[64], command[512];
    if (!mkdtemp(dir)) return perror("mkdtemp"), NULL;
    snprintf(path, sizeof path, "%s/math.c", dir);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(out.at, 1, out.n, file) != out.n || fclose(file)) return perror(path), NULL;
    const char *cc = getenv("CC");
    snprintf(command, sizeof command, "%s -O2 -march=native -w -std=gnu11 -ffp-contract=off -fwrapv -fno-math-errno "
             "-fno-trapping-math -shared -fPIC -o %s/math.so %s -lm", cc ? cc : "cc", dir, path);
    if (system(command)) return fprintf(stderr, "failed: %s\n", command), NULL;
    snprintf(path, sizeof path, "%s/math.so", dir);
    void *lib = dlopen(path, RTLD_NOW);
    if (!lib) fprintf(stderr, "%s\n", dlerror());
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (!getenv("KEEP") && system(command)) fprintf(stderr, "left behind: %s\n", dir);
    return lib;
}

/* ---- errors ---- */

typedef struct {
    double worst;
    long long tested, wrong;
    double at[2], bad[2];
} Result;

static double ulp_of(mlc_type t, long double ref) {
    int digits = t == MLC_F16 ? 11 : t == MLC_BF16 ? 8 : t == MLC_F32 ? 24 : 53;
    int least = t == MLC_F16 ? -24 : t == MLC_BF16 ? -133 : t == MLC_F32 ? -149 : -1074, e;
    frexpl(ref, &e);
    return ldexp(1.0, e - digits < least ? least : e - digits);
}

/* What an infinity stands for where a finite value was due: the power of two after the greatest. */
static long double beyond(mlc_type t, double y) {
    return copysignl(ldexpl(1, t == MLC_F16 ? 16 : t == MLC_F64 ? 1024 : 128), (long double)y);
}

/* Compares y with ref, rounded: special values and signs of zero exactly, the rest in ulps. */
static void judge(Result *r, mlc_type t, double y, long double ref, double a, double b) {
    r->tested++;
    double rounded = val_round(t, (double)ref).f, e = 0;
    bool wrong = false;
    if (isnan(rounded) || isnan(y)) {
        wrong = isnan(rounded) != isnan(y);
    } else if (isinf(ref) || ref == 0) {
        wrong = !val_equal(t, (Value){ .f = y }, (Value){ .f = rounded });
    } else if (y != rounded) {
        long double at = isinf(y) ? beyond(t, y) : (long double)y;
        wrong = !signbit(y) != !signbit(ref);
        e = (double)(fabsl(at - ref) / (long double)ulp_of(t, ref));
    } else if (!isinf(y)) {
        e = (double)(fabsl((long double)y - ref) / (long double)ulp_of(t, ref));
    }
    if (wrong && r->wrong++ == 0) {
        r->bad[0] = a;
        r->bad[1] = b;
    }
    if (e > r->worst) {
        r->worst = e;
        r->at[0] = a;
        r->at[1] = b;
    }
}

static void merge(Result *r, const Result *o) {
    if (o->worst > r->worst) r->worst = o->worst, memcpy(r->at, o->at, sizeof r->at);
    if (o->wrong && !r->wrong) memcpy(r->bad, o->bad, sizeof r->bad);
    r->wrong += o->wrong;
    r->tested += o->tested;
}

enum { BLOCK = 4096 };

static long double reference(const Function *f, mlc_type t, double a, double b) {
    if (t == MLC_F64) return f->d2 ? f->l2((long double)a, (long double)b) : f->l1((long double)a);
    return (long double)(f->d2 ? f->d2(a, b) : f->d1(a));
}

static void run_block(const Function *f, mlc_type t, Body body, const double *a, const double *b, int n, Result *r) {
    static _Thread_local double d[BLOCK];
    static _Thread_local float x[BLOCK], w[BLOCK], y[BLOCK];
    if (t == MLC_F64) {
        body(a, b, d, n);
    } else {
        for (int i = 0; i < n; i++) x[i] = (float)a[i], w[i] = (float)b[i];
        body(x, w, y, n);
        for (int i = 0; i < n; i++) d[i] = val_round(t, (double)y[i]).f;
    }
    for (int i = 0; i < n; i++) judge(r, t, d[i], reference(f, t, a[i], b[i]), a[i], b[i]);
}

/* ---- inputs ---- */

static uint64_t next_random(uint64_t *s) { /* splitmix64 */
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double from_bits(mlc_type t, uint64_t bits) {
    return val_load(t, &bits).f;
}

/* A third any bits, a third of moderate exponent, a third near 1. */
static double random_input(mlc_type t, uint64_t *s) {
    uint64_t z = next_random(s), kind = next_random(s) % 3;
    if (kind == 0) return from_bits(t, z);
    double u = (double)(z >> 11) * 0x1p-53, sign = z & 1 ? -1 : 1;
    if (kind == 1) return val_round(t, sign * exp2(u * 24 - 14)).f;
    return val_round(t, sign * (1 + (u - 0.5) * exp2(-(double)(z % 20)))).f;
}

static const double hostile[] = {
    0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -1.5, 2.5, 1e-320, -1e-320, 1e-44, -1e-44, 0x1p-126, 0x1p-1022, 1e300, -1e300,
    1e38, -1e38, 88.7, -88, 89.1, -104, -103.9, 709.7, -745.1, 127, 128, -149, -150, -1074, -1075, 1024, 16777215, 16777216,
    16777217, 131072, 131073, 0x1.fffffep127, -0x1.fffffep127, 0x1.fffffffffffffp1023, (double)INFINITY, -(double)INFINITY,
    (double)NAN, 0x1.921fb54442d18p0, 0x1.921fb6p0, -0x1.921fb6p1, 0x1.6ac5b262ca1ffp849, 0x1.9999999999999p-4, 9007199254740993.0,
    0x1.fffffep-1, 0x1.000002p0, 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 6381956970095103.0 * 0x1p797,
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

typedef struct {
    const Function *f;
    mlc_type t;
    Body body;
    uint64_t from, to, stride;
    Result r;
} Job;

static void *run_job(void *user) {
    Job *j = user;
    double a[BLOCK], b[BLOCK] = { 0 };
    uint64_t seed = j->from * 977 + 1;
    bool all = !j->f->d2 && j->t != MLC_F64; /* bit patterns, else random */
    for (uint64_t at = j->from; at < j->to;) {
        int n = 0;
        for (; n < BLOCK && at < j->to; n++, at += j->stride) {
            a[n] = all ? from_bits(j->t, at) : random_input(j->t, &seed);
            b[n] = all ? 0 : random_input(j->t, &seed);
        }
        run_block(j->f, j->t, j->body, a, b, n, &j->r);
    }
    return NULL;
}

static Result measure(const Function *f, mlc_type t, Body body, uint64_t stride) {
    enum { MAX_THREADS = 64 };
    Job job[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    Result total = { 0 };
    uint64_t n = ty_is_half(t) && !f->d2 ? 1 << 16 : UINT64_C(1) << 32;
    if (ty_is_half(t) && !f->d2) stride = 1;
    for (int i = 0; i < threads; i++) {
        uint64_t part = n / (uint64_t)threads, from = part * (uint64_t)i;
        job[i] = (Job){ f, t, body, from, i == threads - 1 ? n : from + part, stride, { .worst = 0 } };
        if (pthread_create(&thread[i], NULL, run_job, &job[i])) run_job(&job[i]), thread[i] = 0;
    }
    for (int i = 0; i < threads; i++) {
        if (thread[i]) pthread_join(thread[i], NULL);
        merge(&total, &job[i].r);
    }
    for (int i = 0; i < HOSTILE; i++)
        for (int k = 0; k < (f->d2 ? HOSTILE : 1); k++) {
            double a = val_round(t, hostile[i]).f, b = val_round(t, hostile[k]).f;
            run_block(f, t, body, &a, &b, 1, &total);
        }
    return total;
}

/* ---- the table ---- */

static int run(Interner *I, uint64_t stride, const char *only) {
    void *lib = build(I);
    int broken = 0;
    if (!lib) return 1;
    printf("| function | type | inputs | worst ulp | at | wrong |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < FUNCTIONS; i++)
        for (int k = 0; k < 4; k++) {
            const Function *f = &functions[i];
            mlc_type t = types[k];
            char symbol[64];
            if (only && strcmp(only, f->name)) continue;
            snprintf(symbol, sizeof symbol, "%s_%s", f->name, mlc_type_name(t));
            void *found = dlsym(lib, symbol);
            Body body;
            memcpy(&body, &found, sizeof body);
            Result r = measure(f, t, body, t == MLC_F64 || f->d2 ? stride * 40 + 200 : stride);
            double bound = t == MLC_F64 ? f->bound64 : t == MLC_F32 ? f->bound32 : 1;
            bool bad = r.worst > bound || r.wrong;
            broken += bad;
            printf("| %s | %s | %lld | %.3f | %.9g", f->name, mlc_type_name(t), r.tested, r.worst, r.at[0]);
            if (f->d2) printf(", %.9g", r.at[1]);
            printf(" | %lld |%s", r.wrong, bad ? " <-- over the bound" : "");
            if (r.wrong) printf(" (%a, %a)", r.bad[0], r.bad[1]);
            printf("\n");
            fflush(stdout);
        }
    return broken != 0;
}

int main(int argc, char **argv) {
    Fault fault = { 0 };
    Barrier barrier;
    Arena arena;
    Interner I;
    volatile int code = 1;
    uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 997;
    if (!stride) return fprintf(stderr, "usage: math-errors [stride [function]]\n"), 2;
    if (FAULT_TRY(&fault, barrier)) {
        arena_init(&arena, NULL, &fault);
        ir_interner_init(&I, &arena, NULL);
        code = run(&I, stride, argc > 2 ? argv[2] : NULL);
        FAULT_END(&fault, barrier);
    }
    if (fault.info.code) fprintf(stderr, "%s\n", fault.info.message);
    arena_free(&arena);
    return code;
}
