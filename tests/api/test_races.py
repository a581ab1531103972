"""Many clients at once: exactly one winner where there can be only one, nothing lost, nothing double,
and never a 500."""

import collections
import json
import socket

import pytest

from firn_client import (Api, add_snapshot, assert_ref, assert_uuid, create_updates, enc, in_parallel, ns_path,
                         set_properties, set_ref)

RACERS = 32


def race(server, n, work):
    """work(client, i) in n threads, each with a connection of its own."""
    def one(i):
        client = Api(server)
        try:
            return work(client, i)
        finally:
            client.close()
    return in_parallel(n, one)


def statuses(answers):
    return collections.Counter(a.status for a in answers)


def test_race_of_namespace_creates(server, api):
    """One 200, the others 409 AlreadyExistsException, at once."""
    name = api.new_name()
    answers = race(server, RACERS, lambda c, i: c.create_namespace(name))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}
    for answer in answers:
        if answer.status == 409:
            answer.fails(409, "AlreadyExistsException", f"Namespace already exists: {name}")


def test_race_of_nested_namespace_creates(server, api):
    """Children of a parent that all create on the way: all succeed, one parent."""
    name = api.new_name()
    answers = race(server, RACERS, lambda c, i: c.create_namespace([name, f"c{i:02}"]))
    assert statuses(answers) == {200: RACERS}
    listed = api.list_namespaces(f"?parent={name}").ok().json["namespaces"]
    assert listed == [[name, f"c{i:02}"] for i in range(RACERS)]


def test_race_of_table_creates(server, api, ns):
    """One winner; its table is the one that is loaded."""
    answers = race(server, RACERS, lambda c, i: c.create(ns, "t", properties={"by": str(i)}))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}
    winner = next(a for a in answers if a.status == 200)
    assert api.load(ns, "t").ok().json == winner.json
    for answer in answers:
        if answer.status == 409:
            answer.fails(409, "AlreadyExistsException", f"Table already exists: {ns}.t")


def test_race_of_create_commits(server, api, ns):
    """Staged creates of one name: one becomes the table."""
    staged = [api.create(ns, "t", stage_create=True).ok().json["metadata"] for _ in range(RACERS)]
    answers = race(server, RACERS, lambda c, i: c.commit(ns, "t", create_updates(staged[i]), [{"type": "assert-create"}]))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}
    winner = next(i for i, a in enumerate(answers) if a.status == 200)
    assert api.load(ns, "t").ok().json["metadata"]["table-uuid"] == staged[winner]["table-uuid"]


def test_race_of_creates_for_one_location(server, api, ns):
    """Different names, one place: one winner, none inside another."""
    place = f"{api.store.base}/{ns}/shared"
    answers = race(server, RACERS, lambda c, i: c.create(ns, f"t{i}", location=place + ("/in" if i % 2 else "")))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}
    assert len(api.names(ns)) == 1


def test_concurrent_appends_lose_nothing(server, api, ns):
    """Eight writers, each its own snapshots with requirements and retries, as PyIceberg does."""
    table = api.table(ns)
    uuid, location = table.uuid, table.location
    writers, each = 8, 6
    conflicts = []

    def write(client, i):
        for k in range(each):
            number = i * 1000 + k + 1
            for _ in range(300):
                m = client.load(ns, table.name).ok().json["metadata"]
                current = m["refs"].get("main", {}).get("snapshot-id")
                answer = client.commit(ns, table.name, [
                    add_snapshot(number, m["last-sequence-number"] + 1, current, location), set_ref("main", number)],
                    [assert_uuid(uuid), assert_ref(current)])
                if answer.status == 200:
                    break
                answer.fails(409, "CommitFailedException")
                conflicts.append(1)
            else:
                raise AssertionError("never got through")

    race(server, writers, write)
    m = table.metadata
    numbers = [s["snapshot-id"] for s in m["snapshots"]]
    assert sorted(numbers) == sorted(i * 1000 + k + 1 for i in range(writers) for k in range(each))
    assert [s["sequence-number"] for s in m["snapshots"]] == list(range(1, writers * each + 1))
    assert len(m["snapshot-log"]) == writers * each and len(m["metadata-log"]) == writers * each
    parents = [s.get("parent-snapshot-id") for s in m["snapshots"]]
    assert parents == [None, *numbers[:-1]], "history is one line"


