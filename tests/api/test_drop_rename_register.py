"""dropTable, renameTable, registerTable."""

import contextlib
import gzip
import json

import pytest

from firn_client import Api, add_snapshot, now_ms, ns_path, set_properties, set_ref, simple
from firn_server import local_path

# --- drop ---------------------------------------------------------------------


def test_drop(api, ns, table):
    """204; the name is free, the files stay."""
    location = table.metadata_location
    api.drop(ns, table.name).expect(204)
    api.load(ns, table.name).fails(404, "NoSuchTableException")
    assert api.names(ns) == [] and not api.exists(ns, table.name)
    assert api.store.exists(location)
    api.create(ns, table.name).ok()


def test_drop_of_a_missing_table(api, ns):
    """404 NoSuchTableException, also in a missing namespace."""
    api.drop(ns, "t").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.t")
    api.drop("non-existing", "t").fails(404, "NoSuchTableException", "Table does not exist: non-existing.t")


@pytest.mark.parametrize("value", ["true", "false", "True", "False", "TRUE", "fALSE"])
def test_purge_requested_in_any_case(api, ns, table, value):
    """Python writes True; the name is gone at once either way."""
    location = table.metadata_location
    api.drop(ns, table.name, f"?purgeRequested={value}").expect(204)
    assert api.names(ns) == []
    if value.lower() == "false":
        assert api.store.exists(location)


@pytest.mark.parametrize("value", ["", "1", "0", "yes", "no", "null", "true%20", "truefalse"])
def test_purge_requested_of_another_kind(api, ns, table, value):
    """Neither true nor false: 400, and nothing is dropped."""
    api.drop(ns, table.name, f"?purgeRequested={value}").fails(400, "BadRequestException", contains="purgeRequested")
    assert api.exists(ns, table.name)


def test_drop_without_reading_the_file(api, ns, table):
    """A table whose metadata file is gone or broken can be dropped."""
    other = api.table(ns)
    api.store.delete(table.metadata_location)
    api.store.write(other.metadata_location, b"{")
    api.drop(ns, table.name, "?purgeRequested=true").expect(204)
    api.drop(ns, other.name).expect(204)
    assert api.names(ns) == []


def test_commit_after_drop(api, ns, table):
    """404, as if the table had never been."""
    api.drop(ns, table.name).expect(204)
    table.commit(set_properties(a="b")).fails(404, "NoSuchTableException")


# --- rename -------------------------------------------------------------------


def test_rename(api, ns, table):
    """Only the name changes: the same file, location, uuid and tag."""
    table.append(1, 1)
    before = table.load().ok()
    api.rename((ns, table.name), (ns, "new")).expect(204)
    after = api.load(ns, "new").ok()
    assert after.json == before.json and after.etag == before.etag
    api.load(ns, table.name).fails(404, "NoSuchTableException")
    assert api.names(ns) == ["new"]


def test_rename_across_namespaces(api, ns, table):
    """Data does not move."""
    other = api.new_namespace()
    before = table.loaded
    api.rename((ns, table.name), ([other], "t")).expect(204)
    assert api.load(other, "t").ok().json == before
    assert api.names(ns) == [] and api.names(other) == ["t"]
    api.delete(ns_path(ns)).expect(204)


def test_rename_to_itself(api, ns, table):
    """204, nothing happens."""
    api.rename((ns, table.name), (ns, table.name)).expect(204)
    table.load().ok()


def test_rename_refusals(api, ns, table):
    """Source missing, destination namespace missing, name taken: in this order."""
    other = api.table(ns)
    api.rename((ns, "nope"), (ns, other.name)).fails(404, "NoSuchTableException", f"Table does not exist: {ns}.nope")
    api.rename((ns, "nope"), ("non_existing", "t")).fails(404, "NoSuchTableException")
    api.rename(("non_existing", "t"), (ns, "x")).fails(404, "NoSuchTableException", "Table does not exist: non_existing.t")
    api.rename((ns, table.name), ("non_existing", "t")).fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non_existing")
    api.rename((ns, table.name), (ns, other.name)).fails(
        409, "AlreadyExistsException", f"Table already exists: {ns}.{other.name}")
    assert sorted(api.names(ns)) == sorted([table.name, other.name])


