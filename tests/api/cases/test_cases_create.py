"""Cases of public reports: creating tables, directly, at once by many, and staged. The ids are those of
table.tsv."""

import pytest

from firn_client import (Api, Table, add_snapshot, assert_ref, assert_uuid, create_updates, field, in_parallel,
                         ns_path, set_ref, simple, spec, struct)

NEW = {"type": "assert-create"}
V1_CREATE = [
    {"action": "assign-uuid", "uuid": "5a7c9bb0-5d8c-4e0a-9f53-7b1a1c2d3e4f"},
    {"action": "upgrade-format-version", "format-version": 1},
    {"action": "add-schema", "schema": simple(), "last-column-id": 2},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
    {"action": "set-default-sort-order", "sort-order-id": -1}]


def staged(api, ns, name="t"):
    return api.create(ns, name, stage_create=True).ok().json["metadata"]


def test_b034_race_for_one_table(server, api, ns):
    """Fifty creates: one table, one file; the others are told at once and leave nothing. A view may not take
    the name either."""

    def create(_):
        client = Api(server)
        answer = client.create(ns, "t")
        client.close()
        return answer

    answers = in_parallel(50, create)
    assert sorted(a.status for a in answers) == [200] + [409] * 49
    for answer in answers:
        if answer.status == 409:
            answer.fails(409, "AlreadyExistsException", f"Table already exists: {ns}.t")
    assert [f for f in api.store.list() if f"/{ns}/" in f] == [api.load(ns, "t").ok().json["metadata-location"]]
    api.create_view(ns, "t").fails(409, "AlreadyExistsException")
    api.drop(ns, "t").expect(204)
    assert api.names(ns) == []


def test_b035_what_if_not_exists_looks_for(api, ns, table):
    """The type to the letter, and 409 in the status and in the body."""
    error = api.create(ns, table.name).fails(409, "AlreadyExistsException", f"Table already exists: {ns}.{table.name}")
    assert error["code"] == 409


@pytest.mark.parametrize("numbers", [(None,), (...,), (0,), (1000, 1000), (0, None)])
def test_b037_partition_field_ids_are_given(api, ns, numbers):
    """Null, absent, 0 or double: they count from 1000."""
    fields = [{"name": f"id_b{i}", "transform": f"bucket[{4 + i}]", "source-id": 1, "field-id": number}
              for i, number in enumerate(numbers)]
    fields = [{k: v for k, v in f.items() if v is not ...} for f in fields]
    m = api.create(ns, "t", partition_spec={"spec-id": 0, "fields": fields}).ok().json["metadata"]
    assert m["partition-specs"] == [spec(*((f"id_b{i}", f"bucket[{4 + i}]", 1, 1000 + i) for i in range(len(numbers))))]
    assert m["last-partition-id"] == 999 + len(numbers)


@pytest.mark.parametrize("number", ["x", 1.5, [], 2**31])
def test_b037_partition_field_ids_of_another_kind(api, ns, number):
    """400 that names the member."""
    fields = [{"name": "id_b", "transform": "bucket[4]", "source-id": 1, "field-id": number}]
    api.create(ns, "t", partition_spec={"spec-id": 0, "fields": fields}).fails(400, contains="field-id")
    assert api.names(ns) == []


@pytest.mark.parametrize("properties,version", [({"format-version": "3", "a": "b"}, 3), ({"a": "b"}, 2), ({}, 2)])
def test_b038_the_version_is_asked_for_by_a_property(api, ns, properties, version):
    """It is used up; without it a table has version 2."""
    m = api.create(ns, "t", properties=properties).ok().json["metadata"]
    assert m["format-version"] == version and "format-version" not in m["properties"]
    assert m["properties"].get("a") == properties.get("a")


def test_b040_a_staged_table_of_version_1(api, ns, table):
    """The version that a create names first is where it begins. An existing table goes up only; the version
    it has is no change."""
    place = {"action": "set-location", "location": f"{api.store.base}/{ns}/v1"}
    m = api.commit(ns, "t", [*V1_CREATE, place], [NEW]).ok().json["metadata"]
    assert m["format-version"] == 1 and m["location"] == place["location"]
    assert m["schema"]["fields"] == simple()["fields"] and m["partition-spec"] == []
    before = table.load().ok().json
    table.commit(V1_CREATE[1]).fails(400, "IllegalArgumentException", contains="Cannot downgrade v2 table to v1")
    same = table.commit(V1_CREATE[1] | {"format-version": 2}).ok().json
    assert same["metadata-location"] == before["metadata-location"] and table.loaded == before


