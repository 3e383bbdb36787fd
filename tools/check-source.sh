#!/bin/sh
# check-source.sh CC FLAGS - headers stand alone, no file is too long, nothing aborts, both compilers
# are silent.  Prints what it finds and fails.
set -eu
cc=$1 flags=$2 bad=0
say() { echo "$*"; bad=1; }

# Public headers alone, as C and as C++; private ones as C.
for h in include/mlc.h include/mlc/*.h; do
    [ -e "$h" ] || continue
    name=${h#include/}
    printf '#include <%s>\n' "$name" | $cc -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -x c -fsyntax-only - ||
        say "$h does not stand alone"
    command -v g++ >/dev/null 2>&1 || continue
    if [ "$name" = mlc/short.h ]; then # stands on _Generic, which is C's alone, and says so first
        printf '#include <%s>\n' "$name" | g++ -Iinclude -x c++ -fsyntax-only - 2>&1 | grep -m1 error: |
            grep -q 'mlc/short.h is for C' || say "$h does not refuse C++"
    else
        printf '#include <%s>\n' "$name" | g++ -Wall -Wextra -Werror -Iinclude -x c++ -fsyntax-only - ||
            say "$h does not stand alone as C++"
    fi
done
for h in src/*/*.h; do
    printf '#include "%s"\n' "${h#src/}" |
        $cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -Isrc -x c -fsyntax-only - || say "$h does not stand alone"
done

# Sizes.
long=$(wc -l src/*/*.[ch] tools/*.c | awk '$2 != "total" && $1 > 1000 { print $2 ":" $1 }')
[ -z "$long" ] || say "over 1000 lines: $long"
wc -l src/*/*.[ch] | awk '$2 != "total" { print $1 }' | sort -n |
    awk '{ v[NR] = $1 } END { printf "%d files, median %d lines, longest %d\n", NR, v[int((NR + 1) / 2)], v[NR] }'

# Nothing aborts.  fault_jump's abort guards against an entry point without a barrier.
hits=$(grep -nE '\b(abort|exit|_Exit|assert) *\(|\bTODO\b|\bFIXME\b|\bXXX\b' src/*/*.[ch] | grep -vE '^src/base/fault.c:.*abort\(\)' || true)
[ -z "$hits" ] || say "$hits"

# Warnings of both compilers.
clean=$(echo "$flags" | sed 's/-MMD//; s/-MP//')
for c in gcc clang; do
    command -v $c >/dev/null 2>&1 || continue
    for f in src/*/*.c tools/*.c; do
        # shellcheck disable=SC2086 # flags are words
        $c $clean -Werror -fsyntax-only "$f" || say "$c: $f"
    done
done
exit $bad
