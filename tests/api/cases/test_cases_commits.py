"""Cases of public reports: commits, conflicts, answers that were lost, transactions. The ids are those of
table.tsv."""

import json
import random
import time

import pytest

from firn_client import (SLOWNESS, Api, Table, add_snapshot, assert_ref, assert_uuid, create_updates, field, in_parallel,
                         levels_of, ns_path, replace_version, set_properties, set_ref, simple, struct, view_path)

NEW = {"type": "assert-create"}
ROW_ID = {"type": "assert-next-row-id", "next-row-id": 0}
FROBNICATE = {"action": "frobnicate"}


def appended(table, number, sequence, parent=None, ref="main", **more):
    return [add_snapshot(number, sequence, parent, table.location, **more), set_ref(ref, number)]


def body(updates, requirements):
    return json.dumps({"requirements": requirements, "updates": updates}).encode()


def change(ns, name, updates=(), requirements=()):
    return {"identifier": {"namespace": levels_of(ns), "name": name}, "requirements": list(requirements),
            "updates": list(updates)}


def transaction(api, *changes):
    return api.post("/v1/transactions/commit", {"table-changes": list(changes)})


def metadata_files(api, table):
    return [f for f in api.store.list(table.location) if f.endswith(".metadata.json")]


# --- conflicts ----------------------------------------------------------------------------


def test_b047_appends_to_two_branches(api, ns):
    """The second is behind and may come again; so for row ids. A replacement may have the same number."""
    table = api.table(ns)
    table.append(10, 1)
    table.apply(set_ref("b2", 10))
    table.append(11, 2, 10)
    requirements = [assert_uuid(table.uuid), assert_ref(10, "b2")]
    table.commit(*appended(table, 21, 2, 10, "b2"), requirements=requirements).fails(
        409, "CommitFailedException", "Validation failed, please retry: "
        "Cannot add snapshot with sequence number 2 older than last sequence number 2")
    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [10, 11]
    table.apply(*appended(table, 21, 3, 10, "b2"), requirements=requirements)
    assert table.apply(*appended(table, 22, 3))["last-sequence-number"] == 3

    rows = api.table(ns, properties={"format-version": "3"})
    rows.append(10, 1, **{"first-row-id": 0, "added-rows": 4})
    rows.commit(*appended(rows, 21, 2, 10, "b2", **{"first-row-id": 3, "added-rows": 1})).fails(
        409, "CommitFailedException", contains="first-row-id is behind table next-row-id: 3 < 4")
    rows.apply(*appended(rows, 21, 2, 10, "b2", **{"first-row-id": 4, "added-rows": 1}))


def test_b055_a_snapshot_id_that_exists(table):
    """Another snapshot under it: 400, or the conflict that the requirement finds; one entry."""
    table.append(11, 1)
    other = appended(table, 11, 2, 11, **{"manifest-list": f"{table.location}/metadata/other.avro"})
    table.commit(*other).fails(400, "ValidationException", "Snapshot already exists for id: 11")
    table.commit(*other, requirements=[assert_ref(None)]).fails(409, "CommitFailedException")
    (entry,) = table.metadata["snapshots"]
    assert not entry["manifest-list"].endswith("other.avro")


@pytest.mark.parametrize("requirement", [{"snapshot-id": None}, {"snapshot-id": -1}, {}], ids=["null", "-1", "absent"])
def test_b053_main_is_asserted_not_to_exist(api, ns, table, requirement):
    """In each spelling: yes on an empty table, a conflict on one with snapshots."""
    requirement = {"type": "assert-ref-snapshot-id", "ref": "main"} | requirement
    table.apply(*appended(table, 11, 1), requirements=[requirement])
    table.commit(*appended(table, 12, 2, 11), requirements=[requirement]).fails(
        409, "CommitFailedException", contains="branch main")
    assert table.metadata["current-snapshot-id"] == 11


@pytest.mark.parametrize("requirements,updates,word", [
    ([ROW_ID], [], "assert-next-row-id"), ([], [FROBNICATE], "frobnicate"), ([assert_ref(99), ROW_ID], [], "assert-next-row-id")],
    ids=["requirement", "action", "after a conflict"])
