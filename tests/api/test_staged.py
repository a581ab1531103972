"""Staged creates, the commits that make them real, and replacements."""

import re

import pytest

from firn_client import (add_snapshot, assert_ref, assert_uuid, create_updates, field, order, set_ref,
                         simple, spec, struct)

NEW = {"type": "assert-create"}


def staged(api, ns, name="t", schema=None, **members):
    return api.create(ns, name, schema, stage_create=True, **members).ok().json["metadata"]


def test_staged_create_shows_nothing(api, ns):
    """Complete metadata, no metadata-location, no tag; nothing is registered or listed, no file is written."""
    files = api.store.list()
    answer = api.create(ns, "t", stage_create=True).ok()
    assert answer.json.get("metadata-location") is None
    assert answer.etag is None
    assert answer.json["config"] == {}
    assert answer.json["metadata"]["schemas"] == [simple()]
    api.load(ns, "t").fails(404, "NoSuchTableException")
    assert api.names(ns) == [] and not api.exists(ns, "t")
    assert api.store.list() == files


def test_commit_of_a_staged_create(api, ns):
    """The table appears with the uuid, ids and place that were promised; file 00000, empty metadata log."""
    m = staged(api, ns, schema=struct(field(7, "id"), field(8, "ts", "timestamp")),
               partition_spec=spec(("ts_day", "day", 8, None)), write_order=order(("identity", 7, "asc", "nulls-last")),
               properties={"mine": "1"})
    answer = api.commit(ns, "t", create_updates(m), [NEW]).ok()
    got = answer.json["metadata"]
    assert answer.etag
    for member in ("table-uuid", "location", "schemas", "current-schema-id", "partition-specs", "default-spec-id",
                   "sort-orders", "default-sort-order-id", "last-column-id", "last-partition-id", "properties",
                   "format-version"):
        assert got[member] == m[member], member
    assert got["metadata-log"] == [] and got["snapshots"] == []
    assert answer.json["metadata-location"].startswith(m["location"] + "/metadata/00000-")
    assert api.load(ns, "t").ok().json["metadata"] == got


def test_create_commit_with_data(api, ns):
    """CTAS: the first snapshot comes with the creation."""
    m = staged(api, ns)
    updates = [*create_updates(m), add_snapshot(5, 1, location=m["location"]), set_ref("main", 5)]
    got = api.commit(ns, "t", updates, [NEW]).ok().json["metadata"]
    assert got["current-snapshot-id"] == 5 and got["last-sequence-number"] == 1
    assert [e["snapshot-id"] for e in got["snapshot-log"]] == [5]
    assert got["metadata-log"] == []


def test_intermediate_snapshots_leave_no_log_entry(api, ns):
    """Several snapshots on main in one request: only the last is in the log."""
    m = staged(api, ns)
    updates = [*create_updates(m), add_snapshot(5, 1, location=m["location"]), set_ref("main", 5),
               add_snapshot(6, 2, 5, location=m["location"]), set_ref("main", 6)]
    got = api.commit(ns, "t", updates, [NEW]).ok().json["metadata"]
    assert [s["snapshot-id"] for s in got["snapshots"]] == [5, 6]
    assert [e["snapshot-id"] for e in got["snapshot-log"]] == [6]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_create_commit_of_each_version(api, ns, version):
    """The first upgrade-format-version sets the initial version: a v1 table is no downgrade."""
    m = staged(api, ns, properties={"format-version": str(version)})
    assert m["format-version"] == version
    got = api.commit(ns, "t", create_updates(m, version), [NEW]).ok().json["metadata"]
    assert got["format-version"] == version
    assert ("next-row-id" in got) == (version == 3)
    assert ("schema" in got) == (version == 1)


def test_create_commit_without_a_version(api, ns):
    """Version 2."""
    m = staged(api, ns)
    updates = [u for u in create_updates(m) if u["action"] != "upgrade-format-version"]
    assert api.commit(ns, "t", updates, [NEW]).ok().json["metadata"]["format-version"] == 2


def test_create_commit_keeps_field_ids(api, ns):
    """Ids were assigned when it was staged (or by the client): the commit takes them as they are."""
    m = staged(api, ns)
    updates = create_updates(m)
    updates[2]["schema"] = struct(field(11, "a"), field(27, "b"))
    got = api.commit(ns, "t", updates, [NEW]).ok().json["metadata"]
    assert [f["id"] for f in got["schemas"][0]["fields"]] == [11, 27] and got["last-column-id"] == 27


@pytest.mark.parametrize("missing", ["add-schema", "add-spec", "add-sort-order", "set-location"])
def test_create_commit_with_a_part_missing(api, ns, missing):
    """No schema, spec, order or location: 400, and nothing is made."""
    m = staged(api, ns)
    drop = {missing, {"add-schema": "set-current-schema", "add-spec": "set-default-spec",
                      "add-sort-order": "set-default-sort-order"}.get(missing, missing)}
    updates = [u for u in create_updates(m) if u["action"] not in drop]
    api.commit(ns, "t", updates, [NEW]).fails(400)
    assert api.names(ns) == []


