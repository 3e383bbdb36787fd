#!/bin/sh
# Lines by folder.
set -eu
for d in include/mlc src/* tools tests apps tutorials fuzz bench docs; do
    [ -d "$d" ] || continue
    find "$d" -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.awk' -o -name '*.md' -o -name '*.mlc' \) \
        -exec cat {} + | wc -l | awk -v d="$d" '{ printf "%7d  %s\n", $1, d; }'
done | awk '{ sum += $1; print } END { printf "%7d  total\n", sum }'