def test_concurrent_commits_without_conflict_are_merged(server, api, ns):
    """Changes of properties need no ref assertion: every one that was acknowledged is there, none refused
    for ever."""
    table = api.table(ns)
    uuid = table.uuid

    def write(client, i):
        for k in range(4):
            for _ in range(100):
                answer = client.commit(ns, table.name, [set_properties(**{f"k{i}-{k}": "v"})], [assert_uuid(uuid)])
                if answer.status == 200:
                    break
                answer.expect(409, 429)
            else:
                raise AssertionError("never got through")

    race(server, 16, write)
    m = table.metadata
    assert sum(1 for k in m["properties"] if k.startswith("k")) == 64
    assert len(m["metadata-log"]) == 64


def test_race_of_appends_to_the_same_base(server, api, ns):
    """All assert the same parent: exactly one is applied."""
    table = api.table(ns)
    table.append(1, 1)
    uuid, location = table.uuid, table.location
    answers = race(server, RACERS, lambda c, i: c.commit(
        ns, table.name, [add_snapshot(100 + i, 2, 1, location), set_ref("main", 100 + i)], [assert_uuid(uuid), assert_ref(1)]))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}
    m = table.metadata
    assert len(m["snapshots"]) == 2 and m["current-snapshot-id"] == m["snapshots"][1]["snapshot-id"]


def test_race_of_the_same_append(server, api, ns):
    """One request that a transport sent many times at once: applied once, and nobody is told otherwise."""
    table = api.table(ns)
    table.append(1, 1)
    body = {"requirements": [assert_uuid(table.uuid), assert_ref(1)],
            "updates": [add_snapshot(2, 2, 1, table.location), set_ref("main", 2)]}
    answers = race(server, 8, lambda c, i: c.post(table.path, body))
    assert statuses(answers) == {200: 8}
    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [1, 2]


def test_race_of_drops(server, api, ns):
    """One 204, the others 404."""
    api.table(ns, "t")
    answers = race(server, RACERS, lambda c, i: c.drop(ns, "t"))
    assert statuses(answers) == {204: 1, 404: RACERS - 1}


def test_race_of_renames(server, api, ns):
    """One source, many destinations: one 204, the others 404; one table in the end."""
    api.table(ns, "t")
    answers = race(server, RACERS, lambda c, i: c.rename((ns, "t"), (ns, f"t{i}")))
    assert statuses(answers) == {204: 1, 404: RACERS - 1}
    winner = next(i for i, a in enumerate(answers) if a.status == 204)
    assert api.names(ns) == [f"t{winner}"]


def test_race_of_renames_to_one_name(server, api, ns):
    """Many sources, one destination: one 204, the others 409."""
    for i in range(12):
        api.table(ns, f"t{i}")
    answers = race(server, 12, lambda c, i: c.rename((ns, f"t{i}"), (ns, "one")))
    assert statuses(answers) == {204: 1, 409: 11}
    assert len(api.names(ns)) == 12


def test_race_of_swapped_names(server, api, ns):
    """a to b while b to c and c to a: whatever order, no table is lost."""
    uuids = {api.table(ns, name).uuid for name in "abc"}
    for _ in range(5):
        race(server, 6, lambda c, i: c.rename((ns, "abc"[i % 3]), (ns, "bcad"[i % 4])).expect(204, 404, 409))
        names = api.names(ns)
        assert {api.load(ns, n).ok().json["metadata"]["table-uuid"] for n in names} == uuids and len(names) == 3
        for name, back in zip(names, "xyz", strict=True):
            api.rename((ns, name), (ns, back)).expect(204)
        for name, back in zip("xyz", "abc", strict=True):
            api.rename((ns, name), (ns, back)).expect(204)


def test_race_of_namespace_drop_and_table_create(server, api):
    """Either the namespace is gone and the create is a 404, or it has a table and the drop is a 409."""
    for _ in range(15):
        name = api.new_namespace()
        answers = race(server, 2, lambda c, i, n=name: c.create(n, "t") if i else c.delete(ns_path(n)))
        assert (answers[0].status, answers[1].status) in {(204, 404), (409, 200)}, [str(a) for a in answers]
        exists = api.head(ns_path(name)).status == 204
        assert exists == (answers[1].status == 200)
        assert not exists or api.names(name) == ["t"]


def test_race_of_namespace_drop_and_child_create(server, api):
    """The same for a child namespace, which makes its parents when they are missing."""
    for _ in range(15):
        name = api.new_namespace()
        answers = race(server, 2, lambda c, i, n=name: c.create_namespace([n, "c"]) if i else c.delete(ns_path(n)))
        assert answers[1].status == 200 and answers[0].status in (204, 409), [str(a) for a in answers]
        api.head(ns_path(name)).expect(204)
        assert api.list_namespaces(f"?parent={name}").ok().json["namespaces"] == [[name, "c"]]


