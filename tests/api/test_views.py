"""Views: create, load, replace, drop, list, rename, register; one name space with tables."""

import gzip
import json
import uuid

import pytest

from firn_client import (create_updates, enc, enc_java, eventually, field, in_parallel, ns_path, order, replace_version,
                         representation, set_properties, simple, spec, struct, view_path, view_version)
from firn_server import local_path

WIDER = struct(field(1, "id"), field(2, "data", "string"), field(7, "day", "date"), schema_id=9)


@pytest.fixture
def view(api, ns):
    """The name of a new view."""
    api.create_view(ns, "v").ok()
    return "v"


def metadata(api, ns, name="v"):
    return api.load_view(ns, name).ok().json["metadata"]


# --- create ------------------------------------------------------------------------


def test_create(api, ns):
    """Ids begin with version 1 and schema 0; field ids, time, summary and all else are the client's."""
    schema = struct(field(3, "id", required=True, doc="\U0001f3d4"), field(4, "data", "string"), schema_id=5)
    version = view_version(representation("select 1", "Trino"), representation("SELECT 1", "spark"), number=4,
                           schema=5, **{"default-catalog": "prod", "default-namespace": ["a", "b"]})
    answer = api.create_view(ns, "v", version, schema, properties={"comment": "x", "uuid": "kept"}).ok()
    got = answer.json["metadata"]
    assert got["versions"] == [version | {"version-id": 1, "schema-id": 0}]
    assert got["schemas"] == [schema | {"schema-id": 0}]
    assert got["current-version-id"] == 1 and got["format-version"] == 1
    assert got["version-log"] == [{"timestamp-ms": version["timestamp-ms"], "version-id": 1}]
    assert got["properties"] == {"comment": "x", "uuid": "kept"}
    assert uuid.UUID(got["view-uuid"]).version == 4
    assert answer.json["config"] == {}
    assert api.load_view(ns, "v").ok().json == answer.json


def test_create_without_properties(api, ns):
    """The member is left out; null for what is optional counts as absent."""
    body = view_version(**{"default-catalog": None})
    got = api.create_view(ns, "v", body, properties=None, location=None).ok().json["metadata"]
    assert "properties" not in got and "default-catalog" not in got["versions"][0]


def test_default_location(api, ns):
    """Below the namespace, unique for ever; the first file is 00000 and packed."""
    answer = api.create_view(ns, "my view").ok().json
    location = answer["metadata"]["location"]
    assert location.startswith(f"{api.store.base}/{ns}/my_view-")
    assert answer["metadata-location"].startswith(f"{location}/metadata/00000-")
    assert answer["metadata-location"].endswith(".gz.metadata.json")
    assert json.loads(gzip.decompress(api.store.read(answer["metadata-location"]))) == answer["metadata"]


def test_requested_location(api, ns):
    """Verbatim but for slashes at its end, where the warehouse allows it."""
    place = f"{api.store.base}/chosen/{ns}"
    assert api.create_view(ns, "v", location=place + "/").ok().json["metadata"]["location"] == place
    api.create_view(ns, "w", location=place + "/below").fails(409, "AlreadyExistsException")
    api.create(ns, "t", location=place).fails(409, "AlreadyExistsException")
    for bad in ("s3://elsewhere/x", "file:///etc/x", api.store.base, "", "x"):
        api.create_view(ns, "w", location=bad).fails(400, "IllegalArgumentException")
    assert api.view_names(ns) == ["v"]


@pytest.mark.parametrize("properties,end,plain", [
    ({}, ".gz.metadata.json", False), ({"write.metadata.compression-codec": "GZIP"}, ".gz.metadata.json", False),
    ({"write.metadata.compression-codec": "none"}, ".metadata.json", True)])
def test_codec_of_the_file(api, ns, properties, end, plain):
    """Packed unless told otherwise."""
    location = api.create_view(ns, "v", properties=properties).ok().json["metadata-location"]
    assert location.endswith(end) and (".gz." not in location) == plain
    data = api.store.read(location)
    json.loads(data if plain else gzip.decompress(data))


def test_metadata_path(api, ns):
    """write.metadata.path takes the file, and stays a property."""
    path = f"{api.store.base}/paths/{ns}"
    answer = api.create_view(ns, "v", properties={"write.metadata.path": path + "/"}).ok().json
    assert answer["metadata-location"].startswith(path + "/00000-")
    assert answer["metadata"]["properties"] == {"write.metadata.path": path + "/"}
    api.create_view(ns, "w", properties={"write.metadata.path": "s3://elsewhere/x"}).fails(400)


