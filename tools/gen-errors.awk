# gen-errors.awk - writes docs/errors.md from src/base/errors.def:
#     awk -f tools/gen-errors.awk src/base/errors.def > docs/errors.md
BEGIN {
    print "# Errors\n"
    print "Generated from `src/base/errors.def` by `tools/gen-errors.awk`; edit the table, not this page.\n"
    print "A message is the place in the user's file, the object, the directive where there is one, then a row below: the fact and, behind"
    print "the semicolon, a remedy. `%s`, `%d`, `%lld` stand for names and numbers. `mlc_error_code` gives the row's number and"
    print "`mlc_error_name` its name."
}
/^ \*|^\/\* errors.def/ { next }
/^\/\* .* \*\/$/ {
    heading = substr($0, 4, length($0) - 6)
    print "\n## " toupper(substr(heading, 1, 1)) substr(heading, 2) "\n\n| name | message |\n|---|---|"
    next
}
/^ERR\(/ {
    if (!heading) { heading = 1; print "\n| name | message |\n|---|---|" }
    name = $0; sub(/^ERR\(/, "", name); sub(/,.*/, "", name)
    text = $0; sub(/^[^"]*"/, "", text); sub(/"\)[^"]*$/, "", text)
    gsub(/\\"/, "\"", text); gsub(/\\\\/, "\\", text); gsub(/\|/, "\\|", text)
    print "| `" name "` | `` " text " `` |"
}
