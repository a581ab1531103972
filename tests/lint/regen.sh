#!/bin/sh
# Generated files are what their sources say. env: PYTHON, one that has PyYAML
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-.cache/venv/bin/python}
bad=0
for generator in openapi/gen.py sql/gen.py; do
    "$python" -B "$generator" --check || { echo "$generator: run it and commit what it writes"; bad=1; }
done
[ $bad = 1 ] || echo "regen: ok"
exit $bad
