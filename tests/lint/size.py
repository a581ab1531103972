"""Functions fit a screen, files can be read in one go."""

import re
import sys

from sources import ROOT, c_sources, close, generated

FUNCTION = 80
FILE = {".c": 700, ".h": 260}


def functions(lines):
    """(name, first line, length) of each function: braces in the first column frame its body."""
    begin, head = None, 0
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line.startswith("}") and begin:
            name = re.findall(r"(\w+)\(", " ".join(lines[head:begin - 1]))
            yield (name[0] if name else "?"), begin, number - begin - 1
            begin, head = None, number
        elif not line.strip() and begin is None:
            head = number


def main():
    problems = []
    for path in c_sources():
        lines = (ROOT / path).read_text().splitlines()
        if generated(path):
            continue
        if len(lines) > FILE[path.suffix]:
            problems.append(f"{path}: {len(lines)} lines, at most {FILE[path.suffix]}")
        for name, number, length in functions(lines):
            if length > FUNCTION:
                problems.append(f"{path}:{number}: {name} has {length} lines, at most {FUNCTION}")
    return close("size", problems)


if __name__ == "__main__":
    sys.exit(main())
