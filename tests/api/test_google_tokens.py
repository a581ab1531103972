"""The server's own Google tokens: where they come from, that they are renewed, and what happens while they cannot
be; and those that clients get when the token service has a bad day. Google is a stub that keeps objects in memory."""

import json
import time

import pytest

from firn_client import begin, eventually, set_properties
from firn_server import Server
from google_stub import EMAIL, Google, error

ASKS = {"X_Iceberg_Access_Delegation": "vended-credentials"}


@pytest.fixture
def google():
    with Google() as one:
        one.kind, one.base, one.clear = "gcs", "gs://tests/wh", one.objects.clear
        yield one


@pytest.fixture
def firn(google):
    """Not started: each test says where the tokens come from."""
    google.settings = {"FIRN_GCS_ENDPOINT": google.url, "FIRN_STS_ENDPOINT": google.url}
    server = Server(store=google, env={"FIRN_CACHE": "0"})
    yield server
    log = server.log_text()
    server.close()
    for secret in google.secrets():
        assert secret not in log


def by_setting(google, folder):
    return {"FIRN_GCS_KEY": google.account.json("https://oauth2.googleapis.com/token")}


def by_setting_file(google, folder):
    (folder / "key").write_text(google.account.json(f"{google.url}/token"))
    return {"FIRN_GCS_KEY_FILE": str(folder / "key")}


def by_file(google, folder):
    (folder / "key").write_text(google.account.json("https://oauth2.googleapis.com/token"))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(folder / "key")}


def by_provider(google, folder):
    (folder / "pod").write_text(google.pod_token + "\n")
    account = {"type": "external_account", "audience": "//iam.googleapis.com/pool/provider",
               "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
               "token_url": "https://sts.googleapis.com/v1/token", "credential_source": {"file": str(folder / "pod")},
               "service_account_impersonation_url":
                   f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken"}
    (folder / "account.json").write_text(json.dumps(account))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(folder / "account.json")}


def by_machine(google, folder):
    return {"NO_GCE_CHECK": "false", "GCE_METADATA_HOST": google.url.removeprefix("http://")}


SOURCES = [by_setting, by_setting_file, by_file, by_provider, by_machine]


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES)
def test_tokens_are_renewed_before_they_expire(firn, google, source):
    """Commits go on across the life of several tokens; the store never sees an expired one."""
    google.life = 6
    api, table = begin(firn, source(google, firn.folder))
    until = time.monotonic() + google.life
    while firn.metric("firn_keys_fetched_total") < 3 or time.monotonic() < until:
        table.touch()
        time.sleep(0.05)
    assert google.refused == []
    assert firn.metric("firn_keys_failures_total") == 0
    assert not firn.log_lines("keys")
    api.close()


def test_a_token_that_the_store_refuses_is_replaced(firn, google):
    """The request that finds out succeeds with a new one."""
    api, table = begin(firn, by_setting(google, firn.folder))
    table.touch()
    time.sleep(1.2)  # nobody is asked twice in a second
    google.revoke_all()
    table.touch()
    assert google.refused == ["401"]
    assert firn.metric("firn_keys_fetched_total") == 2
    api.close()


@pytest.mark.long
def test_the_old_token_serves_while_no_new_one_comes(firn, google):
    """Until it expires; then requests fail as ones that may be sent again, and it heals by itself."""
    google.life = 6
    api, table = begin(firn, by_machine(google, firn.folder))
    google.mode = "broken"
    eventually(lambda: firn.metric("firn_keys_failures_total") >= 1)
    table.touch()
    assert len(firn.log_lines("keys", "no new Google tokens from the metadata server")) == 1
    eventually(lambda: firn.log_lines("keys", "there are no Google tokens from the metadata server"))
    answer = table.commit(set_properties(a="b"))
    assert answer.status in (429, 503) and "Google" not in answer.body.decode(), str(answer)
    google.mode, google.life = "good", 3600
    eventually(lambda: firn.log_lines("keys", "there are Google tokens from the metadata server"), 40)
    table.touch()
    api.close()


def test_a_key_that_is_refused(firn, google):
    """firn check says which source was asked and what it answered."""
    google.mode = "refuses"
    firn.extra.update(by_setting(google, firn.folder))
    done = firn.run("check")
    assert done.returncode != 0
    assert "no Google tokens from the settings" in done.stdout and "invalid_grant: not you" in done.stdout, done
    done = firn.run("check", env={"FIRN_GCS_KEY": ""})
    assert "expected FIRN_GCS_KEY" in done.stdout, done


def test_a_store_on_a_bad_day(firn, google):
    """Answers that say later are waited out; a write whose answer was lost is known as our own."""
    api, table = begin(firn, by_setting(google, firn.folder))
    google.fail_next = [error(503, "later", "backendError"), error(429, "slower", "rateLimitExceeded")]
    table.touch()
    google.fail_next = [error(403, "slower", "rateLimitExceeded")]
    table.touch()
    assert google.fail_next == []
    google.fail_next = [error(403, "not you", "forbidden")]
    table.commit(set_properties(a="b")).fails(403, contains="the store answered 403 forbidden")
    table.touch()
    api.close()


def test_clients_while_the_token_service_is_away(firn, google):
    """What is at hand is given; a load that needs more fails for now, a create is answered without."""
    api, table = begin(firn, by_setting(google, firn.folder) | {"FIRN_GCS_VEND": "true", "FIRN_VEND_UNASKED": "false"})
    config = table.load(**ASKS).ok().json["config"]
    assert config["gcs.oauth2.token"] in google.tokens
    assert google.alive(config["gcs.oauth2.token"])["rules"] is not None
    other = api.table(api.new_namespace())
    google.mode = "broken"
    assert table.load(**ASKS).ok().json["config"] == config
    other.load(**ASKS).expect(429, 503)
    other.load().ok()
    google.mode = "refuses"
    for answer in (other.load(**ASKS), api.get(other.path + "/credentials")):
        assert "invalid_grant" not in answer.fails(403, "ForbiddenException", contains="token service refuses")["message"]
    google.mode = "good"
    eventually(lambda: other.load(**ASKS).status == 200)
    api.close()


def test_the_scope_of_the_servers_token(firn, google):
    """Google's storage and no more, unless tokens for clients are made of it."""
    api, table = begin(firn, by_setting(google, firn.folder))
    table.touch()
    assert {one["scope"] for one in google.tokens.values()} == {
        "https://www.googleapis.com/auth/devstorage.read_write"}
    api.close()


def test_a_service_that_does_not_limit(firn, google):
    """Whoever gives tokens to clients is told by firn check what they reach."""
    firn.extra.update(by_setting(google, firn.folder) | {"FIRN_GCS_VEND": "true"})
    firn.start()
    firn.stop()
    assert firn.run("check").returncode == 0
    google.limits = False
    done = firn.run("check")
    assert done.returncode != 0 and "(vended-sibling-read, " in done.stdout, done
    google.limits, google.limits_stay = True, False
    done = firn.run("check")
    assert done.returncode != 0 and "(vended-token-widened, " in done.stdout, done
    assert not google.objects
