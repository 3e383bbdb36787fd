/* commands.c - run, check, explain, emit, bench, info. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static mlc_module *compile(const Job *j, const Args *a, mlc_plan *plan) {
    mlc_error_info e;
    mlc_module *m = mlc_compile(plan, j->n_outputs, j->output, &a->options, &e);
    if (!m) complain("%s", e.message);
    return m;
}

/* Params without a value, in the words of the command line. */
static bool params_set(const mlc_module *m) {
    mlc_param_info p;
    for (int i = 0; mlc_module_param(m, i, &p); i++) {
        if (p.has_value) continue;
        complain("param %s has no value; write for example %s=%s", p.name, p.name,
                 p.type >= MLC_F16 && p.type <= MLC_F64 ? "1.5" : "1");
        return false;
    }
    return true;
}

static const char *chosen(const Args *a) {
    return a->n_schedules ? a->schedule[a->n_schedules - 1] : NULL;
}

/* ---- run ---- */

/* What --profile and --trace-chrome ask for. */
static bool report(const Args *a, const mlc_module *m) {
    mlc_error_info e;
    int64_t lost;
    bool good = !a->profile || mlc_profile_print(m, stdout, a->tsv ? MLC_PROFILE_TSV : MLC_PROFILE_TABLE, &e);
    if (good && a->trace) good = mlc_trace_write(m, a->trace, &e);
    if (!good) complain("%s", e.message);
    if (good && a->trace) {
        long long kept = mlc_trace_spans(m, &lost);
        if (lost) complain("--trace-chrome %s: it holds the first %lld spans, and %lld more found no room; "
                           "say --most-spans %lld, or trace() in the plan, of some Funcs alone", a->trace, kept, (long long)lost, kept + (long long)lost);
    }
    return good;
}

/* A Func of the program by itself: its values are the same under every plan, so it runs under none. */
typedef struct {
    Args args;
    mlc_module *m;
    Slots s;
} Dump;

static Job dump_job(const Job *j, const Pair *dump) {
    Job own = *j;
    own.output[0] = mlc_find_func(j->ctx, dump->name);
    own.n_outputs = 1;
    return own;
}

static bool dump_compile(Dump *d, const Job *j, const Args *a, const Pair *dump) {
    const Job own = dump_job(j, dump);
    d->args = *a;
    d->args.options.profile = d->args.options.trace = false;
    d->args.n_pairs = 0;
    for (int i = 0; i < a->n_pairs; i++)
        if (strcmp(a->pair[i].name, dump->name)) d->args.pair[d->args.n_pairs++] = a->pair[i];
    if (d->args.n_pairs == MOST) return complain("--dump %s: the line names too many files", dump->name) == EXIT_GOOD;
    d->args.pair[d->args.n_pairs++] = *dump;
    if (!own.output[0].f) return complain("--dump %s: the program has no Func of that name", dump->name) == EXIT_GOOD;
    d->m = compile(&own, &d->args, mlc_plan_new(j->ctx));
    return d->m && params_set(d->m);
}

static bool dump_open(Dump *d, const Job *j, const Pair *dump) {
    Job own = dump_job(j, dump);
    return inputs_open(&d->s, &own, &d->args, d->m, false) && outputs_open(&d->s, &own, &d->args, d->m);
}

static bool dump_write(Dump *d, const char *name) {
    char who[160];
    mlc_error_info e;
    snprintf(who, sizeof who, "--dump %s: ", name);
    if (!mlc_run(d->m, d->s.n, d->s.at, 0, NULL, &e)) return slots_write(&d->s, &d->args, d->m);
    complain_of_run(&d->s, d->m, who, &e);
    return false;
}

/* Everything is opened before anything is computed.  A Func of --dump may read inputs that no output reads. */
static bool run_open(Job *j, const Args *a, mlc_module *m, Slots *s, Dump *dump) {
    mlc_module *all[MOST + 1] = { m };
    bool good = true;
    for (int i = 0; i < a->n_dumps; i++) {
        good = dump_compile(&dump[i], j, a, &a->dump[i]) && good;
        all[i + 1] = dump[i].m;
    }
    if (!good || !names_known(j, a, a->n_dumps + 1, all, false) || !params_set(m) || !inputs_open(s, j, a, m, false)) return false;
    good = outputs_open(s, j, a, m);
    for (int i = 0; i < a->n_dumps; i++) good = dump_open(&dump[i], j, &a->dump[i]) && good;
    return good;
}

