#!/bin/sh
# usage: tidy.sh FOLDER   clang-tidy on every source; FOLDER keeps the compile commands and
# remembers which files passed as they are now.
set -eu
cd "$(dirname "$0")/../.."
folder=${1:?folder}
mkdir -p "$folder/passed"
[ -f "$folder/build.ninja" ] || CC=clang meson setup "$folder" . >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
ninja -C "$folder" build.ninja >/dev/null

# a file's verdict holds as long as neither it, nor any header, nor the rules change
common=$(find server openapi sql storage catalog -name '*.h' | sort | xargs cat .clang-tidy - | sha256sum)
export folder common
find server openapi sql storage catalog -name '*.c' ! -name '*.gen.c' | sort |
    xargs -P 2 -I '{}' sh -c '
        key=$(echo "$common" | cat - "$1" | sha256sum | cut -c1-40)
        [ -e "$folder/passed/$key" ] && exit 0
        if out=$(clang-tidy -p "$folder" --quiet "$1" 2>&1); then : >"$folder/passed/$key"
        else printf "%s\n%s\n" "$1" "$out"; exit 1; fi' sh '{}' || { echo "tidy: problems"; exit 1; }
echo "tidy: ok"