def test_create_in_a_missing_namespace(api):
    api.create_view("non-existing", "v").fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")


def test_one_text_per_dialect(api, ns):
    """In any case, and with Java's exception."""
    version = view_version(representation("a", "trino"), representation("b", "spark"), representation("c", "TRINO"))
    api.create_view(ns, "v", version).fails(
        400, "IllegalArgumentException", "Invalid view version: Cannot add multiple queries for dialect trino")
    api.create_view(ns, "v", view_version({"type": "plan", "sql": "x", "dialect": "y"})).fails(
        400, "IllegalArgumentException", "Found unsupported view representations: [plan]")
    assert api.view_names(ns) == []


@pytest.mark.parametrize("change", [
    {"name": None}, {"name": ""}, {"name": 1}, {"name": "a\x1fb"}, {"name": ".."}, {"name": "x" * 256},
    {"schema": None}, {"schema": []}, {"schema": {"type": "struct"}}, {"schema": {"type": "struct", "fields": [{"id": 1}]}},
    {"view-version": None}, {"view-version": []}, {"view-version": {}}, {"properties": []},
    {"properties": {"a": None}}, {"properties": {"a": 1}}, {"location": 5},
    {"schema": struct(field(1, "a"), field(1, "b"))}, {"schema": struct(field(1, "a", "nope"))},
    {"properties": {"version.history.num-entries": "0"}}, {"properties": {"version.history.num-entries": "x"}},
    {"properties": {"write.metadata.compression-codec": "zip"}}])
def test_create_with_a_wrong_body(api, ns, change):
    """400; nothing is created."""
    body = {"name": "v", "schema": simple(), "view-version": view_version()}
    api.post(f"{ns_path(ns)}/views", body | change).fails(400)
    assert api.view_names(ns) == []


@pytest.mark.parametrize("member", [
    "version-id", "timestamp-ms", "schema-id", "summary", "representations", "default-namespace"])
@pytest.mark.parametrize("value", [..., None, "x", 1.5, 2**70, [1], {"a": 1}])
def test_version_with_a_wrong_member(api, ns, view, member, value):
    """Each member of a version absent, null or of another type: 400 in create and in replace."""
    version = view_version() | {member: value}
    if value is ...:
        del version[member]
    api.create_view(ns, "w", version).fails(400)
    api.replace_view(ns, view, [{"action": "add-view-version", "view-version": version}]).fails(400)
    assert api.view_names(ns) == ["v"] and len(metadata(api, ns)["versions"]) == 1


def test_types_of_every_format_version(api, ns):
    """A view's columns may have any type."""
    schema = struct(field(1, "v", "variant"), field(2, "t", "timestamptz_ns"), field(3, "u", "unknown"))
    assert api.create_view(ns, "v", schema=schema).ok().json["metadata"]["schemas"] == [schema]


# --- load, exists, list ---------------------------------------------------------------


def test_missing(api, ns):
    """NoSuchViewException, also in a missing namespace; the message is compared by Java's tests."""
    for namespace in (ns, "non-existing"):
        text = f"View does not exist: {namespace}.view"
        path = view_path(namespace, "view")
        api.get(path).fails(404, "NoSuchViewException", text)
        api.head(path).expect(404)
        api.delete(path).fails(404, "NoSuchViewException", text)
        api.replace_view(namespace, "view", [set_properties(a="b")]).fails(404, "NoSuchViewException", text)


def test_exists(api, ns, view):
    api.head(view_path(ns, view)).expect(204)


def test_tables_are_no_views_and_views_no_tables(api, ns, view):
    """Neither is found, listed, changed or dropped as the other."""
    api.table(ns, "t")
    text = f"View does not exist: {ns}.t"
    for answer in (api.load_view(ns, "t"), api.replace_view(ns, "t", [set_properties(a="b")]), api.drop_view(ns, "t")):
        answer.fails(404, "NoSuchViewException", text)
    api.head(view_path(ns, "t")).expect(404)
    text = f"Table does not exist: {ns}.v"
    for answer in (api.load(ns, view), api.commit(ns, view, [set_properties(a="b")]), api.drop(ns, view)):
        answer.fails(404, "NoSuchTableException", text)
    assert not api.exists(ns, view)
    assert api.names(ns) == ["t"] and api.view_names(ns) == ["v"]