static int run_module(Job *j, const Args *a, mlc_module *m) {
    Slots s = { .n = 0 };
    mlc_error_info e;
    int r = EXIT_FAIL;
    Dump *dump = calloc((size_t)a->n_dumps + 1, sizeof *dump);
    bool good = dump ? run_open(j, a, m, &s, dump) : complain("out of memory") == EXIT_GOOD;
    for (int i = 0; i < a->n_dumps; i++) good = good && dump_write(&dump[i], a->dump[i].name);
    if (good) {
        double t = now_us();
        good = mlc_run(m, s.n, s.at, 0, NULL, &e) == 0;
        t = now_us() - t;
        if (!good) complain_of_run(&s, m, "", &e);
        else if (slots_write(&s, a, m) && report(a, m)) r = EXIT_GOOD;
        mlc_times p = mlc_module_times(m);
        if (a->time)
            printf("key_ms\t%.3f\nlower_ms\t%.3f\ncodegen_ms\t%.3f\nbuild_ms\t%.3f\nkernels_ms\t%.3f\nload_ms\t%.3f\n"
                   "compile_ms\t%.3f\ncached\t%d\nrun_ms\t%.3f\n",
                   p.key, p.lower, p.codegen, p.build, p.kernels, p.load, p.total, p.cached, t / 1e3);
    }
    for (int i = 0; dump && i < a->n_dumps; i++) {
        slots_close(&dump[i].s);
        mlc_module_free(dump[i].m);
    }
    free(dump);
    slots_close(&s);
    return r;
}

/* Does the plan itself name the Funcs that it is about? */
static bool says(const mlc_plan *plan, mlc_directive_kind kind) {
    mlc_directive d;
    for (int i = 0; mlc_plan_get(plan, i, NULL, &d); i++)
        if (d.kind == kind) return true;
    return false;
}

int cmd_run(Args *a) {
    Job j;
    if (!job_open(&j, a)) return EXIT_FAIL;
    int r = EXIT_FAIL;
    mlc_plan *plan = job_params(&j, a) ? job_plan(&j, chosen(a)) : NULL;
    a->options.profile = a->profile && !says(plan, MLC_PROFILE);
    a->options.trace = a->trace && !says(plan, MLC_TRACE);
    mlc_module *m = plan ? compile(&j, a, plan) : NULL;
    if (m) r = run_module(&j, a, m);
    mlc_module_free(m);
    job_close(&j);
    return r;
}

/* ---- check, explain, emit ---- */

static const char *target_of(const Args *a) {
    const char *e = getenv("MLC_TARGET");
    return a->options.target ? a->options.target : e ? e : "";
}

static bool is_cuda(const Args *a) {
    return !strncmp(target_of(a), "cuda", 4);
}

/* Kernels compile without a GPU: where none is here and no architecture is named, for that of the Hopper chips. */
static void choose_arch(Args *a) {
    const char *e = getenv("MLC_CUDA_ARCH");
    if (strcmp(target_of(a), "cuda") || (e && *e) || mlc_gpu(0, NULL, NULL)) return;
    a->options.target = "cuda-sm_90a";
    printf("no GPU is here: kernels are compiled for sm_90a\n");
}

/* What ptxas says of the kernels.  Memory that a plan keeps in registers is to be there, and what is asked of the chip is to be done. */
static bool kernels_good(const mlc_module *m, const char *name) {
    mlc_kernel_info k;
    const char *warning;
    bool good = true;
    for (int i = 0; mlc_module_kernel(m, i, &k); i++) {
        if (!k.registers) continue;
        printf("plan %s: %s: %d registers, %lld bytes spilled, %lld local, %lld shared\n", name, k.name, k.registers, (long long)k.spilled,
               (long long)k.local, (long long)k.shared);
        if (k.keeps && (k.spilled || k.local))
            good = complain("plan %s: %s keeps memory in registers, and %lld bytes of a thread are not there; keep less, or take smaller tiles "
                            "or fewer threads", name, k.name, (long long)(k.local ? k.local : k.spilled)) == EXIT_GOOD;
    }
    for (int i = 0; (warning = mlc_module_kernel_warning(m, i)); i++)
        good = complain("plan %s: the chip does not do what the kernels ask for: %s", name, warning) == EXIT_GOOD;
    return good;
}

static bool lowers(const Job *j, const Args *a, mlc_plan *plan, const char *name) {
    mlc_error_info e;
    FILE *nowhere = fopen("/dev/null", "w");
    bool good = nowhere && mlc_explain(plan, j->n_outputs, j->output, "loops", &a->options, nowhere, &e);
    if (nowhere) fclose(nowhere);
    if (good && is_cuda(a)) { /* kernels are compiled too */
        mlc_module *m = mlc_compile(plan, j->n_outputs, j->output, &a->options, &e);
        good = m != NULL;
        bool as_planned = !m || kernels_good(m, name);
        mlc_module_free(m);
        if (!as_planned) return false;
    }
    if (good) return true;
    const char *why = nowhere ? e.message : "/dev/null cannot be opened";
    if (!strncmp(why, "--schedule:", strlen("--schedule:"))) complain("%s", why); /* names the line of the plan itself */
    else complain("plan %s: %s", name, why);
    return false;
}

