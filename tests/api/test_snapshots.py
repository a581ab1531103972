"""Snapshots and references: sequence numbers, row ids, logs, branches and tags, expiry, clocks."""

import pytest

from firn_client import add_snapshot, assert_ref, assert_uuid, now_ms, set_properties, set_ref


def remove(*numbers):
    return {"action": "remove-snapshots", "snapshot-ids": list(numbers)}


def remove_ref(name):
    return {"action": "remove-snapshot-ref", "ref-name": name}


def ids(entries):
    return [e["snapshot-id"] for e in entries]


# --- add-snapshot -------------------------------------------------------------


def test_append(table):
    """The snapshot is stored as it was sent; main, the current snapshot and the log point to it."""
    update = add_snapshot(11, 1, location=table.location, summary={
        "operation": "append", "added-records": "3", "engine-name": "spark", "custom": "kept \u00fc"})
    got = table.apply(update, set_ref("main", 11))
    assert got["snapshots"] == [update["snapshot"]]
    assert got["current-snapshot-id"] == 11 and got["last-sequence-number"] == 1
    assert got["refs"] == {"main": {"snapshot-id": 11, "type": "branch"}}
    assert got["snapshot-log"] == [{"snapshot-id": 11, "timestamp-ms": update["snapshot"]["timestamp-ms"]}]


def test_staged_snapshot(table):
    """add-snapshot alone (write-audit-publish) touches neither refs nor the log."""
    got = table.apply(add_snapshot(11, 1, location=table.location))
    assert got["refs"] == {} and got["snapshot-log"] == [] and got.get("current-snapshot-id", -1) == -1
    assert got["last-sequence-number"] == 1
    got = table.apply(set_ref("main", 11))
    assert got["current-snapshot-id"] == 11 and ids(got["snapshot-log"]) == [11]


def test_null_members_are_left_out(table):
    """Java fails on `parent-snapshot-id: null`; it is never written."""
    update = add_snapshot(1, 1, location=table.location)
    update["snapshot"] |= {"parent-snapshot-id": None, "key-id": None, "first-row-id": None}
    answer = table.commit(update).ok()
    assert b":null" not in answer.body
    assert set(answer.json["metadata"]["snapshots"][0]) == set(add_snapshot(1, 1)["snapshot"])


def test_parent_minus_one_is_no_parent(table):
    """ClickHouse writes -1 for the first snapshot."""
    update = add_snapshot(1, 1, -1, table.location)
    assert table.apply(update, set_ref("main", 1))["current-snapshot-id"] == 1


def test_snapshot_id_twice(table):
    """ValidationException; never two entries with one id."""
    table.append(1, 1)
    table.commit(add_snapshot(1, 2, 1, table.location)).fails(
        400, "ValidationException", "Snapshot already exists for id: 1")
    table.commit(add_snapshot(2, 2, 1, table.location), add_snapshot(2, 3, 1, table.location)).fails(
        400, "ValidationException", "Snapshot already exists for id: 2")
    assert ids(table.metadata["snapshots"]) == [1]


@pytest.mark.parametrize("sequence", [0, 1, 2])
def test_sequence_number_must_grow(table, sequence):
    """A snapshot with a parent and a number that is not above the last: retryable, not renumbered."""
    table.append(1, 1)
    table.append(2, 2, 1)
    table.commit(add_snapshot(3, sequence, 2, table.location), set_ref("b", 3)).fails(
        409, "CommitFailedException", "Validation failed, please retry: Cannot add snapshot with sequence number "
        f"{sequence} older than last sequence number 2")


def test_sequence_number_conflict_between_branches(table):
    """Appends to two branches computed from the same base: the second reads again and comes back."""
    table.append(1, 1)
    table.apply(set_ref("b2", 1))
    table.append(2, 2, 1)
    updates = [add_snapshot(21, 2, 1, table.location), set_ref("b2", 21)]
    table.commit(*updates, requirements=[assert_uuid(table.uuid), assert_ref(1, "b2")]).fails(
        409, "CommitFailedException", contains="Validation failed, please retry")
    table.apply(add_snapshot(21, 3, 1, table.location), set_ref("b2", 21), requirements=[assert_ref(1, "b2")])


