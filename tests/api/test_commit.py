"""updateTable: requirements, every update, the order of checks, no-ops, -1, ids, and what is refused."""

import re

import pytest

from firn_client import (add_snapshot, assert_ref, assert_uuid, field, now_ms, order, set_properties, set_ref, simple,
                         spec, struct)

WIDER = struct(*simple()["fields"], field(3, "more", "int"))
NOTHING = {"type": "assert-table-uuid"}


def add_schema(schema, **more):
    return {"action": "add-schema", "schema": schema} | more


def set_schema(number):
    return {"action": "set-current-schema", "schema-id": number}


def add_spec(*fields):
    return {"action": "add-spec", "spec": spec(*fields)}


def set_spec(number):
    return {"action": "set-default-spec", "spec-id": number}


def add_order(*fields, order_id=1):
    return {"action": "add-sort-order", "sort-order": order(*fields, order_id=order_id)}


def set_order(number):
    return {"action": "set-default-sort-order", "sort-order-id": number}


ID_IDENTITY = ("id_p", "identity", 1, 1000)
BY_ID = ("identity", 1, "asc", "nulls-first")


# --- the commit itself ------------------------------------------------------------


def test_commit_answer(table):
    """200 with metadata-location, the new metadata and its tag; a new file, the next number."""
    before = table.load().ok()
    answer = table.commit(set_properties(a="b")).ok()
    assert answer.json["metadata"]["properties"]["a"] == "b"
    assert answer.etag and answer.etag != before.etag
    assert re.search(r"/metadata/00001-[0-9a-f-]{36}\.metadata\.json$", answer.json["metadata-location"])
    after = table.load().ok()
    assert after.json["metadata"] == answer.json["metadata"]
    assert after.json["metadata-location"] == answer.json["metadata-location"]


def test_commit_grows_the_metadata_log(table):
    """Each commit adds where the former file is and when it was current."""
    before = table.loaded
    got = table.apply(set_properties(a="b"))
    assert got["metadata-log"] == [{"timestamp-ms": before["metadata"]["last-updated-ms"],
                                    "metadata-file": before["metadata-location"]}]
    assert got["last-updated-ms"] >= before["metadata"]["last-updated-ms"]


def test_commit_to_a_missing_table(api, ns):
    """404 NoSuchTableException, also in a missing namespace."""
    api.commit(ns, "t", [set_properties(a="b")]).fails(404, "NoSuchTableException", f"Table does not exist: {ns}.t")
    api.commit("non-existing", "t", []).fails(404, "NoSuchTableException", "Table does not exist: non-existing.t")


@pytest.mark.parametrize("body", [
    {}, {"requirements": [], "updates": []}, {"requirements": None, "updates": None}, {"updates": []},
    {"identifier": {"namespace": ["x", "y"], "name": "another"}, "requirements": [], "updates": []}])
def test_commit_of_nothing(api, table, body):
    """Absent lists are empty ones; no change writes no file and moves no pointer."""
    before, files = table.load().ok(), api.store.list()
    answer = api.post(table.path, body).ok()
    assert answer.json["metadata"] == before.json["metadata"]
    assert answer.json["metadata-location"] == before.json["metadata-location"]
    assert answer.etag == before.etag and api.store.list() == files


def test_identifier_in_the_body_is_optional_and_the_path_wins(api, ns, table):
    """PyIceberg sends it, Java leaves it out; one that differs is not followed."""
    other = api.table(ns)
    for name in (table.name, other.name):
        body = {"identifier": {"namespace": [ns], "name": name}, "updates": [set_properties(seen=name)]}
        assert api.post(table.path, body).ok().json["metadata"]["properties"]["seen"] == name
    assert "seen" not in other.metadata["properties"]


@pytest.mark.parametrize("body", [
    [], "x", 1, None, {"updates": {}}, {"updates": "x"}, {"requirements": {}}, {"updates": [1]}, {"updates": [[]]},
    {"updates": [None]}, {"requirements": [None]}, {"requirements": ["assert-create"]}, {"identifier": []},
    {"identifier": {"namespace": "a", "name": "b"}}, {"identifier": {"namespace": ["a"]}}])
def test_commit_with_a_wrong_body(api, table, body):
    """400 BadRequestException, whether or not the table is there."""
    if body is None:
        api.post(table.path, b"null").fails(400, "BadRequestException")
        return
    api.post(table.path, body).fails(400, "BadRequestException")
    api.post("/v1/namespaces/non-existing/tables/t", body).fails(400, "BadRequestException")


def test_no_op_commits(api, table):
    """Changes that change nothing: 200 with the same state and no new file."""
    table.apply(add_snapshot(1, 1, location=table.location), set_ref("main", 1, **{"max-ref-age-ms": 9}))
    before, files = table.loaded, api.store.list()
    for updates in (
            [set_properties()], [{"action": "remove-properties", "removals": []}],
            [{"action": "upgrade-format-version", "format-version": 2}],
            [{"action": "assign-uuid", "uuid": table.uuid}], [{"action": "assign-uuid", "uuid": table.uuid.upper()}],
            [set_schema(0)], [set_spec(0)], [set_order(0)], [add_schema(simple())], [add_spec()],
            [add_order(order_id=0)], [{"action": "set-location", "location": table.location}],
            [{"action": "set-location", "location": table.location + "/"}],
            [set_ref("main", 1, **{"max-ref-age-ms": 9})], [{"action": "remove-snapshots", "snapshot-ids": []}],
            [{"action": "remove-snapshots", "snapshot-ids": [77, 78]}],
            [{"action": "remove-snapshot-ref", "ref-name": "nope"}],
            [{"action": "remove-statistics", "snapshot-id": 1}],
            [{"action": "remove-partition-statistics", "snapshot-id": 1}],
            [{"action": "remove-partition-specs", "spec-ids": []}], [{"action": "remove-schemas", "schema-ids": []}],
            [{"action": "remove-encryption-key", "key-id": "nope"}]):
        answer = table.commit(*updates, requirements=[assert_uuid(table.uuid)]).ok()
        assert answer.json["metadata-location"] == before["metadata-location"], updates
        assert answer.json["metadata"] == before["metadata"], updates
    assert api.store.list() == files