def test_race_of_commit_and_drop(server, api, ns):
    """The commit is applied before the drop or refused with 404; afterwards the name is free."""
    for k in range(15):
        table = api.table(ns, f"t{k}")
        answers = race(server, 2, lambda c, i, t=table: (
            c.commit(ns, t.name, [set_properties(a="b")]) if i else c.drop(ns, t.name)))
        assert answers[0].status == 204 and answers[1].status in (200, 404), [str(a) for a in answers]
        api.load(ns, table.name).fails(404)


def test_race_of_commit_and_rename(server, api, ns):
    """A commit never lands in a table that took over the name."""
    for k in range(10):
        table = api.table(ns, f"t{k}")
        uuid = table.uuid
        answers = race(server, 2, lambda c, i, t=table, u=uuid: (
            c.commit(ns, t.name, [set_properties(a="b")], [assert_uuid(u)]) if i else c.rename((ns, t.name), (ns, t.name + "x"))))
        assert answers[0].status == 204 and answers[1].status in (200, 404), [str(a) for a in answers]
        m = api.load(ns, table.name + "x").ok().json["metadata"]
        assert (m["properties"].get("a") == "b") == (answers[1].status == 200)


@pytest.mark.long
def test_race_of_loads_and_commits(server, api, ns):
    """Readers always see one whole version, never older than one they saw before."""
    table = api.table(ns)
    stop = []

    def work(client, i):
        if i == 0:
            for k in range(60):
                client.commit(ns, table.name, [set_properties(n=str(k), m=str(k))]).ok()
            stop.append(1)
            return
        last = -1
        while not stop:
            p = client.load(ns, table.name).ok().json["metadata"]["properties"]
            assert p.get("n") == p.get("m")
            now = int(p.get("n", -1))
            assert now >= last
            last = now

    race(server, 4, work)
    assert table.metadata["properties"]["n"] == "59"


@pytest.mark.long
def test_race_of_reads_by_many_clients(server, api, ns):
    """64 clients on tables and namespaces: every answer is the right one."""
    names = [f"t{i}" for i in range(8)]
    uuids = {n: api.table(ns, n).uuid for n in names}

    def work(client, i):
        for k in range(25):
            name = names[(i + k) % 8]
            assert client.load(ns, name).ok().json["metadata"]["table-uuid"] == uuids[name]
            client.head(ns_path(ns)).expect(204)
            client.load(ns, f"none{i}").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.none{i}")

    race(server, 64, work)


def test_race_of_readers_each_gets_what_it_asked_for(server, api, ns):
    """Readers who come at the same time share what is asked of the database for them: tables of two namespaces with the
    same names, a name with two readings, one that is missing, and the namespaces themselves."""
    other = api.new_namespace()
    wanted = {f"{ns_path(space)}/tables/{enc(name)}": api.create(space, name).ok().json["metadata"]["table-uuid"]
              for space in (ns, other) for name in ("one", "two", "a b", "c+d")}
    wanted |= {f"{ns_path(space)}/tables/a+b": wanted[f"{ns_path(space)}/tables/a%20b"] for space in (ns, other)}
    paths = [*wanted, f"{ns_path(ns)}/tables/none", ns_path(ns), ns_path(other)]
    for turn in range(8):
        wires = [socket.create_connection(server.host_port, timeout=30) for _ in range(3 * len(paths))]
        asked = [paths[(turn + i // 2) % len(paths)] for i in range(len(wires))]
        for wire, path in zip(wires, asked):
            wire.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        for wire, path in zip(wires, asked):
            with wire:
                head, _, body = b"".join(iter(lambda: wire.recv(1 << 16), b"")).partition(b"\r\n\r\n")
            status, told = int(head.split()[1]), json.loads(body)
            if path in wanted:
                assert (status, told["metadata"]["table-uuid"]) == (200, wanted[path]), path
            elif path.endswith("none"):
                assert (status, told["error"]["type"]) == (404, "NoSuchTableException")
            else:
                assert (status, told["namespace"]) == (200, [ns if path == ns_path(ns) else other])


def test_race_of_servers_on_a_fresh_database():
    """Several servers begin at once on an empty database: all serve."""
    from firn_server import Server
    first = Server()
    if first.db.kind == "sqlite":
        first.start()
        first.close()
        return
    others = [first.replica() for _ in range(3)]
    servers = [first, *others]
    try:
        in_parallel(4, lambda i: servers[i].start())
        name = Api(first).new_namespace()
        for server in servers:
            Api(server).head(ns_path(name)).expect(204)
    finally:
        for server in others:
            server.close()
        first.close()
