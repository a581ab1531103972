"""Warehouses over the management API: made, used under their prefix, changed, deactivated, deleted; nothing of one
shows in another, and nothing is reached that the settings do not allow."""

import json
import os
import pathlib
import secrets
import subprocess
import time
import urllib.parse

import pytest

from firn_client import SLOWNESS, Api, enc, in_parallel, ns_path, set_properties, simple
from firn_server import Server, local_path, seal

ROOT = "/management/v1/warehouses"
SEAL = seal()


@pytest.fixture(scope="module")
def server():
    firn = Server()
    firn.extra["FIRN_SECRET_KEYS"] = SEAL
    firn.extra["FIRN_WAREHOUSE_FOLDERS"] = f"file://{firn.folder}/houses"
    if firn.store.kind == "s3":
        firn.extra["FIRN_WAREHOUSE_ENDPOINTS"] = urllib.parse.urlsplit(firn.store.endpoint).netloc
        firn.extra["FIRN_WAREHOUSE_IDENTITY"] = f"s3://{firn.store.bucket}"
    with firn:
        yield firn


def described(api, name, **more):
    """A warehouse of its own place in the store at hand; on S3 with keys of its own."""
    store = api.store
    if store.kind == "file":
        body = {"base-location": f"file://{api.server.folder}/houses/{name}", "storage": {"type": "file"}}
    else:
        body = {"base-location": f"{store.base}-{name}",
                "storage": {"type": "s3", "endpoint": store.endpoint, "region": store.region, "path-style": True},
                "credentials": {"type": "static", "access-key-id": store.access_key,
                                "secret-access-key": store.secret_key}}
    return {"name": name} | body | more


@pytest.fixture
def house(api):
    """A fresh warehouse, as the API shows it."""
    return api.post(ROOT, described(api, f"w{secrets.token_hex(4)}")).ok().json


def prefix(house):
    return f"/v1/{house['id']}"


def make_table(api, house, ns="a", name="t"):
    api.post(f"{prefix(house)}/namespaces", {"namespace": [ns]}).expect(200, 409)
    return api.post(f"{prefix(house)}/namespaces/{ns}/tables", {"name": name, "schema": simple()})


def test_a_table_in_it(api, house):
    """All of a table's life under the prefix that /v1/config hands out; its files lie beneath the base."""
    config = api.get(f"/v1/config?warehouse={house['name']}").ok().json
    assert config["overrides"]["prefix"] == house["id"]
    made = make_table(api, house).ok().json
    assert made["metadata"]["location"].startswith(house["base-location"] + "/a/t-")
    path = f"{prefix(house)}/namespaces/a/tables/t"
    loaded = api.get(path).ok()
    assert api.get(path, If_None_Match=loaded.etag).expect(304)
    api.post(path, {"requirements": [], "updates": [set_properties(k="v")]}).ok()
    assert api.get(path).ok().json["metadata"]["properties"]["k"] == "v"
    assert api.get(f"{prefix(house)}/namespaces/a/tables").ok().json["identifiers"] == [{"namespace": ["a"], "name": "t"}]
    api.post(f"{prefix(house)}/tables/rename", {"source": {"namespace": ["a"], "name": "t"},
                                                "destination": {"namespace": ["a"], "name": "u"}}).expect(204)
    api.delete(f"{prefix(house)}/namespaces/a/tables/u").expect(204)
    api.delete(f"{prefix(house)}/namespaces/a").expect(204)


def test_nothing_of_one_shows_in_another(api, house):
    """The same names, other objects; page tokens of one are refused by the other."""
    other = api.post(ROOT, described(api, f"w{secrets.token_hex(4)}")).ok().json
    for name in ("t", "u"):
        make_table(api, house, name=name).ok()
    api.post(f"{prefix(other)}/namespaces", {"namespace": ["a"]}).ok()
    api.get(f"{prefix(other)}/namespaces/a/tables/t").fails(404, "NoSuchTableException")
    assert ["a"] not in api.get("/v1/namespaces").ok().json["namespaces"]
    page = api.get(f"{prefix(house)}/namespaces/a/tables?pageSize=1&pageToken=").ok().json
    api.get(f"{prefix(other)}/namespaces/a/tables?pageSize=1&pageToken={enc(page['next-page-token'])}").fails(400)


