"""Reported cases B091 to B098: statistics, clocks of others, and numbers."""

import json

import pytest
from test_drop_rename_register import document, put
from test_purge import purge, wait_purged

from firn_client import Table, add_snapshot, assert_ref, now_ms, ns_path, set_properties, set_ref, simple, table_path

MINUTE = 60_000
EXACT = 4598765432109876543  # a double would make ...500 of it


@pytest.fixture
def place(api, ns):
    return f"{api.store.base}/cases/{ns}"


def statistics(table, number):
    return [{"action": "set-statistics", "statistics": {
        "snapshot-id": number, "statistics-path": f"{table.location}/metadata/{number}.stats", "file-size-in-bytes": 4,
        "file-footer-size-in-bytes": 4, "blob-metadata": []}},
        {"action": "set-partition-statistics", "partition-statistics": {
            "snapshot-id": number, "statistics-path": f"{table.location}/metadata/{number}.parts", "file-size-in-bytes": 4}}]


def test_b091_statistics_go_with_their_snapshot(table):
    """Neither mode of a load, nor the file, names statistics of a snapshot that was expired."""
    table.append(11, 1)
    table.append(12, 2, 11)
    table.apply(*statistics(table, 11), *statistics(table, 12))
    table.apply({"action": "remove-snapshots", "snapshot-ids": [11]})
    for query in ("", "?snapshots=refs"):
        got = table.load(query).ok().json["metadata"]
        for member in ("snapshots", "statistics", "partition-statistics"):
            assert [s["snapshot-id"] for s in got[member]] == [12]
    assert b"/11.stats" not in table.api.store.read(table.metadata_location)


def test_b091_purge_takes_statistics_along(server, api, ns, table):
    """Files of both kinds are deleted with the table."""
    table.append(11, 1)
    table.apply(*statistics(table, 11))
    place = table.location
    for kind in ("stats", "parts"):
        api.store.write(f"{place}/metadata/11.{kind}", b"PFA1")
    purge(api, ns, table.name)
    wait_purged(server)
    assert api.store.list(place) == []


def readable(m):
    """The order of times that Java insists on when it reads metadata."""
    for log in (m["snapshot-log"], m["metadata-log"]):
        times = [e["timestamp-ms"] for e in log] + [m["last-updated-ms"]]
        assert all(later - earlier >= -MINUTE for earlier, later in zip(times, times[1:], strict=False)), times


