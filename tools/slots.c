/* slots.c - which buffer each name of the command line means, how large it is, which file it comes from or goes to. */
#include "cli.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const Pair *find(const Pair *list, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, name)) return &list[i];
    return NULL;
}

/* ---- the names of the command line ---- */

typedef struct {
    const char *at[4 * MOST];
    int n;
} Names;

static void add(Names *names, const char *name) {
    if (names->n < (int)(sizeof names->at / sizeof *names->at)) names->at[names->n++] = name;
}

/* Slot i of the k-th module; of the first one all, of those behind it, which are made for --dump, the inputs. */
static bool slot_of(mlc_module *const *m, int k, int i, mlc_slot_info *slot) {
    return i < MOST && mlc_module_slot(m[k], i, slot) && (k == 0 || !slot->is_output);
}

static bool known(const Names *names, const char *name, char near[MEANT]) {
    for (int i = 0; i < names->n; i++)
        if (!strcmp(names->at[i], name)) return true;
    meant(name, names->at, names->n, near);
    return false;
}

static bool pairs_known(const Job *j, const Args *a, int n, mlc_module *const *m) {
    Names names = { .n = 0 };
    mlc_slot_info slot;
    mlc_param_info param;
    char near[MEANT];
    for (int k = 0; k < n; k++) {
        for (int i = 0; slot_of(m, k, i, &slot); i++) add(&names, slot.name);
        for (int i = 0; i < MOST && mlc_module_param(m[k], i, &param); i++) add(&names, param.name);
    }
    for (int i = 0; i < a->n_pairs; i++) {
        const char *name = a->pair[i].name;
        if (known(&names, name, near) || mlc_find_param(j->ctx, name).sym) continue;
        bool there = !*near && mlc_find_func(j->ctx, name).f;
        mlc_error_clear(j->ctx);
        if (there) return complain("%s=%s: %s is no output, and none reads it as an input; an inner Func is written by --dump %s=FILE", name,
                                   a->pair[i].text, name, name) == EXIT_GOOD;
        return complain("the program has no input, output or param '%s'%s", name, near) == EXIT_GOOD;
    }
    return true;
}

static bool size_known(const Args *a, const mlc_slot_info *slot, bool random) {
    bool file = find(a->pair, a->n_pairs, slot->name) || !random, size = find(a->size, a->n_sizes, slot->name);
    if (size && file && !slot->is_output)
        return complain("--size %s: an input is as large as its file; drop the --size", slot->name) == EXIT_GOOD;
    if (random && slot->is_output && find(a->pair, a->n_pairs, slot->name))
        return complain("bench writes no output; drop %s=", slot->name) == EXIT_GOOD;
    return true;
}

static bool sizes_known(const Args *a, int n, mlc_module *const *m, bool random) {
    Names names = { .n = 0 };
    mlc_slot_info slot;
    char near[MEANT];
    for (int k = 0; k < n; k++)
        for (int i = 0; slot_of(m, k, i, &slot); i++) {
            add(&names, slot.name);
            if (!size_known(a, &slot, random)) return false;
        }
    for (int i = 0; i < a->n_dumps; i++) add(&names, a->dump[i].name);
    for (int i = 0; i < a->n_sizes; i++)
        if (!known(&names, a->size[i].name, near))
            return complain("--size %s: the program has no buffer of that name%s", a->size[i].name, near) == EXIT_GOOD;
    return true;
}

bool names_known(const Job *j, const Args *a, int n, mlc_module *const *m, bool random) {
    return pairs_known(j, a, n, m) && sizes_known(a, n, m, random);
}

/* ---- sizes and buffers ---- */

