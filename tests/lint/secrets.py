"""usage: secrets.py LIST FOLDER... Looks for each secret of LIST (one a line) in every log, report and core below the
folders: as it is, percent-encoded, and in base64. Folders of services, which hold a .service, are passed over."""

import os
import pathlib
import subprocess
import sys
import tempfile

from sources import ROOT, close

sys.path.insert(0, str(ROOT / "tests/lib"))
from held import spellings  # noqa: E402


def is_searched(name):
    return name.endswith((".log", ".xml", ".txt", ".json", ".out")) or name == "core" or name.startswith("core.")


def files_below(folder):
    for at, folders, names in os.walk(folder):
        if ".service" in names:
            folders.clear()
            continue
        for name in sorted(names):
            if is_searched(name) and not os.path.islink(os.path.join(at, name)):
                yield os.path.join(at, name)


def matching(secrets, files):
    """The files that hold any of these."""
    found = []
    with tempfile.NamedTemporaryFile("w", suffix=".list") as patterns:
        patterns.write("\n".join(sorted({form for secret in secrets for form in spellings(secret)})) + "\n")
        patterns.flush()
        for start in range(0, len(files), 500):
            done = subprocess.run(["grep", "-aFl", "-f", patterns.name, "--", *files[start:start + 500]],
                                  stdout=subprocess.PIPE, text=True, env=os.environ | {"LC_ALL": "C"})
            if done.returncode > 1:
                raise SystemExit("grep failed")
            found += done.stdout.splitlines()
    return found


def main():
    listed, *folders = sys.argv[1:]
    lines = pathlib.Path(listed).read_text().splitlines() if pathlib.Path(listed).exists() else []
    secrets = sorted({line for line in lines if line})
    files = [file for folder in folders for file in files_below(folder)]
    problems = []
    if not secrets:
        problems.append("no secret was planted: no part ran with a service")
    if not any(os.path.basename(file).startswith("firn-") for file in files):
        problems.append("no server log was found")
    for file in matching(secrets, files) if secrets else []:
        data = pathlib.Path(file).read_bytes()
        for number, secret in enumerate(secrets, 1):
            if any(form.encode() in data for form in spellings(secret)):
                problems.append(f"{file}: holds secret {number} of {listed}")
    print(f"{len(files)} files, {len(secrets)} secrets")
    return close("secrets", problems)


if __name__ == "__main__":
    sys.exit(main())