def test_tags(api, ns):
    """One tag from create, load, replace and register; 304 without a body."""
    created = api.create_view(ns, "v").ok()
    assert created.etag == api.load_view(ns, "v").ok().etag
    answer = api.load_view(ns, "v", If_None_Match=created.etag).expect(304)
    assert answer.raw == b"" and answer.etag == created.etag
    replaced = api.replace_view(ns, "v", [set_properties(a="b")]).ok()
    assert replaced.etag != created.etag
    assert api.load_view(ns, "v", If_None_Match=created.etag).ok().etag == replaced.etag


def test_missing_metadata_file(api, ns, view):
    """On local files a load whose file is gone is 404 NotFoundException naming it; the drop goes through."""
    first = api.load_view(ns, view).ok()
    location = first.json["metadata-location"]
    api.store.delete(location)
    if api.store.kind == "file":
        text = f"Failed to open input stream for file: {location}"
        api.load_view(ns, view).fails(404, "NotFoundException", text)
        api.load_view(ns, view, If_None_Match=first.etag).fails(404, "NotFoundException", text)
    api.head(view_path(ns, view)).expect(204)
    api.drop_view(ns, view).expect(204)
    assert api.view_names(ns) == []


def test_hot_loads_parse_nothing(api, ns, view):
    """The stored bytes, one lookup, no JSON."""
    api.load_view(ns, view).ok()
    before = api.server.metrics()
    for _ in range(5):
        api.load_view(ns, view).ok()
    after = api.server.metrics()
    for name in ("firn_json_parses_total", "firn_json_dumps_total", "firn_json_scans_total"):
        assert after[name] == before[name], name


@pytest.mark.parametrize("size,count", [(1, 7), (3, 3), (7, 1), (100, 1)])
def test_pages(api, ns, size, count):
    """As those of tables, and apart from them."""
    names = [f"v{i}" for i in range(7)]
    for name in names:
        api.create_view(ns, name).ok()
    for name in ("a", "v3t", "z"):
        api.create(ns, name).ok()
    found, token = [], ""
    while token is not None:
        page = api.get(f"{ns_path(ns)}/views?pageToken={token}&pageSize={size}").ok().json
        found.append([i["name"] for i in page["identifiers"]])
        token = page.get("next-page-token")
    assert sum(found, []) == names and len(found) == count
    token = api.get(f"{ns_path(ns)}/views?pageToken=&pageSize=2").ok().json["next-page-token"]
    api.get(f"{ns_path(ns)}/tables?pageToken={token}").fails(400, "BadRequestException")


def test_list_of_a_missing_namespace(api):
    api.get(f"{ns_path('non-existing')}/views").fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")


def test_names_in_every_spelling(api, ns):
    for name in ("a b", "a+b", "a/b", "a.b", "%", "\u00fc", "views", "x" * 255):
        api.create_view(ns, name).ok()
        for how in (enc, enc_java):
            api.get(view_path(ns, name, how)).ok()
            api.head(view_path(ns, name, how)).expect(204)
        api.post(view_path(ns, name, enc_java), {"updates": [set_properties(a="b")]}).ok()
        api.delete(view_path(ns, name, enc_java)).expect(204)


# --- replace -------------------------------------------------------------------------


def assert_uuid(got):
    return {"type": "assert-view-uuid", "uuid": got["view-uuid"]}


def test_replace(api, ns, view):
    """The next version with a new schema; properties merged; the old ones stay."""
    before = api.load_view(ns, view).ok().json
    answer = api.replace_view(ns, view, [
        set_properties(owner="me"), {"action": "add-schema", "schema": WIDER},
        *replace_version(representation("SELECT 2"), number=2, schema=-1, ms=1700000005000)],
        [assert_uuid(before["metadata"])]).ok()
    got = answer.json["metadata"]
    assert got["schemas"] == [simple(), WIDER | {"schema-id": 1}]
    assert got["versions"][0] == before["metadata"]["versions"][0]
    assert got["versions"][1] == view_version(representation("SELECT 2"), number=2, schema=1, ms=1700000005000)
    assert got["current-version-id"] == 2 and got["properties"] == {"owner": "me"}
    assert got["version-log"] == [{"timestamp-ms": 1700000000000, "version-id": 1},
                                  {"timestamp-ms": 1700000005000, "version-id": 2}]
    assert got["view-uuid"] == before["metadata"]["view-uuid"]
    assert "/00001-" in answer.json["metadata-location"]
    assert api.load_view(ns, view).ok().json == answer.json
    assert json.loads(gzip.decompress(api.store.read(answer.json["metadata-location"]))) == got


