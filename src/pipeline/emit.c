/* emit.c - ahead of time: a .c and a .h (and a .o) that need nothing of mlc. */
#include "pipeline/pipeline.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Links without the generator's ahead-of-time part, and says so when it is asked for. */
#pragma weak cg_emit_header

static _Noreturn void cannot_write(Compile *c, const char *path, const char *beside, int why) {
    remove(beside);
    fault_raise(&c->fault, ERR_WRITE_FILE, NULL, path, strerror(why));
}

/* Written beside and renamed: what was there stays until all is well. */
static void write_file(Compile *c, const char *path, const char *text) {
    const char *beside = arena_printf(&c->arena, "%s.part", path);
    FILE *f = fopen(beside, "w");
    errno = f ? 0 : errno;
    if (f && fputs(text, f) >= 0) fflush(f);
    int why = errno;
    if (f && fclose(f) && !why) why = errno;
    if (!f || why) cannot_write(c, path, beside, why);
    if (rename(beside, path)) cannot_write(c, path, beside, errno);
}

static bool exists(const char *path) {
    FILE *f = fopen(path, "r");
    if (f) fclose(f);
    return f != NULL;
}

/* Is there a file that mlc did not write?  Its first words tell; an empty one is nobody's. */
static void spare_others(Compile *c, const char *path) {
    static const char ours[] = "/* Made by mlc";
    char head[sizeof ours] = "";
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(head, 1, sizeof ours - 1, f) : 0;
    if (f) fclose(f);
    if (n && strcmp(head, ours)) fault_raise(&c->fault, ERR_NOT_OURS, NULL, path);
}

/* A C identifier of a Func's name: generated names hold '$'. */
static const char *identifier(Arena *a, const char *name) {
    char *s = arena_str(a, name);
    for (char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    return s;
}

static void refuse_watched(Compile *c) {
    const Schedule *s = c->schedule;
    if (c->options.profile || c->options.trace) fault_raise(&c->fault, ERR_WATCH_EMIT, NULL, c->output[0]->name);
    for (int i = 0; i < s->order.n; i++) {
        const FuncSched *fs = pm_get(&s->sched, s->order.at[i]);
        const PlanLine *line = !fs ? NULL : fs->profile ? fs->profile : fs->trace;
        if (!line) continue;
        Place place = sch_place(&c->arena, line);
        fault_raise(&c->fault, ERR_WATCH_EMIT, &place, fs->func->name);
    }
}

static void emit(Compile *c, const char *prefix, const mlc_emit_options *e, const mlc_options *o) {
    if (!cg_emit_header) BUG(&c->fault, "this build has no ahead-of-time generator");
    const char *symbol = e->name ? e->name : identifier(&c->arena, c->output[0]->name);
    if (!cg_is_name(symbol)) fault_raise(&c->fault, ERR_EMIT_NAME, NULL, symbol);
    const char *target = o && o->target ? o->target : "host";
    bool is_gcc;
    StrBuf code, header;
    c->options.interpret = c->options.native = false;
    if (pl_is_cuda(target)) fault_raise(&c->fault, ERR_EMIT_CUDA, NULL, target);
    c->options.isa = pl_isa(&c->fault, target, true);
    c->options.target = pl_isa_name(c->options.isa);
    code_compiler(&c->arena, &c->options, &is_gcc);
    CgOptions cg = { .isa = c->options.isa, .is_gcc = is_gcc, .emit = true, .openmp = e->openmp,
                     .symbol = symbol };
    c->in_line = true; /* neither plain C nor OpenMP promises that two tasks run at once */
    pl_resolve(c);
    for (int i = 0; i < c->schedule->order.n; i++) {
        const FuncSched *fs = pm_get(&c->schedule->sched, c->schedule->order.at[i]);
        if (!fs || !fs->memo) continue;
        Place place = sch_place(&c->arena, fs->memo);
        fault_raise(&c->fault, ERR_MEMO_EMIT, &place, fs->func->name);
    }
    for (int i = 0; i < c->schedule->order.n; i++)
        if (alg_is_whole(c->schedule->order.at[i])) fault_raise(&c->fault, ERR_STAGE_EMIT, NULL, c->schedule->order.at[i]->name);
    refuse_watched(c);
    Program *p = pl_lower(c, false);
    sb_init(&code, &c->arena);
    sb_init(&header, &c->arena);
    cg_cpu(&code, p, &cg);
    cg_emit_header(&header, p, &cg);
    const char *c_path = arena_printf(&c->arena, "%s.c", prefix), *h_path = arena_printf(&c->arena, "%s.h", prefix);
    const char *o_path = arena_printf(&c->arena, "%s.o", prefix), *o_beside = arena_printf(&c->arena, "%s.part", o_path);
    spare_others(c, c_path);
    spare_others(c, h_path);
    if (e->object && exists(o_path) && !exists(c_path)) fault_raise(&c->fault, ERR_NOT_OURS, NULL, o_path);
    write_file(c, c_path, code.at);
    write_file(c, h_path, header.at);
    if (!e->object) return;
    code_object(&c->arena, &c->options, code.at, o_beside, e->openmp);
    if (rename(o_beside, o_path)) cannot_write(c, o_path, o_beside, errno);
}

bool mlc_emit(mlc_plan *plan, int n_outputs, const mlc_func *outputs, const char *prefix, const mlc_emit_options *e,
              const mlc_options *o, mlc_error_info *error) {
    static const mlc_emit_options none = { 0 };
    mlc_options host = o ? *o : (mlc_options){ 0 };
    Compile c;
    Barrier b;
    volatile bool good = false;
    host.target = NULL; /* the machine here need not run what is emitted */
    pl_open(&c, plan, n_outputs, outputs);
    if (FAULT_TRY(&c.fault, b)) {
        pl_begin(&c, plan, n_outputs, outputs, &host);
        if (!prefix || !*prefix || prefix[strlen(prefix) - 1] == '/') fault_raise(&c.fault, ERR_NO_PREFIX, NULL);
        emit(&c, prefix, e ? e : &none, o);
        good = true;
        FAULT_END(&c.fault, b);
    }
    pl_close(&c);
    pl_give_error(error, &c.fault);
    return good;
}
