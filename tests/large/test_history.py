"""50 MB of metadata: 50,000 snapshots. Answers are right, and memory holds a document or two."""

import json

import pytest

from conftest import Memory
from firn_client import Api, add_snapshot, assert_ref, in_parallel, ns_path, set_properties, set_ref, table_path
from firn_server import Server

N = 50_000
SIZE = 50  # MB, about
ID = 10**15
UUID = "5f0e3c2a-7b1d-4c8e-9a6f-0123456789ab"


def history(location):
    """The file of a table with a long history, as another writer left it."""
    snapshots = [{
        "sequence-number": i, "snapshot-id": ID + i, "timestamp-ms": 1_600_000_000_000 + 1000 * i,
        "summary": {"operation": "append", "note": "x" * 600}, "schema-id": 0,
        "manifest-list": f"{location}/metadata/snap-{ID + i}-1-{UUID}.avro",
    } | ({"parent-snapshot-id": ID + i - 1} if i > 1 else {}) for i in range(1, N + 1)]
    return {
        "format-version": 2, "table-uuid": UUID, "location": location, "last-sequence-number": N,
        "last-updated-ms": 1_600_000_000_000 + 1000 * N, "last-column-id": 1, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "id", "required": False, "type": "long"}]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {}, "current-snapshot-id": ID + N,
        "refs": {"main": {"snapshot-id": ID + N, "type": "branch"}, "old": {"snapshot-id": ID + 7, "type": "tag"}},
        "snapshots": snapshots, "statistics": [], "partition-statistics": [],
        "snapshot-log": [{"timestamp-ms": s["timestamp-ms"], "snapshot-id": s["snapshot-id"]} for s in snapshots],
        "metadata-log": [],
    }


class Big:
    def __init__(self, api, ns, name, document):
        self.api, self.path, self.document = api, table_path(ns, name), document
        self.location = document["location"]

    def ask(self, query="", **headers):
        return self.api.request("GET", self.path + query, headers=headers, check=False).expect(200, 304)

    def commit(self, *updates, requirements=()):
        body = {"requirements": list(requirements), "updates": list(updates)}
        return self.api.request("POST", self.path, body, check=False).ok()


def registered(server, api):
    ns = api.new_namespace()
    document = history(f"{server.store.base}/big")
    file = f"{document['location']}/metadata/00000-{UUID}.metadata.json"
    text = json.dumps(document, separators=(",", ":")).encode()
    server.store.write(file, text)
    assert SIZE * 0.8e6 < len(text) < SIZE * 1.2e6
    answer = api.request("POST", f"{ns_path(ns)}/register", {"name": "big", "metadata-location": file}, check=False)
    assert text in answer.ok().body
    table = Big(api, ns, "big", document)
    table.text, table.etag = text, answer.etag
    return table


@pytest.fixture(scope="session")
def big(server, api):
    return registered(server, api)


def test_load(big, memory):
    """As the file has it, byte for byte; memory holds what is read, not a tree of it."""
    answer = big.ask()
    assert big.text in answer.body and answer.etag == big.etag
    assert memory.peak() < 3 * SIZE
    assert memory.kept() < SIZE


def test_load_packed(big, memory):
    """The same bytes, a tenth of them on the way, though no cache keeps the document."""
    answer = big.ask(**{"Accept-Encoding": "gzip"})
    assert answer.header("Content-Encoding") == "gzip" and len(answer.raw) < len(answer.body) / 10
    assert big.text in answer.body
    assert memory.peak() < 3 * SIZE


def test_eight_readers(server, big, memory):
    """They share what they read."""
    def read(i):
        packed = {"Accept-Encoding": "gzip"} if i % 2 else {}
        body = Api(server).request("GET", big.path, headers=packed, check=False).ok().body
        return big.text in body

    assert all(in_parallel(8, read))
    assert memory.peak() < 4 * SIZE
    assert memory.kept() < SIZE


def test_kept_in_memory():
    """With room for it in the cache it is read once and packed once; a load then costs no memory."""
    with Server(env={"FIRN_CACHE": "1g", "FIRN_LOG_LEVEL": "info"}) as firn:
        api, memory = Api(firn), Memory(firn)
        table, packed = registered(firn, api), {"Accept-Encoding": "gzip"}
        table.ask(**packed)
        answer = table.ask(**packed)
        assert answer.header("Content-Encoding") == "gzip" and len(answer.raw) < len(answer.body) / 10
        assert table.text in answer.body
        reads = firn.metric("firn_cache_misses_total")
        memory.begin()
        for i in range(8):
            assert table.text in table.ask(**(packed if i % 2 else {})).body
        assert firn.metric("firn_cache_misses_total") == reads
        assert memory.peak() < 8


def test_not_modified(big, memory):
    """Nothing is read for that."""
    answer = big.ask(**{"If-None-Match": big.etag})
    assert answer.status == 304 and answer.body == b""
    assert memory.peak() <= 2


def test_refs(big, memory):
    """Two snapshots of 50,000, the rest as it is."""
    found = big.ask("?snapshots=refs").json["metadata"]
    assert [s["snapshot-id"] for s in found["snapshots"]] == [ID + 7, ID + N]
    kept = [s for s in big.document["snapshots"] if s["snapshot-id"] in (ID + 7, ID + N)]
    assert found == big.document | {"snapshots": kept}
    assert memory.peak() < 3 * SIZE


def test_commit(big, memory):
    """A snapshot more, then a property, then one asserts what is not so any more."""
    new = add_snapshot(ID, N + 1, ID + N, big.location)
    found = big.commit(new, set_ref("main", ID), requirements=[assert_ref(ID + N)]).json["metadata"]
    assert found["snapshots"][:-1] == big.document["snapshots"] and found["snapshots"][-1]["snapshot-id"] == ID
    assert [e["snapshot-id"] for e in found["snapshot-log"]] == [*range(ID + 1, ID + N + 1), ID]
    assert memory.peak() < 4 * SIZE
    after = big.commit(set_properties(a="b")).json["metadata"]
    assert after["properties"] == {"a": "b"} and len(after["snapshots"]) == N + 1
    body = {"requirements": [assert_ref(ID + N)], "updates": [set_properties(a="c")]}
    big.api.post(big.path, body).fails(409, "CommitFailedException")
    assert memory.kept() < 2 * SIZE


def test_expiry(server, big, memory):
    """All but a few snapshots go, each by an update of its own as older clients send them, half of
    them in a first request."""
    work = server.metric("firn_json_parses_total")
    for first, last in ((1, N // 2), (N // 2 + 1, N - 10)):
        answer = big.commit(*({"action": "remove-snapshots", "snapshot-ids": [ID + i]} for i in range(first, last + 1)))
    found = answer.json["metadata"]
    kept = [*range(ID + N - 9, ID + N + 1), ID]
    assert [s["snapshot-id"] for s in found["snapshots"]] == kept
    assert [e["snapshot-id"] for e in found["snapshot-log"]] == kept
    assert list(found["refs"]) == ["main"]
    assert memory.peak() < 5 * SIZE
    assert server.metric("firn_json_parses_total") - work < 100
