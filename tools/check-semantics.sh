#!/bin/sh
# check-semantics.sh - every rule of docs/semantics.md names tests, and every test that it names exists.
# A rule is a list item that starts with bold text; its tests follow "Test:" as `names`.
cd "$(dirname "$0")/.." || exit 2
cat tests/*/*.c | awk '
    FNR == NR {
        if (match($0, /START_TEST\([A-Za-z0-9_]+\)/)) known[substr($0, RSTART + 11, RLENGTH - 12)] = 1
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
    /^- \*\*/ { finish(); rule = $0; text = ""; line = FNR }
    /^$|^#/ { finish() }
    rule != "" { text = text " " $0 }
    END { finish(); if (!bad) print "semantics: " rules " rules, each with tests that exist"; exit bad }
' - docs/semantics.md
