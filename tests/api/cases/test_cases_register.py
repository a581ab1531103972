"""Reported cases B112 to B119: metadata files that are missing, broken, packed, or lie elsewhere."""

import gzip
import json
import re
import time

import pytest
from test_drop_rename_register import document, put

from firn_client import SLOWNESS, Api, add_snapshot, in_parallel, ns_path, set_properties, set_ref, table_path
from firn_server import Server


@pytest.fixture
def place(api, ns):
    return f"{api.store.base}/cases/{ns}"


@pytest.fixture
def cold():
    """A server that keeps no metadata in memory."""
    with Server(env={"FIRN_CACHE": "0"}) as firn:
        client = Api(firn)
        yield client
        client.close()


def test_b112_a_metadata_file_that_is_gone(cold):
    """The load says which file it is, the table is listed and exists, and the drop needs no file."""
    api, ns = cold, cold.new_namespace()
    table = api.table(ns, "t")
    location = table.metadata_location
    api.store.delete(location)
    table.load().fails(404, "NotFoundException", f"Failed to open input stream for file: {location}")
    table.commit(set_properties(a="b")).expect(404, 400)
    assert api.names(ns) == ["t"] and api.exists(ns, "t")
    api.drop(ns, "t").expect(204)
    api.load(ns, "t").fails(404, "NoSuchTableException")
    api.create(ns, "t").ok()


def test_b113_broken_tables_among_a_hundred(cold):
    """They are told at once, with a status that nobody tries again; the list and the others do not notice."""
    api, ns = cold, cold.new_namespace()
    in_parallel(4, lambda k: [api.create(ns, f"t{i:02}").ok() for i in range(k, 100, 4)])
    begin = time.monotonic()
    for i, content in enumerate((None, b"", b"{", b"\x1f\x8b")):
        name = f"t{20 * i + 10}"
        location = api.load(ns, name).ok().json["metadata-location"]
        if content is None:
            api.store.delete(location)
            answer = api.load(ns, name)
            answer.fails(404, "NotFoundException", contains=location)
        else:
            api.store.write(location, content)
            answer = api.load(ns, name)
            answer.fails(500, "UnreadableMetadataException", contains=location)
        assert answer.header("Retry-After") is None
        assert len(api.names(ns)) == 100 - i
        assert api.load(ns, f"t{20 * i + 11}").ok().json["metadata"]["table-uuid"]
        api.drop(ns, name).expect(204)
    assert time.monotonic() - begin < 30 * SLOWNESS


def test_b115_register_of_a_file_that_is_none(api, ns, place):
    """Outside, missing, empty, not metadata: refused with the reason, and the name stays free."""
    for uri in ("s3://b/none.json", "s3://b/none.metadata.json"):
        api.register(ns, "r", uri).expect(400, 403)
    missing = f"{place}/metadata/none.metadata.json"
    api.register(ns, "r", missing).fails(404, "NotFoundException", contains=missing)
    for i, data in enumerate((b"{}", b"", b"[]", b"\x00" * 100)):
        uri = put(api, place, data, f"{i}.metadata.json")
        api.register(ns, "r", uri).fails(400, contains=uri)
    assert api.names(ns) == [] and not api.exists(ns, "r")
    api.head(table_path("non-existing", "r")).expect(404)
    api.register(ns, "r", put(api, place, document(place))).ok()


@pytest.mark.parametrize("name", ["00001-x.gz.metadata.json", "00001-x.metadata.json.gz", "v1.gzip.metadata.json",
                                  "v1.metadata.json"])
def test_b116_packed_files_under_all_their_names(api, ns, place, name):
    """The first bytes decide. What is written next is plain unless the table asks for gzip."""
    uri = put(api, place, gzip.compress(json.dumps(document(place)).encode()), name)
    answer = api.register(ns, "r", uri).ok()
    assert answer.json["metadata-location"] == uri and answer.json["metadata"] == document(place) | {
        "table-uuid": answer.json["metadata"]["table-uuid"]}
    plain = api.commit(ns, "r", [set_properties(a="b")]).ok().json["metadata-location"]
    assert ".gz" not in plain and api.store.read(plain)[:1] == b"{"
    packed = api.commit(ns, "r", [{"action": "set-properties", "updates": {"write.metadata.compression-codec": "gzip"}}])
    location = packed.ok().json["metadata-location"]
    assert re.search(r"/\d{5}-[0-9a-f-]{36}\.gz\.metadata\.json$", location)
    assert json.loads(gzip.decompress(api.store.read(location))) == packed.json["metadata"]


def test_b116_a_small_file_that_unpacks_to_very_much(api, ns, place):
    """Refused before it is unpacked; memory does not notice."""
    before = api.server.rss_kb()
    bomb = gzip.compress(b'{"a":"' + b"a" * 60_000_000 + b'"}', 1)
    api.register(ns, "r", put(api, place, bomb, "v1.gz.metadata.json")).fails(400, contains="unpacks")
    assert api.server.rss_kb() - before < 50_000 * SLOWNESS and api.names(ns) == []


def test_b118_register_writes_nothing(api, ns, place):
    """The pointer is the given text, the answer the given document, the store unchanged."""
    given = document(place, properties={"a": "b"}, **{"x-unknown": {"kept": [1.50]}})
    uri = put(api, place, given)
    files = api.store.list()
    answer = api.register(ns, "r", uri).ok()
    assert answer.json["metadata-location"] == api.load(ns, "r").ok().json["metadata-location"] == uri
    assert answer.json["metadata"] == given and json.dumps(given).encode() in answer.body
    assert api.store.list() == files


def test_b119_metadata_of_other_places(api, ns, place):
    """Nothing outside the warehouse, nothing where another table lies. A file beside the table it
    describes is fine within the warehouse."""
    live = api.table(ns, "live")
    refused = {location: (400, 403) for location in (
        "s3://b/y/t", "file:///etc/t", api.store.base + "2/t", f"{place}/../../../up")}
    refused |= dict.fromkeys((live.location, live.location + "/below", live.location.rpartition("/")[0]), (409,))
    for i, (location, statuses) in enumerate(refused.items()):
        answer = api.register(ns, "r", put(api, place, document(location), f"{i}.metadata.json")).expect(*statuses)
        assert "location" in answer.error["message"].lower()
    twin = document(place, **{"table-uuid": live.uuid})
    api.register(ns, "r", put(api, place, twin)).fails(409, "AlreadyExistsException", contains=live.uuid)
    for uri in ("s3://b/x/1.metadata.json", "file:///etc/1.metadata.json"):
        api.register(ns, "r", uri).expect(400, 403)
    assert api.names(ns) == ["live"]
    uri = put(api, place + "/x", document(place + "/y/t"), "1.metadata.json")
    assert api.register(ns, "r", uri).ok().json["metadata"]["location"] == place + "/y/t"
    api.commit(ns, "r", [add_snapshot(1, 1, location=place + "/y/t"), set_ref("main", 1)]).ok()
    api.post(f"{ns_path(ns)}/register", {"name": "again", "metadata-location": uri}).fails(409)
