"""The files that the lints look at."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("server/base", "openapi", "sql", "storage", "catalog", "server")
_SKIPPED = re.compile(r"^(\.git|\.cache|build[^/]*)(/|$)|__pycache__|\.pytest_cache")


def every_file(suffixes=None):
    """Paths relative to the checkout, sorted; without build folders, caches and git's own."""
    found = []
    stack = [ROOT]
    while stack:
        for path in stack.pop().iterdir():
            name = path.relative_to(ROOT).as_posix()
            if _SKIPPED.search(name) or path.is_symlink():
                continue
            if path.is_dir():
                stack.append(path)
            elif suffixes is None or path.suffix in suffixes:
                found.append(path.relative_to(ROOT))
    return sorted(found)


def folder_of(path):
    """The folder of the house that a source belongs to; None for tests and others."""
    name = path.as_posix()
    return next((f for f in FOLDERS if name.startswith(f + "/")), None)


def c_sources():
    return [p for p in every_file((".c", ".h")) if folder_of(p)]


def generated(path):
    return ".gen." in path.name


def without_text(source):
    """C source with comments and the insides of literals blanked out, line numbers kept."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''

    def blank(found):
        text = found.group(0)
        if text[0] in "\"'":
            return text[0] + " " * (len(text) - 2) + text[0]
        return re.sub(r"[^\n]", " ", text)

    return re.sub(pattern, blank, source, flags=re.S)


def close(name, problems):
    """Prints what was found; the exit code of the lint."""
    for problem in problems:
        print(problem)
    print(f"{name}: {len(problems)} problems" if problems else f"{name}: ok")
    return 1 if problems else 0
