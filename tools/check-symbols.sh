#!/bin/sh
# The shared library exports mlc_* and nothing else.
set -eu
others=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | grep -v '^mlc_' || true)
[ -z "$others" ] && exit 0
echo "$1 exports names that are not mlc_*:" "$others"
exit 1
