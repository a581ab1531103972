"""Cases of public reports: schemas, specs, orders, defaults, versions 1 and 3, snapshots and references. The
ids are those of table.tsv."""

import json
import uuid

import pytest

from firn_client import (add_snapshot, assert_ref, field, ns_path, order, set_properties, set_ref, simple, snapshot,
                         spec, struct)

V3 = {"format-version": "3"}
ONE = struct(field(1, "id"))


def add_schema(schema, **more):
    return {"action": "add-schema", "schema": schema} | more


def set_schema(number):
    return {"action": "set-current-schema", "schema-id": number}


def add_spec(*fields):
    return {"action": "add-spec", "spec": spec(*fields)}


def set_spec(number):
    return {"action": "set-default-spec", "spec-id": number}


def add_order(*fields, order_id=1):
    return [{"action": "add-sort-order", "sort-order": order(*fields, order_id=order_id)},
            {"action": "set-default-sort-order", "sort-order-id": -1}]


def remove(*numbers):
    return {"action": "remove-snapshots", "snapshot-ids": list(numbers)}


def ids(m, what="snapshots", member="snapshot-id"):
    return [entry[member] for entry in m[what]]


# --- schemas, specs, orders, defaults -------------------------------------------------------


def test_b067_column_ids_are_never_used_again(table):
    """The highest column goes, with a client that counts back: ours does not."""
    m = table.apply(add_schema(ONE, **{"last-column-id": 1}), set_schema(-1))
    assert m["last-column-id"] == 2 and m["schemas"][1]["fields"] == ONE["fields"]
    assert table.metadata["last-column-id"] == 2
    table.apply(add_schema(struct(field(1, "id"), field(3, "new"))), set_schema(-1), requirements=[
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2}])


def test_b068_nested_ids_count(api, ns, table):
    """Elements, keys, values and fields inside: the highest of all; on create they are given anew."""
    listed = {"type": "list", "element-id": 7, "element": "long", "element-required": False}
    assert table.apply(add_schema(struct(field(1, "id"), field(2, "l", listed))))["last-column-id"] == 7
    mapped = {"type": "map", "key-id": 20, "key": "string", "value-id": 9, "value-required": False,
              "value": {"type": "struct", "fields": [field(8, "x", listed | {"element-id": 31})]}}
    assert table.apply(add_schema(struct(field(1, "id"), field(3, "m", mapped))))["last-column-id"] == 31
    m = api.create(ns, "t", struct(field(1, "id"), field(2, "l", listed))).ok().json["metadata"]
    assert m["last-column-id"] == 3 and m["schemas"][0]["fields"][1]["type"]["element-id"] == 3


def test_b070_a_schema_that_is_there_already(table):
    """It keeps its id, also under the one that the client guessed in the same request."""
    m = table.apply(add_schema(simple() | {"schema-id": 1}), set_schema(1))
    assert m["current-schema-id"] == 0 and ids(m, "schemas", "schema-id") == [0]
    for updates, text in (([set_schema(5)], "Cannot set current schema to unknown schema: 5"),
                          ([set_schema(1)], "Cannot set current schema to unknown schema: 1"),
                          ([set_schema(-1)], "Cannot set last added schema: no schema has been added")):
        table.commit(*updates).fails(400, None, text)
    assert table.metadata == m


def test_b071_ids_of_specs_and_orders_are_ours(table):
    """Taken ids give way, equal ones are found again, a field keeps its id."""
    wanted = ("id_p", "identity", 1, 1000)
    m = table.apply(add_spec(wanted), set_spec(-1))
    assert m["partition-specs"] == [spec(), spec(wanted, spec_id=1)]
    assert m["default-spec-id"] == 1 and m["last-partition-id"] == 1000
    more = ("data_b", "bucket[4]", 2, 1001)
    for updates, default, known in (([add_spec(wanted), set_spec(-1)], 1, 2), ([add_spec(), set_spec(-1)], 0, 2),
                                    ([add_spec(wanted, more), set_spec(-1)], 2, 3)):
        m = table.apply(*updates)
        assert m["default-spec-id"] == default and len(m["partition-specs"]) == known
    assert m["last-partition-id"] == 1001
    by_id = ("identity", 1, "asc", "nulls-first")
    for fields, order_id, default, known in (((), 0, 0, [0]), ((by_id,), 1, 1, [0, 1]), ((by_id,), 7, 1, [0, 1]),
                                             ((by_id, ("identity", 2, "desc", "nulls-last")), 1, 2, [0, 1, 2])):
        m = table.apply(*add_order(*fields, order_id=order_id))
        assert m["default-sort-order-id"] == default and ids(m, "sort-orders", "order-id") == known


