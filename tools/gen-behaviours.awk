# gen-behaviours.awk - fills the table of behaviours of docs/halide-to-mlc.md: behind the line
# `<!-- behaviours -->` stands a row for each text of tests/behaviours, with its second line.
#     awk -f tools/gen-behaviours.awk docs/halide-to-mlc.md tests/behaviours/*/*.mlc > new
FILENAME ~ /\.md$/ {
    if (!done) print
    if (/^<!-- behaviours -->$/) done = 1
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