def test_a_table_of_one_cannot_lie_in_another(api, house):
    """Locations are one space: neither create nor register reaches into the place of another warehouse."""
    made = make_table(api, house).ok().json
    ns = api.new_namespace()
    api.create(ns, "x", location=made["metadata"]["location"]).expect(400, 403, 409)
    api.post(f"{ns_path(ns)}/register", {"name": "x", "metadata-location": made["metadata-location"]}).expect(400, 403)
    make_table(api, house, name="again").ok()
    api.post(f"{prefix(house)}/namespaces/a/tables",
             {"name": "in", "schema": simple(), "location": made["metadata"]["location"] + "/data/in"}).fails(409)


def test_found_by_name_id_and_base(api, house):
    """Every spelling leads to the same; other spellings lead nowhere."""
    base = enc(house["base-location"])
    for named in (house["name"], house["id"], house["id"].upper(), base, base + "%2F"):
        assert api.get(f"/v1/config?warehouse={named}").ok().json["overrides"]["prefix"] == house["id"]
    for named in (house["name"].upper(), house["name"] + "x", base + "x", "0" * 36):
        api.get(f"/v1/config?warehouse={named}").fails(404, "NoSuchWarehouseException")
        api.get(f"/v1/{named}/namespaces").fails(404, "NoSuchWarehouseException")
    for named in (house["name"], house["id"]):
        assert api.get(f"{ROOT}/{named}").ok().json == house


def test_ids_in_any_case_are_one_warehouse(api, house):
    """However its letters are written: it is opened once, with one folder, or one thread that looks after its keys."""
    def opened():
        at = pathlib.Path(f"/proc/{api.server.process.pid}")
        folder = house["base-location"].removeprefix("file://")
        return len(list((at / "task").iterdir())) + sum(os.path.realpath(fd) == folder for fd in (at / "fd").iterdir())

    def spelled(i):
        letters = (c.upper() if c.isalpha() and i >> n & 1 else c for n, c in enumerate(house["id"]))
        return "".join(letters)

    make_table(api, house).ok()
    before = opened()
    for i in range(40):
        api.get(f"/v1/{spelled(0x5b1d3 * (i + 1))}/namespaces/a/tables/t").ok()
        api.get(f"/v1/config?warehouse={spelled(0x9e377 * (i + 1))}").ok()
    assert opened() <= before + 3


def test_list(api, house):
    """In order, with the default one."""
    listed = api.get(ROOT).ok().json["warehouses"]
    names = [w["name"] for w in listed]
    assert names == sorted(names) and house in listed
    home = [w for w in listed if w["default"]]
    assert [w["name"] for w in home] == ["main"] and home[0]["base-location"] == api.store.base


def test_settings_for_clients(api):
    """defaults and overrides are handed out; what only the server can say is not theirs to change."""
    body = described(api, f"w{secrets.token_hex(4)}", defaults={"io-impl": "x", "prefix": "evil"},
                     overrides={"s3.path-style-access": "true", "namespace-separator": "."})
    house = api.post(ROOT, body).ok().json
    config = api.get(f"/v1/config?warehouse={house['name']}").ok().json
    assert config["defaults"] == {"io-impl": "x"}
    assert config["overrides"] == {"s3.path-style-access": "true", "namespace-separator": "%1F", "prefix": house["id"]}


