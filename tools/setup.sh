#!/bin/sh
# Installs through apt what the build needs and this machine lacks; says so first.
set -eu

need=""
have_header() { # header: does the compiler find it?
    printf '#include <%s>\n' "$1" | ${CC:-cc} -E -x c - >/dev/null 2>&1
}
want() { need="$need $1"; }

command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 || want gcc
have_header stdio.h || want libc6-dev
command -v pkg-config >/dev/null 2>&1 || want pkg-config
have_header ffi.h || want libffi-dev
have_header xxhash.h || want libxxhash-dev
have_header png.h || want libpng-dev
have_header check.h || want check
[ -n "$need" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "mlc needs what Debian calls:$need; install them and run make again" >&2
    exit 1
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
    as_root="sudo"
    command -v sudo >/dev/null 2>&1 || {
        echo "mlc needs:$need; as root run: apt-get install$need" >&2
        exit 1
    }
fi
echo "mlc needs packages that this machine lacks; installing with apt-get:$need"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of words
$as_root apt-get install -y --no-install-recommends $need >/dev/null 2>&1 || {
    $as_root apt-get update -q
    $as_root apt-get install -y --no-install-recommends $need
}
