"""POST /v1/transactions/commit: several tables change, all or none."""

import pytest

from firn_client import (Api, add_snapshot, assert_ref, assert_uuid, create_updates, field, in_parallel, levels_of,
                         set_properties, set_ref, simple, struct)
from firn_server import Server

NEW = {"type": "assert-create"}
SCHEMA_0 = {"type": "assert-current-schema-id", "current-schema-id": 0}


def change(ns, name, updates=(), requirements=()):
    return {"identifier": {"namespace": levels_of(ns), "name": name}, "requirements": list(requirements),
            "updates": list(updates)}


def of(table, *updates, requirements=()):
    return change(table.ns, table.name, updates, requirements)


def append(table, number, sequence, parent=None):
    return of(table, add_snapshot(number, sequence, parent, table.location), set_ref("main", number),
              requirements=[assert_uuid(table.uuid), assert_ref(parent)])


def add_column(name="extra"):
    return [{"action": "add-schema", "schema": struct(*simple()["fields"], field(3, name, "int"))},
            {"action": "set-current-schema", "schema-id": -1}]


def commit(api, *changes):
    return api.post("/v1/transactions/commit", {"table-changes": list(changes)})


def files(api, table):
    return [f for f in api.store.list(table.location) if f.endswith(".metadata.json")]


@pytest.fixture
def pair(api, ns):
    return api.table(ns, "a"), api.table(ns, "b")


# --- what changes -----------------------------------------------------------------------


def test_two_tables_change_together(api, pair):
    """204 without a body; both have the new state, each with one new file."""
    answer = commit(api, *(append(t, 1, 1) for t in pair)).expect(204)
    assert answer.etag is None
    for table in pair:
        assert table.metadata["current-snapshot-id"] == 1
        assert len(files(api, table)) == 2


def test_one_table(api, table):
    """DuckDB commits single tables this way."""
    commit(api, append(table, 1, 1)).expect(204)
    assert table.metadata["current-snapshot-id"] == 1


def test_tables_of_different_namespaces(api, ns):
    one, two = api.table(ns, "t"), api.table(api.new_namespace(), "t")
    commit(api, of(one, set_properties(x="1")), of(two, set_properties(x="2"))).expect(204)
    assert [t.metadata["properties"]["x"] for t in (one, two)] == ["1", "2"]


def test_a_staged_table_is_created_with_another_that_changes(api, ns, table):
    """assert-create inside a transaction makes the table from nothing."""
    staged = api.create(ns, "new", stage_create=True).ok().json["metadata"]
    updates = [*create_updates(staged), add_snapshot(5, 1, location=staged["location"]), set_ref("main", 5)]
    commit(api, change(ns, "new", updates, [NEW]), append(table, 1, 1)).expect(204)
    made = api.load(ns, "new").ok().json
    assert made["metadata"]["table-uuid"] == staged["table-uuid"]
    assert made["metadata"]["current-snapshot-id"] == 5 and made["metadata"]["metadata-log"] == []
    assert made["metadata-location"].rpartition("/")[2].startswith("00000-")
    assert table.metadata["current-snapshot-id"] == 1


def test_two_tables_are_created_together(api, ns):
    staged = {name: api.create(ns, name, stage_create=True).ok().json["metadata"] for name in ("y", "x")}
    commit(api, *(change(ns, name, create_updates(m), [NEW]) for name, m in staged.items())).expect(204)
    assert api.names(ns) == ["x", "y"]


def test_requirements_and_updates_may_be_missing(api, table):
    """As in a commit: absent lists are empty ones."""
    name = {"namespace": [table.ns], "name": table.name}
    api.post("/v1/transactions/commit", {"table-changes": [{"identifier": name}]}).expect(204)
    assert len(files(api, table)) == 1


def test_nothing_to_change_writes_nothing(api, pair):
    """Effects decide: a uuid that it has already makes no file."""
    before = [t.metadata_location for t in pair]
    commit(api, *(of(t, {"action": "assign-uuid", "uuid": t.uuid}) for t in pair)).expect(204)
    assert [t.metadata_location for t in pair] == before


def test_one_changes_the_other_is_only_asserted(api, pair):
    """Requirements without updates: the table is held where it is, and gets no new file."""
    one, two = pair
    commit(api, append(one, 1, 1), of(two, requirements=[assert_uuid(two.uuid), assert_ref(None)])).expect(204)
    assert one.metadata["current-snapshot-id"] == 1 and len(files(api, two)) == 1
    two.append(7, 1)
    commit(api, append(one, 2, 2, 1), of(two, requirements=[assert_ref(None)])).fails(409, "CommitFailedException")
    assert one.metadata["current-snapshot-id"] == 1


