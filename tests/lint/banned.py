"""Finds calls of the functions listed in banned.txt."""

import pathlib
import re
import sys

from sources import ROOT, c_sources, close, without_text


def rules():
    for line in (pathlib.Path(__file__).parent / "banned.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, places = line.partition(":")
            yield name.strip(), places.split()


def main():
    banned = dict(rules())
    call = re.compile(r"(?<![\w.>])(%s|assert)\s*\(\s*(0\s*\))?" % "|".join(banned))
    problems = []
    for path in c_sources():
        name = path.as_posix()
        for number, line in enumerate(without_text((ROOT / path).read_text()).splitlines(), 1):
            for function, zero in call.findall(line):
                if function == "assert":
                    if zero:
                        problems.append(f"{name}:{number}: assert(0)")
                elif not any(name == place or name.startswith(place + "/") for place in banned[function]):
                    problems.append(f"{name}:{number}: {function}")
    return close("banned", problems)


if __name__ == "__main__":
    sys.exit(main())
