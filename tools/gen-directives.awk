# gen-directives.awk - writes docs/directives.md from src/schedule/directives.def:
#     awk -f tools/gen-directives.awk src/schedule/directives.def > docs/directives.md
BEGIN {
    print "# Directives\n"
    print "Generated from `src/schedule/directives.def` by `tools/gen-directives.awk`; edit the table, not this page.\n"
    print "A plan is an ordered list of lines, each a stage and its directives: `by: tile(x, y, xo, yo, xi, yi, 32, 8), vectorize(xi, 8);`."
    print "A stage is `C` (the pure definition) or `C.u0`, `C.u1` ... (updates); where a consumer is named, `C` is any of its stages and"
    print "`C.pure` the pure one. Loops are named by Vars and RVars. In C each is a macro of the same name with `mlc_` in front (or none, with"
    print "`<mlc/short.h>`): `mlc_schedule(by, mlc_vectorize(xi, 8))`; tails are `MLC_TAIL_GUARD` ...\n"
    print "| directive | example | what it does |"
    print "|---|---|---|"
}
/^ \*|^\/\*/ { next } # the head comment
/^(DIRECTIVE|TAIL|MEMORY|COPY|WAY|FETCH)\(/ { row = "" }
{
    row = row $0
    if ($0 !~ /\)$/) next
    gsub(/\\"/, "\001", row) # a quote inside of a text
    split(row, head, /[(,] */)
    if (split(row, text, "\"") < 2) next
    gsub(/\001/, "\"", text[4])
    if (row ~ /^DIRECTIVE/) printf "| `%s` | `%s` | %s |\n", head[3], text[4], text[6]
    if (row ~ /^TAIL/) {
        if (!tails++) print "\n| `.tail =` | what happens where the extent is no multiple of the factor |\n|---|---|"
        printf "| `%s` | %s |\n", head[3], text[2]
    }
    if (row ~ /^MEMORY/) {
        if (!memories++) print "\n| `store_in(..)` | where the values are kept |\n|---|---|"
        printf "| `%s` | %s |\n", head[3], text[2]
    }
    if (row ~ /^COPY/) {
        if (!copies++) print "\n| `copy_by(..)` | how a copy gets its values |\n|---|---|"
        printf "| `%s` | %s |\n", head[3], text[2]
    }
    if (row ~ /^WAY/) {
        if (!ways++) print "\n| `.way =` | which way the window of a folded dimension moves |\n|---|---|"
        printf "| `%s` | %s |\n", head[3], text[2]
    }
    if (row ~ /^FETCH/) {
        if (!fetches++) print "\n| `.bounds =` | what a prefetch does where the region ahead is not all in memory |\n|---|---|"
        printf "| `%s` | %s |\n", head[3], text[2]
    }
    row = ""
}
