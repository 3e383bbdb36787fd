# check-layers.awk - a file includes its own folder, include/mlc/ and lower floors.
# Prints each include that does not, and fails.
BEGIN {
    floor["base"] = 0; floor["ir"] = 1; floor["simplify"] = 2; floor["algorithm"] = 3
    floor["schedule"] = 4; floor["lower"] = 5; floor["codegen"] = 6; floor["jit"] = 7
    floor["nvrtc"] = 7; floor["pipeline"] = 8
}
FNR == 1 {
    n = split(FILENAME, part, "/")
    top = part[1]; own = n > 2 ? part[2] : ""
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, q, "\"")
    m = split(q[2], to, "/")
    if (m == 1) next                       # own folder
    if (top != "src") { complain("sees only <mlc/...> and its own folder"); next }
    if (to[1] == own) next
    if (own == "runtime") { if (to[1] != "base") complain("the runtime sees only base"); next }
    if (to[1] == "runtime") { if (floor[own] < 7) complain("only jit and pipeline use the runtime's insides"); next }
    if (!(to[1] in floor)) { complain("no floor of that name"); next }
    if (floor[to[1]] >= floor[own]) complain("floor " floor[own] " does not see floor " floor[to[1]])
}
/^[ \t]*#[ \t]*include[ \t]*</ && top != "src" && /<(base|ir|simplify|algorithm|schedule|lower|codegen|jit|runtime|pipeline)\// {
    complain("sees only <mlc/...>")
}
function complain(why) { print FILENAME ":" FNR ": " $0 ": " why; bad = 1 }
END { exit bad }
