"""Reported cases B100 to B104: long histories, wide schemas, many tables, crowds of readers."""

import gzip
import json
import uuid

import pytest
from test_drop_rename_register import document

from firn_client import (SLOWNESS, Api, Table, add_snapshot, assert_ref, field, in_parallel, ns_path, set_properties,
                         set_ref, struct, table_path)
from firn_server import Server

MB = 1024 * 1024
MANY = int(1_000_000 / SLOWNESS)


@pytest.fixture(scope="module")
def server():
    """Not at debug level: what is measured is not the log."""
    with Server(env={"FIRN_LOG_LEVEL": "info"}) as firn:
        yield firn


def quick(api, method, path, body=None, **headers):
    """Without a look at the whole document, which takes longer than the server does."""
    return api.request(method, path, body, headers, check=False).expect(200)


def with_snapshots(api, ns, count, **members):
    """A registered table of so many snapshots; the last is main, the first a tag."""
    place = f"{api.store.base}/cases/{ns}"
    head = document(place, **{"last-sequence-number": count, "current-snapshot-id": count, "refs": {
        "main": {"snapshot-id": count, "type": "branch"}, "first": {"snapshot-id": 1, "type": "tag"}}} | members)
    one = ('{"snapshot-id":%d,"sequence-number":%d,"timestamp-ms":1700000000000,"manifests":[],'
           '"summary":{"operation":"append"}}')
    text = json.dumps(head)[:-1] + ',"snapshots":[' + ",".join(one % (i, i) for i in range(1, count + 1)) + "]}"
    uri = f"{place}/metadata/v1.metadata.json"
    api.store.write(uri, text.encode())
    quick(api, "POST", f"{ns_path(ns)}/register", {"name": "t", "metadata-location": uri})
    return Table(api, ns, "t"), len(text)


def costing(server, work):
    """What it gives, and the seconds of CPU that the server took."""
    begin = server.cpu_seconds()
    return work(), server.cpu_seconds() - begin


@pytest.mark.long
def test_b100_a_million_snapshots(server, api, ns):
    """refs is small and soon there, a commit costs a copy of the file, memory a few documents."""
    table, size = with_snapshots(api, ns, MANY)
    for _ in range(3):
        got, took = costing(server, lambda: quick(api, "GET", table.path + "?snapshots=refs"))
        assert [s["snapshot-id"] for s in got.json["metadata"]["snapshots"]] == [1, MANY]
        assert len(got.raw) < 4000 and took < 5 * SLOWNESS
    answer, took = costing(server, lambda: quick(api, "POST", table.path, {"requirements": [assert_ref(MANY)], "updates": [
        add_snapshot(MANY + 1, MANY + 1, MANY, table.location), set_ref("main", MANY + 1)]}))
    assert took < 8 * SLOWNESS and len(answer.raw) > size
    got = quick(api, "GET", table.path + "?snapshots=refs").json["metadata"]
    assert got["current-snapshot-id"] == MANY + 1 and got["last-sequence-number"] == MANY + 1
    assert server.rss_kb() * 1024 < (4 * size + 100 * MB) * SLOWNESS
    api.drop(ns, "t").expect(204)


def test_b101_a_load_of_nine_thousand_snapshots(server, api, ns):
    """Both modes a hundred times: the document is read, scanned and tagged once."""
    table, size = with_snapshots(api, ns, 9000)
    tags = {query: quick(api, "GET", table.path + query).etag for query in ("", "?snapshots=refs")}
    before = server.metrics()
    for query, limit in (("", size + 2000), ("?snapshots=refs", 4000)):
        answers, took = costing(server, lambda q=query: [quick(api, "GET", table.path + q) for _ in range(100)])
        assert took < 6 * SLOWNESS
        assert {a.etag for a in answers} == {tags[query]} and all(len(a.raw) < limit for a in answers)
    after = server.metrics()
    for name in ("json_parses", "json_scans", "cache_misses"):
        assert after[f"firn_{name}_total"] == before[f"firn_{name}_total"], name
    assert tags[""] != tags["?snapshots=refs"]


