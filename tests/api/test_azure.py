"""Azure's storage, on its emulator (Azurite): warehouses on it, and signatures for clients. The emulator has no
directories: what a signature for one reaches is test_azure_tokens.py's."""

import base64
import json
import os
import secrets
import subprocess
import sys
import time
import urllib.parse

import pytest

from azure_blob import Blobs
from azure_front import Front
from firn_client import Api, eventually, ns_path, set_properties, simple, table_path
from firn_server import AzureStore, Server, seal, slow_build

ASKS = {"X_Iceberg_Access_Delegation": "vended-credentials"}
ROOT = "/management/v1/warehouses"
SEAL = seal()


@pytest.fixture(scope="module")
def server():
    firn = Server(store=AzureStore())
    firn.extra |= {"FIRN_AZURE_VEND": "container", "FIRN_SECRET_KEYS": SEAL, "FIRN_CACHE": "0",
                   "FIRN_WAREHOUSE_ENDPOINTS": urllib.parse.urlsplit(firn.store.endpoint).netloc,
                   "FIRN_WAREHOUSE_IDENTITY": firn.store.base.rpartition("/")[0],
                   "FIRN_ALLOWED_LOCATIONS": firn.store.base + "-more"}
    with firn:
        yield firn
        log = firn.log_text()
        assert firn.store.key not in log and "sig=" not in log
        assert "gets access to all of its container" in log


@pytest.fixture
def api(server):
    client = Api(server)
    yield client
    client.close()
    assert server.running()


def credentials(answer):
    body = answer.ok().json
    assert len(body["storage-credentials"]) == 1
    found = body["storage-credentials"][0]
    if "config" in body:
        assert body["config"] == found["config"]
        assert answer.header("Cache-Control") == "no-store"
    return found["prefix"], found["config"]


def create(api, ns, name, **more):
    return api.request("POST", f"{ns_path(ns)}/tables", {"name": name, "schema": simple()} | more,
                       {"X-Iceberg-Access-Delegation": "vended-credentials"})


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
    """Signed as they are sent, and found under the name that was meant."""
    ns = api.new_namespace()
    for name in ("a b", "ü", "p%2Fq", "1+1", "it's", "[x]", "a&b=c", "~(*)!"):
        location = f"{server.store.base}/odd {name}/{secrets.token_hex(4)}"
        made = api.create(ns, api.new_name(), location=location).ok().json
        assert server.store.list(location) == [made["metadata-location"]]


def test_one_place_by_many_names(api, server):
    """The account's hosts and schemes name the same objects: no table lies in another by another spelling."""
    ns = api.new_namespace()
    table = api.table(ns)
    other = table.location.replace("abfss://", "wasbs://").replace(".dfs.", ".blob.")
    for location in (other, table.location.replace("abfss://", "abfs://") + "/inner",
                     table.location.replace(".dfs.core", ".DFS.Core")):
        assert api.create(ns, api.new_name(), location=location).status in (400, 409)
    for location in (table.location.replace("@", "-x@"), table.location.replace(server.store.account, "other"),
                     "abfss://" + table.location.split("@")[1], table.location.replace("windows.net", "windows.net.")):
        api.create(ns, api.new_name(), location=location).fails(400)


# --- warehouses on it ---------------------------------------------------------------


def described(api, storage=None, **more):
    store = api.store
    name = f"w{secrets.token_hex(4)}"
    return {"name": name, "base-location": f"{store.base}-{name}",
            "storage": {"type": "adls", "endpoint": store.endpoint} | (storage or {}),
            "credentials": {"type": "static", "account-key": store.key}} | more


def test_a_warehouse_with_a_key_of_its_own(api, server):
    """The key is sealed and never shown; the warehouse works also after a restart."""
    made = api.post(ROOT, described(api, {"vend-scope": "container", "vend-by-account-key": True},
                                    delegation=["vended-credentials"])).ok()
    house = made.json
    assert house["credentials"] == {"type": "static"}
    shown = made.body.decode() + str(server.sql("SELECT profile FROM warehouse")) + str(
        server.sql("SELECT sealed FROM secret"))
    assert api.store.key not in shown
    path = f"/v1/{house['id']}/namespaces"
    api.post(path, {"namespace": ["a"]}).ok()
    server.restart()
    table = api.request("POST", f"{path}/a/tables", {"name": "t", "schema": simple()},
                        {"X-Iceberg-Access-Delegation": "vended-credentials"})
    assert credentials(table)[0] == table.json["metadata"]["location"] + "/"
    assert table.json["metadata"]["location"].startswith(house["base-location"])
    assert api.post(f"{ROOT}/{house['name']}/check").ok().json["ok"]
    without = {"storage": {"type": "adls", "endpoint": api.store.endpoint}, "delegation": []}
    api.post(f"{ROOT}/{house['name']}", without).ok()


