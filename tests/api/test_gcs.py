"""Google's storage, on an emulator behind a guard that checks tokens (tests/lib/google_stub.py): warehouses on it,
and tokens for clients: what they reach and what they do not."""

import http.client
import json
import secrets
import time
import urllib.parse

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from firn_client import Api, eventually, ns_path, set_properties, simple, table_path
from firn_server import GcsStore, Server, seal
from google_stub import Account

ASKS = {"X_Iceberg_Access_Delegation": "vended-credentials"}
ROOT = "/management/v1/warehouses"
SEAL = seal()


@pytest.fixture(scope="module")
def server():
    firn = Server(store=GcsStore())
    firn.extra |= {"FIRN_GCS_VEND": "true", "FIRN_SECRET_KEYS": SEAL, "FIRN_CACHE": "0",
                   "FIRN_WAREHOUSE_ENDPOINTS": urllib.parse.urlsplit(firn.store.endpoint).netloc,
                   "FIRN_WAREHOUSE_IDENTITY": firn.store.base.rpartition("/")[0],
                   "FIRN_ALLOWED_LOCATIONS": firn.store.base + "-more"}
    firn.given = []
    with firn:
        yield firn
        log = firn.log_text()
        for line in private_lines(firn.store.key):
            assert line not in log
        assert not any(token in log for token in firn.given)


def private_lines(key):
    return [line for line in json.loads(key)["private_key"].splitlines() if line and not line.startswith("-")]


@pytest.fixture
def api(server):
    client = Api(server)
    yield client
    client.close()
    assert server.running()


def credentials(server, answer):
    body = answer.ok().json
    assert len(body["storage-credentials"]) == 1
    found = body["storage-credentials"][0]
    server.given.append(found["config"]["gcs.oauth2.token"])
    if "config" in body:
        assert body["config"] == found["config"]
        assert answer.header("Cache-Control") == "no-store"
    return found["prefix"], found["config"]


def make(api, ns, name, location):
    body = {"name": name, "schema": simple(), "location": location}
    return api.post(f"{ns_path(ns)}/tables", body, **ASKS)


# --- the store ----------------------------------------------------------------------


def test_life_of_a_table(api, server):
    """Every file lies beneath the base; a drop with purge leaves none."""
    ns = api.new_namespace()
    table = api.table(ns)
    assert table.location.startswith(server.store.base + "/")
    for i in range(3):
        table.commit(set_properties(k=str(i))).ok()
    assert len(server.store.list(table.location)) == 4
    assert table.load().ok().json["metadata"]["properties"]["k"] == "2"
    api.delete(f"{table_path(ns, table.name)}?purgeRequested=true").expect(204)
    eventually(lambda: not server.store.list(table.location), 90)


def test_names_that_urls_change(api, server):
    """An object's name is one part of a path, whatever is in it."""
    ns = api.new_namespace()
    for name in ("a b", "ü", "p%2Fq", "1+1", "it's", "[x]"):
        location = f"{server.store.base}/odd {name}/{secrets.token_hex(4)}"
        made = api.create(ns, api.new_name(), location=location).ok().json
        assert server.store.list(location) == [made["metadata-location"]]


def test_register_and_a_bucket_that_is_missing(api, server):
    """A location in another bucket is not the warehouse's, whether or not the bucket exists."""
    ns = api.new_namespace()
    table = api.table(ns)
    file = table.load().ok().json["metadata-location"]
    api.delete(table_path(ns, table.name)).expect(204)
    api.post(f"{ns_path(ns)}/register", {"name": "again", "metadata-location": file}).ok()
    api.create(ns, "other", location=f"gs://no-{secrets.token_hex(4)}/t").fails(400)


# --- warehouses on it ---------------------------------------------------------------


def described(api, **more):
    store = api.store
    name = f"w{secrets.token_hex(4)}"
    return {"name": name, "base-location": f"{store.base}-{name}",
            "storage": {"type": "gcs", "endpoint": store.endpoint, "sts-endpoint": store.endpoint},
            "credentials": {"type": "static", "service-account-key": json.loads(store.key)}} | more


def test_a_warehouse_with_a_key_of_its_own(api, server):
    """The key is sealed and never shown, the account is; the warehouse works also after a restart."""
    made = api.post(ROOT, described(api, delegation=["vended-credentials"])).ok()
    house = made.json
    assert house["credentials"] == {"type": "static", "client-email": json.loads(api.store.key)["client_email"]}
    shown = made.body.decode() + str(server.sql("SELECT profile FROM warehouse")) + str(
        server.sql("SELECT sealed FROM secret"))
    assert not any(line in shown for line in private_lines(api.store.key))
    path = f"/v1/{house['id']}/namespaces"
    api.post(path, {"namespace": ["a"]}).ok()
    server.restart()
    table = api.post(f"{path}/a/tables", {"name": "t", "schema": simple()}, **ASKS)
    assert credentials(server, table)[0] == table.json["metadata"]["location"] + "/"
    assert table.json["metadata"]["location"].startswith(house["base-location"])
    assert api.post(f"{ROOT}/{house['name']}/check").ok().json["ok"]


