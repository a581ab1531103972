"""The server's own tokens for Azure: where they come from, that they are renewed, and what happens while they cannot
be; and the signatures for clients that are made with them. Azure is a stub that keeps objects in memory."""

import time

import pytest

from azure_blob import Blobs
from azure_stub import ACCOUNT, CONTAINER, Azure, error
from firn_client import begin, eventually, set_properties
from firn_server import Server

ASKS = {"X_Iceberg_Access_Delegation": "vended-credentials"}
SOURCES = [Azure.application, Azure.workload, Azure.machine, Azure.app_service]


@pytest.fixture
def azure():
    with Azure() as one:
        yield one


@pytest.fixture
def firn(azure):
    """Not started: each test says where the tokens come from."""
    server = Server(store=azure, env={"FIRN_CACHE": "0"})
    yield server
    log = server.log_text()
    server.close()
    for secret in azure.secrets():
        assert secret not in log
    assert "sig=" not in log


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES)
def test_tokens_are_renewed_before_they_expire(firn, azure, source):
    """Commits go on across the life of several tokens; the store never sees an expired one."""
    azure.life = 6
    api, table = begin(firn, source(azure, firn.folder))
    until = time.monotonic() + azure.life
    while firn.metric("firn_keys_fetched_total") < 3 or time.monotonic() < until:
        table.touch()
        time.sleep(0.05)
    assert azure.refused == []
    assert firn.metric("firn_keys_failures_total") == 0
    assert not firn.log_lines("keys")
    api.close()


def test_a_token_that_the_store_refuses_is_replaced(firn, azure):
    """The request that finds out succeeds with a new one."""
    api, table = begin(firn, azure.application())
    table.touch()
    time.sleep(1.2)  # nobody is asked twice in a second
    azure.revoke_all()
    table.touch()
    assert azure.refused == ["InvalidAuthenticationInfo"]
    assert firn.metric("firn_keys_fetched_total") == 2
    api.close()


@pytest.mark.long
def test_the_old_token_serves_while_no_new_one_comes(firn, azure):
    """Until it expires; then requests fail as ones that may be sent again, and it heals by itself."""
    azure.life = 6
    api, table = begin(firn, azure.machine())
    azure.mode = "broken"
    eventually(lambda: firn.metric("firn_keys_failures_total") >= 1)
    table.touch()
    assert len(firn.log_lines("keys", "no new Azure keys from the machine")) == 1
    eventually(lambda: firn.log_lines("keys", "there are no Azure keys from the machine"))
    table.commit(set_properties(a="b")).expect(429, 503)
    azure.mode, azure.life = "good", 3600
    eventually(lambda: firn.log_lines("keys", "there are Azure keys from the machine"), 40)
    table.touch()
    api.close()


def test_an_application_that_is_refused(firn, azure):
    """firn check says which source was asked and what it answered."""
    azure.mode = "refuses"
    done = firn.run("check", env=azure.application())
    assert done.returncode != 0
    assert "no Azure keys from the environment" in done.stdout and "invalid_client: AADSTS1: not you" in done.stdout, done


def test_a_store_on_a_bad_day(firn, azure):
    """Answers that say later are waited out; a refusal is none of them."""
    api, table = begin(firn, azure.application())
    azure.fail_next = [error(503, "ServerBusy"), error(500, "OperationTimedOut")]
    table.touch()
    assert azure.fail_next == []
    azure.fail_next = [error(403, "AuthorizationPermissionMismatch")]
    table.commit(set_properties(a="b")).fails(403, contains="AuthorizationPermissionMismatch")
    table.touch()
    api.close()


# --- signatures for clients -----------------------------------------------------------