@pytest.mark.long
def test_b103_wide_schemas_and_their_removal(server, api, ns):
    """200 versions of 900 columns: loaded, packed, committed to, and cleaned up by a commit."""
    def version(number):
        return struct(*[field(i, f"column_{i}", "string") for i in range(1, 901)],
                      field(901 + number, f"version_{number}"), schema_id=number)

    place = f"{api.store.base}/cases/{ns}"
    text = json.dumps(document(place, **{"schemas": [version(i) for i in range(200)], "current-schema-id": 199,
                                         "last-column-id": 1100})).encode()
    assert len(text) > 9 * MB
    api.store.write(f"{place}/metadata/v1.metadata.json", text)
    api.register(ns, "t", f"{place}/metadata/v1.metadata.json").ok()
    table = Table(api, ns, "t")
    answer, took = costing(server, lambda: quick(api, "GET", table.path))
    assert took < 5 * SLOWNESS
    plain = answer.json["metadata"]
    packed = [quick(api, "GET", table.path, **{"Accept-Encoding": "gzip"}) for _ in range(3)][-1]
    assert packed.header("Content-Encoding") == "gzip" and len(packed.raw) < len(answer.raw) / 8
    assert json.loads(gzip.decompress(packed.raw))["metadata"] == plain
    _, took = costing(server, lambda: quick(api, "POST", table.path, {"updates": [set_properties(a="b")]}))
    assert took < 6 * SLOWNESS
    table.apply({"action": "remove-schemas", "schema-ids": list(range(199))})
    got = table.metadata
    assert [s["schema-id"] for s in got["schemas"]] == [199] and got["last-column-id"] == 1100
    assert len(table.load().raw) < 100_000


@pytest.mark.long
def test_b103_many_snapshots_and_a_bounded_log(server, api, ns):
    """200,000 snapshots: refs mode, a log of metadata files that does not grow, memory of a few documents."""
    table, size = with_snapshots(api, ns, int(200_000 / SLOWNESS), properties={"write.metadata.previous-versions-max": "2"})
    for i in range(4):
        quick(api, "POST", table.path, {"updates": [set_properties(i=str(i))]})
    got = quick(api, "GET", table.path + "?snapshots=refs").json["metadata"]
    assert len(got["metadata-log"]) == 2 and len(got["snapshots"]) == 2
    packed = [quick(api, "GET", table.path, **{"Accept-Encoding": "gzip"}) for _ in range(2)][-1]
    assert len(packed.raw) < size / 5
    assert server.rss_kb() * 1024 < (4 * size + 200 * MB) * SLOWNESS


def copies(server, ns, number):
    """That many more tables on the first one's metadata, made as rows, with ids before its own: what is tried here is
    reading."""
    def text(prefix):
        return f"{prefix} || substr('0000' || i, length('0000' || i) - 3)"
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number})"
    server.sql(f"{numbers} INSERT INTO object (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location) "
               f"SELECT warehouse_id, id - i, namespace_id, {text(repr('t'))}, kind, {text(repr(str(uuid.uuid4())[:-4]))}, "
               "location, metadata_location FROM object, n WHERE name = %s AND namespace_id = (SELECT id FROM namespace "
               "WHERE path = %s)", "t0000", ns)


def test_b104_a_schema_browser_loads_every_table(server, api, ns):
    """4000 tables, 64 clients at once: connections are kept, the store is left alone."""
    api.table(ns, "t0000")
    copies(server, ns, 3999)
    names = [i["name"] for i in quick(api, "GET", f"{ns_path(ns)}/tables").json["identifiers"]]
    assert len(names) == 4000
    quick(api, "GET", table_path(ns, names[1]))  # one whose uuid is not that of the file
    before = server.metrics()
    answered = []

    def browse(k):
        client = Api(server)
        for name in names[k::64]:
            answer = client.request("GET", table_path(ns, name), check=False)
            if answer.status == 503:
                assert int(answer.header("Retry-After")) >= 1
            else:
                answer.expect(200)
            assert (answer.header("Connection") or "").lower() != "close"
            answered.append(name)
        client.close()

    in_parallel(64, browse)
    assert len(answered) == 4000
    after = server.metrics()
    for name in ("cache_misses", "json_parses", "json_scans"):
        assert after[f"firn_{name}_total"] == before[f"firn_{name}_total"], name
