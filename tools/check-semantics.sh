#!/bin/sh
# check-semantics.sh - every rule of docs/semantics.md names tests, and every test that it names exists.
# A rule is a list item that starts with bold text; its tests follow "Test:" as `names`, and are START_TEST(name)
# or RULE(name) of tests/*/*.c.  A list item without bold text would be a rule without a name, and is refused.
cd "$(dirname "$0")/.." || exit 2
cat tests/*/*.c | awk '
    FNR == NR {
        if (match($0, /^(START_TEST|RULE)\([A-Za-z0-9_]+\)/)) {
            name = substr($0, RSTART, RLENGTH - 1)
            sub(/.*\(/, "", name)
            known[name] = 1
        }
        next
    }
    function finish(   n, i, part, found) {
        if (rule == "") return
        if (!sub(/.*Test: /, "", text)) { print "docs/semantics.md:" line ": no test for " rule; bad = 1 }
        else {
            n = split(text, part, "`")
            for (i = 2; i <= n; i += 2) {
                found++
                if (!(part[i] in known)) { print "docs/semantics.md:" line ": no test named " part[i]; bad = 1 }
            }
            if (!found) { print "docs/semantics.md:" line ": no test named for " rule; bad = 1 }
            rules++
        }
        rule = ""
    }
    /^- [^*]/ { print "docs/semantics.md:" FNR ": a rule without a bold name"; bad = 1 }
    /^- \*\*/ { finish(); rule = $0; text = ""; line = FNR }
    /^$|^#/ { finish() }
    rule != "" { text = text " " $0 }
    END { finish(); if (!bad) print "semantics: " rules " rules, each with tests that exist"; exit bad }
' - docs/semantics.md