def test_replace_with_what_is_there(api, ns, view):
    """Nothing changes, nothing is written, the pointer stays."""
    before = api.load_view(ns, view).ok()
    files = api.store.list()
    same = {"action": "add-view-version", "view-version": view_version(number=2, ms=1800000000000)}
    for updates in ([], [same], [{"action": "add-schema", "schema": simple()}], [same | {"action": "ADD-View-Version"}],
                    [{"action": "set-current-view-version", "view-version-id": 1}],
                    [{"action": "assign-uuid", "uuid": before.json["metadata"]["view-uuid"]}]):
        answer = api.replace_view(ns, view, updates).ok()
        assert answer.json == before.json and answer.etag == before.etag
    assert api.store.list() == files


def test_requirements(api, ns, view):
    got = metadata(api, ns)
    other = str(uuid.uuid4())
    change = [set_properties(a="b")]
    api.replace_view(ns, view, change, [{"type": "assert-view-uuid", "uuid": other}]).fails(
        409, "CommitFailedException",
        f"Requirement failed: view UUID does not match: expected {got['view-uuid']} != {other}")
    api.replace_view(ns, view, change, [{"type": "assert-table-uuid", "uuid": other}]).fails(
        400, "ValidationException", "Cannot validate AssertTableUUID against a view")
    api.replace_view(ns, view, change, [{"type": "assert-create"}]).fails(
        400, "ValidationException", "Cannot validate AssertTableDoesNotExist against a view")
    api.replace_view(ns, view, change, [{"type": "assert-nothing"}]).fails(400, "BadRequestException")
    table = api.table(ns, "t")
    table.commit(*change, requirements=[assert_uuid(got)]).fails(
        400, "ValidationException", "Cannot validate AssertViewUUID against a table")
    assert metadata(api, ns) == got
    api.replace_view(ns, view, change, [assert_uuid({"view-uuid": got["view-uuid"].upper()})]).ok()


@pytest.mark.parametrize("update,name", [
    ({"action": "add-spec", "spec": spec()}, "AddPartitionSpec"),
    ({"action": "add-sort-order", "sort-order": order(order_id=0)}, "AddSortOrder"),
    ({"action": "set-current-schema", "schema-id": 0}, "SetCurrentSchema"),
    ({"action": "remove-snapshots", "snapshot-ids": [1]}, "RemoveSnapshots"),
    ({"action": "remove-schemas", "schema-ids": [1]}, "RemoveSchemas"),
    ({"action": "remove-snapshot-ref", "ref-name": "x"}, "RemoveSnapshotRef")])
def test_updates_of_tables(api, ns, view, update, name):
    """Refused, and before the view is looked for."""
    for target in (view, "nope"):
        api.replace_view(ns, target, [set_properties(a="b"), update]).fails(
            400, "ValidationException", f"Cannot apply update {name} to a view")
    assert "properties" not in metadata(api, ns)


def test_updates_of_views_on_a_table(api, ns):
    api.table(ns, "t").commit(*replace_version()).fails(
        400, "ValidationException", "Cannot apply update AddViewVersion to a table")


def test_unknown_ids(api, ns, view):
    """-1 needs something that this request has added."""
    for updates, text in (
            (replace_version(representation("x"), schema=4), "Cannot add version with unknown schema: 4"),
            (replace_version(representation("x"), schema=-1), "Cannot set last added schema: no schema has been added"),
            ([{"action": "set-current-view-version", "view-version-id": -1}],
             "Cannot set last version id: no current version id has been set"),
            ([{"action": "set-current-view-version", "view-version-id": 4}],
             "Cannot set current version to unknown version: 4")):
        api.replace_view(ns, view, updates).fails(400, message=text)


def test_location(api, ns, view):
    """The next file goes to the new place; the old place is free again."""
    old = metadata(api, ns)["location"]
    place = f"{api.store.base}/moved/{ns}"
    answer = api.replace_view(ns, view, [{"action": "set-location", "location": place}]).ok().json
    assert answer["metadata"]["location"] == place
    assert answer["metadata-location"].startswith(f"{place}/metadata/00001-")
    assert answer["metadata"]["version-log"] == [{"timestamp-ms": 1700000000000, "version-id": 1}]
    api.create_view(ns, "w", location=old).ok()
    for bad in (old, old + "/x", "s3://elsewhere/x", api.store.base):
        api.replace_view(ns, view, [{"action": "set-location", "location": bad}]).fails(400)
    assert metadata(api, ns)["location"] == place