# --- all or none ------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_requirement_of_one_fails_none_changes(api, pair, order):
    """409 with that requirement's message; no file is left behind."""
    one, two = pair
    two.apply(*add_column())
    before = [t.loaded for t in pair], [files(api, t) for t in pair]
    changes = [of(one, *add_column("fresh"), requirements=[SCHEMA_0]),
               of(two, *add_column("other"), requirements=[SCHEMA_0])]
    commit(api, *(changes[i] for i in order)).fails(
        409, "CommitFailedException", "Requirement failed: current schema changed: expected id 0 != 1")
    assert ([t.loaded for t in pair], [files(api, t) for t in pair]) == before


def test_the_first_failure_in_order_is_told(api, pair):
    one, two = pair
    wrong = "11111111-1111-4111-8111-111111111111"
    commit(api, of(one, requirements=[assert_uuid(wrong)]), of(two, requirements=[assert_ref(9)])).fails(
        409, "CommitFailedException", f"Requirement failed: UUID does not match: expected {one.uuid} != {wrong}")


def test_a_missing_table(api, table):
    """404 NoSuchTableException; the other one is unchanged."""
    commit(api, append(table, 1, 1), change(table.ns, "no", [set_properties(x="1")])).fails(
        404, "NoSuchTableException", f"Table does not exist: {table.ns}.no")
    assert table.metadata["snapshots"] == []


def test_a_missing_namespace(api, ns, table):
    staged = api.create(ns, "new", stage_create=True).ok().json["metadata"]
    commit(api, append(table, 1, 1), change("no-such", "new", create_updates(staged), [NEW])).fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: no-such")
    commit(api, append(table, 1, 1), change("no-such", "t")).fails(404, "NoSuchTableException")
    assert table.metadata["snapshots"] == []


def test_a_table_that_exists_cannot_be_created(api, ns, table):
    staged = api.create(ns, "new", stage_create=True).ok().json["metadata"]
    commit(api, append(table, 1, 1), change(ns, table.name, create_updates(staged), [NEW])).fails(
        409, "CommitFailedException", "Requirement failed: table already exists")
    assert table.metadata["snapshots"] == []


def test_views_are_no_tables(api, ns, table):
    """A view's name is taken for a new table, and names no table that is there."""
    api.create_view(ns, "v").ok()
    staged = api.create(ns, "v", stage_create=True).ok().json["metadata"]
    commit(api, append(table, 1, 1), change(ns, "v", create_updates(staged), [NEW])).fails(
        409, "AlreadyExistsException", f"View with same name already exists: {ns}.v")
    commit(api, append(table, 1, 1), change(ns, "v", [set_properties(a="b")])).fails(
        404, "NoSuchTableException", f"Table does not exist: {ns}.v")
    assert table.metadata["snapshots"] == []


def test_updates_that_cannot_be_applied(api, pair):
    """400 that names the table; nothing changes."""
    one, two = pair
    before = [files(api, t) for t in pair]
    bad = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 99}
    commit(api, append(one, 1, 1), of(two, bad)).fails(400, contains=f"{two.ns}.{two.name}")
    assert one.metadata["snapshots"] == [] and [files(api, t) for t in pair] == before


@pytest.mark.parametrize("taken", ["inside the other", "of each other"])
def test_places_that_clash(api, ns, pair, taken):
    """A move into another table's place, or two new tables in one place: nothing changes."""
    one, two = pair
    if taken == "inside the other":
        changes = [append(one, 1, 1), of(two, {"action": "set-location", "location": one.location + "/in"})]
        commit(api, *changes).fails(400, contains="location")
    else:
        staged = [api.create(ns, n, stage_create=True).ok().json["metadata"] for n in "cd"]
        staged[1]["location"] = staged[0]["location"]
        commit(api, append(one, 1, 1), *(change(ns, n, create_updates(m), [NEW]) for n, m in zip("cd", staged))).fails(
            409, "AlreadyExistsException", contains="location")
    assert one.metadata["snapshots"] == [] and api.names(ns) == ["a", "b"]
    assert [len(files(api, t)) for t in pair] == [1, 1]