def test_sequence_numbers_may_jump(table):
    """Larger by any amount; the last one follows."""
    table.append(1, 5)
    assert table.append(2, 2**53 + 1, 1)["last-sequence-number"] == 2**53 + 1


def test_parentless_snapshots(table):
    """Equal and smaller numbers are accepted without a parent; the last number does not go back."""
    table.append(1, 1)
    table.append(2, 2, 1)
    for number, sequence in ((3, 2), (4, 1)):
        got = table.apply(add_snapshot(number, sequence, location=table.location), set_ref("main", number))
        assert got["last-sequence-number"] == 2 and got["current-snapshot-id"] == number


@pytest.mark.parametrize("number", [4598765432109876543, 2**63 - 1, 2**53 + 1, 0, -5, -2**63])
def test_64_bit_ids(table, number):
    """Every digit of an id is kept; 0 and negative ones are ordinary."""
    answer = table.commit(add_snapshot(number, 1, location=table.location), set_ref("main", number)).ok()
    assert str(number).encode() in answer.body
    assert answer.json["metadata"]["current-snapshot-id"] == number
    table.apply(set_properties(a="b"), requirements=[assert_ref(number)])


def test_id_minus_one_is_reserved(table):
    """-1 means "none"."""
    table.commit(add_snapshot(-1, 1, location=table.location)).fails(400)


@pytest.mark.parametrize("member,value", [
    ("snapshot-id", "11"), ("snapshot-id", 1.0), ("snapshot-id", 2**63), ("snapshot-id", None), ("snapshot-id", ...),
    ("sequence-number", "1"), ("sequence-number", 1.5), ("sequence-number", 2**64), ("timestamp-ms", ...),
    ("timestamp-ms", "now"), ("timestamp-ms", 1.7e12), ("parent-snapshot-id", "x"), ("schema-id", "0"),
    ("summary", "append"), ("summary", {"operation": "append", "added-records": 3}), ("summary", {"operation": None}),
    ("summary", ["append"]), ("manifest-list", 1), ("manifest-list", ...), ("first-row-id", "0"), ("added-rows", 1.5)])
def test_malformed_snapshots(table, member, value):
    """Wrong types, fractions and numbers beyond 64 bits: 400 that names the member."""
    update = add_snapshot(11, 1, location=table.location, **{member: value})
    error = table.commit(update).fails(400)
    assert member in error["message"] or "summary" in error["message"] or "integer" in error["message"], error
    assert table.metadata["snapshots"] == []


def test_number_beyond_any_integer(api, table):
    """A number that no 64-bit integer holds is a 400, not a rounded value."""
    body = b'{"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":123456789012345678901234567890,' \
           b'"sequence-number":1,"timestamp-ms":1,"manifest-list":"x","summary":{"operation":"append"}}}]}'
    api.post(table.path, body).fails(400)


def test_summary_without_operation(table):
    """The specification requires it, and iceberg-rust cannot load a table that lacks it: 400 with the place."""
    table.commit(add_snapshot(1, 1, location=table.location, summary={"a": "b"})).fails(
        400, "BadRequestException", contains="summary/operation")


def test_v1_snapshots(api, ns):
    """No sequence numbers; a list of manifests instead of a manifest list is kept."""
    table = api.table(ns, properties={"format-version": "1"})
    update = add_snapshot(1, location=table.location, **{"manifest-list": ..., "manifests": [table.location + "/m.avro"]})
    answer = table.commit(update, set_ref("main", 1))
    if answer.status == 200:
        assert answer.json["metadata"]["snapshots"][0]["manifests"] == [table.location + "/m.avro"]
        parent = 1
    else:  # the specification asks for a manifest list in new snapshots
        answer.fails(400)
        table.apply(add_snapshot(1, location=table.location), set_ref("main", 1))
        parent = 1
    got = table.apply(add_snapshot(2, 0, parent, table.location), set_ref("main", 2))
    assert got.get("last-sequence-number", 0) == 0
    assert all(s.get("sequence-number", 0) == 0 for s in got["snapshots"])


