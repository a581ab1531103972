"""README's table of settings is the one of server/config.h.  settings.py [--write]"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(
    r'X\((\w+),\s*(\w+),\s*"(FIRN_\w+)",\s*"([^"]*)",\s*-?\d+,\s*-?\d+,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')


def table():
    text = (ROOT / "server/config.h").read_text().replace("\\\n", " ")
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for _, _, env, default, help_ in ROW.findall(text):
        words = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', help_)).replace('\\"', '"').replace("|", "\\|")
        lines.append(f"| `{env}` | {f'`{default}`' if default else ''} | {words} |")
    return "\n".join(lines)


def main():
    readme = ROOT / "README.md"
    text = readme.read_text()
    begin, end = "<!-- settings: from server/config.h -->\n", "<!-- end -->"
    head, rest = text.split(begin)
    tail = rest.split(end, 1)[1]
    fresh = head + begin + table() + "\n" + end + tail
    if sys.argv[1:] == ["--write"]:
        readme.write_text(fresh)
    elif fresh != text:
        sys.exit("README.md: the table of settings is stale: python3 tests/lint/settings.py --write")
    print("ok settings")


main()
