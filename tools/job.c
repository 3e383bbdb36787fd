/* job.c - reading a program, choosing its plan, and giving its params values. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A text file as a string in malloc's memory. */
static char *text_file(const char *path) {
    char why[WHY];
    size_t n;
    char *p = file_bytes(path, &n, why), *s = p ? malloc(n + 1) : NULL;
    if (!p) complain("%s: %s", path, why);
    else if (s) {
        memcpy(s, p, n);
        s[n] = 0;
        if (strlen(s) != n) { /* a zero byte: no text */
            complain("%s: it is no text", path);
            free(s);
            s = NULL;
        }
    }
    free(p);
    return s;
}

/* Warnings, once, and what MLC_TIME asks for. */
static void say(void *user, const char *line) {
    Job *j = user;
    if (!strcmp(j->said, line)) return; /* each plan of a text meets the same updates */
    snprintf(j->said, sizeof j->said, "%s", line);
    fprintf(stderr, "mlc: %s\n", line);
}

bool job_open(Job *j, const Args *a) {
    *j = (Job){ .ctx = mlc_ctx_new() };
    mlc_ctx_log(j->ctx, say, j);
    char *text = j->ctx ? text_file(a->file) : NULL;
    if (text) {
        j->program = mlc_program_parse(j->ctx, text, a->file);
        free(text);
        if (!j->program) complain("%s", mlc_error(j->ctx));
    }
    if (!j->program) {
        job_close(j);
        return false;
    }
    j->n_outputs = mlc_program_n_outputs(j->program);
    if (j->n_outputs < 1 || j->n_outputs > 16) {
        complain("%s: it has %d outputs; a program has 1 to 16", a->file, j->n_outputs);
        job_close(j);
        return false;
    }
    for (int i = 0; i < j->n_outputs; i++) j->output[i] = mlc_program_output(j->program, i);
    return true;
}

void job_close(Job *j) {
    mlc_ctx_free(j->ctx);
    j->ctx = NULL;
}

/* Text that names no plan, no file, and holds no directive. */
static void complain_of_plan(const Job *j, const char *text) {
    const char *names[MOST];
    char near[MEANT], list[512] = "";
    int n = mlc_program_n_plans(j->program);
    for (int i = 0; i < n && i < MOST; i++) {
        names[i] = mlc_plan_name(mlc_program_plan(j->program, i));
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "; its plans are ", names[i]);
    }
    complain("--schedule %s: the program has no plan of that name%s, and there is no such file%s; plan text holds a colon, as in 'f: parallel(y)'",
             text, meant(text, names, n < MOST ? n : MOST, near), list);
}

mlc_plan *job_plan(Job *j, const char *text) {
    for (int i = 0; i < mlc_program_n_plans(j->program); i++)
        if (!strcmp(mlc_plan_name(mlc_program_plan(j->program, i)), text ? text : "default")) return mlc_program_plan(j->program, i);
    if (!text && mlc_program_n_plans(j->program)) return mlc_program_plan(j->program, 0);
    mlc_plan *p = mlc_plan_new(j->ctx);
    if (!p || !text || !strcmp(text, "none")) return p;
    struct stat st;
    bool is_file = stat(text, &st) == 0 && S_ISREG(st.st_mode);
    if (!is_file && !strchr(text, ':')) {
        complain_of_plan(j, text);
        return NULL;
    }
    char *read = is_file ? text_file(text) : NULL;
    if (is_file && !read) return NULL;
    bool good = mlc_plan_parse(p, read ? read : text, is_file ? text : "--schedule");
    if (!good) complain("%s", mlc_error(j->ctx));
    free(read);
    return good ? p : NULL;
}

/* A param from its text: true or false, a whole number (0x too), or a number. */
static bool param_set(Job *j, const Pair *pair, mlc_param p) {
    mlc_type type = mlc_expr_type(mlc_from_param(p));
    const char *s = pair->text;
    char *end, *uend, *fend;
    errno = 0;
    long long v = strtoll(s, &end, 0);
    bool far = errno != 0;
    unsigned long long u = strtoull(s, &uend, 0);
    double f = strtod(s, &fend);
    bool is_float = type >= MLC_F16 && type <= MLC_F64, good;
    if (type == MLC_BOOL && (!strcmp(s, "true") || !strcmp(s, "false"))) good = mlc_param_set_i(p, *s == 't');
    else if (!*s || (*fend && type != MLC_BOOL)) return complain("%s=%s: it is no number", pair->name, s) == EXIT_GOOD;
    else if (!*end && !far) good = mlc_param_set_i(p, v);
    else if (type == MLC_U64) good = !*uend && mlc_param_set(p, u);
    else good = is_float && mlc_param_set_f(p, f);
    if (good) return true;
    mlc_error_clear(j->ctx);
    return complain("%s=%s: %s is %s; give %s", pair->name, s, pair->name, mlc_type_name(type),
                    type == MLC_BOOL ? "true or false" : is_float ? "a number" : "a whole number that it holds") == EXIT_GOOD;
}

bool job_params(Job *j, const Args *a) {
    for (int i = 0; i < a->n_pairs; i++) {
        mlc_param p = mlc_find_param(j->ctx, a->pair[i].name);
        if (p.sym && !param_set(j, &a->pair[i], p)) return false;
    }
    return true;
}