@pytest.mark.parametrize("member", ["defaults", "overrides"])
def test_settings_that_clients_do_not_get(api, house, member):
    """What leads a client's own credentials elsewhere, and secrets."""
    for key in (
            "uri", "token", "credential", "oauth2-server-uri", "rest.sigv4-enabled", "header.Authorization", "Header.X-Other",
            "signer.uri", "s3.signer.uri", "client.refresh-credentials-endpoint", "client.credentials-provider.x",
            "s3.access-key-id", "s3.secret-access-key", "S3.Secret-Access-Key", "s3.session-token", "client.secret-access-key",
            "gcs.oauth2.token", "adls.sas-token.account.dfs.core.windows.net", "adls.account-key", "adls.client-secret",
            "adls.connection-string.account", "adls.credential", "gcs.jsonkey", "hf.token", "jdbc.password", "auth.type"):
        contains = f"/{member}/{key}:"
        api.post(f"{ROOT}/{house['name']}", {member: {"a": "1", key: "x"}}).fails(400, contains=contains)
        api.post(ROOT, described(api, "refused", **{member: {key: "x"}})).fails(400, contains=contains)
    assert api.get(f"{ROOT}/{house['name']}").ok().json == house


def test_settings_that_clients_get(api, house):
    """What says where and how the store is."""
    settings = {key: "x" for key in (
        "io-impl", "py-io-impl", "s3.endpoint", "s3.region", "client.region", "s3.path-style-access", "s3.sse.type",
        "gcs.project-id", "gcs.service.host", "adls.account-host", "write.format.default", "token-refresh",
        "header.X-Iceberg-Access-Delegation", "cache-enabled")}
    api.post(f"{ROOT}/{house['name']}", {"defaults": settings}).ok()
    assert api.get(f"/v1/config?warehouse={house['name']}").ok().json["defaults"] == settings


def test_rename(api, house):
    """The id stays, and with it every path; the old name is free at once."""
    make_table(api, house).ok()
    fresh = house["name"] + "-neu"
    renamed = api.post(f"{ROOT}/{house['name']}", {"name": fresh}).ok().json
    assert renamed["id"] == house["id"] and renamed["name"] == fresh
    api.get(f"/v1/config?warehouse={house['name']}").fails(404)
    api.get(f"{ROOT}/{house['name']}").fails(404, "NoSuchWarehouseException")
    api.get(f"{prefix(house)}/namespaces/a/tables/t").ok()
    other = api.post(ROOT, described(api, house["name"]) | {"base-location": house["base-location"] + "2"}).ok().json
    api.post(f"{ROOT}/{fresh}", {"name": other["name"]}).fails(409, "AlreadyExistsException")


def test_deactivate(api, house):
    """Nothing is served meanwhile, nothing is lost."""
    make_table(api, house).ok()
    assert api.post(f"{ROOT}/{house['id']}", {"active": False}).ok().json["active"] is False
    api.get(f"{prefix(house)}/namespaces/a/tables/t").fails(403, "ForbiddenException", contains="deactivated")
    api.get(f"/v1/config?warehouse={house['name']}").fails(403)
    api.post(f"{prefix(house)}/namespaces/a/tables", {"name": "u", "schema": simple()}).fails(403)
    api.post(f"{ROOT}/{house['id']}", {"active": True}).ok()
    api.get(f"{prefix(house)}/namespaces/a/tables/t").ok()


def test_versions(api, house):
    """Of two administrators who read the same state the second one is told."""
    first = api.post(f"{ROOT}/{house['name']}", {"version": house["version"], "defaults": {"a": "1"}}).ok().json
    assert first["version"] != house["version"]
    api.post(f"{ROOT}/{house['name']}", {"version": house["version"], "defaults": {"a": "2"}}).fails(
        409, "ConflictException", contains="/version")
    assert api.get(f"{ROOT}/{house['name']}").ok().json == first


def test_keys_of_requests_are_not_read(api):
    """What a change of warehouses answers is not kept, so that it cannot be given again."""
    name, keys = f"w{secrets.token_hex(4)}", [secrets.token_hex(8) for _ in range(3)]
    for status in (200, 409):
        api.post(ROOT, described(api, name), Idempotency_Key=keys[0]).expect(status)
    for value in ("1", "2"):
        changed = api.post(f"{ROOT}/{name}", {"defaults": {"a": value}}, Idempotency_Key=keys[1]).ok().json
        assert changed["defaults"] == {"a": value} and api.get(f"{ROOT}/{name}").ok().json == changed
    for status in (204, 404):
        api.delete(f"{ROOT}/{name}", Idempotency_Key=keys[2]).expect(status)