def test_b041_a_staged_table_is_whole_and_not_there(api, ns):
    """What engines need to write their first files; nothing of it is to be found."""
    got = api.create(ns, "t", stage_create=True).ok().json
    m = got["metadata"]
    assert got.get("metadata-location") is None and isinstance(got["config"], dict)
    assert m["location"].startswith(api.store.base) and m["schemas"] == [simple()]
    assert {"table-uuid", "partition-specs", "sort-orders", "last-column-id", "properties"} <= m.keys()
    api.load(ns, "t").fails(404, "NoSuchTableException")
    assert not api.exists(ns, "t") and api.names(ns) == []
    api.create(ns, "t").ok()


def test_b043_requirements_of_a_create(api, ns):
    """assert-create stands alone, and without it there must be a table."""
    m = staged(api, ns)
    for other in (assert_uuid(m["table-uuid"]), assert_ref(None)):
        for requirements in ([NEW, other], [other, NEW]):
            api.commit(ns, "t", create_updates(m), requirements).fails(
                400, "IllegalArgumentException", contains="Invalid create requirements")
    for requirements in ([], [assert_uuid(m["table-uuid"])]):
        api.commit(ns, "t", create_updates(m), requirements).fails(
            404, "NoSuchTableException", f"Table does not exist: {ns}.t")
    assert api.names(ns) == []


def test_b044_slashes_at_the_end_of_a_location(api, ns):
    """They are not kept, neither on create nor when a table moves; a bucket alone is no place for a table."""
    place = f"{api.store.base}/{ns}"
    m = api.create(ns, "t", location=place + "/a/t/").ok().json["metadata"]
    assert m["location"] == place + "/a/t"
    assert "//" not in api.load(ns, "t").ok().json["metadata-location"].partition("://")[2]
    table = Table(api, ns, "t")
    assert table.apply({"action": "set-location", "location": place + "/b//"})["location"] == place + "/b"
    for root in ("s3://b", "s3://b/", api.store.base, api.store.base + "/"):
        api.create(ns, "u", location=root).fails(400, contains="location")
        table.commit({"action": "set-location", "location": root}).fails(400, contains="location")
    assert table.metadata["location"] == place + "/b" and api.names(ns) == ["t"]


def test_b046_a_life_of_a_table_step_by_step(api, ns):
    """What an emulator got wrong, one after the other."""
    schema = struct(*simple()["fields"], field(3, "more", "int"))
    table = api.table(ns, "t", partition_spec=spec(("id_b", "bucket[4]", 1, None)), properties={"format-version": "3"})
    m = table.metadata
    assert m["partition-specs"] == [spec(("id_b", "bucket[4]", 1, 1000))] and m["last-partition-id"] == 1000
    assert m["next-row-id"] == 0 and m["last-column-id"] == 2

    m = table.apply({"action": "add-schema", "schema": schema}, {"action": "set-current-schema", "schema-id": -1})
    assert m["last-column-id"] == 3 and m["current-schema-id"] == 1 and [s["schema-id"] for s in m["schemas"]] == [0, 1]

    wanted = spec(("id_b", "bucket[4]", 1, 1000), ("more", "identity", 3, 1001))
    table.commit({"action": "add-partition-spec", "spec": wanted}).fails(400, "BadRequestException")
    for _ in range(2):
        m = table.apply({"action": "add-spec", "spec": wanted}, {"action": "set-default-spec", "spec-id": -1})
        assert m["default-spec-id"] == 1 and m["last-partition-id"] == 1001
        assert [s["spec-id"] for s in m["partition-specs"]] == [0, 1]

    append = ([add_snapshot(10, 1, location=table.location, **{"first-row-id": 0, "added-rows": 5}),
               set_ref("main", 10)], [assert_uuid(m["table-uuid"]), assert_ref(None)])
    for _ in range(2):
        m = api.commit(ns, "t", *append).ok().json["metadata"]
        assert [s["snapshot-id"] for s in m["snapshots"]] == [10] and m["next-row-id"] == 5
        assert m["last-sequence-number"] == 1 and len(m["snapshot-log"]) == 1

    before = table.loaded
    api.create(ns, "t").fails(409, "AlreadyExistsException", f"Table already exists: {ns}.t")
    assert table.loaded == before and before["metadata"] == m
    api.get(f"{ns_path(ns)}/tables/nope").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.nope")