/* W,H or MIN:EXTENT,... into boxes; false where the text is none of `rank` dimensions. */
static bool read_size(const char *name, const char *text, int rank, mlc_box *box) {
    const char *s = text;
    const int64_t most = INT64_C(1) << 40;
    for (int d = 0; d < rank; d++) {
        char *end;
        box[d].min = 0;
        box[d].extent = strtoll(s, &end, 10);
        if (end != s && *end == ':') {
            box[d].min = box[d].extent;
            s = end + 1;
            box[d].extent = strtoll(s, &end, 10);
        }
        if (end == s || *end != (d == rank - 1 ? 0 : ','))
            return complain("--size %s=%s: %d extent%s wanted, as in %s", name, text, rank, rank == 1 ? " is" : "s are",
                            rank == 1 ? "100" : "640,480") == EXIT_GOOD;
        if (box[d].extent < 0 || box[d].extent > most)
            return complain("--size %s=%s: the extent of dimension %d is %lld; give 0 to %lld", name, text, d,
                            (long long)box[d].extent, (long long)most) == EXIT_GOOD;
        s = end + 1;
    }
    return rank > 0 || !*text || complain("--size %s=%s: it has no dimensions; drop the --size", name, text) == EXIT_GOOD;
}

/* The text that --size takes. */
static const char *size_text(int rank, const mlc_box *box, char space[48 * MLC_MAX_RANK]) {
    int at = *space = 0;
    for (int d = 0; d < rank; d++) {
        if (d) space[at++] = ',';
        if (box[d].min) at += sprintf(space + at, "%lld:", (long long)box[d].min);
        at += sprintf(space + at, "%lld", (long long)box[d].extent);
    }
    return space;
}

