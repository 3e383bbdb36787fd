#!/bin/sh
# check-errors.sh - every row of errors.def stands whole in some test: a test that compares its message.
#
# A row is found where the literal pieces of its text (what is left of the conversions %s, %d ...) occur one
# after the other, within one string of a test or in a behaviour.  `-v` also says which files.  Two rows need no test: AT only
# carries the text of another row, and CLOSURE needs a system that refuses executable memory.
cd "$(dirname "$0")/.." || exit 2
awk -f tools/gen-errors.awk src/base/errors.def | cmp -s - docs/errors.md || {
    echo "docs/errors.md is not what errors.def says: awk -f tools/gen-errors.awk src/base/errors.def > docs/errors.md"
    exit 1
}
awk -v verbose="${1:-}" '
    # A row: its name, and its text without the C quoting.
    FNR == NR {
        if (match($0, /^ERR\([A-Z0-9_]+, "/)) {
            name[++rows] = substr($0, 5, RLENGTH - 7)
            text = substr($0, RLENGTH + 1)
            sub(/"\).*$/, "", text)
            n = split(text, part, /%l?l?z?[sduxg]/)
            pieces[rows] = n
            for (i = 1; i <= n; i++) piece[rows, i] = part[i]
            longest[rows] = ""
            for (i = 1; i <= n; i++) if (length(part[i]) > length(longest[rows])) longest[rows] = part[i]
        }
        next
    }
    # A test: the whole file as one text, strings that C would join joined.
    FNR == 1 { if (file != "") look(); file = FILENAME; all = "" }
    { all = all $0 "\n" }
    function look(   i) {
        gsub(/"[ \t]*\n[ \t]*"/, "", all)
        gsub(/\n[ \t]*/, " ", all)
        for (i = 1; i <= rows; i++) if (!(i in where) && stands(i)) where[i] = file
    }
    # The pieces in order after some place where the first one is; each gap is what a conversion printed.
    function stands(i,   rest, at) {
        rest = all
        while ((at = index(rest, longest[i]))) {
            if (around(i, rest, at)) return 1
            rest = substr(rest, at + 1)
        }
        return 0
    }
    function around(i, rest, at,   k, from, text, p) {
        from = at > 600 ? at - 600 : 1
        text = substr(rest, from, 1400)
        p = 1
        for (k = 1; k <= pieces[i]; k++) {
            if (piece[i, k] == "") continue
            at = index(substr(text, p), piece[i, k])
            if (!at) return 0
            p += at - 1 + length(piece[i, k])
        }
        return 1
    }
    END {
        look()
        for (i = 1; i <= rows; i++) {
            if (name[i] == "AT" || name[i] == "CLOSURE") continue
            if (!(i in where)) { print "errors.def: no test compares the message of " name[i]; bad++ }
            else if (verbose == "-v") print name[i] "\t" where[i]
        }
        if (!bad) print "errors: " rows " rows, each with a test"
        exit bad > 0
    }
' src/base/errors.def tests/*/*.[ch] tests/behaviours/*/*.mlc
