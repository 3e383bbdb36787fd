/* cli.h - what the commands of the mlc program share. */
#ifndef CLI_H
#define CLI_H

#include "file.h"

enum { EXIT_GOOD = 0, EXIT_FAIL = 1, EXIT_USAGE = 2, MOST = 32, MOST_OWN = 8, MEANT = 96 };

/* NAME=TEXT of the command line. */
typedef struct {
    const char *name, *text;
} Pair;

/* A command line, taken apart. */
typedef struct {
    const char *file;               /* the program */
    const char *schedule[MOST];     /* --schedule, as often as given */
    int n_schedules;
    Pair size[MOST], pair[MOST], dump[MOST]; /* --size NAME=.., NAME=.., --dump NAME=.. */
    int n_sizes, n_pairs, n_dumps;
    const char *level, *out, *name; /* --level, -o, --name */
    int rounds;
    bool object, openmp, time;
    bool profile, tsv;              /* --profile, --profile=tsv */
    const char *trace;              /* --trace-chrome */
    mlc_options options;
} Args;

/* A program read into a context. */
typedef struct {
    mlc_ctx *ctx;
    mlc_program *program;
    char said[512]; /* the last warning */
    mlc_func output[16];
    int n_outputs;
} Job;

typedef struct {
    const char *name, *usage, *help;
    int (*run)(Args *a);
    int own[MOST_OWN]; /* options that not every command takes */
    bool pairs, plans; /* takes NAME=VALUE, several --schedule */
} Command;

int cmd_run(Args *a);
int cmd_check(Args *a);
int cmd_explain(Args *a);
int cmd_emit(Args *a);
int cmd_bench(Args *a);
int cmd_info(Args *a);

/* " (did you mean 'N'?)", "" where no name is near. */
const char *meant(const char *word, const char *const *names, int n, char space[MEANT]);
/* Prints `mlc: ...` and returns EXIT_FAIL. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- job.c ---- */
bool job_open(Job *j, const Args *a);
void job_close(Job *j);
/* The plan that --schedule's text means: "none", a plan's name in the program, a file, or plan text; NULL text:
 * the program's plan `default`, else its first, else none.  NULL after an error. */
mlc_plan *job_plan(Job *j, const char *text);
bool job_params(Job *j, const Args *a); /* sets NAME=VALUE of every param */

/* ---- slots.c ---- */
/* Is every NAME of the command line one of the program, and does it mean something there?  The first module is the
 * program's, the others are those of --dump.  `random`: inputs without a file get random data of --size, and nothing is
 * written. */
bool names_known(const Job *j, const Args *a, int n, mlc_module *const *m, bool random);

/* The buffers of a module's slots: files, --size, random data. */
typedef struct {
    mlc_buffer *at[MOST];
    int n;
} Slots;
bool inputs_open(Slots *s, Job *j, const Args *a, const mlc_module *m, bool random);
bool outputs_open(Slots *s, Job *j, const Args *a, const mlc_module *m); /* behind inputs_open */
bool slots_write(const Slots *s, const Args *a, const mlc_module *m);
void slots_close(Slots *s);
void complain_of_run(const Slots *s, const mlc_module *m, const char *who, const mlc_error_info *e);

#endif
