"""usage: secrets.py LIST FOLDER. Looks for each secret of LIST (one a line) in every server log
below FOLDER: as it is, percent-encoded, and in base64."""

import base64
import pathlib
import sys
import urllib.parse

from sources import close


def spellings(secret):
    yield secret
    yield urllib.parse.quote(secret, safe="")
    yield base64.b64encode(secret.encode()).decode().rstrip("=")


def main():
    listed, folder = sys.argv[1:3]
    secrets = [line for line in pathlib.Path(listed).read_text().splitlines() if line]
    logs = sorted(pathlib.Path(folder).rglob("firn-*.log"))
    problems = []
    for log in logs:
        text = log.read_text(errors="replace")
        for number, secret in enumerate(secrets, 1):
            if any(form in text for form in spellings(secret)):
                problems.append(f"{log}: holds secret {number} of {listed}")
    if not secrets:
        problems.append("no secret was planted: no part ran with a service")
    if not logs:
        problems.append("no server log was found")
    print(f"{len(logs)} logs, {len(secrets)} secrets")
    return close("secrets", problems)


if __name__ == "__main__":
    sys.exit(main())
