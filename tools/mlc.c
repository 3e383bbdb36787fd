/* mlc.c - the command line tool: a thin program over the public interface.
 * Exit status: 0 all went well, 1 something failed, 2 the command line is wrong. */
#include "cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Up to OPT_NO_CACHE, and 's': what every command on a program takes. */
enum { OPT_TARGET = 256, OPT_CC, OPT_OPT, OPT_THREADS, OPT_CHECK, OPT_NO_CACHE, OPT_LEVEL, OPT_SIZE, OPT_TIME, OPT_NAME,
       OPT_OBJECT, OPT_OPENMP, OPT_ROUNDS, OPT_PROFILE, OPT_TRACE, OPT_SPANS, OPT_DUMP };
static const struct option options[] = {
    { "schedule", required_argument, NULL, 's' },     { "level", required_argument, NULL, OPT_LEVEL },
    { "target", required_argument, NULL, OPT_TARGET }, { "cc", required_argument, NULL, OPT_CC },
    { "opt", required_argument, NULL, OPT_OPT },       { "threads", required_argument, NULL, OPT_THREADS },
    { "check", no_argument, NULL, OPT_CHECK },         { "no-cache", no_argument, NULL, OPT_NO_CACHE },
    { "size", required_argument, NULL, OPT_SIZE },     { "time", no_argument, NULL, OPT_TIME },
    { "name", required_argument, NULL, OPT_NAME },     { "object", no_argument, NULL, OPT_OBJECT },
    { "openmp", no_argument, NULL, OPT_OPENMP },       { "rounds", required_argument, NULL, OPT_ROUNDS },
    { "output", required_argument, NULL, 'o' },        { "help", no_argument, NULL, 'h' },
    { "profile", optional_argument, NULL, OPT_PROFILE }, { "trace-chrome", required_argument, NULL, OPT_TRACE },
    { "most-spans", required_argument, NULL, OPT_SPANS },   { "dump", required_argument, NULL, OPT_DUMP },
    { NULL, 0, NULL, 0 },
};

static const char common[] =
    "  --schedule S      a plan: its name in the program, a file, plan text (it holds a colon), or none;\n"
    "                    without it the program's plan default, else its first, else none\n"
    "  --target T        host, cuda, avx512, avx2, sse4, plain or interpret; cuda-sm_90a: for such GPUs\n"
    "  --cc CC --opt N   the C compiler and its -O level (1 to 3)\n"
    "  --threads N       at most N threads\n"
    "  --check           check every access while running\n"
    "  --no-cache        neither read nor write the cache\n";

static const Command commands[] = {
    { "run", "run P.mlc [options] NAME=FILE|VALUE ...",
      "Runs a program.  NAME=FILE reads an input (PNG, NPY) or writes an output (.png, .npy; a tuple's\n"
      "a=q.npy gives q.0.npy, q.1.npy ...); NAME=VALUE sets a param.\n"
      "  --size NAME=W,H   the extents of an output, or MIN:EXTENT each (else: the most\n"
      "                    that its inputs allow; where they do not limit it, the first input's of its rank)\n"
      "  --time            print the parts of the compile and the time of the run\n"
      "  --profile[=tsv]   print what each stage cost: time, threads, evaluations, memory; advice\n"
      "  --trace-chrome F  write when each stage was computed, as JSON for chrome://tracing or Perfetto\n"
      "  --most-spans N    that the trace keeps (262144)\n"
      "  --dump NAME=FILE  also computes the Func NAME, over the most that its inputs allow or --size, and writes it\n", cmd_run,
      .own = { OPT_SIZE, OPT_TIME, OPT_PROFILE, OPT_TRACE, OPT_SPANS, OPT_DUMP }, .pairs = true },
    { "check", "check P.mlc [options]", "Reads a program and lowers it under none, each of its plans and each --schedule; with\n"
      "--target cuda also compiles it, kernels too, whether or not a GPU is here.\n", cmd_check,
      .plans = true },
    { "explain", "explain P.mlc [--level algorithm|schedule|nest|loops|c|cuda|ptx|sass] [options]",
      "Prints a program at a level; loops where none is given.\n", cmd_explain, .own = { OPT_LEVEL } },
    { "emit", "emit P.mlc -o PREFIX [--name F] [--object] [--openmp] [options]",
      "Writes PREFIX.c and PREFIX.h (and PREFIX.o) that need nothing of mlc; files that mlc did not write stay.\n", cmd_emit,
      .own = { 'o', OPT_NAME, OPT_OBJECT, OPT_OPENMP } },
    { "bench", "bench P.mlc [options] [--schedule S ...] [--rounds N] [--size NAME=W,H ...] NAME=FILE|VALUE ...",
      "Times a program under each plan given, interleaved, and prints a line of tab-separated values each.\n"
      "Inputs without a file hold random data of the extents that --size gives.\n"
      "  --profile         run each plan once more, profiled, and print what each stage cost\n", cmd_bench,
      .own = { OPT_ROUNDS, OPT_SIZE, OPT_PROFILE }, .pairs = true, .plans = true },
    { "info", "info", "Prints the version, the targets of this machine and the environment that mlc reads.\n", cmd_info, .own = { 0 } },
};
enum { COMMANDS = (int)(sizeof commands / sizeof *commands) };