def test_b071_a_partition_field_keeps_its_id(table):
    """A field of an earlier spec, sent without an id, is not another field."""
    table.apply(add_spec(("id_p", "identity", 1, 1000)), set_spec(-1))
    m = table.apply(add_spec(("data_b", "bucket[4]", 2, None), ("id_p", "identity", 1, None)), set_spec(-1))
    numbers = {f["name"]: f["field-id"] for f in m["partition-specs"][-1]["fields"]}
    assert numbers == {"id_p": 1000, "data_b": 1001} and m["last-partition-id"] == 1001


def test_b073_a_sort_order_without_an_id(api, ns):
    """It gets one."""
    fields = [{"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}]
    m = api.create(ns, "t", write_order={"fields": fields}).ok().json["metadata"]
    assert m["sort-orders"] == [{"order-id": 1, "fields": fields}] and m["default-sort-order-id"] == 1


def test_b074_null_is_absent(api, ns):
    """Taken, and neither answered nor stored: not on create and not later."""
    answer = api.create(ns, "t", struct(field(1, "id", doc=None), **{"identifier-field-ids": None})).ok()
    location = answer.json["metadata-location"]
    assert answer.json["metadata"]["schemas"][0]["fields"] == ONE["fields"]
    later = api.commit(ns, "t", [add_schema(struct(field(1, "id", doc=None), field(
        2, "s", {"type": "struct", "fields": [field(3, "x", doc=None, **{"initial-default": None})]})))])
    for text in (answer.body, api.store.read(location), later.ok().body, api.load(ns, "t").ok().body,
                 api.store.read(later.json["metadata-location"])):
        assert b"null" not in text, text


def test_b074_null_in_files_of_others(api, ns):
    """Registered as they are; what we answer and write has none, other than where null means something."""
    place = f"{api.store.base}/others/{ns}"
    uri = place + "/metadata/v1.metadata.json"
    document = {
        "format-version": 2, "table-uuid": str(uuid.uuid4()), "location": place, "last-sequence-number": 1,
        "last-updated-ms": 1700000000000, "last-column-id": 3, "current-schema-id": 0, "schemas": [
            struct(field(1, "id", doc=None), field(2, "s", {"type": "struct", "fields": [field(3, "x", doc=None)]}),
                   **{"identifier-field-ids": None})],
        "partition-specs": [spec()], "default-spec-id": 0, "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0, "current-snapshot-id": 1,
        "snapshots": [snapshot(1, 1, location=place) | {"parent-snapshot-id": None, "key-id": None}],
        "refs": {"main": {"snapshot-id": 1, "type": "branch", "max-ref-age-ms": None}}, "statistics": None,
        "x-own": {"a": None}}
    api.store.write(uri, json.dumps(document).encode())
    answers = [api.register(ns, "t", uri), api.load(ns, "t"), api.commit(ns, "t", [set_properties(a="b")])]
    for m in (answer.ok().json["metadata"] for answer in answers):
        assert m.pop("x-own") == {"a": None}
        assert m["snapshots"] == [snapshot(1, 1, location=place) | {"timestamp-ms": document["snapshots"][0]["timestamp-ms"]}]
        assert m["refs"] == {"main": {"snapshot-id": 1, "type": "branch"}}
        assert ": null" not in json.dumps(m)
    assert json.loads(api.store.read(uri)) == document


@pytest.mark.parametrize("token", [b"NaN", b'"NaN"', b"1e999", b"-Infinity", b'"Infinity"', b"-1e999"])
@pytest.mark.parametrize("kind", [b"double", b"float"])
def test_b076_defaults_that_json_cannot_carry(api, ns, token, kind):
    """Refused where they come in: on create and in a commit."""
    table = api.table(ns, "there", properties=V3)
    schema = (b'{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","type":"' + kind +
              b'","required":false,"write-default":' + token + b"}]}")
    api.post(f"{ns_path(ns)}/tables", b'{"name":"t","schema":' + schema + b"}").fails(400)
    api.post(table.path, b'{"updates":[{"action":"add-schema","schema":' + schema + b"}]}").fails(400)
    assert api.names(ns) == ["there"] and len(table.metadata["schemas"]) == 1


@pytest.mark.parametrize("kind,value", [
    ("timestamp_ns", "2017-11-16T22:31:08.123456789"), ("timestamptz_ns", "2017-11-16T22:31:08.123456789+00:00"),
    ("timestamp_ns", "2261-11-16T22:31:08.000000001"), ("timestamp_ns", "1678-01-01T00:00:00.999999999")])
def test_b077_defaults_of_nanoseconds(api, ns, kind, value):
    """All nine digits, in the answer and in the file; also at the ends of what 64 bits hold."""
    wanted = field(1, "ts", kind, **{"initial-default": value, "write-default": value})
    answer = api.create(ns, "t", struct(wanted), properties=V3).ok()
    assert answer.json["metadata"]["schemas"][0]["fields"] == [wanted]
    assert api.store.read(answer.json["metadata-location"]).count(f'"{value}"'.encode()) == 2


# --- versions 1 and 3 ------------------------------------------------------------------------------


def test_b079_version_3_has_a_next_row_id(api, ns, table):
    """From the first file on, made or upgraded."""
    answer = api.create(ns, "t", properties=V3).ok().json
    assert answer["metadata"]["next-row-id"] == 0
    assert json.loads(api.store.read(answer["metadata-location"]))["next-row-id"] == 0
    table.append(1, 1)
    got = table.commit({"action": "upgrade-format-version", "format-version": 3}).ok().json
    assert got["metadata"]["next-row-id"] == 0 and "first-row-id" not in got["metadata"]["snapshots"][0]
    assert json.loads(api.store.read(got["metadata-location"]))["next-row-id"] == 0


def test_b080_row_ids_of_snapshots(api, ns):
    """Behind the table's: try again; without them or not a number of rows: wrong; else they move it on."""
    table = api.table(ns, properties=V3)

    def append(number, **more):
        more = {k.replace("_", "-"): v for k, v in more.items()}
        return table.commit(add_snapshot(number, number, number - 1 or None, table.location, **more), set_ref("main", number))

    append(1, first_row_id=0, added_rows=100).ok()
    append(2, first_row_id=50, added_rows=10).fails(409, "CommitFailedException", contains="50 < 100")
    append(2).fails(400, "ValidationException", contains="first-row-id")
    append(2, first_row_id=100).fails(400, contains="added-rows")
    for rows in (-1, 2**63 - 100, 2**63, "10"):
        append(2, first_row_id=100, added_rows=rows).fails(400)
    assert table.metadata["next-row-id"] == 100
    assert append(2, first_row_id=100, added_rows=10).ok().json["metadata"]["next-row-id"] == 110


@pytest.mark.parametrize("current", [-1, None, 7])
def test_b082_metadata_of_the_first_days(api, ns, current):
    """Only `schema` and `partition-spec`, no uuid, manifests without a list: read, completed in the answer,
    and written whole by the first commit."""
    place = f"{api.store.base}/old/{ns}"
    document = {"format-version": 1, "location": place, "last-updated-ms": 1, "last-column-id": 2, "schema": simple(),
                "partition-spec": [], "current-snapshot-id": current}
    if current == 7:
        document["snapshots"] = [{"snapshot-id": 7, "timestamp-ms": 1, "manifests": [place + "/metadata/m.avro"]}]
    uri = place + "/metadata/v1.metadata.json"
    api.store.write(uri, json.dumps(document).encode())
    got = api.register(ns, "t", uri).ok().json
    assert got["metadata-location"] == uri
    for m in (got["metadata"], api.load(ns, "t").ok().json["metadata"],
              api.commit(ns, "t", [set_properties(a="b")]).ok().json["metadata"]):
        assert m["schemas"] == [simple()] and m["current-schema-id"] == 0 and m["schema"]["fields"] == simple()["fields"]
        assert m["partition-specs"] == [spec()] and m["default-spec-id"] == 0 and m["partition-spec"] == []
        assert m["sort-orders"] == [{"order-id": 0, "fields": []}] and m["default-sort-order-id"] == 0
        assert m["last-partition-id"] == 999 and m["location"] == place
        if current == 7:
            assert m["current-snapshot-id"] == 7 and m["refs"]["main"]["snapshot-id"] == 7
            assert m["snapshots"][0]["manifests"] == [place + "/metadata/m.avro"]
        else:
            assert m.get("current-snapshot-id") in (-1, None) and not m.get("refs")
    assert str(uuid.UUID(m["table-uuid"])) == m["table-uuid"]
    assert api.load(ns, "t").ok().json["metadata"]["table-uuid"] == m["table-uuid"]
    stored = json.loads(api.store.read(api.load(ns, "t").ok().json["metadata-location"]))
    assert {"schema", "schemas", "partition-spec", "partition-specs", "table-uuid"} <= stored.keys()


# --- snapshots and references -------------------------------------------------------------------------


@pytest.fixture
def three(table):
    for number in (1, 2, 3):
        table.append(number, number, number - 1 or None)
    return table


def test_b083_many_snapshots_are_removed_at_once(three):
    """A list of any length, ids that nobody knows in it; statistics go with their snapshots."""
    three.append(4, 4, 3)
    three.apply(*({"action": "set-statistics", "statistics": {
        "snapshot-id": number, "statistics-path": f"{three.location}/s{number}", "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1, "blob-metadata": []}} for number in (2, 4)),
        *({"action": "set-partition-statistics", "partition-statistics": {
            "snapshot-id": number, "statistics-path": f"{three.location}/p{number}", "file-size-in-bytes": 1}}
          for number in (1, 4)))
    m = three.apply(remove(1, 2, 3, *range(100, 400)))
    assert ids(m) == [4] and ids(m, "statistics") == [4] and ids(m, "partition-statistics") == [4]
    assert m["current-snapshot-id"] == 4
    before = three.metadata_location
    for nothing in (remove(), remove(1, 2, 3)):
        three.apply(nothing)
    assert three.metadata_location == before


def test_b085_references_to_a_removed_snapshot(three):
    """They go with it, as in Java: a branch, a tag, and main with the current snapshot. One that the same
    request moves away stays."""
    three.apply(set_ref("dev", 2), set_ref("kept", 2), set_ref("old", 1, "tag"))
    m = three.apply(set_ref("kept", 3), remove(2), requirements=[assert_ref(3)])
    assert ids(m) == [1, 3] and {name: r["snapshot-id"] for name, r in m["refs"].items()} == {
        "main": 3, "kept": 3, "old": 1}
    assert three.metadata == m
    m = three.apply(remove(1, 3))
    assert m["refs"] == {} and m["snapshots"] == [] and m.get("current-snapshot-id", -1) in (-1, None)
    assert three.metadata == m


def test_b086_totals_are_not_invented(table):
    """A summary is the writer's: the operation alone is enough, unknown keys are kept."""
    for number, summary in ((1, {"operation": "append"}), (2, {"operation": "append", "x-y": "\u00fc", "total-records": "0"})):
        m = table.append(number, number, number - 1 or None, summary=summary)
        assert m["snapshots"][-1]["summary"] == summary
        assert table.metadata["snapshots"][-1]["summary"] == summary


@pytest.mark.parametrize("version", ["2", "3"])
def test_b088_snapshots_are_whole(api, ns, version):
    """Every member that strict readers ask for, in each kind of load."""
    table = api.table(ns, properties={"format-version": version})
    more = {"first-row-id": 0, "added-rows": 0} if version == "3" else {}
    for number in (1, 2):
        table.append(number, number, number - 1 or None, **more)
    for query, count in (("", 2), ("?snapshots=all", 2), ("?snapshots=refs", 1)):
        found = table.load(query).ok().json["metadata"]["snapshots"]
        assert len(found) == count
        for entry in found:
            wanted = snapshot(entry["snapshot-id"], location=table.location)
            assert entry["manifest-list"] == wanted["manifest-list"] and entry["summary"] == {"operation": "append"}
            assert entry["sequence-number"] == entry["snapshot-id"] and entry["timestamp-ms"] <= wanted["timestamp-ms"]


@pytest.mark.parametrize("update,text", [
    (set_ref("r", 1, "tag", **{"max-ref-age-ms": 1, "min-snapshots-to-keep": 2}),
     "Tags do not support setting minSnapshotsToKeep"),
    (set_ref("r", 1, "tag", **{"max-snapshot-age-ms": 1}), "Tags do not support setting maxSnapshotAgeMs"),
    (set_ref("main", 1, "tag"), "Cannot set main to a tag, it must be a branch"),
    (set_ref("r", 99), "Cannot set r to unknown snapshot: 99"), (set_ref("r", 99, "tag"), "Cannot set r to unknown snapshot: 99")])
def test_b089_references_that_cannot_be(table, update, text):
    """400 with the reason; nothing changes."""
    table.append(1, 1)
    before = table.loaded
    table.commit(update).fails(400, None, text)
    assert table.loaded == before


def test_b089_retention_that_is_null(table):
    """As if it were absent, also when there was one; the server itself ends no reference."""
    table.append(1, 1)
    old = {"max-ref-age-ms": 1}
    assert table.apply(set_ref("r", 1, "tag", **old))["refs"]["r"] == {"snapshot-id": 1, "type": "tag"} | old
    assert "r" in table.append(2, 2, 1)["refs"]
    nulls = dict.fromkeys(("max-ref-age-ms", "min-snapshots-to-keep", "max-snapshot-age-ms"))
    for kind in ("tag", "branch"):
        assert table.apply(set_ref("r", 1, kind, **nulls))["refs"]["r"] == {"snapshot-id": 1, "type": kind}
