"""Planted secrets never reach a log, an answer, a metric or the list of processes."""

import contextlib
import pathlib
import resource
import secrets
import signal
import subprocess
import sys
import urllib.request

import pytest

import held
from firn_client import Answer, Api, check_secrets, ns_path
from firn_server import ROOT, Server

CANARIES = {"FIRN_S3_SECRET_ACCESS_KEY": "canary-key-5f2e", "FIRN_S3_SESSION_TOKEN": "canary-session-91ab"}
BEARER, BASIC, SIGNED = "canary-bearer-77c1", "canary-basic-0d4e", "canary-signature-b3f8"


def test_secrets_are_nowhere():
    """At the most talkative level, through requests that fail in every way."""
    env = dict(CANARIES) | {"FIRN_S3_ACCESS_KEY_ID": "visible", "FIRN_LOG_LEVEL": "debug", "FIRN_S3_REGION": "x"}
    uri = None
    with Server(env=env) as firn:
        if firn.store.kind == "s3":
            # the store's real secret is one of those that must not appear
            CANARIES["FIRN_S3_SECRET_ACCESS_KEY"] = firn.store.secret_key
            firn.stop()
            firn.extra.clear()
            firn.extra["FIRN_LOG_LEVEL"] = "debug"
            firn.start()
        api = Api(firn)
        ns = api.new_namespace()
        headers = {"Authorization": f"Bearer {BEARER}", "Cookie": f"session={BASIC}", "X-Api-Key": BASIC,
                   "Proxy-Authorization": f"Basic {BASIC}"}
        answers = []
        for method, path, body in (
                ("GET", "/v1/config", None), ("GET", "/v1/nothing", None), ("PUT", "/v1/namespaces", None),
                ("POST", "/v1/namespaces", {"namespace": 5}), ("GET", "/v1/namespaces/none", None),
                ("POST", f"{ns_path(ns)}/tables", {"name": "t", "schema": {"type": "struct", "fields": []}}),
                ("GET", f"{ns_path(ns)}/tables/t?X-Amz-Signature={SIGNED}&X-Amz-Security-Token={SIGNED}", None),
                ("GET", f"/v1/config?warehouse=w&token={SIGNED}", None),
                ("POST", "/v1/oauth/tokens", f"grant_type=client_credentials&client_secret={BASIC}".encode())):
            answers.append(api.request(method, path, body, headers, check=False).body.decode())
        text = firn.log_text()
        with urllib.request.urlopen(f"{firn.admin_url}/metrics") as answer:
            text += answer.read().decode()
        text += "".join(answers)
        command = pathlib.Path(f"/proc/{firn.pid}/cmdline").read_bytes().decode()
        for secret in (*CANARIES.values(), BEARER, BASIC, SIGNED):
            assert secret not in text, secret
            assert secret not in command
        if firn.db.kind == "postgresql" and ":" in firn.db.uri.split("@")[0].removeprefix("postgresql://"):
            uri = firn.db.uri.split("@")[0].removeprefix("postgresql://").split(":")[1]
            assert not uri or uri not in text
        api.close()
        log = firn
    assert not any(s in log.log_text() for s in CANARIES.values())


def test_errors_tell_nothing_of_the_inside(api, ns):
    """No path of a source, no SQL, no library in any answer."""
    table = api.table(ns)
    for answer in (
            api.post("/v1/namespaces", b"{"), api.create(ns, "x", location="file:///etc/x"),
            api.register(ns, "r", f"{api.store.base}/none/x.metadata.json"), table.commit({"action": "x"}),
            api.load(ns, "none"), api.get("/v1/x")):
        text = answer.error["message"].replace(api.store.base, "")  # whose name is random
        for word in (".c:", "jansson", "sqlite", "SELECT ", "INSERT ", "libpq", "curl", "errno", "0x", "malloc"):
            assert word.lower() not in text.lower(), text


def test_a_leak_would_be_seen(tmp_path, monkeypatch):
    """In an answer, and by what looks through the logs of a run: as it is, encoded, in a core."""
    monkeypatch.setattr(held, "_held", set())
    secret = "planted " + secrets.token_hex(12)
    held.hold(secret)
    for body in (b'{"error":{"message":"' + secret.encode() + b'"}}', b'{"config":{"s3.session":"' + secret.encode() + b'"}}'):
        with pytest.raises(AssertionError, match="with a secret"):
            check_secrets(Answer("GET", "/v1/x", 500, [], body))
    with pytest.raises(AssertionError):
        check_secrets(Answer("GET", "/v1/x", 200, [("X-A", secret)], b""))
    for name in (b"s3.secret-access-key", b"gcs.oauth2.token", b"adls.sas-token", b"adls.sas-token.a.dfs.core.windows.net"):
        check_secrets(Answer("GET", "/v1/x", 200, [], b'{"config":{"' + name + b'":"' + secret.encode() + b'"}}'))
    listed = tmp_path / "held"
    listed.write_text(secret + "\n")

    def search():
        return subprocess.run([sys.executable, ROOT / "tests/lint/secrets.py", listed, tmp_path / "run"], capture_output=True)

    (tmp_path / "run/service").mkdir(parents=True)
    (tmp_path / "run/firn-1.log").write_text("level=info\n")
    (tmp_path / "run/service/.service").touch()
    (tmp_path / "run/service/iam.json").write_text(secret)
    assert search().returncode == 0
    for name in ("firn-2.log", "core", "core.12", "report.xml"):
        for form in held.spellings(secret):
            (tmp_path / "run" / name).write_bytes(b"\0\xff" + form.encode() + b"\n")
            assert search().returncode == 1, (name, form)
        (tmp_path / "run" / name).unlink()


@pytest.fixture
def with_cores():
    """Processes of this test leave cores, where the machine lets them."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, (before[0], resource.getrlimit(resource.RLIMIT_CORE)[1]))


def cores(folder):
    return [path for path in folder.iterdir() if path.name.startswith("core")]


def test_no_core_is_left(with_cores):
    """A server that dies leaves none, unless it was told to."""
    for setting in ("false", "true"):
        firn = Server(env={"FIRN_CORE_DUMPS": setting})
        firn.start()
        firn.signal(signal.SIGABRT)
        assert firn.wait() == -signal.SIGABRT
        if setting == "false":
            assert not cores(firn.folder)
        for path in cores(firn.folder):
            path.unlink()
        firn.close()