int complain(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    fputs("mlc: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return EXIT_FAIL;
}

const char *meant(const char *word, const char *const *names, int n, char space[MEANT]) {
    const char *near = mlc_nearest_name(word, names, n);
    *space = 0;
    if (near) snprintf(space, MEANT, " (did you mean '%s'?)", near);
    return space;
}

static int usage(FILE *to, const Command *c) {
    if (c) {
        fprintf(to, "usage: mlc %s\n\n%s%s", c->usage, c->help, c->run == cmd_info ? "" : common);
    } else {
        fprintf(to, "usage: mlc COMMAND ...\n\n");
        for (int i = 0; i < COMMANDS; i++) fprintf(to, "  mlc %s\n", commands[i].usage);
        fprintf(to, "\nWithout --schedule a program runs under its plan default, else its first, else none.\n`mlc help COMMAND` says more.\n");
    }
    return to == stderr ? EXIT_USAGE : EXIT_GOOD;
}

/* The command of that name; says so where there is none. */
static const Command *find(const char *name) {
    const char *names[COMMANDS];
    char near[MEANT];
    for (int i = 0; i < COMMANDS; i++) {
        if (!strcmp(commands[i].name, name)) return &commands[i];
        names[i] = commands[i].name;
    }
    complain("there is no command '%s'%s; `mlc help` lists them", name, meant(name, names, COMMANDS, near));
    return NULL;
}

/* False where it is none, or one of that name is there: then `text` is the name. */
static bool add_pair(Pair *list, int *n, char *text) {
    char *equal = strchr(text, '=');
    if (!equal || equal == text || *n == MOST) return false;
    *equal = 0;
    for (int i = 0; i < *n; i++)
        if (!strcmp(list[i].name, text)) return false;
    list[(*n)++] = (Pair){ .name = text, .text = equal + 1 };
    return true;
}

/* A number from 1 to `most`, 0 where the text is none. */
static int number(const char *s, int most) {
    char *end;
    long v = strtol(s, &end, 10);
    return *s && !*end && v >= 1 && v <= most ? (int)v : 0;
}

/* One option; false where it is wrong. */
static bool take(Args *a, int c) {
    switch (c) {
    case 's': return a->n_schedules < MOST && (a->schedule[a->n_schedules++] = optarg);
    case 'o': a->out = optarg; return true;
    case OPT_LEVEL: a->level = optarg; return true;
    case OPT_TARGET: a->options.target = optarg; return true;
    case OPT_CC: a->options.cc = optarg; return true;
    case OPT_OPT: return (a->options.opt = number(optarg, 3)) != 0;
    case OPT_THREADS: return (a->options.threads = number(optarg, 1024)) != 0;
    case OPT_CHECK: return a->options.check = true;
    case OPT_NO_CACHE: return a->options.no_cache = true;
    case OPT_SIZE: return add_pair(a->size, &a->n_sizes, optarg);
    case OPT_TIME: return a->time = true;
    case OPT_DUMP: return add_pair(a->dump, &a->n_dumps, optarg);
    case OPT_NAME: a->name = optarg; return true;
    case OPT_OBJECT: return a->object = true;
    case OPT_OPENMP: return a->openmp = true;
    case OPT_ROUNDS: return (a->rounds = number(optarg, 1000000)) != 0;
    case OPT_PROFILE: a->tsv = optarg != NULL; return (a->profile = true) && (!optarg || !strcmp(optarg, "tsv"));
    case OPT_TRACE: return *(a->trace = optarg) != 0;
    case OPT_SPANS: return (a->options.most_spans = number(optarg, 1 << 30)) != 0;
    default: return false;
    }
}

static const char *name_of(int o) {
    const struct option *at = options;
    while (at->name && at->val != o) at++;
    return at->name ? at->name : "?";
}

/* What the option takes, for the message of a wrong value. */
static const char *wanted(int o) {
    switch (o) {
    case OPT_OPT: return "a number from 1 to 3 is wanted";
    case OPT_THREADS: return "a number from 1 to 1024 is wanted";
    case OPT_ROUNDS: return "a number from 1 to 1000000 is wanted";
    case OPT_SPANS: return "a number from 1 to 1073741824 is wanted";
    case OPT_SIZE: return "NAME=EXTENTS is wanted, once a buffer";
    case OPT_DUMP: return "NAME=FILE is wanted, once a Func";
    case OPT_PROFILE: return "nothing or tsv is wanted";
    case OPT_TRACE: return "a file is wanted";
    default: return "it is given too often";
    }
}

static bool takes(const Command *c, int o) {
    if (o == 'h') return true;
    if (o == 's' || (o >= OPT_TARGET && o <= OPT_NO_CACHE)) return c->run != cmd_info;
    for (int i = 0; i < MOST_OWN; i++)
        if (c->own[i] == o) return true;
    return false;
}

/* An option of other commands: which? */
static void complain_of_other(const Command *c, int o) {
    char of[80] = "";
    for (int i = 0; i < COMMANDS; i++)
        if (takes(&commands[i], o)) snprintf(of + strlen(of), sizeof of - strlen(of), "%s%s", *of ? ", " : "", commands[i].name);
    complain("%s takes no --%s, an option of %s", c->name, name_of(o), of);
}

/* What getopt does not know ('?') or finds without its value (':'). */
static void complain_of_word(const Command *c, int why, char **argv) {
    enum { OPTIONS = sizeof options / sizeof *options - 1 };
    const char *names[OPTIONS], *word = argv[optind - 1];
    char near[MEANT];
    int n = 0;
    for (int i = 0; i < OPTIONS; i++)
        if (takes(c, options[i].val)) names[n++] = options[i].name;
    if (why == ':') complain("%s takes a value; write one behind it", word);
    else if (optopt > 255) complain("--%s takes no value", name_of(optopt));
    else if (optopt) complain("there is no option -%c; `mlc help %s` lists them", optopt, c->name);
    else complain("there is no option %s%s; `mlc help %s` lists them", word, meant(word + 2, names, n, near), c->name);
}

/* NAME=VALUE or the program. */
static bool take_word(Args *a, const Command *c, char *word) {
    if (c->run == cmd_info) return complain("info takes no program") == EXIT_GOOD;
    if (!strchr(word, '=') && !a->file) return (a->file = word) != NULL;
    if (strchr(word, '=') && !c->pairs) return complain("%s takes no NAME=VALUE such as %s; run and bench do", c->name, word) == EXIT_GOOD;
    bool pair = strchr(word, '=') != NULL;
    if (add_pair(a->pair, &a->n_pairs, word)) return true;
    if (pair && !strchr(word, '=')) complain("%s= is given twice; give it once", word);
    else complain("'%s' is no NAME=VALUE", word);
    return false;
}

/* A wrong line is answered by what is wrong with it: the usage would bury that. */
static int parse(Args *a, const Command *c, int argc, char **argv) {
    int o;
    opterr = 0;
    while ((o = getopt_long(argc, argv, ":s:o:h", options, NULL)) != -1) {
        if (o == 'h') return usage(stdout, c);
        if (o == '?' || o == ':') complain_of_word(c, o, argv);
        else if (!takes(c, o)) complain_of_other(c, o);
        else if (o == 's' && a->n_schedules && !c->plans) complain("%s takes one --schedule; check and bench take several", c->name);
        else if (take(a, o)) continue;
        else complain("--%s %s: %s", name_of(o), optarg ? optarg : "", wanted(o));
        return EXIT_USAGE;
    }
    for (; optind < argc; optind++)
        if (!take_word(a, c, argv[optind])) return EXIT_USAGE;
    if (c->run != cmd_info && !a->file) {
        complain("a program is wanted: mlc %s", c->usage);
        return EXIT_USAGE;
    }
    return c->run(a);
}

int main(int argc, char **argv) {
    Args a = { .rounds = 20 };
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) return usage(stderr, NULL);
    if (!strcmp(name, "--version")) return printf("mlc %s\n", mlc_version()) < 0;
    bool help = !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h");
    if (help && argc < 3) return usage(stdout, NULL);
    const Command *c = find(help ? argv[2] : name);
    if (!c) return EXIT_USAGE;
    return help ? usage(stdout, c) : parse(&a, c, argc - 1, argv + 1);
}
