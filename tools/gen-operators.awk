# gen-operators.awk - writes docs/operators.md from the tables of operators:
#     awk -f tools/gen-operators.awk src/ir/derived.def include/mlc/ops.def > docs/operators.md
BEGIN {
    print "# Operators\n"
    print "Generated from `include/mlc/ops.def` and `src/ir/derived.def` by `tools/gen-operators.awk`; edit the tables, not this page.\n"
    print "An operator is written in text as its sign or as a function, `min(a, b)`, and in C as a macro, `mlc_min(a, b)`; `mlc_nary(MLC_OP_MIN,"
    print "...)` is what the macro stands for. Where a meaning is given, it is an expression of the operands a, b, c, of their type T"
    print "(`docs/language.md` has the grammar; `MIN`, `MAX` are T's ends, `W` is T twice as wide, `U` and `S` are T unsigned and signed,"
    print "`BITS` is its width), and that expression is the definition. Without one the operator is primitive (`docs/semantics.md`), or its"
    print "polynomial is in `docs/math.md`.\n"
    rule["NUM"] = "numbers"; rule["ANY"] = "any"; rule["INT"] = "integers"; rule["BITS"] = "integers, bool"
    rule["FLT"] = "floats"; rule["SHIFT"] = "integers; the left's type"; rule["CMP"] = "any; gives bool"
    rule["LOGIC"] = "bool"; rule["SEL"] = "bool, then any"; rule["ISF"] = "a float; gives bool"; rule["CAST"] = "any"
    rule["SAME"] = "any"; rule["WIDE"] = "integers; twice as wide"; rule["WIDER"] = "integers, the left twice as wide"
    rule["UNS"] = "integers; unsigned"; rule["OWN"] = "its own rule"
}
function strings(line) { return split(line, part, "\"") }
/^DERIVED\(/ { row = "" } # a body may be several strings
FILENAME ~ /derived/ && (/^DERIVED\(/ || row != "") {
    row = row " " $0
    if ($0 !~ /"\)/) next
    split(row, word, /[(,] */)
    op = word[2]; class = word[3]; body = ""
    n = strings(row)
    for (i = 2; i <= n; i += 2) body = body part[i]
    row = ""
    gsub(/\|/, "\\|", body)
    meaning[op] = meaning[op] (meaning[op] ? "; " : "") (class == "ANY" ? "" : class ": ") "`" body "`"
    next
}
FILENAME ~ /derived/ { next }
/^\/\* .*\*\/$/ && !/^\/\* leaves/ {
    text = substr($0, 4); sub(/ \*\/$/, "", text)
    heading = toupper(substr(text, 1, 1)) substr(text, 2)
    print "\n## " heading "\n\n| text | operands | types | meaning |\n|---|---|---|---|"
    next
}
/^OP\(/ && heading {
    op = $1; gsub(/OP\(|,/, "", op)
    strings($0); sign = part[2]; gsub(/\|/, "\\|", sign)
    split(part[3], field, /[,)] */)
    note = ""
    if (match($0, /\/\* .* \*\//)) note = substr($0, RSTART + 3, RLENGTH - 6)
    if (note ~ /^(PRIM|canonical)/) note = ""
    gsub(/\|/, "\\|", note)
    text = meaning[op]
    if (note) text = text (text ? "; " : "") note
    print "| `" sign "` | " (field[2] < 0 ? "any" : field[2]) " | " rule[field[4]] " | " text " |"
}
