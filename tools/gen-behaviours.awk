# gen-behaviours.awk - fills what docs/halide-to-mlc.md says of tests.  Behind the line `<!-- behaviours -->` stands a row for each
# test of Halide, from halide_behaviours.txt and halide_errors.txt, and a row for each text of tests/behaviours, with its second line.
#     awk -f tools/gen-behaviours.awk docs/halide-to-mlc.md tests/behaviours/halide_*.txt tests/behaviours/*/*.mlc > new
# It fails where a row names a text or a test that is not there.
function trim(s) {
    gsub(/^ +| +$/, "", s)
    return s
}
function missing(what) {
    print FILENAME ": there is no " what > "/dev/stderr"
    bad = 1
}
# A test in C as a link to its file, a text as one to itself.
function link(where,   part, n, line, found, file) {
    n = split(where, part, ":")
    file = n == 2 ? part[1] : "tests/behaviours/" where ".mlc"
    while ((getline line < file) > 0) found = found || n != 2 || index(line, "START_TEST(" part[2] ")")
    close(file)
    if (!found) missing(where)
    return "[" (n == 2 ? part[2] : where) "](../" file ")"
}
FILENAME ~ /\.md$/ {
    if (!done) print
    if (/^<!-- behaviours -->$/) done = 1
    next
}
FILENAME ~ /\.txt$/ {
    if (FNR == 1 && FILENAME ~ /errors/) {
        print "\n### Error tests of Halide\n\nEach of its names beside the test that compares the whole message here, or the reason why there is none."
    } else if (FNR == 1) {
        print "\n### Tests of Halide\n\nEach of its names beside the tests that show the same here; where mlc differs, or has none, the row says why."
    }
    if (/^## /) printf "\n| %s | here | |\n|---|---|---|\n", substr($0, 4)
    if (/^#/ || !NF) next
    if (split($0, cell, "|") != 3) missing("third column: " $0)
    n = split(trim(cell[2]), where, /, */)
    links = ""
    for (i = 1; i <= n; i++) links = links (i > 1 ? ", " : "") (where[i] == "-" ? "-" : link(where[i]))
    printf "| %s | %s | %s |\n", trim(cell[1]), links, trim(cell[3])
    next
}
FNR == 1 {
    n = split(FILENAME, part, "/")
    theme = part[n - 1]
    if (theme != last) printf "\n### %s\n\n| behaviour | what it shows |\n|---|---|\n", theme
    last = theme
}
FNR == 2 {
    name = part[n]; sub(/\.mlc$/, "", name)
    sub(/^\/\/: /, "")
    gsub(/\|/, "\\|")
    printf "| [%s](../%s) | %s |\n", name, FILENAME, $0
}
END { exit bad }
