/* job.c - reading a program, choosing its plan, and giving its buffers files, sizes and data. */
#include "cli.h"

#include <errno.h>
#include <stdint.h>
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

mlc_plan *job_plan(Job *j, const char *text) {
    for (int i = 0; i < mlc_program_n_plans(j->program); i++)
        if (!strcmp(mlc_plan_name(mlc_program_plan(j->program, i)), text ? text : "default")) return mlc_program_plan(j->program, i);
    if (!text && mlc_program_n_plans(j->program)) return mlc_program_plan(j->program, 0);
    mlc_plan *p = mlc_plan_new(j->ctx);
    if (!p || !text || !strcmp(text, "none")) return p;
    struct stat st;
    bool is_file = stat(text, &st) == 0 && S_ISREG(st.st_mode);
    if (!is_file && !strchr(text, ':')) {
        complain("--schedule %s: the program has no plan of that name, and there is no such file", text);
        return NULL;
    }
    char *read = is_file ? text_file(text) : NULL;
    if (is_file && !read) return NULL;
    bool good = mlc_plan_parse(p, read ? read : text, is_file ? text : "--schedule");
    if (!good) complain("%s", mlc_error(j->ctx));
    free(read);
    return good ? p : NULL;
}

bool job_params(Job *j, Args *a) {
    for (int i = 0; i < a->n_pairs; i++) {
        mlc_param p = mlc_find_param(j->ctx, a->pair[i].name);
        if (!p.sym) continue;
        char *end, *fend;
        const char *s = a->pair[i].text;
        errno = 0;
        long long v = strtoll(s, &end, 0);
        double f = strtod(s, &fend);
        bool is_int = *s && !*end && !errno;
        if (!*s || (*fend && !is_int)) {
            complain("%s=%s: it is no number", a->pair[i].name, s);
            return false;
        }
        if (!(is_int ? mlc_param_set_i(p, v) : mlc_param_set_f(p, f))) {
            complain("%s", mlc_error(j->ctx));
            return false;
        }
        a->pair[i].used = true;
    }
    return true;
}

static Pair *find(Pair *list, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, name)) return &list[i];
    return NULL;
}

bool pairs_all_used(const Args *a) {
    for (int i = 0; i < a->n_pairs; i++) {
        if (a->pair[i].used) continue;
        complain("the program has no input, output or param '%s'", a->pair[i].name);
        return false;
    }
    for (int i = 0; i < a->n_sizes; i++) {
        if (a->size[i].used) continue;
        complain("--size %s: the program has no buffer of that name", a->size[i].name);
        return false;
    }
    return true;
}

/* W,H or MIN:EXTENT,... into boxes; false where the text is none of `rank` dimensions. */
static bool read_size(const char *name, const char *text, int rank, mlc_box *box) {
    const char *s = text;
    for (int d = 0; d < rank; d++) {
        char *end;
        box[d].min = 0;
        box[d].extent = strtoll(s, &end, 10);
        if (end != s && *end == ':') {
            box[d].min = box[d].extent;
            s = end + 1;
            box[d].extent = strtoll(s, &end, 10);
        }
        bool last = d == rank - 1;
        if (end == s || *end != (last ? 0 : ',') || box[d].extent < 0 || box[d].extent > INT64_C(1) << 40) {
            complain("--size %s=%s: %d extents are wanted, as in %s", name, text, rank, rank == 1 ? "100" : "640,480");
            return false;
        }
        s = end + 1;
    }
    return rank > 0 || !*text;
}

static mlc_buffer *make(mlc_type type, int rank, const mlc_box *box) {
    int64_t extent[MLC_MAX_RANK] = { 0 };
    for (int d = 0; d < rank; d++) extent[d] = box[d].extent;
    mlc_buffer *b = mlc_buffer_new(type, rank, extent);
    if (!b) complain("out of memory");
    for (int d = 0; b && d < rank; d++) b->dim[d].min = box[d].min;
    return b;
}

/* Small whole numbers for integers, [0, 1) for floats: no traps in either. */
static void randomize(mlc_buffer *b) {
    uint64_t s = 88172645463325252u;
    size_t size = mlc_type_size(b->type);
    int64_t n = mlc_buffer_count(b);
    bool is_float = b->type >= MLC_F16 && b->type <= MLC_F64;
    for (int64_t i = 0; i < n; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        element_set(b->type, (char *)b->data + (size_t)i * size, is_float ? (double)(s >> 40) * 0x1p-24 : (double)(s >> 57));
    }
}