@pytest.mark.parametrize("body", [
    {}, {"source": {"namespace": ["a"], "name": "t"}}, {"source": "a.t", "destination": "a.u"},
    {"source": {"namespace": [], "name": "t"}, "destination": {"namespace": ["a"], "name": "u"}},
    {"source": {"namespace": ["a"], "name": "t"}, "destination": {"namespace": [], "name": "u"}},
    {"source": {"namespace": ["a"]}, "destination": {"namespace": ["a"], "name": "u"}},
    {"source": {"namespace": ["a"], "name": ""}, "destination": {"namespace": ["a"], "name": "u"}},
    {"source": {"namespace": ["a"], "name": "t"}, "destination": {"namespace": ["a"], "name": None}}])
def test_rename_with_a_wrong_body(api, body):
    """400 BadRequestException; tables in the root do not exist."""
    api.post("/v1/tables/rename", body).fails(400, "BadRequestException")


def test_the_old_name_after_a_rename(api, ns, table):
    """A new table under the old name lies elsewhere; dropping the renamed one does not touch it."""
    table.append(1, 1)
    api.rename((ns, table.name), (ns, "renamed")).expect(204)
    fresh = api.table(ns, table.name)
    assert fresh.location != api.load(ns, "renamed").ok().json["metadata"]["location"]
    api.drop(ns, "renamed", "?purgeRequested=true").expect(204)
    fresh.load().ok()
    fresh.apply(set_properties(a="b"))


def test_commits_follow_a_rename(api, ns, table):
    """History goes on under the new name."""
    api.rename((ns, table.name), (ns, "new")).expect(204)
    got = api.commit(ns, "new", [set_properties(a="b")]).ok().json["metadata"]
    assert len(got["metadata-log"]) == 1
    assert got["properties"]["a"] == "b"


# --- register --------------------------------------------------------------------