def test_changes_where_a_warehouse_cannot_be_used():
    """Nothing was changed, and an answer that leaves it open makes clients keep what they wrote and give up. With a
    key it stays open what an earlier copy of the request did. The reason is for the log."""
    with Server() as firn:
        api = Api(firn)
        house = api.get(f"{ROOT}/main").ok().json
        path = f"{prefix(house)}/namespaces/a/tables/t"
        make_table(api, house).ok()
        firn.stop()
        firn.extra["FIRN_WAREHOUSE_NAME"] = "other"
        firn.start()
        changes = [(path, {"updates": [set_properties(k="v")]}), (f"{prefix(house)}/namespaces", {"namespace": ["b"]}),
                   (f"{prefix(house)}/transactions/commit", {"table-changes": [
                       {"identifier": {"namespace": ["a"], "name": "t"}, "updates": [set_properties(k="v")]}]})]
        for where, body in changes:
            api.post(where, body, X_Request_ID="look-here").fails(400, "BadRequestException", contains="look-here")
            api.post(where, body, Idempotency_Key="k").fails(500, "InternalServerError")
        api.get(path).fails(500, "InternalServerError")
        assert "is no JSON object" in firn.log_text()


def test_delete(api, house):
    """Refused while something is in it; afterwards it is gone for everybody."""
    make_table(api, house).ok()
    api.delete(f"{ROOT}/{house['name']}").fails(409, "ConflictException", contains="1 namespaces")
    api.delete(f"{prefix(house)}/namespaces/a/tables/t").expect(204)
    api.delete(f"{prefix(house)}/namespaces/a").expect(204)
    api.delete(f"{ROOT}/{house['name']}").expect(204)
    api.delete(f"{ROOT}/{house['name']}").fails(404, "NoSuchWarehouseException")
    api.get(f"{prefix(house)}/namespaces").fails(404, "NoSuchWarehouseException")


def test_the_default_one_is_the_settings(api):
    """It is shown, and neither changed nor deleted."""
    api.post(f"{ROOT}/main", {"active": False}).fails(400, contains="settings")
    api.delete(f"{ROOT}/main").fails(400, contains="settings")
    assert api.post(f"{ROOT}/main/check").ok().json["ok"] is True
    api.post(ROOT, described(api, "main")).fails(409, "AlreadyExistsException")


def test_check(api, house):
    """The storage is tried now, not as it was when the warehouse was made."""
    assert api.post(f"{ROOT}/{house['name']}/check").ok().json["ok"] is True
    if api.store.kind == "file":
        place = local_path(house["base-location"])
        place.rename(str(place) + "-away")
        place.write_text("a file where a folder was")
        answer = api.post(f"{ROOT}/{house['name']}/check").ok().json
        assert answer["ok"] is False and answer["message"]
        place.unlink()
    else:
        api.post(f"{ROOT}/{house['name']}", {"credentials": {
            "type": "static", "access-key-id": api.store.access_key, "secret-access-key": "wrong"}}).fails(400)
        assert api.post(f"{ROOT}/{house['name']}/check").ok().json["ok"] is True
    api.post(f"{ROOT}/nope/check").fails(404, "NoSuchWarehouseException")


def test_purge_and_old_files(api, house):
    """What is deleted in the background is deleted in every warehouse: files that left a log, dropped tables."""
    def becomes_gone(uri):
        deadline = time.monotonic() + 30 * SLOWNESS
        while api.store.exists(uri):
            assert time.monotonic() < deadline, uri
            time.sleep(0.05)

    made = make_table(api, house).ok().json
    path = f"{prefix(house)}/namespaces/a/tables/t"
    api.post(path, {"requirements": [], "updates": [set_properties(**{
        "write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"})]}).ok()
    second = api.post(path, {"requirements": [], "updates": [set_properties(a="b")]}).ok().json
    becomes_gone(made["metadata-location"])
    assert api.store.exists(second["metadata-location"])
    api.delete(path + "?purgeRequested=true").expect(204)
    becomes_gone(second["metadata-location"])
    api.delete(f"{prefix(house)}/namespaces/a").expect(204)