def test_without_a_key_it_is_the_servers(api):
    house = api.post(ROOT, described(api, credentials={"type": "server"})).ok().json
    api.post(f"/v1/{house['id']}/namespaces", {"namespace": ["a"]}).ok()
    api.post(f"/v1/{house['id']}/namespaces/a/tables", {"name": "t", "schema": simple()}).ok()


def broken(api):
    key = json.loads(api.store.key)
    other = json.loads(Account(email=key["client_email"]).json(key["token_uri"]))

    def with_key(**changes):
        return {"type": "static", "service-account-key": key | changes}

    yield {"credentials": {"type": "static"}}, 400, "service-account-key"
    yield {"credentials": {"type": "static", "client-email": "a@b"}}, 400, "service-account-key"
    yield {"credentials": with_key(private_key="x")}, 400, "in PEM"
    yield {"credentials": with_key(client_email="who@firn.test")}, 400, "invalid_grant"
    yield {"credentials": with_key(private_key=other["private_key"])}, 400, "invalid_grant"
    yield {"credentials": with_key(type="authorized_user")}, 400, "service account"
    yield {"credentials": with_key(token_uri="http://169.254.169.254/token")}, 400, "token_uri"
    yield {"credentials": with_key(token_uri="https://evil.example/token")}, 400, "token_uri"
    yield {"storage": {"type": "gcs", "endpoint": "http://localhost:1"}}, 403, "FIRN_WAREHOUSE_ENDPOINTS"
    yield {"storage": {"type": "gcs", "sts-endpoint": "http://evil.example"}}, 403, "FIRN_WAREHOUSE_ENDPOINTS"
    yield {"base-location": f"gs://no-{secrets.token_hex(4)}/x"}, 400, "bucket does not exist"
    yield {"base-location": "s3://tests/x"}, 400, "storage type gcs"


def test_warehouses_that_cannot_be(api):
    """Each is refused with its reason, which holds no line of the key."""
    for change, status, words in broken(api):
        body = described(api) | change
        error = api.post(ROOT, body).fails(status, contains=words)
        assert not any(line in error["message"] for line in private_lines(api.store.key))
        api.get(f"{ROOT}/{body['name']}").fails(404)


def test_command(api, server):
    """The same from a shell; the sealed key of the default warehouse too."""
    if server.db.kind == "sqlite":
        server.stop()  # the file is one process's
    try:
        made = server.run("warehouse", "create", text=json.dumps(described(api)))
        kept = server.run("secrets", "set", "gcs-key", text=json.dumps(json.loads(api.store.key), indent=1))
        checked = server.run("check", env={"FIRN_GCS_KEY": ""})
        gone = server.run("secrets", "delete", "gcs-key")
    finally:
        if server.db.kind == "sqlite":
            server.start()
    assert made.returncode == 0 and "client-email" in made.stdout, made
    assert kept.returncode == 0 and checked.returncode == 0 and gone.returncode == 0, (kept, checked, gone)


# --- tokens for clients -------------------------------------------------------------


def test_every_clients_words(api, server):
    """Java, PyIceberg, Go and Trino each find theirs; all values are texts."""
    ns = api.new_namespace()
    table = api.table(ns)
    prefix, config = credentials(server, table.load(**ASKS))
    assert prefix == table.location + "/"
    assert all(isinstance(v, str) for v in config.values())
    left = int(config["gcs.oauth2.token-expires-at"]) / 1000 - time.time()
    assert 1000 < left <= 3601
    assert config["expiration-time"] == config["gcs.oauth2.token-expires-at"]
    assert config["gcs.project-id"] == "firn-test"
    assert config["gcs.service.host"] == api.store.endpoint
    again = credentials(server, api.get("/" + config["gcs.oauth2.refresh-credentials-endpoint"]))
    assert again == (prefix, config)
    assert api.get("/v1/config").ok().json["defaults"] == {
        "header.X-Iceberg-Access-Delegation": "vended-credentials"}


def test_who_says_nothing_and_who_declines(api, server):
    table = api.table(api.new_namespace())
    assert credentials(server, table.load()) == credentials(server, table.load(**ASKS))
    body = table.load(X_Iceberg_Access_Delegation="client-managed").ok().json
    assert body["config"] == {} and not body.get("storage-credentials")


def test_the_token_is_asked_for_once(api, server):
    table = api.table(api.new_namespace())
    first = credentials(server, table.load(**ASKS))
    asked = server.metric("firn_vend_requests_total")
    assert credentials(server, table.load(**ASKS)) == first
    assert server.metric("firn_vend_requests_total") == asked