def test_a_table_moves_in_a_transaction(api, pair):
    one, two = pair
    place = one.location + "-moved"
    commit(api, of(one, {"action": "set-location", "location": place}), of(two, set_properties(x="1"))).expect(204)
    assert one.metadata["location"] == place and one.metadata_location.startswith(place + "/metadata/00001-")


# --- the same table twice ---------------------------------------------------------------


def test_one_table_twice_is_applied_in_order(api, table):
    """The second change builds on the result of the first: its requirements are checked against that."""
    second = of(table, add_snapshot(2, 2, 1, table.location), set_ref("main", 2), requirements=[assert_ref(1)])
    commit(api, append(table, 1, 1), second).expect(204)
    got = table.metadata
    assert [s["snapshot-id"] for s in got["snapshots"]] == [1, 2] and got["current-snapshot-id"] == 2
    assert [e["snapshot-id"] for e in got["snapshot-log"]] == [1, 2]
    assert len(got["metadata-log"]) == 1 and len(files(api, table)) == 2


def test_one_table_twice_against_the_original_state(api, table):
    """What only the original state fulfils fails after the first change: never last writer wins."""
    commit(api, append(table, 1, 1), append(table, 2, 2)).fails(
        409, "CommitFailedException", "Requirement failed: branch main was created concurrently")
    assert table.metadata["snapshots"] == [] and len(files(api, table)) == 1


def test_minus_one_is_of_the_same_change(api, table):
    """"The last one added" does not reach into an earlier change."""
    first = of(table, add_column()[0])
    commit(api, first, of(table, {"action": "set-current-schema", "schema-id": -1})).fails(400)
    commit(api, first, of(table, {"action": "set-current-schema", "schema-id": 1})).expect(204)
    assert table.metadata["current-schema-id"] == 1


def test_a_table_is_created_and_then_changed(api, ns):
    staged = api.create(ns, "new", stage_create=True).ok().json["metadata"]
    made = change(ns, "new", create_updates(staged), [NEW])
    grown = change(ns, "new", [add_snapshot(1, 1, location=staged["location"]), set_ref("main", 1)],
                   [assert_uuid(staged["table-uuid"]), assert_ref(None)])
    commit(api, made, made).fails(409, "CommitFailedException", "Requirement failed: table already exists")
    commit(api, grown, made).fails(404, "NoSuchTableException")
    assert api.names(ns) == []
    commit(api, made, grown).expect(204)
    got = api.load(ns, "new").ok().json["metadata"]
    assert got["current-snapshot-id"] == 1 and got["metadata-log"] == []


# --- requests that are wrong ------------------------------------------------------------


@pytest.mark.parametrize("body,message", [
    ({}, "Invalid table changes: null"), ({"table-changes": None}, "Invalid table changes: null"),
    ({"table-changes": []}, "Invalid table changes: empty"),
    ({"table-changes": [{"updates": []}]}, "Invalid table changes: table identifier is required"),
    ({"table-changes": [{"identifier": None}]}, "Invalid table changes: table identifier is required")])
def test_empty_requests(api, body, message):
    api.post("/v1/transactions/commit", body).fails(400, "IllegalArgumentException", message)


@pytest.mark.parametrize("body", [
    {"table-changes": {}}, {"table-changes": "x"}, {"table-changes": [None]}, {"table-changes": [[]]},
    {"table-changes": [{"identifier": "a.b"}]}, {"table-changes": [{"identifier": {"namespace": [], "name": "t"}}]},
    {"table-changes": [{"identifier": {"namespace": ["a"], "name": ""}}]}])
def test_malformed_requests(api, body):
    api.post("/v1/transactions/commit", body).fails(400)


@pytest.mark.parametrize("part", [
    {"updates": [{"action": "frobnicate"}]}, {"requirements": [{"type": "assert-next-row-id", "next-row-id": 0}]},
    {"requirements": [NEW, assert_ref(None)]}])
def test_unknown_parts_are_refused_before_a_table_is_looked_for(api, table, part):
    """An action that is not understood is never passed over."""
    name = {"namespace": [table.ns], "name": "no"}
    api.post("/v1/transactions/commit", {"table-changes": [append(table, 1, 1), {"identifier": name} | part]}).fails(400)
    assert table.metadata["snapshots"] == []