def document(location, **members):
    """The smallest valid metadata file of version 2."""
    import uuid
    return {"format-version": 2, "table-uuid": str(uuid.uuid4()), "location": location, "last-sequence-number": 0,
            "last-updated-ms": 1700000000000, "last-column-id": 2, "schemas": [simple()], "current-schema-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}], "default-spec-id": 0, "last-partition-id": 999,
            "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0} | members


@pytest.fixture
def place(api, ns):
    """A folder of the test's own in the warehouse."""
    return f"{api.store.base}/registered/{ns}"


def put(api, place, data, name="v1.metadata.json"):
    uri = f"{place}/metadata/{name}"
    api.store.write(uri, data if isinstance(data, bytes) else json.dumps(data).encode())
    return uri


def test_register(api, ns, place):
    """The given file is the table: same location, same content, nothing written."""
    uri = put(api, place, document(place))
    answer = api.register(ns, "t", uri).ok()
    assert answer.json["metadata-location"] == uri
    assert api.load(ns, "t").ok().json == answer.json
    assert api.names(ns) == ["t"] and api.store.list(place) == [uri]


def test_register_what_was_dropped(api, ns, table):
    """Drop and register: the table is back as it was."""
    table.append(1, 1)
    before = table.load().ok()
    api.drop(ns, table.name).expect(204)
    answer = api.register(ns, "again", before.json["metadata-location"]).ok()
    assert answer.json == before.json and answer.etag == before.etag
    api.commit(ns, "again", [set_properties(a="b")]).ok()


def test_commit_after_register(api, ns, place):
    """A name without a number is followed by 00000; the registered file stays, the first log entry."""
    uri = put(api, place, document(place))
    api.register(ns, "t", uri).ok()
    answer = api.commit(ns, "t", [set_properties(a="b")]).ok()
    assert answer.json["metadata-location"].startswith(place + "/metadata/00000-")
    assert answer.json["metadata"]["metadata-log"] == [{"timestamp-ms": 1700000000000, "metadata-file": uri}]
    assert api.store.exists(uri)


def test_commit_after_register_counts_on(api, ns, place):
    """00041 is followed by 00042."""
    uri = put(api, place, document(place), "00041-7c9c3c0e-8bd0-4b7c-9d27-52a5f0b0b0b0.metadata.json")
    api.register(ns, "t", uri).ok()
    assert "/00042-" in api.commit(ns, "t", [set_properties(a="b")]).ok().json["metadata-location"]


def test_register_refusals(api, ns, place):
    """Missing namespace, taken name: checked like those of a create."""
    uri = put(api, place, document(place))
    api.register("non-existing", "t", uri).fails(404, "NoSuchNamespaceException")
    api.table(ns, "taken")
    api.register(ns, "taken", uri).fails(409, "AlreadyExistsException", f"Table already exists: {ns}.taken")
    assert api.names(ns) == ["taken"]


@pytest.mark.parametrize("body", [
    {}, {"name": "t"}, {"metadata-location": "x.metadata.json"}, {"name": 1, "metadata-location": "x.metadata.json"},
    {"name": "t", "metadata-location": None}, {"name": "t", "metadata-location": ""},
    {"name": "t", "metadata-location": "  "}, {"name": "t", "metadata-location": ["x"]},
    {"name": "t", "metadata-location": "x.metadata.json", "overwrite": "yes"}])
def test_register_with_a_wrong_body(api, ns, body):
    """400; an empty location has a text of its own."""
    error = api.post(f"{ns_path(ns)}/register", body).fails(400)
    if body.get("metadata-location", "x") in ("", "  "):
        assert error["message"] == "Cannot register an empty metadata file location as a table"


def test_register_a_missing_file(api, ns, place):
    """404 NotFoundException naming it (or 400); the name stays free."""
    uri = f"{place}/metadata/none.metadata.json"
    answer = api.register(ns, "t", uri).expect(400, 404)
    assert answer.status == 400 or answer.error["type"] == "NotFoundException"
    assert uri in answer.error["message"]
    assert api.names(ns) == []


def broken_documents(location):
    good = document(location)
    yield b""
    yield b"{}"
    yield b"{"
    yield b"[]"
    yield b"null"
    yield b"not json at all"
    yield json.dumps(good).encode()[:-5]
    yield json.dumps(good).encode() + b"x"
    yield json.dumps(good).encode() + b"{}"
    yield b"\x1f\x8b" + b"broken gzip"
    yield gzip.compress(json.dumps(good).encode())[:-9]
    yield gzip.compress(b"{")
    yield json.dumps(good).encode().replace(b'"format-version": 2', b'"format-version": 2, "format-version": 2')
    yield b"\xff" + json.dumps(good).encode()
    for member in ("format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms",
                   "last-column-id", "schemas", "current-schema-id", "partition-specs", "default-spec-id",
                   "last-partition-id", "sort-orders", "default-sort-order-id"):
        yield {k: v for k, v in good.items() if k != member}
    for change in (
            {"format-version": 5}, {"format-version": "2"}, {"format-version": 2.0}, {"format-version": 0},
            {"table-uuid": "x"}, {"table-uuid": 1}, {"location": ""}, {"location": 5}, {"last-updated-ms": "x"},
            {"last-updated-ms": 1.5}, {"schemas": []}, {"schemas": {}}, {"current-schema-id": 4},
            {"default-spec-id": 4}, {"default-sort-order-id": 4}, {"partition-specs": []}, {"sort-orders": []},
            {"properties": {"a": 1}}, {"properties": []}, {"snapshots": {}}, {"snapshots": [{}]},
            {"current-snapshot-id": 9}, {"refs": {"main": {"snapshot-id": 9, "type": "branch"}}},
            {"refs": {"b": {"snapshot-id": 9, "type": "branch"}}}, {"refs": {"b": {"type": "branch"}}}, {"refs": []},
            {"schemas": [simple(), simple()]}, {"snapshot-log": [{"snapshot-id": 1}]}, {"metadata-log": [1]},
            {"snapshots": [snap(1, 1, location), snap(1, 1, location)], "last-sequence-number": 1},
            {"snapshots": [snap(1, 5, location)], "last-sequence-number": 1},
            {"schemas": [simple() | {"fields": [{"id": 1, "name": "x", "type": "nope", "required": True}]}]}):
        yield good | change


def snap(number, sequence, location):
    return {"snapshot-id": number, "sequence-number": sequence, "timestamp-ms": 1700000000000,
            "manifest-list": f"{location}/m", "summary": {"operation": "append"}}


def test_register_broken_files(api, ns, place):
    """Truncated, not JSON, members missing or wrong, inconsistent: 400, and the name stays free."""
    wrong = []
    for i, data in enumerate(broken_documents(place)):
        answer = api.register(ns, f"t{i}", put(api, place, data, f"b{i}.metadata.json"))
        if answer.status != 400:
            wrong.append((str(data)[:120] if isinstance(data, bytes) else data, str(answer)[:300]))
    assert not wrong, wrong
    assert api.names(ns) == []


@pytest.mark.long
def test_register_a_gzip_bomb(api, ns, place):
    """A small file that unpacks to very much: refused, memory stays bounded."""
    before = api.server.rss_kb()
    bomb = gzip.compress(b'{"properties":{"a":"' + b"a" * 400_000_000 + b'"}}', 9)
    answer = api.register(ns, "t", put(api, place, bomb, "v1.gz.metadata.json"))
    answer.fails(400)
    assert api.server.rss_kb() - before < 400_000
    assert api.names(ns) == []


@pytest.mark.parametrize("name", ["v1.gz.metadata.json", "v1.metadata.json.gz", "v1.gzip.metadata.json",
                                  "00003-abc.metadata.json"])
def test_register_gzip_by_content(api, ns, place, name):
    """Compressed metadata under all its names, also a plain one: the first bytes decide."""
    uri = put(api, place, gzip.compress(json.dumps(document(place)).encode()), name)
    assert api.register(ns, "t", uri).ok().json["metadata-location"] == uri
    api.commit(ns, "t", [set_properties(a="b")]).ok()


def test_register_plain_file_with_a_gzip_name(api, ns, place):
    """The same the other way round."""
    api.register(ns, "t", put(api, place, document(place), "v1.gz.metadata.json")).ok()


@pytest.mark.parametrize("name", ["v1.json", "x", "metadata", "v1.metadata.jso"])
def test_register_a_file_of_another_name(api, ns, place, name):
    """Java decides by the name whether a file is metadata."""
    api.register(ns, "t", put(api, place, document(place), name)).fails(400, None)


def test_register_outside(api, ns, place):
    """A file or a declared location outside of what is allowed is refused, nothing is read."""
    for uri in ("s3://elsewhere/x.metadata.json", "file:///etc/passwd.metadata.json", "/etc/x.metadata.json",
                "http://127.0.0.1:9/x.metadata.json", f"{api.store.base}/../x.metadata.json",
                f"{api.store.base}2/x.metadata.json"):
        api.register(ns, "t", uri).expect(400, 403)
    for location in ("s3://elsewhere/t", "file:///etc", api.store.base, "relative"):
        uri = put(api, place, document(location))
        error = api.register(ns, "t", uri).expect(400, 403).error
        assert "location" in error["message"] and uri in error["message"], error
    assert api.names(ns) == []


def test_register_over_the_location_of_a_live_table(api, ns, place, table):
    """The same file, the same uuid or the same place under a second name: 409."""
    api.register(ns, "two", table.metadata_location).fails(409, "AlreadyExistsException")
    api.register(ns, "two", put(api, place, document(table.location))).fails(409, "AlreadyExistsException")
    api.register(ns, "two", put(api, place, document(table.location + "/inside"))).fails(409, "AlreadyExistsException")
    api.register(ns, "two", put(api, place, document(place, **{"table-uuid": table.uuid}), "u.metadata.json")).fails(
        409, "AlreadyExistsException")
    assert api.names(ns) == [table.name]


def test_register_version_1(api, ns, place):
    """An old file with `schema` and `partition-spec` only: brought to the list form in the answer,
    given a uuid on its first commit."""
    old = {"format-version": 1, "location": place, "last-updated-ms": 1700000000000, "last-column-id": 2,
           "schema": simple(), "partition-spec": [{"name": "id", "transform": "identity", "source-id": 1}],
           "current-snapshot-id": -1}
    api.register(ns, "t", put(api, place, old)).ok()
    loaded = api.request("GET", f"{ns_path(ns)}/tables/t").ok().json["metadata"]
    assert [s["schema-id"] for s in loaded["schemas"]] == [0]
    assert loaded["partition-specs"][0]["fields"][0]["field-id"] == 1000
    got = api.commit(ns, "t", [set_properties(a="b")]).ok().json["metadata"]
    assert got["format-version"] == 1 and got["table-uuid"]
    assert got["schema"] and got["partition-spec"] and got["last-partition-id"] == 1000
    got = api.commit(ns, "t", [{"action": "upgrade-format-version", "format-version": 2}]).ok().json["metadata"]
    assert "schema" not in got and got["last-sequence-number"] == 0


def test_register_specs_without_field_ids(api, ns, place):
    """A list of specs from before partition fields had ids: they get those that Java's library gives them."""
    fields = [{"name": "id", "transform": "identity", "source-id": 1},
              {"name": "d", "transform": "bucket[4]", "source-id": 2}]
    old = {"format-version": 1, "location": place, "last-updated-ms": 1700000000000, "last-column-id": 2,
           "schema": simple(), "partition-spec": fields, "default-spec-id": 0, "current-snapshot-id": -1,
           "partition-specs": [{"spec-id": 0, "fields": fields}]}
    got = api.register(ns, "t", put(api, place, old)).ok().json["metadata"]
    assert got["partition-specs"][0]["fields"] == [f | {"field-id": 1000 + i} for i, f in enumerate(fields)]
    assert got["last-partition-id"] == 1001
    upgrade = {"action": "upgrade-format-version", "format-version": 2}
    assert api.commit(ns, "t", [upgrade]).ok().json["metadata"]["partition-specs"] == got["partition-specs"]


def test_register_with_a_current_snapshot_but_no_refs(api, ns, place):
    """Before references there was only main."""
    data = document(place, **{"snapshots": [snap(5, 1, place)], "last-sequence-number": 1, "current-snapshot-id": 5})
    api.register(ns, "t", put(api, place, data)).ok()
    got = api.commit(ns, "t", [set_properties(a="b")], [{
        "type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 5}]).ok().json["metadata"]
    assert got["refs"]["main"]["snapshot-id"] == 5 == got["current-snapshot-id"]


@pytest.mark.parametrize("value", [-1, None])
def test_register_without_a_current_snapshot(api, ns, place, value):
    """-1 and null both mean none."""
    api.register(ns, "t", put(api, place, document(place, **{"current-snapshot-id": value}))).ok()
    api.commit(ns, "t", [add_snapshot(1, 1, location=place), set_ref("main", 1)]).ok()


def test_register_keeps_what_it_does_not_know(api, ns, place):
    """Unknown members of the file survive commits byte for byte, numbers with fractions too."""
    data = json.dumps(document(place, **{"x-future": {"a": [1, 2.50, 1e3, {"b": None}], "s": "\u00fc"}}))
    data = data.replace("2.5", "2.50").replace("1000.0", "1e3")
    uri = put(api, place, data.encode())
    api.register(ns, "t", uri).ok()
    location = api.commit(ns, "t", [set_properties(a="b")]).ok().json["metadata-location"]
    assert b'{"a": [1, 2.50, 1e3, {"b": null}], "s": "\\u00fc"}' in api.store.read(location)


@pytest.mark.long
def test_register_a_large_file(api, ns, place):
    """20,000 snapshots: registered, loaded, committed to."""
    snapshots = [snap(i, i, place) for i in range(1, 20001)]
    log = [{"snapshot-id": i, "timestamp-ms": 1700000000000 + i} for i in range(1, 20001)]
    data = document(place, **{"snapshots": snapshots, "snapshot-log": log, "current-snapshot-id": 20000,
                              "last-sequence-number": 20000, "last-updated-ms": now_ms(),
                              "refs": {"main": {"snapshot-id": 20000, "type": "branch"}}})
    api.register(ns, "t", put(api, place, data)).ok()
    assert len(api.load(ns, "t").ok().json["metadata"]["snapshots"]) == 20000
    assert len(api.load(ns, "t", "?snapshots=refs").ok().body) < len(json.dumps(log)) + 5000
    got = api.commit(ns, "t", [add_snapshot(20001, 20001, 20000, place), set_ref("main", 20001)]).ok()
    assert len(got.json["metadata"]["snapshots"]) == 20001


@pytest.mark.parametrize("way", ["drop", "overwrite"])
def test_register_of_a_name_that_is_used_again(api, ns, place, way):
    """Engines that number their files (Hadoop tables) begin again with v1 when a table was dropped and made anew: no
    tag and nothing in memory, of whatever server, makes the old table of the new one."""
    with contextlib.ExitStack() as stack:
        clients = [api]
        if api.server.db.kind != "sqlite":
            clients.append(Api(stack.enter_context(api.server.replica())))
        api.register(ns, "t", put(api, place, document(place))).ok()
        tags = [(c, q, c.load(ns, "t", q).ok().etag) for c in clients for q in ("", "?snapshots=refs")]
        if way == "drop":
            api.drop(ns, "t").expect(204)
        new = document(place, properties={"new": "yes"})
        api.register(ns, "t", put(api, place, new), overwrite=way == "overwrite").ok()
        for client, query, tag in tags:
            answer = client.load(ns, "t", query, If_None_Match=tag).ok()
            assert answer.json["metadata"]["table-uuid"] == new["table-uuid"] and answer.etag != tag
            client.load(ns, "t", query, If_None_Match=answer.etag).expect(304)


def test_register_of_a_file_that_was_corrected(api, ns, place):
    """The same table, unregistered, its file corrected, and registered again with another server."""
    with contextlib.ExitStack() as stack:
        other = api
        if api.server.db.kind != "sqlite":
            other = Api(stack.enter_context(api.server.replica()))
        table = document(place)
        for value in ("wrong", "right"):
            api.register(ns, "t", put(api, place, table | {"properties": {"a": value}})).ok()
            assert other.load(ns, "t").ok().json["metadata"]["properties"]["a"] == value
            other.commit(ns, "t", []).ok()
            api.post(f"{ns_path(ns)}/tables/t/unregister").ok()


@pytest.mark.parametrize("how", ["commit", "transaction"])
def test_commit_on_a_name_that_is_used_again(api, ns, place, how):
    """Nor does a commit build on what another server has read before."""
    with contextlib.ExitStack() as stack:
        other = api
        if api.server.db.kind != "sqlite":
            other = Api(stack.enter_context(api.server.replica()))
        api.register(ns, "t", put(api, place, document(place))).ok()
        other.load(ns, "t").ok()
        api.drop(ns, "t").expect(204)
        new = document(place, properties={"new": "yes"})
        api.register(ns, "t", put(api, place, new)).ok()
        if how == "commit":
            other.commit(ns, "t", [set_properties(a="b")]).ok()
        else:
            change = {"identifier": {"namespace": [ns], "name": "t"}, "updates": [set_properties(a="b")]}
            other.post("/v1/transactions/commit", {"table-changes": [change]}).expect(204)
        found = api.load(ns, "t").ok().json["metadata"]
        assert found["table-uuid"] == new["table-uuid"] and found["properties"] == {"new": "yes", "a": "b"}


def test_overwrite_false_is_the_same_as_absent(api, ns, place):
    """Java and PyIceberg always send it."""
    api.register(ns, "t", put(api, place, document(place)), overwrite=False).ok()
    api.register(ns, "t", put(api, place, document(place)), overwrite=False).fails(409, "AlreadyExistsException")


def test_overwrite(api, ns, place):
    """The pointer of the existing table is replaced: another uuid, another place, no file written."""
    uuid = "22222222-2222-4222-8222-222222222222"
    first = put(api, place, document(place), "a.metadata.json")
    second = put(api, place + "2", document(place + "2", **{"table-uuid": uuid}), "b.metadata.json")
    api.register(ns, "t", first).ok()
    files = api.store.list()
    answer = api.register(ns, "t", second, overwrite=True).ok()
    loaded = api.load(ns, "t").ok()
    assert answer.json["metadata-location"] == loaded.json["metadata-location"] == second
    assert answer.etag == loaded.etag and loaded.json["metadata"]["table-uuid"] == uuid
    assert api.names(ns) == ["t"] and api.store.list() == files
    api.commit(ns, "t", [set_properties(a="b")], [{"type": "assert-table-uuid", "uuid": uuid}]).ok()
    api.create(ns, "u", location=place).ok()  # where the old one lay is free


def test_overwrite_of_nothing(api, ns, place):
    """Creates it, when the namespace is there."""
    uri = put(api, place, document(place))
    api.register(ns, "t", uri, overwrite=True).ok()
    assert api.load(ns, "t").ok().json["metadata-location"] == uri
    api.register("non-existing", "t", uri, overwrite=True).fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")


def test_overwrite_goes_back_in_history(api, ns, table):
    """An earlier file of the same table; commits that build on what is no more fail."""
    old = table.metadata_location
    table.append(1, 1)
    api.register(ns, table.name, old, overwrite=True).ok()
    assert table.metadata["snapshots"] == []
    table.commit(set_ref("main", 1)).fails(400)
    table.append(2, 1)


def test_overwrite_that_cannot_be(api, ns, place):
    """The place or the uuid of another table, or a file that is none: the table stays what it was."""
    first = put(api, place, document(place), "a.metadata.json")
    api.register(ns, "t", first).ok()
    other = api.table(ns, "other")
    clash = put(api, place, document(other.location), "b.metadata.json")
    api.register(ns, "t", clash, overwrite=True).fails(409, "AlreadyExistsException", contains="location")
    twin = put(api, place, document(place + "3", **{"table-uuid": other.uuid}), "c.metadata.json")
    api.register(ns, "t", twin, overwrite=True).fails(409, "AlreadyExistsException", contains=other.uuid)
    api.register(ns, "t", put(api, place, b"{}", "d.metadata.json"), overwrite=True).fails(400)
    api.register(ns, "t", place + "/metadata/no.metadata.json", overwrite=True).fails(404, "NotFoundException")
    assert api.load(ns, "t").ok().json["metadata-location"] == first


def test_register_keeps_both_spellings_of_local_files(api, ns, place):
    """file:/x and file:///x name the same file; the given string comes back."""
    if api.store.kind != "file":
        return
    uri = put(api, place, document(place))
    short = "file:" + str(local_path(uri))
    assert api.register(ns, "t", short).ok().json["metadata-location"] == short
    assert api.load(ns, "t").ok().json["metadata-location"] == short


def test_a_parameter_that_is_said_twice(api, table):
    """One value or none is taken; of two that differ nobody can say which is meant, least of all for a purge."""
    for query in ("purgeRequested=false&purgeRequested=true", "purgeRequested=true&purge%52equested=false"):
        api.delete(f"{table.path}?{query}").fails(400, "BadRequestException", contains="purgeRequested: expected one value")
    api.get(f"{table.path}?snapshots=all&x=1&snapshots=refs").fails(400, "BadRequestException", contains="snapshots: ")
    assert api.get(f"{table.path}?snapshots=refs&snapshots=refs").ok().json["metadata"]["table-uuid"]
    assert api.delete(f"{table.path}?purgeRequested=false&purgeRequested=false").status == 204
