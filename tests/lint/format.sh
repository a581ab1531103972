#!/bin/sh
# clang-format in check mode. Generated files and headers that hold a list of X(...) rows are
# left out: the rows are aligned by hand.
set -eu
cd "$(dirname "$0")/../.."
files=$(find server openapi sql storage catalog tests -name '*.[ch]' ! -name '*.gen.*' | sort |
    while read -r file; do grep -qE '^#define [A-Z0-9_]+\(X\)' "$file" || echo "$file"; done)
# shellcheck disable=SC2086
if clang-format --dry-run -Werror $files; then
    echo "format: ok"
else
    echo "format: run clang-format -i on the files named above"
    exit 1
fi