int cmd_check(Args *a) {
    Job j;
    if (!job_open(&j, a)) return EXIT_FAIL;
    int n = mlc_program_n_plans(j.program);
    choose_arch(a);
    bool good = lowers(&j, a, mlc_plan_new(j.ctx), "none");
    for (int i = 0; i < n; i++) {
        mlc_plan *p = mlc_program_plan(j.program, i);
        good = lowers(&j, a, p, mlc_plan_name(p)) && good;
    }
    for (int i = 0; i < a->n_schedules; i++) {
        mlc_plan *p = job_plan(&j, a->schedule[i]);
        good = p && lowers(&j, a, p, a->schedule[i]) && good;
    }
    if (good) {
        printf("%s: %d output%s: good under none", a->file, j.n_outputs, j.n_outputs == 1 ? "" : "s");
        for (int i = 0; i < n; i++) printf(", %s", mlc_plan_name(mlc_program_plan(j.program, i)));
        for (int i = 0; i < a->n_schedules; i++) printf(", --schedule '%s'", a->schedule[i]);
        putchar('\n');
    }
    job_close(&j);
    return good ? EXIT_GOOD : EXIT_FAIL;
}

int cmd_explain(Args *a) {
    Job j;
    mlc_error_info e;
    if (!job_open(&j, a)) return EXIT_FAIL;
    mlc_plan *plan = job_plan(&j, chosen(a));
    bool good = plan && mlc_explain(plan, j.n_outputs, j.output, a->level ? a->level : "loops", &a->options, stdout, &e);
    if (plan && !good) complain("%s", e.message);
    job_close(&j);
    return good ? EXIT_GOOD : EXIT_FAIL;
}

int cmd_emit(Args *a) {
    Job j;
    mlc_error_info e;
    if (!a->out) {
        complain("-o PREFIX is wanted");
        return EXIT_USAGE;
    }
    if (!job_open(&j, a)) return EXIT_FAIL;
    mlc_emit_options o = { .name = a->name, .object = a->object, .openmp = a->openmp };
    mlc_plan *plan = job_plan(&j, chosen(a));
    bool good = plan && mlc_emit(plan, j.n_outputs, j.output, a->out, &o, &a->options, &e);
    if (plan && !good) complain("%s", e.message);
    job_close(&j);
    return good ? EXIT_GOOD : EXIT_FAIL;
}

/* ---- bench ---- */

typedef struct {
    const char *name;
    mlc_plan *plan;
    mlc_module *m;
    double *us;
    bool failed;
} Trial;