def test_order_of_checks(api, ns, table):
    """An unknown action comes before the missing table, requirements before the updates' own errors."""
    unknown = {"action": "frobnicate"}
    api.commit(ns, "missing", [unknown]).fails(400, "BadRequestException")
    api.commit(ns, "missing", [set_schema(9)], [assert_uuid("x")]).fails(404, "NoSuchTableException")
    table.commit(set_schema(9), requirements=[assert_ref(5)]).fails(409, "CommitFailedException")
    table.commit(set_schema(9)).fails(400)
    table.commit(unknown, requirements=[assert_ref(5)]).fails(400, "BadRequestException")


def test_failed_commit_changes_nothing(api, table):
    """One wrong update among several: nothing of the request is applied, no file stays."""
    before, files = table.loaded, api.store.list()
    table.commit(set_properties(a="b"), set_schema(9)).fails(400)
    table.commit(set_properties(a="b"), requirements=[assert_ref(5)]).fails(409)
    assert table.loaded == before and api.store.list() == files


def test_unknown_members_are_ignored(table):
    """Newer clients add members to known actions and requirements."""
    got = table.apply(set_properties(a="b") | {"new": {"x": 1}},
                      requirements=[assert_uuid(table.uuid) | {"new": []}])
    assert got["properties"]["a"] == "b"


# --- requirements -------------------------------------------------------------------


@pytest.mark.parametrize("requirement,text", [
    ({"type": "assert-create"}, "Requirement failed: table already exists"),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2},
     "Requirement failed: branch main has changed: expected id 2 != 1"),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
     "Requirement failed: branch main was created concurrently"),
    ({"type": "assert-ref-snapshot-id", "ref": "main"}, "Requirement failed: branch main was created concurrently"),
    ({"type": "assert-ref-snapshot-id", "ref": "tagged", "snapshot-id": None},
     "Requirement failed: tag tagged was created concurrently"),
    ({"type": "assert-ref-snapshot-id", "ref": "tagged", "snapshot-id": 3},
     "Requirement failed: tag tagged has changed: expected id 3 != 1"),
    ({"type": "assert-ref-snapshot-id", "ref": "nope", "snapshot-id": 1},
     "Requirement failed: branch or tag nope is missing, expected 1"),
    ({"type": "assert-ref-snapshot-id", "ref": "nope", "snapshot-id": 0},
     "Requirement failed: branch or tag nope is missing, expected 0"),
    ({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3},
     "Requirement failed: last assigned field id changed: expected id 3 != 2"),
    ({"type": "assert-current-schema-id", "current-schema-id": 1},
     "Requirement failed: current schema changed: expected id 1 != 0"),
    ({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000},
     "Requirement failed: last assigned partition id changed: expected id 1000 != 999"),
    ({"type": "assert-default-spec-id", "default-spec-id": 1},
     "Requirement failed: default partition spec changed: expected id 1 != 0"),
    ({"type": "assert-default-sort-order-id", "default-sort-order-id": 1},
     "Requirement failed: default sort order changed: expected id 1 != 0")])
def test_requirement_that_fails(table, requirement, text):
    """409 CommitFailedException with the text of the reference, the given id first."""
    table.append(1, 1)
    table.apply(set_ref("tagged", 1, "tag"))
    before = table.loaded
    for kind in (requirement["type"], requirement["type"].upper()):
        table.commit(set_properties(a="b"), requirements=[requirement | {"type": kind}]).fails(
            409, "CommitFailedException", text)
    assert table.loaded == before


def test_requirement_uuid(table):
    """Compared without case; in the text the table's own uuid comes first."""
    other = "00000000-0000-4000-8000-000000000000"
    table.commit(set_properties(a="b"), requirements=[assert_uuid(other)]).fails(
        409, "CommitFailedException", f"Requirement failed: UUID does not match: expected {table.uuid} != {other}")
    table.apply(set_properties(a="b"), requirements=[assert_uuid(table.uuid.upper())])


def test_requirements_that_hold(table):
    """All of them at once, on a table with a snapshot and on the way to its first."""
    held = [assert_uuid(table.uuid),
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2},
            {"type": "assert-current-schema-id", "current-schema-id": 0},
            {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
            {"type": "assert-default-spec-id", "default-spec-id": 0},
            {"type": "assert-default-sort-order-id", "default-sort-order-id": 0}]
    table.apply(add_snapshot(1, 1, location=table.location), set_ref("main", 1), requirements=[*held, assert_ref(None)])
    table.apply(set_properties(a="b"), requirements=[*held, assert_ref(1), assert_ref(None, "other")])


