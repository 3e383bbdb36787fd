#!/bin/sh
# run.sh - do the tests notice?  Plants one bug at a time (NN-name.sed: the file, what is wrong, the edit) in a copy
# of the tree, and runs the suites and then the random schedules until one of them fails.
#
#     sh tests/mutations/run.sh BUILD [NN-name ...]
#
# A bug that nothing notices fails the run.  JOBS says how many compilers run at once.
set -u
build=$1
shift
here=$(dirname "$0")
tree=$build/mutations
topics="kernels cuda derive rfactor rules simplify property bounds build checks compute_at folding sliding async ring partition loop_interp loops specialize shared storage change_type stages behaviours"
jobs=${JOBS:-$(nproc)}
mkdir -p "$tree"
tree=$(cd "$tree" && pwd)
parts="Makefile src include tests fuzz tools apps"
# Only what differs is copied, under a new time: make builds just that again.
find $parts -type f | while read -r f; do
    cmp -s "$f" "$tree/$f" && continue
    mkdir -p "$tree/$(dirname "$f")"
    cp "$f" "$tree/$f"
done
(cd "$tree" && find $parts -type f) | while read -r f; do [ -e "$f" ] || rm "$tree/$f"; done

build_tree() {
    make -C "$tree" BUILD=b -j"$jobs" b/mlc_tests b/fuzz_schedules b/mlc > "$tree/log" 2>&1
}

# Sets `by` to what fails first, or to nothing.
judge() {
    by=
    out=$(cd "$tree" && MLC=b/mlc MLC_BUILD=b MLC_CACHE="$tree/cache" timeout 240 b/mlc_tests $topics 2>&1)
    status=$?
    if [ $status -ne 0 ]; then
        by=$(printf '%s\n' "$out" | sed -n 's|^tests/[^:]*:[0-9]*:[FE]:[^:]*:\([^:]*\):.*|\1|p' | sort -u | head -2 | tr '\n' ' ')
        [ -n "$by" ] || by="mlc_tests, status $status"
        return
    fi
    for how in "-q -n 240" "-n 120"; do
        if ! (cd "$tree" && timeout 240 b/fuzz_schedules -z $how -s 20000 > fuzz.log 2>&1); then
            by="fuzz_schedules $how"
            return
        fi
    done
}

if ! build_tree; then
    tail -5 "$tree/log"
    echo "mutations: the copy does not build"
    exit 1
fi
judge
if [ -n "$by" ]; then
    echo "mutations: without any mutation $by fails"
    exit 1
fi
[ $# -gt 0 ] || set -- $(cd "$here" && ls [0-9]*.sed | sed 's/\.sed$//')
printf '%-24s %-76s %s\n' mutation "what is wrong" "found by"
alive=0
for name in "$@"; do
    sed=$here/$name.sed
    file=$(sed -n '1s/^# //p' "$sed")
    what=$(sed -n '2s/^# //p' "$sed")
    cp -p "$tree/$file" "$tree/original"
    sed -f "$sed" "$tree/original" > "$tree/$file"
    if cmp -s "$tree/original" "$tree/$file"; then
        by="NOTHING: the edit no longer applies"
        alive=$((alive + 1))
    elif ! build_tree; then
        by="NOTHING: it does not build"
        alive=$((alive + 1))
    else
        judge
        [ -n "$by" ] || { by=NOTHING; alive=$((alive + 1)); }
    fi
    printf '%-24s %-76s %s\n' "$name" "$what" "$by"
    cp "$tree/original" "$tree/$file" # with a new time, so that it is built again
done
echo "mutations: $# planted, $alive not found"
[ $alive -eq 0 ]