def test_add_snapshot_in_a_create_before_a_schema(api, ns):
    """In an empty state there is nothing a snapshot could belong to."""
    m = api.create(ns, "t", stage_create=True).ok().json["metadata"]
    api.commit(ns, "t", [add_snapshot(1, 1, location=m["location"])], [{"type": "assert-create"}]).fails(
        400, "ValidationException", "Attempting to add a snapshot before a schema is added")


# --- row lineage ------------------------------------------------------------------


def rows(first, count):
    return {k: v for k, v in (("first-row-id", first), ("added-rows", count)) if v is not None}


def test_row_ids(api, ns):
    """v3: the next row id moves on by the rows that were added."""
    table = api.table(ns, properties={"format-version": "3"})
    got = table.apply(add_snapshot(1, 1, location=table.location, **rows(0, 100)), set_ref("main", 1))
    assert got["next-row-id"] == 100
    assert got["snapshots"][0].items() >= rows(0, 100).items()
    table.commit(add_snapshot(2, 2, 1, table.location, **rows(50, 10))).fails(
        409, "CommitFailedException", "Validation failed, please retry: Cannot add a snapshot, first-row-id is behind "
        "table next-row-id: 50 < 100")
    table.commit(add_snapshot(2, 2, 1, table.location)).fails(
        400, "ValidationException", "Cannot add a snapshot: first-row-id is null")
    table.commit(add_snapshot(2, 2, 1, table.location, **rows(100, None))).fails(400)
    got = table.apply(add_snapshot(2, 2, 1, table.location, **rows(100, 10)), set_ref("main", 2))
    assert got["next-row-id"] == 110
    got = table.apply(add_snapshot(3, 3, 2, table.location, **rows(110, 0)), set_ref("main", 3))
    assert got["next-row-id"] == 110


@pytest.mark.parametrize("first,count", [(0, -1), (-1, 1), (1, 2**63 - 1), (2**63 - 1, 1), (0, 2**63)])
def test_row_ids_that_cannot_be(api, ns, first, count):
    """Negative numbers and sums beyond 64 bits: 400 (a first row behind the next one: 409)."""
    table = api.table(ns, properties={"format-version": "3"})
    table.commit(add_snapshot(1, 1, location=table.location, **rows(first, count))).expect(400, 409)
    assert table.metadata["next-row-id"] == 0


def test_row_ids_after_a_gap(api, ns):
    """A first row id ahead of the table: the next one ends behind it."""
    table = api.table(ns, properties={"format-version": "3"})
    got = table.apply(add_snapshot(1, 1, location=table.location, **rows(50, 10)))
    assert got["next-row-id"] >= 60


# --- references -----------------------------------------------------------------------


def three(table):
    for i in (1, 2, 3):
        table.append(i, i, i - 1 or None)
    return table


def test_branches_and_tags(table):
    """Made, moved, turned into each other, removed; main is untouched."""
    three(table)
    got = table.apply(set_ref("b", 1), set_ref("t", 2, "tag"))
    assert got["refs"]["b"] == {"snapshot-id": 1, "type": "branch"}
    assert got["refs"]["t"] == {"snapshot-id": 2, "type": "tag"}
    got = table.apply(set_ref("b", 2), set_ref("t", 1, "TAG"))
    assert got["refs"]["b"]["snapshot-id"] == 2 and got["refs"]["t"] == {"snapshot-id": 1, "type": "tag"}
    got = table.apply(set_ref("t", 1, "branch"), remove_ref("b"))
    assert got["refs"]["t"]["type"] == "branch" and "b" not in got["refs"]
    assert got["current-snapshot-id"] == 3 and ids(got["snapshot-log"]) == [1, 2, 3]


