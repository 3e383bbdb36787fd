#!/bin/sh
# search.sh [TRIALS [SEED]] - random search for a plan of blur.mlc, over the command line tool alone.
# Draws tile sizes, vector widths and placements, times each beside the best so far in one process, and
# prints the best plan as text that a program can hold.  MLC names the tool, SIZE the picture.
set -eu
trials=${1:-40} seed=${2:-$(date +%s)}
mlc=${MLC:-build/mlc} size=${SIZE:-1538,1026}
program=$(dirname "$0")/blur.mlc
best="rows: compute_root()"
echo "seed $seed, $trials trials, input $size" >&2

# One plan a line.
draw() {
    awk -v n="$trials" -v seed="$seed" '
        function pick(list,    v) { return v[1 + int(rand() * split(list, v, " "))] }
        BEGIN {
            srand(seed)
            for (i = 0; i < n; i++) {
                w = pick("8 16 32 64"); y = pick("4 8 16 32 64 128"); x = pick("64 128 256 512")
                root = "out: split(y, yo, yi, " y "), vectorize(x, " w "), parallel(yo)"
                tile = "out: tile(x, y, xo, yo, xi, yi, " x ", " y "), vectorize(xi, " w "), parallel(yo)"
                rows = ", vectorize(x, " pick("8 16 32 64") ")"
                print pick("1 2 3 4 5") == 1 ? pick("1 2") == 1 ? root : tile : \
                      pick("1 2 3 4") == 1 ? root "; rows: compute_root()" rows ", parallel(y, " y ")" : \
                      pick("1 2 3") == 1 ? tile "; rows: compute_at(out, xo)" rows : \
                      pick("1 2") == 1 ? tile "; rows: store_at(out, xo), compute_at(out, yi)" rows : \
                      root "; rows: store_at(out, yo), compute_at(out, yi)" rows
            }
        }'
}

# Two lines of microseconds: the best plan, the new one ("-" where a plan is refused).
measure() {
    "$mlc" bench "$program" --rounds 30 --size "in=$size" --schedule "$best" --schedule "$1" | cut -f 5 | tail -n 2
}

i=0
draw > "${TMPDIR:-/tmp}/search.$$"
trap 'rm -f "${TMPDIR:-/tmp}/search.$$"' EXIT
while IFS= read -r plan; do
    i=$((i + 1))
    t=$(measure "$plan") || { echo "$i/$trials refused: $plan" >&2; continue; }
    verdict=$(printf '%s\n' "$t" | paste -s -d ' ' - | awk '{ print $2 != "-" && $2 + 0 < $1 + 0 ? "better" : "worse", $2, $1 }')
    case $verdict in better*) best=$plan ;; esac
    echo "$i/$trials $verdict us: $plan" >&2
done < "${TMPDIR:-/tmp}/search.$$"
printf 'plan best {\n    %s;\n}\n' "$(printf '%s' "$best" | sed 's/; /;\n    /g')"