def refusals(api):
    good = described(api, "refused")
    yield good | {"name": ""}, 400
    yield good | {"name": "a/b"}, 400
    yield good | {"name": "n" * 129}, 400
    yield good | {"name": "a\nb"}, 400
    yield good | {"name": "2f899e1a-fd8d-40e3-a40c-f93dba3803e5"}, 400
    yield good | {"base-location": "nonsense"}, 400
    yield good | {"base-location": "ftp://host/x"}, 400
    yield good | {"base-location": good["base-location"] + "/../x"}, 400
    yield good | {"base-location": api.store.base + "/inside"}, (403, 409)
    yield good | {"storage": {"type": "gopher"}}, 400
    yield good | {"storage": {}}, 400
    yield good | {"credentials": {"type": "static"}}, 400
    yield good | {"credentials": {"type": "static", "access-key-id": "a"}}, 400
    yield good | {"credentials": {"type": "static", "access-key-id": "a\nb", "secret-access-key": "c"}}, 400
    yield good | {"allowed-locations": ["nonsense"]}, 400
    local = good | {"storage": {"type": "file"}, "credentials": None}
    yield local | {"base-location": "file:///etc/firn"}, 403
    yield local | {"base-location": "file:///"}, (400, 403)
    yield local | {"base-location": "s3://bucket/x"}, 400
    for endpoint in ("http://169.254.169.254", "http://localhost:1", "http://[::1]:1", "http://evil.example",
                     "https://user@host", "gopher://x", "http://2130706433", "http://0x7f000001"):
        yield good | {"base-location": "s3://bucket/x", "storage": {"type": "s3", "endpoint": endpoint}}, (400, 403)
        yield good | {"base-location": "s3://bucket/x", "storage": {"type": "s3", "sts-endpoint": endpoint}}, (400, 403)
    for member in ("name", "base-location", "storage"):
        yield {k: v for k, v in good.items() if k != member}, 400


def test_what_cannot_be(api):
    """A clear refusal for each, and nothing is made."""
    for body, statuses in refusals(api):
        answer = api.post(ROOT, body)
        assert answer.status in (statuses if isinstance(statuses, tuple) else (statuses,)), (body, str(answer))
    assert "refused" not in [w["name"] for w in api.get(ROOT).ok().json["warehouses"]]


def test_overlapping_bases(api, house):
    """Neither inside another, nor around it; a name that begins alike is apart."""
    base = house["base-location"]
    for place in (base, base + "/deeper", base.rpartition("/")[0]):
        api.post(ROOT, described(api, "overlap") | {"base-location": place}).expect(403, 409)
    api.post(ROOT, described(api, f"w{secrets.token_hex(4)}") | {"base-location": base + "0"}).ok()


@pytest.fixture
def servers(server):
    """Two processes on one database, where it can be shared."""
    if server.db.kind == "sqlite":
        yield [server]
        return
    with server.replica() as second:
        yield [server, second]


def race(servers, paths_and_bodies):
    """All at once, in turn to each server."""
    def one(i):
        client = Api(servers[i % len(servers)])
        try:
            return client.post(*paths_and_bodies[i])
        finally:
            client.close()
    return in_parallel(len(paths_and_bodies), one)


def one_wins(api, answers, base):
    """One is there and says so; the others were told why not."""
    assert sorted(a.status for a in answers) == [200] + [409] * (len(answers) - 1), [str(a) for a in answers]
    for answer in answers:
        if answer.status == 409:
            answer.fails(409, "ConflictException", contains="overlaps")
    bases = [w["base-location"] for w in api.get(ROOT).ok().json["warehouses"]]
    assert [b for b in bases if (b + "/").startswith(base + "/")] == [
        a.json["base-location"] for a in answers if a.status == 200]


INSIDE = ["", "/", "/in", "/in/deeper"]


