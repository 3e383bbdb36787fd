/* explain.c - printing every level. */
#include "pipeline/pipeline.h"

#include <string.h>

/* ---- what NVRTC and ptxas make of kernels ---- */

static bool is_of_nvrtc(const char *level) {
    return !strcmp(level, "ptx") || !strcmp(level, "sass");
}

static void print_report(StrBuf *out, const NvReport *r, const char *arch, const char *nvrtc) {
    size_t version = strcspn(nvrtc, " ") + 1; /* "NVRTC 13.0 /path ..." */
    version += strcspn(nvrtc + version, " ");
    sb_printf(out, "// for %s, by %.*s\n", arch, (int)version, nvrtc);
    for (int i = 0; i < r->n; i++) {
        const NvKernelReport *k = &r->kernel[i];
        sb_printf(out, "// %s: %d registers, %lld bytes spilled, %lld local, %lld shared\n", k->name, k->registers,
                  (long long)(k->spill_stores + k->spill_loads), (long long)k->stack, (long long)k->shared);
    }
    for (int i = 0; i < r->n_warnings; i++) sb_printf(out, "// %s\n", r->warning[i]);
}

/* "ptx" or "sass", for the architecture that is asked for, that of the GPU that is here, or Hopper's. */
static void print_of_nvrtc(Compile *c, const char *level, StrBuf *out) {
    Options *o = &c->options;
    Arena *a = &c->arena;
    StrBuf source;
    NvReport report = { 0 };
    size_t n = 0;
    const Program *p = pl_lower(c, true);
    if (!p->kernel.n) fault_raise(&c->fault, ERR_NO_KERNELS, NULL);
    Place place = sch_place(a, p->kernel.at[0]->line);
    if (!o->cuda) fault_raise(&c->fault, ERR_GPU_TARGET, &place, p->kernel.at[0]->name, o->target);
    pl_take_gpu(c);
    NvCompiler *nvrtc = gpu_compiler(c->gpu, &c->fault);
    bool sass = !strcmp(level, "sass");
    NvOptions nv = { .arch = nv_arch(a, nvrtc, o->arch ? o->arch : "sm_90a"), .ptx = !sass };
    if (sass && nv_is_virtual(nv.arch)) fault_raise(&c->fault, ERR_NO_SASS, NULL, nv.arch);
    sb_init(&source, a);
    cg_cuda(&source, p, &(CgOptions){ .isa = o->isa, .symbol = CODE_SYMBOL });
    const void *code = nv_compile(a, nvrtc, &nv, source.at, c->output[0]->name, &n, &report);
    print_report(out, &report, nv.arch, nv_compiler_identity(nvrtc));
    sb_puts(out, sass ? nv_disassemble(a, code, n) : code);
}

/* ---- every level ---- */

static void print_level(Compile *c, const char *level, StrBuf *out) {
    if (!strcmp(level, "algorithm")) {
        pl_resolve(c); /* raises what is wrong with the definitions, and derives what the plan changes */
        if (c->schedule->bounded)
            sb_puts(out, "// class bounded: threads join floats in any order; n terms differ by n * eps of the sum of their magnitudes (of the product)\n");
        if (c->schedule->by_units)
            sb_puts(out, "// class bounded: tensor units sum floats; sums of n products differ by 2 * n * 2^-23 of the sum of their magnitudes\n");
        if (c->schedule->rewrites) sb_puts(out, "// class rewrite: the plan derives an algorithm of other roundings\n");
        alg_print_program(out, c->ctx, c->schedule->output, c->n_outputs);
        return;
    }
    pl_resolve(c);
    c->explain = true;
    if (!strcmp(level, "schedule")) {
        sch_print_plan(out, c->plan);
    } else if (!strcmp(level, "loops")) {
        st_print(out, pl_lower(c, true)->body);
    } else if (!strcmp(level, "nest")) {
        st_print_nest(out, pl_lower_nest(c)->body);
    } else if (!strcmp(level, "c")) {
        bool is_gcc;
        code_compiler(&c->arena, &c->options, &is_gcc);
        CgOptions o = { .isa = c->options.isa, .is_gcc = is_gcc, .symbol = CODE_SYMBOL };
        cg_cpu(out, pl_lower(c, true), &o);
    } else if (!strcmp(level, "cuda")) {
        CgOptions o = { .isa = c->options.isa, .symbol = CODE_SYMBOL };
        const Program *p = pl_lower(c, true);
        if (!p->kernel.n) fault_raise(&c->fault, ERR_NO_KERNELS, NULL);
        cg_cuda(out, p, &o);
    } else if (is_of_nvrtc(level)) {
        print_of_nvrtc(c, level, out);
    } else {
        fault_raise(&c->fault, ERR_LEVEL, NULL, level);
    }
}

bool mlc_explain(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const char *level, const mlc_options *o, FILE *to,
                 mlc_error_info *error) {
    Compile c;
    Barrier b;
    volatile bool good = false;
    mlc_options gpu = o ? *o : (mlc_options){ 0 };
    if (level && is_of_nvrtc(level) && !gpu.target) gpu.target = "cuda"; /* they are of no other */
    pl_open(&c, plan, n_outputs, outputs);
    if (FAULT_TRY(&c.fault, b)) {
        StrBuf out;
        pl_begin(&c, plan, n_outputs, outputs, &gpu);
        if (!to) fault_raise(&c.fault, ERR_NO_STREAM, NULL);
        sb_init(&out, &c.arena);
        print_level(&c, level ? level : "", &out);
        fputs(out.at, to);
        if (ferror(to)) fault_raise(&c.fault, ERR_WRITE_FILE, NULL, "output", "cannot be written");
        good = true;
        FAULT_END(&c.fault, b);
    }
    pl_close(&c);
    pl_give_error(error, &c.fault);
    return good;
}