def test_create_commit_on_an_existing_table(api, ns):
    """409 CommitFailedException with the text that Java's catalogs use."""
    m = staged(api, ns)
    api.table(ns, "t")
    api.commit(ns, "t", create_updates(m), [NEW]).fails(
        409, "CommitFailedException", "Requirement failed: table already exists")


def test_staged_create_of_an_existing_table(api, ns):
    """409 AlreadyExistsException already when it is staged."""
    api.table(ns, "t")
    api.create(ns, "t", stage_create=True).fails(409, "AlreadyExistsException", f"Table already exists: {ns}.t")


@pytest.mark.parametrize("properties", [
    {"write.metadata.compression-codec": "lz4"}, {"write.metadata.path": "file:///etc"},
    {"write.metadata.path": "s3://elsewhere/t"}, {"write.metadata.path": "../t"},
    {"commit.retry.num-retries": "-1"}, {"write.metadata.metrics.column.nope": "full"}, {"format-version": "9"}])
def test_staged_create_checks_what_create_checks(api, ns, properties):
    """Type and message are those of create, but for the name of the file; nothing is made."""
    files = api.store.list()
    plain = api.create(ns, "t", properties=properties).fails(400)
    error = api.create(ns, "t", stage_create=True, properties=properties).fails(400)
    for told in (plain, error):
        told["message"] = re.sub("00000-[0-9a-f-]{36}", "00000-?", told["message"])
    assert error == plain
    assert api.names(ns) == [] and api.store.list() == files


def test_staged_create_at_an_occupied_location(api, ns):
    """As on create: in, at or around the location of another table. Next to it is free, also for two."""
    place = f"{api.store.base}/{ns}/a/other"
    other = api.table(ns, "other", location=place)
    for taken in (place, place + "/", place + "/x", f"{api.store.base}/{ns}/a"):
        plain = api.create(ns, "t", location=taken).fails(409, "AlreadyExistsException")
        error = api.create(ns, "t", stage_create=True, location=taken).fails(409, "AlreadyExistsException")
        assert error == plain
    for _ in range(2):
        staged(api, ns, location=place + "2")
    assert api.names(ns) == [other.name]


def test_staged_create_in_a_missing_namespace(api):
    """404 NoSuchNamespaceException, staged and committed."""
    api.create("non-existing", "t", stage_create=True).fails(404, "NoSuchNamespaceException")
    ns = api.new_namespace()
    m = staged(api, ns)
    api.commit("non-existing", "t", create_updates(m), [NEW]).fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")


def test_two_staged_creates_one_wins(api, ns):
    """The name is not reserved; the second commit fails, its file does not stay."""
    one, two = staged(api, ns), staged(api, ns)
    assert one["table-uuid"] != two["table-uuid"]
    api.commit(ns, "t", create_updates(one), [NEW]).ok()
    api.commit(ns, "t", create_updates(two), [NEW]).fails(
        409, "CommitFailedException", "Requirement failed: table already exists")
    assert not [f for f in api.store.list() if f.startswith(two["location"])]


def test_other_requirements_beside_assert_create(api, ns):
    """400: on a table that is not there nothing else can be asserted."""
    m = staged(api, ns)
    for other in (assert_uuid(m["table-uuid"]), assert_ref(None)):
        api.commit(ns, "t", create_updates(m), [NEW, other]).fails(
            400, "IllegalArgumentException", contains="Invalid create requirements")
    assert api.names(ns) == []


def test_create_commit_without_assert_create(api, ns):
    """Without it the table must exist: 404 NoSuchTableException."""
    m = staged(api, ns)
    api.commit(ns, "t", create_updates(m), []).fails(404, "NoSuchTableException", f"Table does not exist: {ns}.t")


def test_assert_create_on_a_table_that_exists(api, ns):
    """It fails however small the commit."""
    api.table(ns, "t")
    api.commit(ns, "t", [], [NEW]).fails(409, "CommitFailedException", "Requirement failed: table already exists")


def test_create_commit_checks_the_uuid(api, ns):
    """A text that is no UUID, or the UUID of another table, makes no table."""
    m = staged(api, ns)
    updates = create_updates(m)
    updates[0]["uuid"] = "not-a-uuid"
    api.commit(ns, "t", updates, [NEW]).fails(400)
    other = api.table(ns, "other")
    updates[0]["uuid"] = other.uuid
    api.commit(ns, "t", updates, [NEW]).expect(400, 409)
    assert api.names(ns) == ["other"]