@pytest.mark.parametrize("inside", [[""], INSIDE])
def test_race_of_creates_at_one_place(api, servers, inside):
    """Equal bases, and bases around and inside one another, whatever server is asked: one warehouse is made."""
    name = f"w{secrets.token_hex(4)}"
    base = described(api, name)["base-location"]
    one_wins(api, race(servers, [
        (ROOT, described(api, f"{name}-{i}") | {"base-location": base + inside[i % len(inside)]})
        for i in range(8)]), base)


@pytest.mark.parametrize("inside", [[""], INSIDE])
def test_race_of_moves_to_one_place(api, servers, inside):
    """The same for bases that are changed."""
    name = f"w{secrets.token_hex(4)}"
    base = described(api, name)["base-location"]
    for i in range(6):
        api.post(ROOT, described(api, f"{name}-{i}")).ok()
    one_wins(api, race(servers, [
        (f"{ROOT}/{name}-{i}", {"base-location": base + inside[i % len(inside)]}) for i in range(6)]), base)


def test_default_warehouse_in_anothers_base(api, server, house):
    """A new one by settings does not start where another lies."""
    def start(base):
        env = server.environment() | {"FIRN_WAREHOUSE": base, "FIRN_WAREHOUSE_NAME": f"n{secrets.token_hex(4)}"}
        return subprocess.run([server.binary, "serve"], env=env, text=True, capture_output=True, timeout=60)

    if server.db.kind == "sqlite":
        server.stop()  # one process at a time
    for base in (house["base-location"], house["base-location"] + "/deeper"):
        done = start(base)
        assert done.returncode == 1 and "overlaps" in done.stderr and house["name"] in done.stderr, done
    if server.db.kind == "sqlite":
        server.start()


def test_storage_that_does_not_work(api):
    """The reason is told, and nothing is made."""
    if api.store.kind == "file":
        folder = local_path(f"file://{api.server.folder}/houses")
        folder.mkdir(exist_ok=True)
        (folder / "plain").write_text("no folder")
        body = described(api, "broken") | {"base-location": f"file://{folder}/plain/x"}
    else:
        body = described(api, "broken")
        body["credentials"]["secret-access-key"] = "not the right one"
    api.post(ROOT, body).fails(400, contains="does not work")
    api.get(f"{ROOT}/broken").fails(404)


def test_secrets_are_not_shown(api, house):
    """Neither in answers nor in the database."""
    text = json.dumps([api.get(ROOT).ok().json, api.get(f"{ROOT}/{house['name']}").ok().json, house])
    rows = json.dumps(api.server.db.query("SELECT profile FROM warehouse") + api.server.db.query(
        "SELECT sealed FROM secret"))
    for secret in [getattr(api.store, "secret_key", None), SEAL.partition(":")[2]]:
        assert secret is None or (secret not in text and secret not in rows)


MEMBERS = {"s3": {"access-key-id", "secret-access-key", "session-token"}, "gcs": {"service-account-key", "client-email"},
           "adls": {"account-key", "tenant-id", "client-id", "client-secret"}, "file": set()}
BASES = {"s3": "s3://bucket/x", "gcs": "gs://bucket/x", "adls": "abfss://tables@account.dfs.core.windows.net/x"}


@pytest.mark.parametrize("store", MEMBERS)
def test_members_of_other_credentials(api, house, store):
    """What another kind of storage has, and what credentials of the server have none of, is refused by its name, not
    passed over; nothing of it is shown or stored."""
    planted = secrets.token_hex(16)
    base = BASES.get(store) or f"file://{api.server.folder}/houses/other"
    body = {"name": "other", "base-location": base, "storage": {"type": store}}
    own = {name: {"private_key": "a", "client_email": "b"} if name == "service-account-key" else planted
           for name in MEMBERS[store]}
    for name in set().union(*MEMBERS.values()):
        value = {"private_key": planted} if name == "service-account-key" else planted
        kinds = ["server", "web-identity", "managed-identity"] + ["static"] * (name not in MEMBERS[store])
        for kind in kinds:
            credentials = {"type": kind, name: value} | (own if kind == "static" else {})
            message = api.post(ROOT, body | {"credentials": credentials}).fails(400)["message"]
            assert message.startswith(f"/credentials/{name}: ") and planted not in message, credentials
    api.post(f"{ROOT}/{house['name']}", {"credentials": {"type": "server", "secret-access-key": planted}}).fails(400)
    assert planted not in api.get(ROOT).ok().body.decode() + str(api.server.sql("SELECT profile FROM warehouse"))


