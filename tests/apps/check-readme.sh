#!/bin/sh
# check-readme.sh BUILD CC - the README's first C program compiles and runs as it says; its text is the same
# program, and its plan holds.
set -eu
build=$1 cc=$2 dir=$1/readme
mkdir -p "$dir"
block() { # the first block of a language
    awk -v open="\`\`\`$1" '$0 == "```" && on { exit } on { print } $0 == open { on = 1 }' README.md
}
block c > "$dir/soft.c"
block mlc > "$dir/soft.mlc"
# shellcheck disable=SC2086 # CC may be several words
$cc -std=c11 -Wall -Wextra -Iinclude "$dir/soft.c" "$build/libmlc.a" -lffi -lxxhash -ldl -lpthread -lm -o "$dir/soft"
"$dir/soft"
"$build/mlc" check "$dir/soft.mlc" > "$dir/check"
"$build/mlc" bench "$dir/soft.mlc" --rounds 1 --size in=642,482 --schedule none --schedule strips > "$dir/bench"
awk -F '\t' 'NR > 1 && $4 == "-" { exit 1 }' "$dir/bench" # a plan that was refused
"$build/mlc" emit "$dir/soft.mlc" --schedule strips -o "$dir/emitted" --object
if nm "$dir/emitted.o" | grep -i 'U mlc'; then exit 1; fi