static mlc_buffer *make(const mlc_slot_info *info, const mlc_box *box) {
    int64_t extent[MLC_MAX_RANK] = { 0 };
    char text[48 * MLC_MAX_RANK];
    double bytes = (double)mlc_type_size(info->type);
    for (int d = 0; d < info->rank; d++) bytes *= (double)(extent[d] = box[d].extent);
    mlc_buffer *b = mlc_buffer_new(info->type, info->rank, extent);
    if (!b) complain("there is no memory for %s, %s of %s: %.0f bytes; give it a smaller --size", info->name,
                     size_text(info->rank, box, text), mlc_type_name(info->type), bytes);
    for (int d = 0; b && d < info->rank; d++) b->dim[d].min = box[d].min;
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

static mlc_buffer *open_input(const Args *a, const mlc_slot_info *s, bool random) {
    char why[WHY];
    const Pair *file = find(a->pair, a->n_pairs, s->name), *size = find(a->size, a->n_sizes, s->name);
    mlc_box box[MLC_MAX_RANK];
    if (file) {
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
    mlc_buffer *b = read_size(s->name, size->text, s->rank, box) ? make(s, box) : NULL;
    if (b) randomize(b);
    return b;
}

/* Inputs come before outputs; whatever is missing is said at once. */
bool inputs_open(Slots *s, Job *j, const Args *a, const mlc_module *m, bool random) {
    mlc_slot_info info;
    bool good = true;
    *s = (Slots){ .n = 0 };
    if (mlc_module_slots(m) > MOST) return complain("the program has more than %d buffers", (int)MOST) == EXIT_GOOD;
    for (; mlc_module_slot(m, s->n, &info) && !info.is_output; s->n++) {
        mlc_buffer *b = s->at[s->n] = open_input(a, &info, random);
        mlc_func f = mlc_find_func(j->ctx, info.name);
        good = good && b;
        if (b && f.f) mlc_bind(f, b); /* its size may decide what an output needs */
    }
    return good;
}

/* ---- the extents of outputs: given, else the most that the inputs allow ---- */

/* "W,H": as many letters as dimensions. */
static const char *size_letters(int rank, char space[2 * MLC_MAX_RANK]) {
    static const char letters[] = "W,H,D,N,C,K,L,M";
    snprintf(space, 2 * MLC_MAX_RANK, "%.*s", 2 * rank - 1, letters);
    return space;
}

static bool output_box(mlc_func output, const Args *a, const mlc_slot_info *info, mlc_box *box) {
    const Pair *size = find(a->size, a->n_sizes, info->name);
    char letters[2 * MLC_MAX_RANK];
    mlc_error_info e;
    if (size) return read_size(info->name, size->text, info->rank, box);
    if (info->rank == 0 || mlc_allowed(output, box, &e)) return true;
    complain("%s\nmlc: write --size %s=%s", e.message, info->name, size_letters(info->rank, letters));
    return false;
}

/* Where slot i is written; NULL where nowhere.  An element of a tuple goes to NAME.0.png, NAME.1.png ... of NAME.png. */
static const char *output_path(const Args *a, const mlc_module *m, int i, char *space, size_t size) {
    mlc_slot_info info, next;
    const Pair *file = mlc_module_slot(m, i, &info) && info.is_output ? find(a->pair, a->n_pairs, info.name) : NULL;
    if (!file || !(info.element || (mlc_module_slot(m, i + 1, &next) && next.element))) return file ? file->text : NULL;
    const char *dot = strrchr(file->text, '.');
    snprintf(space, size, "%.*s.%d%s", (int)(dot ? dot - file->text : (long)strlen(file->text)), file->text, info.element, dot ? dot : "");
    return space;
}

bool outputs_open(Slots *s, Job *j, const Args *a, const mlc_module *m) {
    mlc_slot_info info;
    mlc_box box[MLC_MAX_RANK];
    char why[WHY], space[4096];
    bool good = true, sized = false;
    for (int output = -1; mlc_module_slot(m, s->n, &info); s->n++) {
        output += info.element == 0;
        if (info.element == 0) sized = output_box(j->output[output], a, &info, box);
        mlc_buffer *b = s->at[s->n] = sized ? make(&info, box) : NULL;
        const char *path = output_path(a, m, s->n, space, sizeof space);
        good = good && b && (!path || array_writable(path, b, why) || complain("%s: %s", path, why) == EXIT_GOOD);
    }
    return good;
}

/* What mlc_run says, and which --size an output would need. */
void complain_of_run(const Slots *s, const mlc_module *m, const char *who, const mlc_error_info *e) {
    mlc_slot_info info;
    char name[128], text[48 * MLC_MAX_RANK];
    int dim;
    long long lo, hi;
    complain("%s%s", who, e->message);
    if (strcmp(mlc_error_name(e->code), "OUTPUT_BOX") ||
        sscanf(e->message, "output %127s is written or read in dimension %d from %lld to %lld", name, &dim, &lo, &hi) != 4) return;
    for (int i = 0; i < s->n && mlc_module_slot(m, i, &info); i++) {
        mlc_box box[MLC_MAX_RANK];
        if (strcmp(info.name, name) || dim >= info.rank) continue;
        for (int d = 0; d < info.rank; d++) box[d] = (mlc_box){ s->at[i]->dim[d].min, s->at[i]->dim[d].extent };
        long long min = box[dim].min < lo ? box[dim].min : lo, max = box[dim].min + box[dim].extent - 1;
        box[dim] = (mlc_box){ min, (max > hi ? max : hi) - min + 1 };
        complain("write --size %s=%s", name, size_text(info.rank, box, text));
        return;
    }
}

bool slots_write(const Slots *s, const Args *a, const mlc_module *m) {
    char why[WHY], space[4096];
    bool any = false;
    for (int i = 0; i < s->n; i++) {
        const char *path = output_path(a, m, i, space, sizeof space);
        any = any || path;
        if (path && !array_write(path, s->at[i], why)) return complain("%s: %s", path, why) == EXIT_GOOD;
    }
    if (!any) complain("no output has a file; write NAME=FILE to keep one");
    return true;
}

void slots_close(Slots *s) {
    for (int i = 0; i < s->n; i++) mlc_buffer_free(s->at[i]);
    s->n = 0;
}
