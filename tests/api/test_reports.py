"""What users of other catalogs have reported, and the sequences of requests that clients send."""

import json
import random
import time

import pytest

from firn_client import (SLOWNESS, Api, Table, add_snapshot, assert_ref, assert_uuid, create_updates, enc_java, field,
                         in_parallel, ns_path, now_ms, operations, set_properties, set_ref, simple, struct)

JAVA = {"Content-Type": "application/json", "Accept": "application/json", "X-Client-Version": "Apache Iceberg 1.12.0",
        "X-Client-Git-Commit-Short": "abcdef0", "User-Agent": "Apache-HttpClient/5.6 (Java/17.0)",
        "Accept-Encoding": "gzip, x-gzip, deflate", "Connection": "keep-alive"}
PYICEBERG = {"Content-Type": "application/json", "User-Agent": "PyIceberg/0.12.0", "X-Client-Version": "PyIceberg 0.12.0",
             "X-Iceberg-Access-Delegation": "vended-credentials", "Accept": "*/*", "Authorization": "Bearer None",
             "Accept-Encoding": "gzip, deflate, br, zstd"}


class As:
    """Requests with the headers of one client."""

    def __init__(self, api, headers):
        self.api, self.headers = api, headers

    def __call__(self, method, path, body=None):
        return self.api.request(method, path, body, self.headers)


def test_java_from_connect_to_drop(api):
    """Config, namespaces with an empty page token, staged create with its commit, appends, metrics,
    metadata table, purge by the client itself."""
    java, ns = As(api, JAVA), api.new_name("db ")
    path = f"/v1/namespaces/{enc_java(ns)}"
    java("GET", "/v1/config").ok()
    java("GET", "/v1/namespaces?pageToken=").ok()
    java("HEAD", path).expect(404)
    java("POST", "/v1/namespaces", {"namespace": [ns], "properties": {"owner": "root"}}).ok()
    java("GET", path).ok()
    java("GET", f"{path}/tables/t?snapshots=all").fails(404, "NoSuchTableException")
    m = java("POST", f"{path}/tables", {
        "name": "t", "location": None, "schema": simple(), "partition-spec": {"spec-id": 0, "fields": []},
        "write-order": {"order-id": 0, "fields": []}, "properties": {"owner": "root"}, "stage-create": True}).ok().json["metadata"]
    updates = [*create_updates(m), add_snapshot(7, 1, location=m["location"]), set_ref("main", 7)]
    java("POST", f"{path}/tables/t", {"requirements": [{"type": "assert-create"}], "updates": updates}).ok()
    java("GET", f"{path}/tables/t?snapshots=all").ok()
    java("GET", f"/v1/namespaces/{enc_java(ns)}%1Ft/tables/files?snapshots=all").fails(404, "NoSuchTableException")
    java("POST", f"{path}/tables/t", {
        "requirements": [assert_uuid(m["table-uuid"]), assert_ref(7)],
        "updates": [add_snapshot(8, 2, 7, m["location"]), set_ref("main", 8)]}).ok()
    java("POST", f"{path}/tables/t/metrics", {
        "report-type": "commit-report", "table-name": f"{ns}.t", "snapshot-id": 8, "sequence-number": 2,
        "operation": "append", "metrics": {"total-duration": {"count": 1, "time-unit": "nanoseconds", "total-duration": 5}},
        "metadata": {"iceberg-version": "1.12.0"}}).expect(204)
    assert java("GET", f"{path}/tables?pageToken=").ok().json.get("next-page-token") is None
    location = java("GET", f"{path}/tables/t?snapshots=all").ok().json["metadata-location"]
    java("DELETE", f"{path}/tables/t").expect(204)
    assert api.store.exists(location), "the client reads it once more to delete the data"
    java("GET", f"{path}/tables/t?snapshots=all").fails(404, "NoSuchTableException")
    java("DELETE", path).expect(204)


def test_pyiceberg_from_connect_to_drop(api):
    """Delegation on every request, `Bearer None`, the identifier in commits, capital booleans."""
    py, ns = As(api, PYICEBERG), api.new_name("db ")
    path = ns_path(ns)
    py("GET", "/v1/config?warehouse=main").ok()
    py("POST", "/v1/namespaces", {"namespace": [ns], "properties": {}}).ok()
    m = py("POST", f"{path}/tables", {
        "name": "t", "schema": simple() | {"identifier-field-ids": []}, "partition-spec": {"spec-id": 0, "fields": []},
        "write-order": {"order-id": 0, "fields": []}, "stage-create": False, "properties": {}}).ok().json["metadata"]
    answer = py("POST", f"{path}/tables/t", {
        "identifier": {"namespace": [ns], "name": "t"},
        "requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}, assert_uuid(m["table-uuid"])],
        "updates": [add_snapshot(7, 1, location=m["location"], summary={"operation": "append", "added-records": "1"}),
                    set_ref("main", 7)]}).ok()
    assert not answer.json.get("storage-credentials")
    assert py("GET", f"{path}/tables/t").ok().json["config"] == {}
    py("HEAD", f"{path}/tables/t").expect(204)
    py("POST", "/v1/tables/rename", {"source": {"namespace": [ns], "name": "t"},
                                     "destination": {"namespace": [ns], "name": "u"}}).expect(204)
    py("DELETE", f"{path}/tables/u?purgeRequested=False").expect(204)
    py("POST", f"{path}/register", {"name": "t", "metadata-location": answer.json["metadata-location"], "overwrite": False}).ok()
    py("DELETE", f"{path}/tables/t?purgeRequested=True").expect(204)
    py("DELETE", path).expect(204)