class Thief:
    """Whoever has a token and a plain HTTP client."""

    def __init__(self, config):
        self.host = config["gcs.service.host"].removeprefix("http://")
        self.token = config["gcs.oauth2.token"]

    def ask(self, method, path, body=None, **headers):
        link = http.client.HTTPConnection(self.host, timeout=30)
        link.request(method, path, body, {"Authorization": f"Bearer {self.token}"} | headers)
        answer = link.getresponse()
        text = answer.read()
        link.close()
        return answer.status, text

    @staticmethod
    def split(uri):
        bucket, _, name = uri.split("://", 1)[1].partition("/")
        return bucket, urllib.parse.quote(name, safe="")

    def get(self, uri):
        bucket, name = self.split(uri)
        return self.ask("GET", f"/storage/v1/b/{bucket}/o/{name}?alt=media")[0]

    def put(self, uri, only_new=True):
        bucket, name = self.split(uri)
        only = "&ifGenerationMatch=0" if only_new else ""
        return self.ask("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}{only}", b"x")[0]

    def delete(self, uri):
        bucket, name = self.split(uri)
        return self.ask("DELETE", f"/storage/v1/b/{bucket}/o/{name}")[0]

    def list(self, uri):
        bucket, name = self.split(uri)
        return self.ask("GET", f"/storage/v1/b/{bucket}/o?prefix={name}")[0]


def test_what_a_token_reaches(api, server):
    """All beneath the table's location, and listing it; neither what begins alike nor what lies around."""
    ns = api.new_namespace()
    where = f"{server.store.base}/{secrets.token_hex(4)}"
    table = make(api, ns, "t", f"{where}/t1")
    thief = Thief(credentials(server, table)[1])
    for name in ("t10/a", "a", "t1", "t"):
        server.store.write(f"{where}/{name}", b"not yours")
    inside = f"{where}/t1/data/x"
    assert thief.put(inside) == 200 and thief.get(inside) == 200 and thief.list(f"{where}/t1/") == 200
    assert thief.put(inside, only_new=False) == 200
    assert thief.get(table.json["metadata-location"]) == 200
    assert thief.delete(inside) in (200, 204)
    for uri in ("t10/a", "a", "t1", "t"):
        uri = f"{where}/{uri}"
        assert (thief.get(uri), thief.put(uri), thief.put(uri, False), thief.delete(uri)) == (403,) * 4, uri
        assert server.store.read(uri) == b"not yours"
    for prefix in (where, f"{where}/", f"{where}/t1", f"{where}/t10", f"{where}/t10/", "gs://tests/", "gs://tests"):
        assert thief.list(prefix) == 403, prefix
    assert thief.get(f"{where}/t1/../t10/a") in (403, 404)
    assert thief.put(f"gs://elsewhere/{where.partition('tests/')[2]}/t1/x") in (403, 404)


def test_a_token_is_good_for_no_other(api, server):
    """It cannot be exchanged for one with other limits."""
    table = api.table(api.new_namespace())
    thief = Thief(credentials(server, table.load(**ASKS))[1])
    kind = "urn:ietf:params:oauth:token-type:access_token"
    form = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": thief.token,
            "subject_token_type": kind, "requested_token_type": kind, "options": json.dumps({
                "accessBoundary": {"accessBoundaryRules": [{
                    "availableResource": "//storage.googleapis.com/projects/_/buckets/tests",
                    "availablePermissions": ["inRole:roles/storage.objectUser"],
                    "availabilityCondition": {"expression": "resource.name.startsWith('')"}}]}})}
    status, text = thief.ask("POST", "/v1/token", urllib.parse.urlencode(form).encode(),
                             **{"Content-Type": "application/x-www-form-urlencoded"})
    assert status == 400 and b"access_token\"" not in text


@pytest.mark.parametrize("name", ["it's", "') || true || ('", "a\"b", "ü ü", "*", "$(x)", "`x`", "a') || resource.name.startsWith('"])
def test_names_that_mean_something_in_a_condition(api, server, name):
    """They are texts there: the table's own files can be reached and its neighbour's cannot."""
    ns = api.new_namespace()
    where = f"{server.store.base}/{secrets.token_hex(4)}"
    table = make(api, ns, "t", f"{where}/{name}")
    server.store.write(f"{where}/other/a", b"not yours")
    thief = Thief(credentials(server, table)[1])
    assert thief.get(table.json["metadata-location"]) == 200
    assert thief.put(f"{where}/{name}/data/x") == 200
    assert thief.get(f"{where}/other/a") == 403
    assert thief.list(f"{where}/") == 403


def test_pyiceberg_knows_the_catalog_only(api, server):
    """It writes and reads with what comes with the table, and no other property."""
    ns = api.new_namespace()
    catalog = load_catalog("firn", type="rest", uri=server.url)
    rows = pa.table({"id": pa.array(range(10), pa.int64()), "name": pa.array([f"n{i}" for i in range(10)])})
    table = catalog.create_table((ns, "t"), rows.schema)
    table.append(rows)
    table.append(rows)
    table.delete("id = 3")
    found = load_catalog("again", type="rest", uri=server.url).load_table(table.name()).scan().to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(i for i in range(10) if i != 3 for _ in (1, 2))
    names = [uri.removeprefix(table.location()) for uri in server.store.list(table.location())]
    assert any(n.startswith("/data/") and n.endswith(".parquet") for n in names)
    server.given.append(table.io.properties["gcs.oauth2.token"])
    catalog.purge_table(table.name())
