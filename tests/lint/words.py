"""No notes to self, no trailing white space, no path of the machine that somebody worked on."""

import re
import sys

from sources import ROOT, close, every_file

# put together here so that this file does not find itself
NOTES = re.compile(r"\b(%s)\b" % "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")))
PATHS = re.compile("|".join(("/wo" + "rk/", r"\.\./sha" + "red", "/ro" + "ot/", "/home/" + r"\w")))
BINARY = (".avro", ".parquet", ".gz", ".png", ".bin", ".jar", ".http")
# what tests feed to the server is kept to the byte
DATA = ("tests/data/", "tests/fuzz/corpus/", "tests/fuzz/regression/")


def main():
    problems = []
    for path in every_file():
        name = path.as_posix()
        if path.suffix in BINARY or name.startswith(DATA):
            continue
        try:
            text = (ROOT / path).read_bytes().decode()
        except UnicodeDecodeError:
            problems.append(f"{name}: not UTF-8")
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for what, bad in (("a note", NOTES.search(line)), ("a path of some machine", PATHS.search(line)),
                              ("white space at the end", re.search(r"[ \t\r]$", line))):
                if bad:
                    problems.append(f"{name}:{number}: {what}: {bad.group(0).strip()}")
        if text and not text.endswith("\n"):
            problems.append(f"{name}: no end of line at the end")
    return close("words", problems)


if __name__ == "__main__":
    sys.exit(main())