def test_create_commit_checks_the_location(api, ns):
    """As on create: inside the warehouse, and of no other table."""
    m = staged(api, ns)
    other = api.table(ns, "other")
    for place, status in (("s3://elsewhere/t", 400), ("file:///etc/t", 400), (api.store.base, 400),
                          (other.location, 409), (other.location + "/x", 409)):
        updates = create_updates(m)
        updates[8]["location"] = place
        api.commit(ns, "t", updates, [NEW]).fails(status)
    assert api.names(ns) == ["other"]


def test_create_transaction_with_schema_change(api, ns):
    """Everything that happened in the transaction comes in one request; -1 is the latest before it."""
    m = staged(api, ns)
    wider = struct(*simple()["fields"], field(3, "more", "int"))
    updates = [*create_updates(m), {"action": "add-schema", "schema": wider},
               {"action": "set-current-schema", "schema-id": -1}]
    got = api.commit(ns, "t", updates, [NEW]).ok().json["metadata"]
    assert [s["schema-id"] for s in got["schemas"]] == [0, 1] and got["current-schema-id"] == 1
    assert got["last-column-id"] == 3


def replace_updates(base, schema, partition=None):
    return [
        {"action": "remove-snapshot-ref", "ref-name": "main"},
        {"action": "add-schema", "schema": schema},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": partition or {"spec-id": 0, "fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "set-properties", "updates": {"replaced": "yes"}},
    ]


def replace_requirements(m):
    return [assert_uuid(m["table-uuid"]),
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": m["last-column-id"]},
            {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": m["last-partition-id"]}]


def test_replace_transaction(api, ns):
    """CREATE OR REPLACE: same uuid, ids go on, snapshots and their log stay, properties are merged."""
    table = api.table(ns, "t", properties={"old": "stays"})
    table.append(1, 1)
    base = table.metadata
    updates = [*replace_updates(base, struct(field(3, "x", "string")), spec(("x", "identity", 3, 1000))),
               add_snapshot(2, 2, location=table.location), set_ref("main", 2)]
    got = table.apply(*updates, requirements=replace_requirements(base))
    assert got["table-uuid"] == base["table-uuid"]
    assert [s["schema-id"] for s in got["schemas"]] == [0, 1] and got["current-schema-id"] == 1
    assert [s["spec-id"] for s in got["partition-specs"]] == [0, 1] and got["default-spec-id"] == 1
    assert got["last-partition-id"] == 1000 and got["last-column-id"] == 3
    assert got["current-snapshot-id"] == 2
    assert [s["snapshot-id"] for s in got["snapshots"]] == [1, 2]
    assert [e["snapshot-id"] for e in got["snapshot-log"]] == [1, 2]
    assert got["properties"].items() >= {"old": "stays", "replaced": "yes"}.items()
    assert len(got["metadata-log"]) == 2


def test_replace_without_data_keeps_the_snapshot_log(api, ns):
    """The current snapshot is unset, its log is not cleared."""
    table = api.table(ns, "t")
    table.append(1, 1)
    base = table.metadata
    got = table.apply(*replace_updates(base, struct(field(3, "x", "string"))), requirements=replace_requirements(base))
    assert got.get("current-snapshot-id", -1) in (-1, None) and got["refs"] == {}
    assert [e["snapshot-id"] for e in got["snapshot-log"]] == [1]


def test_two_replaces_of_the_same_base(api, ns):
    """Both carry a parentless snapshot with the next number, both succeed; the later one is current."""
    table = api.table(ns, "t")
    table.append(1, 1)
    base = table.metadata
    for number in (21, 22):
        updates = [{"action": "remove-snapshot-ref", "ref-name": "main"},
                   add_snapshot(number, 2, location=table.location), set_ref("main", number)]
        got = table.apply(*updates, requirements=replace_requirements(base))
        assert got["current-snapshot-id"] == number and got["last-sequence-number"] == 2
    updates[1] = add_snapshot(23, 1, location=table.location)
    updates[2] = set_ref("main", 23)
    got = table.apply(*updates, requirements=replace_requirements(base))
    assert got["last-sequence-number"] == 2 and got["current-snapshot-id"] == 23


def test_replaces_that_both_assign_ids(api, ns):
    """The second is refused by the id counters."""
    table = api.table(ns, "t")
    base = table.metadata
    table.apply(*replace_updates(base, struct(field(3, "x"))), requirements=replace_requirements(base))
    table.commit(*replace_updates(base, struct(field(3, "y"))), requirements=replace_requirements(base)).fails(
        409, "CommitFailedException", "Requirement failed: last assigned field id changed: expected id 2 != 3")
    base = table.metadata
    both = replace_updates(base, base["schemas"][1], spec(("x", "identity", 3, 1000)))
    table.apply(*both, requirements=replace_requirements(base))
    table.commit(*both, requirements=replace_requirements(base)).fails(
        409, "CommitFailedException",
        "Requirement failed: last assigned partition id changed: expected id 999 != 1000")