static int by_size(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Rounds alternate between the trials, so that a busy moment hits all of them. */
static bool time_trials(Trial *t, int n, Slots *s, int rounds) {
    mlc_error_info e;
    bool good = true;
    for (int r = -1; r < rounds; r++) { /* round -1 warms up */
        for (int i = 0; i < n; i++) {
            if (!t[i].m || t[i].failed) continue;
            double start = now_us();
            if (mlc_run(t[i].m, s->n, s->at, 0, NULL, &e)) {
                char who[160];
                snprintf(who, sizeof who, "plan %s: ", t[i].name);
                complain_of_run(s, t[i].m, who, &e);
                t[i].failed = true;
                good = false;
            }
            if (r >= 0) t[i].us[r] = now_us() - start;
        }
    }
    return good;
}

static void print_trials(const Args *a, Trial *t, int n) {
    printf("program\tplan\ttarget\tcompile_ms\tmedian_us\tleast_us\tbytes_of_c\n");
    for (int i = 0; i < n; i++) {
        if (!t[i].m || t[i].failed) {
            printf("%s\t%s\t-\t-\t-\t-\t-\n", a->file, t[i].name);
            continue;
        }
        qsort(t[i].us, (size_t)a->rounds, sizeof *t[i].us, by_size);
        const char *source = mlc_module_source(t[i].m);
        printf("%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%zu\n", a->file, t[i].name, mlc_module_target(t[i].m),
               mlc_module_times(t[i].m).total, t[i].us[a->rounds / 2], t[i].us[0], source ? strlen(source) : 0);
    }
}

/* Each plan once more, in code that reports: the times above are of code that does not. */
static bool profile_trials(Job *j, const Args *a, const Trial *t, int n, const Slots *s) {
    Args profiled = *a;
    bool good = true;
    for (int i = 0; i < n; i++) {
        profiled.options.profile = !says(t[i].plan, MLC_PROFILE);
        mlc_error_info e;
        mlc_module *m = t[i].m && !t[i].failed ? compile(j, &profiled, t[i].plan) : NULL;
        if (!m) continue;
        printf("\nplan\t%s\n", t[i].name);
        bool ran = mlc_run(m, s->n, s->at, 0, NULL, &e) == 0;
        if (!ran) complain("plan %s: %s", t[i].name, e.message);
        good = ran && report(&profiled, m) && good;
        mlc_module_free(m);
    }
    return good;
}

static bool open_trials(Job *j, const Args *a, Trial *t, int n) {
    bool any = false;
    for (int i = 0; i < n; i++) {
        t[i].plan = job_plan(j, a->n_schedules ? a->schedule[i] : NULL);
        const char *own = t[i].plan ? mlc_plan_name(t[i].plan) : NULL; /* of the plan that was found */
        t[i].name = a->n_schedules ? a->schedule[i] : own ? own : "none";
        t[i].m = t[i].plan ? compile(j, a, t[i].plan) : NULL;
        t[i].us = calloc((size_t)a->rounds, sizeof *t[i].us);
        if (!t[i].plan) mlc_error_clear(j->ctx);
        any = any || t[i].m;
    }
    return any;
}

int cmd_bench(Args *a) {
    Job j;
    Trial t[MOST] = { { 0 } };
    int n = a->n_schedules ? a->n_schedules : 1, r = EXIT_FAIL;
    if (!job_open(&j, a)) return EXIT_FAIL;
    if (job_params(&j, a) && open_trials(&j, a, t, n)) {
        Slots s = { .n = 0 };
        int first = 0;
        while (!t[first].m) first++;
        if (names_known(&j, a, 1, &t[first].m, true) && params_set(t[first].m) && inputs_open(&s, &j, a, t[first].m, true) &&
            outputs_open(&s, &j, a, t[first].m)) {
            bool good = time_trials(t, n, &s, a->rounds);
            print_trials(a, t, n);
            for (int i = 0; i < n; i++) good = good && t[i].m;
            if (a->profile) good = profile_trials(&j, a, t, n, &s) && good;
            r = good ? EXIT_GOOD : EXIT_FAIL;
        }
        slots_close(&s);
    }
    for (int i = 0; i < n; i++) {
        mlc_module_free(t[i].m);
        free(t[i].us);
    }
    job_close(&j);
    return r;
}

/* ---- info ---- */

/* Compiles a program of one line for each target: what it says is what a user would meet. */
static void info_targets(void) {
    static const char *const targets[] = { "host", "avx512", "avx2", "sse4", "plain", "interpret" };
    mlc_ctx *ctx = mlc_ctx_new();
    if (!ctx) return;
    mlc_var x = mlc_var_new(ctx, "x");
    mlc_func f = mlc_func_new(ctx, "probe");
    mlc_def(mlc_at(f, x), x);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        mlc_error_info e;
        mlc_options o = { .target = targets[i] };
        mlc_module *m = mlc_compile(NULL, mlc_outs(f), &o, &e);
        if (m) printf("target %s\t%s, compiled in %.1f ms\n", targets[i], mlc_module_target(m), mlc_module_times(m).total);
        else printf("target %s\tno: %s\n", targets[i], e.message);
        mlc_module_free(m);
    }
    mlc_ctx_free(ctx);
}

/* What the target cuda needs: NVRTC to compile, a driver and a GPU to run. */
static void info_gpus(void) {
    char nvrtc[1024];
    mlc_error_info e;
    mlc_gpu_info g;
    if (mlc_gpu_compiler(nvrtc, sizeof nvrtc, &e)) printf("nvrtc\t%s\n", nvrtc);
    else printf("nvrtc\tno: %s\n", e.message);
    int n = 0;
    for (; mlc_gpu(n, &g, &e); n++)
        printf("gpu %d\t%s, %s, %d processors, %zu MiB, driver of CUDA %d.%d\n", n, g.name, g.arch, g.processors, g.memory >> 20,
               g.driver / 1000, g.driver % 1000 / 10);
    if (!n) printf("gpu\tno: %s\n", e.message);
}

int cmd_info(Args *a) {
    static const char *const variables[] = { "MLC_TARGET", "MLC_CC", "MLC_CFLAGS", "MLC_CACHE", "MLC_CACHE_MIB",
                                             "MLC_NUM_THREADS", "MLC_TIME", "MLC_DUMP", "MLC_CUDA_ARCH", "MLC_NVRTC", "MLC_LIBCUDA",
                                             "MLC_GPU_WAIT" };
    (void)a;
    printf("mlc %s\n", mlc_version());
    info_targets();
    info_gpus();
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *v = getenv(variables[i]);
        printf("%s\t%s\n", variables[i], v ? v : "-");
    }
    return EXIT_GOOD;
}