def test_without_a_key_it_is_the_servers(api):
    house = api.post(ROOT, described(api, credentials={"type": "server"})).ok().json
    api.post(f"/v1/{house['id']}/namespaces", {"namespace": ["a"]}).ok()
    api.post(f"/v1/{house['id']}/namespaces/a/tables", {"name": "t", "schema": simple()}).ok()


def broken(api):
    def static(**more):
        return {"credentials": {"type": "static"} | more}

    vended = {"delegation": ["vended-credentials"]}
    at = {"type": "adls", "endpoint": api.store.endpoint}
    app = {"tenant-id": "t", "client-id": "c", "client-secret": "s"}
    yield static(), 400, "account-key"
    yield static(**{"account-key": "no base64!"}), 400, "no base64"
    yield static(**{"account-key": base64.b64encode(b"other").decode()}), 400, "403"
    yield static(**{"account-key": api.store.key, "client-secret": "s"}), 400, "found both"
    yield static(**{"account-key": "a\nb"}), 400, "line end"
    yield static(**app | {"client-secret": None}), 400, "client-secret"
    yield static(**{"client-secret": "s", "client-id": "c"}), 400, "account-key (or client-secret)"
    yield {"storage": {"type": "adls", "endpoint": "http://localhost:1/firnacc"}}, 403, "FIRN_WAREHOUSE_ENDPOINTS"
    yield {"storage": at, "base-location": "abfss://tests@evil.dfs.example.org/x"}, 403, "FIRN_WAREHOUSE_ENDPOINTS"
    yield {"storage": at, "base-location": "abfss://tests@a.dfs.localhost/x"}, 403, "FIRN_WAREHOUSE_ENDPOINTS"
    yield {"base-location": api.store.base.replace("abfss:", "wasbs:") + "-wasb"}, 400, "wasb"
    yield {"base-location": api.store.base.replace("://tests@", "://missing@")}, 400, "ContainerNotFound"
    yield {"base-location": "s3://tests/x"}, 400, "storage type adls"
    yield {"allowed-locations": ["abfss://tests@other.dfs.core.windows.net/x"]}, 400, "another storage account"
    yield vended, 400, "vend-by-account-key"
    yield vended | {"storage": at | {"vend-by-account-key": True}}, 400, "hierarchical namespace"
    yield {"storage": at | {"vend-scope": "all"}}, 400, "vend-scope"


def test_warehouses_that_cannot_be(api):
    """Each is refused with its reason, which holds no key."""
    for change, status, words in broken(api):
        body = described(api) | {k: v for k, v in change.items() if v is not None}
        body["credentials"] = {k: v for k, v in body["credentials"].items() if v is not None}
        error = api.post(ROOT, body).fails(status, contains=words)
        assert api.store.key not in error["message"]
        api.get(f"{ROOT}/{body['name']}").fails(404)


def test_command(api, server):
    """The same from a shell; the sealed key of the default warehouse too."""
    if server.db.kind == "sqlite":
        server.stop()  # the file is one process's
    try:
        made = server.run("warehouse", "create", text=json.dumps(described(api)))
        kept = server.run("secrets", "set", "azure-key", text=api.store.key + "\n")
        checked = server.run("check", env={"FIRN_AZURE_ACCOUNT_KEY": ""})
        gone = server.run("secrets", "delete", "azure-key")
    finally:
        if server.db.kind == "sqlite":
            server.start()
    assert made.returncode == 0 and api.store.key not in made.stdout, made
    assert kept.returncode == 0 and checked.returncode == 0 and gone.returncode == 0, (kept, checked, gone)


# --- signatures for clients -----------------------------------------------------------