def test_b056_what_is_not_understood_is_not_passed_over(api, ns, table, requirements, updates, word):
    """In commits, in transactions, for views: 400 that names it, nothing written."""
    table.append(1, 1)
    api.create_view(ns, "v").ok()
    before, seen, files = table.loaded, api.load_view(ns, "v").ok().json, api.store.list()
    good = set_properties(a="b")
    table.commit(good, *updates, requirements=requirements).fails(400, "BadRequestException", contains=word)
    api.replace_view(ns, "v", [good, *replace_version(), *updates],
                     [r for r in requirements if r is ROW_ID]).fails(400, "BadRequestException", contains=word)
    other = api.table(ns)
    transaction(api, change(ns, other.name, [good]), change(ns, table.name, [good, *updates], requirements)).fails(
        400, "BadRequestException", contains=word)
    assert table.loaded == before and api.load_view(ns, "v").ok().json == seen
    assert "a" not in other.metadata["properties"]
    assert [f for f in api.store.list() if f not in files] == [other.metadata_location]


def test_b056_unknown_members_are_passed_over(table):
    """Of requirements and actions that are known."""
    m = table.apply(set_properties(a="b") | {"since": {"v": 9}}, requirements=[assert_uuid(table.uuid) | {"note": None}])
    assert m["properties"]["a"] == "b"


def test_b058_requirements_come_before_updates(table):
    """A removal computed on an old base is a conflict, not a mistake."""
    wider = struct(*simple()["fields"], field(3, "more"))
    table.apply({"action": "add-schema", "schema": wider}, {"action": "set-current-schema", "schema-id": -1})
    table.apply({"action": "set-current-schema", "schema-id": 0})
    removal = {"action": "remove-schemas", "schema-ids": [0]}
    table.commit(removal, requirements=[{"type": "assert-current-schema-id", "current-schema-id": 1}]).fails(
        409, "CommitFailedException", "Requirement failed: current schema changed: expected id 1 != 0")
    table.commit(removal).fails(400, "IllegalArgumentException", "Cannot remove the current schema")
    assert len(table.metadata["schemas"]) == 2


def test_b059_writers_of_a_table_that_was_made_anew(api, ns):
    """Another uuid, another place: the old writer is refused, by the uuid or by the branch."""
    old = api.table(ns, "t")
    old.append(1, 1)
    uuid, place = old.uuid, old.location
    api.drop(ns, "t").expect(204)
    api.commit(ns, "t", [set_properties(a="b")], [assert_uuid(uuid)]).fails(404, "NoSuchTableException")
    new = api.table(ns, "t")
    assert new.uuid != uuid and new.location != place
    for requirement in (assert_uuid(uuid), assert_uuid(uuid.upper()), assert_ref(1)):
        api.commit(ns, "t", [set_properties(a="b")], [requirement]).fails(409, "CommitFailedException")
    assert "a" not in new.metadata["properties"]
    new.apply(set_properties(a="b"), requirements=[assert_uuid(new.uuid.upper()), assert_ref(None)])


@pytest.mark.long
def test_b061_many_writers_with_retries(server, api, ns):
    """32 writers, 20 appends each: in one line, none lost, none double. A refusal is always for a base that
    had moved."""
    table = api.table(ns)
    location, uuid = table.location, table.uuid
    refused = []

    def write(writer):
        client, rng, base = Api(server), random.Random(writer), None
        for k in range(20):
            number, pause = writer * 100 + k + 1, 0.01
            while True:
                m = client.request("GET", table.path + "?snapshots=refs", check=False).ok().json["metadata"]
                base = m["refs"].get("main", {}).get("snapshot-id")
                answer = client.request("POST", table.path, json.loads(body(
                    [add_snapshot(number, m["last-sequence-number"] + 1, base, location), set_ref("main", number)],
                    [assert_uuid(uuid), assert_ref(base)])), check=False)
                if answer.status == 200:
                    break
                error = answer.fails(409, "CommitFailedException", contains="Requirement failed: branch main")
                refused.append((base, error["message"]))
                time.sleep(pause * rng.uniform(1, 2))
                pause = min(pause * 2, 0.3)
        client.close()

    in_parallel(32, write)
    m = table.metadata
    numbers = [s["snapshot-id"] for s in m["snapshots"]]
    assert sorted(numbers) == sorted(w * 100 + k + 1 for w in range(32) for k in range(20))
    assert [s.get("parent-snapshot-id") for s in m["snapshots"]] == [None, *numbers[:-1]]
    assert [s["sequence-number"] for s in m["snapshots"]] == list(range(1, 641))
    assert all(base is None or f"expected id {base} != " in text for base, text in refused)