def test_reference_names_are_any_text(table):
    """Slashes, dots, letters beyond ASCII, the empty name aside."""
    table.append(1, 1)
    names = ["feature/x", "v1.0", "\u00fc", "a b", "\U0001f3d4", "refs\"quoted\"", "x" * 500]
    got = table.apply(*[set_ref(n, 1) for n in names])
    assert set(got["refs"]) == {"main", *names}
    assert set(table.metadata["refs"]) == {"main", *names}


def test_retention(table):
    """Retention members replace the old ones as a whole; null ones are absent."""
    table.append(1, 1)
    keep = {"min-snapshots-to-keep": 5, "max-snapshot-age-ms": 1000, "max-ref-age-ms": 2000}
    assert table.apply(set_ref("b", 1, **keep))["refs"]["b"] == {"snapshot-id": 1, "type": "branch"} | keep
    got = table.apply(set_ref("b", 1, **{"max-ref-age-ms": 7}))
    assert got["refs"]["b"] == {"snapshot-id": 1, "type": "branch", "max-ref-age-ms": 7}
    got = table.apply(set_ref("b", 1, **dict.fromkeys(keep)))
    assert got["refs"]["b"] == {"snapshot-id": 1, "type": "branch"}


@pytest.mark.parametrize("update,kind,text", [
    (set_ref("t", 1, "tag", **{"min-snapshots-to-keep": 2}), "IllegalArgumentException",
     "Tags do not support setting minSnapshotsToKeep"),
    (set_ref("t", 1, "tag", **{"max-snapshot-age-ms": 2}), "IllegalArgumentException",
     "Tags do not support setting maxSnapshotAgeMs"),
    (set_ref("b", 1, **{"min-snapshots-to-keep": 0}), "IllegalArgumentException",
     "Min snapshots to keep must be greater than 0"),
    (set_ref("b", 1, **{"max-snapshot-age-ms": -1}), "IllegalArgumentException",
     "Max snapshot age must be greater than 0 ms"),
    (set_ref("b", 1, **{"max-ref-age-ms": 0}), "IllegalArgumentException",
     "Max reference age must be greater than 0"),
    (set_ref("b", 55), "ValidationException", "Cannot set b to unknown snapshot: 55"),
    (set_ref("main", 55), "ValidationException", "Cannot set main to unknown snapshot: 55"),
    (set_ref("main", 1, "tag"), "ValidationException", "Cannot set main to a tag, it must be a branch")])
def test_references_that_cannot_be(table, update, kind, text):
    """The checks with their texts."""
    table.append(1, 1)
    table.commit(update).fails(400, kind, text)


def test_rollback(table):
    """set-snapshot-ref alone: the log gets an entry with the time of the commit."""
    three(table)
    before = now_ms()
    got = table.apply(set_ref("main", 1))
    assert got["current-snapshot-id"] == 1
    assert ids(got["snapshot-log"]) == [1, 2, 3, 1]
    assert before - 1000 <= got["snapshot-log"][-1]["timestamp-ms"] <= got["last-updated-ms"]


def test_remove_main(table):
    """There is no current snapshot then; its log is kept."""
    three(table)
    got = table.apply(remove_ref("main"))
    assert got.get("current-snapshot-id", -1) in (-1, None) and "main" not in got["refs"]
    assert ids(got["snapshot-log"]) == [1, 2, 3]


# --- expiry ----------------------------------------------------------------------------


def test_remove_snapshots(table):
    """Many ids in one update, unknown ones ignored; statistics of removed snapshots go too."""
    three(table)
    stats = [{"action": "set-statistics", "statistics": {
        "snapshot-id": i, "statistics-path": f"{table.location}/s{i}", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1,
        "blob-metadata": []}} for i in (1, 3)]
    parts = [{"action": "set-partition-statistics", "partition-statistics": {
        "snapshot-id": i, "statistics-path": f"{table.location}/p{i}", "file-size-in-bytes": 1}} for i in (2, 3)]
    table.apply(*stats, *parts)
    got = table.apply(remove(1, 2, 99))
    assert ids(got["snapshots"]) == [3] and got["current-snapshot-id"] == 3
    assert ids(got["statistics"]) == [3] and ids(got["partition-statistics"]) == [3]
    assert ids(got["snapshot-log"]) == [3]


