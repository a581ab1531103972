"""The secrets that tests hold: those of services, of stubs, of settings, and what clients were given. They are looked
for in every answer, in the database, and by the part `secrets` in all that was logged or left behind.

What is held by one process is held by all of a run: the file FIRN_TEST_HELD lists it, one a line."""

import base64
import os
import re
import urllib.parse

SHORTEST = 12  # what is shorter is found by accident
# members whose business it is to hold one
GIVEN = re.compile(rb'"(?:s3\.secret-access-key|s3\.session-token|x-amz-security-token|gcs\.oauth2\.token'
                   rb'|adls\.sas-token(?!-expires)[^"]*)"\s*:\s*\[?\s*"([^"]*)"', re.I)

_held = set()


def hold(*secrets):
    for secret in secrets:
        if not secret or len(secret) < SHORTEST or secret in _held:
            continue
        _held.add(secret)
        if "FIRN_TEST_HELD" in os.environ:
            with open(os.environ["FIRN_TEST_HELD"], "a", encoding="utf-8") as file:
                file.write(secret + "\n")


def hold_settings(env):
    """Of a server: what its configuration calls a secret, and what it finds for itself."""
    for name in ("FIRN_S3_SECRET_ACCESS_KEY", "FIRN_S3_SESSION_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        hold(env.get(name))
    for key in re.split(r"[,\s]+", env.get("FIRN_SECRET_KEYS") or ""):
        hold(key.partition(":")[2])
    hold(*lines_of_key(env.get("FIRN_GCS_KEY") or ""))
    hold(urllib.parse.urlsplit(env.get("FIRN_DATABASE") or "").password)


def lines_of_key(text):
    """The lines of the private key in a service account's JSON."""
    found = re.search(r'"private_key"\s*:\s*"([^"]*)"', text)
    return [line for line in found.group(1).split("\\n") if line and "-----" not in line] if found else []


def spellings(secret):
    yield secret
    yield urllib.parse.quote(secret, safe="")
    yield base64.b64encode(secret.encode()).decode().rstrip("=")


def found_in(data):
    """Those that these bytes hold as they are."""
    return [secret for secret in tuple(_held) if secret.encode() in data]  # services add to them meanwhile


def without_given(data):
    """An answer without the credentials that it is there to give; they are held from now on."""
    for given in GIVEN.findall(data):
        hold(given.decode(errors="replace"))
    return GIVEN.sub(b"", data)


hold(os.environ.get("FIRN_TEST_S3_SECRET_KEY"), os.environ.get("FIRN_TEST_STS_SECRET_KEY"),
     urllib.parse.urlsplit(os.environ.get("FIRN_TEST_DB") or "").password)