def test_b061_properties_of_two_writers_are_merged(api, ns, table):
    """Computed on the same base, asserting only which table it is."""
    requirements = [assert_uuid(table.uuid)]
    answers = in_parallel(2, lambda i: api.commit(ns, table.name, [set_properties(**{f"k{i}": "v"})], requirements))
    assert [a.status for a in answers] == [200, 200]
    assert {"k0", "k1"} <= table.metadata["properties"].keys()


# --- answers that are lost ------------------------------------------------------------------


def test_b048_a_create_whose_answer_was_lost(api, ns):
    """The table is there, and the same bytes again say so; another create of that name is refused."""
    m = api.create(ns, "t", stage_create=True).ok().json["metadata"]
    once = body([*create_updates(m), add_snapshot(5, 1, location=m["location"]), set_ref("main", 5)], [NEW])
    path = f"{ns_path(ns)}/tables/t"
    first = api.post(path, once).ok().json
    assert api.post(path, once).ok().json == first
    assert api.load(ns, "t").ok().json["metadata"] == first["metadata"]
    assert len(metadata_files(api, Table(api, ns, "t"))) == 1
    other = dict(m, **{"table-uuid": "0f6f1b2e-8d53-4c07-8a3c-5d0f3c9b7a11", "location": m["location"] + "x"})
    api.commit(ns, "t", create_updates(other), [NEW]).fails(409, "CommitFailedException")


def test_b049_the_same_append_twice(table):
    """Byte for byte what was applied: 200 with what it did, also when others came after. In part the same is
    not the same."""
    table.append(10, 1)
    updates, requirements = appended(table, 11, 2, 10), [assert_uuid(table.uuid), assert_ref(10)]
    once = body(updates, requirements)
    first = table.api.post(table.path, once).ok().json
    assert table.api.post(table.path, once).ok().json == first
    table.append(12, 3, 11)
    before = table.loaded
    again = table.api.post(table.path, once).ok().json["metadata"]
    assert [s["snapshot-id"] for s in again["snapshots"]][:2] == [10, 11]

    fresh = add_snapshot(13, 4, 11, table.location)
    moved = {"action": "add-snapshot", "snapshot": updates[0]["snapshot"] | {"manifest-list": "s3://b/other.avro"}}
    for partly in ([moved, updates[1]], [updates[0], fresh, set_ref("main", 13)], [updates[1]],
                   [updates[0], set_ref("main", 10)], [*updates, set_properties(a="b")]):
        table.commit(*partly, requirements=requirements).fails(409, "CommitFailedException")
    assert table.loaded == before


@pytest.mark.parametrize("how", ["commit", "transaction"])
def test_b049_the_same_append_twice_where_nothing_is_asserted(api, ns, table, how):
    """A snapshot that is only put there, and one whose branch was rolled back in between: applied, so never a
    4xx, after which the client would delete its files."""
    def send(updates, *requirements):
        if how == "transaction":
            return transaction(api, change(ns, table.name, updates, [assert_uuid(table.uuid), *requirements])).expect(204)
        return table.commit(*updates, requirements=[assert_uuid(table.uuid), *requirements]).ok()

    table.append(10, 1)
    aside, main = [add_snapshot(20, 2, 10, table.location)], appended(table, 11, 3, 10)
    for _ in range(2):
        send(aside)
    send(main, assert_ref(10))
    table.apply(set_ref("main", 10))
    send(main, assert_ref(10))
    m = table.metadata
    assert [s["snapshot-id"] for s in m["snapshots"]] == [10, 20, 11] and m["current-snapshot-id"] == 10


def test_b050_what_is_refused_was_not_applied(api, ns, table):
    """Every kind of 4xx: no state, no file, no name is another afterwards."""
    table.append(1, 1)
    before, files = table.loaded, api.store.list()
    good, held = appended(table, 2, 2, 1), [assert_uuid(table.uuid), assert_ref(1)]
    refusals = {
        400: [lambda: table.commit(*good, set_ref("main", 99), requirements=held),
              lambda: table.commit(*good, FROBNICATE, requirements=held),
              lambda: api.post(table.path, body(good, held)[:-1])],
        404: [lambda: api.commit(ns, "nope", good, held)],
        409: [lambda: table.commit(*good, requirements=[assert_ref(7)]),
              lambda: transaction(api, change(ns, table.name, good, held), change(ns, table.name, [], [NEW]))],
        413: [lambda: api.post(table.path, b" " * (33 << 20) + body(good, held))],
        415: [lambda: api.request("POST", table.path, body(good, held), {"Content-Encoding": "gzip"})]}
    for status, requests in refusals.items():
        for request in requests:
            request().fails(status)
            assert table.loaded == before and api.store.list() == files
    table.apply(*good, requirements=held)