def test_clickhouse_commits(api, ns):
    """Only a ref assertion, without a snapshot id for the first, -1 as the parent, bodies in chunks."""
    table = api.table(ns)
    first = add_snapshot(1, 1, -1, table.location)
    api.request("POST", table.path, {"requirements": [{"type": "assert-ref-snapshot-id", "ref": "main"}], "updates": [
        first, {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 1}]},
        {"User-Agent": "ClickHouse/26.9.2.1"}).ok()
    assert "parent-snapshot-id" not in table.metadata["snapshots"][0]
    back = struct(*simple()["fields"], field(3, "x"))
    table.apply({"action": "add-schema", "schema": back, "last-column-id": 3}, {"action": "set-current-schema", "schema-id": -1})
    got = table.apply({"action": "add-schema", "schema": simple(), "last-column-id": 2},
                      {"action": "set-current-schema", "schema-id": -1})
    assert got["current-schema-id"] == 0


def test_kafka_connect_makes_parents_one_by_one(api):
    """409 is tolerated on the way."""
    a = api.new_name()
    for levels in ([a], [a, "b"], [a, "b", "c"]):
        for _ in range(2):
            api.create_namespace(levels).expect(200, 409)


def test_nulls_for_absent_members(api, ns):
    """Clients that write null for what they leave out; none of them is written back."""
    body = {"name": "t", "location": None, "partition-spec": None, "write-order": None, "stage-create": None,
            "properties": None, "schema": struct(field(1, "a", doc=None)) | {"identifier-field-ids": None}}
    answer = api.post(f"{ns_path(ns)}/tables", body).ok()
    assert b":null" not in answer.body.replace(b'"current-snapshot-id":null', b"")
    table = Table(api, ns, "t")
    update = add_snapshot(1, 1, location=table.location) | {}
    update["snapshot"] |= {"parent-snapshot-id": None, "schema-id": None, "key-id": None}
    answer = table.commit(update, set_ref("main", 1, **{"max-ref-age-ms": None}),
                          {"action": "add-schema", "schema": struct(field(1, "a"), field(2, "b", doc=None)), "last-column-id": None})
    answer.ok()
    assert b":null" not in answer.body


def test_answers_vary_with_what_they_depend_on(table):
    """Caches between us and the client are told."""
    vary = table.load().header("Vary").lower()
    assert "accept-encoding" in vary and "x-iceberg-access-delegation" in vary


@pytest.mark.parametrize("key", ["0191e5a2-7c1d-7b7e-9a3e-1234567890ab", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "abc", "x" * 256])
def test_idempotency_keys_are_taken(api, key):
    """Any text up to 256 bytes; beyond that a 400."""
    name = api.new_name()
    api.request("POST", "/v1/namespaces", {"namespace": [name]}, {"Idempotency-Key": key + ""}).ok()
    api.request("POST", "/v1/namespaces", {"namespace": [name + "2"]}, {"Idempotency-Key": "y" * 257}).fails(400)


def test_every_error_is_an_error_document(api, ns, table):
    """Every operation, with and without a prefix, with absent objects, wrong methods, wrong bodies and wrong
    parameters: the client of these tests checks the form of each answer."""
    names = {"{namespace}": "no_ns", "{table}": "t", "{view}": "v", "{function}": "f", "{plan-id}": "p",
             "{warehouse}": "no_warehouse"}
    for op in operations():
        for prefix in ("", "main/", "nope/"):
            path = op.path.replace("{prefix}/", prefix)
            for placeholder, value in names.items():
                path = path.replace(placeholder, value)
            for method in ("GET", "HEAD", "POST", "DELETE", "PUT"):
                for body in ((None, b"{", b"[]", b"{}", b'{"a":1}') if method == "POST" else (None,)):
                    answer = api.request(method, path, body)
                    assert answer.status < 500 or answer.status == 503, answer
            for query in ("?pageSize=x", "?pageToken=%00", "?snapshots=x&purgeRequested=x", "?%ZZ=1", "?parent=%FF"):
                answer = api.request(op.method, path + query, b"{}" if op.method == "POST" else None)
                assert answer.status < 500, answer