def test_how_many_tables(api, ns):
    """FIRN_TRANSACTION_TABLES, 100 by default; beyond it nothing happens."""
    table = api.table(ns)
    changes = [of(table, set_properties(**{f"k{i}": "v"})) for i in range(101)]
    commit(api, *changes).fails(400, contains="at most 100")
    commit(api, *changes[:100]).expect(204)
    assert len([k for k in table.metadata["properties"] if k.startswith("k")]) == 100


def test_the_setting_for_how_many():
    with Server(env={"FIRN_TRANSACTION_TABLES": "2"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        tables = [api.table(ns) for _ in range(3)]
        commit(api, *(append(t, 1, 1) for t in tables)).fails(400, contains="at most 2")
        commit(api, *(append(t, 1, 1) for t in tables[:2])).expect(204)


# --- several at once --------------------------------------------------------------------


def test_sent_twice(api, pair):
    """The same transaction again, its answer lost on the way: recognised, done once."""
    body = [append(t, 1, 1) for t in pair]
    commit(api, *body).expect(204)
    pair[0].apply(set_properties(later="1"))
    commit(api, *body).expect(204)
    for table in pair:
        assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [1]
    other = [append(pair[0], 1, 1), append(pair[1], 1, 1), append(pair[1], 1, 1)]
    commit(api, *other).fails(409, "CommitFailedException")


def test_race_of_transactions_in_opposite_orders(server, api, ns):
    """Rows are locked in one order: no deadlock, and what does not conflict is merged."""
    tables = [api.table(ns) for _ in range(4)]

    def one(i):
        client = Api(server)
        mine = tables if i % 2 else tables[::-1]
        for _ in range(20):
            answer = commit(client, *(of(t, set_properties(**{f"k{i}": "v"})) for t in mine)).expect(204, 409, 429)
            if answer.status == 204:
                break
        client.close()
        return answer.status
    assert in_parallel(12, one) == [204] * 12
    for table in tables:
        assert {k for k in table.metadata["properties"] if k.startswith("k")} == {f"k{i}" for i in range(12)}


def test_concurrent_readers_never_see_half(server, api, ns):
    """Two tables that move in step: a reader that loads one after the other never sees the first newer
    and then the second older."""
    first, second = api.table(ns, "a"), api.table(ns, "b")
    done = []

    def writer():
        client = Api(server)
        for n in range(1, 31):
            commit(client, *(append(t, n, n, n - 1 or None) for t in (first, second))).expect(204)
        done.append(True)
        client.close()

    def reader():
        client = Api(server)
        while not done:
            a = client.load(ns, "a").ok().json["metadata"]["last-sequence-number"]
            b = client.load(ns, "b").ok().json["metadata"]["last-sequence-number"]
            assert b >= a
        client.close()
    first.uuid, second.uuid, first.location, second.location  # noqa: B018 (loaded once, before the race)
    in_parallel(3, lambda i: writer() if i == 0 else reader())
    assert first.metadata["last-sequence-number"] == second.metadata["last-sequence-number"] == 30


def test_racing_creates_in_transactions(server, api, ns):
    """Two new tables, wanted by all in either order: one transaction makes both."""
    def one(i):
        client = Api(server)
        names = ["x", "y"] if i % 2 else ["y", "x"]
        staged = [client.create(ns, n, stage_create=True) for n in names]
        if any(s.status == 409 for s in staged):
            return 409
        made = [change(ns, n, create_updates(s.ok().json["metadata"]), [NEW]) for n, s in zip(names, staged)]
        answer = commit(client, *made)
        while answer.status == 429:
            answer = commit(client, *made)
        client.close()
        return answer.status
    got = in_parallel(12, one)
    assert sorted(got) == [204] + [409] * 11
    assert api.names(ns) == ["x", "y"]
    assert len([f for f in api.store.list() if f"/{ns}/" in f and f.endswith(".metadata.json")]) == 2


def test_the_same_table_twice_is_two_commits(api, ns):
    """The history of two requests: a snapshot that the first one added was there before the second."""
    table = api.table(ns)
    identifier = {"namespace": [ns], "name": table.name}
    first = [add_snapshot(5, 1, location=table.location)]
    second = [set_ref("main", 5), add_snapshot(6, 2, 5, table.location), set_ref("main", 6)]
    api.post("/v1/transactions/commit", {"table-changes": [
        {"identifier": identifier, "requirements": [], "updates": u} for u in (first, second)]}).expect(204)
    assert [e["snapshot-id"] for e in table.metadata["snapshot-log"]] == [5, 6]
