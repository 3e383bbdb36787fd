# gen-errors.awk - docs/errors.md from src/base/errors.def: `awk -f tools/gen-errors.awk src/base/errors.def`.
# Comments that stand before rows become headings.
BEGIN {
    print "# Errors"
    print ""
    print "Generated from `src/base/errors.def` by `tools/gen-errors.awk`. A message reads `file:line: object: directive: fact; remedy`;"
    print "the parts before the fact are left out where they do not apply. `mlc_error_name(code)` gives the name of a row. In the"
    print "texts below `%s` and `%d` stand for names and numbers."
    heading = "Any call"
}
/^\/\* .* \*\/$/ { heading = substr($0, 4, length($0) - 6); heading = toupper(substr(heading, 1, 1)) substr(heading, 2); next }
/^ERR\(/ {
    name = $0
    sub(/^ERR\(/, "", name); sub(/,.*/, "", name)
    text = $0
    sub(/^[^"]*"/, "", text); sub(/"\)[ \t]*$/, "", text)
    gsub(/%l?l?z?[dux]/, "%d", text); gsub(/%[sg]/, "%s", text); gsub(/\\"/, "\"", text); gsub(/\\\\/, "\\", text)
    gsub(/\|/, "\\|", text)
    if (heading != shown) { print ""; print "## " heading; print ""; print "| row | message |"; print "|---|---|"; shown = heading }
    print "| `" name "` | " text " |"
}