def test_random_requests_never_break_anything(api, ns, table):
    """Mutations of valid bodies: whatever is made of them, no 5xx and no dead server."""
    rng = random.Random(20241130)
    bodies = [
        (f"{ns_path(ns)}/tables", {"name": "n", "schema": simple(), "properties": {"a": "b"}}),
        (table.path, {"requirements": [assert_uuid(table.uuid), assert_ref(None)], "updates": [
            add_snapshot(1, 1, location=table.location), set_ref("main", 1), set_properties(a="b"),
            {"action": "add-schema", "schema": simple()}, {"action": "set-current-schema", "schema-id": -1}]}),
        (f"{ns_path(ns)}/properties", {"updates": {"a": "b"}, "removals": ["c"]}),
        ("/v1/tables/rename", {"source": {"namespace": [ns], "name": "x"}, "destination": {"namespace": [ns], "name": "y"}})]
    values = [None, True, -1, 0, 2**31, 2**63 - 1, 1.5, "", "x", "\u00fc" * 40, [], {}, [[]], {"a": {}}, "-1", [None]]

    def mutate(value):
        if rng.random() < 0.12:
            return rng.choice(values)
        if isinstance(value, dict):
            pairs = [(k, mutate(v)) for k, v in value.items() if rng.random() > 0.04]
            return dict(pairs)
        if isinstance(value, list):
            return [mutate(v) for v in value for _ in range(rng.choice((1, 1, 1, 1, 0, 2)))]
        return value

    for _ in range(400):
        path, body = rng.choice(bodies)
        data = json.dumps(mutate(body), ensure_ascii=False).encode()
        if rng.random() < 0.15:
            at = rng.randrange(len(data) + 1)
            data = data[:at] + bytes(rng.choices(b'{}[]",:\\\x00\xff 0e-', k=rng.randrange(3))) + data[at + rng.randrange(2):]
        answer = api.post(path, data)
        assert answer.status < 500, (answer, data)


@pytest.mark.long
def test_schema_browsers(server, api, ns):
    """300 tables, 32 clients that load them all: every answer is right and costs little."""
    names = [f"t{i:03}" for i in range(300)]
    in_parallel(4, lambda k: [api.create(ns, n).ok() for n in names[k::4]])
    begin = server.cpu_seconds()

    def browse(i):
        client = Api(server)
        for name in names[i % 7::7]:
            answer = client.request("GET", f"{ns_path(ns)}/tables/{name}", check=False).expect(200)
            assert answer.json["metadata"]["location"].count(f"/{name}-") == 1
        client.close()

    in_parallel(32, browse)
    assert server.cpu_seconds() - begin < 5 * SLOWNESS  # of some 1,400 loads


@pytest.mark.long
def test_long_histories(server, api, ns):
    """9,000 snapshots: loads cost their bytes, the refs mode is small, an append is as quick as ever."""
    place = f"{api.store.base}/long/{ns}"
    base = now_ms() - 10_000_000
    document = {
        "format-version": 2, "table-uuid": "3b5c1ea3-0000-4b8f-9a2b-0c3d4e5f6a7b", "location": place,
        "last-sequence-number": 9000, "last-updated-ms": base + 9000, "last-column-id": 2, "schemas": [simple()],
        "current-schema-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "default-spec-id": 0,
        "last-partition-id": 999, "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
        "current-snapshot-id": 9000, "refs": {"main": {"snapshot-id": 9000, "type": "branch"}},
        "snapshots": [{"snapshot-id": i, "sequence-number": i, "timestamp-ms": base + i, "summary": {"operation": "append"},
                       "manifest-list": f"{place}/m{i}", "schema-id": 0} for i in range(1, 9001)],
        "snapshot-log": [{"snapshot-id": i, "timestamp-ms": base + i} for i in range(1, 9001)]}
    uri = f"{place}/metadata/v1.metadata.json"
    api.store.write(uri, json.dumps(document).encode())
    api.register(ns, "t", uri).ok()
    table = Table(api, ns, "t")
    begin = server.cpu_seconds()
    for _ in range(20):
        api.request("GET", table.path, check=False).expect(200)
        api.request("GET", table.path + "?snapshots=refs", check=False).expect(200)
    assert server.cpu_seconds() - begin < 4 * SLOWNESS
    begin = server.cpu_seconds()
    for i in range(9001, 9011):
        api.request("POST", table.path, {"requirements": [assert_ref(i - 1)], "updates": [
            add_snapshot(i, i, i - 1, place), set_ref("main", i)]}, check=False).expect(200)
    assert server.cpu_seconds() - begin < 4 * SLOWNESS


def test_nothing_is_invented(api, ns):
    """A summary with the operation alone is kept as it is: no totals are made up."""
    table = api.table(ns)
    table.append(1, 1)
    assert table.metadata["snapshots"][0]["summary"] == {"operation": "append"}


def test_required_members_of_snapshots_are_there(api, ns):
    """iceberg-rust fails the whole load when one is missing."""
    table = api.table(ns)
    table.append(1, 1)
    table.append(2, 2, 1)
    for snapshot in table.metadata["snapshots"]:
        for member in ("snapshot-id", "timestamp-ms", "manifest-list", "summary", "sequence-number"):
            assert member in snapshot
        assert snapshot["summary"]["operation"]


def test_a_view_is_no_table(api, ns):
    """Clients probe for a view before they make a table of that name: not found or not served, never 500."""
    answer = api.get(f"{ns_path(ns)}/views/x").expect(404, 406)
    assert answer.error["type"] in ("NoSuchViewException", "UnsupportedOperationException")
    api.get(f"{ns_path(ns)}/views").expect(200, 406)
