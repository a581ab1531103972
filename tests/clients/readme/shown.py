"""The code blocks of README.md, and the count of what came of them."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/lib"), str(ROOT / "tests/clients")]
from services import free_ports  # noqa: E402

README = (ROOT / "README.md").read_text()
FIRST = free_ports(2)
CATALOG = f"http://127.0.0.1:{FIRST}"
PORTS = {"127.0.0.1:8181": f"127.0.0.1:{FIRST}", "127.0.0.1:9181": f"127.0.0.1:{FIRST + 1}"}
STORE = {name: os.environ[f"FIRN_TEST_S3_{name}"] for name in ("ENDPOINT", "REGION", "ACCESS_KEY", "SECRET_KEY", "BUCKET")}
results = []


def here(text, words):
    """With the ports, places and keys of the test."""
    for public, private in (PORTS | words).items():
        text = text.replace(public, private)
    return text


def check(name, passed, why=""):
    results.append(passed)
    print(f"{'ok' if passed else 'FAILED'} {name}{'' if passed else ': ' + why[-1500:]}", flush=True)


def blocks(language, heading):
    """The code blocks of a language in one section."""
    section = README[README.index(heading):]
    section = section[:section.find("\n## ", 3)]
    return [body for name, body in re.findall(r"^```(\w*)\n(.*?)^```$", section, re.S | re.M)
            if name == language]


def commands(block):
    """The commands of a block: quotes and backslashes join lines, comments are not run."""
    found, text = [], ""
    for line in block.splitlines():
        if not text and (not line or line.startswith("#")):
            continue
        text += line
        try:
            shlex.split(text)
        except ValueError:
            text += "\n"
            continue
        found.append(text)
        text = ""
    assert not text, f"README shows half a command: {text}"
    return found


def execute(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, **options)


def brief(command):
    return " ".join(command.split())[:90]


def send(line, words):
    """A curl command as a shell reads it: what was answered, after a check of the status."""
    done = execute(["sh", "-c", here(line, words) + " -w '\\n%{http_code}'"])
    body, _, status = done.stdout.rpartition("\n")
    check(brief(line), status[:1] == "2", done.stdout)
    return body