def signed(azure, table):
    """What anybody who has a table's signature can do with it."""
    found = table.load(**ASKS).ok().json["storage-credentials"]
    assert len(found) == 1 and found[0]["prefix"] == table.location + "/"
    config = found[0]["config"]
    host = f"{ACCOUNT}.dfs.core.windows.net"
    assert config["adls.sas-token." + host] == config["adls.sas-token"]
    assert "skoid=object-1" in config["adls.sas-token"] and "&sr=d&" in config["adls.sas-token"]
    return Blobs(f"{azure.url}/{ACCOUNT}", ACCOUNT, CONTAINER, sas=config["adls.sas-token"])


def test_a_signature_reaches_one_directory(firn, azure):
    """Not its neighbours, not those whose names begin alike, not the folder above, and no further key."""
    api, table = begin(firn, azure.application() | {"FIRN_AZURE_VEND": "directory"})
    client = signed(azure, table)
    inside = table.location.split("/", 3)[3]
    file = table.load().ok().json["metadata-location"].split("/", 3)[3]
    assert client.ask("GET", file)[0] == 200
    assert client.put(f"{inside}/data/a", b"x")[0] == 201
    assert client.ask("DELETE", f"{inside}/data/a")[0] == 202
    above, _, name = inside.rpartition("/")
    for place in (f"{inside}0/a", f"{above}/a", f"{above}/{name[:-1]}/a", "a", f"{above}/x/{name}/a"):
        azure.objects[place] = b"x"
        assert client.ask("GET", place)[0] == 403, place
        assert client.put(place, b"y")[0] == 403, place
        assert client.ask("DELETE", place)[0] == 403, place
    body = b"<KeyInfo><Start>2026-01-01T00:00:00Z</Start><Expiry>2026-01-02T00:00:00Z</Expiry></KeyInfo>"
    root = Blobs(azure.url, ACCOUNT, ACCOUNT, sas=client.sas)
    assert root.ask("POST", "", body, {"restype": "service", "comp": "userdelegationkey"})[0] == 403
    for change in (("sdd=", "sdd=1&x="), ("sp=racwdl", "sp=racwdlp"), ("sr=d", "sr=c")):
        other = Blobs(client.endpoint, ACCOUNT, CONTAINER, sas=client.sas.replace(*change))
        assert other.ask("GET", file)[0] == 403, change
    api.close()


def test_the_probe_tries_signatures(firn, azure):
    """firn check passes where directories are honoured, and says what is wrong where no key is given."""
    env = azure.application() | {"FIRN_AZURE_VEND": "directory"}
    assert firn.run("migrate").returncode == 0
    done = firn.run("check", env=env)
    assert done.returncode == 0, done.stdout
    assert azure.objects == {} and "AuthenticationFailed" in azure.refused
    azure.user_key = lambda request: error(403, "AuthorizationPermissionMismatch")
    done = firn.run("check", env=env)
    assert done.returncode != 0 and "asking the account for a key of its user" in done.stdout, done


def test_one_key_of_the_user_for_half_its_life(firn, azure):
    """A table's signature is made once and given again; others get theirs, a failure leaves a create without."""
    api, table = begin(firn, azure.application() | {"FIRN_AZURE_VEND": "directory", "FIRN_VEND_UNASKED": "false"})
    before = len(azure.user_keys) + firn.metric("firn_vend_requests_total")
    first = signed(azure, table).sas
    assert [signed(azure, table).sas for _ in range(3)] == [first] * 3
    assert firn.metric("firn_vend_requests_total") == before + 1
    real, azure.user_key = azure.user_key, lambda request: error(503, "ServerBusy")
    other = api.table(api.new_namespace())
    other.load(**ASKS).expect(429, 503)
    other.load().ok()
    azure.user_key = lambda request: error(403, "AuthorizationPermissionMismatch")
    for answer in (other.load(**ASKS), api.get(other.path + "/credentials")):
        assert "Mismatch" not in answer.fails(403, "ForbiddenException", contains="token service refuses")["message"]
    azure.user_key = real
    assert signed(azure, other).sas != first
    api.close()
