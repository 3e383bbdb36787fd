#!/bin/sh
# gpu-check.sh - `make gpu-check`: kernels on the GPU that is here, plain and under the four tools of compute-sanitizer.
#
#     gpu-check.sh BUILD [FILE.mlc ...]      texts; without any those of tests/behaviours/gpu
#
# The texts are small and run in one process a tool, whose time is bounded (SECONDS_EACH, 150).  The last lines are a table: a tool,
# how many reports it made, and what it says; the first reports of each kind stand above.  Fails where a tool reports anything.
cd "$(dirname "$0")/.." || exit 2
build=$1
shift
"$build/gpu_probe" || exit 1
case $("$build/mlc" info) in
*"
gpu 0"*) ;;
*) echo "gpu-check: skipped, there is no GPU" && exit 0 ;;
esac
[ $# -gt 0 ] || set -- tests/behaviours/gpu/*.mlc
bound=${SECONDS_EACH:-150}
"$build/text_cases" -g "$@" || exit 1
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer 2>/dev/null | head -1)
if [ -z "$sanitizer" ]; then
    echo "gpu-check: skipped the tools: there is no compute-sanitizer in PATH or /usr/local/cuda"
    exit 0
fi
bad=0
table=
for tool in memcheck racecheck initcheck synccheck; do
    log=$build/gpu-check.$tool
    # Errors of calls are no reports: the library looks at each, and asks of host memory whether the driver knows it.
    [ "$tool" = memcheck ] && calls="--report-api-errors no" || calls=
    timeout "$bound" "$sanitizer" --tool "$tool" $calls --print-limit 200 "$build/text_cases" -g "$@" > "$log" 2>&1
    rc=$?
    # A report begins with its kind; lines behind it are indented, and say which kernel.
    reports=$(sed -n 's/^========= ERROR SUMMARY: \([0-9]*\) .*/\1/p; s/^========= RACECHECK SUMMARY: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    awk -v tool="$tool" '
        /^=========     at |^=========     by thread/ { if (shown && ++lines < 4) print "    " $0; next }
        /^========= [A-Z]/ && !/COMPUTE-SANITIZER|SUMMARY|Target application/ {
            kind = $0; gsub(/0x[0-9a-f]+|[0-9]+/, "N", kind)
            shown = ++n[kind] <= 2; lines = 0
            if (shown) print tool ": " $0
        }' "$log"
    [ $rc = 124 ] && what="stopped after $bound s" || what="exit $rc"
    table="$table$tool	${reports:-?} reports	$what	$log
"
    [ "${reports:-1}" = 0 ] && [ $rc = 0 ] || bad=1
done
printf '%s' "$table"
exit $bad