def test_remove_snapshots_one_by_one(table):
    """Older clients send one update per id."""
    three(table)
    assert ids(table.apply(remove(1), remove(2))["snapshots"]) == [3]


def test_history_before_a_gap_is_dropped(table):
    """An entry whose snapshot is gone clears what came before it: time travel would be wrong there."""
    for i in (1, 2, 3, 4):
        table.append(i, i, i - 1 or None)
    assert ids(table.apply(remove(2))["snapshot-log"]) == [3, 4]


def test_references_to_removed_snapshots(table):
    """A reference whose snapshot is removed goes with it; main leaves no current snapshot."""
    three(table)
    table.apply(set_ref("dev", 1), set_ref("t", 2, "tag"))
    answer = table.commit(remove(1))
    if answer.status == 400:  # or the removal is refused while something refers to it
        answer.fails(400, contains="dev")
        got = table.apply(remove_ref("dev"), remove(1))
    else:
        got = answer.ok().json["metadata"]
    assert ids(got["snapshots"]) == [2, 3] and "dev" not in got["refs"] and "t" in got["refs"]
    assert got["current-snapshot-id"] == 3


def test_remove_the_current_snapshot(table):
    """main goes with it, no pointer is left dangling."""
    three(table)
    answer = table.commit(remove(3)).expect(200, 400)
    if answer.status == 200:
        got = answer.json["metadata"]
        assert got.get("current-snapshot-id", -1) in (-1, None) and "main" not in got["refs"]
        assert ids(got["snapshots"]) == [1, 2]


def test_expiry_after_moving_the_reference(table):
    """Move, then remove, in one request."""
    three(table)
    got = table.apply(set_ref("main", 2), remove(3))
    assert got["current-snapshot-id"] == 2 and ids(got["snapshots"]) == [1, 2]
    assert got["snapshot-log"][-1]["snapshot-id"] == 2


def test_large_expiry(table):
    """Hundreds of snapshots in and out in single requests."""
    table.apply(*[add_snapshot(i, i, location=table.location) for i in range(1, 401)], set_ref("main", 400))
    got = table.apply(remove(*range(1, 400)))
    assert ids(got["snapshots"]) == [400]


# --- clocks ------------------------------------------------------------------------------


def orderly(m):
    """What Java checks when it reads metadata, with its tolerance of a minute."""
    for log in (m["snapshot-log"], m["metadata-log"]):
        times = [e["timestamp-ms"] for e in log]
        assert all(b - a >= -60000 for a, b in zip(times, times[1:], strict=False)), times
        assert not times or m["last-updated-ms"] - times[-1] >= -60000


@pytest.mark.parametrize("minutes", [-60 * 24, -60, -1, 1, 10, 60 * 24])
def test_writers_with_wrong_clocks(table, minutes):
    """A snapshot from the past or the future, then a commit of ours: never a file that Java cannot load."""
    table.append(1, 1)
    for i in (2, 3):
        answer = table.commit(add_snapshot(i, i, i - 1, table.location, **{"timestamp-ms": now_ms() + minutes * 60000}),
                              set_ref("main", i))
        if answer.status == 400:
            assert "timestamp" in answer.error["message"].lower()
            break
        orderly(answer.ok().json["metadata"])
    orderly(table.apply(set_properties(a="b")))
    orderly(table.apply(set_ref("main", 1)))


def test_timestamps_are_kept_as_sent(table):
    """A snapshot's own time is the writer's."""
    then = now_ms() - 5000
    got = table.apply(add_snapshot(1, 1, location=table.location, **{"timestamp-ms": then}), set_ref("main", 1))
    assert got["snapshots"][0]["timestamp-ms"] == then
    assert got["snapshot-log"] == [{"snapshot-id": 1, "timestamp-ms": then}]
    assert got["last-updated-ms"] >= then