@pytest.mark.parametrize("requirement", [
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
    {"type": "assert-ref-snapshot-id", "ref": "main"},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": -1}])
def test_main_does_not_exist_yet(table, requirement):
    """null, the member missing, and -1 where there is no such ref: the first commit of ClickHouse and others."""
    updates = [add_snapshot(1, 1, location=table.location), set_ref("main", 1)]
    table.apply(*updates, requirements=[requirement])
    table.commit(add_snapshot(2, 2, location=table.location), set_ref("main", 2), requirements=[requirement]).fails(
        409, "CommitFailedException")


def test_first_failed_requirement_is_reported(table):
    """In the order of the request."""
    spec_id, uuid = {"type": "assert-default-spec-id", "default-spec-id": 7}, assert_uuid("other")
    table.commit(requirements=[spec_id, uuid]).fails(409, contains="default partition spec")
    table.commit(requirements=[uuid, spec_id]).fails(409, contains="UUID does not match")


def test_requirements_are_checked_against_the_base(table):
    """Not against what the updates of the same request make of it."""
    table.apply(add_schema(WIDER), set_schema(-1), requirements=[
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2}])


@pytest.mark.parametrize("requirement,contains", [
    ({"type": "assert-next-row-id", "next-row-id": 0},
     "Unrecognized update requirement. Cannot convert to json: assert-next-row-id"),
    ({"type": ""}, "Unrecognized update requirement"), ({"type": 1}, "type"), ({"type": None}, "type"),
    ({}, "Cannot parse update requirement. Missing field: type"),
    ({"uuid": "x"}, "Cannot parse update requirement. Missing field: type"),
    ({"type": "assert-table-uuid"}, "uuid"), ({"type": "assert-table-uuid", "uuid": None}, "uuid"),
    ({"type": "assert-table-uuid", "uuid": 1}, "uuid"),
    ({"type": "assert-ref-snapshot-id", "snapshot-id": 1}, "ref"),
    ({"type": "assert-ref-snapshot-id", "ref": 1, "snapshot-id": 1}, "ref"),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": "1"}, "snapshot-id"),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1.0}, "snapshot-id"),
    ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": True}, "snapshot-id"),
    ({"type": "assert-last-assigned-field-id"}, "last-assigned-field-id"),
    ({"type": "assert-current-schema-id", "current-schema-id": "0"}, "current-schema-id"),
    ({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": None}, "last-assigned-partition-id"),
    ({"type": "assert-default-spec-id", "default-spec-id": 0.5}, "default-spec-id"),
    ({"type": "assert-default-sort-order-id", "default-sort-order-id": []}, "default-sort-order-id"),
    ({"type": "assert-current-schema-id", "current-schema-id": 2**31}, "current-schema-id")])
def test_malformed_requirements(table, requirement, contains):
    """400 BadRequestException before anything is written; an unknown one is never ignored."""
    table.commit(set_properties(a="b"), requirements=[requirement]).fails(400, "BadRequestException", contains=contains)
    table.commit(set_properties(a="b"), requirements=[assert_ref(5), requirement]).fails(400, "BadRequestException")
    assert "a" not in table.metadata["properties"]


def test_requirement_of_views(table):
    """assert-view-uuid on a table."""
    table.commit(requirements=[{"type": "assert-view-uuid", "uuid": table.uuid}]).fails(
        400, "ValidationException", "Cannot validate AssertViewUUID against a table")


# --- update actions ------------------------------------------------------------------


@pytest.mark.parametrize("update,text", [
    ({"action": "frobnicate"}, "Cannot convert metadata update action to json: frobnicate"),
    ({}, "Cannot parse metadata update. Missing field: action"),
    ({"schema-id": 1}, "Cannot parse metadata update. Missing field: action"), ({"action": 1}, None),
    ({"action": None}, None), ({"action": ""}, None)])
def test_unknown_actions(table, update, text):
    """400: a client must not believe that something was applied that was not."""
    table.commit(set_properties(a="b"), update).fails(400, "BadRequestException", contains=text)
    assert "a" not in table.metadata["properties"]


@pytest.mark.parametrize("update", [
    {"action": "assign-uuid"}, {"action": "assign-uuid", "uuid": 1},
    {"action": "upgrade-format-version"}, {"action": "upgrade-format-version", "format-version": "3"},
    {"action": "add-schema"}, {"action": "add-schema", "schema": []}, {"action": "add-schema", "schema": None},
    {"action": "set-current-schema"}, {"action": "set-current-schema", "schema-id": "0"},
    {"action": "set-current-schema", "schema-id": 0.0}, {"action": "add-spec"}, {"action": "add-spec", "spec": []},
    {"action": "set-default-spec"}, {"action": "set-default-spec", "spec-id": None},
    {"action": "add-sort-order"}, {"action": "add-sort-order", "sort-order": 1},
    {"action": "set-default-sort-order"}, {"action": "set-default-sort-order", "sort-order-id": True},
    {"action": "add-snapshot"}, {"action": "add-snapshot", "snapshot": {}}, {"action": "add-snapshot", "snapshot": []},
    {"action": "set-snapshot-ref"}, {"action": "set-snapshot-ref", "ref-name": "a", "type": "branch"},
    {"action": "set-snapshot-ref", "ref-name": "a", "snapshot-id": 1},
    {"action": "set-snapshot-ref", "type": "branch", "snapshot-id": 1},
    {"action": "set-snapshot-ref", "ref-name": "a", "type": "stem", "snapshot-id": 1},
    {"action": "set-snapshot-ref", "ref-name": "a", "type": "branch", "snapshot-id": "1"},
    {"action": "remove-snapshots"}, {"action": "remove-snapshots", "snapshot-ids": 1},
    {"action": "remove-snapshots", "snapshot-ids": ["1"]}, {"action": "remove-snapshots", "snapshot-ids": [1.5]},
    {"action": "remove-snapshot-ref"}, {"action": "remove-snapshot-ref", "ref-name": 1},
    {"action": "set-location"}, {"action": "set-location", "location": None}, {"action": "set-location", "location": 1},
    {"action": "set-properties"}, {"action": "set-properties", "updates": []},
    {"action": "set-properties", "updates": {"a": 1}}, {"action": "set-properties", "updates": {"a": None}},
    {"action": "remove-properties"}, {"action": "remove-properties", "removals": "a"},
    {"action": "remove-properties", "removals": [1]}, {"action": "set-statistics"},
    {"action": "set-statistics", "statistics": {"snapshot-id": 1}},
    {"action": "remove-statistics"}, {"action": "remove-statistics", "snapshot-id": "1"},
    {"action": "set-partition-statistics"}, {"action": "set-partition-statistics", "partition-statistics": {}},
    {"action": "remove-partition-statistics"}, {"action": "remove-partition-specs"},
    {"action": "remove-partition-specs", "spec-ids": ["0"]}, {"action": "remove-schemas"},
    {"action": "remove-schemas", "schema-ids": 1}, {"action": "add-encryption-key"},
    {"action": "add-encryption-key", "encryption-key": {"key-id": "a"}},
    {"action": "remove-encryption-key"}, {"action": "remove-encryption-key", "key-id": 1}],
    ids=lambda u: f"{u['action']}-{sorted(set(u) - {'action'})}")
def test_malformed_updates(table, update):
    """Members missing or of the wrong type: 400 that names the place, nothing applied."""
    answer = table.commit(set_properties(a="b"), update)
    error = answer.fails(400)
    assert re.search(r"updates|" + "|".join(re.escape(k) for k in update if k != "action") + "|missing|required",
                     error["message"], re.I), error
    assert "a" not in table.metadata["properties"]


def test_actions_in_any_case(table):
    """Java compares them without case."""
    assert table.apply({"action": "SET-Properties", "updates": {"a": "b"}})["properties"]["a"] == "b"


@pytest.mark.parametrize("update", [
    {"action": "add-view-version", "view-version": {
        "version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "representations": [],
        "default-namespace": ["a"]}},
    {"action": "set-current-view-version", "view-version-id": 1}])
def test_updates_of_views(table, update):
    """400 on a table."""
    table.commit(update).fails(400)


# --- uuid, version, location, properties -----------------------------------------------


def test_uuid_is_never_reassigned(table):
    """Another uuid is refused; everything that outlives a name depends on it."""
    table.commit({"action": "assign-uuid", "uuid": "00000000-0000-4000-8000-000000000000"}).fails(
        400, "IllegalArgumentException")
    table.commit({"action": "assign-uuid", "uuid": "x"}).fails(400)


def test_upgrade_format_version(api, ns):
    """1 to 2 to 3: sequence numbers from 0, rows from 0; the legacy members go, the lists stay."""
    table = api.table(ns, properties={"format-version": "1"})
    table.apply(add_snapshot(1, location=table.location), set_ref("main", 1))
    got = table.apply({"action": "upgrade-format-version", "format-version": 2})
    assert got["format-version"] == 2 and got["last-sequence-number"] == 0
    assert "schema" not in got and "partition-spec" not in got
    got = table.apply({"action": "upgrade-format-version", "format-version": 3})
    assert got["format-version"] == 3 and got["next-row-id"] == 0
    assert "first-row-id" not in got["snapshots"][0]
    table.apply(add_snapshot(2, 1, 1, table.location, **{"first-row-id": 0, "added-rows": 4}), set_ref("main", 2))
    assert table.metadata["next-row-id"] == 4


def test_upgrade_straight_to_3(table):
    """From 2 with rows in it."""
    table.append(1, 1)
    got = table.apply({"action": "upgrade-format-version", "format-version": 3})
    assert got["next-row-id"] == 0 and got["last-sequence-number"] == 1


@pytest.mark.parametrize("version,text", [
    (1, "Cannot downgrade v2 table to v1"), (0, "Cannot downgrade v2 table to v0"),
    (4, "Cannot upgrade table to unsupported format version: v4 (supported: v3)"),
    (5, "Cannot upgrade table to unsupported format version: v5 (supported: v3)")])
def test_versions_that_cannot_be(table, version, text):
    """Never down, never beyond what is ratified."""
    table.commit({"action": "upgrade-format-version", "format-version": version}).fails(
        400, "IllegalArgumentException", text)


def test_set_location(api, table):
    """The place moves, slashes at the end go; later files lie there, older ones stay where they are."""
    old = table.metadata_location
    place = table.location + "-moved"
    got = table.apply({"action": "set-location", "location": place + "/"})
    assert got["location"] == place
    assert table.metadata_location.startswith(place + "/metadata/00001-")
    assert got["metadata-log"][-1]["metadata-file"] == old and api.store.exists(old)


def test_set_location_outside_or_occupied(api, ns, table):
    """400 with nothing changed: outside the warehouse, the base itself, another table's place."""
    other = api.table(ns)
    before, files = table.loaded, api.store.list()
    for place in ("s3://elsewhere/t", "file:///etc", "", api.store.base, other.location, other.location + "/x",
                  other.location.rpartition("/")[0], "x", api.store.base + "/../x"):
        table.commit({"action": "set-location", "location": place}).fails(400)
    assert table.loaded == before and api.store.list() == files


def test_freed_location_can_be_taken(api, ns, table):
    """After a move the old place may be used again, and the new one is taken."""
    old, place = table.location, table.location + "-moved"
    table.apply({"action": "set-location", "location": place})
    api.create(ns, "new", location=place).fails(409, "AlreadyExistsException")
    api.create(ns, "new", location=old).ok()


def test_set_properties(table):
    """Merged into what is there; the older member name `updated` is read too, `updates` wins."""
    table.apply(set_properties(a="1", b="2"))
    got = table.apply({"action": "set-properties", "updated": {"b": "3", "c": "4"}})
    assert {k: got["properties"][k] for k in "abc"} == {"a": "1", "b": "3", "c": "4"}
    got = table.apply({"action": "set-properties", "updated": {"a": "old"}, "updates": {"a": "new"}})
    assert got["properties"]["a"] == "new"


def test_same_value_is_a_change(table):
    """Setting a property to the value it has is recorded: a new version."""
    table.apply(set_properties(a="1"))
    before = table.metadata_location
    table.apply(set_properties(a="1"))
    assert table.metadata_location != before


def test_remove_properties(table):
    """Missing keys are ignored; `removed` is the older name."""
    table.apply(set_properties(a="1", b="2", c="3"))
    got = table.apply({"action": "remove-properties", "removals": ["a", "zz"]})
    assert "a" not in got["properties"] and got["properties"]["b"] == "2"
    got = table.apply({"action": "remove-properties", "removed": ["b"]})
    assert "b" not in got["properties"] and got["properties"]["c"] == "3"


def test_properties_of_every_kind(table):
    """Keys and values are any text."""
    values = {"": "empty key", "a.b.c": "", "\u00fc": "\U0001f3d4", "q\"": "\\", "sp ace": "line\nbreak", "long": "x" * 50000}
    got = table.apply({"action": "set-properties", "updates": values})
    assert values.items() <= got["properties"].items()
    assert values.items() <= table.metadata["properties"].items()


def test_property_that_would_break_the_files(table):
    """An unknown codec is refused when it is set: every later commit would fail."""
    table.commit(set_properties(write__metadata__compression_codec="x")).expect(200, 400)
    table.commit({"action": "set-properties", "updates": {"write.metadata.compression-codec": "lzo"}}).fails(
        400, None, contains="Invalid codec name: lzo")
    table.apply(set_properties(a="b"))


# --- schemas ------------------------------------------------------------------------------


def test_add_schema_and_make_it_current(table):
    """The next id, whatever the client wrote; last-column-id follows the highest field."""
    got = table.apply(add_schema(struct(*WIDER["fields"], schema_id=77), **{"last-column-id": 3}), set_schema(-1))
    assert [s["schema-id"] for s in got["schemas"]] == [0, 1] and got["current-schema-id"] == 1
    assert got["schemas"][1]["fields"] == WIDER["fields"] and got["last-column-id"] == 3


def test_add_schema_keeps_field_ids(table):
    """Schema ids are assigned, field ids are the client's."""
    got = table.apply(add_schema(struct(field(1, "id"), field(20, "x"), field(10, "y"))), set_schema(-1))
    assert [f["id"] for f in got["schemas"][1]["fields"]] == [1, 20, 10] and got["last-column-id"] == 20


def test_add_schema_without_making_it_current(table):
    """The current one stays."""
    got = table.apply(add_schema(WIDER))
    assert got["current-schema-id"] == 0 and len(got["schemas"]) == 2 and got["last-column-id"] == 3


def test_last_column_id_never_goes_back(table):
    """Dropping the highest column, with a client that says so: ids are never used again."""
    table.apply(add_schema(WIDER), set_schema(-1))
    got = table.apply(add_schema(struct(field(1, "id")), **{"last-column-id": 1}), set_schema(-1))
    assert got["last-column-id"] == 3
    got = table.apply(add_schema(simple(), **{"last-column-id": 99}), set_schema(-1))
    assert got["last-column-id"] == 3


def test_nested_ids_count(table):
    """Elements, keys, values and fields of structs."""
    schema = struct(*simple()["fields"], field(3, "l", {
        "type": "list", "element-id": 7, "element-required": False, "element": {
            "type": "map", "key-id": 9, "key": "string", "value-id": 12, "value-required": False,
            "value": {"type": "struct", "fields": [field(31, "deep", "int")]}}}))
    assert table.apply(add_schema(schema))["last-column-id"] == 31


def test_equal_schema_is_found_again(table):
    """Same fields in the same order: its id is used; ids, key order and spacing do not matter."""
    table.apply(add_schema(struct(field(1, "id"), field(2, "data", "string"), field(3, "d", "decimal(9, 2)"))),
                set_schema(-1))
    before = table.metadata_location
    again = {"schema-id": 5, "fields": [
        {"type": "long", "required": False, "name": "id", "id": 1}, field(2, "data", "STRING"),
        field(3, "d", "decimal(9,2)")], "type": "struct"}
    got = table.apply(add_schema(again), set_schema(-1))
    assert got["current-schema-id"] == 1 and len(got["schemas"]) == 2
    assert table.metadata_location == before
    got = table.apply(add_schema(simple()), set_schema(-1))
    assert got["current-schema-id"] == 0 and len(got["schemas"]) == 2


@pytest.mark.parametrize("other", [
    struct(field(2, "data", "string"), field(1, "id")), struct(field(1, "id", required=False), field(2, "DATA", "string")),
    struct(field(1, "id", doc="x"), field(2, "data", "string")), struct(field(1, "id", "int"), field(2, "data", "string")),
    struct(field(1, "id"), field(3, "data", "string")),
    struct(field(1, "id", **{"write-default": 4}), field(2, "data", "string"))])
def test_schemas_that_differ(table, other):
    """Order, names, documentation, types, ids and defaults make a schema another one."""
    assert len(table.apply(add_schema(other))["schemas"]) == 2


def test_identifier_fields_make_a_schema_another_one(api, ns):
    """Compared as a set."""
    schema = struct(field(1, "a", "int", True), field(2, "b", "int", True))
    table = api.table(ns, schema=schema)
    got = table.apply(add_schema(schema | {"identifier-field-ids": [1, 2]}))
    assert len(got["schemas"]) == 2
    got = table.apply(add_schema(schema | {"identifier-field-ids": [2, 1]}), set_schema(-1))
    assert len(got["schemas"]) == 2 and got["current-schema-id"] == 1


def test_minus_one_without_an_added_schema(table):
    """ValidationException with the text of the reference."""
    table.commit(set_schema(-1)).fails(
        400, "ValidationException", "Cannot set last added schema: no schema has been added")


def test_minus_one_after_a_schema_that_was_there(table):
    """Clients that always send add-schema and -1: the one that was named last counts."""
    got = table.apply(add_schema(simple()), set_schema(-1))
    assert got["current-schema-id"] == 0


def test_minus_one_is_the_latest_before_it(table):
    """Several schemas in one request."""
    got = table.apply(add_schema(WIDER), set_schema(-1), add_schema(struct(field(4, "only"))), set_schema(-1),
                      add_schema(struct(field(5, "unused"))))
    assert got["current-schema-id"] == 2 and [s["schema-id"] for s in got["schemas"]] == [0, 1, 2, 3]


def test_client_guesses_the_id_of_a_schema_that_was_there(table):
    """Paimon re-adds a schema as id 1 and then sets 1: it means the one it added."""
    got = table.apply(add_schema(struct(*simple()["fields"], schema_id=1)), set_schema(1))
    assert got["current-schema-id"] == 0


@pytest.mark.parametrize("number", [7, 1, -2, -5])
def test_unknown_schema(table, number):
    """IllegalArgumentException with the text of the reference."""
    table.commit(set_schema(number)).fails(
        400, "IllegalArgumentException", f"Cannot set current schema to unknown schema: {number}")


def test_add_schema_with_types_of_another_version(table):
    """v3 types in a v2 table: 400; after the upgrade in the same request they are fine."""
    schema = struct(*simple()["fields"], field(3, "v", "variant"))
    table.commit(add_schema(schema)).fails(
        400, None, "Invalid schema for v2:\n- Invalid type for v: variant is not supported until v3")
    got = table.apply({"action": "upgrade-format-version", "format-version": 3}, add_schema(schema), set_schema(-1))
    assert got["current-schema-id"] == 1


def test_upgrade_does_not_forgive_what_came_before(table):
    """Updates take effect in order."""
    schema = struct(*simple()["fields"], field(3, "v", "variant"))
    table.commit(add_schema(schema), {"action": "upgrade-format-version", "format-version": 3}).fails(400)


@pytest.mark.parametrize("schema", [
    struct(field(1, "a"), field(1, "b")), struct(field(1, "a"), field(2, "a")), struct(field(0, "a", "nope")),
    struct(field(1, "a", {"type": "struct", "fields": [field(1, "b")]}))])
def test_add_schema_that_is_wrong(table, schema):
    """Field ids and names occur once, types exist."""
    table.commit(add_schema(schema)).fails(400)


def test_remove_schemas(table):
    """Unused ones go, the current one does not; unknown ids are ignored."""
    table.apply(add_schema(WIDER), set_schema(-1))
    table.commit({"action": "remove-schemas", "schema-ids": [0, 1]}).fails(
        400, "IllegalArgumentException", "Cannot remove the current schema")
    got = table.apply({"action": "remove-schemas", "schema-ids": [0, 55]})
    assert [s["schema-id"] for s in got["schemas"]] == [1]
    got = table.apply(add_schema(struct(field(9, "z"))))
    assert [s["schema-id"] for s in got["schemas"]] == [1, 2]


def test_removal_computed_on_an_old_base_conflicts(table):
    """Requirements are evaluated first: a retryable 409, not a 400."""
    table.apply(add_schema(WIDER))
    table.commit({"action": "remove-schemas", "schema-ids": [0]},
                 requirements=[{"type": "assert-current-schema-id", "current-schema-id": 1}]).fails(
        409, "CommitFailedException", "Requirement failed: current schema changed: expected id 1 != 0")


# --- partition specs ------------------------------------------------------------------------


def test_add_spec(table):
    """The next id; last-partition-id is the highest field id ever assigned."""
    got = table.apply(add_spec(ID_IDENTITY), set_spec(-1))
    assert got["partition-specs"][1] == spec(ID_IDENTITY, spec_id=1)
    assert got["default-spec-id"] == 1 and got["last-partition-id"] == 1000
    got = table.apply(add_spec(ID_IDENTITY, ("d", "bucket[4]", 2, 1001)), set_spec(-1))
    assert got["default-spec-id"] == 2 and got["last-partition-id"] == 1001
    got = table.apply(add_spec(), set_spec(-1))
    assert got["default-spec-id"] == 0 and got["last-partition-id"] == 1001


def test_add_spec_without_field_ids(table):
    """Then they are assigned in order; some with and some without is refused."""
    got = table.apply(add_spec(("a", "bucket[4]", 1, None), ("b", "bucket[4]", 2, None)))
    assert [f["field-id"] for f in got["partition-specs"][1]["fields"]] == [1000, 1001]
    table.commit(add_spec(("x", "bucket[5]", 1, 1002), ("y", "bucket[5]", 2, None))).fails(
        400, "IllegalArgumentException", "Cannot parse spec with missing field IDs: 1 missing of 2 fields.")


def test_equal_spec_is_found_again(table):
    """Same sources, transforms and names: field ids do not matter."""
    table.apply(add_spec(ID_IDENTITY))
    before = table.metadata_location
    assert len(table.apply(add_spec(("id_p", "identity", 1, 1005)))["partition-specs"]) == 2
    assert table.metadata_location == before
    assert table.apply(add_spec(ID_IDENTITY), set_spec(-1))["default-spec-id"] == 1


def test_minus_one_without_an_added_spec(table):
    """ValidationException."""
    table.commit(set_spec(-1)).fails(
        400, "ValidationException", "Cannot set last added spec: no spec has been added")


@pytest.mark.parametrize("number", [7, 1, -3])
def test_unknown_spec(table, number):
    """IllegalArgumentException."""
    table.commit(set_spec(number)).fails(
        400, "IllegalArgumentException", f"Cannot set default partition spec to unknown spec: {number}")


@pytest.mark.parametrize("fields,kind,text", [
    ([("id", "bucket[4]", 2, 1000)], "IllegalArgumentException",
     "Cannot create identity partition sourced from different field in schema: id"),
    ([("", "bucket[4]", 1, 1000)], "IllegalArgumentException", "Cannot use empty partition name: "),
    ([("p", "bucket[4]", 1, 1000), ("p", "bucket[5]", 1, 1001)], "IllegalArgumentException",
     "Cannot use partition name more than once: p"),
    ([("x", "identity", 9, 1000)], "ValidationException",
     "Cannot find source column for partition field: 1000: x: identity(9)"),
    ([("x", "hour", 2, 1000)], "ValidationException", "Invalid source type string for transform: hour"),
    ([("x", "bucket[4]", 1, 1000), ("y", "bucket[5]", 1, 1000)], None, None)])
def test_specs_that_cannot_be(table, fields, kind, text):
    """The checks in their order, with their texts."""
    table.commit(add_spec(*fields)).fails(400, kind, text)


def test_void_fields_need_no_source(table):
    """A column that is gone leaves a void field behind."""
    got = table.apply(add_spec(("gone", "void", 44, 1000)))
    assert got["partition-specs"][1]["fields"][0]["transform"] == "void"


def test_spec_is_bound_to_the_schema_of_that_moment(table):
    """set-current-schema before it counts, after it does not."""
    more = ("m", "bucket[4]", 3, 1000)
    table.commit(add_spec(more), add_schema(WIDER), set_schema(-1)).fails(400, "ValidationException")
    assert table.apply(add_schema(WIDER), set_schema(-1), add_spec(more), set_spec(-1))["default-spec-id"] == 1


def test_v1_specs_have_sequential_ids(api, ns):
    """Exactly 1000, 1001, ... in a version 1 table."""
    table = api.table(ns, properties={"format-version": "1"})
    table.commit(add_spec(("a", "bucket[4]", 1, 1001))).fails(
        400, "ValidationException", contains="Spec does not use sequential IDs that are required in v1")
    got = table.apply(add_spec(("a", "bucket[4]", 1, 1000)), set_spec(-1))
    assert got["partition-spec"] == [{"name": "a", "transform": "bucket[4]", "source-id": 1, "field-id": 1000}]


def test_dropping_a_column_that_the_default_spec_uses(table):
    """Checked at the end of the commit: 400; fine when the spec changes in the same request."""
    table.apply(add_spec(("d", "bucket[4]", 2, 1000)), set_spec(-1))
    without = struct(field(1, "id"))
    table.commit(add_schema(without), set_schema(-1)).fails(400, "ValidationException")
    got = table.apply(add_schema(without), set_schema(-1), add_spec(), set_spec(-1))
    assert got["default-spec-id"] == 0


def test_remove_partition_specs(table):
    """Not the default; unknown ids are ignored; last-partition-id stays."""
    table.apply(add_spec(ID_IDENTITY), set_spec(-1))
    table.commit({"action": "remove-partition-specs", "spec-ids": [1]}).fails(
        400, "IllegalArgumentException", "Cannot remove the default partition spec")
    got = table.apply({"action": "remove-partition-specs", "spec-ids": [0, 44]})
    assert [s["spec-id"] for s in got["partition-specs"]] == [1] and got["last-partition-id"] == 1000


# --- sort orders --------------------------------------------------------------------------------


def test_add_sort_order(table):
    """Ids from 1 on, whatever was sent."""
    got = table.apply(add_order(BY_ID, order_id=9), set_order(-1))
    assert got["sort-orders"] == [{"order-id": 0, "fields": []}, order(BY_ID)] and got["default-sort-order-id"] == 1
    got = table.apply(add_order(("bucket[3]", 2, "desc", "nulls-last")), set_order(-1))
    assert got["default-sort-order-id"] == 2
    before = table.metadata_location
    got = table.apply(add_order(("bucket[3]", 2, "DESC", "Nulls-Last")), set_order(-1))
    assert len(got["sort-orders"]) == 3 and table.metadata_location == before
    got = table.apply(add_order(order_id=0), set_order(-1))
    assert got["default-sort-order-id"] == 0 and len(got["sort-orders"]) == 3


@pytest.mark.parametrize("update,kind,text", [
    (add_order(BY_ID, order_id=0), "IllegalArgumentException", "Sort order ID 0 is reserved for unsorted order"),
    (add_order(order_id=1), "IllegalArgumentException", "Unsorted order ID must be 0"),
    (add_order(("identity", 9, "asc", "nulls-first")), "ValidationException",
     "Cannot find source column for sort field"),
    (add_order(("hour", 2, "asc", "nulls-first")), "ValidationException", "for transform: hour"),
    (set_order(-1), "ValidationException", "Cannot set last added sort order: no sort order has been added"),
    (set_order(7), "IllegalArgumentException", "7")])
def test_sort_orders_that_cannot_be(table, update, kind, text):
    """The checks with their texts."""
    table.commit(update).fails(400, kind, contains=text)


def test_unsorted_order_is_added_to_a_sorted_table(api, ns):
    """A table created with an order has no order 0; an unsorted one gets that id."""
    table = api.table(ns, write_order=order(BY_ID))
    got = table.apply(add_order(order_id=0), set_order(-1))
    assert [o["order-id"] for o in got["sort-orders"]] == [1, 0] and got["default-sort-order-id"] == 0


def test_dropping_a_column_that_the_default_order_uses(table):
    """400 ValidationException."""
    table.apply(add_order(("identity", 2, "asc", "nulls-first")), set_order(-1))
    table.commit(add_schema(struct(field(1, "id"))), set_schema(-1)).fails(400, "ValidationException")


# --- encryption keys, statistics ------------------------------------------------------------------


def test_encryption_keys(api, ns):
    """Added once, removed by id; no list when there are none."""
    table = api.table(ns, properties={"format-version": "3"})
    key = {"key-id": "k1", "encrypted-key-metadata": "aGVsbG8=", "encrypted-by-id": "root", "properties": {"a": "b"}}
    assert table.apply({"action": "add-encryption-key", "encryption-key": key})["encryption-keys"] == [key]
    before = table.metadata_location
    table.apply({"action": "add-encryption-key", "encryption-key": key | {"encrypted-key-metadata": "b3RoZXI="}})
    assert table.metadata_location == before
    got = table.apply({"action": "remove-encryption-key", "key-id": "k1"})
    assert not got.get("encryption-keys")


def statistics(table, number, name="x.puffin"):
    return {"snapshot-id": number, "statistics-path": f"{table.location}/{name}", "file-size-in-bytes": 413, "file-footer-size-in-bytes": 42,
            "blob-metadata": [{"type": "apache-datasketches-theta-v1", "snapshot-id": number, "sequence-number": 1,
                               "fields": [1], "properties": {"ndv": "3"}}]}


def test_statistics(table):
    """One entry per snapshot: set again it is replaced; always a change."""
    table.append(1, 1)
    got = table.apply({"action": "set-statistics", "statistics": statistics(table, 1)})
    assert got["statistics"] == [statistics(table, 1)]
    before = table.metadata_location
    table.apply({"action": "set-statistics", "snapshot-id": 1, "statistics": statistics(table, 1)})
    assert table.metadata_location != before
    got = table.apply({"action": "set-statistics", "statistics": statistics(table, 1, "y")},
                      {"action": "set-statistics", "statistics": statistics(table, 99)})
    assert sorted(s["statistics-path"] for s in got["statistics"]) == [
        f"{table.location}/x.puffin", f"{table.location}/y"]
    table.commit({"action": "set-statistics", "snapshot-id": 2, "statistics": statistics(table, 1)}).fails(400)
    got = table.apply({"action": "remove-statistics", "snapshot-id": 1})
    assert [s["snapshot-id"] for s in got["statistics"]] == [99]


def test_partition_statistics(table):
    """The same for partition statistics."""
    entry = {"snapshot-id": 1, "statistics-path": f"{table.location}/p", "file-size-in-bytes": 3}
    assert table.apply({"action": "set-partition-statistics", "partition-statistics": entry})[
        "partition-statistics"] == [entry]
    got = table.apply({"action": "set-partition-statistics", "partition-statistics": entry | {"statistics-path": f"{table.location}/q"}})
    assert [s["statistics-path"] for s in got["partition-statistics"]] == [f"{table.location}/q"]
    assert table.apply({"action": "remove-partition-statistics", "snapshot-id": 1})["partition-statistics"] == []


# --- time, log, retry -------------------------------------------------------------------------------


def test_last_updated_never_goes_back(table):
    """Every commit's time is at least the one before, and about now."""
    seen = [table.metadata["last-updated-ms"]]
    for i in range(5):
        seen.append(table.apply(set_properties(i=str(i)))["last-updated-ms"])
    assert seen == sorted(seen) and abs(seen[-1] - now_ms()) < 5000


def test_metadata_log_is_bounded(table):
    """`write.metadata.previous-versions-max` counts from the commit that sets it; raising it lets it grow."""
    for i in range(3):
        table.apply(set_properties(i=str(i)))
    assert len(table.metadata["metadata-log"]) == 3
    limit = "write.metadata.previous-versions-max"
    got = table.apply({"action": "set-properties", "updates": {limit: "2"}})
    assert len(got["metadata-log"]) == 2
    got = table.apply({"action": "set-properties", "updates": {limit: "4"}})
    assert len(got["metadata-log"]) == 3
    for i in range(5):
        got = table.apply(set_properties(i=str(i)))
    assert len(got["metadata-log"]) == 4
    for limit_of in ("0", "-5"):
        got = table.apply({"action": "set-properties", "updates": {limit: limit_of}})
        assert len(got["metadata-log"]) == 1
    times = [e["timestamp-ms"] for e in got["metadata-log"]]
    assert times == sorted(times)


@pytest.mark.long
def test_metadata_log_default_bound(table):
    """100 entries, oldest first, each the former file."""
    locations = [table.metadata_location]
    for i in range(104):
        locations.append(table.commit(set_properties(i=str(i))).ok().json["metadata-location"])
    log = table.metadata["metadata-log"]
    assert [e["metadata-file"] for e in log] == locations[-101:-1]


def test_commit_made_on_an_old_base_succeeds_while_its_requirements_hold(api, ns, table):
    """Two changes of properties computed side by side are both applied."""
    requirement = [assert_uuid(table.uuid)]
    table.apply(set_properties(a="1"), requirements=requirement)
    got = table.apply(set_properties(b="2"), requirements=requirement)
    assert {k: got["properties"][k] for k in "ab"} == {"a": "1", "b": "2"}


def test_the_same_append_sent_twice(table):
    """A lost answer and a client that sends the same bytes again: its own commit is recognised."""
    table.append(1, 1)
    updates = [add_snapshot(2, 2, 1, table.location), set_ref("main", 2)]
    requirements = [assert_uuid(table.uuid), assert_ref(1)]
    first = table.commit(*updates, requirements=requirements).ok()
    second = table.commit(*updates, requirements=requirements).ok()
    assert second.json == first.json
    table.append(3, 3, 2)
    third = table.commit(*updates, requirements=requirements).ok()
    assert 2 in [s["snapshot-id"] for s in third.json["metadata"]["snapshots"]]
    got = table.metadata
    assert [s["snapshot-id"] for s in got["snapshots"]] == [1, 2, 3] and got["current-snapshot-id"] == 3


def test_nearly_the_same_append_is_a_conflict(table):
    """Only the very same request counts: another manifest list under the same id was not applied."""
    table.append(1, 1)
    requirements = [assert_uuid(table.uuid), assert_ref(1)]
    one, two = (add_snapshot(2, 2, 1, table.location, **{"manifest-list": f"{table.location}/metadata/{n}.avro"})
                for n in "ab")
    table.apply(one, set_ref("main", 2), requirements=requirements)
    table.commit(two, set_ref("main", 2), requirements=requirements).fails(
        409, "CommitFailedException", "Requirement failed: branch main has changed: expected id 1 != 2")
    assert len(table.metadata["snapshots"]) == 2


def test_the_same_create_commit_sent_twice(api, ns):
    """A create with a first snapshot, sent again after a lost answer."""
    from firn_client import create_updates
    m = api.create(ns, "t", stage_create=True).ok().json["metadata"]
    updates = [*create_updates(m), add_snapshot(5, 1, location=m["location"]), set_ref("main", 5)]
    first = api.commit(ns, "t", updates, [{"type": "assert-create"}]).ok()
    second = api.commit(ns, "t", updates, [{"type": "assert-create"}]).ok()
    assert second.json["metadata"]["table-uuid"] == first.json["metadata"]["table-uuid"]


def test_stale_writer_after_drop_and_create(api, ns, table):
    """The new table has another uuid: a writer of the old one is refused, with or without asserting it."""
    table.append(1, 1)
    uuid = table.uuid
    api.drop(ns, table.name).expect(204)
    api.create(ns, table.name).ok()
    api.commit(ns, table.name, [set_properties(a="b")], [assert_uuid(uuid)]).fails(409, "CommitFailedException")
    api.commit(ns, table.name, [set_properties(a="b")], [assert_ref(1)]).fails(409, "CommitFailedException")


def test_life_of_a_table(api, ns):
    """One scripted life: partitioned, a column more, another spec, an append, the same append again,
    create again; the metadata is right after each step."""
    table = api.table(ns, partition_spec=spec(("id_b", "bucket[4]", 1, None)))
    m = table.metadata
    assert m["last-partition-id"] == 1000 and m["partition-specs"][0]["fields"][0]["field-id"] == 1000
    m = table.apply(add_schema(WIDER), set_schema(-1))
    assert m["last-column-id"] == 3 and len(m["metadata-log"]) == 1
    m = table.apply(add_spec(("id_b", "bucket[4]", 1, 1000), ("more", "identity", 3, 1001)), set_spec(-1))
    assert m["last-partition-id"] == 1001 and m["default-spec-id"] == 1
    m = table.append(10, 1)
    assert m["current-snapshot-id"] == 10
    table.commit(add_snapshot(10, 2, 10, table.location, **{"manifest-list": table.location + "/other"}),
                 set_ref("main", 10)).fails(400, "ValidationException", "Snapshot already exists for id: 10")
    api.create(ns, table.name).fails(409, "AlreadyExistsException")
    assert table.metadata == m


def test_many_updates_in_one_commit(table):
    """Hundreds of updates are applied in order."""
    updates = [set_properties(**{f"k{i}": str(i), "last": str(i)}) for i in range(500)]
    got = table.apply(*updates)
    assert got["properties"]["last"] == "499" and len(got["properties"]) == 502
    assert len(got["metadata-log"]) == 1


@pytest.mark.long
def test_commits_in_a_row(table):
    """200 of them: none fails, numbers of files go up one by one."""
    for i in range(1, 201):
        location = table.commit(set_properties(i=str(i))).ok().json["metadata-location"]
        assert f"/{i:05}-" in location
