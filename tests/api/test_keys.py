"""The server's own keys for the object store: where they come from, that they are renewed, and what
happens while they cannot be."""

import re
import time

import pytest

from firn_client import SLOWNESS, Api, begin, eventually
from firn_server import Server


@pytest.fixture
def firn(store):
    """Not started: each test says where the keys come from."""
    with_store = Server(store=store, env={"FIRN_CACHE": "0"})
    yield with_store
    log = with_store.log_text()
    with_store.close()
    for secret in store.keys.secrets():
        assert secret not in log


SOURCES = {
    "container": lambda identity, firn: identity.container(firn.folder),
    "instance": lambda identity, firn: identity.instance(),
    "web": lambda identity, firn: identity.web(firn.folder),
}


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES)
def test_keys_are_renewed_before_they_expire(firn, identity, store, source):
    """Commits go on across the life of several pairs of keys; the store never sees an expired one."""
    identity.life = 6
    api, table = begin(firn, SOURCES[source](identity, firn))
    until = time.monotonic() + identity.life
    while firn.metric("firn_keys_fetched_total") < 3 or time.monotonic() < until:
        table.touch()
        time.sleep(0.05)
    assert store.refused == []
    assert firn.metric("firn_keys_failures_total") == 0
    assert not firn.log_lines("keys")
    api.close()


def test_keys_that_the_store_calls_expired_are_replaced(firn, identity, store):
    """The request that finds out succeeds with new ones."""
    api, table = begin(firn, identity.container(firn.folder))
    table.touch()
    time.sleep(1.2)  # nobody is asked twice in a second
    store.keys.revoke_all()
    table.touch()
    assert store.refused == ["ExpiredToken"]
    assert firn.metric("firn_keys_fetched_total") == 2
    api.close()


@pytest.mark.long
def test_old_keys_serve_while_no_new_ones_come(firn, identity, store):
    """Until they expire; then requests fail as ones that may be sent again, and it heals by itself.
    One line for each turn."""
    identity.life = 8
    api, table = begin(firn, identity.container(firn.folder))
    identity.mode = "broken"
    eventually(lambda: firn.metric("firn_keys_failures_total") >= 2)
    table.touch()
    assert len(firn.log_lines("keys", "no new S3 keys from the container")) == 1
    eventually(lambda: firn.log_lines("keys", "there are no S3 keys from the container"))
    answer = table.commit({"action": "set-properties", "updates": {"a": "b"}})
    assert answer.status in (429, 503), answer.status
    assert "S3 keys" not in answer.body.decode()
    identity.mode = "good"
    identity.life = 3600
    eventually(lambda: firn.log_lines("keys", "there are S3 keys from the container again"), 40)
    table.touch()
    assert len(firn.log_lines("keys")) == 3
    assert store.refused == []
    api.close()


def test_requests_that_need_no_store_do_not_wait(firn, identity):
    """A service that does not answer holds up those who need keys, and nobody else."""
    identity.mode = "stalls"
    firn.extra.update(identity.container(firn.folder))
    firn.start()
    api = Api(firn)
    begun = time.monotonic()
    for _ in range(20):
        api.get("/v1/config").ok()
        api.new_namespace()
    assert time.monotonic() - begun < 20 * SLOWNESS  # each would wait for seconds
    identity.mode = "good"
    eventually(lambda: firn.metric("firn_keys_fetched_total") == 1)
    api.table(api.new_namespace())
    api.close()


def test_rotated_web_identity_token(firn, identity):
    """The file is read for each request to the token service."""
    identity.life = 4
    api, table = begin(firn, identity.web(firn.folder))
    identity.token = "rotated-token"
    eventually(lambda: firn.metric("firn_keys_failures_total") >= 1)
    (firn.folder / "web-token").write_text("rotated-token")
    fetched = firn.metric("firn_keys_fetched_total")
    eventually(lambda: firn.metric("firn_keys_fetched_total") > fetched)
    table.touch()
    assert "rotated-token" not in firn.log_text()
    api.close()


@pytest.mark.parametrize("external_id", [None, "warehouse-7"])
def test_role_on_top_of_other_keys(firn, identity, store, external_id):
    """FIRN_S3_ROLE_ARN: the store sees the role's keys, whatever the server's own are."""
    pair = store.keys.draw(token=False)
    identity.external_id = external_id
    api, table = begin(firn, {
        "FIRN_S3_ACCESS_KEY_ID": pair["id"], "FIRN_S3_SECRET_ACCESS_KEY": pair["secret"],
        "FIRN_S3_ROLE_ARN": identity.role, "FIRN_STS_ENDPOINT": identity.url, "FIRN_S3_EXTERNAL_ID": external_id})
    table.touch()
    assert identity.requests == ["POST /"] and store.refused == []
    api.close()


@pytest.mark.parametrize("source,words", [
    ("container", r"no S3 keys from the container: http://127\.0\.0\.1:\d+/container/keys answered 401: "
                  "this token is not known here"),
    ("instance", "no S3 keys from the instance .*the instance metadata service gave no session token: PUT "),
    ("web", r"no S3 keys from the web identity: the token service 127\.0\.0\.1:\d+ answered 400 "
            "InvalidIdentityToken when asked for the role arn:aws:iam::1:role/firn: the token is not one of ours"),
])
def test_check_says_what_is_wrong(firn, identity, source, words):
    """`firn check` with a wrong token: who was asked, and what he answered."""
    env = SOURCES[source](identity, firn)
    identity.token = "another"
    if source == "instance":
        identity.mode = "refuses"
    done = firn.run("check", env=env)
    line = re.search(r"^storage +FAILED: (.*)$", done.stdout, re.M)
    assert done.returncode == 1 and line, done.stdout + done.stderr
    assert re.search(words, line[1]), line[1]
    assert "another" not in done.stdout + done.stderr and "pod-" not in done.stdout + done.stderr


def test_check_without_any_keys(firn):
    """All the ways to give keys."""
    done = firn.run("check")
    for word in ("FIRN_S3_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "~/.aws/credentials",
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_DISABLED"):
        assert word in done.stdout, word
    assert done.returncode == 1


@pytest.mark.long
def test_check_with_a_silent_instance(firn, identity):
    """Where nobody answers it ends soon, and names what is mostly the reason in containers."""
    identity.mode = "stalls"
    begun = time.monotonic()
    done = firn.run("check", env=identity.instance())
    assert done.returncode == 1 and "hop limit must be 2" in done.stdout, done.stdout
    assert time.monotonic() - begun < 25 * SLOWNESS
    identity.mode = "good"


def test_container_uri_that_leads_elsewhere(firn, identity):
    """Its token is for this machine only."""
    env = identity.container(firn.folder) | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/keys"}
    done = firn.run("check", env=env)
    assert done.returncode == 1 and "leads to 10.0.0.1: expected a loopback address" in done.stdout


def test_store_at_a_link_local_address(firn):
    """Whoever may name a store's address does not reach the machine's identity with it."""
    done = firn.run("check", env={"FIRN_S3_ENDPOINT": "http://169.254.169.254", "FIRN_S3_ACCESS_KEY_ID": "a",
                                  "FIRN_S3_SECRET_ACCESS_KEY": "b"})
    assert done.returncode == 1 and "link-local address" in done.stdout, done.stdout


@pytest.mark.long
def test_stop_while_a_service_does_not_answer(firn, identity):
    """The server ends in the time that a request for keys may take."""
    identity.mode = "stalls"
    firn.extra.update(identity.container(firn.folder))
    firn.start()
    assert firn.stop(timeout=15) == 0
    identity.mode = "good"