@pytest.mark.parametrize("store", ["s3", "gcs", "adls"])
def test_secrets_that_are_too_long(api, server, store):
    """A line of text instead of a dead server, on a new warehouse and on one that is there; nothing is left."""
    long = secrets.token_hex(40_000)
    credentials = {"s3": {"access-key-id": "a", "secret-access-key": long}, "adls": {"account-key": long},
                   "gcs": {"service-account-key": {"client_email": "b@c.iam", "private_key": long}}}[store]
    body = {"name": "long", "active": False, "base-location": BASES[store],
            "storage": {"type": store, "region": "us-east-1"} if store == "s3" else {"type": store}}
    api.post(ROOT, body | {"credentials": {"type": "static"} | credentials}).fails(400, contains="65536")
    assert "long" not in [w["name"] for w in api.get(ROOT).ok().json["warehouses"]]
    assert server.sql("SELECT count(*) FROM secret WHERE warehouse_id <> 0 AND length(sealed) > 65536") == [(0,)]


def test_restart(api, server, house):
    """Keys are sealed in the database and open again."""
    make_table(api, house).ok()
    server.restart()
    api.get(f"{prefix(house)}/namespaces/a/tables/t").ok()
    make_table(api, house, name="u").ok()


def test_command(api, server, house):
    """firn warehouse does the same without a server."""
    def firn(*words, body=None, code=0):
        done = subprocess.run([server.binary, "warehouse", *words], env=server.environment(), text=True,
                              input=json.dumps(body) if body else "", capture_output=True, timeout=60)
        assert done.returncode == code, done
        return done

    if server.db.kind == "sqlite":
        server.stop()  # one process at a time
    name = f"w{secrets.token_hex(4)}"
    made = json.loads(firn("create", body=described(api, name)).stdout)
    assert made["name"] == name
    assert {house["name"], name} <= {w["name"] for w in json.loads(firn("list").stdout)["warehouses"]}
    assert json.loads(firn("show", name).stdout) == made
    assert json.loads(firn("check", name).stdout) == {"ok": True}
    if server.store.kind == "file":  # the place of another kind of store cannot be taken away
        place = local_path(made["base-location"])
        place.rename(str(place) + "-away")
        place.write_text("a file where a folder was")
        bad = firn("check", name, code=1)
        assert json.loads(bad.stdout)["ok"] is False and json.loads(bad.stdout)["message"] in bad.stderr
        place.unlink()
    assert json.loads(firn("change", name, body={"active": False}).stdout)["active"] is False
    assert "already exists" in firn("create", body=described(api, name), code=1).stderr.lower()
    assert "does not exist" in firn("show", "nope", code=1).stderr
    assert "JSON" in firn("create", body=None, code=1).stderr
    firn("delete", name)
    assert "usage" not in firn("show", code=2).stdout
    if server.db.kind == "sqlite":
        server.start()


def test_an_address_of_its_own():
    """With FIRN_MANAGEMENT_LISTEN administration is there and nowhere else, and the catalog is not there."""
    with Server(env={"FIRN_MANAGEMENT_LISTEN": "127.0.0.1:0"}) as firn:
        here = Api(firn)
        here.get("/v1/config").ok()
        here.get(ROOT).fails(404)
        address = firn.management_address
        assert address

        class There:
            process, store = firn.process, firn.store
            host_port = (address.rpartition(":")[0], int(address.rpartition(":")[2]))

        There.address = address
        there = Api(There)
        assert there.get(ROOT).ok().json["warehouses"]
        there.get("/v1/config").fails(404)
        there.post("/v1/namespaces", {"namespace": ["a"]}).fails(404)
        here.close()
        there.close()