static mlc_buffer *open_input(Job *j, Args *a, const mlc_slot_info *s, bool random) {
    char why[WHY];
    Pair *file = find(a->pair, a->n_pairs, s->name), *size = find(a->size, a->n_sizes, s->name);
    mlc_box box[MLC_MAX_RANK];
    (void)j;
    if (file) {
        file->used = true;
        mlc_buffer *b = array_read(file->text, why);
        if (b) b = array_fit(b, s->type, s->rank, why);
        if (!b) complain("%s: %s", file->text, why);
        return b;
    }
    if (!random || !size) {
        complain(random ? "input %s has neither a file nor a --size; give one" : "input %s has no file; write %s=FILE", s->name,
                 s->name);
        return NULL;
    }
    size->used = true;
    mlc_buffer *b = read_size(s->name, size->text, s->rank, box) ? make(s->type, s->rank, box) : NULL;
    if (b) randomize(b);
    return b;
}

/* ---- the extents of outputs: given, else the most that the inputs allow ---- */

/* "W,H": as many letters as dimensions. */
static const char *size_letters(int rank, char space[2 * MLC_MAX_RANK]) {
    static const char letters[] = "W,H,D,N,C,K,L,M";
    snprintf(space, 2 * MLC_MAX_RANK, "%.*s", 2 * rank - 1, letters);
    return space;
}

static bool output_box(Job *j, Args *a, int output, const mlc_slot_info *info, mlc_box *box) {
    Pair *size = find(a->size, a->n_sizes, info->name);
    char letters[2 * MLC_MAX_RANK];
    mlc_error_info e;
    if (size) {
        size->used = true;
        return read_size(info->name, size->text, info->rank, box);
    }
    if (info->rank == 0 || mlc_allowed(j->output[output], box, &e)) return true;
    complain("%s\nmlc: write --size %s=%s", e.message, info->name, size_letters(info->rank, letters));
    return false;
}

bool slots_open(Slots *s, Job *j, Args *a, mlc_module *m, bool random) {
    mlc_slot_info info;
    mlc_box box[MLC_MAX_RANK];
    int output = -1;
    *s = (Slots){ .n = 0 };
    if (mlc_module_slots(m) > MOST) {
        complain("the program has more than %d buffers", (int)MOST);
        return false;
    }
    for (int i = 0; mlc_module_slot(m, i, &info); i++) {
        if (info.is_output) {
            output += info.element == 0;
            if (info.element == 0 && !output_box(j, a, output, &info, box)) return false;
            s->at[i] = make(info.type, info.rank, box);
            Pair *file = find(a->pair, a->n_pairs, info.name);
            if (file) file->used = true;
        } else {
            s->at[i] = open_input(j, a, &info, random);
            mlc_func f = mlc_find_func(j->ctx, info.name);
            if (s->at[i] && f.f) mlc_bind(f, s->at[i]); /* its size may decide what an output needs */
        }
        if (!s->at[i]) return false;
        s->n = i + 1;
    }
    return pairs_all_used(a);
}

/* An element of a tuple goes to NAME.0.png, NAME.1.png ... of NAME.png. */
static const char *element_path(const char *path, int element, char *space, size_t size) {
    const char *dot = strrchr(path, '.');
    snprintf(space, size, "%.*s.%d%s", (int)(dot ? dot - path : (long)strlen(path)), path, element, dot ? dot : "");
    return space;
}

bool slots_write(const Slots *s, const Args *a, mlc_module *m) {
    mlc_slot_info info, next;
    char why[WHY], space[4096];
    bool any = false;
    for (int i = 0; mlc_module_slot(m, i, &info); i++) {
        const Pair *file = info.is_output ? find((Pair *)(uintptr_t)a->pair, a->n_pairs, info.name) : NULL;
        if (!file) continue;
        any = true;
        bool tuple = info.element || (mlc_module_slot(m, i + 1, &next) && next.element);
        const char *path = tuple ? element_path(file->text, info.element, space, sizeof space) : file->text;
        if (array_write(path, s->at[i], why)) continue;
        complain("%s: %s", path, why);
        return false;
    }
    if (!any) complain("no output has a file; write NAME=FILE to keep one");
    return true;
}

void slots_close(Slots *s) {
    for (int i = 0; i < s->n; i++) mlc_buffer_free(s->at[i]);
    s->n = 0;
}