@pytest.mark.parametrize("ahead", [-60 * MINUTE, -MINUTE, MINUTE // 2, 10 * MINUTE], ids=lambda ms: f"{ms // 1000}s")
def test_b092_a_writer_whose_clock_is_wrong(table, ahead):
    """Taken as it was sent; the time of the metadata is never before that of its logs."""
    table.append(1, 1)
    before, at = table.metadata["last-updated-ms"], now_ms() + ahead
    got = table.append(2, 2, 1, **{"timestamp-ms": at})
    assert got["snapshots"][1]["timestamp-ms"] == at
    assert got["last-updated-ms"] >= before
    readable(got)
    readable(table.apply(set_properties(a="b")))
    readable(table.append(3, 3, 2))
    readable(table.apply(set_ref("main", 1)))
    readable(json.loads(table.api.store.read(table.metadata_location)))


def test_b094_every_commit_moves_the_time_on(table):
    """Whatever a commit changes, its time is not before the one it was made on."""
    seen = [table.metadata["last-updated-ms"]]
    for update in ([set_properties(a="b")], [add_snapshot(1, 1, location=table.location)], [set_ref("main", 1)],
                   [{"action": "add-schema", "schema": simple()}, set_properties(a="c")],
                   [{"action": "remove-properties", "removals": ["a"]}],
                   [{"action": "remove-snapshots", "snapshot-ids": [1]}]):
        seen.append(table.apply(*update)["last-updated-ms"])
    assert seen == sorted(seen) and abs(seen[-1] - now_ms()) < MINUTE


def test_b095_ids_keep_all_their_digits(api, ns, table):
    """In the answers to commit, load and refs load, in the file, and in what is computed from them."""
    answer = table.commit(add_snapshot(EXACT, 2**53 + 1, location=table.location), set_ref("main", EXACT),
                          set_ref("keep", EXACT, **{"max-ref-age-ms": 2**53 + 3}))
    digits = [b":%d" % n for n in (EXACT, 2**53 + 1, 2**53 + 3)]
    for text in (answer.ok().body, table.load().ok().body, table.load("?snapshots=refs").ok().body,
                 api.store.read(table.metadata_location)):
        assert all(number in text for number in digits)
    table.commit(set_properties(a="b"), requirements=[assert_ref(EXACT - 43)]).fails(409, contains=str(EXACT))
    table.apply(add_snapshot(EXACT + 1, 2**53 + 2, EXACT, table.location), requirements=[assert_ref(EXACT)])
    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [EXACT, EXACT + 1]


@pytest.mark.parametrize("number,says", [
    ("9223372036854775808", "64 bits"), ("-9223372036854775809", "64 bits"), ("123456789012345678901", "64 bits"),
    ("1e400", "range"), ("1e3", "/updates/0/snapshot/snapshot-id"), ("1.0", "/updates/0/snapshot/snapshot-id")])
def test_b095_what_is_no_64_bit_integer(table, number, says):
    """400 that says where; nothing is rounded into the range."""
    marker = 123123123123123  # that no time of the clock holds
    body = json.dumps({"updates": [add_snapshot(marker, 1, location=table.location)]}).replace(str(marker), number)
    table.api.post(table.path, body.encode()).fails(400, "BadRequestException", contains=says)
    assert table.metadata["snapshots"] == []


def test_b097_negative_ids_and_zero(api, ns, place):
    """Numbers like all others, in commits and in files that are registered. -1 means none everywhere."""
    table = api.table(ns)
    table.append(-5, 1)
    table.append(0, 2, -5)
    assert table.metadata["current-snapshot-id"] == 0
    table.commit(add_snapshot(-1, 3, 0, table.location)).fails(400, contains="-1")
    table.commit(set_properties(a="b"), requirements=[assert_ref(-1)]).fails(409, "CommitFailedException")
    table.commit(set_properties(a="b"), requirements=[assert_ref(-1, "new")]).ok()
    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [-5, 0]

    entries = [{"snapshot-id": n, "sequence-number": s, "timestamp-ms": 1700000000000, "manifest-list": f"{place}/m{s}",
                "summary": {"operation": "append"}, "schema-id": 0} for s, n in ((1, -5), (2, 0))]
    more = {"snapshots": entries, "last-sequence-number": 2, "current-snapshot-id": 0,
            "refs": {"main": {"snapshot-id": 0, "type": "branch"}, "old": {"snapshot-id": -5, "type": "tag"}}}
    got = api.register(ns, "r", put(api, place, document(place, **more))).ok().json["metadata"]
    assert got["snapshots"] == entries and got["current-snapshot-id"] == 0
    Table(api, ns, "r").append(7, 3, 0)
    wrong = document(place + "2", **{"snapshots": [entries[0] | {"snapshot-id": -1}], "last-sequence-number": 1})
    api.register(ns, "w", put(api, place, wrong, "w.metadata.json")).fails(400, contains="-1")
    assert sorted(api.names(ns)) == sorted([table.name, "r"])


@pytest.mark.parametrize("value", [3, 1.5, True, [], {}])
def test_b098_maps_of_texts_hold_texts(api, ns, place, value):
    """A number as a value of a summary or a property: 400 that names it, on every way in."""
    table = api.table(ns)
    update = add_snapshot(1, 1, location=table.location, summary={"operation": "append", "added-records": value})
    table.commit(update).fails(400, "BadRequestException", contains="summary/added-records")
    table.commit({"action": "set-properties", "updates": {"a": value}}).fails(400, contains="updates/a")
    api.post(f"{ns_path(ns)}/tables", {"name": "n", "schema": simple(), "properties": {"a": value}}).fails(
        400, contains="/properties/a")
    api.create_namespace([ns, "n"], {"a": value}).fails(400, contains="/properties/a")
    api.post(f"{ns_path(ns)}/properties", {"updates": {"a": value}}).fails(400, contains="/updates/a")
    wrong = {"snapshots": [update["snapshot"]], "last-sequence-number": 1}
    for i, members in enumerate((wrong, {"properties": {"a": value}})):
        uri = put(api, place, document(place, **members), f"{i}.metadata.json")
        api.register(ns, "r", uri).fails(400)
    assert api.names(ns) == [table.name]
    assert table.metadata["snapshots"] == [] and "a" not in table.metadata["properties"]
    api.head(table_path(ns, "n")).expect(404)
