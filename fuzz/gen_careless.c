/* gen_careless.c - lines of plans by the shapes of directives.def alone: any stage, any names, any numbers.
 *
 * Names are words that the text holds already, so most are those of Funcs and loops, if seldom the right ones. */
#include "gen.h"
#include "schedule/schedule.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_word(char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
}

/* Some word of the text from `from` on: the plan holds names of loops and Funcs, rarely others. */
static void word(Gen *g, int from) {
    char out[32];
    int n = 0, at = from + gen_below(g, g->n - from);
    while (at > 0 && in_word(g->text[at - 1])) at--;
    while (at < g->n && !is_letter(g->text[at])) at++;
    while (n < 31 && in_word(g->text[at])) out[n++] = g->text[at++];
    out[n] = 0;
    bool name = n && !strchr("(=", g->text[at]) && strncmp(g->text + at, " =", 2);
    gen_put(g, "%s", name || gen_below(g, 20) == 0 ? out : "x");
}

static void any_word(Gen *g) {
    const char *plan = strstr(g->text, "plan p {\n");
    word(g, plan && gen_below(g, 30) ? (int)(plan - g->text) + 9 : 0);
}

static void loop(Gen *g) {
    static const char *const usual[] = { "x", "x", "x", "y", "y", "z", "_0" };
    if (gen_below(g, 3)) gen_put(g, "%s", usual[gen_below(g, 7)]);
    else any_word(g);
}

static void func(Gen *g, bool computed) {
    int first = computed && gen_below(g, 20) ? g->n_inputs : 0;
    if (gen_below(g, 30)) gen_put(g, "%s", g->func[first + gen_below(g, g->n_funcs - first)].name);
    else any_word(g);
}

static void stage(Gen *g) {
    func(g, true);
    if (gen_below(g, 6) == 0) gen_put(g, ".u%d", gen_below(g, 2));
}

static void number(Gen *g) {
    static const char *const some[] = { "1", "2", "3", "4", "8", "5", "16", "64", "7", "0", "-1", "1000", "1048576", "1048577",
                                        "4294967296", "9223372036854775807" };
    gen_put(g, "%s", some[gen_below(g, gen_below(g, 40) ? 11 : 16)]);
}

static void one_of(Gen *g, const char *const *words, int n) {
    if (gen_below(g, 30)) gen_put(g, "%s", words[gen_below(g, n)]);
    else any_word(g);
}

static void condition(Gen *g) {
    int kind = gen_below(g, 8);
    if (kind == 0) gen_put(g, gen_below(g, 2) ? "true" : "false");
    else if (kind == 1) gen_put(g, "1");
    else if (kind == 2) func(g, false), gen_put(g, "(0, 0) == 1");
    else if (kind < 5) any_word(g), gen_put(g, " > %d", gen_below(g, 4));
    else func(g, false), gen_put(g, ".%s.%d %s %d", kind == 5 ? "stride" : kind == 6 ? "min" : "extent", gen_below(g, 3), gen_below(g, 2) ? "==" : "<", gen_below(g, 9));
}

static void argument(Gen *g, char shape) {
    switch (shape) {
    case 'v': case 'n': loop(g); break;
    case 'p': loop(g), gen_put(g, ", "), loop(g); break;
    case 'f': stage(g); break;
    case 'a':
        if (gen_below(g, 4)) stage(g), gen_put(g, ", ");
        loop(g);
        break;
    case 'L': loop(g); break;
    case 'h':
        for (int i = 0, n = 1 + gen_below(g, 3), left = 3 * n + (gen_below(g, 8) == 0); i < left; i++) loop(g), gen_put(g, ", ");
        for (int i = gen_below(g, 3); i > 0; i--) number(g), gen_put(g, ", ");
        number(g);
        break;
    case 'T': gen_put(g, "%s", gen_type(g)); break;
    case 'F': case 'g': func(g, false); break;
    case 'w': gen_put(g, "w%d", gen_below(g, 3)); break;
    case 'm': one_of(g, sch_memories, MLC_MEMORY_COUNT); break;
    case 'M': one_of(g, sch_copies, MLC_COPY_COUNT); break;
    case 'y': one_of(g, sch_policies, MLC_PARTITION_COUNT); break;
    case 'e': condition(g); break;
    case 's': gen_put(g, gen_below(g, 4) ? "\"text\"" : "\"\""); break;
    default: number(g); break;
    }
}

static void option(Gen *g, char shape) {
    gen_put(g, ", .");
    if (shape == 't') gen_put(g, "tail = "), one_of(g, sch_tails, MLC_TAIL_COUNT);
    else if (shape == 'd') gen_put(g, "way = "), one_of(g, sch_ways, MLC_WAY_COUNT);
    else if (shape == 'o') gen_put(g, "bounds = "), one_of(g, sch_fetches, MLC_FETCH_COUNT);
    else if (shape == 'l') gen_put(g, "align = "), one_of(g, sch_line_ups, MLC_LOOP_ALIGN_COUNT);
    else gen_put(g, shape == 'x' ? "lossy" : "reassociate");
}

static void directive(Gen *g, int deep) {
    const DirectiveInfo *d = &sch_directives[gen_below(g, MLC_DIRECTIVE_COUNT)];
    const char *s = d->shape, *comma = "";
    char before = 0;
    gen_put(g, "%s(", d->name);
    for (; *s && !strchr(SHAPE_OPTIONS, *s); s++) {
        if (*s == '?' && gen_below(g, 2)) break;
        if (*s == '?') continue;
        int times = *s == '*' || *s == 'c' ? gen_below(g, 3) : 1;
        char shape = *s == '*' ? before : *s == 'c' ? 'g' : *s;
        for (; times > 0; times--, comma = ", ") gen_put(g, "%s", comma), argument(g, shape);
        before = *s;
    }
    for (; *s; s++)
        if (strchr(SHAPE_OPTIONS, *s) && *s != 'b' && gen_below(g, 3) == 0) option(g, *s);
    gen_put(g, ")");
    if (!strchr(d->shape, 'b')) return;
    gen_put(g, " {");
    for (int i = 0, n = deep < 3 ? gen_below(g, 3) : 0; i < n; i++) gen_put(g, i ? ", " : " "), directive(g, deep + 1);
    gen_put(g, " }");
}

void gen_careless_line(Gen *g) {
    gen_put(g, "    ");
    stage(g);
    gen_put(g, ": ");
    directive(g, 0);
    gen_put(g, ";\n");
}
