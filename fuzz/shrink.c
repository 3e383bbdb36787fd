/* shrink.c - makes a failing text small: directives, lines, updates and parts of expressions are dropped one
 * at a time for as long as the same failure stays.
 *
 * It knows nothing of the language but commas, semicolons and parentheses; a text that no longer reads fails
 * in another way, so it is not taken. */
#include "shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 16, SECONDS_A_TRY = 40 };

/* The same words, numbers apart, are the same failure: an access outside of a buffer that becomes a wrong value on the way
 * is another one. */
static int digest(const char *what, const char *detail) {
    unsigned h = 2166136261u;
    for (const char *p = what; *p; p++) h = (h ^ (unsigned char)*p) * 16777619u;
    for (const char *p = detail; *p && *p != '('; p++)
        if ((*p < '0' || *p > '9') && *p != '-') h = (h ^ (unsigned char)*p) * 16777619u;
    return (int)(h % 200) + 1;
}

int shrink_try(const char *text, char *what, int size) {
    int fd[2];
    if (what) *what = 0;
    if (pipe(fd)) return 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        Case c;
        alarm(SECONDS_A_TRY);
        close(fd[0]);
        CaseState s = case_whole(&c, text, true);
        if (s == CASE_GOOD) case_run_public(&c);
        if (c.state != CASE_FAILED) _exit(0);
        char line[1400];
        int n = snprintf(line, sizeof line, "%s: %s", c.what, c.detail);
        if (write(fd[1], line, (size_t)(n < 1399 ? n : 1399)) < 0) _exit(255);
        _exit(digest(c.what, c.detail));
    }
    close(fd[1]);
    int n = 0, k;
    while (what && n < size - 1 && (k = (int)read(fd[0], what + n, (size_t)(size - 1 - n))) > 0) n += k;
    if (what) what[n] = 0;
    int status = 0;
    waitpid(pid, &status, 0); /* the child's own end of the pipe may close after its exit: nothing waits on it */
    close(fd[0]);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (what) snprintf(what, (size_t)size, "the process died of signal %d", WTERMSIG(status));
    return 1000 + WTERMSIG(status);
}

typedef struct {
    char *text;
    int outcome;
    time_t end;
    bool moved;
} Shrink;

/* Takes text[from, to) away, `with` in its place, if the failure stays. */
static bool replace(Shrink *s, size_t from, size_t to, const char *with) {
    static char trial[MOST];
    size_t n = strlen(s->text);
    if (from > to || to > n || time(NULL) > s->end || to - from <= strlen(with)) return false;
    int k = snprintf(trial, sizeof trial, "%.*s%s%s", (int)from, s->text, with, s->text + to);
    if (k < 0 || k >= MOST || shrink_try(trial, NULL, 0) != s->outcome) return false;
    memcpy(s->text, trial, (size_t)k + 1);
    s->moved = true;
    return true;
}

static void drop_lines(Shrink *s) {
    for (size_t at = 0; s->text[at];) {
        size_t n = strcspn(s->text + at, "\n") + 1;
        if (s->text[at + n - 1] == 0) n--;
        bool keep = !strncmp(s->text + at, "mlc 1", 5) || !strncmp(s->text + at, "//!", 3) || !strncmp(s->text + at, "plan", 4) || n < 3;
        if (keep || !replace(s, at, at + n, "")) at += n;
    }
}

/* Directives of a plan's line: what stands between commas outside of parentheses. */
static void drop_directives(Shrink *s) {
    const char *plan = strstr(s->text, "plan ");
    for (size_t at = plan ? (size_t)(plan - s->text) : strlen(s->text); s->text[at]; at++) {
        if (s->text[at] != ':' && s->text[at] != ',') continue;
        size_t from = at + 1, to = from;
        int depth = 0;
        for (; s->text[to] && !(depth == 0 && strchr(",;", s->text[to])); to++) depth += (s->text[to] == '(') - (s->text[to] == ')');
        if (s->text[at] == ':' && s->text[to] == ',' && replace(s, from, to + 1, "")) at--;
        else if (s->text[at] == ',' && replace(s, at, to, "")) at--;
        else at = to - 1;
    }
}

static size_t closing(const char *t, size_t open) {
    int depth = 0;
    for (size_t i = open; t[i] && t[i] != '\n'; i++) {
        depth += (t[i] == '(') - (t[i] == ')');
        if (!depth) return i;
    }
    return 0;
}

/* Each parenthesis of a definition: its content becomes 1, or one of its operands alone. */
static void simplify_parts(Shrink *s) {
    for (size_t at = 0; s->text[at]; at++) {
        if (!strncmp(s->text + at, "plan ", 5) || time(NULL) > s->end) return;
        if (s->text[at] != '(') continue;
        size_t end = closing(s->text, at);
        if (!end || replace(s, at + 1, end, "1")) continue;
        if (replace(s, at + 1, end, "x")) continue;
        size_t name = at;
        while (name && strchr("abcdefghijklmnopqrstuvwxyz_0123456789", s->text[name - 1])) name--;
        int depth = 0;
        for (size_t i = at, from = at + 1; i <= end; i++) { /* one operand for the whole call or sum */
            depth += (s->text[i] == '(') - (s->text[i] == ')');
            bool infix = depth == 1 && s->text[i] == ' ' && i > from && s->text[i - 1] != ',';
            if (!(i == end || infix || (depth == 1 && s->text[i] == ','))) continue;
            char part[8192];
            if (i > from && i - from < sizeof part) {
                snprintf(part, sizeof part, "%.*s", (int)(i - from), s->text + from);
                if (strchr(part, '(') || strlen(part) > 1) {
                    if (replace(s, name, end + 1, part)) {
                        at = name ? name - 1 : 0;
                        break;
                    }
                }
            }
            from = i + 1;
            if (infix) from += strcspn(s->text + i + 1, " ") + 1, i = from - 1;
            while (s->text[from] == ' ') from++;
        }
    }
}

void shrink_text(char *text, int outcome, int seconds) {
    Shrink s = { .text = text, .outcome = outcome, .end = time(NULL) + seconds, .moved = true };
    while (s.moved && time(NULL) <= s.end) {
        s.moved = false;
        drop_directives(&s);
        drop_lines(&s);
        simplify_parts(&s);
    }
}