def test_every_clients_words(api, server):
    """Java, Go, Trino and DuckDB find theirs by the host, PyIceberg by the account; all values are texts."""
    ns = api.new_namespace()
    table = api.table(ns)
    prefix, config = credentials(table.load(**ASKS))
    assert prefix == table.location + "/"
    assert all(isinstance(v, str) for v in config.values())
    host = server.store.host
    left = int(config[f"adls.sas-token-expires-at-ms.{host}"]) / 1000 - time.time()
    assert 1000 < left <= 3601
    assert config["expiration-time"] == config[f"adls.sas-token-expires-at-ms.{host}"]
    assert config[f"adls.sas-token.{host}"] == config["adls.sas-token"]
    assert config["adls.account-name"] == server.store.account
    assert config[f"adls.connection-string.{host}"] == server.store.endpoint
    assert [k for k in config if k.startswith("adls.sas-token.")] == [f"adls.sas-token.{host}"]
    again = credentials(api.get("/" + config["adls.refresh-credentials-endpoint"]))
    assert again == (prefix, config)
    other = api.table(ns)
    assert credentials(other.load(**ASKS))[1]["adls.sas-token"]


def test_who_gets_none(api, server):
    """Who declines; and a table in a folder of whose name two readings are possible."""
    ns = api.new_namespace()
    table = api.table(ns)
    assert table.load(X_Iceberg_Access_Delegation="client-managed").ok().json["config"] == {}
    assert credentials(table.load()) == credentials(table.load(**ASKS))
    odd = create(api, ns, "odd", location=f"{server.store.base}/a%41/{secrets.token_hex(4)}").ok().json
    assert odd["config"] == {} and not odd.get("storage-credentials")
    api.get(f"{table_path(ns, 'odd')}/credentials").fails(400, contains="'%'")


def test_what_a_signature_reaches(api, server):
    """The container and no other, with its permissions and no more, unchanged and not afterwards."""
    table = api.table(api.new_namespace())
    _, config = credentials(table.load(**ASKS))
    store, sas = server.store, config["adls.sas-token"]
    client = Blobs(store.endpoint, store.account, store.container, sas=sas)
    file = store.name(table.load().ok().json["metadata-location"])
    assert client.ask("GET", file)[0] == 200
    assert client.put(file + "-x", b"x")[0] == 201
    assert client.ask("DELETE", file + "-x")[0] == 202
    assert len(client.list(store.name(table.location))) == 1
    assert client.ask("PUT", file, b"t=1", {"comp": "tags"})[0] == 403
    assert client.ask("DELETE", query={"restype": "container"})[0] in (400, 403)
    other = Blobs(store.endpoint, store.account, f"other-{secrets.token_hex(4)}", key=store.key)
    assert other.ask("PUT", query={"restype": "container"})[0] == 201
    assert other.put("a", b"x")[0] == 201
    other.sas = sas
    assert other.ask("GET", "a")[0] == 403
    for change in (("sp=racwdl", "sp=racwdlx"), ("se=20", "se=21"), ("sig=", "sig=A")):
        assert Blobs(store.endpoint, store.account, store.container, sas=sas.replace(*change)).ask("GET", file)[0] == 403


PYICEBERG = """
import sys
import pyarrow as pa
from pyiceberg.catalog import load_catalog

catalog = load_catalog("firn", type="rest", uri=sys.argv[1])
rows = pa.table({"a": [1, 2, 3], "b": ["x", "y z", "ü%"]})
table = catalog.create_table((sys.argv[2], "t"), rows.schema)
table.append(rows)
table.append(rows)
again = catalog.load_table((sys.argv[2], "t"))
assert not [k for k in catalog.properties if k.startswith("adls")]
assert sorted(again.scan().to_arrow()["a"].to_pylist()) == [1, 1, 2, 2, 3, 3]
again.overwrite(rows, overwrite_filter="a > 1")
assert again.scan().to_arrow().num_rows == 5
"""


def test_pyiceberg_with_nothing_but_the_address(api, server, tmp_path):
    """It asks for Azure's own host with what the catalog gave it, writes and reads."""
    ns = api.new_namespace()
    at = urllib.parse.urlsplit(server.store.endpoint).netloc
    with Front(f"{server.store.account}.blob.core.windows.net", at, tmp_path) as front:
        done = subprocess.run([sys.executable, "-c", PYICEBERG, server.url, ns], text=True, capture_output=True,
                              env=os.environ | front.environment, timeout=120 * slow_build())
        assert done.returncode == 0, done.stderr[-3000:]
        assert front.strangers == []
    assert any(name.endswith(".parquet") for name in server.store.list())