@pytest.mark.long
def test_b052_a_commit_to_large_metadata(api, ns):
    """200 MB of it (20 where they travel to a store): done in a time that clients and proxies wait."""
    count = 1000 if api.store.kind == "file" else 100
    place = f"{api.store.base}/large/{ns}"
    head = json.dumps({
        "format-version": 2, "table-uuid": "6e8b1d1e-35a4-4a30-9a80-4e8d2b6f0c11", "location": place,
        "last-sequence-number": 1, "last-updated-ms": 1700000000000, "last-column-id": 2, "schemas": [simple()],
        "current-schema-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "default-spec-id": 0,
        "last-partition-id": 999, "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0})
    entries = (json.dumps(add_snapshot(n, 1, None, place, summary={"operation": "append", "x": "y" * 200_000})["snapshot"])
               for n in range(1, count + 1))
    uri = f"{place}/metadata/v1.metadata.json"
    api.store.write(uri, (head[:-1] + ', "snapshots": [' + ",".join(entries) + "]}").encode())
    api.request("POST", f"{ns_path(ns)}/register", {"name": "t", "metadata-location": uri}, check=False).ok()
    begin = time.monotonic()
    path = f"{ns_path(ns)}/tables/t"
    answer = api.request("POST", path, {"updates": [set_properties(a="b")]}, check=False).ok()
    assert time.monotonic() - begin < 30 * SLOWNESS
    assert len(answer.body) > count * 200_000 and b'"a":"b"' in answer.body.replace(b" ", b"")
    api.drop(ns, "t").expect(204)
    for file in api.store.list(place):
        api.store.delete(file)


# --- transactions -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_b062_all_tables_or_none(api, ns, order):
    """The requirement of one does not hold: 409, and the other is as it was."""
    t1, t2 = api.table(ns, "t1"), api.table(ns, "t2")
    for table in (t1, t2):
        table.append(10, 1)
    before = [t.loaded for t in (t1, t2)], api.store.list()
    changes = [change(ns, "t1", appended(t1, 11, 2, 10), [assert_ref(10)]),
               change(ns, "t2", appended(t2, 11, 2, 10), [assert_ref(999)])]
    transaction(api, *(changes[i] for i in order)).fails(
        409, "CommitFailedException", "Requirement failed: branch main has changed: expected id 999 != 10")
    assert ([t.loaded for t in (t1, t2)], api.store.list()) == before
    assert "POST /v1/{prefix}/transactions/commit" in api.get("/v1/config").ok().json["endpoints"]


def test_b064_a_new_table_in_a_transaction(api, ns):
    """Made from nothing, beside a change of one that exists."""
    t1 = api.table(ns, "t1")
    m = api.create(ns, "t3", stage_create=True).ok().json["metadata"]
    transaction(api, change(ns, "t3", [*create_updates(m), add_snapshot(5, 1, location=m["location"]), set_ref("main", 5)], [NEW]),
                change(ns, "t1", appended(t1, 11, 1), [assert_uuid(t1.uuid), assert_ref(None)])).expect(204)
    t3 = api.load(ns, "t3").ok().json["metadata"]
    assert t3["table-uuid"] == m["table-uuid"] and t3["location"] == m["location"] and t3["current-snapshot-id"] == 5
    assert t1.metadata["current-snapshot-id"] == 11 and api.names(ns) == ["t1", "t3"]


def test_b065_one_table_twice_in_a_transaction(api, table):
    """Applied in order, the second on the result of the first; what asserts the state before is a conflict."""
    ns, name = table.ns, table.name
    first = change(ns, name, appended(table, 11, 1), [assert_ref(None)])
    transaction(api, first, change(ns, name, appended(table, 12, 2), [assert_ref(None)])).fails(
        409, "CommitFailedException", "Requirement failed: branch main was created concurrently")
    assert table.metadata["snapshots"] == []
    transaction(api, first, change(ns, name, [*appended(table, 12, 2, 11), set_properties(a="2")], [assert_ref(11)])).expect(204)
    m = table.metadata
    assert [s["snapshot-id"] for s in m["snapshots"]] == [11, 12] and m["current-snapshot-id"] == 12
    assert [e["snapshot-id"] for e in m["snapshot-log"]] == [11, 12] and m["properties"]["a"] == "2"
    assert len(metadata_files(api, table)) == 2
    transaction(api, change(ns, name, [set_properties(one="1")], [assert_ref(12)])).expect(204)
    assert table.metadata["properties"]["one"] == "1"