def test_properties_that_mean_something_to_tables(api, ns, view):
    """They are stored, and do nothing."""
    table = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1",
             "format-version": "3", "commit.retry.num-retries": "x"}
    for number in range(3):
        updates = [{"action": "set-properties", "updates": table | {"n": str(number)}}]
        got = api.replace_view(ns, view, updates).ok().json
        assert got["metadata"]["properties"] == table | {"n": str(number)}
        assert "metadata-log" not in got["metadata"]
    assert len(api.store.list(got["metadata"]["location"])) == 4


def test_dialects(api, ns):
    """A replace that loses a dialect needs the property, which may come in the same request."""
    api.create_view(ns, "v", view_version(representation("a", "spark"), representation("b", "Trino"))).ok()
    api.replace_view(ns, "v", replace_version(representation("c", "SPARK"))).fails(
        400, message="Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
                     "Previous dialects: [spark, trino]\nNew dialects: [spark]")
    api.replace_view(ns, "v", replace_version(
        representation("c", "TRINO"), representation("d", "spark"), representation("e", "duckdb"))).ok()
    allowed = [{"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "true"}}]
    got = api.replace_view(ns, "v", allowed + replace_version(representation("f", "spark"))).ok().json["metadata"]
    assert got["current-version-id"] == 3 and len(got["versions"]) == 3


def test_history_is_cut(api, ns, view):
    """Ten versions, or as many as the property says; the log has no gap."""
    for i in range(2, 14):
        api.replace_view(ns, view, replace_version(representation(f"SELECT {i}"), number=i)).ok()
    got = metadata(api, ns)
    assert [v["version-id"] for v in got["versions"]] == list(range(4, 14))
    assert [e["version-id"] for e in got["version-log"]] == list(range(4, 14))
    three = [{"action": "set-properties", "updates": {"version.history.num-entries": "3"}}]
    got = api.replace_view(ns, view, three).ok().json["metadata"]
    assert [v["version-id"] for v in got["versions"]] == [11, 12, 13]
    none = [{"action": "set-properties", "updates": {"version.history.num-entries": "0"}}]
    api.replace_view(ns, view, none).fails(
        400, "IllegalArgumentException", "version.history.num-entries must be positive but was 0")


def test_concurrent_replaces(api, ns, view):
    """Both computed from version 1: the second becomes version 3, and nothing is lost."""
    uuid_ = assert_uuid(metadata(api, ns))
    api.replace_view(ns, view, [
        {"action": "add-schema", "schema": WIDER},
        *replace_version(representation("SELECT 2"), representation("b", "trino"), number=2, schema=-1)], [uuid_]).ok()
    got = api.replace_view(ns, view, replace_version(
        representation("SELECT 3"), representation("c", "trino"), number=2), [uuid_]).ok().json["metadata"]
    assert [(v["version-id"], v["schema-id"]) for v in got["versions"]] == [(1, 0), (2, 1), (3, 0)]
    assert got["current-version-id"] == 3


def test_many_concurrent_replaces(api, ns, view):
    """Each is applied once or refused with 409; ids are never given twice."""
    def one(i):
        updates = replace_version(representation(f"SELECT {i + 10}"), number=2)
        return api.replace_view(ns, view, updates).expect(200, 409, 429).status
    api.replace_view(ns, view, [{"action": "set-properties", "updates": {"version.history.num-entries": "100"}}]).ok()
    applied = in_parallel(16, one).count(200)
    got = metadata(api, ns)
    assert applied >= 1
    assert [v["version-id"] for v in got["versions"]] == list(range(1, applied + 2))
    assert [e["version-id"] for e in got["version-log"]] == list(range(1, applied + 2))


def test_replace_sent_again(api, ns, view):
    """A replace whose answer was lost is recognised: the state it made, once."""
    updates = replace_version(representation("SELECT 2"), number=2, ms=1700000009000)
    first = api.replace_view(ns, view, updates).ok()
    assert api.replace_view(ns, view, updates).ok().json == first.json
    other = api.replace_view(ns, view, replace_version(representation("SELECT 3"), number=3)).ok()
    assert api.replace_view(ns, view, updates).ok().json == first.json
    assert api.load_view(ns, view).ok().json == other.json


def test_commit_on_a_dropped_view(api, ns, view):
    got = metadata(api, ns)
    api.drop_view(ns, view).expect(204)
    api.replace_view(ns, view, replace_version(representation("x")), [assert_uuid(got)]).fails(
        404, "NoSuchViewException", f"View does not exist: {ns}.v")


# --- drop ------------------------------------------------------------------------------


def test_drop(api, ns, view):
    """The metadata file goes with it; the name and the place are free."""
    answer = api.load_view(ns, view).ok().json
    api.drop_view(ns, view).expect(204)
    api.load_view(ns, view).fails(404, "NoSuchViewException")
    eventually(lambda: not api.store.exists(answer["metadata-location"]))
    api.create_view(ns, view, location=answer["metadata"]["location"]).ok()


def test_register_at_once_after_the_drop(api, ns):
    """Who is first has the file: it stays with the view that was registered, or is as good as gone."""
    made = []
    for i in range(30):
        location = api.create_view(ns, "v").ok().json["metadata-location"]
        api.drop_view(ns, "v").expect(204)
        answer = api.register_view(ns, f"r{i}", location)
        if answer.status == 200:
            made.append((f"r{i}", location))
        else:
            answer.fails(404, "NotFoundException")
    last = api.create_view(ns, "v").ok().json["metadata-location"]
    api.drop_view(ns, "v").expect(204)
    eventually(lambda: not api.store.exists(last))  # files go one after the other
    for name, location in made:
        assert api.load_view(ns, name).ok().json["metadata-location"] == location


def test_register_of_a_file_that_has_just_gone(api, ns, view):
    """Though it is there again: a request that read it before it went might come as late."""
    location = api.load_view(ns, view).ok().json["metadata-location"]
    text = api.store.read(location)
    api.drop_view(ns, view).expect(204)
    eventually(lambda: not api.store.exists(location))
    api.store.write(location, text)
    api.register_view(ns, view, location).fails(404, "NotFoundException", contains="being deleted")
    copy = location.replace("/00000-", "/copy-")
    api.store.write(copy, text)
    api.register_view(ns, view, copy).ok()


def test_drop_keeps_the_file_when_told_so(api, ns):
    """gc.enabled=false; the file can be registered again."""
    before = api.create_view(ns, "v", properties={"gc.enabled": "false"}).ok()
    location = before.json["metadata-location"]
    api.drop_view(ns, "v").expect(204)
    assert api.store.exists(location)
    answer = api.register_view(ns, "again", location).ok()
    assert answer.json == before.json and answer.etag == before.etag
    assert "/00001-" in api.replace_view(ns, "again", [set_properties(a="b")]).ok().json["metadata-location"]


def test_drop_of_a_broken_file(api, ns, view):
    api.store.write(api.load_view(ns, view).ok().json["metadata-location"], b"{")
    api.drop_view(ns, view).expect(204)


def test_namespace_with_a_view_is_not_empty(api, ns, view):
    api.delete(ns_path(ns)).fails(409, "NamespaceNotEmptyException", contains="is not empty")
    api.drop_view(ns, view).expect(204)
    api.delete(ns_path(ns)).expect(204)


# --- name clashes ------------------------------------------------------------------------


def test_name_clashes(api, ns, view):
    """One name space; each operation says it in the words that Java's tests compare."""
    table = api.table(ns, "t")
    as_view, as_table = f"View with same name already exists: {ns}.v", f"Table with same name already exists: {ns}.t"
    kept = api.create_view(ns, "k", properties={"gc.enabled": "false"}).ok().json["metadata-location"]
    api.drop_view(ns, "k").expect(204)
    gone = api.table(ns, "g").metadata_location
    api.drop(ns, "g").expect(204)
    for answer, text in (
            (api.create(ns, "v"), as_view), (api.register(ns, "v", gone), as_view),
            (api.register(ns, "v", gone, overwrite=True), as_view),
            (api.create_view(ns, "t"), as_table), (api.register_view(ns, "t", kept), as_table),
            (api.create_view(ns, "v"), f"View already exists: {ns}.v"),
            (api.register_view(ns, "v", kept), f"View already exists: {ns}.v"),
            (api.create(ns, "t"), f"Table already exists: {ns}.t"),
            (api.rename((ns, "t"), (ns, "v")), f"Cannot rename {ns}.t to {ns}.v. View already exists"),
            (api.rename_view((ns, "v"), (ns, "t")), f"Cannot rename {ns}.v to {ns}.t. Table already exists")):
        answer.fails(409, "AlreadyExistsException", text)
    api.create_view(ns, "w").ok()
    api.rename_view((ns, "v"), (ns, "w")).fails(
        409, "AlreadyExistsException", f"Cannot rename {ns}.v to {ns}.w. View already exists")
    table.load().ok()


def test_staged_table_and_a_view(api, ns, view):
    """Staging reserves nothing: the commit finds the view."""
    text = f"View with same name already exists: {ns}.v"
    staged = api.create(ns, view, stage_create=True).ok().json["metadata"]
    api.commit(ns, view, create_updates(staged), [{"type": "assert-create"}]).fails(409, "AlreadyExistsException", text)
    staged = api.create(ns, "later", stage_create=True).ok().json["metadata"]
    api.create_view(ns, "later").ok()
    api.commit(ns, "later", create_updates(staged), [{"type": "assert-create"}]).fails(
        409, "AlreadyExistsException", f"View with same name already exists: {ns}.later")


def test_race_for_one_name(api, ns):
    """Tables and views created and registered under one name at once: one of them is there."""
    for _ in range(3):
        name = api.new_name()
        def one(i, name=name):
            return (api.create if i % 2 else api.create_view)(ns, name)
        assert sorted(a.status for a in in_parallel(8, one)) == [200] + [409] * 7
        assert (api.names(ns) + api.view_names(ns)).count(name) == 1


# --- rename ------------------------------------------------------------------------------


def test_rename(api, ns, view):
    """Only the name changes."""
    other = api.new_namespace()
    before = api.load_view(ns, view).ok()
    api.rename_view((ns, view), (ns, "w")).expect(204)
    api.load_view(ns, view).fails(404, "NoSuchViewException")
    api.rename_view((ns, "w"), ([other], "x")).expect(204)
    after = api.load_view(other, "x").ok()
    assert after.json == before.json and after.etag == before.etag
    assert api.view_names(ns) == [] and api.view_names(other) == ["x"]
    api.rename_view((other, "x"), (other, "x")).expect(204)
    api.replace_view(other, "x", [set_properties(a="b")]).ok()


def test_rename_refusals(api, ns, view):
    """The namespace of the destination is looked at first."""
    api.rename_view((ns, view), ("non_existing", "v")).fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non_existing")
    api.rename_view((ns, "nope"), ("non_existing", "v")).fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non_existing")
    api.rename_view((ns, "nope"), (ns, "w")).fails(404, "NoSuchViewException", f"View does not exist: {ns}.nope")
    api.table(ns, "t")
    api.rename_view((ns, "t"), (ns, "w")).fails(404, "NoSuchViewException", f"View does not exist: {ns}.t")
    api.rename((ns, view), (ns, "w")).fails(404, "NoSuchTableException", f"Table does not exist: {ns}.v")
    for body in ({}, {"source": {"namespace": [ns], "name": "v"}},
                 {"source": {"namespace": [], "name": "v"}, "destination": {"namespace": [ns], "name": "w"}}):
        api.post("/v1/views/rename", body).fails(400, "BadRequestException")


# --- register ------------------------------------------------------------------------------


def document(location, **members):
    """The smallest view metadata."""
    return {"view-uuid": str(uuid.uuid4()), "format-version": 1, "location": location, "schemas": [simple()],
            "current-version-id": 1, "versions": [view_version()],
            "version-log": [{"timestamp-ms": 1700000000000, "version-id": 1}]} | members


@pytest.fixture
def place(api, ns):
    return f"{api.store.base}/registered/{ns}"


def put(api, place, data, name="v1.metadata.json"):
    uri = f"{place}/metadata/{name}"
    api.store.write(uri, data if isinstance(data, bytes) else json.dumps(data).encode())
    return uri


def test_register(api, ns, place):
    """The given file is the view: nothing is written, unknown members and representations travel on."""
    extra = view_version(representation(), {"type": "plan", "sql": "", "dialect": "x", "bytes": "AAEC"})
    uri = put(api, place, document(place, versions=[extra], note={"a": 1.5}))
    files = api.store.list()
    answer = api.register_view(ns, "v", uri).ok()
    assert answer.json["metadata-location"] == uri and answer.json["metadata"]["note"] == {"a": 1.5}
    assert api.store.list() == files
    got = api.replace_view(ns, "v", replace_version(representation("SELECT 2"))).ok().json
    assert got["metadata"]["versions"][0] == extra and got["metadata"]["note"] == {"a": 1.5}
    assert got["metadata-location"].startswith(f"{place}/metadata/00000-")


def test_register_packed(api, ns, place):
    uri = put(api, place, gzip.compress(json.dumps(document(place)).encode()), "00004-x.gz.metadata.json")
    api.register_view(ns, "v", uri).ok()
    assert "/00005-" in api.replace_view(ns, "v", [set_properties(a="b")]).ok().json["metadata-location"]


def test_register_both_spellings_of_local_files(api, ns, place):
    if api.store.kind != "file":
        return
    short = "file:" + str(local_path(put(api, place, document(place))))
    assert api.register_view(ns, "v", short).ok().json["metadata-location"] == short


def test_register_refusals(api, ns, place):
    """A missing namespace, a missing or broken file, a file of the other kind: the name stays free."""
    uri = put(api, place, document(place))
    api.register_view("non-existing", "v", uri).fails(404, "NoSuchNamespaceException")
    api.register_view(ns, "v", uri + "x.metadata.json").fails(
        404, "NotFoundException", f"Failed to open input stream for file: {uri}x.metadata.json")
    api.register_view(ns, "v", "s3://elsewhere/v.metadata.json").fails(400)
    api.register_view(ns, "v", " ").fails(
        400, "IllegalArgumentException", "Cannot register an empty metadata file location as a view")
    for body in ({}, {"name": "v"}, {"name": "v", "metadata-location": None}, {"name": 1, "metadata-location": uri}):
        api.post(f"{ns_path(ns)}/register-view", body).fails(400)
    table = api.table(ns, "t")
    api.register_view(ns, "v", table.metadata_location).fails(400, "IllegalArgumentException", contains="of a table")
    api.register(ns, "v", uri).fails(400, "IllegalArgumentException", contains="of a view")
    for i, change in enumerate((
            {"view-uuid": "x"}, {"view-uuid": None}, {"format-version": 2}, {"format-version": "1"}, {"location": ""},
            {"location": "s3://elsewhere/v"}, {"schemas": []}, {"schemas": None}, {"schemas": [simple(), simple()]},
            {"versions": []}, {"versions": {}}, {"versions": [view_version(), view_version()]},
            {"current-version-id": 2}, {"current-version-id": None}, {"versions": [view_version(schema=3)]}, {"version-log": None},
            {"version-log": [{}]}, {"properties": {"a": 1}}, {"properties": {"version.history.num-entries": "0"}},
            {"versions": [view_version({"type": "sql", "sql": "x"})]})):
        answer = api.register_view(ns, "v", put(api, place, document(place) | change, f"bad{i}.metadata.json"))
        assert answer.status == 400, (change, str(answer))
    assert api.view_names(ns) == [] and api.names(ns) == ["t"]


def test_register_twice(api, ns, place):
    """Neither the uuid nor the place may belong to another view or table."""
    uri = put(api, place, document(place))
    api.register_view(ns, "v", uri).ok()
    api.register_view(ns, "w", uri).fails(409, "AlreadyExistsException")
    api.register_view(ns, "w", put(api, place, document(place), "b.metadata.json")).fails(409, "AlreadyExistsException")


# --- keys ----------------------------------------------------------------------------------


def test_idempotency_keys(api, ns):
    """The same key again: the same answer, done once."""
    def twice(method, path, body=None):
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        first = api.request(method, path, body, headers)
        again = api.request(method, path, body, headers)
        assert (again.status, again.raw and again.json) == (first.status, first.raw and first.json)
        return first
    body = {"name": "v", "schema": simple(), "view-version": view_version(),
            "properties": {"gc.enabled": "false"}}
    location = twice("POST", f"{ns_path(ns)}/views", body).ok().json["metadata-location"]
    replaced = twice("POST", view_path(ns, "v"), {"updates": replace_version(representation("SELECT 2"))}).ok()
    assert len(replaced.json["metadata"]["versions"]) == 2
    both = {"source": {"namespace": [ns], "name": "v"}, "destination": {"namespace": [ns], "name": "w"}}
    twice("POST", "/v1/views/rename", both).expect(204)
    twice("DELETE", view_path(ns, "w")).expect(204)
    twice("POST", f"{ns_path(ns)}/register-view", {"name": "v", "metadata-location": location}).ok()
    twice("DELETE", view_path(ns, "none")).fails(404, "NoSuchViewException")
    assert api.view_names(ns) == ["v"]
