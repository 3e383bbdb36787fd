#!/bin/sh
# check-kernels.sh BUILD [all] - the kernels of bench/gpu compile to cubins without a GPU: for sm_90a, and each day a tenth of the
# texts (with `all` each) for sm_80 and sm_100a too.  `mlc check` also reads what ptxas says of them.
build=$1
cd "$(dirname "$0")/.." || exit 2
case $("$build/mlc" info) in
*"
nvrtc	no: "*) echo "  skipped: kernels of bench/gpu were not compiled: there is no NVRTC" && exit 0 ;;
esac
day=$(($(date +%s) / 86400))
i=0
for f in bench/gpu/*.mlc; do
    echo "sm_90a $f"
    i=$((i + 1))
    [ "${2:-}" = all ] || [ $(((i + day) % 10)) = 0 ] && printf 'sm_80 %s\nsm_100a %s\n' "$f" "$f"
done | xargs -P2 -L1 sh -c 'out=$("$0" check --target "cuda-$1" "$2" 2>&1) || { echo "$1 $2: $out"; exit 1; }' "$build/mlc"
