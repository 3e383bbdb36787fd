/* explain.c - printing every level, and the boxes of inputs that outputs need. */
#include "pipeline/pipeline.h"

#include <string.h>

static void print_level(Compile *c, const char *level, StrBuf *out) {
    if (!strcmp(level, "algorithm")) {
        pl_resolve(c); /* raises what is wrong with the definitions, and derives what the plan changes */
        if (c->schedule->bounded)
            sb_puts(out, "// class bounded: threads join floats in any order; n terms differ by n * eps of the sum of their magnitudes (of the product)\n");
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
    } else {
        fault_raise(&c->fault, ERR_LEVEL, NULL, level);
    }
}

bool mlc_explain(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const char *level, const mlc_options *o, FILE *to,
                 mlc_error_info *error) {
    Compile c;
    Barrier b;
    volatile bool good = false;
    pl_open(&c, plan, n_outputs, outputs);
    if (FAULT_TRY(&c.fault, b)) {
        StrBuf out;
        pl_begin(&c, plan, n_outputs, outputs, o);
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
